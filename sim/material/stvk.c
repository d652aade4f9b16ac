/* St. Venant-Kirchhoff solid: Psi = mu E:E + lambda/2 tr(E)^2, E = (F^T F - 1)/2.  It softens under
 * compression and has a second, mirrored rest state: for moderate strain only. */
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
};
