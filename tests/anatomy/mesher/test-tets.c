/* Conforming tets: shape, volume, closeness to the level set, shared faces, threads. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesher/mesher-lattice.h"
#include "anatomy/mesher/pieces.h"
#include "anatomy/mesher/tets.h"
#include "anatomy/phantom/phantom.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double
solid_func(const double pos[3], const void *data)
{
  return pla_solid_distance(data, pos);
}

static PlaLevelSet *
sample_solid(const PlaSolid *solid)
{
  const int dims[3] = { 48, 48, 48 };
  const double affine[12] = { 1, 0, 0, -23.5, 0, 1, 0, -23.3, 0, 0, 1, -23.6 };
  PlaLevelSet *ls;
  PlaError err;
  g_assert_cmpint(pla_levelset_new(dims, affine, &ls, &err), ==, PLA_OK);
  pla_levelset_fill(ls, solid_func, solid);
  return ls;
}

/* how many tets have each face, keyed by its vertices in rising order */
typedef struct {
  int v[3], count;
} Face;

static int
compare_faces(const void *a, const void *b)
{
  return memcmp(a, b, 3 * sizeof(int));
}

static int
compare_ints(const void *a, const void *b)
{
  return *(const int *)a - *(const int *)b;
}

/* the distinct faces; g_free() */
static Face *
collect_faces(const int *tet, int n_tets, int *n_faces)
{
  Face *face = g_new(Face, 4 * (gsize)n_tets);
  for (int t = 0; t < n_tets; t++)
    for (int f = 0; f < 4; f++) {
      Face *to = &face[4 * t + f];
      for (int c = 0, n = 0; c < 4; c++)
        if (c != f)
          to->v[n++] = tet[4 * t + c];
      qsort(to->v, 3, sizeof(int), compare_ints);
      to->count = 1;
    }
  qsort(face, 4 * (size_t)n_tets, sizeof *face, compare_faces);
  int n = 0;
  for (int i = 0; i < 4 * n_tets; i++) {
    if (n > 0 && compare_faces(&face[n - 1], &face[i]) == 0)
      face[n - 1].count++;
    else
      face[n++] = face[i];
  }
  *n_faces = n;
  return face;
}

static double
tet_volume(const PlaMesh *mesh, int t)
{
  double m[9];
  const int *v = mesh->tet + 4 * (size_t)t;
  for (int r = 0; r < 3; r++)
    pla_vec3_sub(mesh->pos + 3 * v[r + 1], mesh->pos + 3 * v[0], m + 3 * r);
  return pla_mat3_det(m) / 6.0 * 1e9;
}

static void
check_shape(const PlaMesh *mesh, const PlaTetReport *r, double least, double most)
{
  PlaError err;
  g_assert_cmpint(pla_mesh_check(mesh, &err), ==, PLA_OK);
  g_assert_cmpint(r->inverted, ==, 0);
  g_assert_cmpfloat(r->min_dihedral_deg, >=, least);
  g_assert_cmpfloat(r->max_dihedral_deg, <=, most);
}

/* balls and tori of many sizes, off the lattice by all kinds of shifts, graded and not */
static void
test_solids(void)
{
  const int trials = g_getenv("PLA_SMALL") ? 3 : 10, id = 7;
  double least = 180.0, most = 0.0;
  for (int trial = 0; trial < trials; trial++) {
    const double shift = 0.37 * trial, r = 12.0 + 0.61 * trial, cell = 2.0 + 0.1 * trial;
    const bool round = trial % 2;
    PlaSolid torus = { .kind = PLA_SOLID_TORUS,
                       .centre = { 0.3 - 0.1 * shift, 0.2 * shift, -0.1 },
                       .size = { 11.0, 5.0 + 0.17 * trial, 0 } };
    PlaSolid ball = { .kind = PLA_SOLID_TORUS,
                      .centre = { shift, 0.1, -0.2 * shift },
                      .size = { 0, r, 0 } };
    PlaTetOptions opts = { .cell_mm = cell, .levels = trial % 4 };
    PlaLevelSet *ls = sample_solid(round ? &ball : &torus);
    const PlaLevelSet *group[1] = { ls };
    PlaMesh *mesh;
    PlaTetReport report;
    PlaMeshSummary s;
    PlaError err;
    int n_faces, outer = 0;
    g_assert_cmpint(pla_tets_from_levelsets(group, &id, 1, NULL, &opts, NULL, &mesh, &report, &err),
                    ==, PLA_OK);
    g_assert_cmpint(pla_mesh_summary(mesh, &s, &err), ==, PLA_OK);
    const double exact = round ? 4.0 / 3.0 * G_PI * r * r * r
                               : 2.0 * G_PI * G_PI * torus.size[0] * torus.size[1] * torus.size[1];
    const double volume = s.volume_m3 * 1e9;
    g_test_message("%s, cell %.2f, levels %d: %d tets, angles %.1f to %.1f, volume %+.2f %%, "
                   "vertices %.4f, faces %.3f cells",
                   round ? "ball" : "torus", cell, opts.levels, mesh->n_tets,
                   report.min_dihedral_deg, report.max_dihedral_deg, 100.0 * (volume / exact - 1.0),
                   report.vertex_mm / cell, report.facet_mm / cell);
    check_shape(mesh, &report, 10.0, 165.0);
    g_assert_cmpint(s.components, ==, 1);
    g_assert_cmpfloat(fabs(volume / exact - 1.0), <, 0.05);
    g_assert_cmpfloat(report.vertex_mm, <, 0.1 * cell);
    g_assert_cmpfloat(report.facet_mm, <, 0.25 * cell);
    /* no face has three tets, and the outer ones are those reported */
    Face *face = collect_faces(mesh->tet, mesh->n_tets, &n_faces);
    for (int f = 0; f < n_faces; f++) {
      g_assert_cmpint(face[f].count, <=, 2);
      outer += face[f].count == 1;
    }
    g_assert_cmpint(outer, ==, report.boundary_tris);
    g_free(face);
    const PlaField *region = pla_mesh_find_field(mesh, PLA_MESH_REGION, PLA_ON_CELLS);
    for (int t = 0; t < mesh->n_tets; t++)
      g_assert_cmpint(((const int32_t *)region->data)[t], ==, 7);
    least = fmin(least, report.min_dihedral_deg);
    most = fmax(most, report.max_dihedral_deg);
    pla_mesh_free(mesh);
    pla_levelset_free(ls);
  }
  g_test_message("all: %.2f to %.2f degrees", least, most);
}

/* the background alone: congruent tets with angles of 60 and 90 degrees when it is uniform, fewer
 * of 45 to 120 when graded, and no gap either way */
static void
test_lattice(void)
{
  PlaSolid ball = { .kind = PLA_SOLID_TORUS, .size = { 0, 17, 0 } };
  PlaLevelSet *ls = sample_solid(&ball);
  const PlaLevelSet *group[1] = { ls };
  const PlaTissues tissues = { 1, group, NULL };
  PlaError err;
  int uniform = 0, n_faces;
  for (int levels = 0; levels <= 2; levels += 2) {
    PlaLattice l;
    PlaMesh *mesh;
    PlaMeshSummary s;
    g_assert_cmpint(pla_lattice_init(&l, &tissues, 1.5, levels, NULL, &err), ==, PLA_OK);
    g_assert_cmpint(pla_mesh_new(l.n_verts, 0, l.n_tets, 0, &mesh, &err), ==, PLA_OK);
    memcpy(mesh->tet, l.tet, (size_t)l.n_tets * 4 * sizeof *l.tet);
    for (size_t i = 0; i < 3 * (size_t)l.n_verts; i++)
      mesh->pos[i] = l.pos_mm[i] / 1000.0;
    g_assert_cmpint(pla_mesh_summary(mesh, &s, &err), ==, PLA_OK);
    g_test_message("%d levels: %d tets, %.2f to %.2f degrees", l.levels, l.n_tets,
                   s.min_dihedral_deg, s.max_dihedral_deg);
    g_assert_cmpint(s.inverted, ==, 0);
    g_assert_cmpint(l.levels, ==, levels);
    g_assert_cmpfloat_with_epsilon(s.min_dihedral_deg, levels ? 45.0 : 60.0, 1e-6);
    g_assert_cmpfloat(s.max_dihedral_deg, <, (levels ? 120.0 : 90.0) + 1e-6);
    if (levels == 0) {
      uniform = l.n_tets;
      for (int t = 0; t < l.n_tets; t++)
        g_assert_cmpfloat_with_epsilon(tet_volume(mesh, t), 1.5 * 1.5 * 1.5 / 12.0, 1e-9);
    } else {
      g_assert_cmpint(l.n_tets, <, uniform * 9 / 10);
    }
    /* no T-junction: every face with a vertex inside the ball has two tets */
    Face *face = collect_faces(l.tet, l.n_tets, &n_faces);
    for (int f = 0; f < n_faces; f++) {
      bool inside = false;
      for (int c = 0; c < 3; c++)
        inside = inside || l.tissue[face[f].v[c]] != 0;
      g_assert_cmpint(face[f].count, <=, 2);
      if (inside)
        g_assert_cmpint(face[f].count, ==, 2);
    }
    g_free(face);
    pla_mesh_free(mesh);
    pla_lattice_clear(&l);
  }
  pla_levelset_free(ls);
}

/* a ball in two halves within a shell, and a bar through that: four tissues that touch */
static PlaLabelMap *
make_labels(void)
{
  const int dims[4] = { 40, 40, 40, 1 };
  PlaVolume *vol;
  PlaLabelMap *map;
  PlaError err;
  g_assert_cmpint(pla_volume_new(dims, PLA_U8, &vol, &err), ==, PLA_OK);
  for (int k = 0; k < 40; k++)
    for (int j = 0; j < 40; j++)
      for (int i = 0; i < 40; i++) {
        double x = i - 19.3, y = j - 19.7, z = k - 19.5, r = sqrt(x * x + y * y + z * z);
        int label = r < 10.0 ? (x + 0.3 * y > 0.0 ? 1 : 2) : r < 15.0 ? 3 : 0;
        if (fabs(y) < 4.0 && fabs(z + 2.0) < 5.0 && r >= 10.0 && x > 0.0 && x < 17.0)
          label = 4;
        ((uint8_t *)vol->voxels)[i + 40 * (j + 40 * k)] = (uint8_t)label;
      }
  g_assert_cmpint(pla_label_map_take(vol, NULL, &map, &err), ==, PLA_OK);
  return map;
}

static void
test_tissues(void)
{
  PlaLabelMap *map = make_labels();
  const int ids[4] = { 1, 2, 3, 4 }, first[5] = { 0, 1, 2, 3, 4 };
  PlaMesh *mesh[2];
  PlaTetReport report;
  PlaError err;
  PlaTetOptions opts = { .cell_mm = 1.5, .levels = 2, .smooth_mm = 0.0 };
  for (int t = 0; t < 2; t++) {
    pla_threads_set(t ? 4 : 1);
    g_assert_cmpint(pla_tets_from_labels(map, ids, first, 4, &opts, NULL, &mesh[t], &report, &err),
                    ==, PLA_OK);
  }
  pla_threads_set(0);
  g_test_message("%d tets, %.2f to %.2f degrees", mesh[0]->n_tets, report.min_dihedral_deg,
                 report.max_dihedral_deg);
  check_shape(mesh[0], &report, 4.0, 172.0);
  g_assert_cmpmem(mesh[0]->pos, (size_t)mesh[0]->n_verts * 24, mesh[1]->pos,
                  (size_t)mesh[1]->n_verts * 24);
  g_assert_cmpmem(mesh[0]->tet, (size_t)mesh[0]->n_tets * 16, mesh[1]->tet,
                  (size_t)mesh[1]->n_tets * 16);

  /* tissues share faces: an outer face of the whole is at the outside of all labels, so none lies
   * well inside the shell, and the volumes are those of the labels */
  int n_faces;
  Face *face = collect_faces(mesh[0]->tet, mesh[0]->n_tets, &n_faces);
  for (int f = 0; f < n_faces; f++) {
    double x[3] = { -19.3, -19.7, -19.5 };
    g_assert_cmpint(face[f].count, <=, 2);
    for (int d = 0; d < 3; d++)
      for (int c = 0; c < 3; c++)
        x[d] += 1000.0 * mesh[0]->pos[3 * face[f].v[c] + d] / 3.0;
    if (face[f].count == 1)
      g_assert_cmpfloat(pla_vec3_norm(x), >, 12.5);
  }
  g_free(face);
  const PlaField *region = pla_mesh_find_field(mesh[0], PLA_MESH_REGION, PLA_ON_CELLS);
  double volume[5] = { 0 };
  size_t *voxels = g_new0(size_t, 65536);
  pla_label_map_count(map, voxels);
  for (int t = 0; t < mesh[0]->n_tets; t++)
    volume[((const int32_t *)region->data)[t]] += tet_volume(mesh[0], t);
  for (int g = 1; g <= 4; g++) {
    g_test_message("tissue %d: %.0f of %zu mm3", g, volume[g], voxels[g]);
    g_assert_cmpfloat(fabs(volume[g] / (double)voxels[g] - 1.0), <, 0.08);
  }
  double all = volume[1] + volume[2] + volume[3] + volume[4];
  double whole = (double)(voxels[1] + voxels[2] + voxels[3] + voxels[4]);
  g_assert_cmpfloat(fabs(all / whole - 1.0), <, 0.02);
  g_free(voxels);
  pla_mesh_free(mesh[0]);
  pla_mesh_free(mesh[1]);
  pla_label_map_free(map);
}

/* two flat layers, each thinner than a cell: the outer faces are where the layers end, without pits
 * down to the interface between them, and no tet is flat */
static void
test_thin_layers(void)
{
  const int dims[4] = { 42, 42, 8, 1 }, ids[2] = { 2, 3 }, first[3] = { 0, 1, 2 };
  for (double cell_mm = 6.5; cell_mm < 9.0; cell_mm += 0.5) {
    PlaVolume *vol;
    PlaLabelMap *map;
    PlaMesh *mesh;
    PlaTetReport r;
    PlaError err;
    PlaTetOptions opts = pla_tet_options_default();
    opts.cell_mm = cell_mm;
    opts.levels = 0;
    g_assert_cmpint(pla_volume_new(dims, PLA_U8, &vol, &err), ==, PLA_OK);
    memset(vol->affine_mm, 0, sizeof vol->affine_mm);
    for (int d = 0; d < 3; d++)
      vol->affine_mm[5 * d] = 3.0;
    for (int v = 0; v < 42 * 42 * 8; v++) {
      const int i = v % 42, j = v / 42 % 42, k = v / (42 * 42);
      if (i > 0 && i < 41 && j > 0 && j < 41 && k > 1 && k < 6)
        ((uint8_t *)vol->voxels)[v] = k < 4 ? 3 : 2;
    }
    g_assert_cmpint(pla_label_map_take(vol, NULL, &map, &err), ==, PLA_OK);
    g_assert_cmpint(pla_tets_from_labels(map, ids, first, 2, &opts, NULL, &mesh, &r, &err), ==,
                    PLA_OK);
    g_assert_cmpint(r.inverted, ==, 0);
    g_assert_cmpfloat(r.min_dihedral_deg, >=, 10.0);
    g_assert_cmpfloat(r.max_dihedral_deg, <=, 165.0);
    /* faces in the middle are at 4.5 and 16.5 mm */
    int n_faces, n_outer = 0;
    double worst = 0.0;
    Face *face = collect_faces(mesh->tet, mesh->n_tets, &n_faces);
    for (int f = 0; f < n_faces; f++) {
      double x[3] = { 0 };
      for (int c = 0; c < 3; c++)
        for (int d = 0; d < 3; d++)
          x[d] += 1000.0 * mesh->pos[3 * face[f].v[c] + d] / 3.0;
      g_assert_cmpint(face[f].count, <=, 2);
      if (face[f].count == 2 || fabs(x[0] - 61.5) > 40.0 || fabs(x[1] - 61.5) > 40.0)
        continue;
      n_outer++;
      worst = fmax(worst, fmin(fabs(x[2] - 4.5), fabs(x[2] - 16.5)));
    }
    g_test_message("cells of %.1f mm: %.1f to %.1f degrees, %d outer faces within %.2f mm", cell_mm,
                   r.min_dihedral_deg, r.max_dihedral_deg, n_outer, worst);
    g_assert_cmpint(n_outer, >, 200);
    g_assert_cmpfloat(worst, <, 0.1 * cell_mm);
    g_free(face);
    pla_mesh_free(mesh);
    pla_label_map_free(map);
  }
}

/* a closed surface through its level set */
static void
test_surface(void)
{
  PlaPhantom phantom;
  PlaMesh *mesh;
  PlaTetReport report;
  PlaMeshSummary s;
  PlaError err;
  PlaTetOptions opts = { .cell_mm = 3.0, .levels = 2, .smooth_mm = -1.0 };
  g_assert_cmpint(pla_phantom_make("torus-surface", 3.0, NULL, &phantom, &err), ==, PLA_OK);
  g_assert_cmpint(pla_tets_from_surface(phantom.mesh, &opts, NULL, &mesh, &report, &err), ==,
                  PLA_OK);
  g_assert_cmpint(pla_mesh_summary(mesh, &s, &err), ==, PLA_OK);
  check_shape(mesh, &report, 10.0, 165.0);
  g_assert_cmpfloat(report.vertex_mm, <, 0.1 * opts.cell_mm);
  g_assert_cmpfloat(report.facet_mm, <, 0.25 * opts.cell_mm);
  g_assert_cmpfloat(fabs(s.volume_m3 * 1e9 / (2.0 * G_PI * G_PI * 35.0 * 144.0) - 1.0), <, 0.03);
  pla_mesh_free(mesh);
  /* an open one is refused */
  phantom.mesh->n_tris--;
  g_assert_cmpint(pla_tets_from_surface(phantom.mesh, &opts, NULL, &mesh, &report, &err), ==,
                  PLA_ERR_GEOMETRY);
  phantom.mesh->n_tris++;
  pla_phantom_clear(&phantom);
}

static void
test_refusals(void)
{
  PlaSolid ball = { .kind = PLA_SOLID_TORUS, .size = { 0, 9, 0 } }, none = ball;
  PlaError err;
  PlaMesh *mesh;
  const int id = 1;
  none.centre[0] = 1000.0;
  PlaLevelSet *ls = sample_solid(&ball), *empty = sample_solid(&none);
  const PlaLevelSet *group[1] = { ls }, *nothing[1] = { empty };
  PlaTetOptions opts = pla_tet_options_default();
  g_assert_cmpint(pla_tets_from_levelsets(nothing, &id, 1, NULL, &opts, NULL, &mesh, NULL, &err),
                  ==, PLA_ERR_EMPTY);
  opts.cell_mm = 0.0;
  g_assert_cmpint(pla_tets_from_levelsets(group, &id, 1, NULL, &opts, NULL, &mesh, NULL, &err), ==,
                  PLA_ERR_USAGE);
  opts.cell_mm = 1e-5;
  g_assert_cmpint(pla_tets_from_levelsets(group, &id, 1, NULL, &opts, NULL, &mesh, NULL, &err), ==,
                  PLA_ERR_MEMORY);
  pla_levelset_free(ls);
  pla_levelset_free(empty);
}

/* Three tets in a row, two beside them that share a face, and one that hangs on by an edge: pieces
 * below the limit go, with the vertices that only they use, and regions stay with their tets. */
static void
test_pieces(void)
{
  const double pos[12][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 },
                              { 1, 1, 1 }, { 2, 1, 1 }, { 5, 0, 0 }, { 6, 0, 0 },
                              { 5, 1, 0 }, { 5, 0, 1 }, { 6, 1, 1 }, { -1, 0, 0 } };
  const int tet[6][4] = { { 11, 2, 3, 0 }, { 0, 1, 2, 3 },  { 1, 2, 3, 4 },
                          { 6, 7, 8, 9 },  { 7, 8, 9, 10 }, { 4, 1, 5, 6 } };
  const struct {
    double share;
    int least, n_out, n_verts, n_tets;
  } cases[] = { { 0.0, 1, 0, 12, 6 },
                { 0.0, 2, 1, 11, 5 },
                { 0.5, 0, 1, 11, 5 },
                { 1.0, 0, 2, 6, 3 },
                { 0.0, 99, 2, 6, 3 } };
  for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
    PlaMesh *mesh;
    PlaError err;
    int n_out = -1;
    g_assert_cmpint(pla_mesh_new(12, 0, 6, 0, &mesh, &err), ==, PLA_OK);
    memcpy(mesh->pos, pos, sizeof pos);
    memcpy(mesh->tet, tet, sizeof tet);
    int *tag = pla_mesh_add_field(mesh, PLA_MESH_REGION, PLA_ON_CELLS, PLA_I32, 1);
    for (int t = 0; t < 6; t++)
      tag[t] = 10 + t;
    g_assert_cmpint(pla_mesh_keep_pieces(&mesh, cases[k].share, cases[k].least, &n_out, &err), ==,
                    PLA_OK);
    g_assert_cmpint(n_out, ==, cases[k].n_out);
    g_assert_cmpint(mesh->n_tets, ==, cases[k].n_tets);
    g_assert_cmpint(mesh->n_verts, ==, cases[k].n_verts);
    tag = pla_mesh_find_field(mesh, PLA_MESH_REGION, PLA_ON_CELLS)->data;
    for (int t = 0; t < mesh->n_tets; t++)
      for (int a = 0; a < 4; a++)
        g_assert_cmpmem(mesh->pos + 3 * mesh->tet[4 * t + a], sizeof pos[0],
                        pos[tet[tag[t] - 10][a]], sizeof pos[0]);
    pla_mesh_free(mesh);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/tets/solids", test_solids);
  g_test_add_func("/tets/lattice", test_lattice);
  g_test_add_func("/tets/tissues", test_tissues);
  g_test_add_func("/tets/thin-layers", test_thin_layers);
  g_test_add_func("/tets/pieces", test_pieces);
  g_test_add_func("/tets/surface", test_surface);
  g_test_add_func("/tets/refusals", test_refusals);
  return g_test_run();
}
