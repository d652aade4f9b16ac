/* Equilibrium of a body that is operated on, and what can be read off it. */
#include "sim/surgery/surgery-contact.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/fem/colouring.h"
#include "sim/solve/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- equilibrium ---- */

/* an element is taken to be filled at least so far: slivers at the edges of wounds carry the
 * threads, and must not tear out of what they belong to */
#define LEAST_FILLED 0.25
/* the same in bodies carved out of a lattice, where slivers are everywhere: what they add must be
 * small beside the body's own stiffness */
#define LEAST_CARVED 0.05
/* First Lame constant of the plain elements of a body that has averaged ones, in shear moduli, at
 * most: plain ones lock.  A hook that lifts a dome by 4 mm, at a Poisson's ratio of 0.49, needs
 * 0.38, 0.41 and 0.24 N in cells of 5, 3.5 and 2.5 mm.  Plain elements say 0.94 N in those of 5 mm,
 * 0.51, 0.42 and 0.26 N with 1, and 0.43, 0.35 and 0.22 N with 0. */
static const double most_lambda = 0.0;

static PlaSpring
spring_of(const PlaSurgery *self, const PlaSurgeryThread *thread, int n_ends)
{
  PlaSpring spring = { .n_verts = 8 * n_ends };
  const int *tets = pla_cut_mesh_get(self->cut).mesh.tet;
  for (int k = 0; k < 2 * n_ends; k++) {
    const PlaSurgeryEnd *end = &thread->end[k / 2];
    const PlaSurgeryAnchor at = pla_surgery_bind(self, &end->at[k % 2]);
    const double part = (k / 2 ? -1.0 : 1.0) * (k % 2 ? end->blend : 1.0 - end->blend);
    for (int c = 0; c < 4; c++) {
      spring.vert[4 * k + c] = tets[4 * at.tet + c];
      spring.weight[4 * k + c] = part * at.weight[c];
    }
  }
  memcpy(spring.offset, thread->place, sizeof spring.offset);
  for (int d = 0; d < 3; d++)
    spring.stiffness[4 * d] = thread->share * PLA_SURGERY_THREAD_STIFFNESS;
  return spring;
}

/* what the elements have of their own: only part of a cut one is material */
static PlaStatus
set_cells(const PlaSurgery *self, const PlaCutMeshView *view, PlaFemModel *model, PlaError *err)
{
  const size_t n = (size_t)view->mesh.n_tets;
  double *filled = pla_array_new(n, sizeof *filled);
  double *prestretch = self->prestretch ? pla_array_new(n, 9 * sizeof *prestretch) : NULL;
  PlaStatus st = PLA_OK;
  if (!filled || (self->prestretch && !prestretch))
    st = pla_fail_memory(err, "the body");
  if (st == PLA_OK) {
    if (self->filled)
      memcpy(filled, self->filled, n * sizeof *filled);
    else
      pla_cut_mesh_fractions(self->cut, filled);
    for (size_t t = 0; t < n; t++) {
      const double least = self->filled ? LEAST_CARVED : LEAST_FILLED;
      filled[t] = fmin(fmax(filled[t], least), 1.0);
      if (prestretch)
        memcpy(&prestretch[9 * t], &self->prestretch[9 * (size_t)view->tet_source[t]],
               9 * sizeof *prestretch);
    }
    const PlaFemCells cells = { .filled = filled, .prestretch = prestretch };
    st = pla_fem_model_set_cells(model, &cells, err);
  }
  free(filled);
  free(prestretch);
  return st;
}

static PlaStatus
build_model(const PlaSurgery *self, const PlaFemMaterial *materials, PlaFormulation formulation,
            PlaFemModel **out, PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  const int n_tets = view.mesh.n_tets;
  PlaMesh *mesh = NULL;
  int *material = pla_array_new((size_t)n_tets, sizeof *material);
  PlaStatus st = material ? pla_mesh_new(view.mesh.n_verts, 0, n_tets, 0, &mesh, err)
                          : pla_fail_memory(err, "the body");
  if (st == PLA_OK) {
    memcpy(mesh->pos, view.mesh.rest, 3 * (size_t)mesh->n_verts * sizeof *mesh->pos);
    memcpy(mesh->tet, view.mesh.tet, 4 * (size_t)n_tets * sizeof *mesh->tet);
    for (int t = 0; t < n_tets; t++)
      material[t] = self->cell_material[view.tet_source[t]];
    st = pla_fem_model_new(mesh, materials, self->n_materials, material, formulation, out, err);
  }
  if (st == PLA_OK) {
    st = set_cells(self, &view, *out, err);
    if (st == PLA_OK && self->colour)
      st = pla_fem_model_set_colours(*out, self->colour, err);
    if (st != PLA_OK) {
      pla_fem_model_free(*out);
      *out = NULL;
    }
  }
  pla_mesh_free(mesh);
  free(material);
  return st;
}

PlaStatus
pla_surgery_build_model(const PlaSurgery *self, PlaFemModel **out, PlaError *err)
{
  return build_model(self, self->material, self->formulation, out, err);
}

PlaStatus
pla_surgery_build_plain(const PlaSurgery *self, PlaFemModel **out, PlaError *err)
{
  PlaFemMaterial *soft =
      pla_array_dup(self->material, (size_t)self->n_materials, sizeof *self->material);
  for (int m = 0; soft && self->formulation != PLA_FORMULATION_STANDARD && m < self->n_materials;
       m++) {
    double mu, lambda, vol;
    pla_material_moduli(soft[m].material, soft[m].constants, &mu, &lambda, &vol);
    if (soft[m].material->volume_modulus && lambda > most_lambda * mu)
      *soft[m].material->volume_modulus(soft[m].constants) -= lambda - most_lambda * mu;
  }
  PlaStatus st = soft ? build_model(self, soft, PLA_FORMULATION_STANDARD, out, err)
                      : pla_fail_memory(err, "the body");
  free(soft);
  return st;
}

PlaStatus
pla_surgery_find_colours(PlaSurgery *self, PlaError *err)
{
  PlaFemModel *model = NULL;
  PlaColouring found = { 0 };
  PlaStatus st = pla_surgery_build_plain(self, &model, err);
  if (st == PLA_OK)
    st = pla_colouring_init(&found, model, err);
  if (st == PLA_OK)
    self->colour = found.colour;
  pla_fem_model_free(model);
  return st;
}

int
pla_surgery_n_springs(const PlaSurgery *self)
{
  return self->supports.n + self->stitches.n + self->hooks.n;
}

const PlaSurgeryThread *
pla_surgery_get_spring_thread(const PlaSurgery *self, int i)
{
  const int first_hook = self->supports.n + self->stitches.n;
  return i < self->supports.n ? &self->supports.thread[i]
         : i < first_hook     ? &self->stitches.thread[i - self->supports.n]
                              : &self->hooks.thread[i - first_hook];
}

/* spring @i: a stitch has two ends, supports and hooks one */
static PlaSpring
make_spring(const PlaSurgery *self, int i)
{
  const bool stitch = i >= self->supports.n && i < self->supports.n + self->stitches.n;
  return spring_of(self, pla_surgery_get_spring_thread(self, i), stitch ? 2 : 1);
}

void
pla_surgery_make_springs(const PlaSurgery *self, PlaSpring *out)
{
  for (int i = 0; i < pla_surgery_n_springs(self); i++)
    out[i] = make_spring(self, i);
}

void
pla_surgery_mark_supported(const PlaSurgery *self, unsigned char *fixed)
{
  const int *tets = pla_cut_mesh_get(self->cut).mesh.tet;
  for (int i = 0; i < self->supports.n; i++)
    for (int k = 0; k < 12; k++)
      fixed[3 * tets[4 * pla_surgery_bind(self, &self->supports.thread[i].end[0].at[0]).tet +
                     k / 3] +
            k % 3] = 1;
}

/* ---- the solve ---- */

/* Stitches that are drawn over a distance of many cells are drawn in steps of about two, so that no
 * element has to turn inside out on the way. */
static int
draw_steps(const PlaSurgery *self)
{
  double most = 0.0;
  for (int i = self->supports.n; i < pla_surgery_n_springs(self); i++) {
    const PlaSpring spring = make_spring(self, i);
    double gap[3];
    pla_spring_gap(&spring, self->pos, gap);
    most = fmax(most, pla_vec3_norm(gap));
  }
  for (int i = 0; i < self->n_implants; i++)
    most = fmax(most, 4.0 * fabs(self->implant[i].radius - self->implant[i].settled));
  /* pressure follows the walls from step to step */
  const double least = self->n_expanders ? 6.0 : 1.0;
  return (int)fmin(fmax(least, ceil(most / (2.0 * self->cell))), 20.0);
}

/* one solve: threads are drawn in steps, and the walls of wounds keep apart */
typedef struct {
  PlaSurgery *body;
  const PlaFemModel *model;
  PlaFemConditions conditions;
  PlaFemSprings springs;
  int n_threads, n_lasting, capacity;
  PlaSpring *spring; /* n_threads threads, ties up to n_lasting, then contacts */
  double *start;     /* gaps of threads at the start, m (n_threads x 3) */
  double *force;     /* of expanders, N (n_verts x 3) */
  double *pos;       /* the shape (n_verts x 3) */
  PlaSurgeryContacts contacts;
  PlaFemOptions options;
  PlaFemOrder order; /* from step to step.  Not from one solve to the next: handed on over a cut it
                        is found 20 times sooner, but its factors cost 1.5 times as much, with
                        stitches 2 to 5 times */
  int iterations, factorisations;
} Solve;

static void
solve_clear(Solve *self)
{
  pla_surgery_contacts_clear(&self->contacts);
  free(self->spring);
  free(self->start);
  free(self->force);
  free(self->pos);
  pla_fem_order_clear(&self->order);
}

static PlaStatus
solve_init(Solve *self, PlaSurgery *body, const PlaFemModel *model, const unsigned char *fixed,
           PlaProgress *progress, PlaError *err)
{
  const size_t n_verts = (size_t)pla_cut_mesh_get(body->cut).mesh.n_verts;
  const int n = pla_surgery_n_springs(body);
  *self = (Solve){ .body = body,
                   .model = model,
                   .conditions = { .fixed = fixed, .target = body->pos },
                   .n_threads = n,
                   .n_lasting = n + body->n_ties,
                   .capacity = n + body->n_ties,
                   .spring = pla_array_new((size_t)(n + body->n_ties), sizeof *self->spring),
                   .start = pla_array_new((size_t)n, 3 * sizeof *self->start),
                   .force = pla_array_new(n_verts, 3 * sizeof *self->force),
                   .pos = pla_array_dup(body->pos, 3 * n_verts, sizeof *self->pos),
                   .options = pla_fem_options_default() };
  self->options.warm_start = true;
  /* sweeps over elements under tension have no fast kernel: 4,500 tets took 4 s instead of 0.7 */
  if (body->prestretch)
    self->options.method = PLA_SOLVER_NEWTON;
  self->options.progress = progress;
  self->order.n_verts = (int)n_verts;
  self->options.order = &self->order;
  if (!self->spring || !self->start || !self->force || !self->pos)
    return pla_fail_memory(err, "the sutures");
  pla_surgery_make_springs(body, self->spring);
  if (body->n_ties)
    memcpy(&self->spring[n], body->tie, (size_t)body->n_ties * sizeof *body->tie);
  for (int i = 0; i < n; i++)
    pla_spring_gap(&self->spring[i], body->pos, &self->start[3 * i]);
  PlaStatus st = pla_surgery_contacts_init(&self->contacts, body, err);
  return st == PLA_OK ? pla_surgery_contacts_update(&self->contacts, body, self->pos, err) : st;
}

/* offsets of the threads when @part of the way is left: from what they are at the start */
static void
set_offsets(Solve *self, double part)
{
  const PlaSurgery *body = self->body;
  for (int i = 0; i < self->n_threads; i++) {
    const PlaSurgeryThread *thread = pla_surgery_get_spring_thread(body, i);
    /* what holds the body does not move while threads are drawn */
    const double left = i < body->supports.n ? 0.0 : part;
    for (int d = 0; d < 3; d++)
      self->spring[i].offset[d] = thread->place[d] + left * self->start[3 * i + d];
  }
}

/* puts the contacts of the newest update behind threads and ties */
static PlaStatus
set_springs(Solve *self, PlaError *err)
{
  const int n = self->n_lasting + self->contacts.n;
  if (!pla_array_reserve(&self->spring, n, &self->capacity, sizeof *self->spring))
    return pla_fail_memory(err, "the walls of the wounds");
  if (self->contacts.n)
    memcpy(&self->spring[self->n_lasting], self->contacts.spring,
           (size_t)self->contacts.n * sizeof *self->spring);
  self->springs = (PlaFemSprings){ n, self->spring };
  self->conditions.springs = &self->springs;
  return PLA_OK;
}

/* equilibrium with what touches now, then what touches then */
static PlaStatus
solve_once(Solve *self, double tolerance_rel, PlaFemReport *report, PlaError *err)
{
  self->options.tolerance_rel = tolerance_rel;
  PlaStatus st = set_springs(self, err);
  if (st == PLA_OK)
    st = pla_fem_solve(self->model, &self->conditions, &self->options, self->pos, report, err);
  if (st == PLA_OK) {
    self->iterations += report->iterations;
    self->factorisations += report->factorisations;
    st = pla_surgery_contacts_update(&self->contacts, self->body, self->pos, err);
  }
  return st;
}

static PlaStatus
solve_steps(Solve *self, double tolerance_rel, PlaFemReport *report, PlaError *err)
{
  const double rough = fmax(1e-2, tolerance_rel); /* on the way only the shape matters */
  enum { ROUNDS = 4 };                            /* until nothing new is touched */
  const PlaSurgery *body = self->body;
  const size_t n_verts = (size_t)pla_cut_mesh_get(body->cut).mesh.n_verts;
  const int steps = draw_steps(body);
  PlaStatus st = PLA_OK;
  bool fine = false, go = true;
  for (int k = 1; st == PLA_OK && go && k <= steps; k++) {
    set_offsets(self, (double)(steps - k) / steps);
    if (body->n_implants) {
      self->contacts.grown = (double)k / steps;
      st = pla_surgery_contacts_update(&self->contacts, body, self->pos, err);
    }
    if (st == PLA_OK && body->n_expanders) {
      /* full pressure in the last two, so that the last starts from where it almost is */
      memset(self->force, 0, 3 * n_verts * sizeof *self->force);
      st = pla_surgery_add_expanders(self->body, self->pos, fmin((double)k / (steps - 1), 1.0),
                                     self->force, err);
      self->conditions.force = self->force;
    }
    fine = k == steps && self->contacts.n_pushed == 0;
    if (st == PLA_OK)
      st = solve_once(self, fine ? tolerance_rel : rough, report, err);
    go = st == PLA_OK && report->reason != PLA_STOP_CANCELLED;
  }
  for (int r = 0; st == PLA_OK && go && r < ROUNDS; r++) {
    const bool settled = 50 * self->contacts.n_new <= self->contacts.n_pushed;
    if (settled && fine)
      break;
    fine = settled || r + 1 == ROUNDS;
    st = solve_once(self, fine ? tolerance_rel : rough, report, err);
    go = st == PLA_OK && report->reason != PLA_STOP_CANCELLED;
  }
  report->iterations = self->iterations;
  report->factorisations = self->factorisations;
  report->contacts = self->contacts.n_pushed;
  report->max_penetration_m = self->contacts.deepest;
  report->contact_n = self->contacts.push;
  return st;
}

PlaStatus
pla_surgery_solve(PlaSurgery *self, double tolerance_rel, PlaProgress *progress,
                  PlaFemReport *report, PlaError *err)
{
  const int n = pla_cut_mesh_get(self->cut).mesh.n_verts;
  PlaFemModel *model = NULL;
  Solve solve = { 0 };
  unsigned char *fixed = pla_array_new(3 * (size_t)n, sizeof *fixed);
  PlaStatus st =
      fixed ? pla_surgery_build_model(self, &model, err) : pla_fail_memory(err, "the body");
  if (st == PLA_OK) {
    for (int i = 0; i < 3 * n; i++)
      fixed[i] = self->held[i / 3];
    pla_surgery_mark_supported(self, fixed);
    st = pla_fem_check_held(model, fixed, err);
    for (int i = 0; i < 3 * n; i++)
      fixed[i] = self->held[i / 3];
  }
  if (st == PLA_OK)
    st = solve_init(&solve, self, model, fixed, progress, err);
  if (st == PLA_OK)
    st = solve_steps(&solve, tolerance_rel, report, err);
  if (st == PLA_OK)
    st = pla_cut_mesh_set_shape(self->cut, solve.pos, err);
  if (st == PLA_OK) {
    memcpy(self->pos, solve.pos, 3 * (size_t)n * sizeof *self->pos);
    for (int i = 0; i < self->n_implants; i++)
      self->implant[i].settled = self->implant[i].radius;
    pla_surgery_forget_surface(self);
  }
  solve_clear(&solve);
  pla_fem_model_free(model);
  free(fixed);
  return st;
}

/* ---- reading ---- */

/* the threads from @first on that make one stitch: how many, and what they do together */
static int
read_stitch(const PlaSurgery *self, int first, PlaSurgeryStitch *out)
{
  const PlaSurgeryThread *thread = self->stitches.thread;
  double sum[3] = { 0 };
  int n = 0;
  *out = (PlaSurgeryStitch){ .row = thread[first].row };
  for (int i = first; i < self->stitches.n && thread[i].stitch == thread[first].stitch; i++, n++) {
    const PlaSpring spring = spring_of(self, &thread[i], 2);
    double p[3], q[3], e[3], force[3];
    pla_surgery_place_end(self, &thread[i].end[0], p);
    pla_surgery_place_end(self, &thread[i].end[1], q);
    pla_vec3_sub(p, q, e);
    pla_spring_force(&spring, self->pos, force);
    for (int d = 0; d < 3; d++) {
      out->pos[d] += 0.5 * (p[d] + q[d]);
      sum[d] += force[d];
    }
    if (thread[i].share >= PLA_SURGERY_FIRM)
      out->gap = fmax(out->gap, pla_vec3_norm(e));
  }
  out->tension = pla_vec3_norm(sum);
  for (int d = 0; d < 3; d++)
    out->pos[d] /= n;
  return n;
}

int
pla_surgery_get_stitches(const PlaSurgery *self, PlaSurgeryStitch *out)
{
  int n = 0;
  for (int i = 0; i < self->stitches.n; n++) {
    PlaSurgeryStitch stitch;
    i += read_stitch(self, i, &stitch);
    if (out)
      out[n] = stitch;
  }
  return n;
}

/* largest stretch of single elements, and of the material around vertices; slivers at the edge of a
 * wound, where there is next to none, stretch as they like */
static PlaStatus
read_stretch(const PlaSurgery *self, PlaSurgeryReadings *out, PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  const int n_tets = view.mesh.n_tets, n_verts = view.mesh.n_verts;
  PlaFemModel *model = NULL;
  double *filled = pla_array_new((size_t)n_tets, sizeof *filled);
  double *sum = pla_array_new0((size_t)n_verts, 2 * sizeof *sum); /* stretch and share, weighted */
  double *whole = pla_array_new0((size_t)n_verts, sizeof *whole);
  PlaStatus st = filled && sum && whole ? pla_surgery_build_plain(self, &model, err)
                                        : pla_fail_memory(err, "the stretches");
  if (st == PLA_OK)
    pla_cut_mesh_fractions(self->cut, filled);
  for (int t = 0; st == PLA_OK && t < n_tets; t++) {
    PlaFemCellState state;
    pla_fem_cell_state(model, t, self->pos, &state);
    out->max_stretch_cell = fmax(out->max_stretch_cell, state.stretch[0]);
    for (int c = 0; c < 4; c++) {
      const int v = view.mesh.tet[4 * t + c];
      sum[2 * v] += filled[t] * state.stretch[0];
      sum[2 * v + 1] += filled[t];
      whole[v] += 1.0;
    }
  }
  for (int v = 0; st == PLA_OK && v < n_verts; v++)
    if (sum[2 * v + 1] > 0.0 && sum[2 * v + 1] >= LEAST_FILLED * whole[v])
      out->max_stretch = fmax(out->max_stretch, sum[2 * v] / sum[2 * v + 1]);
  pla_fem_model_free(model);
  free(filled);
  free(sum);
  free(whole);
  return st;
}

/* How far the skin within a centimetre of the ends of rows stands out beyond where skin was before:
 * where a seam is too short for the skin along it, the surplus rises as a dog-ear. */
static PlaStatus
read_dog_ears(PlaSurgery *self, double *out, PlaError *err)
{
  const double around = 0.01; /* m */
  const PlaSurgeryThread *thread = self->stitches.thread;
  const PlaTetMesh mesh = pla_cut_mesh_get(self->cut).mesh;
  PlaSkin skin = { 0 }, before = { 0 };
  *out = 0.0;
  if (self->stitches.n == 0)
    return PLA_OK;
  double *rest = NULL;
  PlaStatus st = pla_surgery_get_skin(self, &skin, err);
  if (st == PLA_OK) {
    rest = pla_array_new(3 * (size_t)self->surface.n_verts, sizeof *rest);
    if (rest)
      pla_cut_surface_place(&self->surface, self->cut, mesh.rest, rest);
    else
      st = pla_fail_memory(err, "the skin");
  }
  if (st == PLA_OK)
    st = pla_skin_init(&before, &self->surface, rest, err);
  for (int t = 0; st == PLA_OK && t < skin.n_tris; t++)
    for (int k = 0; k < 3; k++) {
      const int v = self->surface.tri[3 * skin.source[t] + k];
      const double *now = &self->surface_pos[3 * v];
      bool near = false;
      for (int i = 0; i < self->stitches.n && !near; i++) {
        const bool first = i == 0 || thread[i - 1].row != thread[i].row;
        const bool last = i + 1 == self->stitches.n || thread[i + 1].row != thread[i].row;
        double p[3], e[3];
        if (!first && !last)
          continue;
        pla_surgery_place_end(self, &thread[i].end[0], p);
        pla_vec3_sub(p, now, e);
        near = pla_vec3_norm(e) < around;
      }
      PlaSkinPoint was;
      double out_of[3];
      if (!near || !pla_skin_snap(&before, now, 2.0 * around, &was))
        continue;
      pla_vec3_sub(now, was.pos, out_of);
      *out = fmax(*out, pla_vec3_dot(out_of, was.normal));
    }
  free(rest);
  pla_skin_clear(&before);
  pla_skin_clear(&skin);
  return st;
}

PlaStatus
pla_surgery_read(PlaSurgery *self, PlaSurgeryReadings *out, PlaError *err)
{
  *out = (PlaSurgeryReadings){ .n_hooks = self->hooks.n };
  for (int i = 0; i < self->stitches.n; out->n_stitches++) {
    PlaSurgeryStitch stitch;
    i += read_stitch(self, i, &stitch);
    out->closed_gap = fmax(out->closed_gap, stitch.gap);
    out->max_tension = fmax(out->max_tension, stitch.tension);
    out->closure_force += stitch.tension;
  }
  out->edge_gap = out->closed_gap;
  for (int i = 0; i < self->gauges.n; i++) {
    double p[3], q[3], e[3];
    pla_surgery_place_end(self, &self->gauges.thread[i].end[0], p);
    pla_surgery_place_end(self, &self->gauges.thread[i].end[1], q);
    pla_vec3_sub(p, q, e);
    double *gap = self->gauges.thread[i].stitch == PLA_SURGERY_TIP ? &out->tip_gap : &out->edge_gap;
    *gap = fmax(*gap, pla_vec3_norm(e));
  }
  for (int i = 0; i < self->hooks.n; i++) {
    const PlaSpring spring = spring_of(self, &self->hooks.thread[i], 1);
    double force[3];
    pla_spring_force(&spring, self->pos, force);
    out->max_hook_force = fmax(out->max_hook_force, pla_vec3_norm(force));
  }
  PlaStatus st = read_stretch(self, out, err);
  return st == PLA_OK ? read_dog_ears(self, &out->dog_ear, err) : st;
}
