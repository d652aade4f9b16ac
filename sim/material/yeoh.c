/* Yeoh solid: Psi = sum_i c_i0 y^i, i = 1..3, + k/2 (ln J)^2 with y = J^(-2/3) I1 - 3 (Yeoh 1993).
 *
 * Fits to tests often have a negative c20 or c30.  The energy is the printed one as long as its
 * slope by y stays above c10/100.  Where the polynomial would fall below that, and with it the
 * resistance to shear below nothing, the slope stays c10/100, so that no element is drawn out
 * without end; where the polynomial's slope is above it again, it goes on with that. */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <stddef.h>

static const double least_slope = 0.01; /* in c10: too soft to be mistaken for tissue */

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
    .min = -1e12,
    .max = 1e12,
    .def = 486.0,
    .source = "tongue: Buchaillard et al. 2009" },
  { .key = "c30_pa",
    .unit = "Pa",
    .help = "cubic constant",
    .min = -1e12,
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

/* between which y the polynomial's slope is below the least one */
static void
soft_range(const double *c, double range[2])
{
  double a = 3.0 * c[3], b = c[2], left = (1.0 - least_slope) * c[1], under = b * b - a * left;
  range[0] = range[1] = INFINITY;
  if ((a >= 0.0 && b >= 0.0) || under <= 0.0)
    return;
  /* roots of a y^2 + 2 b y + left, without cancellation: q / a and left / q */
  double q = b < 0.0 ? -b + sqrt(under) : -b - sqrt(under);
  if (a > 0.0) {
    range[0] = left / q;
    range[1] = q / a;
  } else {
    range[0] = b < 0.0 ? left / q : q / a;
  }
}

static PlaCurve
polynomial(const double *c, double y)
{
  return (PlaCurve){ y * (c[1] + y * (c[2] + y * c[3])), c[1] + y * (2.0 * c[2] + 3.0 * y * c[3]),
                     2.0 * c[2] + 6.0 * y * c[3] };
}

static PlaCurve
shape(const double *c, double x)
{
  double y = x - 3.0, range[2], slope = least_slope * c[1];
  PlaCurve f = polynomial(c, y);
  soft_range(c, range);
  if (y <= range[0])
    return f;
  double start = polynomial(c, range[0]).g;
  if (y < range[1])
    return (PlaCurve){ start + slope * (y - range[0]), slope, 0.0 };
  f.g += start - polynomial(c, range[1]).g + slope * (range[1] - range[0]);
  return f;
}

static double
reach(const double *c)
{
  double range[2];
  soft_range(c, range);
  return 3.0 + range[0];
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
  double at = pla_dual_value(y), range[2];
  soft_range(c, range);
  if (at > range[0] && at < range[1]) {
    sum = pla_dual_scale(least_slope * c[1], pla_dual_plus(y, -at));
    sum = pla_dual_plus(sum, shape(c, 3.0 + at).g);
  } else {
    for (int i = 3; i >= 1; i--)
      sum = pla_dual_mul(y, pla_dual_plus(sum, c[i]));
    if (at > range[0])
      sum = pla_dual_plus(sum, shape(c, 3.0 + at).g - polynomial(c, at).g);
  }
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
  .reach = reach,
};
