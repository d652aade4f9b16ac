/* Hyperelastic materials: energy density, first Piola-Kirchhoff stress and tangent at one point.
 *
 * Conventions.  F = U diag(s) V^T is the rotation-variant SVD of the deformation gradient, so s[2]
 * alone may be negative.  P = dPsi/dF.  The tangent is the symmetric 9x9 matrix dP/dF with F taken
 * row by row.  Every material is defined, finite and continuous for every F, inverted ones too:
 * where the textbook energy ends (ln J), it is continued below the stretch PLA_STRETCH_FLOOR by a
 * function that is still an energy, twice differentiable, so that descent on it is sound.
 *
 * An energy can also be evaluated on complex numbers (sim/material/complex-step.h), which yields
 * derivatives good to rounding.  A material that gives nothing but such an energy is complete.
 *
 * A material is one file sim/material/NAME.c that declares one `const PlaMaterial`; listing it in
 * registry.c gives it to scenes, panels and the conformance test. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>

#define PLA_STRETCH_FLOOR                                                                          \
  0.1 /* below this principal stretch, logarithms and powers are continued */
#define PLA_MAX_CONSTANTS 16

/* One parameter a user can set. */
typedef struct {
  const char *key;  /* as in scenes, with its unit: "young_pa", "poisson" */
  const char *unit; /* shown: "Pa", "" */
  const char *help; /* one line */
  double min, max;  /* accepted range, inclusive; min_open/max_open exclude an end */
  bool min_open, max_open;
  double def;                 /* default; NaN: the parameter is required */
  const char *source;         /* where default and range come from */
  const char *const *choices; /* NULL-ended words for the values 0, 1, ...; NULL: a plain number */
} PlaParam;

/* What a stress is evaluated on. */
typedef struct {
  double f[9];             /* deformation gradient, row-major */
  double u[9], s[3], v[9]; /* its rotation-variant SVD */
  const double *fibre;     /* unit fibre directions at rest (n_fibres x 3), or NULL */
  const double *active;    /* activation times overlap fraction, 0..1, per fibre (n_fibres) */
  const double *passive;   /* overlap fraction per fibre (n_fibres) */
  int n_fibres;
  /* Prestrain, or NULL: the symmetric stretch G (9) that tissue already has where F = 1, so that
   * Psi(F) = Psi0(F G) / det G.  Fibres are directions of the tissue before that stretch. */
  const double *prestretch;
} PlaPoint;

/* Fills u, s, v from f. */
void pla_point_decompose(PlaPoint *point);
/* The point as the tissue before its prestretch sees it: F G, decomposed.  Returns det G. */
double pla_point_unstrained(const PlaPoint *point, PlaPoint *inner);

/* A function of one number with its first two derivatives. */
typedef struct {
  double g, d, dd;
} PlaCurve;

typedef struct PlaDual PlaDual;       /* sim/material/dual.h */
typedef struct PlaMixture PlaMixture; /* sim/material/mixture.h */
typedef struct PlaMaterial PlaMaterial;
struct PlaMaterial {
  const char *id;         /* "neo-hookean" */
  const char *title;      /* "Neo-Hookean" */
  const char *help;       /* formula and use, one or two lines */
  const PlaParam *params; /* key NULL ends the table */

  /* User parameters (in table order) -> the constants that the functions below read. */
  PlaStatus (*prepare)(const double *param, double constants[PLA_MAX_CONSTANTS], PlaError *err);

  /* Isotropic materials: functions of the principal stretches.  stretch_tangent gives the Hessian
   * (00, 11, 22, 01, 02, 12) of the energy in s. */
  double (*stretch_energy)(const double *constants, const double s[3]); /* Pa */
  void (*stretch_stress)(const double *constants, const double s[3], double p[3]);
  void (*stretch_tangent)(const double *constants, const double s[3], double hessian[6]);

  /* Or, for those that are f(J^(-2/3) I1) + constants[0]/2 (ln J)^2 with f(3) = 0: that f. */
  PlaCurve (*shape)(const double *constants, double x);

  /* Materials that are not isotropic functions of F alone (linear, fibres) set these instead; an
   * isotropic material leaves them NULL.  A projected tangent is the true one where that is
   * definite. */
  double (*energy)(const double *constants, const PlaPoint *point);
  void (*stress)(const double *constants, const PlaPoint *point, double p[9]);
  void (*tangent)(const double *constants, const PlaPoint *point, bool project, double h[81]);
  /* dP / d active[m]: what the fibre @m, with an overlap of 1, adds at full activation. */
  void (*active_stress)(const double *constants, const PlaPoint *point, int m, double p[9]);

  /* Small-strain shear modulus and first Lame constant, Pa, and the volumetric coefficient of the
   * positive-definite surrogate 2 mu 1 + vol cof F (x) cof F (chen-y 1.3). */
  void (*moduli)(const double *constants, double *mu, double *lambda, double *vol);

  /* The energy on complex numbers, for inverted F too unless the real one is continued there:
   * either of the invariants I1, I2, J, or of F.  Optional where the functions above are given. */
  PlaDual (*invariant_energy)(const double *constants, const PlaDual *invariant);
  PlaDual (*complex_energy)(const double *constants, const PlaPoint *point, const PlaDual *f);

  /* Where, among the constants, the factor k of the term that resists change of volume stands:
   * k/2 (ln J)^2, or k/2 (J - 1)^2 if volume_square.  NULL: no such term can be taken out, and the
   * mixed formulation refuses the material. */
  double *(*volume_modulus)(double *constants);
  bool volume_square;

  /* J^(-2/3) I1 up to which the energy is as printed, where constants can make one that would then
   * stop growing and is continued instead (INFINITY: these do not).  NULL: none can. */
  double (*reach)(const double *constants);

  const PlaMixture *mixture; /* parts; the constants are then their fractions */
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

/* moduli() of the material, or read off its tangent at rest where it has none. */
void pla_material_moduli(const PlaMaterial *material, const double *constants, double *mu,
                         double *lambda, double *vol);

/* The value of a word among @param's choices; the sentence lists them. */
PlaStatus pla_param_choose(const PlaParam *param, const char *word, double *value, PlaError *err);

/* Index of @key in the material's table, or -1. */
int pla_material_param(const PlaMaterial *material, const char *key);

/* Checks @param (table order) against the table; the sentence names the key and the range. */
PlaStatus pla_material_check(const PlaMaterial *material, const double *param, PlaError *err);
