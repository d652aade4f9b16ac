/* Pressure, springs and bound vertices: forces as slopes, closed forms, balance with the supports,
 * the same equilibrium from both solvers. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/boundary.h"
#include "sim/solve/solve.h"
#include "sim/solve/terms.h"
#include "tests/sim/contact/scenes.h"

static const PlaBoxCells all_cells[3] = { PLA_BOX_HEXES, PLA_BOX_TETS_6, PLA_BOX_TETS_5 };

static PlaBoundary
boundary_of(const PlaFemModel *model, bool both)
{
  PlaBoundary boundary;
  PlaError err = { 0 };
  PlaTetMesh tets = { model->n_verts, model->n_tets, model->rest, model->tet };
  PlaHexMesh hexes = { model->n_verts, model->n_hexes, model->rest, model->hex };
  g_assert_cmpint(pla_boundary_init(&boundary, &tets, &hexes, both, &err), ==, PLA_OK);
  return boundary;
}

/* the boundary of a box is closed, faces outwards and has its area and volume */
static void
test_boundary(void)
{
  const double size[3] = { 0.3, 0.2, 0.1 };
  const int n[3] = { 3, 2, 4 };
  for (int k = 0; k < 3; k++)
    for (int both = 0; both < 2; both++) {
      PlaFemModel *model = box_new("neo-hookean", 1e4, 0.3, 1e3, all_cells[k], size, n);
      PlaBoundary b = boundary_of(model, both);
      double area = 0.0, volume = 0.0;
      for (int t = 0; t < b.n_tris; t++) {
        const double *x[3];
        double e1[3], e2[3], c[3];
        for (int a = 0; a < 3; a++)
          x[a] = model->rest + 3 * b.tri[3 * t + a];
        pla_vec3_sub(x[1], x[0], e1);
        pla_vec3_sub(x[2], x[0], e2);
        pla_vec3_cross(e1, e2, c);
        area += b.share[t] * pla_vec3_norm(c) / 2.0;
        volume += b.share[t] * pla_vec3_dot(x[0], c) / 6.0;
      }
      g_assert_cmpfloat_with_epsilon(area, 2 * (0.06 + 0.03 + 0.02), 1e-14);
      g_assert_cmpfloat_with_epsilon(volume, 0.006, 1e-15);
      int quads = 2 * (n[0] * n[1] + n[1] * n[2] + n[2] * n[0]);
      g_assert_cmpint(b.n_tris, ==, (k == 0 && both ? 4 : 2) * quads);
      pla_boundary_clear(&b);
      pla_fem_model_free(model);
    }
}

static double *
shaken(const PlaFemModel *model, double amount, guint32 seed)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  double *pos = pla_array_dup(model->rest, (size_t)model->n_verts, 3 * sizeof *pos);
  for (int i = 0; i < 3 * model->n_verts; i++)
    pos[i] += g_rand_double_range(rand, -amount, amount);
  return pos;
}

/* on a closed surface: no net force or torque, forces are slopes of the work, the stiffness is the
 * slope of the forces, and the work does not depend on the path */
static void
test_pressure_derivatives(void)
{
  const double size[3] = { 0.03, 0.02, 0.02 };
  const int n[3] = { 3, 2, 2 };
  PlaFemModel *model = box_new("neo-hookean", 1e4, 0.3, 1e3, PLA_BOX_TETS_5, size, n);
  PlaBoundary b = boundary_of(model, false);
  const int nv = model->n_verts;
  double *p = g_new(double, b.n_tris), *force = g_new0(double, 3 * nv);
  for (int t = 0; t < b.n_tris; t++)
    p[t] = 700.0;
  PlaFemPressure pressure = { b.n_tris, b.tri, p };
  double *pos = shaken(model, 0.002, 3), *other = shaken(model, 0.002, 4);
  pla_pressure_add_forces(&pressure, pos, force);
  double sum[3] = { 0 }, torque[3] = { 0 }, size_n = pla_max_abs(force, 3 * (size_t)nv);
  for (int v = 0; v < nv; v++) {
    double c[3];
    pla_vec3_cross(pos + 3 * v, force + 3 * v, c);
    for (int d = 0; d < 3; d++) {
      sum[d] += force[3 * v + d];
      torque[d] += c[d];
    }
  }
  g_assert_cmpfloat(pla_vec3_norm(sum), <, 1e-13 * size_n);
  g_assert_cmpfloat(pla_vec3_norm(torque), <, 1e-14 * size_n);

  double straight = pla_pressure_work(&pressure, pos, other);
  double bent = pla_pressure_work(&pressure, pos, model->rest) +
                pla_pressure_work(&pressure, model->rest, other);
  g_assert_cmpfloat_with_epsilon(straight, bent, 1e-12 * fabs(straight));

  double *k = g_new0(double, (gsize)(9 * nv * nv)), *there = g_new0(double, 3 * nv);
  for (int t = 0; t < b.n_tris; t++) {
    double local[81];
    pla_pressure_stiffness(&pressure, t, pos, local);
    for (int i = 0; i < 9; i++)
      for (int j = 0; j < 9; j++)
        k[3 * nv * (3 * b.tri[3 * t + i / 3] + i % 3) + 3 * b.tri[3 * t + j / 3] + j % 3] +=
            local[9 * i + j];
  }
  const double h = 1e-6;
  for (int i = 0; i < 3 * nv; i += 7) {
    double keep = pos[i], slope[2];
    for (int s = 0; s < 2; s++) {
      pos[i] = keep + (s ? -h : h);
      slope[s] = pla_pressure_work(&pressure, model->rest, pos);
    }
    g_assert_cmpfloat_with_epsilon((slope[0] - slope[1]) / (2 * h), force[i], 1e-7 * size_n);
    /* the force is quadratic: central differences are exact */
    memset(there, 0, 3 * (size_t)nv * sizeof *there);
    pla_pressure_add_forces(&pressure, pos, there);
    double *back = g_new0(double, 3 * nv);
    pos[i] = keep + h;
    pla_pressure_add_forces(&pressure, pos, back);
    for (int j = 0; j < 3 * nv; j++)
      g_assert_cmpfloat_with_epsilon((there[j] - back[j]) / (2 * h), k[3 * nv * j + i],
                                     1e-7 * size_n / 0.002);
    g_free(back);
    pos[i] = keep;
  }
  g_free(k);
  g_free(p);
  g_free(force);
  g_free(there);
  free(pos);
  free(other);
  pla_boundary_clear(&b);
  pla_fem_model_free(model);
}

/* on a patch with a free rim, both parts together are the slope of the forces, and the second alone
 * is the half that no energy has: disp . part = 0 for every disp */
static void
test_pressure_rim(void)
{
  const double size[3] = { 0.03, 0.02, 0.02 };
  const int n[3] = { 3, 2, 2 };
  PlaFemModel *model = box_new("neo-hookean", 1e4, 0.3, 1e3, PLA_BOX_TETS_6, size, n);
  PlaBoundary b = boundary_of(model, false);
  const int nv = model->n_verts, n_open = b.n_tris / 3;
  double *p = g_new(double, n_open), *pos = shaken(model, 0.002, 5), *to = shaken(model, 0.002, 6);
  double *disp = g_new(double, 3 * nv), *there = g_new0(double, 3 * nv),
         *back = g_new0(double, 3 * nv);
  double *part = g_new0(double, 3 * nv), *slope = g_new0(double, 3 * nv), most = 0.0;
  for (int t = 0; t < n_open; t++)
    p[t] = 500.0 + 100.0 * (t % 3);
  PlaFemPressure pressure = { n_open, b.tri, p };
  for (int i = 0; i < 3 * nv; i++) {
    disp[i] = to[i] - pos[i];
    to[i] = pos[i] - disp[i];
  }
  pla_pressure_add_forces(&pressure, to, there);
  for (int i = 0; i < 3 * nv; i++)
    to[i] = pos[i] + disp[i];
  pla_pressure_add_forces(&pressure, to, back);
  pla_pressure_add_rim(&pressure, pos, disp, part);
  memcpy(slope, part, 3 * (size_t)nv * sizeof *slope);
  for (int t = 0; t < n_open; t++) {
    double local[81];
    pla_pressure_stiffness(&pressure, t, pos, local);
    for (int i = 0; i < 9; i++)
      for (int j = 0; j < 9; j++)
        slope[3 * b.tri[3 * t + i / 3] + i % 3] +=
            local[9 * i + j] * disp[3 * b.tri[3 * t + j / 3] + j % 3];
  }
  const double size_n = pla_max_abs(slope, 3 * (size_t)nv);
  /* the force is quadratic: central differences are exact */
  for (int i = 0; i < 3 * nv; i++) {
    g_assert_cmpfloat_with_epsilon((there[i] - back[i]) / 2.0, slope[i], 1e-12 * size_n);
    most = fmax(most, fabs(part[i]));
  }
  g_assert_cmpfloat(most, >, 0.01 * size_n);
  g_assert_cmpfloat(fabs(pla_dot(disp, part, 3 * (size_t)nv)), <, 1e-12 * size_n * 0.01);
  g_free(p);
  g_free(disp);
  g_free(there);
  g_free(back);
  g_free(part);
  g_free(slope);
  free(pos);
  free(to);
  pla_boundary_clear(&b);
  pla_fem_model_free(model);
}

static PlaFemReport
solve(Case *c, const PlaFemConditions *conditions, PlaSolverMethod method, double tolerance)
{
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  PlaError err = { 0 };
  options.method = method;
  options.tolerance_rel = tolerance;
  memcpy(c->pos, c->model->rest, 3 * (size_t)c->model->n_verts * sizeof *c->pos);
  if (pla_fem_solve(c->model, conditions, &options, c->pos, &report, &err) != PLA_OK)
    g_error("%s", err.message);
  g_test_message("%s: residual %g, energy %g, %d iterations", report.method, report.residual_rel,
                 report.energy_j, report.iterations);
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  return report;
}

/* a box squeezed from all sides: every edge shrinks by s with (mu (s - 1/s) + 3 lambda ln(s) / s)
 * = -p s^2 */
static void
test_hydrostatic(void)
{
  const double size[3] = { 0.03, 0.02, 0.02 }, young = 1e4, nu = 0.3, p = 2500.0;
  const double mu = young / (2 * (1 + nu)), lambda = young * nu / ((1 + nu) * (1 - 2 * nu));
  const int n[3] = { 3, 2, 2 };
  double lo = 0.5, hi = 1.0;
  for (int i = 0; i < 200; i++) {
    double s = 0.5 * (lo + hi);
    (mu * (s - 1 / s) + 3 * lambda * log(s) / s + p * s * s > 0.0 ? &hi : &lo)[0] = s;
  }
  for (int k = 0; k < 3; k++)
    for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
      Case c = case_new(box_new("neo-hookean", young, nu, 1e3, all_cells[k], size, n));
      PlaBoundary b = boundary_of(c.model, true);
      double *load = g_new(double, b.n_tris);
      for (int t = 0; t < b.n_tris; t++)
        load[t] = p * b.share[t];
      PlaFemPressure pressure = { b.n_tris, b.tri, load };
      PlaFemConditions conditions = case_conditions(&c);
      conditions.pressure = &pressure;
      /* three planes of symmetry */
      for (int i = 0; i < 3 * c.model->n_verts; i++)
        c.fixed[i] = c.model->rest[i] == 0.0;
      PlaFemReport report = solve(&c, &conditions, (PlaSolverMethod)method, 1e-9);
      for (int i = 0; i < 3 * c.model->n_verts; i++)
        g_assert_cmpfloat_with_epsilon(c.pos[i], lo * c.model->rest[i], 1e-9);
      /* elastic energy, less the pressure times the lost volume */
      double volume = size[0] * size[1] * size[2], j = lo * lo * lo;
      double density = 0.5 * mu * (3 * lo * lo - 3) - mu * log(j) + 0.5 * lambda * log(j) * log(j);
      g_assert_cmpfloat_with_epsilon(report.energy_j, volume * (density - p * (1 - j)),
                                     1e-9 * volume * p);
      g_free(load);
      pla_boundary_clear(&b);
      case_clear(&c);
    }
}

/* pressure on one end of a bar, whose rim is free, and a hook at its corner: the supports carry
 * what acts, and the hook reports its pull */
static void
test_reactions(void)
{
  const double size[3] = { 0.06, 0.02, 0.02 };
  const int n[3] = { 6, 2, 2 };
  double first[3] = { 0 }, energy[3] = { 0 };
  for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
    Case c = case_new(box_new("neo-hookean", 1e4, 0.4, 1e3, PLA_BOX_TETS_5, size, n));
    const PlaFemModel *model = c.model;
    PlaBoundary b = boundary_of(model, false);
    int *tri = g_new(int, 3 * b.n_tris), n_tris = 0;
    double *load = g_new(double, b.n_tris);
    for (int t = 0; t < b.n_tris; t++) {
      bool end = true;
      for (int a = 0; a < 3; a++)
        end &= model->rest[3 * b.tri[3 * t + a]] == size[0];
      if (end) {
        memcpy(tri + 3 * n_tris, b.tri + 3 * t, 3 * sizeof *tri);
        load[n_tris++] = 900.0;
      }
    }
    g_assert_cmpint(n_tris, ==, 8);
    PlaFemPressure pressure = { n_tris, tri, load };
    PlaSpring hook = { .n_verts = 2,
                       .vert = { model->n_verts - 1, model->n_verts - 2 },
                       .weight = { 0.75, 0.25 },
                       .offset = { 0.06, 0.03, 0.04 } };
    const double up[3] = { 0, 0, 1 };
    pla_spring_set_stiffness(&hook, up, 20.0, 3.0);
    PlaFemSprings springs = { 1, &hook };
    case_hold(&c, 0.0);
    case_gravity(&c, 2, -9.81);
    PlaFemConditions conditions = case_conditions(&c);
    conditions.pressure = &pressure;
    conditions.springs = &springs;
    PlaFemReport report = solve(&c, &conditions, (PlaSolverMethod)method, 1e-9);
    /* with the whole tangent, steps converge as Newton's do */
    if (method == PLA_SOLVER_NEWTON)
      g_assert_cmpint(report.iterations, <=, 12);
    energy[method] = report.energy_j;
    double *reaction = g_new(double, 3 * model->n_verts), pull[3], total[3];
    double *acting = g_new0(double, 3 * model->n_verts);
    PlaError err = { 0 };
    g_assert_cmpint(pla_fem_reactions(model, &conditions, c.pos, reaction, &err), ==, PLA_OK);
    pla_spring_force(&hook, c.pos, pull);
    memcpy(total, pull, sizeof pull);
    pla_pressure_add_forces(&pressure, c.pos, acting);
    for (int v = 0; v < model->n_verts; v++)
      for (int d = 0; d < 3; d++)
        total[d] += reaction[3 * v + d] + acting[3 * v + d] + c.force[3 * v + d];
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat(fabs(total[d]), <, 1e-8);
    g_assert_cmpfloat(pull[2], >, 0.05);
    if (method == PLA_SOLVER_NEWTON)
      memcpy(first, c.pos + 3 * (model->n_verts - 1), sizeof first);
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(c.pos[3 * (model->n_verts - 1) + d], first[d], 1e-5 * size[0]);
    g_free(reaction);
    g_free(acting);
    g_free(tri);
    g_free(load);
    pla_boundary_clear(&b);
    case_clear(&c);
  }
  g_assert_cmpfloat_with_epsilon(energy[PLA_SOLVER_PBNG], energy[PLA_SOLVER_NEWTON],
                                 1e-7 * fabs(energy[PLA_SOLVER_NEWTON]));
}

/* two blocks held together by soft bindings between interpolated points of their faces, stiff along
 * the normal and soft across: both solvers find the same shape, whatever the order of the springs,
 * and the bindings carry what the support does */
static void
test_soft_bindings(void)
{
  double *first = NULL;
  for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++)
    for (int reversed = 0; reversed < 2; reversed++) {
      PlaFemModel *model =
          model_of(mesh_join(mesh_box((double[3]){ 0, 0, 0 }, (double[3]){ 0.02, 0.02, 0.02 },
                                      (int[3]){ 2, 2, 2 }, PLA_BOX_HEXES),
                             mesh_box((double[3]){ 0.02, 0, 0 }, (double[3]){ 0.04, 0.02, 0.02 },
                                      (int[3]){ 3, 3, 3 }, PLA_BOX_HEXES)),
                   "neo-hookean", 1e4, 0.3, 1e3);
      Case c = case_new(model);
      PlaSpring spring[4];
      /* the middles of the four quads of the left block's face, each a mean of four vertices, and
       * where they are on the right block's face */
      for (int q = 0; q < 4; q++) {
        PlaSpring s = { .n_verts = 0 };
        double y = 0.005 + 0.01 * (q % 2), z = 0.005 + 0.01 * (q / 2);
        for (int v = 0; v < model->n_verts; v++) {
          const double *x = model->rest + 3 * v, h = v < 27 ? 0.01 : 0.02 / 3.0;
          double w = (1.0 - fabs(x[1] - y) / h) * (1.0 - fabs(x[2] - z) / h);
          if (fabs(x[0] - 0.02) > 1e-9 || fabs(x[1] - y) >= h || fabs(x[2] - z) >= h)
            continue;
          s.vert[s.n_verts] = v;
          s.weight[s.n_verts++] = v < 27 ? w : -w;
        }
        g_assert_cmpint(s.n_verts, ==, 8);
        pla_spring_set_stiffness(&s, (double[3]){ 1, 0, 0 }, 200.0, 20.0);
        spring[reversed ? 3 - q : q] = s;
      }
      PlaFemSprings springs = { 4, spring };
      PlaFemConditions conditions = case_conditions(&c);
      conditions.springs = &springs;
      case_hold(&c, 0.0);
      case_hold(&c, 0.04);
      for (int v = 0; v < model->n_verts; v++)
        if (model->rest[3 * v] == 0.04) {
          c.target[3 * v] += 0.002;
          c.target[3 * v + 2] += 0.001;
        }
      solve(&c, &conditions, (PlaSolverMethod)method, 1e-9);
      double *reaction = g_new(double, 3 * model->n_verts), carried[3] = { 0 }, support[3] = { 0 };
      PlaError err = { 0 };
      g_assert_cmpint(pla_fem_reactions(model, &conditions, c.pos, reaction, &err), ==, PLA_OK);
      for (int q = 0; q < 4; q++) {
        double f[3];
        pla_spring_force(&spring[q], c.pos, f);
        for (int d = 0; d < 3; d++)
          carried[d] += f[d];
      }
      for (int v = 0; v < model->n_verts; v++)
        for (int d = 0; d < 3 && model->rest[3 * v] == 0.0; d++)
          support[d] += reaction[3 * v + d];
      for (int d = 0; d < 3; d++)
        g_assert_cmpfloat_with_epsilon(carried[d], -support[d], 1e-7);
      g_assert_cmpfloat(carried[0], >, 0.05);
      if (!first)
        first = g_memdup2(c.pos, 3 * (size_t)model->n_verts * sizeof(double));
      g_assert_cmpfloat(largest_difference(first, c.pos, model->n_verts), <, 1e-8);
      g_free(reaction);
      case_clear(&c);
    }
  g_free(first);
}

/* a coarse hex under four fine ones: the nine vertices where they meet hang on the coarse four.
 * Bound, the body deforms as one when its ends are moved affinely; forces and masses of what hangs
 * go to its parents */
static void
test_hanging(void)
{
  PlaMesh *coarse = mesh_box((double[3]){ 0, 0, 0 }, (double[3]){ 0.02, 0.02, 0.02 },
                             (int[3]){ 1, 1, 1 }, PLA_BOX_HEXES);
  PlaMesh *fine = mesh_box((double[3]){ 0, 0, 0.02 }, (double[3]){ 0.02, 0.02, 0.04 },
                           (int[3]){ 2, 2, 2 }, PLA_BOX_HEXES);
  PlaFemModel *model = model_of(mesh_join(coarse, fine), "neo-hookean", 1e4, 0.3, 1e3);
  Case c = case_new(model);
  int vert[9], start[10] = { 0 }, parent[36], n = 0, k = 0;
  double weight[36];
  for (int v = 8; v < model->n_verts; v++) {
    const double *x = model->rest + 3 * v;
    if (x[2] != 0.02)
      continue;
    for (int a = 4; a < 8; a++) {
      const double *y = model->rest + 3 * a;
      double w = (1.0 - fabs(x[0] - y[0]) / 0.02) * (1.0 - fabs(x[1] - y[1]) / 0.02);
      if (w > 0.0) {
        parent[k] = a;
        weight[k++] = w;
      }
    }
    vert[n++] = v;
    start[n] = k;
  }
  g_assert_cmpint(n, ==, 9);
  PlaFemBindings bindings = { n, vert, start, parent, weight };
  PlaFemConditions conditions = case_conditions(&c);
  conditions.bindings = &bindings;
  const double map[9] = { 1.1, 0.2, 0.05, 0.0, 0.95, 0.1, -0.1, 0.0, 1.3 };
  for (int v = 0; v < model->n_verts; v++) {
    double z = model->rest[3 * v + 2];
    pla_mat3_apply(map, model->rest + 3 * v, c.target + 3 * v);
    /* all but one fine vertex inside of the outer faces */
    if (z == 0.0 || z == 0.04)
      memset(c.fixed + 3 * v, 1, 3);
  }
  /* loads that hold the affine shape at the free vertices: what the elements ask for there */
  double *affine = g_memdup2(c.target, 3 * (size_t)model->n_verts * sizeof(double));
  PlaError err = { 0 };
  PlaFemConditions bare = conditions;
  bare.force = NULL;
  double *force = g_new(double, 3 * model->n_verts);
  g_assert_cmpint(pla_terms_forces(model, &bare, affine, force, &err), ==, PLA_OK);
  for (int e = 0; e < n; e++)
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat(force[3 * vert[e] + d], ==, 0.0);
  for (int i = 0; i < 3 * model->n_verts; i++)
    c.force[i] = -force[i];
  for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
    solve(&c, &conditions, (PlaSolverMethod)method, 1e-10);
    g_assert_cmpfloat(largest_difference(c.pos, affine, model->n_verts), <, 1e-10);
  }
  /* the same shape from both, where nothing is affine */
  double *bent = g_memdup2(c.pos, 3 * (size_t)model->n_verts * sizeof(double));
  for (int v = 0; v < model->n_verts; v++)
    c.force[3 * v + 1] += 5.0 * model->mass[v];
  for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
    solve(&c, &conditions, (PlaSolverMethod)method, 1e-9);
    if (method == PLA_SOLVER_PBNG)
      g_assert_cmpfloat(largest_difference(c.pos, bent, model->n_verts), <, 1e-5 * 0.04);
    memcpy(bent, c.pos, 3 * (size_t)model->n_verts * sizeof(double));
  }
  g_assert_cmpfloat(largest_difference(affine, bent, model->n_verts), >, 1e-5);
  g_free(bent);

  /* the reduced forces are the slope of the energy of the parents' motion */
  double *pos = shaken(model, 1e-3, 8);
  pla_bindings_place(&bindings, pos);
  g_assert_cmpint(pla_terms_forces(model, &bare, pos, force, &err), ==, PLA_OK);
  for (int a = 4; a < 8; a++)
    for (int d = 0; d < 3; d++) {
      double keep = pos[3 * a + d], e[2];
      for (int s = 0; s < 2; s++) {
        pos[3 * a + d] = keep + (s ? -1e-7 : 1e-7);
        pla_bindings_place(&bindings, pos);
        e[s] = pla_terms_energy(model, &bare, pos);
      }
      pos[3 * a + d] = keep;
      g_assert_cmpfloat_with_epsilon((e[1] - e[0]) / 2e-7, force[3 * a + d],
                                     1e-6 * fabs(force[3 * a + d]) + 1e-9);
    }
  /* masses: all of it, at the parents */
  double *mass = g_memdup2(model->mass, (size_t)model->n_verts * sizeof(double));
  pla_bindings_reduce(&bindings, 1, mass);
  g_assert_cmpfloat_with_epsilon(pla_sum(mass, (size_t)model->n_verts), 1.6e-5 * 1e3, 1e-15);
  /* the middle feels 1 / sum w^2/m, and an impulse moves it by that */
  int middle = -1;
  for (int e = 0; e < n; e++)
    middle = start[e + 1] - start[e] == 4 ? e : middle;
  double m = pla_binding_effective_mass(&bindings, middle, mass);
  g_assert_cmpfloat_with_epsilon(m, 4.0 * mass[4], 1e-12);
  double *vel = g_new0(double, 3 * model->n_verts);
  pla_binding_apply_impulse(&bindings, middle, mass, (double[3]){ 0, 0, 0.3 }, vel);
  pla_bindings_place(&bindings, vel);
  g_assert_cmpfloat_with_epsilon(vel[3 * vert[middle] + 2], 0.3 / m, 1e-9);

  /* what is prescribed cannot be bound */
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  c.fixed[3 * vert[0]] = 1;
  g_assert_cmpint(pla_fem_solve(model, &conditions, &options, c.pos, &report, &err), ==,
                  PLA_ERR_USAGE);
  g_free(affine);
  g_free(force);
  g_free(mass);
  g_free(vel);
  free(pos);
  case_clear(&c);
}

/* bindings of bindings end at real vertices; circles and wrong sums have their sentences */
static void
test_chains(void)
{
  int vert[2] = { 2, 3 }, start[3] = { 0, 2, 4 }, parent[4] = { 0, 1, 2, 1 };
  double weight[4] = { 0.5, 0.5, 0.25, 0.75 };
  PlaFemBindings chain = { 2, vert, start, parent, weight }, *flat;
  PlaError err = { 0 };
  g_assert_cmpint(pla_bindings_flatten(&chain, 4, &flat, &err), ==, PLA_OK);
  double pos[12] = { 0, 0, 0, 8, 0, 0 };
  pla_bindings_place(flat, pos);
  g_assert_cmpfloat(pos[6], ==, 4.0);
  g_assert_cmpfloat(pos[9], ==, 7.0);
  pla_bindings_free(flat);
  parent[0] = 3;
  g_assert_cmpint(pla_bindings_flatten(&chain, 4, &flat, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "circle"));
  parent[0] = 0;
  weight[0] = 0.6;
  g_assert_cmpint(pla_bindings_flatten(&chain, 4, &flat, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "add up"));
  weight[0] = 0.5;
  vert[1] = 2;
  g_assert_cmpint(pla_bindings_flatten(&chain, 4, &flat, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "twice"));
}

/* What acts on points in a tet reaches its corners whatever triangles the points are joined by: the
 * pressure on a plane patch of bound points, and its mass (Sifakis 2007, 44). */
static void
test_subdivision(void)
{
  enum { N = 7, POINTS = N * N, QUADS = (N - 1) * (N - 1) };
  g_autoptr(GRand) rand = g_rand_new_with_seed(44);
  int vert[POINTS], start[POINTS + 1], parent[4 * POINTS], tri[6 * QUADS];
  double weight[4 * POINTS], pos[3 * (4 + POINTS)], pressure[2 * QUADS];
  double sum[2][12], mass[2][4];
  for (int i = 0; i < 12; i++)
    pos[i] = g_rand_double_range(rand, -0.1, 0.1);
  for (int p = 0; p < POINTS; p++) {
    const double u = 0.1 + 0.3 * (p % N) / (N - 1), v = 0.1 + 0.2 * (p / N) / (N - 1);
    const double w[4] = { u, v, 0.2 * u + 0.3 * v, 1.0 - 1.2 * u - 1.3 * v };
    vert[p] = 4 + p;
    start[p] = 4 * p;
    start[p + 1] = 4 * p + 4;
    for (int c = 0; c < 4; c++) {
      parent[4 * p + c] = c;
      weight[4 * p + c] = w[c];
    }
  }
  const PlaFemBindings bindings = { POINTS, vert, start, parent, weight };
  pla_bindings_place(&bindings, pos);
  for (int t = 0; t < 2 * QUADS; t++)
    pressure[t] = 3e3;
  for (int k = 0; k < 2; k++) {
    double force[3 * (4 + POINTS)] = { 0 }, heavy[4 + POINTS] = { 0 };
    for (int q = 0; q < QUADS; q++) {
      const int a = 4 + q / (N - 1) * N + q % (N - 1), b = a + 1, c = a + N + 1, d = a + N;
      const bool other = g_rand_boolean(rand);
      const int quad[6] = { a, b, other ? d : c, other ? b : a, c, d };
      memcpy(&tri[6 * q], quad, sizeof quad);
    }
    const PlaFemPressure patch = { 2 * QUADS, tri, pressure };
    pla_pressure_add_forces(&patch, pos, force);
    for (int t = 0; t < 2 * QUADS; t++) {
      double e[3], f[3], n[3];
      pla_vec3_sub(&pos[3 * tri[3 * t + 1]], &pos[3 * tri[3 * t]], e);
      pla_vec3_sub(&pos[3 * tri[3 * t + 2]], &pos[3 * tri[3 * t]], f);
      pla_vec3_cross(e, f, n);
      for (int c = 0; c < 3; c++)
        heavy[tri[3 * t + c]] += pla_vec3_norm(n) / 6.0;
    }
    pla_bindings_reduce(&bindings, 3, force);
    pla_bindings_reduce(&bindings, 1, heavy);
    memcpy(sum[k], force, sizeof sum[k]);
    memcpy(mass[k], heavy, sizeof mass[k]);
  }
  for (int i = 0; i < 12; i++)
    g_assert_cmpfloat_with_epsilon(sum[0][i], sum[1][i], 1e-14 * pla_max_abs(sum[0], 12));
  for (int c = 0; c < 4; c++)
    g_assert_cmpfloat_with_epsilon(mass[0][c], mass[1][c], 1e-14 * pla_max_abs(mass[0], 4));
  g_assert_cmpfloat(pla_max_abs(sum[0], 12), >, 1e-3);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/loads/boundary", test_boundary);
  g_test_add_func("/loads/pressure-derivatives", test_pressure_derivatives);
  g_test_add_func("/loads/pressure-rim", test_pressure_rim);
  g_test_add_func("/loads/hydrostatic", test_hydrostatic);
  g_test_add_func("/loads/reactions", test_reactions);
  g_test_add_func("/loads/soft-bindings", test_soft_bindings);
  g_test_add_func("/loads/hanging", test_hanging);
  g_test_add_func("/loads/chains", test_chains);
  g_test_add_func("/loads/subdivision", test_subdivision);
  return g_test_run();
}
