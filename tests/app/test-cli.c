/* The rules that every command keeps: help with an example, one sentence and the right exit status
 * on bad usage, one JSON object and nothing else with --json. */
#include "app/cli/command.h"
#include "sim/dynamics/dynamics.h"
#include "sim/surgery/template.h"

#include <gio/gio.h>
#include <glib.h>
#include <glib/gstdio.h>
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

/* runs platysma-cli with the words of @line */
static Result
run(const char *line)
{
  Result result = { 0 };
  g_autoptr(GError) error = NULL;
  g_auto(GStrv) words = NULL;
  g_autofree char *whole = g_strconcat(cli, " ", line, NULL);
  g_assert_true(g_shell_parse_argv(whole, NULL, &words, &error));
  g_autoptr(GSubprocess) process =
      g_subprocess_newv((const char *const *)words,
                        G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, &error);
  g_assert_no_error(error);
  g_assert_true(
      g_subprocess_communicate_utf8(process, NULL, NULL, &result.out, &result.err, &error));
  g_assert_no_error(error);
  g_assert_true(g_subprocess_get_if_exited(process));
  result.status = g_subprocess_get_exit_status(process);
  return result;
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
  return g_test_run();
}
