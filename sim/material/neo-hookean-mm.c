/* Neo-Hookean in the form of Macklin and Mueller (2021): Psi = mu/2 (I1 - 3) + h/2 (J - 1 - mu/h)^2
 * with h = lambda + mu, so that E and nu keep their small-strain meaning.  Polynomial: inverted
 * elements need no special care, and no SVD. */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <string.h>

/* h (J - 1) - mu: the derivative of the volumetric part in J */
static double
pressure(const double *c, double det)
{
  return (c[0] + c[1]) * (det - 1.0) - c[0];
}

static double
energy(const double *c, const double s[3])
{
  double i1 = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
  double q = pressure(c, s[0] * s[1] * s[2]);
  return 0.5 * c[0] * (i1 - 3.0) + 0.5 * q * q / (c[0] + c[1]);
}

static void
stress(const double *c, const double s[3], double p[3])
{
  PlaSurface det = pla_surface_det(s);
  for (int i = 0; i < 3; i++)
    p[i] = c[0] * s[i] + pressure(c, det.g) * det.d[i];
}

static void
tangent(const double *c, const double s[3], double hessian[6])
{
  PlaSurface det = pla_surface_det(s);
  memcpy(hessian, (double[6]){ c[0], c[0], c[0] }, 6 * sizeof *hessian);
  pla_surface_chain(&det, pressure(c, det.g), c[0] + c[1], NULL, hessian);
}

static void
moduli(const double *c, double *mu, double *lambda, double *vol)
{
  *mu = c[0];
  *lambda = c[1];
  *vol = c[0] + c[1];
}

static PlaDual
invariant_energy(const double *c, const PlaDual x[3])
{
  const double h = c[0] + c[1];
  PlaDual change = pla_dual_plus(x[2], -1.0 - c[0] / h);
  return pla_dual_add(pla_dual_scale(0.5 * c[0], pla_dual_plus(x[0], -3.0)),
                      pla_dual_scale(0.5 * h, pla_dual_square(change)));
}

const PlaMaterial pla_material_neo_hookean_mm = {
  .id = "neo-hookean-mm",
  .title = "Neo-Hookean, polynomial",
  .help = "mu/2 (I1-3) + h/2 (J-1-mu/h)^2, h = lambda+mu: fast and safe under inversion",
  .params = pla_params_lame,
  .prepare = pla_prepare_lame,
  .stretch_energy = energy,
  .stretch_stress = stress,
  .stretch_tangent = tangent,
  .moduli = moduli,
  .invariant_energy = invariant_energy,
  .volume_modulus = pla_volume_modulus_1,
  .volume_square = true,
};
