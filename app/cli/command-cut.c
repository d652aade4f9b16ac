/* `cut` from file to file. */
#include "app/cli/cli-private.h"
#include "app/verbs/verbs.h"

const PlaCommand pla_command_cut = {
  .name = "cut",
  .args = "MESH --blade SURF -o OUT.vtu",
  .summary = "cuts a tet mesh along triangulated surfaces",
  .description =
      "Tets are never divided: a tet that the blade separates is duplicated, once for each\n"
      "piece of material in it, so the mesh keeps its quality.  The cell field \"fraction\" is\n"
      "the share of a tet that is material, \"body\" the connected piece that it belongs to,\n"
      "\"source_tet\" the tet that it comes from; other fields are carried over.  A blade that\n"
      "ends inside a tet leaves it whole.  Blades may touch, cross and repeat each other, and\n"
      "may pass through vertices, edges and faces of the mesh; their order does not matter.",
  .example = "platysma-cli cut cheek.vtu --blade incision.stl -o cut.vtu --surface wound.vtp",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .verb = &pla_verb_cut,
  .run = pla_run_verb,
};
