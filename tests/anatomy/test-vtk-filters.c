/* Surfaces of balls and labels by the VTK module: volume, closedness, caps; occlusion in a well
 * against its closed form. */
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/occlusion.h"
#include "anatomy/surface/vtk-filters.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* radius - distance from the middle, in voxels */
static float *
ball(int n, double radius)
{
  float *value = g_new(float, (size_t)n *n *n);
  const double c = 0.5 * (n - 1);
  for (int k = 0, v = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++, v++)
        value[v] = (float)(radius - sqrt(pow(i - c, 2) + pow(j - c, 2) + pow(k - c, 2)));
  return value;
}

/* volume and closedness of a ball's surface under plain, mirrored and sheared affines */
static void
test_isosurface(void)
{
  const double affines[3][12] = {
    { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 },
    { -0.5, 0, 0, 9, 0, 2, 0, -3, 0, 0, 1.5, 4 },
    { 0.6, 0.3, 0, 1, -0.3, 0.9, 0.2, 2, 0, -0.4, 1.2, 3 },
  };
  const int n = 48;
  const double radius = 20.0;
  g_autofree float *value = ball(n, radius);
  for (int a = 0; a < 3; a++) {
    PlaMesh *mesh = NULL;
    PlaMeshSummary sum;
    PlaVolume frame = { .dims = { n, n, n, 1 } };
    memcpy(frame.affine_mm, affines[a], sizeof frame.affine_mm);
    PlaError err;
    g_assert_cmpint(pla_vtk_isosurface(value, (int[3]){ n, n, n }, affines[a], 0.0, false, &mesh,
                                       &err),
                    ==, PLA_OK);
    g_assert_cmpint(pla_mesh_summary(mesh, &sum, NULL), ==, PLA_OK);
    double expected = 4.0 / 3.0 * G_PI * pow(radius, 3) * pla_volume_voxel_mm3(&frame) * 1e-9;
    g_assert_true(sum.closed);
    g_assert_cmpint(sum.components, ==, 1);
    g_assert_cmpfloat_with_epsilon(sum.volume_m3, expected, 0.003 * expected);
    pla_mesh_free(mesh);
  }
  PlaMesh *none = NULL;
  g_assert_cmpint(pla_vtk_isosurface(value, (int[3]){ n, n, n }, affines[0], 1e6, false, &none,
                                     NULL),
                  ==, PLA_ERR_EMPTY);
  g_assert_null(none);
}

/* a shape that touches the border is capped half a voxel outside it */
static void
test_cap(void)
{
  const int n = 12;
  g_autofree float *value = g_new(float, n *n *n);
  for (int v = 0; v < n * n * n; v++)
    value[v] = 1.0f;
  PlaMesh *mesh = NULL;
  PlaMeshSummary sum;
  const double unit[12] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 };
  g_assert_cmpint(pla_vtk_isosurface(value, (int[3]){ n, n, n }, unit, 0.5, true, &mesh, NULL), ==,
                  PLA_OK);
  g_assert_cmpint(pla_mesh_summary(mesh, &sum, NULL), ==, PLA_OK);
  g_assert_true(sum.closed);
  for (int d = 0; d < 3; d++) {
    g_assert_cmpfloat_with_epsilon(sum.lo_m[d], -0.0005, 1e-9);
    g_assert_cmpfloat_with_epsilon(sum.hi_m[d], 0.0115, 1e-9);
  }
  pla_mesh_free(mesh);
}

/* labels: closed at the edge of the volume; smoothing and decimation keep the volume */
static void
test_label_surface(void)
{
  const int n = 40;
  g_autofree float *value = ball(n, 16.0);
  PlaVolume *vol = NULL;
  g_assert_cmpint(pla_volume_new((int[4]){ n, n, n, 1 }, PLA_U8, &vol, NULL), ==, PLA_OK);
  size_t inside = 0;
  for (int v = 0; v < n * n * n; v++)
    if (value[v] > 0.0f) {
      ((uint8_t *)vol->voxels)[v] = v % n < n / 2 ? 3 : 5;
      inside++;
    }
  PlaLabelMap *map = NULL;
  g_assert_cmpint(pla_label_map_take(vol, NULL, &map, NULL), ==, PLA_OK);
  PlaMesh *mesh = NULL, *fewer = NULL;
  PlaMeshSummary sum;
  g_assert_cmpint(pla_vtk_label_surface(map, (int[2]){ 3, 5 }, 2, &mesh, NULL), ==, PLA_OK);
  g_assert_cmpint(pla_vtk_smooth(mesh, 20, 0.1, NULL), ==, PLA_OK);
  g_assert_cmpint(pla_mesh_summary(mesh, &sum, NULL), ==, PLA_OK);
  g_assert_true(sum.closed);
  g_assert_cmpfloat_with_epsilon(sum.volume_m3, (double)inside * 1e-9,
                                 0.02 * (double)inside * 1e-9);

  g_assert_cmpint(pla_vtk_decimate(mesh, mesh->n_tris / 4, &fewer, NULL), ==, PLA_OK);
  g_assert_cmpint(fewer->n_tris, <=, mesh->n_tris / 4 + 2);
  double before = sum.volume_m3;
  g_assert_cmpint(pla_mesh_summary(fewer, &sum, NULL), ==, PLA_OK);
  g_assert_true(sum.closed);
  g_assert_cmpfloat_with_epsilon(sum.volume_m3, before, 0.01 * before);

  /* normals of a ball point away from its middle */
  g_autofree float *normal = g_new(float, 3 * (size_t)mesh->n_verts);
  g_assert_cmpint(pla_vtk_normals(mesh, normal, NULL), ==, PLA_OK);
  const double c = 0.5e-3 * (n - 1);
  for (int v = 0; v < mesh->n_verts; v++) {
    double p[3], len = 0.0, dot = 0.0;
    for (int d = 0; d < 3; d++) {
      p[d] = mesh->pos[3 * v + d] - c;
      len += p[d] * p[d];
      dot += p[d] * normal[3 * v + d];
    }
    g_assert_cmpfloat(dot / sqrt(len), >, 0.9);
  }
  pla_mesh_free(mesh);
  pla_mesh_free(fewer);
  g_assert_cmpint(pla_vtk_label_surface(map, (int[1]){ 9 }, 1, &mesh, NULL), ==, PLA_ERR_EMPTY);
  pla_label_map_free(map);
}

/* A cylindrical well, radius r and depth h, in a wide plate: the middle of its floor sees the sky
 * through the rim, r^2 / (r^2 + h^2) by cosine. */
static void
test_occlusion(void)
{
  enum { SIDES = 96, RINGS = 24, WALL = 24 };
  const double r = 1.0, h = 1.0, wide = 2.0;
  const int n_verts = 1 + SIDES * (RINGS + WALL + 1), n_tris = SIDES * (1 + 2 * (RINGS + WALL));
  PlaMesh *mesh = NULL;
  g_assert_cmpint(pla_mesh_new(n_verts, n_tris, 0, 0, &mesh, NULL), ==, PLA_OK);
  mesh->pos[2] = -h;
  int rows = 0;
  for (int k = 1; k <= RINGS; k++, rows++) /* floor */
    for (int s = 0; s < SIDES; s++) {
      double *p = mesh->pos + 3 * (1 + rows * SIDES + s), a = 2.0 * G_PI * s / SIDES;
      p[0] = r * k / RINGS * cos(a);
      p[1] = r * k / RINGS * sin(a);
      p[2] = -h;
    }
  for (int k = 1; k <= WALL; k++, rows++) /* wall */
    for (int s = 0; s < SIDES; s++) {
      double *p = mesh->pos + 3 * (1 + rows * SIDES + s), a = 2.0 * G_PI * s / SIDES;
      p[0] = r * cos(a);
      p[1] = r * sin(a);
      p[2] = h * (k - WALL) / (double)WALL;
    }
  for (int s = 0; s < SIDES; s++) { /* plate */
    double *p = mesh->pos + 3 * (1 + rows * SIDES + s), a = 2.0 * G_PI * s / SIDES;
    p[0] = wide * cos(a);
    p[1] = wide * sin(a);
  }
  rows++;
  int t = 0;
  for (int s = 0; s < SIDES; s++) {
    int next = (s + 1) % SIDES;
    memcpy(mesh->tri + 3 * t++, (int[3]){ 0, 1 + s, 1 + next }, 3 * sizeof(int));
    for (int k = 0; k + 1 < rows; k++) {
      int a = 1 + k * SIDES + s, b = 1 + k * SIDES + next;
      memcpy(mesh->tri + 3 * t++, (int[3]){ a, a + SIDES, b + SIDES }, 3 * sizeof(int));
      memcpy(mesh->tri + 3 * t++, (int[3]){ a, b + SIDES, b }, 3 * sizeof(int));
    }
  }
  g_assert_cmpint(t, ==, n_tris);
  g_assert_cmpint(1 + rows * SIDES, ==, n_verts);

  PlaTriMesh tris = pla_mesh_tris(mesh);
  g_autofree float *open = g_new(float, (size_t)n_verts);
  g_assert_cmpint(pla_occlusion(&tris, 400, open, NULL, NULL), ==, PLA_OK);
  g_assert_cmpfloat_with_epsilon(open[0], r * r / (r * r + h * h), 0.03);
  for (int s = 0; s < SIDES; s++) /* the outer rim of the plate sees everything */
    g_assert_cmpfloat_with_epsilon(open[n_verts - SIDES + s], 1.0, 0.01);

  /* the same bits for any number of threads */
  g_autofree float *again = g_new(float, (size_t)n_verts);
  pla_threads_set(4);
  g_assert_cmpint(pla_occlusion(&tris, 24, again, NULL, NULL), ==, PLA_OK);
  pla_threads_set(1);
  g_assert_cmpint(pla_occlusion(&tris, 24, open, NULL, NULL), ==, PLA_OK);
  g_assert_cmpmem(open, (size_t)n_verts * sizeof *open, again, (size_t)n_verts * sizeof *again);
  pla_threads_set(0);
  pla_mesh_free(mesh);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/vtk-filters/isosurface", test_isosurface);
  g_test_add_func("/vtk-filters/cap", test_cap);
  g_test_add_func("/vtk-filters/label-surface", test_label_surface);
  g_test_add_func("/occlusion/well", test_occlusion);
  return g_test_run();
}
