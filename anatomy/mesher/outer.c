/* The outer surface of the cut lattice. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesher/cutter-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

PlaStatus
pla_cutter_outer_facets(const PlaCutter *c, PlaFacet **out, int *n_out, PlaError *err)
{
  static const int side[4][3] = { { 1, 2, 3 }, { 0, 3, 2 }, { 0, 1, 3 }, { 0, 2, 1 } };
  PlaVertTable faces;
  PlaStatus st = PLA_OK;
  *out = NULL;
  *n_out = 0;
  if (!pla_vert_table_init(&faces, (size_t)c->n_tets / 4))
    return pla_fail_memory(err, "the mesh");
  /* each face holds the tet that had it first, or -2 once it has had a second */
  for (int pass = 0; pass < 2 && st == PLA_OK; pass++) {
    if (pass == 1) {
      *out = pla_array_new((size_t)*n_out, sizeof **out);
      *n_out = 0;
      if (!*out)
        st = pla_fail_memory(err, "the mesh");
    }
    for (int t = 0; st == PLA_OK && t < c->n_tets; t++) {
      const int *v = c->tet + 4 * (size_t)t;
      bool on[4];
      int n_on = 0;
      for (int k = 0; k < 4; k++)
        n_on += on[k] = pla_cutter_on_interface(c, v[k]);
      for (int f = 0; n_on >= 3 && f < 4; f++) {
        /* an outer face lies on an interface */
        if (n_on - on[f] < 3)
          continue;
        int key[3] = { v[side[f][0]], v[side[f][1]], v[side[f][2]] };
        PlaVertSlot *slot;
        pla_sort3(key);
        if (!pla_vert_table_add(&faces, key, &slot)) {
          st = pla_fail_memory(err, "the mesh");
          break;
        }
        if (pass == 0) {
          *n_out += slot->value == -1 ? 1 : slot->value >= 0 ? -1 : 0;
          slot->value = slot->value == -1 ? t : -2;
        } else if (slot->value == t) {
          (*out)[(*n_out)++] =
              (PlaFacet){ t, { v[side[f][0]], v[side[f][1]], v[side[f][2]] }, v[f] };
        }
      }
    }
  }
  free(faces.slot);
  return st;
}

/* The point of the surface over or under the middle of a facet, along its normal; false when there
 * is none within 0.8 cells. */
static bool
surface_over(const PlaCutter *c, const PlaFacet *f, const double x[3], double value, double p[3])
{
  double a[3], b[3], n[3], q[3];
  pla_vec3_sub(c->pos_mm + 3 * (size_t)f->v[1], c->pos_mm + 3 * (size_t)f->v[0], a);
  pla_vec3_sub(c->pos_mm + 3 * (size_t)f->v[2], c->pos_mm + 3 * (size_t)f->v[0], b);
  pla_vec3_cross(a, b, n);
  const double reach = (value < 0.0 ? 0.8 : -0.8) * c->lattice->cell_mm / pla_vec3_norm(n);
  for (int d = 0; d < 3; d++)
    q[d] = x[d] + reach * n[d];
  if ((pla_tissue_value(c->tissues, 1, q) < 0.0) == (value < 0.0))
    return false;
  const double t = value < 0.0 ? pla_tissues_crossing(c->tissues, 1, 0, x, q)
                               : pla_tissues_crossing(c->tissues, 0, 1, x, q);
  for (int d = 0; d < 3; d++)
    p[d] = x[d] + t * (q[d] - x[d]);
  return true;
}

/* Faces whose middle is a fifth of a cell or more from the surface: outside the face a tet is put
 * on top, inside its tet is divided by three and the rest goes.  Only where all new tets are well
 * shaped. */
PlaStatus
pla_cutter_fit_facets(PlaCutter *c, PlaError *err)
{
  PlaFacet *facet;
  int n_facets;
  PlaStatus st = pla_cutter_outer_facets(c, &facet, &n_facets, err);
  uint8_t *used = st == PLA_OK ? pla_array_new0((size_t)c->n_tets, 1) : NULL;
  if (st == PLA_OK && !used)
    st = pla_fail_memory(err, "the mesh");
  for (int i = 0; st == PLA_OK && i < n_facets; i++) {
    const PlaFacet *f = &facet[i];
    double x[3], p[3];
    pla_cutter_mean_point(c, f->v, 3, x);
    const double value = pla_tissue_value(c->tissues, 1, x);
    if (fabs(value) < 0.2 * c->lattice->cell_mm || used[f->tet] || !surface_over(c, f, x, value, p))
      continue;
    const int fresh = pla_cutter_add_point(c, p), tissue = c->region[f->tet];
    int piece[3][4];
    bool good = !c->short_of_memory;
    if (value < 0.0) {
      const int top[4] = { f->v[0], f->v[1], f->v[2], fresh };
      if (good && pla_cutter_is_shapely(c, top))
        pla_cutter_add_tet(c, top, false, tissue);
    } else {
      for (int k = 0; k < 3 && good; k++) {
        const int q[4] = { f->v[k], f->apex, f->v[(k + 1) % 3], fresh };
        memcpy(piece[k], q, sizeof q);
        good = pla_cutter_is_shapely(c, q);
      }
      if (good) {
        memcpy(c->tet + 4 * (size_t)f->tet, piece[0], sizeof piece[0]);
        pla_cutter_add_tet(c, piece[1], false, tissue);
        pla_cutter_add_tet(c, piece[2], false, tissue);
      }
    }
    used[f->tet] = 1;
    if (c->short_of_memory)
      st = pla_fail_memory(err, "the mesh");
  }
  free(facet);
  free(used);
  return st;
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* how far a point is from the border of the body, mm */
static double
off_border_mm(const PlaCutter *c, const double x[3])
{
  const PlaTissues *tissues = c->tissues;
  double least = INFINITY;
  if (c->sharp) {
    const double pos[3] = { x[0] / 1000.0, x[1] / 1000.0, x[2] / 1000.0 };
    return 1000.0 * pla_tri_tree_nearest(c->sharp, pos, INFINITY, NULL, NULL);
  }
  for (int g = 1; g <= tissues->n_groups; g++)
    least = fmin(least, pla_tissue_value(tissues, g, x));
  return fabs(tissues->n_groups == 1 ? least : 0.5 * (least - pla_tissue_value(tissues, 0, x)));
}

/* whether a point is near the end of the grid, where the rims of caps are sharp edges, which the
 * lattice rounds */
static bool
is_near_rim(const PlaCutter *c, const double x[3])
{
  const PlaLevelSet *grid = c->tissues->rest ? c->tissues->rest : c->tissues->group[0];
  return pla_tissue_beyond(grid, x) >= -1.5 * c->lattice->cell_mm;
}

PlaStatus
pla_cutter_measure(const PlaCutter *c, PlaTetReport *r, PlaError *err)
{
  PlaFacet *facet;
  PlaStatus st = pla_cutter_outer_facets(c, &facet, &r->boundary_tris, err);
  double *far = st == PLA_OK ? pla_array_new((size_t)r->boundary_tris, sizeof *far) : NULL;
  int n = 0;
  r->vertex_mm = r->facet_mm = r->facet_p99_mm = NAN;
  if (st == PLA_OK && !far)
    st = pla_fail_memory(err, "the mesh");
  for (int i = 0; st == PLA_OK && i < r->boundary_tris; i++) {
    double x[3];
    for (int k = 0; k < 3; k++)
      r->vertex_mm = fmax(r->vertex_mm, off_border_mm(c, c->pos_mm + 3 * (size_t)facet[i].v[k]));
    pla_cutter_mean_point(c, facet[i].v, 3, x);
    if (!is_near_rim(c, x))
      far[n++] = off_border_mm(c, x);
  }
  if (n > 0) {
    qsort(far, (size_t)n, sizeof *far, compare_doubles);
    r->facet_mm = far[n - 1];
    r->facet_p99_mm = far[(size_t)(0.99 * (n - 1))];
  }
  free(facet);
  free(far);
  return st;
}

PlaStatus
pla_cutter_strays(const PlaCutter *c, double limit_mm, double **pos_mm, int *n, int *n_facets,
                  PlaError *err)
{
  PlaFacet *facet;
  PlaStatus st = pla_cutter_outer_facets(c, &facet, n_facets, err);
  *n = 0;
  *pos_mm = NULL;
  if (st == PLA_OK) {
    *pos_mm = pla_array_new((size_t)*n_facets, 3 * sizeof **pos_mm);
    if (!*pos_mm)
      st = pla_fail_memory(err, "the mesh");
  }
  for (int i = 0; st == PLA_OK && i < *n_facets; i++) {
    double *x = *pos_mm + 3 * (size_t)*n;
    pla_cutter_mean_point(c, facet[i].v, 3, x);
    if (off_border_mm(c, x) > limit_mm && !is_near_rim(c, x))
      (*n)++;
  }
  free(facet);
  return st;
}
