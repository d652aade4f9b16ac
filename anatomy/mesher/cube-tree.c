/* The tets of a graded lattice, face by face of its cubes. */
#include "anatomy/mesher/cube-tree.h"

typedef struct {
  const PlaCubeTree *tree;
  PlaCubeTetFunc tet;
  void *data;
  bool ended;
} Walk;

static bool
is_there(const PlaCubeTree *s, int level, const int at[3])
{
  for (int d = 0; d < 3; d++)
    if (at[d] < 0 || at[d] >= s->n[d] >> level)
      return false;
  return true;
}

static bool
is_refined(const PlaCubeTree *s, int level, const int at[3])
{
  return level > 0 && is_there(s, level, at) &&
         s->refined[level][pla_cube_index(s->n, level, at[0], at[1], at[2])];
}

/* whether the cube exists and has no children; outside the grid there is none */
static bool
is_leaf(const PlaCubeTree *s, int level, const int at[3])
{
  return is_there(s, level, at) && !is_refined(s, level, at) &&
         (level == s->levels || s->refined[level + 1][pla_cube_index(s->n, level + 1, at[0] >> 1,
                                                                     at[1] >> 1, at[2] >> 1)]);
}

static bool
is_filled(const PlaCubeTree *s, int level, const int at[3])
{
  return !s->filled || s->filled[level][pla_cube_index(s->n, level, at[0], at[1], at[2])];
}

static void
add_tet(Walk *walk, const int p[3], const int q[3], const int r[3], const int t[3])
{
  const int *x[4] = { p, q, r, t };
  long m[3][3];
  for (int e = 0; e < 3; e++)
    for (int d = 0; d < 3; d++)
      m[e][d] = x[e + 1][d] - x[0][d];
  const long det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                   m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                   m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  const int *const corner[4] = { p, q, det > 0 ? r : t, det > 0 ? t : r };
  walk->ended = walk->ended || !walk->tet(corner, walk->data);
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
add_equal(Walk *walk, int level, const int at[3], const int next[3], int axis)
{
  int corner[4][3], here[3], there[3];
  face_corners(level, at, axis, 1, corner);
  cube_centre(level, at, here);
  cube_centre(level, next, there);
  for (int e = 0; e < 4; e++) {
    const int *p = corner[e], *q = corner[(e + 1) % 4];
    /* the two other cubes at this edge are beyond it */
    const int out = e % 2 ? (axis + 1) % 3 : (axis + 2) % 3, step = e == 0 || e == 3 ? -1 : 1;
    int beside[2][3] = { { at[0], at[1], at[2] }, { next[0], next[1], next[2] } };
    beside[0][out] += step;
    beside[1][out] += step;
    if (!is_refined(walk->tree, level, beside[0]) && !is_refined(walk->tree, level, beside[1])) {
      add_tet(walk, p, q, here, there);
      continue;
    }
    const int mid[3] = { (p[0] + q[0]) / 2, (p[1] + q[1]) / 2, (p[2] + q[2]) / 2 };
    add_tet(walk, p, mid, here, there);
    add_tet(walk, mid, q, here, there);
  }
}

/* tets between a cube and a neighbour of twice its size */
static void
add_unequal(Walk *walk, int level, const int at[3], int axis, int side, const int large[3])
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
    add_tet(walk, p, q, r, here);
    add_tet(walk, p, q, r, there);
  }
}

static void
add_cube(Walk *walk, int level, const int at[3])
{
  const PlaCubeTree *s = walk->tree;
  const bool filled = is_filled(s, level, at);
  for (int face = 0; face < 6; face++) {
    const int axis = face / 2, side = face % 2;
    int next[3] = { at[0], at[1], at[2] };
    next[axis] += side ? 1 : -1;
    if (is_leaf(s, level, next)) {
      /* once for the pair */
      if (side && (filled || is_filled(s, level, next)))
        add_equal(walk, level, at, next, axis);
    } else if (is_there(s, level, next) && !is_refined(s, level, next)) {
      const int large[3] = { next[0] >> 1, next[1] >> 1, next[2] >> 1 };
      if (filled || is_filled(s, level + 1, large))
        add_unequal(walk, level, at, axis, side, large);
    }
  }
}

bool
pla_cube_tree_walk(const PlaCubeTree *self, PlaCubeTetFunc tet, PlaCubeLayerFunc layer, void *data)
{
  Walk walk = { self, tet, data, false };
  for (int l = 0; l <= self->levels; l++)
    for (int k = 0; k < self->n[2] >> l; k++) {
      for (int j = 0; j < self->n[1] >> l; j++)
        for (int i = 0; i < self->n[0] >> l; i++)
          if (is_leaf(self, l, (const int[3]){ i, j, k }))
            add_cube(&walk, l, (const int[3]){ i, j, k });
      if (walk.ended ||
          (layer && !layer((l + (double)k / (self->n[2] >> l)) / (self->levels + 1), data)))
        return false;
    }
  return true;
}
