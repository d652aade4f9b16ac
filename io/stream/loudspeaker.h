/* The loudspeaker, through PortAudio (module platysma-microphone, loaded at the first call). */
#pragma once

#include "anatomy/base/status.h"

#include <stddef.h>

typedef struct PlaLoudspeaker PlaLoudspeaker;

/* Opens the default output, one channel, at @rate_hz exactly.  May take a while: not for the main
 * thread.  PLA_ERR_UNSUPPORTED with a sentence where there is no device, or no module. */
PlaStatus pla_loudspeaker_open(double rate_hz, PlaLoudspeaker **out, PlaError *err);
/* Waits until @n samples in -1..1 are taken. */
PlaStatus pla_loudspeaker_write(PlaLoudspeaker *self, const float *sample, size_t n, PlaError *err);
/* Seconds of sound that were written and are not heard yet. */
double pla_loudspeaker_pending_s(PlaLoudspeaker *self);
void
pla_loudspeaker_close(PlaLoudspeaker *self); /* at once, dropping what is pending; NULL is fine */

/* ---- the module's side */
#define PLA_LOUDSPEAKER_ABI 1
typedef struct {
  int abi;
  PlaStatus (*open)(double rate_hz, PlaLoudspeaker **out, PlaError *err);
  PlaStatus (*write)(PlaLoudspeaker *self, const float *sample, size_t n, PlaError *err);
  double (*pending_s)(PlaLoudspeaker *self);
  void (*close)(PlaLoudspeaker *self);
} PlaLoudspeakerModule;
__attribute__((visibility("default"))) const void *pla_loudspeaker_module(void);
