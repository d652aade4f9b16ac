/* `mesh`: volume meshes of labels and surfaces. */
#include "app/cli/cli-private.h"
#include "app/cli/labels-input.h"
#include "app/simulate/mesh-method.h"
#include "io/formats/format.h"

#include <glib.h>

static PlaStatus
describe(PlaInvocation *inv, const PlaMeshMethod *method, PlaMeshResult *result, double seconds,
         PlaError *err)
{
  JsonBuilder *json = pla_invocation_json(inv);
  const PlaMesh *mesh = result->mesh;
  PlaMeshSummary s;
  PlaStatus st = pla_mesh_summary(mesh, &s, err);
  if (st != PLA_OK)
    return st;
  pla_json_text(json, "method", method->name);
  pla_json_int(json, "vertices", mesh->n_verts);
  pla_json_int(json, "tets", mesh->n_tets);
  pla_json_int(json, "hexes", mesh->n_hexes);
  pla_json_number(json, "volume_mm3", s.volume_m3 * 1e9);
  pla_json_number(json, "min_dihedral_deg", s.min_dihedral_deg);
  pla_json_number(json, "max_dihedral_deg", s.max_dihedral_deg);
  pla_json_int(json, "inverted", s.inverted);
  pla_json_int(json, "components", s.components);
  pla_json_int(json, "duplicated_cells", result->duplicated_cells);
  pla_json_int(json, "winding_violations", result->winding_violations);
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  json_object_iter_init_ordered(&iter, result->found);
  while (json_object_iter_next_ordered(&iter, &key, &node)) {
    json_builder_set_member_name(json, key);
    json_builder_add_value(json, json_node_copy(node));
  }
  pla_json_number(json, "seconds", seconds);
  if (mesh->n_hexes > 0)
    pla_say(inv, "%d hexes, %d vertices, %d %s, %.3f ml", mesh->n_hexes, mesh->n_verts,
            s.components, s.components == 1 ? "piece" : "pieces", s.volume_m3 * 1e6);
  else
    pla_say(inv, "%d tets, %d vertices, %d %s, %.3f ml", mesh->n_tets, mesh->n_verts, s.components,
            s.components == 1 ? "piece" : "pieces", s.volume_m3 * 1e6);
  for (guint i = 0; i < result->lines->len; i++)
    pla_say(inv, "  %s", (const char *)g_ptr_array_index(result->lines, i));
  return PLA_OK;
}

static PlaStatus
read_options(PlaInvocation *inv, PlaMeshInput *input, const PlaMeshMethod **method, PlaError *err)
{
  *input = pla_mesh_input_default();
  input->cell_mm = pla_invocation_number(inv, "cell-mm", 0.0);
  input->levels = pla_invocation_int(inv, "levels", input->levels);
  input->smooth_mm = pla_invocation_number(inv, "smooth-mm", input->smooth_mm);
  input->round_mm = pla_invocation_number(inv, "round-mm", input->round_mm);
  input->coarsen = pla_invocation_int(inv, "coarsen", input->coarsen);
  input->as_tets = pla_invocation_has(inv, "as-tets");
  input->separate = pla_invocation_has(inv, "separate");
  if (!pla_invocation_has(inv, "method"))
    return pla_fail(err, PLA_ERR_USAGE, "name a method, such as --method tets");
  if (!pla_invocation_has(inv, "cell-mm"))
    return pla_fail(err, PLA_ERR_USAGE, "give the size of a cell: --cell-mm H");
  return pla_mesh_method_find(pla_invocation_text(inv, "method", 0, NULL), method, err);
}

/* the surface that --embed-surface names, if it does */
static PlaStatus
read_embedded(PlaInvocation *inv, PlaItem *item, PlaMeshInput *input, PlaError *err)
{
  const char *path = pla_invocation_text(inv, "embed-surface", 0, NULL);
  PlaReadOptions read = pla_read_options_default();
  read.progress = pla_invocation_progress(inv);
  if (!path)
    return PLA_OK;
  PlaStatus st = pla_item_read(path, &read, item, err);
  if (st != PLA_OK)
    return st;
  if (item->kind != PLA_KIND_MESH || item->mesh->n_tris == 0)
    return pla_fail(err, PLA_ERR_USAGE, "%s is no surface of triangles", path);
  input->embed_surface = item->mesh;
  return PLA_OK;
}

static PlaStatus
run_mesh(PlaInvocation *inv, PlaError *err)
{
  PlaMeshInput input;
  PlaMeshResult result;
  const PlaMeshMethod *method = NULL;
  PlaLabelMap *map = NULL;
  PlaMesh *surface = NULL;
  PlaItem embedded = { 0 };
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int));
  g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(int));
  PlaProgress *progress = pla_invocation_progress(inv);
  const PlaFormat *format;
  pla_mesh_result_init(&result);
  PlaStatus st = read_options(inv, &input, &method, err);
  if (st == PLA_OK)
    st = pla_format_for_output(pla_invocation_output(inv), PLA_KIND_MESH, &format, err);
  pla_progress_phase(progress, "Reading", 0.1);
  if (st == PLA_OK)
    st = pla_body_input_read(inv, &map, &surface, err);
  if (st == PLA_OK && surface && pla_invocation_has(inv, "label"))
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a surface: it has no labels, so leave --label out",
                  pla_invocation_file(inv, 0));
  if (st == PLA_OK && map)
    st = pla_labels_input_groups(inv, map, ids, first, err);
  if (st == PLA_OK)
    st = read_embedded(inv, &embedded, &input, err);
  pla_progress_phase(progress, "Meshing", 0.9);
  gint64 start = g_get_monotonic_time();
  if (st == PLA_OK) {
    PlaProgressSpan span = pla_progress_push(progress);
    input.labels = map;
    input.surface = surface;
    if (map) {
      input.ids = (const int *)(void *)ids->data;
      input.first = (const int *)(void *)first->data;
      input.n_groups = (int)first->len - 1;
    }
    st = pla_mesh_method_run(method, &input, progress, &result, err);
    pla_progress_pop(progress, span);
    if (st != PLA_OK && st != PLA_ERR_CANCELLED)
      pla_fail_within(err, "%s", pla_invocation_file(inv, 0));
  }
  double seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  pla_progress_phase(progress, "Writing", 1.0);
  if (st == PLA_OK) {
    PlaWriteOptions write = pla_write_options_default();
    write.progress = progress;
    const PlaItem item = { .kind = PLA_KIND_MESH, .mesh = result.mesh };
    st = pla_item_write(pla_invocation_output(inv), &item, &write, err);
  }
  if (st == PLA_OK)
    st = describe(inv, method, &result, seconds, err);
  pla_mesh_result_clear(&result);
  pla_item_clear(&embedded);
  pla_mesh_free(surface);
  pla_label_map_free(map);
  return st;
}

static const PlaOpt options[] = {
  { "method", 0, PLA_OPT_TEXT, "NAME", "tets, lattice or embed, as above" },
  { "cell-mm", 0, PLA_OPT_NUMBER, "H", "size of a cell, at the surface where cells differ, mm",
    0.01, 1000 },
  { "label", 0, PLA_OPT_TEXT, "IDS", "ids or names of tissues, as in 1,2+3 (default: all labels)" },
  { "levels", 0, PLA_OPT_INT, "N", "tets: doublings of the cell towards the inside (default: 3)", 0,
    8 },
  { "smooth-mm", 0, PLA_OPT_NUMBER, "S", "tets: detail to remove first (default: 0.35 H)", 0, 100 },
  { "round-mm", 0, PLA_OPT_NUMBER, "R",
    "tets, one tissue: remove parts and gaps into which a ball of R mm does not fit", 0, 100 },
  { "coarsen", 0, PLA_OPT_INT, "K",
    "embed: halve the resolution K times; lattice: doublings of the cell inside (default: 0)", 0,
    8 },
  { "separate", 0, PLA_OPT_FLAG, NULL, "lattice: tissues that touch stay disconnected" },
  { "as-tets", 0, PLA_OPT_FLAG, NULL, "embed: turn hexahedra into tetrahedra" },
  { "embed-surface", 0, PLA_OPT_TEXT, "SURF", "lattice, embed: the surface that the mesh carries" },
  { NULL },
};

const PlaVerb pla_verb_mesh = {
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
      "--method embed embeds the surface in equal cubes; the surface may intersect itself.\n"
      "Where parts overlap there is a layer of cubes for each part, and the number of layers is\n"
      "checked against the winding number.\n\n"
      "Vertices that are interpolated from others, such as those of an embedded surface, list\n"
      "these in the fields \"bound_verts\" and \"bound_weights\".",
  .example = "platysma-cli mesh labels.nii.gz --method tets --label 1,2 --cell-mm 4 -o head.vtu",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .options = options,
  .run = run_mesh,
};
