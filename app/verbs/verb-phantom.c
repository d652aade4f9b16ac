/* phantom: a built-in phantom as an item.  Replay makes it again. */
#include "anatomy/phantom/phantom.h"
#include "app/base/json.h"
#include "app/verbs/describe.h"
#include "app/verbs/verbs.h"

/* named points, muscles and joints: what a label volume cannot hold */
static void
describe_anatomy(JsonBuilder *json, const PlaPhantom *phantom)
{
  json_builder_set_member_name(json, "landmarks");
  json_builder_begin_array(json);
  for (int i = 0; i < phantom->n_landmarks; i++) {
    json_builder_begin_object(json);
    pla_json_text(json, "name", phantom->landmark[i].name);
    pla_json_numbers(json, "at_mm", phantom->landmark[i].pos_mm, 3);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  json_builder_set_member_name(json, "muscles");
  json_builder_begin_array(json);
  for (int i = 0; i < phantom->n_muscles; i++) {
    const PlaPhantomMuscle *muscle = &phantom->muscle[i];
    json_builder_begin_object(json);
    pla_json_text(json, "name", muscle->name);
    pla_json_text(json, "side",
                  muscle->side == PLA_SIDE_LEFT    ? "left"
                  : muscle->side == PLA_SIDE_RIGHT ? "right"
                                                   : "");
    pla_json_int(json, "label", muscle->label);
    pla_json_text(json, "origin", muscle->n_paths ? muscle->path[0].origin : "");
    pla_json_text(json, "insertion", muscle->n_paths ? muscle->path[0].insertion : "");
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  const char *which = pla_work_text(work, "phantom");
  PlaPhantom phantom = { 0 };
  PlaStatus st = pla_phantom_make(
      which, pla_work_is_null(work, "spacing_mm") ? 0.0 : pla_work_number(work, "spacing_mm"),
      pla_work_progress(work), &phantom, err);
  if (st != PLA_OK)
    return st;
  g_autoptr(PlaContent) content = pla_content_new(phantom.labels ? PLA_ITEM_LABELS : PLA_ITEM_MESH);
  content->labels = g_steal_pointer(&phantom.labels);
  content->mesh = g_steal_pointer(&phantom.mesh);
  st = pla_content_describe(content, pla_work_json(work), pla_work_lines(work), err);
  if (st == PLA_OK && content->labels)
    describe_anatomy(pla_work_json(work), &phantom);
  if (st == PLA_OK)
    pla_work_add(work, pla_work_is_null(work, "name") ? which : pla_work_text(work, "name"),
                 g_steal_pointer(&content));
  pla_phantom_clear(&phantom);
  return st;
}

static const PlaVerbParam params[] = {
  { "phantom", PLA_PARAM_TEXT, NULL, 1, 100, NULL, "which one: head, tongue, arm, ...",
    .positional = true },
  { "spacing_mm", PLA_PARAM_NUMBER, "mm", 0.001, 1000, "null", "voxel or element size",
    .arg = "H" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the item", .option = "" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "*", "what `info` says of it" },
  { "landmarks", "name and at_mm of each; of labels" },
  { "muscles", "name, side, label, origin and insertion of each; of labels" },
  { NULL },
};

const PlaVerb pla_verb_phantom = {
  .name = "phantom",
  .title = "Make Phantom",
  .summary = "makes a built-in phantom",
  .params = params,
  .results = results,
  .keeps = "phantom",
  .run = run,
};
