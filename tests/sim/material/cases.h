/* What the material tests run over: every registered material with its defaults, every choice of
 * the materials that have choices, a mixture, and tissue under prestrain. */
#pragma once

#include "sim/material/material.h"
#include "sim/material/mixture.h"

#include <glib.h>

typedef struct {
  char name[64];
  const PlaMaterial *material;
  double constants[PLA_MAX_CONSTANTS];
  bool strained;   /* points have a prestretch */
  bool polynomial; /* the complex energy is the real one for inverted F too */
} Case;

typedef struct {
  int n;
  Case at[64];
  PlaMixture *mixture;
} Cases;

void cases_init(Cases *cases);
void cases_clear(Cases *cases);

/* Constants of @material with its defaults, but for the pairs of a key and a value that follow;
 * NULL ends them. */
void constants_of(const PlaMaterial *material, double constants[PLA_MAX_CONSTANTS], ...);

/* A point with two fibres, partly active, and the prestretch if the case has one. */
PlaPoint point_at(const Case *c, const double f[9]);
/* The same without fibres and prestretch. */
PlaPoint bare_point(const double f[9]);

/* F = 1 + noise, or one with det F < 0 */
void random_f(GRand *rand, double half, bool inverted, double f[9]);
double max_abs(const double *x, int n);
double case_shear(const Case *c); /* shear modulus, Pa */
