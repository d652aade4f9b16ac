/* Corotated linear elasticity: Psi = mu |F - R|^2 + lambda/2 tr(R^T F - 1)^2, and the variant whose
 * volume term is exact, Psi = mu |F - R|^2 + lambda/2 (J - 1)^2 (Stomakhin et al. 2012). */
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <string.h>

static double
shear_energy(const double *c, const double s[3])
{
  double sum = 0.0;
  for (int i = 0; i < 3; i++)
    sum += (s[i] - 1.0) * (s[i] - 1.0);
  return c[0] * sum;
}

static double
corotated_energy(const double *c, const double s[3])
{
  double trace = s[0] + s[1] + s[2] - 3.0;
  return shear_energy(c, s) + 0.5 * c[1] * trace * trace;
}

static void
corotated_stress(const double *c, const double s[3], double p[3])
{
  double trace = s[0] + s[1] + s[2] - 3.0;
  for (int i = 0; i < 3; i++)
    p[i] = 2.0 * c[0] * (s[i] - 1.0) + c[1] * trace;
}

static void
corotated_tangent(const double *c, const double s[3], double hessian[6])
{
  for (int k = 0; k < 6; k++)
    hessian[k] = c[1] + (k < 3 ? 2.0 * c[0] : 0.0);
}

const PlaMaterial pla_material_corotated = {
  .id = "corotated",
  .title = "Corotated linear",
  .help = "linear elasticity in the rotating frame of each element",
  .params = pla_params_lame,
  .prepare = pla_prepare_lame,
  .stretch_energy = corotated_energy,
  .stretch_stress = corotated_stress,
  .stretch_tangent = corotated_tangent,
  .moduli = pla_moduli_lame,
};

static double
fixed_energy(const double *c, const double s[3])
{
  double change = s[0] * s[1] * s[2] - 1.0;
  return shear_energy(c, s) + 0.5 * c[1] * change * change;
}

static void
fixed_stress(const double *c, const double s[3], double p[3])
{
  PlaSurface det = pla_surface_det(s);
  for (int i = 0; i < 3; i++)
    p[i] = 2.0 * c[0] * (s[i] - 1.0) + c[1] * (det.g - 1.0) * det.d[i];
}

static void
fixed_tangent(const double *c, const double s[3], double hessian[6])
{
  PlaSurface det = pla_surface_det(s);
  memcpy(hessian, (double[6]){ 2.0 * c[0], 2.0 * c[0], 2.0 * c[0] }, 6 * sizeof *hessian);
  pla_surface_chain(&det, c[1] * (det.g - 1.0), c[1], NULL, hessian);
}

const PlaMaterial pla_material_fixed_corotated = {
  .id = "fixed-corotated",
  .title = "Fixed corotated",
  .help = "mu |F-R|^2 + lambda/2 (J-1)^2: corotated, with the true volume change",
  .params = pla_params_lame,
  .prepare = pla_prepare_lame,
  .stretch_energy = fixed_energy,
  .stretch_stress = fixed_stress,
  .stretch_tangent = fixed_tangent,
  .moduli = pla_moduli_lame,
};
