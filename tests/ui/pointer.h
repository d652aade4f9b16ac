/* A hand for tests: real pointer events through the X server's test extension. */
#pragma once

#include <gtk/gtk.h>

/* Moves the pointer to a place of @widget, in its own coordinates, and lets the window see it. */
void pointer_move(GtkWidget *widget, double x, double y);
/* Presses and releases a button where the pointer is. */
void pointer_click(GtkWidget *widget, double x, double y, int button);
/* Presses the left button at the first of @n places, goes through the others, releases. */
void pointer_drag(GtkWidget *widget, const double (*places)[2], int n);
/* Presses and releases keys by their X names, the first held while the others are:
 * "Control_L+Return". */
void press_keys(GtkWidget *window, const char *keys);
/* The first button below @root whose label or accessible name this is; g_error() without one. */
GtkWidget *find_button(GtkWidget *root, const char *label);
/* The first widget of a type below @root (and itself), or NULL. */
GtkWidget *find_type(GtkWidget *root, GType type, int nth);
/* Lets the main loop run for a while. */
void let_run(int milliseconds);
