/* Homogeneous states of every isotropic material, against closed forms.
 *
 * The forms here are the principal nominal stresses P_i(s) of the textbooks (Holzapfel 2000, 6.5;
 * Bonet and Wood 2008, 6.4-6.6), written without the code of sim/material.  A bar stretched by a
 * with free sides narrows to the b with P_2(a, b, b) = 0 and carries the Cauchy stress
 * a P_1 / (a b^2).  In simple shear by g, s_1 - 1/s_1 = g, s_2 = 1 and s_3 = 1/s_1, and the
 * stress across the planes is (s_1 P_1 - s_3 P_3) / sqrt(4 + g^2). */
#include "anatomy/mesh/box-mesh.h"
#include "app/verify/verify-private.h"

#include <math.h>
#include <string.h>

#define STRETCH 1.2
#define SHEAR 0.4

enum { MOST_PARAMS = 5 };

typedef struct {
  const char *model;
  const char *key[MOST_PARAMS + 1]; /* of the scene */
  double value[MOST_PARAMS];
  /* principal nominal stresses, Pa */
  void (*stress)(const double *value, const double s[3], double p[3]);
  bool small; /* strain: blind to rotation, so that the stress in shear is mu g */
} Law;

static double
product(const double s[3])
{
  return s[0] * s[1] * s[2];
}

static double
squares(const double s[3])
{
  return s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
}

/* mu and lambda of E and nu */
static void
lame(const double *value, double *mu, double *lambda)
{
  *mu = value[0] / (2.0 * (1.0 + value[1]));
  *lambda = value[0] * value[1] / ((1.0 + value[1]) * (1.0 - 2.0 * value[1]));
}

static void
neo_hookean(const double *value, const double s[3], double p[3])
{
  double mu, lambda;
  lame(value, &mu, &lambda);
  for (int i = 0; i < 3; i++)
    p[i] = (mu * (s[i] * s[i] - 1.0) + lambda * log(product(s))) / s[i];
}

static void
neo_hookean_mm(const double *value, const double s[3], double p[3])
{
  double mu, lambda;
  lame(value, &mu, &lambda);
  for (int i = 0; i < 3; i++)
    p[i] = mu * s[i] + ((lambda + mu) * (product(s) - 1.0) - mu) * product(s) / s[i];
}

static void
stable(const double *value, const double s[3], double p[3])
{
  double mu, lambda;
  lame(value, &mu, &lambda);
  const double m = 4.0 / 3.0 * mu, l = lambda + 5.0 / 6.0 * mu;
  for (int i = 0; i < 3; i++)
    p[i] = m * s[i] * (1.0 - 1.0 / (1.0 + squares(s))) +
           (l * (product(s) - 1.0) - 0.75 * m) * product(s) / s[i];
}

static void
corotated(const double *value, const double s[3], double p[3])
{
  double mu, lambda;
  lame(value, &mu, &lambda);
  for (int i = 0; i < 3; i++)
    p[i] = 2.0 * mu * (s[i] - 1.0) + lambda * (s[0] + s[1] + s[2] - 3.0);
}

static void
fixed_corotated(const double *value, const double s[3], double p[3])
{
  double mu, lambda;
  lame(value, &mu, &lambda);
  for (int i = 0; i < 3; i++)
    p[i] = 2.0 * mu * (s[i] - 1.0) + lambda * (product(s) - 1.0) * product(s) / s[i];
}

static void
saint_venant(const double *value, const double s[3], double p[3])
{
  double mu, lambda;
  lame(value, &mu, &lambda);
  for (int i = 0; i < 3; i++)
    p[i] = s[i] * (mu * (s[i] * s[i] - 1.0) + 0.5 * lambda * (squares(s) - 3.0));
}

/* f(I) + bulk/2 (ln J)^2, I = J^(-2/3) I1, with the derivative of f at I */
static void
first_invariant(double slope, double bulk, const double s[3], double p[3])
{
  const double scale = pow(product(s), -2.0 / 3.0);
  for (int i = 0; i < 3; i++)
    p[i] = (2.0 * slope * scale * (s[i] * s[i] - squares(s) / 3.0) + bulk * log(product(s))) / s[i];
}

static double
isochoric(const double s[3])
{
  return pow(product(s), -2.0 / 3.0) * squares(s);
}

static void
mooney_rivlin(const double *value, const double s[3], double p[3])
{
  const double scale = pow(product(s), -2.0 / 3.0), i1 = isochoric(s);
  double b[3], i2 = i1 * i1;
  for (int i = 0; i < 3; i++) {
    b[i] = scale * s[i] * s[i];
    i2 -= b[i] * b[i];
  }
  i2 *= 0.5;
  for (int i = 0; i < 3; i++)
    p[i] =
        (2.0 * value[0] * (b[i] - i1 / 3.0) +
         2.0 * value[1] * (i1 * b[i] - b[i] * b[i] - 2.0 / 3.0 * i2) + value[2] * log(product(s))) /
        s[i];
}

static void
fascia(const double *value, const double s[3], double p[3])
{
  mooney_rivlin(value, s, p);
  for (int i = 0; i < 3; i++)
    p[i] += value[3] * fmax(s[i] - 1.0, 0.0);
}

static void
yeoh(const double *value, const double s[3], double p[3])
{
  const double y = isochoric(s) - 3.0;
  first_invariant(value[0] + 2.0 * value[1] * y + 3.0 * value[2] * y * y, value[3], s, p);
}

static void
fung(const double *value, const double s[3], double p[3])
{
  first_invariant(0.5 * value[0] * value[1] * exp(value[1] * (isochoric(s) - 3.0)), value[2], s, p);
}

static void
arruda_boyce(const double *value, const double s[3], double p[3])
{
  static const double series[5] = { 1.0 / 2.0, 1.0 / 20.0, 11.0 / 1050.0, 19.0 / 7000.0,
                                    519.0 / 673750.0 };
  double slope = 0.0;
  for (int i = 0; i < 5; i++)
    slope += value[0] * series[i] * (i + 1) * pow(isochoric(s) / value[1], i);
  first_invariant(slope, value[2], s, p);
}

static void
ogden(const double *value, const double s[3], double p[3])
{
  double power[2][3], mean[2] = { 0.0, 0.0 };
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < 3; i++) {
      power[t][i] = pow(s[i] * pow(product(s), -1.0 / 3.0), value[2 * t + 1]);
      mean[t] += power[t][i] / 3.0;
    }
  for (int i = 0; i < 3; i++)
    p[i] = (value[0] * (power[0][i] - mean[0]) + value[2] * (power[1][i] - mean[1]) +
            value[4] * log(product(s))) /
           s[i];
}

#define E_NU                                                                                       \
  { "young_pa", "poisson" },                                                                       \
  {                                                                                                \
    1e4, 0.4                                                                                       \
  }
static const Law laws[] = {
  { "neo-hookean", E_NU, neo_hookean, false },
  { "neo-hookean-mm", E_NU, neo_hookean_mm, false },
  { "stable-neo-hookean", E_NU, stable, false },
  { "corotated", E_NU, corotated, false },
  { "fixed-corotated", E_NU, fixed_corotated, false },
  { "stvk", E_NU, saint_venant, false },
  { "linear", E_NU, corotated, true },
  { "mooney-rivlin", { "c10_pa", "c01_pa", "bulk_pa" }, { 1e3, 4e2, 2e4 }, mooney_rivlin, false },
  { "yeoh", { "c10_pa", "c20_pa", "c30_pa", "bulk_pa" }, { 1e3, 5e2, 2e2, 3e4 }, yeoh, false },
  { "ogden",
    { "mu1_pa", "alpha1", "mu2_pa", "alpha2", "bulk_pa" },
    { 1.5e3, 1.3, -5e2, -2.0, 4e4 },
    ogden,
    false },
  { "fung", { "c_pa", "b", "bulk_pa" }, { 5e2, 4.0, 3e4 }, fung, false },
  { "arruda-boyce", { "mu_pa", "chain_links", "bulk_pa" }, { 2e3, 9.0, 4e4 }, arruda_boyce, false },
  { "fascia",
    { "c10_pa", "c01_pa", "bulk_pa", "fascia_pa" },
    { 1e3, 4e2, 2e4, 3e3 },
    fascia,
    false },
};

static const Law *
find_law(const char *problem)
{
  /* problems are called material-NAME */
  const char *model = strchr(problem, '-') + 1;
  for (size_t i = 0; i < G_N_ELEMENTS(laws); i++)
    if (strcmp(laws[i].model, model) == 0)
      return &laws[i];
  return NULL;
}

static void
closed_forms(const Law *law, double reference[3])
{
  const double a = STRETCH, first = 0.5 * SHEAR + sqrt(1.0 + 0.25 * SHEAR * SHEAR);
  const double sheared[3] = { first, 1.0, 1.0 / first };
  double low = 0.5, high = 1.5, p[3], mu, lambda;
  for (int i = 0; i < 60; i++) {
    const double b = 0.5 * (low + high), s[3] = { a, b, b };
    law->stress(law->value, s, p);
    *(p[1] > 0.0 ? &high : &low) = b;
  }
  const double narrow[3] = { a, low, low };
  law->stress(law->value, narrow, p);
  reference[0] = low;
  reference[1] = p[0] / (low * low);
  law->stress(law->value, sheared, p);
  lame(law->value, &mu, &lambda);
  reference[2] =
      law->small ? mu * SHEAR : (sheared[0] * p[0] - sheared[2] * p[2]) / sqrt(4.0 + SHEAR * SHEAR);
}

/* 'materials' of a scene, everything else about it after that */
static GString *
material_text(const PlaVerifyRun *run, const Law *law)
{
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "'materials': [{'where': {'all': true}, 'model': '%s'", law->model);
  for (int i = 0; law->key[i]; i++)
    g_string_append_printf(text, ", '%s': %.17g", law->key[i],
                           (g_str_has_suffix(law->key[i], "_pa") ? run->stiffness : 1.0) *
                               law->value[i]);
  g_string_append(text, "}], 'fields': ['stress'], 'estimate': false, 'solver': {'tolerance_rel': "
                        "1e-11}");
  return text;
}

/* component @c of the stress of the last cell */
static double
last_stress(const PlaMesh *mesh, int c)
{
  const PlaField *field = pla_mesh_find_field(mesh, "stress_pa", PLA_ON_CELLS);
  return field ? ((const double *)field->data)[6 * (pla_mesh_n_cells(mesh) - 1) + (size_t)c] : NAN;
}

PlaStatus
pla_verify_stretch(PlaVerifyRun *run, PlaError *err)
{
  const double lo[3] = { 0.0, 0.0, 0.0 }, hi[3] = { 0.01, 0.01, 0.01 };
  const Law *law = find_law(run->problem->name);
  const int cells[2][3] = { { 3, 3, 3 }, { 2, 2, 1 } };
  PlaMesh *mesh = NULL;
  PlaSimulationResult result = { 0 };
  g_autoptr(GString) material = material_text(run, law);
  closed_forms(law, run->reference);
  PlaStatus st = pla_box_mesh_new(lo, hi, cells[0], PLA_BOX_TETS_6, &mesh, err);
  if (st == PLA_OK)
    st = pla_verify_scene(
        run, mesh, NULL, &result, err,
        "{%s, 'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.001,11,11]]}, 'fix': 'x'},"
        "{'where': {'box_mm': [[-1,-1,-1],[11,0.001,11]]}, 'fix': 'y'},"
        "{'where': {'box_mm': [[-1,-1,-1],[11,11,0.001]]}, 'fix': 'z'},"
        "{'where': {'box_mm': [[9.999,-1,-1],[11,11,11]]}, 'move': {'axes': 'x', "
        "'translate_mm': [%.15g,0,0]}}], 'probes': [{'name': 'corner', 'nearest_mm': [10,10,10]}]}",
        material->str, 10.0 * (STRETCH - 1.0));
  if (st == PLA_OK) {
    run->value[0] = result.probe[0].position_mm[1] / 10.0;
    run->value[1] = last_stress(result.mesh, 0);
  }
  pla_simulation_result_clear(&result);
  g_clear_pointer(&mesh, pla_mesh_free);
  if (st == PLA_OK)
    st = pla_box_mesh_new(lo, hi, cells[1], PLA_BOX_TETS_6, &mesh, err);
  if (st == PLA_OK)
    st = pla_verify_scene(
        run, mesh, NULL, &result, err,
        "{%s, 'constraints': [{'where': {'box_mm': [[-1,-1,-1],[11,11,0.001]]}, 'fix': 'xyz'},"
        "{'where': {'box_mm': [[-1,-1,9.999],[11,11,11]]}, 'move': {'translate_mm': "
        "[%.15g,0,0]}}]}",
        material->str, 10.0 * SHEAR);
  if (st == PLA_OK)
    run->value[2] = last_stress(result.mesh, 5);
  pla_simulation_result_clear(&result);
  pla_mesh_free(mesh);
  return st;
}
