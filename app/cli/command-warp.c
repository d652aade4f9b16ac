/* `warp` from file to file. */
#include "app/cli/cli-private.h"
#include "app/verbs/verbs.h"

const PlaCommand pla_command_warp = {
  .name = "warp",
  .args = "TEMPLATE --to LANDMARKS -o OUT",
  .summary = "carries a template onto a patient by landmarks",
  .description =
      "The template is a phantom with its landmarks and muscles, as in phantom:head, or labels\n"
      "or a mesh with --from.  Landmarks of the same name are paired.  The map is affine plus\n"
      "biharmonic and interpolates all landmarks, or approximates them with --relax-mm.  The\n"
      "report has the distance of each landmark from its prediction by all others, which\n"
      "reveals mistakes, and the range of volume changes, which reveals folds.",
  .example = "platysma-cli warp phantom:head --to patient.csv --muscles patient-muscles.json "
             "-o patient-labels.nii.gz",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .verb = &pla_verb_warp,
  .run = pla_run_verb,
};
