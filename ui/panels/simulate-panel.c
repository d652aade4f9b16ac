/* Builds the parameters of the operation "simulate" from rows and picked places, follows hooks
 * with a live solve, and runs the operation. */
#include "ui/panels/simulate-panel.h"

#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/show/picture.h"
#include "app/simulate/tissue-choice.h"
#include "app/verbs/live-solve.h"
#include "ui/widgets/panel-rows.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* a place of the body and what is done to it there, in the coordinates of the body at rest */
typedef struct {
  PlaMarkKind kind;
  double at_mm[3], way_mm[3]; /* of hooks: the pull; of loads: the direction */
  double radius_mm;
} Place;

/* a way to hold the body that can be switched */
typedef struct {
  GtkSwitch *active;
  int label;                       /* > 0: where the body touches this tissue */
  double through_mm[3], normal[3]; /* else where the scan ends: a plane */
  double within_mm;
} Holder;

struct _PlaSimulatePanel {
  AdwBin parent_instance;
  AdwPreferencesGroup *tissue_group, *held_group, *pull_group;
  GtkWidget *body, *nothing, *failure_box, *show_element, *result_group;
  AdwComboRow *mesh, *stiffness, *gravity, *result, *field;
  GtkToggleButton *hold_tool, *hook_tool, *load_tool;
  GtkSwitch *live_switch;
  GtkSpinButton *force, *steps, *lo, *hi;
  GtkLabel *failure, *quality, *live_state;

  PlaDocument *document;
  GPtrArray *bodies, *results;                    /* of PlaEntry */
  PlaContent *setup_for;                          /* the mesh that the rows below are of */
  GPtrArray *tissue_rows, *held_rows, *pull_rows; /* borrowed */
  GArray *regions;                                /* of int */
  GPtrArray *presets;                             /* of AdwComboRow, borrowed, one a region */
  GArray *holders;                                /* of Holder */
  GArray *places;                                 /* of Place */

  PlaLive *live;
  double *live_pos; /* the body as it is shown meanwhile, or NULL */
  int worst_element;
  gboolean following;
};

G_DEFINE_FINAL_TYPE(PlaSimulatePanel, pla_simulate_panel, ADW_TYPE_BIN)

/* stiffness in the order of its row, as operations name it */
enum { TYPICAL = 1 };
static const char *const levels[] = { "low", "typical", "high" };

static void update_pull_rows(PlaSimulatePanel *self);

static PlaEntry *
chosen(GPtrArray *entries, AdwComboRow *row)
{
  guint i = adw_combo_row_get_selected(row);
  return i < entries->len ? entries->pdata[i] : NULL;
}

static JsonObject *
simulated(PlaEntry *entry)
{
  PlaContent *content = pla_entry_get_content(entry);
  JsonNode *node = content ? json_object_get_member(content->meta, "simulated") : NULL;
  return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

/* ------------------------------------------------------------------- places */

static void
show_marks(PlaSimulatePanel *self)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  g_autoptr(GArray) marks = g_array_new(FALSE, TRUE, sizeof(PlaMark));
  for (guint i = 0; gtk_widget_get_mapped(GTK_WIDGET(self)) && i < self->places->len; i++) {
    const Place *place = &g_array_index(self->places, Place, i);
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

static void
stop_live(PlaSimulatePanel *self)
{
  PlaEntry *body = chosen(self->bodies, self->mesh);
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
  stop_live(self);
  if (i < self->places->len)
    g_array_remove_index(self->places, i);
  show_marks(self);
  update_pull_rows(self);
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

static void
update_pull_rows(PlaSimulatePanel *self)
{
  static const char *const names[] = { [PLA_MARK_HELD] = N_("Held place %d"),
                                       [PLA_MARK_HOOK] = N_("Hook %d"),
                                       [PLA_MARK_LOAD] = N_("Push %d") };
  int count[3] = { 0 };
  pla_panel_rows_clear(self->pull_group, self->pull_rows);
  for (guint i = 0; i < self->places->len; i++) {
    const Place *place = &g_array_index(self->places, Place, i);
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

/* -------------------------------------------------------------------- scene */

static JsonObject *
near(const Place *place)
{
  JsonObject *where = json_object_new(), *near_ = json_object_new();
  json_object_set_array_member(near_, "at_mm", pla_json_array_of(place->at_mm, 3));
  json_object_set_double_member(near_, "radius_mm", place->radius_mm);
  json_object_set_object_member(where, "near", near_);
  return where;
}

/* parameters of the operation "simulate"; json_object_unref() */
static JsonObject *
build_params(PlaSimulatePanel *self)
{
  static const double gravities[][3] = {
    { 0, 0, 0 }, { 0, 0, -9.81 }, { 0, -9.81, 0 }, { 0, 9.81, 0 }
  };
  PlaEntry *body = chosen(self->bodies, self->mesh);
  JsonObject *params = json_object_new();
  JsonArray *materials = json_array_new(), *fixed = json_array_new(), *hooks = json_array_new(),
            *loads = json_array_new();
  json_object_set_string_member(params, "item", pla_entry_get_name(body));
  json_object_set_array_member(params, "materials", materials);
  json_object_set_array_member(params, "fixed", fixed);
  json_object_set_array_member(params, "hooks", hooks);
  json_object_set_array_member(params, "loads", loads);
  json_object_set_array_member(
      params, "gravity_m_s2",
      pla_json_array_of(gravities[adw_combo_row_get_selected(self->gravity)], 3));
  json_object_set_int_member(params, "steps", gtk_spin_button_get_value_as_int(self->steps));

  for (guint r = 0; r < self->regions->len; r++) {
    JsonObject *material = json_object_new();
    guint preset = adw_combo_row_get_selected(self->presets->pdata[r]);
    json_object_set_int_member(material, "region", g_array_index(self->regions, int, r));
    json_object_set_string_member(material, "preset", pla_tissue_id((int)preset));
    json_object_set_string_member(material, "stiffness",
                                  levels[adw_combo_row_get_selected(self->stiffness)]);
    json_array_add_object_element(materials, material);
  }
  for (guint h = 0; h < self->holders->len; h++) {
    const Holder *holder = &g_array_index(self->holders, Holder, h);
    if (!gtk_switch_get_active(holder->active))
      continue;
    JsonObject *where = json_object_new(), *inner = json_object_new();
    if (holder->label > 0) {
      json_object_set_string_member(inner, "item", pla_document_get_labels_name(self->document));
      json_object_set_int_member(inner, "id", holder->label);
    } else {
      json_object_set_array_member(inner, "through_mm", pla_json_array_of(holder->through_mm, 3));
      json_object_set_array_member(inner, "normal", pla_json_array_of(holder->normal, 3));
    }
    json_object_set_double_member(inner, "within_mm", holder->within_mm);
    json_object_set_object_member(where, holder->label > 0 ? "label" : "plane", inner);
    json_array_add_object_element(fixed, where);
  }
  const double force = gtk_spin_button_get_value(self->force);
  for (guint i = 0; i < self->places->len; i++) {
    const Place *place = &g_array_index(self->places, Place, i);
    JsonObject *object = json_object_new();
    switch (place->kind) {
    case PLA_MARK_POINT: /* of drawings and recordings, which this panel has none of */
    case PLA_MARK_MARKER:
    case PLA_MARK_MISFIT:
    case PLA_N_MARKS:
      json_object_unref(object);
      break;
    case PLA_MARK_HELD:
      json_object_unref(object);
      json_array_add_object_element(fixed, near(place));
      break;
    case PLA_MARK_HOOK:
      json_object_set_array_member(object, "at_mm", pla_json_array_of(place->at_mm, 3));
      json_object_set_array_member(object, "pull_mm", pla_json_array_of(place->way_mm, 3));
      json_object_set_double_member(object, "radius_mm", place->radius_mm);
      json_array_add_object_element(hooks, object);
      break;
    case PLA_MARK_LOAD: {
      double newton[3];
      for (int d = 0; d < 3; d++)
        newton[d] = force * place->way_mm[d];
      json_object_set_object_member(object, "where", near(place));
      json_object_set_array_member(object, "force_n", pla_json_array_of(newton, 3));
      json_array_add_object_element(loads, object);
      break;
    }
    }
  }
  return params;
}

/* --------------------------------------------------------------------- live */

static void
show_failure(PlaSimulatePanel *self, const char *sentence)
{
  gtk_label_set_label(self->failure, sentence ? sentence : "");
  gtk_widget_set_visible(self->failure_box, sentence && *sentence);
}

static void
on_live(const PlaLiveShape *shape, const PlaError *err, void *data)
{
  PlaSimulatePanel *self = data;
  PlaEntry *body = chosen(self->bodies, self->mesh);
  if (!shape) {
    show_failure(self, err->message);
    stop_live(self);
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
    g_autoptr(JsonObject) params = build_params(self);
    show_failure(self, NULL);
    self->live = pla_live_start(pla_session_get_path(session), pla_session_get_state(session),
                                params, on_live, self);
    return;
  }
  int hook = 0;
  for (guint i = 0; i < place; i++)
    hook += g_array_index(self->places, Place, i).kind == PLA_MARK_HOOK;
  pla_live_pull(self->live, hook, g_array_index(self->places, Place, place).way_mm);
}

/* -------------------------------------------------------------------- tools */

static gboolean
is_mine(PlaSimulatePanel *self)
{
  return pla_tools_get_owner(pla_document_get_tools(self->document)) == self;
}

/* where a point picked on the body as it is shown lies when the body is at rest */
static void
to_rest(PlaSimulatePanel *self, PlaEntry *entry, const PlaScenePick *pick, double at_mm[3])
{
  PlaEntry *body = chosen(self->bodies, self->mesh);
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

/* whether an entry is the chosen body, or what became of it */
static gboolean
is_body(PlaSimulatePanel *self, PlaEntry *entry)
{
  PlaEntry *body = chosen(self->bodies, self->mesh);
  JsonObject *result = entry ? simulated(entry) : NULL;
  return body && entry &&
         (entry == body ||
          (result && g_strcmp0(json_object_get_string_member_with_default(result, "mesh", NULL),
                               pla_entry_get_name(body)) == 0));
}

static void
on_picked(PlaSimulatePanel *self, PlaEntry *entry, const PlaScenePick *pick)
{
  if (!is_mine(self))
    return;
  const gboolean hook = gtk_toggle_button_get_active(self->hook_tool),
                 load = gtk_toggle_button_get_active(self->load_tool);
  Place place = { .kind = hook   ? PLA_MARK_HOOK
                          : load ? PLA_MARK_LOAD
                                 : PLA_MARK_HELD,
                  .radius_mm = hook ? 4.0 : 8.0 };
  if ((hook || load) && !is_body(self, entry))
    return; /* only the body can be pulled; it may be held by anything near */
  if (entry && is_body(self, entry))
    to_rest(self, entry, pick, place.at_mm);
  else
    memcpy(place.at_mm, pick->point_mm, sizeof place.at_mm);
  for (int d = 0; load && d < 3; d++)
    place.way_mm[d] = -pick->normal[d];
  stop_live(self);
  g_array_append_val(self->places, place);
  show_marks(self);
  update_pull_rows(self);
}

static void
on_dragged(PlaSimulatePanel *self, int mark, const double *pull_mm, gboolean done)
{
  if (!is_mine(self) || mark < 0 || (guint)mark >= self->places->len)
    return;
  Place *place = &g_array_index(self->places, Place, (guint)mark);
  memcpy(place->way_mm, pull_mm, sizeof place->way_mm);
  show_marks(self);
  follow(self, (guint)mark);
  if (done)
    update_pull_rows(self);
}

static void
show_body(PlaSimulatePanel *self)
{
  PlaEntry *body = chosen(self->bodies, self->mesh);
  if (!body)
    return;
  for (guint i = 0; i < self->results->len; i++)
    if (is_body(self, self->results->pdata[i]))
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
    if (is_mine(self))
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
  if (is_mine(self))
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
  stop_live(self);
  show_marks(self);
}

/* -------------------------------------------------------------------- setup */

static void
add_holder(PlaSimulatePanel *self, const char *title, const char *subtitle, Holder holder)
{
  GtkWidget *row = pla_switch_row_new(title, subtitle, TRUE, &holder.active);
  g_signal_connect_swapped(holder.active, "notify::active", G_CALLBACK(stop_live), self);
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
      Holder holder = { .within_mm = 0.2 };
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
static void
set_up(PlaSimulatePanel *self, PlaEntry *body)
{
  PlaContent *content = body ? pla_entry_get_content(body) : NULL;
  if (content == self->setup_for)
    return;
  stop_live(self);
  pla_content_unref(self->setup_for);
  self->setup_for = content ? pla_content_ref(content) : NULL;
  pla_panel_rows_clear(self->tissue_group, self->tissue_rows);
  pla_panel_rows_clear(self->held_group, self->held_rows);
  g_ptr_array_set_size(self->presets, 0);
  g_array_set_size(self->holders, 0);
  g_array_set_size(self->regions, 0);
  g_array_set_size(self->places, 0);
  update_pull_rows(self);
  show_marks(self);
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
    g_signal_connect_swapped(row, "notify::selected", G_CALLBACK(stop_live), self);
    pla_panel_rows_add(self->tissue_group, self->tissue_rows, row);
    g_ptr_array_add(self->presets, row);
  }
  for (int i = 0; labels && i < labels->table.n; i++) {
    const PlaLabel *label = &labels->table.label[i];
    if (pla_surface_look_for(label).finish != PLA_FINISH_BONE || has_region(self, label->id))
      continue;
    double spacing[3];
    pla_volume_spacing_mm(labels->volume, spacing);
    Holder holder = { .label = label->id,
                      .within_mm = fmax(1.5, fmax(spacing[0], fmax(spacing[1], spacing[2]))) };
    g_autofree char *within = pla_quantity_text(PLA_QUANTITY_TOOL, holder.within_mm, PLA_UNIT_MM);
    g_autofree char *subtitle = g_strdup_printf(_("Everything within %s of it"), within);
    add_holder(self, label->name, subtitle, holder);
  }
  if (labels)
    add_caps(self, mesh, labels->volume);
}

/* ------------------------------------------------------------------ results */

/* how good the answer is, in one sentence */
static void
show_quality(PlaSimulatePanel *self, PlaEntry *entry)
{
  JsonObject *found = entry ? simulated(entry) : NULL;
  gtk_widget_set_visible(GTK_WIDGET(self->quality), found != NULL);
  self->worst_element = -1;
  if (!found)
    return;
  const int inverted = (int)json_object_get_int_member_with_default(found, "inverted", 0);
  const gboolean converged = json_object_get_boolean_member_with_default(found, "converged", FALSE);
  self->worst_element = (int)json_object_get_int_member_with_default(found, "worst_element", -1);
  GString *text = g_string_new(NULL);
  g_string_append_printf(
      text,
      converged ? _("In equilibrium: relative residual %.1e after %d iterations; ")
                : _("Not in equilibrium: relative residual %.1e after %d iterations; "),
      json_object_get_double_member_with_default(found, "residual_rel", 0.0),
      (int)json_object_get_int_member_with_default(found, "iterations", 0));
  if (inverted == 0)
    g_string_append(text, _("no element is inverted."));
  else
    g_string_append_printf(text,
                           g_dngettext(NULL, "%d element is inverted.", "%d elements are inverted.",
                                       (gulong)inverted),
                           inverted);
  g_autofree char *way = pla_quantity_text(
      PLA_QUANTITY_DISPLACEMENT,
      json_object_get_double_member_with_default(found, "max_displacement_mm", 0.0), PLA_UNIT_MM);
  g_string_append_printf(text, _(" The largest way is %s."), way);
  JsonNode *forces = json_object_get_member(found, "hook_force_n");
  if (forces && JSON_NODE_HOLDS_ARRAY(forces) &&
      json_array_get_length(json_node_get_array(forces))) {
    g_string_append(text, _(" Hooks pull with"));
    for (guint i = 0; i < json_array_get_length(json_node_get_array(forces)); i++) {
      g_autofree char *force =
          pla_quantity_text(PLA_QUANTITY_FORCE,
                            json_array_get_double_element(json_node_get_array(forces), i),
                            PLA_UNIT_N);
      g_string_append_printf(text, "%s %s", i ? "," : "", force);
    }
    g_string_append(text, ".");
  }
  gtk_label_set_label(self->quality, text->str);
  g_string_free(text, TRUE);
  gtk_widget_set_visible(self->show_element, self->worst_element >= 0);
  if (!converged || inverted > 0)
    show_failure(self, inverted > 0 ? _("Some elements are inverted: the mesh is too coarse there, "
                                        "or the pull is too large for one step.")
                                    : _("The solver stopped before it reached equilibrium."));
}

static const PlaFieldView *
chosen_field(PlaSimulatePanel *self)
{
  static const char *const ids[] = { NULL, "stretch", "von-mises", "jacobian", "displacement" };
  guint i = adw_combo_row_get_selected(self->field);
  return i > 0 && i < G_N_ELEMENTS(ids) ? pla_field_view_find(ids[i]) : NULL;
}

static void
show_range(PlaSimulatePanel *self, PlaEntry *entry)
{
  double lo, hi;
  if (!entry || !pla_entry_get_values(entry, &lo, &hi))
    return;
  const double step = pow(10.0, floor(log10(hi - lo)) - 1.0);
  const gboolean before = self->following;
  self->following = TRUE;
  GtkSpinButton *const ends[2] = { self->lo, self->hi };
  for (int e = 0; e < 2; e++) {
    gtk_spin_button_set_increments(ends[e], step, 10.0 * step);
    gtk_spin_button_set_digits(ends[e], (guint)CLAMP(-floor(log10(step)), 0, 4));
    gtk_spin_button_set_value(ends[e], e ? hi : lo);
  }
  self->following = before;
}

static void
on_field(PlaSimulatePanel *self)
{
  PlaEntry *entry = chosen(self->results, self->result);
  const PlaFieldView *field = chosen_field(self);
  gtk_widget_set_sensitive(GTK_WIDGET(self->lo), field != NULL);
  gtk_widget_set_sensitive(GTK_WIDGET(self->hi), field != NULL);
  if (!entry || self->following)
    return;
  pla_entry_set_field(entry, field, 0.0, 0.0);
  show_range(self, entry);
}

static void
on_range(PlaSimulatePanel *self)
{
  PlaEntry *entry = chosen(self->results, self->result);
  const double lo = gtk_spin_button_get_value(self->lo), hi = gtk_spin_button_get_value(self->hi);
  if (entry && !self->following && hi > lo)
    pla_entry_set_field(entry, chosen_field(self), lo, hi);
}

static void
on_result(PlaSimulatePanel *self)
{
  PlaEntry *entry = chosen(self->results, self->result);
  if (self->following)
    return;
  if (entry) {
    for (guint i = 0; i < self->results->len; i++)
      pla_entry_set_visible(self->results->pdata[i], self->results->pdata[i] == entry);
    const PlaFieldView *field = pla_entry_get_field(entry);
    if (!field)
      pla_entry_set_field(entry, chosen_field(self), 0.0, 0.0);
  }
  show_quality(self, entry);
  show_range(self, entry);
}

/* -------------------------------------------------------------------- solve */

static void
on_solved(gpointer owner, const char *failure)
{
  PlaSimulatePanel *self = owner;
  show_failure(self, failure);
  gtk_widget_set_visible(self->show_element, FALSE);
}

static void
on_solve(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSimulatePanel *self = PLA_SIMULATE_PANEL(widget);
  if (!chosen(self->bodies, self->mesh))
    return;
  g_autoptr(JsonObject) params = build_params(self);
  stop_live(self);
  show_failure(self, NULL);
  pla_tools_set(pla_document_get_tools(self->document), PLA_TOOL_NONE, NULL, NULL);
  pla_document_run_for(self->document, _("Solving"), "simulate", params, on_solved, G_OBJECT(self));
}

static void
on_increments(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSimulatePanel *self = PLA_SIMULATE_PANEL(widget);
  gtk_spin_button_set_value(self->steps, MAX(4.0, 2.0 * gtk_spin_button_get_value(self->steps)));
  gtk_widget_activate_action(widget, "simulate.solve", NULL);
}

static void
on_show_element(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSimulatePanel *self = PLA_SIMULATE_PANEL(widget);
  PlaEntry *entry = chosen(self->results, self->result);
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
  stop_live(self);
  g_array_set_size(self->places, 0);
  show_marks(self);
  update_pull_rows(self);
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
    set_up(self, chosen(self->bodies, self->mesh));
  PlaEntry *entry = chosen(self->results, self->result);
  if (new_results) {
    stop_live(self);
    show_failure(self, NULL);
    show_quality(self, entry);
    show_range(self, entry);
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
    set_up(self, chosen(self->bodies, self->mesh));
}

static void
on_unmap(PlaSimulatePanel *self)
{
  if (is_mine(self))
    pla_tools_set(pla_document_get_tools(self->document), PLA_TOOL_NONE, NULL, NULL);
  stop_live(self);
  show_marks(self);
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
  self->holders = g_array_new(FALSE, FALSE, sizeof(Holder));
  self->places = g_array_new(FALSE, FALSE, sizeof(Place));
  self->worst_element = -1;
  gtk_widget_init_template(GTK_WIDGET(self));
  adw_combo_row_set_selected(self->stiffness, TYPICAL);
  adw_combo_row_set_selected(self->field, 1);
}

GtkWidget *
pla_simulate_panel_new(PlaDocument *document)
{
  PlaSimulatePanel *self = g_object_new(PLA_TYPE_SIMULATE_PANEL, NULL);
  self->document = g_object_ref(document);
  PlaTools *tools = pla_document_get_tools(document);
  g_signal_connect_object(document, "reset", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "notify::busy", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "picked", G_CALLBACK(on_picked), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "dragged", G_CALLBACK(on_dragged), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "tool-changed", G_CALLBACK(on_tool_changed), self,
                          G_CONNECT_SWAPPED);
  GtkToggleButton *const all[] = { self->hold_tool, self->hook_tool, self->load_tool };
  for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
    g_signal_connect(all[i], "toggled", G_CALLBACK(on_tool_toggled), self);
  g_signal_connect_swapped(self->mesh, "notify::selected", G_CALLBACK(on_mesh), self);
  g_signal_connect_swapped(self->stiffness, "notify::selected", G_CALLBACK(stop_live), self);
  g_signal_connect_swapped(self->gravity, "notify::selected", G_CALLBACK(stop_live), self);
  g_signal_connect_swapped(self->force, "value-changed", G_CALLBACK(on_force), self);
  g_signal_connect_swapped(self->result, "notify::selected", G_CALLBACK(on_result), self);
  g_signal_connect_swapped(self->field, "notify::selected", G_CALLBACK(on_field), self);
  g_signal_connect_swapped(self->lo, "value-changed", G_CALLBACK(on_range), self);
  g_signal_connect_swapped(self->hi, "value-changed", G_CALLBACK(on_range), self);
  g_signal_connect(self, "unmap", G_CALLBACK(on_unmap), NULL);
  g_signal_connect(self, "map", G_CALLBACK(show_marks), NULL);
  update(self);
  return GTK_WIDGET(self);
}
