/* The output side of the module platysma-microphone: PortAudio's blocking interface. */
#include "anatomy/base/memory.h"
#include "io/stream/loudspeaker.h"
#include "io/stream/sound-device.h"

#include <stdlib.h>

struct PlaLoudspeaker {
  PaStream *stream;
  double rate_hz, latency_s;
  long room; /* of its buffer, samples */
};

static const PlaSoundSide side = { "loudspeaker", "", false };

static PlaStatus
loudspeaker_open(double rate_hz, PlaLoudspeaker **out, PlaError *err)
{
  PlaLoudspeaker *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the loudspeaker");
  self->rate_hz = rate_hz;
  const PlaStatus st = pla_sound_open(&side, &self->rate_hz, &self->stream, err);
  if (st != PLA_OK) {
    free(self);
    return st;
  }
  const PaStreamInfo *info = Pa_GetStreamInfo(self->stream);
  const long room = (long)Pa_GetStreamWriteAvailable(self->stream);
  self->latency_s = info ? info->outputLatency : 0.0;
  self->room = room > 0 ? room : 0;
  *out = self;
  return PLA_OK;
}

static PlaStatus
loudspeaker_write(PlaLoudspeaker *self, const float *sample, size_t n, PlaError *err)
{
  const PaError code = Pa_WriteStream(self->stream, sample, (unsigned long)n);
  return code == paNoError || code == paOutputUnderflowed ? PLA_OK
                                                          : pla_sound_fail(&side, code, err);
}

static double
loudspeaker_pending_s(PlaLoudspeaker *self)
{
  const long free_now = (long)Pa_GetStreamWriteAvailable(self->stream);
  const long waiting = free_now >= 0 && self->room > free_now ? self->room - free_now : 0;
  /* the latency that PortAudio states includes its full buffer */
  const double full = (double)self->room / self->rate_hz;
  const double beyond = self->latency_s > full ? self->latency_s - full : 0.0;
  return (double)waiting / self->rate_hz + beyond;
}

static void
loudspeaker_close(PlaLoudspeaker *self)
{
  pla_sound_close(self->stream);
  free(self);
}

const void *
pla_loudspeaker_module(void)
{
  static const PlaLoudspeakerModule table = { PLA_LOUDSPEAKER_ABI, loudspeaker_open,
                                              loudspeaker_write, loudspeaker_pending_s,
                                              loudspeaker_close };
  return &table;
}
