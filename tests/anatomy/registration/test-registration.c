/* Registration with known answers: landmarks, surfaces, volumes, warps; and what is refused. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/phantom/phantom.h"
#include "anatomy/registration/registration.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static bool
small(void)
{
  return g_getenv("PLA_SMALL") != NULL;
}

static void
random_points(GRand *rand, int n, double size, double *pos)
{
  for (int i = 0; i < 3 * n; i++)
    pos[i] = g_rand_double_range(rand, -size, size);
}

static PlaRigid
some_motion(void)
{
  return pla_rigid_about((double[3]){ 5, -10, 20 }, (double[3]){ 0.12, -0.2, 0.3 },
                         (double[3]){ 8, -3, 12 });
}

/* largest distance between what two motions make of points within @size */
static double
apart_mm(const PlaRigid *a, const PlaRigid *b, double size)
{
  double worst = 0.0;
  for (int c = 0; c < 8; c++) {
    const double p[3] = { c & 1 ? size : -size, c >> 1 & 1 ? size : -size, c >> 2 ? size : -size };
    double x[3], y[3];
    pla_rigid_apply(a, p, x);
    pla_rigid_apply(b, p, y);
    pla_vec3_sub(x, y, x);
    worst = fmax(worst, pla_vec3_norm(x));
  }
  return worst;
}

static void
test_rigid(void)
{
  const PlaRigid t = some_motion(), back = pla_rigid_inverse(&t), none = pla_rigid_then(&t, &back);
  const PlaRigid identity = pla_rigid_identity();
  g_assert_cmpfloat(apart_mm(&none, &identity, 100.0), <, 1e-10);
  g_assert_cmpfloat_with_epsilon(pla_rigid_angle_deg(&t),
                                 180.0 / G_PI * sqrt(0.12 * 0.12 + 0.04 + 0.09), 1e-9);
  g_assert_cmpfloat_with_epsilon(pla_mat3_det(t.r), 1.0, 1e-12);
}

/* ---- landmarks ---- */

static void
test_landmarks(void)
{
  enum { N = 24 };
  double moving[3 * N], fixed[3 * N], residual[N];
  GRand *rand = g_rand_new_with_seed(1);
  const PlaRigid truth = some_motion();
  PlaRigid found;
  PlaLandmarkReport report;
  PlaError err = { 0 };
  random_points(rand, N, 80.0, moving);
  for (int i = 0; i < N; i++)
    pla_rigid_apply(&truth, moving + 3 * i, fixed + 3 * i);
  for (int n = 3; n <= N; n += 7)
    for (int robust = 0; robust < 2; robust++) {
      g_assert_cmpint(pla_register_landmarks(n, moving, fixed, robust, &found, NULL, &report, &err),
                      ==, PLA_OK);
      g_assert_cmpfloat(apart_mm(&found, &truth, 100.0), <, 1e-9);
      g_assert_cmpfloat(report.rms_mm, <, 1e-9);
    }
  /* a plane is enough */
  for (int i = 0; i < N; i++)
    moving[3 * i + 2] = 0.0;
  for (int i = 0; i < N; i++)
    pla_rigid_apply(&truth, moving + 3 * i, fixed + 3 * i);
  g_assert_cmpint(pla_register_landmarks(N, moving, fixed, false, &found, NULL, &report, &err), ==,
                  PLA_OK);
  g_assert_cmpfloat(apart_mm(&found, &truth, 100.0), <, 1e-9);

  /* noise of 0.5 mm, and 8 of 24 points far off, swapped pairs among them */
  random_points(rand, N, 80.0, moving);
  for (int i = 0; i < N; i++) {
    pla_rigid_apply(&truth, moving + 3 * i, fixed + 3 * i);
    for (int d = 0; d < 3; d++)
      fixed[3 * i + d] += g_rand_double_range(rand, -0.5, 0.5);
  }
  for (int i = 0; i < 8; i++)
    for (int d = 0; d < 3; d++)
      fixed[3 * i + d] += 30.0 * (d == i % 3);
  g_assert_cmpint(pla_register_landmarks(N, moving, fixed, false, &found, NULL, &report, &err), ==,
                  PLA_OK);
  const double plain = apart_mm(&found, &truth, 100.0);
  g_assert_cmpint(pla_register_landmarks(N, moving, fixed, true, &found, residual, &report, &err),
                  ==, PLA_OK);
  g_test_message("8 of 24 landmarks off by 30 mm: error %.1f mm plain, %.2f mm robust", plain,
                 apart_mm(&found, &truth, 100.0));
  g_assert_cmpfloat(plain, >, 5.0);
  g_assert_cmpfloat(apart_mm(&found, &truth, 100.0), <, 1.0);
  g_assert_cmpint(report.n_used, ==, 16);
  for (int i = 0; i < N; i++)
    g_assert_true(i < 8 ? residual[i] > 20.0 : residual[i] < 2.0);
  /* more than 30 points are drawn at random, always the same way */
  g_rand_free(rand);

  /* too few, on a line, in one place, nowhere */
  g_assert_cmpint(pla_register_landmarks(2, moving, fixed, false, &found, NULL, NULL, &err), ==,
                  PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "Three"));
  for (int robust = 0; robust < 2; robust++)
    for (int line = 0; line < 2; line++) {
      for (int i = 0; i < N; i++)
        for (int d = 0; d < 3; d++)
          moving[3 * i + d] = fixed[3 * i + d] = line * i * (1.0 + d);
      g_assert_cmpint(pla_register_landmarks(N, moving, fixed, robust, &found, NULL, NULL, &err),
                      ==, PLA_ERR_GEOMETRY);
      g_assert_nonnull(strstr(err.message, "line"));
    }
  moving[7] = NAN;
  g_assert_cmpint(pla_register_landmarks(N, moving, fixed, false, &found, NULL, NULL, &err), ==,
                  PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "Landmark 3"));
}

/* ---- surfaces ---- */

/* a potato: no motion leaves it as it is */
static PlaMesh *
potato(double spacing_mm)
{
  PlaPhantom phantom = { 0 };
  PlaError err = { 0 };
  g_assert_cmpint(pla_phantom_make("sphere-surface", spacing_mm, NULL, &phantom, &err), ==, PLA_OK);
  PlaMesh *mesh = g_steal_pointer(&phantom.mesh);
  for (int v = 0; v < mesh->n_verts; v++) {
    double *p = mesh->pos + 3 * v;
    const double u[3] = { p[0] / 0.04, p[1] / 0.04, p[2] / 0.04 };
    const double s = 1.0 + 0.25 * u[0] + 0.15 * u[1] * u[2] + 0.2 * u[0] * u[1] * u[1] -
                     0.2 * u[2] * u[2] * u[2];
    p[0] *= 1.2 * s;
    p[1] *= s;
    p[2] *= 0.85 * s;
  }
  pla_phantom_clear(&phantom);
  return mesh;
}

static void
move_mesh(PlaMesh *mesh, const PlaRigid *t)
{
  for (int v = 0; v < mesh->n_verts; v++) {
    double *p = mesh->pos + 3 * v, x[3] = { 1e3 * p[0], 1e3 * p[1], 1e3 * p[2] };
    pla_rigid_apply(t, x, x);
    for (int d = 0; d < 3; d++)
      p[d] = 1e-3 * x[d];
  }
}

static void
test_surfaces(void)
{
  PlaError err = { 0 };
  /* the same shape in other triangles */
  PlaMesh *fixed = potato(small() ? 4.0 : 2.5), *moving = potato(small() ? 4.6 : 3.1);
  const PlaTriMesh to = pla_mesh_tris(fixed);
  const PlaRigid truth =
      pla_rigid_about((double[3]){ 0 }, (double[3]){ 0.1, -0.12, 0.08 }, (double[3]){ 4, -3, 5 });
  const PlaRigid away = pla_rigid_inverse(&truth);
  PlaIcpOptions opts = pla_icp_options_default();
  PlaIcpReport report;
  PlaRigid found;
  opts.n_samples = 1000;
  move_mesh(moving, &away);
  PlaTriMesh from = pla_mesh_tris(moving);
  g_assert_cmpint(pla_register_surfaces(&from, &to, NULL, &opts, NULL, &found, &report, &err), ==,
                  PLA_OK);
  g_test_message("surfaces: %d iterations, error %.2e mm, rms %.2e mm, stiffness %.3f",
                 report.iterations, apart_mm(&found, &truth, 40.0), report.rms_mm,
                 report.stiffness);
  g_assert_cmpfloat(apart_mm(&found, &truth, 40.0), <, 0.1);
  g_assert_cmpfloat(report.rms_mm, <, 0.1);
  g_assert_true(report.converged);
  g_assert_cmpfloat(report.stiffness, >, 0.01);

  /* the same bits from one thread and from four */
  PlaRigid one, four;
  const int before = pla_threads_get();
  pla_threads_set(1);
  pla_register_surfaces(&from, &to, NULL, &opts, NULL, &one, NULL, &err);
  pla_threads_set(4);
  pla_register_surfaces(&from, &to, NULL, &opts, NULL, &four, NULL, &err);
  pla_threads_set(before);
  g_assert_cmpmem(&one, sizeof one, &four, sizeof four);

  /* a swelling over a sixth of the moving surface: trimmed and weighed down */
  for (int v = 0; v < moving->n_verts; v++) {
    const double *p = moving->pos + 3 * v;
    double x[3] = { 1e3 * p[0], 1e3 * p[1], 1e3 * p[2] };
    pla_rigid_apply(&truth, x, x);
    if (x[0] > 30.0)
      moving->pos[3 * v] += 0.012;
  }
  opts.trim = 0.25;
  g_assert_cmpint(pla_register_surfaces(&from, &to, NULL, &opts, NULL, &found, &report, &err), ==,
                  PLA_OK);
  g_test_message("with a swelling: error %.3f mm", apart_mm(&found, &truth, 40.0));
  g_assert_cmpfloat(apart_mm(&found, &truth, 40.0), <, 0.2);
  pla_mesh_free(moving);

  /* far away and upside down: searched for */
  const PlaRigid far =
      pla_rigid_about((double[3]){ 0 }, (double[3]){ 2.4, 0.4, -0.5 }, (double[3]){ 150, -80, 30 });
  opts = pla_icp_options_default();
  opts.n_samples = 1000;
  opts.search = true;
  g_assert_cmpint(pla_mesh_dup(fixed, &moving, &err), ==, PLA_OK);
  move_mesh(moving, &far);
  from = pla_mesh_tris(moving);
  const PlaRigid home = pla_rigid_inverse(&far);
  g_assert_cmpint(pla_register_surfaces(&from, &to, NULL, &opts, NULL, &found, &report, &err), ==,
                  PLA_OK);
  g_assert_cmpfloat(apart_mm(&found, &home, 40.0), <, 0.05);
  pla_mesh_free(moving);
  pla_mesh_free(fixed);
}

/* balls turn freely, plates slide, rods do both */
static void
test_free_surfaces(void)
{
  static const char *const names[] = { "sphere-surface", "torus-surface" };
  PlaError err = { 0 };
  PlaIcpOptions opts = pla_icp_options_default();
  PlaRigid found;
  opts.n_samples = 800;
  for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
    PlaPhantom phantom = { 0 };
    PlaIcpReport report;
    g_assert_cmpint(pla_phantom_make(names[i], 4.0, NULL, &phantom, &err), ==, PLA_OK);
    const PlaTriMesh tris = pla_mesh_tris(phantom.mesh);
    g_assert_cmpint(pla_register_surfaces(&tris, &tris, NULL, &opts, NULL, &found, &report, &err),
                    ==, PLA_ERR_GEOMETRY);
    g_test_message("%s: stiffness %.2e", names[i], report.stiffness);
    g_assert_nonnull(strstr(err.message, "free"));
    pla_phantom_clear(&phantom);
  }
  /* a flat plate of two triangles */
  const double plate[12] = { 0, 0, 0, 0.1, 0, 0, 0.1, 0.1, 0, 0, 0.1, 0 };
  const int two[6] = { 0, 1, 2, 0, 2, 3 };
  const PlaTriMesh flat = { 4, 2, plate, two };
  g_assert_cmpint(pla_register_surfaces(&flat, &flat, NULL, &opts, NULL, &found, NULL, &err), ==,
                  PLA_ERR_GEOMETRY);
  const PlaTriMesh none = { 4, 0, plate, two };
  g_assert_cmpint(pla_register_surfaces(&none, &flat, NULL, &opts, NULL, &found, NULL, &err), ==,
                  PLA_ERR_EMPTY);
}

/* ---- volumes ---- */

/* tissues of a rough head: 0 air, 1 skin, 2 bone, 3 brain, 4 a ventricle beside the middle */
static int
tissue_at(const double p[3])
{
  static const double part[4][7] = { { 0, 0, 0, 75, 95, 85, 1 },
                                     { 0, -3, 4, 68, 86, 77, 2 },
                                     { 0, -3, 6, 61, 79, 69, 3 },
                                     { 14, 10, 12, 12, 30, 9, 4 } };
  int tissue = 0;
  for (int i = 0; i < 4; i++) {
    double s = 0.0;
    for (int d = 0; d < 3; d++)
      s += (p[d] - part[i][d]) * (p[d] - part[i][d]) / (part[i][3 + d] * part[i][3 + d]);
    if (s < 1.0)
      tissue = (int)part[i][6];
  }
  /* a nose */
  const double nose[3] = { p[0], p[1] - 100.0, p[2] + 15.0 };
  if (pla_vec3_norm(nose) < 18.0 && tissue == 0)
    tissue = 1;
  return tissue;
}

/* an image of it under @t, which takes it to where it is seen */
static PlaVolume *
image_of(const double value[5], const PlaRigid *t, int n, double spacing, GRand *rand)
{
  PlaVolume *vol = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_volume_new((int[4]){ n, n, n, 1 }, PLA_I16, &vol, &err), ==, PLA_OK);
  const PlaRigid back = pla_rigid_inverse(t);
  memset(vol->affine_mm, 0, sizeof vol->affine_mm);
  for (int d = 0; d < 3; d++) {
    vol->affine_mm[5 * d] = spacing;
    vol->affine_mm[4 * d + 3] = -0.5 * spacing * (n - 1);
  }
  for (int v = 0; v < n * n * n; v++) {
    double sum = 0.0;
    for (int s = 0; s < 8; s++) {
      double x[3] = { vol->affine_mm[3] + spacing * (v % n + (s & 1 ? 0.25 : -0.25)),
                      vol->affine_mm[7] + spacing * (v / n % n + (s >> 1 & 1 ? 0.25 : -0.25)),
                      vol->affine_mm[11] + spacing * (v / (n * n) + (s >> 2 ? 0.25 : -0.25)) };
      pla_rigid_apply(&back, x, x);
      sum += value[tissue_at(x)] / 8.0;
    }
    ((int16_t *)vol->voxels)[v] = (int16_t)(sum + g_rand_double_range(rand, -20, 20));
  }
  return vol;
}

static void
test_volumes(void)
{
  static const double ct[5] = { -1000, 40, 900, 35, 10 }, mr[5] = { 0, 700, 60, 500, 120 };
  GRand *rand = g_rand_new_with_seed(5);
  const int n = small() ? 50 : 60;
  const double spacing = 240.0 / n;
  const PlaRigid none = pla_rigid_identity();
  const PlaRigid truth =
      pla_rigid_about((double[3]){ 0 }, (double[3]){ 0.1, -0.15, 0.12 }, (double[3]){ 9, -6, 7 });
  const PlaRigid away = pla_rigid_inverse(&truth);
  PlaVolume *fixed = image_of(ct, &none, n, spacing, rand);
  PlaVolumeRegistrationOptions opts = pla_volume_registration_options_default();
  PlaVolumeRegistrationReport report;
  PlaError err = { 0 };
  PlaRigid found;
  opts.levels = 2;
  opts.n_samples = 30000;
  for (int kind = 0; kind < 2; kind++) {
    PlaVolume *moving = image_of(kind ? mr : ct, &away, n, spacing, rand);
    g_assert_cmpint(pla_register_volumes(moving, fixed, NULL, &opts, NULL, &found, &report, &err),
                    ==, PLA_OK);
    g_test_message("%s to CT, %.1f mm voxels: error %.2f mm at most, information %.3f -> %.3f, %d "
                   "evaluations, stiffness %.4f",
                   kind ? "MR" : "CT", spacing, apart_mm(&found, &truth, 50.0), report.before,
                   report.information, report.evaluations, report.stiffness);
    g_assert_cmpfloat(apart_mm(&found, &truth, 50.0), <, 0.25 * spacing);
    g_assert_cmpfloat(report.information, >, report.before);
    if (kind) {
      PlaRigid one, four;
      const int before = pla_threads_get();
      opts.levels = 1;
      opts.n_samples = 8000;
      pla_threads_set(1);
      g_assert_cmpint(pla_register_volumes(moving, fixed, &truth, &opts, NULL, &one, NULL, &err),
                      ==, PLA_OK);
      pla_threads_set(4);
      g_assert_cmpint(pla_register_volumes(moving, fixed, &truth, &opts, NULL, &four, NULL, &err),
                      ==, PLA_OK);
      pla_threads_set(before);
      g_assert_cmpmem(&one, sizeof one, &four, sizeof four);
    }
    pla_volume_free(moving);
  }

  /* nothing in the picture, and nothing in common */
  PlaVolume *grey = NULL;
  g_assert_cmpint(pla_volume_dup(fixed, &grey, &err), ==, PLA_OK);
  memset(grey->voxels, 0, pla_volume_n_bytes(grey));
  g_assert_cmpint(pla_register_volumes(grey, fixed, NULL, &opts, NULL, &found, NULL, &err), ==,
                  PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "same value"));
  pla_volume_free(grey);
  const PlaRigid far =
      pla_rigid_about((double[3]){ 0 }, (double[3]){ 0 }, (double[3]){ 900, 0, 0 });
  g_assert_cmpint(pla_register_volumes(fixed, fixed, &far, &opts, NULL, &found, NULL, &err), ==,
                  PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "overlap"));
  PlaProgress progress;
  pla_progress_init(&progress, NULL, NULL);
  pla_progress_cancel(&progress);
  g_assert_cmpint(pla_register_volumes(fixed, fixed, NULL, &opts, &progress, &found, NULL, &err),
                  ==, PLA_ERR_CANCELLED);
  /* a ball looks the same from all sides */
  for (int v = 0; v < n * n * n; v++) {
    const double x[3] = { v % n - 0.5 * (n - 1), v / n % n - 0.5 * (n - 1),
                          v / (n * n) - 0.5 * (n - 1) };
    ((int16_t *)fixed->voxels)[v] = (int16_t)(1000.0 / (1.0 + exp(pla_vec3_norm(x) - 0.3 * n)));
  }
  g_assert_cmpint(pla_register_volumes(fixed, fixed, NULL, &opts, NULL, &found, &report, &err), ==,
                  PLA_ERR_GEOMETRY);
  g_test_message("ball: stiffness %.1e", report.stiffness);
  g_assert_nonnull(strstr(err.message, "landmarks"));
  pla_volume_free(fixed);
  g_rand_free(rand);
}

/* ---- warps ---- */

/* a smooth bend of space */
static void
bend(const double p[3], double q[3])
{
  q[0] = 1.1 * p[0] + 4.0 * sin(p[1] / 40.0) + 3.0;
  q[1] = 0.95 * p[1] + 3.0 * cos(p[2] / 50.0) - 5.0;
  q[2] = 1.05 * p[2] + 0.001 * p[0] * p[1] + 2.0;
}

static void
test_warp(void)
{
  enum { N = 60 };
  double from[3 * N], to[3 * N], left_out[N], out[3 * N];
  GRand *rand = g_rand_new_with_seed(3);
  PlaWarp *warp = NULL;
  PlaWarpReport report;
  PlaError err = { 0 };
  random_points(rand, N, 80.0, from);

  /* affine maps come back exactly, everywhere */
  for (int i = 0; i < N; i++)
    for (int d = 0; d < 3; d++)
      to[3 * i + d] = 5.0 * d + (1.0 + 0.2 * d) * from[3 * i + d] + 0.3 * from[3 * i + (d + 1) % 3];
  g_assert_cmpint(pla_warp_new(N, from, to, 0.0, &warp, left_out, &report, &err), ==, PLA_OK);
  for (int i = 0; i < 50; i++) {
    double p[3], q[3];
    random_points(rand, 1, 300.0, p);
    pla_warp_apply(warp, 1, p, q);
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(q[d], 5.0 * d + (1.0 + 0.2 * d) * p[d] + 0.3 * p[(d + 1) % 3],
                                     1e-9);
  }
  g_assert_cmpfloat(report.affine_mm, <, 1e-6);
  g_assert_cmpfloat(report.left_out_mm, <, 1e-8);
  g_assert_cmpfloat(report.rigid_mm, >, 10.0);
  pla_warp_free(warp);

  /* a bend: met at the landmarks, followed between them */
  for (int i = 0; i < N; i++)
    bend(from + 3 * i, to + 3 * i);
  g_assert_cmpint(pla_warp_new(N, from, to, 0.0, &warp, left_out, &report, &err), ==, PLA_OK);
  pla_warp_apply(warp, N, from, out);
  for (int i = 0; i < 3 * N; i++)
    g_assert_cmpfloat_with_epsilon(out[i], to[i], 1e-9);
  double sum = 0.0;
  for (int i = 0; i < 200; i++) {
    double p[3], q[3], r[3], j[9], there[3];
    random_points(rand, 1, 60.0, p);
    bend(p, q);
    pla_warp_apply(warp, 1, p, r);
    pla_vec3_sub(r, q, q);
    sum += pla_vec3_dot(q, q) / 200.0;
    /* derivative and inverse */
    pla_warp_jacobian(warp, p, j);
    for (int a = 0; a < 3; a++) {
      double lo[3] = { p[0], p[1], p[2] }, hi[3] = { p[0], p[1], p[2] };
      lo[a] -= 1e-4;
      hi[a] += 1e-4;
      pla_warp_apply(warp, 1, lo, lo);
      pla_warp_apply(warp, 1, hi, hi);
      for (int d = 0; d < 3; d++)
        g_assert_cmpfloat_with_epsilon(j[3 * d + a], (hi[d] - lo[d]) / 2e-4, 1e-5);
    }
    g_assert_true(pla_warp_invert(warp, r, there));
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(there[d], p[d], 1e-4);
  }
  g_test_message(
      "bend by %d landmarks: rigid %.2f, affine %.2f, left out %.3f, between them %.3f mm", N,
      report.rigid_mm, report.affine_mm, report.left_out_mm, sqrt(sum));
  g_assert_cmpfloat(sqrt(sum), <, 0.35 * report.affine_mm);

  /* predictions by the others, one for one */
  for (int i = 0; i < N; i += 13) {
    PlaWarp *without = NULL;
    double f[3 * N], t[3 * N], q[3];
    int k = 0;
    for (int m = 0; m < N; m++)
      if (m != i) {
        memcpy(f + 3 * k, from + 3 * m, 3 * sizeof *f);
        memcpy(t + 3 * k++, to + 3 * m, 3 * sizeof *t);
      }
    g_assert_cmpint(pla_warp_new(k, f, t, 0.0, &without, NULL, NULL, &err), ==, PLA_OK);
    pla_warp_apply(without, 1, from + 3 * i, q);
    pla_vec3_sub(q, to + 3 * i, q);
    g_assert_cmpfloat_with_epsilon(pla_vec3_norm(q), left_out[i], 1e-7);
    pla_warp_free(without);
  }
  g_assert_true(left_out[report.worst] == report.worst_mm);
  pla_warp_free(warp);

  /* uncertain landmarks are missed by as much as was allowed, and a mistake of one stands out */
  g_assert_cmpint(pla_warp_new(N, from, to, 0.5, &warp, NULL, &report, &err), ==, PLA_OK);
  g_assert_cmpfloat_with_epsilon(report.rms_mm, 0.5, 0.01);
  pla_warp_free(warp);
  to[3 * 17] += 25.0;
  g_assert_cmpint(pla_warp_new(N, from, to, 0.0, &warp, left_out, &report, &err), ==, PLA_OK);
  g_assert_cmpint(report.worst, ==, 17);
  pla_warp_free(warp);

  /* what cannot be */
  g_assert_cmpint(pla_warp_new(3, from, to, 0.0, &warp, NULL, NULL, &err), ==, PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "Four"));
  memcpy(out, from, sizeof out);
  memcpy(out + 3 * 9, out + 3 * 4, 3 * sizeof *out);
  g_assert_cmpint(pla_warp_new(N, out, to, 0.0, &warp, NULL, NULL, &err), ==, PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "5 and 10"));
  for (int i = 0; i < N; i++)
    out[3 * i + 2] = 7.0 + 0.5 * out[3 * i];
  memcpy(out + 3 * 9, (double[3]){ 90, 3, 52 }, 3 * sizeof *out);
  g_assert_cmpint(pla_warp_new(N, out, to, 0.0, &warp, NULL, NULL, &err), ==, PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "plane"));
  g_rand_free(rand);
}

/* labels, meshes and fibres go along */
static void
test_warp_things(void)
{
  double from[24], to[24];
  PlaWarp *warp = NULL;
  PlaError err = { 0 };
  PlaPhantom sphere = { 0 }, surface = { 0 };
  for (int c = 0; c < 8; c++)
    for (int d = 0; d < 3; d++) {
      from[3 * c + d] = c >> d & 1 ? 50.0 : -50.0;
      to[3 * c + d] = (d == 0 ? 1.3 : 0.9) * from[3 * c + d] + 10.0 * d;
    }
  g_assert_cmpint(pla_warp_new(8, from, to, 0.0, &warp, NULL, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_phantom_make("sphere", 2.0, NULL, &sphere, &err), ==, PLA_OK);
  PlaLabelMap *moved = NULL;
  g_assert_cmpint(pla_warp_labels(warp, sphere.labels, 2.0, NULL, &moved, &err), ==, PLA_OK);
  size_t before = 0, after = 0;
  for (size_t v = 0; v < pla_volume_n_voxels(sphere.labels->volume); v++)
    before += pla_label_map_get(sphere.labels, v) > 0;
  double mean[3] = { 0 };
  for (size_t v = 0; v < pla_volume_n_voxels(moved->volume); v++)
    if (pla_label_map_get(moved, v) > 0) {
      const int *n = moved->volume->dims;
      const double ijk[3] = { (double)(v % (size_t)n[0]), (double)(v / (size_t)n[0] % (size_t)n[1]),
                              (double)(v / ((size_t)n[0] * (size_t)n[1])) };
      double x[3];
      pla_volume_to_ras_mm(moved->volume, ijk, x);
      for (int d = 0; d < 3; d++)
        mean[d] += x[d];
      after++;
    }
  g_assert_cmpfloat(fabs((double)after / ((double)before * 1.3 * 0.81) - 1.0), <, 0.01);
  for (int d = 0; d < 3; d++)
    g_assert_cmpfloat_with_epsilon(mean[d] / (double)after, 10.0 * d, 0.1);
  g_assert_cmpstr(moved->table.label[0].name, ==, sphere.labels->table.label[0].name);

  g_assert_cmpint(pla_phantom_make("sphere-surface", 6.0, NULL, &surface, &err), ==, PLA_OK);
  float *fibre = pla_mesh_add_field(surface.mesh, "fibre", PLA_ON_CELLS, PLA_F32, 3);
  for (int t = 0; t < surface.mesh->n_tris; t++)
    fibre[3 * t] = fibre[3 * t + 1] = (float)sqrt(0.5);
  PlaMeshSummary s0, s1;
  g_assert_cmpint(pla_mesh_summary(surface.mesh, &s0, &err), ==, PLA_OK);
  g_assert_cmpint(pla_warp_mesh(warp, surface.mesh, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_mesh_summary(surface.mesh, &s1, &err), ==, PLA_OK);
  g_assert_cmpfloat_with_epsilon(s1.volume_m3 / s0.volume_m3, 1.3 * 0.81, 1e-9);
  g_assert_cmpfloat_with_epsilon(fibre[0] / fibre[1], 1.3 / 0.9, 1e-5);
  g_assert_cmpfloat_with_epsilon(hypot(fibre[0], fibre[1]), 1.0, 1e-6);
  pla_label_map_free(moved);
  pla_phantom_clear(&sphere);
  pla_phantom_clear(&surface);
  pla_warp_free(warp);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/registration/rigid", test_rigid);
  g_test_add_func("/registration/landmarks", test_landmarks);
  g_test_add_func("/registration/surfaces", test_surfaces);
  g_test_add_func("/registration/free-surfaces", test_free_surfaces);
  g_test_add_func("/registration/volumes", test_volumes);
  g_test_add_func("/registration/warp", test_warp);
  g_test_add_func("/registration/warp-things", test_warp_things);
  return g_test_run();
}
