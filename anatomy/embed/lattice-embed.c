/* Nodes of lattice embeddings.
 *
 * Every element starts with four nodes of its own.  A joint says that two elements hold the same
 * material on both sides of a face, and unites the nodes at the same places (union-find).  Where
 * one of the two is larger, nodes of the smaller that stand on the larger one's edges or face are
 * bound to it: p = sum w_c corner_c.  A bound node's corners may be bound themselves, always to a
 * tet of a lower level, since a node of level l is a corner of every tet of level >= l it touches;
 * so the bindings are made free of each other in the order of levels. */
#include "anatomy/embed/lattice-embed.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void
pla_lattice_embedding_free(PlaLatticeEmbedding *self)
{
  if (!self)
    return;
  free(self->tet);
  free(self->first_elem);
  free(self->inner);
  pla_bcc_map_clear(&self->map);
  free(self->elem_tet);
  free(self->vert);
  free(self->pos);
  free(self->fill);
  free(self->region);
  free(self->bind_start);
  free(self->bind_vert);
  free(self->bind_weight);
  free(self->piece_start);
  free(self->piece);
  free(self);
}

int
pla_lattice_n_duplicated(const PlaLatticeEmbedding *self)
{
  int n = 0;
  for (int t = 0; t < self->n_tets; t++)
    n += self->first_elem[t + 1] - self->first_elem[t] > 1;
  return n;
}

void
pla_lattice_place(const PlaLatticeFrame *frame, const int x[3], double pos[3])
{
  for (int d = 0; d < 3; d++)
    pos[d] = frame->origin[d] + frame->unit * x[d];
}

void
pla_lattice_coord(const PlaLatticeFrame *frame, const double pos[3], double x[3])
{
  for (int d = 0; d < 3; d++)
    x[d] = (pos[d] - frame->origin[d]) / frame->unit;
}

double
pla_lattice_volume(const PlaLatticeEmbedding *self, int elem)
{
  /* a cube of side 2 s has twelve */
  const double s =
      self->frame.unit * (1 << self->frame.depth >> self->tet[self->elem_tet[elem]].level);
  return 8.0 * s * s * s / 12.0;
}

PlaStatus
pla_lattice_frame_init(PlaLatticeFrame *frame, const double lo[3], const double hi[3], double cell,
                       int coarsen, int detail, PlaError *err)
{
  if (!(cell > 0.0) || !isfinite(cell))
    return pla_fail(err, PLA_ERR_USAGE, "a lattice needs cells of a positive size");
  if (coarsen < 0 || detail < 0 || coarsen > PLA_BCC_MAX_GRID - detail)
    return pla_fail(err, PLA_ERR_USAGE,
                    "cells of the lattice can be doubled and halved %d times at most in all",
                    PLA_BCC_MAX_GRID);
  const double side = ldexp(cell, coarsen);
  double count = 12.0;
  frame->depth = coarsen + detail;
  frame->unit = ldexp(cell, -detail - 1);
  for (int d = 0; d < 3; d++) {
    /* whole cubes from the origin of space, so that lattices of one size match */
    const double first = floor(lo[d] / side) - 1.0, last = ceil(hi[d] / side) + 1.0;
    frame->origin[d] = first * side;
    const double n = last - first + 1.0;
    count *= n;
    if (!(n * ldexp(2.0, frame->depth) < PLA_BCC_MAX_COORD))
      return pla_fail(err, PLA_ERR_USAGE,
                      "cells of %g mm are too fine for a body of %.0f mm; use larger ones",
                      1000.0 * cell, 1000.0 * (hi[d] - lo[d]));
    frame->n[d] = (int)n;
  }
  if (!(count < 4e9))
    return pla_fail(err, PLA_ERR_USAGE,
                    "cells of %g mm make a lattice of %.2g tetrahedra; use larger ones",
                    1000.0 * cell, count);
  return PLA_OK;
}

int
pla_lattice_find(const PlaLatticeEmbedding *self, const double pos[3])
{
  double x[3];
  pla_lattice_coord(&self->frame, pos, x);
  int64_t root = pla_bcc_root_at(self->frame.n, self->frame.depth, x);
  if (root < 0)
    return -1;
  PlaBccTet at = pla_bcc_root(self->frame.n, self->frame.depth, root);
  for (;;) {
    int found = pla_bcc_map_get(&self->map, &at);
    if (found >= 0)
      return found;
    if (found == INT_MIN)
      return -1;
    at = pla_bcc_child_at(&at, x);
  }
}

void
pla_lattice_apply_bindings(const PlaLatticeEmbedding *self, double *pos)
{
#pragma omp parallel for schedule(static)
  for (int v = self->n_free; v < self->n_verts; v++) {
    double p[3] = { 0.0, 0.0, 0.0 };
    const int b = v - self->n_free;
    for (int k = self->bind_start[b]; k < self->bind_start[b + 1]; k++)
      for (int d = 0; d < 3; d++)
        p[d] += self->bind_weight[k] * pos[3 * (size_t)self->bind_vert[k] + d];
    memcpy(pos + 3 * (size_t)v, p, sizeof p);
  }
}

void
pla_lattice_foreach_pair(const PlaLatticeEmbedding *self, int begin, int end,
                         PlaLatticePairFunc visit, void *data)
{
  for (int t = begin; t < end; t++)
    for (int corner = 0; corner < 4; corner++) {
      PlaBccTet across = pla_bcc_across(&self->tet[t], corner);
      int found = pla_bcc_map_get(&self->map, &across);
      /* nothing of this size there: perhaps something larger, which holds the place just beyond
         the face */
      if (found == INT_MIN && across.level > 0) {
        double x[3] = { 0.0, 0.0, 0.0 }, pos[3];
        for (int d = 0; d < 3; d++) {
          for (int c = 0; c < 4; c++)
            x[d] += 0.25 * across.x[c][d];
          pos[d] = self->frame.origin[d] + self->frame.unit * x[d];
        }
        found = pla_lattice_find(self, pos);
        if (found >= 0 && self->tet[found].level >= self->tet[t].level)
          found = -1;
      } else if (found >= 0 && found < t) {
        continue; /* seen from the other side */
      }
      if (found >= 0 && !visit(t, corner, found, data))
        return;
    }
}

PlaStatus
pla_lattice_number_elems(PlaLatticeEmbedding *self, const int *count, PlaError *err)
{
  int64_t n = 0;
  for (int t = 0; t < self->n_tets; t++)
    n += count[t];
  if (n > INT_MAX / 4)
    return pla_fail(err, PLA_ERR_USAGE,
                    "the lattice has more elements than can be counted; use larger cells");
  self->n_elems = (int)n;
  self->first_elem = pla_array_new((size_t)self->n_tets + 1, sizeof *self->first_elem);
  self->elem_tet = pla_array_new((size_t)n, sizeof *self->elem_tet);
  if (!self->fill)
    self->fill = pla_array_new0((size_t)n, sizeof *self->fill);
  if (!self->region)
    self->region = pla_array_new0((size_t)n, sizeof *self->region);
  if (!self->first_elem || !self->elem_tet || !self->fill || !self->region)
    return pla_fail_memory(err, "the lattice");
  self->first_elem[0] = 0;
  for (int t = 0; t < self->n_tets; t++) {
    for (int e = 0; e < count[t]; e++)
      self->elem_tet[self->first_elem[t] + e] = t;
    self->first_elem[t + 1] = self->first_elem[t] + count[t];
  }
  return PLA_OK;
}

bool
pla_lattice_add_joint(PlaBytes *joints, size_t before, const PlaLatticeJoint *joint)
{
  for (size_t k = before; k < joints->size; k += sizeof *joint)
    if (memcmp(joints->data + k, joint, sizeof *joint) == 0)
      return true;
  return pla_bytes_append(joints, joint, sizeof *joint);
}

/* corner of @tet at place @x, or -1 */
static int
corner_at(const PlaBccTet *tet, const int x[3])
{
  for (int c = 0; c < 4; c++)
    if (memcmp(tet->x[c], x, sizeof tet->x[c]) == 0)
      return c;
  return -1;
}

static bool
is_larger(const PlaLatticeEmbedding *self, int elem, int than)
{
  if (than < 0)
    return true;
  const int a = self->tet[self->elem_tet[elem]].level, b = self->tet[self->elem_tet[than]].level;
  return a != b ? a < b : elem < than;
}

/* @corner: of each bound vertex, the corner (4 x element + corner) that gave its number; @master:
 * of each such corner, the larger element it is bound to */
static PlaStatus
bind(PlaLatticeEmbedding *self, const int *number, const int *corner, const int *master,
     PlaError *err)
{
  const int n_bound = self->n_verts - self->n_free;
  /* (vertex, weight) lists in the order of the masters' levels */
  size_t n_entries = 0, room = 4 * (size_t)n_bound + 16;
  int *at = pla_array_new((size_t)n_bound + 1, sizeof *at);
  int *length = pla_array_new((size_t)n_bound + 1, sizeof *length);
  int *vert = pla_array_new(room, sizeof *vert);
  double *weight = pla_array_new(room, sizeof *weight);
  self->bind_start = pla_array_new0((size_t)n_bound + 1, sizeof *self->bind_start);
  PlaStatus st = PLA_OK;
  if (!at || !length || !vert || !weight || !self->bind_start)
    st = pla_fail_memory(err, "the lattice's bindings");
  for (int level = 0; st == PLA_OK && level <= PLA_BCC_MAX_DEPTH; level++)
    for (int b = 0; st == PLA_OK && b < n_bound; b++) {
      const int node = corner[b], elem = master[node];
      const PlaBccTet *tet = &self->tet[self->elem_tet[elem]];
      if (tet->level != level)
        continue;
      double w[4];
      const int *x = self->tet[self->elem_tet[node / 4]].x[node % 4];
      const double place[3] = { x[0], x[1], x[2] };
      pla_bcc_weights(tet, place, w);
      at[b] = (int)n_entries;
      for (int c = 0; c < 4; c++) {
        if (w[c] == 0.0)
          continue;
        const int v = number[4 * (size_t)elem + (size_t)c];
        const int from = v < self->n_free ? -1 : at[v - self->n_free];
        const int count = from < 0 ? 1 : length[v - self->n_free];
        for (int k = 0; k < count; k++) {
          const int to = from < 0 ? v : vert[from + k];
          const double part = from < 0 ? w[c] : w[c] * weight[from + k];
          size_t e = (size_t)at[b];
          while (e < n_entries && vert[e] != to)
            e++;
          if (e < n_entries) {
            weight[e] += part;
            continue;
          }
          if (n_entries == room) {
            room += room / 2;
            void *grown = vert, *grown_w = weight;
            bool ok = pla_array_resize(&grown, room, sizeof *vert);
            vert = grown;
            ok = pla_array_resize(&grown_w, room, sizeof *weight) && ok;
            weight = grown_w;
            if (!ok || room > INT_MAX) {
              st = pla_fail_memory(err, "the lattice's bindings");
              break;
            }
          }
          vert[n_entries] = to;
          weight[n_entries++] = part;
        }
      }
      length[b] = (int)n_entries - at[b];
    }
  if (st == PLA_OK) {
    self->bind_vert = pla_array_new(n_entries, sizeof *vert);
    self->bind_weight = pla_array_new(n_entries, sizeof *weight);
    if (!self->bind_vert || !self->bind_weight)
      st = pla_fail_memory(err, "the lattice's bindings");
  }
  for (int b = 0; st == PLA_OK && b < n_bound; b++) {
    const int to = self->bind_start[b];
    memcpy(self->bind_vert + to, vert + at[b], (size_t)length[b] * sizeof *vert);
    memcpy(self->bind_weight + to, weight + at[b], (size_t)length[b] * sizeof *weight);
    self->bind_start[b + 1] = to + length[b];
  }
  free(at);
  free(length);
  free(vert);
  free(weight);
  return st;
}

PlaStatus
pla_lattice_assemble(PlaLatticeEmbedding *self, const PlaLatticeJoint *joint, size_t n_joints,
                     PlaError *err)
{
  const size_t n = 4 * (size_t)self->n_elems;
  int *parent = pla_array_new(n, sizeof *parent);
  int *number = pla_array_new(n, sizeof *number), *bound = NULL;
  int *master = pla_array_new(n, sizeof *master);
  PlaStatus st = PLA_OK;
  self->vert = pla_array_new(n, sizeof *self->vert);
  if (!parent || !number || !master || !self->vert)
    st = pla_fail_memory(err, "the lattice's nodes");
  for (size_t c = 0; st == PLA_OK && c < n; c++) {
    parent[c] = (int)c;
    master[c] = -1;
  }

  /* the same places become one node: the first of them all */
  for (size_t j = 0; st == PLA_OK && j < n_joints; j++) {
    const int a = joint[j].piece[0], b = joint[j].piece[1];
    const PlaBccTet *ta = &self->tet[self->elem_tet[a]], *tb = &self->tet[self->elem_tet[b]];
    for (int c = 0; c < 4; c++) {
      int same = corner_at(tb, ta->x[c]);
      if (same < 0)
        continue;
      int p = pla_union_find_root(parent, 4 * a + c), q = pla_union_find_root(parent, 4 * b + same);
      parent[p > q ? p : q] = p > q ? q : p;
    }
  }
  /* places on a larger tet are bound to it, to the largest where there are several */
  for (size_t j = 0; st == PLA_OK && j < n_joints; j++) {
    int a = joint[j].piece[0], b = joint[j].piece[1];
    if (self->tet[self->elem_tet[a]].level == self->tet[self->elem_tet[b]].level)
      continue;
    if (self->tet[self->elem_tet[a]].level < self->tet[self->elem_tet[b]].level) {
      int swap = a;
      a = b;
      b = swap;
    }
    const PlaBccTet *ta = &self->tet[self->elem_tet[a]], *tb = &self->tet[self->elem_tet[b]];
    for (int c = 0; c < 4; c++) {
      double w[4];
      const double x[3] = { ta->x[c][0], ta->x[c][1], ta->x[c][2] };
      pla_bcc_weights(tb, x, w);
      if (fmin(fmin(w[0], w[1]), fmin(w[2], w[3])) < 0.0 || corner_at(tb, ta->x[c]) >= 0)
        continue;
      int *m = &master[pla_union_find_root(parent, 4 * a + c)];
      if (is_larger(self, b, *m))
        *m = b;
    }
  }

  /* free nodes first, each kind in the order of elements */
  int n_free = 0, n_bound = 0;
  if (st == PLA_OK) {
    for (size_t c = 0; c < n; c++)
      if (parent[c] == (int)c && master[c] < 0)
        number[c] = n_free++;
    for (size_t c = 0; c < n; c++)
      if (parent[c] == (int)c && master[c] >= 0)
        number[c] = n_free + n_bound++;
    self->n_free = n_free;
    self->n_verts = n_free + n_bound;
    self->pos = pla_array_new((size_t)self->n_verts, 3 * sizeof *self->pos);
    bound = pla_array_new((size_t)n_bound, sizeof *bound);
    if (!self->pos || !bound)
      st = pla_fail_memory(err, "the lattice's nodes");
  }
  for (size_t c = 0; st == PLA_OK && c < n; c++) {
    const int root = pla_union_find_root(parent, (int)c);
    number[c] = number[root];
    self->vert[c] = number[c];
    if (root != (int)c)
      continue;
    pla_lattice_place(&self->frame, self->tet[self->elem_tet[c / 4]].x[c % 4],
                      self->pos + 3 * (size_t)number[c]);
    if (number[c] >= n_free)
      bound[number[c] - n_free] = (int)c;
  }
  if (st == PLA_OK)
    st = bind(self, number, bound, master, err);
  free(parent);
  free(number);
  free(master);
  free(bound);
  return st;
}

/* one thread's share of the joints */
typedef struct {
  PlaLatticeJoinFunc join;
  const void *data;
  PlaBytes joints;
  bool short_memory;
} Joiner;

static bool
visit(int a, int corner, int b, void *data)
{
  Joiner *j = data;
  j->short_memory = !j->join(a, corner, b, j->data, &j->joints);
  return !j->short_memory;
}

PlaStatus
pla_lattice_join(PlaLatticeEmbedding *self, PlaLatticeJoinFunc join, const void *data,
                 PlaError *err)
{
  const int step = 1024, n_chunks = (self->n_tets + step - 1) / step;
  Joiner *joiner = pla_array_new0((size_t)n_chunks, sizeof *joiner);
  PlaBytes all = { 0 };
  bool ok = joiner;
#pragma omp parallel for schedule(dynamic, 1)
  for (int c = 0; c < (joiner ? n_chunks : 0); c++) {
    joiner[c] = (Joiner){ .join = join, .data = data };
    const int end = (c + 1) * step < self->n_tets ? (c + 1) * step : self->n_tets;
    pla_lattice_foreach_pair(self, c * step, end, visit, &joiner[c]);
  }
  for (int c = 0; c < (joiner ? n_chunks : 0); c++) {
    ok = ok && !joiner[c].short_memory;
    if (joiner[c].joints.size > 0)
      ok = ok && pla_bytes_append(&all, joiner[c].joints.data, joiner[c].joints.size);
    pla_bytes_clear(&joiner[c].joints);
  }
  free(joiner);
  PlaStatus st = ok ? PLA_OK : pla_fail_memory(err, "the lattice's joints");
  if (st == PLA_OK)
    st = pla_lattice_assemble(self, (const PlaLatticeJoint *)(const void *)all.data,
                              all.size / sizeof(PlaLatticeJoint), err);
  pla_bytes_clear(&all);
  return st;
}

/* the free vertices that a point with weights @w in element @elem follows; their number */
static int
parents_of(const PlaLatticeEmbedding *self, int elem, const double w[4], int *vert, double *weight)
{
  int n = 0;
  for (int c = 0; c < 4; c++) {
    const int v = self->vert[4 * (size_t)elem + (size_t)c], b = v - self->n_free;
    const int first = b < 0 ? 0 : self->bind_start[b], last = b < 0 ? 1 : self->bind_start[b + 1];
    for (int k = first; k < last; k++) {
      const int to = b < 0 ? v : self->bind_vert[k];
      const double part = b < 0 ? w[c] : w[c] * self->bind_weight[k];
      int at = 0;
      while (at < n && vert[at] != to)
        at++;
      if (at == n) {
        vert[n] = to;
        weight[n++] = 0.0;
      }
      weight[at] += part;
    }
  }
  return n;
}

/* most parents that any vertex of the mesh has */
static int
most_parents(const PlaLatticeEmbedding *self, const PlaEmbedding *points)
{
  int most = points ? 4 : 0;
  for (int b = 0; b < self->n_verts - self->n_free; b++) {
    const int count = self->bind_start[b + 1] - self->bind_start[b];
    most = count > most ? count : most;
  }
  if (!points)
    return most;
  /* points in elements with bound corners */
  int *vert = pla_array_new(4 * (size_t)most, sizeof *vert);
  double *weight = pla_array_new(4 * (size_t)most, sizeof *weight);
  const double w[4] = { 0.25, 0.25, 0.25, 0.25 };
  int widest = vert && weight ? most : -1;
  for (int p = 0; widest >= 0 && p < points->n_points; p++) {
    const int count = parents_of(self, points->elem[p], w, vert, weight);
    widest = count > widest ? count : widest;
  }
  free(vert);
  free(weight);
  return widest;
}

static PlaStatus
add_bindings(const PlaLatticeEmbedding *self, const PlaEmbedding *points, PlaMesh *mesh,
             PlaError *err)
{
  const int most = most_parents(self, points);
  if (most == 0)
    return PLA_OK;
  int32_t *verts =
      most < 0 ? NULL : pla_mesh_add_field(mesh, PLA_MESH_BOUND_VERTS, PLA_ON_VERTS, PLA_I32, most);
  double *weights =
      verts ? pla_mesh_add_field(mesh, PLA_MESH_BOUND_WEIGHTS, PLA_ON_VERTS, PLA_F64, most) : NULL;
  if (!weights)
    return pla_fail_memory(err, "the lattice's bindings");
  for (size_t i = 0; i < (size_t)mesh->n_verts * (size_t)most; i++)
    verts[i] = -1;
#pragma omp parallel for schedule(static)
  for (int v = self->n_free; v < mesh->n_verts; v++) {
    int32_t *to = verts + (size_t)v * (size_t)most;
    double *w = weights + (size_t)v * (size_t)most;
    const int b = v - self->n_free, p = v - self->n_verts;
    if (p >= 0) {
      parents_of(self, points->elem[p], points->weight + 4 * (size_t)p, to, w);
      continue;
    }
    for (int k = self->bind_start[b]; k < self->bind_start[b + 1]; k++) {
      to[k - self->bind_start[b]] = self->bind_vert[k];
      w[k - self->bind_start[b]] = self->bind_weight[k];
    }
  }
  return PLA_OK;
}

PlaStatus
pla_lattice_mesh(const PlaLatticeEmbedding *self, const PlaMesh *surface,
                 const PlaEmbedding *points, PlaMesh **out, PlaError *err)
{
  PlaMesh *mesh = NULL;
  const int n_points = surface ? surface->n_verts : 0, n_tris = surface ? surface->n_tris : 0;
  *out = NULL;
  if (n_points > INT_MAX - self->n_verts)
    return pla_fail(err, PLA_ERR_USAGE, "the lattice and its surface have too many vertices");
  PlaStatus st = pla_mesh_new(self->n_verts + n_points, n_tris, self->n_elems, 0, &mesh, err);
  if (st != PLA_OK)
    return st;
  memcpy(mesh->pos, self->pos, 3 * (size_t)self->n_verts * sizeof *mesh->pos);
  memcpy(mesh->tet, self->vert, 4 * (size_t)self->n_elems * sizeof *mesh->tet);
  if (surface)
    memcpy(mesh->pos + 3 * (size_t)self->n_verts, surface->pos,
           3 * (size_t)n_points * sizeof *mesh->pos);
  for (size_t c = 0; c < 3 * (size_t)n_tris; c++)
    mesh->tri[c] = surface->tri[c] + self->n_verts;
  int32_t *region = pla_mesh_add_field(mesh, PLA_LATTICE_REGION, PLA_ON_CELLS, PLA_I32, 1);
  if (region)
    for (int e = 0; e < self->n_elems; e++)
      region[n_tris + e] = self->region[e];
  float *fill = region ? pla_mesh_add_field(mesh, PLA_MESH_FILL, PLA_ON_CELLS, PLA_F32, 1) : NULL;
  if (!fill)
    st = pla_fail_memory(err, "the lattice's mesh");
  for (int c = 0; st == PLA_OK && c < n_tris + self->n_elems; c++)
    fill[c] = c < n_tris ? 1.0f : (float)self->fill[c - n_tris];
  /* what the surface's triangles bear goes along; elements have none of it */
  for (int f = 0; st == PLA_OK && surface && f < surface->n_fields; f++) {
    const PlaField *field = &surface->field[f];
    if (field->place != PLA_ON_CELLS || pla_mesh_find_field(mesh, field->name, PLA_ON_CELLS))
      continue;
    void *data =
        pla_mesh_add_field(mesh, field->name, PLA_ON_CELLS, field->dtype, field->n_components);
    if (data)
      memcpy(data, field->data,
             (size_t)n_tris * (size_t)field->n_components * pla_dtype_size(field->dtype));
    else
      st = pla_fail_memory(err, "the lattice's mesh");
  }
  if (st == PLA_OK)
    st = add_bindings(self, surface ? points : NULL, mesh, err);
  if (st == PLA_OK)
    *out = mesh;
  else
    pla_mesh_free(mesh);
  return st;
}
