/* Whether a surface can be printed: what a printer's software needs, in one sentence. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/mesh/mesh.h"

#include <stdint.h>

typedef struct {
  bool ready; /* closed, without self-intersections, with a volume */
  bool closed;
  int components;
  int64_t self_intersections; /* pairs of triangles */
  double volume_mm3;          /* 0 unless closed */
  double size_mm[3];          /* of the bounding box */
} PlaPrintCheck;

/* PLA_ERR_EMPTY where @mesh has no triangles, PLA_ERR_UNSUPPORTED where it has tets or hexes. */
PlaStatus pla_print_check(const PlaMesh *mesh, PlaProgress *progress, PlaPrintCheck *out,
                          PlaError *err);
/* "Closed, one piece, 123.4 ml, 80 × 60 × 90 mm: ready to print"; g_free(). */
char *pla_print_check_text(const PlaPrintCheck *self);
