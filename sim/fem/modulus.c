/* How stiff a model's material is at rest. */
#include "sim/fem/model-data.h"

#include <math.h>

double
pla_fem_model_modulus(const PlaFemModel *model)
{
  double most = 0.0;
  for (int m = 0; m < model->n_materials; m++) {
    const PlaFemMaterial *material = &model->material[m];
    double mu, lambda, volume;
    pla_material_moduli(material->material, material->constants, &mu, &lambda, &volume);
    most = fmax(most, 2.0 * mu + lambda);
  }
  return most;
}
