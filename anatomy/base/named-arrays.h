/* Numbers on their way out of a state, or back into it: a list of named arrays, each some tuples of
 * @width elements.  What keeps them need not know what they mean. */
#pragma once

#include "anatomy/base/dtype.h"
#include "anatomy/base/status.h"

typedef struct {
  char *name;
  PlaDType dtype;
  int width;  /* elements of a tuple, at least 1 */
  size_t n;   /* tuples */
  void *data; /* width x n of dtype */
} PlaNamedArray;

/* Zero-initialise. */
typedef struct {
  int n, capacity;
  PlaNamedArray *array;
} PlaNamedArrays;
/* Frees names and data. */
void pla_named_arrays_clear(PlaNamedArrays *self);

/* Appends room for the array and hands it out to be filled; NULL when memory is short. */
void *pla_named_arrays_add(PlaNamedArrays *self, const char *name, PlaDType dtype, int width,
                           size_t n);
/* Appends a copy of @data; false when memory is short. */
bool pla_named_arrays_put(PlaNamedArrays *self, const char *name, PlaDType dtype, int width,
                          size_t n, const void *data);

/* Whether there is an array @name: those that came later are missing in states of earlier builds.
 */
bool pla_named_arrays_has(const PlaNamedArrays *self, const char *name);
/* Borrows the array @name, which must have this type and width and, where *n is not negative, that
 * many tuples; *n then tells how many (up to INT_MAX).  PLA_ERR_FORMAT with a sentence otherwise.
 */
PlaStatus pla_named_arrays_get(const PlaNamedArrays *self, const char *name, PlaDType dtype,
                               int width, int *n, const void **data, PlaError *err);
/* The same as the caller's own copy, from malloc. */
PlaStatus pla_named_arrays_dup(const PlaNamedArrays *self, const char *name, PlaDType dtype,
                               int width, int *n, void **data, PlaError *err);
/* Whether all of n numbers lie from @lo up to, not including, @hi. */
bool pla_ints_within(const int *value, size_t n, int lo, int hi);
