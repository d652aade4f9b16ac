/* Integers wide enough for the exact sign of a 4 x 4 determinant.
 *
 * Entries are below 2^110 in size, so their 2 x 2 minors fit in 256 bits and the determinant, by
 * Laplace along two pairs of rows, in 512.  Two's complement, least significant limb first. */
#pragma once

#include <stdint.h>

__extension__ typedef __int128 PlaInt128;
__extension__ typedef unsigned __int128 PlaUint128;

typedef struct {
  uint64_t limb[4];
} PlaWide4;

typedef struct {
  uint64_t limb[8];
} PlaWide8;

/* sum[0..n) +- x[0..m), m <= n, x taken as not negative */
static inline void
pla_wide_add(uint64_t *sum, int n, const uint64_t *x, int m, int subtract)
{
  PlaInt128 carry = 0;
  for (int i = 0; i < n; i++) {
    PlaInt128 term = i < m ? (PlaInt128)x[i] : 0;
    carry += (PlaInt128)sum[i] + (subtract ? -term : term);
    sum[i] = (uint64_t)carry;
    carry >>= 64;
  }
}

/* sum += +- a * b */
static inline void
pla_wide4_add_product(PlaWide4 *sum, PlaInt128 a, PlaInt128 b, int subtract)
{
  if (a == 0 || b == 0) /* planes of faces have three zeros */
    return;
  PlaUint128 x = a < 0 ? -(PlaUint128)a : (PlaUint128)a;
  PlaUint128 y = b < 0 ? -(PlaUint128)b : (PlaUint128)b;
  const uint64_t xl[2] = { (uint64_t)x, (uint64_t)(x >> 64) };
  const uint64_t yl[2] = { (uint64_t)y, (uint64_t)(y >> 64) };
  uint64_t product[4] = { 0 };
  for (int i = 0; i < 2; i++) {
    PlaUint128 carry = 0;
    for (int j = 0; j < 2; j++) {
      carry += (PlaUint128)xl[i] * yl[j] + product[i + j];
      product[i + j] = (uint64_t)carry;
      carry >>= 64;
    }
    product[i + 2] = (uint64_t)carry;
  }
  pla_wide_add(sum->limb, 4, product, 4, ((a < 0) != (b < 0)) != subtract);
}

/* |x| and whether x < 0 */
static inline int
pla_wide4_magnitude(PlaWide4 *x)
{
  if ((int64_t)x->limb[3] >= 0)
    return 0;
  uint64_t zero[4] = { 0 };
  pla_wide_add(zero, 4, x->limb, 4, 1);
  for (int i = 0; i < 4; i++)
    x->limb[i] = zero[i];
  return 1;
}

static inline void
pla_wide8_add_product(PlaWide8 *sum, PlaWide4 a, PlaWide4 b, int subtract)
{
  int negative = pla_wide4_magnitude(&a) != pla_wide4_magnitude(&b);
  uint64_t product[8] = { 0 };
  for (int i = 0; i < 4; i++) {
    PlaUint128 carry = 0;
    for (int j = 0; j < 4; j++) {
      carry += (PlaUint128)a.limb[i] * b.limb[j] + product[i + j];
      product[i + j] = (uint64_t)carry;
      carry >>= 64;
    }
    product[i + 4] = (uint64_t)carry;
  }
  pla_wide_add(sum->limb, 8, product, 8, negative != subtract);
}

static inline int
pla_wide8_sign(const PlaWide8 *x)
{
  if ((int64_t)x->limb[7] < 0)
    return -1;
  for (int i = 0; i < 8; i++)
    if (x->limb[i])
      return 1;
  return 0;
}

/* x, rounded */
static inline double
pla_wide8_to_double(PlaWide8 x)
{
  int negative = (int64_t)x.limb[7] < 0;
  if (negative) {
    PlaWide8 zero = { { 0 } };
    pla_wide_add(zero.limb, 8, x.limb, 8, 1);
    x = zero;
  }
  double sum = 0.0;
  for (int i = 7; i >= 0; i--)
    sum = sum * 0x1p64 + (double)x.limb[i];
  return negative ? -sum : sum;
}

/* det [p; q; r; s], rows of four */
static inline PlaWide8
pla_wide_det4(const PlaInt128 p[4], const PlaInt128 q[4], const PlaInt128 r[4],
              const PlaInt128 s[4])
{
  /* columns i < j of the upper rows with the complementary columns of the lower ones */
  static const int pair[6][5] = { { 0, 1, 2, 3, 0 }, { 0, 2, 1, 3, 1 }, { 0, 3, 1, 2, 0 },
                                  { 1, 2, 0, 3, 0 }, { 1, 3, 0, 2, 1 }, { 2, 3, 0, 1, 0 } };
  PlaWide8 sum = { { 0 } };
  for (int k = 0; k < 6; k++) {
    const int *c = pair[k];
    PlaWide4 upper = { { 0 } }, lower = { { 0 } };
    pla_wide4_add_product(&upper, p[c[0]], q[c[1]], 0);
    pla_wide4_add_product(&upper, p[c[1]], q[c[0]], 1);
    if ((upper.limb[0] | upper.limb[1] | upper.limb[2] | upper.limb[3]) == 0)
      continue;
    pla_wide4_add_product(&lower, r[c[2]], s[c[3]], 0);
    pla_wide4_add_product(&lower, r[c[3]], s[c[2]], 1);
    pla_wide8_add_product(&sum, upper, lower, c[4]);
  }
  return sum;
}
