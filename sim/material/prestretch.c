/* Rest-stretch tensors: G = sum of stretches on orthogonal unit directions.
 *
 * A tension is turned into stretches by Newton's method on the logarithms of the two.  The volume
 * being kept, the pressure is free and follows from the face that nothing presses on: what must
 * agree are the stresses in the plane less the one along the normal. */
#include "sim/material/prestretch.h"

#include "anatomy/base/mat3.h"

#include <string.h>

void
pla_prestretch_skin(const double line[3], const double normal[3], double along, double across,
                    double g[9])
{
  double t[3], out = pla_vec3_dot(line, normal), thickness = 1.0 / (along * across);
  for (int d = 0; d < 3; d++)
    t[d] = line[d] - out * normal[d];
  double length = pla_vec3_norm(t);
  /* a line along the normal has no direction in the plane: the same stretch both ways */
  double mean = sqrt(along * across), a = length > 1e-9 ? along : mean,
         b = length > 1e-9 ? across : mean;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double tt = length > 1e-9 ? t[i] * t[j] / (length * length) : 0.0;
      double nn = normal[i] * normal[j];
      g[3 * i + j] = b * (i == j) + (a - b) * tt + (thickness - b) * nn;
    }
}

/* true stress along and across less that along the normal, at logarithmic stretches */
static void
plane_stress(const PlaMaterial *material, const double *constants, const PlaPoint *tissue,
             const double axes[3][3], const double log_stretch[2], double stress[2])
{
  PlaPoint point = *tissue;
  double p[9], cauchy[9], on[3];
  point.prestretch = NULL;
  pla_prestretch_skin(axes[0], axes[2], exp(log_stretch[0]), exp(log_stretch[1]), point.f);
  pla_point_decompose(&point);
  pla_material_stress(material, constants, &point, p);
  pla_mat3_mul_nt(p, point.f, cauchy);
  for (int i = 0; i < 3; i++) {
    double row[3];
    pla_mat3_apply(cauchy, axes[i], row);
    on[i] = pla_vec3_dot(axes[i], row);
  }
  stress[0] = on[0] - on[2];
  stress[1] = on[1] - on[2];
}

PlaStatus
pla_prestretch_from_tension(const PlaMaterial *material, const double *constants,
                            const PlaPoint *tissue, const double line[3], const double normal[3],
                            const double tension[2], double stretch[2], PlaError *err)
{
  const double step = 1e-6, most = log(3.0);
  double axes[3][3], x[2] = { 0.0, 0.0 }, at[2], mu, lambda, vol;
  double out = pla_vec3_dot(line, normal);
  for (int d = 0; d < 3; d++)
    axes[0][d] = line[d] - out * normal[d];
  double length = pla_vec3_norm(axes[0]);
  if (!(length > 1e-9))
    return pla_fail(err, PLA_ERR_USAGE, "the line of the tension stands on the skin");
  for (int d = 0; d < 3; d++)
    axes[0][d] /= length;
  memcpy(axes[2], normal, sizeof axes[2]);
  pla_vec3_cross(axes[2], axes[0], axes[1]);
  pla_material_moduli(material, constants, &mu, &lambda, &vol);
  const double close = 1e-9 * (mu + fabs(tension[0]) + fabs(tension[1]));
  for (int k = 0; k < 200; k++) {
    double slope[2][2], r[2], move[2];
    plane_stress(material, constants, tissue, axes, x, at);
    for (int i = 0; i < 2; i++)
      r[i] = tension[i] - at[i];
    if (fmax(fabs(r[0]), fabs(r[1])) <= close) {
      stretch[0] = exp(x[0]);
      stretch[1] = exp(x[1]);
      return PLA_OK;
    }
    for (int j = 0; j < 2; j++) {
      double side[2][2];
      for (int s = 0; s < 2; s++) {
        double y[2] = { x[0], x[1] };
        y[j] += s ? step : -step;
        plane_stress(material, constants, tissue, axes, y, side[s]);
      }
      for (int i = 0; i < 2; i++)
        slope[i][j] = (side[1][i] - side[0][i]) / (2.0 * step);
    }
    double det = slope[0][0] * slope[1][1] - slope[0][1] * slope[1][0];
    move[0] = (slope[1][1] * r[0] - slope[0][1] * r[1]) / det;
    move[1] = (slope[0][0] * r[1] - slope[1][0] * r[0]) / det;
    /* fibres that tighten make long steps overshoot: no step changes a stretch by more than 5 % */
    double longest = fmax(fabs(move[0]), fabs(move[1])), share = fmin(1.0, 0.05 / longest);
    for (int i = 0; i < 2; i++)
      x[i] += share * move[i];
    if (!(fmax(fabs(x[0]), fabs(x[1])) < most))
      break;
  }
  return pla_fail(
      err, PLA_ERR_USAGE,
      "no stretch of the material '%s' between 1/3 and 3 gives a tension of %g Pa along "
      "and %g Pa across",
      material->id, tension[0], tension[1]);
}

void
pla_prestretch_activation(const double fibre[3], double activation, double gamma, double alpha,
                          double g[9])
{
  double s = (1.0 + activation) / (1.0 + gamma * activation), across = pow(s, -alpha);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      g[3 * i + j] = across * (i == j) + (s - across) * fibre[i] * fibre[j];
}
