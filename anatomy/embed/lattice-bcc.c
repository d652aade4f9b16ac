/* The body-centred cubic lattice in whole numbers. */
#include "anatomy/embed/lattice-bcc.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* odd nodes around an even edge along axis d, in turns: signs along d + 1 and d + 2 */
static const int ring[4][2] = { { 1, 1 }, { -1, 1 }, { -1, -1 }, { 1, -1 } };

PlaBccTet
pla_bcc_root(const int n[3], int depth, int64_t number)
{
  PlaBccTet tet = { .level = 0 };
  const int s = 1 << depth, axis = (int)(number % 12) / 4, turn = (int)(number % 4);
  int64_t cell = number / 12;
  int even[3] = { (int)(cell % n[0]), (int)(cell / n[0] % n[1]), (int)(cell / n[0] / n[1]) };
  for (int c = 0; c < 4; c++)
    for (int d = 0; d < 3; d++)
      tet.x[c][d] = 2 * s * even[d];
  tet.x[1][axis] += 2 * s;
  for (int c = 0; c < 2; c++) {
    const int *sign = ring[(turn + c) % 4];
    tet.x[2 + c][axis] += s;
    tet.x[2 + c][(axis + 1) % 3] += s * sign[0];
    tet.x[2 + c][(axis + 2) % 3] += s * sign[1];
  }
  return tet;
}

int64_t
pla_bcc_root_at(const int n[3], int depth, const double x[3])
{
  const double side = 2.0 * (1 << depth);
  int cube[3], sign[3];
  double r[3];
  for (int d = 0; d < 3; d++) {
    double at = x[d] / side;
    if (!(at >= -1.0 && at <= n[d] + 1.0))
      return -1;
    cube[d] = (int)floor(at);
    r[d] = at - cube[d] - 0.5;
    sign[d] = r[d] < 0.0 ? -1 : 1;
    r[d] = fabs(r[d]);
  }
  /* the tet joins the cube's centre to the next one through the nearest face, around the edge of
     that face which is nearest */
  int a = r[0] >= r[1] ? (r[0] >= r[2] ? 0 : 2) : (r[1] >= r[2] ? 1 : 2);
  int b = (a + 1) % 3, axis = (a + 2) % 3;
  if (r[axis] > r[b]) {
    int swap = b;
    b = axis;
    axis = swap;
  }
  int even[3] = { cube[0], cube[1], cube[2] };
  even[a] += sign[a] > 0;
  even[b] += sign[b] > 0;
  for (int d = 0; d < 3; d++)
    if (even[d] < 0 || even[d] >= n[d])
      return -1;
  /* of the two odd nodes, one differs from the other along a; both are at -sign[b] along b */
  for (int turn = 0; turn < 4; turn++) {
    const int *p = ring[turn], *q = ring[(turn + 1) % 4];
    const int ib = b == (axis + 1) % 3 ? 0 : 1;
    if (p[ib] == -sign[b] && q[ib] == -sign[b])
      return 12 * (even[0] + (int64_t)n[0] * (even[1] + (int64_t)n[1] * even[2])) + 4 * axis + turn;
  }
  assert(false);
  return -1;
}

static void
middle(const PlaBccTet *tet, int a, int b, int out[3])
{
  for (int d = 0; d < 3; d++)
    out[d] = (tet->x[a][d] + tet->x[b][d]) / 2;
}

/* Parts of a tet in terms of its corners (0-3) and the middles of edges 01, 23, 02, 03, 12, 13
 * (4-9).  The four in the middle stand around the way from 01 to 23, which is as long as their
 * other long edges. */
static const int part[8][4] = {
  { 0, 4, 6, 7 }, { 4, 1, 8, 9 }, { 6, 8, 2, 5 }, { 7, 9, 5, 3 },
  { 4, 5, 8, 6 }, { 4, 5, 9, 8 }, { 4, 5, 7, 9 }, { 4, 5, 6, 7 },
};
static const int middles[6][2] = { { 0, 1 }, { 2, 3 }, { 0, 2 }, { 0, 3 }, { 1, 2 }, { 1, 3 } };

void
pla_bcc_children(const PlaBccTet *tet, PlaBccTet child[8])
{
  int place[10][3];
  memcpy(place, tet->x, sizeof tet->x);
  for (int m = 0; m < 6; m++)
    middle(tet, middles[m][0], middles[m][1], place[4 + m]);
  for (int c = 0; c < 8; c++) {
    child[c].level = tet->level + 1;
    for (int v = 0; v < 4; v++)
      memcpy(child[c].x[v], place[part[c][v]], sizeof place[0]);
  }
}

PlaBccTet
pla_bcc_across(const PlaBccTet *tet, int corner)
{
  /* the face holds the long edge that the corner is not on: through its middle the corner goes */
  PlaBccTet out = *tet;
  const int a = corner < 2 ? 2 : 0, b = a + 1;
  for (int d = 0; d < 3; d++)
    out.x[corner][d] = tet->x[a][d] + tet->x[b][d] - tet->x[corner][d];
  /* that turned it inside out */
  const int other = corner ^ 1;
  for (int d = 0; d < 3; d++) {
    int swap = out.x[corner][d];
    out.x[corner][d] = out.x[other][d];
    out.x[other][d] = swap;
  }
  return out;
}

uint64_t
pla_bcc_key(const PlaBccTet *tet)
{
  uint64_t key = 0;
  for (int d = 0; d < 3; d++) {
    int sum = tet->x[0][d] + tet->x[1][d] + tet->x[2][d] + tet->x[3][d] + (4 << PLA_BCC_MAX_DEPTH);
    key = key << 20 | (uint64_t)(sum & 0xfffff);
  }
  return (key << 4 | (uint64_t)tet->level) + 1;
}

void
pla_bcc_weights(const PlaBccTet *tet, const double x[3], double weight[4])
{
  /* along one long edge, along the other, and from one to the other: three right angles */
  double a[3], b[3], up[3], r[3], aa = 0.0, up2 = 0.0, ra = 0.0, rb = 0.0, ru = 0.0;
  for (int d = 0; d < 3; d++) {
    a[d] = tet->x[1][d] - tet->x[0][d];
    b[d] = tet->x[3][d] - tet->x[2][d];
    up[d] = 0.5 * (tet->x[2][d] + tet->x[3][d] - tet->x[0][d] - tet->x[1][d]);
    r[d] = x[d] - 0.5 * (tet->x[0][d] + tet->x[1][d]);
    aa += a[d] * a[d];
    up2 += up[d] * up[d];
  }
  for (int d = 0; d < 3; d++) {
    ra += r[d] * a[d];
    rb += r[d] * b[d];
    ru += r[d] * up[d];
  }
  const double t = ru / up2, u = ra / aa, v = rb / aa;
  weight[0] = 0.5 * (1.0 - t) - u;
  weight[1] = 0.5 * (1.0 - t) + u;
  weight[2] = 0.5 * t - v;
  weight[3] = 0.5 * t + v;
}

PlaBccTet
pla_bcc_child_at(const PlaBccTet *tet, const double x[3])
{
  PlaBccTet child[8];
  double best = -INFINITY;
  int chosen = 0;
  pla_bcc_children(tet, child);
  for (int c = 0; c < 8; c++) {
    double w[4];
    pla_bcc_weights(&child[c], x, w);
    const double least = fmin(fmin(w[0], w[1]), fmin(w[2], w[3]));
    if (least > best) {
      best = least;
      chosen = c;
    }
  }
  return child[chosen];
}

/* ---- even divisions ---- */

/* nodes in the order of weight 3, then 2, then 1 */
int
pla_bcc_grid_node(const PlaBccGrid *self, const int w[4])
{
  const int n = self->n, m = n - w[3], l = m - w[2];
  /* layers below, rows below in this layer, place in the row */
  const int all = (n + 1) * (n + 2) * (n + 3) / 6, above = (m + 1) * (m + 2) * (m + 3) / 6;
  return all - above + (m + 1) * (m + 2) / 2 - (l + 1) * (l + 2) / 2 + w[1];
}

static int
compare_edges(const void *a, const void *b)
{
  const int *p = a, *q = b;
  return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

/* tets of @k more divisions of the tet whose corners have the weights @w */
static int
divide(PlaBccGrid *self, int w[4][4], int k, int at)
{
  if (k == 0) {
    for (int c = 0; c < 4; c++)
      self->tet[at][c] = pla_bcc_grid_node(self, w[c]);
    return at + 1;
  }
  int place[10][4];
  memcpy(place, w, 4 * sizeof *w);
  for (int m = 0; m < 6; m++)
    for (int c = 0; c < 4; c++)
      place[4 + m][c] = (w[middles[m][0]][c] + w[middles[m][1]][c]) / 2;
  for (int p = 0; p < 8; p++) {
    int sub[4][4];
    for (int c = 0; c < 4; c++)
      memcpy(sub[c], place[part[p][c]], sizeof sub[c]);
    at = divide(self, sub, k - 1, at);
  }
  return at;
}

PlaBccGrid *
pla_bcc_grid_new(int k)
{
  assert(k >= 0 && k <= PLA_BCC_MAX_GRID);
  const int n = 1 << k;
  PlaBccGrid *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return NULL;
  self->k = k;
  self->n = n;
  self->n_nodes = (n + 1) * (n + 2) * (n + 3) / 6;
  self->n_face = (n + 1) * (n + 2) / 2;
  self->n_tets = 1 << (3 * k);
  self->node = pla_array_new((size_t)self->n_nodes, sizeof *self->node);
  self->tet = pla_array_new((size_t)self->n_tets, sizeof *self->tet);
  self->edge = pla_array_new(6 * (size_t)self->n_tets, sizeof *self->edge);
  bool ok = self->node && self->tet && self->edge;
  for (int c = 0; c < 4; c++) {
    self->face[c] = pla_array_new((size_t)self->n_face, sizeof *self->face[c]);
    ok = ok && self->face[c];
  }
  if (!ok) {
    pla_bcc_grid_free(self);
    return NULL;
  }
  int at = 0, on_face[4] = { 0, 0, 0, 0 };
  for (int w3 = 0; w3 <= n; w3++)
    for (int w2 = 0; w2 <= n - w3; w2++)
      for (int w1 = 0; w1 <= n - w3 - w2; w1++, at++) {
        const int w[4] = { n - w3 - w2 - w1, w1, w2, w3 };
        for (int c = 0; c < 4; c++) {
          self->node[at][c] = (int16_t)w[c];
          if (w[c] == 0)
            self->face[c][on_face[c]++] = at;
        }
      }
  int w[4][4] = { { n, 0, 0, 0 }, { 0, n, 0, 0 }, { 0, 0, n, 0 }, { 0, 0, 0, n } };
  at = divide(self, w, k, 0);
  assert(at == self->n_tets);

  /* each edge once */
  for (int t = 0; t < self->n_tets; t++)
    for (int e = 0; e < 6; e++) {
      const int a = self->tet[t][middles[e][0]], b = self->tet[t][middles[e][1]];
      int *to = self->edge[6 * t + e];
      to[0] = a < b ? a : b;
      to[1] = a < b ? b : a;
    }
  qsort(self->edge, 6 * (size_t)self->n_tets, sizeof *self->edge, compare_edges);
  for (int e = 0; e < 6 * self->n_tets; e++)
    if (self->n_edges == 0 || compare_edges(self->edge[e], self->edge[self->n_edges - 1]) != 0)
      memmove(self->edge[self->n_edges++], self->edge[e], sizeof *self->edge);
  return self;
}

void
pla_bcc_grid_free(PlaBccGrid *self)
{
  if (!self)
    return;
  free(self->node);
  free(self->tet);
  free(self->edge);
  for (int c = 0; c < 4; c++)
    free(self->face[c]);
  free(self);
}

/* ---- map ---- */

bool
pla_bcc_map_init(PlaBccMap *self, uint64_t n)
{
  uint64_t size = 16;
  while (size < 2 * n)
    size *= 2;
  self->mask = size - 1;
  self->key = pla_array_new0(size, sizeof *self->key);
  self->value = pla_array_new(size, sizeof *self->value);
  if (self->key && self->value)
    return true;
  pla_bcc_map_clear(self);
  return false;
}

void
pla_bcc_map_clear(PlaBccMap *self)
{
  free(self->key);
  free(self->value);
  *self = (PlaBccMap){ 0 };
}

static uint64_t
slot(const PlaBccMap *self, uint64_t key)
{
  uint64_t h = key * 0x9e3779b97f4a7c15u;
  h = (h ^ h >> 29) & self->mask;
  while (self->key[h] && self->key[h] != key)
    h = (h + 1) & self->mask;
  return h;
}

void
pla_bcc_map_set(PlaBccMap *self, const PlaBccTet *tet, int value)
{
  const uint64_t key = pla_bcc_key(tet), h = slot(self, key);
  self->key[h] = key;
  self->value[h] = value;
}

int
pla_bcc_map_get(const PlaBccMap *self, const PlaBccTet *tet)
{
  const uint64_t key = pla_bcc_key(tet), h = slot(self, key);
  return self->key[h] ? self->value[h] : INT_MIN;
}
