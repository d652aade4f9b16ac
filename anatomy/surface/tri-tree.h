/* A tree of boxes over triangles: nearest points, crossings.
 *
 * Read-only once made; any thread may ask. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh.h"

#include <stdint.h>

typedef struct PlaTriTree PlaTriTree;

/* @mesh and its arrays are borrowed and must outlive the tree. */
PlaStatus pla_tri_tree_new(const PlaTriMesh *mesh, PlaTriTree **out, PlaError *err);
void pla_tri_tree_free(PlaTriTree *self); /* NULL is fine */

/* Distance, m, from @pos to the nearest triangle, which is *tri, and the nearest point of it;
 * either may be NULL.  INFINITY without a triangle within @max_m. */
double pla_tri_tree_nearest(const PlaTriTree *self, const double pos[3], double max_m, int *tri,
                            double point[3]);

/* Pairs of triangles that have more in common than the vertices and edges they share: exact, every
 * touch counts.  @pairs (when not NULL; caller frees) receives 2 x *n triangle numbers in rising
 * order. */
PlaStatus pla_self_intersections(const PlaTriTree *self, PlaProgress *progress, int64_t *n,
                                 int **pairs, PlaError *err);
