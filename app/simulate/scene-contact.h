/* The parts of a scene that other bodies have a share in: colliders, contact, and motion in time.
 */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "app/base/json.h"
#include "sim/contact/contact.h"
#include "sim/dynamics/dynamics.h"

/* A rigid motion: where things go, as a fraction of the whole. */
typedef struct {
  double translate_m[3];
  double axis[3], through_m[3], angle; /* unit axis, point on it, radians */
} PlaRigidMotion;

/* x moved by the fraction @t of a motion: turned about the axis, then shifted. */
void pla_rigid_motion_apply(const PlaRigidMotion *motion, double t, const double x[3],
                            double out[3]);
/* Reads translate_mm and rotate of @json; other keys are the caller's. */
PlaStatus pla_rigid_motion_read(PlaJson json, PlaRigidMotion *motion, PlaError *err);

typedef struct {
  int n;
  PlaCollider **collider; /* owned */
  double *friction;
  bool *moves;
  PlaRigidMotion *motion; /* where moves */
} PlaSceneColliders;

/* Finds the meshes that a scene names: files beside it, or items of a case. */
typedef struct {
  /* Caller frees *out; @unit_mm: of a file's coordinates. */
  PlaStatus (*load)(const char *name, double unit_mm, void *data, PlaMesh **out, PlaError *err);
  void *data;
} PlaSceneMeshes;

/* "colliders" of a scene; @meshes finds their surfaces. */
PlaStatus pla_scene_colliders_read(PlaJson root, const PlaSceneMeshes *meshes,
                                   PlaSceneColliders *out, PlaError *err);
void pla_scene_colliders_clear(PlaSceneColliders *self);
/* Puts them where they are after the fraction @t; @poses (n x 12, NULL: not wanted) receives those
 * they had before. */
void pla_scene_colliders_move(PlaSceneColliders *self, double t, double *poses);

/* "contact"; *wanted is false without it. */
PlaStatus pla_scene_contact_read(PlaJson root, PlaContactOptions *out, bool *wanted, PlaError *err);

typedef struct {
  const PlaIntegrator *integrator; /* NULL: statics */
  PlaDynamicsOptions options;
  int steps, every;
} PlaSceneDynamics;

PlaStatus pla_scene_dynamics_read(PlaJson root, PlaSceneDynamics *out, PlaError *err);
