/* Thin layers of a scene: skin and fascia on the surface of a body. */
#pragma once

#include "app/simulate/simulation-private.h"

/* Adds the outer triangles whose vertices are all @marked: three vertices each to @tri (of int),
 * and to @share (of double) the share of the material below that is there.  Of a carved body they
 * are those of the surface that it carries, not of its cells. */
PlaStatus pla_scene_add_faces(const PlaSimulation *scene, const bool *marked, GArray *tri,
                              GArray *share, PlaError *err);

/* Reads "layers" of a scene whose mesh is there. */
PlaStatus pla_scene_read_layers(PlaSimulation *scene, PlaJson root, PlaError *err);

/* Adds PLA_FIELD_TENSION to the vertices of the deformed @mesh. */
PlaStatus pla_scene_add_layer_field(const PlaSimulation *scene, const double *pos, PlaMesh *mesh,
                                    PlaError *err);
