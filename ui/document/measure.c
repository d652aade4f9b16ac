/* Collects picked points until the measurement is complete, then runs one operation with a free
 * name. */
#include "ui/document/measure.h"

#include "ui/document/annotations.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* the same place again, mm */
#define SAME_MM 1.0

static const struct {
  const char *id, *title; /* title of its name: "Distance 1" */
  int n_points;           /* 0: until the last is picked again */
  const char *hint;
} kinds[] = {
  { "distance", N_("Distance"), 2, N_("Distance: click its two ends") },
  { "angle", N_("Angle"), 3, N_("Angle: click a leg, the corner, the other leg") },
  { "path", N_("Path"), 0, N_("Path: click its points, and the last one again to end it") },
  { "volume", N_("Volume"), 1, N_("Volume: click a tissue or a mesh") },
  { "landmark", N_("Landmark"), 1, N_("Landmark: click its place") },
  { "note", N_("Note"), 1, N_("Note: click the place it is about") },
};

struct _PlaMeasure {
  GObject parent_instance;
  PlaDocument *document;
  GtkWindow *window;
  int kind;      /* -1: none */
  GArray *point; /* of doubles, xyz in mm */
};

G_DEFINE_FINAL_TYPE(PlaMeasure, pla_measure, G_TYPE_OBJECT)

gboolean
pla_measure_is_active(PlaMeasure *self)
{
  return self->kind >= 0;
}

static void
show_points(PlaMeasure *self)
{
  pla_annotations_set_pending(pla_document_get_annotations(self->document),
                              (const double *)(gpointer)self->point->data,
                              (int)self->point->len / 3);
}

static void
stop(PlaMeasure *self)
{
  self->kind = -1;
  g_array_set_size(self->point, 0);
  show_points(self);
  PlaTools *tools = pla_document_get_tools(self->document);
  if (pla_tools_get_owner(tools) == self)
    pla_tools_set(tools, PLA_TOOL_NONE, NULL, NULL);
}

/* "Distance 3": the first number that is free */
static char *
free_name(PlaMeasure *self)
{
  const PlaState *state = pla_session_get_state(pla_document_get_session(self->document));
  for (int i = 1;; i++) {
    g_autofree char *name = g_strdup_printf("%s %d", _(kinds[self->kind].title), i);
    if (!pla_state_find_name(state, name))
      return g_steal_pointer(&name);
  }
}

/* ---------------------------------------------------------------------- notes */

static void
on_note_response(AdwMessageDialog *dialog, const char *response, PlaDocument *document)
{
  PlaVerbValues *values = g_object_get_data(G_OBJECT(dialog), "values");
  GtkTextBuffer *buffer = g_object_get_data(G_OBJECT(dialog), "buffer");
  if (strcmp(response, "write") != 0)
    return;
  GtkTextIter start, end;
  gtk_text_buffer_get_bounds(buffer, &start, &end);
  g_autofree char *text = gtk_text_buffer_get_text(buffer, &start, &end, FALSE);
  pla_verb_values_set_text(values, "text", text);
  pla_document_run(document, _("Writing the note"), values);
}

/* @values of the verb "note" lack the text */
static void
ask_note(PlaMeasure *self, PlaVerbValues *values)
{
  GtkWidget *dialog = adw_message_dialog_new(self->window, _("Note"), NULL);
  GtkWidget *view = gtk_text_view_new(), *scrolled = gtk_scrolled_window_new();
  gtk_text_view_set_wrap_mode(GTK_TEXT_VIEW(view), GTK_WRAP_WORD_CHAR);
  gtk_accessible_update_property(GTK_ACCESSIBLE(view), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("What the note says"), -1);
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), view);
  gtk_widget_set_size_request(scrolled, 380, 140);
  gtk_widget_add_css_class(scrolled, "card");
  adw_message_dialog_set_extra_child(ADW_MESSAGE_DIALOG(dialog), scrolled);
  adw_message_dialog_add_responses(ADW_MESSAGE_DIALOG(dialog), "cancel", _("_Cancel"), "write",
                                   _("_Write"), NULL);
  adw_message_dialog_set_default_response(ADW_MESSAGE_DIALOG(dialog), "write");
  adw_message_dialog_set_response_appearance(ADW_MESSAGE_DIALOG(dialog), "write",
                                             ADW_RESPONSE_SUGGESTED);
  g_object_set_data_full(G_OBJECT(dialog), "values", g_object_ref(values), g_object_unref);
  g_object_set_data(G_OBJECT(dialog), "buffer", gtk_text_view_get_buffer(GTK_TEXT_VIEW(view)));
  g_signal_connect_object(dialog, "response", G_CALLBACK(on_note_response), self->document, 0);
  gtk_window_present(GTK_WINDOW(dialog));
}

/* -------------------------------------------------------------------- picking */

static void
finish(PlaMeasure *self)
{
  const char *id = kinds[self->kind].id;
  const double *point = (const double *)(gpointer)self->point->data;
  const int n = (int)self->point->len / 3;
  const gboolean note = strcmp(id, "note") == 0, landmark = strcmp(id, "landmark") == 0;
  g_autoptr(PlaVerbValues) values =
      pla_verb_values_new(note || landmark ? id : "measure"); /* verbs of these names */
  g_autofree char *name = free_name(self);
  pla_verb_values_set_text(values, "name", name);
  if (note) {
    pla_verb_values_set_point(values, "at_mm", point);
    ask_note(self, values);
  } else if (landmark) {
    pla_verb_values_set_point(values, "at_mm", point);
    pla_document_run(self->document, _("Setting the landmark"), values);
  } else {
    pla_verb_values_set_text(values, "what", id);
    pla_verb_values_set_points(values, "points_mm", point, n);
    pla_document_run(self->document, _("Measuring"), values);
  }
  stop(self);
}

/* the volume of what was picked: an item of the case, or a tissue */
static void
finish_volume(PlaMeasure *self, PlaEntry *entry, const double point_mm[3])
{
  const PlaLabelMap *labels = pla_document_get_labels(self->document);
  const PlaLabel *label = NULL;
  const char *item = NULL;
  PlaSession *session = pla_document_get_session(self->document);
  if (entry && pla_entry_get_kind(entry) == PLA_ENTRY_MESH) {
    const PlaStateItem *found =
        pla_state_find(pla_session_get_state(session), pla_entry_get_item(entry));
    item = found ? found->name : NULL;
  } else if (labels) {
    uint16_t id = 0;
    PlaSlicePlane pixel = pla_slice_plane(PLA_AXIS_AXIAL, point_mm, 1.0, 1, 1, true);
    if (entry && pla_entry_get_kind(entry) == PLA_ENTRY_LABEL)
      id = (uint16_t)pla_entry_get_label(entry);
    else
      pla_slice_labels(labels, &pixel, &id);
    label = pla_label_table_find(&labels->table, id);
    item = label ? pla_document_get_labels_name(self->document) : NULL;
  }
  if (item) {
    g_autoptr(PlaVerbValues) values = pla_verb_values_new("measure");
    g_autofree char *name = g_strdup_printf(_("Volume of %s"), label ? label->name : item);
    pla_verb_values_set_text(values, "name", name);
    pla_verb_values_set_text(values, "what", "volume");
    pla_verb_values_set_text(values, "item", item);
    if (label)
      pla_verb_values_set_text(values, "label", label->name);
    pla_document_run(self->document, _("Measuring"), values);
    stop(self);
  }
}

static void
on_picked(PlaTools *tools, PlaEntry *entry, const PlaScenePick *place, PlaMeasure *self)
{
  if (self->kind < 0 || pla_tools_get_owner(tools) != self)
    return;
  if (strcmp(kinds[self->kind].id, "volume") == 0) {
    finish_volume(self, entry, place->point_mm);
    return;
  }
  const guint n = self->point->len / 3;
  const double *last = n > 0 ? (const double *)(gpointer)self->point->data + 3 * (n - 1) : NULL;
  const gboolean again =
      last && hypot(hypot(place->point_mm[0] - last[0], place->point_mm[1] - last[1]),
                    place->point_mm[2] - last[2]) < SAME_MM;
  if (again) {
    /* ends a path; elsewhere a hand that trembled */
    if (kinds[self->kind].n_points == 0 && n >= 2)
      finish(self);
    return;
  }
  g_array_append_vals(self->point, place->point_mm, 3);
  show_points(self);
  if ((int)self->point->len / 3 == kinds[self->kind].n_points)
    finish(self);
}

/* another tool was taken, or Escape pressed */
static void
on_tool_changed(PlaTools *tools, PlaMeasure *self)
{
  if (self->kind >= 0 && pla_tools_get_owner(tools) != self)
    stop(self);
}

gboolean
pla_measure_begin(PlaMeasure *self, const char *kind)
{
  int k = 0;
  while (k < (int)G_N_ELEMENTS(kinds) && strcmp(kinds[k].id, kind) != 0)
    k++;
  if (k == (int)G_N_ELEMENTS(kinds))
    return FALSE;
  stop(self);
  if (!pla_document_get_session(self->document))
    return FALSE;
  self->kind = k;
  pla_tools_set(pla_document_get_tools(self->document), PLA_TOOL_PICK, self, _(kinds[k].hint));
  return TRUE;
}

/* ----------------------------------------------------------------------- type */

static void
pla_measure_finalize(GObject *object)
{
  g_array_unref(PLA_MEASURE(object)->point);
  G_OBJECT_CLASS(pla_measure_parent_class)->finalize(object);
}

static void
pla_measure_class_init(PlaMeasureClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = pla_measure_finalize;
}

static void
pla_measure_init(PlaMeasure *self)
{
  self->kind = -1;
  self->point = g_array_new(FALSE, FALSE, sizeof(double));
}

PlaMeasure *
pla_measure_new(PlaDocument *document, GtkWindow *window)
{
  PlaMeasure *self = g_object_new(PLA_TYPE_MEASURE, NULL);
  PlaTools *tools = pla_document_get_tools(document);
  self->document = document;
  self->window = window;
  g_signal_connect_object(tools, "picked", G_CALLBACK(on_picked), self, 0);
  g_signal_connect_object(tools, "tool-changed", G_CALLBACK(on_tool_changed), self, 0);
  return self;
}
