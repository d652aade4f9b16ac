/* Measuring with the pointer: places are picked in slices or on surfaces and become one operation.
 *
 * The window owns one.  Kinds: "distance", "angle", "path" (the last place again ends it), "volume"
 * (of the tissue or mesh that is picked), "landmark", "note". */
#pragma once

#include "ui/document/document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_MEASURE (pla_measure_get_type())
G_DECLARE_FINAL_TYPE(PlaMeasure, pla_measure, PLA, MEASURE, GObject)

PlaMeasure *pla_measure_new(PlaDocument *document, GtkWindow *window); /* both borrowed */
/* Asks for places; a measurement in the making is dropped.  FALSE: there is no such kind, or no
 * case that could keep it (said in a sentence). */
gboolean pla_measure_begin(PlaMeasure *self, const char *kind);
gboolean pla_measure_is_active(PlaMeasure *self);

G_END_DECLS
