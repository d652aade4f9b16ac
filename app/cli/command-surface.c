/* `surface` from file to file. */
#include "app/cli/cli-private.h"
#include "app/verbs/verbs.h"

const PlaCommand pla_command_surface = {
  .name = "surface",
  .args = "LABELS --label ID -o SURF, or SURF --repair -o SURF",
  .summary = "makes the closed surface of a label, repairs an imported one",
  .description =
      "The surface passes between the centres of voxels inside and outside the label, as\n"
      "smoothly as that allows, and encloses the volume of the voxels.  Where the label reaches\n"
      "the end of the volume it is closed by flat triangles, marked in the cell field \"cap\" of\n"
      "formats that have fields.  Several labels, as in --label 1,2, give the surface of their\n"
      "union.\n\n"
      "A surface given instead of labels is checked.  With --repair it is closed first:\n"
      "vertices at the same position are welded, triangles are oriented consistently, holes are\n"
      "filled.",
  .example = "platysma-cli surface labels.nii.gz --label 1 --triangles 50000 -o skin.stl",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .verb = &pla_verb_surface,
  .run = pla_run_verb,
};
