/* A trained inversion from sound to sensors, and running it on sound as it arrives. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/signal/signal.h"
#include "sim/speech/network.h"
#include "sim/speech/speech-features.h"

enum { PLA_CONTEXT_MAX = 32, PLA_CONTEXT_REACH = 100 };

/* Which frames around the present one the network hears. */
typedef struct {
  bool causal; /* slopes look back only */
  int n;
  int offset[PLA_CONTEXT_MAX]; /* frames, ascending */
} PlaContext;

PlaContext pla_context_default(void); /* -3 .. 3 */
PlaContext pla_context_causal(void);  /* -6 .. 0, slopes look back */
PlaContext pla_context_long(void);    /* looks ahead as the default does, but further back */
/* Ascending offsets within the limits. */
bool pla_context_check(const PlaContext *context);
/* One stacked input from rows of features; rows before the first and after the last are repeated.
 * @row (n_rows x 39) */
void pla_context_stack(const PlaContext *context, const float *row, long n_rows, long at,
                       float *out);

enum { PLA_SENSOR_COUNT = 7, PLA_SENSOR_CHANNELS = 14 };
extern const char *const pla_sensor_names[PLA_SENSOR_COUNT]; /* TR TD TB TT LI UL LL */

typedef struct {
  PlaContext context;
  PlaNet *net;      /* owned */
  char **name;      /* owned (net's n_out): "TR_x", "TR_y", ... */
  int smooth;       /* Savitzky-Golay window over the output, cubic, odd; 1: none */
  char *provenance; /* owned: what it was trained on */
} PlaSpeechModel;

void pla_speech_model_free(PlaSpeechModel *model); /* NULL is fine */
/* Seconds from a sound to its sensors that the method itself costs: context, slopes, half a frame,
 * and @smooth_ahead frames of smoothing. */
double pla_speech_latency_s(const PlaContext *context, int smooth_ahead);

/* ---- sound in, sensors out */

typedef struct PlaSpeech PlaSpeech;

/* @model is borrowed.  @rate_hz: of the sound.  @smooth_ahead: frames after the present one that
 * the smoothing may use, 0 .. smooth / 2, or -1 for half the window.  Caller frees *out. */
PlaStatus pla_speech_new(const PlaSpeechModel *model, double rate_hz, int smooth_ahead,
                         PlaSpeech **out, PlaError *err);
void pla_speech_free(PlaSpeech *self); /* NULL is fine */
/* Takes @n samples in -1..1, the last call with @end true.  The same bits come out whatever pieces
 * the sound arrives in. */
PlaStatus pla_speech_push(PlaSpeech *self, const double *sample, size_t n, bool end, PlaError *err);
/* Frames known by now: 100 a second, frame t at 12.5 ms + t 10 ms.  A frame has as many values as
 * the model has channels. */
long pla_speech_count(const PlaSpeech *self);
void pla_speech_get(const PlaSpeech *self, long frame, double *value);
/* Frames before @frame are not asked for any more. */
void pla_speech_drop(PlaSpeech *self, long frame);
double pla_speech_total_latency_s(const PlaSpeech *self); /* of the method, resampling included */

/* What a sound is like that no speech should be, in sentences: silence, clipping, a low band; from
 * a second on also no voice, or a loudness that does not change. */
void pla_speech_judge(const PlaAudio *audio, PlaNotes *notes);

/* A whole sound: channels are averaged, the track has the model's channels at 100 Hz.  Notes say
 * what is odd about the sound. */
PlaStatus pla_speech_invert(const PlaSpeechModel *model, const PlaAudio *audio, PlaTrack **out,
                            PlaNotes *notes, PlaProgress *progress, PlaError *err);
/* The sound as one channel at 16 kHz (free()). */
PlaStatus pla_speech_samples(const PlaAudio *audio, double **sample, size_t *n, PlaError *err);
