/* What is simulated and how: fills the values of "simulate" from rows and places, and runs it. */
#include "ui/panels/simulate-private.h"

#include "app/content/made.h"
#include "app/simulate/tissue-choice.h"
#include "app/verbs/verb-lists.h"
#include "ui/widgets/param-row.h"

#include <glib/gi18n.h>
#include <string.h>

G_DEFINE_FINAL_TYPE(PlaSimulatePanel, pla_simulate_panel, ADW_TYPE_BIN)

/* stiffness in the order of its row, as operations name it */
enum { TYPICAL = 1 };
static const char *const levels[] = { "low", "typical", "high" };

static PlaEntry *
chosen(GPtrArray *entries, AdwComboRow *row)
{
  guint i = adw_combo_row_get_selected(row);
  return i < entries->len ? entries->pdata[i] : NULL;
}

PlaEntry *
pla_simulate_get_body(PlaSimulatePanel *self)
{
  return chosen(self->bodies, self->mesh);
}

PlaEntry *
pla_simulate_get_result(PlaSimulatePanel *self)
{
  return chosen(self->results, self->result);
}

/* the mesh that an entry is the deformed shape of, or NULL; borrowed */
static const char *
simulated(PlaEntry *entry)
{
  PlaContent *content = pla_entry_get_content(entry);
  return content ? pla_content_get_made(content).simulated : NULL;
}

gboolean
pla_simulate_is_body(PlaSimulatePanel *self, PlaEntry *entry)
{
  PlaEntry *body = pla_simulate_get_body(self);
  return body && entry &&
         (entry == body || g_strcmp0(simulated(entry), pla_entry_get_name(body)) == 0);
}

void
pla_simulate_show_failure(PlaSimulatePanel *self, const char *sentence)
{
  gtk_label_set_label(self->failure, sentence ? sentence : "");
  gtk_widget_set_visible(self->failure_box, sentence && *sentence);
}

/* ------------------------------------------------------------------- values */

static void
add_place(PlaVerbValues *values, const PlaSimulatePlace *place, double force_n)
{
  double newton[3];
  for (int d = 0; d < 3; d++)
    newton[d] = force_n * place->way_mm[d];
  switch (place->kind) {
  case PLA_MARK_POINT: /* of drawings and recordings, which this panel has none of */
  case PLA_MARK_MARKER:
  case PLA_MARK_MISFIT:
  case PLA_N_MARKS:
    break;
  case PLA_MARK_HELD:
    pla_simulate_hold_near(values, place->at_mm, place->radius_mm);
    break;
  case PLA_MARK_HOOK:
    pla_simulate_add_hook(values, place->at_mm, place->way_mm, place->radius_mm);
    break;
  case PLA_MARK_LOAD:
    pla_simulate_add_load(values, place->at_mm, place->radius_mm, newton);
    break;
  }
}

void
pla_simulate_fill_values(PlaSimulatePanel *self)
{
  PlaVerbValues *values = self->values;
  const char *const lists[] = { "materials", "fixed", "hooks", "loads" };
  for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
    pla_verb_values_clear_list(values, lists[i]);
  pla_verb_values_set_text(values, "item", pla_entry_get_name(pla_simulate_get_body(self)));
  for (guint r = 0; r < self->regions->len; r++)
    pla_simulate_add_material(values, g_array_index(self->regions, int, r),
                              pla_tissue_id(
                                  (int)adw_combo_row_get_selected(self->presets->pdata[r])),
                              levels[adw_combo_row_get_selected(self->stiffness)]);
  for (guint h = 0; h < self->holders->len; h++) {
    const PlaSimulateHolder *holder = &g_array_index(self->holders, PlaSimulateHolder, h);
    if (!gtk_switch_get_active(holder->active))
      continue;
    if (holder->label > 0)
      pla_simulate_hold_label(values, pla_document_get_labels_name(self->document), holder->label,
                              holder->within_mm);
    else
      pla_simulate_hold_plane(values, holder->through_mm, holder->normal, holder->within_mm);
  }
  for (guint i = 0; i < self->places->len; i++)
    add_place(values, &g_array_index(self->places, PlaSimulatePlace, i),
              gtk_spin_button_get_value(self->force));
}

/* -------------------------------------------------------------------- solve */

static void
on_solved(gpointer owner, const char *failure)
{
  PlaSimulatePanel *self = owner;
  pla_simulate_show_failure(self, failure);
  gtk_widget_set_visible(self->show_element, FALSE);
}

static void
on_solve(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSimulatePanel *self = PLA_SIMULATE_PANEL(widget);
  if (!pla_simulate_get_body(self))
    return;
  pla_simulate_fill_values(self);
  pla_simulate_stop_live(self);
  pla_simulate_show_failure(self, NULL);
  pla_tools_set(pla_document_get_tools(self->document), PLA_TOOL_NONE, NULL, NULL);
  pla_document_run_for(self->document, _("Solving"), self->values, on_solved, G_OBJECT(self));
}

static void
on_increments(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSimulatePanel *self = PLA_SIMULATE_PANEL(widget);
  pla_verb_values_set_int(self->values, "steps",
                          MAX(4, 2 * pla_verb_values_get_int(self->values, "steps")));
  gtk_widget_activate_action(widget, "simulate.solve", NULL);
}

static void
on_show_element(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSimulatePanel *self = PLA_SIMULATE_PANEL(widget);
  PlaEntry *entry = pla_simulate_get_result(self);
  const PlaMesh *mesh = entry ? pla_entry_get_mesh(entry) : NULL;
  double at[3] = { 0.0, 0.0, 0.0 };
  if (!mesh || self->worst_element < 0 || self->worst_element >= mesh->n_tets)
    return;
  for (int a = 0; a < 4; a++)
    for (int d = 0; d < 3; d++)
      at[d] +=
          250.0 *
          mesh->pos[3 * (size_t)mesh->tet[4 * (size_t)self->worst_element + (size_t)a] + (size_t)d];
  pla_document_set_cursor(self->document, at);
}

static void
on_clear(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSimulatePanel *self = PLA_SIMULATE_PANEL(widget);
  pla_simulate_stop_live(self);
  g_array_set_size(self->places, 0);
  pla_simulate_show_marks(self);
  pla_simulate_update_places(self);
}

/* ------------------------------------------------------------------- update */

typedef struct {
  GPtrArray *bodies, *results;
} Sorted;

static void
sort_entry(PlaEntry *entry, gpointer data)
{
  Sorted *sorted = data;
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  if (pla_entry_get_kind(entry) != PLA_ENTRY_MESH || !mesh || mesh->n_tets + mesh->n_hexes == 0 ||
      pla_entry_get_item(entry) == 0)
    return;
  g_ptr_array_add(simulated(entry) ? sorted->results : sorted->bodies, g_object_ref(entry));
}

static gboolean
same_entries(GPtrArray *a, GPtrArray *b)
{
  gboolean same = a->len == b->len;
  for (guint i = 0; same && i < a->len; i++)
    same = a->pdata[i] == b->pdata[i];
  return same;
}

static void
offer(AdwComboRow *row, GPtrArray *entries)
{
  g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
  for (guint i = 0; i < entries->len; i++)
    gtk_string_list_append(names, pla_entry_get_name(entries->pdata[i]));
  adw_combo_row_set_model(row, G_LIST_MODEL(names));
  if (entries->len > 0)
    adw_combo_row_set_selected(row, entries->len - 1);
}

static void
update(PlaSimulatePanel *self)
{
  g_autoptr(GPtrArray) bodies = g_ptr_array_new_with_free_func(g_object_unref);
  g_autoptr(GPtrArray) results = g_ptr_array_new_with_free_func(g_object_unref);
  pla_document_foreach(self->document, sort_entry, &(Sorted){ bodies, results });
  const gboolean new_bodies = !same_entries(bodies, self->bodies),
                 new_results = !same_entries(results, self->results);
  self->following = TRUE;
  if (new_bodies) {
    g_ptr_array_unref(self->bodies);
    self->bodies = g_ptr_array_ref(bodies);
    offer(self->mesh, bodies);
  }
  if (new_results) {
    g_ptr_array_unref(self->results);
    self->results = g_ptr_array_ref(results);
    offer(self->result, results);
  }
  self->following = FALSE;
  if (new_bodies)
    pla_simulate_set_up(self, pla_simulate_get_body(self));
  PlaEntry *entry = pla_simulate_get_result(self);
  if (new_results) {
    pla_simulate_stop_live(self);
    pla_simulate_show_failure(self, NULL);
    pla_simulate_show_result(self, entry);
  }
  gtk_widget_set_visible(self->body, self->bodies->len > 0);
  gtk_widget_set_visible(self->nothing, self->bodies->len == 0);
  gtk_widget_set_visible(self->result_group, self->results->len > 0);
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "simulate.solve",
                                self->bodies->len > 0 && !pla_document_get_busy(self->document));
}

static void
on_mesh(PlaSimulatePanel *self)
{
  if (!self->following)
    pla_simulate_set_up(self, pla_simulate_get_body(self));
}

static void
on_unmap(PlaSimulatePanel *self)
{
  if (pla_simulate_is_mine(self))
    pla_tools_set(pla_document_get_tools(self->document), PLA_TOOL_NONE, NULL, NULL);
  pla_simulate_stop_live(self);
  pla_simulate_show_marks(self);
}

/* --------------------------------------------------------------------- type */

static void
pla_simulate_panel_dispose(GObject *object)
{
  PlaSimulatePanel *self = PLA_SIMULATE_PANEL(object);
  g_clear_pointer(&self->live, pla_live_stop);
  g_clear_pointer(&self->live_pos, g_free);
  g_clear_pointer(&self->setup_for, pla_content_unref);
  g_clear_pointer(&self->bodies, g_ptr_array_unref);
  g_clear_pointer(&self->results, g_ptr_array_unref);
  g_clear_pointer(&self->tissue_rows, g_ptr_array_unref);
  g_clear_pointer(&self->held_rows, g_ptr_array_unref);
  g_clear_pointer(&self->pull_rows, g_ptr_array_unref);
  g_clear_pointer(&self->presets, g_ptr_array_unref);
  g_clear_pointer(&self->regions, g_array_unref);
  g_clear_pointer(&self->holders, g_array_unref);
  g_clear_pointer(&self->places, g_array_unref);
  g_clear_object(&self->values);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_simulate_panel_parent_class)->dispose(object);
}

static void
pla_simulate_panel_class_init(PlaSimulatePanelClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_simulate_panel_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  gtk_widget_class_set_template_from_resource(widget,
                                              "/org/platysma/Platysma/panels/simulate-panel.ui");
#define CHILD(NAME) gtk_widget_class_bind_template_child(widget, PlaSimulatePanel, NAME)
  CHILD(body);
  CHILD(nothing);
  CHILD(mesh);
  CHILD(tissue_group);
  CHILD(stiffness);
  CHILD(held_group);
  CHILD(hold_tool);
  CHILD(pull_group);
  CHILD(hook_tool);
  CHILD(load_tool);
  CHILD(force);
  CHILD(gravity);
  CHILD(live_switch);
  CHILD(live_state);
  CHILD(steps);
  CHILD(failure_box);
  CHILD(failure);
  CHILD(show_element);
  CHILD(result_group);
  CHILD(result);
  CHILD(field);
  CHILD(lo);
  CHILD(hi);
  CHILD(quality);
#undef CHILD
  gtk_widget_class_install_action(widget, "simulate.solve", NULL, on_solve);
  gtk_widget_class_install_action(widget, "simulate.increments", NULL, on_increments);
  gtk_widget_class_install_action(widget, "simulate.show-element", NULL, on_show_element);
  gtk_widget_class_install_action(widget, "simulate.clear", NULL, on_clear);
}

static void
pla_simulate_panel_init(PlaSimulatePanel *self)
{
  self->bodies = g_ptr_array_new_with_free_func(g_object_unref);
  self->results = g_ptr_array_new_with_free_func(g_object_unref);
  self->tissue_rows = g_ptr_array_new();
  self->held_rows = g_ptr_array_new();
  self->pull_rows = g_ptr_array_new();
  self->presets = g_ptr_array_new();
  self->regions = g_array_new(FALSE, FALSE, sizeof(int));
  self->holders = g_array_new(FALSE, FALSE, sizeof(PlaSimulateHolder));
  self->places = g_array_new(FALSE, FALSE, sizeof(PlaSimulatePlace));
  self->worst_element = -1;
  gtk_widget_init_template(GTK_WIDGET(self));
  self->values = pla_verb_values_new("simulate");
  pla_param_row_bind(self->gravity, self->values, "gravity_m_s2");
  pla_param_row_bind(self->steps, self->values, "steps");
  adw_combo_row_set_selected(self->stiffness, TYPICAL);
  adw_combo_row_set_selected(self->field, 1);
}

GtkWidget *
pla_simulate_panel_new(PlaDocument *document)
{
  PlaSimulatePanel *self = g_object_new(PLA_TYPE_SIMULATE_PANEL, NULL);
  self->document = g_object_ref(document);
  g_signal_connect_object(document, "reset", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "notify::busy", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  pla_simulate_connect_hand(self);
  pla_simulate_connect_result(self);
  g_signal_connect_swapped(self->mesh, "notify::selected", G_CALLBACK(on_mesh), self);
  g_signal_connect_swapped(self->stiffness, "notify::selected", G_CALLBACK(pla_simulate_stop_live),
                           self);
  g_signal_connect_object(self->values, "changed::gravity_m_s2", G_CALLBACK(pla_simulate_stop_live),
                          self, G_CONNECT_SWAPPED);
  g_signal_connect(self, "unmap", G_CALLBACK(on_unmap), NULL);
  g_signal_connect(self, "map", G_CALLBACK(pla_simulate_show_marks), NULL);
  update(self);
  return GTK_WIDGET(self);
}
