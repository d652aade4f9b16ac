/* Inside the Speech workspace: what the panel, the ways to a recording and what is saved share.
 * Main thread only. */
#pragma once

#include "app/verbs/verb-values.h"
#include "ui/panels/speech-panel.h"
#include "ui/speech/speech-playback.h"

struct _PlaSpeechPanel {
  AdwBin parent_instance;
  GtkWidget *body, *nothing, *failure_box, *move_group, *look_group, *compare_group, *save_group;
  GtkButton *record;
  GtkLevelBar *level;
  GtkWidget *text, *heard; /* rows of parameters */
  AdwComboRow *voice, *speaker, *recording, *other;
  AdwActionRow *activations_row;
  GtkSwitch *beside, *muscles;
  GtkLabel *failure, *notes, *trained, *facts, *explained, *apart;

  PlaDocument *document;
  PlaVerbValues *say, *speak; /* of these verbs */
  PlaSpeechPlayback *playback;
  GtkFileChooserNative *chooser;
  PlaVoiceChoice *voices;
  int n_voices;
  gboolean asked_voices;
  PlaJob *listening; /* the microphone's, or NULL */
  gint *loudness;    /* of the microphone, thousandths; shared with its thread */
  guint level_timer;
  char *heard_file; /* a recording on its way into the case */
  gboolean moving;  /* the tongue is being made to move */
  gboolean following;
  gint64 told_us;  /* when the moment was last told */
  gboolean looked; /* the 3-D view was turned to the tongue */
};

/* ---- speech-panel.c ---- */

void pla_speech_show_failure(PlaSpeechPanel *self, const char *sentence); /* or NULL */
void pla_speech_update(PlaSpeechPanel *self);
/* Answers an operation that was asked for. */
void pla_speech_on_done(gpointer owner, const char *failure);

/* ---- speech-source.c: a recording from the microphone, a file or a text ---- */

/* Asks for a file; pla_speech_take_path() is what was chosen, or NULL, in its response. */
void pla_speech_choose(PlaSpeechPanel *self, const char *title, GtkFileChooserAction kind,
                       const char *accept, const char *name, GCallback on_response);
char *pla_speech_take_path(PlaSpeechPanel *self, GtkNativeDialog *dialog, int response);
void pla_speech_ask_voices(PlaSpeechPanel *self); /* once, when it is first seen */
void pla_speech_forget_heard_file(PlaSpeechPanel *self);
/* Actions of the panel. */
void pla_speech_on_record(GtkWidget *widget, const char *action, GVariant *param);
void pla_speech_on_open(GtkWidget *widget, const char *action, GVariant *param);
void pla_speech_on_say(GtkWidget *widget, const char *action, GVariant *param);

/* ---- speech-save.c: tables and videos ---- */

void pla_speech_on_table(GtkWidget *widget, const char *action, GVariant *param);
void pla_speech_on_activations(GtkWidget *widget, const char *action, GVariant *param);
void pla_speech_on_video(GtkWidget *widget, const char *action, GVariant *param);
