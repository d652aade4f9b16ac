/* Builds the list of materials that the material tests visit, with random deformation gradients
 * and a shear for each. */
#include "tests/sim/material/cases.h"

#include "anatomy/base/mat3.h"
#include "sim/material/fibre-curve.h"
#include "sim/material/prestretch.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

static const double fibres[2][3] = { { 0.6, 0.8, 0.0 }, { -0.48, 0.36, 0.8 } };
static const double active[2] = { 0.35, 0.1 }, passive[2] = { 0.5, 0.3 };

void
constants_of(const PlaMaterial *material, double constants[PLA_MAX_CONSTANTS], ...)
{
  double param[PLA_MAX_CONSTANTS] = { 0 };
  PlaError err = { 0 };
  for (int i = 0; material->params[i].key; i++)
    param[i] = material->params[i].def;
  va_list pairs;
  va_start(pairs, constants);
  for (const char *key; (key = va_arg(pairs, const char *));) {
    int i = pla_material_param(material, key);
    g_assert_cmpint(i, >=, 0);
    param[i] = va_arg(pairs, double);
  }
  va_end(pairs);
  memset(constants, 0, PLA_MAX_CONSTANTS * sizeof *constants);
  g_assert_cmpint(pla_material_check(material, param, &err), ==, PLA_OK);
  g_assert_cmpint(material->prepare(param, constants, &err), ==, PLA_OK);
}

static Case *
add(Cases *cases, const PlaMaterial *material, const char *name)
{
  g_assert_cmpint(cases->n, <, (int)G_N_ELEMENTS(cases->at));
  Case *c = &cases->at[cases->n++];
  c->material = material;
  g_strlcpy(c->name, name, sizeof c->name);
  return c;
}

void
cases_init(Cases *cases)
{
  static const char *const polynomial[] = {
    "neo-hookean-mm", "stable-neo-hookean", "corotated", "fixed-corotated", "stvk", "linear", NULL
  };
  memset(cases, 0, sizeof *cases);
  for (const PlaMaterial *const *m = pla_materials_get(); *m; m++) {
    Case *c = add(cases, *m, (*m)->id);
    constants_of(*m, c->constants, NULL);
    c->polynomial = g_strv_contains(polynomial, (*m)->id);
  }
  const PlaMaterial *muscle = pla_material_find("muscle"), *ogden = pla_material_find("ogden"),
                    *yeoh = pla_material_find("yeoh"), *blemker = pla_material_find("blemker"),
                    *goh = pla_material_find("goh");
  for (int k = 0; k < 12; k++) {
    g_autofree char *name =
        g_strdup_printf("muscle, base %d, curve %d, stretch %d", k / 4, k / 2 % 2, k % 2);
    constants_of(muscle, add(cases, muscle, name)->constants, "base", (double)(k / 4), "curve",
                 (double)(k / 2 % 2), "stretch", (double)(k % 2), "c20_pa", 30e3, "fascia_pa",
                 k % 3 ? 0.0 : 5e4, "optimal_stretch", 1.1, NULL);
  }
  constants_of(ogden, add(cases, ogden, "ogden, three terms")->constants, "mu1_pa", 6e4, "alpha1",
               1.3, "mu2_pa", 100.0, "alpha2", 5.0, "mu3_pa", -1000.0, "alpha3", -2.0, NULL);
  constants_of(yeoh, add(cases, yeoh, "yeoh, three terms")->constants, "c30_pa", 300.0, NULL);
  /* soft between y = 0.65 and 1.02, and from 0.2 on */
  constants_of(yeoh, add(cases, yeoh, "yeoh, softens and stiffens")->constants, "c10_pa", 1e3,
               "c20_pa", -1.25e3, "c30_pa", 500.0, NULL);
  constants_of(yeoh, add(cases, yeoh, "yeoh, softens")->constants, "c10_pa", 1e3, "c20_pa",
               -2.475e3, "c30_pa", 0.0, NULL);
  constants_of(blemker, add(cases, blemker, "blemker, stiff shear")->constants, "g1_pa", 2e5,
               "g2_pa", 1e5, "curve", 0.0, NULL);

  /* stretches of half an element reach the parabola only where fibres stiffen soon */
  constants_of(goh, add(cases, goh, "goh, stiffens soon")->constants, "k1_pa", 1e3, "k2", 800.0,
               "kappa", 0.226, NULL);
  constants_of(goh, add(cases, goh, "goh, plain stretch")->constants, "k2", 5.0, "kappa", 0.0,
               "stretch", 1.0, NULL);

  static const double x[3] = { 0.5, 1.05, 1.8 }, up[3] = { 0.1, 1.0, 0.2 }, rest[3] = { 0, 0, 0.5 };
  PlaError err = { 0 };
  PlaFibreCurve table;
  g_assert_cmpint(pla_fibre_table(x, up, rest, 3, &table, &err), ==, PLA_OK);
  constants_of(muscle, add(cases, muscle, "muscle, table")->constants, "curve", (double)table,
               NULL);
  constants_of(muscle, add(cases, muscle, "muscle, no curve")->constants, "curve",
               (double)PLA_FIBRE_NONE, NULL);

  PlaMixturePart parts[3] = { { .material = muscle },
                              { .material = pla_material_find("neo-hookean") },
                              { .material = pla_material_find("fung") } };
  for (int k = 0; k < 3; k++)
    constants_of(parts[k].material, parts[k].constants, NULL);
  g_assert_cmpint(pla_mixture_new(parts, 3, &cases->mixture, &err), ==, PLA_OK);
  Case *c = add(cases, pla_mixture_get(cases->mixture), "mixture");
  memcpy(c->constants, (double[3]){ 0.5, 0.2, 0.3 }, 3 * sizeof(double));

  static const char *const strained[] = { "neo-hookean", "corotated", "muscle",
                                          "blemker",     "goh",       NULL };
  for (int k = 0; strained[k]; k++) {
    g_autofree char *name = g_strdup_printf("%s, prestrained", strained[k]);
    c = add(cases, pla_material_find(strained[k]), name);
    constants_of(c->material, c->constants, NULL);
    c->strained = true;
    c->polynomial = g_strv_contains(polynomial, strained[k]);
  }
}

void
cases_clear(Cases *cases)
{
  pla_mixture_free(cases->mixture);
}

PlaPoint
bare_point(const double f[9])
{
  PlaPoint point = { 0 };
  memcpy(point.f, f, sizeof point.f);
  pla_point_decompose(&point);
  return point;
}

PlaPoint
point_at(const Case *c, const double f[9])
{
  static double skin[9];
  PlaPoint point = bare_point(f);
  point.n_fibres = 2;
  point.fibre = &fibres[0][0];
  point.active = active;
  point.passive = passive;
  if (c->strained) {
    pla_prestretch_skin((double[3]){ 0.6, 0.8, 0.0 }, (double[3]){ 0.0, 0.0, 1.0 }, 1.15, 1.05,
                        skin);
    point.prestretch = skin;
  }
  return point;
}

void
random_f(GRand *rand, double half, bool inverted, double f[9])
{
  do
    for (int c = 0; c < 9; c++)
      f[c] = (c % 4 == 0) + g_rand_double_range(rand, -half, half);
  while (fabs(pla_mat3_det(f)) < 0.05);
  if ((pla_mat3_det(f) < 0.0) != inverted)
    for (int c = 0; c < 3; c++)
      f[c] = -f[c];
}

double
max_abs(const double *x, int n)
{
  double most = 0.0;
  for (int i = 0; i < n; i++)
    most = fmax(most, fabs(x[i]));
  return most;
}

double
case_shear(const Case *c)
{
  double mu, lambda, vol;
  pla_material_moduli(c->material, c->constants, &mu, &lambda, &vol);
  return mu;
}
