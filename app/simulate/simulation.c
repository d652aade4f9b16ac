/* Scenes: reading and checking. */
#include "app/simulate/simulation-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/boundary.h"
#include "app/simulate/bound-mesh.h"
#include "app/simulate/scene-layer.h"
#include "app/simulate/scene-support.h"
#include "app/simulate/scene-where.h"
#include "app/simulate/simulation-checks.h"
#include "app/simulate/simulation-materials.h"
#include "io/formats/format.h"
#include "sim/solve/solve.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
hook_spec_clear(void *data)
{
  g_free(((PlaHookSpec *)data)->name);
}

static void
probe_spec_clear(void *data)
{
  g_free(((PlaProbeSpec *)data)->name);
}

void
pla_simulation_free(PlaSimulation *scene)
{
  if (!scene)
    return;
  pla_mesh_free(scene->mesh);
  pla_fem_model_free(scene->model);
  pla_bindings_free(scene->bindings);
  pla_membranes_free(scene->membranes);
  g_clear_pointer(&scene->mixtures, g_ptr_array_unref);
  g_clear_pointer(&scene->notes, g_ptr_array_unref);
  g_free(scene->reach);
  g_clear_pointer(&scene->held, g_ptr_array_unref);
  pla_label_table_clear(&scene->labels);
  free(scene->fixed);
  free(scene->motion_of);
  free(scene->moved);
  free(scene->holder);
  free(scene->force);
  g_clear_pointer(&scene->motions, g_array_unref);
  g_clear_pointer(&scene->springs, g_array_unref);
  g_clear_pointer(&scene->supports, g_array_unref);
  g_clear_pointer(&scene->pressure_tri, g_array_unref);
  g_clear_pointer(&scene->pressure_pa, g_array_unref);
  g_clear_pointer(&scene->hooks, g_array_unref);
  pla_contact_set_free(scene->contacts);
  pla_scene_colliders_clear(&scene->colliders);
  g_clear_pointer(&scene->probes, g_array_unref);
  g_free(scene->path);
  g_free(scene->text);
  g_free(scene);
}

/* ---- materials ---------------------------------------------------------------------------- */

static PlaStatus
select_where(const PlaSimulation *scene, PlaJson where, bool of_cells, bool *marked, size_t *count,
             PlaError *err)
{
  const PlaSceneSelection selection = { scene->mesh, &scene->labels };
  return pla_scene_select(&selection, where, of_cells, marked, count, err);
}

static PlaStatus
select_cells(const void *scene, PlaJson where, bool *marked, PlaError *err)
{
  size_t count;
  return select_where(scene, where, true, marked, &count, err);
}

/* {"1": "Skin", "2": "Masseter"}: what the numbers of the mesh's labels mean */
static PlaStatus
read_labels(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  PlaJson labels, value;
  if (!pla_json_get(root, "labels", &labels))
    return PLA_OK;
  if (!JSON_NODE_HOLDS_OBJECT(labels.node))
    return pla_json_fail(labels, err, "must be an object of names, as in {\"1\": \"Skin\"}");
  g_autoptr(GList) keys = json_object_get_members(json_node_get_object(labels.node));
  PlaStatus st = PLA_OK;
  for (GList *at = keys; st == PLA_OK && at; at = at->next) {
    g_autofree char *name = NULL;
    char *end;
    gint64 id = g_ascii_strtoll(at->data, &end, 10);
    pla_json_get(labels, at->data, &value);
    if (*end || end == (char *)at->data || id < 1 || id > 65535)
      return pla_json_fail(value, err, "is not named by the number of a label, 1 to 65535");
    st = pla_json_text_value(value, &name, err);
    if (st == PLA_OK)
      st = pla_label_table_set(&scene->labels, (int)id, name, NULL, err);
  }
  return st;
}

static PlaStatus
read_materials(PlaSimulation *scene, PlaJson root, PlaFormulation formulation, PlaError *err)
{
  const PlaMaterialsInput input = { .mesh = scene->mesh,
                                    .select = select_cells,
                                    .scene = scene,
                                    .labels = &scene->labels,
                                    .formulation = formulation,
                                    .stiffness = scene->stiffness };
  PlaMaterialsOutput out;
  PlaStatus st = pla_materials_read(root, &input, &out, err);
  scene->model = out.model;
  scene->mixtures = out.mixtures;
  scene->notes = out.notes;
  scene->reach = out.reach;
  scene->n_presets = out.n_presets;
  /* bone and teeth stay where they are, unless something moves them */
  for (size_t v = 0; st == PLA_OK && v < (size_t)scene->mesh->n_verts; v++)
    if (out.rigid[v])
      memset(scene->fixed + 3 * v, 1, 3);
  g_free(out.rigid);
  return st;
}

/* ---- constraints, loads, probes ----------------------------------------------------------- */

static PlaStatus
read_axes(PlaJson json, unsigned *axes, PlaError *err)
{
  char *text = NULL;
  PlaStatus st = pla_json_text_value(json, &text, err);
  *axes = 0;
  for (const char *c = text; st == PLA_OK && *c; c++) {
    if (*c < 'x' || *c > 'z')
      st = pla_json_fail(json, err, "is '%s', and must be made of x, y and z", text);
    else
      *axes |= 1u << (*c - 'x');
  }
  if (st == PLA_OK && *axes == 0)
    st = pla_json_fail(json, err, "names no axis");
  g_free(text);
  return st;
}

static PlaStatus
read_motion(PlaJson json, PlaRigidMotion *motion, unsigned *axes, int *steps, PlaError *err)
{
  static const char *const known[] = { "translate_mm", "rotate", "steps", "axes", NULL };
  PlaJson value;
  *axes = 7;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK)
    st = pla_rigid_motion_read(json, motion, err);
  if (st == PLA_OK && pla_json_get(json, "steps", &value)) {
    int64_t n;
    st = pla_json_int_value(value, 1, 100000, &n, err);
    if (st == PLA_OK)
      *steps = MAX(*steps, (int)n);
  }
  if (st == PLA_OK && pla_json_get(json, "axes", &value))
    st = read_axes(value, axes, err);
  return st;
}

/* Which motion constraint @i of the list is, for comparison; NULL where it fixes. */
static const PlaRigidMotion *
motion_of_constraint(const PlaSimulation *scene, const GArray *motion_index, int i)
{
  const int m = g_array_index(motion_index, int, i);
  return m < 0 ? NULL : &g_array_index(scene->motions, PlaRigidMotion, (guint)m);
}

/* Constraint @i holds the axes @axes of vertex @v; refused where another holds one of them
 * elsewhere. */
static PlaStatus
hold_vertex(PlaSimulation *scene, const GArray *motion_index, PlaJson item, int i, int v,
            unsigned axes, PlaError *err)
{
  const PlaRigidMotion *mine = motion_of_constraint(scene, motion_index, i);
  for (int d = 0; d < 3; d++) {
    int *holder = &scene->holder[3 * (size_t)v + (size_t)d];
    if (!(axes >> d & 1))
      continue;
    if (*holder > 0) {
      const PlaRigidMotion *other = motion_of_constraint(scene, motion_index, *holder - 1);
      if (!mine != !other || (mine && memcmp(mine, other, sizeof *mine) != 0))
        return pla_json_fail(item, err,
                             "%s vertex %d along %c, which constraints[%d] %s; leave it out of one "
                             "of the two",
                             mine ? "moves" : "fixes", v, 'x' + d, *holder - 1,
                             !other ? "fixes"
                             : mine ? "moves otherwise"
                                    : "moves");
    }
    *holder = i + 1;
    scene->fixed[3 * (size_t)v + (size_t)d] = 1;
  }
  if (mine) {
    scene->motion_of[v] = g_array_index(motion_index, int, i);
    scene->moved[v] |= (unsigned char)axes;
  }
  return PLA_OK;
}

static PlaStatus
read_constraints(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  static const char *const known[] = { "where", "fix", "move", NULL };
  PlaJson list;
  PlaStatus st = PLA_OK;
  scene->steps = 1;
  if (!pla_json_get(root, "constraints", &list))
    return PLA_OK;
  g_autofree bool *marked = g_try_new(bool, scene->mesh->n_verts);
  g_autoptr(GArray) motion_of = g_array_new(FALSE, FALSE, sizeof(int)); /* constraint -> motion */
  if (!marked)
    return pla_fail_memory(err, "the constraints");
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    PlaJson item, where, value;
    size_t count;
    unsigned axes = 0;
    int motion_index = -1;
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = pla_json_check_keys(item, known, err);
    if (st == PLA_OK && !pla_json_get(item, "where", &where))
      st = pla_json_fail(item, err, "has no 'where'");
    if (st == PLA_OK && pla_json_has(item, "fix") == pla_json_has(item, "move"))
      st = pla_json_fail(item, err, "needs either 'fix' or 'move'");
    if (st == PLA_OK && pla_json_get(item, "fix", &value))
      st = read_axes(value, &axes, err);
    if (st == PLA_OK && pla_json_get(item, "move", &value)) {
      PlaRigidMotion motion;
      st = read_motion(value, &motion, &axes, &scene->steps, err);
      motion_index = (int)scene->motions->len;
      g_array_append_val(scene->motions, motion);
    }
    if (st == PLA_OK)
      st = select_where(scene, where, false, marked, &count, err);
    GArray *held = g_array_new(FALSE, FALSE, sizeof(int));
    g_ptr_array_add(scene->held, held);
    g_array_append_val(motion_of, motion_index);
    if (st == PLA_OK && pla_scene_is_carved(scene)) {
      int n = 0;
      st = pla_scene_hold_surface(scene, i, motion_index, axes, where, marked, &n, err);
      if (st == PLA_OK && n == 0)
        st = pla_json_fail(where, err, "selects no vertex of the surface");
      continue;
    }
    /* what follows others is held by them */
    for (int b = 0; st == PLA_OK && scene->bindings && b < scene->bindings->n; b++) {
      count -= marked[scene->bindings->vert[b]];
      marked[scene->bindings->vert[b]] = false;
    }
    if (st == PLA_OK && count == 0)
      st =
          pla_json_fail(where, err, "selects only vertices that follow others; hold those instead");
    for (int v = 0; st == PLA_OK && v < scene->mesh->n_verts; v++)
      if (marked[v]) {
        g_array_append_val(held, v);
        st = hold_vertex(scene, motion_of, item, i, v, axes, err);
      }
  }
  return st;
}

/* pressure on the outer triangles whose vertices are all marked */
static PlaStatus
read_pressure(PlaSimulation *scene, PlaJson item, PlaJson value, const bool *marked, PlaError *err)
{
  double pascal = 0.0;
  const guint before = scene->pressure_pa->len;
  PlaStatus st = pla_json_number_value(value, &pascal, err);
  if (st == PLA_OK)
    st = pla_scene_add_faces(scene, marked, scene->pressure_tri, scene->pressure_pa, err);
  for (guint t = before; st == PLA_OK && t < scene->pressure_pa->len; t++)
    g_array_index(scene->pressure_pa, double, t) *= pascal;
  if (st == PLA_OK && scene->pressure_pa->len == before)
    st = pla_json_fail(item, err, "selects no face of the surface; a face needs all its vertices");
  return st;
}

/* a force on what is held everywhere moves nothing */
static void
note_idle_load(PlaSimulation *scene, int load, const bool *marked)
{
  for (size_t v = 0; v < (size_t)scene->mesh->n_verts; v++)
    if (marked[v] && !(scene->fixed[3 * v] && scene->fixed[3 * v + 1] && scene->fixed[3 * v + 2]))
      return;
  if (scene->notes)
    g_ptr_array_add(
        scene->notes,
        g_strdup_printf("loads[%d] acts only on vertices that are held, and does nothing", load));
}

/* The share of a load that each marked vertex takes (n_verts): equal ones.  Vertices of a carved
 * body's cells may lie outside of the material: what acts on it acts on its surface, by area. */
static PlaStatus
share_load(const PlaSimulation *scene, PlaJson where, bool *marked, size_t count, double *share,
           PlaError *err)
{
  const size_t n = (size_t)scene->mesh->n_verts;
  const bool carved = pla_scene_is_carved(scene);
  const PlaSceneSelection selection = { scene->mesh, &scene->labels };
  int n_tris = 0;
  double sum = 0.0;
  PlaStatus st = carved ? pla_scene_select_surface(&selection, where, share, &n_tris, err) : PLA_OK;
  if (st != PLA_OK)
    return st;
  for (size_t v = 0; carved && n_tris == 0 && v < n; v++)
    share[v] = 0.0;
  for (int b = 0; carved && n_tris == 0 && b < scene->bindings->n; b++)
    share[scene->bindings->vert[b]] = marked[scene->bindings->vert[b]];
  for (size_t v = 0; v < n; v++) {
    if (!carved)
      share[v] = marked[v];
    marked[v] = share[v] > 0.0;
    sum += share[v];
  }
  if (!(sum > 0.0))
    return pla_json_fail(where, err, "selects no vertex of the surface");
  for (size_t v = 0; v < n; v++)
    share[v] = carved ? share[v] / sum : share[v] / (double)count;
  return PLA_OK;
}

static PlaStatus
read_loads(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  static const char *const known[] = { "where", "force_n", "pressure_pa", NULL };
  PlaJson list, value;
  PlaStatus st = PLA_OK;
  if (pla_json_get(root, "gravity_m_s2", &value)) {
    double *g = scene->gravity;
    st = pla_json_vector(value, 3, g, err);
    for (int v = 0; st == PLA_OK && v < scene->mesh->n_verts; v++)
      for (int d = 0; d < 3; d++)
        scene->force[3 * (size_t)v + (size_t)d] += g[d] * pla_fem_model_mass(scene->model)[v];
  }
  if (st != PLA_OK || !pla_json_get(root, "loads", &list))
    return st;
  g_autofree bool *marked = g_try_new(bool, scene->mesh->n_verts);
  g_autofree double *share = g_try_new(double, scene->mesh->n_verts);
  if (!marked || !share)
    return pla_fail_memory(err, "the loads");
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    PlaJson item, where, force;
    double newton[3];
    size_t count;
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = pla_json_check_keys(item, known, err);
    if (st == PLA_OK && (!pla_json_get(item, "where", &where) ||
                         pla_json_has(item, "force_n") == pla_json_has(item, "pressure_pa")))
      st = pla_json_fail(item, err, "needs 'where' and either 'force_n' or 'pressure_pa'");
    if (st == PLA_OK)
      st = select_where(scene, where, false, marked, &count, err);
    if (st == PLA_OK && pla_json_get(item, "pressure_pa", &force)) {
      st = read_pressure(scene, item, force, marked, err);
      continue;
    }
    if (st == PLA_OK && pla_json_get(item, "force_n", &force))
      st = pla_json_vector(force, 3, newton, err);
    if (st == PLA_OK)
      st = share_load(scene, where, marked, count, share, err);
    if (st == PLA_OK)
      note_idle_load(scene, i, marked);
    for (int v = 0; st == PLA_OK && v < scene->mesh->n_verts; v++)
      for (int d = 0; marked[v] && d < 3; d++)
        scene->force[3 * (size_t)v + (size_t)d] += newton[d] * share[v];
  }
  return st;
}

/* the constraint, from 1, that holds any axis of a vertex */
static int
hook_holder(const PlaSimulation *scene, int vert)
{
  int holder = 0;
  for (size_t d = 0; d < 3; d++)
    holder = MAX(holder, scene->holder[3 * (size_t)vert + d]);
  return holder;
}

static PlaStatus
read_hooks(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  static const char *const known[] = { "name", "at_mm", "pull_mm", "stiffness_n_m", NULL };
  PlaJson list;
  PlaStatus st = PLA_OK;
  if (!pla_json_get(root, "hooks", &list))
    return PLA_OK;
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    PlaJson item, at, pull, value;
    PlaHookSpec hook = { .spring = -1 };
    PlaRigidMotion motion = { .axis = { 1, 0, 0 } };
    double stiffness = 0.0;
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = pla_json_check_keys(item, known, err);
    if (st == PLA_OK &&
        (!pla_json_get(item, "at_mm", &at) || !pla_json_get(item, "pull_mm", &pull)))
      st = pla_json_fail(item, err, "needs 'at_mm' and 'pull_mm'");
    if (st == PLA_OK)
      st = pla_scene_nearest(scene->mesh, at, &hook.vert, err);
    if (st == PLA_OK)
      st = pla_json_vector(pull, 3, motion.translate_m, err);
    if (st == PLA_OK && pla_json_get(item, "stiffness_n_m", &value)) {
      st = pla_json_number_value(value, &stiffness, err);
      if (st == PLA_OK && !(stiffness > 0.0))
        st = pla_json_fail(value, err, "must be above 0 N/m");
    }
    if (st == PLA_OK && pla_json_get(item, "name", &value))
      st = pla_json_text_value(value, &hook.name, err);
    else if (st == PLA_OK)
      hook.name = g_strdup_printf("hook %d", i + 1);
    if (st != PLA_OK)
      break;
    for (int d = 0; d < 3; d++)
      motion.translate_m[d] /= 1000.0;
    /* what follows others cannot be prescribed, but held */
    if (stiffness == 0.0 && pla_scene_is_carved(scene))
      stiffness = pla_scene_point_stiffness(scene);
    if (stiffness > 0.0) {
      PlaSpring spring = { .n_verts = 1, .vert = { hook.vert }, .weight = { 1.0 } };
      for (int d = 0; d < 3; d++) {
        spring.offset[d] =
            scene->mesh->pos[3 * (size_t)hook.vert + (size_t)d] + motion.translate_m[d];
        spring.stiffness[4 * d] = stiffness;
      }
      hook.spring = (int)scene->springs->len;
      g_array_append_val(scene->springs, spring);
    } else {
      const int holder = hook_holder(scene, hook.vert);
      if (holder > 0)
        st = pla_json_fail(
            item, err,
            "pulls vertex %d, which constraints[%d] holds already; hook it elsewhere, "
            "or give it a 'stiffness_n_m'",
            hook.vert, holder - 1);
      memset(scene->fixed + 3 * (size_t)hook.vert, 1, 3);
      scene->motion_of[hook.vert] = (int)scene->motions->len;
      scene->moved[hook.vert] = 7;
      g_array_append_val(scene->motions, motion);
    }
    g_array_append_val(scene->hooks, hook);
  }
  return st;
}

/* contacts, once everything that moves is known */
static PlaStatus
make_contacts(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  PlaContactOptions options;
  bool wanted;
  PlaStatus st = pla_scene_colliders_read(root, &scene->meshes, &scene->colliders, err);
  if (st == PLA_OK)
    st = pla_scene_contact_read(root, &options, &wanted, err);
  if (st != PLA_OK || (!wanted && scene->colliders.n == 0))
    return st;
  st = pla_contact_set_new(scene->model, scene->colliders.collider, scene->colliders.friction,
                           scene->colliders.n, &options, &scene->contacts, err);
  /* what is prescribed passes no obstacle in one increment, and leaves no element inside out */
  double longest = 0.0, spacing = st == PLA_OK ? pla_contact_set_spacing(scene->contacts) : 0.0;
  for (size_t v = 0; st == PLA_OK && v < (size_t)scene->mesh->n_verts; v++) {
    double moved[3];
    if (scene->motion_of[v] < 0)
      continue;
    pla_rigid_motion_apply(&g_array_index(scene->motions, PlaRigidMotion,
                                          (guint)scene->motion_of[v]),
                           1.0, scene->mesh->pos + 3 * v, moved);
    pla_vec3_sub(moved, scene->mesh->pos + 3 * v, moved);
    longest = fmax(longest, pla_vec3_norm(moved));
  }
  for (int c = 0; st == PLA_OK && c < scene->colliders.n; c++)
    if (scene->colliders.moves[c]) {
      double moved[3];
      pla_rigid_motion_apply(&scene->colliders.motion[c], 1.0, scene->mesh->pos, moved);
      pla_vec3_sub(moved, scene->mesh->pos, moved);
      longest = fmax(longest, pla_vec3_norm(moved));
    }
  if (spacing > 0.0 && longest > 0.5 * spacing)
    scene->steps = MAX(scene->steps, (int)MIN(ceil(2.0 * longest / spacing), 1000.0));
  return st;
}

static PlaStatus
read_probes(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  static const char *const known[] = { "name", "nearest_mm", NULL };
  PlaJson list;
  PlaStatus st = PLA_OK;
  if (!pla_json_get(root, "probes", &list))
    return PLA_OK;
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    PlaJson item, name, at;
    PlaProbeSpec probe = { 0 };
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = pla_json_check_keys(item, known, err);
    if (st == PLA_OK &&
        (!pla_json_get(item, "name", &name) || !pla_json_get(item, "nearest_mm", &at)))
      st = pla_json_fail(item, err, "needs 'name' and 'nearest_mm'");
    if (st == PLA_OK)
      st = pla_scene_nearest(scene->mesh, at, &probe.vert, err);
    if (st == PLA_OK)
      st = pla_json_text_value(name, &probe.name, err);
    for (guint k = 0; st == PLA_OK && k < scene->probes->len; k++)
      if (strcmp(g_array_index(scene->probes, PlaProbeSpec, k).name, probe.name) == 0)
        st = pla_json_fail(name, err, "is '%s', as that of probes[%u]; give each its own",
                           probe.name, k);
    if (st == PLA_OK)
      g_array_append_val(scene->probes, probe);
    else
      g_free(probe.name);
  }
  return st;
}

static PlaStatus
read_solver(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  static const char *const known[] = { "method", "tolerance_rel", "max_iterations", NULL };
  static const char *const methods[] = { "auto", "newton", "pbng", NULL };
  PlaJson json, value;
  PlaStatus st = PLA_OK;
  scene->options = pla_fem_options_default();
  if (!pla_json_get(root, "solver", &json))
    return PLA_OK;
  st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && pla_json_get(json, "method", &value)) {
    int method = 0;
    st = pla_json_choice(value, methods, &method, err);
    scene->options.method = (PlaSolverMethod)method;
  }
  if (st == PLA_OK && pla_json_get(json, "tolerance_rel", &value)) {
    st = pla_json_number_value(value, &scene->options.tolerance_rel, err);
    if (st == PLA_OK &&
        !(scene->options.tolerance_rel >= 1e-14 && scene->options.tolerance_rel < 1))
      st = pla_json_fail(value, err, "must lie between 1e-14 and 1");
  }
  if (st == PLA_OK && pla_json_get(json, "max_iterations", &value)) {
    int64_t n;
    st = pla_json_int_value(value, 1, 1000000, &n, err);
    scene->options.max_iterations = (int)n;
  }
  return st;
}

/* ---- loading ------------------------------------------------------------------------------ */

/* millimetres in the unit of the mesh file */
static PlaStatus
read_unit(PlaJson root, double *unit_mm, PlaError *err)
{
  static const char *const units[] = { "mm", "m", "cm", "um", NULL };
  static const double millimetres[] = { 1.0, 1000.0, 10.0, 0.001 };
  PlaJson value;
  int which = 0;
  PlaStatus st = PLA_OK;
  if (pla_json_get(root, "mesh_unit", &value))
    st = pla_json_choice(value, units, &which, err);
  *unit_mm = millimetres[which];
  return st;
}

/* a mesh of a file; names are relative to the folder of the scene @data */
static PlaStatus
load_file(const char *name, double unit_mm, void *data, PlaMesh **out, PlaError *err)
{
  const PlaSimulation *scene = data;
  PlaItem item = { 0 };
  PlaReadOptions opts = pla_read_options_default();
  g_autofree char *folder = g_path_get_dirname(scene->path);
  g_autofree char *full =
      g_path_is_absolute(name) ? g_strdup(name) : g_build_filename(folder, name, NULL);
  opts.unit_mm = unit_mm;
  opts.progress = scene->progress;
  PlaStatus st = pla_item_read(full, &opts, &item, err);
  if (st == PLA_OK && item.kind != PLA_KIND_MESH)
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a %s, not a mesh", full, pla_kind_name(item.kind));
  if (st == PLA_OK)
    *out = g_steal_pointer(&item.mesh);
  pla_item_clear(&item);
  return st;
}

static PlaStatus
load_nothing(const char *name, double unit_mm, void *data, PlaMesh **out, PlaError *err)
{
  return pla_fail(err, PLA_ERR_USAGE, "there is no mesh '%s'", name);
}

static PlaStatus
read_mesh(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  PlaJson value;
  double unit_mm = 1.0;
  g_autofree char *name = NULL;
  if (!pla_json_get(root, "mesh", &value))
    return pla_json_fail(root, err, "names no 'mesh'");
  PlaStatus st = pla_json_text_value(value, &name, err);
  if (st == PLA_OK)
    st = read_unit(root, &unit_mm, err);
  return st == PLA_OK ? load_file(name, unit_mm, scene, &scene->mesh, err) : st;
}

/* what results have besides: "fields": ["stress", "strain"] */
static PlaStatus
read_fields(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  static const char *const names[] = { "stress", "strain", NULL };
  PlaJson list, item;
  PlaStatus st = PLA_OK;
  if (!pla_json_get(root, "fields", &list))
    return PLA_OK;
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    int which = 0;
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = pla_json_choice(item, names, &which, err);
    scene->stress |= st == PLA_OK && which == 0;
    scene->strain |= st == PLA_OK && which == 1;
  }
  return st;
}

/* that no piece can move as a whole */
static PlaStatus
check_held(const PlaSimulation *scene, PlaError *err)
{
  unsigned char *fixed = pla_array_dup(scene->fixed, (size_t)scene->mesh->n_verts, 3);
  PlaStatus st =
      fixed ? pla_scene_mark_supported(scene, fixed, err) : pla_fail_memory(err, "the constraints");
  if (st == PLA_OK)
    st = pla_fem_check_held(scene->model, fixed, err);
  free(fixed);
  return st;
}

/* everything but the mesh, which @scene has already */
static PlaStatus
read_scene(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  static const char *const formulations[] = {
    [PLA_FORMULATION_STANDARD] = "standard", [PLA_FORMULATION_MIXED] = "mixed", NULL
  };
  const size_t n = (size_t)scene->mesh->n_verts;
  PlaJson value;
  PlaStatus st = PLA_OK;
  scene->motions = g_array_new(FALSE, FALSE, sizeof(PlaRigidMotion));
  scene->probes = g_array_new(FALSE, FALSE, sizeof(PlaProbeSpec));
  scene->springs = g_array_new(FALSE, FALSE, sizeof(PlaSpring));
  scene->supports = g_array_new(FALSE, FALSE, sizeof(PlaSupportSpec));
  scene->pressure_tri = g_array_new(FALSE, FALSE, sizeof(int));
  scene->pressure_pa = g_array_new(FALSE, FALSE, sizeof(double));
  scene->hooks = g_array_new(FALSE, FALSE, sizeof(PlaHookSpec));
  g_array_set_clear_func(scene->hooks, hook_spec_clear);
  g_array_set_clear_func(scene->probes, probe_spec_clear);
  scene->held = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  scene->fixed = pla_array_new0(n, 3);
  scene->motion_of = pla_array_new(n, sizeof *scene->motion_of);
  scene->force = pla_array_new0(n, 3 * sizeof *scene->force);
  scene->moved = pla_array_new0(n, 1);
  scene->holder = pla_array_new0(n, 3 * sizeof *scene->holder);
  if (!scene->fixed || !scene->motion_of || !scene->force || !scene->moved || !scene->holder)
    st = pla_fail_memory(err, "the scene");
  for (size_t v = 0; st == PLA_OK && v < n; v++)
    scene->motion_of[v] = -1;
  if (st == PLA_OK)
    st = pla_mesh_check_elements(scene->mesh, err);
  if (st == PLA_OK)
    st = pla_mesh_bindings_new(scene->mesh, &scene->bindings, err);
  if (st == PLA_OK)
    st = read_solver(scene, root, err);
  /* sweeps over vertices have no other elements than the standard ones */
  const bool swept = scene->options.method == PLA_SOLVER_PBNG;
  const bool given = pla_json_get(root, "formulation", &value);
  int formulation = swept ? PLA_FORMULATION_STANDARD : PLA_FORMULATION_AVERAGED;
  if (st == PLA_OK && given)
    st = pla_json_choice(value, formulations, &formulation, err);
  if (st == PLA_OK)
    st = read_labels(scene, root, err);
  if (st == PLA_OK)
    st = read_materials(scene, root, (PlaFormulation)formulation, err);
  if (st == PLA_OK && swept && !given)
    g_ptr_array_add(scene->notes, g_strdup("the solver 'pbng' uses the standard formulation, which "
                                           "is too stiff in large cells; 'newton' does not"));
  if (st == PLA_OK)
    st = read_constraints(scene, root, err);
  if (st == PLA_OK)
    st = pla_scene_read_layers(scene, root, err);
  if (st == PLA_OK)
    st = read_loads(scene, root, err);
  if (st == PLA_OK)
    st = read_hooks(scene, root, err);
  if (st == PLA_OK)
    st = read_probes(scene, root, err);
  if (st == PLA_OK)
    st = read_fields(scene, root, err);
  if (st == PLA_OK)
    st = pla_scene_dynamics_read(root, &scene->dynamics, err);
  if (st == PLA_OK)
    st = make_contacts(scene, root, err);
  scene->spring_list =
      (PlaFemSprings){ (int)scene->springs->len, (const PlaSpring *)(void *)scene->springs->data };
  scene->pressure = (PlaFemPressure){ (int)scene->pressure_pa->len,
                                      (const int *)(void *)scene->pressure_tri->data,
                                      (const double *)(void *)scene->pressure_pa->data };
  /* what moves in time, or may come to rest on something, need not be held */
  if (st == PLA_OK && !scene->dynamics.integrator && !scene->contacts)
    st = check_held(scene, err);
  return st;
}

/* a scene from the file @path, or from @text about @mesh; presets at @stiffness, or as it says
 * where that is -1 */
static PlaStatus
make_scene(const char *path, const PlaMesh *mesh, const char *text, const PlaSceneMeshes *meshes,
           int stiffness, PlaProgress *progress, PlaSimulation **out, PlaError *err)
{
  static const char *const known[] = { "materials",   "gravity_m_s2", "constraints", "loads",
                                       "probes",      "solver",       "formulation", "labels",
                                       "colliders",   "contact",      "hooks",       "dynamics",
                                       "sensitivity", "fields",       "mesh",        "mesh_unit",
                                       "estimate",    "layers",       NULL };
  static const char *const of_case[] = { "materials",   "gravity_m_s2", "constraints", "loads",
                                         "probes",      "solver",       "formulation", "labels",
                                         "colliders",   "contact",      "hooks",       "dynamics",
                                         "sensitivity", "fields",       "estimate",    "layers",
                                         NULL };
  PlaJsonFile *file = NULL;
  PlaJson root, value;
  *out = NULL;
  PlaStatus st = path ? pla_json_file_load(path, &file, &root, err)
                      : pla_json_text_load(text, "the scene", &file, &root, err);
  if (st != PLA_OK)
    return st;
  PlaSimulation *scene = g_new0(PlaSimulation, 1);
  scene->stiffness = stiffness;
  scene->estimate = true;
  scene->path = g_strdup(path);
  scene->text = g_strdup(text);
  scene->progress = progress;
  scene->meshes = path     ? (PlaSceneMeshes){ load_file, scene }
                  : meshes ? *meshes
                           : (PlaSceneMeshes){ load_nothing, NULL };
  st = pla_json_check_keys(root, path ? known : of_case, err);
  if (st == PLA_OK && pla_json_get(root, "sensitivity", &value))
    st = pla_json_bool_value(value, &scene->sensitivity, err);
  if (st == PLA_OK && pla_json_get(root, "estimate", &value))
    st = pla_json_bool_value(value, &scene->estimate, err);
  if (st == PLA_OK)
    st = path ? read_mesh(scene, root, err) : pla_mesh_dup(mesh, &scene->mesh, err);
  if (st == PLA_OK)
    st = read_scene(scene, root, err);
  scene->progress = NULL;
  if (st == PLA_OK)
    *out = g_steal_pointer(&scene);
  else if (path)
    pla_fail_within(err, "%s", path);
  pla_simulation_free(scene);
  pla_json_file_free(file);
  return st;
}

PlaStatus
pla_simulation_load(const char *path, PlaProgress *progress, PlaSimulation **out, PlaError *err)
{
  return make_scene(path, NULL, NULL, NULL, -1, progress, out, err);
}

PlaStatus
pla_simulation_new(const PlaMesh *mesh, const char *text, const PlaSceneMeshes *meshes,
                   PlaSimulation **out, PlaError *err)
{
  return make_scene(NULL, mesh, text, meshes, -1, NULL, out, err);
}

PlaStatus
pla_simulation_new_at(const PlaSimulation *scene, int stiffness, PlaProgress *progress,
                      PlaSimulation **out, PlaError *err)
{
  return make_scene(scene->path, scene->mesh, scene->text, &scene->meshes, stiffness, progress, out,
                    err);
}

const PlaFemModel *
pla_simulation_get_model(const PlaSimulation *scene)
{
  return scene->model;
}

void
pla_simulation_set_translation(PlaSimulation *scene, int motion, const double translate_mm[3])
{
  PlaRigidMotion *changed = &g_array_index(scene->motions, PlaRigidMotion, (guint)motion);
  for (int d = 0; d < 3; d++)
    changed->translate_m[d] = translate_mm[d] / 1000.0;
}

PlaFemConditions
pla_simulation_conditions(const PlaSimulation *scene, double t, double *target)
{
  const PlaMesh *mesh = scene->mesh;
  memcpy(target, mesh->pos, 3 * (size_t)mesh->n_verts * sizeof *target);
  for (size_t v = 0; v < (size_t)mesh->n_verts; v++)
    if (scene->motion_of[v] >= 0) {
      double to[3];
      pla_rigid_motion_apply(&g_array_index(scene->motions, PlaRigidMotion,
                                            (guint)scene->motion_of[v]),
                             t, mesh->pos + 3 * v, to);
      /* other axes may be fixed where they are */
      for (size_t d = 0; d < 3; d++)
        if (scene->moved[v] >> d & 1)
          target[3 * v + d] = to[d];
    }
  pla_scene_move_supports(scene, t);
  return (PlaFemConditions){ .fixed = scene->fixed,
                             .target = target,
                             .force = scene->force,
                             .springs = scene->spring_list.n > 0 ? &scene->spring_list : NULL,
                             .pressure = scene->pressure.n_tris > 0 ? &scene->pressure : NULL,
                             .membranes = scene->membranes,
                             .contacts = scene->contacts,
                             .bindings = scene->bindings };
}

PlaStatus
pla_simulation_motion_force(const PlaSimulation *scene, int motion, const double *pos,
                            double force_n[3], PlaError *err)
{
  const size_t n = (size_t)scene->mesh->n_verts;
  g_autofree double *elastic = g_try_new(double, 3 * n);
  PlaStatus st = elastic ? pla_fem_forces(scene->model, pos, elastic, err)
                         : pla_fail_memory(err, "the forces");
  if (st == PLA_OK && scene->membranes)
    st = pla_membranes_add_forces(scene->membranes, pos, elastic, err);
  for (size_t d = 0; d < 3; d++) {
    force_n[d] = 0.0;
    for (size_t v = 0; st == PLA_OK && v < n; v++)
      if (scene->motion_of[v] == motion)
        force_n[d] -= elastic[3 * v + d] + scene->force[3 * v + d];
  }
  for (guint i = 0; st == PLA_OK && i < scene->supports->len; i++) {
    const PlaSupportSpec *support = &g_array_index(scene->supports, PlaSupportSpec, i);
    double force[3];
    if (support->motion != motion)
      continue;
    pla_spring_force(&scene->spring_list.spring[support->spring], pos, force);
    for (int d = 0; d < 3; d++)
      force_n[d] += force[d];
  }
  return st;
}
