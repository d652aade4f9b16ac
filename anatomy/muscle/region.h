/* Which elements of a muscle are muscle, tendon or held by bone, as tags that a hand can correct.
 */
#pragma once

#include "anatomy/muscle/overlap.h"

#include <stdint.h>

typedef enum {
  PLA_TISSUE_MUSCLE = 0, /* active */
  PLA_TISSUE_TENDON,     /* passive and stiffer */
  PLA_TISSUE_ATTACHED,   /* moves with its bone */
} PlaTissue;

/* All return how many of the @n tets change; @tag and @over are tissues.  Only tets tagged @over
 * become @tag, so what a hand has marked otherwise stays. */

/* Those whose centre is nearer than @within_mm to the shape or in it. */
int pla_region_near(const PlaTetMesh *mesh, const PlaMuscleShape *shape, double within_mm,
                    uint8_t tag, uint8_t over, uint8_t *region);
/* Those whose centre a closed surface encloses. */
int pla_region_enclosed(const PlaTetMesh *mesh, const PlaWinding *surface, uint8_t tag,
                        uint8_t over, uint8_t *region);
/* @layers of neighbours across faces (pla_tet_neighbours) around what is tagged. */
int pla_region_grow(int n_tets, const int *across, int layers, uint8_t tag, uint8_t over,
                    uint8_t *region);
/* The reverse: tagged tets with an @over neighbour become @over, layer by layer. */
int pla_region_shrink(int n_tets, const int *across, int layers, uint8_t tag, uint8_t over,
                      uint8_t *region);
