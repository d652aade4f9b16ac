/* Tets of a graded body-centred cubic lattice (after Labelle and Shewchuk, "Isosurface stuffing",
 * 2007), over an octree in which touching cubes differ by one level at most.
 *
 *   - Between two equal cubes there is one tet around each edge of the shared face: the edge and
 * both centres, halved where a finer cube puts a vertex in the middle of the edge.
 *   - Where a cube meets one twice its size, its face is cut by the diagonal from the middle of the
 *     larger face, and each half goes with each centre.
 *
 * Vertices are corners and centres.  They are told by doubled coordinates of the finest grid: odd
 * ones are centres of the finest cubes; the centre of a coarser cube stands where no leaf has a
 * corner. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cubes of level l have 2^l times the side of the finest.  Those of a level are numbered
 * i + n0 (j + n1 k), n >> l of them each way.  All arrays are borrowed. */
typedef struct {
  int levels;              /* the coarsest */
  int n[3];                /* finest cubes each way, multiples of 2^levels */
  uint8_t *const *refined; /* of each cube of level 1 and above: has children */
  uint8_t *const *filled; /* of each cube of any level: faces between two that are not have no tets;
                             NULL: all are */
} PlaCubeTree;

static inline size_t
pla_cube_index(const int n[3], int level, int i, int j, int k)
{
  return (size_t)i + (size_t)(n[0] >> level) * ((size_t)j + (size_t)(n[1] >> level) * (size_t)k);
}

/* number of a corner of the finest grid */
static inline size_t
pla_corner_index(const int n[3], int i, int j, int k)
{
  return (size_t)i + (size_t)(n[0] + 1) * ((size_t)j + (size_t)(n[1] + 1) * (size_t)k);
}

/* One tet of positive volume, its corners in doubled coordinates; false ends the walk. */
typedef bool (*PlaCubeTetFunc)(const int *const corner[4], void *data);
/* After each layer of cubes, with the share that is done; false ends the walk. */
typedef bool (*PlaCubeLayerFunc)(double done, void *data);

/* All tets, level by level; false where a function ended it.  @layer may be NULL. */
bool pla_cube_tree_walk(const PlaCubeTree *self, PlaCubeTetFunc tet, PlaCubeLayerFunc layer,
                        void *data);
