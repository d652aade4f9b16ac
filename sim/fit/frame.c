/* Gauss-Newton on one frame.
 *
 * Unknowns are the controls c and, where the head moves, a turn about the markers' middle and a
 * shift. A marker's derivative in the capture's frame is R W dx/dc, and turn x (q - middle) +
 * shift. */
#include "sim/fit/frame.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/registration/registration.h"
#include "sim/fit/box-qp.h"
#include "sim/fit/median.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 6, MAX_HALVINGS = 5 };

/* a marker this near is never doubted */
static const double trusted_m = 1e-4;
/* change of a control, of its range, that ends the iterations; and after which derivatives are old
 */
static const double settled = 5e-4, far = 0.12;

/* controls, and the flesh's stiffness where it is sought */
static int
n_columns(const PlaFitProblem *p)
{
  return pla_active_n_controls(p->model) + (p->flesh ? 1 : 0);
}

static int
n_unknowns(const PlaFitProblem *p)
{
  return n_columns(p) + (p->opts->head == PLA_HEAD_SOLVED ? HEAD : 0);
}

PlaStatus
pla_fit_frame_init(PlaFitFrame *self, const PlaFitProblem *problem, PlaError *err)
{
  const size_t n_markers = (size_t)problem->take->n_markers, n = (size_t)n_unknowns(problem);
  const size_t nc = (size_t)n_columns(problem);
  const size_t nv = (size_t)pla_active_n_verts(problem->model);
  *self = (PlaFitFrame){ .problem = problem };
  pla_mat3_identity(self->head.rotation);
  PlaStatus st = pla_active_solver_new(problem->model, &self->solver, err);
  if (st == PLA_OK)
    st = pla_active_state_init(&self->state, problem->model, err);
  if (st == PLA_OK)
    st = pla_active_state_init(&self->trial, problem->model, err);
  self->columns = pla_array_new(nc * nv, 3 * sizeof *self->columns);
  self->jacobian = pla_array_new0(n_markers * nc, 3 * sizeof *self->jacobian);
  self->residual = pla_array_new(n_markers, 3 * sizeof *self->residual);
  self->weight = pla_array_new0(n_markers, sizeof *self->weight);
  self->h = pla_array_new(n * n, sizeof *self->h);
  self->g = pla_array_new(n, sizeof *self->g);
  self->step = pla_array_new(n, sizeof *self->step);
  self->scratch = pla_array_new(2 * n * n + 4 * n + 3 * n_markers, sizeof *self->scratch);
  if (st == PLA_OK && (!self->columns || !self->jacobian || !self->residual || !self->weight ||
                       !self->h || !self->g || !self->step || !self->scratch))
    st = pla_fail_memory(err, "the fit");
  return st;
}

void
pla_fit_frame_clear(PlaFitFrame *self)
{
  pla_active_solver_free(self->solver);
  pla_active_state_clear(&self->state);
  pla_active_state_clear(&self->trial);
  free(self->columns);
  free(self->jacobian);
  free(self->residual);
  free(self->weight);
  free(self->h);
  free(self->g);
  free(self->step);
  free(self->scratch);
  *self = (PlaFitFrame){ 0 };
}

static bool
is_used(const PlaFitProblem *p, int f, int i)
{
  const double *y = p->take->pos + 3 * ((size_t)f * (size_t)p->take->n_markers + (size_t)i);
  return p->site[i] && isfinite(y[0] + y[1] + y[2]);
}

static bool
is_held_out(const PlaFitProblem *p, int i)
{
  return p->opts->held_out && p->opts->held_out[i];
}

/* where marker @i is in the capture's frame */
static void
predict(const PlaFitProblem *p, const PlaActiveState *state, const PlaHeadPose *head, int i,
        double out[3])
{
  double q[3];
  pla_marker_place(p->site[i], state->pos, q);
  pla_mat3_apply(head->rotation, q, out);
  for (int d = 0; d < 3; d++)
    out[d] += head->shift[d];
}

static void
look(const PlaFitProblem *p, int f, const PlaActiveState *state, const PlaHeadPose *head,
     double *residual)
{
  for (int i = 0; i < p->take->n_markers; i++) {
    const double *y = p->take->pos + 3 * ((size_t)f * (size_t)p->take->n_markers + (size_t)i);
    double q[3];
    if (is_used(p, f, i))
      predict(p, state, head, i, q);
    for (int d = 0; d < 3; d++)
      residual[3 * (size_t)i + (size_t)d] = is_used(p, f, i) ? y[d] - q[d] : NAN;
  }
}

int
pla_fit_frame_look(PlaFitFrame *self, int f, double noise_m)
{
  const PlaFitProblem *p = self->problem;
  double *size = self->scratch;
  int n = 0, n_used = 0;
  look(p, f, &self->state, &self->head, self->residual);
  for (int i = 0; i < p->take->n_markers; i++)
    if (is_used(p, f, i) && !is_held_out(p, i)) {
      for (int d = 0; d < 3; d++)
        size[n++] = fabs(self->residual[3 * (size_t)i + (size_t)d]);
      n_used++;
    }
  /* the median of |x| of a normal distribution is 0.6745 of its deviation */
  self->noise_m =
      n ? fmax(p->least_noise_m, pla_median(size, (size_t)n) / 0.6745) : p->least_noise_m;
  const double noise = noise_m > 0.0 ? noise_m : self->noise_m;
  const double doubt = fmax(trusted_m, p->opts->outlier * sqrt(3.0) * noise);
  for (int i = 0; i < p->take->n_markers; i++) {
    const double *r = self->residual + 3 * (size_t)i;
    self->weight[i] = 0.0;
    if (!is_used(p, f, i) || is_held_out(p, i))
      continue;
    const double ratio = p->opts->outlier > 0.0 ? pla_vec3_dot(r, r) / (doubt * doubt) : 0.0;
    self->weight[i] = 1.0 / ((1.0 + ratio) * (1.0 + ratio));
  }
  return n_used;
}

PlaStatus
pla_fit_frame_place_head(PlaFitFrame *self, int f, bool from_scratch, PlaError *err)
{
  const PlaFitProblem *p = self->problem;
  if (p->opts->head == PLA_HEAD_FIXED && !from_scratch)
    return PLA_OK;
  const int n_markers = p->take->n_markers;
  double *moving = pla_array_new((size_t)n_markers, 6 * sizeof *moving);
  double *fixed = moving ? moving + 3 * (size_t)n_markers : NULL;
  int n = 0;
  if (!moving)
    return pla_fail_memory(err, "the fit");
  for (int i = 0; i < n_markers; i++) {
    if (!is_used(p, f, i) || is_held_out(p, i) || (!from_scratch && self->weight[i] < 0.25))
      continue;
    const double *y = p->take->pos + 3 * ((size_t)f * (size_t)n_markers + (size_t)i);
    pla_marker_place(p->site[i], self->state.pos, moving + 3 * (size_t)n);
    for (int d = 0; d < 3; d++) {
      moving[3 * (size_t)n + (size_t)d] *= 1000.0;
      fixed[3 * (size_t)n + (size_t)d] = 1000.0 * y[d];
    }
    n++;
  }
  PlaRigid pose;
  PlaLandmarkReport report;
  PlaStatus st = PLA_OK;
  /* too few markers say nothing about the head, which then stays */
  if (n >= 4 || from_scratch)
    st = pla_register_landmarks(n, moving, fixed, from_scratch, &pose, NULL, &report, err);
  if (st == PLA_OK && (n >= 4 || from_scratch)) {
    memcpy(self->head.rotation, pose.r, sizeof pose.r);
    for (int d = 0; d < 3; d++)
      self->head.shift[d] = pose.t_mm[d] / 1000.0;
  }
  free(moving);
  return st;
}

/* derivatives of the markers by the controls at the present state */
static PlaStatus
linearise(PlaFitFrame *self, PlaError *err)
{
  const PlaFitProblem *p = self->problem;
  const int nc = n_columns(p), n_markers = p->take->n_markers;
  const size_t n = 3 * (size_t)pla_active_n_verts(p->model);
  PlaActiveReport report = { 0 };
  const double start = omp_get_wtime();
  PlaStatus st = pla_active_sensitivity(self->solver, &self->state, p->opts->progress,
                                        self->columns, &report, err);
  if (st == PLA_OK && p->flesh)
    st = pla_active_flesh_column(self->solver, &self->state, self->columns + (size_t)(nc - 1) * n,
                                 err);
  self->factorisations += report.factorisations;
  self->has_columns = st == PLA_OK;
  for (int i = 0; st == PLA_OK && i < n_markers; i++) {
    if (!p->site[i])
      continue;
    for (int c = 0; c < nc; c++)
      for (int d = 0; d < 3; d++) {
        double sum = 0.0;
        for (int k = 0; k < 3; k++)
          sum += p->site[i]->weight[k] *
                 self->columns[(size_t)c * n + 3 * (size_t)p->site[i]->vert[k] + (size_t)d];
        self->jacobian[(3 * (size_t)i + (size_t)d) * (size_t)nc + (size_t)c] = sum;
      }
  }
  self->seconds_sensitivity += omp_get_wtime() - start;
  return st;
}

/* the markers' middle, about which the head turns */
static void
middle_of(const PlaFitFrame *self, double middle[3])
{
  const PlaFitProblem *p = self->problem;
  double total = 0.0;
  memset(middle, 0, 3 * sizeof *middle);
  for (int i = 0; i < p->take->n_markers; i++) {
    double q[3];
    if (!(self->weight[i] > 0.0))
      continue;
    predict(p, &self->state, &self->head, i, q);
    for (int d = 0; d < 3; d++)
      middle[d] += self->weight[i] * q[d];
    total += self->weight[i];
  }
  for (int d = 0; d < 3 && total > 0.0; d++)
    middle[d] /= total;
}

/* sum of weighted J^T J and J^T r over the markers, controls first, then the head's turn and shift
 */
static void
normal_equations(PlaFitFrame *self)
{
  const PlaFitProblem *p = self->problem;
  const int n = n_unknowns(p), nc = n_columns(p);
  double middle[3], *row = self->scratch;
  memset(self->h, 0, (size_t)n * (size_t)n * sizeof *self->h);
  memset(self->g, 0, (size_t)n * sizeof *self->g);
  middle_of(self, middle);
  for (int i = 0; i < p->take->n_markers; i++) {
    const double w = self->weight[i], *j = self->jacobian + 3 * (size_t)i * (size_t)nc;
    double q[3], arm[3];
    if (!(w > 0.0))
      continue;
    predict(p, &self->state, &self->head, i, q);
    pla_vec3_sub(q, middle, arm);
    for (int d = 0; d < 3; d++) {
      const double *r = self->head.rotation + 3 * d,
                   res = self->residual[3 * (size_t)i + (size_t)d];
      for (int c = 0; c < nc; c++)
        row[c] =
            r[0] * j[c] + r[1] * j[(size_t)nc + (size_t)c] + r[2] * j[2 * (size_t)nc + (size_t)c];
      if (n > nc) {
        /* turn x arm: d/dturn_k of component d */
        const double cross[9] = {
          0.0, arm[2], -arm[1], -arm[2], 0.0, arm[0], arm[1], -arm[0], 0.0
        };
        for (int k = 0; k < 3; k++) {
          row[nc + k] = cross[3 * d + k];
          row[nc + 3 + k] = d == k ? 1.0 : 0.0;
        }
      }
      for (int a = 0; a < n; a++) {
        const double wa = w * row[a];
        self->g[a] += wa * res;
        for (int b = 0; b <= a; b++)
          self->h[(size_t)a * (size_t)n + (size_t)b] += wa * row[b];
      }
    }
  }
  for (int a = 0; a < n; a++)
    for (int b = 0; b < a; b++)
      self->h[(size_t)b * (size_t)n + (size_t)a] = self->h[(size_t)a * (size_t)n + (size_t)b];
}

/* the head after a turn and a shift, @length of them */
static PlaHeadPose
moved_head(const PlaFitFrame *self, const double *step, double length)
{
  double middle[3], turn[3], shift[3];
  PlaHeadPose head = self->head;
  middle_of(self, middle);
  for (int d = 0; d < 3; d++) {
    turn[d] = length * step[d];
    shift[d] = length * step[3 + d];
  }
  const PlaRigid by = pla_rigid_about(middle, turn, shift);
  pla_mat3_mul(by.r, self->head.rotation, head.rotation);
  pla_mat3_apply(by.r, self->head.shift, head.shift);
  for (int d = 0; d < 3; d++)
    head.shift[d] += by.t_mm[d];
  return head;
}

/* weighted squares, with those of the prior, at the weights of the last look */
static double
misfit(const PlaFitFrame *self, const double *residual, const double *control, double noise_m)
{
  const PlaFitProblem *p = self->problem;
  const int n_muscles = pla_active_n_muscles(p->model);
  double sum = 0.0;
  for (int i = 0; i < p->take->n_markers; i++)
    if (self->weight[i] > 0.0)
      sum += self->weight[i] * pla_vec3_dot(residual + 3 * (size_t)i, residual + 3 * (size_t)i);
  sum /= noise_m * noise_m;
  for (int m = 0; m < n_muscles; m++)
    sum += control[m] * control[m] / (p->opts->prior * p->opts->prior);
  return sum;
}

static PlaStatus
go_to(PlaFitFrame *self, const double *control, PlaActiveState *state, bool *there, PlaError *err)
{
  const PlaFitProblem *p = self->problem;
  PlaActiveReport report;
  const double start = omp_get_wtime();
  PlaStatus st = pla_active_solve(self->solver, control, self->has_columns ? self->columns : NULL,
                                  p->opts->tolerance_m, p->opts->progress, state, &report, err);
  self->seconds_equilibrium += omp_get_wtime() - start;
  self->factorisations += report.factorisations;
  *there = report.converged;
  return st;
}

/* one step of Gauss and Newton; *change: the largest of a control, of its range */
static PlaStatus
step(PlaFitFrame *self, int f, double noise_m, double *change, PlaError *err)
{
  const PlaFitProblem *p = self->problem;
  const int n = n_unknowns(p), nc = pla_active_n_controls(p->model);
  const int n_muscles = pla_active_n_muscles(p->model);
  double *lo = self->scratch + 2 * (size_t)n * (size_t)n, *hi = lo + n, *control = hi + n;
  PlaBoxReport box;
  assert(!p->flesh);
  normal_equations(self);
  const double variance = noise_m * noise_m, grain = 1e-12;
  double trace = 0.0;
  for (int i = 0; i < nc; i++)
    trace += self->h[(size_t)i * (size_t)n + (size_t)i];
  for (int i = 0; i < n; i++) {
    double *diagonal = &self->h[(size_t)i * (size_t)n + (size_t)i];
    if (i < n_muscles) {
      const double prior = variance / (p->opts->prior * p->opts->prior);
      *diagonal += prior;
      self->g[i] -= prior * self->state.control[i];
    }
    /* what nothing holds stays */
    *diagonal += grain * (trace + variance) + (i < nc ? 0.0 : grain * grain);
    lo[i] = i < nc ? p->lo[i] - self->state.control[i] : -INFINITY;
    hi[i] = i < nc ? p->hi[i] - self->state.control[i] : INFINITY;
    self->step[i] = 0.0;
    self->g[i] = -self->g[i];
  }
  PlaStatus st = pla_box_qp(n, self->h, self->g, lo, hi, self->step, &box, err);
  if (st != PLA_OK)
    return st;
  const double before = misfit(self, self->residual, self->state.control, noise_m);
  double length = 1.0, *residual = control + n;
  *change = 0.0;
  for (int k = 0; k < MAX_HALVINGS && st == PLA_OK; k++, length *= 0.5) {
    bool there = false;
    const PlaHeadPose head = n > nc ? moved_head(self, self->step + nc, length) : self->head;
    for (int c = 0; c < nc; c++)
      control[c] = fmin(fmax(self->state.control[c] + length * self->step[c], p->lo[c]), p->hi[c]);
    pla_active_state_copy(&self->trial, p->model, &self->state);
    st = go_to(self, control, &self->trial, &there, err);
    if (st != PLA_OK || !there)
      continue;
    look(p, f, &self->trial, &head, residual);
    if (misfit(self, residual, control, noise_m) > before * (1.0 + 1e-9))
      continue;
    for (int c = 0; c < nc; c++)
      if (p->hi[c] > p->lo[c])
        *change = fmax(*change, fabs(control[c] - self->state.control[c]) / (p->hi[c] - p->lo[c]));
    const PlaActiveState swap = self->state;
    self->state = self->trial;
    self->trial = swap;
    self->head = head;
    /* columns belong to the old shape: near enough for the next guess only while the step is small
     */
    self->has_columns = false;
    break;
  }
  self->iterations++;
  return st;
}

PlaStatus
pla_fit_frame_track(PlaFitFrame *self, int f, int iterations, PlaError *err)
{
  const PlaFitProblem *p = self->problem;
  PlaStatus st = PLA_OK;
  double since = INFINITY; /* how far the controls are from where derivatives were taken */
  for (int k = 0; k < iterations && st == PLA_OK; k++) {
    double change = 0.0;
    if (pla_progress_cancelled(p->opts->progress))
      return pla_fail_cancelled(err);
    if (pla_fit_frame_look(self, f, 0.0) < 3)
      return PLA_OK; /* nothing to go by */
    if (since > far) {
      st = linearise(self, err);
      since = 0.0;
    }
    const double noise = p->opts->noise_m > 0.0 ? p->opts->noise_m : self->noise_m;
    if (st == PLA_OK)
      st = step(self, f, noise, &change, err);
    since += change;
    if (change < settled)
      break;
  }
  if (st == PLA_OK)
    pla_fit_frame_look(self, f, 0.0);
  return st;
}

PlaStatus
pla_fit_frame_move(PlaFitFrame *self, int f, const double *control, PlaError *err)
{
  bool there = false;
  PlaStatus st = go_to(self, control, &self->state, &there, err);
  self->has_columns = false;
  for (int k = 0; k < 2 && st == PLA_OK; k++) {
    pla_fit_frame_look(self, f, 0.0);
    st = pla_fit_frame_place_head(self, f, false, err);
  }
  if (st == PLA_OK)
    pla_fit_frame_look(self, f, 0.0);
  return st;
}

PlaStatus
pla_fit_frame_reduce(PlaFitFrame *self, int f, double noise_m, bool fresh, double *h, double *g,
                     PlaError *err)
{
  const PlaFitProblem *p = self->problem;
  const int n = n_unknowns(p), nc = n_columns(p);
  const double scale = 1.0 / (noise_m * noise_m);
  PlaStatus st = fresh ? linearise(self, err) : PLA_OK;
  const int n_used = pla_fit_frame_look(self, f, noise_m);
  memset(h, 0, (size_t)nc * (size_t)nc * sizeof *h);
  memset(g, 0, (size_t)nc * sizeof *g);
  if (st != PLA_OK || n_used < 4)
    return st;
  normal_equations(self);
  for (int a = 0; a < nc; a++) {
    g[a] = scale * self->g[a];
    for (int b = 0; b < nc; b++)
      h[(size_t)a * (size_t)nc + (size_t)b] = scale * self->h[(size_t)a * (size_t)n + (size_t)b];
  }
  /* Schur's complement of the head */
  double *rows = self->scratch, *scratch = self->scratch + (size_t)n * HEAD;
  static const unsigned char keep[HEAD] = { 1, 1, 1, 1, 1, 1 };
  double head_block[HEAD * HEAD], right[HEAD], solved[HEAD];
  for (int a = 0; n > nc && a < HEAD; a++)
    for (int b = 0; b < HEAD; b++)
      head_block[a * HEAD + b] =
          self->h[(size_t)(nc + a) * (size_t)n + (size_t)(nc + b)] + (a == b ? 1e-15 : 0.0);
  for (int c = 0; n > nc && c <= nc; c++) {
    for (int a = 0; a < HEAD; a++)
      right[a] = c < nc ? self->h[(size_t)(nc + a) * (size_t)n + (size_t)c] : self->g[nc + a];
    if (!pla_box_solve(HEAD, head_block, keep, right, solved, scratch))
      return PLA_OK;
    memcpy(rows + (size_t)c * HEAD, solved, sizeof solved);
  }
  for (int a = 0; n > nc && a < nc; a++)
    for (int k = 0; k < HEAD; k++) {
      const double with = scale * self->h[(size_t)(nc + k) * (size_t)n + (size_t)a];
      g[a] -= with * rows[(size_t)nc * HEAD + (size_t)k];
      for (int b = 0; b < nc; b++)
        h[(size_t)a * (size_t)nc + (size_t)b] -= with * rows[(size_t)b * HEAD + (size_t)k];
    }
  return PLA_OK;
}
