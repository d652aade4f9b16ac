#include "sim/tongue/airway.h"

#include "anatomy/base/memory.h"
#include "sim/speech/tube.h"
#include "sim/tongue/tongue-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* cm^2 of a width in mm, as mm^2; never quite closed, so that sound has a way */
static double
area_of(double gap_mm)
{
  return fmax(1.0, 100.0 * 2.0 * pow(fmax(gap_mm, 0.0) / 10.0, 1.4));
}

/* distance of a place of the midsagittal plane from the nearest fixed solid and the back of the throat, in the
 * speaker's mm */
static double
clearance(const PlaTongue *self, const double at[2], double throat)
{
  double pos[3], least = at[0] - throat;
  pla_head_frame_point(&self->frame, at, pos);
  for (int d = 0; d < 3; d++)
    pos[d] *= 1000.0;
  for (int i = 0; i < self->n_solids; i++)
    if (!self->with_jaw[i])
      least = fmin(least, pla_levelset_at(self->solid[i], pos) / 1000.0);
  return pla_tongue_mm(self, fmax(least, 0.0));
}

void
pla_airway_measure(const PlaTongue *self, const double *pos, const double *coil_mm, PlaAirway *out)
{
  enum { BELOW = 2, TONGUE = PLA_AIRWAY_SECTIONS - BELOW - 2, TIP = BELOW + TONGUE };
  const int n = self->outline.n_dorsum;
  const double mm = self->fit.scale / 1000.0;
  double *line = pla_array_new((size_t)self->outline.n, 2 * sizeof *line);
  double *arc = pla_array_new0((size_t)n + 1, sizeof *arc);
  double throat = INFINITY;
  memset(out, 0, sizeof *out);
  if (!line || !arc) {
    free(line);
    free(arc);
    return;
  }
  pla_outline_place(&self->outline, &self->frame, self->mesh->pos, line);
  for (int i = 0; i < n; i++)
    throat = fmin(throat, line[2 * i] - 9.0 * mm);
  pla_outline_place(&self->outline, &self->frame, pos, line);
  for (int i = 1; i < n; i++)
    arc[i] = arc[i - 1] + hypot(line[2 * i] - line[2 * i - 2], line[2 * i + 1] - line[2 * i - 1]);
  /* from the glottis to the root: no tongue there, lengths and areas of an adult */
  static const double below[BELOW][2] = { { 20.0, 120.0 }, { 25.0, 300.0 } }; /* mm, mm^2 */
  for (int s = 0; s < BELOW; s++) {
    out->length_mm[s] = below[s][0];
    out->area_mm2[s] = below[s][1];
    out->gap_mm[s] = out->line[s][0] = out->line[s][1] = NAN;
  }
  /* even sections along the back of the tongue, from the root (the end of the line) to the tip */
  const double whole = arc[n - 1];
  for (int s = BELOW, i = n - 1; s < TIP; s++) {
    const double want = whole * (1.0 - (s - BELOW + 0.5) / TONGUE);
    while (i > 1 && arc[i - 1] > want)
      i--;
    const double t = (want - arc[i - 1]) / fmax(arc[i] - arc[i - 1], 1e-12);
    for (int a = 0; a < 2; a++)
      out->line[s][a] = line[2 * (i - 1) + a] + t * (line[2 * i + a] - line[2 * (i - 1) + a]);
    out->gap_mm[s] = clearance(self, out->line[s], throat);
    out->area_mm2[s] = area_of(out->gap_mm[s]);
    out->length_mm[s] = pla_tongue_mm(self, whole / TONGUE);
  }
  /* before the tip: up to the incisors; then the lips */
  const double ahead = pla_tongue_mm(self, self->incisor[0] - line[0]);
  out->gap_mm[TIP] = out->gap_mm[TIP - 1];
  out->area_mm2[TIP] = fmax(150.0, out->area_mm2[TIP - 1]);
  out->length_mm[TIP] = fmax(4.0, ahead);
  const double *upper = coil_mm + 2 * PLA_COIL_UL, *lower = coil_mm + 2 * PLA_COIL_LL;
  const double apart = hypot(upper[0] - lower[0], upper[1] - lower[1]);
  out->gap_mm[TIP + 1] = isnan(apart) ? 10.0 : fmax(0.5, apart - 16.0); /* thickness of two lips */
  out->area_mm2[TIP + 1] = area_of(out->gap_mm[TIP + 1]);
  out->length_mm[TIP + 1] = 10.0;
  out->line[TIP][0] = out->line[TIP][1] = NAN;
  out->line[TIP + 1][0] = out->line[TIP + 1][1] = NAN;
  out->n = PLA_AIRWAY_SECTIONS;
  out->narrowest = BELOW;
  for (int s = BELOW; s < TIP; s++)
    if (out->area_mm2[s] < out->area_mm2[out->narrowest])
      out->narrowest = s;
  out->narrowest_mm2 = out->area_mm2[out->narrowest];
  out->narrowest_at = (out->narrowest - BELOW + 0.5) / TONGUE;
  free(line);
  free(arc);
}

int
pla_airway_formants(const PlaAirway *airway, int n_max, double *hz)
{
  const PlaTubeOptions options = { .losses = true, .radiation = true };
  PlaTube tube = { .n = airway->n };
  for (int s = 0; s < airway->n; s++) {
    tube.area[s] = airway->area_mm2[s] / 1e6;
    tube.length[s] = airway->length_mm[s] / 1e3;
  }
  return pla_tube_formants(&tube, &options, 5000.0, n_max, hz);
}
