/* The shared tongue behind a lock. A waiting thread polls every 10 ms, so that it can be
 * cancelled. */
#include "app/speech/spoken-tongue.h"

#include "app/speech/tongue-build.h"

#include "app/speech/speech-text.h"
#include "sim/speech/sounds.h"

#include <glib.h>
#include <string.h>

enum { WAIT_US = 10000 };

static struct {
  GMutex lock; /* held while it moves */
  double cell_mm;
  PlaTongueMotion *motion;
} shared;

static PlaStatus
make_tongue(const PlaTrack *speaker, bool own_plane, double cell_mm, PlaProgress *progress,
            PlaTongueMotion **out, PlaError *err)
{
  PlaTongueMotionOptions options = pla_tongue_motion_options_default();
  options.cell_mm = cell_mm;
  options.own_plane = own_plane;
  options.progress = progress;
  return pla_tongue_motion_new(&options, &speaker, 1, out, err);
}

/* the mouth at rest stands for the speaker */
static PlaStatus
make_shared(double cell_mm, PlaProgress *progress, PlaError *err)
{
  PlaTrack *rest = NULL;
  PlaStatus st = pla_sensor_track_new(4, &rest, err);
  for (int f = 0; st == PLA_OK && f < 4; f++)
    memcpy(rest->value + (size_t)f * PLA_SENSOR_CHANNELS, pla_sound_neutral(),
           PLA_SENSOR_CHANNELS * sizeof *rest->value);
  if (st == PLA_OK)
    st = make_tongue(rest, true, cell_mm, progress, &shared.motion, err);
  shared.cell_mm = cell_mm;
  pla_track_free(rest);
  return st;
}

PlaStatus
pla_spoken_tongue_take(const PlaTrack *measured, double cell_mm, PlaProgress *progress,
                       PlaTongueMotion **out, PlaError *err)
{
  *out = NULL;
  if (measured)
    return make_tongue(measured, false, cell_mm, progress, out, err);
  while (!g_mutex_trylock(&shared.lock)) { /* who waits can still be cancelled */
    if (pla_progress_cancelled(progress))
      return pla_fail_cancelled(err);
    g_usleep(WAIT_US);
  }
  if (shared.motion && shared.cell_mm != cell_mm)
    g_clear_pointer(&shared.motion, pla_tongue_motion_free);
  const PlaStatus st = shared.motion ? PLA_OK : make_shared(cell_mm, progress, err);
  *out = shared.motion;
  if (st != PLA_OK)
    g_mutex_unlock(&shared.lock);
  return st;
}

void
pla_spoken_tongue_release(const PlaTrack *measured, PlaTongueMotion *motion)
{
  if (measured)
    pla_tongue_motion_free(motion);
  else
    g_mutex_unlock(&shared.lock);
}
