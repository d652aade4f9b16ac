/* Numbers that carry derivatives: dual over complex.
 *
 * x = a + b d with complex a, b and d^2 = 0.  A step h along the imaginary unit and one along d
 * give, by one evaluation of f and without any subtraction, Im f(x + h i + d).b / h = f''(x),   Re
 * f.b = f'(x),   Im f.a / h = f'(x) to rounding, for any h down to 1e-100 (Lantoine et al. 2012;
 * Luo 2020).  Where the real part stands clear of the step, a function uses its real value
 * and slope; near a root or a pole it keeps true complex arithmetic, which passes removable
 * singularities such as sqrt(x^2) at 0. */
#pragma once

#include "sim/material/material.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>

#undef I /* too short a name for a macro */

#define PLA_COMPLEX_STEP 1e-40

struct PlaDual {
  double complex a, b;
};

/* clang has no CMPLX with this C library; re + im i would lose the sign of zero */
static inline double complex
pla_complex(double re, double im)
{
  union {
    double part[2];
    double complex z;
  } u = { { re, im } };
  return u.z;
}

/* plain products: C's own look for infinities first, at five times the cost */
static inline double complex
pla_complex_mul(double complex x, double complex y)
{
  return pla_complex(creal(x) * creal(y) - cimag(x) * cimag(y),
                     creal(x) * cimag(y) + cimag(x) * creal(y));
}

static inline double complex
pla_complex_scale(double r, double complex x)
{
  return pla_complex(r * creal(x), r * cimag(x));
}

static inline double complex
pla_complex_div(double complex x, double complex y)
{
  double norm = creal(y) * creal(y) + cimag(y) * cimag(y);
  double complex q = pla_complex_mul(x, conj(y));
  return pla_complex(creal(q) / norm, cimag(q) / norm);
}

/* the imaginary part is a step, not a value: squares of it are below rounding */
static inline bool
pla_complex_is_step(double complex x)
{
  return fabs(cimag(x)) < 1e-10 * fabs(creal(x));
}

static inline PlaDual
pla_dual(double x)
{
  return (PlaDual){ x, 0.0 };
}

static inline double
pla_dual_value(PlaDual x)
{
  return creal(x.a);
}

static inline PlaDual
pla_dual_add(PlaDual x, PlaDual y)
{
  return (PlaDual){ x.a + y.a, x.b + y.b };
}

static inline PlaDual
pla_dual_sub(PlaDual x, PlaDual y)
{
  return (PlaDual){ x.a - y.a, x.b - y.b };
}

/* x + r */
static inline PlaDual
pla_dual_plus(PlaDual x, double r)
{
  return (PlaDual){ x.a + r, x.b };
}

static inline PlaDual
pla_dual_scale(double r, PlaDual x)
{
  return (PlaDual){ pla_complex_scale(r, x.a), pla_complex_scale(r, x.b) };
}

static inline PlaDual
pla_dual_mul(PlaDual x, PlaDual y)
{
  return (PlaDual){ pla_complex_mul(x.a, y.a),
                    pla_complex_mul(x.a, y.b) + pla_complex_mul(x.b, y.a) };
}

static inline PlaDual
pla_dual_square(PlaDual x)
{
  return pla_dual_mul(x, x);
}

static inline PlaDual
pla_dual_div(PlaDual x, PlaDual y)
{
  double complex q = pla_complex_div(x.a, y.a);
  return (PlaDual){ q, pla_complex_div(x.b - pla_complex_mul(q, y.b), y.a) };
}

static inline PlaDual
pla_dual_exp(PlaDual x)
{
  double complex e;
  if (fabs(cimag(x.a)) < 1e-10) {
    double r = exp(creal(x.a));
    e = pla_complex(r, r * cimag(x.a));
  } else {
    e = cexp(x.a);
  }
  return (PlaDual){ e, pla_complex_mul(e, x.b) };
}

static inline PlaDual
pla_dual_log(PlaDual x)
{
  bool step = pla_complex_is_step(x.a) && creal(x.a) > 0.0;
  double complex g = step ? pla_complex(log(creal(x.a)), cimag(x.a) / creal(x.a)) : clog(x.a);
  return (PlaDual){ g, pla_complex_div(x.b, x.a) };
}

static inline PlaDual
pla_dual_sqrt(PlaDual x)
{
  double complex g;
  if (pla_complex_is_step(x.a) && creal(x.a) > 0.0) {
    double r = sqrt(creal(x.a));
    g = pla_complex(r, 0.5 * cimag(x.a) / r);
  } else {
    g = csqrt(x.a);
  }
  return (PlaDual){ g, pla_complex_div(x.b, pla_complex_scale(2.0, g)) };
}

/* x^r, for a positive real part */
static inline PlaDual
pla_dual_power(PlaDual x, double r)
{
  double g = pow(creal(x.a), r);
  double complex power = pla_complex(g, r * g * cimag(x.a) / creal(x.a));
  return (PlaDual){ power,
                    pla_complex_scale(r, pla_complex_mul(pla_complex_div(power, x.a), x.b)) };
}

/* g + d y + dd y^2 / 2 about @at, y = x - at: how logarithms and powers go on below a floor */
static inline PlaDual
pla_dual_taylor(PlaDual x, double at, double g, double d, double dd)
{
  PlaDual y = pla_dual_plus(x, -at);
  return pla_dual_plus(pla_dual_mul(y, pla_dual_plus(pla_dual_scale(0.5 * dd, y), d)), g);
}

/* ln J and J^r of a determinant, continued below PLA_DET_FLOOR: energies made of them are defined
 * and twice differentiable for inverted elements too */
#define PLA_DET_FLOOR (PLA_STRETCH_FLOOR * PLA_STRETCH_FLOOR * PLA_STRETCH_FLOOR)

static inline PlaDual
pla_dual_log_det(PlaDual det)
{
  const double e = PLA_DET_FLOOR;
  return pla_dual_value(det) >= e ? pla_dual_log(det)
                                  : pla_dual_taylor(det, e, log(e), 1.0 / e, -1.0 / (e * e));
}

static inline PlaDual
pla_dual_power_det(PlaDual det, double r)
{
  const double e = PLA_DET_FLOOR;
  if (pla_dual_value(det) >= e)
    return pla_dual_power(det, r);
  double g = pow(e, r);
  return pla_dual_taylor(det, e, g, r * g / e, r * (r - 1.0) * g / (e * e));
}
