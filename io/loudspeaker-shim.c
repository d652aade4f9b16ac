/* The output side of the module platysma-microphone: PortAudio's blocking interface. */
#include "anatomy/base/memory.h"
#include "io/loudspeaker.h"
#include "io/sound-device.h"

#include <portaudio.h>
#include <stdlib.h>

struct PlaLoudspeaker {
  PaStream *stream;
  double rate_hz, latency_s;
  long room; /* of its buffer, samples */
};

static PlaStatus
fail(PaError code, PlaError *err)
{
  return pla_fail(err, PLA_ERR_UNSUPPORTED, "the loudspeaker cannot be used (%s)",
                  Pa_GetErrorText(code));
}

static PlaStatus
open_stream(PlaLoudspeaker *self, PlaError *err)
{
  const PaDeviceIndex device = Pa_GetDefaultOutputDevice();
  if (device == paNoDevice)
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "there is no loudspeaker on this computer");
  const PaStreamParameters output = { .device = device,
                                      .channelCount = 1,
                                      .sampleFormat = paFloat32,
                                      .suggestedLatency =
                                          Pa_GetDeviceInfo(device)->defaultLowOutputLatency };
  PaError code = Pa_OpenStream(&self->stream, NULL, &output, self->rate_hz,
                               paFramesPerBufferUnspecified, paNoFlag, NULL, NULL);
  if (code != paNoError)
    return fail(code, err);
  code = Pa_StartStream(self->stream);
  if (code != paNoError) {
    Pa_CloseStream(self->stream);
    return fail(code, err);
  }
  const PaStreamInfo *info = Pa_GetStreamInfo(self->stream);
  self->latency_s = info ? info->outputLatency : 0.0;
  const long room = (long)Pa_GetStreamWriteAvailable(self->stream);
  self->room = room > 0 ? room : 0;
  return PLA_OK;
}

static PlaStatus
loudspeaker_open(double rate_hz, PlaLoudspeaker **out, PlaError *err)
{
  PlaLoudspeaker *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the loudspeaker");
  self->rate_hz = rate_hz;
  const int kept = pla_sound_hush();
  const PaError code = Pa_Initialize();
  PlaStatus st = code == paNoError ? open_stream(self, err) : fail(code, err);
  if (st != PLA_OK && code == paNoError)
    Pa_Terminate();
  pla_sound_unhush(kept);
  if (st == PLA_OK)
    *out = self;
  else
    free(self);
  return st;
}

static PlaStatus
loudspeaker_write(PlaLoudspeaker *self, const float *sample, size_t n, PlaError *err)
{
  const PaError code = Pa_WriteStream(self->stream, sample, (unsigned long)n);
  return code == paNoError || code == paOutputUnderflowed ? PLA_OK : fail(code, err);
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
  Pa_AbortStream(self->stream);
  Pa_CloseStream(self->stream);
  Pa_Terminate();
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
