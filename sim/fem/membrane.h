/* Thin layers: triangles that resist being stretched in their plane, and nothing else.
 *
 * A layer that is thinner than a cell cannot be told by how full the cell is: a skin of 1.5 mm
 * makes a cell of 4 mm a little stiffer in all directions, although it carries nearly all tension
 * along the surface.  As a membrane on the body's own surface it keeps its place and its stiffness.
 *
 * The layer is incompressible and its stress across vanishes.  Its energy per volume
 *
 *   mu/2 (I - 3) + sum over two families of fibres k1 / (2 k2) (exp(k2 E^2) - 1)  where E > 0,
 *   E = kappa (I - 3) + (1 - 3 kappa) (m . C m - 1)
 *
 * is that of Gasser, Ogden and Holzapfel (2006), with C = F^T F in the plane and
 * I = tr C + 1 / det C the trace in space.  Below an area of a tenth 1 / det C continues as a
 * parabola, and above an exponent of MOST_EXPONENT so do the fibres: both are defined for any
 * shape.
 *
 * A layer without stiffness in bending buckles as soon as it is compressed, in waves as short as
 * the cells.  Where it would wrinkle anyway, it may carry no compression at all: with the squares
 * of the principal stretches s >= t, tension-field theory (Pipkin 1986) has
 *
 *   I as above            where t sqrt s >= 1: taut,
 *   I = s + 2 / sqrt s    where s > 1: wrinkled across, as wide as if nothing held its sides,
 *   I = 3                 else: slack,
 *
 * and the ground is convex.  What a layer adds counts beside the cells that it lies in. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>

typedef struct {
  double mu;         /* shear modulus of the ground, Pa */
  double k1;         /* stiffness of the fibres, Pa; 0: there are none */
  double k2;         /* how soon they stiffen, at least 0 */
  double dispersion; /* kappa: 0 all along their direction, 1/3 in all directions alike */
  double angle;      /* between each family and the direction of the layer, rad */
  bool wrinkles;     /* carries no compression */
} PlaMembraneLaw;

/* Arrays are borrowed while the membranes are made. */
typedef struct {
  int n_tris;
  const int *tri;          /* vertex ids (n_tris x 3) */
  const double *thickness; /* at rest, m (n_tris) */
  const int *law;          /* into @laws (n_tris) */
  const PlaMembraneLaw *laws;
  int n_laws;
  const double *direction; /* of the layer, brought into the plane; 0 where it has none (n_tris x
                              3); NULL: none has */
  const double *stretch; /* of the layer at rest, along its direction and across (n_tris x 2); NULL:
                            at rest it is not stretched */
} PlaMembraneSpec;

typedef struct PlaFemMembranes PlaFemMembranes;

/* Membranes between vertices at @rest (n_verts x 3, m).  PLA_ERR_USAGE names a triangle of no area,
 * a thickness or stretch that is not positive, or a layer with fibres or two stretches, and without
 * a direction that lies in its plane. */
PlaStatus pla_membranes_new(const PlaMembraneSpec *spec, const double *rest, int n_verts,
                            PlaFemMembranes **out, PlaError *err);
void pla_membranes_free(PlaFemMembranes *self); /* NULL is fine */

/* Vertices of each triangle (n x 3); their number. */
int pla_membranes_get(const PlaFemMembranes *self, const int **tri);

/* J; NaN when memory is short. */
double pla_membranes_energy(const PlaFemMembranes *self, const double *pos);
/* Adds -dE/dx, N, to @force (n_verts x 3). */
PlaStatus pla_membranes_add_forces(const PlaFemMembranes *self, const double *pos, double *force,
                                   PlaError *err);
/* d2E/dx2 of triangle @t, N/m: 3x3 blocks in a 9x9 row-major matrix.  @project: positive
 * semidefinite. */
void pla_membrane_stiffness(const PlaFemMembranes *self, int t, const double *pos, bool project,
                            double stiffness[81]);
/* Principal values of the true stress in the plane of triangle @t, larger first, Pa. */
void pla_membrane_stress(const PlaFemMembranes *self, int t, const double *pos, double stress[2]);
