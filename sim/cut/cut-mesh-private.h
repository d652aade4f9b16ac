/* Inside the cut mesh, for its parts and their tests. */
#pragma once

#include "sim/cut/complex.h"
#include "sim/cut/cut-mesh.h"
#include "sim/cut/cut-search.h"

/* material of two tets that meets across a face, seen from one of them */
typedef struct {
  int tet, face; /* on the other side */
  int next;      /* -1: the last */
} PlaCutLink;

/* The surface that a mesh was carved along, where it is kept: facets, which it was cut along, and
 * the parts that they are divided into. */
typedef struct {
  int n_verts, n_parts;
  double *pos; /* at rest, m, corners of the facets first (n_verts x 3); NULL: not kept */
  int *tri;    /* the facets (n_carved x 3) */
  int *part;   /* facet after facet (n_parts x 3) */
  int *start;  /* first part of each facet (n_carved + 1) */
} PlaCutScan;

struct PlaCutMesh {
  int n_verts, n_tets, n_links;
  int cap_verts, cap_tets, cap_links;
  int n_triangles; /* of all blades so far */
  int n_carved;    /* of them, those of the surface that the body was carved along */
  PlaCutScan scan;
  double *rest; /* m (n_verts x 3) */
  int *vert_source;
  int *tet; /* (n_tets x 4) */
  int *tet_source;
  int *tet_copied;  /* the tet it is a copy of, itself when it is none (n_tets) */
  uint8_t *skin;    /* bit f: face f is on the surface of the original mesh */
  int *link_head;   /* first link of each face (n_tets x 4), -1: none */
  PlaCutLink *link; /* dropped ones are chained from free_link */
  int free_link;
  PlaCutComplex **refined; /* NULL: the tet is whole */
  double *shape;           /* m (n_verts x 3); NULL: at rest */
  PlaCutTree tree;         /* around the tets in that shape */
  int *chain;              /* the tree's (n_tets) */
  /* scratch of a cut, all zero between cuts, so that a cut costs as much as it touches */
  int *slot;     /* 1 + the place among the tets of this cut (n_tets) */
  uint8_t *met;  /* bit c: corner c has its node (n_tets) */
  uint8_t *kept; /* the node went to a group of corners already (n_verts) */
};

/* Once the tets are there, room for scratch included: makes the tree for the rest shape. */
bool pla_cut_mesh_make_tree(PlaCutMesh *self);
/* m3 */
double pla_cut_tet_volume(const double *pos, const int *tet);
/* Drops the link of @face of @tet with @other, on this side. */
void pla_cut_mesh_unlink(PlaCutMesh *self, int tet, int face, int other);
void pla_cut_scan_clear(PlaCutScan *self);
/* false: memory is short; to be cleared all the same */
bool pla_cut_scan_dup(const PlaCutScan *self, int n_carved, PlaCutScan *out);
