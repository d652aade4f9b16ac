/* PLY in its three flavours: there and back, other writers' habits, bad files. */
#include "io/formats/formats.h"
#include "tests/io/fuzz.h"
#include "tests/io/mesh-samples.h"

#include <glib.h>
#include <string.h>

static const PlaWriteOptions flavours[] = { { 0 }, { .big_endian = true }, { .text = true } };

/* PLY has no 64-bit integers: those fields hold numbers that fit smaller types here */
static void
shrink_wide_fields(PlaMesh *mesh)
{
  for (int f = 0; f < mesh->n_fields; f++) {
    PlaField *field = &mesh->field[f];
    size_t n = pla_field_n_tuples(mesh, field) * (size_t)field->n_components;
    for (size_t i = 0; i < n; i++)
      if (field->dtype == PLA_I64)
        ((int64_t *)field->data)[i] %= 1ll << 40;
      else if (field->dtype == PLA_U64)
        ((uint64_t *)field->data)[i] >>= 32;
  }
}

static void
test_round_trip(void)
{
  for (size_t f = 0; f < G_N_ELEMENTS(flavours); f++)
    for (unsigned single = 0; single < 2; single++) {
      PlaMesh *mesh =
          pla_sample_mesh(3, PLA_SAMPLE_TRIS | PLA_SAMPLE_FIELDS | single * PLA_SAMPLE_SINGLE);
      shrink_wide_fields(mesh);
      PlaItem back = pla_mesh_round_trip(&pla_format_ply, "a.ply", mesh, &flavours[f]);
      pla_assert_same_geometry(mesh, back.mesh, single ? 0 : 2);
      g_assert_cmpint(back.mesh->single, ==, single);
      pla_assert_same_field_values(mesh, back.mesh);
      for (int k = 0; k < mesh->n_fields; k++) {
        const PlaField *field = &mesh->field[k];
        const PlaField *same = pla_mesh_find_field(back.mesh, field->name, field->place);
        g_assert_cmpint(same->dtype, ==,
                        field->dtype == PLA_I64   ? PLA_F64
                        : field->dtype == PLA_U64 ? PLA_U32
                                                  : field->dtype);
      }
      pla_item_clear(&back);
      pla_mesh_free(mesh);
    }
}

/* numbers that no PLY type holds are refused, not rounded */
static void
test_wide_integers(void)
{
  PlaMesh *mesh = pla_sample_mesh(1, PLA_SAMPLE_TRIS);
  int64_t *data = pla_mesh_add_field(mesh, "id", PLA_ON_VERTS, PLA_I64, 1);
  data[3] = (1ll << 53) + 1;
  PlaItem item = { .kind = PLA_KIND_MESH, .mesh = mesh };
  PlaWriteOptions opts = pla_write_options_default();
  PlaError err = { 0 };
  g_autofree char *path = pla_test_path("wide.ply");
  g_assert_cmpint(pla_item_write(path, &item, &opts, &err), ==, PLA_ERR_UNSUPPORTED);
  g_assert_nonnull(strstr(err.message, "id"));
  pla_mesh_free(mesh);
}

#define HEAD(faces)                                                                                \
  "ply\nformat ascii 1.0\ncomment made by hand\nobj_info x\nelement vertex 4\n"                    \
  "property float x\nproperty float32 y\nproperty float z\nproperty uchar red\n"                   \
  "element face " faces "\nproperty list uchar int vertex_index\nproperty list uchar float tex\n"  \
  "property short tag\nelement edge 1\nproperty int a\nproperty int b\nend_header\n"
#define VERTICES "0 0 0 1\n1 0 0 2\n1 1 0 3\n0 1 0 255\n"

static void
test_other_writers(void)
{
  const char *text = HEAD("3") VERTICES "4 0 1 2 3 2 0.5 0.5 7\n2 0 1 0 8\n3 1 2 3 0 9\n0 1\n";
  PlaItem item;
  PlaError err = { 0 };
  pla_read_text(&pla_format_ply, "a.ply", text, strlen(text), &item, &err);
  g_assert_cmpstr(err.message, ==, "");
  const int tris[] = { 0, 1, 2, 0, 2, 3, 1, 2, 3 };
  g_assert_cmpmem(item.mesh->tri, 12 * (size_t)item.mesh->n_tris, tris, sizeof tris);
  const int16_t tags[] = { 7, 7, 9 };
  g_assert_cmpmem(pla_mesh_find_field(item.mesh, "tag", PLA_ON_CELLS)->data, sizeof tags, tags,
                  sizeof tags);
  const uint8_t red[] = { 1, 2, 3, 255 };
  g_assert_cmpmem(pla_mesh_find_field(item.mesh, "red", PLA_ON_VERTS)->data, sizeof red, red,
                  sizeof red);
  pla_assert_note(&item, "tex");
  pla_assert_note(&item, "edge");
  pla_assert_note(&item, "lines");
  pla_item_clear(&item);

  const PlaFormat *ply = &pla_format_ply;
  pla_assert_refused(ply, "x.ply", HEAD("1") VERTICES "3 0 1 4 0 0\n0 1\n", "vertex 4");
  pla_assert_refused(ply, "x.ply", HEAD("1") VERTICES "3 0 1 -2 0 0\n0 1\n", "cell 0");
  pla_assert_refused(ply, "x.ply", HEAD("2147483647") VERTICES "3 0 1 2 0 0\n0 1\n", "claimed");
  pla_assert_refused(ply, "x.ply", HEAD("2") VERTICES "3 0 1 2 0 0\n", "face 1");
  pla_assert_refused(ply, "x.ply", HEAD("1") "0 0 0 256\n" VERTICES, "vertex 0");
  pla_assert_refused(ply, "x.ply", "ply\nformat binary 1.0\nend_header\n", "binary");
  pla_assert_refused(ply, "x.ply", "ply\nelement vertex -1\n", "count");
  pla_assert_refused(ply, "x.ply", "ply\nformat ascii 1.0\n", "end_header");
  pla_assert_refused(ply, "x.ply", "ply\nformat ascii 1.0\nend_header\n", "no vertices");
}

static void
test_damage(void)
{
  PlaMesh *mesh = pla_sample_mesh(2, PLA_SAMPLE_TRIS);
  g_assert_nonnull(pla_mesh_add_field(mesh, "a b", PLA_ON_CELLS, PLA_I16, 2));
  g_assert_nonnull(pla_mesh_add_field(mesh, "u", PLA_ON_VERTS, PLA_F32, 1));
  for (size_t f = 0; f < G_N_ELEMENTS(flavours); f++)
    pla_mesh_fuzz(&pla_format_ply, ".ply", mesh, &flavours[f]);
  pla_mesh_free(mesh);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/ply/round-trip", test_round_trip);
  g_test_add_func("/io/ply/wide-integers", test_wide_integers);
  g_test_add_func("/io/ply/other-writers", test_other_writers);
  g_test_add_func("/io/ply/damage", test_damage);
  return g_test_run();
}
