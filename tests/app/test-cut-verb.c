/* `platysma-cli cut` and `operate` from file to file: keys, fields that are carried, refusals. */
#include "anatomy/mesh/box-mesh.h"
#include "io/formats/format.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>

static void
write_mesh(const char *path, PlaMesh *mesh)
{
  const PlaItem item = { .kind = PLA_KIND_MESH, .mesh = mesh };
  PlaWriteOptions write = pla_write_options_default();
  PlaError err = { 0 };
  if (pla_item_write(path, &item, &write, &err) != PLA_OK)
    g_error("%s", err.message);
  pla_mesh_free(mesh);
}

/* 60 x 40 x 20 mm, tagged by cell number and with a temperature at its vertices */
static void
write_block(const char *path)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.06, 0.04, 0.02 };
  const int n[3] = { 6, 4, 2 };
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &mesh, &err), ==, PLA_OK);
  int *tag = pla_mesh_add_field(mesh, "tag", PLA_ON_CELLS, PLA_I32, 1);
  double *warm = pla_mesh_add_field(mesh, "warm", PLA_ON_VERTS, PLA_F64, 1);
  for (int t = 0; t < mesh->n_tets; t++)
    tag[t] = 1000 + t;
  for (int v = 0; v < mesh->n_verts; v++)
    warm[v] = mesh->pos[3 * v];
  write_mesh(path, mesh);
}

/* the triangle through x (m) across everything */
static void
write_blade(const char *path, double x)
{
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_mesh_new(3, 1, 0, 0, &mesh, &err), ==, PLA_OK);
  const double pos[9] = { x, -0.2, -0.2, x, 0.4, -0.2, x, 0.0, 0.5 };
  const int tri[3] = { 0, 1, 2 };
  memcpy(mesh->pos, pos, sizeof pos);
  memcpy(mesh->tri, tri, sizeof tri);
  write_mesh(path, mesh);
}

static void
test_files(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-cut-XXXXXX", NULL);
  g_autofree char *body = g_build_filename(folder, "block.vtu", NULL);
  g_autofree char *first = g_build_filename(folder, "first.stl", NULL);
  g_autofree char *second = g_build_filename(folder, "second.stl", NULL);
  g_autofree char *far = g_build_filename(folder, "far.stl", NULL);
  g_autofree char *out = g_build_filename(folder, "cut.vtu", NULL);
  g_autofree char *skin = g_build_filename(folder, "skin.vtp", NULL);
  write_block(body);
  write_blade(first, 0.025);
  write_blade(second, 0.0372);
  write_blade(far, 0.1);

  g_autofree char *words = g_strdup_printf("cut %s --blade %s --blade %s -o %s --surface %s", body,
                                           first, second, out, skin);
  JsonObject *o = verb_test_run(words, 0);
  g_assert_cmpint(json_object_get_int_member(o, "pieces"), ==, 3);
  g_assert_cmpint(json_object_get_int_member(o, "tets_before"), ==, 240);
  g_assert_cmpint(json_object_get_int_member(o, "tets_after"), ==, 320);
  g_assert_cmpfloat_with_epsilon(json_object_get_double_member(o, "volume_before_mm3"), 48000,
                                 1e-6);
  g_assert_cmpfloat_with_epsilon(json_object_get_double_member(o, "volume_after_mm3"), 48000, 1e-3);
  g_assert_true(json_object_has_member(o, "seconds"));
  gint64 n_tris = json_object_get_int_member(o, "surface_triangles");
  json_object_unref(o);

  PlaReadOptions read = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  g_assert_cmpint(pla_item_read(out, &read, &item, &err), ==, PLA_OK);
  const PlaMesh *m = item.mesh;
  const PlaField *tag = pla_mesh_find_field(m, "tag", PLA_ON_CELLS);
  const PlaField *source = pla_mesh_find_field(m, "source_tet", PLA_ON_CELLS);
  const PlaField *warm = pla_mesh_find_field(m, "warm", PLA_ON_VERTS);
  g_assert_true(tag && source && warm && pla_mesh_find_field(m, "fraction", PLA_ON_CELLS));
  for (int t = 0; t < m->n_tets; t++)
    g_assert_cmpint(((int *)tag->data)[t], ==, 1000 + ((int *)source->data)[t]);
  for (int v = 0; v < m->n_verts; v++)
    g_assert_cmpfloat_with_epsilon(((double *)warm->data)[v], m->pos[3 * v], 1e-12);
  pla_item_clear(&item);

  g_assert_cmpint(pla_item_read(skin, &read, &item, &err), ==, PLA_OK);
  PlaMeshSummary summary;
  g_assert_cmpint(item.mesh->n_tris, ==, n_tris);
  g_assert_cmpint(pla_mesh_summary(item.mesh, &summary, &err), ==, PLA_OK);
  g_assert_true(summary.closed);
  g_assert_cmpint(summary.components, ==, 3);
  g_assert_cmpfloat_with_epsilon(summary.volume_m3, 48e-6, 1e-12);
  pla_item_clear(&item);

  /* a blade that misses, a body without tets, no blade: a sentence, and the old file stays */
  g_autofree char *miss = g_strdup_printf("cut %s --blade %s -o %s", body, far, out);
  json_object_unref(verb_test_run(miss, 1));
  g_autofree char *no_tets = g_strdup_printf("cut %s --blade %s -o %s", first, second, out);
  json_object_unref(verb_test_run(no_tets, 2));
  g_autofree char *no_blade = g_strdup_printf("cut %s -o %s", body, out);
  json_object_unref(verb_test_run(no_blade, 2));
  g_assert_cmpint(pla_item_read(out, &read, &item, &err), ==, PLA_OK);
  g_assert_cmpint(item.mesh->n_tets, ==, 320);
  pla_item_clear(&item);
  const char *const made[] = { body, first, second, far, out, skin };
  for (size_t i = 0; i < G_N_ELEMENTS(made); i++)
    g_remove(made[i]);
  g_rmdir(folder);
}

/* 48 x 40 x 12 mm of skin on 4 mm of bone, voxels of 2 mm, the skin's surface at z = 0 */
static void
write_slab(const char *folder, const char *path)
{
  const int dims[4] = { 26, 22, 10, 1 };
  const double affine[12] = { 2, 0, 0, -25, 0, 2, 0, -21, 0, 0, 2, -17 };
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  PlaError err = { 0 };
  PlaWriteOptions write = pla_write_options_default();
  g_autofree char *names = g_build_filename(folder, "slab.tsv", NULL);
  g_assert_cmpint(pla_volume_new(dims, PLA_U8, &item.volume, &err), ==, PLA_OK);
  memcpy(item.volume->affine_mm, affine, sizeof affine);
  for (int k = 0; k < dims[2]; k++)
    for (int j = 1; j + 1 < dims[1]; j++)
      for (int i = 1; i + 1 < dims[0]; i++)
        ((uint8_t *)item.volume->voxels)[i + 26 * (j + 22 * k)] = k < 1   ? 0
                                                                  : k < 3 ? 2
                                                                  : k < 9 ? 1
                                                                          : 0;
  g_assert_cmpint(pla_item_write(path, &item, &write, &err), ==, PLA_OK);
  g_assert_true(g_file_set_contents(names, "index\tname\n1\tskin\n2\tbone\n", -1, NULL));
  pla_item_clear(&item);
}

static void
test_operate(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-operate-XXXXXX", NULL);
  g_autofree char *labels = g_build_filename(folder, "slab.nii", NULL);
  g_autofree char *patient = g_build_filename(folder, "slab.platysma", NULL);
  g_autofree char *plan = g_build_filename(folder, "plan.json", NULL);
  g_autofree char *out = g_build_filename(folder, "out.vtu", NULL);
  write_slab(folder, labels);
  g_autofree char *make = g_strdup_printf("case new %s", patient);
  g_autofree char *import = g_strdup_printf("case import %s %s", patient, labels);
  g_autofree char *operate = g_strdup_printf("operate %s -o %s", plan, out);
  json_object_unref(verb_test_run(make, 0));
  json_object_unref(verb_test_run(import, 0));

  const char *good =
      "{\"case\": \"slab.platysma\", \"lattice_mm\": 4, \"operations\": ["
      "{\"excise\": {\"name\": \"lesion\", \"depth_mm\": 6, \"path_mm\": [[-11,0,0],[-5,4.5,0],"
      "[5,4.5,0],[11,0,0],[5,-4.5,0],[-5,-4.5,0]]}},"
      "{\"undermine\": {\"from\": \"lesion\", \"radius_mm\": 10, \"depth_mm\": 6}},"
      "{\"suture\": {\"edges\": [\"lesion\", \"lesion\"], \"spacing_mm\": 5}},"
      "{\"solve\": {\"tolerance_rel\": 1e-4}}]}";
  g_assert_true(g_file_set_contents(plan, good, -1, NULL));
  JsonObject *o = verb_test_run(operate, 0);
  JsonArray *done = json_object_get_array_member(o, "operations");
  g_assert_cmpuint(json_array_get_length(done), ==, 4);
  g_assert_true(json_object_get_boolean_member(o, "converged"));
  g_assert_cmpint(json_object_get_int_member(o, "inverted"), ==, 0);
  g_assert_cmpint(json_object_get_int_member(o, "stitches"), >=, 3);
  g_assert_cmpfloat(json_object_get_double_member(o, "closed_gap_mm"), <, 0.5);
  g_assert_cmpfloat(json_object_get_double_member(o, "max_stretch"), >, 1.0);
  double specimen =
      json_object_get_double_member(json_array_get_object_element(done, 0), "specimen_mm3");
  g_assert_cmpfloat(specimen, >, 0.75 * 144 * 6);
  g_assert_cmpfloat(specimen, <, 1.02 * 144 * 6);

  /* the same on a finer mesh, with what differs; and on another patient, where it must name one */
  g_autofree char *first = g_build_filename(folder, "first.json", NULL);
  g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), o);
  g_autofree char *printed = json_to_string(node, FALSE);
  g_assert_true(g_file_set_contents(first, printed, -1, NULL));
  const double closed = json_object_get_double_member(o, "closed_gap_mm");
  json_object_unref(o);
  g_autofree char *finer =
      g_strdup_printf("operate %s -o %s --lattice-mm 3 --against %s", plan, out, first);
  o = verb_test_run(finer, 0);
  JsonObject *differ = json_object_get_object_member(o, "differences");
  g_assert_cmpfloat(json_object_get_double_member(differ, "tets"), >, 0.0);
  g_assert_cmpfloat_with_epsilon(json_object_get_double_member(differ, "closed_gap_mm"),
                                 json_object_get_double_member(o, "closed_gap_mm") - closed, 1e-12);
  json_object_unref(o);
  g_autofree char *other = g_strdup_printf("operate %s -o %s --case %s.none", plan, out, patient);
  json_object_unref(verb_test_run(other, 2));
  g_autofree char *nothing = g_strdup_printf("operate %s -o %s --against %s", plan, out, plan);
  o = verb_test_run(nothing, 2);
  g_assert_nonnull(strstr(json_object_get_string_member(o, "error"), "has no \"tets\""));
  json_object_unref(o);
  g_remove(first);

  /* the same in the case: a body and rows of the log; a blade from a file, which may go afterwards
   */
  g_autofree char *blade = g_build_filename(folder, "blade.obj", NULL);
  const char *obj = "v 12 -9 5\nv 12.3 31 5\nv 12.3 31 -40\nv 12 -9 -40\nf 1 2 3\nf 1 3 4\n";
  g_assert_true(g_file_set_contents(blade, obj, -1, NULL));
  g_assert_true(g_file_set_contents(plan,
                                    "{\"case\": \"slab.platysma\", \"lattice_mm\": 4, "
                                    "\"operations\": [{\"cut\": {\"surface\": \"blade.obj\"}}]}",
                                    -1, NULL));
  g_autofree char *into = g_strdup_printf("operate %s --commit", plan);
  g_autofree char *list = g_strdup_printf("case list %s", patient);
  g_autofree char *replay = g_strdup_printf("case replay %s", patient);
  o = verb_test_run(into, 0);
  g_assert_cmpint(json_object_get_int_member(o, "committed"), ==, 2);
  json_object_unref(o);
  g_remove(blade);
  json_object_unref(verb_test_run(list, 0));
  json_object_unref(verb_test_run(replay, 0));
  g_autofree char *both = g_strdup_printf("operate %s --commit -o %s", plan, out);
  json_object_unref(verb_test_run(both, 2));

  /* what a plan can get wrong is named by its place */
  const char *const bad[][2] = {
    { "{\"case\": \"slab.platysma\", \"lattice_mm\": 4, \"operations\": [{\"stab\": {}}]}",
      "operations[0]" },
    { "{\"case\": \"slab.platysma\", \"lattice_mm\": 4, \"operations\": [{\"solve\": {\"speed\": "
      "1}}]}",
      "speed" },
    { "{\"case\": \"slab.platysma\", \"lattice_mm\": 4, \"operations\": [{\"suture\": {\"edges\": "
      "[\"a\", \"b\"], \"spacing_mm\": 4}}]}",
      "'a'" },
    { "{\"case\": \"slab.platysma\", \"lattice_mm\": 4, \"operations\": [{\"incise\": {\"name\": "
      "\"x\", "
      "\"path_mm\": [[0,0,0],[0,0,90]], \"depth_mm\": 4}}]}",
      "point 2" },
    { "{\"case\": \"slab.platysma\", \"lattice_mm\": 4, \"operations\": [{\"cut\": "
      "{\"points_mm\": [[0,0,0]], \"triangles\": [[0,0,1]]}}]}",
      "point 1 of 1" },
    { "{\"case\": \"slab.platysma\", \"operations\": []}", "lattice_mm" },
    { "{\"case\": \"none.platysma\", \"lattice_mm\": 4, \"operations\": [{\"solve\": {}}]}",
      "none.platysma" },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_assert_true(g_file_set_contents(plan, bad[i][0], -1, NULL));
    o = verb_test_run(operate, 2);
    if (!strstr(json_object_get_string_member(o, "error"), bad[i][1]))
      g_error("%s", json_object_get_string_member(o, "error"));
    json_object_unref(o);
  }
  g_autofree char *names = g_build_filename(folder, "slab.tsv", NULL);
  const char *const made[] = { labels, names, patient, plan, out };
  for (size_t i = 0; i < G_N_ELEMENTS(made); i++)
    g_remove(made[i]);
  g_rmdir(folder);
}

static void
run_ok(char *words)
{
  json_object_unref(verb_test_run(words, 0));
  g_free(words);
}

static void
write_text(const char *path, const char *text)
{
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* what a step has found */
static double
found_number(JsonObject *o, guint step, const char *key)
{
  JsonArray *done = json_object_get_array_member(o, "operations");
  return json_object_get_double_member(json_array_get_object_element(done, step), key);
}

/* a plan on a larger patient who lies elsewhere, carried there by the landmarks that carried the
 * body */
static void
test_other_patient(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-warp-XXXXXX", NULL);
  enum { LABELS, NAMES, PATIENT, PLAN, OUT, FROM, TO, LABELS2, NAMES2, PATIENT2, FIRST, N_FILES };
  static const char *const names[N_FILES] = { "slab.nii.gz",    "slab.tsv",     "slab.platysma",
                                              "plan.json",      "out.vtu",      "from.csv",
                                              "to.csv",         "other.nii.gz", "other.tsv",
                                              "other.platysma", "first.json" };
  char *file[N_FILES];
  for (int i = 0; i < N_FILES; i++)
    file[i] = g_build_filename(folder, names[i], NULL);
  write_slab(folder, file[LABELS]);
  write_text(file[PLAN],
             "{\"case\": \"slab.platysma\", \"lattice_mm\": 4, \"operations\": ["
             "{\"excise\": {\"name\": \"lesion\", \"depth_mm\": 6, \"path_mm\": "
             "[[-11,0,0],[0,5,0],[11,0,0],[0,-5,0]]}},"
             "{\"undermine\": {\"from\": \"lesion\", \"radius_mm\": 10, \"depth_mm\": 6}},"
             "{\"hook\": {\"at_mm\": [0,9,0], \"pull_mm\": [0,0,1]}},"
             "{\"release\": {}},"
             "{\"suture\": {\"edges\": [\"lesion\", \"lesion\"], \"spacing_mm\": 5}},"
             "{\"solve\": {\"tolerance_rel\": 1e-4}}]}");
  /* turned about z, larger, and 30 mm away */
  g_autoptr(GString) from = g_string_new(NULL);
  g_autoptr(GString) to = g_string_new(NULL);
  for (int i = 0; i < 8; i++) {
    const double p[3] = { i & 1 ? 25 : -25, i & 2 ? 20 : -20, i & 4 ? 5 : -20 };
    g_string_append_printf(from, "p%d,%.6f,%.6f,%.6f\n", i, p[0], p[1], p[2]);
    g_string_append_printf(to, "p%d,%.6f,%.6f,%.6f\n", i, 1.1 * p[0] - 0.2 * p[1] + 30.0,
                           1.1 * p[1] + 0.2 * p[0] - 7.0, 1.05 * p[2] + 4.0);
  }
  write_text(file[FROM], from->str);
  write_text(file[TO], to->str);
  run_ok(g_strdup_printf("case new %s", file[PATIENT]));
  run_ok(g_strdup_printf("case import %s %s", file[PATIENT], file[LABELS]));
  run_ok(g_strdup_printf("warp %s --from %s --to %s -o %s", file[LABELS], file[FROM], file[TO],
                         file[LABELS2]));
  run_ok(g_strdup_printf("case new %s", file[PATIENT2]));
  run_ok(g_strdup_printf("case import %s %s", file[PATIENT2], file[LABELS2]));

  g_autofree char *here = g_strdup_printf("operate %s -o %s", file[PLAN], file[OUT]);
  g_autoptr(JsonObject) first = verb_test_run(here, 0);
  g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), first);
  g_autofree char *printed = json_to_string(node, FALSE);
  write_text(file[FIRST], printed);
  g_autofree char *there =
      g_strdup_printf("operate %s -o %s --case %s --from %s --to %s --against %s", file[PLAN],
                      file[OUT], file[PATIENT2], file[FROM], file[TO], file[FIRST]);
  g_autoptr(JsonObject) second = verb_test_run(there, 0);
  g_assert_cmpint(json_object_get_int_member(second, "landmarks_used"), ==, 8);
  g_assert_true(json_object_get_boolean_member(second, "converged"));
  g_assert_cmpint(json_object_get_int_member(second, "inverted"), ==, 0);
  g_assert_cmpfloat(json_object_get_double_member(second, "edge_gap_mm"), <, 0.5);
  g_assert_true(json_object_has_member(second, "differences"));
  /* the outline is larger by the area's factor, the depth is what was said */
  const double ratio =
      found_number(second, 0, "specimen_mm3") / found_number(first, 0, "specimen_mm3");
  g_test_message("specimen %.3f times as large", ratio);
  g_assert_cmpfloat_with_epsilon(ratio, 1.1 * 1.1 + 0.2 * 0.2, 0.04);

  /* without a warp the other patient's skin is elsewhere; half a warp is none */
  g_autofree char *bare =
      g_strdup_printf("operate %s -o %s --case %s", file[PLAN], file[OUT], file[PATIENT2]);
  json_object_unref(verb_test_run(bare, 2));
  g_autofree char *half =
      g_strdup_printf("operate %s -o %s --to %s", file[PLAN], file[OUT], file[TO]);
  json_object_unref(verb_test_run(half, 2));
  /* labels without names are no tissue, and nothing falls over them */
  write_text(file[PLAN], "{\"case\": \"slab.platysma\", \"lattice_mm\": 4, \"tissue\": "
                         "\"soft tissue\", \"operations\": [{\"solve\": {}}]}");
  g_remove(file[PATIENT]);
  g_remove(file[NAMES]);
  run_ok(g_strdup_printf("case new %s", file[PATIENT]));
  run_ok(g_strdup_printf("case import %s %s --as labels", file[PATIENT], file[LABELS]));
  json_object_unref(verb_test_run(here, 1));
  for (int i = 0; i < N_FILES; i++) {
    g_remove(file[i]);
    g_free(file[i]);
  }
  g_rmdir(folder);
}

/* bone that is meshed beside skin is sawn through, and the skin over it stays whole */
static void
test_osteotomy(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-bone-XXXXXX", NULL);
  g_autofree char *labels = g_build_filename(folder, "slab.nii.gz", NULL);
  g_autofree char *names = g_build_filename(folder, "slab.tsv", NULL);
  g_autofree char *patient = g_build_filename(folder, "slab.platysma", NULL);
  g_autofree char *plan = g_build_filename(folder, "plan.json", NULL);
  g_autofree char *out = g_build_filename(folder, "out.vtu", NULL);
  g_autofree char *operate = g_strdup_printf("operate %s -o %s", plan, out);
  write_slab(folder, labels);
  write_text(names, "index\tname\n1\tskin\n2\tmandible\n");
  run_ok(g_strdup_printf("case new %s", patient));
  run_ok(g_strdup_printf("case import %s %s", patient, labels));
  write_text(plan,
             "{\"case\": \"slab.platysma\", \"lattice_mm\": 4, \"bones\": [\"mandible\"], "
             "\"operations\": ["
             "{\"cut\": {\"through_mm\": [1.3,0,-14], \"normal\": [1,0.1,0], \"radius_mm\": 60, "
             "\"tissue\": \"mandible\"}},"
             "{\"cut\": {\"through_mm\": [-9.2,0,-14], \"normal\": [1,0,0.3], \"radius_mm\": 60, "
             "\"tissue\": \"mandible\"}},"
             "{\"cut\": {\"through_mm\": [12.1,0,-14], \"normal\": [1,0,0], \"radius_mm\": 60}}]}");
  JsonObject *o = verb_test_run(operate, 0);
  JsonArray *done = json_object_get_array_member(o, "operations");
  for (guint i = 0; i < 3; i++) /* of the bone, of the bone, and of everything */
    g_assert_cmpint(json_object_get_int_member(json_array_get_object_element(done, i), "pieces"),
                    ==, i == 1 ? 3 : 2);
  json_object_unref(o);
  write_text(plan, "{\"case\": \"slab.platysma\", \"lattice_mm\": 4, \"bones\": [\"femur\"], "
                   "\"operations\": [{\"solve\": {}}]}");
  o = verb_test_run(operate, 2);
  g_assert_nonnull(strstr(json_object_get_string_member(o, "error"), "'femur'"));
  json_object_unref(o);
  const char *const made[] = { labels, names, patient, plan, out };
  for (size_t i = 0; i < G_N_ELEMENTS(made); i++)
    g_remove(made[i]);
  g_rmdir(folder);
}

/* all of a plan is read before any work starts: before the case, which is not even there */
static void
test_plan_first(void)
{
  static const struct {
    const char *operation, *said;
  } cases[] = {
    { "{\"incise\": {\"name\": \"a\"}}", "needs \\\"path_mm\\\"" },
    { "{\"excise\": {\"name\": \"a\", \"path_mm\": [[0,0,0],[1,0,0],[0,1,0]]}}", "depth_mm" },
    { "{\"undermine\": {\"from\": \"flap\", \"depth_mm\": 4}}", "radius_mm" },
    { "{\"undermine\": {\"from\": \"flap\", \"radius_mm\": 9}}", "depth_mm" },
    { "{\"undermine\": {\"from\": \"flop\", \"radius_mm\": 9, \"depth_mm\": 4}}",
      "the wound 'flop'" },
    { "{\"hook\": {\"at_mm\": [0,0,0]}}", "pull_mm" },
    { "{\"suture\": {\"edges\": [\"flap\", \"flap\"]}}", "spacing_mm" },
    { "{\"suture\": {\"edges\": [\"flap\", \"lesion\"], \"spacing_mm\": 4}}",
      "the wound 'lesion'" },
    { "{\"suture\": {\"edges\": [[{\"wound\": \"gone\"}], [{\"wound\": \"flap\"}]], "
      "\"spacing_mm\": 4}}",
      "the wound 'gone'" },
    { "{\"stitch\": {\"points_mm\": [[0,0,0]]}}", "two points" },
    { "{\"tighten\": {}}", "\\\"to\\\"" },
    { "{\"tension\": {\"lines\": [{\"at_mm\": [0,0,0]}], \"along\": 1.1}}", "direction" },
    { "{\"expand\": {\"at_mm\": [0,0,0], \"radius_mm\": 9}}", "pressure_kpa" },
    { "{\"implant\": {\"name\": \"a\"}}", "radius_mm" },
    { "{\"cut\": {\"through_mm\": [0,0,0]}}", "normal" },
    { "{\"cut\": {\"through_mm\": [0,0,0], \"normal\": [0,0,0]}}", "no length" },
    { "{\"template\": {\"kind\": \"rhomboid\", \"name\": \"r\", \"at_mm\": [0,0,0], "
      "\"direction\": [1,0,0], \"depth_mm\": 4}}",
      "size_mm" },
    { "{\"solve\": {\"tolerance_rel\": 7}}", "must lie between" },
    { "{\"solv\": {}}", "is no operation" },
    { "7", "is no operation" },
  };
  g_autofree char *folder = g_dir_make_tmp("platysma-plan-XXXXXX", NULL);
  g_autofree char *plan = g_build_filename(folder, "plan.json", NULL);
  g_autofree char *out = g_build_filename(folder, "out.vtu", NULL);
  const char *const how[] = { "-o", "--commit" };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strdup_printf(
        "{\"case\": \"none.platysma\", \"lattice_mm\": 4, \"operations\": ["
        "{\"incise\": {\"name\": \"flap\", \"path_mm\": [[0,0,0],[1,0,0]], \"depth_mm\": 4}}, %s]}",
        cases[i].operation);
    write_text(plan, text);
    for (int k = 0; k < 2; k++) {
      g_autoptr(JsonObject) o = verb_test_runf(2, "operate %s %s %s", plan, how[k], k ? "" : out);
      const char *sentence = json_object_get_string_member(o, "error");
      g_autofree char *said = g_strcompress(cases[i].said);
      if (!strstr(sentence, said) || !strstr(sentence, "operations[1]"))
        g_error("%s: %s", cases[i].operation, sentence);
    }
  }
  g_unlink(plan);
  g_rmdir(folder);
}

/* a folder that is not there, or a picture that is none, is told before the input is even opened */
static void
test_outputs_first(void)
{
  static const struct {
    const char *words, *said;
  } cases[] = {
    { "mesh none.nii.gz --method tets --cell-mm 4 -o /no/such/out.vtu", "no folder /no/such" },
    { "segment none.nii.gz --preset ct-head -o /no/such/out.nii.gz", "no folder /no/such" },
    { "simulate none.json -o /no/such/out.vtu", "no folder /no/such" },
    { "operate none.json -o out.vtu --surface /no/such/out.stl", "no folder /no/such" },
    { "fit phantom:face none.csv -o out.csv --residuals /no/such/r.csv", "no folder /no/such" },
    { "speak none.wav -o out.csv --animation /no/such/a.pvd", "no folder /no/such" },
    { "speak none.wav -o out.csv --muscles out.bmp", ".png" },
    { "surface none.nii.gz --label 1 -o out.stl --distance /no/such/d.nii", "no folder /no/such" },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(JsonObject) o = verb_test_run(cases[i].words, 2);
    const char *sentence = json_object_get_string_member(o, "error");
    if (!strstr(sentence, cases[i].said))
      g_error("%s: %s", cases[i].words, sentence);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/app/cut-verb/files", test_files);
  g_test_add_func("/app/cut-verb/operate", test_operate);
  g_test_add_func("/app/cut-verb/plan-first", test_plan_first);
  g_test_add_func("/app/cut-verb/outputs-first", test_outputs_first);
  g_test_add_func("/app/cut-verb/other-patient", test_other_patient);
  g_test_add_func("/app/cut-verb/osteotomy", test_osteotomy);
  return g_test_run();
}
