/* Rigid transforms x -> R x + t: inverse, composition, angle, and small turns about a centre. */
#include "anatomy/base/mat3.h"
#include "anatomy/registration/registration.h"

#include <math.h>
#include <string.h>

PlaRigid
pla_rigid_identity(void)
{
  return (PlaRigid){ .r = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
}

void
pla_rigid_apply(const PlaRigid *self, const double p[3], double q[3])
{
  double x[3];
  pla_mat3_apply(self->r, p, x);
  for (int d = 0; d < 3; d++)
    q[d] = x[d] + self->t_mm[d];
}

PlaRigid
pla_rigid_inverse(const PlaRigid *self)
{
  PlaRigid inv;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      inv.r[3 * i + j] = self->r[3 * j + i];
  pla_mat3_apply(inv.r, self->t_mm, inv.t_mm);
  for (int d = 0; d < 3; d++)
    inv.t_mm[d] = -inv.t_mm[d];
  return inv;
}

PlaRigid
pla_rigid_then(const PlaRigid *a, const PlaRigid *b)
{
  PlaRigid both;
  pla_mat3_mul(b->r, a->r, both.r);
  pla_rigid_apply(b, a->t_mm, both.t_mm);
  return both;
}

double
pla_rigid_angle_deg(const PlaRigid *self)
{
  const double *r = self->r;
  const double s[3] = { r[7] - r[5], r[2] - r[6], r[3] - r[1] };
  return 180.0 / M_PI * atan2(pla_vec3_norm(s), r[0] + r[4] + r[8] - 1.0);
}

void
pla_rigid_to_affine(const PlaRigid *self, double affine[12])
{
  for (int i = 0; i < 3; i++) {
    memcpy(affine + 4 * i, self->r + 3 * i, 3 * sizeof *affine);
    affine[4 * i + 3] = self->t_mm[i];
  }
}

PlaRigid
pla_rigid_about(const double centre[3], const double turn[3], const double shift[3])
{
  /* Rodrigues' formula: R = I + sin a K + (1 - cos a) K^2 */
  const double a = pla_vec3_norm(turn);
  const double s = a > 0.0 ? sin(a) / a : 1.0, c = a > 0.0 ? (1.0 - cos(a)) / (a * a) : 0.5;
  const double k[9] = { 0, -turn[2], turn[1], turn[2], 0, -turn[0], -turn[1], turn[0], 0 };
  double k2[9];
  PlaRigid out = pla_rigid_identity();
  pla_mat3_mul(k, k, k2);
  for (int i = 0; i < 9; i++)
    out.r[i] += s * k[i] + c * k2[i];
  double turned[3];
  pla_mat3_apply(out.r, centre, turned);
  for (int d = 0; d < 3; d++)
    out.t_mm[d] = centre[d] - turned[d] + shift[d];
  return out;
}
