/* Legacy VTK, text and binary, old and new cell layout: there and back, other writers, bad files.
 */
#include "io/formats/formats.h"
#include "tests/io/fuzz.h"
#include "tests/io/mesh-samples.h"

#include <glib.h>
#include <string.h>

static const PlaWriteOptions flavours[] = { { 0 }, { .text = true } };

static void
test_round_trip(void)
{
  for (size_t f = 0; f < G_N_ELEMENTS(flavours); f++)
    for (unsigned kind = 0; kind < 4; kind++) {
      unsigned parts = PLA_SAMPLE_FIELDS | PLA_SAMPLE_TRIS | (kind & 1 ? PLA_SAMPLE_SINGLE : 0) |
                       (kind & 2 ? PLA_SAMPLE_TETS | PLA_SAMPLE_HEXES : 0);
      PlaMesh *mesh = pla_sample_mesh(3, parts);
      PlaItem back = pla_mesh_round_trip(&pla_format_vtk, "a.vtk", mesh, &flavours[f]);
      pla_assert_same_geometry(mesh, back.mesh, kind & 1 ? 0 : 2);
      pla_assert_same_fields(mesh, back.mesh);
      g_assert_cmpint(back.mesh->single, ==, kind & 1);
      g_assert_cmpint(back.notes.n, ==, 0);
      pla_item_clear(&back);
      pla_mesh_free(mesh);
    }
}

#define POINTS_9 "POINTS 9 float\n0 0 0 1 0 0 1 1 0\n0 1 0 0 0 1 1 0 1\n1 1 1 0 1 1 2 2 2\n"
#define HEAD(version, kind) "# vtk DataFile Version " version "\ntitle\nASCII\nDATASET " kind "\n"

/* polygons before lines in the file, after them in the data */
static void
test_polydata(void)
{
  const char *text =
      HEAD("2.0",
           "POLYDATA") "FIELD FieldData 1\nTimeValue 1 1 double\n0.5\n" POINTS_9
                       "POLYGONS 2 9\n4 0 1 2 3\n3 4 5 6\nLINES 1 3\n2 0 1\nVERTICES 1 2\n1 8\n"
                       "TRIANGLE_STRIPS 1 5\n4 0 1 3 2\n"
                       "CELL_DATA 5\nSCALARS id int\nLOOKUP_TABLE mine\n1 2 3 4 5\nLOOKUP_TABLE "
                       "mine 1\n0 0 0 1\n"
                       "VECTORS v float\n1 0 0 2 0 0 3 0 0 4 0 0 5 0 0\n"
                       "POINT_DATA 9\nSCALARS b bit 1\nLOOKUP_TABLE default\n0 1 0 1 0 1 0 1 1\n"
                       "COLOR_SCALARS c 2\n0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 .5 1\n"
                       "TEXTURE_COORDINATES t 2 double\n0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 3 4\n"
                       "TENSORS s short\n";
  GString *all = g_string_new(text);
  for (int i = 0; i < 81; i++)
    g_string_append_printf(all, "%d ", i);
  PlaItem item;
  PlaError err = { 0 };
  pla_read_text(&pla_format_vtk, "p.vtk", all->str, all->len, &item, &err);
  g_assert_cmpstr(err.message, ==, "");
  const PlaMesh *m = item.mesh;
  const int tris[] = { 0, 1, 2, 0, 2, 3, 4, 5, 6, 0, 1, 3, 1, 2, 3 };
  g_assert_cmpmem(m->tri, 12 * (size_t)m->n_tris, tris, sizeof tris);
  const int32_t ids[] = { 3, 3, 4, 5, 5 };
  g_assert_cmpmem(pla_mesh_find_field(m, "id", PLA_ON_CELLS)->data, sizeof ids, ids, sizeof ids);
  const float *v = pla_mesh_find_field(m, "v", PLA_ON_CELLS)->data;
  g_assert_cmpfloat(v[6], ==, 4.0f);
  const uint8_t bits[] = { 0, 1, 0, 1, 0, 1, 0, 1, 1 };
  g_assert_cmpmem(pla_mesh_find_field(m, "b", PLA_ON_VERTS)->data, 9, bits, 9);
  g_assert_cmpfloat(((float *)pla_mesh_find_field(m, "c", PLA_ON_VERTS)->data)[16], ==, 0.5f);
  g_assert_cmpfloat(((double *)pla_mesh_find_field(m, "t", PLA_ON_VERTS)->data)[17], ==, 4.0);
  g_assert_cmpint(((int16_t *)pla_mesh_find_field(m, "s", PLA_ON_VERTS)->data)[80], ==, 80);
  g_string_free(all, TRUE);
  pla_item_clear(&item);
}

/* the layout of 5.1, with metadata */
static const char *const new_layout = HEAD("5.1", "UNSTRUCTURED_GRID") POINTS_9
    "METADATA\nINFORMATION 1\nNAME L2_NORM_RANGE LOCATION vtkDataArray\nDATA 2 0 3.4\n\n"
    "CELLS 4 16\nOFFSETS vtktypeint64\n0 4 12 12\nCONNECTIVITY vtktypeint64\n"
    "0 1 2 4 4 5 6 7 0 1 2 3 0 0 0 0\nCELL_TYPES 3\n10\n12\n0\n"
    "CELL_DATA 3\nFIELD FieldData 2\na%20b 1 3 vtktypeint64\n-9223372036854775808 "
    "9223372036854775807 0\nMETADATA\nCOMPONENT_NAMES\nx\n\ni 1 3 vtkIdType\n7 8 9\n";

static void
test_new_layout(void)
{
  PlaItem item;
  PlaError err = { 0 };
  pla_read_text(&pla_format_vtk, "n.vtk", new_layout, strlen(new_layout), &item, &err);
  g_assert_cmpstr(err.message, ==, "");
  const PlaMesh *m = item.mesh;
  const int tet[] = { 0, 1, 2, 4 }, hex[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  g_assert_cmpmem(m->tet, 16 * (size_t)m->n_tets, tet, sizeof tet);
  g_assert_cmpmem(m->hex, 32 * (size_t)m->n_hexes, hex, sizeof hex);
  pla_assert_note(&item, "reversed");
  const int64_t wide[] = { INT64_MIN, INT64_MAX };
  g_assert_cmpmem(pla_mesh_find_field(m, "a b", PLA_ON_CELLS)->data, 16, wide, 16);
  const int32_t ids[] = { 7, 8 };
  g_assert_cmpmem(pla_mesh_find_field(m, "i", PLA_ON_CELLS)->data, 8, ids, 8);
  pla_item_clear(&item);
}

#define GRID(cells, rest) HEAD("3.0", "UNSTRUCTURED_GRID") POINTS_9 "CELLS " cells "\n" rest

static void
test_refusals(void)
{
  const PlaFormat *vtk = &pla_format_vtk;
  pla_assert_refused(vtk, "x.vtk", GRID("1 7", "6 0 1 2 3 4 5\nCELL_TYPES 1\n13\n"), "wedge");
  pla_assert_refused(vtk, "x.vtk", GRID("1 5", "4 0 1 2 9\nCELL_TYPES 1\n10\n"), "vertex 9");
  pla_assert_refused(vtk, "x.vtk", GRID("1 5", "5 0 1 2 3\nCELL_TYPES 1\n10\n"), "cell 0 claims");
  pla_assert_refused(vtk, "x.vtk", GRID("1 5", "4 0 1 2 3\nCELL_TYPES 2\n10 10\n"), "cell types");
  pla_assert_refused(vtk, "x.vtk", GRID("1 5", "4 0 1 2 3\n"), "CELL_TYPES");
  pla_assert_refused(vtk, "x.vtk", GRID("1 5", "4 0 1 x 3\nCELL_TYPES 1\n10\n"), "line 10");
  pla_assert_refused(vtk, "x.vtk", GRID("1 999999999", "4 0 1 2 3\n"), "claims");
  pla_assert_refused(vtk, "x.vtk", GRID("1 5", "4 0 1 2 3\nCELL_TYPES 1\n10\nCELL_DATA 2\n"),
                     "line");
  pla_assert_refused(vtk, "x.vtk", HEAD("3.0", "STRUCTURED_POINTS"), "STRUCTURED_POINTS");
  pla_assert_refused(vtk, "x.vtk", HEAD("9.0", "POLYDATA"), "version");
  pla_assert_refused(vtk, "x.vtk", HEAD("3.0", "POLYDATA") "POINTS 99999999 float\n0 0 0\n",
                     "claimed");
  pla_assert_refused(vtk, "x.vtk", HEAD("3.0", "POLYDATA") "POINTS 1 string\n0 0 0\n", "string");
  pla_assert_refused(vtk, "x.vtk", HEAD("3.0", "POLYDATA") "POINTS 1 float\n0 0 a\n", "line 6");
}

static void
test_damage(void)
{
  PlaMesh *mesh = pla_sample_mesh(1, PLA_SAMPLE_TRIS | PLA_SAMPLE_TETS | PLA_SAMPLE_HEXES);
  g_assert_nonnull(pla_mesh_add_field(mesh, "a b", PLA_ON_CELLS, PLA_I16, 2));
  g_assert_nonnull(pla_mesh_add_field(mesh, "u", PLA_ON_VERTS, PLA_F32, 3));
  for (size_t f = 0; f < G_N_ELEMENTS(flavours); f++)
    pla_mesh_fuzz(&pla_format_vtk, ".vtk", mesh, &flavours[f]);
  pla_mesh_free(mesh);
  PlaFuzz fuzz = { .format = &pla_format_vtk, .extension = ".vtk" };
  pla_fuzz_run(&fuzz, (const uint8_t *)new_layout, strlen(new_layout));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/vtk/round-trip", test_round_trip);
  g_test_add_func("/io/vtk/polydata", test_polydata);
  g_test_add_func("/io/vtk/new-layout", test_new_layout);
  g_test_add_func("/io/vtk/refusals", test_refusals);
  g_test_add_func("/io/vtk/damage", test_damage);
  return g_test_run();
}
