/* Inside the surface of cut material: its parts while it is put together. */
#pragma once

#include "sim/cut/cut-mesh-private.h"

/* a vertex of the surface */
typedef struct {
  int tet, local; /* where it was first met; local < 0: the middle of a polygon */
  int node[3];    /* rising, -1 behind the last; of points with up to three nodes */
  int next;       /* in its hash chain */
  double weight[4];
} PlaCutSurfaceVert;

typedef struct {
  int tet, cut;
  int start, n; /* in corner[] */
} PlaCutPolygon;

typedef struct {
  PlaCutMesh *mesh;
  PlaCutComplex *whole; /* stands for all uncut tets */
  int n_verts, cap_verts, n_corners, cap_corners, n_polygons, cap_polygons, n_tris, cap_tris;
  PlaCutSurfaceVert *vert;
  PlaCutCorner *corner;
  PlaCutPolygon *polygon;
  int *tri;    /* 3 vertices and the polygon */
  int n_heads; /* a power of two */
  int *head;
  int *local; /* surface vertex of each point of the tet at work */
  int cap_local;
  const uint8_t *near; /* of each carving triangle: whether patches stand for it; NULL: all */
} PlaCutBuilder;

/* one triangle of @polygon; false: memory is short */
bool pla_cut_builder_add_tri(PlaCutBuilder *self, int polygon, int a, int b, int c);

/* Where the triangles of the kept surface lie. */
typedef struct {
  uint8_t *near;  /* a blade is in one of its tets (n_carved) */
  int *owner;     /* tet that holds the middle of each part, -1: it is gone (n_parts) */
  double *middle; /* least weight of the middle there (n_parts) */
  int *tet;       /* that holds a vertex, -1: none (n_verts) */
  double *inside; /* its least weight there (n_verts) */
  int *vert;      /* of the new surface, -1: none yet (n_verts) */
} PlaCutScanPlaces;

/* false: memory is short; to be cleared all the same */
bool pla_cut_scan_places_init(PlaCutScanPlaces *self, const PlaCutMesh *mesh);
void pla_cut_scan_places_clear(PlaCutScanPlaces *self);
/* Adds what no blade is near to the patches that @builder has for the rest: 1; 0 when the surface
 * folds; -1 when memory is short. */
int pla_cut_scan_add(PlaCutBuilder *builder, PlaCutScanPlaces *scan);
