/* Input that could be computed with, and would mean nothing. */
#pragma once

#include "anatomy/mesh/mesh.h"

/* PLA_ERR_GEOMETRY with the elements' numbers where one names a vertex twice or two name the same
 * vertices. */
PlaStatus pla_mesh_check_elements(const PlaMesh *mesh, PlaError *err);
/* PLA_ERR_GEOMETRY where a closed surface encloses nothing: all of it lies in one plane, or (with
 * @volume) its two sides lie on each other. */
PlaStatus pla_mesh_check_encloses(const PlaMesh *surface, bool volume, PlaError *err);
