/* Bodies with muscles, ready to be activated and fitted.
 *
 * A body is a mesh of flesh, muscles on it (anatomy/muscle), bones that hold it, a jaw where there
 * is one, and places for markers on its surface.  Everything in it is immutable once made, so that
 * several threads may use one body, each with a PlaActiveSolver of its own (sim/active/active.h).
 */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/muscle/muscle.h"
#include "sim/active/active.h"
#include "sim/fit/markers.h"

/* The elements of the flesh. */
typedef enum {
  PLA_FLESH_DEFAULT = 0, /* as the body was made; of a phantom: standard */
  PLA_FLESH_STANDARD,    /* plain linear tets */
  PLA_FLESH_MIXED,       /* averaged strains and volumes, which do not lock */
} PlaFleshElements;
/* NULL-ended words for them, from standard on. */
extern const char *const pla_flesh_elements[];

typedef struct {
  char *name;    /* "face", "tongue", "arm", or the case's item */
  char *phantom; /* "face", "tongue" or "arm" where it is that of a phantom, else NULL */
  PlaMesh *mesh; /* tets, m */
  PlaMuscleSet muscles;
  PlaActiveModel *model;
  double young_pa, poisson; /* of the flesh between the fibres */
  double strength;          /* factor on the peak stress of all muscles */
  PlaFleshElements elements;
  PlaMarkerSet markers; /* where markers are expected, by name; none for bodies without a layout */
} PlaActiveBody;

typedef struct {
  double cell_mm;  /* element size of a phantom's mesh; 0: one that suits it */
  double young_pa; /* of the flesh between the fibres; 0: as the preset of the body */
  double poisson;  /* 0: 0.45 */
  double strength; /* factor on the peak stress of all muscles: how expressions are exaggerated
                      beyond full activation; 0: 1 */
  PlaFleshElements elements;
} PlaActiveBodyOptions;
PlaActiveBodyOptions pla_active_body_options_default(void);

/* A body without mesh, muscles and model, which the caller puts in; NULL when memory is short.
 * @phantom may be NULL. */
PlaActiveBody *pla_active_body_new(const char *name, const char *phantom);
void pla_active_body_free(PlaActiveBody *self); /* NULL is fine */

/* Which bone holds each vertex, as PLA_HOLD_ (n_verts), by the muscles' own attachments and, where
 * @cut is given, at the vertices along which the rest of the body was cut away.  @jaw: the mandible
 * moves.  Tissue between two bones that move against each other must not be held by both: the
 * cranium lets go. */
PlaStatus pla_active_body_find_holds(const PlaMesh *mesh, const PlaMuscleSet *set,
                                     const unsigned char *cut, bool jaw, unsigned char *hold,
                                     PlaError *err);
/* What the flesh is, and the model, for a body whose mesh and muscles are there.  @jaw: NULL for
 * none.  @flesh: with stiffness and Poisson's ratio. */
PlaStatus pla_active_body_finish(PlaActiveBody *self, const unsigned char *hold, const PlaJaw *jaw,
                                 const PlaActiveBodyOptions *flesh, PlaError *err);
/* A model of the same body with flesh @stiffness times as stiff; the caller frees *out. */
PlaStatus pla_active_body_stiffen(const PlaActiveBody *self, double stiffness, PlaActiveModel **out,
                                  PlaError *err);

/* Fills in what @opts leaves at 0.  @phantom: "face" (the head phantom's), "tongue" or "arm";
 * PLA_ERR_USAGE lists them for any other. */
PlaStatus pla_active_body_complete(const char *phantom, PlaActiveBodyOptions *opts, PlaError *err);
/* Meshes a phantom and places its muscles and markers: seconds of work. */
PlaStatus pla_active_body_new_phantom(const char *name, const PlaActiveBodyOptions *opts,
                                      PlaProgress *progress, PlaActiveBody **out, PlaError *err);
