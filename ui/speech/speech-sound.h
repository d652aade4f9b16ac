/* The sound over time: waveform, spectrogram, phonemes, coils and what tells two recordings apart,
 * all over the same stretch of time.
 *
 * A click goes to a moment, a drag selects a stretch, a double click selects nothing.  The wheel
 * goes nearer and farther where the pointer is; across, or with Shift, it goes along.  Keys: Space
 * plays and pauses, arrows go frame by frame, Home and End to the ends; + and - nearer and farther,
 * 0 shows all, Z what is selected, Page Up and Page Down go along. */
#pragma once

#include "ui/document/document.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define PLA_TYPE_SPEECH_SOUND (pla_speech_sound_get_type())
G_DECLARE_FINAL_TYPE(PlaSpeechSound, pla_speech_sound, PLA, SPEECH_SOUND, GtkWidget)

GtkWidget *pla_speech_sound_new(PlaDocument *document);
/* The stretch that is seen, s; kept within the recording and not shorter than 0.05 s. */
void pla_speech_sound_get_range(PlaSpeechSound *self, double *from_s, double *to_s);
void pla_speech_sound_set_range(PlaSpeechSound *self, double from_s, double to_s);
/* @factor times as near; @about_s stays where it is. */
void pla_speech_sound_zoom(PlaSpeechSound *self, double factor, double about_s);
void pla_speech_sound_zoom_selection(PlaSpeechSound *self); /* without a selection: all */
GtkAdjustment *
pla_speech_sound_get_adjustment(PlaSpeechSound *self); /* for a scroll bar; borrowed */
/* Seconds under a place of the widget, and back. */
double pla_speech_sound_time_at(PlaSpeechSound *self, double x);
double pla_speech_sound_x_at(PlaSpeechSound *self, double time_s);

G_END_DECLS
