/* Sets of muscles as items of a case.
 *
 * Metadata: "mesh" (the item's name), "muscles" (the description), "found" (per muscle), "bones".
 * Arrays: tet_start (tets + 1), muscle, share, fibre (3, pairs), region (pairs), vert_bone,
 * line_start, line_muscle, point_tet, point_weight (4, points), report (REPORT, muscles). */
#include "anatomy/base/memory.h"
#include "app/motion/muscles.h"
#include "io/stream/output.h"

#include <stdlib.h>
#include <string.h>

/* numbers of a PlaMuscleReport */
enum { REPORT = 14 };

static void
report_to_numbers(const PlaMuscleReport *r, double n[REPORT])
{
  const double all[REPORT] = { (double)r->method, r->volume_mm3,  r->inside_mm3,  r->length_mm,
                               r->section_mm2,    r->force_n,     r->gap_mm[0],   r->gap_mm[1],
                               r->n_tets,         r->n_region[0], r->n_region[1], r->n_region[2],
                               r->n_lines,        r->straightness };
  memcpy(n, all, sizeof all);
}

static int
count_from(double value)
{
  return value >= 0.0 && value <= 2e9 ? (int)value : 0;
}

static void
report_from_numbers(const double n[REPORT], PlaMuscleReport *r)
{
  *r = (PlaMuscleReport){
    .method = (PlaFibreMethod)(count_from(n[0]) & 3),
    .volume_mm3 = n[1],
    .inside_mm3 = n[2],
    .length_mm = n[3],
    .section_mm2 = n[4],
    .force_n = n[5],
    .gap_mm = { n[6], n[7] },
    .n_tets = count_from(n[8]),
    .n_region = { count_from(n[9]), count_from(n[10]), count_from(n[11]) },
    .n_lines = count_from(n[12]),
    .straightness = n[13],
  };
}

static PlaStatus
put(PlaContent *c, const char *name, PlaDType dtype, int width, size_t n, const void *data,
    PlaError *err)
{
  const uint64_t shape[2] = { width > 1 ? (uint64_t)width : n, n };
  return pla_content_add_array(c, name, dtype, width > 1 ? 2 : 1, shape, data, err);
}

PlaContent *
pla_muscle_description_new(const PlaMuscleList *list)
{
  PlaContent *content = pla_content_new(PLA_ITEM_MUSCLES);
  g_autoptr(JsonNode) node = pla_muscle_list_to_json(list);
  json_object_unref(content->meta);
  content->meta = json_node_dup_object(node);
  return content;
}

PlaStatus
pla_muscle_description_read(const char *path, PlaContent **out, PlaError *err)
{
  PlaJsonFile *file = NULL;
  PlaJson root;
  *out = NULL;
  PlaStatus st = pla_json_file_load(path, &file, &root, err);
  if (st == PLA_OK) {
    g_autoptr(JsonNode) copy = pla_json_dup(root.node);
    *out = pla_content_new(PLA_ITEM_MUSCLES);
    json_object_unref((*out)->meta);
    (*out)->meta = json_node_dup_object(copy);
  }
  pla_json_file_free(file);
  return st;
}

PlaStatus
pla_muscle_description_write(const PlaContent *content, const char *path, PlaError *err)
{
  g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), content->meta);
  g_autofree char *text = pla_json_write_lossy(node, PLA_JSON_PRETTY);
  return pla_output_write(path, text, strlen(text), err);
}

PlaStatus
pla_muscle_set_to_content(const PlaMuscleSet *set, const char *mesh_name, PlaContent **out,
                          PlaError *err)
{
  g_autoptr(PlaContent) c = pla_content_new(PLA_ITEM_MUSCLES);
  g_autoptr(JsonNode) list = pla_muscle_list_to_json(&set->list);
  json_object_set_string_member(c->meta, "mesh", mesh_name);
  json_object_set_array_member(
      c->meta, "muscles",
      json_array_ref(json_object_get_array_member(json_node_get_object(list), "muscles")));
  JsonArray *bones = json_array_new(), *notes = json_array_new();
  for (int b = 0; b < set->n_bones; b++)
    json_array_add_string_element(bones, set->bone[b]);
  for (int i = 0; i < set->notes.n; i++)
    json_array_add_string_element(notes, set->notes.text[i]);
  json_object_set_array_member(c->meta, "bones", bones);
  json_object_set_array_member(c->meta, "notes", notes);

  g_autofree double *report = pla_array_new((size_t)set->list.n, REPORT * sizeof *report);
  if (!report)
    return pla_fail_memory(err, "muscles");
  for (int m = 0; m < set->list.n; m++)
    report_to_numbers(&set->report[m], report + REPORT * m);
  const size_t n_pairs = (size_t)set->n_pairs, n_points = (size_t)set->point.n_points;
  const size_t n_tets = (size_t)set->n_tets, n_lines = (size_t)set->n_lines;
  PlaStatus st = put(c, "tet_start", PLA_I32, 1, n_tets + 1, set->tet_start, err);
  if (st == PLA_OK)
    st = put(c, "muscle", PLA_I32, 1, n_pairs, set->muscle, err);
  if (st == PLA_OK)
    st = put(c, "share", PLA_F64, 1, n_pairs, set->share, err);
  if (st == PLA_OK)
    st = put(c, "fibre", PLA_F64, 3, n_pairs, set->fibre, err);
  if (st == PLA_OK)
    st = put(c, "region", PLA_U8, 1, n_pairs, set->region, err);
  if (st == PLA_OK)
    st = put(c, "vert_bone", PLA_I32, 1, (size_t)set->n_verts, set->vert_bone, err);
  if (st == PLA_OK)
    st = put(c, "line_start", PLA_I32, 1, n_lines + 1, set->line_start, err);
  if (st == PLA_OK)
    st = put(c, "line_muscle", PLA_I32, 1, n_lines, set->line_muscle, err);
  if (st == PLA_OK)
    st = put(c, "point_tet", PLA_I32, 1, n_points, set->point.elem, err);
  if (st == PLA_OK)
    st = put(c, "point_weight", PLA_F64, 4, n_points, set->point.weight, err);
  if (st == PLA_OK)
    st = put(c, "report", PLA_F64, REPORT, (size_t)set->list.n, report, err);
  if (st == PLA_OK)
    *out = g_steal_pointer(&c);
  return st;
}

/* a copy of an array of the expected kind; *n: its length, or what it must be when not negative */
static PlaStatus
take(const PlaContent *c, const char *name, PlaDType dtype, int width, int *n, void **out,
     PlaError *err)
{
  const PlaStoreArray *a = pla_content_find_array(c, name);
  const bool shaped = a && a->dtype == dtype && a->n_dims == (width > 1 ? 2 : 1) &&
                      (width == 1 || a->shape[0] == (uint64_t)width);
  const uint64_t length = shaped ? a->shape[width > 1 ? 1 : 0] : 0;
  if (!shaped || length > 2000000000u || (*n >= 0 && length != (uint64_t)*n))
    return pla_fail(err, PLA_ERR_FORMAT,
                    "The stored muscles have no array '%s' of the right kind and size.", name);
  *n = (int)length;
  *out = pla_array_dup(a->data, pla_store_array_bytes(a), 1);
  return *out ? PLA_OK : pla_fail_memory(err, "muscles");
}

static PlaStatus
check(const PlaMuscleSet *set, PlaError *err)
{
  bool sound = set->line_start[0] == 0 && set->line_start[set->n_lines] == set->point.n_points;
  for (int l = 0; l < set->n_lines && sound; l++)
    sound = set->line_start[l] <= set->line_start[l + 1] && set->line_muscle[l] >= 0 &&
            set->line_muscle[l] < set->list.n;
  for (int p = 0; p < set->point.n_points && sound; p++)
    sound = set->point.elem[p] >= 0 && set->point.elem[p] < set->n_tets;
  for (int v = 0; v < set->n_verts && sound; v++)
    sound = set->vert_bone[v] >= -1 && set->vert_bone[v] < set->n_bones;
  return sound ? PLA_OK
               : pla_fail(err, PLA_ERR_FORMAT,
                          "The stored muscles are inconsistent; build them again.");
}

PlaStatus
pla_muscle_set_from_content(const PlaContent *content, PlaMuscleSet *out, PlaError *err)
{
  memset(out, 0, sizeof *out);
  /* the description is read as strictly as one from a file */
  g_autoptr(JsonObject) root = json_object_new();
  if (json_object_has_member(content->meta, "muscles"))
    json_object_set_member(root, "muscles",
                           json_node_copy(json_object_get_member(content->meta, "muscles")));
  g_autoptr(JsonNode) node = json_node_new(JSON_NODE_OBJECT);
  json_node_set_object(node, root);
  PlaStatus st = pla_muscle_list_from_json((PlaJson){ .node = node }, &out->list, err);
  JsonNode *bones = json_object_get_member(content->meta, "bones");
  if (st == PLA_OK && bones && JSON_NODE_HOLDS_ARRAY(bones)) {
    JsonArray *list = json_node_get_array(bones);
    const guint n = json_array_get_length(list);
    out->bone = pla_array_new0(n, sizeof *out->bone);
    if (!out->bone)
      st = pla_fail_memory(err, "muscles");
    for (guint b = 0; b < n && st == PLA_OK; b++) {
      JsonNode *name = json_array_get_element(list, b);
      const bool text = json_node_get_value_type(name) == G_TYPE_STRING;
      out->bone[b] = pla_strdup(text ? json_node_get_string(name) : "");
      out->n_bones++;
      if (!out->bone[b])
        st = pla_fail_memory(err, "muscles");
    }
  }
  JsonNode *notes = json_object_get_member(content->meta, "notes");
  JsonArray *said =
      st == PLA_OK && notes && JSON_NODE_HOLDS_ARRAY(notes) ? json_node_get_array(notes) : NULL;
  for (guint i = 0; said && i < json_array_get_length(said); i++) {
    JsonNode *note = json_array_get_element(said, i);
    if (JSON_NODE_HOLDS_VALUE(note) && json_node_get_string(note))
      pla_notes_add(&out->notes, "%s", json_node_get_string(note));
  }
  int n = -1;
  double *report = NULL;
  if (st == PLA_OK)
    st = take(content, "tet_start", PLA_I32, 1, &n, (void **)&out->tet_start, err);
  if (st == PLA_OK && n < 1)
    st = pla_fail(err, PLA_ERR_FORMAT, "The stored muscles belong to no mesh.");
  out->n_tets = n - 1;
  out->n_pairs = -1;
  if (st == PLA_OK)
    st = take(content, "muscle", PLA_I32, 1, &out->n_pairs, (void **)&out->muscle, err);
  if (st == PLA_OK)
    st = take(content, "share", PLA_F64, 1, &out->n_pairs, (void **)&out->share, err);
  if (st == PLA_OK)
    st = take(content, "fibre", PLA_F64, 3, &out->n_pairs, (void **)&out->fibre, err);
  if (st == PLA_OK)
    st = take(content, "region", PLA_U8, 1, &out->n_pairs, (void **)&out->region, err);
  out->n_verts = -1;
  if (st == PLA_OK)
    st = take(content, "vert_bone", PLA_I32, 1, &out->n_verts, (void **)&out->vert_bone, err);
  n = -1;
  if (st == PLA_OK)
    st = take(content, "line_start", PLA_I32, 1, &n, (void **)&out->line_start, err);
  if (st == PLA_OK && n < 1)
    st = pla_fail(err, PLA_ERR_FORMAT, "The stored muscles have no list of streamlines.");
  out->n_lines = n - 1;
  if (st == PLA_OK)
    st = take(content, "line_muscle", PLA_I32, 1, &out->n_lines, (void **)&out->line_muscle, err);
  out->point.n_points = -1;
  out->point.per_elem = 4;
  if (st == PLA_OK)
    st = take(content, "point_tet", PLA_I32, 1, &out->point.n_points, (void **)&out->point.elem,
              err);
  if (st == PLA_OK)
    st = take(content, "point_weight", PLA_F64, 4, &out->point.n_points,
              (void **)&out->point.weight, err);
  if (st == PLA_OK)
    st = take(content, "report", PLA_F64, REPORT, &out->list.n, (void **)&report, err);
  if (st == PLA_OK) {
    out->report = pla_array_new0((size_t)out->list.n, sizeof *out->report);
    if (!out->report)
      st = pla_fail_memory(err, "muscles");
  }
  for (int m = 0; m < out->list.n && st == PLA_OK; m++)
    report_from_numbers(report + REPORT * m, &out->report[m]);
  free(report);
  if (st == PLA_OK)
    st = check(out, err);
  if (st == PLA_OK)
    st = pla_muscle_set_index(out, err);
  if (st != PLA_OK)
    pla_muscle_set_clear(out);
  return st;
}
