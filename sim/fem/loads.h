/* What acts on a body besides its elements and dead forces: springs between points of it or to
 * places, and pressure on its surface.  Plain arrays of the caller's; everything in SI units. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>

enum { PLA_SPRING_VERTS = 16 };

/* A weak constraint: energy 1/2 C^T K C of C = sum weight_j x_j - offset.  Two interpolated points
 * have positive weights of sum 1 and negative ones of sum -1; a hook to a place has weights of sum
 * 1 and the place as offset. */
typedef struct {
  int n_verts;
  int vert[PLA_SPRING_VERTS];
  double weight[PLA_SPRING_VERTS];
  double stiffness[9]; /* K, symmetric, positive semidefinite, N/m */
  double offset[3];    /* m */
  double push[3]; /* 0: it pulls and pushes; else it is idle while push . C > 0, as walls are */
} PlaSpring;

typedef struct {
  int n;
  const PlaSpring *spring;
} PlaFemSprings;

/* K = normal n n^T + tangential (1 - n n^T) for a unit vector @n. */
void pla_spring_set_stiffness(PlaSpring *spring, const double n[3], double normal,
                              double tangential);
/* C at positions @pos (n_verts x 3). */
void pla_spring_gap(const PlaSpring *spring, const double *pos, double gap[3]);
/* Whether it does nothing where C is @gap. */
bool pla_spring_is_idle(const PlaSpring *spring, const double gap[3]);
/* What the spring pulls with, N: -K C, the force on a point of weight 1. */
void pla_spring_force(const PlaSpring *spring, const double *pos, double force[3]);

double pla_springs_energy(const PlaFemSprings *springs, const double *pos);
void pla_springs_add_forces(const PlaFemSprings *springs, const double *pos, double *force);

/* Pressure that stays normal to the surface as that moves (a follower load): on a triangle of area
 * A and outward normal n it pushes with -p A n, a third at each vertex. */
typedef struct {
  int n_tris;
  const int *tri; /* vertex ids, counter-clockwise seen from outside the body (n_tris x 3) */
  const double *pressure; /* Pa, positive towards the body (n_tris) */
} PlaFemPressure;

/* Adds its forces, N, to @force (n_verts x 3). */
void pla_pressure_add_forces(const PlaFemPressure *pressure, const double *pos, double *force);
/* Work, J, along the straight path between two shapes of @n_verts vertices; exact, the force being
 * quadratic in the positions.  Where the patch is closed or its rim is held, this is a potential
 * and the path does not matter. */
double pla_pressure_work(const PlaFemPressure *pressure, const double *from, const double *to);
/* The symmetric part of -df/dx of triangle @t, N/m: 3x3 blocks in a 9x9 row-major matrix.  Summed
 * over a patch that is closed or held at its rim, this is the whole derivative. */
void pla_pressure_stiffness(const PlaFemPressure *pressure, int t, const double *pos,
                            double stiffness[81]);
/* The rest of -df/dx, which a free rim leaves and no energy has: adds it times @disp to @force, N
 * (both n_verts x 3). */
void pla_pressure_add_rim(const PlaFemPressure *pressure, const double *pos, const double *disp,
                          double *force);

/* Vertices that follow others: x_e = sum of weight x parent.  They have no unknowns of their own;
 * what acts on them, and their mass, goes to their parents by weight (Sifakis 2007).  So surfaces
 * ride in coarser cells, and the hanging vertices of a refined lattice stay on the edges they hang
 * on. */
typedef struct {
  int n;                /* bound vertices */
  const int *vert;      /* n */
  const int *start;     /* n + 1 */
  const int *parent;    /* start[n]; none of them bound */
  const double *weight; /* start[n]; of sum 1 for each bound vertex */
} PlaFemBindings;

/* Parents and weights of the @e-th bound vertex; their number. */
int pla_binding_get(const PlaFemBindings *self, int e, const int **parent, const double **weight);

/* The same bindings with owned arrays, parents that are bound themselves replaced by theirs.
 * PLA_ERR_USAGE names a vertex that is bound twice, or to itself in a circle, weights that do not
 * add up to 1, or an id that none of @n_verts vertices has. */
PlaStatus pla_bindings_flatten(const PlaFemBindings *bindings, int n_verts, PlaFemBindings **out,
                               PlaError *err);
void pla_bindings_free(PlaFemBindings *self); /* NULL is fine */

/* Puts bound vertices where their parents have them (n_verts x 3). */
void pla_bindings_place(const PlaFemBindings *self, double *pos);
/* Moves the forces (or any covector, @dim numbers a vertex) of bound vertices to their parents. */
void pla_bindings_reduce(const PlaFemBindings *self, int dim, double *force);
/* 1/m_e = sum of w^2 / m over the parents: how heavy a bound vertex feels, kg. */
double pla_binding_effective_mass(const PlaFemBindings *self, int e, const double *mass);
/* Gives a bound vertex the impulse @j, N s: the velocity of its parents changes by w_i j / m_i. */
void pla_binding_apply_impulse(const PlaFemBindings *self, int e, const double *mass,
                               const double j[3], double *vel);
