/* Isotropic Fung solid: Psi = c/2 (exp(b (J^(-2/3) I1 - 3)) - 1) + k/2 (ln J)^2, the exponential
 * continued by its parabola beyond e^40 (Fung 1993). */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <stddef.h>

static const PlaParam params[] = {
  { .key = "c_pa",
    .unit = "Pa",
    .help = "stress constant; the shear modulus is c times b",
    .min = 0.0,
    .min_open = true,
    .max = 1e12,
    .def = 700.0,
    .source = "with b = 5 the shear modulus of relaxed masseter, 3.5 kPa: Arda et al. 2011" },
  { .key = "b",
    .unit = "",
    .help = "exponent: how soon the tissue stiffens",
    .min = 0.0,
    .min_open = true,
    .max = 1000.0,
    .def = 5.0,
    .source = "22 times stiffer at a stretch of 1.4 than at rest; not a measurement" },
  PLA_PARAM_BULK,
  { .key = NULL },
};

static PlaStatus
prepare(const double *param, double c[PLA_MAX_CONSTANTS], PlaError *err)
{
  c[0] = param[2];
  c[1] = param[0];
  c[2] = param[1];
  return PLA_OK;
}

static PlaCurve
shape(const double *c, double x)
{
  PlaCurve e = pla_curve_exp(c[2] * (x - 3.0));
  double half = 0.5 * c[1];
  return (PlaCurve){ half * (e.g - 1.0), half * c[2] * e.d, half * c[2] * c[2] * e.dd };
}

static void
moduli(const double *c, double *mu, double *lambda, double *vol)
{
  pla_moduli_isochoric(2.0 * shape(c, 3.0).d, c[0], mu, lambda, vol);
}

static PlaDual
invariant_energy(const double *c, const PlaDual x[3])
{
  PlaDual e = pla_dual_exp(pla_dual_scale(c[2], pla_dual_plus(pla_dual_isochoric_1(x), -3.0)));
  return pla_dual_add(pla_dual_scale(0.5 * c[1], pla_dual_plus(e, -1.0)), pla_dual_bulk(c[0], x));
}

const PlaMaterial pla_material_fung = {
  .id = "fung",
  .title = "Fung",
  .help = "c/2 (exp(b (I1~-3)) - 1) + k/2 (ln J)^2: collagenous tissue, exponential stiffening",
  .params = params,
  .prepare = prepare,
  .shape = shape,
  .moduli = moduli,
  .invariant_energy = invariant_energy,
  .volume_modulus = pla_volume_modulus_0,
};
