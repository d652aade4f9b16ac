/* Converts between PlaSurgery and the item of a case: arrays of the state, the surface with its
 * fields, and the "surgery" object of the metadata. */
#include "app/surgery/surgery-body.h"

#include "anatomy/base/memory.h"
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "sim/bodies/cut-body.h"
#include "sim/surgery/surgery-map.h"
#include "sim/surgery/surgery-state.h"

#include <string.h>

JsonObject *
pla_surgery_readings_to_json(const PlaSurgeryReadings *r)
{
  JsonObject *o = json_object_new();
  json_object_set_int_member(o, "stitches", r->n_stitches);
  json_object_set_int_member(o, "hooks", r->n_hooks);
  pla_json_set_si(o, "closed_gap_mm", r->closed_gap);
  pla_json_set_si(o, "edge_gap_mm", r->edge_gap);
  pla_json_set_si(o, "tip_gap_mm", r->tip_gap);
  pla_json_set_si(o, "dog_ear_mm", r->dog_ear);
  json_object_set_double_member(o, "max_tension_n", r->max_tension);
  json_object_set_double_member(o, "closure_force_n", r->closure_force);
  json_object_set_double_member(o, "max_hook_force_n", r->max_hook_force);
  json_object_set_double_member(o, "max_stretch", r->max_stretch);
  json_object_set_double_member(o, "max_stretch_cell", r->max_stretch_cell);
  return o;
}

static JsonArray *
wounds_to_json(const PlaSurgery *body)
{
  JsonArray *list = json_array_new();
  for (int w = 0; w < pla_surgery_n_wounds(body); w++) {
    const PlaSurgeryWoundView view = pla_surgery_get_wound(body, w);
    JsonObject *o = json_object_new();
    json_object_set_string_member(o, "name", view.name);
    json_object_set_boolean_member(o, "closed", view.closed);
    pla_json_set_si(o, "length_mm", view.length);
    json_array_add_object_element(list, o);
  }
  return list;
}

static JsonArray *
tissues_to_json(const PlaSurgery *body)
{
  JsonArray *list = json_array_new();
  for (int i = 0; i < pla_surgery_n_tissues(body); i++)
    json_array_add_string_element(list, pla_surgery_get_tissue(body, i));
  return list;
}

/* skin and wounds with what is to be seen on them */
static PlaStatus
make_surface(PlaSurgery *body, PlaMesh **out, PlaError *err)
{
  const PlaCutSurface *surface;
  const double *pos;
  PlaStatus st = pla_surgery_get_surface(body, &surface, &pos, err);
  if (st == PLA_OK)
    st = pla_cut_surface_to_mesh(pla_surgery_get_mesh(body), surface, pos, out, err);
  if (st != PLA_OK)
    return st;
  static const char *const names[] = { PLA_BODY_STRETCH, PLA_FIELD_TENSION, PLA_BODY_PRESSURE };
  double *map[3] = { NULL, NULL, NULL };
  for (int k = 0; k < 3; k++)
    map[k] =
        k == 0 || map[k - 1] ? pla_mesh_add_field(*out, names[k], PLA_ON_VERTS, PLA_F64, 1) : NULL;
  double *moved =
      map[2] ? pla_mesh_add_field(*out, PLA_FIELD_DISPLACEMENT, PLA_ON_VERTS, PLA_F64, 3) : NULL;
  if (!moved)
    return pla_fail_memory(err, "the surface of the body");
  PlaSurgeryMaps maps = { map[0], map[1], map[2] };
  st = pla_surgery_map(body, surface, &maps, err);
  pla_surgery_map_displacement(body, surface, moved);
  for (int v = 0; v < surface->n_verts; v++) {
    maps.stretch[v] = 100.0 * (maps.stretch[v] - 1.0);
    maps.tension[v] *= 1e-3;
    maps.pressure[v] *= 1e-3;
    for (int d = 0; d < 3; d++)
      moved[3 * v + d] *= 1e3;
  }
  return st;
}

static PlaStatus
add_threads(PlaContent *content, const char *name, const PlaSurgery *body, int n,
            void (*get)(const PlaSurgery *, int, double *, double *), PlaError *err)
{
  const uint64_t shape[2] = { 6, (uint64_t)n };
  g_autofree double *ends = g_new0(double, 6 * (gsize)n + 1);
  for (int i = 0; i < n; i++)
    get(body, i, &ends[6 * i], &ends[6 * i + 3]);
  return pla_content_add_array(content, name, PLA_F64, 2, shape, ends, err);
}

static PlaStatus
add_stitches(PlaContent *content, const PlaSurgery *body, PlaError *err)
{
  const int n = pla_surgery_get_stitches(body, NULL);
  const uint64_t shape[2] = { 5, (uint64_t)n };
  g_autofree PlaSurgeryStitch *stitch = g_new0(PlaSurgeryStitch, (gsize)n + 1);
  g_autofree double *rows = g_new0(double, 5 * (gsize)n + 1);
  pla_surgery_get_stitches(body, stitch);
  for (int i = 0; i < n; i++) {
    memcpy(&rows[5 * i], stitch[i].pos, sizeof stitch[i].pos);
    rows[5 * i + 3] = stitch[i].gap;
    rows[5 * i + 4] = stitch[i].tension;
  }
  return pla_content_add_array(content, PLA_BODY_STITCHES, PLA_F64, 2, shape, rows, err);
}

static PlaStatus
add_lips(PlaContent *content, const PlaSurgery *body, PlaError *err)
{
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, 4 * sizeof(double));
  for (int w = 0; w < pla_surgery_n_wounds(body); w++)
    for (int s = 0; s < 2; s++)
      for (int i = 0; i < pla_surgery_get_wound(body, w).n_edge[s]; i++) {
        double row[4] = { 0, 0, 0, w };
        pla_surgery_get_edge(body, w, s, i, row);
        g_array_append_val(rows, row);
      }
  const uint64_t shape[2] = { 4, rows->len };
  return pla_content_add_array(content, PLA_BODY_LIPS, PLA_F64, 2, shape,
                               rows->len ? (const void *)rows->data : (const void *)"", err);
}

PlaStatus
pla_body_to_content(PlaSurgery *body, JsonObject *surgery, PlaContent **out, PlaError *err)
{
  g_autoptr(PlaContent) content = pla_content_new(PLA_ITEM_BODY);
  PlaNamedArrays arrays = { 0 };
  PlaSurgeryReadings readings;
  PlaStatus st = make_surface(body, &content->mesh, err);
  if (st == PLA_OK)
    st = pla_surgery_read(body, &readings, err);
  if (st == PLA_OK)
    st = pla_surgery_save(body, &arrays, err);
  for (int a = 0; st == PLA_OK && a < arrays.n; a++) {
    const PlaNamedArray *array = &arrays.array[a];
    const uint64_t shape[2] = { (uint64_t)array->width, array->n };
    st = pla_content_add_array(content, array->name, array->dtype, 2, shape, array->data, err);
  }
  if (st == PLA_OK)
    st = add_stitches(content, body, err);
  if (st == PLA_OK)
    st = add_threads(content, PLA_BODY_THREADS, body, pla_surgery_n_threads(body),
                     pla_surgery_get_thread_ends, err);
  if (st == PLA_OK)
    st = add_threads(content, PLA_BODY_HOOKS, body, pla_surgery_n_hooks(body),
                     pla_surgery_get_hook_ends, err);
  if (st == PLA_OK)
    st = add_lips(content, body, err);
  pla_named_arrays_clear(&arrays);
  if (st != PLA_OK)
    return st;
  json_object_set_object_member(surgery, "readings", pla_surgery_readings_to_json(&readings));
  json_object_set_array_member(surgery, "wounds", wounds_to_json(body));
  json_object_set_array_member(surgery, "tissues", tissues_to_json(body));
  json_object_set_object_member(content->meta, "surgery", json_object_ref(surgery));
  *out = g_steal_pointer(&content);
  return PLA_OK;
}

PlaStatus
pla_body_from_content(const PlaContent *content, PlaSurgery **out, PlaError *err)
{
  /* a list that borrows from the content */
  g_autofree PlaNamedArray *array = g_new0(PlaNamedArray, (gsize)content->n_arrays + 1);
  PlaNamedArrays arrays = { .array = array };
  for (int a = 0; a < content->n_arrays; a++) {
    const PlaStoreArray *from = &content->array[a];
    if (from->n_dims == 2 && from->shape[0] >= 1 && from->shape[0] <= 64)
      array[arrays.n++] = (PlaNamedArray){ .name = from->name,
                                           .dtype = from->dtype,
                                           .width = (int)from->shape[0],
                                           .n = (size_t)from->shape[1],
                                           .data = from->data };
  }
  return pla_surgery_load(&arrays, out, err);
}

JsonObject *
pla_body_get_surgery(const PlaContent *content)
{
  JsonNode *node = json_object_get_member(content->meta, "surgery");
  return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}
