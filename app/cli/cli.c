/* The command line: parsing by table, help, man page, completion, progress, Ctrl-C, exit codes. */
#include "app/base/json.h"
#include "app/cli/cli-private.h"
#include "app/verbs/describe.h"
#include "io/formats/format.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/parallel.h"
#include "io/stream/output.h"
#include "platysma-config.h"

#include <errno.h>
#include <glib.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* options of every command */
static const PlaOpt common_options[] = {
  { "output", 'o', PLA_OPT_OUTPUT, "FILE", "where to write the result" },
  { "json", 0, PLA_OPT_FLAG, NULL, "print exactly one JSON object" },
  { "threads", 0, PLA_OPT_INT, "N", "threads to use (default: all cores)", 1, 1024 },
  { "quiet", 'q', PLA_OPT_FLAG, NULL, "print nothing but errors" },
  { "help", 'h', PLA_OPT_FLAG, NULL, "show this help" },
  { NULL },
};

struct PlaInvocation {
  const PlaCommand *command;
  GPtrArray *files;    /* borrowed from argv */
  GHashTable *options; /* name -> GPtrArray of borrowed texts */
  JsonBuilder *json;
  PlaProgress progress;
  gint64 started_us;
  gint64 shown_us;
  bool line_open; /* a progress line stands on the terminal */
};

/* ---- Ctrl-C ------------------------------------------------------------------------------- */

static PlaProgress *running; /* what the signal handler cancels */
/* the work is done and its files take their names: what comes now is too late, and must not tell of
 * an interrupted run */
static volatile sig_atomic_t finished;

/* the work did not stop by itself in time: take the half-written files away and go */
static void
on_alarm(int signal_number)
{
  const struct itimerval soon = { .it_value = { .tv_usec = 50000 } };
  if (finished)
    return;
  if (pla_output_remove_all_temporaries())
    _exit(130);
  setitimer(ITIMER_REAL, &soon, NULL); /* finished files are taking their names */
}

static void
on_interrupt(int signal_number)
{
  const struct itimerval grace = { .it_value = { .tv_usec = 900000 } };
  if (pla_progress_cancelled(running)) {
    on_alarm(signal_number);
    return;
  }
  pla_progress_cancel(running);
  setitimer(ITIMER_REAL, &grace, NULL);
}

/* @flags: SA_RESTART once nothing is left to interrupt but the printing of the result */
static void
watch_signals(PlaProgress *progress, int flags)
{
  running = progress;
  struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = flags };
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, NULL);
  signal(SIGPIPE, SIG_IGN);
}

/* ---- short memory ------------------------------------------------------------------------- */

static bool wants_json; /* its reader expects an object, whatever happens */

/* a sentence, no half-written files, and a status; takes no memory */
static void
end_short_of_memory(const char *sentence)
{
  pla_output_remove_all_temporaries();
  fprintf(stderr, "platysma-cli: %s\n", sentence);
  if (wants_json)
    printf("{\n  \"error\" : \"%s\"\n}\n", sentence);
  fflush(stdout);
  _exit(2);
}

/* GLib ends a program that it cannot give memory by g_error() and a core; we end it as any failure
 * ends. */
static GLogWriterOutput
on_log(GLogLevelFlags level, const GLogField *field, gsize n, gpointer data)
{
  static const char sentence[] = "there is not enough memory for this; close other programs, or "
                                 "use a smaller or coarser input";
  for (gsize i = 0; (level & G_LOG_LEVEL_ERROR) && i < n; i++)
    if (strcmp(field[i].key, "MESSAGE") == 0 && (strstr(field[i].value, "failed to allocate") ||
                                                 strstr(field[i].value, "overflow allocating")))
      end_short_of_memory(sentence);
  return g_log_writer_default(level, field, n, data);
}

/* ---- progress line ------------------------------------------------------------------------ */

static void
on_progress(const char *phase, double fraction, void *data)
{
  PlaInvocation *inv = data;
  gint64 now = g_get_monotonic_time();
  if (now - inv->shown_us < 100000 && fraction < 1.0)
    return;
  inv->shown_us = now;
  double spent = (double)(now - inv->started_us) * 1e-6;
  char left[48] = "";
  if (fraction > 0.02 && spent > 0.5)
    g_snprintf(left, sizeof left, ", %.0f s left", ceil(spent * (1.0 - fraction) / fraction));
  fprintf(stderr, "\r\033[K%3.0f %%  %s%s", 100.0 * fraction, phase, left);
  inv->line_open = true;
}

static void
close_progress_line(PlaInvocation *inv)
{
  if (inv->line_open)
    fputs("\r\033[K", stderr);
  inv->line_open = false;
}

/* ---- what commands ask -------------------------------------------------------------------- */

static const PlaOpt *
find_option(const PlaOpt *table, const char *name, size_t len)
{
  for (; table && table->name; table++)
    if (strlen(table->name) == len && strncmp(table->name, name, len) == 0)
      return table;
  return NULL;
}

static GPtrArray *
values_of(const PlaInvocation *inv, const char *option)
{
  g_assert(find_option(pla_command_options(inv->command), option, strlen(option)) ||
           find_option(common_options, option, strlen(option)));
  return g_hash_table_lookup(inv->options, option);
}

bool
pla_invocation_knows(const PlaInvocation *inv, const char *option)
{
  return find_option(pla_command_options(inv->command), option, strlen(option)) != NULL;
}

const PlaCommand *
pla_invocation_command(const PlaInvocation *inv)
{
  return inv->command;
}

int
pla_invocation_n_files(const PlaInvocation *inv)
{
  return (int)inv->files->len;
}

const char *
pla_invocation_file(const PlaInvocation *inv, int i)
{
  return i >= 0 && i < (int)inv->files->len ? g_ptr_array_index(inv->files, (guint)i) : NULL;
}

const char *
pla_invocation_output(const PlaInvocation *inv)
{
  return pla_invocation_text(inv, "output", 0, NULL);
}

bool
pla_invocation_has(const PlaInvocation *inv, const char *option)
{
  return values_of(inv, option) != NULL;
}

int
pla_invocation_count(const PlaInvocation *inv, const char *option)
{
  GPtrArray *values = values_of(inv, option);
  return values ? (int)values->len : 0;
}

const char *
pla_invocation_text(const PlaInvocation *inv, const char *option, int i, const char *otherwise)
{
  GPtrArray *values = values_of(inv, option);
  return values && i < (int)values->len ? g_ptr_array_index(values, (guint)i) : otherwise;
}

int
pla_invocation_int(const PlaInvocation *inv, const char *option, int otherwise)
{
  const char *text = pla_invocation_text(inv, option, 0, NULL);
  return text ? (int)g_ascii_strtoll(text, NULL, 10) : otherwise;
}

double
pla_invocation_number(const PlaInvocation *inv, const char *option, double otherwise)
{
  const char *text = pla_invocation_text(inv, option, 0, NULL);
  return text ? g_ascii_strtod(text, NULL) : otherwise;
}

bool
pla_invocation_range(const PlaInvocation *inv, const char *option, double range[2])
{
  GPtrArray *values = values_of(inv, option);
  if (!values)
    return false;
  range[0] = g_ascii_strtod(g_ptr_array_index(values, 0), NULL);
  range[1] = g_ascii_strtod(g_ptr_array_index(values, 1), NULL);
  return true;
}

PlaProgress *
pla_invocation_progress(PlaInvocation *inv)
{
  return &inv->progress;
}

PlaStatus
pla_invocation_write_mesh(PlaInvocation *inv, const char *path, PlaMesh *mesh, PlaError *err)
{
  PlaWriteOptions write = pla_write_options_default();
  write.progress = pla_invocation_progress(inv);
  const PlaItem item = { .kind = PLA_KIND_MESH, .mesh = mesh };
  return pla_item_write(path, &item, &write, err);
}

PlaStatus
pla_invocation_describe(PlaInvocation *inv, const PlaItem *item, PlaError *err)
{
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  PlaStatus st = pla_item_describe(item, inv->json, lines, err);
  for (guint i = 0; st == PLA_OK && i < lines->len; i++)
    pla_say(inv, "%s", (const char *)lines->pdata[i]);
  return st;
}

JsonBuilder *
pla_invocation_json(PlaInvocation *inv)
{
  return inv->json;
}

void
pla_say(PlaInvocation *inv, const char *format, ...)
{
  if (pla_invocation_has(inv, "quiet"))
    return;
  FILE *where = pla_invocation_has(inv, "json") ? stderr : stdout;
  close_progress_line(inv);
  va_list args;
  va_start(args, format);
  vfprintf(where, format, args);
  va_end(args);
  fputc('\n', where);
}

/* ---- parsing ------------------------------------------------------------------------------ */

/* number of single edits between two short words */
static int
edit_distance(const char *a, const char *b)
{
  size_t m = strlen(a), n = strlen(b);
  if (m > 40 || n > 40)
    return 99;
  int row[42];
  for (size_t j = 0; j <= n; j++)
    row[j] = (int)j;
  for (size_t i = 1; i <= m; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= n; j++) {
      int above = row[j];
      int change = diagonal + (a[i - 1] != b[j - 1]);
      row[j] = MIN(MIN(above, row[j - 1]) + 1, change);
      diagonal = above;
    }
  }
  return row[n];
}

static PlaStatus
unknown_option(const PlaCommand *command, const char *arg, PlaError *err)
{
  const char *nearest = NULL;
  int best = 3;
  const PlaOpt *tables[2] = { pla_command_options(command), common_options };
  for (int t = 0; t < 2; t++)
    for (const PlaOpt *opt = tables[t]; opt && opt->name; opt++) {
      int distance = edit_distance(arg + (g_str_has_prefix(arg, "--") ? 2 : 1), opt->name);
      if (distance < best) {
        best = distance;
        nearest = opt->name;
      }
    }
  return nearest ? pla_fail(err, PLA_ERR_USAGE, "'%s' has no option %s; did you mean --%s?",
                            command->name, arg, nearest)
                 : pla_fail(err, PLA_ERR_USAGE,
                            "'%s' has no option %s; 'platysma-cli %s --help' lists them",
                            command->name, arg, command->name);
}

static PlaStatus
check_value(const PlaCommand *command, const PlaOpt *opt, const char *text, PlaError *err)
{
  if (opt->type == PLA_OPT_TEXT || opt->type == PLA_OPT_OUTPUT) {
    if (!g_utf8_validate(text, -1, NULL) && strcmp(opt->name, "output") != 0)
      return pla_fail(err, PLA_ERR_USAGE, "--%s is not readable text (UTF-8)", opt->name);
    return *text ? PLA_OK : pla_fail(err, PLA_ERR_USAGE, "--%s needs a value", opt->name);
  }
  char *end = NULL;
  double value;
  errno = 0;
  if (opt->type == PLA_OPT_INT)
    value = (double)g_ascii_strtoll(text, &end, 10);
  else
    value = g_ascii_strtod(text, &end);
  if (!*text || *end || errno || !isfinite(value) ||
      (opt->type == PLA_OPT_INT && (value < G_MININT || value > G_MAXINT)))
    return pla_fail(err, PLA_ERR_USAGE, "--%s needs %s, not '%s'; see 'platysma-cli %s --help'",
                    opt->name, opt->type == PLA_OPT_INT ? "a whole number" : "a number", text,
                    command->name);
  if ((opt->min != 0.0 || opt->max != 0.0) && (value < opt->min || value > opt->max))
    return pla_fail(err, PLA_ERR_USAGE, "--%s must lie between %g and %g, and %s does not",
                    opt->name, opt->min, opt->max, text);
  return PLA_OK;
}

/* stores the value(s) of @opt, taking further words of the command line as needed */
static PlaStatus
take_option(PlaInvocation *inv, const PlaOpt *opt, const char *attached, int argc, char **argv,
            int *at, PlaError *err)
{
  GPtrArray *values = g_hash_table_lookup(inv->options, opt->name);
  if (values && !opt->repeatable)
    return pla_fail(err, PLA_ERR_USAGE, "--%s is given twice; give it once", opt->name);
  if (!values) {
    values = g_ptr_array_new();
    g_hash_table_insert(inv->options, (gpointer)opt->name, values);
  }
  int n_words = opt->type == PLA_OPT_FLAG ? 0 : opt->type == PLA_OPT_RANGE ? 2 : 1;
  if (n_words == 0)
    return attached ? pla_fail(err, PLA_ERR_USAGE, "--%s takes no value", opt->name) : PLA_OK;
  for (int w = 0; w < n_words; w++) {
    const char *text = w == 0 && attached ? attached : *at + 1 < argc ? argv[++*at] : NULL;
    if (!text)
      return pla_fail(err, PLA_ERR_USAGE, "--%s needs %s; see 'platysma-cli %s --help'", opt->name,
                      opt->arg, inv->command->name);
    PlaStatus st = check_value(inv->command, opt, text, err);
    if (st != PLA_OK)
      return st;
    g_ptr_array_add(values, (gpointer)text);
  }
  return PLA_OK;
}

static const PlaOpt *
find_letter(const PlaCommand *command, char letter)
{
  const PlaOpt *tables[2] = { pla_command_options(command), common_options };
  for (int t = 0; t < 2; t++)
    for (const PlaOpt *opt = tables[t]; opt && opt->name; opt++)
      if (opt->letter == letter && letter)
        return opt;
  return NULL;
}

static PlaStatus
parse(PlaInvocation *inv, int argc, char **argv, PlaError *err)
{
  PlaStatus st = PLA_OK;
  bool only_files = false;
  for (int i = 0; i < argc && st == PLA_OK; i++) {
    const char *arg = argv[i];
    if (only_files || arg[0] != '-' || arg[1] == '\0') {
      g_ptr_array_add(inv->files, (gpointer)arg);
    } else if (strcmp(arg, "--") == 0) {
      only_files = true;
    } else if (arg[1] == '-') {
      const char *equals = strchr(arg, '=');
      size_t len = equals ? (size_t)(equals - arg - 2) : strlen(arg + 2);
      const PlaOpt *opt = find_option(pla_command_options(inv->command), arg + 2, len);
      if (!opt)
        opt = find_option(common_options, arg + 2, len);
      st = opt ? take_option(inv, opt, equals ? equals + 1 : NULL, argc, argv, &i, err)
               : unknown_option(inv->command, arg, err);
    } else {
      const PlaOpt *opt = find_letter(inv->command, arg[1]);
      st = opt ? take_option(inv, opt, arg[2] ? arg + 2 : NULL, argc, argv, &i, err)
               : unknown_option(inv->command, arg, err);
    }
  }
  return st;
}

/* ---- help, man page, completion ----------------------------------------------------------- */

static void
print_options(FILE *out, const PlaOpt *table)
{
  for (const PlaOpt *opt = table; opt && opt->name; opt++) {
    char left[64];
    g_snprintf(left, sizeof left, "%s%c%s--%s%s%s", opt->letter ? "-" : " ",
               opt->letter ? opt->letter : ' ', opt->letter ? ", " : "  ", opt->name,
               opt->arg ? " " : "", opt->arg ? opt->arg : "");
    fprintf(out, "  %-28s %s%s\n", left, opt->help, opt->repeatable ? " (repeatable)" : "");
  }
}

static void
print_command_help(FILE *out, const PlaCommand *command)
{
  fprintf(out, "platysma-cli %s %s\n\n%s\n\n", command->name, command->args, command->description);
  const PlaOpt *own = pla_command_options(command);
  if (own && own->name) {
    fputs("Options:\n", out);
    print_options(out, own);
    fputc('\n', out);
  }
  fputs("Common options:\n", out);
  print_options(out, common_options);
  fprintf(out, "\nExample:\n  %s\n", command->example);
}

static void
print_help(FILE *out)
{
  fputs("platysma-cli COMMAND [FILES] [OPTIONS]\n\n"
        "Platysma without a window: surgical and anatomy simulation.\n"
        "Research use only, not a medical device.\n\nCommands:\n",
        out);
  for (const PlaCommand *const *command = pla_commands_get(); *command; command++)
    fprintf(out, "  %-14s %s\n", (*command)->name, (*command)->summary);
  fputs("\n'platysma-cli COMMAND --help' explains a command with an example; --version prints\n"
        "the version.\n"
        "Exit status: 0 done; 1 ran, but did not reach its goal; 2 bad usage or unusable\n"
        "input; 130 interrupted.\n",
        out);
}

/* roff text: backslashes doubled, a leading dot or quote and every dash escaped */
static void
put_roff(FILE *out, const char *text)
{
  bool line_start = true;
  for (; *text; text++) {
    if (line_start && (*text == '.' || *text == '\''))
      fputs("\\&", out);
    if (*text == '\\')
      fputs("\\e", out);
    else if (*text == '-')
      fputs("\\-", out);
    else
      fputc(*text, out);
    line_start = *text == '\n';
  }
  fputc('\n', out);
}

/* paragraphs; one with columns keeps its lines */
static void
put_roff_description(FILE *out, const char *text)
{
  g_auto(GStrv) paragraphs = g_strsplit(text, "\n\n", -1);
  for (int i = 0; paragraphs[i]; i++) {
    const bool columns = strstr(paragraphs[i], "   ") != NULL;
    fputs(i > 0 ? ".PP\n" : "", out);
    fputs(columns ? ".nf\n" : "", out);
    put_roff(out, paragraphs[i]);
    fputs(columns ? ".fi\n" : "", out);
  }
}

static void
put_roff_options(FILE *out, const PlaOpt *table)
{
  for (const PlaOpt *opt = table; opt && opt->name; opt++) {
    fputs(".TP\n", out);
    if (opt->letter)
      fprintf(out, "\\fB\\-%c\\fR, ", opt->letter);
    fputs("\\fB\\-\\-", out);
    for (const char *c = opt->name; *c; c++)
      fputs(*c == '-' ? "\\-" : (char[]){ *c, '\0' }, out);
    fprintf(out, "\\fR%s%s%s%s\n", opt->arg ? " \\fI" : "", opt->arg ? opt->arg : "",
            opt->arg ? "\\fR" : "", opt->repeatable ? " (repeatable)" : "");
    put_roff(out, opt->help);
  }
}

static void
print_man(FILE *out)
{
  fprintf(out, ".TH PLATYSMA\\-CLI 1 \"\" \"Platysma %s\" \"User commands\"\n", PLA_VERSION);
  fputs(
      ".SH NAME\nplatysma\\-cli \\- surgical and anatomy simulation from the command line\n"
      ".SH SYNOPSIS\n.B platysma\\-cli\n\\fICOMMAND\\fR [\\fIFILES\\fR] [\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\nEverything that the Platysma workstation does to data, without a window.\n"
      "Research use only, not a medical device.\n.SH COMMON OPTIONS\n",
      out);
  put_roff_options(out, common_options);
  fputs(".SH COMMANDS\n", out);
  for (const PlaCommand *const *command = pla_commands_get(); *command; command++) {
    fprintf(out, ".SS %s ", (*command)->name);
    put_roff(out, (*command)->args);
    put_roff_description(out, (*command)->description);
    put_roff_options(out, pla_command_options(*command));
    fputs(".PP\nExample:\n.PP\n.nf\n", out);
    put_roff(out, (*command)->example);
    fputs(".fi\n", out);
  }
  fputs(
      ".SH EXIT STATUS\n0 done; 1 ran, but did not reach its goal; 2 bad usage or unusable\n"
      "input; 130 interrupted.\n"
      ".SH ENVIRONMENT\n.TP\nPLATYSMA_KERNEL\n\"plain\" chooses the kernels that run on any CPU.\n"
      ".TP\nOPENBLAS_CORETYPE\nthe processor whose kernels OpenBLAS runs; without it, the best "
      "that "
      "this one can run.\n"
      ".TP\nPLATYSMA_CACHE\nthe folder in which built bodies are kept between runs (default: "
      "platysma in\n"
      "$XDG_CACHE_HOME); \"none\" keeps none.\n",
      out);
}

static void
print_bash_completion(FILE *out)
{
  fputs("# bash completion for platysma-cli\n_platysma_cli()\n{\n"
        "  local cur=${COMP_WORDS[COMP_CWORD]} words=\n"
        "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words='",
        out);
  for (const PlaCommand *const *command = pla_commands_get(); *command; command++)
    fprintf(out, "%s ", (*command)->name);
  fputs("--help --version'\n  else\n    case ${COMP_WORDS[1]} in\n", out);
  for (const PlaCommand *const *command = pla_commands_get(); *command; command++) {
    fprintf(out, "    %s) words='", (*command)->name);
    for (const PlaOpt *opt = pla_command_options(*command); opt && opt->name; opt++)
      fprintf(out, "--%s ", opt->name);
    for (const PlaOpt *opt = common_options; opt->name; opt++)
      fprintf(out, "--%s%s", opt->name, opt[1].name ? " " : "");
    fputs("' ;;\n", out);
  }
  fputs("    esac\n  fi\n"
        "  case $cur in\n  -*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
        "  *) if [ \"$COMP_CWORD\" -eq 1 ]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
        "     else COMPREPLY=($(compgen -f -- \"$cur\")); fi ;;\n  esac\n}\n"
        "complete -o filenames -F _platysma_cli platysma-cli\n",
        out);
}

/* ---- running ------------------------------------------------------------------------------ */

static int
exit_status(PlaStatus st)
{
  switch (st) {
  case PLA_OK:
    return 0;
  case PLA_ERR_EMPTY:
  case PLA_ERR_CONVERGENCE:
    return 1;
  case PLA_ERR_CANCELLED:
    return 130;
  default:
    return 2;
  }
}

/* prints the builder's object; false when stdout does not take it */
static bool
print_json(JsonNode *root)
{
  g_autofree char *text = pla_json_write_lossy(root, PLA_JSON_PRETTY);
  return printf("%s\n", text) >= 0 && fflush(stdout) == 0;
}

static void
report_error(bool json, const PlaError *err)
{
  g_autofree char *sentence = g_utf8_make_valid(err->message, -1);
  fprintf(stderr, "platysma-cli: %s\n", sentence);
  if (json) {
    g_autoptr(JsonBuilder) builder = json_builder_new();
    json_builder_begin_object(builder);
    pla_json_text(builder, "error", sentence);
    json_builder_end_object(builder);
    g_autoptr(JsonNode) root = json_builder_get_root(builder);
    print_json(root);
  }
}

/* --json anywhere, even behind a word that cannot be parsed: its reader expects an object */
static bool
asks_for_json(int argc, char **argv)
{
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--json") == 0)
      return true;
  return false;
}

/* whether a file can be made at @path: hours of work must not end at a folder that is not there */
static PlaStatus
check_output(const PlaOpt *opt, const char *path, PlaError *err)
{
  g_autofree char *folder = g_path_get_dirname(path);
  if (g_file_test(path, G_FILE_TEST_EXISTS) && !g_file_test(path, G_FILE_TEST_IS_REGULAR))
    return PLA_OK; /* a folder to fill or a device: the command decides */
  if (!g_file_test(folder, G_FILE_TEST_IS_DIR))
    return pla_fail(err, PLA_ERR_IO, "there is no folder %s to write %s into; make it first",
                    folder, path);
  if (access(folder, W_OK) != 0)
    return pla_fail(err, PLA_ERR_IO, "%s cannot be written: no file can be made in %s (%s)", path,
                    folder, g_strerror(errno));
  g_autofree char *lower = g_ascii_strdown(path, -1), *kind = g_ascii_strdown(opt->arg, -1);
  if (g_str_has_suffix(kind, "png") && !g_str_has_suffix(lower, ".png"))
    return pla_fail(err, PLA_ERR_USAGE, "--%s draws a .png file, not %s", opt->name, path);
  return PLA_OK;
}

/* counts, outputs and values that the table demands */
static PlaStatus
check_invocation(const PlaInvocation *inv, PlaError *err)
{
  const PlaCommand *command = inv->command;
  int n = pla_invocation_n_files(inv);
  if (n < command->min_files || (command->max_files >= 0 && n > command->max_files))
    return pla_fail(err, PLA_ERR_USAGE, "usage: platysma-cli %s %s (--help shows an example)",
                    command->name, command->args);
  if (command->needs_output && !pla_invocation_output(inv))
    return pla_fail(err, PLA_ERR_USAGE, "'%s' needs -o FILE to write to", command->name);
  PlaStatus st = PLA_OK;
  const PlaOpt *const tables[] = { common_options, pla_command_options(command) };
  for (size_t t = 0; t < G_N_ELEMENTS(tables); t++)
    for (const PlaOpt *opt = tables[t]; opt && opt->name && st == PLA_OK; opt++)
      for (int i = 0;
           opt->type == PLA_OPT_OUTPUT && st == PLA_OK && i < pla_invocation_count(inv, opt->name);
           i++)
        st = check_output(opt, pla_invocation_text(inv, opt->name, i, NULL), err);
  return st;
}

/* All files of a run take their names together, when it has done what it could: a result that was
 * not reached is written too. */
static PlaStatus
run_in_set(PlaInvocation *inv, PlaError *err)
{
  PlaOutputSet *set = NULL;
  if (inv->command->writes_at_once)
    return inv->command->run(inv, err);
  PlaStatus st = pla_output_set_begin(&set, err);
  if (st != PLA_OK)
    return st;
  PlaError not_written = { 0 };
  st = inv->command->run(inv, err);
  const bool keep = st == PLA_OK || st == PLA_ERR_CONVERGENCE || st == PLA_ERR_EMPTY;
  finished = keep;
  if (keep)
    watch_signals(&inv->progress, SA_RESTART);
  const PlaStatus written = pla_output_set_end(set, keep ? PLA_OK : st, &not_written);
  if (keep && written != PLA_OK) {
    *err = not_written;
    st = written;
  }
  return st;
}

static int
run_command(const PlaCommand *command, int argc, char **argv)
{
  PlaError err = { 0 };
  PlaInvocation inv = {
    .command = command,
    .files = g_ptr_array_new(),
    .options =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref),
    .json = json_builder_new(),
    .started_us = g_get_monotonic_time(),
  };
  PlaStatus st = parse(&inv, argc, argv, &err);

  bool help = pla_invocation_has(&inv, "help");
  bool json = wants_json = asks_for_json(argc, argv);
  bool watched = isatty(STDERR_FILENO) && !pla_invocation_has(&inv, "quiet");
  pla_progress_init(&inv.progress, watched ? on_progress : NULL, &inv);
  if (st == PLA_OK && !help)
    st = check_invocation(&inv, &err);
  if (st == PLA_OK && help) {
    print_command_help(stdout, command);
  } else if (st == PLA_OK) {
    pla_threads_set(pla_invocation_int(&inv, "threads", 0));
    watch_signals(&inv.progress, 0);
    json_builder_begin_object(inv.json);
    st = run_in_set(&inv, &err);
    const struct itimerval none = { 0 };
    setitimer(ITIMER_REAL, &none, NULL);
    close_progress_line(&inv);
  }

  /* a result that does not reach what was asked still prints its numbers, with the sentence */
  bool has_result = st == PLA_OK || st == PLA_ERR_CONVERGENCE;
  if (json && !help && has_result) {
    if (st != PLA_OK) {
      fprintf(stderr, "platysma-cli: %s\n", err.message);
      pla_json_text(inv.json, "error", err.message);
    }
    json_builder_end_object(inv.json);
    g_autoptr(JsonNode) root = json_builder_get_root(inv.json);
    if (!print_json(root))
      st = PLA_ERR_IO;
  } else if (st != PLA_OK) {
    report_error(json, &err);
  }
  g_object_unref(inv.json);
  g_hash_table_unref(inv.options);
  g_ptr_array_unref(inv.files);
  if (st == PLA_OK && (fflush(stdout) != 0 || ferror(stdout)))
    return 2;
  return exit_status(st);
}

static int
unknown_command(const char *name, bool json)
{
  PlaError err = { 0 };
  const char *nearest = NULL;
  int best = 3;
  for (const PlaCommand *const *command = pla_commands_get(); *command; command++)
    if (edit_distance(name, (*command)->name) < best) {
      best = edit_distance(name, (*command)->name);
      nearest = (*command)->name;
    }
  pla_fail(&err, PLA_ERR_USAGE, "there is no command '%s'; %s%s%s", name,
           nearest ? "did you mean '" : "'platysma-cli --help", nearest ? nearest : "",
           nearest ? "'?" : "' lists them");
  report_error(json, &err);
  return 2;
}

int
pla_cli_main(int argc, char **argv)
{
  setlocale(LC_CTYPE, "");
  g_log_set_writer_func(on_log, NULL, NULL);
  pla_blas_set_end(end_short_of_memory);
  const char *first = argc > 1 ? argv[1] : NULL;
  if (!first) {
    print_help(stderr);
    return 2;
  }
  if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0) {
    print_help(stdout);
    return 0;
  }
  if (strcmp(first, "--version") == 0) {
    printf("platysma-cli %s (%s kernels)\n", PLA_VERSION, pla_kernels_text());
    return 0;
  }
  if (strcmp(first, "--man") == 0) {
    print_man(stdout);
    return 0;
  }
  if (strcmp(first, "--bash-completion") == 0) {
    print_bash_completion(stdout);
    return 0;
  }
  for (const PlaCommand *const *command = pla_commands_get(); *command; command++)
    if (strcmp((*command)->name, first) == 0)
      return run_command(*command, argc - 2, argv + 2);
  return unknown_command(first, asks_for_json(argc, argv));
}
