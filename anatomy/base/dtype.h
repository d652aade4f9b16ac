/* The element types that volumes, fields and stored arrays can have. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum {
  PLA_I8 = 0,
  PLA_U8,
  PLA_I16,
  PLA_U16,
  PLA_I32,
  PLA_U32,
  PLA_I64,
  PLA_U64,
  PLA_F32,
  PLA_F64,
  PLA_N_DTYPES
} PlaDType;

size_t pla_dtype_size(PlaDType dtype);      /* bytes */
const char *pla_dtype_name(PlaDType dtype); /* "int16", "float32", ... */
bool pla_dtype_from_name(const char *name, PlaDType *out);
bool pla_dtype_is_integer(PlaDType dtype);

/* Element @i of @data as double (64-bit integers may round), and back (rounded to nearest and
 * clamped to the type's range; NaN becomes 0 in integer types). */
double pla_dtype_get(PlaDType dtype, const void *data, size_t i);
void pla_dtype_set(PlaDType dtype, void *data, size_t i, double value);

/* Elements first .. first + n - 1 of @data as doubles: for loops over many, in pieces that stay in
 * the cache. */
void pla_dtype_to_double(PlaDType dtype, const void *data, size_t first, size_t n, double *out);

/* Reverses the bytes of each element in place. */
void pla_dtype_swap_bytes(PlaDType dtype, void *data, size_t n);
