/* Which labels of a phantom are soft, and their mesh. */
#include "sim/bodies/phantom-flesh.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesher/pieces.h"
#include "anatomy/mesher/tets.h"
#include "anatomy/muscle/muscle.h"
#include "sim/material/presets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double
pla_phantom_flesh_cell_mm(const char *phantom)
{
  return strcmp(phantom, "tongue") == 0 ? 3.0 : strcmp(phantom, "arm") == 0 ? 7.0 : 5.0;
}

/* muscles, and every label whose tissue is known and not rigid */
static bool
is_soft(const PlaMuscleList *list, const PlaLabel *label)
{
  for (int m = 0; m < list->n; m++)
    if (list->muscle[m].label == label->id)
      return true;
  const PlaPreset *preset = pla_preset_find(label->name);
  return preset && !preset->rigid;
}

PlaStatus
pla_phantom_flesh_mesh(const char *phantom, double cell_mm, PlaProgress *progress, PlaMesh **out,
                       PlaError *err)
{
  const double smallest_piece = 0.05; /* of the tets of the largest */
  PlaPhantom made = { 0 };
  PlaMuscleList list = { 0 };
  PlaTetOptions opts = pla_tet_options_default();
  int *ids = NULL, n = 0;
  opts.cell_mm = cell_mm;
  opts.levels = 1;
  PlaStatus st = pla_phantom_make(phantom, fmin(2.0, 0.5 * cell_mm), NULL, &made, err);
  if (st == PLA_OK)
    st = pla_muscle_list_from_phantom(&made, &list, err);
  if (st == PLA_OK) {
    ids = pla_array_new((size_t)made.labels->table.n, sizeof *ids);
    st = ids ? PLA_OK : pla_fail_memory(err, "the mesh");
  }
  for (int i = 0; st == PLA_OK && i < made.labels->table.n; i++)
    if (is_soft(&list, &made.labels->table.label[i]))
      ids[n++] = made.labels->table.label[i].id;
  if (st == PLA_OK)
    st = pla_tets_from_labels(made.labels, ids, (const int[2]){ 0, n }, 1, &opts, progress, out,
                              NULL, err);
  if (st == PLA_OK)
    st = pla_mesh_keep_pieces(out, smallest_piece, 0, NULL, err);
  free(ids);
  pla_muscle_list_clear(&list);
  pla_phantom_clear(&made);
  return st;
}
