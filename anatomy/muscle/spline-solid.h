/* B-spline solids: a smooth map F(u, v, w) of the unit cube into space, whose u lines are fibres
 * (Ng-Thow-Hing 2001; Sifakis 2007).
 *
 *     F(u, v, w) = sum_ijk B_i(u) B_j(v) B_k(w) q_ijk,  B of degree @degree, uniform, clamped
 *
 * Points have any unit, the same throughout. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>

typedef struct PlaSplineSolid PlaSplineSolid;

#define PLA_SPLINE_MAX_CONTROL 64 /* control points along one axis */

/* Through given points: sample (i, j, k), at sample[3 (i + n[0] (j + n[1] k))], is the place of the
 * parameters pla_spline_abscissa(n[0], degree[0], i), ...  Each n[a] > degree[a], 1 <= degree <= 3.
 */
PlaStatus pla_spline_solid_interpolate(const int n[3], const int degree[3], const double *sample,
                                       PlaSplineSolid **out, PlaError *err);
/* From control points in the same order. */
PlaStatus pla_spline_solid_new(const int n[3], const int degree[3], const double *control,
                               PlaSplineSolid **out, PlaError *err);
void pla_spline_solid_free(PlaSplineSolid *self); /* NULL is fine */
/* Parameter (0..1) of sample @i of @n: the mean of the knots that control point i hangs on. */
double pla_spline_abscissa(int n, int degree, int i);

/* F and, where not NULL, its Jacobian (row-major, columns d/du, d/dv, d/dw). */
void pla_spline_solid_eval(const PlaSplineSolid *self, const double uvw[3], double pos[3],
                           double jacobian[9]);

typedef struct {
  double uvw[3];   /* of the nearest point found, in the cube */
  double distance; /* from the place asked for */
  int steps;       /* Newton steps taken */
  bool inside;     /* F(uvw) is the place, to 1e-9 of the solid's size */
} PlaSplinePlace;

/* Solves F(u, v, w) = pos by Newton steps held in the cube, from the nearest of a table of samples.
 * For a place outside the solid, or where Newton fails, the nearest point found.  Any thread. */
PlaSplinePlace pla_spline_solid_invert(const PlaSplineSolid *self, const double pos[3]);
/* The unit fibre dF/du at @pos, and where that is. */
PlaSplinePlace pla_spline_solid_fibre(const PlaSplineSolid *self, const double pos[3],
                                      double dir[3]);
