/* Parses the pages of the user guide into widgets, and shows them beside a list of titles. */
#include "ui/widgets/help.h"

#include <glib/gi18n.h>
#include <string.h>

static const PlaHelpPage pages[] = {
  { "first-steps", FALSE },  { "views", FALSE },          { "import", FALSE },
  { "anatomy", FALSE },      { "mesh", FALSE },           { "simulate", FALSE },
  { "surgery", FALSE },      { "muscles", FALSE },        { "speech", FALSE },
  { "history", FALSE },      { "measure", FALSE },        { "report", FALSE },
  { "export", FALSE },       { "safety", FALSE },         { "tutorial-scan", TRUE },
  { "tutorial-pull", TRUE }, { "tutorial-report", TRUE }, { "tutorial-flap", TRUE },
  { "tutorial-face", TRUE }, { "tutorial-speech", TRUE },
};

struct _PlaHelp {
  AdwWindow parent_instance;
  GtkListBox *list;
  GtkScrolledWindow *scrolled;
  PlaHelpActivate activate;
  gpointer data;
};

G_DEFINE_FINAL_TYPE(PlaHelp, pla_help, ADW_TYPE_WINDOW)

const PlaHelpPage *
pla_help_pages_get(int *n)
{
  *n = G_N_ELEMENTS(pages);
  return pages;
}

char *
pla_help_dup_text(const char *id)
{
  const char *const *languages = g_get_language_names();
  for (int i = 0; languages[i]; i++) {
    const gboolean plain = strcmp(languages[i], "C") == 0;
    g_autofree char *path =
        plain ? g_strdup_printf("/org/platysma/Platysma/help/%s.txt", id)
              : g_strdup_printf("/org/platysma/Platysma/help/%s/%s.txt", languages[i], id);
    g_autoptr(GBytes) bytes = g_resources_lookup_data(path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    if (bytes)
      return g_strndup(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
  }
  return NULL;
}

/* ---------------------------------------------------------------------- a page */

static GtkWidget *
label_new(const char *markup, const char *css)
{
  GtkWidget *label = gtk_label_new(NULL);
  gtk_label_set_markup(GTK_LABEL(label), markup);
  gtk_label_set_wrap(GTK_LABEL(label), TRUE);
  gtk_label_set_xalign(GTK_LABEL(label), 0.0f);
  gtk_label_set_selectable(GTK_LABEL(label), FALSE);
  if (css)
    gtk_widget_add_css_class(label, css);
  return label;
}

/* a mark (bullet or number) and the text beside it */
static GtkWidget *
item_new(const char *mark, const char *markup)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *sign = gtk_label_new(mark);
  gtk_label_set_width_chars(GTK_LABEL(sign), 2);
  gtk_widget_set_valign(sign, GTK_ALIGN_START);
  gtk_widget_add_css_class(sign, "dim-label");
  GtkWidget *text = label_new(markup, NULL);
  gtk_widget_set_hexpand(text, TRUE);
  gtk_box_append(GTK_BOX(box), sign);
  gtk_box_append(GTK_BOX(box), text);
  return box;
}

static void
on_button(GtkButton *button, PlaHelp *self)
{
  self->activate(g_object_get_data(G_OBJECT(button), "action"), self->data);
}

static GtkWidget *
button_new(PlaHelp *self, const char *line)
{
  const char *blank = strchr(line, ' ');
  GtkWidget *button = gtk_button_new_with_label(blank ? blank + 1 : line);
  gtk_widget_set_halign(button, GTK_ALIGN_START);
  gtk_widget_set_margin_start(button, 30);
  g_object_set_data_full(G_OBJECT(button), "action",
                         g_strndup(line, blank ? (gsize)(blank - line) : strlen(line)), g_free);
  g_signal_connect(button, "clicked", G_CALLBACK(on_button), self);
  return button;
}

static GtkWidget *
page_new(PlaHelp *self, const char *text)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 9);
  gtk_widget_set_margin_start(box, 24);
  gtk_widget_set_margin_end(box, 24);
  gtk_widget_set_margin_top(box, 18);
  gtk_widget_set_margin_bottom(box, 24);
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (int i = 0; lines[i]; i++) {
    const char *line = lines[i];
    GtkWidget *child = NULL;
    if (!*line)
      continue;
    if (g_str_has_prefix(line, "## ")) {
      child = label_new(line + 3, "title-4");
      gtk_widget_set_margin_top(child, 12);
    } else if (g_str_has_prefix(line, "# ")) {
      child = label_new(line + 2, "title-1");
    } else if (g_str_has_prefix(line, "- ")) {
      child = item_new("•", line + 2);
    } else if (g_str_has_prefix(line, "> ")) {
      child = button_new(self, line + 2);
    } else if (g_ascii_isdigit(*line) && strchr(line, '.') == line + 1) {
      const char number[] = { *line, '.', '\0' };
      child = item_new(number, line + 3);
    } else {
      child = label_new(line, NULL);
    }
    gtk_box_append(GTK_BOX(box), child);
  }
  GtkWidget *clamp = adw_clamp_new();
  adw_clamp_set_maximum_size(ADW_CLAMP(clamp), 620);
  adw_clamp_set_child(ADW_CLAMP(clamp), box);
  return clamp;
}

/* the first line, without its mark; g_free() */
static char *
title_of(const char *text)
{
  const char *end = strchr(text, '\n');
  const char *start = g_str_has_prefix(text, "# ") ? text + 2 : text;
  return end ? g_strndup(start, (gsize)(end - start)) : g_strdup(start);
}

gboolean
pla_help_show(PlaHelp *self, const char *id)
{
  for (size_t i = 0; i < G_N_ELEMENTS(pages); i++)
    if (strcmp(pages[i].id, id) == 0) {
      gtk_list_box_select_row(self->list, gtk_list_box_get_row_at_index(self->list, (int)i));
      return TRUE;
    }
  return FALSE;
}

static void
on_row_selected(GtkListBox *list, GtkListBoxRow *row, PlaHelp *self)
{
  if (!row)
    return;
  g_autofree char *text = pla_help_dup_text(pages[gtk_list_box_row_get_index(row)].id);
  gtk_scrolled_window_set_child(self->scrolled, page_new(self, text));
}

/* a heading before the first page and before the first tutorial */
static void
set_header(GtkListBoxRow *row, GtkListBoxRow *before, gpointer data)
{
  const int i = gtk_list_box_row_get_index(row);
  GtkWidget *header = NULL;
  if (i == 0 || pages[i].tutorial != pages[i - 1].tutorial) {
    header = gtk_label_new(pages[i].tutorial ? _("Tutorials") : _("Guide"));
    gtk_label_set_xalign(GTK_LABEL(header), 0.0f);
    gtk_widget_add_css_class(header, "heading");
    gtk_widget_add_css_class(header, "help-heading");
  }
  gtk_list_box_row_set_header(row, header);
}

/* ------------------------------------------------------------------------ type */

static void
pla_help_class_init(PlaHelpClass *klass)
{
}

static void
pla_help_init(PlaHelp *self)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *columns = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
  GtkWidget *list = gtk_list_box_new(), *left = gtk_scrolled_window_new(),
            *right = gtk_scrolled_window_new();
  self->list = GTK_LIST_BOX(list);
  self->scrolled = GTK_SCROLLED_WINDOW(right);
  gtk_widget_add_css_class(list, "navigation-sidebar");
  gtk_list_box_set_header_func(self->list, set_header, NULL, NULL);
  gtk_accessible_update_property(GTK_ACCESSIBLE(list), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Pages of the guide"), -1);
  for (size_t i = 0; i < G_N_ELEMENTS(pages); i++) {
    g_autofree char *text = pla_help_dup_text(pages[i].id);
    g_autofree char *title = title_of(text);
    GtkWidget *label = gtk_label_new(title);
    gtk_label_set_xalign(GTK_LABEL(label), 0.0f);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_list_box_append(self->list, label);
  }
  g_signal_connect(list, "row-selected", G_CALLBACK(on_row_selected), self);
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(left), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(left), list);
  gtk_widget_set_size_request(left, 230, -1);
  gtk_scrolled_window_set_policy(self->scrolled, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_set_hexpand(right, TRUE);
  gtk_box_append(GTK_BOX(columns), left);
  gtk_box_append(GTK_BOX(columns), gtk_separator_new(GTK_ORIENTATION_VERTICAL));
  gtk_box_append(GTK_BOX(columns), right);
  gtk_widget_set_vexpand(columns, TRUE);
  gtk_box_append(GTK_BOX(box), adw_header_bar_new());
  gtk_box_append(GTK_BOX(box), columns);
  adw_window_set_content(ADW_WINDOW(self), box);
  gtk_window_set_title(GTK_WINDOW(self), _("User Guide"));
  gtk_window_set_default_size(GTK_WINDOW(self), 900, 680);
}

GtkWidget *
pla_help_new(GtkWindow *parent, PlaHelpActivate activate, gpointer data)
{
  PlaHelp *self = g_object_new(PLA_TYPE_HELP, "transient-for", parent, NULL);
  self->activate = activate;
  self->data = data;
  pla_help_show(self, pages[0].id);
  return GTK_WIDGET(self);
}
