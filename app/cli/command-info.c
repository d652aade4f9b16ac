/* `info`: describes any supported file. */
#include "app/case/session.h"
#include "app/cli/cli-private.h"
#include "io/formats/format.h"
#include "io/stream/source.h"

#include <glib.h>

/* every format with its endings, and whether it can be written */
static void
list_formats(PlaInvocation *inv)
{
  JsonBuilder *json = pla_invocation_json(inv);
  json_builder_set_member_name(json, "formats");
  json_builder_begin_array(json);
  for (const PlaFormat *const *f = pla_formats_get(); *f; f++) {
    g_autofree char *endings = g_strjoinv(" ", (char **)(*f)->extensions);
    json_builder_begin_object(json);
    pla_json_text(json, "id", (*f)->id);
    pla_json_text(json, "title", (*f)->title);
    pla_json_text(json, "kind", pla_kind_name((*f)->kind));
    pla_json_text(json, "endings", endings);
    pla_json_bool(json, "write", (*f)->write != NULL);
    json_builder_end_object(json);
    pla_say(inv, "%-10s %-30s %-10s %-5s %s", (*f)->id, (*f)->title, pla_kind_name((*f)->kind),
            (*f)->write ? "r/w" : "read", endings);
  }
  json_builder_end_array(json);
}

static PlaStatus
describe_case(PlaInvocation *inv, const char *path, PlaError *err)
{
  PlaCaseSummary sum;
  PlaStatus st = pla_case_summary(path, &sum, err);
  if (st != PLA_OK)
    return st;
  JsonBuilder *json = pla_invocation_json(inv);
  pla_json_text(json, "kind", "case");
  pla_json_text(json, "title", sum.title);
  pla_json_int(json, "volumes", sum.n_volumes);
  pla_json_int(json, "labels", sum.n_labels);
  pla_json_int(json, "meshes", sum.n_meshes);
  pla_json_int(json, "others", sum.n_other);
  pla_json_int(json, "operations", sum.n_operations);
  pla_json_int(json, "branches", sum.n_branches);
  pla_say(inv,
          "case '%s': %d volumes, %d label maps, %d meshes, %d others; %d operations on %d "
          "branches",
          sum.title, sum.n_volumes, sum.n_labels, sum.n_meshes, sum.n_other, sum.n_operations,
          sum.n_branches);
  pla_case_summary_clear(&sum);
  return PLA_OK;
}

static PlaStatus
run_info(PlaInvocation *inv, PlaError *err)
{
  if (pla_invocation_has(inv, "formats")) {
    list_formats(inv);
    return PLA_OK;
  }
  const char *path = pla_invocation_file(inv, 0);
  if (!path)
    return pla_fail(err, PLA_ERR_USAGE, "name a file, or give --formats");
  if (pla_session_is_case(path))
    return describe_case(inv, path, err);
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item = { 0 };
  opts.progress = pla_invocation_progress(inv);
  opts.series = pla_invocation_int(inv, "series", -1);
  PlaStatus st = pla_item_read(path, &opts, &item, err);
  if (st == PLA_OK)
    st = pla_invocation_describe(inv, &item, err);
  pla_item_clear(&item);
  return st;
}

static const PlaOpt options[] = {
  { "formats", 0, PLA_OPT_FLAG, NULL, "list the file formats that Platysma reads and writes" },
  { "series", 0, PLA_OPT_INT, "N", "which series of a DICOM folder, from 0", 0, 100000 },
  { NULL },
};

const PlaCommand pla_command_info = {
  .name = "info",
  .args = "FILE",
  .summary = "describes any supported file",
  .description =
      "Reads a volume, mesh, marker take, sensor track, sound, DICOM folder or case and reports\n"
      "its content: sizes, units, the axes of a volume and their source, labels, and everything\n"
      "that was repaired or assumed.",
  .example = "platysma-cli info head.nii.gz --json",
  .max_files = 1,
  .options = options,
  .run = run_info,
};
