/* Running a trained inversion: resampling, features, context, network, smoothing, each of which
 * takes sound in any pieces. */
#include "sim/speech/speech-model.h"

#include "anatomy/base/memory.h"
#include "sim/speech/formants.h"
#include "sim/speech/resample.h"
#include "sim/speech/speech-smooth.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const pla_sensor_names[PLA_SENSOR_COUNT] = { "TR", "TD", "TB", "TT", "LI", "UL", "LL" };

enum { DEGREE = 3 };

static PlaContext
context_range(int from, int to, bool causal)
{
  PlaContext context = { .causal = causal, .n = to - from + 1 };
  for (int i = 0; i < context.n; i++)
    context.offset[i] = from + i;
  return context;
}

PlaContext
pla_context_default(void)
{
  return context_range(-3, 3, false);
}

PlaContext
pla_context_causal(void)
{
  return context_range(-6, 0, true);
}

PlaContext
pla_context_long(void)
{
  return (PlaContext){ .n = 11, .offset = { -20, -14, -9, -6, -4, -2, -1, 0, 1, 2, 3 } };
}

bool
pla_context_check(const PlaContext *context)
{
  if (context->n < 1 || context->n > PLA_CONTEXT_MAX)
    return false;
  for (int i = 0; i < context->n; i++)
    if (abs(context->offset[i]) > PLA_CONTEXT_REACH ||
        (i > 0 && context->offset[i] <= context->offset[i - 1]))
      return false;
  return true;
}

static int
context_ahead(const PlaContext *context)
{
  const int most = context->offset[context->n - 1];
  return most > 0 ? most : 0;
}

void
pla_context_stack(const PlaContext *context, const float *row, long n_rows, long at, float *out)
{
  for (int i = 0; i < context->n; i++) {
    long t = at + context->offset[i];
    t = t < 0 ? 0 : t >= n_rows ? n_rows - 1 : t;
    memcpy(out + i * PLA_N_FEATURES, row + t * PLA_N_FEATURES, PLA_N_FEATURES * sizeof *out);
  }
}

void
pla_speech_model_free(PlaSpeechModel *model)
{
  if (!model)
    return;
  for (int c = 0; model->name && model->net && c < model->net->shape.n_out; c++)
    free(model->name[c]);
  free(model->name);
  pla_net_free(model->net);
  free(model->provenance);
  free(model);
}

double
pla_speech_latency_s(const PlaContext *context, int smooth_ahead)
{
  const int frames = context_ahead(context) + (context->causal ? 0 : 4) + smooth_ahead;
  return (double)frames / PLA_FRAMES_HZ + 0.5 * PLA_FRAME_SAMPLES / PLA_SPEECH_HZ;
}

/* ---- sound in, sensors out */

struct PlaSpeech {
  const PlaSpeechModel *model;
  int n_out, window, ahead;
  PlaResampler *resampler;
  PlaFeatures *features;
  PlaNetFolded *net;
  float *scratch, *input, *output;
  double *at16;
  size_t n_at16, capacity_at16;
  double *weight; /* of the smoothing window for each place in it (window x window) */
  /* frames first_raw .. n_raw - 1 of the network's output */
  float *raw;
  long first_raw, n_raw, capacity_raw;
  long wanted; /* frames before this one are not asked for */
  bool ended;
};

PlaStatus
pla_speech_new(const PlaSpeechModel *model, double rate_hz, int smooth_ahead, PlaSpeech **out,
               PlaError *err)
{
  PlaSpeech *self = pla_array_new0(1, sizeof *self);
  *out = self;
  if (!self)
    return pla_fail_memory(err, "the speech");
  self->model = model;
  self->n_out = model->net->shape.n_out;
  self->window = model->smooth > 1 ? model->smooth : 1;
  self->ahead =
      smooth_ahead < 0 || smooth_ahead > self->window / 2 ? self->window / 2 : smooth_ahead;
  PlaStatus st = pla_resampler_new(rate_hz, PLA_SPEECH_HZ, &self->resampler, err);
  if (st == PLA_OK)
    st = pla_features_new(model->context.causal, &self->features, err);
  if (st == PLA_OK)
    st = pla_net_fold(model->net, &self->net, err);
  if (st == PLA_OK) {
    self->scratch = pla_array_new_aligned(pla_net_folded_scratch(self->net), sizeof(float));
    self->input = pla_array_new((size_t)model->net->shape.n_in, sizeof(float));
    self->output = pla_array_new((size_t)self->n_out, sizeof(float));
    self->weight = pla_array_new((size_t)self->window * (size_t)self->window, sizeof(double));
    if (!self->scratch || !self->input || !self->output || !self->weight)
      st = pla_fail_memory(err, "the speech");
  }
  for (int at = 0; st == PLA_OK && at < self->window; at++)
    pla_smooth_weights(self->window, self->window > DEGREE ? DEGREE : 0, at,
                       self->weight + at * self->window);
  if (st != PLA_OK) {
    pla_speech_free(self);
    *out = NULL;
  }
  return st;
}

void
pla_speech_free(PlaSpeech *self)
{
  if (!self)
    return;
  pla_resampler_free(self->resampler);
  pla_features_free(self->features);
  pla_net_folded_free(self->net);
  free(self->scratch);
  free(self->input);
  free(self->output);
  free(self->at16);
  free(self->weight);
  free(self->raw);
  free(self);
}

/* input of the network for frame @t; rows beyond both ends are repeated */
static void
stack(PlaSpeech *self, long t)
{
  const PlaContext *context = &self->model->context;
  const long last = pla_features_count(self->features) - 1;
  for (int i = 0; i < context->n; i++) {
    long at = t + context->offset[i];
    at = at < 0 ? 0 : at > last ? last : at;
    memcpy(self->input + i * PLA_N_FEATURES, pla_features_row(self->features, at),
           PLA_N_FEATURES * sizeof(float));
  }
}

static bool
room_for_raw(PlaSpeech *self)
{
  if (self->n_raw - self->first_raw < self->capacity_raw)
    return true;
  const long larger = 2 * self->capacity_raw + 256;
  if (!pla_array_resize((void **)&self->raw, (size_t)larger * (size_t)self->n_out,
                        sizeof *self->raw))
    return false;
  self->capacity_raw = larger;
  return true;
}

PlaStatus
pla_speech_push(PlaSpeech *self, const double *sample, size_t n, bool end, PlaError *err)
{
  assert(!self->ended);
  self->n_at16 = 0;
  if (!pla_resampler_push(self->resampler, sample, n, end, &self->at16, &self->n_at16,
                          &self->capacity_at16) ||
      !pla_features_push(self->features, self->at16, self->n_at16, end))
    return pla_fail_memory(err, "the speech");
  const PlaContext *context = &self->model->context;
  const long known = pla_features_count(self->features) - (end ? 0 : context_ahead(context));
  for (; self->n_raw < known; self->n_raw++) {
    if (!room_for_raw(self))
      return pla_fail_memory(err, "the speech");
    stack(self, self->n_raw);
    pla_net_run(self->net, self->input, 1, self->scratch, self->output);
    memcpy(self->raw + (size_t)(self->n_raw - self->first_raw) * (size_t)self->n_out, self->output,
           (size_t)self->n_out * sizeof(float));
  }
  self->ended = end;
  pla_features_drop(self->features, self->n_raw + context->offset[0] - 1);
  return PLA_OK;
}

long
pla_speech_count(const PlaSpeech *self)
{
  if (self->ended)
    return self->n_raw;
  return self->n_raw > self->ahead ? self->n_raw - self->ahead : 0;
}

void
pla_speech_get(const PlaSpeech *self, long frame, double *value)
{
  assert(frame >= self->wanted && frame < pla_speech_count(self));
  /* the window ends `ahead` frames after the present one, or where the sound does; the first
   * windows are shorter, since later sound must not change what was said of a live one */
  long end = frame + self->ahead + 1;
  end = end > self->n_raw ? self->n_raw : end;
  const long first = end > self->window ? end - self->window : 0;
  const int n = (int)(end - first);
  double short_weight[PLA_SMOOTH_MAX];
  const double *w = self->weight + (frame - first) * self->window;
  if (n < self->window) {
    pla_smooth_weights(n, n > DEGREE ? DEGREE : n - 1, (int)(frame - first), short_weight);
    w = short_weight;
  }
  memset(value, 0, (size_t)self->n_out * sizeof *value);
  for (long t = first; t < end; t++)
    for (int c = 0; c < self->n_out; c++)
      value[c] +=
          w[t - first] *
          (double)self->raw[(size_t)(t - self->first_raw) * (size_t)self->n_out + (size_t)c];
}

void
pla_speech_drop(PlaSpeech *self, long frame)
{
  if (frame > self->wanted)
    self->wanted = frame;
  const long keep = self->wanted - self->window, gone = keep - self->first_raw;
  if (gone > 0 && 2 * gone > self->n_raw - self->first_raw && keep <= self->n_raw) {
    memmove(self->raw, self->raw + (size_t)gone * (size_t)self->n_out,
            (size_t)(self->n_raw - keep) * (size_t)self->n_out * sizeof *self->raw);
    self->first_raw = keep;
  }
}

double
pla_speech_total_latency_s(const PlaSpeech *self)
{
  return pla_speech_latency_s(&self->model->context, self->ahead) +
         pla_resampler_latency_s(self->resampler);
}

/* ---- whole sounds */

static double
mixed(const PlaAudio *audio, int64_t i)
{
  double sum = 0.0;
  for (int c = 0; c < audio->n_channels; c++)
    sum += pla_audio_get(audio, i, c);
  sum /= audio->n_channels;
  return isfinite(sum) ? fmin(fmax(sum, -8.0), 8.0) : 0.0;
}

/* whether it sounds like speech: a voice in much of its loud parts, and loudness that changes with
 * syllables */
static void
judge_voice(const PlaAudio *audio, PlaNotes *notes)
{
  enum { HOP = PLA_SPEECH_HZ / 20, N = PLA_FORMANT_SAMPLES, LEAST_FRAMES = 20 };
  const double floor_db = -40.0, loud_db = -25.0; /* below the loudest frame */
  double *sample = NULL, loudest = 0.0, sum = 0.0, square = 0.0;
  size_t n = 0;
  PlaError ignored;
  if (pla_speech_samples(audio, &sample, &n, &ignored) != PLA_OK)
    return;
  const int n_frames = n >= N ? (int)((n - N) / HOP) + 1 : 0;
  double *power = pla_array_new0((size_t)n_frames + 1, sizeof *power);
  for (int t = 0; power && t < n_frames; t++) {
    for (int i = 0; i < N; i++)
      power[t] += sample[t * HOP + i] * sample[t * HOP + i] / N;
    loudest = fmax(loudest, power[t]);
  }
  int loud = 0, voiced = 0;
  for (int t = 0; power && loudest > 0.0 && t < n_frames; t++) {
    const double db = fmax(floor_db, 10.0 * log10(power[t] / loudest + 1e-12));
    double hz[PLA_FORMANTS];
    sum += db;
    square += db * db;
    if (db > loud_db) {
      loud++;
      voiced += pla_formants_hear(sample + t * HOP, 0.0, hz);
    }
  }
  if (power && n_frames >= LEAST_FRAMES && loudest > 1e-7) {
    const double mean = sum / n_frames,
                 deviation = sqrt(fmax(0.0, square / n_frames - mean * mean));
    if (voiced < 0.1 * loud)
      pla_notes_add(notes,
                    "only %.0f %% of the loud frames are voiced: this may be noise rather than "
                    "speech, and the motion is then meaningless",
                    100.0 * voiced / (loud > 0 ? loud : 1));
    else if (deviation < 5.0) /* speech has about 10 */
      pla_notes_add(
          notes,
          "the loudness hardly changes (by %.1f dB): this may be music or a held tone rather "
          "than speech",
          deviation);
  }
  free(power);
  free(sample);
}

void
pla_speech_judge(const PlaAudio *audio, PlaNotes *notes)
{
  int64_t clipped = 0, run = 0, wild = 0;
  double peak = 0.0, energy = 0.0;
  for (int64_t i = 0; i < audio->n_frames; i++)
    peak = fmax(peak, fabs(mixed(audio, i)));
  for (int64_t i = 0; i < audio->n_frames; i++) {
    const double x = mixed(audio, i);
    energy += x * x;
    for (int c = 0; c < audio->n_channels; c++)
      wild += !isfinite(pla_audio_get(audio, i, c));
    /* three samples in a row at the peak are no wave */
    run = peak > 0.0 && fabs(x) >= 0.999 * peak ? run + 1 : 0;
    clipped += run >= 3;
  }
  const double rms = audio->n_frames > 0 ? sqrt(energy / (double)audio->n_frames) : 0.0;
  if (wild > 0)
    pla_notes_add(notes, "%lld samples are no numbers and were taken as silence", (long long)wild);
  if (audio->n_channels > 1)
    pla_notes_add(notes, "the %d channels were averaged", audio->n_channels);
  if (audio->rate_hz < PLA_SPEECH_HZ)
    pla_notes_add(notes,
                  "the sound has nothing above %g Hz (sampled at %g Hz): hissing sounds are "
                  "guessed from the rest",
                  0.5 * audio->rate_hz, audio->rate_hz);
  if (peak < 1e-4)
    pla_notes_add(notes, "the sound is silent: the sensors rest");
  else if (rms < 1e-3)
    pla_notes_add(notes, "the sound is very quiet (%.0f dB): check the microphone's gain",
                  20.0 * log10(rms));
  if (clipped > audio->n_frames / 2000 && peak > 0.05)
    pla_notes_add(notes, "the sound is clipped in %.1f %% of its samples: record it less loud",
                  100.0 * (double)clipped / (double)audio->n_frames);
  judge_voice(audio, notes);
}

PlaStatus
pla_speech_samples(const PlaAudio *audio, double **sample, size_t *n, PlaError *err)
{
  enum { PIECE = 1 << 14 };
  PlaResampler *resampler = NULL;
  double *piece = pla_array_new(PIECE, sizeof *piece);
  size_t capacity = 0;
  *sample = NULL;
  *n = 0;
  PlaStatus st = piece ? pla_resampler_new(audio->rate_hz, PLA_SPEECH_HZ, &resampler, err)
                       : pla_fail_memory(err, "the sound");
  for (int64_t first = 0; st == PLA_OK && first < audio->n_frames; first += PIECE) {
    const int64_t many = audio->n_frames - first < PIECE ? audio->n_frames - first : PIECE;
    for (int64_t i = 0; i < many; i++)
      piece[i] = mixed(audio, first + i);
    if (!pla_resampler_push(resampler, piece, (size_t)many, first + many == audio->n_frames, sample,
                            n, &capacity))
      st = pla_fail_memory(err, "the sound");
  }
  pla_resampler_free(resampler);
  free(piece);
  if (st != PLA_OK) {
    free(*sample);
    *sample = NULL;
  }
  return st;
}

static PlaStatus
track_from(PlaSpeech *speech, PlaTrack **out, PlaError *err)
{
  const PlaSpeechModel *model = speech->model;
  PlaTrack *track = NULL;
  PlaStatus st = pla_track_new((int)pla_speech_count(speech), speech->n_out, &track, err);
  for (int c = 0; st == PLA_OK && c < speech->n_out; c++) {
    track->name[c] = pla_strdup(model->name[c]);
    track->unit[c] = pla_strdup("mm");
    if (!track->name[c] || !track->unit[c])
      st = pla_fail_memory(err, "the sensor track");
  }
  if (st == PLA_OK) {
    track->rate_hz = PLA_FRAMES_HZ;
    track->start_s = 0.5 * PLA_FRAME_SAMPLES / PLA_SPEECH_HZ;
    for (int t = 0; t < track->n_samples; t++)
      pla_speech_get(speech, t, track->value + (size_t)t * (size_t)speech->n_out);
    *out = track;
  } else {
    pla_track_free(track);
  }
  return st;
}

PlaStatus
pla_speech_invert(const PlaSpeechModel *model, const PlaAudio *audio, PlaTrack **out,
                  PlaNotes *notes, PlaProgress *progress, PlaError *err)
{
  enum { PIECE = PLA_SPEECH_HZ / 2 };
  PlaSpeech *speech = NULL;
  double *sample = NULL;
  size_t n = 0;
  *out = NULL;
  if (audio->n_frames < audio->rate_hz * PLA_FRAME_SAMPLES / PLA_SPEECH_HZ)
    return pla_fail(err, PLA_ERR_EMPTY,
                    "the sound lasts %.0f ms; at least 25 ms are needed for one frame",
                    1000.0 * (double)audio->n_frames / audio->rate_hz);
  pla_speech_judge(audio, notes);
  PlaStatus st = pla_speech_samples(audio, &sample, &n, err);
  if (st == PLA_OK)
    st = pla_speech_new(model, PLA_SPEECH_HZ, -1, &speech, err);
  pla_progress_phase(progress, "Listening", 1.0);
  for (size_t first = 0; st == PLA_OK && first < n; first += PIECE) {
    const size_t many = n - first < PIECE ? n - first : PIECE;
    st = pla_speech_push(speech, sample + first, many, first + many == n, err);
    if (st == PLA_OK && !pla_progress_step(progress, (double)(first + many) / (double)n))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK && pla_speech_count(speech) < 1)
    st = pla_fail(err, PLA_ERR_EMPTY, "the sound is too short for one frame of 25 ms");
  if (st == PLA_OK)
    st = track_from(speech, out, err);
  pla_speech_free(speech);
  free(sample);
  return st;
}
