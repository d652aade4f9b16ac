/* Stretch that tissue already has in the rest shape of the mesh (PlaPoint.prestretch): the tension
 * of skin along its lines, and muscle whose rest shape changes with activation. */
#pragma once

#include "sim/material/material.h"

/* Skin under tension in its plane: stretched by @along in the unit direction @line, by @across in
 * the other direction of the plane whose unit normal is @normal, and thinned so that its volume is
 * kept.
 * @line need not lie exactly in the plane; it is projected.  Skin cut free shrinks by 1/along and
 * 1/across.  Row-major, symmetric. */
void pla_prestretch_skin(const double line[3], const double normal[3], double along, double across,
                         double g[9]);

/* The stretches along and across of skin that bears @tension[0] along and @tension[1] across, Pa of
 * true stress, when nothing presses on it: for a law whose fibres are those of @tissue (its F does
 * not matter).  PLA_ERR_USAGE where stretches of 1/3 to 3 do not do. */
PlaStatus pla_prestretch_from_tension(const PlaMaterial *material, const double *constants,
                                      const PlaPoint *tissue, const double line[3],
                                      const double normal[3], const double tension[2],
                                      double stretch[2], PlaError *err);

/* Muscle that contracts by a change of rest shape: along the unit direction @fibre its rest length
 * becomes 1/s of what it was, s = (1 + a) / (1 + gamma a), and s^alpha of it across (alpha = 1/2
 * keeps the volume).  @activation >= 0; gamma in (0, 1) is the shortest rest length (Chen
 * 2024). */
void pla_prestretch_activation(const double fibre[3], double activation, double gamma, double alpha,
                               double g[9]);
