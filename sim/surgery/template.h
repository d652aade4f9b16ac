/* Customary flaps and excisions as drawings: incisions, excisions, areas to undermine and edges to
 * sew, in a plane with the middle of the defect at (0, 0), u along the chosen direction and v to
 * its left. Laid on the skin (pla_surgery_draw()), they become plain operations. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>

typedef struct {
  double size;   /* m: what it means stands in the table */
  double angle;  /* rad; 0: customary */
  double length; /* m; 0: customary */
  bool mirror;   /* left and right exchanged */
} PlaTemplateParams;

typedef enum {
  PLA_TEMPLATE_INCISE = 0,
  PLA_TEMPLATE_EXCISE,
  PLA_TEMPLATE_UNDERMINE,
  PLA_TEMPLATE_SEW
} PlaTemplateTool;

/* a part of a wound's edge, as PlaSurgeryEdge; the wound is that of an earlier step */
typedef struct {
  int step;
  int side;
  double from, to;
} PlaTemplateEdge;

enum { PLA_TEMPLATE_PARTS = 3 };

typedef struct {
  PlaTemplateTool tool;
  const char *name; /* of the wound, such as "flap"; NULL where there is none */
  int n_points;
  double *point; /* m (n_points x 2); owned */
  int n_parts[2];
  PlaTemplateEdge edge[2][PLA_TEMPLATE_PARTS];
} PlaTemplateStep;

typedef struct {
  int n_steps, capacity;
  PlaTemplateStep *step;
  double width, length; /* of the flap, m; 0: there is none */
} PlaTemplateDrawing;
void pla_template_drawing_clear(PlaTemplateDrawing *self);

typedef struct {
  const char *id;    /* "z-plasty" */
  const char *title; /* "Z-plasty" */
  const char *size;  /* what the size is: "length of the scar" */
  double angle;      /* customary, rad; 0: it has none */
  double min_angle, max_angle;
  const char *length; /* what the length is, NULL: it has none */
  double length_of_size;
  bool (*draw)(const PlaTemplateParams *params, PlaTemplateDrawing *out);
} PlaTemplate;

/* NULL-terminated, in the order that panels show them. */
const PlaTemplate *const *pla_templates_get(void);
const PlaTemplate *pla_template_find(const char *id); /* NULL: none */

/* PLA_ERR_USAGE names a parameter that makes no sense.  Clear *out. */
PlaStatus pla_template_draw(const PlaTemplate *self, const PlaTemplateParams *params,
                            PlaTemplateDrawing *out, PlaError *err);
