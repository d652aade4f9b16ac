/* What the network hears: mel-frequency cepstra of speech at 16 kHz, a hundred times a second.
 *
 * A frame is 25 ms of sound, pre-emphasised (0.97) under a Hann window, moved by 10 ms.  Its 13
 * numbers are 12 cepstra of 26 mel bands, liftered (22), and the logarithm of its energy relative
 * to the loudest recent frame; with their slopes and the slopes of these, 39 a frame. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum {
  PLA_SPEECH_HZ = 16000,
  PLA_FRAME_SAMPLES = 400, /* 25 ms */
  PLA_HOP_SAMPLES = 160,   /* 10 ms */
  PLA_FRAMES_HZ = 100,
  PLA_N_STATIC = 13,  /* 12 cepstra, then the energy */
  PLA_N_FEATURES = 39 /* those, slopes, slopes of slopes */
};

typedef struct PlaFeatures PlaFeatures;

/* @causal: slopes look back only (they lag by 2 frames each), else 2 frames ahead each.
 * Caller frees *out. */
PlaStatus pla_features_new(bool causal, PlaFeatures **out, PlaError *err);
void pla_features_free(PlaFeatures *self); /* NULL is fine */

/* Takes @n samples at 16 kHz in -1..1; the last call has @end true.  false: memory is short.
 * The same bits come out whatever pieces the sound arrives in. */
bool pla_features_push(PlaFeatures *self, const double *sample, size_t n, bool end);
/* Frames whose 39 numbers are known by now, from the start of the sound. */
long pla_features_count(const PlaFeatures *self);
/* Row @frame, which must be known and not dropped.  Valid until the next push. */
const float *pla_features_row(const PlaFeatures *self, long frame);
/* Rows before @frame are not needed any more. */
void pla_features_drop(PlaFeatures *self, long frame);
/* Frames after a frame that its row depends on: 0 when causal, else 4. */
int pla_features_look_ahead(const PlaFeatures *self);

/* The 13 numbers of one frame before the level is taken off its energy, from @sample
 * [PLA_FRAME_SAMPLES] preceded by @before. */
void pla_features_static(const PlaFeatures *self, const double *sample, double before,
                         double out[PLA_N_STATIC]);
/* What cepstra become when all frequencies are multiplied by @factor, as a tract shorter by it
 * does: c' = A c, for slopes too (12 x 12, row-major). */
void pla_features_warp(double factor, double a[(PLA_N_STATIC - 1) * (PLA_N_STATIC - 1)]);
double pla_mel(double hz); /* 2595 log10(1 + f / 700) */
