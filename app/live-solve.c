#include "app/live-solve.h"

#include "anatomy/base/memory.h"
#include "app/operations/operations.h"
#include "app/simulation.h"
#include "sim/fem/pbng.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
  MAX_HOOKS = 64,
  BATCH_US = 30000,     /* between two shapes: thirty pictures a second */
  PATIENCE_SWEEPS = 4000 /* after which a body that does not come to rest is left alone */
};
#define REST_REL 2e-4 /* residual at which the eye sees no more motion */

struct PlaLive {
  gatomicrefcount refs; /* the caller, the thread, a call on its way */
  pthread_mutex_t lock; /* not a GMutex, which ThreadSanitizer cannot see through */
  pthread_cond_t wake;
  char *path;
  PlaState state;
  JsonObject *params;
  GMainContext *context;

  /* under the lock */
  PlaLiveFunc func; /* NULL: stopped */
  void *data;
  double pull_mm[MAX_HOOKS][3];
  bool moved[MAX_HOOKS], any_moved;
  double *ready; /* the newest shape, not yet shown; or NULL */
  PlaLiveShape shape;
  PlaError err;
  bool failed, queued;

  double *shown; /* main thread: what the caller looks at */
};

static void
live_unref(gpointer data)
{
  PlaLive *self = data;
  if (!g_atomic_ref_count_dec(&self->refs))
    return;
  pthread_mutex_destroy(&self->lock);
  pthread_cond_destroy(&self->wake);
  g_free(self->path);
  pla_state_clear(&self->state);
  json_object_unref(self->params);
  g_main_context_unref(self->context);
  free(self->ready);
  free(self->shown);
  g_free(self);
}

/* on the main thread */
static gboolean
deliver(gpointer data)
{
  PlaLive *self = data;
  pthread_mutex_lock(&self->lock);
  PlaLiveFunc func = self->func;
  self->queued = false;
  if (self->ready) {
    free(self->shown);
    self->shown = g_steal_pointer(&self->ready);
  }
  PlaLiveShape shape = self->shape;
  bool failed = self->failed;
  pthread_mutex_unlock(&self->lock);
  shape.pos = self->shown;
  if (func && (failed || shape.pos))
    func(failed ? NULL : &shape, failed ? &self->err : NULL, self->data);
  return G_SOURCE_REMOVE;
}

/* with the lock held */
static void
send(PlaLive *self)
{
  if (self->queued || !self->func)
    return;
  self->queued = true;
  g_atomic_ref_count_inc(&self->refs);
  /* not g_main_context_invoke(): between two turns nobody owns the context, and that would run the
   * function here */
  GSource *source = g_idle_source_new();
  g_source_set_callback(source, deliver, self, live_unref);
  g_source_attach(source, self->context);
  g_source_unref(source);
}

/* the scene of the parameters, from the case file on a connection of this thread */
static PlaStatus
prepare(PlaLive *self, PlaSimulation **scene, PlaError *err)
{
  PlaStore *store = NULL;
  PlaWork *work = NULL;
  PlaContent *mesh = NULL;
  PlaRequest request = { .verb = "simulate", .params = self->params };
  PlaStatus st = pla_store_open(self->path, &store, err);
  if (st == PLA_OK)
    st = pla_work_new(&request, store, &self->state, &work, err);
  if (st == PLA_OK)
    st = pla_operation_simulate_scene(work, &mesh, scene, err);
  pla_content_unref(mesh);
  pla_work_free(work);
  pla_store_close(store);
  return st;
}

/* takes the newest pulls; false: stopped.  Sleeps while @idle and nothing has moved. */
static bool
take_pulls(PlaLive *self, PlaSimulation *scene, int n_hooks, bool idle, bool *moved)
{
  pthread_mutex_lock(&self->lock);
  while (idle && self->func && !self->any_moved)
    pthread_cond_wait(&self->wake, &self->lock);
  *moved = self->any_moved;
  for (int h = 0; h < n_hooks && h < MAX_HOOKS; h++)
    if (self->moved[h]) {
      pla_simulation_set_translation(scene, h, self->pull_mm[h]);
      self->moved[h] = false;
    }
  self->any_moved = false;
  bool go_on = self->func != NULL;
  pthread_mutex_unlock(&self->lock);
  return go_on;
}

static PlaStatus
follow(PlaLive *self, PlaSimulation *scene, PlaError *err)
{
  const PlaFemModel *model = pla_simulation_get_model(scene);
  const size_t n = (size_t)pla_fem_model_n_verts(model);
  const int n_hooks =
      (int)json_array_get_length(json_object_get_array_member(self->params, "hooks"));
  PlaPbngOptions options = pla_pbng_options_default();
  PlaPbng *solver = NULL;
  double *target = pla_array_new(n, 3 * sizeof *target);
  PlaStatus st = target ? PLA_OK : pla_fail_memory(err, "the moving shape");
  if (st == PLA_OK) {
    PlaFemConditions conditions = pla_simulation_conditions(scene, 1.0, target);
    st = pla_pbng_new(model, &conditions, &options, pla_fem_model_rest(model), &solver, err);
  }
  double scale = 0.0; /* N: the residual when the hooks last moved */
  int sweeps = 0;
  bool idle = false, moved = true;
  while (st == PLA_OK && take_pulls(self, scene, n_hooks, idle, &moved)) {
    if (moved) {
      PlaFemConditions conditions = pla_simulation_conditions(scene, 1.0, target);
      pla_pbng_set_conditions(solver, &conditions);
      sweeps = 0;
      scale = 0.0;
    }
    gint64 until = g_get_monotonic_time() + BATCH_US;
    do {
      pla_pbng_sweep(solver, 2);
      sweeps += 2;
    } while (g_get_monotonic_time() < until);
    double residual = pla_pbng_residual(solver);
    scale = fmax(scale, residual);
    idle = residual <= REST_REL * scale || sweeps > PATIENCE_SWEEPS;

    double *pos = pla_array_new(n, 3 * sizeof *pos);
    if (!pos) {
      st = pla_fail_memory(err, "the moving shape");
      break;
    }
    pla_pbng_get_positions(solver, pos);
    pthread_mutex_lock(&self->lock);
    free(self->ready);
    self->ready = pos;
    self->shape = (PlaLiveShape){ .n_verts = (int)n,
                                  .residual_rel = scale > 0.0 ? residual / scale : 0.0,
                                  .sweeps = sweeps,
                                  .settled = idle };
    send(self);
    pthread_mutex_unlock(&self->lock);
  }
  pla_pbng_free(solver);
  free(target);
  return st;
}

static void *
run(void *data)
{
  PlaLive *self = data;
  /* the picture goes before the solver: its threads give way to those that draw */
  setpriority(PRIO_PROCESS, (id_t)gettid(), 10);
  PlaSimulation *scene = NULL;
  PlaError err = { 0 };
  PlaStatus st = prepare(self, &scene, &err);
  if (st == PLA_OK)
    st = follow(self, scene, &err);
  pla_simulation_free(scene);
  pthread_mutex_lock(&self->lock);
  if (st != PLA_OK) {
    self->failed = true;
    self->err = err;
    send(self);
  }
  pthread_mutex_unlock(&self->lock);
  live_unref(self);
  return NULL;
}

PlaLive *
pla_live_start(const char *path, const PlaState *state, JsonObject *params, PlaLiveFunc func,
               void *data)
{
  PlaLive *self = g_new0(PlaLive, 1);
  pthread_t thread;
  g_atomic_ref_count_init(&self->refs);
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->wake, NULL);
  self->path = g_strdup(path);
  self->params = json_object_ref(params);
  self->context = g_main_context_ref_thread_default();
  self->func = func;
  self->data = data;
  PlaStatus st = pla_state_dup(state, &self->state, &self->err);
  g_atomic_ref_count_inc(&self->refs);
  if (st == PLA_OK && pthread_create(&thread, NULL, run, self) == 0) {
    pthread_detach(thread);
    return self;
  }
  live_unref(self);
  if (st == PLA_OK)
    pla_fail(&self->err, PLA_ERR_MEMORY, "the moving shape could not be computed: no more threads");
  pthread_mutex_lock(&self->lock);
  self->failed = true;
  send(self);
  pthread_mutex_unlock(&self->lock);
  return self;
}

void
pla_live_pull(PlaLive *self, int hook, const double pull_mm[3])
{
  if (hook < 0 || hook >= MAX_HOOKS)
    return;
  pthread_mutex_lock(&self->lock);
  memcpy(self->pull_mm[hook], pull_mm, sizeof self->pull_mm[hook]);
  self->moved[hook] = self->any_moved = true;
  pthread_cond_signal(&self->wake);
  pthread_mutex_unlock(&self->lock);
}

void
pla_live_stop(PlaLive *self)
{
  if (!self)
    return;
  pthread_mutex_lock(&self->lock);
  self->func = NULL;
  pthread_cond_signal(&self->wake);
  pthread_mutex_unlock(&self->lock);
  live_unref(self);
}
