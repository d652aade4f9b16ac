/* Fibres and tension of the tissues of a scene, and the values of both, which may come from fields
 * of the mesh. */
#include "app/simulate/simulation-materials-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/material/mixture.h"
#include "sim/material/prestretch.h"

#include <math.h>

/* ---- values that may come from fields ----------------------------------------------------- */

double
pla_cell_field_at(const PlaMaterialsReader *self, const PlaField *field, size_t c, int component)
{
  size_t tuple = (size_t)self->input->mesh->n_tris + c;
  return pla_dtype_get(field->dtype, field->data,
                       tuple * (size_t)field->n_components + (size_t)component);
}

double
pla_cell_quantity_at(const PlaMaterialsReader *self, const PlaCellQuantity *q, size_t c)
{
  return q->field ? pla_cell_field_at(self, q->field, c, 0) : q->value;
}

/* the unit direction in cell @c; false where it has none */
bool
pla_cell_direction_at(const PlaMaterialsReader *self, const PlaCellDirection *direction, size_t c,
                      double d[3])
{
  for (int i = 0; i < 3; i++)
    d[i] = direction->field ? pla_cell_field_at(self, direction->field, c, i) : direction->value[i];
  double length = pla_vec3_norm(d);
  for (int i = 0; i < 3; i++)
    d[i] /= length > 0.0 ? length : 1.0;
  return length > 0.0 && isfinite(length);
}

bool
pla_cell_fibre_at(const PlaMaterialsReader *self, const PlaFibreSpec *fibre, size_t c, double d[3])
{
  double mean[3], normal[3], across[3];
  if (fibre->side == 0)
    return pla_cell_direction_at(self, &fibre->direction, c, d);
  if (!pla_cell_direction_at(self, &fibre->direction, c, mean) ||
      !pla_cell_direction_at(self, &fibre->normal, c, normal))
    return false;
  double out = pla_vec3_dot(mean, normal);
  for (int i = 0; i < 3; i++)
    mean[i] -= out * normal[i];
  double length = pla_vec3_norm(mean);
  double angle = fibre->side * pla_cell_quantity_at(self, &fibre->angle_deg, c) * G_PI / 180.0;
  pla_vec3_cross(normal, mean, across);
  for (int i = 0; i < 3; i++)
    d[i] = (cos(angle) * mean[i] + sin(angle) * across[i]) / length;
  return length > 1e-9 && isfinite(angle);
}

static PlaStatus
find_field(const PlaMaterialsReader *self, PlaJson json, int n_components, const PlaField **out,
           PlaError *err)
{
  g_autofree char *name = NULL;
  PlaStatus st = pla_json_text_value(json, &name, err);
  if (st != PLA_OK)
    return st;
  *out = pla_mesh_find_field(self->input->mesh, name, PLA_ON_CELLS);
  if (!*out)
    return pla_json_fail(json, err, "names the cell field '%s', which the mesh does not have",
                         name);
  if ((*out)->n_components != n_components)
    return pla_json_fail(json, err,
                         "names the cell field '%s', which has %d numbers an element, "
                         "and %d are needed",
                         name, (*out)->n_components, n_components);
  return PLA_OK;
}

bool
pla_materials_is_text(PlaJson json)
{
  return JSON_NODE_HOLDS_VALUE(json.node) && json_node_get_value_type(json.node) == G_TYPE_STRING;
}

PlaStatus
pla_cell_quantity_read(const PlaMaterialsReader *self, PlaJson json, PlaCellQuantity *out,
                       PlaError *err)
{
  *out = (PlaCellQuantity){ 0 };
  return pla_materials_is_text(json) ? find_field(self, json, 1, &out->field, err)
                                     : pla_json_number_value(json, &out->value, err);
}

static PlaStatus
read_direction(const PlaMaterialsReader *self, PlaJson json, PlaCellDirection *out, PlaError *err)
{
  *out = (PlaCellDirection){ 0 };
  if (pla_materials_is_text(json))
    return find_field(self, json, 3, &out->field, err);
  PlaStatus st = pla_json_vector(json, 3, out->value, err);
  if (st == PLA_OK && !(pla_vec3_norm(out->value) > 0.0))
    st = pla_json_fail(json, err, "has no length");
  return st;
}

/* ---- fibres and prestretch ---------------------------------------------------------------- */

/* whether a law feels its fibres */
static bool
has_fibres(const PlaMaterial *material)
{
  if (material->mixture) {
    bool any = false;
    for (int k = 0; k < pla_mixture_n_parts(material->mixture); k++)
      any |= has_fibres(pla_mixture_part(material->mixture, k)->material);
    return any;
  }
  return pla_material_param(material, "sigma_max_pa") >= 0;
}

static PlaStatus
read_fibre(PlaMaterialsReader *self, PlaJson json, PlaJson direction, bool felt, PlaError *err)
{
  static const char *const contractions[] = { "stress", "rest-shape", NULL };
  PlaFibreSpec fibre = { .overlap = { 1.0, NULL }, .muscle = (int)self->muscles->len };
  PlaMuscleSpec muscle = { .alpha = 0.5 };
  PlaJson value;
  int by_shape = 0;
  PlaStatus st = read_direction(self, direction, &fibre.direction, err);
  if (st == PLA_OK && pla_json_get(json, "overlap", &value))
    st = pla_cell_quantity_read(self, value, &fibre.overlap, err);
  if (st == PLA_OK && pla_json_get(json, "contraction", &value))
    st = pla_json_choice(value, contractions, &by_shape, err);
  if (st == PLA_OK && pla_json_get(json, "activation", &value)) {
    st = pla_json_number_value(value, &muscle.activation, err);
    if (st == PLA_OK && !(muscle.activation >= 0.0 && (by_shape || muscle.activation <= 1.0)))
      st = pla_json_fail(value, err, "is %g, and must lie in 0..1", muscle.activation);
    if (st == PLA_OK && !felt && !by_shape)
      st = pla_json_fail(json, err,
                         "has an 'activation', and its material has no fibres; use 'muscle' or "
                         "'blemker', or \"contraction\": \"rest-shape\"");
  }
  if (st == PLA_OK && by_shape)
    muscle.gamma = 0.4;
  static const char *const numbers[] = { "gamma", "alpha" };
  for (int k = 0; st == PLA_OK && k < 2; k++) {
    if (!pla_json_get(json, numbers[k], &value))
      continue;
    double *number = k == 0 ? &muscle.gamma : &muscle.alpha;
    st = pla_json_number_value(value, number, err);
    if (st == PLA_OK && !by_shape)
      st = pla_json_fail(value, err, "belongs to \"contraction\": \"rest-shape\"");
    if (st == PLA_OK &&
        (k == 0 ? !(*number > 0.0 && *number < 1.0) : !(*number >= 0.0 && *number <= 3.0)))
      st = pla_json_fail(value, err, "is %g, and must lie %s", *number,
                         k == 0 ? "between 0 and 1" : "in 0..3");
  }
  if (st == PLA_OK) {
    g_array_append_val(self->fibres, fibre);
    g_array_append_val(self->muscles, muscle);
  }
  return st;
}

/* {"mean": D, "normal": D, "angle_deg": A}: two families in the plane with that normal, each A from
 * the mean direction */
static PlaStatus
read_families(PlaMaterialsReader *self, PlaJson json, PlaError *err)
{
  static const char *const known[] = { "mean", "normal", "angle_deg", NULL };
  PlaFibreSpec fibre = { .overlap = { 1.0, NULL } };
  const PlaMuscleSpec passive = { .alpha = 0.5 };
  PlaJson mean, normal, angle;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK &&
      !(pla_json_get(json, "mean", &mean) && pla_json_get(json, "normal", &normal) &&
        pla_json_get(json, "angle_deg", &angle)))
    st =
        pla_json_fail(json, err,
                      "needs 'mean', the direction between the two families, 'normal', that of the "
                      "skin, and 'angle_deg', from the mean to each family");
  if (st == PLA_OK)
    st = read_direction(self, mean, &fibre.direction, err);
  if (st == PLA_OK)
    st = read_direction(self, normal, &fibre.normal, err);
  if (st == PLA_OK)
    st = pla_cell_quantity_read(self, angle, &fibre.angle_deg, err);
  if (st == PLA_OK && !fibre.angle_deg.field &&
      !(fibre.angle_deg.value >= 0.0 && fibre.angle_deg.value <= 90.0))
    st = pla_json_fail(angle, err, "is %g, and must lie in 0..90", fibre.angle_deg.value);
  for (fibre.side = -1; st == PLA_OK && fibre.side <= 1; fibre.side += 2) {
    fibre.muscle = (int)self->muscles->len;
    g_array_append_val(self->fibres, fibre);
    g_array_append_val(self->muscles, passive);
  }
  return st;
}

PlaStatus
pla_materials_read_fibres(PlaMaterialsReader *self, PlaJson json, const PlaMaterial *material,
                          const bool *marked, PlaError *err)
{
  static const char *const known[] = { "direction", "overlap", "activation", "contraction",
                                       "gamma",     "alpha",   NULL };
  const int first = (int)self->fibres->len;
  PlaJson value;
  PlaStatus st = PLA_OK;
  const bool families = pla_json_get(json, "families", &value);
  if (families && (pla_json_has(json, "fibre") || pla_json_has(json, "fibres")))
    return pla_json_fail(json, err, "has 'families' and other fibres; list all as 'fibres'");
  if (families)
    st = read_families(self, value, err);
  bool listed = pla_json_get(json, "fibres", &value);
  if (listed) {
    for (int i = 0; st == PLA_OK && i < pla_json_length(value); i++) {
      PlaJson item, direction;
      st = pla_json_at(value, i, &item, err);
      if (st == PLA_OK)
        st = pla_json_check_keys(item, known, err);
      if (st == PLA_OK && !pla_json_get(item, "direction", &direction))
        st = pla_json_fail(item, err, "needs a 'direction': a vector, or the name of a cell field");
      if (st == PLA_OK)
        st = read_fibre(self, item, direction, has_fibres(material), err);
    }
  } else if (pla_json_get(json, "fibre", &value)) {
    st = read_fibre(self, json, value, has_fibres(material), err);
  }
  for (int k = 1; st == PLA_OK && k < 6; k++)
    if (pla_json_has(json, known[k]) && (listed || !pla_json_has(json, "fibre")))
      st = pla_json_fail(json, err,
                         listed ? "has '%s', which belongs to each of its 'fibres'"
                                : "has '%s', and no 'fibre' for it",
                         known[k]);
  for (size_t c = 0; st == PLA_OK && c < self->n_cells; c++)
    if (marked[c]) {
      self->first_fibre[2 * c] = first;
      self->first_fibre[2 * c + 1] = (int)self->fibres->len - first;
    }
  return st;
}

const double *
pla_cell_constants(const PlaMaterialsReader *self, size_t c)
{
  return self->own[c] < 0
             ? g_array_index(self->materials, PlaFemMaterial, (guint)self->cell_material[c])
                   .constants
             : &g_array_index(self->constants, double, (guint)(PLA_MAX_CONSTANTS * self->own[c]));
}

/* the stretches that give cell @c the tension */
static PlaStatus
stretch_of_tension(const PlaMaterialsReader *self, size_t c, const double line[3],
                   const double normal[3], const double tension[2], double stretch[2],
                   PlaError *err)
{
  const PlaMaterial *material =
      g_array_index(self->materials, PlaFemMaterial, (guint)self->cell_material[c]).material;
  const int most = self->first_fibre[2 * c + 1];
  g_autofree double *fibre = g_new0(double, 5 * most + 1);
  double *passive = fibre + 3 * most, *active = fibre + 4 * most;
  PlaPoint tissue = { .fibre = fibre, .passive = passive, .active = active };
  for (int k = 0; k < most; k++) {
    const PlaFibreSpec *spec =
        &g_array_index(self->fibres, PlaFibreSpec, (guint)(self->first_fibre[2 * c] + k));
    double share = pla_cell_quantity_at(self, &spec->overlap, c);
    if (share != 0.0 && pla_cell_fibre_at(self, spec, c, fibre + 3 * tissue.n_fibres))
      passive[tissue.n_fibres++] = share;
  }
  return pla_prestretch_from_tension(material, pla_cell_constants(self, c), &tissue, line, normal,
                                     tension, stretch, err);
}

/* {"line": D, "normal": D, "along": 1.1, "across": 1.05}, or "along_pa" and "across_pa": stretches,
 * or the tensions that they give */
PlaStatus
pla_materials_read_prestretch(PlaMaterialsReader *self, PlaJson json, const bool *marked,
                              PlaError *err)
{
  static const char *const known[] = { "line",     "normal",    "along", "across",
                                       "along_pa", "across_pa", NULL };
  PlaCellDirection line, normal;
  PlaCellQuantity along = { 1.0, NULL }, across = { 1.0, NULL };
  PlaJson value;
  const bool by_tension = pla_json_has(json, "along_pa") || pla_json_has(json, "across_pa");
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && (!pla_json_has(json, "line") || !pla_json_has(json, "normal")))
    st = pla_json_fail(json, err,
                       "needs 'line', the direction of the tension, and 'normal', that "
                       "of the skin");
  if (st == PLA_OK && pla_json_get(json, "line", &value))
    st = read_direction(self, value, &line, err);
  if (st == PLA_OK && pla_json_get(json, "normal", &value))
    st = read_direction(self, value, &normal, err);
  if (st == PLA_OK && by_tension && (pla_json_has(json, "along") || pla_json_has(json, "across")))
    st = pla_json_fail(json, err,
                       "has stretches and tensions; give 'along' and 'across', or "
                       "'along_pa' and 'across_pa'");
  if (by_tension)
    along.value = across.value = 0.0;
  if (st == PLA_OK && pla_json_get(json, by_tension ? "along_pa" : "along", &value))
    st = pla_cell_quantity_read(self, value, &along, err);
  if (st == PLA_OK && pla_json_get(json, by_tension ? "across_pa" : "across", &value))
    st = pla_cell_quantity_read(self, value, &across, err);
  if (st == PLA_OK && !self->prestretch) {
    self->prestretch = pla_array_new0(9 * self->n_cells, sizeof *self->prestretch);
    if (!self->prestretch)
      st = pla_fail_memory(err, "the tension of the skin");
    for (size_t c = 0; st == PLA_OK && c < self->n_cells; c++)
      pla_mat3_identity(self->prestretch + 9 * c);
  }
  for (size_t c = 0; st == PLA_OK && c < self->n_cells; c++) {
    double t[3], n[3],
        g[2] = { pla_cell_quantity_at(self, &along, c), pla_cell_quantity_at(self, &across, c) };
    /* where a field has no direction, there is no tension */
    if (!marked[c] || !pla_cell_direction_at(self, &line, c, t) ||
        !pla_cell_direction_at(self, &normal, c, n))
      continue;
    const double tension[2] = { g[0], g[1] };
    if (by_tension)
      st = stretch_of_tension(self, c, t, n, tension, g, err);
    if (st != PLA_OK)
      return pla_fail_within(err, "element %zu", c), st;
    if (!(g[0] > 0.3 && g[0] < 3.0 && g[1] > 0.3 && g[1] < 3.0))
      return pla_json_fail(json, err,
                           "stretches element %zu by %g along and %g across; tissue "
                           "bears 0.3 to 3",
                           c, g[0], g[1]);
    pla_prestretch_skin(t, n, g[0], g[1], self->prestretch + 9 * c);
  }
  return st;
}
