/* A simulation scene: the JSON of the command-line contract made into a model, boundary conditions
 * and probes, and solved. */
#pragma once

#include "anatomy/mesh.h"
#include "sim/fem/model.h"

typedef struct PlaSimulation PlaSimulation;

/* Reads a scene file; paths in it are relative to it.  Every unknown key, model, region and empty
 * selection is an error that names it. */
PlaStatus pla_simulation_load(const char *path, PlaProgress *progress, PlaSimulation **out, PlaError *err);
void pla_simulation_free(PlaSimulation *scene); /* NULL is fine */

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
