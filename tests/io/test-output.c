/* Sets of files: all or none, whatever fails; and a program killed at any call of the system leaves
 * the old set or the new one. */
#include "io/formats/pvd.h"
#include "io/stream/output.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- calls that change a folder end the program, or fail, at a chosen moment ----------------- */

static int die_at, n_calls; /* from 1; 0: never */
static char fail_name[64];  /* the new name that is refused; empty: none */

static bool
fails(const char *name)
{
  n_calls++;
  if (n_calls == die_at)
    kill(getpid(), SIGKILL);
  if (*fail_name && name && g_str_has_suffix(name, fail_name)) {
    errno = EACCES;
    return true;
  }
  return false;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int
rename(const char *from, const char *to)
{
  return fails(NULL) ? -1 : REAL(rename)(from, to);
}

int
renameat(int from_fd, const char *from, int to_fd, const char *to)
{
  return fails(to) ? -1 : REAL(renameat)(from_fd, from, to_fd, to);
}

int
unlinkat(int fd, const char *name, int flags)
{
  n_calls++;
  if (n_calls == die_at)
    kill(getpid(), SIGKILL);
  return REAL(unlinkat)(fd, name, flags);
}

int
linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
  return fails(NULL) ? -1 : REAL(linkat)(from_fd, from, to_fd, to, flags);
}

/* ---- series -------------------------------------------------------------------------------- */

static char *dir;

static char *
inside(const char *name)
{
  return g_build_filename(dir, name, NULL);
}

/* @n frames that hold @word, and their list */
static PlaStatus
write_series(int n, const char *word, PlaError *err)
{
  double time_s[16];
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *list = inside("s.pvd");
  PlaOutputSet *set = NULL;
  PlaStatus st = pla_output_set_begin(&set, err);
  for (int i = 0; i < n && st == PLA_OK; i++) {
    time_s[i] = i;
    g_ptr_array_add(names, g_strdup_printf("s_%04d.vtu", i));
    g_autofree char *path = inside(names->pdata[i]);
    st = pla_output_write(path, word, strlen(word), err);
  }
  if (st == PLA_OK)
    st = pla_pvd_remove_frames(list, "s", err);
  if (st == PLA_OK)
    st = pla_pvd_write(list, n, time_s, (const char *const *)names->pdata, err);
  return pla_output_set_end(set, st, err);
}

/* the word that all frames of the list hold */
static char *
read_series(int *n)
{
  g_autofree char *list = inside("s.pvd");
  PlaPvd pvd;
  PlaError err;
  char *word = NULL;
  if (pla_pvd_read(list, &pvd, &err) != PLA_OK)
    g_error("%s", err.message);
  *n = pvd.n;
  for (int i = 0; i < pvd.n; i++) {
    g_autofree char *path = inside(pvd.file[i]), *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
      g_error("%s is missing", path);
    if (!word)
      word = g_strdup(text);
    g_assert_cmpstr(text, ==, word);
  }
  pla_pvd_clear(&pvd);
  return word;
}

static int
by_name(gconstpointer a, gconstpointer b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* the names in the folder, sorted, with blanks */
static char *
list_folder(const char *path)
{
  g_autoptr(GDir) d = g_dir_open(path, 0, NULL);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  const char *name;
  while ((name = g_dir_read_name(d)))
    g_ptr_array_add(names, g_strdup(name));
  g_ptr_array_sort(names, by_name);
  g_ptr_array_add(names, NULL);
  return g_strjoinv(" ", (char **)names->pdata);
}

static void
empty(void)
{
  g_autofree char *command = g_strdup_printf("rm -rf '%s'", dir);
  g_assert_cmpint(system(command), ==, 0);
  g_assert_cmpint(g_mkdir(dir, 0700), ==, 0);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void
test_together(void)
{
  PlaError err;
  int n;
  empty();
  g_assert_cmpint(write_series(7, "old", &err), ==, PLA_OK);
  g_assert_cmpint(write_series(3, "new", &err), ==, PLA_OK);
  g_autofree char *word = read_series(&n);
  g_assert_cmpstr(word, ==, "new");
  g_assert_cmpint(n, ==, 3);
  g_autofree char *names = list_folder(dir);
  g_assert_cmpstr(names, ==, "s.pvd s_0000.vtu s_0001.vtu s_0002.vtu");

  /* a file that only looks like a frame, and is in no list, stays */
  g_autofree char *other = inside("s_0009.vtu");
  g_assert_true(g_file_set_contents(other, "mine", -1, NULL));
  g_assert_cmpint(write_series(2, "newer", &err), ==, PLA_OK);
  g_assert_true(g_file_test(other, G_FILE_TEST_EXISTS));
}

/* until the end nothing is seen; what waits can be read; a failure leaves no trace */
static void
test_discarded(void)
{
  PlaError err;
  PlaOutputSet *set, *inner;
  int n;
  empty();
  g_assert_cmpint(write_series(3, "old", &err), ==, PLA_OK);
  g_autofree char *before = list_folder(dir);
  g_autofree char *first = inside("s_0000.vtu"), *folder = inside("made"), *deep = inside("made/a");
  g_autofree char *extra = inside("extra"), *text = NULL, *still = NULL;
  g_assert_cmpint(pla_output_set_begin(&set, &err), ==, PLA_OK);
  g_assert_cmpint(pla_output_write(first, "new", 3, &err), ==, PLA_OK);
  g_assert_cmpint(pla_output_set_mkdir(folder, &err), ==, PLA_OK);
  g_assert_cmpint(pla_output_write(deep, "new", 3, &err), ==, PLA_OK);
  g_assert_true(g_file_get_contents(pla_output_get_staged(first), &text, NULL, NULL));
  g_assert_cmpstr(text, ==, "new");
  g_assert_true(g_file_get_contents(first, &still, NULL, NULL));
  g_assert_cmpstr(still, ==, "old");
  /* a set within the set that fails takes its own files with it only */
  g_assert_cmpint(pla_output_set_begin(&inner, &err), ==, PLA_OK);
  g_assert_cmpint(pla_output_write(extra, "x", 1, &err), ==, PLA_OK);
  g_assert_cmpint(pla_output_set_end(inner, PLA_ERR_IO, &err), ==, PLA_ERR_IO);
  g_assert_cmpstr(pla_output_get_staged(extra), ==, extra);
  g_assert_cmpstr(pla_output_get_staged(first), !=, first);
  g_assert_cmpint(pla_output_set_end(set, PLA_ERR_CANCELLED, &err), ==, PLA_ERR_CANCELLED);
  g_autofree char *after = list_folder(dir), *word = read_series(&n);
  g_assert_cmpstr(after, ==, before);
  g_assert_cmpstr(word, ==, "old");
  g_assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
  /* and without a set all is as it was */
  g_assert_cmpint(pla_output_write(first, "new", 3, &err), ==, PLA_OK);
  g_clear_pointer(&text, g_free);
  g_assert_true(g_file_get_contents(first, &text, NULL, NULL));
  g_assert_cmpstr(text, ==, "new");
}

/* the last of three names is refused: the other two are given back */
static void
test_refused(void)
{
  static const char *const names[] = { "a.vtu", "b.vtu", "c.vtu" };
  PlaError err;
  PlaOutputSet *set;
  empty();
  for (int round = 0; round < 2; round++) {
    g_autofree char *before = list_folder(dir);
    if (round == 1) /* and where something stood before */
      for (int i = 0; i < 3; i++) {
        g_autofree char *path = inside(names[i]);
        g_assert_true(g_file_set_contents(path, "old", -1, NULL));
      }
    g_assert_cmpint(pla_output_set_begin(&set, &err), ==, PLA_OK);
    for (int i = 0; i < 3; i++) {
      g_autofree char *path = inside(names[i]);
      g_assert_cmpint(pla_output_write(path, "new", 3, &err), ==, PLA_OK);
    }
    strcpy(fail_name, "/c.vtu");
    g_assert_cmpint(pla_output_set_end(set, PLA_OK, &err), ==, PLA_ERR_IO);
    *fail_name = '\0';
    g_assert_nonnull(strstr(err.message, "c.vtu"));
    g_autofree char *after = list_folder(dir);
    if (round == 0)
      g_assert_cmpstr(after, ==, before);
    for (int i = 0; i < 3 && round == 1; i++) {
      g_autofree char *path = inside(names[i]), *text = NULL;
      g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
      g_assert_cmpstr(text, ==, "old");
    }
  }
  /* a folder that is none */
  g_assert_cmpint(pla_output_set_begin(&set, &err), ==, PLA_OK);
  g_assert_cmpint(pla_output_write("/nowhere/at/all", "x", 1, &err), ==, PLA_ERR_IO);
  g_assert_nonnull(strstr(err.message, "/nowhere/at/all"));
  g_assert_cmpint(pla_output_set_end(set, PLA_ERR_IO, &err), ==, PLA_ERR_IO);
}

/* killed before every call that changes a folder */
static void
test_killed(void)
{
  PlaError err;
  int n, n_old = 0, n_new = 0;
  for (int k = 1;; k++) {
    empty();
    g_assert_cmpint(write_series(6, "old", &err), ==, PLA_OK);
    const pid_t child = fork();
    if (child == 0) {
      n_calls = 0;
      die_at = k;
      _exit(write_series(4, "new", &err) == PLA_OK ? 0 : 1);
    }
    int status;
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    const bool killed = WIFSIGNALED(status);
    g_assert_true(killed || WEXITSTATUS(status) == 0);
    g_autofree char *word = read_series(&n);
    g_assert_cmpint(n, ==, strcmp(word, "old") == 0 ? 6 : 4);
    n_old += strcmp(word, "old") == 0;
    n_new += strcmp(word, "new") == 0;
    /* the next run cleans up, whatever it writes */
    g_autofree char *note = inside("note.txt");
    PlaOutputSet *set;
    g_assert_cmpint(pla_output_set_begin(&set, &err), ==, PLA_OK);
    g_assert_cmpint(pla_output_write(note, "n", 1, &err), ==, PLA_OK);
    g_assert_cmpint(pla_output_set_end(set, PLA_OK, &err), ==, PLA_OK);
    int n_after;
    g_autofree char *names = list_folder(dir), *again = read_series(&n_after);
    g_assert_cmpint(n_after, ==, strcmp(again, "old") == 0 ? 6 : 4);
    g_assert_cmpstr(names, ==,
                    n_after == 6 ? "note.txt s.pvd s_0000.vtu s_0001.vtu s_0002.vtu s_0003.vtu "
                                   "s_0004.vtu s_0005.vtu"
                                 : "note.txt s.pvd s_0000.vtu s_0001.vtu s_0002.vtu s_0003.vtu");
    /* what was new stays new */
    if (strcmp(word, "new") == 0)
      g_assert_cmpstr(again, ==, "new");
    if (!killed)
      break;
    g_assert_cmpint(k, <, 500);
  }
  g_test_message("%d kills left the old series, %d the new one", n_old, n_new);
  g_assert_cmpint(n_old, >, 5);
  g_assert_cmpint(n_new, >, 5);
}

/* a folder that another program is still writing is left alone */
static void
test_alive(void)
{
  PlaError err;
  int ready[2], go[2];
  char byte = 0;
  empty();
  g_assert_cmpint(pipe(ready), ==, 0);
  g_assert_cmpint(pipe(go), ==, 0);
  const pid_t child = fork();
  g_autofree char *a = inside("a"), *b = inside("b");
  if (child == 0) {
    PlaOutputSet *set;
    bool ok = pla_output_set_begin(&set, &err) == PLA_OK &&
              pla_output_write(a, "a", 1, &err) == PLA_OK && write(ready[1], "x", 1) == 1 &&
              read(go[0], &byte, 1) == 1 && pla_output_set_end(set, PLA_OK, &err) == PLA_OK;
    _exit(ok ? 0 : 1);
  }
  g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
  PlaOutputSet *set;
  g_assert_cmpint(pla_output_set_begin(&set, &err), ==, PLA_OK);
  g_assert_cmpint(pla_output_write(b, "b", 1, &err), ==, PLA_OK);
  g_assert_cmpint(pla_output_set_end(set, PLA_OK, &err), ==, PLA_OK);
  g_assert_cmpint(write(go[1], "x", 1), ==, 1);
  int status;
  g_assert_cmpint(waitpid(child, &status, 0), ==, child);
  g_assert_cmpint(status, ==, 0);
  g_autofree char *names = list_folder(dir);
  g_assert_cmpstr(names, ==, "a b");
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  dir = g_dir_make_tmp("platysma-output-XXXXXX", NULL);
  g_test_add_func("/output/together", test_together);
  g_test_add_func("/output/discarded", test_discarded);
  g_test_add_func("/output/refused", test_refused);
  g_test_add_func("/output/killed", test_killed);
  g_test_add_func("/output/alive", test_alive);
  const int status = g_test_run();
  empty();
  g_rmdir(dir);
  g_free(dir);
  return status;
}
