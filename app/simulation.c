/* Scenes: reading, checking, solving, and the fields that come out. */
#include "app/simulation.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/svd3.h"
#include "app/bound-mesh.h"
#include "app/json.h"
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

/* one `move`: where vertices go, as a fraction of the whole motion */
typedef struct {
  double translate_m[3];
  double axis[3], through_m[3], angle; /* unit axis, point on it, radians */
} Motion;

struct PlaSimulation {
  PlaMesh *mesh;
  PlaFemModel *model;
  PlaFemBindings *bindings; /* of vertices that follow others, or NULL */
  unsigned char *fixed;     /* n_verts x 3 */
  int *motion_of;       /* vertex -> motion, or -1 (n_verts) */
  GArray *motions;      /* of Motion */
  int steps;            /* increments of the motions */
  double *force;        /* N (n_verts x 3) */
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
read_motion(PlaJson json, Motion *motion, unsigned *axes, int *steps, PlaError *err)
{
  static const char *const known[] = { "translate_mm", "rotate", "steps", "axes", NULL };
  static const char *const rotate_keys[] = { "axis", "through_mm", "deg", NULL };
  PlaJson value, part;
  *motion = (Motion){ .axis = { 1, 0, 0 } };
  *axes = 7;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && pla_json_get(json, "translate_mm", &value)) {
    st = pla_json_vector(value, 3, motion->translate_m, err);
    for (int d = 0; d < 3; d++)
      motion->translate_m[d] /= 1000.0;
  }
  if (st == PLA_OK && pla_json_get(json, "rotate", &value)) {
    double deg = 0.0;
    st = pla_json_check_keys(value, rotate_keys, err);
    if (st == PLA_OK && (!pla_json_has(value, "axis") || !pla_json_has(value, "deg")))
      st = pla_json_fail(value, err, "needs 'axis' and 'deg'");
    if (st == PLA_OK && pla_json_get(value, "axis", &part))
      st = pla_json_vector(part, 3, motion->axis, err);
    if (st == PLA_OK && !(pla_vec3_norm(motion->axis) > 0.0))
      st = pla_json_fail(part, err, "has no length");
    if (st == PLA_OK && pla_json_get(value, "through_mm", &part))
      st = pla_json_vector(part, 3, motion->through_m, err);
    if (st == PLA_OK && pla_json_get(value, "deg", &part))
      st = pla_json_number_value(part, &deg, err);
    double length = pla_vec3_norm(motion->axis);
    for (int d = 0; d < 3; d++) {
      motion->axis[d] /= length;
      motion->through_m[d] /= 1000.0;
    }
    motion->angle = deg * G_PI / 180.0;
  }
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

/* x moved by the fraction @t of a motion: turned about the axis, then shifted */
static void
apply_motion(const Motion *motion, double t, const double x[3], double out[3])
{
  double c = cos(t * motion->angle), s = sin(t * motion->angle), r[3], cross[3];
  pla_vec3_sub(x, motion->through_m, r);
  pla_vec3_cross(motion->axis, r, cross);
  double along = pla_vec3_dot(motion->axis, r);
  for (int d = 0; d < 3; d++)
    out[d] = motion->through_m[d] + c * r[d] + s * cross[d] + (1.0 - c) * along * motion->axis[d] +
             t * motion->translate_m[d];
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
      Motion motion;
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

static PlaStatus
read_loads(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  static const char *const known[] = { "where", "force_n", NULL };
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
                         !pla_json_get(item, "force_n", &force)))
      st = pla_json_fail(item, err, "needs 'where' and 'force_n'");
    if (st == PLA_OK)
      st = pla_json_vector(force, 3, newton, err);
    if (st == PLA_OK)
      st = select_where(scene, where, false, marked, &count, err);
    /* the force is shared equally by the vertices it acts on */
    for (int v = 0; st == PLA_OK && v < scene->mesh->n_verts; v++)
      for (int d = 0; marked[v] && d < 3; d++)
        scene->force[3 * (size_t)v + (size_t)d] += newton[d] / (double)count;
  }
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
    double x[3], best = INFINITY;
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = pla_json_check_keys(item, known, err);
    if (st == PLA_OK && (!pla_json_get(item, "name", &name) ||
                         !pla_json_get(item, "nearest_mm", &at)))
      st = pla_json_fail(item, err, "needs 'name' and 'nearest_mm'");
    if (st == PLA_OK)
      st = pla_json_vector(at, 3, x, err);
    if (st == PLA_OK)
      st = pla_json_text_value(name, &probe.name, err);
    for (int v = 0; st == PLA_OK && v < scene->mesh->n_verts; v++) {
      double d[3];
      for (int k = 0; k < 3; k++)
        d[k] = scene->mesh->pos[3 * (size_t)v + (size_t)k] - x[k] / 1000.0;
      if (pla_vec3_dot(d, d) < best) {
        best = pla_vec3_dot(d, d);
        probe.vert = v;
      }
    }
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
read_scene(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  static const char *const formulations[] = { "standard", "mixed", NULL };
  const size_t n = (size_t)scene->mesh->n_verts;
  PlaJson value;
  int formulation = 0;
  PlaStatus st = PLA_OK;
  scene->motions = g_array_new(FALSE, FALSE, sizeof(Motion));
  scene->probes = g_array_new(FALSE, FALSE, sizeof(ProbeSpec));
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
    st = read_probes(scene, root, err);
  if (st == PLA_OK)
    st = read_solver(scene, root, err);
  if (st == PLA_OK)
    st = pla_fem_check_held(scene->model, scene->fixed, err);
  return st;
}

/* the scene with presets at @stiffness, or as it says where that is -1 */
static PlaStatus
load_at(const char *path, int stiffness, PlaProgress *progress, PlaSimulation **out, PlaError *err)
{
  static const char *const known[] = { "mesh",        "mesh_unit", "materials", "gravity_m_s2",
                                       "constraints", "loads",     "probes",    "solver",
                                       "formulation", "labels",    "sensitivity", NULL };
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
  if (st == PLA_OK)
    st = read_scene(scene, root, err);
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
                                       NULL };
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
    st = read_scene(scene, root, err);
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
  Motion *changed = &g_array_index(scene->motions, Motion, (guint)motion);
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
      apply_motion(&g_array_index(scene->motions, Motion, (guint)scene->motion_of[v]), t,
                   mesh->pos + 3 * v, target + 3 * v);
  return (PlaFemConditions){ .fixed = scene->fixed,
                             .target = target,
                             .force = scene->force,
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

/* what each constraint holds with, at the end of the motions */
static PlaStatus
add_reactions(const PlaSimulation *scene, const double *pos, double *target,
              PlaSimulationResult *out, PlaError *err)
{
  PlaFemConditions conditions = pla_simulation_conditions(scene, 1.0, target);
  g_autofree double *force = g_new(double, 3 * (gsize)scene->mesh->n_verts);
  PlaStatus st = pla_fem_reactions(scene->model, &conditions, pos, force, err);
  if (st != PLA_OK)
    return st;
  out->n_reactions = (int)scene->held->len;
  out->reaction = g_new0(PlaReaction, scene->held->len + 1);
  for (int i = 0; i < out->n_reactions; i++) {
    const GArray *held = g_ptr_array_index(scene->held, (guint)i);
    for (guint k = 0; k < held->len; k++)
      for (size_t d = 0; d < 3; d++)
        out->reaction[i].force_n[d] += force[3 * (size_t)g_array_index(held, int, k) + d];
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

PlaStatus
pla_simulation_solve(const PlaSimulation *scene, PlaProgress *progress, PlaSimulationResult *out, PlaError *err)
{
  const PlaMesh *mesh = scene->mesh;
  const size_t n = (size_t)mesh->n_verts;
  *out = (PlaSimulationResult){ 0 };
  double *pos = pla_array_dup(mesh->pos, n, 3 * sizeof *pos);
  double *target = pla_array_new(n, 3 * sizeof *target);
  PlaStatus st = pos && target ? PLA_OK : pla_fail_memory(err, "the scene");
  PlaFemOptions options = scene->options;
  gint64 start = g_get_monotonic_time();
  options.progress = progress;

  /* motions in equal increments, each from the equilibrium of the last */
  int iterations = 0;
  for (int step = 1; st == PLA_OK && step <= scene->steps; step++) {
    double t = (double)step / scene->steps;
    pla_progress_phase(progress, "Solving", t);
    PlaFemConditions conditions = pla_simulation_conditions(scene, t, target);
    st = pla_fem_solve(scene->model, &conditions, &options, pos, &out->solve, err);
    iterations += out->solve.iterations;
    if (st == PLA_OK && out->solve.reason == PLA_STOP_CANCELLED)
      st = pla_fail_cancelled(err);
    if (out->solve.reason != PLA_STOP_CONVERGED)
      break;
  }
  out->solve.iterations = iterations;
  out->seconds = (double)(g_get_monotonic_time() - start) * 1e-6;

  if (st == PLA_OK)
    st = pla_mesh_dup(mesh, &out->mesh, err);
  if (st == PLA_OK)
    st = add_fields(scene, pos, out->mesh, err);
  if (st == PLA_OK)
    st = add_reactions(scene, pos, target, out, err);
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
  pla_mesh_free(result->mesh);
  *result = (PlaSimulationResult){ 0 };
}
