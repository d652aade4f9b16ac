/* Supports of carved bodies: what a scene fixes on their surface. */
#pragma once

#include "app/simulate/simulation-private.h"

/* Whether the mesh of @scene is a carved body, whose surface is bound to the cells. */
bool pla_scene_is_carved(const PlaSimulation *scene);

/* Holds the part of the surface that @where selects, or without any the @marked vertices of the
 * surface, along @axes (bits 1, 2, 4), as constraint @constraint of the scene. They
 * follow @motion of the scene (-1: none).  *n: how many vertices are held. */
PlaStatus pla_scene_hold_surface(PlaSimulation *scene, int constraint, int motion, unsigned axes,
                                 PlaJson where, const bool *marked, int *n, PlaError *err);
/* Brings the supports to where they are after the fraction @t of all motions. */
void pla_scene_move_supports(const PlaSimulation *scene, double t);
/* Stiffness that holds one vertex of the surface in its place, N/m. */
double pla_scene_point_stiffness(const PlaSimulation *scene);

/* Marks the coordinates that supports keep in their place (fixed: n_verts x 3), for checks that no
 * piece can move as a whole. */
PlaStatus pla_scene_mark_supported(const PlaSimulation *scene, unsigned char *fixed, PlaError *err);
