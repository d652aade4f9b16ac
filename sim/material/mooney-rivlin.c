/* Mooney-Rivlin solid: Psi = c10 (J^(-2/3) I1 - 3) + c01 (J^(-4/3) I2 - 3) + k/2 (ln J)^2, powers and
 * logarithm of J continued below the stretch floor (Sifakis 2007, 2.5). */
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <string.h>

static const PlaParam params[] = {
  { .key = "c10_pa", .unit = "Pa", .help = "first constant", .min = 0.0, .max = 1e12,
    .def = 60000.0, .source = "face flesh: Sifakis 2007" },
  { .key = "c01_pa", .unit = "Pa", .help = "second constant", .min = 0.0, .max = 1e12,
    .def = 20000.0, .source = "face flesh: Sifakis 2007" },
  { .key = "bulk_pa", .unit = "Pa", .help = "bulk modulus; 1e6 to 1e7 is nearly incompressible",
    .min = 0.0, .min_open = true, .max = 1e14, .def = 1e6, .source = "face flesh: Sifakis 2007" },
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
  PlaSurface log_det = pla_surface_log_det(s);
  return c[0] * (i1.g - 3.0) + c[1] * (i2.g - 3.0) + 0.5 * c[2] * log_det.g * log_det.g;
}

static void
stress(const double *c, const double s[3], double p[3])
{
  PlaSurface i1 = pla_surface_isochoric_1(s), i2 = pla_surface_isochoric_2(s);
  PlaSurface log_det = pla_surface_log_det(s);
  for (int i = 0; i < 3; i++)
    p[i] = c[0] * i1.d[i] + c[1] * i2.d[i] + c[2] * log_det.g * log_det.d[i];
}

static void
tangent(const double *c, const double s[3], double hessian[6])
{
  PlaSurface i1 = pla_surface_isochoric_1(s), i2 = pla_surface_isochoric_2(s);
  PlaSurface log_det = pla_surface_log_det(s);
  for (int k = 0; k < 6; k++)
    hessian[k] = c[0] * i1.h[k] + c[1] * i2.h[k];
  pla_surface_chain(&log_det, c[2] * log_det.g, c[2], NULL, hessian);
}

static void
moduli(const double *c, double *mu, double *lambda, double *vol)
{
  *mu = 2.0 * (c[0] + c[1]);
  *lambda = c[2] - 4.0 / 3.0 * (c[0] + c[1]);
  *vol = c[2];
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
};
