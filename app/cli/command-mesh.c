/* `mesh` from file to file. */
#include "app/cli/cli-private.h"
#include "app/verbs/verbs.h"

const PlaCommand pla_command_mesh = {
  .name = "mesh",
  .args = "INPUT --method NAME --cell-mm H -o OUT.vtu",
  .summary = "fills tissues or a surface with elements",
  .description =
      "INPUT is a label volume or a surface.  Tissues are separated by commas, labels of one\n"
      "tissue are joined by plus signs: 1+3,2.\n\n"
      "--method tets makes conforming tetrahedra.  Tissues that touch share faces; the cell\n"
      "field \"region\" holds the (first) label of each tissue.  Cells have the given size at\n"
      "every surface and up to 2^N times that size inside.  Detail finer than the cells is\n"
      "removed first.\n\n"
      "--method lattice embeds the surface in equal tetrahedra, one copy for each piece of\n"
      "material in a cell, so that separate parts stay separate.  INPUT may also be a mesh of\n"
      "tetrahedra, whose fields the elements inherit.\n\n"
      "--method carved cuts equal tetrahedra along the surface of the tissues, which keeps the\n"
      "accuracy of the scan at any cell size; see `body`, which chooses tissues by their names.\n\n"
      "--method embed embeds the surface in equal cubes; the surface may intersect itself.\n"
      "Where parts overlap there is a layer of cubes for each part, and the number of layers is\n"
      "checked against the winding number.\n\n"
      "Vertices that are interpolated from others, such as those of an embedded surface, list\n"
      "these in the fields \"bound_verts\" and \"bound_weights\".",
  .example = "platysma-cli mesh labels.nii.gz --method tets --label 1,2 --cell-mm 4 -o head.vtu",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .verb = &pla_verb_mesh,
  .run = pla_run_verb,
};
