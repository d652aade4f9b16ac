/* Flesh with muscles on a skull and a moving jaw: shapes from activations, and their derivatives.
 *
 * The controls are the activations of the muscles, 0..1, then, where there is a jaw, its opening
 * (rad) and the slides of the right and the left condyle (m).  Positions are in the frame of the
 * cranium, in which whatever the fixed vertices belong to stays where it is; motion of the head
 * never touches the mechanics.  The force of the muscles is affine in the activations (Sifakis,
 * Neverov and Fedkiw 2005): f(x, a) = f_0(x) + sum_i a_i f_i(x).
 *
 * A model is immutable and may be shared by threads; a solver is scratch for one thread at a time.
 */
#pragma once

#include "anatomy/base/progress.h"
#include "sim/active/jaw.h"
#include "sim/fem/model.h"

typedef struct PlaActiveModel PlaActiveModel;

enum { PLA_HOLD_FREE = 0, PLA_HOLD_CRANIUM, PLA_HOLD_JAW };

/* What a model is made of; all borrowed and copied. */
typedef struct {
  const PlaMesh *mesh; /* tets, m */
  PlaFormulation formulation;
  const PlaFemMaterial *flesh; /* of every element; a material with fibres */
  int n_muscles;
  const char *const *muscle; /* names (n_muscles) */
  const int *fibre_start;    /* as in PlaFemCells (n_tets + 1) */
  const double *fibre;
  const double *overlap; /* share of the element times relative strength, 0..1 */
  const int *fibre_muscle;
  const unsigned char *hold; /* PLA_HOLD_* (n_verts) */
  const PlaJaw *jaw;         /* NULL: none, and nothing is held by it */
} PlaActiveParts;

/* PLA_ERR_GEOMETRY when some piece is held by nothing. */
PlaStatus pla_active_model_new(const PlaActiveParts *parts, PlaActiveModel **out, PlaError *err);
void pla_active_model_free(PlaActiveModel *self); /* NULL is fine */

int pla_active_n_muscles(const PlaActiveModel *self);
int pla_active_n_controls(const PlaActiveModel *self); /* muscles, and 3 with a jaw */
int pla_active_n_verts(const PlaActiveModel *self);
const char *pla_active_muscle_name(const PlaActiveModel *self, int m);
const PlaJaw *pla_active_jaw(const PlaActiveModel *self); /* NULL without */
const PlaFemModel *pla_active_fem(const PlaActiveModel *self);
const unsigned char *pla_active_hold(const PlaActiveModel *self);
/* Index of the muscle called @name, or -1. */
int pla_active_find_muscle(const PlaActiveModel *self, const char *name);
/* Lower and upper bounds of the controls. */
void pla_active_limits(const PlaActiveModel *self, double *lo, double *hi);

typedef struct PlaActiveSolver PlaActiveSolver;
PlaStatus pla_active_solver_new(const PlaActiveModel *model, PlaActiveSolver **out, PlaError *err);
void pla_active_solver_free(PlaActiveSolver *self); /* NULL is fine */

typedef struct {
  int iterations; /* steps */
  int factorisations;
  double step_m; /* largest motion of a vertex in the last one */
  bool converged;
  int inverted;                              /* elements turned inside out */
  double assemble_s, factor_s, substitute_s; /* wall-clock */
} PlaActiveReport;

/* Where a body is: its controls, and the equilibrium that belongs to them. */
typedef struct {
  double *control; /* n_controls */
  double *pos;     /* m (n_verts x 3) */
} PlaActiveState;
PlaStatus pla_active_state_init(PlaActiveState *self, const PlaActiveModel *model, PlaError *err);
void pla_active_state_clear(PlaActiveState *self);
void pla_active_state_copy(PlaActiveState *self, const PlaActiveModel *model,
                           const PlaActiveState *from);

/* Brings @state to equilibrium at @control, until no vertex moves by more than @tolerance_m in a
 * step.
 * @columns: sensitivities at @state, for a better first guess, or NULL.  An older factor serves as
 * long as its steps converge quickly; where they lead astray, half the way is gone first.  Not
 * getting there is a result (report->converged), and the state is then the last equilibrium on the
 * way. */
PlaStatus pla_active_solve(PlaActiveSolver *self, const double *control, const double *columns,
                           double tolerance_m, PlaProgress *progress, PlaActiveState *state,
                           PlaActiveReport *report, PlaError *err);

/* Derivatives of the equilibrium @state by all controls, @columns (n_controls x n_verts x 3), m for
 * an activation from 0 to 1, for a radian and for a metre: one factor of the true tangent, and K
 * dx/da_i = f_i(x),  K dx/db = (df/dx_jaw) dx_jaw/db. The factor stays, for the solves that follow.
 * Adds to @report. */
PlaStatus pla_active_sensitivity(PlaActiveSolver *self, const PlaActiveState *state,
                                 PlaProgress *progress, double *columns, PlaActiveReport *report,
                                 PlaError *err);

/* Derivative of the equilibrium @state by the logarithm of the flesh's stiffness, @column (n_verts
 * x 3), m: its own force f_flesh, without the fibres', grows by itself, so K dx = f_flesh(x).  With
 * the factor of the last pla_active_sensitivity(), which was at @state. */
PlaStatus pla_active_flesh_column(PlaActiveSolver *self, const PlaActiveState *state,
                                  double *column, PlaError *err);

/* f_i at @pos for the muscle @m, N (n_verts x 3). */
void pla_active_muscle_force(const PlaActiveModel *self, int m, const double *pos, double *force);
/* Where the vertices that are held stand at @control; others of @pos stay (n_verts x 3). */
void pla_active_place(const PlaActiveModel *self, const double *control, double *pos);
