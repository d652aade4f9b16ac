/* The two builds of the batched SVD: matrices begin..end-1. */
#pragma once

#include <stddef.h>

void pla_svd3_range_plain(size_t begin, size_t end, size_t stride, const double *f, double *u,
                          double *s, double *v);
void pla_svd3_range_avx2(size_t begin, size_t end, size_t stride, const double *f, double *u,
                         double *s, double *v);
