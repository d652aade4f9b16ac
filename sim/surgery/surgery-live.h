/* A body that follows a hook while it is dragged: sweeps over the vertices, near the hook first.
 *
 * What it shows is on its way; the hook as a tool, followed by a solve, is the answer. */
#pragma once

#include "sim/surgery/surgery.h"

typedef struct PlaSurgeryLive PlaSurgeryLive;

/* Sets a hook at @at on @body, which is borrowed, changed by that, and must outlive the result. */
PlaStatus pla_surgery_live_new(PlaSurgery *body, const double at[3], PlaSurgeryLive **out,
                               PlaError *err);
void pla_surgery_live_free(PlaSurgeryLive *self); /* NULL is fine */

/* The hook pulls to @pull from where it was set, m. */
PlaStatus pla_surgery_live_pull(PlaSurgeryLive *self, const double pull[3], PlaError *err);
/* Sweeps @n times.  Walls of wounds and implants keep apart, as in a solve: every few sweeps it is
 * looked again what touches, so a flap follows its bed and does not sink into it. */
PlaStatus pla_surgery_live_sweep(PlaSurgeryLive *self, int n, PlaError *err);
double pla_surgery_live_residual(PlaSurgeryLive *self); /* N */
double pla_surgery_live_force(PlaSurgeryLive *self);    /* of the hook, N */
double pla_surgery_live_depth(
    const PlaSurgeryLive *self); /* of walls in one another at the last look, m */
/* The surface of the body (as pla_surgery_get_surface() has it) in the present shape, m. */
int pla_surgery_live_n_verts(const PlaSurgeryLive *self);
void pla_surgery_live_get_surface(PlaSurgeryLive *self, double *pos);
