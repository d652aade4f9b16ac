/* The air above a moving tongue, from the glottis to the lips: widths in the midsagittal plane,
 * areas of the tube they stand for, the sound that tube makes. */
#pragma once

#include "sim/speech/tract.h"
#include "sim/tongue/tongue.h"

enum { PLA_AIRWAY_SECTIONS = PLA_TRACT_WALL - 1 };

typedef struct {
  int n;
  double gap_mm[PLA_AIRWAY_SECTIONS]; /* between tongue and wall; 0: contact */
  double area_mm2[PLA_AIRWAY_SECTIONS];
  double length_mm[PLA_AIRWAY_SECTIONS]; /* of each section, glottis first, lips last */
  double line[PLA_AIRWAY_SECTIONS][2];   /* where on the tongue, (forward, up), m; NaN elsewhere */
  double narrowest_mm2;                  /* between throat or palate and the back of the tongue */
  int narrowest;                         /* section */
} PlaAirway;

/* At positions @pos (n_verts x 3), with the coils of the frame (PLA_N_COILS x 2, mm).
 *
 * The wall is that of the tract (sim/speech/tract.h).  Where the tongue is not that of the phantom,
 * it is laid on by the mean places of the four tongue coils, the palate is what the solids leave in
 * the midsagittal plane, and the throat stays behind the tongue at rest.  Widths are the distances
 * from the wall to the outline of the mesh, continued by larynx, floor of the mouth, lower incisors
 * and lips; areas follow as in the tract. */
void pla_airway_measure(const PlaTongue *tongue, const double *pos, const double *coil_mm,
                        PlaAirway *out);
/* The wall from the glottis to the upper incisors, (forward, up), m. */
const double (*pla_airway_get_wall(const PlaTongue *tongue))[2]; /* PLA_TRACT_FIXED */

/* Resonances of that tube, with losses and radiation, below 5 kHz; their number, at most @n_max. */
int pla_airway_formants(const PlaAirway *airway, int n_max, double *hz);
