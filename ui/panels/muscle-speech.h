/* A body speaks: words become phonemes, the best stretches of what was fitted are chosen for them,
 * and can be changed by hand in a lane; the preview blends stored shapes, saying it simulates. */
#pragma once

#include "app/verbs/verb-values.h"
#include "ui/document/motion-player.h"
#include "ui/widgets/phoneme-lane.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_MUSCLE_SPEECH (pla_muscle_speech_get_type())
G_DECLARE_FINAL_TYPE(PlaMuscleSpeech, pla_muscle_speech, PLA, MUSCLE_SPEECH, AdwBin)

/* Signals: "failed" (a sentence, or NULL: what was said no longer holds), "changed". */
void pla_muscle_speech_set_player(PlaMuscleSpeech *self, PlaMotionPlayer *player); /* once */
/* While it is shown it has the timeline. */
void pla_muscle_speech_set_on(PlaMuscleSpeech *self, gboolean on);
/* Finds the phonemes of the text that is written, or reads a file of them; in the background. */
void pla_muscle_speech_find(PlaMuscleSpeech *self);
void pla_muscle_speech_read(PlaMuscleSpeech *self, const char *path);
PlaPhonemeLane *pla_muscle_speech_get_lane(PlaMuscleSpeech *self);
/* What is to be said, of the verb "say-line", or "perform" where nothing was learned;
 * g_object_unref().  NULL where there is nothing to say. */
PlaVerbValues *pla_muscle_speech_dup_values(PlaMuscleSpeech *self);

G_END_DECLS
