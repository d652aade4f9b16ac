/* The median of a few numbers. */
#pragma once

#include <stdlib.h>

static inline int
pla_compare_doubles(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts @value, n >= 1. */
static inline double
pla_median(double *value, size_t n)
{
  qsort(value, n, sizeof *value, pla_compare_doubles);
  return value[n / 2];
}
