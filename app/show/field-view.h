/* What can be shown of a mesh in colours: which of its fields holds which quantity. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "app/base/quantity.h"

/* Fields on the vertices of a body that was operated on. */
#define PLA_BODY_STRETCH "stretch_percent" /* on vertices */
#define PLA_BODY_PRESSURE "pressure_kpa"   /* the same: mean, negative where it pulls */

typedef struct {
  const char *id; /* "stretch" */
  PlaQuantityId quantity;
  const char *field; /* name in the mesh; NULL: of the tets themselves */
  const char *also;  /* another name that files have for it, or NULL */
  PlaFieldPlace place;
  PlaUnit unit;   /* of the field */
  bool magnitude; /* the length of each tuple, else its first number */
  bool tissue;    /* colours of the tissue itself: no scale is drawn */
} PlaFieldView;

const PlaFieldView *pla_field_views_get(int *n);
const PlaFieldView *pla_field_view_find(const char *id); /* or NULL */
bool pla_field_view_suits(const PlaFieldView *view, const PlaMesh *mesh);
/* One number for each vertex or cell of @mesh, which the view suits, in the unit in which the
 * quantity is shown; free() by the caller, NULL when memory is short. */
double *pla_field_view_values(const PlaFieldView *view, const PlaMesh *mesh, size_t *n);
/* The range of colours that the quantity's rule gives. */
void pla_field_view_range(const PlaFieldView *view, const double *values, size_t n, double *lo,
                          double *hi);
