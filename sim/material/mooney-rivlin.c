/* Mooney-Rivlin solid: Psi = c10 (J^(-2/3) I1 - 3) + c01 (J^(-4/3) I2 - 3) + k/2 (ln J)^2, powers
 * and logarithm of J continued below the stretch floor (Sifakis 2007, 2.5). */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <string.h>

static const PlaParam params[] = {
  PLA_PARAMS_MOONEY_RIVLIN,
  PLA_PARAM_BULK,
  { .key = NULL },
};

static PlaStatus
prepare(const double *param, double c[PLA_MAX_CONSTANTS], PlaError *err)
{
  memcpy(c, param, 3 * sizeof *c);
  if (!(c[0] + c[1] > 0.0))
    return pla_fail(err, PLA_ERR_USAGE,
                    "'c10_pa' and 'c01_pa' of the material 'mooney-rivlin' are both 0, and such a "
                    "material resists no shear; give at least one");
  return PLA_OK;
}

static double
energy(const double *c, const double s[3])
{
  PlaSurface i1 = pla_surface_isochoric_1(s), i2 = pla_surface_isochoric_2(s);
  return c[0] * (i1.g - 3.0) + c[1] * (i2.g - 3.0) + pla_bulk_energy(c[2], s);
}

static void
stress(const double *c, const double s[3], double p[3])
{
  PlaSurface i1 = pla_surface_isochoric_1(s), i2 = pla_surface_isochoric_2(s);
  for (int i = 0; i < 3; i++)
    p[i] = c[0] * i1.d[i] + c[1] * i2.d[i];
  pla_bulk_add(c[2], s, p, NULL);
}

static void
tangent(const double *c, const double s[3], double hessian[6])
{
  PlaSurface i1 = pla_surface_isochoric_1(s), i2 = pla_surface_isochoric_2(s);
  for (int k = 0; k < 6; k++)
    hessian[k] = c[0] * i1.h[k] + c[1] * i2.h[k];
  pla_bulk_add(c[2], s, NULL, hessian);
}

static void
moduli(const double *c, double *mu, double *lambda, double *vol)
{
  pla_moduli_isochoric(2.0 * (c[0] + c[1]), c[2], mu, lambda, vol);
}

static PlaDual
invariant_energy(const double *c, const PlaDual x[3])
{
  PlaDual first = pla_dual_scale(c[0], pla_dual_plus(pla_dual_isochoric_1(x), -3.0));
  PlaDual second = pla_dual_scale(c[1], pla_dual_plus(pla_dual_isochoric_2(x), -3.0));
  return pla_dual_add(pla_dual_add(first, second), pla_dual_bulk(c[2], x));
}

const PlaMaterial pla_material_mooney_rivlin = {
  .id = "mooney-rivlin",
  .title = "Mooney-Rivlin",
  .help = "c10 (I1~-3) + c01 (I2~-3) + k/2 (ln J)^2: flesh that stiffens as it stretches",
  .params = params,
  .prepare = prepare,
  .stretch_energy = energy,
  .stretch_stress = stress,
  .stretch_tangent = tangent,
  .moduli = moduli,
  .invariant_energy = invariant_energy,
  .volume_modulus = pla_volume_modulus_2,
};
