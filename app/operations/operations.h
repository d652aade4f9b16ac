/* Every operation, for the table in app/operation.c. */
#pragma once

#include "app/operation.h"
#include "app/simulation.h"

extern const PlaOperation pla_operation_import;
extern const PlaOperation pla_operation_phantom;
extern const PlaOperation pla_operation_segment;
extern const PlaOperation pla_operation_surface;
extern const PlaOperation pla_operation_simulate;
extern const PlaOperation pla_operation_edit_label;
extern const PlaOperation pla_operation_rename;
extern const PlaOperation pla_operation_delete;
extern const PlaOperation pla_operation_set_labels;
extern const PlaOperation pla_operation_note;
extern const PlaOperation pla_operation_landmark;
extern const PlaOperation pla_operation_measure;
extern const PlaOperation pla_operation_snapshot;
extern const PlaOperation pla_operation_recover;

/* The scene that the parameters of "simulate" describe, unsolved, and the mesh that it is about.
 * Caller frees both. */
PlaStatus pla_operation_simulate_scene(PlaWork *work, PlaContent **mesh, PlaSimulation **out,
                                       PlaError *err);
