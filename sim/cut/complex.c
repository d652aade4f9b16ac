/* Convex cells between the cutting planes of one tet.
 *
 *   l_i = (-1)^(i+1) det of the three planes without column i     (a point, up to its factor)
 *   side(point, plane) = sign det [p; q; r; plane] * sign of the factor
 *
 * A rounded dot product with a bound on its error answers most questions; 512-bit integers answer
 * the rest.  Representing points by planes follows Bernstein and Fussell, "Fast, exact, linear
 * booleans" (2009); duplicating whole elements for their pieces follows Sifakis, Der and Fedkiw,
 * "Arbitrary cutting of deformable tetrahedralized objects" (2007). */
#include "sim/cut/complex-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 16 roundings of at most 2^-53 lead to a point's dot product with a plane; twice that, to spare */
#define PLA_CUT_ROUNDING 0x1p-48
/* of barycentric coordinates; worse ones are made from exact minors */
#define PLA_CUT_ACCURACY 0x1p-38

/* ---- planes and points ---- */

void
pla_cut_plane_round(PlaCutPlane *plane)
{
  for (int i = 0; i < 4; i++)
    plane->a[i] = (double)plane->d[i];
}

int
pla_cut_add_plane(PlaCutComplex *self, const PlaCutPlane *plane)
{
  if (!pla_array_reserve(&self->plane, self->n_planes + 1, &self->cap_planes, sizeof *self->plane))
    return -1;
  self->plane[self->n_planes] = *plane;
  return self->n_planes++;
}

static int
exact_side(const PlaCutComplex *self, const PlaCutVert *v, const PlaInt128 d[4])
{
  const PlaCutPlane *p = self->plane;
  PlaWide8 det = pla_wide_det4(p[v->plane[0]].d, p[v->plane[1]].d, p[v->plane[2]].d, d);
  return pla_wide8_sign(&det);
}

static bool
passes_through(const PlaCutPlane *plane, int name)
{
  return plane->through[0] == name || plane->through[1] == name || plane->through[2] == name;
}

/* Whether two planes agree, up to a sign, where the coordinates of @faces are 0. */
static bool
planes_agree(const PlaCutPlane *p, const PlaCutPlane *q, uint8_t faces)
{
  bool same = true, opposite = true;
  for (int i = 0; i < 4; i++)
    if (!(faces >> i & 1)) {
      same = same && p->d[i] == q->d[i];
      opposite = opposite && p->d[i] == -q->d[i];
    }
  return same || opposite;
}

/* Whether the point lies on the plane because of where both come from: neighbouring triangles share
 * edges and corners, so that most questions which rounding leaves open are of this kind.  false
 * says nothing. */
static bool
is_on(const PlaCutComplex *self, const PlaCutVert *v, const PlaCutPlane *q)
{
  const PlaCutPlane *p[3];
  for (int k = 0; k < 3; k++) {
    p[k] = &self->plane[v->plane[k]];
    if (planes_agree(p[k], q, v->faces))
      return true;
  }
  for (int i = 0; i < 3 && q->through[i]; i++) {
    const int name = q->through[i];
    const bool has[3] = { passes_through(p[0], name), passes_through(p[1], name),
                          passes_through(p[2], name) };
    /* three planes that meet in one point all pass through this vertex: it is the point */
    if (has[0] && has[1] && has[2])
      return true;
    /* two of them pass through an edge of the triangle: the point is on its line */
    for (int j = i + 1; j < 3 && q->through[j]; j++) {
      int n = 0;
      for (int k = 0; k < 3; k++)
        n += has[k] && passes_through(p[k], q->through[j]);
      if (n >= 2)
        return true;
    }
  }
  return false;
}

static int
find_side(const PlaCutComplex *self, const PlaCutVert *v, int plane)
{
  const PlaCutPlane *q = &self->plane[plane];
  if (v->plane[0] == plane || v->plane[1] == plane || v->plane[2] == plane)
    return 0;
  double dot = 0.0, bound = 0.0;
  for (int i = 0; i < 4; i++) {
    dot += v->l[i] * q->a[i];
    bound += v->bound[i] * fabs(q->a[i]);
  }
  if (fabs(dot) > PLA_CUT_ROUNDING * bound)
    return dot > 0.0 ? v->sign : -v->sign;
  return is_on(self, v, q) ? 0 : v->sign * exact_side(self, v, q->d);
}

int
pla_cut_complex_side(PlaCutComplex *self, int vert, int plane)
{
  PlaCutVert *v = &self->vert[vert];
  const int k = plane - self->at_work + 1;
  if (self->at_work && k >= 0 && k < 4) {
    if (!(v->known >> k & 1)) {
      v->beside |= (uint8_t)((find_side(self, v, plane) + 1) << 2 * k);
      v->known |= (uint8_t)(1u << k);
    }
    return (v->beside >> 2 * k & 3) - 1;
  }
  if (v->asked == plane)
    return v->answer;
  int side = find_side(self, v, plane);
  v->asked = plane;
  v->answer = (int8_t)side;
  return side;
}

double
pla_cut_det3(const double *p, const double *q, const double *r, int i, int j, int k)
{
  return p[i] * (q[j] * r[k] - q[k] * r[j]) - p[j] * (q[i] * r[k] - q[k] * r[i]) +
         p[k] * (q[i] * r[j] - q[j] * r[i]);
}

static double
permanent3(const double *p, const double *q, const double *r, int i, int j, int k)
{
  return fabs(p[i]) * (fabs(q[j] * r[k]) + fabs(q[k] * r[j])) +
         fabs(p[j]) * (fabs(q[i] * r[k]) + fabs(q[k] * r[i])) +
         fabs(p[k]) * (fabs(q[i] * r[j]) + fabs(q[j] * r[i]));
}

/* Where planes meet at small angles, rounded minors have lost their digits: a point would lie
 * elsewhere than the same one made from its planes in another order. */
static void
sharpen(const PlaCutComplex *self, PlaCutVert *v)
{
  const PlaCutPlane *p = self->plane;
  for (int i = 0; i < 4; i++) {
    const PlaInt128 axis[4] = { i == 0, i == 1, i == 2, i == 3 };
    v->l[i] = pla_wide8_to_double(
        pla_wide_det4(p[v->plane[0]].d, p[v->plane[1]].d, p[v->plane[2]].d, axis));
    v->bound[i] = fabs(v->l[i]);
  }
}

/* The point of three planes.  -1 when memory is short, -2 when they meet in no single point. */
int
pla_cut_add_vert(PlaCutComplex *self, int p, int q, int r)
{
  static const int rest[4][3] = { { 1, 2, 3 }, { 0, 2, 3 }, { 0, 1, 3 }, { 0, 1, 2 } };
  static const PlaInt128 ones[4] = { 1, 1, 1, 1 };
  if (!pla_array_reserve(&self->vert, self->n_verts + 1, &self->cap_verts, sizeof *self->vert))
    return -1;
  PlaCutVert *v = &self->vert[self->n_verts];
  *v = (PlaCutVert){ .plane = { p, q, r }, .asked = -1, .sign = 1 };
  /* barycentric coordinates by Cramer's rule: 3x3 minors and bounds of their rounding */
  const double *a = self->plane[p].a, *b = self->plane[q].a, *c = self->plane[r].a;
  double sum = 0.0, bound = 0.0;
  for (int i = 0; i < 4; i++) {
    const int *o = rest[i];
    double det = pla_cut_det3(a, b, c, o[0], o[1], o[2]);
    v->l[i] = i % 2 ? det : -det;
    v->bound[i] = permanent3(a, b, c, o[0], o[1], o[2]);
    sum += v->l[i];
    bound += v->bound[i];
  }
  /* too inaccurate: the minors again, from exact integers */
  if (!(bound * PLA_CUT_ROUNDING < fabs(sum) * PLA_CUT_ACCURACY)) {
    sharpen(self, v);
    sum = v->l[0] + v->l[1] + v->l[2] + v->l[3];
    bound = v->bound[0] + v->bound[1] + v->bound[2] + v->bound[3];
  }
  /* sign of the common denominator; 0: the planes meet in no point */
  int sign =
      fabs(sum) > PLA_CUT_ROUNDING * bound ? (sum > 0.0 ? 1 : -1) : exact_side(self, v, ones);
  if (sign == 0)
    return -2;
  v->sign = (int8_t)sign;
  /* faces of the tet that the point lies on */
  for (int i = 0; i < PLA_CUT_FACES; i++)
    if (pla_cut_complex_side(self, self->n_verts, i) == 0)
      v->faces |= (uint8_t)(1u << i);
  return self->n_verts++;
}

void
pla_cut_complex_weights(const PlaCutComplex *self, int vert, double weight[4])
{
  const PlaCutVert *v = &self->vert[vert];
  double sum = 0.0;
  for (int i = 0; i < 4; i++) {
    weight[i] = v->faces >> i & 1 ? 0.0 : fabs(v->l[i]);
    sum += weight[i];
  }
  for (int i = 0; i < 4; i++)
    weight[i] /= sum;
}

/* ---- loops ---- */

PlaCutPatch *
pla_cut_add_patch(PlaCutComplex *self, const PlaCutCorner *corner, int n)
{
  if (!pla_array_reserve(&self->patch, self->n_patches + 1, &self->cap_patches,
                         sizeof *self->patch))
    return NULL;
  PlaCutPatch *patch = &self->patch[self->n_patches];
  *patch = (PlaCutPatch){ .cell = { -1, -1 }, .face = -1, .triangle = -1, .seen = -1 };
  patch->corner = pla_array_dup(corner, (size_t)n, sizeof *corner);
  if (!patch->corner)
    return NULL;
  patch->n_corners = n;
  self->n_patches++;
  return patch;
}

bool
pla_cut_cell_add_patch(PlaCutComplex *self, int cell, int patch)
{
  PlaCutCell *c = &self->cell[cell];
  if (!pla_array_reserve(&c->patch, c->n_patches + 1, &c->capacity, sizeof *c->patch))
    return false;
  c->patch[c->n_patches++] = patch;
  return true;
}

int
pla_cut_add_cell(PlaCutComplex *self)
{
  if (!pla_array_reserve(&self->cell, self->n_cells + 1, &self->cap_cells, sizeof *self->cell))
    return -1;
  self->cell[self->n_cells] = (PlaCutCell){ 0 };
  return self->n_cells++;
}

PlaCutComplex *
pla_cut_complex_new(void)
{
  /* corners of face i, counter-clockwise from outside a positive tet */
  static const int face[4][3] = { { 1, 2, 3 }, { 0, 3, 2 }, { 0, 1, 3 }, { 0, 2, 1 } };
  PlaCutComplex *self = pla_array_new0(1, sizeof *self);
  bool ok = self && pla_cut_add_cell(self) == 0;
  for (int i = 0; ok && i < 4; i++) {
    PlaCutPlane plane = { .d = { i == 0, i == 1, i == 2, i == 3 } };
    pla_cut_plane_round(&plane);
    ok = pla_cut_add_plane(self, &plane) == i;
  }
  for (int i = 0; ok && i < 4; i++)
    ok = pla_cut_add_vert(self, (i + 1) % 4, (i + 2) % 4, (i + 3) % 4) == i;
  for (int f = 0; ok && f < 4; f++) {
    PlaCutCorner corner[3];
    for (int k = 0; k < 3; k++) {
      /* the edge to the next corner is the one away from the third: it lies on that corner's face
       */
      corner[k] = (PlaCutCorner){ face[f][k], face[f][(k + 2) % 3] };
    }
    PlaCutPatch *patch = pla_cut_add_patch(self, corner, 3);
    ok = patch && pla_cut_cell_add_patch(self, 0, f);
    if (ok) {
      patch->plane = patch->face = f;
      patch->cell[0] = 0;
    }
  }
  if (!ok) {
    pla_cut_complex_free(self);
    return NULL;
  }
  return self;
}

void
pla_cut_complex_free(PlaCutComplex *self)
{
  if (!self)
    return;
  for (int p = 0; p < self->n_patches; p++)
    free(self->patch[p].corner);
  for (int c = 0; c < self->n_cells; c++)
    free(self->cell[c].patch);
  free(self->plane);
  free(self->vert);
  free(self->patch);
  free(self->cell);
  free(self);
}

static bool
loop_add(PlaCutLoop *loop, int vert, int plane)
{
  if (!pla_array_reserve(&loop->corner, loop->n + 1, &loop->capacity, sizeof *loop->corner))
    return false;
  loop->corner[loop->n++] = (PlaCutCorner){ vert, plane };
  return true;
}

bool
pla_cut_loop_copy(PlaCutLoop *loop, const PlaCutCorner *corner, int n)
{
  loop->n = 0;
  for (int i = 0; i < n; i++)
    if (!loop_add(loop, corner[i].vert, corner[i].plane))
      return false;
  return true;
}

/* ---- points inside edges ---- */

static size_t
edge_slot(const PlaCutInsertion *ins, int from, int to)
{
  uint64_t h = ((uint64_t)(unsigned)from << 32 | (unsigned)to) * 0x9e3779b97f4a7c15u;
  size_t i = (size_t)(h >> 32) & (ins->cap_split - 1);
  while (ins->split[i].mid >= 0 && (ins->split[i].from != from || ins->split[i].to != to))
    i = (i + 1) & (ins->cap_split - 1);
  return i;
}

static bool
split_put(PlaCutInsertion *ins, PlaCutEdgeSplit edge)
{
  if (2 * (ins->n_split + 1) > ins->cap_split) {
    PlaCutEdgeSplit *old = ins->split;
    size_t n_old = ins->cap_split;
    size_t capacity = n_old ? 2 * n_old : 64;
    PlaCutEdgeSplit *wider = pla_array_new(capacity, sizeof *wider);
    if (!wider)
      return false;
    for (size_t i = 0; i < capacity; i++)
      wider[i].mid = -1;
    ins->split = wider;
    ins->cap_split = capacity;
    for (size_t i = 0; i < n_old; i++)
      if (old[i].mid >= 0)
        wider[edge_slot(ins, old[i].from, old[i].to)] = old[i];
    free(old);
  }
  ins->split[edge_slot(ins, edge.from, edge.to)] = edge;
  ins->n_split++;
  return true;
}

static int
split_find(const PlaCutInsertion *ins, int u, int v)
{
  if (ins->n_split == 0)
    return -1;
  return ins->split[edge_slot(ins, u < v ? u : v, u < v ? v : u)].mid;
}

/* where @plane crosses the edge u-v of a patch in @support; its ends lie strictly on both sides */
static int
edge_vert(PlaCutInsertion *ins, int u, int v, int support, int along, int plane)
{
  int from = u < v ? u : v, to = u < v ? v : u;
  for (int i = 0; i < ins->n_pending; i++)
    if (ins->pending[i].from == from && ins->pending[i].to == to)
      return ins->pending[i].mid;
  int mid = pla_cut_add_vert(ins->refined, support, along, plane);
  assert(mid != -2);
  if (mid < 0 || !pla_array_reserve(&ins->pending, ins->n_pending + 1, &ins->cap_pending,
                                    sizeof *ins->pending))
    return -1;
  ins->pending[ins->n_pending++] = (PlaCutEdgeSplit){ from, to, mid };
  return mid;
}

static bool
commit_pending(PlaCutInsertion *ins)
{
  bool ok = true;
  for (int i = 0; ok && i < ins->n_pending; i++)
    ok = split_put(ins, ins->pending[i]);
  ins->n_pending = 0;
  return ok;
}

/* gives a loop the points that its edges got since */
static bool
patch_update(PlaCutInsertion *ins, PlaCutPatch *patch)
{
  for (int i = 0; ins->n_split > 0 && i < patch->n_corners;) {
    const PlaCutCorner *at = &patch->corner[i];
    int mid = split_find(ins, at->vert, patch->corner[(i + 1) % patch->n_corners].vert);
    if (mid < 0) {
      i++;
      continue;
    }
    if (!pla_array_resize((void **)&patch->corner, (size_t)patch->n_corners + 1,
                          sizeof *patch->corner))
      return false;
    PlaCutCorner *corner = patch->corner;
    memmove(&corner[i + 2], &corner[i + 1], (size_t)(patch->n_corners - i - 1) * sizeof *corner);
    corner[i + 1] = (PlaCutCorner){ mid, corner[i].plane };
    patch->n_corners++;
  }
  return true;
}

/* ---- polygons against planes ---- */

/* Parts of a convex loop in @support on both sides of @plane, which strictly crosses it. */
bool
pla_cut_split_loop(PlaCutInsertion *ins, const PlaCutCorner *corner, int n, int support, int plane,
                   PlaCutLoop *below, PlaCutLoop *above)
{
  PlaCutComplex *self = ins->refined;
  below->n = above->n = 0;
  bool ok = true;
  for (int i = 0; ok && i < n; i++) {
    int u = corner[i].vert, v = corner[(i + 1) % n].vert;
    int su = pla_cut_complex_side(self, u, plane), sv = pla_cut_complex_side(self, v, plane);
    /* a part that is left at u goes on along the plane */
    if (su <= 0)
      ok = loop_add(below, u, su == 0 && sv > 0 ? plane : corner[i].plane);
    if (ok && su >= 0)
      ok = loop_add(above, u, su == 0 && sv < 0 ? plane : corner[i].plane);
    if (ok && su * sv < 0) {
      int mid = edge_vert(ins, u, v, support, corner[i].plane, plane);
      ok = mid >= 0 && loop_add(below, mid, su < 0 ? plane : corner[i].plane) &&
           loop_add(above, mid, su < 0 ? corner[i].plane : plane);
    }
  }
  return ok;
}

void
pla_cut_loop_sides(PlaCutComplex *self, const PlaCutCorner *corner, int n, int plane, bool *below,
                   bool *above)
{
  *below = *above = false;
  for (int i = 0; i < n; i++) {
    int side = pla_cut_complex_side(self, corner[i].vert, plane);
    *below |= side < 0;
    *above |= side > 0;
  }
}

/* Divides a loop in @support into the part inside the triangle's three edge planes, *inner, and
 * what lies beyond each, outer[k]; loops may come out empty. */
static bool
clip_to_triangle(PlaCutInsertion *ins, const PlaCutCorner *corner, int n, int support,
                 PlaCutLoop *inner, PlaCutLoop outer[3])
{
  PlaCutComplex *self = ins->refined;
  PlaCutLoop rest = { 0 };
  bool ok = pla_cut_loop_copy(inner, corner, n);
  for (int k = 0; ok && k < 3; k++) {
    bool below, above;
    pla_cut_loop_sides(self, inner->corner, inner->n, ins->plane[1 + k], &below, &above);
    outer[k].n = 0;
    if (!above) {
      inner->n = 0;
    } else if (below) {
      ok = pla_cut_split_loop(ins, inner->corner, inner->n, support, ins->plane[1 + k], &outer[k],
                              &rest);
      PlaCutLoop swap = *inner;
      *inner = rest;
      rest = swap;
    }
  }
  free(rest.corner);
  return ok;
}

/* ---- insertion ---- */

/* the segments in which the plane meets the cell's boundary, in the direction that makes the
 * cross-section an outward face of the part below */
static bool
add_segments(PlaCutInsertion *ins, const PlaCutPatch *patch, bool flip, PlaCutLoop *from,
             PlaCutLoop *to)
{
  PlaCutComplex *self = ins->refined;
  const int plane = ins->plane[0], n = patch->n_corners;
  int leave = -1, enter = -1; /* corners before which the loop turns away from below and back */
  bool above = false;
  for (int i = 0; i < n; i++) {
    int su = pla_cut_complex_side(self, patch->corner[i].vert, plane);
    int sv = pla_cut_complex_side(self, patch->corner[(i + 1) % n].vert, plane);
    above |= su > 0;
    if (su < 0 && sv >= 0)
      leave = i;
    if (su >= 0 && sv < 0)
      enter = i;
  }
  if (leave < 0)
    return true;
  /* the ends of the part on the plane */
  int u = patch->corner[(leave + 1) % n].vert, v = patch->corner[enter].vert;
  if (pla_cut_complex_side(self, u, plane) > 0)
    u = edge_vert(ins, patch->corner[leave].vert, u, patch->plane, patch->corner[leave].plane,
                  plane);
  if (pla_cut_complex_side(self, v, plane) > 0)
    v = edge_vert(ins, v, patch->corner[(enter + 1) % n].vert, patch->plane,
                  patch->corner[enter].plane, plane);
  if (u < 0 || v < 0)
    return false;
  /* straight across, or along the corners that lie on the plane */
  for (int i = (leave + 1) % n, a = u; a != v; i = (i + 1) % n) {
    int b = above ? v : patch->corner[(i + 1) % n].vert;
    if (!loop_add(from, flip ? a : b, patch->plane) || !loop_add(to, flip ? b : a, 0))
      return false;
    a = b;
  }
  return true;
}

/* chains the segments into one loop */
static bool
chain(const PlaCutLoop *from, const PlaCutLoop *to, PlaCutLoop *loop)
{
  loop->n = 0;
  int at = 0;
  for (int k = 0; k < from->n; k++) {
    if (!loop_add(loop, from->corner[at].vert, from->corner[at].plane))
      return false;
    int next = to->corner[at].vert;
    for (at = 0; at < from->n && from->corner[at].vert != next; at++)
      ;
    assert(at < from->n);
  }
  return true;
}

static bool
add_section_patch(PlaCutInsertion *ins, const PlaCutLoop *loop, int below, int above, int triangle)
{
  if (loop->n == 0)
    return true;
  PlaCutComplex *self = ins->refined;
  int p = self->n_patches;
  PlaCutPatch *patch = pla_cut_add_patch(self, loop->corner, loop->n);
  if (!patch)
    return false;
  patch->plane = ins->plane[0];
  patch->cell[0] = below;
  patch->cell[1] = above;
  patch->triangle = triangle;
  patch->seen = ins->id;
  return pla_cut_cell_add_patch(self, below, p) && pla_cut_cell_add_patch(self, above, p);
}

/* @part of patch @p becomes a patch of its own, of the same cells */
static int
detach_patch(PlaCutComplex *self, int p, const PlaCutLoop *part)
{
  int q = self->n_patches;
  if (!pla_cut_add_patch(self, part->corner, part->n))
    return -1;
  PlaCutPatch *patch = &self->patch[q];
  const PlaCutPatch *old = &self->patch[p];
  patch->plane = old->plane;
  patch->face = old->face;
  patch->triangle = old->triangle;
  patch->seen = old->seen;
  for (int s = 0; s < 2; s++) {
    patch->cell[s] = old->cell[s];
    if (patch->cell[s] >= 0 && !pla_cut_cell_add_patch(self, patch->cell[s], q))
      return -1;
  }
  return q;
}

static bool
patch_set_loop(PlaCutPatch *patch, const PlaCutLoop *loop)
{
  PlaCutCorner *corner = pla_array_dup(loop->corner, (size_t)loop->n, sizeof *corner);
  if (!corner)
    return false;
  free(patch->corner);
  patch->corner = corner;
  patch->n_corners = loop->n;
  return true;
}

/* distributes the patches of @cell to itself (below) and the new cell @above */
static bool
part_patches(PlaCutInsertion *ins, int cell, int above_cell)
{
  PlaCutComplex *self = ins->refined;
  PlaCutLoop below = { 0 }, above = { 0 };
  const int n = self->cell[cell].n_patches;
  int *patches = pla_array_dup(self->cell[cell].patch, (size_t)n, sizeof *patches);
  bool ok = patches != NULL;
  self->cell[cell].n_patches = 0;
  /* a patch goes to the cell on its side of the plane, or is split between both */
  for (int i = 0; ok && i < n; i++) {
    int p = patches[i];
    bool has_below, has_above;
    pla_cut_loop_sides(self, self->patch[p].corner, self->patch[p].n_corners, ins->plane[0],
                       &has_below, &has_above);
    int side = self->patch[p].cell[0] == cell ? 0 : 1;
    if (!has_above) {
      ok = pla_cut_cell_add_patch(self, cell, p);
    } else if (!has_below) {
      self->patch[p].cell[side] = above_cell;
      ok = pla_cut_cell_add_patch(self, above_cell, p);
    } else {
      ok = pla_cut_split_loop(ins, self->patch[p].corner, self->patch[p].n_corners,
                              self->patch[p].plane, ins->plane[0], &below, &above);
      /* what is above first takes the new cell's place in the patch that is copied */
      self->patch[p].cell[side] = above_cell;
      ok = ok && detach_patch(self, p, &above) >= 0;
      self->patch[p].cell[side] = cell;
      ok = ok && patch_set_loop(&self->patch[p], &below) && pla_cut_cell_add_patch(self, cell, p);
    }
  }
  free(below.corner);
  free(above.corner);
  free(patches);
  return ok;
}

/* splits @cell, which the triangle's plane crosses, if the triangle itself reaches into it */
static bool
split_cell(PlaCutInsertion *ins, int cell, bool *changed)
{
  PlaCutComplex *self = ins->refined;
  PlaCutLoop from = { 0 }, to = { 0 }, section = { 0 }, inner = { 0 }, outer[3] = { { 0 } };
  const int n_verts = self->n_verts;
  bool ok = true;
  /* the section of the cell with the plane, clipped to the triangle */
  for (int i = 0; ok && i < self->cell[cell].n_patches; i++) {
    const PlaCutPatch *patch = &self->patch[self->cell[cell].patch[i]];
    ok = add_segments(ins, patch, patch->cell[0] != cell, &from, &to);
  }
  ok = ok && chain(&from, &to, &section) &&
       clip_to_triangle(ins, section.corner, section.n, ins->plane[0], &inner, outer);
  if (ok && inner.n == 0) { /* the plane crosses the cell, the triangle does not */
    self->n_verts = n_verts;
    ins->n_pending = 0;
  } else if (ok) {
    /* split the cell; the section inside the triangle is a cut, the rest is not */
    int above = pla_cut_add_cell(self);
    ok = above >= 0 && part_patches(ins, cell, above) &&
         add_section_patch(ins, &inner, cell, above, ins->id);
    for (int k = 0; ok && k < 3; k++)
      ok = add_section_patch(ins, &outer[k], cell, above, -1);
    ok = ok && commit_pending(ins);
    *changed = true;
  }
  free(from.corner);
  free(to.corner);
  free(section.corner);
  free(inner.corner);
  for (int k = 0; k < 3; k++)
    free(outer[k].corner);
  return ok;
}

/* covers what the triangle shares with patch @p, which lies in its plane */
static bool
cover_patch(PlaCutInsertion *ins, int p, bool *changed)
{
  PlaCutComplex *self = ins->refined;
  if (self->patch[p].triangle >= 0 || self->patch[p].seen == ins->id)
    return true;
  self->patch[p].seen = ins->id;
  PlaCutLoop inner = { 0 }, outer[3] = { { 0 } };
  const int n_verts = self->n_verts;
  bool ok = clip_to_triangle(ins, self->patch[p].corner, self->patch[p].n_corners,
                             self->patch[p].plane, &inner, outer);
  if (ok && inner.n == 0) {
    self->n_verts = n_verts;
    ins->n_pending = 0;
  } else if (ok) {
    for (int k = 0; ok && k < 3; k++)
      ok = outer[k].n == 0 || detach_patch(self, p, &outer[k]) >= 0;
    ok = ok && patch_set_loop(&self->patch[p], &inner) && commit_pending(ins);
    self->patch[p].triangle = ins->id;
    *changed = true;
  }
  free(inner.corner);
  for (int k = 0; k < 3; k++)
    free(outer[k].corner);
  return ok;
}

/* whether the cell has corners below, above and on the triangle's plane */
static void
cell_sides(PlaCutInsertion *ins, int cell, bool *below, bool *above, bool *on)
{
  PlaCutComplex *self = ins->refined;
  *below = *above = *on = false;
  for (int i = 0; i < self->cell[cell].n_patches; i++) {
    const PlaCutPatch *patch = &self->patch[self->cell[cell].patch[i]];
    for (int k = 0; k < patch->n_corners; k++) {
      int side = pla_cut_complex_side(self, patch->corner[k].vert, ins->plane[0]);
      *below |= side < 0;
      *above |= side > 0;
      *on |= side == 0;
    }
  }
}

/* whether the cell has corners on the inner side of each of the triangle's edge planes */
static bool
cell_is_reached(PlaCutInsertion *ins, int cell)
{
  PlaCutComplex *self = ins->refined;
  for (int e = 0; e < 3; e++) {
    bool inside = false;
    for (int i = 0; !inside && i < self->cell[cell].n_patches; i++) {
      const PlaCutPatch *patch = &self->patch[self->cell[cell].patch[i]];
      for (int k = 0; !inside && k < patch->n_corners; k++)
        inside = pla_cut_complex_side(self, patch->corner[k].vert, ins->plane[1 + e]) > 0;
    }
    if (!inside)
      return false;
  }
  return true;
}

static bool
insert_into_cell(PlaCutInsertion *ins, int cell, bool *changed)
{
  PlaCutComplex *self = ins->refined;
  bool ok = true, below, above, on;
  /* points that edges got since lie between their ends: they change none of these answers */
  cell_sides(ins, cell, &below, &above, &on);
  if ((!on && !(below && above)) || !cell_is_reached(ins, cell))
    return true;
  for (int i = 0; ok && i < self->cell[cell].n_patches; i++)
    ok = patch_update(ins, &self->patch[self->cell[cell].patch[i]]);
  if (ok && below && above)
    return split_cell(ins, cell, changed);
  /* the plane touches the cell: perhaps along patches */
  const int n = self->cell[cell].n_patches;
  for (int i = 0; ok && i < n; i++) {
    int p = self->cell[cell].patch[i];
    bool patch_below, patch_above;
    pla_cut_loop_sides(self, self->patch[p].corner, self->patch[p].n_corners, ins->plane[0],
                       &patch_below, &patch_above);
    if (!patch_below && !patch_above)
      ok = patch_update(ins, &self->patch[p]) && cover_patch(ins, p, changed);
  }
  return ok;
}

bool
pla_cut_complex_insert(PlaCutComplex *self, const PlaCutTriangle *triangle, int id, bool *changed)
{
  PlaCutInsertion ins = { .refined = self, .id = id };
  const int n_planes = self->n_planes, n_cells = self->n_cells;
  bool ok = true;
  *changed = false;
  /* planes of triangles that changed nothing are dropped again, and their numbers come back */
  for (int v = 0; v < self->n_verts; v++) {
    self->vert[v].asked = -1;
    self->vert[v].known = self->vert[v].beside = 0;
  }
  self->at_work = self->n_planes + 1;
  for (int k = 0; ok && k < 4; k++) {
    ins.plane[k] = pla_cut_add_plane(self, &triangle->plane[k]);
    ok = ins.plane[k] >= 0;
  }
  for (int c = 0; ok && c < n_cells; c++)
    ok = insert_into_cell(&ins, c, changed);
  for (int p = 0; ok && p < self->n_patches; p++)
    ok = patch_update(&ins, &self->patch[p]);
  if (ok && !*changed)
    self->n_planes = n_planes;
  self->at_work = 0;
  free(ins.pending);
  free(ins.split);
  return ok;
}

/* ---- triangles ---- */

static PlaInt128
volume6(const int64_t a[3], const int64_t b[3], const int64_t c[3], const int64_t x[3])
{
  PlaInt128 u[3], v[3], w[3];
  for (int i = 0; i < 3; i++) {
    u[i] = b[i] - a[i];
    v[i] = c[i] - a[i];
    w[i] = x[i] - a[i];
  }
  return u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0]) +
         u[2] * (v[0] * w[1] - v[1] * w[0]);
}

/* twice the area of a, b, x seen along @axis */
static PlaInt128
area2(const int64_t a[3], const int64_t b[3], const int64_t x[3], int axis)
{
  int i = (axis + 1) % 3, j = (axis + 2) % 3;
  return (PlaInt128)(b[i] - a[i]) * (x[j] - a[j]) - (PlaInt128)(b[j] - a[j]) * (x[i] - a[i]);
}

bool
pla_cut_triangle_init(PlaCutTriangle *self, const int64_t tri[3][3], const int64_t pos[4][3])
{
  int above = 0, below = 0;
  for (int i = 0; i < 4; i++) {
    self->plane[0].d[i] = volume6(tri[0], tri[1], tri[2], pos[i]);
    above += self->plane[0].d[i] > 0;
    below += self->plane[0].d[i] < 0;
  }
  /* a plane that only touches the tet must hold a whole face of it */
  if (above == 4 || below == 4 || above + below == 0 ||
      ((above == 0 || below == 0) && above + below > 1))
    return false;
  /* edge planes run along the axis on which the triangle's shadow is largest */
  int axis = 0;
  PlaInt128 area[3];
  for (int k = 0; k < 3; k++) {
    area[k] = area2(tri[0], tri[1], tri[2], k);
    PlaInt128 size = area[k] < 0 ? -area[k] : area[k];
    PlaInt128 best = area[axis] < 0 ? -area[axis] : area[axis];
    if (size > best)
      axis = k;
  }
  if (area[axis] == 0)
    return false;
  for (int e = 0; e < 3; e++)
    for (int i = 0; i < 4; i++) {
      PlaInt128 side = area2(tri[e], tri[(e + 1) % 3], pos[i], axis);
      self->plane[1 + e].d[i] = area[axis] > 0 ? side : -side;
    }
  for (int k = 0; k < 4; k++) {
    pla_cut_plane_round(&self->plane[k]);
    memset(self->plane[k].through, 0, sizeof self->plane[k].through);
  }
  return true;
}

void
pla_cut_triangle_set_verts(PlaCutTriangle *self, const int vert[3])
{
  for (int k = 0; k < 3; k++) {
    self->plane[0].through[k] = 1 + vert[k];
    self->plane[1 + k].through[0] = 1 + vert[k];
    self->plane[1 + k].through[1] = 1 + vert[(k + 1) % 3];
  }
}
