/* Slits in meshes of tets. */
#pragma once

#include "anatomy/mesh/mesh.h"

/* Parts a mesh of tets along the faces for which @apart holds: vertices between them are doubled
 * where that disconnects the tets around them, so that the rim of a slit stays joined.  Vertex
 * fields go along.  @n_new (may be NULL): how many vertices were added. */
typedef bool (*PlaFaceApart)(const PlaMesh *mesh, int tet, int other, const int face[3],
                             const void *data);
PlaStatus pla_mesh_part(PlaMesh *mesh, PlaFaceApart apart, const void *data, int *n_new,
                        PlaError *err);
