/* Threads, and sums that give the same bits for any number of them.
 *
 * Loops that write each output once are plain `#pragma omp parallel for schedule(static)`.  Sums
 * are cut into blocks of PLA_BLOCK terms, each block is added in order, and the block sums are
 * added in order: never `reduction(+)`. */
#pragma once

#include <stddef.h>

#define PLA_BLOCK 4096 /* terms per block of a deterministic sum */

/* Threads that parallel loops use: @n >= 1, or 0 for all cores.  Call from the main thread before
 * work starts. */
void pla_threads_set(int n);
int pla_threads_get(void);

/* Sums of n doubles (any unit); single-threaded below a few blocks. */
double pla_sum(const double *x, size_t n);
double pla_dot(const double *x, const double *y, size_t n);
double pla_norm2(const double *x, size_t n);   /* sqrt of the sum of squares */
double pla_max_abs(const double *x, size_t n); /* NaN if any term is NaN */

/* What this CPU runs: decided once, the same for every kernel. */
typedef enum {
  PLA_KERNEL_PLAIN = 0, /* any x86-64 or other CPU */
  PLA_KERNEL_AVX2,      /* AVX2 + FMA */
} PlaKernel;

/* The variant in use; the environment variable PLATYSMA_KERNEL=plain chooses the plain one. */
PlaKernel pla_kernel_get(void);
const char *pla_kernel_name(PlaKernel kernel); /* "plain", "avx2" */
void pla_kernel_override(PlaKernel kernel);    /* for tests and benchmarks; clamped to the CPU's */
