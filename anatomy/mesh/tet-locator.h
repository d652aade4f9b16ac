/* Where a point lies in a tetrahedral mesh.
 *
 * Read-only once made; any thread may ask. */
#pragma once

#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

/* Neighbours across faces: (*across)[4 t + k] is the tet on the other side of the face opposite to
 * vertex k of tet t, -1 at the boundary.  PLA_ERR_GEOMETRY when a face belongs to more than two
 * tets.  Caller frees. */
PlaStatus pla_tet_neighbours(const PlaTetMesh *mesh, int **across, PlaError *err);

/* x = sum_k weight[k] x_k for any point, negative outside; false for a tet without volume. */
bool pla_tet_weights(const PlaTetMesh *mesh, int tet, const double pos[3], double weight[4]);

typedef struct PlaTetLocator PlaTetLocator;

/* @mesh and its arrays are borrowed and must outlive the locator. */
PlaStatus pla_tet_locator_new(const PlaTetMesh *mesh, PlaTetLocator **out, PlaError *err);
void pla_tet_locator_free(PlaTetLocator *self);                   /* NULL is fine */
const int *pla_tet_locator_neighbours(const PlaTetLocator *self); /* as pla_tet_neighbours() */

/* The tet that holds @pos, or, outside of the mesh, the one nearest to it and no farther than
 * @max_m; -1 without one.  @weight (may be NULL): as pla_tet_weights(), so negative outside.
 * @distance_m (may be NULL): 0 inside. */
int pla_tet_locator_find(const PlaTetLocator *self, const double pos[3], double max_m,
                         double weight[4], double *distance_m);
