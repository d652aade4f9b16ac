/* Surgical plans: the JSON of the command-line contract carried out on the soft tissue of a
 * patient. */
#pragma once

#include "anatomy/volume.h"
#include "app/json.h"
#include "sim/surgery/surgery.h"

typedef struct {
  JsonArray *operations; /* {"name", "seconds", ...} for each; owned */
  bool solved;           /* there was a "solve" */
  PlaFemReport solve;    /* the last one */
  PlaSurgeryReadings readings;
  int n_tets;
  double mesh_seconds;
  PlaMesh *mesh;    /* the body as it lies in the end, with "displacement" in mm; owned */
  PlaMesh *surface; /* skin and wounds; owned */
} PlaPlanResult;
void pla_plan_result_clear(PlaPlanResult *self);

/* Meshes every label of @labels that is soft tissue by its name with cells of @lattice_mm, holds it
 * where it meets what is rigid or the end of the scan, and does what @operations, an array, lists.
 * A failure names the operation. */
PlaStatus pla_plan_run(const PlaLabelMap *labels, double lattice_mm, PlaJson operations,
                       PlaProgress *progress, PlaPlanResult *out, PlaError *err);
