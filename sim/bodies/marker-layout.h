/* Where markers are expected on the built-in bodies. */
#pragma once

#include "sim/fit/markers.h"

/* 79 places on the skin of the head phantom's face, most of them around the mouth; or 22 on the
 * tongue's back.  @mesh: of that body. */
PlaStatus pla_marker_layout(const char *body, const PlaMesh *mesh, PlaMarkerSet *out,
                            PlaError *err);
