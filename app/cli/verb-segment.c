/* `segment`: a label map from an image volume, by a preset or a range of values. */
#include "anatomy/segment/segment.h"
#include "app/cli/cli-private.h"
#include "app/cli/describe.h"
#include "io/formats/format.h"
#include "io/formats/label-files.h"

#include <glib.h>

/* reads the options; PLA_ERR_USAGE for combinations that make no sense */
static PlaStatus
parse_options(PlaInvocation *inv, PlaSegmentOptions *opts, PlaError *err)
{
  double range[2];
  bool has_range = pla_invocation_range(inv, "threshold", range);
  *opts = pla_segment_options_default();
  opts->preset = pla_invocation_text(inv, "preset", 0, NULL);
  if (!opts->preset == !has_range)
    return pla_fail(err, PLA_ERR_USAGE,
                    opts->preset ? "give either --preset or --threshold, not both"
                                 : "choose what to label: --preset ct-head, or --threshold LO HI");
  if (opts->preset && (pla_invocation_has(inv, "label") || pla_invocation_has(inv, "name")))
    return pla_fail(err, PLA_ERR_USAGE,
                    "--label and --name go with --threshold; the preset %s has its own labels",
                    opts->preset);
  if (has_range) {
    opts->lo = range[0];
    opts->hi = range[1];
  }
  const int connectivity = pla_invocation_int(inv, "connectivity", PLA_CONNECT_CORNERS);
  if (connectivity != 6 && connectivity != 18 && connectivity != 26)
    return pla_fail(err, PLA_ERR_USAGE, "--connectivity is 6, 18 or 26, not %d", connectivity);
  opts->connectivity = (PlaConnectivity)connectivity;
  opts->label = pla_invocation_int(inv, "label", 1);
  opts->name = pla_invocation_text(inv, "name", 0, NULL);
  opts->frame = pla_invocation_int(inv, "frame", 0);
  opts->open_mm = pla_invocation_number(inv, "open-mm", 0.0);
  opts->close_mm = pla_invocation_number(inv, "close-mm", 0.0);
  opts->largest = pla_invocation_has(inv, "largest");
  opts->fill_holes = pla_invocation_has(inv, "fill-holes");
  opts->fill_slices = pla_invocation_has(inv, "fill-slices");
  return PLA_OK;
}

static PlaStatus
read_volume(PlaInvocation *inv, PlaItem *item, PlaError *err)
{
  const char *path = pla_invocation_file(inv, 0);
  PlaReadOptions read = pla_read_options_default();
  read.progress = pla_invocation_progress(inv);
  read.series = pla_invocation_int(inv, "series", -1);
  PlaStatus st = pla_item_read(path, &read, item, err);
  if (st == PLA_OK && item->kind != PLA_KIND_VOLUME)
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a %s; segment needs an image volume", path,
                  pla_kind_name(item->kind));
  for (int i = 0; st == PLA_OK && i < item->notes.n; i++)
    pla_say(inv, "note: %s", item->notes.text[i]);
  return st;
}

/* the labels, and their names and colours beside them */
static PlaStatus
write_labels(PlaInvocation *inv, const PlaLabelMap *map, PlaError *err)
{
  const char *path = pla_invocation_output(inv);
  PlaWriteOptions write = pla_write_options_default();
  write.progress = pla_invocation_progress(inv);
  const PlaItem item = { .kind = PLA_KIND_VOLUME, .volume = map->volume, .labels = map->table };
  PlaStatus st = pla_item_write(path, &item, &write, err);
  return st == PLA_OK ? pla_label_sidecar_write(path, &map->table, err) : st;
}

static PlaStatus
run_segment(PlaInvocation *inv, PlaError *err)
{
  PlaSegmentOptions opts;
  PlaSegmentReport report = { 0 };
  PlaItem item = { 0 };
  PlaLabelMap *map = NULL;
  const PlaFormat *format;
  PlaProgress *progress = pla_invocation_progress(inv);
  PlaStatus st = parse_options(inv, &opts, err);
  if (st == PLA_OK)
    st = pla_format_for_output(pla_invocation_output(inv), PLA_KIND_VOLUME, &format, err);
  pla_progress_phase(progress, "Reading", 0.2);
  if (st == PLA_OK)
    st = read_volume(inv, &item, err);
  pla_progress_phase(progress, "Segmenting", 0.8);
  if (st == PLA_OK) {
    PlaProgressSpan span = pla_progress_push(progress);
    st = pla_segment(item.volume, &opts, progress, &map, &report, err);
    pla_progress_pop(progress, span);
    if (st != PLA_OK && st != PLA_ERR_CANCELLED)
      pla_fail_within(err, "%s", pla_invocation_file(inv, 0));
  }
  pla_item_clear(&item);
  pla_progress_phase(progress, "Writing", 1.0);
  if (st == PLA_OK)
    st = write_labels(inv, map, err);
  if (st == PLA_OK)
    st = pla_describe_labels(inv, map, err);
  if (st == PLA_OK) {
    JsonBuilder *json = pla_invocation_json(inv);
    pla_json_int(json, "components", report.n_components);
    pla_say(inv, "  %d connected %s", report.n_components,
            report.n_components == 1 ? "region" : "regions");
    if (opts.preset) {
      pla_json_text(json, "preset", opts.preset);
      pla_json_number(json, "hull_volume_mm3", report.hull_mm3);
      pla_json_number(json, "removed_volume_mm3", report.removed_mm3);
      pla_say(inv,
              "  whole body with its cavities: %.3f ml; head-rest and the like left out: %.3f ml",
              report.hull_mm3 / 1000.0, report.removed_mm3 / 1000.0);
    }
  }
  pla_label_map_free(map);
  return st;
}

static const PlaOpt options[] = {
  { "preset", 0, PLA_OPT_TEXT, "NAME", "a kind of scan: ct-head (soft tissue, bone, airway)" },
  { "threshold", 0, PLA_OPT_RANGE, "LO HI", "values to label, both included (HU in a CT)" },
  { "label", 0, PLA_OPT_INT, "ID", "id of that label (default: 1)", 1, 65535 },
  { "name", 0, PLA_OPT_TEXT, "TEXT", "its name (default: \"label ID\")" },
  { "open-mm", 0, PLA_OPT_NUMBER, "R", "remove parts into which a ball of R mm does not fit", 0,
    1000 },
  { "close-mm", 0, PLA_OPT_NUMBER, "R", "then close gaps into which it does not fit", 0, 1000 },
  { "largest", 0, PLA_OPT_FLAG, NULL, "then keep the largest connected region" },
  { "fill-holes", 0, PLA_OPT_FLAG, NULL,
    "then fill holes that are not connected to the volume's border" },
  { "fill-slices", 0, PLA_OPT_FLAG, NULL, "also fill holes of each axial slice" },
  { "connectivity", 0, PLA_OPT_INT, "N", "voxels touch by 6, 18 or 26 neighbours (default: 26)", 6,
    26 },
  { "frame", 0, PLA_OPT_INT, "N", "which frame of a 4-D volume, from 0 (default: 0)", 0, 1000000 },
  { "series", 0, PLA_OPT_INT, "N", "which series of a DICOM folder, from 0", 0, 100000 },
  { NULL },
};

const PlaVerb pla_verb_segment = {
  .name = "segment",
  .args = "VOLUME -o LABELS (--preset NAME | --threshold LO HI --label ID)",
  .summary = "labels tissues by a preset, or by threshold, components and morphology",
  .description =
      "Writes a label volume in the frame of VOLUME, bit for bit, with names and colours in a "
      ".tsv\n"
      "beside it.  The preset ct-head finds soft tissue (1), bone (2) and airway (3) in a head CT "
      "in\n"
      "Hounsfield units; head-rest and table are left out, and the slice where the scan cuts the\n"
      "neck counts as closed.  A threshold gives one label, cleaned in the order of the options\n"
      "below; balls are true balls in millimetres, on anisotropic and sheared grids too.",
  .example = "platysma-cli segment head.nii.gz --preset ct-head -o labels.nii.gz",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .options = options,
  .run = run_segment,
};
