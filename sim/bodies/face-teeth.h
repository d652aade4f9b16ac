/* The bones and teeth that the phantom's face meets, as colliders. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/mesh/mesh.h"
#include "sim/contact/collider.h"

enum { PLA_TEETH_UPPER = 0, PLA_TEETH_LOWER, PLA_N_TEETH };

/* Marks the free vertices of the face that lips and teeth can reach (n_verts). */
void pla_face_mouth(const PlaMesh *mesh, const unsigned char *hold, unsigned char *near);

/* Skull with upper, mandible with lower teeth and gums, about the mouth, in the head phantom's
 * frame with the jaw closed; @clear_mm within their true surfaces, as flesh that was meshed against
 * them is only that exact.  Caller frees both. */
PlaStatus pla_face_teeth(double clear_mm, PlaProgress *progress, PlaCollider *out[PLA_N_TEETH],
                         PlaError *err);
