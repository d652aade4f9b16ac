/* Bodies with muscles as items of a case and, for those of phantoms, in the cache. */
#pragma once

#include "app/content/content.h"
#include "sim/bodies/active-body.h"

/* A phantom that can be such a body, as panels offer it; words are translatable. */
enum { PLA_ACTIVE_N_DETAILS = 3 }; /* coarse, medium, fine */
typedef struct {
  const char *name;  /* "face" */
  const char *title; /* "Face of the phantom" */
  struct {
    double cell_mm;
    const char *cost; /* what it takes, in a sentence or two */
  } detail[PLA_ACTIVE_N_DETAILS];
} PlaActivePhantom;
const PlaActivePhantom *pla_active_phantom_get(int i);             /* NULL behind the last */
const PlaActivePhantom *pla_active_phantom_find(const char *name); /* or NULL */

/* @name: "face" (the head phantom's), "tongue" or "arm".  PLA_ERR_USAGE lists them for any other.
 * What was built once is kept (app/base/cache.h) and has the same bits when it comes from there. */
PlaStatus pla_active_body_from_phantom(const char *name, const PlaActiveBodyOptions *opts,
                                       PlaProgress *progress, PlaActiveBody **out, PlaError *err);

/* As items of a case: the mesh, and the muscles with what holds them, the jaw, the flesh and the
 * places of markers.  Muscles that the operation "muscles" made have none of these: bones hold what
 * is near to them, and there is no jaw. */
PlaStatus pla_active_body_to_contents(const PlaActiveBody *self, const char *mesh_name,
                                      PlaContent **mesh, PlaContent **muscles, PlaError *err);
PlaStatus pla_active_body_from_contents(const char *name, const PlaContent *mesh,
                                        const PlaContent *muscles, const PlaActiveBodyOptions *opts,
                                        PlaActiveBody **out, PlaError *err);
