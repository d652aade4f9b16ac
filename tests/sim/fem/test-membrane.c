/* Thin layers: derivatives by complex steps, closed forms, and a skin on soft cells against the
 * same skin made of elements of its own. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "sim/solve/solve.h"
#include "sim/solve/system.h"
#include "sim/solve/terms.h"

#include <complex.h>
#include <glib.h>
#include <math.h>
#include <string.h>

static PlaError err;

static void
ok(PlaStatus status)
{
  if (status != PLA_OK)
    g_error("%s", err.message);
}

/* ---- one triangle ---- */

static const double flat[9] = { 0.001, 0.002, 0.0, 0.011, 0.001, 0.003, 0.004, 0.012, 0.001 };
static const double direction[3] = { 1.0, 0.3, 0.1 };
static const double thickness = 0.0015;

/* one triangle with @stretch along @direction and across */
static PlaFemMembranes *
triangle(const PlaMembraneLaw *law, const double stretch[2])
{
  static const int tri[3] = { 0, 1, 2 }, of_law = 0;
  const PlaMembraneSpec spec = { 1, tri, &thickness, &of_law, law, 1, direction, stretch };
  PlaFemMembranes *out = NULL;
  ok(pla_membranes_new(&spec, flat, 3, &out, &err));
  return out;
}

static double complex
dot(const double complex *a, const double complex *b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The energy from the definition, in space: the layer is a sheet of @thickness whose three
 * stretches multiply to one, with fibres as vectors. */
static double complex
energy_of(const PlaMembraneLaw *law, const double stretch[2], const double complex pos[9])
{
  double e[2][3], along[3], across[3], normal[3];
  pla_vec3_sub(flat + 3, flat, e[0]);
  pla_vec3_sub(flat + 6, flat, e[1]);
  pla_vec3_cross(e[0], e[1], normal);
  const double twice = pla_vec3_norm(normal);
  for (int d = 0; d < 3; d++)
    normal[d] /= twice;
  const double out = pla_vec3_dot(direction, normal);
  for (int d = 0; d < 3; d++)
    along[d] = direction[d] - out * normal[d];
  const double length = pla_vec3_norm(along);
  for (int d = 0; d < 3; d++)
    along[d] /= length;
  pla_vec3_cross(normal, along, across);

  /* where the two directions go: along = a e0 + b e1 in the plane */
  double complex image[2][3];
  for (int k = 0; k < 2; k++) {
    const double *u = k ? across : along;
    const double e00 = pla_vec3_dot(e[0], e[0]), e01 = pla_vec3_dot(e[0], e[1]),
                 e11 = pla_vec3_dot(e[1], e[1]);
    const double u0 = pla_vec3_dot(u, e[0]), u1 = pla_vec3_dot(u, e[1]);
    const double det = e00 * e11 - e01 * e01;
    const double a = (u0 * e11 - u1 * e01) / det, b = (u1 * e00 - u0 * e01) / det;
    for (int d = 0; d < 3; d++)
      image[k][d] = stretch[k] * (a * (pos[3 + d] - pos[d]) + b * (pos[6 + d] - pos[d]));
  }
  const double complex c00 = dot(image[0], image[0]), c01 = dot(image[0], image[1]),
                       c11 = dot(image[1], image[1]);
  /* squares of the principal stretches: taut, wrinkled or slack */
  const double complex area2 = c00 * c11 - c01 * c01;
  const double complex root = csqrt((c00 - c11) * (c00 - c11) + 4.0 * c01 * c01);
  const double complex most = 0.5 * (c00 + c11 + root), least = 0.5 * (c00 + c11 - root);
  const double complex trace = !law->wrinkles       ? most + least + 1.0 / area2
                               : creal(most) <= 1.0 ? 3.0
                               : creal(least) * sqrt(creal(most)) < 1.0
                                   ? most + 2.0 / csqrt(most)
                                   : most + least + 1.0 / area2;
  double complex w = 0.5 * law->mu * (trace - 3.0);
  for (int family = 0; family < 2; family++) {
    const double c = cos(law->angle), s = family ? -sin(law->angle) : sin(law->angle);
    const double complex stretched = c * c * c00 + 2.0 * c * s * c01 + s * s * c11;
    const double complex strain =
        law->dispersion * (trace - 3.0) + (1.0 - 3.0 * law->dispersion) * (stretched - 1.0);
    if (law->k1 > 0.0 && creal(strain) > 0.0)
      w += 0.5 * law->k1 / law->k2 * (cexp(law->k2 * strain * strain) - 1.0);
  }
  return w * 0.5 * twice * thickness;
}

static const PlaMembraneLaw laws[] = {
  { .mu = 20e3 },
  { .mu = 20e3, .k1 = 50e3, .k2 = 3.0, .dispersion = 0.1, .angle = 0.6 },
  { .mu = 20e3, .wrinkles = true },
  { .mu = 20e3, .k1 = 50e3, .k2 = 3.0, .dispersion = 0.1, .angle = 0.6, .wrinkles = true },
  { .mu = 5e3, .k1 = 200e3, .k2 = 0.8, .dispersion = 1.0 / 3.0, .angle = 0.2 },
};
static const double stretches[2][2] = { { 1.0, 1.0 }, { 1.25, 1.1 } };

/* some shape, stretched by @factor */
static void
some_shape(double factor, double pos[9])
{
  static const double noise[9] = { 0.1, -0.2, 0.3, -0.15, 0.25, 0.4, 0.2, 0.1, -0.35 };
  for (int i = 0; i < 9; i++)
    pos[i] = factor * flat[i] + 0.003 * noise[i];
}

static void
test_derivatives(void)
{
  const double h = 1e-30;
  for (gsize l = 0; l < G_N_ELEMENTS(laws); l++)
    for (int s = 0; s < 2; s++)
      for (double factor = 0.7; factor < 1.6; factor += 0.2) {
        PlaFemMembranes *m = triangle(&laws[l], stretches[s]);
        double pos[9], force[9] = { 0 }, k[81], scale = 0.0;
        some_shape(factor, pos);
        ok(pla_membranes_add_forces(m, pos, force, &err));
        pla_membrane_stiffness(m, 0, pos, false, k);
        double complex z[9];
        for (int i = 0; i < 9; i++)
          z[i] = pos[i];
        const double w = creal(energy_of(&laws[l], stretches[s], z));
        g_assert_cmpfloat(fabs(pla_membranes_energy(m, pos) - w), <=, 1e-12 * fabs(w));
        for (int i = 0; i < 9; i++)
          scale = fmax(scale, fabs(force[i]));
        for (int i = 0; i < 9; i++) {
          z[i] += h * I;
          const double slope = cimag(energy_of(&laws[l], stretches[s], z)) / h;
          z[i] = pos[i];
          g_assert_cmpfloat(fabs(force[i] + slope), <=, 1e-12 * scale);
        }
        /* the tangent against differences of the force, at two steps: the error falls by four */
        double worst[2] = { 0.0, 0.0 }, most = 0.0;
        for (int j = 0; j < 9; j++)
          for (int step = 0; step < 2; step++) {
            const double d = step ? 1e-6 : 2e-6;
            double f[2][9] = { { 0 } }, p[9];
            for (int side = 0; side < 2; side++) {
              memcpy(p, pos, sizeof p);
              p[j] += side ? d : -d;
              ok(pla_membranes_add_forces(m, p, f[side], &err));
            }
            for (int i = 0; i < 9; i++) {
              most = fmax(most, fabs(k[9 * i + j]));
              worst[step] = fmax(worst[step], fabs(k[9 * i + j] + (f[1][i] - f[0][i]) / (2.0 * d)));
            }
          }
        g_assert_cmpfloat(worst[1], <=, 1e-5 * most);
        g_assert_cmpfloat(worst[1], <=, 0.3 * worst[0] + 1e-8 * most);
        /* projected: symmetric, and nothing pulls apart */
        pla_membrane_stiffness(m, 0, pos, true, k);
        for (int trial = 0; trial < 20; trial++) {
          double u[9], sum = 0.0;
          for (int i = 0; i < 9; i++)
            u[i] = sin(1.0 + i + 10.0 * trial);
          for (int i = 0; i < 9; i++)
            for (int j = 0; j < 9; j++) {
              sum += u[i] * k[9 * i + j] * u[j];
              g_assert_cmpfloat(fabs(k[9 * i + j] - k[9 * j + i]), <=, 1e-9 * most);
            }
          g_assert_cmpfloat(sum, >=, -1e-9 * most);
        }
        pla_membranes_free(m);
      }
}

/* the plane stress of an incompressible neo-Hookean sheet: h mu (s^2 - 1/(s t)^2) / (s t) along s
 */
static void
test_stress(void)
{
  const PlaMembraneLaw law = { .mu = 30e3 };
  static const double unit[9] = { 0, 0, 0, 0.01, 0, 0, 0, 0.01, 0 }, x_axis[3] = { 1, 0, 0 };
  static const int tri[3] = { 0, 1, 2 }, of_law = 0;
  const double stretch[2] = { 1.3, 1.05 };
  const PlaMembraneSpec spec = { 1, tri, &thickness, &of_law, &law, 1, x_axis, stretch };
  PlaFemMembranes *m = NULL;
  ok(pla_membranes_new(&spec, unit, 3, &m, &err));
  double stress[2];
  /* turned, too: stress is that of the sheet, not of space */
  const double turned[9] = { 0, 0, 0, 0, 0.012, 0, 0, 0, 0.01 };
  for (int moved = 0; moved < 2; moved++) {
    const double s = 1.3 * (moved ? 1.2 : 1.0), t = 1.05;
    pla_membrane_stress(m, 0, moved ? turned : unit, stress);
    const double along = law.mu * (s * s - 1.0 / (s * s * t * t));
    const double across = law.mu * (t * t - 1.0 / (s * s * t * t));
    g_assert_cmpfloat(fabs(stress[0] - along), <, 1e-12 * along);
    g_assert_cmpfloat(fabs(stress[1] - across), <, 1e-12 * along);
  }
  pla_membranes_free(m);

  /* what cannot be meant */
  const PlaMembraneLaw fibres = { .mu = 30e3, .k1 = 1e4, .k2 = 1.0 };
  const double up[3] = { 0, 0, 1 }, none = 0.0;
  PlaMembraneSpec bad = { 1, tri, &thickness, &of_law, &fibres, 1, up, NULL };
  g_assert_cmpint(pla_membranes_new(&bad, unit, 3, &m, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "no direction"));
  bad = (PlaMembraneSpec){ 1, tri, &none, &of_law, &law, 1, NULL, NULL };
  g_assert_cmpint(pla_membranes_new(&bad, unit, 3, &m, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "thickness"));
  const double line[9] = { 0, 0, 0, 1, 0, 0, 2, 0, 0 };
  bad = (PlaMembraneSpec){ 1, tri, &thickness, &of_law, &law, 1, NULL, NULL };
  g_assert_cmpint(pla_membranes_new(&bad, line, 3, &m, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "area"));
  /* far beyond what is real, numbers stay numbers */
  ok(pla_membranes_new(&(PlaMembraneSpec){ 1, tri, &thickness, &of_law, &fibres, 1, x_axis, NULL },
                       unit, 3, &m, &err));
  for (double factor = 1e-6; factor < 1e4; factor *= 10.0) {
    double pos[9], force[9] = { 0 }, k[81];
    for (int i = 0; i < 9; i++)
      pos[i] = factor * unit[i];
    ok(pla_membranes_add_forces(m, pos, force, &err));
    pla_membrane_stiffness(m, 0, pos, true, k);
    g_assert_true(isfinite(pla_membranes_energy(m, pos)));
    for (int i = 0; i < 9; i++)
      g_assert_true(isfinite(force[i]) && isfinite(k[10 * i]));
  }
  pla_membranes_free(m);
}

/* ---- a skin on soft tissue ---- */

enum { SKIN = 1, NONE = 0, LAYER = 2 };
static const double skin_mm = 1.0, skin_pa = 400e3, fat_pa = 4e3, fat_mm = 9.0;

/* Where the middle of the surface of a slab of 40 x 40 x 9 mm on bone goes when 0.05 N pull along
 * it, spread over a square of 10 mm; m.  @n cells wide and @nz high; the skin above is one more
 * layer of cells, or a membrane. */
static double
pull_slab(int n, int nz, int kind)
{
  const double lo[3] = { -0.02, -0.02, 0.0 }, top = 1e-3 * (fat_mm + (kind == LAYER ? skin_mm : 0));
  const double hi[3] = { 0.02, 0.02, top };
  const int cells[3] = { n, n, nz + (kind == LAYER) };
  PlaMesh *mesh = NULL;
  ok(pla_box_mesh_new(lo, hi, cells, PLA_BOX_HEXES, &mesh, &err));
  PlaFemMaterial materials[2] = { { .material = pla_material_find("neo-hookean"), .density = 1000 },
                                  { .material = pla_material_find("neo-hookean"),
                                    .density = 1000 } };
  const double fat[2] = { fat_pa, 0.45 }, skin[2] = { skin_pa, 0.49 };
  ok(materials[0].material->prepare(fat, materials[0].constants, &err));
  ok(materials[1].material->prepare(skin, materials[1].constants, &err));
  g_autofree int *of_cell = g_new0(int, mesh->n_hexes);
  for (int h = 0; h < mesh->n_hexes; h++)
    of_cell[h] = h >= n * n * nz;
  for (int v = 0; kind == LAYER && v < mesh->n_verts; v++) {
    double *z = &mesh->pos[3 * v + 2];
    const int level = v / ((n + 1) * (n + 1));
    *z = level > nz ? top : 1e-3 * fat_mm * level / nz;
  }
  PlaFemModel *model = NULL;
  ok(pla_fem_model_new(mesh, materials, 2, of_cell, PLA_FORMULATION_MIXED, &model, &err));

  g_autofree double *force = g_new0(double, 3 * mesh->n_verts);
  g_autofree double *pos = g_memdup2(mesh->pos, 3 * (gsize)mesh->n_verts * sizeof(double));
  g_autofree unsigned char *fixed = g_new0(unsigned char, 3 * mesh->n_verts);
  g_autofree int *tri = g_new(int, 6 * n * n);
  g_autofree double *thick = g_new(double, 2 * n * n);
  g_autofree int *law = g_new0(int, 2 * n * n);
  int n_tris = 0, middle = -1;
  const int w = n + 1;
  double sum = 0.0;
  for (int v = 0; v < mesh->n_verts; v++) {
    const double *x = &mesh->pos[3 * v];
    if (x[2] < 1e-9)
      memset(fixed + 3 * v, 1, 3);
    if (x[2] < top - 1e-9)
      continue;
    if (fabs(x[0]) < 1e-9 && fabs(x[1]) < 1e-9)
      middle = v;
    /* by the area of the square that each vertex stands for */
    double share = 1.0;
    for (int d = 0; d < 2; d++) {
      const double h = 0.02 / n, a = fmax(x[d] - h, -0.005), b = fmin(x[d] + h, 0.005);
      share *= fmax(b - a, 0.0);
    }
    force[3 * v] = share;
    sum += share;
  }
  for (int v = 0; v < mesh->n_verts; v++)
    force[3 * v] *= 0.05 / sum;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      const int a = nz * w * w + j * w + i;
      const int two[6] = { a, a + 1, a + w + 1, a, a + w + 1, a + w };
      memcpy(tri + 3 * n_tris, two, sizeof two);
      n_tris += 2;
    }
  for (int t = 0; t < n_tris; t++)
    thick[t] = 1e-3 * skin_mm;
  const PlaMembraneLaw sheet = { .mu = skin_pa / 3.0 };
  const PlaMembraneSpec spec = { n_tris, tri, thick, law, &sheet, 1, NULL, NULL };
  PlaFemMembranes *membranes = NULL;
  if (kind == SKIN)
    ok(pla_membranes_new(&spec, mesh->pos, mesh->n_verts, &membranes, &err));

  const PlaFemConditions conditions = {
    .fixed = fixed, .target = mesh->pos, .force = force, .membranes = membranes
  };
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  ok(pla_fem_solve(model, &conditions, &options, pos, &report, &err));
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  const double moved = pos[3 * middle] - mesh->pos[3 * middle];
  pla_membranes_free(membranes);
  pla_fem_model_free(model);
  pla_mesh_free(mesh);
  return moved;
}

/* the same answer as elements that are as thin as the skin, and the same in cells of any size */
static void
test_skin(void)
{
  const double layer = pull_slab(8, 3, LAYER), bare = pull_slab(8, 3, NONE);
  const double fine = pull_slab(8, 3, SKIN), coarse = pull_slab(4, 2, SKIN);
  g_test_message("pulled by %.3f mm bare, %.3f mm with a layer of cells, %.3f and %.3f with a "
                 "membrane",
                 1e3 * bare, 1e3 * layer, 1e3 * fine, 1e3 * coarse);
  g_assert_cmpfloat(bare, >, 2.0 * layer);
  g_assert_cmpfloat(fabs(fine - layer), <, 0.05 * layer);
  g_assert_cmpfloat(fabs(coarse - fine), <, 0.05 * fine);
}

/* a sheet that is pulled and shortened across is as stiff as a free strip, and no more */
static void
test_wrinkles(void)
{
  static const double unit[9] = { 0, 0, 0, 0.01, 0, 0, 0, 0.01, 0 };
  static const int tri[3] = { 0, 1, 2 }, of_law = 0;
  const PlaMembraneLaw law = { .mu = 30e3, .wrinkles = true };
  const PlaMembraneSpec spec = { 1, tri, &thickness, &of_law, &law, 1, NULL, NULL };
  PlaFemMembranes *m = NULL;
  ok(pla_membranes_new(&spec, unit, 3, &m, &err));
  for (double across = 0.5; across < 0.9; across += 0.1) {
    const double s = 1.2, pos[9] = { 0, 0, 0, s * 0.01, 0, 0, 0, across * 0.01, 0 };
    double stress[2];
    pla_membrane_stress(m, 0, pos, stress);
    g_assert_cmpfloat(fabs(stress[0] - law.mu * (s * s - 1.0 / s)), <, 1e-9 * law.mu);
    g_assert_cmpfloat(fabs(stress[1]), <, 1e-9 * law.mu);
  }
  const double small[9] = { 0, 0, 0, 0.009, 0, 0, 0, 0.008, 0 };
  g_assert_cmpfloat(pla_membranes_energy(m, small), ==, 0.0);
  pla_membranes_free(m);
}

/* the same bits whatever the number of threads */
static void
test_threads(void)
{
  double moved[2];
  for (int k = 0; k < 2; k++) {
    pla_threads_set(k ? 4 : 1);
    moved[k] = pull_slab(4, 2, SKIN);
  }
  pla_threads_set(0);
  g_assert_true(moved[0] == moved[1]);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/membrane/derivatives", test_derivatives);
  g_test_add_func("/membrane/stress", test_stress);
  g_test_add_func("/membrane/wrinkles", test_wrinkles);
  g_test_add_func("/membrane/skin", test_skin);
  g_test_add_func("/membrane/threads", test_threads);
  return g_test_run();
}
