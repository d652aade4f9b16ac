/* Texts of a case written anew, and the hashes that follow from them.
 *
 * A bundle's text is part of its hash; hashes of bundles are part of the hashes of states and are
 * named by the inputs of later operations; all that is part of the rows' checksums.  Changes refer
 * to bundles by number, so they stay as they are. */
#include "io/store/store-private.h"

#include "anatomy/base/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  PlaHash before, after;
} Renamed;

typedef struct {
  PlaStore *store;
  char *(*mend)(const char *text);
  Renamed *renamed;
  size_t n_renamed;
  int64_t n_mended;
  PlaError *err;
} Mender;

/* the bundle under its new hash; where that is stored already, the old one gives way to it */
static PlaStatus
rewrite_bundle(Mender *m, const PlaBundle *bundle, const PlaHash *before)
{
  static const char find[] = "SELECT id FROM bundle WHERE hash = ?1";
  static const char *const merge[] = {
    "UPDATE change SET before = ?2 WHERE before = ?1",
    "UPDATE change SET after = ?2 WHERE after = ?1",
    "DELETE FROM bundle_array WHERE bundle = ?1",
    "DELETE FROM bundle WHERE id = ?1",
  };
  int64_t id = pla_row_by_hash(m->store, find, before);
  int64_t same = pla_row_by_hash(m->store, find, &bundle->hash);
  if (id <= 0 || same < 0)
    return pla_store_fail(m->store, "written", m->err);
  PlaStatus st = PLA_OK;
  if (same == 0) {
    sqlite3_stmt *stmt =
        pla_store_statement(m->store, "UPDATE bundle SET meta = ?2, hash = ?3 WHERE id = ?1");
    if (stmt) {
      sqlite3_bind_int64(stmt, 1, id);
      sqlite3_bind_text(stmt, 2, bundle->meta, -1, SQLITE_TRANSIENT);
      pla_bind_hash(stmt, 3, &bundle->hash);
    }
    return pla_store_finish(m->store, stmt, m->err);
  }
  for (size_t i = 0; i < sizeof merge / sizeof *merge && st == PLA_OK; i++) {
    sqlite3_stmt *stmt = pla_store_statement(m->store, merge[i]);
    if (stmt) {
      sqlite3_bind_int64(stmt, 1, id);
      if (sqlite3_bind_parameter_count(stmt) > 1)
        sqlite3_bind_int64(stmt, 2, same);
    }
    st = pla_store_finish(m->store, stmt, m->err);
  }
  return st;
}

/* @mended, malloc'ed and ours from now on, becomes the bundle's text */
static PlaStatus
mend_bundle(Mender *m, const PlaHash *hash, char *mended)
{
  PlaBundle bundle;
  PlaStatus st = pla_store_read_bundle(m->store, hash, &bundle, m->err);
  if (st != PLA_OK) {
    free(mended);
    return st;
  }
  free(bundle.meta);
  bundle.meta = mended;
  bundle.hash = pla_bundle_hash(&bundle);
  void *grown = m->renamed;
  if (pla_array_resize(&grown, m->n_renamed + 1, sizeof *m->renamed)) {
    m->renamed = grown;
    m->renamed[m->n_renamed++] = (Renamed){ *hash, bundle.hash };
    st = rewrite_bundle(m, &bundle, hash);
  } else {
    st = pla_fail_memory(m->err, "the items");
  }
  pla_bundle_clear(&bundle, false);
  m->n_mended++;
  return st;
}

static PlaStatus
mend_bundles(Mender *m)
{
  /* first all that is to be done: rows must not move under the statement that reads them */
  struct {
    PlaHash hash;
    char *mended;
  } *found = NULL;
  size_t n = 0;
  PlaStatus st = PLA_OK;
  sqlite3_stmt *stmt = pla_store_statement(m->store, "SELECT hash, meta FROM bundle");
  int rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
  while (st == PLA_OK && rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(stmt, 1);
    char *mended = text ? m->mend(text) : NULL;
    PlaHash hash;
    void *grown = found;
    if (!mended || !pla_column_hash(stmt, 0, &hash)) {
      free(mended);
    } else if (!pla_array_resize(&grown, n + 1, sizeof *found)) {
      free(mended);
      st = pla_fail_memory(m->err, "the items");
    } else {
      found = grown;
      found[n].hash = hash;
      found[n++].mended = mended;
    }
  }
  if (st == PLA_OK && rc != SQLITE_DONE)
    st = pla_store_fail(m->store, "read", m->err);
  if (stmt)
    sqlite3_reset(stmt);
  for (size_t i = 0; i < n; i++) {
    if (st == PLA_OK)
      st = mend_bundle(m, &found[i].hash, found[i].mended);
    else
      free(found[i].mended);
  }
  free(found);
  return st;
}

/* hashes of bundles in @inputs under their new names, in place */
static bool
rename_inputs(const Mender *m, char *inputs)
{
  bool changed = false;
  for (size_t i = 0; i < m->n_renamed; i++) {
    char before[33], after[33];
    pla_hash_text(&m->renamed[i].before, before);
    pla_hash_text(&m->renamed[i].after, after);
    for (char *at = inputs; (at = strstr(at, before)); at += 32) {
      memcpy(at, after, 32);
      changed = true;
    }
  }
  return changed;
}

static PlaStatus
rewrite_row(Mender *m, const PlaLogRow *row)
{
  PlaHash checksum = pla_log_row_checksum(row);
  sqlite3_stmt *stmt = pla_store_statement(
      m->store, "UPDATE operation SET parameters = ?2, inputs = ?3, state = ?4, checksum = ?5 "
                "WHERE id = ?1");
  if (stmt) {
    sqlite3_bind_int64(stmt, 1, row->id);
    sqlite3_bind_text(stmt, 2, row->parameters, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 3, row->inputs, -1, SQLITE_TRANSIENT);
    pla_bind_hash(stmt, 4, &row->state);
    pla_bind_hash(stmt, 5, &checksum);
  }
  return pla_store_finish(m->store, stmt, m->err);
}

/* walks the tree, as bundles now are, and writes the rows that came out different */
static PlaStatus
mend_log(Mender *m)
{
  PlaLog log = { 0 };
  PlaState state = { 0 };
  int64_t at = 0; /* the operation that `state` is after */
  PlaStatus st = pla_store_read_log(m->store, &log, m->err);
  for (int i = 0; i < log.n && st == PLA_OK; i++) {
    PlaLogRow *row = &log.row[i];
    PlaChange *changes = NULL;
    int n = 0;
    if (row->parent != at) {
      pla_state_clear(&state);
      st = pla_store_read_state(m->store, row->parent, &state, m->err);
    }
    if (st == PLA_OK)
      st = pla_store_read_changes(m->store, row->id, &changes, &n, m->err);
    if (st == PLA_OK)
      st = pla_store_apply(m->store, &state, changes, n, false, m->err);
    free(changes);
    at = row->id;
    PlaHash is = pla_state_hash(&state);
    bool differs = !pla_hash_equal(&is, &row->state);
    char *mended = st == PLA_OK ? m->mend(row->parameters) : NULL;
    if (mended) {
      free(row->parameters);
      row->parameters = mended;
      differs = true;
      m->n_mended++;
    }
    differs |= rename_inputs(m, row->inputs);
    row->state = is;
    if (st == PLA_OK && differs)
      st = rewrite_row(m, row);
  }
  pla_state_clear(&state);
  pla_log_clear(&log);
  return st;
}

/* Whether any text of a column is to be mended: only then is the file written to. */
static bool
is_worth_it(PlaStore *self, const char *sql, char *(*mend)(const char *text))
{
  bool found = false;
  sqlite3_stmt *stmt = pla_store_statement(self, sql);
  while (stmt && !found && sqlite3_step(stmt) == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    char *mended = text ? mend(text) : NULL;
    found = mended != NULL;
    free(mended);
  }
  if (stmt)
    sqlite3_reset(stmt);
  return found;
}

PlaStatus
pla_store_mend_texts(PlaStore *self, char *(*mend)(const char *text), int64_t *n, PlaError *err)
{
  *n = 0;
  pla_store_lock(self);
  bool fine = pla_store_texts_are_strict(self) ||
              (!is_worth_it(self, "SELECT meta FROM bundle", mend) &&
               !is_worth_it(self, "SELECT parameters FROM operation", mend));
  pla_store_unlock(self);
  if (fine || self->read_only)
    return PLA_OK;
  Mender m = { .store = self, .mend = mend, .err = err };
  PlaStatus st = pla_store_begin(self, err);
  if (st != PLA_OK)
    return st;
  st = mend_bundles(&m);
  if (st == PLA_OK)
    st = mend_log(&m);
  if (st == PLA_OK)
    st = pla_store_set_texts_strict(self, true, err);
  if (st == PLA_OK)
    st = pla_store_commit(self, err);
  else
    pla_store_rollback(self);
  free(m.renamed);
  *n = st == PLA_OK ? m.n_mended : 0;
  return st;
}
