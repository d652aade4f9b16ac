/* The case file: schema, opening, transactions.
 *
 * A case is one SQLite database, application id "PLTY", schema version in user_version:
 *
 *   meta          key, value: "title", "branch" (the current one), "texts" ("strict": all JSON
 * texts are known to be such) chunk         a piece of array content: hash of the plain bytes,
 * codec, element width, stored bytes.  Each content is stored once, however many arrays hold it
 *   array         dtype, shape (fastest first), plain bytes per chunk; hash of all that and of the
 *                 chunk hashes in order
 *   array_chunk   the chunks of an array in order
 *   bundle        one version of an item: kind, name, JSON metadata; hash of these and of its
 *                 arrays' names and hashes in name order
 *   bundle_array  the named arrays of a bundle
 *   operation     the log: parent (the log is a tree), verb, parameters, inputs, hash of the state
 *                 it led to, program version, kernel variant, time, duration
 *   change        what an operation did: item, bundle before (NULL: new), bundle after (NULL: gone)
 *   branch        named lines: tip is the last operation of the line, head the last one not undone
 *
 * Hashes are XXH3-128.  Rows that no content hash covers carry a checksum of their own, so that a
 * changed bit anywhere in the content is found.
 *
 * Journal: SQLite's rollback journal, synchronous EXTRA.  A case is then one file whenever nobody
 * writes, opens from a read-only folder or a network share (a write-ahead log needs shared memory
 * and leaves two more files), and new pages, nearly all of a big import, are written once.  A
 * journal left by a crash is rolled back by the next open.  EXTRA also syncs the folder, without
 * which a power cut just after a commit could bring the old journal back. */
#include "io/store/store-private.h"

#include "anatomy/base/memory.h"
#include "io/stream/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are stored little-endian");

enum {
  APPLICATION_ID = 0x504c5459, /* "PLTY" */
  PAGE_BYTES = 16384,          /* fewer overflow pages per chunk than SQLite's 4096 */
  CACHE_KIB = 32768,
  BUSY_MS = 10000, /* how long to wait for another program's transaction */
};

/* migrations[v] brings a file of version v to v + 1; version 0 is an empty database */
static const char *const migrations[] = {
  "CREATE TABLE meta("
  "  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, value TEXT NOT NULL,"
  "  checksum BLOB NOT NULL);"
  "CREATE TABLE chunk("
  "  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE CHECK(length(hash) = 16),"
  "  codec INTEGER NOT NULL, width INTEGER NOT NULL, n_bytes INTEGER NOT NULL,"
  "  data BLOB NOT NULL);"
  "CREATE TABLE array("
  "  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE CHECK(length(hash) = 16),"
  "  dtype TEXT NOT NULL, shape TEXT NOT NULL, chunk_bytes INTEGER NOT NULL);"
  "CREATE TABLE array_chunk("
  "  id INTEGER PRIMARY KEY, array INTEGER NOT NULL REFERENCES array(id),"
  "  seq INTEGER NOT NULL, chunk INTEGER NOT NULL REFERENCES chunk(id), UNIQUE(array, seq));"
  "CREATE TABLE bundle("
  "  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE CHECK(length(hash) = 16),"
  "  kind TEXT NOT NULL, name TEXT NOT NULL, meta TEXT NOT NULL);"
  "CREATE TABLE bundle_array("
  "  id INTEGER PRIMARY KEY, bundle INTEGER NOT NULL REFERENCES bundle(id),"
  "  name TEXT NOT NULL, array INTEGER NOT NULL REFERENCES array(id), UNIQUE(bundle, name));"
  "CREATE TABLE operation("
  "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
  "  parent INTEGER REFERENCES operation(id) CHECK(parent < id),"
  "  verb TEXT NOT NULL, parameters TEXT NOT NULL, inputs TEXT NOT NULL,"
  "  state BLOB NOT NULL CHECK(length(state) = 16), program TEXT NOT NULL, kernel TEXT NOT NULL,"
  "  time_ms INTEGER NOT NULL, duration_ms INTEGER NOT NULL, checksum BLOB NOT NULL);"
  "CREATE TABLE change("
  "  id INTEGER PRIMARY KEY, operation INTEGER NOT NULL REFERENCES operation(id),"
  "  item INTEGER NOT NULL, before INTEGER REFERENCES bundle(id),"
  "  after INTEGER REFERENCES bundle(id), UNIQUE(operation, item));"
  "CREATE TABLE branch("
  "  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
  "  head INTEGER REFERENCES operation(id), tip INTEGER REFERENCES operation(id),"
  "  checksum BLOB NOT NULL);",
};
enum { SCHEMA_VERSION = (int)(sizeof migrations / sizeof *migrations) };

bool
pla_store_made_table(const char *sql)
{
  for (int v = 0; v < SCHEMA_VERSION; v++)
    if (strstr(migrations[v], sql))
      return true;
  return false;
}

/* sentences */

PlaStatus
pla_store_fail_damaged(PlaStore *self, const char *what, PlaError *err)
{
  return pla_fail(err, PLA_ERR_FORMAT,
                  "%s is damaged (%s); 'platysma-cli case recover' saves what can be read into a "
                  "new file",
                  self->path, what);
}

PlaStatus
pla_store_fail(PlaStore *self, const char *doing, PlaError *err)
{
  int code = sqlite3_extended_errcode(self->db);
  int why = sqlite3_system_errno(self->db);
  if (why == 0 && (code & 0xff) == SQLITE_IOERR) /* only the file remembers after a rollback */
    sqlite3_file_control(self->db, "main", SQLITE_FCNTL_LAST_ERRNO, &why);
  bool no_room = why == ENOSPC || why == EDQUOT || why == EFBIG;
  switch (code & 0xff) {
  case SQLITE_FULL:
    no_room = true;
    break;
  case SQLITE_INTERRUPT:
    return pla_fail_cancelled(err);
  case SQLITE_NOMEM:
    return pla_fail_memory(err, self->path);
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return pla_fail(err, PLA_ERR_IO,
                    "%s is being written by another program; wait until it has finished, then do "
                    "this again",
                    self->path);
  case SQLITE_READONLY:
  case SQLITE_PERM:
    if (code == SQLITE_READONLY_DBMOVED)
      return pla_fail(err, PLA_ERR_IO,
                      "%s was moved, renamed or deleted while it was open, so nothing more can be "
                      "kept in it; put it back, or open it where it is now",
                      self->path);
    return code == SQLITE_READONLY_ROLLBACK || code == SQLITE_READONLY_RECOVERY
               ? pla_fail(err, PLA_ERR_IO,
                          "%s was interrupted while it was written; open it once where it can be "
                          "written, together with %s-journal",
                          self->path, self->path)
               : pla_fail(err, PLA_ERR_IO,
                          "%s cannot be changed: the file or its folder is read-only; copy it to "
                          "a folder of your own",
                          self->path);
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
    return pla_store_fail_damaged(self, sqlite3_errmsg(self->db), err);
  case SQLITE_CANTOPEN:
    return pla_fail(err, PLA_ERR_IO,
                    "%s cannot be %s: its folder refuses the journal beside it (%s); copy the case "
                    "to a folder of your own",
                    self->path, doing, why ? strerror(why) : "no permission");
  default:
    break;
  }
  if (no_room)
    return pla_fail(
        err, PLA_ERR_IO,
        "%s cannot be %s: the disk is full; nothing was changed, so free some space and "
        "do this again",
        self->path, doing);
  return pla_fail(err, PLA_ERR_IO, "%s cannot be %s (%s%s%s); nothing was changed", self->path,
                  doing, sqlite3_errmsg(self->db), why ? ": " : "", why ? strerror(why) : "");
}

/* statements */

void
pla_store_lock(PlaStore *self)
{
  pthread_mutex_lock(&self->lock);
}

void
pla_store_unlock(PlaStore *self)
{
  pthread_mutex_unlock(&self->lock);
}

sqlite3_stmt *
pla_store_statement(PlaStore *self, const char *sql)
{
  int at = 0;
  while (at < PLA_N_STATEMENTS && self->cache[at].sql && self->cache[at].sql != sql)
    at++;
  assert(at < PLA_N_STATEMENTS);
  if (!self->cache[at].stmt) {
    if (sqlite3_prepare_v3(self->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &self->cache[at].stmt,
                           NULL) != SQLITE_OK)
      return NULL;
    self->cache[at].sql = sql;
  }
  sqlite3_reset(self->cache[at].stmt);
  sqlite3_clear_bindings(self->cache[at].stmt);
  return self->cache[at].stmt;
}

PlaStatus
pla_store_exec(PlaStore *self, const char *sql, PlaError *err)
{
  return sqlite3_exec(self->db, sql, NULL, NULL, NULL) == SQLITE_OK
             ? PLA_OK
             : pla_store_fail(self, "written", err);
}

PlaStatus
pla_store_finish(PlaStore *self, sqlite3_stmt *stmt, PlaError *err)
{
  PlaStatus st = PLA_OK;
  if (!stmt || sqlite3_step(stmt) != SQLITE_DONE)
    st = pla_store_fail(self, "written", err);
  if (stmt)
    sqlite3_reset(stmt);
  return st;
}

static int
on_sqlite_progress(void *data)
{
  return pla_progress_cancelled(data);
}

void
pla_store_watch(PlaStore *self, PlaProgress *progress)
{
  sqlite3_progress_handler(self->db, progress ? 10000 : 0, on_sqlite_progress, progress);
}

void
pla_bind_hash(sqlite3_stmt *stmt, int at, const PlaHash *hash)
{
  sqlite3_bind_blob(stmt, at, hash->byte, sizeof hash->byte, SQLITE_TRANSIENT);
}

bool
pla_column_hash(sqlite3_stmt *stmt, int at, PlaHash *out)
{
  const void *data = sqlite3_column_blob(stmt, at);
  if (!data || sqlite3_column_bytes(stmt, at) != (int)sizeof out->byte)
    return false;
  memcpy(out->byte, data, sizeof out->byte);
  return true;
}

char *
pla_column_dup(sqlite3_stmt *stmt, int at)
{
  const char *text = (const char *)sqlite3_column_text(stmt, at);
  return pla_strdup(text ? text : "");
}

PlaStatus
pla_store_query_int(PlaStore *self, const char *sql, int64_t *out, PlaError *err)
{
  sqlite3_stmt *stmt = NULL;
  PlaStatus st = PLA_OK;
  if (sqlite3_prepare_v2(self->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
      sqlite3_step(stmt) == SQLITE_ROW)
    *out = sqlite3_column_int64(stmt, 0);
  else
    st = pla_store_fail(self, "read", err);
  sqlite3_finalize(stmt);
  return st;
}

/* opening */

void
pla_store_close(PlaStore *self)
{
  if (!self)
    return;
  pla_store_rollback(self);
  for (int i = 0; i < PLA_N_STATEMENTS; i++)
    sqlite3_finalize(self->cache[i].stmt);
  sqlite3_close(self->db);
  pthread_mutex_destroy(&self->lock);
  free(self->path);
  free(self->read_only);
  free(self);
}

/* @flags as of sqlite3_open_v2(); @path "" makes a private temporary database */
static PlaStatus
open_database(const char *path, const char *shown, int flags, PlaStore **out, PlaError *err)
{
  *out = NULL;
  PlaStore *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, shown);
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&self->lock, &attr);
  pthread_mutexattr_destroy(&attr);
  self->path = pla_strdup(shown);
  PlaStatus st = self->path ? PLA_OK : pla_fail_memory(err, shown);
  if (st == PLA_OK &&
      sqlite3_open_v2(path, &self->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
    st = self->db ? pla_store_fail(self, "opened", err) : pla_fail_memory(err, shown);
  if (st == PLA_OK) {
    sqlite3_extended_result_codes(self->db, 1);
    sqlite3_busy_timeout(self->db, BUSY_MS);
    /* what a hostile file could abuse */
    sqlite3_db_config(self->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(self->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(self->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(self->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(self->db, SQLITE_LIMIT_LENGTH, (int)PLA_CHUNK_MAX_BYTES + 65536);
    char pragmas[256];
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA page_size=%d; PRAGMA foreign_keys=ON; PRAGMA synchronous=EXTRA;"
             "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0;"
             "PRAGMA cache_size=-%d",
             PAGE_BYTES, CACHE_KIB);
    st = pla_store_exec(self, pragmas, err);
  }
  if (st != PLA_OK) {
    pla_store_close(self);
    return st;
  }
  *out = self;
  return PLA_OK;
}

PlaStatus
pla_store_open_raw(const char *path, bool writable, PlaStore **out, PlaError *err)
{
  return open_database(path, path, writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, out,
                       err);
}

/* for a file that has no name yet and is synced as a whole later, or is never kept */
static PlaStatus
relax(PlaStore *self, PlaError *err)
{
  return pla_store_exec(self, "PRAGMA synchronous=OFF; PRAGMA journal_mode=MEMORY", err);
}

/* inside a transaction */
static PlaStatus
migrate(PlaStore *self, int from, PlaError *err)
{
  PlaStatus st = PLA_OK;
  char pragmas[96];
  for (int v = from; st == PLA_OK && v < SCHEMA_VERSION; v++)
    st = pla_store_exec(self, migrations[v], err);
  snprintf(pragmas, sizeof pragmas, "PRAGMA application_id=%d; PRAGMA user_version=%d",
           APPLICATION_ID, SCHEMA_VERSION);
  return st == PLA_OK ? pla_store_exec(self, pragmas, err) : st;
}

static PlaStatus
end_transaction(PlaStore *self, PlaStatus st, PlaError *err)
{
  if (st == PLA_OK)
    return pla_store_commit(self, err);
  pla_store_rollback(self);
  return st;
}

/* tables, title and the first branch of a file that nobody else knows yet */
static PlaStatus
fill_new(PlaStore *self, const char *title, PlaError *err)
{
  PlaStatus st = relax(self, err);
  if (st == PLA_OK)
    st = pla_store_begin(self, err);
  if (st != PLA_OK)
    return st;
  st = migrate(self, 0, err);
  if (st == PLA_OK)
    st = pla_store_set_title(self, title, err);
  if (st == PLA_OK)
    st = pla_store_set_branch(self, "main", 0, 0, err);
  if (st == PLA_OK)
    st = pla_store_set_current_branch(self, "main", err);
  if (st == PLA_OK)
    st = pla_store_set_texts_strict(self, true, err);
  return end_transaction(self, st, err);
}

PlaStatus
pla_store_create_temporary(PlaStore **out, PlaError *err)
{
  PlaStatus st =
      open_database("", "the temporary case", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, out, err);
  if (st == PLA_OK)
    st = fill_new(*out, "", err);
  if (st != PLA_OK) {
    pla_store_close(*out);
    *out = NULL;
  }
  return st;
}

/* syncs a file or the folder it lies in */
static bool
sync_path(const char *path)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool fine = fd >= 0 && fsync(fd) == 0;
  if (fd >= 0)
    close(fd);
  return fine;
}

/* syncs the finished file @temp and gives it its name unless that is taken */
static PlaStatus
publish(const char *temp, const char *path, PlaError *err)
{
  if (!sync_path(temp))
    return pla_fail(err, PLA_ERR_IO, "%s cannot be written (%s); choose another folder", path,
                    strerror(errno));
  if (link(temp, path) != 0) {
    int why = errno;
    struct stat st;
    /* some file systems have no hard links */
    if (why == EEXIST || lstat(path, &st) == 0)
      return pla_fail(err, PLA_ERR_IO, "%s exists already; choose another name", path);
    if (rename(temp, path) != 0)
      return pla_fail(err, PLA_ERR_IO, "%s cannot be made (%s); choose another folder", path,
                      strerror(why));
  }
  /* a folder that cannot be synced only risks the new name, not the data */
  char *folder = pla_strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
  if (slash)
    slash[slash == folder] = '\0';
  sync_path(slash ? folder : ".");
  free(folder);
  return PLA_OK;
}

/* an empty file beside @path, to become it */
static PlaStatus
make_temp(const char *path, char **temp, PlaError *err)
{
  struct stat info;
  *temp = NULL;
  if (lstat(path, &info) == 0)
    return pla_fail(err, PLA_ERR_IO, "%s exists already; choose another name", path);
  *temp = pla_strdup_printf("%s.XXXXXX.part", path);
  if (!*temp)
    return pla_fail_memory(err, path);
  int fd = mkostemps(*temp, 5, O_CLOEXEC);
  if (fd < 0) {
    PlaStatus st = pla_fail(err, PLA_ERR_IO, "%s cannot be made (%s); choose another folder", path,
                            strerror(errno));
    free(*temp);
    *temp = NULL;
    return st;
  }
  close(fd); /* readable by its owner alone: it holds a patient's data */
  return PLA_OK;
}

PlaStatus
pla_store_create_draft(const char *path, const char *title, char **temp, PlaStore **out,
                       PlaError *err)
{
  *out = NULL;
  PlaStatus st = make_temp(path, temp, err);
  if (st == PLA_OK)
    st = open_database(*temp, path, SQLITE_OPEN_READWRITE, out, err);
  return st == PLA_OK ? fill_new(*out, title, err) : st;
}

PlaStatus
pla_store_end_draft(PlaStore *draft, char *temp, const char *path, PlaStatus st, PlaError *err)
{
  pla_store_close(draft);
  if (st == PLA_OK)
    st = publish(temp, path, err);
  if (temp)
    unlink(temp);
  free(temp);
  return st;
}

PlaStatus
pla_store_create(const char *path, const char *title, PlaStore **out, PlaError *err)
{
  char *temp;
  PlaStore *draft;
  *out = NULL;
  PlaStatus st = pla_store_create_draft(path, title, &temp, &draft, err);
  st = pla_store_end_draft(draft, temp, path, st, err);
  return st == PLA_OK ? pla_store_open(path, out, err) : st;
}

PlaStatus
pla_store_copy_into(PlaStore *self, const char *empty, PlaProgress *progress, PlaError *err)
{
  pla_store_lock(self);
  pla_store_watch(self, progress);
  sqlite3_stmt *stmt = pla_store_statement(self, "VACUUM INTO ?1");
  if (stmt)
    sqlite3_bind_text(stmt, 1, empty, -1, SQLITE_TRANSIENT);
  PlaStatus st = pla_store_finish(self, stmt, err);
  pla_store_watch(self, NULL);
  pla_store_unlock(self);
  return st;
}

PlaStatus
pla_store_save_copy(PlaStore *self, const char *path, PlaProgress *progress, PlaError *err)
{
  char *temp;
  PlaStatus st = make_temp(path, &temp, err);
  if (st == PLA_OK) {
    PlaError why;
    st = pla_store_copy_into(self, temp, progress, &why);
    if (st == PLA_ERR_CANCELLED)
      pla_fail_cancelled(err);
    else if (st != PLA_OK)
      pla_fail(err, st, "%s cannot be saved as %s (%s)", self->path, path, why.message);
  }
  return pla_store_end_draft(NULL, temp, path, st, err);
}

bool
pla_store_probe(const uint8_t *head, size_t n_head)
{
  return n_head >= 100 && memcmp(head, "SQLite format 3", 16) == 0 &&
         ((uint32_t)head[68] << 24 | (uint32_t)head[69] << 16 | (uint32_t)head[70] << 8 |
          head[71]) == APPLICATION_ID;
}

/* a file that is not what was written may only be read; a first reason stays */
static void
set_damaged(PlaStore *self, const char *detail)
{
  if (!self->read_only)
    self->read_only = pla_strdup_printf(
        "%s is damaged (%s) and can only be read; 'platysma-cli case recover' saves what can be "
        "read into a new file",
        self->path, detail);
}

/* pages that the header promises against the bytes that are there */
static void
check_size(PlaStore *self, const uint8_t *head, uint64_t size)
{
  uint64_t page = (uint64_t)head[16] << 8 | head[17];
  uint64_t pages =
      (uint64_t)head[28] << 24 | (uint64_t)head[29] << 16 | (uint64_t)head[30] << 8 | head[31];
  page = page == 1 ? 65536 : page;
  bool count_is_valid = memcmp(head + 24, head + 92, 4) == 0;
  if (count_is_valid && pages * page > size)
    set_damaged(self, "its end is missing");
}

/* everything but the chunks' data: a few kilobytes even in a case of a gigabyte */
static void
check_lists(PlaStore *self)
{
  static const char *const checks[] = {
    "PRAGMA quick_check('operation')", "PRAGMA quick_check('change')",
    "PRAGMA quick_check('bundle')",    "PRAGMA quick_check('bundle_array')",
    "PRAGMA quick_check('array')",     "PRAGMA quick_check('branch')",
    "PRAGMA quick_check('meta')",
  };
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
    sqlite3_stmt *stmt = NULL;
    bool fine = sqlite3_prepare_v2(self->db, checks[i], -1, &stmt, NULL) == SQLITE_OK &&
                sqlite3_step(stmt) == SQLITE_ROW;
    if (!fine)
      set_damaged(self, sqlite3_errmsg(self->db));
    else if (strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
      set_damaged(self, (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
  }

  /* the log and the branches must be readable and what was written */
  PlaError err;
  PlaLog log = { 0 };
  PlaBranches branches = { 0 };
  PlaState state = { 0 };
  if (pla_store_read_log(self, &log, &err) != PLA_OK)
    set_damaged(self, "the log cannot be read");
  else if (pla_store_read_branches(self, &branches, &err) != PLA_OK)
    set_damaged(self, "the branches cannot be read");
  for (int b = 0; b < branches.n && !self->read_only; b++) {
    if (pla_store_read_state(self, branches.branch[b].head, &state, &err) != PLA_OK) {
      set_damaged(self, "the list of items cannot be read");
    } else {
      PlaHash hash = pla_state_hash(&state);
      const PlaLogRow *row = pla_log_find(&log, branches.branch[b].head);
      if (row && !pla_hash_equal(&hash, &row->state))
        set_damaged(self, "the list of items is not the one that was stored");
    }
    pla_state_clear(&state);
  }
  pla_branches_clear(&branches);
  pla_log_clear(&log);
}

PlaStatus
pla_store_open(const char *path, PlaStore **out, PlaError *err)
{
  uint8_t head[100] = { 0 };
  size_t n_head;
  uint64_t size;
  *out = NULL;
  PlaStatus st = pla_source_size(path, &size, err);
  if (st == PLA_OK)
    st = pla_source_head(path, head, sizeof head, &n_head, err);
  if (st != PLA_OK)
    return st;

  /* a hot journal may hold the true first page, so only a file without one is judged by it */
  char *journal = pla_strdup_printf("%s-journal", path);
  if (!journal)
    return pla_fail_memory(err, path);
  bool hot = access(journal, F_OK) == 0;
  free(journal);
  if (!hot && !pla_store_probe(head, n_head))
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s is no Platysma case; 'platysma-cli case new' makes one and 'case import' "
                    "fills it",
                    path);

  PlaStore *self = NULL;
  st = pla_store_open_raw(path, true, &self, err);
  if (st != PLA_OK && !hot) /* no right to write: some systems refuse instead of narrowing */
    st = pla_store_open_raw(path, false, &self, err);
  int64_t id = 0, version = 0;
  if (st == PLA_OK)
    st = pla_store_query_int(self, "PRAGMA application_id", &id, err);
  if (st == PLA_OK)
    st = pla_store_query_int(self, "PRAGMA user_version", &version, err);
  if (st == PLA_OK && id != APPLICATION_ID)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s is no Platysma case", path);
  if (st == PLA_OK && version > SCHEMA_VERSION)
    st = pla_fail(err, PLA_ERR_UNSUPPORTED,
                  "%s was made by a newer Platysma (file version %lld, this program knows %d); "
                  "update Platysma to open it",
                  path, (long long)version, (int)SCHEMA_VERSION);
  if (st == PLA_OK && version < 1)
    st = pla_store_fail_damaged(self, "it has no tables", err);

  if (st == PLA_OK) {
    bool refuse = sqlite3_db_readonly(self->db, "main") == 1 || access(path, W_OK) != 0;
    if (!hot)
      check_size(self, head, size);
    check_lists(self);
    if (refuse && !self->read_only)
      self->read_only = pla_strdup_printf("%s can only be read: the file is read-only; copy it to "
                                          "a folder of your own to change it",
                                          path);
    if (!self->read_only && version < SCHEMA_VERSION) {
      st = pla_store_begin(self, err);
      if (st == PLA_OK)
        st = end_transaction(self, migrate(self, (int)version, err), err);
    }
  }
  if (st != PLA_OK) {
    pla_store_close(self);
    return st;
  }
  *out = self;
  return PLA_OK;
}

const char *
pla_store_get_path(const PlaStore *self)
{
  return self->path;
}

const char *
pla_store_get_read_only_reason(const PlaStore *self)
{
  return self->read_only;
}

PlaStatus
pla_store_data_version(PlaStore *self, int64_t *out, PlaError *err)
{
  pla_store_lock(self);
  PlaStatus st = pla_store_query_int(self, "PRAGMA data_version", out, err);
  pla_store_unlock(self);
  return st;
}

void
pla_store_set_patience(PlaStore *self, int milliseconds)
{
  pla_store_lock(self);
  sqlite3_busy_timeout(self->db, milliseconds);
  pla_store_unlock(self);
}

/* transactions */

PlaStatus
pla_store_begin(PlaStore *self, PlaError *err)
{
  if (self->read_only)
    return pla_fail(err, PLA_ERR_IO, "%s", self->read_only);
  pla_store_lock(self);
  assert(!self->in_transaction);
  PlaStatus st = pla_store_exec(self, "BEGIN IMMEDIATE", err);
  if (st == PLA_OK)
    self->in_transaction = true;
  else
    pla_store_unlock(self);
  return st;
}

PlaStatus
pla_store_commit(PlaStore *self, PlaError *err)
{
  assert(self->in_transaction);
  PlaStatus st = pla_store_exec(self, "COMMIT", err);
  if (st != PLA_OK) {
    pla_store_rollback(self);
    return st;
  }
  self->in_transaction = false;
  /* pages of a case are rarely read twice: without this they pile up over a day's work */
  sqlite3_db_release_memory(self->db);
  pla_store_unlock(self);
  return PLA_OK;
}

void
pla_store_rollback(PlaStore *self)
{
  if (!self->in_transaction)
    return;
  /* SQLite has rolled back by itself after some errors */
  for (int i = 0; i < PLA_N_STATEMENTS; i++)
    if (self->cache[i].stmt)
      sqlite3_reset(self->cache[i].stmt);
  if (!sqlite3_get_autocommit(self->db))
    sqlite3_exec(self->db, "ROLLBACK", NULL, NULL, NULL);
  self->in_transaction = false;
  pla_store_unlock(self);
}
