/* STL, binary and text: there and back, corners merged, bad files. */
#include "io/formats/formats.h"
#include "tests/io/fuzz.h"
#include "tests/io/mesh-samples.h"

#include <glib.h>
#include <string.h>

static const PlaWriteOptions flavours[] = { { 0 }, { .text = true } };

/* vertices come back in the order of first use: the sample renumbered that way is the answer */
static PlaMesh *
in_order_of_use(const PlaMesh *mesh)
{
  PlaMesh *out;
  g_autofree int *number = g_new(int, mesh->n_verts);
  int n_used = 0;
  g_assert_cmpint(pla_mesh_new(mesh->n_verts, mesh->n_tris, 0, 0, &out, NULL), ==, PLA_OK);
  memset(number, 0xff, sizeof(int) * (size_t)mesh->n_verts);
  for (int i = 0; i < 3 * mesh->n_tris; i++) {
    int v = mesh->tri[i];
    if (number[v] < 0) {
      memcpy(out->pos + 3 * n_used, mesh->pos + 3 * v, 24);
      number[v] = n_used++;
    }
    out->tri[i] = number[v];
  }
  out->n_verts = n_used;
  return out;
}

static void
test_round_trip(void)
{
  for (size_t f = 0; f < 2; f++) {
    PlaMesh *mesh = pla_sample_mesh(5, PLA_SAMPLE_TRIS | (f ? 0 : PLA_SAMPLE_SINGLE));
    PlaMesh *expected = in_order_of_use(mesh);
    PlaItem back = pla_mesh_round_trip(&pla_format_stl, "a.stl", mesh, &flavours[f]);
    pla_assert_same_geometry(expected, back.mesh, f ? 2 : 0);
    g_assert_cmpint(back.mesh->single, ==, f == 0);
    PlaMeshSummary summary;
    g_assert_cmpint(pla_mesh_summary(back.mesh, &summary, NULL), ==, PLA_OK);
    g_assert_true(summary.closed);

    /* the same bytes again */
    g_autofree char *first = pla_test_path("a.stl"), *second = pla_test_path("b.stl");
    char *data[2];
    gsize size[2];
    pla_mesh_write_sample(&pla_format_stl, second, back.mesh, &flavours[f]);
    g_assert_true(g_file_get_contents(first, &data[0], &size[0], NULL));
    g_assert_true(g_file_get_contents(second, &data[1], &size[1], NULL));
    if (f == 0)
      g_assert_cmpmem(data[0], size[0], data[1], size[1]);
    g_free(data[0]);
    g_free(data[1]);
    pla_item_clear(&back);
    pla_mesh_free(mesh);
    pla_mesh_free(expected);
  }
}

/* a binary file whose header starts with "solid", with attribute bytes and a tail */
static void
test_binary_oddities(void)
{
  PlaMesh *mesh = pla_sample_mesh(1, PLA_SAMPLE_TRIS | PLA_SAMPLE_SINGLE);
  g_autofree char *path = pla_test_path("odd.stl");
  pla_mesh_write_sample(&pla_format_stl, path, mesh, NULL);
  g_autofree char *data = NULL;
  gsize size;
  g_assert_true(g_file_get_contents(path, &data, &size, NULL));
  memcpy(data, "solid ", 6);
  data[84 + 49] = 1;
  PlaItem item;
  PlaError err = { 0 };
  pla_read_text(&pla_format_stl, "odd.stl", data, size, &item, &err);
  g_assert_cmpstr(err.message, ==, "");
  g_assert_cmpint(item.mesh->n_tris, ==, 12);
  g_assert_cmpint(item.mesh->n_verts, ==, 8);
  pla_assert_note(&item, "attribute");
  pla_item_clear(&item);

  memcpy(data, "xxxxx ", 6);
  data = g_realloc(data, size + 3);
  pla_read_text(&pla_format_stl, "odd.stl", data, size + 3, &item, &err);
  pla_assert_note(&item, "3 bytes");
  pla_item_clear(&item);
  data[80] = 13;
  g_assert_cmpint(pla_read_text(&pla_format_stl, "odd.stl", data, size, &item, &err), ==,
                  PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "13 triangles"));
  pla_mesh_free(mesh);
}

#define FACET(a, b, c)                                                                             \
  "facet normal 0 0 nan\n outer loop\n vertex " a "\n vertex " b "\n vertex " c                    \
  "\n endloop\nendfacet\n"

static void
test_text(void)
{
  const char *text =
      "SOLID two words\n" FACET("0 0 0", "1 0 0", "0 1 0") "endsolid two words\n"
                                                           "solid\n" FACET("-0.0 0 -0", "0 1.0e0 0",
                                                                           "0 0 1") "endsolid\n";
  PlaItem item;
  PlaError err = { 0 };
  pla_read_text(&pla_format_stl, "a.stl", text, strlen(text), &item, &err);
  g_assert_cmpstr(err.message, ==, "");
  const int tris[] = { 0, 1, 2, 0, 2, 3 };
  g_assert_cmpmem(item.mesh->tri, sizeof tris, tris, sizeof tris);
  pla_item_clear(&item);
  const PlaFormat *stl = &pla_format_stl;
  pla_assert_refused(stl, "x.stl", "solid\n" FACET("0 0 0", "1 0", "0 1 0") "endsolid\n", "line");
  pla_assert_refused(stl, "x.stl", "solid\n" FACET("0 0 0", "1 0 0", "0 1 0"), "endsolid");
  pla_assert_refused(stl, "x.stl", "solid\n" FACET("0 0 0", "1 0 0", "0 inf 0") "endsolid\n",
                     "no number");
  pla_assert_refused(stl, "x.stl", "solid\nfacet normal 0 0 1\nendfacet\nendsolid\n", "line 3");
  pla_assert_refused(stl, "x.stl", "short", "84 bytes");
}

/* what a file cannot hold is said */
static void
test_losses(void)
{
  PlaMesh *mesh = pla_sample_mesh(1, PLA_SAMPLE_TRIS | PLA_SAMPLE_FIELDS);
  PlaItem said = { 0 };
  PlaWriteOptions opts = pla_write_options_default();
  opts.notes = &said.notes;
  g_autofree char *path = pla_test_path("losses.stl");
  pla_mesh_write_sample(&pla_format_stl, path, mesh, &opts);
  pla_assert_note(&said, "fields were left out");
  pla_assert_note(&said, "rounded to 32 bits");
  pla_item_clear(&said);
  pla_mesh_free(mesh);
}

static void
test_damage(void)
{
  PlaMesh *mesh = pla_sample_mesh(2, PLA_SAMPLE_TRIS);
  for (size_t f = 0; f < 2; f++)
    pla_mesh_fuzz(&pla_format_stl, ".stl", mesh, &flavours[f]);
  pla_mesh_free(mesh);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/stl/round-trip", test_round_trip);
  g_test_add_func("/io/stl/binary-oddities", test_binary_oddities);
  g_test_add_func("/io/stl/text", test_text);
  g_test_add_func("/io/stl/losses", test_losses);
  g_test_add_func("/io/stl/damage", test_damage);
  return g_test_run();
}
