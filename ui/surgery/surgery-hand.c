/* The hand over the skin: points, hooks that the body follows, and what is drawn before a tool
 * acts. */
#include "ui/surgery/surgery-panel-private.h"

#include "app/base/quantity.h"
#include "app/surgery/surgery-body.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

void
pla_surgery_panel_show_marks(PlaSurgeryPanel *self)
{
  g_autoptr(GArray) marks = g_array_new(FALSE, TRUE, sizeof(PlaMark));
  const gboolean mapped = gtk_widget_get_mapped(GTK_WIDGET(self));
  for (guint i = 0; mapped && pla_surgery_panel_places(self) && i + 2 < self->points->len; i += 3) {
    PlaMark mark = { .kind = PLA_MARK_POINT };
    memcpy(mark.at_mm, &g_array_index(self->points, double, i), sizeof mark.at_mm);
    g_array_append_val(marks, mark);
  }
  const PlaStoreArray *hooks =
      self->content ? pla_content_find_array(self->content, PLA_BODY_HOOKS) : NULL;
  for (uint64_t h = 0; mapped && hooks && hooks->n_dims == 2 && h < hooks->shape[1]; h++) {
    PlaMark mark = { .kind = PLA_MARK_HOOK };
    const double *ends = (const double *)hooks->data + 6 * h;
    for (int d = 0; d < 3; d++) {
      mark.at_mm[d] = 1e3 * ends[d];
      mark.pull_mm[d] = 1e3 * (ends[3 + d] - ends[d]);
    }
    g_array_append_val(marks, mark);
  }
  if (mapped && self->hooking) {
    PlaMark mark = { .kind = PLA_MARK_HOOK };
    memcpy(mark.at_mm, self->hook_at, sizeof mark.at_mm);
    memcpy(mark.pull_mm, self->hook_pull, sizeof mark.pull_mm);
    g_array_append_val(marks, mark);
  }
  pla_tools_set_marks(pla_document_get_tools(self->document),
                      (const PlaMark *)(gpointer)marks->data, (int)marks->len);
}

/* the first @n numbers of each row of an array of places, as mm; g_free() */
static double *
places_mm(const PlaContent *content, const char *name, int width, int n, int *n_rows)
{
  const PlaStoreArray *array = pla_content_find_array(content, name);
  *n_rows = 0;
  if (!array || array->dtype != PLA_F64 || array->n_dims != 2 || array->shape[0] != (uint64_t)width)
    return NULL;
  *n_rows = (int)array->shape[1];
  double *out = g_new(double, (gsize)n *(gsize)*n_rows + 1);
  for (int i = 0; i < *n_rows; i++)
    for (int k = 0; k < n; k++)
      out[n * i + k] = 1e3 * ((const double *)array->data)[width * i + k];
  return out;
}

/* how many points there are, and what they make */
static void
show_points(PlaSurgeryPanel *self, const PlaSketch *sketch)
{
  const int n = (int)self->points->len / 3;
  GString *text = g_string_new(NULL);
  if (n == 0)
    g_string_append(text, _("Click on the skin"));
  else if (self->instrument == PLA_TENSION)
    g_string_append_printf(text, g_dngettext(NULL, "%d line", "%d lines", (gulong)(n / 2)), n / 2);
  else
    g_string_append_printf(text, g_dngettext(NULL, "%d point", "%d points", (gulong)n), n);
  g_autofree char *length = pla_quantity_text(PLA_QUANTITY_EXTENT, sketch->length, PLA_UNIT_MM);
  if (sketch->n_lines > 0 && self->instrument != PLA_TENSION)
    g_string_append_printf(text, ", %s", length);
  adw_action_row_set_subtitle(ADW_ACTION_ROW(self->points_row), text->str);
  g_string_free(text, TRUE);
}

/* a flap of a few cells is cut, but sewn badly: its tips have no edges of their own */
static void
hint_at_cells(PlaSurgeryPanel *self)
{
  const double cells = 4.0; /* across the smallest flap that closes well */
  g_autoptr(PlaSurgeryFacts) facts = self->content ? pla_surgery_facts_new(self->content) : NULL;
  const double cell = facts ? facts->lattice_mm : 0.0;
  const double size = gtk_spin_button_get_value(self->size);
  g_autofree char *text = NULL;
  if (self->instrument == PLA_TEMPLATE && size < cells * cell) {
    g_autofree char *has = pla_quantity_text(PLA_QUANTITY_TOOL, cell, PLA_UNIT_MM);
    g_autofree char *flap = pla_quantity_text(PLA_QUANTITY_EXTENT, size, PLA_UNIT_MM);
    g_autofree char *better = pla_quantity_text(PLA_QUANTITY_TOOL, size / cells, PLA_UNIT_MM);
    text = g_strdup_printf(_("The body has cells of %s. A flap of %s closes better in cells of %s "
                             "or less."),
                           has, flap, better);
  }
  pla_surgery_panel_say(self, text, FALSE);
}

/* the path and the blade that the step would make, and the stitches that are there */
void
pla_surgery_panel_show_sketch(PlaSurgeryPanel *self)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  PlaSketch sketch = { 0 };
  PlaSeams seams = { 0 };
  const gboolean mapped = gtk_widget_get_mapped(GTK_WIDGET(self));
  g_autoptr(PlaToolStep) step = mapped && self->preview ? pla_surgery_panel_build_step(self) : NULL;
  if (self->content && mapped) {
    seams.thread = places_mm(self->content, PLA_BODY_THREADS, 6, 6, &seams.n_threads);
    seams.knot = places_mm(self->content, PLA_BODY_STITCHES, 5, 3, &seams.n_knots);
  }
  seams.implant = g_new(double, 4 * (gsize)self->implants->len + 1);
  for (guint i = 0; mapped && i < self->implants->len; i++) {
    const PlaImplantChoice *implant = self->implants->pdata[i];
    memcpy(&seams.implant[4 * i], implant->at_mm, sizeof implant->at_mm);
    seams.implant[4 * i + 3] = implant->radius_mm;
    seams.n_implants++;
  }
  const PlaImplantChoice *grows = step ? pla_surgery_panel_chosen_implant(self) : NULL;
  PlaError err = { 0 };
  if (step && self->instrument != PLA_HOOK) {
    if (pla_tool_step_draw(step, self->preview, &sketch, &err) != PLA_OK)
      pla_surgery_panel_say(self, err.message, TRUE);
    else
      hint_at_cells(self);
  } else if (!self->working) {
    const gboolean trouble = mapped && self->trouble.message[0];
    pla_surgery_panel_say(self, trouble ? self->trouble.message : NULL, trouble);
  }
  if (grows)
    pla_sketch_add_ball(&sketch, grows->at_mm, gtk_spin_button_get_value(self->radius));
  pla_tools_set_sketch(tools, &sketch, &seams);
  g_free(seams.thread);
  g_free(seams.knot);
  g_free(seams.implant);
  show_points(self, &sketch);
  pla_sketch_clear(&sketch);
  pla_surgery_panel_update_actions(self);
}

void
pla_surgery_panel_redraw(PlaSurgeryPanel *self)
{
  if (self->following)
    return;
  pla_surgery_panel_show_marks(self);
  pla_surgery_panel_show_sketch(self);
}

void
pla_surgery_panel_aim(PlaSurgeryPanel *self)
{
  double middle[3], normal[3], radius;
  if (!self->aim || !self->preview || !gtk_widget_get_mapped(GTK_WIDGET(self)))
    return;
  self->aim = FALSE;
  if (pla_plan_preview_wounds(self->preview, middle, normal, &radius))
    pla_tools_aim(pla_document_get_tools(self->document), middle, normal, radius);
}

static void
preview_free(gpointer data)
{
  pla_plan_preview_free(data);
}

static void
sketch_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  PlaPlanPreview *preview = NULL;
  PlaError err;
  if (pla_plan_preview_new(data, &preview, &err) == PLA_OK)
    g_task_return_pointer(task, preview, preview_free);
  else
    g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_FAILED, "%s", err.message);
}

static void
on_preview(GObject *source, GAsyncResult *result, gpointer data)
{
  PlaSurgeryPanel *self = PLA_SURGERY_PANEL(source);
  PlaPlanPreview *preview = g_task_propagate_pointer(G_TASK(result), NULL);
  if (g_task_get_task_data(G_TASK(result)) != self->preview_for) {
    pla_plan_preview_free(preview); /* of an older body */
    return;
  }
  pla_plan_preview_free(self->preview);
  self->preview = preview;
  if (self->document) {
    pla_surgery_panel_aim(self);
    pla_surgery_panel_redraw(self);
  }
}

void
pla_surgery_panel_make_preview(PlaSurgeryPanel *self)
{
  if (self->content == self->preview_for)
    return;
  g_clear_pointer(&self->preview, pla_plan_preview_free);
  g_clear_pointer(&self->preview_for, pla_content_unref);
  if (!self->content)
    return;
  self->preview_for = pla_content_ref(self->content);
  g_autoptr(GTask) task = g_task_new(self, NULL, on_preview, NULL);
  g_task_set_task_data(task, pla_content_ref(self->content), (GDestroyNotify)pla_content_unref);
  g_task_run_in_thread(task, sketch_in_thread);
}

/* one more; where there are as many as the instrument takes, it begins anew */
void
pla_surgery_panel_set_point(PlaSurgeryPanel *self, const double at_mm[3])
{
  const int most = pla_surgery_panel_max_points(self);
  if (most > 0 && self->points->len >= 3 * (guint)most)
    g_array_set_size(self->points, 0);
  g_array_append_vals(self->points, at_mm, 3);
}

void
pla_surgery_panel_on_picked(PlaSurgeryPanel *self, PlaEntry *entry, const PlaScenePick *pick)
{
  if (!pla_surgery_panel_is_mine(self) || !entry || entry != self->body)
    return;
  if (pla_surgery_panel_places(self)) {
    memcpy(self->normal, pick->normal, sizeof self->normal);
    pla_surgery_panel_set_point(self, pick->point_mm);
  } else if (self->instrument == PLA_HOOK && !self->working) {
    memcpy(self->hook_at, pick->point_mm, sizeof self->hook_at);
    memset(self->hook_pull, 0, sizeof self->hook_pull);
    self->hooking = TRUE;
  }
  pla_surgery_panel_redraw(self);
}

void
pla_surgery_panel_on_placed(PlaSurgeryPanel *self, int mark, const PlaScenePick *pick,
                            gboolean done)
{
  if (!pla_surgery_panel_is_mine(self) || !pla_surgery_panel_places(self) || mark < 0 ||
      3 * (guint)mark + 2 >= self->points->len)
    return;
  memcpy(&g_array_index(self->points, double, 3 * mark), pick->point_mm, sizeof pick->point_mm);
  if (self->instrument == PLA_TEMPLATE)
    memcpy(self->normal, pick->normal, sizeof self->normal);
  pla_surgery_panel_redraw(self);
}

void
pla_surgery_panel_stop_live(PlaSurgeryPanel *self)
{
  g_clear_pointer(&self->live, pla_live_stop);
  if (self->live_shown && self->body)
    pla_tools_move(pla_document_get_tools(self->document), self->body, NULL);
  self->live_shown = FALSE;
}

static void
on_live(const PlaLiveShape *shape, const PlaError *err, void *data)
{
  PlaSurgeryPanel *self = data;
  if (!shape) {
    pla_surgery_panel_say(self, err->message, TRUE);
    pla_surgery_panel_stop_live(self);
    return;
  }
  const PlaMesh *mesh = self->body ? pla_entry_get_mesh(self->body) : NULL;
  if (!mesh || mesh->n_verts != shape->n_verts)
    return;
  pla_tools_move(pla_document_get_tools(self->document), self->body, shape->pos);
  self->live_shown = TRUE;
  g_autofree char *force = pla_quantity_text(PLA_QUANTITY_FORCE, shape->force_n, PLA_UNIT_N);
  g_autofree char *text =
      g_strdup_printf(shape->settled
                          ? _("Shown: following the hand, nearly at rest. The hook pulls with %s.")
                          : _("Shown: following the hand, on its way. The hook pulls with %s."),
                      force);
  gtk_label_set_label(self->shown, text);
}

void
pla_surgery_panel_on_dragged(PlaSurgeryPanel *self, int mark, const double *pull_mm, gboolean done)
{
  int n;
  pla_tools_get_marks(pla_document_get_tools(self->document), &n);
  if (!pla_surgery_panel_is_mine(self) || !self->hooking || mark != n - 1)
    return;
  memcpy(self->hook_pull, pull_mm, sizeof self->hook_pull);
  pla_surgery_panel_show_marks(self);
  if (!self->live && gtk_switch_get_active(self->live_switch))
    self->live = pla_live_start_body(self->content, self->hook_at, on_live, self);
  if (self->live)
    pla_live_pull(self->live, 0, pull_mm);
  if (!done)
    return;
  if (hypot(hypot(pull_mm[0], pull_mm[1]), pull_mm[2]) >= 0.5) {
    pla_surgery_panel_run_steps(self, pla_surgery_panel_build_steps(self), _("Pulling"));
  } else {
    self->hooking = FALSE;
    pla_surgery_panel_stop_live(self);
    pla_surgery_panel_show_marks(self);
  }
}
