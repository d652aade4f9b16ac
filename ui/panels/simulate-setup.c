/* Rows for the tissues of a body and for what may hold it: bones that it touches, and the ends of
 * the scan. */
#include "ui/panels/simulate-private.h"

#include "app/base/quantity.h"
#include "app/show/picture.h"
#include "app/simulate/tissue-choice.h"
#include "ui/widgets/panel-rows.h"

#include <glib/gi18n.h>
#include <math.h>

static void
add_holder(PlaSimulatePanel *self, const char *title, const char *subtitle,
           PlaSimulateHolder holder)
{
  GtkWidget *row = pla_switch_row_new(title, subtitle, TRUE, &holder.active);
  g_signal_connect_swapped(holder.active, "notify::active", G_CALLBACK(pla_simulate_stop_live),
                           self);
  pla_panel_rows_add(self->held_group, self->held_rows, row);
  g_array_append_val(self->holders, holder);
}

/* where the body reaches the border of the scan it ends by a cut, not by anatomy: hold it there */
static void
add_caps(PlaSimulatePanel *self, const PlaMesh *mesh, const PlaVolume *frame)
{
  double inv[12];
  if (!pla_affine_invert(frame->affine_mm, inv))
    return;
  for (int axis = 0; axis < 3; axis++) {
    double lo = INFINITY, hi = -INFINITY;
    for (int v = 0; v < mesh->n_verts; v++) {
      double at[3], index[3];
      for (int d = 0; d < 3; d++)
        at[d] = 1000.0 * mesh->pos[3 * (size_t)v + (size_t)d];
      pla_affine_apply(inv, at, index);
      lo = fmin(lo, index[axis]);
      hi = fmax(hi, index[axis]);
    }
    for (int end = 0; end < 2; end++) {
      const double at = end ? hi : lo;
      if (end ? hi < frame->dims[axis] - 1.5 : lo > 0.5)
        continue;
      PlaSimulateHolder holder = { .within_mm = 0.2 };
      double index[3] = { 0, 0, 0 }, outward[3];
      index[axis] = at;
      pla_affine_apply(frame->affine_mm, index, holder.through_mm);
      for (int d = 0; d < 3; d++) {
        holder.normal[d] = inv[4 * axis + d];
        outward[d] = end ? inv[4 * axis + d] : -inv[4 * axis + d];
      }
      static const struct {
        char letter;
        const char *name;
      } sides[] = { { 'R', N_("Right end of the scan") }, { 'L', N_("Left end of the scan") },
                    { 'A', N_("Front end of the scan") }, { 'P', N_("Rear end of the scan") },
                    { 'S', N_("Upper end of the scan") }, { 'I', N_("Lower end of the scan") } };
      for (size_t s = 0; s < G_N_ELEMENTS(sides); s++)
        if (sides[s].letter == pla_direction_letter(outward))
          add_holder(self, _(sides[s].name), _("The cut where the scan stops"), holder);
    }
  }
}

static int
compare_ints(gconstpointer a, gconstpointer b)
{
  return *(const int *)a - *(const int *)b;
}

static void
find_regions(PlaSimulatePanel *self, const PlaMesh *mesh)
{
  const PlaField *field = pla_mesh_find_field(mesh, "region", PLA_ON_CELLS);
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
  g_array_set_size(self->regions, 0);
  for (size_t c = (size_t)mesh->n_tris; field && c < pla_mesh_n_cells(mesh); c++) {
    int id = (int)pla_dtype_get(field->dtype, field->data, c);
    if (g_hash_table_add(seen, GINT_TO_POINTER(id)))
      g_array_append_val(self->regions, id);
  }
  g_array_sort(self->regions, compare_ints);
}

static gboolean
has_region(PlaSimulatePanel *self, int id)
{
  for (guint r = 0; r < self->regions->len; r++)
    if (g_array_index(self->regions, int, r) == id)
      return TRUE;
  return FALSE;
}

/* rows for the tissues of another body and for what may hold it */
void
pla_simulate_set_up(PlaSimulatePanel *self, PlaEntry *body)
{
  PlaContent *content = body ? pla_entry_get_content(body) : NULL;
  if (content == self->setup_for)
    return;
  pla_simulate_stop_live(self);
  pla_content_unref(self->setup_for);
  self->setup_for = content ? pla_content_ref(content) : NULL;
  pla_panel_rows_clear(self->tissue_group, self->tissue_rows);
  pla_panel_rows_clear(self->held_group, self->held_rows);
  g_ptr_array_set_size(self->presets, 0);
  g_array_set_size(self->holders, 0);
  g_array_set_size(self->regions, 0);
  g_array_set_size(self->places, 0);
  pla_simulate_update_places(self);
  pla_simulate_show_marks(self);
  if (!content)
    return;

  const PlaMesh *mesh = content->mesh;
  const PlaLabelMap *labels = pla_document_get_labels(self->document);
  g_autoptr(GtkStringList) titles = gtk_string_list_new(NULL);
  for (int t = 0; t < pla_tissues_count(); t++)
    gtk_string_list_append(titles, _(pla_tissue_title(t)));
  find_regions(self, mesh);
  for (guint r = 0; r < self->regions->len; r++) {
    int id = g_array_index(self->regions, int, r);
    const PlaLabel *label = labels ? pla_label_table_find(&labels->table, id) : NULL;
    g_autofree char *name = label ? g_strdup(label->name) : g_strdup_printf(_("Region %d"), id);
    const int tissue = pla_tissue_find(name);
    GtkWidget *row = adw_combo_row_new();
    adw_preferences_row_set_use_markup(ADW_PREFERENCES_ROW(row), FALSE);
    adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), name);
    adw_combo_row_set_model(ADW_COMBO_ROW(row), G_LIST_MODEL(titles));
    if (tissue >= 0)
      adw_combo_row_set_selected(ADW_COMBO_ROW(row), (guint)tissue);
    g_signal_connect_swapped(row, "notify::selected", G_CALLBACK(pla_simulate_stop_live), self);
    pla_panel_rows_add(self->tissue_group, self->tissue_rows, row);
    g_ptr_array_add(self->presets, row);
  }
  for (int i = 0; labels && i < labels->table.n; i++) {
    const PlaLabel *label = &labels->table.label[i];
    if (pla_surface_look_for(label).finish != PLA_FINISH_BONE || has_region(self, label->id))
      continue;
    double spacing[3];
    pla_volume_spacing_mm(labels->volume, spacing);
    PlaSimulateHolder holder = { .label = label->id,
                                 .within_mm =
                                     fmax(1.5, fmax(spacing[0], fmax(spacing[1], spacing[2]))) };
    g_autofree char *within = pla_quantity_text(PLA_QUANTITY_TOOL, holder.within_mm, PLA_UNIT_MM);
    g_autofree char *subtitle = g_strdup_printf(_("Everything within %s of it"), within);
    add_holder(self, label->name, subtitle, holder);
  }
  if (labels)
    add_caps(self, mesh, labels->volume);
}
