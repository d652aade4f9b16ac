/* Estimates the number of elements from volume and area of the chosen tissues, runs the
 * operation, and summarises the mesh on a worker. */
#include "ui/panels/mesh-panel.h"

#include "app/base/quantity.h"
#include "app/show/picture.h"
#include "ui/widgets/panel-rows.h"
#include "ui/widgets/param-row.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

struct _PlaMeshPanel {
  AdwBin parent_instance;
  AdwPreferencesGroup *tissue_group, *result_group;
  GtkWidget *size_group, *nothing, *failure_box;
  GtkWidget *method, *cell; /* rows of parameters */
  GtkSwitch *joined, *edges;
  GtkLabel *estimate, *failure;
  AdwComboRow *colour, *cut;
  PlaDocument *document;
  PlaVerbValues *values;                /* of "mesh" */
  GPtrArray *tissue_rows, *result_rows; /* borrowed */
  GPtrArray *checks;                    /* of GtkCheckButton, borrowed, with their label's id */
  const PlaLabelMap *labels;            /* that the rows are of; compared, never read */
  PlaEntry *shown;                      /* whose numbers are shown, or NULL */
  gboolean following;
  const PlaFieldView *result_field; /* what the shown mesh was coloured by when it came; or NULL */
};

G_DEFINE_FINAL_TYPE(PlaMeshPanel, pla_mesh_panel, ADW_TYPE_BIN)

/* ----------------------------------------------------------------- estimate */

static gboolean
is_air(const char *name)
{
  g_autofree char *folded = g_utf8_casefold(name, -1);
  return strstr(folded, "air") || strstr(folded, "sinus") || strstr(folded, "cavity");
}

typedef struct {
  int label;
  double area_mm2; /* negative: its surface is not there */
} Area;

static void
find_area(PlaEntry *entry, gpointer data)
{
  Area *area = data;
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  if (pla_entry_get_kind(entry) != PLA_ENTRY_LABEL || pla_entry_get_label(entry) != area->label ||
      !mesh)
    return;
  area->area_mm2 = 0.0;
  for (int t = 0; t < mesh->n_tris; t++) {
    const int *v = mesh->tri + 3 * (size_t)t;
    double e[3], f[3], n[3];
    for (int d = 0; d < 3; d++) {
      e[d] = mesh->pos[3 * (size_t)v[1] + (size_t)d] - mesh->pos[3 * (size_t)v[0] + (size_t)d];
      f[d] = mesh->pos[3 * (size_t)v[2] + (size_t)d] - mesh->pos[3 * (size_t)v[0] + (size_t)d];
    }
    for (int d = 0; d < 3; d++)
      n[d] = e[(d + 1) % 3] * f[(d + 2) % 3] - e[(d + 2) % 3] * f[(d + 1) % 3];
    area->area_mm2 += 0.5e6 * hypot(hypot(n[0], n[1]), n[2]);
  }
}

/* Tets that follow borders: cells of the lattice hold twelve each and double in size away from
 * interfaces: a layer a few cells deep along the surface is fine, the rest of the volume costs an
 * eighth or less.  Other methods fill the volume evenly.  Seconds as measured on two cores. */
static void
update_estimate(PlaMeshPanel *self)
{
  const double cell = pla_verb_values_get_number(self->values, "cell_mm");
  const double per_cell = 12.0, fine_cells = 3.8, tets_per_s = 35000.0;
  const gboolean graded = pla_verb_values_holds(self->values, "method", "tets");
  double elements = 0.0;
  int n = 0;
  for (guint i = 0; i < self->checks->len; i++) {
    GtkCheckButton *check = self->checks->pdata[i];
    if (!gtk_check_button_get_active(check))
      continue;
    const int label = GPOINTER_TO_INT(g_object_get_data(G_OBJECT(check), "label"));
    const double volume = pla_document_get_label_mm3(self->document, label);
    Area area = { label, -1.0 };
    pla_document_foreach(self->document, find_area, &area);
    if (area.area_mm2 < 0.0)
      area.area_mm2 = 1.6 * 4.84 * pow(volume, 2.0 / 3.0); /* a ball's, and folds */
    const double layer = graded ? fmin(volume, area.area_mm2 * fine_cells * cell) : volume;
    elements += (graded ? per_cell : 1.0) * (layer + (volume - layer) / 16.0) / pow(cell, 3.0);
    n++;
  }
  const double rounded = pow(10.0, floor(log10(fmax(elements, 100.0))) - 1.0);
  const double about = round(elements / rounded) * rounded;
  const double seconds = fmax(1.0, ceil(elements / tets_per_s));
  g_autofree char *wait = pla_quantity_text(PLA_QUANTITY_ESTIMATE, seconds, PLA_UNIT_S);
  g_autofree char *text =
      n == 0 ? g_strdup(_("Choose at least one tissue."))
      : about < 10000.0
          ? g_strdup_printf(_("About %.0f elements, in about %s."), about, wait)
          : g_strdup_printf(_("About %.0f thousand elements, in about %s."), about / 1000.0, wait);
  gtk_label_set_label(self->estimate, text);
  PlaParamChoice method;
  if (pla_verb_values_get_choice(self->values, "method", &method))
    adw_preferences_group_set_description(ADW_PREFERENCES_GROUP(self->size_group), _(method.about));
  gboolean fits = n > 0 && elements < 2e7;
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "mesh.make", fits);
}

/* --------------------------------------------------------------------- make */

static void
on_made(gpointer owner, const char *failure)
{
  PlaMeshPanel *self = owner;
  gtk_widget_set_visible(self->failure_box, failure && *failure);
  gtk_label_set_label(self->failure, failure ? failure : "");
}

static void
on_make(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMeshPanel *self = PLA_MESH_PANEL(widget);
  const char *item = pla_document_get_labels_name(self->document);
  g_autoptr(GArray) labels = g_array_new(FALSE, FALSE, sizeof(int));
  for (guint i = 0; i < self->checks->len; i++) {
    GtkCheckButton *check = self->checks->pdata[i];
    const int label = GPOINTER_TO_INT(g_object_get_data(G_OBJECT(check), "label"));
    if (gtk_check_button_get_active(check))
      g_array_append_val(labels, label);
  }
  if (!item || labels->len == 0)
    return;
  pla_verb_values_set_text(self->values, "item", item);
  pla_verb_values_clear_list(self->values, "labels");
  /* a list within the list is one tissue */
  if (gtk_switch_get_active(self->joined))
    pla_verb_values_add_ints(self->values, "labels", (const int *)(gpointer)labels->data,
                             (int)labels->len);
  for (guint i = 0; !gtk_switch_get_active(self->joined) && i < labels->len; i++)
    pla_verb_values_add_int(self->values, "labels", g_array_index(labels, int, i));
  gtk_widget_set_visible(self->failure_box, FALSE);
  pla_document_run_for(self->document, _("Making the mesh"), self->values, on_made, G_OBJECT(self));
}

static void
on_coarser(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMeshPanel *self = PLA_MESH_PANEL(widget);
  pla_verb_values_set_number(self->values, "cell_mm",
                             1.5 * pla_verb_values_get_number(self->values, "cell_mm"));
  gtk_widget_activate_action(widget, "mesh.make", NULL);
}

/* ------------------------------------------------------------------- result */

static void
last_solid(PlaEntry *entry, gpointer data)
{
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  if (pla_entry_get_kind(entry) == PLA_ENTRY_MESH && mesh && mesh->n_tets + mesh->n_hexes > 0 &&
      pla_entry_get_visible(entry))
    *(PlaEntry **)data = entry;
}

typedef struct {
  PlaContent *content;
  PlaMeshSummary summary;
  PlaError err;
  PlaStatus status;
} Summing;

static void
summing_free(gpointer data)
{
  Summing *summing = data;
  pla_content_unref(summing->content);
  g_free(summing);
}

static void
sum_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Summing *summing = data;
  summing->status = pla_mesh_summary(summing->content->mesh, &summing->summary, &summing->err);
  g_task_return_boolean(task, TRUE);
}

G_GNUC_PRINTF(3, 4)
static void
add_fact(PlaMeshPanel *self, const char *title, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_autofree char *value = g_strdup_vprintf(format, args);
  va_end(args);
  pla_panel_rows_add(self->result_group, self->result_rows, pla_row_new(title, value));
}

static void
on_summed(GObject *source, GAsyncResult *result, gpointer data)
{
  PlaMeshPanel *self = PLA_MESH_PANEL(source);
  Summing *summing = g_task_get_task_data(G_TASK(result));
  if (!self->document || !self->shown || pla_entry_get_content(self->shown) != summing->content ||
      summing->status != PLA_OK)
    return;
  const PlaMesh *mesh = summing->content->mesh;
  const PlaMeshSummary *sum = &summing->summary;
  pla_panel_rows_clear(self->result_group, self->result_rows);
  add_fact(self, _("Vertices"), "%d", mesh->n_verts);
  if (mesh->n_tets)
    add_fact(self, _("Tetrahedra"), "%d", mesh->n_tets);
  if (mesh->n_hexes)
    add_fact(self, _("Hexahedra"), "%d", mesh->n_hexes);
  g_autofree char *volume =
      pla_quantity_text(PLA_QUANTITY_LISTED_VOLUME, sum->volume_m3, PLA_UNIT_M3);
  add_fact(self, _("Volume"), "%s", volume);
  if (mesh->n_tets) {
    g_autofree char *least =
        pla_quantity_number(PLA_QUANTITY_ELEMENT_ANGLE, sum->min_dihedral_deg, PLA_UNIT_DEG);
    g_autofree char *most =
        pla_quantity_text(PLA_QUANTITY_ELEMENT_ANGLE, sum->max_dihedral_deg, PLA_UNIT_DEG);
    add_fact(self, _("Dihedral angles"), "%s … %s", least, most);
  }
  add_fact(self, _("Inverted elements"), "%d", sum->inverted);
  add_fact(self, _("Pieces"), "%d", sum->components);
}

/* A shape that was simulated may already be in the colours of its result: then those are a choice,
 * too. */
static void
follow_colour(PlaMeshPanel *self)
{
  GtkStringList *choices = GTK_STRING_LIST(adw_combo_row_get_model(self->colour));
  const PlaFieldView *field = pla_entry_get_field(self->shown),
                     *quality = pla_field_view_find("quality");
  const guint n = g_list_model_get_n_items(G_LIST_MODEL(choices));
  self->result_field = field != quality ? field : NULL;
  const char *const result[] = { field ? _(pla_quantity_get(field->quantity)->label) : NULL, NULL };
  gtk_string_list_splice(choices, 2, n - 2, self->result_field ? result : NULL);
  adw_combo_row_set_selected(self->colour, self->result_field ? 2 : field == quality ? 1 : 0);
}

static void
show_result(PlaMeshPanel *self)
{
  PlaEntry *entry = NULL;
  pla_document_foreach(self->document, last_solid, &entry);
  gtk_widget_set_visible(GTK_WIDGET(self->result_group), entry != NULL);
  if (entry == self->shown)
    return;
  g_set_object(&self->shown, entry);
  pla_panel_rows_clear(self->result_group, self->result_rows);
  if (!entry)
    return;
  adw_preferences_group_set_title(self->result_group, pla_entry_get_name(entry));
  self->following = TRUE;
  gtk_switch_set_active(self->edges, pla_entry_get_edges(entry));
  follow_colour(self);
  self->following = FALSE;
  Summing *summing = g_new0(Summing, 1);
  summing->content = pla_content_ref(pla_entry_get_content(entry));
  g_autoptr(GTask) task = g_task_new(self, NULL, on_summed, NULL);
  g_task_set_task_data(task, summing, summing_free);
  g_task_run_in_thread(task, sum_in_thread);
}

static void
on_edges(PlaMeshPanel *self)
{
  if (self->shown && !self->following)
    pla_entry_set_edges(self->shown, gtk_switch_get_active(self->edges));
}

static void
on_colour(PlaMeshPanel *self)
{
  const PlaFieldView *const views[] = { NULL, pla_field_view_find("quality"), self->result_field };
  const guint chosen = adw_combo_row_get_selected(self->colour);
  if (self->shown && !self->following && chosen < G_N_ELEMENTS(views))
    pla_entry_set_field(self->shown, views[chosen], 0.0, 0.0);
}

static void
on_cut(PlaMeshPanel *self)
{
  static const char *const sides[] = { "none", "left", "right", "front", "back", "above", "below" };
  guint chosen = adw_combo_row_get_selected(self->cut);
  if (chosen < G_N_ELEMENTS(sides))
    gtk_widget_activate_action(GTK_WIDGET(self), "win.cut-away", "s", sides[chosen]);
}

/* ------------------------------------------------------------------- update */

static void
update_tissues(PlaMeshPanel *self)
{
  const PlaLabelMap *labels = pla_document_get_labels(self->document);
  if (labels == self->labels)
    return;
  self->labels = labels;
  pla_panel_rows_clear(self->tissue_group, self->tissue_rows);
  g_ptr_array_set_size(self->checks, 0);
  for (int i = 0; labels && i < labels->table.n; i++) {
    const PlaLabel *label = &labels->table.label[i];
    const gboolean bone = pla_surface_look_for(label).finish == PLA_FINISH_BONE;
    g_autofree char *volume =
        pla_quantity_text(PLA_QUANTITY_LISTED_VOLUME,
                          pla_document_get_label_mm3(self->document, label->id), PLA_UNIT_MM3);
    GtkWidget *row = pla_row_new(label->name, volume);
    GtkWidget *check = gtk_check_button_new();
    gtk_check_button_set_active(GTK_CHECK_BUTTON(check), !bone && !is_air(label->name));
    g_object_set_data(G_OBJECT(check), "label", GINT_TO_POINTER(label->id));
    gtk_accessible_update_property(GTK_ACCESSIBLE(check), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   label->name, -1);
    g_signal_connect_swapped(check, "toggled", G_CALLBACK(update_estimate), self);
    adw_action_row_add_prefix(ADW_ACTION_ROW(row), check);
    adw_action_row_set_activatable_widget(ADW_ACTION_ROW(row), check);
    pla_panel_rows_add(self->tissue_group, self->tissue_rows, row);
    g_ptr_array_add(self->checks, check);
  }
}

static void
update(PlaMeshPanel *self)
{
  const gboolean have = pla_document_get_labels(self->document) != NULL;
  update_tissues(self);
  gtk_widget_set_visible(GTK_WIDGET(self->tissue_group), have);
  gtk_widget_set_visible(self->size_group, have);
  gtk_widget_set_visible(self->nothing, !have);
  update_estimate(self);
  show_result(self);
}

/* --------------------------------------------------------------------- type */

static void
pla_mesh_panel_dispose(GObject *object)
{
  PlaMeshPanel *self = PLA_MESH_PANEL(object);
  g_clear_pointer(&self->tissue_rows, g_ptr_array_unref);
  g_clear_pointer(&self->result_rows, g_ptr_array_unref);
  g_clear_pointer(&self->checks, g_ptr_array_unref);
  g_clear_object(&self->shown);
  g_clear_object(&self->values);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_mesh_panel_parent_class)->dispose(object);
}

static void
pla_mesh_panel_class_init(PlaMeshPanelClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_mesh_panel_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  gtk_widget_class_set_template_from_resource(widget,
                                              "/org/platysma/Platysma/panels/mesh-panel.ui");
#define CHILD(NAME) gtk_widget_class_bind_template_child(widget, PlaMeshPanel, NAME)
  CHILD(tissue_group);
  CHILD(size_group);
  CHILD(result_group);
  CHILD(nothing);
  CHILD(failure_box);
  CHILD(failure);
  CHILD(cell);
  CHILD(joined);
  CHILD(edges);
  CHILD(estimate);
  CHILD(method);
  CHILD(colour);
  CHILD(cut);
#undef CHILD
  gtk_widget_class_install_action(widget, "mesh.make", NULL, on_make);
  gtk_widget_class_install_action(widget, "mesh.coarser", NULL, on_coarser);
}

static void
pla_mesh_panel_init(PlaMeshPanel *self)
{
  self->tissue_rows = g_ptr_array_new();
  self->result_rows = g_ptr_array_new();
  self->checks = g_ptr_array_new();
  gtk_widget_init_template(GTK_WIDGET(self));
  self->values = pla_verb_values_new("mesh");
  pla_param_row_bind(self->method, self->values, "method");
  pla_param_row_bind(self->cell, self->values, "cell_mm");
}

GtkWidget *
pla_mesh_panel_new(PlaDocument *document)
{
  PlaMeshPanel *self = g_object_new(PLA_TYPE_MESH_PANEL, NULL);
  self->document = g_object_ref(document);
  g_signal_connect_object(document, "reset", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "notify::busy", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "entry-changed", G_CALLBACK(show_result), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->values, "changed::method", G_CALLBACK(update_estimate), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->values, "changed::cell_mm", G_CALLBACK(update_estimate), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_swapped(self->edges, "notify::active", G_CALLBACK(on_edges), self);
  g_signal_connect_swapped(self->colour, "notify::selected", G_CALLBACK(on_colour), self);
  g_signal_connect_swapped(self->cut, "notify::selected", G_CALLBACK(on_cut), self);
  update(self);
  return GTK_WIDGET(self);
}
