/* Sound in a tube of varying section: its resonances from chain matrices, and its sound in time.
 *
 * A tube is a row of short cylinders from the glottis to the lips, areas in m^2, lengths in m. */
#pragma once

#include <complex.h>
#include <stdbool.h>

#define PLA_SOUND_SPEED 353.0 /* m/s in warm moist air */
#define PLA_AIR_DENSITY 1.14  /* kg/m^3 */

enum { PLA_TUBE_MAX = 128 }; /* sections */

typedef struct {
  int n;
  double area[PLA_TUBE_MAX];   /* m^2 */
  double length[PLA_TUBE_MAX]; /* m */
} PlaTube;

typedef struct {
  bool losses;    /* friction, heat and yielding walls, else a hard frictionless tube */
  bool radiation; /* the open end radiates as a piston in a sphere, else an ideal opening */
} PlaTubeOptions;

/* Volume velocity at the lips per volume velocity at the glottis, at @hz. */
double complex pla_tube_transfer(const PlaTube *tube, const PlaTubeOptions *opts, double hz);
/* The first @n_max resonances below @most_hz: peaks of the transfer's modulus, Hz, to 0.1 Hz.
 * Their number. */
int pla_tube_formants(const PlaTube *tube, const PlaTubeOptions *opts, double most_hz, int n_max,
                      double *hz);

/* ---- in time: travelling waves in sections of equal length (J. L. Kelly and C. C. Lochbaum, 1962)
 */

enum { PLA_WAVE_SECTIONS = 30, PLA_NASAL_SECTIONS = 19, PLA_VELUM_SECTION = 14 };

typedef struct {
  double area[PLA_WAVE_SECTIONS]; /* m^2, 0 = closed */
  double velum;                   /* opening into the nose, m^2 */
} PlaWaveShape;

/* What a shape does to the waves that meet where sections do. */
typedef struct {
  double back[PLA_WAVE_SECTIONS], through[PLA_WAVE_SECTIONS]; /* between i - 1 and i */
  double nose_back[PLA_NASAL_SECTIONS], nose_through[PLA_NASAL_SECTIONS];
  double root[PLA_WAVE_SECTIONS]; /* of the areas, m */
  double keep[PLA_WAVE_SECTIONS]; /* of a wave that passes a section */
  double velum, root_velum;       /* m^2, m */
  double lip_share, nose_share;   /* of their open ends' filters */
} PlaWaveJoints;

typedef struct {
  double rate_hz; /* of its samples: the speed of sound over a section's length */
  double forward[PLA_WAVE_SECTIONS], backward[PLA_WAVE_SECTIONS];
  double nose_forward[PLA_NASAL_SECTIONS], nose_backward[PLA_NASAL_SECTIONS];
  double lip_last, nose_last, lip_load, nose_load;
  bool lossless; /* hard walls, a rigid glottis and an ideal opening: for tests */
  PlaWaveJoints joints;
} PlaWaves;

/* A tract of @length_m. */
void pla_waves_init(PlaWaves *self, double length_m);
/* The shape from now on. */
void pla_waves_set(PlaWaves *self, const PlaWaveShape *shape);
/* One sample: @glottis is the volume velocity there; @noise is added behind section
 * @noise_section (-1: none).  Returns the change of the flow from lips and nostrils, m^3/s:
 * what is heard in front. */
double pla_waves_step(PlaWaves *self, double glottis, double noise, int noise_section);
