/* The pieces of a mesh of tets. */
#pragma once

#include "anatomy/mesh/mesh.h"

/* Keeps the largest piece of tets joined by faces, every other that has at least @share of its tets
 * and
 * @least_tets of them, and the vertices they use: what hangs on by an edge or a vertex could turn
 * about it freely.  *mesh is replaced where there is anything to leave out; of its fields the
 * regions stay.
 * @n_left_out may be NULL. */
PlaStatus pla_mesh_keep_pieces(PlaMesh **mesh, double share, int least_tets, int *n_left_out,
                               PlaError *err);
