/* St. Venant-Kirchhoff solid: Psi = mu E:E + lambda/2 tr(E)^2, E = (F^T F - 1)/2.  It softens under
 * compression and has a second, mirrored rest state: for moderate strain only. */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <string.h>

static double
green_trace(const double s[3])
{
  return 0.5 * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2] - 3.0);
}

static double
energy(const double *c, const double s[3])
{
  double sum = 0.0, trace = green_trace(s);
  for (int i = 0; i < 3; i++) {
    double e = 0.5 * (s[i] * s[i] - 1.0);
    sum += e * e;
  }
  return c[0] * sum + 0.5 * c[1] * trace * trace;
}

static void
stress(const double *c, const double s[3], double p[3])
{
  double trace = green_trace(s);
  for (int i = 0; i < 3; i++)
    p[i] = s[i] * (c[0] * (s[i] * s[i] - 1.0) + c[1] * trace);
}

static void
tangent(const double *c, const double s[3], double hessian[6])
{
  double trace = green_trace(s);
  for (int i = 0; i < 3; i++)
    for (int j = i; j < 3; j++)
      hessian[pla_hessian_at(i, j)] =
          c[1] * s[i] * s[j] + (i == j ? c[0] * (3.0 * s[i] * s[i] - 1.0) + c[1] * trace : 0.0);
}

/* E:E = (I1^2 - 2 I2 - 2 I1 + 3) / 4, tr E = (I1 - 3) / 2 */
static PlaDual
invariant_energy(const double *c, const PlaDual x[3])
{
  PlaDual trace = pla_dual_scale(0.5, pla_dual_plus(x[0], -3.0));
  PlaDual square =
      pla_dual_scale(0.25,
                     pla_dual_plus(pla_dual_sub(pla_dual_square(x[0]),
                                                pla_dual_scale(2.0, pla_dual_add(x[0], x[1]))),
                                   3.0));
  return pla_dual_add(pla_dual_scale(c[0], square),
                      pla_dual_scale(0.5 * c[1], pla_dual_square(trace)));
}

const PlaMaterial pla_material_stvk = {
  .id = "stvk",
  .title = "St. Venant-Kirchhoff",
  .help = "linear in the Green strain: large rotations, moderate strain, no strong compression",
  .params = pla_params_lame,
  .prepare = pla_prepare_lame,
  .stretch_energy = energy,
  .stretch_stress = stress,
  .stretch_tangent = tangent,
  .moduli = pla_moduli_lame,
  .invariant_energy = invariant_energy,
};
