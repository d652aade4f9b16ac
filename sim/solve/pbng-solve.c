/* Quasistatic equilibrium by sweeps over the vertices alone.
 *
 * A vertex that is bound to others moves by itself in a sweep, held by a spring to where its
 * parents want it.  The spring remembers: each time the residual is looked at, its pull becomes
 * part of what it pulls with at length zero (the method of multipliers, Hestenes 1969), so that at
 * the end it has length zero and carries what the binding carries.
 *
 * Springs much stiffer than the cells around them would keep the vertices they join from moving
 * together, a sweep taking each by itself.  They are softened the same way: a spring of k' that
 * remembers m pulls with k' (C + m), and m <- (C + m) / (1 + k'/k) ends where that is k C. */
#include "sim/fem/model-data.h"
#include "sim/solve/pbng.h"
#include "sim/solve/solvers.h"
#include "sim/solve/terms.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/svd3.h"
#include "sim/solve/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  CHECK = 10,          /* sweeps between two looks at the residual, which costs about one */
  PER_ITERATION = 100, /* sweeps for each iteration that the caller allows: the work of one */
  STALLED = 60,        /* looks without progress */
};

static const double bond =
    4.0; /* stiffness of a binding's spring, in that of the cells around it */

typedef struct {
  const PlaFemModel *model;
  const PlaFemConditions *given;
  PlaFemConditions conditions; /* without bindings, with their springs */
  PlaFemSprings springs;
  PlaSpring *spring; /* those given, softened, then one for each binding; or NULL */
  double *memory;    /* 3x3 of each: what part of its length it remembers */
  double *force;     /* n_verts x 3 */
  double *pos;       /* n_verts x 3; only with springs that remember */
  bool remembers;    /* some spring does */
  PlaPbng *state;
} Sweeps;

/* mu times the size of the cells around @vert, N/m: about what its neighbours hold it with */
static double
stiffness_around(const PlaFemModel *model, int vert)
{
  const PlaIncidence *inc = &model->incidence;
  double sum = 0.0;
  for (int k = inc->start[vert]; k < inc->start[vert + 1]; k++) {
    const bool tet = inc->corner[k] < 4 * model->n_tets;
    const int c =
        tet ? inc->corner[k] / 4 : model->n_tets + (inc->corner[k] - 4 * model->n_tets) / 8;
    const PlaFemMaterial *m = &model->material[model->cell_material[c]];
    double mu, lambda, vol, volume = tet ? model->tet_volume[c] : 0.0;
    for (size_t q = 0; !tet && q < 8; q++)
      volume += model->hex_weight[8 * (size_t)(c - model->n_tets) + q];
    pla_material_moduli(m->material, m->constants, &mu, &lambda, &vol);
    sum += mu * cbrt(volume);
  }
  return sum;
}

/* makes @spring no stiffer than the cells around it allow; whether it was */
static bool
soften(const PlaFemModel *model, PlaSpring *spring, double memory[9])
{
  double around = 0.0, w[3], q[9];
  for (int a = 0; a < spring->n_verts; a++)
    around = fmax(around, bond * stiffness_around(model, spring->vert[a]));
  pla_eig3(spring->stiffness, w, q);
  memset(memory, 0, 9 * sizeof *memory);
  if (!(w[2] > around) || !(around > 0.0))
    return false;
  for (int i = 0; i < 9; i++) {
    spring->stiffness[i] = 0.0;
    for (int k = 0; k < 3; k++) {
      const double dyad = q[3 * (i / 3) + k] * q[3 * (i % 3) + k];
      spring->stiffness[i] += fmin(w[k], around) * dyad;
      memory[i] += w[k] > around ? dyad / (1.0 + around / w[k]) : 0.0;
    }
  }
  return true;
}

/* springs for bindings, beside those that are there */
static PlaStatus
bind(Sweeps *self, int n_given, PlaError *err)
{
  const PlaFemBindings *bindings = self->given->bindings;
  for (int e = 0; bindings && e < bindings->n; e++) {
    PlaSpring *spring = &self->spring[n_given + e];
    const int *parent;
    const double *weight;
    const int k = pla_binding_get(bindings, e, &parent, &weight);
    if (k >= PLA_SPRING_VERTS)
      return pla_fail(
          err, PLA_ERR_USAGE,
          "vertex %d is bound to %d others, too many for the solver 'pbng'; use 'newton'",
          bindings->vert[e], k);
    spring->n_verts = k + 1;
    spring->vert[0] = bindings->vert[e];
    spring->weight[0] = 1.0;
    for (int i = 0; i < k; i++) {
      spring->vert[i + 1] = parent[i];
      spring->weight[i + 1] = -weight[i];
    }
    for (int d = 0; d < 3; d++)
      spring->stiffness[4 * d] = bond * stiffness_around(self->model, bindings->vert[e]);
    pla_mat3_identity(self->memory + 9 * (size_t)(n_given + e));
  }
  return PLA_OK;
}

/* the springs that remember, if any has to */
static PlaStatus
make_springs(Sweeps *self, PlaError *err)
{
  const int n_given = self->given->springs ? self->given->springs->n : 0;
  const int n_bound = self->given->bindings ? self->given->bindings->n : 0;
  bool stiff = false;
  if (n_given + n_bound == 0)
    return PLA_OK;
  self->spring = pla_array_new0((size_t)(n_given + n_bound), sizeof *self->spring);
  self->memory = pla_array_new0((size_t)(n_given + n_bound), 9 * sizeof *self->memory);
  self->pos = pla_array_new((size_t)self->model->n_verts, 3 * sizeof *self->pos);
  if (!self->spring || !self->memory || !self->pos)
    return pla_fail_memory(err, "the solver");
  for (int s = 0; s < n_given; s++) {
    self->spring[s] = self->given->springs->spring[s];
    /* what touches is looked at by the sweeps alone, with these springs as they are */
    if (!self->given->contacts)
      stiff |= soften(self->model, &self->spring[s], self->memory + 9 * (size_t)s);
  }
  PlaStatus st = bind(self, n_given, err);
  self->remembers = stiff || n_bound > 0;
  self->springs = (PlaFemSprings){ n_given + n_bound, self->spring };
  self->conditions.springs = &self->springs;
  self->conditions.bindings = NULL;
  return st;
}

/* the positions and the norm of their residual, N; bound vertices where their parents have them */
static PlaStatus
look(Sweeps *self, double *pos, double *norm, PlaError *err)
{
  const size_t n = 3 * (size_t)self->model->n_verts;
  pla_pbng_get_positions(self->state, pos);
  if (!self->remembers) {
    *norm = pla_pbng_residual(self->state);
    return PLA_OK;
  }
  if (self->given->bindings)
    pla_bindings_place(self->given->bindings, pos);
  PlaStatus st = pla_terms_forces(self->model, self->given, pos, self->force, err);
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    self->force[i] = self->given->fixed[i] ? 0.0 : self->force[i];
  for (int e = 0; st == PLA_OK && self->given->bindings && e < self->given->bindings->n; e++)
    memset(self->force + 3 * (size_t)self->given->bindings->vert[e], 0, 3 * sizeof(double));
  *norm = pla_norm2(self->force, n);
  return st;
}

/* a part of what springs pull with now, they pull with at length zero from now on */
static PlaStatus
remember(Sweeps *self, PlaError *err)
{
  if (!self->remembers)
    return PLA_OK;
  pla_pbng_get_positions(self->state, self->pos);
  const int n_given = self->given->springs ? self->given->springs->n : 0;
  for (int s = 0; s < self->springs.n; s++) {
    double gap[3], kept[3];
    pla_spring_gap(&self->spring[s], self->pos, gap);
    pla_mat3_apply(self->memory + 9 * (size_t)s, gap, kept);
    for (int d = 0; d < 3; d++)
      self->spring[s].offset[d] =
          (s < n_given ? self->given->springs->spring[s].offset[d] : 0.0) - kept[d];
  }
  return pla_pbng_set_springs(self->state, self->spring, self->springs.n, err);
}

PlaStatus
pla_fem_solve_pbng(const PlaFemModel *model, const PlaFemConditions *conditions,
                   const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  if (model->formulation != PLA_FORMULATION_STANDARD)
    return pla_fail(err, PLA_ERR_USAGE,
                    "the solver 'pbng' does not handle the formulation 'mixed'; use 'newton'");
  const size_t n_coords = 3 * (size_t)pla_fem_model_n_verts(model);
  const double limit = (double)PER_ITERATION * options->max_iterations;
  PlaPbngOptions own = pla_pbng_options_default();
  Sweeps self = { .model = model, .given = conditions, .conditions = *conditions };
  double *best = pla_array_dup(pos, n_coords, sizeof *best), least = INFINITY, marked = INFINITY;
  self.force = pla_array_new(n_coords, sizeof *self.force);
  PlaStatus st = best && self.force ? PLA_OK : pla_fail_memory(err, "the solver");
  if (st == PLA_OK)
    st = make_springs(&self, err);
  if (st == PLA_OK)
    st = pla_pbng_new(model, &self.conditions, &own, pos, &self.state, err);
  int since = 0;
  report->reason = PLA_STOP_ITERATIONS;
  for (int sweeps = 0; st == PLA_OK; sweeps += CHECK) {
    double norm = 0.0;
    st = look(&self, pos, &norm, err);
    if (st != PLA_OK)
      break;
    if (sweeps == 0)
      report->residual_scale_n =
          fmax(report->residual_scale_n, fmax(norm, pla_fem_load_norm(model, conditions)));
    if (norm < least) {
      least = norm;
      memcpy(best, pos, n_coords * sizeof *best);
    }
    double rel = report->residual_scale_n > 0.0 ? least / report->residual_scale_n : 0.0;
    report->residual_n = least;
    report->residual_rel = rel;
    since = least < 0.99 * marked ? 0 : since + 1;
    marked = since == 0 ? least : marked;
    bool settled = false;
    if (rel <= options->tolerance_rel)
      st = pla_fem_is_settled(model, conditions, best, least,
                              since < STALLED ? options->tolerance_rel : PLA_SETTLED_AT_ROUNDING,
                              self.force, &settled, err);
    if (st != PLA_OK)
      break;
    if (settled || since >= STALLED) {
      report->reason = settled ? PLA_STOP_CONVERGED : PLA_STOP_STALLED;
      break;
    }
    if (sweeps >= limit)
      break;
    if (!pla_progress_step(options->progress, log(rel) / log(options->tolerance_rel))) {
      report->reason = PLA_STOP_CANCELLED;
      break;
    }
    if (sweeps > 0)
      st = remember(&self, err);
    if (st != PLA_OK)
      break;
    pla_pbng_sweep(self.state, CHECK);
    report->iterations += CHECK;
  }
  if (st == PLA_OK)
    memcpy(pos, best, n_coords * sizeof *pos);
  pla_pbng_free(self.state);
  free(best);
  free(self.spring);
  free(self.memory);
  free(self.force);
  free(self.pos);
  return st;
}
