/* Tets in closed form: neo-Hookean, with or without fibres; and the fibres alone. */
#pragma once

#include "sim/fem/model-data.h"
#include "sim/material/fibre-curve.h"

typedef struct {
  double mu, lambda, volume;
  double f[9], log_det, i1;
  double grad[4][3], c[4][3];
  PlaFibreLaw law;
  PlaPoint point; /* its fibres */
} PlaSimpleTet;

/* False where tet @t at @pos is none. */
bool pla_simple_tet_init(PlaSimpleTet *self, const PlaFemModel *model, int t, const double *pos);
double pla_simple_tet_energy(const PlaSimpleTet *self); /* J */
void pla_simple_tet_forces(const PlaSimpleTet *self, double corner[12]);
void pla_simple_tet_stiffness(const PlaSimpleTet *self, double stiffness[144]);

/* Whether the fibres of tet @t act on its own F where all else acts on averages
 * (sim/fem/domains.c). */
bool pla_tet_has_own_fibres(const PlaFemModel *model, int t);
/* The fibres of such a tet that has some; false for any other. */
bool pla_tet_fibres_init(PlaSimpleTet *self, const PlaFemModel *model, int t, const double *pos);
double pla_tet_fibres_energy(const PlaSimpleTet *self); /* J */
void pla_tet_fibres_add_forces(const PlaSimpleTet *self, double corner[12]);
/* @project: positive semidefinite */
void pla_tet_fibres_add_stiffness(const PlaSimpleTet *self, bool project, double stiffness[144]);
