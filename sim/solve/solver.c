/* Frames by an old factor.
 *
 * The motion d of what is prescribed first spreads through the body as it would in a linear one:
 * K dx = df/dx d, the right side from the elements that it touches.  Then steps s(x) = K0^-1 f(x)
 * by the factor of some earlier shape correct the shape without any matrix.  Alone they would
 * converge as slowly as K0 differs from K; combined with the few steps before so that s is least
 * (Anderson 1965) they do so nearly as fast as conjugate gradients with the true K.  When they take
 * too many, the next frame begins with a new factor; when they fail, this one does; and when even
 * that fails, the solver for any start takes over. */
#include "sim/solve/solver.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/solve/solve.h"
#include "sim/solve/solvers.h"
#include "sim/solve/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  HISTORY = 6, /* steps that are combined */
  MAX_STEPS = 16,
  OLD_STEPS = 5, /* that many tell that a new factor pays */
};

struct PlaFemSolver {
  const PlaFemModel *model;
  PlaFemSystem system;
  unsigned char *fixed;         /* n_verts x 3 */
  double *force, *trial, *last; /* n_verts x 3 */
  double *residual, *step;      /* block arrays */
  double *move[HISTORY];        /* what was added to the positions, newest at count % HISTORY */
  double *change[HISTORY];      /* of the step that the factor gives, by that */
  bool factored;
};

void
pla_fem_solver_free(PlaFemSolver *self)
{
  if (!self)
    return;
  pla_fem_system_clear(&self->system);
  free(self->fixed);
  free(self->force);
  free(self->trial);
  free(self->last);
  free(self->residual);
  free(self->step);
  for (int k = 0; k < HISTORY; k++) {
    free(self->move[k]);
    free(self->change[k]);
  }
  free(self);
}

PlaStatus
pla_fem_solver_new(const PlaFemModel *model, const PlaFemConditions *conditions, PlaFemSolver **out,
                   PlaError *err)
{
  const size_t n = 3 * (size_t)model->n_verts;
  PlaFemSolver *self = pla_array_new0(1, sizeof *self);
  *out = NULL;
  if (!self)
    return pla_fail_memory(err, "the solver");
  self->model = model;
  self->fixed = pla_array_dup(conditions->fixed, n, 1);
  self->force = pla_array_new(n, sizeof *self->force);
  self->trial = pla_array_new(n, sizeof *self->trial);
  self->last = pla_array_new(n, sizeof *self->last);
  PlaStatus st = self->fixed && self->force && self->trial && self->last
                     ? pla_fem_system_init(&self->system, model, conditions, NULL, err)
                     : pla_fail_memory(err, "the solver");
  if (st == PLA_OK) {
    const size_t n_free = 3 * (size_t)self->system.n_blocks;
    self->residual = pla_array_new(n_free, sizeof *self->residual);
    self->step = pla_array_new(n_free, sizeof *self->step);
    bool enough = self->residual && self->step;
    for (int k = 0; k < HISTORY; k++) {
      self->move[k] = pla_array_new(n_free, sizeof *self->move[k]);
      self->change[k] = pla_array_new(n_free, sizeof *self->change[k]);
      enough = enough && self->move[k] && self->change[k];
    }
    if (!enough)
      st = pla_fail_memory(err, "the solver");
  }
  if (st == PLA_OK)
    *out = self;
  else
    pla_fem_solver_free(self);
  return st;
}

/* unbalanced forces at @pos into self->residual; their norm */
static PlaStatus
unbalanced(PlaFemSolver *self, const PlaFemConditions *conditions, const double *pos, double *norm,
           PlaError *err)
{
  PlaStatus st = pla_terms_forces(self->model, conditions, pos, self->force, err);
  if (st == PLA_OK) {
    pla_fem_system_gather(&self->system, self->force, self->residual);
    *norm = pla_norm2(self->residual, 3 * (size_t)self->system.n_blocks);
  }
  return st;
}

static void
assemble(PlaFemSolver *self, const PlaFemConditions *conditions, const double *pos)
{
  pla_fem_system_assemble(&self->system, pos, false, 0.0);
  pla_terms_add_stiffness(&self->system, conditions, pos, false);
  pla_fem_system_constrain(&self->system);
}

/* a factor of the assembled matrix, if that is definite */
static PlaStatus
factor(PlaFemSolver *self, const PlaFemOptions *options, PlaFemReport *report, PlaError *err)
{
  bool definite = false;
  PlaStatus st = pla_cholesky_factor(self->system.factor, &self->system.matrix, PLA_SINGLE,
                                     options->progress, &definite, err);
  report->factorisations++;
  self->factored = st == PLA_OK && definite;
  return st;
}

/* force = stiffness of the elements at @pos times @disp, where the latter is not zero */
static void
push(const PlaFemModel *model, const double *pos, const double *disp, double *force)
{
  memset(force, 0, 3 * (size_t)model->n_verts * sizeof *force);
  for (int c = 0; c < model->n_tets + model->n_hexes; c++) {
    const int *verts;
    const size_t k = (size_t)pla_fem_cell_verts(model, c, &verts);
    double local[24 * 24];
    bool moved = false;
    for (size_t i = 0; i < 3 * k; i++)
      moved |= disp[3 * (size_t)verts[i / 3] + i % 3] != 0.0;
    if (!moved)
      continue;
    pla_fem_cell_stiffness(model, c, pos, NULL, false, local);
    for (size_t i = 0; i < 3 * k; i++)
      for (size_t j = 0; j < 3 * k; j++)
        force[3 * (size_t)verts[i / 3] + i % 3] +=
            local[3 * k * i + j] * disp[3 * (size_t)verts[j / 3] + j % 3];
  }
}

/* moves what is prescribed to its targets, and the rest with it; the forces that the springs add on
 * the way are left to the steps after it */
static PlaStatus
spread_motion(PlaFemSolver *self, const PlaFemConditions *conditions, double *pos, PlaError *err)
{
  const size_t n = 3 * (size_t)self->model->n_verts, n_free = 3 * (size_t)self->system.n_blocks;
  for (size_t i = 0; i < n; i++)
    self->trial[i] = self->fixed[i] ? conditions->target[i] - pos[i] : 0.0;
  push(self->model, pos, self->trial, self->force);
  pla_fem_system_gather(&self->system, self->force, self->residual);
  for (size_t i = 0; i < n_free; i++)
    self->residual[i] = -self->residual[i];
  PlaStatus st = pla_cholesky_solve(self->system.factor, self->residual, self->step, err);
  if (st == PLA_OK)
    pla_fem_system_add(&self->system, self->step, 1.0, pos);
  for (size_t i = 0; i < n; i++)
    pos[i] = self->fixed[i] ? conditions->target[i] : pos[i];
  return st;
}

/* @weight such that |s - sum of weight_k change_k| is least, by the normal equations: of @n
 * changes, what is nearly a combination of newer ones is left out */
static void
combine(const PlaFemSolver *self, int n, const double *s, double weight[HISTORY])
{
  const size_t size = 3 * (size_t)self->system.n_blocks;
  double a[HISTORY][HISTORY + 1], diagonal[HISTORY];
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++)
      a[i][j] = a[j][i] = pla_dot(self->change[i], self->change[j], size);
    a[i][n] = pla_dot(self->change[i], s, size);
    diagonal[i] = a[i][i];
  }
  for (int k = 0; k < n; k++) {
    bool dependent = !(a[k][k] > 1e-10 * diagonal[k]);
    for (int i = k + 1; i < n; i++) {
      double factor = dependent ? 0.0 : a[i][k] / a[k][k];
      for (int j = k; j <= n; j++)
        a[i][j] -= factor * a[k][j];
    }
    if (dependent)
      a[k][k] = 0.0;
  }
  for (int i = n - 1; i >= 0; i--) {
    weight[i] = a[i][n];
    for (int j = i + 1; j < n; j++)
      weight[i] -= a[i][j] * weight[j];
    weight[i] = a[i][i] > 0.0 ? weight[i] / a[i][i] : 0.0;
  }
}

/* steps by the factor from @pos, whose residual is in self->residual, until its norm is below
 * @least or they do not serve; *norm at the end */
static PlaStatus
relax(PlaFemSolver *self, const PlaFemConditions *conditions, double least, double *pos,
      double *norm, PlaFemReport *report, PlaError *err)
{
  const size_t n = 3 * (size_t)self->system.n_blocks;
  const double start = *norm;
  PlaStatus st = PLA_OK;
  for (int k = 0; st == PLA_OK && k<MAX_STEPS && * norm> least && *norm <= 2.0 * start; k++) {
    const int used = k < HISTORY ? k : HISTORY, at = k % HISTORY,
              before = (k + HISTORY - 1) % HISTORY;
    double weight[HISTORY];
    /* the step, and how the last move changed it: what stands there is the step before */
    st = pla_cholesky_solve(self->system.factor, self->residual, self->step, err);
    if (st != PLA_OK)
      break;
    for (size_t i = 0; k > 0 && i < n; i++)
      self->change[before][i] = self->step[i] - self->change[before][i];
    if (used > 0)
      combine(self, used, self->step, weight);
    double *move = self->residual; /* which is made anew after the move */
    for (size_t i = 0; i < n; i++) {
      double sum = self->step[i];
      for (int h = 0; h < used; h++)
        sum -= weight[h] * (self->move[h][i] + self->change[h][i]);
      move[i] = sum;
    }
    memcpy(self->change[at], self->step, n * sizeof *self->step);
    memcpy(self->move[at], move, n * sizeof *move);
    pla_fem_system_add(&self->system, move, 1.0, pos);
    st = unbalanced(self, conditions, pos, norm, err);
    report->iterations++;
    report->linear_iterations++;
  }
  return st;
}

PlaStatus
pla_fem_solver_move(PlaFemSolver *self, const PlaFemConditions *conditions,
                    const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  const size_t n = 3 * (size_t)self->model->n_verts;
  double norm = 0.0;
  *report = (PlaFemReport){ .worst_element = -1, .method = "newton" };
  if (conditions->bindings || conditions->contacts || conditions->inertia || self->model->patches)
    return pla_fem_solve(self->model, conditions, options, pos, report, err);

  /* the residual of the jump */
  for (size_t i = 0; i < n; i++)
    self->trial[i] = self->fixed[i] ? conditions->target[i] : pos[i];
  PlaStatus st = unbalanced(self, conditions, self->trial, &norm, err);
  report->residual_scale_n = fmax(norm, pla_fem_load_norm(self->model, conditions));
  memcpy(self->last, pos, n * sizeof *pos);
  const double scale = report->residual_scale_n > 0.0 ? report->residual_scale_n : 1.0;
  const double least = options->tolerance_rel * scale;
  bool done = false;
  for (int attempt = 0; st == PLA_OK && !done && attempt < 2; attempt++) {
    /* a new factor where the first attempt failed; of the shape it led to, if that is any better */
    const bool onward = attempt > 0 && norm < 0.1 * scale;
    if (!onward)
      memcpy(pos, self->last, n * sizeof *pos);
    if (!self->factored || attempt > 0) {
      assemble(self, conditions, pos);
      st = factor(self, options, report, err);
      if (st != PLA_OK || !self->factored)
        break;
    }
    if (!onward)
      st = spread_motion(self, conditions, pos, err);
    if (st == PLA_OK)
      st = unbalanced(self, conditions, pos, &norm, err);
    const int before = report->iterations;
    if (st == PLA_OK)
      st = relax(self, conditions, least, pos, &norm, report, err);
    done = norm <= least;
    if (report->iterations - before > OLD_STEPS)
      self->factored = false;
  }
  report->residual_n = norm;
  report->residual_rel = norm / scale;
  if (st == PLA_OK && !done) {
    /* from where the last frame was, should the steps have led astray */
    if (!(norm <= scale))
      memcpy(pos, self->last, n * sizeof *pos);
    self->factored = false;
    return pla_fem_solve(self->model, conditions, options, pos, report, err);
  }
  if (st == PLA_OK)
    report->inverted =
        pla_fem_inverted(self->model, pos, &report->min_jacobian, &report->worst_element);
  return st;
}
