/* The soft tissue of a phantom as tetrahedra. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/mesh/mesh.h"

/* Tets for the muscles of a phantom: all its soft tissue, cells of @cell_mm at the surface. */
PlaStatus pla_phantom_flesh_mesh(const char *phantom, double cell_mm, PlaProgress *progress,
                                 PlaMesh **out, PlaError *err);
double pla_phantom_flesh_cell_mm(const char *phantom); /* a size that suits it */
