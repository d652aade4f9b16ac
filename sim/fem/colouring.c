/* Greedy node colouring, and its local repair when links come and go. */
#include "sim/fem/colouring.h"

#include "anatomy/base/memory.h"
#include "sim/fem/model-data.h"

#include <stdlib.h>
#include <string.h>

/* which colours stand around one vertex: seen[c] == v + 1 */
typedef struct {
  int *seen;
  int size;
} Palette;

/* room for every colour that a vertex could see: one more than there are */
static bool
palette_fit(Palette *self, int n_colours)
{
  if (n_colours < self->size)
    return true;
  int size = 2 * n_colours + 16;
  if (!pla_array_resize((void **)&self->seen, (size_t)size, sizeof *self->seen))
    return false;
  memset(self->seen + self->size, 0, (size_t)(size - self->size) * sizeof *self->seen);
  self->size = size;
  return true;
}

static void
mark(Palette *palette, const PlaColouring *self, int v, int stamp, const int *verts, int n)
{
  for (int a = 0; a < n; a++)
    if (verts[a] != v && self->colour[verts[a]] >= 0)
      palette->seen[self->colour[verts[a]]] = stamp;
}

static void
mark_elements(Palette *palette, const PlaColouring *self, const PlaFemModel *model, int v,
              int stamp)
{
  const PlaIncidence *inc = &model->incidence;
  for (int k = inc->start[v]; k < inc->start[v + 1]; k++) {
    int corner = inc->corner[k];
    bool tet = corner < 4 * model->n_tets;
    const int *verts;
    int n = pla_fem_cell_verts(model,
                               tet ? corner / 4 : model->n_tets + (corner - 4 * model->n_tets) / 8,
                               &verts);
    mark(palette, self, v, stamp, verts, n);
  }
}

/* the smallest colour around which nobody has @stamp */
static int
smallest(const Palette *palette, int stamp)
{
  int c = 0;
  while (palette->seen[c] == stamp)
    c++;
  return c;
}

/* the colours that the model was given */
static void
take_colours(PlaColouring *self, const PlaFemModel *model)
{
  const PlaIncidence *inc = &model->incidence;
  for (int v = 0; v < model->n_verts; v++) {
    self->colour[v] = inc->start[v + 1] > inc->start[v] ? model->colour[v] : -1;
    if (self->colour[v] >= self->n_colours)
      self->n_colours = self->colour[v] + 1;
  }
}

PlaStatus
pla_fem_model_set_colours(PlaFemModel *model, const int *colour, PlaError *err)
{
  free(model->colour);
  model->colour = pla_array_dup(colour, (size_t)model->n_verts, sizeof *colour);
  return model->colour ? PLA_OK : pla_fail_memory(err, "the colours of the vertices");
}

PlaStatus
pla_colouring_init(PlaColouring *self, const PlaFemModel *model, PlaError *err)
{
  Palette palette = { 0 };
  *self = (PlaColouring){ .n_verts = model->n_verts };
  self->colour = pla_array_new((size_t)model->n_verts, sizeof *self->colour);
  PlaStatus st = self->colour ? PLA_OK : pla_fail_memory(err, "the colours of the vertices");
  if (st == PLA_OK && model->colour) {
    take_colours(self, model);
    return st;
  }
  for (int v = 0; st == PLA_OK && v < model->n_verts; v++)
    self->colour[v] = -1;
  for (int v = 0; st == PLA_OK && v < model->n_verts; v++) {
    if (model->incidence.start[v + 1] == model->incidence.start[v])
      continue;
    if (!palette_fit(&palette, self->n_colours)) {
      st = pla_fail_memory(err, "the colours of the vertices");
      break;
    }
    mark_elements(&palette, self, model, v, v + 1);
    self->colour[v] = smallest(&palette, v + 1);
    if (self->colour[v] >= self->n_colours)
      self->n_colours = self->colour[v] + 1;
  }
  free(palette.seen);
  if (st != PLA_OK)
    pla_colouring_clear(self);
  return st;
}

void
pla_colouring_clear(PlaColouring *self)
{
  free(self->colour);
  *self = (PlaColouring){ 0 };
}

static int
compare_ints(const void *a, const void *b)
{
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

/* a vertex in a set */
typedef struct {
  int vert, set;
} Member;

PlaStatus
pla_colouring_refine(PlaColouring *self, const PlaFemModel *model, const PlaVertSets *sets,
                     PlaError *err)
{
  const int n = sets->n > 0 ? sets->start[sets->n] : 0;
  Member *member = pla_array_new((size_t)n, sizeof *member);
  Palette palette = { 0 };
  PlaStatus st = member ? PLA_OK : pla_fail_memory(err, "the colours of the vertices");
  for (int s = 0, k = 0; st == PLA_OK && s < sets->n; s++)
    for (; k < sets->start[s + 1]; k++)
      member[k] = (Member){ sets->vert[k], s };
  if (st == PLA_OK)
    qsort(member, (size_t)n, sizeof *member, compare_ints);

  for (int k = 0; st == PLA_OK && k < n;) {
    int v = member[k].vert, stamp = v + 1;
    if (!palette_fit(&palette, self->n_colours)) {
      st = pla_fail_memory(err, "the colours of the vertices");
      break;
    }
    mark_elements(&palette, self, model, v, stamp);
    for (; k < n && member[k].vert == v; k++) {
      int s = member[k].set;
      mark(&palette, self, v, stamp, sets->vert + sets->start[s],
           sets->start[s + 1] - sets->start[s]);
    }
    /* vertices without elements are never moved, and need no colour */
    if (self->colour[v] >= 0 && palette.seen[self->colour[v]] == stamp)
      self->colour[v] = smallest(&palette, stamp);
    if (self->colour[v] >= self->n_colours)
      self->n_colours = self->colour[v] + 1;
  }
  free(palette.seen);
  free(member);
  return st;
}
