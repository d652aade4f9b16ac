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

#define PLA_TYPE_SPEECH_DESK (pla_speech_desk_get_type())
G_DECLARE_FINAL_TYPE(PlaSpeechDesk, pla_speech_desk, PLA, SPEECH_DESK, GObject)

/* Belongs to @document and lives as long; borrowed. */
PlaSpeechDesk *pla_speech_desk_get(PlaDocument *document);

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
pla_speech_desk_get_names(PlaSpeechDesk *self); /* of all recordings, oldest first */
const PlaUtterance *pla_speech_desk_get_shown(PlaSpeechDesk *self); /* or NULL */
const PlaUtterance *pla_speech_desk_get_other(PlaSpeechDesk *self); /* or NULL */
/* Of the two; NULL while it is being made or there is nothing to compare. */
const PlaSpokenPair *pla_speech_desk_get_pair(PlaSpeechDesk *self);
const char *pla_speech_desk_get_failure(PlaSpeechDesk *self); /* of reading or comparing, or NULL */
void pla_speech_desk_show(PlaSpeechDesk *self, const char *name);
void pla_speech_desk_compare_with(PlaSpeechDesk *self, const char *name); /* NULL: with nothing */

double pla_speech_desk_get_seconds(PlaSpeechDesk *self); /* of the shown one; 0 without */
double pla_speech_desk_get_time(PlaSpeechDesk *self);
void pla_speech_desk_set_time(PlaSpeechDesk *self, double time_s); /* kept in range; pauses */
void pla_speech_desk_get_selection(PlaSpeechDesk *self, double *from_s, double *to_s); /* or all */
gboolean pla_speech_desk_has_selection(PlaSpeechDesk *self);
void pla_speech_desk_select(PlaSpeechDesk *self, double from_s, double to_s); /* equal: nothing */
/* The frame of the other motion that belongs to the moment. */
int pla_speech_desk_get_other_frame(PlaSpeechDesk *self);

gboolean pla_speech_desk_get_playing(PlaSpeechDesk *self);
void pla_speech_desk_set_playing(PlaSpeechDesk *self, gboolean playing);
const char *pla_speech_desk_get_silence(PlaSpeechDesk *self); /* why nothing is heard, or NULL */
double pla_speech_desk_get_speed(PlaSpeechDesk *self);        /* 1, 0.5, 0.25 */
void pla_speech_desk_set_speed(PlaSpeechDesk *self, double speed);
gboolean pla_speech_desk_get_loop(PlaSpeechDesk *self);
void pla_speech_desk_set_loop(PlaSpeechDesk *self, gboolean loop);
gboolean pla_speech_desk_get_beside(PlaSpeechDesk *self); /* side by side, else overlaid */
void pla_speech_desk_set_beside(PlaSpeechDesk *self, gboolean beside);

/* What the tongue's muscles do in the motion that is shown.  While they are wanted they are found
 * on a worker, once for every motion while the document is open; who cancels that wants them no
 * longer. */
gboolean pla_speech_desk_get_muscles_wanted(PlaSpeechDesk *self);
void pla_speech_desk_set_muscles_wanted(PlaSpeechDesk *self, gboolean wanted);
/* NULL: not wanted, not yet.  Stays as long as the desk. */
const PlaTongueActivations *pla_speech_desk_get_muscles(PlaSpeechDesk *self);
const char *
pla_speech_desk_get_muscles_failure(PlaSpeechDesk *self); /* why there are none, or NULL */
void pla_speech_desk_set_cell(PlaSpeechDesk *self,
                              double cell_mm); /* of the tongue; 0: its default */

/* The 3-D shapes follow the moment only while the workspace is seen. */
void pla_speech_desk_set_active(PlaSpeechDesk *self, gboolean active);

G_END_DECLS
