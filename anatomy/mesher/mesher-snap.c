/* Outer faces that are astray, drawn to the surface.
 *
 * Where a tissue is thinner than the lattice's cells the mesh is made around a thicker one (room is
 * given in tets.c).  Its vertices then go back: each vertex that is too far from the surface, or
 * has an outer face whose middle is, looks for a place nearby where the farthest of them is nearer
 * and all its tets keep their shape. */
#include "anatomy/base/memory.h"
#include "anatomy/mesher/cutter-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* cells from the surface: of middles of faces that will do, and of vertices */
static const double near_enough = 0.22, most_vertex = 0.09;
/* cosines of the angles that a tet may have: 11 and 163 degrees */
static const double most_sharp = 0.9816, most_blunt = -0.9563;

typedef struct {
  PlaCutter *c;
  PlaFacet *facet;
  int n_facets;
  int *first_facet, *facet_of; /* outer faces around each vertex */
  int *first_tet, *tet_of;     /* tets around each vertex of an outer face */
} Snap;

static double
off_surface(const Snap *s, const double x[3])
{
  return fabs(pla_tissue_value(s->c->tissues, 1, x));
}

static double
facet_off(const Snap *s, const PlaFacet *f)
{
  double x[3];
  pla_cutter_mean_point(s->c, f->v, 3, x);
  /* rims of caps are sharp edges, which the lattice rounds */
  if (pla_tissue_beyond(s->c->tissues->group[0], x) >= -1.5 * s->c->lattice->cell_mm)
    return 0.0;
  return off_surface(s, x);
}

/* how far the farthest outer face around a vertex is, or the vertex itself by its own measure */
static double
worst_at(const Snap *s, int v)
{
  double worst = off_surface(s, s->c->pos_mm + 3 * (size_t)v) * (near_enough / most_vertex);
  for (int k = s->first_facet[v]; k < s->first_facet[v + 1]; k++)
    worst = fmax(worst, facet_off(s, &s->facet[s->facet_of[k]]));
  return worst;
}

static bool
is_shapely_around(const Snap *s, int v)
{
  for (int k = s->first_tet[v]; k < s->first_tet[v + 1]; k++) {
    double most, least;
    if (!pla_cutter_angles(s->c, s->c->tet + 4 * (size_t)s->tet_of[k], &most, &least) ||
        most > most_sharp || least < most_blunt)
      return false;
  }
  return true;
}

static bool
snap_vertex(const Snap *s, int v)
{
  const double cell = s->c->lattice->cell_mm;
  double *x = s->c->pos_mm + 3 * (size_t)v, worst = worst_at(s, v);
  bool better = false;
  for (double step = 0.2 * cell; step > 0.005 * cell; step *= 0.5)
    for (int dir = 0; dir < 27; dir++) {
      if (dir == 13)
        continue;
      double old[3];
      memcpy(old, x, sizeof old);
      x[0] += step * (dir % 3 - 1);
      x[1] += step * (dir / 3 % 3 - 1);
      x[2] += step * (dir / 9 - 1);
      const double now = worst_at(s, v);
      if (now < worst - 1e-4 * cell && is_shapely_around(s, v)) {
        worst = now;
        better = true;
      } else {
        memcpy(x, old, sizeof old);
      }
    }
  return better;
}

bool
pla_cutter_list_around(int n_points, const int *vert, size_t stride, int n_items, int per_item,
                       int **first, int **of)
{
  *first = pla_array_new0((size_t)n_points + 2, sizeof **first);
  *of = pla_array_new((size_t)n_items * (size_t)per_item, sizeof **of);
  if (!*first || !*of)
    return false;
  for (int i = 0; i < n_items; i++)
    for (int k = 0; k < per_item; k++)
      (*first)[vert[stride * (size_t)i + (size_t)k] + 2]++;
  for (int p = 0; p < n_points; p++)
    (*first)[p + 2] += (*first)[p + 1];
  for (int i = 0; i < n_items; i++)
    for (int k = 0; k < per_item; k++)
      (*of)[(*first)[vert[stride * (size_t)i + (size_t)k] + 1]++] = i;
  return true;
}

PlaStatus
pla_cutter_snap(PlaCutter *c, PlaError *err)
{
  enum { ROUNDS = 12 };
  Snap s = { .c = c };
  const double enough = near_enough * c->lattice->cell_mm;
  PlaStatus st = pla_cutter_outer_facets(c, &s.facet, &s.n_facets, err);
  if (st == PLA_OK &&
      (!pla_cutter_list_around(c->n_points, s.facet ? s.facet[0].v : NULL,
                               sizeof *s.facet / sizeof(int), s.n_facets, 3, &s.first_facet,
                               &s.facet_of) ||
       !pla_cutter_list_around(c->n_points, c->tet, 4, c->n_tets, 4, &s.first_tet, &s.tet_of)))
    st = pla_fail_memory(err, "the mesh");
  bool any = st == PLA_OK;
  for (int round = 0; any && round < ROUNDS; round++) {
    any = false;
    for (int v = 0; v < c->n_points; v++)
      if (s.first_facet[v] < s.first_facet[v + 1] && worst_at(&s, v) > enough)
        any = snap_vertex(&s, v) || any;
  }
  free(s.facet);
  free(s.first_facet);
  free(s.facet_of);
  free(s.first_tet);
  free(s.tet_of);
  return st;
}
