/* The JSON module: what it reads, refuses and writes, against json-glib as another reader. */
#include "app/base/json.h"
#include "tests/app/verb-test.h"

#include <fcntl.h>
#include <float.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* @value written and read back by us and by json-glib */
static void
check_double(double value)
{
  g_autoptr(JsonNode) node = json_node_init_double(json_node_alloc(), value);
  g_autoptr(JsonArray) array = json_array_new();
  json_array_add_element(array, json_node_copy(node));
  g_autoptr(JsonNode) list = json_node_init_array(json_node_alloc(), array);
  g_autofree char *text = NULL;
  PlaError err;
  g_assert_cmpint(pla_json_write(list, PLA_JSON_SORTED, &text, &err), ==, PLA_OK);
  g_autoptr(JsonNode) ours = NULL;
  g_assert_cmpint(pla_json_parse(text, strlen(text), "a number", &ours, &err), ==, PLA_OK);
  g_autoptr(JsonNode) theirs = json_from_string(text, NULL);
  g_assert_nonnull(theirs);
  for (int who = 0; who < 2; who++) {
    JsonNode *back = json_array_get_element(json_node_get_array(who ? theirs : ours), 0);
    const double is = json_node_get_double(back);
    g_assert_true(json_node_get_value_type(back) == G_TYPE_DOUBLE);
    g_assert_cmpmem(&is, sizeof is, &value, sizeof value);
  }
}

static void
test_doubles(void)
{
  const double values[] = { 0.0,
                            -0.0,
                            1e-8,
                            1e-5,
                            0.1,
                            1.0 / 3.0,
                            1e15,
                            1e16,
                            1e22,
                            1e23,
                            1e300,
                            DBL_MAX,
                            -DBL_MAX,
                            DBL_MIN,
                            5e-324,
                            3.0,
                            -3.0,
                            123456789012345680.0,
                            9007199254740993.0,
                            DBL_EPSILON };
  for (size_t i = 0; i < G_N_ELEMENTS(values); i++)
    check_double(values[i]);
  /* bit patterns of all magnitudes */
  g_autoptr(GRand) rand = g_rand_new_with_seed(7);
  for (int i = 0; i < 20000; i++) {
    const guint64 bits = (guint64)g_rand_int(rand) << 32 | g_rand_int(rand);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (isfinite(value))
      check_double(value);
  }
}

static void
test_shortest(void)
{
  const struct {
    double value;
    const char *text;
  } cases[] = { { 0.1, "0.1" }, { 3.0, "3.0" },    { 1e-8, "1e-08" }, { -0.0, "-0.0" },
                { 2.5, "2.5" }, { 1e22, "1e+22" }, { 0.0, "0.0" } };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(JsonNode) node = json_node_init_double(json_node_alloc(), cases[i].value);
    g_autofree char *text = pla_json_write_lossy(node, PLA_JSON_PLAIN);
    g_assert_cmpstr(text, ==, cases[i].text);
  }
}

static void
test_texts(void)
{
  const char *const texts[] = { "",
                                "plain",
                                "quote \" and \\ back",
                                "line\nbreak\ttab\r\b\f",
                                "bell \a and \x7f",
                                "\xc3\xa4\xe2\x82\xac\xf0\x9f\x91\x84",
                                "/" };
  for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_autoptr(JsonNode) node = json_node_init_string(json_node_alloc(), texts[i]);
    g_autofree char *text = pla_json_write_lossy(node, PLA_JSON_PLAIN);
    g_autoptr(JsonNode) ours = pla_json_literal(text);
    g_autoptr(JsonNode) theirs = json_from_string(text, NULL);
    g_assert_cmpstr(json_node_get_string(ours), ==, texts[i]);
    g_assert_cmpstr(json_node_get_string(theirs), ==, texts[i]);
  }
  g_autoptr(JsonNode) escaped = pla_json_literal("\"\\u00e4\\u20ac\\ud83d\\udc44\\/\"");
  g_assert_cmpstr(json_node_get_string(escaped), ==, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x91\x84/");
}

static void
test_layout(void)
{
  g_autoptr(JsonNode) node = pla_json_literal(
      "\xef\xbb\xbf {\"b\": [1, -2.5, true, null], \"a\": {\"z\": \"t\"}, \"e\": [],"
      " \"o\": {}, \"i\": 9223372036854775807, \"n\": -9223372036854775808,"
      " \"l\": 9223372036854775808} ");
  g_autofree char *sorted = pla_json_canonical(json_node_get_object(node));
  g_assert_cmpstr(sorted, ==,
                  "{\"a\":{\"z\":\"t\"},\"b\":[1,-2.5,true,null],\"e\":[],"
                  "\"i\":9223372036854775807,\"l\":9.223372036854776e+18,"
                  "\"n\":-9223372036854775808,\"o\":{}}");
  /* what json-glib would have written, where it writes JSON */
  json_object_remove_member(json_node_get_object(node), "l"); /* its digits differ */
  json_object_remove_member(json_node_get_object(node), "o"); /* it writes {  } */
  g_autofree char *ours = pla_json_write_lossy(node, PLA_JSON_PRETTY);
  g_autofree char *theirs = json_to_string(node, TRUE);
  g_assert_cmpstr(ours, ==, theirs);
  g_autoptr(JsonNode) copy = pla_json_dup(node);
  g_assert_true(json_node_equal(copy, node));
}

static void
test_refused(void)
{
  const struct {
    const char *text, *where;
  } cases[] = {
    { "", "line 1, column 1" },
    { "{", "line 1, column 2 (a key in quotes" },
    { "{\"a\" 1}", "line 1, column 6 (the : behind" },
    { "{\"a\": 1,}", "line 1, column 9 (a key in quotes" },
    { "{\"a\": 1 \"b\": 2}", "column 9 (a comma or } is missing" },
    { "{\"a\": 1,\n \"a\": 2}", "line 2, column 2 (the key \"a\" stands here twice" },
    { "[1, 2", "column 6 (a comma or ] is missing" },
    { "[1,, 2]", "column 4 (a value is missing" },
    { "[1e-08.0]", "column 2 (this is no number" },
    { "[01]", "no number" },
    { "[1.]", "no number" },
    { "[.5]", "a value is missing" },
    { "[+1]", "a value is missing" },
    { "[1e]", "no number" },
    { "[0x10]", "no number" },
    { "[1e999]", "too large" },
    { "[nan]", "a value is missing" },
    { "[Infinity]", "a value is missing" },
    { "['a']", "a value is missing" },
    { "// no\n{}", "a value is missing" },
    { "{} {}", "column 4 (something follows" },
    { "[\"a\nb\"]", "line break" },
    { "[\"abc", "closing quote" },
    { "[\"\\x\"]", "starts nothing" },
    { "[\"\\u12\"]", "starts nothing" },
    { "[\"\\u0000\"]", "starts nothing" },
    { "[\"\\ud83d\"]", "starts nothing" },
    { "[\"\\udc44\"]", "starts nothing" },
    { "[tru]", "a value is missing" },
    { "\xc3\xa4\n\xff", "line 2, column 1 (this is no UTF-8" },
    { "[\"\xc3\xa4\", x]", "line 1, column 7" },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    JsonNode *node;
    PlaError err = { 0 };
    g_assert_cmpint(pla_json_parse(cases[i].text, strlen(cases[i].text), "a.json", &node, &err), ==,
                    PLA_ERR_FORMAT);
    g_assert_null(node);
    g_assert_true(g_str_has_prefix(err.message, "a.json: "));
    if (!strstr(err.message, cases[i].where))
      g_error("%s: %s", cases[i].text, err.message);
  }
  /* a byte that ends C texts is not the end of ours */
  JsonNode *node;
  g_assert_cmpint(pla_json_parse("[1]\0]", 5, "a.json", &node, NULL), ==, PLA_ERR_FORMAT);
}

/* brackets @depth deep; g_free() */
static char *
nested(int depth, const char *open, const char *close)
{
  GString *text = g_string_new(NULL);
  for (int i = 0; i < depth; i++)
    g_string_append(text, open);
  g_string_append(text, "1");
  for (int i = 0; i < depth; i++)
    g_string_append(text, close);
  return g_string_free(text, FALSE);
}

static void
test_depth(void)
{
  const struct {
    int depth;
    const char *open, *close;
    bool fine;
  } cases[] = { { 64, "[", "]", true },       { 65, "[", "]", false },
                { 64, "{\"a\":", "}", true }, { 65, "{\"a\":", "}", false },
                { 100000, "[", "]", false },  { 100000, "{\"a\":", "}", false },
                { 100000, "[", "", false } };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = nested(cases[i].depth, cases[i].open, cases[i].close);
    g_autoptr(JsonNode) node = NULL;
    PlaError err;
    g_assert_cmpint(pla_json_parse(text, strlen(text), "a", &node, &err) == PLA_OK, ==,
                    cases[i].fine);
    if (!cases[i].fine)
      g_assert_nonnull(strstr(err.message, "64 deep"));
    g_autofree char *mended = pla_json_repair(text); /* must end, too */
    g_assert_null(mended);
  }
  /* what could not be read is not written */
  JsonNode *node = json_node_init_int(json_node_alloc(), 1);
  for (int i = 0; i < 65; i++) {
    g_autoptr(JsonArray) array = json_array_new();
    json_array_add_element(array, node);
    node = json_node_init_array(json_node_alloc(), array);
  }
  char *text;
  PlaError err;
  g_assert_cmpint(pla_json_write(node, PLA_JSON_PLAIN, &text, &err), !=, PLA_OK);
  g_assert_nonnull(strstr(err.message, "64 deep"));
  json_node_unref(node);
}

static void
test_not_finite(void)
{
  g_autoptr(JsonNode) node = pla_json_literal("{\"a\": {\"list\": [1, 2]}, \"b\": 1}");
  JsonArray *list =
      json_object_get_array_member(json_object_get_object_member(json_node_get_object(node), "a"),
                                   "list");
  json_array_add_double_element(list, NAN);
  json_array_add_double_element(list, INFINITY);
  char *text;
  PlaError err;
  g_assert_cmpint(pla_json_write(node, PLA_JSON_PLAIN, &text, &err), ==, PLA_ERR_FORMAT);
  g_assert_null(text);
  g_assert_nonnull(strstr(err.message, "'a.list[2]' is not a finite number"));
  g_autofree char *lossy = pla_json_write_lossy(node, PLA_JSON_PLAIN);
  g_assert_cmpstr(lossy, ==, "{\"a\":{\"list\":[1,2,null,null]},\"b\":1}");
}

/* texts as json-glib wrote them into older cases */
static void
test_repair(void)
{
  const struct {
    const char *broken, *mended;
  } cases[] = {
    { "{\"a\":1e-08.0}", "{\"a\":1e-08}" },
    { "{\"a\":[-1e-08.0,2.5,1e+22.0,7],\"b\":3.0}", "{\"a\":[-1e-08,2.5,1e+22,7],\"b\":3.0}" },
    { "{\"a\":nan.0,\"b\":-inf.0}", "{\"a\":null,\"b\":null}" },
    { "{\"t\":\"{\\\"x\\\":1e-08.0}\"}", "{\"t\":\"{\\\"x\\\":1e-08}\"}" },
    { "{\"t\":\"about 1e-08.0\",\"a\":1e-08.0}", "{\"t\":\"about 1e-08.0\",\"a\":1e-08}" },
    { "{\"a\":1.5,\"t\":\"1e-08.0 \\\" nan.0\"}", NULL },
    { "{\"t\":\"{1e-08.0 and more\"}", NULL },
    { "{\"a\":1e-08.0", NULL },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *mended = pla_json_repair(cases[i].broken);
    g_assert_cmpstr(mended, ==, cases[i].mended);
    g_autoptr(JsonObject) object = NULL;
    PlaStatus st = pla_json_parse_stored(cases[i].broken, "it", &object, NULL);
    g_assert_cmpint(st == PLA_OK, ==, i != G_N_ELEMENTS(cases) - 1);
  }
  /* our own writer leaves nothing to mend, json-glib's does */
  g_autoptr(JsonNode) node = pla_json_literal("{\"a\": 1e-8, \"t\": \"x\"}");
  g_autofree char *theirs = json_to_string(node, FALSE), *mended = pla_json_repair(theirs);
  g_assert_cmpstr(theirs, ==, "{\"a\":1e-08.0,\"t\":\"x\"}");
  g_assert_cmpstr(mended, ==, "{\"a\":1e-08,\"t\":\"x\"}");
}

/* names that lead to no regular file, and what stands on the command line */
static void
test_command_line(void)
{
  g_autofree char *dir = g_dir_make_tmp("platysma-json-XXXXXX", NULL);
  g_autofree char *fifo = g_build_filename(dir, "fifo.json", NULL);
  g_autofree char *deep = g_build_filename(dir, "deep.json", NULL);
  g_autofree char *out = g_build_filename(dir, "out.vtu", NULL);
  g_autofree char *brackets = nested(100000, "[", "]");
  g_autofree char *scene = g_strdup_printf("{\"mesh\": %s}", brackets);
  g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
  g_assert_true(g_file_set_contents(deep, scene, -1, NULL));
  const char *const files[] = { fifo, "/dev/zero", dir, deep };
  for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
    json_object_unref(verb_test_runf(2, "simulate %s -o %s", files[i], out));
    json_object_unref(verb_test_runf(2, "operate %s -o %s", files[i], out));
  }
  g_autofree char *case_path = g_build_filename(dir, "a.platysma", NULL);
  json_object_unref(verb_test_runf(0, "case new %s", case_path));
  g_autofree char *argument = nested(60000, "[", "]"); /* the system takes 128 KiB */
  json_object_unref(verb_test_runf(2, "case apply %s note '%s'", case_path, argument));
  json_object_unref(verb_test_runf(2, "case apply %s note @/dev/zero", case_path));
  json_object_unref(verb_test_runf(2, "case apply %s note @%s", case_path, deep));
  for (const char *const *path = (const char *const[]){ fifo, deep, case_path, NULL }; *path;
       path++)
    g_assert_cmpint(g_unlink(*path), ==, 0);
  g_assert_cmpint(g_rmdir(dir), ==, 0);
}

/* json-glib's own text calls stand in no source of the product */
static void
test_one_module(void)
{
  static const char *const rooms[] = { "anatomy", "sim", "io", "app", "ui", NULL };
  static const char *const calls[] = { "json_from_string", "json_to_string", "json_parser_",
                                       "json_generator_", NULL };
  g_autofree char *root = g_test_build_filename(G_TEST_DIST, "..", NULL);
  g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(g_free);
  int n_files = 0;
  for (int r = 0; rooms[r]; r++)
    g_ptr_array_add(folders, g_build_filename(root, rooms[r], NULL));
  for (guint f = 0; f < folders->len; f++) {
    g_autoptr(GDir) dir = g_dir_open(folders->pdata[f], 0, NULL);
    g_assert_nonnull(dir);
    for (const char *name; (name = g_dir_read_name(dir));) {
      g_autofree char *path = g_build_filename(folders->pdata[f], name, NULL), *text = NULL;
      if (g_file_test(path, G_FILE_TEST_IS_DIR))
        g_ptr_array_add(folders, g_steal_pointer(&path));
      else if ((g_str_has_suffix(name, ".c") || g_str_has_suffix(name, ".cpp")) &&
               g_file_get_contents(path, &text, NULL, NULL)) {
        n_files++;
        for (int c = 0; calls[c]; c++)
          if (strstr(text, calls[c]))
            g_error("%s calls %s: use app/base/json.h", path, calls[c]);
      }
    }
  }
  g_assert_cmpint(n_files, >, 300);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/json/doubles", test_doubles);
  g_test_add_func("/json/shortest", test_shortest);
  g_test_add_func("/json/texts", test_texts);
  g_test_add_func("/json/layout", test_layout);
  g_test_add_func("/json/refused", test_refused);
  g_test_add_func("/json/depth", test_depth);
  g_test_add_func("/json/not-finite", test_not_finite);
  g_test_add_func("/json/repair", test_repair);
  g_test_add_func("/json/command-line", test_command_line);
  g_test_add_func("/json/one-module", test_one_module);
  return g_test_run();
}
