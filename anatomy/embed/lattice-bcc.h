/* Tetrahedra of the body-centred cubic lattice and their red refinement.
 *
 * Coordinates are whole numbers.  At level l the nodes of the lattice are the points whose three
 * coordinates are all even or all odd multiples of s = 2^(depth - l); cubes have side 2 s.  A tet
 * joins two long edges (length 2 s, one of even, one of odd nodes, at right angles) by four short
 * ones (sqrt(3) s); its dihedral angles are 60 and 90 degrees.  Cutting it through the middles of
 * its edges gives eight tets of level l + 1, all alike (Molino, Bridson, Teran and Fedkiw 2003).
 *
 * Corners 0-1 and 2-3 are the long edges, and the order is positive. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Sums of four coordinates fit 20 bits, so that three of them and the level make a key. */
enum { PLA_BCC_MAX_COORD = 250000, PLA_BCC_MAX_DEPTH = 10, PLA_BCC_MAX_GRID = 6 };

typedef struct {
  int x[4][3];
  int level;
} PlaBccTet;

/* Tets of level 0 are numbered 12 * (i + n[0] * (j + n[1] * k)) + 4 * axis + turn: those around the
 * even edge that leaves node (i, j, k) along @axis. */
PlaBccTet pla_bcc_root(const int n[3], int depth, int64_t number);
/* The root whose closure holds the point @x (in coordinates); -1 outside of all. */
int64_t pla_bcc_root_at(const int n[3], int depth, const double x[3]);

/* The eight parts; 0-3 keep corner c of the parent. */
void pla_bcc_children(const PlaBccTet *tet, PlaBccTet child[8]);
/* The part that @x is deepest in. */
PlaBccTet pla_bcc_child_at(const PlaBccTet *tet, const double x[3]);
/* The tet of the same level on the other side of the face opposite to @corner. */
PlaBccTet pla_bcc_across(const PlaBccTet *tet, int corner);

/* Its centre and level, which tell a tet from all others; never 0. */
uint64_t pla_bcc_key(const PlaBccTet *tet);
/* Barycentric weights of @x, any point; sum 1. */
void pla_bcc_weights(const PlaBccTet *tet, const double x[3], double weight[4]);

/* Places that divide a tet evenly: all corner weights that are multiples of 1 / 2^k.  The tets,
 * edges and faces of its k-fold refinement in terms of these. */
typedef struct {
  int k, n;           /* 2^k = n parts an edge */
  int n_nodes;        /* (n + 1) (n + 2) (n + 3) / 6 */
  int16_t (*node)[4]; /* corner weights times n */
  int n_edges;
  int (*edge)[2];
  int n_tets; /* 8^k */
  int (*tet)[4];
  int n_face;   /* nodes on a face */
  int *face[4]; /* those on the face opposite to each corner */
} PlaBccGrid;

/* NULL when memory is short; 0 <= k <= PLA_BCC_MAX_GRID. */
PlaBccGrid *pla_bcc_grid_new(int k);
void pla_bcc_grid_free(PlaBccGrid *self); /* NULL is fine */
/* The node of weights @w (times n). */
int pla_bcc_grid_node(const PlaBccGrid *self, const int w[4]);

/* A map from tets to numbers. */
typedef struct {
  uint64_t mask;
  uint64_t *key; /* 0: empty */
  int *value;
} PlaBccMap;

bool pla_bcc_map_init(PlaBccMap *self, uint64_t n); /* room for n; false when memory is short */
void pla_bcc_map_clear(PlaBccMap *self);
void pla_bcc_map_set(PlaBccMap *self, const PlaBccTet *tet, int value);
int pla_bcc_map_get(const PlaBccMap *self, const PlaBccTet *tet); /* INT_MIN: not there */
