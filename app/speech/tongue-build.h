/* The tongue of a speaker, ready to move: what the verb `speak` and the Speech workspace share. The
 * phantom's comes from the cache, another one from a mesh. */
#pragma once

#include "anatomy/signal/signal.h"
#include "sim/tongue/tongue-motion.h"

typedef struct {
  const PlaMesh *mesh;      /* of tets; NULL: the tongue of the built-in phantom */
  const int *fixed;         /* its fixed degrees of freedom, 3 v + axis (n_fixed) */
  int n_fixed;              /* 0: the lowest seventh of the mesh is held */
  double mesh_unit_mm;      /* size of a unit of the mesh; 0: as fits the speaker */
  const char *forward, *up; /* "x", "-y", ...; NULL: guessed */
  double cell_mm;           /* of the phantom's tets; 0: 3.5 */
  bool own_plane; /* tracks lie in the phantom's own plane, as those of texts and of the built-in
                     model do: they are taken as they are, without a fit; no mesh then */
  bool quasistatic;
  bool without_volume, without_contact;
  PlaProgress *progress;
} PlaTongueMotionOptions;
PlaTongueMotionOptions pla_tongue_motion_options_default(void);

/* The tongue of one speaker.  @tracks: recordings of that speaker, which the fit and the palate are
 * made from; names as TT_x, TT_y, in mm. */
PlaStatus pla_tongue_motion_new(const PlaTongueMotionOptions *options,
                                const PlaTrack *const *tracks, int n_tracks, PlaTongueMotion **out,
                                PlaError *err);
