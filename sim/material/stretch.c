/* Invariants of the principal stretches with their derivatives. */
#include "sim/material/stretch.h"

#include <stddef.h>
#include <string.h>

PlaSurface
pla_surface_i1(const double s[3])
{
  return (PlaSurface){ s[0] * s[0] + s[1] * s[1] + s[2] * s[2],
                       { 2.0 * s[0], 2.0 * s[1], 2.0 * s[2] },
                       { 2.0, 2.0, 2.0, 0.0, 0.0, 0.0 } };
}

PlaSurface
pla_surface_i2(const double s[3])
{
  double q[3] = { s[0] * s[0], s[1] * s[1], s[2] * s[2] };
  return (PlaSurface){ q[0] * q[1] + q[1] * q[2] + q[2] * q[0],
                       { 2.0 * s[0] * (q[1] + q[2]), 2.0 * s[1] * (q[2] + q[0]),
                         2.0 * s[2] * (q[0] + q[1]) },
                       { 2.0 * (q[1] + q[2]), 2.0 * (q[2] + q[0]), 2.0 * (q[0] + q[1]),
                         4.0 * s[0] * s[1], 4.0 * s[0] * s[2], 4.0 * s[1] * s[2] } };
}

PlaSurface
pla_surface_det(const double s[3])
{
  return (PlaSurface){ s[0] * s[1] * s[2],
                       { s[1] * s[2], s[0] * s[2], s[0] * s[1] },
                       { 0.0, 0.0, 0.0, s[2], s[1], s[0] } };
}

PlaSurface
pla_surface_log_det(const double s[3])
{
  PlaCurve f[3] = { pla_curve_log(s[0]), pla_curve_log(s[1]), pla_curve_log(s[2]) };
  return pla_surface_sum(f);
}

/* I times the product of s_i^a */
static PlaSurface
isochoric(const PlaSurface *invariant, const double s[3], double a)
{
  PlaCurve f[3] = { pla_curve_power(s[0], a), pla_curve_power(s[1], a), pla_curve_power(s[2], a) };
  PlaSurface scale = pla_surface_product(f);
  return pla_surface_mul(invariant, &scale);
}

PlaSurface
pla_surface_isochoric_1(const double s[3])
{
  PlaSurface i1 = pla_surface_i1(s);
  return isochoric(&i1, s, -2.0 / 3.0);
}

PlaSurface
pla_surface_isochoric_2(const double s[3])
{
  PlaSurface i2 = pla_surface_i2(s);
  return isochoric(&i2, s, -4.0 / 3.0);
}

double
pla_bulk_energy(double bulk, const double s[3])
{
  PlaSurface log_det = pla_surface_log_det(s);
  return 0.5 * bulk * log_det.g * log_det.g;
}

void
pla_bulk_add(double bulk, const double s[3], double p[3], double hessian[6])
{
  PlaSurface log_det = pla_surface_log_det(s);
  pla_surface_chain(&log_det, bulk * log_det.g, bulk, p, hessian);
}

double
pla_stretch_energy(const PlaMaterial *material, const double *constants, const double s[3])
{
  if (!material->shape)
    return material->stretch_energy(constants, s);
  PlaSurface x = pla_surface_isochoric_1(s);
  return material->shape(constants, x.g).g + pla_bulk_energy(constants[0], s);
}

/* a material of the first invariant; p or hessian NULL: not */
static void
shape_derivatives(const PlaMaterial *material, const double *constants, const double s[3],
                  double p[3], double hessian[6])
{
  PlaSurface x = pla_surface_isochoric_1(s);
  PlaCurve curve = material->shape(constants, x.g);
  if (p)
    memset(p, 0, 3 * sizeof *p);
  if (hessian)
    memset(hessian, 0, 6 * sizeof *hessian);
  pla_surface_chain(&x, curve.d, curve.dd, p, hessian);
  pla_bulk_add(constants[0], s, p, hessian);
}

void
pla_stretch_stress(const PlaMaterial *material, const double *constants, const double s[3],
                   double p[3])
{
  if (material->shape)
    shape_derivatives(material, constants, s, p, NULL);
  else
    material->stretch_stress(constants, s, p);
}

void
pla_stretch_tangent(const PlaMaterial *material, const double *constants, const double s[3],
                    double hessian[6])
{
  if (material->shape)
    shape_derivatives(material, constants, s, NULL, hessian);
  else
    material->stretch_tangent(constants, s, hessian);
}

void
pla_moduli_isochoric(double shear, double bulk, double *mu, double *lambda, double *vol)
{
  *mu = shear;
  *lambda = bulk - 2.0 / 3.0 * shear;
  *vol = bulk;
}

const PlaParam pla_params_lame[] = { PLA_PARAM_YOUNG, PLA_PARAM_POISSON, { .key = NULL } };

PlaStatus
pla_prepare_lame(const double *param, double constants[PLA_MAX_CONSTANTS], PlaError *err)
{
  pla_lame(param[0], param[1], &constants[0], &constants[1]);
  return PLA_OK;
}

void
pla_moduli_lame(const double *constants, double *mu, double *lambda, double *vol)
{
  *mu = constants[0];
  *lambda = constants[1];
  *vol = constants[1];
}

double *
pla_volume_modulus_0(double *constants)
{
  return constants;
}

double *
pla_volume_modulus_1(double *constants)
{
  return constants + 1;
}

double *
pla_volume_modulus_2(double *constants)
{
  return constants + 2;
}
