/* Gmsh 2.2 and 4.1, text and binary: there and back, through other formats, bad files. */
#include "io/formats/formats.h"
#include "tests/io/fuzz.h"
#include "tests/io/mesh-samples.h"

#include <glib.h>
#include <string.h>

static const PlaWriteOptions flavours[] = {
  { 0 },
  { .text = true },
  { .gmsh_version = 22 },
  { .gmsh_version = 22, .text = true },
  { .big_endian = true },
  { .gmsh_version = 22, .big_endian = true },
};

/* fields of types that doubles hold exactly */
static PlaMesh *
sample(unsigned parts)
{
  PlaMesh *mesh = pla_sample_mesh(3, parts | PLA_SAMPLE_FIELDS);
  for (int f = 0; f < mesh->n_fields; f++) {
    PlaField *field = &mesh->field[f];
    size_t n = pla_field_n_tuples(mesh, field) * (size_t)field->n_components;
    for (size_t i = 0; i < n && pla_dtype_size(field->dtype) == 8; i++)
      if (pla_dtype_is_integer(field->dtype))
        ((uint64_t *)field->data)[i] >>= 11;
  }
  return mesh;
}

static void
test_round_trip(void)
{
  for (size_t f = 0; f < G_N_ELEMENTS(flavours); f++)
    for (unsigned single = 0; single < 2; single++) {
      PlaMesh *mesh =
          sample(PLA_SAMPLE_TRIS | PLA_SAMPLE_TETS | PLA_SAMPLE_HEXES | single * PLA_SAMPLE_SINGLE);
      PlaItem back = pla_mesh_round_trip(&pla_format_gmsh, "a.msh", mesh, &flavours[f]);
      pla_assert_same_geometry(mesh, back.mesh, single ? 0 : 2);
      pla_assert_same_field_values(mesh, back.mesh);
      g_assert_cmpint(pla_mesh_find_field(back.mesh, "region", PLA_ON_CELLS)->dtype, ==, PLA_I32);
      g_assert_cmpint(back.notes.n, ==, 0);
      pla_item_clear(&back);
      pla_mesh_free(mesh);
    }
  PlaMesh *none;
  g_assert_cmpint(pla_mesh_new(0, 0, 0, 0, &none, NULL), ==, PLA_OK);
  for (size_t f = 0; f < G_N_ELEMENTS(flavours); f++) {
    PlaItem back = pla_mesh_round_trip(&pla_format_gmsh, "none.msh", none, &flavours[f]);
    pla_assert_same_geometry(none, back.mesh, 0);
    pla_item_clear(&back);
  }
  pla_mesh_free(none);
}

/* VTU -> VTK -> Gmsh -> VTU changes no bit of 32-bit data, connectivity and tags */
static void
test_chain(void)
{
  static const struct {
    const PlaFormat *format;
    const char *name;
  } link[] = { { &pla_format_vtu, "chain.vtu" },
               { &pla_format_vtk, "chain.vtk" },
               { &pla_format_gmsh, "chain.msh" },
               { &pla_format_vtu, "chain2.vtu" } };
  PlaMesh *mesh = sample(PLA_SAMPLE_TRIS | PLA_SAMPLE_TETS | PLA_SAMPLE_HEXES | PLA_SAMPLE_SINGLE);
  PlaItem at = { 0 };
  PlaMesh *now = mesh;
  for (size_t k = 0; k < G_N_ELEMENTS(link); k++) {
    PlaItem next = pla_mesh_round_trip(link[k].format, link[k].name, now, NULL);
    pla_item_clear(&at);
    at = next;
    now = at.mesh;
  }
  pla_assert_same_geometry(mesh, now, 1);
  for (int i = 0; i < 3 * mesh->n_verts; i++)
    g_assert_true((float)(now->pos[i] * 1000.0) == (float)(mesh->pos[i] * 1000.0));
  pla_assert_same_field_values(mesh, now);
  pla_item_clear(&at);
  pla_mesh_free(mesh);
}

#define FORMAT_2 "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
#define NODES_2 "$Nodes\n5\n10 0 0 0\n3 1 0 0\n7 0 1 0\n1 0 0 1\n99 1 1 1\n$EndNodes\n"
#define FORMAT_4 "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"

/* sparse numbers, points and lines, quads, missing data */
static void
test_version_2(void)
{
  const char *text =
      FORMAT_2 "$PhysicalNames\n4\n3 5 \"muscle\"\n2 6 \"front\"\n1 9 \"edge\"\n3 8 \"none\"\n"
               "$EndPhysicalNames\n" NODES_2
               "$Elements\n5\n4 15 2 0 1 10\n8 1 2 9 1 10 3\n5 3 2 6 1 10 3 99 7\n"
               "6 4 4 5 1 1 1 10 3 7 1\n70 2 0 10 3 7\n$EndElements\n"
               "$ElementData\n1\n\"stress\"\n1\n0.0\n3\n0\n1\n2\n70 1.5\n5 2.5\n$EndElementData\n"
               "$NodeData\n2\n\"u\"\n\"scheme\"\n0\n4\n0\n3\n1\n0\n7 1 2 3\n$EndNodeData\n"
               "$Periodic\n0\n$EndPeriodic\n";
  PlaItem item;
  PlaError err = { 0 };
  pla_read_text(&pla_format_gmsh, "a.msh", text, strlen(text), &item, &err);
  g_assert_cmpstr(err.message, ==, "");
  const PlaMesh *m = item.mesh;
  const int tris[] = { 0, 1, 4, 0, 4, 2, 0, 1, 2 }, tet[] = { 0, 1, 2, 3 };
  g_assert_cmpmem(m->tri, 12 * (size_t)m->n_tris, tris, sizeof tris);
  g_assert_cmpmem(m->tet, 16 * (size_t)m->n_tets, tet, sizeof tet);
  const int32_t regions[] = { 6, 6, 0, 5 };
  g_assert_cmpmem(pla_mesh_find_field(m, "region", PLA_ON_CELLS)->data, sizeof regions, regions,
                  sizeof regions);
  /* groups with names: cells, or vertices of faces and lines */
  const uint8_t muscle[] = { 0, 0, 0, 1 }, front[] = { 1, 1, 1, 0, 1 }, edge[] = { 1, 1, 0, 0, 0 };
  g_assert_cmpmem(pla_mesh_find_field(m, "muscle", PLA_ON_CELLS)->data, 4, muscle, 4);
  g_assert_cmpmem(pla_mesh_find_field(m, "front", PLA_ON_VERTS)->data, 5, front, 5);
  g_assert_cmpmem(pla_mesh_find_field(m, "edge", PLA_ON_VERTS)->data, 5, edge, 5);
  g_assert_null(pla_mesh_find_field(m, "none", PLA_ON_CELLS));
  const double stress[] = { 2.5, 2.5, 1.5, 0.0 };
  g_assert_cmpmem(pla_mesh_find_field(m, "stress", PLA_ON_CELLS)->data, sizeof stress, stress,
                  sizeof stress);
  g_assert_cmpfloat(((double *)pla_mesh_find_field(m, "u", PLA_ON_VERTS)->data)[8], ==, 3.0);
  pla_assert_note(&item, "stress is 0");
  pla_assert_note(&item, "$Periodic");
  pla_assert_note(&item, "lines");
  pla_assert_note(&item, "point cells");
  pla_item_clear(&item);
}

static const char *const version_4 = FORMAT_4
    "$PhysicalNames\n1\n3 5 \"flesh\"\n$EndPhysicalNames\n"
    "$Entities\n1 0 0 1\n1 0 0 0 0\n1 0 0 0 1 1 1 2 5 6 0\n$EndEntities\n"
    "$Nodes\n2 4 1 9\n0 1 0 1\n9\n0 0 0\n3 1 1 3\n1\n2\n3\n1 0 0 .1 .2 .3\n0 1 0 .1 .2 .3\n"
    "0 0 1 .1 .2 .3\n$EndNodes\n"
    "$Elements\n2 2 1 2\n0 1 15 1\n1 9\n3 1 4 1\n2 9 1 2 3\n$EndElements\n";

static void
test_version_4(void)
{
  PlaItem item;
  PlaError err = { 0 };
  pla_read_text(&pla_format_gmsh, "a.msh", version_4, strlen(version_4), &item, &err);
  g_assert_cmpstr(err.message, ==, "");
  const int tet[] = { 0, 1, 2, 3 };
  g_assert_cmpmem(item.mesh->tet, 16 * (size_t)item.mesh->n_tets, tet, sizeof tet);
  g_assert_cmpint(*(int32_t *)pla_mesh_find_field(item.mesh, "region", PLA_ON_CELLS)->data, ==, 5);
  g_assert_cmpint(*(uint8_t *)pla_mesh_find_field(item.mesh, "flesh", PLA_ON_CELLS)->data, ==, 1);
  pla_item_clear(&item);
}

static void
test_refusals(void)
{
  const PlaFormat *msh = &pla_format_gmsh;
  pla_assert_refused(msh, "x.msh", "$MeshFormat\n4.0 0 8\n$EndMeshFormat\n", "4.0");
  pla_assert_refused(msh, "x.msh", FORMAT_2 NODES_2 "$Elements\n1\n1 4 0 10 3 7 2\n$EndElements\n",
                     "node 2");
  pla_assert_refused(msh, "x.msh",
                     FORMAT_2 NODES_2 "$Elements\n1\n1 6 0 10 3 7 1 99 10\n$EndElements\n",
                     "wedge");
  pla_assert_refused(msh, "x.msh", FORMAT_2 NODES_2 "$Elements\n1\n1 200 0 1\n$EndElements\n",
                     "type 200");
  pla_assert_refused(msh, "x.msh", FORMAT_2 "$Nodes\n2\n1 0 0 0\n1 1 0 0\n$EndNodes\n",
                     "two nodes");
  pla_assert_refused(msh, "x.msh", FORMAT_2 "$Nodes\n99999999\n1 0 0 0\n$EndNodes\n", "line 5");
  pla_assert_refused(msh, "x.msh", FORMAT_2 "$Nodes\n1\n1 0 0 0\n", "$EndNodes");
  pla_assert_refused(msh, "x.msh", FORMAT_2 "$Elements\n0\n$EndElements\n", "before");
  pla_assert_refused(msh, "x.msh", FORMAT_2, "$Nodes");
  pla_assert_refused(msh, "x.msh", FORMAT_2 "$PhysicalNames\n2\n3 1 \"a\"\n$EndPhysicalNames\n",
                     "name of a physical group");
}

static void
test_damage(void)
{
  PlaMesh *mesh = pla_sample_mesh(1, PLA_SAMPLE_TRIS | PLA_SAMPLE_TETS | PLA_SAMPLE_HEXES);
  int32_t *region = pla_mesh_add_field(mesh, "region", PLA_ON_CELLS, PLA_I32, 1);
  region[3] = 4;
  g_assert_nonnull(pla_mesh_add_field(mesh, "u", PLA_ON_VERTS, PLA_F32, 3));
  for (size_t f = 0; f < 4; f++)
    pla_mesh_fuzz(&pla_format_gmsh, ".msh", mesh, &flavours[f]);
  pla_mesh_free(mesh);
  PlaFuzz fuzz = { .format = &pla_format_gmsh, .extension = ".msh" };
  pla_fuzz_run(&fuzz, (const uint8_t *)version_4, strlen(version_4));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/gmsh/round-trip", test_round_trip);
  g_test_add_func("/io/gmsh/chain", test_chain);
  g_test_add_func("/io/gmsh/version-2", test_version_2);
  g_test_add_func("/io/gmsh/version-4", test_version_4);
  g_test_add_func("/io/gmsh/refusals", test_refusals);
  g_test_add_func("/io/gmsh/damage", test_damage);
  return g_test_run();
}
