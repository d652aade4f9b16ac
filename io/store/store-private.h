/* What the files of the store share. */
#pragma once

#include "io/store/store.h"

#include <pthread.h>
#include <sqlite3.h>

/* Content of new arrays is cut into pieces of this many bytes, whatever their shape.  Small enough
 * that a brush stroke stores a few pieces and a slice reads one, large enough for zstd and for
 * SQLite's overflow chains. */
#define PLA_CHUNK_BYTES ((size_t)1 << 20)
#define PLA_CHUNK_MAX_BYTES ((size_t)64 << 20) /* what a file may hold */

/* How a chunk's data became its stored bytes. */
typedef enum {
  PLA_CODEC_RAW = 0,
  PLA_CODEC_ZSTD = 1,
  PLA_CODEC_SHUFFLE_ZSTD = 2, /* byte planes of `width`-byte elements, then zstd */
  PLA_CODEC_DELTA_ZSTD = 3,   /* differences of `width`-byte integers, byte planes, zstd */
} PlaCodec;

enum { PLA_N_STATEMENTS = 64 };

struct PlaStore {
  sqlite3 *db;
  char *path;      /* for sentences; "the case" for a temporary one */
  char *read_only; /* why it cannot be written, or NULL */
  bool in_transaction;
  pthread_mutex_t lock; /* recursive */
  struct {
    const char *sql; /* compared by address: always a literal */
    sqlite3_stmt *stmt;
  } cache[PLA_N_STATEMENTS];
};

void pla_store_lock(PlaStore *self);
void pla_store_unlock(PlaStore *self);

/* Whether @sql, as a file keeps it, is how one of our tables is made. */
bool pla_store_made_table(const char *sql);

/* A compiled statement with nothing bound, or NULL: ask pla_store_fail() why.  @sql is a literal;
 * the statement is kept for the next call and must be reset after use. */
sqlite3_stmt *pla_store_statement(PlaStore *self, const char *sql);
/* The sentence for what SQLite last refused while it was "reading" or "writing". */
PlaStatus pla_store_fail(PlaStore *self, const char *doing, PlaError *err);
PlaStatus pla_store_fail_damaged(PlaStore *self, const char *what, PlaError *err);
PlaStatus pla_store_exec(PlaStore *self, const char *sql, PlaError *err);
/* The first column of the first row. */
PlaStatus pla_store_query_int(PlaStore *self, const char *sql, int64_t *out, PlaError *err);
/* Steps a writing statement to its end and resets it. */
PlaStatus pla_store_finish(PlaStore *self, sqlite3_stmt *stmt, PlaError *err);
/* Lets a cancelled token end long statements; NULL takes the watch off. */
void pla_store_watch(PlaStore *self, PlaProgress *progress);

void pla_bind_hash(sqlite3_stmt *stmt, int at, const PlaHash *hash);
bool pla_column_hash(sqlite3_stmt *stmt, int at, PlaHash *out); /* false when it is none */
char *pla_column_dup(sqlite3_stmt *stmt, int at);               /* NULL only when memory is short */

/* columns of a log row after its id, and the row they make; false when memory is short */
#define PLA_LOG_COLUMNS                                                                            \
  "parent, verb, parameters, inputs, state, program, kernel, time_ms, duration_ms, checksum"
bool pla_log_row_read(sqlite3_stmt *stmt, PlaLogRow *row, bool *intact);
void pla_log_row_clear(PlaLogRow *row); /* also one that memory sufficed for in part */

/* checksums of rows that nothing else covers */
PlaHash pla_log_row_checksum(const PlaLogRow *row);
PlaHash pla_branch_checksum(const PlaBranch *branch);
PlaHash pla_meta_checksum(const char *key, const char *value);
PlaHash pla_bundle_hash(const PlaBundle *bundle);
/* @chunks: the hashes of its pieces in order */
PlaHash pla_array_hash(const PlaStoreArray *array, const PlaHash *chunks, size_t n_chunks);

/* "512 512 600" to and from numbers; false for text that is no shape */
bool pla_shape_parse(const char *text, PlaStoreArray *array);
void pla_shape_text(const PlaStoreArray *array, char text[192]);

/* Whether all JSON texts are known to be such: those of older versions may hold numbers like
 * 1e-08.0. */
bool pla_store_texts_are_strict(PlaStore *self);
PlaStatus pla_store_set_texts_strict(PlaStore *self, bool strict, PlaError *err);

/* Opens without looking at anything, for recovery. */
PlaStatus pla_store_open_raw(const char *path, bool writable, PlaStore **out, PlaError *err);

/* A new case under a temporary name, not synced: an interruption leaves no half case at @path,
 * which must not exist.  Whatever the status, both outputs go to pla_store_end_draft(). */
PlaStatus pla_store_create_draft(const char *path, const char *title, char **temp, PlaStore **out,
                                 PlaError *err);
/* Closes the draft and, with @st PLA_OK, syncs it and gives it its name unless that is taken
 * meanwhile; else removes it.  Returns @st or what went wrong here. */
PlaStatus pla_store_end_draft(PlaStore *draft, char *temp, const char *path, PlaStatus st,
                              PlaError *err);

/* Writes the whole content into @empty, a file of no bytes, which is then no larger than need be.
 */
PlaStatus pla_store_copy_into(PlaStore *self, const char *empty, PlaProgress *progress,
                              PlaError *err);

/* Decodes a stored chunk into @out (n_bytes) and checks its hash; false when damaged. */
bool pla_chunk_decode(int codec, int width, const void *stored, size_t n_stored,
                      const PlaHash *hash, void *out, size_t n_bytes, void *scratch);
/* Inserts a chunk that is already encoded; 0 when SQLite refuses. */
int64_t pla_chunk_insert(PlaStore *self, const PlaHash *hash, int codec, int width, size_t n_bytes,
                         const void *stored, size_t n_stored);
int64_t pla_chunk_find(PlaStore *self, const PlaHash *hash); /* its id, 0: none, -1: refused */
/* Rows of an array whose chunks are stored, and of a bundle whose arrays are. */
PlaStatus pla_array_insert(PlaStore *self, const PlaStoreArray *array, size_t chunk_bytes,
                           const int64_t *chunk_ids, size_t n_chunks, int64_t *id, PlaError *err);
PlaStatus pla_bundle_insert(PlaStore *self, const PlaBundle *bundle, PlaError *err);
int64_t pla_row_by_hash(PlaStore *self, const char *sql, const PlaHash *hash);
