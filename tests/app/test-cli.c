/* The rules that every command keeps: help with an example, one sentence and the right exit status
 * on bad usage, one JSON object and nothing else with --json. */
#include "app/cli/command.h"
#include "sim/dynamics/dynamics.h"
#include "sim/surgery/template.h"

#include <gio/gio.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <string.h>

static const char *cli; /* path of platysma-cli */

typedef struct {
  int status;
  char *out, *err;
} Result;

static void
result_clear(Result *result)
{
  g_free(result->out);
  g_free(result->err);
}

/* runs platysma-cli with the words of @line, and OpenBLAS with the kernels of @core; NULL: those
 * that the program chooses */
static Result
run_on(const char *core, const char *line)
{
  Result result = { 0 };
  g_autoptr(GError) error = NULL;
  g_auto(GStrv) words = NULL;
  g_autofree char *whole = g_strconcat(cli, " ", line, NULL);
  g_assert_true(g_shell_parse_argv(whole, NULL, &words, &error));
  g_autoptr(GSubprocessLauncher) launcher =
      g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE);
  if (core)
    g_subprocess_launcher_setenv(launcher, "OPENBLAS_CORETYPE", core, TRUE);
  else
    g_subprocess_launcher_unsetenv(launcher, "OPENBLAS_CORETYPE");
  g_autoptr(GSubprocess) process =
      g_subprocess_launcher_spawnv(launcher, (const char *const *)words, &error);
  g_assert_no_error(error);
  g_assert_true(
      g_subprocess_communicate_utf8(process, NULL, NULL, &result.out, &result.err, &error));
  g_assert_no_error(error);
  g_assert_true(g_subprocess_get_if_exited(process));
  result.status = g_subprocess_get_exit_status(process);
  return result;
}

static Result
run(const char *line)
{
  return run_on(g_getenv("OPENBLAS_CORETYPE"), line);
}

/* exactly one sentence: one line, more than one word */
static void
check_sentence(const Result *result)
{
  g_assert_true(g_str_has_prefix(result->err, "platysma-cli: "));
  g_assert_true(strchr(result->err, '\n') == result->err + strlen(result->err) - 1);
  g_assert_nonnull(strchr(result->err + strlen("platysma-cli: "), ' '));
}

static void
check_json_error(const Result *result)
{
  g_autoptr(JsonParser) parser = json_parser_new();
  g_autoptr(GError) error = NULL;
  json_parser_load_from_data(parser, result->out, -1, &error);
  g_assert_no_error(error);
  JsonObject *object = json_node_get_object(json_parser_get_root(parser));
  g_assert_true(json_object_has_member(object, "error"));
}

static void
test_every_command(void)
{
  for (const PlaCommand *const *command = pla_commands_get(); *command; command++) {
    g_assert_nonnull((*command)->example);
    g_assert_true(g_str_has_prefix((*command)->example, "platysma-cli "));
    g_assert_nonnull((*command)->summary);
    g_assert_nonnull((*command)->description);

    g_autofree char *help = g_strdup_printf("%s --help", (*command)->name);
    Result result = run(help);
    g_assert_cmpint(result.status, ==, 0);
    g_assert_nonnull(strstr(result.out, (*command)->example));
    for (const PlaOpt *opt = pla_command_options(*command); opt && opt->name; opt++) {
      g_assert_nonnull(strstr(result.out, opt->name));
      g_assert_true(opt->type == PLA_OPT_FLAG || opt->arg != NULL);
    }
    g_assert_cmpstr(result.err, ==, "");
    result_clear(&result);

    g_autofree char *bad = g_strdup_printf("%s --no-such-option --json", (*command)->name);
    result = run(bad);
    g_assert_cmpint(result.status, ==, 2);
    check_sentence(&result);
    check_json_error(&result);
    result_clear(&result);

    /* every file that a command needs may be missing */
    if ((*command)->min_files > 0) {
      g_autofree char *missing =
          g_strdup_printf("%s /nowhere/a.nii /nowhere/b.vtu -o /nowhere/out.nii", (*command)->name);
      result = run(missing);
      g_assert_cmpint(result.status, ==, 2);
      check_sentence(&result);
      result_clear(&result);
    }
  }
}

static void
test_usage(void)
{
  const char *const bad[] = { "",
                              "nosuchcommand",
                              "info",
                              "info a b",
                              "bench nosuch",
                              "convert a.vtu b.vtu --nifti 7",
                              "convert a.vtu b.vtu --unit-mm x",
                              "info x --threads 0",
                              "info x --threads",
                              "info x --json --json" };
  for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
    Result result = run(bad[i]);
    g_assert_cmpint(result.status, ==, 2);
    if (i > 0)
      check_sentence(&result);
    result_clear(&result);
  }
  Result result = run("--version");
  g_assert_cmpint(result.status, ==, 0);
  g_assert_true(g_str_has_prefix(result.out, "platysma-cli "));
  result_clear(&result);
}

/* the manual page and the completion name every command and option; columns of the page keep their
 * lines */
static void
test_generated(void)
{
  Result man = run("--man"), completion = run("--bash-completion");
  for (const PlaCommand *const *command = pla_commands_get(); *command; command++) {
    g_autofree char *section = g_strdup_printf(".SS %s", (*command)->name);
    g_assert_nonnull(strstr(man.out, section));
    for (const PlaOpt *opt = pla_command_options(*command); opt && opt->name; opt++) {
      g_autofree char *option = g_strdup_printf("--%s", opt->name);
      g_assert_nonnull(strstr(completion.out, option));
    }
  }
  g_assert_nonnull(strstr(man.out, ".nf\nnew CASE"));
  result_clear(&man);
  result_clear(&completion);
}

/* lists that descriptions repeat are complete */
static void
test_lists_in_help(void)
{
  Result operate = run("operate --help"), simulate = run("simulate --help");
  for (const PlaTemplate *const *row = pla_templates_get(); *row; row++)
    g_assert_nonnull(strstr(operate.out, (*row)->id));
  for (const PlaIntegrator *const *row = pla_integrators_get(); *row; row++)
    g_assert_nonnull(strstr(simulate.out, (*row)->name));
  result_clear(&operate);
  result_clear(&simulate);
}

/* the headless program needs neither a toolkit nor a renderer to start */
static void
test_links(void)
{
  g_autofree char *out = NULL;
  g_autofree char *command = g_strdup_printf("ldd %s", cli);
  g_assert_true(g_spawn_command_line_sync(command, &out, NULL, NULL, NULL));
  g_assert_null(strstr(out, "libgtk"));
  g_assert_null(strstr(out, "libvtk"));
}

/* where a bar's tip goes, mm */
static void
bend(const char *core, const char *dir, double tip[3])
{
  g_autoptr(JsonParser) parser = json_parser_new();
  g_autofree char *line =
      g_strdup_printf("simulate %s/bar.json -o %s/bent.vtu --json --quiet", dir, dir);
  Result result = run_on(core, line);
  g_assert_cmpint(result.status, ==, 0);
  g_assert_true(json_parser_load_from_data(parser, result.out, -1, NULL));
  JsonObject *root = json_node_get_object(json_parser_get_root(parser));
  JsonObject *probe =
      json_array_get_object_element(json_object_get_array_member(root, "probes"), 0);
  JsonArray *moved = json_object_get_array_member(probe, "displacement_mm");
  for (guint d = 0; d < 3; d++)
    tip[d] = json_array_get_double_element(moved, d);
  result_clear(&result);
}

/* a processor that OpenBLAS does not know gets kernels that use what it has; kernels change the
 * last bits of a result, by less than 1e-8 of a displacement; the version names them */
static void
test_blas_kernels(void)
{
  static const char scene[] =
      "{\"mesh\": \"bar.vtu\", \"gravity_m_s2\": [0, 0, -9.81],"
      " \"materials\": [{\"where\": {\"all\": true}, \"model\": \"neo-hookean\","
      "                  \"young_pa\": 10000, \"poisson\": 0.45, \"density_kg_m3\": 1000}],"
      " \"constraints\": [{\"where\": {\"box_mm\": [[-1, -1, -1], [0.1, 26, 26]]}, \"fix\": "
      "\"xyz\"}],"
      " \"probes\": [{\"name\": \"tip\", \"nearest_mm\": [100, 12, 12]}],"
      " \"solver\": {\"tolerance_rel\": 1e-11}}";
  Result nehalem = run_on("Nehalem", "--version"), ours = run_on(NULL, "--version");
  g_assert_nonnull(strstr(nehalem.out, "Nehalem kernels)"));
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    g_assert_cmpstr(ours.out, !=, nehalem.out);
#endif
  result_clear(&nehalem);
  result_clear(&ours);

  g_autofree char *dir = g_dir_make_tmp("platysma-blas-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(dir, "bar.json", NULL);
  g_assert_true(g_file_set_contents(path, scene, -1, NULL));
  g_autofree char *line = g_strdup_printf("phantom bar --spacing-mm 6.25 -o %s/bar.vtu", dir);
  Result made = run(line);
  g_assert_cmpint(made.status, ==, 0);
  result_clear(&made);
  double tip[2][3];
  bend("Nehalem", dir, tip[0]);
  bend(NULL, dir, tip[1]);
  g_assert_cmpfloat(fabs(tip[0][2]), >, 5.0);
  for (int d = 0; d < 3; d++)
    g_assert_cmpfloat(fabs(tip[0][d] - tip[1][d]), <, 1e-8 * fabs(tip[0][2]));
  static const char *const files[] = { "bar.json", "bar.vtu", "bent.vtu" };
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *file = g_build_filename(dir, files[i], NULL);
    g_assert_cmpint(g_unlink(file), ==, 0);
  }
  g_assert_cmpint(g_rmdir(dir), ==, 0);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  cli = g_getenv("PLATYSMA_CLI");
  g_assert_nonnull(cli);
  g_test_add_func("/cli/every-command", test_every_command);
  g_test_add_func("/cli/usage", test_usage);
  g_test_add_func("/cli/generated", test_generated);
  g_test_add_func("/cli/lists-in-help", test_lists_in_help);
  g_test_add_func("/cli/links", test_links);
  g_test_add_func("/cli/blas-kernels", test_blas_kernels);
  return g_test_run();
}
