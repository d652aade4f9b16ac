/* Follower pressure on triangles.
 *
 * With c = x0 x x1 + x1 x x2 + x2 x x0 (twice the area times the normal) every vertex of a triangle
 * gets f = -p c / 6.  The derivative of c by x_b is the cross product with e_b = x_(b+2) - x_(b+1),
 * so -df_a/dx_b = p/6 [e_b]x,   symmetric part  p/12 ([e_b]x - [e_a]x),  rest  p/12 ([e_b]x +
 * [e_a]x). What the symmetric part leaves out cancels between neighbours and remains only along a
 * free rim, where pressure has no potential. */
#include "sim/fem/loads.h"

#include "anatomy/base/mat3.h"

/* c of triangle @t at x = from + s (to - from) */
static void
area_vector(const PlaFemPressure *pressure, int t, const double *from, const double *to, double s,
            double c[3])
{
  const int *tri = pressure->tri + 3 * (size_t)t;
  double x[3][3], e1[3], e2[3];
  for (int a = 0; a < 3; a++)
    for (size_t d = 0; d < 3; d++) {
      size_t i = 3 * (size_t)tri[a] + d;
      x[a][d] = from[i] + s * (to[i] - from[i]);
    }
  pla_vec3_sub(x[1], x[0], e1);
  pla_vec3_sub(x[2], x[0], e2);
  pla_vec3_cross(e1, e2, c);
}

void
pla_pressure_add_forces(const PlaFemPressure *pressure, const double *pos, double *force)
{
  for (int t = 0; t < pressure->n_tris; t++) {
    double c[3];
    area_vector(pressure, t, pos, pos, 0.0, c);
    for (int a = 0; a < 3; a++)
      for (size_t d = 0; d < 3; d++)
        force[3 * (size_t)pressure->tri[3 * t + a] + d] -= pressure->pressure[t] / 6.0 * c[d];
  }
}

double
pla_pressure_work(const PlaFemPressure *pressure, const double *from, const double *to)
{
  /* Simpson's rule, exact for the quadratic force */
  static const double at[3] = { 0.0, 0.5, 1.0 }, share[3] = { 1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0 };
  double work = 0.0;
  for (int t = 0; t < pressure->n_tris; t++) {
    const int *tri = pressure->tri + 3 * (size_t)t;
    double u[3] = { 0.0, 0.0, 0.0 };
    for (int a = 0; a < 3; a++)
      for (size_t d = 0; d < 3; d++)
        u[d] += to[3 * (size_t)tri[a] + d] - from[3 * (size_t)tri[a] + d];
    for (int q = 0; q < 3; q++) {
      double c[3];
      area_vector(pressure, t, from, to, at[q], c);
      work -= share[q] * pressure->pressure[t] / 6.0 * pla_vec3_dot(c, u);
    }
  }
  return work;
}

/* e_a: the edge opposite vertex a */
static void
opposite_edges(const int *tri, const double *pos, double e[3][3])
{
  for (int a = 0; a < 3; a++)
    pla_vec3_sub(pos + 3 * (size_t)tri[(a + 2) % 3], pos + 3 * (size_t)tri[(a + 1) % 3], e[a]);
}

void
pla_pressure_add_rim(const PlaFemPressure *pressure, const double *pos, const double *disp,
                     double *force)
{
  for (int t = 0; t < pressure->n_tris; t++) {
    const int *tri = pressure->tri + 3 * (size_t)t;
    double e[3][3];
    opposite_edges(tri, pos, e);
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) {
        double c[3], both[3];
        for (int d = 0; d < 3; d++)
          both[d] = pressure->pressure[t] / 12.0 * (e[a][d] + e[b][d]);
        pla_vec3_cross(both, disp + 3 * (size_t)tri[b], c);
        for (size_t d = 0; d < 3; d++)
          force[3 * (size_t)tri[a] + d] += c[d];
      }
  }
}

void
pla_pressure_stiffness(const PlaFemPressure *pressure, int t, const double *pos,
                       double stiffness[81])
{
  double e[3][3];
  opposite_edges(pressure->tri + 3 * (size_t)t, pos, e);
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      double v[3];
      for (int d = 0; d < 3; d++)
        v[d] = pressure->pressure[t] / 12.0 * (e[b][d] - e[a][d]);
      const double cross[9] = { 0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0 };
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          stiffness[9 * (3 * a + i) + 3 * b + j] = cross[3 * i + j];
    }
}
