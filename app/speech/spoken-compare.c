/* Two recordings side by side, and a motion as a table. */
#include "app/speech/spoken.h"

#include "io/stream/output.h"
#include "sim/speech/align.h"
#include "sim/speech/speech-features.h"
#include "sim/speech/speech-model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* what each frame of a motion sounds like; without sound, where its tongue coils are: n x *width,
 * g_free() */
static PlaStatus
frame_rows(const PlaSpoken *self, const PlaAudio *audio, int width, float **out, PlaError *err)
{
  float *row = *out = g_new0(float, (gsize)self->n_frames *(gsize)width);
  if (!audio) {
    for (int f = 0; f < self->n_frames; f++)
      for (int k = 0; k < width; k++) {
        const double x = self->coil_mm[(gsize)f * 2 * PLA_N_COILS + (gsize)k];
        row[(gsize)f * (gsize)width + (gsize)k] = isnan(x) ? 0.0f : (float)x;
      }
    return PLA_OK;
  }
  PlaFeatures *features = NULL;
  double *sample = NULL;
  size_t n = 0;
  PlaStatus st = pla_features_new(false, &features, err);
  if (st == PLA_OK)
    st = pla_speech_samples(audio, &sample, &n, err);
  if (st == PLA_OK && !pla_features_push(features, sample, n, true))
    st = pla_fail_memory(err, "the comparison");
  const long count = st == PLA_OK ? pla_features_count(features) : 0;
  for (int f = 0; st == PLA_OK && count > 0 && f < self->n_frames; f++) {
    const double at = (pla_spoken_time(self, f) - 0.0125) * PLA_FRAMES_HZ;
    const long nearest = (long)CLAMP(round(at), 0.0, count - 1.0);
    memcpy(row + (gsize)f * (gsize)width, pla_features_row(features, nearest),
           (gsize)width * sizeof *row);
  }
  pla_features_free(features);
  free(sample);
  return st;
}

void
pla_spoken_pair_clear(PlaSpokenPair *self)
{
  g_free(self->other);
  g_free(self->apart_mm);
  *self = (PlaSpokenPair){ 0 };
}

/* speakers hold their coils elsewhere, but both move the same built-in tongue */
static double
coils_apart(const PlaSpoken *a, int frame_a, const PlaSpoken *b, int frame_b)
{
  double sum = 0.0;
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
    const float *p = a->place_mm + 2 * ((gsize)frame_a * PLA_N_COILS + (gsize)k),
                *q = b->place_mm + 2 * ((gsize)frame_b * PLA_N_COILS + (gsize)k);
    sum += hypot((double)(p[0] - q[0]), (double)(p[1] - q[1])) / PLA_N_TONGUE_COILS;
  }
  return sum;
}

PlaStatus
pla_spoken_compare(const PlaSpoken *a, const PlaAudio *audio_a, const PlaSpoken *b,
                   const PlaAudio *audio_b, PlaSpokenPair *out, PlaProgress *progress,
                   PlaError *err)
{
  const bool by_sound = audio_a && audio_b;
  const int width = by_sound ? PLA_N_STATIC : 2 * PLA_N_TONGUE_COILS;
  float *row[2] = { NULL, NULL };
  *out = (PlaSpokenPair){ .n = a->n_frames };
  out->other = g_new0(int, a->n_frames);
  out->apart_mm = g_new0(double, a->n_frames);
  PlaStatus st = frame_rows(a, by_sound ? audio_a : NULL, width, &row[0], err);
  if (st == PLA_OK)
    st = frame_rows(b, by_sound ? audio_b : NULL, width, &row[1], err);
  if (st == PLA_OK) {
    pla_align_normalise(row[0], a->n_frames, width);
    pla_align_normalise(row[1], b->n_frames, width);
    pla_progress_phase(progress, "Aligning", 1.0);
    st =
        pla_align(row[0], a->n_frames, row[1], b->n_frames, width, out->other, NULL, progress, err);
  }
  for (int f = 0; st == PLA_OK && f < a->n_frames; f++) {
    out->apart_mm[f] = coils_apart(a, f, b, out->other[f]);
    out->mean_mm += out->apart_mm[f] / a->n_frames;
    if (out->apart_mm[f] > out->most_mm) {
      out->most_mm = out->apart_mm[f];
      out->most_frame = f;
    }
  }
  out->pace = (b->n_frames / b->rate_hz) / (a->n_frames / a->rate_hz);
  g_free(row[0]);
  g_free(row[1]);
  if (st != PLA_OK)
    pla_spoken_pair_clear(out);
  return st;
}

/* ---- table ---- */

static void
put(GString *csv, double value)
{
  if (isfinite(value))
    g_string_append_printf(csv, ",%.6g", value);
  else
    g_string_append_c(csv, ',');
}

PlaStatus
pla_spoken_write_csv(const PlaSpoken *self, const char *path, PlaError *err)
{
  g_autoptr(GString) csv = g_string_new("time_s");
  for (int k = 0; k < PLA_N_COILS; k++)
    g_string_append_printf(csv, ",%s_forward_mm,%s_up_mm", pla_coil_name(k), pla_coil_name(k));
  g_string_append(csv, ",volume_change");
  for (int k = 1; k <= PLA_FORMANTS; k++)
    g_string_append_printf(csv, ",F%d_airway_hz,F%d_sound_hz", k, k);
  for (int s = 1; s <= PLA_AIRWAY_SECTIONS; s++)
    g_string_append_printf(csv, ",area%d_mm2", s);
  for (int r = 1; r <= PLA_PALATE_ROWS; r++)
    for (int c = 1; c <= PLA_PALATE_COLUMNS; c++)
      g_string_append_printf(csv, ",gap_r%d_c%d_mm", r, c);
  g_string_append_c(csv, '\n');
  for (int f = 0; f < self->n_frames; f++) {
    const gsize at = (gsize)f;
    g_string_append_printf(csv, "%.6g", pla_spoken_time(self, f));
    for (gsize i = 0; i < 2 * PLA_N_COILS; i++)
      put(csv, self->coil_mm[at * 2 * PLA_N_COILS + i]);
    put(csv, (double)self->volume[f]);
    for (gsize k = 0; k < PLA_FORMANTS; k++) {
      put(csv, (double)self->formant_hz[at * PLA_FORMANTS + k]);
      put(csv, (double)self->heard_hz[at * PLA_FORMANTS + k]);
    }
    for (gsize s = 0; s < PLA_AIRWAY_SECTIONS; s++)
      put(csv, (double)self->area_mm2[at * PLA_AIRWAY_SECTIONS + s]);
    for (gsize c = 0; c < PLA_PALATE_ROWS * PLA_PALATE_COLUMNS; c++)
      put(csv, (double)self->contact_mm[at * PLA_PALATE_ROWS * PLA_PALATE_COLUMNS + c]);
    g_string_append_c(csv, '\n');
  }
  return pla_output_write(path, csv->str, csv->len, err);
}
