/* Equilibrium of a finite-element model under loads and constraints: what acts, how to solve, what
 * came of it. */
#pragma once

#include "anatomy/base/progress.h"
#include "sim/fem/membrane.h"
#include "sim/fem/model.h"

typedef struct PlaContactSet PlaContactSet; /* sim/contact/contact.h */

/* One implicit step in time is the equilibrium with two more terms: the energy
 * factor/2 sum of m |x - predicted|^2 ... */
typedef struct {
  double factor;           /* 1/s^2 */
  const double *predicted; /* where momentum alone would lead, m (n_verts x 3) */
} PlaFemInertia;

/* ... and factor/2 (x - origin)^T K (x - origin), with the stiffness K of some earlier shape. */
typedef struct PlaFemSystem PlaFemSystem; /* sim/solve/system.h */
typedef struct {
  double factor;
  const PlaFemSystem *system; /* assembled, nothing in it prescribed */
  const double *origin;       /* m (n_verts x 3) */
} PlaFemDamping;

/* Boundary conditions and loads of one solve; arrays are the caller's, n_verts x 3. */
typedef struct {
  const unsigned char *fixed;       /* 1: this coordinate is prescribed */
  const double *target;             /* prescribed positions where fixed, m */
  const double *force;              /* dead external force (gravity included), N; NULL: none */
  const PlaFemSprings *springs;     /* NULL: none */
  const PlaFemPressure *pressure;   /* NULL: none */
  const PlaFemMembranes *membranes; /* NULL: none; not with PLA_SOLVER_PBNG */
  const PlaFemBindings *bindings;   /* NULL: none; no bound coordinate may be prescribed */
  PlaContactSet *contacts;          /* NULL: none; solvers look for contacts in it as they go */
  const PlaFemInertia *inertia;     /* NULL: statics */
  const PlaFemDamping *damping;     /* NULL: none */
} PlaFemConditions;

typedef enum {
  PLA_STOP_CONVERGED = 0,
  PLA_STOP_ITERATIONS, /* the limit was reached */
  PLA_STOP_STALLED,    /* no step lowers the energy any more */
  PLA_STOP_CANCELLED,
  PLA_STOP_FREE_BODY, /* a piece is not held and carries load */
  PLA_STOP_MEMORY,
} PlaStopReason;
const char *pla_stop_reason_text(PlaStopReason reason);

typedef enum { PLA_SOLVER_AUTO = 0, PLA_SOLVER_NEWTON, PLA_SOLVER_PBNG } PlaSolverMethod;

/* The order in which vertices are eliminated, from one solve to the next.  Finding one costs about
 * half as much as a factor, and one that was found for a body serves it when little has changed,
 * such as what touches.  A solve keeps the order as long as it costs at most PLA_FEM_ORDER_WORSE
 * times the operations that it did when it was found, and replaces it otherwise. */
typedef struct {
  int n_verts;  /* the owner's: orders of other models are left alone */
  int *rank;    /* owned; rising, equal ones by number; NULL: not found yet (n_verts) */
  double flops; /* of a factor when it was found */
  int n_found;  /* how often that was */
} PlaFemOrder;
#define PLA_FEM_ORDER_WORSE 1.25
void pla_fem_order_clear(PlaFemOrder *self);

typedef struct {
  PlaSolverMethod method;
  double tolerance_rel; /* residual_rel of the command-line contract; 1e-6 */
  int max_iterations;   /* 200; PLA_SOLVER_PBNG makes up to a hundred sweeps for each */
  bool warm_start;      /* the start is close to the answer: no search for a better one */
  PlaFemOrder *order;   /* to use and to replace; NULL: each solve finds its own */
  PlaProgress *progress;
} PlaFemOptions;
PlaFemOptions pla_fem_options_default(void);

enum { PLA_FEM_MAX_RESIDUALS = 256 };

typedef struct {
  PlaStopReason reason;
  int iterations;        /* Newton iterations, or sweeps */
  int coarse_iterations; /* on the lattice that gave the start */
  int repair_iterations; /* that led out of a start with inverted elements */
  int factorisations;
  int linear_iterations;
  double residual_rel;     /* |unbalanced force on free coordinates| / max(same at start, |load|) */
  double residual_n;       /* N */
  double residual_scale_n; /* what residual_rel is relative to, N */
  double energy_j; /* elastic + springs - work of the loads since rest, of a pressure along the
                      straight way from there */
  int inverted;
  double min_jacobian;
  int worst_element;  /* of smallest det F */
  const char *method; /* "newton", "pbng", "pbng+newton" */
  bool gave_up_start; /* the start stayed tangled: the rest shape, bent to fit, took its place */
  int contacts;       /* points that something pushes */
  double max_penetration_m; /* how deep the deepest point is inside anything */
  double contact_n;         /* sum of all pushes, N */
  int n_residuals;          /* residual_rel before each Newton iteration and after the last: */
  double residuals[PLA_FEM_MAX_RESIDUALS]; /* the first of them */
} PlaFemReport;

/* What the supports carry at @pos, N (n_verts x 3): the force that each prescribed coordinate needs
 * to stay where it is, and 0 elsewhere. */
PlaStatus pla_fem_reactions(const PlaFemModel *model, const PlaFemConditions *conditions,
                            const double *pos, double *reaction, PlaError *err);

/* Quasistatic equilibrium from the start positions in @pos (n_verts x 3, in and out).  Not reaching
 * the tolerance is a result (report->reason), not an error. */
PlaStatus pla_fem_solve(const PlaFemModel *model, const PlaFemConditions *conditions,
                        const PlaFemOptions *options, double *pos, PlaFemReport *report,
                        PlaError *err);
