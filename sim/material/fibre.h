/* The force of muscle fibres against their stretch, active and passive, normalised to the greatest
 * active force at x = 1 (x: fibre stretch over optimal stretch).
 *
 * zajac:   active 1 - 25/6 e^2 for |e| < 0.4, 25/3 (|e| - 0.6)^2 up to 0.6, then 0 (e = x - 1);
 *          passive p1 (exp(p2 e) - p2 e - 1) for e > 0, a straight line beyond e = 0.4.
 * blemker: active 9 (x-0.4)^2, 1 - 4 (1-x)^2, 9 (x-1.6)^2 between 0.4, 0.6, 1.4, 1.6;
 *          passive p1 (exp(p2 e) - 1) for e > 0, a straight line beyond e = 0.4.
 * p1 = 0.05, p2 = 6.6 (Zajac 1989; Blemker, Pinsky and Delp 2005).  The zajac forces are
 * continuously differentiable.  Of the blemker ones, the active slope jumps at 0.6 and 1.4 (3.6
 * to 3.2), the passive slope at 1 (0 to 0.33). */
#pragma once

#include "sim/material/dual.h"
#include "sim/material/field.h"

typedef enum { PLA_FIBRE_ZAJAC = 0, PLA_FIBRE_BLEMKER } PlaFibreCurve;

/* NULL-ended: "zajac", "blemker" */
extern const char *const pla_fibre_curves[];

/* force = active f_a(x) + passive f_p(x), and its slope */
void pla_fibre_force(PlaFibreCurve curve, double x, double active, double passive, double *force,
                     double *slope);

/* the integral of that force from 0 */
PlaDual pla_fibre_energy(PlaFibreCurve curve, PlaDual x, double active, double passive);

/* The energy of a fibre in tissue: W(l) = sigma U(l / optimal), where l is the stretch |F v|, or,
 * if deviatoric, J^(-1/3) |F v|: what remains of it when the change of volume is taken out. */
typedef struct {
  double sigma;   /* greatest active stress, Pa */
  double optimal; /* stretch at which it is reached */
  PlaFibreCurve curve;
  bool deviatoric;
} PlaFibreLaw;

/* Fibre @m of the point, with its active and passive fractions.  @clamp: the slope of the force is
 * taken as 0 where negative, which makes the plain (not deviatoric) term positive semidefinite. */
void pla_fibre_term(const PlaFibreLaw *law, const PlaPoint *point, int m, int order, bool clamp,
                    PlaField *term);
PlaDual pla_fibre_complex(const PlaFibreLaw *law, const PlaPoint *point, int m, const PlaDual f[9]);

/* I4 of fibre @m on a dual F */
PlaDual pla_fibre_complex_i4(const PlaPoint *point, int m, const PlaDual f[9]);

/* The rows of a parameter table that describe fibres. */
#define PLA_PARAM_FIBRE_STRESS                                                                     \
  {                                                                                                \
    .key = "sigma_max_pa", .unit = "Pa", .help = "greatest active stress of the fibres",           \
    .min = 0.0, .max = 1e9, .def = 3e5, .source = "skeletal muscle: Zajac 1989"                    \
  }
#define PLA_PARAM_FIBRE_OPTIMAL                                                                    \
  {                                                                                                \
    .key = "optimal_stretch", .unit = "", .help = "fibre stretch at which muscle is strongest",    \
    .min = 0.5, .max = 2.0, .def = 1.0, .source = "the rest length: Sifakis 2007"                  \
  }
#define PLA_PARAM_FIBRE_CURVE(default_)                                                            \
  {                                                                                                \
    .key = "curve", .unit = "", .help = "force against stretch", .min = 0.0, .max = 1.0,           \
    .def = default_, .choices = pla_fibre_curves,                                                  \
    .source = "Zajac 1989; Blemker, Pinsky and Delp 2005"                                          \
  }
