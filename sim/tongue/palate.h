/* A palate from nothing but where coils have been. */
#pragma once

#include "sim/tongue/shape.h"
#include "anatomy/levelset/levelset.h"

/* The roof is @margin (m) above the least concave line over all places of the tongue coils, and of the
 * tip where it would be before its coil; it falls to the sides as @mesh at rest leaves room, and in front of
 * the foremost place at 45 degrees. */
PlaStatus pla_palate_build(const PlaTetMesh *mesh, const PlaHeadFrame *frame,
                           const PlaOutline *outline, const PlaSpeakerFit *fit,
                           const PlaCoilPaths *paths, int n_paths, double margin, PlaLevelSet **out,
                           PlaError *err);
