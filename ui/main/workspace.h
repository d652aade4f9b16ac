/* The registry of workspaces: what the switcher in the header bar offers.
 *
 * A workspace is a panel on the right that leads through one kind of work.  To add one, write the
 * panel and put one row into the table of ui/main/workspace.c. */
#pragma once

#include "ui/document/document.h"

#include <gtk/gtk.h>

typedef struct {
  const char *id;    /* as in --workspace ID and win.workspace */
  const char *title; /* translatable */
  const char *icon;
  const char *layout; /* of the views: a name of win.layout */
  GtkWidget *(*create)(PlaDocument *document);
} PlaWorkspace;

const PlaWorkspace *pla_workspaces_get(int *n);
const PlaWorkspace *pla_workspace_find(const char *id); /* or NULL */
