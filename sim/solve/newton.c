/* Quasistatic equilibrium by Newton's method on the energy.
 *
 * Each step solves K dx = f with the exact tangent, by conjugate gradients preconditioned with the
 * newest Cholesky factor there is (single precision).  A new factor is made only when the old one
 * no longer serves: the iteration count decides, not the clock, so runs repeat bit for bit.  When
 * the exact tangent is not definite, the element-wise projected one takes its place.  The step
 * length makes the energy fall (Armijo); energies are defined for inverted elements too, so this is
 * sound everywhere.  Near the end, where differences of the energy are below its rounding error,
 * the residual decides.
 *
 * Large tets of the mixed formulation are preconditioned by a factor of standard elements and a
 * smoother (sim/solve/near.h) instead, as long as that converges.
 *
 * The energy of a nearly incompressible body (mixed formulation) is a narrow curved valley, in
 * which descent is slow.  Continuation helps: the body is solved roughly with a smaller volume
 * modulus, which then rises in stages. */
#include "sim/solve/solvers.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/contact/contact.h"
#include "sim/linear/gmres.h"
#include "sim/solve/near.h"
#include "sim/solve/solve.h"
#include "sim/solve/terms.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  OLD_FACTOR_ITERATIONS = 12, /* conjugate gradients with an older factor before a new one pays, */
  LARGE_FACTOR_ITERATIONS = 40, /* and at most, where a factor costs much more than its use */
  NEW_FACTOR_ITERATIONS = 60,   /* with the factor of the very matrix, or of its projection */
  NEAR_VERTS = 1000,        /* smaller bodies of the mixed formulation are factored as they are */
  OLD_NEAR_ITERATIONS = 30, /* by an older factor of standard elements, before a new one, */
  NEW_NEAR_ITERATIONS = 60, /* and by the newest, before one of the mixed tangent takes over */
  MAX_HALVINGS = 30, /* a step of 1e-9 of the full one changes no position in double precision */
  MAX_SHIFTS = 12,   /* fourfold each: up to 2e7 times the first shift */
  MOST_IDLE = 6,     /* iterations in a row that change energy and residual by rounding only */
};

/* The first shift moves the body by this share of its extent under the residual alone. */
static const double first_short_step = 0.25;
/* factor between shifts, and the share of the first shift below which it is dropped */
static const double shift_factor = 4.0, least_shift = 1e-3;
/* Continuation in the volume modulus: it starts at 10 shear moduli (a Poisson ratio of about 0.45)
 * and rises tenfold a stage; a stage only supplies a start for the next, so 1 % of the residual is
 * enough. */
static const double first_stage = 10.0;
static const double stage_factor = 10.0;
static const double stage_tolerance = 1e-2;
/* sufficient decrease, c1 of J. Nocedal and S. Wright, Numerical Optimization, 2006, 3.1 */
static const double armijo = 1e-4;
/* A step meets the predicted decrease when the energy falls by this share of the slope times its
 * length; the quadratic model predicts a half. */
static const double met_decrease = 0.25;
/* Largest forcing term.  Tighter than the customary 0.5 (Nocedal and Wright, 7.1), since
 * preconditioned by a factor few iterations reach it. */
static const double roughest_direction = 0.05;
/* Share of the forcing term in the mixed formulation, whose tangent costs more to assemble than
 * some iterations. */
static const double near_direction = 0.1;

typedef struct {
  const PlaFemModel *model;
  PlaFemModel softened; /* the model with patches of a stage */
  PlaFemPatches softened_patches;
  double softness;          /* share of the modulus of patches at this stage, up to 1 */
  const PlaFemModel *given; /* the model as it is, whatever the stage */
  const PlaFemConditions *conditions;
  PlaFemOrder *order; /* or NULL */
  PlaFemSystem system;
  PlaFemNear *near;  /* preconditions in place of the system's factor; NULL: that one does */
  bool without_near; /* it converged too slowly; the order is not that of the system's factor */
  double extent;     /* of the body, m: no step is longer */
  size_t n;          /* scalars of the block arrays */
  double *force;     /* n_verts x 3 */
  double *residual;  /* block array */
  double *step;      /* block array */
  double *trial;     /* n_verts x 3 */
  double work;       /* of the pressure so far, J */
  double grain;      /* J, what rounding of the strains alone does to the energy */
  bool tangled;      /* on the way out of a tangle, where the exact tangent is never definite */
  double loose;      /* mass factor that ties what nothing holds to where it is, 1/s^2 */
  double shift, first_shift; /* mass factor that shortens steps, 1/s^2; 0: none */
  /* at the present shape */
  double energy; /* less the work of the loads, J */
  double norm;   /* of the residual, N */
  double scale;  /* what the residual is relative to, N */
  int idle;      /* steps in a row that changed nothing but rounding */
} Newton;

/* residual (unbalanced force, N) at @pos as a block array; its norm */
static PlaStatus
find_residual(Newton *self, const double *pos, double *norm, PlaError *err)
{
  PlaStatus st = pla_terms_forces(self->model, self->conditions, pos, self->force, err);
  if (st != PLA_OK)
    return st;
  pla_fem_system_gather(&self->system, self->force, self->residual);
  *norm = pla_norm2(self->residual, self->n);
  return PLA_OK;
}

/* Energy at @pos minus the work of the loads.  The work of a follower pressure depends on the path:
 * it is integrated from rest to the start, along the iterates, and straight on from the last one,
 * @from. */
static double
potential(const Newton *self, const double *from, const double *pos)
{
  double energy = pla_terms_energy(self->model, self->conditions, pos) - self->work;
  if (self->conditions->pressure)
    energy -= pla_pressure_work(self->conditions->pressure, from, pos);
  return energy;
}

/* what the lumped mass adds to the tangent, 1/s^2 */
static double
mass_factor(const Newton *self)
{
  const PlaFemInertia *inertia = self->conditions->inertia;
  return self->loose + self->shift + (inertia ? inertia->factor : 0.0);
}

static void
assemble(Newton *self, const double *pos, bool project)
{
  pla_fem_system_assemble(&self->system, pos, project, mass_factor(self));
  pla_terms_add_stiffness(&self->system, self->conditions, pos, project);
  pla_fem_system_constrain(&self->system);
  if (self->near)
    pla_fem_near_set_matrix(self->near, &self->system.matrix);
}

/* a factor of the assembled tangent, or of standard elements at @pos */
static PlaStatus
make_factor(Newton *self, const double *pos, PlaPrecision precision, PlaProgress *progress,
            bool *definite, PlaFemReport *report, PlaError *err)
{
  report->factorisations++;
  return self->near ? pla_fem_near_factor(self->near, self->conditions, pos, mass_factor(self),
                                          progress, definite, err)
                    : pla_cholesky_factor(self->system.factor, &self->system.matrix, precision,
                                          progress, definite, err);
}

static bool
has_factor(const Newton *self)
{
  return self->near ? pla_fem_near_has_factor(self->near)
                    : self->system.factor && pla_cholesky_has_factor(self->system.factor);
}

/* conjugate gradients on the assembled tangent into self->step */
static PlaStatus
refine(Newton *self, double rel, int max_iterations, PlaProgress *progress, PlaRefineReport *cg,
       PlaFemReport *report, PlaError *err)
{
  PlaStatus st =
      self->near ? pla_fem_near_refine(self->near, self->residual, rel, max_iterations, progress,
                                       self->step, cg, err)
                 : pla_cholesky_refine(self->system.factor, &self->system.matrix, self->residual,
                                       rel, max_iterations, progress, self->step, cg, err);
  report->linear_iterations += cg->iterations;
  return st;
}

/* x + length * step, bound vertices following */
static void
try_step(const Newton *self, const double *pos, double length, double *trial)
{
  memcpy(trial, pos, 3 * (size_t)self->model->n_verts * sizeof *pos);
  pla_fem_system_add(&self->system, self->step, length, trial);
  if (self->conditions->bindings)
    pla_bindings_place(self->conditions->bindings, trial);
}

/* the longest side of the box around the rest shape, m */
static double
extent_of(const PlaFemModel *model)
{
  double extent = 0.0;
  for (size_t d = 0; d < 3; d++) {
    double lo = INFINITY, hi = -INFINITY;
    for (size_t v = 0; v < (size_t)model->n_verts; v++) {
      lo = fmin(lo, model->rest[3 * v + d]);
      hi = fmax(hi, model->rest[3 * v + d]);
    }
    extent = fmax(extent, hi - lo);
  }
  return extent;
}

/* updates the contacts at @pos; @hold: also fixes the places that friction holds on to */
static PlaStatus
update_contacts(Newton *self, const double *pos, bool hold, PlaError *err)
{
  if (!self->conditions->contacts)
    return PLA_OK;
  PlaStatus st = pla_contact_set_update(self->conditions->contacts, pos, 0.0, err);
  if (st == PLA_OK && hold)
    st = pla_contact_set_hold(self->conditions->contacts, err);
  return st;
}

/* The system, and what preconditions it: a factor of its own, or of standard elements.  After a
 * failure there is no system. */
static PlaStatus
make_system(Newton *self, const PlaVertSets *links, PlaError *err)
{
  pla_fem_near_free(self->near);
  self->near = NULL;
  PlaStatus st = pla_fem_system_init_bare(&self->system, self->model, self->conditions, links, err);
  if (st == PLA_OK && self->system.n_blocks > 0) {
    const bool near = !self->without_near && self->model->domains && !self->conditions->damping &&
                      self->system.n_blocks >= NEAR_VERTS;
    st = near
             ? pla_fem_near_new(self->model, self->conditions, links, self->order, &self->near, err)
             : pla_fem_system_analyse(&self->system, self->without_near ? NULL : self->order, err);
    if (st != PLA_OK)
      pla_fem_system_clear(&self->system);
  }
  if (st != PLA_OK)
    self->system = (PlaFemSystem){ 0 };
  return st;
}

/* the factor of standard elements does not serve this body: from now on one of the mixed tangent */
static PlaStatus
leave_near(Newton *self, PlaError *err)
{
  pla_fem_near_free(self->near);
  self->near = NULL;
  self->without_near = true;
  return pla_fem_system_analyse(&self->system, NULL, err);
}

/* Grows the pattern of the matrix when contacts no longer fit into it, with pairs up to twice the
 * thickness apart, so that it seldom has to grow again. */
static PlaStatus
grow_pattern(Newton *self, const double *pos, PlaError *err)
{
  const PlaFemConditions *conditions = self->conditions;
  PlaVertSets links = { 0 };
  if (!conditions->contacts || pla_terms_fit(&self->system, conditions))
    return PLA_OK;
  double thickness = pla_contact_set_thickness(conditions->contacts);
  PlaStatus st = pla_contact_set_update(conditions->contacts, pos, 2.0 * thickness, err);
  if (st == PLA_OK)
    st = pla_terms_links(conditions, &links, err);
  if (st == PLA_OK) {
    pla_fem_system_clear(&self->system);
    st = make_system(self, &links, err);
  }
  pla_vert_sets_clear(&links);
  return st == PLA_OK ? update_contacts(self, pos, false, err) : st;
}

/* the longest step length, up to 1, at which no contact is missed */
static double
safe_length(Newton *self, const double *pos)
{
  if (!self->conditions->contacts)
    return 1.0;
  try_step(self, pos, 1.0, self->trial);
  return pla_contact_set_limit(self->conditions->contacts, pos, self->trial);
}

/* The tangent plus the unsymmetric term of a follower pressure along a free rim.  That term has no
 * potential and is applied without a matrix; the factor of the symmetric part preconditions. */
typedef struct {
  const Newton *newton;
  const double *pos;
  double *disp, *force; /* n_verts x 3 */
} Rim;

static PlaStatus
rim_apply(void *data, const double *x, double *y, PlaError *err)
{
  const Rim *rim = data;
  const Newton *self = rim->newton;
  const size_t n = 3 * (size_t)self->model->n_verts;
  const PlaFemBindings *bindings = self->conditions->bindings;
  (void)err;
  memset(rim->disp, 0, n * sizeof *rim->disp);
  memset(rim->force, 0, n * sizeof *rim->force);
  pla_fem_system_add(&self->system, x, 1.0, rim->disp);
  if (bindings)
    pla_bindings_place(bindings, rim->disp);
  pla_pressure_add_rim(self->conditions->pressure, rim->pos, rim->disp, rim->force);
  if (bindings)
    pla_bindings_reduce(bindings, 3, rim->force);
  /* y = symmetric part x + rim term x; the displacements are used up, so their array is reused */
  pla_block_matrix_mul(&self->system.matrix, x, rim->disp);
  pla_fem_system_gather(&self->system, rim->force, y);
  for (size_t i = 0; i < self->n; i++)
    y[i] += rim->disp[i];
  return PLA_OK;
}

static PlaStatus
rim_precondition(void *data, const double *x, double *y, PlaError *err)
{
  const Rim *rim = data;
  const Newton *self = rim->newton;
  return self->near ? pla_fem_near_precondition(self->near, x, y, err)
                    : pla_cholesky_solve(self->system.factor, x, y, err);
}

/* Replaces the step of the symmetric part by that of the whole tangent (GMRES); keeps the former
 * where GMRES does not halve the linear residual or the result is no descent direction. */
static PlaStatus
turn_with_rim(Newton *self, const double *pos, double rel, PlaFemReport *report, PlaError *err)
{
  const size_t n = 3 * (size_t)self->model->n_verts;
  Rim rim = { self, pos, pla_array_new(n, sizeof(double)), pla_array_new(n, sizeof(double)) };
  const PlaGmres gmres = { self->n, &rim, rim_apply, rim_precondition };
  double *step = pla_array_dup(self->step, self->n, sizeof *step), reached = 1.0;
  int iterations = 0;
  PlaStatus st = rim.disp && rim.force && step ? pla_gmres_solve(&gmres, self->residual, rel, step,
                                                                 &reached, &iterations, err)
                                               : pla_fail_memory(err, "the solver");
  report->linear_iterations += iterations;
  if (st == PLA_OK && reached < 0.5 && pla_dot(self->residual, step, self->n) > 0.0)
    memcpy(self->step, step, self->n * sizeof *step);
  free(rim.disp);
  free(rim.force);
  free(step);
  return st;
}

/* Conjugate-gradient iterations after which a new factor is cheaper.  A factorisation does flops /
 * entries times the work of one solve, taken as 20 times faster for each flop (BLAS 3 against
 * memory bandwidth); the count is the same on every machine. */
static int
old_factor_iterations(const PlaCholesky *factor)
{
  double pays = pla_cholesky_flops(factor) / pla_cholesky_n_entries(factor) / 20.0;
  return (int)fmin(fmax(pays, OLD_FACTOR_ITERATIONS), LARGE_FACTOR_ITERATIONS);
}

/* the mass factor with which the residual alone moves the body by @way */
static double
shift_for(const Newton *self, double way)
{
  const double mass = pla_norm2(self->model->mass, (size_t)self->model->n_verts);
  return mass > 0.0 ? pla_norm2(self->residual, self->n) / (way * mass) : 0.0;
}

/* A body that barely carries its load (thin legs about to buckle) answers with steps longer than
 * itself.  A mass-proportional shift, K + shift M, damps long steps: stiff parts move as before,
 * soft parts less.  The shift grows until the step fits into the body.  @found: self->step has it.
 */
static PlaStatus
short_direction(Newton *self, const double *pos, double rel, const PlaFemOptions *options,
                bool *found, PlaFemReport *report, PlaError *err)
{
  PlaStatus st = PLA_OK;
  *found = false;
  if (self->shift == 0.0)
    self->shift = self->first_shift = shift_for(self, first_short_step * self->extent);
  for (int k = 0; k < MAX_SHIFTS && !*found && st == PLA_OK && self->shift > 0.0; k++) {
    PlaRefineReport cg = { 0 };
    bool definite;
    assemble(self, pos, true);
    st = make_factor(self, pos, self->model->patches ? PLA_DOUBLE : PLA_SINGLE, options->progress,
                     &definite, report, err);
    if (st == PLA_OK && definite) {
      st = refine(self, rel, NEW_FACTOR_ITERATIONS, options->progress, &cg, report, err);
      *found = !cg.negative_curvature && pla_max_abs(self->step, self->n) <= self->extent;
    }
    if (!*found)
      self->shift *= shift_factor;
  }
  if (!*found)
    self->shift = 0.0;
  return st;
}

/* the shift shrinks after a step that met the predicted decrease , and grows after any other */
static void
adapt_shift(Newton *self, bool foreseen)
{
  self->shift = foreseen ? self->shift / shift_factor : self->shift * shift_factor;
  if (self->shift < least_shift * self->first_shift)
    self->shift = 0.0;
}

/* the step by the symmetric part of the tangent into self->step */
static PlaStatus
symmetric_direction(Newton *self, const double *pos, double rel, const PlaFemOptions *options,
                    PlaFemReport *report, PlaError *err)
{
  PlaRefineReport cg = { 0 };
  PlaStatus st = PLA_OK;
  bool found = false, fresh = false;
  if (self->shift > 0.0) {
    st = short_direction(self, pos, rel, options, &found, report, err);
    if (st != PLA_OK || found)
      return st;
  }
  assemble(self, pos, self->tangled);

  /* conjugate gradients with an older factor, as long as they converge quickly */
  if (has_factor(self)) {
    const int most = self->near ? OLD_NEAR_ITERATIONS : old_factor_iterations(self->system.factor);
    st = refine(self, rel, most, options->progress, &cg, report, err);
    if (st != PLA_OK || cg.converged)
      return st;
  }
  /* a new factor: of the exact tangent (0), else of the projected one (1), else of the projected
   * one with 1 % added to its diagonal (2), since projection may leave motions without stiffness */
  for (int project = self->tangled; project < 3; project++) {
    /* that of standard elements is the same for all of them */
    bool definite = self->near && fresh;
    if (project == 1 && !self->tangled)
      assemble(self, pos, true);
    if (project == 2 && !self->tangled) {
      st = short_direction(self, pos, rel, options, &found, report, err);
      if (st != PLA_OK || found)
        return st;
      assemble(self, pos, true);
      definite = false;
    }
    if (project == 2) {
      pla_block_matrix_stiffen(&self->system.matrix, 0.01);
      if (self->near)
        pla_fem_near_set_matrix(self->near, &self->system.matrix);
    }
    /* nearly incompressible bodies are beyond single precision */
    for (int precision = self->model->patches ? PLA_DOUBLE : PLA_SINGLE;
         precision <= PLA_DOUBLE && !definite; precision++) {
      /* a double factor of an indefinite matrix would fail as well */
      if (precision == PLA_DOUBLE && !project && !self->model->patches)
        break;
      st = make_factor(self, pos, (PlaPrecision)precision, options->progress, &definite, report,
                       err);
      if (st != PLA_OK)
        return st;
    }
    fresh = definite;
    if (definite) {
      st = refine(self, rel, self->near ? NEW_NEAR_ITERATIONS : NEW_FACTOR_ITERATIONS,
                  options->progress, &cg, report, err);
      if (st != PLA_OK)
        return st;
    }
    if (self->near && (!definite || (!cg.converged && !cg.negative_curvature))) {
      st = leave_near(self, err);
      return st == PLA_OK ? symmetric_direction(self, pos, rel, options, report, err) : st;
    }
    if (definite && !cg.negative_curvature && pla_max_abs(self->step, self->n) <= self->extent)
      return PLA_OK;
  }
  /* even the stiffened tangent fails: a step along the residual, scaled by the largest diagonal */
  double diagonal = 0.0;
  const PlaBlockMatrix *m = &self->system.matrix;
  for (int r = 0; r < m->n; r++)
    diagonal = fmax(diagonal, fabs(m->value[9 * (size_t)pla_block_matrix_find(m, r, r)]));
  for (size_t i = 0; i < self->n; i++)
    self->step[i] = self->residual[i] / (diagonal > 0.0 ? diagonal : 1.0);
  return PLA_OK;
}

/* the Newton direction into self->step */
static PlaStatus
direction(Newton *self, const double *pos, double rel, const PlaFemOptions *options,
          PlaFemReport *report, PlaError *err)
{
  PlaStatus st = symmetric_direction(self, pos, rel, options, report, err);
  if (st == PLA_OK && self->conditions->pressure && has_factor(self))
    st = turn_with_rim(self, pos, rel, report, err);
  return st;
}

/* starts the continuation in the volume modulus where that is high enough to need one */
static PlaStatus
soften(Newton *self, const PlaFemModel *model, PlaError *err)
{
  double mu = 0.0, modulus = 0.0;
  if (!model->patches)
    return PLA_OK;
  /* the largest shear modulus, and the largest volume modulus of a patch */
  for (int m = 0; m < model->n_materials; m++) {
    double shear, lambda, vol;
    pla_material_moduli(model->material[m].material, model->material[m].constants, &shear, &lambda,
                        &vol);
    mu = fmax(mu, shear);
  }
  for (int c = 0; c < model->n_tets + model->n_hexes; c++)
    modulus = fmax(modulus, model->patches->modulus[c]);
  if (!(modulus > first_stage * mu))
    return PLA_OK;
  /* a copy of the model whose patches have moduli of their own */
  const size_t n = (size_t)model->patches->n;
  self->softened = *model;
  self->softened_patches = *model->patches;
  self->softened.patches = &self->softened_patches;
  self->softened_patches.modulus_log = pla_array_new(n, sizeof(double));
  self->softened_patches.modulus_square = pla_array_new(n, sizeof(double));
  if (!self->softened_patches.modulus_log || !self->softened_patches.modulus_square)
    return pla_fail_memory(err, "the solver");
  self->softness = first_stage * mu / modulus;
  self->model = self->system.model = &self->softened;
  return PLA_OK;
}

/* scales the volume moduli of the stage; the last stage is the true model */
static void
set_stage(Newton *self, const PlaFemModel *model, double softness)
{
  self->softness = fmin(softness, 1.0);
  if (softness >= 1.0) {
    self->model = self->system.model = model;
    return;
  }
  for (int p = 0; p < model->patches->n; p++) {
    self->softened_patches.modulus_log[p] = softness * model->patches->modulus_log[p];
    self->softened_patches.modulus_square[p] = softness * model->patches->modulus_square[p];
  }
}

static void
newton_clear(Newton *self)
{
  free(self->softened_patches.modulus_log);
  free(self->softened_patches.modulus_square);
  pla_fem_near_free(self->near);
  pla_fem_system_clear(&self->system);
  free(self->force);
  free(self->residual);
  free(self->step);
  free(self->trial);
}

/* A piece that only contact will hold is regularised by a small multiple of its mass, so that the
 * tangent is definite.  Its lowest elastic frequency squared is about mu extent / mass; a millionth
 * of that does not slow the way to equilibrium. */
static double
loose_factor(const PlaFemModel *model, const PlaFemConditions *conditions)
{
  PlaError ignored;
  if (!conditions->contacts || pla_fem_check_held(model, conditions->fixed, &ignored) == PLA_OK)
    return 0.0;
  double mass = pla_sum(model->mass, (size_t)model->n_verts), stiffness = 0.0;
  for (int m = 0; m < model->n_materials; m++) {
    double mu, lambda, vol;
    pla_material_moduli(model->material[m].material, model->material[m].constants, &mu, &lambda,
                        &vol);
    stiffness = fmax(stiffness, mu);
  }
  return mass > 0.0 ? 1e-6 * stiffness * extent_of(model) / mass : 0.0;
}

/* rounding error of the energy, J: at each point its modulus times the rounding of F */
static double
energy_grain(const PlaFemModel *model)
{
  double sum = 0.0;
  for (int c = 0; c < model->n_tets + model->n_hexes; c++) {
    const PlaFemMaterial *m = &model->material[model->cell_material[c]];
    double volume = c < model->n_tets ? model->tet_volume[c] : 0.0, mu, lambda, vol;
    for (int q = 0; c >= model->n_tets && q < 8; q++)
      volume += model->hex_weight[8 * (size_t)(c - model->n_tets) + (size_t)q];
    pla_material_moduli(m->material, m->constants, &mu, &lambda, &vol);
    sum += volume * (mu + fabs(lambda));
  }
  return DBL_EPSILON * sum;
}

PlaStatus
pla_fem_solve_newton(const PlaFemModel *model, const PlaFemConditions *conditions,
                     const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  return pla_fem_newton_until(model, conditions, options, (double)INFINITY, pos, report, err);
}

/* whether every element has det F above @jacobian */
static bool
is_whole(const PlaFemModel *model, double jacobian, const double *pos)
{
  double least;
  return isfinite(jacobian) && pla_fem_inverted(model, pos, &least, NULL) == 0 && least > jacobian;
}

/* no step length decreases the energy: converged if the residual is at rounding level, else stalled
 */
static PlaStatus
give_up(Newton *self, const double *pos, const PlaFemOptions *options, PlaFemReport *report,
        PlaError *err)
{
  bool settled = false;
  PlaStatus st = PLA_OK;
  if (report->residual_rel <= options->tolerance_rel)
    st = pla_fem_is_settled(self->model, self->conditions, pos, report->residual_n,
                            PLA_SETTLED_AT_ROUNDING, self->trial, &settled, err);
  report->reason = settled ? PLA_STOP_CONVERGED : PLA_STOP_STALLED;
  return st;
}

/* system, vectors and stages of the volume modulus; newton_clear() after a failure, too */
static PlaStatus
newton_init(Newton *self, const PlaFemModel *model, const PlaFemConditions *conditions,
            const PlaFemOptions *options, double jacobian, PlaError *err)
{
  const size_t n_coords = 3 * (size_t)model->n_verts;
  *self =
      (Newton){ .model = model, .given = model, .conditions = conditions, .order = options->order };
  self->loose = loose_factor(model, conditions);
  self->tangled = isfinite(jacobian);
  PlaStatus st = make_system(self, NULL, err);
  if (st != PLA_OK)
    return st;
  self->n = 3 * (size_t)self->system.n_blocks;
  self->extent = extent_of(model);
  self->grain = energy_grain(model);
  self->force = pla_array_new(n_coords, sizeof *self->force);
  self->residual = pla_array_new(self->n, sizeof *self->residual);
  self->step = pla_array_new(self->n, sizeof *self->step);
  self->trial = pla_array_new(n_coords, sizeof *self->trial);
  if (!self->force || !self->residual || !self->step || !self->trial)
    st = pla_fail_memory(err, "the solver");
  self->softness = 1.0;
  if (st == PLA_OK && !options->warm_start)
    st = soften(self, model, err);
  if (st == PLA_OK)
    set_stage(self, model, self->softness);
  return st;
}

/* residual and energy at the start; the scale of the residual is the larger of loads and start */
static PlaStatus
start_at(Newton *self, const double *pos, PlaFemReport *report, PlaError *err)
{
  PlaStatus st = update_contacts(self, pos, true, err);
  if (st == PLA_OK)
    st = grow_pattern(self, pos, err);
  if (st == PLA_OK)
    st = find_residual(self, pos, &self->norm, err);
  if (st != PLA_OK)
    return st;
  self->scale = fmax(pla_fem_load_norm(self->given, self->conditions),
                     fmax(self->norm, report->residual_scale_n));
  report->residual_scale_n = self->scale;
  if (self->conditions->pressure)
    self->work = pla_pressure_work(self->conditions->pressure, self->given->rest, pos);
  self->energy = potential(self, pos, pos);
  return PLA_OK;
}

/* whether to end before iteration @it: untangled, converged, out of iterations, or cancelled; the
 * reason goes into the report */
static PlaStatus
must_stop(Newton *self, const double *pos, double jacobian, int it, const PlaFemOptions *options,
          PlaFemReport *report, bool *stop, PlaError *err)
{
  bool done = is_whole(self->given, jacobian, pos);
  PlaStatus st = PLA_OK;
  if (!done && self->softness == 1.0 && report->residual_rel <= options->tolerance_rel)
    st = pla_fem_is_settled(self->given, self->conditions, pos, self->norm, options->tolerance_rel,
                            self->trial, &done, err);
  *stop = st != PLA_OK || done || it >= options->max_iterations;
  if (st == PLA_OK && done)
    report->reason = PLA_STOP_CONVERGED;
  if (*stop)
    return st;
  double way = log(report->residual_rel) / log(options->tolerance_rel);
  *stop = !pla_progress_step(options->progress, way);
  if (*stop)
    report->reason = PLA_STOP_CANCELLED;
  return PLA_OK;
}

/* the Newton direction at @pos, no longer than the body */
static PlaStatus
find_step(Newton *self, const double *pos, const PlaFemOptions *options, PlaFemReport *report,
          PlaError *err)
{
  /* forcing term of the inexact Newton method: the square root of the residual converges with order
   * 3/2 (R. Dembo, S. Eisenstat and T. Steihaug 1982); the last step is not solved further than a
   * tenth of the tolerance (S. Eisenstat and H. Walker 1996, safeguard against oversolving) */
  const double rate = self->near ? near_direction : 1.0;
  double rel = fmin(roughest_direction, fmax(0.1 * options->tolerance_rel / report->residual_rel,
                                             rate * sqrt(report->residual_rel)));
  PlaStatus st = grow_pattern(self, pos, err);
  if (st == PLA_OK)
    st = direction(self, pos, rel, options, report, err);
  if (st != PLA_OK)
    return st;
  double longest = pla_max_abs(self->step, self->n);
  for (size_t i = 0; longest > self->extent && i < self->n; i++)
    self->step[i] *= self->extent / longest;
  return PLA_OK;
}

/* a step length that was tried, and what came of it */
typedef struct {
  double length, whole; /* of the step; the longest that inverts nothing */
  double slope;         /* of the energy along the step, J */
  double noise;         /* rounding of the energy, J */
  double energy;        /* there, J */
  bool accepted;
} Search;

/* Line search by halving, the result in self->trial: the energy decreases sufficiently, or, where
 * its change is within rounding (1000 eps of its value, and the grain), the residual decreases. */
static PlaStatus
search_line(Newton *self, const double *pos, Search *out, PlaError *err)
{
  const double old_norm = self->norm;
  PlaStatus st = PLA_OK;
  *out = (Search){ .energy = self->energy };
  out->slope = -pla_dot(self->residual, self->step, self->n);
  out->noise = 1e3 * DBL_EPSILON * (fabs(self->energy) + fabs(out->slope)) + self->grain;
  out->length = out->whole = safe_length(self, pos);
  for (int h = 0; h < MAX_HALVINGS && !out->accepted && st == PLA_OK; h++) {
    try_step(self, pos, out->length, self->trial);
    st = update_contacts(self, self->trial, false, err);
    out->energy = potential(self, pos, self->trial);
    bool falls = out->energy <= self->energy + armijo * out->length * out->slope;
    if (!falls && fabs(out->energy - self->energy) <= out->noise) {
      st = find_residual(self, self->trial, &self->norm, err);
      falls = self->norm < old_norm;
    }
    if (falls)
      out->accepted = true;
    else
      out->length *= 0.5;
  }
  return st;
}

/* makes the trial shape the present one; *idle: nothing but rounding has changed for some steps */
static PlaStatus
take_step(Newton *self, double *pos, const Search *search, double old_norm, bool *idle,
          PlaError *err)
{
  const PlaFemConditions *conditions = self->conditions;
  if (conditions->pressure)
    self->work += pla_pressure_work(conditions->pressure, pos, self->trial);
  memcpy(pos, self->trial, 3 * (size_t)self->model->n_verts * sizeof *pos);
  adapt_shift(self, search->length == search->whole &&
                        search->energy - self->energy <=
                            met_decrease * search->length * search->slope + search->noise);
  const bool in_noise = fabs(search->energy - self->energy) <= search->noise;
  PlaStatus st = update_contacts(self, pos, true, err);
  self->energy = conditions->contacts ? potential(self, pos, pos) : search->energy;
  if (st == PLA_OK)
    st = find_residual(self, pos, &self->norm, err);
  /* the residual falls by less than 5 % while the energy is in its noise */
  self->idle = in_noise && self->norm > 0.95 * old_norm ? self->idle + 1 : 0;
  *idle = self->idle >= MOST_IDLE;
  return st;
}

/* another stage of the volume modulus: energy and residual change with it */
static PlaStatus
enter_stage(Newton *self, const double *pos, double softness, bool hold, PlaError *err)
{
  set_stage(self, self->given, softness);
  PlaStatus st = hold ? update_contacts(self, pos, true, err) : PLA_OK;
  self->energy = potential(self, pos, pos);
  return st == PLA_OK ? find_residual(self, pos, &self->norm, err) : st;
}

PlaStatus
pla_fem_newton_until(const PlaFemModel *model, const PlaFemConditions *conditions,
                     const PlaFemOptions *options, double jacobian, double *pos,
                     PlaFemReport *report, PlaError *err)
{
  Newton self;
  PlaStatus st = newton_init(&self, model, conditions, options, jacobian, err);
  if (st != PLA_OK) {
    newton_clear(&self);
    return st;
  }
  st = start_at(&self, pos, report, err);
  report->reason = PLA_STOP_ITERATIONS;
  for (int it = 0; st == PLA_OK; it++) {
    /* record the residual */
    report->residual_n = self.norm;
    report->residual_rel = self.scale > 0.0 ? self.norm / self.scale : 0.0;
    if (report->n_residuals < PLA_FEM_MAX_RESIDUALS)
      report->residuals[report->n_residuals++] = report->residual_rel;
    /* next stage of the volume modulus */
    if (self.softness < 1.0 && report->residual_rel <= stage_tolerance) {
      st = enter_stage(&self, pos, stage_factor * self.softness, false, err);
      continue;
    }
    bool stop = false, idle = false;
    Search search = { 0 };
    const double old_norm = self.norm;
    st = must_stop(&self, pos, jacobian, it, options, report, &stop, err);
    if (stop)
      break;
    st = find_step(&self, pos, options, report, err);
    if (st == PLA_OK)
      st = search_line(&self, pos, &search, err);
    if (st != PLA_OK)
      break;
    /* no step length works: leave the stages, or end */
    if (!search.accepted && self.softness < 1.0) {
      st = enter_stage(&self, pos, 1.0, true, err);
      continue;
    }
    if (!search.accepted) {
      st = give_up(&self, pos, options, report, err);
      break;
    }
    st = take_step(&self, pos, &search, old_norm, &idle, err);
    report->iterations++;
    if (st == PLA_OK && idle) {
      report->residual_n = self.norm;
      report->residual_rel = self.norm / self.scale;
      st = give_up(&self, pos, options, report, err);
      break;
    }
  }
  if (st == PLA_ERR_CANCELLED) {
    report->reason = PLA_STOP_CANCELLED;
    st = PLA_OK;
  }
  newton_clear(&self);
  return st;
}
