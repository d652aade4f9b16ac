/* Inside the complex of a cut tet, for its files. */
#pragma once

#include "sim/cut/complex.h"

#include <stddef.h>

/* an edge that got a point inside; loops that still have the whole edge are brought up to date
 * before they are used */
typedef struct {
  int from, to; /* from < to */
  int mid;
} PlaCutEdgeSplit;

/* what one insertion works with */
typedef struct {
  PlaCutComplex *refined;
  int plane[4]; /* of the triangle */
  int id;
  int n_pending, cap_pending;
  PlaCutEdgeSplit
      *pending; /* of the cell at work; dropped when the triangle proves not to reach it */
  size_t n_split, cap_split; /* a hash table with open addressing */
  PlaCutEdgeSplit *split;
} PlaCutInsertion;

/* loops under construction */
typedef struct {
  int n, capacity;
  PlaCutCorner *corner;
} PlaCutLoop;

void pla_cut_plane_round(PlaCutPlane *plane); /* a from d */
/* Appending: -1, NULL or false when memory is short. */
int pla_cut_add_plane(PlaCutComplex *self, const PlaCutPlane *plane);
/* of columns i, j and k of three planes */
double pla_cut_det3(const double *p, const double *q, const double *r, int i, int j, int k);
/* The point of three planes.  -1 when memory is short, -2 when they meet in no single point. */
int pla_cut_add_vert(PlaCutComplex *self, int p, int q, int r);
PlaCutPatch *pla_cut_add_patch(PlaCutComplex *self, const PlaCutCorner *corner, int n);
bool pla_cut_cell_add_patch(PlaCutComplex *self, int cell, int patch);
int pla_cut_add_cell(PlaCutComplex *self);
bool pla_cut_loop_copy(PlaCutLoop *loop, const PlaCutCorner *corner, int n);
/* Parts of a convex loop in @support on both sides of @plane, which strictly crosses it. */
bool pla_cut_split_loop(PlaCutInsertion *ins, const PlaCutCorner *corner, int n, int support,
                        int plane, PlaCutLoop *below, PlaCutLoop *above);
/* Whether the loop has corners strictly on either side of @plane. */
void pla_cut_loop_sides(PlaCutComplex *self, const PlaCutCorner *corner, int n, int plane,
                        bool *below, bool *above);
