/* A cut mesh as named arrays, and back: what is stored can be cut further as if it had never left
 * memory. */
#pragma once

#include "anatomy/base/named-arrays.h"
#include "sim/cut/cut-mesh.h"

/* Appends arrays whose names begin with "cut/". */
PlaStatus pla_cut_mesh_save(const PlaCutMesh *self, PlaNamedArrays *out, PlaError *err);
/* PLA_ERR_FORMAT when they are not those of a cut mesh. */
PlaStatus pla_cut_mesh_load(const PlaNamedArrays *arrays, PlaCutMesh **out, PlaError *err);
