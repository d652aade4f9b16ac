/* The operation "simulate" on a case, and the solver that follows the hand. */
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "app/case/session.h"
#include "app/content/files.h"
#include "app/verbs/live-solve.h"
#include "io/formats/format.h"
#include "tests/app/verb-test.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static char *dir;

static void
ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

static PlaStatus
apply(PlaSession *session, const char *verb, const char *params, const char *source, PlaError *err)
{
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  g_assert_nonnull(node);
  PlaRequest request = { .verb = verb,
                         .params = json_node_get_object(node),
                         .source = source,
                         .read = pla_read_options_default() };
  return pla_session_run(session, &request, NULL, NULL, err);
}

static void
import(PlaSession *session, PlaItem *item, const char *file, const char *params)
{
  PlaError err;
  g_autofree char *path = g_build_filename(dir, file, NULL);
  PlaWriteOptions opts = pla_write_options_default();
  ok(pla_item_write(path, item, &opts, &err), &err);
  ok(apply(session, "import", params, path, &err), &err);
  g_remove(path);
  pla_item_clear(item);
}

/* a bar of 40 x 10 x 10 mm along x whose half at x > 20 mm is region 2, and a map of labels that
 * has "bone" at x < 0 */
static PlaSession *
bar_case(const char *name)
{
  PlaError err;
  PlaSession *session;
  g_autofree char *path = g_build_filename(dir, name, NULL);
  g_remove(path);
  ok(pla_session_create(path, "bar", &session, &err), &err);

  PlaItem item = { .kind = PLA_KIND_MESH };
  ok(pla_box_mesh_new((double[3]){ 0, 0, 0 }, (double[3]){ 0.04, 0.01, 0.01 }, (int[3]){ 16, 4, 4 },
                      PLA_BOX_TETS_5, &item.mesh, &err),
     &err);
  int32_t *region = pla_mesh_add_field(item.mesh, "region", PLA_ON_CELLS, PLA_I32, 1);
  for (int t = 0; t < item.mesh->n_tets; t++) {
    double x = 0.0;
    for (int a = 0; a < 4; a++)
      x += item.mesh->pos[3 * item.mesh->tet[4 * t + a]] / 4.0;
    region[item.mesh->n_tris + t] = x > 0.02 ? 2 : 1;
  }
  import(session, &item, "bar.vtu", "{\"name\": \"bar\"}");

  item = (PlaItem){ .kind = PLA_KIND_VOLUME };
  ok(pla_volume_new((int[4]){ 20, 20, 20, 1 }, PLA_U8, &item.volume, &err), &err);
  const double affine[12] = { 1, 0, 0, -10.5, 0, 1, 0, -4.5, 0, 0, 1, -4.5 };
  memcpy(item.volume->affine_mm, affine, sizeof affine);
  item.volume->audit.source = PLA_FRAME_MADE;
  for (size_t v = 0; v < 8000; v++)
    ((uint8_t *)item.volume->voxels)[v] = v % 20 < 11 ? 2 : 0; /* centres at x <= -0.5 mm */
  import(session, &item, "labels.nii", "{\"name\": \"tissues\", \"as\": \"labels\"}");
  return session;
}

static PlaContent *
load(PlaSession *session, const char *name)
{
  PlaError err;
  PlaContent *content;
  const PlaStateItem *item = pla_state_find_name(pla_session_get_state(session), name);
  g_assert_nonnull(item);
  ok(pla_session_load(session, item->item, NULL, &content, &err), &err);
  return content;
}

#define PULL PULL_WITH("")
#define PULL_WITH(MORE)                                                                            \
  "{\"item\": \"bar\", \"name\": \"pulled\"," MORE                                                 \
  " \"materials\": [{\"region\": 1, \"preset\": \"fat\"}, {\"region\": 2, \"preset\": \"fat\"}],"  \
  " \"fixed\": [{\"label\": {\"item\": \"tissues\", \"id\": 2, \"within_mm\": 1.2}}],"             \
  " \"hooks\": [{\"at_mm\": [40, 5, 5], \"pull_mm\": [2, 0, 0], \"radius_mm\": 8}]}"

/* Held at one end by the bone that touches it and pulled at the other by 5 %, a bar needs the force
 * of its modulus, and more than half its length away from both ends it stretches by that much. */
static void
test_bar(void)
{
  PlaError err;
  g_autoptr(PlaSession) session = bar_case("bar.platysma");
  ok(apply(session, "simulate", PULL, NULL, &err), &err);
  g_autoptr(PlaContent) rest = load(session, "bar");
  g_autoptr(PlaContent) result = load(session, "pulled");
  JsonObject *found = json_object_get_object_member(result->meta, "simulated");
  g_assert_true(json_object_get_boolean_member(found, "converged"));
  g_assert_cmpfloat(json_object_get_double_member(found, "residual_rel"), <=, 1e-5);
  g_assert_cmpint((int)json_object_get_int_member(found, "inverted"), ==, 0);

  /* the ends are where they were put */
  const PlaMesh *mesh = result->mesh;
  int held = 0, hooked = 0;
  for (int v = 0; v < mesh->n_verts; v++) {
    const double *x = rest->mesh->pos + 3 * v, *y = mesh->pos + 3 * v;
    if (x[0] < 1e-9) {
      held++;
      for (int d = 0; d < 3; d++)
        g_assert_cmpfloat(y[d], ==, x[d]);
    }
    if (x[0] > 0.04 - 1e-9) {
      hooked++;
      g_assert_cmpfloat_with_epsilon(y[0] - x[0], 0.002, 1e-12);
    }
  }
  g_assert_cmpint(held, ==, 25);
  g_assert_cmpint(hooked, ==, 25);

  /* fat: 2.3 kPa on a square centimetre; the ends cannot narrow and the hook's ball holds 6 mm of
   * the length, so the bar is a little stiffer and stretches more in its middle */
  double newton =
      json_array_get_double_element(json_object_get_array_member(found, "hook_force_n"), 0);
  g_assert_cmpfloat(newton, >, 2300.0 * 1e-4 * 0.05);
  g_assert_cmpfloat(newton, <, 1.4 * 2300.0 * 1e-4 * 0.05);
  const PlaField *stretch = pla_mesh_find_field(mesh, "principal_stretch", PLA_ON_CELLS);
  for (int t = 0; t < mesh->n_tets; t++) {
    double x = rest->mesh->pos[3 * mesh->tet[4 * t]];
    if (x > 0.015 && x < 0.02) {
      double l = ((const double *)stretch->data)[3 * (mesh->n_tris + t)];
      g_assert_cmpfloat(l, >, 1.05);
      g_assert_cmpfloat(l, <, 1.075);
    }
  }
  g_assert_cmpfloat_with_epsilon(json_object_get_double_member(found, "max_displacement_mm"), 2.0,
                                 1e-9);
}

/* a region that cannot deform stays, and everything else bends around it */
static void
test_rigid(void)
{
  PlaError err;
  g_autoptr(PlaSession) session = bar_case("rigid.platysma");
  ok(apply(session, "simulate",
           "{\"item\": \"bar\", \"name\": \"bent\","
           " \"materials\": [{\"region\": 2, \"preset\": \"bone\"}],"
           " \"gravity_m_s2\": [0, 0, -9.81]}",
           NULL, &err),
     &err);
  g_autoptr(PlaContent) rest = load(session, "bar");
  g_autoptr(PlaContent) result = load(session, "bent");
  for (int v = 0; v < rest->mesh->n_verts; v++) {
    double x = rest->mesh->pos[3 * v],
           drop = result->mesh->pos[3 * v + 2] - rest->mesh->pos[3 * v + 2];
    if (x >= 0.02 - 1e-9)
      g_assert_cmpfloat(drop, ==, 0.0);
    else if (x < 0.005)
      g_assert_cmpfloat(drop, <, 0.0);
  }
}

/* undo and redo, the same bits for any number of threads, and again by replay */
static void
test_case(void)
{
  PlaError err;
  PlaHash hash[2];
  for (int i = 0; i < 2; i++) {
    pla_threads_set(i ? 4 : 1);
    g_autoptr(PlaSession) session = bar_case("case.platysma");
    PlaHash before = pla_state_hash(pla_session_get_state(session));
    int64_t head = pla_session_get_head(session);
    ok(apply(session, "simulate", PULL, NULL, &err), &err);
    hash[i] = pla_state_hash(pla_session_get_state(session));
    int64_t done = pla_session_get_head(session);
    ok(pla_session_undo(session, &err), &err);
    PlaHash undone = pla_state_hash(pla_session_get_state(session));
    g_assert_true(pla_hash_equal(&undone, &before));

    /* to any place of the history and back */
    ok(pla_session_go_to(session, 0, &err), &err);
    g_assert_cmpint(pla_session_get_state(session)->n, ==, 0);
    ok(pla_session_go_to(session, done, &err), &err);
    PlaHash redone = pla_state_hash(pla_session_get_state(session));
    g_assert_true(pla_hash_equal(&redone, &hash[i]));
    g_assert_cmpint(pla_session_get_branches(session)->n, ==, 1);

    /* what was undone and replaced by other work gets a branch of its own */
    ok(pla_session_go_to(session, head, &err), &err);
    ok(apply(session, "note", "{\"name\": \"n\", \"text\": \"t\"}", NULL, &err), &err);
    ok(pla_session_go_to(session, done, &err), &err);
    redone = pla_state_hash(pla_session_get_state(session));
    g_assert_true(pla_hash_equal(&redone, &hash[i]));
    g_assert_cmpint(pla_session_get_branches(session)->n, ==, 2);
    g_assert_cmpint(pla_session_go_to(session, 4711, &err), ==, PLA_ERR_USAGE);

    if (i == 0) {
      PlaReplay replay = { 0 };
      ok(pla_session_replay(session, NULL, &replay, &err), &err);
      g_assert_cmpint(replay.n_failed, ==, 0);
      g_assert_cmpint(replay.n_equal, ==, replay.n_operations);
      pla_replay_clear(&replay);
    }
  }
  pla_threads_set(0);
  g_assert_true(pla_hash_equal(&hash[0], &hash[1]));
}

/* each mistake is one sentence that names it, and leaves the case as it was */
static void
test_mistakes(void)
{
  static const struct {
    const char *params, *words;
  } cases[] = {
    { "{\"item\": \"bar\", \"fixed\": [{\"region\": 1}],"
      " \"hooks\": [{\"at_mm\": [90, 5, 5], \"pull_mm\": [1, 0, 0]}]}",
      "50.0 mm away" },
    { "{\"item\": \"bar\", \"fixed\": [{\"label\": {\"item\": \"nothing\", \"id\": 2}}]}",
      "nothing" },
    { "{\"item\": \"bar\", \"fixed\": [{\"label\": {\"item\": \"tissues\", \"id\": 9}}]}",
      "no label 9" },
    { "{\"item\": \"bar\", \"fixed\": [{\"label\": {\"item\": \"tissues\", \"id\": 2, "
      "\"within_mm\": 0.1}}]}",
      "within 0.1 mm" },
    { "{\"item\": \"bar\", \"materials\": [{\"region\": 1, \"preset\": \"cheese\"}]}", "cheese" },
    { "{\"item\": \"bar\", \"materials\": [{\"preset\": \"fat\"}]}", "region" },
    { "{\"item\": \"bar\", \"fixed\": [3]}", "fixed" },
    { "{\"item\": \"bar\", \"hooks\": [{\"at_mm\": [40, 5, 5]}]}", "pull_mm" },
    { "{\"item\": \"bar\", \"fixed\": [{\"plane\": {\"through_mm\": [0, 0, 0]}}]}", "normal" },
    { "{\"item\": \"tissues\"}", "mesh" },
    { "{\"item\": \"bar\"}", "nothing holds" }, /* held by nothing */
  };
  g_autoptr(PlaSession) session = bar_case("mistakes.platysma");
  PlaHash before = pla_state_hash(pla_session_get_state(session));
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    PlaError err = { 0 };
    g_assert_cmpint(apply(session, "simulate", cases[i].params, NULL, &err), !=, PLA_OK);
    if (!strstr(err.message, cases[i].words))
      g_error("'%s' does not say '%s'", err.message, cases[i].words);
  }
  PlaHash after = pla_state_hash(pla_session_get_state(session));
  g_assert_true(pla_hash_equal(&before, &after));
}

/* ---- following the hand ---------------------------------------------------------------------- */

typedef struct {
  double *pos;
  int n_verts, shapes;
  gboolean settled;
  char *failure;
} Seen;

static void
on_shape(const PlaLiveShape *shape, const PlaError *err, void *data)
{
  Seen *seen = data;
  if (!shape) {
    seen->failure = g_strdup(err->message);
    return;
  }
  seen->n_verts = shape->n_verts;
  seen->settled = shape->settled;
  seen->shapes++;
  g_free(seen->pos);
  seen->pos = g_memdup2(shape->pos, 3 * (gsize)shape->n_verts * sizeof *seen->pos);
}

static PlaLive *
start(PlaSession *session, const char *params, Seen *seen)
{
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  const PlaRequest request = { .verb = "simulate", .params = json_node_get_object(node) };
  return pla_live_start(pla_session_get_path(session), pla_session_get_state(session), &request,
                        on_shape, seen);
}

/* a hook moved many times ends where the operation with its last place ends; sweeps have the
 * standard elements */
static void
test_live(void)
{
#define STANDARD PULL_WITH("\"scene\": {\"formulation\": \"standard\"},")
  PlaError err;
  g_autoptr(PlaSession) session = bar_case("live.platysma");
  ok(apply(session, "simulate", STANDARD, NULL, &err), &err);
  g_autoptr(PlaContent) result = load(session, "pulled");
  Seen seen = { 0 };
  /* stopping at once is fine; its thread ends while the others run, not while the program exits */
  pla_live_stop(start(session, STANDARD, &seen));
  while (g_main_context_iteration(NULL, FALSE))
    ;
  g_assert_cmpint(seen.shapes, ==, 0);
  PlaLive *live = start(session, STANDARD, &seen);
  while (seen.shapes < 1 && !seen.failure)
    g_main_context_iteration(NULL, TRUE);
  for (int i = 0; i <= 20; i++) {
    const double pull[3] = { 0.1 * i, 0.2 * (20 - i) * 0.1, 0.0 };
    pla_live_pull(live, 0, pull);
    g_main_context_iteration(NULL, FALSE);
  }
  int before = seen.shapes;
  for (seen.settled = FALSE; !seen.settled || seen.shapes == before;)
    g_main_context_iteration(NULL, TRUE);
  double largest = 0.0;
  for (int i = 0; i < 3 * seen.n_verts; i++)
    largest = fmax(largest, fabs(seen.pos[i] - result->mesh->pos[i]));
  g_assert_cmpfloat(largest, <, 2e-5); /* m: a hundredth of the pull */
  g_assert_null(seen.failure);
  pla_live_stop(live);
  g_free(seen.pos);

  /* of other elements they give an estimate */
  ok(apply(session, "simulate", PULL, NULL, &err), &err);
  g_autoptr(PlaContent) averaged = load(session, "pulled");
  seen = (Seen){ 0 };
  live = start(session, PULL, &seen);
  while (!seen.settled && !seen.failure)
    g_main_context_iteration(NULL, TRUE);
  g_assert_null(seen.failure);
  largest = 0.0;
  for (int i = 0; i < 3 * seen.n_verts; i++)
    largest = fmax(largest, fabs(seen.pos[i] - averaged->mesh->pos[i]));
  g_assert_cmpfloat(largest, <, 2e-4); /* m: a tenth of the pull */
  pla_live_stop(live);
  g_free(seen.pos);

  /* what cannot begin says why */
  seen = (Seen){ 0 };
  live = start(session,
               "{\"item\": \"bar\", \"hooks\": [{\"at_mm\": [90, 5, 5], \"pull_mm\": [1, 0, 0]}]}",
               &seen);
  while (!seen.failure)
    g_main_context_iteration(NULL, TRUE);
  g_assert_nonnull(strstr(seen.failure, "mm away"));
  pla_live_stop(live);
  g_free(seen.failure);
}

/* the scene of a file and the same in a case: the same mesh, the same keys and values */
static void
test_same_as_file(void)
{
#define SCENE(MORE)                                                                                \
  "\"materials\": [" MORE "{\"where\": {\"region\": 1}, \"preset\": \"fat\"}],"                    \
  "\"constraints\": [{\"where\": {\"box_mm\": [[-1, -1, -1], [0.1, 99, 99]]}, \"fix\": \"xyz\"}]," \
  "\"probes\": [{\"name\": \"tip\", \"nearest_mm\": [40, 5, 5]}],"                                 \
  "\"gravity_m_s2\": [0, 0, -9.81], \"sensitivity\": true"
  PlaError err;
  g_autoptr(PlaSession) session = bar_case("same.platysma");
  ok(apply(session, "simulate",
           "{\"item\": \"bar\", \"name\": \"bent\", \"scene\": {" SCENE("") "}}", NULL, &err),
     &err);
  g_autoptr(PlaContent) bar = load(session, "bar");
  g_autoptr(PlaContent) bent = load(session, "bent");
  g_autofree char *mesh = g_build_filename(dir, "same.vtu", NULL);
  g_autofree char *scene = g_build_filename(dir, "same.json", NULL);
  g_autofree char *from_file = g_build_filename(dir, "from-file.vtu", NULL);
  g_autofree char *from_case = g_build_filename(dir, "from-case.vtu", NULL);
  ok(pla_content_write_file(bar, mesh, NULL, &err), &err);
  ok(pla_content_write_file(bent, from_case, NULL, &err), &err);
  g_assert_true(g_file_set_contents(
      scene,
      "{\"mesh\": \"same.vtu\", \"solver\": {\"tolerance_rel\": 1e-5, \"max_iterations\": "
      "200}, " SCENE("{\"where\": {\"all\": true}, \"preset\": \"soft-tissue\"}, ") "}",
      -1, NULL));
  g_autoptr(JsonObject) printed = verb_test_runf(0, "simulate %s -o %s", scene, from_file);
  JsonObject *kept = json_object_get_object_member(bent->meta, "simulated");
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  guint n_words = 0;
  json_object_iter_init(&iter, kept);
  while (json_object_iter_next(&iter, &key, &node)) {
    if (strcmp(key, "mesh") == 0 || g_str_has_prefix(key, "hook_")) {
      n_words++; /* of the case */
      continue;
    }
    JsonNode *other = json_object_get_member(printed, key);
    if (!other || !json_node_equal(node, other))
      g_error("'%s' differs", key);
  }
  static const char *const of_a_run[] = { "seconds", "threads" };
  for (gsize i = 0; i < G_N_ELEMENTS(of_a_run); i++)
    g_assert_true(json_object_has_member(printed, of_a_run[i]));
  g_assert_cmpuint(json_object_get_size(printed) - G_N_ELEMENTS(of_a_run), ==,
                   json_object_get_size(kept) - n_words);
  g_autofree char *a = NULL, *b = NULL;
  gsize m, n;
  g_assert_true(g_file_get_contents(from_file, &a, &m, NULL));
  g_assert_true(g_file_get_contents(from_case, &b, &n, NULL));
  g_assert_cmpmem(a, m, b, n);
  const char *const made[] = { mesh, scene, from_file, from_case };
  for (gsize i = 0; i < G_N_ELEMENTS(made); i++)
    g_remove(made[i]);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  dir = g_dir_make_tmp("platysma-simulate-XXXXXX", NULL);
  g_test_add_func("/simulate/bar", test_bar);
  g_test_add_func("/simulate/same-as-file", test_same_as_file);
  g_test_add_func("/simulate/rigid", test_rigid);
  g_test_add_func("/simulate/case", test_case);
  g_test_add_func("/simulate/mistakes", test_mistakes);
  g_test_add_func("/simulate/live", test_live);
  int status = g_test_run();
  static const char *const files[] = { "bar", "rigid", "case", "mistakes", "live", "same" };
  for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = g_strdup_printf("%s/%s.platysma", dir, files[i]);
    g_remove(path);
  }
  g_rmdir(dir);
  g_free(dir);
  return status;
}
