/* Every verb that has a definition does the same from file to file and in a case: the same bytes of
 * output and the same members of its result, all of which the definition lists. */
#include "app/case/session.h"
#include "app/cli/command.h"
#include "app/content/files.h"
#include "app/verbs/verbs.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>

static char *folder;

static void
ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

enum { N_INPUTS = 4 };

/* one run of a verb, told in both ways; "@2" in options and parameters is the second input, "@3"
 * and
 * "@4" in options are files with these texts */
typedef struct {
  const char *verb;
  const char *phantom; /* the input, or NULL */
  const char *as;      /* how a case imports it */
  const char *options; /* of the command line */
  const char *params;  /* of the case */
  const char *output;  /* name of the file */
  const char *second;  /* another input, or NULL */
  const char *text[2]; /* of tables for the command line */
} Example;

static const Example examples[] = {
  { "phantom", NULL, NULL, "tongue --spacing-mm 6", "\"phantom\": \"tongue\", \"spacing_mm\": 6",
    "tongue.nii.gz" },
  { "phantom", NULL, NULL, "bar --spacing-mm 25", "\"phantom\": \"bar\", \"spacing_mm\": 25",
    "bar.vtu" },
  { "segment", "sphere --spacing-mm 4 -o %s.nii.gz", "volume",
    "--threshold 0.5 1.5 --label 3 --name ball --open-mm 6 --largest --connectivity 6",
    "\"item\": \"@1\", \"lo\": 0.5, \"hi\": 1.5, \"label\": 3, \"label_name\": \"ball\", "
    "\"open_mm\": 6, "
    "\"largest\": true, \"connectivity\": 6",
    "labels.nii.gz" },
  { "surface", "sphere --spacing-mm 4 -o %s.nii.gz", "labels",
    "--label 1 --smooth-mm 2 --triangles 400 --measure",
    "\"item\": \"@1\", \"labels\": [1], \"smooth_mm\": 2, \"triangles\": 400, \"measure\": true",
    "surface.ply" },
  { "surface", "box-surface --spacing-mm 10 -o %s.stl", "auto", "--repair --triangles 100",
    "\"item\": \"@1\", \"repair\": true, \"triangles\": 100", "repaired.ply" },
  { "mesh", "skin-slab --spacing-mm 3 -o %s.nii.gz", "labels",
    "--method tets --cell-mm 8 --label 1+2,3 --levels 1",
    "\"item\": \"@1\", \"method\": \"tets\", \"cell_mm\": 8, \"labels\": [[1, 2], 3], \"levels\": "
    "1",
    "slab.vtu" },
  { "mesh", "sphere-surface -o %s.stl", "auto", "--method lattice --cell-mm 9",
    "\"item\": \"@1\", \"method\": \"lattice\", \"cell_mm\": 9", "lattice.vtu" },
  { "mesh", "crossed-lips -o %s.ply", "auto", "--method embed --cell-mm 5 --as-tets",
    "\"item\": \"@1\", \"method\": \"embed\", \"cell_mm\": 5, \"as_tets\": true", "embed.vtu" },
  { "mesh", "sphere-surface --spacing-mm 16 -o %s.stl", "auto", "--method carved --cell-mm 25",
    "\"item\": \"@1\", \"method\": \"carved\", \"cell_mm\": 25", "carved.vtu" },
  { "body", "skin-slab --spacing-mm 4 -o %s.nii.gz", "labels",
    "--cell-mm 20 --box-low-mm -40,-40,-50 --box-high-mm 40,40,50",
    "\"item\": \"@1\", \"cell_mm\": 20, \"box_low_mm\": [-40, -40, -50], \"box_high_mm\": "
    "[40, 40, 50]",
    "body.vtu" },
  { "cut", "bar --spacing-mm 5 -o %s.vtu", "auto", "--blade @2",
    "\"item\": \"@1\", \"blades\": [\"@2\"]", "cut.vtu",
    "sphere-surface --spacing-mm 10 -o %s.stl" },
  { "register", "box-surface -o %s.stl", "auto", "@2 --trim 0.2 --reach-mm 60",
    "\"fixed\": \"@1\", \"moving\": \"@2\", \"trim\": 0.2, \"reach_mm\": 60", "moved.ply",
    "box-surface --spacing-mm 8 -o %s.stl" },
  { "register", "skin-slab --spacing-mm 4 -o %s.nii.gz", "auto", "@2 --finest-mm 8",
    "\"fixed\": \"@1\", \"moving\": \"@2\", \"finest_mm\": 8", "moved.nii.gz",
    "skin-slab --spacing-mm 5 -o %s.nii.gz" },
  { "warp",
    "box-surface -o %s.stl",
    "auto",
    "--from @3 --to @4 --relax-mm 0.5",
    "\"item\": \"@1\", \"relax_mm\": 0.5, "
    "\"from\": [{\"name\": \"a\", \"at_mm\": [0, 0, 0]}, {\"name\": \"b\", \"at_mm\": [50, 0, 0]}, "
    "{\"name\": \"c\", \"at_mm\": [0, 40, 0]}, {\"name\": \"d\", \"at_mm\": [0, 0, 30]}, "
    "{\"name\": \"e\", \"at_mm\": [50, 40, 30]}], "
    "\"to\": [{\"name\": \"a\", \"at_mm\": [1, 0, 0]}, {\"name\": \"b\", \"at_mm\": [55, 2, 0]}, "
    "{\"name\": \"c\", \"at_mm\": [0, 42, 1]}, {\"name\": \"d\", \"at_mm\": [0, 0, 33]}, "
    "{\"name\": \"f\", \"at_mm\": [1, 1, 1]}, {\"name\": \"e\", \"at_mm\": [52, 44, 31]}]",
    "warped.ply",
    NULL,
    { "a,0,0,0\nb,50,0,0\nc,0,40,0\nd,0,0,30\ne,50,40,30\n",
      "a,1,0,0\nb,55,2,0\nc,0,42,1\nd,0,0,33\nf,1,1,1\ne,52,44,31\n" } },
  { "torque", NULL, NULL, "phantom:arm --cell-mm 12 --bend-deg 10 --load-kg 0.1",
    "\"phantom\": \"arm\", \"cell_mm\": 12, \"bend_deg\": 10, \"load_kg\": 0.1", "torque.csv" },
};

/* the file number @i that @words make */
static char *
make_input(const char *words, int i)
{
  g_autofree char *stem = g_strdup_printf("%s/input%d", folder, i);
  g_auto(GStrv) parts = g_strsplit(words, "%s", 2);
  g_autofree char *line = g_strconcat("phantom ", parts[0], stem, parts[1], NULL);
  json_object_unref(verb_test_run(line, 0));
  return g_strconcat(stem, parts[1], NULL);
}

/* @text with "@1" and "@2" replaced */
static char *
put_inputs(const char *text, const char *const with[N_INPUTS])
{
  g_autofree char *done = g_strdup(text);
  for (int i = 0; i < N_INPUTS; i++) {
    char mark[] = { '@', (char)('1' + i), '\0' };
    g_auto(GStrv) parts = g_strsplit(done, mark, -1);
    g_free(done);
    done = g_strjoinv(with[i], parts);
  }
  return g_steal_pointer(&done);
}

static void
run_in_session(PlaSession *session, const char *verb, const char *params, const char *source)
{
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  PlaError err;
  const PlaRequest request = { .verb = verb,
                               .params = json_node_get_object(node),
                               .source = source,
                               .read = pla_read_options_default() };
  ok(pla_session_run(session, &request, NULL, NULL, &err), &err);
}

static PlaContent *
run_in_case(const Example *e, char *const input[N_INPUTS])
{
  static const char *const names[N_INPUTS] = { "input", "second", NULL, NULL };
  g_autofree char *path = g_build_filename(folder, "case.platysma", NULL);
  g_autofree char *text = put_inputs(e->params, names);
  g_autofree char *params = g_strdup_printf("{%s}", text);
  PlaSession *session;
  PlaError err;
  PlaContent *content = NULL;
  ok(pla_session_create(path, "verbs", &session, &err), &err);
  for (int i = 0; i < N_INPUTS && names[i] && input[i]; i++) {
    g_autofree char *as = g_strdup_printf("{\"name\": \"%s\", \"as\": \"%s\"}", names[i], e->as);
    run_in_session(session, "import", as, input[i]);
  }
  const int before = pla_session_get_state(session)->n;
  run_in_session(session, e->verb, params, NULL);
  const PlaState *state = pla_session_get_state(session);
  g_assert_cmpint(state->n, >, before);
  ok(pla_session_load(session, state->item[before].item, NULL, &content, &err), &err);
  g_object_unref(session);
  g_assert_cmpint(g_remove(path), ==, 0);
  return content;
}

static bool
is_listed(const PlaVerb *op, const char *key)
{
  for (const PlaResultKey *r = op->results; r->key; r++)
    if (strcmp(r->key, key) == 0 || strcmp(r->key, "*") == 0)
      return true;
  return false;
}

/* what --json printed against what the case keeps */
static void
compare_found(const PlaVerb *op, JsonObject *printed, JsonObject *kept)
{
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  json_object_iter_init(&iter, kept);
  while (json_object_iter_next(&iter, &key, &node)) {
    g_assert_true(is_listed(op, key));
    g_assert_true(json_object_has_member(printed, key));
    /* a path there, an item here */
    if (strcmp(key, "from") != 0 && strcmp(key, "source") != 0)
      g_assert_true(json_node_equal(node, json_object_get_member(printed, key)));
  }
  /* a case has no clock */
  guint times = !json_object_has_member(kept, "seconds");
  for (const PlaResultKey *r = op->results; r->key; r++)
    if (r->clock && json_object_has_member(printed, r->key)) {
      g_assert_false(json_object_has_member(kept, r->key));
      times++;
    }
  g_assert_cmpuint(json_object_get_size(printed), ==, json_object_get_size(kept) + times);
  g_assert_true(json_object_has_member(printed, "seconds"));
}

static void
compare_files(const char *a, const char *b)
{
  g_autofree char *x = NULL, *y = NULL;
  gsize m, n;
  g_assert_true(g_file_get_contents(a, &x, &m, NULL));
  g_assert_true(g_file_get_contents(b, &y, &n, NULL));
  g_assert_cmpmem(x, m, y, n);
  g_remove(a);
  g_remove(b);
}

static void
test_both_ways(gconstpointer data)
{
  const Example *e = data;
  const PlaVerb *op = pla_verb_find(e->verb);
  const char *const words[2] = { e->phantom, e->second };
  char *input[N_INPUTS] = { NULL };
  for (int i = 0; i < 2; i++)
    input[i] = words[i] ? make_input(words[i], i + 1) : NULL;
  for (int i = 0; i < 2 && e->text[i]; i++) {
    input[2 + i] = g_strdup_printf("%s/table%d.csv", folder, i);
    g_assert_true(g_file_set_contents(input[2 + i], e->text[i], -1, NULL));
  }
  g_autofree char *options = put_inputs(e->options, (const char *const *)input);
  g_autofree char *output = g_build_filename(folder, e->output, NULL);
  g_autofree char *from_case = g_strconcat(folder, "/case-", e->output, NULL);
  g_autoptr(JsonObject) printed =
      verb_test_runf(0, "%s%s %s %s -o %s", strcmp(e->verb, "torque") == 0 ? "muscles " : "",
                     e->verb, input[0] ? input[0] : "", options, output);
  g_autoptr(PlaContent) content = run_in_case(e, input);
  if (op->makes)
    g_assert_cmpstr(content->kind, ==, op->makes);
  compare_found(op, printed, json_object_get_object_member(content->meta, op->keeps));
  PlaError err;
  ok(pla_content_write_file(content, from_case, NULL, &err), &err);
  compare_files(output, from_case);
  for (int i = 0; i < N_INPUTS; i++)
    g_free(input[i]);
}

/* ---- verbs that need more than files ---- */

enum { N_STEPS = 5, N_OUTPUTS = 4 };

/* the same for verbs whose inputs are made or computed; "@" is the folder */
typedef struct {
  const char *verb;
  const char *make;    /* a command line that writes the inputs, or NULL */
  const char *command; /* the command line */
  struct {
    const char *verb, *params, *source;
  } step[N_STEPS]; /* of the case; the last one is what is tried */
  struct {
    const char *item, *file;
  } output[N_OUTPUTS]; /* what both write; the first has what was found */
} Story;

#define TONGUE_BODY                                                                                \
  {                                                                                                \
    "active-body", "{\"phantom\": \"tongue\", \"cell_mm\": 10}", NULL                              \
  }
#define TONGUE_TAKE                                                                                \
  "muscles activate phantom:tongue --cell-mm 10 --random 3 --seconds 0.2 --rate-hz 30 "            \
  "--track @truth.csv --markers @take.c3d"

static const Story stories[] = {
  { "fit",
    TONGUE_TAKE,
    "fit phantom:tongue @take.c3d --cell-mm 10 --truth @truth.csv --hold-out 5 --no-jaw --prior "
    "0.5 "
    "--head fixed --young-pa 15000 --rest-frame 1 -o @fit.csv",
    { TONGUE_BODY,
      { "import", "{\"name\": \"take\"}", "@take.c3d" },
      { "import", "{\"name\": \"truth\"}", "@truth.csv" },
      { "fit",
        "{\"muscles\": \"tongue muscles\", \"markers\": \"take\", \"truth\": \"truth\", "
        "\"hold_out\": 5, \"jaw\": false, \"prior\": 0.5, \"head\": false, \"young_pa\": 15000, "
        "\"rest_frame\": 1}",
        NULL } },
    { { "take, activations", "fit.csv" } } },
  { "activate",
    NULL,
    "muscles activate phantom:tongue --cell-mm 10 --random 3 --seconds 0.1 --rate-hz 30 "
    "--poisson 0.4 --formulation mixed --noise-mm 0.2 --missing 0.1 -o @shape.vtu --track "
    "@moves.csv --markers @made.c3d",
    { TONGUE_BODY,
      { "activate",
        "{\"muscles\": \"tongue muscles\", \"random\": 3, \"seconds\": 0.1, \"rate_hz\": 30, "
        "\"poisson\": 0.4, \"formulation\": \"mixed\", \"noise_mm\": 0.2, \"missing\": 0.1, "
        "\"keep_track\": true, \"markers\": true}",
        NULL } },
    { { "tongue muscles, frame 3", "shape.vtu" },
      { "tongue muscles, activations", "moves.csv" },
      { "tongue muscles, markers", "made.c3d" } } },
  { "activate",
    NULL,
    "muscles activate phantom:tongue --cell-mm 10 --set \"geniohyoid, left=0.5\" --contact "
    "-o @pose.vtu",
    { TONGUE_BODY,
      { "activate",
        "{\"muscles\": \"tongue muscles\", \"set\": [[\"geniohyoid, left\", 0.5]], "
        "\"contact\": true}",
        NULL } },
    { { "tongue muscles, frame 1", "pose.vtu" } } },
  /* more frames than one stretch has */
  { "speak",
    NULL,
    "speak --text \"good morning to all of you\" --cell-mm 8 --threads 1 -o @said.csv "
    "--activations @explained.csv --sound @said.wav",
    { { "say", "{\"text\": \"good morning to all of you\", \"name\": \"words\"}", NULL },
      { "speak", "{\"item\": \"words\", \"cell_mm\": 8, \"track\": true, \"activations\": true}",
        NULL } },
    { { "words, motion", NULL },
      { "words, track", "said.csv" },
      { "words, activations", "explained.csv" },
      { "words", "said.wav" } } },
  { "speak",
    "speak --text \"good day\" --track-only -o @coils.csv",
    "speak --sensors @coils.csv --cell-mm 8 --quasistatic --no-contact -o @followed.csv",
    { { "import", "{\"name\": \"coils\"}", "@coils.csv" },
      { "speak",
        "{\"item\": \"coils\", \"cell_mm\": 8, \"quasistatic\": true, \"contact\": false, "
        "\"track\": true, \"motion\": false}",
        NULL } },
    { { "coils, track", "followed.csv" } } },
  { "say-line",
    NULL,
    "physemes speak @voice.json --phonemes @line.lab --expression @smile.csv --strength 0.5 "
    "-o @line.csv",
    { { "import", "{\"name\": \"one\"}", "@one.csv" },
      { "import", "{\"name\": \"smile\"}", "@smile.csv" },
      { "set-phonemes", "{\"item\": \"one\", \"phonemes\": [[0.2, 1.0, \"a\"], [1.0, 1.8, \"b\"]]}",
        NULL },
      { "say-line",
        "{\"tracks\": [\"one\"], \"weights\": {\"smile\": 2.5}, \"expression\": \"smile\", "
        "\"strength\": 0.5, \"phonemes\": [[0.0, 0.5, \"b\"], [0.5, 1.0, \"a\"]]}",
        NULL } },
    { { "line", "line.csv" } } },
};

/* @text with the folder for each "@"; g_free() */
static char *
with_folder(const char *text)
{
  g_auto(GStrv) parts = g_strsplit(text, "@", -1);
  g_autofree char *place = g_strconcat(folder, "/", NULL);
  return g_strjoinv(place, parts);
}

static PlaContent *
load_named(PlaSession *session, const char *name)
{
  PlaContent *content = NULL;
  PlaError err;
  const PlaStateItem *item = pla_state_find_name(pla_session_get_state(session), name);
  g_assert_nonnull(item);
  ok(pla_session_load(session, item->item, NULL, &content, &err), &err);
  return content;
}

static void
test_story(gconstpointer data)
{
  const Story *s = data;
  const PlaVerb *op = pla_verb_find(s->verb);
  g_autofree char *path = g_build_filename(folder, "story.platysma", NULL);
  g_autofree char *make = s->make ? with_folder(s->make) : NULL;
  g_autofree char *command = with_folder(s->command);
  PlaSession *session;
  PlaError err;
  if (g_getenv("PLA_SMALL")) {
    g_test_skip("too slow with sanitizers");
    return;
  }
  if (make)
    json_object_unref(verb_test_run(make, 0));
  g_autoptr(JsonObject) printed = verb_test_run(command, 0);
  ok(pla_session_create(path, "verbs", &session, &err), &err);
  for (int i = 0; i < N_STEPS && s->step[i].verb; i++) {
    g_autofree char *source = s->step[i].source ? with_folder(s->step[i].source) : NULL;
    run_in_session(session, s->step[i].verb, s->step[i].params, source);
  }
  for (int i = 0; i < N_OUTPUTS && s->output[i].item; i++) {
    g_autoptr(PlaContent) content = load_named(session, s->output[i].item);
    g_autofree char *output = g_build_filename(folder, s->output[i].file, NULL);
    g_autofree char *from_case = g_strconcat(folder, "/case-", s->output[i].file, NULL);
    if (i == 0)
      compare_found(op, printed, json_object_get_object_member(content->meta, op->keeps));
    if (!s->output[i].file)
      continue;
    ok(pla_content_write_file(content, from_case, NULL, &err), &err);
    compare_files(output, from_case);
  }
  g_object_unref(session);
  g_assert_cmpint(g_remove(path), ==, 0);
}

static bool
is_tried(const char *verb)
{
  for (gsize i = 0; i < G_N_ELEMENTS(examples); i++)
    if (strcmp(examples[i].verb, verb) == 0)
      return true;
  for (gsize i = 0; i < G_N_ELEMENTS(stories); i++)
    if (strcmp(stories[i].verb, verb) == 0)
      return true;
  return false;
}

/* each verb of the command line that has a definition is among the examples */
static void
test_all_are_tried(void)
{
  int n = 0;
  for (const PlaCommand *const *command = pla_commands_get(); *command; command++) {
    for (const PlaCommandPart *part = (*command)->parts; part && part->word; part++, n++)
      g_assert_true(is_tried(part->verb->name));
    if (!(*command)->verb)
      continue;
    g_assert_true(is_tried((*command)->name));
    g_assert_cmpstr((*command)->name, ==, (*command)->verb->name);
    n++;
  }
  g_assert_cmpint(n, >=, 3);
}

/* definitions: keys once each, options once each, and a place for what is found */
static void
test_definitions(void)
{
  for (const PlaVerb *const *op = pla_verbs_get(); *op; op++) {
    if (!(*op)->results)
      continue;
    g_autoptr(GHashTable) keys = g_hash_table_new(g_str_hash, g_str_equal);
    for (const PlaResultKey *r = (*op)->results; r->key; r++) {
      g_assert_true(g_hash_table_add(keys, (gpointer)r->key));
      g_assert_true(r->help && *r->help);
    }
  }
  for (const PlaCommand *const *command = pla_commands_get(); *command; command++) {
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    for (const PlaOpt *opt = pla_command_options(*command); opt && opt->name; opt++)
      g_assert_true(g_hash_table_add(names, (gpointer)opt->name));
  }
}

/* a voice of one take, with two phonemes */
static void
write_voice(void)
{
  g_autoptr(GString) track = g_string_new("time,smile,frown\n");
  for (int f = 0; f <= 120; f++) {
    char number[3][G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append_printf(
        track, "%s,%s,%s\n", g_ascii_formatd(number[0], sizeof number[0], "%.6f", f / 60.0),
        g_ascii_formatd(number[1], sizeof number[1], "%.6f", 0.5 + 0.4 * sin(f / 12.0)),
        g_ascii_formatd(number[2], sizeof number[2], "%.6f", 0.5 + 0.4 * cos(f / 20.0)));
  }
  const char *const files[][2] = {
    { "one.csv", track->str },
    { "one.lab", "2000000 10000000 a\n10000000 18000000 b\n" },
    { "line.lab", "0 5000000 b\n5000000 10000000 a\n" },
    { "smile.csv", "time,smile\n0,0.4\n0.5,0.4\n" },
    { "voice.json", "{\"takes\": [{\"track\": \"one.csv\", \"phonemes\": \"one.lab\"}], "
                    "\"weights\": {\"smile\": 2.5}}" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = g_build_filename(folder, files[i][0], NULL);
    g_assert_true(g_file_set_contents(path, files[i][1], -1, NULL));
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("platysma-verbs-XXXXXX", NULL);
  write_voice();
  g_test_add_func("/verbs/definitions", test_definitions);
  g_test_add_func("/verbs/all-are-tried", test_all_are_tried);
  for (gsize i = 0; i < G_N_ELEMENTS(examples); i++) {
    g_autofree char *name = g_strdup_printf("/verbs/both-ways/%s-%zu", examples[i].verb, i);
    g_test_add_data_func(name, &examples[i], test_both_ways);
  }
  for (gsize i = 0; i < G_N_ELEMENTS(stories); i++) {
    g_autofree char *name = g_strdup_printf("/verbs/stories/%s-%zu", stories[i].verb, i);
    g_test_add_data_func(name, &stories[i], test_story);
  }
  int status = g_test_run();
  g_autofree char *line = g_strdup_printf("rm -rf %s", folder);
  g_assert_true(g_spawn_command_line_sync(line, NULL, NULL, NULL, NULL));
  g_free(folder);
  return status;
}
