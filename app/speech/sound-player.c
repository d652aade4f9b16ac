/* A thread writes pieces of 10 ms to the device and publishes the time that is heard under a
 * lock. */
#include "app/speech/sound-player.h"

#include "io/stream/loudspeaker.h"
#include "sim/speech/time-stretch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct PlaSoundPlayer {
  gatomicrefcount refs; /* the caller and the thread */
  GMutex lock;
  gboolean quit;
  PlaSoundPart part;
  float *sample; /* of the part alone */
  gsize n;
  double start_s;
  /* the clock: at @anchor_us the sound had gone on by @anchor_s since the start, loops not counted
   */
  gint64 anchor_us;
  double anchor_s;
  gboolean running; /* the clock goes */
  char *silence;
};

static void
unref(PlaSoundPlayer *self)
{
  if (!g_atomic_ref_count_dec(&self->refs))
    return;
  g_mutex_clear(&self->lock);
  g_free(self->sample);
  g_free(self->silence);
  g_free(self);
}

static void
set_clock(PlaSoundPlayer *self, double since_s)
{
  g_mutex_lock(&self->lock);
  self->anchor_us = g_get_monotonic_time();
  self->anchor_s = since_s;
  self->running = TRUE;
  g_mutex_unlock(&self->lock);
}

static gboolean
must_stop(PlaSoundPlayer *self)
{
  g_mutex_lock(&self->lock);
  const gboolean quit = self->quit;
  g_mutex_unlock(&self->lock);
  return quit;
}

static void
go_silent(PlaSoundPlayer *self, const char *why)
{
  g_mutex_lock(&self->lock);
  g_free(self->silence);
  self->silence = g_strdup(why);
  g_mutex_unlock(&self->lock);
  set_clock(self, 0.0);
}

/* pieces of 10 ms until the end, or until somebody stops it */
static PlaStatus
play(PlaSoundPlayer *self, PlaLoudspeaker *out, const float *sound, gsize n, PlaError *err)
{
  const double rate = self->part.rate_hz, speed = self->part.speed;
  const gsize piece = MAX(1, (gsize)(rate / 100.0));
  gsize at = MIN(n, (gsize)((self->start_s - self->part.from_s) / speed * rate));
  double written_s = 0.0;
  PlaStatus st = PLA_OK;
  while (st == PLA_OK && !must_stop(self)) {
    if (at >= n) {
      if (!self->part.loop || n == 0)
        break;
      at = 0;
    }
    const gsize count = MIN(piece, n - at);
    st = pla_loudspeaker_write(out, sound + at, count, err);
    at += count;
    written_s += (double)count / rate;
    set_clock(self, fmax(0.0, written_s - pla_loudspeaker_pending_s(out)) * speed);
  }
  /* the last of it is still on its way */
  const gint64 until = g_get_monotonic_time() + (gint64)(1e6 * pla_loudspeaker_pending_s(out));
  while (st == PLA_OK && !must_stop(self) && g_get_monotonic_time() < until)
    g_usleep(5000);
  return st;
}

static gpointer
work(gpointer data)
{
  PlaSoundPlayer *self = data;
  PlaLoudspeaker *out = NULL;
  PlaError err;
  float *sound = NULL;
  size_t n = 0;
  PlaStatus st =
      pla_stretch(self->sample, self->n, self->part.rate_hz, self->part.speed, &sound, &n, &err);
  if (st == PLA_OK)
    st = pla_loudspeaker_open(self->part.rate_hz, &out, &err);
  if (st == PLA_OK)
    st = play(self, out, sound, n, &err);
  if (st != PLA_OK)
    go_silent(self, err.message);
  pla_loudspeaker_close(out);
  free(sound);
  unref(self);
  return NULL;
}

PlaSoundPlayer *
pla_sound_player_start(const PlaSoundPart *part, double start_s)
{
  PlaSoundPlayer *self = g_new0(PlaSoundPlayer, 1);
  g_atomic_ref_count_init(&self->refs);
  g_mutex_init(&self->lock);
  self->part = *part;
  self->part.sample = NULL;
  self->start_s = CLAMP(start_s, part->from_s, part->to_s);
  if (!part->sample || part->n == 0) {
    set_clock(self, 0.0);
    return self;
  }
  const gsize from = MIN(part->n, (gsize)(fmax(part->from_s, 0.0) * part->rate_hz)),
              to = MIN(part->n, (gsize)(fmax(part->to_s, 0.0) * part->rate_hz));
  self->n = to > from ? to - from : 0;
  self->sample = g_memdup2(part->sample + from, self->n * sizeof *part->sample);
  g_atomic_ref_count_inc(&self->refs);
  g_thread_unref(g_thread_new("sound", work, self));
  return self;
}

gboolean
pla_sound_player_get(PlaSoundPlayer *self, double *time_s)
{
  const PlaSoundPart *part = &self->part;
  g_mutex_lock(&self->lock);
  double since = self->anchor_s;
  if (self->running)
    since += part->speed * (double)(g_get_monotonic_time() - self->anchor_us) / G_USEC_PER_SEC;
  g_mutex_unlock(&self->lock);
  double now = self->start_s + since;
  const double length = part->to_s - part->from_s;
  if (now < part->to_s) {
    *time_s = now;
    return TRUE;
  }
  *time_s =
      part->loop && length > 0.0 ? part->from_s + fmod(now - part->from_s, length) : part->to_s;
  return part->loop && length > 0.0;
}

const char *
pla_sound_player_get_silence(PlaSoundPlayer *self)
{
  g_mutex_lock(&self->lock);
  const char *silence = self->silence;
  g_mutex_unlock(&self->lock);
  return silence;
}

void
pla_sound_player_stop(PlaSoundPlayer *self)
{
  if (!self)
    return;
  g_mutex_lock(&self->lock);
  self->quit = TRUE;
  g_mutex_unlock(&self->lock);
  unref(self);
}
