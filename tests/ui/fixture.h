/* What tests of the window share: a small scan, a window that has come to rest, its pixels. */
#pragma once

#include "ui/main/window.h"

extern char *fixture_dir; /* of this test's files */

/* Display, preferences in memory, a folder of its own; then tests may be added. */
void fixture_start(int *argc, char ***argv);
int fixture_run(void); /* runs them and removes the folder */

/* A bright ball with a dark one inside it, off the middle; or labels of both.  Path, g_free(). */
char *write_volume(const char *name, gboolean labels);
/* Lets the window work until nothing is left to do and it was drawn again. */
void settle(PlaWindow *window);
PlaWindow *new_window(void); /* 960 x 600 */
void close_window(PlaWindow *window);
PlaWindow *open_case(void); /* with the scan and its labels; an unsaved case */
/* Starts to make the label "Core", of values between 500 and 2000. */
void find_core(PlaDocument *document);
/* Different colours within a widget's part of the saved window. */
int count_colours(PlaWindow *window, GtkWidget *widget);
/* Saves the settled window as NAME.png in the folder PLA_SHOTS, if that is set. */
void shoot(PlaWindow *window, const char *name);
PlaHash state_hash(PlaWindow *window); /* of its case */
/* The question that the window asks, or NULL; and an answer to it, by the id of a response. */
AdwMessageDialog *find_question(PlaWindow *window);
void answer_question(PlaWindow *window, const char *response);
