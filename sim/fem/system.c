/* The linear systems of a model. */
#include "sim/fem/system.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

PlaStatus
pla_fem_system_init(PlaFemSystem *self, const PlaFemModel *model, const unsigned char *fixed,
                    PlaError *err)
{
  const int n_cells = model->n_tets + model->n_hexes;
  *self = (PlaFemSystem){ .model = model };
  self->block_of = pla_array_new((size_t)model->n_verts, sizeof *self->block_of);
  self->vert_of = pla_array_new((size_t)model->n_verts, sizeof *self->vert_of);
  self->fixed = pla_array_new((size_t)model->n_verts, 3);
  self->slot_start = pla_array_new((size_t)n_cells + 1, sizeof *self->slot_start);
  int *start = pla_array_new((size_t)n_cells + 1, sizeof *start), *cells = NULL;
  PlaStatus st = self->block_of && self->vert_of && self->fixed && self->slot_start && start
                     ? PLA_OK
                     : pla_fail_memory(err, "the linear system");

  /* vertices that no element uses have no equation either */
  for (int v = 0; st == PLA_OK && v < model->n_verts; v++) {
    const unsigned char *f = fixed + 3 * (size_t)v;
    bool used = model->incidence.start[v + 1] > model->incidence.start[v];
    self->block_of[v] = -1;
    if (!used || (f[0] && f[1] && f[2]))
      continue;
    memcpy(self->fixed + 3 * (size_t)self->n_blocks, f, 3);
    self->vert_of[self->n_blocks] = v;
    self->block_of[v] = self->n_blocks++;
  }

  size_t n_slots = 0;
  if (st == PLA_OK) {
    start[0] = 0;
    for (int c = 0; c < n_cells; c++) {
      size_t k = c < model->n_tets ? 4 : 8;
      self->slot_start[c] = n_slots;
      start[c + 1] = start[c] + (int)k;
      n_slots += k * k;
    }
    self->slot_start[n_cells] = n_slots;
    cells = pla_array_new((size_t)start[n_cells], sizeof *cells);
    self->slot = pla_array_new(n_slots, sizeof *self->slot);
    if (!cells || !self->slot)
      st = pla_fail_memory(err, "the linear system");
  }
  if (st == PLA_OK) {
    for (int c = 0; c < n_cells; c++) {
      const int *verts;
      int k = pla_fem_cell_verts(model, c, &verts);
      for (int a = 0; a < k; a++)
        cells[start[c] + a] = self->block_of[verts[a]];
    }
    st = pla_block_matrix_init(&self->matrix, self->n_blocks, n_cells, start, cells, err);
  }
  if (st == PLA_OK) {
#pragma omp parallel for schedule(static)
    for (int c = 0; c < n_cells; c++) {
      int k = start[c + 1] - start[c];
      for (int a = 0; a < k; a++)
        for (int b = 0; b < k; b++) {
          int row = cells[start[c] + a], col = cells[start[c] + b];
          self->slot[self->slot_start[c] + (size_t)(a * k + b)] =
              row >= 0 && col >= 0 ? pla_block_matrix_find(&self->matrix, row, col) : -1;
        }
    }
    if (self->n_blocks > 0)
      st = pla_cholesky_new(&self->matrix, PLA_ORDER_AUTO, &self->factor, err);
  }
  free(start);
  free(cells);
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
  free(self->slot);
  free(self->slot_start);
  pla_block_matrix_clear(&self->matrix);
  pla_cholesky_free(self->factor);
  *self = (PlaFemSystem){ 0 };
}

/* unit rows and columns for prescribed coordinates, as stiff as the rest of their row's block */
static void
constrain(PlaFemSystem *self)
{
  PlaBlockMatrix *m = &self->matrix;
#pragma omp parallel for schedule(static)
  for (int r = 0; r < m->n; r++)
    for (int k = m->start[r]; k < m->start[r + 1]; k++) {
      const unsigned char *fr = self->fixed + 3 * (size_t)r, *fc = self->fixed + 3 * (size_t)m->col[k];
      double *block = m->value + 9 * (size_t)k;
      double size = fmax(fabs(block[0]), fmax(fabs(block[4]), fabs(block[8])));
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          if (fr[i] || fc[j])
            block[3 * i + j] = m->col[k] == r && i == j ? (size > 0.0 ? size : 1.0) : 0.0;
    }
}

/* k w_a w_b on the diagonal of every block that a spring's vertices share */
static void
add_springs(PlaFemSystem *self, const PlaFemSprings *springs)
{
  const int k = springs->per_point;
  for (int s = 0; s < springs->n; s++)
    for (int a = 0; a < k; a++)
      for (int b = 0; b < k; b++) {
        const size_t at = (size_t)k * (size_t)s;
        int row = self->block_of[springs->vert[at + (size_t)a]];
        int col = self->block_of[springs->vert[at + (size_t)b]];
        if (row < 0 || col < 0)
          continue;
        double *block = self->matrix.value +
                        9 * (size_t)pla_block_matrix_find(&self->matrix, row, col);
        double x = springs->stiffness[s] * springs->weight[at + (size_t)a] *
                   springs->weight[at + (size_t)b];
        for (int d = 0; d < 3; d++)
          block[4 * d] += x;
      }
}

void
pla_fem_system_assemble(PlaFemSystem *self, const double *pos, bool project, double mass_factor,
                        const PlaFemSprings *springs)
{
  const PlaFemModel *model = self->model;
  PlaBlockMatrix *m = &self->matrix;
  memset(m->value, 0, 9 * (size_t)m->start[m->n] * sizeof *m->value);

  /* cells of one colour share no vertex: no two threads add to one block, and each block's sum runs
   * in the order of the colours */
  for (int colour = 0; colour < model->n_colours; colour++) {
#pragma omp parallel for schedule(static)
    for (int at = model->colour_start[colour]; at < model->colour_start[colour + 1]; at++) {
      int c = model->colour_cell[at], k = c < model->n_tets ? 4 : 8;
      const int *slot = self->slot + self->slot_start[c];
      double stiffness[576];
      pla_fem_cell_stiffness(model, c, pos, project, stiffness);
      for (int a = 0; a < k; a++)
        for (int b = 0; b < k; b++) {
          if (slot[a * k + b] < 0)
            continue;
          double *block = m->value + 9 * (size_t)slot[a * k + b];
          for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
              block[3 * i + j] += stiffness[(3 * a + i) * 3 * k + 3 * b + j];
        }
    }
  }
  if (springs)
    add_springs(self, springs);
  if (mass_factor != 0.0)
    for (int r = 0; r < m->n; r++) {
      double *block = m->value + 9 * (size_t)pla_block_matrix_find(m, r, r);
      for (int d = 0; d < 3; d++)
        block[4 * d] += mass_factor * model->mass[self->vert_of[r]];
    }
  constrain(self);
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
        verts[3 * (size_t)self->vert_of[r] + (size_t)d] += factor * blocks[3 * (size_t)r + (size_t)d];
}
