/* Linear elasticity: Psi = mu e:e + lambda/2 tr(e)^2, e = (F + F^T)/2 - 1.  Not invariant under
 * rotation: for small displacements, and as a reference. */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <string.h>

static void
small_strain(const double f[9], double e[9], double *trace)
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      e[3 * i + j] = 0.5 * (f[3 * i + j] + f[3 * j + i]) - (i == j);
  *trace = e[0] + e[4] + e[8];
}

static double
energy(const double *c, const PlaPoint *point)
{
  double e[9], trace, sum = 0.0;
  small_strain(point->f, e, &trace);
  for (int k = 0; k < 9; k++)
    sum += e[k] * e[k];
  return c[0] * sum + 0.5 * c[1] * trace * trace;
}

static void
stress(const double *c, const PlaPoint *point, double p[9])
{
  double e[9], trace;
  small_strain(point->f, e, &trace);
  for (int k = 0; k < 9; k++)
    p[k] = 2.0 * c[0] * e[k] + (k % 4 == 0 ? c[1] * trace : 0.0);
}

/* constant, and positive semidefinite as it is */
static void
tangent(const double *c, const PlaPoint *point, bool project, double h[81])
{
  memset(h, 0, 81 * sizeof *h);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int ij = 3 * i + j, ji = 3 * j + i;
      h[9 * ij + ij] += c[0];
      h[9 * ij + ji] += c[0];
      h[9 * (4 * i) + 4 * j] += c[1];
    }
}

static PlaDual
complex_energy(const double *c, const PlaPoint *point, const PlaDual f[9])
{
  PlaDual square = pla_dual(0.0), trace = pla_dual(-3.0);
  for (int i = 0; i < 3; i++) {
    trace = pla_dual_add(trace, f[4 * i]);
    for (int j = 0; j < 3; j++) {
      PlaDual e = pla_dual_scale(0.5, pla_dual_add(f[3 * i + j], f[3 * j + i]));
      square = pla_dual_add(square, pla_dual_square(pla_dual_plus(e, -(double)(i == j))));
    }
  }
  return pla_dual_add(pla_dual_scale(c[0], square),
                      pla_dual_scale(0.5 * c[1], pla_dual_square(trace)));
}

const PlaMaterial pla_material_linear = {
  .id = "linear",
  .title = "Linear",
  .help = "small-strain linear elasticity: for small displacements only",
  .params = pla_params_lame,
  .prepare = pla_prepare_lame,
  .energy = energy,
  .stress = stress,
  .tangent = tangent,
  .moduli = pla_moduli_lame,
  .complex_energy = complex_energy,
};
