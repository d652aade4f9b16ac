/* The window's document without a window: opening and closing a case again and again leaves nothing
 * behind.  Under the address sanitizer the end of the program looks for what was lost. */
#include "app/case/session.h"
#include "ui/document/document.h"

#include <glib/gstdio.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>

static char *
make_case(const char *dir)
{
  char *path = g_build_filename(dir, "cycle.platysma", NULL);
  g_autoptr(PlaSession) session = NULL;
  PlaError err;
  static const char *const steps[][2] = {
    { "phantom", "{\"phantom\": \"head\", \"spacing_mm\": 16, \"name\": \"head\"}" },
    { "note", "{\"name\": \"n\", \"text\": \"t\"}" },
  };
  if (pla_session_create(path, "cycle", &session, &err) != PLA_OK)
    g_error("%s", err.message);
  for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
    g_autoptr(JsonNode) node = json_from_string(steps[i][1], NULL);
    PlaRequest request = { .verb = steps[i][0],
                           .params = json_node_get_object(node),
                           .read = pla_read_options_default() };
    if (pla_session_run(session, &request, NULL, NULL, &err) != PLA_OK)
      g_error("%s", err.message);
  }
  return path;
}

static void
on_failed(PlaDocument *document, const char *sentence)
{
  g_error("%s", sentence);
}

static void
wait_for(PlaDocument *document)
{
  while (pla_document_get_busy(document))
    g_main_context_iteration(NULL, TRUE);
}

static void
test_cycles(void)
{
  const int cycles = g_getenv("PLA_SMALL") ? 10 : 100;
  g_autofree char *dir = g_dir_make_tmp("platysma-document-XXXXXX", NULL);
  g_autofree char *path = make_case(dir);
  g_autoptr(PlaDocument) document = pla_document_new();
  g_signal_connect(document, "failed", G_CALLBACK(on_failed), NULL);
  /* least in use over the first and the last thirty cycles: what is only passing does not count */
  size_t early = SIZE_MAX, late = SIZE_MAX;
  for (int i = 0; i < cycles; i++) {
    pla_document_open(document, path);
    wait_for(document);
    g_assert_nonnull(pla_document_get_session(document));
    g_assert_nonnull(pla_document_get_labels(document));
    /* every other time while the case is still being worked on */
    if (i % 2) {
      pla_document_undo(document);
      pla_document_redo(document);
    } else {
      pla_document_undo(document);
      wait_for(document);
      pla_document_redo(document);
      wait_for(document);
    }
    pla_document_close(document);
    wait_for(document);
    g_assert_true(pla_document_is_empty(document));
    g_assert_cmpint((int)g_list_model_get_n_items(pla_document_get_tree(document)), ==, 0);
    malloc_trim(0);
    size_t in_use = mallinfo2().uordblks;
    if (i >= 10 && i < 40)
      early = MIN(early, in_use);
    if (i >= 70)
      late = MIN(late, in_use);
  }
  /* a surface of the case is some ten kilobytes: half of one lost in each of sixty cycles shows */
  if (cycles == 100) {
    g_test_message("in use %zu kB, sixty cycles later %zu kB", early / 1024, late / 1024);
    g_assert_cmpuint(late, <, early + 300 * 1024);
  }
  g_remove(path);
  g_rmdir(dir);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/document/cycles", test_cycles);
  return g_test_run();
}
