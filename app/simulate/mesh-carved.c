/* Bodies carved out of a lattice: the surface is that of the scan, whatever the size of the cells.
 */
#include "anatomy/bodies/label-part.h"
#include "app/base/quantity.h"
#include "app/simulate/mesh-methods.h"
#include "sim/bodies/carved-mesh.h"
#include "sim/material/presets.h"

#include <glib/gi18n.h>

/* labels with the name of a rigid tissue that are not meshed hold what is (65536) */
static guint8 *
find_rigid(const PlaMeshInput *input)
{
  guint8 *rigid = g_new0(guint8, PLA_LABEL_IDS);
  for (int i = 0; i < input->labels->table.n; i++) {
    const PlaLabel *label = &input->labels->table.label[i];
    const PlaPreset *preset = pla_preset_find(label->name);
    rigid[label->id] = preset && preset->rigid;
  }
  for (int i = 0; i < input->first[input->n_groups]; i++)
    rigid[input->ids[i]] = 0;
  return rigid;
}

/* a tissue of several labels is one region, that of its first label */
static PlaStatus
join_groups(const PlaMeshInput *input, PlaMesh *mesh, PlaError *err)
{
  const PlaField *field = pla_mesh_find_field(mesh, "region", PLA_ON_CELLS);
  g_autofree int *of = g_new0(int, PLA_LABEL_IDS);
  int *region = field ? field->data : NULL;
  if (!region)
    return pla_fail_memory(err, "the regions of the body");
  for (int g = 0; g < input->n_groups; g++)
    for (int i = input->first[g]; i < input->first[g + 1]; i++)
      of[input->ids[i]] = input->ids[input->first[g]];
  for (size_t c = (size_t)mesh->n_tris; c < pla_mesh_n_cells(mesh); c++)
    region[c] = of[region[c]];
  return PLA_OK;
}

static void
describe(const PlaTissueLattice *made, const PlaMesh *mesh, PlaMeshResult *out)
{
  static const char *const borders[] = { "air", "cavity", "bone", "end" };
  int n[G_N_ELEMENTS(borders)] = { 0 };
  for (int t = 0; t < mesh->n_tris; t++)
    n[made->border[t]]++;
  out->duplicated_cells = 0;
  json_object_set_int_member(out->found, "surface_vertices", made->surface->n_verts);
  json_object_set_int_member(out->found, "surface_triangles", mesh->n_tris);
  json_object_set_int_member(out->found, "lattice_cells", made->lattice->n_tets);
  json_object_set_double_member(out->found, "skin_deviation_mm", made->deviation_mm);
  JsonObject *triangles = json_object_new();
  for (size_t b = 0; b < G_N_ELEMENTS(borders); b++)
    json_object_set_int_member(triangles, borders[b], n[b]);
  json_object_set_object_member(out->found, "border_triangles", triangles);
  g_autofree char *deviation =
      pla_quantity_text(PLA_QUANTITY_LENGTH, made->deviation_mm, PLA_UNIT_MM);
  g_ptr_array_add(out->lines,
                  g_strdup_printf("surface of %d triangles, at most %s from the skin of the scan",
                                  mesh->n_tris, deviation));
}

static PlaStatus
run(const PlaMeshInput *input, PlaProgress *progress, PlaMeshResult *out, PlaError *err)
{
  static const int one = 1;
  const PlaCellSizes sizes = { input->cell_mm, input->skin_cell_mm, input->skin_depth_mm };
  PlaTissueLattice made;
  PlaStatus st;
  if (input->coarsen > 0 || input->embed_surface || input->separate || input->as_tets)
    return pla_fail(err, PLA_ERR_USAGE,
                    "a carved body carries its own surface; leave out coarsen, embed-surface, "
                    "separate and as-tets");
  pla_progress_phase(progress, "Finding the surface", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  if (input->labels) {
    g_autofree guint8 *rigid = find_rigid(input);
    st = pla_tissue_lattice_init(&made, input->labels, input->ids, input->first[input->n_groups],
                                 rigid, &sizes, progress, err);
  } else {
    st = pla_tissue_lattice_from_surface(&made, input->surface, &sizes, err);
  }
  pla_progress_pop(progress, span);
  if (st != PLA_OK)
    return st;
  pla_progress_phase(progress, "Carving the body", 1.0);
  span = pla_progress_push(progress);
  st = pla_carved_mesh_new(&made, input->labels ? input->ids : &one, progress, &out->mesh, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK && input->labels)
    st = join_groups(input, out->mesh, err);
  if (st == PLA_OK)
    describe(&made, out->mesh, out);
  pla_tissue_lattice_clear(&made);
  return st;
}

const PlaMeshMethod pla_mesh_method_carved = {
  .name = "carved",
  .summary =
      "the surface at the accuracy of the scan, in equal tetrahedra that it is carved out of",
  .title = N_("Carved lattice"),
  .about = N_("The skin keeps the accuracy of the scan, whatever the size of the cells, which are "
              "filled in part at the border."),
  .takes_labels = true,
  .takes_surfaces = true,
  .run = run,
};
