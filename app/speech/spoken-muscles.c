/* Runs the tongue's muscles over the frames of a spoken motion and returns their activations. */
#include "app/speech/spoken-muscles.h"

#include "app/motion/active-item.h"
#include "app/speech/speech-text.h"
#include "app/speech/spoken-tongue.h"
#include "sim/speech/speech-model.h"

#include <string.h>

_Static_assert(PLA_SENSOR_CHANNELS == 2 * PLA_N_COILS,
               "sensors of speech are the coils, in their order");

PlaStatus
pla_tongue_muscles_from_phantom(const PlaTongue *tongue, PlaProgress *progress,
                                PlaTongueMuscles **out, PlaError *err)
{
  PlaActiveBodyOptions options = pla_active_body_options_default();
  PlaActiveBody *body = NULL;
  *out = NULL;
  options.cell_mm = 9.0; /* of the flesh whose answers are asked for */
  PlaStatus st = pla_active_body_from_phantom("tongue", &options, progress, &body, err);
  return st == PLA_OK ? pla_tongue_muscles_new(tongue, body, progress, out, err) : st;
}

/* the coils as they were asked for; turned forward and up, they stay so when they are read again */
static PlaStatus
track_of(const PlaSpoken *self, PlaTrack **out, PlaError *err)
{
  PlaStatus st = pla_sensor_track_new(self->n_frames, out, err);
  if (st != PLA_OK)
    return st;
  (*out)->rate_hz = self->rate_hz;
  (*out)->start_s = self->start_s;
  memcpy((*out)->value, self->coil_mm,
         (size_t)self->n_frames * PLA_SENSOR_CHANNELS * sizeof *self->coil_mm);
  return PLA_OK;
}

typedef struct {
  const PlaTongueMuscles *muscles;
  PlaTongueActivations *out;
} Explaining;

static PlaStatus
explain(const PlaTongueMotion *motion, int frame, void *data, PlaError *err)
{
  const Explaining *self = data;
  return pla_tongue_activations_explain(self->out, self->muscles, motion, frame, err);
}

PlaStatus
pla_spoken_explain(const PlaSpoken *self, double cell_mm, PlaProgress *progress,
                   PlaTongueActivations *out, PlaError *err)
{
  PlaTrack *track = NULL;
  PlaTongueMotion *motion = NULL;
  PlaTongueMuscles *muscles = NULL;
  *out = (PlaTongueActivations){ 0 };
  PlaStatus st = track_of(self, &track, err);
  const PlaTrack *measured = self->own_plane ? NULL : track;
  pla_progress_phase(progress, "Making the tongue", 0.3);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_spoken_tongue_take(measured, cell_mm, progress, &motion, err);
  pla_progress_pop(progress, span);
  pla_progress_phase(progress, "Building the muscles", 0.5);
  span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_tongue_muscles_from_phantom(pla_tongue_motion_get_tongue(motion), progress, &muscles,
                                         err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    st = pla_tongue_activations_init(out, muscles, track, err);
  pla_progress_phase(progress, "Finding what they do", 1.0);
  if (st == PLA_OK) {
    PlaTongueStats stats;
    st = pla_tongue_motion_run(motion, track, false, explain, &(Explaining){ muscles, out },
                               progress, &stats, err);
  }
  pla_tongue_muscles_free(muscles);
  if (motion)
    pla_spoken_tongue_release(measured, motion);
  pla_track_free(track);
  return st;
}
