/* The force of muscle fibres against their stretch, active and passive, normalised to the greatest
 * active force at x = 1 (x: fibre stretch over optimal stretch).
 *
 * zajac:   active 1 - 25/6 e^2 for |e| < 0.4, 25/3 (|e| - 0.6)^2 up to 0.6, then 0 (e = x - 1);
 *          passive p1 (exp(p2 e) - p2 e - 1) for e > 0, a straight line beyond e = 0.4.
 * blemker: active 9 (x-0.4)^2, 1 - 4 (1-x)^2, 9 (x-1.6)^2 between 0.4, 0.6, 1.4, 1.6;
 *          passive p1 (exp(p2 e) - 1) for e > 0, a straight line beyond e = 0.4.
 * none:    active 1 at any stretch, passive 0.
 * A table has points of both of its own (pla_fibre_table()).
 * p1 = 0.05, p2 = 6.6 (Zajac 1989; Blemker, Pinsky and Delp 2005).  The zajac forces are
 * continuously differentiable.  Of the blemker ones, the active slope jumps at 0.6 and 1.4 (3.6
 * to 3.2), the passive slope at 1 (0 to 0.33). */
#pragma once

#include "sim/material/dual.h"
#include "sim/material/material.h"

/* from PLA_FIBRE_TABLE on: tables */
typedef enum {
  PLA_FIBRE_ZAJAC = 0,
  PLA_FIBRE_BLEMKER,
  PLA_FIBRE_NONE,
  PLA_FIBRE_TABLE
} PlaFibreCurve;

/* NULL-ended: "zajac", "blemker", "none" */
extern const char *const pla_fibre_curves[];

#define PLA_FIBRE_TABLES 64       /* different tables in the life of a process */
#define PLA_FIBRE_TABLE_POINTS 64 /* of a table */

/* The curve through points: rising stretches @x over the optimal one, and forces over the greatest
 * active one (@n each; NULL: 0).  It is kept for the life of the process; any thread.
 * PLA_ERR_USAGE for what makes no curve. */
PlaStatus pla_fibre_table(const double *x, const double *active, const double *passive, int n,
                          PlaFibreCurve *out, PlaError *err);
bool pla_fibre_curve_exists(double curve);
/* active (@k 0) or passive (1) force of a table with its slope, and its integral from 0 */
void pla_fibre_table_force(PlaFibreCurve curve, int k, double x, double *force, double *slope);
PlaDual pla_fibre_table_energy(PlaFibreCurve curve, int k, PlaDual x);

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

/* Whether the material is "muscle" as the sum of neo-Hookean flesh, constants[0] and [1] its Lame
 * constants mu and lambda, and fibres of plain stretch; then with the law of these. */
bool pla_muscle_is_plain(const PlaMaterial *material, const double *constants, PlaFibreLaw *law);
