/* Rigid obstacles: signed distances to half spaces and to closed surfaces, in any pose.
 *
 * Distances to a surface are exact to its triangles, found in a tree of boxes. */
#pragma once

#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"
#include "sim/contact/contact-features.h"

typedef struct PlaCollider PlaCollider;

/* The half space below the plane through @point with the normal @normal (any length). */
PlaStatus pla_collider_new_plane(const double point[3], const double normal[3], PlaCollider **out,
                                 PlaError *err);
/* The inside of the triangles of @surface (copied), which may be wound either way.
 * PLA_ERR_GEOMETRY when they do not enclose anything. */
PlaStatus pla_collider_new_surface(const PlaMesh *surface, PlaCollider **out, PlaError *err);
void pla_collider_free(PlaCollider *self); /* NULL is fine */

/* Where the obstacle stands: x -> rotation x + shift of its original place. */
void pla_collider_set_pose(PlaCollider *self, const double rotation[9], const double shift[3]);
void pla_collider_get_pose(const PlaCollider *self, double rotation[9], double shift[3]);
/* Where the point of the obstacle that is at @x now stood in the pose (@rotation, @shift). */
void pla_collider_carry(const PlaCollider *self, const double x[3], const double rotation[9],
                        const double shift[3], double out[3]);

/* Signed distance, m, negative inside, with the unit direction out of the obstacle.  INFINITY
 * farther from the surface than @reach, on either side; when @deep, inside at any depth. */
double pla_collider_distance(const PlaCollider *self, const double x[3], double reach, bool deep,
                             double normal[3]);

/* The features of the obstacle that push at @x, with signed distances and directions out of it, and
 * the signed distance itself: all within @close when the nearest is that near outside, otherwise
 * the nearest alone within @reach.  Vertices and weights of features are the obstacle's own and
 * mean nothing here. */
int pla_collider_near(const PlaCollider *self, const double x[3], double close, double reach,
                      bool deep, double *distance, PlaFeature out[PLA_MOST_FEATURES]);

/* Largest t in 0..1 for which no point of the way from @x to @x + t @dx is deeper than @depth (m)
 * inside, or than @x itself is, if that is more. */
double pla_collider_trace(const PlaCollider *self, const double x[3], const double dx[3],
                          double depth);
