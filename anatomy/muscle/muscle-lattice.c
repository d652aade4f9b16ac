/* One shape by itself: samples of its distance, and a lattice of small tets around it, each with
 * the share that lies in the shape. */
#include "anatomy/base/memory.h"
#include "anatomy/muscle/overlap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUGH = 28, BLOCK = 6, MAX_NODES = 60000000 };

void
pla_shape_lattice_clear(PlaShapeLattice *self)
{
  pla_mesh_free(self->mesh);
  free(self->share);
  memset(self, 0, sizeof *self);
}

/* the shape's volume to some ten percent, from samples over its box */
static double
rough_volume(const PlaMuscleShape *shape)
{
  double step[3], thin = INFINITY;
  for (int d = 0; d < 3; d++) {
    step[d] = (shape->hi_mm[d] - shape->lo_mm[d]) / ROUGH;
    thin = fmin(thin, step[d]);
  }
  const double half = 0.5 * sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
  double layer[ROUGH] = { 0 }, sum = 0.0;
#pragma omp parallel for schedule(dynamic)
  for (int k = 0; k < ROUGH; k++)
    for (int j = 0; j < ROUGH; j++)
      for (int i = 0; i < ROUGH; i++) {
        const double x[3] = { shape->lo_mm[0] + (i + 0.5) * step[0],
                              shape->lo_mm[1] + (j + 0.5) * step[1],
                              shape->lo_mm[2] + (k + 0.5) * step[2] };
        const double phi = shape->distance(x, shape->data);
        layer[k] += fmin(fmax(0.5 - 0.5 * phi / half, 0.0), 1.0);
      }
  for (int k = 0; k < ROUGH; k++)
    sum += layer[k];
  return sum * step[0] * step[1] * step[2];
}

double
pla_shape_cell_mm(const PlaMuscleShape *shape, int n_cells)
{
  const double rough = rough_volume(shape);
  double box = 1.0;
  for (int d = 0; d < 3; d++)
    box *= shape->hi_mm[d] - shape->lo_mm[d];
  return rough > 0.0 && isfinite(box) ? fmax(cbrt(rough / n_cells), cbrt(box / MAX_NODES)) : 0.0;
}

PlaStatus
pla_shape_sample(const PlaMuscleShape *shape, double spacing_mm, PlaLevelSet **out, PlaError *err)
{
  enum { MARGIN = 2 };
  int dims[3];
  double affine[12] = { 0 };
  for (int d = 0; d < 3; d++) {
    dims[d] = (int)ceil((shape->hi_mm[d] - shape->lo_mm[d]) / spacing_mm) + 1 + 2 * MARGIN;
    affine[5 * d] = spacing_mm;
    affine[4 * d + 3] =
        0.5 * (shape->lo_mm[d] + shape->hi_mm[d]) - 0.5 * spacing_mm * (dims[d] - 1);
  }
  PlaLevelSet *ls = NULL;
  PlaStatus st = pla_levelset_new(dims, affine, &ls, err);
  if (st != PLA_OK)
    return st;
  const int nb[2] = { (dims[1] + BLOCK - 1) / BLOCK, (dims[2] + BLOCK - 1) / BLOCK };
  const double reach = 0.5 * sqrt(3.0) * BLOCK * spacing_mm;
#pragma omp parallel for schedule(dynamic)
  for (int b = 0; b < nb[0] * nb[1]; b++)
    for (int bi = 0; bi < dims[0]; bi += BLOCK) {
      /* a block that the surface does not come near takes what its middle says */
      const int from[3] = { bi, BLOCK * (b % nb[0]), BLOCK * (b / nb[0]) };
      double middle[3];
      for (int d = 0; d < 3; d++)
        middle[d] = affine[4 * d + 3] + spacing_mm * (from[d] + 0.5 * (BLOCK - 1));
      const double whole = shape->distance(middle, shape->data);
      const bool far = fabs(whole) > reach + 2.0 * spacing_mm;
      for (int k = from[2]; k < from[2] + BLOCK && k < dims[2]; k++)
        for (int j = from[1]; j < from[1] + BLOCK && j < dims[1]; j++)
          for (int i = from[0]; i < from[0] + BLOCK && i < dims[0]; i++) {
            const double x[3] = { affine[3] + spacing_mm * i, affine[7] + spacing_mm * j,
                                  affine[11] + spacing_mm * k };
            const size_t at =
                (size_t)i + (size_t)dims[0] * ((size_t)j + (size_t)dims[1] * (size_t)k);
            ls->phi_mm[at] = (float)(far ? copysign(fabs(whole) - reach, whole)
                                         : shape->distance(x, shape->data));
          }
    }
  *out = ls;
  return PLA_OK;
}

/* the cells, and the nodes around them, as numbers on a grid */
typedef struct {
  int dims[3];     /* cells */
  double lo[3], h; /* mm */
  int *node;       /* number of each grid node, -1 unused (dims + 1) */
  int *cell;       /* 3 indices each */
  int n_cells, room, n_nodes;
} Grid;

static size_t
node_at(const Grid *g, int i, int j, int k)
{
  return (size_t)i + (size_t)(g->dims[0] + 1) * ((size_t)j + (size_t)(g->dims[1] + 1) * (size_t)k);
}

static double
distance_at(const Grid *g, const PlaMuscleShape *shape, double i, double j, double k)
{
  const double x[3] = { g->lo[0] + g->h * i, g->lo[1] + g->h * j, g->lo[2] + g->h * k };
  return shape->distance(x, shape->data);
}

static bool
add_cell(Grid *g, int i, int j, int k)
{
  if (g->n_cells == g->room) {
    g->room = 2 * g->room + 1024;
    if (!pla_array_resize((void **)&g->cell, 3 * (size_t)g->room, sizeof *g->cell))
      return false;
  }
  const int at[3] = { i, j, k };
  memcpy(g->cell + 3 * (size_t)g->n_cells++, at, sizeof at);
  return true;
}

/* cells that the shape may meet: whole blocks are passed over by one distance each */
static PlaStatus
find_cells(Grid *g, const PlaMuscleShape *shape, PlaProgress *progress, PlaError *err)
{
  const double cell_reach = 0.5 * sqrt(3.0) * g->h * 1.1, block_reach = BLOCK * cell_reach;
  for (int bk = 0; bk < g->dims[2]; bk += BLOCK) {
    if (!pla_progress_step(progress, (double)bk / g->dims[2]))
      return pla_fail_cancelled(err);
    for (int bj = 0; bj < g->dims[1]; bj += BLOCK)
      for (int bi = 0; bi < g->dims[0]; bi += BLOCK) {
        if (distance_at(g, shape, bi + 0.5 * BLOCK, bj + 0.5 * BLOCK, bk + 0.5 * BLOCK) >
            block_reach)
          continue;
        for (int k = bk; k < bk + BLOCK && k < g->dims[2]; k++)
          for (int j = bj; j < bj + BLOCK && j < g->dims[1]; j++)
            for (int i = bi; i < bi + BLOCK && i < g->dims[0]; i++)
              if (distance_at(g, shape, i + 0.5, j + 0.5, k + 0.5) <= cell_reach &&
                  !add_cell(g, i, j, k))
                return pla_fail_memory(err, "the lattice of a muscle");
      }
  }
  return PLA_OK;
}

/* six tets around the cube's main diagonal, the same in every cube: corners as bits x, y, z */
static const int cube_tet[6][4] = {
  { 0, 1, 3, 7 }, { 0, 3, 2, 7 }, { 0, 2, 6, 7 }, { 0, 6, 4, 7 }, { 0, 4, 5, 7 }, { 0, 5, 1, 7 },
};

static PlaStatus
make_mesh(Grid *g, PlaMesh **out, PlaError *err)
{
  const size_t n_grid =
      (size_t)(g->dims[0] + 1) * (size_t)(g->dims[1] + 1) * (size_t)(g->dims[2] + 1);
  g->node = pla_array_new(n_grid, sizeof *g->node);
  if (!g->node)
    return pla_fail_memory(err, "the lattice of a muscle");
  memset(g->node, -1, n_grid * sizeof *g->node);
  for (int c = 0; c < g->n_cells; c++)
    for (int b = 0; b < 8; b++) {
      const int *at = g->cell + 3 * (size_t)c;
      int *node = &g->node[node_at(g, at[0] + (b & 1), at[1] + (b >> 1 & 1), at[2] + (b >> 2))];
      if (*node < 0)
        *node = g->n_nodes++;
    }
  PlaStatus st = pla_mesh_new(g->n_nodes, 0, 6 * g->n_cells, 0, out, err);
  for (int c = 0; c < g->n_cells && st == PLA_OK; c++) {
    const int *at = g->cell + 3 * (size_t)c;
    int corner[8];
    for (int b = 0; b < 8; b++) {
      const int ijk[3] = { at[0] + (b & 1), at[1] + (b >> 1 & 1), at[2] + (b >> 2) };
      corner[b] = g->node[node_at(g, ijk[0], ijk[1], ijk[2])];
      for (int d = 0; d < 3; d++)
        (*out)->pos[3 * (size_t)corner[b] + d] = 1e-3 * (g->lo[d] + g->h * ijk[d]);
    }
    for (int t = 0; t < 6; t++)
      for (int k = 0; k < 4; k++)
        (*out)->tet[4 * (6 * (size_t)c + (size_t)t) + k] = corner[cube_tet[t][k]];
  }
  return st;
}

/* leaves out tets that the shape does not meet, and vertices of none */
static PlaStatus
compact(PlaMesh *mesh, const PlaMeshOverlap *overlap, double **share, PlaError *err)
{
  int *id = pla_array_new((size_t)mesh->n_verts, sizeof *id);
  *share = pla_array_dup(overlap->share, (size_t)overlap->n, sizeof **share);
  if (!id || !*share) {
    free(id);
    return pla_fail_memory(err, "the lattice of a muscle");
  }
  memset(id, -1, (size_t)mesh->n_verts * sizeof *id);
  for (int i = 0; i < overlap->n; i++) {
    memmove(mesh->tet + 4 * (size_t)i, mesh->tet + 4 * (size_t)overlap->tet[i],
            4 * sizeof *mesh->tet);
    for (int c = 0; c < 4; c++)
      id[mesh->tet[4 * (size_t)i + c]] = 0;
  }
  mesh->n_tets = overlap->n;
  int n = 0;
  for (int v = 0; v < mesh->n_verts; v++)
    if (id[v] == 0) {
      memmove(mesh->pos + 3 * (size_t)n, mesh->pos + 3 * (size_t)v, 3 * sizeof *mesh->pos);
      id[v] = n++;
    }
  mesh->n_verts = n;
  for (size_t i = 0; i < 4 * (size_t)mesh->n_tets; i++)
    mesh->tet[i] = id[mesh->tet[i]];
  free(id);
  return PLA_OK;
}

PlaStatus
pla_shape_lattice_init(PlaShapeLattice *self, const PlaMuscleShape *shape, double cell_mm,
                       PlaProgress *progress, PlaError *err)
{
  memset(self, 0, sizeof *self);
  if (!(cell_mm > 0.0))
    return pla_fail(err, PLA_ERR_EMPTY, "The shape of the muscle encloses no volume.");
  Grid g = { .h = cell_mm };
  for (int d = 0; d < 3; d++) {
    /* one cell around the box, which is put in the middle */
    const double size = shape->hi_mm[d] - shape->lo_mm[d];
    g.dims[d] = (int)ceil(size / g.h) + 2;
    g.lo[d] = 0.5 * (shape->lo_mm[d] + shape->hi_mm[d]) - 0.5 * g.h * g.dims[d];
  }
  PlaMeshOverlap overlap = { 0 };
  PlaStatus st = PLA_OK;
  pla_progress_phase(progress, "Building the lattice of the muscle", 0.3);
  st = find_cells(&g, shape, progress, err);
  if (st == PLA_OK && g.n_cells == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "The shape of the muscle encloses no volume.");
  if (st == PLA_OK)
    st = make_mesh(&g, &self->mesh, err);
  pla_progress_phase(progress, "Building the lattice of the muscle", 1.0);
  if (st == PLA_OK) {
    const PlaTetMesh tets = pla_mesh_tets(self->mesh);
    st = pla_mesh_overlap(&tets, shape, 0.6 * g.h, progress, &overlap, err);
  }
  if (st == PLA_OK && overlap.n == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "The shape of the muscle encloses no volume.");
  if (st == PLA_OK)
    st = compact(self->mesh, &overlap, &self->share, err);
  self->cell_mm = g.h;
  self->volume_mm3 = overlap.volume_mm3;
  pla_mesh_overlap_clear(&overlap);
  free(g.node);
  free(g.cell);
  if (st != PLA_OK)
    pla_shape_lattice_clear(self);
  return st;
}
