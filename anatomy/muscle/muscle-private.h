/* The fibres of one muscle in space, before any mesh. */
#pragma once

#include "anatomy/muscle/muscle.h"

typedef struct PlaMuscleField PlaMuscleField;

/* @muscle, @shape, @vectors and @bones are borrowed; @vectors may be NULL.  @cell_mm: of the
 * lattice that fibres are computed on. */
PlaStatus pla_muscle_field_new(const PlaMuscle *muscle, const PlaMuscleShape *shape,
                               const PlaFibreSamples *vectors, const PlaMuscleBone *bones,
                               int n_bones, double cell_mm, const PlaMuscleOptions *opts,
                               PlaProgress *progress, PlaMuscleField **out, PlaError *err);
void pla_muscle_field_free(PlaMuscleField *self); /* NULL is fine */

/* The unit fibre at @pos_mm, and how far along it is from origin (0) to insertion (1): NaN where
 * that is not known.  Any thread. */
void pla_muscle_field_at(const PlaMuscleField *self, const double pos_mm[3], double dir[3],
                         double *along);
const PlaStreamlines *pla_muscle_field_lines(const PlaMuscleField *self); /* m */
/* Fills volume, length, section, force, gaps and straightness. */
void pla_muscle_field_report(const PlaMuscleField *self, PlaMuscleReport *report);
/* Share of the muscle's volume that no fibre from origin to insertion reaches. */
double pla_muscle_field_cut_off(const PlaMuscleField *self);
