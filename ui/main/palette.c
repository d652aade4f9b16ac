/* Scores every usable action against the typed text: prefix 1000, start of a word 800, inside a
 * word 500, all words 400, letters in order below 200. */
#include "ui/main/palette.h"

#include "ui/main/actions.h"

#include <glib/gi18n.h>
#include <string.h>

struct _PlaPalette {
  AdwWindow parent_instance;
  GtkWidget *entry, *list, *nothing, *stack;
  GtkWindow *parent; /* borrowed: it outlives this window, which is transient for it */
  PlaPaletteActivate activate;
  gpointer data;
};

G_DEFINE_FINAL_TYPE(PlaPalette, pla_palette, ADW_TYPE_WINDOW)

/* ------------------------------------------------------------------- matching */

int
pla_palette_score(const char *needle, const char *hay)
{
  g_autofree char *n = g_utf8_casefold(needle, -1), *h = g_utf8_casefold(hay, -1);
  g_strstrip(n);
  if (!*n)
    return 1;
  /* as one piece: better at the start of a word, best at the very start */
  const char *found = strstr(h, n);
  if (found)
    return found == h ? 1000 : found[-1] == ' ' ? 800 : 500;
  /* each word of it somewhere */
  g_auto(GStrv) words = g_strsplit(n, " ", -1);
  gboolean all = words[0] && words[1];
  for (int i = 0; all && words[i]; i++)
    all = strstr(h, words[i]) != NULL;
  if (all)
    return 400;
  /* its letters in order; gaps cost */
  int score = 200;
  const char *at = h;
  for (const char *c = n; *c; c = g_utf8_next_char(c)) {
    gunichar letter = g_utf8_get_char(c);
    if (letter == ' ')
      continue;
    const char *hit = g_utf8_strchr(at, -1, letter);
    if (!hit)
      return 0;
    score -= (int)(hit - at);
    at = g_utf8_next_char(hit);
  }
  return MAX(score, 1);
}

static int
score_of(const PlaActionInfo *info, const char *text)
{
  g_autofree char *title = pla_action_dup_plain_title(info);
  g_autofree char *with_group =
      g_strdup_printf("%s %s", pla_action_group_title(info->group), title);
  int by_title = pla_palette_score(text, title), by_group = pla_palette_score(text, with_group) / 2;
  return MAX(by_title, by_group);
}

/* whether the action is there and can be used */
static gboolean
usable(PlaPalette *self, const char *detailed)
{
  g_autofree char *name = NULL;
  g_autoptr(GVariant) target = NULL;
  if (!g_action_parse_detailed_name(detailed, &name, &target, NULL))
    return FALSE;
  if (g_str_has_prefix(name, "win."))
    return g_action_group_get_action_enabled(G_ACTION_GROUP(self->parent), name + 4);
  if (g_str_has_prefix(name, "app."))
    return g_action_group_get_action_enabled(
        G_ACTION_GROUP(gtk_window_get_application(self->parent)), name + 4);
  /* actions of panels need a case */
  return g_action_group_get_action_enabled(G_ACTION_GROUP(self->parent), "close-case");
}

/* ----------------------------------------------------------------------- rows */

static GtkWidget *
row_new(const PlaActionInfo *info)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  g_autofree char *text = pla_action_dup_plain_title(info);
  GtkWidget *title = gtk_label_new(text);
  gtk_label_set_xalign(GTK_LABEL(title), 0.0f);
  gtk_label_set_ellipsize(GTK_LABEL(title), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand(title, TRUE);
  GtkWidget *group = gtk_label_new(pla_action_group_title(info->group));
  gtk_widget_add_css_class(group, "dim-label");
  gtk_widget_add_css_class(group, "caption");
  gtk_box_append(GTK_BOX(box), title);
  gtk_box_append(GTK_BOX(box), group);
  if (info->accel)
    gtk_box_append(GTK_BOX(box), pla_keycap_new(info->accel));
  gtk_widget_add_css_class(box, "palette-row");
  GtkWidget *row = gtk_list_box_row_new();
  gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(row), box);
  gtk_accessible_update_property(GTK_ACCESSIBLE(row), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
  g_object_set_data(G_OBJECT(row), "action", (gpointer)info->action);
  return row;
}

typedef struct {
  const PlaActionInfo *info;
  int score, order;
} Match;

static int
compare(gconstpointer a, gconstpointer b)
{
  const Match *x = a, *y = b;
  return x->score != y->score ? y->score - x->score : x->order - y->order;
}

void
pla_palette_search(PlaPalette *self, const char *text)
{
  int n;
  const PlaActionInfo *table = pla_actions_get(&n);
  g_autoptr(GArray) matches = g_array_new(FALSE, FALSE, sizeof(Match));
  for (int i = 0; i < n; i++) {
    Match match = { &table[i], score_of(&table[i], text), i };
    if (match.score > 0 && usable(self, table[i].action) &&
        strcmp(table[i].action, "win.palette") != 0)
      g_array_append_val(matches, match);
  }
  g_array_sort(matches, compare);
  for (GtkWidget *row; (row = gtk_widget_get_first_child(self->list));)
    gtk_list_box_remove(GTK_LIST_BOX(self->list), row);
  for (guint i = 0; i < matches->len; i++)
    gtk_list_box_append(GTK_LIST_BOX(self->list), row_new(g_array_index(matches, Match, i).info));
  gtk_list_box_select_row(GTK_LIST_BOX(self->list),
                          gtk_list_box_get_row_at_index(GTK_LIST_BOX(self->list), 0));
  gtk_stack_set_visible_child_name(GTK_STACK(self->stack), matches->len ? "list" : "nothing");
}

const char *
pla_palette_get_row(PlaPalette *self, int i)
{
  GtkListBoxRow *row = gtk_list_box_get_row_at_index(GTK_LIST_BOX(self->list), i);
  return row ? g_object_get_data(G_OBJECT(row), "action") : NULL;
}

void
pla_palette_activate(PlaPalette *self)
{
  GtkListBoxRow *row = gtk_list_box_get_selected_row(GTK_LIST_BOX(self->list));
  const char *action = row ? g_object_get_data(G_OBJECT(row), "action") : NULL;
  PlaPaletteActivate activate = self->activate;
  gpointer data = self->data;
  if (!action)
    return;
  gtk_window_destroy(GTK_WINDOW(self));
  activate(action, data);
}

/* ---------------------------------------------------------------------- input */

static void
on_changed(PlaPalette *self)
{
  pla_palette_search(self, gtk_editable_get_text(GTK_EDITABLE(self->entry)));
}

static void
on_row_activated(GtkListBox *list, GtkListBoxRow *row, PlaPalette *self)
{
  gtk_list_box_select_row(list, row);
  pla_palette_activate(self);
}

/* up and down walk the list while the entry keeps the focus */
static gboolean
on_key(GtkEventControllerKey *key, guint keyval, guint code, GdkModifierType state,
       PlaPalette *self)
{
  GtkListBox *list = GTK_LIST_BOX(self->list);
  GtkListBoxRow *row = gtk_list_box_get_selected_row(list);
  int at = row ? gtk_list_box_row_get_index(row) : -1;
  switch (keyval) {
  case GDK_KEY_Down:
    at++;
    break;
  case GDK_KEY_Up:
    at = MAX(at - 1, 0);
    break;
  case GDK_KEY_Escape:
    gtk_window_close(GTK_WINDOW(self));
    return TRUE;
  case GDK_KEY_Return:
  case GDK_KEY_KP_Enter:
    pla_palette_activate(self);
    return TRUE;
  default:
    return FALSE;
  }
  GtkListBoxRow *next = gtk_list_box_get_row_at_index(list, at);
  if (next) {
    gtk_list_box_select_row(list, next);
    /* bring it into sight without moving the focus */
    GtkWidget *scrolled = gtk_widget_get_ancestor(self->list, GTK_TYPE_SCROLLED_WINDOW);
    GtkAdjustment *v = gtk_scrolled_window_get_vadjustment(GTK_SCROLLED_WINDOW(scrolled));
    graphene_rect_t box;
    if (gtk_widget_compute_bounds(GTK_WIDGET(next), self->list, &box))
      gtk_adjustment_clamp_page(v, box.origin.y, box.origin.y + box.size.height);
  }
  return TRUE;
}

/* ----------------------------------------------------------------------- type */

static void
pla_palette_class_init(PlaPaletteClass *klass)
{
}

static void
pla_palette_init(PlaPalette *self)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  self->entry = gtk_search_entry_new();
  g_object_set(self->entry, "placeholder-text", _("What do you want to do?"), NULL);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->entry), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Search for an action"), -1);
  gtk_widget_set_margin_start(self->entry, 12);
  gtk_widget_set_margin_end(self->entry, 12);
  gtk_widget_set_margin_top(self->entry, 12);
  gtk_widget_set_margin_bottom(self->entry, 6);
  self->list = gtk_list_box_new();
  gtk_list_box_set_selection_mode(GTK_LIST_BOX(self->list), GTK_SELECTION_BROWSE);
  gtk_widget_add_css_class(self->list, "navigation-sidebar");
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->list), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Actions"), -1);
  GtkWidget *scrolled = gtk_scrolled_window_new();
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
                                 GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), self->list);
  self->nothing = gtk_label_new(_("No action matches"));
  gtk_widget_add_css_class(self->nothing, "dim-label");
  self->stack = gtk_stack_new();
  gtk_stack_add_named(GTK_STACK(self->stack), scrolled, "list");
  gtk_stack_add_named(GTK_STACK(self->stack), self->nothing, "nothing");
  gtk_widget_set_vexpand(self->stack, TRUE);
  gtk_box_append(GTK_BOX(box), self->entry);
  gtk_box_append(GTK_BOX(box), self->stack);
  adw_window_set_content(ADW_WINDOW(self), box);
  gtk_window_set_title(GTK_WINDOW(self), _("Find an Action"));
  gtk_window_set_default_size(GTK_WINDOW(self), 560, 440);
  gtk_window_set_modal(GTK_WINDOW(self), TRUE);
  g_signal_connect_swapped(self->entry, "search-changed", G_CALLBACK(on_changed), self);
  g_signal_connect_swapped(self->entry, "activate", G_CALLBACK(pla_palette_activate), self);
  g_signal_connect(self->list, "row-activated", G_CALLBACK(on_row_activated), self);
  GtkEventController *key = gtk_event_controller_key_new();
  gtk_event_controller_set_propagation_phase(key, GTK_PHASE_CAPTURE);
  g_signal_connect(key, "key-pressed", G_CALLBACK(on_key), self);
  gtk_widget_add_controller(GTK_WIDGET(self), key);
}

GtkWidget *
pla_palette_new(GtkWindow *parent, PlaPaletteActivate activate, gpointer data)
{
  PlaPalette *self = g_object_new(PLA_TYPE_PALETTE, "transient-for", parent, NULL);
  self->parent = parent;
  self->activate = activate;
  self->data = data;
  pla_palette_search(self, "");
  gtk_widget_grab_focus(self->entry);
  return GTK_WIDGET(self);
}
