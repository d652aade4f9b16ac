/* Orientation tests: a filter with a forward error bound, then exact arithmetic on expansions
 * (sums of doubles that do not overlap), after the ideas of Dekker (1971), Priest (1991) and
 * Shewchuk, "Adaptive precision floating-point arithmetic" (1997).
 *
 * Differences of coordinates are kept as exact pairs, so the determinant of differences is exact:
 * 2 terms a difference, 16 a 2x2 minor, 64 a minor times a difference, 192 the sum. */
#include "anatomy/mesh/predicates.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* half an ulp of 1, the unit of rounding errors */
static const double unit = DBL_EPSILON / 2.0;

/* hi + lo = a + b exactly */
static inline void
two_sum(double a, double b, double *hi, double *lo)
{
  double s = a + b, bb = s - a;
  *lo = (a - (s - bb)) + (b - bb);
  *hi = s;
}

/* hi + lo = a * b exactly, by halves of 26 bits */
static inline void
two_product(double a, double b, double *hi, double *lo)
{
  const double splitter = 134217729.0; /* 2^27 + 1 */
  double p = a * b;
  double ca = splitter * a, a1 = ca - (ca - a), a0 = a - a1;
  double cb = splitter * b, b1 = cb - (cb - b), b0 = b - b1;
  *lo = a0 * b0 - (((p - a1 * b1) - a0 * b1) - a1 * b0);
  *hi = p;
}

/* Expansions have their terms in rising magnitude and no zeros but for a lone one. */

/* e += b; returns the new length */
static int
grow(double *e, int n, double b)
{
  int m = 0;
  double q = b;
  for (int i = 0; i < n; i++) {
    double lo;
    two_sum(q, e[i], &q, &lo);
    if (lo != 0.0)
      e[m++] = lo;
  }
  if (q != 0.0 || m == 0)
    e[m++] = q;
  return m;
}

/* h = e + f; h must not be e or f */
static int
expansion_sum(const double *e, int n, const double *f, int m, double *h)
{
  memcpy(h, e, (size_t)n * sizeof *h);
  for (int i = 0; i < m; i++)
    n = grow(h, n, f[i]);
  return n;
}

/* h = e * f, term by term */
static int
expansion_product(const double *e, int n, const double *f, int m, double *h)
{
  int length = 1;
  h[0] = 0.0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      double hi, lo;
      two_product(e[i], f[j], &hi, &lo);
      length = grow(h, length, lo);
      length = grow(h, length, hi);
    }
  return length;
}

static int
difference(double a, double b, double e[2])
{
  double hi, lo;
  two_sum(a, -b, &hi, &lo);
  if (lo == 0.0) {
    e[0] = hi;
    return 1;
  }
  e[0] = lo;
  e[1] = hi;
  return 2;
}

static int
sign_of(double x)
{
  return (x > 0.0) - (x < 0.0);
}

/* a b - c d */
static int
minor2(const double *a, int na, const double *b, int nb, const double *c, int nc, const double *d,
       int nd, double h[16])
{
  double p[8], q[8];
  int np = expansion_product(a, na, b, nb, p), nq = expansion_product(c, nc, d, nd, q);
  for (int i = 0; i < nq; i++)
    q[i] = -q[i];
  return expansion_sum(p, np, q, nq, h);
}

int
pla_orient2d(const double a[2], const double b[2], const double c[2])
{
  double left = (a[0] - c[0]) * (b[1] - c[1]), right = (a[1] - c[1]) * (b[0] - c[0]);
  double det = left - right;
  /* differences, products and the last subtraction each err by one unit */
  double bound = (3.0 + 16.0 * unit) * unit * (fabs(left) + fabs(right));
  if (det > bound || -det > bound)
    return sign_of(det);
  double d[4][2], h[16];
  int n[4] = { difference(a[0], c[0], d[0]), difference(b[1], c[1], d[1]),
               difference(a[1], c[1], d[2]), difference(b[0], c[0], d[3]) };
  int m = minor2(d[0], n[0], d[1], n[1], d[2], n[2], d[3], n[3], h);
  return sign_of(h[m - 1]);
}

static int
orient3d_exact(const double a[3], const double b[3], const double c[3], const double d[3])
{
  const double *row[3] = { b, c, d };
  double e[3][3][2], total[192], minor[16], term[64], sum[192];
  int n[3][3], length = 1;
  for (int r = 0; r < 3; r++)
    for (int k = 0; k < 3; k++)
      n[r][k] = difference(row[r][k], a[k], e[r][k]);
  total[0] = 0.0;
  for (int k = 0; k < 3; k++) {
    int k1 = (k + 1) % 3, k2 = (k + 2) % 3;
    int m = minor2(e[1][k1], n[1][k1], e[2][k2], n[2][k2], e[1][k2], n[1][k2], e[2][k1], n[2][k1],
                   minor);
    int t = expansion_product(minor, m, e[0][k], n[0][k], term);
    int s = expansion_sum(total, length, term, t, sum);
    memcpy(total, sum, (size_t)s * sizeof *total);
    length = s;
  }
  return sign_of(total[length - 1]);
}

int
pla_orient3d(const double a[3], const double b[3], const double c[3], const double d[3])
{
  double u[3], v[3], w[3];
  for (int k = 0; k < 3; k++) {
    u[k] = b[k] - a[k];
    v[k] = c[k] - a[k];
    w[k] = d[k] - a[k];
  }
  double det = 0.0, permanent = 0.0;
  for (int k = 0; k < 3; k++) {
    int k1 = (k + 1) % 3, k2 = (k + 2) % 3;
    double p = v[k1] * w[k2], q = v[k2] * w[k1];
    det += u[k] * (p - q);
    permanent += fabs(u[k]) * (fabs(p) + fabs(q));
  }
  /* each triple product errs by at most 8 units: three differences, two products, three sums */
  double bound = (8.0 + 64.0 * unit) * unit * permanent;
  if (det > bound || -det > bound)
    return sign_of(det);
  return orient3d_exact(a, b, c, d);
}
