/* `register` from file to file. */
#include "app/cli/cli-private.h"
#include "app/verbs/verbs.h"

const PlaCommand pla_command_register = {
  .name = "register",
  .args = "FIXED MOVING [-o MOVED]",
  .summary = "finds the rigid motion that aligns two volumes, surfaces or sets of points",
  .description =
      "Volumes are aligned by mutual information (CT and MR, before and after), surfaces by\n"
      "nearest points, and with --landmarks tables of points or frames of markers by their\n"
      "names; outliers are found and left out.  matrix_mm maps MOVING into the frame of FIXED;\n"
      "-o writes the result (a volume keeps its voxels and gets another frame).  Shapes that\n"
      "leave a motion undetermined, such as balls and plates, are refused.",
  .example = "platysma-cli register ct.nii.gz mr.nii.gz -o mr-on-ct.nii.gz",
  .min_files = 2,
  .max_files = 2,
  .verb = &pla_verb_register,
  .run = pla_run_verb,
};
