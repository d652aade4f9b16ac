/* Plans side by side: the body before surgery, and what became of it on every branch of a case. */
#pragma once

#include "app/content/content.h"
#include "app/show/picture.h"

typedef struct {
  char *name;       /* of the branch; "before" */
  PlaContent *body; /* owned */
  int n_steps, n_stitches;
  bool settled;           /* the last step was a solve that converged */
  double closure_force_n; /* of all stitches */
  double max_tension_n;   /* of one */
  double edge_gap_mm;     /* widest */
  double tip_gap_mm;      /* where edges meet within a cell; NAN: not known */
  double dog_ear_mm;
  double stretch_percent; /* largest on the skin, but for half a percent of it */
  double above_cm2;       /* skin stretched beyond the limit of that quantity */
  double tension_kpa;     /* largest on the skin, but for half a percent of it */
  double pressure_kpa;    /* the same of pressure */
  double removed_ml;
  double flap_ratio; /* width to length of the last flap; 0: none */
} PlaPlanSide;

/* Appends nothing twice: branches that stand at the same body are one side.  GPtrArray of
 * PlaPlanSide, g_ptr_array_unref(); PLA_ERR_EMPTY where no branch has a body. */
PlaStatus pla_plan_sides(PlaStore *store, PlaProgress *progress, GPtrArray **out, PlaError *err);
/* The same of one item. */
PlaPlanSide *pla_plan_side_new(const char *name, PlaContent *body); /* refs @body */
void pla_plan_side_free(void *side);

/* One line of the comparison: a title, and for each side a text with its unit. */
typedef struct {
  const char *title;                      /* translatable */
  char *(*text)(const PlaPlanSide *side); /* g_free() */
} PlaPlanLine;
const PlaPlanLine *pla_plan_lines_get(int *n);

/* Towards the wounds of a body from outside; false where it has none. */
bool pla_body_wound_camera(const PlaContent *body, PlaCamera *out);
/* The body with the map @map, such as "tissue" or "skin-stretch", as the window shows it.
 * @camera NULL: fitted from opts->view.  cairo_surface_destroy() by the caller. */
PlaStatus pla_body_draw(const PlaContent *body, const char *map, const PlaCamera *camera,
                        const PlaPictureOptions *opts, cairo_surface_t **out, PlaError *err);
