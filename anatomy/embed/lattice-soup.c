/* Which simplices meet which tets of a lattice.
 *
 * Two convex hulls whose points do not lie in one plane have disjoint relative interiors exactly if
 * some plane through three of the points has one hull on each side (a proper separation that is
 * tight at as many points as can be), so signs of determinants decide. */
#include "anatomy/embed/lattice-soup.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/predicates.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* fmin() and fmax() without the care for NaN, which costs a call */
static inline double
lesser(double a, double b)
{
  return a < b ? a : b;
}

static inline double
greater(double a, double b)
{
  return a > b ? a : b;
}

/* whether the plane of points i, j, k separates the first n_a of n points from the others */
static bool
separates(const double *const *p, int n_a, int n, int i, int j, int k)
{
  bool keep = true, turned = true, any = false;
  for (int q = 0; q < n && (keep || turned); q++) {
    if (q == i || q == j || q == k)
      continue;
    int side = pla_orient3d(p[i], p[j], p[k], p[q]);
    side = q < n_a ? side : -side;
    keep = keep && side <= 0;
    turned = turned && side >= 0;
    any = any || side != 0;
  }
  return any && (keep || turned);
}

bool
pla_hulls_meet(const double *const *a, int n_a, const double *const *b, int n_b)
{
  const double *p[8];
  const int n = n_a + n_b;
  assert(n <= 8);
  for (int i = 0; i < n; i++)
    p[i] = i < n_a ? a[i] : b[i - n_a];
  /* boxes first */
  for (int d = 0; d < 3; d++) {
    double lo[2] = { INFINITY, INFINITY }, hi[2] = { -INFINITY, -INFINITY };
    for (int i = 0; i < n; i++) {
      const int s = i >= n_a;
      lo[s] = lesser(lo[s], p[i][d]);
      hi[s] = greater(hi[s], p[i][d]);
    }
    if (lo[0] > hi[1] || lo[1] > hi[0])
      return false;
  }
  /* the faces of a tet come first: they part most, and show what lies inside it */
  if (n_b == 4) {
    bool within = true;
    const int turn = pla_orient3d(b[0], b[1], b[2], b[3]);
    static const int face[4][3] = { { 1, 3, 2 }, { 0, 2, 3 }, { 0, 3, 1 }, { 0, 1, 2 } };
    for (int f = 0; f < 4; f++) {
      int n_in = 0, n_out = 0;
      for (int i = 0; i < n_a; i++) {
        const int side = turn * pla_orient3d(b[face[f][0]], b[face[f][1]], b[face[f][2]], a[i]);
        n_in += side > 0;
        n_out += side < 0;
      }
      if (n_in == 0)
        return false;
      within = within && n_out == 0;
    }
    if (within)
      return true;
  }
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++)
      for (int k = j + 1; k < n; k++)
        if (!(n_b == 4 && i >= n_a) && separates(p, n_a, n, i, j, k))
          return false;
  return true;
}

void
pla_lattice_corner(const PlaLatticeEmbedding *self, int tet, int c, double pos[3])
{
  pla_lattice_place(&self->frame, self->tet[tet].x[c], pos);
}

void
pla_tet_planes(const double corner[4][3], double plane[4][4])
{
  for (int k = 0; k < 4; k++) {
    const double *p[3];
    double u[3], v[3], r[3];
    for (int c = 0, n = 0; c < 4; c++)
      if (c != k)
        p[n++] = corner[c];
    pla_vec3_sub(p[1], p[0], u);
    pla_vec3_sub(p[2], p[0], v);
    pla_vec3_cross(u, v, plane[k]);
    pla_vec3_sub(corner[k], p[0], r);
    const double length = copysign(pla_vec3_norm(plane[k]), pla_vec3_dot(plane[k], r));
    for (int d = 0; d < 3; d++)
      plane[k][d] /= length;
    plane[k][3] = pla_vec3_dot(plane[k], p[0]);
  }
}

/* a pair before tets have numbers */
typedef struct {
  int64_t root;
  int simplex;
} Found;

static int
compare_found(const void *a, const void *b)
{
  const Found *p = a, *q = b;
  return p->root != q->root ? (p->root > q->root) - (p->root < q->root)
                            : (p->simplex > q->simplex) - (p->simplex < q->simplex);
}

/* whether the box lo..hi (in cubes) can touch the tet @e of node @at: along its axis that reaches a
 * whole cube up, along one of the others half a cube both ways, along the last one way */
static bool
box_touches(const double lo[3], const double hi[3], const int at[3], int e)
{
  static const double reach[4][2][2] = { { { -0.5, 0.5 }, { 0.0, 0.5 } },
                                         { { -0.5, 0.0 }, { -0.5, 0.5 } },
                                         { { -0.5, 0.5 }, { -0.5, 0.0 } },
                                         { { 0.0, 0.5 }, { -0.5, 0.5 } } };
  const double slack = 1e-6;
  const int axis = e / 4;
  if (lo[axis] > at[axis] + 1.0 + slack || hi[axis] < at[axis] - slack)
    return false;
  for (int k = 0; k < 2; k++) {
    const int d = (axis + 1 + k) % 3;
    if (lo[d] > at[d] + reach[e % 4][k][1] + slack || hi[d] < at[d] + reach[e % 4][k][0] - slack)
      return false;
  }
  return true;
}

/* roots that simplex @s meets */
static bool
find_roots(const PlaSoup *soup, const PlaLatticeFrame *frame, int s, PlaBytes *out)
{
  const double *p[4];
  const double side = frame->unit * (double)(2 << frame->depth);
  double lo[3], hi[3];
  int from[3], to[3];
  for (int c = 0; c < soup->per; c++)
    p[c] = soup->pos + 3 * (size_t)soup->vert[(size_t)s * (size_t)soup->per + (size_t)c];
  for (int d = 0; d < 3; d++) {
    lo[d] = INFINITY;
    hi[d] = -INFINITY;
    for (int c = 0; c < soup->per; c++) {
      const double x = (p[c][d] - frame->origin[d]) / side;
      lo[d] = lesser(lo[d], x);
      hi[d] = greater(hi[d], x);
    }
    from[d] = (int)floor(lo[d] - 1.001);
    to[d] = (int)ceil(hi[d] + 0.501);
    from[d] = from[d] < 0 ? 0 : from[d];
    to[d] = to[d] < frame->n[d] ? to[d] : frame->n[d] - 1;
  }
  for (int k = from[2]; k <= to[2]; k++)
    for (int j = from[1]; j <= to[1]; j++)
      for (int i = from[0]; i <= to[0]; i++)
        for (int e = 0; e < 12; e++) {
          const int at[3] = { i, j, k };
          if (!box_touches(lo, hi, at, e))
            continue;
          const int64_t root = 12 * (i + (int64_t)frame->n[0] * (j + (int64_t)frame->n[1] * k)) + e;
          const PlaBccTet tet = pla_bcc_root(frame->n, frame->depth, root);
          double corner[4][3];
          const double *q[4] = { corner[0], corner[1], corner[2], corner[3] };
          for (int c = 0; c < 4; c++)
            pla_lattice_place(frame, tet.x[c], corner[c]);
          const Found found = { root, s };
          if (pla_hulls_meet(p, soup->per, q, 4) && !pla_bytes_append(out, &found, sizeof found))
            return false;
        }
  return true;
}

PlaStatus
pla_soup_init(PlaSoup *soup, PlaLatticeEmbedding *self, const int64_t *also, size_t n_also,
              PlaProgress *progress, PlaError *err)
{
  const int step = 1024, n_chunks = (soup->n_simplices + step - 1) / step;
  PlaBytes *chunk = pla_array_new0((size_t)n_chunks, sizeof *chunk), all = { 0 };
  Found *found = NULL;
  size_t n_found = 0, n_tets = 0;
  bool ok = chunk;
  PlaStatus st = PLA_OK;
  for (int begin = 0; ok && st == PLA_OK && begin < n_chunks; begin += 64) {
    const int end = begin + 64 < n_chunks ? begin + 64 : n_chunks;
#pragma omp parallel for schedule(dynamic, 1) reduction(&& : ok)
    for (int c = begin; c < end; c++)
      for (int s = c * step; ok && s < (c + 1) * step && s < soup->n_simplices; s++)
        ok = find_roots(soup, &self->frame, s, &chunk[c]);
    if (!pla_progress_step(progress, (double)end / n_chunks))
      st = pla_fail_cancelled(err);
  }
  for (int c = 0; chunk && c < n_chunks; c++) {
    if (ok && st == PLA_OK && chunk[c].size > 0)
      ok = pla_bytes_append(&all, chunk[c].data, chunk[c].size);
    pla_bytes_clear(&chunk[c]);
  }
  free(chunk);
  if (st == PLA_OK && !ok)
    st = pla_fail_memory(err, "the lattice");
  if (st == PLA_OK) {
    found = (Found *)(void *)all.data;
    n_found = all.size / sizeof *found;
    if (n_found > 0)
      qsort(found, n_found, sizeof *found, compare_found);
    /* tets: the roots found and those asked for, merged */
    size_t f = 0, a = 0;
    for (; f < n_found || a < n_also; n_tets++) {
      const int64_t root =
          a == n_also || (f < n_found && found[f].root <= also[a]) ? found[f].root : also[a];
      while (f < n_found && found[f].root == root)
        f++;
      while (a < n_also && also[a] == root)
        a++;
    }
    if (n_tets > INT_MAX / 8)
      st = pla_fail(err, PLA_ERR_USAGE, "the lattice is too fine to count; use larger cells");
  }
  if (st == PLA_OK) {
    self->tet = pla_array_new(n_tets, sizeof *self->tet);
    soup->pair = pla_array_new(n_found, sizeof *soup->pair);
    soup->first = pla_array_new(n_tets + 1, sizeof *soup->first);
    if (!self->tet || !soup->pair || !soup->first || !pla_bcc_map_init(&self->map, n_tets))
      st = pla_fail_memory(err, "the lattice");
  }
  if (st == PLA_OK) {
    size_t f = 0, a = 0;
    self->n_tets = (int)n_tets;
    soup->n_pairs = n_found;
    for (int t = 0; t < self->n_tets; t++) {
      const int64_t root =
          a == n_also || (f < n_found && found[f].root <= also[a]) ? found[f].root : also[a];
      self->tet[t] = pla_bcc_root(self->frame.n, self->frame.depth, root);
      pla_bcc_map_set(&self->map, &self->tet[t], t);
      soup->first[t] = f;
      for (; f < n_found && found[f].root == root; f++)
        soup->pair[f] = (PlaSoupPair){ t, found[f].simplex, -1 };
      while (a < n_also && also[a] == root)
        a++;
    }
    soup->first[n_tets] = f;
  }
  pla_bytes_clear(&all);
  return st;
}

void
pla_soup_clear(PlaSoup *soup)
{
  free(soup->pair);
  free(soup->first);
  soup->pair = NULL;
  soup->first = NULL;
}

PlaSoupPair *
pla_soup_find(const PlaSoup *soup, int tet, int simplex)
{
  size_t lo = soup->first[tet], hi = soup->first[tet + 1];
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    if (soup->pair[mid].simplex < simplex)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < soup->first[tet + 1] && soup->pair[lo].simplex == simplex ? &soup->pair[lo] : NULL;
}

/* ---- neighbours ---- */

typedef struct {
  int vert[3]; /* ascending; the last is -1 for edges of triangles */
  int side;    /* per * simplex + opposite vertex */
} Side;

static int
compare_sides(const void *a, const void *b)
{
  const Side *p = a, *q = b;
  for (int c = 0; c < 3; c++)
    if (p->vert[c] != q->vert[c])
      return (p->vert[c] > q->vert[c]) - (p->vert[c] < q->vert[c]);
  return (p->side > q->side) - (p->side < q->side);
}

PlaStatus
pla_soup_neighbours(const PlaSoup *soup, int **across, PlaError *err)
{
  const size_t per = (size_t)soup->per, n = (size_t)soup->n_simplices * per;
  Side *side = pla_array_new(n, sizeof *side);
  int *out = pla_array_new(n, sizeof *out);
  PlaStatus st = PLA_OK;
  *across = NULL;
  if (!side || !out)
    st = pla_fail_memory(err, "the mesh's neighbours");
  for (size_t s = 0; st == PLA_OK && s < n; s++) {
    const int *v = soup->vert + s / per * per;
    side[s] = (Side){ { -1, -1, -1 }, (int)s };
    out[s] = -1;
    /* the vertices but one, sorted */
    int m = 0;
    for (size_t c = 0; c < per; c++)
      if (c != s % per)
        side[s].vert[m++] = v[c];
    for (int a = 1; a < m; a++)
      for (int b = a; b > 0 && side[s].vert[b] < side[s].vert[b - 1]; b--) {
        const int swap = side[s].vert[b];
        side[s].vert[b] = side[s].vert[b - 1];
        side[s].vert[b - 1] = swap;
      }
  }
  if (st == PLA_OK)
    qsort(side, n, sizeof *side, compare_sides);
  for (size_t s = 0; st == PLA_OK && s + 1 < n; s++) {
    if (memcmp(side[s].vert, side[s + 1].vert, sizeof side[s].vert) != 0)
      continue;
    if (out[side[s].side] >= 0) {
      st = pla_fail(err, PLA_ERR_GEOMETRY, "more than two %s meet at one %s, of vertices %d and %d",
                    soup->per == 3 ? "triangles" : "tetrahedra", soup->per == 3 ? "edge" : "face",
                    side[s].vert[0], side[s].vert[1]);
      break;
    }
    out[side[s].side] = side[s + 1].side / soup->per;
    out[side[s + 1].side] = side[s].side / soup->per;
  }
  free(side);
  if (st == PLA_OK)
    *across = out;
  else
    free(out);
  return st;
}

/* ---- vertices ---- */

PlaStatus
pla_soup_embed(const PlaSoup *soup, const PlaLatticeEmbedding *self, int n_verts, PlaEmbedding *out,
               PlaError *err)
{
  PlaStatus st = pla_embedding_init(out, n_verts, 4, err);
  double *best = st == PLA_OK ? pla_array_new((size_t)n_verts, sizeof *best) : NULL;
  if (st == PLA_OK && !best) {
    pla_embedding_clear(out);
    st = pla_fail_memory(err, "embedded vertices");
  }
  if (st != PLA_OK)
    return st;
  for (int v = 0; v < n_verts; v++)
    best[v] = -INFINITY;
  for (size_t p = 0; p < soup->n_pairs; p++) {
    const PlaSoupPair *pair = &soup->pair[p];
    for (int c = 0; c < soup->per; c++) {
      const int v = soup->vert[(size_t)pair->simplex * (size_t)soup->per + (size_t)c];
      double x[3], w[4];
      pla_lattice_coord(&self->frame, soup->pos + 3 * (size_t)v, x);
      pla_bcc_weights(&self->tet[pair->tet], x, w);
      const double least = fmin(fmin(w[0], w[1]), fmin(w[2], w[3]));
      if (!(least > best[v]))
        continue;
      best[v] = least;
      out->elem[v] = self->first_elem[pair->tet] + pair->piece;
      memcpy(out->weight + 4 * (size_t)v, w, sizeof w);
    }
  }
  free(best);
  return PLA_OK;
}
