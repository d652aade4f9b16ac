/* Exact Euclidean distances on grids whose axes are all skew, block by block.
 *
 * Only mask voxels at the mask's border can be nearest to anything else: of two lattice points s
 * and p, one of s's neighbours is closer to p than s is, and the neighbours that matter are the 26
 * sums of a reduced basis (Minkowski-reduced bases have all Voronoi-relevant vectors among them).
 *
 * Blocks of 4 x 4 x 4 voxels are solved together.  For two sites s and g the difference
 * |x - s|^2 - |x - g|^2 is affine in x, so g is at least as near as s in the whole block when it is
 * so at the block's eight corners.  A tree of balls around the sites is walked, nearest first; a
 * ball is left out when one of the candidates found so far is nearer than any point of it at all
 * corners, and so is a site.  What is left is compared voxel by voxel.  The candidates of a block
 * are the first guesses of the next. */
#include "anatomy/volume/distance-skew-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 4, VOXELS = SIDE * SIDE * SIDE, CORNERS = 8, LEAF = 6 };

typedef struct {
  double centre[3], radius; /* mm, a ball around the sites below */
  int first, n;             /* in order */
  int right;                /* second child; the first is the next node; -1: a leaf */
} Node;

typedef struct {
  int dims[3];
  double column[3][3]; /* mm per index step */
  int n_sites, n_nodes;
  double *pos; /* n_sites x 3, mm from voxel 0, in the order of the tree */
  int *voxel;  /* n_sites x 3 */
  Node *node;
} Sites;

static void
to_mm(const double column[3][3], double i, double j, double k, double x[3])
{
  for (int d = 0; d < 3; d++)
    x[d] = i * column[0][d] + j * column[1][d] + k * column[2][d];
}

/* ---- border sites ---- */

/* the 26 neighbours in a reduced basis, as index steps */
static void
reduced_neighbours(const double column[3][3], int step[26][3])
{
  long base[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
  bool shorter = true;
  while (shorter) {
    shorter = false;
    /* each vector against all sums of the two others with coefficients -1, 0, 1 */
    for (int v = 0; v < 3; v++)
      for (int c = 0; c < 9; c++) {
        const long a = c % 3 - 1, b = c / 3 - 1;
        const long *p = base[(v + 1) % 3], *q = base[(v + 2) % 3];
        long sum[3];
        double old[3], new[3];
        for (int d = 0; d < 3; d++)
          sum[d] = base[v][d] + a * p[d] + b * q[d];
        to_mm(column, (double)base[v][0], (double)base[v][1], (double)base[v][2], old);
        to_mm(column, (double)sum[0], (double)sum[1], (double)sum[2], new);
        if (pla_vec3_dot(new, new) < (1.0 - 1e-12) * pla_vec3_dot(old, old)) {
          memcpy(base[v], sum, sizeof sum);
          shorter = true;
        }
      }
  }
  for (int c = 0, n = 0; c < 27; c++) {
    if (c == 13)
      continue;
    for (int d = 0; d < 3; d++)
      step[n][d] =
          (int)((c % 3 - 1) * base[0][d] + (c / 3 % 3 - 1) * base[1][d] + (c / 9 - 1) * base[2][d]);
    n++;
  }
}

static bool
is_border(const int dims[3], const uint8_t *mask, bool inside, const int step[26][3], int i, int j,
          int k)
{
  for (int s = 0; s < 26; s++) {
    const int a = i + step[s][0], b = j + step[s][1], c = k + step[s][2];
    if (a < 0 || b < 0 || c < 0 || a >= dims[0] || b >= dims[1] || c >= dims[2])
      return true;
    if ((mask[(size_t)a + (size_t)dims[0] * ((size_t)b + (size_t)dims[1] * (size_t)c)] != 0) !=
        inside)
      return true;
  }
  return false;
}

/* visits the border sites of slice k; writes them when @voxel is not NULL; how many */
static int
border_of_slice(const int dims[3], const uint8_t *mask, bool inside, const int step[26][3], int k,
                int *voxel)
{
  int n = 0;
  for (int j = 0; j < dims[1]; j++)
    for (int i = 0; i < dims[0]; i++) {
      const size_t v = (size_t)i + (size_t)dims[0] * ((size_t)j + (size_t)dims[1] * (size_t)k);
      if ((mask[v] != 0) != inside || !is_border(dims, mask, inside, step, i, j, k))
        continue;
      if (voxel)
        memcpy(voxel + 3 * (size_t)n, (int[3]){ i, j, k }, 3 * sizeof *voxel);
      n++;
    }
  return n;
}

/* ---- the tree ---- */

static void
swap_sites(Sites *s, int a, int b)
{
  for (int d = 0; d < 3; d++) {
    const double x = s->pos[3 * (size_t)a + d];
    const int v = s->voxel[3 * (size_t)a + d];
    s->pos[3 * (size_t)a + d] = s->pos[3 * (size_t)b + d];
    s->pos[3 * (size_t)b + d] = x;
    s->voxel[3 * (size_t)a + d] = s->voxel[3 * (size_t)b + d];
    s->voxel[3 * (size_t)b + d] = v;
  }
}

/* the site that belongs in the middle along @axis is put there, smaller ones before it */
static void
select_middle(Sites *s, int axis, int from, int to)
{
  const int middle = (from + to) / 2;
  while (to - from > 1) {
    const double pivot = s->pos[3 * (size_t)((from + to) / 2) + axis];
    int i = from, j = to - 1;
    while (i <= j) {
      while (s->pos[3 * (size_t)i + axis] < pivot)
        i++;
      while (s->pos[3 * (size_t)j + axis] > pivot)
        j--;
      if (i <= j)
        swap_sites(s, i++, j--);
    }
    if (middle <= j)
      to = j + 1;
    else if (middle >= i)
      from = i;
    else
      return;
  }
}

static int
build_node(Sites *s, int from, int to)
{
  const int id = s->n_nodes++;
  Node *node = &s->node[id];
  double lo[3], hi[3], far2 = 0.0;
  for (int d = 0; d < 3; d++) {
    lo[d] = INFINITY;
    hi[d] = -INFINITY;
    for (int i = from; i < to; i++) {
      lo[d] = fmin(lo[d], s->pos[3 * (size_t)i + d]);
      hi[d] = fmax(hi[d], s->pos[3 * (size_t)i + d]);
    }
    node->centre[d] = 0.5 * (lo[d] + hi[d]);
  }
  for (int i = from; i < to; i++) {
    double y[3];
    pla_vec3_sub(s->pos + 3 * (size_t)i, node->centre, y);
    far2 = fmax(far2, pla_vec3_dot(y, y));
  }
  node->radius = sqrt(far2) * (1.0 + 1e-12);
  node->first = from;
  node->n = to - from;
  node->right = -1;
  if (to - from <= LEAF)
    return id;
  int axis = 0;
  for (int d = 1; d < 3; d++)
    if (hi[d] - lo[d] > hi[axis] - lo[axis])
      axis = d;
  select_middle(s, axis, from, to);
  build_node(s, from, (from + to) / 2);
  const int right = build_node(s, (from + to) / 2, to);
  s->node[id].right = right;
  return id;
}

static void
sites_clear(Sites *s)
{
  free(s->pos);
  free(s->voxel);
  free(s->node);
}

static bool
sites_init(Sites *s, const int dims[3], const double affine_mm[12], const uint8_t *mask,
           bool inside)
{
  int step[26][3];
  *s = (Sites){ 0 };
  memcpy(s->dims, dims, sizeof s->dims);
  for (int d = 0; d < 3; d++)
    for (int e = 0; e < 3; e++)
      s->column[e][d] = affine_mm[4 * d + e];
  reduced_neighbours(s->column, step);
  int *first = pla_array_new0((size_t)dims[2] + 1, sizeof *first);
  if (!first)
    return false;
#pragma omp parallel for schedule(dynamic, 1)
  for (int k = 0; k < dims[2]; k++)
    first[k + 1] = border_of_slice(dims, mask, inside, step, k, NULL);
  for (int k = 0; k < dims[2]; k++)
    first[k + 1] += first[k];
  s->n_sites = first[dims[2]];
  s->voxel = pla_array_new((size_t)s->n_sites, 3 * sizeof *s->voxel);
  s->pos = pla_array_new((size_t)s->n_sites, 3 * sizeof *s->pos);
  s->node = pla_array_new((size_t)s->n_sites + 1, sizeof *s->node);
  const bool ok = s->voxel && s->pos && s->node;
  if (ok) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int k = 0; k < dims[2]; k++)
      border_of_slice(dims, mask, inside, step, k, s->voxel + 3 * (size_t)first[k]);
    for (int i = 0; i < s->n_sites; i++)
      to_mm(s->column, s->voxel[3 * (size_t)i], s->voxel[3 * (size_t)i + 1],
            s->voxel[3 * (size_t)i + 2], s->pos + 3 * (size_t)i);
    if (s->n_sites > 0)
      build_node(s, 0, s->n_sites);
  }
  free(first);
  return ok;
}

/* ---- blocks ---- */

/* a site that may be nearest somewhere in the block, and its distances from the corners */
typedef struct {
  int site;
  double dist[CORNERS], dist2[CORNERS];
} Candidate;

typedef struct {
  const Sites *sites;
  double limit_mm;
  double local[3][VOXELS]; /* mm from the block's first voxel */
  int at[3];               /* its first voxel */
  double corner[3][CORNERS], centre[3], radius;
  Candidate *cand;
  int n_cand, room, last; /* last: the candidate that served last */
  bool short_of_memory;
} Block;

static void
corner_dist2(const Block *b, const double x[3], double out[CORNERS])
{
  for (int c = 0; c < CORNERS; c++) {
    const double e = b->corner[0][c] - x[0], f = b->corner[1][c] - x[1], g = b->corner[2][c] - x[2];
    out[c] = e * e + f * f + g * g;
  }
}

/* whether @g is nearer at all corners than any point within @radius of a place */
static inline bool
rules_out(const Candidate *g, const double dist2[CORNERS], double radius)
{
  int nearer = 0;
  if (radius > 0.0)
    for (int c = 0; c < CORNERS; c++)
      nearer += dist2[c] >= (g->dist[c] + radius) * (g->dist[c] + radius);
  else
    for (int c = 0; c < CORNERS; c++)
      nearer += dist2[c] >= g->dist2[c];
  return nearer == CORNERS;
}

static bool
is_ruled_out(Block *b, const double dist2[CORNERS], double radius)
{
  if (b->n_cand > 0 && rules_out(&b->cand[b->last], dist2, radius))
    return true;
  for (int g = b->n_cand - 1; g >= 0; g--)
    if (rules_out(&b->cand[g], dist2, radius)) {
      b->last = g;
      return true;
    }
  return false;
}

static void
add_candidate(Block *b, int site, const double dist2[CORNERS])
{
  if (b->n_cand == b->room) {
    void *cand = b->cand;
    const int room = b->room ? 2 * b->room : 256;
    if (!pla_array_resize(&cand, (size_t)room, sizeof *b->cand)) {
      b->short_of_memory = true;
      return;
    }
    b->cand = cand;
    b->room = room;
  }
  Candidate *c = &b->cand[b->n_cand];
  c->site = site;
  for (int k = 0; k < CORNERS; k++) {
    c->dist2[k] = dist2[k];
    c->dist[k] = sqrt(dist2[k]) * (1.0 + 1e-14);
  }
  b->last = b->n_cand++;
}

static double
centre_dist2(const Block *b, const Node *node)
{
  double y[3];
  pla_vec3_sub(node->centre, b->centre, y);
  return pla_vec3_dot(y, y);
}

/* candidates of the whole block */
static void
collect(Block *b)
{
  const Sites *s = b->sites;
  int stack[64], depth = 0;
  if (s->n_nodes > 0)
    stack[depth++] = 0;
  while (depth > 0) {
    const int id = stack[--depth];
    const Node *node = &s->node[id];
    double dist2[CORNERS];
    const double reach = b->limit_mm + node->radius + b->radius;
    if (centre_dist2(b, node) > reach * reach)
      continue;
    corner_dist2(b, node->centre, dist2);
    if (is_ruled_out(b, dist2, node->radius > 0.0 ? node->radius : 1e-300))
      continue;
    if (node->right >= 0) {
      const bool left = centre_dist2(b, &s->node[id + 1]) < centre_dist2(b, &s->node[node->right]);
      stack[depth++] = left ? node->right : id + 1;
      stack[depth++] = left ? id + 1 : node->right;
      continue;
    }
    for (int i = node->first; i < node->first + node->n; i++) {
      corner_dist2(b, s->pos + 3 * (size_t)i, dist2);
      if (!is_ruled_out(b, dist2, 0.0))
        add_candidate(b, i, dist2);
    }
  }
}

/* drops candidates that a later one rules out */
static void
prune(Block *b)
{
  int n = 0;
  for (int i = 0; i < b->n_cand; i++) {
    bool out = false;
    for (int g = i + 1; g < b->n_cand && !out; g++)
      out = rules_out(&b->cand[g], b->cand[i].dist2, 0.0);
    if (!out)
      b->cand[n++] = b->cand[i];
  }
  b->n_cand = n;
  b->last = 0;
}

static void
place_block(Block *b, int i, int j, int k)
{
  const Sites *s = b->sites;
  double origin[3];
  b->at[0] = i;
  b->at[1] = j;
  b->at[2] = k;
  to_mm(s->column, i, j, k, origin);
  b->radius = 0.0;
  for (int d = 0; d < 3; d++)
    b->centre[d] =
        origin[d] + 0.5 * (SIDE - 1) * (s->column[0][d] + s->column[1][d] + s->column[2][d]);
  for (int c = 0; c < CORNERS; c++) {
    double x[3], y[3];
    to_mm(s->column, c & 1 ? SIDE - 1 : 0, c & 2 ? SIDE - 1 : 0, c & 4 ? SIDE - 1 : 0, x);
    for (int d = 0; d < 3; d++)
      b->corner[d][c] = origin[d] + x[d];
    for (int d = 0; d < 3; d++)
      y[d] = b->corner[d][c] - b->centre[d];
    b->radius = fmax(b->radius, pla_vec3_norm(y));
  }
  /* what served the block before */
  const int known = b->n_cand;
  b->n_cand = b->last = 0;
  for (int g = 0; g < known; g++) {
    double dist2[CORNERS];
    const int site = b->cand[g].site;
    corner_dist2(b, s->pos + 3 * (size_t)site, dist2);
    if (!is_ruled_out(b, dist2, 0.0))
      add_candidate(b, site, dist2);
  }
}

/* the least squared distance of each voxel */
static void
solve_block(Block *b, float least[VOXELS])
{
  const Sites *s = b->sites;
  for (int v = 0; v < VOXELS; v++)
    least[v] = INFINITY;
  for (int g = 0; g < b->n_cand; g++) {
    /* whole steps between voxels, so that no digits are lost */
    const int *voxel = s->voxel + 3 * (size_t)b->cand[g].site;
    double off[3];
    to_mm(s->column, b->at[0] - voxel[0], b->at[1] - voxel[1], b->at[2] - voxel[2], off);
    for (int v = 0; v < VOXELS; v++) {
      const double x = off[0] + b->local[0][v], y = off[1] + b->local[1][v],
                   z = off[2] + b->local[2][v];
      const float d2 = (float)(x * x + y * y + z * z);
      least[v] = d2 < least[v] ? d2 : least[v];
    }
  }
}

/* a row of blocks along the first axis */
static void
solve_row(Block *b, int j0, int k0, const uint8_t *mask, bool inside, float *dist2)
{
  const int *n = b->sites->dims;
  const float limit2 = (float)(b->limit_mm * b->limit_mm);
  b->n_cand = 0;
  for (int i0 = 0; i0 < n[0]; i0 += SIDE) {
    bool all_in = true;
    for (int k = k0; k < k0 + SIDE && k < n[2]; k++)
      for (int j = j0; j < j0 + SIDE && j < n[1]; j++)
        for (int i = i0; i < i0 + SIDE && i < n[0]; i++) {
          const size_t v = (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
          const bool in = (mask[v] != 0) == inside;
          all_in = all_in && in;
          dist2[v] = in ? 0.0f : INFINITY;
        }
    if (all_in)
      continue;
    float least[VOXELS];
    place_block(b, i0, j0, k0);
    collect(b);
    prune(b);
    solve_block(b, least);
    for (int k = k0; k < k0 + SIDE && k < n[2]; k++)
      for (int j = j0; j < j0 + SIDE && j < n[1]; j++)
        for (int i = i0; i < i0 + SIDE && i < n[0]; i++) {
          const size_t v = (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
          const float d2 = least[i - i0 + SIDE * (j - j0 + SIDE * (k - k0))];
          if (dist2[v] != 0.0f && d2 <= limit2)
            dist2[v] = d2;
        }
  }
}

PlaStatus
pla_distance_skew(const int dims[3], const double affine_mm[12], const uint8_t *mask, bool inside,
                  double limit_mm, PlaProgress *progress, float *dist2_mm2, PlaError *err)
{
  const int rows_j = (dims[1] + SIDE - 1) / SIDE, rows_k = (dims[2] + SIDE - 1) / SIDE;
  const int n_threads = omp_get_max_threads();
  Sites sites;
  Block *blocks = pla_array_new0((size_t)n_threads, sizeof *blocks);
  bool ok = sites_init(&sites, dims, affine_mm, mask, inside) && blocks;
  for (int t = 0; ok && t < n_threads; t++) {
    blocks[t].sites = &sites;
    blocks[t].limit_mm = limit_mm;
    for (int v = 0; v < VOXELS; v++) {
      double x[3];
      to_mm(sites.column, v % SIDE, v / SIDE % SIDE, v / (SIDE * SIDE), x);
      for (int d = 0; d < 3; d++)
        blocks[t].local[d][v] = x[d];
    }
  }
  if (ok) {
#pragma omp parallel for schedule(dynamic, 4) num_threads(n_threads)
    for (int row = 0; row < rows_j * rows_k; row++)
      if (!pla_progress_cancelled(progress))
        solve_row(&blocks[omp_get_thread_num()], row % rows_j * SIDE, row / rows_j * SIDE, mask,
                  inside, dist2_mm2);
  }
  for (int t = 0; blocks && t < n_threads; t++) {
    ok = ok && !blocks[t].short_of_memory;
    free(blocks[t].cand);
  }
  free(blocks);
  sites_clear(&sites);
  return ok ? PLA_OK : pla_fail_memory(err, "a distance transform");
}
