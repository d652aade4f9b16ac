/* Takes, tracks and sound. */
#include "anatomy/signal/signal.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* @n owned strings and the array that holds them */
static void
free_strings(char **text, int n)
{
  for (int i = 0; text && i < n; i++)
    free(text[i]);
  free(text);
}

PlaStatus
pla_take_new(int n_frames, int n_markers, PlaTake **out, PlaError *err)
{
  assert(n_frames >= 0 && n_markers >= 0);
  size_t n = 0;
  *out = NULL;
  if (!pla_size_mul((size_t)n_frames * (size_t)n_markers, 3, &n))
    return pla_fail_memory(err, "the marker positions");
  PlaTake *take = pla_array_new0(1, sizeof *take);
  if (take) {
    take->n_frames = n_frames;
    take->n_markers = n_markers;
    take->name = pla_array_new0((size_t)n_markers, sizeof *take->name);
    take->pos = pla_array_new(n, sizeof *take->pos);
  }
  if (!take || !take->name || !take->pos) {
    pla_take_free(take);
    return pla_fail_memory(err, "the marker positions");
  }
  for (size_t i = 0; i < n; i++)
    take->pos[i] = NAN;
  *out = take;
  return PLA_OK;
}

PlaStatus
pla_take_dup(const PlaTake *take, PlaTake **out, PlaError *err)
{
  const size_t n = (size_t)take->n_frames * (size_t)take->n_markers;
  PlaStatus st = pla_take_new(take->n_frames, take->n_markers, out, err);
  if (st != PLA_OK)
    return st;
  PlaTake *copy = *out;
  copy->rate_hz = take->rate_hz;
  copy->start_s = take->start_s;
  copy->single = take->single;
  copy->unit_mm = take->unit_mm;
  copy->step = take->step;
  memcpy(copy->pos, take->pos, 3 * n * sizeof *copy->pos);
  bool whole = true;
  for (int i = 0; i < take->n_markers; i++)
    whole &= !take->name[i] || (copy->name[i] = pla_strdup(take->name[i]));
  if (take->residual)
    whole &= (copy->residual = pla_array_dup(take->residual, n, sizeof *copy->residual)) != NULL;
  if (whole)
    return PLA_OK;
  pla_take_free(copy);
  *out = NULL;
  return pla_fail_memory(err, "the marker positions");
}

void
pla_take_free(PlaTake *take)
{
  if (!take)
    return;
  free_strings(take->name, take->n_markers);
  free(take->pos);
  free(take->residual);
  free(take);
}

size_t
pla_take_n_missing(const PlaTake *take)
{
  size_t n = (size_t)take->n_frames * (size_t)take->n_markers, missing = 0;
  for (size_t i = 0; i < n; i++)
    missing += isnan(take->pos[3 * i]) != 0;
  return missing;
}

PlaStatus
pla_track_new(int n_samples, int n_channels, PlaTrack **out, PlaError *err)
{
  assert(n_samples >= 0 && n_channels >= 0);
  *out = NULL;
  const size_t n = (size_t)n_samples * (size_t)n_channels;
  PlaTrack *track = pla_array_new0(1, sizeof *track);
  if (track) {
    track->n_samples = n_samples;
    track->n_channels = n_channels;
    track->name = pla_array_new0((size_t)n_channels, sizeof *track->name);
    track->unit = pla_array_new0((size_t)n_channels, sizeof *track->unit);
    track->value = pla_array_new(n, sizeof *track->value);
  }
  if (!track || !track->name || !track->unit || !track->value) {
    pla_track_free(track);
    return pla_fail_memory(err, "the sensor track");
  }
  for (size_t i = 0; i < n; i++)
    track->value[i] = NAN;
  *out = track;
  return PLA_OK;
}

PlaStatus
pla_track_dup(const PlaTrack *track, PlaTrack **out, PlaError *err)
{
  PlaStatus st = pla_track_new(track->n_samples, track->n_channels, out, err);
  if (st != PLA_OK)
    return st;
  PlaTrack *copy = *out;
  copy->rate_hz = track->rate_hz;
  copy->start_s = track->start_s;
  copy->single = track->single;
  memcpy(copy->value, track->value,
         (size_t)track->n_samples * (size_t)track->n_channels * sizeof *copy->value);
  bool whole = true;
  for (int c = 0; c < track->n_channels; c++) {
    whole &= !track->name[c] || (copy->name[c] = pla_strdup(track->name[c]));
    whole &= !track->unit[c] || (copy->unit[c] = pla_strdup(track->unit[c]));
  }
  if (whole)
    return PLA_OK;
  pla_track_free(copy);
  *out = NULL;
  return pla_fail_memory(err, "the sensor track");
}

void
pla_track_free(PlaTrack *track)
{
  if (!track)
    return;
  free_strings(track->name, track->n_channels);
  free_strings(track->unit, track->n_channels);
  free(track->value);
  free(track);
}

void
pla_audio_free(PlaAudio *audio)
{
  if (!audio)
    return;
  free(audio->samples);
  free(audio);
}

double
pla_audio_get(const PlaAudio *audio, int64_t i, int c)
{
  size_t at = (size_t)i * (size_t)audio->n_channels + (size_t)c;
  double value = pla_dtype_get(audio->dtype, audio->samples, at);
  switch (audio->dtype) {
  case PLA_I16:
    return value / 32768.0;
  case PLA_I32:
    return value / 2147483648.0;
  default:
    return value;
  }
}
