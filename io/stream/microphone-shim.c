/* The module platysma-microphone: PortAudio's blocking interface on the default input. */
#include "anatomy/base/memory.h"
#include "io/stream/microphone.h"
#include "io/stream/sound-device.h"

#include <stdlib.h>

struct PlaMicrophone {
  PaStream *stream;
  float *piece;
  size_t capacity;
};

static const PlaSoundSide side = { "microphone", "; plug one in, or give a sound file", true };

static PlaStatus
microphone_open(double *rate_hz, PlaMicrophone **out, PlaError *err)
{
  PlaMicrophone *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the microphone");
  const PlaStatus st = pla_sound_open(&side, rate_hz, &self->stream, err);
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
    return pla_sound_fail(&side, code, err);
  for (size_t i = 0; i < n; i++)
    sample[i] = (double)self->piece[i];
  return PLA_OK;
}

static void
microphone_close(PlaMicrophone *self)
{
  pla_sound_close(self->stream);
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
