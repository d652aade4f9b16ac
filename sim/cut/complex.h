/* The material inside one tet: convex cells between cutting planes.
 *
 * Everything is said in the tet's barycentric coordinates w = (w0 w1 w2 w3), so that it holds for
 * every deformed shape of the tet.  A plane is four integers d: the point w is on it when
 * sum d_i w_i = 0.  For a cutting triangle abc met in the shape x, d_i = 6 volume(a, b, c, x_i):
 * exact for coordinates on a grid of integers.  Points are the meeting of three planes and are
 * never rounded in a decision: the sign of a point against a plane is that of a 4 x 4 determinant.
 *
 *   cells    convex; the tet is one cell at first, and a cutting triangle splits the cells that it
 *            overlaps, along its whole plane
 *   patches  convex polygons between two cells, or between a cell and the outside; a triangle that
 *            covers only part of a cross-section divides it, so that a patch is covered or not
 *   pieces   cells connected through patches that no triangle covers
 *
 * The splitting beyond a triangle's rim is scaffolding: it adds patches but joins the cells on both
 * sides again, so pieces and their volumes do not depend on the order of the triangles.  Nothing is
 * perturbed: signs are -1, 0 and 1, and triangles that pass through corners, along edges or in
 * faces, or that lie on earlier ones, are plain cases. */
#pragma once

#include "sim/cut/wide.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  PlaInt128 d[4]; /* exact */
  double a[4];    /* d, rounded */
  int through[3]; /* 1 + vertices of the blade at work that the plane passes through; 0: none */
} PlaCutPlane;

/* Planes 0-3 are the faces: face i lies opposite corner i, where w_i = 0. */
enum { PLA_CUT_FACES = 4 };

typedef struct {
  int plane[3];    /* that meet here */
  int asked;       /* plane of the last question... */
  int8_t answer;   /* ...and its answer */
  uint8_t known;   /* bit k: the side of plane k of the triangle at work is known... */
  uint8_t beside;  /* ...and is bits 2 k and 2 k + 1 of this, less 1 */
  int8_t sign;     /* of the factor between l and the barycentric coordinates */
  uint8_t faces;   /* bit i: the point is on face i */
  double l[4];     /* barycentric coordinates up to a factor, rounded; sum has sign @sign */
  double bound[4]; /* |l - exact| <= bound * PLA_CUT_ROUNDING */
} PlaCutVert;

/* one corner of a loop, and the edge from it to the next */
typedef struct {
  int vert;
  int plane; /* the edge is where this plane meets the patch's */
} PlaCutCorner;

typedef struct {
  int plane;
  int cell[2];  /* the loop runs counter-clockwise seen from outside cell[0]; cell[1] is beyond it,
                   -1: none */
  int face;     /* of the tet, -1: inside */
  int triangle; /* that covers it, -1: none */
  int seen;     /* last triangle that was compared with it */
  int n_corners;
  PlaCutCorner *corner; /* owned */
} PlaCutPatch;

typedef struct {
  int n_patches, capacity;
  int *patch; /* owned */
} PlaCutCell;

typedef struct {
  int n_planes, n_verts, n_patches, n_cells;
  int cap_planes, cap_verts, cap_patches, cap_cells;
  int at_work; /* 1 + the first of the four planes of the triangle at work; 0: none */
  PlaCutPlane *plane;
  PlaCutVert *vert;
  PlaCutPatch *patch;
  PlaCutCell *cell;
} PlaCutComplex;

/* The whole tet.  NULL when memory is short, as in all that follows. */
PlaCutComplex *pla_cut_complex_new(void);
PlaCutComplex *pla_cut_complex_dup(const PlaCutComplex *self);
void pla_cut_complex_free(PlaCutComplex *self); /* NULL is fine */

/* A cutting triangle seen from one tet. */
typedef struct {
  PlaCutPlane plane[4]; /* its own, then one through each edge, not negative on its side */
} PlaCutTriangle;
/* @tri: corners; @pos: the tet's corners; on the integer grid, differences below 2^35.  false when
 * the triangle has no area or the plane misses the tet. */
bool pla_cut_triangle_init(PlaCutTriangle *self, const int64_t tri[3][3], const int64_t pos[4][3]);
/* Says which vertices of its blade the corners are.  Triangles that share vertices then go faster
 * into the same complex; the answers are the same. */
void pla_cut_triangle_set_verts(PlaCutTriangle *self, const int vert[3]);

/* Cuts along @triangle, which is number @id (rising).  *changed: whether anything did.  false:
 * memory is short, and @self may only be freed. */
bool pla_cut_complex_insert(PlaCutComplex *self, const PlaCutTriangle *triangle, int id,
                            bool *changed);

/* Piece of every cell, numbered in the order of their first cells; piece has n_cells entries.
 * Returns the number of pieces, or -1. */
int pla_cut_complex_pieces(const PlaCutComplex *self, int *piece);
/* Cells @piece[c] == @which alone. */
PlaCutComplex *pla_cut_complex_extract(const PlaCutComplex *self, const int *piece, int which);

/* Volume of all cells as a fraction of the tet's. */
double pla_cut_complex_volume(const PlaCutComplex *self);
/* Barycentric coordinates. */
void pla_cut_complex_weights(const PlaCutComplex *self, int vert, double weight[4]);
/* How far the point @weight lies inside the material, in barycentric units of the nearest plane;
 * negative outside.  Rounded: for choosing between pieces, not for parting them. */
double pla_cut_complex_depth(const PlaCutComplex *self, const double weight[4]);
/* Exact: -1, 0 or 1. */
int pla_cut_complex_side(PlaCutComplex *self, int vert, int plane);

/* Whether uncovered material of @a on its face @face_a and of @b on @face_b have an area in common.
 * Corner i of a is corner corner_b[i] of b, for the three corners of the face.  1, 0 or -1. */
int pla_cut_complex_faces_overlap(PlaCutComplex *a, int face_a, PlaCutComplex *b, int face_b,
                                  const int corner_b[4]);
/* Whether @self has uncovered material on @face. */
bool pla_cut_complex_has_face(const PlaCutComplex *self, int face);

/* A point of another tet that lies on a face or edge which both have: corner i here is corner
 * corner[i] there, -1 where the other tet has no such corner. */
typedef struct {
  const PlaCutComplex *refined;
  int vert;
  int corner[4];
} PlaCutGuest;
/* Whether the guest is point @vert: 1, 0 or -1. */
int pla_cut_complex_same_point(PlaCutComplex *self, int vert, const PlaCutGuest *guest);
/* Whether the guest lies strictly inside edge @k of patch @p: 1, 0 or -1. */
int pla_cut_complex_inside_edge(PlaCutComplex *self, int p, int k, const PlaCutGuest *guest);
