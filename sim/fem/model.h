/* The finite-element model of a body: linear tets and trilinear hexes, materials, masses, loads and
 * constraints.  Immutable once finished; states and scratch are separate, so that several solves
 * may share a model.
 *
 * Positions interleave xyz.  The unknowns are the vertex positions; a constrained coordinate has a
 * prescribed value.  Everything is in SI units. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "sim/fem/loads.h"
#include "sim/material/material.h"

typedef struct PlaFemModel PlaFemModel;

/* Which elements a material covers, by per-cell index into @materials. */
typedef struct {
  const PlaMaterial *material;
  double constants[PLA_MAX_CONSTANTS];
  double density; /* kg/m^3 */
} PlaFemMaterial;

typedef enum {
  PLA_FORMULATION_STANDARD = 0, /* plain linear tets */
  PLA_FORMULATION_MIXED,        /* averaged strains and volumes: no locking near nu = 0.5 */
  PLA_FORMULATION_AVERAGED,     /* mixed; of materials that have no volume term to split, the
                                   strains alone are averaged */
} PlaFormulation;

/* Builds the model of the tets and hexes of @mesh (copied).  @cell_material: for each tet, then
 * each hex, an index into @materials.  PLA_ERR_GEOMETRY names an element that is inverted or flat
 * at rest. */
PlaStatus pla_fem_model_new(const PlaMesh *mesh, const PlaFemMaterial *materials, int n_materials,
                            const int *cell_material, PlaFormulation formulation, PlaFemModel **out,
                            PlaError *err);
void pla_fem_model_free(PlaFemModel *model); /* NULL is fine */

/* What differs from cell to cell beyond the material.  Arrays are borrowed, cells are tets, then
 * hexes; NULL: no cell has it. */
typedef struct {
  const int *own;          /* row of @constants that replaces the material's, or -1 (n_cells) */
  const double *constants; /* as prepared by the cell's material (n_own x PLA_MAX_CONSTANTS) */
  int n_own;
  const double *prestretch; /* PlaPoint.prestretch, row-major (n_cells x 9) */
  const int *fibre_start;   /* fibres of cell c: fibre_start[c] up to fibre_start[c + 1]
                               (n_cells + 1) */
  const double *fibre;      /* unit directions at rest (n_fibres x 3) */
  const double *overlap;    /* share of the cell that the fibre's muscle fills, 0..1; NULL: 1 */
  const int *muscle;        /* muscle of each fibre; NULL: all 0 (n_fibres) */
  int n_muscles;
  const double *shape;  /* per muscle: gamma and alpha of pla_prestretch_activation(), for those
                           that contract by a change of rest shape; gamma 0: by their fibres'
                           stress; NULL: all by stress (n_muscles x 2) */
  const double *filled; /* share of the cell that is material, in (0, 1]: energy and mass are
                           those of that share (n_cells) */
} PlaFemCells;

/* Copies @cells; once, before the first solve.  Muscles are at rest.  PLA_ERR_USAGE names a cell
 * whose fibre, overlap or prestretch makes no sense. */
PlaStatus pla_fem_model_set_cells(PlaFemModel *model, const PlaFemCells *cells, PlaError *err);

/* Colours that sweeps go by from now on (n_verts, copied): vertices of one element differ.  Without
 * them each solver finds its own.  A body that is cut hands them on: cuts repeat elements, and
 * where a copy of a vertex keeps the colour, the vertices of every element still differ as those do
 * that it is a copy of. */
PlaStatus pla_fem_model_set_colours(PlaFemModel *model, const int *colour, PlaError *err);

/* How strongly each muscle contracts, 0..1 (from 0 up for those that change their rest shape); not
 * while a solve runs. */
void pla_fem_model_set_activations(PlaFemModel *model, const double *activation);
int pla_fem_model_n_muscles(const PlaFemModel *model);
/* The same body with activations of its own, at rest; the rest is borrowed from @model, so that
 * several threads can each contract it in their way.  Not for muscles that change their rest shape.
 */
PlaStatus pla_fem_model_share(const PlaFemModel *model, PlaFemModel **out, PlaError *err);

int pla_fem_model_n_verts(const PlaFemModel *model);
const double *pla_fem_model_rest(const PlaFemModel *model); /* m (n_verts x 3) */
const double *pla_fem_model_mass(const PlaFemModel *model); /* lumped, kg (n_verts) */

/* 2 mu + lambda at rest of the stiffest material, Pa: the modulus of a layer that cannot spread. */
double pla_fem_model_modulus(const PlaFemModel *model);

/* Total elastic energy, J, at positions @pos. */
double pla_fem_energy(const PlaFemModel *model, const double *pos);
/* Elastic forces, N: -dE/dx (n_verts x 3). */
PlaStatus pla_fem_forces(const PlaFemModel *model, const double *pos, double *force, PlaError *err);
/* Adds to each of @n fields of forces what each field of motions changes, to first order: -K(pos)
 * motion (n fields, n_verts x 3 each). */
PlaStatus pla_fem_add_pull(const PlaFemModel *model, const double *pos, int n,
                           double *const *motion, double *const *force, PlaError *err);
/* Elements with det F <= 0, the smallest det F and the element that has it (either may be NULL). */
int pla_fem_inverted(const PlaFemModel *model, const double *pos, double *min_jacobian, int *worst);

/* What results show of one cell (of its centre, for hexes). */
typedef struct {
  double jacobian;     /* det F */
  double stretch[3];   /* principal, largest first */
  double strain[9];    /* Green-Lagrange, (F^T F - 1) / 2, row-major */
  double cauchy_pa[9]; /* true stress, row-major */
  double von_mises_pa; /* of it */
} PlaFemCellState;
/* Without what the averages of the mixed formulation add to the mean of the stress. */
void pla_fem_cell_state(const PlaFemModel *model, int c, const double *pos, PlaFemCellState *out);
/* All of all cells (n_cells). */
PlaStatus pla_fem_cell_states(const PlaFemModel *model, const double *pos, PlaFemCellState *out,
                              PlaError *err);

/* PLA_ERR_GEOMETRY when some connected piece can still move or turn as a whole although @fixed
 * (n_verts x 3) holds some coordinates; the sentence tells which piece, and how it can move. */
PlaStatus pla_fem_check_held(const PlaFemModel *model, const unsigned char *fixed, PlaError *err);
