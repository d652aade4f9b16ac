/* What the Speech workspace is about: the recordings of the case, the chosen one with its motion, a
 * second one to compare with, and the moment that is shown.  The panel and the views share it.
 *
 * Main thread only; reading happens on workers.  Signals:
 *   "changed": another recording, motion or comparison, or other lists
 *   "moved": the moment, or what is selected
 *   "state": playing, pace, loop, side by side
 *   "muscles": whether they are wanted, and what was found of them */
#pragma once

#include "app/speech/recording.h"
#include "app/speech/spoken-muscles.h"
#include "ui/document/document.h"

G_BEGIN_DECLS

#define PLA_TYPE_SPEECH_PLAYBACK (pla_speech_playback_get_type())
G_DECLARE_FINAL_TYPE(PlaSpeechPlayback, pla_speech_playback, PLA, SPEECH_PLAYBACK, GObject)

/* Belongs to @document and lives as long; borrowed. */
PlaSpeechPlayback *pla_speech_playback_get(PlaDocument *document);

/* One recording as it is shown: sound, phonemes where they are known, and the motion if there is
 * one. */
typedef struct {
  char *name;          /* of the sound or track */
  char *motion_name;   /* or NULL */
  PlaHash motion_hash; /* of its content */
  PlaContent *source;  /* held; audio or track */
  PlaSpoken *spoken;   /* or NULL: not made yet */
  PlaHeard heard;      /* without sound: no wave, no columns */
  double seconds;
  PlaNotes notes; /* what is odd about the sound */
} PlaUtterance;

const char *const *
pla_speech_playback_get_names(PlaSpeechPlayback *self); /* of all recordings, oldest first */
const PlaUtterance *pla_speech_playback_get_shown(PlaSpeechPlayback *self); /* or NULL */
const PlaUtterance *pla_speech_playback_get_other(PlaSpeechPlayback *self); /* or NULL */
/* Of the two; NULL while it is being made or there is nothing to compare. */
const PlaSpokenPair *pla_speech_playback_get_pair(PlaSpeechPlayback *self);
const char *
pla_speech_playback_get_failure(PlaSpeechPlayback *self); /* of reading or comparing, or NULL */
void pla_speech_playback_show(PlaSpeechPlayback *self, const char *name);
void pla_speech_playback_compare_with(PlaSpeechPlayback *self,
                                      const char *name); /* NULL: with nothing */

double pla_speech_playback_get_seconds(PlaSpeechPlayback *self); /* of the shown one; 0 without */
double pla_speech_playback_get_time(PlaSpeechPlayback *self);
void pla_speech_playback_set_time(PlaSpeechPlayback *self,
                                  double time_s); /* kept in range; pauses */
void pla_speech_playback_get_selection(PlaSpeechPlayback *self, double *from_s,
                                       double *to_s); /* or all */
gboolean pla_speech_playback_has_selection(PlaSpeechPlayback *self);
void pla_speech_playback_select(PlaSpeechPlayback *self, double from_s,
                                double to_s); /* equal: nothing */
/* The frame of the other motion that belongs to the moment. */
int pla_speech_playback_get_other_frame(PlaSpeechPlayback *self);

gboolean pla_speech_playback_get_playing(PlaSpeechPlayback *self);
void pla_speech_playback_set_playing(PlaSpeechPlayback *self, gboolean playing);
const char *
pla_speech_playback_get_silence(PlaSpeechPlayback *self);      /* why nothing is heard, or NULL */
double pla_speech_playback_get_speed(PlaSpeechPlayback *self); /* 1, 0.5, 0.25 */
void pla_speech_playback_set_speed(PlaSpeechPlayback *self, double speed);
gboolean pla_speech_playback_get_loop(PlaSpeechPlayback *self);
void pla_speech_playback_set_loop(PlaSpeechPlayback *self, gboolean loop);
gboolean pla_speech_playback_get_beside(PlaSpeechPlayback *self); /* side by side, else overlaid */
void pla_speech_playback_set_beside(PlaSpeechPlayback *self, gboolean beside);

/* What the tongue's muscles do in the motion that is shown.  While they are wanted they are found
 * on a worker, once for every motion while the document is open; who cancels that wants them no
 * longer. */
gboolean pla_speech_playback_get_muscles_wanted(PlaSpeechPlayback *self);
void pla_speech_playback_set_muscles_wanted(PlaSpeechPlayback *self, gboolean wanted);
/* NULL: not wanted, not yet.  Stays as long as the playback. */
const PlaTongueActivations *pla_speech_playback_get_muscles(PlaSpeechPlayback *self);
const char *
pla_speech_playback_get_muscles_failure(PlaSpeechPlayback *self); /* why there are none, or NULL */
void pla_speech_playback_set_cell(PlaSpeechPlayback *self,
                                  double cell_mm); /* of the tongue; 0: its default */

/* The 3-D shapes follow the moment only while the workspace is seen. */
void pla_speech_playback_set_active(PlaSpeechPlayback *self, gboolean active);

G_END_DECLS
