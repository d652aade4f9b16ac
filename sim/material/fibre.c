/* Force-stretch curves of muscle fibres and their integrals. */
#include "sim/material/fibre.h"

#include "sim/material/complex-step.h"

#include <stddef.h>
#include <string.h>

#define P1 0.05
#define P2 6.6
#define PASSIVE_LINE 0.4 /* strain beyond which the passive force is a straight line */

const char *const pla_fibre_curves[] = { "zajac", "blemker", "none", NULL };

PlaStatus
pla_fibre_check_curve(double curve, PlaError *err)
{
  return pla_fibre_curve_exists(curve)
             ? PLA_OK
             : pla_fail(err, PLA_ERR_USAGE,
                        "'curve' is %g, and must be one of its words, or points", curve);
}

static void
active_force(PlaFibreCurve curve, double e, double *force, double *slope)
{
  double size = fabs(e), sign = copysign(1.0, e);
  *force = *slope = 0.0;
  if (curve == PLA_FIBRE_ZAJAC) {
    if (size < 0.4) {
      *force = 1.0 - 25.0 / 6.0 * e * e;
      *slope = -25.0 / 3.0 * e;
    } else if (size < 0.6) {
      *force = 25.0 / 3.0 * (size - 0.6) * (size - 0.6);
      *slope = sign * 50.0 / 3.0 * (size - 0.6);
    }
  } else if (size < 0.4) {
    *force = 1.0 - 4.0 * e * e;
    *slope = -8.0 * e;
  } else if (size < 0.6) {
    *force = 9.0 * (size - 0.6) * (size - 0.6);
    *slope = sign * 18.0 * (size - 0.6);
  }
}

/* P2 e + 1 is what the zajac curve takes off the exponential, 1 the blemker one */
static void
passive_force(PlaFibreCurve curve, double e, double *force, double *slope)
{
  double linear = curve == PLA_FIBRE_ZAJAC ? P2 : 0.0;
  *force = *slope = 0.0;
  if (e <= 0.0)
    return;
  double at = fmin(e, PASSIVE_LINE), power = expm1(P2 * at);
  *slope = P1 * (P2 * (power + 1.0) - linear);
  *force = P1 * (power - linear * at) + *slope * (e - at);
}

void
pla_fibre_force(PlaFibreCurve curve, double x, double active, double passive, double *force,
                double *slope)
{
  double f[2] = { 1.0, 0.0 }, s[2] = { 0.0, 0.0 };
  if (curve >= PLA_FIBRE_TABLE) {
    for (int k = 0; k < 2; k++)
      pla_fibre_table_force(curve, k, x, &f[k], &s[k]);
  } else if (curve != PLA_FIBRE_NONE) {
    active_force(curve, x - 1.0, &f[0], &s[0]);
    passive_force(curve, x - 1.0, &f[1], &s[1]);
  }
  *force = active * f[0] + passive * f[1];
  *slope = active * s[0] + passive * s[1];
}

static PlaDual
cube(PlaDual x)
{
  return pla_dual_mul(x, pla_dual_square(x));
}

/* outer parabolas k (|e| - 0.6)^2 about an inner 1 - q e^2; their areas join at -0.4 and 0.4 */
static PlaDual
active_energy(PlaFibreCurve curve, PlaDual e)
{
  double k = curve == PLA_FIBRE_ZAJAC ? 25.0 / 3.0 : 9.0;
  double q = curve == PLA_FIBRE_ZAJAC ? 25.0 / 6.0 : 4.0;
  double tail = k / 3.0 * 0.008, half = tail + 0.4 - q / 3.0 * 0.064, at = pla_dual_value(e);
  if (at <= -0.6)
    return pla_dual(0.0);
  if (at < -0.4)
    return pla_dual_scale(k / 3.0, cube(pla_dual_plus(e, 0.6)));
  if (at < 0.4)
    return pla_dual_plus(pla_dual_sub(e, pla_dual_scale(q / 3.0, cube(e))), half);
  if (at < 0.6)
    return pla_dual_plus(pla_dual_scale(k / 3.0, cube(pla_dual_plus(e, -0.6))), 2.0 * half);
  return pla_dual(2.0 * half);
}

/* P1 (exp(P2 e)/P2 - linear e^2/2 - e - 1/P2) */
static PlaDual
passive_energy(PlaFibreCurve curve, PlaDual e)
{
  double linear = curve == PLA_FIBRE_ZAJAC ? P2 : 0.0, at = pla_dual_value(e);
  if (at <= 0.0)
    return pla_dual(0.0);
  PlaDual x = at < PASSIVE_LINE ? e : pla_dual(PASSIVE_LINE);
  PlaDual power =
      pla_dual_scale(1.0 / P2, pla_dual_plus(pla_dual_exp(pla_dual_scale(P2, x)), -1.0));
  PlaDual taken = pla_dual_mul(x, pla_dual_plus(pla_dual_scale(0.5 * linear, x), 1.0));
  PlaDual energy = pla_dual_scale(P1, pla_dual_sub(power, taken));
  if (at < PASSIVE_LINE)
    return energy;
  double force, slope;
  passive_force(curve, PASSIVE_LINE, &force, &slope);
  return pla_dual_taylor(e, PASSIVE_LINE, pla_dual_value(energy), force, slope);
}

PlaDual
pla_fibre_energy(PlaFibreCurve curve, PlaDual x, double active, double passive)
{
  if (curve == PLA_FIBRE_NONE)
    return pla_dual_scale(active, x);
  if (curve >= PLA_FIBRE_TABLE)
    return pla_dual_add(pla_dual_scale(active, pla_fibre_table_energy(curve, 0, x)),
                        pla_dual_scale(passive, pla_fibre_table_energy(curve, 1, x)));
  PlaDual e = pla_dual_plus(x, -1.0);
  return pla_dual_add(pla_dual_scale(active, active_energy(curve, e)),
                      pla_dual_scale(passive, passive_energy(curve, e)));
}

void
pla_fibre_term(const PlaFibreLaw *law, const PlaPoint *point, int m, int order, bool clamp,
               PlaInvariant *term)
{
  pla_invariant_i4(point, point->fibre + 3 * m, order, term);
  double l = sqrt(term->g);
  if (l == 0.0) {
    /* a fibre crushed to nothing carries nothing */
    *term = (PlaInvariant){ .order = order };
    return;
  }
  pla_invariant_chain(term, (PlaCurve){ l, 0.5 / l, -0.25 / (l * l * l) }, term);
  if (law->deviatoric) {
    PlaInvariant scale, plain = *term;
    pla_invariant_det_power(point, -1.0 / 3.0, order, &scale);
    pla_invariant_mul(&plain, &scale, term);
  }
  double x = term->g / law->optimal, energy = 0.0, force = 0.0, slope = 0.0;
  if (order == 0)
    energy = pla_dual_value(
        pla_fibre_energy(law->curve, pla_dual(x), point->active[m], point->passive[m]));
  else
    pla_fibre_force(law->curve, x, point->active[m], point->passive[m], &force, &slope);
  if (clamp)
    slope = fmax(slope, 0.0);
  pla_invariant_chain(term,
                      (PlaCurve){ law->sigma * energy, law->sigma / law->optimal * force,
                                  law->sigma / (law->optimal * law->optimal) * slope },
                      term);
}

PlaDual
pla_fibre_complex_i4(const PlaPoint *point, int m, const PlaDual f[9])
{
  const double *v = point->fibre + 3 * m;
  PlaDual sum = pla_dual(0.0);
  for (int i = 0; i < 3; i++) {
    PlaDual row = pla_dual(0.0);
    for (int j = 0; j < 3; j++)
      row = pla_dual_add(row, pla_dual_scale(v[j], f[3 * i + j]));
    sum = pla_dual_add(sum, pla_dual_square(row));
  }
  return sum;
}

PlaDual
pla_fibre_complex(const PlaFibreLaw *law, const PlaPoint *point, int m, const PlaDual f[9])
{
  PlaDual l = pla_dual_sqrt(pla_fibre_complex_i4(point, m, f));
  if (law->deviatoric) {
    PlaDual x[3];
    pla_dual_invariants(f, x);
    l = pla_dual_mul(l, pla_dual_power_det(x[2], -1.0 / 3.0));
  }
  return pla_dual_scale(law->sigma,
                        pla_fibre_energy(law->curve, pla_dual_scale(1.0 / law->optimal, l),
                                         point->active[m], point->passive[m]));
}
