/* Muscle: an isotropic base, a sheath, and fibres.
 *
 *   Psi = Psi_base + k_f/2 sum_i max(s_i - 1, 0)^2 + sum_m sigma U(l_m / optimal)
 *
 * summed over the fibres of the point, whose active and passive parts carry their overlap fractions
 * (sim/material/fibre.h).  The stress is affine in the activations.  With the plain stretch l = |F
 * v| the fibre tangent is (T/l (1 - n n^T) + T' n n^T) on the fibre, positive semidefinite for T >=
 * 0 and T' >= 0, so that clamping T' projects it; the deviatoric one goes through C (Sifakis
 * 2007, 2.5, A.3).
 *
 * The sheath's and the bases' constants are those of fascia, mooney-rivlin, neo-hookean and yeoh;
 * one set of parameters serves all bases: shear modulus 2 (c10 + c01), bulk modulus k. */
#include "sim/material/complex-step.h"
#include "sim/material/definite.h"
#include "sim/material/fascia.h"
#include "sim/material/fibre.h"
#include "sim/material/registry.h"

#include <string.h>

static const char *const base_names[] = { "mooney-rivlin", "neo-hookean", "yeoh", NULL };
static const char *const stretch_names[] = { "plain", "deviatoric", NULL };

static const PlaParam params[] = {
  { .key = "base",
    .unit = "",
    .help = "material between the fibres",
    .min = 0.0,
    .max = 2.0,
    .def = 0.0,
    .choices = base_names,
    .source = "face flesh: Sifakis 2007" },
  PLA_PARAMS_MOONEY_RIVLIN,
  { .key = "c20_pa",
    .unit = "Pa",
    .help = "quadratic constant, for the base yeoh",
    .min = 0.0,
    .max = 1e12,
    .def = 0.0,
    .source = "none in Sifakis 2007; tongue: Buchaillard et al. 2009" },
  PLA_PARAM_BULK,
  PLA_PARAM_FIBRE_STRESS,
  PLA_PARAM_FIBRE_OPTIMAL,
  PLA_PARAM_FIBRE_CURVE(PLA_FIBRE_ZAJAC),
  { .key = "stretch",
    .unit = "",
    .help = "fibre stretch: as it is, or without change of volume",
    .min = 0.0,
    .max = 1.0,
    .def = 0.0,
    .choices = stretch_names,
    .source = "Sifakis 2007" },
  PLA_PARAM_FASCIA(0.0),
  { .key = NULL },
};

/* constants: up to four of the base, then */
enum { BASE = 4, SIGMA, OPTIMAL, CURVE, STRETCH, FASCIA };

static const PlaMaterial *
base_of(const double *c)
{
  static const PlaMaterial *const bases[] = { &pla_material_mooney_rivlin,
                                              &pla_material_neo_hookean, &pla_material_yeoh };
  return bases[(int)c[BASE]];
}

static PlaFibreLaw
law_of(const double *c)
{
  return (PlaFibreLaw){ .sigma = c[SIGMA],
                        .optimal = c[OPTIMAL],
                        .curve = (PlaFibreCurve)c[CURVE],
                        .deviatoric = c[STRETCH] > 0.0 };
}

bool
pla_muscle_is_plain(const PlaMaterial *material, const double *c, PlaFibreLaw *law)
{
  if (material != &pla_material_muscle || base_of(c) != &pla_material_neo_hookean ||
      c[STRETCH] > 0.0 || c[FASCIA] != 0.0)
    return false;
  *law = law_of(c);
  return true;
}

static PlaStatus
prepare(const double *param, double c[PLA_MAX_CONSTANTS], PlaError *err)
{
  double c10 = param[1], c01 = param[2], c20 = param[3], bulk = param[4], mu = 2.0 * (c10 + c01);
  if (!(mu > 0.0))
    return pla_fail(
        err, PLA_ERR_USAGE,
        "'c10_pa' and 'c01_pa' of the material 'muscle' are both 0, and such a material "
        "resists no shear; give at least one");
  if (param[0] == 0.0)
    memcpy(c, (double[4]){ c10, c01, bulk, 0.0 }, 4 * sizeof *c);
  else if (param[0] == 1.0)
    memcpy(c, (double[4]){ mu, bulk - 2.0 / 3.0 * mu, 0.0, 0.0 }, 4 * sizeof *c);
  else
    memcpy(c, (double[4]){ bulk, c10 + c01, c20, 0.0 }, 4 * sizeof *c);
  if (param[0] == 1.0 && !(c[1] > 0.0))
    return pla_fail(
        err, PLA_ERR_USAGE,
        "'bulk_pa' of the material 'muscle' is %g, and must be above %g Pa (4/3 of c10 + "
        "c01) with the base neo-hookean",
        bulk, 2.0 / 3.0 * mu);
  c[BASE] = param[0];
  memcpy(c + SIGMA, param + 5, 5 * sizeof *c);
  return pla_fibre_check_curve(c[CURVE], err);
}

static double
energy(const double *c, const PlaPoint *point)
{
  PlaFibreLaw law = law_of(c);
  double sum = pla_stretch_energy(base_of(c), c, point->s) + pla_fascia_energy(c[FASCIA], point->s);
  for (int m = 0; m < point->n_fibres; m++) {
    PlaInvariant term;
    pla_fibre_term(&law, point, m, 0, false, &term);
    sum += term.g;
  }
  return sum;
}

static void
stress(const double *c, const PlaPoint *point, double p[9])
{
  PlaFibreLaw law = law_of(c);
  double diagonal[3];
  pla_stretch_stress(base_of(c), c, point->s, diagonal);
  pla_fascia_add(c[FASCIA], point->s, diagonal, NULL);
  pla_stretch_to_stress(point, diagonal, p);
  for (int m = 0; m < point->n_fibres; m++) {
    PlaInvariant term;
    pla_fibre_term(&law, point, m, 1, false, &term);
    for (int k = 0; k < 9; k++)
      p[k] += term.d[k];
  }
}

static void
active_stress(const double *c, const PlaPoint *point, int m, double p[9])
{
  static const double one = 1.0, none = 0.0;
  PlaFibreLaw law = law_of(c);
  PlaPoint alone = *point;
  PlaInvariant term;
  alone.fibre = point->fibre + 3 * m;
  alone.active = &one;
  alone.passive = &none;
  alone.n_fibres = 1;
  pla_fibre_term(&law, &alone, 0, 1, false, &term);
  memcpy(p, term.d, sizeof term.d);
}

/* each part projected by itself, or none */
static void
sum_of_parts(const double *c, const PlaPoint *point, bool project, double h[81])
{
  PlaFibreLaw law = law_of(c);
  double p[3], hessian[6];
  pla_stretch_stress(base_of(c), c, point->s, p);
  pla_stretch_tangent(base_of(c), c, point->s, hessian);
  pla_fascia_add(c[FASCIA], point->s, p, hessian);
  pla_stretch_to_tangent(point, p, hessian, project, h);
  for (int m = 0; m < point->n_fibres; m++) {
    PlaInvariant term;
    pla_fibre_term(&law, point, m, 2, project && !law.deviatoric, &term);
    if (project && law.deviatoric)
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
  base_of(c)->moduli(c, mu, lambda, vol);
}

static PlaDual
complex_energy(const double *c, const PlaPoint *point, const PlaDual f[9])
{
  PlaFibreLaw law = law_of(c);
  PlaDual sum = pla_material_complex_energy(base_of(c), c, point, f);
  if (c[FASCIA] > 0.0)
    sum = pla_dual_add(sum, pla_fascia_complex(c[FASCIA], point, f));
  for (int m = 0; m < point->n_fibres; m++)
    sum = pla_dual_add(sum, pla_fibre_complex(&law, point, m, f));
  return sum;
}

static double *
volume_modulus(double *c)
{
  return base_of(c)->volume_modulus(c);
}

const PlaMaterial pla_material_muscle = {
  .id = "muscle",
  .title = "Muscle",
  .help = "flesh with active and passive fibres: contracts along them as activation rises",
  .params = params,
  .prepare = prepare,
  .energy = energy,
  .stress = stress,
  .tangent = tangent,
  .active_stress = active_stress,
  .moduli = moduli,
  .complex_energy = complex_energy,
  .volume_modulus = volume_modulus,
};
