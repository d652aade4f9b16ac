/* The title, branches and log of a case, and the states that the log leads to. */
#include "io/store/store-private.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* meta */

static PlaStatus
set_meta(PlaStore *self, const char *key, const char *value, PlaError *err)
{
  assert(self->in_transaction);
  PlaHash checksum = pla_meta_checksum(key, value);
  sqlite3_stmt *stmt = pla_store_statement(
      self, "INSERT INTO meta(key, value, checksum) VALUES(?1, ?2, ?3) "
            "ON CONFLICT(key) DO UPDATE SET value = excluded.value, checksum = excluded.checksum");
  if (stmt) {
    sqlite3_bind_text(stmt, 1, key, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 2, value, -1, SQLITE_TRANSIENT);
    pla_bind_hash(stmt, 3, &checksum);
  }
  return pla_store_finish(self, stmt, err);
}

static PlaStatus
dup_meta(PlaStore *self, const char *key, char **out, PlaError *err)
{
  PlaStatus st = PLA_OK;
  *out = NULL;
  pla_store_lock(self);
  sqlite3_stmt *stmt = pla_store_statement(self, "SELECT value FROM meta WHERE key = ?1");
  if (stmt)
    sqlite3_bind_text(stmt, 1, key, -1, SQLITE_TRANSIENT);
  int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
  if (rc == SQLITE_ROW)
    *out = pla_column_dup(stmt, 0);
  else if (rc == SQLITE_DONE)
    *out = pla_strdup("");
  else
    st = pla_store_fail(self, "read", err);
  if (st == PLA_OK && !*out)
    st = pla_fail_memory(err, self->path);
  if (stmt)
    sqlite3_reset(stmt);
  pla_store_unlock(self);
  return st;
}

PlaStatus
pla_store_set_title(PlaStore *self, const char *title, PlaError *err)
{
  return set_meta(self, "title", title, err);
}

PlaStatus
pla_store_dup_title(PlaStore *self, char **out, PlaError *err)
{
  return dup_meta(self, "title", out, err);
}

bool
pla_store_texts_are_strict(PlaStore *self)
{
  char *value;
  PlaError ignored;
  bool strict = dup_meta(self, "texts", &value, &ignored) == PLA_OK && strcmp(value, "strict") == 0;
  free(value);
  return strict;
}

PlaStatus
pla_store_set_texts_strict(PlaStore *self, bool strict, PlaError *err)
{
  return set_meta(self, "texts", strict ? "strict" : "unknown", err);
}

/* branches */

static void
bind_operation(sqlite3_stmt *stmt, int at, int64_t id)
{
  if (id)
    sqlite3_bind_int64(stmt, at, id);
  else
    sqlite3_bind_null(stmt, at);
}

PlaStatus
pla_store_set_branch(PlaStore *self, const char *name, int64_t head, int64_t tip, PlaError *err)
{
  assert(self->in_transaction);
  char *copy = pla_strdup(name);
  if (!copy)
    return pla_fail_memory(err, "a branch");
  PlaHash checksum = pla_branch_checksum(&(PlaBranch){ copy, head, tip });
  free(copy);
  sqlite3_stmt *stmt = pla_store_statement(
      self, "INSERT INTO branch(name, head, tip, checksum) VALUES(?1, ?2, ?3, ?4) "
            "ON CONFLICT(name) DO UPDATE SET head = excluded.head, tip = excluded.tip, "
            "checksum = excluded.checksum");
  if (stmt) {
    sqlite3_bind_text(stmt, 1, name, -1, SQLITE_TRANSIENT);
    bind_operation(stmt, 2, head);
    bind_operation(stmt, 3, tip);
    pla_bind_hash(stmt, 4, &checksum);
  }
  return pla_store_finish(self, stmt, err);
}

PlaStatus
pla_store_set_current_branch(PlaStore *self, const char *name, PlaError *err)
{
  return set_meta(self, "branch", name, err);
}

PlaStatus
pla_store_remove_branch(PlaStore *self, const char *name, PlaError *err)
{
  assert(self->in_transaction);
  sqlite3_stmt *stmt = pla_store_statement(self, "DELETE FROM branch WHERE name = ?1");
  if (stmt)
    sqlite3_bind_text(stmt, 1, name, -1, SQLITE_TRANSIENT);
  return pla_store_finish(self, stmt, err);
}

PlaStatus
pla_store_read_branches(PlaStore *self, PlaBranches *out, PlaError *err)
{
  char *current = NULL;
  *out = (PlaBranches){ 0 };
  pla_store_lock(self);
  PlaStatus st = dup_meta(self, "branch", &current, err);
  sqlite3_stmt *stmt =
      pla_store_statement(self, "SELECT name, head, tip, checksum FROM branch ORDER BY id");
  int rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
  while (st == PLA_OK && rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    void *grown = out->branch;
    PlaBranch branch = { pla_column_dup(stmt, 0), sqlite3_column_int64(stmt, 1),
                         sqlite3_column_int64(stmt, 2) };
    PlaHash stored, is;
    if (!branch.name || !pla_array_resize(&grown, (size_t)out->n + 1, sizeof branch)) {
      free(branch.name);
      st = pla_fail_memory(err, "the branches");
      break;
    }
    out->branch = grown;
    out->branch[out->n++] = branch;
    if (strcmp(branch.name, current) == 0)
      out->current = out->n - 1;
    is = pla_branch_checksum(&branch);
    if (!pla_column_hash(stmt, 3, &stored) || !pla_hash_equal(&stored, &is))
      st = pla_store_fail_damaged(self, "the list of branches is not what was written", err);
  }
  if (st == PLA_OK && rc != SQLITE_DONE)
    st = pla_store_fail(self, "read", err);
  if (st == PLA_OK && out->n == 0)
    st = pla_store_fail_damaged(self, "its list of branches is empty", err);
  if (stmt)
    sqlite3_reset(stmt);
  pla_store_unlock(self);
  free(current);
  if (st != PLA_OK)
    pla_branches_clear(out);
  return st;
}

/* the log */

int64_t
pla_row_by_hash(PlaStore *self, const char *sql, const PlaHash *hash)
{
  sqlite3_stmt *stmt = pla_store_statement(self, sql);
  if (!stmt)
    return -1;
  pla_bind_hash(stmt, 1, hash);
  int rc = sqlite3_step(stmt);
  int64_t id = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : rc == SQLITE_DONE ? 0 : -1;
  sqlite3_reset(stmt);
  return id;
}

static const char find_bundle[] = "SELECT id FROM bundle WHERE hash = ?1";

/* binds a change's bundle, which must be stored already */
static PlaStatus
bind_bundle(PlaStore *self, sqlite3_stmt *stmt, int at, bool there, const PlaHash *hash,
            PlaError *err)
{
  if (!there)
    return PLA_OK; /* NULL */
  int64_t id = pla_row_by_hash(self, find_bundle, hash);
  if (id < 0)
    return pla_store_fail(self, "written", err);
  assert(id > 0);
  sqlite3_bind_int64(stmt, at, id);
  return PLA_OK;
}

PlaStatus
pla_store_add_operation(PlaStore *self, PlaLogRow *row, PlaChange *changes, int n_changes,
                        PlaError *err)
{
  assert(self->in_transaction);
  int64_t last_id = 0, last_item = 0;
  PlaStatus st = pla_store_query_int(
      self,
      "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'operation'), 0), "
      "coalesce((SELECT max(id) FROM operation), 0))",
      &last_id, err);
  if (st == PLA_OK)
    st = pla_store_query_int(self, "SELECT coalesce(max(item), 0) FROM change", &last_item, err);
  if (st != PLA_OK)
    return st;

  row->id = last_id + 1;
  PlaHash checksum = pla_log_row_checksum(row);
  sqlite3_stmt *stmt = pla_store_statement(
      self, "INSERT INTO operation(id, parent, verb, parameters, inputs, state, program, kernel, "
            "time_ms, duration_ms, checksum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
  if (stmt) {
    sqlite3_bind_int64(stmt, 1, row->id);
    bind_operation(stmt, 2, row->parent);
    sqlite3_bind_text(stmt, 3, row->verb, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 4, row->parameters, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 5, row->inputs, -1, SQLITE_TRANSIENT);
    pla_bind_hash(stmt, 6, &row->state);
    sqlite3_bind_text(stmt, 7, row->program, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 8, row->kernel, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(stmt, 9, row->time_ms);
    sqlite3_bind_int64(stmt, 10, row->duration_ms);
    pla_bind_hash(stmt, 11, &checksum);
  }
  st = pla_store_finish(self, stmt, err);

  for (int c = 0; c < n_changes && st == PLA_OK; c++) {
    PlaChange *change = &changes[c];
    if (change->item == 0)
      change->item = ++last_item;
    stmt = pla_store_statement(
        self, "INSERT INTO change(operation, item, before, after) VALUES(?1, ?2, ?3, ?4)");
    if (!stmt)
      return pla_store_fail(self, "written", err);
    sqlite3_bind_int64(stmt, 1, row->id);
    sqlite3_bind_int64(stmt, 2, change->item);
    st = bind_bundle(self, stmt, 3, change->had, &change->before, err);
    if (st == PLA_OK)
      st = bind_bundle(self, stmt, 4, change->has, &change->after, err);
    if (st == PLA_OK)
      st = pla_store_finish(self, stmt, err);
  }
  return st;
}

bool
pla_log_row_read(sqlite3_stmt *stmt, PlaLogRow *row, bool *intact)
{
  PlaHash stored, is;
  *row = (PlaLogRow){
    .id = sqlite3_column_int64(stmt, 0),
    .parent = sqlite3_column_int64(stmt, 1),
    .verb = pla_column_dup(stmt, 2),
    .parameters = pla_column_dup(stmt, 3),
    .inputs = pla_column_dup(stmt, 4),
    .program = pla_column_dup(stmt, 6),
    .kernel = pla_column_dup(stmt, 7),
    .time_ms = sqlite3_column_int64(stmt, 8),
    .duration_ms = sqlite3_column_int64(stmt, 9),
  };
  *intact = pla_column_hash(stmt, 5, &row->state) && pla_column_hash(stmt, 10, &stored);
  if (!row->verb || !row->parameters || !row->inputs || !row->program || !row->kernel)
    return false;
  is = pla_log_row_checksum(row);
  *intact = *intact && pla_hash_equal(&is, &stored);
  return true;
}

PlaStatus
pla_store_read_log(PlaStore *self, PlaLog *out, PlaError *err)
{
  PlaStatus st = PLA_OK;
  size_t capacity = 0;
  *out = (PlaLog){ 0 };
  pla_store_lock(self);
  sqlite3_stmt *stmt =
      pla_store_statement(self, "SELECT id, " PLA_LOG_COLUMNS " FROM operation ORDER BY id");
  int rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
  while (st == PLA_OK && rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    if ((size_t)out->n == capacity) {
      void *grown = out->row;
      capacity = capacity + capacity / 2 + 64;
      if (!pla_array_resize(&grown, capacity, sizeof *out->row)) {
        st = pla_fail_memory(err, "the log");
        break;
      }
      out->row = grown;
    }
    bool intact;
    if (!pla_log_row_read(stmt, &out->row[out->n++], &intact))
      st = pla_fail_memory(err, "the log");
    else if (!intact)
      st = pla_store_fail_damaged(self, "the log is not what was written", err);
  }
  if (st == PLA_OK && rc != SQLITE_DONE)
    st = pla_store_fail(self, "read", err);
  if (stmt)
    sqlite3_reset(stmt);
  pla_store_unlock(self);
  if (st != PLA_OK)
    pla_log_clear(out);
  return st;
}

PlaStatus
pla_store_read_changes(PlaStore *self, int64_t operation, PlaChange **out, int *n, PlaError *err)
{
  PlaStatus st = PLA_OK;
  *out = NULL;
  *n = 0;
  pla_store_lock(self);
  sqlite3_stmt *stmt = pla_store_statement(
      self, "SELECT c.item, c.before, b.hash, c.after, a.hash FROM change c "
            "LEFT JOIN bundle b ON b.id = c.before LEFT JOIN bundle a ON a.id = c.after "
            "WHERE c.operation = ?1 ORDER BY c.item");
  if (stmt)
    sqlite3_bind_int64(stmt, 1, operation);
  int rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
  while (st == PLA_OK && rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    void *grown = *out;
    if (!pla_array_resize(&grown, (size_t)*n + 1, sizeof **out)) {
      st = pla_fail_memory(err, "the log");
      break;
    }
    *out = grown;
    PlaChange *change = &(*out)[(*n)++];
    *change = (PlaChange){ .item = sqlite3_column_int64(stmt, 0),
                           .had = sqlite3_column_type(stmt, 1) != SQLITE_NULL,
                           .has = sqlite3_column_type(stmt, 3) != SQLITE_NULL };
    if ((change->had && !pla_column_hash(stmt, 2, &change->before)) ||
        (change->has && !pla_column_hash(stmt, 4, &change->after)))
      st = pla_store_fail_damaged(self, "an item of the log is missing", err);
  }
  if (st == PLA_OK && rc != SQLITE_DONE)
    st = pla_store_fail(self, "read", err);
  if (stmt)
    sqlite3_reset(stmt);
  pla_store_unlock(self);
  if (st != PLA_OK) {
    free(*out);
    *out = NULL;
    *n = 0;
  }
  return st;
}

PlaStatus
pla_store_read_state(PlaStore *self, int64_t operation, PlaState *out, PlaError *err)
{
  PlaStatus st = PLA_OK;
  *out = (PlaState){ 0 };
  if (operation == 0)
    return PLA_OK;
  pla_store_lock(self);
  /* the changes from the root to @operation in order; ids fall towards the root, so no damaged
   * parent can send the walk in a circle */
  sqlite3_stmt *stmt = pla_store_statement(
      self, "WITH RECURSIVE line(id, parent) AS ("
            "  SELECT id, parent FROM operation WHERE id = ?1 UNION ALL"
            "  SELECT o.id, o.parent FROM line JOIN operation o "
            "    ON o.id = line.parent AND o.id < line.id) "
            "SELECT c.item, c.after, b.hash, b.kind, b.name FROM line "
            "JOIN change c ON c.operation = line.id LEFT JOIN bundle b ON b.id = c.after "
            "ORDER BY line.id, c.item");
  if (stmt)
    sqlite3_bind_int64(stmt, 1, operation);
  int rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
  while (st == PLA_OK && rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    int64_t item = sqlite3_column_int64(stmt, 0);
    PlaHash hash;
    if (sqlite3_column_type(stmt, 1) == SQLITE_NULL) {
      st = pla_state_set(out, item, NULL, NULL, NULL, err);
    } else if (!pla_column_hash(stmt, 2, &hash)) {
      st = pla_store_fail_damaged(self, "an item of the log is missing", err);
    } else {
      const char *kind = (const char *)sqlite3_column_text(stmt, 3);
      const char *name = (const char *)sqlite3_column_text(stmt, 4);
      st = pla_state_set(out, item, &hash, kind ? kind : "", name ? name : "", err);
    }
  }
  if (st == PLA_OK && rc != SQLITE_DONE)
    st = pla_store_fail(self, "read", err);
  if (stmt)
    sqlite3_reset(stmt);
  pla_store_unlock(self);
  if (st != PLA_OK)
    pla_state_clear(out);
  return st;
}

PlaStatus
pla_store_apply(PlaStore *self, PlaState *state, const PlaChange *changes, int n, bool undo,
                PlaError *err)
{
  PlaStatus st = PLA_OK;
  pla_store_lock(self);
  for (int c = 0; c < n && st == PLA_OK; c++) {
    bool there = undo ? changes[c].had : changes[c].has;
    const PlaHash *hash = undo ? &changes[c].before : &changes[c].after;
    if (!there) {
      st = pla_state_set(state, changes[c].item, NULL, NULL, NULL, err);
      continue;
    }
    sqlite3_stmt *stmt = pla_store_statement(self, "SELECT kind, name FROM bundle WHERE hash = ?1");
    if (stmt)
      pla_bind_hash(stmt, 1, hash);
    int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
    const char *kind = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
    const char *name = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 1) : NULL;
    if (kind && name)
      st = pla_state_set(state, changes[c].item, hash, kind, name, err);
    else
      st = rc == SQLITE_ROW || rc == SQLITE_DONE
               ? pla_store_fail_damaged(self, "an item is missing", err)
               : pla_store_fail(self, "read", err);
    if (stmt)
      sqlite3_reset(stmt);
  }
  pla_store_unlock(self);
  return st;
}
