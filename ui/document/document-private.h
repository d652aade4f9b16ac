/* What the parts of the document share: document.c (jobs, access, the type itself),
 * document-content.c (what is shown: entries of the tree, surfaces of tissues),
 * document-session.c (a case: its items, its operations, opening and closing it) and
 * document-work.c (tissues, export, the demo).  Main thread, but for what a job's own function does
 * with its PlaDocumentWork. */
#pragma once

#include "ui/document/document.h"
#include "ui/document/image.h"

/* An item of the case as it is shown, or is to be. */
typedef struct {
  int64_t item;
  PlaHash hash;
  char *kind, *name;
  PlaContent *content; /* NULL: not read yet */
} PlaWanted;

void pla_wanted_free(gpointer data);
/* the last of @items (of PlaWanted, or NULL) of a kind, or NULL */
PlaWanted *pla_document_last_of(GPtrArray *items, const char *kind);

struct _PlaDocument {
  GObject parent_instance;
  PlaSession *session; /* or NULL: nothing is open */
  int lock;            /* of an unsaved case, or -1 */
  gboolean forsaken;   /* the unsaved case goes when it is closed */
  guint look;          /* source that looks for what other programs do to the case, or 0 */
  GPtrArray *shown;    /* of PlaWanted: what is shown of the session */
  guint serial;        /* of the newest reading of the session */
  char *title;
  PlaEntry *making; /* whose surface is being made, or NULL */
  guint generation; /* grows when the case changes: results of older jobs are dropped */
  PlaImage *volume, *labels;
  PlaLabelTable overlay;
  GListStore *tree;                                      /* groups */
  PlaEntry *volumes_group, *labels_group, *meshes_group; /* borrowed from tree, or NULL */
  GListStore *jobs;
  GQueue queue;      /* of Running: operations that wait for their turn */
  gboolean occupied; /* one is looking at its file, or saving: no other may start */
  PlaTools *tools;
  PlaAnnotations *annotations;
  int next_id;
  double cursor[3], window[2];
  gboolean radiological, linear;
};

typedef enum {
  PLA_DOCUMENT_RESET,
  PLA_DOCUMENT_SLICES_CHANGED,
  PLA_DOCUMENT_CURSOR_CHANGED,
  PLA_DOCUMENT_SHAPE_CHANGED,
  PLA_DOCUMENT_ENTRY_CHANGED,
  PLA_DOCUMENT_HISTORY_CHANGED,
  PLA_DOCUMENT_FAILED,
  PLA_DOCUMENT_N_SIGNALS
} PlaDocumentSignal;
extern guint pla_document_signals[PLA_DOCUMENT_N_SIGNALS];

/* what each job carries besides its own data */
typedef struct {
  PlaDocument *document;
  guint generation;
  PlaEntry *entry; /* whose surface is made */
  PlaImage *volume, *labels;
  char *path, *name;
  int *ids, n_ids;
  guint serial;
  GPtrArray *wanted;   /* of PlaWanted */
  PlaSession *session; /* a case being opened: handed over, used by one thread at a time */
  int lock;            /* of that case where it is unsaved, or -1 */
  PlaContent *content; /* to be written */
  /* results */
  PlaImage *new_volume, *new_labels;
  gboolean *changed; /* of labels that replace others: by id (65536), or NULL: all */
  PlaMesh *mesh;
  float *open;
} PlaDocumentWork;

/* with what is shown now held for it */
PlaDocumentWork *pla_document_work_new(PlaDocument *self);
/* Takes @work.  @done calls pla_document_finish(), applies the result, and
 * pla_document_retire_job() last: whoever waits for the last job finds everything in place. */
void pla_document_start(PlaDocument *self, const char *title, PlaJobWork func, PlaJobDone done,
                        PlaDocumentWork *work);
/* says what went wrong, if anything did; whether the result is wanted */
gboolean pla_document_finish(PlaJob *job, PlaDocumentWork *work, PlaStatus status,
                             const PlaError *err);

/* the group with @title, made where it stands in the order volumes, tissues, meshes */
PlaEntry *pla_document_group(PlaDocument *self, PlaEntry **slot, const char *title);
void pla_document_remove_shape(PlaEntry *entry, gpointer data); /* @data: the document */
void pla_document_set_title(PlaDocument *self, const char *title);
void pla_document_show_labels(PlaDocument *self, PlaImage *image,
                              const gboolean *changed); /* takes @image */
void pla_document_show_volume(PlaDocument *self, PlaImage *image,
                              const char *name);                       /* takes @image */
void pla_document_describe_mesh(PlaEntry *entry, const PlaMesh *mesh); /* how many elements */
PlaEntry *pla_document_new_mesh(PlaDocument *self, const PlaMesh *mesh, const char *name);
void pla_document_centre_cursor(PlaDocument *self);

/* @source: a file that the operation reads, or NULL; @done and @owner as in pla_document_run_for()
 */
void pla_document_run_operation(PlaDocument *self, const char *title, PlaVerbValues *values,
                                const char *source, PlaDocumentDone done, GObject *owner);
