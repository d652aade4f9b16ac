/* The case file: one SQLite database that never forgets.
 *
 * A case is a tree of operations.  Every operation changes some items; an item (volume, label map,
 * mesh, note, ...) is a named bundle of named arrays and JSON metadata, immutable once written and
 * known by the hash of its content.  The state after an operation is the map from items to
 * bundles, so undo and redo only move a branch's head along the tree.  An operation and all it
 * made are one transaction: a crash loses at most the operation in flight.
 *
 * The tables are described at the top of io/store/store.c.  All functions may be called from any
 * thread; between pla_store_begin() and commit or rollback the store belongs to the calling thread
 * and other threads wait. */
#pragma once

#include "anatomy/base/dtype.h"
#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLA_STORE_MAX_DIMS 8

typedef struct {
  uint8_t byte[16]; /* XXH3-128, most significant byte first */
} PlaHash;

bool pla_hash_equal(const PlaHash *a, const PlaHash *b);
const char *pla_hash_text(const PlaHash *hash, char text[33]); /* 32 lower-case hex digits */
/* Hash of bytes, and of a whole file without holding it in memory. */
PlaHash pla_hash_bytes(const void *data, size_t size);
PlaStatus pla_hash_file(const char *path, PlaProgress *progress, PlaHash *out, uint64_t *size,
                        PlaError *err);

/* One named array of an item. */
typedef struct {
  char *name; /* "voxels" */
  PlaDType dtype;
  int n_dims;                         /* 1..PLA_STORE_MAX_DIMS */
  uint64_t shape[PLA_STORE_MAX_DIMS]; /* fastest first; any may be 0 */
  void *data;                         /* borrowed when stored; NULL when listed */
  PlaHash hash;                       /* set by the store */
} PlaStoreArray;
size_t pla_store_array_bytes(const PlaStoreArray *array); /* SIZE_MAX when it does not fit */

/* The stored form of an item: text and named arrays, addressed by their hash.
 *
 * It lives for one put or read, on the thread that has the store; its arrays are mostly borrowed.
 * The store hashes and compresses it without knowing what the arrays mean, so that files of other
 * versions can be checked, copied and kept; what they mean is known above (PlaContent). */
typedef struct {
  PlaHash hash; /* set by the store */
  char *kind;   /* "volume", "labels", "mesh", ... */
  char *name;   /* unique among the items of a state */
  char *meta;   /* one JSON object, keys in a fixed order: its text is hashed */
  int n_arrays;
  PlaStoreArray *array;
} PlaBundle;
/* Frees names, texts and the array list, and the arrays' data when @with_data. */
void pla_bundle_clear(PlaBundle *bundle, bool with_data);

/* One item in a state. */
typedef struct {
  int64_t item; /* stays the same through all versions of an item */
  PlaHash hash; /* of its bundle */
  char *kind, *name;
} PlaStateItem;

typedef struct {
  int n;
  PlaStateItem *item; /* in ascending item */
} PlaState;
void pla_state_clear(PlaState *state);
PlaStatus pla_state_dup(const PlaState *state, PlaState *out, PlaError *err);
const PlaStateItem *pla_state_find(const PlaState *state, int64_t item);          /* or NULL */
const PlaStateItem *pla_state_find_name(const PlaState *state, const char *name); /* or NULL */
/* Puts or (with @hash NULL) removes one item. */
PlaStatus pla_state_set(PlaState *state, int64_t item, const PlaHash *hash, const char *kind,
                        const char *name, PlaError *err);
/* Hash over the bundles in order of their names: free of item ids, times, threads and paths. */
PlaHash pla_state_hash(const PlaState *state);

/* One row of the log. */
typedef struct {
  int64_t id;       /* ascending in time */
  int64_t parent;   /* 0: the first of its tree */
  char *verb;       /* "segment" */
  char *parameters; /* JSON object; lengths in mm, points in RAS mm */
  char *inputs;     /* JSON object: item name -> bundle hash read by the operation */
  PlaHash state;    /* hash of the state after it */
  char *program;    /* version that ran it */
  char *kernel;     /* "avx2" or "plain" */
  int64_t time_ms;  /* Unix time */
  int64_t duration_ms;
} PlaLogRow;

typedef struct {
  int n;
  PlaLogRow *row; /* ascending id: parents stand before children */
} PlaLog;
void pla_log_clear(PlaLog *log);
const PlaLogRow *pla_log_find(const PlaLog *log, int64_t id); /* or NULL */

/* What an operation did to one item. */
typedef struct {
  int64_t item;  /* 0 in a new change: a fresh item */
  bool had, has; /* whether the item existed before, exists after */
  PlaHash before, after;
} PlaChange;

/* A named line of work: operations from the root to `tip`, of which those after `head` are undone.
 */
typedef struct {
  char *name;
  int64_t head; /* 0: before the first operation */
  int64_t tip;
} PlaBranch;

typedef struct {
  int n;
  PlaBranch *branch;
  int current;
} PlaBranches;
void pla_branches_clear(PlaBranches *branches);

typedef struct PlaStore PlaStore;

/* Makes a new case with branch "main"; an existing file is refused. */
PlaStatus pla_store_create(const char *path, const char *title, PlaStore **out, PlaError *err);
/* A private case without a name, gone when closed. */
PlaStatus pla_store_create_temporary(PlaStore **out, PlaError *err);
/* Opens a case and checks what is cheap to check: the header, the log and the item lists, no
 * voxels.  A file that cannot be written or is damaged opens read-only where anything of it can
 * be read; pla_store_get_read_only_reason() then has the sentence. */
PlaStatus pla_store_open(const char *path, PlaStore **out, PlaError *err);
void pla_store_close(PlaStore *self); /* rolls an open transaction back; NULL is fine */
/* Writes all of the case, with its history, to the new file @path; an existing file is refused, and
 * a failure leaves none. */
PlaStatus pla_store_save_copy(PlaStore *self, const char *path, PlaProgress *progress,
                              PlaError *err);
/* Whether the file's first bytes are those of a case. */
bool pla_store_probe(const uint8_t *head, size_t n_head);

const char *pla_store_get_path(const PlaStore *self);
const char *pla_store_get_read_only_reason(const PlaStore *self); /* NULL: can be written */
PlaStatus pla_store_dup_title(PlaStore *self, char **out, PlaError *err);
/* Grows when another connection, in this or another process, has changed the file. */
PlaStatus pla_store_data_version(PlaStore *self, int64_t *out, PlaError *err);

/* How long to wait for another program's write to end before giving up; 10000 at first. */
void pla_store_set_patience(PlaStore *self, int milliseconds);

/* Write transactions. */
PlaStatus pla_store_begin(PlaStore *self, PlaError *err);
PlaStatus pla_store_commit(PlaStore *self, PlaError *err); /* a failed commit is rolled back */
void pla_store_rollback(PlaStore *self);

/* Inside a transaction: stores the arrays (those already there cost a hash only) and the bundle;
 * sets bundle->hash and the arrays' hashes.  Compresses on all cores, same file content for any
 * number of them. */
PlaStatus pla_store_put(PlaStore *self, PlaBundle *bundle, PlaProgress *progress, PlaError *err);
/* A new bundle with the arrays of the stored one @like under another name or with other metadata
 * (NULL: unchanged); @out is its hash. */
PlaStatus pla_store_put_like(PlaStore *self, const PlaHash *like, const char *name,
                             const char *meta, PlaHash *out, PlaError *err);
/* Copies a bundle with its arrays, checking every byte. */
PlaStatus pla_store_copy(PlaStore *self, PlaStore *from, const PlaHash *hash, PlaProgress *progress,
                         PlaError *err);
/* Appends a row (its id, and items of fresh changes, are set) and the changes it made. */
PlaStatus pla_store_add_operation(PlaStore *self, PlaLogRow *row, PlaChange *changes, int n_changes,
                                  PlaError *err);
/* Adds a branch or moves an existing one. */
PlaStatus pla_store_set_branch(PlaStore *self, const char *name, int64_t head, int64_t tip,
                               PlaError *err);
PlaStatus pla_store_set_current_branch(PlaStore *self, const char *name, PlaError *err);
PlaStatus pla_store_remove_branch(PlaStore *self, const char *name, PlaError *err);
PlaStatus pla_store_set_title(PlaStore *self, const char *title, PlaError *err);

/* Reading; also allowed inside a transaction. */
PlaStatus pla_store_read_log(PlaStore *self, PlaLog *out, PlaError *err);
PlaStatus pla_store_read_branches(PlaStore *self, PlaBranches *out, PlaError *err);
PlaStatus pla_store_read_changes(PlaStore *self, int64_t operation, PlaChange **out, int *n,
                                 PlaError *err);
/* The state after @operation (0: empty). */
PlaStatus pla_store_read_state(PlaStore *self, int64_t operation, PlaState *out, PlaError *err);
/* Brings @state over an operation's changes, or with @undo back. */
PlaStatus pla_store_apply(PlaStore *self, PlaState *state, const PlaChange *changes, int n,
                          bool undo, PlaError *err);
/* Everything of a bundle but the arrays' data. */
PlaStatus pla_store_read_bundle(PlaStore *self, const PlaHash *hash, PlaBundle *out, PlaError *err);
/* Bytes [offset, offset + size) of an array: reads and checks only the chunks they lie in, so a
 * range of slices costs what it holds. */
PlaStatus pla_store_read_array(PlaStore *self, const PlaHash *array, uint64_t offset, size_t size,
                               void *out, PlaProgress *progress, PlaError *err);
/* A whole array of @bundle by name into new memory (free() by the caller). */
PlaStatus pla_store_dup_array(PlaStore *self, const PlaStoreArray *array, PlaProgress *progress,
                              void **out, PlaError *err);

/* What texts and arrays mean is known above the store; it asks there whether they can be read. */
typedef struct {
  /* whether the item can be built; called with the store locked, which may be read */
  PlaStatus (*check_item)(PlaStore *store, const PlaHash *hash, PlaProgress *progress,
                          PlaError *err);
  PlaStatus (*check_row)(const PlaLogRow *row, PlaError *err);
} PlaStoreMeaning;

typedef struct {
  int64_t operations, items, arrays, chunks;
  uint64_t array_bytes;  /* of all stored arrays, each content once */
  uint64_t stored_bytes; /* the same, compressed */
  PlaNotes problems;     /* one sentence for each damage found */
} PlaStoreCheck;
void pla_store_check_clear(PlaStoreCheck *check);
/* Reads every stored byte: the database's structure, references, hashes of chunks, arrays, items,
 * states and log rows; with @meaning also whether each of them can be understood.  PLA_OK also when
 * problems were found. */
PlaStatus pla_store_verify(PlaStore *self, const PlaStoreMeaning *meaning, PlaProgress *progress,
                           PlaStoreCheck *out, PlaError *err);

/* Writes the texts anew for which @mend has another one (malloc'ed; NULL: it is fine), and all
 * hashes that follow from them, in one transaction.  Done once for a case that an older version
 * made; the case remembers it.  *n: how many texts changed. */
PlaStatus pla_store_mend_texts(PlaStore *self, char *(*mend)(const char *text), int64_t *n,
                               PlaError *err);

/* Replaces the history of every branch by one operation "snapshot" that holds the state of its
 * head, drops what nothing refers to and shrinks the file.  Undone operations go.  All of it is
 * done in a copy first, which then replaces the content in one transaction: whatever fails, a full
 * disk included, leaves the file as it was. */
PlaStatus pla_store_compact(PlaStore *self, const char *program, const char *kernel,
                            PlaProgress *progress, PlaError *err);

typedef struct {
  int64_t operations_found, operations_kept; /* log rows readable / kept as history */
  int64_t items_found, items_kept;           /* versions of items listed / complete */
  PlaNotes lost; /* a sentence for each item or part of the log that could not be read */
} PlaStoreSalvage;
void pla_store_salvage_clear(PlaStoreSalvage *salvage);
/* Writes what is readable of a damaged case to the new file @to: the history up to the damage,
 * then, where the damage cut it, one operation "recover" with the newest readable content of every
 * item.  With @meaning, what cannot be understood counts as damaged.  @path is not changed. */
PlaStatus pla_store_recover(const char *path, const char *to, const PlaStoreMeaning *meaning,
                            const char *program, const char *kernel, PlaProgress *progress,
                            PlaStoreSalvage *out, PlaError *err);
