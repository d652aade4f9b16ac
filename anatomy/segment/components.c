/* Connected components by runs and union-find.
 *
 * Each row of voxels along i is cut into runs of inside voxels; runs of neighbouring rows that
 * touch are united (Rosenfeld & Pfaltz 1966, on runs as in He, Chao & Suzuki 2008, taken to three
 * dimensions).  There are far fewer runs than voxels, so the serial union costs little; finding
 * runs and painting them is parallel over slices. */
#include "anatomy/segment/components.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int from, to; /* first and last i, both included */
} Run;

typedef struct {
  int dims[3];
  size_t n_rows;       /* dims[1] x dims[2] */
  size_t *row_start;   /* first run of each row  (n_rows + 1) */
  Run *run;            /* (n_runs) */
  uint32_t *component; /* of each run, from 1 by falling size; the parent while uniting (n_runs) */
  PlaComponent *list;  /* (n_components) */
  size_t n_components;
} Runs;

static void
runs_clear(Runs *runs)
{
  free(runs->row_start);
  free(runs->run);
  free(runs->component);
  free(runs->list);
  *runs = (Runs){ 0 };
}

/* Next i >= from with (row[i] == value) == match, or n. */
static int
next_match(const uint8_t *row, int from, int n, uint8_t value, bool match)
{
  if (match) {
    const uint8_t *hit = from < n ? memchr(row + from, value, (size_t)(n - from)) : NULL;
    return hit ? (int)(hit - row) : n;
  }
  while (from < n && row[from] == value)
    from++;
  return from;
}

/* the runs of one row into @run when not NULL; how many there are */
static size_t
row_runs(const uint8_t *row, int n, uint8_t value, bool inverse, Run *run)
{
  size_t count = 0;
  int i = next_match(row, 0, n, value, !inverse);
  while (i < n) {
    int end = next_match(row, i, n, value, inverse);
    if (run)
      run[count] = (Run){ i, end - 1 };
    count++;
    i = next_match(row, end, n, value, !inverse);
  }
  return count;
}

static uint32_t
find_root(uint32_t *parent, uint32_t r)
{
  while (parent[r] != r) {
    parent[r] = parent[parent[r]];
    r = parent[r];
  }
  return r;
}

/* the root with the smaller index stays, so a root is its component's first run */
static void
unite(uint32_t *parent, uint32_t a, uint32_t b)
{
  a = find_root(parent, a);
  b = find_root(parent, b);
  if (a < b)
    parent[b] = a;
  else
    parent[a] = b;
}

/* unites the runs of two rows that overlap, or with @reach 1 that also touch diagonally in i */
static void
unite_rows(Runs *runs, size_t row, size_t other, int reach)
{
  size_t a = runs->row_start[row], a_end = runs->row_start[row + 1];
  size_t b = runs->row_start[other], b_end = runs->row_start[other + 1];
  while (a < a_end && b < b_end) {
    const Run *ra = &runs->run[a], *rb = &runs->run[b];
    if (ra->from <= rb->to + reach && rb->from <= ra->to + reach)
      unite(runs->component, (uint32_t)a, (uint32_t)b);
    if (ra->to < rb->to)
      a++;
    else
      b++;
  }
}

typedef struct {
  size_t n_voxels;
  uint32_t root;
} SizedRoot;

static int
compare_sized(const void *pa, const void *pb)
{
  const SizedRoot *a = pa, *b = pb;
  if (a->n_voxels != b->n_voxels)
    return a->n_voxels > b->n_voxels ? -1 : 1;
  return a->root < b->root ? -1 : a->root > b->root;
}

/* grows the entry of a component by one run of row (j, k) */
static void
component_add(PlaComponent *c, const int dims[3], Run run, int j, int k)
{
  const int lo[3] = { run.from, j, k }, hi[3] = { run.to, j, k };
  if (c->n_voxels == 0) {
    c->first = (size_t)run.from + (size_t)dims[0] * ((size_t)j + (size_t)dims[1] * (size_t)k);
    memcpy(c->lo, lo, sizeof lo);
    memcpy(c->hi, hi, sizeof hi);
  }
  c->n_voxels += (size_t)(run.to - run.from + 1);
  for (int d = 0; d < 3; d++) {
    c->lo[d] = lo[d] < c->lo[d] ? lo[d] : c->lo[d];
    c->hi[d] = hi[d] > c->hi[d] ? hi[d] : c->hi[d];
    /* a flat volume has no border across its thickness */
    if (dims[d] > 1 && lo[d] == 0)
      c->faces |= 1u << (2 * d);
    if (dims[d] > 1 && hi[d] == dims[d] - 1)
      c->faces |= 2u << (2 * d);
  }
}

/* numbers the united runs by falling size and describes each component */
static bool
runs_number(Runs *runs)
{
  size_t n_runs = runs->row_start[runs->n_rows];
  uint32_t *parent = runs->component;
  size_t n_roots = 0;
  for (size_t r = 0; r < n_runs; r++) {
    parent[r] = parent[parent[r]]; /* parents stand before their children: one hop is enough */
    n_roots += parent[r] == r;
  }
  SizedRoot *sized = pla_array_new0(n_roots, sizeof *sized);
  uint32_t *slot = pla_array_new(n_runs, sizeof *slot); /* of a root, then the root's number */
  runs->list = pla_array_new0(n_roots, sizeof *runs->list);
  if (!sized || !slot || !runs->list) {
    free(sized);
    free(slot);
    return false;
  }
  uint32_t next = 0;
  for (size_t r = 0; r < n_runs; r++) {
    if (parent[r] == r) {
      slot[r] = next;
      sized[next++].root = (uint32_t)r;
    }
    sized[slot[parent[r]]].n_voxels += (size_t)(runs->run[r].to - runs->run[r].from + 1);
  }
  qsort(sized, n_roots, sizeof *sized, compare_sized);
  for (size_t c = 0; c < n_roots; c++)
    slot[sized[c].root] = (uint32_t)c + 1;
  for (size_t row = 0; row < runs->n_rows; row++) {
    int j = (int)(row % (size_t)runs->dims[1]), k = (int)(row / (size_t)runs->dims[1]);
    for (size_t r = runs->row_start[row]; r < runs->row_start[row + 1]; r++) {
      uint32_t c = slot[parent[r]];
      parent[r] = c;
      component_add(&runs->list[c - 1], runs->dims, runs->run[r], j, k);
    }
  }
  runs->n_components = n_roots;
  free(sized);
  free(slot);
  return true;
}

/* Fills @runs, which the caller clears, also after a failure. */
static PlaStatus
runs_find(Runs *runs, const int dims[3], const uint8_t *mask, uint8_t value, bool inverse,
          PlaConnectivity connectivity, PlaProgress *progress, PlaError *err)
{
  const size_t ni = (size_t)dims[0], nj = (size_t)dims[1], nk = (size_t)dims[2];
  *runs = (Runs){ .dims = { dims[0], dims[1], dims[2] }, .n_rows = nj * nk };
  if (ni * nj * nk >= UINT32_MAX)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "the volume has %zu voxels; connected regions are found in up to 4294967294: "
                    "crop it or make it coarser first",
                    ni * nj * nk);

  /* count, then store, the runs of each row */
  runs->row_start = pla_array_new0(runs->n_rows + 1, sizeof *runs->row_start);
  if (!runs->row_start)
    return pla_fail_memory(err, "connected regions");
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row < runs->n_rows; row++)
    runs->row_start[row + 1] = row_runs(mask + row * ni, dims[0], value, inverse, NULL);
  for (size_t row = 0; row < runs->n_rows; row++)
    runs->row_start[row + 1] += runs->row_start[row];
  size_t n_runs = runs->row_start[runs->n_rows];
  runs->run = pla_array_new(n_runs, sizeof *runs->run);
  runs->component = pla_array_new(n_runs, sizeof *runs->component);
  if (!runs->run || !runs->component)
    return pla_fail_memory(err, "connected regions");
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row < runs->n_rows; row++) {
    size_t at = runs->row_start[row];
    row_runs(mask + row * ni, dims[0], value, inverse, runs->run + at);
    for (size_t r = at; r < runs->row_start[row + 1]; r++)
      runs->component[r] = (uint32_t)r;
  }

  /* unite each row with its neighbours of lower index */
  const int face_reach = connectivity == PLA_CONNECT_FACES ? 0 : 1;
  const int edge_reach = connectivity == PLA_CONNECT_CORNERS ? 1 : 0;
  for (size_t k = 0; k < nk; k++) {
    if (!pla_progress_step(progress, 0.2 + 0.6 * (double)k / (double)nk))
      return pla_fail_cancelled(err);
    for (size_t j = 0; j < nj; j++) {
      size_t row = j + nj * k;
      if (runs->row_start[row] == runs->row_start[row + 1])
        continue;
      if (j > 0)
        unite_rows(runs, row, row - 1, face_reach);
      if (k > 0)
        unite_rows(runs, row, row - nj, face_reach);
      if (connectivity != PLA_CONNECT_FACES && k > 0) {
        if (j > 0)
          unite_rows(runs, row, row - nj - 1, edge_reach);
        if (j + 1 < nj)
          unite_rows(runs, row, row - nj + 1, edge_reach);
      }
    }
  }
  return runs_number(runs) ? PLA_OK : pla_fail_memory(err, "connected regions");
}

PlaStatus
pla_components_find(const int dims[3], const uint8_t *mask, uint8_t value, bool inverse,
                    PlaConnectivity connectivity, PlaProgress *progress, uint32_t *number,
                    size_t *n_out, PlaComponent **list, PlaError *err)
{
  Runs runs;
  PlaStatus st = runs_find(&runs, dims, mask, value, inverse, connectivity, progress, err);
  *n_out = 0;
  if (list)
    *list = NULL;
  if (st == PLA_OK) {
    const size_t ni = (size_t)dims[0];
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < runs.n_rows; row++) {
      uint32_t *out = number + row * ni;
      memset(out, 0, ni * sizeof *out);
      for (size_t r = runs.row_start[row]; r < runs.row_start[row + 1]; r++)
        for (int i = runs.run[r].from; i <= runs.run[r].to; i++)
          out[i] = runs.component[r];
    }
    *n_out = runs.n_components;
    if (list) {
      *list = runs.list;
      runs.list = NULL;
    }
  }
  runs_clear(&runs);
  return st;
}

/* mask = @paint over every run whose component's entry in @chosen is set */
static void
runs_paint(const Runs *runs, const bool *chosen, uint8_t *mask, uint8_t paint)
{
  const size_t ni = (size_t)runs->dims[0];
#pragma omp parallel for schedule(static)
  for (size_t row = 0; row < runs->n_rows; row++)
    for (size_t r = runs->row_start[row]; r < runs->row_start[row + 1]; r++)
      if (chosen[runs->component[r] - 1])
        memset(mask + row * ni + runs->run[r].from, paint,
               (size_t)(runs->run[r].to - runs->run[r].from + 1));
}

static PlaConnectivity
dual(PlaConnectivity connectivity)
{
  return connectivity == PLA_CONNECT_FACES ? PLA_CONNECT_CORNERS : PLA_CONNECT_FACES;
}

/* which components a change of the mask concerns */
typedef struct {
  bool all_but_first;
  bool enclosed; /* those that reach no face outside closed_faces */
  unsigned closed_faces;
  size_t below; /* those with fewer voxels; 0: any */
} Choice;

/* Paints the chosen components of the mask (@holes: of its background) over with the other value.
 */
static PlaStatus
flip_components(const int dims[3], uint8_t *mask, PlaConnectivity connectivity, bool holes,
                Choice choice, PlaProgress *progress, size_t *n_flipped, size_t *n_first,
                PlaError *err)
{
  Runs runs;
  bool *chosen = NULL;
  size_t flipped = 0;
  PlaStatus st = runs_find(&runs, dims, mask, 0, !holes, holes ? dual(connectivity) : connectivity,
                           progress, err);
  if (st == PLA_OK) {
    chosen = pla_array_new0(runs.n_components, sizeof *chosen);
    if (!chosen)
      st = pla_fail_memory(err, "connected regions");
  }
  if (st == PLA_OK) {
    for (size_t c = 0; c < runs.n_components; c++) {
      const PlaComponent *comp = &runs.list[c];
      chosen[c] = (!choice.all_but_first || c > 0) &&
                  (!choice.enclosed || !(comp->faces & ~choice.closed_faces)) &&
                  (!choice.below || comp->n_voxels < choice.below);
      flipped += chosen[c] ? comp->n_voxels : 0;
    }
    runs_paint(&runs, chosen, mask, holes);
    if (n_flipped)
      *n_flipped = flipped;
    if (n_first)
      *n_first = runs.n_components ? runs.list[0].n_voxels : 0;
  }
  free(chosen);
  runs_clear(&runs);
  return st;
}

PlaStatus
pla_mask_keep_largest(const int dims[3], uint8_t *mask, PlaConnectivity connectivity,
                      PlaProgress *progress, size_t *n_kept, PlaError *err)
{
  return flip_components(dims, mask, connectivity, false, (Choice){ .all_but_first = true },
                         progress, NULL, n_kept, err);
}

PlaStatus
pla_mask_fill_holes(const int dims[3], uint8_t *mask, PlaConnectivity connectivity,
                    unsigned closed_faces, PlaProgress *progress, size_t *n_filled, PlaError *err)
{
  return flip_components(dims, mask, connectivity, true,
                         (Choice){ .enclosed = true, .closed_faces = closed_faces }, progress,
                         n_filled, NULL, err);
}

PlaStatus
pla_mask_drop_small(const int dims[3], uint8_t *mask, PlaConnectivity connectivity, bool holes,
                    size_t min_voxels, PlaProgress *progress, PlaError *err)
{
  if (min_voxels <= 1)
    return PLA_OK;
  return flip_components(dims, mask, connectivity, holes, (Choice){ .below = min_voxels }, progress,
                         NULL, NULL, err);
}

PlaStatus
pla_mask_fill_slices(const int dims[3], uint8_t *mask, int axis, PlaConnectivity connectivity,
                     PlaProgress *progress, size_t *n_filled, PlaError *err)
{
  assert(axis >= 0 && axis < 3);
  const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
  const size_t stride[3] = { 1, (size_t)dims[0], (size_t)dims[0] * (size_t)dims[1] };
  const int flat[3] = { dims[a], dims[b], 1 };
  uint8_t *slice = pla_array_new((size_t)dims[a] * (size_t)dims[b], 1);
  PlaStatus st = slice ? PLA_OK : pla_fail_memory(err, "a slice of the volume");
  size_t total = 0;
  for (int s = 0; s < dims[axis] && st == PLA_OK; s++) {
    if (!pla_progress_step(progress, (double)s / (double)dims[axis])) {
      st = pla_fail_cancelled(err);
      break;
    }
    uint8_t *from = mask + (size_t)s * stride[axis];
    for (int y = 0; y < dims[b]; y++)
      for (int x = 0; x < dims[a]; x++)
        slice[x + (size_t)y * (size_t)dims[a]] =
            from[(size_t)x * stride[a] + (size_t)y * stride[b]];
    size_t filled = 0;
    st = pla_mask_fill_holes(flat, slice, connectivity, 0, NULL, &filled, err);
    total += filled;
    for (int y = 0; y < dims[b] && filled; y++)
      for (int x = 0; x < dims[a]; x++)
        from[(size_t)x * stride[a] + (size_t)y * stride[b]] =
            slice[x + (size_t)y * (size_t)dims[a]];
  }
  if (n_filled)
    *n_filled = total;
  free(slice);
  return st;
}

size_t
pla_mask_count(const int dims[3], const uint8_t *mask)
{
  const size_t n = (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2];
  size_t count = 0;
  for (size_t v = 0; v < n; v++)
    count += mask[v] != 0;
  return count;
}
