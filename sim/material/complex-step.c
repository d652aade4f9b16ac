/* Complex-step stress and tangent.
 *
 * Directly: P_k = Im Psi(F + h i e_k) / h, and H_kl = Im b(Psi(F + h i e_k + d e_l)) / h.
 * Nested: with g(I1, I2, J) differentiated by complex steps and the invariants by hand,
 *   P = sum_m g_m dI_m/dF,   H = sum_mn g_mn dI_m (x) dI_n + sum_m g_m d2I_m/dF2.
 * (Luo 2020.) */
#include "sim/material/complex-step.h"

#include "anatomy/base/mat3.h"
#include "sim/material/mixture.h"

#include <assert.h>
#include <string.h>

void
pla_dual_invariants(const PlaDual f[9], PlaDual invariant[3])
{
  PlaDual cofactor[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      cofactor[3 * i + j] = pla_dual_sub(pla_dual_mul(f[3 * i1 + j1], f[3 * i2 + j2]),
                                         pla_dual_mul(f[3 * i1 + j2], f[3 * i2 + j1]));
    }
  for (int m = 0; m < 3; m++)
    invariant[m] = pla_dual(0.0);
  for (int k = 0; k < 9; k++) {
    invariant[0] = pla_dual_add(invariant[0], pla_dual_square(f[k]));
    invariant[1] = pla_dual_add(invariant[1], pla_dual_square(cofactor[k]));
    if (k < 3)
      invariant[2] = pla_dual_add(invariant[2], pla_dual_mul(f[k], cofactor[k]));
  }
}

PlaDual
pla_dual_isochoric_1(const PlaDual invariant[3])
{
  return pla_dual_mul(invariant[0], pla_dual_power_det(invariant[2], -2.0 / 3.0));
}

PlaDual
pla_dual_isochoric_2(const PlaDual invariant[3])
{
  return pla_dual_mul(invariant[1], pla_dual_power_det(invariant[2], -4.0 / 3.0));
}

PlaDual
pla_dual_bulk(double bulk, const PlaDual invariant[3])
{
  return pla_dual_scale(0.5 * bulk, pla_dual_square(pla_dual_log_det(invariant[2])));
}

PlaDual
pla_dual_spectral(const PlaPoint *point, const PlaDual f[9],
                  void (*func)(double w, double parameter, double out[3]), double parameter)
{
  /* C in the eigenbasis of its real part: diagonal, but for steps */
  PlaDual c[9];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      PlaDual sum = pla_dual(0.0);
      for (int r = 0; r < 3; r++) {
        PlaDual left = pla_dual(0.0), right = pla_dual(0.0);
        for (int k = 0; k < 3; k++) {
          left = pla_dual_add(left, pla_dual_scale(point->v[3 * k + i], f[3 * r + k]));
          right = pla_dual_add(right, pla_dual_scale(point->v[3 * k + j], f[3 * r + k]));
        }
        sum = pla_dual_add(sum, pla_dual_mul(left, right));
      }
      c[3 * i + j] = sum;
    }
  PlaDual total = pla_dual(0.0);
  double w[3], at[3][3];
  for (int i = 0; i < 3; i++) {
    w[i] = point->s[i] * point->s[i];
    func(w[i], parameter, at[i]);
    c[4 * i] = pla_dual_plus(c[4 * i], -w[i]);
  }
  for (int i = 0; i < 3; i++) {
    total = pla_dual_plus(pla_dual_add(total, pla_dual_scale(at[i][1], c[4 * i])), at[i][0]);
    for (int j = 0; j < 3; j++) {
      double gap = w[i] - w[j], mean[3];
      func(0.5 * (w[i] + w[j]), parameter, mean);
      double second = fabs(gap) > 1e-5 * (w[i] + w[j]) ? (at[i][1] - at[j][1]) / gap : mean[2];
      total = pla_dual_add(total,
                           pla_dual_scale(0.5 * second, pla_dual_mul(c[3 * i + j], c[3 * j + i])));
    }
  }
  return total;
}

PlaDual
pla_material_complex_energy(const PlaMaterial *material, const double *constants,
                            const PlaPoint *point, const PlaDual f[9])
{
  if (point->prestretch) {
    PlaPoint inner;
    PlaDual fg[9];
    const double *g = point->prestretch;
    double det = pla_point_unstrained(point, &inner);
    for (int k = 0; k < 9; k++) {
      fg[k] = pla_dual(0.0);
      for (int m = 0; m < 3; m++)
        fg[k] = pla_dual_add(fg[k], pla_dual_scale(g[3 * m + k % 3], f[k - k % 3 + m]));
    }
    return pla_dual_scale(1.0 / det, pla_material_complex_energy(material, constants, &inner, fg));
  }
  if (material->mixture) {
    PlaDual sum = pla_dual(0.0);
    for (int k = 0; k < pla_mixture_n_parts(material->mixture); k++) {
      const PlaMixturePart *part = pla_mixture_part(material->mixture, k);
      PlaDual own = pla_material_complex_energy(part->material, part->constants, point, f);
      sum = pla_dual_add(sum, pla_dual_scale(constants[k], own));
    }
    return sum;
  }
  if (material->complex_energy)
    return material->complex_energy(constants, point, f);
  assert(material->invariant_energy);
  PlaDual invariant[3];
  pla_dual_invariants(f, invariant);
  return material->invariant_energy(constants, invariant);
}

void
pla_complex_step_stress(const PlaMaterial *material, const double *constants, const PlaPoint *point,
                        double p[9])
{
  PlaDual f[9];
  for (int k = 0; k < 9; k++)
    f[k] = pla_dual(point->f[k]);
  for (int k = 0; k < 9; k++) {
    f[k].a = pla_complex(point->f[k], PLA_COMPLEX_STEP);
    p[k] = cimag(pla_material_complex_energy(material, constants, point, f).a) / PLA_COMPLEX_STEP;
    f[k].a = point->f[k];
  }
}

void
pla_complex_step_tangent(const PlaMaterial *material, const double *constants,
                         const PlaPoint *point, double h[81])
{
  PlaDual f[9];
  for (int k = 0; k < 9; k++)
    f[k] = pla_dual(point->f[k]);
  for (int k = 0; k < 9; k++) {
    f[k].a = pla_complex(point->f[k], PLA_COMPLEX_STEP);
    for (int l = k; l < 9; l++) {
      f[l].b = 1.0;
      PlaDual psi = pla_material_complex_energy(material, constants, point, f);
      h[9 * k + l] = h[9 * l + k] = cimag(psi.b) / PLA_COMPLEX_STEP;
      f[l].b = 0.0;
    }
    f[k].a = point->f[k];
  }
}

/* values and gradients of I1, I2, J */
static void
invariants(const double f[9], double invariant[3], double gradient[3][9], double c[9])
{
  double fc[9];
  pla_mat3_mul_tn(f, f, c);
  pla_mat3_mul(f, c, fc);
  pla_mat3_cofactor(f, gradient[2]);
  memset(invariant, 0, 3 * sizeof *invariant);
  for (int k = 0; k < 9; k++) {
    invariant[0] += f[k] * f[k];
    invariant[1] += gradient[2][k] * gradient[2][k];
    if (k < 3)
      invariant[2] += f[k] * gradient[2][k];
  }
  for (int k = 0; k < 9; k++) {
    gradient[0][k] = 2.0 * f[k];
    gradient[1][k] = 2.0 * (invariant[0] * f[k] - fc[k]);
  }
}

void
pla_invariant_step_stress(const PlaMaterial *material, const double *constants,
                          const PlaPoint *point, double p[9])
{
  double value[3], gradient[3][9], c[9];
  invariants(point->f, value, gradient, c);
  PlaDual x[3] = { pla_dual(value[0]), pla_dual(value[1]), pla_dual(value[2]) };
  memset(p, 0, 9 * sizeof *p);
  for (int m = 0; m < 3; m++) {
    x[m].a = pla_complex(value[m], PLA_COMPLEX_STEP);
    double slope = cimag(material->invariant_energy(constants, x).a) / PLA_COMPLEX_STEP;
    x[m].a = value[m];
    for (int k = 0; k < 9; k++)
      p[k] += slope * gradient[m][k];
  }
}

void
pla_invariant_step_tangent(const PlaMaterial *material, const double *constants,
                           const PlaPoint *point, double h[81])
{
  const double *f = point->f;
  double value[3], gradient[3][9], c[9], slope[3], curve[3][3];
  invariants(f, value, gradient, c);
  PlaDual x[3] = { pla_dual(value[0]), pla_dual(value[1]), pla_dual(value[2]) };
  for (int m = 0; m < 3; m++) {
    x[m].a = pla_complex(value[m], PLA_COMPLEX_STEP);
    for (int n = m; n < 3; n++) {
      x[n].b = 1.0;
      PlaDual g = material->invariant_energy(constants, x);
      curve[m][n] = curve[n][m] = cimag(g.b) / PLA_COMPLEX_STEP;
      slope[m] = cimag(g.a) / PLA_COMPLEX_STEP;
      x[n].b = 0.0;
    }
    x[m].a = value[m];
  }

  /* sum_mn g_mn dI_m (x) dI_n */
  double row[3][9], ff[9];
  for (int m = 0; m < 3; m++)
    for (int k = 0; k < 9; k++)
      row[m][k] = curve[m][0] * gradient[0][k] + curve[m][1] * gradient[1][k] +
                  curve[m][2] * gradient[2][k];
  for (int k = 0; k < 9; k++)
    for (int l = 0; l < 9; l++)
      h[9 * k + l] =
          gradient[0][k] * row[0][l] + gradient[1][k] * row[1][l] + gradient[2][k] * row[2][l];

  /* d2 I1 = 2 1;  d2 I2 = 2 (2 F (x) F + I1 1 - d(F F^T F));  d2 J = the cross matrix of F */
  pla_mat3_mul_nt(f, f, ff);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) {
          double triple =
              (i == k) * c[3 * l + j] + f[3 * i + l] * f[3 * k + j] + (j == l) * ff[3 * i + k];
          double same = (i == k && j == l);
          double outer = 2.0 * f[3 * i + j] * f[3 * k + l];
          h[9 * (3 * i + j) + 3 * k + l] +=
              2.0 * slope[0] * same + 2.0 * slope[1] * (outer + value[0] * same - triple);
          if (i != k && j != l) {
            double sign = ((k - i + 3) % 3 == (l - j + 3) % 3) ? 1.0 : -1.0;
            h[9 * (3 * i + j) + 3 * k + l] += slope[2] * sign * f[3 * (3 - i - k) + 3 - j - l];
          }
        }
}

void
pla_material_from_energy(const PlaMaterial *model, PlaMaterial *out)
{
  assert(model->invariant_energy || model->complex_energy);
  *out = (PlaMaterial){ .id = model->id,
                        .title = model->title,
                        .help = model->help,
                        .params = model->params,
                        .prepare = model->prepare,
                        .invariant_energy = model->invariant_energy,
                        .complex_energy = model->complex_energy };
}
