/* Arruda-Boyce solid: Psi = mu sum_i a_i / N^(i-1) ((J^(-2/3) I1)^i - 3^i), i = 1..5, + k/2 (ln
 * J)^2, the inverse Langevin function of chains with N links to five terms (Arruda and Boyce 1993).
 */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <stddef.h>

#define TERMS 5

static const double series[TERMS] = { 1.0 / 2.0, 1.0 / 20.0, 11.0 / 1050.0, 19.0 / 7000.0,
                                      519.0 / 673750.0 };

static const PlaParam params[] = {
  { .key = "mu_pa",
    .unit = "Pa",
    .help = "chain modulus; the shear modulus where N is large",
    .min = 0.0,
    .min_open = true,
    .max = 1e12,
    .def = 3500.0,
    .source = "relaxed masseter: Arda et al. 2011" },
  { .key = "chain_links",
    .unit = "",
    .help = "links per chain N: it locks at a stretch of sqrt N",
    .min = 1.0,
    .max = 1e6,
    .def = 26.5,
    .source = "rubber: Arruda and Boyce 1993; collagenous tissue locks earlier" },
  PLA_PARAM_BULK,
  { .key = NULL },
};

/* constants: bulk, then the factor of each power */
static PlaStatus
prepare(const double *param, double c[PLA_MAX_CONSTANTS], PlaError *err)
{
  double factor = param[0];
  c[0] = param[2];
  for (int i = 0; i < TERMS; i++) {
    c[1 + i] = series[i] * factor;
    factor /= param[1];
  }
  return PLA_OK;
}

static PlaCurve
shape(const double *c, double x)
{
  PlaCurve f = { 0.0, 0.0, 0.0 };
  double before = 0.0, power = 1.0, rest = 3.0; /* x^(i-2) but 0 for i = 1, x^(i-1), 3^i */
  for (int i = 1; i <= TERMS; i++) {
    f.g += c[i] * (power * x - rest);
    f.d += c[i] * i * power;
    f.dd += c[i] * i * (i - 1) * before;
    before = power;
    power *= x;
    rest *= 3.0;
  }
  return f;
}

static void
moduli(const double *c, double *mu, double *lambda, double *vol)
{
  pla_moduli_isochoric(2.0 * shape(c, 3.0).d, c[0], mu, lambda, vol);
}

static PlaDual
invariant_energy(const double *c, const PlaDual x[3])
{
  PlaDual first = pla_dual_isochoric_1(x), power = first, sum = pla_dual_bulk(c[0], x);
  double rest = 3.0;
  for (int i = 1; i <= TERMS; i++) {
    sum = pla_dual_add(sum, pla_dual_scale(c[i], pla_dual_plus(power, -rest)));
    power = pla_dual_mul(power, first);
    rest *= 3.0;
  }
  return sum;
}

const PlaMaterial pla_material_arruda_boyce = {
  .id = "arruda-boyce",
  .title = "Arruda-Boyce",
  .help = "eight chains of N links, five terms, + k/2 (ln J)^2: locks at a finite stretch",
  .params = params,
  .prepare = prepare,
  .shape = shape,
  .moduli = moduli,
  .invariant_energy = invariant_energy,
  .volume_modulus = pla_volume_modulus_0,
};
