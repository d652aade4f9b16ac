/* A worker thread that follows the newest request.  A scene, a body on the operating table and a
 * body with muscles each implement the functions of Mover; shapes go to the main thread, at most
 * thirty a second. */
#include "app/verbs/live-solve.h"

#include "anatomy/base/memory.h"
#include "app/base/json.h"
#include "app/motion/active-item.h"
#include "app/simulate/simulation.h"
#include "app/surgery/surgery-body.h"
#include "app/verbs/verbs.h"
#include "sim/solve/pbng.h"
#include "sim/solve/solve.h"
#include "sim/surgery/surgery-live.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
  MAX_HOOKS = 64,
  BATCH_US = 30000,      /* between two shapes: thirty pictures a second */
  PATIENCE_SWEEPS = 4000 /* after which a body that does not come to rest is left alone */
};
#define REST_REL 2e-4 /* residual at which the eye sees no more motion */

/* what moves: a scene of "simulate", a body on the operating table, or one with muscles */
typedef struct {
  int n_verts; /* of the shape that is shown */
  void *data;
  void (*pull)(void *data, int hook, const double pull_mm[3]);
  PlaStatus (*pulled)(void *data, PlaError *err);       /* after all that were pulled */
  void (*steer)(void *data, const double *control);     /* NULL: has no muscles */
  PlaStatus (*sweep)(void *data, int n, PlaError *err); /* NULL: what was pulled is in equilibrium
                                                           already */
  double (*residual)(void *data);                       /* N */
  bool (*reached)(void *data);                          /* NULL: always */
  double (*force)(void *data);                          /* N; or NULL */
  void (*get)(void *data, double *pos);
  void (*free)(void *data);
} Mover;

struct PlaLive {
  PlaStatus (*prepare)(PlaLive *self, Mover *out, PlaError *err);
  gatomicrefcount refs; /* the caller, the thread, a call on its way */
  pthread_mutex_t lock; /* not a GMutex, which ThreadSanitizer cannot see through */
  pthread_cond_t wake;
  char *path;
  PlaState state;
  JsonObject *params;
  PlaContent *body;           /* or NULL */
  double at_mm[3];            /* of its hook */
  PlaContent *mesh, *muscles; /* or NULL */
  PlaProgress progress;       /* of one equilibrium: cancelled with all */
  GMainContext *context;

  /* under the lock */
  PlaLiveFunc func; /* NULL: stopped */
  void *data;
  double pull_mm[MAX_HOOKS][3];
  bool moved[MAX_HOOKS], any_moved;
  double *control; /* of muscles, not yet taken; or NULL */
  double *ready;   /* the newest shape, not yet shown; or NULL */
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
  g_clear_pointer(&self->params, json_object_unref);
  pla_content_unref(self->body);
  pla_content_unref(self->mesh);
  pla_content_unref(self->muscles);
  g_free(self->control);
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

/* ---- a scene of "simulate" ---- */

typedef struct {
  PlaSimulation *scene;
  PlaPbng *solver;
  double *target;
} SceneMover;

static void
scene_pull(void *data, int hook, const double pull_mm[3])
{
  SceneMover *self = data;
  pla_simulation_set_translation(self->scene, hook, pull_mm);
}

static PlaStatus
scene_pulled(void *data, PlaError *err)
{
  SceneMover *self = data;
  PlaFemConditions conditions = pla_simulation_conditions(self->scene, 1.0, self->target);
  pla_pbng_set_conditions(self->solver, &conditions);
  return PLA_OK;
}

static PlaStatus
scene_sweep(void *data, int n, PlaError *err)
{
  pla_pbng_sweep(((SceneMover *)data)->solver, n);
  return PLA_OK;
}

static double
scene_residual(void *data)
{
  return pla_pbng_residual(((SceneMover *)data)->solver);
}

static void
scene_get(void *data, double *pos)
{
  pla_pbng_get_positions(((SceneMover *)data)->solver, pos);
}

static void
scene_free(void *data)
{
  SceneMover *self = data;
  pla_pbng_free(self->solver);
  pla_simulation_free(self->scene);
  free(self->target);
  g_free(self);
}

/* the scene of the parameters, from the case file on a connection of this thread */
static PlaStatus
load_scene(PlaLive *self, PlaSimulation **scene, PlaError *err)
{
  PlaStore *store = NULL;
  PlaWork *work = NULL;
  PlaContent *mesh = NULL;
  PlaRequest request = { .verb = "simulate", .params = self->params };
  PlaStatus st = pla_store_open(self->path, &store, err);
  if (st == PLA_OK)
    st = pla_work_new(&request, store, &self->state, &work, err);
  if (st == PLA_OK)
    st = pla_verb_simulate_scene(work, &mesh, scene, err);
  pla_content_unref(mesh);
  pla_work_free(work);
  pla_store_close(store);
  return st;
}

static PlaStatus
prepare_scene(PlaLive *self, Mover *out, PlaError *err)
{
  SceneMover *mover = g_new0(SceneMover, 1);
  *out = (Mover){ .data = mover,
                  .pull = scene_pull,
                  .pulled = scene_pulled,
                  .sweep = scene_sweep,
                  .residual = scene_residual,
                  .get = scene_get,
                  .free = scene_free };
  PlaStatus st = load_scene(self, &mover->scene, err);
  if (st != PLA_OK)
    return st;
  const PlaFemModel *model = pla_simulation_get_model(mover->scene);
  PlaPbngOptions options = pla_pbng_options_default();
  out->n_verts = pla_fem_model_n_verts(model);
  mover->target = pla_array_new((size_t)out->n_verts, 3 * sizeof *mover->target);
  if (!mover->target)
    return pla_fail_memory(err, "the moving shape");
  PlaFemConditions conditions = pla_simulation_conditions(mover->scene, 1.0, mover->target);
  return pla_pbng_new(model, &conditions, &options, pla_fem_model_rest(model), &mover->solver, err);
}

/* ---- a body on the operating table ---- */

typedef struct {
  PlaSurgery *body;
  PlaSurgeryLive *live;
  double pull[3]; /* m */
} BodyMover;

static void
body_pull(void *data, int hook, const double pull_mm[3])
{
  BodyMover *self = data;
  for (int d = 0; d < 3; d++)
    self->pull[d] = pull_mm[d] / 1000.0;
}

static PlaStatus
body_pulled(void *data, PlaError *err)
{
  BodyMover *self = data;
  return pla_surgery_live_pull(self->live, self->pull, err);
}

static PlaStatus
body_sweep(void *data, int n, PlaError *err)
{
  return pla_surgery_live_sweep(((BodyMover *)data)->live, n, err);
}

static double
body_residual(void *data)
{
  return pla_surgery_live_residual(((BodyMover *)data)->live);
}

static double
body_force(void *data)
{
  return pla_surgery_live_force(((BodyMover *)data)->live);
}

static void
body_get(void *data, double *pos)
{
  pla_surgery_live_get_surface(((BodyMover *)data)->live, pos);
}

static void
body_free(void *data)
{
  BodyMover *self = data;
  pla_surgery_live_free(self->live);
  pla_surgery_free(self->body);
  g_free(self);
}

static PlaStatus
prepare_body(PlaLive *self, Mover *out, PlaError *err)
{
  BodyMover *mover = g_new0(BodyMover, 1);
  const double at[3] = { self->at_mm[0] / 1000.0, self->at_mm[1] / 1000.0,
                         self->at_mm[2] / 1000.0 };
  *out = (Mover){ .data = mover,
                  .pull = body_pull,
                  .pulled = body_pulled,
                  .sweep = body_sweep,
                  .residual = body_residual,
                  .force = body_force,
                  .get = body_get,
                  .free = body_free };
  PlaStatus st = pla_body_from_content(self->body, &mover->body, err);
  if (st == PLA_OK)
    st = pla_surgery_live_new(mover->body, at, &mover->live, err);
  if (st == PLA_OK)
    out->n_verts = pla_surgery_live_n_verts(mover->live);
  return st;
}

/* ---- a body moved by its muscles ---- */

#define POSE_TOLERANCE_M 2e-5 /* a fifth of what a screen shows */

typedef struct {
  PlaActiveBody *body;
  PlaActiveSolver *solver;
  PlaActiveState state;
  double *target;
  PlaProgress *progress;
  bool reached;
} PoseMover;

static void
pose_steer(void *data, const double *control)
{
  PoseMover *self = data;
  memcpy(self->target, control, (size_t)pla_active_n_controls(self->body->model) * sizeof *control);
}

/* The equilibrium of the newest activations, in smaller steps where one does not get there; or that
 * of as large a part of the way as there is one for. */
static PlaStatus
pose_solve(void *data, PlaError *err)
{
  const double smallest = 1.0 / 32.0;
  PoseMover *self = data;
  const PlaActiveModel *model = self->body->model;
  const size_t n = (size_t)pla_active_n_controls(model);
  g_autofree double *from = g_memdup2(self->state.control, n * sizeof *from);
  g_autofree double *goal = g_new(double, n + 1);
  PlaActiveState before = { 0 };
  double at = 0.0, step = 1.0;
  PlaStatus st = pla_active_state_init(&before, model, err);
  while (st == PLA_OK && at < 1.0 && step >= smallest) {
    PlaActiveReport report = { 0 };
    const double to = fmin(at + step, 1.0);
    for (size_t c = 0; c < n; c++)
      goal[c] = from[c] + to * (self->target[c] - from[c]);
    pla_active_state_copy(&before, model, &self->state);
    st = pla_active_solve(self->solver, goal, NULL, POSE_TOLERANCE_M, self->progress, &self->state,
                          &report, err);
    if (st == PLA_OK && report.converged) {
      at = to;
      continue;
    }
    if (st == PLA_ERR_CANCELLED || st == PLA_ERR_MEMORY)
      break;
    st = PLA_OK;
    step *= 0.5;
    pla_active_state_copy(&self->state, model, &before);
  }
  self->reached = at >= 1.0;
  pla_active_state_clear(&before);
  return st;
}

static double
pose_residual(void *data)
{
  return 0.0;
}

static bool
pose_reached(void *data)
{
  return ((PoseMover *)data)->reached;
}

static void
pose_get(void *data, double *pos)
{
  const PoseMover *self = data;
  memcpy(pos, self->state.pos, 3 * (size_t)self->body->mesh->n_verts * sizeof *pos);
}

static void
pose_free(void *data)
{
  PoseMover *self = data;
  pla_active_state_clear(&self->state);
  pla_active_solver_free(self->solver);
  pla_active_body_free(self->body);
  g_free(self->target);
  g_free(self);
}

static PlaStatus
prepare_pose(PlaLive *self, Mover *out, PlaError *err)
{
  const PlaActiveBodyOptions opts = pla_active_body_options_default();
  PoseMover *mover = g_new0(PoseMover, 1);
  *out = (Mover){ .data = mover,
                  .steer = pose_steer,
                  .pulled = pose_solve,
                  .residual = pose_residual,
                  .reached = pose_reached,
                  .get = pose_get,
                  .free = pose_free };
  mover->progress = &self->progress;
  mover->reached = true;
  PlaStatus st =
      pla_active_body_from_contents("body", self->mesh, self->muscles, &opts, &mover->body, err);
  if (st == PLA_OK)
    st = pla_active_solver_new(mover->body->model, &mover->solver, err);
  if (st == PLA_OK)
    st = pla_active_state_init(&mover->state, mover->body->model, err);
  if (st == PLA_OK) {
    out->n_verts = mover->body->mesh->n_verts;
    mover->target = g_new0(double, (size_t)pla_active_n_controls(mover->body->model) + 1);
  }
  return st;
}

/* ---- following ---- */

/* takes the newest pulls; false: stopped.  Sleeps while @idle and nothing has moved. */
static bool
take_pulls(PlaLive *self, Mover *mover, bool idle, bool *moved)
{
  pthread_mutex_lock(&self->lock);
  while (idle && self->func && !self->any_moved)
    pthread_cond_wait(&self->wake, &self->lock);
  *moved = self->any_moved;
  for (int h = 0; h < MAX_HOOKS; h++)
    if (self->moved[h]) {
      mover->pull(mover->data, h, self->pull_mm[h]);
      self->moved[h] = false;
    }
  if (self->control && mover->steer)
    mover->steer(mover->data, self->control);
  g_clear_pointer(&self->control, g_free);
  self->any_moved = false;
  bool go_on = self->func != NULL;
  pthread_mutex_unlock(&self->lock);
  return go_on;
}

static PlaStatus
follow(PlaLive *self, Mover *mover, PlaError *err)
{
  const size_t n = (size_t)mover->n_verts;
  PlaStatus st = PLA_OK;
  double scale = 0.0; /* N: the residual when the hooks last moved */
  int sweeps = 0;
  bool idle = false, moved = true;
  while (st == PLA_OK && take_pulls(self, mover, idle, &moved)) {
    if (moved) {
      st = mover->pulled(mover->data, err);
      sweeps = 0;
      scale = 0.0;
    }
    gint64 until = g_get_monotonic_time() + BATCH_US;
    while (st == PLA_OK && mover->sweep && (sweeps == 0 || g_get_monotonic_time() < until)) {
      st = mover->sweep(mover->data, 2, err);
      sweeps += 2;
    }
    double residual = mover->residual(mover->data);
    scale = fmax(scale, residual);
    idle = residual <= REST_REL * scale || sweeps > PATIENCE_SWEEPS;

    double *pos = st == PLA_OK ? pla_array_new(n, 3 * sizeof *pos) : NULL;
    if (!pos)
      return st == PLA_OK ? pla_fail_memory(err, "the moving shape") : st;
    mover->get(mover->data, pos);
    const double force = mover->force ? mover->force(mover->data) : 0.0;
    pthread_mutex_lock(&self->lock);
    free(self->ready);
    self->ready = pos;
    self->shape = (PlaLiveShape){ .n_verts = (int)n,
                                  .residual_rel = scale > 0.0 ? residual / scale : 0.0,
                                  .sweeps = sweeps,
                                  .force_n = force,
                                  .settled = idle,
                                  .reached = !mover->reached || mover->reached(mover->data) };
    send(self);
    pthread_mutex_unlock(&self->lock);
  }
  return st;
}

static void *
run(void *data)
{
  PlaLive *self = data;
  /* the picture goes before the solver: its threads give way to those that draw */
  setpriority(PRIO_PROCESS, (id_t)gettid(), 10);
  Mover mover = { 0 };
  PlaError err = { 0 };
  PlaStatus st = self->prepare(self, &mover, &err);
  if (st == PLA_OK)
    st = follow(self, &mover, &err);
  if (mover.data)
    mover.free(mover.data);
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

static PlaLive *
live_new(PlaStatus (*prepare)(PlaLive *, Mover *, PlaError *), PlaLiveFunc func, void *data)
{
  PlaLive *self = g_new0(PlaLive, 1);
  g_atomic_ref_count_init(&self->refs);
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->wake, NULL);
  self->prepare = prepare;
  pla_progress_init(&self->progress, NULL, NULL);
  self->context = g_main_context_ref_thread_default();
  self->func = func;
  self->data = data;
  return self;
}

/* begins, unless @st is a failure, which is then reported */
static PlaLive *
begin(PlaLive *self, PlaStatus st)
{
  pthread_t thread;
  g_atomic_ref_count_inc(&self->refs);
  if (st == PLA_OK && pthread_create(&thread, NULL, run, self) == 0) {
    pthread_detach(thread);
    return self;
  }
  live_unref(self);
  if (st == PLA_OK)
    pla_fail(&self->err, PLA_ERR_MEMORY,
             "the moving shape cannot be computed: no thread could be started");
  pthread_mutex_lock(&self->lock);
  self->failed = true;
  send(self);
  pthread_mutex_unlock(&self->lock);
  return self;
}

PlaLive *
pla_live_start(const char *path, const PlaState *state, const PlaRequest *request, PlaLiveFunc func,
               void *data)
{
  /* the worker reads it while the caller may change its own */
  g_autoptr(JsonNode) given = json_node_init_object(json_node_alloc(), request->params);
  g_autoptr(JsonNode) copy = pla_json_dup(given);
  PlaLive *self = live_new(prepare_scene, func, data);
  self->path = g_strdup(path);
  self->params = json_node_dup_object(copy);
  return begin(self, pla_state_dup(state, &self->state, &self->err));
}

PlaLive *
pla_live_start_body(PlaContent *body, const double at_mm[3], PlaLiveFunc func, void *data)
{
  PlaLive *self = live_new(prepare_body, func, data);
  self->body = pla_content_ref(body);
  memcpy(self->at_mm, at_mm, sizeof self->at_mm);
  return begin(self, PLA_OK);
}

PlaLive *
pla_live_start_pose(PlaContent *mesh, PlaContent *muscles, PlaLiveFunc func, void *data)
{
  PlaLive *self = live_new(prepare_pose, func, data);
  self->mesh = pla_content_ref(mesh);
  self->muscles = pla_content_ref(muscles);
  return begin(self, PLA_OK);
}

void
pla_live_pose(PlaLive *self, const double *control, int n)
{
  pthread_mutex_lock(&self->lock);
  g_free(self->control);
  self->control = g_memdup2(control, (size_t)n * sizeof *control);
  self->any_moved = true;
  pthread_cond_signal(&self->wake);
  pthread_mutex_unlock(&self->lock);
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
  pla_progress_cancel(&self->progress);
  pthread_cond_signal(&self->wake);
  pthread_mutex_unlock(&self->lock);
  live_unref(self);
}
