/* Position-based nonlinear Gauss-Seidel: quasistatic equilibrium, or one implicit Euler step,
 * vertex by vertex (Chen, Han, Chen and Teran 2024).
 *
 * A sweep visits the vertices colour by colour and moves each by one Newton step on the energy of
 * everything around it.  No matrix is assembled, so changes of contact, of springs or of what is
 * held cost nothing beyond recolouring, and the solve can be stopped after any sweep with a usable
 * shape.  The same sweeps give the same bits for any number of threads.
 *
 * A state serves one thread at a time; its model is borrowed and must outlive it. */
#pragma once

#include "sim/solve/solve.h"

typedef struct PlaPbng PlaPbng;

typedef enum {
  PLA_PBNG_CHEBYSHEV = 0,
  PLA_PBNG_SOR, /* relative to the iterate before the last */
  PLA_PBNG_PLAIN,
} PlaPbngAcceleration;

/* The 3x3 matrix that a vertex divides its force by. */
typedef enum {
  PLA_PBNG_NODAL = 0, /* what the energy itself has, or a bound of it from above */
  PLA_PBNG_SURROGATE, /* 2 mu |g|^2 1 + vol c c^T with the material's volumetric coefficient */
  PLA_PBNG_LAME,      /* the same with lambda, as published; kept to show where it diverges */
} PlaPbngHessian;

typedef struct {
  PlaPbngAcceleration acceleration;
  PlaPbngHessian hessian;
  int plain_sweeps; /* before acceleration sets in, and again after a restart */
  double radius;    /* spectral radius that Chebyshev assumes, 0..1; 0: measured as it runs */
  double gamma;     /* Chebyshev's under-relaxation */
  double omega;     /* of SOR */
  bool repair;      /* after a change that inverts elements, first spread the motion of what is
                       prescribed through the body, then untangle what is left with a polynomial
                       material of the same moduli, before the true energy takes over */
} PlaPbngOptions;
PlaPbngOptions pla_pbng_options_default(void);

/* Copies @conditions and the start @pos (n_verts x 3); prescribed coordinates jump to their
 * targets.  The arrays of pressure and damping are borrowed.  PLA_ERR_USAGE for bound vertices.
 * Of the mixed formulation sweeps treat the same cells as standard elements, whose volume modulus
 * is limited: an estimate. */
PlaStatus pla_pbng_new(const PlaFemModel *model, const PlaFemConditions *conditions,
                       const PlaPbngOptions *options, const double *pos, PlaPbng **out,
                       PlaError *err);
void pla_pbng_free(PlaPbng *self); /* NULL is fine */

/* New targets, forces, pressure, inertia, damping or held coordinates; springs and contacts stay.
 * The arrays of pressure and damping are borrowed. */
void pla_pbng_set_conditions(PlaPbng *self, const PlaFemConditions *conditions);
void pla_pbng_set_positions(PlaPbng *self, const double *pos); /* n_verts x 3 */
void pla_pbng_get_positions(const PlaPbng *self, double *pos); /* n_verts x 3 */

/* Adds sum m/(2 dt^2) |x - predicted|^2: the implicit Euler step towards @predicted (n_verts x 3,
 * copied).  dt_s = 0 ends it. */
void pla_pbng_set_inertia(PlaPbng *self, double dt_s, const double *predicted);

/* Replaces all springs (copied); vertices that now share one are recoloured locally. */
PlaStatus pla_pbng_set_springs(PlaPbng *self, const PlaSpring *springs, int n, PlaError *err);

/* A vertex that a rigid body keeps on the outer side of a plane. */
typedef struct {
  int vert;
  double point[3];  /* closest point of the body, m */
  double normal[3]; /* unit, outward */
} PlaPlaneContact;

/* Replaces all contacts (copied; one a vertex, the last one counts).  Vertices inside move to the
 * plane; from then on a step may slide along it and leave it, never enter. */
PlaStatus pla_pbng_set_contacts(PlaPbng *self, const PlaPlaneContact *contacts, int n,
                                PlaError *err);

/* Contacts that are looked for as sweeps go (borrowed; NULL: none).  A step stays so close to where
 * they were looked for last that none can be missed. */
PlaStatus pla_pbng_set_touching(PlaPbng *self, PlaContactSet *contacts, PlaError *err);

/* Sweeps visit only vertices with @chosen[v] != 0 (copied; NULL: all): what is near a tool first.
 */
void pla_pbng_set_priority(PlaPbng *self, const unsigned char *chosen);

/* @n sweeps; returns the size of the last one's step (root of the sum of squares, m). */
double pla_pbng_sweep(PlaPbng *self, int n);

/* Norm of the unbalanced force over free coordinates, N (NaN when memory runs short): elastic,
 * external, inertial and of springs; what pushes a vertex against its contact plane does not count.
 */
double pla_pbng_residual(PlaPbng *self);
/* Elastic energy, less the work of the loads since rest, plus springs and inertia, J. */
double pla_pbng_energy(PlaPbng *self);

int pla_pbng_n_colours(const PlaPbng *self);
int pla_pbng_restarts(const PlaPbng *self); /* how often acceleration had to begin anew */
