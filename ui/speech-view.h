/* What is seen of speech: beside the 3-D view the tongue in section, the palate it touches and the
 * airway; below both the sound over time, with phonemes, coils and what tells two recordings apart.
 *
 * In the sound: a click goes to a moment, a drag selects a stretch, a double click selects nothing.
 * Keys: Space plays and pauses, arrows go frame by frame, Home and End to the ends. */
#pragma once

#include "ui/document.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

GtkWidget *pla_speech_look_new(PlaDocument *document);
/* The sound, and below it what plays it. */
GtkWidget *pla_speech_strip_new(PlaDocument *document);

#define PLA_TYPE_SPEECH_SOUND (pla_speech_sound_get_type())
G_DECLARE_FINAL_TYPE(PlaSpeechSound, pla_speech_sound, PLA, SPEECH_SOUND, GtkWidget)

GtkWidget *pla_speech_sound_new(PlaDocument *document);
/* Seconds under a place of the widget, and back; for tests and the pointer. */
double pla_speech_sound_time_at(PlaSpeechSound *self, double x);
double pla_speech_sound_x_at(PlaSpeechSound *self, double time_s);

G_END_DECLS
