/* What a damaged case still holds, copied into a new one.
 *
 * Tables are read row by row; where SQLite stops at a damaged page the rest is read from the other
 * end and then one row number after the other, each of which finds its own way down the tree.
 * Chunks, arrays, items and log rows prove by their hashes that they are whole, so nothing wrong
 * gets into the new case. */
#include "io/store/store-private.h"

#include "anatomy/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* row numbers tried one by one without finding any before the gap counts as the end: more than a
 * damaged page can have held */
enum { MAX_MISSES = 4096 };

typedef struct {
  int64_t id, array, seq, chunk;
} ArrayChunkRow;

typedef struct {
  int64_t id;
  PlaStoreArray array;
  int64_t chunk_bytes;
  bool whole;
} ArrayRow;

typedef struct {
  int64_t id;
  PlaHash hash;
  int64_t new_id; /* in the new case */
  size_t n_bytes;
} ChunkRow;

typedef struct {
  int64_t id, bundle, array;
  char *name;
} BundleArrayRow;

typedef struct {
  int64_t id;
  PlaBundle bundle;
  bool whole;
  char *why; /* it is whole but cannot be understood, or NULL */
} BundleRow;

typedef struct {
  int64_t id, operation, item, before, after;
} ChangeRow;

typedef struct {
  int64_t id;
  PlaLogRow row;
  int64_t new_id; /* 0: not kept */
} OperationRow;

typedef struct {
  int64_t id;
  PlaBranch branch;
} BranchRow;

/* a growing list of rows, sorted by id at the end; every row type starts with its id */
typedef struct {
  char *row;
  size_t n, capacity, size;
} Rows;

typedef struct {
  PlaStore *from, *to;
  const PlaStoreMeaning *meaning; /* or NULL */
  PlaProgress *progress;
  PlaStoreSalvage *report;
  PlaError *err;
  PlaStatus st;
  uint8_t *plain, *scratch; /* room bytes */
  size_t room;
  Rows chunks, arrays, array_chunks, bundles, bundle_arrays, operations, changes, branches;
  char *title, *current;
} Salvage;

static void *
rows_at(const Rows *rows, size_t i)
{
  return rows->row + i * rows->size;
}

/* room for one more row, zeroed; NULL when memory is short */
static void *
rows_add(Salvage *s, Rows *rows)
{
  if (rows->n == rows->capacity) {
    void *grown = rows->row;
    size_t capacity = rows->capacity + rows->capacity / 2 + 64;
    if (!pla_array_resize(&grown, capacity, rows->size)) {
      s->st = pla_fail_memory(s->err, "the rows of the damaged case");
      return NULL;
    }
    rows->row = grown;
    rows->capacity = capacity;
  }
  void *row = rows_at(rows, rows->n++);
  memset(row, 0, rows->size);
  return row;
}

static int
compare_ids(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void *
rows_find(const Rows *rows, int64_t id)
{
  return rows->n ? bsearch(&id, rows->row, rows->n, rows->size, compare_ids) : NULL;
}

typedef void (*TakeRow)(Salvage *s, sqlite3_stmt *stmt);

/* steps a query over the ids between lo and hi; returns SQLITE_DONE or the error */
static int
walk(Salvage *s, sqlite3_stmt *stmt, int64_t lo, int64_t hi, TakeRow take, int64_t *last)
{
  int rc = SQLITE_ERROR;
  sqlite3_bind_int64(stmt, 1, lo);
  sqlite3_bind_int64(stmt, 2, hi);
  while (s->st == PLA_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    *last = sqlite3_column_int64(stmt, 0);
    take(s, stmt);
    if (pla_progress_cancelled(s->progress))
      s->st = pla_fail_cancelled(s->err);
  }
  sqlite3_reset(stmt);
  return rc;
}

/* hands every readable row of @table to @take, in any order */
static void
read_table(Salvage *s, const char *table, const char *columns, TakeRow take)
{
  if (s->st != PLA_OK)
    return;
  char sql[512];
  sqlite3_stmt *up = NULL, *down = NULL;
  int64_t first = 0, last = INT64_MAX;
  /* by the row number, which has its name even where damage renamed the column */
  const char format[] =
      "SELECT rowid, %s FROM %s NOT INDEXED WHERE rowid > ?1 AND rowid < ?2 ORDER BY rowid%s";
  snprintf(sql, sizeof sql, format, columns, table, "");
  int rc = sqlite3_prepare_v2(s->from->db, sql, -1, &up, NULL);
  snprintf(sql, sizeof sql, format, columns, table, " DESC");
  if (rc == SQLITE_OK)
    rc = sqlite3_prepare_v2(s->from->db, sql, -1, &down, NULL);
  if (rc == SQLITE_OK)
    rc = walk(s, up, 0, INT64_MAX, take, &first);
  if (rc != SQLITE_DONE && s->st == PLA_OK) {
    pla_notes_add(&s->report->lost, "a part of the table '%s' after row %lld is damaged", table,
                  (long long)first);
    if (down && walk(s, down, first, INT64_MAX, take, &last) != SQLITE_DONE) {
      /* rows between the two damages, one by one */
      int misses = 0;
      for (int64_t id = first + 1; id < last && misses < MAX_MISSES && s->st == PLA_OK; id++) {
        int64_t seen = 0;
        walk(s, up, id - 1, id + 1, take, &seen);
        misses = seen ? 0 : misses + 1;
      }
    }
  }
  sqlite3_finalize(up);
  sqlite3_finalize(down);
}

static bool
has_memory(Salvage *s, bool fine)
{
  if (!fine)
    s->st = pla_fail_memory(s->err, "the rows of the damaged case");
  return fine;
}

static void
take_chunk(Salvage *s, sqlite3_stmt *stmt)
{
  int64_t n_bytes = sqlite3_column_int64(stmt, 4);
  const void *stored = sqlite3_column_blob(stmt, 5);
  size_t n_stored = (size_t)sqlite3_column_bytes(stmt, 5);
  PlaHash hash;
  if (!stored || !pla_column_hash(stmt, 1, &hash) || n_bytes < 1 ||
      n_bytes > (int64_t)PLA_CHUNK_MAX_BYTES)
    return;
  if ((size_t)n_bytes > s->room) {
    free(s->plain);
    free(s->scratch);
    s->plain = pla_array_new_aligned((size_t)n_bytes, 1);
    s->scratch = pla_array_new_aligned((size_t)n_bytes, 1);
    s->room = (size_t)n_bytes;
    if (!has_memory(s, s->plain && s->scratch))
      return;
  }
  int codec = sqlite3_column_int(stmt, 2), width = sqlite3_column_int(stmt, 3);
  if (!pla_chunk_decode(codec, width, stored, n_stored, &hash, s->plain, (size_t)n_bytes,
                        s->scratch))
    return;
  int64_t new_id = pla_chunk_find(s->to, &hash);
  if (new_id == 0)
    new_id = pla_chunk_insert(s->to, &hash, codec, width, (size_t)n_bytes, stored, n_stored);
  if (new_id <= 0) {
    s->st = pla_store_fail(s->to, "written", s->err);
    return;
  }
  ChunkRow *row = rows_add(s, &s->chunks);
  if (row)
    *row = (ChunkRow){ sqlite3_column_int64(stmt, 0), hash, new_id, (size_t)n_bytes };
}

static void
take_array(Salvage *s, sqlite3_stmt *stmt)
{
  ArrayRow row = { .id = sqlite3_column_int64(stmt, 0) };
  const char *dtype = (const char *)sqlite3_column_text(stmt, 2);
  const char *shape = (const char *)sqlite3_column_text(stmt, 3);
  row.chunk_bytes = sqlite3_column_int64(stmt, 4);
  if (!dtype || !shape || !pla_column_hash(stmt, 1, &row.array.hash) ||
      !pla_dtype_from_name(dtype, &row.array.dtype) || !pla_shape_parse(shape, &row.array) ||
      row.chunk_bytes < 1 || row.chunk_bytes > (int64_t)PLA_CHUNK_MAX_BYTES)
    return;
  ArrayRow *added = rows_add(s, &s->arrays);
  if (added)
    *added = row;
}

static void
take_array_chunk(Salvage *s, sqlite3_stmt *stmt)
{
  ArrayChunkRow *row = rows_add(s, &s->array_chunks);
  if (row)
    *row = (ArrayChunkRow){ sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                            sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3) };
}

static void
take_bundle(Salvage *s, sqlite3_stmt *stmt)
{
  PlaHash hash;
  if (!pla_column_hash(stmt, 1, &hash))
    return;
  BundleRow *row = rows_add(s, &s->bundles);
  if (!row)
    return;
  row->id = sqlite3_column_int64(stmt, 0);
  row->bundle = (PlaBundle){ .hash = hash,
                             .kind = pla_column_dup(stmt, 2),
                             .name = pla_column_dup(stmt, 3),
                             .meta = pla_column_dup(stmt, 4) };
  has_memory(s, row->bundle.kind && row->bundle.name && row->bundle.meta);
}

static void
take_bundle_array(Salvage *s, sqlite3_stmt *stmt)
{
  BundleArrayRow *row = rows_add(s, &s->bundle_arrays);
  if (!row)
    return;
  *row = (BundleArrayRow){ sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                           sqlite3_column_int64(stmt, 3), pla_column_dup(stmt, 2) };
  has_memory(s, row->name != NULL);
}

static void
take_operation(Salvage *s, sqlite3_stmt *stmt)
{
  bool intact;
  OperationRow *row = rows_add(s, &s->operations);
  if (!row || !has_memory(s, pla_log_row_read(stmt, &row->row, &intact)))
    return;
  /* a row that is not what was written still tells its id and parent, but is not kept */
  row->id = row->row.id;
  row->new_id = intact ? 0 : -1;
  s->report->operations_found += intact;
}

static void
take_change(Salvage *s, sqlite3_stmt *stmt)
{
  ChangeRow *row = rows_add(s, &s->changes);
  if (row)
    *row = (ChangeRow){ sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
                        sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3),
                        sqlite3_column_int64(stmt, 4) };
}

static void
take_branch(Salvage *s, sqlite3_stmt *stmt)
{
  PlaHash stored, is;
  BranchRow row = { sqlite3_column_int64(stmt, 0),
                    { pla_column_dup(stmt, 1), sqlite3_column_int64(stmt, 2),
                      sqlite3_column_int64(stmt, 3) } };
  if (!has_memory(s, row.branch.name != NULL))
    return;
  is = pla_branch_checksum(&row.branch);
  BranchRow *added = pla_column_hash(stmt, 4, &stored) && pla_hash_equal(&is, &stored)
                         ? rows_add(s, &s->branches)
                         : NULL;
  if (added)
    *added = row;
  else
    free(row.branch.name);
}

static void
take_meta(Salvage *s, sqlite3_stmt *stmt)
{
  const char *key = (const char *)sqlite3_column_text(stmt, 1);
  char **into = !key ? NULL : strcmp(key, "title") == 0 ? &s->title : &s->current;
  if (into && !*into) {
    *into = pla_column_dup(stmt, 2);
    has_memory(s, *into != NULL);
  }
}

static int
compare_array_chunks(const void *a, const void *b)
{
  const ArrayChunkRow *x = a, *y = b;
  return x->array != y->array ? (x->array > y->array) - (x->array < y->array)
                              : (x->seq > y->seq) - (x->seq < y->seq);
}

static int
compare_bundle_arrays(const void *a, const void *b)
{
  const BundleArrayRow *x = a, *y = b;
  return (x->bundle > y->bundle) - (x->bundle < y->bundle);
}

static int
compare_changes(const void *a, const void *b)
{
  const ChangeRow *x = a, *y = b;
  return x->operation != y->operation
             ? (x->operation > y->operation) - (x->operation < y->operation)
             : (x->item > y->item) - (x->item < y->item);
}

/* first of the rows sorted by their second member, which is @key */
static size_t
first_with(const Rows *rows, int64_t key)
{
  size_t lo = 0, hi = rows->n;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (((const int64_t *)rows_at(rows, mid))[1] < key)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* stores the arrays all of whose chunks came through */
static void
keep_arrays(Salvage *s)
{
  for (size_t i = 0; i < s->arrays.n && s->st == PLA_OK; i++) {
    ArrayRow *array = rows_at(&s->arrays, i);
    size_t from = first_with(&s->array_chunks, array->id), n = 0, sum = 0;
    bool fine = true;
    while (from + n < s->array_chunks.n &&
           ((ArrayChunkRow *)rows_at(&s->array_chunks, from + n))->array == array->id)
      n++;
    PlaHash *hashes = pla_array_new(n, sizeof *hashes);
    int64_t *ids = pla_array_new(n, sizeof *ids), new_id;
    if (!has_memory(s, hashes && ids))
      fine = false;
    for (size_t c = 0; c < n && fine; c++) {
      const ArrayChunkRow *link = rows_at(&s->array_chunks, from + c);
      const ChunkRow *chunk = rows_find(&s->chunks, link->chunk);
      fine = chunk && link->seq == (int64_t)c && sum == c * (size_t)array->chunk_bytes;
      if (fine) {
        hashes[c] = chunk->hash;
        ids[c] = chunk->new_id;
        sum += chunk->n_bytes;
      }
    }
    if (fine && sum == pla_store_array_bytes(&array->array)) {
      PlaHash is = pla_array_hash(&array->array, hashes, n);
      array->whole = pla_hash_equal(&is, &array->array.hash);
    }
    if (array->whole)
      s->st = pla_array_insert(s->to, &array->array, (size_t)array->chunk_bytes, ids, n, &new_id,
                               s->err);
    free(hashes);
    free(ids);
  }
}

/* an item of the new case that cannot be understood is taken out again */
static void
ask_meaning(Salvage *s, BundleRow *row)
{
  PlaError why;
  if (!s->meaning || s->meaning->check_item(s->to, &row->bundle.hash, s->progress, &why) == PLA_OK)
    return;
  row->whole = false;
  row->why = pla_strdup(why.message);
  static const char *const removals[] = {
    "DELETE FROM bundle_array WHERE bundle = (SELECT id FROM bundle WHERE hash = ?1)",
    "DELETE FROM bundle WHERE hash = ?1"
  };
  for (size_t i = 0; i < sizeof removals / sizeof *removals && s->st == PLA_OK; i++) {
    sqlite3_stmt *stmt = pla_store_statement(s->to, removals[i]);
    if (stmt)
      pla_bind_hash(stmt, 1, &row->bundle.hash);
    s->st = pla_store_finish(s->to, stmt, s->err);
  }
}

/* stores the items all of whose arrays came through */
static void
keep_bundles(Salvage *s)
{
  for (size_t i = 0; i < s->bundles.n && s->st == PLA_OK; i++) {
    BundleRow *row = rows_at(&s->bundles, i);
    size_t from = first_with(&s->bundle_arrays, row->id), n = 0;
    while (from + n < s->bundle_arrays.n &&
           ((BundleArrayRow *)rows_at(&s->bundle_arrays, from + n))->bundle == row->id)
      n++;
    row->bundle.array = pla_array_new0(n, sizeof *row->bundle.array);
    if (!has_memory(s, row->bundle.array != NULL))
      return;
    bool fine = true;
    for (size_t a = 0; a < n && fine; a++) {
      const BundleArrayRow *link = rows_at(&s->bundle_arrays, from + a);
      const ArrayRow *array = rows_find(&s->arrays, link->array);
      fine = array && array->whole;
      if (fine) {
        row->bundle.array[a] = array->array;
        row->bundle.array[a].name = pla_strdup(link->name);
        row->bundle.n_arrays = (int)a + 1;
        if (!has_memory(s, row->bundle.array[a].name != NULL))
          return;
      }
    }
    if (fine) {
      PlaHash is = pla_bundle_hash(&row->bundle);
      row->whole = pla_hash_equal(&is, &row->bundle.hash);
    }
    if (row->whole)
      s->st = pla_bundle_insert(s->to, &row->bundle, s->err);
    if (row->whole && s->st == PLA_OK)
      ask_meaning(s, row);
    s->report->items_found++;
    s->report->items_kept += row->whole;
  }
}

static const BundleRow *
whole_bundle(const Salvage *s, int64_t id)
{
  const BundleRow *row = rows_find(&s->bundles, id);
  return row && row->whole ? row : NULL;
}

/* copies the operations whose whole past and result came through */
static void
keep_operations(Salvage *s)
{
  for (size_t i = 0; i < s->operations.n && s->st == PLA_OK; i++) {
    OperationRow *op = rows_at(&s->operations, i);
    const OperationRow *parent = rows_find(&s->operations, op->row.parent);
    PlaError why;
    if (op->new_id < 0 || (op->row.parent != 0 && (!parent || parent->new_id <= 0)))
      continue;
    if (s->meaning && s->meaning->check_row(&op->row, &why) != PLA_OK) {
      pla_notes_add(&s->report->lost,
                    "operation %lld (%s) cannot be understood (%s): its results are kept, but the "
                    "history from there on is one step",
                    (long long)op->id, op->row.verb, why.message);
      continue;
    }
    size_t from = first_with(&s->changes, op->id), n = 0;
    while (from + n < s->changes.n &&
           ((ChangeRow *)rows_at(&s->changes, from + n))->operation == op->id)
      n++;
    PlaChange *changes = pla_array_new0(n, sizeof *changes);
    PlaState state = { 0 };
    if (!has_memory(s, changes != NULL))
      return;
    bool fine = true;
    for (size_t c = 0; c < n && fine; c++) {
      const ChangeRow *row = rows_at(&s->changes, from + c);
      const BundleRow *before = whole_bundle(s, row->before), *after = whole_bundle(s, row->after);
      fine = (before || row->before == 0) && (after || row->after == 0);
      changes[c] = (PlaChange){ .item = row->item, .had = before != NULL, .has = after != NULL };
      if (before)
        changes[c].before = before->bundle.hash;
      if (after)
        changes[c].after = after->bundle.hash;
    }
    /* the changes must lead to the state that the row names: none of them may be missing */
    if (fine)
      s->st = pla_store_read_state(s->to, parent ? parent->new_id : 0, &state, s->err);
    if (fine && s->st == PLA_OK)
      s->st = pla_store_apply(s->to, &state, changes, (int)n, false, s->err);
    PlaHash is = pla_state_hash(&state);
    if (fine && s->st == PLA_OK && pla_hash_equal(&is, &op->row.state)) {
      PlaLogRow row = op->row;
      row.parent = parent ? parent->new_id : 0;
      s->st = pla_store_add_operation(s->to, &row, changes, (int)n, s->err);
      op->new_id = row.id;
      s->report->operations_kept++;
    }
    free(changes);
    pla_state_clear(&state);
  }
}

/* the nearest kept operation at or before @id, as its new number */
static int64_t
kept_ancestor(const Salvage *s, int64_t id)
{
  const OperationRow *op = rows_find(&s->operations, id);
  while (op && op->new_id <= 0)
    op = op->row.parent < op->id ? rows_find(&s->operations, op->row.parent) : NULL;
  return op ? op->new_id : 0;
}

/* Whether @operation is on the way from the root to @head, as far as the log tells. */
static bool
is_before(const Salvage *s, int64_t operation, int64_t head)
{
  while (head > operation) {
    const OperationRow *op = rows_find(&s->operations, head);
    if (!op)
      return true; /* the way is lost: better too much than too little */
    head = op->row.parent < op->id ? op->row.parent : 0;
  }
  return head == operation;
}

/* puts an item into the recovered state under a name that is free */
static PlaStatus
adopt(Salvage *s, PlaState *state, int64_t item, const BundleRow *row)
{
  const PlaStateItem *taken = pla_state_find_name(state, row->bundle.name);
  if (!taken || taken->item == item)
    return pla_state_set(state, item, &row->bundle.hash, row->bundle.kind, row->bundle.name,
                         s->err);
  PlaBundle renamed = row->bundle;
  PlaStatus st = PLA_OK;
  renamed.name = pla_strdup_printf("%s (recovered %lld)", row->bundle.name, (long long)item);
  if (!renamed.name)
    return pla_fail_memory(s->err, "an item");
  renamed.hash = pla_bundle_hash(&renamed);
  st = pla_bundle_insert(s->to, &renamed, s->err);
  if (st == PLA_OK)
    st = pla_state_set(state, item, &renamed.hash, renamed.kind, renamed.name, s->err);
  free(renamed.name);
  return st;
}

/* the newest readable content of every item that the line up to @head holds */
static PlaStatus
newest_state(Salvage *s, int64_t head, PlaState *state)
{
  PlaStatus st = PLA_OK;
  int64_t most = 0;
  for (size_t c = 0; c < s->changes.n && st == PLA_OK; c++) {
    const ChangeRow *change = rows_at(&s->changes, c); /* in order of operations */
    most = change->item > most ? change->item : most;
    if (!is_before(s, change->operation, head))
      continue;
    const BundleRow *after = whole_bundle(s, change->after);
    if (change->after == 0) {
      st = pla_state_set(state, change->item, NULL, NULL, NULL, s->err);
    } else if (after) {
      st = adopt(s, state, change->item, after);
    } else {
      const BundleRow *broken = rows_find(&s->bundles, change->after);
      const PlaStateItem *older = pla_state_find(state, change->item);
      if (broken && broken->bundle.name[0])
        pla_notes_add(&s->report->lost, "the %s '%s' as operation %lld left it %s%s%s%s",
                      broken->bundle.kind, broken->bundle.name, (long long)change->operation,
                      broken->why ? "cannot be understood (" : "is damaged",
                      broken->why ? broken->why : "", broken->why ? ")" : "",
                      older ? "; the version before is kept" : " and lost");
      else
        pla_notes_add(&s->report->lost, "the item that operation %lld made is damaged%s",
                      (long long)change->operation,
                      older ? "; the version before is kept" : " and lost");
    }
  }
  /* without any log, every item that is whole, newest first */
  if (s->changes.n == 0)
    for (size_t i = s->bundles.n; i-- > 0 && st == PLA_OK;) {
      const BundleRow *row = rows_at(&s->bundles, i);
      if (row->whole && !pla_state_find_name(state, row->bundle.name))
        st = adopt(s, state, ++most, row);
    }
  return st;
}

/* branches as far as they were kept, and one operation that holds what the log could not */
static void
keep_branches(Salvage *s, const char *program, const char *kernel)
{
  int64_t head = 0, kept = 0;
  const char *name = "main";
  bool known = false;
  for (size_t b = 0; b < s->branches.n && s->st == PLA_OK; b++) {
    const BranchRow *row = rows_at(&s->branches, b);
    int64_t new_head = kept_ancestor(s, row->branch.head);
    int64_t new_tip = kept_ancestor(s, row->branch.tip);
    new_tip = new_tip < new_head ? new_head : new_tip;
    s->st = pla_store_set_branch(s->to, row->branch.name, new_head, new_tip, s->err);
    if (!known || (s->current && strcmp(s->current, row->branch.name) == 0)) {
      head = row->branch.head;
      kept = new_head;
      name = row->branch.name;
      known = true;
    }
  }
  if (!known && s->operations.n > 0) { /* no branch came through: the newest operation leads */
    head = ((OperationRow *)rows_at(&s->operations, s->operations.n - 1))->id;
    kept = kept_ancestor(s, head);
  }
  if (!known && s->changes.n > 0) {
    int64_t last = ((ChangeRow *)rows_at(&s->changes, s->changes.n - 1))->operation;
    head = last > head ? last : head;
  }

  PlaState now = { 0 }, wanted = { 0 };
  PlaChange *changes = NULL;
  if (s->st == PLA_OK)
    s->st = pla_store_read_state(s->to, kept, &now, s->err);
  if (s->st == PLA_OK)
    s->st = newest_state(s, head, &wanted);
  if (s->st == PLA_OK) {
    changes = pla_array_new0((size_t)now.n + (size_t)wanted.n, sizeof *changes);
    has_memory(s, changes != NULL);
  }
  int n = 0;
  for (int i = 0; i < wanted.n && s->st == PLA_OK; i++) {
    const PlaStateItem *is = pla_state_find(&now, wanted.item[i].item);
    if (is && pla_hash_equal(&is->hash, &wanted.item[i].hash))
      continue;
    changes[n] = (PlaChange){
      .item = wanted.item[i].item, .had = is != NULL, .has = true, .after = wanted.item[i].hash
    };
    if (is)
      changes[n].before = is->hash;
    n++;
  }
  for (int i = 0; i < now.n && s->st == PLA_OK; i++)
    if (!pla_state_find(&wanted, now.item[i].item))
      changes[n++] =
          (PlaChange){ .item = now.item[i].item, .had = true, .before = now.item[i].hash };
  if (s->st == PLA_OK && n > 0) {
    char verb[] = "recover", none[] = "{}";
    char *program_copy = pla_strdup(program), *kernel_copy = pla_strdup(kernel);
    PlaLogRow row = { .parent = kept,
                      .verb = verb,
                      .parameters = none,
                      .inputs = none,
                      .state = pla_state_hash(&wanted),
                      .program = program_copy,
                      .kernel = kernel_copy,
                      .time_ms = (int64_t)time(NULL) * 1000 };
    if (has_memory(s, program_copy && kernel_copy))
      s->st = pla_store_add_operation(s->to, &row, changes, n, s->err);
    kept = row.id;
    free(program_copy);
    free(kernel_copy);
    if (s->st == PLA_OK)
      s->st = pla_store_set_branch(s->to, name, kept, kept, s->err);
  } else if (s->st == PLA_OK && !known) {
    s->st = pla_store_set_branch(s->to, name, kept, kept, s->err);
  }
  bool has_main = !known || strcmp(name, "main") == 0;
  for (size_t b = 0; b < s->branches.n; b++)
    has_main |= strcmp(((BranchRow *)rows_at(&s->branches, b))->branch.name, "main") == 0;
  if (s->st == PLA_OK && !has_main) /* the one that a new case starts with */
    s->st = pla_store_remove_branch(s->to, "main", s->err);
  if (s->st == PLA_OK)
    s->st = pla_store_set_current_branch(s->to, name, s->err);
  pla_state_clear(&now);
  pla_state_clear(&wanted);
  free(changes);
}

static void
salvage_all(Salvage *s, const char *program, const char *kernel)
{
  PlaProgress *p = s->progress;
  s->chunks.size = sizeof(ChunkRow);
  s->arrays.size = sizeof(ArrayRow);
  s->array_chunks.size = sizeof(ArrayChunkRow);
  s->bundles.size = sizeof(BundleRow);
  s->bundle_arrays.size = sizeof(BundleArrayRow);
  s->operations.size = sizeof(OperationRow);
  s->changes.size = sizeof(ChangeRow);
  s->branches.size = sizeof(BranchRow);
  pla_progress_phase(p, "Reading the damaged case", 0.9);
  read_table(s, "chunk", "hash, codec, width, n_bytes, data", take_chunk);
  read_table(s, "array", "hash, dtype, shape, chunk_bytes", take_array);
  read_table(s, "array_chunk", "array, seq, chunk", take_array_chunk);
  read_table(s, "bundle", "hash, kind, name, meta", take_bundle);
  read_table(s, "bundle_array", "bundle, name, array", take_bundle_array);
  read_table(s, "operation", PLA_LOG_COLUMNS, take_operation);
  read_table(s, "change", "operation, item, before, after", take_change);
  read_table(s, "branch", "name, head, tip, checksum", take_branch);
  read_table(s, "meta", "key, value", take_meta);
  if (s->st != PLA_OK)
    return;
  pla_progress_phase(p, "Writing what was readable", 1.0);
  Rows *by_id[] = { &s->chunks, &s->arrays, &s->bundles, &s->operations, &s->branches };
  for (size_t i = 0; i < sizeof by_id / sizeof *by_id; i++)
    if (by_id[i]->n)
      qsort(by_id[i]->row, by_id[i]->n, by_id[i]->size, compare_ids);
  if (s->array_chunks.n)
    qsort(s->array_chunks.row, s->array_chunks.n, s->array_chunks.size, compare_array_chunks);
  if (s->bundle_arrays.n)
    qsort(s->bundle_arrays.row, s->bundle_arrays.n, s->bundle_arrays.size, compare_bundle_arrays);
  if (s->changes.n)
    qsort(s->changes.row, s->changes.n, s->changes.size, compare_changes);
  keep_arrays(s);
  keep_bundles(s);
  keep_operations(s);
  if (s->st == PLA_OK)
    keep_branches(s, program, kernel);
  if (s->st == PLA_OK)
    s->st = pla_store_set_title(s->to, s->title ? s->title : "", s->err);
  if (s->st == PLA_OK)
    s->st = pla_store_set_texts_strict(s->to, false, s->err);
}

static void
salvage_clear(Salvage *s)
{
  for (size_t i = 0; i < s->bundles.n; i++) {
    BundleRow *row = rows_at(&s->bundles, i);
    pla_bundle_clear(&row->bundle, false);
    free(row->why);
  }
  for (size_t i = 0; i < s->bundle_arrays.n; i++)
    free(((BundleArrayRow *)rows_at(&s->bundle_arrays, i))->name);
  for (size_t i = 0; i < s->operations.n; i++)
    pla_log_row_clear(&((OperationRow *)rows_at(&s->operations, i))->row);
  for (size_t i = 0; i < s->branches.n; i++)
    free(((BranchRow *)rows_at(&s->branches, i))->branch.name);
  Rows *all[] = { &s->chunks,        &s->arrays,     &s->array_chunks, &s->bundles,
                  &s->bundle_arrays, &s->operations, &s->changes,      &s->branches };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    free(all[i]->row);
  free(s->title);
  free(s->current);
  free(s->plain);
  free(s->scratch);
}

void
pla_store_salvage_clear(PlaStoreSalvage *salvage)
{
  pla_notes_clear(&salvage->lost);
  *salvage = (PlaStoreSalvage){ 0 };
}

PlaStatus
pla_store_recover(const char *path, const char *to, const PlaStoreMeaning *meaning,
                  const char *program, const char *kernel, PlaProgress *progress,
                  PlaStoreSalvage *out, PlaError *err)
{
  *out = (PlaStoreSalvage){ 0 };
  Salvage s = { .meaning = meaning, .progress = progress, .report = out, .err = err };
  char *temp = NULL;
  s.st = pla_store_open_raw(path, false, &s.from, err);
  if (s.st == PLA_OK)
    s.st = pla_store_create_draft(to, "", &temp, &s.to, err);
  if (s.st == PLA_OK)
    s.st = pla_store_begin(s.to, err);
  if (s.st == PLA_OK) {
    salvage_all(&s, program, kernel);
    if (s.st == PLA_OK && s.report->items_kept == 0 && s.report->operations_kept == 0 &&
        s.report->lost.n > 0)
      s.st = pla_fail(err, PLA_ERR_FORMAT,
                      "nothing in %s can be read any more; restore it from a backup", path);
    if (s.st == PLA_OK)
      s.st = pla_store_commit(s.to, err);
    else
      pla_store_rollback(s.to);
  }
  pla_store_close(s.from);
  s.st = pla_store_end_draft(s.to, temp, to, s.st, err);
  salvage_clear(&s);
  if (s.st != PLA_OK)
    pla_store_salvage_clear(out);
  return s.st;
}
