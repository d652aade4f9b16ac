/* The linear systems of a model: which coordinates are free, the sparse stiffness, its factor. */
#pragma once

#include "sim/fem/colouring.h"
#include "sim/fem/model-data.h"
#include "sim/linear/cholesky.h"
#include "sim/solve/solve.h"

/* Sets of vertices by the block rows that they touch: the sets at block row r, and the row's place
 * in each, are entry[2 k] and entry[2 k + 1] for k from start[r] up to start[r + 1]. */
typedef struct {
  int *start, *entry;
  unsigned char *bound; /* 1 where a set has bound vertices */
} PlaFemRows;

struct PlaFemSystem {
  const PlaFemModel *model;       /* borrowed */
  int n_blocks;                   /* vertices with at least one free coordinate */
  int *block_of;                  /* vertex -> block, or -1 (n_verts) */
  int *vert_of;                   /* block -> vertex */
  unsigned char *fixed;           /* 1 where a coordinate of a block is prescribed (n_blocks x 3) */
  const PlaFemBindings *bindings; /* borrowed, or NULL */
  int *bound; /* vertex -> its binding, or -1 (n_verts); NULL without bindings */
  PlaBlockMatrix matrix;
  int *slot;          /* where cell c's block (a, b) goes: slot[slot_start[c] + a k + b], or -1 */
  size_t *slot_start; /* n_cells + 1 */
  double *stiffness;  /* of a batch of cells */
  size_t local_size;  /* numbers for each of them */
  int *cursor;        /* of each row: its first corner that is not added yet (n_blocks) */
  PlaFemRows patch_rows, domain_rows; /* mixed formulation */
  double *pressure;                   /* n_cells */
  double *slope;                      /* of each patch: 3 for each of its vertices */
  double *curvature;                  /* n_patches */
  double *tangent;                    /* n_domains x 81, or of simple ones the first 12: G, mu,
                                         lambda and mu - lambda ln J */
  unsigned char *simple;              /* 1 where a domain is simple (n_domains) */
  PlaCholesky *factor;                /* NULL before its analysis */
};

/* Orders and analyses the matrix of the free coordinates, with room for the springs of @conditions,
 * whose bindings are borrowed, and for couplings within each of @links (NULL: none). */
PlaStatus pla_fem_system_init(PlaFemSystem *self, const PlaFemModel *model,
                              const PlaFemConditions *conditions, const PlaVertSets *links,
                              PlaError *err);
/* The same in the given order, or in a new one that replaces it (NULL: the system's own). */
PlaStatus pla_fem_system_init_ordered(PlaFemSystem *self, const PlaFemModel *model,
                                      const PlaFemConditions *conditions, const PlaVertSets *links,
                                      PlaFemOrder *order, PlaError *err);
/* Without a factor, which pla_fem_system_analyse() adds. */
PlaStatus pla_fem_system_init_bare(PlaFemSystem *self, const PlaFemModel *model,
                                   const PlaFemConditions *conditions, const PlaVertSets *links,
                                   PlaError *err);
PlaStatus pla_fem_system_analyse(PlaFemSystem *self, PlaFemOrder *order, PlaError *err);
void pla_fem_system_clear(PlaFemSystem *self);

/* matrix = stiffness of the elements at @pos + @mass_factor times the lumped mass. */
void pla_fem_system_assemble(PlaFemSystem *self, const double *pos, bool project,
                             double mass_factor);
/* Adds @factor times the lumped mass. */
void pla_fem_system_add_mass(PlaFemSystem *self, double factor);
/* Adds 3x3 blocks between @k vertices, (3k x 3k) row-major; all pairs are in the pattern.  What
 * concerns a bound vertex goes to its parents. */
void pla_fem_system_add_local(PlaFemSystem *self, int k, const int *verts, const double *local);
/* Adds @factor times another matrix of the same model, whose pattern is within this one's. */
void pla_fem_system_add_matrix(PlaFemSystem *self, double factor, const PlaFemSystem *other);
/* Whether every pair of @k vertices has its block. */
bool pla_fem_system_has(const PlaFemSystem *self, int k, const int *verts);
/* Ends assembly: unit rows, scaled to the matrix, for prescribed coordinates. */
void pla_fem_system_constrain(PlaFemSystem *self);

/* Between vertex arrays (n_verts x 3) and block arrays (n_blocks x 3); prescribed coordinates read
 * as zero. */
void pla_fem_system_gather(const PlaFemSystem *self, const double *verts, double *blocks);
void pla_fem_system_add(const PlaFemSystem *self, const double *blocks, double factor,
                        double *verts);
