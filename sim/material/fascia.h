/* Stiffening of a fibrous sheath: k/2 sum_i max(s_i - 1, 0)^2, which resists stretch in every
 * direction and nothing else (Sifakis 2007, 2.5).  Its stress is continuous, its tangent jumps at
 * s_i = 1; there, tissue at rest counts as slack. */
#pragma once

#include "sim/material/dual.h"

double pla_fascia_energy(double k, const double s[3]);
/* adds to what is there; p or hessian NULL: not */
void pla_fascia_add(double k, const double s[3], double p[3], double hessian[6]);
/* above the stretch floor */
PlaDual pla_fascia_complex(double k, const PlaPoint *point, const PlaDual f[9]);

#define PLA_PARAM_FASCIA(default_)                                                                 \
  {                                                                                                \
    .key = "fascia_pa", .unit = "Pa", .help = "stiffness of the sheath against any stretch",       \
    .min = 0.0, .max = 1e12, .def = default_,                                                      \
    .source = "as stiff as the flesh it wraps; Sifakis 2007 gives no value"                        \
  }
