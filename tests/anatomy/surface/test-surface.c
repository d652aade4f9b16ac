/* Surfaces: closed, without self-intersections, close to the voxels, decimated and asked. */
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/tri-tree.h"
#include "anatomy/mesh/winding.h"
#include "anatomy/phantom/phantom.h"
#include "anatomy/surface/repair.h"
#include "anatomy/surface/surface.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static PlaLabelMap *
make_map(const int dims[3], const double affine[12], int (*label)(const double pos[3]))
{
  const int all[4] = { dims[0], dims[1], dims[2], 1 };
  PlaVolume *vol;
  PlaLabelMap *map;
  PlaError err;
  g_assert_cmpint(pla_volume_new(all, PLA_U8, &vol, &err), ==, PLA_OK);
  memcpy(vol->affine_mm, affine, sizeof vol->affine_mm);
  for (int k = 0; k < dims[2]; k++)
    for (int j = 0; j < dims[1]; j++)
      for (int i = 0; i < dims[0]; i++) {
        const double ijk[3] = { i, j, k };
        double pos[3];
        pla_affine_apply(affine, ijk, pos);
        ((uint8_t *)vol->voxels)[i + dims[0] * (j + dims[1] * k)] = (uint8_t)label(pos);
      }
  g_assert_cmpint(pla_label_map_take(vol, NULL, &map, &err), ==, PLA_OK);
  return map;
}

static int
ball_label(const double p[3])
{
  return p[0] * p[0] + p[1] * p[1] + p[2] * p[2] < 14.0 * 14.0;
}

static int
torus_label(const double p[3])
{
  return hypot(hypot(p[0], p[1]) - 11.0, p[2]) < 4.5;
}

/* half a ball that reaches the border of its volume below */
static int
dome_label(const double p[3])
{
  return p[0] * p[0] + p[1] * p[1] + (p[2] + 18.0) * (p[2] + 18.0) < 14.0 * 14.0;
}

/* every second voxel by chance: all ambiguous cases */
static int
noise_label(const double p[3])
{
  guint h = (guint)p[0] * 73856093u ^ (guint)p[1] * 19349663u ^ (guint)p[2] * 83492791u;
  h = (h ^ h >> 15) * 2654435761u;
  return (h >> 13 & 1) != 0;
}

static const double straight[12] = { 1, 0, 0, -20, 0, 1, 0, -20, 0, 0, 1, -20 };
static const double skew[12] = { -1, 0.2, 0, 18, 0, 0.9, 0.3, -22, 0.1, 0, 1.2, -25 };

static void
test_labels(void)
{
  const int dims[3] = { 40, 40, 40 }, small[3] = { 14, 14, 14 }, id = 1;
  const double noise_affine[12] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 };
  const struct {
    const char *name;
    const int *dims;
    const double *affine;
    int (*label)(const double[3]);
    int euler; /* of the surface; 99: any */
    bool capped, measured;
  } cases[] = {
    { "ball", dims, straight, ball_label, 2, false, true },
    { "torus", dims, straight, torus_label, 0, false, true },
    { "skew torus", dims, skew, torus_label, 0, false, true },
    { "dome", dims, straight, dome_label, 2, true, true },
    { "noise", small, noise_affine, noise_label, 99, true, false },
  };
  for (size_t c = 0; c < G_N_ELEMENTS(cases); c++) {
    PlaLabelMap *map = make_map(cases[c].dims, cases[c].affine, cases[c].label);
    PlaSurfaceOptions opts = pla_surface_options_default();
    PlaSurfaceReport r;
    PlaMesh *mesh;
    PlaError err;
    opts.measure = true;
    g_assert_cmpint(pla_surface_from_labels(map, &id, 1, &opts, NULL, &mesh, &r, &err), ==, PLA_OK);
    g_test_message("%s: %d triangles, %d caps, volume %+.2f %%, %.3f mm from the voxels",
                   cases[c].name, mesh->n_tris, r.cap_tris,
                   100.0 * (r.volume_mm3 / r.label_volume_mm3 - 1.0), r.interface_mm);
    g_assert_true(r.closed);
    g_assert_cmpint(r.self_intersections, ==, 0);
    g_assert_cmpint(r.cap_tris > 0, ==, cases[c].capped);
    if (cases[c].euler != 99)
      g_assert_cmpint(mesh->n_verts - mesh->n_tris / 2, ==, cases[c].euler);
    if (cases[c].measured) {
      g_assert_cmpfloat(fabs(r.volume_mm3 / r.label_volume_mm3 - 1.0), <, 0.01);
      /* the largest voxel side of the skew grid is 1.24 mm */
      g_assert_cmpfloat(r.interface_mm, <, cases[c].affine == skew ? 1.24 : 1.0);
    }
    pla_mesh_free(mesh);
    pla_label_map_free(map);
  }
}

/* caps are flat, half a voxel outside the last slice, and only there */
static void
test_caps(void)
{
  const int dims[3] = { 40, 40, 40 }, id = 1;
  PlaLabelMap *map = make_map(dims, straight, dome_label);
  PlaSurfaceOptions opts = pla_surface_options_default();
  PlaMesh *mesh;
  PlaError err;
  g_assert_cmpint(pla_surface_from_labels(map, &id, 1, &opts, NULL, &mesh, NULL, &err), ==, PLA_OK);
  const PlaField *cap = pla_mesh_find_field(mesh, PLA_SURFACE_CAP, PLA_ON_CELLS);
  g_assert_nonnull(cap);
  for (int t = 0; t < mesh->n_tris; t++) {
    bool flat = true;
    for (int q = 0; q < 3; q++)
      flat = flat && fabs(mesh->pos[3 * mesh->tri[3 * t + q] + 2] + 0.0205) < 1e-12;
    g_assert_cmpint(((const uint8_t *)cap->data)[t], ==, flat);
  }
  pla_mesh_free(mesh);
  pla_label_map_free(map);
}

static void
test_decimate(void)
{
  const int dims[3] = { 40, 40, 40 }, id = 1;
  PlaLabelMap *map = make_map(dims, skew, torus_label);
  PlaMesh *mesh, *small[2];
  PlaError err;
  PlaSurfaceOptions opts = pla_surface_options_default();
  PlaSurfaceReport r;
  g_assert_cmpint(pla_surface_from_labels(map, &id, 1, &opts, NULL, &mesh, &r, &err), ==, PLA_OK);
  const int targets[] = { 2000, 600, 300 };
  double last = 0.0;
  for (size_t i = 0; i < G_N_ELEMENTS(targets); i++) {
    double mm[2];
    PlaMeshSummary s;
    PlaTriTree *tree;
    int64_t crossings;
    for (int t = 0; t < 2; t++) {
      pla_threads_set(t ? 4 : 1);
      g_assert_cmpint(pla_surface_decimate(mesh, targets[i], NULL, &small[t], &mm[t], &err), ==,
                      PLA_OK);
    }
    pla_threads_set(0);
    g_assert_cmpmem(small[0]->pos, (size_t)small[0]->n_verts * 24, small[1]->pos,
                    (size_t)small[1]->n_verts * 24);
    g_assert_cmpfloat(mm[0], ==, mm[1]);
    g_assert_cmpint(small[0]->n_tris, ==, targets[i]);
    g_assert_cmpint(pla_mesh_summary(small[0], &s, &err), ==, PLA_OK);
    g_assert_true(s.closed);
    g_assert_cmpint(small[0]->n_verts - small[0]->n_tris / 2, ==, 0);
    PlaTriMesh tris = pla_mesh_tris(small[0]);
    g_assert_cmpint(pla_tri_tree_new(&tris, &tree, &err), ==, PLA_OK);
    g_assert_cmpint(pla_self_intersections(tree, NULL, &crossings, NULL, &err), ==, PLA_OK);
    g_assert_cmpint(crossings, ==, 0);
    pla_tri_tree_free(tree);
    g_test_message("%d triangles: %.3f mm, volume %+.3f %%", targets[i], mm[0],
                   100.0 * (s.volume_m3 * 1e9 / r.volume_mm3 - 1.0));
    /* a fifth of what the distance would allow: chords of a round surface alone take a tenth */
    g_assert_cmpfloat(fabs(s.volume_m3 * 1e9 - r.volume_mm3), <, 0.2 * mm[0] * s.area_m2 * 1e6);
    g_assert_cmpfloat(mm[0], >=, 0.5 * last);
    g_assert_cmpfloat(mm[0], <, 1.5);
    last = mm[0];
    pla_mesh_free(small[0]);
    pla_mesh_free(small[1]);
  }
  pla_mesh_free(mesh);
  pla_label_map_free(map);
}

static int64_t
count_crossings(const double *pos, int n_verts, const int *tri, int n_tris, int **pairs)
{
  const PlaTriMesh mesh = { n_verts, n_tris, pos, tri };
  PlaTriTree *tree;
  PlaError err;
  int64_t n;
  g_assert_cmpint(pla_tri_tree_new(&mesh, &tree, &err), ==, PLA_OK);
  g_assert_cmpint(pla_self_intersections(tree, NULL, &n, pairs, &err), ==, PLA_OK);
  pla_tri_tree_free(tree);
  return n;
}

static void
test_crossings(void)
{
  /* two triangles through each other; touching in a vertex; a hair apart */
  double pos[18] = { 0, 0, 0, 4, 0, 0, 0, 4, 0, 1, 1, -1, 1, 1, 1, 2, -3, 0 };
  const int two[6] = { 0, 1, 2, 3, 4, 5 };
  int *pairs;
  g_assert_cmpint(count_crossings(pos, 6, two, 2, &pairs), ==, 1);
  g_assert_cmpint(pairs[0], ==, 0);
  g_assert_cmpint(pairs[1], ==, 1);
  free(pairs);
  pos[11] = 0.0;
  g_assert_cmpint(count_crossings(pos, 6, two, 2, NULL), ==, 1);
  pos[11] = pos[17] = nextafter(0.0, 1.0);
  g_assert_cmpint(count_crossings(pos, 6, two, 2, NULL), ==, 0);
  /* coplanar: apart, overlapping, one within the other */
  const double flat[27] = { 0, 0, 0, 4, 0, 0, 0, 4, 0, 3, 3, 0, 5, 3,
                            0, 3, 5, 0, 1, 1, 0, 2, 1, 0, 1, 2, 0 };
  const int apart[6] = { 0, 1, 2, 3, 4, 5 }, within[6] = { 0, 1, 2, 6, 7, 8 };
  g_assert_cmpint(count_crossings(flat, 9, apart, 2, NULL), ==, 0);
  g_assert_cmpint(count_crossings(flat, 9, within, 2, NULL), ==, 1);
  /* sharing an edge: open, folded flat; sharing a vertex: free, and stabbing */
  const double fold[18] = { 0, 0, 0, 2, 0, 0, 1, 2, 0, 1, -2, 0, 1, 1, 0, 1, 1, 1 };
  const int open[6] = { 0, 1, 2, 1, 0, 3 }, shut[6] = { 0, 1, 2, 1, 0, 4 },
            up[6] = { 0, 1, 2, 1, 0, 5 };
  g_assert_cmpint(count_crossings(fold, 6, open, 2, NULL), ==, 0);
  g_assert_cmpint(count_crossings(fold, 6, shut, 2, NULL), ==, 1);
  g_assert_cmpint(count_crossings(fold, 6, up, 2, NULL), ==, 0);
  const double fan[21] = { 0, 0, 0, 2, 0, 0, 0, 2, 0, -1, 0, 1, -1, 0, -1, 1, 0.5, 1, 1, 0.5, -1 };
  const int free_fan[6] = { 0, 1, 2, 0, 3, 4 }, stab[6] = { 0, 1, 2, 0, 5, 6 };
  g_assert_cmpint(count_crossings(fan, 7, free_fan, 2, NULL), ==, 0);
  g_assert_cmpint(count_crossings(fan, 7, stab, 2, NULL), ==, 1);
}

static void
test_tree(void)
{
  const int dims[3] = { 40, 40, 40 }, id = 1;
  PlaLabelMap *map = make_map(dims, skew, torus_label);
  PlaMesh *mesh;
  PlaTriTree *tree;
  PlaError err;
  PlaSurfaceOptions opts = pla_surface_options_default();
  g_assert_cmpint(pla_surface_from_labels(map, &id, 1, &opts, NULL, &mesh, NULL, &err), ==, PLA_OK);
  PlaTriMesh tris = pla_mesh_tris(mesh);
  g_assert_cmpint(pla_tri_tree_new(&tris, &tree, &err), ==, PLA_OK);
  g_autoptr(GRand) rand = g_rand_new_with_seed(5);
  for (int i = 0; i < 300; i++) {
    const double p[3] = { g_rand_double_range(rand, -0.02, 0.02),
                          g_rand_double_range(rand, -0.02, 0.02),
                          g_rand_double_range(rand, -0.008, 0.008) };
    double exact = pla_winding_exact(&tris, p), near[3];
    int tri;
    g_assert_cmpfloat_with_epsilon(exact, round(exact), 1e-9);
    /* inside by winding is inside by distance, away from the surface */
    double d = 1000.0 * hypot(hypot(p[0], p[1]) - 0.011, p[2]) - 4.5;
    if (fabs(d) > 1.0)
      g_assert_cmpint((int)round(exact), ==, d < 0.0);
    double far = pla_tri_tree_nearest(tree, p, INFINITY, &tri, near), best = INFINITY;
    g_assert_cmpfloat_with_epsilon(1000.0 * far, fabs(d), 0.8);
    for (int v = 0; v < mesh->n_verts; v++) {
      double s = 0.0;
      for (int k = 0; k < 3; k++)
        s += (p[k] - mesh->pos[3 * v + k]) * (p[k] - mesh->pos[3 * v + k]);
      best = fmin(best, s);
    }
    g_assert_cmpfloat(far, <=, sqrt(best) + 1e-15);
    g_assert_cmpfloat(sqrt(best) - far, <, 0.7e-3);
    if (far < 1e-9)
      continue;
    g_assert_cmpfloat(pla_tri_tree_nearest(tree, p, 0.5 * far, &tri, NULL), ==, INFINITY);
    g_assert_cmpint(tri, ==, -1);
  }
  pla_tri_tree_free(tree);
  pla_mesh_free(mesh);
  pla_label_map_free(map);
}

/* the fast winding number against the sum over all triangles: overlapping, nested, twisted, open */
static void
test_winding(void)
{
  const char *names[] = { "crossing-boxes", "nested-boxes", "moebius-pair", "spiral",
                          "torus-surface" };
  GRand *rand = g_rand_new_with_seed(11);
  for (gsize m = 0; m < G_N_ELEMENTS(names); m++)
    for (int open = 0; open < 2; open++) {
      PlaPhantom phantom = { 0 };
      PlaError err;
      PlaWinding *winding;
      g_assert_cmpint(pla_phantom_make(names[m], 2.5, NULL, &phantom, &err), ==, PLA_OK);
      PlaTriMesh tris = pla_mesh_tris(phantom.mesh);
      PlaMeshSummary s;
      g_assert_cmpint(pla_mesh_summary(phantom.mesh, &s, &err), ==, PLA_OK);
      if (open)
        tris.n_tris -= tris.n_tris / 3;
      g_assert_cmpint(pla_winding_new(&tris, &winding, &err), ==, PLA_OK);
      enum { N = 200 };
      double pos[3 * N], fast[N], worst = 0.0;
      for (int i = 0; i < N; i++)
        for (int d = 0; d < 3; d++)
          pos[3 * i + d] = g_rand_double_range(rand, 1.2 * s.lo_m[d] - 0.2 * s.hi_m[d],
                                               1.2 * s.hi_m[d] - 0.2 * s.lo_m[d]);
      g_assert_cmpint(pla_winding_batch(winding, N, pos, NULL, fast, &err), ==, PLA_OK);
      for (int i = 0; i < N; i++) {
        const double exact = pla_winding_exact(&tris, pos + 3 * i);
        worst = fmax(worst, fabs(fast[i] - exact));
        if (!open)
          g_assert_cmpfloat_with_epsilon(exact, round(exact), 1e-9);
        g_assert_cmpfloat(fast[i], ==, pla_winding_at(winding, pos + 3 * i));
      }
      g_test_message("%s%s: %d triangles, error %.1e", names[m], open ? ", open" : "", tris.n_tris,
                     worst);
      g_assert_cmpfloat(worst, <, 5e-3);
      pla_winding_free(winding);
      pla_phantom_clear(&phantom);
    }
  g_rand_free(rand);
}

/* damage that imported surfaces come with, and what repair makes of it */
static void
test_repair(void)
{
  const char *names[] = { "sphere-surface", "torus-surface", "box-surface", "nested-boxes" };
  for (gsize m = 0; m < G_N_ELEMENTS(names); m++) {
    PlaPhantom phantom = { 0 };
    PlaMesh *bad, *good;
    PlaMeshSummary whole, s;
    PlaRepairReport r;
    PlaError err;
    int64_t crossings;
    PlaTriTree *tree;
    g_assert_cmpint(pla_phantom_make(names[m], 4.0, NULL, &phantom, &err), ==, PLA_OK);
    const PlaMesh *mesh = phantom.mesh;
    g_assert_cmpint(pla_mesh_summary(mesh, &whole, &err), ==, PLA_OK);
    /* every triangle with vertices of its own, every fifth turned, some gone, one there twice */
    const int n = mesh->n_tris;
    g_assert_cmpint(pla_mesh_new(3 * n, n + 1, 0, 0, &bad, &err), ==, PLA_OK);
    int kept = 0;
    for (int t = 0; t < n; t++) {
      if (t % 41 == 3 || (t > n / 2 && t < n / 2 + 4))
        continue;
      for (int c = 0; c < 3; c++) {
        memcpy(bad->pos + 9 * kept + 3 * c, mesh->pos + 3 * mesh->tri[3 * t + c],
               3 * sizeof(double));
        bad->tri[3 * kept + c] = 3 * kept + (t % 5 ? c : 2 - c);
      }
      kept++;
    }
    memcpy(bad->tri + 3 * kept, bad->tri, 3 * sizeof(int));
    bad->n_tris = kept + 1;
    g_assert_cmpint(pla_surface_repair(bad, NULL, &good, &r, &err), ==, PLA_OK);
    g_assert_cmpint(pla_mesh_summary(good, &s, &err), ==, PLA_OK);
    g_test_message("%s: %d holes, %d new triangles, %d turned, volume %+.3f %%", names[m],
                   r.filled_holes, r.new_tris, r.turned_tris,
                   100.0 * (s.volume_m3 / whole.volume_m3 - 1.0));
    g_assert_true(s.closed);
    g_assert_cmpint(s.components, ==, whole.components);
    g_assert_cmpint(r.dropped_tris, ==, 1);
    g_assert_cmpint(r.new_tris, ==, n - kept);
    g_assert_cmpint(r.crowded_edges, ==, 0);
    g_assert_cmpint(good->n_verts, ==, mesh->n_verts);
    g_assert_cmpfloat(fabs(s.volume_m3 / whole.volume_m3 - 1.0), <, 0.005);
    const PlaTriMesh tris = pla_mesh_tris(good);
    g_assert_cmpint(pla_tri_tree_new(&tris, &tree, &err), ==, PLA_OK);
    g_assert_cmpint(pla_self_intersections(tree, NULL, &crossings, NULL, &err), ==, PLA_OK);
    g_assert_cmpint(crossings, ==, 0);
    pla_tri_tree_free(tree);
    pla_mesh_free(good);

    /* inside out as a whole */
    for (int t = 0; t < n && m < 3; t++) {
      const int swap = mesh->tri[3 * t];
      phantom.mesh->tri[3 * t] = mesh->tri[3 * t + 1];
      phantom.mesh->tri[3 * t + 1] = swap;
    }
    g_assert_cmpint(pla_surface_repair(mesh, NULL, &good, &r, &err), ==, PLA_OK);
    g_assert_cmpint(pla_mesh_summary(good, &s, &err), ==, PLA_OK);
    g_assert_cmpint(r.turned_tris, ==, m < 3 ? n : 0);
    g_assert_cmpfloat_with_epsilon(s.volume_m3, whole.volume_m3, 1e-9 * whole.volume_m3);
    pla_mesh_free(good);
    pla_mesh_free(bad);
    pla_phantom_clear(&phantom);
  }
}

/* the level set of a surface against the solid it was made from, also inside out */
static void
test_surface_levelset(void)
{
  PlaPhantom phantom = { 0 };
  PlaLevelSet *ls;
  PlaError err;
  g_assert_cmpint(pla_phantom_make("torus-surface", 2.0, NULL, &phantom, &err), ==, PLA_OK);
  for (int turned = 0; turned < 2; turned++) {
    const PlaTriMesh tris = pla_mesh_tris(phantom.mesh);
    g_assert_cmpint(pla_levelset_from_surface(&tris, 1.5, 5.0, NULL, &ls, &err), ==, PLA_OK);
    double worst = 0.0;
    size_t v = 0;
    for (int k = 0; k < ls->dims[2]; k++)
      for (int j = 0; j < ls->dims[1]; j++)
        for (int i = 0; i < ls->dims[0]; i++, v++) {
          const double ijk[3] = { i, j, k };
          double p[3];
          pla_affine_apply(ls->affine_mm, ijk, p);
          const double d = hypot(hypot(p[0], p[1]) - 35.0, p[2]) - 12.0;
          worst = fmax(worst, fabs(fmin(fmax(d, -5.0), 5.0) - (double)ls->phi_mm[v]));
        }
    g_test_message("torus: at most %.3f mm off", worst);
    /* chords of triangles of 2 mm on a tube of 12 mm */
    g_assert_cmpfloat(worst, <, 0.1);
    pla_levelset_free(ls);
    for (int t = 0; t < phantom.mesh->n_tris; t++) {
      const int swap = phantom.mesh->tri[3 * t];
      phantom.mesh->tri[3 * t] = phantom.mesh->tri[3 * t + 1];
      phantom.mesh->tri[3 * t + 1] = swap;
    }
  }
  pla_phantom_clear(&phantom);
}

/* the voxel faces of a box on a stretched grid, moved by a known share of a voxel along one axis */
static void
test_interface(void)
{
  const double spacing[3] = { 0.9, 1.0, 2.0 }, share = 0.35;
  const int dims[4] = { 9, 9, 9, 1 }, id = 1;
  PlaVolume *vol;
  PlaLabelMap *map;
  PlaMesh *mesh;
  PlaError err;
  g_assert_cmpint(pla_volume_new(dims, PLA_U8, &vol, &err), ==, PLA_OK);
  memset(vol->affine_mm, 0, sizeof vol->affine_mm);
  for (int d = 0; d < 3; d++)
    vol->affine_mm[5 * d] = spacing[d];
  for (int v = 0; v < 9 * 9 * 9; v++)
    ((uint8_t *)vol->voxels)[v] = v % 9 / 3 == 1 && v / 9 % 9 / 3 == 1 && v / 81 / 3 == 1;
  g_assert_cmpint(pla_label_map_take(vol, NULL, &map, &err), ==, PLA_OK);
  for (int axis = 0; axis < 3; axis++) {
    double mm, voxels;
    g_assert_cmpint(pla_surface_voxel_faces(map, &id, 1, &mesh, &err), ==, PLA_OK);
    for (int v = 0; v < mesh->n_verts; v++)
      mesh->pos[3 * v + axis] += share * spacing[axis] / 1000.0;
    g_assert_cmpint(pla_surface_interface(map, &id, 1, mesh, &mm, &voxels, &err), ==, PLA_OK);
    g_assert_cmpfloat_with_epsilon(mm, share * spacing[axis], 1e-9);
    g_assert_cmpfloat_with_epsilon(voxels, share, 1e-9);
    pla_mesh_free(mesh);
  }
  pla_label_map_free(map);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/surface/labels", test_labels);
  g_test_add_func("/surface/interface", test_interface);
  g_test_add_func("/surface/caps", test_caps);
  g_test_add_func("/surface/decimate", test_decimate);
  g_test_add_func("/surface/crossings", test_crossings);
  g_test_add_func("/surface/tree", test_tree);
  g_test_add_func("/surface/winding", test_winding);
  g_test_add_func("/surface/repair", test_repair);
  g_test_add_func("/surface/level-set", test_surface_levelset);
  return g_test_run();
}
