/* Yeoh solid: Psi = sum_i c_i0 (J^(-2/3) I1 - 3)^i, i = 1..3, + k/2 (ln J)^2 (Yeoh 1993). */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <stddef.h>

static const PlaParam params[] = {
  { .key = "c10_pa",
    .unit = "Pa",
    .help = "linear constant: half the shear modulus",
    .min = 0.0,
    .min_open = true,
    .max = 1e12,
    .def = 1037.0,
    .source = "tongue: Buchaillard et al. 2009" },
  { .key = "c20_pa",
    .unit = "Pa",
    .help = "quadratic constant",
    .min = 0.0,
    .max = 1e12,
    .def = 486.0,
    .source = "tongue: Buchaillard et al. 2009" },
  { .key = "c30_pa",
    .unit = "Pa",
    .help = "cubic constant",
    .min = 0.0,
    .max = 1e12,
    .def = 0.0,
    .source = "tongue: Buchaillard et al. 2009, who need two terms" },
  { .key = "bulk_pa",
    .unit = "Pa",
    .help = "bulk modulus",
    .min = 0.0,
    .min_open = true,
    .max = 1e14,
    .def = 1e5,
    .source = "Poisson's ratio 0.49 with c10 of 1 kPa" },
  { .key = NULL },
};

static PlaStatus
prepare(const double *param, double c[PLA_MAX_CONSTANTS], PlaError *err)
{
  c[0] = param[3];
  for (int i = 0; i < 3; i++)
    c[1 + i] = param[i];
  return PLA_OK;
}

static PlaCurve
shape(const double *c, double x)
{
  double y = x - 3.0;
  return (PlaCurve){ y * (c[1] + y * (c[2] + y * c[3])), c[1] + y * (2.0 * c[2] + 3.0 * y * c[3]),
                     2.0 * c[2] + 6.0 * y * c[3] };
}

static void
moduli(const double *c, double *mu, double *lambda, double *vol)
{
  pla_moduli_isochoric(2.0 * shape(c, 3.0).d, c[0], mu, lambda, vol);
}

static PlaDual
invariant_energy(const double *c, const PlaDual x[3])
{
  PlaDual y = pla_dual_plus(pla_dual_isochoric_1(x), -3.0), sum = pla_dual(0.0);
  for (int i = 3; i >= 1; i--)
    sum = pla_dual_mul(y, pla_dual_plus(sum, c[i]));
  return pla_dual_add(sum, pla_dual_bulk(c[0], x));
}

const PlaMaterial pla_material_yeoh = {
  .id = "yeoh",
  .title = "Yeoh",
  .help = "c10 (I1~-3) + c20 (I1~-3)^2 + c30 (I1~-3)^3 + k/2 (ln J)^2: stiffens when stretched",
  .params = params,
  .prepare = prepare,
  .shape = shape,
  .moduli = moduli,
  .invariant_energy = invariant_energy,
  .volume_modulus = pla_volume_modulus_0,
};
