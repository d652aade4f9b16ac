/* Muscle fibres as terms of a material's energy. */
#pragma once

#include "sim/material/fibre-curve.h"
#include "sim/material/invariant.h"

/* Fibre @m of the point, with its active and passive fractions.  @clamp: the slope of the force is
 * taken as 0 where negative, which makes the plain (not deviatoric) term positive semidefinite. */
void pla_fibre_term(const PlaFibreLaw *law, const PlaPoint *point, int m, int order, bool clamp,
                    PlaInvariant *term);
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
    .key = "curve", .unit = "", .help = "force against stretch", .min = 0.0,                       \
    .max = PLA_FIBRE_TABLE + PLA_FIBRE_TABLES - 1, .def = default_, .choices = pla_fibre_curves,   \
    .source = "Zajac 1989; Blemker, Pinsky and Delp 2005"                                          \
  }

/* the sentence for a curve that is none */
PlaStatus pla_fibre_check_curve(double curve, PlaError *err);
