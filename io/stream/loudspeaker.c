/* Loads the module that plays. */
#include "io/stream/loudspeaker.h"

#include "anatomy/base/module.h"

static PlaStatus
load(const PlaLoudspeakerModule **out, PlaError *err)
{
  const void *table = NULL;
  PlaStatus st =
      pla_module_load("io/stream", "platysma-microphone", "pla_loudspeaker_module", &table, err);
  *out = table;
  if (st == PLA_OK && (*out)->abi != PLA_LOUDSPEAKER_ABI)
    st = pla_fail(err, PLA_ERR_UNSUPPORTED,
                  "the module platysma-microphone.so belongs to another version of Platysma");
  return st;
}

PlaStatus
pla_loudspeaker_open(double rate_hz, PlaLoudspeaker **out, PlaError *err)
{
  const PlaLoudspeakerModule *module;
  *out = NULL;
  PlaStatus st = load(&module, err);
  return st == PLA_OK ? module->open(rate_hz, out, err) : st;
}

PlaStatus
pla_loudspeaker_write(PlaLoudspeaker *self, const float *sample, size_t n, PlaError *err)
{
  const PlaLoudspeakerModule *module;
  PlaStatus st = load(&module, err);
  return st == PLA_OK ? module->write(self, sample, n, err) : st;
}

double
pla_loudspeaker_pending_s(PlaLoudspeaker *self)
{
  const PlaLoudspeakerModule *module;
  return load(&module, NULL) == PLA_OK ? module->pending_s(self) : 0.0;
}

void
pla_loudspeaker_close(PlaLoudspeaker *self)
{
  const PlaLoudspeakerModule *module;
  if (self && load(&module, NULL) == PLA_OK)
    module->close(self);
}
