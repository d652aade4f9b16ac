/* A tet of the neo-Hookean material, with or without fibres, no stretch below the floor: it needs
 * no SVD.  With c_a = F^-T g_a, and for each fibre v of stretch l and tension T, n = F v / l, the
 * exact derivatives are P g_a = mu F g_a + (lambda ln J - mu) c_a + sum T n (v.g_a), K_ab = V (mu
 * g_a.g_b 1 + lambda c_a c_b^T + (mu - lambda ln J) c_b c_a^T
 *          + sum (v.g_a)(v.g_b) (T/l 1 + (T' - T/l) n n^T)).
 *
 * In the mixed formulation the flesh acts on averages of F, and the fibres on F of each tet: their
 * tension is the same to first order, no fibre reaches into a neighbour's tet, and a tet has
 * fibres once instead of in each of its six averages. */
#include "sim/fem/simple-tet.h"

#include "anatomy/base/mat3.h"
#include "sim/material/registry.h"

#include <math.h>

typedef struct {
  double length, tension, slope; /* l; T and T', Pa */
  double n[3], along[4];         /* v.g_a, 1/m */
} SimpleFibre;

bool
pla_simple_tet_init(PlaSimpleTet *self, const PlaFemModel *model, int t, const double *pos)
{
  const double *constants;
  const PlaMaterial *material = pla_fem_cell_law(model, t, &constants);
  if (model->patches || model->prestretch)
    return false;
  self->point.n_fibres = 0;
  if (pla_muscle_is_plain(material, constants, &self->law))
    pla_fem_cell_point(model, t, &self->point);
  else if (material != &pla_material_neo_hookean)
    return false;
  double cofactor[9];
  pla_fem_tet_gradient(model, t, pos, self->f);
  pla_mat3_cofactor(self->f, cofactor);
  double det = pla_vec3_dot(self->f, cofactor);
  self->i1 = 0.0;
  for (int i = 0; i < 9; i++)
    self->i1 += self->f[i] * self->f[i];
  /* the smallest stretch is at least J / |cof F|, the product of the other two being at most that
   * norm */
  double minors = 0.0;
  for (int i = 0; i < 9; i++)
    minors += cofactor[i] * cofactor[i];
  if (!(det > 0.0 && det * det >= PLA_STRETCH_FLOOR * PLA_STRETCH_FLOOR * minors))
    return false;
  self->mu = constants[0];
  self->lambda = constants[1];
  self->volume = model->tet_volume[t];
  self->log_det = log(det);
  pla_fem_tet_shape(model, t, self->grad);
  for (int a = 0; a < 4; a++) {
    pla_mat3_apply(cofactor, self->grad[a], self->c[a]);
    for (int i = 0; i < 3; i++)
      self->c[a][i] /= det;
  }
  return true;
}

/* stretch and direction of fibre @m; false when it is crushed to nothing */
static bool
simple_fibre(const PlaSimpleTet *tet, int m, SimpleFibre *out)
{
  const double *v = tet->point.fibre + 3 * m;
  pla_mat3_apply(tet->f, v, out->n);
  out->length = pla_vec3_norm(out->n);
  if (out->length == 0.0)
    return false;
  for (int i = 0; i < 3; i++)
    out->n[i] /= out->length;
  for (int a = 0; a < 4; a++)
    out->along[a] = pla_vec3_dot(v, tet->grad[a]);
  pla_fibre_force(tet->law.curve, out->length / tet->law.optimal, tet->point.active[m],
                  tet->point.passive[m], &out->tension, &out->slope);
  out->tension *= tet->law.sigma / tet->law.optimal;
  out->slope *= tet->law.sigma / (tet->law.optimal * tet->law.optimal);
  return true;
}

/* @sum and the energy of the fibres, Pa */
static double
add_fibre_energy(const PlaSimpleTet *tet, double sum)
{
  for (int m = 0; m < tet->point.n_fibres; m++) {
    SimpleFibre fibre;
    if (simple_fibre(tet, m, &fibre))
      sum +=
          tet->law.sigma *
          pla_dual_value(pla_fibre_energy(tet->law.curve, pla_dual(fibre.length / tet->law.optimal),
                                          tet->point.active[m], tet->point.passive[m]));
  }
  return sum;
}

double
pla_simple_tet_energy(const PlaSimpleTet *self)
{
  const double l = self->log_det;
  const double sum = 0.5 * self->mu * (self->i1 - 3.0) - self->mu * l + 0.5 * self->lambda * l * l;
  return self->volume * add_fibre_energy(self, sum);
}

void
pla_simple_tet_forces(const PlaSimpleTet *self, double corner[12])
{
  const double q = self->lambda * self->log_det - self->mu;
  for (int a = 0; a < 4; a++) {
    double fg[3];
    pla_mat3_apply(self->f, self->grad[a], fg);
    for (int i = 0; i < 3; i++)
      corner[3 * a + i] = -self->volume * (self->mu * fg[i] + q * self->c[a][i]);
  }
  pla_tet_fibres_add_forces(self, corner);
}

void
pla_simple_tet_stiffness(const PlaSimpleTet *self, double stiffness[144])
{
  const double l = self->volume * self->lambda, m = self->volume * self->mu,
               q = m - l * self->log_det;
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++) {
      const double *ca = self->c[a], *cb = self->c[b];
      const double diagonal = m * pla_vec3_dot(self->grad[a], self->grad[b]);
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          stiffness[(3 * a + i) * 12 + 3 * b + j] =
              l * ca[i] * cb[j] + q * cb[i] * ca[j] + (i == j ? diagonal : 0.0);
    }
  pla_tet_fibres_add_stiffness(self, false, stiffness);
}

bool
pla_tet_has_own_fibres(const PlaFemModel *model, int t)
{
  const double *constants;
  PlaFibreLaw law;
  const PlaMaterial *material = pla_fem_cell_law(model, t, &constants);
  return model->fibre_start && !model->prestretch && pla_muscle_is_plain(material, constants, &law);
}

bool
pla_tet_fibres_init(PlaSimpleTet *self, const PlaFemModel *model, int t, const double *pos)
{
  const double *constants;
  if (!model->fibre_start || model->fibre_start[t + 1] == model->fibre_start[t] ||
      model->prestretch)
    return false;
  const PlaMaterial *material = pla_fem_cell_law(model, t, &constants);
  if (!pla_muscle_is_plain(material, constants, &self->law))
    return false;
  pla_fem_cell_point(model, t, &self->point);
  pla_fem_tet_gradient(model, t, pos, self->f);
  pla_fem_tet_shape(model, t, self->grad);
  self->volume = model->tet_volume[t];
  return true;
}

double
pla_tet_fibres_energy(const PlaSimpleTet *self)
{
  return self->volume * add_fibre_energy(self, 0.0);
}

void
pla_tet_fibres_add_forces(const PlaSimpleTet *self, double corner[12])
{
  for (int m = 0; m < self->point.n_fibres; m++) {
    SimpleFibre fibre;
    if (!simple_fibre(self, m, &fibre))
      continue;
    for (int a = 0; a < 4; a++)
      for (int i = 0; i < 3; i++)
        corner[3 * a + i] -= self->volume * fibre.tension * fibre.along[a] * fibre.n[i];
  }
}

void
pla_tet_fibres_add_stiffness(const PlaSimpleTet *self, bool project, double stiffness[144])
{
  for (int k = 0; k < self->point.n_fibres; k++) {
    SimpleFibre fibre;
    if (!simple_fibre(self, k, &fibre))
      continue;
    /* fibres never push; along them they may give way */
    const double across = self->volume * fibre.tension / fibre.length;
    const double slope = project ? fmax(fibre.slope, 0.0) : fibre.slope;
    const double along = self->volume * slope - across;
    for (int a = 0; a < 4; a++)
      for (int b = 0; b < 4; b++)
        for (int i = 0; i < 3; i++)
          for (int j = 0; j < 3; j++)
            stiffness[(3 * a + i) * 12 + 3 * b + j] +=
                fibre.along[a] * fibre.along[b] *
                ((i == j ? across : 0.0) + along * fibre.n[i] * fibre.n[j]);
  }
}
