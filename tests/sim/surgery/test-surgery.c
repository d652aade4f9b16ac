/* Operations on a slab of skin: incision, undermining, excision, hooks, sutures. */
#include "anatomy/base/parallel.h"
#include "sim/solve/solve.h"
#include "sim/surgery/surgery-map.h"
#include "sim/surgery/surgery-private.h"
#include "tests/sim/surgery/slab.h"

#include <math.h>
#include <string.h>

static int
n_bodies(PlaSurgery *s)
{
  return pla_cut_mesh_bodies(pla_surgery_get_mesh(s), NULL);
}

/* area of the wounds, m2 */
static double
wound_area(PlaSurgery *s)
{
  const PlaCutSurface *surface;
  const double *pos;
  double area = 0.0;
  TRY(pla_surgery_get_surface(s, &surface, &pos, &err));
  for (int t = 0; t < surface->n_tris; t++)
    if (surface->cut[t] >= 0) {
      const double *a = &pos[3 * surface->tri[3 * t]], *b = &pos[3 * surface->tri[3 * t + 1]],
                   *c = &pos[3 * surface->tri[3 * t + 2]];
      double u[3], v[3], n[3];
      for (int d = 0; d < 3; d++) {
        u[d] = b[d] - a[d];
        v[d] = c[d] - a[d];
      }
      n[0] = u[1] * v[2] - u[2] * v[1];
      n[1] = u[2] * v[0] - u[0] * v[2];
      n[2] = u[0] * v[1] - u[1] * v[0];
      area += 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    }
  return area;
}

/* a cut 6 mm deep has two faces of about its length and depth, and a hook opens it */
static void
test_incision(void)
{
  PlaSurgery *s = slab(4.0);
  const double path[6] = { -0.0151, 0.0013, 0.001, 0.0173, 0.0021, 0.002 };
  TRY(pla_surgery_incise(s, "cut", path, 2, 0.006, 0.0, NULL, &err));
  /* what ends inside a tet does not open it: up to a cell is lost at each end and at the bottom */
  g_assert_cmpfloat(wound_area(s), <, 2.0 * 0.0324 * 0.006 * 1.05);
  g_assert_cmpfloat(wound_area(s), >, 2.0 * 0.022 * 0.003);
  PlaFemReport report;
  const double at[3] = { 0.001, 0.0035, 0.0 }, pull[3] = { 0, 0.006, 0.002 };
  TRY(pla_surgery_hook(s, at, pull, &err));
  TRY(pla_surgery_solve(s, 1e-5, NULL, &report, &err));
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  g_assert_cmpint(report.inverted, ==, 0);
  PlaSurgeryReadings read;
  TRY(pla_surgery_read(s, &read, &err));
  g_assert_cmpint(read.n_hooks, ==, 1);
  g_assert_cmpfloat(read.max_hook_force, >, 0.05);
  g_assert_cmpfloat(read.max_hook_force, <, 5.0);
  g_assert_cmpfloat(read.max_stretch, >, 1.1);
  /* let go, and it returns */
  pla_surgery_release_hooks(s);
  TRY(pla_surgery_solve(s, 1e-9, NULL, &report, &err));
  PlaCutMeshView view = pla_cut_mesh_get(pla_surgery_get_mesh(s));
  for (int i = 0; i < 3 * view.mesh.n_verts; i++)
    g_assert_cmpfloat_with_epsilon(pla_surgery_get_pos(s)[i], view.mesh.rest[i], 1e-6);
  pla_surgery_free(s);
}

static void
lens(double length, double width, double *path, int n)
{
  for (int i = 0; i < n; i++) {
    double t = 2.0 * G_PI * i / n;
    path[3 * i] = 0.5 * length * cos(t);
    path[3 * i + 1] = 0.5 * width * sin(t) * fabs(sin(t));
    path[3 * i + 2] = 0.0;
  }
}

/* a fusiform excision is removed, undermined and closed by a row of stitches */
static void
test_excision(void)
{
  PlaSurgery *s = slab(3.0);
  double path[3 * 24];
  PlaSurgerySpecimen piece;
  lens(0.0302, 0.0121, path, 24);
  TRY(pla_surgery_excise(s, "lesion", path, 24, 0.006, &piece, NULL, &err));
  /* the floor lies at the depth that was asked for */
  double area = 0.0;
  for (int i = 0; i < 24; i++) {
    const double *p = &path[3 * i], *q = &path[3 * ((i + 1) % 24)];
    area += 0.5 * (p[0] * q[1] - p[1] * q[0]);
  }
  g_assert_cmpfloat_with_epsilon(piece.volume, area * 0.006, area * 0.006 * 1e-6);
  pla_surgery_specimen_clear(&piece);
  g_assert_cmpint(n_bodies(s), ==, 1);
  TRY(pla_surgery_undermine(s, &(PlaSurgeryRegion){ .from = "lesion", .radius = 0.018 }, 0.006,
                            NULL, &err));
  PlaSurgeryRow row;
  TRY(pla_surgery_suture(s, "lesion", "lesion", 0.004, 1.0, &row, &err));
  g_assert_cmpint(row.n_stitches, ==, 8); /* those at both tips are gentle */
  PlaFemReport report;
  TRY(pla_surgery_solve(s, 1e-5, NULL, &report, &err));
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  g_assert_cmpint(report.inverted, ==, 0);
  PlaSurgeryReadings read;
  TRY(pla_surgery_read(s, &read, &err));
  g_test_message("gap %.3f mm, at the tips %.3f mm, tension %.3f N, stretch %.2f",
                 1e3 * read.closed_gap, 1e3 * read.tip_gap, read.max_tension, read.max_stretch);
  g_assert_cmpfloat(read.closed_gap, <, 0.0001);
  g_assert_cmpfloat(read.edge_gap, <, 0.0005);
  g_assert_cmpfloat(read.max_stretch, <, 2.0);
  g_assert_cmpfloat(read.max_tension, >, 0.01);
  g_assert_cmpfloat(read.closure_force, >, read.max_tension);
  pla_surgery_free(s);
}

/* a cut through everything opens the underside too, which is no edge of the wound to sew */
static void
test_through(void)
{
  const double path[6] = { -0.0121, 0.0013, 0.0, 0.0131, 0.0017, 0.0 };
  PlaSurgery *s = slab(4.0);
  PlaSurgeryRow row;
  TRY(pla_surgery_incise(s, "cut", path, 2, 0.0, 0.0, NULL, &err));
  const PlaSurgeryWoundView wound = pla_surgery_get_wound(s, 0);
  for (int k = 0; k < 2; k++) {
    g_assert_cmpint(wound.n_edge[k], >, 5);
    for (int i = 0; i < wound.n_edge[k]; i++) {
      double at[3];
      pla_surgery_get_edge(s, 0, k, i, at);
      g_assert_cmpfloat(fabs(at[2]), <, 1e-6);
    }
  }
  TRY(pla_surgery_suture(s, "cut", "cut", 0.004, 1.0, &row, &err));
  g_assert_cmpint(row.n_stitches, <=, 7);
  pla_surgery_free(s);
}

/* undermining a closed cut all around frees a flap: less force lifts it */
static void
test_undermining(void)
{
  double force[2];
  for (int k = 0; k < 2; k++) {
    PlaSurgery *s = slab(3.0);
    const double path[9] = { -0.0121, -0.0101, 0, -0.0121, 0.0117, 0, 0.0131, 0.0117, 0 };
    TRY(pla_surgery_incise(s, "flap", path, 3, 0.006, 0.0, NULL, &err));
    if (k)
      TRY(pla_surgery_undermine(s, &(PlaSurgeryRegion){ .from = "flap", .radius = 0.015 }, 0.006,
                                NULL, &err));
    const double at[3] = { -0.009, 0.009, 0 }, pull[3] = { 0, 0, 0.004 };
    TRY(pla_surgery_hook(s, at, pull, &err));
    PlaFemReport report;
    PlaSurgeryReadings read;
    TRY(pla_surgery_solve(s, 1e-5, NULL, &report, &err));
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    TRY(pla_surgery_read(s, &read, &err));
    force[k] = read.max_hook_force;
    pla_surgery_free(s);
  }
  g_test_message("%.3f N, undermined %.3f N", force[0], force[1]);
  g_assert_cmpfloat(force[1], <, 0.5 * force[0]);
}

/* what cannot be done says so and changes nothing */
static void
test_refusals(void)
{
  PlaSurgery *s = slab(4.0);
  PlaError err = { 0 };
  PlaCutMeshView before = pla_cut_mesh_get(pla_surgery_get_mesh(s));
  const double off[6] = { 0, 0, 0.02, 0.01, 0, 0.02 }, point[6] = { 0, 0, 0, 0, 0, 0 };
  double ring[3 * 12];
  lens(0.02, 0.02, ring, 12);
  g_assert_cmpint(pla_surgery_incise(s, "a", off, 2, 0.006, 0, NULL, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "point 1"));
  g_assert_cmpint(pla_surgery_incise(s, "a", point, 2, 0.006, 0, NULL, &err), ==, PLA_ERR_USAGE);
  g_assert_cmpint(pla_surgery_incise(s, "a", point, 1, 0.006, 0, NULL, &err), ==, PLA_ERR_USAGE);
  g_assert_cmpint(pla_surgery_undermine(s, &(PlaSurgeryRegion){ .from = "a", .radius = 0.01 },
                                        0.006, NULL, &err),
                  ==, PLA_ERR_USAGE);
  g_assert_cmpint(pla_surgery_suture(s, "a", "a", 0.004, 1, NULL, &err), ==, PLA_ERR_USAGE);
  g_assert_cmpint(pla_surgery_hook(s, off, point, &err), ==, PLA_ERR_USAGE);
  /* down to what is held: nothing comes off */
  g_assert_cmpint(pla_surgery_excise(s, "a", ring, 12, 0.05, NULL, NULL, &err), ==, PLA_ERR_EMPTY);
  PlaCutMeshView after = pla_cut_mesh_get(pla_surgery_get_mesh(s));
  g_assert_cmpint(before.mesh.n_tets, ==, after.mesh.n_tets);
  g_assert_cmpint(before.mesh.n_verts, ==, after.mesh.n_verts);
  g_assert_true(wound_area(s) == 0.0);
  /* and the name is free still */
  g_assert_cmpint(pla_surgery_excise(s, "a", ring, 12, 0.006, NULL, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_surgery_excise(s, "a", ring, 12, 0.006, NULL, NULL, &err), ==, PLA_ERR_USAGE);
  pla_surgery_free(s);
}

/* the same plan gives the same bits on one thread and on four */
static void
test_threads(void)
{
  PlaSurgery *s[2];
  double path[3 * 24];
  lens(0.0302, 0.0121, path, 24);
  for (int i = 0; i < 2; i++) {
    PlaFemReport report;
    pla_threads_set(i ? 4 : 1);
    s[i] = slab(4.0);
    TRY(pla_surgery_excise(s[i], "lesion", path, 24, 0.006, NULL, NULL, &err));
    TRY(pla_surgery_undermine(s[i], &(PlaSurgeryRegion){ .from = "lesion", .radius = 0.015 }, 0.006,
                              NULL, &err));
    TRY(pla_surgery_suture(s[i], "lesion", "lesion", 0.005, 1.0, NULL, &err));
    TRY(pla_surgery_solve(s[i], 1e-4, NULL, &report, &err));
  }
  pla_threads_set(2);
  int n = pla_cut_mesh_get(pla_surgery_get_mesh(s[0])).mesh.n_verts;
  g_assert_cmpint(n, ==, pla_cut_mesh_get(pla_surgery_get_mesh(s[1])).mesh.n_verts);
  g_assert_cmpmem(pla_surgery_get_pos(s[0]), 24 * (gsize)n, pla_surgery_get_pos(s[1]),
                  24 * (gsize)n);
  for (int i = 0; i < 2; i++)
    pla_surgery_free(s[i]);
}

/* every vertex has the colour of the one that it is a copy of, and so no element has one twice */
static void
assert_coloured(const PlaSurgery *s, const int *before)
{
  const PlaCutMeshView view = pla_cut_mesh_get(s->cut);
  for (int v = 0; v < view.mesh.n_verts; v++)
    g_assert_cmpint(s->colour[v], ==, before[view.vert_source[v]]);
  for (int t = 0; t < view.mesh.n_tets; t++)
    for (int a = 0; a < 4; a++)
      for (int b = 0; b < a; b++)
        g_assert_cmpint(s->colour[view.mesh.tet[4 * t + a]], !=,
                        s->colour[view.mesh.tet[4 * t + b]]);
}

/* cuts of all kinds leave the colours valid, and as many */
static void
test_colours(void)
{
  PlaSurgery *s = slab(3.0);
  const double path[6] = { -0.0151, 0.0013, 0.0, 0.0173, 0.0021, 0.0 };
  double lesion[3 * 24];
  const size_t n = (size_t)pla_cut_mesh_get(s->cut).mesh.n_verts;
  g_autofree int *before = g_memdup2(s->colour, n * sizeof *s->colour);
  lens(0.0202, 0.0101, lesion, 24);
  for (int i = 0; i < 24; i++)
    lesion[3 * i + 1] -= 0.015;
  assert_coloured(s, before);
  TRY(pla_surgery_incise(s, "cut", path, 2, 0.006, 0.0, NULL, &err));
  g_assert_cmpint(pla_cut_mesh_get(s->cut).mesh.n_verts, >, (int)n);
  assert_coloured(s, before);
  /* vertices go, others take their numbers */
  TRY(pla_surgery_excise(s, "lesion", lesion, 24, 0.006, NULL, NULL, &err));
  assert_coloured(s, before);
  TRY(pla_surgery_undermine(s, &(PlaSurgeryRegion){ .from = "lesion", .radius = 0.012 }, 0.006,
                            NULL, &err));
  assert_coloured(s, before);
  pla_surgery_free(s);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/sim/surgery/incision", test_incision);
  g_test_add_func("/sim/surgery/excision", test_excision);
  g_test_add_func("/sim/surgery/through", test_through);
  g_test_add_func("/sim/surgery/undermining", test_undermining);
  g_test_add_func("/sim/surgery/refusals", test_refusals);
  g_test_add_func("/sim/surgery/threads", test_threads);
  g_test_add_func("/sim/surgery/colours", test_colours);
  return g_test_run();
}
