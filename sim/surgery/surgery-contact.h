/* Contact between the walls of wounds: a flap lies on its bed and does not sink into it.
 *
 * Walls are parts of the embedded surface, so neither side has vertices of its own.  A point of a
 * wall that is behind the nearest wall which faces it, or just above, may be pushed back by a
 * spring along that one's normal, between the two places as the tets carry them.  Springs push and
 * do not pull, so a solve finds which of them act; what slides finds its new place from solve to
 * solve.  No friction: wounds are wet. */
#pragma once

#include "sim/fem/loads.h"
#include "sim/surgery/surgery-private.h"

typedef struct {
  const PlaCutSurface *surface; /* borrowed */
  PlaTriMesh walls;             /* triangles of the surface that blades made; the arrays are ours */
  double *place;                /* of the surface's vertices, m (n_verts x 3) */
  bool looked;                  /* once at least */
  double *last;                 /* where they were at the last look, m (n_verts x 3) */
  double *deep;                 /* and how deep in a wall, m (n_verts) */
  double *rest;                 /* the same at rest (n_verts x 3) */
  int *tri;                     /* (n_tris x 3) */
  double *middle, *rest_normal; /* of triangles at rest (n_tris x 3) */
  double *normal;               /* of triangles, unit (n_tris x 3) */
  double *vert_normal;          /* of vertices, unit (n_verts x 3) */
  double *area;                 /* that each vertex stands for at rest, m2; 0: none (n_verts) */
  double *each;         /* the part of the walls around it alone, for what is round (n_verts) */
  int *touch;           /* the triangle that each vertex may meet, -1 (n_verts) */
  double *foot;         /* and the place of it where (n_verts x 3) */
  double reach, margin; /* how deep and how high is looked, m */
  int n, capacity;
  PlaSpring *spring; /* in the order of vertices */
  int n_pushed;      /* vertices inside */
  int n_new;         /* of these, those that were not watched before */
  double deepest;    /* m */
  double push;       /* of all at that shape, N */
  double grown;      /* 0..1: from the size of implants at the last equilibrium to what they are */
  double implants;   /* what they push with, N */
} PlaSurgeryContacts;

/* For the body as it is cut now; nothing touches yet. */
PlaStatus pla_surgery_contacts_init(PlaSurgeryContacts *self, PlaSurgery *body, PlaError *err);
void pla_surgery_contacts_clear(PlaSurgeryContacts *self);
/* Finds what touches in the shape @pos (n_verts x 3). */
PlaStatus pla_surgery_contacts_update(PlaSurgeryContacts *self, const PlaSurgery *body,
                                      const double *pos, PlaError *err);
