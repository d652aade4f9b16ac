/* Little memory: a program that is given none says one sentence and ends with status 2, without
 * signals, cores or half-written files. */
#include "app/cli/command.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

static char *folder;

/* runs a command under a limit of address space; false where it ran out of memory */
static bool
run(const char *words, int limit_mib)
{
  g_auto(GStrv) parts = g_strsplit(words, "@", -1);
  g_autofree char *with = g_strconcat(folder, "/", NULL), *line = g_strjoinv(with, parts);
  g_autofree char *limit =
      limit_mib > 0 ? g_strdup_printf("ulimit -v %d; ", 1024 * limit_mib) : g_strdup("");
  g_autofree char *script =
      g_strdup_printf("%sexec %s %s --threads 1 --quiet", limit, g_getenv("PLATYSMA_CLI"), line);
  const char *argv[] = { "/bin/sh", "-c", script, NULL };
  g_autofree char *said = NULL, *printed = NULL;
  g_autoptr(GError) error = NULL;
  int status;
  g_auto(GStrv) env = g_get_environ();
  env = g_environ_setenv(env, "OMP_NUM_THREADS", "1", TRUE);
  env = g_environ_setenv(env, "OPENBLAS_NUM_THREADS", "1", TRUE);
  g_assert_true(
      g_spawn_sync(NULL, (char **)argv, env, 0, NULL, NULL, &printed, &said, &status, &error));
  if (!WIFEXITED(status))
    g_error("'%s' within %d MiB was ended by signal %d: %s", words, limit_mib, WTERMSIG(status),
            said);
  if (WEXITSTATUS(status) == 0)
    return true;
  if (limit_mib == 0)
    g_error("'%s': %s", words, said);
  /* the loader of the system may be the one that has no memory */
  if (WEXITSTATUS(status) != 127 && !strstr(said, "error while loading")) {
    g_assert_cmpint(WEXITSTATUS(status), ==, 2);
    g_assert_true(g_str_has_prefix(said, "platysma-cli: "));
    g_assert_nonnull(strstr(said, "memory"));
  }
  return false;
}

static void
check_folder(const char *words)
{
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  while ((name = g_dir_read_name(dir)))
    if (strstr(name, "part"))
      g_error("'%s' left %s", words, name);
}

/* a bar under its weight */
static void
write_scene(const char *spacing_mm)
{
  g_autofree char *scene = g_build_filename(folder, "scene.json", NULL);
  g_autofree char *words = g_strdup_printf("phantom bar --spacing-mm %s -o @bar.vtu", spacing_mm);
  g_assert_true(run(words, 0));
  g_assert_true(g_file_set_contents(
      scene,
      "{\"mesh\": \"bar.vtu\", \"materials\": [{\"where\": {\"all\": true}, \"model\": "
      "\"linear\"}],"
      "\"gravity_m_s2\": [0,0,-9.81], \"constraints\": [{\"where\": {\"box_mm\": "
      "[[-1,-1,-1],[0.1,26,26]]}, \"fix\": \"xyz\"}]}",
      -1, NULL));
}

/* OpenBLAS would ask for its 128 MiB for ever: whatever it gets, the program comes to an end */
static void
test_blas(void)
{
  if (g_getenv("PLA_SMALL")) {
    g_test_skip("sanitizers reserve terabytes of addresses");
    return;
  }
  write_scene("8");
  int n_short = 0, limit = 130;
  while (limit < 2000 && !run("simulate @scene.json -o @out.vtu", limit)) {
    check_folder("simulate");
    limit += 20;
    n_short++;
  }
  g_assert_cmpint(limit, <, 2000);
  g_assert_cmpint(n_short, >, 1);
}

static void
test_little(void)
{
  static const struct {
    const char *words;
    int from_mib;
  } commands[] = {
    { "convert @big.nii @copy.nii.gz", 90 },
    { "segment @big.nii --threshold 1 300 --label 1 -o @labels.nii.gz", 130 },
    { "mesh @big.nii --method lattice --cell-mm 6 -o @cells.vtu", 130 },
    { "simulate @scene.json -o @out.vtu", 130 },
  };
  if (!g_getenv("PLA_LONG") || g_getenv("PLA_SMALL")) {
    g_test_skip("half a minute, ./check --long runs it; sanitizers reserve terabytes of addresses");
    return;
  }
  g_assert_true(run("phantom sphere --spacing-mm 0.5 -o @big.nii", 0));
  write_scene("1.8");
  for (size_t c = 0; c < G_N_ELEMENTS(commands); c++) {
    int n_short = 0, limit = commands[c].from_mib;
    /* from too little to enough, in small steps: each runs out at another place */
    while (limit < 4000 && !run(commands[c].words, limit)) {
      check_folder(commands[c].words);
      limit += 25;
      n_short++;
    }
    g_test_message("%s: enough with %d MiB, short %d times", commands[c].words, limit, n_short);
    g_assert_cmpint(limit, <, 4000);
    g_assert_cmpint(n_short, >, 0);
  }
}

/* GLib's own allocations, which do not return where there is no memory */
static void
test_glib(void)
{
  if (g_test_subprocess()) {
    char name[] = "platysma-cli", word[] = "--version", *argv[] = { name, word, NULL };
    pla_cli_main(2, argv);
    g_free(g_malloc(G_MAXSIZE / 2));
    return;
  }
  g_test_trap_subprocess(NULL, 0, 0);
  g_test_trap_assert_failed();
  g_test_trap_assert_stderr("*platysma-cli: there is not enough memory*");
  g_test_trap_assert_stderr_unmatched("*: failed to allocate*");
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_test_subprocess() ? NULL : g_dir_make_tmp("platysma-memory-XXXXXX", NULL);
  g_test_add_func("/memory/glib", test_glib);
  g_test_add_func("/memory/blas", test_blas);
  g_test_add_func("/memory/little", test_little);
  const int status = g_test_run();
  if (g_test_subprocess())
    return status;
  g_autofree char *remove = g_strdup_printf("rm -r '%s'", folder);
  if (system(remove) != 0)
    return 1;
  g_free(folder);
  return status;
}
