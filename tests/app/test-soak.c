/* What only shows after a while: hundreds of operations in one process, two programs on one case, a
 * wall clock that jumps. */
#include "app/base/json.h"
#include "app/case/session.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <malloc.h>
#include <string.h>

static char *test_dir;

static void
ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

static char *
path_of(const char *name)
{
  return g_build_filename(test_dir, name, NULL);
}

static void apply(PlaSession *session, const char *verb, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void
apply(PlaSession *session, const char *verb, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_autofree char *params = g_strdup_vprintf(format, args);
  va_end(args);
  g_autoptr(JsonNode) node = pla_json_literal(params);
  PlaError err;
  ok(pla_session_run(session,
                     &(PlaRequest){ .verb = verb,
                                    .params = json_node_get_object(node),
                                    .read = pla_read_options_default() },
                     NULL, NULL, &err),
     &err);
}

static bool
is_long(void)
{
  return g_getenv("PLA_LONG") != NULL;
}

/* operation number @i of a day's work; every one leaves as many items as it found, or nearly */
static void
work(PlaSession *session, int i)
{
  PlaError err;
  switch (i % 10) {
  case 0:
    apply(session, "note", "{\"name\": \"plan\", \"text\": \"step %d\"}", i);
    break;
  case 1:
    apply(session, "landmark", "{\"name\": \"nasion\", \"at_mm\": [%d, 2, 1e-8]}", i);
    break;
  case 2:
    apply(session, "edit-label",
          "{\"item\": \"slab\", \"points_mm\": [[%d, 0, -8], [%d, 5, -8]], \"radius_mm\": 8, "
          "\"label\": %d}",
          i / 20 % 9 - 10, i / 20 % 9 - 8, i / 10 % 2 ? 2 : 3);
    break;
  case 3:
    apply(session, "surface", "{\"item\": \"slab\", \"labels\": [\"fat\"], \"name\": \"surface\"}");
    break;
  case 4:
    apply(session, "delete", "{\"item\": \"surface\"}");
    break;
  case 5:
    apply(session, "measure", "{\"name\": \"width\", \"points_mm\": [[0, 0, 0], [%d, 1, 2]]}",
          i % 7 + 1);
    break;
  case 6:
    apply(session, "mesh",
          "{\"item\": \"slab\", \"method\": \"tets\", \"cell_mm\": 6, \"name\": \"tets\"}");
    break;
  case 7:
    apply(session, "simulate",
          "{\"item\": \"tets\", \"name\": \"bent\", \"gravity_m_s2\": [0, 0, %d], \"fixed\": "
          "[{\"plane\": {\"through_mm\": [0, 0, -18], \"normal\": [0, 0, 1], \"within_mm\": 4}}]}",
          -1 - i % 3);
    break;
  case 8:
    apply(session, "delete", "{\"item\": \"bent\"}");
    break;
  default:
    apply(session, "delete", "{\"item\": \"tets\"}");
    ok(pla_session_undo(session, &err), &err);
    ok(pla_session_redo(session, &err), &err);
  }
}

/* memory in use stays where it is */
static void
test_operations(void)
{
  const int n = is_long() ? 200 : 40, first = is_long() ? 50 : 20;
  g_autofree char *path = path_of("soak.platysma");
  g_autoptr(PlaSession) session = NULL;
  size_t at_first = 0, at_end = 0;
  PlaError err;
  ok(pla_session_create(path, "soak", &session, &err), &err);
  apply(session, "phantom", "{\"phantom\": \"skin-slab\", \"spacing_mm\": 4, \"name\": \"slab\"}");
  for (int i = 0; i < n; i++) {
    work(session, i);
    malloc_trim(0);
    const struct mallinfo2 info = mallinfo2();
    at_end = info.uordblks + info.hblkhd;
    if (i == first - 1)
      at_first = at_end;
  }
  g_test_message("after %d operations %.2f MiB, after %d %.2f MiB", first,
                 (double)at_first / 1048576.0, n, (double)at_end / 1048576.0);
#ifndef __SANITIZE_ADDRESS__ /* which has its own malloc, and finds leaks by itself */
  g_assert_cmpuint(at_first, >, 0);
  g_assert_cmpuint(at_end, <, at_first + (1 << 20));
#endif
  /* phantom, and one row each; undo and redo add none */
  g_assert_cmpint(pla_session_get_log(session)->n, ==, 1 + n);
  g_clear_object(&session);
  json_object_unref(verb_test_runf(0, "case verify %s", path));
}

typedef struct {
  const char *path;
  int n;
} Other;

/* another program that writes notes into the same case */
static gpointer
write_notes(gpointer data)
{
  const Other *other = data;
  for (int i = 0; i < other->n; i++)
    json_object_unref(verb_test_runf(
        0, "case apply %s note '{\"name\": \"theirs %d\", \"text\": \"%d\"}'", other->path, i, i));
  return NULL;
}

/* a session stays open while the command line works on its case: both keep all they did */
static void
test_two_programs(void)
{
  const int n = is_long() ? 60 : 12;
  g_autofree char *path = path_of("two.platysma");
  g_autoptr(PlaSession) session = NULL;
  Other other = { path, n };
  PlaError err;
  ok(pla_session_create(path, "two", &session, &err), &err);
  GThread *thread = g_thread_new("other", write_notes, &other);
  for (int i = 0; i < n; i++) {
    apply(session, "note", "{\"name\": \"ours %d\", \"text\": \"%d\"}", i, i);
    g_usleep(20000);
  }
  g_thread_join(thread);
  ok(pla_session_refresh(session, &err), &err);
  const PlaState *state = pla_session_get_state(session);
  g_assert_cmpint(state->n, ==, 2 * n);
  for (int i = 0; i < 2 * n; i++) {
    g_autofree char *name = g_strdup_printf("%s %d", i % 2 ? "theirs" : "ours", i / 2);
    g_assert_nonnull(pla_state_find_name(state, name));
  }
  json_object_unref(verb_test_runf(0, "case verify %s", path));
  g_autoptr(JsonObject) again = verb_test_runf(0, "case replay %s", path);
  g_assert_true(json_object_get_boolean_member(again, "verified"));
}

/* years pass between two looks at the clock, in both directions */
static void
test_clock(void)
{
  g_autofree char *path = path_of("clock.platysma"), *html = path_of("clock.html");
  const char *module = g_getenv("PLA_CLOCK_JUMP");
  if (!module || !*module) {
    g_test_skip("the module that moves the clock is not preloaded under sanitizers");
    return;
  }
  g_setenv("LD_PRELOAD", module, TRUE);
  json_object_unref(verb_test_runf(0, "case new %s", path));
  for (int i = 0; i < 6; i++)
    json_object_unref(verb_test_runf(
        0, "case apply %s landmark '{\"name\": \"p%d\", \"at_mm\": [%d, 0, 0]}'", path, i, i));
  json_object_unref(verb_test_runf(
      0, "case apply %s phantom '{\"phantom\": \"skin-slab\", \"spacing_mm\": 4}'", path));
  json_object_unref(verb_test_runf(0, "case undo %s", path));
  json_object_unref(verb_test_runf(0, "case redo %s", path));
  g_autoptr(JsonObject) log = verb_test_runf(0, "case log %s", path);
  g_autoptr(JsonObject) again = verb_test_runf(0, "case replay %s", path);
  g_assert_true(json_object_get_boolean_member(again, "verified"));
  json_object_unref(verb_test_runf(0, "case verify %s", path));
  json_object_unref(verb_test_runf(0, "report %s -o %s", path, html));
  /* a case last changed in a year that no calendar has */
  g_autofree char *pdf = path_of("clock.pdf");
  g_setenv("PLA_CLOCK_YEARS", "8000", TRUE);
  json_object_unref(verb_test_runf(
      0, "case apply %s landmark '{\"name\": \"late\", \"at_mm\": [0, 0, 0]}'", path));
  json_object_unref(verb_test_runf(0, "report %s -o %s", path, html));
  json_object_unref(verb_test_runf(0, "report %s -o %s", path, pdf));
  json_object_unref(verb_test_runf(0, "case log %s", path));
  g_unsetenv("PLA_CLOCK_YEARS");
  g_unsetenv("LD_PRELOAD");
  JsonArray *rows = json_object_get_array_member(log, "log");
  g_assert_cmpuint(json_array_get_length(rows), ==, 7);
  bool backwards = false; /* or the clock did not jump */
  for (guint i = 1; i < 7; i++) {
    JsonObject *row = json_array_get_object_element(rows, i);
    JsonObject *before = json_array_get_object_element(rows, i - 1);
    g_assert_cmpint(json_object_get_int_member(row, "id"), >,
                    json_object_get_int_member(before, "id"));
    const double seconds = json_object_get_double_member(row, "seconds");
    g_assert_true(seconds >= 0.0 && seconds < 600.0);
    backwards |= strcmp(json_object_get_string_member(row, "time"),
                        json_object_get_string_member(before, "time")) < 0;
  }
  g_assert_true(backwards);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  test_dir = g_dir_make_tmp("platysma-soak-XXXXXX", NULL);
  g_test_add_func("/soak/operations", test_operations);
  g_test_add_func("/soak/two-programs", test_two_programs);
  g_test_add_func("/soak/clock", test_clock);
  int status = g_test_run();
  g_autoptr(GDir) dir = g_dir_open(test_dir, 0, NULL);
  for (const char *name; (name = g_dir_read_name(dir));) {
    g_autofree char *path = path_of(name);
    g_unlink(path);
  }
  g_rmdir(test_dir);
  g_free(test_dir);
  return status;
}
