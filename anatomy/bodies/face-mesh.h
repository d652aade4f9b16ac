/* The soft tissue of the head phantom's face as tetrahedra, the lips parted. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/mesh/mesh.h"

/* Cells of @cell_mm at the surface; from the ears forwards, from the upper neck to the hairline.
 * Caller frees *out, and *held (n_verts): 1 for vertices where the rest of the head was cut away.
 */
PlaStatus pla_face_mesh(double cell_mm, PlaProgress *progress, PlaMesh **out, unsigned char **held,
                        PlaError *err);
