/* One frame of a fit: linearisation, the step, the misfit.  Scratch for one thread. */
#pragma once

#include "sim/fit/fit.h"

typedef struct {
  double rotation[9], shift[3]; /* capture <- cranium, m */
} PlaHeadPose;

/* What is the same for all frames; borrowed. */
typedef struct {
  const PlaActiveModel *model;
  const PlaMarkerSite *const *site; /* n_markers */
  const PlaTake *take;
  const PlaFitOptions *opts;
  double *lo, *hi; /* bounds (n_controls) */
  double least_noise_m;
  bool flesh; /* derivatives by the logarithm of the flesh's stiffness, too: a column after those of
                 the controls, which pla_fit_frame_reduce() alone makes use of */
} PlaFitProblem;

typedef struct {
  const PlaFitProblem *problem;
  PlaActiveSolver *solver;
  PlaActiveState state, trial;
  PlaHeadPose head;
  double *columns;  /* n_controls x n_verts x 3; and the flesh's */
  bool has_columns; /* they belong to a shape near @state */
  double *jacobian; /* markers by columns, in the cranium's frame (3 n_markers x n_columns) */
  double *residual; /* capture's frame, m; NaN: missing (n_markers x 3) */
  double *weight;   /* n_markers */
  double *h, *g;    /* normal equations of controls and head at weight / m^2 (n x n, n) */
  double *step, *scratch;
  double noise_m; /* of this frame, robust */
  int iterations, factorisations;
  double seconds_sensitivity, seconds_equilibrium;
} PlaFitFrame;

PlaStatus pla_fit_frame_init(PlaFitFrame *self, const PlaFitProblem *problem, PlaError *err);
void pla_fit_frame_clear(PlaFitFrame *self);

/* Puts the head where the markers of frame @f want it with the body as it is. */
PlaStatus pla_fit_frame_place_head(PlaFitFrame *self, int f, bool from_scratch, PlaError *err);
/* Tracks from the state of another frame to frame @f: up to @iterations steps. */
PlaStatus pla_fit_frame_track(PlaFitFrame *self, int f, int iterations, PlaError *err);
/* Moves the body to @control and the head to its markers. */
PlaStatus pla_fit_frame_move(PlaFitFrame *self, int f, const double *control, PlaError *err);
/* The quadratic misfit about the present controls with the head eliminated, in units of 1 (@noise_m
 * given): @h (n_columns^2), @g (n_columns).  Sensitivities are made anew when @fresh. */
PlaStatus pla_fit_frame_reduce(PlaFitFrame *self, int f, double noise_m, bool fresh, double *h,
                               double *g, PlaError *err);
/* Residuals of frame @f and weights at the noise @noise_m; the number of markers that count. */
int pla_fit_frame_look(PlaFitFrame *self, int f, double noise_m);
