/* Roofs of the mouth: from nothing but where coils have been, or as a lining of bone. */
#pragma once

#include "anatomy/levelset/levelset.h"
#include "sim/tongue/shape.h"

/* The roof is @margin (m) above the least concave line over all places of the tongue coils, and of
 * the tip where it would be before its coil; it falls to the sides as @mesh at rest leaves room,
 * and in front of the foremost place at 45 degrees. */
PlaStatus pla_palate_build(const PlaTetMesh *mesh, const PlaHeadFrame *frame,
                           const PlaOutline *outline, const PlaCoilFit *fit,
                           const PlaCoilPaths *paths, int n_paths, double margin, PlaLevelSet **out,
                           PlaError *err);

/* Lines @solid with what covers its bone: all that is above @line, (forward, up) of the roof's
 * middle, m, from back to front (n x 2), falls to the sides as @mesh at rest leaves room by half of
 * @margin (m), and ends at the foremost place. */
PlaStatus pla_palate_line(PlaLevelSet *solid, const PlaTetMesh *mesh, const PlaHeadFrame *frame,
                          int n, double *line, double margin, PlaError *err);
