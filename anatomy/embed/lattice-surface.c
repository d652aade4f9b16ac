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
#include "anatomy/mesh/predicates.h"
#include "anatomy/mesh/tri-tree.h"
#include "anatomy/mesh/winding.h"

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
  double err; /* how far off that may be by rounding */
  int slot;   /* triangle, counted in the tet */
  int leaves; /* 1: from material to outside, -1: into it */
} Crossing;

/* 1: the segment crosses the triangle at *out; 0: it does not; -1: not certain */
static int
cross(const PlaSoup *soup, int t, const double a[3], const double b[3], Crossing *out)
{
  const double *p[3] = { place(soup, t, 0), place(soup, t, 1), place(soup, t, 2) };
  for (int d = 0; d < 3; d++) {
    const double lo = a[d] < b[d] ? a[d] : b[d], hi = a[d] < b[d] ? b[d] : a[d];
    if ((p[0][d] < lo && p[1][d] < lo && p[2][d] < lo) ||
        (p[0][d] > hi && p[1][d] > hi && p[2][d] > hi))
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
  if (da == db)
    return -1;
  out->at = da / (da - db);
  /* products of edges, and of coordinates that lost digits in their differences */
  const double size = pla_vec3_norm(ra) + pla_vec3_norm(rb) + pla_vec3_norm(p[0]);
  out->err = 16.0 * DBL_EPSILON * pla_vec3_norm(u) * pla_vec3_norm(v) * size / fabs(da - db);
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
    if (!(list[i].at - list[i - 1].at > list[i].err + list[i - 1].err) ||
        list[i].leaves == list[i - 1].leaves)
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

/* the part of a polygon of @n corners (room for 8) on the inner side of a plane; how many it has */
static int
clip(double poly[8][3], int n, const double plane[4])
{
  /* after Sutherland and Hodgman (1974) */
  double out[8][3];
  int m = 0;
  for (int i = 0; i < n; i++) {
    const double *a = poly[i], *b = poly[(i + 1) % n];
    const double da = pla_vec3_dot(plane, a) - plane[3], db = pla_vec3_dot(plane, b) - plane[3];
    if (da >= 0.0)
      memcpy(out[m++], a, sizeof out[0]);
    if ((da >= 0.0) != (db >= 0.0)) {
      for (int d = 0; d < 3; d++)
        out[m][d] = a[d] + da / (da - db) * (b[d] - a[d]);
      m++;
    }
  }
  memcpy(poly, out, sizeof out);
  return m;
}

static int
triangle_in(const PlaSoup *soup, int tri, double poly[8][3])
{
  for (int c = 0; c < 3; c++)
    memcpy(poly[c], place(soup, tri, c), sizeof poly[c]);
  return 3;
}

/* A place of triangle @tri well inside a tet, and how far it is from the tet's faces: the middle of
 * what they have in common. */
static bool
middle_of(const PlaSoup *soup, int tri, const double plane[4][4], double x[3], double *room)
{
  double poly[8][3];
  int n = triangle_in(soup, tri, poly);
  for (int k = 0; k < 4 && n > 0; k++)
    n = clip(poly, n, plane[k]);
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
straddle(const PlaSoup *soup, int tri, const double plane[4][4], double two[2][3])
{
  double x[3], room, u[3], v[3], n[3];
  const double *p = place(soup, tri, 0);
  if (!middle_of(soup, tri, plane, x, &room))
    return false;
  pla_vec3_sub(place(soup, tri, 1), p, u);
  pla_vec3_sub(place(soup, tri, 2), p, v);
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
  int *parent;           /* slots: triangles, then four corners */
  int *number;           /* root -> piece */
  double *area, *length; /* of pieces */
  Crossing *list, *leg;
  int room;
} Scratch;

static void
scratch_clear(Scratch *x)
{
  free(x->parent);
  free(x->number);
  free(x->area);
  free(x->length);
  free(x->list);
  free(x->leg);
  *x = (Scratch){ 0 };
}

static bool
scratch_reserve(Scratch *x, int n)
{
  if (n <= x->room)
    return true;
  const size_t room = 2 * (size_t)n + 64;
  scratch_clear(x);
  x->parent = pla_array_new(room, sizeof *x->parent);
  x->number = pla_array_new(room, sizeof *x->number);
  x->area = pla_array_new(room, sizeof *x->area);
  x->length = pla_array_new(room, sizeof *x->length);
  x->list = pla_array_new(3 * room, sizeof *x->list);
  x->leg = pla_array_new(room, sizeof *x->leg);
  x->room = (int)room;
  if (x->parent && x->number && x->area && x->length && x->list && x->leg)
    return true;
  scratch_clear(x);
  return false;
}

/* The pieces of tet @t: their number, 0 when memory is short, -1 when something is not certain. */
static int
find_pieces(const Surface *s, int t, Scratch *scratch)
{
  PlaSoupPair *pair = s->soup->pair + s->soup->first[t];
  const int n = (int)(s->soup->first[t + 1] - s->soup->first[t]);
  double corner[4][3], plane[4][4];
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
  pla_tet_planes((const double(*)[3])corner, plane);

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
        if (!straddle(s->soup, pair[i].simplex, (const double(*)[4])plane, way))
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

/* ---- volumes ---- */

/* length of each piece along the edge from corner @a to corner @b of tet @t, added to @length;
 * false when crossings are not certain */
static bool
add_lengths(const Surface *s, int t, int a, int b, const double corner[4][3], Crossing *list,
            double *length)
{
  const PlaSoupPair *pair = s->soup->pair + s->soup->first[t];
  const int *corner_piece = s->corner_piece + 4 * (size_t)t;
  const int n = walk(s, t, corner[a], corner[b], list);
  double way[3];
  if (n < 0)
    return false;
  pla_vec3_sub(corner[b], corner[a], way);
  const double all = pla_vec3_norm(way);
  double from = 0.0;
  int piece = corner_piece[a];
  for (int i = 0; i <= n; i++) {
    const double to = i < n ? list[i].at : 1.0;
    if (piece >= 0)
      length[piece] += all * (to - from);
    if (i < n)
      piece = list[i].leaves > 0 ? -1 : pair[list[i].slot].piece;
    from = to;
  }
  return true;
}

/* Share of the tet that each piece fills, by cones over its boundary to corner @apex: those over
 * three faces are flat, that over the fourth has the area of the piece there, which in turn comes
 * from triangles to corner @q and, opposite to it, from lengths along the edge from @r to @e. */
static bool
measure_from(const Surface *s, int t, const int order[4], double *volume, double *area,
             double *length, Crossing *list)
{
  const int apex = order[0], q = order[1], r = order[2], e = order[3];
  const int n_pieces = s->self->first_elem[t + 1] - s->self->first_elem[t];
  double corner[4][3], plane[4][4], along[3], across[3], x[3];
  for (int c = 0; c < 4; c++)
    pla_lattice_corner(s->self, t, c, corner[c]);
  pla_tet_planes((const double(*)[3])corner, plane);
  for (int p = 0; p < n_pieces; p++)
    volume[p] = area[p] = length[p] = 0.0;
  if (!add_lengths(s, t, r, e, (const double(*)[3])corner, list, length))
    return false;
  /* how far q is from the edge, and the apex from the face */
  pla_vec3_sub(corner[e], corner[r], along);
  pla_vec3_sub(corner[q], corner[r], x);
  pla_vec3_cross(along, x, across);
  const double width = pla_vec3_norm(across) / pla_vec3_norm(along);
  const double height = pla_vec3_dot(plane[apex], corner[apex]) - plane[apex][3];
  for (int p = 0; p < n_pieces; p++)
    area[p] = 0.5 * width * length[p];

  for (size_t i = s->soup->first[t]; i < s->soup->first[t + 1]; i++) {
    const PlaSoupPair *pair = &s->soup->pair[i];
    double poly[8][3], u[3], v[3], normal[3], sum[3] = { 0.0, 0.0, 0.0 };
    int n = triangle_in(s->soup, pair->simplex, poly);
    pla_vec3_sub(poly[1], poly[0], u);
    pla_vec3_sub(poly[2], poly[0], v);
    pla_vec3_cross(u, v, normal);
    for (int k = 1; k < 4 && n > 0; k++)
      n = clip(poly, n, plane[order[k]]);
    /* where it passes through the face opposite to the apex */
    double cut[2][3];
    int n_cut = 0;
    for (int c = 0; c < n && n_cut < 2; c++) {
      const double *a = poly[c], *b = poly[(c + 1) % n];
      const double da = pla_vec3_dot(plane[apex], a) - plane[apex][3];
      const double db = pla_vec3_dot(plane[apex], b) - plane[apex][3];
      if ((da >= 0.0) == (db >= 0.0))
        continue;
      for (int d = 0; d < 3; d++)
        cut[n_cut][d] = a[d] + da / (da - db) * (b[d] - a[d]);
      n_cut++;
    }
    if (n_cut == 2) {
      pla_vec3_sub(cut[1], cut[0], u);
      pla_vec3_cross(u, plane[apex], v);
      pla_vec3_sub(cut[0], corner[q], x);
      const double twice = pla_vec3_dot(x, v);
      area[pair->piece] += pla_vec3_dot(v, normal) < 0.0 ? -0.5 * twice : 0.5 * twice;
    }
    n = clip(poly, n, plane[apex]);
    for (int c = 1; c + 1 < n; c++) {
      pla_vec3_sub(poly[c], poly[0], u);
      pla_vec3_sub(poly[c + 1], poly[0], v);
      pla_vec3_cross(u, v, x);
      for (int d = 0; d < 3; d++)
        sum[d] += x[d];
    }
    if (n > 0) {
      pla_vec3_sub(poly[0], corner[apex], x);
      volume[pair->piece] += pla_vec3_dot(sum, x) / 6.0;
    }
  }
  for (int p = 0; p < n_pieces; p++)
    volume[p] += height * area[p] / 3.0;
  return true;
}

/* false when the volumes cannot be had for want of certain crossings on any edge */
static bool
measure(const Surface *s, int t, Scratch *scratch, double *fill)
{
  const int first = s->self->first_elem[t], n_pieces = s->self->first_elem[t + 1] - first;
  if (s->soup->first[t + 1] == s->soup->first[t]) {
    fill[first] = 1.0;
    return true;
  }
  static const int orders[6][4] = { { 0, 1, 2, 3 }, { 0, 2, 1, 3 }, { 0, 3, 1, 2 },
                                    { 1, 2, 0, 3 }, { 1, 3, 0, 2 }, { 2, 3, 0, 1 } };
  const double whole = pla_lattice_volume(s->self, first);
  for (int o = 0; o < 6; o++)
    if (measure_from(s, t, orders[o], fill + first, scratch->area, scratch->length, scratch->leg)) {
      for (int p = 0; p < n_pieces; p++)
        fill[first + p] = fmin(fmax(fill[first + p] / whole, 0.0), 1.0);
      return true;
    }
  return false;
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
  PlaBytes inner = { 0 };
  int *count = NULL;
  pla_progress_phase(progress, "Finding the inside", 0.3);
  PlaStatus st = find_corners(winding, &self->frame, &corners, progress, err);
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
    bool ok = true, certain = true;
#pragma omp parallel reduction(&& : ok, certain)
    {
      Scratch scratch = { 0 };
#pragma omp for schedule(dynamic, 256)
      for (int t = 0; t < self->n_tets; t++) {
        ok = ok && scratch_reserve(&scratch, (int)(soup.first[t + 1] - soup.first[t]) + 4);
        certain = certain && ok && measure(&surface, t, &scratch, self->fill);
      }
      scratch_clear(&scratch);
    }
    if (!ok)
      st = pla_fail_memory(err, "the lattice's volumes");
    else if (!certain)
      st = PLA_ERR_CONVERGENCE;
  }
  if (st == PLA_OK)
    st = pla_lattice_join(self, join, &surface, err);
  if (st == PLA_OK)
    st = pla_soup_embed(&soup, self, mesh->n_verts, verts, err);
  pla_soup_clear(&soup);
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
