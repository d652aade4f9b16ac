/* A body carved out of a lattice, as a mesh that files, cases and scenes know. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/bodies/tissue-lattice.h"
#include "anatomy/mesh/mesh.h"

/* Cell field of the surface's triangles: PlaBorder of each; PLA_BORDER_NONE in tets. */
#define PLA_MESH_BORDER "border"

/* The part of the lattice inside the surface: tets with the fields PLA_MESH_REGION (of @ids, those
 * that made @made), PLA_MESH_FRACTION, one copy of a tet for each piece of
 * material in it; and the triangles of the surface, whose vertices are bound to the tets
 * (PLA_MESH_BOUND_VERTS).  Caller frees *out.  Same bits for any number of threads. */
PlaStatus pla_carved_mesh_new(const PlaTissueLattice *made, const int *ids, PlaProgress *progress,
                              PlaMesh **out, PlaError *err);
