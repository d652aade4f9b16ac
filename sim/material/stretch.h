/* Pieces that isotropic materials are made of: continued logarithm and powers of a stretch, and the
 * derivatives of the isochoric invariants.
 *
 * Below the floor e = PLA_STRETCH_FLOOR, g(s) = ln s and g(s) = s^a are replaced by their second
 * order Taylor polynomials about e.  A sum or product of them is then a twice differentiable energy
 * for every real s, and grows as the element inverts, so that descent leads back out. */
#pragma once

#include "sim/material/material.h"

#include <math.h>

static inline PlaCurve
pla_curve_continue(double s, double floor_, double g, double d, double dd)
{
  double x = s - floor_;
  return (PlaCurve){ g + d * x + 0.5 * dd * x * x, d + dd * x, dd };
}

static inline PlaCurve
pla_curve_log(double s)
{
  const double e = PLA_STRETCH_FLOOR;
  if (s >= e)
    return (PlaCurve){ log(s), 1.0 / s, -1.0 / (s * s) };
  return pla_curve_continue(s, e, log(e), 1.0 / e, -1.0 / (e * e));
}

static inline PlaCurve
pla_curve_power(double s, double a)
{
  const double e = PLA_STRETCH_FLOOR;
  double x = s >= e ? s : e, g = pow(x, a), d = a * g / x, dd = (a - 1.0) * d / x;
  return s >= e ? (PlaCurve){ g, d, dd } : pla_curve_continue(s, e, g, d, dd);
}

/* exp, continued quadratically where it would overflow the solver long before the number */
static inline PlaCurve
pla_curve_exp(double x)
{
  const double most = 40.0;
  double g = exp(x < most ? x : most);
  return x < most ? (PlaCurve){ g, g, g } : pla_curve_continue(x, most, g, g, g);
}

/* a function of the three stretches: value, gradient, Hessian (00, 11, 22, 01, 02, 12) */
typedef struct {
  double g, d[3], h[6];
} PlaSurface;

/* sum_i f(s_i) */
static inline PlaSurface
pla_surface_sum(const PlaCurve f[3])
{
  return (PlaSurface){ f[0].g + f[1].g + f[2].g,
                       { f[0].d, f[1].d, f[2].d },
                       { f[0].dd, f[1].dd, f[2].dd, 0.0, 0.0, 0.0 } };
}

/* f(s_0) f(s_1) f(s_2) */
static inline PlaSurface
pla_surface_product(const PlaCurve f[3])
{
  return (PlaSurface){
    f[0].g * f[1].g * f[2].g,
    { f[0].d * f[1].g * f[2].g, f[0].g * f[1].d * f[2].g, f[0].g * f[1].g * f[2].d },
    { f[0].dd * f[1].g * f[2].g, f[0].g * f[1].dd * f[2].g, f[0].g * f[1].g * f[2].dd,
      f[0].d * f[1].d * f[2].g, f[0].d * f[1].g * f[2].d, f[0].g * f[1].d * f[2].d }
  };
}

/* index of the off-diagonal entries of a Hessian */
static inline int
pla_hessian_at(int i, int j)
{
  return i == j ? i : i + j + 2;
}

/* a b */
static inline PlaSurface
pla_surface_mul(const PlaSurface *a, const PlaSurface *b)
{
  PlaSurface r = { .g = a->g * b->g };
  for (int i = 0; i < 3; i++) {
    r.d[i] = a->d[i] * b->g + a->g * b->d[i];
    for (int j = i; j < 3; j++) {
      int k = pla_hessian_at(i, j);
      r.h[k] = a->h[k] * b->g + a->g * b->h[k] + a->d[i] * b->d[j] + a->d[j] * b->d[i];
    }
  }
  return r;
}

/* I1 = sum s_i^2, I2 = sum s_i^2 s_j^2, J = s_0 s_1 s_2, L = ln J (continued) */
PlaSurface pla_surface_i1(const double s[3]);
PlaSurface pla_surface_i2(const double s[3]);
PlaSurface pla_surface_det(const double s[3]);
PlaSurface pla_surface_log_det(const double s[3]);
/* J^(-2/3) I1 and J^(-4/3) I2, continued */
PlaSurface pla_surface_isochoric_1(const double s[3]);
PlaSurface pla_surface_isochoric_2(const double s[3]);

/* Psi += f(x), given f' and f'' at x */
static inline void
pla_surface_chain(const PlaSurface *x, double first, double second, double p[3], double hessian[6])
{
  for (int i = 0; i < 3; i++) {
    if (p)
      p[i] += first * x->d[i];
    if (hessian)
      for (int j = i; j < 3; j++) {
        int k = pla_hessian_at(i, j);
        hessian[k] += first * x->h[k] + second * x->d[i] * x->d[j];
      }
  }
}

/* U diag(p) V^T, and the 9x9 tangent of an isotropic function with gradient p and this Hessian in
 * the stretches; @project makes it positive semidefinite */
void pla_stretch_to_stress(const PlaPoint *point, const double p[3], double out[9]);
void pla_stretch_to_tangent(const PlaPoint *point, const double p[3], const double hessian[6],
                            bool project, double h[81]);

/* bulk/2 (ln J)^2 in the stretches, ln J continued; added to what is there (p, hessian NULL: not)
 */
double pla_bulk_energy(double bulk, const double s[3]);
void pla_bulk_add(double bulk, const double s[3], double p[3], double hessian[6]);

/* An isotropic material as a function of the stretches, whichever way it is given. */
double pla_stretch_energy(const PlaMaterial *material, const double *constants, const double s[3]);
void pla_stretch_stress(const PlaMaterial *material, const double *constants, const double s[3],
                        double p[3]);
void pla_stretch_tangent(const PlaMaterial *material, const double *constants, const double s[3],
                         double hessian[6]);

/* moduli of a material with isochoric shear modulus mu and that volume term */
void pla_moduli_isochoric(double shear, double bulk, double *mu, double *lambda, double *vol);

/* the small-strain pair from Young's modulus and Poisson's ratio */
static inline void
pla_lame(double young, double poisson, double *mu, double *lambda)
{
  *mu = young / (2.0 * (1.0 + poisson));
  *lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
}

#define PLA_PARAMS_MOONEY_RIVLIN                                                                   \
  { .key = "c10_pa",                                                                               \
    .unit = "Pa",                                                                                  \
    .help = "first constant",                                                                      \
    .min = 0.0,                                                                                    \
    .max = 1e12,                                                                                   \
    .def = 60000.0,                                                                                \
    .source = "face flesh: Sifakis 2007" },                                                        \
  {                                                                                                \
    .key = "c01_pa", .unit = "Pa", .help = "second constant", .min = 0.0, .max = 1e12,             \
    .def = 20000.0, .source = "face flesh: Sifakis 2007"                                           \
  }
#define PLA_PARAM_BULK                                                                             \
  {                                                                                                \
    .key = "bulk_pa", .unit = "Pa", .help = "bulk modulus; 1e6 to 1e7 is nearly incompressible",   \
    .min = 0.0, .min_open = true, .max = 1e14, .def = 1e6, .source = "face flesh: Sifakis 2007"    \
  }

/* The two rows that most parameter tables begin with. */
#define PLA_PARAM_YOUNG                                                                            \
  {                                                                                                \
    .key = "young_pa", .unit = "Pa", .help = "Young's modulus at small strain", .min = 0.0,        \
    .min_open = true, .max = 1e12, .def = 10000.0,                                                 \
    .source = "passive soft tissue, 1 to 100 kPa: Fung, Biomechanics, 1993"                        \
  }
#define PLA_PARAM_POISSON                                                                          \
  {                                                                                                \
    .key = "poisson", .unit = "", .help = "Poisson's ratio; tissue is nearly incompressible",      \
    .min = -1.0, .min_open = true, .max = 0.5, .max_open = true, .def = 0.45,                      \
    .source = "0.45 to 0.499 for tissue; below 0.48 linear tets do not lock"                       \
  }

/* prepare() for the materials with those two parameters: constants are mu, lambda */
PlaStatus pla_prepare_lame(const double *param, double constants[PLA_MAX_CONSTANTS], PlaError *err);
/* moduli() for constants mu, lambda, with lambda as the volumetric coefficient */
void pla_moduli_lame(const double *constants, double *mu, double *lambda, double *vol);
extern const PlaParam pla_params_lame[];

/* volume_modulus() for materials whose first, second or third constant it is */
double *pla_volume_modulus_0(double *constants);
double *pla_volume_modulus_1(double *constants);
double *pla_volume_modulus_2(double *constants);
