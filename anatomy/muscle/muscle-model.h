/* Muscles with their shapes and bones, ready to be put into a mesh: from phantoms, labels and
 * closed surfaces. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/muscle/muscle.h"

typedef struct {
  PlaMuscleList list;
  PlaMuscleShape *shape;           /* list.n */
  const PlaFibreSamples **vectors; /* list.n, entries may be NULL; NULL: none given */
  int n_bones;
  PlaMuscleBone *bone;
  struct PlaMuscleSources *sources; /* what the shapes borrow */
} PlaMuscleModel;
PlaMuscleModel *pla_muscle_model_new(void);       /* empty; NULL when memory is short */
void pla_muscle_model_free(PlaMuscleModel *self); /* NULL is fine */

/* The muscles and bones of a phantom, with exact shapes. */
PlaStatus pla_muscle_model_from_phantom(const char *name, PlaMuscleModel **out, PlaError *err);

bool pla_muscle_model_has_bone(const PlaMuscleModel *self, const char *name);
PlaStatus pla_muscle_model_add_bone(PlaMuscleModel *self, const char *name, PlaMuscleShape shape,
                                    PlaError *err);

/* Shapes that the model keeps alive: label @id of @map, and a closed @surface, which is the model's
 * from now on, after a failure too. */
PlaStatus pla_muscle_model_label_shape(PlaMuscleModel *self, const PlaLabelMap *map, int id,
                                       PlaProgress *progress, PlaMuscleShape *out, PlaError *err);
PlaStatus pla_muscle_model_take_surface(PlaMuscleModel *self, PlaMesh *surface, PlaMuscleShape *out,
                                        PlaError *err);

/* Fibre vectors for all muscles from the cell or vertex field "fibre" of a mesh; used by muscles
 * whose fibres are "vectors". */
PlaStatus pla_muscle_model_set_vectors(PlaMuscleModel *self, const PlaMesh *mesh, PlaError *err);
