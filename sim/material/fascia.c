/* Fascia: Mooney-Rivlin flesh wrapped in a sheath that stiffens under tension only. */
#include "sim/material/fascia.h"

#include "sim/material/complex-step.h"
#include "sim/material/registry.h"
#include "sim/material/stretch.h"

#include <string.h>

double
pla_fascia_energy(double k, const double s[3])
{
  double sum = 0.0;
  for (int i = 0; i < 3; i++) {
    double e = fmax(s[i] - 1.0, 0.0);
    sum += e * e;
  }
  return 0.5 * k * sum;
}

void
pla_fascia_add(double k, const double s[3], double p[3], double hessian[6])
{
  for (int i = 0; i < 3; i++) {
    if (p)
      p[i] += k * fmax(s[i] - 1.0, 0.0);
    if (hessian)
      hessian[i] += s[i] > 1.0 ? k : 0.0;
  }
}

/* max(sqrt w - 1, 0)^2 */
static void
tension(double w, double unused, double out[3])
{
  double s = sqrt(w);
  out[0] = s > 1.0 ? (s - 1.0) * (s - 1.0) : 0.0;
  out[1] = s > 1.0 ? 1.0 - 1.0 / s : 0.0;
  out[2] = s > 1.0 ? 0.5 / (s * w) : 0.0;
}

PlaDual
pla_fascia_complex(double k, const PlaPoint *point, const PlaDual f[9])
{
  return pla_dual_scale(0.5 * k, pla_dual_spectral(point, f, tension, 0.0));
}

static const PlaParam params[] = {
  PLA_PARAMS_MOONEY_RIVLIN,
  PLA_PARAM_BULK,
  PLA_PARAM_FASCIA(160000.0),
  { .key = NULL },
};

/* constants: those of mooney-rivlin, then the sheath */
static PlaStatus
prepare(const double *param, double c[PLA_MAX_CONSTANTS], PlaError *err)
{
  c[3] = param[3];
  return pla_material_mooney_rivlin.prepare(param, c, err);
}

static double
energy(const double *c, const double s[3])
{
  return pla_material_mooney_rivlin.stretch_energy(c, s) + pla_fascia_energy(c[3], s);
}

static void
stress(const double *c, const double s[3], double p[3])
{
  pla_material_mooney_rivlin.stretch_stress(c, s, p);
  pla_fascia_add(c[3], s, p, NULL);
}

static void
tangent(const double *c, const double s[3], double hessian[6])
{
  pla_material_mooney_rivlin.stretch_tangent(c, s, hessian);
  pla_fascia_add(c[3], s, NULL, hessian);
}

static void
moduli(const double *c, double *mu, double *lambda, double *vol)
{
  pla_material_mooney_rivlin.moduli(c, mu, lambda, vol);
}

static PlaDual
complex_energy(const double *c, const PlaPoint *point, const PlaDual f[9])
{
  return pla_dual_add(pla_material_complex_energy(&pla_material_mooney_rivlin, c, point, f),
                      pla_fascia_complex(c[3], point, f));
}

const PlaMaterial pla_material_fascia = {
  .id = "fascia",
  .title = "Fascia",
  .help = "Mooney-Rivlin flesh in a sheath that resists stretch and gives way to compression",
  .params = params,
  .prepare = prepare,
  .stretch_energy = energy,
  .stretch_stress = stress,
  .stretch_tangent = tangent,
  .moduli = moduli,
  .complex_energy = complex_energy,
  .volume_modulus = pla_volume_modulus_2,
};
