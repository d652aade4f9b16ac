/* Torque balance by penalties on the bounds that hold: with D = weight + M, M = 1e10 on those,
 *   lambda = (W D^-1 W^T)^-1 (W D^-1 M lower + b),   a = D^-1 (M lower - W^T lambda).
 * When their set has settled, M goes to infinity: activations at a bound are exactly there, and
 * torques balance to rounding. */
#include "sim/fit/torque.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <lapack.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 100 };
static const double hard = 1e10; /* beside weights of about 1 */

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

typedef struct {
  size_t n_joints, n_lines;
  const double *w, *b, *weight;
  double lower;
  double *matrix, *lambda; /* n_joints^2, n_joints */
  unsigned char *held;     /* n_lines */
} Balance;

/* 1 / (weight + M) of a line */
static double
compliance(const Balance *self, size_t i, double wall)
{
  return !self->held[i] ? 1.0 / self->weight[i]
         : isinf(wall)  ? 0.0
                        : 1.0 / (self->weight[i] + wall);
}

/* Activations while bounds are held by @wall.  0, or from 1 the joint that nothing can turn. */
static int
solve(Balance *self, double wall, double *a)
{
  const size_t nj = self->n_joints, nl = self->n_lines;
  const double *w = self->w;
  int n = (int)nj, one = 1, info = 0;
  for (size_t j = 0; j < nj; j++) {
    self->lambda[j] = self->b[j];
    for (size_t i = 0; i < nl; i++)
      if (self->held[i])
        self->lambda[j] +=
            w[j * nl + i] * self->lower * (1.0 - self->weight[i] * compliance(self, i, wall));
    for (size_t k = 0; k <= j; k++) {
      double sum = 0.0;
      for (size_t i = 0; i < nl; i++)
        sum += w[j * nl + i] * w[k * nl + i] * compliance(self, i, wall);
      self->matrix[j * nj + k] = self->matrix[k * nj + j] = sum;
    }
  }
  LAPACK_dposv("L", &n, &one, self->matrix, &n, self->lambda, &n, &info);
  if (info != 0)
    return info > 0 ? info : 1;
  for (size_t i = 0; i < nl; i++) {
    const double c = compliance(self, i, wall);
    double sum = 0.0;
    for (size_t j = 0; j < nj; j++)
      sum -= w[j * nl + i] * self->lambda[j];
    a[i] = c * sum + (self->held[i] ? (1.0 - self->weight[i] * c) * self->lower : 0.0);
  }
  return 0;
}

/* which bounds hold at @a: true if others than before */
static bool
choose_held(Balance *self, const double *a)
{
  bool changed = false;
  for (size_t i = 0; i < self->n_lines; i++) {
    /* what the wall holds stays there while it is pushed into it, at most its softness beyond */
    const unsigned char now = a[i] < self->lower;
    changed |= now != self->held[i];
    self->held[i] = now;
  }
  return changed;
}

static PlaStatus
fail_at(const double *b, int joint, PlaError *err)
{
  return pla_fail(err, PLA_ERR_CONVERGENCE,
                  "no muscle that pulls can balance the torque of %.3g N m about joint %d",
                  b[joint], joint + 1);
}

PlaStatus
pla_torque_balance(int n_joints, int n_lines, const double *w, const double *b,
                   const double *weight, double lower, double *a, PlaTorqueReport *report,
                   PlaError *err)
{
  const size_t nj = (size_t)n_joints, nl = (size_t)n_lines;
  Balance self = {
    .n_joints = nj, .n_lines = nl, .w = w, .b = b, .weight = weight, .lower = lower
  };
  self.matrix = pla_array_new(nj * nj, sizeof *self.matrix);
  self.lambda = pla_array_new(nj, sizeof *self.lambda);
  self.held = pla_array_new0(nl, 1);
  PlaStatus st =
      self.matrix && self.lambda && self.held ? PLA_OK : pla_fail_memory(err, "the torques");
  double largest = 0.0;
  *report = (PlaTorqueReport){ .least = INFINITY };
  for (size_t j = 0; j < nj; j++)
    largest = fmax(largest, fabs(b[j]));
  for (bool changed = true; st == PLA_OK && changed && report->rounds < MAX_ROUNDS;) {
    const int stuck = solve(&self, hard, a);
    report->rounds++;
    if (stuck > 0)
      st = fail_at(b, stuck - 1, err);
    changed = st == PLA_OK && choose_held(&self, a);
  }
  for (size_t i = 0; st == PLA_OK && i < nl; i++)
    report->least = fmin(report->least, a[i]);
  /* where too few pull to balance anything exactly, what the wall let through stays */
  if (st == PLA_OK && solve(&self, INFINITY, a) > 0)
    solve(&self, hard, a);
  for (size_t i = 0; st == PLA_OK && i < nl; i++) {
    a[i] = fmax(a[i], lower);
    report->most = fmax(report->most, a[i]);
  }
  int worst = 0;
  for (int j = 0; st == PLA_OK && j < n_joints; j++) {
    const double left = fabs(left_over(j, n_lines, w, b, a));
    if (left > report->residual_nm) {
      report->residual_nm = left;
      worst = j;
    }
  }
  report->residual_rel = largest > 0.0 ? report->residual_nm / largest : 0.0;
  if (st == PLA_OK && report->residual_rel > 1e-3)
    st = fail_at(b, worst, err);
  free(self.matrix);
  free(self.lambda);
  free(self.held);
  return st;
}
