/* `platysma-cli mesh --method lattice` from labels, surfaces and fine meshes, and `simulate` on
 * what it makes. */
#include "io/formats/format.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static double
number(JsonObject *object, const char *key)
{
  g_assert_true(json_object_has_member(object, key));
  return json_object_get_double_member(object, key);
}

static void
done(JsonObject *object)
{
  json_object_unref(object);
}

static PlaMesh *
read_mesh(const char *path)
{
  PlaItem item = { 0 };
  PlaReadOptions read = pla_read_options_default();
  PlaError err;
  g_assert_cmpint(pla_item_read(path, &read, &item, &err), ==, PLA_OK);
  PlaMesh *mesh = item.mesh;
  item.mesh = NULL;
  pla_item_clear(&item);
  return mesh;
}

/* bound vertices stand where the file says they do */
static void
check_bound(const PlaMesh *mesh, int least)
{
  const PlaField *verts = pla_mesh_find_field(mesh, PLA_MESH_BOUND_VERTS, PLA_ON_VERTS);
  const PlaField *weights = pla_mesh_find_field(mesh, PLA_MESH_BOUND_WEIGHTS, PLA_ON_VERTS);
  int n_bound = 0;
  g_assert_true(verts && weights && verts->n_components == weights->n_components);
  const int most = verts->n_components;
  for (int v = 0; v < mesh->n_verts; v++) {
    double x[3] = { 0 }, sum = 0.0;
    for (int k = 0; k < most; k++) {
      const int32_t id = ((const int32_t *)verts->data)[v * most + k];
      const double w = ((const double *)weights->data)[v * most + k];
      if (id < 0)
        continue;
      g_assert_cmpint(((const int32_t *)verts->data)[id * most], ==, -1); /* parents are free */
      sum += w;
      for (int d = 0; d < 3; d++)
        x[d] += w * mesh->pos[3 * id + d];
    }
    if (sum == 0.0)
      continue;
    n_bound++;
    g_assert_cmpfloat_with_epsilon(sum, 1.0, 1e-9);
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(x[d], mesh->pos[3 * v + d], 1e-9);
  }
  g_assert_cmpint(n_bound, >=, least);
}

typedef struct {
  char *folder, *labels, *surface, *fine, *out, *scene, *result;
} Files;

static void
files_clear(Files *f)
{
  char *all[] = { f->labels, f->surface, f->fine, f->out, f->scene, f->result };
  for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
    g_remove(all[i]);
    g_free(all[i]);
  }
  g_autofree char *names = g_build_filename(f->folder, "labels.tsv", NULL);
  g_remove(names);
  g_assert_cmpint(g_rmdir(f->folder), ==, 0);
  g_free(f->folder);
}

static Files
files_new(void)
{
  char *folder = g_dir_make_tmp("platysma-lattice-XXXXXX", NULL);
  return (Files){ folder,
                  g_build_filename(folder, "labels.nii", NULL),
                  g_build_filename(folder, "surface.stl", NULL),
                  g_build_filename(folder, "fine.vtu", NULL),
                  g_build_filename(folder, "out.vtu", NULL),
                  g_build_filename(folder, "scene.json", NULL),
                  g_build_filename(folder, "result.vtu", NULL) };
}

/* a ball under its weight: larger cells inside give the same sag with fewer elements */
static void
test_labels(void)
{
  Files f = files_new();
  const char *scene =
      "{\"mesh\": \"out.vtu\", \"materials\": [{\"where\": {\"all\": true}, \"model\": "
      "\"neo-hookean\", \"young_pa\": 20000, \"poisson\": 0.4, \"density_kg_m3\": 1000}], "
      "\"gravity_m_s2\": [0, 0, -9.81], \"constraints\": [{\"where\": {\"box_mm\": [[-60, -60, "
      "-60], [60, 60, -20]]}, \"fix\": \"xyz\"}], \"probes\": [{\"name\": \"top\", "
      "\"nearest_mm\": [0, 0, 40]}]}";
  double sag[2], elements[2];
  done(verb_test_runf(0, "phantom sphere --spacing-mm 2.5 -o %s", f.labels));
  g_assert_true(g_file_set_contents(f.scene, scene, -1, NULL));
  for (int i = 0; i < 2; i++) {
    JsonObject *o =
        verb_test_runf(0, "mesh %s --method lattice --label 1 --cell-mm 6 --coarsen %d -o %s",
                       f.labels, i, f.out);
    const double body = number(o, "body_mm3");
    g_assert_cmpstr(json_object_get_string_member(o, "method"), ==, "lattice");
    g_assert_cmpint(json_object_get_int_member(o, "components"), ==, 1);
    g_assert_cmpint(json_object_get_int_member(o, "inverted"), ==, 0);
    g_assert_cmpint(json_object_get_int_member(o, "surface_outside"), ==, 0);
    g_assert_cmpint(json_object_get_int_member(o, "bound_vertices") > 0, ==, i);
    g_assert_cmpfloat_with_epsilon(number(o, "material_mm3"), body, 0.01 * body);
    g_assert_cmpfloat_with_epsilon(number(o, "min_dihedral_deg"), 60.0, 1e-6);
    elements[i] = number(o, "tets");
    done(o);
    PlaMesh *mesh = read_mesh(f.out);
    check_bound(mesh, mesh->n_tris / 2);
    pla_mesh_free(mesh);
    o = verb_test_runf(0, "simulate %s -o %s", f.scene, f.result);
    g_assert_true(json_object_get_boolean_member(o, "converged"));
    JsonObject *probe = json_array_get_object_element(json_object_get_array_member(o, "probes"), 0);
    sag[i] =
        json_array_get_double_element(json_object_get_array_member(probe, "displacement_mm"), 2);
    done(o);
    /* the skin went with its elements */
    mesh = read_mesh(f.result);
    check_bound(mesh, mesh->n_tris / 2);
    pla_mesh_free(mesh);
  }
  g_assert_cmpfloat(elements[1], <, 0.8 * elements[0]);
  g_assert_cmpfloat(sag[0], <, -0.1);
  g_assert_cmpfloat_with_epsilon(sag[1], sag[0], 0.1 * fabs(sag[0]));
  files_clear(&f);
}

static void
test_other_sources(void)
{
  Files f = files_new();
  done(verb_test_runf(0, "phantom parallel-cylinders-surface -o %s", f.surface));
  JsonObject *o =
      verb_test_runf(0, "mesh %s --method lattice --cell-mm 10 -o %s", f.surface, f.out);
  g_assert_cmpint(json_object_get_int_member(o, "components"), ==, 2);
  g_assert_cmpint(json_object_get_int_member(o, "duplicated_cells"), >, 0);
  const double body = number(o, "body_mm3");
  g_assert_cmpfloat_with_epsilon(number(o, "material_mm3"), body, 1e-6 * body);
  done(o);

  /* tags of fine tets, and what is not for surfaces */
  done(verb_test_runf(0, "phantom bar --spacing-mm 5 -o %s", f.fine));
  o = verb_test_runf(0, "mesh %s --method lattice --cell-mm 10 -o %s", f.fine, f.out);
  g_assert_cmpfloat_with_epsilon(number(o, "material_mm3"), 62500.0, 1e-3);
  done(o);
  done(verb_test_runf(2, "mesh %s --method lattice --cell-mm 10 --coarsen 1 -o %s", f.surface,
                      f.result));
  done(verb_test_runf(2, "mesh %s --method tets --cell-mm 10 -o %s", f.fine, f.result));
  g_assert_false(g_file_test(f.result, G_FILE_TEST_EXISTS));
  files_clear(&f);
}

/* muscle and bone touch, also in voxels of this size: they hold together, or not, by choice */
static void
test_separate(void)
{
  Files f = files_new();
  done(verb_test_runf(0, "phantom skin-slab --spacing-mm 4 -o %s", f.labels));
  JsonObject *o =
      verb_test_runf(0, "mesh %s --method lattice --label 3,4 --cell-mm 9 -o %s", f.labels, f.out);
  g_assert_cmpint(json_object_get_int_member(o, "components"), ==, 1);
  done(o);
  o = verb_test_runf(0, "mesh %s --method lattice --label 3,4 --cell-mm 9 --separate -o %s",
                     f.labels, f.out);
  g_assert_cmpint(json_object_get_int_member(o, "components"), ==, 2);
  const double body = number(o, "body_mm3");
  g_assert_cmpfloat_with_epsilon(number(o, "material_mm3"), body, 0.02 * body);
  done(o);
  PlaMesh *mesh = read_mesh(f.out);
  check_bound(mesh, mesh->n_tris / 2);
  const PlaField *region = pla_mesh_find_field(mesh, "region", PLA_ON_CELLS);
  const PlaField *fill = pla_mesh_find_field(mesh, "fill", PLA_ON_CELLS);
  g_assert_true(region && fill);
  int of[5] = { 0 };
  for (int t = mesh->n_tris; t < mesh->n_tris + mesh->n_tets; t++) {
    const int32_t id = ((const int32_t *)region->data)[t];
    g_assert_true(id == 3 || id == 4);
    g_assert_cmpfloat(((const float *)fill->data)[t], >, 0.0f);
    of[id]++;
  }
  g_assert_true(of[3] > 100 && of[4] > 100);
  pla_mesh_free(mesh);
  files_clear(&f);
}

/* the weight that a scene's constraint holds, N */
static double
held_n(const char *mesh, const char *formulation)
{
  g_autofree char *text = g_strdup_printf(
      "{\"mesh\": \"%s\", \"formulation\": \"%s\", \"gravity_m_s2\": [0, 0, -9.81],"
      "\"materials\": [{\"where\": {\"all\": true}, \"model\": \"neo-hookean\","
      "\"young_pa\": 1e5, \"poisson\": 0.45, \"density_kg_m3\": 1000}],"
      "\"constraints\": [{\"where\": {\"box_mm\": [[-99, -99, -99], [0.01, 99, 99]]},"
      "\"fix\": \"xyz\"}]}",
      mesh, formulation);
  g_assert_true(g_file_set_contents("weigh.json", text, -1, NULL));
  g_autoptr(JsonObject) o = verb_test_run("simulate weigh.json -o weighed.vtu", 0);
  JsonObject *held = json_array_get_object_element(json_object_get_array_member(o, "reactions"), 0);
  return json_array_get_double_element(json_object_get_array_member(held, "force_n"), 2);
}

/* cells that are filled in part weigh what is in them, at any size, whole or cut */
static void
test_weight(void)
{
  const double volume_mm3 = 100.0 * 25.0 * 25.0, weight_n = 9.81 * 1000.0 * volume_mm3 * 1e-9;
  g_autofree char *before = g_get_current_dir(), *folder = g_dir_make_tmp("weight-XXXXXX", NULL);
  g_assert_cmpint(g_chdir(folder), ==, 0);
  done(verb_test_run("phantom bar-labels --spacing-mm 1 -o weigh.nii.gz", 0));
  for (int k = 0; k < 2; k++) {
    const int cell_mm[] = { 6, 10 };
    JsonObject *o =
        verb_test_runf(0, "mesh weigh.nii.gz --method lattice --cell-mm %d --label 1 -o weigh.vtu",
                       cell_mm[k]);
    g_assert_cmpfloat(fabs(number(o, "volume_mm3") / volume_mm3 - 1.0), <, 0.005);
    g_assert_cmpfloat(number(o, "cells_volume_mm3"), >, 1.1 * volume_mm3);
    done(o);
    g_assert_cmpfloat(fabs(held_n("weigh.vtu", "standard") / weight_n - 1.0), <, 0.005);
    g_assert_cmpfloat(fabs(held_n("weigh.vtu", "mixed") / weight_n - 1.0), <, 0.005);
  }
  /* cubes and tets around a surface, which encloses as much as they hold */
  g_assert_true(g_file_set_contents("box.obj",
                                    "v 0 0 0\nv 0 0 25\nv 0 25 0\nv 0 25 25\nv 100 0 0\n"
                                    "v 100 0 25\nv 100 25 0\nv 100 25 25\nf 1 2 4\nf 1 4 3\n"
                                    "f 5 7 8\nf 5 8 6\nf 1 5 6\nf 1 6 2\nf 3 4 8\nf 3 8 7\n"
                                    "f 1 3 7\nf 1 7 5\nf 2 6 8\nf 2 8 4\n",
                                    -1, NULL));
  for (int k = 0; k < 4; k++) {
    const int cell_mm[] = { 4, 6, 10, 10 };
    JsonObject *o = verb_test_runf(0, "mesh box.obj --method embed --cell-mm %d %s -o weigh.vtu",
                                   cell_mm[k], k == 3 ? "--as-tets" : "");
    g_assert_cmpfloat(fabs(number(o, "volume_mm3") / volume_mm3 - 1.0), <, 1e-6);
    g_assert_cmpfloat(number(o, "cells_volume_mm3"), >, 1.25 * volume_mm3);
    done(o);
    g_assert_cmpfloat(fabs(held_n("weigh.vtu", "standard") / weight_n - 1.0), <, 1e-5);
    g_assert_cmpfloat(fabs(held_n("weigh.vtu", "mixed") / weight_n - 1.0), <, 1e-5);
  }
  /* a blade off the cells' faces leaves the near part of a bar of 2.5 mm cubes */
  done(verb_test_run("phantom bar --spacing-mm 5 -o weigh.vtu", 0));
  g_assert_true(g_file_set_contents("blade.obj",
                                    "v 51.3 -20 -20\nv 47.1 60 -20\nv 49.3 -20 60\n"
                                    "v 45.1 60 60\nf 1 2 4\nf 1 4 3\n",
                                    -1, NULL));
  done(verb_test_run("cut weigh.vtu --blade blade.obj -o halves.vtu", 0));
  /* both halves are held: the far one by its end */
  g_autofree char *text = g_strdup(
      "{\"mesh\": \"halves.vtu\", \"formulation\": \"mixed\", \"gravity_m_s2\": [0, 0, -9.81],"
      "\"materials\": [{\"where\": {\"all\": true}, \"model\": \"neo-hookean\","
      "\"young_pa\": 1e5, \"poisson\": 0.45, \"density_kg_m3\": 1000}],"
      "\"constraints\": [{\"where\": {\"box_mm\": [[-99, -99, -99], [0.01, 99, 99]]},"
      "\"fix\": \"xyz\"}, {\"where\": {\"box_mm\": [[99.99, -99, -99], [101, 99, 99]]},"
      "\"fix\": \"xyz\"}]}");
  g_assert_true(g_file_set_contents("weigh.json", text, -1, NULL));
  g_autoptr(JsonObject) o = verb_test_run("simulate weigh.json -o weighed.vtu", 0);
  JsonArray *held = json_object_get_array_member(o, "reactions");
  double sum = 0.0, near = 0.0;
  for (guint i = 0; i < 2; i++) {
    JsonObject *one = json_array_get_object_element(held, i);
    const double z = json_array_get_double_element(json_object_get_array_member(one, "force_n"), 2);
    sum += z;
    near = i == 0 ? z : near;
  }
  g_assert_cmpfloat(fabs(sum / weight_n - 1.0), <, 0.005);
  /* the plane x = 51.3 - 4.2 (y + 20) / 80 - 2 (z + 20) / 80 at the middle of the section */
  const double at_mm = 51.3 - 4.2 * 32.5 / 80.0 - 2.0 * 32.5 / 80.0;
  g_assert_cmpfloat(fabs(near / (weight_n * at_mm / 100.0) - 1.0), <, 0.005);
  static const char *const made[] = { "weigh.nii.gz", "weigh.tsv",  "weigh.vtu", "weigh.json",
                                      "weighed.vtu",  "halves.vtu", "blade.obj", "box.obj" };
  for (gsize i = 0; i < G_N_ELEMENTS(made); i++)
    g_assert_cmpint(g_remove(made[i]), ==, 0);
  g_assert_cmpint(g_chdir(before), ==, 0);
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/lattice-verb/labels", test_labels);
  g_test_add_func("/lattice-verb/other-sources", test_other_sources);
  g_test_add_func("/lattice-verb/separate", test_separate);
  g_test_add_func("/lattice-verb/weight", test_weight);
  return g_test_run();
}
