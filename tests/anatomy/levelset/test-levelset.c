/* Level sets of solids with known distances, on straight, stretched and sheared grids. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/levelset/levelset.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40 };

/* grids of N^3 samples around the origin: voxels of about 1 mm */
static const struct {
  const char *name;
  double column[9]; /* rows of the affine's 3x3 part */
} grids[] = {
  { "cubes", { 1, 0, 0, 0, 1, 0, 0, 0, 1 } },
  { "bricks", { 0.9, 0, 0, 0, -0.9, 0, 0, 0, 1.5 } },
  { "sheared", { 1, 0, 0, 0, 0.9, 0.35, 0, -0.2, 1.1 } },
  { "skew", { 0.9, 0.2, 0.1, -0.2, 1.0, 0.2, 0.1, -0.1, 1.1 } },
};

/* the last grid alone where sanitizers make everything slow */
static size_t
first_grid(void)
{
  return g_getenv("PLA_SMALL") ? G_N_ELEMENTS(grids) - 1 : 0;
}

static void
make_affine(const double m[9], double affine[12])
{
  for (int r = 0; r < 3; r++) {
    affine[4 * r + 3] = 0.03 * (r + 1);
    for (int c = 0; c < 3; c++) {
      affine[4 * r + c] = m[3 * r + c];
      affine[4 * r + 3] -= 0.5 * (N - 1) * m[3 * r + c];
    }
  }
}

static const double turned[9] = { 0.8, 0.6, 0.0, -0.48, 0.64, 0.6, 0.36, -0.48, 0.8 };

static PlaSolid
make_solid(int which)
{
  static const double centre[3] = { 0.3, -0.2, 0.1 }, radius = 11.0;
  PlaSolid s = { .kind = which == 0   ? PLA_SOLID_TUBE
                         : which == 1 ? PLA_SOLID_TORUS
                                      : PLA_SOLID_BOX,
                 .centre = { 0.3, -0.2, 0.1 },
                 .n_points = 1,
                 .point = centre,
                 .radius = &radius };
  const double size[3][3] = { { 0, 0, 0 }, { 9, 5, 0 }, { 9, 7, 8 } };
  memcpy(s.size, size[which], sizeof s.size);
  memcpy(s.axes, turned, sizeof turned);
  return s;
}

/* How far, mm, a point is from where the distance has a kink; none for points whose nearest point
 * is close to such a place: the medial axis of the box runs out of its edges. */
static double
medial_distance(const PlaSolid *s, int which, const double pos[3])
{
  double d[3], x[3];
  pla_vec3_sub(pos, s->centre, d);
  pla_mat3_apply(s->axes, d, x);
  if (which == 0)
    return pla_vec3_norm(x);
  if (which == 1) /* the tube's circle and the torus' axis */
    return fmin(hypot(hypot(x[0], x[1]) - s->size[0], x[2]), hypot(x[0], x[1]));
  /* where two sides of the box are equally far, inside, and nearest to an edge, outside */
  double q[3], most = -INFINITY, second = -INFINITY;
  for (int k = 0; k < 3; k++) {
    q[k] = fabs(x[k]) - s->size[k];
    if (q[k] > most) {
      second = most;
      most = q[k];
    } else if (q[k] > second) {
      second = q[k];
    }
  }
  return most > 0.0 ? -second : (most - second) / sqrt(2.0);
}

static double
solid_func(const double pos[3], const void *data)
{
  return pla_solid_distance(data, pos);
}

/* a field of the same zero set and wrong slopes */
static double
warped_func(const double pos[3], const void *data)
{
  double d = pla_solid_distance(data, pos);
  return d * (1.6 + 0.05 * sin(0.3 * pos[0]) + 0.02 * d);
}

typedef struct {
  double max, mean;     /* voxels */
  double anywhere;      /* largest outside, sectors of edges and corners included */
  double gradient, off; /* largest and mean deviation of its length from 1 */
  int n;
} Errors;

/* @away_mm: of samples that count, from the medial axis */
static Errors
compare(const PlaLevelSet *ls, const PlaSolid *solid, int which, double away_mm)
{
  Errors e = { 0 };
  const double h = pla_levelset_spacing_mm(ls);
  for (int k = 1; k < N - 1; k++)
    for (int j = 1; j < N - 1; j++)
      for (int i = 1; i < N - 1; i++) {
        const double ijk[3] = { i, j, k };
        double pos[3];
        pla_affine_apply(ls->affine_mm, ijk, pos);
        size_t v = (size_t)i + N * ((size_t)j + (size_t)N * (size_t)k);
        const size_t stride[3] = { 1, N, N * N };
        double exact = pla_solid_distance(solid, pos), err = fabs(ls->phi_mm[v] - exact) / h;
        if (exact > 0.0)
          e.anywhere = fmax(e.anywhere, err);
        if (medial_distance(solid, which, pos) < away_mm)
          continue;
        e.max = fmax(e.max, err);
        e.mean += err;
        e.n++;
        /* central differences of both, as those of a curved exact distance are not quite 1 */
        double d[2][3], norm[2], grad[3];
        for (int a = 0; a < 3; a++) {
          double side[2];
          for (int q = 0; q < 2; q++) {
            double near[3] = { i, j, k }, at[3];
            near[a] += q ? 1.0 : -1.0;
            pla_affine_apply(ls->affine_mm, near, at);
            side[q] = pla_solid_distance(solid, at);
          }
          d[0][a] = 0.5 * (ls->phi_mm[v + stride[a]] - ls->phi_mm[v - stride[a]]);
          d[1][a] = 0.5 * (side[1] - side[0]);
        }
        for (int q = 0; q < 2; q++) {
          for (int a = 0; a < 3; a++)
            grad[a] = d[q][0] * ls->inverse_mm[a] + d[q][1] * ls->inverse_mm[4 + a] +
                      d[q][2] * ls->inverse_mm[8 + a];
          norm[q] = pla_vec3_norm(grad);
        }
        double off = fabs(norm[0] / norm[1] - 1.0);
        e.gradient = fmax(e.gradient, off);
        e.off += off;
      }
  e.mean /= e.n;
  e.off /= e.n;
  return e;
}

static void
test_redistance(void)
{
  for (size_t g = first_grid(); g < G_N_ELEMENTS(grids); g++)
    for (int which = 0; which < 3; which++) {
      const int dims[3] = { N, N, N };
      double affine[12];
      PlaLevelSet *ls;
      PlaError err;
      PlaSolid solid = make_solid(which);
      make_affine(grids[g].column, affine);
      g_assert_cmpint(pla_levelset_new(dims, affine, &ls, &err), ==, PLA_OK);
      pla_levelset_fill(ls, warped_func, &solid);
      g_assert_cmpint(pla_levelset_redistance(ls, INFINITY, NULL, &err), ==, PLA_OK);
      Errors e = compare(ls, &solid, which, 3.0 * pla_levelset_spacing_mm(ls));
      g_test_message("%s %d: max %.3f mean %.5f edges %.3f gradient %.4f mean %.6f", grids[g].name,
                     which, e.max, e.mean, e.anywhere, e.gradient, e.off);
      g_assert_cmpint(e.n, >, 5000);
      g_assert_cmpfloat(e.max, <, 0.1);
      g_assert_cmpfloat(e.mean, <, 0.002);
      /* sharp corners are cut by the grid */
      g_assert_cmpfloat(e.anywhere, <, 0.9);
      /* the length of the gradient, at every sample */
      g_assert_cmpfloat(e.gradient, <, 0.02);
      g_assert_cmpfloat(e.off, <, 0.001);
      pla_levelset_free(ls);
    }
}

/* @n^3 labels: 1 inside @solid, 2 in the rest of a half space when @halved, 0 elsewhere */
static PlaLabelMap *
label_solid(int n, const double affine[12], const PlaSolid *solid, bool halved)
{
  const int dims[4] = { n, n, n, 1 };
  PlaVolume *vol;
  PlaLabelMap *map;
  PlaError err;
  g_assert_cmpint(pla_volume_new(dims, PLA_U8, &vol, &err), ==, PLA_OK);
  memcpy(vol->affine_mm, affine, sizeof vol->affine_mm);
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) {
        const double ijk[3] = { i, j, k };
        double pos[3];
        pla_affine_apply(affine, ijk, pos);
        ((uint8_t *)vol->voxels)[i + n * (j + n * k)] = pla_solid_distance(solid, pos) < 0.0
                                                            ? (halved && pos[0] > 2.0 ? 3 : 1)
                                                        : halved && pos[1] + 0.3 * pos[2] > 1.0 ? 2
                                                                                                : 0;
      }
  g_assert_cmpint(pla_label_map_take(vol, NULL, &map, &err), ==, PLA_OK);
  return map;
}

static void
test_from_labels(void)
{
  for (size_t g = first_grid(); g < G_N_ELEMENTS(grids); g++)
    for (int which = 0; which < 3; which++) {
      double affine[12], volume;
      PlaSolid solid = make_solid(which);
      PlaLevelSet *ls;
      PlaError err;
      PlaLabelLevelSetOptions opts = pla_label_levelset_options_default();
      PlaLabelLevelSetReport report;
      const int id = 1;
      opts.band_mm = opts.margin_mm = INFINITY;
      make_affine(grids[g].column, affine);
      PlaLabelMap *map = label_solid(N, affine, &solid, false);
      g_assert_cmpint(pla_levelset_from_labels(map, &id, 1, &opts, NULL, &ls, &report, &err), ==,
                      PLA_OK);
      /* three voxels along any axis: nearer to a ball's centre than that, dents of a few
       * hundredths of a voxel, which labels cannot tell from the ball, make kinks */
      double spacing[3];
      pla_volume_spacing_mm(map->volume, spacing);
      Errors e = compare(ls, &solid, which, 3.0 * fmax(spacing[0], fmax(spacing[1], spacing[2])));
      g_assert_cmpint(pla_levelset_measure(ls, &volume, NULL, &err), ==, PLA_OK);
      g_test_message(
          "%s %d: max %.3f mean %.4f edges %.3f, gradient %.4f mean %.5f of %d, volume %+.3f %%",
          grids[g].name, which, e.max, e.mean, e.anywhere, e.gradient, e.off, e.n,
          100.0 * (volume / report.label_mm3 - 1.0));
      g_assert_cmpint(e.n, >, 4000);
      g_assert_cmpfloat(e.max, <, 1.0);
      g_assert_cmpfloat(e.mean, <, 0.3);
      g_assert_cmpfloat(e.anywhere, <, 1.6);
      g_assert_cmpfloat(e.gradient, <, 0.05);
      g_assert_cmpfloat(e.off, <, 0.003);
      g_assert_cmpfloat(fabs(volume / report.label_mm3 - 1.0), <, 0.005);
      g_assert_cmpuint(report.border_faces, ==, 0);
      pla_levelset_free(ls);
      pla_label_map_free(map);
    }
}

/* label 1 from @lo to @hi (voxels, both included) in a volume of @dims voxels */
static PlaLabelMap *
label_box(const int dims[3], const int lo[3], const int hi[3], const double spacing[3])
{
  const int n[4] = { dims[0], dims[1], dims[2], 1 };
  PlaVolume *vol;
  PlaLabelMap *map;
  PlaError err;
  g_assert_cmpint(pla_volume_new(n, PLA_U8, &vol, &err), ==, PLA_OK);
  memset(vol->affine_mm, 0, sizeof vol->affine_mm);
  for (int d = 0; d < 3; d++)
    vol->affine_mm[5 * d] = spacing[d];
  for (int v = 0; v < dims[0] * dims[1] * dims[2]; v++) {
    const int at[3] = { v % dims[0], v / dims[0] % dims[1], v / (dims[0] * dims[1]) };
    bool in = true;
    for (int d = 0; d < 3; d++)
      in = in && at[d] >= lo[d] && at[d] <= hi[d];
    ((uint8_t *)vol->voxels)[v] = in;
  }
  g_assert_cmpint(pla_label_map_take(vol, NULL, &map, &err), ==, PLA_OK);
  return map;
}

static PlaLevelSet *
levelset_of(PlaLabelMap *map, double smooth_mm)
{
  PlaLabelLevelSetOptions opts = pla_label_levelset_options_default();
  PlaLevelSet *ls;
  PlaError err;
  const int id = 1;
  opts.margin_mm = INFINITY;
  opts.smooth_mm = smooth_mm;
  g_assert_cmpint(pla_levelset_from_labels(map, &id, 1, &opts, NULL, &ls, NULL, &err), ==, PLA_OK);
  pla_label_map_free(map);
  return ls;
}

/* flat faces stay where they are, right at the border of the volume and however thin the slab */
static void
test_flat(void)
{
  const double spacing[3] = { 3, 3, 3 };
  for (int thick = 2; thick <= (g_getenv("PLA_SMALL") ? 2 : 4); thick += 2)
    for (int smooth = 0; smooth < 2; smooth++)
      for (int beside = 0; beside < 2; beside++) {
        /* with a voxel of air around it, or to the ends of the volume */
        const int dims[3] = { 26, 26, thick + 2 }, lo[3] = { beside, beside, 1 },
                  hi[3] = { 25 - beside, 25 - beside, thick };
        PlaLevelSet *ls = levelset_of(label_box(dims, lo, hi, spacing), smooth * 2.8);
        double worst = 0.0;
        for (int j = 9; j < 17; j++)
          for (int i = 9; i < 17; i++)
            for (int side = 0; side < 2; side++) {
              const double z = side ? thick + 0.5 : 0.5;
              const double at[3] = { 3.0 * i, 3.0 * j, 3.0 * z };
              worst = fmax(worst, fabs(pla_levelset_at(ls, at)) / 3.0);
            }
        g_test_message("%d voxels thick%s%s: %.3f voxels off", thick, smooth ? ", smoothed" : "",
                       beside ? "" : ", cut off", worst);
        g_assert_cmpfloat(worst, <, 0.1);
        pla_levelset_free(ls);
      }
}

/* a volume that ends right beside the label gives the same distances as one with much around it */
static void
test_border(void)
{
  const double spacing[3] = { 0.9, 1.1, 1.4 };
  const int small[3] = { 15, 13, 11 }, large[3] = { 33, 31, 29 };
  for (int smooth = g_getenv("PLA_SMALL") ? 1 : 0; smooth < 2; smooth++) {
    PlaLevelSet *near =
        levelset_of(label_box(small, (int[3]){ 1, 1, 1 }, (int[3]){ 13, 11, 9 }, spacing),
                    smooth * 1.5);
    PlaLevelSet *far =
        levelset_of(label_box(large, (int[3]){ 10, 10, 10 }, (int[3]){ 22, 20, 18 }, spacing),
                    smooth * 1.5);
    for (int k = 0; k < small[2]; k++)
      for (int j = 0; j < small[1]; j++)
        for (int i = 0; i < small[0]; i++)
          g_assert_cmpfloat_with_epsilon(
              near->phi_mm[i + small[0] * (j + small[1] * k)],
              far->phi_mm[i + 9 + large[0] * (j + 9 + large[1] * (k + 9))], 1e-4);
    pla_levelset_free(near);
    pla_levelset_free(far);
  }
}

/* volumes of combined solids against closed forms */
static void
test_csg(void)
{
  const int dims[3] = { 80, 50, 50 };
  const double affine[12] = { 0.8, 0, 0, -32, 0, 0.8, 0, -20, 0, 0, 0.8, -20 };
  const double path[9] = { -14, 0, 0, 0, 0, 0, 14, 0, 0 }, radius[3] = { 6, 6, 6 };
  const double far[3] = { 1e4, 0, 0 };
  PlaError err;
  PlaSolid capsule = {
    .kind = PLA_SOLID_CAPSULE, .n_points = 2, .point = path + 3, .radius = radius
  };
  PlaSolid tube = { .kind = PLA_SOLID_TUBE, .n_points = 3, .point = path, .radius = radius };
  PlaSolid ball = { .kind = PLA_SOLID_ELLIPSOID, .size = { 11, 11, 11 } };
  PlaSolid egg = { .kind = PLA_SOLID_ELLIPSOID, .size = { 16, 12, 9 } };
  const double pi = G_PI;
  /* the ball covers a capsule's end: what is left is a cylinder from the sphere on, and a cap */
  const double reach = sqrt(121.0 - 36.0);
  const double lens = pi / 3.0 * (11 - reach) * (11 - reach) * (33 - (11 - reach));
  const double ball_volume = 4.0 / 3.0 * pi * 1331.0;
  const double out = pi * 36.0 * (14.0 - reach) + 2.0 / 3.0 * pi * 216.0 - lens;
  const struct {
    PlaCsg op;
    const PlaSolid *first, *second;
    double volume;
  } cases[] = {
    { PLA_CSG_UNION, &tube, NULL, pi * 36.0 * 28.0 + 4.0 / 3.0 * pi * 216.0 },
    { PLA_CSG_UNION, &egg, NULL, 4.0 / 3.0 * pi * 16.0 * 12.0 * 9.0 },
    { PLA_CSG_UNION, &ball, &capsule, ball_volume + out },
    { PLA_CSG_INTERSECTION, &ball, &tube, pi * 36.0 * 2.0 * reach + 2.0 * lens },
    { PLA_CSG_DIFFERENCE, &ball, &tube, ball_volume - pi * 36.0 * 2.0 * reach - 2.0 * lens },
  };
  for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
    PlaLevelSet *ls, *other = NULL;
    double volume;
    g_assert_cmpint(pla_levelset_new(dims, affine, &ls, &err), ==, PLA_OK);
    pla_levelset_fill(ls, solid_func, cases[c].first);
    if (cases[c].second) {
      /* by the solid itself, and by a level set of it on another grid */
      const int odims[3] = { 100, 60, 60 };
      const double oaffine[12] = { 0.7, 0, 0, -36, 0, 0.7, 0, -20, 0, 0, 0.7, -20 };
      PlaLevelSet *twin;
      double again;
      g_assert_cmpint(pla_levelset_dup(ls, &twin, &err), ==, PLA_OK);
      g_assert_cmpint(pla_levelset_new(odims, oaffine, &other, &err), ==, PLA_OK);
      pla_levelset_fill(other, solid_func, cases[c].second);
      pla_levelset_combine(twin, cases[c].op, other);
      pla_levelset_combine_solid(ls, cases[c].op, cases[c].second);
      g_assert_cmpint(pla_levelset_measure(twin, &again, NULL, &err), ==, PLA_OK);
      /* sampled twice */
      g_assert_cmpfloat(fabs(again / cases[c].volume - 1.0), <, 0.02);
      pla_levelset_free(twin);
      pla_levelset_free(other);
    }
    g_assert_cmpint(pla_levelset_measure(ls, &volume, NULL, &err), ==, PLA_OK);
    g_test_message("case %zu: %.1f of %.1f mm3", c, volume, cases[c].volume);
    g_assert_cmpfloat(fabs(volume / cases[c].volume - 1.0), <, 0.01);
    pla_levelset_free(ls);
  }
  /* an offset ball is a larger ball; far away every distance is to the nearest point */
  PlaLevelSet *ls;
  double volume;
  g_assert_cmpint(pla_levelset_new(dims, affine, &ls, &err), ==, PLA_OK);
  pla_levelset_fill(ls, solid_func, &ball);
  pla_levelset_offset(ls, 3.0);
  g_assert_cmpint(pla_levelset_measure(ls, &volume, NULL, &err), ==, PLA_OK);
  g_assert_cmpfloat(fabs(volume / (4.0 / 3.0 * pi * 2744.0) - 1.0), <, 0.01);
  pla_levelset_free(ls);
  g_assert_cmpfloat_with_epsilon(pla_solid_distance(&egg, far), 1e4 - 16.0, 1e-6);
  g_assert_cmpfloat_with_epsilon(pla_solid_distance(&tube, far), 1e4 - 20.0, 1e-6);
}

/* a cone between balls: points on its side have distance 0 */
static void
test_cone(void)
{
  const double point[6] = { 0, 0, 0, 10, 0, 0 }, radius[2] = { 5, 2 };
  PlaSolid cone = { .kind = PLA_SOLID_CAPSULE, .n_points = 2, .point = point, .radius = radius };
  const double s = 3.0 / 10.0, c = sqrt(1.0 - s * s);
  for (int i = 0; i <= 10; i++) {
    double t = i / 10.0, r = 5.0 - 3.0 * t;
    const double on[3] = { 10.0 * t + r * s, r * c, 0.0 };
    const double out[3] = { on[0] + 2.0 * s, on[1] + 2.0 * c, 0.0 };
    g_assert_cmpfloat_with_epsilon(pla_solid_distance(&cone, on), 0.0, 1e-12);
    g_assert_cmpfloat_with_epsilon(pla_solid_distance(&cone, out), 2.0, 1e-12);
  }
}

/* a sphere shrinks to sqrt(r^2 - 2 s^2); little is lost at the scale of a voxel */
static void
test_curvature(void)
{
  for (size_t g = 1; g < 3; g++) {
    const int dims[3] = { N, N, N };
    double affine[12];
    PlaLevelSet *ls;
    PlaError err;
    PlaCurvatureReport r;
    PlaSolid ball = { .kind = PLA_SOLID_ELLIPSOID, .size = { 14, 14, 14 } };
    make_affine(grids[g].column, affine);
    for (int large = 0; large < 2; large++) {
      const double scale = large ? 3.0 : 1.0;
      g_assert_cmpint(pla_levelset_new(dims, affine, &ls, &err), ==, PLA_OK);
      pla_levelset_fill(ls, solid_func, &ball);
      g_assert_cmpint(pla_levelset_smooth_curvature(ls, scale, NULL, &r, &err), ==, PLA_OK);
      double left = pow(1.0 - 2.0 * scale * scale / 196.0, 1.5);
      g_test_message("%s: %.4f of the volume left, expected %.4f, %d steps", grids[g].name,
                     r.volume_after_mm3 / r.volume_before_mm3, left, r.steps);
      g_assert_cmpfloat_with_epsilon(r.volume_after_mm3 / r.volume_before_mm3, left, 0.01);
      if (!large)
        g_assert_cmpfloat(1.0 - r.volume_after_mm3 / r.volume_before_mm3, <, 0.03);
      pla_levelset_free(ls);
    }
  }
}

static double
linear_func(const double pos[3], const void *data)
{
  return 0.5 * pos[0] - 0.25 * pos[1] + pos[2] + 0.125;
}

static void
test_sample(void)
{
  const int dims[3] = { N, N, N };
  double affine[12];
  PlaLevelSet *ls;
  PlaError err;
  make_affine(grids[3].column, affine);
  g_assert_cmpint(pla_levelset_new(dims, affine, &ls, &err), ==, PLA_OK);
  pla_levelset_fill(ls, linear_func, NULL);
  enum { M = 10000 };
  double *pos = g_new(double, 3 * M), *value = g_new(double, M), *grad = g_new(double, 3 * M);
  g_autoptr(GRand) rand = g_rand_new_with_seed(3);
  for (int p = 0; p < M; p++) {
    double ijk[3];
    for (int d = 0; d < 3; d++)
      ijk[d] = g_rand_double_range(rand, 0.0, N - 1.0);
    pla_affine_apply(affine, ijk, pos + 3 * p);
  }
  pla_levelset_sample(ls, M, pos, value, grad);
  for (int p = 0; p < M; p++) {
    g_assert_cmpfloat_with_epsilon(value[p], linear_func(pos + 3 * p, NULL), 1e-4);
    g_assert_cmpfloat_with_epsilon(grad[3 * p], 0.5, 1e-4);
    g_assert_cmpfloat_with_epsilon(grad[3 * p + 1], -0.25, 1e-4);
    g_assert_cmpfloat_with_epsilon(grad[3 * p + 2], 1.0, 1e-4);
  }
  /* 7 mm outside a corner, along the way back to it */
  const double corner[3] = { N - 1, N - 1, N - 1 };
  double at[3], out[3], v0, v1, g1[3];
  const double away[3] = { 2.0, 3.0, 6.0 };
  pla_affine_apply(affine, corner, at);
  for (int d = 0; d < 3; d++)
    out[d] = at[d] + away[d];
  pla_levelset_sample(ls, 1, at, &v0, NULL);
  pla_levelset_sample(ls, 1, out, &v1, g1);
  g_assert_cmpfloat_with_epsilon(v1 - v0, 7.0, 1e-9);
  g_assert_cmpfloat_with_epsilon(g1[2], 6.0 / 7.0, 1e-9);
  g_free(pos);
  g_free(value);
  g_free(grad);
  pla_levelset_free(ls);
}

/* every voxel is in exactly one of three touching tissues and the rest, smoothed or not */
static void
test_partition(void)
{
  double affine[12];
  PlaSolid solid = make_solid(1);
  PlaError err;
  const int ids[3] = { 1, 2, 3 }, first[4] = { 0, 1, 2, 3 };
  make_affine(grids[1].column, affine);
  PlaLabelMap *map = label_solid(N, affine, &solid, true);
  for (int smooth = 0; smooth < 2; smooth++) {
    PlaPartition *parts;
    PlaLabelLevelSetOptions opts = pla_label_levelset_options_default();
    opts.smooth_mm = smooth ? 1.5 : 0.0;
    opts.margin_mm = INFINITY;
    g_assert_cmpint(pla_partition_new(map, ids, first, 3, &opts, NULL, &parts, &err), ==, PLA_OK);
    size_t owned[4] = { 0 }, changed = 0;
    for (size_t v = 0; v < N * N * N; v++) {
      int n = 0, owner = 0;
      for (int g = 0; g < 3; g++)
        if (parts->group[g]->phi_mm[v] < 0.0f) {
          n++;
          owner = g + 1;
        }
      g_assert_cmpint(n, <=, 1);
      owned[owner]++;
      changed += owner != pla_label_map_get(map, v);
      /* nothing lies between two tissues that the smallest value does not claim: within a tissue
       * voxel that stays, all others are positive by the same amount or more */
      for (int g = 0; owner > 0 && g < 3; g++)
        if (g != owner - 1)
          g_assert_cmpfloat(parts->group[g]->phi_mm[v], >=,
                            -parts->group[owner - 1]->phi_mm[v] - 1e-5f);
    }
    g_test_message("%zu voxels changed hands", changed);
    g_assert_cmpuint(changed, <, N * N * N / 50);
    for (int t = 0; t < 4; t++)
      g_assert_cmpuint(owned[t], >, 1000);
    pla_partition_free(parts);
  }
  pla_label_map_free(map);
}

static void
test_threads(void)
{
  double affine[12];
  PlaSolid solid = make_solid(1);
  PlaError err;
  const int id = 1;
  PlaLabelLevelSetOptions opts = pla_label_levelset_options_default();
  PlaLevelSet *ls[2];
  make_affine(grids[2].column, affine);
  /* enough for several threads to share */
  PlaLabelMap *map = label_solid(50, affine, &solid, false);
  opts.smooth_mm = 0.8;
  for (int t = 0; t < 2; t++) {
    pla_threads_set(t ? 4 : 1);
    g_assert_cmpint(pla_levelset_from_labels(map, &id, 1, &opts, NULL, &ls[t], NULL, &err), ==,
                    PLA_OK);
    g_assert_cmpint(pla_levelset_smooth_curvature(ls[t], 1.0, NULL, NULL, &err), ==, PLA_OK);
  }
  pla_threads_set(0);
  g_assert_cmpmem(ls[0]->phi_mm, pla_levelset_n_voxels(ls[0]) * sizeof(float), ls[1]->phi_mm,
                  pla_levelset_n_voxels(ls[1]) * sizeof(float));
  pla_levelset_free(ls[0]);
  pla_levelset_free(ls[1]);
  pla_label_map_free(map);
}

/* one voxel, all voxels, none, a grid one voxel thick */
static void
test_extremes(void)
{
  PlaError err;
  PlaLabelLevelSetOptions opts = pla_label_levelset_options_default();
  PlaLevelSet *ls;
  PlaLabelLevelSetReport report;
  PlaVolume *vol;
  PlaLabelMap *map;
  const int dims[4] = { 9, 9, 9, 1 }, flat[4] = { 9, 9, 1, 1 }, one = 1, two = 2;
  double volume;
  g_assert_cmpint(pla_volume_new(dims, PLA_U8, &vol, &err), ==, PLA_OK);
  ((uint8_t *)vol->voxels)[4 + 9 * (4 + 9 * 4)] = 1;
  g_assert_cmpint(pla_label_map_take(vol, NULL, &map, &err), ==, PLA_OK);
  g_assert_cmpint(pla_levelset_from_labels(map, &two, 1, &opts, NULL, &ls, NULL, &err), ==,
                  PLA_ERR_EMPTY);
  g_assert_cmpint(pla_levelset_from_labels(map, &one, 1, &opts, NULL, &ls, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_levelset_measure(ls, &volume, NULL, &err), ==, PLA_OK);
  g_assert_cmpfloat(volume, >, 0.05);
  pla_levelset_free(ls);
  /* a layer of one voxel under a filter that would leave nothing of it */
  memset((uint8_t *)vol->voxels + 4 * 81, 1, 81);
  opts.smooth_mm = 2.5;
  g_assert_cmpint(pla_levelset_from_labels(map, &one, 1, &opts, NULL, &ls, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_levelset_measure(ls, &volume, NULL, &err), ==, PLA_OK);
  g_assert_cmpfloat(volume, >, 20.0);
  pla_levelset_free(ls);
  opts.smooth_mm = 0.0;
  memset(vol->voxels, 1, 729);
  g_assert_cmpint(pla_levelset_from_labels(map, &one, 1, &opts, NULL, &ls, &report, &err), ==,
                  PLA_OK);
  g_assert_cmpuint(report.border_faces, ==, 63);
  g_assert_cmpint(pla_levelset_measure(ls, &volume, NULL, &err), ==, PLA_OK);
  g_assert_cmpfloat_with_epsilon(volume, 729.0, 15.0);
  pla_levelset_free(ls);
  pla_label_map_free(map);
  g_assert_cmpint(pla_volume_new(flat, PLA_U8, &vol, &err), ==, PLA_OK);
  ((uint8_t *)vol->voxels)[40] = ((uint8_t *)vol->voxels)[41] = 1;
  g_assert_cmpint(pla_label_map_take(vol, NULL, &map, &err), ==, PLA_OK);
  PlaStatus st = pla_levelset_from_labels(map, &one, 1, &opts, NULL, &ls, NULL, &err);
  g_assert_true(st == PLA_OK || st == PLA_ERR_EMPTY);
  if (st == PLA_OK)
    pla_levelset_free(ls);
  pla_label_map_free(map);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/levelset/redistance", test_redistance);
  g_test_add_func("/levelset/from-labels", test_from_labels);
  g_test_add_func("/levelset/flat", test_flat);
  g_test_add_func("/levelset/border", test_border);
  g_test_add_func("/levelset/csg", test_csg);
  g_test_add_func("/levelset/cone", test_cone);
  g_test_add_func("/levelset/curvature", test_curvature);
  g_test_add_func("/levelset/sample", test_sample);
  g_test_add_func("/levelset/partition", test_partition);
  g_test_add_func("/levelset/threads", test_threads);
  g_test_add_func("/levelset/extremes", test_extremes);
  return g_test_run();
}
