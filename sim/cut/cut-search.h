/* Which tets a blade can reach: a tree of boxes around the tets, and a grid around the blade.
 *
 * Both only leave out what is certainly apart; what meets is decided exactly afterwards, so the
 * answer does not depend on how the tree was built or how often it was changed. */
#pragma once

#include "anatomy/mesh/mesh.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  double lo[3], hi[3];
} PlaCutBox;

/* The box of @n points of @pos. */
void pla_cut_box_of(const double *pos, const int *vert, int n, PlaCutBox *box);

/* ---- the blade ---- */

typedef struct {
  PlaCutBox box;      /* of the blade */
  PlaCutBox *tri_box; /* (n_tris) */
  double *plane;      /* of each triangle: normal, then offset (n_tris x 4) */
  double slack;       /* how far planes and points may be off, m */
  int dims[3];
  int *start; /* of each grid box in @tri (n + 1) */
  int *tri;
} PlaBladeGrid;

bool pla_blade_grid_init(PlaBladeGrid *self, const PlaTriMesh *blade);
void pla_blade_grid_clear(PlaBladeGrid *self);
/* Triangles that may meet @box, rising and each once, in *found, which grows; their number, or -1
 * when memory is short. */
int pla_blade_grid_find(const PlaBladeGrid *self, const PlaCutBox *box, int **found, int *capacity);

/* One tet, for the question which triangles reach it; both on the integer grid of a cut. */
typedef struct {
  int64_t origin[3];
  double size;         /* largest coordinate from there */
  double base[4][3];   /* a corner of face i, which lies opposite corner i */
  double normal[4][3]; /* of face i, inwards; of any length */
  double loss[4];      /* that rounding takes from a distance, for coordinates up to 1 */
} PlaCutHull;
void pla_cut_hull_init(PlaCutHull *self, const int64_t pos[4][3]);
/* false: the triangle has no point of the tet, not even of its border. */
bool pla_cut_hull_may_meet(const PlaCutHull *self, const int64_t tri[3][3]);

/* ---- the tets ---- */

enum { PLA_CUT_TREE_LEVELS = 12, PLA_CUT_TREE_FAN = 8 };

/* Tets are listed in the order of a curve through the rest shape, eight to a leaf.  A copy of a tet
 * stands where the tet does, so it hangs on that one's entry, and cuts leave the boxes alone. */
typedef struct {
  int n_entries;
  int *entry; /* first tet of each chain (n_entries) */
  int *chain; /* next tet of the same entry, -1: the last; the mesh sees to its size (n_tets) */
  int n_levels, n_leaves;
  int *leaf_start;                          /* in @entry (n_leaves + 1) */
  int level_start[PLA_CUT_TREE_LEVELS + 1]; /* in @box; level 0: leaves, the last: all */
  PlaCutBox *box;
} PlaCutTree;

/* For tets whose chains are empty so far: sets all of @chain, which is the mesh's. */
bool pla_cut_tree_init(PlaCutTree *self, const PlaTetMesh *mesh, int *chain);
bool pla_cut_tree_dup(const PlaCutTree *self, int *chain, PlaCutTree *out);
void pla_cut_tree_clear(PlaCutTree *self); /* not @chain */
/* Fits the boxes to the shape @pos. */
void pla_cut_tree_fit(PlaCutTree *self, const int *tet, const double *pos);
void pla_cut_tree_add_copy(PlaCutTree *self, int tet, int copy);
/* Tets get new numbers, -1: gone; the boxes must be fitted afterwards. */
void pla_cut_tree_renumber(PlaCutTree *self, const int *number, int n_tets);
/* All that there is. */
const PlaCutBox *pla_cut_tree_get_box(const PlaCutTree *self);
/* Tets whose boxes may meet the blade, rising, in *found, which grows; their number, or -1. */
int pla_cut_tree_find(const PlaCutTree *self, const int *tet, const double *pos,
                      const PlaBladeGrid *blade, int **found);
