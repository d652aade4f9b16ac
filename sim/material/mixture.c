/* Mixtures: the list of parts.  The weighted sums stand in material.c, where every material is
 * dispatched. */
#include "sim/material/mixture.h"

#include "anatomy/base/memory.h"

#include <stdlib.h>
#include <string.h>

struct PlaMixture {
  PlaMaterial material;
  int n;
  PlaMixturePart parts[PLA_MAX_CONSTANTS];
};

static const PlaParam no_params[] = { { .key = NULL } };

PlaStatus
pla_mixture_new(const PlaMixturePart *parts, int n, PlaMixture **out, PlaError *err)
{
  *out = NULL;
  if (n < 1 || n > PLA_MAX_CONSTANTS)
    return pla_fail(err, PLA_ERR_USAGE,
                    "a mixture has %d tissues, and must have at least 1 and at most %d", n,
                    PLA_MAX_CONSTANTS);
  for (int k = 0; k < n; k++)
    if (parts[k].material->mixture)
      return pla_fail(err, PLA_ERR_USAGE,
                      "part %d of a mixture is a mixture; list its parts instead", k + 1);
  PlaMixture *mixture = pla_array_new0(1, sizeof *mixture);
  if (!mixture)
    return pla_fail_memory(err, "the mixture");
  mixture->n = n;
  memcpy(mixture->parts, parts, (size_t)n * sizeof *parts);
  mixture->material = (PlaMaterial){
    .id = "mixture",
    .title = "Mixture",
    .help = "several tissues in one element, by volume fraction",
    .params = no_params,
    .mixture = mixture,
  };
  *out = mixture;
  return PLA_OK;
}

void
pla_mixture_free(PlaMixture *mixture)
{
  free(mixture);
}

const PlaMaterial *
pla_mixture_get(const PlaMixture *mixture)
{
  return &mixture->material;
}

int
pla_mixture_n_parts(const PlaMixture *mixture)
{
  return mixture->n;
}

const PlaMixturePart *
pla_mixture_part(const PlaMixture *mixture, int k)
{
  return &mixture->parts[k];
}
