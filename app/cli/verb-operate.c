/* `operate`: carries out a surgical plan. */
#include "app/cli/cli-private.h"
#include "app/plan.h"
#include "app/session.h"

#include <glib.h>
#include <string.h>

/* the label map of a case: the one called @name, or the newest */
static PlaStatus
load_labels(const char *path, const char *name, PlaProgress *progress, PlaContent **out,
            PlaError *err)
{
  g_autoptr(PlaSession) session = NULL;
  PlaStatus st = pla_session_open(path, &session, err);
  if (st != PLA_OK)
    return st;
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
  return pla_session_load(session, chosen->item, progress, out, err);
}

typedef struct {
  char *case_path, *labels, *tissue; /* owned */
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
read_plan(const char *path, PlaJson root, Plan *plan, PlaError *err)
{
  static const char *const keys[] = { "case",   "labels",     "lattice_mm", "box_mm",
                                      "tissue", "operations", NULL };
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
  pla_json_number(json, "max_stretch", r->readings.max_stretch);
  pla_json_number(json, "max_stretch_cell", r->readings.max_stretch_cell);
  pla_json_number(json, "closed_gap_mm", 1e3 * r->readings.closed_gap);
  pla_json_number(json, "edge_gap_mm", 1e3 * r->readings.edge_gap);
  pla_json_number(json, "dog_ear_mm", 1e3 * r->readings.dog_ear);
  pla_json_int(json, "stitches", r->readings.n_stitches);
  pla_json_number(json, "max_tension_n", r->readings.max_tension);
  pla_json_number(json, "closure_force_n", r->readings.closure_force);
  pla_json_number(json, "max_hook_force_n", r->readings.max_hook_force);
  pla_json_number(json, "mesh_seconds", r->mesh_seconds);
  json_builder_set_member_name(json, "stitch_list");
  json_builder_begin_array(json);
  for (guint i = 0; i < r->stitches->len; i++) {
    const PlaSurgeryStitch *s = &g_array_index(r->stitches, PlaSurgeryStitch, i);
    json_builder_begin_object(json);
    pla_json_int(json, "row", s->row);
    const double at_mm[3] = { 1e3 * s->pos[0], 1e3 * s->pos[1], 1e3 * s->pos[2] };
    pla_json_numbers(json, "at_mm", at_mm, 3);
    pla_json_number(json, "gap_mm", 1e3 * s->gap);
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
  if (r->readings.n_stitches)
    pla_say(inv,
            "%d stitches: widest gap %.2f mm (%.2f mm between them), at most %.2f N each, %.2f N "
            "in all",
            r->readings.n_stitches, 1e3 * r->readings.closed_gap, 1e3 * r->readings.edge_gap,
            r->readings.max_tension, r->readings.closure_force);
  if (r->readings.n_hooks)
    pla_say(inv, "hooks pull with at most %.2f N", r->readings.max_hook_force);
}

static PlaStatus
run_operate(PlaInvocation *inv, PlaError *err)
{
  const char *path = pla_invocation_file(inv, 0);
  const char *surface = pla_invocation_text(inv, "surface", 0, NULL);
  PlaProgress *progress = pla_invocation_progress(inv);
  PlaJsonFile *file = NULL;
  PlaJson root;
  Plan plan = { 0 };
  PlaPlanResult result = { 0 };
  g_autoptr(PlaContent) content = NULL;
  PlaLabelMap *part = NULL;
  const PlaFormat *format;
  PlaStatus st = pla_format_for_output(pla_invocation_output(inv), PLA_KIND_MESH, &format, err);
  if (st == PLA_OK && surface)
    st = pla_format_for_output(surface, PLA_KIND_MESH, &format, err);
  if (st == PLA_OK)
    st = pla_json_file_load(path, &file, &root, err);
  if (st == PLA_OK) {
    st = read_plan(path, root, &plan, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", path);
  }
  if (st == PLA_OK)
    st = load_labels(plan.case_path, plan.labels, progress, &content, err);
  if (st == PLA_OK)
    st = pla_plan_part(content->labels, plan.boxed ? (const double(*)[3])plan.box_mm : NULL,
                       plan.tissue, &part, err);
  if (st == PLA_OK) {
    st = pla_plan_run(part ? part : content->labels, plan.lattice_mm, plan.operations, progress,
                      &result, err);
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
    if (result.solved && result.solve.reason != PLA_STOP_CONVERGED)
      st = pla_fail(err, PLA_ERR_CONVERGENCE, "%s: the last solve did not converge: %s", path,
                    pla_stop_reason_text(result.solve.reason));
  }
  pla_plan_result_clear(&result);
  pla_label_map_free(part);
  pla_json_file_free(file);
  g_free(plan.case_path);
  g_free(plan.labels);
  g_free(plan.tissue);
  return st;
}

static const PlaOpt options[] = {
  { "surface", 0, PLA_OPT_TEXT, "SURF", "also write the skin and the wounds as a closed surface" },
  { NULL },
};

const PlaVerb pla_verb_operate = {
  .name = "operate",
  .args = "PLAN.json -o OUT.vtu",
  .summary = "carries out a surgical plan",
  .description =
      "The plan names a case with labels, the size of a cell (\"lattice_mm\"), if need be the "
      "part\n"
      "of it that is meshed (\"box_mm\", two corners), and a list of operations: incise, excise,\n"
      "undermine, cut, template, hook, release, suture, stitch, tighten, tension, expand and "
      "solve.\n"
      "With \"tissue\" all soft labels are one of that name.  Labels with the\n"
      "names of soft tissues become the body; it is held where it meets bone or teeth and where\n"
      "the scan or the box ends.  Points are in mm and are snapped to the skin, up to 5 mm.  A\n"
      "template (fusiform, z-plasty, rhomboid, rotation, advancement, bilobed) is laid on the "
      "skin\n"
      "at \"at_mm\" along \"direction\" and becomes plain operations, which the result lists.  "
      "The\n"
      "output is the body as it lies in the end, with the field \"displacement\" in mm.",
  .example = "platysma-cli operate plan.json -o result.vtu --surface result.vtp",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .options = options,
  .run = run_operate,
};
