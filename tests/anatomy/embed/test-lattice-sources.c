/* Lattice embeddings of fine tet meshes and of closed surfaces: pieces against independent counts,
 * volumes, what elements inherit, refusals. */
#include "anatomy/base/parallel.h"
#include "anatomy/embed/lattice-soup.h"
#include "anatomy/mesh/box-mesh.h"
#include "anatomy/phantom/phantom.h"
#include "anatomy/surface/surface.h"
#include "tests/anatomy/embed/lattice-cases.h"

#include <string.h>

/* ---- hulls ---- */

static void
test_hulls(void)
{
  const double t[4][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
  const double far[4][3] = { { 1, 1, 1 }, { 2, 1, 1 }, { 1, 2, 1 }, { 1, 1, 2 } };
  const double below[4][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, -1 } };
  const double in[4][3] = { { .1, .1, .1 }, { .2, .1, .1 }, { .1, .2, .1 }, { .1, .1, .2 } };
  const double through[3][3] = { { -1, .2, .2 }, { 2, .2, .2 }, { .2, .2, 3 } };
  const double down[3][3] = { { -1, .2, -1 }, { 2, .2, -1 }, { .2, .2, 3 } };
  const double on[3][3] = { { -1, -1, 0 }, { 3, -1, 0 }, { -1, 3, 0 } };
  const double touch[3][3] = { { 1, 0, 0 }, { 2, 0, 0 }, { 2, 1, 1 } };
  const double edge[2][3] = { { -1, 0, .5 }, { 1, .2, .3 } },
               past[2][3] = { { -1, 0, .5 }, { 1, 0, .5 } };
  const double *a[4], *b[4];
#define HULLS(p, n, q, m, expected)                                                                \
  do {                                                                                             \
    for (int i = 0; i < n; i++)                                                                    \
      a[i] = p[i];                                                                                 \
    for (int i = 0; i < m; i++)                                                                    \
      b[i] = q[i];                                                                                 \
    g_assert_cmpint(pla_hulls_meet(a, n, b, m), ==, expected);                                     \
    g_assert_cmpint(pla_hulls_meet(b, m, a, n), ==, expected);                                     \
  } while (0)
  HULLS(t, 4, far, 4, false);
  HULLS(t, 4, below, 4, false); /* a face in common */
  HULLS(t, 4, in, 4, true);
  HULLS(t, 4, t, 4, true);
  HULLS(through, 3, t, 4, true);
  HULLS(on, 3, t, 4, false);    /* in the plane of a face */
  HULLS(touch, 3, t, 4, false); /* a corner in common */
  HULLS(edge, 2, t, 4, true);
  HULLS(past, 2, t, 4, false); /* along a face */
  HULLS(through, 3, on, 3, false);
  HULLS(down, 3, on, 3, true);
#undef HULLS
}

/* ---- fine tets ---- */

static PlaMesh *
box_new(const double lo[3], const double hi[3], const int n[3])
{
  PlaMesh *mesh;
  PlaError err = { 0 };
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_6, &mesh, &err), ==, PLA_OK);
  return mesh;
}

static double
tet_volume(const PlaMesh *mesh, int t)
{
  const int *v = mesh->tet + 4 * t;
  double dm[9];
  for (int c = 0; c < 3; c++)
    for (int d = 0; d < 3; d++)
      dm[3 * d + c] = mesh->pos[3 * v[c + 1] + d] - mesh->pos[3 * v[0] + d];
  return pla_mat3_det(dm) / 6.0;
}

/* pieces of a tet mesh that hang together by faces; @piece: which one a tet is of */
static int
n_pieces(const PlaMesh *mesh, int *piece)
{
  const PlaSoup soup = {
    .per = 4, .n_simplices = mesh->n_tets, .vert = mesh->tet, .pos = mesh->pos
  };
  int *across, n = 0;
  PlaError err = { 0 };
  g_assert_cmpint(pla_soup_neighbours(&soup, &across, &err), ==, PLA_OK);
  for (int t = 0; t < mesh->n_tets; t++)
    piece[t] = t;
  for (int t = 0; t < 4 * mesh->n_tets; t++)
    if (across[t] >= 0)
      piece[pla_union_find_root(piece, across[t])] = pla_union_find_root(piece, t / 4);
  for (int t = 0; t < mesh->n_tets; t++) {
    n += piece[t] == t;
    piece[t] = pla_union_find_root(piece, t);
  }
  free(across);
  return n;
}

static void
check_tets(const PlaMesh *mesh, double cell_mm, int duplicated)
{
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  PlaLatticeEmbedding *e;
  PlaEmbedding verts;
  PlaLatticeOverlap overlap;
  PlaError err = { 0 };
  PlaStatus st = pla_lattice_from_tets(&tets, cell_mm / 1000.0, NULL, &e, &verts, &overlap, &err);
  if (st != PLA_OK)
    g_error("%s", err.message);
  int *piece = g_new(int, (size_t)mesh->n_tets), *body = g_new(int, (size_t)e->n_verts);
  g_assert_cmpint(n_bodies_of(e, body), ==, n_pieces(mesh, piece));
  if (duplicated >= 0)
    g_assert_cmpint(pla_lattice_n_duplicated(e) > 0, ==, duplicated);
  /* every fine tet is in elements of one body, all of it */
  double *volume = g_new0(double, (size_t)mesh->n_tets), total = 0.0;
  int *of = g_new(int, (size_t)mesh->n_tets);
  memset(of, -1, (size_t)mesh->n_tets * sizeof *of);
  for (int i = 0; i < e->n_elems; i++)
    for (size_t k = overlap.start[i]; k < overlap.start[i + 1]; k++) {
      const int t = overlap.tet[k], here = body[e->vert[4 * i]];
      g_assert_cmpfloat(overlap.volume[k], >, -1e-24);
      volume[t] += overlap.volume[k];
      g_assert_true(of[t] < 0 || of[t] == here);
      of[t] = here;
    }
  for (int t = 0; t < mesh->n_tets; t++) {
    g_assert_cmpfloat_with_epsilon(volume[t], tet_volume(mesh, t), 1e-9 * tet_volume(mesh, t));
    g_assert_cmpint(of[t], ==, of[piece[t]]);
    total += 1e9 * volume[t];
  }
  g_assert_cmpfloat_with_epsilon(material_mm3(e), total, 1e-9 * total);
  /* vertices stand where they stood, each in the body of a tet of its own */
  double *pos = g_new(double, 3 * (size_t)mesh->n_verts);
  bool *own = g_new0(bool, (size_t)mesh->n_verts), *used = g_new0(bool, (size_t)mesh->n_verts);
  pla_embedding_apply(&verts, e->vert, e->pos, pos);
  for (int t = 0; t < mesh->n_tets; t++)
    for (int c = 0; c < 4; c++) {
      const int v = mesh->tet[4 * t + c];
      used[v] = true;
      own[v] = own[v] || body[e->vert[4 * verts.elem[v]]] == of[t];
    }
  for (int v = 0; v < mesh->n_verts; v++) {
    g_assert_cmpint(own[v], ==, used[v]);
    for (int d = 0; d < 3 && used[v]; d++)
      g_assert_cmpfloat_with_epsilon(pos[3 * v + d], mesh->pos[3 * v + d], 1e-14);
    for (int k = 0; k < 4 && used[v]; k++)
      g_assert_cmpfloat(verts.weight[4 * v + k], >=, -1e-9);
  }
  g_free(pos);
  g_free(own);
  g_free(used);
  g_free(volume);
  g_free(of);
  g_free(piece);
  g_free(body);
  pla_embedding_clear(&verts);
  pla_lattice_overlap_clear(&overlap);
  pla_lattice_embedding_free(e);
}

/* on planes of the lattice, and off them */
static void
test_tets_box(void)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.012, 0.008, 0.004 };
  const double lo2[3] = { -0.0031, 0.0007, -0.0022 }, hi2[3] = { 0.0061, 0.0063, 0.0044 };
  const int n[3] = { 6, 4, 2 };
  for (int i = 0; i < 2; i++) {
    PlaMesh *mesh = i ? box_new(lo2, hi2, n) : box_new(lo, hi, n);
    check_tets(mesh, 4.0, 0);
    check_tets(mesh, 2.0, 0);
    pla_mesh_free(mesh);
  }
}

/* a hairpin: a box with a slot */
static void
test_tets_slot(void)
{
  const double lo[3] = { 0.0001, 0.0002, 0 }, hi[3] = { 0.0201, 0.0082, 0.004 };
  const int n[3] = { 20, 8, 4 };
  PlaMesh *mesh = box_new(lo, hi, n);
  int kept = 0;
  for (int t = 0; t < mesh->n_tets; t++) {
    double x[3] = { 0 };
    for (int c = 0; c < 4; c++)
      for (int d = 0; d < 3; d++)
        x[d] += 0.25 * mesh->pos[3 * mesh->tet[4 * t + c] + d];
    const bool slot = x[0] > 0.003 && x[1] > 0.0032 && x[1] < 0.0042;
    if (!slot)
      memmove(mesh->tet + 4 * kept++, mesh->tet + 4 * t, 4 * sizeof *mesh->tet);
  }
  g_assert_cmpint(kept, <, mesh->n_tets);
  mesh->n_tets = kept;
  check_tets(mesh, 5.0, 1);
  pla_mesh_free(mesh);
}

/* any subset of a box's tets: bodies are the parts that hang together by faces */
static void
test_tets_random(void)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.006, 0.006, 0.006 };
  const int n[3] = { 6, 6, 6 };
  for (guint32 seed = 1; seed <= n_seeds(3); seed++) {
    PlaMesh *mesh = box_new(lo, hi, n);
    GRand *rand = g_rand_new_with_seed(seed);
    int kept = 0;
    for (int t = 0; t < mesh->n_tets; t++)
      if (g_rand_double(rand) < 0.45)
        memmove(mesh->tet + 4 * kept++, mesh->tet + 4 * t, 4 * sizeof *mesh->tet);
    mesh->n_tets = kept;
    /* planes in common, then none */
    check_tets(mesh, 4.0, 1);
    for (int i = 0; i < 3 * mesh->n_verts; i++)
      mesh->pos[i] = 1.0001 * mesh->pos[i] + 0.000317 + 1e-4 * g_rand_double(rand);
    check_tets(mesh, 3.0, 1);
    g_rand_free(rand);
    pla_mesh_free(mesh);
  }
}

static void
test_carry(void)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.02, 0.01, 0.01 };
  const int n[3] = { 14, 7, 7 };
  PlaMesh *mesh = box_new(lo, hi, n);
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  PlaLatticeEmbedding *e;
  PlaEmbedding verts;
  PlaLatticeOverlap overlap;
  PlaError err = { 0 };
  g_assert_cmpint(pla_lattice_from_tets(&tets, 0.004, NULL, &e, &verts, &overlap, &err), ==,
                  PLA_OK);
  const size_t nt = (size_t)mesh->n_tets, ne = (size_t)e->n_elems;
  int *tag = g_new(int, nt), *got = g_new(int, ne);
  double *mean = g_new(double, 2 * nt), *got_mean = g_new(double, 2 * ne);
  double *axis = g_new(double, 3 * nt), *got_axis = g_new(double, 3 * ne);
  uint8_t *flag = g_malloc0((size_t)mesh->n_verts), *got_flag = g_malloc0(ne);
  for (int t = 0; t < mesh->n_tets; t++) {
    double x[3] = { 0 };
    for (int c = 0; c < 4; c++)
      for (int d = 0; d < 3; d++)
        x[d] += 0.25 * mesh->pos[3 * mesh->tet[4 * t + c] + d];
    tag[t] = x[0] < 0.01 ? 4 : 9;
    mean[2 * t] = 3.0;
    mean[2 * t + 1] = x[0];
    /* one direction, with either sign */
    const double sign = t % 3 ? 1.0 : -1.0;
    axis[3 * t] = sign * 0.6;
    axis[3 * t + 1] = sign * 0.8;
    axis[3 * t + 2] = 0.0;
  }
  for (int v = 0; v < mesh->n_verts; v++)
    flag[v] = mesh->pos[3 * v] == 0.0;
  pla_lattice_carry_tags(&overlap, tag, got);
  pla_lattice_carry_means(&overlap, 2, mean, got_mean);
  pla_lattice_carry_axes(&overlap, axis, got_axis);
  pla_lattice_carry_flags(e, &verts, flag, got_flag);
  for (int i = 0; i < e->n_elems; i++) {
    double least = INFINITY, most = -INFINITY;
    for (int c = 0; c < 4; c++) {
      least = fmin(least, e->pos[3 * e->vert[4 * i + c]]);
      most = fmax(most, e->pos[3 * e->vert[4 * i + c]]);
    }
    if (most <= 0.01 || least >= 0.01)
      g_assert_cmpint(got[i], ==, most <= 0.01 ? 4 : 9);
    g_assert_cmpfloat_with_epsilon(got_mean[2 * i], 3.0, 1e-12);
    g_assert_cmpfloat(got_mean[2 * i + 1], >=, least - 0.001);
    g_assert_cmpfloat(got_mean[2 * i + 1], <=, most + 0.001);
    g_assert_cmpfloat_with_epsilon(got_axis[3 * i], 0.6, 1e-9);
    g_assert_cmpfloat_with_epsilon(got_axis[3 * i + 1], 0.8, 1e-9);
    if (got_flag[i])
      g_assert_cmpfloat(least, <=, 0.0);
  }
  int n_flagged = 0;
  for (int i = 0; i < e->n_elems; i++)
    n_flagged += got_flag[i];
  g_assert_cmpint(n_flagged, >, 3);
  g_free(tag);
  g_free(got);
  g_free(mean);
  g_free(got_mean);
  g_free(axis);
  g_free(got_axis);
  g_free(flag);
  g_free(got_flag);
  pla_embedding_clear(&verts);
  pla_lattice_overlap_clear(&overlap);
  pla_lattice_embedding_free(e);
  pla_mesh_free(mesh);
}

/* ---- closed surfaces ---- */

/* solids: shells that enclose a positive volume; also the volume of them all, mm^3 */
static int
n_solids(const PlaMesh *mesh, double *volume_mm3)
{
  int *parent = g_new(int, (size_t)mesh->n_verts), n = 0;
  double *volume = g_new0(double, (size_t)mesh->n_verts);
  for (int v = 0; v < mesh->n_verts; v++)
    parent[v] = v;
  for (int t = 0; t < mesh->n_tris; t++)
    for (int c = 1; c < 3; c++)
      parent[pla_union_find_root(parent, mesh->tri[3 * t + c])] =
          pla_union_find_root(parent, mesh->tri[3 * t]);
  *volume_mm3 = 0.0;
  for (int t = 0; t < mesh->n_tris; t++) {
    const int *v = mesh->tri + 3 * t;
    double c[3];
    pla_vec3_cross(mesh->pos + 3 * v[1], mesh->pos + 3 * v[2], c);
    volume[pla_union_find_root(parent, v[0])] += 1e9 * pla_vec3_dot(mesh->pos + 3 * v[0], c) / 6.0;
  }
  for (int v = 0; v < mesh->n_verts; v++) {
    n += volume[v] > 0.0;
    *volume_mm3 += volume[v];
  }
  g_free(parent);
  g_free(volume);
  return n;
}

static void
check_surface(const PlaMesh *mesh, double cell_mm, int duplicated)
{
  const PlaTriMesh tris = pla_mesh_tris(mesh);
  PlaLatticeEmbedding *e;
  PlaEmbedding verts;
  PlaError err = { 0 };
  double volume;
  PlaStatus st = pla_lattice_from_surface(&tris, cell_mm / 1000.0, NULL, &e, &verts, &err);
  if (st != PLA_OK)
    g_error("%s", err.message);
  int *body = g_new(int, (size_t)e->n_verts);
  g_assert_cmpint(n_bodies_of(e, body), ==, n_solids(mesh, &volume));
  if (duplicated >= 0)
    g_assert_cmpint(pla_lattice_n_duplicated(e) > 0, ==, duplicated);
  g_assert_cmpfloat_with_epsilon(material_mm3(e), volume, 1e-9 * volume);
  /* vertices stand where they stood, and a triangle's are all of one body */
  double *pos = g_new(double, 3 * (size_t)mesh->n_verts);
  pla_embedding_apply(&verts, e->vert, e->pos, pos);
  for (int i = 0; i < 3 * mesh->n_verts; i++)
    g_assert_cmpfloat_with_epsilon(pos[i], mesh->pos[i], 1e-13);
  for (int t = 0; t < mesh->n_tris; t++) {
    const int *v = mesh->tri + 3 * t;
    for (int c = 1; c < 3; c++)
      g_assert_cmpint(body[e->vert[4 * verts.elem[v[c]]]], ==, body[e->vert[4 * verts.elem[v[0]]]]);
  }
  g_free(pos);
  g_free(body);
  pla_embedding_clear(&verts);
  pla_lattice_embedding_free(e);
}

static PlaMesh *
phantom_surface(const char *name)
{
  PlaPhantom phantom;
  PlaError err = { 0 };
  g_assert_cmpint(pla_phantom_make(name, 0.0, NULL, &phantom, &err), ==, PLA_OK);
  PlaMesh *mesh = phantom.mesh;
  phantom.mesh = NULL;
  pla_phantom_clear(&phantom);
  return mesh;
}

static void
test_surface_solids(void)
{
  static const struct {
    const char *name;
    double cell_mm;
    int duplicated;
  } cases[] = { { "sphere-surface", 12, 0 },
                { "box-surface", 10, 0 },
                { "torus-surface", 10, -1 },
                { "torus-surface", 80, -1 },
                { "parallel-cylinders-surface", 9, 1 } };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    PlaMesh *mesh = phantom_surface(cases[i].name);
    check_surface(mesh, cases[i].cell_mm, cases[i].duplicated);
    pla_mesh_free(mesh);
  }
}

/* shells within shells: a cavity, a kernel in it, and all of that in a single tet */
static void
test_surface_shells(void)
{
  PlaMesh *ball = phantom_surface("sphere-surface"), *mesh;
  PlaError err = { 0 };
  const double size[3] = { 1.0, 0.6, 0.3 };
  const int n = ball->n_verts, m = ball->n_tris;
  g_assert_cmpint(pla_mesh_new(3 * n, 3 * m, 0, 0, &mesh, &err), ==, PLA_OK);
  for (int s = 0; s < 3; s++) {
    for (int i = 0; i < 3 * n; i++)
      mesh->pos[3 * n * s + i] = size[s] * ball->pos[i];
    for (int t = 0; t < m; t++)
      for (int c = 0; c < 3; c++)
        mesh->tri[3 * (m * s + t) + c] = n * s + ball->tri[3 * t + (s == 1 ? 2 - c : c)];
  }
  check_surface(mesh, 15.0, 1);
  check_surface(mesh, 60.0, 1);
  check_surface(mesh, 700.0, 1); /* most of it in one tet */
  pla_mesh_free(mesh);
  pla_mesh_free(ball);
}

static void
test_surface_noise(void)
{
  for (guint32 seed = 1; seed <= n_seeds(3); seed++) {
    const Noise noise = noise_new(seed);
    PlaLevelSet *ls = levelset_new(16, 0.8, noise_at, &noise);
    PlaMesh *mesh;
    PlaError err = { 0 };
    g_assert_cmpint(pla_surface_from_levelset(ls, &mesh, &err), ==, PLA_OK);
    check_surface(mesh, 3.0, 1);
    check_surface(mesh, 7.0, 1);
    pla_mesh_free(mesh);
    pla_levelset_free(ls);
  }
}

static void
test_surface_refusals(void)
{
  PlaLatticeEmbedding *e;
  PlaEmbedding verts;
  PlaError err = { 0 };
  PlaMesh *mesh = phantom_surface("crossing-boxes");
  PlaTriMesh tris = pla_mesh_tris(mesh);
  g_assert_cmpint(pla_lattice_from_surface(&tris, 0.01, NULL, &e, &verts, &err), ==,
                  PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "through itself"));
  pla_mesh_free(mesh);
  mesh = phantom_surface("sphere-surface");
  tris = pla_mesh_tris(mesh);
  tris.n_tris--;
  g_assert_cmpint(pla_lattice_from_surface(&tris, 0.01, NULL, &e, &verts, &err), ==,
                  PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "open"));
  for (int t = 0; t < mesh->n_tris; t++) {
    const int swap = mesh->tri[3 * t];
    mesh->tri[3 * t] = mesh->tri[3 * t + 1];
    mesh->tri[3 * t + 1] = swap;
  }
  tris = pla_mesh_tris(mesh);
  g_assert_cmpint(pla_lattice_from_surface(&tris, 0.01, NULL, &e, &verts, &err), ==,
                  PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "inside out"));
  pla_mesh_free(mesh);
}

static void
test_threads(void)
{
  const Noise noise = noise_new(4);
  PlaLevelSet *ls = levelset_new(14, 0.8, noise_at, &noise);
  const int threads = pla_threads_get();
  PlaLatticeEmbedding *e[2];
  PlaEmbedding verts[2];
  PlaMesh *mesh;
  PlaError err = { 0 };
  g_assert_cmpint(pla_surface_from_levelset(ls, &mesh, &err), ==, PLA_OK);
  const PlaTriMesh tris = pla_mesh_tris(mesh);
  for (int i = 0; i < 2; i++) {
    pla_threads_set(i == 0 ? 1 : 4);
    g_assert_cmpint(pla_lattice_from_surface(&tris, 0.003, NULL, &e[i], &verts[i], &err), ==,
                    PLA_OK);
  }
  pla_threads_set(threads);
  g_assert_cmpint(e[0]->n_elems, ==, e[1]->n_elems);
  g_assert_cmpint(e[0]->n_verts, ==, e[1]->n_verts);
  g_assert_cmpmem(e[0]->vert, 16 * (size_t)e[0]->n_elems, e[1]->vert, 16 * (size_t)e[1]->n_elems);
  g_assert_cmpmem(e[0]->fill, 8 * (size_t)e[0]->n_elems, e[1]->fill, 8 * (size_t)e[1]->n_elems);
  g_assert_cmpmem(verts[0].elem, 4 * (size_t)mesh->n_verts, verts[1].elem,
                  4 * (size_t)mesh->n_verts);
  for (int i = 0; i < 2; i++) {
    pla_lattice_embedding_free(e[i]);
    pla_embedding_clear(&verts[i]);
  }
  pla_mesh_free(mesh);
  pla_levelset_free(ls);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/lattice-sources/hulls", test_hulls);
  g_test_add_func("/lattice-sources/tets-box", test_tets_box);
  g_test_add_func("/lattice-sources/tets-slot", test_tets_slot);
  g_test_add_func("/lattice-sources/tets-random", test_tets_random);
  g_test_add_func("/lattice-sources/carry", test_carry);
  g_test_add_func("/lattice-sources/surface-solids", test_surface_solids);
  g_test_add_func("/lattice-sources/surface-shells", test_surface_shells);
  g_test_add_func("/lattice-sources/surface-noise", test_surface_noise);
  g_test_add_func("/lattice-sources/surface-refusals", test_surface_refusals);
  g_test_add_func("/lattice-sources/threads", test_threads);
  return g_test_run();
}
