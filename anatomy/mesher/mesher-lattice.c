/* The background lattice (after Labelle and Shewchuk, "Isosurface stuffing", 2007).
 *
 * Cubes near an interface are of the finest level; all others are as coarse as the rule allows
 * that touching cubes differ by one level at most.  Tets:
 *   - between two equal cubes, one around each edge of the shared face: the edge and both centres,
 *     halved where a finer cube puts a vertex in the middle of the edge;
 *   - where a cube meets one twice its size, its face is cut by the diagonal from the middle of the
 *     larger face, and each half goes with each centre. */
#include "anatomy/mesher/mesher-lattice.h"

#include "anatomy/base/memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t
corner_index(const PlaLattice *s, int i, int j, int k)
{
  return (size_t)i + (size_t)(s->n[0] + 1) * ((size_t)j + (size_t)(s->n[1] + 1) * (size_t)k);
}

static size_t
cube_index(const PlaLattice *s, int level, int i, int j, int k)
{
  return (size_t)i +
         (size_t)(s->n[0] >> level) * ((size_t)j + (size_t)(s->n[1] >> level) * (size_t)k);
}

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
  const int16_t here = s->centre_tissue[cube_index(s, 0, i, j, k)];
  for (int c = 0; c < 8; c++)
    if (s->corner_tissue[corner_index(s, i + (c & 1), j + (c >> 1 & 1), k + (c >> 2 & 1))] != here)
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
        s->refined[level + 1][cube_index(s, level + 1, i, j, k)] = 1;
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
          if (l == 0 ? is_mixed(s, i, j, k) : s->refined[l][cube_index(s, l, i, j, k)])
            mark_above(s, l, (const int[3]){ i, j, k }, l == 0 ? 2 : 1);
}

/* ---- tets ---- */

typedef struct {
  PlaLattice *s;
  int *corner_id, *centre_id; /* vertex numbers, -1: not used yet */
  int room_verts, room_tets;
  bool short_of_memory;
} Builder;

static bool
is_there(const PlaLattice *s, int level, const int at[3])
{
  for (int d = 0; d < 3; d++)
    if (at[d] < 0 || at[d] >= s->n[d] >> level)
      return false;
  return true;
}

static bool
is_refined(const PlaLattice *s, int level, const int at[3])
{
  return is_there(s, level, at) && level > 0 &&
         s->refined[level][cube_index(s, level, at[0], at[1], at[2])];
}

/* whether the cube exists and has no children; outside the grid there is none */
static bool
is_leaf(const PlaLattice *s, int level, const int at[3])
{
  return is_there(s, level, at) && !is_refined(s, level, at) &&
         (level == s->levels ||
          s->refined[level + 1][cube_index(s, level + 1, at[0] >> 1, at[1] >> 1, at[2] >> 1)]);
}

static int16_t
tissue_at(const PlaLattice *s, const int x[3])
{
  return x[0] & 1 ? s->centre_tissue[cube_index(s, 0, x[0] >> 1, x[1] >> 1, x[2] >> 1)]
                  : s->corner_tissue[corner_index(s, x[0] >> 1, x[1] >> 1, x[2] >> 1)];
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
  int *id = x[0] & 1 ? &b->centre_id[cube_index(s, 0, x[0] >> 1, x[1] >> 1, x[2] >> 1)]
                     : &b->corner_id[corner_index(s, x[0] >> 1, x[1] >> 1, x[2] >> 1)];
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

static void
add_tet(Builder *b, const int p[3], const int q[3], const int r[3], const int t[3])
{
  PlaLattice *s = b->s;
  if (tissue_at(s, p) == 0 && tissue_at(s, q) == 0 && tissue_at(s, r) == 0 && tissue_at(s, t) == 0)
    return;
  if (s->n_tets == b->room_tets) {
    int room = b->room_tets ? b->room_tets + b->room_tets / 2 : 16384;
    void *tet = s->tet;
    if (room > INT_MAX / 4 || !pla_array_resize(&tet, (size_t)room, 4 * sizeof *s->tet)) {
      b->short_of_memory = true;
      return;
    }
    s->tet = tet;
    b->room_tets = room;
  }
  const int *x[4] = { p, q, r, t };
  long m[3][3];
  for (int e = 0; e < 3; e++)
    for (int d = 0; d < 3; d++)
      m[e][d] = x[e + 1][d] - x[0][d];
  long det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
             m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
             m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  int *to = s->tet + 4 * (size_t)s->n_tets++;
  to[0] = vertex(b, p);
  to[1] = vertex(b, q);
  to[2] = vertex(b, det > 0 ? r : t);
  to[3] = vertex(b, det > 0 ? t : r);
}

/* the face of a cube across @axis on @side: four corners in turn, doubled coordinates */
static void
face_corners(int level, const int at[3], int axis, int side, int corner[4][3])
{
  const int size = 2 << level;
  for (int c = 0; c < 4; c++) {
    corner[c][axis] = (at[axis] + side) * size;
    corner[c][(axis + 1) % 3] = (at[(axis + 1) % 3] + (c == 1 || c == 2)) * size;
    corner[c][(axis + 2) % 3] = (at[(axis + 2) % 3] + (c >= 2)) * size;
  }
}

static void
cube_centre(int level, const int at[3], int x[3])
{
  for (int d = 0; d < 3; d++)
    x[d] = (2 * at[d] + 1) << level;
}

/* tets around the face between equal cubes */
static void
add_equal(Builder *b, int level, const int at[3], const int next[3], int axis)
{
  int corner[4][3], here[3], there[3];
  face_corners(level, at, axis, 1, corner);
  cube_centre(level, at, here);
  cube_centre(level, next, there);
  for (int e = 0; e < 4; e++) {
    const int *p = corner[e], *q = corner[(e + 1) % 4];
    /* the two other cubes at this edge are beyond it */
    int out = e % 2 ? (axis + 1) % 3 : (axis + 2) % 3, step = e == 0 || e == 3 ? -1 : 1;
    int beside[2][3] = { { at[0], at[1], at[2] }, { next[0], next[1], next[2] } };
    beside[0][out] += step;
    beside[1][out] += step;
    if (!is_refined(b->s, level, beside[0]) && !is_refined(b->s, level, beside[1])) {
      add_tet(b, p, q, here, there);
      continue;
    }
    const int mid[3] = { (p[0] + q[0]) / 2, (p[1] + q[1]) / 2, (p[2] + q[2]) / 2 };
    add_tet(b, p, mid, here, there);
    add_tet(b, mid, q, here, there);
  }
}

/* tets between a cube and a neighbour of twice its size */
static void
add_unequal(Builder *b, int level, const int at[3], int axis, int side, const int large[3])
{
  int corner[4][3], here[3], there[3], first = 0;
  face_corners(level, at, axis, side, corner);
  cube_centre(level, at, here);
  cube_centre(level + 1, large, there);
  /* the corner in the middle of the larger face */
  for (int c = 0; c < 4; c++) {
    bool middle = true;
    for (int d = 0; d < 3; d++)
      middle = middle && (d == axis || corner[c][d] == there[d]);
    if (middle)
      first = c;
  }
  for (int h = 0; h < 2; h++) {
    const int *p = corner[first], *q = corner[(first + 1 + h) % 4],
              *r = corner[(first + 2 + h) % 4];
    add_tet(b, p, q, r, here);
    add_tet(b, p, q, r, there);
  }
}

static void
add_cube(Builder *b, int level, const int at[3])
{
  const PlaLattice *s = b->s;
  for (int face = 0; face < 6; face++) {
    const int axis = face / 2, side = face % 2;
    int next[3] = { at[0], at[1], at[2] };
    next[axis] += side ? 1 : -1;
    if (is_leaf(s, level, next)) {
      /* once for the pair */
      if (side)
        add_equal(b, level, at, next, axis);
    } else if (is_there(s, level, next) && !is_refined(s, level, next)) {
      const int large[3] = { next[0] >> 1, next[1] >> 1, next[2] >> 1 };
      add_unequal(b, level, at, axis, side, large);
    }
  }
}

static bool
build(Builder *b, PlaProgress *progress)
{
  const PlaLattice *s = b->s;
  for (int l = 0; l <= s->levels; l++)
    for (int k = 0; k < s->n[2] >> l; k++) {
      for (int j = 0; j < s->n[1] >> l; j++)
        for (int i = 0; i < s->n[0] >> l; i++)
          if (is_leaf(s, l, (const int[3]){ i, j, k }))
            add_cube(b, l, (const int[3]){ i, j, k });
      if (b->short_of_memory ||
          !pla_progress_step(progress, (l + (double)k / (s->n[2] >> l)) / (s->levels + 1)))
        return false;
    }
  return true;
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
  Builder b = { .s = self };
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
    if (!build(&b, progress))
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
