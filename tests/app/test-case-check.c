/* Cases whose bytes are whole but whose texts are not: written by an older version, or by nobody
 * that we know. */
#include "anatomy/base/memory.h"
#include "app/base/json.h"
#include "app/case/case-check.h"
#include "app/case/session.h"
#include "io/store/store-private.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

static char *test_dir;

static void
ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

static char *
path_of(const char *name)
{
  return g_build_filename(test_dir, name, NULL);
}

static void
apply(PlaSession *session, const char *verb, const char *params)
{
  g_autoptr(JsonNode) node = pla_json_literal(params);
  PlaError err;
  ok(pla_session_run(session,
                     &(PlaRequest){ .verb = verb,
                                    .params = json_node_get_object(node),
                                    .read = pla_read_options_default() },
                     NULL, NULL, &err),
     &err);
}

/* @text with the number that json-glib could not write as it wrote it */
static char *
break_number(const char *text)
{
  g_auto(GStrv) parts = g_strsplit(text, "1e-08", -1);
  return g_strjoinv("1e-08.0", parts);
}

/* a copy of the case at @from with broken numbers, its hashes those of the broken texts */
static void
copy_broken(const char *from, const char *to)
{
  PlaStore *old, *new;
  PlaLog log;
  PlaState state = { 0 };
  PlaError err;
  g_autoptr(GHashTable) renamed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  ok(pla_store_open(from, &old, &err), &err);
  ok(pla_store_create(to, "old", &new, &err), &err);
  ok(pla_store_read_log(old, &log, &err), &err);
  ok(pla_store_begin(new, &err), &err);
  for (int i = 0; i < log.n; i++) {
    PlaLogRow *row = &log.row[i];
    PlaChange *changes;
    int n;
    ok(pla_store_read_changes(old, row->id, &changes, &n, &err), &err);
    for (int c = 0; c < n; c++) {
      PlaHash *const hashes[2] = { &changes[c].before, &changes[c].after };
      const bool there[2] = { changes[c].had, changes[c].has };
      for (int k = 0; k < 2; k++) {
        PlaBundle bundle;
        char before[33], after[33];
        if (!there[k])
          continue;
        ok(pla_store_read_bundle(old, hashes[k], &bundle, &err), &err);
        for (int a = 0; a < bundle.n_arrays; a++)
          ok(pla_store_dup_array(old, &bundle.array[a], NULL, &bundle.array[a].data, &err), &err);
        g_autofree char *broken = break_number(bundle.meta);
        free(bundle.meta);
        bundle.meta = pla_strdup(broken);
        pla_hash_text(&bundle.hash, before);
        ok(pla_store_put(new, &bundle, NULL, &err), &err);
        *hashes[k] = bundle.hash;
        g_hash_table_insert(renamed, g_strdup(before),
                            g_strdup(pla_hash_text(&bundle.hash, after)));
        pla_bundle_clear(&bundle, true);
      }
    }
    g_autofree char *broken = break_number(row->parameters);
    free(row->parameters);
    row->parameters = pla_strdup(broken);
    GHashTableIter iter;
    gpointer before, after;
    g_hash_table_iter_init(&iter, renamed);
    while (g_hash_table_iter_next(&iter, &before, &after)) {
      char *at = strstr(row->inputs, before);
      if (at)
        memcpy(at, after, 32);
    }
    ok(pla_store_apply(new, &state, changes, n, false, &err), &err);
    row->state = pla_state_hash(&state);
    ok(pla_store_add_operation(new, row, changes, n, &err), &err);
    free(changes);
  }
  ok(pla_store_set_branch(new, "main", log.n, log.n, &err), &err);
  ok(pla_store_set_texts_strict(new, false, &err), &err);
  ok(pla_store_commit(new, &err), &err);
  pla_state_clear(&state);
  pla_log_clear(&log);
  pla_store_close(old);
  pla_store_close(new);
}

/* landmarks with tiny numbers; the second operation reads what the first one made */
static void
make_case(const char *path)
{
  g_autoptr(PlaSession) session = NULL;
  PlaError err;
  ok(pla_session_create(path, "small", &session, &err), &err);
  apply(session, "landmark", "{\"name\": \"tip\", \"at_mm\": [1e-8, 2, 3]}");
  apply(session, "rename", "{\"item\": \"tip\", \"name\": \"nasion\"}");
  apply(session, "landmark", "{\"name\": \"other\", \"at_mm\": [4, 5, -1e-8]}");
  apply(session, "note", "{\"name\": \"n\", \"text\": \"about 1e-08 mm\"}");
}

static void
check_verified(const char *path, bool fine)
{
  PlaStore *store;
  PlaStoreCheck check;
  PlaError err;
  ok(pla_store_open(path, &store, &err), &err);
  ok(pla_case_verify(store, NULL, &check, &err), &err);
  g_assert_cmpint(check.problems.n == 0, ==, fine);
  pla_store_check_clear(&check);
  pla_store_close(store);
}

/* a tiny number survives commit, reopening and replay */
static void
test_tiny_numbers(void)
{
  g_autofree char *path = path_of("tiny.platysma");
  g_autoptr(PlaSession) session = NULL;
  PlaReplay replay;
  PlaError err;
  make_case(path);
  check_verified(path, true);
  ok(pla_session_open(path, &session, &err), &err);
  g_assert_cmpint(pla_session_get_state(session)->n, ==, 3);
  for (int i = 0; i < 3; i++) {
    g_autoptr(PlaContent) content = NULL;
    ok(pla_session_load(session, pla_session_get_state(session)->item[i].item, NULL, &content,
                        &err),
       &err);
  }
  ok(pla_session_replay(session, NULL, &replay, &err), &err);
  g_assert_cmpint(replay.n_equal, ==, 4);
  pla_replay_clear(&replay);
}

/* a case of an older version is mended when it is opened, and then as if made today */
static void
test_mended(void)
{
  g_autofree char *path = path_of("new.platysma"), *old = path_of("old.platysma");
  g_autoptr(PlaSession) session = NULL;
  PlaReplay replay;
  PlaError err;
  make_case(path);
  copy_broken(path, old);
  g_autofree char *text = NULL;
  gsize size;
  g_assert_true(g_file_get_contents(old, &text, &size, NULL));
  g_assert_nonnull(memmem(text, size, "1e-08.0", 7));

  ok(pla_session_open(old, &session, &err), &err);
  const PlaLog *log = pla_session_get_log(session);
  g_assert_cmpint(log->n, ==, 4);
  g_assert_cmpstr(log->row[0].parameters, ==, "{\"at_mm\":[1e-08,2,3],\"name\":\"tip\"}");
  g_autoptr(PlaSession) same = NULL;
  ok(pla_session_open(path, &same, &err), &err);
  for (int i = 0; i < 4; i++) {
    const PlaLogRow *row = &log->row[i], *as = &pla_session_get_log(same)->row[i];
    /* the note's words are words: they stay broken, and so differ from the original */
    if (i < 3)
      g_assert_cmpmem(&row->state, sizeof row->state, &as->state, sizeof as->state);
    g_assert_cmpstr(row->inputs, ==, as->inputs);
  }
  ok(pla_session_replay(session, NULL, &replay, &err), &err);
  g_assert_cmpint(replay.n_equal, ==, 4);
  pla_replay_clear(&replay);
  g_clear_object(&session);
  check_verified(old, true);
}

/* one that cannot be changed is understood all the same */
static void
test_read_only(void)
{
  g_autofree char *path = path_of("fresh.platysma"), *old = path_of("locked.platysma");
  PlaStore *store;
  PlaState state;
  PlaError err;
  make_case(path);
  copy_broken(path, old);
  check_verified(old, true); /* verify changes nothing */
  ok(pla_store_open(old, &store, &err), &err);
  ok(pla_store_read_state(store, 4, &state, &err), &err);
  for (int i = 0; i < state.n; i++) {
    g_autoptr(PlaContent) content = NULL;
    ok(pla_content_load(store, &state.item[i].hash, NULL, &content, &err), &err);
  }
  pla_state_clear(&state);
  pla_store_close(store);
}

/* adds an item and a row with texts that are not what they should be, under valid hashes */
static void
add_raw(const char *path, const char *kind, const char *name, const char *meta, const char *params)
{
  PlaStore *store;
  PlaState state;
  PlaBranches branches;
  PlaError err;
  char verb[] = "landmark", none[] = "{}", program[] = "0", kernel[] = "plain";
  ok(pla_store_open(path, &store, &err), &err);
  ok(pla_store_read_branches(store, &branches, &err), &err);
  const int64_t head = branches.branch[0].head;
  ok(pla_store_read_state(store, head, &state, &err), &err);
  ok(pla_store_begin(store, &err), &err);
  PlaBundle bundle = { .kind = pla_strdup(kind),
                       .name = pla_strdup(name),
                       .meta = pla_strdup(meta) };
  ok(pla_store_put(store, &bundle, NULL, &err), &err);
  PlaChange change = { .has = true, .after = bundle.hash };
  ok(pla_state_set(&state, INT64_MAX, &bundle.hash, kind, name, &err), &err);
  char *text = pla_strdup(params);
  PlaLogRow row = { .parent = head,
                    .verb = verb,
                    .parameters = text,
                    .inputs = none,
                    .program = program,
                    .kernel = kernel,
                    .state = pla_state_hash(&state) };
  ok(pla_store_add_operation(store, &row, &change, 1, &err), &err);
  ok(pla_store_set_branch(store, "main", row.id, row.id, &err), &err);
  ok(pla_store_commit(store, &err), &err);
  free(text);
  pla_bundle_clear(&bundle, false);
  pla_state_clear(&state);
  pla_branches_clear(&branches);
  pla_store_close(store);
}

/* verify names what cannot be understood; recover gives back the rest */
static void
check_unreadable(const char *name, const char *kind, const char *meta, const char *params,
                 const char *named, int n_left)
{
  g_autofree char *file = g_strconcat(name, ".platysma", NULL), *path = path_of(file);
  g_autofree char *saved_file = g_strconcat(name, "-saved.platysma", NULL);
  g_autofree char *saved = path_of(saved_file);
  make_case(path);
  add_raw(path, kind, "bad", meta, params);
  add_raw(path, "landmark", "after", "{\"at_mm\":[1.0,2.0,3.0]}",
          "{\"at_mm\":[1.0,2.0,3.0],\"name\":\"after\"}");

  g_autoptr(JsonObject) told = verb_test_runf(1, "case verify %s", path);
  const char *sentence = json_object_get_string_member(told, "error");
  if (!strstr(sentence, named))
    g_error("%s: %s", name, sentence);
  json_object_unref(verb_test_runf(0, "case list %s", path)); /* still opens */

  g_autoptr(JsonObject) kept = verb_test_runf(0, "case recover %s -o %s", path, saved);
  g_assert_cmpuint(json_array_get_length(json_object_get_array_member(kept, "lost")), >, 0);
  check_verified(saved, true);
  g_autoptr(PlaSession) session = NULL;
  PlaError err;
  ok(pla_session_open(saved, &session, &err), &err);
  const PlaState *state = pla_session_get_state(session);
  g_assert_cmpint(state->n, ==, n_left);
  for (const char *const *item = (const char *const[]){ "nasion", "other", "n", "after", NULL };
       *item; item++) {
    const PlaStateItem *found = pla_state_find_name(state, *item);
    g_autoptr(PlaContent) content = NULL;
    g_assert_nonnull(found);
    ok(pla_session_load(session, found->item, NULL, &content, &err), &err);
  }
}

static void
test_unreadable(void)
{
  g_autoptr(GString) deep = g_string_new("{\"a\":");
  for (int i = 0; i < 100000; i++)
    g_string_append_c(deep, '[');
  check_unreadable("text", "landmark", "{\"at_mm\":[1,", "{}", "landmark 'bad'", 4);
  check_unreadable("deep", "landmark", deep->str, "{}", "landmark 'bad'", 4);
  check_unreadable("array", "note", "[1,2]", "{}", "note 'bad'", 4);
  check_unreadable("volume", "volume", "{}", "{}", "volume 'bad'", 4);
  check_unreadable("body", "body", "{}", "{}", "body 'bad'", 4);
  check_unreadable("muscles", "muscles", "nothing", "{}", "muscles 'bad'", 4);
  /* a row that cannot be read loses its history, not its item */
  check_unreadable("row", "landmark", "{\"at_mm\":[1.0,2.0,3.0]}", "{\"at_mm\":", "operation 5", 5);
  check_unreadable("deep-row", "landmark", "{\"at_mm\":[1.0,2.0,3.0]}", deep->str, "operation 5",
                   5);
}

/* an item of one array, made of one compressed chunk of zeros over and over */
static void
add_bomb(const char *path, uint64_t n_bytes)
{
  enum { CHUNK = 64 << 20 };
  PlaStore *store;
  PlaError err;
  char array_name[] = "values", none[] = "{}", verb[] = "note", version[] = "0", kernel[] = "plain";
  char kind[] = "result", name[] = "bomb";
  const size_t n = (size_t)(n_bytes / CHUNK);
  g_autofree void *zeros = g_malloc0(CHUNK);
  g_autofree void *packed = g_malloc(ZSTD_compressBound(CHUNK));
  const size_t n_packed = ZSTD_compress(packed, ZSTD_compressBound(CHUNK), zeros, CHUNK, 3);
  g_autofree int64_t *ids = g_new(int64_t, n);
  g_autofree PlaHash *hashes = g_new(PlaHash, n);
  PlaStoreArray array = {
    .name = array_name, .dtype = PLA_U8, .n_dims = 1, .shape = { (uint64_t)n * CHUNK }
  };
  ok(pla_store_open(path, &store, &err), &err);
  ok(pla_store_begin(store, &err), &err);
  hashes[0] = pla_hash_bytes(zeros, CHUNK);
  ids[0] = pla_chunk_insert(store, &hashes[0], PLA_CODEC_ZSTD, 1, CHUNK, packed, n_packed);
  g_assert_cmpint(ids[0], >, 0);
  for (size_t i = 1; i < n; i++) {
    ids[i] = ids[0];
    hashes[i] = hashes[0];
  }
  int64_t id;
  array.hash = pla_array_hash(&array, hashes, n);
  ok(pla_array_insert(store, &array, CHUNK, ids, n, &id, &err), &err);
  PlaBundle bundle = { .kind = kind, .name = name, .meta = none, .n_arrays = 1, .array = &array };
  bundle.hash = pla_bundle_hash(&bundle);
  ok(pla_bundle_insert(store, &bundle, &err), &err);
  PlaState state;
  ok(pla_store_read_state(store, 4, &state, &err), &err);
  ok(pla_state_set(&state, INT64_MAX, &bundle.hash, kind, name, &err), &err);
  PlaChange change = { .has = true, .after = bundle.hash };
  PlaLogRow row = { .parent = 4,
                    .verb = verb,
                    .parameters = none,
                    .inputs = none,
                    .program = version,
                    .kernel = kernel,
                    .state = pla_state_hash(&state) };
  ok(pla_store_add_operation(store, &row, &change, 1, &err), &err);
  ok(pla_store_set_branch(store, "main", row.id, row.id, &err), &err);
  ok(pla_store_commit(store, &err), &err);
  pla_state_clear(&state);
  pla_store_close(store);
}

/* a case of kilobytes that unpacks to more than there is memory */
static void
test_bomb(void)
{
  g_autofree char *path = path_of("bomb.platysma"), *saved = path_of("bomb-saved.platysma");
  PlaError err;
  make_case(path);
  add_bomb(path, (uint64_t)1 << 40);
  json_object_unref(verb_test_runf(0, "case list %s", path));
  g_autoptr(JsonObject) told = verb_test_runf(1, "case verify %s", path);
  g_assert_nonnull(strstr(json_object_get_string_member(told, "error"), "result 'bomb'"));
  g_assert_nonnull(strstr(json_object_get_string_member(told, "error"), "not enough memory"));
  json_object_unref(verb_test_runf(2, "case export %s bomb -o %s/x.json", path, test_dir));
  json_object_unref(verb_test_runf(0, "case recover %s -o %s", path, saved));
  check_verified(saved, true);
  g_autoptr(PlaSession) session = NULL;
  ok(pla_session_open(saved, &session, &err), &err);
  g_assert_cmpint(pla_session_get_state(session)->n, ==, 3);
}

/* blobs larger than any that we write, in every table: nothing is read that long */
static void
test_giant_blobs(void)
{
  static const char new_chunk[] = "INSERT INTO chunk(hash, codec, width, n_bytes, data) "
                                  "VALUES(zeroblob(16), 0, 1, 200000000, zeroblob(200000000))";
  static const char *const updates[] = {
    "UPDATE bundle SET meta = CAST(zeroblob(200000000) AS TEXT) WHERE name = 'other'",
    "UPDATE operation SET parameters = CAST(zeroblob(200000000) AS TEXT) WHERE id = 3",
    new_chunk,
  };
  for (size_t i = 0; i < G_N_ELEMENTS(updates); i++) {
    g_autofree char *file = g_strdup_printf("giant-%zu.platysma", i), *path = path_of(file);
    g_autofree char *out = g_strdup_printf("giant-%zu-saved.platysma", i), *saved = path_of(out);
    sqlite3 *db;
    PlaError err;
    make_case(path);
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db, updates[i], NULL, NULL, NULL), ==, SQLITE_OK);
    sqlite3_close(db);
    json_object_unref(verb_test_runf(1, "case verify %s", path));
    json_object_unref(verb_test_runf(0, "case recover %s -o %s", path, saved));
    check_verified(saved, true);
    g_autoptr(PlaSession) session = NULL;
    ok(pla_session_open(saved, &session, &err), &err);
    g_assert_nonnull(pla_state_find_name(pla_session_get_state(session), "nasion"));
    g_assert_nonnull(pla_state_find_name(pla_session_get_state(session), "n"));
    g_unlink(path);
  }
}

/* what could not be read back is not committed */
static void
test_refused(void)
{
  g_autofree char *path = path_of("refused.platysma");
  g_autoptr(PlaSession) session = NULL;
  PlaBundle bundle;
  PlaError err;
  ok(pla_session_create(path, "", &session, &err), &err);
  PlaStore *store = pla_session_get_store(session);

  g_autoptr(PlaContent) note = pla_content_new(PLA_ITEM_NOTE);
  json_object_set_double_member(note->meta, "depth_mm", NAN);
  g_assert_cmpint(pla_content_to_bundle(note, "deep", &bundle, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(
      strstr(err.message, "the note 'deep' cannot be stored: 'depth_mm' is not a finite"));

  g_autoptr(PlaContent) mesh = pla_content_new(PLA_ITEM_MESH);
  ok(pla_mesh_new(3, 1, 0, 0, &mesh->mesh, &err), &err);
  for (int v = 0; v < 9; v++)
    mesh->mesh->pos[v] = v;
  for (int v = 0; v < 3; v++)
    mesh->mesh->tri[v] = v;
  ok(pla_content_to_bundle(mesh, "fine", &bundle, &err), &err);
  ok(pla_content_check_bundle(store, &bundle, &err), &err);
  pla_content_bundle_clear(&bundle);
  mesh->mesh->tri[2] = 7;
  ok(pla_content_to_bundle(mesh, "wrong", &bundle, &err), &err);
  g_assert_cmpint(pla_content_check_bundle(store, &bundle, &err), !=, PLA_OK);
  pla_content_bundle_clear(&bundle);

  /* parameters before the work starts */
  g_autoptr(JsonObject) params = json_object_new();
  JsonArray *list = json_array_new();
  json_array_add_double_element(list, INFINITY);
  json_object_set_string_member(params, "item", "none");
  json_object_set_array_member(params, "hooks", list);
  g_assert_cmpint(pla_session_run(session, &(PlaRequest){ .verb = "simulate", .params = params },
                                  NULL, NULL, &err),
                  ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "'hooks[0]' is not a finite number"));
  g_assert_cmpint(pla_session_get_log(session)->n, ==, 0);
}

/* a case is its owner's alone, until the owner says otherwise */
static void
test_private(void)
{
  g_autofree char *path = path_of("private.platysma"), *saved = path_of("saved.platysma");
  struct stat info;
  make_case(path);
  g_assert_cmpint(stat(path, &info), ==, 0);
  g_assert_cmpint(info.st_mode & 0777, ==, 0600);
  json_object_unref(verb_test_runf(0, "case recover %s -o %s", path, saved));
  g_assert_cmpint(stat(saved, &info), ==, 0);
  g_assert_cmpint(info.st_mode & 0777, ==, 0600);
  /* what the owner chose survives everything that writes the file */
  g_assert_cmpint(g_chmod(path, 0640), ==, 0);
  json_object_unref(verb_test_runf(0, "case compact %s", path));
  json_object_unref(verb_test_runf(0, "case title %s other", path));
  g_assert_cmpint(stat(path, &info), ==, 0);
  g_assert_cmpint(info.st_mode & 0777, ==, 0640);
}

/* removed while open: said as it is */
static void
test_removed(void)
{
  g_autofree char *path = path_of("removed.platysma");
  g_autoptr(PlaSession) session = NULL;
  PlaError err;
  make_case(path);
  ok(pla_session_open(path, &session, &err), &err);
  g_assert_cmpint(g_unlink(path), ==, 0);
  g_autoptr(JsonNode) node = pla_json_literal("{\"name\": \"x\", \"text\": \"y\"}");
  g_assert_cmpint(pla_session_run(session,
                                  &(PlaRequest){ .verb = "note",
                                                 .params = json_node_get_object(node) },
                                  NULL, NULL, &err),
                  ==, PLA_ERR_IO);
  g_assert_nonnull(strstr(err.message, "moved, renamed or deleted"));
  g_assert_null(strstr(err.message, "read-only"));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  test_dir = g_dir_make_tmp("platysma-case-XXXXXX", NULL);
  g_test_add_func("/case-check/tiny-numbers", test_tiny_numbers);
  g_test_add_func("/case-check/mended", test_mended);
  g_test_add_func("/case-check/read-only", test_read_only);
  g_test_add_func("/case-check/unreadable", test_unreadable);
  g_test_add_func("/case-check/bomb", test_bomb);
  g_test_add_func("/case-check/giant-blobs", test_giant_blobs);
  g_test_add_func("/case-check/refused", test_refused);
  g_test_add_func("/case-check/private", test_private);
  g_test_add_func("/case-check/removed", test_removed);
  int status = g_test_run();
  g_autoptr(GDir) dir = g_dir_open(test_dir, 0, NULL);
  for (const char *name; (name = g_dir_read_name(dir));) {
    g_autofree char *path = path_of(name);
    g_unlink(path);
  }
  g_rmdir(test_dir);
  g_free(test_dir);
  return status;
}
