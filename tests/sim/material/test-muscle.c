/* Muscle: force-stretch curves, affinity in activation, overlapping fibres, definiteness,
 * contraction; the invariant form of the transversely isotropic tangent; prestretch. */
#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "sim/material/complex-step.h"
#include "sim/material/definite.h"
#include "sim/material/fibre.h"
#include "sim/material/prestretch.h"
#include "tests/sim/material/cases.h"

#include <lapacke.h>
#include <string.h>

/* active force: peak 1 at the optimal stretch, 0 from 0.6 of strain on, continuous; slopes
 * continuous for zajac, and for blemker a jump from 3.6 to 3.2 at 0.6 and 1.4, from 0 to 0.33 at 1
 * (passive) */
static void
test_curves(void)
{
  static const double joins[] = { 0.4, 0.6, 1.0, 1.4, 1.6 };
  for (int curve = 0; curve < 2; curve++) {
    double force, slope;
    pla_fibre_force((PlaFibreCurve)curve, 1.0, 1.0, 0.0, &force, &slope);
    g_assert_cmpfloat(force, ==, 1.0);
    g_assert_cmpfloat(slope, ==, 0.0);
    for (int k = 0; k < 250; k++) {
      double x = 0.01 * k;
      pla_fibre_force((PlaFibreCurve)curve, x, 1.0, 0.0, &force, &slope);
      g_assert_true(force >= 0.0 && force <= 1.0);
      if (k <= 40 || k >= 160)
        g_assert_true(force == 0.0 && slope == 0.0);
      pla_fibre_force((PlaFibreCurve)curve, x, 0.0, 1.0, &force, &slope);
      g_assert_true(k <= 100 ? force == 0.0 : force > 0.0 && slope > 0.0);
    }
    for (unsigned k = 0; k < G_N_ELEMENTS(joins); k++)
      for (int passive = 0; passive < 2; passive++) {
        double side[2][2];
        for (int s = 0; s < 2; s++)
          pla_fibre_force((PlaFibreCurve)curve, joins[k] + (s ? 1e-12 : -1e-12), !passive, passive,
                          &side[s][0], &side[s][1]);
        g_assert_cmpfloat_with_epsilon(side[0][0], side[1][0], 1e-10);
        double jump = fabs(side[1][1] - side[0][1]), expected = 0.0;
        if (curve == PLA_FIBRE_BLEMKER && !passive && (k == 1 || k == 3))
          expected = 0.4;
        if (curve == PLA_FIBRE_BLEMKER && passive && k == 2)
          expected = 0.33;
        g_assert_cmpfloat_with_epsilon(jump, expected, 1e-9);
      }
  }
  /* the straight part of the passive force, in the constants in which it is published */
  double p3 = 0.05 * 6.6 * (exp(0.4 * 6.6) - 1.0), force, slope;
  double p4 = 0.05 * (exp(0.4 * 6.6) * (1.0 - 1.4 * 6.6) + 6.6 - 1.0);
  pla_fibre_force(PLA_FIBRE_ZAJAC, 1.7, 0.0, 1.0, &force, &slope);
  g_assert_cmpfloat_with_epsilon(force, p3 * 1.7 + p4, 1e-12);
}

/* a table is its points and the lines between them, beyond its ends as fibre-table.c says, and the
 * same number for the same points; without a curve the active force is 1 */
static void
test_table(void)
{
  static const double x[4] = { 0.5, 0.9, 1.1, 1.6 }, active[4] = { 0.0, 1.0, 1.0, 0.25 },
                      passive[4] = { 0.0, 0.0, 0.1, 0.6 };
  static const struct {
    double x, active, passive;
  } points[] = { { 0.2, 0.0, 0.0 },  { 0.7, 0.5, 0.0 },     { 0.9, 1.0, 0.0 },
                 { 1.0, 1.0, 0.05 }, { 1.35, 0.625, 0.35 }, { 2.0, 0.25, 1.0 } };
  PlaFibreCurve curve, again;
  PlaError err = { 0 };
  double force, slope;
  g_assert_cmpint(pla_fibre_table(x, active, passive, 4, &curve, &err), ==, PLA_OK);
  g_assert_cmpint(pla_fibre_table(x, active, passive, 4, &again, &err), ==, PLA_OK);
  g_assert_cmpint(curve, ==, again);
  for (unsigned k = 0; k < G_N_ELEMENTS(points); k++) {
    pla_fibre_force(curve, points[k].x, 1.0, 0.0, &force, &slope);
    g_assert_cmpfloat_with_epsilon(force, points[k].active, 1e-14);
    pla_fibre_force(curve, points[k].x, 0.0, 1.0, &force, &slope);
    g_assert_cmpfloat_with_epsilon(force, points[k].passive, 1e-14);
    pla_fibre_force(PLA_FIBRE_NONE, points[k].x, 0.3, 1.0, &force, &slope);
    g_assert_true(force == 0.3 && slope == 0.0);
  }
  /* areas under the two, from 0 */
  g_assert_cmpfloat_with_epsilon(pla_dual_value(pla_fibre_energy(curve, pla_dual(2.0), 1.0, 0.0)),
                                 0.2 + 0.2 + 0.5 * 0.625 + 0.4 * 0.25, 1e-14);
  g_assert_cmpfloat_with_epsilon(pla_dual_value(pla_fibre_energy(curve, pla_dual(2.0), 0.0, 1.0)),
                                 0.2 * 0.05 + 0.5 * 0.35 + 0.4 * 0.8, 1e-14);
  static const double falling[2] = { 1.0, 0.9 };
  g_assert_cmpint(pla_fibre_table(falling, active, NULL, 2, &again, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "must rise"));
  g_assert_cmpint(pla_fibre_table(x, active, NULL, 1, &again, &err), ==, PLA_ERR_USAGE);
  g_assert_cmpint(pla_fibre_check_curve(60.0, &err), ==, PLA_ERR_USAGE);
}

/* the energies are the integrals: continuous at every join, slope equal to the force */
static void
test_curve_energies(void)
{
  for (int k = 0; k < 4; k++) {
    PlaFibreCurve curve = (PlaFibreCurve)(k / 2);
    double active = k % 2, passive = 1.0 - active, before = 0.0;
    for (double x = 0.3; x < 2.0; x += 1e-3) {
      double force, slope;
      PlaDual u = pla_fibre_energy(curve, (PlaDual){ pla_complex(x, PLA_COMPLEX_STEP), 1.0 },
                                   active, passive);
      pla_fibre_force(curve, x, active, passive, &force, &slope);
      g_assert_cmpfloat_with_epsilon(cimag(u.a) / PLA_COMPLEX_STEP, force, 1e-13 * (1.0 + force));
      g_assert_cmpfloat_with_epsilon(cimag(u.b) / PLA_COMPLEX_STEP, slope,
                                     1e-12 * (1.0 + fabs(slope)));
      g_assert_cmpfloat(fabs(creal(u.a) - before), <=, 1e-3 * (force + 0.02) + (x < 0.31));
      before = creal(u.a);
    }
  }
  /* at the joins themselves, from either side */
  for (int k = 0; k < 8; k++) {
    const double join = k / 2 % 2 ? 1.4 : 0.6;
    double side[2];
    for (int s = 0; s < 2; s++)
      side[s] =
          pla_dual_value(pla_fibre_energy((PlaFibreCurve)(k / 4),
                                          pla_dual(join + (s ? 1e-13 : -1e-13)), k % 2, 1 - k % 2));
    g_assert_cmpfloat_with_epsilon(side[0], side[1], 1e-12);
  }
  /* published in closed form: -0.6613333 + x - 4/3 (x-1)^3, then 0.6773333 */
  double middle = pla_dual_value(pla_fibre_energy(PLA_FIBRE_BLEMKER, pla_dual(1.2), 1.0, 0.0));
  double end = pla_dual_value(pla_fibre_energy(PLA_FIBRE_BLEMKER, pla_dual(1.7), 1.0, 0.0));
  g_assert_cmpfloat_with_epsilon(middle, 1.2 - 248.0 / 375.0 - 4.0 / 3.0 * 0.008, 1e-14);
  g_assert_cmpfloat_with_epsilon(end, 254.0 / 375.0, 1e-14);
  /* with the rounded constants -0.6612, 1.33 and 0.6774 the energy jumps by 8e-5 and 3e-4 */
  double at_06 = 0.024 - (-0.6612 + 0.6 + 1.33 * 0.064),
         at_14 = -0.6612 + 1.4 - 1.33 * 0.064 - (0.6774 - 0.024);
  g_assert_cmpfloat_with_epsilon(fabs(at_06), 8e-5, 1e-5);
  g_assert_cmpfloat_with_epsilon(fabs(at_14), 2.8e-4, 2e-5);
}

/* P(a) - P(0) - sum_m a_m (P(e_m) - P(0)) = 0 to rounding */
static void
test_affine_in_activation(void)
{
  Cases cases;
  g_autoptr(GRand) rand = g_rand_new_with_seed(1);
  cases_init(&cases);
  for (const Case *c = cases.at; c < cases.at + cases.n; c++)
    for (int trial = 0; trial < 20; trial++) {
      double f[9], p[4][9];
      const double active[4][2] = { { 0.0, 0.0 }, { 1.0, 0.0 }, { 0.0, 1.0 }, { 0.37, 0.81 } };
      random_f(rand, 0.4, trial % 4 == 3, f);
      PlaPoint point = point_at(c, f);
      for (int k = 0; k < 4; k++) {
        point.active = active[k];
        pla_material_stress(c->material, c->constants, &point, p[k]);
      }
      for (int i = 0; i < 9; i++) {
        double sum = p[0][i] + 0.37 * (p[1][i] - p[0][i]) + 0.81 * (p[2][i] - p[0][i]);
        g_assert_cmpfloat_with_epsilon(p[3][i], sum, 1e-14 * (max_abs(p[0], 9) + max_abs(p[3], 9)));
      }
    }
  cases_clear(&cases);
}

/* two fibres of fractions 0.3 and 0.5 in one direction pull as one of 0.8, active and passive alike
 */
static void
test_overlap_scales_both_parts(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(1);
  const double twice[6] = { 0.0, 0.6, 0.8, 0.0, 0.6, 0.8 };
  const double rho[2] = { 0.3, 0.5 }, active[2] = { 0.3 * 0.7, 0.5 * 0.7 };
  const double whole_rho = 0.8, whole_active = 0.8 * 0.7;
  static const char *const models[] = { "muscle", "blemker" };
  for (int m = 0; m < 2; m++) {
    const PlaMaterial *material = pla_material_find(models[m]);
    double c[PLA_MAX_CONSTANTS], f[9], p[2][9];
    constants_of(material, c, NULL);
    random_f(rand, 0.3, false, f);
    PlaPoint point = bare_point(f);
    point.n_fibres = 2;
    point.fibre = twice;
    point.active = active;
    point.passive = rho;
    pla_material_stress(material, c, &point, p[0]);
    point.n_fibres = 1;
    point.active = &whole_active;
    point.passive = &whole_rho;
    pla_material_stress(material, c, &point, p[1]);
    for (int i = 0; i < 9; i++)
      g_assert_cmpfloat_with_epsilon(p[0][i], p[1][i], 1e-12 * max_abs(p[1], 9));
  }
}

/* stress of a fibre along x in a bar stretched by l: base + sigma T(l), by hand */
static void
test_uniaxial_fibre(void)
{
  const PlaMaterial *muscle = pla_material_find("muscle");
  const double x_axis[3] = { 1.0, 0.0, 0.0 }, a = 0.4, rho = 1.0, none = 0.0;
  double c[PLA_MAX_CONSTANTS];
  for (int deviatoric = 0; deviatoric < 2; deviatoric++) {
    constants_of(muscle, c, "stretch", (double)deviatoric, NULL);
    for (double l = 0.7; l < 1.5; l += 0.1) {
      double f[9] = { l, 0, 0, 0, 0.9, 0, 0, 0, 0.95 }, p[2][9], force, slope;
      PlaPoint point = bare_point(f);
      point.n_fibres = 1;
      point.fibre = x_axis;
      point.passive = &rho;
      point.active = &a;
      pla_material_stress(muscle, c, &point, p[0]);
      point.active = point.passive = &none;
      pla_material_stress(muscle, c, &point, p[1]);
      double j = l * 0.9 * 0.95, scale = deviatoric ? 1.0 / cbrt(j) : 1.0, e = scale * l - 1.0;
      pla_fibre_force(PLA_FIBRE_ZAJAC, 1.0 + e, a, rho, &force, &slope);
      /* T (J^(-1/3) n v^T - lam/3 F^-T), or T n v^T */
      double along = 3e5 * force * (scale - (deviatoric ? scale / 3.0 : 0.0));
      double across = deviatoric ? -3e5 * force * scale * l / 3.0 / 0.9 : 0.0;
      g_assert_cmpfloat_with_epsilon(p[0][0] - p[1][0], along, 1e-9 * 3e5);
      g_assert_cmpfloat_with_epsilon(p[0][4] - p[1][4], across, 1e-9 * 3e5);
    }
  }
}

/* derivatives of Psi in I1, I2 = tr C^2, I3, I4, I5 for the three fibre terms, as published */
static void
invariant_derivatives(int term, const double *c, const double x[5], double active, double first[5],
                      double second[5][5])
{
  double i1 = x[0], i3 = x[2], i4 = x[3], i5 = x[4], g1 = c[0], g2 = c[1];
  memset(first, 0, 5 * sizeof *first);
  memset(second, 0, 25 * sizeof **second);
  if (term == 0) {
    first[3] = -2.0 * g1 * i5 / pow(i4, 3);
    first[4] = g1 / (i4 * i4);
    second[3][3] = 6.0 * g1 * i5 / pow(i4, 4);
    second[3][4] = second[4][3] = -2.0 * g1 / pow(i4, 3);
  } else if (term == 1) {
    double w = (i1 * i4 - i5) / (2.0 * sqrt(i3 * i4)),
           slope = 2.0 * g2 * acosh(w) / sqrt(w * w - 1.0);
    double curve = (2.0 * g2 - w * slope) / (w * w - 1.0);
    double d[5] = { 0.5 * sqrt(i4 / i3), 0.0, -w / (2.0 * i3),
                    (i1 * i4 + i5) / (4.0 * sqrt(i3 * pow(i4, 3))), -0.5 / sqrt(i3 * i4) };
    double dd[5][5] = { { 0.0 } };
    dd[0][2] = -0.25 * sqrt(i4 / pow(i3, 3));
    dd[0][3] = 0.25 / sqrt(i3 * i4);
    dd[2][2] = 0.75 * w / (i3 * i3);
    dd[2][3] = -(i1 * i4 + i5) / (8.0 * sqrt(pow(i3, 3) * pow(i4, 3)));
    dd[2][4] = 0.25 / sqrt(pow(i3, 3) * i4);
    dd[3][3] = -(i1 * i4 + 3.0 * i5) / (8.0 * sqrt(i3 * pow(i4, 5)));
    dd[3][4] = 0.25 / sqrt(i3 * pow(i4, 3));
    for (int m = 0; m < 5; m++) {
      first[m] = slope * d[m];
      for (int n = 0; n < 5; n++)
        second[m][n] = curve * d[m] * d[n] + slope * (m <= n ? dd[m][n] : dd[n][m]);
    }
  } else {
    double l = pow(i3, -1.0 / 6.0) * sqrt(i4), force, slope;
    pla_fibre_force(PLA_FIBRE_BLEMKER, l, active, 0.0, &force, &slope);
    double d[5] = { 0.0, 0.0, -l / (6.0 * i3), l / (2.0 * i4), 0.0 };
    double dd[5][5] = { { 0.0 } };
    dd[2][2] = 7.0 * l / (36.0 * i3 * i3);
    dd[2][3] = dd[3][2] = -l / (12.0 * i3 * i4);
    dd[3][3] = -l / (4.0 * i4 * i4);
    for (int m = 0; m < 5; m++) {
      first[m] = c[3] * force * d[m];
      for (int n = 0; n < 5; n++)
        second[m][n] = c[3] * (slope * d[m] * d[n] + force * dd[m][n]);
    }
  }
}

/* the 3x3 S and the 6x6 T of a fibre term in the frame of the SVD, from those derivatives; @factor
 * is 2 for T : dC */
static void
invariant_form(const double s[3], const double w[3], const double first[5],
               const double second[5][5], double factor, double stress[9], double t[36])
{
  const double r = M_SQRT2, i3 = pow(s[0] * s[1] * s[2], 2);
  static const int at[6][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };
  double j[5][6] = { { 0.0 } }, h[5][36] = { { 0.0 } };
  for (int c = 0; c < 6; c++) {
    int a = at[c][0], b = at[c][1];
    double scale = a == b ? 1.0 : r, sum = s[a] * s[a] + s[b] * s[b];
    if (a == b) {
      j[0][c] = 1.0;
      j[1][c] = 2.0 * s[a] * s[a];
      j[2][c] = i3 / (s[a] * s[a]);
    }
    j[3][c] = scale * w[a] * w[b];
    j[4][c] = scale * sum * w[a] * w[b];
    h[1][7 * c] = 2.0;
    if (a != b) {
      h[2][7 * c] = -i3 / (s[a] * s[a] * s[b] * s[b]);
      h[2][6 * a + b] = h[2][6 * b + a] = -h[2][7 * c];
    }
  }
  /* d2I5: dC -> dC w w^T + w w^T dC */
  for (int c = 0; c < 6; c++)
    for (int d = 0; d < 6; d++) {
      double e[2][9] = { { 0.0 } }, sum = 0.0;
      for (int k = 0; k < 2; k++) {
        int a = at[k ? d : c][0], b = at[k ? d : c][1];
        e[k][3 * a + b] = e[k][3 * b + a] = a == b ? 1.0 : M_SQRT1_2;
      }
      for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
          for (int m = 0; m < 3; m++)
            sum +=
                e[0][3 * a + b] * (e[1][3 * a + m] * w[m] * w[b] + w[a] * w[m] * e[1][3 * m + b]);
      h[4][6 * c + d] = sum;
    }
  memset(t, 0, 36 * sizeof *t);
  memset(stress, 0, 9 * sizeof *stress);
  for (int m = 0; m < 5; m++) {
    for (int c = 0; c < 6; c++) {
      int a = at[c][0], b = at[c][1];
      double entry = 2.0 * first[m] * j[m][c] / (a == b ? 1.0 : r);
      stress[3 * a + b] += entry;
      if (a != b)
        stress[3 * b + a] += entry;
    }
    for (int c = 0; c < 36; c++) {
      t[c] += factor * first[m] * h[m][c];
      for (int n = 0; n < 5; n++)
        t[c] += factor * second[m][n] * j[m][c / 6] * j[n][c % 6];
    }
  }
}

/* dP = U (dF^ S + Sigma (T : dC)) V^T */
static void
invariant_tangent(const PlaPoint *point, const double stress[9], const double t[36], double h[81])
{
  static const int at[6][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 0, 1 }, { 0, 2 }, { 1, 2 } };
  const double *s = point->s;
  for (int l = 0; l < 9; l++) {
    double df[9] = { 0.0 }, hat[9], dp[9], dc[6], ds[6], out[9];
    df[l] = 1.0;
    pla_mat3_mul_tn(point->u, df, hat);
    pla_mat3_mul(hat, point->v, hat);
    pla_mat3_mul(hat, stress, dp);
    for (int c = 0; c < 6; c++) {
      int a = at[c][0], b = at[c][1];
      dc[c] = (s[a] * hat[3 * a + b] + hat[3 * b + a] * s[b]) * (a == b ? 1.0 : M_SQRT2);
    }
    for (int c = 0; c < 6; c++) {
      ds[c] = 0.0;
      for (int d = 0; d < 6; d++)
        ds[c] += t[6 * c + d] * dc[d];
    }
    for (int c = 0; c < 6; c++) {
      int a = at[c][0], b = at[c][1];
      double entry = ds[c] / (a == b ? 1.0 : M_SQRT2);
      dp[3 * a + b] += s[a] * entry;
      if (a != b)
        dp[3 * b + a] += s[b] * entry;
    }
    pla_mat3_mul(point->u, dp, out);
    pla_mat3_mul_nt(out, point->v, out);
    for (int k = 0; k < 9; k++)
      h[9 * k + l] = out[k];
  }
}

/* The tangent of each term of the transversely isotropic model from its derivatives in the
 * invariants, as published, is the one by complex steps with the factor 2; the printed factor 4 is
 * not. */
static void
test_invariant_form(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(3);
  const PlaMaterial *blemker = pla_material_find("blemker");
  const double v[3] = { 0.48, 0.6, 0.64 }, none = 0.0, one = 1.0;
  for (int term = 0; term < 3; term++)
    for (int trial = 0; trial < 20; trial++) {
      double c[PLA_MAX_CONSTANTS] = {
        term == 0 ? 700.0 : 0.0, term == 1 ? 400.0 : 0.0, 0.0, term == 2 ? 3e5 : 0.0, 1.0,
        PLA_FIBRE_BLEMKER
      };
      double f[9], h[81], truth[81], w[3], cv[3], first[5], second[5][5], stress[9], t[36];
      random_f(rand, 0.3, false, f);
      PlaPoint point = bare_point(f);
      if (point.s[2] < 0.3)
        continue;
      point.n_fibres = 1;
      point.fibre = v;
      point.active = term == 2 ? &one : &none;
      point.passive = term == 2 ? &none : &one;
      pla_complex_step_tangent(blemker, c, &point, truth);

      double right[9], x[5];
      pla_mat3_mul_tn(f, f, right);
      pla_mat3_apply(right, v, cv);
      x[0] = right[0] + right[4] + right[8];
      x[1] = 0.0; /* not used by these terms */
      x[2] = pla_mat3_det(right);
      x[3] = pla_vec3_dot(v, cv);
      x[4] = pla_vec3_dot(cv, cv);
      for (int k = 0; k < 3; k++)
        w[k] = point.v[k] * v[0] + point.v[3 + k] * v[1] + point.v[6 + k] * v[2];
      invariant_derivatives(term, c, x, 1.0, first, second);
      for (int wrong = 0; wrong < 2; wrong++) {
        double error = 0.0;
        invariant_form(point.s, w, first, second, wrong ? 4.0 : 2.0, stress, t);
        invariant_tangent(&point, stress, t, h);
        for (int k = 0; k < 81; k++)
          error = fmax(error, fabs(h[k] - truth[k]) / max_abs(truth, 81));
        if (wrong)
          g_assert_cmpfloat(error, >, 0.05);
        else
          g_assert_cmpfloat(error, <, 1e-9);
      }
    }
}

/* clamping S and T is enough for definiteness, and takes more than the nearest definite matrix
 * would */
static void
test_projection_through_strain(void)
{
  Cases cases;
  g_autoptr(GRand) rand = g_rand_new_with_seed(8);
  int projected = 0, with_fibres = 0;
  double excess = 0.0;
  cases_init(&cases);
  for (const Case *c = cases.at; c < cases.at + cases.n; c++) {
    /* S and T of tissue under prestretch are those of its own F */
    if (strcmp(c->material->id, "linear") == 0 || c->strained)
      continue;
    for (int trial = 0; trial < 60; trial++) {
      double f[9], p[9], h[81], nearest[81], w[9], removed[2] = { 0.0 };
      random_f(rand, 0.6, false, f);
      PlaPoint point = trial % 2 ? bare_point(f) : point_at(c, f);
      if (point.s[2] < PLA_STRETCH_FLOOR)
        continue;
      pla_material_stress(c->material, c->constants, &point, p);
      pla_material_tangent(c->material, c->constants, &point, false, h);
      if (pla_definite(9, h))
        continue;
      double truth[81];
      memcpy(truth, h, sizeof h);
      memcpy(nearest, h, sizeof h);
      pla_definite_project_material(&point, p, h);
      pla_definite_project(9, nearest);
      for (int k = 0; k < 81; k++) {
        removed[0] += pow(h[k] - truth[k], 2);
        removed[1] += pow(nearest[k] - truth[k], 2);
      }
      g_assert_cmpfloat(removed[0], >=, (1.0 - 1e-9) * removed[1]);
      excess += sqrt(removed[0] / removed[1]);
      projected++;
      with_fibres += point.n_fibres > 0 && pla_material_param(c->material, "sigma_max_pa") >= 0;
      double size = max_abs(h, 81);
      g_assert_cmpint(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 9, h, 9, w), ==, 0);
      g_assert_cmpfloat(w[0], >=, -1e-12 * size);
    }
  }
  g_assert_cmpint(projected, >, 50);
  g_assert_cmpint(with_fibres, >, 50);
  g_test_message("the change is %.1f times that of the nearest definite matrix, over %d tangents",
                 excess / projected, projected);
  cases_clear(&cases);
}

/* the stiffness of randomly scattered elements, B^T H B: symmetric, and no energy is negative */
static void
test_scattered_stiffness(void)
{
  Cases cases;
  g_autoptr(GRand) rand = g_rand_new_with_seed(9);
  cases_init(&cases);
  for (const Case *c = cases.at; c < cases.at + cases.n; c++) {
    double xky = 0.0, ykx = 0.0, xkx = 0.0, size = 0.0;
    for (int element = 0; element < 40; element++) {
      double f[9], h[81], df[2][9];
      for (int k = 0; k < 9; k++) {
        f[k] = g_rand_double_range(rand, -2.0, 2.0);
        df[0][k] = g_rand_double_range(rand, -1.0, 1.0);
        df[1][k] = g_rand_double_range(rand, -1.0, 1.0);
      }
      PlaPoint point = point_at(c, f);
      pla_material_tangent(c->material, c->constants, &point, true, h);
      double form = 0.0;
      for (int k = 0; k < 81; k++) {
        xky += df[0][k / 9] * h[k] * df[1][k % 9];
        ykx += df[1][k / 9] * h[k] * df[0][k % 9];
        form += df[0][k / 9] * h[k] * df[0][k % 9];
        size += fabs(h[k]);
      }
      xkx += form;
    }
    g_assert_cmpfloat(fabs(xky - ykx), <, 1e-12 * size);
    g_assert_cmpfloat(xkx, >=, 0.0);
  }
  cases_clear(&cases);
}

/* an activated block free to deform shortens along its fibre until base and fibre balance */
static void
test_contraction(void)
{
  const PlaMaterial *muscle = pla_material_find("muscle");
  const double x_axis[3] = { 1.0, 0.0, 0.0 }, rho = 1.0;
  double c[PLA_MAX_CONSTANTS], before = 1.0;
  constants_of(muscle, c, NULL);
  for (double a = 0.2; a <= 1.0; a += 0.2) {
    double s[3] = { before, 1.0, 1.0 }, p[9], h[81];
    for (int step = 0; step < 50; step++) {
      double f[9] = { s[0], 0, 0, 0, s[1], 0, 0, 0, s[2] };
      PlaPoint point = bare_point(f);
      point.n_fibres = 1;
      point.fibre = x_axis;
      point.active = &a;
      point.passive = &rho;
      pla_material_stress(muscle, c, &point, p);
      pla_material_tangent(muscle, c, &point, true, h);
      double m[9] = { h[0], h[4], h[8], h[36], h[40], h[44], h[72], h[76], h[80] }, inverse[9],
             r[3] = { p[0], p[4], p[8] }, d[3];
      pla_mat3_invert(m, inverse);
      pla_mat3_apply(inverse, r, d);
      for (int i = 0; i < 3; i++)
        s[i] -= d[i];
    }
    g_assert_cmpfloat(max_abs(p, 9), <, 1e-6);
    g_assert_cmpfloat(s[0], <, before);
    g_assert_cmpfloat_with_epsilon(s[1], s[2], 1e-9);
    before = s[0];
  }
  g_assert_cmpfloat(before, <, 0.8);
}

/* skin cut free of its tension shrinks by what it was stretched; held, it pulls along its lines
 * more than across */
static void
test_skin_tension(void)
{
  const double line[3] = { 0.8, 0.6, 0.3 }, normal[3] = { 0.0, 0.0, 1.0 };
  const double t[3] = { 0.8, 0.6, 0.0 }, b[3] = { -0.6, 0.8, 0.0 };
  double g[9], free_[9], p[9], pt[3], pb[3], c[PLA_MAX_CONSTANTS], eye[9];
  const PlaMaterial *material = pla_material_find("neo-hookean");
  constants_of(material, c, NULL);
  pla_prestretch_skin(line, normal, 1.3, 1.1, g);
  g_assert_cmpfloat_with_epsilon(pla_mat3_det(g), 1.0, 1e-14);
  pla_mat3_apply(g, t, pt);
  pla_mat3_apply(g, b, pb);
  g_assert_cmpfloat_with_epsilon(pla_vec3_dot(pt, t), 1.3, 1e-14);
  g_assert_cmpfloat_with_epsilon(pla_vec3_dot(pb, b), 1.1, 1e-14);

  pla_mat3_invert(g, free_);
  PlaPoint point = bare_point(free_);
  point.prestretch = g;
  pla_material_stress(material, c, &point, p);
  g_assert_cmpfloat(max_abs(p, 9), <, 1e-9 * c[0]);
  g_assert_cmpfloat(fabs(pla_material_energy(material, c, &point)), <, 1e-12 * c[0]);

  pla_mat3_identity(eye);
  point = bare_point(eye);
  point.prestretch = g;
  pla_material_stress(material, c, &point, p);
  pla_mat3_apply(p, t, pt);
  pla_mat3_apply(p, b, pb);
  double along = pla_vec3_dot(pt, t), across = pla_vec3_dot(pb, b);
  g_assert_cmpfloat(along, >, across);
  g_assert_cmpfloat(across, >, 0.0);
  /* Cauchy stress of the log neo-Hookean solid at J = 1: mu (b - 1) */
  g_assert_cmpfloat_with_epsilon(along, c[0] * (1.3 * 1.3 - 1.0), 1e-9 * c[0]);
}

/* rest length 1/s: 0.70 at a = 1, 0.55 at a = 3 with gamma 0.4; alpha = 1/2 keeps the volume, alpha
 * = 1 changes it by s: 43 % at a = 1 */
static void
test_activated_rest_shape(void)
{
  const double v[3] = { 0.0, 0.6, 0.8 };
  double g[9], gv[3];
  static const double a[2] = { 1.0, 3.0 }, length[2] = { 0.70, 0.55 };
  for (int k = 0; k < 2; k++) {
    pla_prestretch_activation(v, a[k], 0.4, 0.5, g);
    g_assert_cmpfloat_with_epsilon(pla_mat3_det(g), 1.0, 1e-14);
    pla_mat3_apply(g, v, gv);
    g_assert_cmpfloat_with_epsilon(1.0 / pla_vec3_dot(gv, v), length[k], 1e-12);
  }
  pla_prestretch_activation(v, 1.0, 0.4, 1.0, g);
  g_assert_cmpfloat_with_epsilon(1.0 / pla_mat3_det(g), 1.0 / 0.7, 1e-12);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  pla_blas_single_thread(); /* threads for 9 x 9 wait for ages on a busy machine */
  g_test_add_func("/muscle/curves", test_curves);
  g_test_add_func("/muscle/table", test_table);
  g_test_add_func("/muscle/curve-energies", test_curve_energies);
  g_test_add_func("/muscle/affine-in-activation", test_affine_in_activation);
  g_test_add_func("/muscle/overlap-scales-both-parts", test_overlap_scales_both_parts);
  g_test_add_func("/muscle/uniaxial-fibre", test_uniaxial_fibre);
  g_test_add_func("/muscle/invariant-form", test_invariant_form);
  g_test_add_func("/muscle/projection-through-strain", test_projection_through_strain);
  g_test_add_func("/muscle/scattered-stiffness", test_scattered_stiffness);
  g_test_add_func("/muscle/contraction", test_contraction);
  g_test_add_func("/muscle/skin-tension", test_skin_tension);
  g_test_add_func("/muscle/activated-rest-shape", test_activated_rest_shape);
  return g_test_run();
}
