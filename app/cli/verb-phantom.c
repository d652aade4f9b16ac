/* `phantom`: the built-in phantoms. */
#include "anatomy/phantom/phantom.h"
#include "app/cli/cli-private.h"
#include "app/cli/describe.h"
#include "io/formats/format.h"
#include "io/formats/label-files.h"

#include <string.h>

static void
list_phantoms(PlaInvocation *inv)
{
  JsonBuilder *json = pla_invocation_json(inv);
  const PlaPhantomInfo *info;
  json_builder_set_member_name(json, "phantoms");
  json_builder_begin_array(json);
  for (int i = 0; (info = pla_phantom_get(i)); i++) {
    json_builder_begin_object(json);
    pla_json_text(json, "name", info->name);
    pla_json_text(json, "title", info->title);
    pla_json_text(json, "kind", info->kind == PLA_PHANTOM_LABELS ? "volume" : "mesh");
    pla_json_number(json, "default_spacing_mm", info->default_spacing_mm);
    json_builder_end_object(json);
    pla_say(inv, "%-20s %s (%g mm)", info->name, info->description, info->default_spacing_mm);
  }
  json_builder_end_array(json);
}

/* named points, muscles and joints: what a label volume cannot hold */
static void
describe_anatomy(PlaInvocation *inv, const PlaPhantom *phantom)
{
  JsonBuilder *json = pla_invocation_json(inv);
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
run_phantom(PlaInvocation *inv, PlaError *err)
{
  if (pla_invocation_has(inv, "list")) {
    list_phantoms(inv);
    return PLA_OK;
  }
  const char *name = pla_invocation_file(inv, 0), *out = pla_invocation_output(inv);
  if (!name || !out)
    return pla_fail(err, PLA_ERR_USAGE,
                    "name a phantom and an output: platysma-cli phantom head -o head.nii.gz "
                    "(--list shows them all)");
  PlaPhantom phantom = { 0 };
  PlaItem item = { 0 };
  const PlaFormat *format = NULL;
  const PlaPhantomInfo *info = pla_phantom_find(name);
  PlaWriteOptions opts = pla_write_options_default();
  PlaStatus st = PLA_OK;
  /* a file name that cannot hold it is refused before the work starts */
  if (info)
    st = pla_format_for_output(out,
                               info->kind == PLA_PHANTOM_LABELS ? PLA_KIND_VOLUME : PLA_KIND_MESH,
                               &format, err);
  if (st == PLA_OK)
    st = pla_phantom_make(name, pla_invocation_number(inv, "spacing-mm", 0.0),
                          pla_invocation_progress(inv), &phantom, err);
  if (st == PLA_OK && phantom.labels) {
    item.kind = PLA_KIND_VOLUME;
    item.volume = phantom.labels->volume;
    item.labels = phantom.labels->table;
  } else if (st == PLA_OK) {
    item.kind = PLA_KIND_MESH;
    item.mesh = phantom.mesh;
  }
  if (st == PLA_OK)
    st = format->write(out, &item, &opts, err);
  if (st == PLA_OK && phantom.labels)
    st = pla_label_sidecar_write(out, &phantom.labels->table, err);
  if (st == PLA_OK)
    st = pla_describe_item(inv, &item, err);
  if (st == PLA_OK && phantom.labels)
    describe_anatomy(inv, &phantom);
  pla_phantom_clear(&phantom);
  return st;
}

static const PlaOpt options[] = {
  { "list", 0, PLA_OPT_FLAG, NULL, "list the phantoms" },
  { "spacing-mm", 0, PLA_OPT_NUMBER, "H", "voxel or element size in mm", 0.001, 1000 },
  { NULL },
};

const PlaVerb pla_verb_phantom = {
  .name = "phantom",
  .args = "NAME -o OUT",
  .summary = "makes a built-in phantom",
  .description =
      "Makes procedural anatomy (head, tongue, arm, skin slab) or a test solid at any spacing, "
      "the\n"
      "same bytes every time.  Label phantoms are volumes with a .tsv of names beside them;\n"
      "solids and surfaces are meshes.",
  .example = "platysma-cli phantom head --spacing-mm 1 -o head.nii.gz",
  .max_files = 1,
  .options = options,
  .run = run_phantom,
};
