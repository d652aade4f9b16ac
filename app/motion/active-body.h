/* Bodies with muscles, ready to be activated and fitted: from phantoms and from cases.
 *
 * A body is a mesh of flesh, muscles on it (anatomy/muscle), bones that hold it, a jaw where there
 * is one, and places for markers on its surface.  Everything in it is immutable once made, so that
 * several threads may use one body, each with a PlaActiveSolver of its own (sim/active/active.h).
 */
#pragma once

#include "anatomy/muscle/muscle.h"
#include "app/content/content.h"
#include "sim/active/active.h"
#include "sim/fit/markers.h"

typedef struct {
  char *name;    /* "face", "tongue", "arm", or the case's item */
  char *phantom; /* "face", "tongue" or "arm" where it is that of a phantom, else NULL */
  PlaMesh *mesh; /* tets, m */
  PlaMuscleSet muscles;
  PlaActiveModel *model;
  double young_pa, poisson; /* of the flesh between the fibres */
  double strength;          /* factor on the peak stress of all muscles */
  PlaMarkerSet markers; /* where markers are expected, by name; none for bodies without a layout */
} PlaActiveBody;

typedef struct {
  double cell_mm;  /* element size of a phantom's mesh; 0: one that suits it */
  double young_pa; /* of the flesh between the fibres; 0: as the preset of the body */
  double poisson;  /* 0: 0.45 */
  double strength; /* factor on the peak stress of all muscles: how expressions are exaggerated
                      beyond full activation; 0: 1 */
} PlaActiveBodyOptions;
PlaActiveBodyOptions pla_active_body_options_default(void);

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
void pla_active_body_free(PlaActiveBody *self); /* NULL is fine */

/* A model of the same body with flesh @stiffness times as stiff; the caller frees *out. */
PlaStatus pla_active_body_stiffen(const PlaActiveBody *self, double stiffness, PlaActiveModel **out,
                                  PlaError *err);

/* As items of a case: the mesh, and the muscles with what holds them, the jaw, the flesh and the
 * places of markers.  Muscles that the operation "muscles" made have none of these: bones hold what
 * is near to them, and there is no jaw. */
PlaStatus pla_active_body_to_contents(const PlaActiveBody *self, const char *mesh_name,
                                      PlaContent **mesh, PlaContent **muscles, PlaError *err);
PlaStatus pla_active_body_from_contents(const char *name, const PlaContent *mesh,
                                        const PlaContent *muscles, const PlaActiveBodyOptions *opts,
                                        PlaActiveBody **out, PlaError *err);
