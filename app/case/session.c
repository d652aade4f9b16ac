/* An open case: loads items through a cache, runs operations on a worker, and moves along the log
 * (undo, redo, branches).  One operation runs at a time. */
#include "app/case/session.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "app/base/error.h"
#include "app/case/case-check.h"
#include "app/case/content-cache.h"
#include "app/case/progress-relay.h"
#include "platysma-config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct _PlaSession {
  GObject parent_instance;
  PlaStore *store;
  char *title;
  PlaState state;
  PlaLog log;
  PlaBranches branches;
  int64_t data_version;
  bool busy;
  char *shortfall; /* of the last operation, or NULL */
  PlaContentCache cache;
};

enum {
  PROP_0,
  PROP_TITLE,
  PROP_PATH,
  PROP_BRANCH,
  PROP_CAN_UNDO,
  PROP_CAN_REDO,
  PROP_UNDO_TITLE,
  PROP_REDO_TITLE,
  PROP_BUSY,
  PROP_READ_ONLY_REASON,
  N_PROPS
};
static GParamSpec *props[N_PROPS];
static guint changed_signal;

G_DEFINE_FINAL_TYPE(PlaSession, pla_session, G_TYPE_OBJECT)

/* ---- the log as a tree -------------------------------------------------------------------- */

static const PlaBranch *
current_branch(const PlaSession *self)
{
  return &self->branches.branch[self->branches.current];
}

/* the operation that redo would do again: the one after head on the way to the tip, 0: none */
static int64_t
redo_operation(const PlaSession *self)
{
  const PlaBranch *branch = current_branch(self);
  const PlaLogRow *row = pla_log_find(&self->log, branch->tip);
  if (branch->tip == branch->head)
    return 0;
  while (row && row->parent != branch->head)
    row = pla_log_find(&self->log, row->parent);
  return row ? row->id : 0;
}

static char *
operation_title(const PlaSession *self, int64_t id)
{
  const PlaLogRow *row = pla_log_find(&self->log, id);
  return row ? pla_verb_describe(row) : NULL;
}

/* ---- GObject ------------------------------------------------------------------------------ */

static void
pla_session_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PlaSession *self = PLA_SESSION(object);
  switch (id) {
  case PROP_TITLE:
    g_value_set_string(value, self->title);
    break;
  case PROP_PATH:
    g_value_set_string(value, pla_session_get_path(self));
    break;
  case PROP_BRANCH:
    g_value_set_string(value, current_branch(self)->name);
    break;
  case PROP_CAN_UNDO:
    g_value_set_boolean(value, !self->busy && current_branch(self)->head != 0);
    break;
  case PROP_CAN_REDO:
    g_value_set_boolean(value, !self->busy && redo_operation(self) != 0);
    break;
  case PROP_UNDO_TITLE:
    g_value_take_string(value, operation_title(self, current_branch(self)->head));
    break;
  case PROP_REDO_TITLE:
    g_value_take_string(value, operation_title(self, redo_operation(self)));
    break;
  case PROP_BUSY:
    g_value_set_boolean(value, self->busy);
    break;
  case PROP_READ_ONLY_REASON:
    g_value_set_string(value, pla_session_get_read_only_reason(self));
    break;
  default:
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
  }
}

static void
pla_session_finalize(GObject *object)
{
  PlaSession *self = PLA_SESSION(object);
  pla_store_close(self->store);
  pla_state_clear(&self->state);
  pla_log_clear(&self->log);
  pla_branches_clear(&self->branches);
  pla_content_cache_clear(&self->cache);
  g_free(self->title);
  g_free(self->shortfall);
  G_OBJECT_CLASS(pla_session_parent_class)->finalize(object);
}

static void
pla_session_class_init(PlaSessionClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  const GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
  object_class->get_property = pla_session_get_property;
  object_class->finalize = pla_session_finalize;
  props[PROP_TITLE] = g_param_spec_string("title", NULL, NULL, NULL, flags);
  props[PROP_PATH] = g_param_spec_string("path", NULL, NULL, NULL, flags);
  props[PROP_BRANCH] = g_param_spec_string("branch", NULL, NULL, NULL, flags);
  props[PROP_CAN_UNDO] = g_param_spec_boolean("can-undo", NULL, NULL, FALSE, flags);
  props[PROP_CAN_REDO] = g_param_spec_boolean("can-redo", NULL, NULL, FALSE, flags);
  props[PROP_UNDO_TITLE] = g_param_spec_string("undo-title", NULL, NULL, NULL, flags);
  props[PROP_REDO_TITLE] = g_param_spec_string("redo-title", NULL, NULL, NULL, flags);
  props[PROP_BUSY] = g_param_spec_boolean("busy", NULL, NULL, FALSE, flags);
  props[PROP_READ_ONLY_REASON] = g_param_spec_string("read-only-reason", NULL, NULL, NULL, flags);
  g_object_class_install_properties(object_class, N_PROPS, props);
  changed_signal = g_signal_new("changed", PLA_TYPE_SESSION, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                G_TYPE_NONE, 0);
}

static void
pla_session_init(PlaSession *self)
{
  pla_content_cache_init(&self->cache);
}

static void
notify_undo(PlaSession *self)
{
  static const int depend[] = { PROP_BRANCH,     PROP_CAN_UNDO,   PROP_CAN_REDO,
                                PROP_UNDO_TITLE, PROP_REDO_TITLE, PROP_TITLE };
  for (size_t i = 0; i < G_N_ELEMENTS(depend); i++)
    g_object_notify_by_pspec(G_OBJECT(self), props[depend[i]]);
}

static void
emit_changed(PlaSession *self)
{
  g_object_freeze_notify(G_OBJECT(self));
  notify_undo(self);
  g_object_thaw_notify(G_OBJECT(self));
  g_signal_emit(self, changed_signal, 0);
}

/* ---- reading the file --------------------------------------------------------------------- */

/* what the file says now, or nothing changed */
static PlaStatus
reload(PlaSession *self, PlaError *err)
{
  PlaLog log = { 0 };
  PlaBranches branches = { 0 };
  PlaState state = { 0 };
  char *title = NULL;
  int64_t version = 0;
  PlaStatus st = pla_store_data_version(self->store, &version, err);
  if (st == PLA_OK)
    st = pla_store_read_log(self->store, &log, err);
  if (st == PLA_OK)
    st = pla_store_read_branches(self->store, &branches, err);
  if (st == PLA_OK)
    st = pla_store_read_state(self->store, branches.branch[branches.current].head, &state, err);
  if (st == PLA_OK)
    st = pla_store_dup_title(self->store, &title, err);
  if (st != PLA_OK) {
    pla_log_clear(&log);
    pla_branches_clear(&branches);
    pla_state_clear(&state);
    return st;
  }
  pla_log_clear(&self->log);
  pla_branches_clear(&self->branches);
  pla_state_clear(&self->state);
  g_free(self->title);
  self->log = log;
  self->branches = branches;
  self->state = state;
  self->title = g_utf8_make_valid(title, -1);
  self->data_version = version;
  free(title);
  pla_content_cache_trim(&self->cache, &self->state);
  return PLA_OK;
}

/* takes @store */
static PlaStatus
session_new(PlaStore *store, PlaSession **out, PlaError *err)
{
  PlaSession *self = g_object_new(PLA_TYPE_SESSION, NULL);
  self->store = store;
  PlaStatus st = reload(self, err);
  if (st == PLA_OK)
    *out = self;
  else
    g_object_unref(self);
  return st;
}

PlaStatus
pla_session_create(const char *path, const char *title, PlaSession **out, PlaError *err)
{
  PlaStore *store;
  *out = NULL;
  g_autofree char *valid = g_utf8_make_valid(title ? title : "", -1);
  PlaStatus st = pla_store_create(path, valid, &store, err);
  return st == PLA_OK ? session_new(store, out, err) : st;
}

PlaStatus
pla_session_open(const char *path, PlaSession **out, PlaError *err)
{
  PlaStore *store;
  *out = NULL;
  PlaStatus st = pla_store_open(path, &store, err);
  if (st != PLA_OK)
    return st;
  /* a mend that fails (another program writes) is tried again the next time; nothing depends on it
   */
  PlaError ignored;
  int64_t n_mended;
  pla_case_mend(store, &n_mended, &ignored);
  return session_new(store, out, err);
}

PlaStatus
pla_session_save_as(const char *path, const char *to, const char *title, PlaProgress *progress,
                    PlaSession **out, PlaError *err)
{
  PlaStore *store;
  *out = NULL;
  PlaStatus st = pla_store_open(path, &store, err);
  if (st != PLA_OK)
    return st;
  st = pla_store_save_copy(store, to, progress, err);
  pla_store_close(store);
  if (st != PLA_OK)
    return st;
  st = pla_session_open(to, out, err);
  if (st == PLA_OK)
    st = pla_session_set_title(*out, title, err);
  if (st != PLA_OK) {
    g_clear_object(out);
    unlink(to);
  }
  return st;
}

const char *
pla_session_get_path(PlaSession *self)
{
  return pla_store_get_path(self->store);
}

const char *
pla_session_get_title(PlaSession *self)
{
  return self->title;
}

const char *
pla_session_get_read_only_reason(PlaSession *self)
{
  return pla_store_get_read_only_reason(self->store);
}

const PlaState *
pla_session_get_state(PlaSession *self)
{
  return &self->state;
}

const PlaLog *
pla_session_get_log(PlaSession *self)
{
  return &self->log;
}

const PlaBranches *
pla_session_get_branches(PlaSession *self)
{
  return &self->branches;
}

int64_t
pla_session_get_head(PlaSession *self)
{
  return current_branch(self)->head;
}

PlaStore *
pla_session_get_store(PlaSession *self)
{
  return self->store;
}

PlaStatus
pla_session_refresh(PlaSession *self, PlaError *err)
{
  int64_t version;
  PlaStatus st = pla_store_data_version(self->store, &version, err);
  if (st != PLA_OK || version == self->data_version)
    return st;
  st = reload(self, err);
  if (st == PLA_OK)
    emit_changed(self);
  return st;
}

static const PlaStateItem *
item_of(PlaSession *self, int64_t item, PlaError *err)
{
  const PlaStateItem *found = pla_state_find(&self->state, item);
  if (!found)
    pla_fail(err, PLA_ERR_USAGE, "the item is not in the case any more");
  return found;
}

PlaStatus
pla_session_load(PlaSession *self, int64_t item, PlaProgress *progress, PlaContent **out,
                 PlaError *err)
{
  *out = NULL;
  const PlaStateItem *found = item_of(self, item, err);
  if (!found)
    return PLA_ERR_USAGE;
  *out = pla_content_cache_find(&found->hash, &self->cache);
  if (*out)
    return PLA_OK;
  PlaStatus st = pla_content_load(self->store, &found->hash, progress, out, err);
  if (st == PLA_OK)
    pla_content_cache_add(&found->hash, *out, &self->cache);
  return st;
}

PlaContent *
pla_session_peek(PlaSession *self, const PlaHash *hash)
{
  return pla_content_cache_find(hash, &self->cache);
}

PlaStatus
pla_session_load_slices(PlaSession *self, int64_t item, int first, int n, void *out, PlaError *err)
{
  const PlaStateItem *found = item_of(self, item, err);
  if (!found)
    return PLA_ERR_USAGE;
  PlaBundle bundle;
  PlaStatus st = pla_store_read_bundle(self->store, &found->hash, &bundle, err);
  if (st != PLA_OK)
    return st;
  const PlaStoreArray *voxels = NULL;
  for (int a = 0; a < bundle.n_arrays; a++)
    if (strcmp(bundle.array[a].name, "voxels") == 0 && bundle.array[a].n_dims == 4)
      voxels = &bundle.array[a];
  if (!voxels || first < 0 || n < 1 || (uint64_t)first + (uint64_t)n > voxels->shape[2]) {
    st = pla_fail(err, PLA_ERR_USAGE, "'%s' has no slices %d to %d", found->name, first,
                  first + n - 1);
  } else {
    size_t slice = voxels->shape[0] * voxels->shape[1] * pla_dtype_size(voxels->dtype);
    st = pla_store_read_array(self->store, &voxels->hash, slice * (uint64_t)first,
                              slice * (size_t)n, out, NULL, err);
  }
  pla_bundle_clear(&bundle, false);
  return st;
}

/* ---- operations --------------------------------------------------------------------------- */

static const PlaBranch *
find_branch(const PlaBranches *branches, const char *name)
{
  for (int b = 0; b < branches->n; b++)
    if (strcmp(branches->branch[b].name, name) == 0)
      return &branches->branch[b];
  return NULL;
}

/* a name like "main 2" that no branch has */
static char *
free_branch_name(const PlaBranches *branches, const char *name)
{
  for (int i = 2;; i++) {
    char *candidate = g_strdup_printf("%s %d", name, i);
    if (!find_branch(branches, candidate))
      return candidate;
    g_free(candidate);
  }
}

/* One request on its way: made on the main thread, run on any, finished on the main thread. */
typedef struct {
  PlaRequest request; /* owns its parts */
  PlaStore *store;
  PlaContentCache *cache;
  PlaState state; /* what it works on */
  int64_t base;   /* the operation that `state` is after */
  char *branch;
  PlaProgress *progress;
  int64_t operation; /* result */
  char *shortfall;   /* of the result, or NULL */
} Job;

static void
job_clear(Job *job)
{
  g_free((char *)job->request.verb);
  g_free((char *)job->request.source);
  g_clear_pointer(&job->request.params, json_object_unref);
  pla_state_clear(&job->state);
  g_free(job->branch);
  g_free(job->shortfall);
}

static PlaStatus
job_init(Job *job, PlaSession *self, const PlaRequest *request, PlaProgress *progress,
         PlaError *err)
{
  PlaStatus st = pla_session_refresh(self, err);
  *job = (Job){ .store = self->store,
                .cache = &self->cache,
                .base = current_branch(self)->head,
                .branch = g_strdup(current_branch(self)->name),
                .progress = progress };
  job->request = *request;
  job->request.verb = g_strdup(request->verb);
  job->request.source = g_strdup(request->source);
  job->request.params = request->params ? json_object_ref(request->params) : NULL;
  if (st == PLA_OK && pla_session_get_read_only_reason(self))
    st = pla_fail(err, PLA_ERR_IO, "%s", pla_session_get_read_only_reason(self));
  if (st == PLA_OK)
    st = pla_state_dup(&self->state, &job->state, err);
  return st;
}

/* Finds where the result goes: on top of the branch as it is now when what was read is still the
 * same there, else on a new branch from where the work began. */
static PlaStatus
choose_parent(Job *job, const PlaWork *work, int64_t *parent, PlaState *state, PlaError *err)
{
  PlaBranches branches;
  PlaStatus st = pla_store_read_branches(job->store, &branches, err);
  if (st != PLA_OK)
    return st;
  const PlaBranch *branch = find_branch(&branches, job->branch);
  *parent = branch ? branch->head : job->base;
  st = pla_store_read_state(job->store, *parent, state, err);
  if (st == PLA_OK && *parent != job->base && !pla_work_fits(work, state)) {
    pla_state_clear(state);
    *parent = job->base;
    st = pla_store_read_state(job->store, *parent, state, err);
    char *name = free_branch_name(&branches, job->branch);
    g_free(job->branch);
    job->branch = name;
  }
  pla_branches_clear(&branches);
  return st;
}

/* the work and its transaction; any thread */
static PlaStatus
job_run(Job *job, PlaError *err)
{
  PlaWork *work = NULL;
  PlaProgress *progress = job->progress;
  pla_progress_phase(progress, "Working", 0.7);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = pla_work_run(&job->request, job->store, &job->state, pla_content_cache_find,
                              job->cache, progress, &work, err);
  pla_progress_pop(progress, span);
  if (st != PLA_OK)
    return st;

  pla_progress_phase(progress, "Storing", 1.0);
  span = pla_progress_push(progress);
  st = pla_store_begin(job->store, err);
  if (st == PLA_OK) {
    int64_t parent = 0;
    PlaState state = { 0 };
    st = choose_parent(job, work, &parent, &state, err);
    if (st == PLA_OK)
      st = pla_work_write(work, job->store, parent, &state, progress, &job->operation, err);
    if (st == PLA_OK)
      st = pla_store_set_branch(job->store, job->branch, job->operation, job->operation, err);
    if (st == PLA_OK)
      st = pla_store_set_current_branch(job->store, job->branch, err);
    if (st == PLA_OK)
      st = pla_store_commit(job->store, err);
    else
      pla_store_rollback(job->store);
    pla_state_clear(&state);
  }
  pla_progress_pop(progress, span);
  if (st == PLA_OK) {
    pla_work_foreach_result(work, pla_content_cache_add, job->cache);
    job->shortfall = g_strdup(pla_work_get_shortfall(work));
  }
  pla_work_free(work);
  return st;
}

static void
take_shortfall(PlaSession *self, Job *job)
{
  g_free(self->shortfall);
  self->shortfall = g_steal_pointer(&job->shortfall);
}

const char *
pla_session_get_shortfall(PlaSession *self)
{
  return self->shortfall;
}

static PlaStatus
refuse_while_busy(PlaSession *self, PlaError *err)
{
  return self->busy ? pla_fail(err, PLA_ERR_USAGE,
                               "another operation is running; wait for it or stop it first")
                    : PLA_OK;
}

PlaStatus
pla_session_run(PlaSession *self, const PlaRequest *request, PlaProgress *progress,
                int64_t *operation, PlaError *err)
{
  Job job;
  PlaStatus st = refuse_while_busy(self, err);
  if (st != PLA_OK)
    return st;
  st = job_init(&job, self, request, progress, err);
  if (st == PLA_OK)
    st = job_run(&job, err);
  if (st == PLA_OK) {
    take_shortfall(self, &job);
    st = reload(self, err);
    emit_changed(self);
  }
  if (operation)
    *operation = st == PLA_OK ? job.operation : 0;
  job_clear(&job);
  return st;
}

/* ---- without blocking --------------------------------------------------------------------- */

typedef struct {
  Job job;
  PlaProgress token;
  PlaProgressRelay *relay;
  gulong cancel_handler;
} AsyncJob;

static void
async_job_free(gpointer data)
{
  AsyncJob *async = data;
  job_clear(&async->job);
  pla_progress_relay_unref(async->relay);
  g_free(async);
}

static void
on_cancelled(GCancellable *cancellable, gpointer data)
{
  pla_progress_cancel(data);
}

/* GTask hands the job over safely, but with locks that ThreadSanitizer cannot see: this one it can
 */
static void
hand_over(void)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
}

static void
run_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  AsyncJob *async = data;
  PlaError err = { 0 };
  GError *error = NULL;
  hand_over();
  PlaStatus st = job_run(&async->job, &err);
  hand_over();
  if (st == PLA_OK) {
    g_task_return_boolean(task, TRUE);
  } else {
    pla_error_to_gerror(&err, &error);
    g_task_return_error(task, error);
  }
}

static void
set_busy(PlaSession *self, bool busy)
{
  self->busy = busy;
  g_object_notify_by_pspec(G_OBJECT(self), props[PROP_BUSY]);
  notify_undo(self);
}

/* on the main thread, before the caller's callback */
static void
on_task_done(GObject *source, GAsyncResult *result, gpointer data)
{
  PlaSession *self = PLA_SESSION(source);
  GTask *outer = data;
  hand_over();
  AsyncJob *async = g_task_get_task_data(G_TASK(result));
  g_autoptr(GError) error = NULL;
  gboolean done = g_task_propagate_boolean(G_TASK(result), &error);
  GCancellable *cancellable = g_task_get_cancellable(outer);
  if (async->cancel_handler)
    g_cancellable_disconnect(cancellable, async->cancel_handler);
  pla_progress_relay_close(async->relay);
  set_busy(self, false);
  if (done) {
    PlaError err = { 0 };
    take_shortfall(self, &async->job);
    if (reload(self, &err) != PLA_OK)
      pla_error_to_gerror(&err, &error);
    emit_changed(self);
  }
  if (error) {
    g_task_return_error(outer, g_steal_pointer(&error));
  } else {
    int64_t *operation = g_new(int64_t, 1);
    *operation = async->job.operation;
    g_task_return_pointer(outer, operation, g_free);
  }
  g_object_unref(outer);
}

void
pla_session_run_async(PlaSession *self, const PlaRequest *request, GCancellable *cancellable,
                      PlaProgressFunc progress, gpointer progress_data,
                      GAsyncReadyCallback callback, gpointer user_data)
{
  /* the outer task answers the caller after the session has taken the result in; a result that is
   * on disk is told even when the request to stop came too late */
  GTask *outer = g_task_new(self, cancellable, callback, user_data);
  g_task_set_check_cancellable(outer, FALSE);
  g_task_set_source_tag(outer, pla_session_run_async);
  AsyncJob *async = g_new0(AsyncJob, 1);
  async->relay = pla_progress_relay_new(progress, progress_data);
  pla_progress_init(&async->token, progress ? pla_progress_relay_take : NULL, async->relay);

  PlaError err = { 0 };
  PlaStatus st = refuse_while_busy(self, &err);
  if (st == PLA_OK)
    st = job_init(&async->job, self, request, &async->token, &err);
  if (st != PLA_OK) {
    GError *error = NULL;
    pla_error_to_gerror(&err, &error);
    g_task_return_error(outer, error);
    g_object_unref(outer);
    async_job_free(async);
    return;
  }
  set_busy(self, true);
  GTask *inner = g_task_new(self, NULL, on_task_done, outer);
  g_task_set_task_data(inner, async, async_job_free);
  if (cancellable)
    async->cancel_handler =
        g_cancellable_connect(cancellable, G_CALLBACK(on_cancelled), &async->token, NULL);
  hand_over();
  g_task_run_in_thread(inner, run_in_thread);
  g_object_unref(inner);
}

gboolean
pla_session_run_finish(PlaSession *self, GAsyncResult *result, int64_t *operation, GError **error)
{
  g_return_val_if_fail(g_task_is_valid(result, self), FALSE);
  g_autofree int64_t *id = g_task_propagate_pointer(G_TASK(result), error);
  if (operation)
    *operation = id ? *id : 0;
  return id != NULL;
}

/* ---- undo, redo, branches ----------------------------------------------------------------- */

/* begins a small change of the log's pointers, seeing what other programs did before */
static PlaStatus
begin_move(PlaSession *self, PlaError *err)
{
  PlaStatus st = refuse_while_busy(self, err);
  if (st == PLA_OK)
    st = pla_store_begin(self->store, err);
  if (st == PLA_OK) {
    st = reload(self, err);
    if (st != PLA_OK)
      pla_store_rollback(self->store);
  }
  return st;
}

static PlaStatus
end_move(PlaSession *self, PlaStatus st, PlaError *err)
{
  if (st == PLA_OK)
    st = pla_store_commit(self->store, err);
  else
    pla_store_rollback(self->store);
  PlaError ignored;
  PlaStatus reloaded = reload(self, st == PLA_OK ? err : &ignored);
  emit_changed(self);
  return st == PLA_OK ? reloaded : st;
}

static PlaStatus
move_head(PlaSession *self, bool back, PlaError *err)
{
  PlaStatus st = begin_move(self, err);
  if (st != PLA_OK)
    return st;
  const PlaBranch *branch = current_branch(self);
  const PlaLogRow *row = pla_log_find(&self->log, back ? branch->head : redo_operation(self));
  if (!row)
    st = pla_fail(err, PLA_ERR_EMPTY, "there is nothing to %s on branch '%s'",
                  back ? "undo" : "redo", branch->name);
  else
    st = pla_store_set_branch(self->store, branch->name, back ? row->parent : row->id, branch->tip,
                              err);
  return end_move(self, st, err);
}

PlaStatus
pla_session_undo(PlaSession *self, PlaError *err)
{
  return move_head(self, true, err);
}

PlaStatus
pla_session_redo(PlaSession *self, PlaError *err)
{
  return move_head(self, false, err);
}

/* whether @operation (0: before all) is on the way to the tip of @branch */
static bool
branch_has(const PlaSession *self, const PlaBranch *branch, int64_t operation)
{
  const PlaLogRow *row = pla_log_find(&self->log, branch->tip);
  while (row && row->id != operation)
    row = pla_log_find(&self->log, row->parent);
  return row || operation == 0;
}

PlaStatus
pla_session_go_to(PlaSession *self, int64_t operation, PlaError *err)
{
  PlaStatus st = begin_move(self, err);
  if (st != PLA_OK)
    return st;
  const PlaBranch *branch = current_branch(self);
  for (int b = 0; !branch_has(self, branch, operation) && b < self->branches.n; b++)
    if (branch_has(self, &self->branches.branch[b], operation))
      branch = &self->branches.branch[b];
  if (operation != 0 && !pla_log_find(&self->log, operation)) {
    st = pla_fail(err, PLA_ERR_USAGE, "there is no operation %lld in the history",
                  (long long)operation);
  } else if (branch_has(self, branch, operation)) {
    st = pla_store_set_branch(self->store, branch->name, operation, branch->tip, err);
    if (st == PLA_OK)
      st = pla_store_set_current_branch(self->store, branch->name, err);
  } else {
    /* undone and worked on otherwise since: it gets a branch to stand on */
    g_autofree char *name = free_branch_name(&self->branches, branch->name);
    st = pla_store_set_branch(self->store, name, operation, operation, err);
    if (st == PLA_OK)
      st = pla_store_set_current_branch(self->store, name, err);
  }
  return end_move(self, st, err);
}

PlaStatus
pla_session_add_branch(PlaSession *self, const char *name, int64_t operation, PlaError *err)
{
  PlaStatus st = begin_move(self, err);
  if (st != PLA_OK)
    return st;
  int64_t at = operation >= 0 ? operation : current_branch(self)->head;
  if (!*name || !g_utf8_validate(name, -1, NULL))
    st = pla_fail(err, PLA_ERR_USAGE, "a branch needs a name");
  else if (find_branch(&self->branches, name))
    st = pla_fail(err, PLA_ERR_USAGE, "there is a branch '%s' already; choose another name", name);
  else if (at != 0 && !pla_log_find(&self->log, at))
    st = pla_fail(err, PLA_ERR_USAGE,
                  "there is no operation %lld; 'platysma-cli case log' lists them", (long long)at);
  if (st == PLA_OK)
    st = pla_store_set_branch(self->store, name, at, at, err);
  if (st == PLA_OK)
    st = pla_store_set_current_branch(self->store, name, err);
  return end_move(self, st, err);
}

static PlaStatus
fail_no_branch(const char *name, PlaError *err)
{
  return pla_fail(err, PLA_ERR_USAGE,
                  "there is no branch '%s'; 'platysma-cli case list' shows them", name);
}

PlaStatus
pla_session_switch_branch(PlaSession *self, const char *name, PlaError *err)
{
  PlaStatus st = begin_move(self, err);
  if (st != PLA_OK)
    return st;
  st = find_branch(&self->branches, name) ? pla_store_set_current_branch(self->store, name, err)
                                          : fail_no_branch(name, err);
  return end_move(self, st, err);
}

PlaStatus
pla_session_remove_branch(PlaSession *self, const char *name, PlaError *err)
{
  PlaStatus st = begin_move(self, err);
  if (st != PLA_OK)
    return st;
  if (!find_branch(&self->branches, name))
    st = fail_no_branch(name, err);
  else if (strcmp(current_branch(self)->name, name) == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "'%s' is the current branch; go to another one first", name);
  else
    st = pla_store_remove_branch(self->store, name, err);
  return end_move(self, st, err);
}

PlaStatus
pla_session_set_title(PlaSession *self, const char *title, PlaError *err)
{
  PlaStatus st = begin_move(self, err);
  if (st != PLA_OK)
    return st;
  g_autofree char *valid = g_utf8_make_valid(title, -1);
  return end_move(self, pla_store_set_title(self->store, valid, err), err);
}

PlaStatus
pla_session_compact(PlaSession *self, PlaProgress *progress, PlaError *err)
{
  PlaStatus st = refuse_while_busy(self, err);
  if (st == PLA_OK)
    st = pla_store_compact(self->store, PLA_VERSION, pla_kernels_text(), progress, err);
  PlaError ignored;
  PlaStatus reloaded = reload(self, st == PLA_OK ? err : &ignored);
  emit_changed(self);
  return st == PLA_OK ? reloaded : st;
}
