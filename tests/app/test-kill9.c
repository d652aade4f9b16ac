/* kill -9 at random moments of a session that imports, segments, edits, undoes and redoes: every
 * case reopens, verifies, and holds every operation that was reported done.
 *
 * The test runs itself as the worker, which tells each committed step on a pipe.  PLA_KILLS sets
 * the number of kills (20; the long form is 200). */
#include "anatomy/base/parallel.h"
#include "app/case/session.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS_PER_CASE = 60 }; /* then a new case: a long log makes no new moments */

static void
ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

/* ---- the worker ---------------------------------------------------------------------------- */

static void
write_scan(const char *path)
{
  PlaError err;
  PlaVolume *vol;
  const int dims[4] = { 96, 96, 96, 1 };
  ok(pla_volume_new(dims, PLA_I16, &vol, &err), &err);
  uint32_t noise = 1;
  for (int i = 0; i < 96 * 96 * 96; i++) {
    int x = i % 96 - 48, y = i / 96 % 96 - 48, z = i / 9216 - 48;
    noise = noise * 1664525u + 1013904223u;
    ((int16_t *)vol->voxels)[i] =
        (int16_t)((x * x + y * y + z * z < 1600 ? 200 : -900) + (int)(noise >> 26));
  }
  PlaItem item = { .kind = PLA_KIND_VOLUME, .volume = vol };
  PlaWriteOptions opts = pla_write_options_default();
  ok(pla_item_write(path, &item, &opts, &err), &err);
  pla_volume_free(vol);
}

static PlaStatus
apply(PlaSession *session, const char *verb, const char *source, const char *params, PlaError *err)
{
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  PlaRequest request = { .verb = verb,
                         .params = json_node_get_object(node),
                         .source = source,
                         .read = pla_read_options_default() };
  return pla_session_run(session, &request, NULL, NULL, err);
}

/* one step of the script, chosen by the dice and what there is */
static void
step(PlaSession *session, const char *scan, GRand *dice)
{
  PlaError err;
  const PlaState *state = pla_session_get_state(session);
  const char *volume = NULL, *labels = NULL;
  for (int i = 0; i < state->n; i++) {
    volume = strcmp(state->item[i].kind, PLA_ITEM_VOLUME) == 0 ? state->item[i].name : volume;
    labels = strcmp(state->item[i].kind, PLA_ITEM_LABELS) == 0 ? state->item[i].name : labels;
  }
  int roll = g_rand_int_range(dice, 0, 10);
  gboolean can_undo, can_redo;
  g_object_get(session, "can-undo", &can_undo, "can-redo", &can_redo, NULL);
  PlaStatus st = PLA_OK;
  if (!volume || (roll == 0 && state->n < 6)) {
    st = apply(session, "import", scan, "{}", &err);
  } else if (!labels || (roll == 1 && state->n < 6)) {
    g_autofree char *params = g_strdup_printf("{\"item\": \"%s\", \"lo\": %d, \"hi\": 3000}",
                                              volume, g_rand_int_range(dice, -800, 200));
    st = apply(session, "segment", NULL, params, &err);
  } else if (roll <= 5) {
    g_autofree char *params = g_strdup_printf(
        "{\"item\": \"%s\", \"points_mm\": [[%d, %d, %d]], \"radius_mm\": %d, \"label\": %d}",
        labels, g_rand_int_range(dice, 0, 96), g_rand_int_range(dice, 0, 96),
        g_rand_int_range(dice, 0, 96), g_rand_int_range(dice, 2, 20), g_rand_int_range(dice, 0, 4));
    st = apply(session, "edit-label", NULL, params, &err);
    st = st == PLA_ERR_EMPTY ? PLA_OK : st; /* painted over the same */
  } else if (roll == 6 && can_redo) {
    st = pla_session_redo(session, &err);
  } else if (roll <= 8 && can_undo) {
    st = pla_session_undo(session, &err);
  } else {
    g_autofree char *params =
        g_strdup_printf("{\"name\": \"note\", \"text\": \"%u\"}", g_rand_int(dice));
    st = apply(session, "note", NULL, params, &err);
  }
  ok(st, &err);
}

/* says what is on disk now: operations, the head and the hash of its state */
static void
report(PlaSession *session)
{
  char hash[33], line[128];
  PlaHash state = pla_state_hash(pla_session_get_state(session));
  int n =
      g_snprintf(line, sizeof line, "%d %" G_GINT64_FORMAT " %s\n", pla_session_get_log(session)->n,
                 pla_session_get_head(session), pla_hash_text(&state, hash));
  g_assert_cmpint((int)write(STDOUT_FILENO, line, (size_t)n), ==, n);
}

/* goes on until it is killed */
static G_NORETURN void
work(const char *path, const char *scan, guint32 seed)
{
  PlaError err;
  PlaSession *session;
  g_autoptr(GRand) dice = g_rand_new_with_seed(seed);
  if (g_file_test(path, G_FILE_TEST_EXISTS))
    ok(pla_session_open(path, &session, &err), &err);
  else
    ok(pla_session_create(path, "killed", &session, &err), &err);
  g_assert_null(pla_session_get_read_only_reason(session));
  for (;;) {
    report(session);
    step(session, scan, dice);
  }
}

/* ---- the killer ---------------------------------------------------------------------------- */

typedef struct {
  int n_operations; /* -1: nothing was reported */
  gint64 head;
  char state[33];
} Report;

/* reads lines until @n_lines of them came, or all after the worker's end; keeps the last */
static void
read_reports(FILE *pipe, int n_lines, Report *last)
{
  char line[256];
  for (int i = 0; i < n_lines && fgets(line, sizeof line, pipe); i++) {
    Report report;
    if (sscanf(line, "%d %" G_GINT64_FORMAT " %32s", &report.n_operations, &report.head,
               report.state) == 3 &&
        strlen(report.state) == 32)
      *last = report;
  }
}

/* what was reported is there; at most the step in flight is there besides */
static void
check_case(const char *path, const Report *last)
{
  PlaError err;
  PlaSession *session;
  PlaStoreCheck check;
  if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
    g_assert_cmpint(last->n_operations, ==, -1);
    return;
  }
  ok(pla_session_open(path, &session, &err), &err);
  g_assert_null(pla_session_get_read_only_reason(session));
  ok(pla_store_verify(pla_session_get_store(session), NULL, NULL, &check, &err), &err);
  if (check.problems.n)
    g_error("%s", check.problems.text[0]);
  pla_store_check_clear(&check);
  if (last->n_operations >= 0) {
    const PlaLog *log = pla_session_get_log(session);
    g_assert_cmpint(log->n, >=, last->n_operations);
    g_assert_cmpint(log->n, <=, last->n_operations + 1);
    /* the state that was reported can be reached, whatever the last step did to the head */
    PlaState state;
    char hash[33];
    ok(pla_store_read_state(pla_session_get_store(session), last->head, &state, &err), &err);
    PlaHash is = pla_state_hash(&state);
    g_assert_cmpstr(pla_hash_text(&is, hash), ==, last->state);
    gint64 head = pla_session_get_head(session);
    if (log->n > last->n_operations) { /* the step in flight was an operation and is whole */
      g_assert_cmpint(head, ==, log->row[log->n - 1].id);
      g_assert_cmpint(log->row[log->n - 1].parent, ==, last->head);
    } else if (head != last->head) { /* an undo or a redo */
      const PlaLogRow *from = pla_log_find(log, last->head), *to = pla_log_find(log, head);
      g_assert_true((from && from->parent == head) || (to && to->parent == last->head));
    }
    pla_state_clear(&state);
  }
  g_object_unref(session);
}

static void
test_kill9(void)
{
  const char *asked = g_getenv("PLA_KILLS");
  int n_kills = asked ? atoi(asked) : 20, n_journals = 0, n_cases = 0, n_steps = 0;
  g_autofree char *folder = g_dir_make_tmp("platysma-kill9-XXXXXX", NULL);
  g_autofree char *scan = g_build_filename(folder, "scan.nii", NULL);
  g_autofree char *path = g_build_filename(folder, "a.platysma", NULL);
  g_autofree char *journal = g_strconcat(path, "-journal", NULL);
  g_autoptr(GRand) dice = g_rand_new_with_seed(9);
  write_scan(scan);
  for (int k = 0; k < n_kills; k++) {
    int fds[2];
    char seed[16];
    g_assert_cmpint(pipe2(fds, O_CLOEXEC), ==, 0);
    g_snprintf(seed, sizeof seed, "%d", k);
    pid_t worker = fork();
    if (worker == 0) {
      dup2(fds[1], STDOUT_FILENO);
      execl("/proc/self/exe", "test-kill9", "--worker", path, scan, seed, (char *)NULL);
      _exit(127);
    }
    close(fds[1]);
    FILE *pipe = fdopen(fds[0], "r");
    Report last = { .n_operations = -1 };

    /* some steps, then a moment within the next one */
    int n_lines = g_rand_int_range(dice, 0, 6);
    read_reports(pipe, n_lines, &last);
    g_usleep((gulong)g_rand_int_range(dice, 0, 40000));
    kill(worker, SIGKILL);
    int status;
    waitpid(worker, &status, 0);
    g_assert_true(WIFSIGNALED(status)); /* it did not stop by itself: no step failed */
    read_reports(pipe, G_MAXINT, &last);
    fclose(pipe);
    n_journals += g_file_test(journal, G_FILE_TEST_EXISTS);
    n_steps += n_lines;
    check_case(path, &last);
    if (last.n_operations > STEPS_PER_CASE || k == n_kills - 1) {
      n_cases++;
      g_unlink(path);
    }
  }
  g_test_message("%d kills, %d of them inside a transaction; %d cases, %d steps waited for",
                 n_kills, n_journals, n_cases, n_steps);
  /* unfinished new cases may lie about under their temporary names */
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name(dir))) {
    g_autofree char *file = g_build_filename(folder, name, NULL);
    g_unlink(file);
  }
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

int
main(int argc, char **argv)
{
  if (argc == 5 && strcmp(argv[1], "--worker") == 0)
    work(argv[2], argv[3], (guint32)atoi(argv[4]));
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/case/kill-9", test_kill9);
  return g_test_run();
}
