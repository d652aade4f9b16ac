/* Descriptions of muscles as JSON, and the shapes that they name. */
#include "app/motion/muscles.h"

#include "anatomy/base/memory.h"

#include <string.h>

/* ---- descriptions ---- */

/* an array of numbers or of points, @width each; *n is set by the first and met by the others */
static PlaStatus
read_numbers(PlaJson json, int width, int *n, double **out, PlaError *err)
{
  const int length = pla_json_length(json);
  if (*n == 0)
    *n = length;
  if (length != *n || length < 2 || length > 10000)
    return pla_json_fail(json, err,
                         "has %d entries; a line has at least 2 points and as many of "
                         "everything that goes with it",
                         length);
  *out = pla_array_new((size_t)width * (size_t)length, sizeof **out);
  if (!*out)
    return pla_fail_memory(err, "a line of action");
  PlaStatus st = PLA_OK;
  for (int i = 0; i < length && st == PLA_OK; i++) {
    PlaJson one;
    st = pla_json_at(json, i, &one, err);
    if (st == PLA_OK)
      st = width == 1 ? pla_json_number_value(one, *out + i, err)
                      : pla_json_vector(one, width, *out + width * i, err);
  }
  return st;
}

static PlaStatus
read_head(PlaJson json, PlaMuscle *muscle, PlaError *err)
{
  static const char *const known[] = { "origin",        "insertion", "line_mm", "half_width_mm",
                                       "half_thick_mm", "normal",    NULL };
  g_autofree char *origin = NULL;
  g_autofree char *insertion = NULL;
  PlaJson at;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && pla_json_get(json, "origin", &at))
    st = pla_json_text_value(at, &origin, err);
  if (st == PLA_OK && pla_json_get(json, "insertion", &at))
    st = pla_json_text_value(at, &insertion, err);
  if (st != PLA_OK)
    return st;
  PlaMuscleHead *head =
      pla_muscle_add_head(muscle, origin ? origin : "", insertion ? insertion : "", 0);
  if (!head)
    return pla_fail_memory(err, "a muscle");
  if (pla_json_get(json, "line_mm", &at))
    st = read_numbers(at, 3, &head->n_points, &head->pos_mm, err);
  else if (pla_json_has(json, "half_width_mm") || pla_json_has(json, "half_thick_mm") ||
           pla_json_has(json, "normal"))
    st = pla_json_fail(json, err, "has a section but no line_mm");
  if (st == PLA_OK && pla_json_get(json, "half_width_mm", &at))
    st = read_numbers(at, 1, &head->n_points, &head->half_width_mm, err);
  if (st == PLA_OK && pla_json_get(json, "half_thick_mm", &at))
    st = read_numbers(at, 1, &head->n_points, &head->half_thick_mm, err);
  if (st == PLA_OK && pla_json_get(json, "normal", &at))
    st = read_numbers(at, 3, &head->n_points, &head->normal, err);
  return st;
}

static PlaStatus
read_tendon(PlaJson json, PlaMuscle *muscle, PlaError *err)
{
  static const char *const known[] = { "from_mm", "to_mm", "radius_mm", NULL };
  PlaMuscleTendon tendon = { { 0 } };
  PlaJson at;
  PlaStatus st = pla_json_check_keys(json, known, err);
  for (int i = 0; i < 3 && st == PLA_OK; i++) {
    if (!pla_json_get(json, known[i], &at))
      st = pla_json_fail(json, err, "needs \"%s\"", known[i]);
    else
      st = pla_json_vector(at, i < 2 ? 3 : 2,
                           i == 0   ? tendon.from_mm
                           : i == 1 ? tendon.to_mm
                                    : tendon.radius_mm,
                           err);
  }
  if (st == PLA_OK && !(tendon.radius_mm[0] > 0.0 && tendon.radius_mm[1] > 0.0))
    st = pla_json_fail(json, err, "has a radius that is not positive");
  if (st == PLA_OK && !pla_array_resize((void **)&muscle->tendon, (size_t)muscle->n_tendons + 1,
                                        sizeof *muscle->tendon))
    st = pla_fail_memory(err, "a tendon");
  if (st == PLA_OK)
    muscle->tendon[muscle->n_tendons++] = tendon;
  return st;
}

static PlaStatus
read_muscle(PlaJson json, PlaMuscleList *list, PlaError *err)
{
  static const char *const known[] = { "name",   "label", "surface", "peak_stress_pa",
                                       "fibres", "heads", "tendons", NULL };
  g_autofree char *name = NULL;
  PlaJson at, one;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && !pla_json_get(json, "name", &at))
    st = pla_json_fail(json, err, "needs a \"name\"");
  if (st == PLA_OK)
    st = pla_json_text_value(at, &name, err);
  for (int m = 0; st == PLA_OK && m < list->n; m++)
    if (strcmp(list->muscle[m].name, name) == 0)
      st = pla_json_fail(json, err, "is a second muscle called '%s'", name);
  if (st != PLA_OK)
    return st;
  PlaMuscle *muscle = pla_muscle_list_add(list, name);
  if (!muscle)
    return pla_fail_memory(err, "a muscle");
  if (pla_json_get(json, "peak_stress_pa", &at)) {
    st = pla_json_number_value(at, &muscle->peak_stress_pa, err);
    if (st == PLA_OK && !(muscle->peak_stress_pa >= 0.0 && muscle->peak_stress_pa < 1e9))
      st = pla_json_fail(at, err, "must be 0 to 1e9 Pa");
  }
  if (st == PLA_OK && pla_json_get(json, "fibres", &at)) {
    int choice = 0;
    st = pla_json_choice(at, pla_fibre_methods, &choice, err);
    muscle->method = (PlaFibreMethod)choice;
  }
  if (st == PLA_OK && pla_json_get(json, "label", &at) && JSON_NODE_HOLDS_VALUE(at.node) &&
      json_node_get_value_type(at.node) == G_TYPE_INT64) {
    int64_t id;
    st = pla_json_int_value(at, 1, 65535, &id, err);
    muscle->label = st == PLA_OK ? (int)id : 0;
  }
  if (st == PLA_OK && !pla_json_get(json, "heads", &at))
    st = pla_json_fail(json, err, "needs \"heads\": where it begins and ends");
  for (int i = 0; st == PLA_OK && i < pla_json_length(at); i++) {
    st = pla_json_at(at, i, &one, err);
    if (st == PLA_OK)
      st = read_head(one, muscle, err);
  }
  if (st == PLA_OK && pla_json_get(json, "tendons", &at))
    for (int i = 0; st == PLA_OK && i < pla_json_length(at); i++) {
      st = pla_json_at(at, i, &one, err);
      if (st == PLA_OK)
        st = read_tendon(one, muscle, err);
    }
  return st;
}

PlaStatus
pla_muscle_list_from_json(PlaJson description, PlaMuscleList *out, PlaError *err)
{
  static const char *const known[] = { "muscles", "bones", NULL };
  PlaJson list, one;
  memset(out, 0, sizeof *out);
  PlaStatus st = pla_json_check_keys(description, known, err);
  if (st == PLA_OK && (!pla_json_get(description, "muscles", &list) || pla_json_length(list) == 0))
    st = pla_json_fail(description, err, "lists no \"muscles\"");
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    st = pla_json_at(list, i, &one, err);
    if (st == PLA_OK)
      st = read_muscle(one, out, err);
  }
  if (st != PLA_OK)
    pla_muscle_list_clear(out);
  return st;
}

static void
add_array(JsonObject *object, const char *key, const double *value, int n, int width)
{
  if (!value)
    return;
  JsonArray *list = json_array_new();
  for (int i = 0; i < n; i++) {
    if (width == 1) {
      json_array_add_double_element(list, value[i]);
      continue;
    }
    JsonArray *point = json_array_new();
    for (int d = 0; d < width; d++)
      json_array_add_double_element(point, value[width * i + d]);
    json_array_add_array_element(list, point);
  }
  json_object_set_array_member(object, key, list);
}

JsonNode *
pla_muscle_list_to_json(const PlaMuscleList *list)
{
  JsonArray *muscles = json_array_new();
  for (int m = 0; m < list->n; m++) {
    const PlaMuscle *muscle = &list->muscle[m];
    JsonObject *object = json_object_new();
    JsonArray *heads = json_array_new(), *tendons = json_array_new();
    json_object_set_string_member(object, "name", muscle->name);
    if (muscle->label > 0)
      json_object_set_int_member(object, "label", muscle->label);
    json_object_set_double_member(object, "peak_stress_pa", muscle->peak_stress_pa);
    json_object_set_string_member(object, "fibres", pla_fibre_methods[muscle->method]);
    for (int h = 0; h < muscle->n_heads; h++) {
      const PlaMuscleHead *head = &muscle->head[h];
      JsonObject *part = json_object_new();
      json_object_set_string_member(part, "origin", head->origin);
      json_object_set_string_member(part, "insertion", head->insertion);
      if (head->n_points > 0) {
        add_array(part, "line_mm", head->pos_mm, head->n_points, 3);
        add_array(part, "half_width_mm", head->half_width_mm, head->n_points, 1);
        add_array(part, "half_thick_mm", head->half_thick_mm, head->n_points, 1);
        add_array(part, "normal", head->normal, head->n_points, 3);
      }
      json_array_add_object_element(heads, part);
    }
    json_object_set_array_member(object, "heads", heads);
    for (int t = 0; t < muscle->n_tendons; t++) {
      const PlaMuscleTendon *tendon = &muscle->tendon[t];
      JsonObject *part = json_object_new();
      add_array(part, "from_mm", tendon->from_mm, 3, 1);
      add_array(part, "to_mm", tendon->to_mm, 3, 1);
      add_array(part, "radius_mm", tendon->radius_mm, 2, 1);
      json_array_add_object_element(tendons, part);
    }
    if (muscle->n_tendons > 0)
      json_object_set_array_member(object, "tendons", tendons);
    else
      json_array_unref(tendons);
    json_array_add_object_element(muscles, object);
  }
  JsonObject *root = json_object_new();
  json_object_set_array_member(root, "muscles", muscles);
  JsonNode *node = json_node_new(JSON_NODE_OBJECT);
  json_node_take_object(node, root);
  return node;
}

/* ---- shapes of labels and surfaces ---- */

typedef struct {
  PlaMuscleModel *model;
  const PlaLabelMap *map;
  PlaSurfaceLoad load;
  void *load_data;
} Reader;

static PlaStatus
surface_shape(Reader *r, PlaJson at, PlaMuscleShape *out, PlaError *err)
{
  g_autofree char *name = NULL;
  PlaStatus st = pla_json_text_value(at, &name, err);
  if (st == PLA_OK && !r->load)
    st = pla_json_fail(at, err, "names a surface, which this input cannot have");
  if (st != PLA_OK)
    return st;
  PlaMesh *surface = NULL;
  PlaMeshSummary summary;
  st = r->load(name, r->load_data, &surface, err);
  if (st == PLA_OK)
    st = pla_mesh_summary(surface, &summary, err);
  if (st == PLA_OK && (surface->n_tris == 0 || !summary.closed))
    st = pla_json_fail(at, err, "is no closed surface; close '%s' first", name);
  if (st == PLA_OK)
    return pla_muscle_model_take_surface(r->model, surface, out, err);
  pla_mesh_free(surface);
  return st;
}

/* the shape that "surface" or "label" of @json names; else the label called @name */
static PlaStatus
find_shape(Reader *r, PlaJson json, const char *name, PlaProgress *progress, int *id,
           PlaMuscleShape *out, PlaError *err)
{
  PlaJson at;
  const PlaLabel *label = NULL;
  if (pla_json_get(json, "surface", &at))
    return surface_shape(r, at, out, err);
  if (!r->map)
    return pla_json_fail(json, err, "needs a \"surface\": there is no label map to take '%s' from",
                         name);
  if (pla_json_get(json, "label", &at)) {
    if (JSON_NODE_HOLDS_VALUE(at.node) && json_node_get_value_type(at.node) == G_TYPE_INT64) {
      int64_t number;
      PlaStatus st = pla_json_int_value(at, 1, 65535, &number, err);
      if (st != PLA_OK)
        return st;
      label = pla_label_table_find(&r->map->table, (int)number);
      if (!label)
        return pla_json_fail(at, err, "is %d, but the label map has no such label", (int)number);
    } else {
      g_autofree char *text = NULL;
      PlaStatus st = pla_json_text_value(at, &text, err);
      if (st != PLA_OK)
        return st;
      label = pla_label_table_find_name(&r->map->table, text);
      if (!label)
        return pla_json_fail(at, err, "is '%s', but the label map has no label of that name", text);
    }
  } else
    label = pla_label_table_find_name(&r->map->table, name);
  if (!label)
    return pla_json_fail(json, err,
                         "has neither \"label\" nor \"surface\", and no label is called '%s'",
                         name);
  *id = label->id;
  return pla_muscle_model_label_shape(r->model, r->map, label->id, progress, out, err);
}

/* the bones that the heads name and the description does not: labels of that name */
static PlaStatus
find_bones(Reader *r, PlaProgress *progress, PlaError *err)
{
  PlaMuscleModel *self = r->model;
  PlaStatus st = PLA_OK;
  for (int m = 0; m < self->list.n && st == PLA_OK; m++)
    for (int h = 0; h < self->list.muscle[m].n_heads && st == PLA_OK; h++) {
      const PlaMuscleHead *head = &self->list.muscle[m].head[h];
      const char *ends[2] = { head->origin, head->insertion };
      for (int e = 0; e < 2 && st == PLA_OK; e++) {
        const PlaLabel *label =
            r->map && ends[e][0] ? pla_label_table_find_name(&r->map->table, ends[e]) : NULL;
        PlaMuscleShape shape;
        if (!label || pla_muscle_model_has_bone(self, ends[e]))
          continue;
        st = pla_muscle_model_label_shape(self, r->map, label->id, progress, &shape, err);
        if (st == PLA_OK)
          st = pla_muscle_model_add_bone(self, ends[e], shape, err);
      }
    }
  return st;
}

PlaStatus
pla_muscle_model_from_labels(const PlaLabelMap *map, PlaJson description, PlaSurfaceLoad load,
                             void *load_data, PlaProgress *progress, PlaMuscleModel **out,
                             PlaError *err)
{
  PlaMuscleModel *self = pla_muscle_model_new();
  Reader reader = { self, map, load, load_data };
  PlaJson list, one, at;
  if (!self)
    return pla_fail_memory(err, "the muscles");
  PlaStatus st = pla_muscle_list_from_json(description, &self->list, err);
  self->shape = pla_array_new0((size_t)self->list.n, sizeof *self->shape);
  if (st == PLA_OK && !self->shape)
    st = pla_fail_memory(err, "the shapes of muscles");
  pla_json_get(description, "muscles", &list);
  for (int m = 0; m < self->list.n && st == PLA_OK; m++) {
    if (!pla_progress_phase(progress, "Finding the shapes of muscles",
                            0.8 * (m + 1) / self->list.n))
      st = pla_fail_cancelled(err);
    PlaProgressSpan span = pla_progress_push(progress);
    if (st == PLA_OK)
      st = pla_json_at(list, m, &one, err);
    if (st == PLA_OK)
      st = find_shape(&reader, one, self->list.muscle[m].name, progress,
                      &self->list.muscle[m].label, &self->shape[m], err);
    pla_progress_pop(progress, span);
  }
  if (st == PLA_OK && pla_json_get(description, "bones", &list))
    for (int b = 0; st == PLA_OK && b < pla_json_length(list); b++) {
      static const char *const known[] = { "name", "label", "surface", NULL };
      g_autofree char *name = NULL;
      PlaMuscleShape shape;
      int id = 0;
      st = pla_json_at(list, b, &one, err);
      if (st == PLA_OK)
        st = pla_json_check_keys(one, known, err);
      if (st == PLA_OK && !pla_json_get(one, "name", &at))
        st = pla_json_fail(one, err, "needs a \"name\"");
      if (st == PLA_OK)
        st = pla_json_text_value(at, &name, err);
      if (st == PLA_OK)
        st = find_shape(&reader, one, name, NULL, &id, &shape, err);
      if (st == PLA_OK)
        st = pla_muscle_model_add_bone(self, name, shape, err);
    }
  pla_progress_phase(progress, "Finding bones", 1.0);
  if (st == PLA_OK)
    st = find_bones(&reader, NULL, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_muscle_model_free(self);
  return st;
}

PlaStatus
pla_muscle_list_set_fibres(PlaMuscleList *list, const char *method, PlaError *err)
{
  int which = -1;
  for (int i = 0; pla_fibre_methods[i]; i++)
    if (strcmp(pla_fibre_methods[i], method) == 0)
      which = i;
  if (which < 0)
    return pla_fail(err, PLA_ERR_USAGE,
                    "fibres are one of potential, spline, lines and vectors, not '%s'", method);
  for (int m = 0; m < list->n; m++)
    list->muscle[m].method = (PlaFibreMethod)which;
  return PLA_OK;
}
