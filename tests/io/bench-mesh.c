/* Times of every mesh format on a million tets (or their surface), and of the summary.
 *   bench_mesh [FOLDER]     (default: the current one) */
#include "io/formats/formats.h"
#include "tests/io/mesh-samples.h"

#include <glib.h>
#include <glib/gstdio.h>

typedef struct {
  const PlaFormat *format;
  const char *name;
  PlaWriteOptions opts;
  bool surface;
} Case;

int
main(int argc, char **argv)
{
  static const Case cases[] = {
    { &pla_format_vtu, "zlib.vtu", { 0 }, false },
    { &pla_format_vtu, "raw.vtu", { .uncompressed = true }, false },
    { &pla_format_vtu, "inline.vtu", { .inline_data = true }, false },
    { &pla_format_vtu, "text.vtu", { .text = true }, false },
    { &pla_format_vtk, "binary.vtk", { 0 }, false },
    { &pla_format_vtk, "text.vtk", { .text = true }, false },
    { &pla_format_gmsh, "binary.msh", { 0 }, false },
    { &pla_format_gmsh, "text.msh", { .text = true }, false },
    { &pla_format_gmsh, "text22.msh", { .text = true, .gmsh_version = 22 }, false },
    { &pla_format_tetgen, "text.node", { 0 }, false },
    { &pla_format_vtp, "zlib.vtp", { 0 }, true },
    { &pla_format_stl, "binary.stl", { 0 }, true },
    { &pla_format_stl, "text.stl", { .text = true }, true },
    { &pla_format_ply, "binary.ply", { 0 }, true },
    { &pla_format_ply, "text.ply", { .text = true }, true },
    { &pla_format_obj, "text.obj", { 0 }, true },
  };
  PlaMesh *solid = pla_sample_mesh(55, PLA_SAMPLE_TETS);
  PlaMesh *surface = pla_sample_mesh(100, PLA_SAMPLE_TRIS);
  PlaMeshSummary summary;
  for (int k = 0; k < 2; k++) {
    const PlaMesh *mesh = k ? surface : solid;
    gint64 start = g_get_monotonic_time();
    pla_mesh_summary(mesh, &summary, NULL);
    g_print("summary of %d tets, %d triangles: %.3f s\n", mesh->n_tets, mesh->n_tris,
            (double)(g_get_monotonic_time() - start) * 1e-6);
  }
  for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
    g_autofree char *path = g_build_filename(argc > 1 ? argv[1] : ".", cases[c].name, NULL);
    const PlaMesh *mesh = cases[c].surface ? surface : solid;
    gint64 start = g_get_monotonic_time();
    pla_mesh_write_sample(cases[c].format, path, mesh, &cases[c].opts);
    double write_s = (double)(g_get_monotonic_time() - start) * 1e-6;
    GStatBuf info;
    g_assert_cmpint(g_stat(path, &info), ==, 0);
    PlaItem item;
    PlaError err = { 0 };
    PlaReadOptions opts = pla_read_options_default();
    start = g_get_monotonic_time();
    if (pla_item_read(path, &opts, &item, &err) != PLA_OK)
      g_error("%s", err.message);
    double read_s = (double)(g_get_monotonic_time() - start) * 1e-6;
    g_print("%-12s %7.1f MB  write %6.3f s  read %6.3f s  %6.0f MB/s\n", cases[c].name,
            (double)info.st_size * 1e-6, write_s, read_s, (double)info.st_size * 1e-6 / read_s);
    pla_item_clear(&item);
    g_remove(path);
  }
  pla_mesh_free(solid);
  pla_mesh_free(surface);
  return 0;
}
