/* Small symmetric matrices, row-major, n <= 9: is one positive semidefinite, and the nearest that
 * is. */
#pragma once

#include "sim/material/material.h"

#include <stdbool.h>

#define PLA_DEFINITE_MAX 9

/* True when no eigenvalue is below -1e-13 times the largest entry (by Cholesky). */
bool pla_definite(int n, const double *a);

/* Replaces negative eigenvalues by 0 (cyclic Jacobi). */
void pla_definite_project(int n, double *a);

/* Makes the tangent of a material that is a function of C = F^T F positive semidefinite, given its
 * stress; untouched where it already is.  With S = F^-1 P and T = 2 dS/dC,
 *   dF : dP = tr(dF S dF^T) + 1/2 dC : T : dC,
 * so that clamping the eigenvalues of the 3x3 S and of the 6x6 T suffices (Sifakis 2007, A.3).  It
 * takes more than is needed (S is dropped wherever it is compressive).  Below the stretch floor,
 * where F^-1 is of no use, the eigenvalues of the whole 9x9 are clamped. */
void pla_definite_project_material(const PlaPoint *point, const double p[9], double h[81]);
