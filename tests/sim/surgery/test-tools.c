/* Tools of the table one by one: levels, osteotomies, specimens, implants, rows, maps. */
#include "anatomy/base/mat3.h"
#include "sim/material/prestretch.h"
#include "sim/solve/solve.h"
#include "sim/surgery/surgery-map.h"
#include "sim/surgery/surgery-state.h"
#include "tests/sim/surgery/slab.h"

#include <math.h>
#include <string.h>

static const double along_x[6] = { -0.0151, 0.0003, 0.0, 0.0149, 0.0003, 0.0 };

/* heights of all corners of walls that lie flat, m: least and most */
static int
floor_heights(PlaSurgery *s, double range[2])
{
  const PlaCutSurface *surface;
  const double *pos;
  int n = 0;
  TRY(pla_surgery_get_surface(s, &surface, &pos, &err));
  range[0] = INFINITY;
  range[1] = -INFINITY;
  for (int t = 0; t < surface->n_tris; t++) {
    const int *v = &surface->tri[3 * t];
    double e[3], f[3], normal[3];
    pla_vec3_sub(&pos[3 * v[1]], &pos[3 * v[0]], e);
    pla_vec3_sub(&pos[3 * v[2]], &pos[3 * v[0]], f);
    pla_vec3_cross(e, f, normal);
    if (surface->cut[t] < 0 || !(fabs(normal[2]) > fmax(0.9 * pla_vec3_norm(normal), 1e-12)))
      continue;
    for (int k = 0; k < 3; k++, n++) {
      range[0] = fmin(range[0], pos[3 * v[k] + 2]);
      range[1] = fmax(range[1], pos[3 * v[k] + 2]);
    }
  }
  return n;
}

/* the plane of undermining follows the tissue or the bone that is named, at its offset */
static void
test_levels(void)
{
  static const struct {
    const char *level;
    double offset, at, depth; /* m: above it, which is there; of the incision */
  } levels[] = { { "muscle", 0.0005, -0.0075, 0.0078 },
                 { "muscle", 0.0012, -0.0068, 0.0078 },
                 { PLA_SURGERY_BONE, 0.0007, -0.0113, 0.0112 } };
  for (size_t i = 0; i < G_N_ELEMENTS(levels); i++) {
    PlaSurgery *s = layered_slab(4.0);
    double range[2];
    TRY(pla_surgery_incise(s, "cut", along_x, 2, levels[i].depth, 0.0, NULL, &err));
    TRY(pla_surgery_undermine_level(s, &(PlaSurgeryRegion){ .from = "cut", .radius = 0.01 },
                                    levels[i].level, levels[i].offset, NULL, &err));
    g_assert_cmpint(floor_heights(s, range), >, 50);
    g_test_message("%s: from %.4f to %.4f mm", levels[i].level, 1e3 * range[0], 1e3 * range[1]);
    g_assert_cmpfloat_with_epsilon(range[0], levels[i].at, 2e-5);
    g_assert_cmpfloat_with_epsilon(range[1], levels[i].at, 2e-5);
    pla_surgery_free(s);
  }
}

/* a plane through one tissue parts that, and leaves what lies above it whole */
static void
test_osteotomy(void)
{
  PlaSurgery *s = layered_slab(4.0);
  const double pos[12] = { 0.0013, -1, -1, 0.0013, 1, -1, 0.0013, 1, 1, 0.0013, -1, 1 };
  const int tri[6] = { 0, 1, 2, 0, 2, 3 };
  const PlaTriMesh blade = { 4, 2, pos, tri };
  const PlaCutSurface *surface;
  const double *place;
  TRY(pla_surgery_cut(s, &blade, "muscle", NULL, &err));
  g_assert_cmpint(pla_surgery_count_pieces(s, "muscle"), ==, 2);
  g_assert_cmpint(pla_surgery_count_pieces(s, "skin"), ==, 1);
  g_assert_cmpint(pla_surgery_count_pieces(s, NULL), ==, 1);
  TRY(pla_surgery_get_surface(s, &surface, &place, &err));
  int n = 0;
  for (int t = 0; t < surface->n_tris; t++)
    for (int k = 0; surface->cut[t] >= 0 && k < 3; k++, n++) {
      const double *p = &place[3 * surface->tri[3 * t + k]];
      g_assert_cmpfloat_with_epsilon(p[0], 0.0013, 1e-9);
      g_assert_cmpfloat(p[2], <, -0.008 + 1e-9);
    }
  g_assert_cmpint(n, >, 50);
  /* and then through everything */
  TRY(pla_surgery_cut(s, &blade, NULL, NULL, &err));
  g_assert_cmpint(pla_surgery_count_pieces(s, NULL), ==, 2);
  pla_surgery_free(s);
}

/* a block of 10 x 6 mm, 5 mm deep: a piece of its own with its volume, weight and size */
static void
test_specimen(void)
{
  PlaSurgery *s = slab(3.0);
  const double path[12] = { -0.005, -0.003, 0.0, 0.005,  -0.003, 0.0,
                            0.005,  0.003,  0.0, -0.005, 0.003,  0.0 };
  PlaSurgerySpecimen piece;
  TRY(pla_surgery_excise(s, "lesion", path, 4, 0.005, &piece, NULL, &err));
  double sum = 0.0;
  for (int t = 0; t < piece.n_tris; t++) {
    const double *p[3];
    double cross[3];
    for (int k = 0; k < 3; k++)
      p[k] = &piece.pos[3 * piece.tri[3 * t + k]];
    pla_vec3_cross(p[1], p[2], cross);
    sum += pla_vec3_dot(p[0], cross) / 6.0;
  }
  g_test_message("%.3f ml, %.3f g, %.2f x %.2f x %.2f mm", 1e6 * piece.volume, 1e3 * piece.mass,
                 1e3 * piece.size[0], 1e3 * piece.size[1], 1e3 * piece.size[2]);
  g_assert_cmpfloat_with_epsilon(sum, piece.volume, 1e-9 * piece.volume);
  g_assert_cmpfloat_with_epsilon(piece.volume, 300e-9, 1e-3 * 300e-9);
  g_assert_cmpfloat_with_epsilon(piece.mass, 1000.0 * piece.volume, 1e-12);
  g_assert_cmpfloat_with_epsilon(piece.size[0], 0.010, 1e-5);
  g_assert_cmpfloat_with_epsilon(piece.size[1], 0.006, 1e-5);
  g_assert_cmpfloat_with_epsilon(piece.size[2], 0.005, 1e-5);
  pla_surgery_specimen_clear(&piece);
  pla_surgery_free(s);
}

/* how deep any wall of a wound is inside the ball, m */
static double
depth_in_ball(PlaSurgery *s, const double at[3], double radius)
{
  const PlaCutSurface *surface;
  const double *pos;
  double deepest = 0.0;
  TRY(pla_surgery_get_surface(s, &surface, &pos, &err));
  for (int t = 0; t < surface->n_tris; t++)
    for (int k = 0; surface->cut[t] >= 0 && k < 3; k++) {
      double e[3];
      pla_vec3_sub(&pos[3 * surface->tri[3 * t + k]], at, e);
      deepest = fmax(deepest, radius - pla_vec3_norm(e));
    }
  return deepest;
}

/* a rigid ball in a pocket lifts the skin by what it grows, and walls keep out of it */
static void
test_implant(void)
{
  PlaSurgery *s = slab(3.0);
  const double at[3] = { 0.0, 0.006, -0.002 };
  const double radius[2] = { 0.004, 0.005 };
  double rise[2];
  TRY(pla_surgery_incise(s, "cut", along_x, 2, 0.005, 0.0, NULL, &err));
  TRY(pla_surgery_undermine(s, &(PlaSurgeryRegion){ .from = "cut", .radius = 0.016 }, 0.005, NULL,
                            &err));
  for (int k = 0; k < 2; k++) {
    PlaFemReport report;
    TRY(pla_surgery_implant(s, "ball", k ? NULL : at, radius[k], &err));
    TRY(pla_surgery_solve(s, 1e-4, NULL, &report, &err));
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    g_assert_cmpint(report.inverted, ==, 0);
    const PlaCutSurface *surface;
    const double *pos;
    TRY(pla_surgery_get_surface(s, &surface, &pos, &err));
    rise[k] = 0.0;
    for (int v = 0; v < surface->n_verts; v++)
      rise[k] = fmax(rise[k], pos[3 * v + 2]);
    g_test_message("ball of %.1f mm: skin rises by %.2f mm, walls are %.3f mm in it, %d contacts",
                   1e3 * radius[k], 1e3 * rise[k], 1e3 * depth_in_ball(s, at, radius[k]),
                   report.contacts);
    g_assert_cmpfloat(depth_in_ball(s, at, radius[k]), <, 0.2 * 3e-3); /* of a cell */
  }
  g_assert_cmpfloat(rise[0], >, 0.3 * radius[0]);
  g_assert_cmpfloat(rise[1] - rise[0], >, 0.3 * (radius[1] - radius[0]));
  pla_surgery_free(s);
}

/* rows reach the tips of a wound, at any size of cells: the cut runs on beyond its corners */
static void
test_tips(void)
{
  const double path[18] = { -0.0151, 0.0, 0.0, -0.0051, -0.0055, 0.0, 0.0049,  -0.0055, 0.0,
                            0.0152,  0.0, 0.0, 0.0049,  0.0055,  0.0, -0.0051, 0.0055,  0.0 };
  for (int k = 0; k < 2; k++) {
    const double cell = k ? 3.0 : 4.0;
    PlaSurgery *s = slab(cell);
    PlaSurgeryRow row;
    PlaSurgeryReadings read;
    PlaFemReport report;
    TRY(pla_surgery_excise(s, "lesion", path, 6, 0.006, NULL, NULL, &err));
    TRY(pla_surgery_undermine(s, &(PlaSurgeryRegion){ .from = "lesion", .radius = 0.012 }, 0.006,
                              NULL, &err));
    TRY(pla_surgery_suture(s, "lesion", "lesion", 0.003, 1.0, &row, &err));
    TRY(pla_surgery_solve(s, 1e-3, NULL, &report, &err));
    TRY(pla_surgery_read(s, &read, &err));
    g_test_message("cells of %g mm: %d stitches, %d left out, %.1f mm open, gap %.3f mm between, "
                   "%.3f mm at tips, %.3f N",
                   cell, row.n_stitches, row.n_left_out, 1e3 * row.open, 1e3 * read.edge_gap,
                   1e3 * read.tip_gap, read.max_tension);
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    g_assert_cmpint(report.inverted, ==, 0);
    g_assert_cmpint(row.n_left_out, ==, 0);
    g_assert_cmpfloat(row.open, <, 1e-6);
    g_assert_cmpfloat(read.edge_gap, <, 0.0005);
    g_assert_cmpfloat(read.tip_gap, <, 0.0005);
    pla_surgery_free(s);
  }
}

/* the slab bent over a cylinder of 22 mm, in cells as large as the excision is deep and more */
static PlaSurgery *
bent_slab(double cell_mm)
{
  const double lo[3] = { -0.03, -0.03, -0.012 }, hi[3] = { 0.03, 0.03, 0.0 }, radius = 0.022;
  const int n[3] = { (int)(60 / cell_mm), (int)(60 / cell_mm), (int)(12 / cell_mm) };
  const double param[2] = { 15000.0, 0.4 };
  PlaFemMaterial tissue = { .material = pla_material_find("neo-hookean"), .density = 1000.0 };
  PlaMesh *mesh = NULL;
  PlaSurgery *out = NULL;
  TRY(tissue.material->prepare(param, tissue.constants, &err));
  TRY(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &mesh, &err));
  g_autofree int *cell = g_new0(int, (gsize)mesh->n_tets);
  g_autofree bool *held = g_new0(bool, (gsize)mesh->n_verts);
  for (int v = 0; v < mesh->n_verts; v++) {
    double *p = &mesh->pos[3 * v];
    const double r = radius + p[2], angle = p[0] / radius;
    held[v] = p[2] < -0.0119;
    p[0] = r * sin(angle);
    p[2] = r * cos(angle) - radius;
  }
  TRY(pla_surgery_new(mesh, &tissue, 1, cell, held, &out, &err));
  pla_mesh_free(mesh);
  return out;
}

/* on curved skin and in coarse cells walls still reach the floor, so that what they enclose comes
 * out */
static void
test_curved(void)
{
  for (int k = 0; k < 3; k++) {
    const double cell = 3.0 + 1.5 * k;
    PlaSurgery *s = bent_slab(cell);
    double path[36];
    PlaSurgerySpecimen piece = { 0 };
    for (int i = 0; i < 12; i++) {
      const double t = 2.0 * G_PI * i / 12, angle = 0.0131 * cos(t) / 0.022;
      path[3 * i] = 0.022 * sin(angle);
      path[3 * i + 1] = 0.0102 * sin(t);
      path[3 * i + 2] = 0.022 * (cos(angle) - 1.0);
    }
    TRY(pla_surgery_excise(s, "lesion", path, 12, 0.004, &piece, NULL, &err));
    g_test_message("cells of %g mm: %.3f ml, walls %.2f mm deeper", cell, 1e6 * piece.volume,
                   1e3 * pla_surgery_get_tool(s)->overcut);
    g_assert_cmpfloat(piece.volume, >, 0.9e-6);
    g_assert_cmpfloat(piece.volume, <, 1.8e-6);
    pla_surgery_specimen_clear(&piece);
    pla_surgery_free(s);
  }
}

/* skin under even tension and otherwise undeformed: its stress is that of the material */
static void
test_maps(void)
{
  PlaSurgery *s = slab(4.0);
  const PlaSurgeryLine line = { { 0.0, 0.0, 0.0 }, { 1.0, 0.0, 0.0 } };
  const double unit[3] = { 1, 0, 0 }, normal[3] = { 0, 0, 1 };
  TRY(pla_surgery_set_tension(s, &line, 1, 1.2, 1.05, 0.1, NULL, &err));
  const double param[2] = { 15000.0, 0.4 };
  double constants[PLA_MAX_CONSTANTS], p[9], sigma[9];
  const PlaMaterial *material = pla_material_find("neo-hookean");
  TRY(material->prepare(param, constants, &err));
  PlaPoint point = { 0 };
  pla_prestretch_skin(unit, normal, 1.2, 1.05, point.f);
  pla_point_decompose(&point);
  pla_material_stress(material, constants, &point, p);
  pla_mat3_mul_nt(p, point.f, sigma);
  const double j = pla_mat3_det(point.f);
  const PlaCutSurface *surface;
  const double *pos;
  TRY(pla_surgery_get_surface(s, &surface, &pos, &err));
  const gsize n = (gsize)surface->n_verts;
  g_autofree double *stretch = g_new(double, n), *tension = g_new(double, n);
  g_autofree double *pressure = g_new(double, n);
  PlaSurgeryMaps maps = { stretch, tension, pressure };
  TRY(pla_surgery_map(s, surface, &maps, &err));
  g_test_message("tension %.3f kPa, pressure %.3f kPa", 1e-3 * tension[0], 1e-3 * pressure[0]);
  g_assert_cmpfloat(sigma[0], >, 100.0);
  int even = 0;
  for (gsize i = 0; i < n; i++) {
    const double *at = &pos[3 * i];
    if (at[2] < 0.0 || fabs(at[0]) > 0.021 || fabs(at[1]) > 0.013)
      continue; /* near the rim skin turns, and with it the tension */
    g_assert_cmpfloat_with_epsilon(tension[i], sigma[0] / j, 1e-6 * sigma[0]);
    g_assert_cmpfloat_with_epsilon(pressure[i], -(sigma[0] + sigma[4] + sigma[8]) / (3.0 * j),
                                   1e-6 * sigma[0]);
    even++;
  }
  g_assert_cmpint(even, >, 30);
  pla_surgery_free(s);
}

static void
assert_same(PlaSurgery *a, PlaSurgery *b)
{
  PlaNamedArrays x = { 0 }, y = { 0 };
  TRY(pla_surgery_save(a, &x, &err));
  TRY(pla_surgery_save(b, &y, &err));
  g_assert_cmpint(x.n, ==, y.n);
  for (int i = 0; i < x.n; i++) {
    const gsize size = pla_dtype_size(x.array[i].dtype) * (gsize)x.array[i].width;
    g_assert_cmpmem(x.array[i].data, x.array[i].n * size, y.array[i].data, y.array[i].n * size);
  }
  pla_named_arrays_clear(&x);
  pla_named_arrays_clear(&y);
}

/* a sentence each, and the body as it was */
static void
test_refusals(void)
{
  PlaSurgery *s = layered_slab(4.0), *before = NULL;
  const PlaSurgeryRegion around = { .from = "cut", .radius = 0.01 };
  const double at[3] = { 0.0, 0.0, -0.005 }, far[3] = { 0.0, 0.0, 0.2 };
  const double flat[9] = { 0 }, path[9] = { 0, 0, 0, 0.01, 0, 0, 0, 0.01, 0.09 };
  const int tri[3] = { 0, 1, 2 };
  const PlaTriMesh blade = { 3, 1, (double[9]){ 0, -1, -1, 0, 1, -1, 0, 0, 1 }, tri };
  const PlaTriMesh dull = { 3, 1, flat, tri };
  TRY(pla_surgery_incise(s, "cut", along_x, 2, 0.006, 0.0, NULL, &err));
  TRY(pla_surgery_implant(s, "ball", at, 0.002, &err));
  TRY(pla_surgery_dup(s, &before, &err));
  PlaSurgerySpecimen piece;
  for (int i = 0; i < 9; i++) {
    static const char *const says[] = { "no tissue called 'liver'",
                                        "no wound called 'x'",
                                        "no tissue called 'liver'",
                                        "no area",
                                        "no pocket",
                                        "another place",
                                        "no implant called 'y'",
                                        "needs a radius",
                                        "point 3" };
    PlaError refused = { 0 };
    PlaStatus st = PLA_OK;
    if (i == 0)
      st = pla_surgery_undermine_level(s, &around, "liver", 0.001, NULL, &refused);
    else if (i == 1)
      st = pla_surgery_undermine_level(s, &(PlaSurgeryRegion){ .from = "x", .radius = 0.01 },
                                       "muscle", 0.001, NULL, &refused);
    else if (i == 2)
      st = pla_surgery_cut(s, &blade, "liver", NULL, &refused);
    else if (i == 3)
      st = pla_surgery_cut(s, &dull, "muscle", NULL, &refused);
    else if (i == 4)
      st = pla_surgery_implant(s, "y", far, 0.002, &refused);
    else if (i == 5)
      st = pla_surgery_implant(s, "ball", far, 0.002, &refused);
    else if (i == 6)
      st = pla_surgery_implant(s, "y", NULL, 0.002, &refused);
    else if (i == 7)
      st = pla_surgery_implant(s, "ball", NULL, -0.001, &refused);
    else
      st = pla_surgery_excise(s, "z", path, 3, 0.004, &piece, NULL, &refused);
    g_assert_cmpint(st, !=, PLA_OK);
    if (!strstr(refused.message, says[i]))
      g_error("\"%s\" does not say \"%s\"", refused.message, says[i]);
    assert_same(s, before);
  }
  /* what is stored comes back, names and balls too */
  PlaNamedArrays arrays = { 0 };
  PlaSurgery *back = NULL;
  TRY(pla_surgery_save(s, &arrays, &err));
  TRY(pla_surgery_load(&arrays, &back, &err));
  assert_same(s, back);
  g_assert_cmpstr(pla_surgery_get_tissue(back, 0), ==, "skin");
  TRY(pla_surgery_implant(back, "ball", NULL, 0.003, &err));
  pla_named_arrays_clear(&arrays);
  pla_surgery_free(back);
  pla_surgery_free(before);
  pla_surgery_free(s);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/sim/surgery/tools/levels", test_levels);
  g_test_add_func("/sim/surgery/tools/osteotomy", test_osteotomy);
  g_test_add_func("/sim/surgery/tools/specimen", test_specimen);
  g_test_add_func("/sim/surgery/tools/implant", test_implant);
  g_test_add_func("/sim/surgery/tools/tips", test_tips);
  g_test_add_func("/sim/surgery/tools/curved", test_curved);
  g_test_add_func("/sim/surgery/tools/maps", test_maps);
  g_test_add_func("/sim/surgery/tools/refusals", test_refusals);
  return g_test_run();
}
