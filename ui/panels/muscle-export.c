/* Writes a CSV table on a worker from contents that it holds. */
#include "ui/panels/muscle-export.h"

#include "app/content/files.h"

#include <glib/gi18n.h>

typedef struct {
  PlaDocument *document;
  GObject *owner;
  PlaTableFailed failed;
  char *store, *path;
  PlaHash hash;
} Table;

static void
table_free(gpointer data)
{
  Table *table = data;
  g_object_unref(table->document);
  g_object_unref(table->owner);
  g_free(table->store);
  g_free(table->path);
  g_free(table);
}

static PlaStatus
write_table(gpointer data, PlaProgress *progress, PlaError *err)
{
  Table *table = data;
  PlaStore *store = NULL;
  g_autoptr(PlaContent) content = NULL;
  PlaStatus st = pla_store_open(table->store, &store, err);
  if (st == PLA_OK)
    st = pla_content_load(store, &table->hash, progress, &content, err);
  if (st == PLA_OK)
    st = pla_content_write_file(content, table->path, progress, err);
  pla_store_close(store);
  return st;
}

static void
on_table(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Table *table = data;
  if (status != PLA_OK && status != PLA_ERR_CANCELLED)
    table->failed(table->owner, err->message);
  pla_document_retire_job(table->document, job);
}

gboolean
pla_muscle_export(PlaDocument *document, const char *item, const char *path, PlaTableFailed failed,
                  GObject *owner)
{
  PlaSession *session = pla_document_get_session(document);
  const PlaStateItem *found =
      session && item ? pla_state_find_name(pla_session_get_state(session), item) : NULL;
  if (!found)
    return FALSE;
  Table *table = g_new0(Table, 1);
  table->document = g_object_ref(document);
  table->owner = g_object_ref(owner);
  table->failed = failed;
  table->store = g_strdup(pla_session_get_path(session));
  table->path = g_strdup(path);
  table->hash = found->hash;
  g_autoptr(PlaJob) job =
      pla_job_start(_("Writing a table"), write_table, on_table, table, table_free);
  pla_document_add_job(document, job);
  return TRUE;
}
