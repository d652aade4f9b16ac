/* Builds one row of sliders per muscle stem, filters them by name, and sends each change to the
 * player. */
#include "ui/panels/muscle-pose.h"

#include "app/base/quantity.h"
#include "app/verbs/verb-lists.h"
#include "ui/widgets/panel-rows.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

struct _PlaMusclePose {
  AdwBin parent_instance;
  PlaMotionPlayer *stage;
  GtkWidget *box, *search, *presets;
  GtkLabel *shown;
  AdwEntryRow *name;
  GtkSwitch *linked, *see;
  AdwPreferencesGroup *muscle_group, *jaw_group;
  GPtrArray *rows;     /* of muscle_group, borrowed; each has its title as "search-text" */
  GPtrArray *jaw_rows; /* of jaw_group, borrowed */
  GPtrArray *scales;   /* of GtkScale by control, borrowed */
  GPtrArray *names;    /* of the controls */
  GArray *partner;     /* of int: the control of the other side, or -1 */
  gboolean following;
};

G_DEFINE_FINAL_TYPE(PlaMusclePose, pla_muscle_pose, ADW_TYPE_BIN)

/* ready-made expressions, both sides alike; amounts by eye on the head phantom */
static const struct {
  const char *id, *title;
  struct {
    const char *control;
    double value;
  } part[6];
} expressions[] = {
  { "smile",
    N_("_Smile"),
    { { "zygomaticus major", 0.7 },
      { "zygomaticus minor", 0.3 },
      { "risorius", 0.3 },
      { "orbicularis oculi", 0.3 },
      { "levator anguli oris", 0.3 } } },
  { "frown",
    N_("_Frown"),
    { { "corrugator supercilii", 0.8 },
      { "procerus", 0.5 },
      { "depressor anguli oris", 0.7 },
      { "mentalis", 0.4 } } },
  { "surprise", N_("S_urprise"), { { "frontalis", 0.8 }, { "jaw opening", 12.0 } } },
  { "pucker",
    N_("_Pucker"),
    { { "orbicularis oris superior", 0.8 },
      { "orbicularis oris inferior", 0.8 },
      { "mentalis", 0.2 } } },
  { "open", N_("_Open"), { { "jaw opening", 18.0 } } },
};

/* ----------------------------------------------------------------------- sliders */

static double
range_factor(const PlaActiveModel *model, int c)
{
  /* sliders speak the units of tracks: degrees and millimetres */
  const int jaw = c - pla_active_n_muscles(model);
  return jaw < 0                  ? 1.0
         : jaw == PLA_JAW_OPENING ? pla_unit_convert(1.0, PLA_UNIT_RAD, PLA_UNIT_DEG)
                                  : pla_unit_convert(1.0, PLA_UNIT_M, PLA_UNIT_MM);
}

static void
show_state(PlaMusclePose *self)
{
  static const char *const texts[] = {
    [PLA_SHOWN_REST] = N_("Shown: at rest. Move a slider, and the body follows."),
    [PLA_SHOWN_STORED] = N_("Shown: a stored shape."),
    [PLA_SHOWN_MOVING] = N_("Shown: the last shape; the next one is on its way."),
    [PLA_SHOWN_LIVE] = N_("Shown: in equilibrium."),
    [PLA_SHOWN_SHORT] = N_("Shown: the last equilibrium that was found. These activations have "
                           "none; relax some muscles."),
  };
  gtk_label_set_label(self->shown, _(texts[pla_motion_player_get_shown(self->stage)]));
}

static void
send_pose(PlaMusclePose *self)
{
  const PlaPerformance *p = pla_motion_player_get(self->stage);
  if (!p)
    return;
  g_autofree double *control = g_new0(double, (gsize)self->scales->len + 1);
  for (guint c = 0; c < self->scales->len; c++)
    control[c] = gtk_range_get_value(GTK_RANGE(self->scales->pdata[c])) /
                 range_factor(p->body->model, (int)c);
  pla_motion_player_pose(self->stage, control);
}

static void
on_scale(GtkRange *scale, PlaMusclePose *self)
{
  if (self->following)
    return;
  guint c;
  if (!g_ptr_array_find(self->scales, scale, &c))
    return;
  const int other = g_array_index(self->partner, int, c);
  if (other >= 0 && gtk_switch_get_active(self->linked)) {
    self->following = TRUE;
    gtk_range_set_value(GTK_RANGE(self->scales->pdata[other]), gtk_range_get_value(scale));
    self->following = FALSE;
  }
  send_pose(self);
}

static GtkWidget *
new_scale(PlaMusclePose *self, const char *name, double upper, double step, int digits)
{
  GtkWidget *scale = gtk_scale_new_with_range(GTK_ORIENTATION_HORIZONTAL, 0.0, upper, step);
  gtk_scale_set_draw_value(GTK_SCALE(scale), TRUE);
  gtk_scale_set_value_pos(GTK_SCALE(scale), GTK_POS_RIGHT);
  gtk_scale_set_digits(GTK_SCALE(scale), digits);
  gtk_widget_set_hexpand(scale, TRUE);
  gtk_accessible_update_property(GTK_ACCESSIBLE(scale), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  g_signal_connect(scale, "value-changed", G_CALLBACK(on_scale), self);
  return scale;
}

/* a title over one slider, or over that of the right and that of the left side */
static GtkWidget *
new_row(const char *title, GtkWidget *right, GtkWidget *left)
{
  GtkWidget *row = adw_preferences_row_new();
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *label = gtk_label_new(title);
  gtk_label_set_xalign(GTK_LABEL(label), 0.0f);
  gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
  gtk_widget_set_margin_start(box, 12);
  gtk_widget_set_margin_end(box, 6);
  gtk_widget_set_margin_top(box, 6);
  gtk_widget_set_margin_bottom(box, 3);
  gtk_box_append(GTK_BOX(box), label);
  GtkWidget *const scale[2] = { right, left };
  static const char *const side[2] = { NC_("side", "R"), NC_("side", "L") };
  for (int i = 0; i < 2 && scale[i]; i++) {
    if (left) {
      GtkWidget *letter = gtk_label_new(g_dpgettext2(NULL, "side", side[i]));
      gtk_widget_add_css_class(letter, "dim-label");
      gtk_box_append(GTK_BOX(line), letter);
    }
    gtk_box_append(GTK_BOX(line), scale[i]);
  }
  gtk_box_append(GTK_BOX(box), line);
  gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(row), box);
  gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(row), FALSE);
  adw_preferences_row_set_use_markup(ADW_PREFERENCES_ROW(row), FALSE);
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), title);
  return row;
}

/* "risorius" of "risorius, left"; g_free() */
static char *
stem_of(const char *name, const char *side)
{
  return g_str_has_suffix(name, side) ? g_strndup(name, strlen(name) - strlen(side)) : NULL;
}

static void
add_muscle_rows(PlaMusclePose *self, const PlaActiveModel *model)
{
  const int n = pla_active_n_muscles(model);
  for (int m = 0; m < n; m++) {
    const char *name = pla_active_muscle_name(model, m);
    g_autofree char *left_stem = stem_of(name, ", left");
    g_autofree char *right_stem = stem_of(name, ", right");
    const char *stem = left_stem ? left_stem : right_stem;
    g_autofree char *other_name =
        stem ? g_strconcat(stem, left_stem ? ", right" : ", left", NULL) : NULL;
    const int other = other_name ? pla_active_find_muscle(model, other_name) : -1;
    g_array_index(self->partner, int, m) = other;
    if (other >= 0 && other < m)
      continue; /* the row is there */
    GtkWidget *mine = new_scale(self, name, 1.0, 0.01, 2);
    GtkWidget *its = other >= 0 ? new_scale(self, other_name, 1.0, 0.01, 2) : NULL;
    self->scales->pdata[m] = mine;
    if (other >= 0)
      self->scales->pdata[other] = its;
    GtkWidget *row = other < 0   ? new_row(name, mine, NULL)
                     : left_stem ? new_row(stem, its, mine)
                                 : new_row(stem, mine, its);
    pla_panel_rows_add(self->muscle_group, self->rows, row);
  }
}

static void
add_jaw_rows(PlaMusclePose *self, const PlaActiveModel *model)
{
  static const char *const titles[PLA_JAW_DOFS] = { N_("Opening"), N_("Right condyle slides"),
                                                    N_("Left condyle slides") };
  const int first = pla_active_n_muscles(model), n = pla_active_n_controls(model);
  g_autofree double *lo = g_new(double, (gsize)n + 1), *hi = g_new(double, (gsize)n + 1);
  pla_active_limits(model, lo, hi);
  for (int c = first; c < n; c++) {
    const double factor = range_factor(model, c);
    const int k = c - first;
    const PlaQuantityId quantity = k == 0 ? PLA_QUANTITY_ANGLE : PLA_QUANTITY_MOTION;
    g_autofree char *title = pla_quantity_row_title(_(titles[k]), pla_quantity_get(quantity)->unit);
    GtkWidget *scale = new_scale(self, title, factor * hi[c], k == 0 ? 0.5 : 0.1, 1);
    gtk_range_set_range(GTK_RANGE(scale), factor * lo[c], factor * hi[c]);
    self->scales->pdata[c] = scale;
    g_array_index(self->partner, int, c) = -1;
    pla_panel_rows_add(self->jaw_group, self->jaw_rows, new_row(title, scale, NULL));
  }
  gtk_widget_set_visible(GTK_WIDGET(self->jaw_group), n > first);
}

static void
on_search(PlaMusclePose *self)
{
  g_autofree char *wanted = g_utf8_casefold(gtk_editable_get_text(GTK_EDITABLE(self->search)), -1);
  for (guint i = 0; i < self->rows->len; i++) {
    g_autofree char *title =
        g_utf8_casefold(adw_preferences_row_get_title(self->rows->pdata[i]), -1);
    gtk_widget_set_visible(self->rows->pdata[i], strstr(title, wanted) != NULL);
  }
}

static gboolean
same_controls(PlaMusclePose *self, const PlaActiveModel *model)
{
  gboolean same = (int)self->names->len == pla_active_n_controls(model);
  for (int m = 0; same && m < pla_active_n_muscles(model); m++)
    same = strcmp(self->names->pdata[m], pla_active_muscle_name(model, m)) == 0;
  return same;
}

/* another body: other sliders */
static void
on_changed(PlaMusclePose *self)
{
  const PlaPerformance *p = pla_motion_player_get(self->stage);
  if (p && same_controls(self, p->body->model))
    return;
  static const char *const jaw[PLA_JAW_DOFS] = { "jaw opening", "jaw slide right",
                                                 "jaw slide left" };
  pla_panel_rows_clear(self->muscle_group, self->rows);
  pla_panel_rows_clear(self->jaw_group, self->jaw_rows);
  const int n = p ? pla_active_n_controls(p->body->model) : 0;
  const int n_muscles = p ? pla_active_n_muscles(p->body->model) : 0;
  g_ptr_array_set_size(self->scales, 0);
  g_ptr_array_set_size(self->scales, n);
  g_array_set_size(self->partner, (guint)n);
  g_ptr_array_set_size(self->names, 0);
  for (int c = 0; c < n; c++)
    g_ptr_array_add(self->names, g_strdup(c < n_muscles ? pla_active_muscle_name(p->body->model, c)
                                                        : jaw[c - n_muscles]));
  if (p) {
    add_muscle_rows(self, p->body->model);
    add_jaw_rows(self, p->body->model);
  }
  gtk_widget_set_visible(self->presets,
                         p && pla_active_find_muscle(p->body->model, "risorius, left") >= 0);
  on_search(self);
  show_state(self);
}

/* the sliders follow what is shown, where it was not moved by them */
static void
on_moved(PlaMusclePose *self)
{
  const PlaPerformance *p = pla_motion_player_get(self->stage);
  const double *control = pla_motion_player_get_controls(self->stage);
  if (!gtk_widget_get_mapped(GTK_WIDGET(self)) || !p || !same_controls(self, p->body->model))
    return;
  self->following = TRUE;
  for (guint c = 0; c < self->scales->len; c++) {
    const double value = control[c] * range_factor(p->body->model, (int)c);
    if (fabs(gtk_range_get_value(self->scales->pdata[c]) - value) > 1e-9)
      gtk_range_set_value(self->scales->pdata[c], value);
  }
  self->following = FALSE;
  show_state(self);
}

/* ------------------------------------------------------------------------- public */

GtkSwitch *
pla_muscle_pose_get_see(PlaMusclePose *self)
{
  return self->see;
}

const char *
pla_muscle_pose_get_name(PlaMusclePose *self)
{
  return gtk_editable_get_text(GTK_EDITABLE(self->name));
}

void
pla_muscle_pose_fill_controls(PlaMusclePose *self, PlaVerbValues *values)
{
  pla_verb_values_clear_list(values, "controls");
  for (guint c = 0; c < self->scales->len; c++) {
    const double value = gtk_range_get_value(self->scales->pdata[c]);
    if (value != 0.0)
      pla_pose_add_control(values, self->names->pdata[c], round(1e4 * value) / 1e4);
  }
}

GtkRange *
pla_muscle_pose_find(PlaMusclePose *self, const char *control)
{
  for (guint c = 0; c < self->names->len; c++)
    if (strcmp(self->names->pdata[c], control) == 0)
      return self->scales->pdata[c];
  return NULL;
}

void
pla_muscle_pose_relax(PlaMusclePose *self)
{
  self->following = TRUE;
  for (guint c = 0; c < self->scales->len; c++)
    gtk_range_set_value(self->scales->pdata[c], 0.0);
  self->following = FALSE;
  send_pose(self);
}

gboolean
pla_muscle_pose_express(PlaMusclePose *self, const char *expression)
{
  gboolean found = FALSE;
  for (size_t e = 0; e < G_N_ELEMENTS(expressions); e++) {
    if (strcmp(expressions[e].id, expression) != 0)
      continue;
    self->following = TRUE;
    for (guint c = 0; c < self->scales->len; c++) {
      double value = 0.0;
      for (size_t k = 0; k < G_N_ELEMENTS(expressions[e].part) && expressions[e].part[k].control;
           k++) {
        const char *stem = expressions[e].part[k].control, *name = self->names->pdata[c];
        const size_t length = strlen(stem);
        if (strncmp(name, stem, length) == 0 && (name[length] == ',' || name[length] == '\0'))
          value = expressions[e].part[k].value;
      }
      found = found || value > 0.0;
      gtk_range_set_value(self->scales->pdata[c], value);
    }
    self->following = FALSE;
    send_pose(self);
  }
  return found;
}

void
pla_muscle_pose_set_stage(PlaMusclePose *self, PlaMotionPlayer *stage)
{
  self->stage = g_object_ref(stage);
  g_signal_connect_object(stage, "changed", G_CALLBACK(on_changed), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(stage, "moved", G_CALLBACK(on_moved), self, G_CONNECT_SWAPPED);
  on_changed(self);
}

/* --------------------------------------------------------------------------- type */

static void
pla_muscle_pose_dispose(GObject *object)
{
  PlaMusclePose *self = PLA_MUSCLE_POSE(object);
  g_clear_object(&self->stage);
  g_clear_pointer(&self->rows, g_ptr_array_unref);
  g_clear_pointer(&self->jaw_rows, g_ptr_array_unref);
  g_clear_pointer(&self->scales, g_ptr_array_unref);
  g_clear_pointer(&self->names, g_ptr_array_unref);
  g_clear_pointer(&self->partner, g_array_unref);
  G_OBJECT_CLASS(pla_muscle_pose_parent_class)->dispose(object);
}

static void
pla_muscle_pose_class_init(PlaMusclePoseClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_muscle_pose_dispose;
}

static GtkWidget *
new_button(const char *label, const char *action, const char *target)
{
  GtkWidget *button = gtk_button_new_with_mnemonic(label);
  gtk_actionable_set_action_name(GTK_ACTIONABLE(button), action);
  if (target)
    gtk_actionable_set_action_target(GTK_ACTIONABLE(button), "s", target);
  gtk_widget_set_hexpand(button, TRUE);
  return button;
}

static void
add_hand_group(PlaMusclePose *self)
{
  GtkWidget *group = adw_preferences_group_new();
  adw_preferences_group_set_title(ADW_PREFERENCES_GROUP(group), _("By hand"));
  adw_preferences_group_set_description(
      ADW_PREFERENCES_GROUP(group),
      _("0 is at rest, 1 fully contracted. The body takes the shape in which all forces balance."));
  self->presets = gtk_flow_box_new();
  gtk_flow_box_set_selection_mode(GTK_FLOW_BOX(self->presets), GTK_SELECTION_NONE);
  gtk_flow_box_set_max_children_per_line(GTK_FLOW_BOX(self->presets), 3);
  for (size_t e = 0; e < G_N_ELEMENTS(expressions); e++)
    gtk_flow_box_insert(GTK_FLOW_BOX(self->presets),
                        new_button(_(expressions[e].title), "muscles.express", expressions[e].id),
                        -1);
  for (int i = 0; i < (int)G_N_ELEMENTS(expressions); i++)
    gtk_widget_set_focusable(
        GTK_WIDGET(gtk_flow_box_get_child_at_index(GTK_FLOW_BOX(self->presets), i)), FALSE);
  GtkWidget *relax = new_button(_("_Relax"), "muscles.relax", NULL);
  self->shown = GTK_LABEL(gtk_label_new(NULL));
  gtk_label_set_wrap(self->shown, TRUE);
  gtk_label_set_xalign(self->shown, 0.0f);
  gtk_widget_add_css_class(GTK_WIDGET(self->shown), "caption");
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
  gtk_box_append(GTK_BOX(box), self->presets);
  gtk_box_append(GTK_BOX(box), relax);
  gtk_box_append(GTK_BOX(box), GTK_WIDGET(self->shown));
  adw_preferences_group_add(ADW_PREFERENCES_GROUP(group), box);
  gtk_box_append(GTK_BOX(self->box), group);
}

static void
add_options_group(PlaMusclePose *self)
{
  GtkWidget *group = adw_preferences_group_new();
  AdwPreferencesGroup *rows = ADW_PREFERENCES_GROUP(group);
  adw_preferences_group_add(rows, pla_switch_row_new(_("Both sides together"), NULL, TRUE,
                                                     &self->linked));
  adw_preferences_group_add(rows, pla_switch_row_new(_("Muscles through the skin"),
                                                     _("Lines, brighter where they contract"), TRUE,
                                                     &self->see));
  self->name = ADW_ENTRY_ROW(adw_entry_row_new());
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(self->name), _("_Name of the pose"));
  adw_preferences_row_set_use_underline(ADW_PREFERENCES_ROW(self->name), TRUE);
  gtk_editable_set_text(GTK_EDITABLE(self->name), _("pose"));
  adw_preferences_group_add(rows, GTK_WIDGET(self->name));
  GtkWidget *keep = new_button(_("_Keep This Pose"), "muscles.keep", NULL);
  gtk_widget_add_css_class(keep, "pill");
  gtk_widget_add_css_class(keep, "suggested-action");
  gtk_widget_set_margin_top(keep, 12);
  adw_preferences_group_add(rows, keep);
  gtk_box_append(GTK_BOX(self->box), group);
}

static AdwPreferencesGroup *
add_group(PlaMusclePose *self, const char *title)
{
  GtkWidget *group = adw_preferences_group_new();
  adw_preferences_group_set_title(ADW_PREFERENCES_GROUP(group), title);
  gtk_box_append(GTK_BOX(self->box), group);
  return ADW_PREFERENCES_GROUP(group);
}

static void
pla_muscle_pose_init(PlaMusclePose *self)
{
  self->rows = g_ptr_array_new();
  self->jaw_rows = g_ptr_array_new();
  self->scales = g_ptr_array_new();
  self->names = g_ptr_array_new_with_free_func(g_free);
  self->partner = g_array_new(FALSE, TRUE, sizeof(int));
  self->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 18);
  adw_bin_set_child(ADW_BIN(self), self->box);
  add_hand_group(self);
  add_options_group(self);
  self->jaw_group = add_group(self, _("Jaw"));
  self->search = gtk_search_entry_new();
  g_object_set(self->search, "placeholder-text", _("Find a muscle"), NULL);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->search), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Find a muscle"), -1);
  g_signal_connect_swapped(self->search, "search-changed", G_CALLBACK(on_search), self);
  gtk_box_append(GTK_BOX(self->box), self->search);
  self->muscle_group = add_group(self, _("Muscles"));
  g_signal_connect(self, "map", G_CALLBACK(on_moved), NULL);
}
