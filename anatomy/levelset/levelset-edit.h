/* Local changes of level sets: a brush adds or takes a solid, and only the part around it is
 * measured again. */
#pragma once

#include "anatomy/levelset/levelset.h"

/* Redistances after values within lo..hi (voxels, both included) have changed: only there and
 * within the band around it; all other values stay as they are, bit for bit.  The band must be
 * finite. */
PlaStatus pla_levelset_redistance_box(PlaLevelSet *ls, const int lo[3], const int hi[3],
                                      PlaProgress *progress, PlaError *err);

/* Adds (PLA_CSG_UNION) or takes away (PLA_CSG_DIFFERENCE) a solid, with local redistancing.  *lo,
 * *hi: the voxels whose values may have changed; lo > hi when the solid does not reach the grid. */
PlaStatus pla_levelset_edit_solid(PlaLevelSet *ls, PlaCsg op, const PlaSolid *solid,
                                  PlaProgress *progress, int lo[3], int hi[3], PlaError *err);
