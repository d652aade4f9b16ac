/* Local changes of level sets against the same changes made everywhere. */
#include "anatomy/levelset/levelset-edit.h"

#include "anatomy/base/mat3.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static double
ball(const double p[3], const void *data)
{
  const double d[3] = { p[0] - 30.0, p[1] - 30.0, p[2] - 30.0 };
  return pla_vec3_norm(d) - *(const double *)data;
}

static PlaLevelSet *
ball_new(double radius, double band)
{
  const int dims[3] = { 60, 56, 52 };
  const double affine[12] = { 1, 0.1, 0, 0, 0, 1.1, 0, 0, 0, 0.05, 1.2, 0 };
  PlaLevelSet *ls;
  PlaError err = { 0 };
  g_assert_cmpint(pla_levelset_new(dims, affine, &ls, &err), ==, PLA_OK);
  pla_levelset_fill(ls, ball, &radius);
  g_assert_cmpint(pla_levelset_redistance(ls, band, NULL, &err), ==, PLA_OK);
  return ls;
}

static void
test_solid(void)
{
  const double band = 5.0;
  const double points[6] = { 40, 30, 30, 47, 33, 28 }, radii[2] = { 4, 3 };
  const PlaSolid capsule = {
    .kind = PLA_SOLID_CAPSULE, .n_points = 2, .point = points, .radius = radii
  };
  for (int op = 0; op < 2; op++) {
    PlaLevelSet *here = ball_new(14.0, band), *before, *all;
    PlaError err = { 0 };
    int lo[3], hi[3];
    double v[2];
    g_assert_cmpint(pla_levelset_dup(here, &before, &err), ==, PLA_OK);
    g_assert_cmpint(pla_levelset_dup(here, &all, &err), ==, PLA_OK);
    const PlaCsg csg = op ? PLA_CSG_DIFFERENCE : PLA_CSG_UNION;
    g_assert_cmpint(pla_levelset_edit_solid(here, csg, &capsule, NULL, lo, hi, &err), ==, PLA_OK);
    pla_levelset_combine_solid(all, csg, &capsule);
    g_assert_cmpint(pla_levelset_redistance(all, band, NULL, &err), ==, PLA_OK);
    size_t inside = 0, changed = 0;
    double worst = 0.0, near = 0.0;
    for (int k = 0; k < here->dims[2]; k++)
      for (int j = 0; j < here->dims[1]; j++)
        for (int i = 0; i < here->dims[0]; i++) {
          const size_t at = (size_t)i + 60u * ((size_t)j + 56u * (size_t)k);
          const bool in =
              i >= lo[0] && j >= lo[1] && k >= lo[2] && i <= hi[0] && j <= hi[1] && k <= hi[2];
          inside += in;
          if (!in) /* bit for bit */
            g_assert_cmpfloat(here->phi_mm[at], ==, before->phi_mm[at]);
          else
            worst = fmax(worst, fabs(here->phi_mm[at] - all->phi_mm[at]));
          if (in && fabsf(all->phi_mm[at]) < 1.5f)
            near = fmax(near, fabs(here->phi_mm[at] - all->phi_mm[at]));
          changed += fabsf(here->phi_mm[at] - before->phi_mm[at]) > 0.05f;
        }
    g_assert_cmpuint(inside, <, pla_levelset_n_voxels(here) / 2);
    g_assert_cmpuint(changed, >, 100);
    /* exact near the surface; further out the nearest triangle is inherited from neighbours */
    g_test_message("largest difference to redistancing everywhere: %.2g mm, near the surface %.2g",
                   worst, near);
    g_assert_cmpfloat(near, <, 1e-3);
    g_assert_cmpfloat(worst, <, 0.1);
    g_assert_cmpint(pla_levelset_measure(here, &v[0], NULL, &err), ==, PLA_OK);
    g_assert_cmpint(pla_levelset_measure(all, &v[1], NULL, &err), ==, PLA_OK);
    g_assert_cmpfloat_with_epsilon(v[0], v[1], 1e-3 * v[1]);
    pla_levelset_free(here);
    pla_levelset_free(before);
    pla_levelset_free(all);
  }
}

/* a brush that takes all there is, and one that does not reach the grid */
static void
test_ends(void)
{
  PlaLevelSet *ls = ball_new(6.0, 4.0);
  const double at[3] = { 30, 30, 30 }, radius = 12.0, far[3] = { 500, 0, 0 };
  PlaSolid eraser = { .kind = PLA_SOLID_TUBE, .n_points = 1, .point = at, .radius = &radius };
  PlaError err = { 0 };
  int lo[3], hi[3];
  g_assert_cmpint(pla_levelset_edit_solid(ls, PLA_CSG_DIFFERENCE, &eraser, NULL, lo, hi, &err), ==,
                  PLA_OK);
  for (size_t v = 0; v < pla_levelset_n_voxels(ls); v++)
    g_assert_cmpfloat(ls->phi_mm[v], ==, 4.0f);
  eraser.point = far;
  g_assert_cmpint(pla_levelset_edit_solid(ls, PLA_CSG_UNION, &eraser, NULL, lo, hi, &err), ==,
                  PLA_OK);
  g_assert_cmpint(lo[0], >, hi[0]);
  pla_levelset_free(ls);
}

/* values that were changed by hand */
static void
test_box(void)
{
  PlaLevelSet *ls = ball_new(10.0, 4.0), *all;
  PlaError err = { 0 };
  const int lo[3] = { 36, 25, 24 }, hi[3] = { 41, 28, 27 };
  for (int k = lo[2]; k <= hi[2]; k++)
    for (int j = lo[1]; j <= hi[1]; j++)
      for (int i = lo[0]; i <= hi[0]; i++)
        ls->phi_mm[(size_t)i + 60u * ((size_t)j + 56u * (size_t)k)] = -1.0f;
  g_assert_cmpint(pla_levelset_dup(ls, &all, &err), ==, PLA_OK);
  g_assert_cmpint(pla_levelset_redistance_box(ls, lo, hi, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_levelset_redistance(all, 4.0, NULL, &err), ==, PLA_OK);
  for (int k = lo[2] - 3; k <= hi[2] + 3; k++)
    for (int j = lo[1] - 3; j <= hi[1] + 3; j++)
      for (int i = lo[0] - 3; i <= hi[0] + 3; i++) {
        const size_t v = (size_t)i + 60u * ((size_t)j + 56u * (size_t)k);
        g_assert_cmpfloat_with_epsilon(ls->phi_mm[v], all->phi_mm[v],
                                       fabsf(all->phi_mm[v]) < 1.5f ? 1e-3 : 0.1);
      }
  pla_levelset_free(ls);
  pla_levelset_free(all);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/levelset-edit/solid", test_solid);
  g_test_add_func("/levelset-edit/ends", test_ends);
  g_test_add_func("/levelset-edit/box", test_box);
  return g_test_run();
}
