/* For sources of hot kernels, which are compiled twice: as they are, and with AVX2 and FMA.
 *
 * A kernel `PLA_KERNEL_NAME(pla_foo)` becomes pla_foo_plain and pla_foo_avx2; a caller picks one by
 * pla_kernel_get().  Vectors are four doubles wide in both, so both do the same arithmetic but for
 * the fused multiply-adds. */
#pragma once

#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define PLA_PASTE_(a, b) a##b
#define PLA_PASTE(a, b) PLA_PASTE_(a, b)
#ifdef PLA_AVX2
#define PLA_KERNEL_NAME(name) PLA_PASTE(name, _avx2)
#else
#define PLA_KERNEL_NAME(name) PLA_PASTE(name, _plain)
#endif

enum { PLA_LANES = 4 };
typedef double PlaLanes __attribute__((vector_size(32)));
typedef long long PlaMask __attribute__((vector_size(32))); /* all ones or all zeros a lane */

static inline PlaLanes
pla_lanes_load(const double *p)
{
  PlaLanes x;
  memcpy(&x, p, sizeof x);
  return x;
}

static inline void
pla_lanes_store(double *p, PlaLanes x)
{
  memcpy(p, &x, sizeof x);
}

static inline PlaLanes
pla_lanes_set(double value)
{
  return (PlaLanes){ value, value, value, value };
}

/* mask ? a : b */
static inline PlaLanes
pla_lanes_select(PlaMask mask, PlaLanes a, PlaLanes b)
{
#ifdef PLA_AVX2
  return (PlaLanes)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)mask);
#else
  return (PlaLanes)((mask & (PlaMask)a) | (~mask & (PlaMask)b));
#endif
}

static inline PlaLanes
pla_lanes_sqrt(PlaLanes x)
{
#ifdef PLA_AVX2
  return (PlaLanes)_mm256_sqrt_pd((__m256d)x);
#elif defined(__SSE2__)
  __m128d half[2];
  memcpy(half, &x, sizeof x);
  half[0] = _mm_sqrt_pd(half[0]);
  half[1] = _mm_sqrt_pd(half[1]);
  memcpy(&x, half, sizeof x);
  return x;
#else
  for (int l = 0; l < PLA_LANES; l++)
    x[l] = __builtin_sqrt(x[l]);
  return x;
#endif
}

static inline PlaLanes
pla_lanes_abs(PlaLanes x)
{
  return (PlaLanes)((PlaMask)x & 0x7fffffffffffffffLL);
}

static inline PlaLanes
pla_lanes_max(PlaLanes a, PlaLanes b)
{
  return pla_lanes_select(a > b, a, b);
}

static inline PlaLanes
pla_lanes_min(PlaLanes a, PlaLanes b)
{
  return pla_lanes_select(a < b, a, b);
}

static inline int
pla_lanes_any(PlaMask mask)
{
  return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
}
