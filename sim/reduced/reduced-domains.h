/* Overlapping domains of a tetrahedral body (Luo 2020, ch. 3): every tet belongs to the segment of
 * the nearest seed, and the domain of a seed is its segment with all segments that share a face
 * with it. */
#pragma once

#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

#include <stdbool.h>

typedef struct {
  int n; /* seeds, segments, domains */
  int n_tets;
  int *seed;            /* vertex ids (n) */
  int *segment;         /* of each tet (n_tets) */
  unsigned char *joins; /* 1: the two segments share a face, or are the same (n x n) */
} PlaDomains;

/* Floods from the seeds, by distance through the body.  PLA_ERR_GEOMETRY when a part of the body is
 * not reached, PLA_ERR_USAGE when two seeds are the same. */
PlaStatus pla_domains_new(const PlaTetMesh *mesh, const int *seed, int n, PlaDomains **out,
                          PlaError *err);
void pla_domains_free(PlaDomains *self); /* NULL is fine */

/* Whether tet @t is in the domain of seed @i. */
static inline bool
pla_domains_has(const PlaDomains *self, int i, int t)
{
  return self->joins[i * self->n + self->segment[t]];
}

/* @n seeds spread evenly: each as far as can be from those before, then Lloyd's iterations. */
PlaStatus pla_domains_spread(const PlaTetMesh *mesh, int n, int *seed, PlaError *err);
