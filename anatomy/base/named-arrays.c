/* A growing list of named, typed arrays: append, look up with a check of type and width, copy
 * out. pla_ints_within() checks that all indices of an array are in range. */
#include "anatomy/base/named-arrays.h"

#include "anatomy/base/memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void
pla_named_arrays_clear(PlaNamedArrays *self)
{
  for (int a = 0; a < self->n; a++) {
    free(self->array[a].name);
    free(self->array[a].data);
  }
  free(self->array);
  *self = (PlaNamedArrays){ 0 };
}

void *
pla_named_arrays_add(PlaNamedArrays *self, const char *name, PlaDType dtype, int width, size_t n)
{
  size_t tuple = (size_t)width * pla_dtype_size(dtype);
  char *copy = pla_strdup(name);
  void *data = pla_array_new0(n, tuple);
  if (!copy || !data ||
      !pla_array_reserve(&self->array, self->n + 1, &self->capacity, sizeof *self->array)) {
    free(copy);
    free(data);
    return NULL;
  }
  self->array[self->n++] = (PlaNamedArray){ copy, dtype, width, n, data };
  return data;
}

bool
pla_named_arrays_put(PlaNamedArrays *self, const char *name, PlaDType dtype, int width, size_t n,
                     const void *data)
{
  void *room = pla_named_arrays_add(self, name, dtype, width, n);
  if (room && n > 0)
    memcpy(room, data, n * (size_t)width * pla_dtype_size(dtype));
  return room != NULL;
}

bool
pla_named_arrays_has(const PlaNamedArrays *self, const char *name)
{
  for (int a = 0; a < self->n; a++)
    if (strcmp(self->array[a].name, name) == 0)
      return true;
  return false;
}

PlaStatus
pla_named_arrays_get(const PlaNamedArrays *self, const char *name, PlaDType dtype, int width,
                     int *n, const void **data, PlaError *err)
{
  for (int a = 0; a < self->n; a++) {
    const PlaNamedArray *array = &self->array[a];
    if (strcmp(array->name, name) != 0)
      continue;
    if (array->dtype != dtype || array->width != width || array->n > INT_MAX / (size_t)width ||
        (*n >= 0 && array->n != (size_t)*n))
      return pla_fail(err, PLA_ERR_FORMAT, "the array '%s' has another type or size", name);
    *n = (int)array->n;
    *data = array->data;
    return PLA_OK;
  }
  return pla_fail(err, PLA_ERR_FORMAT, "there is no array '%s'", name);
}

PlaStatus
pla_named_arrays_dup(const PlaNamedArrays *self, const char *name, PlaDType dtype, int width,
                     int *n, void **data, PlaError *err)
{
  const void *from = NULL;
  PlaStatus st = pla_named_arrays_get(self, name, dtype, width, n, &from, err);
  if (st != PLA_OK)
    return st;
  *data = pla_array_new((size_t)*n, (size_t)width * pla_dtype_size(dtype));
  if (!*data)
    return pla_fail_memory(err, name);
  if (*n > 0)
    memcpy(*data, from, (size_t)*n * (size_t)width * pla_dtype_size(dtype));
  return PLA_OK;
}

bool
pla_ints_within(const int *value, size_t n, int lo, int hi)
{
  for (size_t i = 0; i < n; i++)
    if (value[i] < lo || value[i] >= hi)
      return false;
  return true;
}
