/* Surfaces with shorter edges, of the same shape. */
#pragma once

#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

/* A copy of @from (triangles only) without edges longer than @longest allows, m, at a corner or in
 * the middle of a triangle that they belong to: they are halved until none is left.  (*origin)[t]
 * is the triangle of @from that triangle t is part of.  Caller frees both, also when it fails. */
PlaStatus pla_surface_halve_edges(const PlaMesh *from,
                                  double (*longest)(const double pos[3], const void *data),
                                  const void *data, PlaMesh **out, int **origin, PlaError *err);
