/* Stable neo-Hookean solid (Smith, de Goes and Kim 2018):
 * Psi = m/2 (I1 - 3) + l/2 (J - 1 - 3m/(4l))^2 - m/2 ln(1 + I1), less its value at rest.
 * m = 4/3 mu and l = lambda + 5/6 mu give E and nu their small-strain meaning. */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <string.h>

static PlaStatus
prepare(const double *param, double c[PLA_MAX_CONSTANTS], PlaError *err)
{
  double mu, lambda;
  pla_lame(param[0], param[1], &mu, &lambda);
  c[0] = 4.0 / 3.0 * mu;
  c[1] = lambda + 5.0 / 6.0 * mu;
  c[2] = mu;
  c[3] = lambda;
  return PLA_OK;
}

static double
pressure(const double *c, double det)
{
  return c[1] * (det - 1.0) - 0.75 * c[0];
}

static double
energy(const double *c, const double s[3])
{
  double i1 = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
  double q = pressure(c, s[0] * s[1] * s[2]), rest = 0.75 * c[0];
  return 0.5 * c[0] * (i1 - 3.0) + 0.5 * (q * q - rest * rest) / c[1] -
         0.5 * c[0] * log((1.0 + i1) / 4.0);
}

static void
stress(const double *c, const double s[3], double p[3])
{
  PlaSurface i1 = pla_surface_i1(s), det = pla_surface_det(s);
  double shear = c[0] * (1.0 - 1.0 / (1.0 + i1.g));
  for (int i = 0; i < 3; i++)
    p[i] = shear * s[i] + pressure(c, det.g) * det.d[i];
}

static void
tangent(const double *c, const double s[3], double hessian[6])
{
  PlaSurface i1 = pla_surface_i1(s), det = pla_surface_det(s);
  double q = 1.0 + i1.g;
  memset(hessian, 0, 6 * sizeof *hessian);
  pla_surface_chain(&i1, 0.5 * c[0] * (1.0 - 1.0 / q), 0.5 * c[0] / (q * q), NULL, hessian);
  pla_surface_chain(&det, pressure(c, det.g), c[1], NULL, hessian);
}

static void
moduli(const double *c, double *mu, double *lambda, double *vol)
{
  *mu = c[2];
  *lambda = c[3];
  *vol = c[1];
}

static PlaDual
invariant_energy(const double *c, const PlaDual x[3])
{
  const double rest = 0.75 * c[0] / c[1];
  PlaDual change = pla_dual_plus(x[2], -1.0 - rest);
  PlaDual volume = pla_dual_plus(pla_dual_square(change), -rest * rest);
  PlaDual log_1 = pla_dual_log(pla_dual_scale(0.25, pla_dual_plus(x[0], 1.0)));
  PlaDual shear = pla_dual_sub(pla_dual_plus(x[0], -3.0), log_1);
  return pla_dual_add(pla_dual_scale(0.5 * c[0], shear), pla_dual_scale(0.5 * c[1], volume));
}

const PlaMaterial pla_material_stable_neo_hookean = {
  .id = "stable-neo-hookean",
  .title = "Stable neo-Hookean",
  .help = "neo-Hookean with a barrier-free volume term: safe under inversion",
  .params = pla_params_lame,
  .prepare = prepare,
  .stretch_energy = energy,
  .stretch_stress = stress,
  .stretch_tangent = tangent,
  .moduli = moduli,
  .invariant_energy = invariant_energy,
  .volume_modulus = pla_volume_modulus_1,
  .volume_square = true,
};
