/* Repair of imported surfaces: welded, oriented, closed. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

typedef struct {
  int welded_verts; /* vertices that stood where another one does */
  int dropped_tris; /* without area by their vertex numbers, or twice there */
  int turned_tris;
  int filled_holes, new_tris;
  int crowded_edges; /* edges of more than two triangles: nothing is done about them */
} PlaRepairReport;

/* Joins vertices at the same place, drops triangles that are degenerate or there twice, turns
 * triangles so that neighbours agree (the majority of each piece decides; a piece that is inside
 * out and not inside another is turned as a whole), and fills every hole with the triangulation of
 * least bending and area (Barequet and Sharir 1995; Liepa 2003).  Fields are left out.  @report may
 * be NULL. */
PlaStatus pla_surface_repair(const PlaMesh *mesh, PlaProgress *progress, PlaMesh **out,
                             PlaRepairReport *report, PlaError *err);
