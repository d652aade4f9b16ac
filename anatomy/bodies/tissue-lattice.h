/* What a carved body is made of: the closed surface of soft tissues at the accuracy of the scan,
 * and a body-centred cubic lattice of tetrahedra that covers it. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/volume/volume.h"

/* What a triangle of the surface borders on. */
typedef enum {
  PLA_BORDER_AIR,
  PLA_BORDER_CAVITY, /* an airway, a sinus */
  PLA_BORDER_BONE,   /* holds the body */
  PLA_BORDER_END,    /* of the scan: holds it too */
  PLA_BORDER_NONE    /* no triangle of the surface */
} PlaBorder;

typedef struct {
  PlaMesh *surface;      /* triangles, normals outwards, m */
  unsigned char *border; /* PlaBorder of each triangle */
  PlaMesh *facets;       /* the same surface in no more triangles than its shape needs */
  int *facet;            /* of each triangle: the one of @facets that it is part of */
  PlaMesh *lattice;      /* tets, m */
  int *tissue;           /* of each tet: index into the ids, of what fills most of it */
  double deviation_mm;   /* largest distance of the skin in the scan from the surface */
} PlaTissueLattice;

/* Sizes of cells. */
typedef struct {
  double cell_mm;       /* side of the lattice's cubes */
  double skin_cell_mm;  /* at most this at the skin, by halving; 0: as elsewhere */
  double skin_depth_mm; /* below the skin it reaches so far; 0: two cells */
} PlaCellSizes;

/* @ids: labels of soft tissues, @n_ids of them; @rigid: whether a label is bone (65536).
 * PLA_ERR_EMPTY without such tissue; PLA_ERR_MEMORY when the lattice
 * would be too fine.  Same bits for any number of threads. */
PlaStatus pla_tissue_lattice_init(PlaTissueLattice *self, const PlaLabelMap *map, const int *ids,
                                  int n_ids, const unsigned char *rigid, const PlaCellSizes *sizes,
                                  PlaProgress *progress, PlaError *err);
/* The same inside a closed surface (copied), normals outwards: one tissue that borders on
 * air.  Edges longer than half a cell are halved. */
PlaStatus pla_tissue_lattice_from_surface(PlaTissueLattice *self, const PlaMesh *surface,
                                          const PlaCellSizes *sizes, PlaError *err);
void pla_tissue_lattice_clear(PlaTissueLattice *self);
