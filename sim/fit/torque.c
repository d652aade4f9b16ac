/* Torque balance by penalties on the bounds that hold: with D = weight + M, M = 1e10 on those,
 *   lambda = (W D^-1 W^T)^-1 (W D^-1 M lower + b),   a = D^-1 (M lower - W^T lambda). */
#include "sim/fit/torque.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <lapack.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 100 };
static const double wall = 1e10;

double
pla_torque_passive(double length)
{
  return length > 1.0 ? exp(length - 1.0) - 1.0 : 0.0;
}

double
pla_torque_active(double length)
{
  return length > 0.0 && length < 2.0 ? length * (2.0 - length) : 0.0;
}

static double
torque(const PlaTorqueJoint *joint, const PlaTorquePull *pull)
{
  double arm[3], moment[3];
  pla_vec3_sub(pull->point, joint->pivot, arm);
  pla_vec3_cross(arm, pull->force, moment);
  return pla_vec3_dot(moment, joint->axis);
}

void
pla_torque_assemble(int n_joints, const PlaTorqueJoint *joint, int n_lines,
                    const PlaTorqueLine *line, int n_loads, const PlaTorquePull *load, double *w,
                    double *b)
{
  for (int j = 0; j < n_joints; j++) {
    b[j] = 0.0;
    for (int i = 0; i < n_lines; i++) {
      double arm = 0.0;
      for (int e = 0; e < 2; e++)
        if (line[i].end[e].moved_by >> j & 1)
          arm += torque(&joint[j], &line[i].end[e]);
      w[(size_t)j * (size_t)n_lines + (size_t)i] =
          arm * line[i].sigma * pla_torque_active(line[i].length);
      b[j] += arm * line[i].sigma * pla_torque_passive(line[i].length);
    }
    for (int l = 0; l < n_loads; l++)
      if (load[l].moved_by >> j & 1)
        b[j] += torque(&joint[j], &load[l]);
  }
}

/* torque about @j that is left over */
static double
left_over(int j, int n, const double *w, const double *b, const double *a)
{
  double sum = b[j];
  for (int i = 0; i < n; i++)
    sum += w[(size_t)j * (size_t)n + (size_t)i] * a[i];
  return sum;
}

PlaStatus
pla_torque_balance(int n_joints, int n_lines, const double *w, const double *b, const double *weight,
                   double lower, double *a, PlaTorqueReport *report, PlaError *err)
{
  const size_t nj = (size_t)n_joints, nl = (size_t)n_lines;
  double *matrix = pla_array_new(nj * nj, sizeof *matrix), *lambda = pla_array_new(nj, sizeof *lambda);
  unsigned char *held = pla_array_new0(nl, 1);
  PlaStatus st = matrix && lambda && held ? PLA_OK : pla_fail_memory(err, "the torques");
  double largest = 0.0;
  *report = (PlaTorqueReport){ 0 };
  for (size_t j = 0; j < nj; j++)
    largest = fmax(largest, fabs(b[j]));
  for (bool changed = true; st == PLA_OK && changed && report->rounds < MAX_ROUNDS;) {
    int n = n_joints, one = 1, info = 0;
    changed = false;
    report->rounds++;
    for (size_t j = 0; j < nj; j++) {
      lambda[j] = b[j];
      for (size_t i = 0; i < nl; i++)
        if (held[i])
          lambda[j] += w[j * nl + i] * wall * lower / (weight[i] + wall);
      for (size_t k = 0; k <= j; k++) {
        double sum = 0.0;
        for (size_t i = 0; i < nl; i++)
          sum += w[j * nl + i] * w[k * nl + i] / (weight[i] + (held[i] ? wall : 0.0));
        matrix[j * nj + k] = matrix[k * nj + j] = sum;
      }
    }
    LAPACK_dposv("L", &n, &one, matrix, &n, lambda, &n, &info);
    if (info != 0) {
      st = pla_fail(err, PLA_ERR_CONVERGENCE,
                    "no muscle that pulls can balance the torque of %.3g N m about joint %d",
                    b[info > 0 ? info - 1 : 0], info > 0 ? info : 1);
      break;
    }
    report->least = INFINITY;
    for (size_t i = 0; i < nl; i++) {
      double sum = held[i] ? wall * lower : 0.0;
      for (size_t j = 0; j < nj; j++)
        sum -= w[j * nl + i] * lambda[j];
      a[i] = sum / (weight[i] + (held[i] ? wall : 0.0));
      report->least = fmin(report->least, a[i]);
    }
    for (size_t i = 0; i < nl; i++) {
      /* what the wall holds stays there while it is pushed into it, at most its softness beyond */
      const unsigned char now = a[i] < lower;
      changed |= now != held[i];
      held[i] = now;
    }
  }
  for (size_t i = 0; st == PLA_OK && i < nl; i++) {
    a[i] = fmax(a[i], lower);
    report->most = fmax(report->most, a[i]);
  }
  for (int j = 0; st == PLA_OK && j < n_joints; j++)
    report->residual_nm = fmax(report->residual_nm, fabs(left_over(j, n_lines, w, b, a)));
  report->residual_rel = largest > 0.0 ? report->residual_nm / largest : 0.0;
  if (st == PLA_OK && report->residual_rel > 1e-3) {
    int worst = 0;
    for (int j = 1; j < n_joints; j++)
      if (fabs(left_over(j, n_lines, w, b, a)) > fabs(left_over(worst, n_lines, w, b, a)))
        worst = j;
    st = pla_fail(err, PLA_ERR_CONVERGENCE,
                  "no muscle that pulls can balance the torque of %.3g N m about joint %d", b[worst],
                  worst + 1);
  }
  free(matrix);
  free(lambda);
  free(held);
  return st;
}
