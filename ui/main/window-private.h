/* Inside the window: what its frame, its cases and its views share. */
#pragma once

#include "ui/document/measure.h"
#include "ui/main/window.h"

struct _PlaWindow {
  AdwApplicationWindow parent_instance;
  GtkLabel *case_title, *case_note, *failure, *status, *status_window, *job_title;
  GtkInfoBar *failure_bar;
  GtkStack *pages;
  AdwViewStack *panels;
  GtkWidget *switcher, *status_bar, *jobs_button, *menu_button, *view_button, *tree_revealer,
      *panel_revealer, *recent_group, *unsaved_group, *history_box, *undo, *redo;
  AdwBin *tree_place;
  GtkGrid *views;
  GtkListBox *jobs, *recent, *unsaved;

  PlaDocument *document;
  GtkWidget *slice[3], *scene;
  GtkWidget *speech_look, *speech_strip; /* beside and below 3-D, where speech is the work */
  GtkFileChooserNative *chooser;
  /* what was asked for while an unsaved case was open, to be done once that is saved or given up */
  void (*next)(struct _PlaWindow *self, const char *path);
  char *next_path;
  PlaMeasure *measure;
  GtkWidget *timeline;
  AdwBin *timeline_place;
  char *first_failure;
};

/* ---- window.c ---- */

void pla_window_enable(PlaWindow *self, const char *action, gboolean enabled);
void pla_window_fail(PlaWindow *self, const char *sentence);
void pla_window_on_busy(PlaWindow *self);

/* ---- window-cases.c: the welcome page, opening, saving and leaving cases, undo and redo ---- */

void pla_window_add_case_actions(PlaWindow *self);
void pla_window_connect_cases(PlaWindow *self); /* once there is a document */
void pla_window_show_welcome(PlaWindow *self);
/* Asks for a file; @on_response (dialog, response, window) reads it from self->chooser. */
void pla_window_choose(PlaWindow *self, const char *title, GtkFileChooserAction kind,
                       const char *accept, GCallback on_response);
/* Whether @next (with @path, or NULL) has to wait: an unsaved case that holds something is open,
 * and the user is asked what becomes of it.  With @adopt, saving it is all that is wanted. */
gboolean pla_window_ask_first(PlaWindow *self, void (*next)(PlaWindow *self, const char *path),
                              const char *path, gboolean adopt);
void pla_window_think_again(PlaWindow *self); /* what was asked for is not done */

/* ---- window-views.c: where the views lie and what they show ---- */

void pla_window_add_view_actions(PlaWindow *self);
void pla_window_fill_views(PlaWindow *self);
