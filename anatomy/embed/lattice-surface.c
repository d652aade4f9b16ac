/* Lattice embedding of what a closed surface encloses.
 *
 * In a tet the surface falls into patches: triangles that hang together by edges passing through
 * its inside.  A piece of material is bounded by one or several patches, and by parts of the tet's
 * own faces.  Which patches bound the same piece is found by walking along segments in the tet:
 * from across a triangle of each patch, and from each corner, to one corner.  On the way, whatever
 * bounds a stretch of material belongs to one piece.  That finds all of them: a patch parts the
 * tet in two, so after the last crossing with it the way runs along its side of the end, and the
 * next crossing, if the way is in material, is another boundary of the same piece, and so on up
 * to the one boundary beyond which the end lies, or to the end itself.
 *
 * Across a face two pieces are one where they have a triangle that passes through the face in
 * common, or a corner of it that is inside.
 *
 * Whether hulls meet is decided exactly.  Crossings on a way must be certain and in a certain
 * order, else another way is tried; when none is left, the lattice is moved a little and all is
 * done again. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/embed/lattice-soup.h"
#include "anatomy/predicates.h"
#include "anatomy/surface/tri-tree.h"
#include "anatomy/surface/winding.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOVES = 6,     /* places of the lattice that are tried */
  TRIANGLES = 8, /* triangles of a patch that a way is begun at */
};

/* corners of the lattice, even ones then odd ones: 1 inside, 0 outside */
typedef struct {
  int n[3];
  uint8_t *inside;
} Corners;

static size_t
corner_index(const Corners *c, const int x[3])
{
  const int odd = x[0] & 1;
  size_t at[3];
  for (int d = 0; d < 3; d++)
    at[d] = (size_t)((x[d] + odd) / 2); /* odd ones begin at -1 */
  const size_t n[3] = { (size_t)c->n[0], (size_t)c->n[1], (size_t)c->n[2] };
  return (size_t)odd * n[0] * n[1] * n[2] + at[0] + n[0] * (at[1] + n[1] * at[2]);
}

typedef struct {
  const PlaSoup *soup;
  const PlaLatticeEmbedding *self;
  const int *across;
  const Corners *corners;
  int *corner_piece; /* of each tet's corners (n_tets x 4), -1 outside */
} Surface;

static const double *
place(const PlaSoup *soup, int t, int c)
{
  return soup->pos + 3 * (size_t)soup->vert[3 * (size_t)t + (size_t)c];
}

/* ---- ways ---- */

typedef struct {
  double at;  /* 0..1 along the segment */
  int slot;   /* triangle, counted in the tet */
  int leaves; /* 1: from material to outside, -1: into it */
} Crossing;

/* 1: the segment crosses the triangle at *out; 0: it does not; -1: not certain */
static int
cross(const PlaSoup *soup, int t, const double a[3], const double b[3], Crossing *out)
{
  const double *p[3] = { place(soup, t, 0), place(soup, t, 1), place(soup, t, 2) };
  for (int d = 0; d < 3; d++) {
    const double lo = fmin(a[d], b[d]), hi = fmax(a[d], b[d]);
    if (fmax(fmax(p[0][d], p[1][d]), p[2][d]) < lo || fmin(fmin(p[0][d], p[1][d]), p[2][d]) > hi)
      return 0;
  }
  const int sa = pla_orient3d(p[0], p[1], p[2], a), sb = pla_orient3d(p[0], p[1], p[2], b);
  if (sa == sb && sa != 0)
    return 0;
  int side[3];
  for (int e = 0; e < 3; e++)
    side[e] = pla_orient3d(a, b, p[e], p[(e + 1) % 3]);
  const bool any_left = side[0] > 0 || side[1] > 0 || side[2] > 0;
  const bool any_right = side[0] < 0 || side[1] < 0 || side[2] < 0;
  if (any_left && any_right)
    return 0;
  if (sa == 0 || sb == 0 || side[0] == 0 || side[1] == 0 || side[2] == 0)
    return -1;
  double u[3], v[3], n[3], ra[3], rb[3];
  pla_vec3_sub(p[1], p[0], u);
  pla_vec3_sub(p[2], p[0], v);
  pla_vec3_cross(u, v, n);
  pla_vec3_sub(a, p[0], ra);
  pla_vec3_sub(b, p[0], rb);
  const double da = pla_vec3_dot(n, ra), db = pla_vec3_dot(n, rb);
  out->at = da == db ? 0.5 : da / (da - db);
  /* positive is the side that the triangle faces: outside */
  out->leaves = sa < 0 ? 1 : -1;
  return 1;
}

static int
compare_crossings(const void *a, const void *b)
{
  const Crossing *p = a, *q = b;
  return p->at != q->at ? (p->at > q->at) - (p->at < q->at)
                        : (p->slot > q->slot) - (p->slot < q->slot);
}

/* the crossings of a segment with the triangles of tet @t, in order; -1 when not certain */
static int
walk(const Surface *s, int t, const double a[3], const double b[3], Crossing *list)
{
  const size_t first = s->soup->first[t];
  const int n = (int)(s->soup->first[t + 1] - first);
  int found = 0;
  for (int i = 0; i < n; i++) {
    Crossing c = { .slot = i };
    const int crossed = cross(s->soup, s->soup->pair[first + (size_t)i].simplex, a, b, &c);
    if (crossed < 0)
      return -1;
    if (crossed)
      list[found++] = c;
  }
  if (found > 1)
    qsort(list, (size_t)found, sizeof *list, compare_crossings);
  for (int i = 1; i < found; i++)
    if (list[i].at - list[i - 1].at < 1e-9 || list[i].leaves == list[i - 1].leaves)
      return -1;
  return found;
}

static void
unite(int *parent, int a, int b)
{
  a = pla_union_find_root(parent, a);
  b = pla_union_find_root(parent, b);
  parent[a > b ? a : b] = a > b ? b : a;
}

/* Unites what bounds material on the polyline through @n_points places, the last of them a corner
 * whose slot is @end.  @begin: the slot of the first place, -1: none.  @must: a slot that has to be
 * crossed, -1: none.  false when something is not certain. */
static bool
follow(const Surface *s, int t, const double (*point)[3], int n_points, int begin, bool inside,
       int must, int end, bool end_inside, int *parent, Crossing *list, Crossing *leg)
{
  int n = 0;
  bool met = must < 0;
  for (int i = 0; i + 1 < n_points; i++) {
    const int found = walk(s, t, point[i], point[i + 1], leg);
    if (found < 0)
      return false;
    memcpy(list + n, leg, (size_t)found * sizeof *leg);
    n += found;
  }
  for (int i = 0; i < n; i++) {
    met = met || list[i].slot == must;
    if (i > 0 && list[i].leaves == list[i - 1].leaves)
      return false;
  }
  if (!met)
    return false;
  /* both ends must agree with what is known of them */
  if (n == 0) {
    if (begin >= 0 && inside != end_inside)
      return false;
    if (begin >= 0 && end_inside)
      unite(parent, begin, end);
    return true;
  }
  if ((begin >= 0 && inside != (list[0].leaves > 0)) || end_inside != (list[n - 1].leaves < 0))
    return false;
  if (begin >= 0 && inside)
    unite(parent, begin, list[0].slot);
  for (int i = 0; i + 1 < n; i++)
    if (list[i].leaves < 0)
      unite(parent, list[i].slot, list[i + 1].slot);
  if (end_inside)
    unite(parent, list[n - 1].slot, end);
  return true;
}

/* A place of triangle @tri well inside tet @t, and how far it is from the faces of the tet; the
 * triangle is cut to the tet and the middle of what is left is taken. */
static bool
middle_of(const Surface *s, int t, int tri, const double corner[4][3], double x[3], double *room)
{
  double poly[8][3], next[8][3];
  int n = 3;
  for (int c = 0; c < 3; c++)
    memcpy(poly[c], place(s->soup, tri, c), sizeof poly[c]);
  double plane[4][4];
  for (int k = 0; k < 4; k++) {
    const double *p[3];
    double u[3], v[3];
    for (int c = 0, m = 0; c < 4; c++)
      if (c != k)
        p[m++] = corner[c];
    pla_vec3_sub(p[1], p[0], u);
    pla_vec3_sub(p[2], p[0], v);
    pla_vec3_cross(u, v, plane[k]);
    double length = pla_vec3_norm(plane[k]), r[3];
    pla_vec3_sub(corner[k], p[0], r);
    length = pla_vec3_dot(plane[k], r) < 0.0 ? -length : length;
    for (int d = 0; d < 3; d++)
      plane[k][d] /= length; /* inwards */
    plane[k][3] = pla_vec3_dot(plane[k], p[0]);
    /* Sutherland and Hodgman: one plane after the other */
    int m = 0;
    for (int i = 0; i < n; i++) {
      const double *a = poly[i], *b = poly[(i + 1) % n];
      const double da = pla_vec3_dot(plane[k], a) - plane[k][3];
      const double db = pla_vec3_dot(plane[k], b) - plane[k][3];
      if (da >= 0.0)
        memcpy(next[m++], a, sizeof next[0]);
      if ((da >= 0.0) != (db >= 0.0)) {
        for (int d = 0; d < 3; d++)
          next[m][d] = a[d] + da / (da - db) * (b[d] - a[d]);
        m++;
      }
    }
    n = m;
    memcpy(poly, next, sizeof poly);
  }
  if (n == 0)
    return false;
  memset(x, 0, 3 * sizeof *x);
  for (int i = 0; i < n; i++)
    for (int d = 0; d < 3; d++)
      x[d] += poly[i][d] / n;
  *room = INFINITY;
  for (int k = 0; k < 4; k++)
    *room = fmin(*room, pla_vec3_dot(plane[k], x) - plane[k][3]);
  return *room > 0.0;
}

/* two places across triangle @tri from each other, in the tet */
static bool
straddle(const Surface *s, int t, int tri, const double corner[4][3], double two[2][3])
{
  double x[3], room, u[3], v[3], n[3];
  const double *p = place(s->soup, tri, 0);
  if (!middle_of(s, t, tri, corner, x, &room))
    return false;
  pla_vec3_sub(place(s->soup, tri, 1), p, u);
  pla_vec3_sub(place(s->soup, tri, 2), p, v);
  pla_vec3_cross(u, v, n);
  const double length = pla_vec3_norm(n);
  /* near enough to the triangle not to step over an edge of it */
  const double size = fmin(pla_vec3_norm(u), pla_vec3_norm(v));
  const double step = 0.5 * fmin(room, 1e-3 * size);
  if (!(length > 0.0) || !(step > 0.0))
    return false;
  for (int side = 0; side < 2; side++)
    for (int d = 0; d < 3; d++)
      two[side][d] = x[d] + (side ? step : -step) * n[d] / length;
  return true;
}

/* ---- pieces ---- */

typedef struct {
  int *parent; /* slots: triangles, then four corners */
  int *number; /* root -> piece */
  Crossing *list, *leg;
  int room;
} Scratch;

static bool
scratch_reserve(Scratch *x, int n)
{
  if (n <= x->room)
    return true;
  const size_t room = 2 * (size_t)n + 64;
  free(x->parent);
  free(x->number);
  free(x->list);
  free(x->leg);
  x->parent = pla_array_new(room, sizeof *x->parent);
  x->number = pla_array_new(room, sizeof *x->number);
  x->list = pla_array_new(3 * room, sizeof *x->list);
  x->leg = pla_array_new(room, sizeof *x->leg);
  x->room = (int)room;
  return x->parent && x->number && x->list && x->leg;
}

static void
scratch_clear(Scratch *x)
{
  free(x->parent);
  free(x->number);
  free(x->list);
  free(x->leg);
}

/* The pieces of tet @t: their number, 0 when memory is short, -1 when something is not certain. */
static int
find_pieces(const Surface *s, int t, Scratch *scratch)
{
  PlaSoupPair *pair = s->soup->pair + s->soup->first[t];
  const int n = (int)(s->soup->first[t + 1] - s->soup->first[t]);
  double corner[4][3];
  const double *q[4] = { corner[0], corner[1], corner[2], corner[3] };
  bool inside[4];
  int *corner_piece = s->corner_piece + 4 * (size_t)t;
  if (!scratch_reserve(scratch, n + 4))
    return 0;
  int *parent = scratch->parent;
  for (int c = 0; c < 4; c++) {
    pla_lattice_corner(s->self, t, c, corner[c]);
    inside[c] = s->corners->inside[corner_index(s->corners, s->self->tet[t].x[c])];
    corner_piece[c] = inside[c] && n == 0 ? 0 : -1;
  }
  if (n == 0)
    return 1;

  /* patches */
  for (int i = 0; i < n + 4; i++)
    parent[i] = i;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++) {
      const int other = s->across[3 * (size_t)pair[i].simplex + (size_t)k];
      if (other <= pair[i].simplex)
        continue;
      const PlaSoupPair *there = pla_soup_find(s->soup, t, other);
      const double *edge[2] = { place(s->soup, pair[i].simplex, (k + 1) % 3),
                                place(s->soup, pair[i].simplex, (k + 2) % 3) };
      if (there && pla_hulls_meet(edge, 2, q, 4))
        unite(parent, i, (int)(there - pair));
    }

  /* ways from the patches and corners to one corner, of which any will do */
  int *patch = scratch->number;
  for (int i = 0; i < n; i++)
    patch[i] = pla_union_find_root(parent, i);
  int end = 0;
  for (; end < 4; end++) {
    bool fine = true;
    for (int c = 0; c < 4 && fine; c++) {
      double way[2][3];
      memcpy(way[0], corner[c], sizeof way[0]);
      memcpy(way[1], corner[end], sizeof way[1]);
      fine = c == end || follow(s, t, (const double(*)[3])way, 2, n + c, inside[c], -1, n + end,
                                inside[end], parent, scratch->list, scratch->leg);
    }
    for (int root = 0; root < n && fine; root++) {
      if (patch[root] != root)
        continue;
      bool done = false;
      for (int i = root, tries = 0; i < n && !done && tries < TRIANGLES; i++) {
        double way[3][3];
        if (patch[i] != root)
          continue;
        tries++;
        if (!straddle(s, t, pair[i].simplex, (const double(*)[3])corner, way))
          continue;
        memcpy(way[2], corner[end], sizeof way[2]);
        done = follow(s, t, (const double(*)[3])way, 3, -1, false, i, n + end, inside[end], parent,
                      scratch->list, scratch->leg);
      }
      fine = done;
    }
    if (fine)
      break;
    /* what was united holds, being certain; only more is to be found */
  }
  if (end == 4)
    return -1;

  /* numbers, by the first triangle or corner */
  int n_pieces = 0, *number = scratch->number;
  for (int i = 0; i < n + 4; i++) {
    if (i >= n && !inside[i - n])
      continue;
    const int root = pla_union_find_root(parent, i);
    if (root == i)
      number[i] = n_pieces++;
    if (i < n)
      pair[i].piece = number[root];
    else
      corner_piece[i - n] = number[root];
  }
  return n_pieces;
}

/* share of the tet that each piece fills, by ways from the middles of its parts to their ends */
static void
measure(const Surface *s, int t, const PlaBccGrid *grid, Scratch *scratch, double *fill)
{
  const PlaBccTet *tet = &s->self->tet[t];
  const int first = s->self->first_elem[t], n_pieces = s->self->first_elem[t + 1] - first;
  const PlaSoupPair *pair = s->soup->pair + s->soup->first[t];
  if (s->soup->first[t + 1] == s->soup->first[t]) {
    fill[first] = 1.0;
    return;
  }
  for (int p = 0; p < n_pieces; p++)
    fill[first + p] = 0.0;
  for (int part = 0; part < grid->n_tets; part++) {
    double x[3] = { 0.0, 0.0, 0.0 }, pos[3], corner[3];
    for (int c = 0; c < 4; c++)
      for (int k = 0; k < 4; k++)
        for (int d = 0; d < 3; d++)
          x[d] += 0.25 * grid->node[grid->tet[part][c]][k] * tet->x[k][d] / grid->n;
    for (int d = 0; d < 3; d++)
      pos[d] = s->self->frame.origin[d] + s->self->frame.unit * x[d];
    int piece = -1;
    for (int end = 0; end < 4; end++) {
      pla_lattice_corner(s->self, t, end, corner);
      const int n = walk(s, t, pos, corner, scratch->leg);
      if (n < 0)
        continue;
      piece = n == 0                       ? s->corner_piece[4 * (size_t)t + (size_t)end]
              : scratch->leg[0].leaves > 0 ? pair[scratch->leg[0].slot].piece
                                           : -1;
      break;
    }
    if (piece >= 0)
      fill[first + piece] += 1.0 / grid->n_tets;
  }
  /* too small to have been met */
  for (int p = 0; p < n_pieces; p++)
    fill[first + p] = fmax(fill[first + p], 0.25 / grid->n_tets);
}

/* ---- joints ---- */

static bool
join(int a, int corner, int b, const void *data, PlaBytes *joints)
{
  const Surface *s = data;
  const PlaLatticeEmbedding *self = s->self;
  const size_t before = joints->size;
  double x[3][3];
  const double *face[3] = { x[0], x[1], x[2] };
  for (int c = 0, n = 0; c < 4; c++) {
    if (c == corner)
      continue;
    pla_lattice_corner(self, a, c, x[n++]);
    const int here = s->corner_piece[4 * (size_t)a + (size_t)c];
    for (int d = 0; d < 4 && here >= 0; d++) {
      if (memcmp(self->tet[a].x[c], self->tet[b].x[d], sizeof self->tet[a].x[c]) != 0)
        continue;
      const PlaLatticeJoint joint = { { self->first_elem[a] + here,
                                        self->first_elem[b] +
                                            s->corner_piece[4 * (size_t)b + (size_t)d] } };
      if (!pla_lattice_add_joint(joints, before, &joint))
        return false;
    }
  }
  for (size_t i = s->soup->first[a]; i < s->soup->first[a + 1]; i++) {
    const int tri = s->soup->pair[i].simplex;
    const PlaSoupPair *there = pla_soup_find(s->soup, b, tri);
    const double *p[3] = { place(s->soup, tri, 0), place(s->soup, tri, 1), place(s->soup, tri, 2) };
    if (!there || !pla_hulls_meet(p, 3, face, 3))
      continue;
    const PlaLatticeJoint joint = { { self->first_elem[a] + s->soup->pair[i].piece,
                                      self->first_elem[b] + there->piece } };
    if (!pla_lattice_add_joint(joints, before, &joint))
      return false;
  }
  return true;
}

/* ---- all of it ---- */

/* Which corners of the lattice are inside; PLA_ERR_CONVERGENCE (and no sentence) when one stands
 * too near the surface to tell. */
static PlaStatus
find_corners(const PlaWinding *winding, const PlaLatticeFrame *frame, Corners *out,
             PlaProgress *progress, PlaError *err)
{
  size_t n = 2;
  for (int d = 0; d < 3; d++) {
    out->n[d] = frame->n[d] + 2;
    n *= (size_t)out->n[d];
  }
  double *pos = pla_array_new(n, 3 * sizeof *pos), *w = pla_array_new(n, sizeof *w);
  out->inside = pla_array_new(n, 1);
  PlaStatus st = PLA_OK;
  if (!pos || !w || !out->inside)
    st = pla_fail_memory(err, "the lattice's corners");
  for (size_t v = 0; st == PLA_OK && v < n; v++) {
    const int odd = v >= n / 2;
    const size_t at = v - (odd ? n / 2 : 0);
    const int x[3] = { 2 * (int)(at % (size_t)out->n[0]) - odd,
                       2 * (int)(at / (size_t)out->n[0] % (size_t)out->n[1]) - odd,
                       2 * (int)(at / (size_t)out->n[0] / (size_t)out->n[1]) - odd };
    pla_lattice_place(frame, x, pos + 3 * v);
  }
  if (st == PLA_OK)
    st = pla_winding_batch(winding, n, pos, progress, w, err);
  for (size_t v = 0; st == PLA_OK && v < n; v++) {
    out->inside[v] = w[v] > 0.5;
    if (fabs(w[v] - out->inside[v]) > 0.1) {
      /* on the surface, or where the surface does not wind around once or not at all */
      if (fabs(w[v] - nearbyint(w[v])) < 0.1)
        st = pla_fail(err, PLA_ERR_GEOMETRY,
                      "the surface winds %.0f times around (%.1f, %.1f, %.1f) mm: it is inside out "
                      "or overlaps itself",
                      nearbyint(w[v]), 1000.0 * pos[3 * v], 1000.0 * pos[3 * v + 1],
                      1000.0 * pos[3 * v + 2]);
      else
        st = PLA_ERR_CONVERGENCE;
    }
  }
  free(pos);
  free(w);
  return st;
}

/* roots with all corners inside, ascending */
static PlaStatus
find_inner(const PlaLatticeFrame *frame, const Corners *corners, PlaBytes *roots, PlaError *err)
{
  const int64_t n = 12 * (int64_t)frame->n[0] * frame->n[1] * frame->n[2];
  for (int64_t r = 0; r < n; r++) {
    const PlaBccTet tet = pla_bcc_root(frame->n, frame->depth, r);
    bool inside = true;
    for (int c = 0; c < 4 && inside; c++)
      inside = corners->inside[corner_index(corners, tet.x[c])];
    if (inside && !pla_bytes_append(roots, &r, sizeof r))
      return pla_fail_memory(err, "the lattice");
  }
  return PLA_OK;
}

/* one try; PLA_ERR_CONVERGENCE when something is not certain where the lattice stands */
static PlaStatus
embed(const PlaTriMesh *mesh, const PlaWinding *winding, const int *across, PlaProgress *progress,
      PlaLatticeEmbedding *self, PlaEmbedding *verts, PlaError *err)
{
  PlaSoup soup = { .per = 3, .n_simplices = mesh->n_tris, .vert = mesh->tri, .pos = mesh->pos };
  Corners corners = { .inside = NULL };
  Surface surface = { &soup, self, across, &corners, NULL };
  PlaBccGrid *grid = pla_bcc_grid_new(2);
  PlaBytes inner = { 0 };
  int *count = NULL;
  pla_progress_phase(progress, "Finding the inside", 0.3);
  PlaStatus st = grid ? find_corners(winding, &self->frame, &corners, progress, err)
                      : pla_fail_memory(err, "the lattice");
  if (st == PLA_OK)
    st = find_inner(&self->frame, &corners, &inner, err);
  pla_progress_phase(progress, "Finding material", 0.6);
  if (st == PLA_OK)
    st = pla_soup_init(&soup, self, (const int64_t *)(const void *)inner.data,
                       inner.size / sizeof(int64_t), progress, err);
  if (st == PLA_OK && !pla_progress_phase(progress, "Joining elements", 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK) {
    count = pla_array_new((size_t)self->n_tets, sizeof *count);
    surface.corner_piece = pla_array_new(4 * (size_t)self->n_tets, sizeof *surface.corner_piece);
    if (!count || !surface.corner_piece)
      st = pla_fail_memory(err, "the lattice's pieces");
  }
  if (st == PLA_OK) {
    int worst = 1;
#pragma omp parallel reduction(min : worst)
    {
      Scratch scratch = { 0 };
#pragma omp for schedule(dynamic, 256)
      for (int t = 0; t < self->n_tets; t++) {
        count[t] = find_pieces(&surface, t, &scratch);
        worst = count[t] < worst ? count[t] : worst;
      }
      scratch_clear(&scratch);
    }
    if (worst < 1)
      st = worst < 0 ? PLA_ERR_CONVERGENCE : pla_fail_memory(err, "the lattice's pieces");
  }
  if (st == PLA_OK)
    st = pla_lattice_number_elems(self, count, err);
  if (st == PLA_OK) {
    self->fill = pla_array_new((size_t)self->n_elems, sizeof *self->fill);
    self->region = pla_array_new0((size_t)self->n_elems, sizeof *self->region);
    if (!self->fill || !self->region)
      st = pla_fail_memory(err, "the lattice");
  }
  if (st == PLA_OK) {
    bool ok = true;
#pragma omp parallel reduction(&& : ok)
    {
      Scratch scratch = { 0 };
#pragma omp for schedule(dynamic, 256)
      for (int t = 0; t < self->n_tets; t++) {
        ok = ok && scratch_reserve(&scratch, (int)(soup.first[t + 1] - soup.first[t]) + 4);
        if (ok)
          measure(&surface, t, grid, &scratch, self->fill);
      }
      scratch_clear(&scratch);
    }
    if (!ok)
      st = pla_fail_memory(err, "the lattice's volumes");
  }
  if (st == PLA_OK)
    st = pla_lattice_join(self, join, &surface, err);
  if (st == PLA_OK)
    st = pla_soup_embed(&soup, self, mesh->n_verts, verts, err);
  pla_soup_clear(&soup);
  pla_bcc_grid_free(grid);
  pla_bytes_clear(&inner);
  free(corners.inside);
  free(count);
  free(surface.corner_piece);
  return st;
}

/* closed, and free of itself */
static PlaStatus
check_surface(const PlaTriMesh *mesh, PlaProgress *progress, PlaError *err)
{
  PlaTriTree *tree = NULL;
  int64_t n = 0;
  int *pairs = NULL;
  PlaStatus st = pla_tri_tree_new(mesh, &tree, err);
  if (st == PLA_OK)
    st = pla_self_intersections(tree, progress, &n, &pairs, err);
  if (st == PLA_OK && n > 0)
    st = pla_fail(err, PLA_ERR_GEOMETRY,
                  "the surface passes through itself in %lld places, first at triangles %d and %d; "
                  "the method embed takes such surfaces",
                  (long long)n, pairs[0], pairs[1]);
  free(pairs);
  pla_tri_tree_free(tree);
  return st;
}

PlaStatus
pla_lattice_from_surface(const PlaTriMesh *mesh, double cell, PlaProgress *progress,
                         PlaLatticeEmbedding **out, PlaEmbedding *verts, PlaError *err)
{
  const PlaSoup soup = {
    .per = 3, .n_simplices = mesh->n_tris, .vert = mesh->tri, .pos = mesh->pos
  };
  PlaWinding *winding = NULL;
  PlaLatticeEmbedding *self = NULL;
  int *across = NULL;
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  *out = NULL;
  *verts = (PlaEmbedding){ 0 };
  if (mesh->n_tris == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "The surface has no triangles");
  for (int v = 0; v < 3 * mesh->n_tris; v++)
    for (int d = 0; d < 3; d++) {
      const double x = mesh->pos[3 * (size_t)mesh->tri[v] + (size_t)d];
      lo[d] = fmin(lo[d], x);
      hi[d] = fmax(hi[d], x);
    }
  PlaStatus st = pla_soup_neighbours(&soup, &across, err);
  for (int e = 0; st == PLA_OK && e < 3 * mesh->n_tris; e++)
    if (across[e] < 0)
      st = pla_fail(err, PLA_ERR_GEOMETRY,
                    "the surface is open: triangle %d has no neighbour across one of its edges",
                    e / 3);
  pla_progress_phase(progress, "Checking the surface", 0.2);
  if (st == PLA_OK) {
    PlaProgressSpan span = pla_progress_push(progress);
    st = check_surface(mesh, progress, err);
    pla_progress_pop(progress, span);
  }
  if (st == PLA_OK)
    st = pla_winding_new(mesh, &winding, err);
  pla_progress_phase(progress, "Embedding", 1.0);
  for (int move = 0; st == PLA_OK && !*out; move++) {
    if (move == MOVES) {
      st = pla_fail(
          err, PLA_ERR_GEOMETRY,
          "the surface comes so close to itself, or has triangles so thin, that its pieces "
          "in a cell cannot be told apart; repair it or use other cells");
      break;
    }
    self = pla_array_new0(1, sizeof *self);
    if (!self)
      st = pla_fail_memory(err, "the lattice");
    if (st == PLA_OK)
      st = pla_lattice_frame_init(&self->frame, lo, hi, cell, 0, 0, err);
    if (st == PLA_OK) {
      /* a place that planes and edges of made things do not share */
      static const double part[3] = { 0.0361803398, 0.0473606797, 0.0266925030 };
      for (int d = 0; d < 3; d++)
        self->frame.origin[d] -= (1.0 + move) * part[d] * cell;
      PlaProgressSpan span = pla_progress_push(progress);
      st = embed(mesh, winding, across, progress, self, verts, err);
      pla_progress_pop(progress, span);
    }
    if (st == PLA_OK)
      *out = self;
    else
      pla_lattice_embedding_free(self);
    if (st == PLA_ERR_CONVERGENCE)
      st = PLA_OK;
  }
  pla_winding_free(winding);
  free(across);
  return st;
}
