/* The open case: undo and redo across reopening, branches, two programs at once, work in the
 * background, replay, and items that come back bit for bit. */
#include "anatomy/base/parallel.h"
#include "app/base/error.h"
#include "app/case/session.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static char *folder;

static void
ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

static char *
fresh_path(const char *ending)
{
  static int n;
  g_autofree char *name = g_strdup_printf("file-%d%s", n++, ending);
  return g_build_filename(folder, name, NULL);
}

static PlaStatus
apply(PlaSession *session, const char *verb, const char *params, PlaError *err)
{
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  g_assert_nonnull(node);
  PlaRequest request = { .verb = verb,
                         .params = json_node_get_object(node),
                         .read = pla_read_options_default() };
  return pla_session_run(session, &request, NULL, NULL, err);
}

/* a file with a ball of value 100 in a sheared, oblique frame */
static char *
write_ball(int n)
{
  char *path = fresh_path(".nii.gz");
  PlaError err;
  PlaVolume *vol;
  const int dims[4] = { n, n + 3, n - 2, 1 };
  const double affine[12] = { 0.9, 0.1, 0.05, -11.0, -0.1, 0.8, 0.2, 7.5, 0.0, 0.1, 1.25, 3.25 };
  ok(pla_volume_new(dims, PLA_I16, &vol, &err), &err);
  memcpy(vol->affine_mm, affine, sizeof affine);
  int16_t *voxels = vol->voxels;
  for (int k = 0; k < dims[2]; k++)
    for (int j = 0; j < dims[1]; j++)
      for (int i = 0; i < dims[0]; i++) {
        double x = i - n / 2.0, y = j - n / 2.0, z = k - n / 2.0;
        bool in = x * x + y * y + z * z < n * n / 9.0;
        voxels[(k * dims[1] + j) * dims[0] + i] = (int16_t)((in ? 100 : -20) + (i + j + k) % 3);
      }
  PlaItem item = { .kind = PLA_KIND_VOLUME, .volume = vol };
  PlaWriteOptions opts = pla_write_options_default();
  ok(pla_item_write(path, &item, &opts, &err), &err);
  pla_volume_free(vol);
  return path;
}

static PlaStatus
import(PlaSession *session, const char *path, const char *name, PlaError *err)
{
  g_autoptr(JsonObject) params = json_object_new();
  if (name)
    json_object_set_string_member(params, "name", name);
  PlaRequest request = {
    .verb = "import", .params = params, .source = path, .read = pla_read_options_default()
  };
  return pla_session_run(session, &request, NULL, NULL, err);
}

static const PlaStateItem *
find(PlaSession *session, const char *name)
{
  return pla_state_find_name(pla_session_get_state(session), name);
}

static PlaContent *
load(PlaSession *session, const char *name)
{
  PlaError err;
  PlaContent *content;
  const PlaStateItem *item = find(session, name);
  g_assert_nonnull(item);
  ok(pla_session_load(session, item->item, NULL, &content, &err), &err);
  return content;
}

static PlaHash
state_hash(PlaSession *session)
{
  return pla_state_hash(pla_session_get_state(session));
}

static const char brush[] =
    "{\"item\": \"ball labels\", \"points_mm\": [[-3, 12, 14], [0, 12, 15]], \"radius_mm\": 3, "
    "\"label\": 2}";

/* imports, segments, edits, renames, notes: eight operations */
static PlaSession *
make_case(const char *path)
{
  PlaError err;
  PlaSession *session;
  g_autofree char *file = write_ball(24);
  ok(pla_session_create(path, "A case", &session, &err), &err);
  ok(import(session, file, "ball", &err), &err);
  ok(apply(session, "segment", "{\"item\": \"ball\", \"lo\": 50, \"hi\": 200, \"label\": 1}", &err),
     &err);
  ok(apply(session, "edit-label", brush, &err), &err);
  ok(apply(session, "set-labels",
           "{\"item\": \"ball labels\", \"labels\": [{\"id\": 2, \"name\": \"brush\"}]}", &err),
     &err);
  ok(apply(session, "landmark", "{\"name\": \"nasion\", \"at_mm\": [1, 2, 3]}", &err), &err);
  ok(apply(session, "measure", "{\"name\": \"width\", \"points_mm\": [[0, 0, 0], [3, 4, 12]]}",
           &err),
     &err);
  ok(apply(session, "rename", "{\"item\": \"ball labels\", \"name\": \"tissue\"}", &err), &err);
  ok(apply(session, "note", "{\"name\": \"plan\", \"text\": \"S\\u00fcdseite\"}", &err), &err);
  g_unlink(file);
  return session;
}

static void
check_undo(PlaSession *session, const char *undo, const char *redo)
{
  g_autofree char *undo_title = NULL, *redo_title = NULL;
  gboolean can_undo, can_redo;
  g_object_get(session, "can-undo", &can_undo, "can-redo", &can_redo, "undo-title", &undo_title,
               "redo-title", &redo_title, NULL);
  g_assert_cmpstr(undo_title, ==, undo);
  g_assert_cmpstr(redo_title, ==, redo);
  g_assert_cmpint(can_undo, ==, undo != NULL);
  g_assert_cmpint(can_redo, ==, redo != NULL);
}

static void
on_changed(PlaSession *session, int *n)
{
  ++*n;
}

/* every state on the way back and forth has the hash that the log names */
static void
test_undo(void)
{
  g_autofree char *path = fresh_path(".platysma");
  PlaError err;
  PlaSession *session = make_case(path);
  const PlaLog *log = pla_session_get_log(session);
  int n = log->n, n_changed = 0;
  PlaHash hashes[9] = { 0 };
  g_assert_cmpint(n, ==, 8);
  for (int i = 0; i < n; i++)
    hashes[i + 1] = log->row[i].state;
  PlaState none = { 0 };
  hashes[0] = pla_state_hash(&none);
  g_signal_connect(session, "changed", G_CALLBACK(on_changed), &n_changed);

  check_undo(session, "Note", NULL);
  for (int i = n; i > 0; i--) {
    PlaHash is = state_hash(session);
    g_assert_true(pla_hash_equal(&is, &hashes[i]));
    ok(pla_session_undo(session, &err), &err);
    if (i == 5) { /* the place is kept when the case is closed */
      g_object_unref(session);
      ok(pla_session_open(path, &session, &err), &err);
      g_signal_connect(session, "changed", G_CALLBACK(on_changed), &n_changed);
      check_undo(session, "Change Labels", "Landmark");
    }
  }
  g_assert_cmpint(n_changed, ==, n);
  g_assert_cmpint(pla_session_get_state(session)->n, ==, 0);
  check_undo(session, NULL, "Import");
  g_assert_cmpint(pla_session_undo(session, &err), ==, PLA_ERR_EMPTY);
  for (int i = 1; i <= n; i++) {
    ok(pla_session_redo(session, &err), &err);
    PlaHash is = state_hash(session);
    g_assert_true(pla_hash_equal(&is, &hashes[i]));
  }
  g_assert_cmpint(pla_session_redo(session, &err), ==, PLA_ERR_EMPTY);

  /* a new operation after an undo: the old line stays in the log and can be reached */
  int64_t old = pla_session_get_head(session);
  ok(pla_session_undo(session, &err), &err);
  ok(apply(session, "note", "{\"name\": \"other\", \"text\": \"\"}", &err), &err);
  check_undo(session, "Note", NULL);
  g_assert_null(find(session, "plan"));
  ok(pla_session_add_branch(session, "back", old, &err), &err);
  g_assert_nonnull(find(session, "plan"));
  g_object_unref(session);
}

static void
test_branches(void)
{
  g_autofree char *path = fresh_path(".platysma");
  PlaError err;
  PlaSession *session = make_case(path);
  ok(pla_session_add_branch(session, "plan B", 2, &err), &err);
  g_assert_cmpint(pla_session_get_state(session)->n, ==, 2);
  ok(apply(session, "delete", "{\"item\": \"ball labels\"}", &err), &err);
  ok(pla_session_switch_branch(session, "main", &err), &err);
  g_assert_nonnull(find(session, "tissue"));
  ok(pla_session_switch_branch(session, "plan B", &err), &err);
  g_assert_null(find(session, "ball labels"));
  g_assert_cmpint(pla_session_add_branch(session, "main", -1, &err), ==, PLA_ERR_USAGE);
  g_assert_cmpint(pla_session_add_branch(session, "x", 999, &err), ==, PLA_ERR_USAGE);
  g_assert_cmpint(pla_session_switch_branch(session, "nowhere", &err), ==, PLA_ERR_USAGE);
  g_assert_cmpint(pla_session_remove_branch(session, "plan B", &err), ==, PLA_ERR_USAGE);
  ok(pla_session_switch_branch(session, "main", &err), &err);
  ok(pla_session_remove_branch(session, "plan B", &err), &err);
  g_assert_cmpint(pla_session_get_branches(session)->n, ==, 1);
  g_object_unref(session);
}

/* running everything again gives the same hashes, for any number of threads; a changed program
 * is told as a difference */
static void
test_replay(void)
{
  g_autofree char *path = fresh_path(".platysma");
  PlaError err;
  PlaReplay replay;
  PlaSession *session = make_case(path);
  ok(pla_session_add_branch(session, "B", 3, &err), &err);
  ok(apply(session, "edit-label",
           "{\"item\": \"ball labels\", \"points_mm\": [[-3, 12, 14]], \"radius_mm\": 2.5, "
           "\"label\": 300}",
           &err),
     &err);
  int threads = pla_threads_get();
  for (int t = 1; t <= 4; t += 3) {
    pla_threads_set(t);
    ok(pla_session_replay(session, NULL, &replay, &err), &err);
    g_assert_cmpint(replay.n_operations, ==, 9);
    g_assert_cmpint(replay.n_equal, ==, 9);
    g_assert_cmpint(replay.notes.n, ==, 0);
    pla_replay_clear(&replay);
  }
  pla_threads_set(threads);

  /* after compacting, the snapshots stand for the history */
  ok(pla_session_compact(session, NULL, &err), &err);
  ok(pla_session_replay(session, NULL, &replay, &err), &err);
  g_assert_cmpint(replay.n_operations, ==, 2);
  g_assert_cmpint(replay.n_equal, ==, 2);
  pla_replay_clear(&replay);
  g_object_unref(session);
}

/* the same session on two files gives the same hashes: no clock, path or thread in them */
static void
test_hashes_are_free_of_circumstances(void)
{
  g_autofree char *one = fresh_path(".platysma"), *two = fresh_path(".platysma");
  int threads = pla_threads_get();
  pla_threads_set(1);
  PlaSession *a = make_case(one);
  pla_threads_set(4);
  g_usleep(2000);
  PlaSession *b = make_case(two);
  pla_threads_set(threads);
  const PlaLog *la = pla_session_get_log(a), *lb = pla_session_get_log(b);
  g_assert_cmpint(la->n, ==, lb->n);
  /* the imported files have different names, which are part of where an item came from */
  for (int i = 0; i < la->n; i++)
    g_assert_cmpstr(la->row[i].verb, ==, lb->row[i].verb);
  const PlaStateItem *ta = find(a, "tissue"), *tb = find(b, "tissue");
  g_assert_true(pla_hash_equal(&ta->hash, &tb->hash));
  for (int i = 0; i < la->n; i++) {
    g_assert_null(strstr(la->row[i].parameters, folder));
    g_assert_null(strstr(la->row[i].inputs, folder));
  }
  g_object_unref(a);
  g_object_unref(b);
}

/* another program adds something: kept on top where it does not touch what was read, beside it
 * on a branch of its own where it does */
static void
test_two_programs(void)
{
  g_autofree char *path = fresh_path(".platysma");
  PlaError err;
  PlaSession *window = make_case(path), *other;
  ok(pla_session_open(path, &other, &err), &err);
  ok(apply(other, "note", "{\"name\": \"from other\", \"text\": \"x\"}", &err), &err);
  ok(apply(window, "landmark", "{\"name\": \"tip\", \"at_mm\": [0, 0, 1]}", &err), &err);
  g_assert_nonnull(find(window, "from other"));
  g_assert_nonnull(find(window, "tip"));
  g_assert_cmpint(pla_session_get_branches(window)->n, ==, 1);
  ok(pla_session_refresh(other, &err), &err);
  g_assert_nonnull(find(other, "tip"));
  ok(pla_session_undo(other, &err), &err);
  ok(pla_session_undo(other, &err), &err);
  g_assert_null(find(other, "from other"));
  ok(pla_session_refresh(window, &err), &err);
  check_undo(window, "Note", "Note");
  g_object_unref(window);
  g_object_unref(other);
}

/* ---- in the background -------------------------------------------------------------------- */

typedef struct {
  GMainLoop *loop;
  GError *error;
  int64_t operation;
  gboolean done;
  int n_progress;
  GCancellable *cancel_at_progress;
  PlaSession *interfere; /* another session that acts while the work runs */
  gulong late_us;        /* the main loop turns only after this time */
} Waiter;

static void
on_done(GObject *source, GAsyncResult *result, gpointer data)
{
  Waiter *waiter = data;
  waiter->done =
      pla_session_run_finish(PLA_SESSION(source), result, &waiter->operation, &waiter->error);
  g_main_loop_quit(waiter->loop);
}

static void
on_async_progress(const char *phase, double fraction, void *data)
{
  Waiter *waiter = data;
  waiter->n_progress++;
  if (waiter->cancel_at_progress)
    g_cancellable_cancel(waiter->cancel_at_progress);
}

static void
run_async(PlaSession *session, const char *verb, const char *params, const char *source,
          GCancellable *cancellable, Waiter *waiter)
{
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  PlaRequest request = { .verb = verb,
                         .params = json_node_get_object(node),
                         .source = source,
                         .read = pla_read_options_default() };
  waiter->loop = g_main_loop_new(NULL, FALSE);
  pla_session_run_async(session, &request, cancellable, on_async_progress, waiter, on_done, waiter);
  if (waiter->interfere) {
    PlaError err;
    ok(apply(waiter->interfere, "edit-label",
             "{\"item\": \"ball labels\", \"points_mm\": [[-3, 12, 14]], \"radius_mm\": 1.5, "
             "\"label\": 5}",
             &err),
       &err);
  }
  g_usleep(waiter->late_us);
  g_main_loop_run(waiter->loop);
  g_main_loop_unref(waiter->loop);
}

static void
test_async(void)
{
  g_autofree char *path = fresh_path(".platysma");
  g_autofree char *file = write_ball(40);
  PlaError err;
  PlaSession *session;
  /* the import is over before the main loop turns: its progress still comes before its result */
  Waiter waiter = { .late_us = 500000 };
  ok(pla_session_create(path, "async", &session, &err), &err);
  run_async(session, "import", "{\"name\": \"ball\"}", file, NULL, &waiter);
  g_assert_no_error(waiter.error);
  g_assert_true(waiter.done);
  g_assert_cmpint(waiter.operation, ==, 1);
  g_assert_cmpint(waiter.n_progress, >, 0);
  g_assert_nonnull(find(session, "ball"));
  gboolean busy;
  g_object_get(session, "busy", &busy, NULL);
  g_assert_false(busy);

  /* a mistake comes back as an error with the sentence */
  waiter = (Waiter){ 0 };
  run_async(session, "segment", "{\"item\": \"nothing\", \"lo\": 0, \"hi\": 1}", NULL, NULL,
            &waiter);
  g_assert_error(waiter.error, PLA_ERROR, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(waiter.error->message, "nothing"));
  g_clear_error(&waiter.error);

  /* stopped before or while it works: nothing is left of it */
  for (int early = 0; early < 2; early++) {
    g_autoptr(GCancellable) cancellable = g_cancellable_new();
    waiter = (Waiter){ .cancel_at_progress = early ? NULL : cancellable };
    if (early)
      g_cancellable_cancel(cancellable);
    run_async(session, "import", "{\"name\": \"again\"}", file, cancellable, &waiter);
    if (early || waiter.error)
      g_assert_error(waiter.error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    g_assert_cmpint(find(session, "again") != NULL, ==, waiter.done);
    g_clear_error(&waiter.error);
    if (waiter.done)
      ok(pla_session_undo(session, &err), &err);
  }

  /* the other program edits what the work reads: its result goes to a branch of its own, or, had
   * it been the faster one, the other's does */
  ok(apply(session, "segment", "{\"item\": \"ball\", \"lo\": 50, \"hi\": 200}", &err), &err);
  PlaSession *other;
  ok(pla_session_open(path, &other, &err), &err);
  waiter = (Waiter){ .interfere = other };
  run_async(session, "edit-label", brush, NULL, NULL, &waiter);
  g_assert_no_error(waiter.error);
  ok(pla_session_refresh(session, &err), &err);
  ok(pla_session_refresh(other, &err), &err);
  int n_edits = 0;
  const PlaLog *log = pla_session_get_log(session);
  for (int i = 0; i < log->n; i++)
    n_edits += strcmp(log->row[i].verb, "edit-label") == 0;
  g_assert_cmpint(n_edits, ==, 2);
  PlaReplay replay;
  ok(pla_session_replay(session, NULL, &replay, &err), &err);
  g_assert_cmpint(replay.n_equal, ==, replay.n_operations);
  pla_replay_clear(&replay);
  g_object_unref(other);
  g_object_unref(session);
  g_unlink(file);
}

/* ---- contents ------------------------------------------------------------------------------ */

/* stores and loads @content; both must be the same in every byte of their bundles */
static PlaContent *
round_trip(PlaContent *content)
{
  PlaError err;
  PlaStore *store;
  PlaBundle bundle, again;
  PlaContent *back;
  ok(pla_store_create_temporary(&store, &err), &err);
  ok(pla_content_to_bundle(content, "x", &bundle, &err), &err);
  ok(pla_store_begin(store, &err), &err);
  ok(pla_store_put(store, &bundle, NULL, &err), &err);
  ok(pla_store_commit(store, &err), &err);
  ok(pla_content_load(store, &bundle.hash, NULL, &back, &err), &err);
  ok(pla_content_to_bundle(back, "x", &again, &err), &err);
  ok(pla_store_begin(store, &err), &err);
  ok(pla_store_put(store, &again, NULL, &err), &err);
  ok(pla_store_commit(store, &err), &err);
  g_assert_true(pla_hash_equal(&bundle.hash, &again.hash));
  pla_content_bundle_clear(&bundle);
  pla_content_bundle_clear(&again);
  pla_store_close(store);
  return back;
}

static void
test_contents(void)
{
  PlaError err;

  /* a volume over time with every number of its frame set, not-a-numbers too */
  g_autoptr(PlaContent) volume = pla_content_new(PLA_ITEM_VOLUME);
  const int dims[4] = { 5, 4, 3, 2 };
  ok(pla_volume_new(dims, PLA_F32, &volume->volume, &err), &err);
  PlaVolume *vol = volume->volume;
  for (int i = 0; i < 120; i++)
    ((float *)vol->voxels)[i] = i % 7 ? (float)i / 3.0f : NAN;
  for (int i = 0; i < 12; i++)
    vol->affine_mm[i] = vol->audit.srow[i] = vol->audit.qform_mm[i] = 0.1 * i + (i % 5 == 0);
  vol->audit.source = PLA_FRAME_SFORM;
  vol->audit.qform_code = 1;
  vol->audit.sform_code = 4;
  vol->audit.pixdim[3] = 0.69999999;
  vol->audit.disagreement_mm = NAN;
  vol->slope = 1.0 / 3.0;
  vol->frame_step_s = 0.04;
  vol->description = strdup("a scan");
  g_autoptr(PlaContent) volume_back = round_trip(volume);
  g_assert_cmpmem(volume_back->volume->voxels, pla_volume_n_bytes(vol), vol->voxels,
                  pla_volume_n_bytes(vol));
  g_assert_cmpmem(&volume_back->volume->audit, sizeof vol->audit, &vol->audit, sizeof vol->audit);
  g_assert_cmpmem(volume_back->volume->affine_mm, sizeof vol->affine_mm, vol->affine_mm,
                  sizeof vol->affine_mm);
  g_assert_cmpfloat(volume_back->volume->slope, ==, vol->slope);
  g_assert_cmpstr(volume_back->volume->description, ==, "a scan");

  /* a mesh of all cell kinds with fields whose order matters */
  g_autoptr(PlaContent) mesh = pla_content_new(PLA_ITEM_MESH);
  ok(pla_mesh_new(8, 2, 1, 1, &mesh->mesh, &err), &err);
  for (int v = 0; v < 8; v++)
    for (int d = 0; d < 3; d++)
      mesh->mesh->pos[3 * v + d] = (v >> d & 1) / 3.0;
  const int hex[8] = { 0, 1, 3, 2, 4, 5, 7, 6 };
  memcpy(mesh->mesh->hex, hex, sizeof hex);
  for (int i = 0; i < 6; i++)
    mesh->mesh->tri[i] = i;
  for (int i = 0; i < 4; i++)
    mesh->mesh->tet[i] = i + 2;
  mesh->mesh->single = true;
  double *z = pla_mesh_add_field(mesh->mesh, "z stress", PLA_ON_VERTS, PLA_F64, 2);
  uint8_t *a = pla_mesh_add_field(mesh->mesh, "a region", PLA_ON_CELLS, PLA_U8, 1);
  z[5] = INFINITY;
  a[3] = 9;
  g_autoptr(PlaContent) mesh_back = round_trip(mesh);
  g_assert_cmpint(mesh_back->mesh->n_fields, ==, 2);
  g_assert_cmpstr(mesh_back->mesh->field[0].name, ==, "z stress");
  g_assert_cmpfloat(((double *)mesh_back->mesh->field[0].data)[5], ==, INFINITY);
  g_assert_true(mesh_back->mesh->single);

  /* markers with gaps */
  g_autoptr(PlaContent) take = pla_content_new(PLA_ITEM_MARKERS);
  ok(pla_take_new(3, 2, &take->take, &err), &err);
  take->take->rate_hz = 119.88;
  take->take->start_s = -0.5;
  take->take->pos[4] = 0.25;
  for (int m = 0; m < 2; m++) {
    free(take->take->name[m]);
    take->take->name[m] = strdup(m ? "lip" : "jaw");
  }
  g_autoptr(PlaContent) take_back = round_trip(take);
  g_assert_cmpfloat(take_back->take->rate_hz, ==, 119.88);
  g_assert_cmpstr(take_back->take->name[1], ==, "lip");
  g_assert_cmpuint(pla_take_n_missing(take_back->take), ==, pla_take_n_missing(take->take));

  /* a kind of JSON with arrays of its own */
  g_autoptr(PlaContent) result = pla_content_new(PLA_ITEM_RESULT);
  const double disp[6] = { 1, 2, 3, 4, 5, 6 };
  ok(pla_content_add_array(result, "disp", PLA_F64, 2, (uint64_t[]){ 3, 2 }, disp, &err), &err);
  json_object_set_double_member(result->meta, "residual_rel", 1.0 / 3.0);
  g_autoptr(PlaContent) result_back = round_trip(result);
  g_assert_cmpmem(pla_content_find_array(result_back, "disp")->data, sizeof disp, disp,
                  sizeof disp);
  g_assert_cmpfloat(json_object_get_double_member(result_back->meta, "residual_rel"), ==,
                    1.0 / 3.0);
}

/* differences are told in the unit of the thing */
static void
test_compare(void)
{
  PlaError err;
  g_autoptr(PlaContent) a = pla_content_new(PLA_ITEM_MESH);
  g_autoptr(PlaContent) b = pla_content_new(PLA_ITEM_MESH);
  ok(pla_mesh_new(4, 0, 1, 0, &a->mesh, &err), &err);
  ok(pla_mesh_new(4, 0, 1, 0, &b->mesh, &err), &err);
  b->mesh->pos[3] = 0.003;
  b->mesh->pos[4] = 0.004; /* 5 mm in all */
  PlaDifference d = pla_content_compare(a, b);
  g_assert_true(d.comparable && d.in_mm);
  g_assert_cmpuint(d.n_different, ==, 1);
  g_assert_cmpfloat_with_epsilon(d.largest, 5.0, 1e-12);
  b->mesh->tet[0] = 3;
  d = pla_content_compare(a, b);
  g_assert_false(d.comparable);
}

/* slices come without the rest of the volume */
static void
test_slices(void)
{
  g_autofree char *path = fresh_path(".platysma");
  PlaError err;
  g_autoptr(PlaSession) session = make_case(path);
  g_autoptr(PlaContent) ball = load(session, "ball");
  const PlaVolume *vol = ball->volume;
  size_t slice = (size_t)vol->dims[0] * (size_t)vol->dims[1];
  int16_t *part = g_new(int16_t, 3 * slice);
  ok(pla_session_load_slices(session, find(session, "ball")->item, 4, 3, part, &err), &err);
  g_assert_cmpmem(part, 6 * slice, (int16_t *)vol->voxels + 4 * slice, 6 * slice);
  g_assert_cmpint(pla_session_load_slices(session, find(session, "ball")->item, vol->dims[2] - 1, 2,
                                          part, &err),
                  ==, PLA_ERR_USAGE);
  g_free(part);
}

static void
test_summary(void)
{
  g_autofree char *path = fresh_path(".platysma");
  PlaError err;
  PlaCaseSummary summary;
  g_object_unref(make_case(path));
  ok(pla_case_summary(path, &summary, &err), &err);
  g_assert_cmpstr(summary.title, ==, "A case");
  g_assert_cmpint(summary.n_volumes, ==, 1);
  g_assert_cmpint(summary.n_labels, ==, 1);
  g_assert_cmpint(summary.n_meshes, ==, 0);
  g_assert_cmpint(summary.n_other, ==, 3);
  g_assert_cmpint(summary.n_operations, ==, 8);
  pla_case_summary_clear(&summary);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("platysma-session-XXXXXX", NULL);
  g_assert_nonnull(folder);
  g_test_add_func("/session/undo", test_undo);
  g_test_add_func("/session/branches", test_branches);
  g_test_add_func("/session/replay", test_replay);
  g_test_add_func("/session/hashes-are-free-of-circumstances",
                  test_hashes_are_free_of_circumstances);
  g_test_add_func("/session/two-programs", test_two_programs);
  g_test_add_func("/session/async", test_async);
  g_test_add_func("/session/contents", test_contents);
  g_test_add_func("/session/compare", test_compare);
  g_test_add_func("/session/slices", test_slices);
  g_test_add_func("/session/summary", test_summary);
  int status = g_test_run();
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  while (dir && (name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_unlink(path);
  }
  g_rmdir(folder);
  g_free(folder);
  return status;
}
