/* Landmarks, measurements and notes of a case, as views, lists and reports read them. */
#pragma once

#include "app/content/content.h"

typedef enum {
  PLA_ANNOTATION_LANDMARK = 0,
  PLA_ANNOTATION_DISTANCE,
  PLA_ANNOTATION_ANGLE, /* at the second point */
  PLA_ANNOTATION_PATH,
  PLA_ANNOTATION_VOLUME, /* of a tissue or a mesh */
  PLA_ANNOTATION_NOTE,
} PlaAnnotationKind;

typedef struct {
  PlaAnnotationKind kind;
  int n_points;
  double *point_mm; /* RAS (n_points x 3), g_free() */
  double value;     /* mm, degrees or mm^3 */
  char *text;       /* of a note; what the volume is of; else NULL.  g_free() */
} PlaAnnotation;

/* Whether items of that kind are annotations. */
bool pla_annotation_is_kind(const char *item_kind);
/* false, and nothing to clear, where @content is none. */
bool pla_annotation_read(const PlaContent *content, PlaAnnotation *out);
void pla_annotation_clear(PlaAnnotation *self);
const char *pla_annotation_kind_name(PlaAnnotationKind kind); /* "distance" */
/* "12.34 mm", "45.0°", "12.345 ml", "" where there is no value; g_free(). */
char *pla_annotation_value_text(const PlaAnnotation *self);
