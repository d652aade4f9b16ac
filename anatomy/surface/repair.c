/* Repair of triangle surfaces. */
#include "anatomy/surface/repair.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/winding.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* edges of a hole beyond which its triangulation is a fan: the best one costs their cube */
enum { MAX_LOOP = 1200 };

typedef struct {
  const double *pos;
  int n_verts, n_tris, room;
  int *tri;
} Soup;

/* an edge of a triangle, from its smaller to its larger vertex */
typedef struct {
  int a, b, tri;
  bool forward; /* the triangle runs from a to b */
} Side;

typedef struct {
  double x[3];
  int vert;
} Place;

static int
compare_places(const void *p, const void *q)
{
  const Place *a = p, *b = q;
  for (int d = 0; d < 3; d++)
    if (a->x[d] != b->x[d])
      return a->x[d] < b->x[d] ? -1 : 1;
  return (a->vert > b->vert) - (a->vert < b->vert);
}

/* the first vertex at the place of each */
static bool
weld(const PlaMesh *mesh, int *first, int *welded)
{
  Place *place = pla_array_new((size_t)mesh->n_verts, sizeof *place);
  if (!place)
    return false;
  for (int v = 0; v < mesh->n_verts; v++) {
    memcpy(place[v].x, mesh->pos + 3 * (size_t)v, sizeof place[v].x);
    place[v].vert = v;
  }
  qsort(place, (size_t)mesh->n_verts, sizeof *place, compare_places);
  *welded = 0;
  for (int i = 0, head = 0; i < mesh->n_verts; i++) {
    const double *p = place[i].x, *q = place[head].x;
    if (p[0] != q[0] || p[1] != q[1] || p[2] != q[2])
      head = i;
    first[place[i].vert] = place[head].vert;
    *welded += i != head;
  }
  free(place);
  return true;
}

typedef struct {
  int v[3], tri;
} Corners;

static int
compare_corners(const void *p, const void *q)
{
  const Corners *a = p, *b = q;
  for (int c = 0; c < 3; c++)
    if (a->v[c] != b->v[c])
      return a->v[c] < b->v[c] ? -1 : 1;
  return (a->tri > b->tri) - (a->tri < b->tri);
}

/* drops triangles with a repeated vertex, and all but the first of those with the same three */
static bool
drop_spare(Soup *s, int *dropped)
{
  Corners *key = pla_array_new((size_t)s->n_tris, sizeof *key);
  uint8_t *spare = pla_array_new0((size_t)s->n_tris, 1);
  if (!key || !spare) {
    free(key);
    free(spare);
    return false;
  }
  for (int t = 0; t < s->n_tris; t++) {
    const int *v = s->tri + 3 * (size_t)t;
    const int lo = v[0] < v[1] ? v[0] : v[1], hi = v[0] < v[1] ? v[1] : v[0];
    const int least = v[2] < lo ? v[2] : lo, most = v[2] > hi ? v[2] : hi;
    key[t] = (Corners){ { least, v[0] ^ v[1] ^ v[2] ^ least ^ most, most }, t };
    spare[t] = v[0] == v[1] || v[1] == v[2] || v[2] == v[0];
  }
  qsort(key, (size_t)s->n_tris, sizeof *key, compare_corners);
  for (int i = 1; i < s->n_tris; i++)
    if (memcmp(key[i].v, key[i - 1].v, sizeof key[i].v) == 0)
      spare[key[i].tri] = 1;
  int n = 0;
  for (int t = 0; t < s->n_tris; t++)
    if (!spare[t])
      memmove(s->tri + 3 * (size_t)n++, s->tri + 3 * (size_t)t, 3 * sizeof *s->tri);
  *dropped = s->n_tris - n;
  s->n_tris = n;
  free(key);
  free(spare);
  return true;
}

static int
compare_sides(const void *p, const void *q)
{
  const Side *x = p, *y = q;
  if (x->a != y->a)
    return x->a < y->a ? -1 : 1;
  if (x->b != y->b)
    return x->b < y->b ? -1 : 1;
  return (x->tri > y->tri) - (x->tri < y->tri);
}

/* all sides, equal edges together; NULL: no memory */
static Side *
sort_sides(const Soup *s)
{
  Side *side = pla_array_new(3 * (size_t)s->n_tris, sizeof *side);
  for (int t = 0; side && t < s->n_tris; t++)
    for (int c = 0; c < 3; c++) {
      const int a = s->tri[3 * (size_t)t + c], b = s->tri[3 * (size_t)t + (c + 1) % 3];
      side[3 * (size_t)t + c] = (Side){ a < b ? a : b, a < b ? b : a, t, a < b };
    }
  if (side)
    qsort(side, 3 * (size_t)s->n_tris, sizeof *side, compare_sides);
  return side;
}

/* the next run of sides of one edge from @i on ends here */
static int
run_end(const Side *side, int n, int i)
{
  int e = i + 1;
  while (e < n && side[e].a == side[i].a && side[e].b == side[i].b)
    e++;
  return e;
}

static void
turn_over(Soup *s, int t)
{
  const int swap = s->tri[3 * (size_t)t + 1];
  s->tri[3 * (size_t)t + 1] = s->tri[3 * (size_t)t + 2];
  s->tri[3 * (size_t)t + 2] = swap;
}

/* ---- orientation ---- */

typedef struct {
  int *across;   /* n_tris x 3: the neighbour over each side, -1: none; in the order found */
  uint8_t *same; /* n_tris x 3: whether it runs the other way along that side, as it should */
  int *piece;    /* n_tris */
  uint8_t *turn; /* n_tris */
  int *queue;
} Walk;

static void
walk_clear(Walk *w)
{
  free(w->across);
  free(w->same);
  free(w->piece);
  free(w->turn);
  free(w->queue);
}

/* pieces joined over edges of two triangles; turn: relative to the piece's first */
static int
walk_pieces(const Soup *s, const Side *side, Walk *w)
{
  const int n = 3 * s->n_tris;
  int pieces = 0;
  memset(w->across, -1, (size_t)n * sizeof *w->across);
  memset(w->piece, -1, (size_t)s->n_tris * sizeof *w->piece);
  for (int i = 0; i < n; i = run_end(side, n, i)) {
    if (run_end(side, n, i) != i + 2)
      continue;
    for (int h = 0; h < 2; h++) {
      const int t = side[i + h].tri, u = side[i + 1 - h].tri;
      int c = 0;
      while (w->across[3 * (size_t)t + c] >= 0)
        c++;
      w->across[3 * (size_t)t + c] = u;
      w->same[3 * (size_t)t + c] = side[i].forward != side[i + 1].forward;
    }
  }
  for (int t = 0; t < s->n_tris; t++) {
    if (w->piece[t] >= 0)
      continue;
    int head = 0, tail = 0;
    w->piece[t] = pieces;
    w->turn[t] = 0;
    w->queue[tail++] = t;
    while (head < tail) {
      const int u = w->queue[head++];
      for (int c = 0; c < 3 && w->across[3 * (size_t)u + c] >= 0; c++) {
        const int x = w->across[3 * (size_t)u + c];
        if (w->piece[x] >= 0)
          continue;
        w->piece[x] = pieces;
        w->turn[x] = w->turn[u] ^ !w->same[3 * (size_t)u + c];
        w->queue[tail++] = x;
      }
    }
    pieces++;
  }
  return pieces;
}

/* turns triangles until neighbours agree; the majority of each piece stays as it is */
static bool
orient(Soup *s, int *turned, Walk *w, int *n_pieces)
{
  Side *side = sort_sides(s);
  const size_t n = (size_t)s->n_tris;
  w->across = pla_array_new(3 * n, sizeof *w->across);
  w->same = pla_array_new(3 * n, 1);
  w->piece = pla_array_new(n, sizeof *w->piece);
  w->turn = pla_array_new0(n, 1);
  w->queue = pla_array_new(n, sizeof *w->queue);
  int *votes = NULL;
  bool ok = side && w->across && w->same && w->piece && w->turn && w->queue;
  if (ok) {
    *n_pieces = walk_pieces(s, side, w);
    votes = pla_array_new0((size_t)*n_pieces, sizeof *votes);
    ok = votes != NULL;
  }
  if (ok) {
    for (int t = 0; t < s->n_tris; t++)
      votes[w->piece[t]] += w->turn[t] ? 1 : -1;
    for (int t = 0; t < s->n_tris; t++)
      if (w->turn[t] != (votes[w->piece[t]] > 0)) {
        turn_over(s, t);
        (*turned)++;
      }
  }
  free(votes);
  free(side);
  return ok;
}

/* turns pieces that are inside out unless they stand inside the others: then they are cavities */
static PlaStatus
face_outwards(Soup *s, const int *piece, int n_pieces, int *turned, PlaError *err)
{
  double *volume = pla_array_new0((size_t)n_pieces, sizeof *volume);
  int *first = pla_array_new((size_t)n_pieces, sizeof *first);
  PlaStatus st = volume && first ? PLA_OK : pla_fail_memory(err, "the surface");
  if (st == PLA_OK) {
    memset(first, -1, (size_t)n_pieces * sizeof *first);
    for (int t = 0; t < s->n_tris; t++) {
      const int *v = s->tri + 3 * (size_t)t;
      double n[3];
      pla_vec3_cross(s->pos + 3 * (size_t)v[1], s->pos + 3 * (size_t)v[2], n);
      volume[piece[t]] += pla_vec3_dot(s->pos + 3 * (size_t)v[0], n);
      if (first[piece[t]] < 0)
        first[piece[t]] = t;
    }
  }
  for (int p = 0; st == PLA_OK && p < n_pieces; p++) {
    double around = 0.0;
    if (!(volume[p] < 0.0))
      continue;
    /* the winding number of all other pieces, either way round */
    if (n_pieces > 1) {
      const double *x = s->pos + 3 * (size_t)s->tri[3 * (size_t)first[p]];
      for (int t = 0; t < s->n_tris; t++) {
        const PlaTriMesh one = { s->n_verts, 1, s->pos, s->tri + 3 * (size_t)t };
        if (piece[t] != p)
          around += pla_winding_exact(&one, x);
      }
    }
    if (fabs(around) > 0.5)
      continue;
    for (int t = 0; t < s->n_tris; t++)
      if (piece[t] == p) {
        turn_over(s, t);
        (*turned)++;
      }
  }
  free(volume);
  free(first);
  return st;
}

/* ---- holes ---- */

static void
unit_normal(const double *a, const double *b, const double *c, double n[3], double *area)
{
  double u[3], v[3];
  pla_vec3_sub(b, a, u);
  pla_vec3_sub(c, a, v);
  pla_vec3_cross(u, v, n);
  const double length = pla_vec3_norm(n);
  *area = 0.5 * length;
  for (int d = 0; d < 3 && length > 0.0; d++)
    n[d] /= length;
}

static bool
add_tri(Soup *s, int a, int b, int c)
{
  if (s->n_tris == s->room) {
    void *tri = s->tri;
    const int room = s->room < INT_MAX / 9 ? s->room + s->room / 2 + 64 : INT_MAX / 3;
    if (room <= s->n_tris || !pla_array_resize(&tri, (size_t)room, 3 * sizeof *s->tri))
      return false;
    s->tri = tri;
    s->room = room;
  }
  memcpy(s->tri + 3 * (size_t)s->n_tris++, (int[3]){ a, b, c }, 3 * sizeof *s->tri);
  return true;
}

/* The triangulation of a loop (vertices in the order that new triangles run) of least sharpest bend
 * between its triangles, then of least area.  @apex: the third vertex of the old triangle at each
 * side loop[i], loop[i + 1], so that the rim counts too. */
static bool
fill_loop(Soup *s, const int *loop, const int *apex, int n)
{
  const size_t size = (size_t)n * (size_t)n;
  double *bend = pla_array_new0(size, sizeof *bend), *area = pla_array_new0(size, sizeof *area);
  int *split = pla_array_new0(size, sizeof *split),
      (*stack)[2] = pla_array_new((size_t)n + 1, sizeof *stack);
  bool ok = bend && area && split && stack;
#define P(i) (s->pos + 3 * (size_t)loop[i])
  for (int gap = 2; ok && gap < n; gap++)
    for (int i = 0; i + gap < n; i++) {
      const int k = i + gap;
      const size_t at = (size_t)i * (size_t)n + (size_t)k;
      bend[at] = INFINITY;
      area[at] = INFINITY;
      for (int m = i + 1; m < k; m++) {
        const size_t left = (size_t)i * (size_t)n + (size_t)m,
                     right = (size_t)m * (size_t)n + (size_t)k;
        double normal[3], a, worst = fmax(bend[left], bend[right]);
        unit_normal(P(i), P(m), P(k), normal, &a);
        /* against what is beyond (i, m), (m, k) and, at last, (i, k) */
        const int from[3] = { i, m, i }, to[3] = { m, k, k };
        for (int e = 0; e < 3; e++) {
          double beyond[3], b;
          const bool rim = to[e] == from[e] + 1, closing = e == 2;
          if (closing && gap != n - 1)
            continue;
          if (rim)
            unit_normal(P(to[e]), P(from[e]), s->pos + 3 * (size_t)apex[from[e]], beyond, &b);
          else if (closing)
            unit_normal(P(i), P(k), s->pos + 3 * (size_t)apex[n - 1], beyond, &b);
          else
            unit_normal(P(from[e]), P(split[(size_t)from[e] * (size_t)n + (size_t)to[e]]), P(to[e]),
                        beyond, &b);
          worst = fmax(worst, 1.0 - pla_vec3_dot(normal, beyond));
        }
        const double sum = area[left] + area[right] + a;
        if (worst < bend[at] - 1e-9 || (worst < bend[at] + 1e-9 && sum < area[at])) {
          bend[at] = worst;
          area[at] = sum;
          split[at] = m;
        }
      }
    }
#undef P
  int depth = 0;
  if (ok) {
    stack[depth][0] = 0;
    stack[depth++][1] = n - 1;
  }
  while (ok && depth > 0) {
    const int i = stack[--depth][0], k = stack[depth][1];
    if (k - i < 2)
      continue;
    const int m = split[(size_t)i * (size_t)n + (size_t)k];
    ok = add_tri(s, loop[i], loop[m], loop[k]);
    stack[depth][0] = i;
    stack[depth++][1] = m;
    stack[depth][0] = m;
    stack[depth++][1] = k;
  }
  free(bend);
  free(area);
  free(split);
  free(stack);
  return ok;
}

/* a loop so long is filled by triangles from its first vertex */
static bool
fan_loop(Soup *s, const int *loop, int n)
{
  bool ok = true;
  for (int i = 1; ok && i + 1 < n; i++)
    ok = add_tri(s, loop[0], loop[i], loop[i + 1]);
  return ok;
}

typedef struct {
  int from, to, apex; /* as a new triangle runs; the old triangle's third vertex */
  bool used;
} Rim;

static int
compare_rims(const void *p, const void *q)
{
  const Rim *x = p, *y = q;
  return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

static int
find_rim(const Rim *rim, int n, int from)
{
  int lo = 0, hi = n;
  while (lo < hi) {
    const int mid = (lo + hi) / 2;
    if (rim[mid].from < from)
      lo = mid + 1;
    else
      hi = mid;
  }
  while (lo < n && rim[lo].from == from && rim[lo].used)
    lo++;
  return lo < n && rim[lo].from == from ? lo : -1;
}

/* follows open sides; a vertex met again closes a hole */
static bool
fill_holes(Soup *s, const Side *side, int *holes, PlaProgress *progress)
{
  const int n_sides = 3 * s->n_tris;
  int n_rims = 0;
  Rim *rim = pla_array_new((size_t)n_sides, sizeof *rim);
  int *path = pla_array_new((size_t)n_sides + 1, sizeof *path),
      *apex = pla_array_new((size_t)n_sides + 1, sizeof *apex);
  int *place = pla_array_new((size_t)s->n_verts, sizeof *place); /* in the path, -1: not there */
  bool ok = rim && path && apex && place;
  for (int i = 0; ok && i < n_sides; i = run_end(side, n_sides, i)) {
    if (run_end(side, n_sides, i) != i + 1)
      continue;
    const int *v = s->tri + 3 * (size_t)side[i].tri, a = side[i].a, b = side[i].b;
    rim[n_rims++] = (Rim){ side[i].forward ? b : a, side[i].forward ? a : b,
                           v[0] ^ v[1] ^ v[2] ^ a ^ b, false };
  }
  if (ok) {
    qsort(rim, (size_t)n_rims, sizeof *rim, compare_rims);
    memset(place, -1, (size_t)s->n_verts * sizeof *place);
  }
  for (int r = 0; ok && r < n_rims; r++) {
    int n = 0, at = rim[r].used ? -1 : r;
    while (ok && at >= 0) {
      rim[at].used = true;
      path[n] = rim[at].from;
      apex[n] = rim[at].apex;
      place[path[n]] = n;
      n++;
      const int to = rim[at].to;
      if (place[to] >= 0) {
        const int from = place[to], length = n - from;
        if (length >= 3) {
          ok = length <= MAX_LOOP ? fill_loop(s, path + from, apex + from, length)
                                  : fan_loop(s, path + from, length);
          (*holes)++;
        }
        for (int i = from; i < n; i++)
          place[path[i]] = -1;
        n = from;
      }
      at = find_rim(rim, n_rims, to);
      ok = ok && !pla_progress_cancelled(progress);
    }
    for (int i = 0; i < n; i++)
      place[path[i]] = -1;
  }
  free(rim);
  free(path);
  free(apex);
  free(place);
  return ok;
}

/* ---- all together ---- */

static PlaStatus
harvest(const Soup *s, PlaMesh **out, PlaError *err)
{
  int *id = pla_array_new((size_t)s->n_verts, sizeof *id), n_verts = 0;
  PlaMesh *mesh = NULL;
  if (!id)
    return pla_fail_memory(err, "the surface");
  memset(id, -1, (size_t)s->n_verts * sizeof *id);
  for (size_t k = 0; k < 3 * (size_t)s->n_tris; k++)
    id[s->tri[k]] = 0;
  for (int v = 0; v < s->n_verts; v++)
    if (id[v] >= 0)
      id[v] = n_verts++;
  PlaStatus st = pla_mesh_new(n_verts, s->n_tris, 0, 0, &mesh, err);
  if (st == PLA_OK) {
    for (int v = 0; v < s->n_verts; v++)
      if (id[v] >= 0)
        memcpy(mesh->pos + 3 * (size_t)id[v], s->pos + 3 * (size_t)v, 3 * sizeof *mesh->pos);
    for (size_t k = 0; k < 3 * (size_t)s->n_tris; k++)
      mesh->tri[k] = id[s->tri[k]];
    *out = mesh;
  }
  free(id);
  return st;
}

PlaStatus
pla_surface_repair(const PlaMesh *mesh, PlaProgress *progress, PlaMesh **out,
                   PlaRepairReport *report, PlaError *err)
{
  Soup s = { mesh->pos, mesh->n_verts, mesh->n_tris, mesh->n_tris, NULL };
  PlaRepairReport r = { 0 };
  Walk w = { 0 };
  Side *side = NULL;
  int n_pieces = 0;
  *out = NULL;
  if (mesh->n_tris == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "There are no triangles to repair");
  int *first = pla_array_new((size_t)mesh->n_verts, sizeof *first);
  s.tri = pla_array_dup(mesh->tri, (size_t)mesh->n_tris, 3 * sizeof *s.tri);
  bool ok = first && s.tri && weld(mesh, first, &r.welded_verts);
  for (size_t k = 0; ok && k < 3 * (size_t)s.n_tris; k++)
    s.tri[k] = first[s.tri[k]];
  ok = ok && drop_spare(&s, &r.dropped_tris) && orient(&s, &r.turned_tris, &w, &n_pieces);
  PlaStatus st = ok ? PLA_OK : pla_fail_memory(err, "the surface");
  if (st == PLA_OK) {
    side = sort_sides(&s);
    const int before = s.n_tris, n_sides = 3 * before;
    ok = side != NULL;
    for (int i = 0; ok && i < n_sides; i = run_end(side, n_sides, i))
      r.crowded_edges += run_end(side, n_sides, i) > i + 2;
    ok = ok && fill_holes(&s, side, &r.filled_holes, progress);
    r.new_tris = s.n_tris - before;
    if (!ok)
      st = pla_progress_cancelled(progress) ? pla_fail_cancelled(err)
                                            : pla_fail_memory(err, "the surface");
  }
  /* pieces again, now that they are closed */
  if (st == PLA_OK) {
    int none = 0;
    Walk again = { 0 };
    ok = orient(&s, &none, &again, &n_pieces);
    st = ok ? face_outwards(&s, again.piece, n_pieces, &r.turned_tris, err)
            : pla_fail_memory(err, "the surface");
    walk_clear(&again);
  }
  if (st == PLA_OK && s.n_tris == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "No triangle of the surface has an area");
  if (st == PLA_OK)
    st = harvest(&s, out, err);
  if (report)
    *report = r;
  walk_clear(&w);
  free(side);
  free(first);
  free(s.tri);
  return st;
}
