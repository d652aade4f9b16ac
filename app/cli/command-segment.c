/* `segment` from file to file. */
#include "app/cli/cli-private.h"
#include "app/verbs/verbs.h"

static const PlaOpt reading[] = {
  { "series", 0, PLA_OPT_INT, "N", "which series of a DICOM folder, from 0", 0, 100000 },
  { NULL },
};

const PlaCommand pla_command_segment = {
  .name = "segment",
  .args = "VOLUME -o LABELS (--preset NAME | --threshold LO HI --label ID)",
  .summary = "labels tissues by a preset, or by threshold, components and morphology",
  .description =
      "Writes a label volume with exactly the frame of VOLUME, and names and colours in a .tsv\n"
      "beside it.  The preset ct-head finds soft tissue (1), bone (2) and airway (3) in a head\n"
      "CT in Hounsfield units.  Head-rest and table are left out, and the slice where the scan\n"
      "cuts the neck counts as closed.  A threshold gives one label, cleaned in the order of\n"
      "the options below.  Radii are distances in mm, also on anisotropic and sheared grids.",
  .example = "platysma-cli segment head.nii.gz --preset ct-head -o labels.nii.gz",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .options = reading,
  .verb = &pla_verb_segment,
  .run = pla_run_verb,
};
