/* Springs between interpolated points: E = 1/2 C^T K C, force on vertex j: -w_j K C. */
#include "sim/fem/loads.h"

#include "anatomy/base/mat3.h"

void
pla_spring_set_stiffness(PlaSpring *spring, const double n[3], double normal, double tangential)
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      spring->stiffness[3 * i + j] =
          (normal - tangential) * n[i] * n[j] + (i == j ? tangential : 0.0);
}

void
pla_spring_gap(const PlaSpring *spring, const double *pos, double gap[3])
{
  for (size_t d = 0; d < 3; d++) {
    gap[d] = -spring->offset[d];
    for (int a = 0; a < spring->n_verts; a++)
      gap[d] += spring->weight[a] * pos[3 * (size_t)spring->vert[a] + d];
  }
}

bool
pla_spring_is_idle(const PlaSpring *spring, const double gap[3])
{
  return pla_vec3_dot(spring->push, gap) > 0.0;
}

void
pla_spring_force(const PlaSpring *spring, const double *pos, double force[3])
{
  double gap[3];
  pla_spring_gap(spring, pos, gap);
  pla_mat3_apply(spring->stiffness, gap, force);
  const bool idle = pla_spring_is_idle(spring, gap);
  for (int d = 0; d < 3; d++)
    force[d] = idle ? 0.0 : -force[d];
}

double
pla_springs_energy(const PlaFemSprings *springs, const double *pos)
{
  double sum = 0.0;
  for (int s = 0; s < springs->n; s++) {
    double gap[3], pull[3];
    pla_spring_gap(&springs->spring[s], pos, gap);
    if (pla_spring_is_idle(&springs->spring[s], gap))
      continue;
    pla_mat3_apply(springs->spring[s].stiffness, gap, pull);
    sum += 0.5 * pla_vec3_dot(gap, pull);
  }
  return sum;
}

void
pla_springs_add_forces(const PlaFemSprings *springs, const double *pos, double *force)
{
  for (int s = 0; s < springs->n; s++) {
    const PlaSpring *spring = &springs->spring[s];
    double f[3];
    pla_spring_force(spring, pos, f);
    for (int a = 0; a < spring->n_verts; a++)
      for (size_t d = 0; d < 3; d++)
        force[3 * (size_t)spring->vert[a] + d] += spring->weight[a] * f[d];
  }
}
