/* Every action of the window and the application, in one table.
 *
 * Menus, the command palette, the shortcuts window, accelerators and the tests are made from it: an
 * action that is added to a group gets one row in ui/main/actions.c, and nothing else has to know.
 */
#pragma once

#include "ui/main/workspace.h"

#include <adwaita.h>

G_BEGIN_DECLS

typedef enum {
  PLA_GROUP_CASE = 0,
  PLA_GROUP_EDIT,
  PLA_GROUP_WORKSPACES,
  PLA_GROUP_VIEWS,
  PLA_GROUP_SLICES,
  PLA_GROUP_SCENE,
  PLA_GROUP_MEASURE,
  PLA_GROUP_TOOLS,
  PLA_GROUP_PROGRAM,
  PLA_N_GROUPS
} PlaActionGroupId;
const char *pla_action_group_title(PlaActionGroupId group); /* translated */

typedef enum { PLA_MENU_NONE = 0, PLA_MENU_MAIN, PLA_MENU_VIEW } PlaMenuId;

typedef struct {
  const char *action; /* with its target: "win.layout::axial" */
  const char *title;  /* translated, with a mnemonic */
  const char *accel;  /* or NULL */
  PlaActionGroupId group;
  PlaMenuId menu;
  int section;         /* of the menu, from 0 */
  const char *submenu; /* translated title, or NULL */
} PlaActionInfo;

const PlaActionInfo *pla_actions_get(int *n);
/* The title without its mnemonic and dots, for lists; g_free(). */
char *pla_action_dup_plain_title(const PlaActionInfo *info);

/* The workspace whose panel does an action, or NULL: the window or the application does. */
const PlaWorkspace *pla_action_get_workspace(const char *action);
/* Keys of the window and the application; those of panels are the window's to add. */
void pla_actions_set_accels(GtkApplication *application);
GMenuModel *pla_actions_menu_new(PlaMenuId menu); /* g_object_unref() */
/* A searchable list of all keys. */
GtkWidget *pla_shortcuts_window_new(GtkWindow *parent);
/* A label that looks like the key; @accel as gtk_accelerator_parse() reads it. */
GtkWidget *pla_keycap_new(const char *accel);

G_END_DECLS
