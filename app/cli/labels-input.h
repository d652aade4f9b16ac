/* What verbs that work on labels read: a label volume, and which of its labels are meant. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "anatomy/volume/volume.h"
#include "app/cli/verb.h"

#include <glib.h>

/* The invocation's first file as labels.  Caller frees *out. */
PlaStatus pla_labels_input_read(PlaInvocation *inv, PlaLabelMap **out, PlaError *err);
/* The same where a mesh will do too: one of *out and *mesh is set.  Caller frees both. */
PlaStatus pla_body_input_read(PlaInvocation *inv, PlaLabelMap **out, PlaMesh **mesh, PlaError *err);

/* The tissues that --label names: groups of labels joined by '+', separated by commas.  Ids are
 * appended to @ids, the index of each group's first one, and in the end their number, to @first
 * (both of int).  Without the option, every label in the map by itself. */
PlaStatus pla_labels_input_groups(PlaInvocation *inv, const PlaLabelMap *map, GArray *ids,
                                  GArray *first, PlaError *err);

/* The ids that --label names, by number or by name, separated by commas, in the order given;
 * appended to @ids (of int).  Without the option, every label in the map. */
PlaStatus pla_labels_input_ids(PlaInvocation *inv, const PlaLabelMap *map, GArray *ids,
                               PlaError *err);
