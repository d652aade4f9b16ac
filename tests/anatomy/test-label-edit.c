/* Label editing against shapes whose voxels can be told one by one. */
#include "anatomy/segment/label-edit.h"

#include "anatomy/base/mat3.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double straight[12] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 };
static const double skew[12] = { -0.7, 0.1, 0, 20, 0, 0.9, 0.3, -15, 0.1, 0, 1.3, -30 };

static PlaLabelMap *
map_new(int a, int b, int c, const double affine[12])
{
  const int dims[4] = { a, b, c, 1 };
  PlaVolume *vol;
  PlaLabelMap *map;
  PlaError err = { 0 };
  g_assert_cmpint(pla_volume_new(dims, PLA_U8, &vol, &err), ==, PLA_OK);
  memcpy(vol->affine_mm, affine, sizeof vol->affine_mm);
  g_assert_cmpint(pla_label_map_take(vol, NULL, &map, &err), ==, PLA_OK);
  return map;
}

static size_t
voxel(const PlaLabelMap *map, int i, int j, int k)
{
  const int *n = map->volume->dims;
  return (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
}

static void
set(PlaLabelMap *map, int i, int j, int k, int id)
{
  ((uint8_t *)map->volume->voxels)[voxel(map, i, j, k)] = (uint8_t)id;
}

static size_t
count(const PlaLabelMap *map, int id)
{
  size_t n = 0;
  for (size_t v = 0; v < pla_volume_n_voxels(map->volume); v++)
    n += pla_label_map_get(map, v) == id;
  return n;
}

static void
place(const PlaLabelMap *map, double i, double j, double k, double mm[3])
{
  const double ijk[3] = { i, j, k };
  pla_affine_apply(map->volume->affine_mm, ijk, mm);
}

/* ---- outlines and discs ---- */

/* a square with a notch, on a slice across each axis, straight and skew: only voxels whose centre
 * is inside change, and only in that slice */
static void
test_polygon(void)
{
  const double corner[7][2] = { { 3.5, 2.5 }, { 14.5, 2.5 }, { 14.5, 12.5 }, { 10.5, 12.5 },
                                { 9.5, 6.4 }, { 7.5, 12.5 }, { 3.5, 12.5 } };
  for (int skewed = 0; skewed < 2; skewed++)
    for (int axis = 0; axis < 3; axis++) {
      PlaLabelMap *map = map_new(20, 21, 22, skewed ? skew : straight);
      PlaLabelChange change;
      PlaError err = { 0 };
      double points[21];
      const int u = (axis + 1) % 3, v = (axis + 2) % 3;
      size_t expected = 0;
      for (int p = 0; p < 7; p++) {
        double x[3];
        x[axis] = 9;
        x[u] = corner[p][0];
        x[v] = corner[p][1];
        place(map, x[0], x[1], x[2], points + 3 * p);
      }
      g_assert_cmpint(pla_label_edit_polygon(map, points, 7, 0.0, 300, -1, &change, &err), ==,
                      PLA_OK);
      g_assert_cmpint(map->volume->dtype, ==, PLA_U16);
      for (int b = 3; b <= 12; b++)
        for (int a = 4; a <= 14; a++) {
          /* the notch: between the lines from (10.5, 12.5) and (7.5, 12.5) to (9.5, 6.4) */
          const bool notch =
              b > 6.4 && a < 9.5 + (b - 6.4) / 6.1 && a > 9.5 - 2.0 * (b - 6.4) / 6.1;
          int at[3];
          at[axis] = 9;
          at[u] = a;
          at[v] = b;
          g_assert_cmpint(pla_label_map_get(map, voxel(map, at[0], at[1], at[2])), ==,
                          notch ? 0 : 300);
          expected += !notch;
        }
      g_assert_cmpuint(change.n_changed, ==, expected);
      g_assert_cmpuint(count(map, 300), ==, expected);
      g_assert_cmpint(change.lo[axis], ==, 9);
      g_assert_cmpint(change.hi[axis], ==, 9);
      /* erasing it again leaves nothing */
      g_assert_cmpint(pla_label_edit_polygon(map, points, 7, 0.0, 0, 300, &change, &err), ==,
                      PLA_OK);
      g_assert_cmpuint(change.n_changed, ==, expected);
      g_assert_cmpuint(count(map, 300), ==, 0);
      /* deeper: three layers */
      if (!skewed) {
        g_assert_cmpint(pla_label_edit_polygon(map, points, 7, 2.5, 1, -1, &change, &err), ==,
                        PLA_OK);
        g_assert_cmpuint(change.n_changed, ==, 3 * expected);
      }
      pla_label_map_free(map);
    }
  PlaLabelMap *map = map_new(4, 4, 4, straight);
  const double line[9] = { 0, 0, 0, 1, 1, 1, 2, 2, 2 };
  PlaLabelChange change;
  PlaError err = { 0 };
  g_assert_cmpint(pla_label_edit_polygon(map, line, 3, 0.0, 1, -1, &change, &err), ==,
                  PLA_ERR_GEOMETRY);
  pla_label_map_free(map);
}

static void
test_disc(void)
{
  PlaLabelMap *map = map_new(30, 30, 30, straight);
  const double at[6] = { 10, 15, 12, 20, 15, 12 };
  const PlaBrush brush = { .radius_mm = 5.0, .label = 2, .only = -1, .normal = { 0, 0, 2 } };
  size_t n = 0, expected = 0;
  PlaError err = { 0 };
  g_assert_cmpint(pla_label_edit_stroke(map, at, 2, &brush, &n, &err), ==, PLA_OK);
  for (int j = 0; j < 30; j++)
    for (int i = 0; i < 30; i++) {
      const double along = fmin(fmax(i, 10.0), 20.0);
      const bool in = hypot(i - along, j - 15.0) <= 5.0;
      g_assert_cmpint(pla_label_map_get(map, voxel(map, i, j, 12)), ==, in ? 2 : 0);
      expected += in;
    }
  g_assert_cmpuint(n, ==, expected);
  g_assert_cmpuint(count(map, 2), ==, expected);
  pla_label_map_free(map);
}

/* ---- growing ---- */

static void
test_grow(void)
{
  PlaLabelMap *map = map_new(24, 20, 16, skew);
  PlaVolume *image;
  PlaLabelChange change;
  PlaError err = { 0 };
  const int dims[4] = { 24, 20, 16, 2 };
  g_assert_cmpint(pla_volume_new(dims, PLA_I16, &image, &err), ==, PLA_OK);
  memcpy(image->affine_mm, skew, sizeof skew);
  image->slope = 2.0;
  image->inter = -10.0;
  /* in frame 1, two rooms of value 90 with a door, a third without one, walls of value -10 */
  int16_t *value = (int16_t *)image->voxels + pla_volume_n_voxels(map->volume);
  for (int k = 2; k < 14; k++)
    for (int j = 2; j < 18; j++)
      for (int i = 2; i < 22; i++)
        if (i != 8 && i != 15)
          value[voxel(map, i, j, k)] = 50;
  value[voxel(map, 8, 9, 7)] = 50;
  double seed[3];
  place(map, 4, 5, 6, seed);
  PlaGrow grow = { 80, 100, INFINITY, PLA_CONNECT_FACES, 3, -1 };
  g_assert_cmpint(pla_label_edit_grow(map, image, 1, seed, 1, &grow, NULL, &change, &err), ==,
                  PLA_OK);
  g_assert_cmpuint(change.n_changed, ==, 12 * 16 * (6 + 6) + 1);
  g_assert_cmpint(pla_label_map_get(map, voxel(map, 8, 9, 7)), ==, 3);
  g_assert_cmpint(pla_label_map_get(map, voxel(map, 17, 9, 7)), ==, 0);
  g_assert_cmpint(change.lo[0], ==, 2);
  g_assert_cmpint(change.hi[0], ==, 14);
  /* by labels alone: what was grown becomes another id, no further than 4 mm */
  grow = (PlaGrow){ .reach_mm = 4.0, .connectivity = PLA_CONNECT_FACES, .label = 5, .only = 3 };
  g_assert_cmpint(pla_label_edit_grow(map, NULL, 0, seed, 1, &grow, NULL, &change, &err), ==,
                  PLA_OK);
  size_t expected = 0;
  for (int k = 0; k < 16; k++)
    for (int j = 0; j < 20; j++)
      for (int i = 0; i < 24; i++) {
        double p[3], r[3];
        place(map, i, j, k, p);
        pla_vec3_sub(p, seed, r);
        expected += value[voxel(map, i, j, k)] == 50 && i < 8 && pla_vec3_norm(r) <= 4.0;
      }
  g_assert_cmpuint(change.n_changed, ==, expected);
  g_assert_cmpuint(count(map, 5), ==, expected);
  /* a seed in the wall finds nothing; another grid is refused */
  place(map, 15, 5, 6, seed);
  grow = (PlaGrow){ 80, 100, INFINITY, PLA_CONNECT_FACES, 3, -1 };
  g_assert_cmpint(pla_label_edit_grow(map, image, 1, seed, 1, &grow, NULL, &change, &err), ==,
                  PLA_ERR_EMPTY);
  image->affine_mm[3] += 1.0;
  g_assert_cmpint(pla_label_edit_grow(map, image, 1, seed, 1, &grow, NULL, &change, &err), ==,
                  PLA_ERR_USAGE);
  pla_volume_free(image);
  pla_label_map_free(map);
}

/* ---- slices in between ---- */

/* a leaning cone painted on four slices comes back in all */
static void
test_between(void)
{
  const double affine[12] = { 0.5, 0, 0, 0, 0, 0.8, 0, 0, 0, 0, 2.0, 0 };
  for (int axis = 0; axis < 3; axis++) {
    int size[3] = { 60, 60, 60 };
    size[axis] = 31;
    PlaLabelMap *map = map_new(size[0], size[1], size[2], affine);
    PlaLabelChange change;
    PlaError err = { 0 };
    const int u = (axis + 1) % 3, v = (axis + 2) % 3;
    const double su = affine[4 * u + u], sv = affine[4 * v + v];
    size_t truth = 0, wrong = 0;
    uint8_t *want = g_malloc0(pla_volume_n_voxels(map->volume));
    for (int s = 0; s < 31; s++)
      for (int b = 0; b < 60; b++)
        for (int a = 0; a < 60; a++) {
          const double r = (12.0 + 0.2 * s) * fmin(su, sv);
          const double du = (a - 20.0 - 0.5 * s) * su, dv = (b - 30.0) * sv;
          int at[3];
          at[axis] = s;
          at[u] = a;
          at[v] = b;
          if (hypot(du, dv) > r)
            continue;
          want[voxel(map, at[0], at[1], at[2])] = 1;
          truth++;
          if (s % 10 == 0)
            set(map, at[0], at[1], at[2], 4);
        }
    const size_t painted = count(map, 4);
    g_assert_cmpint(pla_label_edit_between(map, axis, -1, -1, 4, 0, NULL, &change, &err), ==,
                    PLA_OK);
    g_assert_cmpuint(count(map, 4), ==, painted + change.n_changed);
    for (size_t i = 0; i < pla_volume_n_voxels(map->volume); i++)
      wrong += want[i] != (pla_label_map_get(map, i) == 4);
    g_test_message("across axis %d: %zu of %zu voxels differ", axis, wrong, truth);
    g_assert_cmpfloat((double)wrong, <, 0.05 * (double)truth);
    g_assert_cmpfloat_with_epsilon((double)count(map, 4), (double)truth, 0.02 * (double)truth);
    /* painted slices are as they were */
    for (int b = 0; b < 60; b++)
      for (int a = 0; a < 60; a++) {
        int at[3];
        at[axis] = 10;
        at[u] = a;
        at[v] = b;
        const size_t i = voxel(map, at[0], at[1], at[2]);
        g_assert_cmpint(want[i], ==, pla_label_map_get(map, i) == 4);
      }
    g_free(want);
    /* a label on one slice alone has nothing in between; slices that are not there are named */
    g_assert_cmpint(pla_label_edit_between(map, axis, 5, 5, 4, 0, NULL, &change, &err), ==,
                    PLA_ERR_EMPTY);
    g_assert_cmpint(pla_label_edit_between(map, axis, 5, 31, 4, 0, NULL, &change, &err), ==,
                    PLA_ERR_USAGE);
    g_assert_nonnull(strstr(err.message, "30"));
    pla_label_map_free(map);
  }
}

/* ---- pieces ---- */

/* two balls with a thin bridge between */
static PlaLabelMap *
dumbbell(void)
{
  PlaLabelMap *map = map_new(50, 24, 24, straight);
  for (int k = 0; k < 24; k++)
    for (int j = 0; j < 24; j++)
      for (int i = 0; i < 50; i++) {
        const double y = j - 12.0, z = k - 12.0;
        const bool left = (i - 12.0) * (i - 12.0) + y * y + z * z <= 100.0;
        const bool right = (i - 36.0) * (i - 36.0) + y * y + z * z <= 81.0;
        const bool bridge = y * y + z * z <= 5.0 && i > 12 && i < 36;
        if (left || right || bridge)
          set(map, i, j, k, 1);
      }
  return map;
}

static void
test_split(void)
{
  PlaLabelMap *map = dumbbell();
  PlaLabelChange change;
  PlaError err = { 0 };
  /* seeds off the centres: they still meet in the bridge */
  const double seeds[6] = { 18, 12, 12, 43, 12, 12 };
  const int ids[2] = { 2, 300 };
  const size_t all = count(map, 1);
  g_assert_cmpint(pla_label_edit_split(map, 1, seeds, ids, 2, PLA_CONNECT_FACES, NULL, &change,
                                       &err),
                  ==, PLA_OK);
  g_assert_cmpuint(change.n_changed, ==, all);
  g_assert_cmpuint(count(map, 2) + count(map, 300), ==, all);
  for (int k = 0; k < 24; k++)
    for (int j = 0; j < 24; j++)
      for (int i = 0; i < 50; i++) {
        const int id = pla_label_map_get(map, voxel(map, i, j, k));
        if (id == 2)
          g_assert_cmpint(i, <=, 28);
        if (id == 300)
          g_assert_cmpint(i, >=, 21);
      }
  /* one seed takes its piece and no other */
  const int three = 3;
  const double one[3] = { 12, 12, 12 };
  const size_t left = count(map, 2);
  g_assert_cmpint(pla_label_edit_split(map, 2, one, &three, 1, PLA_CONNECT_FACES, NULL, &change,
                                       &err),
                  ==, PLA_OK);
  g_assert_cmpuint(count(map, 3), ==, left);
  /* a seed elsewhere is named */
  const double off[6] = { 12, 12, 12, 0, 0, 0 };
  g_assert_cmpint(pla_label_edit_split(map, 3, off, ids, 2, PLA_CONNECT_FACES, NULL, &change, &err),
                  ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "seed 2"));
  g_assert_cmpint(pla_label_edit_split(map, 77, one, ids, 1, PLA_CONNECT_FACES, NULL, &change,
                                       &err),
                  ==, PLA_ERR_EMPTY);
  pla_label_map_free(map);
}

static void
test_keep(void)
{
  PlaLabelMap *map = map_new(20, 20, 20, straight);
  PlaLabelChange change;
  PlaError err = { 0 };
  for (int k = 2; k < 5; k++)
    for (int j = 2; j < 5; j++)
      for (int i = 2; i < 5; i++) {
        set(map, i, j, k, 6);          /* 27 */
        set(map, i + 10, j + 3, k, 6); /* 27 + 9 */
        set(map, 15, j + 3, k, 6);
        set(map, i, j + 10, k + 12, 6); /* 27 */
      }
  set(map, 5, 5, 5, 6); /* touches the first by a corner */
  g_assert_cmpint(pla_label_edit_keep(map, 6, NULL, 0, 9, PLA_CONNECT_CORNERS, NULL, &change, &err),
                  ==, PLA_OK);
  g_assert_cmpuint(count(map, 6), ==, 36);
  g_assert_cmpuint(count(map, 9), ==, 55);
  const double seeds[6] = { 3, 3, 3, 3, 13, 15 };
  g_assert_cmpint(pla_label_edit_keep(map, 9, seeds, 2, 0, PLA_CONNECT_FACES, NULL, &change, &err),
                  ==, PLA_OK);
  g_assert_cmpuint(change.n_changed, ==, 1);
  g_assert_cmpuint(count(map, 9), ==, 54);
  pla_label_map_free(map);
}

static void
test_mirror(void)
{
  /* on a straight grid a mirror plane through centres maps voxels onto voxels */
  PlaLabelMap *map = map_new(31, 20, 20, straight);
  PlaLabelChange change;
  PlaError err = { 0 };
  const double point[3] = { 15, 3, 3 }, normal[3] = { -2, 0, 0 };
  for (int k = 4; k < 12; k++)
    for (int j = 5; j < 9; j++)
      for (int i = 2; i < 17; i++)
        if (i + j < 18)
          set(map, i, j, k, 1);
  const size_t before = count(map, 1);
  g_assert_cmpint(pla_label_edit_mirror(map, 1, point, normal, 2, 0, &change, &err), ==, PLA_OK);
  g_assert_cmpuint(count(map, 1), ==, before);
  for (int k = 0; k < 20; k++)
    for (int j = 0; j < 20; j++)
      for (int i = 0; i < 31; i++) {
        const int here = pla_label_map_get(map, voxel(map, i, j, k));
        const int there = pla_label_map_get(map, voxel(map, 30 - i, j, k));
        if (here != 1)
          g_assert_cmpint(here, ==, there == 1 ? 2 : 0);
      }
  pla_label_map_free(map);
  /* on a skew grid it is true to half a voxel: a ball's image is a ball, seen by its size and
   * centre */
  map = map_new(60, 60, 40, skew);
  double centre[3], sum[3] = { 0 };
  place(map, 20, 22, 18, centre);
  const PlaBrush brush = { .radius_mm = 5.0, .label = 1, .only = -1 };
  const double oblique[3] = { 1, 0.4, 0.2 }, through[3] = { centre[0] - 8.0, centre[1], centre[2] };
  size_t n;
  g_assert_cmpint(pla_label_edit_stroke(map, centre, 1, &brush, &n, &err), ==, PLA_OK);
  g_assert_cmpint(pla_label_edit_mirror(map, 1, through, oblique, 2, 0, &change, &err), ==, PLA_OK);
  g_assert_cmpfloat_with_epsilon((double)change.n_changed, (double)n, 0.03 * (double)n);
  for (int k = 0; k < 40; k++)
    for (int j = 0; j < 60; j++)
      for (int i = 0; i < 60; i++)
        if (pla_label_map_get(map, voxel(map, i, j, k)) == 2) {
          double p[3];
          place(map, i, j, k, p);
          for (int d = 0; d < 3; d++)
            sum[d] += p[d] / (double)change.n_changed;
        }
  double r[3];
  pla_vec3_sub(centre, through, r);
  const double off = pla_vec3_dot(r, oblique) / pla_vec3_dot(oblique, oblique);
  for (int d = 0; d < 3; d++)
    g_assert_cmpfloat_with_epsilon(sum[d], centre[d] - 2.0 * off * oblique[d], 0.15);
  const double none[3] = { 0, 0, 0 };
  g_assert_cmpint(pla_label_edit_mirror(map, 1, through, none, 2, 0, &change, &err), ==,
                  PLA_ERR_USAGE);
  g_assert_cmpint(pla_label_edit_mirror(map, 7, through, oblique, 2, 0, &change, &err), ==,
                  PLA_ERR_EMPTY);
  pla_label_map_free(map);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/label-edit/polygon", test_polygon);
  g_test_add_func("/label-edit/disc", test_disc);
  g_test_add_func("/label-edit/grow", test_grow);
  g_test_add_func("/label-edit/between", test_between);
  g_test_add_func("/label-edit/split", test_split);
  g_test_add_func("/label-edit/keep", test_keep);
  g_test_add_func("/label-edit/mirror", test_mirror);
  return g_test_run();
}
