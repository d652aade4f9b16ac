/* Simplices (triangles or tets) against the tets of a lattice: which meet, exactly. */
#pragma once

#include "anatomy/embed/lattice-embed.h"

/* Whether the relative interiors of two convex hulls meet.  Exact; the points together must not lie
 * in one plane, and each hull's points must be its corners.  At most 8 points in all. */
bool pla_hulls_meet(const double *const *a, int n_a, const double *const *b, int n_b);

/* A simplex in a tet of the lattice. */
typedef struct {
  int tet; /* number in the embedding */
  int simplex;
  int piece; /* that it belongs to, within the tet; filled by the source */
} PlaSoupPair;

typedef struct {
  int per; /* vertices a simplex: 3 or 4 */
  int n_simplices;
  const int *vert;   /* n_simplices x per */
  const double *pos; /* m */
  size_t n_pairs;
  PlaSoupPair *pair; /* by tet, then by simplex */
  size_t *first;     /* of each tet (n_tets + 1) */
} PlaSoup;

/* Finds all pairs and makes them the tets of @self (tet, n_tets and map), in the order of their
 * roots.  Needs self->frame.  Roots that @also names (ascending, may be empty) become tets too. */
PlaStatus pla_soup_init(PlaSoup *soup, PlaLatticeEmbedding *self, const int64_t *also,
                        size_t n_also, PlaProgress *progress, PlaError *err);
void pla_soup_clear(PlaSoup *soup);
/* The pair of @simplex in tet @tet; NULL when they do not meet. */
PlaSoupPair *pla_soup_find(const PlaSoup *soup, int tet, int simplex);

/* Corner @c of lattice tet @tet. */
void pla_lattice_corner(const PlaLatticeEmbedding *self, int tet, int c, double pos[3]);

/* Planes of a tet's faces: unit normals inwards and offsets, so that dot(plane, x) >= plane[3]
 * inside. */
void pla_tet_planes(const double corner[4][3], double plane[4][4]);

/* Neighbours across the sides of simplices: across[per * s + k] is the simplex on the other side of
 * what is opposite to vertex k, -1 without one.  PLA_ERR_GEOMETRY when a side has more than two. */
PlaStatus pla_soup_neighbours(const PlaSoup *soup, int **across, PlaError *err);

/* Ties the vertices of the soup to elements: each to that of its own simplices' pieces which it is
 * deepest in.  @n_verts vertices; those of no simplex get element 0 and weights 0. */
PlaStatus pla_soup_embed(const PlaSoup *soup, const PlaLatticeEmbedding *self, int n_verts,
                         PlaEmbedding *out, PlaError *err);
