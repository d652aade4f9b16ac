/* Dispatch: from principal stretches to stress and tangent in F.
 *
 * For an isotropic energy Psi(s), P = U diag(p) V^T with p = dPsi/ds.  The tangent is block diagonal
 * in the frame of the SVD: the 3x3 Hessian on the modes u_i v_i^T, and for each pair i < j
 *   (u_i v_j^T + u_j v_i^T)/sqrt 2  with  (p_i - p_j) / (s_i - s_j),
 *   (u_i v_j^T - u_j v_i^T)/sqrt 2  with  (p_i + p_j) / (s_i + s_j).
 * (Irving, Teran and Fedkiw 2004; Stomakhin et al. 2012.) */
#include "sim/material/material.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/svd3.h"

#include <assert.h>
#include <string.h>

void
pla_point_decompose(PlaPoint *point)
{
  pla_svd3(point->f, point->u, point->s, point->v);
}

double
pla_material_energy(const PlaMaterial *material, const double *constants, const PlaPoint *point)
{
  return material->energy ? material->energy(constants, point)
                          : material->stretch_energy(constants, point->s);
}

/* out = U diag(p) V^T */
static void
from_diagonal(const PlaPoint *point, const double p[3], double out[9])
{
  double up[9];
  for (int c = 0; c < 9; c++)
    up[c] = point->u[c] * p[c % 3];
  pla_mat3_mul_nt(up, point->v, out);
}

void
pla_material_stress(const PlaMaterial *material, const double *constants, const PlaPoint *point,
                    double p[9])
{
  if (material->stress) {
    material->stress(constants, point, p);
    return;
  }
  double diagonal[3];
  material->stretch_stress(constants, point->s, diagonal);
  from_diagonal(point, diagonal, p);
}

/* h += factor a b^T for 9-vectors, b and a exchanged too when they differ */
static void
add_outer(double h[81], double factor, const double a[9], const double b[9])
{
  for (int i = 0; i < 9; i++)
    for (int j = 0; j < 9; j++)
      h[9 * i + j] += factor * a[i] * b[j];
}

/* the mode u_i v_j^T as a 9-vector */
static void
mode(const PlaPoint *point, int i, int j, double m[9])
{
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++)
      m[3 * r + c] = point->u[3 * r + i] * point->v[3 * c + j];
}

void
pla_material_tangent(const PlaMaterial *material, const double *constants, const PlaPoint *point,
                     bool project, double h[81])
{
  if (material->tangent) {
    material->tangent(constants, point, project, h);
    return;
  }
  static const int pairs[3][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };
  const double *s = point->s;
  double p[3], hessian[6], a[9];
  material->stretch_stress(constants, s, p);
  material->stretch_tangent(constants, s, hessian);
  memcpy(a, (double[9]){ hessian[0], hessian[3], hessian[4], hessian[3], hessian[1], hessian[5],
                         hessian[4], hessian[5], hessian[2] },
         sizeof a);

  /* stretching modes; negative eigenvalues are dropped when projecting */
  if (project) {
    double w[3], q[9];
    pla_eig3(a, w, q);
    for (int i = 0; i < 3; i++)
      for (int j = i; j < 3; j++) {
        double sum = 0.0;
        for (int k = 0; k < 3; k++)
          sum += fmax(w[k], 0.0) * q[3 * i + k] * q[3 * j + k];
        a[3 * i + j] = a[3 * j + i] = sum;
      }
  }
  double diagonal[3][9];
  for (int i = 0; i < 3; i++)
    mode(point, i, i, diagonal[i]);
  memset(h, 0, 81 * sizeof *h);
  for (int i = 0; i < 3; i++) {
    /* rows of A combined first: three outer products instead of nine */
    double row[9];
    for (int c = 0; c < 9; c++)
      row[c] = a[3 * i] * diagonal[0][c] + a[3 * i + 1] * diagonal[1][c] +
               a[3 * i + 2] * diagonal[2][c];
    add_outer(h, 1.0, diagonal[i], row);
  }

  /* shearing and rotating modes */
  for (int k = 0; k < 3; k++) {
    int i = pairs[k][0], j = pairs[k][1];
    double gap = s[i] - s[j], sum = s[i] + s[j], size = fabs(s[i]) + fabs(s[j]);
    /* equal stretches: the divided difference goes to a second derivative */
    double shear = fabs(gap) > 1e-5 * size
                       ? (p[i] - p[j]) / gap
                       : 0.5 * (hessian[i] + hessian[j]) - hessian[i + j + 2];
    /* the rotation mode has a true pole where s_i = -s_j; the floor keeps it finite */
    double floor_ = 1e-8 * (size + 1e-300);
    double turn = (p[i] + p[j]) / (fabs(sum) > floor_ ? sum : floor_);
    if (project) {
      shear = fmax(shear, 0.0);
      turn = fmax(turn, 0.0);
    }
    double ij[9], ji[9], plus[9], minus[9];
    mode(point, i, j, ij);
    mode(point, j, i, ji);
    for (int c = 0; c < 9; c++) {
      plus[c] = ij[c] + ji[c];
      minus[c] = ij[c] - ji[c];
    }
    add_outer(h, 0.5 * shear, plus, plus);
    add_outer(h, 0.5 * turn, minus, minus);
  }
}

PlaStatus
pla_material_check(const PlaMaterial *material, const double *param, PlaError *err)
{
  for (int i = 0; material->params[i].key; i++) {
    const PlaParam *row = &material->params[i];
    if (isnan(param[i]))
      return pla_fail(err, PLA_ERR_USAGE, "the material '%s' needs '%s' (%s)", material->id,
                      row->key, row->help);
    bool low = row->min_open ? param[i] <= row->min : param[i] < row->min;
    bool high = row->max_open ? param[i] >= row->max : param[i] > row->max;
    if (low || high || !isfinite(param[i]))
      return pla_fail(err, PLA_ERR_USAGE,
                      "'%s' of the material '%s' is %g, and must be %s %g and %s %g %s", row->key,
                      material->id, param[i], row->min_open ? "above" : "at least", row->min,
                      row->max_open ? "below" : "at most", row->max, row->unit);
  }
  return PLA_OK;
}
