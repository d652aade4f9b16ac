/* Contact: distances, laws, closed forms of pressed blocks, the same equilibrium from both solvers
 * and any number of threads, nothing passes and nothing sticks, friction, sliding links. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/winding.h"
#include "sim/contact/contact-private.h"
#include "sim/solve/pbng.h"
#include "sim/solve/solve.h"
#include "tests/sim/contact/scenes.h"

/* ---- obstacles ---- */

static void
test_distances(void)
{
  const double lo[3] = { -0.02, -0.01, -0.005 }, hi[3] = { 0.02, 0.01, 0.005 };
  PlaCollider *box = collider_box(lo, hi), *ball;
  PlaMesh *mesh = mesh_ball((double[3]){ 0.01, 0, 0 }, 0.02, 4);
  PlaError err = { 0 };
  g_assert_cmpint(pla_collider_new_surface(mesh, &ball, &err), ==, PLA_OK);
  pla_mesh_free(mesh);
  /* turned by 90 degrees about z and shifted: x -> (-y, x, z) + shift */
  const double turn[9] = { 0, -1, 0, 1, 0, 0, 0, 0, 1 }, shift[3] = { 0.1, 0.2, 0.3 };
  pla_collider_set_pose(box, turn, shift);
  g_autoptr(GRand) rand = g_rand_new_with_seed(5);
  for (int i = 0; i < 2000; i++) {
    double x[3], own[3], n[3], m[3], out[3] = { 0 }, inside = -INFINITY;
    for (int d = 0; d < 3; d++)
      own[d] = g_rand_double_range(rand, -0.04, 0.04);
    pla_mat3_apply(turn, own, x);
    for (int d = 0; d < 3; d++) {
      x[d] += shift[d];
      out[d] = fmax(fmax(own[d] - hi[d], lo[d] - own[d]), 0.0);
      inside = fmax(inside, fmax(own[d] - hi[d], lo[d] - own[d]));
    }
    double exact = inside > 0.0 ? pla_vec3_norm(out) : inside;
    double d = pla_collider_distance(box, x, 1.0, true, n);
    g_assert_cmpfloat_with_epsilon(d, exact, 1e-15);
    g_assert_cmpfloat_with_epsilon(pla_vec3_norm(n), 1.0, 1e-12);
    /* the normal is the slope of the distance */
    for (int k = 0; k < 3; k++) {
      double y[3] = { x[0], x[1], x[2] };
      y[k] += 1e-7;
      double slope = (pla_collider_distance(box, y, 1.0, true, m) - d) / 1e-7;
      if (exact > 1e-5)
        g_assert_cmpfloat_with_epsilon(slope, n[k], 1e-2);
    }
    /* out of reach */
    g_assert_true(exact < 0.001 || pla_collider_distance(box, x, 0.001, true, n) == INFINITY);
    const double centre[3] = { 0.01, 0, 0 };
    double r[3];
    pla_vec3_sub(own, centre, r);
    /* a chord of the facets is at most (1 - cos) below the ball */
    d = pla_collider_distance(ball, own, 1.0, true, n);
    g_assert_cmpfloat(fabs(d - (pla_vec3_norm(r) - 0.02)), <, 0.02 * 0.006);
  }
  /* where the point now at x stood before the turn */
  double back[3], identity[9], still[3] = { 0 };
  pla_mat3_identity(identity);
  pla_collider_carry(box, (double[3]){ 0.1, 0.23, 0.3 }, identity, still, back);
  g_assert_cmpfloat_with_epsilon(back[0], 0.03, 1e-15);
  g_assert_cmpfloat_with_epsilon(back[1], 0.0, 1e-15);
  pla_collider_free(box);
  pla_collider_free(ball);
}

static void
test_bad_colliders(void)
{
  PlaMesh *mesh = mesh_ball((double[3]){ 0, 0, 0 }, 0.02, 1);
  PlaCollider *collider;
  PlaError err = { 0 };
  mesh->n_tris--;
  g_assert_cmpint(pla_collider_new_surface(mesh, &collider, &err), ==, PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "not closed"));
  mesh->n_tris = 0;
  g_assert_cmpint(pla_collider_new_surface(mesh, &collider, &err), ==, PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "no triangles"));
  mesh->n_tris = 32;
  g_assert_cmpint(pla_collider_new_plane((double[3]){ 0 }, (double[3]){ 0 }, &collider, &err), ==,
                  PLA_ERR_GEOMETRY);
  pla_mesh_free(mesh);
}

/* a way through a plate a hundredth as thick as the way is long ends in it */
static void
test_trace(void)
{
  const double lo[3] = { -1, -1, -0.0001 }, hi[3] = { 1, 1, 0.0001 };
  PlaCollider *plate = collider_box(lo, hi), *plane = collider_plane(0, 0, 0.0001, 0, 0, 1);
  for (int k = 0; k < 2; k++) {
    const PlaCollider *c = k ? plane : plate;
    const double x[3] = { 0.1, 0.2, 0.01 }, down[3] = { 0.003, 0, -0.02 }, along[3] = { 0.5, 0, 0 };
    const double depth = 5e-5;
    double t = pla_collider_trace(c, x, down, depth), z = x[2] + t * down[2];
    g_assert_cmpfloat(z, <, 0.0001);
    g_assert_cmpfloat(z, >=, 0.0001 - depth - 1e-12);
    g_assert_cmpfloat(pla_collider_trace(c, x, along, depth), ==, 1.0);
    /* from inside: out is free, further in is not */
    const double in[3] = { 0, 0, 0.00008 }, up[3] = { 0, 0, 0.01 }, deeper[3] = { 0, 0, -0.01 };
    g_assert_cmpfloat(pla_collider_trace(c, in, up, depth), ==, 1.0);
    g_assert_cmpfloat(0.01 * pla_collider_trace(c, in, deeper, depth), <=, depth + 1e-12);
  }
  pla_collider_free(plate);
  pla_collider_free(plane);
}

/* ---- laws ---- */

static void
test_laws(void)
{
  PlaContact contact = { .thickness = 1e-3, .stiffness = 50.0 }, link = contact;
  link.reach = 2e-3;
  const double h = 1e-8;
  for (double gap = -3e-3; gap < 4e-3; gap += 1.1e-4)
    for (int k = 0; k < 2; k++) {
      const PlaContact *c = k ? &link : &contact;
      double push, stiffness;
      pla_contact_law(c, gap, &push, &stiffness);
      double slope =
          (pla_contact_law(c, gap + h, NULL, NULL) - pla_contact_law(c, gap - h, NULL, NULL)) /
          (2 * h);
      g_assert_cmpfloat_with_epsilon(push, -slope, 1e-6);
      g_assert_cmpfloat(stiffness, >=, 0.0);
      g_assert_true(k == 1 || (push > 0.0) == (gap < 1e-3));
      g_assert_true(k == 0 || fabs(gap - 1e-3) < 2e-3 || push == 0.0);
    }
  PlaFriction friction = { .n_verts = 2,
                           .vert = { 0, 1 },
                           .weight = { 1, -1 },
                           .normal = { 0, 0.6, 0.8 },
                           .limit = 2.0,
                           .slip = 1e-4 };
  for (int i = 0; i < 2; i++) {
    double pos[6] = { i ? 3e-4 : 3e-5, 2e-5, 1e-5, 0, 0, 0 }, f[3], k[9], g[3], ignored[9];
    pla_friction_law(&friction, pos, 3, f, k);
    g_assert_cmpfloat(fabs(pla_vec3_dot(f, friction.normal)), <, 1e-12);
    if (i)
      g_assert_cmpfloat_with_epsilon(pla_vec3_norm(f), 2.0, 1e-12);
    for (int d = 0; d < 3; d++) {
      double e[2], keep = pos[d];
      for (int s = 0; s < 2; s++) {
        pos[d] = keep + (s ? -1e-9 : 1e-9);
        e[s] = pla_friction_law(&friction, pos, 3, g, ignored);
      }
      g_assert_cmpfloat_with_epsilon(f[d], -(e[0] - e[1]) / 2e-9, 1e-5);
      double there[3];
      pos[d] = keep + 1e-9;
      pla_friction_law(&friction, pos, 3, there, ignored);
      pos[d] = keep - 1e-9;
      pla_friction_law(&friction, pos, 3, g, ignored);
      for (int j = 0; j < 3; j++)
        g_assert_cmpfloat_with_epsilon(k[3 * j + d], -(there[j] - g[j]) / 2e-9, 1e-2);
      pos[d] = keep;
    }
  }
}

/* ---- solving ---- */

static PlaFemReport
solve_from(Case *c, const PlaFemConditions *conditions, PlaSolverMethod method, double tolerance)
{
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  PlaError err = { 0 };
  options.method = method;
  options.tolerance_rel = tolerance;
  options.max_iterations = 400;
  if (pla_fem_solve(c->model, conditions, &options, c->pos, &report, &err) != PLA_OK)
    g_error("%s", err.message);
  if (report.reason != PLA_STOP_CONVERGED)
    g_error("%s: %s, residual %g", report.method, pla_stop_reason_text(report.reason),
            report.residual_rel);
  return report;
}

static PlaContactSet *
contacts_new(const PlaFemModel *model, PlaCollider *const *colliders, const double *friction,
             int n_colliders, const PlaContactOptions *options)
{
  PlaContactSet *set;
  PlaError err = { 0 };
  if (pla_contact_set_new(model, colliders, friction, n_colliders, options, &set, &err) != PLA_OK)
    g_error("%s", err.message);
  return set;
}

/* a block that stands on a plate at rest and is pressed by its top: the push is that of the bar in
 * compression, points are as deep as the pressure asks for, twice the stiffness gives half the
 * depth */
static void
test_pressed_block(void)
{
  const double size[3] = { 0.02, 0.02, 0.01 }, lo[3] = { -0.01, -0.01, -0.005 },
               hi[3] = { 0.03, 0.03, 0 };
  const int n[3] = { 3, 3, 2 };
  double last = 0.0;
  for (int k = 0; k < 3; k++)
    for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
      Case c = case_new(box_new("neo-hookean", 1e4, 0.3, 1e3, PLA_BOX_TETS_5, size, n));
      PlaCollider *plate = collider_box(lo, hi);
      PlaContactOptions options = pla_contact_options_default();
      options.stiffness = 1e9 * (1 << k);
      options.thickness = 2e-5;
      PlaContactSet *set = contacts_new(c.model, &plate, NULL, 1, &options);
      /* free to widen: the top slides on its prescribed height, two sides are planes of symmetry */
      for (int v = 0; v < c.model->n_verts; v++) {
        for (int d = 0; d < 2; d++)
          c.fixed[3 * v + d] = c.model->rest[3 * v + d] == 0.0;
        c.fixed[3 * v + 2] = c.model->rest[3 * v + 2] == size[2];
        c.target[3 * v + 2] -= 0.001;
      }
      PlaFemConditions conditions = case_conditions(&c);
      conditions.contacts = set;
      PlaFemReport report = solve_from(&c, &conditions, (PlaSolverMethod)method, 1e-10);
      double depth = report.max_penetration_m, force[3];
      pla_contact_set_collider_force(set, 0, c.pos, force);
      g_assert_cmpfloat_with_epsilon(force[2], report.contact_n, 1e-9 * report.contact_n);
      /* points on the rim carry the areas of both of its sides, and are a little less deep */
      g_assert_cmpfloat(force[2], <, options.stiffness * 4e-4 * depth);
      g_assert_cmpfloat(force[2], >, 0.8 * options.stiffness * 4e-4 * depth);
      /* nominal stress of the bar at the stretch that the depth leaves */
      double mu = 1e4 / 2.6, lambda = 1e4 * 0.3 / (1.3 * 0.4), l = (0.009 + depth) / 0.01, s = 1.0;
      for (int i = 0; i < 100; i++) {
        double g = mu * (s - 1 / s) + lambda * log(l * s * s) / s;
        double dg = mu * (1 + 1 / (s * s)) + lambda * (2 - log(l * s * s)) / (s * s);
        s -= g / dg;
      }
      double stress = mu * (l - 1 / l) + lambda * log(l * s * s) / l;
      g_assert_cmpfloat_with_epsilon(force[2], -stress * 4e-4, 1e-3 * force[2]);
      if (k > 0)
        g_assert_cmpfloat_with_epsilon(last / depth, 2.0, 0.02);
      if (method == PLA_SOLVER_PBNG)
        last = depth;
      pla_contact_set_free(set);
      pla_collider_free(plate);
      case_clear(&c);
    }
}

/* ---- scenes ---- */

/* a narrow arm over a wide one, joined at one end */
static bool
is_u(const double c[3])
{
  return c[2] < 0.005 || (fabs(c[1] - 0.01) < 0.005 && (c[0] < 0.01 || c[2] > 0.015));
}

typedef struct {
  Case c;
  PlaCollider *collider[2];
  int n_colliders;
  PlaContactSet *set;
  double extent;
} Scene;

enum { TILTED_PLANE, BALL, ON_EDGE, TWO_BODIES, ARMS, N_SCENES };

static Scene
scene_new(int which)
{
  Scene s = { .extent = 0.02 };
  PlaError err = { 0 };
  PlaContactOptions options = pla_contact_options_default();
  PlaFemModel *model;
  if (which == TWO_BODIES) {
    model = model_of(mesh_join(mesh_box((double[3]){ 0, 0, 0 }, (double[3]){ 0.02, 0.02, 0.01 },
                                        (int[3]){ 4, 4, 2 }, PLA_BOX_TETS_5),
                               mesh_box((double[3]){ 0.004, 0.003, 0.0105 },
                                        (double[3]){ 0.016, 0.017, 0.0205 }, (int[3]){ 3, 3, 2 },
                                        PLA_BOX_TETS_5)),
                     "neo-hookean", 1e4, 0.4, 1e3);
  } else if (which == ARMS) {
    s.extent = 0.04;
    model = model_of(mesh_carve(mesh_box((double[3]){ 0, 0, 0 }, (double[3]){ 0.04, 0.02, 0.02 },
                                         (int[3]){ 8, 4, 4 }, PLA_BOX_TETS_5),
                                is_u),
                     "neo-hookean", 1e4, 0.4, 1e3);
  } else if (which == ON_EDGE) {
    /* a bar across the edge of a plate */
    s.extent = 0.06;
    model = box_new("neo-hookean", 1e4, 0.4, 1e3, PLA_BOX_TETS_6, (double[3]){ 0.06, 0.01, 0.01 },
                    (int[3]){ 9, 2, 2 });
    s.collider[s.n_colliders++] =
        collider_box((double[3]){ 0.033, -0.01, -0.02 }, (double[3]){ 0.08, 0.02, -0.0005 });
  } else {
    model = box_new("neo-hookean", 1e4, 0.4, 1e3, PLA_BOX_TETS_6, (double[3]){ 0.02, 0.02, 0.02 },
                    (int[3]){ 4, 4, 4 });
    if (which == TILTED_PLANE) {
      s.collider[s.n_colliders++] = collider_plane(0, 0, -0.0005, 0.1, 0, 1);
    } else {
      PlaMesh *ball = mesh_ball((double[3]){ 0.01, 0.011, -0.0105 }, 0.01, 4);
      g_assert_cmpint(pla_collider_new_surface(ball, &s.collider[s.n_colliders++], &err), ==,
                      PLA_OK);
      pla_mesh_free(ball);
    }
  }
  s.c = case_new(model);
  for (int v = 0; v < model->n_verts; v++) {
    const double *r = model->rest + 3 * v;
    bool low = r[2]<1e-9, top = r[2]>(which == TWO_BODIES ? 0.0205 : 0.02) - 1e-9;
    if (which == ON_EDGE ? r[0] == 0.0 : which == TWO_BODIES || which == ARMS ? low : top)
      memset(s.c.fixed + 3 * v, 1, 3);
    if (which == TWO_BODIES && top)
      memset(s.c.fixed + 3 * v, 1, 3);
    if (which <= BALL || (which == TWO_BODIES && top))
      s.c.target[3 * v + 2] -= 0.002;
    if (which == ARMS && top && r[0] > 0.02)
      s.c.force[3 * v + 2] = -8e-4;
  }
  if (which == ON_EDGE)
    case_gravity(&s.c, 2, -9.81);
  s.set = contacts_new(model, s.collider, NULL, s.n_colliders, &options);
  return s;
}

static void
scene_clear(Scene *s)
{
  pla_contact_set_free(s->set);
  for (int k = 0; k < s->n_colliders; k++)
    pla_collider_free(s->collider[k]);
  case_clear(&s->c);
}

/* Newton and sweeps meet in the same equilibrium; the same bits for 1, 2 and 4 threads; the push of
 * obstacles balances the supports; released, everything returns to rest */
static void
test_scene(const void *data)
{
  const int which = GPOINTER_TO_INT(data);
  Scene s = scene_new(which);
  const size_t n = 3 * (size_t)s.c.model->n_verts;
  PlaFemConditions conditions = case_conditions(&s.c);
  double *first = NULL;
  conditions.contacts = s.set;
  for (int method = PLA_SOLVER_AUTO; method <= PLA_SOLVER_PBNG; method++) {
    double *bits = NULL;
    PlaFemReport report;
    for (int threads = 1; threads <= 4; threads *= 2) {
      pla_threads_set(threads);
      memcpy(s.c.pos, s.c.model->rest, n * sizeof(double));
      report = solve_from(&s.c, &conditions, (PlaSolverMethod)method, 1e-7);
      if (!bits)
        bits = g_memdup2(s.c.pos, n * sizeof(double));
      g_assert_cmpmem(bits, n * sizeof(double), s.c.pos, n * sizeof(double));
    }
    pla_threads_set(0);
    g_test_message("%s: %d iterations, %d contacts, %.4g N, penetration %.3g mm, smallest J %.3f",
                   report.method, report.iterations, report.contacts, report.contact_n,
                   report.max_penetration_m * 1e3, report.min_jacobian);
    g_assert_cmpint(report.contacts, >, 2);
    g_assert_cmpint(report.inverted, ==, 0);
    g_assert_cmpfloat(report.max_penetration_m, <, 1e-4 * s.extent);
    if (!first)
      first = g_memdup2(s.c.pos, n * sizeof(double));
    g_assert_cmpfloat(largest_difference(first, s.c.pos, s.c.model->n_verts), <, 1e-5 * s.extent);
    g_free(bits);
  }

  /* obstacles, loads and supports are in balance */
  double *reaction = g_new(double, n), total[3] = { 0 }, size = 0.0;
  PlaError err = { 0 };
  g_assert_cmpint(pla_contact_set_update(s.set, s.c.pos, 0.0, &err), ==, PLA_OK);
  g_assert_cmpint(pla_fem_reactions(s.c.model, &conditions, s.c.pos, reaction, &err), ==, PLA_OK);
  for (int k = 0; k < s.n_colliders; k++) {
    double force[3];
    pla_contact_set_collider_force(s.set, k, s.c.pos, force);
    for (int d = 0; d < 3; d++)
      total[d] += force[d];
  }
  for (size_t i = 0; i < n; i++) {
    total[i % 3] += reaction[i] + s.c.force[i];
    size += fabs(reaction[i]) + fabs(s.c.force[i]);
  }
  for (int d = 0; d < 3; d++)
    g_assert_cmpfloat(fabs(total[d]), <, 1e-5 * size);

  /* nothing sticks */
  memcpy(s.c.target, s.c.model->rest, n * sizeof(double));
  memset(s.c.force, 0, n * sizeof(double));
  solve_from(&s.c, &conditions, PLA_SOLVER_NEWTON, 1e-8);
  g_assert_cmpfloat(largest_difference(s.c.pos, s.c.model->rest, s.c.model->n_verts), <,
                    1e-6 * s.extent);
  g_free(first);
  g_free(reaction);
  scene_clear(&s);
}

/* a block is pushed against a plate of a fiftieth of its size by ten times that, at once */
static void
test_thin_plate(void)
{
  const double size[3] = { 0.02, 0.02, 0.02 };
  const int n[3] = { 4, 4, 4 };
  for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
    Case c = case_new(box_new("neo-hookean", 1e4, 0.3, 1e3, PLA_BOX_TETS_6, size, n));
    PlaCollider *plate =
        collider_box((double[3]){ -0.01, -0.01, -0.0014 }, (double[3]){ 0.03, 0.03, -0.001 });
    PlaContactOptions options = pla_contact_options_default();
    PlaContactSet *set = contacts_new(c.model, &plate, NULL, 1, &options);
    for (int v = 0; v < c.model->n_verts; v++)
      if (c.model->rest[3 * v + 2] == size[2]) {
        memset(c.fixed + 3 * v, 1, 3);
        c.target[3 * v + 2] -= 0.004;
      }
    PlaFemConditions conditions = case_conditions(&c);
    conditions.contacts = set;
    PlaFemReport report = solve_from(&c, &conditions, (PlaSolverMethod)method, 1e-6);
    g_test_message("%s: penetration %g mm", report.method, report.max_penetration_m * 1e3);
    g_assert_cmpfloat(report.max_penetration_m, ==, 0.0);
    for (int v = 0; v < c.model->n_verts; v++)
      g_assert_cmpfloat(c.pos[3 * v + 2], >, -0.001);
    pla_contact_set_free(set);
    pla_collider_free(plate);
    case_clear(&c);
  }
}

/* two strands joined at both ends */
static bool
is_rope(const double c[3])
{
  return c[0] < 0.01 || c[0] > 0.07 || c[2] < 0.008 || c[2] > 0.012;
}

/* vertices of one strand inside a tet of the other */
static int
crossings(const PlaFemModel *model, const double *pos)
{
  int n = 0;
  for (int t = 0; t < model->n_tets; t++) {
    const int *tet = model->tet + 4 * t;
    double edge[9], inverse[9], middle = 0.0;
    for (int a = 0; a < 4; a++)
      middle += 0.25 * model->rest[3 * tet[a] + 2];
    for (int k = 0; k < 9; k++)
      edge[k] = pos[3 * tet[k % 3 + 1] + k / 3] - pos[3 * tet[0] + k / 3];
    pla_mat3_invert(edge, inverse);
    for (int v = 0; v < model->n_verts; v++) {
      double d[3], w[3];
      /* a strand is above or below the slit */
      if ((model->rest[3 * v + 2] > 0.01) == (middle > 0.01) || model->rest[3 * v] < 0.011 ||
          model->rest[3 * v] > 0.069)
        continue;
      pla_vec3_sub(pos + 3 * v, pos + 3 * tet[0], d);
      pla_mat3_apply(inverse, d, w);
      n += w[0] > 0.0 && w[1] > 0.0 && w[2] > 0.0 && w[0] + w[1] + w[2] < 1.0;
    }
  }
  return n;
}

/* sifakis 19: a bar with a slit, twisted by half a turn: its strands wind round and press each
 * other, do not pass, and let go when it is turned back; without contact they would pass */
static void
test_twisted_bar(void)
{
  enum { STEPS = 8 };
  for (int touching = 0; touching < 2; touching++) {
    Case c = case_new(
        model_of(mesh_carve(mesh_box((double[3]){ 0, 0, 0 }, (double[3]){ 0.08, 0.012, 0.02 },
                                     (int[3]){ 16, 3, 5 }, PLA_BOX_TETS_5),
                            is_rope),
                 "neo-hookean", 1e4, 0.3, 1e3));
    PlaContactOptions options = pla_contact_options_default();
    PlaContactSet *set = contacts_new(c.model, NULL, NULL, 0, &options);
    PlaFemConditions conditions = case_conditions(&c);
    PlaError err = { 0 };
    conditions.contacts = touching ? set : NULL;
    case_hold(&c, 0.0);
    case_hold(&c, 0.08);
    for (int step = 1; step <= STEPS; step++) {
      case_turn(&c, 0.08, 0.006, 0.01, 1.25 * G_PI * step / STEPS, 0.0);
      if (touching)
        g_assert_cmpint(pla_contact_set_begin_step(set, c.pos, NULL, &err), ==, PLA_OK);
      PlaFemReport report = solve_from(&c, &conditions, PLA_SOLVER_NEWTON, 1e-6);
      g_assert_cmpfloat(report.max_penetration_m, <, 0.01 * 0.08);
      g_assert_cmpint(report.inverted, ==, 0);
      if (step == STEPS) {
        int crossed = crossings(c.model, c.pos);
        g_test_message(
            "%d contacts, %.3g N, penetration %g mm, %d vertices inside the other strand",
            report.contacts, report.contact_n, 1e3 * report.max_penetration_m, crossed);
        g_assert_true((crossed > 0) == !touching);
        g_assert_true((report.contacts > 4) == touching);
      }
    }
    /* back */
    for (int step = STEPS - 1; touching && step >= 0; step--) {
      case_turn(&c, 0.08, 0.006, 0.01, 1.25 * G_PI * step / STEPS, 0.0);
      g_assert_cmpint(pla_contact_set_begin_step(set, c.pos, NULL, &err), ==, PLA_OK);
      solve_from(&c, &conditions, PLA_SOLVER_NEWTON, 1e-6);
    }
    if (touching)
      g_assert_cmpfloat(largest_difference(c.pos, c.model->rest, c.model->n_verts), <, 1e-6 * 0.08);
    pla_contact_set_free(set);
    case_clear(&c);
  }
}

/* what is near a bent bar's surface is found as by trying every triangle */
static void
test_bent(void)
{
  Case c = case_new(box_new("neo-hookean", 1e4, 0.3, 1e3, PLA_BOX_TETS_5,
                            (double[3]){ 0.08, 0.01, 0.01 }, (int[3]){ 16, 2, 2 }));
  const PlaFemModel *model = c.model;
  PlaContactOptions options = pla_contact_options_default();
  options.thickness = 0.002;
  PlaContactSet *set = contacts_new(model, NULL, NULL, 0, &options);
  PlaError err = { 0 };
  /* a quarter of a circle */
  for (int v = 0; v < model->n_verts; v++) {
    const double *r = model->rest + 3 * v;
    double radius = 0.08 / (0.5 * G_PI), angle = r[0] / radius;
    c.pos[3 * v] = (radius - r[2]) * sin(angle);
    c.pos[3 * v + 2] = radius - (radius - r[2]) * cos(angle);
  }
  g_assert_cmpint(pla_contact_set_update(set, c.pos, 0.0, &err), ==, PLA_OK);
  g_autoptr(GRand) rand = g_rand_new_with_seed(9);
  const PlaSurfacePoint stranger = { .piece = 1 };
  int inside = 0, outside = 0;
  for (int i = 0; i < 400; i++) {
    double x[3], best = INFINITY, at[3];
    PlaFeature near[PLA_MOST_FEATURES];
    x[0] = g_rand_double_range(rand, -0.005, 0.055);
    x[1] = g_rand_double_range(rand, -0.005, 0.015);
    x[2] = g_rand_double_range(rand, -0.005, 0.055);
    for (int t = 0; t < set->n_tris; t++) {
      const int *v = set->tri + 3 * t;
      best = fmin(best, pla_triangle_nearest(c.pos + 3 * v[0], c.pos + 3 * v[1], c.pos + 3 * v[2],
                                             x, at));
    }
    best = sqrt(best);
    PlaTriMesh surface = { model->n_verts, set->n_tris, c.pos, set->tri };
    bool in = pla_winding_exact(&surface, x) > 0.5;
    int n = pla_contact_piece_near(set, 0, &stranger, x, NULL, 0.004, near), total = 0;
    if (best > 0.004 && !in) {
      g_assert_cmpint(n, ==, 0);
      continue;
    }
    double least = INFINITY;
    for (int k = 0; k < n; k++) {
      least = fmin(least, near[k].distance);
      total += near[k].count;
      /* the weights give the nearest place */
      for (int d = 0; d < 3; d++) {
        at[d] = 0.0;
        for (int a = 0; a < near[k].n_verts; a++)
          at[d] += near[k].weight[a] * c.pos[3 * near[k].vert[a] + d];
        g_assert_cmpfloat_with_epsilon(x[d] - at[d], near[k].distance * near[k].direction[d],
                                       1e-10);
      }
    }
    g_assert_cmpfloat_with_epsilon(fabs(least), best, 1e-12);
    g_assert_true((least < 0.0) == in);
    /* seen from outside, what is near is one surface, however many faces it has */
    g_assert_cmpint(total, ==, 1);
    inside += in;
    outside += !in;
  }
  g_assert_cmpint(inside, >, 20);
  g_assert_cmpint(outside, >, 50);
  pla_contact_set_free(set);
  case_clear(&c);
}

/* pieces that touch or overlap at rest do not push at rest */
static void
test_touching_at_rest(void)
{
  for (int k = 0; k < 3; k++) {
    const double gap = (k - 1) * 2e-5;
    PlaFemModel *model = model_of(
        mesh_join(mesh_box((double[3]){ 0, 0, 0 }, (double[3]){ 0.02, 0.02, 0.01 },
                           (int[3]){ 3, 3, 2 }, PLA_BOX_TETS_5),
                  mesh_box((double[3]){ 0, 0, 0.01 + gap }, (double[3]){ 0.02, 0.02, 0.02 + gap },
                           (int[3]){ 3, 3, 2 }, PLA_BOX_TETS_5)),
        "neo-hookean", 1e4, 0.4, 1e3);
    PlaContactOptions options = pla_contact_options_default();
    PlaContactSet *set = contacts_new(model, NULL, NULL, 0, &options);
    PlaContactReport report;
    PlaError err = { 0 };
    g_assert_cmpint(pla_contact_set_update(set, model->rest, 0.0, &err), ==, PLA_OK);
    pla_contact_set_report(set, model->rest, &report);
    g_assert_cmpfloat(report.normal_force, <, 1e-9);
    pla_contact_set_free(set);
    pla_fem_model_free(model);
  }
}

/* a block that only a plate holds finds its place under gravity */
static void
test_resting(void)
{
  const double size[3] = { 0.02, 0.02, 0.02 };
  Case c =
      case_new(box_new("neo-hookean", 1e4, 0.3, 1e3, PLA_BOX_TETS_5, size, (int[3]){ 3, 3, 3 }));
  PlaCollider *plane = collider_plane(0, 0, -0.003, 0, 0, 1);
  PlaContactOptions options = pla_contact_options_default();
  PlaContactSet *set = contacts_new(c.model, &plane, NULL, 1, &options);
  PlaFemConditions conditions = case_conditions(&c);
  double force[3], weight = 8e-6 * 1e3 * 9.81;
  conditions.contacts = set;
  case_gravity(&c, 2, -9.81);
  solve_from(&c, &conditions, PLA_SOLVER_AUTO, 1e-6);
  pla_contact_set_collider_force(set, 0, c.pos, force);
  g_assert_cmpfloat_with_epsilon(force[2], weight, 1e-5 * weight);
  pla_contact_set_free(set);
  pla_collider_free(plane);
  case_clear(&c);
}

/* a block pressed onto a rough plate and dragged: it holds while the drag is less than friction
 * times the push, then slides with exactly that */
static void
test_friction(void)
{
  const double size[3] = { 0.02, 0.02, 0.01 }, mu = 0.4;
  for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
    Case c =
        case_new(box_new("neo-hookean", 1e4, 0.3, 1e3, PLA_BOX_TETS_5, size, (int[3]){ 3, 3, 2 }));
    PlaCollider *plane = collider_plane(0, 0, 0, 0, 0, 1);
    PlaContactOptions options = pla_contact_options_default();
    PlaContactSet *set = contacts_new(c.model, &plane, &mu, 1, &options);
    PlaFemConditions conditions = case_conditions(&c);
    const size_t n = 3 * (size_t)c.model->n_verts;
    double *reaction = g_new(double, n), slid[2] = { 0 };
    PlaError err = { 0 };
    conditions.contacts = set;
    for (int v = 0; v < c.model->n_verts; v++)
      if (c.model->rest[3 * v + 2] == size[2]) {
        memset(c.fixed + 3 * v, 1, 3);
        c.target[3 * v + 2] -= 0.0005;
      }
    solve_from(&c, &conditions, (PlaSolverMethod)method, 1e-7);
    for (int step = 0; step < 8; step++) {
      for (int v = 0; v < c.model->n_verts; v++)
        if (c.model->rest[3 * v + 2] == size[2])
          c.target[3 * v] += 0.0002;
      g_assert_cmpint(pla_contact_set_begin_step(set, c.pos, NULL, &err), ==, PLA_OK);
      solve_from(&c, &conditions, (PlaSolverMethod)method, 1e-7);
      double sum[3] = { 0 }, base = 0.0;
      int n_base = 0;
      g_assert_cmpint(pla_fem_reactions(c.model, &conditions, c.pos, reaction, &err), ==, PLA_OK);
      for (size_t i = 0; i < n; i++)
        sum[i % 3] += reaction[i];
      for (int v = 0; v < c.model->n_verts; v++)
        if (c.model->rest[3 * v + 2] == 0.0) {
          base += c.pos[3 * v] - c.model->rest[3 * v];
          n_base++;
        }
      g_assert_cmpfloat(fabs(sum[0]), <=, mu * fabs(sum[2]) * 1.0001);
      if (step == 0)
        slid[0] = base / n_base;
      if (step == 7) {
        g_assert_cmpfloat_with_epsilon(fabs(sum[0]), mu * fabs(sum[2]), 0.02 * mu * fabs(sum[2]));
        slid[1] = base / n_base;
      }
    }
    /* stuck at first but for the creep that the smoothing allows, then far */
    g_assert_cmpfloat(fabs(slid[0]), <, 2.0 * options.slip + 1e-5);
    g_assert_cmpfloat(slid[1], >, 2e-4);
    g_free(reaction);
    pla_contact_set_free(set);
    pla_collider_free(plane);
    case_clear(&c);
  }
}

/* two blocks with a slit between them: lifted, the upper one leaves unless fascia links them; moved
 * sideways, it slides along freely in either case */
static void
test_fascia(void)
{
  double lift[2], drag[2];
  for (int linked = 0; linked < 2; linked++)
    for (int sideways = 0; sideways < 2; sideways++) {
      PlaFemModel *model =
          model_of(mesh_join(mesh_box((double[3]){ 0, 0, 0 }, (double[3]){ 0.02, 0.02, 0.01 },
                                      (int[3]){ 4, 4, 2 }, PLA_BOX_TETS_5),
                             mesh_box((double[3]){ 0.005, 0.005, 0.0102 },
                                      (double[3]){ 0.015, 0.015, 0.0202 }, (int[3]){ 3, 3, 2 },
                                      PLA_BOX_TETS_5)),
                   "neo-hookean", 1e4, 0.4, 1e3);
      Case c = case_new(model);
      PlaContactOptions options = pla_contact_options_default();
      options.link_radius = linked ? 0.002 : 0.0;
      PlaContactSet *set = contacts_new(model, NULL, NULL, 0, &options);
      PlaFemConditions conditions = case_conditions(&c);
      conditions.contacts = set;
      for (int v = 0; v < model->n_verts; v++) {
        double z = model->rest[3 * v + 2];
        if (z < 1e-9 || z > 0.0202 - 1e-9)
          memset(c.fixed + 3 * v, 1, 3);
        if (z > 0.0202 - 1e-9)
          c.target[3 * v + (sideways ? 0 : 2)] += 0.001;
      }
      solve_from(&c, &conditions, PLA_SOLVER_NEWTON, 1e-7);
      double *reaction = g_new(double, 3 * model->n_verts), sum[3] = { 0 };
      PlaError err = { 0 };
      g_assert_cmpint(pla_fem_reactions(model, &conditions, c.pos, reaction, &err), ==, PLA_OK);
      for (int v = 0; v < model->n_verts; v++)
        for (int d = 0; d < 3 && model->rest[3 * v + 2] > 0.0202 - 1e-9; d++)
          sum[d] += reaction[3 * v + d];
      if (sideways)
        drag[linked] = sum[0];
      else
        lift[linked] = sum[2];
      g_free(reaction);
      pla_contact_set_free(set);
      case_clear(&c);
    }
  g_test_message("lift %.4g and %.4g N, drag %.4g and %.4g N", lift[0], lift[1], drag[0], drag[1]);
  g_assert_cmpfloat(fabs(lift[0]), <, 1e-9);
  g_assert_cmpfloat(lift[1], >, 0.02);
  g_assert_cmpfloat(fabs(drag[0]), <, 1e-9);
  g_assert_cmpfloat(fabs(drag[1]), <, 0.02 * lift[1]);
}

int
main(int argc, char **argv)
{
  static const char *const name[N_SCENES] = { "tilted-plane", "ball", "on-edge", "two-bodies",
                                              "arms" };
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/contact/distances", test_distances);
  g_test_add_func("/contact/bad-colliders", test_bad_colliders);
  g_test_add_func("/contact/trace", test_trace);
  g_test_add_func("/contact/laws", test_laws);
  g_test_add_func("/contact/pressed-block", test_pressed_block);
  for (int k = 0; k < N_SCENES; k++) {
    g_autofree char *path = g_strdup_printf("/contact/scene/%s", name[k]);
    g_test_add_data_func(path, GINT_TO_POINTER(k), test_scene);
  }
  g_test_add_func("/contact/thin-plate", test_thin_plate);
  if (!g_getenv("PLA_SMALL"))
    g_test_add_func("/contact/twisted-bar", test_twisted_bar);
  g_test_add_func("/contact/bent", test_bent);
  g_test_add_func("/contact/touching-at-rest", test_touching_at_rest);
  g_test_add_func("/contact/resting", test_resting);
  g_test_add_func("/contact/friction", test_friction);
  g_test_add_func("/contact/fascia", test_fascia);
  return g_test_run();
}
