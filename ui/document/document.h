/* What the window shows: the volume, labels and shapes of the open case, the crosshair that links
 * the views, the grey window, and the jobs that are running.
 *
 * Main thread only.  Signals: "reset" (another case, or none), "slices-changed" (volume, labels,
 * grey window or overlay), "cursor-changed", "shape-changed" (PlaEntry: its mesh is new),
 * "entry-changed" (PlaEntry: colour or visibility), "history-changed" (another session, or its
 * undo and redo), "failed" (a sentence).
 * Properties, notified: "title" and "busy". */
#pragma once

#include "anatomy/volume/volume.h"
#include "app/case/session.h"
#include "app/verbs/verb-values.h"
#include "ui/document/annotations.h"
#include "ui/document/entry.h"
#include "ui/document/tools.h"
#include "ui/widgets/job.h"

G_BEGIN_DECLS

#define PLA_TYPE_DOCUMENT (pla_document_get_type())
G_DECLARE_FINAL_TYPE(PlaDocument, pla_document, PLA, DOCUMENT, GObject)

PlaDocument *pla_document_new(void);

/* Opens a case.  Any other file is imported into the case that is open, as one operation that can
 * be undone; where none is, into a new one that has no name yet (ui/document/unsaved.h).  All in
 * the background. */
void pla_document_open(PlaDocument *self, const char *path);
/* Makes an empty case file and opens it. */
void pla_document_create(PlaDocument *self, const char *path);
/* The case that is open has no name yet; and it holds something, so that closing it should be asked
 * about. */
gboolean pla_document_get_unsaved(PlaDocument *self);
gboolean pla_document_holds_unsaved(PlaDocument *self);
/* When the unsaved case is closed, or another takes its place, its file is deleted; else it is
 * kept. */
void pla_document_forsake(PlaDocument *self, gboolean forsaken);
PlaSession *pla_document_get_session(PlaDocument *self); /* or NULL: nothing is open */
void pla_document_undo(PlaDocument *self);
void pla_document_redo(PlaDocument *self);
void pla_document_go_to(PlaDocument *self, int64_t operation); /* of the history; 0: before all */
/* Runs the verb of @values with them on the case in the background, after those that were asked for
 * before it; they may change afterwards.  FALSE where no case is open. */
gboolean pla_document_run(PlaDocument *self, const char *title, PlaVerbValues *values);
/* The same with an answer, unless @owner is gone by then: @failure is NULL when it is done, "" when
 * it was cancelled, else a sentence, which is then the owner's to show. */
typedef void (*PlaDocumentDone)(gpointer owner, const char *failure);
/* Writes the case to a new file, after the operations that were asked for before, and goes on
 * there; an unsaved one is nowhere else then. */
void pla_document_save_as(PlaDocument *self, const char *path, PlaDocumentDone done,
                          GObject *owner);
gboolean pla_document_run_for(PlaDocument *self, const char *title, PlaVerbValues *values,
                              PlaDocumentDone done, GObject *owner);
/* The demo case where `./run` made it, the head CT where it was fetched, with its tissues; else the
 * head phantom. */
void pla_document_open_demo(PlaDocument *self);
void pla_document_close(PlaDocument *self);
gboolean pla_document_is_empty(PlaDocument *self);
const char *pla_document_get_title(PlaDocument *self);
gboolean pla_document_get_busy(PlaDocument *self);

/* Writes what an entry shows to a file, in the background; the ending chooses the format. */
void pla_document_export(PlaDocument *self, PlaEntry *entry, const char *path);
/* How far one mesh of the case lies from another, as an operation. */
void pla_document_compare(PlaDocument *self, PlaEntry *entry, PlaEntry *with);

const PlaVolume *pla_document_get_volume(PlaDocument *self);   /* or NULL */
const char *pla_document_get_volume_name(PlaDocument *self);   /* as an item of the case, or NULL */
gboolean pla_document_get_grey(PlaDocument *self);             /* the tree shows the volume */
const PlaLabelMap *pla_document_get_labels(PlaDocument *self); /* or NULL */
const char *pla_document_get_labels_name(PlaDocument *self);   /* as an item of the case, or NULL */
double pla_document_get_label_mm3(PlaDocument *self, int label); /* its volume */
void pla_document_get_range(PlaDocument *self, double range[2]); /* of the volume's values */
const char *pla_document_get_unit(PlaDocument *self); /* of those values: "HU" of a CT, else "" */
PlaTools *pla_document_get_tools(PlaDocument *self);
PlaAnnotations *pla_document_get_annotations(PlaDocument *self);
/* Keeps the present volume alive for a worker; NULL without one. */
gpointer pla_document_hold_volume(PlaDocument *self, const PlaVolume **volume);
void pla_document_release(gpointer held);                  /* any thread; NULL is fine */
const PlaNotes *pla_document_get_notes(PlaDocument *self); /* of the volume; or NULL */
/* Colours of the overlay as the tree shows them; alpha 0 where hidden. */
const PlaLabelTable *pla_document_get_overlay(PlaDocument *self);
GListModel *pla_document_get_tree(PlaDocument *self); /* of PlaEntry */
GListModel *pla_document_get_jobs(PlaDocument *self); /* of PlaJob */
/* Work that a panel does itself: listed until retired. */
void pla_document_add_job(PlaDocument *self, PlaJob *job);
void pla_document_retire_job(PlaDocument *self, PlaJob *job);
/* Calls @func for every entry that can be shown in 3-D. */
void pla_document_foreach(PlaDocument *self, void (*func)(PlaEntry *entry, gpointer data),
                          gpointer data);

void pla_document_get_cursor(PlaDocument *self, double ras_mm[3]);
void pla_document_set_cursor(PlaDocument *self, const double ras_mm[3]); /* kept in the volume */
void pla_document_get_window(PlaDocument *self, double window[2]);       /* black, white */
void pla_document_set_window(PlaDocument *self, double lo, double hi);
gboolean pla_document_get_radiological(PlaDocument *self);
void pla_document_set_radiological(PlaDocument *self, gboolean radiological);
gboolean pla_document_get_linear(PlaDocument *self); /* smooth pixels */
void pla_document_set_linear(PlaDocument *self, gboolean linear);

/* "x 1.0  y 2.0  z 3.0 mm   -120   Soft tissue"; g_free(). */
char *pla_document_describe(PlaDocument *self, const double ras_mm[3]);

/* Grey windows for the menu. */
typedef struct {
  const char *id, *title;
  double lo, hi; /* equal: from the volume */
} PlaWindowPreset;
const PlaWindowPreset *pla_window_presets_get(int *n);

G_END_DECLS
