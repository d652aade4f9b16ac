/* A library of physemes: fitted takes with their phonemes, described by one JSON file.
 *
 * {
 *   "takes": [{"track": "take-1.csv", "phonemes": "take-1.TextGrid", "tier": "phones"}, ...],
 *   "weights": {"zygomaticus major, left": 6.2, ...}      mm of the skin for a unit of each control
 * }
 *
 * Tracks are what `fit` writes (app/motion/activation.h): activations, jaw and head by name. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/signal/signal.h"
#include "app/content/content.h"
#include "sim/physeme/physeme.h"

typedef struct {
  int n_takes, n_controls;
  char **control, **unit; /* owned, NULL-terminated */
  double rate_hz;         /* of the fastest take */
  double seconds;         /* of all takes */
  PlaPhysemeBank *bank;   /* owned */
} PlaPhysemeLibrary;

void pla_physeme_library_clear(PlaPhysemeLibrary *self);
PlaStatus pla_physeme_library_load(const char *path, PlaPhysemeLibrary *out, PlaNotes *notes,
                                   PlaProgress *progress, PlaError *err);

/* Describes @n takes, checks them by loading, and only then writes the description; files are named
 * relative to it.  @files: track, phonemes, track, phonemes, ... (2 n).  @weights: a file that has
 * them, as `fit --json` prints; NULL: none. */
PlaStatus pla_physeme_library_build(const char *path, const char *const *files, int n,
                                    const char *weights, PlaPhysemeLibrary *out, PlaNotes *notes,
                                    PlaProgress *progress, PlaError *err);

/* The takes of a library as items: tracks whose metadata has their phonemes. */
typedef struct {
  GPtrArray *name;     /* of char *: paths of the tracks */
  GPtrArray *take;     /* of PlaContent */
  JsonObject *weights; /* by name of a control, or NULL */
} PlaPhysemeTakes;
PlaStatus pla_physeme_takes_read(const char *path, PlaPhysemeTakes *out, PlaProgress *progress,
                                 PlaError *err);
void pla_physeme_takes_clear(PlaPhysemeTakes *self); /* zero is fine */

/* Adds a take that is in memory; the first one tells which controls there are.  @self is zero at
 * first.  @weights of controls by name, as in the file; NULL: they count alike.  @notes may be NULL
 * without weights. */
PlaStatus pla_physeme_library_add(PlaPhysemeLibrary *self, const PlaTrack *track,
                                  const PlaPhones *phones, JsonObject *weights, PlaNotes *notes,
                                  PlaError *err);

/* The phonemes of a text (IPA) with eSpeak's times; @audio (may be NULL): its sound, the caller's.
 */
PlaStatus pla_phones_from_text(const char *text, const char *voice, PlaPhones *out,
                               PlaAudio **audio, PlaError *err);

typedef struct {
  double rate_hz;             /* of the track; 0: the library's */
  const PlaTrack *expression; /* added to the activations, held at its last value; may be NULL */
  double strength;            /* of the expression, 0 .. 1 */
} PlaPhysemeOptions;

/* Controls over the whole of @line, as a track like those of the takes; activations stay within
 * 0..1.  The expression's channels are matched by name. */
PlaStatus pla_physeme_library_speak(const PlaPhysemeLibrary *self, const PlaLine *line,
                                    const PlaPhysemeOptions *opts, PlaTrack **out, PlaError *err);
