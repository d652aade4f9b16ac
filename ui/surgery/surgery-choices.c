/* What can be chosen: wounds, tissues and implants of the body, blades and bones of the case. */
#include "ui/surgery/surgery-panel-private.h"

#include "app/simulate/tissue-choice.h"
#include "ui/widgets/panel-rows.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

static void
offer_wounds(PlaSurgeryPanel *self, const PlaSurgeryFacts *facts)
{
  g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
  g_ptr_array_set_size(self->wounds, 0);
  for (guint i = 0; facts && i < facts->wounds->len; i++) {
    g_ptr_array_add(self->wounds, g_strdup(facts->wounds->pdata[i]));
    gtk_string_list_append(names, facts->wounds->pdata[i]);
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
offer_levels(PlaSurgeryPanel *self, const PlaSurgeryFacts *facts)
{
  g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
  const guint chosen = adw_combo_row_get_selected(self->level);
  gtk_string_list_append(names, _("At a depth"));
  gtk_string_list_append(names, _("On bone (periosteum)"));
  for (guint i = 0; facts && i < facts->tissues->len; i++)
    gtk_string_list_append(names, facts->tissues->pdata[i]);
  adw_combo_row_set_model(self->level, G_LIST_MODEL(names));
  if (chosen < g_list_model_get_n_items(G_LIST_MODEL(names)))
    adw_combo_row_set_selected(self->level, chosen);
}

/* everything, or one of what the body consists of */
static void
offer_tissues(PlaSurgeryPanel *self, const PlaSurgeryFacts *facts)
{
  g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
  const guint chosen = adw_combo_row_get_selected(self->tissue);
  gtk_string_list_append(names, _("Everything"));
  for (guint i = 0; facts && i < facts->tissues->len; i++)
    gtk_string_list_append(names, facts->tissues->pdata[i]);
  adw_combo_row_set_model(self->tissue, G_LIST_MODEL(names));
  if (chosen < g_list_model_get_n_items(G_LIST_MODEL(names)))
    adw_combo_row_set_selected(self->tissue, chosen);
}

void
pla_surgery_panel_implant_free(gpointer data)
{
  PlaImplantChoice *implant = data;
  g_free(implant->name);
  g_free(implant);
}

/* the one called @name, which is added where there is none */
static PlaImplantChoice *
need_implant(PlaSurgeryPanel *self, const char *name)
{
  for (guint i = 0; i < self->implants->len; i++) {
    PlaImplantChoice *implant = self->implants->pdata[i];
    if (strcmp(implant->name, name) == 0)
      return implant;
  }
  PlaImplantChoice *implant = g_new0(PlaImplantChoice, 1);
  implant->name = g_strdup(name);
  g_ptr_array_add(self->implants, implant);
  return implant;
}

/* a new one, or one that lies in the body and is to grow */
static void
offer_implants(PlaSurgeryPanel *self, const PlaSurgeryFacts *facts)
{
  g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
  const guint before = self->implants->len, chosen = adw_combo_row_get_selected(self->which);
  g_ptr_array_set_size(self->implants, 0);
  for (guint i = 0; facts && i < facts->done->len; i++) {
    const PlaSurgeryDone *done = &g_array_index(facts->done, PlaSurgeryDone, i);
    if (strcmp(done->tool, "implant") != 0)
      continue;
    PlaImplantChoice *implant = need_implant(self, done->name ? done->name : "");
    implant->radius_mm = isfinite(done->radius_mm) ? done->radius_mm : 0.0;
    for (guint d = 0; d < 3; d++)
      if (isfinite(done->at_mm[d]))
        implant->at_mm[d] = done->at_mm[d];
  }
  gtk_string_list_append(names, _("A new one"));
  for (guint i = 0; i < self->implants->len; i++)
    gtk_string_list_append(names, ((PlaImplantChoice *)self->implants->pdata[i])->name);
  adw_combo_row_set_model(self->which, G_LIST_MODEL(names));
  /* the one that was just placed is the one that grows next */
  if (self->implants->len > before)
    adw_combo_row_set_selected(self->which, self->implants->len);
  else if (chosen <= self->implants->len)
    adw_combo_row_set_selected(self->which, chosen);
}

static void
add_surface(PlaEntry *entry, gpointer data)
{
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  PlaContent *content = pla_entry_get_content(entry);
  if (pla_entry_get_kind(entry) == PLA_ENTRY_MESH && content && mesh && mesh->n_tris > 0 &&
      strcmp(content->kind, PLA_ITEM_BODY) != 0)
    g_ptr_array_add(data, g_object_ref(entry));
}

/* planes, a line, and the surfaces of the case */
static void
offer_blades(PlaSurgeryPanel *self)
{
  static const char *const kinds[PLA_BLADE_SURFACES] = {
    N_("Axial plane"),      N_("Coronal plane"),
    N_("Sagittal plane"),   N_("Plane through three points"),
    N_("Line on the skin"),
  };
  g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_object_unref);
  pla_document_foreach(self->document, add_surface, found);
  gboolean same = found->len == self->surfaces->len && adw_combo_row_get_model(self->blade);
  for (guint i = 0; same && i < found->len; i++)
    same = found->pdata[i] == self->surfaces->pdata[i];
  if (same)
    return;
  g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
  const guint chosen = adw_combo_row_get_selected(self->blade);
  for (guint i = 0; i < PLA_BLADE_SURFACES; i++)
    gtk_string_list_append(names, _(kinds[i]));
  for (guint i = 0; i < found->len; i++)
    gtk_string_list_append(names, pla_entry_get_name(found->pdata[i]));
  g_ptr_array_unref(self->surfaces);
  self->surfaces = g_steal_pointer(&found);
  self->following = TRUE;
  adw_combo_row_set_model(self->blade, G_LIST_MODEL(names));
  if (chosen < PLA_BLADE_SURFACES)
    adw_combo_row_set_selected(self->blade, chosen);
  self->following = FALSE;
}

/* rigid labels that can be made part of the body, to be cut */
static void
offer_bones(PlaSurgeryPanel *self)
{
  const PlaLabelMap *labels = pla_document_get_labels(self->document);
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  for (int i = 0; labels && i < labels->table.n; i++) {
    const int tissue = pla_tissue_find(labels->table.label[i].name);
    if (labels->table.label[i].id != 0 && tissue >= 0 && pla_tissue_is_rigid(tissue))
      g_ptr_array_add(names, labels->table.label[i].name);
  }
  gboolean same = names->len == self->bone_rows->len;
  for (guint i = 0; same && i < names->len; i++)
    same =
        strcmp(names->pdata[i],
               adw_preferences_row_get_title(ADW_PREFERENCES_ROW(self->bone_rows->pdata[i]))) == 0;
  gtk_widget_set_visible(GTK_WIDGET(self->bones_group), names->len > 0);
  if (same)
    return;
  pla_panel_rows_clear(self->bones_group, self->bone_rows);
  g_ptr_array_set_size(self->bones, 0);
  for (guint i = 0; i < names->len; i++) {
    GtkSwitch *toggle = NULL;
    GtkWidget *row = pla_switch_row_new(names->pdata[i], NULL, FALSE, &toggle);
    pla_panel_rows_add(self->bones_group, self->bone_rows, row);
    g_ptr_array_add(self->bones, toggle);
  }
}

void
pla_surgery_panel_offer_from_body(PlaSurgeryPanel *self, const PlaSurgeryFacts *facts)
{
  self->following = TRUE;
  offer_wounds(self, facts);
  offer_levels(self, facts);
  offer_tissues(self, facts);
  offer_implants(self, facts);
  self->following = FALSE;
}

void
pla_surgery_panel_offer_from_case(PlaSurgeryPanel *self)
{
  offer_bones(self);
  offer_blades(self);
}
