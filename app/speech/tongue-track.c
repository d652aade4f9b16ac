/* What a tongue does along a track, as further channels of it. */
#include "app/speech/tongue-track.h"

#include "anatomy/base/memory.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_FORMANT = 5, EXTRA = 8, HEARD = EXTRA + PLA_FORMANTS };
static const char *const extra[HEARD][2] = {
  { "jaw_deg", "deg" },           { "volume_ratio", "" },
  { "penetration_mm", "mm" },     { "contacts", "" },
  { "narrowest_mm2", "mm2" },     { "formant_1_hz", "Hz" },
  { "formant_2_hz", "Hz" },       { "formant_3_hz", "Hz" },
  { "heard_formant_1_hz", "Hz" }, { "heard_formant_2_hz", "Hz" },
  { "heard_formant_3_hz", "Hz" },
};

PlaStatus
pla_tongue_track_new(const PlaTrack *track, const double *heard, PlaTrack **out, PlaError *err)
{
  const int n = track->n_channels, all = n + (heard ? HEARD : EXTRA);
  PlaStatus st = pla_track_new(track->n_samples, all, out, err);
  if (st != PLA_OK)
    return st;
  (*out)->rate_hz = track->rate_hz;
  (*out)->start_s = track->start_s;
  for (int c = 0; c < all; c++) {
    free((*out)->name[c]);
    free((*out)->unit[c]);
    (*out)->name[c] = pla_strdup(c < n ? track->name[c] : extra[c - n][0]);
    (*out)->unit[c] = pla_strdup(c < n ? track->unit[c] : extra[c - n][1]);
    if (!(*out)->name[c] || !(*out)->unit[c])
      return pla_fail_memory(err, "a track");
  }
  for (int i = 0; i < track->n_samples; i++) {
    double *row = (*out)->value + (size_t)i * (size_t)all;
    memcpy(row, track->value + (size_t)i * (size_t)n, (size_t)n * sizeof *row);
    if (heard)
      memcpy(row + n + EXTRA, heard + (size_t)i * PLA_FORMANTS, PLA_FORMANTS * sizeof *row);
  }
  return PLA_OK;
}

void
pla_tongue_track_note(PlaTrack *result, int n_given, const PlaTongueMotion *motion, int frame)
{
  double *row = result->value + (size_t)frame * (size_t)result->n_channels + n_given;
  const PlaTongueReport *report = pla_tongue_motion_report(motion);
  row[0] = report->jaw_deg;
  row[1] = report->step.volume_ratio;
  row[2] = pla_tongue_mm(pla_tongue_motion_get_tongue(motion), report->step.max_penetration);
  row[3] = report->step.contacts;
  /* the tube that the tongue leaves, and its resonances */
  PlaAirway airway;
  pla_tongue_motion_airway(motion, &airway);
  row[4] = airway.narrowest_mm2;
  for (int n = pla_airway_formants(&airway, PLA_FORMANTS, row + FIRST_FORMANT); n < PLA_FORMANTS;
       n++)
    row[FIRST_FORMANT + n] = NAN;
}

void
pla_tongue_track_match(const PlaTrack *result, int n_given, PlaFormantMatch *out)
{
  *out = (PlaFormantMatch){ .length_factor = 1.0 };
  for (int k = 0; k < PLA_FORMANTS; k++) {
    double sum[5] = { 0 }, log_ratio = 0.0;
    int n = 0;
    for (int i = 0; i < result->n_samples; i++) {
      const double *row = result->value + (size_t)i * (size_t)result->n_channels + n_given;
      const double x = row[FIRST_FORMANT + k], y = row[EXTRA + k];
      if (!(x > 0.0) || !(y > 0.0))
        continue;
      n++;
      sum[0] += x;
      sum[1] += y;
      sum[2] += x * x;
      sum[3] += y * y;
      sum[4] += x * y;
      log_ratio += log(x / y);
    }
    out->frames = MAX(out->frames, n);
    const double xx = sum[2] - sum[0] * sum[0] / MAX(n, 1),
                 yy = sum[3] - sum[1] * sum[1] / MAX(n, 1);
    out->ratio[k] = n > 0 ? exp(log_ratio / n) : NAN;
    out->correlation[k] =
        n > 2 && xx > 0.0 && yy > 0.0 ? (sum[4] - sum[0] * sum[1] / n) / sqrt(xx * yy) : NAN;
    out->length_factor *= pow(out->ratio[k], 1.0 / PLA_FORMANTS);
  }
  for (int k = 0; k < PLA_FORMANTS; k++)
    out->same_length[k] = out->ratio[k] / out->length_factor;
}
