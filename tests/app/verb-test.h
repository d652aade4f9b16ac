/* Runs the command line as a user does, for tests of verbs. */
#pragma once

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

/* `platysma-cli WORDS --json` must end with @status; its JSON, which has a sentence under "error"
 * exactly when it failed.  json_object_unref(). */
static inline JsonObject *
verb_test_run(const char *words, int status)
{
  g_autofree char *line = g_strdup_printf("%s %s --json", g_getenv("PLATYSMA_CLI"), words);
  g_autofree char *printed = NULL;
  g_autofree char *said = NULL;
  g_autoptr(GError) error = NULL;
  g_autoptr(JsonParser) parser = json_parser_new();
  int wait_status;
  g_assert_true(g_spawn_command_line_sync(line, &printed, &said, &wait_status, &error));
  if (!WIFEXITED(wait_status))
    g_error("'%s' was ended by signal %d: %s%s", words, WTERMSIG(wait_status), printed, said);
  if (WEXITSTATUS(wait_status) != status)
    g_error("'%s' ended with %d, not %d: %s%s", words, WEXITSTATUS(wait_status), status, printed,
            said);
  json_parser_load_from_data(parser, printed, -1, &error);
  g_assert_no_error(error);
  JsonObject *object = json_node_dup_object(json_parser_get_root(parser));
  g_assert_cmpint(json_object_has_member(object, "error"), ==, status != 0);
  if (status != 0)
    g_assert_cmpuint(strlen(json_object_get_string_member(object, "error")), >, 20);
  return object;
}

/* the same, its words as in printf() */
static inline JsonObject *verb_test_runf(int status, const char *format, ...) G_GNUC_PRINTF(2, 3);

static inline JsonObject *
verb_test_runf(int status, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_autofree char *words = g_strdup_vprintf(format, args);
  va_end(args);
  return verb_test_run(words, status);
}
