/* What verbs that work on labels read: a label volume, and which of its labels are meant. */
#pragma once

#include "anatomy/volume.h"
#include "app/cli/verb.h"

#include <glib.h>

/* The invocation's first file as labels.  Caller frees *out. */
PlaStatus pla_labels_input_read(PlaInvocation *inv, PlaLabelMap **out, PlaError *err);

/* The ids that --label names, by number or by name, separated by commas, in the order given;
 * appended to @ids (of int).  Without the option, every label in the map. */
PlaStatus pla_labels_input_ids(PlaInvocation *inv, const PlaLabelMap *map, GArray *ids,
                               PlaError *err);
