/* What displays show of a surgical body: maps on its surface, wounds, threads. */
#pragma once

#include "sim/surgery/surgery.h"

/* Numbers at each vertex of a surface: means over the material around the vertices of its tet.  The
 * arrays are the caller's. */
typedef struct {
  double *stretch;  /* largest principal stretch, 1: none (n_verts) */
  double *tension;  /* largest principal true stress where it pulls, Pa (n_verts) */
  double *pressure; /* mean true stress where it presses, negative where it pulls, Pa (n_verts) */
} PlaSurgeryMaps;
/* @surface is the body's own. */
PlaStatus pla_surgery_map(const PlaSurgery *self, const PlaCutSurface *surface, PlaSurgeryMaps *out,
                          PlaError *err);
/* How far each vertex of @surface has moved from its rest, m (n_verts x 3). */
void pla_surgery_map_displacement(const PlaSurgery *self, const PlaCutSurface *surface,
                                  double *out);

typedef struct {
  const char *name; /* borrowed */
  bool closed;
  double length; /* of its path when it was made, m */
  int n_edge[2]; /* points of its edges, left and right */
} PlaSurgeryWoundView;
int pla_surgery_n_wounds(const PlaSurgery *self);
PlaSurgeryWoundView pla_surgery_get_wound(const PlaSurgery *self, int i);

/* Where point @i of edge @side (0: left) of wound @wound lies now, m. */
void pla_surgery_get_edge(const PlaSurgery *self, int wound, int side, int i, double out[3]);

/* Ends of a thread as it lies now, m: of a stitch both on the skin, of a hook the skin and the
 * place to which it pulls.  A stitch has several threads, which are counted here. */
int pla_surgery_n_threads(const PlaSurgery *self);
int pla_surgery_n_hooks(const PlaSurgery *self);
void pla_surgery_get_thread_ends(const PlaSurgery *self, int i, double a[3], double b[3]);
void pla_surgery_get_hook_ends(const PlaSurgery *self, int i, double skin[3], double place[3]);
