/* Lays out vertices and the elements around them in the order in which sweeps read them. */
#include "sim/solve/pbng-private.h"

#include "anatomy/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
  WINDOW = 256
}; /* vertices that are sorted for equal lanes: few, so that neighbours stay near */

/* an element around a vertex */
typedef struct {
  int key;    /* 2 material + (1 for hexes) */
  int corner; /* as in PlaIncidence */
} Around;

/* a vertex on its way into a group */
typedef struct {
  int key, degree, vert;
} Candidate;

typedef struct {
  const PlaFemModel *model;
  PlaPbngPack *pack;
  bool fill; /* the second pass; the first one counts */
  int n_runs;
  size_t n_numbers, n_indices;
  Around *around[PLA_PBNG_LANES];
  int n_around[PLA_PBNG_LANES];
} Packer;

static int
compare_around(const void *a, const void *b)
{
  const Around *x = a, *y = b;
  return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                          : (x->corner > y->corner) - (x->corner < y->corner);
}

static int
compare_candidates(const void *a, const void *b)
{
  const Candidate *x = a, *y = b;
  if (x->key != y->key)
    return (x->key > y->key) - (x->key < y->key);
  if (x->degree != y->degree)
    return (x->degree < y->degree) - (x->degree > y->degree);
  return (x->vert > y->vert) - (x->vert < y->vert);
}

static int
corner_key(const PlaFemModel *model, int corner)
{
  int cell =
      corner < 4 * model->n_tets ? corner / 4 : model->n_tets + (corner - 4 * model->n_tets) / 8;
  return 2 * model->cell_material[cell] + (cell >= model->n_tets);
}

/* one tet of one lane: its other corners' gradients and vertices */
static void
put_tet(Packer *self, int corner, double volume_factor, double *number, int *index)
{
  const PlaFemModel *model = self->model;
  int t = corner / 4, own = corner % 4, j = 0;
  double grad[4][3];
  pla_fem_tet_shape(model, t, grad);
  for (int a = 0; a < 4; a++) {
    if (a == own)
      continue;
    for (int d = 0; d < 3; d++)
      number[(3 * j + d) * PLA_PBNG_LANES] = grad[a][d];
    index[j * PLA_PBNG_LANES] = model->tet[4 * (size_t)t + (size_t)a];
    j++;
  }
  index[3 * PLA_PBNG_LANES] = t;
  number[9 * PLA_PBNG_LANES] = volume_factor * model->tet_volume[t];
}

/* the elements of key @key that start at at[lane] in each lane */
static void
put_run(Packer *self, int key, const int at[PLA_PBNG_LANES])
{
  int count[PLA_PBNG_LANES], most = 0, fullest = 0;
  bool hexes = key & 1;
  for (int l = 0; l < PLA_PBNG_LANES; l++) {
    int k = at[l];
    while (k < self->n_around[l] && self->around[l][k].key == key)
      k++;
    count[l] = k - at[l];
    if (count[l] > most) {
      most = count[l];
      fullest = l;
    }
  }
  if (self->fill) {
    PlaPbngRun *run = &self->pack->run[self->n_runs];
    *run = (PlaPbngRun){ key / 2, hexes, most, self->n_numbers, self->n_indices };
    for (int k = 0; k < most; k++)
      for (int l = 0; l < PLA_PBNG_LANES; l++) {
        /* gaps repeat an element without its volume */
        bool gap = k >= count[l];
        const Around *a = !gap           ? &self->around[l][at[l] + k]
                          : count[l] > 0 ? &self->around[l][at[l]]
                                         : &self->around[fullest][at[fullest]];
        if (hexes)
          self->pack->index[run->index + (size_t)(k * PLA_PBNG_LANES + l)] = gap ? -1 : a->corner;
        else
          put_tet(self, a->corner, gap ? 0.0 : 1.0,
                  self->pack->number + run->number +
                      (size_t)(k * PLA_PBNG_TET_NUMBERS * PLA_PBNG_LANES + l),
                  self->pack->index + run->index +
                      (size_t)(k * PLA_PBNG_TET_INDICES * PLA_PBNG_LANES + l));
      }
  }
  self->n_runs++;
  self->n_numbers += hexes ? 0 : (size_t)most * PLA_PBNG_TET_NUMBERS * PLA_PBNG_LANES;
  self->n_indices += (size_t)most * (hexes ? 1 : PLA_PBNG_TET_INDICES) * PLA_PBNG_LANES;
}

static void
put_group(Packer *self, PlaPbngGroup *group)
{
  const PlaIncidence *inc = &self->model->incidence;
  int at[PLA_PBNG_LANES] = { 0 };
  for (int l = 0; l < PLA_PBNG_LANES; l++) {
    int v = group->node[l], n = l < group->n ? inc->start[v + 1] - inc->start[v] : 0;
    for (int k = 0; k < n; k++) {
      int corner = inc->corner[inc->start[v] + k];
      self->around[l][k] = (Around){ corner_key(self->model, corner), corner };
    }
    qsort(self->around[l], (size_t)n, sizeof(Around), compare_around);
    self->n_around[l] = n;
  }
  group->first_run = self->n_runs;
  for (;;) {
    /* the smallest key that is left in any lane */
    int key = INT32_MAX;
    for (int l = 0; l < PLA_PBNG_LANES; l++)
      if (at[l] < self->n_around[l] && self->around[l][at[l]].key < key)
        key = self->around[l][at[l]].key;
    if (key == INT32_MAX)
      break;
    put_run(self, key, at);
    for (int l = 0; l < PLA_PBNG_LANES; l++)
      while (at[l] < self->n_around[l] && self->around[l][at[l]].key == key)
        at[l]++;
  }
  group->n_runs = self->n_runs - group->first_run;
}

/* groups of up to four vertices of one colour, alike ones together */
static PlaStatus
make_groups(PlaPbngPack *self, const PlaFemModel *model, const PlaColouring *colouring,
            const int *verts, int n_verts, PlaError *err)
{
  const PlaIncidence *inc = &model->incidence;
  int *start = pla_array_new0((size_t)self->n_colours + 1, sizeof *start);
  int *fill = pla_array_new0((size_t)self->n_colours, sizeof *fill);
  Candidate *list = pla_array_new((size_t)n_verts, sizeof *list);
  self->colour_start = pla_array_new0((size_t)self->n_colours + 1, sizeof *self->colour_start);
  PlaStatus st = start && fill && list && self->colour_start
                     ? PLA_OK
                     : pla_fail_memory(err, "the order of the vertices");
  if (st == PLA_OK) {
    for (int i = 0; i < n_verts; i++)
      if (colouring->colour[verts[i]] >= 0)
        start[colouring->colour[verts[i]] + 1]++;
    for (int c = 0; c < self->n_colours; c++) {
      self->colour_start[c + 1] =
          self->colour_start[c] + (start[c + 1] + PLA_PBNG_LANES - 1) / PLA_PBNG_LANES;
      start[c + 1] += start[c];
    }
    for (int i = 0; i < n_verts; i++) {
      int v = verts[i], c = colouring->colour[v];
      if (c >= 0)
        list[start[c] + fill[c]++] = (Candidate){ corner_key(model, inc->corner[inc->start[v]]),
                                                  inc->start[v + 1] - inc->start[v], v };
    }
    self->n_groups = self->colour_start[self->n_colours];
    self->group = pla_array_new0((size_t)self->n_groups, sizeof *self->group);
    if (!self->group)
      st = pla_fail_memory(err, "the order of the vertices");
  }
  for (int c = 0; st == PLA_OK && c < self->n_colours; c++) {
    for (int i = start[c]; i < start[c + 1]; i += WINDOW) {
      int n = start[c + 1] - i < WINDOW ? start[c + 1] - i : WINDOW;
      qsort(list + i, (size_t)n, sizeof *list, compare_candidates);
    }
    for (int g = self->colour_start[c]; g < self->colour_start[c + 1]; g++) {
      int first = start[c] + (g - self->colour_start[c]) * PLA_PBNG_LANES;
      PlaPbngGroup *group = &self->group[g];
      for (int l = 0; l < PLA_PBNG_LANES; l++) {
        bool some = first + l < start[c + 1];
        group->node[l] = list[some ? first + l : first].vert;
        group->n += some;
      }
    }
  }
  free(start);
  free(fill);
  free(list);
  return st;
}

PlaStatus
pla_pbng_pack_init(PlaPbngPack *self, const PlaFemModel *model, const PlaColouring *colouring,
                   const int *verts, int n_verts, PlaError *err)
{
  const PlaIncidence *inc = &model->incidence;
  Packer packer = { .model = model, .pack = self };
  *self = (PlaPbngPack){ .n_colours = colouring->n_colours };
  PlaStatus st = make_groups(self, model, colouring, verts, n_verts, err);
  int most = 0;
  for (int i = 0; i < n_verts; i++) {
    int degree = inc->start[verts[i] + 1] - inc->start[verts[i]];
    most = degree > most ? degree : most;
  }
  for (int l = 0; st == PLA_OK && l < PLA_PBNG_LANES; l++) {
    packer.around[l] = pla_array_new((size_t)most, sizeof(Around));
    if (!packer.around[l])
      st = pla_fail_memory(err, "the order of the elements");
  }
  for (int pass = 0; st == PLA_OK && pass < 2; pass++) {
    packer.fill = pass == 1;
    packer.n_runs = 0;
    packer.n_numbers = packer.n_indices = 0;
    for (int g = 0; g < self->n_groups; g++)
      put_group(&packer, &self->group[g]);
    if (pass == 1)
      break;
    self->n_runs = packer.n_runs;
    self->run = pla_array_new((size_t)packer.n_runs, sizeof *self->run);
    self->number = pla_array_new_aligned(packer.n_numbers, sizeof *self->number);
    self->index = pla_array_new_aligned(packer.n_indices, sizeof *self->index);
    self->mobile =
        pla_array_new_aligned((size_t)self->n_groups, 3 * PLA_PBNG_LANES * sizeof(double));
    self->state = pla_array_new0((size_t)self->n_groups, sizeof *self->state);
    if (!self->run || !self->number || !self->index || !self->mobile || !self->state)
      st = pla_fail_memory(err, "the order of the elements");
  }
  for (int l = 0; l < PLA_PBNG_LANES; l++)
    free(packer.around[l]);
  if (st != PLA_OK)
    pla_pbng_pack_clear(self);
  return st;
}

void
pla_pbng_pack_clear(PlaPbngPack *self)
{
  free(self->group);
  free(self->run);
  free(self->number);
  free(self->index);
  free(self->colour_start);
  free(self->mobile);
  free(self->state);
  *self = (PlaPbngPack){ 0 };
}
