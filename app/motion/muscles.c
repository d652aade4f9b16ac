/* Descriptions of muscles as JSON, and the shapes that they name. */
#include "app/motion/muscles.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesher/pieces.h"
#include "anatomy/mesher/tets.h"
#include "sim/material/presets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what shapes borrow ---- */

/* a part of a phantom, less the bones that cut into it */
typedef struct {
  const PlaPhantomModel *model;
  int label;
  int n_bones;
  const int *bone; /* labels */
} PhantomPart;

typedef struct {
  PlaMesh *mesh;
  PlaTriMesh tris;
  PlaTriTree *tree;
  PlaWinding *winding;
  PlaMuscleSurface both;
} Surface;

typedef struct PlaMuscleSources {
  PlaPhantomModel *phantom;
  GPtrArray *parts;    /* PhantomPart */
  GPtrArray *levels;   /* PlaLevelSet */
  GPtrArray *surfaces; /* Surface */
  GPtrArray *names;    /* of bones */
  GArray *bones;       /* their labels in the phantom (int) */
  PlaFibreSamples *vectors;
} PlaMuscleSources;

static void
surface_free(gpointer data)
{
  Surface *s = data;
  pla_tri_tree_free(s->tree);
  pla_winding_free(s->winding);
  pla_mesh_free(s->mesh);
  g_free(s);
}

static void
levels_free(gpointer data)
{
  pla_levelset_free(data);
}

static PlaMuscleModel *
model_new(void)
{
  PlaMuscleModel *self = g_new0(PlaMuscleModel, 1);
  self->sources = g_new0(PlaMuscleSources, 1);
  self->sources->parts = g_ptr_array_new_with_free_func(g_free);
  self->sources->levels = g_ptr_array_new_with_free_func(levels_free);
  self->sources->surfaces = g_ptr_array_new_with_free_func(surface_free);
  self->sources->names = g_ptr_array_new_with_free_func(g_free);
  self->sources->bones = g_array_new(FALSE, FALSE, sizeof(int));
  return self;
}

void
pla_muscle_model_free(PlaMuscleModel *self)
{
  if (!self)
    return;
  pla_muscle_list_clear(&self->list);
  g_free(self->shape);
  g_free(self->vectors);
  g_free(self->bone);
  pla_phantom_model_free(self->sources->phantom);
  pla_fibre_samples_free(self->sources->vectors);
  g_ptr_array_unref(self->sources->parts);
  g_ptr_array_unref(self->sources->levels);
  g_ptr_array_unref(self->sources->surfaces);
  g_ptr_array_unref(self->sources->names);
  g_array_unref(self->sources->bones);
  g_free(self->sources);
  g_free(self);
}

static bool
has_bone(const PlaMuscleModel *self, const char *name)
{
  for (int b = 0; b < self->n_bones; b++)
    if (strcmp(self->bone[b].name, name) == 0)
      return true;
  return false;
}

static void
add_bone(PlaMuscleModel *self, const char *name, PlaMuscleShape shape)
{
  char *copy = g_strdup(name);
  g_ptr_array_add(self->sources->names, copy);
  self->bone = g_renew(PlaMuscleBone, self->bone, self->n_bones + 1);
  self->bone[self->n_bones++] = (PlaMuscleBone){ copy, shape };
}

/* ---- phantoms ---- */

static double
part_distance(const double pos_mm[3], const void *data)
{
  const PhantomPart *part = data;
  double d = pla_phantom_shape_distance(part->model, part->label, pos_mm);
  for (int b = 0; b < part->n_bones && d < 0.0; b++)
    d = fmax(d, -pla_phantom_shape_distance(part->model, part->bone[b], pos_mm));
  return d;
}

static PlaMuscleShape
part_shape(PlaMuscleModel *self, int label)
{
  PhantomPart *part = g_new0(PhantomPart, 1);
  const PlaShapeScene *scene = pla_phantom_model_scene(self->sources->phantom);
  *part = (PhantomPart){ .model = self->sources->phantom, .label = label };
  g_ptr_array_add(self->sources->parts, part);
  PlaMuscleShape shape = { .distance = part_distance, .data = part };
  pla_scene_part_bounds(scene, pla_scene_find_label(scene, label), shape.lo_mm, shape.hi_mm);
  return shape;
}

PlaStatus
pla_muscle_model_from_phantom(const char *name, PlaMuscleModel **out, PlaError *err)
{
  const double coarse_mm = 8.0; /* only the table of labels is asked for */
  PlaPhantom phantom = { 0 };
  PlaMuscleModel *self = model_new();
  PlaStatus st = pla_phantom_model_new(name, &self->sources->phantom, err);
  if (st == PLA_OK)
    st = pla_phantom_make(name, coarse_mm, NULL, &phantom, err);
  if (st == PLA_OK)
    st = pla_muscle_list_from_phantom(&phantom, &self->list, err);
  if (st == PLA_OK) {
    self->shape = g_new0(PlaMuscleShape, self->list.n);
    for (int m = 0; m < self->list.n; m++)
      self->shape[m] = part_shape(self, self->list.muscle[m].label);
    for (int m = 0; m < self->list.n; m++)
      for (int h = 0; h < self->list.muscle[m].n_heads; h++) {
        const PlaMuscleHead *head = &self->list.muscle[m].head[h];
        const char *ends[2] = { head->origin, head->insertion };
        for (int e = 0; e < 2; e++) {
          const PlaLabel *label = pla_label_table_find_name(&phantom.labels->table, ends[e]);
          if (ends[e][0] && label && !has_bone(self, ends[e])) {
            add_bone(self, ends[e], part_shape(self, label->id));
            g_array_append_val(self->sources->bones, label->id);
          }
        }
      }
    /* muscles reach into the bones they hold on to; that part is bone */
    for (int m = 0; m < self->list.n; m++) {
      PhantomPart *part = g_ptr_array_index(self->sources->parts, m);
      part->n_bones = (int)self->sources->bones->len;
      part->bone = (const int *)(void *)self->sources->bones->data;
    }
  }
  pla_phantom_clear(&phantom);
  if (st == PLA_OK)
    *out = self;
  else
    pla_muscle_model_free(self);
  return st;
}

double
pla_muscle_phantom_cell_mm(const char *phantom)
{
  return strcmp(phantom, "tongue") == 0 ? 3.0 : strcmp(phantom, "arm") == 0 ? 7.0 : 5.0;
}

/* muscles, and every label whose tissue is known and not rigid */
static bool
is_soft(const PlaMuscleList *list, const PlaLabel *label)
{
  for (int m = 0; m < list->n; m++)
    if (list->muscle[m].label == label->id)
      return true;
  const PlaPreset *preset = pla_preset_find(label->name);
  return preset && !preset->rigid;
}

PlaStatus
pla_muscle_phantom_mesh(const char *phantom, double cell_mm, PlaProgress *progress, PlaMesh **out,
                        PlaError *err)
{
  PlaPhantom made = { 0 };
  PlaMuscleList list = { 0 };
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int));
  PlaTetOptions opts = pla_tet_options_default();
  opts.cell_mm = cell_mm;
  opts.levels = 1;
  PlaStatus st = pla_phantom_make(phantom, fmin(2.0, 0.5 * cell_mm), NULL, &made, err);
  if (st == PLA_OK)
    st = pla_muscle_list_from_phantom(&made, &list, err);
  for (int i = 0; st == PLA_OK && i < made.labels->table.n; i++)
    if (is_soft(&list, &made.labels->table.label[i]))
      g_array_append_val(ids, made.labels->table.label[i].id);
  if (st == PLA_OK)
    st = pla_tets_from_labels(made.labels, (const int *)(void *)ids->data,
                              (const int[2]){ 0, (int)ids->len }, 1, &opts, progress, out, NULL,
                              err);
  if (st == PLA_OK)
    st = pla_mesh_keep_pieces(out, 0.05, 0, NULL, err);
  pla_muscle_list_clear(&list);
  pla_phantom_clear(&made);
  return st;
}

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
label_shape(Reader *r, int id, PlaProgress *progress, PlaMuscleShape *out, PlaError *err)
{
  PlaLabelLevelSetOptions opts = pla_label_levelset_options_default();
  opts.band_mm = INFINITY;
  PlaLevelSet *ls = NULL;
  PlaStatus st = pla_levelset_from_labels(r->map, &id, 1, &opts, progress, &ls, NULL, err);
  if (st == PLA_OK) {
    g_ptr_array_add(r->model->sources->levels, ls);
    *out = pla_muscle_shape_levelset(ls);
  }
  return st;
}

static PlaStatus
surface_shape(Reader *r, PlaJson at, PlaMuscleShape *out, PlaError *err)
{
  g_autofree char *name = NULL;
  PlaStatus st = pla_json_text_value(at, &name, err);
  if (st == PLA_OK && !r->load)
    st = pla_json_fail(at, err, "names a surface, which this input cannot have");
  if (st != PLA_OK)
    return st;
  Surface *s = g_new0(Surface, 1);
  st = r->load(name, r->load_data, &s->mesh, err);
  if (st == PLA_OK) {
    PlaMeshSummary summary;
    s->tris = pla_mesh_tris(s->mesh);
    st = pla_mesh_summary(s->mesh, &summary, err);
    if (st == PLA_OK && (s->tris.n_tris == 0 || !summary.closed))
      st = pla_json_fail(at, err, "is no closed surface; close '%s' first", name);
  }
  if (st == PLA_OK)
    st = pla_tri_tree_new(&s->tris, &s->tree, err);
  if (st == PLA_OK)
    st = pla_winding_new(&s->tris, &s->winding, err);
  if (st == PLA_OK) {
    s->both = (PlaMuscleSurface){ s->tree, s->winding };
    g_ptr_array_add(r->model->sources->surfaces, s);
    *out = pla_muscle_shape_surface(&s->both, &s->tris);
  } else
    surface_free(s);
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
  return label_shape(r, label->id, progress, out, err);
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
        if (!label || has_bone(self, ends[e]))
          continue;
        st = label_shape(r, label->id, progress, &shape, err);
        if (st == PLA_OK)
          add_bone(self, ends[e], shape);
      }
    }
  return st;
}

PlaStatus
pla_muscle_model_from_labels(const PlaLabelMap *map, PlaJson description, PlaSurfaceLoad load,
                             void *load_data, PlaProgress *progress, PlaMuscleModel **out,
                             PlaError *err)
{
  PlaMuscleModel *self = model_new();
  Reader reader = { self, map, load, load_data };
  PlaJson list, one, at;
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
        add_bone(self, name, shape);
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

PlaStatus
pla_muscle_model_set_vectors(PlaMuscleModel *self, const PlaMesh *mesh, PlaError *err)
{
  const PlaField *field = pla_mesh_find_field(mesh, "fibre", PLA_ON_CELLS);
  if (!field)
    field = pla_mesh_find_field(mesh, "fibre", PLA_ON_VERTS);
  if (!field || field->n_components != 3 || (field->dtype != PLA_F32 && field->dtype != PLA_F64))
    return pla_fail(err, PLA_ERR_USAGE,
                    "The mesh has no field \"fibre\" of three numbers on its cells or vertices.");
  const bool on_cells = field->place == PLA_ON_CELLS;
  const int n = on_cells ? mesh->n_tets : mesh->n_verts;
  const size_t skip = on_cells ? (size_t)mesh->n_tris : 0;
  g_autofree double *pos = pla_array_new((size_t)n, 3 * sizeof *pos);
  g_autofree double *dir = pla_array_new((size_t)n, 3 * sizeof *dir);
  if (!pos || !dir)
    return pla_fail_memory(err, "the fibres");
  for (size_t i = 0; i < (size_t)n; i++)
    for (size_t d = 0; d < 3; d++) {
      double x = 0.0;
      for (size_t c = 0; c < 4 && on_cells; c++)
        x += 250.0 * mesh->pos[3 * (size_t)mesh->tet[4 * i + c] + d];
      pos[3 * i + d] = on_cells ? x : 1000.0 * mesh->pos[3 * i + d];
      const size_t at = 3 * (skip + i) + d;
      dir[3 * i + d] = field->dtype == PLA_F32 ? (double)((const float *)field->data)[at]
                                               : ((const double *)field->data)[at];
    }
  PlaStatus st = pla_fibre_samples_new(n, pos, dir, &self->sources->vectors, err);
  if (st == PLA_OK) {
    self->vectors = g_new0(const PlaFibreSamples *, self->list.n);
    for (int m = 0; m < self->list.n; m++)
      self->vectors[m] = self->sources->vectors;
  }
  return st;
}
