/* Solves on lattice embeddings: pieces are independent, T-junctions conform, steps stay large. */
#include "sim/fem/model.h"
#include "tests/anatomy/embed/lattice-cases.h"

#include <string.h>

static PlaFemModel *
model_new(const PlaMesh *mesh, const char *material)
{
  PlaFemMaterial m = { .material = pla_material_find(material), .density = 1000.0 };
  const double param[PLA_MAX_CONSTANTS] = { 10000.0, 0.3 };
  PlaError err = { 0 };
  PlaFemModel *model;
  int *cell = g_new0(int, pla_mesh_n_cells(mesh));
  g_assert_cmpint(m.material->prepare(param, m.constants, &err), ==, PLA_OK);
  g_assert_cmpint(pla_fem_model_new(mesh, &m, 1, cell, PLA_FORMULATION_STANDARD, &model, &err), ==,
                  PLA_OK);
  g_free(cell);
  return model;
}

/* ---- pieces ---- */

static double
cylinders(const double p[3], const void *data)
{
  (void)data;
  const double r = 6.0, at = r + 0.75; /* a gap of 1.5 mm */
  double a = hypot(p[0] - at, p[1]) - r, b = hypot(p[0] + at, p[1]) - r;
  return fmax(fmin(a, b), fabs(p[2]) - 18.0);
}

/* both cylinders stand; one's head is moved: how far the other goes, m */
static double
drag_one(const PlaMesh *mesh, const int *side)
{
  PlaFemModel *model = model_new(mesh, "neo-hookean");
  const size_t n = (size_t)mesh->n_verts;
  unsigned char *fixed = g_malloc0(3 * n);
  double *target = g_memdup2(mesh->pos, 3 * n * sizeof(double));
  double *pos = g_memdup2(mesh->pos, 3 * n * sizeof(double)), far = 0.0, moved = 0.0;
  for (int v = 0; v < mesh->n_verts; v++) {
    const bool foot = mesh->pos[3 * v + 2] < -0.014;
    const bool head = side[v] > 0 && mesh->pos[3 * v + 2] > 0.014;
    if (foot || head)
      memset(fixed + 3 * v, 1, 3);
    if (head)
      target[3 * v] += 0.003;
  }
  const PlaFemConditions conditions = { .fixed = fixed, .target = target };
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  PlaError err = { 0 };
  options.method = PLA_SOLVER_NEWTON;
  g_assert_cmpint(pla_fem_solve(model, &conditions, &options, pos, &report, &err), ==, PLA_OK);
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  for (int v = 0; v < mesh->n_verts; v++)
    for (int d = 0; d < 3; d++) {
      const double way = fabs(pos[3 * v + d] - mesh->pos[3 * v + d]);
      if (side[v] < 0)
        far = fmax(far, way);
      else
        moved = fmax(moved, way);
    }
  g_assert_cmpfloat(moved, >=, 0.003);
  g_free(fixed);
  g_free(target);
  g_free(pos);
  pla_fem_model_free(model);
  return far;
}

static void
test_independent(void)
{
  PlaLevelSet *ls = levelset_new(56, 0.75, cylinders, NULL);
  PlaLatticeEmbedding *e = embed(ls, 6.0, 0, -1);
  PlaMesh *mesh;
  PlaError err = { 0 };
  g_assert_cmpint(pla_lattice_n_duplicated(e), >, 0);
  g_assert_cmpint(pla_lattice_mesh(e, NULL, NULL, &mesh, &err), ==, PLA_OK);

  /* which cylinder a vertex belongs to: material spreads from elements clearly on one side */
  int *side = g_new0(int, (size_t)mesh->n_verts);
  for (bool again = true; again;) {
    again = false;
    for (int i = 0; i < e->n_elems; i++) {
      const int *v = mesh->tet + 4 * i;
      int here = 0;
      double lo = INFINITY, hi = -INFINITY;
      for (int c = 0; c < 4; c++) {
        here = side[v[c]] ? side[v[c]] : here;
        lo = fmin(lo, mesh->pos[3 * v[c]]);
        hi = fmax(hi, mesh->pos[3 * v[c]]);
      }
      here = here ? here : lo > 0.0 ? 1 : hi < 0.0 ? -1 : 0;
      for (int c = 0; here && c < 4; c++)
        if (!side[v[c]]) {
          side[v[c]] = here;
          again = true;
        }
    }
  }
  for (int v = 0; v < mesh->n_verts; v++)
    g_assert_cmpint(side[v], !=, 0);
  g_assert_cmpfloat(drag_one(mesh, side), <, 1e-12);
  pla_mesh_free(mesh);

  /* one element a tet and one vertex a place: both move */
  GHashTable *place =
      g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
  PlaMesh *glued;
  g_assert_cmpint(pla_mesh_new(e->n_verts, 0, e->n_tets, 0, &glued, &err), ==, PLA_OK);
  int n = 0;
  for (int t = 0; t < e->n_tets; t++)
    for (int c = 0; c < 4; c++) {
      GBytes *key = g_bytes_new(e->tet[t].x[c], sizeof e->tet[t].x[c]);
      int v = GPOINTER_TO_INT(g_hash_table_lookup(place, key)) - 1;
      if (v < 0) {
        v = n++;
        pla_lattice_place(&e->frame, e->tet[t].x[c], glued->pos + 3 * v);
        side[v] = glued->pos[3 * v] > 0.0 ? 1 : -1;
        g_hash_table_insert(place, g_bytes_ref(key), GINT_TO_POINTER(v + 1));
      }
      g_bytes_unref(key);
      glued->tet[4 * t + c] = v;
    }
  glued->n_verts = n;
  g_assert_cmpint(n, <, e->n_verts);
  g_assert_cmpfloat(drag_one(glued, side), >, 1e-4);
  g_hash_table_unref(place);
  pla_mesh_free(glued);
  g_free(side);
  pla_lattice_embedding_free(e);
  pla_levelset_free(ls);
}

/* ---- T-junctions ---- */

static double
sphere(const double p[3], const void *data)
{
  return pla_vec3_norm(p) - *(const double *)data;
}

/* the free vertices inside find an affine map of those at the surface, across all T-junctions */
static void
test_patch(void)
{
  const double r = 15.0;
  PlaLevelSet *ls = levelset_new(36, 1.0, sphere, &r);
  PlaLatticeEmbedding *e = embed(ls, 2.5, 2, -1);
  PlaMesh *mesh;
  PlaError err = { 0 };
  g_assert_cmpint(pla_lattice_mesh(e, NULL, NULL, &mesh, &err), ==, PLA_OK);
  PlaFemModel *model = model_new(mesh, "linear");
  const size_t n = (size_t)mesh->n_verts;
  const int n_bound = e->n_verts - e->n_free;
  unsigned char *fixed = g_malloc0(3 * n);
  double *target = g_new(double, 3 * n), *pos = g_memdup2(mesh->pos, 3 * n * sizeof(double));
  int *bound = g_new(int, (size_t)n_bound), n_inside = 0;
  for (int b = 0; b < n_bound; b++)
    bound[b] = e->n_free + b;
  for (int v = 0; v < e->n_verts; v++) {
    const double *x = mesh->pos + 3 * v;
    target[3 * v] = 1.1 * x[0] + 0.05 * x[1];
    target[3 * v + 1] = 0.95 * x[1] - 0.1 * x[2] + 0.002;
    target[3 * v + 2] = 1.02 * x[2] + 0.03 * x[0];
  }
  for (int i = 0; i < e->n_elems; i++)
    if (e->fill[i] < 1.0)
      for (int c = 0; c < 4; c++)
        if (e->vert[4 * i + c] < e->n_free)
          memset(fixed + 3 * e->vert[4 * i + c], 1, 3);
  for (int v = 0; v < e->n_free; v++)
    n_inside += !fixed[3 * v];
  g_assert_cmpint(n_inside, >, 20);
  g_assert_cmpint(n_bound, >, 100);
  const PlaFemBindings bindings = { n_bound, bound, e->bind_start, e->bind_vert, e->bind_weight };
  PlaFemConditions conditions = { .fixed = fixed, .target = target, .bindings = &bindings };
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  options.method = PLA_SOLVER_NEWTON;
  options.tolerance_rel = 1e-10;
  g_assert_cmpint(pla_fem_solve(model, &conditions, &options, pos, &report, &err), ==, PLA_OK);
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  for (int i = 0; i < 3 * e->n_verts; i++)
    g_assert_cmpfloat_with_epsilon(pos[i], target[i], 1e-10);
  g_free(fixed);
  g_free(target);
  g_free(pos);
  g_free(bound);
  pla_fem_model_free(model);
  pla_mesh_free(mesh);
  pla_lattice_embedding_free(e);
  pla_levelset_free(ls);
}

/* ---- steps ---- */

/* the largest explicit step, 2 / omega, by power iteration on M^-1 K */
static double
explicit_step(const PlaMesh *mesh)
{
  PlaFemModel *model = model_new(mesh, "linear");
  const double *mass = pla_fem_model_mass(model);
  const int n = 3 * mesh->n_verts;
  double *x = g_new(double, (size_t)n), *f = g_new(double, (size_t)n);
  double *v = g_new(double, (size_t)n), lambda = 0.0;
  GRand *rand = g_rand_new_with_seed(2);
  PlaError err = { 0 };
  for (int i = 0; i < n; i++)
    v[i] = g_rand_double_range(rand, -1.0, 1.0);
  for (int k = 0; k < 60; k++) {
    double norm = 0.0;
    for (int i = 0; i < n; i++)
      norm += mass[i / 3] * v[i] * v[i];
    for (int i = 0; i < n; i++) {
      v[i] /= sqrt(norm);
      x[i] = mesh->pos[i] + v[i];
    }
    /* linear material: the forces of a displacement v are -K v */
    g_assert_cmpint(pla_fem_forces(model, x, f, &err), ==, PLA_OK);
    lambda = 0.0;
    for (int i = 0; i < n; i++) {
      lambda -= f[i] * v[i];
      v[i] = mass[i / 3] > 0.0 ? -f[i] / mass[i / 3] : 0.0;
    }
  }
  g_rand_free(rand);
  g_free(x);
  g_free(f);
  g_free(v);
  pla_fem_model_free(model);
  return 2.0 / sqrt(lambda);
}

/* where the value along an edge of a lattice tet is zero, or a corner: one vertex each */
static int
vertex_between(GHashTable *known, GArray *pos, const PlaLatticeEmbedding *e, const int a[3],
               const int b[3], double va, double vb)
{
  int both[6];
  const bool turned = memcmp(a, b, 3 * sizeof *a) > 0;
  memcpy(both, turned ? b : a, 3 * sizeof *a);
  memcpy(both + 3, turned ? a : b, 3 * sizeof *a);
  GBytes *key = g_bytes_new(both, sizeof both);
  int v = GPOINTER_TO_INT(g_hash_table_lookup(known, key)) - 1;
  if (v < 0) {
    double p[3], q[3];
    const double t = a == b ? 0.0 : va / (va - vb);
    pla_lattice_place(&e->frame, a, p);
    pla_lattice_place(&e->frame, b, q);
    for (int d = 0; d < 3; d++)
      p[d] += t * (q[d] - p[d]);
    v = (int)pos->len / 3;
    g_array_append_vals(pos, p, 3);
    g_hash_table_insert(known, g_bytes_ref(key), GINT_TO_POINTER(v + 1));
  }
  g_bytes_unref(key);
  return v;
}

/* The plain conforming mesh: a fine lattice cut where the values change sign, slivers and all. */
static PlaMesh *
sliver_mesh(const PlaLevelSet *ls, double cell_mm)
{
  PlaLatticeEmbedding *e = embed(ls, cell_mm, 0, -1);
  GHashTable *known =
      g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
  GArray *pos = g_array_new(FALSE, FALSE, sizeof(double));
  GArray *tet = g_array_new(FALSE, FALSE, sizeof(int));
  for (int t = 0; t < e->n_tets; t++) {
    int(*x)[3] = e->tet[t].x, in[4], out[4], n_in = 0, n_out = 0;
    double v[4];
    for (int c = 0; c < 4; c++) {
      double p[3];
      pla_lattice_place(&e->frame, x[c], p);
      for (int d = 0; d < 3; d++)
        p[d] *= 1000.0;
      pla_levelset_sample(ls, 1, p, &v[c], NULL);
      if (v[c] < 0.0)
        in[n_in++] = c;
      else
        out[n_out++] = c;
    }
    int prism[6], n_prism = 0, whole[4], n_whole = 0;
    if (n_in == 4 || n_in == 1) {
      for (int i = 0; i < n_in; i++)
        whole[n_whole++] = vertex_between(known, pos, e, x[in[i]], x[in[i]], 0, 0);
      for (int i = 0; i < n_out; i++)
        whole[n_whole++] = vertex_between(known, pos, e, x[in[0]], x[out[i]], v[in[0]], v[out[i]]);
    } else if (n_in == 3) {
      for (int i = 0; i < 3; i++)
        prism[n_prism++] = vertex_between(known, pos, e, x[in[i]], x[in[i]], 0, 0);
      for (int i = 0; i < 3; i++)
        prism[n_prism++] = vertex_between(known, pos, e, x[in[i]], x[out[0]], v[in[i]], v[out[0]]);
    } else if (n_in == 2) {
      for (int i = 0; i < 2; i++) {
        prism[n_prism++] = vertex_between(known, pos, e, x[in[i]], x[in[i]], 0, 0);
        for (int k = 0; k < 2; k++)
          prism[n_prism++] =
              vertex_between(known, pos, e, x[in[i]], x[out[k]], v[in[i]], v[out[k]]);
      }
    }
    if (n_whole == 4)
      g_array_append_vals(tet, whole, 4);
    if (n_prism == 6) {
      const int parts[12] = { prism[0], prism[1], prism[2], prism[3], prism[1], prism[2],
                              prism[3], prism[4], prism[2], prism[3], prism[4], prism[5] };
      g_array_append_vals(tet, parts, 12);
    }
  }
  PlaMesh *mesh;
  PlaError err = { 0 };
  g_assert_cmpint(pla_mesh_new((int)pos->len / 3, 0, (int)tet->len / 4, 0, &mesh, &err), ==,
                  PLA_OK);
  memcpy(mesh->pos, pos->data, pos->len * sizeof(double));
  memcpy(mesh->tet, tet->data, tet->len * sizeof(int));
  /* positive order */
  for (int t = 0; t < mesh->n_tets; t++) {
    int *v = mesh->tet + 4 * t;
    double dm[9];
    for (int c = 0; c < 3; c++)
      for (int d = 0; d < 3; d++)
        dm[3 * d + c] = mesh->pos[3 * v[c + 1] + d] - mesh->pos[3 * v[0] + d];
    if (pla_mat3_det(dm) < 0.0) {
      int swap = v[2];
      v[2] = v[3];
      v[3] = swap;
    }
  }
  g_array_free(pos, TRUE);
  g_array_free(tet, TRUE);
  g_hash_table_unref(known);
  pla_lattice_embedding_free(e);
  return mesh;
}

static void
test_steps(void)
{
  const double r = 14.0;
  PlaLevelSet *ls = levelset_new(34, 1.0, sphere, &r);
  PlaMesh *slivers = sliver_mesh(ls, 2.3), *mesh;
  PlaMeshSummary sum;
  PlaError err = { 0 };
  g_assert_cmpint(pla_mesh_summary(slivers, &sum, &err), ==, PLA_OK);
  g_assert_cmpint(sum.inverted, ==, 0);
  g_assert_cmpfloat(sum.min_dihedral_deg, <, 5.0);
  PlaLatticeEmbedding *e = embed(ls, 6.0, 0, -1);
  g_assert_cmpint(pla_lattice_mesh(e, NULL, NULL, &mesh, &err), ==, PLA_OK);
  const double fewer = (double)slivers->n_tets / mesh->n_tets;
  const double longer = explicit_step(mesh) / explicit_step(slivers);
  g_test_message("%d sliver tets of at least %.2g degrees, %d elements: %.1f times fewer, steps "
                 "%.1f times longer",
                 slivers->n_tets, sum.min_dihedral_deg, mesh->n_tets, fewer, longer);
  g_assert_cmpfloat(fewer, >, 10.0);
  g_assert_cmpfloat(longer, >, 10.0);
  pla_mesh_free(slivers);
  pla_mesh_free(mesh);
  pla_lattice_embedding_free(e);
  pla_levelset_free(ls);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/fem-lattice/independent", test_independent);
  g_test_add_func("/fem-lattice/patch", test_patch);
  g_test_add_func("/fem-lattice/steps", test_steps);
  return g_test_run();
}
