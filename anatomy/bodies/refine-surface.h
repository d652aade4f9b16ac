/* Surfaces with shorter edges, of the same shape. */
#pragma once

#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

/* Halves edges longer than @longest allows, m, at a corner or in the middle of a triangle that they
 * belong to, until none is left.  Replaces *surface (triangles only, without fields) and *tag, a
 * byte for each triangle, which new ones inherit. */
PlaStatus pla_surface_halve_edges(double (*longest)(const double pos[3], const void *data),
                                  const void *data, PlaMesh **surface, unsigned char **tag,
                                  PlaError *err);
