/* Solves on lattice embeddings: pieces are independent, T-junctions conform, steps stay large. */
#include "anatomy/embed/hex-embed.h"
#include "anatomy/phantom/phantom.h"
#include "sim/solve/solve.h"
#include "sim/solve/system.h"
#include "tests/anatomy/embed/lattice-cases.h"
#include "tests/sim/fem/explicit-step.h"

#include <string.h>

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

/* Two bodies of a surface that runs through itself, meshed as one: one is held by its ends, the
 * other carried off by its own, and each goes as if it were alone. */
static void
check_separate(const char *name, double spacing_mm, double cell_mm)
{
  PlaPhantom phantom = { 0 };
  PlaHexEmbedOptions opts = pla_hex_embed_options_default();
  PlaHexEmbed hexes;
  PlaMesh *mesh;
  PlaError err = { 0 };
  opts.cell_m = cell_mm / 1000.0;
  g_assert_cmpint(pla_phantom_make(name, spacing_mm, NULL, &phantom, &err), ==, PLA_OK);
  const PlaTriMesh tris = pla_mesh_tris(phantom.mesh);
  g_assert_cmpint(pla_hex_embed(&tris, &opts, NULL, &hexes, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_hex_embed_tets(&hexes, NULL, &mesh, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_hex_label_components(mesh), ==, 2);
  const int32_t *body = pla_mesh_find_field(mesh, PLA_HEX_COMPONENT, PLA_ON_CELLS)->data;
  const size_t n = (size_t)mesh->n_verts;
  g_autofree int *of = g_new0(int, n);
  for (int i = 0; i < 4 * mesh->n_tets; i++)
    of[mesh->tet[i]] = body[i / 4];
  double lo = INFINITY, hi = -INFINITY;
  for (size_t v = 0; v < n; v++) {
    lo = fmin(lo, mesh->pos[3 * v]);
    hi = fmax(hi, mesh->pos[3 * v]);
  }
  PlaFemModel *model = model_new(mesh, "neo-hookean");
  g_autofree unsigned char *fixed = g_malloc0(3 * n);
  g_autofree double *target = g_memdup2(mesh->pos, 3 * n * sizeof(double));
  g_autofree double *pos = g_memdup2(mesh->pos, 3 * n * sizeof(double));
  for (size_t v = 0; v < n; v++) {
    const bool end =
        mesh->pos[3 * v] < lo + 0.2 * (hi - lo) || mesh->pos[3 * v] > hi - 0.2 * (hi - lo);
    if (!end)
      continue;
    memset(fixed + 3 * v, 1, 3);
    target[3 * v + 2] += of[v] ? 0.05 : 0.0;
  }
  const PlaFemConditions conditions = { .fixed = fixed, .target = target };
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  options.method = PLA_SOLVER_NEWTON;
  g_assert_cmpint(pla_fem_solve(model, &conditions, &options, pos, &report, &err), ==, PLA_OK);
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  double stays = 0.0, goes = 0.0;
  for (size_t v = 0; v < n; v++)
    for (int d = 0; d < 3; d++) {
      const double way = pos[3 * v + (size_t)d] - mesh->pos[3 * v + (size_t)d];
      if (of[v])
        goes = fmax(goes, fabs(way - (d == 2 ? 0.05 : 0.0)));
      else
        stays = fmax(stays, fabs(way));
    }
  g_test_message("%s, %g mm: %d tets, one moved by %.2g m, the other off its way by %.2g m", name,
                 cell_mm, mesh->n_tets, stays, goes);
  g_assert_cmpfloat(stays, <, 1e-12);
  g_assert_cmpfloat(goes, <, 1e-6);
  pla_fem_model_free(model);
  pla_mesh_free(mesh);
  pla_hex_embed_clear(&hexes);
  pla_phantom_clear(&phantom);
}

static void
test_separate(void)
{
  check_separate("crossing-boxes", 10, 8);
  if (!g_getenv("PLA_SMALL"))
    check_separate("moebius-pair", 2.5, 101.0 / (21 - 0.5));
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

/* ---- damping ---- */

/* all tets of a small lattice as a mesh of shared vertices, in mm */
static PlaMesh *
bcc_mesh(GArray *tets)
{
  const int n[3] = { 2, 2, 2 }, depth = 1;
  g_autoptr(GHashTable) known = g_hash_table_new_full(g_int_hash, g_int_equal, g_free, NULL);
  g_autoptr(GArray) pos = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GArray) tet = g_array_new(FALSE, FALSE, sizeof(int));
  PlaMesh *mesh;
  PlaError err = { 0 };
  for (int64_t r = 0; r < 96; r++) {
    const PlaBccTet one = pla_bcc_root(n, depth, r);
    g_array_append_val(tets, one);
    for (int c = 0; c < 4; c++) {
      const int key = one.x[c][0] + 64 * (one.x[c][1] + 64 * one.x[c][2]);
      int id = GPOINTER_TO_INT(g_hash_table_lookup(known, &key)) - 1;
      if (id < 0) {
        id = (int)pos->len / 3;
        g_hash_table_insert(known, g_memdup2(&key, sizeof key), GINT_TO_POINTER(id + 1));
        for (int d = 0; d < 3; d++) {
          const double x = 1e-3 * one.x[c][d];
          g_array_append_val(pos, x);
        }
      }
      g_array_append_val(tet, id);
    }
  }
  g_assert_cmpint(pla_mesh_new((int)pos->len / 3, 0, (int)tets->len, 0, &mesh, &err), ==, PLA_OK);
  memcpy(mesh->pos, pos->data, pos->len * sizeof(double));
  memcpy(mesh->tet, tet->data, tet->len * sizeof(int));
  return mesh;
}

/* forces of linear damping on one lattice tet, whose corners move with v, by sums alone:
 * G = -V/g^2 R { 2 b Sym[R^T Ft] + a tr } Dhat^-T with Ft = v Dhat^-1 and R = (turn) Q */
static void
bcc_damping(const PlaBccTet *tet, const double turn[9], const double v[4][3], double a, double b,
            double out[4][3])
{
  const double unit = 1e-3;
  double q[9], r[9], ft[9], s[9], p[9], g = 0.0;
  for (int d = 0; d < 3; d++)
    g += pow(unit * (tet->x[1][d] - tet->x[0][d]), 2.0);
  g = sqrt(g);
  for (int d = 0; d < 3; d++) {
    q[3 * d] = unit * (tet->x[1][d] - tet->x[0][d]) / g;
    q[3 * d + 1] = unit * (tet->x[2][d] + tet->x[3][d] - tet->x[0][d] - tet->x[1][d]) / g;
    q[3 * d + 2] = unit * (tet->x[3][d] - tet->x[2][d]) / g;
    ft[3 * d] = v[1][d] - v[0][d];
    ft[3 * d + 1] = v[2][d] + v[3][d] - v[0][d] - v[1][d];
    ft[3 * d + 2] = v[3][d] - v[2][d];
  }
  pla_mat3_mul(turn, q, r);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      s[3 * i + j] = 0.0;
      for (int d = 0; d < 3; d++)
        s[3 * i + j] += 0.5 * (r[3 * d + i] * ft[3 * d + j] + r[3 * d + j] * ft[3 * d + i]);
    }
  const double trace = s[0] + s[4] + s[8], volume = g * g * g / 12.0;
  for (int i = 0; i < 9; i++)
    s[i] = 2.0 * b * s[i] + (i % 4 == 0 ? a * trace : 0.0);
  pla_mat3_mul(r, s, p);
  /* Dhat^-T has the entries 0 and 1: sums of columns */
  for (int d = 0; d < 3; d++) {
    const double *row = &p[3 * d], scale = -volume / (g * g);
    out[1][d] = scale * (row[0] - row[1]);
    out[2][d] = scale * (row[1] - row[2]);
    out[3][d] = scale * (row[1] + row[2]);
    out[0][d] = -out[1][d] - out[2][d] - out[3][d];
  }
}

/* Damping of lattice tets by sums is what the general elements do: in a turned body the product of
 * the stiffness that Rayleigh damping takes and any velocities, and it takes energy away (Sifakis
 * 2007, 51). */
static void
test_damping(void)
{
  const double young = 1e4, nu = 0.3, t = 0.7; /* as model_new() has them */
  const double a = young * nu / ((1 + nu) * (1 - 2 * nu)), b = young / (2 * (1 + nu));
  const double turn[9] = { cos(t), -sin(t), 0, sin(t), cos(t), 0, 0, 0, 1 };
  g_autoptr(GArray) tets = g_array_new(FALSE, FALSE, sizeof(PlaBccTet));
  g_autoptr(GRand) rand = g_rand_new_with_seed(51);
  PlaMesh *mesh = bcc_mesh(tets);
  PlaFemModel *model = model_new(mesh, "corotated");
  const int n = 3 * mesh->n_verts;
  g_autofree unsigned char *fixed = g_malloc0((gsize)n);
  const PlaFemConditions free_body = { .fixed = fixed, .target = mesh->pos };
  PlaFemSystem system;
  PlaError err = { 0 };
  g_assert_cmpint(pla_fem_system_init(&system, model, &free_body, NULL, &err), ==, PLA_OK);
  g_autofree double *pos = g_new(double, (gsize)n), *v = g_new(double, (gsize)n);
  g_autofree double *general = g_new(double, (gsize)n), *sums = g_new0(double, (gsize)n);
  g_autofree double *blocks = g_new(double, (gsize)n), *product = g_new(double, (gsize)n);
  for (int i = 0; i < mesh->n_verts; i++)
    for (int d = 0; d < 3; d++) {
      pos[3 * i + d] = 0.0;
      for (int k = 0; k < 3; k++)
        pos[3 * i + d] += turn[3 * d + k] * mesh->pos[3 * i + k];
      v[3 * i + d] = g_rand_double_range(rand, -1e-3, 1e-3);
    }
  pla_fem_system_assemble(&system, pos, false, 0.0);
  g_assert_cmpint(system.n_blocks, ==, mesh->n_verts);
  pla_fem_system_gather(&system, v, blocks);
  pla_block_matrix_mul(&system.matrix, blocks, product);
  memset(general, 0, (size_t)n * sizeof *general);
  pla_fem_system_add(&system, product, -1.0, general);
  for (guint e = 0; e < tets->len; e++) {
    const int *corner = &mesh->tet[4 * e];
    double rate[4][3], force[4][3];
    for (int c = 0; c < 4; c++)
      memcpy(rate[c], &v[3 * corner[c]], sizeof rate[c]);
    bcc_damping(&g_array_index(tets, PlaBccTet, e), turn, rate, a, b, force);
    for (int c = 0; c < 4; c++)
      for (int d = 0; d < 3; d++)
        sums[3 * corner[c] + d] += force[c][d];
  }
  double most = 0.0, power = 0.0;
  for (int i = 0; i < n; i++) {
    most = fmax(most, fabs(general[i]));
    power += sums[i] * v[i];
  }
  for (int i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon(sums[i], general[i], 1e-12 * most);
  g_assert_cmpfloat(power, <, 0.0);
  pla_fem_system_clear(&system);
  pla_fem_model_free(model);
  pla_mesh_free(mesh);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/fem-lattice/independent", test_independent);
  g_test_add_func("/fem-lattice/separate", test_separate);
  g_test_add_func("/fem-lattice/patch", test_patch);
  g_test_add_func("/fem-lattice/steps", test_steps);
  g_test_add_func("/fem-lattice/damping", test_damping);
  return g_test_run();
}
