/* The background lattice.
 *
 * Cubes near an interface are of the finest level; all others are as coarse as the rule allows
 * that touching cubes differ by one level at most.  cube-tree.h makes tets of them. */
#include "anatomy/mesher/mesher-lattice.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesher/cube-tree.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* tissues at the corners and centres of the finest cubes */
static void
sample(PlaLattice *s, const PlaTissues *tissues)
{
  for (int centre = 0; centre < 2; centre++) {
    const int m[3] = { s->n[0] + !centre, s->n[1] + !centre, s->n[2] + !centre };
    int16_t *out = centre ? s->centre_tissue : s->corner_tissue;
#pragma omp parallel for collapse(2) schedule(dynamic, 16)
    for (int k = 0; k < m[2]; k++)
      for (int j = 0; j < m[1]; j++)
        for (int i = 0; i < m[0]; i++) {
          const double half = centre ? 0.5 : 0.0;
          const double p[3] = { s->origin_mm[0] + s->cell_mm * (i + half),
                                s->origin_mm[1] + s->cell_mm * (j + half),
                                s->origin_mm[2] + s->cell_mm * (k + half) };
          out[(size_t)i + (size_t)m[0] * ((size_t)j + (size_t)m[1] * (size_t)k)] =
              (int16_t)pla_tissues_at(tissues, p);
        }
  }
}

static bool
is_mixed(const PlaLattice *s, int i, int j, int k)
{
  const int16_t here = s->centre_tissue[pla_cube_index(s->n, 0, i, j, k)];
  for (int c = 0; c < 8; c++)
    if (s->corner_tissue[pla_corner_index(s->n, i + (c & 1), j + (c >> 1 & 1), k + (c >> 2 & 1))] !=
        here)
      return true;
  return false;
}

/* the cubes of the next level around a cube and what is @around it on each side */
static void
mark_above(PlaLattice *s, int level, const int at[3], int around)
{
  int from[3], to[3];
  for (int d = 0; d < 3; d++) {
    int last = (s->n[d] >> level) - 1;
    from[d] = (at[d] < around ? 0 : at[d] - around) >> 1;
    to[d] = (at[d] + around > last ? last : at[d] + around) >> 1;
  }
  for (int k = from[2]; k <= to[2]; k++)
    for (int j = from[1]; j <= to[1]; j++)
      for (int i = from[0]; i <= to[0]; i++)
        s->refined[level + 1][pla_cube_index(s->n, level + 1, i, j, k)] = 1;
}

/* marks what must be refined: two cubes around every mixed one (a centre that moves reaches one
 * cube beyond, and its tets must not meet a coarser one), then level by level what touches */
static void
refine(PlaLattice *s)
{
  for (int l = 0; l < s->levels; l++)
    for (int k = 0; k < s->n[2] >> l; k++)
      for (int j = 0; j < s->n[1] >> l; j++)
        for (int i = 0; i < s->n[0] >> l; i++)
          if (l == 0 ? is_mixed(s, i, j, k) : s->refined[l][pla_cube_index(s->n, l, i, j, k)])
            mark_above(s, l, (const int[3]){ i, j, k }, l == 0 ? 2 : 1);
}

/* ---- tets ---- */

typedef struct {
  PlaLattice *s;
  int *corner_id, *centre_id; /* vertex numbers, -1: not used yet */
  int room_verts, room_tets;
  bool short_of_memory;
  PlaProgress *progress;
} Builder;

static int16_t
tissue_at(const PlaLattice *s, const int x[3])
{
  return x[0] & 1 ? s->centre_tissue[pla_cube_index(s->n, 0, x[0] >> 1, x[1] >> 1, x[2] >> 1)]
                  : s->corner_tissue[pla_corner_index(s->n, x[0] >> 1, x[1] >> 1, x[2] >> 1)];
}

static bool
grow_verts(Builder *b)
{
  PlaLattice *s = b->s;
  int room = b->room_verts ? b->room_verts + b->room_verts / 2 : 4096;
  void *pos = s->pos_mm, *tissue = s->tissue, *parity = s->parity;
  bool grown = pla_array_resize(&pos, (size_t)room, 3 * sizeof *s->pos_mm);
  s->pos_mm = pos;
  grown = grown && pla_array_resize(&tissue, (size_t)room, sizeof *s->tissue);
  s->tissue = tissue;
  grown = grown && pla_array_resize(&parity, (size_t)room, 1);
  s->parity = parity;
  if (grown)
    b->room_verts = room;
  return grown;
}

/* the vertex at doubled coordinates of the finest grid, made when it is new */
static int
vertex(Builder *b, const int x[3])
{
  PlaLattice *s = b->s;
  int *id = x[0] & 1 ? &b->centre_id[pla_cube_index(s->n, 0, x[0] >> 1, x[1] >> 1, x[2] >> 1)]
                     : &b->corner_id[pla_corner_index(s->n, x[0] >> 1, x[1] >> 1, x[2] >> 1)];
  if (*id >= 0)
    return *id;
  if (s->n_verts == b->room_verts && !grow_verts(b)) {
    b->short_of_memory = true;
    return 0;
  }
  *id = s->n_verts++;
  for (int d = 0; d < 3; d++)
    s->pos_mm[3 * (size_t)*id + d] = s->origin_mm[d] + 0.5 * s->cell_mm * x[d];
  s->tissue[*id] = tissue_at(s, x);
  s->parity[*id] = ((x[0] >> 1) + (x[1] >> 1) + (x[2] >> 1)) & 1;
  return *id;
}

static bool
add_tet(const int *const x[4], void *data)
{
  Builder *b = data;
  PlaLattice *s = b->s;
  if (tissue_at(s, x[0]) == 0 && tissue_at(s, x[1]) == 0 && tissue_at(s, x[2]) == 0 &&
      tissue_at(s, x[3]) == 0)
    return true;
  if (s->n_tets == b->room_tets) {
    int room = b->room_tets ? b->room_tets + b->room_tets / 2 : 16384;
    void *tet = s->tet;
    if (room > INT_MAX / 4 || !pla_array_resize(&tet, (size_t)room, 4 * sizeof *s->tet)) {
      b->short_of_memory = true;
      return false;
    }
    s->tet = tet;
    b->room_tets = room;
  }
  int *to = s->tet + 4 * (size_t)s->n_tets++;
  for (int c = 0; c < 4; c++)
    to[c] = vertex(b, x[c]);
  return !b->short_of_memory;
}

static bool
report(double done, void *data)
{
  Builder *b = data;
  return pla_progress_step(b->progress, done);
}

PlaStatus
pla_lattice_init(PlaLattice *self, const PlaTissues *tissues, double cell_mm, int levels,
                 PlaProgress *progress, PlaError *err)
{
  double lo[3], hi[3];
  *self = (PlaLattice){ .cell_mm = cell_mm };
  if (!pla_tissues_box(tissues, lo, hi))
    return pla_fail(err, PLA_ERR_EMPTY, "There is nothing to mesh: no point is inside");
  levels = levels < 0 ? 0 : levels > PLA_LATTICE_LEVELS ? PLA_LATTICE_LEVELS : levels;
  /* no coarser than the box allows */
  const double largest = fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2]));
  while (levels > 0 && cell_mm * (4 << levels) > largest)
    levels--;
  self->levels = levels;
  size_t cubes = 1, corners = 1;
  bool fits = true;
  for (int d = 0; d < 3; d++) {
    /* two cubes of air on each side, in whole cubes of the coarsest level */
    double cells = ceil((hi[d] - lo[d]) / cell_mm) + 4.0, block = 1 << levels;
    double n = ceil(cells / block) * block;
    fits = fits && n < 30000.0;
    self->n[d] = fits ? (int)n : 0;
    self->origin_mm[d] = 0.5 * (lo[d] + hi[d]) - 0.5 * cell_mm * n;
    fits = fits && pla_size_mul(cubes, (size_t)self->n[d], &cubes) &&
           pla_size_mul(corners, (size_t)self->n[d] + 1, &corners);
  }
  if (!fits || cubes > ((size_t)1 << 31))
    return pla_fail(err, PLA_ERR_MEMORY,
                    "A cell of %g mm is too fine for a body %.0f mm across; use a larger one",
                    cell_mm, largest);
  Builder b = { .s = self, .progress = progress };
  self->corner_tissue = pla_array_new(corners, sizeof *self->corner_tissue);
  self->centre_tissue = pla_array_new(cubes, sizeof *self->centre_tissue);
  b.corner_id = pla_array_new(corners, sizeof *b.corner_id);
  b.centre_id = pla_array_new(cubes, sizeof *b.centre_id);
  bool ready = self->corner_tissue && self->centre_tissue && b.corner_id && b.centre_id;
  for (int l = 1; l <= levels; l++) {
    self->refined[l] = pla_array_new0(cubes >> 3 * l, 1);
    ready = ready && self->refined[l];
  }
  PlaStatus st = ready ? PLA_OK : pla_fail_memory(err, "the lattice");
  if (st == PLA_OK) {
    memset(b.corner_id, -1, corners * sizeof *b.corner_id);
    memset(b.centre_id, -1, cubes * sizeof *b.centre_id);
    sample(self, tissues);
    refine(self);
    const PlaCubeTree tree = {
      levels, { self->n[0], self->n[1], self->n[2] }, self->refined, NULL
    };
    if (!pla_cube_tree_walk(&tree, add_tet, report, &b))
      st = b.short_of_memory ? pla_fail_memory(err, "the lattice") : pla_fail_cancelled(err);
  }
  free(b.corner_id);
  free(b.centre_id);
  if (st == PLA_OK && self->n_tets == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "A cell of %g mm finds nothing inside; use a smaller one",
                  cell_mm);
  return st;
}

void
pla_lattice_clear(PlaLattice *self)
{
  free(self->corner_tissue);
  free(self->centre_tissue);
  for (int l = 1; l <= PLA_LATTICE_LEVELS; l++)
    free(self->refined[l]);
  free(self->pos_mm);
  free(self->tissue);
  free(self->parity);
  free(self->tet);
  *self = (PlaLattice){ 0 };
}
