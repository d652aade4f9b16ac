/* Inside plans: how values are read, and the tools. */
#pragma once

#include "app/surgery/plan.h"

typedef struct {
  PlaSurgery *surgery; /* NULL: values are read and checked, nothing is done */
  PlaProgress *progress;
  PlaPlanStep *step;
  JsonObject *found;  /* of the step */
  GHashTable *wounds; /* names that the plan has made so far; NULL: others may be there */
} PlaPlanRun;

typedef struct {
  const char *name;
  const char *const *keys; /* NULL-terminated */
  PlaStatus (*run)(PlaPlanRun *run, PlaJson what, PlaError *err);
} PlaPlanTool;

/* The tool that @operation, an object with one member, names; *what: that member. */
PlaStatus pla_plan_find_tool(PlaJson operation, const PlaPlanTool **tool, PlaJson *what,
                             PlaError *err);

/* While a plan is only read: a wound that a tool makes, unless @st is a failure; and whether one
 * that a tool needs is made before. */
void pla_plan_add_wound(PlaPlanRun *run, const char *name, PlaStatus st);
PlaStatus pla_plan_know_wound(PlaPlanRun *run, PlaJson at, const char *name, PlaError *err);

PlaStatus pla_plan_need(PlaJson object, const char *key, PlaJson *out, PlaError *err);
PlaStatus pla_plan_text(PlaJson object, const char *key, char **out, PlaError *err); /* g_free() */
/* A number between @min and @max; *out keeps its value when the key is absent and @optional. */
PlaStatus pla_plan_number(PlaJson object, const char *key, bool optional, double min, double max,
                          double *out, PlaError *err);
/* The same in mm, as metres. */
PlaStatus pla_plan_mm(PlaJson object, const char *key, bool optional, double min, double max,
                      double *out, PlaError *err);
/* [[x, y, z], ...] in mm, as metres; g_free() */
PlaStatus pla_plan_path(PlaJson object, const char *key, double **out, int *n, PlaError *err);
PlaStatus pla_plan_point(PlaJson object, const char *key, double out[3], PlaError *err);

extern const char *const pla_plan_template_keys[];
PlaStatus pla_plan_run_template(PlaPlanRun *run, PlaJson what, PlaError *err);
