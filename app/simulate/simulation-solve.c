/* Scenes: solving them, and what is told about the answer. */
#include "app/simulate/simulation-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/svd3.h"
#include "app/base/quantity.h"
#include "app/simulate/scene-layer.h"
#include "app/simulate/scene-where.h"
#include "sim/material/presets.h"
#include "sim/solve/solve.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int vert[4], tet;
} Corners;

static int
compare_corners(const void *a, const void *b)
{
  return memcmp(((const Corners *)a)->vert, ((const Corners *)b)->vert, sizeof(int[4]));
}

/* the cell fields of a surface that the tets carry: of the tet that a triangle's first vertex
 * follows */
static PlaStatus
carry_fields(PlaMesh *mesh, double *const *field, const int *width, int n_fields, PlaError *err)
{
  const PlaField *bound = pla_mesh_find_field(mesh, PLA_MESH_BOUND_VERTS, PLA_ON_VERTS);
  if (!pla_mesh_carries_surface(mesh) || bound->dtype != PLA_I32 || bound->n_components != 4)
    return PLA_OK;
  g_autofree Corners *tets = g_try_new(Corners, mesh->n_tets);
  if (!tets)
    return pla_fail_memory(err, "the result");
  for (int t = 0; t < mesh->n_tets; t++) {
    memcpy(tets[t].vert, mesh->tet + 4 * (size_t)t, sizeof tets[t].vert);
    tets[t].tet = t;
  }
  qsort(tets, (size_t)mesh->n_tets, sizeof *tets, compare_corners);
#pragma omp parallel for schedule(static)
  for (int t = 0; t < mesh->n_tris; t++) {
    Corners key;
    memcpy(key.vert, (const int *)bound->data + 4 * (size_t)mesh->tri[3 * t], sizeof key.vert);
    const Corners *found = bsearch(&key, tets, (size_t)mesh->n_tets, sizeof *tets, compare_corners);
    for (int f = 0; found && f < n_fields; f++)
      if (field[f])
        memcpy(field[f] + (size_t)width[f] * (size_t)t,
               field[f] + (size_t)width[f] * ((size_t)mesh->n_tris + (size_t)found->tet),
               (size_t)width[f] * sizeof *field[f]);
  }
  return PLA_OK;
}

/* xx, yy, zz, xy, yz, xz of a symmetric matrix, as VTK orders them */
static void
put_symmetric(const double m[9], double out[6])
{
  static const int entry[6] = { 0, 4, 8, 1, 5, 2 };
  for (int i = 0; i < 6; i++)
    out[i] = m[entry[i]];
}

/* fields of the deformed body: displacement, and per element Jacobian, stretches, von Mises stress
 */
static PlaStatus
add_fields(const PlaSimulation *scene, const double *pos, PlaMesh *mesh, PlaError *err)
{
  const PlaMesh *rest = scene->mesh;
  double *disp = pla_mesh_add_field(mesh, PLA_FIELD_DISPLACEMENT, PLA_ON_VERTS, PLA_F64, 3);
  double *jacobian = pla_mesh_add_field(mesh, "jacobian", PLA_ON_CELLS, PLA_F64, 1);
  double *stretch = pla_mesh_add_field(mesh, "principal_stretch", PLA_ON_CELLS, PLA_F64, 3);
  double *mises = pla_mesh_add_field(mesh, "von_mises_pa", PLA_ON_CELLS, PLA_F64, 1);
  if (!disp || !jacobian || !stretch || !mises)
    return pla_fail_memory(err, "the result");
  for (size_t i = 0; i < 3 * (size_t)rest->n_verts; i++) {
    disp[i] = (pos[i] - rest->pos[i]) * 1000.0;
    mesh->pos[i] = pos[i];
  }
  const size_t first = (size_t)rest->n_tris;
  const int n_cells = rest->n_tets + rest->n_hexes;
  double *stress = NULL, *principal = NULL, *strain = NULL;
  if (scene->stress) {
    stress = pla_mesh_add_field(mesh, "stress_pa", PLA_ON_CELLS, PLA_F64, 6);
    principal = pla_mesh_add_field(mesh, "principal_stress_pa", PLA_ON_CELLS, PLA_F64, 3);
  }
  if (scene->strain)
    strain = pla_mesh_add_field(mesh, "strain", PLA_ON_CELLS, PLA_F64, 6);
  PlaFemCellState *state = pla_array_new((size_t)n_cells, sizeof *state);
  if (!state || (scene->stress && (!stress || !principal)) || (scene->strain && !strain)) {
    free(state);
    return pla_fail_memory(err, "the result");
  }
  PlaStatus st = pla_fem_cell_states(scene->model, pos, state, err);
  if (st == PLA_OK && scene->membranes)
    st = pla_scene_add_layer_field(scene, pos, mesh, err);
#pragma omp parallel for schedule(static)
  for (int c = 0; c < n_cells; c++) {
    const size_t at = first + (size_t)c;
    jacobian[at] = state[c].jacobian;
    memcpy(stretch + 3 * at, state[c].stretch, sizeof state[c].stretch);
    mises[at] = state[c].von_mises_pa;
    if (stress) {
      double value[3], vectors[9];
      put_symmetric(state[c].cauchy_pa, stress + 6 * at);
      pla_eig3(state[c].cauchy_pa, value, vectors);
      for (size_t d = 0; d < 3; d++)
        principal[3 * at + d] = value[2 - d];
    }
    if (strain)
      put_symmetric(state[c].strain, strain + 6 * at);
  }
  free(state);
  double *const field[] = { jacobian, stretch, mises, stress, principal, strain };
  static const int width[] = { 1, 3, 1, 6, 3, 6 };
  return st == PLA_OK ? carry_fields(mesh, field, width, (int)G_N_ELEMENTS(field), err) : st;
}

/* the cells with the smallest det F */
static void
add_worst(const PlaSimulation *scene, const double *jacobian, PlaSimulationResult *out)
{
  const PlaMesh *mesh = scene->mesh;
  for (int c = 0; c < mesh->n_tets + mesh->n_hexes; c++) {
    int at = out->n_worst;
    while (at > 0 && jacobian[c] < out->worst[at - 1].jacobian)
      at--;
    if (at == PLA_WORST_ELEMENTS)
      continue;
    if (out->n_worst < PLA_WORST_ELEMENTS)
      out->n_worst++;
    memmove(out->worst + at + 1, out->worst + at,
            (size_t)(out->n_worst - 1 - at) * sizeof *out->worst);
    out->worst[at] = (PlaWorstElement){ .element = c, .jacobian = jacobian[c] };
  }
  for (int k = 0; k < out->n_worst; k++) {
    const int *verts;
    int n = pla_scene_cell(mesh, (size_t)out->worst[k].element, &verts);
    for (int a = 0; a < n; a++)
      for (int d = 0; d < 3; d++)
        out->worst[k].centre_mm[d] += 1e3 * mesh->pos[3 * (size_t)verts[a] + (size_t)d] / n;
  }
}

static double
reaction_size(const PlaReaction *reaction)
{
  return pla_vec3_norm(reaction->force_n);
}

PlaStatus
pla_simulation_sensitivity(const PlaSimulation *typical, PlaProgress *progress,
                           PlaSimulationResult *result, PlaError *err)
{
  PlaSensitivity *out = &result->sensitivity;
  PlaMesh *shape[2] = { NULL, NULL };
  PlaStatus st = PLA_OK;
  out->reaction_n = g_malloc0_n((gsize)result->n_reactions + 1, sizeof *out->reaction_n);
  out->probe_mm = g_new0(double, result->n_probes + 1);
  for (int end = 0; st == PLA_OK && end < 2; end++) {
    PlaSimulation *scene = NULL;
    PlaSimulationResult other = { 0 };
    pla_progress_phase(progress, end ? "Solving with stiff tissues" : "Solving with soft tissues",
                       0.5 * (end + 1));
    PlaProgressSpan span = pla_progress_push(progress);
    st = pla_simulation_new_at(typical, end ? PLA_STIFFNESS_HIGH : PLA_STIFFNESS_LOW, progress,
                               &scene, err);
    if (st == PLA_OK && scene->n_presets == 0)
      st = pla_fail(err, PLA_ERR_USAGE,
                    "%s: sensitivity needs the ranges of tissues, and no material is a \"preset\"",
                    typical->path ? typical->path : "the scene");
    if (st == PLA_OK)
      st = pla_simulation_solve(scene, progress, &other, err);
    pla_progress_pop(progress, span);
    if (st == PLA_OK) {
      out->converged[end] = other.solve.reason == PLA_STOP_CONVERGED;
      for (int i = 0; i < result->n_reactions; i++)
        out->reaction_n[i][end] = reaction_size(&other.reaction[i]);
      shape[end] = g_steal_pointer(&other.mesh);
    }
    pla_simulation_result_clear(&other);
    pla_simulation_free(scene);
  }
  double *field = st == PLA_OK
                      ? pla_mesh_add_field(result->mesh, "sensitivity_mm", PLA_ON_VERTS, PLA_F64, 1)
                      : NULL;
  if (st == PLA_OK && !field)
    st = pla_fail_memory(err, "the result");
  for (int v = 0; st == PLA_OK && v < result->mesh->n_verts; v++) {
    double d[3];
    pla_vec3_sub(shape[1]->pos + 3 * (size_t)v, shape[0]->pos + 3 * (size_t)v, d);
    field[v] = 1e3 * pla_vec3_norm(d);
    if (field[v] > out->spread_mm) {
      out->spread_mm = field[v];
      out->spread_vert = v;
    }
  }
  for (int i = 0; st == PLA_OK && i < result->n_probes; i++)
    out->probe_mm[i] = field[result->probe[i].vert];
  out->done = st == PLA_OK;
  pla_mesh_free(shape[0]);
  pla_mesh_free(shape[1]);
  return st;
}

/* ---- statics ------------------------------------------------------------------------------ */

/* a shape in equilibrium after the fraction @motion of what moves, under the fraction @load of the
 * loads */
typedef struct {
  double motion, load;
} Stage;

typedef struct {
  const PlaSimulation *scene;
  PlaProgress *progress;
  PlaSceneColliders colliders;
  double *poses;            /* of the colliders, 12 each */
  double *pos;              /* n_verts x 3, the caller's */
  double *target;           /* n_verts x 3, the caller's */
  double *kept;             /* the last equilibrium */
  double *force, *pressure; /* a share of the scene's */
  Stage reached;            /* by what is kept */
  int iterations, factorisations, linear_iterations;
  bool gave_up_start;
} Statics;

enum {
  SWEEPS_AN_ITERATION = 100, /* as the solver counts them */
  MOST_INCREMENTS = 256,     /* a stage is cut into no smaller parts */
};

/* from what is kept to @to */
static PlaStatus
solve_stage(Statics *self, Stage to, int max_iterations, PlaSimulationResult *out, PlaError *err)
{
  const PlaSimulation *scene = self->scene;
  const size_t n = 3 * (size_t)scene->mesh->n_verts;
  PlaFemOptions options = scene->options;
  PlaFemConditions conditions = pla_simulation_conditions(scene, to.motion, self->target);
  PlaFemPressure pressure = scene->pressure;
  PlaStatus st = PLA_OK;
  options.progress = self->progress;
  options.max_iterations = max_iterations;
  /* a better start than the last equilibrium may lie on another way: a bar turned round once is at
   * rest */
  options.warm_start = self->reached.motion > 0.0;
  if (to.load < 1.0) {
    for (size_t i = 0; i < n; i++)
      self->force[i] = to.load * scene->force[i];
    for (int t = 0; t < pressure.n_tris; t++)
      self->pressure[t] = to.load * pressure.pressure[t];
    pressure.pressure = self->pressure;
    conditions.force = self->force;
    conditions.pressure = conditions.pressure ? &pressure : NULL;
  }
  memcpy(self->pos, self->kept, n * sizeof *self->pos);
  pla_scene_colliders_move(&self->colliders, self->reached.motion, NULL);
  pla_scene_colliders_move(&self->colliders, to.motion, self->poses);
  if (scene->contacts)
    st = pla_contact_set_begin_step(scene->contacts, self->pos, self->poses, err);
  if (st == PLA_OK)
    st = pla_fem_solve(scene->model, &conditions, &options, self->pos, &out->solve, err);
  if (st == PLA_OK && out->solve.reason == PLA_STOP_CANCELLED)
    st = pla_fail_cancelled(err);
  self->iterations += out->solve.iterations;
  self->factorisations += out->solve.factorisations;
  self->linear_iterations += out->solve.linear_iterations;
  if (st == PLA_OK && out->solve.reason == PLA_STOP_CONVERGED) {
    memcpy(self->kept, self->pos, n * sizeof *self->kept);
    self->reached = to;
    self->gave_up_start |= out->solve.gave_up_start;
  }
  return st;
}

/* @to at once, or, where that fails, in increments that shrink and grow with what the body takes;
 * they get twice the iterations of the first attempt together */
static PlaStatus
reach_stage(Statics *self, Stage to, PlaSimulationResult *out, PlaError *err)
{
  const int limit = self->scene->options.max_iterations;
  const int unit = self->scene->options.method == PLA_SOLVER_PBNG ? SWEEPS_AN_ITERATION : 1;
  const Stage from = self->reached;
  PlaStatus st = solve_stage(self, to, limit, out, err);
  double done = out->solve.reason == PLA_STOP_CONVERGED, part = 0.5;
  int left = 2 * limit;
  while (st == PLA_OK && done < 1.0 && left > 0 && part >= 1.0 / MOST_INCREMENTS) {
    const double at = MIN(done + part, 1.0);
    const Stage next = { from.motion + at * (to.motion - from.motion),
                         from.load + at * (to.load - from.load) };
    st = solve_stage(self, at < 1.0 ? next : to, MIN(left, MAX(limit / 5, 1)), out, err);
    left -= MAX(out->solve.iterations / unit, 1);
    const bool found = out->solve.reason == PLA_STOP_CONVERGED;
    done = found ? at : done;
    part *= found ? 2.0 : 0.25;
  }
  /* the last increment may have been solved, and no iterations be left for the next */
  if (st == PLA_OK && done < 1.0 && out->solve.reason == PLA_STOP_CONVERGED)
    out->solve.reason = PLA_STOP_ITERATIONS;
  return st;
}

/* motions in equal increments, each from the equilibrium of the last; loads act in full from the
 * first */
static PlaStatus
run_statics(const PlaSimulation *scene, PlaProgress *progress, double *pos, double *target,
            PlaSimulationResult *out, PlaError *err)
{
  const size_t n = 3 * (size_t)scene->mesh->n_verts;
  g_autofree double *poses = g_new(double, 12 * (gsize)(scene->colliders.n + 1));
  g_autofree double *kept = g_try_new(double, n), *force = g_try_new(double, n);
  g_autofree double *pressure = g_try_new(double, (gsize)scene->pressure.n_tris + 1);
  if (!kept || !force || !pressure)
    return pla_fail_memory(err, "the solve");
  memcpy(kept, pos, n * sizeof *kept);
  Statics self = { .scene = scene,
                   .progress = progress,
                   .colliders = scene->colliders,
                   .poses = poses,
                   .pos = pos,
                   .target = target,
                   .kept = kept,
                   .force = force,
                   .pressure = pressure };
  PlaStatus st = PLA_OK;
  for (int step = 1; st == PLA_OK && step <= scene->steps; step++) {
    double t = (double)step / scene->steps;
    pla_progress_phase(progress, "Solving", t);
    st = reach_stage(&self, (Stage){ t, 1.0 }, out, err);
    if (out->solve.reason != PLA_STOP_CONVERGED)
      break;
  }
  out->reached = MIN(self.reached.motion, self.reached.load);
  out->solve.iterations = self.iterations;
  out->solve.factorisations = self.factorisations;
  out->solve.linear_iterations = self.linear_iterations;
  out->solve.gave_up_start = self.gave_up_start;
  return st;
}

/* the deformed body with its fields */
static PlaStatus
make_result(const PlaSimulation *scene, const double *pos, PlaMesh **out, PlaError *err)
{
  PlaStatus st = pla_mesh_dup(scene->mesh, out, err);
  if (st == PLA_OK)
    st = add_fields(scene, pos, *out, err);
  return st;
}

static PlaStatus
show_frame(const PlaSimulation *scene, const PlaDynamics *dynamics, PlaFrameFunc frame, void *data,
           PlaSimulationResult *out, PlaError *err)
{
  PlaMesh *mesh = NULL;
  out->frames++;
  if (!frame)
    return PLA_OK;
  PlaStatus st = make_result(scene, pla_dynamics_get_pos(dynamics), &mesh, err);
  if (st == PLA_OK)
    st = frame(mesh, pla_dynamics_time(dynamics), data, err);
  pla_mesh_free(mesh);
  return st;
}

static PlaStatus
run_dynamics(const PlaSimulation *scene, PlaProgress *progress, PlaFrameFunc frame, void *data,
             double *pos, double *target, PlaSimulationResult *out, PlaError *err)
{
  const PlaSceneDynamics *spec = &scene->dynamics;
  PlaSceneColliders colliders = scene->colliders;
  PlaDynamicsOptions options = spec->options;
  PlaDynamics *dynamics = NULL;
  PlaDynamicsReport report = { 0 };
  int iterations = 0;
  PlaFemConditions conditions = pla_simulation_conditions(scene, 0.0, target);
  options.solve = scene->options;
  PlaStatus st = pla_dynamics_new(scene->model, &conditions, spec->integrator, &options, pos, NULL,
                                  &dynamics, err);
  if (st == PLA_OK)
    st = show_frame(scene, dynamics, frame, data, out, err);
  for (int step = 1; st == PLA_OK && step <= spec->steps; step++) {
    double t = (double)step / spec->steps;
    if (!pla_progress_step(progress, t))
      st = pla_fail_cancelled(err);
    pla_simulation_conditions(scene, t, target);
    pla_scene_colliders_move(&colliders, t, NULL);
    if (st == PLA_OK)
      st = pla_dynamics_step(dynamics, err);
    if (st != PLA_OK)
      break;
    pla_dynamics_report(dynamics, &report);
    iterations += report.solve.iterations;
    out->deepest_mm = MAX(out->deepest_mm, report.solve.max_penetration_m * 1e3);
    if (step % spec->every == 0 || step == spec->steps)
      st = show_frame(scene, dynamics, frame, data, out, err);
  }
  if (st == PLA_OK) {
    memcpy(pos, pla_dynamics_get_pos(dynamics), 3 * (size_t)scene->mesh->n_verts * sizeof *pos);
    out->solve = report.solve;
    out->solve.iterations = iterations;
    out->solve.energy_j = report.potential_j;
    if (report.unsolved > 0 && out->solve.reason == PLA_STOP_CONVERGED)
      out->solve.reason = PLA_STOP_ITERATIONS;
    out->time_s = pla_dynamics_time(dynamics);
    out->kinetic_j = report.kinetic_j;
    out->unsolved_steps = report.unsolved;
  }
  pla_dynamics_free(dynamics);
  return st;
}

/* one more force; moments about the origin, places summed, until centre_reaction() */
static void
add_reaction(PlaReaction *self, const double place[3], const double force[3])
{
  double moment[3];
  pla_vec3_cross(place, force, moment);
  for (int d = 0; d < 3; d++) {
    self->force_n[d] += force[d];
    self->moment_n_m[d] += moment[d];
    self->about_mm[d] += 1e3 * place[d];
  }
  self->n_verts++;
}

/* moments about the middle of what is held */
static void
centre_reaction(PlaReaction *self)
{
  double middle[3], moment[3];
  for (int d = 0; d < 3; d++) {
    self->about_mm[d] /= MAX(self->n_verts, 1);
    middle[d] = self->about_mm[d] / 1e3;
  }
  pla_vec3_cross(middle, self->force_n, moment);
  for (int d = 0; d < 3; d++)
    self->moment_n_m[d] -= moment[d];
}

/* what supports, hooks and colliders carry at the end */
static PlaStatus
measure_forces(const PlaSimulation *scene, const double *pos, double *target,
               PlaSimulationResult *out, PlaError *err)
{
  const size_t n = 3 * (size_t)scene->mesh->n_verts;
  PlaFemConditions conditions = pla_simulation_conditions(scene, 1.0, target);
  g_autofree double *reaction = g_try_new(double, n);
  if (!reaction)
    return pla_fail_memory(err, "the reactions");
  PlaStatus st = scene->contacts ? pla_contact_set_update(scene->contacts, pos, 0.0, err) : PLA_OK;
  if (st == PLA_OK)
    st = pla_fem_reactions(scene->model, &conditions, pos, reaction, err);
  if (st != PLA_OK)
    return st;
  out->n_hooks = (int)scene->hooks->len;
  out->hook = g_new0(PlaHookResult, scene->hooks->len + 1);
  for (int h = 0; h < out->n_hooks; h++) {
    const PlaHookSpec *spec = &g_array_index(scene->hooks, PlaHookSpec, (guint)h);
    PlaHookResult *hook = &out->hook[h];
    hook->name = g_strdup(spec->name);
    if (spec->spring >= 0)
      pla_spring_force(&scene->spring_list.spring[spec->spring], pos, hook->force_n);
    for (int d = 0; d < 3; d++) {
      if (spec->spring < 0)
        hook->force_n[d] = reaction[3 * (size_t)spec->vert + (size_t)d];
      hook->position_mm[d] = pos[3 * (size_t)spec->vert + (size_t)d] * 1000.0;
    }
  }
  out->n_reactions = (int)scene->held->len;
  out->reaction = g_new0(PlaReaction, scene->held->len + 1);
  for (guint c = 0; c < scene->held->len; c++) {
    const GArray *held = g_ptr_array_index(scene->held, c);
    for (guint i = 0; i < held->len; i++) {
      const gsize v = 3 * (gsize)g_array_index(held, int, i);
      add_reaction(&out->reaction[c], pos + v, reaction + v);
    }
  }
  for (guint i = 0; i < scene->supports->len; i++) {
    const PlaSupportSpec *support = &g_array_index(scene->supports, PlaSupportSpec, i);
    const PlaSpring *spring = &scene->spring_list.spring[support->spring];
    double force[3];
    pla_spring_force(spring, pos, force);
    add_reaction(&out->reaction[support->constraint], pos + 3 * (size_t)spring->vert[0], force);
  }
  for (int c = 0; c < out->n_reactions; c++)
    centre_reaction(&out->reaction[c]);
  out->n_colliders = scene->colliders.n;
  out->collider_n = g_new0(double, 3 * (gsize)scene->colliders.n + 1);
  for (int c = 0; c < out->n_colliders; c++)
    pla_contact_set_collider_force(scene->contacts, c, pos, out->collider_n + 3 * c);
  out->deepest_mm = MAX(out->deepest_mm, out->solve.max_penetration_m * 1e3);
  return PLA_OK;
}

/* elements beyond the stretch to which their law is as it was given */
static void
note_reach(const PlaSimulation *scene, PlaSimulationResult *out)
{
  const PlaField *field = pla_mesh_find_field(out->mesh, "principal_stretch", PLA_ON_CELLS);
  const int n_cells = scene->mesh->n_tets + scene->mesh->n_hexes;
  int beyond = 0;
  for (int c = 0; scene->reach && field && c < n_cells; c++) {
    const double *s =
        (const double *)(void *)field->data + 3 * ((size_t)scene->mesh->n_tris + (size_t)c);
    beyond += (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) / pow(fabs(s[0] * s[1] * s[2]), 2.0 / 3.0) >
              scene->reach[c];
  }
  if (beyond > 0)
    g_ptr_array_add(
        out->notes,
        g_strdup_printf("%d elements are stretched so far that the energy of their law, "
                        "as given, would stop growing; a hundredth of its first slope "
                        "is kept there",
                        beyond));
}

/* what was assumed, and what about the answer needs a second look */
static void
add_notes(const PlaSimulation *scene, PlaSimulationResult *out)
{
  out->notes = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; scene->notes && i < scene->notes->len; i++)
    g_ptr_array_add(out->notes, g_strdup(g_ptr_array_index(scene->notes, i)));
  note_reach(scene, out);
  if (out->solve.gave_up_start)
    g_ptr_array_add(out->notes,
                    g_strdup(
                        "what is prescribed tangled the body beyond repair, so that it was bent "
                        "anew from its rest shape; apply the motion in more steps to follow it"));
  if (out->solve.inverted > 0 && out->n_worst > 0)
    g_ptr_array_add(
        out->notes,
        g_strdup_printf("%d elements are turned inside out, the worst of them near "
                        "(%.1f, %.1f, %.1f) mm at rest: the mesh or the law does not hold "
                        "there; refine it, or choose another law",
                        out->solve.inverted, out->worst[0].centre_mm[0], out->worst[0].centre_mm[1],
                        out->worst[0].centre_mm[2]));
}

bool
pla_simulation_is_dynamic(const PlaSimulation *scene)
{
  return scene->dynamics.integrator != NULL;
}

PlaStatus
pla_simulation_solve(const PlaSimulation *scene, PlaProgress *progress, PlaSimulationResult *out,
                     PlaError *err)
{
  return pla_simulation_run(scene, NULL, NULL, progress, out, err);
}

PlaStatus
pla_simulation_run(const PlaSimulation *scene, PlaFrameFunc frame, void *data,
                   PlaProgress *progress, PlaSimulationResult *out, PlaError *err)
{
  const PlaMesh *mesh = scene->mesh;
  const size_t n = (size_t)mesh->n_verts;
  *out = (PlaSimulationResult){ 0 };
  double *pos = pla_array_dup(mesh->pos, n, 3 * sizeof *pos);
  double *target = pla_array_new(n, 3 * sizeof *target);
  PlaStatus st = pos && target ? PLA_OK : pla_fail_memory(err, "the scene");
  gint64 start = g_get_monotonic_time();
  out->has_contacts = scene->contacts != NULL;
  if (st == PLA_OK && pla_simulation_is_dynamic(scene))
    st = run_dynamics(scene, progress, frame, data, pos, target, out, err);
  else if (st == PLA_OK)
    st = run_statics(scene, progress, pos, target, out, err);
  out->seconds = (double)(g_get_monotonic_time() - start) * 1e-6;

  if (st == PLA_OK)
    st = measure_forces(scene, pos, target, out, err);
  if (st == PLA_OK)
    st = make_result(scene, pos, &out->mesh, err);
  if (st == PLA_OK && scene->contacts) {
    double *pressure =
        pla_mesh_add_field(out->mesh, PLA_FIELD_CONTACT_PRESSURE, PLA_ON_VERTS, PLA_F64, 1);
    st = pressure ? pla_contact_set_pressure(scene->contacts, pos, pressure, err)
                  : pla_fail_memory(err, "the result");
  }
  if (st == PLA_OK) {
    const PlaField *jacobian = pla_mesh_find_field(out->mesh, "jacobian", PLA_ON_CELLS);
    add_worst(scene, (const double *)jacobian->data + mesh->n_tris, out);
    add_notes(scene, out);
    out->n_probes = (int)scene->probes->len;
    out->probe = g_new0(PlaProbe, scene->probes->len + 1);
    for (int i = 0; i < out->n_probes; i++) {
      const PlaProbeSpec *spec = &g_array_index(scene->probes, PlaProbeSpec, (guint)i);
      PlaProbe *probe = &out->probe[i];
      probe->name = g_strdup(spec->name);
      probe->vert = spec->vert;
      for (int d = 0; d < 3; d++) {
        size_t at = 3 * (size_t)spec->vert + (size_t)d;
        probe->position_mm[d] = pos[at] * 1000.0;
        probe->displacement_mm[d] = (pos[at] - mesh->pos[at]) * 1000.0;
      }
    }
  }
  free(pos);
  free(target);
  if (st != PLA_OK)
    pla_simulation_result_clear(out);
  return st;
}

void
pla_simulation_result_clear(PlaSimulationResult *result)
{
  for (int i = 0; i < result->n_probes; i++)
    g_free(result->probe[i].name);
  g_free(result->probe);
  g_free(result->reaction);
  g_free(result->sensitivity.probe_mm);
  g_free(result->sensitivity.reaction_n);
  g_free(result->discretisation.probe_mm);
  g_free(result->discretisation.reaction_n);
  g_free(result->discretisation.hook_n);
  g_free(result->discretisation.motion_n);
  g_clear_pointer(&result->notes, g_ptr_array_unref);
  for (int i = 0; i < result->n_hooks; i++)
    g_free(result->hook[i].name);
  g_free(result->hook);
  g_free(result->collider_n);
  pla_mesh_free(result->mesh);
  *result = (PlaSimulationResult){ 0 };
}

PlaStatus
pla_simulation_perform(const PlaSimulation *scene, bool sensitivity, PlaFrameFunc frame, void *data,
                       PlaProgress *progress, PlaSimulationResult *out, PlaError *err)
{
  PlaStatus st = pla_simulation_run(scene, frame, data, progress, out, err);
  if (st == PLA_OK && scene->estimate && !pla_simulation_is_dynamic(scene) &&
      out->solve.reason == PLA_STOP_CONVERGED)
    st = pla_simulation_estimate(scene, progress, out, err);
  if (st == PLA_OK && (sensitivity || scene->sensitivity))
    st = pla_simulation_sensitivity(scene, progress, out, err);
  return st;
}
