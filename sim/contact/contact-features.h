/* What of a triangle surface is near a point: faces, edges and vertices, each with how often it
 * counts.
 *
 * The distance to a surface has a kink where two places are equally near, as in a fold, and a
 * solver cannot rest there.  The sum over all triangles of a function of their distances has none,
 * but counts flat and convex parts more than once.  Counting triangles, less edges, plus vertices
 * (Li and others 2023) gives both: above a face, an edge or a vertex that sticks out the sum has
 * one term, in a fold it has one for either side, and it is smooth everywhere. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "anatomy/mesh/tri-tree.h"

typedef struct {
  const int *tri; /* borrowed (n_tris x 3) */
  int n_verts, n_tris, n_edges;
  int *tri_edge;   /* edge between corners c and c + 1 (n_tris x 3) */
  int *edge;       /* vertices, the smaller first (n_edges x 2) */
  int *edge_count; /* triangles at each edge (n_edges) */
  int *vert_start; /* triangles at each vertex: vert_tri[vert_start[v]] ... (n_verts + 1) */
  int *vert_tri;
} PlaFeatureMesh;

PlaStatus pla_feature_mesh_init(PlaFeatureMesh *self, const PlaTriMesh *mesh, PlaError *err);
void pla_feature_mesh_clear(PlaFeatureMesh *self);

typedef struct {
  int n_verts, vert[3]; /* of the face, edge or vertex */
  double weight[3];     /* of the nearest point in it */
  double distance;      /* m, not negative */
  double direction[3];  /* unit, from the nearest point to the asker */
  double along[3];      /* unit direction of an edge, 0 for others */
  int count;            /* how often it counts: 1 mostly, 0 never listed, -1 along a fold */
  int tri; /* a triangle it belongs to; of the nearest, the one that faces the asker most */
} PlaFeature;

enum { PLA_MOST_FEATURES = 64 };

/* Features within @reach of @x that have none of the @n_skip vertices @skip, with counts other than
 * 0.
 * @pos: positions of the mesh's vertices, those that @tree has.  Where more than PLA_MOST_FEATURES
 * triangles are that near, the rest is left out. */
int pla_features_near(const PlaFeatureMesh *self, const PlaTriTree *tree, const double *pos,
                      const double x[3], double reach, int n_skip, const int *skip,
                      PlaFeature out[PLA_MOST_FEATURES]);

/* The nearest place of one triangle; the distance is not signed. */
void pla_features_of_tri(const PlaFeatureMesh *self, const double *pos, const double x[3], int tri,
                         PlaFeature *out);

/* Signed distance, negative inside the closed surface, and the nearest place; INFINITY beyond
 * @reach. The side comes from the pseudonormal of the nearest feature (Baerentzen and Aanaes 2005).
 */
double pla_features_distance(const PlaFeatureMesh *self, const PlaTriTree *tree, const double *pos,
                             const double x[3], double reach, PlaFeature *nearest);
