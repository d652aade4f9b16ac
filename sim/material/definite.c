/* Definiteness of small symmetric matrices. */
#include "sim/material/definite.h"

#include "anatomy/base/mat3.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static double
largest(int n, const double *a)
{
  double most = 0.0;
  for (int i = 0; i < n * n; i++)
    most = fmax(most, fabs(a[i]));
  return most;
}

bool
pla_definite(int n, const double *a)
{
  assert(n <= PLA_DEFINITE_MAX);
  double l[PLA_DEFINITE_MAX * PLA_DEFINITE_MAX], shift = 1e-13 * largest(n, a);
  for (int j = 0; j < n; j++) {
    double pivot = a[n * j + j] + shift;
    for (int k = 0; k < j; k++)
      pivot -= l[n * j + k] * l[n * j + k];
    if (!(pivot > 0.0))
      return false;
    l[n * j + j] = sqrt(pivot);
    for (int i = j + 1; i < n; i++) {
      double sum = a[n * i + j];
      for (int k = 0; k < j; k++)
        sum -= l[n * i + k] * l[n * j + k];
      l[n * i + j] = sum / l[n * j + j];
    }
  }
  return true;
}

/* A = Q diag(w) Q^T; @a is overwritten */
static void
eigen(int n, double *a, double *w, double *q)
{
  for (int i = 0; i < n * n; i++)
    q[i] = i % (n + 1) == 0;
  for (int sweep = 0; sweep < 30; sweep++) {
    double off = 0.0, all = 0.0;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        all += a[n * i + j] * a[n * i + j];
        off += i != j ? a[n * i + j] * a[n * i + j] : 0.0;
      }
    /* converges quadratically: what is left moves the eigenvalues by far less than rounding */
    if (off <= 1e-24 * all)
      break;
    for (int i = 0; i < n; i++)
      for (int j = i + 1; j < n; j++) {
        if (a[n * i + j] == 0.0)
          continue;
        double theta = 0.5 * (a[n * j + j] - a[n * i + i]) / a[n * i + j];
        double t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
        double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
        for (int k = 0; k < n; k++) {
          double x = a[n * k + i], y = a[n * k + j];
          a[n * k + i] = c * x - s * y;
          a[n * k + j] = s * x + c * y;
        }
        for (int k = 0; k < n; k++) {
          double x = a[n * i + k], y = a[n * j + k];
          a[n * i + k] = c * x - s * y;
          a[n * j + k] = s * x + c * y;
        }
        for (int k = 0; k < n; k++) {
          double x = q[n * k + i], y = q[n * k + j];
          q[n * k + i] = c * x - s * y;
          q[n * k + j] = s * x + c * y;
        }
      }
  }
  for (int i = 0; i < n; i++)
    w[i] = a[n * i + i];
}

void
pla_definite_project(int n, double *a)
{
  assert(n <= PLA_DEFINITE_MAX);
  double q[PLA_DEFINITE_MAX * PLA_DEFINITE_MAX], w[PLA_DEFINITE_MAX];
  eigen(n, a, w, q);
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++) {
      double sum = 0.0;
      for (int k = 0; k < n; k++)
        sum += fmax(w[k], 0.0) * q[n * i + k] * q[n * j + k];
      a[n * i + j] = a[n * j + i] = sum;
    }
}

/* symmetric 3x3 matrices as 6-vectors in an orthonormal basis: 11, 22, 33, then sqrt 2 times 12,
 * 13, 23 */
static const int component[6][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };

static void
pack(const double a[9], double x[6])
{
  for (int c = 0; c < 6; c++) {
    int i = component[c][0], j = component[c][1];
    x[c] = i == j ? a[4 * i] : M_SQRT1_2 * (a[3 * i + j] + a[3 * j + i]);
  }
}

static void
unpack(const double x[6], double a[9])
{
  for (int c = 0; c < 6; c++) {
    int i = component[c][0], j = component[c][1];
    a[3 * i + j] = a[3 * j + i] = i == j ? x[c] : M_SQRT1_2 * x[c];
  }
}

void
pla_definite_project_material(const PlaPoint *point, const double p[9], double h[81])
{
  if (pla_definite(9, h))
    return;
  if (point->s[2] < PLA_STRETCH_FLOOR) {
    pla_definite_project(9, h);
    return;
  }
  const double *f = point->f;
  double inverse[9], s[9], t[36];
  pla_mat3_invert(f, inverse);
  pla_mat3_mul(inverse, p, s);

  /* T : dC = F^-1 (H dF - dF S) with dF = F^-T dC / 2, which has that dC */
  for (int c = 0; c < 6; c++) {
    double unit[6] = { 0.0 }, dc[9], df[9], dp[9], dfs[9], ds[9], column[6];
    unit[c] = 1.0;
    unpack(unit, dc);
    pla_mat3_mul_tn(inverse, dc, df);
    for (int k = 0; k < 9; k++)
      df[k] *= 0.5;
    for (int k = 0; k < 9; k++) {
      dp[k] = 0.0;
      for (int l = 0; l < 9; l++)
        dp[k] += h[9 * k + l] * df[l];
    }
    pla_mat3_mul(df, s, dfs);
    for (int k = 0; k < 9; k++)
      dp[k] -= dfs[k];
    pla_mat3_mul(inverse, dp, ds);
    pack(ds, column);
    for (int r = 0; r < 6; r++)
      t[6 * r + c] = column[r];
  }
  for (int r = 0; r < 6; r++)
    for (int c = r + 1; c < 6; c++)
      t[6 * r + c] = t[6 * c + r] = 0.5 * (t[6 * r + c] + t[6 * c + r]);
  pla_definite_project(3, s);
  pla_definite_project(6, t);

  /* dC of each unit dF, in the 6-basis */
  double strain[9][6];
  for (int l = 0; l < 9; l++) {
    double df[9] = { 0.0 }, dc[9];
    df[l] = 1.0;
    pla_mat3_mul_tn(f, df, dc);
    for (int i = 0; i < 3; i++)
      for (int j = i; j < 3; j++)
        dc[3 * i + j] = dc[3 * j + i] = dc[3 * i + j] + dc[3 * j + i];
    pack(dc, strain[l]);
  }
  /* H = S on the columns + 1/2 strain^T T strain */
  for (int k = 0; k < 9; k++) {
    double row[6] = { 0.0 };
    for (int r = 0; r < 6; r++)
      for (int c = 0; c < 6; c++)
        row[c] += 0.5 * strain[k][r] * t[6 * r + c];
    for (int l = 0; l < 9; l++) {
      double sum = k / 3 == l / 3 ? s[3 * (k % 3) + l % 3] : 0.0;
      for (int c = 0; c < 6; c++)
        sum += row[c] * strain[l][c];
      h[9 * k + l] = sum;
    }
  }
}
