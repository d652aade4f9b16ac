/* Parts of label maps: what of a body is to be meshed. */
#pragma once

#include "anatomy/volume/volume.h"

/* The voxels of @labels whose middles lie in the box from box_mm[0] to box_mm[1], RAS, as a label
 * map of their own.  PLA_ERR_EMPTY when there are none.  Caller frees *out. */
PlaStatus pla_label_map_crop(const PlaLabelMap *labels, const double box_mm[2][3],
                             PlaLabelMap **out, PlaError *err);

/* All labels that are marked in @merged (PLA_LABEL_IDS) as one of the name @name, which has the
 * first id of them in the table; the others stay.  At least one of the table must be marked.
 * Caller frees *out. */
enum { PLA_LABEL_IDS = 65536 };
PlaStatus pla_label_map_merge(const PlaLabelMap *labels, const bool *merged, const char *name,
                              PlaLabelMap **out, PlaError *err);
