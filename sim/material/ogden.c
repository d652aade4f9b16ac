/* Ogden solid: Psi = sum_p mu_p/alpha_p (sum_i l_i^alpha_p - 3) + k/2 (ln J)^2 with the isochoric
 * stretches l_i = J^(-1/3) s_i, powers continued below the stretch floor (Ogden 1972).  The shear
 * modulus is half the sum of mu_p alpha_p. */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <string.h>

#define TERMS 4

#define TERM(n, mu, alpha, from)                                                                   \
  { .key = "mu" n "_pa",                                                                           \
    .unit = "Pa",                                                                                  \
    .help = "constant of term " n,                                                                 \
    .min = -1e12,                                                                                  \
    .max = 1e12,                                                                                   \
    .def = mu,                                                                                     \
    .source = from },                                                                              \
  {                                                                                                \
    .key = "alpha" n, .unit = "", .help = "exponent of term " n, .min = -50.0, .max = 50.0,        \
    .def = alpha, .source = from                                                                   \
  }

static const PlaParam params[] = {
  TERM("1", 24444.0, 9.0, "human skin, 110 kPa: Shergold and Fleck 2005"),
  TERM("2", 0.0, 2.0, "one term fits skin"),
  TERM("3", 0.0, 2.0, "one term fits skin"),
  TERM("4", 0.0, 2.0, "one term fits skin"),
  PLA_PARAM_BULK,
  { .key = NULL },
};

/* constants: bulk, number of terms, then mu_p and alpha_p of those that are not 0 */
static PlaStatus
prepare(const double *param, double c[PLA_MAX_CONSTANTS], PlaError *err)
{
  int n = 0;
  double shear = 0.0;
  for (int p = 0; p < TERMS; p++) {
    double mu = param[2 * p], alpha = param[2 * p + 1];
    if (mu == 0.0)
      continue;
    if (alpha == 0.0)
      return pla_fail(err, PLA_ERR_USAGE,
                      "'alpha%d' of the material 'ogden' is 0; give another exponent, or set "
                      "'mu%d_pa' to 0",
                      p + 1, p + 1);
    c[2 + 2 * n] = mu;
    c[3 + 2 * n] = alpha;
    shear += 0.5 * mu * alpha;
    n++;
  }
  c[0] = param[2 * TERMS];
  c[1] = n;
  if (!(shear > 0.0))
    return pla_fail(err, PLA_ERR_USAGE,
                    "the terms of the material 'ogden' give a shear modulus of %g Pa (half the sum "
                    "of mu times alpha), and it must be above 0",
                    shear);
  return PLA_OK;
}

/* sum_i l_i^a */
static PlaSurface
power_sum(const double s[3], double a)
{
  PlaCurve power[3], scale[3];
  for (int i = 0; i < 3; i++) {
    power[i] = pla_curve_power(s[i], a);
    scale[i] = pla_curve_power(s[i], -a / 3.0);
  }
  PlaSurface sum = pla_surface_sum(power), product = pla_surface_product(scale);
  return pla_surface_mul(&sum, &product);
}

static double
energy(const double *c, const double s[3])
{
  double sum = pla_bulk_energy(c[0], s);
  for (int p = 0; p < (int)c[1]; p++)
    sum += c[2 + 2 * p] / c[3 + 2 * p] * (power_sum(s, c[3 + 2 * p]).g - 3.0);
  return sum;
}

static void
add(const double *c, const double s[3], double p[3], double hessian[6])
{
  pla_bulk_add(c[0], s, p, hessian);
  for (int k = 0; k < (int)c[1]; k++) {
    PlaSurface x = power_sum(s, c[3 + 2 * k]);
    pla_surface_chain(&x, c[2 + 2 * k] / c[3 + 2 * k], 0.0, p, hessian);
  }
}

static void
stress(const double *c, const double s[3], double p[3])
{
  memset(p, 0, 3 * sizeof *p);
  add(c, s, p, NULL);
}

static void
tangent(const double *c, const double s[3], double hessian[6])
{
  memset(hessian, 0, 6 * sizeof *hessian);
  add(c, s, NULL, hessian);
}

static void
moduli(const double *c, double *mu, double *lambda, double *vol)
{
  double shear = 0.0;
  for (int p = 0; p < (int)c[1]; p++)
    shear += 0.5 * c[2 + 2 * p] * c[3 + 2 * p];
  pla_moduli_isochoric(shear, c[0], mu, lambda, vol);
}

/* w^(a/2), w an eigenvalue of C */
static void
half_power(double w, double a, double out[3])
{
  out[0] = pow(w, 0.5 * a);
  out[1] = 0.5 * a * out[0] / w;
  out[2] = (0.5 * a - 1.0) * out[1] / w;
}

static PlaDual
complex_energy(const double *c, const PlaPoint *point, const PlaDual f[9])
{
  PlaDual x[3];
  pla_dual_invariants(f, x);
  PlaDual sum = pla_dual_bulk(c[0], x);
  for (int p = 0; p < (int)c[1]; p++) {
    double mu = c[2 + 2 * p], alpha = c[3 + 2 * p];
    PlaDual power = pla_dual_mul(pla_dual_spectral(point, f, half_power, alpha),
                                 pla_dual_power_det(x[2], -alpha / 3.0));
    sum = pla_dual_add(sum, pla_dual_scale(mu / alpha, pla_dual_plus(power, -3.0)));
  }
  return sum;
}

const PlaMaterial pla_material_ogden = {
  .id = "ogden",
  .title = "Ogden",
  .help = "powers of the stretches, up to four terms, + k/2 (ln J)^2: skin and other strongly "
          "stiffening tissue",
  .params = params,
  .prepare = prepare,
  .stretch_energy = energy,
  .stretch_stress = stress,
  .stretch_tangent = tangent,
  .moduli = moduli,
  .complex_energy = complex_energy,
  .volume_modulus = pla_volume_modulus_0,
};
