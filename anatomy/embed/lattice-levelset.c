/* Lattice embedding of a level set.
 *
 * The level set is sampled at the nodes of a finer lattice, 2^detail nodes an edge of the elements
 * at the surface, and is linear in between.  In a fine tet the part where a linear function is
 * negative is convex, so the pieces of material in a coarse tet are the connected components of
 * its negative fine nodes along fine edges, and two pieces are one across a face if they have a
 * negative node of the face in common.  Nodes have whole coordinates: both sides of a face see the
 * same values, and no decision depends on rounding.
 *
 * Tets whose box holds samples of one sign only are settled by bounds on blocks of voxels, since
 * interpolated values lie between the samples. */
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/embed/lattice-embed.h"

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  BLOCK = 4,   /* voxels a block of bounds */
  CHUNK = 768, /* roots a piece of parallel work */
  MAX_PIECES = 65534
};

PlaLatticeOptions
pla_lattice_options_default(void)
{
  return (PlaLatticeOptions){ .cell = 0.004, .coarsen = 0, .detail = -1 };
}

/* ---- values and bounds ---- */

typedef struct {
  const PlaLevelSet *ls;
  double step_mm[3];   /* between planes of samples */
  int n[3];            /* blocks */
  float *least, *most; /* of the samples of each block, its last row shared with the next */
} Field;

/* mm that index @x is beyond the planes that close the grid half a voxel outside its samples */
static double
beyond_mm(const Field *f, const double x[3])
{
  double most = -INFINITY;
  for (int d = 0; d < 3; d++) {
    const double below = -0.5 - x[d], above = x[d] - (f->ls->dims[d] - 0.5);
    const double out = (below > above ? below : above) * f->step_mm[d];
    most = out > most ? out : most;
  }
  return most;
}

static double
field_at(const Field *f, const double pos[3])
{
  const double mm[3] = { 1000.0 * pos[0], 1000.0 * pos[1], 1000.0 * pos[2] };
  double x[3], inside[3];
  pla_affine_apply(f->ls->inverse_mm, mm, x);
  for (int d = 0; d < 3; d++) {
    const double last = f->ls->dims[d] - 1.0;
    inside[d] = x[d] < 0.0 ? 0.0 : x[d] > last ? last : x[d];
  }
  const double value = pla_levelset_at_index(f->ls, inside), beyond = beyond_mm(f, x);
  return value > beyond ? value : beyond;
}

static bool
field_init(Field *f, const PlaLevelSet *ls)
{
  size_t n = 1;
  f->ls = ls;
  for (int d = 0; d < 3; d++) {
    const double *row = ls->inverse_mm + 4 * d;
    f->step_mm[d] = 1.0 / sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]);
    f->n[d] = ls->dims[d] > 1 ? (ls->dims[d] - 2) / BLOCK + 1 : 1;
    n *= (size_t)f->n[d];
  }
  f->least = pla_array_new(n, sizeof *f->least);
  f->most = pla_array_new(n, sizeof *f->most);
  if (!f->least || !f->most)
    return false;
#pragma omp parallel for schedule(static)
  for (int k = 0; k < f->n[2]; k++)
    for (int j = 0; j < f->n[1]; j++)
      for (int i = 0; i < f->n[0]; i++) {
        const int lo[3] = { i * BLOCK, j * BLOCK, k * BLOCK };
        float least = INFINITY, most = -INFINITY;
        for (int c = lo[2]; c <= lo[2] + BLOCK && c < ls->dims[2]; c++)
          for (int b = lo[1]; b <= lo[1] + BLOCK && b < ls->dims[1]; b++)
            for (int a = lo[0]; a <= lo[0] + BLOCK && a < ls->dims[0]; a++) {
              float v = ls->phi_mm[(size_t)a + (size_t)ls->dims[0] *
                                                   ((size_t)b + (size_t)ls->dims[1] * (size_t)c)];
              least = v < least ? v : least;
              most = v > most ? v : most;
            }
        size_t at = (size_t)i + (size_t)f->n[0] * ((size_t)j + (size_t)f->n[1] * (size_t)k);
        f->least[at] = least;
        f->most[at] = most;
      }
  return true;
}

static void
field_clear(Field *f)
{
  free(f->least);
  free(f->most);
}

/* -1: negative in all of the tet, 1: nowhere, 0: not known */
static int
field_sign(const Field *f, const double corner[4][3])
{
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  for (int c = 0; c < 4; c++) {
    const double mm[3] = { 1000.0 * corner[c][0], 1000.0 * corner[c][1], 1000.0 * corner[c][2] };
    double x[3];
    pla_affine_apply(f->ls->inverse_mm, mm, x);
    for (int d = 0; d < 3; d++) {
      lo[d] = fmin(lo[d], x[d]);
      hi[d] = fmax(hi[d], x[d]);
    }
  }
  bool outside = false, within = true;
  int from[3], to[3];
  for (int d = 0; d < 3; d++) {
    /* wide enough for the rounding of indices */
    const double slack = 1e-6, last = f->ls->dims[d] - 1.0;
    lo[d] -= slack;
    hi[d] += slack;
    outside = outside || hi[d] < -0.5 || lo[d] > last + 0.5;
    within = within && lo[d] > -0.5 && hi[d] < last + 0.5;
    from[d] = (int)(fmin(fmax(lo[d], 0.0), last) / BLOCK);
    to[d] = (int)(fmin(fmax(hi[d], 0.0), last) / BLOCK);
    from[d] = from[d] < f->n[d] ? from[d] : f->n[d] - 1;
    to[d] = to[d] < f->n[d] ? to[d] : f->n[d] - 1;
  }
  if (outside)
    return 1;
  float least = INFINITY, most = -INFINITY;
  for (int k = from[2]; k <= to[2]; k++)
    for (int j = from[1]; j <= to[1]; j++)
      for (int i = from[0]; i <= to[0]; i++) {
        size_t at = (size_t)i + (size_t)f->n[0] * ((size_t)j + (size_t)f->n[1] * (size_t)k);
        least = f->least[at] < least ? f->least[at] : least;
        most = f->most[at] > most ? f->most[at] : most;
      }
  /* interpolation may round by far less than this */
  const float margin = 1e-6f;
  return least > margin ? 1 : most < -margin && within ? -1 : 0;
}

/* ---- pieces ---- */

typedef struct {
  const Field *field;
  PlaLatticeFrame frame;
  int levels; /* of division at the surface */
  PlaBccGrid *grid[PLA_BCC_MAX_GRID + 1];
  PlaRegionFunc region;
  const void *region_data;
} Source;

/* what one thread found in some roots */
typedef struct {
  PlaBytes tet, inner; /* PlaBccTet */
  PlaBytes n_pieces;   /* int a tet */
  PlaBytes fill;       /* double a piece */
  PlaBytes region;     /* int a piece */
  PlaBytes start;      /* int64_t a tet: into piece of this chunk, or -1 */
  PlaBytes piece;      /* uint16_t */
  PlaStatus st;
} Found;

/* a thread's scratch, for the largest grid */
typedef struct {
  double *value;
  int *parent;
  uint16_t *piece;
  double *volume; /* per piece */
  int *tag;       /* node -> region, then pairs (region, votes) */
} Scratch;

static void
found_clear(Found *f)
{
  PlaBytes *all[] = {
    &f->tet, &f->inner, &f->n_pieces, &f->fill, &f->region, &f->start, &f->piece
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    pla_bytes_clear(all[i]);
}

/* share of a tet with linear values v where they are negative */
static double
negative_share(const double v[4])
{
  double neg[4], pos[4];
  int n = 0, p = 0;
  for (int c = 0; c < 4; c++)
    if (v[c] < 0.0)
      neg[n++] = v[c];
    else
      pos[p++] = v[c];
  if (n == 0 || p == 0)
    return n == 0 ? 0.0 : 1.0;
  if (n == 1 || p == 1) {
    /* one corner is cut off */
    const double apex = n == 1 ? neg[0] : pos[0], *other = n == 1 ? pos : neg;
    double share = 1.0;
    for (int c = 0; c < 3; c++)
      share *= apex == other[c] ? 1.0 : apex / (apex - other[c]);
    return n == 1 ? share : 1.0 - share;
  }
  /* two and two: a prism, cut into three tets */
  const double a = neg[0], b = neg[1], c = pos[0], d = pos[1];
  const double ac = a / (a - c), ad = a / (a - d), bc = b / (b - c), bd = b / (b - d);
  return ac * ad + bc * bd * (1.0 - ad) + ad * bc * (1.0 - ac);
}

static void
node_coord(const PlaBccTet *tet, const PlaBccGrid *grid, int node, int x[3])
{
  for (int d = 0; d < 3; d++) {
    x[d] = 0;
    for (int c = 0; c < 4; c++)
      x[d] += grid->node[node][c] * tet->x[c][d];
    x[d] /= grid->n;
  }
}

static void
node_place(const Source *s, const PlaBccTet *tet, const PlaBccGrid *grid, int node, double pos[3])
{
  int x[3];
  node_coord(tet, grid, node, x);
  pla_lattice_place(&s->frame, x, pos);
}

static bool
append_int(PlaBytes *to, int value)
{
  return pla_bytes_append(to, &value, sizeof value);
}

/* the tag with the most votes among nodes of piece @p (1, 2, ...; 0: all nodes), the least on ties
 */
static int
vote(const Source *s, const PlaBccTet *tet, const PlaBccGrid *grid, const Scratch *scratch, int p)
{
  int n_tags = 0, best = 0, *tag = scratch->tag, *votes = scratch->tag + grid->n_nodes;
  if (!s->region)
    return 0;
  for (int v = 0; v < grid->n_nodes; v++) {
    if (p > 0 && scratch->piece[v] != p)
      continue;
    double pos[3], mm[3];
    node_place(s, tet, grid, v, pos);
    for (int d = 0; d < 3; d++)
      mm[d] = 1000.0 * pos[d];
    const int found = s->region(mm, s->region_data);
    if (found == 0) /* smoothing put material where there was none */
      continue;
    int t = 0;
    while (t < n_tags && tag[t] != found)
      t++;
    if (t == n_tags) {
      tag[n_tags] = found;
      votes[n_tags++] = 0;
    }
    votes[t]++;
  }
  for (int t = 1; t < n_tags; t++)
    if (votes[t] > votes[best] || (votes[t] == votes[best] && tag[t] < tag[best]))
      best = t;
  return n_tags > 0 ? tag[best] : 0;
}

static bool
emit_full(const Source *s, const PlaBccTet *tet, const Scratch *scratch, Found *f)
{
  const double one = 1.0;
  const int64_t none = -1;
  const PlaBccGrid *grid = s->grid[s->frame.depth - tet->level];
  return pla_bytes_append(&f->tet, tet, sizeof *tet) && append_int(&f->n_pieces, 1) &&
         pla_bytes_append(&f->fill, &one, sizeof one) &&
         append_int(&f->region, vote(s, tet, grid, scratch, 0)) &&
         pla_bytes_append(&f->start, &none, sizeof none);
}

/* the pieces of a tet that holds some surface, numbered by their first node */
static PlaStatus
emit_mixed(const Source *s, const PlaBccTet *tet, Scratch *scratch, Found *f)
{
  const PlaBccGrid *grid = s->grid[s->frame.depth - tet->level];
  int n_pieces = 0, *parent = scratch->parent;
  for (int v = 0; v < grid->n_nodes; v++)
    parent[v] = v;
  for (int e = 0; e < grid->n_edges; e++) {
    const int a = grid->edge[e][0], b = grid->edge[e][1];
    if (!(scratch->value[a] < 0.0 && scratch->value[b] < 0.0))
      continue;
    const int p = pla_union_find_root(parent, a), q = pla_union_find_root(parent, b);
    parent[p > q ? p : q] = p > q ? q : p;
  }
  for (int v = 0; v < grid->n_nodes; v++) {
    scratch->piece[v] = 0;
    if (!(scratch->value[v] < 0.0))
      continue;
    const int root = pla_union_find_root(parent, v);
    if (root == v) {
      if (n_pieces == MAX_PIECES)
        return PLA_ERR_UNSUPPORTED;
      scratch->volume[n_pieces++] = 0.0;
      scratch->piece[v] = (uint16_t)n_pieces;
    } else {
      scratch->piece[v] = scratch->piece[root];
    }
  }
  for (int t = 0; t < grid->n_tets; t++) {
    double v[4];
    int p = 0;
    for (int c = 0; c < 4; c++) {
      v[c] = scratch->value[grid->tet[t][c]];
      p = scratch->piece[grid->tet[t][c]] ? scratch->piece[grid->tet[t][c]] : p;
    }
    if (p > 0)
      scratch->volume[p - 1] += negative_share(v);
  }
  const int64_t start = (int64_t)(f->piece.size / sizeof(uint16_t));
  bool ok =
      pla_bytes_append(&f->tet, tet, sizeof *tet) && append_int(&f->n_pieces, n_pieces) &&
      pla_bytes_append(&f->start, &start, sizeof start) &&
      pla_bytes_append(&f->piece, scratch->piece, (size_t)grid->n_nodes * sizeof *scratch->piece);
  for (int p = 0; ok && p < n_pieces; p++) {
    const double fill = scratch->volume[p] / grid->n_tets;
    ok = pla_bytes_append(&f->fill, &fill, sizeof fill) &&
         append_int(&f->region, vote(s, tet, grid, scratch, p + 1));
  }
  return ok ? PLA_OK : PLA_ERR_MEMORY;
}

static PlaStatus
explore(const Source *s, const PlaBccTet *tet, Scratch *scratch, Found *f)
{
  const PlaBccGrid *grid = s->grid[s->frame.depth - tet->level];
  double corner[4][3];
  for (int c = 0; c < 4; c++)
    pla_lattice_place(&s->frame, tet->x[c], corner[c]);
  const int sign = field_sign(s->field, (const double(*)[3])corner);
  if (sign > 0)
    return PLA_OK;
  int n_negative = sign < 0 ? grid->n_nodes : 0;
  for (int v = 0; sign == 0 && v < grid->n_nodes; v++) {
    double pos[3];
    node_place(s, tet, grid, v, pos);
    scratch->value[v] = field_at(s->field, pos);
    n_negative += scratch->value[v] < 0.0;
  }
  if (n_negative == 0)
    return PLA_OK;
  if (n_negative == grid->n_nodes)
    return emit_full(s, tet, scratch, f) ? PLA_OK : PLA_ERR_MEMORY;
  if (tet->level == s->levels)
    return emit_mixed(s, tet, scratch, f);
  PlaBccTet child[8];
  PlaStatus st = pla_bytes_append(&f->inner, tet, sizeof *tet) ? PLA_OK : PLA_ERR_MEMORY;
  pla_bcc_children(tet, child);
  for (int c = 0; st == PLA_OK && c < 8; c++)
    st = explore(s, &child[c], scratch, f);
  return st;
}

static void
scratch_clear(Scratch *scratch)
{
  free(scratch->value);
  free(scratch->parent);
  free(scratch->piece);
  free(scratch->volume);
  free(scratch->tag);
}

static bool
scratch_init(Scratch *scratch, size_t n)
{
  scratch->value = pla_array_new(n, sizeof *scratch->value);
  scratch->parent = pla_array_new(n, sizeof *scratch->parent);
  scratch->piece = pla_array_new(n, sizeof *scratch->piece);
  scratch->volume = pla_array_new(n, sizeof *scratch->volume);
  scratch->tag = pla_array_new(2 * n, sizeof *scratch->tag);
  return scratch->value && scratch->parent && scratch->piece && scratch->volume && scratch->tag;
}

/* moves what chunks hold at @offset of Found into one array of entries of @size bytes */
static void *
gather(Found *found, int n_chunks, size_t offset, size_t size, size_t *n)
{
  size_t bytes = 0;
  for (int c = 0; c < n_chunks; c++)
    bytes += ((PlaBytes *)(void *)((char *)&found[c] + offset))->size;
  char *out = pla_array_new(bytes, 1);
  *n = bytes / size;
  bytes = 0;
  for (int c = 0; out && c < n_chunks; c++) {
    PlaBytes *part = (PlaBytes *)(void *)((char *)&found[c] + offset);
    if (part->size > 0)
      memcpy(out + bytes, part->data, part->size);
    bytes += part->size;
    pla_bytes_clear(part);
  }
  return out;
}

static PlaStatus
collect(PlaLatticeEmbedding *self, Found *found, int n_chunks, PlaError *err)
{
  size_t n_tets, n_inner, n_counts, n_elems, n_regions, n_starts, n_labels;
  /* starts count from the beginning of their chunk */
  int64_t base = 0;
  for (int c = 0; c < n_chunks; c++) {
    int64_t *start = (int64_t *)(void *)found[c].start.data;
    for (size_t i = 0; i < found[c].start.size / sizeof *start; i++)
      start[i] += start[i] < 0 ? 0 : base;
    base += (int64_t)(found[c].piece.size / sizeof(uint16_t));
  }
  int *count = gather(found, n_chunks, offsetof(Found, n_pieces), sizeof *count, &n_counts);
  self->tet = gather(found, n_chunks, offsetof(Found, tet), sizeof *self->tet, &n_tets);
  self->inner = gather(found, n_chunks, offsetof(Found, inner), sizeof *self->inner, &n_inner);
  self->fill = gather(found, n_chunks, offsetof(Found, fill), sizeof *self->fill, &n_elems);
  self->region = gather(found, n_chunks, offsetof(Found, region), sizeof *self->region, &n_regions);
  self->piece_start =
      gather(found, n_chunks, offsetof(Found, start), sizeof *self->piece_start, &n_starts);
  self->piece = gather(found, n_chunks, offsetof(Found, piece), sizeof *self->piece, &n_labels);
  PlaStatus st = PLA_OK;
  if (!count || !self->tet || !self->inner || !self->fill || !self->region || !self->piece_start ||
      !self->piece)
    st = pla_fail_memory(err, "the lattice");
  else if (n_tets == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "The lattice finds no material: nothing is inside");
  if (st == PLA_OK) {
    self->n_tets = (int)n_tets;
    self->n_inner = (int)n_inner;
    if (!pla_bcc_map_init(&self->map, n_tets + n_inner))
      st = pla_fail_memory(err, "the lattice");
  }
  if (st == PLA_OK)
    st = pla_lattice_number_elems(self, count, err);
  if (st == PLA_OK) {
    for (int t = 0; t < self->n_tets; t++)
      pla_bcc_map_set(&self->map, &self->tet[t], t);
    for (int t = 0; t < self->n_inner; t++)
      pla_bcc_map_set(&self->map, &self->inner[t], -1);
  }
  free(count);
  return st;
}

/* ---- joints ---- */

/* the label of the place @x in tet @t: 1 + its piece, 0 outside */
static int
label_at(const PlaLatticeEmbedding *self, PlaBccGrid *const *grids, int t, const int x[3])
{
  if (self->piece_start[t] < 0)
    return 1;
  const PlaBccGrid *grid = grids[self->frame.depth - self->tet[t].level];
  const double at[3] = { x[0], x[1], x[2] };
  double w[4];
  int node[4];
  pla_bcc_weights(&self->tet[t], at, w);
  for (int c = 0; c < 4; c++)
    node[c] = (int)(w[c] * grid->n);
  return self->piece[self->piece_start[t] + pla_bcc_grid_node(grid, node)];
}

typedef struct {
  const PlaLatticeEmbedding *self;
  PlaBccGrid *const *grids;
} Nodes;

static bool
join(int a, int corner, int b, const void *data, PlaBytes *joints)
{
  const Nodes *nodes = data;
  const PlaLatticeEmbedding *self = nodes->self;
  const PlaBccTet *tet = &self->tet[a];
  const PlaBccGrid *grid = nodes->grids[self->frame.depth - tet->level];
  const size_t before = joints->size;
  if (self->piece_start[a] < 0 && self->piece_start[b] < 0) {
    const PlaLatticeJoint joint = { { self->first_elem[a], self->first_elem[b] } };
    return pla_bytes_append(joints, &joint, sizeof joint);
  }
  for (int v = 0; v < grid->n_face; v++) {
    const int node = grid->face[corner][v];
    const int here = self->piece_start[a] < 0 ? 1 : self->piece[self->piece_start[a] + node];
    if (here == 0)
      continue;
    int x[3];
    node_coord(tet, grid, node, x);
    const int there = label_at(self, nodes->grids, b, x);
    assert(there > 0);
    const PlaLatticeJoint joint = { { self->first_elem[a] + here - 1,
                                      self->first_elem[b] + there - 1 } };
    if (!pla_lattice_add_joint(joints, before, &joint))
      return false;
  }
  return true;
}

/* ---- all of it ---- */

/* the box of negative samples and half a voxel around, m; false when there is none */
static bool
box_of(const PlaLevelSet *ls, double lo[3], double hi[3])
{
  int first[3] = { INT_MAX, INT_MAX, INT_MAX }, last[3] = { -1, -1, -1 };
#pragma omp parallel for schedule(static) reduction(min : first[:3]) reduction(max : last[:3])
  for (int k = 0; k < ls->dims[2]; k++)
    for (int j = 0; j < ls->dims[1]; j++) {
      const float *row =
          ls->phi_mm + (size_t)ls->dims[0] * ((size_t)j + (size_t)ls->dims[1] * (size_t)k);
      for (int i = 0; i < ls->dims[0]; i++) {
        if (!(row[i] < 0.0f))
          continue;
        const int at[3] = { i, j, k };
        for (int d = 0; d < 3; d++) {
          first[d] = at[d] < first[d] ? at[d] : first[d];
          last[d] = at[d] > last[d] ? at[d] : last[d];
        }
      }
    }
  if (last[0] < 0)
    return false;
  for (int d = 0; d < 3; d++) {
    lo[d] = INFINITY;
    hi[d] = -INFINITY;
  }
  for (int c = 0; c < 8; c++) {
    double x[3], mm[3];
    for (int d = 0; d < 3; d++)
      x[d] = c >> d & 1 ? last[d] + 1.0 : first[d] - 1.0;
    pla_affine_apply(ls->affine_mm, x, mm);
    for (int d = 0; d < 3; d++) {
      lo[d] = fmin(lo[d], mm[d] / 1000.0);
      hi[d] = fmax(hi[d], mm[d] / 1000.0);
    }
  }
  return true;
}

PlaStatus
pla_lattice_from_levelset(const PlaLevelSet *ls, const PlaLatticeOptions *opts,
                          PlaRegionFunc region, const void *region_data, PlaProgress *progress,
                          PlaLatticeEmbedding **out, PlaError *err)
{
  Field field = { 0 };
  Source source = { .field = &field, .region = region, .region_data = region_data };
  PlaLatticeEmbedding *self = NULL;
  Found *found = NULL;
  double lo[3], hi[3];
  int n_chunks = 0, detail = opts->detail;
  *out = NULL;
  if (detail < 0) {
    /* as fine as the samples, as far as elements can be divided */
    const double ratio = 1000.0 * opts->cell / pla_levelset_spacing_mm(ls);
    detail = ratio > 1.0 ? (int)ceil(log2(ratio) - 1e-6) : 0;
    if (detail + opts->coarsen > PLA_BCC_MAX_GRID)
      detail = PLA_BCC_MAX_GRID - opts->coarsen;
    detail = detail < 1 ? 1 : detail;
  }
  if (!box_of(ls, lo, hi))
    return pla_fail(err, PLA_ERR_EMPTY, "The level set has nothing inside");
  PlaStatus st =
      pla_lattice_frame_init(&source.frame, lo, hi, opts->cell, opts->coarsen, detail, err);
  if (st != PLA_OK)
    return st;
  source.levels = opts->coarsen;
  const int64_t n_roots = 12 * (int64_t)source.frame.n[0] * source.frame.n[1] * source.frame.n[2];
  n_chunks = (int)((n_roots + CHUNK - 1) / CHUNK);
  self = pla_array_new0(1, sizeof *self);
  found = pla_array_new0((size_t)n_chunks, sizeof *found);
  bool ok = self && found && field_init(&field, ls);
  for (int k = detail; ok && k <= source.frame.depth; k++) {
    source.grid[k] = pla_bcc_grid_new(k);
    ok = source.grid[k];
  }
  if (!ok)
    st = pla_fail_memory(err, "the lattice");

  /* pieces, some roots at a time */
  pla_progress_phase(progress, "Finding material", 0.6);
  bool short_memory = false;
  for (int begin = 0; st == PLA_OK && begin < n_chunks; begin += 256) {
    const int end = begin + 256 < n_chunks ? begin + 256 : n_chunks;
#pragma omp parallel
    {
      Scratch scratch = { 0 };
      const bool ready = scratch_init(&scratch, (size_t)source.grid[source.frame.depth]->n_nodes);
      if (!ready) {
#pragma omp atomic write
        short_memory = true;
      }
#pragma omp for schedule(dynamic, 1)
      for (int c = begin; c < end; c++)
        for (int64_t r = (int64_t)c * CHUNK; ready && r < (int64_t)(c + 1) * CHUNK && r < n_roots;
             r++) {
          if (found[c].st != PLA_OK)
            break;
          const PlaBccTet root = pla_bcc_root(source.frame.n, source.frame.depth, r);
          found[c].st = explore(&source, &root, &scratch, &found[c]);
        }
      scratch_clear(&scratch);
    }
    if (!pla_progress_step(progress, (double)end / n_chunks))
      st = pla_fail_cancelled(err);
  }
  for (int c = 0; st == PLA_OK && c < n_chunks; c++)
    if (short_memory || found[c].st == PLA_ERR_MEMORY)
      st = pla_fail_memory(err, "the lattice");
    else if (found[c].st != PLA_OK)
      st = pla_fail(err, found[c].st,
                    "one cell of the lattice holds more than %d pieces; use smaller cells or a "
                    "smoother label",
                    MAX_PIECES);
  if (st == PLA_OK) {
    self->frame = source.frame;
    st = collect(self, found, n_chunks, err);
  }
  if (st == PLA_OK && !pla_progress_phase(progress, "Joining elements", 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK) {
    const Nodes nodes = { self, source.grid };
    st = pla_lattice_join(self, join, &nodes, err);
  }
  for (int c = 0; c < (found ? n_chunks : 0); c++)
    found_clear(&found[c]);
  free(found);
  field_clear(&field);
  for (int k = 0; k <= PLA_BCC_MAX_GRID; k++)
    pla_bcc_grid_free(source.grid[k]);
  if (st == PLA_OK)
    *out = self;
  else
    pla_lattice_embedding_free(self);
  return st;
}

/* ---- points ---- */

/* the element whose material is at or next to @pos: in the fine tet there; -1: none */
static int
elem_at(const PlaLatticeEmbedding *self, PlaBccGrid *const *grids, const double pos[3], int *tet)
{
  const int t = pla_lattice_find(self, pos);
  *tet = t;
  if (t < 0)
    return -1;
  if (self->piece_start[t] < 0)
    return self->first_elem[t];
  PlaBccTet at = self->tet[t];
  double x[3];
  pla_lattice_coord(&self->frame, pos, x);
  for (int k = at.level; k < self->frame.depth; k++)
    at = pla_bcc_child_at(&at, x);
  for (int c = 0; c < 4; c++) {
    const int label = label_at(self, grids, t, at.x[c]);
    if (label > 0)
      return self->first_elem[t] + label - 1;
  }
  return -1;
}

/* the element of tet @t that shares the most vertices with @elem; -1: none */
static int
neighbour_in(const PlaLatticeEmbedding *self, int elem, int t)
{
  int best = -1, most = 0;
  for (int e = self->first_elem[t]; e < self->first_elem[t + 1]; e++) {
    int shared = 0;
    for (int a = 0; a < 4; a++)
      for (int b = 0; b < 4; b++)
        shared += self->vert[4 * (size_t)e + (size_t)a] == self->vert[4 * (size_t)elem + (size_t)b];
    if (shared > most) {
      most = shared;
      best = e;
    }
  }
  return best;
}

static int
elem_for_point(const PlaLatticeEmbedding *self, PlaBccGrid *const *grids, const double pos[3],
               const double *normal, bool *outside)
{
  const double fine = self->frame.unit;
  double n[3] = { 0.0, 0.0, 0.0 }, length = 0.0;
  int own, elem = -1, t = -1;
  *outside = false;
  if (normal) {
    length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
    for (int d = 0; d < 3 && length > 0.0; d++)
      n[d] = normal[d] / length;
  }
  own = pla_lattice_find(self, pos);
  /* a little way into the material, then where it is, then deeper */
  static const double way[] = { 0.5, 0.0, 1.0, 1.5, 2.0, 3.0, 4.0 };
  for (size_t w = length > 0.0 ? 0 : 1; elem < 0 && w < (length > 0.0 ? 7u : 2u); w++) {
    double q[3];
    for (int d = 0; d < 3; d++)
      q[d] = pos[d] - way[w] * 2.0 * fine * n[d];
    elem = elem_at(self, grids, q, &t);
  }
  /* around it, ever further out */
  for (int ring = 1; elem < 0 && ring <= 1 << (self->frame.depth + 2);
       ring = ring < 8 ? ring + 1 : 2 * ring)
    for (int k = 0; elem < 0 && k < 26; k++) {
      const int c = k < 13 ? k : k + 1; /* all but the middle */
      const double step[3] = { c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1 };
      double q[3];
      for (int d = 0; d < 3; d++)
        q[d] = pos[d] + ring * fine * step[d];
      elem = elem_at(self, grids, q, &t);
    }
  if (elem >= 0 && own >= 0 && own != t) {
    const int nearer = neighbour_in(self, elem, own);
    elem = nearer >= 0 ? nearer : elem;
  }
  *outside = elem >= 0 && self->elem_tet[elem] != own;
  return elem;
}

PlaStatus
pla_lattice_embed_points(const PlaLatticeEmbedding *self, int n, const double *pos,
                         const double *normal, PlaEmbedding *out, int *n_outside, PlaError *err)
{
  assert(self->piece_start);
  PlaBccGrid *grids[PLA_BCC_MAX_GRID + 1] = { NULL };
  PlaStatus st = pla_embedding_init(out, n, 4, err);
  for (int k = 0; st == PLA_OK && k <= self->frame.depth; k++)
    if (!(grids[k] = pla_bcc_grid_new(k)))
      st = pla_fail_memory(err, "embedded points");
  int lost = INT_MAX, beyond = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(min : lost) reduction(+ : beyond)
  for (int v = 0; v < (st == PLA_OK ? n : 0); v++) {
    const double *p = pos + 3 * (size_t)v;
    bool outside;
    const int elem =
        elem_for_point(self, grids, p, normal ? normal + 3 * (size_t)v : NULL, &outside);
    if (elem < 0) {
      lost = v < lost ? v : lost;
      continue;
    }
    double x[3];
    pla_lattice_coord(&self->frame, p, x);
    out->elem[v] = elem;
    pla_bcc_weights(&self->tet[self->elem_tet[elem]], x, out->weight + 4 * (size_t)v);
    beyond += outside;
  }
  for (int k = 0; k <= PLA_BCC_MAX_GRID; k++)
    pla_bcc_grid_free(grids[k]);
  if (st == PLA_OK && lost < n)
    st = pla_fail(err, PLA_ERR_GEOMETRY,
                  "point %d, at (%.1f, %.1f, %.1f) mm, is not near the lattice's material", lost,
                  1000.0 * pos[3 * (size_t)lost], 1000.0 * pos[3 * (size_t)lost + 1],
                  1000.0 * pos[3 * (size_t)lost + 2]);
  if (st != PLA_OK)
    pla_embedding_clear(out);
  else if (n_outside)
    *n_outside = beyond;
  return st;
}
