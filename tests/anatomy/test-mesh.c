/* What is said of a mesh, against shapes whose answer is known. */
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/mesh.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static PlaMesh *
new_mesh(int n_verts, int n_tris, int n_tets, int n_hexes)
{
  PlaMesh *mesh;
  g_assert_cmpint(pla_mesh_new(n_verts, n_tris, n_tets, n_hexes, &mesh, NULL), ==, PLA_OK);
  return mesh;
}

static PlaMeshSummary
summary_of(const PlaMesh *mesh)
{
  PlaMeshSummary summary;
  PlaError err = { 0 };
  pla_mesh_summary(mesh, &summary, &err);
  g_assert_cmpstr(err.message, ==, "");
  return summary;
}

static void
near(double value, double expected)
{
  g_assert_cmpfloat_with_epsilon(value, expected, 1e-12 * (1.0 + fabs(expected)));
}

/* corners of the unit cube in VTK's order, and its sides as outward triangles */
static const double cube_pos[8][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 1, 1, 0 }, { 0, 1, 0 },
                                       { 0, 0, 1 }, { 1, 0, 1 }, { 1, 1, 1 }, { 0, 1, 1 } };
static const int cube_tri[12][3] = { { 0, 2, 1 }, { 0, 3, 2 }, { 4, 5, 6 }, { 4, 6, 7 },
                                     { 0, 1, 5 }, { 0, 5, 4 }, { 1, 2, 6 }, { 1, 6, 5 },
                                     { 2, 3, 7 }, { 2, 7, 6 }, { 3, 0, 4 }, { 3, 4, 7 } };

/* writes a cube of edge @size with its corner at @at as vertices from @vert, triangles from @tri */
static void
put_cube(PlaMesh *mesh, int vert, int tri, const double at[3], double size)
{
  for (int v = 0; v < 8; v++)
    for (int d = 0; d < 3; d++)
      mesh->pos[3 * (vert + v) + d] = at[d] + size * cube_pos[v][d];
  for (int t = 0; t < 12; t++)
    for (int i = 0; i < 3; i++)
      mesh->tri[3 * (tri + t) + i] = vert + cube_tri[t][i];
}

static void
test_cube(void)
{
  PlaMesh *mesh = new_mesh(8, 12, 0, 0);
  put_cube(mesh, 0, 0, (const double[]){ -1, 2, 3 }, 0.5);
  PlaMeshSummary s = summary_of(mesh);
  g_assert_true(s.closed);
  g_assert_cmpint(s.components, ==, 1);
  near(s.volume_m3, 0.125);
  near(s.area_m2, 1.5);
  near(s.lo_m[0], -1.0);
  near(s.hi_m[2], 3.5);
  g_assert_cmpint(s.inverted, ==, 0);

  /* a triangle turned over, a triangle missing, one too many: not closed, no volume */
  PlaMesh *turned, *open, *extra = new_mesh(8, 13, 0, 0);
  g_assert_cmpint(pla_mesh_dup(mesh, &turned, NULL), ==, PLA_OK);
  g_assert_cmpint(pla_mesh_dup(mesh, &open, NULL), ==, PLA_OK);
  turned->tri[0] = mesh->tri[1];
  turned->tri[1] = mesh->tri[0];
  open->n_tris = 11;
  put_cube(extra, 0, 0, (const double[]){ 0, 0, 0 }, 1.0);
  memcpy(extra->tri + 36, extra->tri, 12);
  const PlaMesh *const bad[] = { turned, open, extra };
  for (int k = 0; k < 3; k++) {
    s = summary_of(bad[k]);
    g_assert_false(s.closed);
    g_assert_cmpfloat(s.volume_m3, ==, 0.0);
    g_assert_cmpint(s.components, ==, 1);
  }
  pla_mesh_free(extra);
  pla_mesh_free(open);
  pla_mesh_free(turned);
  pla_mesh_free(mesh);
}

/* two cubes that touch: apart as two sets of vertices, one piece through a shared vertex, and not
 * closed through a shared edge, where four triangles meet */
static void
test_two_cubes(void)
{
  PlaMesh *mesh = new_mesh(16, 24, 0, 0);
  put_cube(mesh, 0, 0, (const double[]){ 0, 0, 0 }, 1.0);
  put_cube(mesh, 8, 12, (const double[]){ 1, 1, 1 }, 1.0);
  PlaMeshSummary s = summary_of(mesh);
  g_assert_true(s.closed);
  g_assert_cmpint(s.components, ==, 2);
  near(s.volume_m3, 2.0);
  for (int i = 36; i < 72; i++) /* corner 6 of the first is corner 0 of the second */
    mesh->tri[i] = mesh->tri[i] == 8 ? 6 : mesh->tri[i];
  s = summary_of(mesh);
  g_assert_true(s.closed);
  g_assert_cmpint(s.components, ==, 1);
  near(s.volume_m3, 2.0);

  put_cube(mesh, 8, 12, (const double[]){ 1, 1, 0 }, 1.0);
  for (int i = 36; i < 72; i++) /* the edge 2-6 of the first is the edge 0-4 of the second */
    mesh->tri[i] = mesh->tri[i] == 8 ? 2 : mesh->tri[i] == 12 ? 6 : mesh->tri[i];
  s = summary_of(mesh);
  g_assert_false(s.closed);
  pla_mesh_free(mesh);
}

/* a torus of n x n quads: volume from the closed form of its polygonal sections,
 * (n/2 sin(2pi/n)) r^2 turned about a polygon, within the second order of the mesh */
static void
test_torus(void)
{
  enum { N = 200 };
  const double big = 0.03, small = 0.01;
  PlaMesh *mesh = new_mesh(N * N, 2 * N * N, 0, 0);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double a = 2.0 * M_PI * i / N, b = 2.0 * M_PI * j / N, r = big + small * cos(b);
      double *p = mesh->pos + 3 * (i * N + j);
      p[0] = r * cos(a);
      p[1] = r * sin(a);
      p[2] = small * sin(b);
      int v[4] = { i * N + j, (i + 1) % N * N + j, (i + 1) % N * N + (j + 1) % N,
                   i * N + (j + 1) % N };
      int *t = mesh->tri + 6 * (i * N + j);
      const int order[6] = { 0, 1, 2, 0, 2, 3 };
      for (int k = 0; k < 6; k++)
        t[k] = v[order[k]];
    }
  PlaMeshSummary s = summary_of(mesh);
  g_assert_true(s.closed);
  g_assert_cmpint(s.components, ==, 1);
  const double volume = 2.0 * M_PI * M_PI * big * small * small;
  const double area = 4.0 * M_PI * M_PI * big * small;
  g_assert_cmpfloat_with_epsilon(s.volume_m3, volume, 2e-3 * volume);
  g_assert_cmpfloat_with_epsilon(s.area_m2, area, 2e-3 * area);

  /* the same bits for any number of threads */
  pla_threads_set(1);
  PlaMeshSummary one = summary_of(mesh);
  pla_threads_set(4);
  PlaMeshSummary four = summary_of(mesh);
  pla_threads_set(0);
  g_assert_cmpmem(&one.volume_m3, 8, &four.volume_m3, 8);
  g_assert_cmpmem(&one.area_m2, 8, &four.area_m2, 8);
  pla_mesh_free(mesh);
}

/* the regular tet has arccos(1/3) at every edge; the corner tet 90 and arctan(sqrt 2) */
static void
test_dihedrals(void)
{
  static const double regular[4][3] = { { 1, 1, 1 }, { -1, 1, -1 }, { 1, -1, -1 }, { -1, -1, 1 } };
  static const double corner[4][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
  PlaMesh *mesh = new_mesh(4, 0, 1, 0);
  memcpy(mesh->tet, (const int[]){ 0, 1, 2, 3 }, 16);
  memcpy(mesh->pos, regular, sizeof regular);
  PlaMeshSummary s = summary_of(mesh);
  near(s.min_dihedral_deg, acos(1.0 / 3.0) * 180.0 / M_PI);
  near(s.max_dihedral_deg, acos(1.0 / 3.0) * 180.0 / M_PI);
  near(fabs(s.volume_m3), 8.0 / 3.0);
  memcpy(mesh->pos, corner, sizeof corner);
  s = summary_of(mesh);
  near(s.min_dihedral_deg, atan(sqrt(2.0)) * 180.0 / M_PI);
  near(s.max_dihedral_deg, 90.0);
  near(s.volume_m3, 1.0 / 6.0);
  g_assert_cmpint(s.inverted, ==, 0);
  memcpy(mesh->pos + 9, (const double[]){ 0.25, 0.25, 0.0 }, 24); /* flat */
  s = summary_of(mesh);
  near(s.min_dihedral_deg, 0.0);
  near(s.max_dihedral_deg, 180.0);
  g_assert_cmpint(s.inverted, ==, 1);
  mesh->pos[11] = -1.0;
  g_assert_cmpint(summary_of(mesh).inverted, ==, 1);
  g_assert_cmpint(pla_mesh_count_inverted(mesh), ==, 1);
  pla_mesh_free(mesh);
}

/* a twisted hex whose trilinear volume is known: the top turned by a small angle a,
 * V = integral of the area of the sections = (2 + cos a) / 3 */
static void
test_hexes(void)
{
  PlaMesh *mesh = new_mesh(8, 0, 0, 1);
  const double a = 0.3;
  for (int v = 0; v < 8; v++) {
    double x = cube_pos[v][0] - 0.5, y = cube_pos[v][1] - 0.5, turn = v < 4 ? 0.0 : a;
    mesh->pos[3 * v] = cos(turn) * x - sin(turn) * y;
    mesh->pos[3 * v + 1] = sin(turn) * x + cos(turn) * y;
    mesh->pos[3 * v + 2] = cube_pos[v][2];
    mesh->hex[v] = v;
  }
  PlaMeshSummary s = summary_of(mesh);
  near(s.volume_m3, (2.0 + cos(a)) / 3.0);
  g_assert_cmpint(s.inverted, ==, 0);
  g_assert_cmpint(pla_mesh_repair_hexes(mesh), ==, 0);
  for (int v = 0; v < 8; v++)
    mesh->hex[v] = (v + 4) % 8;
  g_assert_cmpint(pla_mesh_count_inverted(mesh), ==, 1);
  g_assert_cmpint(pla_mesh_repair_hexes(mesh), ==, 1);
  g_assert_cmpint(mesh->hex[0], ==, 0);
  pla_mesh_free(mesh);
}

static void
test_checks(void)
{
  PlaMesh *mesh = new_mesh(3, 1, 0, 0);
  PlaMeshSummary summary;
  PlaError err = { 0 };
  mesh->tri[2] = 3;
  g_assert_cmpint(pla_mesh_summary(mesh, &summary, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "vertex 3"));
  mesh->tri[2] = 2;
  mesh->pos[4] = NAN;
  g_assert_cmpint(pla_mesh_check(mesh, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "vertex 1"));
  mesh->pos[4] = 0.0;

  /* a field added twice is replaced; an unused vertex is no piece */
  float *u = pla_mesh_add_field(mesh, "u", PLA_ON_VERTS, PLA_F32, 3);
  u[8] = 1.0f;
  g_assert_nonnull(pla_mesh_add_field(mesh, "u", PLA_ON_VERTS, PLA_I16, 1));
  g_assert_cmpint(mesh->n_fields, ==, 1);
  g_assert_cmpint(pla_mesh_find_field(mesh, "u", PLA_ON_VERTS)->dtype, ==, PLA_I16);
  mesh->tri[2] = 1;
  g_assert_cmpint(summary_of(mesh).components, ==, 1);
  pla_mesh_free(mesh);
  PlaMesh *none = new_mesh(0, 0, 0, 0);
  PlaMeshSummary s = summary_of(none);
  g_assert_false(s.closed);
  g_assert_cmpint(s.components, ==, 0);
  pla_mesh_free(none);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/anatomy/mesh/cube", test_cube);
  g_test_add_func("/anatomy/mesh/two-cubes", test_two_cubes);
  g_test_add_func("/anatomy/mesh/torus", test_torus);
  g_test_add_func("/anatomy/mesh/dihedrals", test_dihedrals);
  g_test_add_func("/anatomy/mesh/hexes", test_hexes);
  g_test_add_func("/anatomy/mesh/checks", test_checks);
  return g_test_run();
}
