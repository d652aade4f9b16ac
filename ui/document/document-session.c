/* The case of a document: its items, its operations, opening and closing it. */
#include "ui/document/document-private.h"

#include "app/content/content.h"
#include "app/content/files.h"
#include "app/content/made.h"
#include "app/show/picture.h"
#include "app/surgery/surgery-body.h"
#include "ui/document/unsaved.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>

/* the body to operate on, or the last mesh */
static PlaWanted *
last_shape(GPtrArray *items)
{
  PlaWanted *body = pla_document_last_of(items, PLA_ITEM_BODY);
  return body ? body : pla_document_last_of(items, PLA_ITEM_MESH);
}

/* Which labels differ between two maps of one frame; NULL where the frames differ.  */
static gboolean *
compare_labels(const PlaImage *before, const PlaImage *after)
{
  const PlaVolume *a = before ? before->labels->volume : NULL, *b = after->labels->volume;
  if (!a || memcmp(a->dims, b->dims, sizeof a->dims) != 0 ||
      memcmp(a->affine_mm, b->affine_mm, sizeof a->affine_mm) != 0)
    return NULL;
  gboolean *changed = g_new0(gboolean, 65536);
  const size_t n = pla_volume_n_voxels(a);
  gboolean outline = FALSE;
  for (size_t v = 0; v < n; v++) {
    int x = pla_label_map_get(before->labels, v), y = pla_label_map_get(after->labels, v);
    if (x != y) {
      changed[x] = changed[y] = TRUE;
      outline = outline || x == 0 || y == 0;
    }
  }
  /* skin is drawn as the outline of the whole body */
  for (int i = 0; i < after->labels->table.n; i++) {
    const PlaLabel *label = &after->labels->table.label[i];
    if (pla_surface_look_for(label).finish == PLA_FINISH_SKIN)
      changed[label->id] = outline;
  }
  return changed;
}

/* on a connection of its own: the session's belongs to the main thread */
static PlaStatus
read_items(gpointer data, PlaProgress *progress, PlaError *err)
{
  PlaDocumentWork *work = data;
  PlaStore *store = NULL;
  PlaStatus st = pla_store_open(work->path, &store, err);
  for (guint i = 0; st == PLA_OK && i < work->wanted->len; i++) {
    PlaWanted *wanted = work->wanted->pdata[i];
    if (!pla_progress_phase(progress, "Reading the case", (i + 1.0) / work->wanted->len))
      st = pla_fail_cancelled(err);
    PlaProgressSpan span = pla_progress_push(progress);
    if (st == PLA_OK && !wanted->content)
      st = pla_content_load(store, &wanted->hash, progress, &wanted->content, err);
    pla_progress_pop(progress, span);
  }
  pla_store_close(store);
  PlaWanted *volume = pla_document_last_of(work->wanted, PLA_ITEM_VOLUME);
  PlaWanted *labels = pla_document_last_of(work->wanted, PLA_ITEM_LABELS);
  if (st == PLA_OK && volume && !pla_image_is_of(work->volume, volume->content))
    work->new_volume = pla_image_new(volume->content);
  if (st == PLA_OK && labels && !pla_image_is_of(work->labels, labels->content)) {
    work->new_labels = pla_image_new(labels->content);
    work->changed = compare_labels(work->labels, work->new_labels);
  }
  return st;
}

static void
hide_named(PlaEntry *entry, gpointer data)
{
  if (strcmp(pla_entry_get_name(entry), data) == 0)
    pla_entry_set_visible(entry, FALSE);
}

static void
hide_mesh(PlaEntry *entry, gpointer data)
{
  if (pla_entry_get_kind(entry) == PLA_ENTRY_MESH)
    pla_entry_set_visible(entry, FALSE);
}

/* a body in 3-D is seen through neither its own tissues nor what it was before */
static void
clear_view_for(PlaDocument *self, PlaEntry *entry)
{
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  const PlaMade made = pla_content_get_made(pla_entry_get_content(entry));
  const gboolean body = strcmp(pla_entry_get_content(entry)->kind, PLA_ITEM_BODY) == 0;
  if (made.compared) {
    pla_document_foreach(self, hide_named, (gpointer)made.compared);
    pla_document_foreach(self, hide_named, (gpointer)made.compared_with);
    pla_entry_set_field(entry, pla_field_view_find("deviation"), 0.0, 0.0);
    return;
  }
  if (mesh->n_tets + mesh->n_hexes == 0 && !body)
    return;
  if (body) {
    pla_document_foreach(self, hide_mesh, NULL);
    pla_entry_set_label(entry, 0, PLA_FINISH_SKIN);
    pla_entry_set_field(entry, pla_field_view_find("tissue"), 0.0, 1.0);
  }
  if (made.simulated)
    pla_document_foreach(self, hide_named, (gpointer)made.simulated);
  GListModel *tissues =
      self->labels_group ? G_LIST_MODEL(pla_entry_get_children(self->labels_group)) : NULL;
  for (guint i = 0; tissues && i < g_list_model_get_n_items(tissues); i++) {
    g_autoptr(PlaEntry) tissue = g_list_model_get_item(tissues, i);
    if (pla_entry_get_finish(tissue) != PLA_FINISH_BONE)
      pla_entry_set_visible(tissue, FALSE);
  }
  if (made.simulated)
    pla_entry_set_field(entry, pla_field_view_find("stretch"), 0.0, 0.0);
}

/* brings the list of meshes to @items; those that stay keep their looks */
static void
show_meshes(PlaDocument *self, GPtrArray *items, gboolean at_once)
{
  g_autoptr(GPtrArray) keep = g_ptr_array_new();
  GListStore *list = self->meshes_group ? pla_entry_get_children(self->meshes_group) : NULL;
  for (guint i = 0; list && i < g_list_model_get_n_items(G_LIST_MODEL(list));) {
    g_autoptr(PlaEntry) entry = g_list_model_get_item(G_LIST_MODEL(list), i);
    PlaWanted *same = NULL;
    for (guint k = 0; k < items->len && !same; k++) {
      PlaWanted *wanted = items->pdata[k];
      if (strcmp(wanted->name, pla_entry_get_name(entry)) != 0)
        continue;
      if (wanted->content == pla_entry_get_content(entry)) {
        same = wanted;
      } else if (strcmp(wanted->kind, PLA_ITEM_BODY) == 0 &&
                 wanted->item == pla_entry_get_item(entry)) {
        /* what a tool has changed is still the same body */
        same = wanted;
        double lo = 0.0, hi = 0.0;
        const PlaFieldView *field = pla_entry_get_field(entry);
        pla_entry_get_values(entry, &lo, &hi);
        pla_entry_set_content(entry, wanted->item, wanted->content);
        pla_document_describe_mesh(entry, wanted->content->mesh);
        pla_entry_set_field(entry, field, lo, hi);
        g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_SHAPE_CHANGED], 0, entry);
      }
    }
    if (same) {
      g_ptr_array_add(keep, same);
      i++;
    } else {
      pla_document_remove_shape(entry, self);
      g_list_store_remove(list, i);
    }
  }
  for (guint i = 0; i < items->len; i++) {
    PlaWanted *wanted = items->pdata[i];
    if (!pla_item_kind_has_mesh(wanted->kind) || g_ptr_array_find(keep, wanted, NULL))
      continue;
    PlaEntry *parent = pla_document_group(self, &self->meshes_group, _("Meshes"));
    g_autoptr(PlaEntry) entry = pla_document_new_mesh(self, wanted->content->mesh, wanted->name);
    pla_entry_set_content(entry, wanted->item, wanted->content);
    /* of a case just opened the newest body is shown; a specimen would hide the wound it left */
    if (pla_content_get_made(wanted->content).specimen || (at_once && wanted != last_shape(items)))
      pla_entry_set_visible(entry, FALSE);
    else
      clear_view_for(self, entry);
    g_list_store_append(pla_entry_get_children(parent), entry);
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_SHAPE_CHANGED], 0, entry);
  }
}

static void
drop_labels(PlaDocument *self)
{
  if (self->labels_group) {
    GListStore *children = pla_entry_get_children(self->labels_group);
    for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(children)); i++) {
      g_autoptr(PlaEntry) entry = g_list_model_get_item(G_LIST_MODEL(children), i);
      pla_document_remove_shape(entry, self);
    }
    g_list_store_remove_all(children);
  }
  g_clear_pointer(&self->labels, pla_image_unref);
  pla_label_table_clear(&self->overlay);
}

static void
on_items(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  PlaDocumentWork *work = data;
  PlaDocument *self = work->document;
  if (work->serial == self->serial && pla_document_finish(job, work, status, err)) {
    gboolean first = pla_document_is_empty(self);
    /* at once, so that nobody sees tissues without their name in the case */
    g_autoptr(GPtrArray) shown = g_steal_pointer(&self->shown);
    self->shown = g_ptr_array_ref(work->wanted);
    PlaWanted *volume = pla_document_last_of(work->wanted, PLA_ITEM_VOLUME);
    if (!volume) {
      g_clear_pointer(&self->volume, pla_image_unref);
      if (self->volumes_group)
        g_list_store_remove_all(pla_entry_get_children(self->volumes_group));
    } else if (work->new_volume) {
      pla_document_show_volume(self, g_steal_pointer(&work->new_volume), volume->name);
    }
    PlaWanted *labels = pla_document_last_of(work->wanted, PLA_ITEM_LABELS);
    PlaWanted *before = pla_document_last_of(shown, PLA_ITEM_LABELS);
    /* a map of its own does not look like the one that was shown before it */
    const gboolean other = labels && before && labels->item != before->item;
    if (!labels)
      drop_labels(self);
    else if (work->new_labels)
      pla_document_show_labels(self, g_steal_pointer(&work->new_labels),
                               other ? NULL : work->changed);
    show_meshes(self, work->wanted, first);
    if (first) {
      pla_document_centre_cursor(self);
      g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_RESET], 0);
    }
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_SLICES_CHANGED], 0);
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_CURSOR_CHANGED], 0);
  }
  pla_document_retire_job(self, job);
}

/* brings the views to the session's state */
static void
on_session_changed(PlaDocument *self)
{
  const PlaState *state = pla_session_get_state(self->session);
  PlaDocumentWork *work = pla_document_work_new(self);
  work->path = g_strdup(pla_session_get_path(self->session));
  work->serial = ++self->serial;
  work->wanted = g_ptr_array_new_with_free_func(pla_wanted_free);
  for (int i = 0; i < state->n; i++) {
    const PlaStateItem *item = &state->item[i];
    if (strcmp(item->kind, PLA_ITEM_VOLUME) != 0 && strcmp(item->kind, PLA_ITEM_LABELS) != 0 &&
        !pla_item_kind_has_mesh(item->kind))
      continue;
    PlaWanted *wanted = g_new0(PlaWanted, 1);
    wanted->item = item->item;
    wanted->hash = item->hash;
    wanted->kind = g_strdup(item->kind);
    wanted->name = g_strdup(item->name);
    for (guint k = 0; self->shown && k < self->shown->len; k++) {
      PlaWanted *old = self->shown->pdata[k];
      if (pla_hash_equal(&old->hash, &wanted->hash) && !wanted->content)
        wanted->content = pla_content_ref(old->content);
    }
    /* what an operation has just made need not be read back */
    if (!wanted->content)
      wanted->content = pla_session_peek(self->session, &item->hash);
    g_ptr_array_add(work->wanted, wanted);
  }
  pla_annotations_update(self->annotations, self->session);
  pla_document_start(self, _("Reading the case"), read_items, on_items, work);
  g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_HISTORY_CHANGED], 0);
}

static void
on_session_notify(PlaDocument *self)
{
  g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_HISTORY_CHANGED], 0);
}

/* Every two seconds: what the command line does to the case shows by itself.  Asking costs a few
 * microseconds; while this program writes, its answer would have to wait. */
static gboolean
look_for_changes(gpointer data)
{
  PlaDocument *self = data;
  gboolean busy;
  PlaError ignored; /* a file that cannot be read now is said when something is done to it */
  g_object_get(self->session, "busy", &busy, NULL);
  if (!busy)
    pla_session_refresh(self->session, &ignored);
  return G_SOURCE_CONTINUE;
}

/* with what is shown as it is */
static void
follow_session(PlaDocument *self, PlaSession *session, int lock)
{
  self->session = session;
  self->lock = lock;
  g_signal_connect_object(session, "changed", G_CALLBACK(on_session_changed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(session, "notify", G_CALLBACK(on_session_notify), self,
                          G_CONNECT_SWAPPED);
  g_clear_handle_id(&self->look, g_source_remove);
  self->look = g_timeout_add_seconds(2, look_for_changes, self);
  pla_document_set_title(self, pla_session_get_title(session));
  on_session_changed(self);
}

/* An unsaved case that was given up, or that holds nothing, is deleted; any other stays. */
static void
let_session_go(PlaDocument *self)
{
  g_autofree char *gone = NULL;
  if (pla_document_get_unsaved(self) && (self->forsaken || !pla_document_holds_unsaved(self)))
    gone = g_strdup(pla_session_get_path(self->session));
  g_clear_handle_id(&self->look, g_source_remove);
  if (self->session)
    g_signal_handlers_disconnect_by_data(self->session, self);
  g_clear_object(&self->session);
  if (gone)
    pla_unsaved_discard(gone);
  pla_unsaved_unlock(self->lock);
  self->lock = -1;
  self->forsaken = FALSE;
}

static void
take_session(PlaDocument *self, PlaSession *session, int lock)
{
  pla_document_close(self);
  const char *reason = pla_session_get_read_only_reason(session);
  follow_session(self, session, lock);
  if (reason)
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_FAILED], 0, reason);
}

gboolean
pla_document_get_unsaved(PlaDocument *self)
{
  return self->session && pla_unsaved_is(pla_session_get_path(self->session));
}

gboolean
pla_document_holds_unsaved(PlaDocument *self)
{
  return pla_document_get_unsaved(self) && pla_session_get_log(self->session)->n > 0;
}

void
pla_document_forsake(PlaDocument *self, gboolean forsaken)
{
  self->forsaken = forsaken;
}

/* an operation on its way: waiting for its turn, or at work */
typedef struct {
  PlaDocument *document;
  PlaSession *session;
  PlaJob *job;
  GCancellable *cancellable;
  PlaVerbValues *values; /* NULL: the case is saved as @source */
  char *source;
  PlaDocumentDone done; /* or NULL */
  GWeakRef owner;
  PlaJob *inner;   /* what looks at the file, or saves */
  gboolean looked; /* the file is known to be a scan or a map of tissues */
  gboolean labels;
  PlaSession *saved;
} Running;

static void
running_free(Running *running)
{
  g_object_unref(running->job);
  g_clear_object(&running->inner);
  g_clear_object(&running->saved);
  g_object_unref(running->session);
  g_object_unref(running->document);
  g_object_unref(running->cancellable);
  g_clear_object(&running->values);
  g_free(running->source);
  g_weak_ref_clear(&running->owner);
  g_free(running);
}

static void
on_run_progress(const char *phase, double fraction, void *data)
{
  Running *running = data;
  pla_job_report(running->job, phase, fraction);
}

static void next_operation(PlaDocument *self);

/* tells whoever asked, or everybody, how it went; see PlaDocumentDone */
static void
answer(Running *running, const char *failure)
{
  g_autoptr(GObject) owner = g_weak_ref_get(&running->owner);
  if (running->done && owner)
    running->done(owner, failure);
  else if (failure && *failure && running->document->session == running->session)
    g_signal_emit(running->document, pla_document_signals[PLA_DOCUMENT_FAILED], 0, failure);
}

static void
on_run(GObject *source, GAsyncResult *result, gpointer data)
{
  Running *running = data;
  PlaDocument *self = running->document;
  g_autoptr(GError) error = NULL;
  pla_session_run_finish(PLA_SESSION(source), result, NULL, &error);
  answer(running, !error                                                     ? NULL
                  : g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED) ? ""
                                                                             : error->message);
  next_operation(self);
  pla_document_retire_job(self, running->job);
  running_free(running);
}

static void
end_running(Running *running, const char *failure)
{
  PlaDocument *self = running->document;
  answer(running, failure);
  pla_document_retire_job(self, running->job);
  running_free(running);
}

/* @work by a worker while nothing else may start; then @done */
static void
start_inner(Running *running, const char *phase, PlaJobWork work, PlaJobDone done)
{
  running->document->occupied = TRUE;
  pla_job_report(running->job, phase, 0.0);
  running->inner = pla_job_start(pla_job_get_title(running->job), work, done, running, NULL);
  g_signal_connect_object(running->cancellable, "cancelled", G_CALLBACK(pla_job_cancel),
                          running->inner, G_CONNECT_SWAPPED);
}

/* Of a file of volumes nothing but its voxels tells whether it is a map of tissues. */
static PlaStatus
look_at_file(gpointer data, PlaProgress *progress, PlaError *err)
{
  Running *running = data;
  bool labels = false;
  PlaStatus st = pla_file_holds_labels(running->source, progress, &labels, err);
  running->labels = labels;
  return st;
}

static void
on_looked(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Running *running = data;
  PlaDocument *self = running->document;
  self->occupied = FALSE;
  running->looked = TRUE;
  if (status == PLA_OK && running->session == self->session) {
    if (running->labels)
      pla_verb_values_set_text(running->values, "as", "labels");
    g_queue_push_head(&self->queue, running);
    next_operation(self);
    return;
  }
  end_running(running, status == PLA_OK || status == PLA_ERR_CANCELLED ? "" : err->message);
  next_operation(self);
}

/* "head" of "/tmp/head.platysma"; g_free() */
static char *
title_of(const char *path)
{
  char *title = g_path_get_basename(path);
  if (g_str_has_suffix(title, ".platysma"))
    title[strlen(title) - strlen(".platysma")] = '\0';
  return title;
}

static PlaStatus
save_session(gpointer data, PlaProgress *progress, PlaError *err)
{
  Running *running = data;
  g_autofree char *title = title_of(running->source);
  return pla_session_save_as(pla_session_get_path(running->session), running->source, title,
                             progress, &running->saved, err);
}

/* nothing was done to the case while it was copied */
static gboolean
is_same(PlaSession *a, PlaSession *b)
{
  const PlaBranches *x = pla_session_get_branches(a), *y = pla_session_get_branches(b);
  gboolean same = pla_session_get_log(a)->n == pla_session_get_log(b)->n && x->n == y->n &&
                  x->current == y->current;
  for (int i = 0; same && i < x->n; i++)
    same = x->branch[i].head == y->branch[i].head && x->branch[i].tip == y->branch[i].tip &&
           strcmp(x->branch[i].name, y->branch[i].name) == 0;
  return same;
}

static void
on_saved(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Running *running = data;
  PlaDocument *self = running->document;
  self->occupied = FALSE;
  if (status == PLA_OK && running->session == self->session &&
      !is_same(running->session, running->saved)) {
    /* undone or redone meanwhile: once more */
    g_clear_object(&running->saved);
    g_clear_object(&running->inner);
    g_unlink(running->source);
    g_queue_push_head(&self->queue, running);
    next_operation(self);
    return;
  }
  if (status == PLA_OK && running->session == self->session) {
    for (GList *l = self->queue.head; l; l = l->next) {
      Running *waiting = l->data;
      if (waiting->session == self->session)
        g_set_object(&waiting->session, running->saved);
    }
    self->forsaken = TRUE; /* it is where the user said now */
    let_session_go(self);
    follow_session(self, g_steal_pointer(&running->saved), -1);
  }
  end_running(running, status == PLA_OK ? NULL : status == PLA_ERR_CANCELLED ? "" : err->message);
  next_operation(self);
}

/* one at a time: each works on what the last one left */
static void
next_operation(PlaDocument *self)
{
  for (;;) {
    Running *running = g_queue_peek_head(&self->queue);
    gboolean busy = FALSE;
    if (!running || self->occupied)
      return;
    if (g_cancellable_is_cancelled(running->cancellable) || running->session != self->session) {
      g_queue_pop_head(&self->queue);
      end_running(running, "");
      continue;
    }
    g_object_get(running->session, "busy", &busy, NULL);
    if (busy)
      return;
    g_queue_pop_head(&self->queue);
    if (!running->values) {
      start_inner(running, _("Saving the case"), save_session, on_saved);
      return;
    }
    if (running->source && !running->looked && pla_file_may_hold_labels(running->source)) {
      start_inner(running, _("Looking at the file"), look_at_file, on_looked);
      return;
    }
    PlaRequest request = pla_verb_values_get_request(running->values);
    request.source = running->source;
    pla_session_run_async(running->session, &request, running->cancellable, on_run_progress,
                          running, on_run, running);
    return;
  }
}

void
pla_document_run_operation(PlaDocument *self, const char *title, PlaVerbValues *values,
                           const char *source, PlaDocumentDone done, GObject *owner)
{
  Running *running = g_new0(Running, 1);
  running->done = done;
  g_weak_ref_init(&running->owner, owner);
  running->document = g_object_ref(self);
  running->session = g_object_ref(self->session);
  running->cancellable = g_cancellable_new();
  running->job = pla_job_new_watched(title, running->cancellable);
  running->values = values ? pla_verb_values_dup(values) : NULL;
  running->source = g_strdup(source);
  pla_job_report(running->job, _("Waiting for its turn"), 0.0);
  g_list_store_append(self->jobs, running->job);
  g_queue_push_tail(&self->queue, running);
  next_operation(self);
}

gboolean
pla_document_run(PlaDocument *self, const char *title, PlaVerbValues *values)
{
  return pla_document_run_for(self, title, values, NULL, NULL);
}

gboolean
pla_document_run_for(PlaDocument *self, const char *title, PlaVerbValues *values,
                     PlaDocumentDone done, GObject *owner)
{
  if (!self->session)
    return FALSE;
  pla_document_run_operation(self, title, values, NULL, done, owner);
  return TRUE;
}

PlaSession *
pla_document_get_session(PlaDocument *self)
{
  return self->session;
}

void
pla_document_undo(PlaDocument *self)
{
  PlaError err;
  if (self->session && pla_session_undo(self->session, &err) != PLA_OK)
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_FAILED], 0, err.message);
}

void
pla_document_redo(PlaDocument *self)
{
  PlaError err;
  if (self->session && pla_session_redo(self->session, &err) != PLA_OK)
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_FAILED], 0, err.message);
}

void
pla_document_go_to(PlaDocument *self, int64_t operation)
{
  PlaError err;
  if (self->session && pla_session_go_to(self->session, operation, &err) != PLA_OK)
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_FAILED], 0, err.message);
}

/* a case may take a while to open: its log is read and checked */
static PlaStatus
open_session(gpointer data, PlaProgress *progress, PlaError *err)
{
  PlaDocumentWork *work = data;
  return pla_session_open(work->path, &work->session, err);
}

static void
on_session_open(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  PlaDocumentWork *work = data;
  PlaDocument *self = work->document;
  if (pla_document_finish(job, work, status, err)) {
    take_session(self, g_steal_pointer(&work->session), work->lock);
    work->lock = -1;
  } else {
    self->forsaken = FALSE; /* it is still open */
  }
  pla_document_retire_job(self, job);
}

void
pla_document_create(PlaDocument *self, const char *path)
{
  PlaSession *session = NULL;
  PlaError err;
  g_autofree char *title = title_of(path);
  if (pla_session_create(path, title, &session, &err) == PLA_OK) {
    take_session(self, session, -1);
  } else {
    self->forsaken = FALSE;
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_FAILED], 0, err.message);
  }
}

void
pla_document_save_as(PlaDocument *self, const char *path, PlaDocumentDone done, GObject *owner)
{
  if (!self->session)
    return;
  g_autofree char *base = g_path_get_basename(path);
  g_autofree char *title = g_strdup_printf(_("Saving %s"), base);
  pla_document_run_operation(self, title, NULL, path, done, owner);
}

static void
open_case(PlaDocument *self, const char *title, const char *path)
{
  int lock = -1;
  if (pla_unsaved_is(path)) {
    lock = pla_unsaved_lock(path);
    if (lock < 0) {
      g_autofree char *name = title_of(path);
      g_autofree char *text =
          g_strdup_printf(_("The unsaved case %s is open in another window; save it there first"),
                          name);
      g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_FAILED], 0, text);
      self->forsaken = FALSE;
      return;
    }
  }
  PlaDocumentWork *work = pla_document_work_new(self);
  work->path = g_strdup(path);
  work->lock = lock;
  pla_document_start(self, title, open_session, on_session_open, work);
}

/* "ct-head" of "/scans/ct-head.nii.gz"; folders of DICOM files often bear the name of a patient */
static char *
scan_title(const char *path)
{
  if (g_file_test(path, G_FILE_TEST_IS_DIR))
    return g_strdup(_("scan"));
  char *name = g_path_get_basename(path);
  for (int i = 0; i < 2; i++) {
    char *dot = strrchr(name, '.');
    if (dot && dot != name && strlen(dot) <= 6)
      *dot = '\0';
  }
  return name;
}

/* a file that cannot be read leaves no empty case behind */
static void
on_first_import(gpointer owner, const char *failure)
{
  PlaDocument *self = owner;
  if (!failure)
    return;
  g_autofree char *sentence = g_strdup(failure);
  if (pla_document_get_unsaved(self) && !pla_document_holds_unsaved(self) &&
      g_queue_is_empty(&self->queue))
    pla_document_close(self);
  if (*sentence)
    g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_FAILED], 0, sentence);
}

void
pla_document_open(PlaDocument *self, const char *path)
{
  g_autofree char *base = g_path_get_basename(path);
  g_autofree char *opening = g_strdup_printf(_("Opening %s"), base);
  if (g_str_has_suffix(path, ".platysma")) {
    open_case(self, opening, path);
    return;
  }
  const gboolean first = self->session == NULL;
  if (first) {
    PlaSession *session = NULL;
    PlaError err;
    int lock;
    g_autofree char *title = scan_title(path);
    if (pla_unsaved_create(title, &session, &lock, &err) != PLA_OK) {
      g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_FAILED], 0, err.message);
      return;
    }
    take_session(self, session, lock);
  }
  g_autoptr(PlaVerbValues) values = pla_verb_values_new("import");
  pla_document_run_operation(self, opening, values, path, first ? on_first_import : NULL,
                             first ? G_OBJECT(self) : NULL);
}

void
pla_document_close(PlaDocument *self)
{
  self->generation++;
  self->making = NULL;
  let_session_go(self);
  g_clear_pointer(&self->shown, g_ptr_array_unref);
  for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(self->jobs)); i++) {
    g_autoptr(PlaJob) job = g_list_model_get_item(G_LIST_MODEL(self->jobs), i);
    pla_job_cancel(job);
  }
  next_operation(self);
  pla_document_foreach(self, pla_document_remove_shape, self);
  self->volumes_group = self->labels_group = self->meshes_group = NULL;
  pla_annotations_update(self->annotations, NULL);
  g_list_store_remove_all(self->tree);
  g_clear_pointer(&self->volume, pla_image_unref);
  g_clear_pointer(&self->labels, pla_image_unref);
  pla_label_table_clear(&self->overlay);
  pla_document_set_title(self, NULL);
  g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_HISTORY_CHANGED], 0);
  g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_RESET], 0);
  g_signal_emit(self, pla_document_signals[PLA_DOCUMENT_SLICES_CHANGED], 0);
}

gboolean
pla_document_is_empty(PlaDocument *self)
{
  return !self->volume && !self->labels && !self->meshes_group;
}
