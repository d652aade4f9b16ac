/* A k-d tree over points: the nearest ones of any place.
 *
 * Read-only once made; any thread may ask. */
#pragma once

#include "anatomy/base/status.h"

typedef struct PlaPointTree PlaPointTree;

/* Copies @n >= 1 finite points (n x 3, any unit). */
PlaStatus pla_point_tree_new(int n, const double *pos, PlaPointTree **out, PlaError *err);
void pla_point_tree_free(PlaPointTree *self); /* NULL is fine */

/* The up to @k nearest points, nearest first, ties by number; returns how many there are.
 * @index and @distance2 (squared distances) have room for k. */
int pla_point_tree_nearest(const PlaPointTree *self, const double pos[3], int k, int *index,
                           double *distance2);
