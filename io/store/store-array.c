/* Array content in a case: cut into chunks, hashed, filtered, compressed on all cores, stored once.
 *
 * Integers of 2 to 8 bytes are replaced by the differences of neighbours, folded to small unsigned
 * numbers (2d for d >= 0, -2d - 1 else), and split into byte planes before zstd: the upper planes
 * of a scan or of an index list then are nearly all zeros.  Floats are split only.  Pieces that
 * zstd does not shrink are stored as they are. */
#include "io/store/store-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"

#include <assert.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
  ZSTD_LEVEL = 1, /* storing must keep up with reading; higher levels gain a few per cent */
  BATCH = 16,     /* chunks in flight */
};

/* planes[b * n + i] = byte b of the folded difference x[i] - x[i - 1]; and back */
#define DEFINE_DELTA(BITS)                                                                         \
  static void delta_split_##BITS(const void *restrict in, uint8_t *restrict planes, size_t n)      \
  {                                                                                                \
    const uint##BITS##_t *x = in;                                                                  \
    for (size_t i = 0; i < n; i++) {                                                               \
      uint##BITS##_t d = (uint##BITS##_t)(x[i] - (i ? x[i - 1] : 0));                              \
      uint##BITS##_t sign = (uint##BITS##_t)(0 - (d >> (BITS - 1)));                               \
      uint##BITS##_t z = (uint##BITS##_t)((uint##BITS##_t)(d << 1) ^ sign);                        \
      for (size_t b = 0; b < BITS / 8; b++)                                                        \
        planes[b * n + i] = (uint8_t)(z >> 8 * b);                                                 \
    }                                                                                              \
  }                                                                                                \
  static void delta_join_##BITS(const uint8_t *restrict planes, void *restrict out, size_t n)      \
  {                                                                                                \
    uint##BITS##_t *x = out, last = 0;                                                             \
    for (size_t i = 0; i < n; i++) {                                                               \
      uint##BITS##_t z = 0;                                                                        \
      for (size_t b = 0; b < BITS / 8; b++)                                                        \
        z = (uint##BITS##_t)(z | (uint##BITS##_t)((uint##BITS##_t)planes[b * n + i] << 8 * b));    \
      uint##BITS##_t sign = (uint##BITS##_t)(0 - (z & 1));                                         \
      last = (uint##BITS##_t)(last + (uint##BITS##_t)((z >> 1) ^ sign));                           \
      x[i] = last;                                                                                 \
    }                                                                                              \
  }
DEFINE_DELTA(16)
DEFINE_DELTA(32)
DEFINE_DELTA(64)

static void
split(const uint8_t *restrict in, uint8_t *restrict planes, size_t n, size_t width)
{
  for (size_t b = 0; b < width; b++)
    for (size_t i = 0; i < n; i++)
      planes[b * n + i] = in[i * width + b];
}

static void
join(const uint8_t *restrict planes, uint8_t *restrict out, size_t n, size_t width)
{
  for (size_t b = 0; b < width; b++)
    for (size_t i = 0; i < n; i++)
      out[i * width + b] = planes[b * n + i];
}

static PlaCodec
codec_for(PlaDType dtype)
{
  if (pla_dtype_size(dtype) == 1)
    return PLA_CODEC_ZSTD;
  return pla_dtype_is_integer(dtype) ? PLA_CODEC_DELTA_ZSTD : PLA_CODEC_SHUFFLE_ZSTD;
}

/* what one thread needs to encode */
typedef struct {
  ZSTD_CCtx *zstd;
  uint8_t *planes; /* one chunk */
} Encoder;

/* A chunk on its way into the file. */
typedef struct {
  PlaHash hash;
  const uint8_t *data; /* plain bytes, borrowed */
  size_t n_bytes;
  int64_t id; /* of its row, 0 while it has none */
  PlaCodec codec;
  uint8_t *encoded; /* n_room bytes */
  size_t n_encoded, n_room;
} Piece;

static void
encode(Encoder *encoder, Piece *piece, PlaCodec codec, size_t width)
{
  size_t n = piece->n_bytes / width;
  const uint8_t *plain = piece->data;
  if (codec == PLA_CODEC_DELTA_ZSTD) {
    if (width == 2)
      delta_split_16(plain, encoder->planes, n);
    else if (width == 4)
      delta_split_32(plain, encoder->planes, n);
    else
      delta_split_64(plain, encoder->planes, n);
    plain = encoder->planes;
  } else if (codec == PLA_CODEC_SHUFFLE_ZSTD) {
    split(plain, encoder->planes, n, width);
    plain = encoder->planes;
  }
  size_t size = ZSTD_compressCCtx(encoder->zstd, piece->encoded, piece->n_room, plain,
                                  piece->n_bytes, ZSTD_LEVEL);
  /* a gain of less than a sixteenth is not worth decoding for */
  bool smaller = !ZSTD_isError(size) && size < piece->n_bytes - piece->n_bytes / 16;
  piece->codec = smaller ? codec : PLA_CODEC_RAW;
  piece->n_encoded = smaller ? size : piece->n_bytes;
}

bool
pla_chunk_decode(int codec, int width, const void *stored, size_t n_stored, const PlaHash *hash,
                 void *out, size_t n_bytes, void *scratch)
{
  bool whole = width >= 1 && width <= 8 && n_bytes % (size_t)width == 0;
  size_t n = whole ? n_bytes / (size_t)width : 0;
  if (codec == PLA_CODEC_RAW) {
    if (n_stored != n_bytes)
      return false;
    memcpy(out, stored, n_bytes);
  } else {
    bool filtered = codec == PLA_CODEC_SHUFFLE_ZSTD || codec == PLA_CODEC_DELTA_ZSTD;
    if ((codec != PLA_CODEC_ZSTD && !filtered) || !whole)
      return false;
    if (ZSTD_decompress(filtered ? scratch : out, n_bytes, stored, n_stored) != n_bytes)
      return false;
    if (codec == PLA_CODEC_SHUFFLE_ZSTD)
      join(scratch, out, n, (size_t)width);
    else if (codec == PLA_CODEC_DELTA_ZSTD && width == 2)
      delta_join_16(scratch, out, n);
    else if (codec == PLA_CODEC_DELTA_ZSTD && width == 4)
      delta_join_32(scratch, out, n);
    else if (codec == PLA_CODEC_DELTA_ZSTD && width == 8)
      delta_join_64(scratch, out, n);
    else if (filtered)
      return false;
  }
  PlaHash is = pla_hash_bytes(out, n_bytes);
  return pla_hash_equal(&is, hash);
}

int64_t
pla_chunk_find(PlaStore *self, const PlaHash *hash)
{
  return pla_row_by_hash(self, "SELECT id FROM chunk WHERE hash = ?1", hash);
}

int64_t
pla_chunk_insert(PlaStore *self, const PlaHash *hash, int codec, int width, size_t n_bytes,
                 const void *stored, size_t n_stored)
{
  sqlite3_stmt *stmt = pla_store_statement(
      self, "INSERT INTO chunk(hash, codec, width, n_bytes, data) VALUES(?1, ?2, ?3, ?4, ?5)");
  if (!stmt)
    return 0;
  pla_bind_hash(stmt, 1, hash);
  sqlite3_bind_int(stmt, 2, codec);
  sqlite3_bind_int(stmt, 3, width);
  sqlite3_bind_int64(stmt, 4, (int64_t)n_bytes);
  sqlite3_bind_blob64(stmt, 5, stored, n_stored, SQLITE_STATIC);
  int64_t id = sqlite3_step(stmt) == SQLITE_DONE ? sqlite3_last_insert_rowid(self->db) : 0;
  sqlite3_reset(stmt);
  sqlite3_clear_bindings(stmt);
  return id;
}

PlaStatus
pla_array_insert(PlaStore *self, const PlaStoreArray *array, size_t chunk_bytes,
                 const int64_t *chunk_ids, size_t n_chunks, int64_t *id, PlaError *err)
{
  char shape[192];
  pla_shape_text(array, shape);
  sqlite3_stmt *stmt = pla_store_statement(
      self, "INSERT INTO array(hash, dtype, shape, chunk_bytes) VALUES(?1, ?2, ?3, ?4)");
  if (stmt) {
    pla_bind_hash(stmt, 1, &array->hash);
    sqlite3_bind_text(stmt, 2, pla_dtype_name(array->dtype), -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 3, shape, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(stmt, 4, (int64_t)chunk_bytes);
  }
  PlaStatus st = pla_store_finish(self, stmt, err);
  *id = sqlite3_last_insert_rowid(self->db);
  for (size_t c = 0; c < n_chunks && st == PLA_OK; c++) {
    stmt =
        pla_store_statement(self, "INSERT INTO array_chunk(array, seq, chunk) VALUES(?1, ?2, ?3)");
    if (stmt) {
      sqlite3_bind_int64(stmt, 1, *id);
      sqlite3_bind_int64(stmt, 2, (int64_t)c);
      sqlite3_bind_int64(stmt, 3, chunk_ids[c]);
    }
    st = pla_store_finish(self, stmt, err);
  }
  return st;
}

static const char find_array[] = "SELECT id FROM array WHERE hash = ?1";
static const char find_bundle[] = "SELECT id FROM bundle WHERE hash = ?1";

PlaStatus
pla_bundle_insert(PlaStore *self, const PlaBundle *bundle, PlaError *err)
{
  int64_t id = pla_row_by_hash(self, find_bundle, &bundle->hash);
  if (id < 0)
    return pla_store_fail(self, "written", err);
  if (id > 0)
    return PLA_OK;
  sqlite3_stmt *stmt =
      pla_store_statement(self,
                          "INSERT INTO bundle(hash, kind, name, meta) VALUES(?1, ?2, ?3, ?4)");
  if (stmt) {
    pla_bind_hash(stmt, 1, &bundle->hash);
    sqlite3_bind_text(stmt, 2, bundle->kind, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 3, bundle->name, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(stmt, 4, bundle->meta, -1, SQLITE_TRANSIENT);
  }
  PlaStatus st = pla_store_finish(self, stmt, err);
  id = sqlite3_last_insert_rowid(self->db);
  for (int a = 0; a < bundle->n_arrays && st == PLA_OK; a++) {
    int64_t array = pla_row_by_hash(self, find_array, &bundle->array[a].hash);
    stmt = pla_store_statement(self,
                               "INSERT INTO bundle_array(bundle, name, array) VALUES(?1, ?2, ?3)");
    if (stmt) {
      sqlite3_bind_int64(stmt, 1, id);
      sqlite3_bind_text(stmt, 2, bundle->array[a].name, -1, SQLITE_TRANSIENT);
      sqlite3_bind_int64(stmt, 3, array);
    }
    st = pla_store_finish(self, stmt, err);
  }
  return st;
}

/* buffers for a batch and its threads, none larger than the array needs */
static bool
workshop_init(Piece pieces[BATCH], Encoder *encoders, int n_threads, size_t n_bytes)
{
  bool fine = true;
  size_t most = n_bytes < PLA_CHUNK_BYTES ? n_bytes : PLA_CHUNK_BYTES;
  for (size_t p = 0; p < BATCH; p++) {
    pieces[p] = (Piece){ .n_room = p * PLA_CHUNK_BYTES < n_bytes ? ZSTD_compressBound(most) : 0 };
    pieces[p].encoded = pla_array_new(pieces[p].n_room, 1);
    fine = fine && pieces[p].encoded;
  }
  for (int t = 0; t < n_threads; t++) {
    encoders[t] = (Encoder){ ZSTD_createCCtx(), pla_array_new_aligned(most, 1) };
    fine = fine && encoders[t].zstd && encoders[t].planes;
  }
  return fine;
}

static void
workshop_clear(Piece pieces[BATCH], Encoder *encoders, int n_threads)
{
  for (int p = 0; p < BATCH; p++)
    free(pieces[p].encoded);
  for (int t = 0; t < n_threads; t++) {
    ZSTD_freeCCtx(encoders[t].zstd);
    free(encoders[t].planes);
  }
}

/* stores one batch: hashes it, looks up what is there, encodes the rest and inserts it in order */
static PlaStatus
put_batch(PlaStore *self, Piece *pieces, int n, Encoder *encoders, PlaDType dtype, PlaError *err)
{
  size_t width = pla_dtype_size(dtype);
  PlaCodec codec = codec_for(dtype);
#pragma omp parallel for schedule(dynamic)
  for (int p = 0; p < n; p++)
    pieces[p].hash = pla_hash_bytes(pieces[p].data, pieces[p].n_bytes);
  for (int p = 0; p < n; p++) {
    pieces[p].id = pla_chunk_find(self, &pieces[p].hash);
    if (pieces[p].id < 0)
      return pla_store_fail(self, "written", err);
    /* the same content twice in one batch is encoded once */
    for (int q = 0; q < p && pieces[p].id == 0; q++)
      if (pla_hash_equal(&pieces[q].hash, &pieces[p].hash))
        pieces[p].id = -1 - q;
  }
#pragma omp parallel for schedule(dynamic)
  for (int p = 0; p < n; p++)
    if (pieces[p].id == 0)
      encode(&encoders[omp_get_thread_num()], &pieces[p], codec, width);
  for (int p = 0; p < n; p++) {
    Piece *piece = &pieces[p];
    if (piece->id < 0)
      piece->id = pieces[-1 - piece->id].id;
    if (piece->id == 0)
      piece->id =
          pla_chunk_insert(self, &piece->hash, (int)piece->codec, (int)width, piece->n_bytes,
                           piece->codec == PLA_CODEC_RAW ? piece->data : piece->encoded,
                           piece->n_encoded);
    if (piece->id == 0)
      return pla_store_fail(self, "written", err);
  }
  return PLA_OK;
}

static PlaStatus
put_array(PlaStore *self, PlaStoreArray *array, PlaProgress *progress, PlaError *err)
{
  size_t n_bytes = pla_store_array_bytes(array);
  assert(n_bytes != SIZE_MAX && array->n_dims >= 1);
  size_t n_chunks = (n_bytes + PLA_CHUNK_BYTES - 1) / PLA_CHUNK_BYTES;
  int n_threads = pla_threads_get();
  Piece pieces[BATCH];
  Encoder *encoders = pla_array_new0((size_t)n_threads, sizeof *encoders);
  PlaHash *hashes = pla_array_new(n_chunks, sizeof *hashes);
  int64_t *ids = pla_array_new(n_chunks, sizeof *ids);
  bool ready = encoders && hashes && ids;
  ready = encoders && workshop_init(pieces, encoders, n_threads, n_bytes) && ready;
  PlaStatus st = ready ? PLA_OK : pla_fail_memory(err, array->name);

  for (size_t c = 0; c < n_chunks && st == PLA_OK; c += BATCH) {
    int n = n_chunks - c < BATCH ? (int)(n_chunks - c) : BATCH;
    for (int p = 0; p < n; p++) {
      size_t from = (c + (size_t)p) * PLA_CHUNK_BYTES;
      pieces[p].data = (const uint8_t *)array->data + from;
      pieces[p].n_bytes = n_bytes - from < PLA_CHUNK_BYTES ? n_bytes - from : PLA_CHUNK_BYTES;
    }
    st = put_batch(self, pieces, n, encoders, array->dtype, err);
    for (int p = 0; p < n; p++) {
      hashes[c + (size_t)p] = pieces[p].hash;
      ids[c + (size_t)p] = pieces[p].id;
    }
    if (st == PLA_OK && !pla_progress_step(progress, (double)(c + (size_t)n) / (double)n_chunks))
      st = pla_fail_cancelled(err);
  }

  if (st == PLA_OK) {
    array->hash = pla_array_hash(array, hashes, n_chunks);
    int64_t id = pla_row_by_hash(self, find_array, &array->hash);
    if (id < 0)
      st = pla_store_fail(self, "written", err);
    else if (id == 0)
      st = pla_array_insert(self, array, PLA_CHUNK_BYTES, ids, n_chunks, &id, err);
  }
  if (encoders)
    workshop_clear(pieces, encoders, n_threads);
  free(encoders);
  free(hashes);
  free(ids);
  return st;
}

PlaStatus
pla_store_put(PlaStore *self, PlaBundle *bundle, PlaProgress *progress, PlaError *err)
{
  assert(self->in_transaction);
  PlaStatus st = PLA_OK;
  double total = 0.0, done = 0.0; /* bytes */
  for (int a = 0; a < bundle->n_arrays; a++)
    total += (double)pla_store_array_bytes(&bundle->array[a]);
  for (int a = 0; a < bundle->n_arrays && st == PLA_OK; a++) {
    done += (double)pla_store_array_bytes(&bundle->array[a]);
    if (!pla_progress_phase(progress, "Storing", total > 0.0 ? done / total : 1.0))
      st = pla_fail_cancelled(err);
    else
      st = put_array(self, &bundle->array[a], progress, err);
  }
  if (st == PLA_OK) {
    bundle->hash = pla_bundle_hash(bundle);
    st = pla_bundle_insert(self, bundle, err);
  }
  return st;
}

/* reading */

PlaStatus
pla_store_read_bundle(PlaStore *self, const PlaHash *hash, PlaBundle *out, PlaError *err)
{
  PlaStatus st = PLA_OK;
  int64_t id = 0;
  *out = (PlaBundle){ .hash = *hash };
  pla_store_lock(self);
  sqlite3_stmt *stmt =
      pla_store_statement(self, "SELECT id, kind, name, meta FROM bundle WHERE hash = ?1");
  if (stmt)
    pla_bind_hash(stmt, 1, hash);
  int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
  if (rc == SQLITE_ROW) {
    id = sqlite3_column_int64(stmt, 0);
    out->kind = pla_column_dup(stmt, 1);
    out->name = pla_column_dup(stmt, 2);
    out->meta = pla_column_dup(stmt, 3);
    if (!out->kind || !out->name || !out->meta)
      st = pla_fail_memory(err, "an item");
  } else {
    st = rc == SQLITE_DONE ? pla_store_fail_damaged(self, "an item is missing", err)
                           : pla_store_fail(self, "read", err);
  }
  if (stmt)
    sqlite3_reset(stmt);

  if (st == PLA_OK) {
    stmt = pla_store_statement(self, "SELECT x.name, a.dtype, a.shape, a.hash FROM bundle_array x "
                                     "LEFT JOIN array a ON a.id = x.array WHERE x.bundle = ?1 "
                                     "ORDER BY x.name");
    if (stmt)
      sqlite3_bind_int64(stmt, 1, id);
    rc = stmt ? SQLITE_ROW : SQLITE_ERROR;
    while (st == PLA_OK && rc == SQLITE_ROW && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
      void *grown = out->array;
      if (!pla_array_resize(&grown, (size_t)out->n_arrays + 1, sizeof *out->array)) {
        st = pla_fail_memory(err, "an item");
        break;
      }
      out->array = grown;
      PlaStoreArray *array = &out->array[out->n_arrays++];
      *array = (PlaStoreArray){ .name = pla_column_dup(stmt, 0) };
      const char *dtype = (const char *)sqlite3_column_text(stmt, 1);
      const char *shape = (const char *)sqlite3_column_text(stmt, 2);
      if (!array->name)
        st = pla_fail_memory(err, "an item");
      else if (!dtype || !shape || !pla_dtype_from_name(dtype, &array->dtype) ||
               !pla_shape_parse(shape, array) || !pla_column_hash(stmt, 3, &array->hash))
        st = pla_store_fail_damaged(self, "an array is not described", err);
    }
    if (st == PLA_OK && rc != SQLITE_DONE)
      st = pla_store_fail(self, "read", err);
    if (stmt)
      sqlite3_reset(stmt);
  }
  if (st == PLA_OK) {
    PlaHash is = pla_bundle_hash(out);
    if (!pla_hash_equal(&is, hash))
      st = pla_store_fail_damaged(self, "an item's description is not what was written", err);
  }
  pla_store_unlock(self);
  if (st != PLA_OK)
    pla_bundle_clear(out, true);
  return st;
}

/* the id of an array and the plain bytes per chunk */
static PlaStatus
find_array_row(PlaStore *self, const PlaHash *hash, int64_t *id, size_t *chunk_bytes, PlaError *err)
{
  PlaStatus st = PLA_OK;
  sqlite3_stmt *stmt =
      pla_store_statement(self, "SELECT id, chunk_bytes FROM array WHERE hash = ?1");
  if (stmt)
    pla_bind_hash(stmt, 1, hash);
  int rc = stmt ? sqlite3_step(stmt) : SQLITE_ERROR;
  if (rc == SQLITE_ROW) {
    *id = sqlite3_column_int64(stmt, 0);
    int64_t bytes = sqlite3_column_int64(stmt, 1);
    if (bytes < 1 || bytes > (int64_t)PLA_CHUNK_MAX_BYTES)
      st = pla_store_fail_damaged(self, "an array has an impossible chunk size", err);
    *chunk_bytes = (size_t)bytes;
  } else {
    st = rc == SQLITE_DONE ? pla_store_fail_damaged(self, "an array is missing", err)
                           : pla_store_fail(self, "read", err);
  }
  if (stmt)
    sqlite3_reset(stmt);
  return st;
}

PlaStatus
pla_store_read_array(PlaStore *self, const PlaHash *hash, uint64_t offset, size_t size, void *out,
                     PlaProgress *progress, PlaError *err)
{
  int64_t id = 0;
  size_t chunk_bytes = 0, done = 0;
  uint8_t *plain = NULL, *scratch = NULL;
  pla_store_lock(self);
  PlaStatus st = find_array_row(self, hash, &id, &chunk_bytes, err);
  sqlite3_stmt *stmt = NULL;
  if (st == PLA_OK && size > 0) {
    plain = pla_array_new_aligned(chunk_bytes, 1);
    scratch = pla_array_new_aligned(chunk_bytes, 1);
    stmt = pla_store_statement(
        self, "SELECT x.seq, c.hash, c.codec, c.width, c.n_bytes, c.data FROM array_chunk x "
              "JOIN chunk c ON c.id = x.chunk "
              "WHERE x.array = ?1 AND x.seq BETWEEN ?2 AND ?3 ORDER BY x.seq");
    if (!plain || !scratch)
      st = pla_fail_memory(err, "an array");
    else if (!stmt)
      st = pla_store_fail(self, "read", err);
  }
  if (st == PLA_OK && stmt) {
    sqlite3_bind_int64(stmt, 1, id);
    sqlite3_bind_int64(stmt, 2, (int64_t)(offset / chunk_bytes));
    sqlite3_bind_int64(stmt, 3, (int64_t)((offset + size - 1) / chunk_bytes));
  }
  while (st == PLA_OK && done < size) {
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW) {
      st = rc == SQLITE_DONE ? pla_store_fail_damaged(self, "a part of an array is missing", err)
                             : pla_store_fail(self, "read", err);
      break;
    }
    uint64_t at = offset + done;
    int64_t n_bytes = sqlite3_column_int64(stmt, 4);
    size_t within = (size_t)(at % chunk_bytes);
    PlaHash chunk;
    bool fits = sqlite3_column_int64(stmt, 0) == (int64_t)(at / chunk_bytes) &&
                pla_column_hash(stmt, 1, &chunk) && n_bytes > (int64_t)within &&
                n_bytes <= (int64_t)chunk_bytes;
    size_t take = fits ? (size_t)n_bytes - within : 0;
    take = take < size - done ? take : size - done;
    /* all but the last chunk are full */
    fits = fits && (n_bytes == (int64_t)chunk_bytes || done + take == size);
    /* a chunk that is wanted whole is decoded in place */
    bool direct = fits && within == 0 && take == (size_t)n_bytes;
    uint8_t *into = (uint8_t *)out + done;
    const void *stored = sqlite3_column_blob(stmt, 5);
    if (!fits || !stored ||
        !pla_chunk_decode(sqlite3_column_int(stmt, 2), sqlite3_column_int(stmt, 3), stored,
                          (size_t)sqlite3_column_bytes(stmt, 5), &chunk, direct ? into : plain,
                          (size_t)n_bytes, scratch)) {
      st = pla_store_fail_damaged(self, "a part of an array is not what was written", err);
      break;
    }
    if (!direct)
      memcpy(into, plain + within, take);
    done += take;
    if (!pla_progress_step(progress, (double)done / (double)size))
      st = pla_fail_cancelled(err);
  }
  if (stmt)
    sqlite3_reset(stmt);
  pla_store_unlock(self);
  free(plain);
  free(scratch);
  return st;
}

PlaStatus
pla_store_dup_array(PlaStore *self, const PlaStoreArray *array, PlaProgress *progress, void **out,
                    PlaError *err)
{
  size_t n_bytes = pla_store_array_bytes(array);
  *out = pla_array_new(n_bytes, 1);
  if (!*out)
    return pla_fail_memory(err, array->name);
  PlaStatus st = pla_store_read_array(self, &array->hash, 0, n_bytes, *out, progress, err);
  if (st != PLA_OK) {
    free(*out);
    *out = NULL;
  }
  return st;
}

PlaStatus
pla_store_put_like(PlaStore *self, const PlaHash *like, const char *name, const char *meta,
                   PlaHash *out, PlaError *err)
{
  assert(self->in_transaction);
  PlaBundle bundle;
  PlaStatus st = pla_store_read_bundle(self, like, &bundle, err);
  if (st == PLA_OK && name) {
    free(bundle.name);
    bundle.name = pla_strdup(name);
  }
  if (st == PLA_OK && meta) {
    free(bundle.meta);
    bundle.meta = pla_strdup(meta);
  }
  if (st == PLA_OK && (!bundle.name || !bundle.meta))
    st = pla_fail_memory(err, "an item");
  if (st == PLA_OK) {
    *out = bundle.hash = pla_bundle_hash(&bundle);
    st = pla_bundle_insert(self, &bundle, err);
  }
  pla_bundle_clear(&bundle, false);
  return st;
}

/* copying between cases */

static PlaStatus
copy_array(PlaStore *self, PlaStore *from, const PlaStoreArray *array, PlaProgress *progress,
           PlaError *err)
{
  int64_t id = pla_row_by_hash(self, find_array, &array->hash), from_id = 0;
  size_t chunk_bytes = 0, n = 0;
  if (id != 0)
    return id > 0 ? PLA_OK : pla_store_fail(self, "written", err);
  PlaStatus st = find_array_row(from, &array->hash, &from_id, &chunk_bytes, err);
  if (st != PLA_OK)
    return st;
  size_t n_chunks = (pla_store_array_bytes(array) + chunk_bytes - 1) / chunk_bytes;
  /* the file's own claim of a size costs nothing until its chunks are there */
  int64_t *ids = NULL;
  PlaHash *hashes = NULL;
  uint8_t *plain = pla_array_new_aligned(chunk_bytes, 1);
  uint8_t *scratch = pla_array_new_aligned(chunk_bytes, 1);
  sqlite3_stmt *stmt = pla_store_statement(
      from, "SELECT x.seq, c.hash, c.codec, c.width, c.n_bytes, c.data FROM array_chunk x "
            "JOIN chunk c ON c.id = x.chunk WHERE x.array = ?1 ORDER BY x.seq");
  if (!plain || !scratch)
    st = pla_fail_memory(err, array->name);
  else if (!stmt)
    st = pla_store_fail(from, "read", err);
  else
    sqlite3_bind_int64(stmt, 1, from_id);
  int rc = SQLITE_ROW;
  while (st == PLA_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    void *grown_ids = ids, *grown_hashes = hashes;
    bool fine = pla_array_resize(&grown_ids, n + 1, sizeof *ids);
    ids = fine ? grown_ids : ids;
    fine = fine && pla_array_resize(&grown_hashes, n + 1, sizeof *hashes);
    hashes = fine ? grown_hashes : hashes;
    if (!fine) {
      st = pla_fail_memory(err, array->name);
      break;
    }
    int codec = sqlite3_column_int(stmt, 2), width = sqlite3_column_int(stmt, 3);
    int64_t n_bytes = sqlite3_column_int64(stmt, 4);
    const void *stored = sqlite3_column_blob(stmt, 5);
    size_t n_stored = (size_t)sqlite3_column_bytes(stmt, 5);
    if (sqlite3_column_int64(stmt, 0) != (int64_t)n || !stored ||
        !pla_column_hash(stmt, 1, &hashes[n]) || n_bytes < 1 || n_bytes > (int64_t)chunk_bytes ||
        !pla_chunk_decode(codec, width, stored, n_stored, &hashes[n], plain, (size_t)n_bytes,
                          scratch)) {
      st = pla_store_fail_damaged(from, "a part of an array is not what was written", err);
      break;
    }
    ids[n] = pla_chunk_find(self, &hashes[n]);
    if (ids[n] == 0)
      ids[n] = pla_chunk_insert(self, &hashes[n], codec, width, (size_t)n_bytes, stored, n_stored);
    if (ids[n] <= 0)
      st = pla_store_fail(self, "written", err);
    n++;
    if (st == PLA_OK && !pla_progress_step(progress, (double)n / (double)n_chunks))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK && rc != SQLITE_DONE)
    st = pla_store_fail(from, "read", err);
  if (stmt)
    sqlite3_reset(stmt);
  if (st == PLA_OK) {
    PlaHash is = pla_array_hash(array, hashes, n);
    st = n == n_chunks && pla_hash_equal(&is, &array->hash)
             ? pla_array_insert(self, array, chunk_bytes, ids, n, &id, err)
             : pla_store_fail_damaged(from, "a part of an array is missing", err);
  }
  free(ids);
  free(hashes);
  free(plain);
  free(scratch);
  return st;
}

PlaStatus
pla_store_copy(PlaStore *self, PlaStore *from, const PlaHash *hash, PlaProgress *progress,
               PlaError *err)
{
  assert(self->in_transaction && self != from);
  PlaBundle bundle;
  pla_store_lock(from);
  PlaStatus st = pla_store_read_bundle(from, hash, &bundle, err);
  for (int a = 0; a < bundle.n_arrays && st == PLA_OK; a++)
    st = copy_array(self, from, &bundle.array[a], progress, err);
  if (st == PLA_OK)
    st = pla_bundle_insert(self, &bundle, err);
  pla_bundle_clear(&bundle, false);
  pla_store_unlock(from);
  return st;
}
