/* Sound at one rate made into sound at another, as it arrives. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct PlaResampler PlaResampler;

/* Rates in Hz, 1000 .. 1e6.  Equal rates pass samples through unchanged.  Caller frees *out. */
PlaStatus pla_resampler_new(double from_hz, double to_hz, PlaResampler **out, PlaError *err);
void pla_resampler_free(PlaResampler *self); /* NULL is fine */

/* Takes @n samples (the last call with @end true) and appends what can be computed to *out, an
 * array of *n_out that grows by realloc.  The same bits come out for any pieces the sound arrives
 * in.  false when memory is short. */
bool pla_resampler_push(PlaResampler *self, const double *in, size_t n, bool end, double **out,
                        size_t *n_out, size_t *capacity);
double pla_resampler_latency_s(const PlaResampler *self); /* input needed after an output sample */
