/* Checking a whole case, and pruning its history. */
#include "io/store/store-private.h"

#include "anatomy/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PROBLEMS = 100 }; /* sentences kept; a ruined file would give millions */

void
pla_store_check_clear(PlaStoreCheck *check)
{
  pla_notes_clear(&check->problems);
  *check = (PlaStoreCheck){ 0 };
}

static void
problem(PlaStoreCheck *check, const char *what, int64_t id, const char *text)
{
  if (check->problems.n < MAX_PROBLEMS)
    pla_notes_add(&check->problems, "%s %lld: %s", what, (long long)id, text);
}

/* a statement that ended before its last row */
static PlaStatus
note_refusal(PlaStore *self, const char *what, PlaStoreCheck *check, PlaError *err)
{
  if (sqlite3_errcode(self->db) == SQLITE_INTERRUPT)
    return pla_fail_cancelled(err);
  if (check->problems.n < MAX_PROBLEMS)
    pla_notes_add(&check->problems, "%s: %s", what, sqlite3_errmsg(self->db));
  return PLA_OK;
}

static PlaStatus
check_database(PlaStore *self, PlaStoreCheck *check, PlaError *err)
{
  PlaStatus st = PLA_OK;
  sqlite3_stmt *stmt = pla_store_statement(self, "PRAGMA integrity_check(100)");
  int rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
  while (rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(stmt, 0);
    if (text && strcmp(text, "ok") != 0 && check->problems.n < MAX_PROBLEMS)
      pla_notes_add(&check->problems, "database: %s", text);
  }
  if (rc != SQLITE_DONE)
    st = note_refusal(self, "database", check, err);
  if (stmt)
    sqlite3_reset(stmt);

  /* names in it may have changed that reading happens not to need, and recovering does */
  stmt = st == PLA_OK
             ? pla_store_statement(self, "SELECT rowid, sql FROM sqlite_schema"
                                         " WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%'"
                                         " ESCAPE '\\'")
             : NULL;
  rc = stmt ? SQLITE_ROW : SQLITE_DONE;
  while (rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    const char *sql = (const char *)sqlite3_column_text(stmt, 1);
    if (!sql || !pla_store_made_table(sql))
      problem(check, "schema", sqlite3_column_int64(stmt, 0), "is not as it was made");
  }
  if (st == PLA_OK && rc != SQLITE_DONE)
    st = note_refusal(self, "database", check, err);
  if (stmt)
    sqlite3_reset(stmt);

  stmt = st == PLA_OK ? pla_store_statement(self, "PRAGMA foreign_key_check") : NULL;
  rc = stmt ? SQLITE_ROW : SQLITE_DONE;
  while (rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
    problem(check, (const char *)sqlite3_column_text(stmt, 0), sqlite3_column_int64(stmt, 1),
            "refers to something that is not there");
  if (st == PLA_OK && rc != SQLITE_DONE)
    st = note_refusal(self, "database", check, err);
  if (stmt)
    sqlite3_reset(stmt);
  return st;
}

/* 0 where it cannot be read */
static int64_t
count_chunks(PlaStore *self)
{
  sqlite3_stmt *stmt = pla_store_statement(self, "SELECT count(*) FROM chunk");
  int64_t n = stmt && sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
  if (stmt)
    sqlite3_reset(stmt);
  return n;
}

static PlaStatus
check_chunks(PlaStore *self, PlaProgress *progress, PlaStoreCheck *check, PlaError *err)
{
  PlaStatus st = PLA_OK;
  int64_t total = count_chunks(self);
  size_t room = 0;
  uint8_t *plain = NULL, *scratch = NULL;
  sqlite3_stmt *stmt =
      pla_store_statement(self, "SELECT id, hash, codec, width, n_bytes, data FROM chunk");
  int rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
  while (st == PLA_OK && rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    int64_t id = sqlite3_column_int64(stmt, 0), n_bytes = sqlite3_column_int64(stmt, 4);
    const void *stored = sqlite3_column_blob(stmt, 5);
    size_t n_stored = (size_t)sqlite3_column_bytes(stmt, 5);
    PlaHash hash;
    bool fine = stored && pla_column_hash(stmt, 1, &hash) && n_bytes >= 1 &&
                n_bytes <= (int64_t)PLA_CHUNK_MAX_BYTES;
    if (fine && (size_t)n_bytes > room) {
      free(plain);
      free(scratch);
      room = (size_t)n_bytes;
      plain = pla_array_new_aligned(room, 1);
      scratch = pla_array_new_aligned(room, 1);
      if (!plain || !scratch) {
        st = pla_fail_memory(err, "a part of an array");
        break;
      }
    }
    fine = fine && pla_chunk_decode(sqlite3_column_int(stmt, 2), sqlite3_column_int(stmt, 3),
                                    stored, n_stored, &hash, plain, (size_t)n_bytes, scratch);
    if (!fine)
      problem(check, "chunk", id, "its content is not what was written");
    check->chunks++;
    check->array_bytes += fine ? (uint64_t)n_bytes : 0;
    check->stored_bytes += n_stored;
    if (!pla_progress_step(progress, total ? (double)check->chunks / (double)total : 1.0))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK && rc != SQLITE_DONE)
    st = note_refusal(self, "chunks", check, err);
  if (stmt)
    sqlite3_reset(stmt);
  free(plain);
  free(scratch);
  return st;
}

/* recomputes an array's hash from its chunks' */
static bool
array_is_whole(PlaStore *self, int64_t id, const PlaStoreArray *array, int64_t chunk_bytes,
               PlaStatus *st, PlaError *err)
{
  size_t n_bytes = pla_store_array_bytes(array), n = 0, sum = 0;
  PlaHash *hashes = NULL;
  bool fine = chunk_bytes >= 1 && chunk_bytes <= (int64_t)PLA_CHUNK_MAX_BYTES;
  sqlite3_stmt *stmt = pla_store_statement(
      self, "SELECT x.seq, c.hash, c.n_bytes FROM array_chunk x JOIN chunk c ON c.id = x.chunk "
            "WHERE x.array = ?1 ORDER BY x.seq");
  if (stmt)
    sqlite3_bind_int64(stmt, 1, id);
  int rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
  while (fine && rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    void *grown = hashes;
    if (!pla_array_resize(&grown, n + 1, sizeof *hashes)) {
      *st = pla_fail_memory(err, "an array");
      break;
    }
    hashes = grown;
    int64_t bytes = sqlite3_column_int64(stmt, 2);
    fine = sqlite3_column_int64(stmt, 0) == (int64_t)n && pla_column_hash(stmt, 1, &hashes[n]) &&
           bytes >= 1 && bytes <= chunk_bytes && sum == n * (size_t)chunk_bytes;
    sum += (size_t)bytes;
    n++;
  }
  fine = fine && rc == SQLITE_DONE && sum == n_bytes;
  if (stmt)
    sqlite3_reset(stmt);
  if (fine) {
    PlaHash is = pla_array_hash(array, hashes, n);
    fine = pla_hash_equal(&is, &array->hash);
  }
  free(hashes);
  return fine;
}

static PlaStatus
check_arrays(PlaStore *self, PlaStoreCheck *check, PlaError *err)
{
  PlaStatus st = PLA_OK;
  sqlite3_stmt *stmt =
      pla_store_statement(self, "SELECT id, hash, dtype, shape, chunk_bytes FROM array");
  int rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
  while (st == PLA_OK && rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    PlaStoreArray array = { 0 };
    int64_t id = sqlite3_column_int64(stmt, 0);
    const char *dtype = (const char *)sqlite3_column_text(stmt, 2);
    const char *shape = (const char *)sqlite3_column_text(stmt, 3);
    bool fine = dtype && shape && pla_column_hash(stmt, 1, &array.hash) &&
                pla_dtype_from_name(dtype, &array.dtype) && pla_shape_parse(shape, &array) &&
                array_is_whole(self, id, &array, sqlite3_column_int64(stmt, 4), &st, err);
    if (!fine && st == PLA_OK)
      problem(check, "array", id, "it is not what was written");
    check->arrays++;
  }
  if (st == PLA_OK && rc != SQLITE_DONE)
    st = note_refusal(self, "arrays", check, err);
  if (stmt)
    sqlite3_reset(stmt);
  return st;
}

static PlaStatus
check_bundles(PlaStore *self, const PlaStoreMeaning *meaning, PlaProgress *progress,
              PlaStoreCheck *check, PlaError *err)
{
  PlaStatus st = PLA_OK;
  sqlite3_stmt *stmt = pla_store_statement(self, "SELECT id, hash FROM bundle");
  int rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
  while (st == PLA_OK && rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    int64_t id = sqlite3_column_int64(stmt, 0);
    PlaHash hash;
    PlaBundle bundle = { 0 };
    PlaError why;
    if (!pla_column_hash(stmt, 1, &hash) ||
        pla_store_read_bundle(self, &hash, &bundle, NULL) != PLA_OK)
      problem(check, "item", id, "it is not what was written");
    else if (meaning && meaning->check_item(self, &hash, progress, &why) != PLA_OK)
      problem(check, "item", id, why.message);
    pla_bundle_clear(&bundle, false);
    check->items++;
    if (pla_progress_cancelled(progress))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK && rc != SQLITE_DONE)
    st = note_refusal(self, "items", check, err);
  if (stmt)
    sqlite3_reset(stmt);
  return st;
}

/* walks the tree: every operation's changes lead from its parent's state to its own */
static void
check_log(PlaStore *self, const PlaStoreMeaning *meaning, PlaStoreCheck *check)
{
  PlaLog log = { 0 };
  PlaState state = { 0 };
  PlaError why = { 0 };
  int64_t at = 0; /* the operation that `state` is after */
  if (pla_store_read_log(self, &log, &why) != PLA_OK)
    pla_notes_add(&check->problems, "log: %s", why.message);
  for (int i = 0; i < log.n; i++) {
    const PlaLogRow *row = &log.row[i];
    PlaChange *changes = NULL;
    int n = 0;
    bool fine = row->parent == 0 || pla_log_find(&log, row->parent);
    if (fine && row->parent != at) {
      pla_state_clear(&state);
      fine = pla_store_read_state(self, row->parent, &state, &why) == PLA_OK;
    }
    fine = fine && pla_store_read_changes(self, row->id, &changes, &n, &why) == PLA_OK;
    for (int c = 0; c < n && fine; c++) {
      const PlaStateItem *was = pla_state_find(&state, changes[c].item);
      fine = changes[c].had ? was && pla_hash_equal(&was->hash, &changes[c].before) : !was;
    }
    fine = fine && pla_store_apply(self, &state, changes, n, false, &why) == PLA_OK;
    free(changes);
    PlaHash is = pla_state_hash(&state);
    fine = fine && pla_hash_equal(&is, &row->state);
    if (!fine)
      problem(check, "operation", row->id, "it does not lead to the state that was written");
    if (meaning && meaning->check_row(row, &why) != PLA_OK)
      problem(check, "operation", row->id, why.message);
    at = fine ? row->id : -1; /* -1: read afresh */
    check->operations++;
  }
  pla_state_clear(&state);

  /* every head lies on the way to its tip */
  PlaBranches branches = { 0 };
  if (pla_store_read_branches(self, &branches, &why) != PLA_OK)
    pla_notes_add(&check->problems, "branches: %s", why.message);
  for (int b = 0; b < branches.n; b++) {
    const PlaLogRow *row = pla_log_find(&log, branches.branch[b].tip);
    while (row && row->id != branches.branch[b].head)
      row = pla_log_find(&log, row->parent);
    if (!row && branches.branch[b].head != 0)
      problem(check, "branch", b, "it points to operations that are not there");
  }
  pla_branches_clear(&branches);
  pla_log_clear(&log);
}

static PlaStatus
check_meta(PlaStore *self, PlaStoreCheck *check, PlaError *err)
{
  PlaStatus st = PLA_OK;
  sqlite3_stmt *stmt = pla_store_statement(self, "SELECT id, key, value, checksum FROM meta");
  int rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
  while (rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    const char *key = (const char *)sqlite3_column_text(stmt, 1);
    const char *value = (const char *)sqlite3_column_text(stmt, 2);
    PlaHash stored, is;
    bool fine = key && value && pla_column_hash(stmt, 3, &stored);
    if (fine) {
      is = pla_meta_checksum(key, value);
      fine = pla_hash_equal(&is, &stored);
    }
    if (!fine)
      problem(check, "title or setting", sqlite3_column_int64(stmt, 0),
              "it is not what was written");
  }
  if (rc != SQLITE_DONE)
    st = note_refusal(self, "title", check, err);
  if (stmt)
    sqlite3_reset(stmt);
  return st;
}

PlaStatus
pla_store_verify(PlaStore *self, const PlaStoreMeaning *meaning, PlaProgress *progress,
                 PlaStoreCheck *out, PlaError *err)
{
  *out = (PlaStoreCheck){ 0 };
  pla_store_lock(self);
  pla_store_watch(self, progress);
  PlaStatus st = pla_progress_phase(progress, "Checking the database", 0.3)
                     ? check_database(self, out, err)
                     : pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = pla_progress_phase(progress, "Checking arrays", 0.9)
             ? check_chunks(self, progress, out, err)
             : pla_fail_cancelled(err);
  if (st == PLA_OK && pla_progress_phase(progress, "Checking the log", 1.0))
    st = check_arrays(self, out, err);
  if (st == PLA_OK)
    st = check_bundles(self, meaning, progress, out, err);
  if (st == PLA_OK)
    check_log(self, meaning, out);
  if (st == PLA_OK)
    st = check_meta(self, out, err);
  if (st == PLA_OK && pla_progress_cancelled(progress))
    st = pla_fail_cancelled(err);
  pla_store_watch(self, NULL);
  pla_store_unlock(self);
  if (st != PLA_OK)
    pla_store_check_clear(out);
  return st;
}

/* pruning */

/* one operation that holds the whole state of @branch's head */
static PlaStatus
add_snapshot(PlaStore *self, const PlaBranch *branch, const char *program, const char *kernel,
             PlaError *err)
{
  if (branch->head == 0)
    return pla_store_set_branch(self, branch->name, 0, 0, err);
  PlaState state = { 0 };
  PlaChange *changes = NULL;
  PlaStatus st = pla_store_read_state(self, branch->head, &state, err);
  if (st == PLA_OK) {
    changes = pla_array_new0((size_t)state.n, sizeof *changes);
    st = changes ? PLA_OK : pla_fail_memory(err, "the list of items");
  }
  for (int i = 0; i < state.n && st == PLA_OK; i++)
    changes[i] =
        (PlaChange){ .item = state.item[i].item, .has = true, .after = state.item[i].hash };
  if (st == PLA_OK) {
    char verb[] = "snapshot", none[] = "{}";
    char *program_copy = pla_strdup(program), *kernel_copy = pla_strdup(kernel);
    PlaLogRow row = { .verb = verb,
                      .parameters = none,
                      .inputs = none,
                      .state = pla_state_hash(&state),
                      .program = program_copy,
                      .kernel = kernel_copy,
                      .time_ms = (int64_t)time(NULL) * 1000 };
    st = program_copy && kernel_copy ? pla_store_add_operation(self, &row, changes, state.n, err)
                                     : pla_fail_memory(err, "the log");
    if (st == PLA_OK)
      st = pla_store_set_branch(self, branch->name, row.id, row.id, err);
    free(program_copy);
    free(kernel_copy);
  }
  free(changes);
  pla_state_clear(&state);
  return st;
}

static PlaStatus
prune(PlaStore *self, const char *program, const char *kernel, PlaError *err)
{
  PlaLog log = { 0 };
  PlaBranches branches = { 0 };
  PlaStatus st = pla_store_read_log(self, &log, err);
  if (st == PLA_OK)
    st = pla_store_read_branches(self, &branches, err);
  for (int b = 0; b < branches.n && st == PLA_OK; b++)
    st = add_snapshot(self, &branches.branch[b], program, kernel, err);

  /* from the log down to the chunks: what nothing refers to any more */
  if (st == PLA_OK && log.n > 0) {
    static const char *const old_rows[] = { "DELETE FROM change WHERE operation <= ?1",
                                            "DELETE FROM operation WHERE id <= ?1" };
    for (int i = 0; i < 2 && st == PLA_OK; i++) {
      sqlite3_stmt *stmt = pla_store_statement(self, old_rows[i]);
      if (stmt)
        sqlite3_bind_int64(stmt, 1, log.row[log.n - 1].id);
      st = pla_store_finish(self, stmt, err);
    }
  }
  if (st == PLA_OK)
    st = pla_store_exec(
        self,
        "DELETE FROM bundle WHERE id NOT IN (SELECT after FROM change WHERE after NOT NULL);"
        "DELETE FROM bundle_array WHERE bundle NOT IN (SELECT id FROM bundle);"
        "DELETE FROM array WHERE id NOT IN (SELECT array FROM bundle_array);"
        "DELETE FROM array_chunk WHERE array NOT IN (SELECT id FROM array);"
        "DELETE FROM chunk WHERE id NOT IN (SELECT chunk FROM array_chunk);",
        err);
  if (st == PLA_OK) {
    sqlite3_stmt *stmt = pla_store_statement(self, "PRAGMA foreign_key_check");
    if (!stmt || sqlite3_step(stmt) != SQLITE_DONE)
      st = pla_store_fail_damaged(self, "references are broken; nothing was changed", err);
    if (stmt)
      sqlite3_reset(stmt);
  }
  pla_branches_clear(&branches);
  pla_log_clear(&log);
  return st;
}

/* prunes and shrinks a copy that nobody else knows */
static PlaStatus
prune_copy(PlaStore *copy, const char *program, const char *kernel, PlaError *err)
{
  /* references are checked once at the end instead of at every row */
  PlaStatus st = pla_store_exec(copy, "PRAGMA foreign_keys=OFF; PRAGMA synchronous=OFF;", err);
  if (st == PLA_OK)
    st = pla_store_begin(copy, err);
  if (st != PLA_OK)
    return st;
  st = prune(copy, program, kernel, err);
  if (st == PLA_OK)
    st = pla_store_commit(copy, err);
  else
    pla_store_rollback(copy);
  return st == PLA_OK ? pla_store_exec(copy, "VACUUM", err) : st;
}

/* the content of @copy becomes that of @self in one transaction, which a failure rolls back */
static PlaStatus
replace_content(PlaStore *self, PlaStore *copy, PlaProgress *progress, PlaError *err)
{
  enum { PAGES = 512 }; /* 8 MiB between looks at Cancel */
  PlaStatus st = PLA_OK;
  sqlite3_backup *backup = sqlite3_backup_init(self->db, "main", copy->db, "main");
  int rc = backup ? SQLITE_OK : SQLITE_ERROR;
  while (st == PLA_OK && rc == SQLITE_OK) {
    rc = sqlite3_backup_step(backup, PAGES);
    int total = sqlite3_backup_pagecount(backup), left = sqlite3_backup_remaining(backup);
    if (rc == SQLITE_OK && !pla_progress_step(progress, 1.0 - (double)left / (total ? total : 1)))
      st = pla_fail_cancelled(err);
  }
  if (backup)
    sqlite3_backup_finish(backup);
  return st == PLA_OK && rc != SQLITE_DONE ? pla_store_fail(self, "shrunk", err) : st;
}

PlaStatus
pla_store_compact(PlaStore *self, const char *program, const char *kernel, PlaProgress *progress,
                  PlaError *err)
{
  if (self->read_only)
    return pla_fail(err, PLA_ERR_IO, "%s", self->read_only);
  PlaStore *copy = NULL;
  char *path = pla_strdup_printf("%s.XXXXXX.part", self->path);
  int fd = path ? mkostemps(path, 5, O_CLOEXEC) : -1;
  if (fd < 0) {
    PlaStatus st =
        path ? pla_fail(err, PLA_ERR_IO, "%s cannot be shrunk: its folder takes no new file (%s)",
                        self->path, strerror(errno))
             : pla_fail_memory(err, self->path);
    free(path);
    return st;
  }
  close(fd);
  pla_store_lock(self);
  PlaStatus st = pla_progress_phase(progress, "Copying the case", 0.3)
                     ? pla_store_copy_into(self, path, progress, err)
                     : pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = pla_store_open_raw(path, true, &copy, err);
  if (st == PLA_OK)
    st = pla_progress_phase(progress, "Pruning history", 0.6)
             ? prune_copy(copy, program, kernel, err)
             : pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = pla_progress_phase(progress, "Shrinking the file", 1.0)
             ? replace_content(self, copy, progress, err)
             : pla_fail_cancelled(err);
  pla_store_unlock(self);
  pla_store_close(copy);
  unlink(path);
  free(path);
  return st;
}
