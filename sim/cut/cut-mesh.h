/* A tet mesh that can be cut by any triangulated surface, again and again.
 *
 * Tets are never divided: a tet that the blade parts is repeated once for each piece of material in
 * it, with nodes of its own where nothing connects them, so element quality never drops.  A blade
 * that ends inside a tet leaves it whole, is remembered there, and a later one can complete the
 * cut.  The blade meets the mesh in its present, deformed shape.  Every decision is exact for
 * coordinates rounded to a 2^-35th of the scene's extent; touching, crossing, coplanar and repeated
 * blades are all fine, in any order. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

#include <stdint.h>

typedef struct PlaCutMesh PlaCutMesh;

typedef struct {
  int n_touched;     /* tets that the blade reached */
  int n_new_tets;    /* copies made */
  int n_new_verts;   /* and their vertices */
  double seconds[4]; /* finding the tets, parting them, connecting the pieces, all of it */
} PlaCutReport;

/* @mesh is copied.  PLA_ERR_GEOMETRY when a tet is flat or inverted at rest, or a face has more
 * than two tets. */
PlaStatus pla_cut_mesh_new(const PlaTetMesh *mesh, PlaCutMesh **out, PlaError *err);
/* The part of @mesh inside @surface: closed, normals outwards, within @mesh; triangle i of it is
 * number i of all that cut.  PLA_ERR_EMPTY when nothing lies inside, PLA_ERR_GEOMETRY when the
 * surface is open. */
PlaStatus pla_cut_mesh_carve(const PlaTetMesh *mesh, const PlaTriMesh *surface,
                             PlaProgress *progress, PlaCutMesh **out, PlaCutReport *report,
                             PlaError *err);
int pla_cut_mesh_n_carved(const PlaCutMesh *self); /* triangles of that surface; 0: not carved */
/* Keeps a copy of @surface: the @facets that the mesh was carved along, divided.  Triangle i of it
 * is facet[i], or part of it; its vertices begin with those of the facets.  From now on its
 * triangles stay whole in pla_cut_mesh_surface() where no blade comes near them. */
PlaStatus pla_cut_mesh_keep_surface(PlaCutMesh *self, const PlaTriMesh *facets,
                                    const PlaTriMesh *surface, const int *facet, PlaError *err);
/* Where the vertices of the kept surface lie at rest; @self was not cut since it was carved.  tet:
 * of those whose material ends at a facet of the vertex, one that the vertex lies in (n_verts; -1:
 * none); weight: its barycentric coordinates there (n_verts x 4).  PLA_ERR_MEMORY. */
PlaStatus pla_cut_mesh_carved_verts(const PlaCutMesh *self, int *tet, double *weight,
                                    PlaError *err);
PlaStatus pla_cut_mesh_dup(const PlaCutMesh *self, PlaCutMesh **out, PlaError *err);
void pla_cut_mesh_free(PlaCutMesh *self); /* NULL is fine */

/* The simulation mesh as it is; valid until the next cut. */
typedef struct {
  PlaTetMesh mesh;
  const int *tet_source;  /* tet of the original mesh (n_tets) */
  const int *vert_source; /* vertex of the original mesh (n_verts) */
} PlaCutMeshView;
PlaCutMeshView pla_cut_mesh_get(const PlaCutMesh *self);

/* corners of face i, counter-clockwise from outside; face i lies opposite corner i */
extern const int pla_cut_face_corner[4][3];

/* The tets whose material meets that of a tet across one of its faces; several where a cut has
 * split the other side:
 *   for (PlaCutAcross a = pla_cut_mesh_across(cut, t, f); a.tet >= 0; pla_cut_mesh_next(cut, &a))
 */
typedef struct {
  int tet; /* -1: no more */
  int link;
} PlaCutAcross;
PlaCutAcross pla_cut_mesh_across(const PlaCutMesh *self, int tet, int face);
void pla_cut_mesh_next(const PlaCutMesh *self, PlaCutAcross *across);

/* Bends the mesh into the shape @pos (n_verts x 3, m; NULL: back to rest), where blades meet it
 * from now on. */
PlaStatus pla_cut_mesh_set_shape(PlaCutMesh *self, const double *pos, PlaError *err);

/* Cuts the mesh in its shape along @blade, in time that grows with what it touches.  Vertices keep
 * their numbers; each new one starts where vertex *from stands: (*from)[i] belongs to vertex
 * n_verts + i (may be NULL; caller frees).  When it fails nothing has changed.  A blade that
 * reaches no tet is no failure: report->n_touched is 0. */
PlaStatus pla_cut_mesh_cut(PlaCutMesh *self, const PlaTriMesh *blade, PlaProgress *progress,
                           PlaCutReport *report, int **from, PlaError *err);

/* The same in the tets marked in @among (n_tets; NULL: all), as if nothing else were there: others
 * stay whole and hold on to all pieces that they touch. */
PlaStatus pla_cut_mesh_cut_among(PlaCutMesh *self, const PlaTriMesh *blade, const bool *among,
                                 PlaProgress *progress, PlaCutReport *report, int **from,
                                 PlaError *err);

/* Where a point of the material went: the tet before the last cut and its weights there give the
 * tet now.  @n_before: tets before that cut. */
int pla_cut_mesh_follow(const PlaCutMesh *self, int tet, const double weight[4], int n_before);

/* Takes away the tets marked in @remove (n_tets) with their links.  vert[v] is the new number of
 * vertex v, -1 when no tet has it any more, tet[t] likewise; both the caller's, as long as before.
 * PLA_ERR_EMPTY, and nothing changes, when none would be left. */
PlaStatus pla_cut_mesh_remove(PlaCutMesh *self, const bool *remove, int *vert, int *tet,
                              PlaError *err);

/* Connected bodies: body[t] counts from 0 in the order of their first tets (n_tets; may be NULL).
 * The number of bodies, or -1 when memory is short. */
int pla_cut_mesh_bodies(const PlaCutMesh *self, int *body);

/* Whether the material in @tet reaches its corner @corner. */
bool pla_cut_mesh_has_corner(const PlaCutMesh *self, int tet, int corner);

/* Whether a blade has parted the material in @tet, other than the surface it was carved along. */
bool pla_cut_mesh_is_parted(const PlaCutMesh *self, int tet);

/* Volume of the material in each tet at rest, m3, and as a fraction of the tet's (n_tets). */
void pla_cut_mesh_volumes(const PlaCutMesh *self, double *volume);
void pla_cut_mesh_fractions(const PlaCutMesh *self, double *fraction);

/* The surface of the material, skin and wounds: closed, its vertices tied to the tets. */
typedef struct {
  int n_verts, n_tris;
  int *tet;       /* of each vertex (n_verts) */
  double *weight; /* its barycentric coordinates there (n_verts x 4) */
  int *tri;       /* counter-clockwise from outside (n_tris x 3) */
  int *cut;       /* cutting triangle that made it, counted over all cuts; -1: skin (n_tris) */
  int *carved;    /* of skin: facet that carved it; -1: a face of the original mesh (n_tris) */
  int *owner;     /* tet whose material it bounds (n_tris) */
} PlaCutSurface;
PlaStatus pla_cut_mesh_surface(PlaCutMesh *self, PlaCutSurface *out, PlaError *err);
void pla_cut_surface_clear(PlaCutSurface *self);
/* out: n_verts x 3, for vertices of the mesh at @pos. */
void pla_cut_surface_place(const PlaCutSurface *self, const PlaCutMesh *mesh, const double *pos,
                           double *out);
