/* Ctrl-C and kill -9 at any moment: the exit status, and what stands in the folder of the outputs
 * afterwards: the old files or the new ones, never some of each. */
#include "io/formats/pvd.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *folder; /* inputs; outputs stand in "out" below it */

static char *
inside(const char *name)
{
  return g_build_filename(folder, name, NULL);
}

/* ---- inputs -------------------------------------------------------------------------------- */

/* a block of n x n x n cubes of 3 mm, six tetrahedra each */
static void
write_block(const char *name, int n)
{
  static const int path[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                  { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
  g_autoptr(GString) text = g_string_new("# vtk DataFile Version 3.0\nblock\nASCII\n"
                                         "DATASET UNSTRUCTURED_GRID\n");
  const int m = n + 1;
  g_string_append_printf(text, "POINTS %d double\n", m * m * m);
  for (int i = 0; i < m * m * m; i++)
    g_string_append_printf(text, "%d %d %d\n", 3 * (i % m), 3 * (i / m % m), 3 * (i / m / m));
  g_string_append_printf(text, "CELLS %d %d\n", 6 * n * n * n, 30 * n * n * n);
  for (int c = 0; c < n * n * n; c++)
    for (int p = 0; p < 6; p++) {
      int at[3] = { c % n, c / n % n, c / n / n }, v[4];
      for (int k = 0; k < 4; k++) {
        v[k] = at[0] + m * (at[1] + m * at[2]);
        if (k < 3)
          at[path[p][k]]++;
      }
      const bool even = p == 0 || p == 3 || p == 4;
      g_string_append_printf(text, "4 %d %d %d %d\n", v[0], v[1], v[even ? 2 : 3], v[even ? 3 : 2]);
    }
  g_string_append_printf(text, "CELL_TYPES %d\n", 6 * n * n * n);
  for (int c = 0; c < 6 * n * n * n; c++)
    g_string_append(text, "10\n");
  g_autofree char *file = inside(name);
  g_assert_true(g_file_set_contents(file, text->str, (gssize)text->len, NULL));
}

static void
write_scene(const char *name, const char *mesh, int young_pa, int steps)
{
  g_autofree char *file = inside(name);
  g_autofree char *text = g_strdup_printf(
      "{\"mesh\": \"%s\", \"materials\": [{\"where\": {\"all\": true}, \"model\": \"neo-hookean\", "
      "\"young_pa\": %d, \"poisson\": 0.4, \"density_kg_m3\": 1000}], \"gravity_m_s2\": "
      "[0,0,-9.81],"
      "\"constraints\": [{\"where\": {\"box_mm\": [[-1,-1,-1],[0.1,99,99]]}, \"fix\": \"xyz\"}],"
      "\"dynamics\": {\"dt_s\": 0.002, \"end_s\": %g}}",
      mesh, young_pa, 0.002 * steps);
  g_assert_true(g_file_set_contents(file, text, -1, NULL));
}

/* ---- programs ------------------------------------------------------------------------------ */

/* "@" is the folder */
static GStrv
arguments(const char *words)
{
  g_auto(GStrv) parts = g_strsplit(words, "@", -1);
  g_autofree char *with = g_strconcat(folder, "/", NULL), *line = g_strjoinv(with, parts);
  g_autofree char *whole = g_strdup_printf("%s %s --quiet", g_getenv("PLATYSMA_CLI"), line);
  GStrv argv = NULL;
  g_assert_true(g_shell_parse_argv(whole, NULL, &argv, NULL));
  return argv;
}

static pid_t
start(const char *words)
{
  g_auto(GStrv) argv = arguments(words);
  GPid pid = 0;
  g_autoptr(GError) error = NULL;
  g_spawn_async(NULL, argv, NULL,
                G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL,
                NULL, NULL, &pid, &error);
  g_assert_no_error(error);
  return pid;
}

/* the status as a shell tells it: 128 + the signal that ended it */
static int
finish(pid_t pid, double *seconds)
{
  const gint64 begun = g_get_monotonic_time();
  int status;
  alarm(600); /* a hang ends here */
  g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
  alarm(0);
  *seconds = (double)(g_get_monotonic_time() - begun) * 1e-6;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static double
run(const char *words)
{
  double seconds;
  g_assert_cmpint(finish(start(words), &seconds), ==, 0);
  return seconds;
}

/* ---- folders ------------------------------------------------------------------------------- */

static void
add_files(GTree *tree, const char *dir, const char *prefix)
{
  g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);
  const char *name;
  while (entries && (name = g_dir_read_name(entries))) {
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_autofree char *shown = g_strconcat(prefix, name, NULL), *text = NULL;
    gsize size;
    if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
      g_autofree char *below = g_strconcat(shown, "/", NULL);
      g_tree_insert(tree, g_strdup(below), g_strdup("folder"));
      add_files(tree, path, below);
    } else if (g_file_get_contents(path, &text, &size, NULL)) {
      g_tree_insert(tree, g_strdup(shown),
                    g_compute_checksum_for_data(G_CHECKSUM_SHA256, (guchar *)text, size));
    }
  }
}

static gboolean
put_line(gpointer name, gpointer sum, gpointer text)
{
  g_string_append_printf(text, "%s %s\n", (char *)name, (char *)sum);
  return FALSE;
}

/* every file of the outputs with the sum of its content */
static char *
snapshot(void)
{
  g_autofree char *out = inside("out");
  GTree *tree = g_tree_new_full((GCompareDataFunc)(void *)g_ascii_strcasecmp, NULL, g_free, g_free);
  GString *text = g_string_new(NULL);
  add_files(tree, out, "");
  g_tree_foreach(tree, put_line, text);
  g_tree_unref(tree);
  return g_string_free(text, FALSE);
}

static void
empty_outputs(void)
{
  g_autofree char *out = inside("out"), *command = g_strdup_printf("rm -rf '%s'", out);
  g_assert_cmpint(system(command), ==, 0);
  g_assert_cmpint(g_mkdir(out, 0700), ==, 0);
}

/* The sums of the frames in the order of a list.  NULL: there is no list. */
static char *
frames_of(const char *list)
{
  g_autofree char *path = inside(list), *dir = g_path_get_dirname(path);
  PlaPvd pvd;
  PlaError err;
  if (!g_file_test(path, G_FILE_TEST_EXISTS))
    return NULL;
  if (pla_pvd_read(path, &pvd, &err) != PLA_OK)
    g_error("%s", err.message);
  GString *sums = g_string_new(NULL);
  for (int i = 0; i < pvd.n; i++) {
    g_autofree char *file = g_build_filename(dir, pvd.file[i], NULL), *text = NULL;
    gsize size;
    if (!g_file_get_contents(file, &text, &size, NULL))
      g_error("%s names %s, which is missing", list, pvd.file[i]);
    g_autofree char *sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (guchar *)text, size);
    g_string_append_printf(sums, "%s\n", sum);
  }
  pla_pvd_clear(&pvd);
  return g_string_free(sums, FALSE);
}

/* ---- tests --------------------------------------------------------------------------------- */

typedef struct {
  const char *name;
  const char *before; /* makes inputs; or NULL */
  const char *old_words, *new_words;
  const char *list; /* of a series among the outputs, or NULL */
} Job;

/* @signal_number at @n moments spread over the time that the work takes */
static void
interrupt(const Job *job, int signal_number, int n)
{
  empty_outputs();
  if (job->before)
    run(job->before);
  run(job->old_words);
  const double warm = run(job->new_words), whole = MIN(warm, run(job->new_words));
  g_autofree char *new_files = snapshot(), *new_frames = job->list ? frames_of(job->list) : NULL;
  empty_outputs();
  run(job->old_words);
  g_autofree char *old_files = snapshot(), *old_frames = job->list ? frames_of(job->list) : NULL;
  g_assert_cmpstr(old_files, !=, new_files);
  int n_stopped = 0, n_done = 0;
  double slowest = 0.0;
  for (int i = 0; i < n; i++) {
    const double moment = whole * (i + 0.5) / n;
    double seconds;
    const pid_t pid = start(job->new_words);
    g_usleep((gulong)(1e6 * moment));
    kill(pid, signal_number);
    const int status = finish(pid, &seconds);
    g_autofree char *files = snapshot();
    if (status == 0) {
      n_done++;
      g_assert_cmpstr(files, ==, new_files);
    } else if (signal_number == SIGINT) {
      /* before main() has said what is to be done, the system ends it */
      if (status != 130)
        g_error("%s, interrupted after %.2f s: exit status %d", job->name, moment, status);
      n_stopped++;
      slowest = MAX(slowest, seconds);
      if (strcmp(files, old_files) != 0)
        g_error("%s, interrupted after %.2f s: the folder was\n%sand is\n%s", job->name, moment,
                old_files, files);
    } else {
      g_assert_cmpint(status, ==, 128 + signal_number);
      n_stopped++;
      g_autofree char *frames = job->list ? frames_of(job->list) : NULL;
      if (job->list && g_strcmp0(frames, old_frames) != 0 && g_strcmp0(frames, new_frames) != 0)
        g_error("%s, killed after %.2f s: some frames are old and some new", job->name, moment);
      /* the next run leaves nothing of it */
      run(job->new_words);
      g_autofree char *after = snapshot();
      g_assert_cmpstr(after, ==, new_files);
    }
    if (strcmp(files, old_files) != 0 || signal_number == SIGKILL) {
      empty_outputs();
      run(job->old_words);
    }
  }
  g_test_message("%s: %d of %d runs of %.2f s were stopped, the slowest %.2f s after the signal",
                 job->name, n_stopped, n, whole, slowest);
  g_assert_cmpint(n_stopped + n_done, ==, n);
}

static const Job motion = {
  .name = "simulate",
  .old_words = "simulate @old.json -o @out/motion.pvd",
  .new_words = "simulate @new.json -o @out/motion.pvd",
  .list = "out/motion.pvd",
};

static void
test_motion(void)
{
  const bool small = g_getenv("PLA_SMALL") != NULL, all = g_getenv("PLA_LONG") != NULL;
  write_block("block.vtk", small ? 3 : 7);
  write_scene("old.json", "block.vtk", 20000, 4);
  write_scene("new.json", "block.vtk", 10000, small ? 8 : 24);
  interrupt(&motion, SIGINT, all ? 40 : 6);
  interrupt(&motion, SIGKILL, all ? 40 : 4);
}

/* After the new files have their names, Ctrl-C comes too late: the run was not interrupted.  Its
 * standard output is a pipe that is full, so that it cannot end before the signal. */
static void
test_too_late(void)
{
  write_block("block.vtk", 3);
  write_scene("old.json", "block.vtk", 20000, 2);
  write_scene("new.json", "block.vtk", 10000, 4);
  empty_outputs();
  run(motion.new_words);
  g_autofree char *new_files = snapshot();
  run(motion.old_words);
  int pipe_fd[2];
  char block[4096] = { 0 };
  g_assert_cmpint(pipe(pipe_fd), ==, 0);
  g_assert_cmpint(fcntl(pipe_fd[1], F_SETFL, O_NONBLOCK), ==, 0);
  while (write(pipe_fd[1], block, sizeof block) > 0)
    ;
  g_assert_cmpint(fcntl(pipe_fd[1], F_SETFL, 0), ==, 0);
  g_autofree char *line = g_strconcat(motion.new_words, " --json", NULL);
  g_auto(GStrv) argv = arguments(line);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(pipe_fd[1], STDOUT_FILENO);
    close(pipe_fd[0]);
    execv(argv[0], argv);
    _exit(127);
  }
  close(pipe_fd[1]);
  alarm(60);
  for (bool there = false; !there;) {
    g_autofree char *files = snapshot();
    there = strcmp(files, new_files) == 0;
    g_usleep(10000);
  }
  kill(pid, SIGINT);
  g_usleep(1500000); /* longer than an interrupted run is given */
  while (read(pipe_fd[0], block, sizeof block) > 0)
    ;
  close(pipe_fd[0]);
  double seconds;
  g_assert_cmpint(finish(pid, &seconds), ==, 0);
  g_autofree char *files = snapshot();
  g_assert_cmpstr(files, ==, new_files);
}

/* the same for verbs that take longer */
static void
test_verbs(void)
{
  static const Job jobs[] = {
    { "fit",
      "muscles activate phantom:tongue --cell-mm 10 --random 3 --seconds 1 --rate-hz 30 "
      "--markers @take.c3d",
      "muscles activate phantom:tongue --cell-mm 10 --set \"jaw opening=0.2\" --track @out/fit.csv",
      "fit phantom:tongue @take.c3d --cell-mm 10 -o @out/fit.csv", NULL },
    { "muscles activate", NULL,
      "muscles activate phantom:tongue --cell-mm 10 --random 4 --seconds 0.1 --rate-hz 30 "
      "-o @out/t.pvd --markers @out/t.c3d",
      "muscles activate phantom:tongue --cell-mm 10 --random 5 --seconds 1 --rate-hz 30 "
      "-o @out/t.pvd --markers @out/t.c3d",
      "out/t.pvd" },
    { "speak", NULL, "speak --text yes -o @out/s.csv --animation @out/s.pvd",
      "speak --text \"good morning\" -o @out/s.csv --animation @out/s.pvd", "out/s.pvd" },
    { "operate", NULL, "convert @block.vtk @out/o.vtu", "operate @plan.json -o @out/o.vtu", NULL },
  };
  if (!g_getenv("PLA_LONG")) {
    g_test_skip("minutes; ./check --long runs it");
    return;
  }
  write_block("block.vtk", 3);
  run("phantom skin-slab --spacing-mm 3 -o @slab.nii.gz");
  run("case new @slab.platysma");
  run("case import @slab.platysma @slab.nii.gz");
  g_autofree char *plan = inside("plan.json");
  g_assert_true(
      g_file_set_contents(plan,
                          "{\"case\": \"slab.platysma\", \"lattice_mm\": 8, \"operations\": ["
                          "{\"hook\": {\"at_mm\": [0,0,0], \"pull_mm\": [0,0,30]}},"
                          "{\"solve\": {\"tolerance_rel\": 1e-5}}]}",
                          -1, NULL));
  for (size_t j = 0; j < G_N_ELEMENTS(jobs); j++) {
    interrupt(&jobs[j], SIGINT, 8);
    interrupt(&jobs[j], SIGKILL, 4);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("platysma-interrupt-XXXXXX", NULL);
  g_test_add_func("/interrupt/motion", test_motion);
  g_test_add_func("/interrupt/too-late", test_too_late);
  g_test_add_func("/interrupt/verbs", test_verbs);
  const int status = g_test_run();
  g_autofree char *command = g_strdup_printf("rm -rf '%s'", folder);
  if (system(command) != 0)
    return 1;
  g_free(folder);
  return status;
}
