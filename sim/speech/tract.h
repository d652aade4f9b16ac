/* The midsagittal vocal tract of the tongue phantom around the seven sensors, and its areas.
 *
 * Positions are in the sensors' plane in mm, x to the back and y downwards; the phantom's points
 * (RAS mm) stand there as x = PLA_SENSOR_X0 - anterior, y = PLA_SENSOR_Y0 - superior, which puts
 * them where recorded coils usually are. */
#pragma once

#include "sim/speech/speech-model.h"
#include "sim/speech/tube.h"

#define PLA_SENSOR_X0 120.0 /* mm */
#define PLA_SENSOR_Y0 74.0  /* mm */

enum { PLA_TRACT_WALL = 61, PLA_TRACT_TONGUE = 97 };

typedef struct {
  double wall[PLA_TRACT_WALL][2];     /* back of the throat, palate, upper teeth, upper lip */
  double tongue[PLA_TRACT_TONGUE][2]; /* larynx, root, back of the tongue, tip, teeth, lower lip */
  double gap_mm[PLA_TRACT_WALL];      /* from each point of the wall to the tongue; 0: contact */
  double area_mm2[PLA_TRACT_WALL];
  double middle[PLA_TRACT_WALL][2]; /* half way from there to the nearest place of the tongue */
  double along_mm[PLA_TRACT_WALL];  /* of the middle, from the glottis */
} PlaTract;

/* From the sensors (TR TD TB TT LI UL LL: x, y). */
void pla_tract_shape(const double sensor[PLA_SENSOR_CHANNELS], PlaTract *out);
/* Gaps, areas and lengths between a wall and a tongue that are in place, for other tongues than
 * that of the sensors; @lip_width_mm of the opening. */
void pla_tract_measure(PlaTract *tract, double lip_width_mm);
/* How wide the lips open when they stand @protrusion_mm before where they rest. */
double pla_tract_lip_width(double protrusion_mm);

enum { PLA_TRACT_FIXED = 29, PLA_TRACT_LARYNX = 4, PLA_TRACT_UVULA = 11 };
/* What does not move, from the glottis up: back of the throat, from number PLA_TRACT_UVULA on the
 * palate, to the edge of the upper incisors; and the front of the larynx below the tongue. */
void pla_tract_fixed(double wall[PLA_TRACT_FIXED][2], double larynx[PLA_TRACT_LARYNX][2]);
/* The upper lip of a coil at @ul, and the floor of the mouth, lower incisors and lower lip before a
 * tongue whose tip is at @tip. */
enum { PLA_TRACT_UPPER_LIP = 3, PLA_TRACT_FLOOR = 4 };
void pla_tract_upper_lip(const double ul[2], double out[PLA_TRACT_UPPER_LIP][2]);
void pla_tract_floor(const double tip[2], const double li[2], const double ll[2],
                     double out[PLA_TRACT_FLOOR][2]);
/* @n_out places at equal distances along a line of @n. */
void pla_line_spread(const double (*line)[2], int n, double (*out)[2], int n_out);
/* The same as tubes: a section between every two points of the wall; areas of thirty equal parts.
 */
void pla_tract_tube(const PlaTract *tract, PlaTube *out);
void pla_tract_areas(const PlaTract *tract, double area_m2[PLA_WAVE_SECTIONS]);
double pla_tract_length_m(const PlaTract *tract);

/* The palate's height (y, mm) over @x_mm, where the tongue's coils may not go: the least y. */
double pla_tract_palate_y(double x_mm);
/* Puts the tongue's coils that stand in the palate on it; how many. */
int pla_tract_keep_below(double sensor[PLA_SENSOR_CHANNELS]);
