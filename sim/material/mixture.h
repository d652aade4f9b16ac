/* A material made of several, side by side in one element: Psi = sum_k w_k Psi_k.  For cells that
 * cross the boundary between tissues; the fractions w_k are the constants of the mixture, so that
 * one mixture serves elements with different ones. */
#pragma once

#include "sim/material/material.h"

typedef struct {
  const PlaMaterial *material; /* borrowed; must outlive the mixture; not a mixture itself */
  double constants[PLA_MAX_CONSTANTS];
} PlaMixturePart;

/* PLA_ERR_USAGE for no part, or more than PLA_MAX_CONSTANTS.  Caller frees *out. */
PlaStatus pla_mixture_new(const PlaMixturePart *parts, int n, PlaMixture **out, PlaError *err);
void pla_mixture_free(PlaMixture *mixture); /* NULL is fine */

/* The material to give to a model, with n fractions as its constants; lives as long as @mixture. */
const PlaMaterial *pla_mixture_get(const PlaMixture *mixture);

int pla_mixture_n_parts(const PlaMixture *mixture);
const PlaMixturePart *pla_mixture_part(const PlaMixture *mixture, int k);
