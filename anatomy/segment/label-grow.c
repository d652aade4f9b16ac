/* Region growing, division of a label between seeds, and keeping of pieces.
 *
 * Division is a watershed (Meyer 1994): fronts start at the seeds, after each has gone the steepest
 * way to the middle of its part, and always the voxel furthest from the label's border goes next.
 * So a front fills its part of the body before it passes a neck, and two fronts meet in the neck.
 */
#include "anatomy/segment/label-edit-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/volume/distance-transform.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* offsets to the neighbours that share a face, then an edge, then a corner */
static int
neighbours(PlaConnectivity connectivity, int offset[26][3])
{
  int n = 0;
  for (int sharing = 1; sharing <= 3; sharing++)
    for (int c = 0; c < 27; c++) {
      const int o[3] = { c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1 };
      if (abs(o[0]) + abs(o[1]) + abs(o[2]) != sharing || n >= (int)connectivity)
        continue;
      memcpy(offset[n++], o, sizeof o);
    }
  return n;
}

/* the box of voxels that can be within @reach_mm of a seed */
static void
reach_box(const PlaVolume *vol, const double inv[12], const double *seeds_mm, int n,
          double reach_mm, int lo[3], int hi[3])
{
  for (int d = 0; d < 3; d++) {
    const double *row = inv + 4 * d;
    const double reach = reach_mm * sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]);
    double first = INFINITY, last = -INFINITY;
    for (int s = 0; s < n; s++) {
      double x[3];
      pla_affine_apply(inv, seeds_mm + 3 * s, x);
      first = fmin(first, floor(x[d] - reach));
      last = fmax(last, ceil(x[d] + reach));
    }
    lo[d] = first > 0.0 ? (first < vol->dims[d] ? (int)first : vol->dims[d]) : 0;
    hi[d] = last < vol->dims[d] - 1 ? (last >= 0.0 ? (int)last : -1) : vol->dims[d] - 1;
  }
}

typedef struct {
  const PlaVolume *vol, *image;
  size_t first; /* voxel of the image's frame */
  const double *seeds_mm;
  int n_seeds;
  const PlaGrow *grow;
} Growth;

static bool
is_wanted(const Growth *g, const int at[3])
{
  const size_t v = pla_label_voxel(g->vol->dims, at[0], at[1], at[2]);
  if (g->image) {
    const double value =
        g->image->slope * pla_dtype_get(g->image->dtype, g->image->voxels, g->first + v) +
        g->image->inter;
    if (!(value >= g->grow->lo && value <= g->grow->hi))
      return false;
  }
  if (isinf(g->grow->reach_mm))
    return true;
  const double ijk[3] = { at[0], at[1], at[2] };
  double p[3];
  pla_affine_apply(g->vol->affine_mm, ijk, p);
  for (int s = 0; s < g->n_seeds; s++) {
    double d2 = 0.0;
    for (int d = 0; d < 3; d++)
      d2 += (p[d] - g->seeds_mm[3 * s + d]) * (p[d] - g->seeds_mm[3 * s + d]);
    if (d2 <= g->grow->reach_mm * g->grow->reach_mm)
      return true;
  }
  return false;
}

PlaStatus
pla_label_edit_grow(PlaLabelMap *map, const PlaVolume *image, int frame, const double *seeds_mm,
                    int n, const PlaGrow *grow, PlaProgress *progress, PlaLabelChange *change,
                    PlaError *err)
{
  const PlaVolume *vol = map->volume;
  double inv[12];
  PlaLabelPen pen;
  PlaBytes queue = { 0 };
  uint8_t *seen = NULL;
  int offset[26][3], lo[3], hi[3], size[3];
  memset(change, 0, sizeof *change);
  PlaStatus st = pla_label_invert(vol, inv, err);
  if (st == PLA_OK && image &&
      (memcmp(image->dims, vol->dims, 3 * sizeof *vol->dims) != 0 ||
       !(pla_affine_distance(vol->dims, image->affine_mm, vol->affine_mm) < 1e-3)))
    st = pla_fail(err, PLA_ERR_USAGE, "the image and the label map do not have the same grid");
  if (st == PLA_OK && image && (frame < 0 || frame >= image->dims[3]))
    st = pla_fail(err, PLA_ERR_USAGE, "the image has no frame %d", frame);
  if (st != PLA_OK)
    return st;
  const size_t per_frame = (size_t)vol->dims[0] * (size_t)vol->dims[1] * (size_t)vol->dims[2];
  const Growth growth = { vol, image, image ? (size_t)frame * per_frame : 0, seeds_mm, n, grow };
  const int n_offsets = neighbours(grow->connectivity, offset);
  reach_box(vol, inv, seeds_mm, n, grow->reach_mm, lo, hi);
  for (int d = 0; d < 3; d++)
    size[d] = hi[d] >= lo[d] ? hi[d] - lo[d] + 1 : 0;
  const size_t total = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
  seen = pla_array_new0(total, 1);
  uint8_t *allowed = pla_array_new0(65536, 1);
  if (!seen || !allowed)
    st = pla_fail_memory(err, "region growing");
  /* seeds in range begin; what they stand on may be replaced */
  for (int s = 0; st == PLA_OK && s < n; s++) {
    int at[3];
    if (!pla_label_voxel_at(vol, inv, seeds_mm + 3 * s, at) || !is_wanted(&growth, at))
      continue;
    const int here = pla_label_map_get(map, pla_label_voxel(vol->dims, at[0], at[1], at[2]));
    if (grow->only >= 0 && here != grow->only)
      continue;
    allowed[here] = 1;
    uint8_t *mark = &seen[pla_label_voxel(size, at[0] - lo[0], at[1] - lo[1], at[2] - lo[2])];
    if (!*mark && !pla_bytes_append(&queue, at, sizeof at))
      st = pla_fail_memory(err, "region growing");
    *mark = 1;
  }
  if (st == PLA_OK && queue.size == 0)
    st = pla_fail(err, PLA_ERR_EMPTY,
                  "no seed lies in the volume with a value in range and a label that may change");
  size_t head = 0;
  for (; st == PLA_OK && head < queue.size / (3 * sizeof(int)); head++) {
    int at[3];
    memcpy(at, queue.data + head * sizeof at, sizeof at);
    if (head % 65536 == 0 && !pla_progress_step(progress, (double)head / (double)(total + 1)))
      st = pla_fail_cancelled(err);
    for (int o = 0; st == PLA_OK && o < n_offsets; o++) {
      const int next[3] = { at[0] + offset[o][0], at[1] + offset[o][1], at[2] + offset[o][2] };
      if (next[0] < lo[0] || next[1] < lo[1] || next[2] < lo[2] || next[0] > hi[0] ||
          next[1] > hi[1] || next[2] > hi[2])
        continue;
      uint8_t *mark =
          &seen[pla_label_voxel(size, next[0] - lo[0], next[1] - lo[1], next[2] - lo[2])];
      if (*mark)
        continue;
      const int here =
          pla_label_map_get(map, pla_label_voxel(vol->dims, next[0], next[1], next[2]));
      if (!allowed[here] || !is_wanted(&growth, next))
        continue;
      *mark = 1;
      if (!pla_bytes_append(&queue, next, sizeof next))
        st = pla_fail_memory(err, "region growing");
    }
  }
  if (st == PLA_OK)
    st = pla_label_pen_init(&pen, map, grow->label, -1, err);
  if (st == PLA_OK) {
    for (size_t q = 0; q < head; q++) {
      int at[3];
      memcpy(at, queue.data + q * sizeof at, sizeof at);
      pla_label_pen_paint(&pen, at[0], at[1], at[2]);
    }
    *change = pen.change;
  }
  pla_bytes_clear(&queue);
  free(seen);
  free(allowed);
  return st;
}

/* ---- pieces ---- */

/* the part of the volume that holds a label, and the layer around it */
typedef struct {
  int lo[3], size[3];
  size_t n;
  uint8_t *mask; /* 1: the label */
} Part;

static PlaStatus
part_init(Part *p, const PlaLabelMap *map, int label, PlaError *err)
{
  int hi[3];
  if (!pla_label_box(map, label, p->lo, hi))
    return pla_fail(err, PLA_ERR_EMPTY, "no voxel holds label %d", label);
  p->n = 1;
  for (int d = 0; d < 3; d++) {
    p->lo[d] -= p->lo[d] > 0;
    hi[d] += hi[d] < map->volume->dims[d] - 1;
    p->size[d] = hi[d] - p->lo[d] + 1;
    p->n *= (size_t)p->size[d];
  }
  p->mask = pla_array_new(p->n, 1);
  if (!p->mask)
    return pla_fail_memory(err, "the label's pieces");
#pragma omp parallel for schedule(static)
  for (int k = 0; k < p->size[2]; k++)
    for (int j = 0; j < p->size[1]; j++)
      for (int i = 0; i < p->size[0]; i++)
        p->mask[pla_label_voxel(p->size, i, j, k)] =
            pla_label_map_get(map, pla_label_voxel(map->volume->dims, i + p->lo[0], j + p->lo[1],
                                                   k + p->lo[2])) == label;
  return PLA_OK;
}

static void
part_place(const Part *p, size_t v, int ijk[3])
{
  ijk[0] = (int)(v % (size_t)p->size[0]);
  ijk[1] = (int)(v / (size_t)p->size[0] % (size_t)p->size[1]);
  ijk[2] = (int)(v / (size_t)p->size[0] / (size_t)p->size[1]);
}

static bool
part_holds(const Part *p, const int ijk[3])
{
  for (int d = 0; d < 3; d++)
    if (ijk[d] < 0 || ijk[d] >= p->size[d])
      return false;
  return true;
}

/* the voxel of a seed within the part */
static PlaStatus
part_seed(const Part *p, const PlaVolume *vol, const double inv[12], const double *seed_mm, int s,
          int label, size_t *v, PlaError *err)
{
  int at[3];
  bool inside = pla_label_voxel_at(vol, inv, seed_mm, at);
  for (int d = 0; d < 3 && inside; d++) {
    at[d] -= p->lo[d];
    inside = at[d] >= 0 && at[d] < p->size[d];
  }
  if (inside)
    *v = pla_label_voxel(p->size, at[0], at[1], at[2]);
  if (!inside || !p->mask[*v])
    return pla_fail(err, PLA_ERR_USAGE, "seed %d, at (%.1f, %.1f, %.1f) mm, is not in label %d",
                    s + 1, seed_mm[0], seed_mm[1], seed_mm[2], label);
  return PLA_OK;
}

PlaStatus
pla_label_edit_keep(PlaLabelMap *map, int label, const double *seeds_mm, int n, int other,
                    PlaConnectivity connectivity, PlaProgress *progress, PlaLabelChange *change,
                    PlaError *err)
{
  Part part = { .mask = NULL };
  double inv[12];
  uint32_t *number = NULL;
  uint8_t *kept = NULL;
  size_t n_found = 0;
  PlaLabelPen pen;
  memset(change, 0, sizeof *change);
  PlaStatus st = pla_label_invert(map->volume, inv, err);
  if (st == PLA_OK)
    st = part_init(&part, map, label, err);
  if (st == PLA_OK) {
    number = pla_array_new(part.n, sizeof *number);
    if (!number)
      st = pla_fail_memory(err, "the label's pieces");
  }
  if (st == PLA_OK)
    st = pla_components_find(part.size, part.mask, 1, false, connectivity, progress, number,
                             &n_found, NULL, err);
  if (st == PLA_OK) {
    kept = pla_array_new0(n_found + 1, 1);
    if (!kept)
      st = pla_fail_memory(err, "the label's pieces");
    else if (n == 0)
      kept[1] = 1; /* the largest comes first */
  }
  for (int s = 0; st == PLA_OK && s < n; s++) {
    size_t v = 0;
    st = part_seed(&part, map->volume, inv, seeds_mm + 3 * s, s, label, &v, err);
    if (st == PLA_OK)
      kept[number[v]] = 1;
  }
  if (st == PLA_OK)
    st = pla_label_pen_init(&pen, map, other, label, err);
  if (st == PLA_OK) {
    for (size_t v = 0; v < part.n; v++)
      if (number[v] > 0 && !kept[number[v]]) {
        int at[3];
        part_place(&part, v, at);
        pla_label_pen_paint(&pen, at[0] + part.lo[0], at[1] + part.lo[1], at[2] + part.lo[2]);
      }
    *change = pen.change;
  }
  free(part.mask);
  free(number);
  free(kept);
  return st;
}

/* a heap of voxels, deepest first, then first come first served */
typedef struct {
  float depth;
  uint32_t order;
  size_t voxel;
} Entry;

typedef struct {
  Entry *entry;
  size_t n, room;
  uint32_t order;
} Heap;

static bool
goes_before(const Entry *a, const Entry *b)
{
  return a->depth != b->depth ? a->depth > b->depth : a->order < b->order;
}

static bool
heap_push(Heap *h, float depth, size_t voxel)
{
  if (h->n == h->room) {
    void *grown = h->entry;
    const size_t room = h->room ? 2 * h->room : 1024;
    if (!pla_array_resize(&grown, room, sizeof *h->entry))
      return false;
    h->entry = grown;
    h->room = room;
  }
  const Entry e = { depth, h->order++, voxel };
  size_t at = h->n++;
  for (; at > 0 && goes_before(&e, &h->entry[(at - 1) / 2]); at = (at - 1) / 2)
    h->entry[at] = h->entry[(at - 1) / 2];
  h->entry[at] = e;
  return true;
}

static size_t
heap_pop(Heap *h)
{
  const size_t voxel = h->entry[0].voxel;
  const Entry e = h->entry[--h->n];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= h->n)
      break;
    if (child + 1 < h->n && goes_before(&h->entry[child + 1], &h->entry[child]))
      child++;
    if (!goes_before(&h->entry[child], &e))
      break;
    h->entry[at] = h->entry[child];
    at = child;
  }
  if (h->n > 0)
    h->entry[at] = e;
  return voxel;
}

/* takes the voxels from @v up to where the depth is greatest around, or another seed's way */
static bool
climb(const Part *part, const float *depth, Heap *heap, uint16_t *owner, size_t v)
{
  int offset[26][3];
  const int n_offsets = neighbours(PLA_CONNECT_CORNERS, offset);
  const uint16_t seed = owner[v];
  for (;;) {
    size_t next = v;
    int at[3];
    part_place(part, v, at);
    if (!heap_push(heap, depth[v], v))
      return false;
    for (int o = 0; o < n_offsets; o++) {
      const int to[3] = { at[0] + offset[o][0], at[1] + offset[o][1], at[2] + offset[o][2] };
      if (!part_holds(part, to))
        continue;
      const size_t w = pla_label_voxel(part->size, to[0], to[1], to[2]);
      if (part->mask[w] && depth[w] > depth[next])
        next = w;
    }
    if (next == v || owner[next])
      return true;
    owner[next] = seed;
    v = next;
  }
}

/* owner[v]: 1 + the seed that takes voxel v, 0: none */
static PlaStatus
flood(const Part *part, const float *depth, PlaConnectivity connectivity, Heap *heap,
      uint16_t *owner, PlaProgress *progress, PlaError *err)
{
  int offset[26][3];
  const int n_offsets = neighbours(connectivity, offset);
  size_t n_done = 0;
  while (heap->n > 0) {
    const size_t v = heap_pop(heap);
    int at[3];
    part_place(part, v, at);
    if (++n_done % 65536 == 0 && !pla_progress_step(progress, (double)n_done / (double)part->n))
      return pla_fail_cancelled(err);
    for (int o = 0; o < n_offsets; o++) {
      const int next[3] = { at[0] + offset[o][0], at[1] + offset[o][1], at[2] + offset[o][2] };
      if (!part_holds(part, next))
        continue;
      const size_t w = pla_label_voxel(part->size, next[0], next[1], next[2]);
      if (!part->mask[w] || owner[w])
        continue;
      owner[w] = owner[v];
      if (!heap_push(heap, depth[w], w))
        return pla_fail_memory(err, "the division of the label");
    }
  }
  return PLA_OK;
}

PlaStatus
pla_label_edit_split(PlaLabelMap *map, int from, const double *seeds_mm, const int *ids, int n,
                     PlaConnectivity connectivity, PlaProgress *progress, PlaLabelChange *change,
                     PlaError *err)
{
  assert(n >= 1 && n < 65535);
  Part part = { .mask = NULL };
  double inv[12];
  float *depth = NULL;
  uint16_t *owner = NULL;
  size_t *seed = NULL;
  Heap heap = { 0 };
  memset(change, 0, sizeof *change);
  for (int d = 0; d < 3; d++) {
    change->lo[d] = INT_MAX;
    change->hi[d] = -1;
  }
  PlaStatus st = pla_label_invert(map->volume, inv, err);
  if (st == PLA_OK)
    st = part_init(&part, map, from, err);
  if (st == PLA_OK) {
    depth = pla_array_new(part.n, sizeof *depth);
    owner = pla_array_new0(part.n, sizeof *owner);
    seed = pla_array_new0((size_t)n, sizeof *seed);
    if (!depth || !owner || !seed)
      st = pla_fail_memory(err, "the division of the label");
  }
  /* beyond the end of the volume the body is taken to go on */
  if (st == PLA_OK)
    st = pla_distance_transform(part.size, map->volume->affine_mm, part.mask, false, INFINITY,
                                progress, depth, err);
  for (int s = 0; st == PLA_OK && s < n; s++) {
    st = part_seed(&part, map->volume, inv, seeds_mm + 3 * s, s, from, &seed[s], err);
    if (st == PLA_OK && owner[seed[s]])
      st = pla_fail(err, PLA_ERR_USAGE, "seeds %d and %d are in the same voxel", owner[seed[s]],
                    s + 1);
    if (st == PLA_OK)
      owner[seed[s]] = (uint16_t)(s + 1);
  }
  for (int s = 0; st == PLA_OK && s < n; s++)
    if (!climb(&part, depth, &heap, owner, seed[s]))
      st = pla_fail_memory(err, "the division of the label");
  if (st == PLA_OK)
    st = flood(&part, depth, connectivity, &heap, owner, progress, err);
  for (int s = 0; st == PLA_OK && s < n; s++) {
    PlaLabelPen pen;
    st = pla_label_pen_init(&pen, map, ids[s], -1, err);
    for (size_t v = 0; st == PLA_OK && v < part.n; v++)
      if (owner[v] == s + 1) {
        int at[3];
        part_place(&part, v, at);
        pla_label_pen_paint(&pen, at[0] + part.lo[0], at[1] + part.lo[1], at[2] + part.lo[2]);
      }
    if (st == PLA_OK) {
      change->n_changed += pen.change.n_changed;
      for (int d = 0; d < 3; d++) {
        change->lo[d] = pen.change.lo[d] < change->lo[d] ? pen.change.lo[d] : change->lo[d];
        change->hi[d] = pen.change.hi[d] > change->hi[d] ? pen.change.hi[d] : change->hi[d];
      }
    }
  }
  free(part.mask);
  free(depth);
  free(owner);
  free(seed);
  free(heap.entry);
  return st;
}
