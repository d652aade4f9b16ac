/* `platysma-cli muscles`, `warp` and `register` from file to file and in cases. */
#include "anatomy/mesh/box-mesh.h"
#include "app/case/session.h"
#include "app/motion/landmark-table.h"
#include "app/motion/muscles.h"
#include "io/formats/label-files.h"
#include "io/stream/text-table.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>

typedef struct {
  char *folder, *labels, *mesh, *description, *out, *other;
} Files;

/* a bar of muscle, 40 x 12 x 12 mm, between two blocks of bone, in voxels of 2 mm */
static void
write_labels(const char *path)
{
  PlaVolume *vol = NULL;
  PlaLabelTable table = { 0 };
  PlaError err = { 0 };
  g_assert_cmpint(pla_volume_new((int[4]){ 36, 14, 14, 1 }, PLA_U8, &vol, &err), ==, PLA_OK);
  memset(vol->affine_mm, 0, sizeof vol->affine_mm);
  for (int d = 0; d < 3; d++)
    vol->affine_mm[5 * d] = 2.0;
  uint8_t *voxel = vol->voxels;
  for (int v = 0; v < 36 * 14 * 14; v++) {
    const int i = v % 36, j = v / 36 % 14, k = v / (36 * 14);
    if (j < 2 || j > 11 || k < 2 || k > 11)
      continue;
    voxel[v] = i < 2 || i > 33                      ? 0
               : i < 8                              ? 1
               : i > 27                             ? 3
               : j > 3 && j < 10 && k > 3 && k < 10 ? 2
                                                    : 0;
  }
  pla_label_table_set(&table, 1, "left", NULL, &err);
  pla_label_table_set(&table, 2, "bar", NULL, &err);
  pla_label_table_set(&table, 3, "right", NULL, &err);
  const PlaItem item = { .kind = PLA_KIND_VOLUME, .volume = vol, .labels = table };
  PlaWriteOptions write = pla_write_options_default();
  if (pla_item_write(path, &item, &write, &err) != PLA_OK ||
      pla_label_sidecar_write(path, &table, &err) != PLA_OK)
    g_error("%s", err.message);
  pla_volume_free(vol);
  pla_label_table_clear(&table);
}

static void
write_text(const char *path, const char *text)
{
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static const char good[] =
    "{\"muscles\": [{\"name\": \"bar\", \"peak_stress_pa\": 200000, \"heads\": "
    "[{\"origin\": \"left\", \"insertion\": \"right\"}]}]}";

static void
files_init(Files *f)
{
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  f->folder = g_dir_make_tmp("platysma-muscles-XXXXXX", NULL);
  f->labels = g_build_filename(f->folder, "labels.nii.gz", NULL);
  f->mesh = g_build_filename(f->folder, "mesh.vtu", NULL);
  f->description = g_build_filename(f->folder, "muscles.json", NULL);
  f->out = g_build_filename(f->folder, "out.vtu", NULL);
  f->other = g_build_filename(f->folder, "other.csv", NULL);
  write_labels(f->labels);
  write_text(f->description, good);
  g_assert_cmpint(pla_box_mesh_new((double[3]){ 0, 0, 0 }, (double[3]){ 0.07, 0.028, 0.028 },
                                   (int[3]){ 14, 6, 6 }, PLA_BOX_TETS_5, &mesh, &err),
                  ==, PLA_OK);
  const PlaItem item = { .kind = PLA_KIND_MESH, .mesh = mesh };
  PlaWriteOptions write = pla_write_options_default();
  g_assert_cmpint(pla_item_write(f->mesh, &item, &write, &err), ==, PLA_OK);
  pla_mesh_free(mesh);
}

static void
files_clear(Files *f)
{
  GDir *dir = g_dir_open(f->folder, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(f->folder, name, NULL);
    g_remove(path);
  }
  g_dir_close(dir);
  g_rmdir(f->folder);
  g_free(f->folder);
  g_free(f->labels);
  g_free(f->mesh);
  g_free(f->description);
  g_free(f->out);
  g_free(f->other);
}

static double
number(JsonObject *object, const char *key)
{
  g_assert_true(json_object_has_member(object, key));
  return json_object_get_double_member(object, key);
}

static void
test_muscles(void)
{
  Files f;
  files_init(&f);
  g_autofree char *words =
      g_strdup_printf("muscles %s %s --description %s --each --streamlines %s -o %s", f.labels,
                      f.mesh, f.description, f.other, f.out);
  g_autoptr(JsonObject) json = verb_test_run(words, 0);
  JsonObject *bar = json_array_get_object_element(json_object_get_array_member(json, "muscles"), 0);
  g_assert_cmpstr(json_object_get_string_member(bar, "name"), ==, "bar");
  g_assert_cmpint(json_object_get_int_member(bar, "label"), ==, 2);
  g_assert_cmpfloat(fabs(number(bar, "volume_mm3") / 5760.0 - 1.0), <, 0.02);
  g_assert_cmpfloat(fabs(number(bar, "inside_mm3") / 5760.0 - 1.0), <, 0.02);
  g_assert_cmpfloat(fabs(number(bar, "length_mm") - 40.0), <, 3.0);
  g_assert_cmpfloat(fabs(number(bar, "force_n") / (144e-6 * 2e5) - 1.0), <, 0.1);
  g_assert_cmpfloat(number(bar, "straightness"), >, 0.99);
  g_assert_cmpint(json_object_get_int_member(json, "held_vertices"), >, 50);
  g_assert_cmpint(json_object_get_int_member(json, "pairs"), >, 100);

  /* the file: fibres along x, a width of the bar away from its ends: smooth labels round their
   * edges off, and what that does to a potential dies out like exp(-pi x / width) */
  PlaItem item = { 0 };
  PlaReadOptions read = pla_read_options_default();
  PlaError err = { 0 };
  g_assert_cmpint(pla_item_read(f.out, &read, &item, &err), ==, PLA_OK);
  const PlaField *fibre = pla_mesh_find_field(item.mesh, "fibre", PLA_ON_CELLS);
  const PlaField *share = pla_mesh_find_field(item.mesh, "share: bar", PLA_ON_CELLS);
  g_assert_nonnull(fibre);
  g_assert_nonnull(share);
  g_assert_nonnull(pla_mesh_find_field(item.mesh, "tissue", PLA_ON_CELLS));
  g_assert_nonnull(pla_mesh_find_field(item.mesh, "bone", PLA_ON_VERTS));
  for (int t = 0; t < item.mesh->n_tets; t++) {
    double x = 0.0;
    for (int c = 0; c < 4; c++)
      x += 250.0 * item.mesh->pos[3 * item.mesh->tet[4 * t + c]];
    if (((const float *)share->data)[t] > 0.2f && x > 27.0 && x < 43.0)
      g_assert_cmpfloat(((const float *)fibre->data)[3 * t], >, cos(G_PI / 180.0));
  }
  pla_item_clear(&item);
  g_autofree char *lines = NULL;
  g_assert_true(g_file_get_contents(f.other, &lines, NULL, NULL));
  g_assert_true(g_str_has_prefix(lines, "line,muscle,x_mm,y_mm,z_mm\n0,bar,"));

  /* its own output serves as given vectors */
  g_autofree char *again =
      g_strdup_printf("muscles %s %s --description %s --fibres vectors --vectors "
                      "%s -o %s",
                      f.labels, f.mesh, f.description, f.out, f.out);
  g_autoptr(JsonObject) second = verb_test_run(again, 0);
  g_assert_cmpstr(json_object_get_string_member(
                      json_array_get_object_element(json_object_get_array_member(second, "muscles"),
                                                    0),
                      "fibres"),
                  ==, "vectors");

  /* attachments grow by layers of elements, and shrink to nothing */
  int64_t attached[3];
  for (int k = 0; k < 3; k++) {
    g_autofree char *grow =
        g_strdup_printf("muscles %s %s --description %s --grow-attached %d --grow-tendon %d -o %s",
                        f.labels, f.mesh, f.description,
                        k == 1   ? 2
                        : k == 2 ? -50
                                 : 0,
                        0, f.out);
    g_autoptr(JsonObject) grown = verb_test_run(grow, 0);
    attached[k] = json_object_get_int_member(
        json_array_get_object_element(json_object_get_array_member(grown, "muscles"), 0),
        "attached_tets");
  }
  g_assert_cmpint(attached[0], >, 0);
  g_assert_cmpint(attached[1], >, attached[0]);
  g_assert_cmpint(attached[2], ==, 0);
  files_clear(&f);
}

/* the muscle's name in the first row of a table of streamlines */
static char *
name_in_table(const char *path)
{
  PlaLines *lines = NULL;
  PlaText line;
  PlaCells cells;
  PlaCell cell;
  PlaError err = { 0 };
  g_assert_cmpint(pla_lines_open(path, NULL, &lines, &err), ==, PLA_OK);
  for (int i = 0; i < 2; i++)
    g_assert_cmpint(pla_lines_next(lines, &line, &err), ==, PLA_OK);
  pla_cells_init(&cells, &line, ',');
  for (int i = 0; i < 2; i++)
    g_assert_true(pla_cells_next(&cells, &cell));
  char *name = g_strndup(cell.at, (gsize)(cell.end - cell.at));
  pla_cell_undouble_quotes(name);
  pla_cell_drop_apostrophe(name);
  pla_lines_free(lines);
  return name;
}

/* a name that a spreadsheet would compute is text in the table of streamlines */
static void
test_formulas(void)
{
  static const struct {
    const char *name, *json, *cell;
  } cases[] = { { "=1+1", "=1+1", "0,'=1+1," },
                { "@SUM(1,2)", "@SUM(1,2)", "0,\"'@SUM(1,2)\"," },
                { "the \"bar\"", "the \\\"bar\\\"", "0,\"the \"\"bar\"\"\"," } };
  Files f;
  files_init(&f);
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *description =
        g_strdup_printf("{\"muscles\": [{\"name\": \"%s\", \"label\": 2, \"heads\": "
                        "[{\"origin\": \"left\", \"insertion\": \"right\"}]}]}",
                        cases[i].json);
    write_text(f.description, description);
    g_autofree char *words =
        g_strdup_printf("muscles %s %s --description %s --streamlines %s -o %s", f.labels, f.mesh,
                        f.description, f.other, f.out);
    json_object_unref(verb_test_run(words, 0));
    g_autofree char *lines = NULL;
    g_assert_true(g_file_get_contents(f.other, &lines, NULL, NULL));
    g_assert_nonnull(strstr(lines, cases[i].cell));
    g_autofree char *name = name_in_table(f.other);
    g_assert_cmpstr(name, ==, cases[i].name);
  }
  files_clear(&f);
}

/* names of landmarks come back from a table as they were */
static void
test_landmark_names(void)
{
  static const char *const names[] = { "=1+1", "a \"b\", c", " blank", "'@x", "\"", "-3.5", "\rx" };
  PlaLandmarks marks = { 0 }, back;
  PlaError err = { 0 };
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "platysma-landmark-names.csv", NULL);
  for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
    pla_landmarks_add(&marks, names[i], (double[3]){ 1.0, -2.0, (double)i });
  g_assert_cmpint(pla_landmarks_write(path, &marks, &err), ==, PLA_OK);
  if (pla_landmarks_read(path, &back, &err) != PLA_OK)
    g_error("%s", err.message);
  g_assert_cmpint(back.n, ==, marks.n);
  for (size_t i = 0; i + 1 < G_N_ELEMENTS(names); i++)
    g_assert_cmpstr(back.name[i], ==, names[i]);
  g_assert_cmpstr(back.name[G_N_ELEMENTS(names) - 1], ==, " x"); /* a cell has no line ends */
  g_assert_cmpfloat(back.pos_mm[1], ==, -2.0);
  pla_landmarks_clear(&back);
  pla_landmarks_clear(&marks);
  g_remove(path);
}

static void
test_muscles_refused(void)
{
  static const struct {
    const char *description, *says;
  } bad[] = {
    { "{\"muscles\": []}", "muscles" },
    { "{\"muscles\": [{\"name\": \"biceps\", \"heads\": [{\"origin\": \"left\"}]}]}", "biceps" },
    { "{\"muscles\": [{\"name\": \"bar\", \"heads\": [{\"origin\": \"left\", \"insertion\": "
      "\"femur\"}]}]}",
      "femur" },
    { "{\"muscles\": [{\"name\": \"bar\", \"heads\": [{\"origin\": \"left\"}]}]}", "insertion" },
    { "{\"muscles\": [{\"name\": \"bar\", \"head\": []}]}", "head" },
    { "{\"muscles\": [{\"name\": \"bar\", \"label\": 9, \"heads\": [{\"origin\": \"left\"}]}]}",
      "label" },
    { "{\"muscles\": [{\"name\": \"bar\", \"fibres\": \"magic\", \"heads\": []}]}", "fibres" },
    { "{\"muscles\": [{\"name\": \"bar\", \"heads\": [{\"line_mm\": [[0, 0, 0]]}]}]}", "line_mm" },
    { "nonsense", "muscles.json" },
  };
  Files f;
  files_init(&f);
  for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
    write_text(f.description, bad[i].description);
    g_autofree char *words = g_strdup_printf("muscles %s %s --description %s -o %s", f.labels,
                                             f.mesh, f.description, f.out);
    g_autoptr(JsonObject) json = verb_test_run(words, 2);
    const char *error = json_object_get_string_member(json, "error");
    if (!strstr(error, bad[i].says))
      g_error("'%s' does not say '%s'", error, bad[i].says);
  }
  g_autofree char *no_mesh = g_strdup_printf("muscles %s -o %s", f.labels, f.out);
  g_autofree char *no_phantom = g_strdup_printf("muscles phantom:foot -o %s", f.out);
  g_autofree char *no_muscles = g_strdup_printf("muscles phantom:sphere --describe %s", f.other);
  json_object_unref(verb_test_run(no_mesh, 2));
  json_object_unref(verb_test_run(no_phantom, 2));
  json_object_unref(verb_test_run(no_muscles, 1));
  files_clear(&f);
}

/* a phantom's description is one that can be read back */
static void
test_describe(void)
{
  Files f;
  files_init(&f);
  g_autofree char *words = g_strdup_printf("muscles phantom:arm --describe %s", f.description);
  json_object_unref(verb_test_run(words, 0));
  PlaJsonFile *file = NULL;
  PlaJson root;
  PlaMuscleList list;
  PlaError err = { 0 };
  g_assert_cmpint(pla_json_file_load(f.description, &file, &root, &err), ==, PLA_OK);
  g_assert_cmpint(pla_muscle_list_from_json(root, &list, &err), ==, PLA_OK);
  g_assert_cmpint(list.n, ==, 3);
  g_assert_cmpstr(list.muscle[1].name, ==, "triceps brachii");
  g_assert_cmpint(list.muscle[1].n_heads, ==, 3);
  g_assert_cmpstr(list.muscle[1].head[0].origin, ==, "scapula");
  g_assert_nonnull(list.muscle[1].head[0].normal);
  pla_muscle_list_clear(&list);
  pla_json_file_free(file);
  files_clear(&f);
}

/* in a case: an operation whose result is an item that comes back whole, and replays */
static void
test_case(void)
{
  Files f;
  files_init(&f);
  g_autofree char *path = g_build_filename(f.folder, "arm.platysma", NULL);
  g_autoptr(PlaSession) session = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_session_create(path, "arm", &session, &err), ==, PLA_OK);
  const char *const sources[] = { f.labels, f.mesh }, *const names[] = { "tissues", "mesh" };
  for (int i = 0; i < 2; i++) {
    g_autofree char *text =
        g_strdup_printf("{\"name\": \"%s\"%s}", names[i], i == 0 ? ", \"as\": \"labels\"" : "");
    g_autoptr(JsonNode) node = json_from_string(text, NULL);
    const PlaRequest request = { .verb = "import",
                                 .params = json_node_get_object(node),
                                 .source = sources[i],
                                 .read = pla_read_options_default() };
    if (pla_session_run(session, &request, NULL, NULL, &err) != PLA_OK)
      g_error("%s", err.message);
  }
  g_clear_object(&session);
  g_autofree char *words =
      g_strdup_printf("muscles %s --labels tissues --mesh mesh --description %s "
                      "--tendon-mm 6 -o %s",
                      path, f.description, f.out);
  g_autoptr(JsonObject) json = verb_test_run(words, 0);
  JsonObject *bar = json_array_get_object_element(json_object_get_array_member(json, "muscles"), 0);
  g_assert_cmpint(json_object_get_int_member(bar, "tendon_tets"), >, 0);

  g_assert_cmpint(pla_session_open(path, &session, &err), ==, PLA_OK);
  const PlaStateItem *item = pla_state_find_name(pla_session_get_state(session), "muscles");
  g_assert_nonnull(item);
  g_autoptr(PlaContent) content = NULL;
  PlaMuscleSet set;
  g_assert_cmpint(pla_session_load(session, item->item, NULL, &content, &err), ==, PLA_OK);
  g_assert_cmpint(pla_muscle_set_from_content(content, &set, &err), ==, PLA_OK);
  g_assert_cmpint(set.list.n, ==, 1);
  g_assert_cmpint(set.n_bones, ==, 2);
  g_assert_cmpint(set.report[0].n_tets, ==, json_object_get_int_member(bar, "tets"));
  g_assert_cmpint(set.muscle_start[1], ==, set.n_pairs);
  pla_muscle_set_clear(&set);

  PlaReplay replay = { 0 };
  g_assert_cmpint(pla_session_replay(session, NULL, &replay, &err), ==, PLA_OK);
  g_assert_cmpint(replay.n_equal, ==, replay.n_operations);
  pla_replay_clear(&replay);
  g_clear_object(&session);
  files_clear(&f);
}

/* ---- warp ---- */

static void
test_warp(void)
{
  Files f;
  files_init(&f);
  PlaPhantom phantom = { 0 };
  PlaLandmarks mark;
  PlaError err = { 0 };
  g_assert_cmpint(pla_phantom_make("head", 12.0, NULL, &phantom, &err), ==, PLA_OK);
  pla_landmarks_from_phantom(&phantom, &mark);
  /* a longer, narrower head, with one landmark that the template does not know */
  for (int i = 0; i < mark.n; i++) {
    mark.pos_mm[3 * i] *= 0.92;
    mark.pos_mm[3 * i + 1] = 1.04 * mark.pos_mm[3 * i + 1] + 5.0;
    mark.pos_mm[3 * i + 2] = 1.1 * mark.pos_mm[3 * i + 2] - 20.0;
  }
  pla_landmarks_add(&mark, "scar", (double[3]){ 1, 2, 3 });
  g_assert_cmpint(pla_landmarks_write(f.other, &mark, &err), ==, PLA_OK);
  g_autofree char *labels = g_build_filename(f.folder, "patient.nii.gz", NULL);
  g_autofree char *words =
      g_strdup_printf("warp phantom:head --spacing-mm 6 --to %s --muscles %s -o "
                      "%s",
                      f.other, f.description, labels);
  g_autoptr(JsonObject) json = verb_test_run(words, 0);
  g_assert_cmpint(json_object_get_int_member(json, "landmarks_used"), ==, mark.n - 1);
  g_assert_cmpfloat(number(json, "rms_mm"), <, 1e-9);
  g_assert_cmpfloat(number(json, "affine_mm"), <, 1e-6);
  g_assert_cmpfloat(number(json, "left_out_mm"), <, 1e-6);
  g_assert_cmpfloat(number(json, "rigid_mm"), >, 2.0);
  g_assert_cmpfloat_with_epsilon(number(json, "least_volume_factor"), 0.92 * 1.04 * 1.1, 1e-6);
  g_assert_cmpint(json_array_get_length(json_object_get_array_member(json, "only_in_patient")), ==,
                  1);

  /* muscles went along: the masseter's line, and its section */
  PlaJsonFile *file = NULL;
  PlaJson root;
  PlaMuscleList moved, own;
  g_assert_cmpint(pla_json_file_load(f.description, &file, &root, &err), ==, PLA_OK);
  g_assert_cmpint(pla_muscle_list_from_json(root, &moved, &err), ==, PLA_OK);
  g_assert_cmpint(pla_muscle_list_from_phantom(&phantom, &own, &err), ==, PLA_OK);
  g_assert_cmpint(moved.n, ==, 54);
  for (int m = 0; m < moved.n; m++)
    for (int i = 0; i < own.muscle[m].head[0].n_points; i++)
      g_assert_cmpfloat_with_epsilon(moved.muscle[m].head[0].pos_mm[3 * i],
                                     0.92 * own.muscle[m].head[0].pos_mm[3 * i], 1e-6);
  pla_muscle_list_clear(&moved);
  pla_muscle_list_clear(&own);
  pla_json_file_free(file);
  /* and the labels: volumes grow by the factor */
  PlaItem item = { 0 };
  PlaReadOptions read = pla_read_options_default();
  g_assert_cmpint(pla_item_read(labels, &read, &item, &err), ==, PLA_OK);
  g_assert_nonnull(pla_label_table_find_name(&item.labels, "masseter, left"));
  pla_item_clear(&item);

  /* landmarks that are wrong in all kinds of ways */
  static const struct {
    const char *text, *says;
  } bad[] = {
    { "", "no landmarks" },
    { "vertex,1,2,3\nglabella,4,5\n", "line 2" },
    { "vertex,1,2,3\nvertex,4,5,6\n", "listed twice" },
    { "vertex,1,2,3\nglabella,4,five,6\n", "five" },
    { "a,1,2,3\nb,4,5,6\nc,7,8,9\nd,0,0,1\n", "0 of its 4" },
    { "name,x,y,z\nvertex,0,0,0\nglabella,1,0,0\npogonion,0,1,0\nmenton,0,0,1\n", "plane" },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
    write_text(f.other, bad[i].text);
    g_autofree char *wrong =
        g_strdup_printf("warp phantom:head --spacing-mm 12 --to %s -o %s", f.other, labels);
    g_autoptr(JsonObject) answer = verb_test_run(wrong, i == 0 ? 1 : 2);
    const char *error = json_object_get_string_member(answer, "error");
    if (!strstr(error, bad[i].says))
      g_error("'%s' does not say '%s'", error, bad[i].says);
  }
  pla_landmarks_clear(&mark);
  pla_phantom_clear(&phantom);
  files_clear(&f);
}

/* ---- register ---- */

static void
test_register(void)
{
  Files f;
  files_init(&f);
  PlaLandmarks mark = { 0 };
  PlaError err = { 0 };
  g_autofree char *fixed = g_build_filename(f.folder, "scan.csv", NULL);
  g_autofree char *moved = g_build_filename(f.folder, "moved.csv", NULL);
  const PlaRigid truth = pla_rigid_about((double[3]){ 10, 0, 5 }, (double[3]){ 0.3, -0.1, 0.2 },
                                         (double[3]){ 30, -20, 10 });
  GRand *rand = g_rand_new_with_seed(9);
  for (int i = 0; i < 12; i++) {
    g_autofree char *name = g_strdup_printf("marker %d", i);
    double p[3];
    for (int d = 0; d < 3; d++)
      p[d] = g_rand_double_range(rand, -60, 60);
    pla_landmarks_add(&mark, name, p);
  }
  g_rand_free(rand);
  g_assert_cmpint(pla_landmarks_write(f.other, &mark, &err), ==, PLA_OK);
  for (int i = 0; i < mark.n; i++)
    pla_rigid_apply(&truth, mark.pos_mm + 3 * i, mark.pos_mm + 3 * i);
  mark.pos_mm[3 * 4] += 40.0; /* a swapped label */
  g_assert_cmpint(pla_landmarks_write(fixed, &mark, &err), ==, PLA_OK);
  g_autofree char *words =
      g_strdup_printf("register %s %s --landmarks -o %s", fixed, f.other, moved);
  g_autoptr(JsonObject) json = verb_test_run(words, 0);
  g_assert_cmpint(json_object_get_int_member(json, "used"), ==, 11);
  g_assert_cmpfloat(number(json, "rms_mm"), <, 1e-4);
  g_assert_cmpfloat_with_epsilon(number(json, "angle_deg"), pla_rigid_angle_deg(&truth), 1e-4);
  PlaLandmarks back;
  g_assert_cmpint(pla_landmarks_read(moved, &back, &err), ==, PLA_OK);
  for (int i = 0; i < back.n; i++)
    if (i != 4)
      g_assert_cmpfloat_with_epsilon(back.pos_mm[3 * i + 1], mark.pos_mm[3 * i + 1], 1e-3);
  pla_landmarks_clear(&back);
  pla_landmarks_clear(&mark);

  /* two kinds of things, and a file that is not there */
  g_autofree char *mixed = g_strdup_printf("register %s %s", f.labels, f.mesh);
  g_autofree char *none = g_strdup_printf("register %s %s.no", f.labels, f.mesh);
  json_object_unref(verb_test_run(mixed, 2));
  json_object_unref(verb_test_run(none, 2));
  files_clear(&f);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/verbs/muscles", test_muscles);
  g_test_add_func("/verbs/muscles-formulas", test_formulas);
  g_test_add_func("/verbs/landmark-names", test_landmark_names);
  g_test_add_func("/verbs/muscles-refused", test_muscles_refused);
  g_test_add_func("/verbs/muscles-describe", test_describe);
  g_test_add_func("/verbs/muscles-in-case", test_case);
  g_test_add_func("/verbs/warp", test_warp);
  g_test_add_func("/verbs/register", test_register);
  return g_test_run();
}
