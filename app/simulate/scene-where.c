/* What a `where` of a scene selects: everything, what lies in a place, nodes, cells by their tag, a
 * border; of several keys, what all of them select. */
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

/* ---- places ---- */

/* how far a point of the body may lie from the place that a `near` names */
#define NEAR_LIMIT_MM 5.0

typedef enum { ANYWHERE, IN_BOX, IN_BALL, NEAR_PLANE } PlaceKind;

/* a convex part of space, mm */
typedef struct {
  PlaceKind kind;
  PlaJson json;
  double low[3], high[3];  /* of a box */
  double at[3], normal[3]; /* middle of a ball; a point of a plane, and what is across it */
  double within, length;   /* radius of the ball, distance from the plane; length of the normal */
} Place;

/* {"at_mm": [x, y, z], "radius_mm": r} */
static PlaStatus
read_ball(PlaJson near, Place *out, PlaError *err)
{
  static const char *const known[] = { "at_mm", "radius_mm", NULL };
  PlaJson value;
  PlaStatus st = pla_json_check_keys(near, known, err);
  if (st == PLA_OK && !pla_json_get(near, "at_mm", &value))
    st = pla_json_fail(near, err, "needs 'at_mm'");
  if (st == PLA_OK)
    st = pla_json_vector(value, 3, out->at, err);
  if (st == PLA_OK && pla_json_get(near, "radius_mm", &value)) {
    st = pla_json_number_value(value, &out->within, err);
    if (st == PLA_OK && !(out->within >= 0.0))
      st = pla_json_fail(value, err, "must not be negative");
  }
  return st;
}

/* {"through_mm": [x, y, z], "normal": [x, y, z], "within_mm": d} */
static PlaStatus
read_plane(PlaJson plane, Place *out, PlaError *err)
{
  static const char *const known[] = { "through_mm", "normal", "within_mm", NULL };
  PlaJson value[3];
  PlaStatus st = pla_json_check_keys(plane, known, err);
  for (int k = 0; st == PLA_OK && k < 3; k++)
    if (!pla_json_get(plane, known[k], &value[k]))
      st = pla_json_fail(plane, err, "needs '%s'", known[k]);
  if (st == PLA_OK)
    st = pla_json_vector(value[0], 3, out->at, err);
  if (st == PLA_OK)
    st = pla_json_vector(value[1], 3, out->normal, err);
  if (st == PLA_OK)
    st = pla_json_number_value(value[2], &out->within, err);
  out->length = pla_vec3_norm(out->normal);
  if (st == PLA_OK && !(out->length > 0.0))
    st = pla_json_fail(value[1], err, "has no length");
  return st;
}

static PlaStatus
read_box(PlaJson box, Place *out, PlaError *err)
{
  PlaJson low, high;
  PlaStatus st = pla_json_at(box, 0, &low, err);
  if (st == PLA_OK)
    st = pla_json_at(box, 1, &high, err);
  if (st == PLA_OK)
    st = pla_json_vector(low, 3, out->low, err);
  return st == PLA_OK ? pla_json_vector(high, 3, out->high, err) : st;
}

static PlaStatus
read_place(PlaJson where, Place *out, PlaError *err)
{
  static const char *const keys[] = { "box_mm", "near", "plane" };
  static PlaStatus (*const read[])(PlaJson, Place *, PlaError *) = { read_box, read_ball,
                                                                     read_plane };
  PlaStatus st = PLA_OK;
  PlaJson value;
  *out = (Place){ .kind = ANYWHERE };
  for (int k = 0; st == PLA_OK && k < 3; k++) {
    if (!pla_json_get(where, keys[k], &value))
      continue;
    if (out->kind != ANYWHERE)
      return pla_json_fail(where, err,
                           "has several of 'box_mm', 'near' and 'plane'; one is enough");
    out->kind = (PlaceKind)(IN_BOX + k);
    out->json = value;
    st = read[k](value, out, err);
  }
  return st;
}

/* mm outside of the place, never more than the distance from it; not positive: inside */
static double
outside_place(const Place *place, const double x_m[3])
{
  double x[3], way[3], out = -INFINITY;
  for (int d = 0; d < 3; d++)
    x[d] = 1000.0 * x_m[d];
  switch (place->kind) {
  case ANYWHERE:
    break;
  case IN_BOX:
    for (int d = 0; d < 3; d++)
      out = fmax(out, fmax(place->low[d] - x[d], x[d] - place->high[d]));
    break;
  case IN_BALL:
    pla_vec3_sub(x, place->at, way);
    out = pla_vec3_norm(way) - place->within;
    break;
  case NEAR_PLANE:
    pla_vec3_sub(x, place->at, way);
    out = (fabs(pla_vec3_dot(way, place->normal)) - place->within * place->length) / place->length;
    break;
  }
  return out;
}

/* Leaves of @marked what is in the place, and of a ball in any case the nearest. */
static PlaStatus
keep_in_place(const Place *place, const double *centre_m, size_t n, bool *marked, PlaError *err)
{
  double best = INFINITY;
  size_t nearest = n;
  for (size_t i = 0; i < n; i++) {
    const double out = marked[i] ? outside_place(place, centre_m + 3 * i) : INFINITY;
    if (out < best) {
      best = out;
      nearest = i;
    }
    marked[i] = out <= 0.0;
  }
  if (place->kind != IN_BALL || nearest == n)
    return PLA_OK;
  if (best + place->within > fmax(place->within, NEAR_LIMIT_MM))
    return pla_json_fail(place->json, err,
                         "names a place %.1f mm away from the body; pick a point of its surface",
                         best + place->within);
  marked[nearest] = true;
  return PLA_OK;
}

/* ---- selections ---- */

/* "air", "cavity", "bone" or the "end" of the scan, which triangles of a body border on */
static PlaStatus
read_border(const PlaMesh *mesh, PlaJson value, int *border, PlaError *err)
{
  static const char *const names[] = { "air", "cavity", "bone", "end", NULL };
  const PlaField *field = pla_mesh_find_field(mesh, PLA_MESH_BORDER, PLA_ON_CELLS);
  PlaStatus st = pla_json_choice(value, names, border, err);
  if (st == PLA_OK && (!field || field->n_components != 1))
    st = pla_json_fail(value, err,
                       "selects by the cell field '%s', which the mesh does not have; `body` and "
                       "`mesh --method carved` write it",
                       PLA_MESH_BORDER);
  return st;
}

static bool
has_border(const PlaMesh *mesh, int t, int border)
{
  const PlaField *field = pla_mesh_find_field(mesh, PLA_MESH_BORDER, PLA_ON_CELLS);
  return pla_dtype_get(field->dtype, field->data, (size_t)t) == border;
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

/* Leaves of the marked cells or vertices those that a set of the mesh has: a field of that name
 * that is not 0 there, of vertices or of cells. */
static PlaStatus
keep_set(const PlaSceneSelection *self, PlaJson value, bool of_cells, bool *marked, PlaError *err)
{
  const PlaMesh *mesh = self->mesh;
  g_autofree char *name = NULL;
  PlaStatus st = pla_json_text_value(value, &name, err);
  if (st != PLA_OK)
    return st;
  const PlaField *cells = pla_mesh_find_field(mesh, name, PLA_ON_CELLS);
  const PlaField *verts = pla_mesh_find_field(mesh, name, PLA_ON_VERTS);
  if (verts && of_cells && !cells)
    return pla_json_fail(value, err, "is a set of vertices, and this needs elements");
  const PlaField *field = of_cells || !verts ? cells : verts;
  if (!field || field->n_components != 1)
    return pla_json_fail(value, err,
                         "is '%s', and the mesh has no field of one number with that name", name);
  const size_t n_cells = (size_t)mesh->n_tets + (size_t)mesh->n_hexes;
  const size_t n = of_cells ? n_cells : (size_t)mesh->n_verts;
  g_autofree bool *has = pla_array_new0(n, sizeof *has);
  if (!has)
    return pla_fail_memory(err, "the selection");
  for (size_t v = 0; field == verts && v < n; v++)
    has[v] = pla_dtype_get(field->dtype, field->data, v) != 0.0;
  for (size_t c = 0; field == cells && c < n_cells; c++) {
    const int *at;
    const int k = pla_scene_cell(mesh, c, &at);
    if (pla_dtype_get(field->dtype, field->data, (size_t)mesh->n_tris + c) == 0.0)
      continue;
    if (of_cells)
      has[c] = true;
    for (int a = 0; !of_cells && a < k; a++)
      has[at[a]] = true;
  }
  for (size_t i = 0; i < n; i++)
    marked[i] = marked[i] && has[i];
  return PLA_OK;
}

/* Leaves of the marked cells, or vertices of such cells, those with the tag of that name. */
static PlaStatus
keep_tagged(const PlaSceneSelection *self, PlaJson value, const char *key, bool of_cells,
            bool *marked, PlaError *err)
{
  const PlaMesh *mesh = self->mesh;
  const size_t n_cells = (size_t)mesh->n_tets + (size_t)mesh->n_hexes;
  const size_t n = of_cells ? n_cells : (size_t)mesh->n_verts;
  g_autofree bool *cells = pla_array_new0(n_cells, sizeof *cells);
  g_autofree bool *has = pla_array_new0(n, sizeof *has);
  if (!cells || !has)
    return pla_fail_memory(err, "the selection");
  PlaStatus st = select_by_tag(self, value, key, cells, err);
  for (size_t c = 0; st == PLA_OK && c < n_cells; c++) {
    const int *verts;
    const int k = pla_scene_cell(mesh, c, &verts);
    if (of_cells)
      has[c] = cells[c];
    for (int a = 0; !of_cells && cells[c] && a < k; a++)
      has[verts[a]] = true;
  }
  for (size_t i = 0; i < n; i++)
    marked[i] = marked[i] && has[i];
  return st;
}

static PlaStatus
keep_nodes(const PlaMesh *mesh, PlaJson list, bool *marked, PlaError *err)
{
  g_autofree bool *has = pla_array_new0((size_t)mesh->n_verts, sizeof *has);
  PlaStatus st = has ? PLA_OK : pla_fail_memory(err, "the selection");
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    PlaJson item;
    int64_t node = 0;
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = pla_json_int_value(item, 0, mesh->n_verts - 1, &node, err);
    if (st == PLA_OK)
      has[node] = true;
  }
  for (size_t v = 0; st == PLA_OK && v < (size_t)mesh->n_verts; v++)
    marked[v] = marked[v] && has[v];
  return st;
}

static PlaStatus
keep_border(const PlaMesh *mesh, PlaJson value, bool *marked, PlaError *err)
{
  int border;
  g_autofree bool *has = pla_array_new0((size_t)mesh->n_verts, sizeof *has);
  PlaStatus st =
      has ? read_border(mesh, value, &border, err) : pla_fail_memory(err, "the selection");
  for (int t = 0; st == PLA_OK && t < mesh->n_tris; t++)
    for (int k = 0; k < 3 && has_border(mesh, t, border); k++)
      has[mesh->tri[3 * t + k]] = true;
  for (size_t v = 0; st == PLA_OK && v < (size_t)mesh->n_verts; v++)
    marked[v] = marked[v] && has[v];
  return st;
}

/* Marks what all of @where but its place selects, and reads that. */
static PlaStatus
mark_anywhere(const PlaSceneSelection *self, PlaJson where, bool of_cells, bool *marked,
              Place *place, PlaError *err)
{
  static const char *const known[] = { "all",    "box_mm", "near",   "plane", "nodes",
                                       "region", "label",  "border", "set",   NULL };
  static const char *const of_verts[] = { "nodes", "border" };
  const PlaMesh *mesh = self->mesh;
  const size_t n = of_cells ? (size_t)mesh->n_tets + (size_t)mesh->n_hexes : (size_t)mesh->n_verts;
  bool all = true, any = false;
  PlaJson value;
  PlaStatus st = pla_json_check_keys(where, known, err);
  for (int k = 0; known[k]; k++)
    any = any || pla_json_has(where, known[k]);
  if (st == PLA_OK && !any)
    st = pla_json_fail(where, err,
                       "selects nothing: give 'all', 'box_mm', 'near', 'plane', "
                       "'nodes', 'region', 'label', 'set' or 'border'");
  for (int k = 0; st == PLA_OK && of_cells && k < 2; k++)
    if (pla_json_get(where, of_verts[k], &value))
      st = pla_json_fail(value, err, "names %s, and this needs elements; use 'region' or a box",
                         k == 0 ? "nodes" : "a border");
  if (st == PLA_OK && pla_json_get(where, "all", &value))
    st = pla_json_bool_value(value, &all, err);
  for (size_t i = 0; i < n; i++)
    marked[i] = all;
  if (st == PLA_OK && pla_json_get(where, "nodes", &value))
    st = keep_nodes(mesh, value, marked, err);
  if (st == PLA_OK && pla_json_get(where, "region", &value))
    st = keep_tagged(self, value, "region", of_cells, marked, err);
  if (st == PLA_OK && pla_json_get(where, "label", &value))
    st = keep_tagged(self, value, "label", of_cells, marked, err);
  if (st == PLA_OK && pla_json_get(where, "set", &value))
    st = keep_set(self, value, of_cells, marked, err);
  if (st == PLA_OK && pla_json_get(where, "border", &value))
    st = keep_border(mesh, value, marked, err);
  return st == PLA_OK ? read_place(where, place, err) : st;
}

PlaStatus
pla_scene_select(const PlaSceneSelection *self, PlaJson where, bool of_cells, bool *marked,
                 size_t *count, PlaError *err)
{
  const PlaMesh *mesh = self->mesh;
  const size_t n = of_cells ? (size_t)mesh->n_tets + (size_t)mesh->n_hexes : (size_t)mesh->n_verts;
  Place place;
  *count = 0;
  PlaStatus st = mark_anywhere(self, where, of_cells, marked, &place, err);
  /* vertices of a carved body's cells may lie outside of it */
  if (st == PLA_OK && place.kind == IN_BALL && !of_cells &&
      pla_mesh_find_field(mesh, PLA_MESH_BORDER, PLA_ON_CELLS)) {
    g_autofree bool *surface = pla_array_new0(n, sizeof *surface);
    if (!surface)
      return pla_fail_memory(err, "the selection");
    for (size_t i = 0; i < 3 * (size_t)mesh->n_tris; i++)
      surface[mesh->tri[i]] = true;
    for (size_t v = 0; v < n; v++)
      marked[v] = marked[v] && surface[v];
  }
  if (st == PLA_OK && place.kind != ANYWHERE) {
    g_autofree double *centre = centres(mesh, of_cells);
    st = centre ? keep_in_place(&place, centre, n, marked, err)
                : pla_fail_memory(err, "the selection");
  }
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    *count += marked[i];
  if (st == PLA_OK && *count == 0)
    st = pla_json_fail(where, err, "selects no %s of the mesh; check its numbers and units",
                       of_cells ? "element" : "vertex");
  return st;
}

/* ---- surfaces ---- */

/* Adds the area of triangle @t inside the place, m2, to its vertices; false: there is none. */
static bool
add_area(const PlaMesh *mesh, int t, const Place *place, double *area)
{
  enum { PARTS = 8 }; /* of an edge */
  const int *tri = mesh->tri + 3 * (size_t)t;
  const double *x[3];
  double a[3], b[3], normal[3], middle[3], radius = 0.0, most = -INFINITY, share[3] = { 0 };
  for (int k = 0; k < 3; k++) {
    x[k] = mesh->pos + 3 * (size_t)tri[k];
    most = fmax(most, outside_place(place, x[k]));
  }
  pla_vec3_sub(x[1], x[0], a);
  pla_vec3_sub(x[2], x[0], b);
  pla_vec3_cross(a, b, normal);
  const double whole = 0.5 * pla_vec3_norm(normal);
  for (int d = 0; d < 3; d++)
    middle[d] = (x[0][d] + x[1][d] + x[2][d]) / 3.0;
  for (int k = 0; k < 3; k++) {
    pla_vec3_sub(x[k], middle, a);
    radius = fmax(radius, 1000.0 * pla_vec3_norm(a));
  }
  if (most <= 0.0) {
    for (int k = 0; k < 3; k++)
      area[tri[k]] += whole / 3.0;
    return true;
  }
  if (outside_place(place, middle) > radius)
    return false;
  /* middles of equal parts, upright and hanging ones */
  for (int i = 0; i < PARTS; i++)
    for (int j = 0; i + j < PARTS; j++)
      for (int hangs = 0; hangs < 2 && i + j + hangs < PARTS; hangs++) {
        const double at = (1.0 + hangs) / 3.0, u = (i + at) / PARTS, v = (j + at) / PARTS;
        const double w[3] = { 1.0 - u - v, u, v };
        double p[3];
        for (int d = 0; d < 3; d++)
          p[d] = w[0] * x[0][d] + w[1] * x[1][d] + w[2] * x[2][d];
        for (int k = 0; k < 3 && outside_place(place, p) <= 0.0; k++)
          share[k] += w[k] * whole / (PARTS * PARTS);
      }
  for (int k = 0; k < 3; k++)
    area[tri[k]] += share[k];
  return share[0] + share[1] + share[2] > 0.0;
}

PlaStatus
pla_scene_select_surface(const PlaSceneSelection *self, PlaJson where, double *area, int *n_tris,
                         PlaError *err)
{
  const PlaMesh *mesh = self->mesh;
  g_autofree bool *marked = pla_array_new0((size_t)mesh->n_verts, sizeof *marked);
  PlaJson value;
  Place place;
  int border = -1;
  *n_tris = 0;
  memset(area, 0, (size_t)mesh->n_verts * sizeof *area);
  PlaStatus st = marked ? mark_anywhere(self, where, false, marked, &place, err)
                        : pla_fail_memory(err, "the selection");
  if (st == PLA_OK && pla_json_get(where, "border", &value))
    st = read_border(mesh, value, &border, err);
  for (int t = 0; st == PLA_OK && t < mesh->n_tris; t++) {
    const int *tri = mesh->tri + 3 * (size_t)t;
    if (marked[tri[0]] && marked[tri[1]] && marked[tri[2]] &&
        (border < 0 || has_border(mesh, t, border)))
      *n_tris += add_area(mesh, t, &place, area);
  }
  return st;
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
