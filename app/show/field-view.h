/* What can be shown of a mesh in colours: its fields under their clinical names, in the units of
 * displays, with the colour map that suits them. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "app/show/colour-map.h"

typedef struct {
  const char *id;    /* "stretch" */
  const char *title; /* translatable */
  const char *unit;  /* "kPa"; "" for ratios */
  const char *field; /* name in the mesh; NULL: of the tets themselves */
  PlaFieldPlace place;
  bool tissue;    /* colours of the tissue itself: no scale is drawn */
  bool magnitude; /* the length of each tuple, else its first number */
  double factor;  /* to the unit */
  bool centred;   /* colours are even around @centre */
  double centre;
  PlaColourMap map;
} PlaFieldView;

const PlaFieldView *pla_field_views_get(int *n);
const PlaFieldView *pla_field_view_find(const char *id); /* or NULL */
bool pla_field_view_suits(const PlaFieldView *view, const PlaMesh *mesh);
/* One number for each vertex or cell of @mesh, which the view suits; free() by the caller, NULL
 * when memory is short. */
double *pla_field_view_values(const PlaFieldView *view, const PlaMesh *mesh, size_t *n);
/* The range that shows most of the values: without the outermost half percent at each end. */
void pla_field_view_range(const PlaFieldView *view, const double *values, size_t n, double *lo,
                          double *hi);
