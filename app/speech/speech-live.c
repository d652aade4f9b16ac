/* Live speech: 10 ms of sound in, frames out as soon as the method allows, and how late they were.
 */
#include "app/speech/speech-live.h"

#include "anatomy/base/memory.h"
#include "app/base/quantity.h"
#include "io/stream/microphone.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  PlaSpeech *speech;
  int n_channels;
  double rate_hz;
  gint64 start;   /* when sample 0 was spoken, us */
  GArray *value;  /* double */
  GArray *late_s; /* double */
  long seen;
} Live;

static PlaStatus
live_init(Live *live, const PlaSpeechModel *model, double rate_hz, int smooth_ahead, PlaError *err)
{
  *live = (Live){ .n_channels = model->net->shape.n_out, .rate_hz = rate_hz };
  live->value = g_array_new(FALSE, FALSE, sizeof(double));
  live->late_s = g_array_new(FALSE, FALSE, sizeof(double));
  return pla_speech_new(model, rate_hz, smooth_ahead, &live->speech, err);
}

static void
live_clear(Live *live)
{
  pla_speech_free(live->speech);
  g_array_unref(live->value);
  g_array_unref(live->late_s);
}

static PlaStatus
live_push(Live *live, const double *sample, size_t n, bool end, PlaError *err)
{
  PlaStatus st = pla_speech_push(live->speech, sample, n, end, err);
  if (st != PLA_OK)
    return st;
  const double now = (double)(g_get_monotonic_time() - live->start) * 1e-6;
  const double ahead = pla_speech_total_latency_s(live->speech);
  for (; live->seen < pla_speech_count(live->speech); live->seen++) {
    g_autofree double *row = g_new(double, live->n_channels);
    pla_speech_get(live->speech, live->seen, row);
    g_array_append_vals(live->value, row, (guint)live->n_channels);
    const double spoken = 0.0125 + (double)live->seen / PLA_FRAMES_HZ;
    const double late = now - spoken - ahead;
    if (!end) /* the end releases frames early */
      g_array_append_val(live->late_s, late);
  }
  pla_speech_drop(live->speech, live->seen);
  return PLA_OK;
}

static int
compare_doubles(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static PlaStatus
live_finish(Live *live, const PlaSpeechModel *model, PlaTrack **out, PlaLiveReport *report,
            PlaError *err)
{
  *report = (PlaLiveReport){ .look_ahead_s = pla_speech_total_latency_s(live->speech) };
  if (live->late_s->len > 0) {
    g_array_sort(live->late_s, compare_doubles);
    report->median_late_s = g_array_index(live->late_s, double, live->late_s->len / 2);
    report->most_late_s = g_array_index(live->late_s, double, live->late_s->len - 1);
  }
  if (live->seen == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "less than one frame of 25 ms was heard");
  PlaStatus st = pla_track_new((int)live->seen, live->n_channels, out, err);
  if (st != PLA_OK)
    return st;
  (*out)->rate_hz = PLA_FRAMES_HZ;
  (*out)->start_s = 0.0125;
  memcpy((*out)->value, live->value->data, live->value->len * sizeof(double));
  for (int c = 0; c < live->n_channels; c++) {
    (*out)->name[c] = pla_strdup(model->name[c]);
    (*out)->unit[c] = pla_strdup(pla_unit_suffix(PLA_UNIT_MM));
  }
  return PLA_OK;
}

PlaStatus
pla_speech_live_file(const PlaSpeechModel *model, const PlaAudio *audio, int smooth_ahead,
                     PlaTrack **out, PlaLiveReport *report, PlaProgress *progress, PlaError *err)
{
  Live live;
  const size_t piece = (size_t)fmax(1.0, floor(audio->rate_hz / 100.0));
  g_autofree double *sample = g_new(double, piece);
  *out = NULL;
  PlaStatus st = live_init(&live, model, audio->rate_hz, smooth_ahead, err);
  live.start = g_get_monotonic_time();
  pla_progress_phase(progress, "Listening", 1.0);
  for (int64_t first = 0; st == PLA_OK && first < audio->n_frames; first += (int64_t)piece) {
    const int64_t n = MIN((int64_t)piece, audio->n_frames - first);
    for (int64_t i = 0; i < n; i++) {
      sample[i] = 0.0;
      for (int c = 0; c < audio->n_channels; c++)
        sample[i] += pla_audio_get(audio, first + i, c) / audio->n_channels;
    }
    /* a microphone hands a piece over when its last sample was spoken */
    const gint64 due = live.start + (gint64)((double)(first + n) / audio->rate_hz * 1e6);
    const gint64 wait = due - g_get_monotonic_time();
    if (wait > 0)
      g_usleep((gulong)wait);
    st = live_push(&live, sample, (size_t)n, first + n >= audio->n_frames, err);
    if (st == PLA_OK && !pla_progress_step(progress, (double)first / (double)audio->n_frames))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK)
    st = live_finish(&live, model, out, report, err);
  live_clear(&live);
  return st;
}

PlaStatus
pla_speech_live_microphone(const PlaSpeechModel *model, double seconds, int smooth_ahead,
                           PlaTrack **out, PlaLiveReport *report, PlaProgress *progress,
                           PlaError *err)
{
  PlaMicrophone *microphone = NULL;
  double rate_hz = PLA_SPEECH_HZ;
  *out = NULL;
  PlaStatus st = pla_microphone_open(&rate_hz, &microphone, err);
  if (st != PLA_OK)
    return st;
  Live live;
  const size_t piece = (size_t)(rate_hz / 100.0);
  const long pieces = (long)(seconds * 100.0);
  g_autofree double *sample = g_new(double, piece);
  st = live_init(&live, model, rate_hz, smooth_ahead, err);
  pla_progress_phase(progress, "Listening", 1.0);
  for (long i = 0; st == PLA_OK && i < pieces; i++) {
    st = pla_microphone_read(microphone, sample, piece, err);
    if (i == 0)
      live.start = g_get_monotonic_time() - (gint64)1e4;
    const bool last = i == pieces - 1 || pla_progress_cancelled(progress);
    if (st == PLA_OK)
      st = live_push(&live, sample, piece, last, err);
    if (last)
      break;
    pla_progress_step(progress, (double)i / (double)pieces);
  }
  if (st == PLA_OK)
    st = live_finish(&live, model, out, report, err);
  live_clear(&live);
  pla_microphone_close(microphone);
  return st;
}
