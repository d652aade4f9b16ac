/* What the tests of lattice embeddings share. */
#pragma once

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/embed/lattice-embed.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

/* how often what is random is tried; sanitizers are slow */
static inline guint32
n_seeds(guint32 n)
{
  return g_getenv("PLA_SMALL") ? 1 : n;
}

/* n^3 samples around the origin */
static inline PlaLevelSet *
levelset_new(int n, double spacing_mm, PlaDistanceFunc func, const void *data)
{
  const int dims[3] = { n, n, n };
  const double mid = -0.5 * spacing_mm * (n - 1);
  const double affine[12] = { spacing_mm, 0, 0, mid, 0, spacing_mm, 0, mid, 0, 0, spacing_mm, mid };
  PlaLevelSet *ls;
  PlaError err = { 0 };
  g_assert_cmpint(pla_levelset_new(dims, affine, &ls, &err), ==, PLA_OK);
  pla_levelset_fill(ls, func, data);
  return ls;
}

static inline PlaLatticeEmbedding *
embed(const PlaLevelSet *ls, double cell_mm, int coarsen, int detail)
{
  const PlaLatticeOptions opts = { cell_mm / 1000.0, coarsen, detail };
  PlaLatticeEmbedding *out;
  PlaError err = { 0 };
  g_assert_cmpint(pla_lattice_from_levelset(ls, &opts, NULL, NULL, NULL, &out, &err), ==, PLA_OK);
  return out;
}

static inline double
material_mm3(const PlaLatticeEmbedding *e)
{
  double sum = 0.0;
  for (int i = 0; i < e->n_elems; i++)
    sum += e->fill[i] * pla_lattice_volume(e, i);
  return 1e9 * sum;
}

/* pieces of the simulated mesh that hang together, bound vertices included; @body (n_verts, may be
 * NULL): which one a vertex is of */
static inline int
n_bodies_of(const PlaLatticeEmbedding *e, int *body)
{
  int *parent = pla_array_new((size_t)e->n_verts, sizeof *parent), n = 0;
  for (int v = 0; v < e->n_verts; v++)
    parent[v] = v;
  for (int i = 0; i < e->n_elems; i++)
    for (int c = 1; c < 4; c++)
      parent[pla_union_find_root(parent, e->vert[4 * i + c])] =
          pla_union_find_root(parent, e->vert[4 * i]);
  for (int v = e->n_free; v < e->n_verts; v++)
    for (int k = e->bind_start[v - e->n_free]; k < e->bind_start[v - e->n_free + 1]; k++)
      parent[pla_union_find_root(parent, e->bind_vert[k])] = pla_union_find_root(parent, v);
  for (int v = 0; v < e->n_verts; v++) {
    n += parent[v] == v;
    if (body)
      body[v] = pla_union_find_root(parent, v);
  }
  free(parent);
  return n;
}

static inline int
n_bodies(const PlaLatticeEmbedding *e)
{
  return n_bodies_of(e, NULL);
}

/* smooth noise: a sum of plane waves */
typedef struct {
  double wave[6][4]; /* wave vector, 1/mm, and phase */
} Noise;

static inline Noise
noise_new(guint32 seed)
{
  Noise noise;
  GRand *rand = g_rand_new_with_seed(seed);
  for (int w = 0; w < 6; w++)
    for (int d = 0; d < 4; d++)
      noise.wave[w][d] = g_rand_double_range(rand, -1.2, 1.2) * (d == 3 ? 3.0 : 1.0);
  g_rand_free(rand);
  return noise;
}

static inline double
noise_at(const double p[3], const void *data)
{
  const Noise *noise = data;
  double sum = 0.35;
  for (int w = 0; w < 6; w++)
    sum += 0.5 * sin(pla_vec3_dot(noise->wave[w], p) + noise->wave[w][3]);
  return sum;
}
