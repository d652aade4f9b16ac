/* The list of commands, and what they share with the command line. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "app/cli/command.h"
#include "io/formats/format.h"

/* Every command, in the order shown by --help.  A row declares pla_command_NAME and lists it; its
 * source also goes into meson.build. */
/* clang-format off */
#define PLA_COMMANDS(ROW) \
  ROW(info)               \
  ROW(convert)            \
  ROW(phantom)            \
  ROW(segment)            \
  ROW(surface)            \
  ROW(mesh)               \
  ROW(body)               \
  ROW(muscles)            \
  ROW(physemes)           \
  ROW(warp)               \
  ROW(register)           \
  ROW(fit)                \
  ROW(simulate)           \
  ROW(cut)                \
  ROW(operate)            \
  ROW(speak)              \
  ROW(speech_train)       \
  ROW(speech_eval)        \
  ROW(speech_corpus)      \
  ROW(case)               \
  ROW(report)             \
  ROW(demo)               \
  ROW(verify)             \
  ROW(bench)
/* clang-format on */
#define PLA_COMMAND_DECLARE(name) extern const PlaCommand pla_command_##name;
PLA_COMMANDS(PLA_COMMAND_DECLARE)

/* `run` of commands that only run their verb. */
PlaStatus pla_run_verb(PlaInvocation *inv, PlaError *err);
/* The same for one of several verbs of a command, whose own words begin at @first_word; the command
 * lists the options. */
PlaStatus pla_run_verb_as(PlaInvocation *inv, const PlaVerb *verb, int first_word, PlaError *err);
/* Adds the keys of @item to the JSON object, and says the same in lines. */
PlaStatus pla_invocation_describe(PlaInvocation *inv, const PlaItem *item, PlaError *err);

/* What a command adds to a run of its verb; all may be NULL. */
typedef struct {
  int word; /* where the words of the verb begin: 1 after "activate" */
  /* Before files are read: adds items (of PlaWorkItem) that are computed, and parameters. */
  PlaStatus (*prepare)(PlaInvocation *inv, JsonObject *params, GArray *items, void *data,
                       PlaError *err);
  /* Follows the frames.  An output .pvd is a series of them: the watch writes these, and `write`
   * the list. */
  const PlaWorkWatch *watch;
  /* Writes what @option names (NULL: the output) in a way of its own and says so in *done. */
  PlaStatus (*write)(PlaInvocation *inv, const PlaWork *work, const char *option, const char *path,
                     bool *done, void *data, PlaError *err);
  /* After all results are written: whatever else is to be. */
  PlaStatus (*finish)(PlaInvocation *inv, const PlaWork *work, void *data, PlaError *err);
  void *data;
} PlaVerbRun;
PlaStatus pla_run_verb_with(PlaInvocation *inv, const PlaVerb *verb, const PlaVerbRun *with,
                            PlaError *err);
/* Writes @mesh in the format that the ending of @path means. */
PlaStatus pla_invocation_write_mesh(PlaInvocation *inv, const char *path, PlaMesh *mesh,
                                    PlaError *err);
