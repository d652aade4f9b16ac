/* A body of soft tissue from a label map: which labels are soft and of what, and what holds them.
 */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "anatomy/volume/volume.h"
#include "sim/fem/model.h"

/* Tissues by the names of the labels: soft ones are meshed, rigid ones hold them. */
typedef struct {
  int n;
  int *id;                  /* labels of soft tissue, one each (n) */
  int *first;               /* 0, 1, ...: each is a group of its own for the mesher (n + 1) */
  PlaFemMaterial *material; /* n */
  char **name;              /* of the label (n) */
  bool *rigid;              /* by label id (PLA_LABEL_IDS) */
} PlaBodyTissues;

/* The labels of @map that have voxels.  @bones: rigid ones that are meshed as well, NULL-ended;
 * NULL: none.  The materials are those that elements of @formulation bear.  PLA_ERR_EMPTY when
 * nothing is soft.  *self is to be cleared after a failure too. */
PlaStatus pla_body_tissues_init(PlaBodyTissues *self, const PlaLabelMap *map,
                                const char *const *bones, PlaFormulation formulation,
                                PlaError *err);
void pla_body_tissues_clear(PlaBodyTissues *self);
/* Which tissue each tet of a mesh of them is, by its regions (n_tets). */
void pla_body_tissues_of_tets(const PlaBodyTissues *self, const PlaMesh *mesh, int *tissue);

/* Marks outer vertices next to voxels of @rigid labels or to the end of the scan: those that do not
 * move (n_verts, zeroed by the caller). */
PlaStatus pla_body_find_supports(const PlaMesh *mesh, const PlaLabelMap *map, const bool *rigid,
                                 bool *held, PlaError *err);

/* All labels of soft tissue as one of the name @tissue, which must be that of a soft tissue itself;
 * rigid ones stay.  Caller frees *out. */
PlaStatus pla_tissues_merge(const PlaLabelMap *labels, const char *tissue, PlaLabelMap **out,
                            PlaError *err);
