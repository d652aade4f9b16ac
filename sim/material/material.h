/* Hyperelastic materials: energy density, first Piola-Kirchhoff stress and tangent at one point.
 *
 * Conventions.  F = U diag(s) V^T is the rotation-variant SVD of the deformation gradient, so s[2]
 * alone may be negative.  P = dPsi/dF.  The tangent is the symmetric 9x9 matrix dP/dF with F taken
 * row by row.  Every material is defined, finite and continuous for every F, inverted ones too:
 * where the textbook energy ends (ln J), it is continued below the stretch PLA_STRETCH_FLOOR by a
 * function that is still an energy, twice differentiable, so that descent on it is sound.
 *
 * A material is one file sim/material/NAME.c that declares one `const PlaMaterial`; listing it in
 * registry.c gives it to scenes, panels and the conformance test. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>

#define PLA_STRETCH_FLOOR 0.1  /* below this principal stretch, logarithms and powers are continued */
#define PLA_MAX_CONSTANTS 16

/* One parameter a user can set. */
typedef struct {
  const char *key;   /* as in scenes, with its unit: "young_pa", "poisson" */
  const char *unit;  /* shown: "Pa", "" */
  const char *help;  /* one line */
  double min, max;   /* accepted range, inclusive; min_open/max_open exclude an end */
  bool min_open, max_open;
  double def;        /* default; NaN: the parameter is required */
  const char *source; /* where default and range come from */
} PlaParam;

/* What a stress is evaluated on. */
typedef struct {
  double f[9];        /* deformation gradient, row-major */
  double u[9], s[3], v[9]; /* its rotation-variant SVD */
  const double *fibre;  /* unit fibre directions at rest (n_fibres x 3), or NULL */
  const double *active; /* activation times overlap fraction, 0..1, per fibre (n_fibres) */
  const double *passive; /* overlap fraction per fibre (n_fibres) */
  int n_fibres;
} PlaPoint;

/* Fills u, s, v from f. */
void pla_point_decompose(PlaPoint *point);

typedef struct PlaMaterial PlaMaterial;
struct PlaMaterial {
  const char *id;    /* "neo-hookean" */
  const char *title; /* "Neo-Hookean" */
  const char *help;  /* formula and use, one or two lines */
  const PlaParam *params; /* key NULL ends the table */

  /* User parameters (in table order) -> the constants that the functions below read. */
  PlaStatus (*prepare)(const double *param, double constants[PLA_MAX_CONSTANTS], PlaError *err);

  /* Isotropic materials: functions of the principal stretches.  stretch_tangent gives the Hessian
   * (00, 11, 22, 01, 02, 12) of the energy in s. */
  double (*stretch_energy)(const double *constants, const double s[3]); /* Pa */
  void (*stretch_stress)(const double *constants, const double s[3], double p[3]);
  void (*stretch_tangent)(const double *constants, const double s[3], double hessian[6]);

  /* Materials that are not isotropic functions of F alone (linear, fibres) set these instead; an
   * isotropic material leaves them NULL. */
  double (*energy)(const double *constants, const PlaPoint *point);
  void (*stress)(const double *constants, const PlaPoint *point, double p[9]);
  void (*tangent)(const double *constants, const PlaPoint *point, bool project, double h[81]);

  /* Small-strain shear modulus and first Lame constant, Pa, and the volumetric coefficient of the
   * positive-definite surrogate 2 mu 1 + vol cof F (x) cof F (chen-y 1.3). */
  void (*moduli)(const double *constants, double *mu, double *lambda, double *vol);
};

/* NULL-terminated. */
const PlaMaterial *const *pla_materials_get(void);
const PlaMaterial *pla_material_find(const char *id); /* or NULL */

/* Dispatch: what assembly calls.  @project makes the tangent positive semidefinite (blockwise in
 * the frame of the SVD: one 3x3 and three 2x2). */
double pla_material_energy(const PlaMaterial *material, const double *constants,
                           const PlaPoint *point);
void pla_material_stress(const PlaMaterial *material, const double *constants,
                         const PlaPoint *point, double p[9]);
void pla_material_tangent(const PlaMaterial *material, const double *constants,
                          const PlaPoint *point, bool project, double h[81]);

/* Checks @param (table order) against the table; the sentence names the key and the range. */
PlaStatus pla_material_check(const PlaMaterial *material, const double *param, PlaError *err);
