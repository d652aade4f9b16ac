/* Selections of a scene: several keys together, and the area of a surface inside a place. */
#include "app/simulate/scene-where.h"

#include "sim/bodies/carved-mesh.h"

#include <glib.h>
#include <math.h>
#include <string.h>

enum { N = 20 };

/* a square of 40 x 40 mm at z = 0 in N x N x 2 triangles; those at x < 20 mm border on air, the
 * others on bone; below them a tet, which makes it a mesh of solids */
static PlaMesh *
make_square(void)
{
  PlaMesh *mesh;
  PlaError err;
  g_assert_cmpint(pla_mesh_new((N + 1) * (N + 1) + 4, 2 * N * N, 1, 0, &mesh, &err), ==, PLA_OK);
  uint8_t *border = pla_mesh_add_field(mesh, PLA_MESH_BORDER, PLA_ON_CELLS, PLA_U8, 1);
  for (int j = 0; j <= N; j++)
    for (int i = 0; i <= N; i++) {
      double *x = mesh->pos + 3 * (j * (N + 1) + i);
      x[0] = 0.04 * i / N;
      x[1] = 0.04 * j / N;
    }
  for (int q = 0; q < N * N; q++) {
    const int a = q / N * (N + 1) + q % N,
              tri[6] = { a, a + 1, a + N + 2, a, a + N + 2, a + N + 1 };
    memcpy(mesh->tri + 6 * q, tri, sizeof tri);
    border[2 * q] = border[2 * q + 1] = q % N < N / 2 ? 0 : 2;
  }
  for (int k = 0; k < 4; k++) {
    double *x = mesh->pos + 3 * ((N + 1) * (N + 1) + k);
    x[2] = k == 3 ? -0.04 : -0.01;
    x[0] = 0.04 * (k == 1);
    x[1] = 0.04 * (k == 2);
    mesh->tet[k] = (N + 1) * (N + 1) + k;
  }
  uint8_t *pins = pla_mesh_add_field(mesh, "pins", PLA_ON_VERTS, PLA_U8, 1);
  pins[3] = pins[(N + 1) * (N + 1)] = 1;
  uint8_t *flesh = pla_mesh_add_field(mesh, "flesh", PLA_ON_CELLS, PLA_U8, 1);
  flesh[mesh->n_tris] = 1;
  return mesh;
}

/* the area that @where selects, mm2, with the place of its middle */
static double
area_of(const PlaMesh *mesh, const char *where, double middle_mm[2])
{
  const PlaSceneSelection selection = { mesh, NULL };
  g_autofree double *area = g_new0(double, mesh->n_verts);
  JsonNode *node;
  PlaError err;
  int n_tris;
  double sum = 0.0;
  g_assert_cmpint(pla_json_parse(where, strlen(where), "where", &node, &err), ==, PLA_OK);
  g_assert_cmpint(pla_scene_select_surface(&selection, (PlaJson){ node, "where" }, area, &n_tris,
                                           &err),
                  ==, PLA_OK);
  middle_mm[0] = middle_mm[1] = 0.0;
  for (int v = 0; v < mesh->n_verts; v++) {
    sum += 1e6 * area[v];
    for (int d = 0; d < 2; d++)
      middle_mm[d] += 1e9 * area[v] * mesh->pos[3 * v + d];
  }
  for (int d = 0; d < 2; d++)
    middle_mm[d] /= sum;
  json_node_unref(node);
  return sum;
}

/* a disc has its area and its middle wherever it lies among the triangles */
static void
test_disc(void)
{
  PlaMesh *mesh = make_square();
  for (int trial = 0; trial < 20; trial++) {
    const double x = 14.0 + 0.37 * trial, y = 21.0 - 0.23 * trial, r = 5.0 + 0.19 * trial;
    g_autofree char *where =
        g_strdup_printf("{\"near\": {\"at_mm\": [%g, %g, 0], \"radius_mm\": %g}}", x, y, r);
    double middle[2];
    const double area = area_of(mesh, where, middle);
    g_assert_cmpfloat(fabs(area / (G_PI * r * r) - 1.0), <, 0.01);
    g_assert_cmpfloat(hypot(middle[0] - x, middle[1] - y), <, 0.02);
  }
  pla_mesh_free(mesh);
}

/* a border splits a disc, a box and a layer; what is whole stays exact */
static void
test_together(void)
{
  PlaMesh *mesh = make_square();
  double middle[2];
  double area =
      area_of(mesh, "{\"border\": \"air\", \"near\": {\"at_mm\": [20, 20, 0], \"radius_mm\": 9}}",
              middle);
  g_assert_cmpfloat(fabs(area / (0.5 * G_PI * 81.0) - 1.0), <, 0.01);
  /* of half a disc: 4 r / (3 pi) off its straight side */
  g_assert_cmpfloat(fabs(middle[0] - (20.0 - 12.0 / G_PI)), <, 0.03);
  area = area_of(mesh, "{\"border\": \"bone\"}", middle);
  g_assert_cmpfloat_with_epsilon(area, 800.0, 1e-9);
  area = area_of(mesh, "{\"box_mm\": [[5, 7, -1], [16.5, 30.25, 1]]}", middle);
  g_assert_cmpfloat(fabs(area / (11.5 * 23.25) - 1.0), <, 0.01);
  area = area_of(mesh,
                 "{\"plane\": {\"through_mm\": [20, 20, 0], \"normal\": [1, 1, 0], "
                 "\"within_mm\": 2}, \"border\": \"air\"}",
                 middle);
  /* a band of 4 mm along the diagonal, the half of it at x < 20 */
  g_assert_cmpfloat(fabs(area / (4.0 * 20.0 * sqrt(2.0)) - 1.0), <, 0.02);
  pla_mesh_free(mesh);
}

/* vertices: each key narrows the others; several places, or nothing at all, are refused */
static void
test_vertices(void)
{
  static const struct {
    const char *where;
    int count; /* -1: refused */
  } cases[] = {
    { "{\"all\": true}", (N + 1) * (N + 1) + 4 },
    { "{\"border\": \"air\"}", (N + 1) * (N / 2 + 1) },
    { "{\"border\": \"air\", \"box_mm\": [[19, -1, -1], [50, 50, 1]]}", N + 1 },
    { "{\"nodes\": [0, 1, 441], \"border\": \"air\"}", 2 },
    { "{\"border\": \"bone\", \"near\": {\"at_mm\": [16, 20, 0]}}", 1 },
    { "{\"border\": \"bone\", \"near\": {\"at_mm\": [6, 20, 0]}}", -1 },
    { "{\"near\": {\"at_mm\": [6, 20, 0]}, \"box_mm\": [[0, 0, 0], [1, 1, 1]]}", -1 },
    { "{\"nodes\": [0], \"border\": \"bone\"}", -1 },
    { "{\"set\": \"pins\"}", 2 },
    { "{\"set\": \"flesh\"}", 4 },
    { "{\"set\": \"pins\", \"border\": \"air\"}", 1 },
    { "{\"set\": \"skin\"}", -1 },
    { "{}", -1 },
  };
  PlaMesh *mesh = make_square();
  const PlaSceneSelection selection = { mesh, NULL };
  g_autofree bool *marked = g_new0(bool, mesh->n_verts);
  for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
    JsonNode *node;
    PlaError err;
    size_t count;
    g_assert_cmpint(pla_json_parse(cases[k].where, strlen(cases[k].where), "where", &node, &err),
                    ==, PLA_OK);
    const PlaStatus st =
        pla_scene_select(&selection, (PlaJson){ node, "where" }, false, marked, &count, &err);
    g_test_message("%s: %s", cases[k].where, st == PLA_OK ? "selects" : err.message);
    g_assert_cmpint(st == PLA_OK ? (int)count : -1, ==, cases[k].count);
    json_node_unref(node);
  }
  pla_mesh_free(mesh);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/scene-where/disc", test_disc);
  g_test_add_func("/scene-where/together", test_together);
  g_test_add_func("/scene-where/vertices", test_vertices);
  return g_test_run();
}
