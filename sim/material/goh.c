/* Skin and other collagenous tissue with dispersed fibres (Gasser, Ogden and Holzapfel 2006).
 *
 *   Psi = c10 (I1~ - 3) + sum_m w_m W(E_m) + k/2 (ln J)^2
 *   W(E) = k1 / (2 k2) (exp(k2 E^2) - 1) for E > 0, else 0
 *   E_m  = kappa (I1~ - 3) + (1 - 3 kappa) (I4~_m - 1)
 *
 * summed over the families of fibres of the point, w_m their passive fractions; I1~ = J^(-2/3) I1
 * and I4~ = J^(-2/3) |F v_m|^2.  E = J^(-2/3) (kappa I1 + (1 - 3 kappa) I4) - 1 is the mean strain
 * of a family about its direction v_m: kappa 0 is a family without dispersion, 1/3 one that runs
 * every way.  A point without directions has one family of kappa 1/3.  Fibres carry tension alone:
 * what decides is E, as in the common codes, and not I4.  Stress is continuous there, the tangent
 * jumps; tissue at rest counts as slack, so that the moduli at rest are those of the ground.
 *
 * With "stretch": "plain", E takes I1 and I4 of F itself.  Both are the same where volume is kept.
 * Where it is not, the published form lets fibres swell the tissue that they should tighten
 * (Helfenstein et al. 2010; Nolan et al. 2014).
 *
 * Robustness: from the strain E = sqrt(EXPONENT / k2) on, W goes on as its parabola.  There the
 * stress has grown by e^15, three million: a k1 of 1 kPa would mean GPa, as collagen itself has,
 * which no tissue bears; published fits stay below e^5.  J^(-2/3) is continued stretch by stretch
 * below the floor.  Each family's tangent is projected by itself (sim/material/definite.h). */
#include "sim/material/complex-step.h"
#include "sim/material/definite.h"
#include "sim/material/fibre.h"
#include "sim/material/registry.h"

#include <string.h>

#define ISOTROPIC (1.0 / 3.0) /* kappa of fibres that run every way */
#define EXPONENT 15.0         /* k2 E^2 beyond which W is a parabola */

static const char *const stretch_names[] = { "deviatoric", "plain", NULL };

static const PlaParam params[] = {
  { .key = "c10_pa",
    .unit = "Pa",
    .help = "ground substance: half its shear modulus",
    .min = 0.0,
    .min_open = true,
    .max = 1e12,
    .def = 100.7e3,
    .source = "excised skin of the back, mu 0.2014 MPa: Ni Annaidh et al. 2012" },
  { .key = "k1_pa",
    .unit = "Pa",
    .help = "stiffness of a family of fibres",
    .min = 0.0,
    .max = 1e12,
    .def = 24.53e6,
    .source = "excised skin of the back: Ni Annaidh et al. 2012, 243.6 mu/2" },
  { .key = "k2",
    .unit = "",
    .help = "exponent: how soon the fibres stiffen",
    .min = 0.0,
    .min_open = true,
    .max = 1e4,
    .def = 0.1327,
    .source = "excised skin of the back: Ni Annaidh et al. 2012" },
  { .key = "kappa",
    .unit = "",
    .help = "dispersion of the fibres: 0 all one way, 1/3 every way",
    .min = 0.0,
    .max = ISOTROPIC,
    .def = 0.1404,
    .source = "histology of the dermis of the back: Ni Annaidh et al. 2012" },
  PLA_PARAM_BULK,
  { .key = "stretch",
    .unit = "",
    .help = "strain of the fibres: without change of volume, or as it is",
    .min = 0.0,
    .max = 1.0,
    .def = 0.0,
    .choices = stretch_names,
    .source = "Gasser, Ogden and Holzapfel 2006" },
  { .key = NULL },
};

/* the first four are those of yeoh, which is the ground */
enum { BULK = 0, C10, C20, C30, K1, K2, KAPPA, PLAIN };

static PlaStatus
prepare(const double *param, double c[PLA_MAX_CONSTANTS], PlaError *err)
{
  c[C10] = param[0];
  c[C20] = c[C30] = 0.0;
  c[K1] = param[1];
  c[K2] = param[2];
  c[KAPPA] = fmin(param[3], ISOTROPIC);
  c[BULK] = param[4];
  c[PLAIN] = param[5];
  return PLA_OK;
}

/* W, and the strain from which it is continued */
static PlaCurve
fibre_energy(const double *c, double e, double *end)
{
  *end = sqrt(EXPONENT / c[K2]);
  if (e <= 0.0)
    return (PlaCurve){ 0.0, 0.0, 0.0 };
  double at = fmin(e, *end), x = c[K2] * at * at, power = exp(x);
  PlaCurve w = { 0.5 * c[K1] / c[K2] * expm1(x), c[K1] * at * power,
                 c[K1] * (1.0 + 2.0 * x) * power };
  return e <= *end ? w : pla_curve_continue(e, *end, w.g, w.d, w.dd);
}

static int
n_families(const PlaPoint *point)
{
  return point->n_fibres > 0 ? point->n_fibres : 1;
}

static double
weight_of(const PlaPoint *point, int m)
{
  return point->n_fibres > 0 ? point->passive[m] : 1.0;
}

static double
dispersion_of(const double *c, const PlaPoint *point)
{
  return point->n_fibres > 0 ? c[KAPPA] : ISOTROPIC;
}

/* the energy of family @m */
static void
family_term(const double *c, const PlaPoint *point, int m, int order, PlaInvariant *term)
{
  double kappa = dispersion_of(c, point), w = weight_of(point, m), end;
  PlaInvariant sum, other, scale;
  pla_invariant_i1(point, order, &sum);
  pla_invariant_chain(&sum, (PlaCurve){ kappa * sum.g, kappa, 0.0 }, &sum);
  if (point->n_fibres > 0) {
    pla_invariant_i4(point, point->fibre + 3 * m, order, &other);
    pla_invariant_add(&sum, 1.0 - 3.0 * kappa, &other, &sum);
  }
  if (c[PLAIN] == 0.0) {
    pla_invariant_det_power(point, -2.0 / 3.0, order, &scale);
    other = sum;
    pla_invariant_mul(&other, &scale, &sum);
  }
  PlaCurve energy = fibre_energy(c, sum.g - 1.0, &end);
  pla_invariant_chain(&sum, (PlaCurve){ w * energy.g, w * energy.d, w * energy.dd }, term);
}

static double
energy(const double *c, const PlaPoint *point)
{
  double sum = pla_stretch_energy(&pla_material_yeoh, c, point->s);
  for (int m = 0; m < n_families(point); m++) {
    PlaInvariant term;
    family_term(c, point, m, 0, &term);
    sum += term.g;
  }
  return sum;
}

static void
stress(const double *c, const PlaPoint *point, double p[9])
{
  double diagonal[3];
  pla_stretch_stress(&pla_material_yeoh, c, point->s, diagonal);
  pla_stretch_to_stress(point, diagonal, p);
  for (int m = 0; m < n_families(point); m++) {
    PlaInvariant term;
    family_term(c, point, m, 1, &term);
    for (int k = 0; k < 9; k++)
      p[k] += term.d[k];
  }
}

/* each part projected by itself, or none */
static void
sum_of_parts(const double *c, const PlaPoint *point, bool project, double h[81])
{
  double p[3], hessian[6];
  pla_stretch_stress(&pla_material_yeoh, c, point->s, p);
  pla_stretch_tangent(&pla_material_yeoh, c, point->s, hessian);
  pla_stretch_to_tangent(point, p, hessian, project, h);
  for (int m = 0; m < n_families(point); m++) {
    PlaInvariant term;
    family_term(c, point, m, 2, &term);
    if (project)
      pla_definite_project_material(point, term.d, term.h);
    for (int k = 0; k < 81; k++)
      h[k] += term.h[k];
  }
}

static void
tangent(const double *c, const PlaPoint *point, bool project, double h[81])
{
  sum_of_parts(c, point, false, h);
  if (project && !pla_definite(9, h))
    sum_of_parts(c, point, true, h);
}

static void
moduli(const double *c, double *mu, double *lambda, double *vol)
{
  pla_material_yeoh.moduli(c, mu, lambda, vol);
}

static PlaDual
fibre_energy_complex(const double *c, PlaDual e)
{
  double end, at = pla_dual_value(e);
  PlaCurve last = fibre_energy(c, at, &end);
  if (at <= 0.0)
    return pla_dual(0.0);
  if (at > end) {
    last = fibre_energy(c, end, &end);
    return pla_dual_taylor(e, end, last.g, last.d, last.dd);
  }
  PlaDual power = pla_dual_exp(pla_dual_scale(c[K2], pla_dual_square(e)));
  return pla_dual_scale(0.5 * c[K1] / c[K2], pla_dual_plus(power, -1.0));
}

static PlaDual
complex_energy(const double *c, const PlaPoint *point, const PlaDual f[9])
{
  double kappa = dispersion_of(c, point);
  PlaDual x[3], psi = pla_material_complex_energy(&pla_material_yeoh, c, point, f);
  pla_dual_invariants(f, x);
  for (int m = 0; m < n_families(point); m++) {
    PlaDual sum = pla_dual_scale(kappa, x[0]);
    if (point->n_fibres > 0)
      sum = pla_dual_add(sum, pla_dual_scale(1.0 - 3.0 * kappa, pla_fibre_complex_i4(point, m, f)));
    if (c[PLAIN] == 0.0)
      sum = pla_dual_mul(sum, pla_dual_power_det(x[2], -2.0 / 3.0));
    psi = pla_dual_add(psi, pla_dual_scale(weight_of(point, m),
                                           fibre_energy_complex(c, pla_dual_plus(sum, -1.0))));
  }
  return psi;
}

const PlaMaterial pla_material_goh = {
  .id = "goh",
  .title = "Gasser-Ogden-Holzapfel",
  .help = "neo-Hookean ground with families of dispersed fibres that stiffen when stretched: skin",
  .params = params,
  .prepare = prepare,
  .energy = energy,
  .stress = stress,
  .tangent = tangent,
  .moduli = moduli,
  .complex_energy = complex_energy,
  .volume_modulus = pla_volume_modulus_0,
};
