/* What a `where` of a scene selects: everything, a box, a place, a plane, nodes, or cells by their
 * tag. */
#include "app/simulate/scene-where.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/bodies/carved-mesh.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* "region" by the cell tag of that name, "label" by the tag "label" (or "region" where the mesh has
 * no such tag), with a number or a name that "labels" explains */
static PlaStatus
select_by_tag(const PlaSceneSelection *self, PlaJson value, const char *field_name, bool *cells,
              PlaError *err)
{
  const PlaField *field = pla_mesh_find_field(self->mesh, field_name, PLA_ON_CELLS);
  int64_t tag = 0;
  PlaStatus st = PLA_OK;
  if (JSON_NODE_HOLDS_VALUE(value.node) && json_node_get_value_type(value.node) == G_TYPE_STRING) {
    const char *name = json_node_get_string(value.node);
    const PlaLabel *label = pla_label_table_find_name(self->labels, name);
    if (!label)
      return pla_json_fail(value, err, "is '%s', and \"labels\" has no such name", name);
    tag = label->id;
  } else {
    st = pla_json_int_value(value, INT32_MIN, INT32_MAX, &tag, err);
  }
  if (!field && strcmp(field_name, "label") == 0)
    field = pla_mesh_find_field(self->mesh, "region", PLA_ON_CELLS);
  if (st == PLA_OK && (!field || field->n_components != 1))
    st = pla_json_fail(value, err, "selects by the cell field '%s', which the mesh does not have",
                       field_name);
  size_t first = (size_t)self->mesh->n_tris;
  for (size_t c = first; st == PLA_OK && c < pla_mesh_n_cells(self->mesh); c++)
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

/* {"at_mm": [x, y, z], "radius_mm": r}: what lies within r of a place, and the nearest in any case;
 * only of those @among, where that is not NULL */
static PlaStatus
select_near(PlaJson near, const double *centre_m, size_t n, const bool *among, bool *marked,
            PlaError *err)
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
    if (among && !among[i])
      continue;
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

/* vertices of the triangles of a body that border on "air", "cavity", "bone" or the "end" of the
 * scan */
static PlaStatus
select_border(const PlaMesh *mesh, PlaJson value, bool *marked, PlaError *err)
{
  static const char *const names[] = { "air", "cavity", "bone", "end", NULL };
  const PlaField *field = pla_mesh_find_field(mesh, PLA_MESH_BORDER, PLA_ON_CELLS);
  int border = 0;
  PlaStatus st = pla_json_choice(value, names, &border, err);
  if (st == PLA_OK && (!field || field->n_components != 1))
    st = pla_json_fail(value, err,
                       "selects by the cell field '%s', which the mesh does not have; `body` and "
                       "`mesh --method carved` write it",
                       PLA_MESH_BORDER);
  for (size_t t = 0; st == PLA_OK && t < (size_t)mesh->n_tris; t++)
    for (size_t k = 0; k < 3 && pla_dtype_get(field->dtype, field->data, t) == border; k++)
      marked[mesh->tri[3 * t + k]] = true;
  return st;
}

int
pla_scene_cell(const PlaMesh *mesh, size_t c, const int **verts)
{
  if (c < (size_t)mesh->n_tets) {
    *verts = mesh->tet + 4 * c;
    return 4;
  }
  *verts = mesh->hex + 8 * (c - (size_t)mesh->n_tets);
  return 8;
}

/* vertices, or middles of the cells, m; g_free(); NULL: no memory */
static double *
centres(const PlaMesh *mesh, bool of_cells)
{
  const size_t n = of_cells ? (size_t)mesh->n_tets + (size_t)mesh->n_hexes : (size_t)mesh->n_verts;
  double *out = pla_array_new0(3 * n, sizeof *out);
  for (size_t i = 0; out && i < n; i++) {
    const int vert = (int)i, *verts = &vert;
    int k = of_cells ? pla_scene_cell(mesh, i, &verts) : 1;
    for (int a = 0; a < k; a++)
      for (size_t d = 0; d < 3; d++)
        out[3 * i + d] += mesh->pos[3 * (size_t)verts[a] + d] / k;
  }
  return out;
}

PlaStatus
pla_scene_select(const PlaSceneSelection *self, PlaJson where, bool of_cells, bool *marked,
                 size_t *count, PlaError *err)
{
  static const char *const known[] = { "all",    "box_mm", "near",   "plane", "nodes",
                                       "region", "label",  "border", NULL };
  const PlaMesh *mesh = self->mesh;
  const size_t n_cells = (size_t)mesh->n_tets + (size_t)mesh->n_hexes;
  const size_t n = of_cells ? n_cells : (size_t)mesh->n_verts;
  PlaStatus st = pla_json_check_keys(where, known, err);
  if (st != PLA_OK)
    return st;
  g_autofree bool *cells = pla_array_new0(n_cells, sizeof *cells);
  if (!cells)
    return pla_fail_memory(err, "the selection");
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
    if (!centre)
      return pla_fail_memory(err, "the selection");
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
      /* vertices of a carved body's cells may lie outside of it */
      const bool carried =
          !of_cells && pla_mesh_find_field(mesh, PLA_MESH_BORDER, PLA_ON_CELLS) != NULL;
      g_autofree bool *surface = carried ? pla_array_new0(n, sizeof *surface) : NULL;
      if (carried && !surface)
        return pla_fail_memory(err, "the selection");
      for (size_t i = 0; carried && i < 3 * (size_t)mesh->n_tris; i++)
        surface[mesh->tri[i]] = true;
      st = select_near(value, centre, n, surface, marked, err);
    } else {
      st = select_plane(value, centre, n, marked, err);
    }
  } else if (pla_json_get(where, "nodes", &value)) {
    int n_nodes = pla_json_length(value);
    if (of_cells)
      return pla_json_fail(value, err,
                           "names nodes, and this needs elements; use 'region' or a box");
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
    st = select_by_tag(self, value, pla_json_has(where, "region") ? "region" : "label", cells, err);
  } else if (pla_json_get(where, "border", &value)) {
    st = of_cells ? pla_json_fail(value, err,
                                  "names a border, and this needs elements; use 'region' or a box")
                  : select_border(mesh, value, marked, err);
  } else {
    return pla_json_fail(where, err,
                         "selects nothing: give 'all', 'box_mm', 'near', 'plane', "
                         "'nodes', 'region', 'label' or 'border'");
  }
  if (st != PLA_OK)
    return st;
  for (size_t c = 0; by_cells && c < n_cells; c++) {
    const int *verts;
    int k = pla_scene_cell(mesh, c, &verts);
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

/* vertices in the material: of a full cell, or of triangles; all where no cell is filled in part.
 * NULL: no memory */
static bool *
find_solid(const PlaMesh *mesh)
{
  const PlaMeshShares shares = pla_mesh_shares(mesh);
  const bool parts = shares.field[0] || shares.field[1];
  bool *solid = pla_array_new0((size_t)mesh->n_verts, sizeof *solid), any = false;
  for (size_t c = 0; solid && parts && c < (size_t)mesh->n_tets + (size_t)mesh->n_hexes; c++) {
    const int *verts;
    const int k = pla_scene_cell(mesh, c, &verts);
    if (pla_mesh_share(&shares, (size_t)mesh->n_tris + c) < 1.0 - 1e-9)
      continue;
    any = true;
    for (int a = 0; a < k; a++)
      solid[verts[a]] = true;
  }
  for (int i = 0; solid && i < 3 * mesh->n_tris; i++)
    any = solid[mesh->tri[i]] = true;
  for (int v = 0; solid && (!parts || !any) && v < mesh->n_verts; v++)
    solid[v] = true;
  return solid;
}

PlaStatus
pla_scene_nearest(const PlaMesh *mesh, PlaJson at, int *vert, PlaError *err)
{
  double x[3], best = INFINITY;
  PlaStatus st = pla_json_vector(at, 3, x, err);
  g_autofree bool *solid = st == PLA_OK ? find_solid(mesh) : NULL;
  if (st == PLA_OK && !solid)
    st = pla_fail_memory(err, "the scene");
  for (int v = 0; st == PLA_OK && v < mesh->n_verts; v++) {
    double d[3];
    if (!solid[v])
      continue;
    for (int k = 0; k < 3; k++)
      d[k] = mesh->pos[3 * (size_t)v + (size_t)k] - x[k] / 1000.0;
    if (pla_vec3_dot(d, d) < best) {
      best = pla_vec3_dot(d, d);
      *vert = v;
    }
  }
  return st;
}
