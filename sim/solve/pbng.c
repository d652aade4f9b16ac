/* Position-based nonlinear Gauss-Seidel: the state, sweeps and their acceleration.
 *
 * After a sweep has led from x^l to x_P (Chen 2024, 4.5):
 *   Chebyshev: x^(l+1) = w (gamma (x_P - x^l) + x^l - x^(l-1)) + x^(l-1)
 *   SOR:       x^(l+1) = w (x_P - x^(l-1)) + x^(l-1)
 * Chebyshev's spectral radius is measured: when the steps shrink by a factor z a sweep, more slowly
 * than the assumed radius predicts, the radius that explains it is (z^2 + w - 1) / (w z), with the
 * limit w = 2 / (1 + sqrt(1 - radius^2)).  Neither is stable after a large jump, so plain sweeps
 * come first, and again whenever the step has grown well beyond the smallest one. */
#include "sim/solve/pbng-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/svd3.h"
#include "sim/material/registry.h"
#include "sim/solve/solve.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  CHUNK = 32,        /* groups that a thread takes at a time */
  FEW_VERTS = 8192,  /* below this, synchronising threads costs more than they gain */
  SPAN = 12,         /* sweeps over which the rate of convergence is measured */
  MOST_PLAIN = 40,   /* plain sweeps after many restarts */
  MOST_REPAIR = 100, /* sweeps of each phase of repair */
};
/* Assumed spectral radius of plain sweeps at first, and the largest that is used, with which the
 * over-relaxation 2 / (1 + sqrt(1 - radius^2)) stays below 1.94. */
static const double first_radius = 0.95, largest_radius = 0.9995;
static const double growth = 4.0; /* of the step, beyond which acceleration counts as diverged */

PlaPbngOptions
pla_pbng_options_default(void)
{
  return (PlaPbngOptions){ .acceleration = PLA_PBNG_CHEBYSHEV,
                           .hessian = PLA_PBNG_NODAL,
                           .plain_sweeps = 6,
                           .radius = 0.0,
                           .gamma = 1.7,
                           .omega = 1.7,
                           .repair = true };
}

/* ---- for kernels ---- */

void
pla_pbng_generic_point(const PlaFemModel *model, int cell, const double f[9], const double g[3],
                       double pg[3], double matrix[6])
{
  static const int row[6] = { 0, 1, 2, 0, 0, 1 }, col[6] = { 0, 1, 2, 1, 2, 2 };
  const double *constants;
  const PlaMaterial *material = pla_fem_cell_law(model, cell, &constants);
  PlaPoint point = { 0 };
  double p[9], h[81], mu, lambda, vol;
  memcpy(point.f, f, sizeof point.f);
  pla_point_decompose(&point);
  pla_fem_cell_point(model, cell, &point);
  pla_material_stress(material, constants, &point, p);
  pla_material_tangent(material, constants, &point, true, h);
  pla_material_moduli(material, constants, &mu, &lambda, &vol);
  pla_mat3_apply(p, g, pg);
  /* g^T H g of the projected tangent H, plus a tenth of the shear modulus against singular blocks
   */
  for (int k = 0; k < 6; k++) {
    double sum = k < 3 ? 0.1 * mu * pla_vec3_dot(g, g) : 0.0;
    for (int m = 0; m < 3; m++)
      for (int n = 0; n < 3; n++)
        sum += g[m] * h[9 * (3 * row[k] + m) + 3 * col[k] + n] * g[n];
    matrix[k] = sum;
  }
}

/* ---- the state ---- */

/* whether a cell of material @m has more than that: constants, fibres or a prestretch of its own */
static bool
has_own_cells(const PlaFemModel *model, int m)
{
  for (int c = 0; pla_fem_has_cells(model) && c < model->n_tets + model->n_hexes; c++)
    if (model->cell_material[c] == m &&
        (model->prestretch || (model->own && model->own[c] >= 0) ||
         (model->fibre_start && model->fibre_start[c + 1] > model->fibre_start[c])))
      return true;
  return false;
}

static PlaLaw
make_law(const PlaFemModel *model, int index, PlaPbngHessian hessian)
{
  const PlaMaterial *m = model->material[index].material;
  const double *c = model->material[index].constants;
  PlaLaw law = { .hessian = hessian, .c0 = c[0], .c1 = c[1] };
  double mu, lambda, vol;
  pla_material_moduli(m, c, &mu, &lambda, &vol);
  /* a specialised kernel where there is one */
  if (has_own_cells(model, index)) {
    law.kind = PLA_LAW_GENERIC;
  } else if (m == &pla_material_neo_hookean) {
    law.kind = PLA_LAW_NEO_HOOKEAN;
    law.shear = c[0];
    law.vol = c[0] + c[1];
  } else if (m == &pla_material_neo_hookean_mm) {
    law.kind = PLA_LAW_NEO_HOOKEAN_MM;
    law.shear = c[0];
    law.vol = c[0] + c[1];
  } else if (m == &pla_material_stable_neo_hookean) {
    law.kind = PLA_LAW_STABLE_NEO_HOOKEAN;
    law.shear = 9.0 / 8.0 * c[0];
    law.vol = c[1];
  } else if (m == &pla_material_corotated || m == &pla_material_fixed_corotated) {
    law.kind = m == &pla_material_corotated ? PLA_LAW_COROTATED : PLA_LAW_FIXED_COROTATED;
    law.shear = 2.0 * c[0];
    law.vol = c[1];
  }
  /* moduli of the approximate Hessians */
  if (hessian != PLA_PBNG_NODAL) {
    law.shear = 2.0 * mu;
    law.vol = hessian == PLA_PBNG_LAME ? lambda : vol;
  }
  return law;
}

/* what stands in for a material while its elements are repaired */
static PlaLaw
make_repair_law(const PlaFemMaterial *material, PlaPbngPhase phase)
{
  double mu, lambda, vol;
  pla_material_moduli(material->material, material->constants, &mu, &lambda, &vol);
  lambda = fmax(lambda, 0.0);
  PlaLaw law = { .c0 = mu, .c1 = lambda, .shear = mu };
  law.kind = phase == PLA_PBNG_SPREAD ? PLA_LAW_SPREAD : PLA_LAW_NEO_HOOKEAN_MM;
  law.vol = phase == PLA_PBNG_SPREAD ? 0.0 : mu + lambda;
  return law;
}

/* whether some element has det F <= 0 */
static bool
any_inverted(const PlaPbng *self)
{
  const PlaFemModel *model = self->model;
  const double *x = self->x;
  int found = 0;
#pragma omp parallel for schedule(static) reduction(| : found) if (model->n_verts >= FEW_VERTS)
  for (int t = 0; t < model->n_tets; t++) {
    const int *tet = model->tet + 4 * (size_t)t;
    double e[9];
    for (int a = 0; a < 3; a++)
      pla_vec3_sub(x + 4 * (size_t)tet[a + 1], x + 4 * (size_t)tet[0], e + 3 * a);
    found |= !(pla_mat3_det(e) > 0.0);
  }
#pragma omp parallel for schedule(static) reduction(| : found) if (model->n_verts >= FEW_VERTS)
  for (int h = 0; h < model->n_hexes; h++)
    for (int q = 0; q < 8; q++) {
      const double *grad = model->hex_grad + (8 * (size_t)h + (size_t)q) * 24;
      double f[9] = { 0 };
      for (int a = 0; a < 8; a++)
        for (int i = 0; i < 9; i++)
          f[i] += x[4 * (size_t)model->hex[8 * (size_t)h + (size_t)a] + (size_t)(i / 3)] *
                  grad[3 * a + i % 3];
      found |= !(pla_mat3_det(f) > 0.0);
    }
  return found;
}

static PlaPbngWork
make_work(PlaPbng *self)
{
  PlaPbngWork work = { .model = self->model,
                       .law = self->law[self->phase],
                       .x = self->x,
                       .base = self->phase == PLA_PBNG_SPREAD ? self->base : NULL,
                       .load = self->phase == PLA_PBNG_SPREAD ? self->zero : self->load,
                       .inertia = self->dynamic ? self->inertia : NULL,
                       .predicted = self->predicted,
                       .spring = self->spring,
                       .spring_start = self->n_springs ? self->spring_start : NULL,
                       .spring_of = self->spring_of,
                       .contact = self->contact,
                       .contact_of = self->n_contacts ? self->contact_of : NULL,
                       .damping = self->phase == PLA_PBNG_SPREAD ? NULL : self->damping };
  if (self->touching && self->phase != PLA_PBNG_SPREAD && self->touch_of) {
    work.n_touch = pla_contact_set_get(self->touching, &work.touch);
    pla_contact_set_get_friction(self->touching, &work.friction);
    work.touch_start = self->touch_start;
    work.touch_of = self->touch_of;
    work.anchor = self->anchor;
    work.leash = self->leash;
    work.on_surface = self->on_surface;
  }
  return work;
}

/* forgets the history of iterates */
static void
restart(PlaPbng *self, int plain_sweeps)
{
  self->since_restart = 0;
  self->plain_left = plain_sweeps;
  self->omega = 1.0;
  self->best_step = INFINITY;
  self->last_step = 0.0;
  self->radius = self->options.radius > 0.0 ? self->options.radius : first_radius;
}

/* something outside has changed: no history, and elements may have been inverted */
static void
begin_anew(PlaPbng *self)
{
  restart(self, self->options.plain_sweeps);
  self->phase = PLA_PBNG_TRUE;
  self->repair_left = self->options.repair ? MOST_REPAIR : 0;
}

/* which lanes of @pack move and which have springs or planes */
static void
mark_pack(PlaPbng *self, PlaPbngPack *pack, bool base)
{
  for (int g = 0; g < pack->n_groups; g++) {
    PlaPbngGroup *group = &pack->group[g];
    double *mobile = pack->mobile + (size_t)(3 * PLA_PBNG_LANES) * (size_t)g;
    unsigned char state = 0;
    for (int l = 0; l < PLA_PBNG_LANES; l++) {
      int v = group->node[l];
      bool ours = l < group->n && (!self->has_priority || self->chosen[v]) &&
                  (!base || self->linked.colour[v] == self->colouring.colour[v]);
      for (int d = 0; d < 3; d++) {
        bool moves = ours && !self->fixed[3 * (size_t)v + (size_t)d];
        mobile[PLA_PBNG_LANES * d + l] = moves;
        state |= moves ? PLA_PBNG_MOVES : 0;
      }
      if ((self->n_springs && self->spring_start[v + 1] > self->spring_start[v]) ||
          (self->n_contacts && self->contact_of[v] >= 0) ||
          (self->touching && self->on_surface[v]) || self->damping)
        state |= PLA_PBNG_LINKED;
    }
    pack->state[g] = state;
  }
}

void
pla_pbng_mark_packs(PlaPbng *self)
{
  mark_pack(self, &self->pack, true);
  mark_pack(self, &self->moved, false);
}

void
pla_pbng_mark(PlaPbng *self)
{
  pla_pbng_mark_packs(self);
  begin_anew(self);
}

PlaStatus
pla_pbng_new(const PlaFemModel *model, const PlaFemConditions *conditions,
             const PlaPbngOptions *options, const double *pos, PlaPbng **out, PlaError *err)
{
  *out = NULL;
  if (conditions->bindings)
    return pla_fail(err, PLA_ERR_USAGE,
                    "sweeps alone do not handle vertices that are bound to others");
  const size_t nv = (size_t)model->n_verts;
  /* vectors of four doubles a vertex, aligned for AVX2 */
  PlaPbng *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the solver");
  self->model = model;
  if (model->formulation != PLA_FORMULATION_STANDARD) {
    PlaStatus plain = pla_fem_plain_init(&self->plain, model, err);
    if (plain != PLA_OK) {
      pla_pbng_free(self);
      return plain;
    }
    self->model = model = &self->plain.model;
  }
  self->options = *options;
  for (int p = 0; p < 3; p++)
    self->law[p] = pla_array_new((size_t)model->n_materials, sizeof(PlaLaw));
  self->base = pla_array_new_aligned(nv, 4 * sizeof(double));
  self->zero = pla_array_new0(nv, 4 * sizeof(double));
  self->x = pla_array_new_aligned(nv, 4 * sizeof(double));
  self->before = pla_array_new_aligned(nv, 4 * sizeof(double));
  self->previous = pla_array_new_aligned(nv, 4 * sizeof(double));
  self->load = pla_array_new_aligned(nv, 4 * sizeof(double));
  self->dead = pla_array_new_aligned(nv, 4 * sizeof(double));
  self->pos = pla_array_new(nv, 3 * sizeof(double));
  self->push = pla_array_new(nv, 3 * sizeof(double));
  self->predicted = pla_array_new_aligned(nv, 4 * sizeof(double));
  self->force = pla_array_new_aligned(nv, 4 * sizeof(double));
  self->inertia = pla_array_new0(nv, sizeof(double));
  self->block = pla_array_new(nv / PLA_BLOCK + 1, sizeof(double));
  self->fixed = pla_array_new(nv, 3);
  self->chosen = pla_array_new(nv, 1);
  self->spring_start = pla_array_new0(nv + 1, sizeof *self->spring_start);
  self->contact_of = pla_array_new(nv, sizeof *self->contact_of);
  int *verts = pla_array_new(nv, sizeof *verts);
  PlaStatus st = self->law[0] && self->law[1] && self->law[2] && self->base && self->zero &&
                         self->x && self->before && self->previous && self->load && self->dead &&
                         self->pos && self->push && self->predicted && self->force &&
                         self->inertia && self->block && self->fixed && self->chosen &&
                         self->spring_start && self->contact_of && verts
                     ? PLA_OK
                     : pla_fail_memory(err, "the solver");
  if (st == PLA_OK) {
    memset(self->x, 0, 4 * nv * sizeof *self->x);
    /* read, times zero, before they are written */
    memset(self->before, 0, 4 * nv * sizeof *self->before);
    memset(self->previous, 0, 4 * nv * sizeof *self->previous);
    memset(self->predicted, 0, 4 * nv * sizeof *self->predicted);
    memset(self->chosen, 1, nv);
    for (int v = 0; v < model->n_verts; v++) {
      verts[v] = v;
      self->contact_of[v] = -1;
    }
    /* laws of the three phases, and the colours of the vertices */
    for (int m = 0; m < model->n_materials; m++) {
      self->law[PLA_PBNG_TRUE][m] = make_law(model, m, options->hessian);
      for (int p = PLA_PBNG_SPREAD; p <= PLA_PBNG_UNTANGLE; p++)
        self->law[p][m] = make_repair_law(&model->material[m], (PlaPbngPhase)p);
    }
    st = pla_colouring_init(&self->colouring, model, err);
  }
  if (st == PLA_OK) {
    self->linked = self->colouring;
    self->linked.colour = pla_array_dup(self->colouring.colour, nv, sizeof(int));
    if (!self->linked.colour)
      st = pla_fail_memory(err, "the solver");
  }
  if (st == PLA_OK)
    st = pla_pbng_pack_init(&self->pack, model, &self->colouring, verts, model->n_verts, err);
  /* start, supports, springs and contacts */
  if (st == PLA_OK) {
    pla_pbng_set_positions(self, pos);
    pla_pbng_set_conditions(self, conditions);
    if (conditions->springs)
      st = pla_pbng_set_springs(self, conditions->springs->spring, conditions->springs->n, err);
    if (st == PLA_OK && conditions->contacts)
      st = pla_pbng_set_touching(self, conditions->contacts, err);
  }
  if (st == PLA_OK) {
    *out = self;
    self = NULL;
  }
  free(verts);
  pla_pbng_free(self);
  return st;
}

void
pla_pbng_free(PlaPbng *self)
{
  if (!self)
    return;
  pla_fem_plain_clear(&self->plain);
  pla_colouring_clear(&self->colouring);
  pla_colouring_clear(&self->linked);
  pla_pbng_pack_clear(&self->pack);
  pla_pbng_pack_clear(&self->moved);
  for (int p = 0; p < 3; p++)
    free(self->law[p]);
  free(self->base);
  free(self->zero);
  free(self->x);
  free(self->before);
  free(self->previous);
  free(self->load);
  free(self->dead);
  free(self->pos);
  free(self->push);
  free(self->predicted);
  free(self->inertia);
  free(self->force);
  free(self->block);
  free(self->fixed);
  free(self->chosen);
  free(self->spring);
  free(self->spring_start);
  free(self->spring_of);
  free(self->contact);
  free(self->contact_of);
  free(self->touch_start);
  free(self->touch_of);
  free(self->anchor);
  free(self->on_surface);
  free(self);
}

/* between rows of three and rows of four */
static void
widen(const double *from, int n_verts, double *to)
{
  for (size_t v = 0; v < (size_t)n_verts; v++) {
    memcpy(to + 4 * v, from + 3 * v, 3 * sizeof *to);
    to[4 * v + 3] = 0.0;
  }
}

static void
set_inertia(PlaPbng *self, double factor, const double *predicted)
{
  self->dynamic = factor > 0.0;
  for (int v = 0; self->dynamic && v < self->model->n_verts; v++)
    self->inertia[v] = factor * self->model->mass[v];
  if (self->dynamic)
    widen(predicted, self->model->n_verts, self->predicted);
}

void
pla_pbng_set_conditions(PlaPbng *self, const PlaFemConditions *conditions)
{
  const int nv = self->model->n_verts;
  memcpy(self->fixed, conditions->fixed, 3 * (size_t)nv);
  memcpy(self->base, self->x, 4 * (size_t)nv * sizeof *self->base);
  self->jumped = false;
  for (size_t v = 0; v < (size_t)nv; v++)
    for (size_t d = 0; d < 3; d++)
      if (conditions->fixed[3 * v + d]) {
        self->jumped |= self->x[4 * v + d] != conditions->target[3 * v + d];
        self->x[4 * v + d] = conditions->target[3 * v + d];
      }
  if (conditions->force)
    widen(conditions->force, nv, self->dead);
  else
    memset(self->dead, 0, 4 * (size_t)nv * sizeof *self->dead);
  memcpy(self->load, self->dead, 4 * (size_t)nv * sizeof *self->load);
  self->pressure = conditions->pressure;
  self->damping = conditions->damping;
  if (conditions->inertia)
    set_inertia(self, conditions->inertia->factor, conditions->inertia->predicted);
  pla_pbng_mark(self);
}

void
pla_pbng_set_positions(PlaPbng *self, const double *pos)
{
  widen(pos, self->model->n_verts, self->x);
  begin_anew(self);
}

void
pla_pbng_get_positions(const PlaPbng *self, double *pos)
{
  for (size_t v = 0; v < (size_t)self->model->n_verts; v++)
    memcpy(pos + 3 * v, self->x + 4 * v, 3 * sizeof *pos);
}

void
pla_pbng_set_inertia(PlaPbng *self, double dt_s, const double *predicted)
{
  set_inertia(self, dt_s > 0.0 ? 1.0 / (dt_s * dt_s) : 0.0, predicted);
  begin_anew(self);
}

/* springs by vertex, into fresh arrays */
static PlaStatus
list_springs(const PlaSpring *springs, int n, int n_verts, int *start, int **of, PlaError *err)
{
  memset(start, 0, ((size_t)n_verts + 1) * sizeof *start);
  for (int s = 0; s < n; s++)
    for (int a = 0; a < springs[s].n_verts; a++)
      start[springs[s].vert[a] + 1]++;
  for (int v = 0; v < n_verts; v++)
    start[v + 1] += start[v];
  *of = pla_array_new((size_t)start[n_verts], sizeof **of);
  int *fill = pla_array_new0((size_t)n_verts, sizeof *fill);
  PlaStatus st = *of && fill ? PLA_OK : pla_fail_memory(err, "the springs");
  for (int s = 0; st == PLA_OK && s < n; s++)
    for (int a = 0; a < springs[s].n_verts; a++) {
      int v = springs[s].vert[a];
      (*of)[start[v] + fill[v]++] = PLA_SPRING_VERTS * s + a;
    }
  free(fill);
  return st;
}

PlaStatus
pla_pbng_recolour(PlaPbng *self, const PlaSpring *springs, int n, PlaError *err)
{
  const PlaContact *touch = NULL;
  const int n_touch = self->touching ? pla_contact_set_get(self->touching, &touch) : 0;
  const int nv = self->model->n_verts;
  size_t total = (size_t)n_touch * PLA_CONTACT_VERTS;
  for (int s = 0; s < n; s++)
    total += (size_t)springs[s].n_verts;
  int *start = pla_array_new0((size_t)n + (size_t)n_touch + 1, sizeof *start), n_sets = 0;
  int *vert = pla_array_new(total, sizeof *vert);
  int *moved = pla_array_new((size_t)nv, sizeof *moved), n_moved = 0;
  PlaStatus st = start && vert && moved ? PLA_OK : pla_fail_memory(err, "the springs");
  /* sets of vertices that springs and contacts couple */
  for (int s = 0; st == PLA_OK && s < n + n_touch; s++) {
    const PlaContact *pair = s < n ? NULL : &touch[s - n];
    /* the vertices of one point share an element already */
    if (pair && pair->n_verts == pair->n_own)
      continue;
    int k = pair ? pair->n_verts : springs[s].n_verts;
    memcpy(vert + start[n_sets], pair ? pair->vert : springs[s].vert, (size_t)k * sizeof *vert);
    start[n_sets + 1] = start[n_sets] + k;
    n_sets++;
  }
  if (st == PLA_OK)
    st = pla_colouring_refine(&self->linked, self->model, &(PlaVertSets){ n_sets, start, vert },
                              err);
  /* vertices with another colour than in the body alone go into a pack of their own */
  if (st == PLA_OK) {
    for (int v = 0; v < nv; v++)
      if (self->linked.colour[v] != self->colouring.colour[v])
        moved[n_moved++] = v;
    pla_pbng_pack_clear(&self->moved);
    st = pla_pbng_pack_init(&self->moved, self->model, &self->linked, moved, n_moved, err);
  }
  free(start);
  free(vert);
  free(moved);
  return st;
}

PlaStatus
pla_pbng_set_springs(PlaPbng *self, const PlaSpring *springs, int n, PlaError *err)
{
  const int nv = self->model->n_verts;
  PlaSpring *copy = pla_array_new((size_t)n, sizeof *copy);
  int *of = NULL;
  PlaStatus st = copy ? PLA_OK : pla_fail_memory(err, "the springs");
  for (int s = 0; st == PLA_OK && s < n; s++) {
    bool good = springs[s].n_verts > 0 && springs[s].n_verts <= PLA_SPRING_VERTS;
    for (int a = 0; good && a < springs[s].n_verts; a++)
      good = springs[s].vert[a] >= 0 && springs[s].vert[a] < nv;
    if (!good)
      st = pla_fail(err, PLA_ERR_USAGE, "spring %d names a vertex that the model does not have", s);
  }
  if (st == PLA_OK) {
    if (n > 0)
      memcpy(copy, springs, (size_t)n * sizeof *copy);
    st = pla_pbng_recolour(self, springs, n, err);
  }
  if (st == PLA_OK)
    st = list_springs(copy, n, nv, self->spring_start, &of, err);
  free(self->spring_of);
  free(self->spring);
  self->spring = NULL;
  self->spring_of = NULL;
  self->n_springs = 0;
  if (st == PLA_OK) {
    self->spring = copy;
    self->spring_of = of;
    self->n_springs = n;
    copy = NULL;
    of = NULL;
  } else {
    /* without springs, every vertex is where it was */
    memcpy(self->linked.colour, self->colouring.colour, (size_t)nv * sizeof(int));
    self->linked.n_colours = self->colouring.n_colours;
    pla_pbng_pack_clear(&self->moved);
  }
  pla_pbng_mark(self);
  free(copy);
  free(of);
  return st;
}

void
pla_pbng_set_priority(PlaPbng *self, const unsigned char *chosen)
{
  self->has_priority = chosen != NULL;
  if (chosen)
    memcpy(self->chosen, chosen, (size_t)self->model->n_verts);
  pla_pbng_mark(self);
}

/* ---- sweeps ---- */

/* every group of both packs; colour after colour unless nothing moves */
static void
visit(PlaPbng *self, const PlaPbngWork *work)
{
  void (*relax)(const PlaPbngWork *, const PlaPbngPack *, int, int) = pla_pbng_relax_plain;
#ifdef __x86_64__
  if (pla_kernel_get() == PLA_KERNEL_AVX2)
    relax = pla_pbng_relax_avx2;
#endif
  const int n_colours = self->linked.n_colours;
  const PlaPbngPack *packs[2] = { &self->pack, &self->moved };
#pragma omp parallel if (self->model->n_verts >= FEW_VERTS)
  for (int colour = 0; colour < n_colours; colour++)
    for (int p = 0; p < 2; p++) {
      if (colour >= packs[p]->n_colours)
        continue;
      const int begin = packs[p]->colour_start[colour], end = packs[p]->colour_start[colour + 1];
      if (begin == end)
        continue;
#pragma omp for schedule(dynamic)
      for (int g = begin; g < end; g += CHUNK)
        relax(work, packs[p], g, g + CHUNK < end ? g + CHUNK : end);
    }
}

/* |x - before| in blocks, added in order */
static double
step_size(PlaPbng *self)
{
  const int nv = self->model->n_verts, n_blocks = (nv + PLA_BLOCK - 1) / PLA_BLOCK;
  double sum = 0.0;
#pragma omp parallel for schedule(static) if (nv >= FEW_VERTS)
  for (int b = 0; b < n_blocks; b++) {
    int end = (b + 1) * PLA_BLOCK < nv ? (b + 1) * PLA_BLOCK : nv;
    double part = 0.0;
    for (size_t i = 4 * (size_t)b * PLA_BLOCK; i < 4 * (size_t)end; i++) {
      double d = self->x[i] - self->before[i];
      part += d * d;
    }
    self->block[b] = part;
  }
  for (int b = 0; b < n_blocks; b++)
    sum += self->block[b];
  return sqrt(sum);
}

/* x <- before + relax (x - before) + momentum (before - previous) */
static void
extrapolate(PlaPbng *self, double relax, double momentum)
{
  const ptrdiff_t n = 4 * (ptrdiff_t)self->model->n_verts;
#pragma omp parallel for schedule(static) if (n >= 4 * FEW_VERTS)
  for (ptrdiff_t i = 0; i < n; i++)
    self->x[i] = self->before[i] + relax * (self->x[i] - self->before[i]) +
                 momentum * (self->before[i] - self->previous[i]);
  pla_pbng_push_out(self);
  pla_pbng_take_back(self, relax, momentum);
  pla_pbng_hold_on_leash(self);
}

/* a radius that explains how slowly the last sweeps converged */
static void
measure_radius(PlaPbng *self, double step)
{
  if (self->options.radius > 0.0 || self->since_restart % SPAN != 0)
    return;
  double z = self->last_step > 0.0 ? pow(step / self->last_step, 1.0 / SPAN) : 0.0;
  double limit = 2.0 / (1.0 + sqrt(1.0 - self->radius * self->radius)), ideal = sqrt(limit - 1.0);
  if (z > 1.02 * ideal && z < 1.0) {
    double radius = (z * z + limit - 1.0) / (limit * z);
    /* at most half of what is missing to 1 at a time: one slow stretch is no proof */
    self->radius = fmin(fmax(radius, self->radius), 0.5 * (1.0 + self->radius));
    self->radius = fmin(self->radius, largest_radius);
  }
  self->last_step = step;
}

/* dead forces and the pressure on the surface as it stands now */
static void
update_load(PlaPbng *self)
{
  if (!self->pressure)
    return;
  const size_t nv = (size_t)self->model->n_verts;
  pla_pbng_get_positions(self, self->pos);
  memset(self->push, 0, 3 * nv * sizeof *self->push);
  pla_pressure_add_forces(self->pressure, self->pos, self->push);
  for (size_t v = 0; v < nv; v++)
    for (size_t d = 0; d < 3; d++)
      self->load[4 * v + d] = self->dead[4 * v + d] + self->push[3 * v + d];
}

/* looks for inverted elements after a change, and now and then until they are gone */
static void
watch_inversion(PlaPbng *self)
{
  if (self->repair_left <= 0 || self->repair_left-- % PLA_PBNG_LOOK != 0)
    return;
  bool last = self->repair_left < PLA_PBNG_LOOK, bad = any_inverted(self);
  PlaPbngPhase phase = self->phase;
  if (!bad || (last && phase == PLA_PBNG_UNTANGLE))
    phase = PLA_PBNG_TRUE;
  else if (phase == PLA_PBNG_TRUE && self->jumped)
    phase = PLA_PBNG_SPREAD;
  else if (phase == PLA_PBNG_TRUE || last)
    phase = PLA_PBNG_UNTANGLE;
  if (phase != self->phase) {
    restart(self, self->options.plain_sweeps);
    self->repair_left = MOST_REPAIR;
  }
  if (phase == PLA_PBNG_TRUE)
    self->repair_left = 0;
  self->phase = phase;
  self->jumped = false;
}

static double
sweep_once(PlaPbng *self)
{
  PlaError ignored;
  /* update phase and contacts where that is due */
  watch_inversion(self);
  if (self->touching && (self->look_left-- <= 0 || self->strained))
    self->failed |= pla_pbng_look(self, &ignored) != PLA_OK;
  /* the oldest array takes the current positions */
  double *oldest = self->previous;
  self->previous = self->before;
  self->before = oldest;
  memcpy(self->before, self->x, 4 * (size_t)self->model->n_verts * sizeof *self->x);
  /* one Gauss-Seidel sweep */
  update_load(self);
  PlaPbngWork work = make_work(self);
  visit(self, &work);
  pla_pbng_hold_on_leash(self);
  double step = step_size(self);

  /* diverged to infinity: back to the last positions, with plain sweeps */
  if (!isfinite(step)) {
    memcpy(self->x, self->before, 4 * (size_t)self->model->n_verts * sizeof *self->x);
    restart(self, MOST_PLAIN);
    self->restarts++;
    return step;
  }
  if (step > growth * self->best_step && self->options.acceleration != PLA_PBNG_PLAIN) {
    /* acceleration diverges: keep the plain result of this sweep, restart with a smaller radius */
    self->restarts++;
    int plain = self->options.plain_sweeps << (self->restarts < 4 ? self->restarts : 4);
    double radius = self->radius;
    restart(self, plain < MOST_PLAIN ? plain : MOST_PLAIN);
    if (self->options.radius == 0.0)
      self->radius = fmax(first_radius, 1.0 - 4.0 * (1.0 - radius));
    return step;
  }
  self->best_step = fmin(self->best_step, step);
  if (self->options.acceleration == PLA_PBNG_PLAIN || self->plain_left > 0) {
    self->plain_left--;
    self->last_step = step;
    return step;
  }
  /* accelerate: SOR, or Chebyshev's semi-iteration with its recurrence for omega */
  int l = self->since_restart++;
  if (self->options.acceleration == PLA_PBNG_SOR) {
    if (l > 0)
      extrapolate(self, self->options.omega, self->options.omega - 1.0);
    return step;
  }
  double r2 = self->radius * self->radius;
  self->omega = l < 2 ? 1.0 : l == 2 ? 2.0 / (2.0 - r2) : 4.0 / (4.0 - r2 * self->omega);
  extrapolate(self, self->omega * self->options.gamma, self->omega - 1.0);
  measure_radius(self, step);
  return step;
}

double
pla_pbng_sweep(PlaPbng *self, int n)
{
  double step = 0.0;
  for (int i = 0; i < n; i++)
    step = sweep_once(self);
  return step;
}

/* ---- questions ---- */

double
pla_pbng_residual(PlaPbng *self)
{
  PlaError ignored;
  update_load(self);
  if (self->touching)
    self->failed |= pla_pbng_look(self, &ignored) != PLA_OK;
  if (self->failed)
    return NAN;
  PlaPbngWork work = make_work(self);
  const size_t n = 4 * (size_t)self->model->n_verts;
  work.law = self->law[PLA_PBNG_TRUE];
  work.load = self->load;
  work.base = NULL;
  memset(self->force, 0, n * sizeof *self->force);
  work.force = self->force;
  visit(self, &work);
  /* what a plane carries is balanced */
  for (int k = 0; k < self->n_contacts; k++) {
    const PlaPlaneContact *contact = &self->contact[k];
    double *f = self->force + 4 * (size_t)contact->vert, gap[3];
    pla_vec3_sub(self->x + 4 * (size_t)contact->vert, contact->point, gap);
    double push = pla_vec3_dot(f, contact->normal);
    bool touches =
        pla_vec3_dot(gap, contact->normal) <= 1e-12 * (1.0 + pla_vec3_norm(contact->point));
    for (int d = 0; d < 3 && touches && push < 0.0; d++)
      f[d] -= push * contact->normal[d];
  }
  return pla_norm2(self->force, n);
}

double
pla_pbng_energy(PlaPbng *self)
{
  const size_t nv = (size_t)self->model->n_verts;
  pla_pbng_get_positions(self, self->pos);
  double energy = pla_fem_energy(self->model, self->pos) - pla_dot(self->dead, self->x, 4 * nv);
  if (self->pressure)
    energy -= pla_pressure_work(self->pressure, self->model->rest, self->pos);
  if (self->touching)
    energy += pla_contact_set_energy(self->touching, self->pos);
  for (int s = 0; s < self->n_springs; s++) {
    double gap[3], pull[3];
    pla_spring_gap(&self->spring[s], self->pos, gap);
    if (pla_spring_is_idle(&self->spring[s], gap))
      continue;
    pla_mat3_apply(self->spring[s].stiffness, gap, pull);
    energy += 0.5 * pla_vec3_dot(gap, pull);
  }
  for (size_t v = 0; self->dynamic && v < nv; v++) {
    double d[3];
    pla_vec3_sub(self->x + 4 * v, self->predicted + 4 * v, d);
    energy += 0.5 * self->inertia[v] * pla_vec3_dot(d, d);
  }
  return energy;
}

int
pla_pbng_n_colours(const PlaPbng *self)
{
  return self->linked.n_colours;
}

int
pla_pbng_restarts(const PlaPbng *self)
{
  return self->restarts;
}
