/* Node colours: vertices of one colour share no element and no other link, so that a solver may
 * move all of them at once (Chen 2024, PBNG, 4.3).
 *
 * Greedy in natural order: a vertex takes the smallest colour that none of its neighbours has.  A
 * model that was given colours keeps them. */
#pragma once

#include "sim/fem/model.h"

/* Sets of vertices that must differ in colour besides those of the elements: set k holds
 * vert[start[k]] ... vert[start[k + 1] - 1]. */
typedef struct {
  int n;
  const int *start; /* n + 1 */
  const int *vert;
} PlaVertSets;

typedef struct {
  int n_verts, n_colours;
  int *colour; /* per vertex; -1 where no element uses it */
} PlaColouring;

PlaStatus pla_colouring_init(PlaColouring *self, const PlaFemModel *model, PlaError *err);
void pla_colouring_clear(PlaColouring *self);

/* Makes @self, a colouring of the elements, respect @sets too: only their vertices are
 * reconsidered, in natural order, and each keeps its colour where that is still legal. */
PlaStatus pla_colouring_refine(PlaColouring *self, const PlaFemModel *model,
                               const PlaVertSets *sets, PlaError *err);
