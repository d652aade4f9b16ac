/* A simulation scene: the JSON of the command-line contract made into a model, boundary conditions
 * and probes, and solved. */
#pragma once

#include "anatomy/mesh.h"
#include "sim/fem/model.h"

typedef struct PlaSimulation PlaSimulation;

/* Reads a scene file; paths in it are relative to it.  Every unknown key, model, region and empty
 * selection is an error that names it. */
PlaStatus pla_simulation_load(const char *path, PlaProgress *progress, PlaSimulation **out, PlaError *err);
/* The same for a mesh in memory (copied): @text is a scene without "mesh". */
PlaStatus pla_simulation_new(const PlaMesh *mesh, const char *text, PlaSimulation **out,
                             PlaError *err);
void pla_simulation_free(PlaSimulation *scene); /* NULL is fine */

/* For solvers that follow a hand: motions are the "move" constraints, counted from 0. */
const PlaFemModel *pla_simulation_get_model(const PlaSimulation *scene);
void pla_simulation_set_translation(PlaSimulation *scene, int motion,
                                    const double translate_mm[3]);
/* Conditions after the fraction @t of all motions; @target (n_verts x 3, m) is filled and must stay
 * as long as they are used. */
PlaFemConditions pla_simulation_conditions(const PlaSimulation *scene, double t, double *target);
/* What must pull at the vertices of a motion to keep the body at @pos (n_verts x 3, m), N. */
PlaStatus pla_simulation_motion_force(const PlaSimulation *scene, int motion, const double *pos,
                                      double force_n[3], PlaError *err);

typedef struct {
  char *name;          /* owned */
  int vert;            /* the nearest vertex */
  double position_mm[3];
  double displacement_mm[3];
} PlaProbe;

typedef struct {
  PlaFemReport solve;
  double seconds;      /* of the solve */
  int n_probes;
  PlaProbe *probe;     /* owned */
  PlaMesh *mesh;       /* owned: the deformed body with displacement, stress and stretch fields */
} PlaSimulationResult;

/* Solves the static scene.  Not reaching the tolerance is a result (solve.reason). */
PlaStatus pla_simulation_solve(const PlaSimulation *scene, PlaProgress *progress, PlaSimulationResult *out,
                          PlaError *err);
void pla_simulation_result_clear(PlaSimulationResult *result);
