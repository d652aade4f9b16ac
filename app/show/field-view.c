/* The table of fields that can be shown in colour: name, unit, factor from SI, colour map.
 * Ranges leave out the lowest and highest half percent. */
#include "app/show/field-view.h"

#include "anatomy/base/memory.h"

#include <glib/gi18n.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const PlaFieldView views[] = {
  { "tissue", N_("Tissue"), "", "wound", PLA_ON_CELLS, true, false, 1.0, false, 0.0,
    PLA_MAP_FLESH },
  { "stretch", N_("Largest stretch"), "", "principal_stretch", PLA_ON_CELLS, false, false, 1.0,
    false, 0.0, PLA_MAP_WARM },
  { "von-mises", N_("Von Mises stress"), "kPa", "von_mises_pa", PLA_ON_CELLS, false, false, 1e-3,
    false, 0.0, PLA_MAP_WARM },
  { "skin-stretch", N_("Stretch of the skin"), "%", "stretch_percent", PLA_ON_VERTS, false, false,
    1.0, false, 0.0, PLA_MAP_WARM },
  { "skin-tension", N_("Tension of the skin"), "kPa", "tension_kpa", PLA_ON_VERTS, false, false,
    1.0, false, 0.0, PLA_MAP_WARM },
  { "skin-pressure", N_("Pressure"), "kPa", "pressure_kpa", PLA_ON_VERTS, false, false, 1.0, true,
    0.0, PLA_MAP_DIVERGING },
  { "displacement", N_("Displacement"), "mm", "displacement_mm", PLA_ON_VERTS, false, true, 1.0,
    false, 0.0, PLA_MAP_WARM },
  { "jacobian", N_("Volume ratio"), "", "jacobian", PLA_ON_CELLS, false, false, 1.0, true, 1.0,
    PLA_MAP_DIVERGING },
  { "quality", N_("Smallest dihedral angle"), "°", NULL, PLA_ON_CELLS, false, false, 1.0, false,
    0.0, PLA_MAP_SEA },
  { "deviation", N_("Deviation"), "mm", "deviation_mm", PLA_ON_VERTS, false, false, 1.0, true, 0.0,
    PLA_MAP_DIVERGING },
};

const PlaFieldView *
pla_field_views_get(int *n)
{
  *n = (int)G_N_ELEMENTS(views);
  return views;
}

const PlaFieldView *
pla_field_view_find(const char *id)
{
  for (size_t i = 0; i < G_N_ELEMENTS(views); i++)
    if (strcmp(views[i].id, id) == 0)
      return &views[i];
  return NULL;
}

bool
pla_field_view_suits(const PlaFieldView *view, const PlaMesh *mesh)
{
  return view->field ? pla_mesh_find_field(mesh, view->field, view->place) != NULL
                     : mesh->n_tets > 0;
}

/* the smallest dihedral angle of each tet; other cells have none */
static double *
angles(const PlaMesh *mesh, size_t *n)
{
  *n = pla_mesh_n_cells(mesh);
  double *values = pla_array_new(*n, sizeof *values);
  if (!values)
    return NULL;
  for (size_t c = 0; c < *n; c++)
    values[c] = NAN;
#pragma omp parallel for schedule(static)
  for (int t = 0; t < mesh->n_tets; t++)
    values[mesh->n_tris + t] = pla_tet_min_dihedral_deg(mesh->pos, mesh->tet + 4 * (size_t)t);
  return values;
}

double *
pla_field_view_values(const PlaFieldView *view, const PlaMesh *mesh, size_t *n)
{
  if (!view->field)
    return angles(mesh, n);
  const PlaField *field = pla_mesh_find_field(mesh, view->field, view->place);
  *n = pla_field_n_tuples(mesh, field);
  double *values = pla_array_new(*n, sizeof *values);
  const size_t k = (size_t)field->n_components;
  for (size_t i = 0; values && i < *n; i++) {
    double sum = 0.0, first = pla_dtype_get(field->dtype, field->data, k * i);
    for (size_t c = 0; view->magnitude && c < k; c++)
      sum += pow(pla_dtype_get(field->dtype, field->data, k * i + c), 2.0);
    values[i] = view->factor * (view->magnitude ? sqrt(sum) : first);
  }
  return values;
}

static int
compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void
pla_field_view_range(const PlaFieldView *view, const double *values, size_t n, double *lo,
                     double *hi)
{
  *lo = view->centre;
  *hi = view->centre + 1.0;
  double *sorted = pla_array_new(n, sizeof *sorted);
  size_t m = 0;
  for (size_t i = 0; sorted && i < n; i++)
    if (isfinite(values[i]))
      sorted[m++] = values[i];
  if (m > 0) {
    qsort(sorted, m, sizeof *sorted, compare);
    *lo = sorted[m / 200];
    *hi = sorted[m - 1 - m / 200];
  }
  free(sorted);
  /* the distance between the ends is a number too */
  *lo = fmin(fmax(*lo, -1e307), 1e307);
  *hi = fmin(fmax(*hi, -1e307), 1e307);
  if (view->centred) {
    double reach = fmax(fabs(*lo - view->centre), fabs(*hi - view->centre));
    *lo = view->centre - reach;
    *hi = view->centre + reach;
  }
  /* even a field of one value needs two ends */
  double least = 1e-3 * fmax(1.0, fabs(*hi));
  if (!(*hi - *lo > least)) {
    double middle = 0.5 * (*lo + *hi);
    *lo = middle - 0.5 * least;
    *hi = middle + 0.5 * least;
  }
}
