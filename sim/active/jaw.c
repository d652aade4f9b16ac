/* Poses of the jaw and their derivatives. */
#include "sim/active/jaw.h"

#include "anatomy/base/mat3.h"

#include <math.h>
#include <stdbool.h>

static void
unit(double v[3])
{
  const double n = pla_vec3_norm(v);
  for (int d = 0; d < 3; d++)
    v[d] /= n;
}

void
pla_jaw_init(PlaJaw *self, const double right[3], const double left[3], const double track[3],
             double slide, double opening)
{
  *self = (PlaJaw){ .slide = slide, .opening = opening };
  for (int d = 0; d < 3; d++) {
    self->middle[d] = 0.5 * (right[d] + left[d]);
    self->axis[d] = left[d] - right[d];
    self->track[d] = track[d];
  }
  self->width = pla_vec3_norm(self->axis);
  unit(self->axis);
  const double along = pla_vec3_dot(self->track, self->axis);
  for (int d = 0; d < 3; d++)
    self->track[d] -= along * self->axis[d];
  unit(self->track);
}

/* cos a (1 - n n^T) + n n^T + sin a [n]x, or, with @slope, its derivative by a */
static void
turn(const double n[3], double sine, double cosine, bool slope, double r[9])
{
  const double c = slope ? -sine : cosine, s = slope ? cosine : sine;
  const double cross[9] = { 0.0, -n[2], n[1], n[2], 0.0, -n[0], -n[1], n[0], 0.0 };
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      r[3 * i + j] =
          c * ((i == j) - n[i] * n[j]) + (slope ? 0.0 : n[i] * n[j]) + s * cross[3 * i + j];
}

/* Turning by +yaw about -w takes u towards v. */
static void
pose(const PlaJaw *self, const double q[PLA_JAW_DOFS], int k, double rotation[9], double shift[3])
{
  double up[3], yaw[9], open[9];
  pla_vec3_cross(self->track, self->axis, up);
  const double down[3] = { -up[0], -up[1], -up[2] };
  const double sine = (q[PLA_JAW_LEFT] - q[PLA_JAW_RIGHT]) / self->width;
  const double cosine = sqrt(fmax(0.0, 1.0 - sine * sine));
  turn(down, sine, cosine, k > PLA_JAW_OPENING, yaw);
  turn(self->axis, sin(q[PLA_JAW_OPENING]), cos(q[PLA_JAW_OPENING]), k == PLA_JAW_OPENING, open);
  pla_mat3_mul(yaw, open, rotation);
  /* d yaw / d slide = +-1 / (l cos yaw) */
  const double rate = k == PLA_JAW_LEFT    ? 1.0 / (self->width * cosine)
                      : k == PLA_JAW_RIGHT ? -1.0 / (self->width * cosine)
                                           : 1.0;
  double turned[3];
  for (int i = 0; i < 9; i++)
    rotation[i] *= rate;
  pla_mat3_apply(rotation, self->middle, turned);
  const double forward = k < 0                  ? 0.5 * (q[PLA_JAW_RIGHT] + q[PLA_JAW_LEFT])
                         : k == PLA_JAW_OPENING ? 0.0
                                                : 0.5;
  for (int d = 0; d < 3; d++)
    shift[d] = (k < 0 ? self->middle[d] : 0.0) + forward * self->track[d] - turned[d];
}

void
pla_jaw_pose(const PlaJaw *self, const double q[PLA_JAW_DOFS], double rotation[9], double shift[3])
{
  pose(self, q, -1, rotation, shift);
}

void
pla_jaw_pose_slope(const PlaJaw *self, const double q[PLA_JAW_DOFS], int k, double rotation[9],
                   double shift[3])
{
  pose(self, q, k, rotation, shift);
}

void
pla_jaw_measure(const PlaJaw *self, const double rotation[9], const double shift[3], double psi[6])
{
  double up[3], axis[3], track[3], middle[3];
  pla_vec3_cross(self->track, self->axis, up);
  pla_mat3_apply(rotation, self->axis, axis);
  pla_mat3_apply(rotation, self->track, track);
  pla_mat3_apply(rotation, self->middle, middle);
  for (int d = 0; d < 3; d++)
    middle[d] += shift[d] - self->middle[d];
  const double half = 0.5 * self->width * pla_vec3_dot(self->track, axis);
  psi[0] = pla_vec3_dot(up, axis);
  psi[1] = pla_vec3_dot(up, middle);
  psi[2] = pla_vec3_dot(self->axis, middle);
  psi[3] = pla_vec3_dot(self->track, middle) - half;
  psi[4] = pla_vec3_dot(self->track, middle) + half;
  psi[5] = pla_vec3_dot(up, track);
}

void
pla_jaw_limits(const PlaJaw *self, double lo[PLA_JAW_DOFS], double hi[PLA_JAW_DOFS])
{
  for (int k = 0; k < PLA_JAW_DOFS; k++) {
    lo[k] = 0.0;
    hi[k] = k == PLA_JAW_OPENING ? self->opening : self->slide;
  }
}
