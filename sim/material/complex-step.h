/* Derivatives of energies by complex steps: the oracle of every analytic stress and tangent, and a
 * way to add a material by its energy alone. */
#pragma once

#include "sim/material/dual.h"

/* I1 = |F|^2, I2 = (I1^2 - tr (F^T F)^2) / 2 = |cof F|^2, J = det F */
void pla_dual_invariants(const PlaDual f[9], PlaDual invariant[3]);

/* J^(-2/3) I1 and J^(-4/3) I2, continued for small and negative J */
PlaDual pla_dual_isochoric_1(const PlaDual invariant[3]);
PlaDual pla_dual_isochoric_2(const PlaDual invariant[3]);
/* bulk/2 (ln J)^2, continued likewise */
PlaDual pla_dual_bulk(double bulk, const PlaDual invariant[3]);

/* sum_i g(w_i) over the eigenvalues w_i of C = F^T F, to second order in the step, for a smooth g
 * that
 * @func gives with its first two derivatives.  Equal eigenvalues are no trouble. */
PlaDual pla_dual_spectral(const PlaPoint *point, const PlaDual f[9],
                          void (*func)(double w, double parameter, double out[3]),
                          double parameter);

/* The energy on a dual F; the material must have invariant_energy or complex_energy.  point->f is
 * its real part. */
PlaDual pla_material_complex_energy(const PlaMaterial *material, const double *constants,
                                    const PlaPoint *point, const PlaDual f[9]);

/* P by 9 evaluations on F, dP/dF (full 9x9) by 45. */
void pla_complex_step_stress(const PlaMaterial *material, const double *constants,
                             const PlaPoint *point, double p[9]);
void pla_complex_step_tangent(const PlaMaterial *material, const double *constants,
                              const PlaPoint *point, double h[81]);

/* The same for an energy of the invariants, which are differentiated once for all: 3 evaluations of
 * the outer function, and 6. */
void pla_invariant_step_stress(const PlaMaterial *material, const double *constants,
                               const PlaPoint *point, double p[9]);
void pla_invariant_step_tangent(const PlaMaterial *material, const double *constants,
                                const PlaPoint *point, double h[81]);

/* Fills @out as a material of which only the energy is written: @model has id, title, help, params,
 * prepare and one of invariant_energy and complex_energy.  Stress and tangent come by complex
 * steps; so do the moduli (use pla_material_moduli()).  What it costs: `platysma-cli bench csfd`.
 */
void pla_material_from_energy(const PlaMaterial *model, PlaMaterial *out);
