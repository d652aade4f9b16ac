/* A file of named arrays with its kind, a version and a checksum: trained networks and the like.
 *
 * Little-endian: "PLARRAYS", u32 version (1), u32 count, char kind[32]; for each array char
 * name[48], u32 type, u32 dimensions, u64 sizes[4], its bytes, zeros up to a multiple of 8; last
 * the XXH64 of everything before. */
#pragma once

#include "anatomy/base/dtype.h"
#include "anatomy/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { PLA_ARRAYS_DIMS = 4, PLA_ARRAYS_NAME = 48, PLA_ARRAYS_KIND = 32, PLA_ARRAYS_MOST = 4096 };

typedef struct {
  char name[PLA_ARRAYS_NAME];
  PlaDType dtype;
  int n_dims; /* 1 .. 4 */
  uint64_t dim[PLA_ARRAYS_DIMS];
  const void *data; /* written: borrowed; read: inside the file's bytes, 8-byte aligned */
} PlaFileArray;

typedef struct {
  char kind[PLA_ARRAYS_KIND];
  int n;
  PlaFileArray *array; /* owned */
  void *bytes;         /* owned: what the arrays point into */
} PlaArrays;

PlaStatus pla_arrays_write(const char *path, const char *kind, const PlaFileArray *array, int n,
                           PlaError *err);
/* PLA_ERR_FORMAT for another kind or version, a wrong checksum or anything out of bounds. */
PlaStatus pla_arrays_read(const char *path, const char *kind, PlaArrays *out, PlaError *err);
/* The same from memory, which is copied; @name stands for the path in sentences. */
PlaStatus pla_arrays_read_memory(const char *name, const void *data, size_t size, const char *kind,
                                 PlaArrays *out, PlaError *err);
void pla_arrays_clear(PlaArrays *self);

size_t pla_file_array_count(const PlaFileArray *array); /* elements */
/* The array @name of @dtype with exactly @n elements; a sentence that names it where there is none.
 */
PlaStatus pla_arrays_get(const PlaArrays *self, const char *name, PlaDType dtype, size_t n,
                         const void **out, PlaError *err);
const PlaFileArray *pla_arrays_find(const PlaArrays *self, const char *name); /* or NULL */
