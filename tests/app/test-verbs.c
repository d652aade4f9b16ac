/* Every verb that has a definition does the same from file to file and in a case: the same bytes of
 * output and the same members of its result, all of which the definition lists. */
#include "app/case/session.h"
#include "app/cli/verb.h"
#include "app/content/files.h"
#include "app/verbs/operations.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>

static char *folder;

static void
ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

/* one run of a verb, told in both ways; %s of @params is the item */
typedef struct {
  const char *verb;
  const char *phantom; /* the input */
  const char *as;      /* how a case imports it */
  const char *options; /* of the command line */
  const char *params;  /* of the case */
  const char *output;  /* name of the file */
} Example;

static const Example examples[] = {
  { "segment", "sphere --spacing-mm 4 -o %s.nii.gz", "volume",
    "--threshold 0.5 1.5 --label 3 --name ball --open-mm 6 --largest --connectivity 6",
    "\"lo\": 0.5, \"hi\": 1.5, \"label\": 3, \"label_name\": \"ball\", \"open_mm\": 6, "
    "\"largest\": true, \"connectivity\": 6",
    "labels.nii.gz" },
  { "surface", "sphere --spacing-mm 4 -o %s.nii.gz", "labels",
    "--label 1 --smooth-mm 2 --triangles 400 --measure",
    "\"labels\": [1], \"smooth_mm\": 2, \"triangles\": 400, \"measure\": true", "surface.ply" },
  { "surface", "box-surface --spacing-mm 10 -o %s.stl", "auto", "--repair --triangles 100",
    "\"repair\": true, \"triangles\": 100", "repaired.ply" },
  { "mesh", "skin-slab --spacing-mm 3 -o %s.nii.gz", "labels",
    "--method tets --cell-mm 8 --label 1+2,3 --levels 1",
    "\"method\": \"tets\", \"cell_mm\": 8, \"labels\": [[1, 2], 3], \"levels\": 1", "slab.vtu" },
  { "mesh", "sphere-surface -o %s.stl", "auto", "--method lattice --cell-mm 9",
    "\"method\": \"lattice\", \"cell_mm\": 9", "lattice.vtu" },
  { "mesh", "crossed-lips -o %s.ply", "auto", "--method embed --cell-mm 5 --as-tets",
    "\"method\": \"embed\", \"cell_mm\": 5, \"as_tets\": true", "embed.vtu" },
};

/* the file that @words make */
static char *
make_input(const char *words)
{
  g_autofree char *stem = g_build_filename(folder, "input", NULL);
  g_autofree char *line = g_strdup_printf("phantom ");
  g_auto(GStrv) parts = g_strsplit(words, "%s", 2);
  g_autofree char *rest = g_strconcat(line, parts[0], stem, parts[1], NULL);
  json_object_unref(verb_test_run(rest, 0));
  return g_strconcat(stem, parts[1], NULL);
}

static PlaContent *
run_in_case(const Example *e, const char *input)
{
  g_autofree char *path = g_build_filename(folder, "case.platysma", NULL);
  g_autofree char *as = g_strdup_printf("{\"name\": \"input\", \"as\": \"%s\"}", e->as);
  g_autofree char *text = g_strdup_printf("{\"item\": \"input\", %s}", e->params);
  g_autoptr(JsonNode) import = json_from_string(as, NULL);
  g_autoptr(JsonNode) node = json_from_string(text, NULL);
  PlaSession *session;
  PlaError err;
  PlaContent *content = NULL;
  ok(pla_session_create(path, "verbs", &session, &err), &err);
  PlaRequest request = { .verb = "import",
                         .params = json_node_get_object(import),
                         .source = input,
                         .read = pla_read_options_default() };
  ok(pla_session_run(session, &request, NULL, NULL, &err), &err);
  request = (PlaRequest){ .verb = e->verb, .params = json_node_get_object(node) };
  ok(pla_session_run(session, &request, NULL, NULL, &err), &err);
  const PlaState *state = pla_session_get_state(session);
  ok(pla_session_load(session, state->item[state->n - 1].item, NULL, &content, &err), &err);
  g_object_unref(session);
  g_assert_cmpint(g_remove(path), ==, 0);
  return content;
}

static bool
is_listed(const PlaOperation *op, const char *key)
{
  for (const PlaResultKey *r = op->results; r->key; r++)
    if (strcmp(r->key, key) == 0 || strcmp(r->key, "*") == 0)
      return true;
  return false;
}

/* what --json printed against what the case keeps */
static void
compare_found(const PlaOperation *op, JsonObject *printed, JsonObject *kept)
{
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  json_object_iter_init(&iter, kept);
  while (json_object_iter_next(&iter, &key, &node)) {
    g_assert_true(is_listed(op, key));
    g_assert_true(json_object_has_member(printed, key));
    if (strcmp(key, "from") != 0) /* a path there, an item here */
      g_assert_true(json_node_equal(node, json_object_get_member(printed, key)));
  }
  /* a case has no clock */
  g_assert_cmpuint(json_object_get_size(printed), ==, json_object_get_size(kept) + 1);
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
  const PlaOperation *op = pla_operation_find(e->verb);
  g_autofree char *input = make_input(e->phantom);
  g_autofree char *output = g_build_filename(folder, e->output, NULL);
  g_autofree char *from_case = g_strconcat(folder, "/case-", e->output, NULL);
  g_autoptr(JsonObject) printed =
      verb_test_runf(0, "%s %s %s -o %s", e->verb, input, e->options, output);
  g_autoptr(PlaContent) content = run_in_case(e, input);
  g_assert_cmpstr(content->kind, ==, op->makes);
  compare_found(op, printed, json_object_get_object_member(content->meta, op->keeps));
  PlaError err;
  ok(pla_content_write_file(content, from_case, &err), &err);
  compare_files(output, from_case);
}

/* each verb of the command line that has a definition is among the examples */
static void
test_all_are_tried(void)
{
  int n = 0;
  for (const PlaVerb *const *verb = pla_verbs_get(); *verb; verb++) {
    if (!(*verb)->operation)
      continue;
    bool tried = false;
    for (gsize i = 0; i < G_N_ELEMENTS(examples); i++)
      tried |= strcmp(examples[i].verb, (*verb)->name) == 0;
    g_assert_true(tried);
    g_assert_cmpstr((*verb)->name, ==, (*verb)->operation->verb);
    n++;
  }
  g_assert_cmpint(n, >=, 3);
}

/* definitions: keys once each, options once each, and a place for what is found */
static void
test_definitions(void)
{
  for (const PlaOperation *const *op = pla_operations_get(); *op; op++) {
    if (!(*op)->results)
      continue;
    g_autoptr(GHashTable) keys = g_hash_table_new(g_str_hash, g_str_equal);
    for (const PlaResultKey *r = (*op)->results; r->key; r++) {
      g_assert_true(g_hash_table_add(keys, (gpointer)r->key));
      g_assert_true(r->help && *r->help);
    }
    g_assert_true((*op)->keeps && (*op)->makes);
  }
  for (const PlaVerb *const *verb = pla_verbs_get(); *verb; verb++) {
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    for (const PlaOpt *opt = pla_verb_options(*verb); opt && opt->name; opt++)
      g_assert_true(g_hash_table_add(names, (gpointer)opt->name));
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("platysma-verbs-XXXXXX", NULL);
  g_test_add_func("/verbs/definitions", test_definitions);
  g_test_add_func("/verbs/all-are-tried", test_all_are_tried);
  for (gsize i = 0; i < G_N_ELEMENTS(examples); i++) {
    g_autofree char *name = g_strdup_printf("/verbs/both-ways/%s-%zu", examples[i].verb, i);
    g_test_add_data_func(name, &examples[i], test_both_ways);
  }
  int status = g_test_run();
  g_autofree char *line = g_strdup_printf("rm -rf %s", folder);
  g_assert_true(g_spawn_command_line_sync(line, NULL, NULL, NULL, NULL));
  g_free(folder);
  return status;
}
