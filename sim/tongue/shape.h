/* Where front, up and the middle of a tongue mesh are, its midsagittal outline, and how the coils
 * of a speaker lie on it. */
#pragma once

#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/signal/signal.h"

#include <stdbool.h>

/* Directions of a head: rows of an orthonormal frame, and the midsagittal plane right . x = mid. */
typedef struct {
  double right[3], forward[3], up[3];
  double mid; /* m */
} PlaHeadFrame;

/* RAS: x right, y forward, z up, the middle at x = 0. */
PlaHeadFrame pla_head_frame_ras(void);
/* Guesses the axes of a tongue: across is the one with mirror symmetry, up leads away from what is
 * held, forward is where the tongue overhangs it most.  PLA_ERR_GEOMETRY when nothing is held. */
PlaStatus pla_head_frame_guess(const PlaTetMesh *mesh, const unsigned char *fixed,
                               PlaHeadFrame *out, PlaError *err);
/* (forward, up) of a point, and back, in the midsagittal plane; m. */
void pla_head_frame_sagittal(const PlaHeadFrame *frame, const double pos[3], double out[2]);
void pla_head_frame_point(const PlaHeadFrame *frame, const double sagittal[2], double pos[3]);

/* The closed line in which the midsagittal plane meets the surface at rest: points of the material,
 * on edges of the surface, that move with it.  From the tip over the back of the tongue and around.
 */
typedef struct {
  int n;
  int *vert;      /* ends of the edge of each point (n x 2) */
  double *weight; /* x = (1 - w) x0 + w x1 (n) */
  int n_dorsum;   /* the first so many lead from the tip to the lowest point at the back */
} PlaOutline;
/* PLA_ERR_GEOMETRY when the plane misses the surface. */
PlaStatus pla_outline_init(PlaOutline *self, const PlaTetMesh *mesh, const PlaHeadFrame *frame,
                           PlaError *err);
void pla_outline_clear(PlaOutline *self);
/* (forward, up) of its points at positions @pos (n_verts x 3), m (n x 2). */
void pla_outline_place(const PlaOutline *self, const PlaHeadFrame *frame, const double *pos,
                       double *out);

/* ---- coils ---- */

enum {
  PLA_COIL_TR = 0, /* tongue rear */
  PLA_COIL_TD,     /* dorsum */
  PLA_COIL_TB,     /* blade */
  PLA_COIL_TT,     /* tip */
  PLA_COIL_LI,     /* lower incisors */
  PLA_COIL_UL,     /* lips */
  PLA_COIL_LL,
  PLA_N_COILS,
  PLA_N_TONGUE_COILS = 4
};
const char *pla_coil_name(int coil); /* "TR" */

/* Midsagittal paths of coils, mm, turned so that the first coordinate grows forward and the second
 * up. */
typedef struct {
  int n_frames;
  double rate_hz;
  double sign[2]; /* of the file's x and y */
  double *pos_mm; /* NaN where missing (n_frames x PLA_N_COILS x 2) */
} PlaCoilPaths;
/* Channels are called TR_x, TR_y and so on, in any case.  Which way the axes point follows from the
 * order of the coils.  PLA_ERR_USAGE names what is missing: the four tongue coils are needed, the
 * others not. */
PlaStatus pla_coil_paths_init(PlaCoilPaths *self, const PlaTrack *track, PlaError *err);
void pla_coil_paths_clear(PlaCoilPaths *self);

/* How a speaker lies on the mesh: p = scale (cos -sin; sin cos) mm / 1000 + shift, in (forward,
 * up), m. */
typedef struct {
  int vert[PLA_N_TONGUE_COILS]; /* where the tongue coils sit */
  double scale, cosine, sine;
  double shift[2];                /* m */
  double rest_mm[PLA_N_COILS][2]; /* means of the speaker; NaN without */
  double residual_mm; /* rms distance of the four from their vertices, in the speaker's mm */
} PlaCoilFit;

/* The similarity that takes the means of the four tongue coils over all @paths to vertices on the
 * back of the tongue.  @given: those vertices, or NULL to choose them along the outline: the tip
 * coil 4 to 18 mm behind the tip, the others as far from each other as the speaker's, where the fit
 * is best.  @limits: the least and the largest scale then, or NULL. */
PlaStatus pla_coil_fit(const PlaTetMesh *mesh, const PlaHeadFrame *frame, const PlaOutline *outline,
                       const int *given, const double *limits, const PlaCoilPaths *paths,
                       int n_paths, PlaCoilFit *out, PlaError *err);
/* (forward, up), m, of a place in the speaker's mm. */
void pla_coil_fit_place(const PlaCoilFit *fit, const double mm[2], double out[2]);
