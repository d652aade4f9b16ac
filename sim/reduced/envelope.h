/* Elastic multi-weight enveloping (Luo 2020, ch. 3): the quadratic functions of a basis learn from
 * shapes. */
#pragma once

#include "sim/reduced/reduced.h"

/* What the affine functions of @basis leave of @n_poses displacements (n_poses x n_verts x 3) is
 * approached by the quadratic ones, each times a factor of its own at every vertex: coefficients
 * for the poses and factors take turns, @rounds times.  Factors start at 1 and are kept smooth over
 * edges with the strength @smooth (0.1).  @residual: the part of what is left that stays
 * unexplained, before and after each round (rounds + 1).  The basis must be of PLA_BASIS_QUADRATIC
 * order. */
PlaStatus pla_basis_envelope(PlaReducedBasis *basis, const PlaTetMesh *mesh, int n_poses,
                             const double *disp, double smooth, int rounds, double *residual,
                             PlaError *err);
