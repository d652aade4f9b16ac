/* Opens and closes a PortAudio stream on the default device, one channel of 32-bit floats.
 * Standard error is redirected meanwhile, since the ALSA and JACK back ends print to it. */
#include "io/stream/sound-device.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* PortAudio's ALSA and JACK parts talk to the terminal while they look for devices; that is kept
 * from the user, who gets one sentence: standard error goes nowhere between these two. */
static int
hush(void)
{
  fflush(stderr);
  const int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (kept >= 0 && nowhere >= 0)
    dup2(nowhere, STDERR_FILENO);
  if (nowhere >= 0)
    close(nowhere);
  return kept;
}

static void
unhush(int kept)
{
  if (kept < 0)
    return;
  dup2(kept, STDERR_FILENO);
  close(kept);
}

PlaStatus
pla_sound_fail(const PlaSoundSide *side, PaError code, PlaError *err)
{
  return pla_fail(err, PLA_ERR_UNSUPPORTED, "the %s cannot be used (%s)%s", side->name,
                  Pa_GetErrorText(code), side->advice);
}

static PlaStatus
open_stream(const PlaSoundSide *side, double *rate_hz, PaStream **out, PlaError *err)
{
  const PaDeviceIndex device =
      side->input ? Pa_GetDefaultInputDevice() : Pa_GetDefaultOutputDevice();
  if (device == paNoDevice)
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "there is no %s on this computer%s", side->name,
                    side->advice);
  const PaDeviceInfo *info = Pa_GetDeviceInfo(device);
  const PaStreamParameters wanted = { .device = device,
                                      .channelCount = 1,
                                      .sampleFormat = paFloat32,
                                      .suggestedLatency = side->input
                                                              ? info->defaultLowInputLatency
                                                              : info->defaultLowOutputLatency };
  const PaStreamParameters *in = side->input ? &wanted : NULL, *to = side->input ? NULL : &wanted;
  if (in && Pa_IsFormatSupported(in, NULL, *rate_hz) != paFormatIsSupported)
    *rate_hz = info->defaultSampleRate;
  PaStream *stream;
  PaError code = Pa_OpenStream(&stream, in, to, *rate_hz, paFramesPerBufferUnspecified,
                               in ? paClipOff : paNoFlag, NULL, NULL);
  if (code == paNoError) {
    code = Pa_StartStream(stream);
    if (code != paNoError)
      Pa_CloseStream(stream);
  }
  if (code != paNoError)
    return pla_sound_fail(side, code, err);
  *out = stream;
  return PLA_OK;
}

PlaStatus
pla_sound_open(const PlaSoundSide *side, double *rate_hz, PaStream **out, PlaError *err)
{
  const int kept = hush();
  const PaError code = Pa_Initialize();
  const PlaStatus st =
      code == paNoError ? open_stream(side, rate_hz, out, err) : pla_sound_fail(side, code, err);
  if (st != PLA_OK && code == paNoError)
    Pa_Terminate();
  unhush(kept);
  return st;
}

void
pla_sound_close(PaStream *stream)
{
  Pa_AbortStream(stream);
  Pa_CloseStream(stream);
  Pa_Terminate();
}
