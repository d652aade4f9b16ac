/* A graded body-centred cubic lattice over the cubes of an octree. */
#pragma once

#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

#include <stdint.h>

enum { PLA_CUBES_LEVELS = 6 };

/* Cubes of level l have 2^l times the side of the finest; those of level 1 and above may have
 * children.  Cubes of a level are numbered i + n0 (j + n1 k), n >> l of them each way. */
typedef struct {
  int levels;                             /* the coarsest level */
  int n[3];                               /* finest cubes each way, multiples of 2^levels */
  double origin[3], cell;                 /* m; side of the finest */
  uint8_t *filled[PLA_CUBES_LEVELS + 1];  /* of each cube: material is in it or close */
  uint8_t *refined[PLA_CUBES_LEVELS + 1]; /* of each cube of level 1 and above: has children */
} PlaCubes;

/* Cubes of side @cell, m, halved up to @levels times, around the box of @surface, with room on all
 * sides; none is filled or refined.  PLA_ERR_MEMORY when there would be too many. */
PlaStatus pla_cubes_init(PlaCubes *self, const PlaMesh *surface, double cell, int levels,
                         PlaError *err);
void pla_cubes_clear(PlaCubes *self);

/* Fills the cubes that the closed @surface passes through or encloses. */
PlaStatus pla_cubes_fill(PlaCubes *self, const PlaMesh *surface, PlaError *err);
/* Refines fully what comes nearer than @depth, m, to triangle @t of @surface. */
void pla_cubes_refine(PlaCubes *self, const PlaMesh *surface, int t, double depth);
/* Once all is refined: refines further where touching cubes differ by more than one level. */
void pla_cubes_balance(PlaCubes *self);
/* Side of the smallest cube at @pos, m. */
double pla_cubes_size_at(const PlaCubes *self, const double pos[3]);
/* Tets that cover the filled cubes; faces meet everywhere.  Caller frees *out. */
PlaStatus pla_cubes_tets(const PlaCubes *self, PlaMesh **out, PlaError *err);
