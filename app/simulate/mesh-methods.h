/* Every meshing method, for the table. */
#pragma once

#include "app/simulate/mesh-method.h"

extern const PlaMeshMethod pla_mesh_method_carved;
extern const PlaMeshMethod pla_mesh_method_embed;
extern const PlaMeshMethod pla_mesh_method_lattice;
extern const PlaMeshMethod pla_mesh_method_tets;
