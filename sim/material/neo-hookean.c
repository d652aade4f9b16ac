/* Neo-Hookean solid: Psi = mu/2 (I1 - 3) - mu ln J + lambda/2 (ln J)^2, ln J continued below the
 * stretch floor (Bonet and Wood 2008, 6.4.3). */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <string.h>

static double
energy(const double *c, const double s[3])
{
  PlaSurface log_det = pla_surface_log_det(s);
  double i1 = s[0] * s[0] + s[1] * s[1] + s[2] * s[2], l = log_det.g;
  return 0.5 * c[0] * (i1 - 3.0) - c[0] * l + 0.5 * c[1] * l * l;
}

static void
stress(const double *c, const double s[3], double p[3])
{
  PlaSurface log_det = pla_surface_log_det(s);
  for (int i = 0; i < 3; i++)
    p[i] = c[0] * s[i] + (c[1] * log_det.g - c[0]) * log_det.d[i];
}

static void
tangent(const double *c, const double s[3], double hessian[6])
{
  PlaSurface log_det = pla_surface_log_det(s);
  memcpy(hessian, (double[6]){ c[0], c[0], c[0] }, 6 * sizeof *hessian);
  pla_surface_chain(&log_det, c[1] * log_det.g - c[0], c[1], NULL, hessian);
}

static PlaDual
invariant_energy(const double *c, const PlaDual x[3])
{
  PlaDual l = pla_dual_log_det(x[2]);
  PlaDual shear = pla_dual_sub(pla_dual_scale(0.5, pla_dual_plus(x[0], -3.0)), l);
  return pla_dual_add(pla_dual_scale(c[0], shear), pla_dual_scale(0.5 * c[1], pla_dual_square(l)));
}

const PlaMaterial pla_material_neo_hookean = {
  .id = "neo-hookean",
  .title = "Neo-Hookean",
  .help = "mu/2 (I1-3) - mu ln J + lambda/2 (ln J)^2: the usual choice for soft tissue",
  .params = pla_params_lame,
  .prepare = pla_prepare_lame,
  .stretch_energy = energy,
  .stretch_stress = stress,
  .stretch_tangent = tangent,
  .moduli = pla_moduli_lame,
  .invariant_energy = invariant_energy,
  .volume_modulus = pla_volume_modulus_1,
};
