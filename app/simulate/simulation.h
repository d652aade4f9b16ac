/* A simulation scene: the JSON of the command-line contract made into a model, boundary conditions
 * and probes, and solved. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "app/simulate/scene-contact.h"
#include "sim/fem/model.h"
#include "sim/solve/solve.h"

#include <glib.h>

typedef struct PlaSimulation PlaSimulation;

/* Reads a scene file; paths in it are relative to it.  Every unknown key, model, region and empty
 * selection is an error that names it. */
PlaStatus pla_simulation_load(const char *path, PlaProgress *progress, PlaSimulation **out,
                              PlaError *err);
/* The same for a mesh in memory (copied): @text is a scene without "mesh".  @meshes finds what it
 * names besides, and must outlive the scene; NULL: there is nothing. */
PlaStatus pla_simulation_new(const PlaMesh *mesh, const char *text, const PlaSceneMeshes *meshes,
                             PlaSimulation **out, PlaError *err);
void pla_simulation_free(PlaSimulation *scene); /* NULL is fine */

/* For solvers that follow a hand: motions are the "move" constraints, counted from 0. */
const PlaFemModel *pla_simulation_get_model(const PlaSimulation *scene);
void pla_simulation_set_translation(PlaSimulation *scene, int motion, const double translate_mm[3]);
/* Conditions after the fraction @t of all motions; @target (n_verts x 3, m) is filled and must stay
 * as long as they are used.  The supports of carved bodies move along, so one solve of a scene runs
 * at a time. */
PlaFemConditions pla_simulation_conditions(const PlaSimulation *scene, double t, double *target);
/* What must pull at the vertices of a motion to keep the body at @pos (n_verts x 3, m), N. */
PlaStatus pla_simulation_motion_force(const PlaSimulation *scene, int motion, const double *pos,
                                      double force_n[3], PlaError *err);

typedef struct {
  char *name; /* owned */
  int vert;   /* the nearest vertex */
  double position_mm[3];
  double displacement_mm[3];
} PlaProbe;

/* What a constraint has to hold with. */
typedef struct {
  double force_n[3];    /* sum over its vertices */
  double moment_n_m[3]; /* about the middle of these in the deformed shape, N m */
  double about_mm[3];   /* that place */
  int n_verts;
} PlaReaction;

enum { PLA_WORST_ELEMENTS = 5 };

typedef struct {
  int element; /* tets, then hexes */
  double jacobian;
  double centre_mm[3]; /* at rest */
} PlaWorstElement;

/* How far the answer depends on what is not known about the tissues: solved again with every preset
 * at the low and at the high end of its range. */
typedef struct {
  bool done, converged[2];
  double spread_mm;        /* greatest distance between the two answers over all vertices */
  int spread_vert;         /* where */
  double *probe_mm;        /* of each probe; owned */
  double (*reaction_n)[2]; /* size of each constraint's force, low and high; owned */
} PlaSensitivity;

/* How far the answer is from that of infinitely small elements, as estimated by quadratic ones. */
typedef struct {
  bool done;
  double displacement_mm; /* the largest over all vertices */
  int vert;               /* where */
  double von_mises_pa;    /* root mean square over the volume */
  double *probe_mm;       /* of each probe; owned */
  double *reaction_n;     /* of each constraint's force; owned */
  double *hook_n;         /* of each hook's force; owned */
  double *motion_n;       /* of each motion's force; owned */
} PlaDiscretisation;

/* A hook and what it pulls with. */
typedef struct {
  char *name; /* owned */
  double position_mm[3];
  double force_n[3]; /* on the body */
} PlaHookResult;

typedef struct {
  PlaFemReport solve;
  double seconds; /* of the solve */
  double reached; /* share of motion and load up to which an equilibrium was found; statics */
  int n_probes;
  PlaProbe *probe; /* owned */
  PlaMesh *mesh;   /* owned: the deformed body with displacement, stress and stretch fields */
  int n_reactions;
  PlaReaction *reaction; /* of each constraint of the scene; owned */
  int n_worst;
  PlaWorstElement worst[PLA_WORST_ELEMENTS]; /* smallest det F first */
  GPtrArray *notes; /* of char *: what was assumed, what needs a second look; owned */
  PlaSensitivity sensitivity;
  PlaDiscretisation discretisation;
  int n_hooks;
  PlaHookResult *hook; /* owned */
  bool has_contacts;
  int n_colliders;
  double *collider_n; /* owned: force of each collider on the body, N (n x 3) */
  double deepest_mm;  /* penetration, the largest at any time */
  /* of a motion */
  double time_s, kinetic_j;
  int frames, unsolved_steps;
} PlaSimulationResult;

/* Solves the scene, a motion to its end.  Not reaching the tolerance is a result (solve.reason). */
PlaStatus pla_simulation_solve(const PlaSimulation *scene, PlaProgress *progress,
                               PlaSimulationResult *out, PlaError *err);
/* Adds what the presets' ranges mean for @result, the typical answer of @scene: also a field
 * "sensitivity_mm" on its vertices.  PLA_ERR_USAGE when no material is a preset. */
PlaStatus pla_simulation_sensitivity(const PlaSimulation *scene, PlaProgress *progress,
                                     PlaSimulationResult *result, PlaError *err);

/* Adds how far @result, an equilibrium of @scene, is from that of smaller cells: also the fields
 * PLA_FIELD_DISPLACEMENT_ERROR on its vertices and "von_mises_error_pa" on its cells.  Where that
 * cannot be told, a note of the result says why. */
PlaStatus pla_simulation_estimate(const PlaSimulation *scene, PlaProgress *progress,
                                  PlaSimulationResult *result, PlaError *err);

/* The same with a call for every frame of a motion, its start first; the mesh is only lent. */
typedef PlaStatus (*PlaFrameFunc)(const PlaMesh *mesh, double time_s, void *data, PlaError *err);
PlaStatus pla_simulation_run(const PlaSimulation *scene, PlaFrameFunc frame, void *data,
                             PlaProgress *progress, PlaSimulationResult *out, PlaError *err);
bool pla_simulation_is_dynamic(const PlaSimulation *scene);
void pla_simulation_result_clear(PlaSimulationResult *result);

/* What `simulate` does, from a file and in a case: pla_simulation_run(), the estimate of the
 * discretisation error of an equilibrium unless the scene says no, and the sensitivity where the
 * scene or @sensitivity asks for it. */
PlaStatus pla_simulation_perform(const PlaSimulation *scene, bool sensitivity, PlaFrameFunc frame,
                                 void *data, PlaProgress *progress, PlaSimulationResult *out,
                                 PlaError *err);
