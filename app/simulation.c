/* Scenes: reading, checking, solving, and the fields that come out. */
#include "app/simulation.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/svd3.h"
#include "anatomy/boundary.h"
#include "app/bound-mesh.h"
#include "app/json.h"
#include "app/scene-contact.h"
#include "app/simulation-materials.h"
#include "io/format.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char *name;
  int vert;
} ProbeSpec;

/* a spring or a prescribed vertex that pulls, and tells how hard */
typedef struct {
  char *name;
  int vert;
  int spring; /* in springs, or -1 where the vertex is prescribed */
} HookSpec;

struct PlaSimulation {
  PlaMesh *mesh;
  PlaFemModel *model;
  PlaFemBindings *bindings; /* of vertices that follow others, or NULL */
  unsigned char *fixed;     /* n_verts x 3 */
  int *motion_of;       /* vertex -> motion, or -1 (n_verts) */
  GArray *motions;      /* of PlaRigidMotion */
  int steps;            /* increments of the motions */
  double *force;        /* N (n_verts x 3) */
  GArray *springs;      /* of PlaSpring */
  PlaFemSprings spring_list;
  GArray *pressure_tri; /* of int, three a triangle */
  GArray *pressure_pa;  /* of double */
  PlaFemPressure pressure;
  GArray *hooks;        /* of HookSpec */
  PlaSceneColliders colliders;
  PlaContactSet *contacts; /* or NULL */
  PlaSceneDynamics dynamics;
  GArray *probes;       /* of ProbeSpec */
  PlaFemOptions options;
  PlaLabelTable labels; /* names of the mesh's labels */
  GPtrArray *mixtures;  /* that the model's materials belong to */
  GPtrArray *notes;     /* what was assumed, a sentence each */
  int stiffness;        /* PlaStiffness instead of that of every preset, or -1 */
  int n_presets;        /* elements whose stiffness comes from a preset */
  bool sensitivity;     /* asked for */
  GPtrArray *held;      /* vertices of each constraint (GArray of int) */
};

static void
hook_spec_clear(void *data)
{
  g_free(((HookSpec *)data)->name);
}

static void
probe_spec_clear(void *data)
{
  g_free(((ProbeSpec *)data)->name);
}

void
pla_simulation_free(PlaSimulation *scene)
{
  if (!scene)
    return;
  pla_mesh_free(scene->mesh);
  pla_fem_model_free(scene->model);
  pla_bindings_free(scene->bindings);
  g_clear_pointer(&scene->mixtures, g_ptr_array_unref);
  g_clear_pointer(&scene->notes, g_ptr_array_unref);
  g_clear_pointer(&scene->held, g_ptr_array_unref);
  pla_label_table_clear(&scene->labels);
  free(scene->fixed);
  free(scene->motion_of);
  free(scene->force);
  g_clear_pointer(&scene->motions, g_array_unref);
  g_clear_pointer(&scene->springs, g_array_unref);
  g_clear_pointer(&scene->pressure_tri, g_array_unref);
  g_clear_pointer(&scene->pressure_pa, g_array_unref);
  g_clear_pointer(&scene->hooks, g_array_unref);
  pla_contact_set_free(scene->contacts);
  pla_scene_colliders_clear(&scene->colliders);
  g_clear_pointer(&scene->probes, g_array_unref);
  g_free(scene);
}

/* ---- selections --------------------------------------------------------------------------- */

/* "region" by the cell tag of that name, "label" by the tag "label" (or "region" where the mesh has
 * no such tag), with a number or a name that "labels" explains */
static PlaStatus
select_by_tag(const PlaSimulation *scene, PlaJson value, const char *field_name, bool *cells,
              PlaError *err)
{
  const PlaField *field = pla_mesh_find_field(scene->mesh, field_name, PLA_ON_CELLS);
  int64_t tag = 0;
  PlaStatus st = PLA_OK;
  if (JSON_NODE_HOLDS_VALUE(value.node) && json_node_get_value_type(value.node) == G_TYPE_STRING) {
    const char *name = json_node_get_string(value.node);
    const PlaLabel *label = pla_label_table_find_name(&scene->labels, name);
    if (!label)
      return pla_json_fail(value, err, "is '%s', and \"labels\" has no such name", name);
    tag = label->id;
  } else {
    st = pla_json_int_value(value, INT32_MIN, INT32_MAX, &tag, err);
  }
  if (!field && strcmp(field_name, "label") == 0)
    field = pla_mesh_find_field(scene->mesh, "region", PLA_ON_CELLS);
  if (st == PLA_OK && (!field || field->n_components != 1))
    st = pla_fail(err, PLA_ERR_USAGE, "the mesh has no cell field '%s' to select by", field_name);
  size_t first = (size_t)scene->mesh->n_tris;
  for (size_t c = first; st == PLA_OK && c < pla_mesh_n_cells(scene->mesh); c++)
    cells[c - first] = pla_dtype_get(field->dtype, field->data, c) == (double)tag;
  return st;
}

static bool
in_box(const double *x_m, const double box_mm[6])
{
  for (int d = 0; d < 3; d++)
    if (x_m[d] * 1e3 < box_mm[d] || x_m[d] * 1e3 > box_mm[3 + d])
      return false;
  return true;
}

/* how far a point of the body may lie from the place that a `near` names */
#define NEAR_LIMIT_MM 5.0

/* {"at_mm": [x, y, z], "radius_mm": r}: what lies within r of a place, and the nearest in any case */
static PlaStatus
select_near(PlaJson near, const double *centre_m, size_t n, bool *marked, PlaError *err)
{
  static const char *const known[] = { "at_mm", "radius_mm", NULL };
  double at[3], radius = 0.0, best = INFINITY;
  size_t nearest = 0;
  PlaJson value;
  PlaStatus st = pla_json_check_keys(near, known, err);
  if (st == PLA_OK && !pla_json_get(near, "at_mm", &value))
    st = pla_json_fail(near, err, "needs 'at_mm'");
  if (st == PLA_OK)
    st = pla_json_vector(value, 3, at, err);
  if (st == PLA_OK && pla_json_get(near, "radius_mm", &value)) {
    st = pla_json_number_value(value, &radius, err);
    if (st == PLA_OK && !(radius >= 0.0))
      st = pla_json_fail(value, err, "must not be negative");
  }
  for (size_t i = 0; st == PLA_OK && i < n; i++) {
    double r[3];
    for (size_t d = 0; d < 3; d++)
      r[d] = 1000.0 * centre_m[3 * i + d] - at[d];
    double dist = pla_vec3_norm(r);
    marked[i] = dist <= radius;
    if (dist < best) {
      best = dist;
      nearest = i;
    }
  }
  if (st == PLA_OK && best > fmax(radius, NEAR_LIMIT_MM))
    return pla_json_fail(near, err,
                         "names a place %.1f mm away from the body; pick a point of its surface",
                         best);
  if (st == PLA_OK && n > 0)
    marked[nearest] = true;
  return st;
}

/* {"through_mm": [x, y, z], "normal": [x, y, z], "within_mm": d}: what lies so close to a plane */
static PlaStatus
select_plane(PlaJson plane, const double *centre_m, size_t n, bool *marked, PlaError *err)
{
  static const char *const known[] = { "through_mm", "normal", "within_mm", NULL };
  double through[3], normal[3], within;
  PlaJson value[3];
  PlaStatus st = pla_json_check_keys(plane, known, err);
  for (int k = 0; st == PLA_OK && k < 3; k++)
    if (!pla_json_get(plane, known[k], &value[k]))
      st = pla_json_fail(plane, err, "needs '%s'", known[k]);
  if (st == PLA_OK)
    st = pla_json_vector(value[0], 3, through, err);
  if (st == PLA_OK)
    st = pla_json_vector(value[1], 3, normal, err);
  if (st == PLA_OK)
    st = pla_json_number_value(value[2], &within, err);
  double length = st == PLA_OK ? pla_vec3_norm(normal) : 1.0;
  if (st == PLA_OK && !(length > 0.0))
    st = pla_json_fail(value[1], err, "has no length");
  for (size_t i = 0; st == PLA_OK && i < n; i++) {
    double r[3];
    for (size_t d = 0; d < 3; d++)
      r[d] = 1000.0 * centre_m[3 * i + d] - through[d];
    marked[i] = fabs(pla_vec3_dot(r, normal)) <= within * length;
  }
  return st;
}

/* vertices of cell @c of the solids: tets, then hexes */
static int
cell_of(const PlaMesh *mesh, size_t c, const int **verts)
{
  if (c < (size_t)mesh->n_tets) {
    *verts = mesh->tet + 4 * c;
    return 4;
  }
  *verts = mesh->hex + 8 * (c - (size_t)mesh->n_tets);
  return 8;
}

/* vertices, or middles of the cells, m; g_free() */
static double *
centres(const PlaMesh *mesh, bool of_cells)
{
  const size_t n = of_cells ? (size_t)mesh->n_tets + (size_t)mesh->n_hexes : (size_t)mesh->n_verts;
  double *out = g_new0(double, 3 * n);
  for (size_t i = 0; i < n; i++) {
    const int vert = (int)i, *verts = &vert;
    int k = of_cells ? cell_of(mesh, i, &verts) : 1;
    for (int a = 0; a < k; a++)
      for (size_t d = 0; d < 3; d++)
        out[3 * i + d] += mesh->pos[3 * (size_t)verts[a] + d] / k;
  }
  return out;
}

/* Marks the vertices or (by centroid) the cells that a `where` names; an empty one is an error. */
static PlaStatus
select_where(const PlaSimulation *scene, PlaJson where, bool of_cells, bool *marked, size_t *count,
             PlaError *err)
{
  static const char *const known[] = { "all",    "box_mm", "near", "plane", "nodes",
                                       "region", "label",  NULL };
  const PlaMesh *mesh = scene->mesh;
  const size_t n_cells = (size_t)mesh->n_tets + (size_t)mesh->n_hexes;
  const size_t n = of_cells ? n_cells : (size_t)mesh->n_verts;
  PlaStatus st = pla_json_check_keys(where, known, err);
  if (st != PLA_OK)
    return st;
  g_autofree bool *cells = g_new0(bool, n_cells);
  memset(marked, 0, n * sizeof *marked);
  *count = 0;

  PlaJson value;
  bool by_cells = false;
  if (pla_json_get(where, "all", &value)) {
    bool all;
    st = pla_json_bool_value(value, &all, err);
    for (size_t i = 0; st == PLA_OK && i < n; i++)
      marked[i] = all;
  } else if (pla_json_get(where, "box_mm", &value) || pla_json_get(where, "near", &value) ||
             pla_json_get(where, "plane", &value)) {
    g_autofree double *centre = centres(mesh, of_cells);
    if (pla_json_has(where, "box_mm")) {
      double box[6];
      PlaJson low, high;
      st = pla_json_at(value, 0, &low, err);
      if (st == PLA_OK)
        st = pla_json_at(value, 1, &high, err);
      if (st == PLA_OK)
        st = pla_json_vector(low, 3, box, err);
      if (st == PLA_OK)
        st = pla_json_vector(high, 3, box + 3, err);
      for (size_t i = 0; st == PLA_OK && i < n; i++)
        marked[i] = in_box(centre + 3 * i, box);
    } else if (pla_json_has(where, "near")) {
      st = select_near(value, centre, n, marked, err);
    } else {
      st = select_plane(value, centre, n, marked, err);
    }
  } else if (pla_json_get(where, "nodes", &value)) {
    int n_nodes = pla_json_length(value);
    if (of_cells)
      return pla_json_fail(value, err, "names nodes, and this needs elements; use 'region' or a box");
    for (int i = 0; st == PLA_OK && i < n_nodes; i++) {
      PlaJson item;
      int64_t node = 0;
      st = pla_json_at(value, i, &item, err);
      if (st == PLA_OK)
        st = pla_json_int_value(item, 0, mesh->n_verts - 1, &node, err);
      if (st == PLA_OK)
        marked[node] = true;
    }
  } else if (pla_json_get(where, "region", &value) || pla_json_get(where, "label", &value)) {
    by_cells = true;
    st = select_by_tag(scene, value, pla_json_has(where, "region") ? "region" : "label", cells, err);
  } else {
    return pla_json_fail(where, err, "selects nothing: give 'all', 'box_mm', 'near', 'plane', "
                                     "'nodes', 'region' or 'label'");
  }
  if (st != PLA_OK)
    return st;
  for (size_t c = 0; by_cells && c < n_cells; c++) {
    const int *verts;
    int k = cell_of(mesh, c, &verts);
    if (of_cells)
      marked[c] = cells[c];
    else
      for (int a = 0; a < k && cells[c]; a++)
        marked[verts[a]] = true;
  }
  for (size_t i = 0; i < n; i++)
    *count += marked[i];
  if (*count == 0)
    return pla_json_fail(where, err, "selects no %s of the mesh; check its numbers and units",
                         of_cells ? "element" : "vertex");
  return PLA_OK;
}

/* ---- materials ---------------------------------------------------------------------------- */

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
    if (*end || end == (char *)at->data || id < 0 || id > 65535)
      return pla_json_fail(value, err, "is not named by the number of a label");
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

static PlaStatus
read_constraints(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  static const char *const known[] = { "where", "fix", "move", NULL };
  PlaJson list;
  PlaStatus st = PLA_OK;
  scene->steps = 1;
  if (!pla_json_get(root, "constraints", &list))
    return PLA_OK;
  g_autofree bool *marked = g_new(bool, scene->mesh->n_verts);
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
    /* what follows others is held by them */
    for (int b = 0; st == PLA_OK && scene->bindings && b < scene->bindings->n; b++) {
      count -= marked[scene->bindings->vert[b]];
      marked[scene->bindings->vert[b]] = false;
    }
    if (st == PLA_OK && count == 0)
      st = pla_json_fail(where, err, "selects only vertices that follow others; hold those instead");
    GArray *held = g_array_new(FALSE, FALSE, sizeof(int));
    g_ptr_array_add(scene->held, held);
    for (int v = 0; st == PLA_OK && v < scene->mesh->n_verts; v++) {
      if (!marked[v])
        continue;
      g_array_append_val(held, v);
      for (int d = 0; d < 3; d++)
        if (axes >> d & 1)
          scene->fixed[3 * (size_t)v + (size_t)d] = 1;
      if (motion_index >= 0)
        scene->motion_of[v] = motion_index;
    }
  }
  return st;
}

/* pressure on the outer triangles whose vertices are all marked */
static PlaStatus
read_pressure(PlaSimulation *scene, PlaJson item, PlaJson value, const bool *marked, PlaError *err)
{
  PlaBoundary boundary = { 0 };
  PlaTetMesh tets = pla_mesh_tets(scene->mesh);
  PlaHexMesh hexes = pla_mesh_hexes(scene->mesh);
  double pascal = 0.0;
  guint before = scene->pressure_pa->len;
  PlaStatus st = pla_json_number_value(value, &pascal, err);
  if (st == PLA_OK)
    st = pla_boundary_init(&boundary, &tets, &hexes, true, err);
  for (int t = 0; st == PLA_OK && t < boundary.n_tris; t++) {
    const int *tri = boundary.tri + 3 * (size_t)t;
    double share = pascal * boundary.share[t];
    if (!marked[tri[0]] || !marked[tri[1]] || !marked[tri[2]])
      continue;
    g_array_append_vals(scene->pressure_tri, tri, 3);
    g_array_append_val(scene->pressure_pa, share);
  }
  if (st == PLA_OK && scene->pressure_pa->len == before)
    st = pla_json_fail(item, err, "selects no face of the surface; a face needs all its vertices");
  pla_boundary_clear(&boundary);
  return st;
}

static PlaStatus
read_loads(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  static const char *const known[] = { "where", "force_n", "pressure_pa", NULL };
  PlaJson list, value;
  PlaStatus st = PLA_OK;
  if (pla_json_get(root, "gravity_m_s2", &value)) {
    double g[3];
    st = pla_json_vector(value, 3, g, err);
    for (int v = 0; st == PLA_OK && v < scene->mesh->n_verts; v++)
      for (int d = 0; d < 3; d++)
        scene->force[3 * (size_t)v + (size_t)d] += g[d] * pla_fem_model_mass(scene->model)[v];
  }
  if (st != PLA_OK || !pla_json_get(root, "loads", &list))
    return st;
  g_autofree bool *marked = g_new(bool, scene->mesh->n_verts);
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
    /* the force is shared equally by the vertices it acts on */
    for (int v = 0; st == PLA_OK && v < scene->mesh->n_verts; v++)
      for (int d = 0; marked[v] && d < 3; d++)
        scene->force[3 * (size_t)v + (size_t)d] += newton[d] / (double)count;
  }
  return st;
}

/* the vertex nearest to a point in mm */
static PlaStatus
read_nearest(const PlaSimulation *scene, PlaJson at, int *vert, PlaError *err)
{
  double x[3], best = INFINITY;
  PlaStatus st = pla_json_vector(at, 3, x, err);
  for (int v = 0; st == PLA_OK && v < scene->mesh->n_verts; v++) {
    double d[3];
    for (int k = 0; k < 3; k++)
      d[k] = scene->mesh->pos[3 * (size_t)v + (size_t)k] - x[k] / 1000.0;
    if (pla_vec3_dot(d, d) < best) {
      best = pla_vec3_dot(d, d);
      *vert = v;
    }
  }
  return st;
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
    HookSpec hook = { .spring = -1 };
    PlaRigidMotion motion = { .axis = { 1, 0, 0 } };
    double stiffness = 0.0;
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = pla_json_check_keys(item, known, err);
    if (st == PLA_OK && (!pla_json_get(item, "at_mm", &at) || !pla_json_get(item, "pull_mm", &pull)))
      st = pla_json_fail(item, err, "needs 'at_mm' and 'pull_mm'");
    if (st == PLA_OK)
      st = read_nearest(scene, at, &hook.vert, err);
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
    if (stiffness > 0.0) {
      PlaSpring spring = { .n_verts = 1, .vert = { hook.vert }, .weight = { 1.0 } };
      for (int d = 0; d < 3; d++) {
        spring.offset[d] = scene->mesh->pos[3 * (size_t)hook.vert + (size_t)d] + motion.translate_m[d];
        spring.stiffness[4 * d] = stiffness;
      }
      hook.spring = (int)scene->springs->len;
      g_array_append_val(scene->springs, spring);
    } else {
      memset(scene->fixed + 3 * (size_t)hook.vert, 1, 3);
      scene->motion_of[hook.vert] = (int)scene->motions->len;
      g_array_append_val(scene->motions, motion);
    }
    g_array_append_val(scene->hooks, hook);
  }
  return st;
}

/* contacts, once everything that moves is known */
static PlaStatus
make_contacts(PlaSimulation *scene, PlaJson root, const char *folder, PlaError *err)
{
  PlaContactOptions options;
  bool wanted;
  PlaStatus st = pla_scene_colliders_read(root, folder, &scene->colliders, err);
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
    pla_rigid_motion_apply(&g_array_index(scene->motions, PlaRigidMotion, (guint)scene->motion_of[v]),
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
    ProbeSpec probe = { 0 };
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = pla_json_check_keys(item, known, err);
    if (st == PLA_OK && (!pla_json_get(item, "name", &name) ||
                         !pla_json_get(item, "nearest_mm", &at)))
      st = pla_json_fail(item, err, "needs 'name' and 'nearest_mm'");
    if (st == PLA_OK)
      st = read_nearest(scene, at, &probe.vert, err);
    if (st == PLA_OK)
      st = pla_json_text_value(name, &probe.name, err);
    if (st == PLA_OK)
      g_array_append_val(scene->probes, probe);
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
    if (st == PLA_OK && !(scene->options.tolerance_rel >= 1e-14 && scene->options.tolerance_rel < 1))
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

static PlaStatus
read_mesh(PlaSimulation *scene, PlaJson root, const char *path, PlaProgress *progress, PlaError *err)
{
  PlaJson value;
  PlaItem item = { 0 };
  PlaReadOptions opts = pla_read_options_default();
  g_autofree char *name = NULL;
  if (!pla_json_get(root, "mesh", &value))
    return pla_json_fail(root, err, "names no 'mesh'");
  PlaStatus st = pla_json_text_value(value, &name, err);
  if (st == PLA_OK)
    st = read_unit(root, &opts.unit_mm, err);
  if (st != PLA_OK)
    return st;
  g_autofree char *folder = g_path_get_dirname(path);
  g_autofree char *full =
      g_path_is_absolute(name) ? g_strdup(name) : g_build_filename(folder, name, NULL);
  opts.progress = progress;
  st = pla_item_read(full, &opts, &item, err);
  if (st == PLA_OK && item.kind != PLA_KIND_MESH)
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a %s, not a mesh", full, pla_kind_name(item.kind));
  if (st == PLA_OK)
    scene->mesh = g_steal_pointer(&item.mesh);
  pla_item_clear(&item);
  return st;
}

/* everything but the mesh, which @scene has already */
static PlaStatus
read_scene(PlaSimulation *scene, PlaJson root, const char *folder, PlaError *err)
{
  static const char *const formulations[] = { "standard", "mixed", NULL };
  const size_t n = (size_t)scene->mesh->n_verts;
  PlaJson value;
  int formulation = 0;
  PlaStatus st = PLA_OK;
  scene->motions = g_array_new(FALSE, FALSE, sizeof(PlaRigidMotion));
  scene->probes = g_array_new(FALSE, FALSE, sizeof(ProbeSpec));
  scene->springs = g_array_new(FALSE, FALSE, sizeof(PlaSpring));
  scene->pressure_tri = g_array_new(FALSE, FALSE, sizeof(int));
  scene->pressure_pa = g_array_new(FALSE, FALSE, sizeof(double));
  scene->hooks = g_array_new(FALSE, FALSE, sizeof(HookSpec));
  g_array_set_clear_func(scene->hooks, hook_spec_clear);
  g_array_set_clear_func(scene->probes, probe_spec_clear);
  scene->held = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  scene->fixed = pla_array_new0(n, 3);
  scene->motion_of = pla_array_new(n, sizeof *scene->motion_of);
  scene->force = pla_array_new0(n, 3 * sizeof *scene->force);
  if (!scene->fixed || !scene->motion_of || !scene->force)
    st = pla_fail_memory(err, "the scene");
  for (size_t v = 0; st == PLA_OK && v < n; v++)
    scene->motion_of[v] = -1;
  if (st == PLA_OK && pla_json_get(root, "formulation", &value))
    st = pla_json_choice(value, formulations, &formulation, err);
  if (st == PLA_OK)
    st = read_labels(scene, root, err);
  if (st == PLA_OK)
    st = read_materials(scene, root, (PlaFormulation)formulation, err);
  if (st == PLA_OK)
    st = pla_mesh_bindings_new(scene->mesh, &scene->bindings, err);
  if (st == PLA_OK)
    st = read_constraints(scene, root, err);
  if (st == PLA_OK)
    st = read_loads(scene, root, err);
  if (st == PLA_OK)
    st = read_hooks(scene, root, err);
  if (st == PLA_OK)
    st = read_probes(scene, root, err);
  if (st == PLA_OK)
    st = read_solver(scene, root, err);
  if (st == PLA_OK)
    st = pla_scene_dynamics_read(root, &scene->dynamics, err);
  if (st == PLA_OK)
    st = make_contacts(scene, root, folder, err);
  scene->spring_list = (PlaFemSprings){ (int)scene->springs->len,
                                        (const PlaSpring *)(void *)scene->springs->data };
  scene->pressure = (PlaFemPressure){ (int)scene->pressure_pa->len,
                                      (const int *)(void *)scene->pressure_tri->data,
                                      (const double *)(void *)scene->pressure_pa->data };
  /* what moves in time, or may come to rest on something, need not be held */
  if (st == PLA_OK && !scene->dynamics.integrator && !scene->contacts)
    st = pla_fem_check_held(scene->model, scene->fixed, err);
  return st;
}

/* the scene with presets at @stiffness, or as it says where that is -1 */
static PlaStatus
load_at(const char *path, int stiffness, PlaProgress *progress, PlaSimulation **out, PlaError *err)
{
  static const char *const known[] = { "mesh",        "mesh_unit", "materials", "gravity_m_s2",
                                       "constraints", "loads",     "probes",    "solver",
                                       "formulation", "labels",    "sensitivity", "colliders",
                                       "contact",     "hooks",     "dynamics",  NULL };
  PlaJsonFile *file = NULL;
  PlaJson root;
  *out = NULL;
  PlaStatus st = pla_json_file_load(path, &file, &root, err);
  if (st != PLA_OK)
    return st;
  PlaSimulation *scene = g_new0(PlaSimulation, 1);
  PlaJson value;
  scene->stiffness = stiffness;
  st = pla_json_check_keys(root, known, err);
  if (st == PLA_OK && pla_json_get(root, "sensitivity", &value))
    st = pla_json_bool_value(value, &scene->sensitivity, err);
  if (st == PLA_OK)
    st = read_mesh(scene, root, path, progress, err);
  g_autofree char *folder = g_path_get_dirname(path);
  if (st == PLA_OK)
    st = read_scene(scene, root, folder, err);
  if (st == PLA_OK)
    *out = g_steal_pointer(&scene);
  else
    pla_fail_within(err, "%s", path);
  pla_simulation_free(scene);
  pla_json_file_free(file);
  return st;
}

PlaStatus
pla_simulation_load(const char *path, PlaProgress *progress, PlaSimulation **out, PlaError *err)
{
  return load_at(path, -1, progress, out, err);
}

PlaStatus
pla_simulation_new(const PlaMesh *mesh, const char *text, PlaSimulation **out, PlaError *err)
{
  static const char *const known[] = { "materials", "gravity_m_s2", "constraints", "loads",
                                       "probes",    "solver",       "formulation", "labels",
                                       "colliders", "contact",      "hooks",       NULL };
  PlaJsonFile *file = NULL;
  PlaJson root;
  *out = NULL;
  PlaStatus st = pla_json_text_load(text, "the scene", &file, &root, err);
  if (st != PLA_OK)
    return st;
  PlaSimulation *scene = g_new0(PlaSimulation, 1);
  scene->stiffness = -1;
  st = pla_json_check_keys(root, known, err);
  if (st == PLA_OK)
    st = pla_mesh_dup(mesh, &scene->mesh, err);
  if (st == PLA_OK)
    st = read_scene(scene, root, NULL, err);
  if (st == PLA_OK)
    *out = g_steal_pointer(&scene);
  pla_simulation_free(scene);
  pla_json_file_free(file);
  return st;
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
    if (scene->motion_of[v] >= 0)
      pla_rigid_motion_apply(&g_array_index(scene->motions, PlaRigidMotion, (guint)scene->motion_of[v]), t,
                   mesh->pos + 3 * v, target + 3 * v);
  return (PlaFemConditions){ .fixed = scene->fixed,
                             .target = target,
                             .force = scene->force,
                             .springs = scene->spring_list.n > 0 ? &scene->spring_list : NULL,
                             .pressure = scene->pressure.n_tris > 0 ? &scene->pressure : NULL,
                             .contacts = scene->contacts,
                             .bindings = scene->bindings };
}

PlaStatus
pla_simulation_motion_force(const PlaSimulation *scene, int motion, const double *pos,
                            double force_n[3], PlaError *err)
{
  const size_t n = (size_t)scene->mesh->n_verts;
  g_autofree double *elastic = g_new(double, 3 * n);
  PlaStatus st = pla_fem_forces(scene->model, pos, elastic, err);
  for (size_t d = 0; d < 3; d++) {
    force_n[d] = 0.0;
    for (size_t v = 0; st == PLA_OK && v < n; v++)
      if (scene->motion_of[v] == motion)
        force_n[d] -= elastic[3 * v + d] + scene->force[3 * v + d];
  }
  return st;
}

/* ---- solving ------------------------------------------------------------------------------ */

/* fields of the deformed body: displacement, and per element Jacobian, stretches, von Mises stress */
static PlaStatus
add_fields(const PlaSimulation *scene, const double *pos, PlaMesh *mesh, PlaError *err)
{
  const PlaMesh *rest = scene->mesh;
  double *disp = pla_mesh_add_field(mesh, "displacement_mm", PLA_ON_VERTS, PLA_F64, 3);
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
#pragma omp parallel for schedule(static)
  for (int c = 0; c < n_cells; c++) {
    PlaFemCellState state;
    pla_fem_cell_state(scene->model, c, pos, &state);
    jacobian[first + (size_t)c] = state.jacobian;
    memcpy(stretch + 3 * (first + (size_t)c), state.stretch, sizeof state.stretch);
    mises[first + (size_t)c] = state.von_mises_pa;
  }
  return PLA_OK;
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
    int n = cell_of(mesh, (size_t)out->worst[k].element, &verts);
    for (int a = 0; a < n; a++)
      for (int d = 0; d < 3; d++)
        out->worst[k].centre_mm[d] += 1e3 * mesh->pos[3 * (size_t)verts[a] + (size_t)d] / n;
  }
}

bool
pla_simulation_wants_sensitivity(const PlaSimulation *scene)
{
  return scene->sensitivity;
}

static double
reaction_size(const PlaReaction *reaction)
{
  return pla_vec3_norm(reaction->force_n);
}

PlaStatus
pla_simulation_sensitivity(const char *path, PlaProgress *progress, PlaSimulationResult *result,
                           PlaError *err)
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
    st = load_at(path, end ? PLA_STIFFNESS_HIGH : PLA_STIFFNESS_LOW, progress, &scene, err);
    if (st == PLA_OK && scene->n_presets == 0)
      st = pla_fail(err, PLA_ERR_USAGE,
                    "%s: sensitivity needs the ranges of tissues, and no material is a \"preset\"",
                    path);
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
  double *field = st == PLA_OK ? pla_mesh_add_field(result->mesh, "sensitivity_mm", PLA_ON_VERTS,
                                                    PLA_F64, 1)
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

/* motions in equal increments, each from the equilibrium of the last */
static PlaStatus
run_statics(const PlaSimulation *scene, PlaProgress *progress, double *pos, double *target,
            PlaSimulationResult *out, PlaError *err)
{
  PlaSceneColliders colliders = scene->colliders;
  PlaFemOptions options = scene->options;
  g_autofree double *poses = g_new(double, 12 * (gsize)(colliders.n + 1));
  PlaStatus st = PLA_OK;
  int iterations = 0;
  options.progress = progress;
  for (int step = 1; st == PLA_OK && step <= scene->steps; step++) {
    double t = (double)step / scene->steps;
    pla_progress_phase(progress, "Solving", t);
    PlaFemConditions conditions = pla_simulation_conditions(scene, t, target);
    pla_scene_colliders_move(&colliders, t, poses);
    if (scene->contacts)
      st = pla_contact_set_begin_step(scene->contacts, pos, poses, err);
    if (st == PLA_OK)
      st = pla_fem_solve(scene->model, &conditions, &options, pos, &out->solve, err);
    iterations += out->solve.iterations;
    if (st == PLA_OK && out->solve.reason == PLA_STOP_CANCELLED)
      st = pla_fail_cancelled(err);
    if (out->solve.reason != PLA_STOP_CONVERGED)
      break;
  }
  out->solve.iterations = iterations;
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

/* what supports, hooks and colliders carry at the end */
static PlaStatus
measure_forces(const PlaSimulation *scene, const double *pos, double *target,
               PlaSimulationResult *out, PlaError *err)
{
  const size_t n = 3 * (size_t)scene->mesh->n_verts;
  PlaFemConditions conditions = pla_simulation_conditions(scene, 1.0, target);
  g_autofree double *reaction = g_new(double, n);
  PlaStatus st = scene->contacts ? pla_contact_set_update(scene->contacts, pos, 0.0, err) : PLA_OK;
  if (st == PLA_OK)
    st = pla_fem_reactions(scene->model, &conditions, pos, reaction, err);
  if (st != PLA_OK)
    return st;
  out->n_hooks = (int)scene->hooks->len;
  out->hook = g_new0(PlaHookResult, scene->hooks->len + 1);
  for (int h = 0; h < out->n_hooks; h++) {
    const HookSpec *spec = &g_array_index(scene->hooks, HookSpec, (guint)h);
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
    for (guint i = 0; i < held->len; i++)
      for (guint d = 0; d < 3; d++)
        out->reaction[c].force_n[d] += reaction[3 * (gsize)g_array_index(held, int, i) + d];
  }
  out->n_colliders = scene->colliders.n;
  out->collider_n = g_new0(double, 3 * (gsize)scene->colliders.n + 1);
  for (int c = 0; c < out->n_colliders; c++)
    pla_contact_set_collider_force(scene->contacts, c, pos, out->collider_n + 3 * c);
  out->deepest_mm = MAX(out->deepest_mm, out->solve.max_penetration_m * 1e3);
  return PLA_OK;
}

bool
pla_simulation_is_dynamic(const PlaSimulation *scene)
{
  return scene->dynamics.integrator != NULL;
}

PlaStatus
pla_simulation_solve(const PlaSimulation *scene, PlaProgress *progress, PlaSimulationResult *out, PlaError *err)
{
  return pla_simulation_run(scene, NULL, NULL, progress, out, err);
}

PlaStatus
pla_simulation_run(const PlaSimulation *scene, PlaFrameFunc frame, void *data, PlaProgress *progress,
                   PlaSimulationResult *out, PlaError *err)
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
  if (st == PLA_OK) {
    const PlaField *jacobian = pla_mesh_find_field(out->mesh, "jacobian", PLA_ON_CELLS);
    add_worst(scene, (const double *)jacobian->data + mesh->n_tris, out);
    out->notes = scene->notes ? g_ptr_array_ref(scene->notes) : NULL;
    out->n_probes = (int)scene->probes->len;
    out->probe = g_new0(PlaProbe, scene->probes->len + 1);
    for (int i = 0; i < out->n_probes; i++) {
      const ProbeSpec *spec = &g_array_index(scene->probes, ProbeSpec, (guint)i);
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
  g_clear_pointer(&result->notes, g_ptr_array_unref);
  for (int i = 0; i < result->n_hooks; i++)
    g_free(result->hook[i].name);
  g_free(result->hook);
  g_free(result->collider_n);
  pla_mesh_free(result->mesh);
  *result = (PlaSimulationResult){ 0 };
}
