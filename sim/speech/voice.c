/* Sounds from gestures: glottal pulses (A. E. Rosenberg, 1971) and turbulence drive travelling
 * waves in the tract's areas.
 *
 * Turbulence: the pressure drop P over glottis and narrowest place, areas g and a, drives the flow
 * U = sqrt(2 P / rho / (1/g^2 + 1/a^2)); where its speed U / a passes some 12 m/s, noise grows with
 * the square of the excess, just in front of the narrow place.  So hisses, bursts and breath come
 * from the areas themselves. */
#include "sim/speech/voice.h"

#include "anatomy/base/memory.h"
#include "sim/speech/fft.h"
#include "sim/speech/resample.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double control_s = 0.004;     /* shapes are computed so often and blended between */
static const double lung_pressure = 800.0; /* Pa */

PlaSpeaker
pla_speaker_default(void)
{
  return (PlaSpeaker){ .length_factor = 1.1,
                       .pitch_hz = 120.0,
                       .pitch_range = 0.12,
                       .open_quotient = 0.6,
                       .tilt_hz = 2500.0,
                       .breath = 0.1,
                       .jitter = 0.008,
                       .pace = 1.0,
                       .articulation = pla_articulation_default() };
}

PlaSpeaker
pla_speaker_random(PlaRandom *random)
{
  PlaSpeaker s = pla_speaker_default();
  /* long tracts have low voices, with room for exceptions */
  s.length_factor = pla_random_range(random, 0.93, 1.2);
  const double usual = 250.0 - (s.length_factor - 0.93) / 0.27 * 145.0;
  s.pitch_hz = usual * exp(0.15 * pla_random_normal(random));
  s.pitch_range = pla_random_range(random, 0.05, 0.25);
  s.open_quotient = pla_random_range(random, 0.45, 0.8);
  s.tilt_hz = 2500.0 * exp(0.4 * pla_random_normal(random));
  s.breath = pla_random_range(random, 0.02, 0.3);
  s.jitter = pla_random_range(random, 0.002, 0.02);
  s.pace = pla_random_range(random, 0.8, 1.3);
  s.articulation.extent = pla_random_range(random, 0.92, 1.04);
  s.articulation.spread = 0.045 / s.pace * pla_random_range(random, 0.85, 1.2);
  return s;
}

/* ---- control: what the body does, every few milliseconds */

typedef struct {
  PlaWaveShape shape;
  double voicing;  /* of the vocal folds, 0..1 */
  double opening;  /* of the glottis besides, m^2 */
  double pressure; /* Pa */
  double throat;   /* narrowest area in front of the larynx, m^2 */
  int narrow;      /* its section */
} Control;

/* part of a segment that is active at @t, with edges of @edge s */
static double
presence(const PlaSegment *s, double t, double edge)
{
  const double in = (t - s->from) / edge + 0.5, out = (s->to - t) / edge + 0.5;
  const double a = fmin(fmax(fmin(in, out), 0.0), 1.0);
  return a * a * (3.0 - 2.0 * a);
}

typedef struct {
  double voicing, opening, velum, pressure, narrowing, lateral;
} Manner;

static Manner
manner_at(const PlaSegment *segment, int n, double t)
{
  Manner m = { 0 };
  double total = 1e-9;
  for (int i = 0; i < n; i++) {
    const PlaSound *p = segment[i].phone;
    const double a = presence(&segment[i], t, 0.02);
    if (a <= 0.0)
      continue;
    total += a;
    const bool closed = p->kind == PLA_SOUND_STOP, hiss = p->kind == PLA_SOUND_FRICATIVE;
    if (p->kind != PLA_SOUND_SILENCE) {
      m.pressure += a * lung_pressure;
      m.voicing += a * (!p->voiced ? 0.0 : closed ? 0.4 : hiss ? 0.7 : 1.0);
      m.opening += a * (p->voiced ? (hiss ? 6e-6 : 1e-6) : strcmp(p->ipa, "ʔ") == 0 ? 0.0 : 3e-5);
    }
    if (p->kind == PLA_SOUND_LIQUID)
      m.lateral += a;
    if (hiss && strcmp(p->ipa, "h") != 0)
      m.narrowing += a;
    m.velum += presence(&segment[i], t, 0.05) * (p->kind == PLA_SOUND_NASAL ? 5e-5 : 0.0);
  }
  m.pressure /= total;
  m.voicing /= total;
  m.opening /= total;
  m.narrowing /= total;
  m.lateral /= total;
  return m;
}

static void
control_at(const PlaSpeaker *speaker, const PlaSegment *segment, int n, double t, Control *out)
{
  double sensor[PLA_SENSOR_CHANNELS];
  PlaTract tract;
  pla_segments_sensors(segment, n, &speaker->articulation, t, sensor);
  pla_tract_shape(sensor, &tract);
  pla_tract_areas(&tract, out->shape.area);
  const Manner m = manner_at(segment, n, t);
  out->shape.velum = m.velum;
  out->voicing = m.voicing;
  out->opening = m.opening;
  out->pressure = m.pressure;
  double *a = out->shape.area;
  enum { LARYNX = 6 };
  int narrow = LARYNX;
  for (int i = LARYNX; i < PLA_WAVE_SECTIONS; i++)
    if (a[i] < a[narrow])
      narrow = i;
  /* hissing sounds hold their narrow place at about 10 mm^2; air passes a lateral at the sides */
  const double held = 1e-5 * speaker->length_factor;
  a[narrow] += m.narrowing * (held - a[narrow]);
  for (int i = LARYNX; i < PLA_WAVE_SECTIONS; i++) {
    a[i] = fmax(a[i], m.lateral * 3e-5);
    a[i] = fmax(a[i], m.narrowing * held);
  }
  out->narrow = narrow;
  out->throat = a[narrow];
}

/* ---- source */

typedef struct {
  double phase, period, low, wall, mean;
  double tilt, slow, dull; /* shares of the filters behind low, mean and wall */
  PlaRandom *random;
} Source;

/* share of a new sample in a first-order filter with its corner at @hz */
static double
share_of(double hz, double rate_hz)
{
  return 1.0 - exp(-2.0 * M_PI * hz / rate_hz);
}

/* flow through the vibrating folds at @phase of a period, 0..1 */
static double
rosenberg(double phase, double open_quotient)
{
  const double rise = 0.67 * open_quotient, fall = 0.33 * open_quotient;
  if (phase < rise)
    return 0.5 * (1.0 - cos(M_PI * phase / rise));
  if (phase < rise + fall)
    return cos(0.5 * M_PI * (phase - rise) / fall);
  return 0.0;
}

static double
pitch_at(const PlaSpeaker *speaker, double t, double seconds, double phase)
{
  return speaker->pitch_hz *
         (1.0 + speaker->pitch_range * (0.4 - 0.8 * t / seconds + 0.6 * sin(5.3 * t + phase) +
                                        0.3 * sin(11.7 * t + 2.0 * phase)));
}

/* one sample of the tract's sound */
static double
speak_sample(const PlaSpeaker *speaker, const Control *c, PlaWaves *waves, Source *source,
             double pitch)
{
  source->phase += pitch * source->period / waves->rate_hz;
  if (source->phase >= 1.0) {
    source->phase -= 1.0;
    source->period = 1.0 + speaker->jitter * pla_random_normal(source->random);
  }
  const double pulse = rosenberg(source->phase, speaker->open_quotient);
  source->low += source->tilt * (c->voicing * pulse - source->low);
  const double hiss = pla_random_unit(source->random) + pla_random_unit(source->random) +
                      pla_random_unit(source->random) - 1.5;
  /* breath: at the open glottis, more when the folds are apart */
  const double open = c->opening / 3e-5 * c->pressure / lung_pressure;
  const double breath = hiss * (0.05 * speaker->breath * source->low + 0.035 * open);
  double flow = 2e-4 * (source->low * sqrt(fmax(c->pressure, 0.0) / lung_pressure) + breath);
  /* the steady flow makes no sound, but would fill a closed tract without end */
  source->mean += source->slow * (flow - source->mean);
  flow -= source->mean;

  /* turbulence at the narrow place */
  const double glottis = 8e-6 * c->voicing + c->opening + 1e-9;
  const double a = c->throat;
  double noise = 0.0;
  if (a > 3e-7 && c->pressure > 0.0) {
    const double u =
        sqrt(2.0 * c->pressure / PLA_AIR_DENSITY / (1.0 / (glottis * glottis) + 1.0 / (a * a)));
    const double excess = fmax(0.0, u / a - 12.0);
    noise = 0.06 * hiss * excess * excess * sqrt(a / 1e-5);
  }
  double sound = pla_waves_step(waves, flow, noise, c->narrow + 1);
  /* a closed mouth lets the voice out through the walls */
  const double last = source->wall;
  source->wall += source->dull * (source->low - source->wall);
  sound += 0.6e-4 * (source->wall - last);
  return sound;
}

static void
blend(const Control *a, const Control *b, double t, Control *out)
{
  for (int i = 0; i < PLA_WAVE_SECTIONS; i++)
    out->shape.area[i] = a->shape.area[i] + t * (b->shape.area[i] - a->shape.area[i]);
  out->shape.velum = a->shape.velum + t * (b->shape.velum - a->shape.velum);
  out->voicing = a->voicing + t * (b->voicing - a->voicing);
  out->opening = a->opening + t * (b->opening - a->opening);
  out->pressure = a->pressure + t * (b->pressure - a->pressure);
  out->throat = a->throat + t * (b->throat - a->throat);
  out->narrow = t < 0.5 ? a->narrow : b->narrow;
}

/* internal rates in steps of 1.6 kHz resample to 16 kHz through few filter phases */
static double
internal_rate(double length_m)
{
  const double rate = PLA_SOUND_SPEED * PLA_WAVE_SECTIONS / length_m;
  return 1600.0 * floor(rate / 1600.0 + 0.5);
}

static void
level(double *sample, size_t n)
{
  double energy = 0.0, loud = 0.0;
  for (size_t i = 0; i < n; i++)
    energy += sample[i] * sample[i];
  const double scale = energy > 0.0 ? 0.1 / sqrt(energy / (double)n) : 0.0;
  for (size_t i = 0; i < n; i++) {
    sample[i] *= scale;
    loud = fmax(loud, fabs(sample[i]));
  }
  for (size_t i = 0; loud > 0.95 && i < n; i++)
    sample[i] *= 0.95 / loud;
}

PlaStatus
pla_voice_say(const PlaSpeaker *speaker, const PlaSegment *segment, int n, double seconds,
              PlaRandom *random, double **sample, size_t *n_samples, PlaError *err)
{
  enum { STEP = 16 }; /* samples between blends */
  PlaTract rest;
  PlaWaves waves;
  PlaResampler *resampler = NULL;
  size_t capacity = 0;
  *sample = NULL;
  *n_samples = 0;
  pla_tract_shape(pla_sound_neutral(), &rest);
  const double rate = internal_rate(speaker->length_factor * pla_tract_length_m(&rest));
  pla_waves_init(&waves, PLA_SOUND_SPEED * PLA_WAVE_SECTIONS / rate);
  PlaStatus st = pla_resampler_new(rate, PLA_SPEECH_HZ, &resampler, err);
  const long total = (long)(seconds * rate);
  Source source = { .period = 1.0,
                    .tilt = share_of(speaker->tilt_hz, waves.rate_hz),
                    .slow = share_of(40.0, waves.rate_hz),
                    .dull = share_of(180.0, waves.rate_hz),
                    .random = random };
  Control from, to, now;
  double piece[STEP], from_s = 0.0;
  const double tune = pla_random_range(random, 0.0, 6.28);
  control_at(speaker, segment, n, 0.0, &from);
  control_at(speaker, segment, n, control_s, &to);
  for (long i = 0; st == PLA_OK && i < total; i += STEP) {
    const double t = (double)i / rate;
    while (t >= from_s + control_s) {
      from_s += control_s;
      from = to;
      control_at(speaker, segment, n, from_s + control_s, &to);
    }
    blend(&from, &to, (t - from_s) / control_s, &now);
    pla_waves_set(&waves, &now.shape);
    const double pitch = pitch_at(speaker, t, seconds, tune);
    for (int k = 0; k < STEP; k++)
      piece[k] = speak_sample(speaker, &now, &waves, &source, pitch);
    if (!pla_resampler_push(resampler, piece, STEP, i + STEP >= total, sample, n_samples,
                            &capacity))
      st = pla_fail_memory(err, "the speech");
  }
  pla_resampler_free(resampler);
  if (st != PLA_OK) {
    free(*sample);
    *sample = NULL;
    return st;
  }
  level(*sample, *n_samples);
  return PLA_OK;
}

/* ---- babble */

static const PlaSound *
pick(PlaRandom *random, PlaSoundKind kind)
{
  int matching = 0;
  for (int i = 0; i < pla_sound_count(); i++)
    matching += pla_sound_get(i)->kind == kind;
  long k = pla_random_below(random, matching);
  for (int i = 0; i < pla_sound_count(); i++)
    if (pla_sound_get(i)->kind == kind && k-- == 0)
      return pla_sound_get(i);
  return pla_sound_silence();
}

static const PlaSound *
pick_consonant(PlaRandom *random)
{
  const double u = pla_random_unit(random);
  return pick(random, u < 0.38   ? PLA_SOUND_STOP
                      : u < 0.66 ? PLA_SOUND_FRICATIVE
                      : u < 0.82 ? PLA_SOUND_NASAL
                                 : PLA_SOUND_LIQUID);
}

int
pla_voice_babble(const PlaSpeaker *speaker, double seconds, PlaRandom *random, PlaSegment *out,
                 int most)
{
  int n = 0;
  double t = 0.0;
#define ADD(what, shortest, longest)                                                               \
  do {                                                                                             \
    if (n < most) {                                                                                \
      const double lasts = pla_random_range(random, shortest, longest) / speaker->pace;            \
      out[n++] = (PlaSegment){ what, t, t + lasts };                                               \
      t += lasts;                                                                                  \
    }                                                                                              \
  } while (0)
  ADD(pla_sound_silence(), 0.1, 0.3);
  while (t < seconds - 0.3 && n < most - 6) {
    const double u = pla_random_unit(random);
    if (u < 0.85)
      ADD(pick_consonant(random), 0.05, 0.12);
    if (u < 0.15)
      ADD(pick(random, PLA_SOUND_LIQUID), 0.05, 0.09);
    ADD(pick(random, PLA_SOUND_VOWEL), 0.06, 0.2);
    if (u > 0.6)
      ADD(pick_consonant(random), 0.06, 0.12);
    if (u > 0.97)
      ADD(pla_sound_silence(), 0.1, 0.3);
  }
  ADD(pla_sound_silence(), 0.15, 0.3);
#undef ADD
  return n;
}

/* ---- recordings */

PlaRecording
pla_recording_random(PlaRandom *random)
{
  PlaRecording r = { .gain_db = pla_random_range(random, -20.0, 5.0),
                     .noise_db = pla_random_range(random, -60.0, -22.0),
                     .tilt_db = pla_random_range(random, -8.0, 8.0) };
  const double u = pla_random_unit(random);
  r.band_hz = u < 0.12 ? 3700.0 : u < 0.2 ? 5500.0 : 0.0;
  return r;
}

PlaStatus
pla_recording_apply(const PlaRecording *how, PlaRandom *random, double *sample, size_t n,
                    PlaError *err)
{
  /* the microphone's tilt and band by a filter of linear phase, overlap and add */
  enum { SIZE = 1024, HOP = 512 };
  PlaFft *fft = pla_fft_new(SIZE);
  double *out = pla_array_new0(n + SIZE, sizeof *out);
  if (!fft || !out) {
    pla_fft_free(fft);
    free(out);
    return pla_fail_memory(err, "the recording");
  }
  double response[SIZE], re[SIZE], im[SIZE], energy = 0.0;
  for (int k = 0; k < SIZE; k++) {
    const double hz = (double)(k <= SIZE / 2 ? k : SIZE - k) * PLA_SPEECH_HZ / SIZE;
    const double octaves = log2(fmax(hz, 100.0) / 100.0) / log2(80.0);
    response[k] = pow(10.0, how->tilt_db * (octaves - 0.5) / 20.0);
    if (how->band_hz > 0.0)
      response[k] /= 1.0 + pow(hz / how->band_hz, 40.0);
  }
  for (size_t i = 0; i < n; i++)
    energy += sample[i] * sample[i];
  for (long first = -HOP; first < (long)n; first += HOP) {
    for (int i = 0; i < SIZE; i++) {
      const long at = first + i;
      /* Hann windows at half their length add to 1 */
      const double window = 0.5 - 0.5 * cos(2.0 * M_PI * i / SIZE);
      re[i] = at >= 0 && at < (long)n ? window * sample[at] : 0.0;
      im[i] = 0.0;
    }
    pla_fft_forward(fft, re, im);
    for (int k = 0; k < SIZE; k++) {
      re[k] *= response[k] / SIZE;
      im[k] *= response[k] / SIZE;
    }
    pla_fft_inverse(fft, re, im);
    for (int i = 0; i < SIZE; i++)
      if (first + i >= 0)
        out[first + i] += re[i];
  }
  const double gain = pow(10.0, how->gain_db / 20.0);
  const double noise = sqrt(energy / (double)(n > 0 ? n : 1)) * pow(10.0, how->noise_db / 20.0);
  double hum = 0.0;
  for (size_t i = 0; i < n; i++) {
    /* rooms are louder below */
    hum += 0.15 * (pla_random_normal(random) - hum);
    const double room = 0.5 * pla_random_normal(random) + 3.0 * hum;
    sample[i] = fmin(fmax(gain * (out[i] + 0.7 * noise * room), -1.0), 1.0);
  }
  pla_fft_free(fft);
  free(out);
  return PLA_OK;
}
