/* Resonances heard in speech: peaks of the all-pole spectrum of a frame (linear prediction; J.
 * Makhoul, 1975). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { PLA_FORMANTS = 3, PLA_FORMANT_SAMPLES = 480 }; /* of 30 ms at 16 kHz */

/* The first resonances between 150 and 4500 Hz of PLA_FORMANT_SAMPLES samples at 16 kHz; NaN for
 * those that do not show.  False where the frame is no voice: quieter than @least (mean square) or
 * without a period of 60 to 400 Hz; all are NaN then. */
bool pla_formants_hear(const double *sample, double least, double hz[PLA_FORMANTS]);

/* The same for frames centred at 12.5 ms + t 10 ms of @n samples (n_frames x PLA_FORMANTS); frames
 * more than 30 dB below the loudest are no voice.  How many are. */
int pla_formants_track(const double *sample, size_t n, int n_frames, double *hz);
