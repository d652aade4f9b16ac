/* Activations of a limb from its pose and what it carries: torque balance about its joints.
 *
 * Streamlines of muscles pull on their two ends with sigma (f_p(l) + a f_a(l)), l their length over
 * that at rest, along their tangents into the muscle.  About every joint axis the torques of the
 * streamlines, of weights and of other forces on the bodies that it moves add up to zero, W a + b =
 * 0,   and of all such a >= lower that of least sum sigma a^2 is taken (quasistatic inverse
 * activation, with f_p(l) = exp(l - 1) - 1 above 1 and f_a(l) = l (2 - l) within 0..2). Activations
 * have no upper bound: one above 1 says that the limb cannot carry the load. */
#pragma once

#include "anatomy/base/status.h"

#include <stdint.h>

typedef struct {
  double pivot[3], axis[3]; /* m; unit */
} PlaTorqueJoint;

/* A point of a body, and which joints move that body: bit j for joint j. */
typedef struct {
  double point[3];
  double force[3]; /* N; of streamlines' ends: the unit tangent into the muscle */
  uint64_t moved_by;
} PlaTorquePull;

typedef struct {
  PlaTorquePull end[2];
  double sigma;  /* N */
  double length; /* over that at rest */
} PlaTorqueLine;

double pla_torque_passive(double length); /* f_p */
double pla_torque_active(double length);  /* f_a */

/* W (n_joints x n_lines) and b (n_joints), N m.  At most 64 joints. */
void pla_torque_assemble(int n_joints, const PlaTorqueJoint *joint, int n_lines,
                         const PlaTorqueLine *line, int n_loads, const PlaTorquePull *load,
                         double *w, double *b);

typedef struct {
  int rounds;          /* guesses of which bounds hold */
  double residual_nm;  /* largest torque that is left */
  double residual_rel; /* over the largest that was to be balanced */
  double least;        /* smallest activation before it was put on its bound */
  double most;
} PlaTorqueReport;

/* min 1/2 sum weight a^2, W a + b = 0, a >= lower.  PLA_ERR_CONVERGENCE names a joint about which
 * nothing can balance the load. */
PlaStatus pla_torque_balance(int n_joints, int n_lines, const double *w, const double *b,
                             const double *weight, double lower, double *a, PlaTorqueReport *report,
                             PlaError *err);
