/* Things sampled in time: marker takes, sensor tracks and sound. */
#pragma once

#include "anatomy/base/dtype.h"
#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Motion capture: the position of every marker in every frame. */
typedef struct {
  int n_frames, n_markers;
  double rate_hz;
  double start_s; /* time of frame 0 */
  char **name;    /* owned (n_markers) */
  double *pos;    /* m, in the capture's frame; NaN x, y, z = missing (n_frames x n_markers x 3) */
  float *
      residual; /* reconstruction residual, m; NULL when the file has none (n_frames x n_markers) */
  bool single;  /* positions came from 32-bit numbers, in the unit below */
  double unit_mm; /* length unit of the file they came from, in mm; 0: none, write millimetres */
  float step;     /* size of one step in that unit where they came from 16-bit integers, else 0 */
} PlaTake;

PlaStatus pla_take_new(int n_frames, int n_markers, PlaTake **out, PlaError *err); /* all missing */
PlaStatus pla_take_dup(const PlaTake *take, PlaTake **out, PlaError *err);
void pla_take_free(PlaTake *take);
size_t pla_take_n_missing(const PlaTake *take); /* frames x markers without a position */

/* Sampled channels: EMA sensors, activations, jaw angles. */
typedef struct {
  int n_samples, n_channels;
  double rate_hz;
  double start_s;
  char **name;   /* owned (n_channels), e.g. "TT_x" */
  char **unit;   /* owned (n_channels), e.g. "mm"; "" when unknown.  Values stay in this unit */
  double *value; /* NaN = missing (n_samples x n_channels) */
  bool single;   /* values came from 32-bit numbers */
} PlaTrack;

PlaStatus pla_track_new(int n_samples, int n_channels, PlaTrack **out,
                        PlaError *err); /* all missing */
PlaStatus pla_track_dup(const PlaTrack *track, PlaTrack **out, PlaError *err);
void pla_track_free(PlaTrack *track);

/* Sound, interleaved. */
typedef struct {
  int64_t n_frames;
  int n_channels;
  double rate_hz;
  PlaDType dtype; /* int16, int32 (24-bit data in the high bytes), float32 or float64 */
  int bits;       /* significant bits of integer data: 8, 16, 24, 32; 0 for floats */
  void *samples;  /* n_frames x n_channels */
} PlaAudio;

void pla_audio_free(PlaAudio *audio);
/* Sample @i of channel @c in -1..1. */
double pla_audio_get(const PlaAudio *audio, int64_t i, int c);
