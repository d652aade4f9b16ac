/* 3x3 matrices, row-major double[9], and 3-vectors: small maths that inlines. */
#pragma once

#include <math.h>
#include <string.h>

static inline double
pla_vec3_dot(const double a[3], const double b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void
pla_vec3_cross(const double a[3], const double b[3], double c[3])
{
  double r[3] = { a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0] };
  memcpy(c, r, sizeof r);
}

static inline void
pla_vec3_sub(const double a[3], const double b[3], double c[3])
{
  for (int d = 0; d < 3; d++)
    c[d] = a[d] - b[d];
}

static inline double
pla_vec3_norm(const double a[3])
{
  return sqrt(pla_vec3_dot(a, a));
}

static inline void
pla_mat3_identity(double a[9])
{
  memset(a, 0, 9 * sizeof *a);
  a[0] = a[4] = a[8] = 1.0;
}

/* c = a b; c may be a or b */
static inline void
pla_mat3_mul(const double a[9], const double b[9], double c[9])
{
  double r[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      r[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
  memcpy(c, r, sizeof r);
}

/* c = a b^T */
static inline void
pla_mat3_mul_nt(const double a[9], const double b[9], double c[9])
{
  double r[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      r[3 * i + j] =
          a[3 * i] * b[3 * j] + a[3 * i + 1] * b[3 * j + 1] + a[3 * i + 2] * b[3 * j + 2];
  memcpy(c, r, sizeof r);
}

/* c = a^T b */
static inline void
pla_mat3_mul_tn(const double a[9], const double b[9], double c[9])
{
  double r[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      r[3 * i + j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j];
  memcpy(c, r, sizeof r);
}

/* y = a x; y may be x */
static inline void
pla_mat3_apply(const double a[9], const double x[3], double y[3])
{
  double r[3];
  for (int i = 0; i < 3; i++)
    r[i] = a[3 * i] * x[0] + a[3 * i + 1] * x[1] + a[3 * i + 2] * x[2];
  memcpy(y, r, sizeof r);
}

static inline double
pla_mat3_det(const double a[9])
{
  return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
         a[2] * (a[3] * a[7] - a[4] * a[6]);
}

/* the matrix of cofactors: a^-T det(a), and the derivative of det */
static inline void
pla_mat3_cofactor(const double a[9], double c[9])
{
  double r[9];
  for (int i = 0; i < 3; i++) {
    int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; j++) {
      int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      r[3 * i + j] = a[3 * i1 + j1] * a[3 * i2 + j2] - a[3 * i1 + j2] * a[3 * i2 + j1];
    }
  }
  memcpy(c, r, sizeof r);
}

/* returns det(a); *inv is all zeros when that is 0; inv must not be a */
static inline double
pla_mat3_invert(const double a[9], double inv[9])
{
  double cof[9], det = pla_mat3_det(a);
  memset(inv, 0, 9 * sizeof *inv);
  if (det == 0.0)
    return 0.0;
  pla_mat3_cofactor(a, cof);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      inv[3 * j + i] = cof[3 * i + j] / det;
  return det;
}
