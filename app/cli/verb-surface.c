/* `surface`: the closed surface of a label, or what there is to say of a surface, and its repair.
 */
#include "anatomy/levelset/levelset.h"
#include "anatomy/surface/repair.h"
#include "anatomy/surface/surface.h"
#include "app/cli/cli-private.h"
#include "app/cli/labels-input.h"
#include "io/formats/format.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static void
describe(PlaInvocation *inv, const PlaMesh *mesh, const PlaSurfaceReport *r, double seconds)
{
  JsonBuilder *json = pla_invocation_json(inv);
  pla_json_int(json, "vertices", mesh->n_verts);
  pla_json_int(json, "triangles", mesh->n_tris);
  pla_json_bool(json, "closed", r->closed);
  pla_json_int(json, "components", r->components);
  pla_json_int(json, "self_intersections", r->self_intersections);
  pla_json_int(json, "cap_triangles", r->cap_tris);
  pla_json_number(json, "volume_mm3", r->volume_mm3);
  pla_json_number(json, "label_volume_mm3", r->label_volume_mm3 > 0.0 ? r->label_volume_mm3 : NAN);
  pla_json_number(json, "decimation_mm", r->decimation_mm);
  if (pla_invocation_has(inv, "measure")) {
    pla_json_number(json, "interface_mm", r->interface_mm);
    pla_json_number(json, "interface_voxels", r->interface_voxels);
  }
  pla_json_number(json, "seconds", seconds);

  pla_say(inv, "%d triangles, %d vertices, %d %s, %s, %" G_GINT64_FORMAT " self-intersections",
          mesh->n_tris, mesh->n_verts, r->components, r->components == 1 ? "piece" : "pieces",
          r->closed ? "closed" : "open", r->self_intersections);
  if (!(r->label_volume_mm3 > 0.0))
    pla_say(inv, "  volume %.3f ml", r->volume_mm3 / 1000.0);
  else
    pla_say(inv, "  volume %.3f ml, of the voxels %.3f ml (%+.2f %%)", r->volume_mm3 / 1000.0,
            r->label_volume_mm3 / 1000.0, 100.0 * (r->volume_mm3 / r->label_volume_mm3 - 1.0));
  if (r->cap_tris > 0)
    pla_say(inv, "  %d triangles close it where the volume ends (cell field \"%s\")", r->cap_tris,
            PLA_SURFACE_CAP);
  if (r->decimation_mm > 0.0)
    pla_say(inv, "  decimation moved it by at most %.3f mm", r->decimation_mm);
  if (pla_invocation_has(inv, "measure"))
    pla_say(inv, "  at most %.3f mm, %.3f voxels, from the voxel faces", r->interface_mm,
            r->interface_voxels);
}

static void
describe_repair(PlaInvocation *inv, const PlaRepairReport *r)
{
  JsonBuilder *json = pla_invocation_json(inv);
  pla_json_int(json, "welded_vertices", r->welded_verts);
  pla_json_int(json, "dropped_triangles", r->dropped_tris);
  pla_json_int(json, "turned_triangles", r->turned_tris);
  pla_json_int(json, "filled_holes", r->filled_holes);
  pla_json_int(json, "new_triangles", r->new_tris);
  pla_json_int(json, "crowded_edges", r->crowded_edges);
  pla_say(inv,
          "  repaired: %d vertices welded, %d triangles dropped, %d turned, %d holes filled by %d",
          r->welded_verts, r->dropped_tris, r->turned_tris, r->filled_holes, r->new_tris);
  if (r->crowded_edges > 0)
    pla_say(inv, "  %d edges have more than two triangles", r->crowded_edges);
}

/* an imported surface: repaired and decimated where asked for, and checked */
static PlaStatus
process(PlaInvocation *inv, PlaMesh **mesh, const PlaSurfaceOptions *opts, PlaSurfaceReport *report,
        PlaRepairReport *repair, PlaError *err)
{
  PlaProgress *progress = pla_invocation_progress(inv);
  PlaStatus st = PLA_OK;
  PlaMesh *next = NULL;
  if ((*mesh)->n_tris == 0 || (*mesh)->n_tets > 0 || (*mesh)->n_hexes > 0)
    return pla_fail(err, PLA_ERR_USAGE, "it is no surface of triangles");
  if (pla_invocation_has(inv, "label") || pla_invocation_has(inv, "measure") ||
      pla_invocation_has(inv, "distance") || opts->smooth_mm > 0.0)
    return pla_fail(
        err, PLA_ERR_USAGE,
        "it is a surface already; --label, --smooth-mm, --measure and --distance are for "
        "label volumes");
  if (pla_invocation_has(inv, "repair")) {
    st = pla_surface_repair(*mesh, progress, &next, repair, err);
    if (st == PLA_OK) {
      pla_mesh_free(*mesh);
      *mesh = next;
    }
  }
  if (st == PLA_OK && opts->n_tris > 0 && opts->n_tris < (*mesh)->n_tris) {
    st = pla_surface_decimate(*mesh, opts->n_tris, progress, &next, &report->decimation_mm, err);
    if (st == PLA_OK) {
      pla_mesh_free(*mesh);
      *mesh = next;
    }
  }
  return st == PLA_OK ? pla_surface_check(*mesh, progress, report, err) : st;
}

/* the distance from that surface at every voxel of @map, in mm, negative inside, as a volume */
static PlaStatus
write_distance(PlaInvocation *inv, const PlaLabelMap *map, const GArray *ids, double smooth_mm,
               const char *path, PlaError *err)
{
  PlaLabelLevelSetOptions opts = pla_label_levelset_options_default();
  PlaProgress *progress = pla_invocation_progress(inv);
  PlaLevelSet *ls = NULL;
  PlaVolume *vol = NULL;
  opts.smooth_mm = smooth_mm;
  opts.band_mm = INFINITY;
  opts.margin_mm = INFINITY;
  PlaStatus st = pla_levelset_from_labels(map, (const int *)(const void *)ids->data, (int)ids->len,
                                          &opts, progress, &ls, NULL, err);
  if (st == PLA_OK)
    st = pla_volume_new((const int[4]){ ls->dims[0], ls->dims[1], ls->dims[2], 1 }, PLA_F32, &vol,
                        err);
  if (st == PLA_OK) {
    memcpy(vol->affine_mm, ls->affine_mm, sizeof vol->affine_mm);
    memcpy(vol->voxels, ls->phi_mm, pla_levelset_n_voxels(ls) * sizeof *ls->phi_mm);
    PlaWriteOptions write = pla_write_options_default();
    const PlaItem item = { .kind = PLA_KIND_VOLUME, .volume = vol };
    write.progress = progress;
    st = pla_item_write(path, &item, &write, err);
  }
  pla_volume_free(vol);
  pla_levelset_free(ls);
  return st;
}

static PlaStatus
run_surface(PlaInvocation *inv, PlaError *err)
{
  PlaSurfaceOptions opts = pla_surface_options_default();
  PlaSurfaceReport report = { 0 };
  PlaRepairReport repair = { 0 };
  PlaLabelMap *map = NULL;
  PlaMesh *mesh = NULL;
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int));
  PlaProgress *progress = pla_invocation_progress(inv);
  const PlaFormat *format;
  const char *distance = pla_invocation_text(inv, "distance", 0, NULL);
  opts.smooth_mm = pla_invocation_number(inv, "smooth-mm", 0.0);
  opts.n_tris = pla_invocation_int(inv, "triangles", 0);
  opts.measure = pla_invocation_has(inv, "measure");
  PlaStatus st = pla_format_for_output(pla_invocation_output(inv), PLA_KIND_MESH, &format, err);
  if (st == PLA_OK && distance)
    st = pla_format_for_output(distance, PLA_KIND_VOLUME, &format, err);
  pla_progress_phase(progress, "Reading", 0.1);
  if (st == PLA_OK)
    st = pla_body_input_read(inv, &map, &mesh, err);
  if (st == PLA_OK && map && !pla_invocation_has(inv, "label"))
    st = pla_fail(err, PLA_ERR_USAGE, "name a label: --label ID, or --label NAME");
  if (st == PLA_OK && map && pla_invocation_has(inv, "repair"))
    st = pla_fail(err, PLA_ERR_USAGE, "surfaces of labels need no --repair");
  if (st == PLA_OK && map)
    st = pla_labels_input_ids(inv, map, ids, err);
  pla_progress_phase(progress, "Making the surface", 0.9);
  gint64 start = g_get_monotonic_time();
  if (st == PLA_OK) {
    PlaProgressSpan span = pla_progress_push(progress);
    if (map)
      st = pla_surface_from_labels(map, (const int *)(void *)ids->data, (int)ids->len, &opts,
                                   progress, &mesh, &report, err);
    else
      st = process(inv, &mesh, &opts, &report, &repair, err);
    pla_progress_pop(progress, span);
    if (st != PLA_OK && st != PLA_ERR_CANCELLED)
      pla_fail_within(err, "%s", pla_invocation_file(inv, 0));
  }
  if (st == PLA_OK && distance)
    st = write_distance(inv, map, ids, opts.smooth_mm, distance, err);
  double seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  pla_progress_phase(progress, "Writing", 1.0);
  if (st == PLA_OK) {
    PlaWriteOptions write = pla_write_options_default();
    write.progress = progress;
    const PlaItem item = { .kind = PLA_KIND_MESH, .mesh = mesh };
    st = pla_item_write(pla_invocation_output(inv), &item, &write, err);
  }
  if (st == PLA_OK)
    describe(inv, mesh, &report, seconds);
  if (st == PLA_OK && pla_invocation_has(inv, "repair"))
    describe_repair(inv, &repair);
  pla_mesh_free(mesh);
  pla_label_map_free(map);
  return st;
}

static const PlaOpt options[] = {
  { "label", 0, PLA_OPT_TEXT, "IDS", "ids or names of the tissues, separated by commas" },
  { "smooth-mm", 0, PLA_OPT_NUMBER, "S", "also remove detail finer than S mm (default: 0)", 0,
    100 },
  { "triangles", 0, PLA_OPT_INT, "N", "reduce to N triangles (default: all)", 4, 500000000 },
  { "repair", 0, PLA_OPT_FLAG, NULL, "weld, orient and close an imported surface" },
  { "measure", 0, PLA_OPT_FLAG, NULL, "also measure how far it is from the voxel faces" },
  { "distance", 0, PLA_OPT_OUTPUT, "VOLUME",
    "also write the distance from it, mm, negative inside, as a volume" },
  { NULL },
};

const PlaVerb pla_verb_surface = {
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
  .options = options,
  .run = run_surface,
};
