/* The inside of a set of contacts. */
#pragma once

#include "anatomy/mesh/tri-tree.h"
#include "sim/contact/contact.h"

/* A point of the surface: a vertex, the middle of an edge, or of a triangle. */
typedef struct {
  int n_verts, vert[3];
  int piece;
  double area;           /* m^2 */
  double stiffness;      /* N/m */
  double link_stiffness; /* N/m; 0: no link */
  double thickness;      /* towards other pieces, m: not more than its distance to them at rest */
  double own_thickness;  /* towards its own piece: not more than half its distance to other parts at
                            rest */
  int link_piece;        /* which piece its link leads to */
  double link_rest;      /* gap of the link at rest, m */
} PlaSurfacePoint;

/* One piece of the body: its triangles in a tree that follows them. */
typedef struct {
  int first_tri, n_tris; /* in set->tri */
  PlaTriTree *tree;
  PlaFeatureMesh features;
} PlaSurfacePiece;

typedef struct {
  PlaContact *item;
  int n, capacity;
  bool short_of_memory;
} PlaContactList;

struct PlaContactSet {
  const PlaFemModel *model;  /* borrowed */
  PlaContactOptions options; /* with defaults filled in */
  PlaCollider **collider;    /* a list of ours; what it names is borrowed (n_colliders) */
  double *collider_friction; /* n_colliders */
  int n_colliders;
  int n_points, n_tris, n_pieces;
  PlaSurfacePoint *point;
  double *collider_thickness; /* m (n_points x n_colliders) */
  unsigned char *deep;        /* this point was inside that collider (n_points x n_colliders) */
  int *tri;                   /* surface by pieces (n_tris x 3) */
  PlaSurfacePiece *piece;
  double *pos;             /* positions of the update, m (n_verts x 3) */
  double *tri_normal;      /* unit (n_tris x 3) */
  double *vert_normal;     /* unit (n_verts x 3) */
  double inside_reach;     /* how deep a point inside a piece is looked for, m */
  double *start;           /* positions at the beginning of the step, m (n_verts x 3) */
  double *before;          /* poses then (n_colliders x 12) */
  PlaContactList contacts; /* with the links last */
  PlaContactList links;
  PlaFriction *friction;
  int n_friction;
};

/* Triangles and points of the boundary, pieces and their trees. */
PlaStatus pla_contact_surface_init(PlaContactSet *self, PlaError *err);
void pla_contact_surface_clear(PlaContactSet *self);
/* What of piece @b is near a point at @x, with signed distances: the nearest place within @reach,
 * or every feature within twice the thickness when there is one outside.  @own_normal: the outward
 * direction at the point when it belongs to the piece, else NULL. */
int pla_contact_piece_near(const PlaContactSet *self, int b, const PlaSurfacePoint *point,
                           const double x[3], const double *own_normal, double reach,
                           PlaFeature out[PLA_MOST_FEATURES]);
