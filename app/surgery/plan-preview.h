/* Drawing on a body before it is cut: paths on the skin, and the blades that they would make.
 *
 * A preview is made from a body's item on any thread, and then belongs to one. */
#pragma once

#include "app/content/content.h"

typedef struct PlaPlanPreview PlaPlanPreview;

PlaStatus pla_plan_preview_new(const PlaContent *body, PlaPlanPreview **out, PlaError *err);
void pla_plan_preview_free(PlaPlanPreview *self); /* NULL is fine */

/* A smooth line on the skin through @n points (mm), closed or not: GArray of double, xyz in mm, to
 * hundredths; g_array_unref().  Points that lie too far off are kept, for the tool to name. */
GArray *pla_plan_preview_smooth(const PlaPlanPreview *self, const double *points_mm, int n,
                                bool closed);

/* The skin at @at_mm, which must lie within PLA_SURGERY_SNAP of it, and its outward normal. */
bool pla_plan_preview_snap(const PlaPlanPreview *self, const double at_mm[3], double on_mm[3],
                           double normal[3]);
/* Distance to the nearest wall of a wound, mm; INFINITY without one. */
double pla_plan_preview_wall(const PlaPlanPreview *self, const double at_mm[3]);
/* Where the wounds are: their middle, the way out of the skin there, and how far they reach.  false
 * without wounds, or where they lie on all sides. */
bool pla_plan_preview_wounds(const PlaPlanPreview *self, double middle_mm[3], double normal[3],
                             double *radius_mm);

/* What a step would do, in mm.  Zero-initialise. */
typedef struct {
  int n_path;
  double *path; /* points of lines on the skin (n_path x 3) */
  int n_lines;
  int *start;    /* line l goes from point start[l] to before start[l + 1] (n_lines + 1) */
  double length; /* of all lines */
  int n_verts, n_tris;
  double *blade; /* (n_verts x 3) */
  int *tri;      /* (n_tris x 3) */
  bool through;  /* it goes through the body: what is inside is to be seen */
} PlaSketch;
void pla_sketch_clear(PlaSketch *self);
void pla_sketch_add_ball(PlaSketch *self, const double at_mm[3], double radius_mm);
/* @step as in a plan; of a template all cuts are drawn, of an implant or expander the ball, of
 * tension a field of dashes; what changes no shape gives an empty sketch.  A step that cannot be
 * done has the sentence that the tool would say; what could be drawn is in @out then, too. */
PlaStatus pla_plan_preview_draw(const PlaPlanPreview *self, JsonObject *step, PlaSketch *out,
                                PlaError *err);
