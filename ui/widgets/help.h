/* The user guide: short pages, one for each workspace and three tutorials, with buttons that do
 * what the text says.
 *
 * A page is ui/help/ID.txt: "# " its title, "## " a heading, "- " and "1. " items of lists, and
 * "> win.action Label" a button; other lines are paragraphs in Pango markup. */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

typedef struct {
  const char *id;
  gboolean tutorial;
} PlaHelpPage;
const PlaHelpPage *pla_help_pages_get(int *n);
/* The text of a page in the user's language, else in English; NULL: there is none.  g_free(). */
char *pla_help_dup_text(const char *id);

#define PLA_TYPE_HELP (pla_help_get_type())
G_DECLARE_FINAL_TYPE(PlaHelp, pla_help, PLA, HELP, AdwWindow)

/* @activate runs the action of a button; the guide stays open beside the window. */
typedef void (*PlaHelpActivate)(const char *detailed_action, gpointer data);
GtkWidget *pla_help_new(GtkWindow *parent, PlaHelpActivate activate, gpointer data);
gboolean pla_help_show(PlaHelp *self, const char *id); /* FALSE: there is no such page */

G_END_DECLS
