/* The jaw's joint: three degrees of freedom (Sifakis 2007, ch. 4).
 *
 * The mandible turns about the line through both condyles, and each condyle slides forwards along a
 * track of its own; tracks are parallel.  With u the direction from the right to the left condyle,
 * v along the tracks, w = v x u upwards, l the distance of the condyles and m their middle, the
 * pose is sin yaw = (left - right) / l,  R = R_w(yaw) R_u(opening),  R m + t = m + (right + left)/2
 * v, which is rigid exactly and keeps the axis in the plane of the tracks, its middle on the
 * midline. */
#pragma once

enum { PLA_JAW_OPENING = 0, PLA_JAW_RIGHT, PLA_JAW_LEFT, PLA_JAW_DOFS };

typedef struct {
  double middle[3]; /* m, m */
  double axis[3];   /* u, unit */
  double track[3];  /* v, unit, at a right angle to u */
  double width;     /* l, m */
  double slide;     /* how far a condyle can go, m */
  double opening;   /* largest angle, rad */
} PlaJaw;

/* From the condyles of the closed jaw, m, and the direction of the tracks. */
void pla_jaw_init(PlaJaw *self, const double right[3], const double left[3], const double track[3],
                  double slide, double opening);

/* x -> rotation x + shift of the mandible, for an opening (rad) and two slides (m). */
void pla_jaw_pose(const PlaJaw *self, const double q[PLA_JAW_DOFS], double rotation[9],
                  double shift[3]);
/* The derivative of that by q[@k]. */
void pla_jaw_pose_slope(const PlaJaw *self, const double q[PLA_JAW_DOFS], int k, double rotation[9],
                        double shift[3]);

/* What a pose has of the joint: [0] w.R u, [1] w.(R m + t - m), [2] u.(R m + t - m), all 0 for a
 * pose that the joint allows; [3], [4] how far the right and left condyles are along their tracks,
 * m; [5] w.R v = -sin(opening).  Any rotation and shift will do. */
void pla_jaw_measure(const PlaJaw *self, const double rotation[9], const double shift[3],
                     double psi[6]);
/* Lower and upper bounds of q. */
void pla_jaw_limits(const PlaJaw *self, double lo[PLA_JAW_DOFS], double hi[PLA_JAW_DOFS]);
