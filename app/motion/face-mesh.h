/* The soft tissue of the head phantom's face as tetrahedra, the lips parted. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/mesh/mesh.h"

/* Cells of @cell_mm at the surface; from the ears forwards, from the upper neck to the hairline.
 * Caller frees *out, and *held (n_verts): 1 for vertices where the rest of the head was cut away.
 */
PlaStatus pla_face_mesh(double cell_mm, PlaProgress *progress, PlaMesh **out, unsigned char **held,
                        PlaError *err);

/* Parts a mesh of tets along the faces for which @apart holds: vertices between them are doubled
 * where that disconnects the tets around them, so that the rim of a slit stays joined.  Vertex
 * fields go along.  @n_new (may be NULL): how many vertices were added. */
typedef bool (*PlaFaceApart)(const PlaMesh *mesh, int tet, int other, const int face[3],
                             const void *data);
PlaStatus pla_mesh_part(PlaMesh *mesh, PlaFaceApart apart, const void *data, int *n_new,
                        PlaError *err);
