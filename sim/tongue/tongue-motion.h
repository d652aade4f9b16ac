/* The motion of a tongue along recorded or predicted coils, frame by frame. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/signal/signal.h"
#include "sim/tongue/airway.h"
#include "sim/tongue/tongue.h"

typedef struct PlaTongueMotion PlaTongueMotion;

/* @tongue is the motion's from now on, after a failure too. */
PlaStatus pla_tongue_motion_take(PlaTongue *tongue, const PlaTongueBodyOptions *options,
                                 PlaTongueMotion **out, PlaError *err);
/* Another motion of the same tongue, which is borrowed: for stretches that run side by side. */
PlaStatus pla_tongue_motion_fork(const PlaTongueMotion *self, PlaTongueMotion **out, PlaError *err);
void pla_tongue_motion_free(PlaTongueMotion *self); /* NULL is fine */
const PlaTongue *pla_tongue_motion_get_tongue(const PlaTongueMotion *self);
const PlaMesh *pla_tongue_motion_get_rest(const PlaTongueMotion *self);

/* Begins a new track; the next frame is reached without inertia.  The track is borrowed until the
 * next one or the end. */
PlaStatus pla_tongue_motion_start(PlaTongueMotion *self, const PlaTrack *track, PlaError *err);
int pla_tongue_motion_n_frames(const PlaTongueMotion *self);
double pla_tongue_motion_rate_hz(const PlaTongueMotion *self); /* of the track */
/* Goes on at frame @frame of the track, some frames being run up to it that count nowhere.  The
 * newest frame is then the one before. */
PlaStatus pla_tongue_motion_seek(PlaTongueMotion *self, int frame, PlaError *err);

/* What has happened since the start. */
typedef struct {
  int frames;
  double seconds;            /* spent in steps */
  double volume_seconds;     /* of those, on volume */
  double max_volume_change;  /* |V / V0 - 1| */
  double max_penetration_mm; /* all lengths in the speaker's mm */
  double sensor_error_mm;
  int projected; /* targets put out of palate or teeth */
  int unsettled; /* steps that stopped at the limit of iterations */
  int iterations;
  int most_contacts;
  double max_jaw_deg, min_jaw_deg;
} PlaTongueStats;

/* As if the frames of both had been steps of one. */
void pla_tongue_stats_add(PlaTongueStats *to, const PlaTongueStats *from);
PlaTongueStats pla_tongue_stats_none(void);

/* The next frame of the track; false in *more after the last one.  Frames without any value stay.
 */
PlaStatus pla_tongue_motion_step(PlaTongueMotion *self, bool *more, PlaError *err);
/* Takes in the newest frame, number @frame, of a motion. */
typedef PlaStatus (*PlaTongueFrameFunc)(const PlaTongueMotion *motion, int frame, void *data,
                                        PlaError *err);
/* All frames of @track, in stretches by the length of the track alone, each with a run-up of its
 * own: the same bits for any number of threads.  @func is called from several threads at once, each
 * frame once; with @in_order from one, frame after frame.  @self itself stays as it is. */
PlaStatus pla_tongue_motion_run(const PlaTongueMotion *self, const PlaTrack *track, bool in_order,
                                PlaTongueFrameFunc func, void *data, PlaProgress *progress,
                                PlaTongueStats *stats, PlaError *err);
const PlaTongueStats *pla_tongue_motion_stats(const PlaTongueMotion *self);
const PlaTongueReport *
pla_tongue_motion_report(const PlaTongueMotion *self);                /* of the newest frame */
const double *pla_tongue_motion_get_pos(const PlaTongueMotion *self); /* m (n_verts x 3) */
/* What the newest frame asked for: targets, jaw. */
void pla_tongue_motion_frame(const PlaTongueMotion *self, PlaTongueFrame *out);
/* The air above the tongue in the newest frame. */
void pla_tongue_motion_airway(const PlaTongueMotion *self, PlaAirway *out);
