/* The tongue of the built-in phantom, ready to move; what is dear to make of it is kept between
 * runs. */
#pragma once

#include "anatomy/base/progress.h"
#include "sim/tongue/tongue.h"

/* @cell_mm: size of its tets, 0: 3.5.  @own_plane: coils lie in the phantom's own plane, and the
 * whole tongue is kept; else only the mesh and the bones are, since the rest follows from the
 * speaker.  @input has the paths; the phantom's part of it is filled in here and ends with the
 * call.  Caller frees *out. */
PlaStatus pla_phantom_tongue_new(double cell_mm, bool own_plane, PlaTongueInput *input,
                                 PlaProgress *progress, PlaTongue **out, PlaError *err);
