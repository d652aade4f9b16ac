/* Fewer triangles over the same vertices, for pictures of a surface that moves. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  int vert[3];
  int face; /* the triangle of the surface that it comes from */
} PlaDraftFace;

/* Half-edge collapses until @wanted of the @n_faces triangles are left, or none may go: each takes
 * a vertex into a neighbour, and never changes how many triangles an edge has.  So the draft is as
 * closed as the surface, and its triangles look the same way.  Borders, and edges of more than two
 * triangles, stay as they are.  @out has room for @n_faces; returns how many were written.  The
 * same bits for any number of threads; any thread. */
size_t pla_draft_make(int n_verts, const double *pos, size_t n_faces, const int *tri, size_t wanted,
                      PlaDraftFace *out);

#ifdef __cplusplus
}
#endif
