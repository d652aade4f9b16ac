/* The parameters of one verb as values with their domain: what a panel shows and changes, and what
 * a request is made of.
 *
 * Type, range, unit, choices, default and help of a value are those of the verb's definition; they
 * are stated nowhere else.  A value that was not set is the definition's default.  A name that the
 * definition does not have, or a value of another type, is a mistake of the caller and stops the
 * program.
 *
 * Main thread only.  Signal "changed", with the name of the parameter as its detail and argument:
 * the value is another one. */
#pragma once

#include "app/verbs/verb.h"

#include <glib-object.h>

G_BEGIN_DECLS

#define PLA_TYPE_VERB_VALUES (pla_verb_values_get_type())
G_DECLARE_FINAL_TYPE(PlaVerbValues, pla_verb_values, PLA, VERB_VALUES, GObject)

PlaVerbValues *pla_verb_values_new(const char *verb);
/* With the same values, which later changes of @self do not reach. */
PlaVerbValues *pla_verb_values_dup(PlaVerbValues *self);

const PlaVerb *pla_verb_values_get_verb(PlaVerbValues *self);
const PlaVerbParam *pla_verb_values_get_param(PlaVerbValues *self, const char *name);

/* What may be chosen of a number or whole number. */
typedef struct {
  double low, high, step, page;
  int digits;
} PlaParamDomain;
PlaParamDomain pla_verb_values_get_domain(PlaVerbValues *self, const char *name);
/* "mm", or "" for plain numbers. */
const char *pla_verb_values_get_unit(PlaVerbValues *self, const char *name);

double pla_verb_values_get_number(PlaVerbValues *self, const char *name); /* NAN: not given */
int pla_verb_values_get_int(PlaVerbValues *self, const char *name);
bool pla_verb_values_get_bool(PlaVerbValues *self, const char *name);
const char *pla_verb_values_get_text(PlaVerbValues *self, const char *name); /* NULL: not given */

/* Numbers are kept within the range of the definition. */
void pla_verb_values_set_number(PlaVerbValues *self, const char *name, double value);
void pla_verb_values_set_int(PlaVerbValues *self, const char *name, int value);
void pla_verb_values_set_bool(PlaVerbValues *self, const char *name, bool value);
/* Of texts and names of items. */
void pla_verb_values_set_text(PlaVerbValues *self, const char *name, const char *value);
void pla_verb_values_set_point(PlaVerbValues *self, const char *name, const double value[3]);
void pla_verb_values_set_points(PlaVerbValues *self, const char *name, const double *points, int n);
/* A choice of the definition, as it says it (PlaParamChoice); and whether it is the value. */
void pla_verb_values_choose(PlaVerbValues *self, const char *name, const char *choice);
bool pla_verb_values_holds(PlaVerbValues *self, const char *name, const char *choice);
/* The choice that is the value; false where it is none of them. */
bool pla_verb_values_get_choice(PlaVerbValues *self, const char *name, PlaParamChoice *out);
/* To what a panel that shows it begins with, unless it is set. */
void pla_verb_values_begin(PlaVerbValues *self, const char *name);
void pla_verb_values_unset(PlaVerbValues *self, const char *name);

/* Lists begin empty; app/verbs/verb-lists.h adds to those whose members are objects. */
void pla_verb_values_clear_list(PlaVerbValues *self, const char *name);
void pla_verb_values_add_text(PlaVerbValues *self, const char *name, const char *value);
void pla_verb_values_add_int(PlaVerbValues *self, const char *name, int value);
/* As one member that is a list itself. */
void pla_verb_values_add_ints(PlaVerbValues *self, const char *name, const int *values, int n);
void pla_verb_values_add_node(PlaVerbValues *self, const char *name, JsonNode *node); /* takes */

/* The request for a session; it borrows from @self until the next change. */
PlaRequest pla_verb_values_get_request(PlaVerbValues *self);

G_END_DECLS
