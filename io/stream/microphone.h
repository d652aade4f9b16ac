/* The microphone, through PortAudio, which is loaded at the first call (module
 * platysma-microphone). */
#pragma once

#include "anatomy/base/status.h"

#include <stddef.h>

typedef struct PlaMicrophone PlaMicrophone;

/* Opens the default input, one channel.  *rate_hz in: the wished rate, out: the device's.
 * PLA_ERR_UNSUPPORTED with a sentence where there is no device, or no module. */
PlaStatus pla_microphone_open(double *rate_hz, PlaMicrophone **out, PlaError *err);
/* Waits for @n samples in -1..1. */
PlaStatus pla_microphone_read(PlaMicrophone *self, double *sample, size_t n, PlaError *err);
void pla_microphone_close(PlaMicrophone *self); /* NULL is fine */

/* ---- the module's side */
#define PLA_MICROPHONE_ABI 1
typedef struct {
  int abi;
  PlaStatus (*open)(double *rate_hz, PlaMicrophone **out, PlaError *err);
  PlaStatus (*read)(PlaMicrophone *self, double *sample, size_t n, PlaError *err);
  void (*close)(PlaMicrophone *self);
} PlaMicrophoneModule;
__attribute__((visibility("default"))) const void *pla_microphone_module(void);
