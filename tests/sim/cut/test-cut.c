/* Cutting: pieces, volumes, connections and closed surfaces. */
#include "anatomy/base/parallel.h"
#include "anatomy/box-mesh.h"
#include "sim/cut/cut-mesh-private.h"
#include "sim/cut/cut-mesh.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- blades ---- */

typedef struct {
  GArray *pos; /* double */
  GArray *tri; /* int */
} Blade;

static Blade
blade_new(void)
{
  return (Blade){ g_array_new(FALSE, FALSE, sizeof(double)), g_array_new(FALSE, FALSE, sizeof(int)) };
}

static void
blade_clear(Blade *self)
{
  g_array_unref(self->pos);
  g_array_unref(self->tri);
}

static PlaTriMesh
blade_get(const Blade *self)
{
  return (PlaTriMesh){ .n_verts = (int)self->pos->len / 3,
                       .n_tris = (int)self->tri->len / 3,
                       .pos = (const double *)(void *)self->pos->data,
                       .tri = (const int *)(void *)self->tri->data };
}

static void
blade_add_tri(Blade *self, const double a[3], const double b[3], const double c[3])
{
  int first = (int)self->pos->len / 3;
  int tri[3] = { first, first + 1, first + 2 };
  g_array_append_vals(self->pos, a, 3);
  g_array_append_vals(self->pos, b, 3);
  g_array_append_vals(self->pos, c, 3);
  g_array_append_vals(self->tri, tri, 3);
}

/* the rectangle a, a + u, a + u + v, a + v as two triangles that share two vertices */
static void
blade_add_quad(Blade *self, const double a[3], const double u[3], const double v[3])
{
  double p[4][3];
  int first = (int)self->pos->len / 3;
  int tri[6] = { first, first + 1, first + 2, first, first + 2, first + 3 };
  for (int d = 0; d < 3; d++) {
    p[0][d] = a[d];
    p[1][d] = a[d] + u[d];
    p[2][d] = a[d] + u[d] + v[d];
    p[3][d] = a[d] + v[d];
  }
  g_array_append_vals(self->pos, p, 12);
  g_array_append_vals(self->tri, tri, 6);
}

/* ---- what every cut must keep ---- */

static PlaCutMesh *
cut_mesh(const PlaMesh *mesh)
{
  PlaCutMesh *out = NULL;
  PlaError err = { 0 };
  PlaTetMesh tets = pla_mesh_tets(mesh);
  if (pla_cut_mesh_new(&tets, &out, &err) != PLA_OK)
    g_error("%s", err.message);
  return out;
}

static PlaCutReport
cut(PlaCutMesh *mesh, const Blade *blade)
{
  PlaCutReport report;
  PlaError err = { 0 };
  PlaTriMesh tris = blade_get(blade);
  if (pla_cut_mesh_cut(mesh, NULL, &tris, NULL, &report, NULL, &err) != PLA_OK)
    g_error("%s", err.message);
  return report;
}

static double
total_volume(const PlaCutMesh *mesh)
{
  g_autofree double *volume = g_new(double, (gsize)mesh->n_tets);
  double sum = 0.0;
  pla_cut_mesh_volumes(mesh, volume);
  for (int t = 0; t < mesh->n_tets; t++)
    sum += volume[t];
  return sum;
}

static int
compare_edges(const void *a, const void *b)
{
  return memcmp(a, b, 3 * sizeof(int));
}

/* every edge of the surface has as many triangles in one direction as in the other */
static void
assert_closed(const PlaCutSurface *s)
{
  g_autofree int *edge = g_new(int, 9 * (gsize)s->n_tris);
  for (int t = 0; t < s->n_tris; t++)
    for (int k = 0; k < 3; k++) {
      int u = s->tri[3 * t + k], v = s->tri[3 * t + (k + 1) % 3];
      int *e = &edge[9 * t + 3 * k];
      g_assert_cmpint(u, !=, v);
      e[0] = MIN(u, v);
      e[1] = MAX(u, v);
      e[2] = u < v;
    }
  qsort(edge, 3 * (size_t)s->n_tris, 3 * sizeof *edge, compare_edges);
  for (int i = 0, j; i < 3 * s->n_tris; i = j) {
    int balance = 0;
    for (j = i; j < 3 * s->n_tris && memcmp(&edge[3 * i], &edge[3 * j], 2 * sizeof *edge) == 0; j++)
      balance += edge[3 * j + 2] ? 1 : -1;
    g_assert_cmpint(balance, ==, 0);
  }
}

/* the surface is closed and bounds the volume */
static void
assert_surface(PlaCutMesh *mesh, double volume)
{
  PlaCutSurface s;
  PlaError err = { 0 };
  if (pla_cut_mesh_surface(mesh, &s, &err) != PLA_OK)
    g_error("%s", err.message);
  g_autofree double *pos = g_new(double, 3 * (gsize)s.n_verts);
  pla_cut_surface_place(&s, mesh, mesh->rest, pos);
  double sum = 0.0;
  for (int t = 0; t < s.n_tris; t++) {
    const double *a = &pos[3 * s.tri[3 * t]], *b = &pos[3 * s.tri[3 * t + 1]],
                 *c = &pos[3 * s.tri[3 * t + 2]];
    sum += (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
            a[2] * (b[0] * c[1] - b[1] * c[0])) /
           6.0;
  }
  assert_closed(&s);
  g_assert_cmpfloat_with_epsilon(sum, volume, 1e-9 * volume);
  pla_cut_surface_clear(&s);
}

/* each piece inside a tet is closed: every edge of its patches is used once in each direction */
static void
assert_pieces_closed(const PlaCutMesh *mesh)
{
  for (int t = 0; t < mesh->n_tets; t++) {
    const PlaCutComplex *c = mesh->complex[t];
    if (!c)
      continue;
    for (int cell = 0; cell < c->n_cells; cell++) {
      g_autoptr(GHashTable) balance = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
      for (int i = 0; i < c->cell[cell].n_patches; i++) {
        const PlaCutPatch *p = &c->patch[c->cell[cell].patch[i]];
        int out = p->cell[0] == cell ? 1 : -1;
        for (int k = 0; k < p->n_corners; k++) {
          gint64 u = p->corner[k].vert, v = p->corner[(k + 1) % p->n_corners].vert;
          gint64 key = MIN(u, v) << 32 | MAX(u, v);
          int count = GPOINTER_TO_INT(g_hash_table_lookup(balance, &key)) + (u < v ? out : -out);
          g_hash_table_insert(balance, g_memdup2(&key, sizeof key), GINT_TO_POINTER(count));
        }
      }
      GHashTableIter iter;
      gpointer value;
      g_hash_table_iter_init(&iter, balance);
      while (g_hash_table_iter_next(&iter, NULL, &value))
        g_assert_cmpint(GPOINTER_TO_INT(value), ==, 0);
    }
  }
}

static PlaMesh *
box(int nx, int ny, int nz, PlaBoxCells cells)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { nx, ny, nz };
  const int n[3] = { nx, ny, nz };
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  if (pla_box_mesh_new(lo, hi, n, cells, &mesh, &err) != PLA_OK)
    g_error("%s", err.message);
  return mesh;
}

/* ---- tests ---- */

static void
test_one_plane(void)
{
  PlaMesh *mesh = box(4, 4, 4, PLA_BOX_TETS_6);
  PlaCutMesh *c = cut_mesh(mesh);
  Blade blade = blade_new();
  blade_add_quad(&blade, (double[]){ 1.3, -1, -1 }, (double[]){ 0.2, 6, 0 }, (double[]){ 0, 0.1, 6 });
  PlaCutReport report = cut(c, &blade);
  g_assert_cmpint(report.n_touched, >, 0);
  g_assert_cmpint(pla_cut_mesh_bodies(c, NULL), ==, 2);
  g_assert_cmpfloat_with_epsilon(total_volume(c), 64.0, 1e-9);
  assert_pieces_closed(c);
  assert_surface(c, 64.0);
  blade_clear(&blade);
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

/* planes in the faces of the mesh part it without repeating a tet */
static void
test_along_faces(void)
{
  PlaMesh *mesh = box(4, 4, 4, PLA_BOX_TETS_6);
  PlaCutMesh *c = cut_mesh(mesh);
  Blade blade = blade_new();
  blade_add_quad(&blade, (double[]){ 2, -1, -1 }, (double[]){ 0, 6, 0 }, (double[]){ 0, 0, 6 });
  PlaCutReport report = cut(c, &blade);
  g_assert_cmpint(report.n_new_tets, ==, 0);
  g_assert_cmpint(report.n_new_verts, ==, 25);
  g_assert_cmpint(pla_cut_mesh_bodies(c, NULL), ==, 2);
  assert_surface(c, 64.0);
  /* the same blade again finds nothing left to do */
  report = cut(c, &blade);
  g_assert_cmpint(report.n_new_tets + report.n_new_verts, ==, 0);
  g_assert_cmpint(pla_cut_mesh_bodies(c, NULL), ==, 2);
  blade_clear(&blade);
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

/* 16 + 16 planes make 17 x 17 sticks */
static void
test_sticks(void)
{
  PlaMesh *mesh = box(4, 4, 4, PLA_BOX_TETS_5);
  g_assert_cmpint(mesh->n_tets, ==, 320);
  PlaCutMesh *c = cut_mesh(mesh);
  Blade blade = blade_new();
  for (int i = 1; i <= 16; i++) {
    double at = 4.0 * i / 17.0;
    blade_add_quad(&blade, (double[]){ at, -1, -1 }, (double[]){ 0, 6, 0 }, (double[]){ 0, 0, 6 });
    blade_add_quad(&blade, (double[]){ -1, at, -1 }, (double[]){ 6, 0, 0 }, (double[]){ 0, 0, 6 });
  }
  cut(c, &blade);
  g_autofree int *body = g_new(int, (gsize)c->n_tets);
  g_autofree double *volume = g_new(double, (gsize)c->n_tets);
  g_assert_cmpint(pla_cut_mesh_bodies(c, body), ==, 289);
  double stick[289] = { 0 };
  pla_cut_mesh_volumes(c, volume);
  for (int t = 0; t < c->n_tets; t++)
    stick[body[t]] += volume[t];
  for (int i = 0; i < 289; i++)
    g_assert_cmpfloat_with_epsilon(stick[i], 64.0 / 289.0, 1e-9);
  assert_pieces_closed(c);
  assert_surface(c, 64.0);
  blade_clear(&blade);
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

static uint64_t
random_bits(uint64_t *state)
{
  /* xorshift64* (Vigna 2016) */
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 0x2545f4914f6cdd1du;
}

/* in [lo, hi); on a coarse grid when @steps > 0, so that blades pass through vertices and edges */
static double
random_in(uint64_t *state, double lo, double hi, int steps)
{
  uint64_t r = random_bits(state);
  return steps ? lo + (hi - lo) * (double)(r % (uint64_t)(steps + 1)) / steps
               : lo + (hi - lo) * (double)(r >> 11) * 0x1p-53;
}

static void
add_random_tri(Blade *blade, uint64_t *state, double lo, double hi, int steps)
{
  double p[3][3];
  for (int i = 0; i < 9; i++)
    p[i / 3][i % 3] = random_in(state, lo, hi, steps);
  blade_add_tri(blade, p[0], p[1], p[2]);
}

/* sorted volumes of the bodies */
static GArray *
body_volumes(const PlaCutMesh *c)
{
  g_autofree int *body = g_new(int, (gsize)c->n_tets);
  g_autofree double *volume = g_new(double, (gsize)c->n_tets);
  int n = pla_cut_mesh_bodies(c, body);
  g_assert_cmpint(n, >, 0);
  GArray *out = g_array_sized_new(FALSE, TRUE, sizeof(double), (guint)n);
  g_array_set_size(out, (guint)n);
  pla_cut_mesh_volumes(c, volume);
  for (int t = 0; t < c->n_tets; t++)
    g_array_index(out, double, body[t]) += volume[t];
  return out;
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void
assert_same_volumes(GArray *a, GArray *b, double tolerance)
{
  g_array_sort(a, compare_doubles);
  g_array_sort(b, compare_doubles);
  g_assert_cmpuint(a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    g_assert_cmpfloat_with_epsilon(g_array_index(a, double, i), g_array_index(b, double, i),
                                   tolerance);
}

static PlaMesh *
one_tet(void)
{
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_mesh_new(4, 0, 1, 0, &mesh, &err), ==, PLA_OK);
  for (int i = 0; i < 4; i++)
    mesh->tet[i] = i;
  for (int i = 0; i < 3; i++)
    mesh->pos[3 * (i + 1) + i] = 1.0;
  return mesh;
}

/* triangles in one tet, partial ones too: closed pieces that fill it */
static void
test_one_tet(void)
{
  uint64_t state = 7;
  for (int trial = 0; trial < 4; trial++) {
    PlaMesh *mesh = one_tet();
    PlaCutMesh *c = cut_mesh(mesh);
    Blade blade = blade_new();
    for (int i = 0; i < 50; i++)
      add_random_tri(&blade, &state, trial % 2 ? -0.5 : 0.0, trial % 2 ? 1.5 : 1.0, 0);
    cut(c, &blade);
    g_assert_cmpfloat_with_epsilon(total_volume(c), 1.0 / 6.0, 1e-9);
    assert_pieces_closed(c);
    assert_surface(c, 1.0 / 6.0);
    g_test_message("%d pieces of 50 triangles", c->n_tets);
    blade_clear(&blade);
    pla_cut_mesh_free(c);
    pla_mesh_free(mesh);
  }
}

/* planes across each axis of one tet: as many boxes as lie wholly or partly in it */
static void
test_dense_planes(void)
{
  PlaMesh *mesh = one_tet();
  PlaCutMesh *c = cut_mesh(mesh);
  Blade blade = blade_new();
  const int n[3] = { 32, 16, 16 };
  int expected = 0;
  for (int axis = 0; axis < 3; axis++)
    for (int i = 1; i < n[axis]; i++) {
      double a[3] = { -1, -1, -1 }, u[3] = { 0 }, v[3] = { 0 };
      a[axis] = (double)i / n[axis];
      u[(axis + 1) % 3] = v[(axis + 2) % 3] = 3;
      blade_add_quad(&blade, a, u, v);
    }
  for (int i = 0; i < n[0]; i++)
    for (int j = 0; j < n[1]; j++)
      for (int k = 0; k < n[2]; k++)
        expected += i + 2 * j + 2 * k < n[0];
  cut(c, &blade);
  g_assert_cmpint(c->n_tets, ==, expected);
  g_assert_cmpint(c->n_tets, >, 1000);
  g_assert_cmpfloat_with_epsilon(total_volume(c), 1.0 / 6.0, 1e-9);
  blade_clear(&blade);
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

/* half a cut opens nothing; the other half completes it */
static void
test_partial(void)
{
  PlaMesh *mesh = one_tet();
  PlaCutMesh *c = cut_mesh(mesh);
  Blade first = blade_new(), second = blade_new();
  blade_add_quad(&first, (double[]){ 0.2, -1, -1 }, (double[]){ 0, 1.3, 0 }, (double[]){ 0, 0, 3 });
  blade_add_quad(&second, (double[]){ 0.2, 0.3, -1 }, (double[]){ 0, 1.3, 0 }, (double[]){ 0, 0, 3 });
  PlaCutReport report = cut(c, &first);
  g_assert_cmpint(report.n_touched, ==, 1);
  g_assert_cmpint(c->n_tets, ==, 1);
  assert_surface(c, 1.0 / 6.0);
  cut(c, &second);
  g_assert_cmpint(c->n_tets, ==, 2);
  g_autoptr(GArray) volumes = body_volumes(c);
  g_array_sort(volumes, compare_doubles);
  g_assert_cmpfloat_with_epsilon(g_array_index(volumes, double, 1), 0.8 * 0.8 * 0.8 / 6.0, 1e-9);
  assert_surface(c, 1.0 / 6.0);
  blade_clear(&first);
  blade_clear(&second);
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

/* one triangle after the other, forwards and backwards, as all at once */
static void
test_any_order(void)
{
  uint64_t state = 11;
  for (int trial = 0; trial < 12; trial++) {
    PlaMesh *mesh = box(2, 2, 2, trial % 2 ? PLA_BOX_TETS_5 : PLA_BOX_TETS_6);
    Blade all = blade_new();
    const int n = 10, steps = trial % 3 == 0 ? 4 : 0;
    for (int i = 0; i < n; i++)
      add_random_tri(&all, &state, -1.0, 3.0, steps);
    PlaCutMesh *batch = cut_mesh(mesh), *forward = cut_mesh(mesh), *backward = cut_mesh(mesh);
    cut(batch, &all);
    for (int i = 0; i < n; i++) {
      PlaTriMesh tris = blade_get(&all);
      PlaCutReport report;
      PlaError err = { 0 };
      tris.n_tris = 1;
      tris.tri = &blade_get(&all).tri[3 * i];
      g_assert_cmpint(pla_cut_mesh_cut(forward, NULL, &tris, NULL, &report, NULL, &err), ==, PLA_OK);
      tris.tri = &blade_get(&all).tri[3 * (n - 1 - i)];
      g_assert_cmpint(pla_cut_mesh_cut(backward, NULL, &tris, NULL, &report, NULL, &err), ==, PLA_OK);
    }
    g_autoptr(GArray) a = body_volumes(batch);
    g_autoptr(GArray) b = body_volumes(forward);
    g_autoptr(GArray) d = body_volumes(backward);
    assert_same_volumes(a, b, 1e-9);
    assert_same_volumes(a, d, 1e-9);
    g_assert_cmpint(batch->n_verts, ==, forward->n_verts);
    g_assert_cmpint(batch->n_verts, ==, backward->n_verts);
    assert_surface(forward, 8.0);
    pla_cut_mesh_free(batch);
    pla_cut_mesh_free(forward);
    pla_cut_mesh_free(backward);
    blade_clear(&all);
    pla_mesh_free(mesh);
  }
}

/* random blades, degenerate ones on purpose, into random meshes */
static void
test_random(void)
{
  const int n = g_getenv("PLA_LONG") ? 10000 : g_getenv("PLA_SMALL") ? 250 : 1000;
  uint64_t state = 20260401;
  for (int trial = 0; trial < n; trial++) {
    PlaMesh *mesh = box(1 + (int)(random_bits(&state) % 3), 1 + (int)(random_bits(&state) % 2), 1,
                        random_bits(&state) % 2 ? PLA_BOX_TETS_5 : PLA_BOX_TETS_6);
    /* bent a little, or left on the grid that blades hit exactly */
    if (random_bits(&state) % 2)
      for (int i = 0; i < 3 * mesh->n_verts; i++)
        mesh->pos[i] += random_in(&state, -0.1, 0.1, 0);
    PlaCutMesh *c = cut_mesh(mesh);
    double whole = total_volume(c);
    int n_blades = 1 + (int)(random_bits(&state) % 3);
    for (int b = 0; b < n_blades; b++) {
      Blade blade = blade_new();
      int n_tris = 1 + (int)(random_bits(&state) % 6), steps = random_bits(&state) % 2 ? 6 : 0;
      for (int i = 0; i < n_tris; i++) {
        if (random_bits(&state) % 3)
          add_random_tri(&blade, &state, -1.0, 2.0, steps);
        else
          blade_add_quad(&blade,
                         (double[]){ random_in(&state, -1, 1, steps), random_in(&state, -1, 1, steps),
                                     random_in(&state, -1, 1, steps) },
                         (double[]){ random_in(&state, 0, 3, steps), random_in(&state, 0, 3, steps),
                                     random_in(&state, 0, 3, steps) },
                         (double[]){ random_in(&state, -3, 0, steps), random_in(&state, 0, 3, steps),
                                     random_in(&state, 0, 3, steps) });
      }
      cut(c, &blade);
      blade_clear(&blade);
    }
    g_assert_cmpfloat_with_epsilon(total_volume(c), whole, 1e-9 * whole);
    assert_pieces_closed(c);
    assert_surface(c, whole);
    pla_cut_mesh_free(c);
    pla_mesh_free(mesh);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/sim/cut/one-plane", test_one_plane);
  g_test_add_func("/sim/cut/along-faces", test_along_faces);
  g_test_add_func("/sim/cut/sticks", test_sticks);
  g_test_add_func("/sim/cut/one-tet", test_one_tet);
  g_test_add_func("/sim/cut/dense-planes", test_dense_planes);
  g_test_add_func("/sim/cut/partial", test_partial);
  g_test_add_func("/sim/cut/any-order", test_any_order);
  g_test_add_func("/sim/cut/random", test_random);
  return g_test_run();
}
