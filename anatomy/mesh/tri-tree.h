/* A tree of boxes over triangles: nearest points, crossings.
 *
 * Any thread may ask while none changes it. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct PlaTriTree PlaTriTree;

/* @mesh and its arrays are borrowed and must outlive the tree. */
PlaStatus pla_tri_tree_new(const PlaTriMesh *mesh, PlaTriTree **out, PlaError *err);
void pla_tri_tree_free(PlaTriTree *self); /* NULL is fine */

/* Distance, m, from @pos to the nearest triangle, which is *tri, and the nearest point of it;
 * either may be NULL.  INFINITY without a triangle within @max_m. */
double pla_tri_tree_nearest(const PlaTriTree *self, const double pos[3], double max_m, int *tri,
                            double point[3]);

/* The same among triangles that @keep accepts. */
typedef bool (*PlaTriFilter)(int tri, const void *data);
double pla_tri_tree_nearest_among(const PlaTriTree *self, const double pos[3], double max_m,
                                  PlaTriFilter keep, const void *data, int *tri, double point[3]);

/* Every triangle whose box meets [lo, hi], in no meaningful order. */
typedef void (*PlaTriVisitor)(int tri, void *data);
void pla_tri_tree_visit(const PlaTriTree *self, const double lo[3], const double hi[3],
                        PlaTriVisitor visit, void *data);

/* Follows vertices that have moved; the tree stays right, and good while the motion is smooth. With
 * @other (n_verts x 3, or NULL) boxes also hold the triangles at those positions: what is swept on
 * the way there. */
void pla_tri_tree_refit(PlaTriTree *self, const double *other);

/* Nearest point of a triangle to @x; the squared distance, m^2. */
double pla_triangle_nearest(const double a[3], const double b[3], const double c[3],
                            const double x[3], double point[3]);

/* Pairs of triangles that have more in common than the vertices and edges they share: exact, every
 * touch counts.  @pairs (when not NULL; caller frees) receives 2 x *n triangle numbers in rising
 * order. */
PlaStatus pla_self_intersections(const PlaTriTree *self, PlaProgress *progress, int64_t *n,
                                 int **pairs, PlaError *err);
