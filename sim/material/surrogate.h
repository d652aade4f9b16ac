/* The positive-definite stand-in for the tangent of an isotropic material, without SVD or
 * eigenvalues: C(F) = 2 mu 1 + vol cof F (x) cof F (Chen 2024).  Its eigenvalues are 2 mu
 * (eight times) and 2 mu + vol |cof F|^2, for every F; at rest it is exact but for the rotations,
 * which it resists with 2 mu instead of 0.  mu and vol come from pla_material_moduli(). */
#pragma once

#include "anatomy/base/mat3.h"

static inline void
pla_surrogate_tangent(double mu, double vol, const double f[9], double h[81])
{
  double cofactor[9];
  pla_mat3_cofactor(f, cofactor);
  for (int k = 0; k < 9; k++)
    for (int l = 0; l < 9; l++)
      h[9 * k + l] = vol * cofactor[k] * cofactor[l] + (k == l ? 2.0 * mu : 0.0);
}

/* What an element of volume 1 adds to the 3x3 block of the node with shape gradient @grad:
 *   2 mu |g|^2 1 + vol c c^T,  c = cof(F) g */
static inline void
pla_surrogate_node(double mu, double vol, const double f[9], const double grad[3], double block[9])
{
  double cofactor[9], c[3], diagonal = 2.0 * mu * pla_vec3_dot(grad, grad);
  pla_mat3_cofactor(f, cofactor);
  pla_mat3_apply(cofactor, grad, c);
  for (int k = 0; k < 9; k++)
    block[k] = vol * c[k / 3] * c[k % 3] + (k % 4 == 0 ? diagonal : 0.0);
}
