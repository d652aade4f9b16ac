/* Refuses meshes with an element listed twice, and colliders that enclose no volume (all
 * vertices in one plane or on one line). */
#include "app/simulate/simulation-checks.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CORNERS = 8 };

/* an element by its vertices in ascending order */
typedef struct {
  int vert[MOST_CORNERS], cell;
} Sorted;

static int
compare_cells(const void *a, const void *b)
{
  const Sorted *x = a, *y = b;
  for (int i = 0; i < MOST_CORNERS; i++)
    if (x->vert[i] != y->vert[i])
      return (x->vert[i] > y->vert[i]) - (x->vert[i] < y->vert[i]);
  return (x->cell > y->cell) - (x->cell < y->cell);
}

/* @first: the place of these cells among those of the mesh, for their shares */
static PlaStatus
check_cells(const int *cell, int n, int corners, const PlaMeshShares *shares, size_t first,
            const char *what, PlaError *err)
{
  Sorted *sorted = pla_array_new0((size_t)n, sizeof *sorted);
  PlaStatus st = sorted ? PLA_OK : pla_fail_memory(err, "the elements of the mesh");
  for (int c = 0; c < n && st == PLA_OK; c++) {
    int *v = sorted[c].vert;
    sorted[c].cell = c;
    for (int i = 0; i < corners; i++) {
      const int vert = cell[(size_t)c * (size_t)corners + (size_t)i];
      int at = i;
      for (; at > 0 && v[at - 1] > vert; at--)
        v[at] = v[at - 1];
      v[at] = vert;
    }
    for (int i = 1; i < corners && st == PLA_OK; i++)
      if (v[i] == v[i - 1])
        st = pla_fail(err, PLA_ERR_GEOMETRY,
                      "%s %d of the mesh is flat at rest: it names vertex %d twice; leave it out",
                      what, c, v[i]);
  }
  if (st == PLA_OK)
    qsort(sorted, (size_t)n, sizeof *sorted, compare_cells);
  /* two pieces of material in one cell of a lattice may share all its vertices: together they do
   * not fill more than the cell */
  double filled = 0.0;
  for (int i = 0; i < n && st == PLA_OK; i++) {
    const bool again =
        i > 0 && memcmp(sorted[i].vert, sorted[i - 1].vert, sizeof sorted[i].vert) == 0;
    filled = (again ? filled : 0.0) + pla_mesh_share(shares, first + (size_t)sorted[i].cell);
    if (again && filled > 1.0 + 1e-3)
      st =
          pla_fail(err, PLA_ERR_GEOMETRY,
                   "%s %d of the mesh is the same as %d: its stiffness and mass would count twice; "
                   "leave one out",
                   what, sorted[i].cell, sorted[i - 1].cell);
  }
  free(sorted);
  return st;
}

PlaStatus
pla_mesh_check_elements(const PlaMesh *mesh, PlaError *err)
{
  const PlaMeshShares shares = pla_mesh_shares(mesh);
  const size_t tets = (size_t)mesh->n_tris, hexes = tets + (size_t)mesh->n_tets;
  PlaStatus st = pla_mesh_check(mesh, err);
  if (st == PLA_OK)
    st = check_cells(mesh->tet, mesh->n_tets, 4, &shares, tets, "tetrahedron", err);
  if (st == PLA_OK)
    st = check_cells(mesh->hex, mesh->n_hexes, 8, &shares, hexes, "hexahedron", err);
  return st;
}

/* the vertex that is furthest from what @distance measures */
static int
furthest(const PlaMesh *mesh, const double origin[3], const double along[3], const double across[3],
         double *most)
{
  int best = 0;
  *most = 0.0;
  for (int v = 0; v < mesh->n_verts; v++) {
    double d[3], far;
    pla_vec3_sub(mesh->pos + 3 * (size_t)v, origin, d);
    if (across) {
      far = fabs(pla_vec3_dot(d, across)); /* from a plane */
    } else if (along) {
      double c[3];
      pla_vec3_cross(d, along, c); /* from a line */
      far = pla_vec3_norm(c);
    } else {
      far = pla_vec3_norm(d);
    }
    if (far > *most) {
      *most = far;
      best = v;
    }
  }
  return best;
}

/* all vertices in one plane, or on one line */
static bool
is_flat(const PlaMesh *mesh)
{
  double size, wide, thick, along[3], to[3], across[3];
  const double *origin = mesh->pos;
  const int a = furthest(mesh, origin, NULL, NULL, &size);
  if (!(size > 0.0))
    return true;
  pla_vec3_sub(mesh->pos + 3 * (size_t)a, origin, along);
  for (int d = 0; d < 3; d++)
    along[d] /= size;
  const int b = furthest(mesh, origin, along, NULL, &wide);
  if (!(wide > 1e-9 * size))
    return true;
  pla_vec3_sub(mesh->pos + 3 * (size_t)b, origin, to);
  pla_vec3_cross(along, to, across);
  for (int d = 0; d < 3; d++)
    across[d] /= wide;
  furthest(mesh, origin, along, across, &thick);
  return !(thick > 1e-9 * size);
}

PlaStatus
pla_mesh_check_encloses(const PlaMesh *surface, bool volume, PlaError *err)
{
  if (surface->n_verts == 0 || surface->n_tris == 0)
    return PLA_OK; /* somebody else says so */
  if (is_flat(surface))
    return pla_fail(
        err, PLA_ERR_GEOMETRY,
        "the surface lies in one plane and encloses no volume; give the surface of a body");
  PlaMesh only = *surface;
  PlaMeshSummary summary;
  only.n_tets = only.n_hexes = 0;
  PlaStatus st = volume ? pla_mesh_summary(&only, &summary, err) : PLA_OK;
  if (st == PLA_OK && volume && summary.closed &&
      fabs(summary.volume_m3) <= 1e-9 * pow(summary.area_m2, 1.5))
    st = pla_fail(
        err, PLA_ERR_GEOMETRY,
        "the surface is closed but encloses no volume: its two sides lie on each other; give "
        "the surface of a body");
  return st;
}
