/* Corotated linear elasticity: Psi = mu |F - R|^2 + lambda/2 tr(R^T F - 1)^2, and the variant whose
 * volume term is exact, Psi = mu |F - R|^2 + lambda/2 (J - 1)^2 (Stomakhin et al. 2012). */
#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <string.h>

static double
shear_energy(const double *c, const double s[3])
{
  double sum = 0.0;
  for (int i = 0; i < 3; i++)
    sum += (s[i] - 1.0) * (s[i] - 1.0);
  return c[0] * sum;
}

/* t = tr(R^T F) = s_0 + s_1 + s_2, signed stretches, is a root of
 *   t^4 - 2 I1 t^2 - 8 J t + I1^2 - 4 I2 = 0,
 * whose slope there is 8 (s_0 + s_1) (s_0 + s_2) (s_1 + s_2).  Newton from the real root: the first
 * step brings the first derivatives, the second the mixed ones. */
static PlaDual
stretch_sum(const PlaPoint *point, const PlaDual x[3])
{
  PlaDual t = pla_dual(point->s[0] + point->s[1] + point->s[2]);
  for (int step = 0; step < 3; step++) {
    PlaDual tt = pla_dual_square(t), gap = pla_dual_sub(tt, x[0]);
    PlaDual value =
        pla_dual_sub(pla_dual_square(gap), pla_dual_add(pla_dual_scale(8.0, pla_dual_mul(x[2], t)),
                                                        pla_dual_scale(4.0, x[1])));
    PlaDual slope =
        pla_dual_sub(pla_dual_scale(4.0, pla_dual_mul(t, gap)), pla_dual_scale(8.0, x[2]));
    t = pla_dual_sub(t, pla_dual_div(value, slope));
  }
  return t;
}

/* mu (I1 - 2 t + 3) */
static PlaDual
shear_complex(const double *c, const PlaDual x[3], PlaDual t)
{
  return pla_dual_scale(c[0], pla_dual_plus(pla_dual_sub(x[0], pla_dual_scale(2.0, t)), 3.0));
}

static double
corotated_energy(const double *c, const double s[3])
{
  double trace = s[0] + s[1] + s[2] - 3.0;
  return shear_energy(c, s) + 0.5 * c[1] * trace * trace;
}

static void
corotated_stress(const double *c, const double s[3], double p[3])
{
  double trace = s[0] + s[1] + s[2] - 3.0;
  for (int i = 0; i < 3; i++)
    p[i] = 2.0 * c[0] * (s[i] - 1.0) + c[1] * trace;
}

static void
corotated_tangent(const double *c, const double s[3], double hessian[6])
{
  for (int k = 0; k < 6; k++)
    hessian[k] = c[1] + (k < 3 ? 2.0 * c[0] : 0.0);
}

static PlaDual
corotated_complex(const double *c, const PlaPoint *point, const PlaDual f[9])
{
  PlaDual x[3];
  pla_dual_invariants(f, x);
  PlaDual t = stretch_sum(point, x);
  return pla_dual_add(shear_complex(c, x, t),
                      pla_dual_scale(0.5 * c[1], pla_dual_square(pla_dual_plus(t, -3.0))));
}

const PlaMaterial pla_material_corotated = {
  .id = "corotated",
  .title = "Corotated linear",
  .help = "linear elasticity in the rotating frame of each element",
  .params = pla_params_lame,
  .prepare = pla_prepare_lame,
  .stretch_energy = corotated_energy,
  .stretch_stress = corotated_stress,
  .stretch_tangent = corotated_tangent,
  .moduli = pla_moduli_lame,
  .complex_energy = corotated_complex,
};

static double
fixed_energy(const double *c, const double s[3])
{
  double change = s[0] * s[1] * s[2] - 1.0;
  return shear_energy(c, s) + 0.5 * c[1] * change * change;
}

static void
fixed_stress(const double *c, const double s[3], double p[3])
{
  PlaSurface det = pla_surface_det(s);
  for (int i = 0; i < 3; i++)
    p[i] = 2.0 * c[0] * (s[i] - 1.0) + c[1] * (det.g - 1.0) * det.d[i];
}

static void
fixed_tangent(const double *c, const double s[3], double hessian[6])
{
  PlaSurface det = pla_surface_det(s);
  memcpy(hessian, (double[6]){ 2.0 * c[0], 2.0 * c[0], 2.0 * c[0] }, 6 * sizeof *hessian);
  pla_surface_chain(&det, c[1] * (det.g - 1.0), c[1], NULL, hessian);
}

static PlaDual
fixed_complex(const double *c, const PlaPoint *point, const PlaDual f[9])
{
  PlaDual x[3];
  pla_dual_invariants(f, x);
  return pla_dual_add(shear_complex(c, x, stretch_sum(point, x)),
                      pla_dual_scale(0.5 * c[1], pla_dual_square(pla_dual_plus(x[2], -1.0))));
}

const PlaMaterial pla_material_fixed_corotated = {
  .id = "fixed-corotated",
  .title = "Fixed corotated",
  .help = "mu |F-R|^2 + lambda/2 (J-1)^2: corotated, with the true volume change",
  .params = pla_params_lame,
  .prepare = pla_prepare_lame,
  .stretch_energy = fixed_energy,
  .stretch_stress = fixed_stress,
  .stretch_tangent = fixed_tangent,
  .moduli = pla_moduli_lame,
  .complex_energy = fixed_complex,
  .volume_modulus = pla_volume_modulus_1,
  .volume_square = true,
};
