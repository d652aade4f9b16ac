/* The views of the window: where they lie, which part of the head they show, pictures of them. */
#include "ui/main/window-private.h"

#include "anatomy/volume/raycast.h"
#include "app/show/render.h"
#include "ui/main/workspace.h"
#include "ui/speech/speech-playback.h"
#include "ui/speech/speech-view.h"
#include "ui/views/scene-view.h"
#include "ui/views/slice-view.h"
#include "ui/widgets/settings.h"

#include <glib/gi18n.h>
#include <string.h>

static void
on_save_response(GtkNativeDialog *dialog, int response, PlaWindow *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = file ? g_file_get_path(file) : NULL;
    PlaError err;
    int scale = gtk_widget_get_scale_factor(self->scene);
    if (path &&
        pla_scene_view_save(PLA_SCENE_VIEW(self->scene),
                            2 * scale * gtk_widget_get_width(self->scene),
                            2 * scale * gtk_widget_get_height(self->scene), path, &err) != PLA_OK)
      pla_window_fail(self, err.message);
  }
  g_clear_object(&self->chooser);
}

static void
on_save_picture(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  pla_window_choose(self, _("Save 3-D Picture"), GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"),
                    G_CALLBACK(on_save_response));
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), "platysma.png");
}

static void
on_fit(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  for (int axis = 0; axis < 3; axis++)
    pla_slice_view_fit(PLA_SLICE_VIEW(self->slice[axis]));
  pla_scene_view_look(PLA_SCENE_VIEW(self->scene), PLA_VIEW_THREE_QUARTER);
}

static void
on_look(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  PlaViewPreset preset;
  if (pla_view_preset_from_name(g_variant_get_string(param, NULL), &preset))
    pla_scene_view_look(PLA_SCENE_VIEW(self->scene), preset);
}

static void
on_grey_window(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  int n;
  const PlaWindowPreset *presets = pla_window_presets_get(&n);
  for (int i = 0; i < n; i++)
    if (strcmp(presets[i].id, g_variant_get_string(param, NULL)) == 0)
      pla_document_set_window(self->document, presets[i].lo, presets[i].hi);
}

static const char *const layouts[] = { "sagittal", "coronal", "axial", "scene" };

/* axial and sagittal above, coronal and 3-D below; or 3-D large, the slices in a column beside it;
 * or 3-D above the sound */
typedef enum { PLACED_FOUR, PLACED_LARGE, PLACED_SPEECH, PLACED_SILENCE } Placed;

static void
place_views(PlaWindow *self, Placed how)
{
  enum { N = 6 };
  /* the grid makes room for hidden ones too: they lie under others */
  static const struct {
    int x, y, w, h;
  } places[][N] = {
    { { 1, 0, 1, 1 },
      { 0, 1, 1, 1 },
      { 0, 0, 1, 1 },
      { 1, 1, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 } },
    { { 2, 1, 1, 1 },
      { 2, 2, 1, 1 },
      { 2, 0, 1, 1 },
      { 0, 0, 2, 3 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 } },
    { { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 5 },
      { 1, 0, 1, 5 },
      { 0, 5, 2, 4 } },
    { { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 } },
  };
  GtkWidget *const view[N] = { self->slice[0], self->slice[1],    self->slice[2],
                               self->scene,    self->speech_look, self->speech_strip };
  GtkLayoutManager *grid = gtk_widget_get_layout_manager(GTK_WIDGET(self->views));
  for (int v = 0; v < N; v++)
    g_object_set(gtk_layout_manager_get_layout_child(grid, view[v]), "column", places[how][v].x,
                 "row", places[how][v].y, "column-span", places[how][v].w, "row-span",
                 places[how][v].h, NULL);
}

/* Where speech is the work: what was said lies beside and below 3-D, as soon as there is something.
 */
static void
place_speech(PlaWindow *self)
{
  const gboolean said =
      pla_speech_playback_get_shown(pla_speech_playback_get(self->document)) != NULL;
  gtk_widget_set_visible(self->speech_look, said);
  gtk_widget_set_visible(self->speech_strip, said);
  place_views(self, said ? PLACED_SPEECH : PLACED_SILENCE);
}

static void
on_speech_changed(PlaWindow *self)
{
  g_autoptr(GVariant) layout = g_action_group_get_action_state(G_ACTION_GROUP(self), "layout");
  if (strcmp(g_variant_get_string(layout, NULL), "speech") == 0)
    place_speech(self);
}

static void
change_layout(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  const char *name = g_variant_get_string(state, NULL);
  const gboolean large = strcmp(name, "large") == 0, four = large || strcmp(name, "four") == 0,
                 speech = strcmp(name, "speech") == 0;
  GtkWidget *const view[4] = { self->slice[0], self->slice[1], self->slice[2], self->scene };
  gboolean known = four || speech;
  for (int v = 0; v < 4; v++)
    known = known || strcmp(name, layouts[v]) == 0;
  if (!known)
    return;
  for (int v = 0; v < 4; v++)
    gtk_widget_set_visible(view[v], four || strcmp(name, layouts[v]) == 0 ||
                                        (speech && view[v] == self->scene));
  if (speech) {
    place_speech(self);
  } else {
    gtk_widget_set_visible(self->speech_look, FALSE);
    gtk_widget_set_visible(self->speech_strip, FALSE);
    place_views(self, large ? PLACED_LARGE : PLACED_FOUR);
  }
  g_simple_action_set_state(action, state);
}

static void
change_convention(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  const char *name = g_variant_get_string(state, NULL);
  if (strcmp(name, "radiological") != 0 && strcmp(name, "neurological") != 0)
    return;
  pla_document_set_radiological(self->document, strcmp(name, "radiological") == 0);
  g_simple_action_set_state(action, state);
  g_settings_set_string(pla_settings_get(), "convention", name);
}

static void
change_workspace(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  const char *id = g_variant_get_string(state, NULL);
  const PlaWorkspace *to = pla_workspace_find(id);
  g_autoptr(GVariant) before = g_action_get_state(G_ACTION(action));
  const PlaWorkspace *from = pla_workspace_find(g_variant_get_string(before, NULL));
  if (!to)
    return;
  adw_view_stack_set_visible_child_name(self->panels, id);
  g_simple_action_set_state(action, state);
  if (from != to)
    pla_tools_set(pla_document_get_tools(self->document), PLA_TOOL_NONE, NULL, NULL);
  /* a layout that the user chose stays until the work asks for another */
  if (from && strcmp(from->layout, to->layout) != 0)
    g_action_group_change_action_state(G_ACTION_GROUP(self), "layout",
                                       g_variant_new_string(to->layout));
}

static void
change_smooth(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  pla_document_set_linear(self->document, g_variant_get_boolean(state));
  g_simple_action_set_state(action, state);
  g_settings_set_boolean(pla_settings_get(), "smooth", g_variant_get_boolean(state));
}

static void
change_slices_in_space(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  pla_scene_view_set_slices(PLA_SCENE_VIEW(self->scene), g_variant_get_boolean(state));
  g_simple_action_set_state(action, state);
}

static void
change_cut_away(GSimpleAction *action, GVariant *state, gpointer data)
{
  static const char *const sides[] = { "left", "right", "front", "back", "above", "below", NULL };
  PlaWindow *self = data;
  const char *side = g_variant_get_string(state, NULL);
  if (!g_strv_contains(sides, side) && strcmp(side, "none") != 0)
    return;
  pla_scene_view_set_clip(PLA_SCENE_VIEW(self->scene), strcmp(side, "none") != 0 ? side : NULL);
  g_simple_action_set_state(action, state);
}

static void
change_volume(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  const char *preset = g_variant_get_string(state, NULL);
  const gboolean none = strcmp(preset, "none") == 0;
  if (!none && !pla_transfer_find(preset))
    return;
  pla_scene_view_set_volume(PLA_SCENE_VIEW(self->scene), none ? NULL : preset);
  g_simple_action_set_state(action, state);
}

static void
change_show_tree(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  gtk_revealer_set_reveal_child(GTK_REVEALER(self->tree_revealer), g_variant_get_boolean(state));
  g_simple_action_set_state(action, state);
}

static void
change_show_panel(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  gtk_revealer_set_reveal_child(GTK_REVEALER(self->panel_revealer), g_variant_get_boolean(state));
  g_simple_action_set_state(action, state);
}

static const GActionEntry entries[] = {
  { "save-picture", on_save_picture, NULL, NULL, NULL },
  { "fit", on_fit, NULL, NULL, NULL },
  { "look", on_look, "s", NULL, NULL },
  { "grey-window", on_grey_window, "s", NULL, NULL },
  { "layout", NULL, "s", "'four'", change_layout },
  { "convention", NULL, "s", "'radiological'", change_convention },
  { "workspace", NULL, "s", "'import'", change_workspace },
  { "smooth", NULL, NULL, "true", change_smooth },
  { "slices-in-space", NULL, NULL, "false", change_slices_in_space },
  { "volume", NULL, "s", "'none'", change_volume },
  { "cut-away", NULL, "s", "'none'", change_cut_away },
  { "show-tree", NULL, NULL, "true", change_show_tree },
  { "show-panel", NULL, NULL, "true", change_show_panel },
};

void
pla_window_add_view_actions(PlaWindow *self)
{
  g_action_map_add_action_entries(G_ACTION_MAP(self), entries, G_N_ELEMENTS(entries), self);
}

void
pla_window_fill_views(PlaWindow *self)
{
  /* axial and sagittal above, coronal and 3-D below */
  for (int axis = 0; axis < 3; axis++)
    self->slice[axis] = pla_slice_view_new(self->document, (PlaAxis)axis);
  self->scene = pla_scene_view_new(self->document);
  gtk_grid_attach(self->views, self->slice[PLA_AXIS_AXIAL], 0, 0, 1, 1);
  gtk_grid_attach(self->views, self->slice[PLA_AXIS_SAGITTAL], 1, 0, 1, 1);
  gtk_grid_attach(self->views, self->slice[PLA_AXIS_CORONAL], 0, 1, 1, 1);
  gtk_grid_attach(self->views, self->scene, 1, 1, 1, 1);
  self->speech_look = pla_speech_look_new(self->document);
  self->speech_strip = pla_speech_strip_new(self->document);
  gtk_grid_attach(self->views, self->speech_look, 1, 0, 1, 5);
  gtk_grid_attach(self->views, self->speech_strip, 0, 5, 2, 4);
  gtk_widget_set_visible(self->speech_look, FALSE);
  gtk_widget_set_visible(self->speech_strip, FALSE);
  place_views(self, PLACED_FOUR);
  g_signal_connect_object(pla_speech_playback_get(self->document), "changed",
                          G_CALLBACK(on_speech_changed), self, G_CONNECT_SWAPPED);
  /* pictures of patients are not mirrored with the direction of writing */
  gtk_widget_set_direction(GTK_WIDGET(self->views), GTK_TEXT_DIR_LTR);
}
