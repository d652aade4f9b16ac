/* Selections of a scene. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "anatomy/volume/volume.h"
#include "app/base/json.h"

typedef struct {
  const PlaMesh *mesh;
  const PlaLabelTable *labels; /* names of the mesh's labels, possibly none */
} PlaSceneSelection;

/* Marks the vertices or (by centroid) the cells, tets then hexes, that @where names; an empty
 * selection is an error. */
PlaStatus pla_scene_select(const PlaSceneSelection *self, PlaJson where, bool of_cells,
                           bool *marked, size_t *count, PlaError *err);
/* The area of the triangles that @where selects, m2, by vertex (area: n_verts), of those at the
 * border of a place the part inside; *n_tris: how many they are, possibly none. */
PlaStatus pla_scene_select_surface(const PlaSceneSelection *self, PlaJson where, double *area,
                                   int *n_tris, PlaError *err);
/* Vertices of cell @c of the solids: tets, then hexes. */
int pla_scene_cell(const PlaMesh *mesh, size_t c, const int **verts);

/* The vertex of the material that is nearest to a point, in mm: of a full cell or of a triangle
 * where cells are filled in part. */
PlaStatus pla_scene_nearest(const PlaMesh *mesh, PlaJson at, int *vert, PlaError *err);
