/* What the metadata of a fitted track tells about the fit, as plain values; see the verb "fit". */
#pragma once

#include "app/content/content.h"

G_BEGIN_DECLS

typedef struct {
  const char *name;
  double expected_error; /* posterior deviation of its activation */
  bool identifiable;     /* the markers determine it */
} PlaFittedMuscle;

/* Texts are borrowed from the content. */
typedef struct {
  double rms_mm, max_mm, noise_mm;
  int outliers;
  int n_muscles;
  PlaFittedMuscle *muscle; /* those with the largest error first; NULL: not told */
  GPtrArray *notes;        /* const char * */
} PlaFitFacts;

/* NULL where @track was not fitted; @track must outlive it. */
PlaFitFacts *pla_fit_facts_new(const PlaContent *track);
void pla_fit_facts_free(PlaFitFacts *self); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlaFitFacts, pla_fit_facts_free)

G_END_DECLS
