/* The linear systems of a model: which coordinates are free, the sparse stiffness, its factor. */
#pragma once

#include "sim/fem/model-private.h"
#include "sim/linear/cholesky.h"

typedef struct {
  const PlaFemModel *model; /* borrowed */
  int n_blocks;             /* vertices with at least one free coordinate */
  int *block_of;            /* vertex -> block, or -1 (n_verts) */
  int *vert_of;             /* block -> vertex */
  unsigned char *fixed;     /* 1 where a coordinate of a block is prescribed (n_blocks x 3) */
  PlaBlockMatrix matrix;
  int *slot;                /* where cell c's block (a, b) goes: slot[slot_start[c] + a k + b], or -1 */
  size_t *slot_start;       /* n_cells + 1 */
  PlaCholesky *factor;
} PlaFemSystem;

/* @fixed: n_verts x 3.  Orders and analyses the matrix. */
PlaStatus pla_fem_system_init(PlaFemSystem *self, const PlaFemModel *model,
                              const unsigned char *fixed, PlaError *err);
void pla_fem_system_clear(PlaFemSystem *self);

/* matrix = stiffness at @pos + that of the springs (NULL: none) + @mass_factor times the lumped mass;
 * prescribed coordinates have unit rows scaled to the matrix. */
void pla_fem_system_assemble(PlaFemSystem *self, const double *pos, bool project,
                             double mass_factor, const PlaFemSprings *springs);

/* Between vertex arrays (n_verts x 3) and block arrays (n_blocks x 3); prescribed coordinates read
 * as zero. */
void pla_fem_system_gather(const PlaFemSystem *self, const double *verts, double *blocks);
void pla_fem_system_add(const PlaFemSystem *self, const double *blocks, double factor,
                        double *verts);
