/* The linear systems of a model. */
#include "sim/solve/system.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/solve/mixed-kernel.h"
#include "sim/solve/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  THROUGH_BINDINGS = -2, /* first slot of a cell with bound vertices */
  BATCH = 2048,          /* cells whose stiffness is kept at a time: 2.4 MB of tets */
  MOST_MERGED = 24,      /* three vertices of a surface, each in a tet, have at most 12 parents */
};

/* vertices that carry something: an element, a spring, a link, or a bound vertex that does */
static void
mark_used(const PlaFemModel *model, const PlaFemConditions *conditions, const PlaVertSets *links,
          unsigned char *used)
{
  for (int v = 0; v < model->n_verts; v++)
    used[v] = model->incidence.start[v + 1] > model->incidence.start[v];
  for (int s = 0; conditions->springs && s < conditions->springs->n; s++)
    for (int a = 0; a < conditions->springs->spring[s].n_verts; a++)
      used[conditions->springs->spring[s].vert[a]] = 1;
  for (int k = 0; links && links->n > 0 && k < links->start[links->n]; k++)
    used[links->vert[k]] = 1;
  const int *tri = NULL;
  const int n_tris = conditions->membranes ? pla_membranes_get(conditions->membranes, &tri) : 0;
  for (int k = 0; k < 3 * n_tris; k++)
    used[tri[k]] = 1;
  const PlaFemBindings *bindings = conditions->bindings;
  for (int e = 0; bindings && e < bindings->n; e++)
    for (int k = bindings->start[e]; k < bindings->start[e + 1]; k++)
      used[bindings->parent[k]] |= used[bindings->vert[e]];
  for (int e = 0; bindings && e < bindings->n; e++)
    used[bindings->vert[e]] = 0;
}

/* the blocks that move vertex @v, into @out unless that is NULL; their number */
static int
blocks_of(const PlaFemSystem *self, int v, int *out)
{
  if (!self->bound || self->bound[v] < 0) {
    if (out)
      *out = self->block_of[v];
    return 1;
  }
  const PlaFemBindings *bindings = self->bindings;
  const int e = self->bound[v], n = bindings->start[e + 1] - bindings->start[e];
  for (int k = 0; out && k < n; k++)
    out[k] = self->block_of[bindings->parent[bindings->start[e] + k]];
  return n;
}

/* @n sets of vertices by the block rows that they touch; those with bound vertices apart */
static bool
list_rows(const PlaFemSystem *self, int n, const int *vert_start, const int *vert, PlaFemRows *out)
{
  int *fill = pla_array_new0((size_t)self->n_blocks, sizeof *fill);
  out->bound = pla_array_new0((size_t)n, 1);
  out->start = pla_array_new0((size_t)self->n_blocks + 1, sizeof *out->start);
  out->entry = pla_array_new((size_t)vert_start[n], 2 * sizeof *out->entry);
  bool enough = fill && out->bound && out->start && out->entry;
  for (int pass = 0; enough && pass < 2; pass++) {
    for (int s = 0; s < n; s++)
      for (int k = vert_start[s]; k < vert_start[s + 1]; k++) {
        int v = vert[k], r = self->block_of[v];
        out->bound[s] |= self->bound && self->bound[v] >= 0;
        if (r < 0)
          continue;
        if (pass == 0) {
          out->start[r + 1]++;
          continue;
        }
        size_t at = 2 * (size_t)(out->start[r] + fill[r]++);
        out->entry[at] = s;
        out->entry[at + 1] = k - vert_start[s];
      }
    for (int r = 0; pass == 0 && r < self->n_blocks; r++)
      out->start[r + 1] += out->start[r];
  }
  free(fill);
  return enough;
}

static void
rows_clear(PlaFemRows *rows)
{
  free(rows->start);
  free(rows->entry);
  free(rows->bound);
}

/* room for the parts of the mixed formulation */
static PlaStatus
prepare_mixed(PlaFemSystem *self, PlaError *err)
{
  const PlaFemModel *model = self->model;
  const PlaFemPatches *patches = model->patches;
  const PlaFemDomains *domains = model->domains;
  self->pressure =
      pla_array_new((size_t)model->n_tets + (size_t)model->n_hexes, sizeof *self->pressure);
  self->slope = pla_array_new((size_t)patches->vert_start[patches->n], 3 * sizeof *self->slope);
  self->curvature = pla_array_new((size_t)patches->n, sizeof *self->curvature);
  bool enough = self->pressure && self->slope && self->curvature &&
                list_rows(self, patches->n, patches->vert_start, patches->vert, &self->patch_rows);
  if (enough && domains) {
    self->tangent = pla_array_new((size_t)domains->n, 81 * sizeof *self->tangent);
    self->simple = pla_array_new((size_t)domains->n, 1);
    enough = self->tangent && self->simple &&
             list_rows(self, domains->n, domains->vert_start, domains->vert, &self->domain_rows);
  }
  return enough ? PLA_OK : pla_fail_memory(err, "the linear system");
}

/* sets of blocks that must meet in the matrix: cells, then membranes, then springs, then links,
 * then patches, then domains */
static PlaStatus
make_sets(const PlaFemSystem *self, const PlaFemConditions *conditions, const PlaVertSets *links,
          int **start_out, int **blocks_out, int *n_out, PlaError *err)
{
  const PlaFemModel *model = self->model;
  const PlaFemSprings *springs = conditions->springs;
  const int *tri = NULL;
  const int n_tris = conditions->membranes ? pla_membranes_get(conditions->membranes, &tri) : 0;
  const int n_tets_hexes = model->n_tets + model->n_hexes, n_cells = n_tets_hexes + n_tris;
  const int n_springs = springs ? springs->n : 0;
  const int n_links = links ? links->n : 0, n_patches = model->patches ? model->patches->n : 0;
  const int n_domains = model->domains ? model->domains->n : 0;
  const int n = n_cells + n_springs + n_links + n_patches + n_domains;
  int *start = pla_array_new0((size_t)n + 1, sizeof *start), *blocks = NULL;
  PlaStatus st = start ? PLA_OK : pla_fail_memory(err, "the linear system");
  for (int pass = 0; st == PLA_OK && pass < 2; pass++) {
    int64_t total = 0;
    for (int s = 0; s < n; s++) {
      const int *verts;
      int k, l = s - n_cells - n_springs;
      if (s < n_tets_hexes) {
        k = pla_fem_cell_verts(model, s, &verts);
      } else if (s < n_cells) {
        verts = tri + 3 * (size_t)(s - n_tets_hexes);
        k = 3;
      } else if (l < 0) {
        verts = springs->spring[s - n_cells].vert;
        k = springs->spring[s - n_cells].n_verts;
      } else if (l < n_links) {
        verts = links->vert + links->start[l];
        k = links->start[l + 1] - links->start[l];
      } else {
        const bool patch = l < n_links + n_patches;
        const int *first = patch ? model->patches->vert_start + (l - n_links)
                                 : model->domains->vert_start + (l - n_links - n_patches);
        verts = (patch ? model->patches->vert : model->domains->vert) + first[0];
        k = first[1] - first[0];
      }
      for (int a = 0; a < k; a++)
        total += blocks_of(self, verts[a], pass ? blocks + total : NULL);
      if (total > INT32_MAX)
        return free(start), pla_fail_memory(err, "a linear system of this size");
      start[s + 1] = (int)total;
    }
    if (pass == 0 && !(blocks = pla_array_new((size_t)total, sizeof *blocks)))
      st = pla_fail_memory(err, "the linear system");
  }
  *start_out = start;
  *blocks_out = blocks;
  *n_out = n;
  return st;
}

/* where each cell's blocks go; cells with bound vertices have no fixed places */
static PlaStatus
make_slots(PlaFemSystem *self, PlaError *err)
{
  const PlaFemModel *model = self->model;
  const int n_cells = model->n_tets + model->n_hexes;
  size_t n_slots = 0;
  self->slot_start = pla_array_new((size_t)n_cells + 1, sizeof *self->slot_start);
  for (int c = 0; self->slot_start && c <= n_cells; c++) {
    self->slot_start[c] = n_slots;
    n_slots += c < model->n_tets ? 16 : 64;
  }
  self->slot = self->slot_start ? pla_array_new(n_slots, sizeof *self->slot) : NULL;
  self->local_size = model->n_hexes > 0 ? 576 : 144;
  self->stiffness = pla_array_new((size_t)(n_cells < BATCH ? n_cells : BATCH),
                                  self->local_size * sizeof *self->stiffness);
  self->cursor = pla_array_new((size_t)self->n_blocks, sizeof *self->cursor);
  if (!self->slot || !self->stiffness || !self->cursor)
    return pla_fail_memory(err, "the linear system");
#pragma omp parallel for schedule(static)
  for (int c = 0; c < n_cells; c++) {
    const int *verts;
    int k = pla_fem_cell_verts(model, c, &verts), *slot = self->slot + self->slot_start[c];
    bool bound = false;
    for (int a = 0; self->bound && a < k; a++)
      bound |= self->bound[verts[a]] >= 0;
    for (int a = 0; a < k; a++)
      for (int b = 0; b < k; b++) {
        int row = self->block_of[verts[a]], col = self->block_of[verts[b]];
        slot[a * k + b] =
            !bound && row >= 0 && col >= 0 ? pla_block_matrix_find(&self->matrix, row, col) : -1;
      }
    if (bound)
      slot[0] = THROUGH_BINDINGS;
  }
  return PLA_OK;
}

PlaStatus
pla_fem_system_init(PlaFemSystem *self, const PlaFemModel *model,
                    const PlaFemConditions *conditions, const PlaVertSets *links, PlaError *err)
{
  return pla_fem_system_init_ordered(self, model, conditions, links, NULL, err);
}

PlaStatus
pla_fem_system_init_ordered(PlaFemSystem *self, const PlaFemModel *model,
                            const PlaFemConditions *conditions, const PlaVertSets *links,
                            PlaFemOrder *order, PlaError *err)
{
  PlaStatus st = pla_fem_system_init_bare(self, model, conditions, links, err);
  if (st == PLA_OK && self->n_blocks > 0)
    st = pla_fem_system_analyse(self, order, err);
  if (st != PLA_OK)
    pla_fem_system_clear(self);
  return st;
}

PlaStatus
pla_fem_system_init_bare(PlaFemSystem *self, const PlaFemModel *model,
                         const PlaFemConditions *conditions, const PlaVertSets *links,
                         PlaError *err)
{
  const size_t nv = (size_t)model->n_verts;
  *self = (PlaFemSystem){ .model = model, .bindings = conditions->bindings };
  self->block_of = pla_array_new(nv, sizeof *self->block_of);
  self->vert_of = pla_array_new(nv, sizeof *self->vert_of);
  self->fixed = pla_array_new(nv, 3);
  self->bound = conditions->bindings ? pla_array_new(nv, sizeof *self->bound) : NULL;
  unsigned char *used = pla_array_new(nv, 1);
  int *start = NULL, *blocks = NULL, n_sets = 0;
  PlaStatus st = self->block_of && self->vert_of && self->fixed && used &&
                         (self->bound || !conditions->bindings)
                     ? PLA_OK
                     : pla_fail_memory(err, "the linear system");
  if (st == PLA_OK) {
    mark_used(model, conditions, links, used);
    for (int v = 0; self->bound && v < model->n_verts; v++)
      self->bound[v] = -1;
    for (int e = 0; self->bound && e < conditions->bindings->n; e++)
      self->bound[conditions->bindings->vert[e]] = e;
    for (int v = 0; v < model->n_verts; v++) {
      const unsigned char *f = conditions->fixed + 3 * (size_t)v;
      self->block_of[v] = -1;
      if (!used[v] || (f[0] && f[1] && f[2]))
        continue;
      memcpy(self->fixed + 3 * (size_t)self->n_blocks, f, 3);
      self->vert_of[self->n_blocks] = v;
      self->block_of[v] = self->n_blocks++;
    }
    st = make_sets(self, conditions, links, &start, &blocks, &n_sets, err);
  }
  if (st == PLA_OK)
    st = pla_block_matrix_init(&self->matrix, self->n_blocks, n_sets, start, blocks, err);
  if (st == PLA_OK)
    st = make_slots(self, err);
  if (st == PLA_OK && model->patches)
    st = prepare_mixed(self, err);
  free(used);
  free(start);
  free(blocks);
  if (st != PLA_OK)
    pla_fem_system_clear(self);
  return st;
}

void
pla_fem_system_clear(PlaFemSystem *self)
{
  free(self->block_of);
  free(self->vert_of);
  free(self->fixed);
  free(self->bound);
  free(self->slot);
  free(self->slot_start);
  free(self->stiffness);
  free(self->cursor);
  rows_clear(&self->patch_rows);
  rows_clear(&self->domain_rows);
  free(self->tangent);
  free(self->simple);
  free(self->pressure);
  free(self->slope);
  free(self->curvature);
  pla_block_matrix_clear(&self->matrix);
  pla_cholesky_free(self->factor);
  *self = (PlaFemSystem){ 0 };
}

void
pla_fem_system_constrain(PlaFemSystem *self)
{
  PlaBlockMatrix *m = &self->matrix;
#pragma omp parallel for schedule(static)
  for (int r = 0; r < m->n; r++)
    for (int k = m->start[r]; k < m->start[r + 1]; k++) {
      const unsigned char *fr = self->fixed + 3 * (size_t)r,
                          *fc = self->fixed + 3 * (size_t)m->col[k];
      double *block = m->value + 9 * (size_t)k;
      double size = fmax(fabs(block[0]), fmax(fabs(block[4]), fabs(block[8])));
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          if (fr[i] || fc[j])
            block[3 * i + j] = m->col[k] == r && i == j ? (size > 0.0 ? size : 1.0) : 0.0;
    }
}

/* who moves vertex @v: itself, or the parents it is bound to; their number */
static int
movers(const PlaFemSystem *self, const int *v, const int **parent, const double **weight)
{
  static const double one = 1.0;
  *parent = v;
  *weight = &one;
  if (!self->bound || self->bound[*v] < 0)
    return 1;
  return pla_binding_get(self->bindings, self->bound[*v], parent, weight);
}

/* adds @factor times a 3x3 block, rows @stride apart, between two vertices */
static void
add_block(PlaFemSystem *self, int v, int u, double factor, const double *values, int stride)
{
  const int *pv, *pu;
  const double *wv, *wu;
  const int nv = movers(self, &v, &pv, &wv), nu = movers(self, &u, &pu, &wu);
  for (int p = 0; p < nv; p++)
    for (int q = 0; q < nu; q++) {
      int row = self->block_of[pv[p]], col = self->block_of[pu[q]];
      if (row < 0 || col < 0)
        continue;
      double *block =
          self->matrix.value + 9 * (size_t)pla_block_matrix_find(&self->matrix, row, col);
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          block[3 * i + j] += factor * wv[p] * wu[q] * values[i * stride + j];
    }
}

/* Vertices that ride in the same cells share their parents.  Summed up between the parents first, a
 * block is looked for in the matrix once for each pair of those, not for each pair of vertices. */
typedef struct {
  int n, block[MOST_MERGED];
  double value[9 * MOST_MERGED * MOST_MERGED];
} Merged;

/* the place of a block, -1: no more room */
static int
merged_place(Merged *self, int block)
{
  for (int i = 0; i < self->n; i++)
    if (self->block[i] == block)
      return i;
  if (self->n == MOST_MERGED)
    return -1;
  self->block[self->n] = block;
  return self->n++;
}

/* false where too many parents move the vertices */
static bool
add_merged(PlaFemSystem *self, int k, const int *verts, const double *local)
{
  Merged merged = { .n = 0 };
  int place[MOST_MERGED], first[MOST_MERGED + 1] = { 0 };
  double weight[MOST_MERGED];
  for (int a = 0; a < k; a++) {
    const int *parent;
    const double *w;
    const int n = movers(self, verts + a, &parent, &w);
    if (a == MOST_MERGED || first[a] + n > MOST_MERGED)
      return false;
    for (int i = 0; i < n; i++) {
      const int block = self->block_of[parent[i]];
      place[first[a] + i] = block < 0 ? -1 : merged_place(&merged, block);
      weight[first[a] + i] = w[i];
    }
    first[a + 1] = first[a] + n;
  }
  const int n = merged.n;
  memset(merged.value, 0, 9 * (size_t)(n * n) * sizeof *merged.value);
  for (int a = 0; a < k; a++)
    for (int b = 0; b < k; b++)
      for (int p = first[a]; p < first[a + 1]; p++)
        for (int q = first[b]; q < first[b + 1]; q++) {
          if (place[p] < 0 || place[q] < 0)
            continue;
          double *block = merged.value + 9 * (place[p] * n + place[q]);
          for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
              block[3 * i + j] += weight[p] * weight[q] * local[3 * k * (3 * a + i) + 3 * b + j];
        }
  for (int p = 0; p < n; p++)
    for (int q = 0; q < n; q++) {
      const int at = pla_block_matrix_find(&self->matrix, merged.block[p], merged.block[q]);
      for (int i = 0; i < 9; i++)
        self->matrix.value[9 * (size_t)at + (size_t)i] += merged.value[9 * (p * n + q) + i];
    }
  return true;
}

void
pla_fem_system_add_local(PlaFemSystem *self, int k, const int *verts, const double *local)
{
  bool bound = false;
  for (int a = 0; self->bound && a < k; a++)
    bound |= self->bound[verts[a]] >= 0;
  if (bound && k > 1 && add_merged(self, k, verts, local))
    return;
  for (int a = 0; a < k; a++)
    for (int b = 0; b < k; b++)
      add_block(self, verts[a], verts[b], 1.0, local + 9 * a * k + 3 * b, 3 * k);
}

/* The blocks of one row of a set are linear in what its columns have, g_b: block (i, j) is the sum
 * of row[9 l + 3 i + j] g_b[l]. */
typedef void (*RowFunc)(const PlaFemSystem *self, int set, int a, double row[27]);

/* curvature s_a s_b^T of a patch */
static void
patch_row(const PlaFemSystem *self, int p, int a, double row[27])
{
  const double *slope = self->slope + 3 * (size_t)(self->model->patches->vert_start[p] + a);
  memset(row, 0, 27 * sizeof *row);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      row[9 * j + 3 * i + j] = self->curvature[p] * slope[i];
}

/* g_a H g_b of a domain */
static void
domain_row(const PlaFemSystem *self, int d, int a, double row[27])
{
  const PlaFemDomains *domains = self->model->domains;
  const double *h = self->tangent + 81 * (size_t)d;
  const double *g = domains->grad + 3 * (size_t)(domains->vert_start[d] + a);
  if (self->simple[d]) {
    const double mu = h[9], lambda = h[10], q = h[11];
    double c[3];
    pla_mat3_apply(h, g, c);
    for (int l = 0; l < 3; l++)
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          row[9 * l + 3 * i + j] =
              q * h[3 * i + l] * c[j] + lambda * c[i] * h[3 * j + l] + (i == j ? mu * g[l] : 0.0);
    return;
  }
  for (int l = 0; l < 3; l++)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        row[9 * l + 3 * i + j] = g[0] * h[27 * i + 3 * j + l] + g[1] * h[27 * i + 9 + 3 * j + l] +
                                 g[2] * h[27 * i + 18 + 3 * j + l];
}

/* adds the blocks of all sets, whose vertices have @grad: each row gathers its own; those with
 * bound vertices follow, one by one */
static void
add_sets(PlaFemSystem *self, const PlaFemRows *rows, int n_sets, const int *vert_start,
         const int *vert, const double *grad, RowFunc func)
{
  PlaBlockMatrix *m = &self->matrix;
  PlaMixedAddRow *add_row = pla_mixed_add_row_plain;
#if defined(__x86_64__)
  if (pla_kernel_get() == PLA_KERNEL_AVX2)
    add_row = pla_mixed_add_row_avx2;
#endif
#pragma omp parallel for schedule(static)
  for (int r = 0; r < m->n; r++)
    for (int k = rows->start[r]; k < rows->start[r + 1]; k++) {
      const int set = rows->entry[2 * (size_t)k], place = rows->entry[2 * (size_t)k + 1];
      double row[27];
      if (rows->bound[set])
        continue;
      func(self, set, place, row);
      add_row(row, vert_start[set + 1] - vert_start[set], vert + vert_start[set],
              grad + 3 * (size_t)vert_start[set], self->block_of, r, m);
    }
  for (int set = 0; self->bound && set < n_sets; set++) {
    const int first = vert_start[set], n = vert_start[set + 1] - first;
    /* pair by pair, so that sets of any size do */
    for (int a = 0; rows->bound[set] && a < n; a++) {
      double row[27];
      func(self, set, a, row);
      for (int b = 0; b < n; b++) {
        double local[36] = { 0 }, block[9] = { 0 };
        const int pair[2] = { vert[first + a], vert[first + b] }, k = a == b ? 1 : 2;
        const double *g = grad + 3 * (size_t)(first + b);
        for (int i = 0; i < 9; i++)
          block[i] = row[i] * g[0] + row[9 + i] * g[1] + row[18 + i] * g[2];
        for (int i = 0; i < 3; i++)
          memcpy(local + i * 3 * k + 3 * (k - 1), block + 3 * i, 3 * sizeof *local);
        pla_fem_system_add_local(self, k, pair, local);
      }
    }
  }
}

/* tangents of the domains, those of simple ones in short */
static void
find_tangents(PlaFemSystem *self, const double *pos, bool project)
{
#pragma omp parallel for schedule(static)
  for (int d = 0; d < self->model->domains->n; d++) {
    double *out = self->tangent + 81 * (size_t)d;
    PlaFemSimpleDomain simple;
    self->simple[d] = !project && pla_fem_domain_simple(self->model, d, pos, &simple);
    if (self->simple[d]) {
      memcpy(out, simple.inverse, 9 * sizeof *out);
      out[9] = simple.mu;
      out[10] = simple.lambda;
      out[11] = simple.mu - simple.lambda * simple.log_det;
    } else {
      pla_fem_domain_tangent(self->model, d, pos, project, out);
    }
  }
}

/* patches, and the domains of tets */
static void
add_mixed(PlaFemSystem *self, const double *pos, bool project)
{
  const PlaFemModel *model = self->model;
  const PlaFemPatches *patches = model->patches;
  const PlaFemDomains *domains = model->domains;
  pla_fem_patches_pressure(model, pos, self->curvature, self->pressure);
#pragma omp parallel for schedule(static)
  for (int p = 0; p < patches->n; p++)
    self->curvature[p] = pla_fem_patch_slope(model, p, pos, project,
                                             self->slope + 3 * (size_t)patches->vert_start[p]);
  add_sets(self, &self->patch_rows, patches->n, patches->vert_start, patches->vert, self->slope,
           patch_row);
  if (!domains)
    return;
  find_tangents(self, pos, project);
  add_sets(self, &self->domain_rows, domains->n, domains->vert_start, domains->vert, domains->grad,
           domain_row);
}

bool
pla_fem_system_has(const PlaFemSystem *self, int k, const int *verts)
{
  for (int a = 0; a < k; a++)
    for (int b = 0; b < k; b++) {
      const int *pa, *pb;
      const double *wa, *wb;
      const int na = movers(self, verts + a, &pa, &wa), nb = movers(self, verts + b, &pb, &wb);
      for (int p = 0; p < na; p++)
        for (int q = 0; q < nb; q++) {
          int row = self->block_of[pa[p]], col = self->block_of[pb[q]];
          if (row >= 0 && col >= 0 && pla_block_matrix_find(&self->matrix, row, col) < 0)
            return false;
        }
    }
  return true;
}

void
pla_fem_system_add_matrix(PlaFemSystem *self, double factor, const PlaFemSystem *other)
{
  const PlaBlockMatrix *m = &other->matrix;
  /* rows are independent unless bound vertices share their parents */
#pragma omp parallel for schedule(static) if (!self->bound)
  for (int r = 0; r < m->n; r++)
    for (int k = m->start[r]; k < m->start[r + 1]; k++)
      add_block(self, other->vert_of[r], other->vert_of[m->col[k]], factor,
                m->value + 9 * (size_t)k, 3);
}

void
pla_fem_system_add_mass(PlaFemSystem *self, double mass_factor)
{
  const PlaFemModel *model = self->model;
  PlaBlockMatrix *m = &self->matrix;
  for (int r = 0; r < m->n; r++) {
    double *block = m->value + 9 * (size_t)pla_block_matrix_find(m, r, r);
    for (int d = 0; d < 3; d++)
      block[4 * d] += mass_factor * model->mass[self->vert_of[r]];
  }
  for (int e = 0; self->bindings && e < self->bindings->n; e++) {
    const double mass = mass_factor * model->mass[self->bindings->vert[e]];
    const double local[9] = { mass, 0, 0, 0, mass, 0, 0, 0, mass };
    pla_fem_system_add_local(self, 1, self->bindings->vert + e, local);
  }
}

/* Adds the stiffness of the cells around each vertex of a row to its blocks: those from @first on,
 * below @last. Each row is one thread's, and its sums run in the order of the cells. */
static void
add_rows(PlaFemSystem *self, int first, int last)
{
  const PlaFemModel *model = self->model;
  const PlaIncidence *inc = &model->incidence;
  const int n_tets = model->n_tets;
#pragma omp parallel for schedule(static)
  for (int r = 0; r < self->n_blocks; r++) {
    const int end = inc->start[self->vert_of[r] + 1];
    int at = self->cursor[r];
    for (; at < end; at++) {
      const int corner = inc->corner[at], tet = corner < 4 * n_tets, k = tet ? 4 : 8;
      const int c = tet ? corner / 4 : n_tets + (corner - 4 * n_tets) / 8;
      const int a = tet ? corner % 4 : (corner - 4 * n_tets) % 8;
      if (c >= last)
        break;
      const int *slot = self->slot + self->slot_start[c];
      if (slot[0] == THROUGH_BINDINGS)
        continue;
      const double *row =
          self->stiffness + self->local_size * (size_t)(c - first) + 9 * (size_t)(k * a);
      for (int j = 0; j < k; j++) {
        if (slot[a * k + j] < 0)
          continue;
        double *block = self->matrix.value + 9 * (size_t)slot[a * k + j];
        for (int d = 0; d < 9; d++)
          block[d] += row[3 * k * (d / 3) + 3 * j + d % 3];
      }
    }
    self->cursor[r] = at;
  }
}

/* The stiffness of cells, a batch at a time, and from there into the matrix.  Two loops a batch,
 * where adding by colours takes one for each of some thirty colours: threads wait for each other
 * that much less. */
static void
assemble_cells(PlaFemSystem *self, const double *pos, bool project)
{
  const PlaFemModel *model = self->model;
  const int n_cells = model->n_tets + model->n_hexes;
  for (int r = 0; r < self->n_blocks; r++)
    self->cursor[r] = model->incidence.start[self->vert_of[r]];
  for (int first = 0; first < n_cells; first += BATCH) {
    const int last = first + BATCH < n_cells ? first + BATCH : n_cells;
#pragma omp parallel for schedule(static)
    for (int c = first; c < last; c++)
      if (self->slot[self->slot_start[c]] != THROUGH_BINDINGS)
        pla_fem_cell_stiffness(model, c, pos, self->pressure, project,
                               self->stiffness + self->local_size * (size_t)(c - first));
    add_rows(self, first, last);
  }
}

void
pla_fem_system_assemble(PlaFemSystem *self, const double *pos, bool project, double mass_factor)
{
  const PlaFemModel *model = self->model;
  PlaBlockMatrix *m = &self->matrix;
  memset(m->value, 0, 9 * (size_t)m->start[m->n] * sizeof *m->value);
  if (model->patches)
    add_mixed(self, pos, project);

  assemble_cells(self, pos, project);
  for (int c = 0; self->bound && c < model->n_tets + model->n_hexes; c++) {
    const int *verts;
    int k = pla_fem_cell_verts(model, c, &verts);
    double stiffness[576];
    if (self->slot[self->slot_start[c]] != THROUGH_BINDINGS)
      continue;
    pla_fem_cell_stiffness(model, c, pos, self->pressure, project, stiffness);
    pla_fem_system_add_local(self, k, verts, stiffness);
  }
  if (mass_factor != 0.0)
    pla_fem_system_add_mass(self, mass_factor);
}

void
pla_fem_system_gather(const PlaFemSystem *self, const double *verts, double *blocks)
{
  for (int r = 0; r < self->n_blocks; r++)
    for (int d = 0; d < 3; d++)
      blocks[3 * (size_t)r + (size_t)d] = self->fixed[3 * (size_t)r + (size_t)d]
                                              ? 0.0
                                              : verts[3 * (size_t)self->vert_of[r] + (size_t)d];
}

void
pla_fem_system_add(const PlaFemSystem *self, const double *blocks, double factor, double *verts)
{
  for (int r = 0; r < self->n_blocks; r++)
    for (int d = 0; d < 3; d++)
      if (!self->fixed[3 * (size_t)r + (size_t)d])
        verts[3 * (size_t)self->vert_of[r] + (size_t)d] +=
            factor * blocks[3 * (size_t)r + (size_t)d];
}
