/* The command palette: type a few letters, choose an action, press Enter.
 *
 * Lists every row of ui/main/actions.h that can be used now, best match first: whole words count
 * more than letters in order, titles more than groups. */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_PALETTE (pla_palette_get_type())
G_DECLARE_FINAL_TYPE(PlaPalette, pla_palette, PLA, PALETTE, AdwWindow)

/* @activate runs the chosen action, after the palette has closed. */
typedef void (*PlaPaletteActivate)(const char *detailed_action, gpointer data);
GtkWidget *pla_palette_new(GtkWindow *parent, PlaPaletteActivate activate, gpointer data);
void pla_palette_search(PlaPalette *self, const char *text);
/* The detailed name of row @i (0 for the best match), or NULL. */
const char *pla_palette_get_row(PlaPalette *self, int i);
void pla_palette_activate(PlaPalette *self); /* the chosen row; closes */

/* How well @needle (typed) matches @hay: 0 not at all.  Letters must occur in order. */
int pla_palette_score(const char *needle, const char *hay);

G_END_DECLS
