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
  .options = reading,
  .verb = &pla_verb_segment,
  .run = pla_run_verb,
};
