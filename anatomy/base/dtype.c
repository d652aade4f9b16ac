/* The table of element types (name, size, range), and conversion of elements to and from double;
 * integers saturate and round to nearest. */
#include "anatomy/base/dtype.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static const struct {
  const char *name;
  size_t size;
  double lo, hi; /* the range of integer types; 0, 0 for floats */
} types[PLA_N_DTYPES] = {
  [PLA_I8] = { "int8", 1, INT8_MIN, INT8_MAX },
  [PLA_U8] = { "uint8", 1, 0, UINT8_MAX },
  [PLA_I16] = { "int16", 2, INT16_MIN, INT16_MAX },
  [PLA_U16] = { "uint16", 2, 0, UINT16_MAX },
  [PLA_I32] = { "int32", 4, INT32_MIN, INT32_MAX },
  [PLA_U32] = { "uint32", 4, 0, UINT32_MAX },
  /* the largest doubles that still convert to the type */
  [PLA_I64] = { "int64", 8, -9223372036854775808.0, 9223372036854774784.0 },
  [PLA_U64] = { "uint64", 8, 0, 18446744073709549568.0 },
  [PLA_F32] = { "float32", 4, 0, 0 },
  [PLA_F64] = { "float64", 8, 0, 0 },
};

size_t
pla_dtype_size(PlaDType dtype)
{
  assert((unsigned)dtype < PLA_N_DTYPES);
  return types[dtype].size;
}

const char *
pla_dtype_name(PlaDType dtype)
{
  assert((unsigned)dtype < PLA_N_DTYPES);
  return types[dtype].name;
}

bool
pla_dtype_from_name(const char *name, PlaDType *out)
{
  for (int t = 0; t < PLA_N_DTYPES; t++)
    if (strcmp(types[t].name, name) == 0) {
      *out = (PlaDType)t;
      return true;
    }
  return false;
}

bool
pla_dtype_is_integer(PlaDType dtype)
{
  return dtype != PLA_F32 && dtype != PLA_F64;
}

double
pla_dtype_get(PlaDType dtype, const void *data, size_t i)
{
  switch (dtype) {
  case PLA_I8:
    return ((const int8_t *)data)[i];
  case PLA_U8:
    return ((const uint8_t *)data)[i];
  case PLA_I16:
    return ((const int16_t *)data)[i];
  case PLA_U16:
    return ((const uint16_t *)data)[i];
  case PLA_I32:
    return ((const int32_t *)data)[i];
  case PLA_U32:
    return ((const uint32_t *)data)[i];
  case PLA_I64:
    return (double)((const int64_t *)data)[i];
  case PLA_U64:
    return (double)((const uint64_t *)data)[i];
  case PLA_F32:
    return ((const float *)data)[i];
  case PLA_F64:
    return ((const double *)data)[i];
  default:
    assert(0);
    return 0.0;
  }
}

void
pla_dtype_set(PlaDType dtype, void *data, size_t i, double value)
{
  if (pla_dtype_is_integer(dtype)) {
    value = isnan(value) ? 0.0 : nearbyint(value);
    value = value < types[dtype].lo ? types[dtype].lo : value;
    value = value > types[dtype].hi ? types[dtype].hi : value;
  }
  switch (dtype) {
  case PLA_I8:
    ((int8_t *)data)[i] = (int8_t)value;
    break;
  case PLA_U8:
    ((uint8_t *)data)[i] = (uint8_t)value;
    break;
  case PLA_I16:
    ((int16_t *)data)[i] = (int16_t)value;
    break;
  case PLA_U16:
    ((uint16_t *)data)[i] = (uint16_t)value;
    break;
  case PLA_I32:
    ((int32_t *)data)[i] = (int32_t)value;
    break;
  case PLA_U32:
    ((uint32_t *)data)[i] = (uint32_t)value;
    break;
  case PLA_I64:
    ((int64_t *)data)[i] = (int64_t)value;
    break;
  case PLA_U64:
    ((uint64_t *)data)[i] = (uint64_t)value;
    break;
  case PLA_F32:
    ((float *)data)[i] = (float)value;
    break;
  case PLA_F64:
    ((double *)data)[i] = value;
    break;
  default:
    assert(0);
  }
}

/* one loop per type, so that the compiler can vectorise it */
#define CONVERT(type)                                                                              \
  do {                                                                                             \
    const type *from = (const type *)data + first;                                                 \
    for (size_t i = 0; i < n; i++)                                                                 \
      out[i] = (double)from[i];                                                                    \
  } while (0)

void
pla_dtype_to_double(PlaDType dtype, const void *data, size_t first, size_t n, double *out)
{
  switch (dtype) {
  case PLA_I8:
    CONVERT(int8_t);
    break;
  case PLA_U8:
    CONVERT(uint8_t);
    break;
  case PLA_I16:
    CONVERT(int16_t);
    break;
  case PLA_U16:
    CONVERT(uint16_t);
    break;
  case PLA_I32:
    CONVERT(int32_t);
    break;
  case PLA_U32:
    CONVERT(uint32_t);
    break;
  case PLA_I64:
    CONVERT(int64_t);
    break;
  case PLA_U64:
    CONVERT(uint64_t);
    break;
  case PLA_F32:
    CONVERT(float);
    break;
  case PLA_F64:
    CONVERT(double);
    break;
  default:
    assert(0);
  }
}

void
pla_dtype_swap_bytes(PlaDType dtype, void *data, size_t n)
{
  switch (pla_dtype_size(dtype)) {
  case 2: {
    uint16_t *p = data;
    for (size_t i = 0; i < n; i++)
      p[i] = __builtin_bswap16(p[i]);
    break;
  }
  case 4: {
    uint32_t *p = data;
    for (size_t i = 0; i < n; i++)
      p[i] = __builtin_bswap32(p[i]);
    break;
  }
  case 8: {
    uint64_t *p = data;
    for (size_t i = 0; i < n; i++)
      p[i] = __builtin_bswap64(p[i]);
    break;
  }
  default:
    break;
  }
}
