/* Rays through volumes whose transparency has a closed form. */
#include "anatomy/volume/raycast.h"

#include "anatomy/base/parallel.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static const PlaTransfer grey = {
  "grey",
  "Grey",
  3,
  { { 10, { 1, 1, 1 }, 0.0 }, { 11, { 1, 1, 1 }, 0.05 }, { 2000, { 1, 1, 1 }, 0.05 } }
};

/* a box of value 1000 in nothing, 40 mm along x and 30 along the others, in a frame that is turned
 * by 30 degrees about z and not cubic */
static PlaVolume *
turned_box(void)
{
  PlaVolume *vol;
  g_assert_cmpint(pla_volume_new((int[4]){ 60, 80, 50, 1 }, PLA_I16, &vol, NULL), ==, PLA_OK);
  const double c = cos(G_PI / 6), s = sin(G_PI / 6), step[3] = { 1.0, 0.8, 1.25 };
  const double affine[12] = { c * step[0], -s * step[1], 0, 0, s * step[0], c * step[1], 0, 0, 0,
                              0,           step[2],      0 };
  memcpy(vol->affine_mm, affine, sizeof affine);
  for (int d = 0; d < 3; d++) /* the middle of the grid at the origin */
    vol->affine_mm[4 * d + 3] =
        -(affine[4 * d] * 29.5 + affine[4 * d + 1] * 39.5 + affine[4 * d + 2] * 24.5);
  for (int v = 0; v < 60 * 80 * 50; v++) {
    const double x = (v % 60 - 29.5) * step[0], y = (v / 60 % 80 - 39.5) * step[1],
                 z = (v / 4800 - 24.5) * step[2];
    ((int16_t *)vol->voxels)[v] = fabs(x) < 20.0 && fabs(y) < 15.0 && fabs(z) < 15.0 ? 1000 : 0;
  }
  return vol;
}

static double
opacity_along(const PlaRaycast *cast, const double from[3], const double dir[3])
{
  PlaRays rays = { .width = 1, .height = 1 };
  uint32_t pixel;
  memcpy(rays.from, from, sizeof rays.from);
  memcpy(rays.dir, dir, sizeof rays.dir);
  g_assert_true(pla_raycast_draw(cast, &rays, NULL, &pixel));
  return (pixel >> 24) / 255.0;
}

/* straight through along each axis of the box, from both sides, and past it */
static void
test_box(void)
{
  PlaVolume *vol = turned_box();
  PlaRaycast *cast;
  g_assert_cmpint(pla_raycast_new(vol, &grey, NULL, &cast, NULL), ==, PLA_OK);
  const double c = cos(G_PI / 6), s = sin(G_PI / 6);
  const double axis[3][3] = { { c, s, 0 }, { -s, c, 0 }, { 0, 0, 1 } }, length[3] = { 40, 30, 30 };
  for (int a = 0; a < 3; a++)
    for (int side = -1; side <= 1; side += 2) {
      double from[3], dir[3], beside[3];
      for (int d = 0; d < 3; d++) {
        from[d] = -300.0 * side * axis[a][d] + 1.3 * axis[(a + 1) % 3][d];
        beside[d] = from[d] + 26.0 * axis[(a + 1) % 3][d];
        dir[d] = 7.0 * side * axis[a][d];
      }
      /* the border is a voxel wide, and an eighth of a pixel is lost in eight bits */
      const double expected = 1.0 - exp(-0.05 * length[a]);
      g_assert_cmpfloat_with_epsilon(opacity_along(cast, from, dir), expected, 0.02);
      g_assert_cmpfloat(opacity_along(cast, beside, dir), ==, 0.0);
    }
  pla_raycast_free(cast);
  pla_volume_free(vol);
}

/* the same picture for any number of threads; presets show something of their values */
static void
test_picture(void)
{
  enum { W = 48, H = 40 };
  PlaVolume *vol = turned_box();
  static uint32_t picture[2][W * H];
  int n;
  const PlaTransfer *presets = pla_transfers_get(&n);
  for (int i = 0; i < n; i++) {
    g_assert_true(pla_transfer_find(presets[i].id) == &presets[i]);
    for (int s = 1; s < presets[i].n; s++)
      g_assert_cmpfloat(presets[i].stop[s].value, >, presets[i].stop[s - 1].value);
    PlaRaycast *cast;
    g_assert_cmpint(pla_raycast_new(vol, &presets[i], NULL, &cast, NULL), ==, PLA_OK);
    const PlaRays rays = { .width = W,
                           .height = H,
                           .from = { 0, 200, 0 },
                           .dir = { 40, -200, 35 },
                           .dir_right = { -80.0 / W, 0, 0 },
                           .dir_down = { 0, 0, -70.0 / H } };
    for (int t = 0; t < 2; t++) {
      pla_threads_set(t ? 4 : 1);
      g_assert_true(pla_raycast_draw(cast, &rays, NULL, picture[t]));
    }
    g_assert_cmpint(memcmp(picture[0], picture[1], sizeof picture[0]), ==, 0);
    g_assert_cmphex(picture[0][H / 2 * W + W / 2] >> 24, >, 0xf0);
    g_assert_cmphex(picture[0][0], ==, 0);
    PlaProgress stopped;
    pla_progress_init(&stopped, NULL, NULL);
    pla_progress_cancel(&stopped);
    g_assert_false(pla_raycast_draw(cast, &rays, &stopped, picture[0]));
    pla_raycast_free(cast);
  }
  pla_threads_set(0);
  pla_volume_free(vol);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/raycast/box", test_box);
  g_test_add_func("/raycast/picture", test_picture);
  return g_test_run();
}
