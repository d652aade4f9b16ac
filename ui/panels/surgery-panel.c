#include "ui/panels/surgery-panel.h"

#include "app/body.h"
#include "app/live-solve.h"
#include "app/plan-compare.h"
#include "app/sketcher.h"
#include "sim/surgery/template.h"
#include "ui/panels/panel-rows.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

typedef enum {
  LOOK = 0,
  INCISE,
  EXCISE,
  UNDERMINE,
  HOOK,
  SUTURE,
  TEMPLATE,
  N_INSTRUMENTS
} Instrument;

static const struct {
  const char *id, *apply, *hint;
} instruments[N_INSTRUMENTS] = {
  [LOOK] = { "none", NULL, NULL },
  [INCISE] = { "incise", N_("_Cut"),
               N_("Click along the line of the cut; drag points to move them") },
  [EXCISE] = { "excise", N_("_Take Out"), N_("Click around what is to be taken out") },
  [UNDERMINE] = { "undermine", N_("_Undermine"), NULL },
  [HOOK] = { "hook", NULL, N_("Press on the skin and drag: the hook pulls it along") },
  [TEMPLATE] = { "template", N_("_Cut and Sew"),
                 N_("Click where the middle of the defect lies; drag it to move the drawing") },
  [SUTURE] = { "suture", N_("_Sew"), NULL },
};

struct _PlaSurgeryPanel {
  AdwBin parent_instance;
  GtkWidget *nothing, *prepare_group, *table, *apply_box, *release_box, *apply;
  GtkWidget *points_row, *smooth_row, *depth_row, *bevel_row, *radius_row, *spacing_row,
      *tighten_row, *live_row, *threshold_row, *size_row, *angle_row, *turn_row, *mirror_row;
  AdwPreferencesGroup *step_group, *readings_group, *done_group;
  AdwEntryRow *name;
  AdwComboRow *from, *level, *first, *second, *map, *kind;
  GtkSpinButton *lattice, *depth, *bevel, *radius, *spacing, *tighten, *threshold, *size, *angle,
      *turn;
  GtkSwitch *smooth, *live_switch, *mirror;
  GtkLabel *say, *shown, *above;

  PlaDocument *document;
  PlaEntry *body;      /* on the table, or NULL */
  PlaContent *content; /* of it, as the rows below show it */
  PlaSketcher *sketcher;
  PlaContent *sketcher_for; /* that is being made, or is made */
  Instrument instrument;
  GArray *points;                      /* of double: xyz, mm */
  GPtrArray *wounds;                   /* names */
  GPtrArray *reading_rows, *done_rows; /* borrowed */
  double hook_at[3], hook_pull[3];
  double normal[3]; /* of the skin where a template lies */
  PlaLive *live;
  gboolean live_shown; /* the view shows what live made of the body */
  gboolean hooking, working, following;
};

enum { PROP_TOOL = 1, N_PROPS };
static GParamSpec *props[N_PROPS];

G_DEFINE_FINAL_TYPE(PlaSurgeryPanel, pla_surgery_panel, ADW_TYPE_BIN)

static gboolean
is_mine(PlaSurgeryPanel *self)
{
  return pla_tools_get_owner(pla_document_get_tools(self->document)) == self;
}

static gboolean
draws(const PlaSurgeryPanel *self)
{
  return self->instrument == INCISE || self->instrument == EXCISE;
}

/* whether clicks on the skin place something */
static gboolean
places(const PlaSurgeryPanel *self)
{
  return draws(self) || self->instrument == TEMPLATE;
}

/* --------------------------------------------------------------------- steps */

static JsonArray *
vector(const double v[3])
{
  JsonArray *array = json_array_new();
  for (int d = 0; d < 3; d++)
    json_array_add_double_element(array, v[d]);
  return array;
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
    line = pla_sketcher_smooth(self->sketcher, points, n, self->instrument == EXCISE);
  const GArray *use = line ? line : self->points;
  for (guint i = 0; i + 2 < use->len; i += 3)
    json_array_add_array_element(path, vector(&g_array_index(use, double, i)));
  return path;
}

static const char *
chosen_wound(PlaSurgeryPanel *self, AdwComboRow *row)
{
  guint i = adw_combo_row_get_selected(row);
  return i < self->wounds->len ? self->wounds->pdata[i] : NULL;
}

static const PlaTemplate *
chosen_template(PlaSurgeryPanel *self)
{
  const PlaTemplate *const *all = pla_templates_get();
  const guint wanted = adw_combo_row_get_selected(self->kind);
  for (guint i = 0; all[i]; i++)
    if (i == wanted)
      return all[i];
  return all[0];
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
  const PlaTemplate *kind = chosen_template(self);
  double at[3], direction[3];
  template_direction(self, direction);
  for (int d = 0; d < 3; d++)
    at[d] = round(100.0 * g_array_index(self->points, double, d)) / 100.0 + 0.0;
  json_object_set_string_member(what, "kind", kind->id);
  json_object_set_string_member(what, "name", gtk_editable_get_text(GTK_EDITABLE(self->name)));
  json_object_set_array_member(what, "at_mm", vector(at));
  json_object_set_array_member(what, "direction", vector(direction));
  json_object_set_double_member(what, "size_mm", gtk_spin_button_get_value(self->size));
  if (kind->angle > 0.0)
    json_object_set_double_member(what, "angle_deg", gtk_spin_button_get_value(self->angle));
  if (gtk_switch_get_active(self->mirror))
    json_object_set_boolean_member(what, "mirror", TRUE);
  json_object_set_double_member(what, "depth_mm",
                                fmax(0.5, gtk_spin_button_get_value(self->depth)));
  json_object_set_double_member(what, "spacing_mm", gtk_spin_button_get_value(self->spacing));
}

/* the tissue in whose plane to undermine, NULL: at a depth; borrowed */
static const char *
chosen_level(PlaSurgeryPanel *self)
{
  const guint i = adw_combo_row_get_selected(self->level);
  GListModel *levels = adw_combo_row_get_model(self->level);
  if (!levels || i == 0 || i == GTK_INVALID_LIST_POSITION)
    return NULL;
  return i == 1 ? PLA_SURGERY_BONE
                : gtk_string_list_get_string(GTK_STRING_LIST(levels), i);
}

/* what the panel says now, as a step of a plan; NULL where something is missing */
static JsonObject *
build_step(PlaSurgeryPanel *self)
{
  g_autoptr(JsonObject) what = json_object_new();
  const double depth = gtk_spin_button_get_value(self->depth);
  switch (self->instrument) {
  case INCISE:
  case EXCISE:
    if (self->points->len < (self->instrument == EXCISE ? 9 : 6))
      return NULL;
    json_object_set_string_member(what, "name", gtk_editable_get_text(GTK_EDITABLE(self->name)));
    json_object_set_array_member(what, "path_mm", path_of(self));
    if (depth > 0.0)
      json_object_set_double_member(what, "depth_mm", depth);
    if (self->instrument == INCISE && gtk_spin_button_get_value(self->bevel) != 0.0)
      json_object_set_double_member(what, "bevel_deg", gtk_spin_button_get_value(self->bevel));
    break;
  case UNDERMINE:
    if (!chosen_wound(self, self->from))
      return NULL;
    json_object_set_string_member(what, "from", chosen_wound(self, self->from));
    json_object_set_double_member(what, "radius_mm", gtk_spin_button_get_value(self->radius));
    if (chosen_level(self))
      json_object_set_string_member(what, "level", chosen_level(self));
    else
      json_object_set_double_member(what, "depth_mm", fmax(depth, 0.5));
    break;
  case SUTURE: {
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
  case TEMPLATE:
    if (self->points->len < 3)
      return NULL;
    add_template(self, what);
    break;
  case HOOK:
    json_object_set_array_member(what, "at_mm", vector(self->hook_at));
    json_object_set_array_member(what, "pull_mm", vector(self->hook_pull));
    break;
  default:
    return NULL;
  }
  JsonObject *step = json_object_new();
  json_object_set_object_member(step, instruments[self->instrument].id, g_steal_pointer(&what));
  return step;
}

static void
say(PlaSurgeryPanel *self, const char *text, gboolean bad)
{
  gtk_label_set_label(self->say, text ? text : "");
  gtk_widget_set_visible(GTK_WIDGET(self->say), text && *text);
  if (bad)
    gtk_widget_add_css_class(GTK_WIDGET(self->say), "error");
  else
    gtk_widget_remove_css_class(GTK_WIDGET(self->say), "error");
}

static void
update_actions(PlaSurgeryPanel *self)
{
  GtkWidget *widget = GTK_WIDGET(self);
  const gboolean idle = !self->working && !pla_document_get_busy(self->document);
  const gboolean there = self->body != NULL;
  g_autoptr(JsonObject) step = there && self->instrument != HOOK ? build_step(self) : NULL;
  gtk_widget_action_set_enabled(widget, "surgery.prepare",
                                idle && pla_document_get_labels_name(self->document) != NULL &&
                                    pla_document_get_session(self->document) != NULL);
  gtk_widget_action_set_enabled(widget, "surgery.tool", there);
  gtk_widget_action_set_enabled(widget, "surgery.apply", idle && step != NULL);
  gtk_widget_action_set_enabled(widget, "surgery.solve", idle && there);
  gtk_widget_action_set_enabled(widget, "surgery.release", idle && there);
  gtk_widget_action_set_enabled(widget, "surgery.add-point", there && places(self));
  gtk_widget_action_set_enabled(widget, "surgery.remove-point", self->points->len > 0);
  gtk_widget_action_set_enabled(widget, "surgery.clear", self->points->len > 0);
}

/* ------------------------------------------------------------------- drawing */

static void
show_marks(PlaSurgeryPanel *self)
{
  g_autoptr(GArray) marks = g_array_new(FALSE, TRUE, sizeof(PlaMark));
  const gboolean mapped = gtk_widget_get_mapped(GTK_WIDGET(self));
  for (guint i = 0; mapped && places(self) && i + 2 < self->points->len; i += 3) {
    PlaMark mark = { .kind = PLA_MARK_POINT };
    memcpy(mark.at_mm, &g_array_index(self->points, double, i), sizeof mark.at_mm);
    g_array_append_val(marks, mark);
  }
  const PlaStoreArray *hooks =
      self->content ? pla_content_find_array(self->content, PLA_BODY_HOOKS) : NULL;
  for (uint64_t h = 0; mapped && hooks && hooks->n_dims == 2 && h < hooks->shape[1]; h++) {
    PlaMark mark = { .kind = PLA_MARK_HOOK };
    const double *ends = (const double *)hooks->data + 6 * h;
    for (int d = 0; d < 3; d++) {
      mark.at_mm[d] = 1e3 * ends[d];
      mark.pull_mm[d] = 1e3 * (ends[3 + d] - ends[d]);
    }
    g_array_append_val(marks, mark);
  }
  if (mapped && self->hooking) {
    PlaMark mark = { .kind = PLA_MARK_HOOK };
    memcpy(mark.at_mm, self->hook_at, sizeof mark.at_mm);
    memcpy(mark.pull_mm, self->hook_pull, sizeof mark.pull_mm);
    g_array_append_val(marks, mark);
  }
  pla_tools_set_marks(pla_document_get_tools(self->document),
                      (const PlaMark *)(gpointer)marks->data, (int)marks->len);
}

/* the first @n numbers of each row of an array of places, as mm; g_free() */
static double *
places_mm(const PlaContent *content, const char *name, int width, int n, int *n_rows)
{
  const PlaStoreArray *array = pla_content_find_array(content, name);
  *n_rows = 0;
  if (!array || array->dtype != PLA_F64 || array->n_dims != 2 || array->shape[0] != (uint64_t)width)
    return NULL;
  *n_rows = (int)array->shape[1];
  double *out = g_new(double, (gsize)n *(gsize)*n_rows + 1);
  for (int i = 0; i < *n_rows; i++)
    for (int k = 0; k < n; k++)
      out[n * i + k] = 1e3 * ((const double *)array->data)[width * i + k];
  return out;
}

/* the path and the blade that the step would make, and the stitches that are there */
static void
show_sketch(PlaSurgeryPanel *self)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  PlaSketch sketch = { 0 };
  PlaSeams seams = { 0 };
  const gboolean mapped = gtk_widget_get_mapped(GTK_WIDGET(self));
  g_autoptr(JsonObject) step = mapped && self->sketcher ? build_step(self) : NULL;
  if (self->content && mapped) {
    seams.thread = places_mm(self->content, PLA_BODY_THREADS, 6, 6, &seams.n_threads);
    seams.knot = places_mm(self->content, PLA_BODY_STITCHES, 5, 3, &seams.n_knots);
  }
  PlaError err = { 0 };
  if (step && self->instrument != HOOK) {
    if (pla_sketcher_draw(self->sketcher, step, &sketch, &err) != PLA_OK)
      say(self, err.message, TRUE);
    else
      say(self, NULL, FALSE);
  } else if (!self->working) {
    say(self, NULL, FALSE);
  }
  pla_tools_set_sketch(tools, &sketch, &seams);
  g_free(seams.thread);
  g_free(seams.knot);
  if (places(self)) {
    const int n = (int)self->points->len / 3;
    g_autofree char *text =
        sketch.n_lines > 0 ? g_strdup_printf(g_dngettext(NULL, "%d point, %.0f mm",
                                                         "%d points, %.0f mm", (gulong)n),
                                             n, sketch.length)
        : n == 0           ? g_strdup(_("Click on the skin"))
                 : g_strdup_printf(g_dngettext(NULL, "%d point", "%d points", (gulong)n), n);
    adw_action_row_set_subtitle(ADW_ACTION_ROW(self->points_row), text);
  }
  pla_sketch_clear(&sketch);
  update_actions(self);
}

static void
redraw(PlaSurgeryPanel *self)
{
  if (self->following)
    return;
  show_marks(self);
  show_sketch(self);
}

/* ------------------------------------------------------------------ sketcher */

static void
sketcher_free(gpointer data)
{
  pla_sketcher_free(data);
}

static void
sketch_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  PlaSketcher *sketcher = NULL;
  PlaError err;
  if (pla_sketcher_new(data, &sketcher, &err) == PLA_OK)
    g_task_return_pointer(task, sketcher, sketcher_free);
  else
    g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_FAILED, "%s", err.message);
}

static void
on_sketcher(GObject *source, GAsyncResult *result, gpointer data)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(source);
  PlaSketcher *sketcher = g_task_propagate_pointer(G_TASK(result), NULL);
  if (g_task_get_task_data(G_TASK(result)) != self->sketcher_for) {
    pla_sketcher_free(sketcher); /* of an older body */
    return;
  }
  pla_sketcher_free(self->sketcher);
  self->sketcher = sketcher;
  if (self->document)
    redraw(self);
}

static void
make_sketcher(PlaSurgeryPanel *self)
{
  if (self->content == self->sketcher_for)
    return;
  g_clear_pointer(&self->sketcher, pla_sketcher_free);
  g_clear_pointer(&self->sketcher_for, pla_content_unref);
  if (!self->content)
    return;
  self->sketcher_for = pla_content_ref(self->content);
  g_autoptr(GTask) task = g_task_new(self, NULL, on_sketcher, NULL);
  g_task_set_task_data(task, pla_content_ref(self->content), (GDestroyNotify)pla_content_unref);
  g_task_run_in_thread(task, sketch_in_thread);
}

/* ----------------------------------------------------------------- pointer */

static void
on_picked(PlaSurgeryPanel *self, PlaEntry *entry, const PlaScenePick *pick)
{
  if (!is_mine(self) || !entry || entry != self->body)
    return;
  if (draws(self)) {
    g_array_append_vals(self->points, pick->point_mm, 3);
  } else if (self->instrument == TEMPLATE) {
    g_array_set_size(self->points, 0);
    g_array_append_vals(self->points, pick->point_mm, 3);
    memcpy(self->normal, pick->normal, sizeof self->normal);
  } else if (self->instrument == HOOK && !self->working) {
    memcpy(self->hook_at, pick->point_mm, sizeof self->hook_at);
    memset(self->hook_pull, 0, sizeof self->hook_pull);
    self->hooking = TRUE;
  }
  redraw(self);
}

static void
on_placed(PlaSurgeryPanel *self, int mark, const PlaScenePick *pick, gboolean done)
{
  if (!is_mine(self) || !places(self) || mark < 0 || 3 * (guint)mark + 2 >= self->points->len)
    return;
  memcpy(&g_array_index(self->points, double, 3 * mark), pick->point_mm, sizeof pick->point_mm);
  if (self->instrument == TEMPLATE)
    memcpy(self->normal, pick->normal, sizeof self->normal);
  redraw(self);
}

static void run_steps(PlaSurgeryPanel *self, JsonArray *steps, const char *title);

static void
stop_live(PlaSurgeryPanel *self)
{
  g_clear_pointer(&self->live, pla_live_stop);
  if (self->live_shown && self->body)
    pla_tools_move(pla_document_get_tools(self->document), self->body, NULL);
  self->live_shown = FALSE;
}

static void
on_live(const PlaLiveShape *shape, const PlaError *err, void *data)
{
  PlaSurgeryPanel *self = data;
  if (!shape) {
    say(self, err->message, TRUE);
    stop_live(self);
    return;
  }
  const PlaMesh *mesh = self->body ? pla_entry_get_mesh(self->body) : NULL;
  if (!mesh || mesh->n_verts != shape->n_verts)
    return;
  pla_tools_move(pla_document_get_tools(self->document), self->body, shape->pos);
  self->live_shown = TRUE;
  g_autofree char *text = g_strdup_printf(
      shape->settled ? _("Shown: following the hand, nearly at rest. The hook pulls with %.2f N.")
                     : _("Shown: following the hand, on its way. The hook pulls with %.2f N."),
      shape->force_n);
  gtk_label_set_label(self->shown, text);
}

static void
on_dragged(PlaSurgeryPanel *self, int mark, const double *pull_mm, gboolean done)
{
  int n;
  pla_tools_get_marks(pla_document_get_tools(self->document), &n);
  if (!is_mine(self) || !self->hooking || mark != n - 1)
    return;
  memcpy(self->hook_pull, pull_mm, sizeof self->hook_pull);
  show_marks(self);
  if (!self->live && gtk_switch_get_active(self->live_switch))
    self->live = pla_live_start_body(self->content, self->hook_at, on_live, self);
  if (self->live)
    pla_live_pull(self->live, 0, pull_mm);
  if (!done)
    return;
  if (hypot(hypot(pull_mm[0], pull_mm[1]), pull_mm[2]) >= 0.5) {
    JsonArray *steps = json_array_new();
    json_array_add_object_element(steps, build_step(self));
    JsonObject *solve = json_object_new();
    json_object_set_object_member(solve, "solve", json_object_new());
    json_array_add_object_element(steps, solve);
    run_steps(self, steps, _("Pulling"));
  } else {
    self->hooking = FALSE;
    stop_live(self);
    show_marks(self);
  }
}

/* ------------------------------------------------------------------- running */

static void
on_done(gpointer owner, const char *failure)
{
  PlaSurgeryPanel *self = owner;
  self->working = FALSE;
  self->hooking = FALSE;
  /* what the operation made comes with the next update; after a failure the body is as it was */
  if (failure)
    stop_live(self);
  else
    g_clear_pointer(&self->live, pla_live_stop);
  if (failure) {
    show_marks(self);
    say(self, failure, TRUE);
  } else {
    g_array_set_size(self->points, 0);
    redraw(self);
  }
  update_actions(self);
}

/* takes @steps */
static void
run_steps(PlaSurgeryPanel *self, JsonArray *steps, const char *title)
{
  g_autoptr(JsonObject) params = json_object_new();
  json_object_set_string_member(params, "body", pla_entry_get_name(self->body));
  json_object_set_array_member(params, "steps", steps);
  self->working = TRUE;
  say(self, NULL, FALSE);
  if (!pla_document_run_for(self->document, title, "operate", params, on_done, G_OBJECT(self)))
    self->working = FALSE;
  update_actions(self);
}

static void
on_apply(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  JsonObject *step = self->body && self->instrument != HOOK ? build_step(self) : NULL;
  if (!step)
    return;
  JsonArray *steps = json_array_new();
  json_array_add_object_element(steps, step);
  run_steps(self, steps, _("Operating"));
}

static void
run_plain(PlaSurgeryPanel *self, const char *tool, const char *title)
{
  JsonArray *steps = json_array_new();
  JsonObject *step = json_object_new();
  json_object_set_object_member(step, tool, json_object_new());
  json_array_add_object_element(steps, step);
  run_steps(self, steps, title);
}

static void
on_solve(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  if (self->body)
    run_plain(self, "solve", _("Finding the equilibrium"));
}

static void
on_release(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  if (self->body)
    run_plain(self, "release", _("Releasing hooks"));
}

static void
on_prepare(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  const char *labels = pla_document_get_labels_name(self->document);
  if (!labels)
    return;
  g_autoptr(JsonObject) params = json_object_new();
  json_object_set_string_member(params, "item", labels);
  json_object_set_double_member(params, "lattice_mm", gtk_spin_button_get_value(self->lattice));
  self->working = TRUE;
  if (!pla_document_run_for(self->document, _("Preparing the body"), "prepare-body", params,
                            on_done, G_OBJECT(self)))
    self->working = FALSE;
  update_actions(self);
}

static void
on_add_point(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  double at[3];
  pla_document_get_cursor(self->document, at);
  if (self->instrument == TEMPLATE)
    g_array_set_size(self->points, 0);
  g_array_append_vals(self->points, at, 3);
  redraw(self);
}

static void
on_remove_point(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  if (self->points->len >= 3)
    g_array_set_size(self->points, self->points->len - 3);
  redraw(self);
}

static void
on_clear(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  g_array_set_size(self->points, 0);
  redraw(self);
}

/* ---------------------------------------------------------------- instruments */

static void
suggest_name(PlaSurgeryPanel *self)
{
  const char *stem = self->instrument == EXCISE     ? _("lesion")
                     : self->instrument == TEMPLATE ? _("flap")
                                                    : _("cut");
  for (int i = 1;; i++) {
    g_autofree char *name = i == 1 ? g_strdup(stem) : g_strdup_printf("%s %d", stem, i);
    gboolean taken = FALSE;
    for (guint w = 0; w < self->wounds->len; w++)
      taken |= g_str_has_prefix(self->wounds->pdata[w], name);
    if (!taken) {
      gtk_editable_set_text(GTK_EDITABLE(self->name), name);
      return;
    }
  }
}

static void
show_rows(PlaSurgeryPanel *self)
{
  const Instrument i = self->instrument;
  gtk_widget_set_visible(GTK_WIDGET(self->step_group), i != LOOK);
  gtk_widget_set_visible(GTK_WIDGET(self->name), places(self));
  gtk_widget_set_visible(self->points_row, places(self));
  gtk_widget_set_visible(self->smooth_row, draws(self));
  gtk_widget_set_visible(self->depth_row,
                         places(self) || (i == UNDERMINE && !chosen_level(self)));
  gtk_widget_set_visible(GTK_WIDGET(self->level), i == UNDERMINE);
  gtk_widget_set_visible(GTK_WIDGET(self->kind), i == TEMPLATE);
  gtk_widget_set_visible(self->size_row, i == TEMPLATE);
  gtk_widget_set_visible(self->angle_row, i == TEMPLATE && chosen_template(self)->angle > 0.0);
  gtk_widget_set_visible(self->turn_row, i == TEMPLATE);
  gtk_widget_set_visible(self->mirror_row, i == TEMPLATE);
  gtk_widget_set_visible(self->bevel_row, i == INCISE);
  gtk_widget_set_visible(GTK_WIDGET(self->from), i == UNDERMINE);
  gtk_widget_set_visible(self->radius_row, i == UNDERMINE);
  gtk_widget_set_visible(GTK_WIDGET(self->first), i == SUTURE);
  gtk_widget_set_visible(GTK_WIDGET(self->second), i == SUTURE);
  gtk_widget_set_visible(self->spacing_row, i == SUTURE || i == TEMPLATE);
  gtk_widget_set_visible(self->tighten_row, i == SUTURE);
  gtk_widget_set_visible(self->live_row, i == HOOK);
  gtk_widget_set_visible(self->apply_box, instruments[i].apply != NULL);
  gtk_widget_set_visible(self->release_box, i == HOOK);
  if (instruments[i].apply)
    gtk_button_set_label(GTK_BUTTON(self->apply), _(instruments[i].apply));
}

/* another kind of template: what its size is, and the customary angle */
static void
on_kind(PlaSurgeryPanel *self)
{
  const PlaTemplate *kind = chosen_template(self);
  adw_action_row_set_subtitle(ADW_ACTION_ROW(self->size_row), _(kind->size));
  if (kind->angle > 0.0) {
    self->following = TRUE;
    gtk_spin_button_set_range(self->angle, kind->min_angle * 180.0 / G_PI,
                              kind->max_angle * 180.0 / G_PI);
    gtk_spin_button_set_value(self->angle, kind->angle * 180.0 / G_PI);
    self->following = FALSE;
  }
  show_rows(self);
  redraw(self);
}

static void
set_instrument(PlaSurgeryPanel *self, Instrument instrument)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  if (instrument != self->instrument) {
    self->instrument = instrument;
    g_array_set_size(self->points, 0);
    self->hooking = FALSE;
    if (places(self))
      suggest_name(self);
    show_rows(self);
    g_object_notify_by_pspec(G_OBJECT(self), props[PROP_TOOL]);
  }
  const char *hint = instruments[instrument].hint;
  if (places(self))
    pla_tools_set(tools, PLA_TOOL_DRAW, self, _(hint));
  else if (instrument == HOOK)
    pla_tools_set(tools, PLA_TOOL_HOOK, self, _(hint));
  else if (is_mine(self))
    pla_tools_set(tools, PLA_TOOL_NONE, NULL, NULL);
  redraw(self);
}

/* somebody else took the pointer, or Escape gave it back */
static void
on_tool_changed(PlaSurgeryPanel *self)
{
  if (!is_mine(self) && (places(self) || self->instrument == HOOK))
    set_instrument(self, LOOK);
}

/* ------------------------------------------------------------------ read-outs */

static double
number_of(JsonObject *object, const char *key)
{
  return object ? json_object_get_double_member_with_default(object, key, 0.0) : 0.0;
}

static void
add_reading(PlaSurgeryPanel *self, const char *title, char *value) /* takes @value */
{
  pla_panel_rows_add(self->readings_group, self->reading_rows, pla_row_new(title, value));
  g_free(value);
}

static void
show_readings(PlaSurgeryPanel *self, JsonObject *surgery)
{
  pla_panel_rows_clear(self->readings_group, self->reading_rows);
  JsonObject *r = surgery && json_object_has_member(surgery, "readings")
                      ? json_object_get_object_member(surgery, "readings")
                      : NULL;
  if (!r)
    return;
  add_reading(self, _("Largest stretch anywhere"),
              g_strdup_printf("%.0f %%", 100.0 * (number_of(r, "max_stretch") - 1.0)));
  if (number_of(r, "stitches") > 0.0) {
    add_reading(self, _("Stitches"), g_strdup_printf("%.0f", number_of(r, "stitches")));
    add_reading(self, _("Widest gap"), g_strdup_printf("%.2f mm", number_of(r, "edge_gap_mm")));
    add_reading(self, _("Dog-ear"), g_strdup_printf("%.1f mm", number_of(r, "dog_ear_mm")));
    add_reading(self, _("Strongest stitch"),
                g_strdup_printf("%.2f N", number_of(r, "max_tension_n")));
    add_reading(self, _("Closure force"),
                g_strdup_printf("%.2f N", number_of(r, "closure_force_n")));
  }
  if (number_of(r, "hooks") > 0.0)
    add_reading(self, _("Strongest hook"),
                g_strdup_printf("%.2f N", number_of(r, "max_hook_force_n")));
}

/* "Incise “flap”, 43 mm deep 5": a step in words */
static char *
step_title(JsonObject *step, const char **tool, JsonObject **what)
{
  JsonObjectIter iter;
  JsonNode *node = NULL;
  *what = NULL;
  json_object_iter_init(&iter, step);
  if (!json_object_iter_next(&iter, tool, &node))
    return g_strdup("?");
  if (JSON_NODE_HOLDS_OBJECT(node))
    *what = json_node_get_object(node);
  const char *name = NULL;
  if (*what && json_object_has_member(*what, "name"))
    name = json_object_get_string_member_with_default(*what, "name", NULL);
  if (*what && !name && json_object_has_member(*what, "from"))
    name = json_object_get_string_member_with_default(*what, "from", NULL);
  g_autofree char *capital = g_strdup(*tool);
  capital[0] = g_ascii_toupper(capital[0]);
  return name ? g_strdup_printf("%s “%s”", capital, name) : g_steal_pointer(&capital);
}

/* what a step measured, in a few words; g_free() */
static char *
found_text(JsonObject *what, JsonObject *found)
{
  GString *text = g_string_new(NULL);
  if (what && json_object_has_member(what, "depth_mm"))
    g_string_append_printf(text, _("%.1f mm deep, "), number_of(what, "depth_mm"));
  if (found && json_object_has_member(found, "specimen_mm3"))
    g_string_append_printf(text, _("%.2f ml taken out, "), 1e-3 * number_of(found, "specimen_mm3"));
  if (found && json_object_has_member(found, "specimen_g"))
    g_string_append_printf(text, _("%.2f g, "), number_of(found, "specimen_g"));
  if (found && json_object_has_member(found, "stitches"))
    g_string_append_printf(text, _("%.0f stitches, "), number_of(found, "stitches"));
  if (found && number_of(found, "open_mm") > 0.05)
    g_string_append_printf(text, _("%.1f mm of the edge open at tips, "),
                           number_of(found, "open_mm"));
  if (found && json_object_has_member(found, "converged")) {
    const gboolean fine = json_object_get_boolean_member(found, "converged");
    g_string_append_printf(text,
                           fine ? _("in equilibrium, %.0e unbalanced, ")
                                : _("NOT in equilibrium, %.0e unbalanced, "),
                           number_of(found, "residual_rel"));
  }
  if (text->len > 2)
    g_string_truncate(text, text->len - 2);
  return g_string_free(text, FALSE);
}

static JsonArray *
array_of(JsonObject *object, const char *key)
{
  JsonNode *node = object ? json_object_get_member(object, key) : NULL;
  return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static void
show_done(PlaSurgeryPanel *self, JsonObject *surgery)
{
  pla_panel_rows_clear(self->done_group, self->done_rows);
  JsonArray *steps = array_of(surgery, "steps"), *found = array_of(surgery, "found");
  const guint n = steps ? json_array_get_length(steps) : 0;
  gboolean settled = TRUE;
  for (guint i = 0; i < n; i++) {
    const char *tool = "";
    JsonObject *what;
    g_autofree char *title = step_title(json_array_get_object_element(steps, i), &tool, &what);
    JsonObject *numbers =
        found && i < json_array_get_length(found) ? json_array_get_object_element(found, i) : NULL;
    g_autofree char *detail = found_text(what, numbers);
    g_autofree char *numbered = g_strdup_printf("%u · %s", i + 1, title);
    GtkWidget *row = pla_row_new(numbered, NULL);
    if (*detail)
      adw_action_row_set_subtitle(ADW_ACTION_ROW(row), detail);
    pla_panel_rows_add(self->done_group, self->done_rows, row);
    settled =
        strcmp(tool, "solve") == 0
            ? numbers && json_object_get_boolean_member_with_default(numbers, "converged", FALSE)
            : FALSE;
  }
  gtk_widget_set_visible(GTK_WIDGET(self->done_group), n > 0);
  gtk_label_set_label(self->shown,
                      n == 0    ? _("Shown: the body at rest, untouched.")
                      : settled ? _("Shown: the equilibrium.")
                                : _("Shown: the last shape. Tissue has not settled since the last "
                                    "step."));
}

/* maps in the order of the list */
static const struct {
  const char *id, *unit, *threshold;
  double limit; /* at first */
} maps[] = { { "tissue", "", N_("_Threshold"), 1 },
             { "skin-stretch", "%", N_("_Threshold (%)"), PLA_PLAN_STRETCH_LIMIT },
             { "displacement", "mm", N_("_Threshold (mm)"), 10 },
             { "skin-tension", "kPa", N_("_Threshold (kPa)"), 5 },
             { "skin-pressure", "kPa", N_("_Threshold (kPa)"), 5 } };

/* how much skin lies above the threshold */
static void
show_above(PlaSurgeryPanel *self)
{
  const guint map = adw_combo_row_get_selected(self->map);
  const PlaMesh *mesh = self->body ? pla_entry_get_mesh(self->body) : NULL;
  double lo, hi;
  const double *value = self->body ? pla_entry_get_values(self->body, &lo, &hi) : NULL;
  const PlaField *wound = mesh ? pla_mesh_find_field(mesh, "wound", PLA_ON_CELLS) : NULL;
  const double limit = gtk_spin_button_get_value(self->threshold);
  const gboolean shown = map > 0 && mesh && value && wound && wound->dtype == PLA_I8;
  gtk_widget_set_visible(self->threshold_row, map > 0);
  gtk_widget_set_visible(GTK_WIDGET(self->above), shown);
  if (!shown)
    return;
  double area = 0.0;
  for (int t = 0; t < mesh->n_tris; t++) {
    const int *v = &mesh->tri[3 * t];
    if (((const int8_t *)wound->data)[t] || (value[v[0]] + value[v[1]] + value[v[2]]) / 3.0 < limit)
      continue;
    double e[3], f[3];
    for (int d = 0; d < 3; d++) {
      e[d] = mesh->pos[3 * v[1] + d] - mesh->pos[3 * v[0] + d];
      f[d] = mesh->pos[3 * v[2] + d] - mesh->pos[3 * v[0] + d];
    }
    const double n[3] = { e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2],
                          e[0] * f[1] - e[1] * f[0] };
    area += 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  }
  g_autofree char *text =
      g_strdup_printf(_("%.1f cm² of skin lie above %.0f %s, the darkest colour."), 1e4 * area,
                      limit, maps[map].unit);
  gtk_label_set_label(self->above, text);
}

static void
show_map(PlaSurgeryPanel *self)
{
  const guint map = adw_combo_row_get_selected(self->map);
  if (self->following || !self->body || map >= G_N_ELEMENTS(maps))
    return;
  const PlaFieldView *view = pla_field_view_find(maps[map].id);
  const double limit = map > 0 ? gtk_spin_button_get_value(self->threshold) : 1.0;
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(self->threshold_row), _(maps[map].threshold));
  pla_entry_set_field(self->body, view, view->centred ? -limit : 0.0, limit);
  show_above(self);
}

/* another map: another unit, and so another threshold */
static void
on_map(PlaSurgeryPanel *self)
{
  const guint map = adw_combo_row_get_selected(self->map);
  if (map > 0 && map < G_N_ELEMENTS(maps))
    gtk_spin_button_set_value(self->threshold, maps[map].limit);
  show_map(self);
}

/* ------------------------------------------------------------------- update */

static void
find_body(PlaEntry *entry, gpointer data)
{
  PlaContent *content = pla_entry_get_content(entry);
  if (content && strcmp(content->kind, PLA_ITEM_BODY) == 0)
    *(PlaEntry **)data = entry;
}

static void
offer_wounds(PlaSurgeryPanel *self, JsonObject *surgery)
{
  JsonArray *list = array_of(surgery, "wounds");
  g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
  g_ptr_array_set_size(self->wounds, 0);
  for (guint i = 0; list && i < json_array_get_length(list); i++) {
    const char *name =
        json_object_get_string_member_with_default(json_array_get_object_element(list, i), "name",
                                                   "");
    g_ptr_array_add(self->wounds, g_strdup(name));
    gtk_string_list_append(names, name);
  }
  AdwComboRow *const rows[] = { self->from, self->first, self->second };
  for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
    adw_combo_row_set_model(rows[i], G_LIST_MODEL(names));
    if (self->wounds->len > 0)
      adw_combo_row_set_selected(rows[i], self->wounds->len - 1);
  }
}

/* a depth, the bone, and what the body consists of */
static void
offer_levels(PlaSurgeryPanel *self, JsonObject *surgery)
{
  JsonArray *list = array_of(surgery, "tissues");
  g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
  const guint chosen = adw_combo_row_get_selected(self->level);
  gtk_string_list_append(names, _("At a depth"));
  gtk_string_list_append(names, _("On bone (periosteum)"));
  for (guint i = 0; list && i < json_array_get_length(list); i++)
    gtk_string_list_append(names, json_array_get_string_element(list, i));
  adw_combo_row_set_model(self->level, G_LIST_MODEL(names));
  if (chosen < g_list_model_get_n_items(G_LIST_MODEL(names)))
    adw_combo_row_set_selected(self->level, chosen);
}

static void
on_level(PlaSurgeryPanel *self)
{
  show_rows(self);
  redraw(self);
}

static void
update(PlaSurgeryPanel *self)
{
  PlaEntry *body = NULL;
  pla_document_foreach(self->document, find_body, &body);
  PlaContent *content = body ? pla_entry_get_content(body) : NULL;
  const gboolean labels = pla_document_get_labels_name(self->document) != NULL &&
                          pla_document_get_session(self->document) != NULL;
  gtk_widget_set_visible(self->nothing, !labels && !body);
  gtk_widget_set_visible(self->prepare_group, labels && !body);
  gtk_widget_set_visible(self->table, body != NULL);
  g_set_object(&self->body, body);
  if (content != self->content) {
    g_clear_pointer(&self->live, pla_live_stop);
    self->live_shown = FALSE;
    g_clear_pointer(&self->content, pla_content_unref);
    self->content = content ? pla_content_ref(content) : NULL;
    JsonObject *surgery = content ? pla_body_get_surgery(content) : NULL;
    self->following = TRUE;
    offer_wounds(self, surgery);
    offer_levels(self, surgery);
    self->following = FALSE;
    show_readings(self, surgery);
    show_done(self, surgery);
    show_map(self);
    if (places(self))
      suggest_name(self);
    make_sketcher(self);
    if (!body)
      set_instrument(self, LOOK);
    redraw(self);
  }
  update_actions(self);
}

static void
on_shape_changed(PlaSurgeryPanel *self, PlaEntry *entry)
{
  update(self);
}

static void
on_unmap(PlaSurgeryPanel *self)
{
  stop_live(self);
  set_instrument(self, LOOK);
  show_marks(self);
  show_sketch(self);
}

/* --------------------------------------------------------------------- type */

static void
pla_surgery_panel_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(object);
  if (id == PROP_TOOL)
    g_value_set_string(value, instruments[self->instrument].id);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void
pla_surgery_panel_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(object);
  for (int i = 0; id == PROP_TOOL && self->document && i < N_INSTRUMENTS; i++)
    if (g_strcmp0(g_value_get_string(value), instruments[i].id) == 0)
      set_instrument(self, (Instrument)i);
}

static void
pla_surgery_panel_dispose(GObject *object)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(object);
  g_clear_pointer(&self->live, pla_live_stop);
  g_clear_pointer(&self->sketcher, pla_sketcher_free);
  g_clear_pointer(&self->sketcher_for, pla_content_unref);
  g_clear_pointer(&self->content, pla_content_unref);
  g_clear_pointer(&self->points, g_array_unref);
  g_clear_pointer(&self->wounds, g_ptr_array_unref);
  g_clear_pointer(&self->reading_rows, g_ptr_array_unref);
  g_clear_pointer(&self->done_rows, g_ptr_array_unref);
  g_clear_object(&self->body);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_surgery_panel_parent_class)->dispose(object);
}

static void
pla_surgery_panel_class_init(PlaSurgeryPanelClass *klass)
{
  GObjectClass *object = G_OBJECT_CLASS(klass);
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  object->dispose = pla_surgery_panel_dispose;
  object->get_property = pla_surgery_panel_get_property;
  object->set_property = pla_surgery_panel_set_property;
  props[PROP_TOOL] =
      g_param_spec_string("tool", NULL, NULL, "none",
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);
  g_object_class_install_properties(object, N_PROPS, props);
  gtk_widget_class_set_template_from_resource(widget,
                                              "/org/platysma/Platysma/panels/surgery-panel.ui");
#define CHILD(NAME) gtk_widget_class_bind_template_child(widget, PlaSurgeryPanel, NAME)
  CHILD(nothing);
  CHILD(prepare_group);
  CHILD(table);
  CHILD(apply_box);
  CHILD(release_box);
  CHILD(apply);
  CHILD(points_row);
  CHILD(smooth_row);
  CHILD(depth_row);
  CHILD(bevel_row);
  CHILD(radius_row);
  CHILD(spacing_row);
  CHILD(tighten_row);
  CHILD(live_row);
  CHILD(threshold_row);
  CHILD(size_row);
  CHILD(angle_row);
  CHILD(turn_row);
  CHILD(mirror_row);
  CHILD(kind);
  CHILD(size);
  CHILD(angle);
  CHILD(turn);
  CHILD(mirror);
  CHILD(step_group);
  CHILD(readings_group);
  CHILD(done_group);
  CHILD(name);
  CHILD(from);
  CHILD(level);
  CHILD(first);
  CHILD(second);
  CHILD(map);
  CHILD(lattice);
  CHILD(depth);
  CHILD(bevel);
  CHILD(radius);
  CHILD(spacing);
  CHILD(tighten);
  CHILD(threshold);
  CHILD(smooth);
  CHILD(live_switch);
  CHILD(say);
  CHILD(shown);
  CHILD(above);
#undef CHILD
  gtk_widget_class_install_property_action(widget, "surgery.tool", "tool");
  gtk_widget_class_install_action(widget, "surgery.prepare", NULL, on_prepare);
  gtk_widget_class_install_action(widget, "surgery.add-point", NULL, on_add_point);
  gtk_widget_class_install_action(widget, "surgery.remove-point", NULL, on_remove_point);
  gtk_widget_class_install_action(widget, "surgery.clear", NULL, on_clear);
  gtk_widget_class_install_action(widget, "surgery.apply", NULL, on_apply);
  gtk_widget_class_install_action(widget, "surgery.release", NULL, on_release);
  gtk_widget_class_install_action(widget, "surgery.solve", NULL, on_solve);
}

static void
pla_surgery_panel_init(PlaSurgeryPanel *self)
{
  self->points = g_array_new(FALSE, FALSE, sizeof(double));
  self->wounds = g_ptr_array_new_with_free_func(g_free);
  self->reading_rows = g_ptr_array_new();
  self->done_rows = g_ptr_array_new();
  gtk_widget_init_template(GTK_WIDGET(self));
}

GtkWidget *
pla_surgery_panel_new(PlaDocument *document)
{
  PlaSurgeryPanel *self = g_object_new(PLA_TYPE_SURGERY_PANEL, NULL);
  self->document = g_object_ref(document);
  PlaTools *tools = pla_document_get_tools(document);
  g_signal_connect_object(document, "reset", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "notify::busy", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "shape-changed", G_CALLBACK(on_shape_changed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "picked", G_CALLBACK(on_picked), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "placed", G_CALLBACK(on_placed), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "dragged", G_CALLBACK(on_dragged), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "tool-changed", G_CALLBACK(on_tool_changed), self,
                          G_CONNECT_SWAPPED);
  GtkSpinButton *const spins[] = { self->depth,   self->bevel, self->radius, self->spacing,
                                   self->tighten, self->size,  self->angle,  self->turn };
  g_autoptr(GtkStringList) kinds = gtk_string_list_new(NULL);
  for (const PlaTemplate *const *kind = pla_templates_get(); *kind; kind++)
    gtk_string_list_append(kinds, _((*kind)->title));
  adw_combo_row_set_model(self->kind, G_LIST_MODEL(kinds));
  self->normal[2] = 1.0;
  for (size_t i = 0; i < G_N_ELEMENTS(spins); i++)
    g_signal_connect_swapped(spins[i], "value-changed", G_CALLBACK(redraw), self);
  AdwComboRow *const rows[] = { self->from, self->first, self->second };
  for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
    g_signal_connect_swapped(rows[i], "notify::selected", G_CALLBACK(redraw), self);
  g_signal_connect_swapped(self->kind, "notify::selected", G_CALLBACK(on_kind), self);
  g_signal_connect_swapped(self->level, "notify::selected", G_CALLBACK(on_level), self);
  g_signal_connect_swapped(self->mirror, "notify::active", G_CALLBACK(redraw), self);
  g_signal_connect_swapped(self->smooth, "notify::active", G_CALLBACK(redraw), self);
  g_signal_connect_swapped(self->name, "changed", G_CALLBACK(update_actions), self);
  g_signal_connect_swapped(self->map, "notify::selected", G_CALLBACK(on_map), self);
  g_signal_connect_swapped(self->threshold, "value-changed", G_CALLBACK(show_map), self);
  g_signal_connect(self, "unmap", G_CALLBACK(on_unmap), NULL);
  g_signal_connect(self, "map", G_CALLBACK(redraw), NULL);
  on_kind(self);
  say(self, NULL, FALSE);
  update(self);
  return GTK_WIDGET(self);
}
