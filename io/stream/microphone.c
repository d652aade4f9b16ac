/* Loads the module that listens. */
#include "io/stream/microphone.h"

#include "anatomy/base/module.h"

static PlaStatus
load(const PlaMicrophoneModule **out, PlaError *err)
{
  const void *table = NULL;
  PlaStatus st =
      pla_module_load("io/stream", "platysma-microphone", "pla_microphone_module", &table, err);
  *out = table;
  if (st == PLA_OK && (*out)->abi != PLA_MICROPHONE_ABI)
    st = pla_fail(err, PLA_ERR_UNSUPPORTED,
                  "the module platysma-microphone.so belongs to another version of Platysma");
  return st;
}

PlaStatus
pla_microphone_open(double *rate_hz, PlaMicrophone **out, PlaError *err)
{
  const PlaMicrophoneModule *module;
  *out = NULL;
  PlaStatus st = load(&module, err);
  return st == PLA_OK ? module->open(rate_hz, out, err) : st;
}

PlaStatus
pla_microphone_read(PlaMicrophone *self, double *sample, size_t n, PlaError *err)
{
  const PlaMicrophoneModule *module;
  PlaStatus st = load(&module, err);
  return st == PLA_OK ? module->read(self, sample, n, err) : st;
}

void
pla_microphone_close(PlaMicrophone *self)
{
  const PlaMicrophoneModule *module;
  if (self && load(&module, NULL) == PLA_OK)
    module->close(self);
}
