/* A graded body-centred cubic lattice: the background of conforming meshes. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/mesher/tissues.h"

#include <stdint.h>

enum { PLA_LATTICE_LEVELS = 8 };

/* Cubes of the finest level are numbered i + n[0] * (j + n[1] * k); their corners likewise on a
 * grid one larger each way.  Vertices are corners and centres; the centre of a coarser cube stands
 * on a corner of the finest grid that no leaf uses as a corner. */
typedef struct {
  int levels; /* coarsest level; level l cubes have side 2^l cells */
  int n[3];   /* finest cubes each way, multiples of 2^levels */
  double origin_mm[3], cell_mm;
  int16_t *corner_tissue, *centre_tissue;   /* of the finest grid */
  uint8_t *refined[PLA_LATTICE_LEVELS + 1]; /* per cube of level 1 .. levels: has children */

  int n_verts, n_tets;
  double *pos_mm;  /* n_verts x 3 */
  int16_t *tissue; /* n_verts */
  uint8_t *parity; /* n_verts: of the vertex within its own cubic lattice of the finest level */
  int *tet;        /* n_tets x 4, positive; in those of the finest level the long edges join
                      vertices 0, 1 and 2, 3 */
} PlaLattice;

/* All tets that can hold tissue; those of the rest alone are left out. */
PlaStatus pla_lattice_init(PlaLattice *self, const PlaTissues *tissues, double cell_mm, int levels,
                           PlaProgress *progress, PlaError *err);
void pla_lattice_clear(PlaLattice *self);
