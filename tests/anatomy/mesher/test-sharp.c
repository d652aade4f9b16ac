/* Conforming tets inside surfaces with sharp edges: blocks, straight and turned, and a cylinder
 * keep their corners, rims and volume; voxel steps and smooth bodies are meshed as by the level
 * set. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesher/tets.h"
#include "anatomy/surface/surface.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static PlaMesh *
new_surface(int n_verts, int n_tris)
{
  PlaMesh *mesh;
  PlaError err;
  g_assert_cmpint(pla_mesh_new(n_verts, n_tris, 0, 0, &mesh, &err), ==, PLA_OK);
  return mesh;
}

/* turned by @deg about z, then about x, around the origin */
static void
turn(double x[3], double deg)
{
  const double c = cos(deg * G_PI / 180.0), s = sin(deg * G_PI / 180.0);
  const double y[3] = { c * x[0] - s * x[1], s * x[0] + c * x[1], x[2] };
  x[0] = y[0];
  x[1] = c * y[1] - s * y[2];
  x[2] = s * y[1] + c * y[2];
}

/* a block around the origin with sides @size, m */
static PlaMesh *
make_block(const double size[3], double deg)
{
  static const int tri[36] = { 0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                               2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5 };
  PlaMesh *mesh = new_surface(8, 12);
  for (int v = 0; v < 8; v++) {
    for (int d = 0; d < 3; d++)
      mesh->pos[3 * v + d] = ((v >> d & 1) - 0.5) * size[d];
    turn(mesh->pos + 3 * v, deg);
  }
  memcpy(mesh->tri, tri, sizeof tri);
  return mesh;
}

/* a cylinder along z of radius @r and height @h with @n sides, m */
static PlaMesh *
make_cylinder(double r, double h, int n)
{
  PlaMesh *mesh = new_surface(2 * n + 2, 4 * n);
  for (int i = 0; i < 2 * n; i++) {
    const double at = 2.0 * G_PI * (i % n) / n;
    const double x[3] = { r * cos(at), r * sin(at), i < n ? -0.5 * h : 0.5 * h };
    memcpy(mesh->pos + 3 * i, x, sizeof x);
  }
  mesh->pos[6 * n + 2] = -0.5 * h;
  mesh->pos[6 * n + 5] = 0.5 * h;
  for (int i = 0; i < n; i++) {
    const int j = (i + 1) % n;
    const int tri[12] = { i, j, n + i, j, n + j, n + i, 2 * n, j, i, 2 * n + 1, n + i, n + j };
    memcpy(mesh->tri + 12 * i, tri, sizeof tri);
  }
  return mesh;
}

static PlaMesh *
make_tets(const PlaMesh *surface, double cell_mm, PlaTetReport *report)
{
  const PlaTetOptions opts = { .cell_mm = cell_mm, .levels = 1, .smooth_mm = -1.0 };
  PlaMesh *mesh;
  PlaError err;
  g_assert_cmpint(pla_tets_from_surface(surface, &opts, NULL, &mesh, report, &err), ==, PLA_OK);
  g_assert_cmpint(report->inverted, ==, 0);
  g_assert_cmpfloat(report->min_dihedral_deg, >=, 9.0);
  g_assert_cmpfloat(report->max_dihedral_deg, <=, 165.0);
  return mesh;
}

static double
volume_of(const PlaMesh *mesh)
{
  PlaMeshSummary s;
  PlaError err;
  g_assert_cmpint(pla_mesh_summary(mesh, &s, &err), ==, PLA_OK);
  g_assert_cmpint(s.components, ==, 1);
  return s.volume_m3;
}

/* distance of the vertex of @mesh nearest to @x, m */
static double
nearest_vertex(const PlaMesh *mesh, const double x[3])
{
  double least = INFINITY;
  for (int v = 0; v < mesh->n_verts; v++) {
    double way[3];
    pla_vec3_sub(mesh->pos + 3 * v, x, way);
    least = fmin(least, pla_vec3_norm(way));
  }
  return least;
}

/* straight, a block has its volume; turned, its corners and nearly its volume; same bits for any
 * number of threads */
static void
test_blocks(void)
{
  const double size[3] = { 0.1, 0.025, 0.025 };
  const struct {
    double deg, cell_mm, most; /* share of the volume that may be missing */
  } cases[] = { { 0, 10, 0.005 },  { 0, 6, 0.005 },  { 0, 4, 0.005 },
                { 20, 10, 0.008 }, { 20, 6, 0.005 }, { 20, 4, 0.003 } };
  for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
    PlaMesh *surface = make_block(size, cases[k].deg), *mesh[3];
    PlaTetReport r;
    for (int i = 0; i < 3; i++) {
      pla_threads_set(1 << i);
      mesh[i] = make_tets(surface, cases[k].cell_mm, &r);
      g_assert_cmpmem(mesh[i]->pos, (size_t)mesh[i]->n_verts * 24, mesh[0]->pos,
                      (size_t)mesh[0]->n_verts * 24);
      g_assert_cmpmem(mesh[i]->tet, (size_t)mesh[i]->n_tets * 16, mesh[0]->tet,
                      (size_t)mesh[0]->n_tets * 16);
    }
    pla_threads_set(0);
    double corner = 0.0;
    for (int v = 0; v < 8; v++)
      corner = fmax(corner, nearest_vertex(mesh[0], surface->pos + 3 * v));
    const double volume = volume_of(mesh[0]) / (size[0] * size[1] * size[2]);
    g_test_message("turned by %g, cells of %g mm: volume %+.3f %%, corners within %.3f mm, "
                   "%.1f to %.1f degrees, faces within %.3f mm",
                   cases[k].deg, cases[k].cell_mm, 100.0 * (volume - 1.0), 1000.0 * corner,
                   r.min_dihedral_deg, r.max_dihedral_deg, r.facet_mm);
    g_assert_cmpfloat(fabs(volume - 1.0), <, cases[k].most);
    g_assert_cmpfloat(corner, <, 1e-9);
    for (int i = 0; i < 3; i++)
      pla_mesh_free(mesh[i]);
    pla_mesh_free(surface);
  }
}

/* what is missing of a cylinder falls with the square of the cell, as of any inscribed body */
static void
test_rims(void)
{
  const double cell_mm[2] = { 6.0, 3.0 };
  PlaMesh *surface = make_cylinder(0.02, 0.05, 96);
  double missing[2];
  for (int k = 0; k < 2; k++) {
    PlaTetReport r;
    PlaMesh *mesh = make_tets(surface, cell_mm[k], &r);
    int on_rim = 0;
    for (int v = 0; v < mesh->n_verts; v++) {
      const double *x = mesh->pos + 3 * v;
      on_rim += fabs(fabs(x[2]) - 0.025) < 1e-9 && hypot(x[0], x[1]) > 0.0199;
    }
    missing[k] = 1.0 - volume_of(mesh) / volume_of(surface);
    g_test_message("cells of %g mm: volume %+.3f %%, %d vertices on the rims, %.1f to %.1f degrees",
                   cell_mm[k], -100.0 * missing[k], on_rim, r.min_dihedral_deg, r.max_dihedral_deg);
    /* both rims are 251 mm long */
    g_assert_cmpint(on_rim, >, (int)(0.7 * 251.0 / cell_mm[k]));
    pla_mesh_free(mesh);
  }
  g_assert_cmpfloat(fabs(missing[0]), <, 0.01);
  g_assert_cmpfloat(fabs(missing[1]), <, 0.4 * fabs(missing[0]));
  pla_mesh_free(surface);
}

/* A ball in voxels of a fifth of a cell has edges of 90 degrees all over, none of them meant. */
static PlaMesh *
make_steps(double r_mm, double voxel_mm)
{
  enum { N = 40, SIDE = N + 1 };
  static unsigned char inside[N + 2][N + 2][N + 2];
  static int vert[SIDE][SIDE][SIDE];
  int n_verts = 0, n_tris = 0;
  for (int k = 0; k < N; k++)
    for (int j = 0; j < N; j++)
      for (int i = 0; i < N; i++)
        inside[k + 1][j + 1][i + 1] =
            voxel_mm *
                sqrt((i - 19.5) * (i - 19.5) + (j - 19.5) * (j - 19.5) + (k - 19.5) * (k - 19.5)) <
            r_mm;
  memset(vert, -1, sizeof vert);
  PlaMesh *mesh = new_surface(SIDE * SIDE * SIDE, 12 * N * N * N / 8);
  for (int at = 0; at < N * N * N; at++)
    for (int side = 0; side < 6; side++) {
      const int x[3] = { at % N, at / N % N, at / (N * N) }, d = side / 2, up = side % 2;
      int next[3] = { x[0] + 1, x[1] + 1, x[2] + 1 }, v[4];
      if (!inside[next[2]][next[1]][next[0]])
        continue;
      next[d] += up ? 1 : -1;
      if (inside[next[2]][next[1]][next[0]])
        continue;
      for (int c = 0; c < 4; c++) {
        int y[3] = { x[0], x[1], x[2] };
        y[d] += up;
        y[(d + 1) % 3] += c == 1 || c == 2;
        y[(d + 2) % 3] += c >= 2;
        int *index = &vert[y[2]][y[1]][y[0]];
        if (*index < 0) {
          for (int e = 0; e < 3; e++)
            mesh->pos[3 * n_verts + e] = (y[e] - N / 2) * voxel_mm / 1000.0;
          *index = n_verts++;
        }
        v[c] = *index;
      }
      const int tri[6] = { v[0], v[up ? 1 : 2], v[up ? 2 : 1], v[0], v[up ? 2 : 3], v[up ? 3 : 2] };
      memcpy(mesh->tri + 3 * n_tris, tri, sizeof tri);
      n_tris += 2;
    }
  mesh->n_verts = n_verts;
  mesh->n_tris = n_tris;
  return mesh;
}

static void
test_steps(void)
{
  const PlaTetOptions opts = { .cell_mm = 5.0, .levels = 1, .smooth_mm = -1.0 };
  const int region = 1;
  PlaMesh *surface = make_steps(15.3, 1.0), *mesh, *plain;
  const PlaTriMesh tris = pla_mesh_tris(surface);
  PlaLevelSet *ls;
  PlaTetReport r;
  PlaError err;
  mesh = make_tets(surface, opts.cell_mm, &r);
  g_assert_cmpint(pla_levelset_from_surface(&tris, opts.cell_mm / 3.0, 2.0 * opts.cell_mm, NULL,
                                            &ls, &err),
                  ==, PLA_OK);
  const PlaLevelSet *group[1] = { ls };
  g_assert_cmpint(pla_tets_from_levelsets(group, &region, 1, NULL, &opts, NULL, &plain, NULL, &err),
                  ==, PLA_OK);
  g_assert_cmpmem(mesh->pos, (size_t)mesh->n_verts * 24, plain->pos, (size_t)plain->n_verts * 24);
  g_assert_cmpmem(mesh->tet, (size_t)mesh->n_tets * 16, plain->tet, (size_t)plain->n_tets * 16);
  pla_levelset_free(ls);
  pla_mesh_free(plain);
  pla_mesh_free(mesh);
  pla_mesh_free(surface);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/sharp/blocks", test_blocks);
  g_test_add_func("/sharp/rims", test_rims);
  g_test_add_func("/sharp/steps", test_steps);
  return g_test_run();
}
