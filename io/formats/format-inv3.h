/* InVesalius projects: the masks beside the image. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/volume/volume.h"

/* The masks of project @path as one label map on the image's lattice: mask n has the id n + 1, its
 * own name and colour.  Where masks overlap, the smallest shows, and @notes (may be NULL) says how
 * many voxels that concerns.  @progress may be NULL.  PLA_ERR_EMPTY when there are no masks.
 * Caller frees *out. */
PlaStatus pla_inv3_read_masks(const char *path, PlaProgress *progress, PlaLabelMap **out,
                              PlaNotes *notes, PlaError *err);
