/* Cut meshes as plain ones, with what the mesh before the cuts had on its vertices and cells. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "sim/cut/cut-mesh.h"

/* Cell fields that a cut mesh has beside those of the mesh it was made from. */
#define PLA_CUT_BODY "body"         /* connected piece, from 0 */
#define PLA_CUT_SOURCE "source_tet" /* tet of the mesh before all cuts */

/* The simulation mesh of @cut as tets with the fields of @mesh, from which the cut mesh was made;
 * triangles of @mesh are left out.  *n_bodies may be NULL. */
PlaStatus pla_cut_to_mesh(const PlaCutMesh *cut, const PlaMesh *mesh, PlaMesh **out, int *n_bodies,
                          PlaError *err);

/* @surface of @cut with its vertices at @pos, with the cell fields below. */
PlaStatus pla_cut_surface_to_mesh(const PlaCutMesh *cut, const PlaCutSurface *surface,
                                  const double *pos, PlaMesh **out, PlaError *err);
/* The surface of the material in the shape @pos (NULL: at rest), with cell fields "body" and
 * "wound" (1 where a blade made it). */
PlaStatus pla_cut_to_surface(PlaCutMesh *cut, const double *pos, PlaMesh **out, PlaError *err);
