/* The command line: a table of commands, each with a table of options.
 *
 * `--help`, the man page and the shell completion are made from these tables, and nothing else
 * knows an option's name twice.  A command is one file app/cli/command-NAME.c that defines one
 * `const PlaCommand`, and one row of PLA_COMMANDS in app/cli/cli-private.h.  Most commands run a
 * verb (app/verbs) from file to file: the verb has the parameters and the function, the command
 * its help. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "app/base/json.h"
#include "app/verbs/verb.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>

typedef enum {
  PLA_OPT_FLAG = 0, /* --largest */
  PLA_OPT_TEXT,     /* --preset NAME */
  PLA_OPT_OUTPUT, /* --picture PNG: a file to write; its place is checked before the work starts */
  PLA_OPT_INT,    /* --triangles N */
  PLA_OPT_NUMBER, /* --close-mm R */
  PLA_OPT_RANGE,  /* --threshold LO HI: two numbers */
} PlaOptType;

typedef struct {
  const char *name; /* without dashes; NULL ends a table */
  char letter;      /* short form, or 0 */
  PlaOptType type;
  const char *arg;  /* shown in help: "FILE", "R"; NULL for flags */
  const char *help; /* one line, lower case, with unit and default */
  double min, max;  /* of numbers; both 0: any */
  bool repeatable;  /* may be given several times */
} PlaOpt;

/* A word of a command that has a verb of its own, as `muscles activate`. */
typedef struct {
  const char *word; /* NULL ends a table */
  const PlaVerb *verb;
} PlaCommandPart;

/* One parsed command line, alive while the command runs. */
typedef struct PlaInvocation PlaInvocation;

typedef struct {
  const char *name;         /* "segment" */
  const char *args;         /* "VOLUME -o LABELS", for the usage line */
  const char *summary;      /* one line for the list of commands */
  const char *description;  /* paragraphs for --help and the man page */
  const char *example;      /* one worked example: the whole command line */
  int min_files, max_files; /* positional arguments; max -1: any number */
  bool needs_output;        /* -o is required */
  bool writes_at_once;      /* files take their names one by one, not together at the end */
  const PlaOpt *options;    /* beyond the common ones; NULL-name terminated, or NULL */
  /* The verb that it runs from file to file: its parameters are options too, and `run` is
   * pla_run_verb. */
  const PlaVerb *verb;
  /* Further verbs, by the first word: their parameters are options too.  NULL-word terminated, or
   * NULL. */
  const PlaCommandPart *parts;
  /* Does the work.  Members of the JSON object are added with the builder of
   * pla_invocation_json() (an object is open); lines for people with pla_say(). */
  PlaStatus (*run)(PlaInvocation *inv, PlaError *err);
} PlaCommand;

/* NULL-terminated, in the order shown by --help. */
const PlaCommand *const *pla_commands_get(void);
/* Its own options and those of the parameters of its verbs; NULL-name terminated, or NULL. */
const PlaOpt *pla_command_options(const PlaCommand *command);

int pla_invocation_n_files(const PlaInvocation *inv);
const char *pla_invocation_file(const PlaInvocation *inv, int i);
const char *pla_invocation_output(const PlaInvocation *inv); /* NULL when not given */
bool pla_invocation_has(const PlaInvocation *inv, const char *option);
/* Value number @i (0 for the first) of @option, or the default when it was not given. */
int pla_invocation_count(const PlaInvocation *inv, const char *option);
const char *pla_invocation_text(const PlaInvocation *inv, const char *option, int i,
                                const char *otherwise);
int pla_invocation_int(const PlaInvocation *inv, const char *option, int otherwise);
double pla_invocation_number(const PlaInvocation *inv, const char *option, double otherwise);
bool pla_invocation_range(const PlaInvocation *inv, const char *option, double range[2]);

bool pla_invocation_knows(const PlaInvocation *inv, const char *option); /* the command has it */
const PlaCommand *pla_invocation_command(const PlaInvocation *inv);

PlaProgress *pla_invocation_progress(PlaInvocation *inv); /* cancelled by Ctrl-C */
JsonBuilder *pla_invocation_json(PlaInvocation *inv);     /* inside the result object */
/* A line for people: stdout, or stderr with --json; nothing with --quiet. */
void pla_say(PlaInvocation *inv, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs a whole command line; returns the exit status 0, 1, 2 or 130. */
int pla_cli_main(int argc, char **argv);
