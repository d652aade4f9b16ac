/* Ambient occlusion of a surface: how much of the sky each vertex sees. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

/* open[v] in 0..1 (n_verts): 1 on a convex shape, small in folds.  @n_directions about 96: more is
 * smoother and proportionally slower.  Vertices without triangles get 1.  The same bits for any
 * number of threads. */
PlaStatus pla_occlusion(const PlaTriMesh *mesh, int n_directions, float *open,
                        PlaProgress *progress, PlaError *err);
