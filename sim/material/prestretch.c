/* Rest-stretch tensors: G = sum of stretches on orthogonal unit directions. */
#include "sim/material/prestretch.h"

#include "anatomy/base/mat3.h"

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

void
pla_prestretch_activation(const double fibre[3], double activation, double gamma, double alpha,
                          double g[9])
{
  double s = (1.0 + activation) / (1.0 + gamma * activation), across = pow(s, -alpha);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      g[3 * i + j] = across * (i == j) + (s - across) * fibre[i] * fibre[j];
}
