/* The inside of the vertex-by-vertex solver: vertices packed four a group, and what kernels read.
 *
 * Four vertices of one colour make a group, one a lane.  The elements around them are laid out in
 * the order in which a sweep reads them: runs of one material, in each run the k-th element of
 * every lane side by side.  Where a lane has fewer elements than its neighbours, an element of
 * volume 0 fills the gap. */
#pragma once

#include "sim/contact/contact.h"
#include "sim/fem/colouring.h"
#include "sim/fem/model-data.h"
#include "sim/solve/near.h"
#include "sim/solve/pbng.h"
#include "sim/solve/solve.h"
#include "sim/solve/system.h"

enum { PLA_PBNG_LANES = 4 }; /* as wide as the vectors of kernels */

typedef struct {
  int node[PLA_PBNG_LANES]; /* lanes beyond @n repeat the first vertex */
  int n;                    /* vertices in this group */
  int first_run, n_runs;
} PlaPbngGroup;

enum {
  PLA_PBNG_TET_NUMBERS = 10, /* per tet and lane: gradients of the other corners, volume */
  PLA_PBNG_TET_INDICES = 4,  /* per tet and lane: other vertices, the tet */
};

typedef struct {
  int material;
  bool hexes;
  int n;         /* elements a lane */
  size_t number; /* tets: first number, PLA_PBNG_TET_NUMBERS x n x lanes */
  size_t index;  /* tets: PLA_PBNG_TET_INDICES x n x lanes; hexes: corner or -1, n x lanes */
} PlaPbngRun;

typedef struct {
  int n_groups, n_runs, n_colours;
  PlaPbngGroup *group;
  PlaPbngRun *run;
  double *number;
  int *index;
  int *colour_start;    /* groups by colour (n_colours + 1) */
  double *mobile;       /* 1 where a lane's coordinate may move, else 0 (n_groups x 3 x lanes) */
  unsigned char *state; /* what a group needs (n_groups): bits below */
} PlaPbngPack;

enum {
  PLA_PBNG_MOVES = 1,
  PLA_PBNG_LINKED = 2
}; /* some lane moves; some lane has a spring, a plane, a contact or damping */

/* Packs @verts (any order; those without a colour are left out). */
PlaStatus pla_pbng_pack_init(PlaPbngPack *self, const PlaFemModel *model,
                             const PlaColouring *colouring, const int *verts, int n_verts,
                             PlaError *err);
void pla_pbng_pack_clear(PlaPbngPack *self);

typedef enum {
  PLA_LAW_GENERIC = 0, /* any material, one lane after the other */
  PLA_LAW_NEO_HOOKEAN,
  PLA_LAW_NEO_HOOKEAN_MM,
  PLA_LAW_STABLE_NEO_HOOKEAN,
  PLA_LAW_COROTATED,
  PLA_LAW_FIXED_COROTATED,
  PLA_LAW_SPREAD, /* Laplace's equation for the displacement since @base */
} PlaLawKind;

/* A material as kernels use it. */
typedef struct {
  PlaLawKind kind;
  PlaPbngHessian hessian;
  double c0, c1;     /* the material's first two constants, Pa */
  double shear, vol; /* coefficients of |g|^2 1 and of c c^T in the nodal matrix, Pa */
} PlaLaw;

typedef struct {
  const PlaFemModel *model;
  const PlaLaw *law;       /* per material */
  double *x;               /* positions with a fourth number to fill the lanes, m (n_verts x 4) */
  const double *base;      /* where displacement begins, for PLA_LAW_SPREAD, m (n_verts x 4) */
  const double *load;      /* external force, N (n_verts x 4) */
  const double *inertia;   /* m / dt^2, N/m (n_verts), or NULL */
  const double *predicted; /* m (n_verts x 4) */
  const PlaSpring *spring;
  const int *spring_start; /* springs of vertex v: spring_of[spring_start[v]] ... (n_verts + 1) */
  const int *spring_of;    /* spring and the vertex's place in it: PLA_SPRING_VERTS s + a */
  const PlaPlaneContact *contact;
  const int *contact_of; /* per vertex, or -1 (n_verts) */
  const PlaContact *touch;
  const PlaFriction *friction;
  const int
      *touch_start; /* as spring_start and spring_of, of contacts and then friction; or NULL */
  const int *touch_of;
  int n_touch;                     /* contacts; from there on, entries of touch_of mean friction */
  const double *anchor;            /* where contacts were looked for, m (n_verts x 4), or NULL */
  double leash;                    /* how far from there a vertex of the surface may go, m */
  const unsigned char *on_surface; /* n_verts */
  const PlaFemDamping *damping;    /* or NULL */
  double *force; /* not NULL: write unbalanced forces here and move nothing (n_verts x 4) */
} PlaPbngWork;

/* Moves the vertices of groups begin..end-1, all of one colour. */
void pla_pbng_relax_plain(const PlaPbngWork *work, const PlaPbngPack *pack, int begin, int end);
void pla_pbng_relax_avx2(const PlaPbngWork *work, const PlaPbngPack *pack, int begin, int end);

/* For kernels: P g and a positive semidefinite 3x3 matrix g.(dP/dF).g (xx yy zz xy xz yz) of any
 * cell, for one lane. */
void pla_pbng_generic_point(const PlaFemModel *model, int cell, const double f[9],
                            const double g[3], double pg[3], double matrix[6]);
/* Adds the forces and stiffnesses of the springs, contacts and damping at vertex @v. */
void pla_pbng_add_springs(const PlaPbngWork *work, int v, double force[3], double matrix[6]);
/* Changes the step @dx of vertex @v to what its contacts allow, and so that it stays outside its
 * plane: the constrained minimum in the metric of @matrix. */
void pla_pbng_hold_outside(const PlaPbngWork *work, int v, const double matrix[6],
                           const double force[3], const double mobile[3], double dx[3]);

/* what sweeps do after a change: the true energy, or repair first */
typedef enum { PLA_PBNG_TRUE = 0, PLA_PBNG_SPREAD, PLA_PBNG_UNTANGLE } PlaPbngPhase;

struct PlaPbng {
  const PlaFemModel *model; /* borrowed, or that of @plain */
  PlaFemPlain plain;        /* standard elements in place of a mixed model's; zeroed: none */
  PlaPbngOptions options;
  PlaColouring colouring;         /* of the elements alone */
  PlaColouring linked;            /* and of the springs */
  PlaPbngPack pack;               /* every vertex, by @colouring */
  PlaPbngPack moved;              /* vertices that springs gave another colour, by @linked */
  PlaLaw *law[3];                 /* per material, by PlaPbngPhase */
  double *x, *before, *previous;  /* current positions, those before the sweep, and one more back
                                     (n_verts x 4, m) */
  double *load, *predicted;       /* n_verts x 4 */
  double *dead;                   /* the part of the load that is no pressure (n_verts x 4) */
  double *pos, *push;             /* positions and pressure forces in rows of three (n_verts x 3) */
  const PlaFemPressure *pressure; /* borrowed, or NULL */
  double *inertia;                /* n_verts */
  double *force;                  /* n_verts x 4 */
  double *block;                  /* partial sums */
  unsigned char *fixed;           /* n_verts x 3 */
  unsigned char *chosen;          /* n_verts */
  bool has_priority, dynamic;
  PlaSpring *spring;
  int n_springs, *spring_start, *spring_of;
  PlaPlaneContact *contact;
  int n_contacts, *contact_of;
  PlaContactSet *touching; /* borrowed, or NULL */
  int *touch_start, *touch_of;
  int pairs;      /* contacts between deforming surfaces at the last look */
  int look_left;  /* sweeps until contacts are looked for again */
  bool strained;  /* a vertex is at the end of its leash */
  bool failed;    /* memory ran short while sweeping */
  double *anchor; /* n_verts x 4 */
  double leash;
  unsigned char *on_surface;    /* 1, or 2 while a sweep's extrapolation is taken back (n_verts) */
  const PlaFemDamping *damping; /* borrowed, or NULL */
  /* acceleration */
  int since_restart, plain_left, restarts;
  double omega, radius, best_step, last_step;
  /* repair of inverted elements */
  PlaPbngPhase phase;
  int repair_left; /* sweeps of this phase */
  bool jumped;     /* prescribed coordinates have moved since @base */
  double *base;    /* positions before they did (n_verts x 4) */
  double *zero;    /* no load (n_verts x 4) */
};

/* sweeps between two checks for contacts, or for inverted elements */
enum { PLA_PBNG_LOOK = 5 };

/* Updates the contacts at the present positions, with a reach that lasts for the next sweeps. */
PlaStatus pla_pbng_look(PlaPbng *self, PlaError *err);
/* Undoes extrapolation where it carried a point through an obstacle: those vertices return to the
 * result of the sweep, which respects contacts. */
void pla_pbng_take_back(PlaPbng *self, double relax, double momentum);
/* Keeps surface vertices within reach of their contacts; notes whether one is at the limit. */
void pla_pbng_hold_on_leash(PlaPbng *self);
/* Vertices behind their plane move onto it, in the directions that are free. */
void pla_pbng_push_out(PlaPbng *self);
/* The colours that @springs and contacts between surfaces ask for, starting from those that
 * vertices have now, and the packs that follow from them. */
PlaStatus pla_pbng_recolour(PlaPbng *self, const PlaSpring *springs, int n, PlaError *err);
/* Marks which vertices the packs may move; the second also begins plain sweeps anew. */
void pla_pbng_mark_packs(PlaPbng *self);
void pla_pbng_mark(PlaPbng *self);
