/* Meshes: vertices with any mix of triangles, tetrahedra and hexahedra, and named fields.
 *
 * PlaMesh is what files and cases hold.  Algorithms take the plain views PlaTriMesh, PlaTetMesh
 * and PlaHexMesh, which borrow its arrays.  Tets are positive (det [x1-x0, x2-x0, x3-x0] > 0);
 * hexes have VTK order: 0-3 counter-clockwise at the bottom seen from above, 4-7 above them;
 * triangles are counter-clockwise seen from outside. */
#pragma once

#include "anatomy/base/dtype.h"
#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum {
  PLA_ON_VERTS = 0, /* one tuple per vertex */
  PLA_ON_CELLS,     /* one tuple per cell: triangles, then tets, then hexes */
} PlaFieldPlace;

/* A named array on a mesh, kept as in the file: its unit is in its name or unknown. */
typedef struct {
  char *name; /* owned */
  PlaFieldPlace place;
  PlaDType dtype;
  int n_components;
  void *data; /* owned; n_tuples x n_components */
} PlaField;

/* Vertex fields of meshes in which some vertices follow others, x = sum weight x_parent:
 * T-junctions, surfaces that ride in coarser cells.  As many components as any vertex has parents,
 * which follow no one; free vertices have none. */
#define PLA_MESH_BOUND_VERTS "bound_verts"     /* int32: ids of the parents, padded by -1 */
#define PLA_MESH_BOUND_WEIGHTS "bound_weights" /* float64 */

typedef struct {
  int n_verts, n_tris, n_tets, n_hexes;
  double *pos; /* m, RAS      (n_verts x 3) */
  int *tri;    /* vertex ids  (n_tris x 3) */
  int *tet;    /* vertex ids  (n_tets x 4) */
  int *hex;    /* vertex ids  (n_hexes x 8) */
  int n_fields;
  PlaField *field;
  bool single; /* coordinates came from 32-bit numbers and are written back as such */
} PlaMesh;

typedef struct {
  int n_verts, n_tris;
  const double *pos; /* m */
  const int *tri;
} PlaTriMesh;

typedef struct {
  int n_verts, n_tets;
  const double *rest; /* m */
  const int *tet;
} PlaTetMesh;

typedef struct {
  int n_verts, n_hexes;
  const double *rest; /* m */
  const int *hex;
} PlaHexMesh;

/* Arrays of the given sizes, zeroed; no fields. */
PlaStatus pla_mesh_new(int n_verts, int n_tris, int n_tets, int n_hexes, PlaMesh **out,
                       PlaError *err);
PlaStatus pla_mesh_dup(const PlaMesh *mesh, PlaMesh **out, PlaError *err);
void pla_mesh_free(PlaMesh *mesh); /* NULL is fine */
PlaTriMesh pla_mesh_tris(const PlaMesh *mesh);
PlaTetMesh pla_mesh_tets(const PlaMesh *mesh);
PlaHexMesh pla_mesh_hexes(const PlaMesh *mesh);
size_t pla_mesh_n_cells(const PlaMesh *mesh);

/* Adds a zeroed field (replacing one of that name and place) and returns its data; NULL when
 * memory is short. */
void *pla_mesh_add_field(PlaMesh *mesh, const char *name, PlaFieldPlace place, PlaDType dtype,
                         int n_components);
/* The same with the caller's @data, which the mesh owns from now on, also when it returns false
 * for short memory. */
bool pla_mesh_take_field(PlaMesh *mesh, const char *name, PlaFieldPlace place, PlaDType dtype,
                         int n_components, void *data);
const PlaField *pla_mesh_find_field(const PlaMesh *mesh, const char *name, PlaFieldPlace place);
size_t pla_field_n_tuples(const PlaMesh *mesh, const PlaField *field);

/* Checks that every index is in range and every coordinate finite; names the first offender. */
PlaStatus pla_mesh_check(const PlaMesh *mesh, PlaError *err);
/* Turns hexes whose node order is reversed (negative volume, valid when 0-3 and 4-7 change
 * places) right side out; returns how many. */
int pla_mesh_repair_hexes(PlaMesh *mesh);

/* Tets with volume <= 0 and hexes with a corner of volume <= 0; indices must be in range. */
int pla_mesh_count_inverted(const PlaMesh *mesh);

/* The smallest angle between two faces of a tet, degrees; 0 when it is flat. */
double pla_tet_min_dihedral_deg(const double *pos, const int tet[4]);

/* Cell fields that say which share of a cell is material: of a lattice around it, of a cut through
 * it.  A share of a cell is their product, 1 without them, and within 0..1 whatever they say. */
#define PLA_MESH_FILL "fill"
#define PLA_MESH_FRACTION "fraction"
typedef struct {
  const PlaField *field[2]; /* borrowed, or NULL */
} PlaMeshShares;
PlaMeshShares pla_mesh_shares(const PlaMesh *mesh);
/* @cell counts triangles, then tets, then hexes. */
double pla_mesh_share(const PlaMeshShares *shares, size_t cell);

/* Whether the triangles are a surface that follows the cells: their vertices are bound. */
bool pla_mesh_carries_surface(const PlaMesh *mesh);

/* What `info` says of a mesh. */
typedef struct {
  double lo_m[3], hi_m[3]; /* bounding box */
  double volume_m3; /* of the material in tets and hexes; of the closed surface when there are only
                       tris */
  double cells_m3;  /* of tets and hexes as a whole */
  double area_m2;   /* of the triangles */
  int components;   /* pieces connected through shared or bound vertices, unused ones apart */
  bool closed;      /* only triangles: every edge shared by exactly two, oppositely */
  int inverted;     /* as pla_mesh_count_inverted() */
  double min_dihedral_deg, max_dihedral_deg; /* over tets; 0 without any */
} PlaMeshSummary;
PlaStatus pla_mesh_summary(const PlaMesh *mesh, PlaMeshSummary *out, PlaError *err);

/* Points tied to elements: x = sum_k weight[k] * x[elem vertex k]. */
typedef struct {
  int n_points;
  int per_elem;   /* 3, 4 or 8 weights a point: triangle, tet, hex */
  int *elem;      /* element ids (n_points) */
  double *weight; /* barycentric or trilinear, sum 1 (n_points x per_elem) */
} PlaEmbedding;
PlaStatus pla_embedding_init(PlaEmbedding *self, int n_points, int per_elem, PlaError *err);
void pla_embedding_clear(PlaEmbedding *self);
/* @cells: the element's vertex ids (n_elems x per_elem); @pos, @out in m. */
void pla_embedding_apply(const PlaEmbedding *self, const int *cells, const double *pos,
                         double *out);
