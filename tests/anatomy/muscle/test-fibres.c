/* Fibre fields against closed forms: straight, annular and twisted potentials, B-spline solids,
 * averaged vectors, streamlines. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "anatomy/muscle/muscle-fibre.h"
#include "anatomy/muscle/spline-solid.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a structured box whose vertices are carried off by @map; the ends are x = lo and x = hi */
typedef void (*Map)(const double box[3], double pos[3]);
typedef void (*Direction)(const double pos[3], double dir[3]);

typedef struct {
  PlaMesh *mesh;
  PlaTetMesh tets;
  uint8_t *end;
  double *potential, *tet_gradient, *vert_gradient;
} Case;

static void
case_init(Case *c, const double lo[3], const double hi[3], const int n[3], Map map)
{
  PlaError err = { 0 };
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &c->mesh, &err), ==, PLA_OK);
  c->end = g_new0(uint8_t, c->mesh->n_verts);
  for (int v = 0; v < c->mesh->n_verts; v++) {
    double *p = c->mesh->pos + 3 * v, q[3] = { p[0], p[1], p[2] };
    if (v % (n[0] + 1) == 0)
      c->end[v] = PLA_END_ORIGIN;
    if (v % (n[0] + 1) == n[0])
      c->end[v] = PLA_END_INSERTION;
    if (map)
      map(q, p);
  }
  g_assert_cmpint(pla_mesh_count_inverted(c->mesh), ==, 0);
  c->tets = pla_mesh_tets(c->mesh);
  c->potential = g_new0(double, c->mesh->n_verts);
  c->tet_gradient = g_new0(double, 3 * (size_t)c->mesh->n_tets);
  c->vert_gradient = g_new0(double, 3 * (size_t)c->mesh->n_verts);
  PlaPotentialReport report;
  g_assert_cmpint(pla_fibre_potential(&c->tets, NULL, c->end, NULL, NULL, c->potential, &report,
                                      &err),
                  ==, PLA_OK);
  g_assert_cmpint(report.n_cut_off, ==, 0);
  pla_fibre_tet_gradient(&c->tets, NULL, c->potential, c->tet_gradient);
  g_assert_cmpint(pla_fibre_vert_gradient(&c->tets, NULL, c->potential, c->vert_gradient, &err), ==,
                  PLA_OK);
}

static void
case_clear(Case *c)
{
  pla_mesh_free(c->mesh);
  g_free(c->end);
  g_free(c->potential);
  g_free(c->tet_gradient);
  g_free(c->vert_gradient);
}

static double
angle_deg(const double a[3], const double b[3])
{
  double n[3];
  pla_vec3_cross(a, b, n);
  return 180.0 / G_PI * atan2(pla_vec3_norm(n), pla_vec3_dot(a, b));
}

/* largest and mean angle at tet centres, of the raw gradients and of the recovered ones */
static void
angles(const Case *c, Direction exact, double largest[2], double mean[2])
{
  largest[0] = largest[1] = mean[0] = mean[1] = 0.0;
  for (int t = 0; t < c->tets.n_tets; t++) {
    double x[3] = { 0 }, g[3] = { 0 }, dir[3];
    for (int k = 0; k < 4; k++)
      for (int d = 0; d < 3; d++) {
        x[d] += 0.25 * c->tets.rest[3 * c->tets.tet[4 * t + k] + d];
        g[d] += 0.25 * c->vert_gradient[3 * c->tets.tet[4 * t + k] + d];
      }
    exact(x, dir);
    const double a[2] = { angle_deg(c->tet_gradient + 3 * t, dir), angle_deg(g, dir) };
    for (int i = 0; i < 2; i++) {
      largest[i] = fmax(largest[i], a[i]);
      mean[i] += a[i] / c->tets.n_tets;
    }
  }
}

static void
straight_direction(const double pos[3], double dir[3])
{
  memcpy(dir, (double[3]){ 1, 0, 0 }, 3 * sizeof *dir);
}

/* linear potentials are exact to rounding */
static void
test_straight(void)
{
  Case c;
  double largest[2], mean[2];
  case_init(&c, (double[3]){ 0, 0, 0 }, (double[3]){ 0.1, 0.02, 0.02 }, (int[3]){ 12, 4, 4 }, NULL);
  for (int v = 0; v < c.tets.n_verts; v++)
    g_assert_cmpfloat_with_epsilon(c.potential[v], c.tets.rest[3 * v] / 0.1, 1e-12);
  angles(&c, straight_direction, largest, mean);
  g_assert_cmpfloat(largest[0], <, 1e-9);
  g_assert_cmpfloat(largest[1], <, 1e-9);
  case_clear(&c);
}

/* x: angle 0..100 degrees, y: 40 mm less the radius, z: height, of a curved bar like a sphincter's
 * part */
static void
annular_map(const double box[3], double pos[3])
{
  const double r = 0.04 - box[1];
  pos[0] = r * cos(box[0]);
  pos[1] = r * sin(box[0]);
  pos[2] = box[2];
}

static void
annular_direction(const double pos[3], double dir[3])
{
  const double r = hypot(pos[0], pos[1]);
  dir[0] = -pos[1] / r;
  dir[1] = pos[0] / r;
  dir[2] = 0.0;
}

static void
test_annular(void)
{
  Case c;
  double largest[2], mean[2];
  case_init(&c, (double[3]){ 0, 0.015, 0 }, (double[3]){ 1.75, 0.025, 0.008 },
            (int[3]){ 48, 12, 8 }, annular_map);
  angles(&c, annular_direction, largest, mean);
  g_test_message("annular: tets %.3f (mean %.3f), recovered %.3f (mean %.3f) degrees", largest[0],
                 mean[0], largest[1], mean[1]);
  g_assert_cmpfloat(largest[1], <, 1.0);
  g_assert_cmpfloat(mean[1], <, 0.1);
  /* the potential is the angle */
  double worst = 0.0;
  for (int v = 0; v < c.tets.n_verts; v++) {
    const double *p = c.tets.rest + 3 * v;
    worst = fmax(worst, fabs(c.potential[v] - atan2(p[1], p[0]) / 1.75));
  }
  g_assert_cmpfloat(worst, <, 1e-3);
  case_clear(&c);
}

/* u = theta + c z is harmonic; t = z - c r^2 theta and r are constant along its gradient, so a
 * block in (u, r, t) has natural sides and fibres that wind, the outer ones more steeply */
static const double pitch = 25.0; /* 1/m */

static void
twisted_map(const double box[3], double pos[3])
{
  const double u = box[0], r = 0.045 - box[1], t = box[2];
  const double theta = (u - pitch * t) / (1.0 + pitch * pitch * r * r);
  pos[0] = r * cos(theta);
  pos[1] = r * sin(theta);
  pos[2] = t + pitch * r * r * theta;
}

static void
twisted_direction(const double pos[3], double dir[3])
{
  const double r = hypot(pos[0], pos[1]);
  dir[0] = -pos[1] / (r * r);
  dir[1] = pos[0] / (r * r);
  dir[2] = pitch;
  const double l = pla_vec3_norm(dir);
  for (int d = 0; d < 3; d++)
    dir[d] /= l;
}

static void
test_twisted(void)
{
  double largest[2][2], mean[2][2];
  for (int fine = 0; fine < 2; fine++) {
    const int n[3] = { fine ? 60 : 30, fine ? 20 : 10, fine ? 14 : 7 };
    Case c;
    case_init(&c, (double[3]){ 0, 0.015, -0.005 }, (double[3]){ 2.2, 0.03, 0.005 }, n, twisted_map);
    angles(&c, twisted_direction, largest[fine], mean[fine]);
    g_test_message("twisted, %d cells: tets %.3f (mean %.3f), recovered %.3f (mean %.3f) degrees",
                   n[0] * n[1] * n[2], largest[fine][0], mean[fine][0], largest[fine][1],
                   mean[fine][1]);
    case_clear(&c);
  }
  g_assert_cmpfloat(largest[1][1], <, 1.0);
  g_assert_cmpfloat(mean[1][1], <, 0.1);
  /* recovered directions are of second order, those of the tets of first */
  g_assert_cmpfloat(mean[0][1] / mean[1][1], >, 3.5);
  g_assert_cmpfloat(mean[0][0] / mean[1][0], <, 2.5);
}

/* streamlines of the annulus keep their radius and height, and reach both ends */
static void
test_streamlines(void)
{
  Case c;
  PlaError err = { 0 };
  PlaTetLocator *locator = NULL;
  PlaStreamlines lines;
  case_init(&c, (double[3]){ 0, 0.015, 0 }, (double[3]){ 1.75, 0.025, 0.008 },
            (int[3]){ 48, 12, 8 }, annular_map);
  g_assert_cmpint(pla_tet_locator_new(&c.tets, &locator, &err), ==, PLA_OK);
  const PlaFibreFlow flow = { .mesh = &c.tets,
                              .locator = locator,
                              .end = c.end,
                              .potential = c.potential,
                              .gradient = c.vert_gradient };
  g_assert_cmpint(pla_streamlines_trace(&flow, 0.5, 30, &lines, &err), ==, PLA_OK);
  g_assert_cmpint(lines.n_lines, ==, 30);
  for (int l = 0; l < lines.n_lines; l++) {
    const double *first = lines.pos + 3 * lines.start[l];
    const double *last = lines.pos + 3 * (lines.start[l + 1] - 1);
    const double r = hypot(first[0], first[1]);
    g_assert_cmpfloat(atan2(first[1], first[0]), <, 0.02);
    g_assert_cmpfloat(atan2(last[1], last[0]), >, 1.73);
    double length = 0.0;
    for (int i = lines.start[l]; i < lines.start[l + 1]; i++) {
      const double *p = lines.pos + 3 * i;
      g_assert_cmpfloat(fabs(hypot(p[0], p[1]) - r), <, 1e-4);
      g_assert_cmpfloat(fabs(p[2] - first[2]), <, 1e-4);
      if (i > lines.start[l])
        length += hypot(hypot(p[0] - p[-3], p[1] - p[-2]), p[2] - p[-1]);
    }
    g_assert_cmpfloat(fabs(length / (1.75 * r) - 1.0), <, 0.01);
  }
  pla_streamlines_clear(&lines);
  pla_tet_locator_free(locator);
  case_clear(&c);
}

/* pieces without both ends are left out and counted; none at all is a sentence */
static void
test_cut_off(void)
{
  PlaError err = { 0 };
  PlaMesh *mesh = NULL;
  g_assert_cmpint(pla_box_mesh_new((double[3]){ 0, 0, 0 }, (double[3]){ 3, 1, 1 },
                                   (int[3]){ 3, 1, 1 }, PLA_BOX_TETS_6, &mesh, &err),
                  ==, PLA_OK);
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  double weight[18], u[16];
  uint8_t end[16];
  /* the middle cube is empty: the outer ones hold one end each */
  for (int t = 0; t < 18; t++) {
    double x = 0.0;
    for (int k = 0; k < 4; k++)
      x += 0.25 * tets.rest[3 * tets.tet[4 * t + k]];
    weight[t] = x > 1.0 && x < 2.0 ? 0.0 : 1.0;
  }
  for (int v = 0; v < 16; v++)
    end[v] = tets.rest[3 * v] == 0.0   ? PLA_END_ORIGIN
             : tets.rest[3 * v] == 3.0 ? PLA_END_INSERTION
                                       : PLA_END_NONE;
  PlaPotentialReport report;
  g_assert_cmpint(pla_fibre_potential(&tets, weight, end, NULL, NULL, u, &report, &err), ==,
                  PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "origin"));
  /* with an insertion at x = 1 the first cube works and the last is left out */
  for (int v = 0; v < 16; v++)
    if (tets.rest[3 * v] == 1.0)
      end[v] = PLA_END_INSERTION;
  g_assert_cmpint(pla_fibre_potential(&tets, weight, end, NULL, NULL, u, &report, &err), ==,
                  PLA_OK);
  g_assert_cmpint(report.n_cut_off, ==, 6);
  for (int v = 0; v < 16; v++)
    if (tets.rest[3 * v] <= 1.0)
      g_assert_cmpfloat(u[v], ==, tets.rest[3 * v]);
    else
      g_assert_true(isnan(u[v]));
  pla_mesh_free(mesh);
}

/* the same bits from one thread and from four */
static void
test_threads(void)
{
  Case a, b;
  const double lo[3] = { 0, 0.015, 0 }, hi[3] = { 1.75, 0.025, 0.008 };
  const int before = pla_threads_get();
  pla_threads_set(1);
  case_init(&a, lo, hi, (int[3]){ 40, 12, 10 }, annular_map);
  pla_threads_set(4);
  case_init(&b, lo, hi, (int[3]){ 40, 12, 10 }, annular_map);
  pla_threads_set(before);
  g_assert_cmpmem(a.potential, sizeof(double) * (size_t)a.mesh->n_verts, b.potential,
                  sizeof(double) * (size_t)b.mesh->n_verts);
  g_assert_cmpmem(a.vert_gradient, 3 * sizeof(double) * (size_t)a.mesh->n_verts, b.vert_gradient,
                  3 * sizeof(double) * (size_t)b.mesh->n_verts);
  case_clear(&a);
  case_clear(&b);
}

/* a bar bent into an arc as a B-spline solid: directions at places all over it, and how many Newton
 * steps finding them takes */
static void
test_spline_arc(void)
{
  enum { U = 12, V = 5, W = 5, PLACES = 4000 };
  const int n[3] = { U, V, W }, degree[3] = { 3, 3, 3 };
  const double turn = 1.75, r0 = 15.0, r1 = 25.0, high = 8.0;
  double sample[3 * U * V * W];
  for (int k = 0; k < W; k++)
    for (int j = 0; j < V; j++)
      for (int i = 0; i < U; i++) {
        const double a = turn * pla_spline_abscissa(U, 3, i);
        const double r = r0 + (r1 - r0) * pla_spline_abscissa(V, 3, j);
        double *p = sample + 3 * (i + U * (j + V * k));
        p[0] = r * cos(a);
        p[1] = r * sin(a);
        p[2] = high * pla_spline_abscissa(W, 3, k);
      }
  PlaError err = { 0 };
  PlaSplineSolid *solid = NULL;
  g_assert_cmpint(pla_spline_solid_interpolate(n, degree, sample, &solid, &err), ==, PLA_OK);

  /* it passes through its samples */
  for (int i = 0; i < U; i++) {
    double pos[3];
    pla_spline_solid_eval(solid, (double[3]){ pla_spline_abscissa(U, 3, i), 0, 1 }, pos, NULL);
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(pos[d], sample[3 * (i + U * (V * (W - 1))) + d], 1e-10);
  }
  GRand *rand = g_rand_new_with_seed(7);
  int quick = 0, inside = 0;
  double worst = 0.0;
  for (int i = 0; i < PLACES; i++) {
    const double a = g_rand_double_range(rand, 0.01, turn - 0.01);
    const double r = g_rand_double_range(rand, r0 + 0.05, r1 - 0.05);
    const double pos[3] = { r * cos(a), r * sin(a), g_rand_double_range(rand, 0.05, high - 0.05) };
    double dir[3], exact[3];
    const PlaSplinePlace at = pla_spline_solid_fibre(solid, pos, dir);
    annular_direction(pos, exact);
    inside += at.inside;
    quick += at.inside && at.steps <= 10;
    worst = fmax(worst, angle_deg(dir, exact));
  }
  g_rand_free(rand);
  g_test_message("spline arc: worst angle %.4f degrees, %d of %d in ten steps", worst, quick,
                 PLACES);
  g_assert_cmpint(inside, ==, PLACES);
  g_assert_cmpint(quick, >, PLACES * 99 / 100);
  g_assert_cmpfloat(worst, <, 1.0);

  /* a place outside gives the nearest point of the solid */
  const PlaSplinePlace out = pla_spline_solid_invert(solid, (double[3]){ 30.0, 0.0, 4.0 });
  g_assert_false(out.inside);
  g_assert_cmpfloat_with_epsilon(out.distance, 5.0, 1e-3);
  pla_spline_solid_free(solid);

  /* too few points for the degree */
  g_assert_cmpint(pla_spline_solid_new((int[3]){ 3, 4, 4 }, degree, sample, &solid, &err), ==,
                  PLA_ERR_USAGE);
}

/* the Jacobian against central differences, on a bumpy solid */
static void
test_spline_jacobian(void)
{
  const int n[3] = { 6, 4, 3 }, degree[3] = { 3, 2, 1 };
  double control[3 * 6 * 4 * 3];
  GRand *rand = g_rand_new_with_seed(3);
  for (int i = 0; i < 6 * 4 * 3; i++)
    for (int d = 0; d < 3; d++)
      control[3 * i + d] = (d == 0   ? i % 6
                            : d == 1 ? i / 6 % 4
                                     : i / 24) +
                           g_rand_double_range(rand, -0.2, 0.2);
  PlaError err = { 0 };
  PlaSplineSolid *solid = NULL;
  g_assert_cmpint(pla_spline_solid_new(n, degree, control, &solid, &err), ==, PLA_OK);
  for (int i = 0; i < 50; i++) {
    double u[3], pos[3], j[9];
    for (int d = 0; d < 3; d++)
      u[d] = g_rand_double_range(rand, 0.01, 0.99);
    pla_spline_solid_eval(solid, u, pos, j);
    for (int a = 0; a < 3; a++) {
      double lo[3], hi[3], from[3] = { u[0], u[1], u[2] }, to[3] = { u[0], u[1], u[2] };
      from[a] -= 1e-6;
      to[a] += 1e-6;
      pla_spline_solid_eval(solid, from, lo, NULL);
      pla_spline_solid_eval(solid, to, hi, NULL);
      for (int d = 0; d < 3; d++)
        g_assert_cmpfloat_with_epsilon(j[3 * d + a], (hi[d] - lo[d]) / 2e-6, 2e-5);
    }
    /* and back again */
    const PlaSplinePlace at = pla_spline_solid_invert(solid, pos);
    g_assert_true(at.inside);
  }
  g_rand_free(rand);
  pla_spline_solid_free(solid);
}

/* vectors of either sign on a curved field: within a degree between them */
static void
test_vectors(void)
{
  enum { N = 6000 };
  double *pos = g_new(double, 3 * N), *dir = g_new(double, 3 * N);
  GRand *rand = g_rand_new_with_seed(11);
  for (int i = 0; i < N; i++) {
    const double a = g_rand_double_range(rand, -0.1, 1.85), r = g_rand_double_range(rand, 14, 26);
    double *p = pos + 3 * i, *d = dir + 3 * i;
    p[0] = r * cos(a);
    p[1] = r * sin(a);
    p[2] = g_rand_double_range(rand, -1, 9);
    annular_direction(p, d);
    const double size = g_rand_boolean(rand) ? 2.0 : -0.5;
    for (int c = 0; c < 3; c++)
      d[c] *= size;
  }
  /* two that say nothing */
  dir[0] = dir[1] = dir[2] = 0.0;
  dir[3] = NAN;
  PlaError err = { 0 };
  PlaFibreSamples *samples = NULL;
  g_assert_cmpint(pla_fibre_samples_new(N, pos, dir, &samples, &err), ==, PLA_OK);
  double worst = 0.0;
  for (int i = 0; i < 2000; i++) {
    const double a = g_rand_double_range(rand, 0.0, 1.75), r = g_rand_double_range(rand, 15, 25);
    const double p[3] = { r * cos(a), r * sin(a), g_rand_double_range(rand, 0, 8) };
    double d[3], exact[3], agreement;
    pla_fibre_samples_at(samples, p, d, &agreement);
    annular_direction(p, exact);
    const double angle = angle_deg(d, exact);
    worst = fmax(worst, fmin(angle, 180.0 - angle));
    g_assert_cmpfloat(agreement, >, 0.98);
  }
  g_test_message("vectors: worst angle %.3f degrees", worst);
  g_assert_cmpfloat(worst, <, 1.0);
  pla_fibre_samples_free(samples);
  memset(dir, 0, 3 * N * sizeof *dir);
  g_assert_cmpint(pla_fibre_samples_new(N, pos, dir, &samples, &err), ==, PLA_ERR_EMPTY);
  g_rand_free(rand);
  g_free(pos);
  g_free(dir);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/fibres/straight", test_straight);
  g_test_add_func("/fibres/annular", test_annular);
  g_test_add_func("/fibres/twisted", test_twisted);
  g_test_add_func("/fibres/streamlines", test_streamlines);
  g_test_add_func("/fibres/cut-off", test_cut_off);
  g_test_add_func("/fibres/threads", test_threads);
  g_test_add_func("/fibres/spline-arc", test_spline_arc);
  g_test_add_func("/fibres/spline-jacobian", test_spline_jacobian);
  g_test_add_func("/fibres/vectors", test_vectors);
  return g_test_run();
}
