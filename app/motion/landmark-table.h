/* Sets of named points, and warps and registrations by them. */
#pragma once

#include "anatomy/muscle/muscle.h"
#include "anatomy/phantom/phantom.h"
#include "anatomy/registration/registration.h"
#include "anatomy/signal/signal.h"
#include "app/base/json.h"
#include "app/content/content.h"

#include <glib.h>

typedef struct {
  int n;
  char **name;    /* owned */
  double *pos_mm; /* owned (n x 3) */
} PlaLandmarks;
void pla_landmarks_clear(PlaLandmarks *self);
void pla_landmarks_add(PlaLandmarks *self, const char *name, const double pos_mm[3]);
int pla_landmarks_find(const PlaLandmarks *self, const char *name); /* or -1 */

/* A table: one point a line, name, x, y, z in RAS mm, separated by commas, semicolons or tabs; a
 * first line of titles, empty lines and lines that begin with # are passed over.  Each wrong line
 * is refused with its number. */
PlaStatus pla_landmarks_read(const char *path, PlaLandmarks *out, PlaError *err);
PlaStatus pla_landmarks_write(const char *path, const PlaLandmarks *self, PlaError *err);
void pla_landmarks_from_phantom(const PlaPhantom *phantom, PlaLandmarks *out);
/* The markers of one frame; missing ones are left out. */
PlaStatus pla_landmarks_from_take(const PlaTake *take, int frame, PlaLandmarks *out, PlaError *err);
/* [{"name": ..., "at_mm": [x, y, z]}, ...] */
PlaStatus pla_landmarks_from_json(PlaJson list, PlaLandmarks *out, PlaError *err);
JsonArray *pla_landmarks_to_json(const PlaLandmarks *self); /* json_array_unref() */
/* A table as an item of a case; and the points of such an item, or the markers of frame @frame of a
 * take. */
PlaContent *pla_landmarks_to_content(const PlaLandmarks *self);
PlaStatus pla_landmarks_read_content(const char *path, PlaContent **out, PlaError *err);
PlaStatus pla_landmarks_from_content(const PlaContent *content, int frame, PlaLandmarks *out,
                                     PlaError *err);

/* The points that both sets name, in the order of the first. */
typedef struct {
  int n;
  int *index[2];     /* in either set */
  double *pos_mm[2]; /* n x 3 */
} PlaLandmarkPairs;
void pla_landmark_pairs_init(PlaLandmarkPairs *self, const PlaLandmarks *first,
                             const PlaLandmarks *second);
void pla_landmark_pairs_clear(PlaLandmarkPairs *self);

/* Lines of action, sections and tendons carried by a warp. */
void pla_warp_muscles(const PlaWarp *warp, PlaMuscleList *list);
/* Smallest and largest change of volume over the template's @n points (n x 3, mm). */
void pla_warp_volume_range(const PlaWarp *warp, int n, const double *pos_mm, double range[2]);
