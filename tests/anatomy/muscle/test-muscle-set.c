/* Muscles on a mesh: overlaps against exact volumes, fibres of solids in coarse elements, tags,
 * tables both ways, the phantoms, and what is refused. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "anatomy/muscle/muscle.h"
#include "anatomy/surface/surface.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes ---- */

static double
ball_distance(const double p[3], const void *data)
{
  const double *c = data; /* centre, radius */
  return sqrt((p[0] - c[0]) * (p[0] - c[0]) + (p[1] - c[1]) * (p[1] - c[1]) +
              (p[2] - c[2]) * (p[2] - c[2])) -
         c[3];
}

static PlaMuscleShape
ball(const double c[4])
{
  PlaMuscleShape s = { .distance = ball_distance, .data = c };
  for (int d = 0; d < 3; d++) {
    s.lo_mm[d] = c[d] - c[3];
    s.hi_mm[d] = c[d] + c[3];
  }
  return s;
}

/* a box lo..hi: exact signed distance */
static double
box_distance(const double p[3], const void *data)
{
  const double *b = data;
  double out = 0.0, in = -INFINITY;
  for (int d = 0; d < 3; d++) {
    const double q = fmax(b[d] - p[d], p[d] - b[3 + d]);
    out += fmax(q, 0.0) * fmax(q, 0.0);
    in = fmax(in, q);
  }
  return out > 0.0 ? sqrt(out) : in;
}

static PlaMuscleShape
box(const double b[6])
{
  PlaMuscleShape s = { .distance = box_distance, .data = b };
  memcpy(s.lo_mm, b, sizeof s.lo_mm);
  memcpy(s.hi_mm, b + 3, sizeof s.hi_mm);
  return s;
}

/* |n . p - c| - half thickness */
static double
sheet_distance(const double p[3], const void *data)
{
  const double *s = data; /* unit normal, offset, half thickness */
  return fabs(pla_vec3_dot(p, s) - s[3]) - s[4];
}

/* a quarter and a bit of a ring around z: radius, tube radius */
static double
ring_distance(const double p[3], const void *data)
{
  const double *s = data;
  return hypot(hypot(p[0], p[1]) - s[0], p[2]) - s[1];
}

static PlaMesh *
box_mesh(double size_mm, int n)
{
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  const double h = 0.5e-3 * size_mm;
  g_assert_cmpint(pla_box_mesh_new((double[3]){ -h, -h, -h }, (double[3]){ h, h, h },
                                   (int[3]){ n, n, n }, PLA_BOX_TETS_5, &mesh, &err),
                  ==, PLA_OK);
  return mesh;
}

static double
volume_of(const PlaTetMesh *mesh, int t)
{
  double e[3][3], n[3];
  const int *v = mesh->tet + 4 * t;
  for (int c = 0; c < 3; c++)
    pla_vec3_sub(mesh->rest + 3 * v[c + 1], mesh->rest + 3 * v[0], e[c]);
  pla_vec3_cross(e[0], e[1], n);
  return 1e9 * pla_vec3_dot(n, e[2]) / 6.0;
}

/* ---- overlaps ---- */

/* a plane through a tet: the cut-off tip is a scaled copy */
static void
test_plane(void)
{
  const double x[4][3] = { { 0, 0, 0 }, { 6, 0, 0 }, { 0, 6, 0 }, { 0, 0, 6 } };
  for (int i = 1; i < 10; i++) {
    /* z > 6 - c: the tip of height c */
    const double c = 0.6 * i, plane[5] = { 0, 0, 1, 6.0, c };
    const PlaMuscleShape slab = { .distance = sheet_distance, .data = plane };
    const PlaOverlap o = pla_tet_overlap(x, &slab, 1e9);
    const PlaOverlap fine = pla_tet_overlap(x, &slab, 0.3);
    g_assert_cmpfloat_with_epsilon(o.volume_mm3, 36.0 * pow(c / 6.0, 3.0), 1e-12);
    g_assert_cmpfloat_with_epsilon(fine.volume_mm3, o.volume_mm3, 1e-10);
    g_assert_cmpfloat_with_epsilon(o.centre_mm[2], 6.0 - 0.75 * c, 1e-12);
    g_assert_cmpfloat_with_epsilon(o.centre_mm[0], 0.25 * c, 1e-12);
  }
}

/* one and the same ball in meshes of every coarseness */
static void
test_ball(void)
{
  const double c[4] = { 1.3, -2.1, 0.7, 10.0 }, exact = 4.0 / 3.0 * G_PI * 1000.0;
  const PlaMuscleShape shape = ball(c);
  PlaError err = { 0 };
  for (int n = 1; n <= 16; n *= 4) {
    PlaMesh *mesh = box_mesh(40.0, n);
    const PlaTetMesh tets = pla_mesh_tets(mesh);
    PlaMeshOverlap o;
    g_assert_cmpint(pla_mesh_overlap(&tets, &shape, 1.0, NULL, &o, &err), ==, PLA_OK);
    g_assert_cmpfloat(fabs(o.volume_mm3 / exact - 1.0), <, 0.01);
    double centre[3] = { 0 };
    for (int i = 0; i < o.n; i++) {
      g_assert_cmpfloat(o.share[i], >, 0.0);
      g_assert_cmpfloat(o.share[i], <=, 1.0);
      for (int d = 0; d < 3; d++)
        centre[d] += o.share[i] * volume_of(&tets, o.tet[i]) * o.centre_mm[3 * i + d];
    }
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(centre[d] / o.volume_mm3, c[d], 0.02);
    pla_mesh_overlap_clear(&o);
    /* second order in the size of the pieces */
    double error[2];
    for (int i = 0; i < 2 && n == 4; i++) {
      g_assert_cmpint(pla_mesh_overlap(&tets, &shape, i == 0 ? 2.0 : 0.5, NULL, &o, &err), ==,
                      PLA_OK);
      error[i] = fabs(o.volume_mm3 / exact - 1.0);
      pla_mesh_overlap_clear(&o);
    }
    if (n == 4) {
      g_test_message("ball: error %.2e with pieces of 2 mm, %.2e of 0.5 mm", error[0], error[1]);
      g_assert_cmpfloat(error[1], <, error[0] / 10.0);
    }
    pla_mesh_free(mesh);
  }
}

/* a sheet far thinner than an element, askew: no sampling at points would find it */
static void
test_thin_sheet(void)
{
  const double normal[3] = { 0.48, 0.6, 0.64 };
  const double sheet[5] = { normal[0], normal[1], normal[2], 1.0, 0.15 };
  const PlaMuscleShape shape = { .distance = sheet_distance,
                                 .data = sheet,
                                 .lo_mm = { -1e3, -1e3, -1e3 },
                                 .hi_mm = { 1e3, 1e3, 1e3 } };
  PlaError err = { 0 };
  PlaMesh *mesh = box_mesh(40.0, 5);
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  PlaMeshOverlap o;
  g_assert_cmpint(pla_mesh_overlap(&tets, &shape, 0.15, NULL, &o, &err), ==, PLA_OK);
  /* exact: the cube between two parallel planes */
  double exact = 0.0;
  for (int t = 0; t < tets.n_tets; t++) {
    double x[4][3];
    for (int c = 0; c < 4; c++)
      for (int d = 0; d < 3; d++)
        x[c][d] = 1000.0 * tets.rest[3 * tets.tet[4 * t + c] + d];
    /* two half spaces, each linear in the tet and so exact */
    const double from[5] = { normal[0], normal[1], normal[2], -1e4, 1e4 + 1.15 };
    const double to[5] = { normal[0], normal[1], normal[2], -1e4, 1e4 + 0.85 };
    const PlaMuscleShape a = { .distance = sheet_distance, .data = from };
    const PlaMuscleShape b = { .distance = sheet_distance, .data = to };
    exact += pla_tet_overlap(x, &a, 1e9).volume_mm3 - pla_tet_overlap(x, &b, 1e9).volume_mm3;
  }
  g_test_message("sheet of 0.3 mm in elements of 8 mm: %.3f of %.3f mm3", o.volume_mm3, exact);
  g_assert_cmpfloat(fabs(o.volume_mm3 / exact - 1.0), <, 0.01);
  pla_mesh_overlap_clear(&o);
  pla_mesh_free(mesh);
}

/* a closed surface as a shape */
static void
test_surface_shape(void)
{
  PlaError err = { 0 };
  PlaPhantom phantom = { 0 };
  g_assert_cmpint(pla_phantom_make("sphere-surface", 4.0, NULL, &phantom, &err), ==, PLA_OK);
  const PlaTriMesh tris = pla_mesh_tris(phantom.mesh);
  PlaMeshSummary summary;
  g_assert_cmpint(pla_mesh_summary(phantom.mesh, &summary, &err), ==, PLA_OK);
  PlaTriTree *tree = NULL;
  g_assert_cmpint(pla_tri_tree_new(&tris, &tree, &err), ==, PLA_OK);
  PlaWinding *winding = NULL;
  g_assert_cmpint(pla_winding_new(&tris, &winding, &err), ==, PLA_OK);
  const PlaMuscleSurface surface = { tree, winding };
  const PlaMuscleShape shape = pla_muscle_shape_surface(&surface, &tris);
  PlaMesh *mesh = box_mesh(100.0, 4);
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  PlaMeshOverlap o;
  g_assert_cmpint(pla_mesh_overlap(&tets, &shape, 4.0, NULL, &o, &err), ==, PLA_OK);
  g_assert_cmpfloat(fabs(o.volume_mm3 / (1e9 * summary.volume_m3) - 1.0), <, 0.01);
  pla_mesh_overlap_clear(&o);
  pla_mesh_free(mesh);
  pla_tri_tree_free(tree);
  pla_winding_free(winding);
  pla_phantom_clear(&phantom);
}

/* ---- sets ---- */

/* a bar of 60 x 12 x 12 mm between two blocks of bone, and a ball through its middle */
static const double bar_box[6] = { -30, -6, -6, 30, 6, 6 };
static const double left_box[6] = { -40, -15, -15, -29.5, 15, 15 };
static const double right_box[6] = { 29.5, -15, -15, 40, 15, 15 };
static const double ball_at[4] = { 0, 0, 0, 8 };

typedef struct {
  PlaMesh *mesh;
  PlaTetMesh tets;
  PlaMuscleList list;
  PlaMuscleShape shape[2];
  PlaMuscleBone bone[2];
  PlaMuscleOptions opts;
} Bar;

static void
bar_init(Bar *b, int n)
{
  memset(b, 0, sizeof *b);
  b->mesh = box_mesh(90.0, n);
  b->tets = pla_mesh_tets(b->mesh);
  PlaMuscle *m = pla_muscle_list_add(&b->list, "bar");
  g_assert_nonnull(pla_muscle_add_head(m, "left", "right", 0));
  m = pla_muscle_list_add(&b->list, "ball");
  PlaMuscleHead *h = pla_muscle_add_head(m, "", "", 2);
  h->pos_mm[1] = -8.0;
  h->pos_mm[4] = 8.0;
  b->shape[0] = box(bar_box);
  b->shape[1] = ball(ball_at);
  b->bone[0] = (PlaMuscleBone){ "left", box(left_box) };
  b->bone[1] = (PlaMuscleBone){ "right", box(right_box) };
  b->opts = pla_muscle_options_default();
  b->opts.n_cells = 4000;
  b->opts.n_lines = 9;
}

static void
bar_clear(Bar *b)
{
  pla_mesh_free(b->mesh);
  pla_muscle_list_clear(&b->list);
}

static PlaStatus
bar_build(const Bar *b, PlaMuscleSet *set, PlaError *err)
{
  return pla_muscle_set_build(&b->tets, &b->list, b->shape, NULL, b->bone, 2, &b->opts, NULL, set,
                              err);
}

static double
angle_deg(const double a[3], const double b[3])
{
  double n[3];
  pla_vec3_cross(a, b, n);
  return 180.0 / G_PI * atan2(pla_vec3_norm(n), pla_vec3_dot(a, b));
}

static void
test_bar(void)
{
  Bar b;
  PlaMuscleSet set;
  PlaError err = { 0 };
  bar_init(&b, 14);
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_OK);
  g_assert_cmpint(set.notes.n, ==, 0);

  /* volumes: of each shape, and of its pairs */
  const double exact[2] = { 60.0 * 12.0 * 12.0, 4.0 / 3.0 * G_PI * 512.0 };
  for (int m = 0; m < 2; m++) {
    double sum = 0.0;
    for (int i = set.muscle_start[m]; i < set.muscle_start[m + 1]; i++) {
      const int p = set.pair[i];
      g_assert_cmpint(set.muscle[p], ==, m);
      sum += set.share[p] * volume_of(&b.tets, set.pair_tet[p]);
      if (i > set.muscle_start[m])
        g_assert_cmpint(set.pair_tet[p], >, set.pair_tet[set.pair[i - 1]]);
    }
    g_assert_cmpfloat(fabs(sum / exact[m] - 1.0), <, 0.01);
    g_assert_cmpfloat(fabs(set.report[m].volume_mm3 / exact[m] - 1.0), <, 0.01);
    g_assert_cmpfloat(fabs(set.report[m].inside_mm3 / exact[m] - 1.0), <, 0.01);
  }
  /* both ways hold the same pairs */
  int shared = 0;
  for (int t = 0; t < set.n_tets; t++) {
    shared += set.tet_start[t + 1] - set.tet_start[t] == 2;
    for (int p = set.tet_start[t]; p < set.tet_start[t + 1]; p++)
      g_assert_cmpint(set.pair_tet[p], ==, t);
  }
  g_assert_cmpint(shared, >, 10);

  /* straight fibres, along x in the bar and along y in the ball's middle */
  double worst = 0.0, mean = 0.0;
  for (int i = set.muscle_start[0]; i < set.muscle_start[1]; i++) {
    const double a = angle_deg(set.fibre + 3 * set.pair[i], (double[3]){ 1, 0, 0 });
    worst = fmax(worst, a);
    mean += a / (set.muscle_start[1] - set.muscle_start[0]);
  }
  g_test_message("bar: angle %.3f at most, %.3f degrees on average", worst, mean);
  g_assert_cmpfloat(worst, <, 1.0);
  g_assert_cmpfloat(fabs(set.report[0].length_mm - 60.0), <, 1.5);
  g_assert_cmpfloat(fabs(set.report[0].section_mm2 / 144.0 - 1.0), <, 0.03);
  g_assert_cmpfloat(set.report[0].straightness, >, 0.999);
  g_assert_cmpint(set.report[0].n_lines, ==, 9);
  g_assert_cmpfloat(set.report[0].gap_mm[0], ==, 0.0);

  /* streamlines bound to tets give back their places */
  double *pos = g_new(double, 3 * (size_t)set.point.n_points);
  pla_embedding_apply(&set.point, b.tets.tet, b.tets.rest, pos);
  for (int i = set.line_start[0]; i < set.line_start[1]; i++)
    g_assert_cmpfloat(box_distance((double[3]){ 1e3 * pos[3 * i], 1e3 * pos[3 * i + 1],
                                                1e3 * pos[3 * i + 2] },
                                   bar_box),
                      <, 1.0);
  g_free(pos);

  /* sums above one can be limited */
  g_assert_cmpfloat(pla_muscle_set_largest_sum(&set), >, 1.5);
  g_assert_cmpint(pla_muscle_set_limit_sums(&set), >, 0);
  g_assert_cmpfloat(pla_muscle_set_largest_sum(&set), <=, 1.0 + 1e-12);
  pla_muscle_set_clear(&set);
  bar_clear(&b);
}

/* along x between the bones of the bar, 7 mm in radius */
static double
cylinder_distance(const double x[3], const void *data)
{
  const double along = fabs(x[0]) - 30.0, across = hypot(x[1], x[2]) - 7.0;
  return fmin(fmax(along, across), 0.0) + hypot(fmax(along, 0.0), fmax(across, 0.0));
}

/* fibres of a potential in a cylinder are parallel to its axis within a degree, and every
 * streamline goes from origin to insertion (Chen Y. 37) */
static void
test_cylinder(void)
{
  Bar b;
  PlaMuscleSet set;
  PlaError err = { 0 };
  bar_init(&b, 14);
  b.shape[0] = (PlaMuscleShape){ .distance = cylinder_distance,
                                 .lo_mm = { -30, -7, -7 },
                                 .hi_mm = { 30, 7, 7 } };
  b.opts.n_lines = 40;
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_OK);
  double worst = 0.0, least = INFINITY;
  for (int i = set.muscle_start[0]; i < set.muscle_start[1]; i++)
    worst = fmax(worst, angle_deg(set.fibre + 3 * set.pair[i], (double[3]){ 1, 0, 0 }));
  double *pos = g_new(double, 3 * (size_t)set.point.n_points);
  pla_embedding_apply(&set.point, b.tets.tet, b.tets.rest, pos);
  int n_lines = 0;
  for (int l = 0; l < set.n_lines; l++)
    if (set.line_muscle[l] == 0) {
      const double from = 1e3 * pos[3 * set.line_start[l]],
                   to = 1e3 * pos[3 * (set.line_start[l + 1] - 1)];
      least = fmin(least, to - from);
      g_assert_cmpfloat(from, <, -29.0);
      g_assert_cmpfloat(to, >, 29.0);
      n_lines++;
    }
  g_test_message("cylinder: angle %.3f degrees at most, %d streamlines, the shortest %.1f of 60 mm",
                 worst, n_lines, least);
  g_assert_cmpint(n_lines, ==, 40);
  g_assert_cmpfloat(worst, <, 1.0);
  g_free(pos);
  pla_muscle_set_clear(&set);
  bar_clear(&b);
}

/* two balls at the bones of the bar, with nothing between them */
static double
parted_distance(const double x[3], const void *data)
{
  return hypot(fabs(x[0]) - 26.0, hypot(x[1], x[2])) - 6.0;
}

/* a muscle whose ends nothing joins is left out and told, the others are as without it; alone, it
 * is refused */
static void
test_left_out(void)
{
  Bar b;
  PlaMuscleSet whole, set;
  PlaError err = { 0 };
  bar_init(&b, 14);
  g_assert_cmpint(b.list.n, ==, 2);
  for (int m = 0; m < 2; m++)
    b.list.muscle[m].method = PLA_FIBRES_POTENTIAL;
  g_assert_cmpint(bar_build(&b, &whole, &err), ==, PLA_OK);
  b.shape[0] = (PlaMuscleShape){ .distance = parted_distance,
                                 .lo_mm = { -32, -6, -6 },
                                 .hi_mm = { 32, 6, 6 } };
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_OK);
  bool told = false;
  for (int i = 0; i < set.notes.n; i++)
    told |=
        strstr(set.notes.text[i], "Left out") && strstr(set.notes.text[i], b.list.muscle[0].name);
  g_assert_true(told);
  g_assert_cmpint(set.list.n, ==, 2);
  g_assert_cmpint(set.report[0].n_tets, ==, 0);
  g_assert_cmpint(set.muscle_start[1], ==, set.muscle_start[0]);
  g_assert_cmpint(set.report[1].n_tets, ==, whole.report[1].n_tets);
  g_assert_cmpfloat(set.report[1].force_n, ==, whole.report[1].force_n);
  pla_muscle_set_clear(&set);
  b.shape[1] = b.shape[0];
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, b.list.muscle[0].name));
  pla_muscle_set_clear(&whole);
  bar_clear(&b);
}

/* tags by distance; grown and shrunk they come back where the front was flat */
static void
test_tags(void)
{
  Bar b;
  PlaMuscleSet set;
  PlaError err = { 0 };
  int *across = NULL;
  bar_init(&b, 20);
  b.opts.tendon_mm = 10.0;
  b.opts.attach_mm = 3.0;
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_OK);
  for (int i = set.muscle_start[0]; i < set.muscle_start[1]; i++) {
    const int p = set.pair[i];
    double x = 0.0;
    for (int c = 0; c < 4; c++)
      x += 250.0 * b.tets.rest[3 * b.tets.tet[4 * set.pair_tet[p] + c]];
    /* elements of 4.5 mm: the part of one that is in the bar is within 2.5 mm of its centre */
    if (fabs(x) < 29.5 - 10.0 - 2.5)
      g_assert_cmpint(set.region[p], ==, PLA_TISSUE_MUSCLE);
    else if (fabs(x) > 29.5 - 10.0 + 2.5 && fabs(x) < 29.5 - 3.0 - 2.5)
      g_assert_cmpint(set.region[p], ==, PLA_TISSUE_TENDON);
    else if (fabs(x) > 29.5 - 3.0 + 2.5)
      g_assert_cmpint(set.region[p], ==, PLA_TISSUE_ATTACHED);
  }
  const int *n = set.report[0].n_region, tendon = n[PLA_TISSUE_TENDON];
  g_assert_cmpint(n[0] + n[1] + n[2], ==, set.report[0].n_tets);
  g_assert_cmpint(n[PLA_TISSUE_ATTACHED], >, 0);
  g_assert_cmpint(pla_tet_neighbours(&b.tets, &across, &err), ==, PLA_OK);
  const int grown = pla_muscle_set_grow(&set, across, 0, PLA_TISSUE_TENDON, 2, &err);
  g_assert_cmpint(grown, >, 0);
  g_assert_cmpint(n[PLA_TISSUE_TENDON], ==, tendon + grown);
  const int shrunk = pla_muscle_set_grow(&set, across, 0, PLA_TISSUE_TENDON, -2, &err);
  g_assert_cmpint(shrunk, >, 0);
  g_assert_cmpint(n[PLA_TISSUE_TENDON], ==, tendon + grown - shrunk);
  g_assert_cmpint(abs(n[PLA_TISSUE_TENDON] - tendon), <, tendon / 4);
  /* shrinking for long leaves none */
  pla_muscle_set_grow(&set, across, 0, PLA_TISSUE_TENDON, -200, &err);
  g_assert_cmpint(n[PLA_TISSUE_TENDON], ==, 0);

  /* a lasso, and distance tags over a whole mesh */
  uint8_t *region = g_new0(uint8_t, b.tets.n_tets);
  const PlaMuscleShape shape = ball(ball_at);
  const int near =
      pla_region_near(&b.tets, &shape, 0.0, PLA_TISSUE_TENDON, PLA_TISSUE_MUSCLE, region);
  double volume = 0.0;
  for (int t = 0; t < b.tets.n_tets; t++)
    volume += region[t] == PLA_TISSUE_TENDON ? volume_of(&b.tets, t) : 0.0;
  g_assert_cmpint(near, >, 0);
  g_assert_cmpfloat(fabs(volume / (4.0 / 3.0 * G_PI * 512.0) - 1.0), <, 0.15);
  PlaPhantom phantom = { 0 };
  PlaWinding *lasso = NULL;
  g_assert_cmpint(pla_phantom_make("sphere-surface", 6.0, NULL, &phantom, &err), ==, PLA_OK);
  const PlaTriMesh tris = pla_mesh_tris(phantom.mesh);
  g_assert_cmpint(pla_winding_new(&tris, &lasso, &err), ==, PLA_OK);
  const int rest =
      pla_region_enclosed(&b.tets, lasso, PLA_TISSUE_ATTACHED, PLA_TISSUE_MUSCLE, region);
  g_assert_cmpint(rest, >, near);
  for (int t = 0; t < b.tets.n_tets; t++) {
    double x[3] = { 0 };
    for (int c = 0; c < 4; c++)
      for (int d = 0; d < 3; d++)
        x[d] += 250.0 * b.tets.rest[3 * b.tets.tet[4 * t + c] + d];
    if (pla_vec3_norm(x) > 40.0)
      g_assert_cmpint(region[t], ==, PLA_TISSUE_MUSCLE);
  }
  pla_winding_free(lasso);
  pla_phantom_clear(&phantom);
  g_free(region);
  free(across);
  pla_muscle_set_clear(&set);
  bar_clear(&b);
}

/* a ring muscle in elements as wide as its tube: fibres come from its own lattice */
static double
part_ring_distance(const double p[3], const void *data)
{
  /* cut at the planes y = 0 and x = 0, so a quarter is left */
  return fmax(ring_distance(p, data), fmax(-p[0], -p[1]));
}

static void
test_ring(void)
{
  static const double ring[2] = { 30.0, 4.0 };
  PlaMesh *mesh = box_mesh(80.0, 10);
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  PlaMuscleList list = { 0 };
  PlaMuscle *m = pla_muscle_list_add(&list, "ring");
  PlaMuscleHead *h = pla_muscle_add_head(m, "", "", 73);
  for (int i = 0; i < 73; i++) {
    h->pos_mm[3 * i] = 30.0 * cos(i * G_PI / 144.0);
    h->pos_mm[3 * i + 1] = 30.0 * sin(i * G_PI / 144.0);
    h->half_width_mm[i] = h->half_thick_mm[i] = 4.0;
    h->normal[3 * i + 2] = 1.0;
  }
  const PlaMuscleShape shape = {
    .distance = part_ring_distance, .data = ring, .lo_mm = { -1, -1, -5 }, .hi_mm = { 35, 35, 5 }
  };
  PlaMuscleOptions opts = pla_muscle_options_default();
  const double exact = 2.0 * G_PI * 30.0 * G_PI * 16.0 / 4.0;
  static const double most[] = { 0.5, 0.2, 1.0 }, typical[] = { 0.15, 0.1, 0.3 };
  for (int method = 0; method < 3; method++) {
    PlaError err = { 0 };
    PlaMuscleSet set;
    list.muscle[0].method = (PlaFibreMethod)method;
    g_assert_cmpint(pla_muscle_set_build(&tets, &list, &shape, NULL, NULL, 0, &opts, NULL, &set,
                                         &err),
                    ==, PLA_OK);
    g_assert_cmpfloat(fabs(set.report[0].volume_mm3 / exact - 1.0), <, 0.01);
    g_assert_cmpfloat(fabs(set.report[0].inside_mm3 / exact - 1.0), <, 0.01);
    g_assert_cmpfloat(fabs(set.report[0].length_mm / (15.0 * G_PI) - 1.0), <, 0.02);
    double worst = 0.0, sum = 0.0;
    PlaMeshOverlap o;
    g_assert_cmpint(pla_mesh_overlap(&tets, &shape, 1.0, NULL, &o, &err), ==, PLA_OK);
    for (int i = 0, k = 0; i < set.n_pairs; i++) {
      while (o.tet[k] != set.pair_tet[i])
        k++;
      const double *x = o.centre_mm + 3 * k;
      const double a = angle_deg(set.fibre + 3 * i, (double[3]){ -x[1], x[0], 0 });
      worst = fmax(worst, a);
      sum += a;
    }
    g_test_message("ring by %s: angle %.2f at most, %.2f degrees on average over %d pairs",
                   pla_fibre_methods[method], worst, sum / set.n_pairs, set.n_pairs);
    g_assert_cmpfloat(worst, <, most[method]);
    g_assert_cmpfloat(sum / set.n_pairs, <, typical[method]);
    pla_mesh_overlap_clear(&o);
    pla_muscle_set_clear(&set);
  }
  pla_muscle_list_clear(&list);
  pla_mesh_free(mesh);
}

/* a ball of muscle and a tendon grown onto it: the volume is that of their union */
static void
test_tendon(void)
{
  Bar b;
  PlaError err = { 0 };
  PlaMuscleSet set;
  bar_init(&b, 12);
  PlaMuscle *m = &b.list.muscle[1];
  m->tendon = g_malloc0(sizeof *m->tendon);
  m->n_tendons = 1;
  m->tendon[0] = (PlaMuscleTendon){ { 0, 0, 0 }, { 0, 30, 0 }, { 3, 3 } };
  m->head[0].pos_mm[4] = 33.0;
  m->method = PLA_FIBRES_LINES;
  b.opts.leaf_mm = 0.7;
  b.opts.n_cells = 12000;
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_OK);
  /* beyond the ball: a cylinder from where it leaves the ball, half a ball at its end, less the
   * lens between the flat start and the ball */
  const double reach = sqrt(64.0 - 9.0), high = 8.0 - reach;
  const double lens = G_PI * high * high * (24.0 - high) / 3.0;
  const double exact =
      4.0 / 3.0 * G_PI * 512.0 + G_PI * 9.0 * (30.0 - reach) + 2.0 / 3.0 * G_PI * 27.0 - lens;
  g_test_message("ball and tendon: %.1f of %.1f mm3", set.report[1].volume_mm3, exact);
  g_assert_cmpfloat(fabs(set.report[1].volume_mm3 / exact - 1.0), <, 0.01);
  g_assert_cmpfloat(fabs(set.report[1].inside_mm3 / exact - 1.0), <, 0.01);
  int tendon = 0;
  for (int i = set.muscle_start[1]; i < set.muscle_start[2]; i++)
    tendon += set.region[set.pair[i]] == PLA_TISSUE_TENDON;
  g_assert_cmpint(tendon, >, 3);
  pla_muscle_set_clear(&set);
  bar_clear(&b);
}

/* fields for files */
static void
test_fields(void)
{
  Bar b;
  PlaMuscleSet set;
  PlaError err = { 0 };
  bar_init(&b, 8);
  b.opts.n_cells = 20000;
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_OK);
  g_assert_cmpint(pla_muscle_set_to_fields(&set, true, b.mesh, &err), ==, PLA_OK);
  const PlaField *share = pla_mesh_find_field(b.mesh, "share: bar", PLA_ON_CELLS);
  const PlaField *bone = pla_mesh_find_field(b.mesh, "bone", PLA_ON_VERTS);
  const PlaField *fibre = pla_mesh_find_field(b.mesh, "fibre", PLA_ON_CELLS);
  g_assert_nonnull(share);
  g_assert_nonnull(bone);
  g_assert_nonnull(fibre);
  g_assert_cmpint(fibre->n_components, ==, 3);
  double sum = 0.0;
  for (int t = 0; t < b.tets.n_tets; t++)
    sum += ((const float *)share->data)[t] * volume_of(&b.tets, t);
  g_assert_cmpfloat(fabs(sum / (60.0 * 144.0) - 1.0), <, 0.01);
  for (int v = 0; v < b.tets.n_verts; v++) {
    const double x[3] = { 1e3 * b.tets.rest[3 * v], 1e3 * b.tets.rest[3 * v + 1],
                          1e3 * b.tets.rest[3 * v + 2] };
    const int expected = box_distance(x, left_box) < 1.0    ? 1
                         : box_distance(x, right_box) < 1.0 ? 2
                                                            : 0;
    g_assert_cmpint(((const int32_t *)bone->data)[v], ==, expected);
  }
  pla_muscle_set_clear(&set);
  bar_clear(&b);
}

static void
test_threads(void)
{
  Bar b;
  PlaMuscleSet set[2];
  PlaError err = { 0 };
  const int before = pla_threads_get();
  bar_init(&b, 8);
  for (int i = 0; i < 2; i++) {
    pla_threads_set(i == 0 ? 1 : 4);
    g_assert_cmpint(bar_build(&b, &set[i], &err), ==, PLA_OK);
  }
  pla_threads_set(before);
  g_assert_cmpint(set[0].n_pairs, ==, set[1].n_pairs);
  const size_t n = (size_t)set[0].n_pairs;
  g_assert_cmpmem(set[0].share, n * sizeof(double), set[1].share, n * sizeof(double));
  g_assert_cmpmem(set[0].fibre, 3 * n * sizeof(double), set[1].fibre, 3 * n * sizeof(double));
  g_assert_cmpmem(set[0].region, n, set[1].region, n);
  g_assert_cmpmem(set[0].point.weight, 4 * (size_t)set[0].point.n_points * sizeof(double),
                  set[1].point.weight, 4 * (size_t)set[1].point.n_points * sizeof(double));
  pla_muscle_set_clear(&set[0]);
  pla_muscle_set_clear(&set[1]);
  bar_clear(&b);
}

static void
test_refusals(void)
{
  Bar b;
  PlaMuscleSet set;
  PlaError err = { 0 };
  bar_init(&b, 4);
  b.opts.n_cells = 500;
  /* a bone that nobody knows */
  free(b.list.muscle[0].head[0].origin);
  b.list.muscle[0].head[0].origin = strdup("patella");
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "'bar'"));
  g_assert_nonnull(strstr(err.message, "'patella'"));
  /* an end in soft tissue without a line */
  b.list.muscle[0].head[0].origin[0] = '\0';
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "origin"));
  /* lines that are not there */
  b.list.muscle[0].method = PLA_FIBRES_SPLINE;
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "line of action"));
  b.list.muscle[0].method = PLA_FIBRES_VECTORS;
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "vectors"));
  bar_clear(&b);

  /* a muscle beside the mesh is a remark, not a failure */
  bar_init(&b, 4);
  b.opts.n_cells = 500;
  const double away[4] = { 300, 0, 0, 8 };
  b.shape[1] = ball(away);
  b.list.muscle[1].head[0].pos_mm[0] = b.list.muscle[1].head[0].pos_mm[3] = 300.0;
  g_assert_cmpint(bar_build(&b, &set, &err), ==, PLA_OK);
  g_assert_cmpint(set.notes.n, ==, 1);
  g_assert_nonnull(strstr(set.notes.text[0], "outside"));
  g_assert_cmpint(set.report[1].n_tets, ==, 0);
  pla_muscle_set_clear(&set);

  /* cancelled */
  PlaProgress progress;
  pla_progress_init(&progress, NULL, NULL);
  pla_progress_cancel(&progress);
  g_assert_cmpint(pla_muscle_set_build(&b.tets, &b.list, b.shape, NULL, b.bone, 2, &b.opts,
                                       &progress, &set, &err),
                  ==, PLA_ERR_CANCELLED);
  /* nothing to do */
  PlaMuscleList none = { 0 };
  g_assert_cmpint(pla_muscle_set_build(&b.tets, &none, b.shape, NULL, b.bone, 2, &b.opts, NULL,
                                       &set, &err),
                  ==, PLA_ERR_EMPTY);
  bar_clear(&b);
}

/* ---- phantoms ---- */

static double
phantom_distance(const double p[3], const void *data)
{
  const void *const *pair = data;
  return pla_phantom_shape_distance(pair[0], *(const int *)pair[1], p);
}

/* every muscle of the phantoms names bones that exist, and has a strength and a line */
static void
test_phantom_lists(void)
{
  static const struct {
    const char *name;
    int n_muscles;
  } cases[] = { { "head", 54 }, { "tongue", 22 }, { "arm", 3 } };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    PlaPhantom phantom = { 0 };
    PlaMuscleList list;
    PlaError err = { 0 };
    g_assert_cmpint(pla_phantom_make(cases[i].name, 8.0, NULL, &phantom, &err), ==, PLA_OK);
    g_assert_cmpint(pla_muscle_list_from_phantom(&phantom, &list, &err), ==, PLA_OK);
    g_assert_cmpint(list.n, ==, cases[i].n_muscles);
    for (int m = 0; m < list.n; m++) {
      const PlaMuscle *muscle = &list.muscle[m];
      const PlaLabel *label = pla_label_table_find(&phantom.labels->table, muscle->label);
      g_assert_nonnull(label);
      g_assert_cmpstr(label->name, ==, muscle->name);
      g_assert_cmpfloat(muscle->peak_stress_pa, >=, 0.4 * PLA_MUSCLE_STRESS_PA);
      g_assert_cmpint(muscle->n_heads, >=, 1);
      for (int h = 0; h < muscle->n_heads; h++) {
        const char *ends[2] = { muscle->head[h].origin, muscle->head[h].insertion };
        g_assert_cmpint(muscle->head[h].n_points, >=, 2);
        for (int e = 0; e < 2; e++)
          if (ends[e][0])
            g_assert_nonnull(pla_label_table_find_name(&phantom.labels->table, ends[e]));
        /* normals stay square enough to the line for a solid */
        for (int k = 0; k < muscle->head[h].n_points; k++)
          g_assert_cmpfloat_with_epsilon(pla_vec3_norm(muscle->head[h].normal + 3 * k), 1.0, 1e-9);
      }
    }
    pla_muscle_list_clear(&list);
    pla_phantom_clear(&phantom);
  }
  PlaPhantom sphere = { 0 };
  PlaMuscleList list;
  PlaError err = { 0 };
  g_assert_cmpint(pla_phantom_make("sphere", 8.0, NULL, &sphere, &err), ==, PLA_OK);
  g_assert_cmpint(pla_muscle_list_from_phantom(&sphere, &list, &err), ==, PLA_ERR_EMPTY);
  pla_phantom_clear(&sphere);
}

/* the arm: heads of biceps and triceps, ends on the right bones, fibres from shoulder to elbow */
static void
test_arm(void)
{
  PlaPhantom phantom = { 0 };
  PlaPhantomModel *model = NULL;
  PlaMuscleList list;
  PlaMuscleSet set;
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_phantom_make("arm", 8.0, NULL, &phantom, &err), ==, PLA_OK);
  g_assert_cmpint(pla_phantom_model_new("arm", &model, &err), ==, PLA_OK);
  g_assert_cmpint(pla_muscle_list_from_phantom(&phantom, &list, &err), ==, PLA_OK);
  g_assert_cmpint(pla_box_mesh_new((double[3]){ -0.06, -0.06, -0.1 },
                                   (double[3]){ 0.06, 0.06, 0.36 }, (int[3]){ 12, 12, 46 },
                                   PLA_BOX_TETS_5, &mesh, &err),
                  ==, PLA_OK);
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  static const char *const bones[] = { "humerus", "ulna", "radius", "scapula" };
  int bone_label[4];
  const void *pair[7][2];
  PlaMuscleShape shape[3];
  PlaMuscleBone bone[4];
  for (int i = 0; i < 7; i++) {
    const int *label;
    if (i < 3)
      label = &list.muscle[i].label;
    else {
      bone_label[i - 3] = pla_label_table_find_name(&phantom.labels->table, bones[i - 3])->id;
      label = &bone_label[i - 3];
    }
    pair[i][0] = model;
    pair[i][1] = label;
    PlaMuscleShape s = { .distance = phantom_distance, .data = pair[i] };
    const PlaShapeScene *scene = pla_phantom_model_scene(model);
    pla_scene_part_bounds(scene, pla_scene_find_label(scene, *label), s.lo_mm, s.hi_mm);
    if (i < 3)
      shape[i] = s;
    else
      bone[i - 3] = (PlaMuscleBone){ bones[i - 3], s };
  }
  PlaMuscleOptions opts = pla_muscle_options_default();
  opts.n_cells = g_getenv("PLA_SMALL") ? 1500 : 5000;
  opts.leaf_mm = 3.0;
  g_assert_cmpint(pla_muscle_set_build(&tets, &list, shape, NULL, bone, 4, &opts, NULL, &set, &err),
                  ==, PLA_OK);
  for (int m = 0; m < 3; m++) {
    const PlaMuscleReport *r = &set.report[m];
    g_test_message("%s: %.0f ml, %.0f mm, %.0f N, %d lines, straight %.3f, gaps %.1f %.1f",
                   list.muscle[m].name, r->volume_mm3 / 1000.0, r->length_mm, r->force_n,
                   r->n_lines, r->straightness, r->gap_mm[0], r->gap_mm[1]);
    g_assert_cmpfloat(r->inside_mm3 / r->volume_mm3, >, 0.95);
    g_assert_cmpfloat(r->inside_mm3 / r->volume_mm3, <, 1.05);
    g_assert_cmpfloat(r->gap_mm[0], <, 3.0);
    g_assert_cmpfloat(r->gap_mm[1], <, 3.0);
    g_assert_cmpint(r->n_lines, >, 5);
    /* fibres run down the arm */
    for (int i = set.muscle_start[m]; i < set.muscle_start[m + 1]; i++) {
      const int p = set.pair[i];
      const double *v = set.fibre + 3 * p;
      g_assert_cmpfloat_with_epsilon(pla_vec3_norm(v), 1.0, 1e-9);
    }
    /* lines begin above and end below */
    for (int l = 0; l < set.n_lines; l++)
      if (set.line_muscle[l] == m) {
        double first[3] = { 0 }, last[3] = { 0 };
        for (int c = 0; c < 4; c++)
          for (int d = 0; d < 3; d++) {
            const int a = set.line_start[l], z = set.line_start[l + 1] - 1;
            first[d] += set.point.weight[4 * a + c] *
                        tets.rest[3 * tets.tet[4 * set.point.elem[a] + c] + d];
            last[d] += set.point.weight[4 * z + c] *
                       tets.rest[3 * tets.tet[4 * set.point.elem[z] + c] + d];
          }
        g_assert_cmpfloat(first[2], >, last[2] + 0.05);
      }
  }
  pla_muscle_set_clear(&set);
  pla_muscle_list_clear(&list);
  pla_phantom_model_free(model);
  pla_phantom_clear(&phantom);
  pla_mesh_free(mesh);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/muscles/overlap/plane", test_plane);
  g_test_add_func("/muscles/overlap/ball", test_ball);
  g_test_add_func("/muscles/overlap/thin-sheet", test_thin_sheet);
  g_test_add_func("/muscles/overlap/surface", test_surface_shape);
  g_test_add_func("/muscles/bar", test_bar);
  g_test_add_func("/muscles/cylinder", test_cylinder);
  g_test_add_func("/muscles/left-out", test_left_out);
  g_test_add_func("/muscles/tags", test_tags);
  g_test_add_func("/muscles/ring", test_ring);
  g_test_add_func("/muscles/tendon", test_tendon);
  g_test_add_func("/muscles/fields", test_fields);
  g_test_add_func("/muscles/threads", test_threads);
  g_test_add_func("/muscles/refusals", test_refusals);
  g_test_add_func("/muscles/phantom-lists", test_phantom_lists);
  g_test_add_func("/muscles/arm", test_arm);
  return g_test_run();
}
