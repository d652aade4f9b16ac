/* The head frame of a tongue mesh (the axis of best mirror symmetry is across; held vertices are
 * below and behind), its midsagittal outline as a section of the surface, and the similarity
 * that places coils on it. */
#include "sim/tongue/shape.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/mesh/point-tree.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

PlaHeadFrame
pla_head_frame_ras(void)
{
  return (PlaHeadFrame){ { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, 0.0 };
}

void
pla_head_frame_sagittal(const PlaHeadFrame *frame, const double pos[3], double out[2])
{
  out[0] = pla_vec3_dot(frame->forward, pos);
  out[1] = pla_vec3_dot(frame->up, pos);
}

void
pla_head_frame_point(const PlaHeadFrame *frame, const double sagittal[2], double pos[3])
{
  for (int d = 0; d < 3; d++)
    pos[d] =
        frame->mid * frame->right[d] + sagittal[0] * frame->forward[d] + sagittal[1] * frame->up[d];
}

/* mean distance of mirrored vertices from the nearest vertex: 0 where the mesh is its own mirror
 * image */
static double
asymmetry(const PlaTetMesh *mesh, const PlaPointTree *tree, int axis, double mid)
{
  double sum = 0.0;
  int n = 0;
  for (int v = 0; v < mesh->n_verts; v += 7, n++) {
    double p[3], d2;
    int nearest;
    memcpy(p, mesh->rest + 3 * (size_t)v, sizeof p);
    p[axis] = 2.0 * mid - p[axis];
    pla_point_tree_nearest(tree, p, 1, &nearest, &d2);
    sum += sqrt(d2);
  }
  return sum / n;
}

PlaStatus
pla_head_frame_guess(const PlaTetMesh *mesh, const unsigned char *fixed, PlaHeadFrame *out,
                     PlaError *err)
{
  double lo[3], hi[3], centre[3] = { 0 }, held[3] = { 0 }, held_lo[3], held_hi[3];
  int n_held = 0, across = 0;
  PlaPointTree *tree = NULL;
  for (int d = 0; d < 3; d++) {
    lo[d] = held_lo[d] = INFINITY;
    hi[d] = held_hi[d] = -INFINITY;
  }
  for (int v = 0; v < mesh->n_verts; v++) {
    n_held += fixed[v] != 0;
    for (int d = 0; d < 3; d++) {
      const double x = mesh->rest[3 * (size_t)v + (size_t)d];
      lo[d] = fmin(lo[d], x);
      hi[d] = fmax(hi[d], x);
      centre[d] += x / mesh->n_verts;
      if (!fixed[v])
        continue;
      held[d] += x;
      held_lo[d] = fmin(held_lo[d], x);
      held_hi[d] = fmax(held_hi[d], x);
    }
  }
  if (n_held == 0)
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "Nothing holds the tongue: name the fixed degrees of "
                    "freedom of its mesh");
  PlaStatus st = pla_point_tree_new(mesh->n_verts, mesh->rest, &tree, err);
  if (st != PLA_OK)
    return st;
  double least = INFINITY;
  for (int d = 0; d < 3; d++) {
    const double off = asymmetry(mesh, tree, d, 0.5 * (lo[d] + hi[d])) / (hi[d] - lo[d]);
    if (off < least) {
      least = off;
      across = d;
    }
  }
  pla_point_tree_free(tree);
  const int a = (across + 1) % 3, b = (across + 2) % 3;
  const double rise_a = (centre[a] - held[a] / n_held) / (hi[a] - lo[a]);
  const double rise_b = (centre[b] - held[b] / n_held) / (hi[b] - lo[b]);
  const int up = fabs(rise_a) > fabs(rise_b) ? a : b, along = up == a ? b : a;
  *out = (PlaHeadFrame){ { 0 }, { 0 }, { 0 }, 0.0 };
  out->up[up] = (up == a ? rise_a : rise_b) > 0.0 ? 1.0 : -1.0;
  out->forward[along] = held_lo[along] - lo[along] > hi[along] - held_hi[along] ? -1.0 : 1.0;
  pla_vec3_cross(out->forward, out->up, out->right);
  out->mid = out->right[across] * 0.5 * (lo[across] + hi[across]);
  return PLA_OK;
}

/* ---- outline ---- */

void
pla_outline_clear(PlaOutline *self)
{
  free(self->vert);
  free(self->weight);
  *self = (PlaOutline){ 0 };
}

typedef struct {
  int lo, hi;  /* edge */
  int next[2]; /* crossings on the two triangles of the edge, or -1 */
  double weight;
} Crossing;

static int
by_edge(const void *a, const void *b)
{
  const Crossing *x = a, *y = b;
  return x->lo != y->lo ? (x->lo > y->lo) - (x->lo < y->lo) : (x->hi > y->hi) - (x->hi < y->hi);
}

static int
find_crossing(const Crossing *list, int n, int v, int w)
{
  const Crossing key = { .lo = v < w ? v : w, .hi = v < w ? w : v };
  const Crossing *found = bsearch(&key, list, (size_t)n, sizeof *list, by_edge);
  return found ? (int)(found - list) : -1;
}

/* crossings of the plane with the edges of the surface, linked across triangles */
static int
list_crossings(const PlaTetMesh *mesh, const PlaHeadFrame *frame, double mid,
               const PlaBoundary *boundary, Crossing *list)
{
  int n = 0;
  for (int t = 0; t < boundary->n_tris; t++)
    for (int e = 0; e < 3; e++) {
      const int v = boundary->tri[3 * t + e], w = boundary->tri[3 * t + (e + 1) % 3];
      const double a = pla_vec3_dot(frame->right, mesh->rest + 3 * (size_t)v) - mid;
      const double b = pla_vec3_dot(frame->right, mesh->rest + 3 * (size_t)w) - mid;
      if (v < w && (a < 0.0) != (b < 0.0))
        list[n++] = (Crossing){ v, w, { -1, -1 }, a / (a - b) };
    }
  qsort(list, (size_t)n, sizeof *list, by_edge);
  for (int t = 0; t < boundary->n_tris; t++) {
    int found[2], k = 0;
    for (int e = 0; e < 3 && k < 2; e++) {
      const int i =
          find_crossing(list, n, boundary->tri[3 * t + e], boundary->tri[3 * t + (e + 1) % 3]);
      if (i >= 0)
        found[k++] = i;
    }
    for (int i = 0; k == 2 && i < 2; i++) {
      int *next = list[found[i]].next;
      next[next[0] >= 0] = found[1 - i];
    }
  }
  return n;
}

/* the loop that holds @first, into @loop; its length */
static int
follow(const Crossing *list, int n, int first, int *loop)
{
  int count = 0, from = -1, at = first;
  do {
    loop[count++] = at;
    const int next = list[at].next[0] != from || from < 0 ? list[at].next[0] : list[at].next[1];
    from = at;
    at = next;
  } while (at >= 0 && at != first && count < n);
  return count;
}

PlaStatus
pla_outline_init(PlaOutline *self, const PlaTetMesh *mesh, const PlaHeadFrame *frame, PlaError *err)
{
  PlaBoundary boundary = { 0 };
  *self = (PlaOutline){ 0 };
  PlaStatus st = pla_boundary_init(&boundary, mesh, &(PlaHexMesh){ 0 }, false, err);
  if (st != PLA_OK)
    return st;
  const size_t room = 3 * (size_t)boundary.n_tris + 1;
  Crossing *list = pla_array_new(room, sizeof *list);
  int *loop = pla_array_new(room, sizeof *loop), n = 0, tip = -1, count = 0;
  if (!list || !loop)
    st = pla_fail_memory(err, "an outline");
  if (st == PLA_OK) /* a hair beside the plane, so that no vertex lies on it */
    n = list_crossings(mesh, frame, frame->mid + 1.3e-7, &boundary, list);
  double front = -INFINITY;
  for (int i = 0; i < n; i++) {
    double p[3], at[2];
    for (int d = 0; d < 3; d++)
      p[d] = (1.0 - list[i].weight) * mesh->rest[3 * (size_t)list[i].lo + (size_t)d] +
             list[i].weight * mesh->rest[3 * (size_t)list[i].hi + (size_t)d];
    pla_head_frame_sagittal(frame, p, at);
    if (at[0] > front) {
      front = at[0];
      tip = i;
    }
  }
  if (st == PLA_OK && tip < 0)
    st = pla_fail(err, PLA_ERR_GEOMETRY, "The midsagittal plane does not meet the tongue");
  if (st == PLA_OK)
    count = follow(list, n, tip, loop);
  if (st == PLA_OK) {
    self->n = count;
    self->vert = pla_array_new((size_t)count, 2 * sizeof *self->vert);
    self->weight = pla_array_new((size_t)count, sizeof *self->weight);
    if (!self->vert || !self->weight)
      st = pla_fail_memory(err, "an outline");
  }
  if (st == PLA_OK) {
    double *at = pla_array_new((size_t)count, 2 * sizeof *at), area = 0.0;
    for (int pass = 0; at && pass < 2; pass++) { /* once more the other way round if need be */
      for (int i = 0; i < count; i++) {
        const Crossing *c = &list[loop[pass == 0 ? i : (count - i) % count]];
        self->vert[2 * i] = c->lo;
        self->vert[2 * i + 1] = c->hi;
        self->weight[i] = c->weight;
      }
      pla_outline_place(self, frame, mesh->rest, at);
      area = 0.0;
      for (int i = 0; i < count; i++) {
        const double *p = at + 2 * i, *q = at + 2 * ((i + 1) % count);
        area += p[0] * q[1] - p[1] * q[0];
      }
      if (area > 0.0) /* forward is to the right: up and back from the tip is counter-clockwise */
        break;
    }
    /* the back of the tongue ends at its lowest point behind the highest */
    double lowest = INFINITY;
    int top = 0;
    for (int i = 0; at && i < count; i++)
      if (at[2 * i + 1] > at[2 * top + 1])
        top = i;
    for (int i = top; at && i < count; i++) {
      const double behind = at[2 * top] - at[2 * i];
      if (behind > 0.0 && at[2 * i + 1] - 0.5 * behind < lowest) {
        lowest = at[2 * i + 1] - 0.5 * behind;
        self->n_dorsum = i + 1;
      }
    }
    if (!at)
      st = pla_fail_memory(err, "an outline");
    free(at);
  }
  free(list);
  free(loop);
  pla_boundary_clear(&boundary);
  if (st != PLA_OK)
    pla_outline_clear(self);
  return st;
}

void
pla_outline_place(const PlaOutline *self, const PlaHeadFrame *frame, const double *pos, double *out)
{
  for (int i = 0; i < self->n; i++) {
    const double *a = pos + 3 * (size_t)self->vert[2 * i],
                 *b = pos + 3 * (size_t)self->vert[2 * i + 1];
    double p[3];
    for (int d = 0; d < 3; d++)
      p[d] = (1.0 - self->weight[i]) * a[d] + self->weight[i] * b[d];
    pla_head_frame_sagittal(frame, p, out + 2 * i);
  }
}
