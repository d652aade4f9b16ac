/* What the steps from a lattice to conforming tets share. */
#pragma once

#include "anatomy/mesh/tri-tree.h"
#include "anatomy/mesher/mesher-lattice.h"
#include "anatomy/mesher/tets.h"
#include "anatomy/mesher/tissues.h"
#include "anatomy/mesher/vert-table.h"

typedef struct {
  int a, b; /* a < b */
  bool is_long;
  double t; /* from a to b */
} PlaCut;

/* of a lattice vertex: onto the body's surface, and all cuts of its edges are gone; onto an
 * interface between tissues, and those with the outside are not, or its surface would sink to that
 * vertex where a layer is thinner than a cell */
enum { PLA_MOVED = 1, PLA_MOVED_INSIDE };

typedef struct {
  const PlaTissues *tissues;
  PlaLattice *lattice;
  int n_cuts, room_cuts;
  PlaCut *cut;
  PlaVertTable edges; /* (a, b, -1) -> cut */
  uint8_t *moved;     /* per lattice vertex: 0 or PLA_MOVED... */
  int *second; /* per lattice vertex: the cut that it moves onto if not where it is; -1: none */
  PlaVertTable faces; /* (a, b, c) -> point of three tissues */

  /* the result; points are lattice vertices, then cuts, then all others */
  int n_points, room_points;
  double *pos_mm; /* n_points x 3 */
  int n_tets, room_tets;
  int *tet, *region;       /* tissues */
  uint8_t *pinned;         /* per point: not to be moved any more; NULL: none is (n_points) */
  const PlaTriTree *sharp; /* of a surface whose sharp edges the outer faces follow; or NULL */
  bool short_of_memory;
} PlaCutter;

typedef struct {
  int tet, v[3], apex; /* counter-clockwise seen from outside; the tet's fourth vertex */
} PlaFacet;

/* ---- cut.c ---- */

/* The lattice is borrowed; its vertices are the first points of the result. */
PlaStatus pla_cutter_init(PlaCutter *c, const PlaTissues *tissues, PlaLattice *lattice,
                          PlaError *err);
void pla_cutter_clear(PlaCutter *c);
/* Cuts the whole lattice. */
PlaStatus pla_cutter_run(PlaCutter *c, PlaProgress *progress, PlaError *err);

/* Short memory is noted in the cutter. */
int pla_cutter_add_point(PlaCutter *c, const double x[3]);
void pla_cutter_add_tet(PlaCutter *c, const int v[4], bool turned, int tissue);
void pla_cutter_mean_point(const PlaCutter *c, const int *point, int n, double x[3]);
/* Cosines of the smallest and of the largest dihedral angle; false: it is not positive. */
bool pla_cutter_angles(const PlaCutter *c, const int v[4], double *most_cos, double *least_cos);
/* Positive, with all dihedral angles between about 12 and 160 degrees. */
bool pla_cutter_is_shapely(const PlaCutter *c, const int v[4]);
/* Whether a point was put on an interface; all others are vertices of the lattice in their place.
 */
static inline bool
pla_cutter_on_interface(const PlaCutter *c, int point)
{
  return point >= c->lattice->n_verts || c->moved[point];
}

/* ---- outer.c ---- */

/* Faces of one tet alone, in the order of tets; *out is freed by the caller. */
PlaStatus pla_cutter_outer_facets(const PlaCutter *c, PlaFacet **out, int *n_out, PlaError *err);
/* Of a single tissue: outer faces far from the surface get a vertex on it. */
PlaStatus pla_cutter_fit_facets(PlaCutter *c, PlaError *err);
/* Distances of the outer faces from the level set. */
PlaStatus pla_cutter_measure(const PlaCutter *c, PlaTetReport *r, PlaError *err);
/* Middles of outer faces further than @limit_mm from the level set (n x 3, mm; caller frees), and
 * how many outer faces there are. */
PlaStatus pla_cutter_strays(const PlaCutter *c, double limit_mm, double **pos_mm, int *n,
                            int *n_facets, PlaError *err);

/* ---- mesher-snap.c ---- */

/* Of a single tissue: moves vertices of outer faces that are far from the level set towards it, as
 * far as the shape of their tets allows. */
PlaStatus pla_cutter_snap(PlaCutter *c, PlaError *err);
/* What @n_items list @per_item times in @vert, @stride apart, by vertex; both are freed by the
 * caller, also when memory is short. */
bool pla_cutter_list_around(int n_points, const int *vert, size_t stride, int n_items, int per_item,
                            int **first, int **of);

/* ---- sharp.c ---- */

/* Of a single tissue inside @surface (m): its sharp edges, which the level set rounds, become edges
 * of outer faces as far as the shape of tets allows; vertices there are pinned. */
PlaStatus pla_cutter_sharpen(PlaCutter *c, const PlaTriMesh *surface, const PlaTriTree *tree,
                             PlaError *err);

/* ---- polish.c ---- */

/* Moves vertices of badly shaped tets by a little so that the worst around each gets better. */
PlaStatus pla_cutter_polish(PlaCutter *c, PlaError *err);
/* How good a tet is: its smallest angle, or what its largest is worth, degrees; negative when it is
 * not positive. */
double pla_cutter_score(const PlaCutter *c, const int v[4]);
