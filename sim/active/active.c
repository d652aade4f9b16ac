/* Equilibria of an active model and their derivatives.
 *
 * Steps are Newton's with whatever factor is at hand, K_old dx = f(x), and Anderson's extrapolation
 * of them.  When they no longer gain, the tangent at the newest shape is factored.  A vertex that
 * the jaw moves takes the flesh along as it would in a linear body first, so that no element
 * between bone and flesh turns over. */
#include "sim/active/active.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/solve/solve.h"
#include "sim/solve/system.h"

#include <assert.h>
#include <lapack.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_STEPS = 60,
  PATIENCE = 5,       /* steps that need not halve the error, before a new factor pays, */
  MIXED_PATIENCE = 8, /* where a factor costs more: the face at 9 mm takes 15 % less time */
  MEMORY = 5,         /* steps that the next is made from */
  MAX_HALVINGS = 6,   /* of a step that leads astray, and of a way to new controls */
};

struct PlaActiveModel {
  PlaFemModel *fem;
  int n_muscles, n_controls, n_verts;
  char **muscle;
  unsigned char *hold;  /* n_verts */
  unsigned char *fixed; /* n_verts x 3 */
  bool has_jaw;
  PlaJaw jaw;
  int *fibre_cell;               /* cell of each fibre */
  int *muscle_start, *by_muscle; /* fibres of each muscle */
};

void
pla_active_model_free(PlaActiveModel *self)
{
  if (!self)
    return;
  for (int m = 0; self->muscle && m < self->n_muscles; m++)
    free(self->muscle[m]);
  free(self->muscle);
  pla_fem_model_free(self->fem);
  free(self->hold);
  free(self->fixed);
  free(self->fibre_cell);
  free(self->muscle_start);
  free(self->by_muscle);
  free(self);
}

/* fibres by muscle */
static PlaStatus
index_parts(PlaActiveModel *self, const PlaActiveParts *parts, PlaError *err)
{
  const int n_tets = parts->mesh->n_tets, n_fibres = parts->fibre_start[n_tets];
  self->fibre_cell = pla_array_new((size_t)n_fibres, sizeof *self->fibre_cell);
  self->muscle_start = pla_array_new0((size_t)self->n_muscles + 2, sizeof *self->muscle_start);
  self->by_muscle = pla_array_new((size_t)n_fibres, sizeof *self->by_muscle);
  if (!self->fibre_cell || !self->muscle_start || !self->by_muscle)
    return pla_fail_memory(err, "the muscles");
  for (int t = 0; t < n_tets; t++)
    for (int k = parts->fibre_start[t]; k < parts->fibre_start[t + 1]; k++)
      self->fibre_cell[k] = t;
  for (int k = 0; k < n_fibres; k++)
    self->muscle_start[parts->fibre_muscle[k] + 2]++;
  for (int m = 0; m < self->n_muscles; m++)
    self->muscle_start[m + 2] += self->muscle_start[m + 1];
  for (int k = 0; k < n_fibres; k++)
    self->by_muscle[self->muscle_start[parts->fibre_muscle[k] + 1]++] = k;
  return PLA_OK;
}

PlaStatus
pla_active_model_new(const PlaActiveParts *parts, PlaActiveModel **out, PlaError *err)
{
  const size_t nv = (size_t)parts->mesh->n_verts;
  PlaActiveModel *self = pla_array_new0(1, sizeof *self);
  int *material = pla_array_new0((size_t)parts->mesh->n_tets, sizeof *material);
  *out = NULL;
  if (!self || !material) {
    free(self);
    free(material);
    return pla_fail_memory(err, "the muscles");
  }
  self->n_muscles = parts->n_muscles;
  self->n_verts = parts->mesh->n_verts;
  self->has_jaw = parts->jaw != NULL;
  if (parts->jaw)
    self->jaw = *parts->jaw;
  self->n_controls = self->n_muscles + (parts->jaw ? PLA_JAW_DOFS : 0);
  self->muscle = pla_array_new0((size_t)self->n_muscles + 1, sizeof *self->muscle);
  self->hold = pla_array_dup(parts->hold, nv, 1);
  self->fixed = pla_array_new(nv, 3);
  bool enough = self->muscle && self->hold && self->fixed;
  for (int m = 0; enough && m < self->n_muscles; m++)
    enough = (self->muscle[m] = pla_strdup(parts->muscle[m])) != NULL;
  for (size_t v = 0; enough && v < nv; v++) {
    assert(parts->jaw || parts->hold[v] != PLA_HOLD_JAW);
    memset(self->fixed + 3 * v, parts->hold[v] != PLA_HOLD_FREE, 3);
  }
  PlaStatus st = enough ? index_parts(self, parts, err) : pla_fail_memory(err, "the muscles");
  if (st == PLA_OK)
    st = pla_fem_model_new(parts->mesh, parts->flesh, 1, material, parts->formulation, &self->fem,
                           err);
  const PlaFemCells cells = { .fibre_start = parts->fibre_start,
                              .fibre = parts->fibre,
                              .overlap = parts->overlap,
                              .muscle = parts->fibre_muscle,
                              .n_muscles = parts->n_muscles };
  if (st == PLA_OK)
    st = pla_fem_model_set_cells(self->fem, &cells, err);
  if (st == PLA_OK)
    st = pla_fem_check_held(self->fem, self->fixed, err);
  free(material);
  if (st == PLA_OK)
    *out = self;
  else
    pla_active_model_free(self);
  return st;
}

int
pla_active_n_muscles(const PlaActiveModel *self)
{
  return self->n_muscles;
}

int
pla_active_n_controls(const PlaActiveModel *self)
{
  return self->n_controls;
}

int
pla_active_n_verts(const PlaActiveModel *self)
{
  return self->n_verts;
}

const char *
pla_active_muscle_name(const PlaActiveModel *self, int m)
{
  return self->muscle[m];
}

const PlaJaw *
pla_active_jaw(const PlaActiveModel *self)
{
  return self->has_jaw ? &self->jaw : NULL;
}

const PlaFemModel *
pla_active_fem(const PlaActiveModel *self)
{
  return self->fem;
}

const unsigned char *
pla_active_hold(const PlaActiveModel *self)
{
  return self->hold;
}

int
pla_active_find_muscle(const PlaActiveModel *self, const char *name)
{
  for (int m = 0; m < self->n_muscles; m++)
    if (strcmp(self->muscle[m], name) == 0)
      return m;
  return -1;
}

void
pla_active_limits(const PlaActiveModel *self, double *lo, double *hi)
{
  for (int m = 0; m < self->n_muscles; m++) {
    lo[m] = 0.0;
    hi[m] = 1.0;
  }
  if (self->has_jaw)
    pla_jaw_limits(&self->jaw, lo + self->n_muscles, hi + self->n_muscles);
}

void
pla_active_place(const PlaActiveModel *self, const double *control, double *pos)
{
  double rotation[9], shift[3];
  const double *rest = self->fem->rest;
  if (self->has_jaw)
    pla_jaw_pose(&self->jaw, control + self->n_muscles, rotation, shift);
  for (size_t v = 0; v < (size_t)self->n_verts; v++) {
    if (self->hold[v] == PLA_HOLD_CRANIUM)
      memcpy(pos + 3 * v, rest + 3 * v, 3 * sizeof *pos);
    if (self->hold[v] != PLA_HOLD_JAW)
      continue;
    pla_mat3_apply(rotation, rest + 3 * v, pos + 3 * v);
    for (size_t d = 0; d < 3; d++)
      pos[3 * v + d] += shift[d];
  }
}

void
pla_active_muscle_force(const PlaActiveModel *self, int m, const double *pos, double *force)
{
  const PlaFemModel *fem = self->fem;
  memset(force, 0, 3 * (size_t)self->n_verts * sizeof *force);
  for (int i = self->muscle_start[m]; i < self->muscle_start[m + 1]; i++) {
    const int k = self->by_muscle[i], t = self->fibre_cell[k];
    const double *constants;
    const PlaMaterial *material = pla_fem_cell_law(fem, t, &constants);
    PlaPoint point = { 0 };
    double p[9], grad[4][3];
    pla_fem_tet_gradient(fem, t, pos, point.f);
    pla_fem_cell_point(fem, t, &point);
    material->active_stress(constants, &point, k - fem->fibre_start[t], p);
    pla_fem_tet_shape(fem, t, grad);
    const double scale = fem->tet_volume[t] * fem->overlap[k];
    for (size_t a = 0; a < 4; a++) {
      double *f = force + 3 * (size_t)fem->tet[4 * (size_t)t + a];
      for (int d = 0; d < 3; d++)
        f[d] -= scale * pla_vec3_dot(p + 3 * d, grad[a]);
    }
  }
}

PlaStatus
pla_active_state_init(PlaActiveState *self, const PlaActiveModel *model, PlaError *err)
{
  self->control = pla_array_new0((size_t)model->n_controls, sizeof *self->control);
  self->pos = pla_array_dup(model->fem->rest, 3 * (size_t)model->n_verts, sizeof *self->pos);
  if (self->control && self->pos)
    return PLA_OK;
  pla_active_state_clear(self);
  return pla_fail_memory(err, "the body's shape");
}

void
pla_active_state_clear(PlaActiveState *self)
{
  free(self->control);
  free(self->pos);
  *self = (PlaActiveState){ 0 };
}

void
pla_active_state_copy(PlaActiveState *self, const PlaActiveModel *model, const PlaActiveState *from)
{
  memcpy(self->control, from->control, (size_t)model->n_controls * sizeof *self->control);
  memcpy(self->pos, from->pos, 3 * (size_t)model->n_verts * sizeof *self->pos);
}

/* ---- solving ---- */

struct PlaActiveSolver {
  const PlaActiveModel *model;
  PlaFemModel *fem; /* the model's, with activations of its own */
  PlaFemSystem system;
  bool factored;
  double *force, *trial, *target; /* n_verts x 3 */
  double *residual, *step;        /* block arrays, as are the rest: */
  double *dx[MEMORY], *dd[MEMORY], *last_x, *last_d;
  int n_memory;
  bool has_last;
  double *pos;            /* n_verts x 3 */
  double *control, *from; /* n_controls */
};

void
pla_active_solver_free(PlaActiveSolver *self)
{
  if (!self)
    return;
  pla_fem_system_clear(&self->system);
  pla_fem_model_free(self->fem);
  free(self->force);
  free(self->trial);
  free(self->target);
  free(self->residual);
  free(self->step);
  for (int j = 0; j < MEMORY; j++) {
    free(self->dx[j]);
    free(self->dd[j]);
  }
  free(self->last_x);
  free(self->last_d);
  free(self->control);
  free(self->from);
  free(self->pos);
  free(self);
}

PlaStatus
pla_active_solver_new(const PlaActiveModel *model, PlaActiveSolver **out, PlaError *err)
{
  const size_t n = 3 * (size_t)model->n_verts;
  const PlaFemConditions conditions = { .fixed = model->fixed, .target = model->fem->rest };
  PlaActiveSolver *self = pla_array_new0(1, sizeof *self);
  *out = NULL;
  if (!self)
    return pla_fail_memory(err, "the solver");
  self->model = model;
  PlaStatus st = pla_fem_model_share(model->fem, &self->fem, err);
  if (st == PLA_OK)
    st = pla_fem_system_init(&self->system, self->fem, &conditions, NULL, err);
  if (st == PLA_OK) {
    const size_t n_free = 3 * (size_t)self->system.n_blocks;
    self->force = pla_array_new(n, sizeof *self->force);
    self->trial = pla_array_new(n, sizeof *self->trial);
    self->target = pla_array_new(n, sizeof *self->target);
    self->residual = pla_array_new(n_free, sizeof *self->residual);
    self->step = pla_array_new(n_free, sizeof *self->step);
    self->last_x = pla_array_new(n_free, sizeof *self->last_x);
    self->last_d = pla_array_new(n_free, sizeof *self->last_d);
    bool enough = self->last_x && self->last_d;
    for (int j = 0; j < MEMORY; j++) {
      self->dx[j] = pla_array_new(n_free, sizeof *self->dx[j]);
      self->dd[j] = pla_array_new(n_free, sizeof *self->dd[j]);
      enough &= self->dx[j] && self->dd[j];
    }
    self->pos = pla_array_new(n, sizeof *self->pos);
    self->control = pla_array_new((size_t)model->n_controls, sizeof *self->control);
    self->from = pla_array_new((size_t)model->n_controls, sizeof *self->from);
    if (!self->force || !self->trial || !self->target || !self->residual || !self->step ||
        !self->pos || !self->control || !self->from || !enough)
      st = pla_fail_memory(err, "the solver");
  }
  if (st == PLA_OK)
    *out = self;
  else
    pla_active_solver_free(self);
  return st;
}

/* The tangent at @pos and its factor; where it is not definite, that of the projected one,
 * stiffened a little where even that leaves some motion without any stiffness. */
static PlaStatus
refactor(PlaActiveSolver *self, const double *pos, PlaProgress *progress, PlaActiveReport *report,
         PlaError *err)
{
  bool definite = false;
  PlaStatus st = PLA_OK;
  for (int attempt = 0; attempt < 3 && st == PLA_OK && !definite; attempt++) {
    double start = omp_get_wtime();
    pla_fem_system_assemble(&self->system, pos, attempt > 0, 0.0);
    pla_fem_system_constrain(&self->system);
    if (attempt == 2)
      pla_block_matrix_stiffen(&self->system.matrix, 0.01);
    report->assemble_s += omp_get_wtime() - start;
    start = omp_get_wtime();
    st = pla_cholesky_factor(self->system.factor, &self->system.matrix, PLA_SINGLE, progress,
                             &definite, err);
    report->factor_s += omp_get_wtime() - start;
    report->factorisations++;
  }
  self->factored = st == PLA_OK && definite;
  if (st == PLA_OK && !definite)
    st = pla_fail(err, PLA_ERR_CONVERGENCE,
                  "the flesh has no stiffness in some direction; check its constants");
  return st;
}

static PlaStatus
unbalanced(PlaActiveSolver *self, const double *pos, double *norm, PlaError *err)
{
  PlaStatus st = pla_fem_forces(self->fem, pos, self->force, err);
  if (st == PLA_OK) {
    pla_fem_system_gather(&self->system, self->force, self->residual);
    *norm = pla_norm2(self->residual, 3 * (size_t)self->system.n_blocks);
  }
  return st;
}

/* moves what is held to its places at @control, and the flesh with it */
static PlaStatus
carry(PlaActiveSolver *self, const double *control, double *pos, PlaError *err)
{
  const PlaActiveModel *model = self->model;
  const size_t n = 3 * (size_t)model->n_verts;
  memcpy(self->target, pos, n * sizeof *pos);
  pla_active_place(model, control, self->target);
  double most = 0.0;
  for (size_t i = 0; i < n; i++) {
    self->trial[i] = model->fixed[i] ? self->target[i] - pos[i] : 0.0;
    most = fmax(most, fabs(self->trial[i]));
  }
  if (most > 0.0 && model->has_jaw) {
    memset(self->force, 0, n * sizeof *self->force);
    PlaStatus st = pla_fem_add_pull(self->fem, pos, 1, &self->trial, &self->force, err);
    if (st != PLA_OK)
      return st;
    pla_fem_system_gather(&self->system, self->force, self->residual);
    st = pla_cholesky_solve(self->system.factor, self->residual, self->step, err);
    if (st != PLA_OK)
      return st;
    pla_fem_system_add(&self->system, self->step, 1.0, pos);
  }
  pla_active_place(model, control, pos);
  return PLA_OK;
}

/* The memory of steps d_k = K_old^-1 f(x_k), newest last.  The next change of x is
 *   d - sum_j gamma_j (dx_j + dd_j),  gamma the least squares of d - sum_j gamma_j dd_j
 * (Anderson 1965), which makes of a factor that is half right nearly the right one. */
static void
forget(PlaActiveSolver *self)
{
  self->n_memory = 0;
  self->has_last = false;
}

/* self->step from K_old^-1 f to the change of x; keeps what the next needs */
static void
accelerate(PlaActiveSolver *self)
{
  const size_t n = 3 * (size_t)self->system.n_blocks;
  double *d = self->step;
  if (self->has_last) {
    /* the oldest makes room */
    if (self->n_memory == MEMORY) {
      double *dx = self->dx[0], *dd = self->dd[0];
      memmove(self->dx, self->dx + 1, (MEMORY - 1) * sizeof *self->dx);
      memmove(self->dd, self->dd + 1, (MEMORY - 1) * sizeof *self->dd);
      self->dx[MEMORY - 1] = dx;
      self->dd[MEMORY - 1] = dd;
      self->n_memory--;
    }
    double *dx = self->dx[self->n_memory], *dd = self->dd[self->n_memory];
    self->n_memory++;
    memcpy(dx, self->last_x, n * sizeof *dx);
    for (size_t i = 0; i < n; i++)
      dd[i] = d[i] - self->last_d[i];
  }
  memcpy(self->last_d, d, n * sizeof *d);
  const int m = self->n_memory;
  double gram[MEMORY * MEMORY], gamma[MEMORY], largest = 0.0;
  for (int i = 0; i < m; i++) {
    gamma[i] = pla_dot(self->dd[i], d, n);
    for (int j = 0; j <= i; j++)
      gram[i * m + j] = gram[j * m + i] = pla_dot(self->dd[i], self->dd[j], n);
    largest = fmax(largest, gram[i * m + i]);
  }
  for (int i = 0; i < m; i++)
    gram[i * m + i] += 1e-10 * largest;
  int one = 1, info = 0;
  if (m > 0)
    LAPACK_dposv("L", &m, &one, gram, &m, gamma, &m, &info);
  for (int j = 0; j < m && info == 0; j++)
    for (size_t i = 0; i < n; i++)
      d[i] -= gamma[j] * (self->dx[j][i] + self->dd[j][i]);
}

/* one way to new controls by steps; false in *reached when they lead astray */
static PlaStatus
approach(PlaActiveSolver *self, const double *control, double tolerance_m, PlaProgress *progress,
         double *pos, PlaActiveReport *report, bool *reached, PlaError *err)
{
  const size_t n = 3 * (size_t)self->model->n_verts, n_free = 3 * (size_t)self->system.n_blocks;
  double norm = 0.0, best = INFINITY;
  const int patience = self->fem->patches ? MIXED_PATIENCE : PATIENCE;
  int since = 0; /* steps since the factor was made, or since they last got much shorter */
  bool fresh = false;
  *reached = false;
  pla_fem_model_set_activations(self->fem, control);
  PlaStatus st = self->factored ? PLA_OK : refactor(self, pos, progress, report, err);
  if (st == PLA_OK)
    st = carry(self, control, pos, err);
  if (st == PLA_OK)
    st = unbalanced(self, pos, &norm, err);
  forget(self);
  for (int k = 0; st == PLA_OK && k < MAX_STEPS && isfinite(norm); k++) {
    if (pla_progress_cancelled(progress))
      return pla_fail_cancelled(err);
    double start = omp_get_wtime();
    st = pla_cholesky_solve(self->system.factor, self->residual, self->step, err);
    report->substitute_s += omp_get_wtime() - start;
    if (st != PLA_OK)
      break;
    const double length = pla_max_abs(self->step, n_free);
    since = length < 0.5 * best ? 0 : since + 1;
    best = fmin(best, length);
    if (!fresh && (since > patience || length > 2.0 * best) && length > tolerance_m) {
      st = refactor(self, pos, progress, report, err);
      /* where steps have gone there is no way on: astray, not at fault */
      if (st == PLA_ERR_CONVERGENCE)
        return PLA_OK;
      forget(self);
      fresh = true;
      since = 0;
      best = INFINITY;
      continue;
    }
    fresh = false;
    if (length > tolerance_m)
      accelerate(self);
    /* shorter where the full step raises the unbalanced force a lot */
    double factor = 1.0, before = norm;
    memcpy(self->trial, pos, n * sizeof *pos);
    for (int h = 0; st == PLA_OK && h < MAX_HALVINGS; h++, factor *= 0.5) {
      memcpy(pos, self->trial, n * sizeof *pos);
      pla_fem_system_add(&self->system, self->step, factor, pos);
      st = unbalanced(self, pos, &norm, err);
      if (norm <= 2.0 * before || length <= tolerance_m)
        break;
    }
    for (size_t i = 0; i < n_free; i++)
      self->last_x[i] = factor * self->step[i];
    self->has_last = true;
    report->iterations++;
    report->step_m = length;
    if (length <= tolerance_m) {
      *reached = true;
      break;
    }
  }
  return st;
}

/* the longest way of a control that one approach bears: activations, rad, m */
static double
way(const PlaActiveModel *model, const double *from, const double *to)
{
  static const double most_activation = 1.0, most_angle = 0.12, most_slide = 0.008;
  double longest = 0.0;
  for (int c = 0; c < model->n_controls; c++) {
    const double most = c < model->n_muscles                      ? most_activation
                        : c - model->n_muscles == PLA_JAW_OPENING ? most_angle
                                                                  : most_slide;
    longest = fmax(longest, fabs(to[c] - from[c]) / most);
  }
  return longest;
}

/* The same way by the solver that goes down the energy, from self->pos as @from has it: slower, and
 * for places where the flesh folds and the tangent is not definite. */
static PlaStatus
descend(PlaActiveSolver *self, const double *control, const double *from, double tolerance_m,
        PlaProgress *progress, PlaActiveReport *report, bool *reached, PlaError *err)
{
  const size_t n = 3 * (size_t)self->model->n_verts;
  const PlaFemConditions conditions = { .fixed = self->model->fixed, .target = self->target };
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport fem;
  options.warm_start = true;
  options.tolerance_rel = 1e-7;
  options.max_iterations = 60;
  options.progress = progress;
  *reached = false;
  memcpy(self->pos, from, n * sizeof *from);
  PlaStatus st = refactor(self, self->pos, progress, report, err);
  if (st == PLA_OK)
    st = carry(self, control, self->pos, err);
  if (st == PLA_OK) {
    memcpy(self->target, self->pos, n * sizeof *self->pos);
    st = pla_fem_solve(self->fem, &conditions, &options, self->pos, &fem, err);
  }
  if (st != PLA_OK)
    return st;
  report->iterations += fem.iterations;
  report->factorisations += fem.factorisations;
  if (fem.reason == PLA_STOP_CANCELLED)
    return pla_fail_cancelled(err);
  self->factored = false;
  st = approach(self, control, tolerance_m, progress, self->pos, report, reached, err);
  return st;
}

PlaStatus
pla_active_solve(PlaActiveSolver *self, const double *control, const double *columns,
                 double tolerance_m, PlaProgress *progress, PlaActiveState *state,
                 PlaActiveReport *report, PlaError *err)
{
  const PlaActiveModel *model = self->model;
  const size_t n = 3 * (size_t)model->n_verts, nc = (size_t)model->n_controls;
  *report = (PlaActiveReport){ 0 };
  PlaStatus st = PLA_OK;
  /* the whole way in equal parts, halved where one fails, doubled again where one succeeds */
  double done = 0.0, part = 1.0 / ceil(fmax(1.0, way(model, state->control, control)));
  const double whole = part, least = part / (1 << MAX_HALVINGS);
  memcpy(self->from, state->control, nc * sizeof *self->from);
  while (st == PLA_OK && done < 1.0 && part >= least) {
    const double next = done + part >= 1.0 - 1e-9 ? 1.0 : done + part;
    bool reached = false;
    for (size_t c = 0; c < nc; c++)
      self->control[c] =
          next == 1.0 ? control[c] : (1.0 - next) * self->from[c] + next * control[c];
    memcpy(self->pos, state->pos, n * sizeof *self->pos);
    for (size_t c = 0; columns && done == 0.0 && c < nc; c++) {
      const double by = self->control[c] - state->control[c];
      for (size_t i = 0; by != 0.0 && i < n; i++)
        self->pos[i] += by * columns[c * n + i];
    }
    st = approach(self, self->control, next < 1.0 ? fmax(tolerance_m, 1e-5) : tolerance_m, progress,
                  self->pos, report, &reached, err);
    if (st == PLA_OK && !reached && part < 0.5 * whole)
      st = descend(self, self->control, state->pos, next < 1.0 ? 1e-5 : tolerance_m, progress,
                   report, &reached, err);
    if (st == PLA_OK && reached) {
      memcpy(state->pos, self->pos, n * sizeof *self->pos);
      memcpy(state->control, self->control, nc * sizeof *self->control);
      done = next;
    } else {
      self->factored = false;
      part *= 0.5;
    }
  }
  report->converged = st == PLA_OK && done == 1.0;
  if (st == PLA_OK)
    report->inverted = pla_fem_inverted(self->fem, state->pos, NULL, NULL);
  return st;
}

PlaStatus
pla_active_sensitivity(PlaActiveSolver *self, const PlaActiveState *state, PlaProgress *progress,
                       double *columns, PlaActiveReport *report, PlaError *err)
{
  const PlaActiveModel *model = self->model;
  const double *control = state->control, *pos = state->pos;
  const size_t n = 3 * (size_t)model->n_verts, n_free = 3 * (size_t)self->system.n_blocks;
  double *motion[PLA_JAW_DOFS] = { NULL }, *force[PLA_JAW_DOFS] = { NULL };
  double *rhs = pla_array_new((size_t)model->n_controls, n_free * sizeof *rhs);
  PlaStatus st = rhs ? PLA_OK : pla_fail_memory(err, "the sensitivities");
  pla_fem_model_set_activations(self->fem, control);
  if (st == PLA_OK)
    st = refactor(self, pos, progress, report, err);
  const double start = omp_get_wtime();

  /* pulls of the muscles */
#pragma omp parallel for schedule(dynamic)
  for (int m = 0; m < model->n_muscles; m++)
    if (st == PLA_OK) {
      double *f = columns + (size_t)m * n;
      pla_active_muscle_force(model, m, pos, f);
      pla_fem_system_gather(&self->system, f, rhs + (size_t)m * n_free);
    }
  /* motions of the jaw; forces go to scratch, the columns keep the motion */
  for (int q = 0; st == PLA_OK && model->has_jaw && q < PLA_JAW_DOFS; q++) {
    double rotation[9], shift[3];
    motion[q] = columns + (size_t)(model->n_muscles + q) * n;
    memset(motion[q], 0, n * sizeof *columns);
    force[q] = pla_array_new0(n, sizeof *force[q]);
    if (!force[q])
      st = pla_fail_memory(err, "the sensitivities");
    pla_jaw_pose_slope(&model->jaw, control + model->n_muscles, q, rotation, shift);
    for (size_t v = 0; v < (size_t)model->n_verts; v++) {
      if (model->hold[v] != PLA_HOLD_JAW)
        continue;
      pla_mat3_apply(rotation, model->fem->rest + 3 * v, motion[q] + 3 * v);
      for (size_t d = 0; d < 3; d++)
        motion[q][3 * v + d] += shift[d];
    }
  }
  if (st == PLA_OK && model->has_jaw) {
    st = pla_fem_add_pull(self->fem, pos, PLA_JAW_DOFS, motion, force, err);
    for (int q = 0; q < PLA_JAW_DOFS; q++)
      pla_fem_system_gather(&self->system, force[q], rhs + (size_t)(model->n_muscles + q) * n_free);
  }
  if (st == PLA_OK)
    st = pla_cholesky_solve_many(self->system.factor, model->n_controls, rhs, rhs, err);
#pragma omp parallel for schedule(static)
  for (int c = 0; c < (st == PLA_OK ? model->n_controls : 0); c++) {
    double *column = columns + (size_t)c * n;
    if (c < model->n_muscles)
      memset(column, 0, n * sizeof *column);
    pla_fem_system_add(&self->system, rhs + (size_t)c * n_free, 1.0, column);
  }
  report->substitute_s += omp_get_wtime() - start;
  for (int q = 0; q < PLA_JAW_DOFS; q++)
    free(force[q]);
  free(rhs);
  return st;
}

PlaStatus
pla_active_flesh_column(PlaActiveSolver *self, const PlaActiveState *state, double *column,
                        PlaError *err)
{
  PlaFemModel flesh = *self->fem; /* without fibres */
  assert(self->factored);
  flesh.fibre_start = NULL;
  PlaStatus st = pla_fem_forces(&flesh, state->pos, column, err);
  if (st != PLA_OK)
    return st;
  pla_fem_system_gather(&self->system, column, self->residual);
  st = pla_cholesky_solve(self->system.factor, self->residual, self->step, err);
  memset(column, 0, 3 * (size_t)self->model->n_verts * sizeof *column);
  if (st == PLA_OK)
    pla_fem_system_add(&self->system, self->step, 1.0, column);
  return st;
}
