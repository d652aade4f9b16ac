/* `body` from file to file. */
#include "app/cli/cli-private.h"
#include "app/verbs/verbs.h"

const PlaCommand pla_command_body = {
  .name = "body",
  .args = "LABELS -o BODY.vtu",
  .summary = "makes a body of soft tissue: its surface as in the scan, cells, tissues and borders",
  .description =
      "The closed surface of the tissues stays within half a voxel of the skin in the scan,\n"
      "whatever the size of the cells.  Equal tetrahedra cover it; those at the border are\n"
      "filled in part (cell field \"fraction\"), and there is one copy of a cell for each piece "
      "of\n"
      "material in it, so that parts that only touch, such as lips, stay apart.  \"region\" is "
      "the\n"
      "label of the tissue that fills most of a cell.  The vertices of the surface follow the\n"
      "cells (\"bound_verts\", \"bound_weights\").\n\n"
      "The cell field \"border\" of a triangle is 0 at the skin, 1 at a cavity, 2 at bone and 3\n"
      "at the end of the scan.  A scene of `simulate` holds the body there:\n"
      "  \"constraints\": [{\"where\": {\"border\": \"bone\"}, \"fix\": \"xyz\"}]\n"
      "Labels with the name of a bone or tooth hold the tissue that they touch.",
  .example = "platysma-cli body labels.nii.gz --cell-mm 4 -o head.vtu",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .verb = &pla_verb_body,
  .run = pla_run_verb,
};
