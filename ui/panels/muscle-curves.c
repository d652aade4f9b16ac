/* Draws the channels of the chosen muscle over time in a plot, with a cursor at the present
 * frame. */
#include "ui/panels/muscle-curves.h"

#include "app/base/quantity.h"

#include <glib/gi18n.h>
#include <string.h>

struct _PlaMuscleCurves {
  GObject parent_instance;
  AdwComboRow *choice;
  PlaPlotView *plot;
  PlaMotionPlayer *stage;
  GPtrArray *stems; /* of names of muscles */
  gboolean following;
};

G_DEFINE_FINAL_TYPE(PlaMuscleCurves, pla_muscle_curves, G_TYPE_OBJECT)

/* muscles by their stem, then the jaw */
static void
offer(PlaMuscleCurves *self, const PlaPerformance *p)
{
  g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
  g_autoptr(GPtrArray) stems = g_ptr_array_new_with_free_func(g_free);
  const int n = p ? pla_active_n_muscles(p->body->model) : 0;
  for (int m = 0; m < n; m++) {
    g_autofree char *stem = g_strdup(pla_active_muscle_name(p->body->model, m));
    for (const char *const *side = (const char *[]){ ", left", ", right", NULL }; *side; side++)
      if (g_str_has_suffix(stem, *side))
        stem[strlen(stem) - strlen(*side)] = '\0';
    if (!g_ptr_array_find_with_equal_func(stems, stem, g_str_equal, NULL))
      g_ptr_array_add(stems, g_steal_pointer(&stem));
  }
  if (p && pla_active_jaw(p->body->model))
    g_ptr_array_add(stems, g_strdup("jaw opening"));
  gboolean same = stems->len == self->stems->len;
  for (guint i = 0; same && i < stems->len; i++)
    same = strcmp(stems->pdata[i], self->stems->pdata[i]) == 0;
  if (same)
    return;
  guint begin = 0;
  for (guint i = 0; i < stems->len; i++) {
    gtk_string_list_append(names, stems->pdata[i]);
    if (strcmp(stems->pdata[i], "zygomaticus major") == 0)
      begin = i;
  }
  g_ptr_array_unref(self->stems);
  self->stems = g_steal_pointer(&stems);
  self->following = TRUE;
  adw_combo_row_set_model(self->choice, G_LIST_MODEL(names));
  if (self->stems->len > 0)
    adw_combo_row_set_selected(self->choice, begin);
  self->following = FALSE;
}

/* of an axis; g_free() */
static char *
quantity_title(PlaQuantityId id)
{
  const PlaQuantity *quantity = pla_quantity_get(id);
  return pla_quantity_heading(_(quantity->label), quantity->unit);
}

static void
draw(PlaMuscleCurves *self, const PlaPerformance *p)
{
  const guint which = adw_combo_row_get_selected(self->choice);
  if (!p || p->moves.n_frames == 0 || which >= self->stems->len) {
    pla_plot_view_take(self->plot, NULL);
    return;
  }
  const char *stem = self->stems->pdata[which];
  const PlaTrack *track = p->track->track;
  const size_t n = (size_t)track->n_samples;
  const gboolean jaw = g_str_has_prefix(stem, "jaw");
  g_autofree char *x_title = quantity_title(PLA_QUANTITY_TIME);
  g_autofree char *y_title = quantity_title(jaw ? PLA_QUANTITY_ANGLE : PLA_QUANTITY_ACTIVATION);
  PlaPlot *plot = pla_plot_new(stem, x_title, y_title);
  g_autofree double *x = g_new(double, n + 1), *y = g_new(double, n + 1);
  for (int c = 0; c < track->n_channels; c++) {
    const char *name = track->name[c];
    const size_t length = strlen(stem);
    if (strncmp(name, stem, length) != 0 || (name[length] != '\0' && name[length] != ','))
      continue;
    for (size_t f = 0; f < n; f++) {
      x[f] = track->start_s + (track->rate_hz > 0.0 ? (double)f / track->rate_hz : (double)f);
      y[f] = track->value[f * (size_t)track->n_channels + (size_t)c];
    }
    const char *side = strstr(name, ", left")    ? _("left")
                       : strstr(name, ", right") ? _("right")
                                                 : name;
    pla_plot_add(plot, side, PLA_SERIES_LINE, x, y, track->n_samples);
  }
  pla_plot_view_take(self->plot, plot);
}

static void
on_chosen(PlaMuscleCurves *self)
{
  if (!self->following)
    draw(self, pla_motion_player_get(self->stage));
}

void
pla_muscle_curves_update(PlaMuscleCurves *self)
{
  const PlaPerformance *p = pla_motion_player_get(self->stage);
  offer(self, p);
  draw(self, p);
}

void
pla_muscle_curves_set_time(PlaMuscleCurves *self, double time_s)
{
  pla_plot_view_set_cursor(self->plot, time_s);
}

static void
pla_muscle_curves_dispose(GObject *object)
{
  PlaMuscleCurves *self = PLA_MUSCLE_CURVES(object);
  g_clear_object(&self->choice);
  g_clear_object(&self->plot);
  g_clear_object(&self->stage);
  g_clear_pointer(&self->stems, g_ptr_array_unref);
  G_OBJECT_CLASS(pla_muscle_curves_parent_class)->dispose(object);
}

static void
pla_muscle_curves_class_init(PlaMuscleCurvesClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_muscle_curves_dispose;
}

static void
pla_muscle_curves_init(PlaMuscleCurves *self)
{
  self->stems = g_ptr_array_new_with_free_func(g_free);
  self->plot = PLA_PLOT_VIEW(g_object_ref_sink(pla_plot_view_new()));
}

PlaMuscleCurves *
pla_muscle_curves_new(PlaMotionPlayer *stage, AdwComboRow *choice, AdwBin *place)
{
  PlaMuscleCurves *self = g_object_new(PLA_TYPE_MUSCLE_CURVES, NULL);
  self->stage = g_object_ref(stage);
  self->choice = g_object_ref(choice);
  adw_bin_set_child(place, GTK_WIDGET(self->plot));
  g_signal_connect_object(choice, "notify::selected", G_CALLBACK(on_chosen), self,
                          G_CONNECT_SWAPPED);
  return self;
}
