/* One step of a plan in the making: a tool and what it is told, in the words of a plan.  The keys
 * of each tool stand in plan-tools.c. */
#pragma once

#include "app/surgery/plan-preview.h"

#include <glib.h>

G_BEGIN_DECLS

typedef struct PlaToolStep PlaToolStep;

PlaToolStep *pla_tool_step_new(const char *tool);
void pla_tool_step_free(PlaToolStep *self); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlaToolStep, pla_tool_step_free)

void pla_tool_step_set_text(PlaToolStep *self, const char *key, const char *value);
void pla_tool_step_set_number(PlaToolStep *self, const char *key, double value);
double pla_tool_step_get_number(const PlaToolStep *self, const char *key); /* that was set */
void pla_tool_step_set_flag(PlaToolStep *self, const char *key, bool value);
void pla_tool_step_set_point(PlaToolStep *self, const char *key, const double value[3]);
void pla_tool_step_set_path(PlaToolStep *self, const double *points_mm, int n); /* "path_mm" */
void pla_tool_step_set_edges(PlaToolStep *self, const char *first, const char *second);
/* A blade of triangles; @to_mm times @pos is mm, kept to a thousandth. */
void pla_tool_step_set_blade(PlaToolStep *self, const double *pos, double to_mm, int n_verts,
                             const int *tri, int n_tris);
/* One more line that the skin is pulled along. */
void pla_tool_step_add_line(PlaToolStep *self, const double at_mm[3], const double direction[3]);
void pla_tool_step_remove(PlaToolStep *self, const char *key);

/* What it would do; see pla_plan_preview_draw(). */
PlaStatus pla_tool_step_draw(const PlaToolStep *self, const PlaPlanPreview *preview, PlaSketch *out,
                             PlaError *err);
/* {"incise": {...}}, a copy; json_object_unref(). */
JsonObject *pla_tool_step_to_json(const PlaToolStep *self);

G_END_DECLS
