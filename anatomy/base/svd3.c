/* The scalar SVD, polar decomposition and symmetric eigenvalues; the driver of the batched SVD.
 *
 * One-sided Jacobi: rotations from the right make the columns of B = F V orthogonal.  V is a
 * product of rotations, so det V = +1.  The two longest columns, normalised, are columns of U; the
 * third is their cross product, so det U = +1, and its singular value u3 . b3 carries the sign of
 * det F and is safe when it goes to zero. */
#include "anatomy/base/svd3.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/svd3-kernel.h"

#include <float.h>

enum { MAX_SWEEPS = 24 }; /* quadratic convergence: five or six do; the bound is for safety */

/* rotates columns p and q of the 3x3 matrix @m by (c, s) */
static void
rotate_columns(double m[9], int p, int q, double c, double s)
{
  for (int i = 0; i < 3; i++) {
    double x = m[3 * i + p], y = m[3 * i + q];
    m[3 * i + p] = c * x - s * y;
    m[3 * i + q] = s * x + c * y;
  }
}

static double
column_dot(const double m[9], int p, int q)
{
  return m[p] * m[q] + m[3 + p] * m[3 + q] + m[6 + p] * m[6 + q];
}

/* tangent of the smaller angle whose rotation zeroes the off-diagonal g of [a g; g b] */
static double
jacobi_tangent(double a, double b, double g)
{
  double zeta = (b - a) / (2.0 * g);
  return copysign(1.0 / (fabs(zeta) + sqrt(1.0 + zeta * zeta)), zeta);
}

/* a unit vector at right angles to the unit vector @a */
static void
perpendicular(const double a[3], double b[3])
{
  int k = fabs(a[0]) <= fabs(a[1]) && fabs(a[0]) <= fabs(a[2]) ? 0
          : fabs(a[1]) <= fabs(a[2])                           ? 1
                                                               : 2;
  double e[3] = { k == 0, k == 1, k == 2 };
  pla_vec3_cross(a, e, b);
  double n = pla_vec3_norm(b);
  for (int d = 0; d < 3; d++)
    b[d] /= n;
}

/* longer columns first; a swap changes one sign so that V stays a rotation */
static void
order_columns(double b[9], double v[9])
{
  static const int pairs[3][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };
  for (int k = 0; k < 3; k++) {
    int p = pairs[k][0], q = pairs[k][1];
    if (column_dot(b, p, p) < column_dot(b, q, q)) {
      rotate_columns(b, p, q, 0.0, -1.0);
      rotate_columns(v, p, q, 0.0, -1.0);
    }
  }
}

void
pla_svd3(const double f[9], double u[9], double s[3], double v[9])
{
  static const int pairs[3][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };

  /* a power of two brings the largest entry near 1, so that squares neither over- nor underflow */
  double most = 0.0;
  for (int i = 0; i < 9; i++)
    most = fmax(most, fabs(f[i]));
  int exponent = 0;
  if (most > 0.0)
    frexp(most, &exponent);
  double b[9];
  for (int i = 0; i < 9; i++)
    b[i] = ldexp(f[i], -exponent);
  pla_mat3_identity(v);

  /* rotate until all pairs of columns are orthogonal */
  for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    int rotated = 0;
    for (int k = 0; k < 3; k++) {
      int p = pairs[k][0], q = pairs[k][1];
      double a = column_dot(b, p, p), d = column_dot(b, q, q), g = column_dot(b, p, q);
      if (g * g <= DBL_EPSILON * DBL_EPSILON * a * d)
        continue;
      double t = jacobi_tangent(a, d, g);
      double c = 1.0 / sqrt(1.0 + t * t);
      rotate_columns(b, p, q, c, c * t);
      rotate_columns(v, p, q, c, c * t);
      rotated = 1;
    }
    if (!rotated)
      break;
  }
  order_columns(b, v);

  /* U from the two longest columns */
  double u0[3] = { b[0], b[3], b[6] }, u1[3] = { b[1], b[4], b[7] }, u2[3];
  double n0 = pla_vec3_norm(u0);
  for (int d = 0; d < 3; d++)
    u0[d] = n0 > 0.0 ? u0[d] / n0 : d == 0;
  for (int again = 0; again < 2; again++) { /* twice is enough, when u1 is nearly along u0 */
    double along = pla_vec3_dot(u0, u1);
    for (int d = 0; d < 3; d++)
      u1[d] -= along * u0[d];
  }
  double n1 = pla_vec3_norm(u1);
  if (n1 > 1e-150)
    for (int d = 0; d < 3; d++)
      u1[d] /= n1;
  else
    perpendicular(u0, u1);
  pla_vec3_cross(u0, u1, u2);

  /* equal values may differ in the last bit: the order holds exactly */
  double values[3] = { n0, fmin(n1, n0), u2[0] * b[2] + u2[1] * b[5] + u2[2] * b[8] };
  values[2] = fmax(-values[1], fmin(values[1], values[2]));
  for (int d = 0; d < 3; d++) {
    u[3 * d] = u0[d];
    u[3 * d + 1] = u1[d];
    u[3 * d + 2] = u2[d];
    s[d] = ldexp(values[d], exponent);
  }
}

enum { RANGE = 1024 }; /* matrices that one thread takes at a time; a multiple of the lanes */

void
pla_svd3_batch(size_t n, size_t stride, const double *f, double *u, double *s, double *v)
{
  size_t n_ranges = (n + RANGE - 1) / RANGE;
  int avx2 = pla_kernel_get() == PLA_KERNEL_AVX2;
#pragma omp parallel for schedule(static) if (n_ranges > 1)
  for (size_t r = 0; r < n_ranges; r++) {
    size_t begin = r * RANGE, end = begin + RANGE < n ? begin + RANGE : n;
#if defined(__x86_64__)
    if (avx2) {
      pla_svd3_range_avx2(begin, end, stride, f, u, s, v);
      continue;
    }
#endif
    (void)avx2;
    pla_svd3_range_plain(begin, end, stride, f, u, s, v);
  }
}

void
pla_polar3(const double f[9], double r[9], double s[9])
{
  double u[9], sigma[3], v[9], vs[9];
  pla_svd3(f, u, sigma, v);
  pla_mat3_mul_nt(u, v, r);
  for (int i = 0; i < 9; i++)
    vs[i] = v[i] * sigma[i % 3];
  pla_mat3_mul_nt(vs, v, s);
  /* symmetric to the last bit */
  s[3] = s[1];
  s[6] = s[2];
  s[7] = s[5];
}

void
pla_eig3(const double a[9], double w[3], double q[9])
{
  static const int pairs[3][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };
  double m[9] = { a[0], a[1], a[2], a[1], a[4], a[5], a[2], a[5], a[8] };
  double most = 0.0;
  for (int i = 0; i < 9; i++)
    most = fmax(most, fabs(m[i]));
  pla_mat3_identity(q);

  /* two-sided Jacobi until the off-diagonal is rounding */
  for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    int rotated = 0;
    for (int k = 0; k < 3; k++) {
      int p = pairs[k][0], r = pairs[k][1], o = 3 - p - r;
      double g = m[3 * p + r];
      if (fabs(g) <= 0x1p-54 * sqrt(fabs(m[4 * p] * m[4 * r])) || fabs(g) <= 0x1p-60 * most)
        continue;
      double t = jacobi_tangent(m[4 * p], m[4 * r], g);
      double c = 1.0 / sqrt(1.0 + t * t), s = c * t;
      m[4 * p] -= t * g;
      m[4 * r] += t * g;
      m[3 * p + r] = m[3 * r + p] = 0.0;
      double x = m[3 * p + o], y = m[3 * r + o];
      m[3 * p + o] = m[3 * o + p] = c * x - s * y;
      m[3 * r + o] = m[3 * o + r] = s * x + c * y;
      rotate_columns(q, p, r, c, s);
      rotated = 1;
    }
    if (!rotated)
      break;
  }
  for (int d = 0; d < 3; d++)
    w[d] = m[4 * d];

  /* ascending; each swap changes one sign so that Q stays a rotation */
  for (int k = 0; k < 3; k++) {
    int p = pairs[k][0], r = pairs[k][1];
    if (w[p] > w[r]) {
      double x = w[p];
      w[p] = w[r];
      w[r] = x;
      rotate_columns(q, p, r, 0.0, 1.0);
    }
  }
}
