/* The table of fields that can be shown in colour: name, unit, factor from SI, colour map.
 * Ranges leave out the lowest and highest half percent. */
#include "app/show/field-view.h"

#include "anatomy/base/memory.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static const PlaFieldView views[] = {
  { "tissue", PLA_QUANTITY_TISSUE, "wound", NULL, PLA_ON_CELLS, PLA_UNIT_ONE, false, true },
  { "stretch", PLA_QUANTITY_STRETCH, "principal_stretch", NULL, PLA_ON_CELLS, PLA_UNIT_ONE, false,
    false },
  { "von-mises", PLA_QUANTITY_VON_MISES, "von_mises_pa", NULL, PLA_ON_CELLS, PLA_UNIT_PA, false,
    false },
  { "skin-stretch", PLA_QUANTITY_SKIN_STRETCH, PLA_BODY_STRETCH, NULL, PLA_ON_VERTS,
    PLA_UNIT_PERCENT, false, false },
  { "skin-tension", PLA_QUANTITY_TENSION, PLA_FIELD_TENSION, NULL, PLA_ON_VERTS, PLA_UNIT_KPA,
    false, false },
  { "skin-pressure", PLA_QUANTITY_PRESSURE, PLA_BODY_PRESSURE, NULL, PLA_ON_VERTS, PLA_UNIT_KPA,
    false, false },
  /* `operate` of version 0.1.0 wrote its field without the unit in its name */
  { "displacement", PLA_QUANTITY_DISPLACEMENT, PLA_FIELD_DISPLACEMENT, "displacement", PLA_ON_VERTS,
    PLA_UNIT_MM, true, false },
  { "displacement-error", PLA_QUANTITY_DISPLACEMENT_ERROR, PLA_FIELD_DISPLACEMENT_ERROR, NULL,
    PLA_ON_VERTS, PLA_UNIT_MM, false, false },
  { "contact-pressure", PLA_QUANTITY_CONTACT_PRESSURE, PLA_FIELD_CONTACT_PRESSURE, NULL,
    PLA_ON_VERTS, PLA_UNIT_PA, false, false },
  { "jacobian", PLA_QUANTITY_VOLUME_RATIO, "jacobian", NULL, PLA_ON_CELLS, PLA_UNIT_ONE, false,
    false },
  { "quality", PLA_QUANTITY_ELEMENT_ANGLE, NULL, NULL, PLA_ON_CELLS, PLA_UNIT_DEG, false, false },
  { "deviation", PLA_QUANTITY_DEVIATION, "deviation_mm", NULL, PLA_ON_VERTS, PLA_UNIT_MM, false,
    false },
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

static const PlaField *
find_field(const PlaFieldView *view, const PlaMesh *mesh)
{
  const PlaField *field = pla_mesh_find_field(mesh, view->field, view->place);
  return field || !view->also ? field : pla_mesh_find_field(mesh, view->also, view->place);
}

bool
pla_field_view_suits(const PlaFieldView *view, const PlaMesh *mesh)
{
  return view->field ? find_field(view, mesh) != NULL : mesh->n_tets > 0;
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
  const PlaField *field = find_field(view, mesh);
  const PlaUnit shown = pla_quantity_get(view->quantity)->unit;
  *n = pla_field_n_tuples(mesh, field);
  double *values = pla_array_new(*n, sizeof *values);
  const size_t k = (size_t)field->n_components;
  for (size_t i = 0; values && i < *n; i++) {
    double sum = 0.0, first = pla_dtype_get(field->dtype, field->data, k * i);
    for (size_t c = 0; view->magnitude && c < k; c++)
      sum += pow(pla_dtype_get(field->dtype, field->data, k * i + c), 2.0);
    values[i] = pla_unit_convert(view->magnitude ? sqrt(sum) : first, view->unit, shown);
  }
  return values;
}

void
pla_field_view_range(const PlaFieldView *view, const double *values, size_t n, double *lo,
                     double *hi)
{
  pla_quantity_range(pla_quantity_get(view->quantity), values, n, lo, hi);
}
