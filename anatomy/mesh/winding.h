/* Generalised winding numbers of triangle surfaces (Jacobson, Kavan and Sorkine-Hornung 2013).
 *
 * Closed surfaces with normals outwards have 1 inside and 0 outside, whole numbers everywhere, more
 * where they overlap; with holes the number is in between near these.  Read-only once made; any
 * thread may ask. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

#include <stddef.h>

typedef struct PlaWinding PlaWinding;

/* @mesh and its arrays are borrowed and must outlive the result. */
PlaStatus pla_winding_new(const PlaTriMesh *mesh, PlaWinding **out, PlaError *err);
void pla_winding_free(PlaWinding *self); /* NULL is fine */

/* At @pos, m.  Far triangles count as one multipole: the error is below 5e-3, also on surfaces that
 * wind around many times; on the surface itself the value is somewhere between both sides. */
double pla_winding_at(const PlaWinding *self, const double pos[3]);
/* At @n points (n x 3, m), on all threads; PLA_ERR_CANCELLED leaves *out unfinished. */
PlaStatus pla_winding_batch(const PlaWinding *self, size_t n, const double *pos,
                            PlaProgress *progress, double *out, PlaError *err);

/* The sum over all triangles, one by one: the oracle of the above. */
double pla_winding_exact(const PlaTriMesh *mesh, const double pos[3]);
