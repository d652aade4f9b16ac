/* Places on the body that are held, hooked or pushed, the pointer that sets them, and the live
 * solve that follows a hook. */
#include "ui/panels/simulate-private.h"

#include "app/base/quantity.h"
#include "ui/widgets/panel-rows.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------- places */

void
pla_simulate_show_marks(PlaSimulatePanel *self)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  g_autoptr(GArray) marks = g_array_new(FALSE, TRUE, sizeof(PlaMark));
  for (guint i = 0; gtk_widget_get_mapped(GTK_WIDGET(self)) && i < self->places->len; i++) {
    const PlaSimulatePlace *place = &g_array_index(self->places, PlaSimulatePlace, i);
    PlaMark mark = { .kind = place->kind, .radius_mm = place->radius_mm };
    memcpy(mark.at_mm, place->at_mm, sizeof mark.at_mm);
    if (place->kind == PLA_MARK_HOOK)
      memcpy(mark.pull_mm, place->way_mm, sizeof mark.pull_mm);
    /* a newton is drawn ten millimetres long */
    for (int d = 0; place->kind == PLA_MARK_LOAD && d < 3; d++)
      mark.pull_mm[d] = 10.0 * gtk_spin_button_get_value(self->force) * place->way_mm[d];
    g_array_append_val(marks, mark);
  }
  pla_tools_set_marks(tools, (const PlaMark *)(gpointer)marks->data, (int)marks->len);
}

void
pla_simulate_stop_live(PlaSimulatePanel *self)
{
  PlaEntry *body = pla_simulate_get_body(self);
  g_clear_pointer(&self->live, pla_live_stop);
  if (self->live_pos && body)
    pla_tools_move(pla_document_get_tools(self->document), body, NULL);
  g_clear_pointer(&self->live_pos, g_free);
  gtk_widget_set_visible(GTK_WIDGET(self->live_state), FALSE);
}

static void
on_remove_place(GtkButton *button, PlaSimulatePanel *self)
{
  guint i = GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(button), "place"));
  pla_simulate_stop_live(self);
  if (i < self->places->len)
    g_array_remove_index(self->places, i);
  pla_simulate_show_marks(self);
  pla_simulate_update_places(self);
}

/* the button inside a removable row */
static void
tag_button(GtkWidget *widget, guint place)
{
  if (GTK_IS_BUTTON(widget))
    g_object_set_data(G_OBJECT(widget), "place", GUINT_TO_POINTER(place));
  for (GtkWidget *child = gtk_widget_get_first_child(widget); child;
       child = gtk_widget_get_next_sibling(child))
    tag_button(child, place);
}

void
pla_simulate_update_places(PlaSimulatePanel *self)
{
  static const char *const names[] = { [PLA_MARK_HELD] = N_("Held place %d"),
                                       [PLA_MARK_HOOK] = N_("Hook %d"),
                                       [PLA_MARK_LOAD] = N_("Push %d") };
  int count[3] = { 0 };
  pla_panel_rows_clear(self->pull_group, self->pull_rows);
  for (guint i = 0; i < self->places->len; i++) {
    const PlaSimulatePlace *place = &g_array_index(self->places, PlaSimulatePlace, i);
    const double *at = place->at_mm, *way = place->way_mm;
    /* the names are a fixed table of formats with one number */
    g_autofree char *number = g_strdup_printf("%d", ++count[place->kind]);
    g_auto(GStrv) parts = g_strsplit(_(names[place->kind]), "%d", 2);
    g_autofree char *title = g_strjoinv(number, parts);
    g_autofree char *far = pla_quantity_text(PLA_QUANTITY_DISPLACEMENT,
                                             hypot(hypot(way[0], way[1]), way[2]), PLA_UNIT_MM);
    g_autofree char *subtitle =
        place->kind == PLA_MARK_HOOK
            ? g_strdup_printf(_("%s from (%.0f, %.0f, %.0f)"), far, at[0], at[1], at[2])
            : g_strdup_printf(_("at (%.0f, %.0f, %.0f) %s"), at[0], at[1], at[2],
                              pla_unit_symbol(PLA_UNIT_MM));
    g_autofree char *remove = g_strdup_printf(_("Remove %s"), title);
    GtkWidget *row =
        pla_removable_row_new(title, subtitle, remove, G_CALLBACK(on_remove_place), self);
    tag_button(row, i);
    pla_panel_rows_add(self->pull_group, self->pull_rows, row);
  }
}

/* --------------------------------------------------------------------- live */

static void
on_live(const PlaLiveShape *shape, const PlaError *err, void *data)
{
  PlaSimulatePanel *self = data;
  PlaEntry *body = pla_simulate_get_body(self);
  if (!shape) {
    pla_simulate_show_failure(self, err->message);
    pla_simulate_stop_live(self);
    return;
  }
  if (!body || pla_entry_get_mesh(body)->n_verts != shape->n_verts)
    return;
  g_free(self->live_pos);
  self->live_pos = g_memdup2(shape->pos, 3 * (gsize)shape->n_verts * sizeof *shape->pos);
  pla_tools_move(pla_document_get_tools(self->document), body, shape->pos);
  g_autofree char *text =
      shape->settled
          ? g_strdup(_("The body is at rest. Solve computes and stores the exact equilibrium."))
          : g_strdup_printf(_("Following the hook: residual %.2g %%"), 100.0 * shape->residual_rel);
  gtk_label_set_label(self->live_state, text);
  gtk_widget_set_visible(GTK_WIDGET(self->live_state), TRUE);
}

/* the newest place of a hook replaces the old one; the solver starts where none runs */
static void
follow(PlaSimulatePanel *self, guint place)
{
  PlaSession *session = pla_document_get_session(self->document);
  if (!session || !gtk_switch_get_active(self->live_switch))
    return;
  if (!self->live) {
    pla_simulate_fill_values(self);
    const PlaRequest request = pla_verb_values_get_request(self->values);
    pla_simulate_show_failure(self, NULL);
    self->live = pla_live_start(pla_session_get_path(session), pla_session_get_state(session),
                                &request, on_live, self);
    return;
  }
  int hook = 0;
  for (guint i = 0; i < place; i++)
    hook += g_array_index(self->places, PlaSimulatePlace, i).kind == PLA_MARK_HOOK;
  pla_live_pull(self->live, hook, g_array_index(self->places, PlaSimulatePlace, place).way_mm);
}

/* -------------------------------------------------------------------- tools */

gboolean
pla_simulate_is_mine(PlaSimulatePanel *self)
{
  return pla_tools_get_owner(pla_document_get_tools(self->document)) == self;
}

/* where a point picked on the body as it is shown lies when the body is at rest */
static void
to_rest(PlaSimulatePanel *self, PlaEntry *entry, const PlaScenePick *pick, double at_mm[3])
{
  PlaEntry *body = pla_simulate_get_body(self);
  memcpy(at_mm, pick->point_mm, 3 * sizeof *at_mm);
  if (!body || pick->vert < 0)
    return;
  const PlaMesh *rest = pla_entry_get_mesh(body), *shown = pla_entry_get_mesh(entry);
  const double *pos = entry == body ? self->live_pos : shown->pos;
  if (!pos || shown->n_verts != rest->n_verts)
    return;
  for (int d = 0; d < 3; d++)
    at_mm[d] -= 1000.0 * (pos[3 * (size_t)pick->vert + (size_t)d] -
                          rest->pos[3 * (size_t)pick->vert + (size_t)d]);
}

static void
on_picked(PlaSimulatePanel *self, PlaEntry *entry, const PlaScenePick *pick)
{
  if (!pla_simulate_is_mine(self))
    return;
  const gboolean hook = gtk_toggle_button_get_active(self->hook_tool),
                 load = gtk_toggle_button_get_active(self->load_tool);
  PlaSimulatePlace place = { .kind = hook   ? PLA_MARK_HOOK
                                     : load ? PLA_MARK_LOAD
                                            : PLA_MARK_HELD,
                             .radius_mm = hook ? 4.0 : 8.0 };
  if ((hook || load) && !pla_simulate_is_body(self, entry))
    return; /* only the body can be pulled; it may be held by anything near */
  if (entry && pla_simulate_is_body(self, entry))
    to_rest(self, entry, pick, place.at_mm);
  else
    memcpy(place.at_mm, pick->point_mm, sizeof place.at_mm);
  for (int d = 0; load && d < 3; d++)
    place.way_mm[d] = -pick->normal[d];
  pla_simulate_stop_live(self);
  g_array_append_val(self->places, place);
  pla_simulate_show_marks(self);
  pla_simulate_update_places(self);
}

static void
on_dragged(PlaSimulatePanel *self, int mark, const double *pull_mm, gboolean done)
{
  if (!pla_simulate_is_mine(self) || mark < 0 || (guint)mark >= self->places->len)
    return;
  PlaSimulatePlace *place = &g_array_index(self->places, PlaSimulatePlace, (guint)mark);
  memcpy(place->way_mm, pull_mm, sizeof place->way_mm);
  pla_simulate_show_marks(self);
  follow(self, (guint)mark);
  if (done)
    pla_simulate_update_places(self);
}

static void
show_body(PlaSimulatePanel *self)
{
  PlaEntry *body = pla_simulate_get_body(self);
  if (!body)
    return;
  for (guint i = 0; i < self->results->len; i++)
    if (pla_simulate_is_body(self, self->results->pdata[i]))
      pla_entry_set_visible(self->results->pdata[i], FALSE);
  pla_entry_set_visible(body, TRUE);
}

static void
on_tool_toggled(GtkToggleButton *button, PlaSimulatePanel *self)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  if (self->following)
    return;
  if (!gtk_toggle_button_get_active(button)) {
    if (pla_simulate_is_mine(self))
      pla_tools_set(tools, PLA_TOOL_NONE, NULL, NULL);
    return;
  }
  self->following = TRUE;
  GtkToggleButton *const all[] = { self->hold_tool, self->hook_tool, self->load_tool };
  for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
    if (all[i] != button)
      gtk_toggle_button_set_active(all[i], FALSE);
  self->following = FALSE;
  if (button == self->hook_tool) {
    show_body(self);
    pla_tools_set(tools, PLA_TOOL_HOOK, self,
                  _("Press on the skin and drag: the hook pulls it along"));
  } else {
    pla_tools_set(tools, PLA_TOOL_PICK, self,
                  button == self->hold_tool ? _("Click where the body is to be held")
                                            : _("Click where the body is to be pushed"));
  }
}

/* somebody else took the pointer, or Escape gave it back */
static void
on_tool_changed(PlaSimulatePanel *self)
{
  if (pla_simulate_is_mine(self))
    return;
  self->following = TRUE;
  gtk_toggle_button_set_active(self->hold_tool, FALSE);
  gtk_toggle_button_set_active(self->hook_tool, FALSE);
  gtk_toggle_button_set_active(self->load_tool, FALSE);
  self->following = FALSE;
}

static void
on_force(PlaSimulatePanel *self)
{
  pla_simulate_stop_live(self);
  pla_simulate_show_marks(self);
}

void
pla_simulate_connect_hand(PlaSimulatePanel *self)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  g_signal_connect_object(tools, "picked", G_CALLBACK(on_picked), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "dragged", G_CALLBACK(on_dragged), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "tool-changed", G_CALLBACK(on_tool_changed), self,
                          G_CONNECT_SWAPPED);
  GtkToggleButton *const all[] = { self->hold_tool, self->hook_tool, self->load_tool };
  for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
    g_signal_connect(all[i], "toggled", G_CALLBACK(on_tool_toggled), self);
  g_signal_connect_swapped(self->force, "value-changed", G_CALLBACK(on_force), self);
}
