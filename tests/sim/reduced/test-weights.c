/* Weights of domains on a clamped beam: their values at seeds, what holding in every direction
 * does, the turning that stays free, domains put in later; and what reduced beams make of bending
 * and sag, against linear elasticity in full space. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "sim/fem/model-data.h"
#include "sim/linear/dense.h"
#include "sim/reduced/envelope.h"
#include "sim/reduced/reduced.h"
#include "sim/reduced/weights.h"
#include "sim/solve/solve.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NX = 16, NY = 4 };
static const double length = 0.16, side = 0.03; /* m */

typedef struct {
  PlaMesh *mesh;
  PlaTetMesh tets;
  unsigned char *clamped, *inside;
  double *young; /* relative, of each tet */
  PlaFemModel *fem;
  int n;
} Beam;

static int
vertex_at(int i, int j, int k)
{
  return i + (NX + 1) * (j + (NY + 1) * k);
}

/* @stiff: from 10 at the clamp linearly to 1 at half length */
static Beam
beam_new(bool stiff)
{
  const double lo[3] = { 0, -0.5 * side, -0.5 * side }, hi[3] = { length, 0.5 * side, 0.5 * side };
  const int n[3] = { NX, NY, NY };
  PlaFemMaterial m = { .material = pla_material_find("linear"), .density = 1000.0 };
  double param[2] = { 2e4, 0.3 };
  Beam b = { 0 };
  PlaError err;
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &b.mesh, &err), ==, PLA_OK);
  b.tets = pla_mesh_tets(b.mesh);
  b.n = b.mesh->n_verts;
  b.clamped = g_new0(unsigned char, b.n);
  b.inside = g_new(unsigned char, b.tets.n_tets);
  memset(b.inside, 1, (size_t)b.tets.n_tets);
  b.young = g_new(double, b.tets.n_tets);
  for (int v = 0; v < b.n; v++)
    b.clamped[v] = b.mesh->pos[3 * v] < 1e-9;
  g_autofree PlaFemMaterial *materials = g_new(PlaFemMaterial, b.tets.n_tets);
  g_autofree int *cell = g_new(int, b.tets.n_tets);
  for (int t = 0; t < b.tets.n_tets; t++) {
    double x = 0.0;
    for (int a = 0; a < 4; a++)
      x += 0.25 * b.mesh->pos[3 * b.mesh->tet[4 * t + a]];
    b.young[t] = stiff ? fmax(1.0, 10.0 - 9.0 * x / (0.5 * length)) : 1.0;
    const double own[2] = { b.young[t] * param[0], param[1] };
    materials[t] = m;
    cell[t] = t;
    g_assert_cmpint(m.material->prepare(own, materials[t].constants, &err), ==, PLA_OK);
  }
  g_assert_cmpint(pla_fem_model_new(b.mesh, materials, b.tets.n_tets, cell,
                                    PLA_FORMULATION_STANDARD, &b.fem, &err),
                  ==, PLA_OK);
  return b;
}

static void
beam_clear(Beam *b)
{
  pla_fem_model_free(b->fem);
  pla_mesh_free(b->mesh);
  g_free(b->clamped);
  g_free(b->inside);
  g_free(b->young);
}

/* the weight of @seed where clamp and @others are held */
static double *
weight_of(const Beam *b, int seed, const int *others, int n_others, PlaWeightKind kind,
          const double *direction, double support, double *found)
{
  PlaWeightOptions options = pla_weight_options_default();
  g_autofree unsigned char *held = g_memdup2(b->clamped, (gsize)b->n);
  double *w = g_new(double, b->n);
  PlaError err;
  for (int i = 0; i < n_others; i++)
    held[others[i]] = 1;
  options.kind = kind;
  options.young = b->young;
  options.direction = direction;
  options.support = support;
  const PlaWeightDomain domain = { &b->tets, b->inside, seed, held };
  g_assert_cmpint(pla_domain_weight(&domain, &options, w, found, &err), ==, PLA_OK);
  return w;
}

static void
test_seeds(void)
{
  Beam b = beam_new(false);
  const int mid = vertex_at(NX / 2, 2, 2), end = vertex_at(3 * NX / 4, 2, 2);
  const int tip = vertex_at(NX, 2, 2), half = vertex_at(NX / 4, 2, 2);
  double p[3];
  g_autofree double *w = weight_of(&b, mid, &end, 1, PLA_WEIGHT_PRINCIPAL, NULL, 1e-6, p);
  g_autofree double *held = weight_of(&b, mid, &end, 1, PLA_WEIGHT_HELD, p, 1e-6, NULL);
  g_assert_cmpfloat(fabs(w[mid] - 1.0), <, 1e-8);
  g_assert_cmpfloat(fabs(w[end]), <, 1e-8);
  for (int v = 0; v < b.n; v++)
    if (b.clamped[v])
      g_assert_cmpfloat(fabs(w[v]), <, 1e-8);
  /* across the beam, not along it; beyond the other seed it swings to the other side */
  g_assert_cmpfloat(fabs(p[0]), <, 0.1);
  g_test_message("halfway %.3f, held in every direction %.3f; tip %.3f and %.3f", w[half],
                 held[half], w[tip], held[tip]);
  g_assert_cmpfloat(w[tip], <, -0.05);
  g_assert_cmpfloat(held[half], <, w[half]);
  beam_clear(&b);
}

/* the whole body can turn about the direction through the seed, and the support decides nothing
 * else */
static void
test_support(void)
{
  Beam b = beam_new(false);
  const int mid = vertex_at(NX / 2, 2, 2), end = vertex_at(NX, 2, 2);
  double p[3], most = 0.0;
  g_autofree double *w = weight_of(&b, mid, &end, 1, PLA_WEIGHT_PRINCIPAL, NULL, 1e-6, p);
  g_autofree double *less = weight_of(&b, mid, &end, 1, PLA_WEIGHT_PRINCIPAL, p, 1e-9, NULL);
  for (int v = 0; v < b.n; v++)
    most = fmax(most, fabs(w[v] - less[v]));
  g_assert_cmpfloat(most, <, 0.005);
  /* the turning itself: no force resists it, no hold along the direction sees it */
  g_autofree double *pos = g_new(double, 3 * b.n), *force = g_new(double, 3 * b.n);
  double worst = 0.0, along = 0.0;
  PlaError err;
  for (int v = 0; v < b.n; v++) {
    double r[3], u[3];
    pla_vec3_sub(b.mesh->pos + 3 * v, b.mesh->pos + 3 * mid, r);
    pla_vec3_cross(p, r, u);
    along = fmax(along, fabs(pla_vec3_dot(u, p)));
    for (int d = 0; d < 3; d++)
      pos[3 * v + d] = b.mesh->pos[3 * v + d] + u[d];
  }
  g_assert_cmpint(pla_fem_forces(b.fem, pos, force, &err), ==, PLA_OK);
  for (int i = 0; i < 3 * b.n; i++)
    worst = fmax(worst, fabs(force[i]));
  g_assert_cmpfloat(worst, <, 1e-12 * 2e4 * length);
  g_assert_cmpfloat(along, <, 1e-15);
  beam_clear(&b);
}

static void
test_give_way(void)
{
  Beam b = beam_new(false);
  const int seed = vertex_at(NX / 2, 2, 2), added = vertex_at(3 * NX / 4, 2, 2);
  double p[3];
  g_free(weight_of(&b, seed, NULL, 0, PLA_WEIGHT_PRINCIPAL, NULL, 1e-6, p));
  static const PlaWeightKind kinds[2] = { PLA_WEIGHT_HARMONIC, PLA_WEIGHT_PRINCIPAL };
  for (int k = 0; k < 2; k++) {
    g_autofree double *old = weight_of(&b, seed, NULL, 0, kinds[k], p, 1e-6, NULL);
    g_autofree double *new = weight_of(&b, added, &seed, 1, kinds[k], p, 1e-6, NULL);
    g_autofree double *fresh = weight_of(&b, seed, &added, 1, kinds[k], p, 1e-6, NULL);
    double off = 0.0;
    pla_weight_give_way(old, new, added, b.n);
    g_assert_cmpfloat(fabs(old[added]), <, 1e-12);
    g_assert_cmpfloat(fabs(old[seed] - 1.0), <, 1e-12);
    for (int v = 0; v < b.n; v++) {
      off = fmax(off, fabs(old[v] - fresh[v]));
      if (b.clamped[v])
        g_assert_cmpfloat(fabs(old[v]), <, 1e-12);
    }
    /* with principal weights the seed itself is held in three directions, others in one */
    g_test_message("%s: %.2g from a fresh solve", k ? "principal" : "harmonic", off);
    g_assert_cmpfloat(off, <, k ? 1e-6 : 1e-9);
  }
  beam_clear(&b);
}

/* ---- reduced linear beams ---- */

/* least energy under @force in the span of the @r columns of @g (3n each); the displacement */
static double *
reduced_static(const Beam *b, int r, const double *g, const double *force)
{
  const size_t n = 3 * (size_t)b->n;
  g_autofree double *kg = g_new(double, n), *pos = g_new(double, n);
  g_autofree double *k = g_new(double, r *r), *q = g_new(double, r);
  double *u = g_new0(double, n), largest = 0.0;
  PlaError err;
  for (int c = 0; c < r; c++) {
    for (size_t i = 0; i < n; i++)
      pos[i] = b->mesh->pos[i] + g[(size_t)c * n + i];
    g_assert_cmpint(pla_fem_forces(b->fem, pos, kg, &err), ==, PLA_OK);
    for (int d = 0; d < r; d++)
      k[d + c * r] = -pla_dot(kg, g + (size_t)d * n, n);
    q[c] = pla_dot(force, g + (size_t)c * n, n);
    largest = fmax(largest, k[c + c * r]);
  }
  for (int c = 0; c < r; c++)
    k[c + c * r] += 1e-11 * largest;
  g_assert_true(pla_dense_factor(r, k));
  pla_dense_solve(r, k, 1, q);
  for (int c = 0; c < r; c++)
    for (size_t i = 0; i < n; i++)
      u[i] += q[c] * g[(size_t)c * n + i];
  return u;
}

/* columns of weighted monomials for all three components */
static double *
columns_of(const Beam *b, const int *seed, int n_domains, const double *weight, PlaBasisOrder order,
           int *r)
{
  PlaReducedBasis basis;
  PlaError err;
  const size_t n = 3 * (size_t)b->n;
  g_assert_cmpint(pla_reduced_basis_init(&basis, &b->tets, seed, n_domains, weight, NULL, order,
                                         &err),
                  ==, PLA_OK);
  *r = 3 * basis.n_funcs;
  double *g = g_new0(double, n *(size_t)*r);
  for (int k = 0; k < basis.n_funcs; k++)
    for (int v = 0; v < b->n; v++)
      for (int d = 0; d < 3; d++)
        g[(size_t)(3 * k + d) * n + (size_t)(3 * v + d)] = basis.phi[v * basis.n_funcs + k];
  pla_reduced_basis_clear(&basis);
  return g;
}

/* columns of weighted rigid motions */
static double *
rigid_columns(const Beam *b, const int *seed, int n_domains, const double *weight)
{
  const size_t n = 3 * (size_t)b->n;
  double *g = g_new0(double, n * 6 * (size_t)n_domains);
  for (int j = 0; j < n_domains; j++)
    for (int v = 0; v < b->n; v++) {
      double x[3];
      const double w = weight[j * b->n + v];
      pla_vec3_sub(b->mesh->pos + 3 * v, b->mesh->pos + 3 * seed[j], x);
      for (int d = 0; d < 3; d++) {
        double axis[3] = { 0 }, turned[3];
        axis[d] = 1.0;
        pla_vec3_cross(axis, x, turned);
        g[(size_t)(6 * j + d) * n + (size_t)(3 * v + d)] = w;
        for (int i = 0; i < 3; i++)
          g[(size_t)(6 * j + 3 + d) * n + (size_t)(3 * v + i)] = w * turned[i];
      }
    }
  return g;
}

/* the same in full space */
static double *
full_static(const Beam *b, const double *force)
{
  PlaFemConditions conditions = { 0 };
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  PlaError err;
  g_autofree unsigned char *fixed = g_new(unsigned char, 3 * b->n);
  double *pos = g_memdup2(b->mesh->pos, 3 * (gsize)b->n * sizeof *pos);
  for (int i = 0; i < 3 * b->n; i++)
    fixed[i] = b->clamped[i / 3];
  conditions.fixed = fixed;
  conditions.target = b->mesh->pos;
  conditions.force = force;
  options.tolerance_rel = 1e-10;
  g_assert_cmpint(pla_fem_solve(b->fem, &conditions, &options, pos, &report, &err), ==, PLA_OK);
  for (int i = 0; i < 3 * b->n; i++)
    pos[i] -= b->mesh->pos[i];
  return pos;
}

static double *
gravity_of(const Beam *b)
{
  double *force = g_new0(double, 3 * b->n);
  for (int v = 0; v < b->n; v++)
    force[3 * v + 2] = -9.81 * pla_fem_model_mass(b->fem)[v];
  return force;
}

/* the largest angle of shear in the plane of bending, over the turning of the end */
static double
shear_of(const Beam *b, const double *u)
{
  double most = 0.0;
  const int tip = vertex_at(NX, 2, 2);
  for (int t = 0; t < b->tets.n_tets; t++) {
    double shape[4][3], xz = 0.0;
    pla_fem_tet_shape(b->fem, t, shape);
    for (int a = 0; a < 4; a++) {
      const double *ua = u + 3 * b->mesh->tet[4 * t + a];
      xz += ua[0] * shape[a][2] + ua[2] * shape[a][0];
    }
    most = fmax(most, fabs(xz));
  }
  return most / fabs(u[3 * tip + 2] / length);
}

static void
test_bending(void)
{
  Beam b = beam_new(false);
  g_autofree double *moment = g_new0(double, 3 * b.n);
  static const int at[3][5] = { { NX },
                                { NX / 3, 2 * NX / 3, NX },
                                { NX / 5, 2 * NX / 5, 3 * NX / 5, 4 * NX / 5, NX } };
  static const int count[3] = { 1, 3, 5 };
  double shear[3];
  for (int j = 0; j <= NY; j++)
    for (int k = 0; k <= NY; k++) {
      const int v = vertex_at(NX, j, k);
      moment[3 * v] = b.mesh->pos[3 * v + 2];
    }
  for (int way = 0; way < 3; way++) {
    int seed[5], r = 30;
    g_autofree double *weight = g_new(double, count[way] * b.n);
    for (int j = 0; j < count[way]; j++)
      seed[j] = vertex_at(at[way][j], 2, 2);
    for (int j = 0; j < count[way]; j++) {
      int others[5], n = 0;
      const double up[3] = { 0, 0, 1 };
      for (int o = 0; o < count[way]; o++)
        if (o != j)
          others[n++] = seed[o];
      g_autofree double *w =
          weight_of(&b, seed[j], others, n, PLA_WEIGHT_PRINCIPAL, up, 1e-6, NULL);
      memcpy(weight + j * b.n, w, (size_t)b.n * sizeof *w);
    }
    g_autofree double *g = way == 2 ? rigid_columns(&b, seed, 5, weight)
                                    : columns_of(&b, seed, count[way], weight,
                                                 way ? PLA_BASIS_AFFINE : PLA_BASIS_QUADRATIC, &r);
    g_autofree double *u = reduced_static(&b, r, g, moment);
    shear[way] = shear_of(&b, u);
  }
  g_test_message("shear over slope: 1 quadratic %.3f, 3 affine %.3f, 5 rigid %.3f", shear[0],
                 shear[1], shear[2]);
  g_assert_cmpfloat(shear[0], <, shear[1]);
  g_assert_cmpfloat(shear[0], <, shear[2]);
  beam_clear(&b);
}

/* relative error of the tip's sag with quadratic domains; of the sag of all vertices, in the mean
 * square, where @all is not NULL */
static double
sag_error(const Beam *b, const int *seed, int n_seeds, PlaWeightKind kind, const double *direction,
          double *all)
{
  int r;
  g_autofree double *weight = g_new(double, n_seeds * b->n), *force = gravity_of(b);
  for (int j = 0; j < n_seeds; j++) {
    const int other = seed[n_seeds - 1 - j];
    g_autofree double *w = weight_of(b, seed[j], &other, n_seeds - 1, kind, direction, 1e-6, NULL);
    memcpy(weight + j * b->n, w, (size_t)b->n * sizeof *w);
  }
  g_autofree double *g = columns_of(b, seed, n_seeds, weight, PLA_BASIS_QUADRATIC, &r);
  g_autofree double *u = reduced_static(b, r, g, force), *exact = full_static(b, force);
  const int tip = 3 * vertex_at(NX, 2, 2) + 2;
  double off = 0.0, whole = 0.0;
  for (int v = 0; v < b->n; v++) {
    off += pow(u[3 * v + 2] - exact[3 * v + 2], 2);
    whole += pow(exact[3 * v + 2], 2);
  }
  if (all)
    *all = sqrt(off / whole);
  return fabs(u[tip] / exact[tip] - 1.0);
}

/* the source has the error grow all the way to 90 degrees; here it grows to 75 and is then 0.0094
 * less at the tip, 0.036 less over all vertices */
static void
test_direction(void)
{
  Beam b = beam_new(false);
  const int seed = vertex_at(NX, 2, 2);
  double error[7], all[7];
  for (int k = 0; k < 7; k++) {
    const double angle = k * acos(-1.0) / 12.0, direction[3] = { sin(angle), 0.0, cos(angle) };
    error[k] = sag_error(&b, &seed, 1, PLA_WEIGHT_PRINCIPAL, direction, &all[k]);
    g_test_message("%2d degrees from principal: sag off by %.4f, all vertices by %.4f", 15 * k,
                   error[k], all[k]);
    if (k > 0 && k < 6) {
      g_assert_cmpfloat(error[k], >, error[k - 1]);
      g_assert_cmpfloat(all[k], >, all[k - 1]);
    }
  }
  g_assert_cmpfloat(error[0], <, 0.2);
  g_assert_cmpfloat(error[6], >, error[4]);
  g_assert_cmpfloat(error[5] - error[6], <, 0.01);
  beam_clear(&b);
}

static void
test_stiffness(void)
{
  Beam b = beam_new(true);
  const int seed[2] = { vertex_at(NX / 2, 2, 2), vertex_at(NX, 2, 2) };
  const double up[3] = { 0, 0, 1 };
  const double principal = sag_error(&b, seed, 2, PLA_WEIGHT_PRINCIPAL, up, NULL);
  const double held = sag_error(&b, seed, 2, PLA_WEIGHT_HELD, up, NULL);
  const double harmonic = sag_error(&b, seed, 2, PLA_WEIGHT_HARMONIC, up, NULL);
  g_test_message("sag off by: principal %.4f, held %.4f, harmonic %.4f", principal, held, harmonic);
  g_assert_cmpfloat(principal, <, held);
  g_assert_cmpfloat(held, <, harmonic);
  beam_clear(&b);
}

static void
test_bad(void)
{
  Beam b = beam_new(false);
  const PlaWeightOptions options = pla_weight_options_default();
  g_autofree double *w = g_new(double, b.n);
  g_autofree unsigned char *none = g_new0(unsigned char, b.n);
  PlaError err;
  const PlaWeightDomain clamped = { &b.tets, b.inside, vertex_at(0, 2, 2), b.clamped };
  g_assert_cmpint(pla_domain_weight(&clamped, &options, w, NULL, &err), ==, PLA_ERR_GEOMETRY);
  const PlaWeightDomain loose = { &b.tets, b.inside, vertex_at(4, 2, 2), none };
  g_assert_cmpint(pla_domain_weight(&loose, &options, w, NULL, &err), ==, PLA_ERR_GEOMETRY);
  beam_clear(&b);
}

/* segments cover the body, seeds lie in their own, neighbours are mutual */
static void
test_domains(void)
{
  Beam b = beam_new(false);
  PlaDomains *domains;
  PlaError err;
  int seed[4];
  g_assert_cmpint(pla_domains_spread(&b.tets, 4, seed, &err), ==, PLA_OK);
  g_assert_cmpint(pla_domains_new(&b.tets, seed, 4, &domains, &err), ==, PLA_OK);
  for (int t = 0; t < b.tets.n_tets; t++) {
    g_assert_true(pla_domains_has(domains, domains->segment[t], t));
    for (int a = 0; a < 4; a++)
      for (int i = 0; i < 4; i++)
        if (b.mesh->tet[4 * t + a] == seed[i])
          g_assert_cmpint(domains->segment[t], ==, i);
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      g_assert_cmpint(domains->joins[4 * i + j], ==, domains->joins[4 * j + i]);
  pla_domains_free(domains);
  seed[1] = seed[0];
  g_assert_cmpint(pla_domains_new(&b.tets, seed, 4, &domains, &err), ==, PLA_ERR_USAGE);
  beam_clear(&b);
}

/* ---- weights that learn from shapes ---- */

/* the beam's axis wound up to an arc of @turn (radians), sections staying plane */
static void
wind(const Beam *b, double turn, double *disp)
{
  for (int v = 0; v < b->n; v++) {
    const double *p = b->mesh->pos + 3 * v, angle = turn * p[0] / length, radius = length / turn;
    const double x = (radius - p[2]) * sin(angle), z = radius - (radius - p[2]) * cos(angle);
    disp[3 * v] = x - p[0];
    disp[3 * v + 1] = 0.0;
    disp[3 * v + 2] = z - p[2];
  }
}

/* rms distance of the nearest shape of the basis from @disp, over the length */
static double
nearest_off(const Beam *b, const PlaReducedBasis *basis, const double *disp)
{
  const int m = basis->n_funcs;
  g_autofree double *gram = g_new0(double, m *m), *q = g_new0(double, 3 * m);
  g_autofree double *u = g_new(double, 3 * b->n), *rows = g_new(double, 3 * m);
  double largest = 0.0, off = 0.0;
  for (int v = 0; v < b->n; v++) {
    const double *phi = basis->phi + v * m;
    for (int i = 0; i < m; i++) {
      for (int j = 0; j < m; j++)
        gram[i + j * m] += phi[i] * phi[j];
      for (int d = 0; d < 3; d++)
        q[d * m + i] += phi[i] * disp[3 * v + d];
    }
  }
  for (int i = 0; i < m; i++)
    largest = fmax(largest, gram[i + i * m]);
  for (int i = 0; i < m; i++)
    gram[i + i * m] += 1e-12 * largest;
  g_assert_true(pla_dense_factor(m, gram));
  pla_dense_solve(m, gram, 3, q);
  for (int i = 0; i < m; i++)
    for (int d = 0; d < 3; d++)
      rows[3 * i + d] = q[d * m + i];
  pla_reduced_basis_apply(basis, rows, u);
  for (int i = 0; i < 3 * b->n; i++)
    off += pow(u[i] - disp[i], 2);
  return sqrt(off / b->n) / length;
}

/* degrees up to which the basis winds the beam with an error below a fortieth of its length */
static int
winds(const Beam *b, const PlaReducedBasis *basis)
{
  g_autofree double *goal = g_new(double, 3 * b->n);
  int degrees = 0;
  for (int next = 10; next <= 720; next += 10) {
    wind(b, next * acos(-1.0) / 180.0, goal);
    if (nearest_off(b, basis, goal) > 0.025)
      break;
    degrees = next;
  }
  return degrees;
}

static void
test_envelope(void)
{
  enum { POSES = 3, ROUNDS = 6 };
  Beam b = beam_new(false);
  const int seed = vertex_at(NX, 2, 2);
  const double pi = acos(-1.0), up[3] = { 0, 0, 1 };
  g_autofree double *w = weight_of(&b, seed, NULL, 0, PLA_WEIGHT_PRINCIPAL, up, 1e-6, NULL);
  g_autofree double *poses = g_new(double, 3 * POSES * b.n);
  PlaReducedBasis basis;
  PlaError err;
  double residual[ROUNDS + 1];
  for (int k = 0; k < POSES; k++)
    wind(&b, (k + 1) * 0.6 * pi, poses + 3 * k * b.n);
  g_assert_cmpint(pla_reduced_basis_init(&basis, &b.tets, &seed, 1, w, NULL, PLA_BASIS_QUADRATIC,
                                         &err),
                  ==, PLA_OK);
  const int before = winds(&b, &basis);
  g_assert_cmpint(pla_basis_envelope(&basis, &b.tets, POSES, poses, 0.1, ROUNDS, residual, &err),
                  ==, PLA_OK);
  const int after = winds(&b, &basis);
  for (int k = 0; k <= ROUNDS; k++)
    g_test_message("round %d leaves %.4f", k, residual[k]);
  g_test_message("winds by %d degrees before, %d after", before, after);
  for (int k = 1; k <= ROUNDS; k++)
    g_assert_cmpfloat(residual[k], <=, residual[k - 1] * (1.0 + 1e-9));
  g_assert_cmpfloat(residual[5] - residual[6], <, 0.05 * residual[0]);
  g_assert_cmpint(after, >, before);
  pla_reduced_basis_clear(&basis);
  beam_clear(&b);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/weights/seeds", test_seeds);
  g_test_add_func("/weights/support", test_support);
  g_test_add_func("/weights/give-way", test_give_way);
  g_test_add_func("/weights/bending", test_bending);
  g_test_add_func("/weights/direction", test_direction);
  g_test_add_func("/weights/stiffness", test_stiffness);
  g_test_add_func("/weights/envelope", test_envelope);
  g_test_add_func("/weights/bad", test_bad);
  g_test_add_func("/weights/domains", test_domains);
  return g_test_run();
}
