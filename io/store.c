/* The case file: schema, opening, transactions, log, states and branches.
 *
 * A case is one SQLite database, application id "PLTY", schema version in user_version:
 *
 *   meta          key, value: "title", "branch" (the current one)
 *   chunk         a piece of array content: hash of the plain bytes, codec, element width, stored
 *                 bytes.  Each content is stored once, however many arrays hold it
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
#include "io/store-private.h"

#include "anatomy/base/memory.h"
#include "io/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY /* for hash states on the stack; their layout is fixed since 0.8   \
                                 */
#include <xxhash.h>

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

/* hashes */

bool
pla_hash_equal(const PlaHash *a, const PlaHash *b)
{
  return memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

const char *
pla_hash_text(const PlaHash *hash, char text[33])
{
  for (int i = 0; i < 16; i++)
    snprintf(text + 2 * i, 3, "%02x", hash->byte[i]);
  return text;
}

bool
pla_hash_parse(const char *text, PlaHash *out)
{
  if (strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32)
    return false;
  for (int i = 0; i < 16; i++) {
    char pair[3] = { text[2 * i], text[2 * i + 1], '\0' };
    out->byte[i] = (uint8_t)strtoul(pair, NULL, 16);
  }
  return true;
}

static PlaHash
canonical(XXH128_hash_t value)
{
  XXH128_canonical_t c;
  PlaHash hash;
  XXH128_canonicalFromHash(&c, value);
  memcpy(hash.byte, c.digest, sizeof hash.byte);
  return hash;
}

PlaHash
pla_hash_bytes(const void *data, size_t size)
{
  return canonical(XXH3_128bits(data, size));
}

PlaStatus
pla_hash_file(const char *path, PlaProgress *progress, PlaHash *out, uint64_t *size, PlaError *err)
{
  uint64_t done = 0;
  PlaStatus st = pla_source_size(path, size, err);
  if (st != PLA_OK)
    return st;
  FILE *file = fopen(path, "rbe");
  XXH3_state_t *state = XXH3_createState();
  uint8_t *piece = pla_array_new(PLA_CHUNK_BYTES, 1);
  if (!state || !piece)
    st = pla_fail_memory(err, path);
  else if (!file)
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be opened (%s)", path, strerror(errno));
  else
    XXH3_128bits_reset(state);
  while (st == PLA_OK) {
    size_t n = fread(piece, 1, PLA_CHUNK_BYTES, file);
    if (n == 0)
      break;
    XXH3_128bits_update(state, piece, n);
    done += n;
    if (!pla_progress_step(progress, *size ? (double)done / (double)*size : 1.0))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK && ferror(file))
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", path, strerror(errno));
  if (st == PLA_OK) {
    *out = canonical(XXH3_128bits_digest(state));
    *size = done;
  }
  free(piece);
  XXH3_freeState(state);
  if (file)
    fclose(file);
  return st;
}

/* appends fields in a form where no two sets of fields give the same bytes */
static void
hash_blob(XXH3_state_t *state, const void *data, size_t size)
{
  uint64_t n = size;
  XXH3_128bits_update(state, &n, sizeof n);
  XXH3_128bits_update(state, data, size);
}

static void
hash_text(XXH3_state_t *state, const char *text)
{
  hash_blob(state, text, strlen(text));
}

static void
hash_int(XXH3_state_t *state, int64_t value)
{
  XXH3_128bits_update(state, &value, sizeof value);
}

/* the state lives on the stack; every hash starts with the kind of thing it is of */
static void
hash_start(XXH3_state_t *state, const char *what)
{
  XXH3_INITSTATE(state);
  XXH3_128bits_reset(state);
  hash_text(state, what);
}

PlaHash
pla_log_row_checksum(const PlaLogRow *row)
{
  XXH3_state_t s;
  hash_start(&s, "operation");
  hash_int(&s, row->id);
  hash_int(&s, row->parent);
  hash_text(&s, row->verb);
  hash_text(&s, row->parameters);
  hash_text(&s, row->inputs);
  hash_blob(&s, row->state.byte, sizeof row->state.byte);
  hash_text(&s, row->program);
  hash_text(&s, row->kernel);
  hash_int(&s, row->time_ms);
  hash_int(&s, row->duration_ms);
  return canonical(XXH3_128bits_digest(&s));
}

PlaHash
pla_branch_checksum(const PlaBranch *branch)
{
  XXH3_state_t s;
  hash_start(&s, "branch");
  hash_text(&s, branch->name);
  hash_int(&s, branch->head);
  hash_int(&s, branch->tip);
  return canonical(XXH3_128bits_digest(&s));
}

PlaHash
pla_meta_checksum(const char *key, const char *value)
{
  XXH3_state_t s;
  hash_start(&s, "meta");
  hash_text(&s, key);
  hash_text(&s, value);
  return canonical(XXH3_128bits_digest(&s));
}

PlaHash
pla_array_hash(const PlaStoreArray *array, const PlaHash *chunks, size_t n_chunks)
{
  XXH3_state_t s;
  hash_start(&s, "array");
  hash_text(&s, pla_dtype_name(array->dtype));
  hash_int(&s, array->n_dims);
  for (int d = 0; d < array->n_dims; d++)
    hash_int(&s, (int64_t)array->shape[d]);
  for (size_t c = 0; c < n_chunks; c++)
    hash_blob(&s, chunks[c].byte, sizeof chunks[c].byte);
  return canonical(XXH3_128bits_digest(&s));
}

PlaHash
pla_bundle_hash(const PlaBundle *bundle)
{
  XXH3_state_t s;
  hash_start(&s, "item");
  hash_text(&s, bundle->kind);
  hash_text(&s, bundle->name);
  hash_text(&s, bundle->meta);

  /* in order of the names, which are few and differ; nothing here may fail */
  const char *last = NULL;
  for (int done = 0; done < bundle->n_arrays; done++) {
    const PlaStoreArray *next = NULL;
    for (int a = 0; a < bundle->n_arrays; a++) {
      const PlaStoreArray *array = &bundle->array[a];
      if ((!last || strcmp(array->name, last) > 0) &&
          (!next || strcmp(array->name, next->name) < 0))
        next = array;
    }
    if (!next)
      break;
    hash_text(&s, next->name);
    hash_blob(&s, next->hash.byte, sizeof next->hash.byte);
    last = next->name;
  }
  return canonical(XXH3_128bits_digest(&s));
}

/* plain structs */

size_t
pla_store_array_bytes(const PlaStoreArray *array)
{
  size_t n = pla_dtype_size(array->dtype);
  for (int d = 0; d < array->n_dims; d++)
    if (array->shape[d] == 0)
      return 0;
  for (int d = 0; d < array->n_dims; d++)
    if (!pla_size_mul(n, array->shape[d], &n) || n > PTRDIFF_MAX)
      return SIZE_MAX;
  return n;
}

void
pla_bundle_clear(PlaBundle *bundle, bool with_data)
{
  for (int a = 0; a < bundle->n_arrays; a++) {
    free(bundle->array[a].name);
    if (with_data)
      free(bundle->array[a].data);
  }
  free(bundle->array);
  free(bundle->kind);
  free(bundle->name);
  free(bundle->meta);
  *bundle = (PlaBundle){ 0 };
}

static void
state_item_clear(PlaStateItem *item)
{
  free(item->kind);
  free(item->name);
}

void
pla_state_clear(PlaState *state)
{
  for (int i = 0; i < state->n; i++)
    state_item_clear(&state->item[i]);
  free(state->item);
  *state = (PlaState){ 0 };
}

PlaStatus
pla_state_dup(const PlaState *state, PlaState *out, PlaError *err)
{
  *out = (PlaState){ 0 };
  PlaStatus st = PLA_OK;
  for (int i = 0; i < state->n && st == PLA_OK; i++) {
    const PlaStateItem *it = &state->item[i];
    st = pla_state_set(out, it->item, &it->hash, it->kind, it->name, err);
  }
  if (st != PLA_OK)
    pla_state_clear(out);
  return st;
}

/* where @item stands in the ascending list, or would */
static int
state_position(const PlaState *state, int64_t item)
{
  int lo = 0, hi = state->n;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (state->item[mid].item < item)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

const PlaStateItem *
pla_state_find(const PlaState *state, int64_t item)
{
  int at = state_position(state, item);
  return at < state->n && state->item[at].item == item ? &state->item[at] : NULL;
}

const PlaStateItem *
pla_state_find_name(const PlaState *state, const char *name)
{
  for (int i = 0; i < state->n; i++)
    if (strcmp(state->item[i].name, name) == 0)
      return &state->item[i];
  return NULL;
}

PlaStatus
pla_state_set(PlaState *state, int64_t item, const PlaHash *hash, const char *kind,
              const char *name, PlaError *err)
{
  int at = state_position(state, item);
  bool known = at < state->n && state->item[at].item == item;
  if (!hash) {
    if (known) {
      state_item_clear(&state->item[at]);
      memmove(state->item + at, state->item + at + 1,
              (size_t)(state->n - at - 1) * sizeof *state->item);
      state->n--;
    }
    return PLA_OK;
  }
  PlaStateItem fresh = { item, *hash, pla_strdup(kind), pla_strdup(name) };
  void *items = state->item;
  if (!fresh.kind || !fresh.name ||
      (!known && !pla_array_resize(&items, (size_t)state->n + 1, sizeof *state->item))) {
    state_item_clear(&fresh);
    return pla_fail_memory(err, "the list of items");
  }
  state->item = items;
  if (known) {
    state_item_clear(&state->item[at]);
  } else {
    memmove(state->item + at + 1, state->item + at, (size_t)(state->n - at) * sizeof *state->item);
    state->n++;
  }
  state->item[at] = fresh;
  return PLA_OK;
}

PlaHash
pla_state_hash(const PlaState *state)
{
  XXH3_state_t s;
  hash_start(&s, "state");
  const char *last = NULL;
  for (int done = 0; done < state->n; done++) {
    const PlaStateItem *next = NULL;
    for (int i = 0; i < state->n; i++) {
      const PlaStateItem *item = &state->item[i];
      if ((!last || strcmp(item->name, last) > 0) && (!next || strcmp(item->name, next->name) < 0))
        next = item;
    }
    if (!next)
      break;
    hash_blob(&s, next->hash.byte, sizeof next->hash.byte);
    last = next->name;
  }
  return canonical(XXH3_128bits_digest(&s));
}

void
pla_log_clear(PlaLog *log)
{
  for (int i = 0; i < log->n; i++) {
    PlaLogRow *row = &log->row[i];
    free(row->verb);
    free(row->parameters);
    free(row->inputs);
    free(row->program);
    free(row->kernel);
  }
  free(log->row);
  *log = (PlaLog){ 0 };
}

const PlaLogRow *
pla_log_find(const PlaLog *log, int64_t id)
{
  int lo = 0, hi = log->n;
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (log->row[mid].id < id)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < log->n && log->row[lo].id == id ? &log->row[lo] : NULL;
}

void
pla_branches_clear(PlaBranches *branches)
{
  for (int b = 0; b < branches->n; b++)
    free(branches->branch[b].name);
  free(branches->branch);
  *branches = (PlaBranches){ 0 };
}

bool
pla_shape_parse(const char *text, PlaStoreArray *array)
{
  array->n_dims = 0;
  const char *at = text;
  while (*at) {
    char *end;
    if (*at < '0' || *at > '9' || array->n_dims == PLA_STORE_MAX_DIMS)
      return false;
    errno = 0;
    array->shape[array->n_dims++] = strtoull(at, &end, 10);
    if (errno || (*end && *end != ' '))
      return false;
    at = *end ? end + 1 : end;
  }
  return array->n_dims > 0 && pla_store_array_bytes(array) != SIZE_MAX;
}

void
pla_shape_text(const PlaStoreArray *array, char text[192])
{
  int n = 0;
  for (int d = 0; d < array->n_dims; d++)
    n += snprintf(text + n, 192 - (size_t)n, d ? " %llu" : "%llu",
                  (unsigned long long)array->shape[d]);
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

static PlaStatus
query_int(PlaStore *self, const char *sql, int64_t *out, PlaError *err)
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

PlaStatus
pla_store_create_draft(const char *path, const char *title, char **temp, PlaStore **out,
                       PlaError *err)
{
  struct stat info;
  *temp = NULL;
  *out = NULL;
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
  mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, 0666 & ~mask);
  close(fd);
  PlaStatus st = open_database(*temp, path, SQLITE_OPEN_READWRITE, out, err);
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
    st = query_int(self, "PRAGMA application_id", &id, err);
  if (st == PLA_OK)
    st = query_int(self, "PRAGMA user_version", &version, err);
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
  PlaStatus st = query_int(self, "PRAGMA data_version", out, err);
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
  PlaStatus st = query_int(
      self,
      "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'operation'), 0), "
      "coalesce((SELECT max(id) FROM operation), 0))",
      &last_id, err);
  if (st == PLA_OK)
    st = query_int(self, "SELECT coalesce(max(item), 0) FROM change", &last_item, err);
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
