/* The module platysma-microphone: PortAudio's blocking interface on the default input. */
#include "anatomy/base/memory.h"
#include "io/microphone.h"
#include "io/sound-device.h"

#include <portaudio.h>
#include <stdlib.h>

struct PlaMicrophone {
  PaStream *stream;
  float *piece;
  size_t capacity;
};

static PlaStatus
fail(PaError code, PlaError *err)
{
  return pla_fail(err, PLA_ERR_UNSUPPORTED,
                  "the microphone cannot be used (%s); plug one in, or give a sound file",
                  Pa_GetErrorText(code));
}

static PlaStatus
open_stream(double *rate_hz, PaStream **out, PlaError *err)
{
  const PaDeviceIndex device = Pa_GetDefaultInputDevice();
  if (device == paNoDevice)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "there is no microphone on this computer; plug one in, or give a sound file");
  const PaDeviceInfo *info = Pa_GetDeviceInfo(device);
  const PaStreamParameters input = { .device = device,
                                     .channelCount = 1,
                                     .sampleFormat = paFloat32,
                                     .suggestedLatency = info->defaultLowInputLatency };
  if (Pa_IsFormatSupported(&input, NULL, *rate_hz) != paFormatIsSupported)
    *rate_hz = info->defaultSampleRate;
  PaError code = Pa_OpenStream(out, &input, NULL, *rate_hz, paFramesPerBufferUnspecified,
                               paClipOff, NULL, NULL);
  if (code != paNoError)
    return fail(code, err);
  code = Pa_StartStream(*out);
  if (code != paNoError) {
    Pa_CloseStream(*out);
    return fail(code, err);
  }
  return PLA_OK;
}

static PlaStatus
microphone_open(double *rate_hz, PlaMicrophone **out, PlaError *err)
{
  PlaMicrophone *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the microphone");
  const int kept = pla_sound_hush();
  const PaError code = Pa_Initialize();
  PlaStatus st = code == paNoError ? open_stream(rate_hz, &self->stream, err) : fail(code, err);
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
microphone_read(PlaMicrophone *self, double *sample, size_t n, PlaError *err)
{
  if (n > self->capacity) {
    if (!pla_array_resize((void **)&self->piece, n, sizeof *self->piece))
      return pla_fail_memory(err, "the microphone");
    self->capacity = n;
  }
  const PaError code = Pa_ReadStream(self->stream, self->piece, (unsigned long)n);
  if (code != paNoError && code != paInputOverflowed)
    return fail(code, err);
  for (size_t i = 0; i < n; i++)
    sample[i] = (double)self->piece[i];
  return PLA_OK;
}

static void
microphone_close(PlaMicrophone *self)
{
  Pa_StopStream(self->stream);
  Pa_CloseStream(self->stream);
  Pa_Terminate();
  free(self->piece);
  free(self);
}

const void *
pla_microphone_module(void)
{
  static const PlaMicrophoneModule table = { PLA_MICROPHONE_ABI, microphone_open, microphone_read,
                                             microphone_close };
  return &table;
}
