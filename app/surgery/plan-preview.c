/* Draws each tool of a plan on the stored surface: curves (centripetal Catmull-Rom), blades,
 * undermining sheets, planes, balls and tension lines. No tet mesh is needed. */
#include "app/surgery/plan-preview.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "app/surgery/plan.h"
#include "app/surgery/surgery-body.h"
#include "sim/surgery/skin.h"
#include "sim/surgery/template.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a blade is shown as far above the skin as it stands out of it */
#define LIFT 1e-3
#define SPLINE_STEP 2.5 /* between points of a smooth line, mm */

#define DASH_APART 0.012 /* between the marks of a field of lines, m */
#define DASH 0.007       /* and their length, m */

struct PlaPlanPreview {
  PlaSkin skin;
  PlaTriMesh walls; /* of wounds, m; owned */
  double step;      /* between points of a path, m */
  double size;      /* of the body, m */
  int n_edge;
  double *edge; /* m (n_edge x 3) */
  int *edge_wound;
  GPtrArray *wounds; /* names */
};

void
pla_plan_preview_free(PlaPlanPreview *self)
{
  if (!self)
    return;
  pla_skin_clear(&self->skin);
  g_free((double *)self->walls.pos);
  g_free((int *)self->walls.tri);
  g_ptr_array_unref(self->wounds);
  g_free(self->edge);
  g_free(self->edge_wound);
  g_free(self);
}

static PlaStatus
read_wounds(PlaPlanPreview *self, const PlaContent *body, PlaError *err)
{
  JsonObject *surgery = pla_body_get_surgery(body);
  JsonNode *node = surgery ? json_object_get_member(surgery, "wounds") : NULL;
  JsonArray *list = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
  for (guint i = 0; list && i < json_array_get_length(list); i++) {
    JsonNode *wound = json_array_get_element(list, i);
    const char *name =
        JSON_NODE_HOLDS_OBJECT(wound)
            ? json_object_get_string_member_with_default(json_node_get_object(wound), "name", "")
            : "";
    g_ptr_array_add(self->wounds, g_strdup(name));
  }
  const PlaStoreArray *lips = pla_content_find_array(body, PLA_BODY_LIPS);
  if (!lips || lips->dtype != PLA_F64 || lips->n_dims != 2 || lips->shape[0] != 4)
    return PLA_OK;
  self->edge = pla_array_new((size_t)lips->shape[1], 3 * sizeof *self->edge);
  self->edge_wound = pla_array_new((size_t)lips->shape[1], sizeof *self->edge_wound);
  if (!self->edge || !self->edge_wound)
    return pla_fail_memory(err, "the edges of wounds");
  self->n_edge = (int)lips->shape[1];
  for (int i = 0; i < self->n_edge; i++) {
    const double *row = (const double *)lips->data + 4 * i;
    memcpy(&self->edge[3 * i], row, 3 * sizeof *row);
    self->edge_wound[i] = (int)row[3];
  }
  return PLA_OK;
}

/* where blades have been */
static PlaStatus
read_walls(PlaPlanPreview *self, const PlaMesh *mesh, const int8_t *wound, PlaError *err)
{
  int n = 0;
  int *tri = pla_array_new((size_t)mesh->n_tris, 3 * sizeof *tri);
  double *pos = pla_array_dup(mesh->pos, (size_t)mesh->n_verts, 3 * sizeof *pos);
  if (!tri || !pos) {
    free(tri);
    free(pos);
    return pla_fail_memory(err, "the walls of wounds");
  }
  for (int t = 0; t < mesh->n_tris; t++)
    if (wound[t])
      memcpy(&tri[3 * n++], &mesh->tri[3 * t], 3 * sizeof *tri);
  self->walls = (PlaTriMesh){ mesh->n_verts, n, pos, tri };
  return PLA_OK;
}

PlaStatus
pla_plan_preview_new(const PlaContent *body, PlaPlanPreview **out, PlaError *err)
{
  const PlaMesh *mesh = body->mesh;
  const PlaField *wound = mesh ? pla_mesh_find_field(mesh, "wound", PLA_ON_CELLS) : NULL;
  *out = NULL;
  if (!wound || wound->dtype != PLA_I8 || mesh->n_tris == 0)
    return pla_fail(err, PLA_ERR_USAGE, "this item is no body that can be drawn on");
  g_autofree int *cut = pla_array_new((size_t)mesh->n_tris, sizeof *cut);
  if (!cut)
    return pla_fail_memory(err, "the skin");
  PlaPlanPreview *self = g_new0(PlaPlanPreview, 1);
  self->wounds = g_ptr_array_new_with_free_func(g_free);
  for (int t = 0; t < mesh->n_tris; t++)
    cut[t] = ((const int8_t *)wound->data)[t] ? 0 : -1;
  const PlaCutSurface surface = {
    .n_verts = mesh->n_verts, .n_tris = mesh->n_tris, .tri = mesh->tri, .cut = cut
  };
  PlaStatus st = pla_skin_init(&self->skin, &surface, mesh->pos, err);
  if (st != PLA_OK) {
    pla_plan_preview_free(self);
    return st;
  }
  JsonObject *surgery = pla_body_get_surgery(body);
  const double cell =
      surgery ? json_object_get_double_member_with_default(surgery, "lattice_mm", 3.0) : 3.0;
  self->step = 0.5e-3 * CLAMP(cell, 0.2, 100.0);
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  for (int i = 0; i < 3 * mesh->n_verts; i++) {
    lo[i % 3] = fmin(lo[i % 3], mesh->pos[i]);
    hi[i % 3] = fmax(hi[i % 3], mesh->pos[i]);
  }
  self->size = hypot(hypot(hi[0] - lo[0], hi[1] - lo[1]), hi[2] - lo[2]);
  st = read_wounds(self, body, err);
  if (st == PLA_OK)
    st = read_walls(self, mesh, wound->data, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_plan_preview_free(self);
  return st;
}

/* ---- smooth lines ---- */

/* a centripetal Catmull-Rom curve between p[1] and p[2] */
static void
curve(const double *const p[4], double at, double out[3])
{
  double t[4] = { 0.0 };
  for (int i = 1; i < 4; i++) {
    double e[3];
    pla_vec3_sub(p[i], p[i - 1], e);
    t[i] = t[i - 1] + fmax(sqrt(pla_vec3_norm(e)), 1e-6);
  }
  const double s = t[1] + at * (t[2] - t[1]);
  for (int d = 0; d < 3; d++) {
    double a[3], b[2];
    for (int k = 0; k < 3; k++)
      a[k] = ((t[k + 1] - s) * p[k][d] + (s - t[k]) * p[k + 1][d]) / (t[k + 1] - t[k]);
    for (int k = 0; k < 2; k++)
      b[k] = ((t[k + 2] - s) * a[k] + (s - t[k]) * a[k + 1]) / (t[k + 2] - t[k]);
    out[d] = ((t[2] - s) * b[0] + (s - t[1]) * b[1]) / (t[2] - t[1]);
  }
}

static void
add_point(const PlaPlanPreview *self, const double mm[3], double snap_mm, GArray *out)
{
  double at[3], on[3];
  int tri;
  for (int d = 0; d < 3; d++)
    at[d] = 1e-3 * mm[d];
  const bool near =
      pla_tri_tree_nearest(self->skin.tree, at, 1e-3 * snap_mm, &tri, on) <= 1e-3 * snap_mm;
  for (int d = 0; d < 3; d++) {
    /* hundredths of a millimetre: what a plan can be read with */
    double value = round((near ? 1e3 * on[d] : mm[d]) * 100.0) / 100.0 + 0.0;
    g_array_append_val(out, value);
  }
}

GArray *
pla_plan_preview_smooth(const PlaPlanPreview *self, const double *points_mm, int n, bool closed)
{
  GArray *out = g_array_new(FALSE, FALSE, sizeof(double));
  const int n_parts = n < 2 ? 0 : closed && n > 2 ? n : n - 1;
  for (int i = 0; i < n_parts; i++) {
    const double *p[4];
    double ghost[2][3];
    for (int k = 0; k < 4; k++) {
      int at = i + k - 1;
      p[k] = &points_mm[3 * (closed ? (at + n) % n : CLAMP(at, 0, n - 1))];
    }
    /* beyond the ends the line goes straight on */
    for (int d = 0; d < 3; d++) {
      ghost[0][d] = 2.0 * p[1][d] - p[2][d];
      ghost[1][d] = 2.0 * p[2][d] - p[1][d];
    }
    if (!closed && i == 0)
      p[0] = ghost[0];
    if (!closed && i == n_parts - 1)
      p[3] = ghost[1];
    double e[3];
    pla_vec3_sub(p[2], p[1], e);
    const double length = pla_vec3_norm(e);
    const int steps = (int)fmax(1.0, ceil(length / SPLINE_STEP));
    add_point(self, p[1], 1.0, out);
    for (int k = 1; k < steps; k++) {
      double at[3];
      curve(p, (double)k / steps, at);
      /* a chord over a curved face lies off it by less than its length */
      add_point(self, at, fmax(5.0, length), out);
    }
  }
  if (n > 0 && !(closed && n > 2))
    add_point(self, &points_mm[3 * (n - 1)], 1.0, out);
  return out;
}

/* ---- blades ---- */

void
pla_sketch_clear(PlaSketch *self)
{
  g_free(self->path);
  g_free(self->start);
  g_free(self->blade);
  g_free(self->tri);
  *self = (PlaSketch){ 0 };
}

static PlaStatus
add_blade(const PlaBlade *blade, PlaSketch *out, PlaError *err)
{
  const int first = out->n_verts;
  if (!pla_array_resize((void **)&out->blade, (size_t)first + (size_t)blade->n_verts,
                        3 * sizeof *out->blade) ||
      !pla_array_resize((void **)&out->tri, (size_t)out->n_tris + (size_t)blade->n_tris,
                        3 * sizeof *out->tri))
    return pla_fail_memory(err, "the blade");
  for (int i = 0; i < 3 * blade->n_verts; i++)
    out->blade[3 * first + i] = 1e3 * blade->pos[i];
  for (int i = 0; i < 3 * blade->n_tris; i++)
    out->tri[3 * out->n_tris + i] = first + blade->tri[i];
  out->n_verts += blade->n_verts;
  out->n_tris += blade->n_tris;
  return PLA_OK;
}

/* a line a little above the skin, to be seen */
static PlaStatus
add_line(const PlaSkinPoint *points, int n, bool closed, PlaSketch *out, PlaError *err)
{
  const int total = n + closed;
  if (!pla_array_resize((void **)&out->path, (size_t)out->n_path + (size_t)total,
                        3 * sizeof *out->path) ||
      !pla_array_resize((void **)&out->start, (size_t)out->n_lines + 2, sizeof *out->start))
    return pla_fail_memory(err, "the drawing");
  for (int i = 0; i < total; i++)
    for (int d = 0; d < 3; d++)
      out->path[3 * (out->n_path + i) + d] =
          1e3 * points[i % n].pos[d] + 0.3 * points[i % n].normal[d];
  out->start[0] = 0;
  out->n_path += total;
  out->start[++out->n_lines] = out->n_path;
  out->length += 1e3 * points[n - 1].along;
  return PLA_OK;
}

/* the curtain under a path of @n points, m */
static PlaStatus
draw_curtain(const PlaPlanPreview *self, const double *path, int n, bool closed, double depth,
             double bevel, PlaSketch *out, PlaError *err)
{
  PlaSkinPoint *points = NULL;
  PlaBlade blade = { 0 };
  int n_points = 0;
  PlaStatus st =
      pla_skin_path(&self->skin, path, n, closed, self->step, 5e-3, &points, &n_points, err);
  if (st == PLA_OK && !pla_blade_add_curtain(&blade, points, n_points, closed, LIFT, depth, bevel,
                                             fmax(2.0 * self->step, depth / 20.0)))
    st = pla_fail_memory(err, "the blade");
  if (st == PLA_OK)
    st = add_line(points, n_points, closed, out, err);
  if (st == PLA_OK)
    st = add_blade(&blade, out, err);
  pla_blade_clear(&blade);
  free(points);
  return st;
}

/* an incision or excision */
static PlaStatus
draw_path(const PlaPlanPreview *self, JsonObject *what, bool closed, PlaSketch *out, PlaError *err)
{
  JsonNode *node = json_object_get_member(what, "path_mm");
  JsonArray *list = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
  const int n = list ? (int)json_array_get_length(list) : 0;
  const double depth_mm = json_object_get_double_member_with_default(what, "depth_mm", 0.0);
  const double bevel_deg = json_object_get_double_member_with_default(what, "bevel_deg", 0.0);
  g_autofree double *path = pla_array_new0((size_t)n, 3 * sizeof *path);
  if (!path)
    return pla_fail_memory(err, "the path");
  for (int i = 0; i < n; i++) {
    JsonArray *point = json_array_get_array_element(list, (guint)i);
    for (guint d = 0; point && d < 3 && d < json_array_get_length(point); d++)
      path[3 * i + (int)d] = 1e-3 * json_array_get_double_element(point, d);
  }
  return draw_curtain(self, path, n, closed, depth_mm > 0.0 ? 1e-3 * depth_mm : self->size,
                      bevel_deg * G_PI / 180.0, out, err);
}

static void
read_vector(JsonObject *what, const char *key, double factor, double out[3])
{
  JsonNode *node = json_object_get_member(what, key);
  JsonArray *list = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
  for (guint d = 0; d < 3; d++)
    out[d] = list && d < json_array_get_length(list)
                 ? factor * json_array_get_double_element(list, d)
                 : 0.0;
}

/* the cuts of a template */
static PlaStatus
draw_template(const PlaPlanPreview *self, JsonObject *what, PlaSketch *out, PlaError *err)
{
  const char *id = json_object_get_string_member_with_default(what, "kind", "");
  const PlaTemplate *kind = pla_template_find(id);
  if (!kind)
    return pla_fail(err, PLA_ERR_USAGE, "there is no template '%s'", id);
  const PlaTemplateParams params = {
    .size = 1e-3 * json_object_get_double_member_with_default(what, "size_mm", 20.0),
    .angle = json_object_get_double_member_with_default(what, "angle_deg", 0.0) * G_PI / 180.0,
    .length = 1e-3 * json_object_get_double_member_with_default(what, "length_mm", 0.0),
    .mirror = json_object_get_boolean_member_with_default(what, "mirror", FALSE),
  };
  const double depth = 1e-3 * json_object_get_double_member_with_default(what, "depth_mm", 5.0);
  double at[3], direction[3];
  PlaTemplateDrawing drawing = { 0 };
  read_vector(what, "at_mm", 1e-3, at);
  read_vector(what, "direction", 1.0, direction);
  PlaStatus st = pla_template_draw(kind, &params, &drawing, err);
  for (int s = 0; st == PLA_OK && s < drawing.n_steps; s++) {
    const PlaTemplateStep *step = &drawing.step[s];
    if (step->tool != PLA_TEMPLATE_INCISE && step->tool != PLA_TEMPLATE_EXCISE)
      continue;
    g_autofree double *path = g_new(double, 3 * (gsize)step->n_points + 1);
    st = pla_skin_draw(&self->skin, at, direction, step->point, step->n_points, 5e-3, path, err);
    if (st == PLA_OK)
      st = draw_curtain(self, path, step->n_points, step->tool == PLA_TEMPLATE_EXCISE, depth, 0.0,
                        out, err);
  }
  pla_template_drawing_clear(&drawing);
  return st;
}

typedef struct {
  const PlaPlanPreview *preview;
  int wound;
  double radius;
} Near;

static bool
is_near(const double pos[3], const double normal[3], const void *data)
{
  const Near *near = data;
  const PlaPlanPreview *s = near->preview;
  for (int i = 0; i < s->n_edge; i++) {
    double e[3];
    if (s->edge_wound[i] != near->wound)
      continue;
    pla_vec3_sub(pos, &s->edge[3 * i], e);
    if (pla_vec3_dot(e, e) <= near->radius * near->radius)
      return true;
  }
  return false;
}

/* the sheet of an undermining */
static PlaStatus
draw_undermine(const PlaPlanPreview *self, JsonObject *what, PlaSketch *out, PlaError *err)
{
  const char *from = json_object_get_string_member_with_default(what, "from", "");
  Near near = { self, -1,
                1e-3 * json_object_get_double_member_with_default(what, "radius_mm", 10.0) };
  int first = -1, n_tris = 0;
  PlaBlade blade = { 0 };
  for (guint w = 0; w < self->wounds->len; w++)
    if (strcmp(self->wounds->pdata[w], from) == 0)
      near.wound = (int)w;
  for (int i = 0; i < self->n_edge && first < 0; i++)
    first = self->edge_wound[i] == near.wound ? i : -1;
  if (near.wound < 0)
    return pla_fail(err, PLA_ERR_USAGE, "there is no wound called '%s'", from);
  if (first < 0)
    return PLA_OK;
  /* at a level the sheet is known when it is cut: the area is shown on the skin */
  const double depth =
      json_object_has_member(what, "level")
          ? 0.0
          : 1e-3 * json_object_get_double_member_with_default(what, "depth_mm", 5.0);
  if (!pla_blade_add_sheet(&blade, &self->skin, &self->edge[3 * first], 1, is_near, &near, depth,
                           &n_tris))
    return pla_fail_memory(err, "the blade");
  PlaStatus st = add_blade(&blade, out, err);
  pla_blade_clear(&blade);
  return st;
}

/* ---- through the body, and in it ---- */

static void
add_triangles(const double *pos_mm, int n_verts, const int *tri, int n_tris, PlaSketch *out)
{
  out->blade = g_memdup2(pos_mm, 3 * (gsize)n_verts * sizeof *pos_mm);
  out->tri = g_memdup2(tri, 3 * (gsize)n_tris * sizeof *tri);
  out->n_verts = n_verts;
  out->n_tris = n_tris;
}

/* a surface of its own: as a plan has it */
static PlaStatus
draw_surface(JsonObject *what, PlaSketch *out, PlaError *err)
{
  JsonArray *points = json_object_get_array_member(what, "points_mm");
  JsonArray *triangles = json_object_get_array_member(what, "triangles");
  const guint n_verts = points ? json_array_get_length(points) : 0;
  const guint n_tris = triangles ? json_array_get_length(triangles) : 0;
  g_autofree double *pos = pla_array_new0(n_verts, 3 * sizeof *pos);
  g_autofree int *tri = pla_array_new0(n_tris, 3 * sizeof *tri);
  if (!pos || !tri)
    return pla_fail_memory(err, "the blade");
  for (guint i = 0; i < n_verts; i++)
    for (guint d = 0; d < 3; d++)
      pos[3 * i + d] = json_array_get_double_element(json_array_get_array_element(points, i), d);
  for (guint t = 0; t < n_tris; t++)
    for (guint k = 0; k < 3; k++) {
      tri[3 * t + k] =
          (int)json_array_get_int_element(json_array_get_array_element(triangles, t), k);
      if (tri[3 * t + k] < 0 || (guint)tri[3 * t + k] >= n_verts)
        return pla_fail(err, PLA_ERR_USAGE,
                        "triangle %u of the blade names a point that does not exist", t);
    }
  add_triangles(pos, (int)n_verts, tri, (int)n_tris, out);
  return PLA_OK;
}

static PlaStatus
add_segment(const double from[3], const double to[3], PlaSketch *out, PlaError *err)
{
  PlaSkinPoint ends[2] = { 0 };
  memcpy(ends[0].pos, from, sizeof ends[0].pos);
  memcpy(ends[1].pos, to, sizeof ends[1].pos);
  double e[3];
  pla_vec3_sub(to, from, e);
  ends[1].along = pla_vec3_norm(e);
  return add_line(ends, 2, false, out, err);
}

/* where a plane of half width @reach comes through the skin */
static PlaStatus
add_trace(const PlaPlanPreview *self, const double at[3], const double normal[3],
          const double corner[12], double reach, PlaSketch *out, PlaError *err)
{
  const double length = pla_vec3_norm(normal);
  PlaStatus st = PLA_OK;
  for (int t = 0; st == PLA_OK && t < self->skin.n_tris; t++) {
    double end[2][3], height[3];
    int n = 0;
    for (int k = 0; k < 3; k++) {
      double e[3];
      pla_vec3_sub(&self->skin.pos[3 * self->skin.tri[3 * t + k]], at, e);
      height[k] = pla_vec3_dot(e, normal) / length;
    }
    for (int k = 0; k < 3 && n < 2; k++) {
      const int a = self->skin.tri[3 * t + k], b = self->skin.tri[3 * t + (k + 1) % 3];
      const double part = height[k] / (height[k] - height[(k + 1) % 3]);
      if ((height[k] < 0.0) == (height[(k + 1) % 3] < 0.0))
        continue;
      for (int d = 0; d < 3; d++)
        end[n][d] = self->skin.pos[3 * a + d] +
                    part * (self->skin.pos[3 * b + d] - self->skin.pos[3 * a + d]) +
                    3e-4 * self->skin.normal[3 * a + d];
      n++;
    }
    bool inside = n == 2;
    for (int side = 0; inside && side < 2; side++) {
      /* along two sides of the square */
      double u[3], e[3];
      pla_vec3_sub(&corner[side ? 9 : 3], &corner[0], u);
      pla_vec3_sub(end[0], at, e);
      inside = fabs(pla_vec3_dot(e, u)) <= 2.0 * reach * reach;
    }
    if (inside)
      st = add_segment(end[0], end[1], out, err);
  }
  return st;
}

/* a cut through everything, or one tissue: the plane as far as the body goes */
static PlaStatus
draw_cut(const PlaPlanPreview *self, JsonObject *what, PlaSketch *out, PlaError *err)
{
  static const int tri[6] = { 0, 1, 2, 0, 2, 3 };
  double at[3], normal[3], corner[12];
  out->through = true;
  if (json_object_has_member(what, "triangles"))
    return draw_surface(what, out, err);
  read_vector(what, "through_mm", 1e-3, at);
  read_vector(what, "normal", 1.0, normal);
  if (!(pla_vec3_norm(normal) > 0.0))
    return pla_fail(err, PLA_ERR_USAGE,
                    "the three points lie on a line and define no plane; move one");
  const double wide =
      fmin(1e-3 * json_object_get_double_member_with_default(what, "radius_mm", 1e3), self->size);
  pla_plan_plane(at, normal, wide, corner);
  PlaStatus st = add_trace(self, at, normal, corner, wide, out, err);
  for (int i = 0; i < 12; i++)
    corner[i] *= 1e3;
  if (st == PLA_OK)
    add_triangles(corner, 4, tri, 2, out);
  return st;
}

/* An octahedron whose faces are split in four LEVELS times, on a ball. */
void
pla_sketch_add_ball(PlaSketch *self, const double at_mm[3], double radius_mm)
{
  enum { LEVELS = 3, N_TRIS = 8 << (2 * LEVELS) };
  const int first = self->n_verts, first_tri = self->n_tris;
  self->blade = g_renew(double, self->blade, 3 * (gsize)first + 9 * (gsize)N_TRIS);
  self->tri = g_renew(int, self->tri, 3 * ((gsize)first_tri + N_TRIS));
  double *corner = self->blade + 3 * first;
  int n = 8;
  for (int f = 0; f < n; f++)
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++) {
        /* an odd number of mirrorings turns a face round */
        const bool odd = ((f & 1) + (f >> 1 & 1) + (f >> 2 & 1)) % 2 == 1;
        const int axis = odd && k ? 3 - k : k;
        corner[9 * f + 3 * k + d] = d == axis ? (f >> d & 1 ? -1.0 : 1.0) : 0.0;
      }
  for (int level = 0; level < LEVELS; level++) {
    const int before = n;
    for (int f = 0; f < before; f++) {
      static const int part[4][3] = { { 3, 4, 5 }, { 0, 3, 5 }, { 3, 1, 4 }, { 5, 4, 2 } };
      double p[6][3];
      memcpy(p, &corner[9 * f], 9 * sizeof *corner);
      for (int k = 0; k < 3; k++) {
        for (int d = 0; d < 3; d++)
          p[3 + k][d] = p[k][d] + p[(k + 1) % 3][d];
        const double length = pla_vec3_norm(p[3 + k]);
        for (int d = 0; d < 3; d++)
          p[3 + k][d] /= length;
      }
      for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
          memcpy(&corner[9 * (i ? n + i - 1 : f) + 3 * k], p[part[i][k]], sizeof p[0]);
      n += 3;
    }
  }
  for (int i = 0; i < 3 * n; i++) {
    self->tri[3 * first_tri + i] = first + i;
    for (int d = 0; d < 3; d++)
      corner[3 * i + d] = at_mm[d] + radius_mm * corner[3 * i + d];
  }
  self->n_verts += 3 * n;
  self->n_tris += n;
}

double
pla_plan_preview_wall(const PlaPlanPreview *self, const double at_mm[3])
{
  double least = INFINITY;
  for (int i = 0; i < 3 * self->walls.n_tris; i++) {
    double e[3];
    for (int d = 0; d < 3; d++)
      e[d] = 1e3 * self->walls.pos[3 * self->walls.tri[i] + d] - at_mm[d];
    least = fmin(least, pla_vec3_norm(e));
  }
  return least;
}

/* an implant or expander: needs the wall of a pocket within its radius */
static PlaStatus
draw_filling(const PlaPlanPreview *self, JsonObject *what, PlaSketch *out, PlaError *err)
{
  double at[3];
  const double radius_mm = json_object_get_double_member_with_default(what, "radius_mm", 10.0);
  if (!json_object_has_member(what, "at_mm"))
    return PLA_OK; /* one that lies there already */
  read_vector(what, "at_mm", 1.0, at);
  pla_sketch_add_ball(out, at, radius_mm);
  if (!(pla_plan_preview_wall(self, at) <= radius_mm))
    return pla_fail(err, PLA_ERR_EMPTY,
                    "no pocket lies within %.1f mm of this place; undermine one first", radius_mm);
  return PLA_OK;
}

/* ---- tension ---- */

/* The direction that the skin at @on follows: that of the nearest line, laid into the skin. */
static bool
tension_at(const PlaSkinPoint *on, const PlaSurgeryLine *line, int n, double out[3])
{
  double least = INFINITY;
  int best = 0;
  for (int i = 0; i < n; i++) {
    double e[3];
    pla_vec3_sub(line[i].pos, on->pos, e);
    if (pla_vec3_norm(e) < least) {
      least = pla_vec3_norm(e);
      best = i;
    }
  }
  const double *way = line[best].direction, up = pla_vec3_dot(way, on->normal);
  for (int d = 0; d < 3; d++)
    out[d] = way[d] - up * on->normal[d];
  const double length = pla_vec3_norm(out);
  for (int d = 0; d < 3 && length > 0.0; d++)
    out[d] /= length;
  return length > 0.05 * pla_vec3_norm(way);
}

/* all over the skin, how it is pulled: a dash every centimetre */
static PlaStatus
draw_tension(const PlaPlanPreview *self, JsonObject *what, PlaSketch *out, PlaError *err)
{
  JsonArray *list = json_object_get_array_member(what, "lines");
  const int n = list ? (int)json_array_get_length(list) : 0;
  g_autofree PlaSurgeryLine *line = pla_array_new0((size_t)n, sizeof *line);
  if (!line)
    return pla_fail_memory(err, "the lines of tension");
  g_autoptr(GHashTable) taken = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  for (int i = 0; i < n; i++) {
    JsonObject *one = json_array_get_object_element(list, (guint)i);
    PlaSkinPoint on;
    read_vector(one, "at_mm", 1e-3, line[i].pos);
    read_vector(one, "direction", 1.0, line[i].direction);
    if (!pla_skin_snap(&self->skin, line[i].pos, 2.0 * PLA_SURGERY_SNAP, &on))
      return pla_fail(err, PLA_ERR_EMPTY, "line %d does not lie on the skin", i + 1);
  }
  PlaStatus st = PLA_OK;
  for (int t = 0; st == PLA_OK && t < self->skin.n_tris; t++) {
    PlaSkinPoint on = { 0 };
    double way[3], from[3], to[3];
    gint64 cell = 0;
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++) {
        on.pos[d] += self->skin.pos[3 * self->skin.tri[3 * t + k] + d] / 3.0;
        on.normal[d] += self->skin.normal[3 * self->skin.tri[3 * t + k] + d] / 3.0;
      }
    for (int d = 0; d < 3; d++)
      cell = cell * 4096 + 2048 + (gint64)floor(on.pos[d] / DASH_APART);
    if (g_hash_table_contains(taken, &cell) || !tension_at(&on, line, n, way))
      continue;
    g_hash_table_add(taken, g_memdup2(&cell, sizeof cell));
    for (int d = 0; d < 3; d++) {
      from[d] = on.pos[d] - 0.5 * DASH * way[d] + 3e-4 * on.normal[d];
      to[d] = on.pos[d] + 0.5 * DASH * way[d] + 3e-4 * on.normal[d];
    }
    st = add_segment(from, to, out, err);
  }
  return st;
}

bool
pla_plan_preview_snap(const PlaPlanPreview *self, const double at_mm[3], double on_mm[3],
                      double normal[3])
{
  const double at[3] = { at_mm[0] / 1e3, at_mm[1] / 1e3, at_mm[2] / 1e3 };
  PlaSkinPoint on;
  if (!pla_skin_snap(&self->skin, at, PLA_SURGERY_SNAP, &on))
    return false;
  for (int d = 0; d < 3; d++)
    on_mm[d] = 1e3 * on.pos[d];
  memcpy(normal, on.normal, sizeof on.normal);
  return true;
}

bool
pla_plan_preview_wounds(const PlaPlanPreview *self, double middle_mm[3], double normal[3],
                        double *radius_mm)
{
  const int n = self->n_edge;
  double mean[3] = { 0 }, out[3] = { 0 }, far = 0.0;
  for (int i = 0; i < n; i++) {
    PlaSkinPoint on;
    for (int d = 0; d < 3; d++)
      mean[d] += self->edge[3 * i + d] / n;
    if (pla_skin_snap(&self->skin, &self->edge[3 * i], PLA_SURGERY_SNAP, &on))
      for (int d = 0; d < 3; d++)
        out[d] += on.normal[d];
  }
  for (int i = 0; i < n; i++) {
    double e[3];
    pla_vec3_sub(&self->edge[3 * i], mean, e);
    far = fmax(far, pla_vec3_norm(e));
  }
  const double length = pla_vec3_norm(out);
  if (!(length > 0.1 * n))
    return false; /* there is none, or all around */
  for (int d = 0; d < 3; d++) {
    middle_mm[d] = 1e3 * mean[d];
    normal[d] = out[d] / length;
  }
  *radius_mm = 1e3 * far;
  return true;
}

PlaStatus
pla_plan_preview_draw(const PlaPlanPreview *self, JsonObject *step, PlaSketch *out, PlaError *err)
{
  *out = (PlaSketch){ 0 };
  JsonObjectIter iter;
  const char *tool;
  JsonNode *node;
  json_object_iter_init(&iter, step);
  if (!json_object_iter_next(&iter, &tool, &node) || !JSON_NODE_HOLDS_OBJECT(node))
    return pla_fail(err, PLA_ERR_USAGE, "this is no step of a plan");
  JsonObject *what = json_node_get_object(node);
  if (strcmp(tool, "incise") == 0 || strcmp(tool, "excise") == 0)
    return draw_path(self, what, tool[0] == 'e', out, err);
  if (strcmp(tool, "undermine") == 0)
    return draw_undermine(self, what, out, err);
  if (strcmp(tool, "template") == 0)
    return draw_template(self, what, out, err);
  if (strcmp(tool, "cut") == 0)
    return draw_cut(self, what, out, err);
  if (strcmp(tool, "implant") == 0 || strcmp(tool, "expand") == 0)
    return draw_filling(self, what, out, err);
  if (strcmp(tool, "tension") == 0)
    return draw_tension(self, what, out, err);
  return PLA_OK;
}
