/* Transversely isotropic muscle after Blemker, Pinsky and Delp (2005).  For each fibre
 *
 *   W1 = G1 (I5 / I4^2 - 1)                                     shear along the fibre
 *   W2 = G2 acosh(w)^2,  w = (I1 I4 - I5) / (2 J sqrt I4)       shear across it
 *   W3 = sigma U(J^(-1/3) sqrt I4 / optimal)                    stretch of it
 *
 * and k/2 (ln J)^2 once.  W1 and W2 count with the passive fraction of the fibre; what no fibre
 * fills resists shear as G2 (J^(-2/3) I1 - 3), which has the same small-strain modulus 2 G2 as W2.
 *
 * Continuation for flat and inverted elements: powers of J stretch by stretch below the floor,
 * powers of I4 below its square.  acosh(w)^2 is analytic about w = 1 (it goes on as -acos(w)^2), so
 * that neither w = 1 at rest nor w < 1 below the floor is special; near 1 its power series is
 * summed. Definiteness: Sifakis 2007, A.3 (sim/material/definite.h). */
#include "sim/material/complex-step.h"
#include "sim/material/definite.h"
#include "sim/material/fibre.h"
#include "sim/material/registry.h"

#include <string.h>

static const PlaParam params[] = {
  { .key = "g1_pa",
    .unit = "Pa",
    .help = "shear along the fibres; half the shear modulus",
    .min = 0.0,
    .min_open = true,
    .max = 1e12,
    .def = 500.0,
    .source = "Blemker, Pinsky and Delp 2005" },
  { .key = "g2_pa",
    .unit = "Pa",
    .help = "shear across the fibres; half the shear modulus",
    .min = 0.0,
    .min_open = true,
    .max = 1e12,
    .def = 500.0,
    .source = "Blemker, Pinsky and Delp 2005" },
  PLA_PARAM_BULK,
  PLA_PARAM_FIBRE_STRESS,
  PLA_PARAM_FIBRE_OPTIMAL,
  PLA_PARAM_FIBRE_CURVE(PLA_FIBRE_BLEMKER),
  { .key = NULL },
};

enum { G1 = 0, G2, BULK, SIGMA, OPTIMAL, CURVE };

#define NEAR 0.05       /* |w - 1| below which the series is summed */
#define SERIES_TERMS 12 /* 0.025^12 is below rounding */
#define I4_FLOOR (PLA_STRETCH_FLOOR * PLA_STRETCH_FLOOR)

static PlaStatus
prepare(const double *param, double c[PLA_MAX_CONSTANTS], PlaError *err)
{
  memcpy(c, param, 6 * sizeof *c);
  return pla_fibre_check_curve(c[CURVE], err);
}

static PlaFibreLaw
law_of(const double *c)
{
  return (PlaFibreLaw){
    .sigma = c[SIGMA], .optimal = c[OPTIMAL], .curve = (PlaFibreCurve)c[CURVE], .deviatoric = true
  };
}

/* acosh(1+y)^2 = sum_k a_k y^k with a_1 = 2, a_(k+1) = -a_k k^2 / ((k+1) (2k+1)) */
static double
next_coefficient(double a, int k)
{
  return -a * k * k / ((k + 1.0) * (2.0 * k + 1.0));
}

static PlaCurve
acosh_square(double w)
{
  double y = w - 1.0;
  if (fabs(y) < NEAR) {
    PlaCurve f = { 0.0, 0.0, 0.0 };
    double a = 2.0, power = 1.0; /* y^(k-1) */
    for (int k = 1; k <= SERIES_TERMS; k++) {
      f.g += a * power * y;
      f.d += a * k * power;
      f.dd += next_coefficient(a, k) * (k + 1.0) * k * power;
      power *= y;
      a = next_coefficient(a, k);
    }
    return f;
  }
  double angle = w > 1.0 ? acosh(w) : acos(w), root = sqrt(fabs(w * w - 1.0));
  double slope = 2.0 * angle / root;
  return (PlaCurve){ w > 1.0 ? angle * angle : -angle * angle, slope,
                     (2.0 - w * slope) / (w * w - 1.0) };
}

static PlaDual
acosh_square_complex(PlaDual w)
{
  PlaDual y = pla_dual_plus(w, -1.0);
  if (fabs(pla_dual_value(y)) < NEAR) {
    double a[SERIES_TERMS + 1] = { 0.0, 2.0 };
    for (int k = 1; k < SERIES_TERMS; k++)
      a[k + 1] = next_coefficient(a[k], k);
    PlaDual sum = pla_dual(0.0);
    for (int k = SERIES_TERMS; k >= 1; k--)
      sum = pla_dual_mul(y, pla_dual_plus(sum, a[k]));
    return sum;
  }
  PlaDual root = pla_dual_sqrt(pla_dual_plus(pla_dual_square(w), -1.0));
  return pla_dual_square(pla_dual_log(pla_dual_add(w, root)));
}

/* x^a, continued below the floor of I4 */
static PlaCurve
i4_power(double x, double a)
{
  double at = fmax(x, I4_FLOOR), g = pow(at, a), d = a * g / at, dd = (a - 1.0) * d / at;
  return pla_curve_continue(x, at, g, d, dd);
}

/* passive fraction of all fibres together leaves this for the matrix */
static double
matrix_fraction(const PlaPoint *point)
{
  double left = 1.0;
  for (int m = 0; m < point->n_fibres; m++)
    left -= point->passive[m];
  return fmax(left, 0.0);
}

/* r += factor (field of fibre m) for W1, W2 and W3 */
static void
add_fibre(const double *c, const PlaPoint *point, int m, PlaInvariant *r)
{
  const double *v = point->fibre + 3 * m;
  const int order = r->order;
  PlaFibreLaw law = law_of(c);
  PlaInvariant i1, i4, i5, power, product, total, term;
  pla_invariant_i1(point, order, &i1);
  pla_invariant_i4(point, v, order, &i4);
  pla_invariant_i5(point, v, order, &i5);

  /* W1 */
  pla_invariant_chain(&i4, i4_power(i4.g, -2.0), &power);
  pla_invariant_mul(&i5, &power, &total);
  total.g -= 1.0;
  pla_invariant_add(r, c[G1] * point->passive[m], &total, r);

  /* W2 */
  pla_invariant_mul(&i1, &i4, &product);
  pla_invariant_add(&product, -1.0, &i5, &term);
  pla_invariant_chain(&i4, i4_power(i4.g, -0.5), &power);
  pla_invariant_mul(&term, &power, &product);
  pla_invariant_det_power(point, -1.0, order, &power);
  pla_invariant_mul(&product, &power, &total);
  PlaCurve half = { 0.5 * total.g, 0.5, 0.0 };
  pla_invariant_chain(&total, half, &total);
  pla_invariant_chain(&total, acosh_square(total.g), &total);
  pla_invariant_add(r, c[G2] * point->passive[m], &total, r);

  pla_fibre_term(&law, point, m, order, false, &term);
  pla_invariant_add(r, 1.0, &term, r);
}

static void
evaluate(const double *c, const PlaPoint *point, int order, PlaInvariant *r)
{
  double matrix = c[G2] * matrix_fraction(point), p[3] = { 0.0 }, hessian[6] = { 0.0 };
  PlaSurface first = pla_surface_isochoric_1(point->s);
  r->order = order;
  r->g = matrix * (first.g - 3.0) + pla_bulk_energy(c[BULK], point->s);
  pla_surface_chain(&first, matrix, 0.0, p, hessian);
  pla_bulk_add(c[BULK], point->s, p, hessian);
  if (order > 0)
    pla_stretch_to_stress(point, p, r->d);
  if (order > 1)
    pla_stretch_to_tangent(point, p, hessian, false, r->h);
  for (int m = 0; m < point->n_fibres; m++)
    add_fibre(c, point, m, r);
}

static double
energy(const double *c, const PlaPoint *point)
{
  PlaInvariant r;
  evaluate(c, point, 0, &r);
  return r.g;
}

static void
stress(const double *c, const PlaPoint *point, double p[9])
{
  PlaInvariant r;
  evaluate(c, point, 1, &r);
  memcpy(p, r.d, sizeof r.d);
}

static void
tangent(const double *c, const PlaPoint *point, bool project, double h[81])
{
  PlaInvariant r;
  evaluate(c, point, 2, &r);
  memcpy(h, r.h, sizeof r.h);
  if (project)
    pla_definite_project_material(point, r.d, h);
}

static void
moduli(const double *c, double *mu, double *lambda, double *vol)
{
  pla_moduli_isochoric(2.0 * c[G2], c[BULK], mu, lambda, vol);
}

static PlaDual
complex_energy(const double *c, const PlaPoint *point, const PlaDual f[9])
{
  PlaFibreLaw law = law_of(c);
  PlaDual x[3];
  pla_dual_invariants(f, x);
  PlaDual sum =
      pla_dual_scale(c[G2] * matrix_fraction(point), pla_dual_plus(pla_dual_isochoric_1(x), -3.0));
  sum = pla_dual_add(sum, pla_dual_bulk(c[BULK], x));
  for (int m = 0; m < point->n_fibres; m++) {
    const double *v = point->fibre + 3 * m, fraction = point->passive[m];
    PlaDual a[3], i4 = pla_fibre_complex_i4(point, m, f), i5 = pla_dual(0.0);
    for (int i = 0; i < 3; i++) {
      a[i] = pla_dual(0.0);
      for (int j = 0; j < 3; j++)
        a[i] = pla_dual_add(a[i], pla_dual_scale(v[j], f[3 * i + j]));
    }
    for (int j = 0; j < 3; j++) {
      PlaDual b = pla_dual(0.0);
      for (int i = 0; i < 3; i++)
        b = pla_dual_add(b, pla_dual_mul(f[3 * i + j], a[i]));
      i5 = pla_dual_add(i5, pla_dual_square(b));
    }
    PlaDual along = pla_dual_plus(pla_dual_div(i5, pla_dual_square(i4)), -1.0);
    PlaDual w = pla_dual_div(pla_dual_sub(pla_dual_mul(x[0], i4), i5),
                             pla_dual_scale(2.0, pla_dual_mul(x[2], pla_dual_sqrt(i4))));
    sum = pla_dual_add(sum, pla_dual_scale(c[G1] * fraction, along));
    sum = pla_dual_add(sum, pla_dual_scale(c[G2] * fraction, acosh_square_complex(w)));
    sum = pla_dual_add(sum, pla_fibre_complex(&law, point, m, f));
  }
  return sum;
}

const PlaMaterial pla_material_blemker = {
  .id = "blemker",
  .title = "Muscle, transversely isotropic",
  .help = "shear along and across the fibres told apart, after Blemker: for detailed studies",
  .params = params,
  .prepare = prepare,
  .energy = energy,
  .stress = stress,
  .tangent = tangent,
  .moduli = moduli,
  .complex_energy = complex_energy,
  .volume_modulus = pla_volume_modulus_2,
};
