/* What cells have of their own: constants, prestretch, fibres; and the activation of muscles. */
#include "sim/fem/model-data.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/material/prestretch.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static PlaStatus
check_fibres(const PlaFemCells *cells, int n_cells, PlaError *err)
{
  for (int c = 0; c < n_cells; c++)
    for (int k = cells->fibre_start[c]; k < cells->fibre_start[c + 1]; k++) {
      const double *d = cells->fibre + 3 * (size_t)k,
                   share = cells->overlap ? cells->overlap[k] : 1.0;
      if (!(fabs(pla_vec3_norm(d) - 1.0) < 1e-6))
        return pla_fail(err, PLA_ERR_USAGE,
                        "the fibre direction of element %d is (%g, %g, %g), and must have length 1",
                        c, d[0], d[1], d[2]);
      if (!(share >= 0.0 && share <= 1.0))
        return pla_fail(err, PLA_ERR_USAGE,
                        "the overlap of a muscle with element %d is %g, and must lie in 0..1", c,
                        share);
      if (cells->muscle && (cells->muscle[k] < 0 || cells->muscle[k] >= cells->n_muscles))
        return pla_fail(err, PLA_ERR_USAGE, "a fibre of element %d names muscle %d of %d", c,
                        cells->muscle[k], cells->n_muscles);
    }
  return PLA_OK;
}

static PlaStatus
check_prestretch(const double *prestretch, int n_cells, PlaError *err)
{
  for (int c = 0; c < n_cells; c++) {
    double det = pla_mat3_det(prestretch + 9 * (size_t)c);
    if (!(det > 1e-3 && det < 1e3))
      return pla_fail(
          err, PLA_ERR_USAGE,
          "the prestretch of element %d changes its volume by a factor of %g; stretches "
          "are numbers near 1",
          c, det);
  }
  return PLA_OK;
}

/* shrinks what cells weigh to their share of material */
static PlaStatus
fill_cells(PlaFemModel *model, const double *filled, PlaError *err)
{
  for (int c = 0; c < model->n_tets + model->n_hexes; c++)
    if (!(filled[c] > 0.0 && filled[c] <= 1.0))
      return pla_fail(err, PLA_ERR_USAGE,
                      "element %d is filled to a share of %g, and must be in (0, 1]", c, filled[c]);
  for (int t = 0; t < model->n_tets; t++)
    model->tet_volume[t] *= filled[t];
  for (int i = 0; i < 8 * model->n_hexes; i++)
    model->hex_weight[i] *= filled[model->n_tets + i / 8];
  pla_fem_lump_masses(model);
  /* averages of the mixed formulation count each cell by its material */
  PlaStatus st = PLA_OK;
  if (model->domains) {
    pla_fem_domains_free(model->domains);
    model->domains = NULL;
    st = pla_fem_domains_new(model, &model->domains, err);
  }
  if (st == PLA_OK && model->patches)
    pla_fem_patches_update(model);
  return st;
}

/* the prestretch that cells have now: given, then of their muscles */
static void
update_prestretch(PlaFemModel *model, const double *activation)
{
  const int n_cells = model->n_tets + model->n_hexes;
  for (int c = 0; c < n_cells; c++) {
    double *g = model->prestretch + 9 * (size_t)c;
    if (model->given_stretch)
      memcpy(g, model->given_stretch + 9 * (size_t)c, 9 * sizeof *g);
    else
      pla_mat3_identity(g);
    for (int k = model->fibre_start ? model->fibre_start[c] : 0;
         model->shape && model->fibre_start && k < model->fibre_start[c + 1]; k++) {
      const int m = model->fibre_muscle[k];
      const double *shape = model->shape + 2 * (size_t)m;
      double own[9];
      if (!(shape[0] > 0.0))
        continue;
      pla_prestretch_activation(model->fibre + 3 * (size_t)k,
                                activation ? activation[m] * model->overlap[k] : 0.0, shape[0],
                                shape[1], own);
      pla_mat3_mul(own, g, g);
    }
    model->prestretch_det[c] = pla_mat3_det(g);
  }
}

PlaStatus
pla_fem_model_set_cells(PlaFemModel *model, const PlaFemCells *cells, PlaError *err)
{
  const int n_cells = model->n_tets + model->n_hexes;
  const size_t n = (size_t)n_cells;
  PlaStatus st = PLA_OK;
  bool enough = true;
  if (cells->fibre_start)
    st = check_fibres(cells, n_cells, err);
  if (st == PLA_OK && cells->prestretch)
    st = check_prestretch(cells->prestretch, n_cells, err);
  if (st == PLA_OK && cells->filled)
    st = fill_cells(model, cells->filled, err);
  if (st != PLA_OK)
    return st;
  if (cells->own) {
    model->own = pla_array_dup(cells->own, n, sizeof *model->own);
    model->own_constants = pla_array_dup(cells->constants, (size_t)cells->n_own,
                                         PLA_MAX_CONSTANTS * sizeof *model->own_constants);
    enough &= model->own && model->own_constants;
  }
  bool shaped = false;
  if (cells->fibre_start) {
    const size_t n_fibres = (size_t)cells->fibre_start[n_cells];
    model->n_muscles = cells->n_muscles > 0 ? cells->n_muscles : 1;
    model->fibre_start = pla_array_dup(cells->fibre_start, n + 1, sizeof *model->fibre_start);
    model->fibre = pla_array_dup(cells->fibre, n_fibres, 3 * sizeof *model->fibre);
    model->overlap = pla_array_new(n_fibres, sizeof *model->overlap);
    model->active = pla_array_new0(n_fibres, sizeof *model->active);
    model->fibre_muscle = pla_array_new0(n_fibres, sizeof *model->fibre_muscle);
    model->shape = pla_array_new0((size_t)model->n_muscles, 2 * sizeof *model->shape);
    enough &= model->fibre_start && model->fibre && model->overlap && model->active &&
              model->fibre_muscle && model->shape;
    for (size_t k = 0; enough && k < n_fibres; k++) {
      model->overlap[k] = cells->overlap ? cells->overlap[k] : 1.0;
      model->fibre_muscle[k] = cells->muscle ? cells->muscle[k] : 0;
    }
    if (enough && cells->shape)
      memcpy(model->shape, cells->shape, 2 * (size_t)model->n_muscles * sizeof *model->shape);
    for (int m = 0; enough && m < model->n_muscles; m++)
      shaped |= model->shape[2 * (size_t)m] > 0.0;
  }
  if (cells->prestretch || shaped) {
    if (cells->prestretch)
      model->given_stretch = pla_array_dup(cells->prestretch, n, 9 * sizeof *model->given_stretch);
    model->prestretch = pla_array_new(n, 9 * sizeof *model->prestretch);
    model->prestretch_det = pla_array_new(n, sizeof *model->prestretch_det);
    enough &=
        (model->given_stretch || !cells->prestretch) && model->prestretch && model->prestretch_det;
    if (enough)
      update_prestretch(model, NULL);
  }
  if (!enough)
    return pla_fail_memory(err, "the properties of the elements");
  /* the split between elements and patches depends on all of it */
  if (model->patches) {
    pla_fem_patches_free(model->patches);
    model->patches = NULL;
    st = pla_fem_patches_new(model, err);
  }
  return st;
}

void
pla_fem_model_set_activations(PlaFemModel *model, const double *activation)
{
  const int n_cells = model->n_tets + model->n_hexes;
  if (!model->fibre_start)
    return;
  for (int k = 0; k < model->fibre_start[n_cells]; k++) {
    const int m = model->fibre_muscle[k];
    bool by_stress = !(model->shape[2 * (size_t)m] > 0.0);
    model->active[k] = by_stress ? activation[m] * model->overlap[k] : 0.0;
  }
  if (model->prestretch)
    update_prestretch(model, activation);
  if (model->prestretch && model->patches)
    pla_fem_patches_update(model);
}

PlaStatus
pla_fem_model_share(const PlaFemModel *model, PlaFemModel **out, PlaError *err)
{
  const size_t n_fibres =
      model->fibre_start ? (size_t)model->fibre_start[model->n_tets + model->n_hexes] : 0;
  PlaFemModel *self = pla_array_dup(model, 1, sizeof *self);
  *out = NULL;
  if (self)
    self->active = pla_array_new0(n_fibres, sizeof *self->active);
  if (!self || !self->active) {
    free(self);
    return pla_fail_memory(err, "the activations");
  }
  assert(!model->prestretch);
  self->shares = true;
  *out = self;
  return PLA_OK;
}

int
pla_fem_model_n_muscles(const PlaFemModel *model)
{
  return model->n_muscles;
}
