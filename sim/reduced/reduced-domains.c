/* Segments by Dijkstra's algorithm on the graph of tets that share faces, from the tets at the
 * seeds; ties go to the smaller seed, so the result depends on nothing but the mesh. */
#include "sim/reduced/reduced-domains.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/tet-locator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double key; /* m */
  int tet;
} Entry;

typedef struct {
  int n, capacity;
  Entry *at;
} Heap;

static bool
before(Entry a, Entry b)
{
  return a.key < b.key || (a.key == b.key && a.tet < b.tet);
}

static bool
heap_push(Heap *heap, Entry e)
{
  if (!pla_array_reserve(&heap->at, heap->n + 1, &heap->capacity, sizeof *heap->at))
    return false;
  int i = heap->n++;
  for (; i > 0 && before(e, heap->at[(i - 1) / 2]); i = (i - 1) / 2)
    heap->at[i] = heap->at[(i - 1) / 2];
  heap->at[i] = e;
  return true;
}

static Entry
heap_pop(Heap *heap)
{
  const Entry top = heap->at[0], last = heap->at[--heap->n];
  int i = 0;
  for (int child = 1; child < heap->n; child = 2 * i + 1) {
    if (child + 1 < heap->n && before(heap->at[child + 1], heap->at[child]))
      child++;
    if (!before(heap->at[child], last))
      break;
    heap->at[i] = heap->at[child];
    i = child;
  }
  if (heap->n > 0)
    heap->at[i] = last;
  return top;
}

static void
centre_of(const PlaTetMesh *mesh, int t, double c[3])
{
  for (int d = 0; d < 3; d++) {
    c[d] = 0.0;
    for (int a = 0; a < 4; a++)
      c[d] += 0.25 * mesh->rest[3 * (size_t)mesh->tet[4 * (size_t)t + a] + d];
  }
}

/* distance of every tet from the nearest seed, and whose it is; -1 where none leads */
static bool
flood(const PlaTetMesh *mesh, const int *across, const int *seed, int n, double *distance,
      int *owner)
{
  Heap heap = { 0 };
  bool enough = true;
  for (int t = 0; t < mesh->n_tets; t++) {
    distance[t] = INFINITY;
    owner[t] = -1;
  }
  /* start from the tets around each seed */
  for (int t = 0; enough && t < mesh->n_tets; t++)
    for (int a = 0; a < 4; a++)
      for (int i = 0; i < n; i++) {
        if (mesh->tet[4 * (size_t)t + a] != seed[i])
          continue;
        double c[3], along[3];
        centre_of(mesh, t, c);
        pla_vec3_sub(c, mesh->rest + 3 * (size_t)seed[i], along);
        const double key = pla_vec3_norm(along);
        if (key < distance[t]) {
          distance[t] = key;
          owner[t] = i;
          enough = heap_push(&heap, (Entry){ key, t });
        }
      }
  /* Dijkstra's algorithm over face neighbours; ties go to the lower seed */
  while (enough && heap.n > 0) {
    const Entry e = heap_pop(&heap);
    if (e.key > distance[e.tet])
      continue;
    double here[3];
    centre_of(mesh, e.tet, here);
    for (int k = 0; enough && k < 4; k++) {
      const int next = across[4 * (size_t)e.tet + k];
      if (next < 0)
        continue;
      double there[3], along[3];
      centre_of(mesh, next, there);
      pla_vec3_sub(there, here, along);
      const double key = e.key + pla_vec3_norm(along);
      if (key < distance[next] || (key == distance[next] && owner[e.tet] < owner[next])) {
        distance[next] = key;
        owner[next] = owner[e.tet];
        enough = heap_push(&heap, (Entry){ key, next });
      }
    }
  }
  free(heap.at);
  return enough;
}

void
pla_domains_free(PlaDomains *self)
{
  if (!self)
    return;
  free(self->seed);
  free(self->segment);
  free(self->joins);
  free(self);
}

PlaStatus
pla_domains_new(const PlaTetMesh *mesh, const int *seed, int n, PlaDomains **out, PlaError *err)
{
  int *across = NULL;
  double *distance = NULL;
  PlaDomains *self = pla_array_new0(1, sizeof *self);
  *out = NULL;
  /* seeds must differ */
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      if (seed[i] == seed[j]) {
        free(self);
        return pla_fail(err, PLA_ERR_USAGE, "Domains %d and %d have the same seed, vertex %d", j, i,
                        seed[i]);
      }
  /* each tet belongs to the segment of its nearest seed */
  PlaStatus st = pla_tet_neighbours(mesh, &across, err);
  if (self) {
    self->n = n;
    self->n_tets = mesh->n_tets;
    self->seed = pla_array_dup(seed, (size_t)n, sizeof *seed);
    self->segment = pla_array_new((size_t)mesh->n_tets, sizeof *self->segment);
    self->joins = pla_array_new0((size_t)n * (size_t)n, 1);
    distance = pla_array_new((size_t)mesh->n_tets, sizeof *distance);
  }
  if (st == PLA_OK && (!self || !self->seed || !self->segment || !self->joins || !distance ||
                       !flood(mesh, across, seed, n, distance, self->segment)))
    st = pla_fail_memory(err, "domains");
  /* segments that share a face are joined */
  for (int t = 0; st == PLA_OK && t < mesh->n_tets; t++) {
    if (self->segment[t] < 0) {
      st = pla_fail(err, PLA_ERR_GEOMETRY,
                    "Tet %d is not connected through faces to any seed of the reduced model", t);
      break;
    }
    self->joins[self->segment[t] * n + self->segment[t]] = 1;
    for (int k = 0; k < 4; k++) {
      const int next = across[4 * (size_t)t + k];
      if (next >= 0)
        self->joins[self->segment[t] * n + self->segment[next]] = 1;
    }
  }
  free(across);
  free(distance);
  if (st == PLA_OK)
    *out = self;
  else
    pla_domains_free(self);
  return st;
}

/* the vertex of segment @i nearest to the segment's centre of volume */
static int
centre_vertex(const PlaTetMesh *mesh, const int *owner, int i)
{
  double c[3] = { 0 }, total = 0.0, nearest = INFINITY;
  int best = -1;
  /* centre of mass of the segment */
  for (int t = 0; t < mesh->n_tets; t++) {
    if (owner[t] != i)
      continue;
    const int *v = mesh->tet + 4 * (size_t)t;
    double edge[9], centre[3];
    for (int a = 0; a < 3; a++)
      pla_vec3_sub(mesh->rest + 3 * (size_t)v[a + 1], mesh->rest + 3 * (size_t)v[0], edge + 3 * a);
    const double volume = pla_mat3_det(edge) / 6.0;
    centre_of(mesh, t, centre);
    for (int d = 0; d < 3; d++)
      c[d] += volume * centre[d];
    total += volume;
  }
  for (int d = 0; d < 3; d++)
    c[d] /= total;
  /* its nearest vertex */
  for (int t = 0; t < mesh->n_tets; t++)
    for (int a = 0; owner[t] == i && a < 4; a++) {
      double along[3];
      pla_vec3_sub(mesh->rest + 3 * (size_t)mesh->tet[4 * (size_t)t + a], c, along);
      const double distance = pla_vec3_norm(along);
      if (distance < nearest) {
        nearest = distance;
        best = mesh->tet[4 * (size_t)t + a];
      }
    }
  return best;
}

PlaStatus
pla_domains_spread(const PlaTetMesh *mesh, int n, int *seed, PlaError *err)
{
  enum { LLOYD = 6 };
  int *across = NULL;
  double *distance = pla_array_new((size_t)mesh->n_tets, sizeof *distance);
  int *owner = pla_array_new0((size_t)mesh->n_tets, sizeof *owner);
  PlaStatus st = pla_tet_neighbours(mesh, &across, err);
  if (st == PLA_OK && (!distance || !owner))
    st = pla_fail_memory(err, "domains");
  if (st == PLA_OK)
    seed[0] = centre_vertex(mesh, owner, 0);
  /* each new seed is a vertex of the tet farthest from those before */
  for (int i = 1; st == PLA_OK && i < n; i++) {
    int far = 0;
    if (!flood(mesh, across, seed, i, distance, owner))
      st = pla_fail_memory(err, "domains");
    for (int t = 1; st == PLA_OK && t < mesh->n_tets; t++)
      if (isfinite(distance[t]) && distance[t] > distance[far])
        far = t;
    seed[i] = mesh->tet[4 * (size_t)far];
    for (int a = 1; a < 4; a++) /* not one that is a seed already */
      for (int j = 0; j < i; j++)
        if (seed[i] == seed[j])
          seed[i] = mesh->tet[4 * (size_t)far + a];
  }
  /* Lloyd's iteration: seeds move to the centres of their segments */
  for (int round = 0; st == PLA_OK && round < LLOYD; round++) {
    if (!flood(mesh, across, seed, n, distance, owner))
      st = pla_fail_memory(err, "domains");
    for (int i = 0; st == PLA_OK && i < n; i++)
      seed[i] = centre_vertex(mesh, owner, i);
  }
  free(across);
  free(distance);
  free(owner);
  return st;
}
