/* Limbs of active bodies: which activations hold a pose against what it carries.
 *
 * The streamlines of every muscle, as they lie in the posed limb, pull on the bones at their ends;
 * torques about all joints balance (sim/fit/torque.h).  A bone goes rigidly with the joints that
 * move it.  A streamline is taut: straight from bone to bone, or about the joints between them as
 * about pulleys, no nearer to an axis than it lies at rest. */
#pragma once

#include "sim/bodies/active-body.h"
#include "sim/fit/torque.h"

#define PLA_LIMB_GRAVITY 9.81 /* m/s^2 */

enum { PLA_LIMB_JOINTS = 16, PLA_LIMB_LOADS = 32 };

typedef struct {
  char *name;            /* owned */
  double from[3], to[3]; /* of its axis, in the pose of the body's mesh, m */
  double angle;          /* rad, right-handed about from -> to; 0: that pose */
  uint64_t moves;        /* bit b: it moves bone b of the body's muscles */
} PlaLimbJoint;

typedef struct {
  double at[3];    /* in the pose of the body's mesh, m */
  int bone;        /* that carries it */
  double force[3]; /* N, in the posed limb's frame: gravity does not turn with it */
} PlaLimbLoad;

typedef struct {
  int n_joints, n_loads;
  PlaLimbJoint joint[PLA_LIMB_JOINTS]; /* from the trunk outwards */
  PlaLimbLoad load[PLA_LIMB_LOADS];
} PlaLimb;
void pla_limb_clear(PlaLimb *self);
/* The bone of the body's muscles called @name, or -1. */
int pla_limb_find_bone(const PlaActiveBody *body, const char *name);

/* The elbow of phantom:arm, bent by @bend_deg, the forearm's own weight and @load_kg in the hand.
 * z is up. */
PlaStatus pla_limb_arm(const PlaActiveBody *body, double bend_deg, double load_kg, PlaLimb *out,
                       PlaError *err);

typedef struct {
  double activation;                 /* mean of its streamlines; above 1: it cannot */
  double force_n;                    /* sum of what they pull, passive part included */
  double length;                     /* mean, over that at rest */
  double arm_m[PLA_LIMB_JOINTS];     /* mean moment arm about each joint */
  double torque_nm[PLA_LIMB_JOINTS]; /* of the muscle, passive part included */
  int n_lines;
} PlaLimbMuscle;

typedef struct {
  double load_nm[PLA_LIMB_JOINTS]; /* torque of the loads alone */
  PlaTorqueReport balance;
} PlaLimbReport;

/* @muscle: one for each muscle of the body.  PLA_ERR_CONVERGENCE names a joint that nothing can
 * hold. */
PlaStatus pla_limb_balance(const PlaActiveBody *body, const PlaLimb *limb, PlaLimbMuscle *muscle,
                           PlaLimbReport *report, PlaError *err);
