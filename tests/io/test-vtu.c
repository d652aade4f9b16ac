/* VTU and VTP in every flavour: there and back, odd cells, bad files. */
#include "anatomy/base/parallel.h"
#include "io/formats/formats.h"
#include "io/formats/pvd.h"
#include "io/stream/base64.h"
#include "tests/io/fuzz.h"
#include "tests/io/mesh-samples.h"

#include <glib.h>
#include <string.h>

static const PlaWriteOptions flavours[] = {
  { 0 },
  { .uncompressed = true },
  { .big_endian = true },
  { .uncompressed = true, .big_endian = true },
  { .inline_data = true },
  { .inline_data = true, .uncompressed = true },
  { .inline_data = true, .big_endian = true },
  { .text = true },
};

/* everything a mesh can hold comes back bit for bit; 64-bit coordinates within 2 ulp */
static void
test_round_trip(void)
{
  for (size_t f = 0; f < G_N_ELEMENTS(flavours); f++)
    for (unsigned single = 0; single < 2; single++) {
      unsigned parts = PLA_SAMPLE_FIELDS | single * PLA_SAMPLE_SINGLE;
      PlaMesh *solid =
          pla_sample_mesh(3, parts | PLA_SAMPLE_TRIS | PLA_SAMPLE_TETS | PLA_SAMPLE_HEXES);
      PlaItem back = pla_mesh_round_trip(&pla_format_vtu, "a.vtu", solid, &flavours[f]);
      pla_assert_same_geometry(solid, back.mesh, single ? 0 : 2);
      pla_assert_same_fields(solid, back.mesh);
      g_assert_cmpint(back.mesh->single, ==, single);
      g_assert_cmpint(back.notes.n, ==, 0);
      pla_item_clear(&back);
      pla_mesh_free(solid);

      PlaMesh *surface = pla_sample_mesh(4, parts | PLA_SAMPLE_TRIS);
      back = pla_mesh_round_trip(&pla_format_vtp, "a.vtp", surface, &flavours[f]);
      pla_assert_same_geometry(surface, back.mesh, single ? 0 : 2);
      pla_assert_same_fields(surface, back.mesh);
      pla_item_clear(&back);
      pla_mesh_free(surface);
    }
}

/* a mesh of several blocks of every array, and of nothing at all */
static void
test_sizes(void)
{
  PlaMesh *large = pla_sample_mesh(24, PLA_SAMPLE_TETS);
  for (size_t f = 0; f < G_N_ELEMENTS(flavours) - 1; f++) {
    PlaItem back = pla_mesh_round_trip(&pla_format_vtu, "large.vtu", large, &flavours[f]);
    pla_assert_same_geometry(large, back.mesh, 2);
    pla_item_clear(&back);
  }
  pla_mesh_free(large);
  PlaMesh *none;
  g_assert_cmpint(pla_mesh_new(0, 0, 0, 0, &none, NULL), ==, PLA_OK);
  g_assert_nonnull(pla_mesh_add_field(none, "u", PLA_ON_VERTS, PLA_F32, 3));
  for (size_t f = 0; f < G_N_ELEMENTS(flavours); f++) {
    PlaItem back = pla_mesh_round_trip(&pla_format_vtu, "none.vtu", none, &flavours[f]);
    pla_assert_same_geometry(none, back.mesh, 0);
    pla_item_clear(&back);
    back = pla_mesh_round_trip(&pla_format_vtp, "none.vtp", none, &flavours[f]);
    pla_assert_same_geometry(none, back.mesh, 0);
    pla_item_clear(&back);
  }
  pla_mesh_free(none);
}

/* the bytes do not depend on the number of threads */
static void
test_threads(void)
{
  PlaMesh *mesh = pla_sample_mesh(24, PLA_SAMPLE_TETS | PLA_SAMPLE_FIELDS);
  char *data[2];
  gsize size[2];
  for (int k = 0; k < 2; k++) {
    g_autofree char *path = pla_test_path("threads.vtu");
    pla_threads_set(k ? 4 : 1);
    pla_mesh_write_sample(&pla_format_vtu, path, mesh, NULL);
    g_assert_true(g_file_get_contents(path, &data[k], &size[k], NULL));
  }
  g_assert_cmpmem(data[0], size[0], data[1], size[1]);
  g_free(data[0]);
  g_free(data[1]);
  pla_mesh_free(mesh);
}

#define POINTS_9                                                                                   \
  "<Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">"                 \
  "0 0 0 1 0 0 1 1 0 0 1 0 0 0 1 1 0 1 1 1 1 0 1 1 2 2 2</DataArray></Points>"
#define GRID(n_cells, connectivity, offsets, types, data)                                          \
  "<VTKFile type=\"UnstructuredGrid\"><UnstructuredGrid><Piece NumberOfPoints=\"9\" "              \
  "NumberOfCells=\"" n_cells "\">" POINTS_9 "<Cells><DataArray type=\"Int64\" "                    \
  "Name=\"connectivity\">" connectivity                                                            \
  "</DataArray><DataArray type=\"Int32\" Name=\"offsets\">" offsets                                \
  "</DataArray><DataArray type=\"UInt8\" Name=\"types\">" types "</DataArray></Cells>"             \
  "<CellData>" data "</CellData></Piece></UnstructuredGrid></VTKFile>"

/* vertex, line, quad, voxel, tet, reversed hex, strip: split, skipped, repaired, fields in step */
static void
test_odd_cells(void)
{
  const char *text =
      GRID("7", "8  0 1  0 1 2 3  0 1 3 2 4 5 7 6  0 1 2 4  4 5 6 7 0 1 2 3  0 1 3 2",
           "1 3 7 15 19 27 31", "1 3 9 11 10 12 6",
           "<DataArray type=\"Int16\" Name=\"id\">10 11 12 13 14 15 16</DataArray>"
           "<DataArray type=\"Float32\" Name=\"id\">0 1 2 3 4 5 6</DataArray>");
  PlaItem item;
  PlaError err = { 0 };
  PlaStatus st = pla_read_text(&pla_format_vtu, "odd.vtu", text, strlen(text), &item, &err);
  g_assert_cmpstr(err.message, ==, "");
  g_assert_cmpint(st, ==, PLA_OK);
  const PlaMesh *m = item.mesh;
  g_assert_cmpint(m->n_tris, ==, 4);
  g_assert_cmpint(m->n_tets, ==, 1);
  g_assert_cmpint(m->n_hexes, ==, 2);
  const int tris[] = { 0, 1, 2, 0, 2, 3, 0, 1, 3, 1, 2, 3 };
  g_assert_cmpmem(m->tri, sizeof tris, tris, sizeof tris);
  const int hexes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7 };
  g_assert_cmpmem(m->hex, sizeof hexes, hexes, sizeof hexes);
  const int16_t ids[] = { 12, 12, 16, 16, 14, 13, 15 };
  g_assert_cmpmem(pla_mesh_find_field(m, "id", PLA_ON_CELLS)->data, sizeof ids, ids, sizeof ids);
  const float twice[] = { 2, 2, 6, 6, 4, 3, 5 };
  g_assert_cmpmem(pla_mesh_find_field(m, "id (2)", PLA_ON_CELLS)->data, sizeof twice, twice,
                  sizeof twice);
  pla_assert_note(&item, "point cells");
  pla_assert_note(&item, "lines");
  pla_assert_note(&item, "polygons");
  pla_assert_note(&item, "voxels");
  pla_assert_note(&item, "reversed");
  pla_assert_note(&item, "id (2)");
  pla_item_clear(&item);
}

static void
test_inverted_tets(void)
{
  const char *text = GRID("2", "0 1 2 4 0 2 1 4", "4 8", "10 10", "");
  PlaItem item;
  g_assert_cmpint(pla_read_text(&pla_format_vtu, "inv.vtu", text, strlen(text), &item, NULL), ==,
                  PLA_OK);
  const int tets[] = { 0, 1, 2, 4, 0, 2, 1, 4 };
  g_assert_cmpmem(item.mesh->tet, sizeof tets, tets, sizeof tets);
  pla_assert_note(&item, "1 cells are inverted");
  pla_item_clear(&item);
}

static void
test_refusals(void)
{
  const PlaFormat *vtu = &pla_format_vtu;
  pla_assert_refused(vtu, "x.vtu", GRID("1", "0 1 2 3 4 5", "6", "13", ""), "wedge");
  pla_assert_refused(vtu, "x.vtu", GRID("1", "0 1 2 3 4", "5", "14", ""), "pyramid");
  pla_assert_refused(vtu, "x.vtu", GRID("1", "0 1 2 9", "4", "10", ""), "vertex 9");
  pla_assert_refused(vtu, "x.vtu", GRID("1", "0 1 2 -1", "4", "10", ""), "vertex -1");
  pla_assert_refused(vtu, "x.vtu", GRID("1", "0 1 2 3", "5", "10", ""), "ends after");
  pla_assert_refused(vtu, "x.vtu", GRID("2", "0 1 2 3 0 1 2 3", "4 3", "10 10", ""), "offset");
  pla_assert_refused(vtu, "x.vtu", GRID("1", "0 1 2 x", "4", "10", ""), "line 1");
  pla_assert_refused(vtu, "x.vtu", GRID("1", "0 1 2", "3", "300", ""), "uint8");
  pla_assert_refused(vtu, "x.vtu", GRID("99999999999999", "0", "1", "1", ""), "more than");
  pla_assert_refused(vtu, "x.vtu", "<VTKFile type=\"PUnstructuredGrid\"></VTKFile>", "parts");
  pla_assert_refused(vtu, "x.vtu", "<VTKFile type=\"ImageData\"></VTKFile>", "ImageData");
  pla_assert_refused(vtu, "x.vtu",
                     "<VTKFile type=\"PolyData\" compressor=\"vtkLZ4DataCompressor\"></VTKFile>",
                     "LZ4");
  pla_assert_refused(vtu, "x.vtu", "<VTKFile type=\"PolyData\"><A></B></VTKFile>", "closes");
  pla_assert_refused(vtu, "x.vtu", "<VTKFile type=\"PolyData\"><A a=\"&foo;\"/></VTKFile>",
                     "attributes");
  pla_assert_refused(vtu, "x.vtu", "<!DOCTYPE a [<!ENTITY x \"y\">]><VTKFile/>", "document type");

  /* solids do not fit a surface file */
  PlaMesh *solid = pla_sample_mesh(1, PLA_SAMPLE_TETS);
  PlaItem item = { .kind = PLA_KIND_MESH, .mesh = solid };
  PlaWriteOptions opts = pla_write_options_default();
  PlaError err = { 0 };
  g_autofree char *path = pla_test_path("solid.vtp");
  g_assert_cmpint(pla_item_write(path, &item, &opts, &err), ==, PLA_ERR_UNSUPPORTED);
  g_assert_nonnull(strstr(err.message, "6 tetrahedra"));
  g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
  pla_mesh_free(solid);
}

/* a file in metres */
static void
test_unit(void)
{
  const char *text = GRID("1", "0 1 2 4", "4", "10", "");
  g_autofree char *path = pla_test_path("unit.vtu");
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  PlaReadOptions opts = pla_read_options_default();
  opts.unit_mm = 1000.0;
  PlaItem item;
  g_assert_cmpint(pla_item_read(path, &opts, &item, NULL), ==, PLA_OK);
  g_assert_cmpfloat(item.mesh->pos[24], ==, 2.0);
  pla_item_clear(&item);
}

/* appended base64, which is only read, made from an inline file */
static char *
appended_base64(gsize *size)
{
  const char *head =
      "<VTKFile type=\"PolyData\" byte_order=\"LittleEndian\" header_type=\"UInt32\"><PolyData>"
      "<Piece NumberOfPoints=\"3\" NumberOfPolys=\"1\"><Points><DataArray type=\"Float32\" "
      "NumberOfComponents=\"3\" format=\"appended\" offset=\"0\"/></Points><Polys><DataArray "
      "type=\"Int32\" Name=\"connectivity\" format=\"appended\" offset=\"56\"/><DataArray "
      "type=\"Int32\" Name=\"offsets\" format=\"appended\" offset=\"80\"/></Polys></Piece>"
      "</PolyData><AppendedData encoding=\"base64\">\n _";
  struct {
    uint32_t n;
    float x[9];
  } points = { 36, { 0, 0, 0, 1, 0, 0, 0, 1, 0 } };
  uint32_t connectivity[4] = { 12, 0, 1, 2 }, offsets[2] = { 4, 3 };
  GString *text = g_string_new(head);
  char encoded[64];
  pla_base64_encode(&points, sizeof points, encoded);
  g_string_append_len(text, encoded, (gssize)pla_base64_length(sizeof points));
  pla_base64_encode(connectivity, sizeof connectivity, encoded);
  g_string_append_len(text, encoded, (gssize)pla_base64_length(sizeof connectivity));
  pla_base64_encode(offsets, 4, encoded); /* header and data encoded apart, as some writers do */
  g_string_append_len(text, encoded, (gssize)pla_base64_length(4));
  pla_base64_encode(offsets + 1, 4, encoded);
  g_string_append_len(text, encoded, (gssize)pla_base64_length(4));
  g_string_append(text, "\n</AppendedData></VTKFile>\n");
  *size = text->len;
  return g_string_free(text, FALSE);
}

static void
test_appended_base64(void)
{
  gsize size;
  g_autofree char *text = appended_base64(&size);
  PlaItem item;
  PlaError err = { 0 };
  pla_read_text(&pla_format_vtp, "b64.vtp", text, size, &item, &err);
  g_assert_cmpstr(err.message, ==, "");
  const int tri[] = { 0, 1, 2 };
  g_assert_cmpmem(item.mesh->tri, sizeof tri, tri, sizeof tri);
  g_assert_cmpfloat(item.mesh->pos[7], ==, 1.0 / 1000.0);
  g_assert_true(item.mesh->single);
  pla_item_clear(&item);
}

static void
test_damage(void)
{
  PlaMesh *mesh = pla_sample_mesh(1, PLA_SAMPLE_TRIS | PLA_SAMPLE_TETS | PLA_SAMPLE_HEXES);
  g_assert_nonnull(pla_mesh_add_field(mesh, "a b", PLA_ON_CELLS, PLA_I16, 2));
  g_assert_nonnull(pla_mesh_add_field(mesh, "u", PLA_ON_VERTS, PLA_F32, 3));
  /* one of each kind in the short form: the byte order changes little */
  for (size_t f = 0; f < G_N_ELEMENTS(flavours); f++)
    if (g_getenv("PLA_FUZZ_MUTATIONS") || (f != 1 && f != 2 && f != 6))
      pla_mesh_fuzz(&pla_format_vtu, ".vtu", mesh, &flavours[f]);
  pla_mesh_free(mesh);
  gsize size;
  g_autofree char *text = appended_base64(&size);
  PlaFuzz fuzz = { .format = &pla_format_vtp, .extension = ".vtp" };
  pla_fuzz_run(&fuzz, (const uint8_t *)text, size);
}

static void
test_collection(void)
{
  g_autofree char *path = pla_test_path("series.pvd");
  const double times[] = { 0.0, 0.1 };
  const char *const files[] = { "a&b-0.vtu", "a&b-1.vtu" };
  g_assert_cmpint(pla_pvd_write(path, 2, times, files, NULL), ==, PLA_OK);
  g_autofree char *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_assert_nonnull(strstr(text, "timestep=\"0.1\" part=\"0\" file=\"a&#38;b-1.vtu\""));
  PlaItem item;
  PlaReadOptions opts = pla_read_options_default();
  PlaError err = { 0 };
  g_assert_cmpint(pla_item_read(path, &opts, &item, &err), ==, PLA_ERR_UNSUPPORTED);
  g_assert_nonnull(strstr(err.message, "time series"));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/vtu/round-trip", test_round_trip);
  g_test_add_func("/io/vtu/sizes", test_sizes);
  g_test_add_func("/io/vtu/threads", test_threads);
  g_test_add_func("/io/vtu/odd-cells", test_odd_cells);
  g_test_add_func("/io/vtu/inverted-tets", test_inverted_tets);
  g_test_add_func("/io/vtu/refusals", test_refusals);
  g_test_add_func("/io/vtu/unit", test_unit);
  g_test_add_func("/io/vtu/appended-base64", test_appended_base64);
  g_test_add_func("/io/vtu/damage", test_damage);
  g_test_add_func("/io/vtu/collection", test_collection);
  return g_test_run();
}
