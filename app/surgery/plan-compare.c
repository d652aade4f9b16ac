/* Reads the body at the tip of every branch, counts stitches, tension, gaps and stretch from its
 * stored results, and formats one line per quantity. */
#include "app/surgery/plan-compare.h"

#include "app/base/quantity.h"
#include "app/show/field-view.h"
#include "app/surgery/surgery-body.h"

#include <glib/gi18n.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void
pla_plan_side_free(void *data)
{
  PlaPlanSide *side = data;
  if (!side)
    return;
  g_free(side->name);
  pla_content_unref(side->body);
  g_free(side);
}

/* ---- numbers ---- */

static JsonArray *
list_of(JsonObject *object, const char *key)
{
  JsonNode *node = object ? json_object_get_member(object, key) : NULL;
  return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static double
number(JsonObject *object, const char *key)
{
  return json_object_get_double_member_with_default(object, key, 0.0);
}

/* what one step has found, and the parts of a template */
static void
count_found(PlaPlanSide *side, JsonObject *found)
{
  side->removed_ml += 1e-3 * number(found, "specimen_mm3");
  if (json_object_has_member(found, "flap_width_to_length"))
    side->flap_ratio = number(found, "flap_width_to_length");
  JsonArray *parts = list_of(found, "parts");
  for (guint i = 0; parts && i < json_array_get_length(parts); i++)
    count_found(side, json_array_get_object_element(parts, i));
}

static double
triangle_area(const PlaMesh *mesh, int t)
{
  const int *v = &mesh->tri[3 * t];
  double e[3], f[3];
  for (int d = 0; d < 3; d++) {
    e[d] = mesh->pos[3 * v[1] + d] - mesh->pos[3 * v[0] + d];
    f[d] = mesh->pos[3 * v[2] + d] - mesh->pos[3 * v[0] + d];
  }
  const double n[3] = { e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2],
                        e[0] * f[1] - e[1] * f[0] };
  return 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
}

static int
compare_values(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* the value of @field that all but half a percent of the skin's triangles stay below; skin above
 * @limit, cm2, is added to *above where that is not NULL */
static double
count_map(const PlaMesh *mesh, const char *name, double limit, double *above)
{
  const PlaField *field = pla_mesh_find_field(mesh, name, PLA_ON_VERTS);
  const PlaField *wound = pla_mesh_find_field(mesh, "wound", PLA_ON_CELLS);
  if (!field || field->dtype != PLA_F64 || !wound || wound->dtype != PLA_I8)
    return 0.0;
  const double *value = field->data;
  g_autofree double *skin = g_new(double, (gsize)mesh->n_tris + 1);
  int n = 0;
  for (int t = 0; t < mesh->n_tris; t++) {
    if (((const int8_t *)wound->data)[t])
      continue;
    const int *v = &mesh->tri[3 * t];
    skin[n] = (value[v[0]] + value[v[1]] + value[v[2]]) / 3.0;
    if (skin[n++] > limit && above)
      *above += pla_unit_convert(triangle_area(mesh, t), PLA_UNIT_M2, PLA_UNIT_CM2);
  }
  qsort(skin, (size_t)n, sizeof *skin, compare_values);
  return n > 0 ? skin[n - 1 - n / 200] : 0.0;
}

PlaPlanSide *
pla_plan_side_new(const char *name, PlaContent *body)
{
  PlaPlanSide *side = g_new0(PlaPlanSide, 1);
  side->name = g_strdup(name);
  side->body = pla_content_ref(body);
  JsonObject *surgery = pla_body_get_surgery(body);
  JsonArray *steps = list_of(surgery, "steps"), *found = list_of(surgery, "found");
  JsonNode *node = surgery ? json_object_get_member(surgery, "readings") : NULL;
  side->n_steps = steps ? (int)json_array_get_length(steps) : 0;
  for (guint i = 0; found && i < json_array_get_length(found); i++) {
    JsonObject *step = json_array_get_object_element(found, i);
    count_found(side, step);
    side->settled = json_object_get_boolean_member_with_default(step, "converged", FALSE);
  }
  if (node && JSON_NODE_HOLDS_OBJECT(node)) {
    JsonObject *r = json_node_get_object(node);
    side->n_stitches = (int)json_object_get_int_member_with_default(r, "stitches", 0);
    side->closure_force_n = number(r, "closure_force_n");
    side->max_tension_n = number(r, "max_tension_n");
    side->edge_gap_mm = number(r, "edge_gap_mm");
    side->tip_gap_mm = json_object_get_double_member_with_default(r, "tip_gap_mm", NAN);
    side->dog_ear_mm = number(r, "dog_ear_mm");
  }
  const double limit = pla_quantity_get(PLA_QUANTITY_SKIN_STRETCH)->limit;
  side->stretch_percent = count_map(body->mesh, PLA_BODY_STRETCH, limit, &side->above_cm2);
  side->tension_kpa = count_map(body->mesh, PLA_FIELD_TENSION, 0.0, NULL);
  side->pressure_kpa = count_map(body->mesh, PLA_BODY_PRESSURE, 0.0, NULL);
  return side;
}

/* ---- branches ---- */

/* the body of the state after @operation, unless @seen has it; a new side in *out */
static PlaStatus
add_side(PlaStore *store, int64_t operation, const char *name, GHashTable *seen, GPtrArray *out,
         PlaProgress *progress, PlaError *err)
{
  PlaState state = { 0 };
  PlaStatus st = pla_store_read_state(store, operation, &state, err);
  for (int i = 0; st == PLA_OK && i < state.n; i++) {
    const PlaStateItem *item = &state.item[i];
    char text[33];
    if (strcmp(item->kind, PLA_ITEM_BODY) != 0 ||
        !g_hash_table_add(seen, g_strdup(pla_hash_text(&item->hash, text))))
      continue;
    PlaContent *body = NULL;
    st = pla_content_load(store, &item->hash, progress, &body, err);
    if (st == PLA_OK)
      g_ptr_array_add(out, pla_plan_side_new(name, body));
    pla_content_unref(body);
  }
  pla_state_clear(&state);
  return st;
}

PlaStatus
pla_plan_sides(PlaStore *store, PlaProgress *progress, GPtrArray **out, PlaError *err)
{
  PlaLog log = { 0 };
  PlaBranches branches = { 0 };
  g_autoptr(GPtrArray) sides = g_ptr_array_new_with_free_func(pla_plan_side_free);
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  *out = NULL;
  PlaStatus st = pla_store_read_log(store, &log, err);
  if (st == PLA_OK)
    st = pla_store_read_branches(store, &branches, err);
  for (int i = 0; st == PLA_OK && i < log.n; i++)
    if (strcmp(log.row[i].verb, "prepare-body") == 0)
      st = add_side(store, log.row[i].id, "before", seen, sides, progress, err);
  for (int b = 0; st == PLA_OK && b < branches.n; b++)
    st = add_side(store, branches.branch[b].head, branches.branch[b].name, seen, sides, progress,
                  err);
  if (st == PLA_OK && sides->len == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "%s has no body to operate on; prepare one first",
                  pla_store_get_path(store));
  if (st == PLA_OK)
    *out = g_steal_pointer(&sides);
  pla_log_clear(&log);
  pla_branches_clear(&branches);
  return st;
}

/* ---- lines ---- */

static char *
steps_text(const PlaPlanSide *s)
{
  return s->n_steps == 0 ? g_strdup("0")
                         : g_strdup_printf("%d%s", s->n_steps, s->settled ? "" : " *");
}

static char *
closure_text(const PlaPlanSide *s)
{
  return s->n_stitches ? pla_quantity_text(PLA_QUANTITY_FORCE, s->closure_force_n, PLA_UNIT_N)
                       : g_strdup("–");
}

static char *
tension_text(const PlaPlanSide *s)
{
  return s->n_stitches ? pla_quantity_text(PLA_QUANTITY_FORCE, s->max_tension_n, PLA_UNIT_N)
                       : g_strdup("–");
}

static char *
gap_text(const PlaPlanSide *s)
{
  return s->n_stitches ? pla_quantity_text(PLA_QUANTITY_GAP, s->edge_gap_mm, PLA_UNIT_MM)
                       : g_strdup("–");
}

static char *
tip_text(const PlaPlanSide *s)
{
  return s->n_stitches ? pla_quantity_text(PLA_QUANTITY_GAP, s->tip_gap_mm, PLA_UNIT_MM)
                       : g_strdup("–");
}

static char *
ear_text(const PlaPlanSide *s)
{
  return s->n_stitches ? pla_quantity_text(PLA_QUANTITY_DOG_EAR, s->dog_ear_mm, PLA_UNIT_MM)
                       : g_strdup("–");
}

static char *
skin_tension_text(const PlaPlanSide *s)
{
  return pla_quantity_text(PLA_QUANTITY_TENSION, s->tension_kpa, PLA_UNIT_KPA);
}

static char *
pressure_text(const PlaPlanSide *s)
{
  return pla_quantity_text(PLA_QUANTITY_PRESSURE, s->pressure_kpa, PLA_UNIT_KPA);
}

static char *
stretch_text(const PlaPlanSide *s)
{
  return pla_quantity_text(PLA_QUANTITY_SKIN_STRETCH, s->stretch_percent, PLA_UNIT_PERCENT);
}

static char *
above_text(const PlaPlanSide *s)
{
  return pla_quantity_text(PLA_QUANTITY_SKIN_AREA, s->above_cm2, PLA_UNIT_CM2);
}

static char *
removed_text(const PlaPlanSide *s)
{
  return pla_quantity_text(PLA_QUANTITY_TISSUE_VOLUME, s->removed_ml, PLA_UNIT_ML);
}

static char *
flap_text(const PlaPlanSide *s)
{
  return s->flap_ratio > 0.0 ? g_strdup_printf("1 : %.1f", 1.0 / s->flap_ratio) : g_strdup("–");
}

const PlaPlanLine *
pla_plan_lines_get(int *n)
{
  static const PlaPlanLine lines[] = {
    { N_("Steps"), steps_text },
    { N_("Taken out"), removed_text },
    { N_("Closure force"), closure_text },
    { N_("Strongest stitch"), tension_text },
    { N_("Widest gap"), gap_text },
    { N_("Gap at the tips"), tip_text },
    { N_("Dog-ear"), ear_text },
    { N_("Skin stretch, all but 0.5 %"), stretch_text },
    { N_("Skin tension, all but 0.5 %"), skin_tension_text },
    { N_("Pressure in the skin, all but 0.5 %"), pressure_text },
    { N_("Skin beyond 30 %"), above_text },
    { N_("Flap, width : length"), flap_text },
  };
  *n = G_N_ELEMENTS(lines);
  return lines;
}

/* ---- pictures ---- */

bool
pla_body_wound_camera(const PlaContent *body, PlaCamera *out)
{
  const PlaStoreArray *lips = pla_content_find_array(body, PLA_BODY_LIPS);
  if (!lips || lips->dtype != PLA_F64 || lips->n_dims != 2 || lips->shape[0] != 4 ||
      lips->shape[1] == 0 || body->mesh->n_verts == 0)
    return false;
  const size_t n = lips->shape[1], n_verts = (size_t)body->mesh->n_verts;
  const double *lip = lips->data;
  double focus[3] = { 0.0 }, middle[3] = { 0.0 }, way[3], radius = 0.0, length = 0.0;
  for (size_t i = 0; i < n; i++)
    for (int d = 0; d < 3; d++)
      focus[d] += lip[4 * i + (size_t)d] / (double)n;
  for (size_t v = 0; v < n_verts; v++)
    for (int d = 0; d < 3; d++)
      middle[d] += body->mesh->pos[3 * v + (size_t)d] / (double)n_verts;
  for (size_t i = 0; i < n; i++)
    radius = fmax(radius, hypot(hypot(lip[4 * i] - focus[0], lip[4 * i + 1] - focus[1]),
                                lip[4 * i + 2] - focus[2]));
  /* away from the body's middle, which is where the skin looks to */
  for (int d = 0; d < 3; d++)
    way[d] = focus[d] - middle[d];
  length = hypot(hypot(way[0], way[1]), way[2]);
  if (!(length > 1e-9))
    return false;
  const bool from_above = fabs(way[2]) > 0.9 * length;
  *out = (PlaCamera){ .up = { 0.0, from_above ? 1.0 : 0.0, from_above ? 0.0 : 1.0 },
                      .parallel = true,
                      .height_mm = 1000.0 * 2.2 * radius + 30.0 };
  for (int d = 0; d < 3; d++) {
    out->focus_mm[d] = 1000.0 * focus[d];
    out->eye_mm[d] = 1000.0 * (focus[d] + 0.4 * way[d] / length);
  }
  return true;
}

/* stitches as small balls joined by nothing */
static PlaStatus
add_stitches(PlaStage *stage, const PlaContent *body, PlaError *err)
{
  static const double silk[3] = { 0.10, 0.12, 0.35 };
  const PlaStoreArray *threads = pla_content_find_array(body, PLA_BODY_THREADS);
  if (!threads || threads->dtype != PLA_F64 || threads->n_dims != 2 || threads->shape[0] != 6 ||
      threads->shape[1] == 0)
    return PLA_OK;
  const int n = (int)threads->shape[1];
  g_autofree int *start = g_new(int, (gsize)n + 1), *point = g_new(int, 2 * (gsize)n);
  for (int l = 0; l <= n; l++)
    start[l] = 2 * l;
  for (int i = 0; i < 2 * n; i++)
    point[i] = i;
  const PlaSceneLines lines = { .n_points = 2 * n,
                                .n_lines = n,
                                .pos = threads->data,
                                .to_mm = 1000.0,
                                .start = start,
                                .point = point };
  return pla_stage_add_lines(stage, &lines, 0.6, silk, err);
}

PlaStatus
pla_body_draw(const PlaContent *body, const char *map, const PlaCamera *camera,
              const PlaPictureOptions *opts, cairo_surface_t **out, PlaError *err)
{
  const PlaFieldView *view = pla_field_view_find(map);
  const PlaSurfaceLook look = { .rgb = { 0.87, 0.69, 0.58 },
                                .opacity = 1.0,
                                .finish = PLA_FINISH_SKIN };
  PlaStage *stage = NULL;
  int shape = 0;
  *out = NULL;
  PlaStatus st = pla_stage_new(&stage, err);
  if (st == PLA_OK)
    st = pla_stage_add_mesh(stage, body->mesh, &look, &shape, err);
  if (st == PLA_OK && pla_field_view_suits(view, body->mesh))
    st = pla_stage_show_field(stage, shape, body->mesh, view, err);
  if (st == PLA_OK)
    st = add_stitches(stage, body, err);
  if (st == PLA_OK) {
    pla_stage_set_camera(stage, camera);
    st = pla_stage_draw(stage, opts, out, err);
  }
  pla_stage_free(stage);
  return st;
}
