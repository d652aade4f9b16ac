/* Meshes in which some vertices follow others (PLA_MESH_BOUND_VERTS), for solvers. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "sim/fem/loads.h"

/* The bindings that the fields of @mesh tell of; *out is NULL without any, else
 * pla_bindings_free(). PLA_ERR_USAGE when the fields do not fit together. */
PlaStatus pla_mesh_bindings_new(const PlaMesh *mesh, PlaFemBindings **out, PlaError *err);
