/* What can be done to a case, or from file to file.
 *
 * A verb is one file app/verbs/verb-NAME.c that defines one `const PlaVerb` (its name, a title for
 * the Undo menu, a table of parameters, a table of results and a function), and one row of
 * PLA_VERBS in app/verbs/verbs.h.  Undo, redo, the log, replay, `platysma-cli case apply` and the
 * window work from that table.  A command (app/cli/command.h) runs it from file to file; its
 * options come from the same table (app/cli/run-verb.c).  An operation is one run of a verb: a row
 * of a case's log.
 *
 * The function reads items and parameters through its PlaWork and leaves results there; it never
 * sees a file.  It must be a function of these alone: no clock (but for result keys that say so),
 * no random numbers, no paths, the same bits for any number of threads.  Points are RAS
 * millimetres, lengths millimetres. */
#pragma once

#include "app/content/content.h"

typedef enum {
  PLA_PARAM_TEXT = 0,
  PLA_PARAM_ITEM, /* the name of an item of the case */
  PLA_PARAM_NUMBER,
  PLA_PARAM_INT,
  PLA_PARAM_BOOL,
  PLA_PARAM_POINT,     /* [x, y, z] */
  PLA_PARAM_POINTS,    /* [[x, y, z], ...], at least one */
  PLA_PARAM_LIST,      /* a JSON array that the operation checks itself */
  PLA_PARAM_ITEMS,     /* a list of names of items; min and max are of their number */
  PLA_PARAM_OBJECT,    /* a JSON object that the operation checks itself */
  PLA_PARAM_LANDMARKS, /* [{"name": ..., "at_mm": [x, y, z]}, ...]; on the command line a table */
} PlaParamType;

/* One of the values that are offered. */
typedef struct {
  const char *value; /* of a text: itself; else JSON text */
  const char *title; /* translatable */
  const char *about; /* translatable sentence, or NULL */
} PlaParamChoice;

/* How a panel of the window shows a parameter.  Words are translatable; without a title no panel
 * does. */
typedef struct {
  const char *title;    /* "Cell _size", with its mnemonic; the unit is added */
  const char *spoken;   /* name for a screen reader: "Cell size in millimetres" */
  const char *subtitle; /* or NULL */
  const char *begin;    /* JSON text that the panel begins with; NULL: as when not given */
  const char *words;    /* of a text: words that it begins with, or NULL */
  double low, high;     /* the part of its range that is offered; both 0: all of it */
  double step, page;    /* of its arrows; 0: 1, and ten steps */
  int digits;           /* behind the point */
  /* Choice @i; false behind the last.  NULL: any value. */
  bool (*choice)(int i, PlaParamChoice *out);
} PlaParamPanel;

typedef struct {
  const char *name; /* NULL ends a table */
  PlaParamType type;
  const char *unit;      /* "mm", or NULL */
  double min, max;       /* of numbers and text lengths; both 0: any */
  const char *otherwise; /* JSON text used when not given; NULL: must be given */
  const char *help;      /* one line, lower case; of a bool that is true by default: what it adds */
  const char *kinds;     /* of items: those it may be, with blanks between them; NULL: any.  With
                            @file: the kind of what is made besides */
  /* on the command line, where more is needed than the name with dashes instead of underscores */
  bool positional;     /* a word without an option; of a list of items: all further words */
  const char *option;  /* another name; "": it has no option */
  const char *arg;     /* what --help calls its value; NULL: by its type */
  int part;            /* 1, 2: the first and second value of an option that has two */
  bool file;           /* of a bool: the option's value is the file for what is made besides */
  const char *words;   /* of a bool: what the option's value is for false and true, with a blank
                          between them; NULL: a flag that inverts the default */
  PlaParamPanel panel; /* in the window */
} PlaVerbParam;

/* A member of what an operation found: in the metadata of what it made, and in the result of the
 * command line. */
typedef struct {
  const char *key; /* with its unit, as in "volume_mm3"; "*": others besides; NULL ends a table */
  const char *help;
  bool clock; /* a time that the work took: the command line prints it, a case does not keep it */
} PlaResultKey;

typedef struct PlaWork PlaWork;

typedef struct {
  const char *name;    /* "edit-label" */
  const char *title;   /* "Edit Label": the menu says "Undo Edit Label" */
  const char *summary; /* one line */
  const PlaVerbParam *params;
  const PlaResultKey *results; /* NULL: it finds nothing that is worth telling */
  const char *makes;           /* kind of the item that it adds first; NULL: it depends */
  const char *keeps; /* member of that item's metadata for what was found; NULL: it is told only */
  /* Whether parameters that are each right go together; NULL: always.  Before any work. */
  PlaStatus (*check)(JsonObject *params, PlaError *err);
  /* What these parameters do, for menus and the history ("Incise “flap”"); g_free().  NULL, and a
   * function that gives NULL: the title. */
  char *(*describe)(JsonObject *params);
  /* What it made cannot be made again from parameters and items (it came from a file): replay
   * takes the stored result. */
  bool from_store;
  /* NULL: only written by the case file itself */
  PlaStatus (*run)(PlaWork *work, PlaError *err);
} PlaVerb;

const PlaVerb *const *pla_verbs_get(void);      /* NULL-terminated */
const PlaVerb *pla_verb_find(const char *verb); /* or NULL */
/* What a row of the log did, in words; g_free(). */
char *pla_verb_describe(const PlaLogRow *row);
/* "head CT, 4 mm": those of its parameters that tell most; g_free(). */
char *pla_verb_summarise(const PlaLogRow *row);

/* Parameters with every default filled in, checked against the table.  @given may be NULL.  An
 * unknown, missing or impossible one is PLA_ERR_USAGE with a sentence that names it. */
PlaStatus pla_verb_check(const PlaVerb *op, JsonObject *given, JsonObject **out, PlaError *err);

/* ---- for run functions -------------------------------------------------------------------- */

const char *pla_work_text(const PlaWork *work, const char *param);
double pla_work_number(const PlaWork *work, const char *param);
int pla_work_int(const PlaWork *work, const char *param);
bool pla_work_bool(const PlaWork *work, const char *param);
void pla_work_point(const PlaWork *work, const char *param, double point_mm[3]);
double *pla_work_points(const PlaWork *work, const char *param, int *n); /* g_free(); n x 3, mm */
JsonArray *pla_work_list(const PlaWork *work, const char *param);        /* borrowed */
/* The item that element @i of such a list names, 0 without one; *name (borrowed): what it says, or
 * "". */
int64_t pla_work_list_item(const PlaWork *work, JsonArray *list, guint i, const char **name);
JsonObject *pla_work_object(const PlaWork *work, const char *param); /* borrowed; NULL: not given */
bool pla_work_is_null(const PlaWork *work, const char *param);       /* optional and not given */

PlaProgress *pla_work_progress(PlaWork *work);
/* Path of the file to import; NULL for all other operations. */
const char *pla_work_source(const PlaWork *work);
const PlaReadOptions *pla_work_read_options(const PlaWork *work);
/* Adds to the parameters that the log keeps: what was found in an imported file. */
void pla_work_record(PlaWork *work, const char *param, JsonNode *value); /* takes @value */

/* The item that text parameter @param names: PLA_ERR_USAGE with a sentence where there is none or
 * it is not of @kind (NULL: any).  Reading an item makes it an input of the operation. */
PlaStatus pla_work_item(PlaWork *work, const char *param, const char *kind, int64_t *item,
                        PlaError *err);
/* The items that list parameter @param names, in its order; *n is 0 where it was not given.
 * g_free(). */
int64_t *pla_work_items(const PlaWork *work, const char *param, int *n);
const char *pla_work_item_name(const PlaWork *work, int64_t item);
const char *pla_work_item_kind(const PlaWork *work, int64_t item);
/* 0 where no item has that name. */
int64_t pla_work_find(const PlaWork *work, const char *name);
PlaStatus pla_work_load(PlaWork *work, int64_t item, PlaContent **out, PlaError *err);
/* One that the caller may change: the item itself on the command line, where nobody else reads it,
 * else a copy without its metadata. */
PlaStatus pla_work_load_own(PlaWork *work, int64_t item, PlaContent **out, PlaError *err);
/* Its metadata alone, without reading arrays; json_object_unref(). */
PlaStatus pla_work_load_meta(PlaWork *work, int64_t item, JsonObject **out, PlaError *err);

/* What was found, for the members that the definition lists: an object is open. */
JsonBuilder *pla_work_json(PlaWork *work);
/* Lines for people; pla_work_say() adds one. */
GPtrArray *pla_work_lines(PlaWork *work); /* of char * */
void pla_work_say(PlaWork *work, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The results are kept, but they are not what was asked for: a solve that did not converge, say.
 * One sentence; the first one stays.  The command line ends with status 1. */
void pla_work_fall_short(PlaWork *work, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Results.  A name that is taken by another item gets a number behind it; the name given or made
 * is what pla_work_add() returns. */
const char *pla_work_add(PlaWork *work, const char *name, PlaContent *content); /* takes */
/* The same for what the bool @param asks for besides. */
const char *pla_work_add_made(PlaWork *work, const char *param, const char *name,
                              PlaContent *content);                      /* takes */
void pla_work_replace(PlaWork *work, int64_t item, PlaContent *content); /* takes */
/* Another name or other metadata for the same arrays; NULL: unchanged. */
PlaStatus pla_work_relabel(PlaWork *work, int64_t item, const char *name, JsonObject *meta,
                           PlaError *err);
void pla_work_remove(PlaWork *work, int64_t item);

/* Who follows the frames that a verb makes, to write or draw them while it runs.  @what is what the
 * verb says.  A case keeps what the verb adds, and follows nothing. */
typedef struct {
  PlaStatus (*frame)(void *data, int frame, double time_s, const void *what, PlaError *err);
  void *data;
} PlaWorkWatch;
const PlaWorkWatch *pla_work_get_watch(const PlaWork *work); /* or NULL */

/* ---- in memory ---------------------------------------------------------------------------- */

typedef struct {
  const char *name;    /* that a parameter gives */
  PlaContent *content; /* borrowed */
} PlaWorkItem;

/* Runs @op on items in memory: nothing is stored or hashed.  Caller frees *out. */
PlaStatus pla_work_run_memory(const PlaVerb *op, JsonObject *params, const PlaWorkItem *items,
                              int n_items, PlaProgress *progress, PlaWork **out, PlaError *err);
/* The same with somebody who follows its frames; @watch may be NULL. */
PlaStatus pla_work_run_watched(const PlaVerb *op, JsonObject *params, const PlaWorkItem *items,
                               int n_items, const PlaWorkWatch *watch, PlaProgress *progress,
                               PlaWork **out, PlaError *err);
/* The items it added or replaced, in that order, borrowed; NULL after the last.  Those that
 * parameters ask for besides are not among them. */
PlaContent *pla_work_get_result(const PlaWork *work, int i);
PlaContent *pla_work_get_made(const PlaWork *work, const char *param); /* borrowed, or NULL */
JsonObject *pla_work_get_found(const PlaWork *work);                   /* borrowed */
const char *pla_work_get_shortfall(const PlaWork *work);  /* borrowed; NULL: it reached its goal */
const GPtrArray *pla_work_get_lines(const PlaWork *work); /* of char *, borrowed */

/* ---- for the session ---------------------------------------------------------------------- */

typedef struct {
  const char *verb;
  JsonObject *params;  /* borrowed, may be NULL */
  const char *source;  /* file to import, or NULL */
  PlaReadOptions read; /* how to import it */
} PlaRequest;

/* Finds an item's content in memory, or NULL; any thread. */
typedef PlaContent *(*PlaContentLookup)(const PlaHash *hash, void *data);

/* Checks @request and makes ready to read its items from @state of @store; runs nothing.  Caller
 * frees *out. */
PlaStatus pla_work_new(const PlaRequest *request, PlaStore *store, const PlaState *state,
                       PlaWork **out, PlaError *err);
/* Runs @request on @state of @store without writing anything.  Caller frees *out. */
PlaStatus pla_work_run(const PlaRequest *request, PlaStore *store, const PlaState *state,
                       PlaContentLookup lookup, void *lookup_data, PlaProgress *progress,
                       PlaWork **out, PlaError *err);
void pla_work_free(PlaWork *work); /* NULL is fine */
/* Whether all that it read is the same in @state, so that its results hold there too. */
bool pla_work_fits(const PlaWork *work, const PlaState *state);
/* Inside a transaction of the store: writes results, changes and the row after @parent; brings
 * @state, which is the state of @parent, to the new one. */
PlaStatus pla_work_write(PlaWork *work, PlaStore *store, int64_t parent, PlaState *state,
                         PlaProgress *progress, int64_t *operation, PlaError *err);
/* Visits the contents that were written, to keep them in memory. */
void pla_work_foreach_result(const PlaWork *work,
                             void (*func)(const PlaHash *hash, PlaContent *content, void *data),
                             void *data);
