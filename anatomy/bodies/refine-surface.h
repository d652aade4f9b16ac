/* Surfaces with shorter edges, of the same shape. */
#pragma once

#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

/* Halves edges longer than @edge_m until none is left.  Replaces *surface (triangles only, without
 * fields) and *tag, a byte for each triangle, which new ones inherit. */
PlaStatus pla_surface_halve_edges(double edge_m, PlaMesh **surface, unsigned char **tag,
                                  PlaError *err);
