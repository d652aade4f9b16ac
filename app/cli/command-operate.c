/* `operate`: carries out a surgical plan. */
#include "app/base/quantity.h"
#include "app/case/session.h"
#include "app/cli/cli-private.h"
#include "app/cli/command-reached.h"
#include "app/motion/landmark-table.h"
#include "app/surgery/plan.h"
#include "app/surgery/surgery-body.h"
#include "sim/solve/solve.h"

#include <glib.h>
#include <string.h>

/* the label map of a case: the one called @name, or the newest; @item or @found may be NULL */
static PlaStatus
find_labels(PlaSession *session, const char *path, const char *name, int64_t *item_id,
            const char **found, PlaError *err)
{
  const PlaState *state = pla_session_get_state(session);
  const PlaStateItem *chosen = NULL;
  for (int i = 0; i < state->n; i++) {
    const PlaStateItem *item = &state->item[i];
    if (strcmp(item->kind, PLA_ITEM_LABELS) == 0 &&
        (name ? strcmp(item->name, name) == 0 : !chosen || item->item > chosen->item))
      chosen = item;
  }
  if (!chosen)
    return name ? pla_fail(err, PLA_ERR_USAGE, "%s has no labels called '%s'", path, name)
                : pla_fail(err, PLA_ERR_EMPTY, "%s has no labels; segment its scan first", path);
  if (item_id)
    *item_id = chosen->item;
  if (found)
    *found = chosen->name;
  return PLA_OK;
}

static PlaStatus
load_labels(const char *path, const char *name, PlaProgress *progress, PlaContent **out,
            PlaError *err)
{
  g_autoptr(PlaSession) session = NULL;
  int64_t item = 0;
  PlaStatus st = pla_session_open(path, &session, err);
  if (st == PLA_OK)
    st = find_labels(session, path, name, &item, NULL, err);
  return st == PLA_OK ? pla_session_load(session, item, progress, out, err) : st;
}

typedef struct {
  char *case_path, *labels, *tissue; /* owned */
  GPtrArray *bones;                  /* names, NULL-terminated; owned */
  PlaPlanCells cells;
  double lattice_mm;
  bool boxed;
  double box_mm[2][3];
  PlaJson operations;
} Plan;

static PlaStatus
read_box(PlaJson box, Plan *plan, PlaError *err)
{
  PlaStatus st =
      pla_json_length(box) == 2 ? PLA_OK : pla_json_fail(box, err, "must be two corners");
  for (int i = 0; st == PLA_OK && i < 2; i++) {
    PlaJson corner;
    st = pla_json_at(box, i, &corner, err);
    if (st == PLA_OK)
      st = pla_json_vector(corner, 3, plan->box_mm[i], err);
  }
  plan->boxed = st == PLA_OK;
  return st;
}

static PlaStatus
read_bones(PlaJson list, Plan *plan, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    PlaJson one;
    char *name = NULL;
    st = pla_json_at(list, i, &one, err);
    if (st == PLA_OK)
      st = pla_json_text_value(one, &name, err);
    if (st == PLA_OK)
      g_ptr_array_add(plan->bones, name);
  }
  return st;
}

static PlaStatus
read_plan(const char *path, PlaJson root, Plan *plan, PlaError *err)
{
  static const char *const keys[] = { "case",   "labels", "cells",      "lattice_mm", "box_mm",
                                      "tissue", "bones",  "operations", NULL };
  PlaJson value;
  PlaStatus st = pla_json_check_keys(root, keys, err);
  if (st == PLA_OK && !pla_json_get(root, "case", &value))
    st = pla_json_fail(root, err, "needs \"case\", the case file of the patient");
  if (st == PLA_OK) {
    g_autofree char *name = NULL;
    g_autofree char *folder = g_path_get_dirname(path);
    st = pla_json_text_value(value, &name, err);
    if (st == PLA_OK)
      plan->case_path =
          g_path_is_absolute(name) ? g_strdup(name) : g_build_filename(folder, name, NULL);
  }
  if (st == PLA_OK && pla_json_get(root, "labels", &value))
    st = pla_json_text_value(value, &plan->labels, err);
  if (st == PLA_OK && pla_json_get(root, "tissue", &value))
    st = pla_json_text_value(value, &plan->tissue, err);
  if (st == PLA_OK && pla_json_get(root, "cells", &value)) {
    g_autofree char *name = NULL;
    st = pla_json_text_value(value, &name, err);
    if (st == PLA_OK)
      st = pla_plan_cells_find(name, &plan->cells, err);
  }
  if (st == PLA_OK && pla_json_get(root, "bones", &value))
    st = read_bones(value, plan, err);
  g_ptr_array_add(plan->bones, NULL);
  if (st == PLA_OK && !pla_json_get(root, "lattice_mm", &value))
    st = pla_json_fail(root, err, "needs \"lattice_mm\", the size of a cell");
  if (st == PLA_OK)
    st = pla_json_number_value(value, &plan->lattice_mm, err);
  if (st == PLA_OK && !(plan->lattice_mm >= 0.2 && plan->lattice_mm <= 100.0))
    st = pla_json_fail(value, err, "is %g and must lie between 0.2 and 100", plan->lattice_mm);
  if (st == PLA_OK && pla_json_get(root, "box_mm", &value))
    st = read_box(value, plan, err);
  if (st == PLA_OK && (!pla_json_get(root, "operations", &plan->operations) ||
                       pla_json_length(plan->operations) == 0))
    st = pla_json_fail(root, err, "needs \"operations\", a list of what to do");
  return st;
}

/* ---- blades from files ---- */

/* [[x, y, z], ...] with numbers times @scale */
static JsonArray *
triples(const double *value, const int *number, int n, double scale)
{
  JsonArray *list = json_array_new();
  for (int i = 0; i < n; i++) {
    JsonArray *one = json_array_new();
    for (int d = 0; d < 3; d++)
      if (value)
        json_array_add_double_element(one, scale * value[3 * i + d]);
      else
        json_array_add_int_element(one, number[3 * i + d]);
    json_array_add_array_element(list, one);
  }
  return list;
}

/* {"cut": {"surface": FILE}}: the file's triangles take its place, so that what is done does not
 * depend on a file that may be gone tomorrow */
static PlaStatus
take_in_blades(PlaInvocation *inv, const char *plan, PlaJson operations, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (int i = 0; st == PLA_OK && i < pla_json_length(operations); i++) {
    PlaJson one, what, value;
    g_autofree char *name = NULL;
    PlaItem blade = { 0 };
    st = pla_json_at(operations, i, &one, err);
    if (st != PLA_OK || !JSON_NODE_HOLDS_OBJECT(one.node) || !pla_json_get(one, "cut", &what) ||
        !JSON_NODE_HOLDS_OBJECT(what.node) || !pla_json_get(what, "surface", &value))
      continue;
    st = pla_json_text_value(value, &name, err);
    if (st != PLA_OK)
      break;
    g_autofree char *folder = g_path_get_dirname(plan);
    g_autofree char *path =
        g_path_is_absolute(name) ? g_strdup(name) : g_build_filename(folder, name, NULL);
    PlaReadOptions read = pla_read_options_default();
    read.progress = pla_invocation_progress(inv);
    st = pla_item_read(path, &read, &blade, err);
    if (st == PLA_OK && (!blade.mesh || blade.mesh->n_tris == 0))
      st = pla_fail(err, PLA_ERR_USAGE, "%s has no triangles to cut along", path);
    if (st == PLA_OK) {
      JsonObject *o = json_node_get_object(what.node);
      json_object_remove_member(o, "surface");
      json_object_set_array_member(o, "points_mm",
                                   triples(blade.mesh->pos, NULL, blade.mesh->n_verts, 1e3));
      json_object_set_array_member(o, "triangles",
                                   triples(NULL, blade.mesh->tri, blade.mesh->n_tris, 1.0));
    }
    pla_item_clear(&blade);
  }
  return st;
}

/* ---- into the case ---- */

static PlaStatus
apply(PlaSession *session, const char *verb, JsonObject *params, PlaProgress *progress,
      PlaError *err)
{
  const PlaRequest request = { .verb = verb, .params = params };
  PlaStatus st = pla_session_run(session, &request, progress, NULL, err);
  json_object_unref(params);
  return st;
}

/* the body and every operation of the plan as rows of the case's log */
static PlaStatus
commit(PlaInvocation *inv, const char *path, const Plan *plan, PlaError *err)
{
  g_autoptr(PlaSession) session = NULL;
  g_autofree char *file = g_path_get_basename(path);
  char *dot = strrchr(file, '.');
  PlaProgress *progress = pla_invocation_progress(inv);
  const int n = pla_json_length(plan->operations);
  if (dot && dot != file)
    *dot = '\0';
  PlaStatus st = pla_session_open(plan->case_path, &session, err);
  g_autoptr(GArray) before = st == PLA_OK ? pla_session_get_hashes(session) : NULL;
  const char *name = NULL;
  if (st == PLA_OK)
    st = find_labels(session, plan->case_path, plan->labels, NULL, &name, err);
  if (st == PLA_OK) {
    JsonObject *params = json_object_new();
    json_object_set_string_member(params, "item", name);
    json_object_set_double_member(params, "lattice_mm", plan->lattice_mm);
    json_object_set_string_member(params, "cells", pla_plan_cells_name(plan->cells));
    json_object_set_string_member(params, "name", file);
    if (plan->boxed)
      json_object_set_array_member(params, "box_mm", triples(plan->box_mm[0], NULL, 2, 1.0));
    if (plan->tissue)
      json_object_set_string_member(params, "tissue", plan->tissue);
    JsonArray *bones = json_array_new();
    for (guint i = 0; i + 1 < plan->bones->len; i++)
      json_array_add_string_element(bones, plan->bones->pdata[i]);
    json_object_set_array_member(params, "bones", bones);
    st = apply(session, "prepare-body", params, progress, err);
  }
  int done = 0;
  for (; st == PLA_OK && done < n; done++) {
    JsonObject *params = json_object_new();
    JsonArray *steps = json_array_new();
    PlaJson one;
    st = pla_json_at(plan->operations, done, &one, err);
    if (st == PLA_OK)
      json_array_add_element(steps, json_node_copy(one.node));
    json_object_set_string_member(params, "body", file);
    json_object_set_array_member(params, "steps", steps);
    if (st == PLA_OK)
      st = apply(session, "operate", params, progress, err);
    else
      json_object_unref(params);
    if (st != PLA_OK)
      break;
  }
  if (st != PLA_OK && done > 0)
    pla_fail_within(err, "%s, operations[%d], after %d that are done", path, done, done);
  if (st == PLA_OK) {
    pla_json_int(pla_invocation_json(inv), "committed", done + 1);
    pla_say(inv, "%s: body '%s' and %d operations in the log", plan->case_path, file, done);
    st = pla_session_check_reached(session, before, progress, err);
  }
  return st;
}

static void
put_readings(JsonBuilder *json, const PlaSurgeryReadings *readings)
{
  g_autoptr(JsonObject) object = pla_surgery_readings_to_json(readings);
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  json_object_iter_init_ordered(&iter, object);
  while (json_object_iter_next_ordered(&iter, &key, &node)) {
    json_builder_set_member_name(json, key);
    json_builder_add_value(json, json_node_copy(node));
  }
}

static void
describe(PlaInvocation *inv, PlaPlanResult *r)
{
  JsonBuilder *json = pla_invocation_json(inv);
  json_builder_set_member_name(json, "operations");
  JsonNode *list = json_node_new(JSON_NODE_ARRAY);
  json_node_set_array(list, r->operations);
  json_builder_add_value(json, list);
  pla_json_int(json, "tets", r->n_tets);
  pla_json_int(json, "tets_after", r->mesh->n_tets);
  pla_json_bool(json, "converged", r->solved && r->solve.reason == PLA_STOP_CONVERGED);
  pla_json_int(json, "inverted", r->solved ? r->solve.inverted : 0);
  put_readings(json, &r->readings);
  pla_json_number(json, "mesh_seconds", r->mesh_seconds);
  json_builder_set_member_name(json, "stitch_list");
  json_builder_begin_array(json);
  for (guint i = 0; i < r->stitches->len; i++) {
    const PlaSurgeryStitch *s = &g_array_index(r->stitches, PlaSurgeryStitch, i);
    json_builder_begin_object(json);
    pla_json_int(json, "row", s->row);
    const double at_mm[3] = { 1e3 * s->pos[0], 1e3 * s->pos[1], 1e3 * s->pos[2] };
    pla_json_numbers(json, "at_mm", at_mm, 3);
    pla_json_si(json, "gap_mm", s->gap);
    pla_json_number(json, "tension_n", s->tension);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  for (guint i = 0; i < json_array_get_length(r->operations); i++) {
    JsonObject *o = json_array_get_object_element(r->operations, i);
    pla_say(inv, "%-10s %.2f s", json_object_get_string_member(o, "name"),
            json_object_get_double_member(o, "seconds"));
  }
  pla_say(inv, "%d tets (%d before), largest stretch %.2f", r->mesh->n_tets, r->n_tets,
          r->readings.max_stretch);
  const PlaSurgeryReadings *now = &r->readings;
  g_autofree char *gap = pla_quantity_text(PLA_QUANTITY_GAP, now->closed_gap, PLA_UNIT_M);
  g_autofree char *between = pla_quantity_text(PLA_QUANTITY_GAP, now->edge_gap, PLA_UNIT_M);
  g_autofree char *tips = pla_quantity_text(PLA_QUANTITY_GAP, now->tip_gap, PLA_UNIT_M);
  g_autofree char *each = pla_quantity_text(PLA_QUANTITY_FORCE, now->max_tension, PLA_UNIT_N);
  g_autofree char *all = pla_quantity_text(PLA_QUANTITY_FORCE, now->closure_force, PLA_UNIT_N);
  g_autofree char *hook = pla_quantity_text(PLA_QUANTITY_FORCE, now->max_hook_force, PLA_UNIT_N);
  if (now->n_stitches)
    pla_say(inv,
            "%d stitches: widest gap %s (%s between them, %s at the tips), at most %s each, %s in "
            "all",
            now->n_stitches, gap, between, tips, each, all);
  if (now->n_hooks)
    pla_say(inv, "hooks pull with at most %s", hook);
}

/* ---- the same plan elsewhere ---- */

/* numbers that the result of an earlier run, with --json, has under the same names */
static PlaStatus
tell_differences(PlaInvocation *inv, const char *path, const PlaPlanResult *r, PlaError *err)
{
  static const char *const keys[] = {
    "tets",          "closed_gap_mm",   "edge_gap_mm",      "dog_ear_mm", "stitches",
    "max_tension_n", "closure_force_n", "max_hook_force_n", "max_stretch"
  };
  g_autoptr(JsonObject) now = pla_surgery_readings_to_json(&r->readings);
  json_object_set_int_member(now, "tets", r->n_tets);
  JsonBuilder *json = pla_invocation_json(inv);
  PlaJsonFile *file = NULL;
  PlaJson root, value;
  double before[G_N_ELEMENTS(keys)] = { 0 };
  PlaStatus st = pla_json_file_load(path, &file, &root, err);
  for (size_t i = 0; st == PLA_OK && i < G_N_ELEMENTS(keys); i++) {
    st = pla_json_get(root, keys[i], &value)
             ? pla_json_number_value(value, &before[i], err)
             : pla_fail(err, PLA_ERR_USAGE, "%s has no \"%s\"; give what 'operate --json' printed",
                        path, keys[i]);
  }
  if (st == PLA_OK) {
    json_builder_set_member_name(json, "differences");
    json_builder_begin_object(json);
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
      const double value_now = json_object_get_double_member(now, keys[i]);
      pla_json_number(json, keys[i], value_now - before[i]);
      pla_say(inv, "%-17s %10.3f, was %10.3f: %+.3f", keys[i], value_now, before[i],
              value_now - before[i]);
    }
    json_builder_end_object(json);
  }
  pla_json_file_free(file);
  return st;
}

/* another case or size of cells, instead of the one in the plan */
static PlaStatus
replace_from_options(PlaInvocation *inv, Plan *plan, PlaError *err)
{
  const char *other = pla_invocation_text(inv, "case", 0, NULL);
  if (other) {
    g_free(plan->case_path);
    plan->case_path = g_strdup(other);
  }
  plan->lattice_mm = pla_invocation_number(inv, "lattice-mm", plan->lattice_mm);
  const char *cells = pla_invocation_text(inv, "cells", 0, NULL);
  return cells ? pla_plan_cells_find(cells, &plan->cells, err) : PLA_OK;
}

/* from the plan's patient onto another by landmarks of both */
static PlaStatus
warp_plan(PlaInvocation *inv, Plan *plan, PlaError *err)
{
  const char *path[2] = { pla_invocation_text(inv, "from", 0, NULL),
                          pla_invocation_text(inv, "to", 0, NULL) };
  PlaLandmarks mark[2] = { { 0 } };
  PlaLandmarkPairs pairs = { 0 };
  PlaWarp *warp = NULL;
  PlaWarpReport report;
  if (!path[0] && !path[1])
    return PLA_OK;
  if (!path[0] || !path[1])
    return pla_fail(err, PLA_ERR_USAGE,
                    "carrying a plan over needs landmarks of both patients: --from and --to");
  PlaStatus st = pla_landmarks_read(path[0], &mark[0], err);
  if (st == PLA_OK)
    st = pla_landmarks_read(path[1], &mark[1], err);
  if (st == PLA_OK) {
    pla_landmark_pairs_init(&pairs, &mark[0], &mark[1]);
    st = pla_warp_new(pairs.n, pairs.pos_mm[0], pairs.pos_mm[1], 0.0, &warp, NULL, &report, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s (%d of its %d landmarks are named in %s too)", path[0], pairs.n,
                      mark[0].n, path[1]);
  }
  if (st == PLA_OK) {
    pla_plan_warp(warp, plan->operations, plan->boxed ? plan->box_mm : NULL);
    pla_json_int(pla_invocation_json(inv), "landmarks_used", pairs.n);
    pla_json_number(pla_invocation_json(inv), "landmarks_left_out_mm", report.left_out_mm);
    pla_say(inv, "plan carried over by %d landmarks, each %.2f mm from where the others predict it",
            pairs.n, report.left_out_mm);
  }
  pla_warp_free(warp);
  pla_landmark_pairs_clear(&pairs);
  pla_landmarks_clear(&mark[0]);
  pla_landmarks_clear(&mark[1]);
  return st;
}

static PlaStatus
run_operate(PlaInvocation *inv, PlaError *err)
{
  const char *path = pla_invocation_file(inv, 0);
  const char *surface = pla_invocation_text(inv, "surface", 0, NULL);
  const char *against = pla_invocation_text(inv, "against", 0, NULL);
  PlaProgress *progress = pla_invocation_progress(inv);
  PlaJsonFile *file = NULL;
  PlaJson root;
  Plan plan = { .bones = g_ptr_array_new_with_free_func(g_free) };
  PlaPlanResult result = { 0 };
  g_autoptr(PlaContent) content = NULL;
  PlaLabelMap *part = NULL;
  const PlaFormat *format;
  const bool into_case = pla_invocation_has(inv, "commit");
  if (into_case == (pla_invocation_output(inv) != NULL))
    return pla_fail(err, PLA_ERR_USAGE,
                    "choose where the result goes: -o OUT.vtu, or --commit into the case");
  if (into_case && against)
    return pla_fail(err, PLA_ERR_USAGE, "--against compares a run with -o, not one with --commit");
  PlaStatus st =
      into_case ? PLA_OK
                : pla_format_for_output(pla_invocation_output(inv), PLA_KIND_MESH, &format, err);
  if (st == PLA_OK && surface)
    st = pla_format_for_output(surface, PLA_KIND_MESH, &format, err);
  if (st == PLA_OK)
    st = pla_json_file_load(path, &file, &root, err);
  if (st == PLA_OK) {
    st = read_plan(path, root, &plan, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", path);
  }
  if (st == PLA_OK) {
    st = replace_from_options(inv, &plan, err);
    if (st == PLA_OK)
      st = take_in_blades(inv, path, plan.operations, err);
    if (st == PLA_OK && (st = pla_plan_check(plan.operations, true, err)) != PLA_OK)
      pla_fail_within(err, "%s", path);
  }
  if (st == PLA_OK)
    st = warp_plan(inv, &plan, err);
  if (st == PLA_OK && into_case) {
    st = commit(inv, path, &plan, err);
    goto out;
  }
  if (st == PLA_OK)
    st = load_labels(plan.case_path, plan.labels, progress, &content, err);
  if (st == PLA_OK)
    st = pla_plan_part(content->labels, plan.boxed ? (const double(*)[3])plan.box_mm : NULL,
                       plan.tissue, &part, err);
  if (st == PLA_OK) {
    st = pla_plan_run(part ? part : content->labels, plan.cells, plan.lattice_mm,
                      (const char *const *)plan.bones->pdata, plan.operations, progress, &result,
                      err);
    if (st != PLA_OK && st != PLA_ERR_CANCELLED)
      pla_fail_within(err, "%s", path);
  }
  pla_progress_phase(progress, "Writing", 1.0);
  if (st == PLA_OK)
    st = pla_invocation_write_mesh(inv, pla_invocation_output(inv), result.mesh, err);
  if (st == PLA_OK && surface)
    st = pla_invocation_write_mesh(inv, surface, result.surface, err);
  if (st == PLA_OK) {
    describe(inv, &result);
    if (against)
      st = tell_differences(inv, against, &result, err);
    if (st == PLA_OK && result.solved && result.solve.reason != PLA_STOP_CONVERGED)
      st = pla_fail(err, PLA_ERR_CONVERGENCE, "%s: the last solve did not converge: %s", path,
                    pla_stop_reason_text(result.solve.reason));
  }
out:
  pla_plan_result_clear(&result);
  pla_label_map_free(part);
  pla_json_file_free(file);
  g_free(plan.case_path);
  g_free(plan.labels);
  g_free(plan.tissue);
  g_ptr_array_unref(plan.bones);
  return st;
}

static const PlaOpt options[] = {
  { "surface", 0, PLA_OPT_OUTPUT, "SURF",
    "also write the skin and the wounds as a closed surface" },
  { "case", 0, PLA_OPT_TEXT, "CASE", "run the plan on this case instead of its own" },
  { "from", 0, PLA_OPT_TEXT, "FILE",
    "landmarks of the plan's patient, name, x, y, z in mm: the plan is warped..." },
  { "to", 0, PLA_OPT_TEXT, "FILE", "...onto these of the other patient" },
  { "lattice-mm", 0, PLA_OPT_NUMBER, "H", "size of cells, instead of the one in the plan", 0.2,
    100 },
  { "cells", 0, PLA_OPT_TEXT, "KIND", "carved or tets, instead of the kind in the plan" },
  { "against", 0, PLA_OPT_TEXT, "RESULT.json",
    "report the differences from an earlier run, given its --json output" },
  { "commit", 0, PLA_OPT_FLAG, NULL, "run in the case: each operation becomes a row of its log" },
  { NULL },
};

const PlaCommand pla_command_operate = {
  .name = "operate",
  .args = "PLAN.json (-o OUT.vtu | --commit)",
  .summary = "carries out a surgical plan",
  .description =
      "The plan names a case with labels, the size of a cell (\"lattice_mm\"), optionally the\n"
      "part that is meshed (\"box_mm\", two corners), and a list of operations: incise, excise,\n"
      "undermine, cut, template, hook, release, suture, stitch, tighten, tension, expand,\n"
      "implant and solve.\n\n"
      "With \"cells\": \"carved\" the surface is that of the scan, and the cells that carry it "
      "are\n"
      "filled in part at the border and do not lock.  It stays smooth in coarse cells, but a "
      "large\n"
      "body takes minutes to make, to cut and to solve; cells must be smaller than the depth of a\n"
      "flap.  With \"tets\" (default) the surface is that of the cells.\n\n"
      "Labels with names of soft tissues become the body; with \"tissue\" they all become that\n"
      "one tissue.  The body is held where it meets bone or teeth and where the scan or the box\n"
      "ends.  Labels that the plan lists as \"bones\" are meshed and can be cut.  Points are in\n"
      "mm and are projected onto the skin, up to 5 mm.\n\n"
      "A template (fusiform, z-plasty, rhomboid, rotation, advancement, bilobed) is placed on\n"
      "the skin at \"at_mm\" along \"direction\" and expands to plain operations, which the "
      "result\n"
      "lists.  A cut follows a plane, \"points_mm\" and \"triangles\", or the file that "
      "\"surface\"\n"
      "names; with \"tissue\" it cuts that tissue only.  Undermining goes to \"depth_mm\", or to "
      "a\n"
      "\"level\": \"bone\" or the name of a tissue, \"offset_mm\" above its surface.\n\n"
      "The output is the final shape of the body, with the field \"displacement_mm\".",
  .example = "platysma-cli operate plan.json -o result.vtu --surface result.vtp",
  .min_files = 1,
  .max_files = 1,
  .options = options,
  .run = run_operate,
};
