/* What tests of the Surgery workspace share: a case with a body, and the panel's rows. */
#pragma once

#include "app/case/session.h"
#include "app/surgery/surgery-body.h"
#include "tests/ui/fixture.h"

/* Does an operation of @session, with @params as JSON. */
void apply(PlaSession *session, const char *verb, const char *params);
/* A case with a slab of skin, on the table in cells of @lattice_mm; 0: not yet.  Path, g_free(). */
char *slab_case(const char *name, double lattice_mm);
PlaEntry *body_of(PlaWindow *window);
JsonObject *surgery_of(PlaWindow *window);
JsonObject *last_found(PlaWindow *window, int back); /* what the last step but @back measured */
/* The row of the panel with this title: a number, a choice. */
void set_spin(PlaWindow *window, const char *title, double value);
void choose(PlaWindow *window, const char *title, guint item);
/* A click at a place of the 3-D view, in parts of its size. */
void click_skin(PlaWindow *window, double x, double y);
