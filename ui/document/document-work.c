/* Work on the case that a document starts: export, comparison, the demo. */
#include "ui/document/document-private.h"

#include "app/case/demo.h"
#include "app/content/files.h"

#include <glib/gi18n.h>
#include <string.h>

/* ------------------------------------------------------------------- export */

static PlaStatus
write_file(gpointer data, PlaProgress *progress, PlaError *err)
{
  PlaDocumentWork *work = data;
  return work->content ? pla_content_write_file(work->content, work->path, progress, err)
                       : pla_volume_write_file(work->volume->volume, work->path, progress, err);
}

static void
on_written(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  PlaDocumentWork *work = data;
  pla_document_finish(job, work, status, err);
  pla_document_retire_job(work->document, job);
}

void
pla_document_export(PlaDocument *self, PlaEntry *entry, const char *path)
{
  PlaContent *content = pla_entry_get_content(entry);
  if (!content && !self->volume)
    return;
  PlaDocumentWork *work = pla_document_work_new(self);
  work->path = g_strdup(path);
  work->content = content ? pla_content_ref(content) : NULL;
  pla_document_start(self, _("Exporting"), write_file, on_written, work);
}

void
pla_document_compare(PlaDocument *self, PlaEntry *entry, PlaEntry *with)
{
  if (pla_entry_get_item(entry) == 0 || pla_entry_get_item(with) == 0) {
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_FAILED], 0,
                  _("Only meshes and surfaces of the case can be compared; keep a surface of the "
                    "tissue first (Anatomy)"));
    return;
  }
  g_autoptr(PlaVerbValues) values = pla_verb_values_new("compare");
  pla_verb_values_set_text(values, "item", pla_entry_get_name(entry));
  pla_verb_values_set_text(values, "with", pla_entry_get_name(with));
  pla_document_run(self, _("Comparing"), values);
}

/* --------------------------------------------------------------------- demo */

/* a file of the source tree that the program was built in, or NULL */
static char *
find_beside(const char *folder, const char *inner, const char *name)
{
  g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *dir = exe ? g_path_get_dirname(exe) : NULL;
  for (int level = 0; dir && level < 4; level++) {
    g_autofree char *path = g_build_filename(dir, folder, inner, name, NULL);
    if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
      return g_steal_pointer(&path);
    char *parent = g_path_get_dirname(dir);
    g_free(dir);
    dir = parent;
  }
  return NULL;
}

/* the demo case is made once and kept with the user's caches; work->name is the scan, or NULL */
static PlaStatus
make_demo(gpointer data, PlaProgress *progress, PlaError *err)
{
  PlaDocumentWork *work = data;
  PlaSession *session = NULL;
  PlaStatus st = pla_demo_create(work->path, work->name, progress, &session, err);
  g_clear_object(&session);
  return st;
}

static void
on_demo_made(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  PlaDocumentWork *work = data;
  if (pla_document_finish(job, work, status, err))
    pla_document_open(work->document, work->path);
  pla_document_retire_job(work->document, job);
}

void
pla_document_open_demo(PlaDocument *self)
{
  g_autofree char *made = find_beside("out", "", "demo.platysma");
  g_autofree char *scan = find_beside("datasets", "cache", "ct-head.nii.gz");
  g_autofree char *folder = g_build_filename(g_get_user_cache_dir(), "platysma", NULL);
  pla_document_close(self);
  if (!made)
    made = g_build_filename(folder, scan ? "demo-ct.platysma" : "demo-phantom.platysma", NULL);
  if (g_file_test(made, G_FILE_TEST_EXISTS)) {
    pla_document_open(self, made);
    return;
  }
  PlaDocumentWork *work = pla_document_work_new(self);
  g_mkdir_with_parents(folder, 0700);
  work->path = g_steal_pointer(&made);
  work->name = g_steal_pointer(&scan);
  pla_document_start(self, _("Making the demo case"), make_demo, on_demo_made, work);
}
