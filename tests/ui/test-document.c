/* The window's document without a window: opening and closing a case again and again leaves nothing
 * behind.  Under the address sanitizer the end of the program looks for what was lost. */
#include "app/session.h"
#include "ui/document.h"

#include <glib/gstdio.h>
#include <malloc.h>
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
  size_t after_ten = 0;
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
    if (i == 9)
      after_ten = mallinfo2().uordblks;
  }
  /* a surface of the case is some ten kilobytes: ninety lost ones would show */
  if (cycles == 100) {
    g_test_message("in use after 10 cycles %zu kB, after 100 %zu kB", after_ten / 1024,
                   mallinfo2().uordblks / 1024);
    g_assert_cmpuint(mallinfo2().uordblks, <, after_ten + 400 * 1024);
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
