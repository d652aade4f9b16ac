/* Broad phase of cutting. The tets lie in a tree of boxes, eight to a node, over a Morton order (G.
 * Morton, 1966); the blade lies in a uniform grid of its triangles' boxes. Boxes are widened by the
 * rounding error of the coordinates, so no pair that touches is missed. */
#include "sim/cut/cut-search.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void
box_clear(PlaCutBox *box)
{
  for (int d = 0; d < 3; d++) {
    box->lo[d] = INFINITY;
    box->hi[d] = -INFINITY;
  }
}

static void
box_add(PlaCutBox *box, const double lo[3], const double hi[3])
{
  for (int d = 0; d < 3; d++) {
    box->lo[d] = lo[d] < box->lo[d] ? lo[d] : box->lo[d];
    box->hi[d] = hi[d] > box->hi[d] ? hi[d] : box->hi[d];
  }
}

void
pla_cut_box_of(const double *pos, const int *vert, int n, PlaCutBox *box)
{
  box_clear(box);
  for (int k = 0; k < n; k++)
    box_add(box, &pos[3 * vert[k]], &pos[3 * vert[k]]);
}

static bool
boxes_meet(const PlaCutBox *a, const PlaCutBox *b)
{
  for (int d = 0; d < 3; d++)
    if (a->lo[d] > b->hi[d] || b->lo[d] > a->hi[d])
      return false;
  return true;
}

/* ---- the blade ---- */

void
pla_blade_grid_clear(PlaBladeGrid *self)
{
  free(self->tri_box);
  free(self->plane);
  free(self->start);
  free(self->tri);
}

static void
grid_range(const PlaBladeGrid *self, const PlaCutBox *box, int lo[3], int hi[3])
{
  for (int d = 0; d < 3; d++) {
    double size = self->box.hi[d] - self->box.lo[d];
    double scale = size > 0.0 ? self->dims[d] / size : 0.0;
    lo[d] = (int)fmin(fmax((box->lo[d] - self->box.lo[d]) * scale, 0.0), self->dims[d] - 1);
    hi[d] = (int)fmin(fmax((box->hi[d] - self->box.lo[d]) * scale, 0.0), self->dims[d] - 1);
  }
}

#define FOR_GRID(g, lo, hi, i)                                                                     \
  for (int z_ = lo[2]; z_ <= hi[2]; z_++)                                                          \
    for (int y_ = lo[1]; y_ <= hi[1]; y_++)                                                        \
      for (int x_ = lo[0], i = (z_ * (g)->dims[1] + y_) * (g)->dims[0] + x_; x_ <= hi[0]; x_++, i++)

static void
set_plane(const PlaTriMesh *blade, int t, double plane[4])
{
  const double *p[3];
  for (int k = 0; k < 3; k++)
    p[k] = &blade->pos[3 * blade->tri[3 * t + k]];
  double length = 0.0;
  for (int d = 0; d < 3; d++) {
    const int a = (d + 1) % 3, b = (d + 2) % 3;
    plane[d] =
        (p[1][a] - p[0][a]) * (p[2][b] - p[0][b]) - (p[1][b] - p[0][b]) * (p[2][a] - p[0][a]);
    length += plane[d] * plane[d];
  }
  length = sqrt(length);
  /* a triangle without area has no plane that could keep it apart from anything */
  plane[3] = 0.0;
  for (int d = 0; d < 3; d++) {
    plane[d] = length > 0.0 ? plane[d] / length : 0.0;
    plane[3] += plane[d] * p[0][d];
  }
}

bool
pla_blade_grid_init(PlaBladeGrid *self, const PlaTriMesh *blade)
{
  *self = (PlaBladeGrid){ .tri_box = pla_array_new((size_t)blade->n_tris, sizeof *self->tri_box),
                          .plane = pla_array_new((size_t)blade->n_tris, 4 * sizeof *self->plane) };
  if (!self->tri_box || !self->plane)
    return false;
  /* boxes and planes of the triangles */
  double longest = 0.0;
  box_clear(&self->box);
  for (int t = 0; t < blade->n_tris; t++) {
    pla_cut_box_of(blade->pos, &blade->tri[3 * t], 3, &self->tri_box[t]);
    box_add(&self->box, self->tri_box[t].lo, self->tri_box[t].hi);
    set_plane(blade, t, &self->plane[4 * t]);
  }
  for (int d = 0; d < 3; d++)
    longest = fmax(longest, self->box.hi[d] - self->box.lo[d]);
  /* boxes about as large as triangles, were they spread evenly on a sheet */
  double step = longest / fmin(fmax(sqrt(blade->n_tris), 1.0), 128.0);
  for (int d = 0; d < 3; d++)
    self->dims[d] = step > 0.0 ? 1 + (int)((self->box.hi[d] - self->box.lo[d]) / step) : 1;
  const size_t n = (size_t)self->dims[0] * (size_t)self->dims[1] * (size_t)self->dims[2];
  self->start = pla_array_new0(n + 2, sizeof *self->start);
  if (!self->start)
    return false;
  /* counting sort: how many triangles each grid box has, where they start, which they are */
  int lo[3], hi[3];
  for (int t = 0; t < blade->n_tris; t++) {
    grid_range(self, &self->tri_box[t], lo, hi);
    FOR_GRID(self, lo, hi, i)
    self->start[i + 2]++;
  }
  for (size_t i = 2; i < n + 2; i++)
    self->start[i] += self->start[i - 1];
  self->tri = pla_array_new((size_t)self->start[n + 1], sizeof *self->tri);
  if (!self->tri)
    return false;
  for (int t = 0; t < blade->n_tris; t++) {
    grid_range(self, &self->tri_box[t], lo, hi);
    FOR_GRID(self, lo, hi, i)
    self->tri[self->start[i + 1]++] = t;
  }
  return true;
}

/* Coordinates are rounded after the search, and what touches then may be apart by a rounding error
 * now: a blade in the faces between tets must find those on both sides. */
static PlaCutBox
box_with_slack(const PlaBladeGrid *self, const PlaCutBox *box)
{
  PlaCutBox out = *box;
  for (int d = 0; d < 3; d++) {
    out.lo[d] -= self->slack;
    out.hi[d] += self->slack;
  }
  return out;
}

/* false: @box lies on one side of the triangle's plane, or its boxes are apart */
static bool
may_meet(const PlaBladeGrid *self, int t, const PlaCutBox *box)
{
  if (!boxes_meet(box, &self->tri_box[t]))
    return false;
  const double *plane = &self->plane[4 * t];
  double middle = -plane[3], half = self->slack;
  for (int d = 0; d < 3; d++) {
    middle += 0.5 * plane[d] * (box->lo[d] + box->hi[d]);
    half += 0.5 * fabs(plane[d]) * (box->hi[d] - box->lo[d]);
  }
  return fabs(middle) <= half;
}

static bool
grid_may_meet(const PlaBladeGrid *self, const PlaCutBox *box)
{
  const PlaCutBox wide = box_with_slack(self, box);
  if (!boxes_meet(&wide, &self->box))
    return false;
  int lo[3], hi[3];
  grid_range(self, &wide, lo, hi);
  FOR_GRID(self, lo, hi, i)
  for (int k = self->start[i]; k < self->start[i + 1]; k++)
    if (may_meet(self, self->tri[k], &wide))
      return true;
  return false;
}

static int
compare_ints(const void *a, const void *b)
{
  int x = *(const int *)a, y = *(const int *)b;
  return x < y ? -1 : x > y;
}

int
pla_blade_grid_find(const PlaBladeGrid *self, const PlaCutBox *box, int **found, int *capacity)
{
  const PlaCutBox wide = box_with_slack(self, box);
  int lo[3], hi[3], n = 0;
  grid_range(self, &wide, lo, hi);
  FOR_GRID(self, lo, hi, i)
  for (int k = self->start[i]; k < self->start[i + 1]; k++)
    if (may_meet(self, self->tri[k], &wide)) {
      if (!pla_array_reserve(found, n + 1, capacity, sizeof **found))
        return -1;
      (*found)[n++] = self->tri[k];
    }
  if (n > 1)
    qsort(*found, (size_t)n, sizeof **found, compare_ints);
  int kept = 0;
  for (int k = 0; k < n; k++)
    if (k == 0 || (*found)[k] != (*found)[k - 1])
      (*found)[kept++] = (*found)[k];
  return kept;
}

void
pla_cut_hull_init(PlaCutHull *self, const int64_t pos[4][3])
{
  const double rounding = 1e-12; /* of a product of three; 100 times what it can be */
  double x[4][3];
  *self = (PlaCutHull){ .size = 0.0 };
  for (int c = 0; c < 4; c++)
    for (int d = 0; d < 3; d++) {
      self->origin[d] = pos[0][d];
      x[c][d] = (double)(pos[c][d] - pos[0][d]);
      self->size = fmax(self->size, fabs(x[c][d]));
    }
  for (int f = 0; f < 4; f++) {
    const double *base = x[(f + 1) % 4], *p = x[(f + 2) % 4], *q = x[(f + 3) % 4];
    double height = 0.0, length = 0.0;
    for (int d = 0; d < 3; d++) {
      const int a = (d + 1) % 3, b = (d + 2) % 3;
      self->base[f][d] = base[d];
      self->normal[f][d] =
          (p[a] - base[a]) * (q[b] - base[b]) - (p[b] - base[b]) * (q[a] - base[a]);
      height += self->normal[f][d] * (x[f][d] - base[d]);
      length +=
          fabs((p[a] - base[a]) * (q[b] - base[b])) + fabs((p[b] - base[b]) * (q[a] - base[a]));
    }
    /* of a flat tet no side is known to be the inner one */
    self->loss[f] = fabs(height) > rounding * length * self->size ? rounding * length : INFINITY;
    for (int d = 0; height < 0.0 && d < 3; d++)
      self->normal[f][d] = -self->normal[f][d];
  }
}

bool
pla_cut_hull_may_meet(const PlaCutHull *self, const int64_t tri[3][3])
{
  enum { MOST = 8 }; /* corners: one more by each face */
  double loop[2][MOST][3], reach = self->size;
  int n = 3, in = 0;
  for (int k = 0; k < 9; k++) {
    loop[0][k / 3][k % 3] = (double)(tri[k / 3][k % 3] - self->origin[k % 3]);
    reach = fmax(reach, fabs(loop[0][k / 3][k % 3]));
  }
  /* what each face leaves of the triangle */
  for (int f = 0; f < 4 && n > 0; f++) {
    const double slack = self->loss[f] * 2.0 * reach, *base = self->base[f], *m = self->normal[f];
    double at[MOST];
    bool all = true;
    for (int k = 0; k < n; k++) {
      const double *x = loop[in][k];
      at[k] = m[0] * (x[0] - base[0]) + m[1] * (x[1] - base[1]) + m[2] * (x[2] - base[2]) + slack;
      all = all && at[k] >= 0.0;
    }
    if (all)
      continue;
    int left = 0;
    for (int k = 0; k < n; k++) {
      const int next = k + 1 < n ? k + 1 : 0;
      const double *x = loop[in][k], *y = loop[in][next];
      if (left + 2 > MOST) /* rounded corners of a loop without area may alternate */
        return true;
      if (at[k] >= 0.0)
        memcpy(loop[!in][left++], x, sizeof loop[0][0]);
      if ((at[k] >= 0.0) == (at[next] >= 0.0))
        continue;
      const double part = at[k] / (at[k] - at[next]);
      for (int d = 0; d < 3; d++)
        loop[!in][left][d] = x[d] + part * (y[d] - x[d]);
      left++;
    }
    n = left;
    in = !in;
  }
  return n > 0;
}

/* ---- the tets ---- */

/* the bits of @x with two free ones between each */
static uint32_t
spread_bits(uint32_t x)
{
  x &= 0x3ff;
  x = (x | x << 16) & 0x030000ff;
  x = (x | x << 8) & 0x0300f00f;
  x = (x | x << 4) & 0x030c30c3;
  return (x | x << 2) & 0x09249249;
}

/* numbers the tets along a curve that keeps neighbours together; @order and @spare: n */
static bool
order_tets(const PlaTetMesh *mesh, int *order)
{
  enum { DIGIT = 10, VALUES = 1 << DIGIT };
  const size_t n = (size_t)mesh->n_tets;
  uint32_t *key = pla_array_new(n, sizeof *key);
  int *spare = pla_array_new(n, sizeof *spare);
  size_t *start = pla_array_new(VALUES + 1, sizeof *start);
  const bool ok = key && spare && start;
  if (ok) {
    /* 10 bits of each coordinate of the centroid, interleaved: a Morton key */
    PlaCutBox all;
    double scale[3];
    box_clear(&all);
    for (int v = 0; v < mesh->n_verts; v++)
      box_add(&all, &mesh->rest[3 * v], &mesh->rest[3 * v]);
    for (int d = 0; d < 3; d++)
      scale[d] = all.hi[d] > all.lo[d] ? 1023.0 / (all.hi[d] - all.lo[d]) : 0.0;
    for (size_t t = 0; t < n; t++) {
      key[t] = 0;
      order[t] = (int)t;
      for (int d = 0; d < 3; d++) {
        double sum = 0.0;
        for (int c = 0; c < 4; c++)
          sum += mesh->rest[3 * mesh->tet[4 * t + (size_t)c] + d];
        key[t] |= spread_bits((uint32_t)((0.25 * sum - all.lo[d]) * scale[d])) << d;
      }
    }
    /* radix sort by the 30 bits, 10 at a time */
    for (int pass = 0; pass < 3; pass++) {
      memset(start, 0, (VALUES + 1) * sizeof *start);
      for (size_t t = 0; t < n; t++)
        start[1 + (key[t] >> (DIGIT * pass) & (VALUES - 1))]++;
      for (int i = 0; i < VALUES; i++)
        start[i + 1] += start[i];
      for (size_t i = 0; i < n; i++)
        spare[start[key[order[i]] >> (DIGIT * pass) & (VALUES - 1)]++] = order[i];
      memcpy(order, spare, n * sizeof *order);
    }
  }
  free(key);
  free(spare);
  free(start);
  return ok;
}

void
pla_cut_tree_clear(PlaCutTree *self)
{
  free(self->entry);
  free(self->leaf_start);
  free(self->box);
}

/* room for the levels over n_leaves */
static bool
make_levels(PlaCutTree *self)
{
  int n = self->n_leaves, total = 0;
  self->n_levels = 0;
  for (;;) {
    self->level_start[self->n_levels++] = total;
    total += n;
    if (n == 1)
      break;
    n = (n + PLA_CUT_TREE_FAN - 1) / PLA_CUT_TREE_FAN;
  }
  self->level_start[self->n_levels] = total;
  self->box = pla_array_new((size_t)total, sizeof *self->box);
  return self->box != NULL;
}

bool
pla_cut_tree_init(PlaCutTree *self, const PlaTetMesh *mesh, int *chain)
{
  const int n = mesh->n_tets, n_leaves = n > 0 ? (n + PLA_CUT_TREE_FAN - 1) / PLA_CUT_TREE_FAN : 1;
  *self =
      (PlaCutTree){ .n_entries = n,
                    .n_leaves = n_leaves,
                    .chain = chain,
                    .entry = pla_array_new((size_t)n, sizeof *self->entry),
                    .leaf_start = pla_array_new((size_t)n_leaves + 1, sizeof *self->leaf_start) };
  if (!self->entry || !self->leaf_start || !make_levels(self) || !order_tets(mesh, self->entry))
    return false;
  for (int i = 0; i <= n_leaves; i++)
    self->leaf_start[i] = i < n_leaves ? PLA_CUT_TREE_FAN * i : n;
  for (int t = 0; t < n; t++)
    chain[t] = -1;
  pla_cut_tree_fit(self, mesh->tet, mesh->rest);
  return true;
}

bool
pla_cut_tree_dup(const PlaCutTree *self, int *chain, PlaCutTree *out)
{
  *out = *self;
  out->chain = chain;
  out->entry = pla_array_dup(self->entry, (size_t)self->n_entries, sizeof *self->entry);
  out->leaf_start =
      pla_array_dup(self->leaf_start, (size_t)self->n_leaves + 1, sizeof *self->leaf_start);
  out->box = pla_array_dup(self->box, (size_t)self->level_start[self->n_levels], sizeof *self->box);
  return out->entry && out->leaf_start && out->box;
}

void
pla_cut_tree_fit(PlaCutTree *self, const int *tet, const double *pos)
{
#pragma omp parallel for schedule(static) if (self->n_leaves > PLA_BLOCK)
  for (int i = 0; i < self->n_leaves; i++) {
    PlaCutBox *box = &self->box[i];
    box_clear(box);
    for (int e = self->leaf_start[i]; e < self->leaf_start[i + 1]; e++)
      for (int t = self->entry[e]; t >= 0; t = self->chain[t])
        for (int c = 0; c < 4; c++)
          box_add(box, &pos[3 * tet[4 * t + c]], &pos[3 * tet[4 * t + c]]);
  }
  for (int level = 1; level < self->n_levels; level++) {
    const int first = self->level_start[level], below = self->level_start[level - 1];
    for (int i = first; i < self->level_start[level + 1]; i++) {
      box_clear(&self->box[i]);
      for (int k = 0; k < PLA_CUT_TREE_FAN; k++) {
        const int child = below + PLA_CUT_TREE_FAN * (i - first) + k;
        if (child < first)
          box_add(&self->box[i], self->box[child].lo, self->box[child].hi);
      }
    }
  }
}

void
pla_cut_tree_add_copy(PlaCutTree *self, int tet, int copy)
{
  self->chain[copy] = self->chain[tet];
  self->chain[tet] = copy;
}

void
pla_cut_tree_renumber(PlaCutTree *self, const int *number, int n_tets)
{
  int n = 0;
  for (int i = 0; i < self->n_leaves; i++) {
    const int first = self->leaf_start[i];
    self->leaf_start[i] = n;
    for (int e = first; e < self->leaf_start[i + 1]; e++) {
      /* what is left of the chain, in old numbers */
      int head = -1, *last = &head;
      for (int t = self->entry[e]; t >= 0; t = self->chain[t])
        if (number[t] >= 0) {
          *last = t;
          last = &self->chain[t];
        }
      *last = -1;
      if (head >= 0)
        self->entry[n++] = number[head];
    }
  }
  self->leaf_start[self->n_leaves] = self->n_entries = n;
  /* numbers only fall, so a chain is read before it is written over */
  for (int t = 0; t < n_tets; t++)
    if (number[t] >= 0)
      self->chain[number[t]] = self->chain[t] < 0 ? -1 : number[self->chain[t]];
}

const PlaCutBox *
pla_cut_tree_get_box(const PlaCutTree *self)
{
  return &self->box[self->level_start[self->n_levels] - 1];
}

typedef struct {
  const PlaCutTree *tree;
  const int *tet;
  const double *pos;
  const PlaBladeGrid *blade;
  int n, capacity;
  int *found;
} Search;

static bool
search_below(Search *self, int level, int i)
{
  const PlaCutTree *tree = self->tree;
  if (!grid_may_meet(self->blade, &tree->box[tree->level_start[level] + i]))
    return true;
  bool ok = true;
  if (level > 0) {
    const int n = tree->level_start[level] - tree->level_start[level - 1];
    for (int k = PLA_CUT_TREE_FAN * i; ok && k < PLA_CUT_TREE_FAN * (i + 1) && k < n; k++)
      ok = search_below(self, level - 1, k);
    return ok;
  }
  for (int e = tree->leaf_start[i]; ok && e < tree->leaf_start[i + 1]; e++) {
    /* copies stand where the tet does, but may have been pulled apart since */
    for (int t = tree->entry[e]; ok && t >= 0; t = tree->chain[t]) {
      PlaCutBox box;
      pla_cut_box_of(self->pos, &self->tet[4 * t], 4, &box);
      if (!grid_may_meet(self->blade, &box))
        continue;
      ok = pla_array_reserve(&self->found, self->n + 1, &self->capacity, sizeof *self->found);
      if (ok)
        self->found[self->n++] = t;
    }
  }
  return ok;
}

int
pla_cut_tree_find(const PlaCutTree *self, const int *tet, const double *pos,
                  const PlaBladeGrid *blade, int **found)
{
  Search search = { self, tet, pos, blade, 0, 0, NULL };
  const bool ok = search_below(&search, self->n_levels - 1, 0);
  *found = search.found;
  if (ok && search.n > 1)
    qsort(search.found, (size_t)search.n, sizeof *search.found, compare_ints);
  return ok ? search.n : -1;
}
