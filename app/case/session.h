/* The open case: its items, undo and redo, branches, and operations run on it.
 *
 * A session is used from one thread, the main one; pla_session_run_async() does the work and the
 * writing on another and comes back.  Every change is on disk when the function that made it
 * returns: there is no "save".
 *
 * Properties, all notified: "title", "path", "branch", "can-undo", "can-redo", "undo-title",
 * "redo-title" ("Edit Label"), "busy" and "read-only-reason" (NULL: can be changed).  The signal
 * "changed" comes after the items, the log or the branches changed. */
#pragma once

#include "app/verbs/verb.h"

#include <gio/gio.h>

G_BEGIN_DECLS

#define PLA_TYPE_SESSION (pla_session_get_type())
G_DECLARE_FINAL_TYPE(PlaSession, pla_session, PLA, SESSION, GObject)

/* Makes a new case file, or opens one; g_object_unref() by the caller. */
PlaStatus pla_session_create(const char *path, const char *title, PlaSession **out, PlaError *err);
PlaStatus pla_session_open(const char *path, PlaSession **out, PlaError *err);

/* Writes the case @path, with its history, to the new file @to under another title, and opens that.
 * Any thread; the case may be open meanwhile.  A failure leaves no file. */
PlaStatus pla_session_save_as(const char *path, const char *to, const char *title,
                              PlaProgress *progress, PlaSession **out, PlaError *err);

/* Whether the file's first bytes are those of a case. */
bool pla_session_is_case(const char *path);

const char *pla_session_get_path(PlaSession *self);
const char *pla_session_get_title(PlaSession *self);
const char *pla_session_get_read_only_reason(PlaSession *self); /* NULL: can be changed */
/* Borrowed until the next change. */
const PlaState *pla_session_get_state(PlaSession *self);
const PlaLog *pla_session_get_log(PlaSession *self);
const PlaBranches *pla_session_get_branches(PlaSession *self);
int64_t pla_session_get_head(PlaSession *self); /* operation id, 0: none */
PlaStore *pla_session_get_store(PlaSession *self);

/* Notices what another program did to the file meanwhile; also done before every change. */
PlaStatus pla_session_refresh(PlaSession *self, PlaError *err);

/* An item's content, from memory where it is there.  Caller unrefs *out. */
PlaStatus pla_session_load(PlaSession *self, int64_t item, PlaProgress *progress, PlaContent **out,
                           PlaError *err);
/* Content that is in memory, or NULL; caller unrefs. */
PlaContent *pla_session_peek(PlaSession *self, const PlaHash *hash);
/* Slices first..first+n-1 along k of a volume or label map, frame 0, without reading the rest:
 * @out has dims[0] x dims[1] x n voxels of its dtype. */
PlaStatus pla_session_load_slices(PlaSession *self, int64_t item, int first, int n, void *out,
                                  PlaError *err);

/* Runs an operation; its results and its row in the log are one transaction.  Where another
 * program has changed the case meanwhile, the result is put on top of that when it read nothing
 * that changed, and else on a branch of its own, which becomes the current one: nothing is lost.
 * @operation may be NULL. */
PlaStatus pla_session_run(PlaSession *self, const PlaRequest *request, PlaProgress *progress,
                          int64_t *operation, PlaError *err);
/* Why what the last operation made is not what was asked for, one sentence, or NULL; borrowed. */
const char *pla_session_get_shortfall(PlaSession *self);
/* The same without blocking.  One at a time: PLA_ERR_USAGE while another runs.  @progress is called
 * on the main thread and may be NULL. */
void pla_session_run_async(PlaSession *self, const PlaRequest *request, GCancellable *cancellable,
                           PlaProgressFunc progress, gpointer progress_data,
                           GAsyncReadyCallback callback, gpointer user_data);
gboolean pla_session_run_finish(PlaSession *self, GAsyncResult *result, int64_t *operation,
                                GError **error);

/* One step back or forward on the current branch; PLA_ERR_EMPTY where there is none. */
PlaStatus pla_session_undo(PlaSession *self, PlaError *err);
PlaStatus pla_session_redo(PlaSession *self, PlaError *err);

/* To the state after any operation of the history (0: before all): on the current branch where it
 * is part of that, else on the first that has it; one that no branch has gets a branch. */
PlaStatus pla_session_go_to(PlaSession *self, int64_t operation, PlaError *err);

/* A new branch that starts after @operation (-1: where the current one stands) and becomes the
 * current one; going to another; taking its name away (its operations stay until compacted). */
PlaStatus pla_session_add_branch(PlaSession *self, const char *name, int64_t operation,
                                 PlaError *err);
PlaStatus pla_session_switch_branch(PlaSession *self, const char *name, PlaError *err);
PlaStatus pla_session_remove_branch(PlaSession *self, const char *name, PlaError *err);
PlaStatus pla_session_set_title(PlaSession *self, const char *title, PlaError *err);

/* Prunes the history; see pla_store_compact(). */
PlaStatus pla_session_compact(PlaSession *self, PlaProgress *progress, PlaError *err);

/* What running the whole log again gave. */
typedef struct {
  int n_operations;  /* run or, for imports, taken from the file */
  int n_equal;       /* led to the same state hash */
  int n_differ;      /* other hash, but written by another version or kernel variant */
  int n_failed;      /* other hash or an error although version and variant are the same */
  double largest_mm; /* largest difference of a mesh or of markers */
  PlaNotes notes;    /* a sentence for each difference */
} PlaReplay;
void pla_replay_clear(PlaReplay *replay);
/* Runs every operation of every branch again on imported originals, into a private temporary case.
 * The case is not changed. */
PlaStatus pla_session_replay(PlaSession *self, PlaProgress *progress, PlaReplay *out,
                             PlaError *err);

/* What `info` says of a case. */
typedef struct {
  char *title; /* g_free() */
  int n_volumes, n_labels, n_meshes, n_other;
  int n_operations; /* in the whole tree */
  int n_branches;
  uint64_t file_bytes;
} PlaCaseSummary;
PlaStatus pla_case_summary(const char *path, PlaCaseSummary *out, PlaError *err);
void pla_case_summary_clear(PlaCaseSummary *summary);

G_END_DECLS
