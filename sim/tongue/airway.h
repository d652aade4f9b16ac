/* The air above a moving tongue, from the glottis to the lips: widths in the midsagittal plane, areas of the
 * tube they stand for, the sound that tube makes. */
#pragma once

#include "sim/tongue/tongue.h"

enum { PLA_AIRWAY_SECTIONS = 48 };

typedef struct {
  int n;
  double gap_mm[PLA_AIRWAY_SECTIONS];   /* between tongue and wall; 0: contact; NaN below the root */
  double area_mm2[PLA_AIRWAY_SECTIONS];
  double length_mm[PLA_AIRWAY_SECTIONS]; /* of each section, glottis first, lips last */
  double line[PLA_AIRWAY_SECTIONS][2];  /* where on the tongue, (forward, up), m; NaN elsewhere */
  double narrowest_mm2;
  int narrowest;                        /* section */
  double narrowest_at;                  /* how far from the root to the tip, 0..1 */
} PlaAirway;

/* At positions @pos (n_verts x 3), with the coils of the frame (PLA_N_COILS x 2, mm).  The wall is what the
 * solids of the tongue leave, and behind it the back of the throat, 9 mm behind the hindmost place of the
 * tongue at rest.  Areas are 2.0 d^1.4 (cm^2, d in cm: the usual power law of sagittal widths); lips open
 * as far as their coils stand farther apart than when nearest. */
void pla_airway_measure(const PlaTongue *tongue, const double *pos, const double *coil_mm,
                        PlaAirway *out);

/* Resonances of that tube, with losses and radiation, below 5 kHz; their number, at most @n_max. */
int pla_airway_formants(const PlaAirway *airway, int n_max, double *hz);
