/* The step from linear to quadratic tets, by conjugate gradients.
 *
 * Unknowns are the free vertices, then the bubbles.  The preconditioner smooths the bubbles by
 * their own 3x3 blocks, corrects the vertices by a factor of the linear elements, and smooths
 * again: in a hierarchical basis the number of iterations does not grow with the mesh. */
#include "sim/estimate/estimate.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/estimate/bubbles-private.h"
#include "sim/solve/system.h"
#include "sim/solve/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the residual: the shift of a column under its own weight is then right to 0.3 %, at a
 * hundredth to 9 %. */
#define ACCURACY 1e-3
enum { MOST_ITERATIONS = 200 };
/* Jacobi steps on bubbles overshoot: six edges of a tet share its stiffness. */
#define RELAXATION 1.0
/* Linear tets lock, and a locked factor corrects nothing: their term of volume is at most so many
 * shear moduli, as in the solver of the mixed formulation. */
#define MOST_BULK 9.0

/* A vertex of a surface that rides in a tet moves with its bubbles too: by 4 w_i w_j of each.  What
 * holds or pulls it at the solution stays with the linear functions, and resists the bubbles: a
 * surface may lie beyond the corners of the tet that it follows, where bubbles are steep, and
 * driven there they would drag it along (twice the error of a clamped bar was estimated so). */
typedef struct {
  int vert;
  int edge[PLA_TET_EDGES];      /* -1: none */
  double weight[PLA_TET_EDGES]; /* of its bubble */
} Rider;

typedef struct {
  const PlaFemConditions *conditions;
  PlaFemModel plain;   /* as standard elements; borrows everything */
  PlaFemSystem system; /* of the linear functions */
  double *others;      /* stiffness of contacts and pressure: values of the system's pattern */
  unsigned char *idle; /* springs that do nothing */
  PlaBubbles bubbles;
  int n_riders;
  Rider *rider;
  int *rider_of;       /* vertex -> rider, or -1 (n_verts) */
  unsigned char *held; /* bubbles that stay zero (n_edges x 3) */
  double *inverse;     /* of the bubbles' own stiffness, relaxed (n_edges x 9) */
  double *v, *e;       /* scratch: vertices, bubbles */
  double *kv, *ke;     /* and their forces */
  double *r;           /* and a residual of all unknowns */
} Step;

static void
step_clear(Step *self)
{
  pla_fem_system_clear(&self->system);
  pla_bubbles_clear(&self->bubbles);
  free(self->others);
  free(self->rider);
  free(self->rider_of);
  free(self->idle);
  free(self->held);
  free(self->inverse);
  free(self->v);
  free(self->e);
  free(self->kv);
  free(self->ke);
  free(self->r);
}

/* ---- which bubbles there are ---- */

/* the bubble between vertices @a and @b, or -1 */
static int
find_edge(const PlaBubbles *self, int a, int b)
{
  const int low = a < b ? a : b, high = a < b ? b : a;
  int from = 0, to = self->n_edges;
  while (from < to) {
    const int middle = from + (to - from) / 2;
    const int *edge = self->edge + 2 * (size_t)middle;
    if (edge[0] < low || (edge[0] == low && edge[1] < high))
      from = middle + 1;
    else
      to = middle;
  }
  return from < self->n_edges && self->edge[2 * from] == low && self->edge[2 * from + 1] == high
             ? from
             : -1;
}

/* Prescribed motions are linear along an edge.  Where a vertex hangs on an edge or face of a larger
 * cell, that must stay straight. */
static PlaStatus
hold_bubbles(Step *self, PlaError *err)
{
  const PlaBubbles *bubbles = &self->bubbles;
  const PlaFemBindings *bindings = self->conditions->bindings;
  const unsigned char *fixed = self->conditions->fixed;
  const PlaIncidence *around = &self->plain.incidence;
  self->held = pla_array_new0((size_t)bubbles->n_edges, 3);
  if (!self->held)
    return pla_fail_memory(err, "the estimate of the error");
  for (int e = 0; fixed && e < bubbles->n_edges; e++)
    for (int d = 0; d < 3; d++)
      self->held[3 * e + d] =
          fixed[3 * bubbles->edge[2 * e] + d] && fixed[3 * bubbles->edge[2 * e + 1] + d];
  for (int b = 0; bindings && b < bindings->n; b++) {
    const int v = bindings->vert[b], *parent;
    const double *weight;
    if (around->start[v] == around->start[v + 1])
      continue; /* of a surface that rides in the cells */
    const int n = pla_binding_get(bindings, b, &parent, &weight);
    for (int i = 0; i < n; i++)
      for (int j = i + 1; j < n; j++) {
        const int e = find_edge(bubbles, parent[i], parent[j]);
        if (e >= 0)
          memset(self->held + 3 * e, 1, 3);
      }
  }
  return PLA_OK;
}

/* ---- surfaces that ride in the cells ---- */

static PlaStatus
find_riders(Step *self, PlaError *err)
{
  const PlaFemBindings *bindings = self->conditions->bindings;
  const PlaIncidence *around = &self->plain.incidence;
  const size_t n_verts = (size_t)self->plain.n_verts;
  self->rider_of = pla_array_new(n_verts, sizeof *self->rider_of);
  self->rider = pla_array_new(bindings ? (size_t)bindings->n : 1, sizeof *self->rider);
  if (!self->rider || !self->rider_of)
    return pla_fail_memory(err, "the estimate of the error");
  memset(self->rider_of, -1, n_verts * sizeof *self->rider_of);
  for (int b = 0; bindings && b < bindings->n; b++) {
    const int v = bindings->vert[b], *parent;
    const double *weight;
    const int n = pla_binding_get(bindings, b, &parent, &weight);
    if (n != 4 || around->start[v] < around->start[v + 1])
      continue;
    Rider *rider = &self->rider[self->n_riders];
    rider->vert = v;
    for (int k = 0; k < PLA_TET_EDGES; k++) {
      const int i = pla_tet_edge[k][0], j = pla_tet_edge[k][1];
      rider->edge[k] = find_edge(&self->bubbles, parent[i], parent[j]);
      rider->weight[k] = 4.0 * weight[i] * weight[j];
    }
    self->rider_of[v] = self->n_riders++;
  }
  return PLA_OK;
}

/* moves riders by the bubbles @e */
static void
place_riders(const Step *self, const double *e, double *v)
{
  for (int r = 0; r < self->n_riders; r++)
    for (int k = 0; k < PLA_TET_EDGES; k++)
      for (int d = 0; self->rider[r].edge[k] >= 0 && d < 3; d++)
        v[3 * self->rider[r].vert + d] +=
            self->rider[r].weight[k] * e[3 * self->rider[r].edge[k] + d];
}

/* hands what acts on riders to bubbles; vertices get their part by the bindings */
static void
reduce_riders(const Step *self, const double *kv, double *ke)
{
  for (int r = 0; r < self->n_riders; r++)
    for (int k = 0; k < PLA_TET_EDGES; k++)
      for (int d = 0; self->rider[r].edge[k] >= 0 && d < 3; d++)
        ke[3 * self->rider[r].edge[k] + d] +=
            self->rider[r].weight[k] * kv[3 * self->rider[r].vert + d];
}

/* kv += stiffness of the springs times @v */
static void
add_springs(const Step *self, const double *v, double *kv)
{
  const PlaFemSprings *springs = self->conditions->springs;
  for (int s = 0; springs && s < springs->n; s++) {
    const PlaSpring *spring = &springs->spring[s];
    double gap[3] = { 0.0, 0.0, 0.0 }, force[3];
    if (self->idle[s])
      continue;
    for (int i = 0; i < 3 * spring->n_verts; i++)
      gap[i % 3] += spring->weight[i / 3] * v[3 * spring->vert[i / 3] + i % 3];
    pla_mat3_apply(spring->stiffness, gap, force);
    for (int i = 0; i < 3 * spring->n_verts; i++)
      kv[3 * spring->vert[i / 3] + i % 3] += spring->weight[i / 3] * force[i % 3];
  }
}

/* adds what springs hold of each bubble to its own stiffness */
static void
add_spring_blocks(const Step *self, double *block)
{
  const PlaFemSprings *springs = self->conditions->springs;
  for (int s = 0; springs && s < springs->n; s++) {
    const PlaSpring *spring = &springs->spring[s];
    for (int i = 0; !self->idle[s] && i < spring->n_verts; i++) {
      const int r = self->rider_of[spring->vert[i]];
      for (int k = 0; r >= 0 && k < PLA_TET_EDGES; k++) {
        const double w = spring->weight[i] * self->rider[r].weight[k];
        for (int d = 0; self->rider[r].edge[k] >= 0 && d < 9; d++)
          block[9 * (size_t)self->rider[r].edge[k] + (size_t)d] += w * w * spring->stiffness[d];
      }
    }
  }
}

/* which springs do nothing at @pos */
static PlaStatus
find_idle(Step *self, const double *pos, PlaError *err)
{
  const PlaFemSprings *springs = self->conditions->springs;
  self->idle = pla_array_new0(springs ? (size_t)springs->n : 1, 1);
  for (int s = 0; self->idle && springs && s < springs->n; s++) {
    double gap[3];
    pla_spring_gap(&springs->spring[s], pos, gap);
    self->idle[s] = pla_spring_is_idle(&springs->spring[s], gap);
  }
  return self->idle ? PLA_OK : pla_fail_memory(err, "the estimate of the error");
}

static void
release(const Step *self, double *on_edges)
{
  for (size_t i = 0; i < 3 * (size_t)self->bubbles.n_edges; i++)
    if (self->held[i])
      on_edges[i] = 0.0;
}

/* inverse of each bubble's block; of those without stiffness 0 */
static PlaStatus
invert_diagonal(Step *self, PlaError *err)
{
  const PlaBubbles *bubbles = &self->bubbles;
  self->inverse = pla_array_new(9 * (size_t)bubbles->n_edges, sizeof *self->inverse);
  if (!self->inverse)
    return pla_fail_memory(err, "the estimate of the error");
  pla_bubbles_diagonal(bubbles, self->inverse);
  add_spring_blocks(self, self->inverse);
#pragma omp parallel for schedule(static)
  for (int e = 0; e < bubbles->n_edges; e++) {
    double *block = self->inverse + 9 * (size_t)e, out[9];
    const unsigned char *held = self->held + 3 * (size_t)e;
    const double size = block[0] + block[4] + block[8];
    for (int i = 0; i < 9; i++)
      if (held[i / 3] || held[i % 3])
        block[i] = i % 4 == 0 ? size : 0.0;
    /* what pressure adds may leave a block indefinite where the body is about to buckle */
    if (!(size > 0.0) || pla_mat3_invert(block, out) <= 1e-6 * size * size * size ||
        !(out[0] > 0.0 && out[4] > 0.0 && out[8] > 0.0)) {
      memset(out, 0, sizeof out);
      for (int d = 0; d < 3; d++)
        out[4 * d] = size > 0.0 ? 3.0 / size : 0.0;
    }
    for (int i = 0; i < 9; i++)
      block[i] = RELAXATION * out[i];
  }
  return PLA_OK;
}

/* ---- the operator ---- */

/* vertices from unknowns; bound ones follow */
static void
expand(const Step *self, const double *x, double *v)
{
  memset(v, 0, 3 * (size_t)self->plain.n_verts * sizeof *v);
  pla_fem_system_add(&self->system, x, 1.0, v);
  if (self->conditions->bindings)
    pla_bindings_place(self->conditions->bindings, v);
}

/* unknowns from forces on vertices, which are changed, and on bubbles */
static void
collect(const Step *self, double *kv, double *ke, double *y)
{
  const size_t n = 3 * (size_t)self->system.n_blocks;
  reduce_riders(self, kv, ke);
  if (self->conditions->bindings)
    pla_bindings_reduce(self->conditions->bindings, 3, kv);
  pla_fem_system_gather(&self->system, kv, y);
  release(self, ke);
  memcpy(y + n, ke, 3 * (size_t)self->bubbles.n_edges * sizeof *y);
}

static PlaStatus
apply(void *data, const double *x, double *y, PlaError *err)
{
  Step *self = data;
  const size_t n = 3 * (size_t)self->system.n_blocks;
  (void)err;
  expand(self, x, self->v);
  memcpy(self->e, x + n, 3 * (size_t)self->bubbles.n_edges * sizeof *self->e);
  release(self, self->e);
  pla_bubbles_apply(&self->bubbles, self->v, self->e, self->kv, self->ke);
  place_riders(self, self->e, self->v);
  add_springs(self, self->v, self->kv);
  collect(self, self->kv, self->ke, y);
  /* contacts and pressure */
  PlaBlockMatrix others = self->system.matrix;
  others.value = self->others;
  pla_block_matrix_mul(&others, x, self->v);
  for (size_t i = 0; i < n; i++)
    y[i] = self->system.fixed[i] ? 0.0 : y[i] + self->v[i];
  return PLA_OK;
}

/* z += D^-1 r on the bubbles */
static void
smooth(const Step *self, const double *r, double *z)
{
#pragma omp parallel for schedule(static)
  for (int e = 0; e < self->bubbles.n_edges; e++) {
    double d[3];
    pla_mat3_apply(self->inverse + 9 * (size_t)e, r + 3 * (size_t)e, d);
    for (int i = 0; i < 3; i++)
      z[3 * (size_t)e + (size_t)i] += self->held[3 * (size_t)e + (size_t)i] ? 0.0 : d[i];
  }
}

static PlaStatus
precondition(void *data, const double *r, double *z, PlaError *err)
{
  Step *self = data;
  const size_t first = 3 * (size_t)self->system.n_blocks;
  memset(z + first, 0, 3 * (size_t)self->bubbles.n_edges * sizeof *z);
  smooth(self, r + first, z + first);
  return first > 0 ? pla_cholesky_solve(self->system.factor, r, z, err) : PLA_OK;
}

/* ---- setting up ---- */

/* a factor of the linear elements with what else acts; *definite: there is one */
static PlaStatus
factor_linear(Step *self, const double *pos, PlaProgress *progress, bool *definite, PlaError *err)
{
  PlaFemSystem *system = &self->system;
  const size_t n_values = 9 * (size_t)system->matrix.start[system->n_blocks];
  double local[144];
  memset(system->matrix.value, 0, n_values * sizeof *system->matrix.value);
  PlaFemConditions conditions = *self->conditions;
  conditions.springs = NULL;
  pla_terms_add_stiffness(system, &conditions, pos, true);
  self->others = pla_array_dup(system->matrix.value, n_values, sizeof *self->others);
  if (!self->others)
    return pla_fail_memory(err, "the estimate of the error");
  memset(system->matrix.value, 0, n_values * sizeof *system->matrix.value);
  pla_terms_add_stiffness(system, self->conditions, pos, true);
  for (int t = 0; t < self->plain.n_tets; t++) {
    const double *constants;
    const PlaMaterial *law = pla_fem_cell_law(&self->plain, t, &constants);
    double mu, lambda, vol;
    pla_material_moduli(law, constants, &mu, &lambda, &vol);
    pla_bubbles_linear(&self->bubbles, t, MOST_BULK * mu, local);
    pla_fem_system_add_local(system, 4, self->plain.tet + 4 * (size_t)t, local);
  }
  pla_fem_system_constrain(system);
  return pla_cholesky_factor(system->factor, &system->matrix, PLA_SINGLE, progress, definite, err);
}

static PlaStatus
step_init(Step *self, const PlaFemModel *model, const PlaFemConditions *conditions,
          const double gravity[3], const double *pos, bool project, PlaProgress *progress,
          bool *definite, PlaError *err)
{
  PlaVertSets links = { 0 };
  *self = (Step){ .conditions = conditions, .plain = *model };
  self->plain.formulation = PLA_FORMULATION_STANDARD;
  self->plain.patches = NULL;
  self->plain.domains = NULL;
  PlaStatus st = pla_bubbles_init(&self->bubbles, model, pos, gravity, project, err);
  if (st == PLA_OK)
    st = hold_bubbles(self, err);
  if (st == PLA_OK)
    st = find_riders(self, err);
  if (st == PLA_OK)
    st = find_idle(self, pos, err);
  if (st == PLA_OK)
    st = invert_diagonal(self, err);
  if (st == PLA_OK)
    st = pla_terms_links(conditions, &links, err);
  if (st == PLA_OK)
    st = pla_fem_system_init(&self->system, &self->plain, conditions, &links, err);
  if (st == PLA_OK) {
    const size_t n_verts = (size_t)model->n_verts, n_edges = (size_t)self->bubbles.n_edges;
    self->v = pla_array_new(3 * n_verts, sizeof *self->v);
    self->kv = pla_array_new(3 * n_verts, sizeof *self->kv);
    self->e = pla_array_new(3 * n_edges, sizeof *self->e);
    self->ke = pla_array_new(3 * n_edges, sizeof *self->ke);
    self->r = pla_array_new(3 * ((size_t)self->system.n_blocks + n_edges), sizeof *self->r);
    if (!self->v || !self->kv || !self->e || !self->ke || !self->r)
      st = pla_fail_memory(err, "the estimate of the error");
  }
  *definite = true;
  if (st == PLA_OK && self->system.n_blocks > 0)
    st = factor_linear(self, pos, progress, definite, err);
  pla_vert_sets_clear(&links);
  return st;
}

/* Forces of quadratic tets at the solution, N: on vertices (n_verts x 3, prescribed and bound ones
 * too) and on bubbles.  @model_forces: those of the model's own elements, with all else. */
static PlaStatus
unbalanced(Step *self, const PlaFemModel *model, const double *pos, double *on_verts,
           double *on_edges, double *model_forces, PlaError *err)
{
  const size_t n = 3 * (size_t)model->n_verts;
  PlaStatus st = pla_terms_forces(model, self->conditions, pos, model_forces, err);
  if (st == PLA_OK)
    st = pla_fem_forces(model, pos, self->v, err);
  pla_bubbles_forces(&self->bubbles, on_verts, on_edges);
  for (size_t i = 0; i < n; i++)
    on_verts[i] += model_forces[i] - self->v[i];
  return st;
}

/* von Mises stress of tet @t at F + @more */
static double
von_mises(const PlaFemModel *model, int t, const double *pos, const double more[9])
{
  PlaPoint point = { 0 };
  const double *constants;
  const PlaMaterial *law = pla_fem_cell_law(model, t, &constants);
  double p[9], sigma[9], sum = 0.0;
  pla_fem_tet_gradient(model, t, pos, point.f);
  for (int i = 0; i < 9; i++)
    point.f[i] += more[i];
  pla_point_decompose(&point);
  pla_fem_cell_point(model, t, &point);
  pla_material_stress(law, constants, &point, p);
  pla_mat3_mul_nt(p, point.f, sigma);
  const double mean = (sigma[0] + sigma[4] + sigma[8]) / 3.0;
  for (int i = 0; i < 9; i++) {
    const double d = sigma[i] - (i % 4 == 0 ? mean : 0.0);
    sum += d * d;
  }
  return sqrt(1.5 * sum) / fmax(fabs(pla_mat3_det(point.f)), 1e-12);
}

/* what the solution @x of the step means */
static void
read_out(Step *self, const PlaFemModel *model, const double *pos, const double *x,
         const double *on_verts, const double *model_forces, PlaErrorEstimate *out)
{
  static const double none[9] = { 0.0 };
  const size_t first = 3 * (size_t)self->system.n_blocks;
  expand(self, x, out->shift);
  memcpy(self->e, x + first, 3 * (size_t)self->bubbles.n_edges * sizeof *self->e);
  release(self, self->e);
  place_riders(self, self->e, out->shift);
#pragma omp parallel for schedule(static)
  for (int t = 0; t < model->n_tets; t++) {
    double more[9];
    pla_bubbles_mean_gradient(&self->bubbles, t, out->shift, self->e, more);
    out->von_mises_pa[t] = von_mises(model, t, pos, more) - von_mises(model, t, pos, none);
  }
  double volume = 0.0, sum = 0.0;
  for (int t = 0; t < model->n_tets; t++) {
    volume += model->tet_volume[t];
    sum += model->tet_volume[t] * out->von_mises_pa[t] * out->von_mises_pa[t];
  }
  out->von_mises_rms_pa = volume > 0.0 ? sqrt(sum / volume) : 0.0;
  pla_bubbles_apply(&self->bubbles, out->shift, self->e, self->kv, self->ke);
  const size_t n = 3 * (size_t)model->n_verts;
  for (size_t i = 0; i < n; i++)
    out->reaction[i] = self->kv[i] - (on_verts[i] - model_forces[i]);
  if (self->conditions->bindings)
    pla_bindings_reduce(self->conditions->bindings, 3, out->reaction);
  for (size_t i = 0; i < n; i++)
    if (!self->conditions->fixed || !self->conditions->fixed[i])
      out->reaction[i] = 0.0;
}

void
pla_error_estimate_clear(PlaErrorEstimate *self)
{
  free(self->shift);
  free(self->von_mises_pa);
  free(self->reaction);
  *self = (PlaErrorEstimate){ 0 };
}

/* The step with tangents that are projected or not; *definite is false, and nothing was found, when
 * they do not give a minimum. */
static PlaStatus
take_step(PlaErrorEstimate *self, const PlaFemModel *model, const PlaFemConditions *conditions,
          const double gravity[3], const double *pos, bool project, PlaProgress *progress,
          bool *definite, PlaError *err)
{
  Step step = { 0 };
  PlaStatus st =
      step_init(&step, model, conditions, gravity, pos, project, progress, definite, err);
  const size_t n_verts = (size_t)model->n_verts, n_edges = (size_t)step.bubbles.n_edges;
  const size_t n = 3 * ((size_t)step.system.n_blocks + n_edges);
  double *on_verts = pla_array_new(3 * n_verts, sizeof *on_verts), *b = pla_array_new(n, sizeof *b);
  double *model_forces = pla_array_new(3 * n_verts, sizeof *model_forces), *reduced = NULL;
  double *on_edges = pla_array_new(3 * n_edges, sizeof *on_edges);
  double *x = pla_array_new0(n, sizeof *x);
  if (st == PLA_OK && !(on_verts && on_edges && model_forces && b && x))
    st = pla_fail_memory(err, "the estimate of the error");
  if (st == PLA_OK && *definite)
    st = unbalanced(&step, model, pos, on_verts, on_edges, model_forces, err);
  if (st == PLA_OK && !(reduced = pla_array_dup(on_verts, 3 * n_verts, sizeof *reduced)))
    st = pla_fail_memory(err, "the estimate of the error");
  if (st == PLA_OK && *definite) {
    const PlaPcg pcg = { n, &step, apply, precondition };
    collect(&step, reduced, on_edges, b);
    st = pla_pcg_solve(&pcg, b, ACCURACY, MOST_ITERATIONS, progress, x, &self->solve, err);
    *definite = st == PLA_OK && !self->solve.negative_curvature;
  }
  if (st == PLA_OK && *definite)
    read_out(&step, model, pos, x, on_verts, model_forces, self);
  free(on_verts);
  free(on_edges);
  free(model_forces);
  free(reduced);
  free(b);
  free(x);
  step_clear(&step);
  return st;
}

PlaStatus
pla_error_estimate_init(PlaErrorEstimate *self, const PlaFemModel *model,
                        const PlaFemConditions *conditions, const double gravity[3],
                        const double *pos, PlaProgress *progress, PlaError *err)
{
  const size_t n_verts = (size_t)model->n_verts;
  bool definite = false;
  *self = (PlaErrorEstimate){ 0 };
  if (model->n_hexes > 0)
    return pla_fail(err, PLA_ERR_USAGE, "errors are estimated for meshes of tets alone");
  if (conditions->inertia || conditions->damping)
    return pla_fail(err, PLA_ERR_USAGE, "errors are estimated for equilibria, not for motion");
  self->shift = pla_array_new0(3 * n_verts, sizeof *self->shift);
  self->reaction = pla_array_new0(3 * n_verts, sizeof *self->reaction);
  self->von_mises_pa = pla_array_new0((size_t)model->n_tets, sizeof *self->von_mises_pa);
  PlaStatus st = self->shift && self->reaction && self->von_mises_pa
                     ? PLA_OK
                     : pla_fail_memory(err, "the estimate of the error");
  /* quadratic tets may not be at a minimum where coarse linear ones are: in bends of a body that
   * is near buckling */
  for (int project = 0; st == PLA_OK && !definite && project < 2; project++)
    st = take_step(self, model, conditions, gravity, pos, project, progress, &definite, err);
  if (st == PLA_OK && !definite)
    st = pla_fail(err, PLA_ERR_GEOMETRY,
                  "the equilibrium is not stable enough to estimate its error");
  if (st != PLA_OK)
    pla_error_estimate_clear(self);
  return st;
}
