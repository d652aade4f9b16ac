/* Cutting: pieces, volumes, connections and closed surfaces. */
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "sim/cut/cut-mesh-private.h"

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
  return (Blade){ g_array_new(FALSE, FALSE, sizeof(double)),
                  g_array_new(FALSE, FALSE, sizeof(int)) };
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
  if (pla_cut_mesh_cut(mesh, &tris, NULL, &report, NULL, &err) != PLA_OK)
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
    const PlaCutComplex *c = mesh->refined[t];
    if (!c)
      continue;
    for (int cell = 0; cell < c->n_cells; cell++) {
      g_autoptr(GHashTable) balance =
          g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
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
  blade_add_quad(&blade, (double[]){ 1.3, -1, -1 }, (double[]){ 0.2, 6, 0 },
                 (double[]){ 0, 0.1, 6 });
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

/* the same where vertices and blade differ by a rounding error, as coordinates in metres do: both
 * sides of the wound are there */
static void
test_nearly_along_faces(void)
{
  const double lo[3] = { -0.04, -0.03, -0.012 }, hi[3] = { 0.04, 0.03, 0.0 };
  const int n[3] = { 26, 20, 4 };
  for (int k = -3; k <= 3; k++) {
    PlaMesh *mesh = NULL;
    PlaError err = { 0 };
    g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &mesh, &err), ==, PLA_OK);
    PlaCutMesh *c = cut_mesh(mesh);
    Blade blade = blade_new();
    blade_add_quad(&blade, (double[]){ -0.0051, 0.003 * k, -0.006 }, (double[]){ 0.01, 0, 0 },
                   (double[]){ 0, 0, 0.02 });
    cut(c, &blade);
    assert_surface(c, 57.6e-6);
    blade_clear(&blade);
    pla_cut_mesh_free(c);
    pla_mesh_free(mesh);
  }
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

static void
add_random_quad(Blade *blade, uint64_t *state, int steps)
{
  const double lo[3][3] = { { -1, -1, -1 }, { 0, 0, 0 }, { -3, 0, 0 } };
  const double hi[3][3] = { { 1, 1, 1 }, { 3, 3, 3 }, { 0, 3, 3 } };
  double p[3][3];
  for (int i = 0; i < 9; i++)
    p[i / 3][i % 3] = random_in(state, lo[i / 3][i % 3], hi[i / 3][i % 3], steps);
  blade_add_quad(blade, p[0], p[1], p[2]);
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
  blade_add_quad(&second, (double[]){ 0.2, 0.3, -1 }, (double[]){ 0, 1.3, 0 },
                 (double[]){ 0, 0, 3 });
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
      g_assert_cmpint(pla_cut_mesh_cut(forward, &tris, NULL, &report, NULL, &err), ==, PLA_OK);
      tris.tri = &blade_get(&all).tri[3 * (n - 1 - i)];
      g_assert_cmpint(pla_cut_mesh_cut(backward, &tris, NULL, &report, NULL, &err), ==, PLA_OK);
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
    int nx = 1 + (int)(random_bits(&state) % 3), ny = 1 + (int)(random_bits(&state) % 2);
    PlaMesh *mesh = box(nx, ny, 1, random_bits(&state) % 2 ? PLA_BOX_TETS_5 : PLA_BOX_TETS_6);
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
          add_random_quad(&blade, &state, steps);
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

/* copies have the shape of the tet they come from, so quality cannot change */
static void
test_shapes(void)
{
  uint64_t state = 5;
  PlaMesh *mesh = box(3, 3, 3, PLA_BOX_TETS_6);
  PlaCutMesh *c = cut_mesh(mesh);
  Blade blade = blade_new();
  for (int i = 0; i < 12; i++)
    add_random_tri(&blade, &state, -2.0, 5.0, 0);
  cut(c, &blade);
  PlaCutMeshView view = pla_cut_mesh_get(c);
  g_assert_cmpint(view.mesh.n_tets, >, mesh->n_tets);
  for (int t = 0; t < view.mesh.n_tets; t++)
    for (int k = 0; k < 4; k++) {
      int v = view.mesh.tet[4 * t + k], from = mesh->tet[4 * view.tet_source[t] + k];
      g_assert_cmpint(view.vert_source[v], ==, from);
      for (int d = 0; d < 3; d++)
        g_assert_true(view.mesh.rest[3 * v + d] == mesh->pos[3 * from + d]);
    }
  blade_clear(&blade);
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

/* a plane through the bent body: the wound lies on it there, and where it was at rest */
static void
test_deformed(void)
{
  PlaMesh *mesh = box(4, 3, 3, PLA_BOX_TETS_5);
  PlaCutMesh *c = cut_mesh(mesh);
  g_autofree double *pos = g_new(double, 3 * (gsize)mesh->n_verts);
  for (int v = 0; v < mesh->n_verts; v++) {
    const double *x = &mesh->pos[3 * v];
    pos[3 * v] = 1.4 * x[0] + 0.3 * x[1] + 0.05 * x[2] * x[2];
    pos[3 * v + 1] = 0.9 * x[1] - 0.2 * x[0] + 0.08 * x[0] * x[2];
    pos[3 * v + 2] = 1.1 * x[2] + 0.1 * x[0] * x[1];
  }
  Blade blade = blade_new();
  const double a[3] = { 2.5, -6, -6 }, u[3] = { 1, 14, 0 }, w[3] = { -0.5, 0, 14 };
  const double normal[3] = { u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2],
                             u[0] * w[1] - u[1] * w[0] };
  const double length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
  blade_add_quad(&blade, a, u, w);
  PlaTriMesh tris = blade_get(&blade);
  PlaCutReport report;
  PlaError err = { 0 };
  g_autofree int *from = NULL;
  const int n_before = c->n_verts;
  g_assert_cmpint(pla_cut_mesh_set_shape(c, pos, &err), ==, PLA_OK);
  g_assert_cmpint(pla_cut_mesh_cut(c, &tris, NULL, &report, &from, &err), ==, PLA_OK);
  g_assert_cmpint(pla_cut_mesh_bodies(c, NULL), ==, 2);
  pos = g_renew(double, pos, 3 * (gsize)c->n_verts);
  for (int i = 0; i < report.n_new_verts; i++)
    memcpy(&pos[3 * (n_before + i)], &pos[3 * from[i]], 3 * sizeof *pos);
  PlaCutSurface s;
  g_assert_cmpint(pla_cut_mesh_surface(c, &s, &err), ==, PLA_OK);
  assert_closed(&s);
  g_autofree double *placed = g_new(double, 3 * (gsize)s.n_verts);
  pla_cut_surface_place(&s, c, pos, placed);
  int n_wound = 0;
  for (int t = 0; t < s.n_tris; t++)
    for (int k = 0; s.cut[t] >= 0 && k < 3; k++) {
      const double *x = &placed[3 * s.tri[3 * t + k]];
      double off = 0.0;
      for (int d = 0; d < 3; d++)
        off += normal[d] * (x[d] - a[d]);
      g_assert_cmpfloat(fabs(off), <, 1e-8 * length);
      n_wound++;
    }
  g_assert_cmpint(n_wound, >, 100);
  /* back at rest: on edges the wound lies where the plane met the bent edge, as a line does */
  g_autofree double *at_rest = g_new(double, 3 * (gsize)s.n_verts);
  pla_cut_surface_place(&s, c, c->rest, at_rest);
  int n_edges = 0;
  for (int t = 0; t < s.n_tris; t++)
    for (int k = 0; s.cut[t] >= 0 && k < 3; k++) {
      const int v = s.tri[3 * t + k], *tet = &c->tet[4 * s.tet[v]];
      int end[2], n_ends = 0;
      for (int i = 0; i < 4; i++)
        if (fabs(s.weight[4 * v + i]) > 1e-12 && n_ends++ < 2)
          end[n_ends - 1] = tet[i];
      if (n_ends != 2)
        continue;
      double off[2] = { 0.0, 0.0 };
      for (int i = 0; i < 2; i++)
        for (int d = 0; d < 3; d++)
          off[i] += normal[d] * (pos[3 * end[i] + d] - a[d]);
      const double along = off[0] / (off[0] - off[1]);
      for (int d = 0; d < 3; d++) {
        const double p = c->rest[3 * end[0] + d], q = c->rest[3 * end[1] + d];
        g_assert_cmpfloat_with_epsilon(at_rest[3 * v + d], p + along * (q - p), 1e-6);
      }
      n_edges++;
    }
  g_assert_cmpint(n_edges, >, 50);
  /* the same material is parted: nothing was lost */
  g_assert_cmpfloat_with_epsilon(total_volume(c), 36.0, 36e-9);
  assert_surface(c, 36.0);
  pla_cut_surface_clear(&s);
  blade_clear(&blade);
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

static double
blade_volume(const Blade *blade)
{
  PlaTriMesh m = blade_get(blade);
  double sum = 0.0;
  for (int t = 0; t < m.n_tris; t++) {
    const double *a = &m.pos[3 * m.tri[3 * t]], *b = &m.pos[3 * m.tri[3 * t + 1]],
                 *c = &m.pos[3 * m.tri[3 * t + 2]];
    sum += (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
            a[2] * (b[0] * c[1] - b[1] * c[0])) /
           6.0;
  }
  return sum;
}

/* a ball of triangles pushed into a lattice is itself what it cuts out */
static void
test_organ(void)
{
  enum { N = 24, M = 12 };
  PlaMesh *mesh = box(6, 6, 6, PLA_BOX_TETS_5);
  PlaCutMesh *c = cut_mesh(mesh);
  Blade ball = blade_new();
  double p[M + 1][N][3];
  for (int i = 0; i <= M; i++)
    for (int j = 0; j < N; j++) {
      double th = G_PI * i / M, ph = 2.0 * G_PI * j / N;
      p[i][j][0] = 3.0 + 2.1 * sin(th) * cos(ph);
      p[i][j][1] = 3.0 + 2.1 * sin(th) * sin(ph);
      p[i][j][2] = 3.0 + 2.1 * cos(th);
      if (i == 0 || i == M)
        memcpy(p[i][j], (double[]){ 3, 3, i ? 0.9 : 5.1 }, sizeof p[i][j]);
    }
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      int k = (j + 1) % N;
      if (i > 0)
        blade_add_tri(&ball, p[i][j], p[i + 1][j], p[i][k]);
      if (i < M - 1)
        blade_add_tri(&ball, p[i][k], p[i + 1][j], p[i + 1][k]);
    }
  double volume = blade_volume(&ball);
  cut(c, &ball);
  g_autoptr(GArray) volumes = body_volumes(c);
  g_assert_cmpuint(volumes->len, ==, 2);
  g_array_sort(volumes, compare_doubles);
  g_assert_cmpfloat_with_epsilon(g_array_index(volumes, double, 0), volume, 1e-6 * volume);
  assert_surface(c, 216.0);
  blade_clear(&ball);
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

/* lips a fiftieth of a cell apart, in one lattice: they do not stick to each other */
static void
test_lips(void)
{
  PlaMesh *mesh = box(6, 4, 4, PLA_BOX_TETS_5);
  PlaCutMesh *c = cut_mesh(mesh);
  Blade slit = blade_new(), back = blade_new();
  /* a wedge open at x = 0 whose edge is at x = 3.3 */
  const double edge[2][3] = { { 3.3, -1, 2.13 }, { 3.3, 5, 2.13 } };
  const double up[2][3] = { { -1, -1, 2.14 }, { -1, 5, 2.14 } };
  const double down[2][3] = { { -1, -1, 2.12 }, { -1, 5, 2.12 } };
  blade_add_tri(&slit, edge[0], edge[1], up[0]);
  blade_add_tri(&slit, up[0], edge[1], up[1]);
  blade_add_tri(&slit, edge[0], down[0], edge[1]);
  blade_add_tri(&slit, down[0], down[1], edge[1]);
  cut(c, &slit);
  /* the air in between and the lips, which hang together behind the corner of the mouth */
  g_autoptr(GArray) two = body_volumes(c);
  g_assert_cmpuint(two->len, ==, 2);
  /* without what is behind they are two */
  blade_add_quad(&back, (double[]){ 3.3, -1, -1 }, (double[]){ 0, 6, 0 }, (double[]){ 0, 0, 6 });
  cut(c, &back);
  g_autoptr(GArray) four = body_volumes(c);
  g_assert_cmpuint(four->len, ==, 4);
  assert_surface(c, 96.0);
  blade_clear(&slit);
  blade_clear(&back);
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

/* same bytes for any number of threads */
static void
test_threads(void)
{
  PlaMesh *mesh = box(12, 8, 8, PLA_BOX_TETS_6);
  Blade blade = blade_new();
  uint64_t state = 3;
  for (int i = 0; i < 20; i++)
    add_random_tri(&blade, &state, -4.0, 14.0, 0);
  PlaCutMesh *c[2];
  for (int i = 0; i < 2; i++) {
    pla_threads_set(i ? 4 : 1);
    c[i] = cut_mesh(mesh);
    cut(c[i], &blade);
  }
  pla_threads_set(2);
  g_assert_cmpint(c[0]->n_tets, >, mesh->n_tets);
  g_assert_cmpint(c[0]->n_tets, ==, c[1]->n_tets);
  g_assert_cmpint(c[0]->n_verts, ==, c[1]->n_verts);
  g_assert_cmpmem(c[0]->tet, 16 * (gsize)c[0]->n_tets, c[1]->tet, 16 * (gsize)c[1]->n_tets);
  PlaCutSurface s[2];
  PlaError err = { 0 };
  for (int i = 0; i < 2; i++)
    g_assert_cmpint(pla_cut_mesh_surface(c[i], &s[i], &err), ==, PLA_OK);
  g_assert_cmpmem(s[0].tri, 12 * (gsize)s[0].n_tris, s[1].tri, 12 * (gsize)s[1].n_tris);
  g_assert_cmpmem(s[0].weight, 32 * (gsize)s[0].n_verts, s[1].weight, 32 * (gsize)s[1].n_verts);
  for (int i = 0; i < 2; i++) {
    pla_cut_surface_clear(&s[i]);
    pla_cut_mesh_free(c[i]);
  }
  blade_clear(&blade);
  pla_mesh_free(mesh);
}

/* every tet near the blade, asked one by one, is what the tree finds */
static void
assert_tree_finds(const PlaCutMesh *c, const Blade *blade)
{
  PlaTriMesh tris = blade_get(blade);
  PlaBladeGrid grid;
  g_autofree int *tris_near = NULL;
  const double *pos = c->shape ? c->shape : c->rest;
  int *found = NULL, capacity = 0, n = 0;
  g_assert_true(pla_blade_grid_init(&grid, &tris));
  const int n_found = pla_cut_tree_find(&c->tree, c->tet, pos, &grid, &found);
  for (int t = 0; t < c->n_tets; t++) {
    PlaCutBox box;
    pla_cut_box_of(pos, &c->tet[4 * t], 4, &box);
    if (pla_blade_grid_find(&grid, &box, &tris_near, &capacity) == 0)
      continue;
    g_assert_cmpint(n, <, n_found);
    g_assert_cmpint(found[n++], ==, t);
  }
  g_assert_cmpint(n, ==, n_found);
  free(found);
  pla_blade_grid_clear(&grid);
}

/* the search follows cuts, pieces taken away and changes of shape, and leaves no scratch behind */
static void
test_search(void)
{
  PlaMesh *mesh = box(7, 6, 5, PLA_BOX_TETS_5);
  PlaCutMesh *c = cut_mesh(mesh);
  PlaError err = { 0 };
  g_autoptr(GRand) rand = g_rand_new_with_seed(20);
  for (int round = 0; round < 12; round++) {
    Blade blade = blade_new();
    double p[3][3];
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++)
        p[k][d] = g_rand_double_range(rand, -2.0, 8.0);
    blade_add_tri(&blade, p[0], p[1], p[2]);
    assert_tree_finds(c, &blade);
    cut(c, &blade);
    assert_tree_finds(c, &blade);
    if (round % 4 == 1) {
      g_autofree double *pos = g_new(double, 3 * (gsize)c->n_verts);
      for (int i = 0; i < 3 * c->n_verts; i++)
        pos[i] = c->rest[i] * (1.0 + 0.1 * round) + 0.3 * sin(c->rest[i / 3 * 3 + (i + 1) % 3]);
      g_assert_cmpint(pla_cut_mesh_set_shape(c, pos, &err), ==, PLA_OK);
    } else if (round % 4 == 3) {
      g_autofree bool *gone = g_new0(bool, (gsize)c->n_tets);
      g_autofree int *vert = g_new(int, (gsize)c->n_verts), *tet = g_new(int, (gsize)c->n_tets);
      for (int t = 0; t < c->n_tets; t++)
        gone[t] = g_rand_int_range(rand, 0, 7) == 0;
      g_assert_cmpint(pla_cut_mesh_remove(c, gone, vert, tet, &err), ==, PLA_OK);
    }
    assert_tree_finds(c, &blade);
    for (int t = 0; t < c->n_tets; t++)
      g_assert_true(c->slot[t] == 0 && c->met[t] == 0);
    for (int v = 0; v < c->n_verts; v++)
      g_assert_cmpint(c->kept[v], ==, 0);
    blade_clear(&blade);
  }
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

/* triangles that change a tet are never left out beforehand, most others are */
static void
test_hull(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(3);
  int met = 0, may = 0;
  for (int round = 0; round < 4000; round++) {
    int64_t x[7][3]; /* on few planes, so that they touch often */
    PlaCutTriangle triangle;
    PlaCutComplex *c = pla_cut_complex_new();
    PlaCutHull hull;
    bool changed = false;
    for (int k = 0; k < 21; k++)
      x[k / 3][k % 3] = g_rand_int_range(rand, 0, 6);
    pla_cut_hull_init(&hull, (const int64_t(*)[3])x);
    if (pla_cut_triangle_init(&triangle, (const int64_t(*)[3])(x + 4), (const int64_t(*)[3])x))
      g_assert_true(pla_cut_complex_insert(c, &triangle, 0, &changed));
    const bool found = pla_cut_hull_may_meet(&hull, (const int64_t(*)[3])(x + 4));
    g_assert_true(found || !changed);
    met += changed;
    may += found;
    pla_cut_complex_free(c);
  }
  g_assert_true(met > 500 && may < 2 * met);
}

/* what cannot be cut along says so and changes nothing */
static void
test_bad_blades(void)
{
  PlaMesh *mesh = box(2, 2, 2, PLA_BOX_TETS_6);
  PlaCutMesh *c = cut_mesh(mesh);
  PlaCutReport report;
  PlaError err = { 0 };
  double pos[9] = { 0.5, -9, -9, 0.5, 9, -9, 0.5, 0, 9 };
  int tri[3] = { 0, 1, 2 };
  PlaTriMesh blade = { 3, 1, pos, tri };
  /* misses */
  pos[0] = pos[3] = pos[6] = 5.0;
  g_assert_cmpint(pla_cut_mesh_cut(c, &blade, NULL, &report, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(report.n_touched, ==, 0);
  /* no area */
  memcpy(pos, (double[]){ 0, 0, 0, 1, 1, 1, 2, 2, 2 }, sizeof pos);
  g_assert_cmpint(pla_cut_mesh_cut(c, &blade, NULL, &report, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(report.n_touched, ==, 0);
  /* no number, no vertex, no sense of scale */
  pos[4] = NAN;
  g_assert_cmpint(pla_cut_mesh_cut(c, &blade, NULL, &report, NULL, &err), ==, PLA_ERR_GEOMETRY);
  pos[4] = 1e9;
  g_assert_cmpint(pla_cut_mesh_cut(c, &blade, NULL, &report, NULL, &err), ==, PLA_ERR_GEOMETRY);
  tri[1] = 3;
  g_assert_cmpint(pla_cut_mesh_cut(c, &blade, NULL, &report, NULL, &err), ==, PLA_ERR_GEOMETRY);
  g_assert_cmpint(c->n_tets, ==, mesh->n_tets);
  g_assert_cmpint(c->n_verts, ==, mesh->n_verts);
  pla_cut_mesh_free(c);
  pla_mesh_free(mesh);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/sim/cut/one-plane", test_one_plane);
  g_test_add_func("/sim/cut/along-faces", test_along_faces);
  g_test_add_func("/sim/cut/nearly-along-faces", test_nearly_along_faces);
  g_test_add_func("/sim/cut/sticks", test_sticks);
  g_test_add_func("/sim/cut/one-tet", test_one_tet);
  g_test_add_func("/sim/cut/dense-planes", test_dense_planes);
  g_test_add_func("/sim/cut/partial", test_partial);
  g_test_add_func("/sim/cut/any-order", test_any_order);
  g_test_add_func("/sim/cut/random", test_random);
  g_test_add_func("/sim/cut/shapes", test_shapes);
  g_test_add_func("/sim/cut/deformed", test_deformed);
  g_test_add_func("/sim/cut/organ", test_organ);
  g_test_add_func("/sim/cut/lips", test_lips);
  g_test_add_func("/sim/cut/threads", test_threads);
  g_test_add_func("/sim/cut/search", test_search);
  g_test_add_func("/sim/cut/hull", test_hull);
  g_test_add_func("/sim/cut/bad-blades", test_bad_blades);
  return g_test_run();
}
