/* OBJ: there and back, polygons, negative indices, bad files. */
#include "io/formats/formats.h"
#include "tests/io/fuzz.h"
#include "tests/io/mesh-samples.h"

#include <glib.h>
#include <string.h>

static void
test_round_trip(void)
{
  for (unsigned single = 0; single < 2; single++) {
    PlaMesh *mesh = pla_sample_mesh(4, PLA_SAMPLE_TRIS | single * PLA_SAMPLE_SINGLE);
    PlaItem back = pla_mesh_round_trip(&pla_format_obj, "a.obj", mesh, NULL);
    if (single) /* the text reads back as the same 32-bit numbers */
      for (int i = 0; i < 3 * mesh->n_verts; i++)
        g_assert_true((float)(back.mesh->pos[i] * 1000.0) == (float)(mesh->pos[i] * 1000.0));
    else
      pla_assert_same_geometry(mesh, back.mesh, 2);
    g_assert_cmpmem(mesh->tri, 12 * (size_t)mesh->n_tris, back.mesh->tri,
                    12 * (size_t)back.mesh->n_tris);
    pla_item_clear(&back);
    pla_mesh_free(mesh);
  }
}

static void
test_statements(void)
{
  const char *text = "# comment\nmtllib a.mtl\no thing\n"
                     "v 0 0 0\nv 1 0 0 1\nv 1 1 0\r\nv 0 1 0\nvt 0 0\nvn 0 0 1\ng part\ns 1\n"
                     "f 1/1/1 2/1/1 3/1/1 4/1/1\nf -4//1 -3//1 -1//1 # tail\n"
                     "f 1 \\\n 2 \\\n 4\nl 1 2\nv 5 5 5.5e0 0.1 0.2 0.3\nf 1 2 3 4 5";
  PlaItem item;
  PlaError err = { 0 };
  pla_read_text(&pla_format_obj, "a.obj", text, strlen(text), &item, &err);
  g_assert_cmpstr(err.message, ==, "");
  const int tris[] = { 0, 1, 2, 0, 2, 3, 0, 1, 3, 0, 1, 3, 0, 1, 2, 0, 2, 3, 0, 3, 4 };
  g_assert_cmpmem(item.mesh->tri, 12 * (size_t)item.mesh->n_tris, tris, sizeof tris);
  g_assert_cmpint(item.mesh->n_verts, ==, 5);
  g_assert_cmpfloat(item.mesh->pos[14], ==, 5.5 / 1000.0);
  pla_assert_note(&item, "texture");
  pla_assert_note(&item, "colours");
  pla_assert_note(&item, "groups");
  pla_assert_note(&item, "lines");
  pla_assert_note(&item, "polygons");
  pla_item_clear(&item);
}

static void
test_refusals(void)
{
  const PlaFormat *obj = &pla_format_obj;
  pla_assert_refused(obj, "x.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "vertex 3");
  pla_assert_refused(obj, "x.obj", "v 0 0 0\nv 1 0 0\nf 1 2 -3\n", "line 3");
  pla_assert_refused(obj, "x.obj", "v 0 0 0\nf 1 0 1\n", "line 2");
  pla_assert_refused(obj, "x.obj", "v 0 0 0\nf 1 1\n", "2 vertices");
  pla_assert_refused(obj, "x.obj", "v 0 0\n", "line 1");
  pla_assert_refused(obj, "x.obj", "\n\nv 0 0 1x\n", "line 3");
  pla_assert_refused(obj, "x.obj", "v 0 0 nan\nv 0 0 1\n", "not a number");
  pla_assert_refused(obj, "x.obj", "hello\n", "hello");
  pla_assert_refused(obj, "x.obj", "# nothing\n", "no vertices");
}

static void
test_damage(void)
{
  PlaMesh *mesh = pla_sample_mesh(2, PLA_SAMPLE_TRIS);
  pla_mesh_fuzz(&pla_format_obj, ".obj", mesh, NULL);
  pla_mesh_free(mesh);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/obj/round-trip", test_round_trip);
  g_test_add_func("/io/obj/statements", test_statements);
  g_test_add_func("/io/obj/refusals", test_refusals);
  g_test_add_func("/io/obj/damage", test_damage);
  return g_test_run();
}
