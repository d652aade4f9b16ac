/* `phantom` into a file, and the list of them. */
#include "anatomy/phantom/phantom.h"
#include "app/cli/cli-private.h"
#include "app/verbs/verbs.h"

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
  /* a file name that cannot hold it is refused before the work starts */
  const PlaPhantomInfo *info = pla_phantom_find(name);
  const PlaFormat *format;
  PlaStatus st = PLA_OK;
  if (info)
    st = pla_format_for_output(out,
                               info->kind == PLA_PHANTOM_LABELS ? PLA_KIND_VOLUME : PLA_KIND_MESH,
                               &format, err);
  return st == PLA_OK ? pla_run_verb(inv, err) : st;
}

static const PlaOpt options[] = {
  { "list", 0, PLA_OPT_FLAG, NULL, "list the phantoms" },
  { NULL },
};

const PlaCommand pla_command_phantom = {
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
  .verb = &pla_verb_phantom,
  .run = run_phantom,
};
