/* The inside of a finite-element model, for the solvers of this folder and their tests. */
#pragma once

#include "sim/fem/model.h"

#include <stddef.h>

/* Elements around each vertex, in stored order: gathers are free of races and of thread counts. */
typedef struct {
  int n_verts;
  int *start;  /* n_verts + 1 */
  int *corner; /* corner index: PLA per-element corners of tets first, then of hexes */
} PlaIncidence;

/* Regions over which the mixed formulation averages the change of volume: the tets of one material
 * around some vertices, each tet in one of them, or one hex.  J = sum_c w_c J_c / W; energy
 * sum of W k u(J) over the tissues in it, u(J) = (ln J)^2 / 2 or (J - 1)^2 / 2. */
typedef struct {
  int n;
  int *cell_start, *cell; /* cells of each patch */
  int *vert_start, *vert; /* vertices of each patch, ascending */
  double *volume;         /* W, m^3: of the tissue before its prestretch (n) */
  double *modulus_log;    /* W k of logarithmic tissues, J (n) */
  double *modulus_square; /* W k of the others, J (n) */
  int *of_cell;           /* patches of tet t: 4 t .. 4 t + 3; of hex h: 4 n_tets + h */
  double *modulus;        /* k of each cell, Pa (n_cells) */
  double *barrier;        /* of each tet against turning inside out, Pa; NULL: none (n_tets) */
} PlaFemPatches;

/* Averages of F around edges, in the mixed formulation of tets (sim/fem/domains.c). */
typedef struct {
  int n;
  int *tet_start, *tet;     /* tets of each domain */
  int *vert_start, *vert;   /* vertices of each domain, ascending */
  double *grad;             /* averaged shape gradients, 1/m (3 per entry of vert) */
  double *volume;           /* m^3 (n) */
  int *entry_start, *entry; /* entries of vert by vertex (n_verts + 1) */
} PlaFemDomains;

struct PlaFemModel {
  bool shares; /* everything but the activations is another's */
  int n_verts, n_tets, n_hexes;
  double *rest;       /* m (n_verts x 3) */
  double *mass;       /* kg (n_verts) */
  int *tet;           /* vertex ids (n_tets x 4) */
  double *tet_dm_inv; /* inverse edge matrix, 1/m (9 x n_tets: row c holds entry c of every tet) */
  double *tet_volume; /* m^3 (n_tets) */
  int *hex;           /* vertex ids (n_hexes x 8) */
  double *hex_grad;   /* shape gradients at the 8 points, 1/m (n_hexes x 8 points x 8 nodes x 3) */
  double *hex_weight; /* volume of each point, m^3 (n_hexes x 8) */
  int *cell_material; /* into material[] (n_tets + n_hexes) */
  int n_materials;
  PlaFemMaterial *material;
  double *constants; /* as elements use them: less than the material's where patches resist
                        change of volume (n_materials x PLA_MAX_CONSTANTS) */
  /* what cells have of their own, as in PlaFemCells; NULL: none has */
  int *own;
  double *own_constants;
  double *given_stretch;  /* prestretch as given */
  double *prestretch;     /* that, and of the muscles that contract by it (n_cells x 9) */
  double *prestretch_det; /* its determinant (n_cells) */
  int *fibre_start;
  double *fibre, *overlap, *active; /* active: overlap times activation */
  int *fibre_muscle;
  int n_muscles;
  double *shape;          /* n_muscles x 2 */
  PlaFemPatches *patches; /* of the mixed formulation; NULL: standard */
  PlaFemDomains *domains; /* of its tets, which then have no energy of their own */
  PlaFormulation formulation;
  int *colour;            /* pla_fem_model_set_colours(), or NULL (n_verts) */
  PlaIncidence incidence; /* corners: 4 t + a of tet t, then 4 n_tets + 8 h + a of hex h */
};

/* Number of vertices of cell @c, and its vertex ids. */
static inline int
pla_fem_cell_verts(const PlaFemModel *model, int c, const int **verts)
{
  if (c < model->n_tets) {
    *verts = model->tet + 4 * (size_t)c;
    return 4;
  }
  *verts = model->hex + 8 * (size_t)(c - model->n_tets);
  return 8;
}

/* Material and constants of cell @c. */
static inline const PlaMaterial *
pla_fem_cell_law(const PlaFemModel *model, int c, const double **constants)
{
  const int m = model->cell_material[c];
  *constants = model->own && model->own[c] >= 0
                   ? model->own_constants + (size_t)PLA_MAX_CONSTANTS * (size_t)model->own[c]
                   : model->constants + (size_t)PLA_MAX_CONSTANTS * (size_t)m;
  return model->material[m].material;
}

/* Fibres and prestretch of cell @c. */
static inline void
pla_fem_cell_point(const PlaFemModel *model, int c, PlaPoint *point)
{
  if (model->fibre_start) {
    const size_t first = (size_t)model->fibre_start[c];
    point->n_fibres = model->fibre_start[c + 1] - model->fibre_start[c];
    point->fibre = model->fibre + 3 * first;
    point->active = model->active + first;
    point->passive = model->overlap + first;
  }
  if (model->prestretch)
    point->prestretch = model->prestretch + 9 * (size_t)c;
}

/* Whether cells have more than their material. */
static inline bool
pla_fem_has_cells(const PlaFemModel *model)
{
  return model->own || model->fibre_start || model->prestretch;
}

/* Masses from volumes, anew. */
void pla_fem_lump_masses(PlaFemModel *model);

/* Pieces by shared vertices: piece[v], or -1 for unused vertices; returns their number. */
int pla_fem_label_pieces(const PlaFemModel *model, int *piece);

/* F of tet @t at positions @pos. */
void pla_fem_tet_gradient(const PlaFemModel *model, int t, const double *pos, double f[9]);
/* Gradients of the four shape functions of tet @t, 1/m. */
void pla_fem_tet_shape(const PlaFemModel *model, int t, double grad[4][3]);

/* F at point @q of hex @h. */
void pla_fem_hex_gradient(const PlaFemModel *model, int h, int q, const double *pos, double f[9]);

/* The stiffness of one cell at @pos: k x k blocks of 3x3 in a dense (3k x 3k) row-major matrix,
 * N/m.  @project: positive semidefinite.  @pressure: pla_fem_patches_pressure(), or NULL where
 * there are no patches. */
void pla_fem_cell_stiffness(const PlaFemModel *model, int c, const double *pos,
                            const double *pressure, bool project, double *stiffness);

/* The mixed formulation (sim/fem/patches.c).  Splits the model's constants between elements and
 * patches; PLA_ERR_USAGE names a material that has no volume term to split. */
PlaStatus pla_fem_patches_new(PlaFemModel *model, PlaError *err);
void pla_fem_patches_free(PlaFemPatches *patches); /* NULL is fine */
void pla_fem_patches_update(PlaFemModel *model);   /* after a change of prestretch */
/* The energy of the patches, J; NaN when memory is short. */
double pla_fem_patches_energy(const PlaFemModel *model, const double *pos);
/* What P gains by them: pressure[c] cof(F) in every point of cell c, Pa (n_cells).  @scratch:
 * n_patches. */
void pla_fem_patches_pressure(const PlaFemModel *model, const double *pos, double *scratch,
                              double *pressure);
/* The second derivative in J of what keeps tet @t from turning inside out, per volume, Pa. */
double pla_fem_patches_barrier(const PlaFemPatches *self, int t, double j);
/* dJ/dx of patch @p (3 per vertex of it, 1/m); returns the second derivative of its energy in J, or
 * 0 where that is negative and @project. */
double pla_fem_patch_slope(const PlaFemModel *model, int p, const double *pos, bool project,
                           double *slope);

/* A domain of nothing but neo-Hookean tets or plain muscle without its fibres, no stretch below the
 * floor: it needs no SVD.  With G = F^-T, P = mu F + (lambda ln J - mu) G, and with c_a = G g_a,
 * K_ab = mu g_a.g_b 1 + lambda c_a c_b^T + (mu - lambda ln J) c_b c_a^T. */
typedef struct {
  double mu, lambda; /* times volume, J */
  double f[9], inverse[9] /* G */, log_det;
} PlaFemSimpleDomain;
/* False where domain @d at @pos is none. */
bool pla_fem_domain_simple(const PlaFemModel *model, int d, const double *pos,
                           PlaFemSimpleDomain *out);

PlaStatus pla_fem_domains_new(const PlaFemModel *model, PlaFemDomains **out, PlaError *err);
void pla_fem_domains_free(PlaFemDomains *self); /* NULL is fine */
/* J; NaN when memory is short. */
double pla_fem_domains_energy(const PlaFemModel *model, const double *pos);
PlaStatus pla_fem_domains_add_forces(const PlaFemModel *model, const double *pos, double *force,
                                     PlaError *err);
/* The volume of domain @d times its tangent, J: K_ab = sum g_a H g_b. */
void pla_fem_domain_tangent(const PlaFemModel *model, int d, const double *pos, bool project,
                            double h[81]);
