/* The table of instruments and their rows, the actions of the panel, and how a finished step is
 * run as an operation. */
#include "ui/surgery/surgery-panel-private.h"

#include "app/surgery/plan-export.h"
#include "app/verbs/verb-lists.h"
#include "ui/widgets/param-row.h"

#include <glib/gi18n.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct {
  const char *id, *apply, *hint;
  double radius; /* mm, at first; 0: has none */
} instruments[PLA_N_INSTRUMENTS] = {
  [PLA_LOOK] = { "none", NULL, NULL, 0 },
  [PLA_INCISE] = { "incise", N_("_Cut"),
                   N_("Click along the line of the cut; drag points to move them"), 0 },
  [PLA_EXCISE] = { "excise", N_("_Take Out"), N_("Click around what is to be taken out"), 0 },
  [PLA_UNDERMINE] = { "undermine", N_("_Undermine"), NULL, 15 },
  [PLA_HOOK] = { "hook", NULL, N_("Press on the skin and drag: the hook pulls it along"), 0 },
  [PLA_TEMPLATE] = { "template", N_("_Cut and Sew"),
                     N_("Click where the middle of the defect lies; drag it to move the drawing"),
                     0 },
  [PLA_SUTURE] = { "suture", N_("_Sew"), NULL, 0 },
  [PLA_CUT] = { "cut", N_("_Cut Through"), N_("Click where the blade goes"), 60 },
  [PLA_IMPLANT] = { "implant", N_("_Place and Settle"), N_("Click on the skin over the pocket"),
                    8 },
  [PLA_EXPAND] = { "expand", N_("_Fill and Settle"), N_("Click on the skin over the pocket"), 15 },
  [PLA_TENSION] = { "tension", N_("_Strain the Skin"),
                    N_("Click two points for each line that the skin is pulled along"), 0 },
};

enum { PROP_TOOL = 1, N_PROPS };
static GParamSpec *props[N_PROPS];

G_DEFINE_FINAL_TYPE(PlaSurgeryPanel, pla_surgery_panel, ADW_TYPE_BIN)

void
pla_surgery_panel_say(PlaSurgeryPanel *self, const char *text, gboolean bad)
{
  gtk_label_set_label(self->say, text ? text : "");
  gtk_widget_set_visible(GTK_WIDGET(self->say), text && *text);
  if (bad)
    gtk_widget_add_css_class(GTK_WIDGET(self->say), "error");
  else
    gtk_widget_remove_css_class(GTK_WIDGET(self->say), "error");
}

void
pla_surgery_panel_update_actions(PlaSurgeryPanel *self)
{
  GtkWidget *widget = GTK_WIDGET(self);
  const gboolean idle = !self->working && !pla_document_get_busy(self->document);
  const gboolean there = self->body != NULL;
  g_autoptr(PlaToolStep) step =
      there && self->instrument != PLA_HOOK ? pla_surgery_panel_build_step(self) : NULL;
  gtk_widget_action_set_enabled(widget, "surgery.prepare",
                                idle && pla_document_get_labels(self->document) != NULL);
  gtk_widget_action_set_enabled(widget, "surgery.tool", there);
  gtk_widget_action_set_enabled(widget, "surgery.apply", idle && step != NULL);
  gtk_widget_action_set_enabled(widget, "surgery.solve", idle && there);
  gtk_widget_action_set_enabled(widget, "surgery.release", idle && there);
  gtk_widget_action_set_enabled(widget, "surgery.export-plan", there);
  gtk_widget_action_set_enabled(widget, "surgery.add-point",
                                there && pla_surgery_panel_places(self));
  gtk_widget_action_set_enabled(widget, "surgery.remove-point", self->points->len > 0);
  gtk_widget_action_set_enabled(widget, "surgery.clear", self->points->len > 0);
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
    pla_surgery_panel_stop_live(self);
  else
    g_clear_pointer(&self->live, pla_live_stop);
  if (failure) {
    pla_surgery_panel_show_marks(self);
    pla_surgery_panel_say(self, failure, TRUE);
  } else {
    g_array_set_size(self->points, 0);
    pla_surgery_panel_redraw(self);
  }
  pla_surgery_panel_update_actions(self);
}

void
pla_surgery_panel_run_steps(PlaSurgeryPanel *self, GPtrArray *steps, const char *title)
{
  g_autoptr(PlaVerbValues) values = pla_verb_values_new("operate");
  pla_verb_values_set_text(values, "body", pla_entry_get_name(self->body));
  for (guint i = 0; i < steps->len; i++)
    pla_operate_add_step(values, steps->pdata[i]);
  g_ptr_array_unref(steps);
  self->working = TRUE;
  pla_surgery_panel_say(self, NULL, FALSE);
  if (!pla_document_run_for(self->document, title, values, on_done, G_OBJECT(self)))
    self->working = FALSE;
  pla_surgery_panel_update_actions(self);
}

static void
on_apply(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  GPtrArray *steps =
      self->body && self->instrument != PLA_HOOK ? pla_surgery_panel_build_steps(self) : NULL;
  if (steps)
    pla_surgery_panel_run_steps(self, steps, _("Operating"));
}

static void
run_plain(PlaSurgeryPanel *self, const char *tool, const char *title)
{
  GPtrArray *steps = g_ptr_array_new_with_free_func((GDestroyNotify)pla_tool_step_free);
  g_ptr_array_add(steps, pla_tool_step_new(tool));
  pla_surgery_panel_run_steps(self, steps, title);
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
  pla_verb_values_set_text(self->prepare, "item", labels);
  pla_verb_values_clear_list(self->prepare, "bones");
  for (guint i = 0; i < self->bones->len; i++)
    if (gtk_switch_get_active(self->bones->pdata[i]))
      pla_verb_values_add_text(self->prepare, "bones",
                               adw_preferences_row_get_title(
                                   ADW_PREFERENCES_ROW(self->bone_rows->pdata[i])));
  self->working = TRUE;
  if (!pla_document_run_for(self->document, _("Preparing the body"), self->prepare, on_done,
                            G_OBJECT(self)))
    self->working = FALSE;
  pla_surgery_panel_update_actions(self);
}

void
pla_surgery_panel_export_plan(PlaSurgeryPanel *self, const char *path)
{
  PlaSession *session = pla_document_get_session(self->document);
  PlaError err = { 0 };
  if (!self->content || !session)
    return;
  if (pla_plan_export(self->content, pla_session_get_path(session), path, &err) != PLA_OK) {
    pla_surgery_panel_say(self, err.message, TRUE);
    return;
  }
  g_autofree char *text = g_strdup_printf(_("Saved as %s"), path);
  pla_surgery_panel_say(self, text, FALSE);
}

static void
on_export_response(GtkNativeDialog *dialog, int response, PlaSurgeryPanel *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = g_file_get_path(file);
    if (path)
      pla_surgery_panel_export_plan(self, path);
  }
  g_object_unref(dialog);
}

static void
on_export_plan(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  GtkFileChooserNative *dialog =
      gtk_file_chooser_native_new(_("Export Plan"), GTK_WINDOW(gtk_widget_get_root(widget)),
                                  GTK_FILE_CHOOSER_ACTION_SAVE, _("_Export"), _("_Cancel"));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(dialog), TRUE);
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(dialog), "plan.json");
  g_signal_connect_object(dialog, "response", G_CALLBACK(on_export_response), self, 0);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
}

static void
on_add_point(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  double at[3];
  pla_document_get_cursor(self->document, at);
  if (self->preview) {
    double on[3];
    pla_plan_preview_snap(self->preview, at, on, self->normal);
  }
  pla_surgery_panel_set_point(self, at);
  pla_surgery_panel_redraw(self);
}

static void
on_remove_point(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  if (self->points->len >= 3)
    g_array_set_size(self->points, self->points->len - 3);
  pla_surgery_panel_redraw(self);
}

static void
on_clear(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(widget);
  g_array_set_size(self->points, 0);
  pla_surgery_panel_redraw(self);
}

/* ---------------------------------------------------------------- instruments */

static void
suggest_name(PlaSurgeryPanel *self)
{
  const char *stem = self->instrument == PLA_EXCISE     ? _("lesion")
                     : self->instrument == PLA_TEMPLATE ? _("flap")
                     : self->instrument == PLA_IMPLANT  ? _("implant")
                                                        : _("cut");
  for (int i = 1;; i++) {
    g_autofree char *name = i == 1 ? g_strdup(stem) : g_strdup_printf("%s %d", stem, i);
    gboolean taken = FALSE;
    for (guint w = 0; w < self->wounds->len; w++)
      taken |= g_str_has_prefix(self->wounds->pdata[w], name);
    for (guint w = 0; w < self->implants->len; w++)
      taken |= strcmp(((PlaImplantChoice *)self->implants->pdata[w])->name, name) == 0;
    if (!taken) {
      gtk_editable_set_text(GTK_EDITABLE(self->name), name);
      return;
    }
  }
}

#define ROW(MEMBER, ON)                                                                            \
  {                                                                                                \
    offsetof(PlaSurgeryPanel, MEMBER), (ON)                                                        \
  }
#define WITH(NAME) (1u << PLA_##NAME)
/* rows of the step, and the instruments that have them */
static const struct {
  size_t row; /* of a widget in the panel */
  guint on;
} rows[] = {
  ROW(name, WITH(INCISE) | WITH(EXCISE) | WITH(TEMPLATE) | WITH(IMPLANT)),
  ROW(points_row, WITH(INCISE) | WITH(EXCISE) | WITH(TEMPLATE) | WITH(CUT) | WITH(IMPLANT) |
                      WITH(EXPAND) | WITH(TENSION)),
  ROW(smooth_row, WITH(INCISE) | WITH(EXCISE) | WITH(CUT)),
  ROW(depth_row, WITH(INCISE) | WITH(EXCISE) | WITH(UNDERMINE) | WITH(TEMPLATE) | WITH(CUT) |
                     WITH(IMPLANT) | WITH(EXPAND) | WITH(TENSION)),
  ROW(level, WITH(UNDERMINE)),
  ROW(kind, WITH(TEMPLATE)),
  ROW(size_row, WITH(TEMPLATE)),
  ROW(angle_row, WITH(TEMPLATE)),
  ROW(turn_row, WITH(TEMPLATE) | WITH(CUT)),
  ROW(mirror_row, WITH(TEMPLATE)),
  ROW(bevel_row, WITH(INCISE)),
  ROW(from, WITH(UNDERMINE)),
  ROW(radius_row, WITH(UNDERMINE) | WITH(CUT) | WITH(IMPLANT) | WITH(EXPAND)),
  ROW(first, WITH(SUTURE)),
  ROW(second, WITH(SUTURE)),
  ROW(spacing_row, WITH(SUTURE) | WITH(TEMPLATE)),
  ROW(tighten_row, WITH(SUTURE)),
  ROW(live_row, WITH(HOOK)),
  ROW(release_box, WITH(HOOK)),
  ROW(blade, WITH(CUT)),
  ROW(tissue, WITH(CUT)),
  ROW(tilt_row, WITH(CUT)),
  ROW(which, WITH(IMPLANT)),
  ROW(pressure_row, WITH(EXPAND)),
  ROW(stages_row, WITH(IMPLANT) | WITH(EXPAND)),
  ROW(along_row, WITH(TENSION)),
  ROW(across_row, WITH(TENSION)),
};
#undef ROW
#undef WITH

static void
hide_when(GtkWidget *widget, gboolean hidden)
{
  if (hidden)
    gtk_widget_set_visible(widget, FALSE);
}

static void
show_rows(PlaSurgeryPanel *self)
{
  const PlaInstrument i = self->instrument;
  const PlaBladeKind blade = pla_surgery_panel_chosen_blade(self);
  const gboolean cut = i == PLA_CUT, there = pla_surgery_panel_chosen_implant(self) != NULL;
  for (size_t r = 0; r < G_N_ELEMENTS(rows); r++) {
    GtkWidget *widget = *(GtkWidget **)(gpointer)((char *)self + rows[r].row);
    gtk_widget_set_visible(widget, rows[r].on >> i & 1);
  }
  /* what depends on a choice */
  hide_when(self->depth_row, (i == PLA_UNDERMINE && pla_surgery_panel_chosen_level(self)) ||
                                 (cut && blade != PLA_BLADE_LINE) || there);
  hide_when(self->smooth_row, cut && blade != PLA_BLADE_LINE);
  hide_when(self->angle_row, !(pla_surgery_panel_chosen_template(self).angle_deg > 0.0));
  hide_when(self->tilt_row, blade > PLA_BLADE_SAGITTAL);
  hide_when(self->turn_row, cut && blade > PLA_BLADE_SAGITTAL);
  hide_when(self->radius_row, cut && blade >= PLA_BLADE_LINE);
  hide_when(self->points_row, (cut && blade == PLA_BLADE_SURFACES) || there);
  hide_when(GTK_WIDGET(self->name), there);
  gtk_widget_set_visible(GTK_WIDGET(self->step_group), i != PLA_LOOK);
  gtk_widget_set_visible(self->apply_box, instruments[i].apply != NULL);
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(self->name), i == PLA_IMPLANT
                                                                     ? _("Name of the implant")
                                                                     : _("Name of the wound"));
  if (instruments[i].apply)
    gtk_button_set_label(GTK_BUTTON(self->apply), _(instruments[i].apply));
}

/* another kind of template: what its size is, and the customary angle */
static void
on_kind(PlaSurgeryPanel *self)
{
  const PlaTemplateChoice kind = pla_surgery_panel_chosen_template(self);
  adw_action_row_set_subtitle(ADW_ACTION_ROW(self->size_row), _(kind.size));
  if (kind.angle_deg > 0.0) {
    self->following = TRUE;
    gtk_spin_button_set_range(self->angle, kind.min_angle_deg, kind.max_angle_deg);
    gtk_spin_button_set_value(self->angle, kind.angle_deg);
    self->following = FALSE;
  }
  show_rows(self);
  pla_surgery_panel_redraw(self);
}

static void
set_instrument(PlaSurgeryPanel *self, PlaInstrument instrument)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  if (instrument != self->instrument) {
    self->radii[self->instrument] = gtk_spin_button_get_value(self->radius);
    self->instrument = instrument;
    g_array_set_size(self->points, 0);
    self->following = TRUE;
    if (self->radii[instrument] > 0.0)
      gtk_spin_button_set_value(self->radius, self->radii[instrument]);
    self->following = FALSE;
    self->hooking = FALSE;
    if (pla_surgery_panel_places(self))
      suggest_name(self);
    show_rows(self);
    g_object_notify_by_pspec(G_OBJECT(self), props[PROP_TOOL]);
  }
  const char *hint = instruments[instrument].hint;
  if (pla_surgery_panel_places(self))
    pla_tools_set(tools, PLA_TOOL_DRAW, self, _(hint));
  else if (instrument == PLA_HOOK)
    pla_tools_set(tools, PLA_TOOL_HOOK, self, _(hint));
  else if (pla_surgery_panel_is_mine(self))
    pla_tools_set(tools, PLA_TOOL_NONE, NULL, NULL);
  pla_surgery_panel_redraw(self);
}

/* somebody else took the pointer, or Escape gave it back */
static void
on_tool_changed(PlaSurgeryPanel *self)
{
  if (!pla_surgery_panel_is_mine(self) &&
      (pla_surgery_panel_places(self) || self->instrument == PLA_HOOK))
    set_instrument(self, PLA_LOOK);
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
on_choice(PlaSurgeryPanel *self)
{
  if (self->following)
    return;
  show_rows(self);
  pla_surgery_panel_redraw(self);
}

static void
update(PlaSurgeryPanel *self)
{
  PlaEntry *body = NULL;
  pla_document_foreach(self->document, find_body, &body);
  PlaContent *content = body ? pla_entry_get_content(body) : NULL;
  const gboolean labels = pla_document_get_labels(self->document) != NULL;
  gtk_widget_set_visible(self->nothing, !labels && !body);
  gtk_widget_set_visible(self->prepare_group, labels && !body);
  gtk_widget_set_visible(self->table, body != NULL);
  g_set_object(&self->body, body);
  pla_surgery_panel_offer_from_case(self);
  if (content != self->content) {
    g_clear_pointer(&self->live, pla_live_stop);
    self->live_shown = FALSE;
    g_clear_pointer(&self->content, pla_content_unref);
    self->content = content ? pla_content_ref(content) : NULL;
    g_autoptr(PlaSurgeryFacts) facts = content ? pla_surgery_facts_new(content) : NULL;
    pla_surgery_panel_offer_from_body(self, facts);
    show_rows(self);
    pla_surgery_panel_show_readings(self, facts);
    pla_surgery_panel_show_done(self, facts);
    pla_surgery_panel_show_map(self);
    if (pla_surgery_panel_places(self))
      suggest_name(self);
    pla_surgery_panel_make_preview(self);
    if (!body)
      set_instrument(self, PLA_LOOK);
    pla_surgery_panel_redraw(self);
  }
  pla_surgery_panel_update_actions(self);
}

static void
on_shape_changed(PlaSurgeryPanel *self, PlaEntry *entry)
{
  update(self);
}

static void
on_reset(PlaSurgeryPanel *self)
{
  self->aim = TRUE;
  update(self);
}

static void
on_map(PlaSurgeryPanel *self)
{
  pla_surgery_panel_aim(self);
  pla_surgery_panel_redraw(self);
}

static void
on_unmap(PlaSurgeryPanel *self)
{
  pla_surgery_panel_stop_live(self);
  set_instrument(self, PLA_LOOK);
  pla_surgery_panel_show_marks(self);
  pla_surgery_panel_show_sketch(self);
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
  for (int i = 0; id == PROP_TOOL && self->document && i < PLA_N_INSTRUMENTS; i++)
    if (g_strcmp0(g_value_get_string(value), instruments[i].id) == 0)
      set_instrument(self, (PlaInstrument)i);
}

static void
pla_surgery_panel_dispose(GObject *object)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(object);
  g_clear_pointer(&self->live, pla_live_stop);
  g_clear_pointer(&self->preview, pla_plan_preview_free);
  g_clear_pointer(&self->preview_for, pla_content_unref);
  g_clear_pointer(&self->content, pla_content_unref);
  g_clear_pointer(&self->points, g_array_unref);
  g_clear_pointer(&self->wounds, g_ptr_array_unref);
  g_clear_pointer(&self->surfaces, g_ptr_array_unref);
  g_clear_pointer(&self->implants, g_ptr_array_unref);
  g_clear_pointer(&self->bone_rows, g_ptr_array_unref);
  g_clear_pointer(&self->bones, g_ptr_array_unref);
  g_clear_pointer(&self->reading_rows, g_ptr_array_unref);
  g_clear_pointer(&self->done_rows, g_ptr_array_unref);
  g_clear_object(&self->body);
  g_clear_object(&self->prepare);
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
                                              "/org/platysma/Platysma/surgery/surgery-panel.ui");
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
  CHILD(tilt_row);
  CHILD(pressure_row);
  CHILD(stages_row);
  CHILD(along_row);
  CHILD(across_row);
  CHILD(bones_group);
  CHILD(blade);
  CHILD(tissue);
  CHILD(which);
  CHILD(tilt);
  CHILD(pressure);
  CHILD(stages);
  CHILD(along);
  CHILD(across);
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
  gtk_widget_class_install_action(widget, "surgery.export-plan", NULL, on_export_plan);
}

static void
pla_surgery_panel_init(PlaSurgeryPanel *self)
{
  self->points = g_array_new(FALSE, FALSE, sizeof(double));
  self->wounds = g_ptr_array_new_with_free_func(g_free);
  self->surfaces = g_ptr_array_new_with_free_func(g_object_unref);
  self->implants = g_ptr_array_new_with_free_func(pla_surgery_panel_implant_free);
  self->bone_rows = g_ptr_array_new();
  self->bones = g_ptr_array_new();
  for (int i = 0; i < PLA_N_INSTRUMENTS; i++)
    self->radii[i] = instruments[i].radius;
  self->reading_rows = g_ptr_array_new();
  self->done_rows = g_ptr_array_new();
  gtk_widget_init_template(GTK_WIDGET(self));
  self->prepare = pla_verb_values_new("prepare-body");
  pla_param_row_bind(self->lattice, self->prepare, "lattice_mm");
}

GtkWidget *
pla_surgery_panel_new(PlaDocument *document)
{
  PlaSurgeryPanel *self = g_object_new(PLA_TYPE_SURGERY_PANEL, NULL);
  self->document = g_object_ref(document);
  PlaTools *tools = pla_document_get_tools(document);
  g_signal_connect_object(document, "reset", G_CALLBACK(on_reset), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "notify::busy", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "shape-changed", G_CALLBACK(on_shape_changed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "picked", G_CALLBACK(pla_surgery_panel_on_picked), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "placed", G_CALLBACK(pla_surgery_panel_on_placed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "dragged", G_CALLBACK(pla_surgery_panel_on_dragged), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "tool-changed", G_CALLBACK(on_tool_changed), self,
                          G_CONNECT_SWAPPED);
  GtkSpinButton *const spins[] = { self->depth,   self->bevel,    self->radius, self->spacing,
                                   self->tighten, self->size,     self->angle,  self->turn,
                                   self->tilt,    self->pressure, self->stages, self->along,
                                   self->across };
  g_autoptr(GtkStringList) kinds = gtk_string_list_new(NULL);
  for (int i = 0; i < pla_plan_templates_count(); i++)
    gtk_string_list_append(kinds, _(pla_plan_template_get(i).title));
  adw_combo_row_set_model(self->kind, G_LIST_MODEL(kinds));
  self->normal[2] = 1.0;
  for (size_t i = 0; i < G_N_ELEMENTS(spins); i++)
    g_signal_connect_swapped(spins[i], "value-changed", G_CALLBACK(pla_surgery_panel_redraw), self);
  AdwComboRow *const edges[] = { self->from, self->first, self->second };
  for (size_t i = 0; i < G_N_ELEMENTS(edges); i++)
    g_signal_connect_swapped(edges[i], "notify::selected", G_CALLBACK(pla_surgery_panel_redraw),
                             self);
  g_signal_connect_swapped(self->kind, "notify::selected", G_CALLBACK(on_kind), self);
  AdwComboRow *const choices[] = { self->level, self->blade, self->tissue, self->which };
  for (size_t i = 0; i < G_N_ELEMENTS(choices); i++)
    g_signal_connect_swapped(choices[i], "notify::selected", G_CALLBACK(on_choice), self);
  g_signal_connect_swapped(self->mirror, "notify::active", G_CALLBACK(pla_surgery_panel_redraw),
                           self);
  g_signal_connect_swapped(self->smooth, "notify::active", G_CALLBACK(pla_surgery_panel_redraw),
                           self);
  g_signal_connect_swapped(self->name, "changed", G_CALLBACK(pla_surgery_panel_update_actions),
                           self);
  g_signal_connect_swapped(self->map, "notify::selected", G_CALLBACK(pla_surgery_panel_on_map),
                           self);
  g_signal_connect_swapped(self->threshold, "value-changed", G_CALLBACK(pla_surgery_panel_show_map),
                           self);
  g_signal_connect(self, "unmap", G_CALLBACK(on_unmap), NULL);
  g_signal_connect(self, "map", G_CALLBACK(on_map), NULL);
  on_kind(self);
  pla_surgery_panel_say(self, NULL, FALSE);
  update(self);
  return GTK_WIDGET(self);
}
