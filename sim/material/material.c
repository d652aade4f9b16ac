/* Dispatch: from principal stretches to stress and tangent in F; prestrain; mixtures; materials
 * that have nothing but an energy on complex numbers.
 *
 * For an isotropic energy Psi(s), P = U diag(p) V^T with p = dPsi/ds.  The tangent is block
 * diagonal in the frame of the SVD: the 3x3 Hessian on the modes u_i v_i^T, and for each pair i < j
 *   (u_i v_j^T + u_j v_i^T)/sqrt 2  with  (p_i - p_j) / (s_i - s_j),
 *   (u_i v_j^T - u_j v_i^T)/sqrt 2  with  (p_i + p_j) / (s_i + s_j).
 * (Irving, Teran and Fedkiw 2004; Stomakhin et al. 2012.) */
#include "sim/material/material.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/svd3.h"
#include "sim/material/complex-step.h"
#include "sim/material/definite.h"
#include "sim/material/mixture.h"
#include "sim/material/stretch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void
pla_point_decompose(PlaPoint *point)
{
  pla_svd3(point->f, point->u, point->s, point->v);
}

double
pla_point_unstrained(const PlaPoint *point, PlaPoint *inner)
{
  *inner = *point;
  inner->prestretch = NULL;
  pla_mat3_mul(point->f, point->prestretch, inner->f);
  pla_point_decompose(inner);
  return pla_mat3_det(point->prestretch);
}

static bool
is_isotropic(const PlaMaterial *material)
{
  return material->stretch_energy || material->shape;
}

double
pla_material_energy(const PlaMaterial *material, const double *constants, const PlaPoint *point)
{
  if (point->prestretch) {
    PlaPoint inner;
    double det = pla_point_unstrained(point, &inner);
    return pla_material_energy(material, constants, &inner) / det;
  }
  if (material->mixture) {
    double sum = 0.0;
    for (int k = 0; k < pla_mixture_n_parts(material->mixture); k++) {
      const PlaMixturePart *part = pla_mixture_part(material->mixture, k);
      sum += constants[k] * pla_material_energy(part->material, part->constants, point);
    }
    return sum;
  }
  if (material->energy)
    return material->energy(constants, point);
  if (is_isotropic(material))
    return pla_stretch_energy(material, constants, point->s);
  PlaDual f[9];
  for (int k = 0; k < 9; k++)
    f[k] = pla_dual(point->f[k]);
  return pla_dual_value(pla_material_complex_energy(material, constants, point, f));
}

void
pla_stretch_to_stress(const PlaPoint *point, const double p[3], double out[9])
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
  if (point->prestretch) {
    PlaPoint inner;
    double det = pla_point_unstrained(point, &inner);
    pla_material_stress(material, constants, &inner, p);
    pla_mat3_mul_nt(p, point->prestretch, p);
    for (int c = 0; c < 9; c++)
      p[c] /= det;
  } else if (material->mixture) {
    memset(p, 0, 9 * sizeof *p);
    for (int k = 0; k < pla_mixture_n_parts(material->mixture); k++) {
      const PlaMixturePart *part = pla_mixture_part(material->mixture, k);
      double own[9];
      pla_material_stress(part->material, part->constants, point, own);
      for (int c = 0; c < 9; c++)
        p[c] += constants[k] * own[c];
    }
  } else if (material->stress) {
    material->stress(constants, point, p);
  } else if (is_isotropic(material)) {
    double diagonal[3];
    pla_stretch_stress(material, constants, point->s, diagonal);
    pla_stretch_to_stress(point, diagonal, p);
  } else if (material->invariant_energy) {
    pla_invariant_step_stress(material, constants, point, p);
  } else {
    pla_complex_step_stress(material, constants, point, p);
  }
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
pla_stretch_to_tangent(const PlaPoint *point, const double p[3], const double hessian[6],
                       bool project, double h[81])
{
  static const int pairs[3][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };
  const double *s = point->s;
  double a[9];
  memcpy(a,
         (double[9]){ hessian[0], hessian[3], hessian[4], hessian[3], hessian[1], hessian[5],
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
      row[c] =
          a[3 * i] * diagonal[0][c] + a[3 * i + 1] * diagonal[1][c] + a[3 * i + 2] * diagonal[2][c];
    add_outer(h, 1.0, diagonal[i], row);
  }

  /* shearing and rotating modes */
  for (int k = 0; k < 3; k++) {
    int i = pairs[k][0], j = pairs[k][1];
    double gap = s[i] - s[j], sum = s[i] + s[j], size = fabs(s[i]) + fabs(s[j]);
    /* equal stretches: the divided difference goes to a second derivative */
    double shear = fabs(gap) > 1e-5 * size ? (p[i] - p[j]) / gap
                                           : 0.5 * (hessian[i] + hessian[j]) - hessian[i + j + 2];
    /* the rotation mode has a true pole where s_i = -s_j; the floor keeps it finite */
    double floor_ = 1e-8 * (size + 1e-3);
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

/* H of F G from that of its tissue: G on the second index of each pair */
static void
prestrain_tangent(const double g[9], double factor, double h[81])
{
  double half[81];
  for (int r = 0; r < 9; r++)
    pla_mat3_mul_nt(h + 9 * r, g, half + 9 * r);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int c = 0; c < 9; c++) {
        double sum = 0.0;
        for (int m = 0; m < 3; m++)
          sum += g[3 * j + m] * half[9 * (3 * i + m) + c];
        h[9 * (3 * i + j) + c] = factor * sum;
      }
}

void
pla_material_tangent(const PlaMaterial *material, const double *constants, const PlaPoint *point,
                     bool project, double h[81])
{
  if (point->prestretch) {
    PlaPoint inner;
    double det = pla_point_unstrained(point, &inner);
    pla_material_tangent(material, constants, &inner, project, h);
    prestrain_tangent(point->prestretch, 1.0 / det, h);
    return;
  }
  if (material->mixture) {
    double own[81];
    /* the parts need projecting only where their sum does */
    for (int pass = 0; pass < (project ? 2 : 1); pass++) {
      memset(h, 0, 81 * sizeof *h);
      for (int k = 0; k < pla_mixture_n_parts(material->mixture); k++) {
        const PlaMixturePart *part = pla_mixture_part(material->mixture, k);
        pla_material_tangent(part->material, part->constants, point, pass == 1, own);
        for (int c = 0; c < 81; c++)
          h[c] += constants[k] * own[c];
      }
      if (!project || pla_definite(9, h))
        return;
    }
    return;
  }
  if (material->tangent) {
    material->tangent(constants, point, project, h);
    return;
  }
  if (is_isotropic(material)) {
    double p[3], hessian[6];
    pla_stretch_stress(material, constants, point->s, p);
    pla_stretch_tangent(material, constants, point->s, hessian);
    pla_stretch_to_tangent(point, p, hessian, project, h);
    return;
  }
  if (material->invariant_energy)
    pla_invariant_step_tangent(material, constants, point, h);
  else
    pla_complex_step_tangent(material, constants, point, h);
  if (project && !pla_definite(9, h))
    pla_definite_project(9, h);
}

void
pla_material_moduli(const PlaMaterial *material, const double *constants, double *mu,
                    double *lambda, double *vol)
{
  *mu = *lambda = *vol = 0.0;
  if (material->mixture) {
    for (int k = 0; k < pla_mixture_n_parts(material->mixture); k++) {
      const PlaMixturePart *part = pla_mixture_part(material->mixture, k);
      double own[3];
      pla_material_moduli(part->material, part->constants, &own[0], &own[1], &own[2]);
      *mu += constants[k] * own[0];
      *lambda += constants[k] * own[1];
      *vol += constants[k] * own[2];
    }
    return;
  }
  if (material->moduli) {
    material->moduli(constants, mu, lambda, vol);
    return;
  }
  PlaPoint rest = { 0 };
  double h[81];
  pla_mat3_identity(rest.f);
  pla_point_decompose(&rest);
  pla_material_tangent(material, constants, &rest, false, h);
  *mu = h[9 * 1 + 1];
  *lambda = h[9 * 0 + 4];
  *vol = fmax(*lambda + *mu, *mu);
}

int
pla_material_param(const PlaMaterial *material, const char *key)
{
  for (int i = 0; material->params[i].key; i++)
    if (strcmp(material->params[i].key, key) == 0)
      return i;
  return -1;
}

PlaStatus
pla_param_choose(const PlaParam *param, const char *word, double *value, PlaError *err)
{
  char all[256] = "";
  for (int i = 0; param->choices && param->choices[i]; i++) {
    if (strcmp(param->choices[i], word) == 0) {
      *value = i;
      return PLA_OK;
    }
    size_t used = strlen(all);
    snprintf(all + used, sizeof all - used, "%s'%s'", i ? ", " : "", param->choices[i]);
  }
  if (!param->choices)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' is '%s', and must be a number", param->key, word);
  return pla_fail(err, PLA_ERR_USAGE, "'%s' is '%s', and must be one of %s", param->key, word, all);
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
      return pla_fail(
          err, PLA_ERR_USAGE, "'%s' of the material '%s' is %g, and must be %s %g and %s %g%s%s%s",
          row->key, material->id, param[i], row->min_open ? "above" : "at least", row->min,
          row->max_open ? "below" : "at most", row->max, row->unit[0] ? " " : "", row->unit,
          high && strcmp(row->key, "poisson") == 0
              ? "; for tissue that keeps its volume take 0.499 and the formulation 'mixed'"
              : "");
    if (row->choices && param[i] != floor(param[i]))
      return pla_fail(err, PLA_ERR_USAGE,
                      "'%s' of the material '%s' is %g, and must be one of its words, or a whole "
                      "number that counts them from 0",
                      row->key, material->id, param[i]);
  }
  return PLA_OK;
}
