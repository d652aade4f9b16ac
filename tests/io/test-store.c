/* The case file: arrays come back bit for bit, damage is found wherever it is, and nothing that was
 * committed is lost to a full disk, a second program or a file that cannot be written. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "io/store/store-private.h"
#include "tests/io/fuzz.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void
ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

/* one sentence that names @word */
static void
check_sentence(const PlaError *err, const char *word)
{
  g_assert_cmpint((int)err->status, !=, PLA_OK);
  g_assert_cmpuint(strlen(err->message), >, 20);
  g_assert_null(strchr(err->message, '\n'));
  if (!strstr(err->message, word))
    g_error("no '%s' in: %s", word, err->message);
}

/* a free path in the test's folder */
static char *
fresh_path(void)
{
  static int n;
  g_autofree char *name = g_strdup_printf("case-%d.platysma", n++);
  return pla_test_path(name);
}

/* stores one array as item @name and appends an operation that made it; returns its id */
static int64_t
add_item(PlaStore *store, const char *name, PlaDType dtype, size_t n, const void *data,
         PlaHash *hash, PlaStoreArray *array_out)
{
  PlaError err;
  char array_name[] = "values", kind[] = "result", meta[] = "{}", verb[] = "test", version[] = "1";
  char kernel[] = "plain";
  g_autofree char *own = g_strdup(name);
  PlaStoreArray array = {
    .name = array_name, .dtype = dtype, .n_dims = 1, .shape = { n }, .data = (void *)data
  };
  PlaBundle bundle = { .kind = kind, .name = own, .meta = meta, .n_arrays = 1, .array = &array };
  PlaBranches branches;
  PlaState state;
  PlaChange change = { .has = true };
  ok(pla_store_begin(store, &err), &err);
  ok(pla_store_put(store, &bundle, NULL, &err), &err);
  ok(pla_store_read_branches(store, &branches, &err), &err);
  PlaBranch *branch = &branches.branch[branches.current];
  ok(pla_store_read_state(store, branch->head, &state, &err), &err);
  ok(pla_state_set(&state, INT64_MAX, &bundle.hash, kind, name, &err), &err);
  change.after = bundle.hash;
  PlaLogRow row = { .parent = branch->head,
                    .verb = verb,
                    .parameters = meta,
                    .inputs = meta,
                    .state = pla_state_hash(&state),
                    .program = version,
                    .kernel = kernel,
                    .time_ms = 1,
                    .duration_ms = 2 };
  ok(pla_store_add_operation(store, &row, &change, 1, &err), &err);
  ok(pla_store_set_branch(store, branch->name, row.id, row.id, &err), &err);
  ok(pla_store_commit(store, &err), &err);
  pla_state_clear(&state);
  pla_branches_clear(&branches);
  if (hash)
    *hash = bundle.hash;
  if (array_out)
    *array_out = array;
  return row.id;
}

static void
fill_random(void *data, size_t n_bytes, uint64_t seed)
{
  uint8_t *bytes = data;
  for (size_t i = 0; i < n_bytes; i++)
    bytes[i] = (uint8_t)pla_test_random(&seed);
}

static int64_t
count(PlaStore *store, const char *sql)
{
  sqlite3_stmt *stmt = NULL;
  g_assert_cmpint(sqlite3_prepare_v2(store->db, sql, -1, &stmt, NULL), ==, SQLITE_OK);
  g_assert_cmpint(sqlite3_step(stmt), ==, SQLITE_ROW);
  int64_t n = sqlite3_column_int64(stmt, 0);
  sqlite3_finalize(stmt);
  return n;
}

static void
verify(PlaStore *store, bool fine)
{
  PlaError err;
  PlaStoreCheck check;
  ok(pla_store_verify(store, NULL, NULL, &check, &err), &err);
  if (fine && check.problems.n)
    g_error("%s", check.problems.text[0]);
  g_assert_cmpint(check.problems.n > 0, ==, !fine);
  pla_store_check_clear(&check);
}

/* every type, lengths around the chunk size, smooth and random content; whole and in parts */
static void
test_arrays(void)
{
  static const size_t bytes[] = {
    0, 8, 24, PLA_CHUNK_BYTES - 8, PLA_CHUNK_BYTES, PLA_CHUNK_BYTES + 8, 2 * PLA_CHUNK_BYTES + 4096
  };
  g_autofree char *path = fresh_path();
  PlaError err;
  PlaStore *store;
  ok(pla_store_create(path, "arrays", &store, &err), &err);
  uint8_t *data = g_malloc(3 * PLA_CHUNK_BYTES), *back = g_malloc(3 * PLA_CHUNK_BYTES);
  uint64_t random = 7;
  int k = 0;
  for (int dtype = 0; dtype < PLA_N_DTYPES; dtype++)
    for (size_t s = 0; s < G_N_ELEMENTS(bytes); s++, k++) {
      size_t width = pla_dtype_size((PlaDType)dtype), n = bytes[s] / width;
      if (k % 2) {
        fill_random(data, bytes[s], (uint64_t)k);
      } else {
        for (size_t i = 0; i < n; i++) /* integers wrap around on the way: differences overflow */
          pla_dtype_set((PlaDType)dtype, data, i, (double)(i * 37 % 251) - 100.0);
        if (n > 2)
          memset(data + width, 0x80, width);
      }
      g_autofree char *name = g_strdup_printf("item %d", k);
      PlaStoreArray array;
      add_item(store, name, (PlaDType)dtype, n, data, NULL, &array);
      array.name = name;
      void *copy;
      ok(pla_store_dup_array(store, &array, NULL, &copy, &err), &err);
      g_assert_cmpint(memcmp(copy, data, bytes[s]), ==, 0);
      free(copy);
      for (int part = 0; part < 4 && bytes[s] > 0; part++) {
        size_t from = (size_t)(pla_test_random(&random) % bytes[s]);
        size_t len = 1 + (size_t)(pla_test_random(&random) % (bytes[s] - from));
        ok(pla_store_read_array(store, &array.hash, from, len, back, NULL, &err), &err);
        g_assert_cmpint(memcmp(back, data + from, len), ==, 0);
      }
      /* past the end is an error, not a read */
      g_assert_cmpint(pla_store_read_array(store, &array.hash, bytes[s], 1, back, NULL, &err), ==,
                      PLA_ERR_FORMAT);
    }
  verify(store, true);
  g_free(data);
  g_free(back);
  pla_store_close(store);
}

/* equal content is stored once; an edit stores the chunk it touched */
static void
test_content_is_stored_once(void)
{
  enum { N = 4 << 20 };
  g_autofree char *path = fresh_path();
  PlaError err;
  PlaStore *store;
  PlaHash first, second, third;
  ok(pla_store_create(path, "once", &store, &err), &err);
  uint8_t *data = g_malloc(N);
  fill_random(data, N, 3);
  add_item(store, "a", PLA_U8, N, data, &first, NULL);
  int64_t chunks = count(store, "SELECT count(*) FROM chunk");
  g_assert_cmpint(chunks, ==, N / (int)PLA_CHUNK_BYTES);
  add_item(store, "b", PLA_U8, N, data, &second, NULL);
  g_assert_false(pla_hash_equal(&first, &second)); /* the name is part of the item */
  g_assert_cmpint(count(store, "SELECT count(*) FROM chunk"), ==, chunks);
  g_assert_cmpint(count(store, "SELECT count(*) FROM array"), ==, 1);
  data[N / 2] ^= 1;
  add_item(store, "c", PLA_U8, N, data, &third, NULL);
  g_assert_cmpint(count(store, "SELECT count(*) FROM chunk"), ==, chunks + 1);
  verify(store, true);
  pla_store_close(store);
  g_free(data);
}

/* the file is the same, byte for byte, for any number of threads */
static void
test_threads(void)
{
  enum { N = 3 << 20 };
  char *contents[2] = { NULL, NULL };
  gsize length[2];
  int16_t *data = g_new(int16_t, N);
  for (int i = 0; i < N; i++)
    data[i] = (int16_t)(i * 7 % 1000 + i / 512 % 13);
  int before = pla_threads_get();
  for (int run = 0; run < 2; run++) {
    g_autofree char *path = fresh_path();
    PlaError err;
    PlaStore *store;
    pla_threads_set(run ? 4 : 1);
    ok(pla_store_create(path, "threads", &store, &err), &err);
    add_item(store, "a", PLA_I16, N, data, NULL, NULL);
    pla_store_close(store);
    g_assert_true(g_file_get_contents(path, &contents[run], &length[run], NULL));
  }
  pla_threads_set(before);
  g_assert_cmpmem(contents[0], length[0], contents[1], length[1]);
  g_free(contents[0]);
  g_free(contents[1]);
  g_free(data);
}

static void
test_states(void)
{
  g_autofree char *path = fresh_path();
  PlaError err;
  PlaStore *store;
  PlaState state;
  PlaBranches branches;
  PlaLog log;
  double one = 1.0, two = 2.0, three = 3.0;
  PlaHash a, b, c;
  ok(pla_store_create(path, "states", &store, &err), &err);
  int64_t op_a = add_item(store, "a", PLA_F64, 1, &one, &a, NULL);
  int64_t op_b = add_item(store, "b", PLA_F64, 1, &two, &b, NULL);

  /* a second line from the first operation */
  ok(pla_store_begin(store, &err), &err);
  ok(pla_store_set_branch(store, "other", op_a, op_a, &err), &err);
  ok(pla_store_set_current_branch(store, "other", &err), &err);
  ok(pla_store_commit(store, &err), &err);
  int64_t op_c = add_item(store, "c", PLA_F64, 1, &three, &c, NULL);
  pla_store_close(store);

  /* all of it is there after reopening */
  ok(pla_store_open(path, &store, &err), &err);
  g_assert_null(pla_store_get_read_only_reason(store));
  ok(pla_store_read_log(store, &log, &err), &err);
  g_assert_cmpint(log.n, ==, 3);
  g_assert_cmpint(pla_log_find(&log, op_b)->parent, ==, op_a);
  g_assert_cmpint(pla_log_find(&log, op_c)->parent, ==, op_a);
  g_assert_null(pla_log_find(&log, 99));
  ok(pla_store_read_branches(store, &branches, &err), &err);
  g_assert_cmpint(branches.n, ==, 2);
  g_assert_cmpstr(branches.branch[branches.current].name, ==, "other");
  ok(pla_store_read_state(store, op_b, &state, &err), &err);
  g_assert_cmpint(state.n, ==, 2);
  g_assert_nonnull(pla_state_find_name(&state, "b"));
  g_assert_null(pla_state_find_name(&state, "c"));

  /* undo and redo are the changes backwards and forwards */
  PlaChange *changes;
  int n;
  ok(pla_store_read_changes(store, op_b, &changes, &n, &err), &err);
  g_assert_cmpint(n, ==, 1);
  ok(pla_store_apply(store, &state, changes, n, true, &err), &err);
  PlaHash hash = pla_state_hash(&state);
  g_assert_true(pla_hash_equal(&hash, &pla_log_find(&log, op_a)->state));
  ok(pla_store_apply(store, &state, changes, n, false, &err), &err);
  hash = pla_state_hash(&state);
  g_assert_true(pla_hash_equal(&hash, &pla_log_find(&log, op_b)->state));
  free(changes);
  pla_state_clear(&state);
  pla_branches_clear(&branches);
  pla_log_clear(&log);

  /* compacting keeps both heads and nothing else */
  ok(pla_store_compact(store, "1", "plain", NULL, &err), &err);
  verify(store, true);
  ok(pla_store_read_log(store, &log, &err), &err);
  ok(pla_store_read_branches(store, &branches, &err), &err);
  g_assert_cmpint(log.n, ==, 2);
  for (int i = 0; i < 2; i++) {
    ok(pla_store_read_state(store, branches.branch[i].head, &state, &err), &err);
    g_assert_nonnull(pla_state_find_name(&state, "a"));
    g_assert_nonnull(pla_state_find_name(&state, i ? "c" : "b"));
    g_assert_cmpint(state.n, ==, 2);
    pla_state_clear(&state);
  }
  g_assert_cmpint(log.row[0].id, >, op_c); /* numbers are not used again */
  pla_branches_clear(&branches);
  pla_log_clear(&log);
  pla_store_close(store);
}

static void
on_progress(const char *phase, double fraction, void *data)
{
  PlaProgress *progress = data;
  if (fraction > 0.3)
    pla_progress_cancel(progress);
}

/* stopping in the middle of storing leaves the case as it was */
static void
test_cancel(void)
{
  enum { N = 24 << 20 };
  g_autofree char *path = fresh_path();
  PlaError err;
  PlaStore *store;
  PlaProgress progress;
  double one = 1.0;
  char array_name[] = "values", kind[] = "result", meta[] = "{}", name[] = "big";
  uint8_t *data = g_malloc(N);
  fill_random(data, N, 5);
  ok(pla_store_create(path, "cancel", &store, &err), &err);
  add_item(store, "a", PLA_F64, 1, &one, NULL, NULL);
  PlaStoreArray array = {
    .name = array_name, .dtype = PLA_U8, .n_dims = 1, .shape = { N }, .data = data
  };
  PlaBundle bundle = { .kind = kind, .name = name, .meta = meta, .n_arrays = 1, .array = &array };
  pla_progress_init(&progress, on_progress, &progress);
  ok(pla_store_begin(store, &err), &err);
  g_assert_cmpint(pla_store_put(store, &bundle, &progress, &err), ==, PLA_ERR_CANCELLED);
  pla_store_rollback(store);
  g_assert_cmpint(count(store, "SELECT count(*) FROM chunk"), ==, 1);
  verify(store, true);
  pla_store_close(store);
  g_free(data);
}

/* a disk that fills up in the middle of a transaction, by a limit on the size of files */
static void
test_disk_full(void)
{
  enum { N = 8 << 20 };
  g_autofree char *path = fresh_path();
  PlaError err;
  PlaStore *store;
  double one = 1.0;
  ok(pla_store_create(path, "full", &store, &err), &err);
  add_item(store, "a", PLA_F64, 1, &one, NULL, NULL);
  pla_store_close(store);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 4 << 20, 4 << 20 });
    char array_name[] = "values", kind[] = "result", meta[] = "{}", name[] = "big";
    uint8_t *data = malloc(N);
    fill_random(data, N, 5);
    PlaStoreArray array = {
      .name = array_name, .dtype = PLA_U8, .n_dims = 1, .shape = { N }, .data = data
    };
    PlaBundle bundle = { .kind = kind, .name = name, .meta = meta, .n_arrays = 1, .array = &array };
    pla_threads_set(1);
    if (pla_store_open(path, &store, &err) != PLA_OK || pla_store_begin(store, &err) != PLA_OK)
      _exit(1);
    PlaStatus st = pla_store_put(store, &bundle, NULL, &err);
    if (st == PLA_OK)
      st = pla_store_commit(store, &err);
    else
      pla_store_rollback(store);
    if (st != PLA_ERR_IO || !strstr(err.message, "disk is full"))
      _exit(2);
    /* and it goes on working */
    if (pla_store_begin(store, &err) != PLA_OK ||
        pla_store_set_title(store, "still here", &err) != PLA_OK ||
        pla_store_commit(store, &err) != PLA_OK)
      _exit(3);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  g_assert_true(WIFEXITED(status));
  g_assert_cmpint(WEXITSTATUS(status), ==, 0);
  ok(pla_store_open(path, &store, &err), &err);
  char *title;
  ok(pla_store_dup_title(store, &title, &err), &err);
  g_assert_cmpstr(title, ==, "still here");
  free(title);
  g_assert_cmpint(count(store, "SELECT count(*) FROM chunk"), ==, 1);
  verify(store, true);
  pla_store_close(store);
}

/* compacting needs room: without it the history stays, to the byte */
static void
test_compact_disk_full(void)
{
  enum { N = 3 << 20 };
  g_autofree char *path = fresh_path(), *before = NULL, *after = NULL;
  gsize n_before, n_after;
  PlaError err;
  PlaStore *store;
  g_autofree uint8_t *data = g_malloc(N);
  ok(pla_store_create(path, "history", &store, &err), &err);
  for (int i = 0; i < 3; i++) { /* noise: nothing shrinks by compression */
    g_autofree char *name = g_strdup_printf("item %d", i);
    fill_random(data, N, 20 + (uint64_t)i);
    add_item(store, name, PLA_U8, N, data, NULL, NULL);
  }
  pla_store_close(store);
  g_assert_true(g_file_get_contents(path, &before, &n_before, NULL));
  /* no room for the copy; for the copy, but not for the journal beside it */
  for (int megabytes = 1; megabytes <= 8; megabytes += 7) {
    pid_t child = fork();
    if (child == 0) {
      rlim_t most = (rlim_t)megabytes << 20;
      signal(SIGXFSZ, SIG_IGN);
      setrlimit(RLIMIT_FSIZE, &(struct rlimit){ most, most });
      pla_threads_set(1);
      if (pla_store_open(path, &store, &err) != PLA_OK)
        _exit(1);
      PlaStatus st = pla_store_compact(store, "1", "plain", NULL, &err);
      PlaLog log;
      if (st != PLA_ERR_IO || !strstr(err.message, "disk is full"))
        _exit(2);
      if (pla_store_read_log(store, &log, &err) != PLA_OK || log.n != 3)
        _exit(3);
      _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
    g_clear_pointer(&after, g_free);
    g_assert_true(g_file_get_contents(path, &after, &n_after, NULL));
    g_assert_cmpmem(after, n_after, before, n_before);
    /* and nothing is left beside it */
    g_autofree char *folder = g_path_get_dirname(path), *base = g_path_get_basename(path);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir));)
      g_assert_true(!g_str_has_prefix(name, base) || strcmp(name, base) == 0);
  }
  ok(pla_store_open(path, &store, &err), &err);
  ok(pla_store_compact(store, "1", "plain", NULL, &err), &err);
  verify(store, true);
  PlaLog log;
  ok(pla_store_read_log(store, &log, &err), &err);
  g_assert_cmpint(log.n, ==, 1);
  pla_log_clear(&log);
  pla_store_close(store);
}

/* without the right to write, everything can be read and nothing is lost */
static void
test_read_only(void)
{
  g_autofree char *folder = pla_test_path("locked");
  g_autofree char *path = g_build_filename(folder, "a.platysma", NULL);
  PlaError err;
  PlaStore *store;
  double one = 1.0;
  g_assert_cmpint(g_mkdir(folder, 0755), ==, 0);
  ok(pla_store_create(path, "locked", &store, &err), &err);
  add_item(store, "a", PLA_F64, 1, &one, NULL, NULL);
  pla_store_close(store);
  g_chmod(pla_test_dir(), 0755);
  for (int folder_only = 0; folder_only < 2; folder_only++) {
    g_chmod(path, folder_only ? 0666 : 0444);
    g_chmod(folder, 0555);
    pid_t child = fork();
    if (child == 0) {
      if (geteuid() == 0 && setuid(65534) != 0)
        _exit(1);
      if (pla_store_open(path, &store, &err) != PLA_OK)
        _exit(2);
      PlaState state;
      if (pla_store_read_state(store, 1, &state, &err) != PLA_OK || state.n != 1)
        _exit(3);
      PlaStatus st = pla_store_begin(store, &err);
      if (st == PLA_OK) {
        st = pla_store_set_title(store, "x", &err);
        if (st == PLA_OK)
          st = pla_store_commit(store, &err);
        else
          pla_store_rollback(store);
      }
      if (st != PLA_ERR_IO || !strstr(err.message, "folder of your own"))
        _exit(4);
      _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    g_chmod(folder, 0755);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 0);
  }
  g_chmod(path, 0666);
  ok(pla_store_open(path, &store, &err), &err);
  verify(store, true);
  pla_store_close(store);
}

/* a second connection reads while the first writes, and is told to wait when it writes too */
static void
test_two_programs(void)
{
  g_autofree char *path = fresh_path();
  PlaError err;
  PlaStore *first, *second;
  PlaLog log;
  double one = 1.0, two = 2.0;
  ok(pla_store_create(path, "two", &first, &err), &err);
  add_item(first, "a", PLA_F64, 1, &one, NULL, NULL);
  ok(pla_store_open(path, &second, &err), &err);
  pla_store_set_patience(second, 50);
  int64_t version, later;
  ok(pla_store_data_version(second, &version, &err), &err);

  ok(pla_store_begin(first, &err), &err);
  ok(pla_store_read_log(second, &log, &err), &err);
  g_assert_cmpint(log.n, ==, 1);
  pla_log_clear(&log);
  g_assert_cmpint(pla_store_begin(second, &err), ==, PLA_ERR_IO);
  check_sentence(&err, "another program");
  pla_store_rollback(first);

  add_item(first, "b", PLA_F64, 1, &two, NULL, NULL);
  ok(pla_store_data_version(second, &later, &err), &err);
  g_assert_cmpint(later, !=, version);
  ok(pla_store_read_log(second, &log, &err), &err);
  g_assert_cmpint(log.n, ==, 2);
  pla_log_clear(&log);
  add_item(second, "c", PLA_F64, 1, &one, NULL, NULL);
  pla_store_close(first);
  pla_store_close(second);
}

static void
test_refusals(void)
{
  g_autofree char *path = fresh_path();
  g_autofree char *text = pla_test_path("text.platysma");
  g_autofree char *empty = pla_test_path("empty.platysma");
  g_autofree char *other = pla_test_path("other.platysma");
  PlaError err;
  PlaStore *store;
  g_assert_cmpint(pla_store_open("/nowhere/x.platysma", &store, &err), ==, PLA_ERR_IO);
  check_sentence(&err, "/nowhere/x.platysma");
  g_assert_cmpint(pla_store_create("/nowhere/x.platysma", "", &store, &err), ==, PLA_ERR_IO);
  check_sentence(&err, "folder");
  g_assert_true(g_file_set_contents(text,
                                    "just some text, longer than a header of a database "
                                    "that has one hundred bytes at the very least, so",
                                    -1, NULL));
  g_assert_cmpint(pla_store_open(text, &store, &err), ==, PLA_ERR_FORMAT);
  check_sentence(&err, "no Platysma case");
  g_assert_true(g_file_set_contents(empty, "", 0, NULL));
  g_assert_cmpint(pla_store_open(empty, &store, &err), ==, PLA_ERR_FORMAT);
  sqlite3 *db;
  g_assert_cmpint(sqlite3_open(other, &db), ==, SQLITE_OK);
  sqlite3_exec(db, "CREATE TABLE x(y)", NULL, NULL, NULL);
  sqlite3_close(db);
  g_assert_cmpint(pla_store_open(other, &store, &err), ==, PLA_ERR_FORMAT);
  check_sentence(&err, "no Platysma case");

  /* made by a version that does not exist yet */
  ok(pla_store_create(path, "future", &store, &err), &err);
  pla_store_close(store);
  g_assert_cmpint(pla_store_create(path, "again", &store, &err), ==, PLA_ERR_IO);
  check_sentence(&err, "exists already");
  g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
  sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL);
  sqlite3_close(db);
  g_autofree char *before = NULL, *after = NULL;
  gsize n_before, n_after;
  g_assert_true(g_file_get_contents(path, &before, &n_before, NULL));
  g_assert_cmpint(pla_store_open(path, &store, &err), ==, PLA_ERR_UNSUPPORTED);
  check_sentence(&err, "newer Platysma");
  g_assert_true(g_file_get_contents(path, &after, &n_after, NULL));
  g_assert_cmpmem(before, n_before, after, n_after);
}

/* ---- damage -------------------------------------------------------------------------------- */

enum { N_ITEMS = 6, ITEM_BYTES = 40000 };

/* a small case with several items, in memory */
static char *
make_victim(gsize *size, uint8_t *content)
{
  g_autofree char *path = fresh_path();
  PlaError err;
  PlaStore *store;
  char *file;
  ok(pla_store_create(path, "victim", &store, &err), &err);
  for (int i = 0; i < N_ITEMS; i++) {
    uint8_t *data = content + i * ITEM_BYTES;
    g_autofree char *name = g_strdup_printf("item %d", i);
    fill_random(data, ITEM_BYTES / 2, (uint64_t)i + 1);
    memset(data + ITEM_BYTES / 2, i, ITEM_BYTES / 2);
    add_item(store, name, i % 2 ? PLA_I16 : PLA_U8, ITEM_BYTES / (i % 2 ? 2 : 1), data, NULL, NULL);
  }
  pla_store_close(store);
  g_assert_true(g_file_get_contents(path, &file, size, NULL));
  return file;
}

/* items of the head state that can be read are what was stored; returns how many */
static int
check_contents(PlaStore *store, const uint8_t *content)
{
  PlaBranches branches = { 0 };
  PlaState state = { 0 };
  int n_whole = 0;
  if (pla_store_read_branches(store, &branches, NULL) == PLA_OK &&
      pla_store_read_state(store, branches.branch[branches.current].head, &state, NULL) == PLA_OK)
    for (int i = 0; i < state.n; i++) {
      PlaBundle bundle = { 0 };
      void *data = NULL;
      int which = -1;
      if (pla_store_read_bundle(store, &state.item[i].hash, &bundle, NULL) == PLA_OK &&
          bundle.n_arrays == 1 && pla_store_array_bytes(&bundle.array[0]) == ITEM_BYTES &&
          pla_store_dup_array(store, &bundle.array[0], NULL, &data, NULL) == PLA_OK &&
          sscanf(bundle.name, "item %d", &which) == 1) {
        g_assert_cmpint(which, >=, 0);
        g_assert_cmpint(which, <, N_ITEMS);
        g_assert_cmpint(memcmp(data, content + which * ITEM_BYTES, ITEM_BYTES), ==, 0);
        n_whole++;
      }
      free(data);
      pla_bundle_clear(&bundle, false);
    }
  pla_state_clear(&state);
  pla_branches_clear(&branches);
  return n_whole;
}

/* opens, verifies and recovers a damaged file; returns how many items came through */
static int
examine(const char *path, const uint8_t *content)
{
  PlaError err;
  PlaStore *store;
  bool whole = false;
  PlaStatus st = pla_store_open(path, &store, &err);
  if (st == PLA_OK) {
    PlaStoreCheck check;
    ok(pla_store_verify(store, NULL, NULL, &check, &err), &err);
    whole = check.problems.n == 0;
    int n = check_contents(store, content);
    /* what verify finds whole is whole */
    if (whole)
      g_assert_cmpint(n, ==, N_ITEMS);
    pla_store_check_clear(&check);
    pla_store_close(store);
  } else {
    check_sentence(&err, ".platysma");
  }

  g_autofree char *saved = fresh_path();
  PlaStoreSalvage salvage;
  int n_saved = 0;
  if (pla_store_recover(path, saved, NULL, "1", "plain", NULL, &salvage, &err) == PLA_OK) {
    ok(pla_store_open(saved, &store, &err), &err);
    g_assert_null(pla_store_get_read_only_reason(store));
    verify(store, true);
    n_saved = check_contents(store, content);
    if (whole)
      g_assert_cmpint(n_saved, ==, N_ITEMS);
    pla_store_close(store);
    pla_store_salvage_clear(&salvage);
  } else {
    if (whole)
      g_error("recover refuses what verify finds whole: %s", err.message);
    check_sentence(&err, "");
  }
  g_unlink(saved);
  return n_saved;
}

static void
test_damage(void)
{
  const char *asked = g_getenv("PLA_FUZZ_MUTATIONS");
  int n_mutations = asked ? atoi(asked) : 60;
  gsize size;
  uint8_t *content = g_malloc(N_ITEMS * ITEM_BYTES);
  g_autofree char *file = make_victim(&size, content);
  g_autofree char *path = fresh_path();
  uint64_t random = 42;
  for (int m = 0; m < n_mutations; m++) {
    g_autofree char *bad = g_memdup2(file, size);
    /* a bit, a few bytes, or a whole sector */
    gsize at = pla_test_random(&random) % size, n = m % 3 == 0 ? 1 : m % 3 == 1 ? 8 : 512;
    for (gsize i = at; i < at + n && i < size; i++)
      bad[i] = m % 3 == 0 ? (char)(bad[i] ^ (1 << (m / 3 % 8))) : (char)pla_test_random(&random);
    g_assert_true(g_file_set_contents(path, bad, (gssize)size, NULL));
    examine(path, content);
  }
  g_free(content);
}

/* a column that no reading needs has another name: not whole, and yet nothing is lost */
static void
test_renamed(void)
{
  const char made[] = "CREATE TABLE bundle_array(  id";
  gsize size, at = 0;
  g_autofree uint8_t *content = g_malloc(N_ITEMS * ITEM_BYTES);
  g_autofree char *file = make_victim(&size, content);
  g_autofree char *path = fresh_path();
  while (at + sizeof made < size && memcmp(file + at, made, sizeof made - 1) != 0)
    at++;
  g_assert_cmpuint(at + sizeof made, <, size);
  file[at + sizeof made - 3] ^= 0x10;
  g_assert_true(g_file_set_contents(path, file, (gssize)size, NULL));
  PlaStore *store;
  PlaError err;
  ok(pla_store_open(path, &store, &err), &err);
  verify(store, false);
  pla_store_close(store);
  g_assert_cmpint(examine(path, content), ==, N_ITEMS);
}

/* a copy that stopped early: what lies before its end is saved */
static void
test_truncation(void)
{
  gsize size;
  uint8_t *content = g_malloc(N_ITEMS * ITEM_BYTES);
  g_autofree char *file = make_victim(&size, content);
  g_autofree char *path = fresh_path();
  int most = 0;
  for (gsize n = 1; n < size; n += 16384 / 2 - 1) {
    g_assert_true(g_file_set_contents(path, file, (gssize)n, NULL));
    int saved = examine(path, content);
    most = MAX(most, saved);
    PlaStore *store;
    PlaError err;
    if (pla_store_open(path, &store, &err) == PLA_OK) {
      g_assert_nonnull(strstr(pla_store_get_read_only_reason(store), "damaged"));
      g_assert_cmpint(pla_store_begin(store, &err), ==, PLA_ERR_IO);
      check_sentence(&err, "recover");
      pla_store_close(store);
    }
  }
  g_assert_cmpint(most, >=, N_ITEMS - 1);
  g_free(content);
}

/* one item's voxels ruined: the rest is saved, the history before it too, and the loss is named */
static void
test_recover(void)
{
  gsize size;
  uint8_t *content = g_malloc(N_ITEMS * ITEM_BYTES);
  g_autofree char *file = make_victim(&size, content);
  g_autofree char *path = fresh_path(), *saved = fresh_path();
  const uint8_t *needle = content + 3 * ITEM_BYTES; /* its random half is stored as it is */
  char *at = memmem(file, size, needle + 64, 32);
  if (!at) { /* byte planes: look for item 2, which has bytes for elements */
    needle = content + 2 * ITEM_BYTES;
    at = memmem(file, size, needle + 64, 32);
  }
  g_assert_nonnull(at);
  int lost = (int)((needle - content) / ITEM_BYTES);
  at[5] ^= 0x10;
  g_assert_true(g_file_set_contents(path, file, (gssize)size, NULL));

  PlaError err;
  PlaStore *store;
  PlaStoreSalvage salvage;
  ok(pla_store_open(path, &store, &err), &err); /* voxels are not looked at on opening */
  verify(store, false);
  g_assert_cmpint(check_contents(store, content), ==, N_ITEMS - 1);
  pla_store_close(store);

  ok(pla_store_recover(path, saved, NULL, "1", "plain", NULL, &salvage, &err), &err);
  g_assert_cmpint(salvage.operations_found, ==, N_ITEMS);
  g_assert_cmpint(salvage.operations_kept, ==, lost);
  g_assert_cmpint(salvage.items_kept, ==, N_ITEMS - 1);
  g_assert_cmpint(salvage.lost.n, ==, 1);
  g_autofree char *name = g_strdup_printf("'item %d'", lost);
  g_assert_nonnull(strstr(salvage.lost.text[0], name));
  pla_store_salvage_clear(&salvage);
  ok(pla_store_open(saved, &store, &err), &err);
  verify(store, true);
  g_assert_cmpint(check_contents(store, content), ==, N_ITEMS - 1);
  PlaLog log;
  ok(pla_store_read_log(store, &log, &err), &err);
  g_assert_cmpint(log.n, ==, lost + 1);
  g_assert_cmpstr(log.row[log.n - 1].verb, ==, "recover");
  pla_log_clear(&log);
  pla_store_close(store);

  /* an existing file is not overwritten */
  g_assert_cmpint(pla_store_recover(path, saved, NULL, "1", "plain", NULL, &salvage, &err), ==,
                  PLA_ERR_IO);
  check_sentence(&err, "exists already");
  g_free(content);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/store/arrays", test_arrays);
  g_test_add_func("/store/content-is-stored-once", test_content_is_stored_once);
  g_test_add_func("/store/threads", test_threads);
  g_test_add_func("/store/states", test_states);
  g_test_add_func("/store/cancel", test_cancel);
  g_test_add_func("/store/disk-full", test_disk_full);
  g_test_add_func("/store/compact-disk-full", test_compact_disk_full);
  g_test_add_func("/store/read-only", test_read_only);
  g_test_add_func("/store/two-programs", test_two_programs);
  g_test_add_func("/store/refusals", test_refusals);
  g_test_add_func("/store/damage", test_damage);
  g_test_add_func("/store/renamed", test_renamed);
  g_test_add_func("/store/truncation", test_truncation);
  g_test_add_func("/store/recover", test_recover);
  return g_test_run();
}
