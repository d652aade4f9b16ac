/* Markers on the skin of a body: where they sit, and which of a take's markers is which.
 *
 * A marker is bound to the nearest place of the surface, at a constant offset from it (Sifakis
 * 2007): its position in the frame of the cranium is sum_k weight_k x_k + offset. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "anatomy/signal/signal.h"

#include <stdbool.h>

typedef struct {
  char *name; /* owned */
  int vert[3];
  double weight[3];
  double offset[3]; /* m */
} PlaMarkerSite;

typedef struct {
  int n;
  PlaMarkerSite *site; /* owned */
} PlaMarkerSet;
void pla_marker_set_clear(PlaMarkerSet *self);
/* Index of the marker called @name, whatever its case, or -1. */
int pla_marker_set_find(const PlaMarkerSet *self, const char *name);

/* Binds @n points (n x 3, m) to the nearest places of the outer faces of @mesh.  @on_skin: without
 * offset, at those places themselves. */
PlaStatus pla_marker_set_bind(const PlaMesh *mesh, int n, const char *const *names,
                              const double *pos, bool on_skin, PlaMarkerSet *out, PlaError *err);

/* Position of marker @i when the body has the shape @pos (n_verts x 3). */
void pla_marker_place(const PlaMarkerSite *site, const double *pos, double out[3]);
