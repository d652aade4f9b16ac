/* What the panel says as steps of a plan: the same words that a file has, so that what is done by
 * hand can be replayed. */
#include "ui/surgery/theatre.h"

#include "anatomy/base/mat3.h"
#include "app/base/json.h"
#include "app/surgery/surgery-body.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* a blade becomes part of the plan, which is to be read by people too */
enum { MAX_BLADE_TRIS = 20000 };

gboolean
pla_theatre_is_mine(PlaSurgeryPanel *self)
{
  return pla_tools_get_owner(pla_document_get_tools(self->document)) == self;
}

gboolean
pla_theatre_draws(const PlaSurgeryPanel *self)
{
  return self->instrument == PLA_INCISE || self->instrument == PLA_EXCISE;
}

gboolean
pla_theatre_places(const PlaSurgeryPanel *self)
{
  return self->instrument != PLA_LOOK && self->instrument != PLA_UNDERMINE &&
         self->instrument != PLA_HOOK && self->instrument != PLA_SUTURE;
}

PlaBladeKind
pla_theatre_chosen_blade(PlaSurgeryPanel *self)
{
  const guint i = adw_combo_row_get_selected(self->blade);
  return i < PLA_BLADE_SURFACES ? (PlaBladeKind)i : PLA_BLADE_SURFACES;
}

int
pla_theatre_max_points(PlaSurgeryPanel *self)
{
  const PlaBladeKind blade = pla_theatre_chosen_blade(self);
  switch (self->instrument) {
  case PLA_TEMPLATE:
  case PLA_IMPLANT:
  case PLA_EXPAND:
    return 1;
  case PLA_CUT:
    return blade == PLA_BLADE_LINE ? 0 : blade == PLA_BLADE_POINTS ? 3 : 1;
  default:
    return 0;
  }
}

/* hundredths of a millimetre: what a plan can be read with */
static double
hundredths(double mm)
{
  return round(100.0 * mm) / 100.0 + 0.0;
}

/* the line through the points, as a plan has it */
static JsonArray *
path_of(PlaSurgeryPanel *self)
{
  JsonArray *path = json_array_new();
  const int n = (int)self->points->len / 3;
  const double *points = (const double *)(gpointer)self->points->data;
  g_autoptr(GArray) line = NULL;
  if (self->sketcher && gtk_switch_get_active(self->smooth) && n > 2)
    line = pla_sketcher_smooth(self->sketcher, points, n, self->instrument == PLA_EXCISE);
  const GArray *use = line ? line : self->points;
  for (guint i = 0; i + 2 < use->len; i += 3)
    json_array_add_array_element(path, pla_json_array_of(&g_array_index(use, double, i), 3));
  return path;
}

static const char *
chosen_wound(PlaSurgeryPanel *self, AdwComboRow *row)
{
  guint i = adw_combo_row_get_selected(row);
  return i < self->wounds->len ? self->wounds->pdata[i] : NULL;
}

PlaTemplateChoice
pla_theatre_chosen_template(PlaSurgeryPanel *self)
{
  const int chosen = (int)adw_combo_row_get_selected(self->kind); /* -1: none yet */
  return pla_plan_template_get(CLAMP(chosen, 0, pla_plan_templates_count() - 1));
}

/* along the skin: level, turned by what the panel says */
static void
template_direction(PlaSurgeryPanel *self, double out[3])
{
  const double *n = self->normal;
  const gboolean flat = fabs(n[2]) > 0.9;
  const double up[3] = { 0.0, flat ? 1.0 : 0.0, flat ? 0.0 : 1.0 };
  double level[3] = { up[1] * n[2] - up[2] * n[1], up[2] * n[0] - up[0] * n[2],
                      up[0] * n[1] - up[1] * n[0] };
  const double size = sqrt(level[0] * level[0] + level[1] * level[1] + level[2] * level[2]);
  const double turn = gtk_spin_button_get_value(self->turn) * G_PI / 180.0;
  for (int d = 0; d < 3; d++)
    level[d] /= size > 0.0 ? size : 1.0;
  const double across[3] = { n[1] * level[2] - n[2] * level[1], n[2] * level[0] - n[0] * level[2],
                             n[0] * level[1] - n[1] * level[0] };
  for (int d = 0; d < 3; d++)
    out[d] = round(1e4 * (cos(turn) * level[d] + sin(turn) * across[d])) / 1e4 + 0.0;
}

static void
add_template(PlaSurgeryPanel *self, JsonObject *what)
{
  const PlaTemplateChoice kind = pla_theatre_chosen_template(self);
  double at[3], direction[3];
  template_direction(self, direction);
  for (int d = 0; d < 3; d++)
    at[d] = hundredths(g_array_index(self->points, double, d));
  json_object_set_string_member(what, "kind", kind.id);
  json_object_set_string_member(what, "name", gtk_editable_get_text(GTK_EDITABLE(self->name)));
  json_object_set_array_member(what, "at_mm", pla_json_array_of(at, 3));
  json_object_set_array_member(what, "direction", pla_json_array_of(direction, 3));
  json_object_set_double_member(what, "size_mm", gtk_spin_button_get_value(self->size));
  if (kind.angle_deg > 0.0)
    json_object_set_double_member(what, "angle_deg", gtk_spin_button_get_value(self->angle));
  if (gtk_switch_get_active(self->mirror))
    json_object_set_boolean_member(what, "mirror", TRUE);
  json_object_set_double_member(what, "depth_mm",
                                fmax(0.5, gtk_spin_button_get_value(self->depth)));
  json_object_set_double_member(what, "spacing_mm", gtk_spin_button_get_value(self->spacing));
}

const char *
pla_theatre_chosen_level(PlaSurgeryPanel *self)
{
  const guint i = adw_combo_row_get_selected(self->level);
  GListModel *levels = adw_combo_row_get_model(self->level);
  if (!levels || i == 0 || i == GTK_INVALID_LIST_POSITION)
    return NULL;
  return i == 1 ? PLA_SURGERY_BONE : gtk_string_list_get_string(GTK_STRING_LIST(levels), i);
}

/* ---- through the body ---- */

/* @v turned about @axis of RAS by @angle, rad */
static void
turn_about(int axis, double angle, double v[3])
{
  const int a = (axis + 1) % 3, b = (axis + 2) % 3;
  const double x = v[a], y = v[b];
  v[a] = cos(angle) * x - sin(angle) * y;
  v[b] = sin(angle) * x + cos(angle) * y;
}

/* a plane of the body's axes, tilted and turned, or through three points; FALSE: too few points */
static gboolean
add_plane(PlaSurgeryPanel *self, PlaBladeKind kind, JsonObject *what)
{
  /* the axis that a plane stands on, and those that tilt and turn it */
  static const int axes[3][3] = { { 2, 0, 1 }, { 1, 0, 2 }, { 0, 1, 2 } };
  const double *p = (const double *)(gpointer)self->points->data;
  const guint n = self->points->len / 3;
  double at[3], normal[3] = { 0.0, 0.0, 0.0 };
  if (n < (kind == PLA_BLADE_POINTS ? 3 : 1))
    return FALSE;
  memcpy(at, p, sizeof at);
  if (kind == PLA_BLADE_POINTS) {
    double e[3], f[3];
    pla_vec3_sub(&p[3], &p[0], e);
    pla_vec3_sub(&p[6], &p[0], f);
    pla_vec3_cross(e, f, normal);
    /* within a degree of a line the hand decides, not the surgeon */
    const double size = pla_vec3_norm(normal);
    const gboolean clear = size > 0.0175 * pla_vec3_norm(e) * pla_vec3_norm(f);
    for (int d = 0; d < 3; d++) {
      at[d] = (p[d] + p[3 + d] + p[6 + d]) / 3.0;
      normal[d] = clear ? normal[d] / size : 0.0;
    }
  } else {
    normal[axes[kind][0]] = 1.0;
    turn_about(axes[kind][1], gtk_spin_button_get_value(self->tilt) * G_PI / 180.0, normal);
    turn_about(axes[kind][2], gtk_spin_button_get_value(self->turn) * G_PI / 180.0, normal);
  }
  for (int d = 0; d < 3; d++) {
    at[d] = hundredths(at[d]);
    normal[d] = round(1e6 * normal[d]) / 1e6 + 0.0;
  }
  json_object_set_array_member(what, "through_mm", pla_json_array_of(at, 3));
  json_object_set_array_member(what, "normal", pla_json_array_of(normal, 3));
  json_object_set_double_member(what, "radius_mm", gtk_spin_button_get_value(self->radius));
  return TRUE;
}

/* @n_tris triangles, in mm to a thousandth */
static void
add_triangles(const double *pos, double to_mm, int n_verts, const int *tri, int n_tris,
              JsonObject *what)
{
  JsonArray *points = json_array_new(), *triangles = json_array_new();
  for (int i = 0; i < n_verts; i++) {
    double mm[3];
    for (int d = 0; d < 3; d++)
      mm[d] = round(1e3 * to_mm * pos[3 * i + d]) / 1e3 + 0.0;
    json_array_add_array_element(points, pla_json_array_of(mm, 3));
  }
  for (int t = 0; t < n_tris; t++) {
    JsonArray *corners = json_array_new();
    for (int k = 0; k < 3; k++)
      json_array_add_int_element(corners, tri[3 * t + k]);
    json_array_add_array_element(triangles, corners);
  }
  json_object_set_array_member(what, "points_mm", points);
  json_object_set_array_member(what, "triangles", triangles);
}

/* the curtain under the line, as an incision would have it */
static gboolean
add_curtain(PlaSurgeryPanel *self, JsonObject *what)
{
  g_autoptr(JsonObject) incise = json_object_new();
  JsonObject *path = json_object_new();
  PlaSketch sketch = { 0 };
  const double depth = gtk_spin_button_get_value(self->depth);
  json_object_set_object_member(incise, "incise", path);
  if (self->points->len < 6 || !self->sketcher)
    return FALSE;
  json_object_set_array_member(path, "path_mm", path_of(self));
  if (depth > 0.0)
    json_object_set_double_member(path, "depth_mm", depth);
  const gboolean drawn =
      pla_sketcher_draw(self->sketcher, incise, &sketch, &self->trouble) == PLA_OK;
  if (drawn)
    add_triangles(sketch.blade, 1.0, sketch.n_verts, sketch.tri, sketch.n_tris, what);
  pla_sketch_clear(&sketch);
  return drawn;
}

/* a surface of the case */
static gboolean
add_surface(PlaSurgeryPanel *self, JsonObject *what)
{
  const guint i = adw_combo_row_get_selected(self->blade) - PLA_BLADE_SURFACES;
  const PlaMesh *mesh =
      i < self->surfaces->len ? pla_entry_get_mesh(self->surfaces->pdata[i]) : NULL;
  if (!mesh)
    return FALSE;
  if (mesh->n_tris > MAX_BLADE_TRIS) {
    pla_fail(&self->trouble, PLA_ERR_USAGE,
             "this surface has %d triangles, and a blade at most %d: make it coarser first",
             mesh->n_tris, MAX_BLADE_TRIS);
    return FALSE;
  }
  add_triangles(mesh->pos, 1e3, mesh->n_verts, mesh->tri, mesh->n_tris, what);
  return TRUE;
}

static gboolean
add_cut(PlaSurgeryPanel *self, JsonObject *what)
{
  const PlaBladeKind kind = pla_theatre_chosen_blade(self);
  const guint tissue = adw_combo_row_get_selected(self->tissue);
  GListModel *tissues = adw_combo_row_get_model(self->tissue);
  if (tissue > 0 && tissue != GTK_INVALID_LIST_POSITION)
    json_object_set_string_member(what, "tissue",
                                  gtk_string_list_get_string(GTK_STRING_LIST(tissues), tissue));
  return kind == PLA_BLADE_LINE       ? add_curtain(self, what)
         : kind == PLA_BLADE_SURFACES ? add_surface(self, what)
                                      : add_plane(self, kind, what);
}

/* ---- in it ---- */

const PlaTheatreImplant *
pla_theatre_chosen_implant(PlaSurgeryPanel *self)
{
  const guint i = adw_combo_row_get_selected(self->which);
  return self->instrument == PLA_IMPLANT && i > 0 && i <= self->implants->len
             ? self->implants->pdata[i - 1]
             : NULL;
}

/* the point, as deep below the skin as the panel says; one that is not on the skin is the place
 * itself */
static void
place_inside(PlaSurgeryPanel *self, double at_mm[3])
{
  double normal[3] = { 0.0, 0.0, 0.0 };
  memcpy(at_mm, self->points->data, 3 * sizeof *at_mm);
  if (self->sketcher)
    pla_sketcher_snap(self->sketcher, at_mm, at_mm, normal);
  for (int d = 0; d < 3; d++)
    at_mm[d] = hundredths(at_mm[d] - gtk_spin_button_get_value(self->depth) * normal[d]);
}

static gboolean
add_filling(PlaSurgeryPanel *self, JsonObject *what)
{
  const PlaTheatreImplant *there = pla_theatre_chosen_implant(self);
  double at[3];
  if (!there && self->points->len < 3)
    return FALSE;
  if (self->instrument == PLA_IMPLANT)
    json_object_set_string_member(
        what, "name", there ? there->name : gtk_editable_get_text(GTK_EDITABLE(self->name)));
  if (!there) {
    place_inside(self, at);
    json_object_set_array_member(what, "at_mm", pla_json_array_of(at, 3));
  }
  json_object_set_double_member(what, "radius_mm", gtk_spin_button_get_value(self->radius));
  if (self->instrument == PLA_EXPAND)
    json_object_set_double_member(what, "pressure_kpa", gtk_spin_button_get_value(self->pressure));
  return TRUE;
}

/* ---- tension ---- */

/* two points make a line */
static gboolean
add_tension(PlaSurgeryPanel *self, JsonObject *what)
{
  const double *p = (const double *)(gpointer)self->points->data;
  const guint n = self->points->len / 6;
  JsonArray *lines = json_array_new();
  for (guint i = 0; i < n; i++, p += 6) {
    double at[3], way[3];
    JsonObject *line = json_object_new();
    for (int d = 0; d < 3; d++) {
      at[d] = hundredths(0.5 * (p[d] + p[3 + d]));
      way[d] = hundredths(p[3 + d] - p[d]);
    }
    json_object_set_array_member(line, "at_mm", pla_json_array_of(at, 3));
    json_object_set_array_member(line, "direction", pla_json_array_of(way, 3));
    json_array_add_object_element(lines, line);
  }
  json_object_set_array_member(what, "lines", lines);
  json_object_set_double_member(what, "along",
                                1.0 + gtk_spin_button_get_value(self->along) / 100.0);
  json_object_set_double_member(what, "across",
                                1.0 + gtk_spin_button_get_value(self->across) / 100.0);
  json_object_set_double_member(what, "depth_mm",
                                fmax(0.5, gtk_spin_button_get_value(self->depth)));
  return n > 0;
}

/* ---- one step, and all of them ---- */

static const char *const tools[PLA_N_INSTRUMENTS] = {
  [PLA_INCISE] = "incise",   [PLA_EXCISE] = "excise",   [PLA_UNDERMINE] = "undermine",
  [PLA_HOOK] = "hook",       [PLA_SUTURE] = "suture",   [PLA_TEMPLATE] = "template",
  [PLA_CUT] = "cut",         [PLA_IMPLANT] = "implant", [PLA_EXPAND] = "expand",
  [PLA_TENSION] = "tension",
};

JsonObject *
pla_theatre_build_step(PlaSurgeryPanel *self)
{
  g_autoptr(JsonObject) what = json_object_new();
  const double depth = gtk_spin_button_get_value(self->depth);
  self->trouble = (PlaError){ 0 };
  switch (self->instrument) {
  case PLA_INCISE:
  case PLA_EXCISE:
    if (self->points->len < (self->instrument == PLA_EXCISE ? 9 : 6))
      return NULL;
    json_object_set_string_member(what, "name", gtk_editable_get_text(GTK_EDITABLE(self->name)));
    json_object_set_array_member(what, "path_mm", path_of(self));
    if (depth > 0.0)
      json_object_set_double_member(what, "depth_mm", depth);
    if (self->instrument == PLA_INCISE && gtk_spin_button_get_value(self->bevel) != 0.0)
      json_object_set_double_member(what, "bevel_deg", gtk_spin_button_get_value(self->bevel));
    break;
  case PLA_UNDERMINE:
    if (!chosen_wound(self, self->from))
      return NULL;
    json_object_set_string_member(what, "from", chosen_wound(self, self->from));
    json_object_set_double_member(what, "radius_mm", gtk_spin_button_get_value(self->radius));
    if (pla_theatre_chosen_level(self))
      json_object_set_string_member(what, "level", pla_theatre_chosen_level(self));
    else
      json_object_set_double_member(what, "depth_mm", fmax(depth, 0.5));
    break;
  case PLA_SUTURE: {
    const char *first = chosen_wound(self, self->first), *second = chosen_wound(self, self->second);
    if (!first || !second)
      return NULL;
    JsonArray *edges = json_array_new();
    json_array_add_string_element(edges, first);
    json_array_add_string_element(edges, second);
    json_object_set_array_member(what, "edges", edges);
    json_object_set_double_member(what, "spacing_mm", gtk_spin_button_get_value(self->spacing));
    json_object_set_double_member(what, "tighten", 0.01 * gtk_spin_button_get_value(self->tighten));
    break;
  }
  case PLA_TEMPLATE:
    if (self->points->len < 3)
      return NULL;
    add_template(self, what);
    break;
  case PLA_HOOK:
    json_object_set_array_member(what, "at_mm", pla_json_array_of(self->hook_at, 3));
    json_object_set_array_member(what, "pull_mm", pla_json_array_of(self->hook_pull, 3));
    break;
  case PLA_CUT:
    if (!add_cut(self, what))
      return NULL;
    break;
  case PLA_IMPLANT:
  case PLA_EXPAND:
    if (!add_filling(self, what))
      return NULL;
    break;
  case PLA_TENSION:
    if (!add_tension(self, what))
      return NULL;
    break;
  default:
    return NULL;
  }
  JsonObject *step = json_object_new();
  json_object_set_object_member(step, tools[self->instrument], g_steal_pointer(&what));
  return step;
}

static void
add_solve(JsonArray *steps)
{
  JsonObject *solve = json_object_new();
  json_object_set_object_member(solve, "solve", json_object_new());
  json_array_add_object_element(steps, solve);
}

/* the stage @k of @n of an implant or expander: what @step says is where it ends */
static void
set_stage(PlaSurgeryPanel *self, JsonObject *step, double from_mm, int k, int n)
{
  JsonObject *what = json_object_get_object_member(step, tools[self->instrument]);
  const double all = json_object_get_double_member(what, "radius_mm");
  if (self->instrument == PLA_IMPLANT) {
    json_object_set_double_member(what, "radius_mm",
                                  k == n ? all : hundredths(from_mm + (all - from_mm) * k / n));
    if (k > 1)
      json_object_remove_member(what, "at_mm"); /* it lies there */
  } else {
    /* one pressure adds to the other */
    const double kpa = json_object_get_double_member(what, "pressure_kpa");
    json_object_set_double_member(what, "pressure_kpa", round(1e4 * kpa / n) / 1e4);
  }
}

JsonArray *
pla_theatre_build_steps(PlaSurgeryPanel *self)
{
  const gboolean grows = self->instrument == PLA_IMPLANT || self->instrument == PLA_EXPAND;
  const int n = grows ? gtk_spin_button_get_value_as_int(self->stages) : 1;
  const PlaTheatreImplant *there = pla_theatre_chosen_implant(self);
  double from = there ? there->radius_mm : 0.0;
  g_autoptr(JsonArray) steps = json_array_new();
  for (int k = 1; k <= n; k++) {
    JsonObject *step = pla_theatre_build_step(self);
    if (!step)
      return NULL;
    if (grows && k == 1 && !there && self->instrument == PLA_IMPLANT) {
      /* the first stage reaches the wall of the pocket */
      double at[3];
      place_inside(self, at);
      from = fmin(pla_sketcher_wall(self->sketcher, at), gtk_spin_button_get_value(self->radius));
    }
    if (grows)
      set_stage(self, step, from, k, n);
    json_array_add_object_element(steps, step);
    if (grows || self->instrument == PLA_TENSION || self->instrument == PLA_HOOK)
      add_solve(steps);
  }
  return g_steal_pointer(&steps);
}
