/* Activation tracks: what muscles, jaw and head do over time, as files and cases hold it; making
 * takes of markers from them, and them from takes.
 *
 * A track has a channel for each muscle (its name, no unit, 0..1), then "jaw opening" (deg) and
 * "jaw slide right", "jaw slide left" (mm), then "head rx ry rz" (deg, a rotation vector) and "head
 * tx ty tz" (mm): the motion of the cranium in the capture's frame.  Channels may be missing and
 * stand for 0, in any order; one that the body does not have is refused by name. */
#pragma once

#include "app/motion/active-item.h"
#include "sim/active/forward.h"
#include "sim/fit/fit.h"
#include "sim/fit/identify.h"
#include "sim/fit/marker-match.h"

/* The last channels of a track: a rotation vector in degrees, a shift in mm. */
enum { PLA_HEAD_CHANNELS = 6 };
extern const char *const pla_head_channels[PLA_HEAD_CHANNELS];

/* Controls and head poses of all frames; plain arrays. */
typedef struct {
  int n_frames, n_controls;
  double rate_hz;
  double *control; /* n_frames x n_controls */
  double *head;    /* rotation (9) and shift, m (3) (n_frames x 12) */
} PlaActivation;
PlaStatus pla_activation_init(PlaActivation *self, const PlaActiveModel *model, int n_frames,
                              double rate_hz, PlaError *err); /* at rest */
void pla_activation_clear(PlaActivation *self);

/* How far control @c reaches, in the unit of its channel. */
double pla_activation_range(const PlaActiveModel *model, int c);

PlaStatus pla_activation_to_track(const PlaActivation *self, const PlaActiveModel *model,
                                  PlaTrack **out, PlaError *err);
/* PLA_ERR_USAGE names a channel that the body does not have, or a value out of its bounds and the
 * sample. */
PlaStatus pla_activation_from_track(const PlaActiveModel *model, const PlaTrack *track,
                                    PlaActivation *out, PlaError *err);

/* A made-up performance that rests at first: every muscle contracts and lets go at its own pace,
 * jaw and head move.  The same for the same seed. */
PlaStatus pla_activation_random(const PlaActiveModel *model, int n_frames, double rate_hz,
                                unsigned seed, PlaActivation *out, PlaError *err);
/* Between two tracks of one body, and away from the first beyond the second: control = a + @amount
 * (b - a), within the bounds.  Both as long as the shorter. */
PlaStatus pla_activation_mix(const PlaActiveModel *model, const PlaActivation *a,
                             const PlaActivation *b, double amount, PlaActivation *out,
                             PlaError *err);

/* Called with each frame's shape, m, in the cranium's frame (n_verts x 3). */
typedef PlaStatus (*PlaActivationFrame)(int frame, const double *pos, void *data, PlaError *err);
typedef struct {
  int frames;
  int unsolved; /* frames that did not reach equilibrium */
  int first_unsolved;
  int inverted; /* most inverted elements of any frame */
  int iterations, factorisations;
} PlaActivationReport;
/* The equilibrium of every frame, one after the other. */
PlaStatus pla_activation_run(const PlaActiveBody *body, const PlaActivation *track,
                             double tolerance_m, PlaActivationFrame frame, void *data,
                             PlaProgress *progress, PlaActivationReport *report, PlaError *err);

/* The same among colliders, with the body's parts in contact, or in time (sim/active/forward.h).
 * @touch: the most contacts, the deepest penetration and the greatest push of any frame. */
PlaStatus pla_activation_run_forward(const PlaActiveBody *body, const PlaActivation *track,
                                     const PlaForwardOptions *options, PlaActivationFrame frame,
                                     void *data, PlaProgress *progress, PlaActivationReport *report,
                                     PlaForwardReport *touch, PlaError *err);

/* What is wrong with a made-up take. */
typedef struct {
  double noise_m;           /* per axis */
  double missing, outliers; /* shares of markers */
  double outlier_m;         /* size of gross errors, per axis up to */
  unsigned seed;
} PlaTakeFaults;
/* The markers of the body in the capture's frame while it performs @track. */
PlaStatus pla_activation_take(const PlaActiveBody *body, const PlaActivation *track,
                              const PlaTakeFaults *faults, PlaProgress *progress, PlaTake **out,
                              PlaActivationReport *report, PlaError *err);

/* Binds every marker of @take to the nearest place of the body's surface, at its offset, by where
 * it is in
 * @frame: for bodies without places of their own, in the frame of the capture.  PLA_ERR_USAGE when
 * the markers are far from the body. */
PlaStatus pla_activation_bind(const PlaActiveBody *body, const PlaTake *take, int frame,
                              PlaMarkerSet *out, PlaError *err);

/* Labels, repairs (in place) and fits a take; what was repaired is in result->notes. */
PlaStatus pla_activation_fit(const PlaActiveBody *body, PlaTake *take,
                             const PlaMarkerMatchOptions *label, const PlaFitOptions *opts,
                             PlaActivation *out, PlaFitResult *result, PlaError *err);

/* Strengths of the muscles, the flesh's stiffness, or both from a take whose activations @known
 * tells (sim/fit/identify.h); @strength and @deviation: n_muscles each.  The take is labelled and
 * repaired in place, its head brought back. */
PlaStatus pla_activation_identify(const PlaActiveBody *body, PlaTake *take,
                                  const PlaMarkerMatchOptions *label, const PlaActivation *known,
                                  bool strengths, bool stiffness, const PlaFitOptions *opts,
                                  double *strength, double *deviation, PlaIdentifyReport *report,
                                  PlaError *err);
