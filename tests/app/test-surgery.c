/* Surgery as operations of a case: undone, redone, replayed, branched, refused. */
#include "anatomy/base/parallel.h"
#include "app/case/session.h"
#include "app/surgery/surgery-body.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#define TRY(call)                                                                                  \
  do {                                                                                             \
    PlaError err = { 0 };                                                                          \
    if ((call) != PLA_OK)                                                                          \
      g_error("%s", err.message);                                                                  \
  } while (0)

static char *folder;

static PlaStatus
apply(PlaSession *session, const char *verb, const char *params, PlaError *err)
{
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  g_assert_nonnull(node);
  PlaRequest request = { .verb = verb, .params = json_node_get_object(node) };
  return pla_session_run(session, &request, NULL, NULL, err);
}

/* a slab with its body of coarse cells */
static PlaSession *
new_case(const char *name)
{
  PlaSession *session = NULL;
  g_autofree char *path = g_build_filename(folder, name, NULL);
  TRY(pla_session_create(path, "slab", &session, &err));
  TRY(apply(session, "phantom", "{\"phantom\": \"skin-slab\", \"spacing_mm\": 3}", &err));
  TRY(apply(session, "prepare-body", "{\"item\": \"skin-slab\", \"lattice_mm\": 8}", &err));
  return session;
}

static const char *const plan[] = {
  ("{\"steps\": [{\"incise\": {\"name\": \"flap\", \"path_mm\": "
   "[[-30, -25, 0], [-5, -12, 0], [20, -25, 0]], \"depth_mm\": 7, \"bevel_deg\": 5}}]}"),
  "{\"steps\": [{\"undermine\": {\"from\": \"flap\", \"radius_mm\": 14, \"depth_mm\": 7}}]}",
  "{\"steps\": [{\"hook\": {\"at_mm\": [-5, -16, 0], \"pull_mm\": [0, -5, 2]}}, {\"solve\": {}}]}",
  ("{\"steps\": [{\"release\": {}}, {\"excise\": {\"name\": \"lesion\", \"path_mm\": [[0, 10, 0], "
   "[14, 5, 0], [28, 10, 0], [28, 20, 0], [14, 25, 0], [0, 20, 0]], \"depth_mm\": 6}}]}"),
  "{\"steps\": [{\"suture\": {\"edges\": [\"lesion\", \"lesion\"], \"spacing_mm\": 6}}]}",
  "{\"steps\": [{\"solve\": {\"tolerance_rel\": 1e-5}}]}",
};
enum { N_STEPS = G_N_ELEMENTS(plan) };

static PlaHash
state_hash(PlaSession *session)
{
  return pla_state_hash(pla_session_get_state(session));
}

static PlaContent *
load_body(PlaSession *session)
{
  PlaContent *content = NULL;
  const PlaStateItem *item = pla_state_find_name(pla_session_get_state(session), "body");
  g_assert_nonnull(item);
  g_assert_cmpstr(item->kind, ==, PLA_ITEM_BODY);
  TRY(pla_session_load(session, item->item, NULL, &content, &err));
  return content;
}

/* @path: the case is closed and opened between steps */
static void
operate_all(PlaSession **session, const char *path, PlaHash hash[N_STEPS + 1])
{
  hash[0] = state_hash(*session);
  for (int i = 0; i < N_STEPS; i++) {
    if (path) {
      g_object_unref(*session);
      TRY(pla_session_open(path, session, &err));
    }
    TRY(apply(*session, "operate", plan[i], &err));
    hash[i + 1] = state_hash(*session);
    g_assert_false(memcmp(&hash[i], &hash[i + 1], sizeof hash[i]) == 0);
  }
}

/* the same bits on one and two threads, for a body that stays in memory and one that is read from
 * the file before every step, after undoing everything and doing it again, and when the log is run
 * again */
static void
test_undo(void)
{
  PlaHash hash[2][N_STEPS + 1];
  for (int run = 0; run < 2; run++) {
    g_autofree char *name = g_strdup_printf("undo%d.platysma", run);
    g_autofree char *path = g_build_filename(folder, name, NULL);
    pla_threads_set(run + 1);
    PlaSession *session = new_case(name);
    operate_all(&session, run ? path : NULL, hash[run]);
    if (run == 0) {
      g_autofree char *title = NULL;
      g_object_get(session, "undo-title", &title, NULL);
      g_assert_cmpstr(title, ==, "Solve");
    }
    for (int i = N_STEPS; i-- > 0;) {
      TRY(pla_session_undo(session, &err));
      PlaHash now = state_hash(session);
      g_assert_cmpmem(&now, sizeof now, &hash[run][i], sizeof now);
    }
    g_object_unref(session);
    TRY(pla_session_open(path, &session, &err));
    for (int i = 0; i < N_STEPS; i++) {
      TRY(pla_session_redo(session, &err));
      PlaHash now = state_hash(session);
      g_assert_cmpmem(&now, sizeof now, &hash[run][i + 1], sizeof now);
    }
    if (run == 1) { /* and on one thread again */
      PlaReplay replay = { 0 };
      pla_threads_set(1);
      TRY(pla_session_replay(session, NULL, &replay, &err));
      g_assert_cmpint(replay.n_equal, ==, replay.n_operations);
      g_assert_cmpint(replay.n_operations, ==, N_STEPS + 2);
      pla_replay_clear(&replay);
    }
    g_object_unref(session);
  }
  g_assert_cmpmem(hash[0], sizeof hash[0], hash[1], sizeof hash[1]);
  pla_threads_set(2);
}

/* what the item tells: steps as in a plan, numbers with units, a surface with a map */
static void
test_content(void)
{
  PlaSession *session = NULL;
  g_autofree char *path = g_build_filename(folder, "undo1.platysma", NULL);
  TRY(pla_session_open(path, &session, &err));
  g_autoptr(PlaContent) body = load_body(session);
  JsonObject *surgery = pla_body_get_surgery(body);
  JsonArray *steps = json_object_get_array_member(surgery, "steps");
  g_assert_cmpuint(json_array_get_length(steps), ==, 8);
  g_assert_cmpuint(json_array_get_length(json_object_get_array_member(surgery, "found")), ==, 8);
  g_assert_true(json_object_has_member(json_array_get_object_element(steps, 0), "incise"));
  JsonObject *readings = json_object_get_object_member(surgery, "readings");
  g_assert_cmpint(json_object_get_int_member(readings, "stitches"), >=, 2);
  g_assert_cmpfloat(json_object_get_double_member(readings, "closed_gap_mm"), <, 0.5);
  g_assert_cmpfloat(json_object_get_double_member(readings, "closure_force_n"), >, 0.0);
  g_assert_cmpuint(json_array_get_length(json_object_get_array_member(surgery, "wounds")), ==, 2);

  const PlaField *stretch = pla_mesh_find_field(body->mesh, PLA_BODY_STRETCH, PLA_ON_VERTS);
  g_assert_nonnull(stretch);
  double most = 0.0;
  for (int v = 0; v < body->mesh->n_verts; v++)
    most = MAX(most, ((const double *)stretch->data)[v]);
  g_assert_cmpfloat(most, >, 5.0);
  const PlaStoreArray *stitches = pla_content_find_array(body, PLA_BODY_STITCHES);
  g_assert_cmpuint(stitches->shape[1], ==,
                   (uint64_t)json_object_get_int_member(readings, "stitches"));
  g_object_unref(session);
}

/* plan A on one branch, plan B on another, from the same body */
static void
test_branches(void)
{
  PlaSession *session = new_case("branches.platysma");
  TRY(pla_session_add_branch(session, "plan A", -1, &err));
  TRY(apply(session, "operate", plan[0], &err));
  PlaHash a = state_hash(session);
  TRY(pla_session_undo(session, &err));
  TRY(pla_session_add_branch(session, "plan B", -1, &err));
  TRY(apply(session, "operate", plan[3], &err));
  PlaHash b = state_hash(session);
  TRY(pla_session_switch_branch(session, "plan A", &err));
  TRY(pla_session_redo(session, &err));
  PlaHash now = state_hash(session);
  g_assert_cmpmem(&now, sizeof now, &a, sizeof a);
  TRY(pla_session_switch_branch(session, "plan B", &err));
  now = state_hash(session);
  g_assert_cmpmem(&now, sizeof now, &b, sizeof b);
  g_object_unref(session);
}

/* a sentence each, and nothing has changed */
static void
test_refusals(void)
{
  static const struct {
    const char *params, *says;
  } bad[] = {
    { "{\"steps\": []}", "empty" },
    { "{\"steps\": [3]}", "steps[0]" },
    { "{\"steps\": [{\"saw\": {}}]}", "no operation" },
    { "{\"steps\": [{\"incise\": {\"name\": \"x\", \"path_mm\": [[0, 0, 40], [9, 0, 40]], "
      "\"depth_mm\": 3}}]}",
      "from the skin" },
    { "{\"steps\": [{\"suture\": {\"edges\": [\"nowhere\", \"nowhere\"], \"spacing_mm\": 4}}]}",
      "nowhere" },
    { "{\"steps\": [{\"hook\": {\"at_mm\": [0, 0, 30], \"pull_mm\": [0, 0, 1]}}]}",
      "from the skin" },
    /* the first step is fine, and goes with the second */
    { "{\"steps\": [{\"hook\": {\"at_mm\": [0, 0, 0], \"pull_mm\": [0, 0, 1]}}, {\"undermine\": "
      "{\"from\": \"flap\", \"radius_mm\": 10, \"depth_mm\": 3}}]}",
      "flap" },
    { "{\"body\": \"skin-slab\", \"steps\": [{\"solve\": {}}]}", "works on a body" },
  };
  PlaSession *session = new_case("bad.platysma");
  PlaHash before = state_hash(session);
  int64_t head = pla_session_get_head(session);
  for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
    PlaError err = { 0 };
    g_assert_cmpint(apply(session, "operate", bad[i].params, &err), !=, PLA_OK);
    if (!strstr(err.message, bad[i].says))
      g_error("\"%s\" does not mention \"%s\"", err.message, bad[i].says);
    PlaHash after = state_hash(session);
    g_assert_cmpmem(&before, sizeof before, &after, sizeof after);
    g_assert_cmpint(pla_session_get_head(session), ==, head);
  }
  g_object_unref(session);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("platysma-surgery-XXXXXX", NULL);
  g_test_add_func("/app/surgery/undo", test_undo);
  g_test_add_func("/app/surgery/content", test_content);
  g_test_add_func("/app/surgery/branches", test_branches);
  g_test_add_func("/app/surgery/refusals", test_refusals);
  int status = g_test_run();
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  for (const char *name; dir && (name = g_dir_read_name(dir));) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_unlink(path);
  }
  g_rmdir(folder);
  g_free(folder);
  return status;
}
