/* What the panel says as steps of a plan: the same words that a file has, so that what is done by
 * hand can be replayed. */
#include "ui/surgery/surgery-panel-private.h"

#include "anatomy/base/mat3.h"
#include "app/surgery/surgery-body.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* a blade becomes part of the plan, which is to be read by people too */
enum { MAX_BLADE_TRIS = 20000 };

gboolean
pla_surgery_panel_is_mine(PlaSurgeryPanel *self)
{
  return pla_tools_get_owner(pla_document_get_tools(self->document)) == self;
}

gboolean
pla_surgery_panel_draws(const PlaSurgeryPanel *self)
{
  return self->instrument == PLA_INCISE || self->instrument == PLA_EXCISE;
}

gboolean
pla_surgery_panel_places(const PlaSurgeryPanel *self)
{
  return self->instrument != PLA_LOOK && self->instrument != PLA_UNDERMINE &&
         self->instrument != PLA_HOOK && self->instrument != PLA_SUTURE;
}

PlaBladeKind
pla_surgery_panel_chosen_blade(PlaSurgeryPanel *self)
{
  const guint i = adw_combo_row_get_selected(self->blade);
  return i < PLA_BLADE_SURFACES ? (PlaBladeKind)i : PLA_BLADE_SURFACES;
}

int
pla_surgery_panel_max_points(PlaSurgeryPanel *self)
{
  const PlaBladeKind blade = pla_surgery_panel_chosen_blade(self);
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
static void
add_path(PlaSurgeryPanel *self, PlaToolStep *step)
{
  const int n = (int)self->points->len / 3;
  const double *points = (const double *)(gpointer)self->points->data;
  g_autoptr(GArray) line = NULL;
  if (self->preview && gtk_switch_get_active(self->smooth) && n > 2)
    line = pla_plan_preview_smooth(self->preview, points, n, self->instrument == PLA_EXCISE);
  const GArray *use = line ? line : self->points;
  pla_tool_step_set_path(step, (const double *)(gpointer)use->data, (int)use->len / 3);
}

static const char *
chosen_wound(PlaSurgeryPanel *self, AdwComboRow *row)
{
  guint i = adw_combo_row_get_selected(row);
  return i < self->wounds->len ? self->wounds->pdata[i] : NULL;
}

PlaTemplateChoice
pla_surgery_panel_chosen_template(PlaSurgeryPanel *self)
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
add_template(PlaSurgeryPanel *self, PlaToolStep *step)
{
  const PlaTemplateChoice kind = pla_surgery_panel_chosen_template(self);
  double at[3], direction[3];
  template_direction(self, direction);
  for (int d = 0; d < 3; d++)
    at[d] = hundredths(g_array_index(self->points, double, d));
  pla_tool_step_set_text(step, "kind", kind.id);
  pla_tool_step_set_text(step, "name", gtk_editable_get_text(GTK_EDITABLE(self->name)));
  pla_tool_step_set_point(step, "at_mm", at);
  pla_tool_step_set_point(step, "direction", direction);
  pla_tool_step_set_number(step, "size_mm", gtk_spin_button_get_value(self->size));
  if (kind.angle_deg > 0.0)
    pla_tool_step_set_number(step, "angle_deg", gtk_spin_button_get_value(self->angle));
  if (gtk_switch_get_active(self->mirror))
    pla_tool_step_set_flag(step, "mirror", TRUE);
  pla_tool_step_set_number(step, "depth_mm", fmax(0.5, gtk_spin_button_get_value(self->depth)));
  pla_tool_step_set_number(step, "spacing_mm", gtk_spin_button_get_value(self->spacing));
}

const char *
pla_surgery_panel_chosen_level(PlaSurgeryPanel *self)
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
add_plane(PlaSurgeryPanel *self, PlaBladeKind kind, PlaToolStep *step)
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
  pla_tool_step_set_point(step, "through_mm", at);
  pla_tool_step_set_point(step, "normal", normal);
  pla_tool_step_set_number(step, "radius_mm", gtk_spin_button_get_value(self->radius));
  return TRUE;
}

/* the curtain under the line, as an incision would have it */
static gboolean
add_curtain(PlaSurgeryPanel *self, PlaToolStep *step)
{
  g_autoptr(PlaToolStep) incise = pla_tool_step_new("incise");
  PlaSketch sketch = { 0 };
  const double depth = gtk_spin_button_get_value(self->depth);
  if (self->points->len < 6 || !self->preview)
    return FALSE;
  add_path(self, incise);
  if (depth > 0.0)
    pla_tool_step_set_number(incise, "depth_mm", depth);
  const gboolean drawn =
      pla_tool_step_draw(incise, self->preview, &sketch, &self->trouble) == PLA_OK;
  if (drawn)
    pla_tool_step_set_blade(step, sketch.blade, 1.0, sketch.n_verts, sketch.tri, sketch.n_tris);
  pla_sketch_clear(&sketch);
  return drawn;
}

/* a surface of the case */
static gboolean
add_surface(PlaSurgeryPanel *self, PlaToolStep *step)
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
  pla_tool_step_set_blade(step, mesh->pos, 1e3, mesh->n_verts, mesh->tri, mesh->n_tris);
  return TRUE;
}

static gboolean
add_cut(PlaSurgeryPanel *self, PlaToolStep *step)
{
  const PlaBladeKind kind = pla_surgery_panel_chosen_blade(self);
  const guint tissue = adw_combo_row_get_selected(self->tissue);
  GListModel *tissues = adw_combo_row_get_model(self->tissue);
  if (tissue > 0 && tissue != GTK_INVALID_LIST_POSITION)
    pla_tool_step_set_text(step, "tissue",
                           gtk_string_list_get_string(GTK_STRING_LIST(tissues), tissue));
  return kind == PLA_BLADE_LINE       ? add_curtain(self, step)
         : kind == PLA_BLADE_SURFACES ? add_surface(self, step)
                                      : add_plane(self, kind, step);
}

/* ---- in it ---- */

const PlaImplantChoice *
pla_surgery_panel_chosen_implant(PlaSurgeryPanel *self)
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
  if (self->preview)
    pla_plan_preview_snap(self->preview, at_mm, at_mm, normal);
  for (int d = 0; d < 3; d++)
    at_mm[d] = hundredths(at_mm[d] - gtk_spin_button_get_value(self->depth) * normal[d]);
}

static gboolean
add_filling(PlaSurgeryPanel *self, PlaToolStep *step)
{
  const PlaImplantChoice *there = pla_surgery_panel_chosen_implant(self);
  double at[3];
  if (!there && self->points->len < 3)
    return FALSE;
  if (self->instrument == PLA_IMPLANT)
    pla_tool_step_set_text(step, "name",
                           there ? there->name : gtk_editable_get_text(GTK_EDITABLE(self->name)));
  if (!there) {
    place_inside(self, at);
    pla_tool_step_set_point(step, "at_mm", at);
  }
  pla_tool_step_set_number(step, "radius_mm", gtk_spin_button_get_value(self->radius));
  if (self->instrument == PLA_EXPAND)
    pla_tool_step_set_number(step, "pressure_kpa", gtk_spin_button_get_value(self->pressure));
  return TRUE;
}

/* ---- tension ---- */

/* two points make a line */
static gboolean
add_tension(PlaSurgeryPanel *self, PlaToolStep *step)
{
  const double *p = (const double *)(gpointer)self->points->data;
  const guint n = self->points->len / 6;
  for (guint i = 0; i < n; i++, p += 6) {
    double at[3], way[3];
    for (int d = 0; d < 3; d++) {
      at[d] = hundredths(0.5 * (p[d] + p[3 + d]));
      way[d] = hundredths(p[3 + d] - p[d]);
    }
    pla_tool_step_add_line(step, at, way);
  }
  pla_tool_step_set_number(step, "along", 1.0 + gtk_spin_button_get_value(self->along) / 100.0);
  pla_tool_step_set_number(step, "across", 1.0 + gtk_spin_button_get_value(self->across) / 100.0);
  pla_tool_step_set_number(step, "depth_mm", fmax(0.5, gtk_spin_button_get_value(self->depth)));
  return n > 0;
}

/* ---- one step, and all of them ---- */

static const char *const tools[PLA_N_INSTRUMENTS] = {
  [PLA_INCISE] = "incise",   [PLA_EXCISE] = "excise",   [PLA_UNDERMINE] = "undermine",
  [PLA_HOOK] = "hook",       [PLA_SUTURE] = "suture",   [PLA_TEMPLATE] = "template",
  [PLA_CUT] = "cut",         [PLA_IMPLANT] = "implant", [PLA_EXPAND] = "expand",
  [PLA_TENSION] = "tension",
};

PlaToolStep *
pla_surgery_panel_build_step(PlaSurgeryPanel *self)
{
  if (!tools[self->instrument])
    return NULL;
  g_autoptr(PlaToolStep) step = pla_tool_step_new(tools[self->instrument]);
  const double depth = gtk_spin_button_get_value(self->depth);
  self->trouble = (PlaError){ 0 };
  switch (self->instrument) {
  case PLA_INCISE:
  case PLA_EXCISE:
    if (self->points->len < (self->instrument == PLA_EXCISE ? 9 : 6))
      return NULL;
    pla_tool_step_set_text(step, "name", gtk_editable_get_text(GTK_EDITABLE(self->name)));
    add_path(self, step);
    if (depth > 0.0)
      pla_tool_step_set_number(step, "depth_mm", depth);
    if (self->instrument == PLA_INCISE && gtk_spin_button_get_value(self->bevel) != 0.0)
      pla_tool_step_set_number(step, "bevel_deg", gtk_spin_button_get_value(self->bevel));
    break;
  case PLA_UNDERMINE:
    if (!chosen_wound(self, self->from))
      return NULL;
    pla_tool_step_set_text(step, "from", chosen_wound(self, self->from));
    pla_tool_step_set_number(step, "radius_mm", gtk_spin_button_get_value(self->radius));
    if (pla_surgery_panel_chosen_level(self))
      pla_tool_step_set_text(step, "level", pla_surgery_panel_chosen_level(self));
    else
      pla_tool_step_set_number(step, "depth_mm", fmax(depth, 0.5));
    break;
  case PLA_SUTURE: {
    const char *first = chosen_wound(self, self->first), *second = chosen_wound(self, self->second);
    if (!first || !second)
      return NULL;
    pla_tool_step_set_edges(step, first, second);
    pla_tool_step_set_number(step, "spacing_mm", gtk_spin_button_get_value(self->spacing));
    pla_tool_step_set_number(step, "tighten", 0.01 * gtk_spin_button_get_value(self->tighten));
    break;
  }
  case PLA_TEMPLATE:
    if (self->points->len < 3)
      return NULL;
    add_template(self, step);
    break;
  case PLA_HOOK:
    pla_tool_step_set_point(step, "at_mm", self->hook_at);
    pla_tool_step_set_point(step, "pull_mm", self->hook_pull);
    break;
  case PLA_CUT:
    if (!add_cut(self, step))
      return NULL;
    break;
  case PLA_IMPLANT:
  case PLA_EXPAND:
    if (!add_filling(self, step))
      return NULL;
    break;
  case PLA_TENSION:
    if (!add_tension(self, step))
      return NULL;
    break;
  default:
    return NULL;
  }
  return g_steal_pointer(&step);
}

/* the stage @k of @n of an implant or expander: what @step says is where it ends */
static void
set_stage(PlaSurgeryPanel *self, PlaToolStep *step, double from_mm, int k, int n)
{
  if (self->instrument == PLA_IMPLANT) {
    const double all = pla_tool_step_get_number(step, "radius_mm");
    pla_tool_step_set_number(step, "radius_mm",
                             k == n ? all : hundredths(from_mm + (all - from_mm) * k / n));
    if (k > 1)
      pla_tool_step_remove(step, "at_mm"); /* it lies there */
  } else {
    /* one pressure adds to the other */
    const double kpa = pla_tool_step_get_number(step, "pressure_kpa");
    pla_tool_step_set_number(step, "pressure_kpa", round(1e4 * kpa / n) / 1e4);
  }
}

GPtrArray *
pla_surgery_panel_build_steps(PlaSurgeryPanel *self)
{
  const gboolean grows = self->instrument == PLA_IMPLANT || self->instrument == PLA_EXPAND;
  const int n = grows ? gtk_spin_button_get_value_as_int(self->stages) : 1;
  const PlaImplantChoice *there = pla_surgery_panel_chosen_implant(self);
  double from = there ? there->radius_mm : 0.0;
  g_autoptr(GPtrArray) steps = g_ptr_array_new_with_free_func((GDestroyNotify)pla_tool_step_free);
  for (int k = 1; k <= n; k++) {
    PlaToolStep *step = pla_surgery_panel_build_step(self);
    if (!step)
      return NULL;
    if (grows && k == 1 && !there && self->instrument == PLA_IMPLANT) {
      /* the first stage reaches the wall of the pocket */
      double at[3];
      place_inside(self, at);
      from =
          fmin(pla_plan_preview_wall(self->preview, at), gtk_spin_button_get_value(self->radius));
    }
    if (grows)
      set_stage(self, step, from, k, n);
    g_ptr_array_add(steps, step);
    if (grows || self->instrument == PLA_TENSION || self->instrument == PLA_HOOK)
      g_ptr_array_add(steps, pla_tool_step_new("solve"));
  }
  return g_steal_pointer(&steps);
}
