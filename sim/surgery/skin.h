/* The skin of a body that is operated on, and blades made from it. */
#pragma once

#include "anatomy/mesh/tri-tree.h"
#include "sim/cut/cut-mesh.h"

/* The skin at one moment: surface triangles that no blade made, vertices that coincide taken as
 * one. */
typedef struct {
  int n_verts, n_tris;
  double *pos;    /* m (n_verts x 3) */
  double *normal; /* outward, unit (n_verts x 3) */
  int *tri;       /* (n_tris x 3) */
  int *source;    /* triangle of the surface (n_tris) */
  PlaTriTree *tree;
  PlaTriMesh mesh; /* what the tree borrows */
} PlaSkin;
PlaStatus pla_skin_init(PlaSkin *self, const PlaCutSurface *surface, const double *pos,
                        PlaError *err);
/* The same of the triangles that reach into the box from box[0] to box[1], m; NULL: all.  There may
 * be none (n_tris). */
PlaStatus pla_skin_init_within(PlaSkin *self, const PlaCutSurface *surface, const double *pos,
                               const double (*box)[3], PlaError *err);
void pla_skin_clear(PlaSkin *self);

/* A point of a path on the skin. */
typedef struct {
  double pos[3], normal[3];
  double left[3]; /* unit, in the skin, to the left of the path seen from outside */
  double along;   /* length of the path so far, m */
  bool knot;      /* one of the points that the path was drawn through */
} PlaSkinPoint;

/* The path through @n points, snapped to the skin and divided into steps of at most @step.  A point
 * further than @snap away is PLA_ERR_USAGE and named by its number.  *out has *n_out, caller frees.
 */
PlaStatus pla_skin_path(const PlaSkin *self, const double *path, int n, bool closed, double step,
                        double snap, PlaSkinPoint **out, int *n_out, PlaError *err);

/* Goes @distance over the skin, straight on from @from, a point of it, along @direction (need not
 * lie in the skin).  false when the skin ends before. */
bool pla_skin_walk(const PlaSkin *self, const PlaSkinPoint *from, const double direction[3],
                   double distance, PlaSkinPoint *out);
/* The point of the skin nearest to @at, with its normal; false when it is further than @snap. */
bool pla_skin_snap(const PlaSkin *self, const double at[3], double snap, PlaSkinPoint *out);

/* Lays a drawing on the skin: point (u, v), m, of @uv (n x 2) goes from the skin at @at the way
 * that leads u along @direction and v to the left of it, over the skin, straight.  @out: n x 3. */
PlaStatus pla_skin_draw(const PlaSkin *self, const double at[3], const double direction[3],
                        const double *uv, int n, double snap, double *out, PlaError *err);

/* Triangles of a blade, appended to; zero-initialise. */
typedef struct {
  int n_verts, n_tris;
  int cap_verts, cap_tris;
  double *pos;
  int *tri;
} PlaBlade;
void pla_blade_clear(PlaBlade *self);
PlaTriMesh pla_blade_get(const PlaBlade *self);

/* One triangle, corner after corner.  false when memory is short, as in all that follows. */
bool pla_blade_add_triangle(PlaBlade *self, const double corner[9]);
/* A curtain that hangs from @lift above the path to @depth below it, leaning by @bevel, rad, to the
 * left. */
bool pla_blade_add_curtain(PlaBlade *self, const PlaSkinPoint *path, int n, bool closed,
                           double lift, double depth, double bevel, double step);
/* The skin where inside(pos, normal, data) holds and that hangs together with the skin at one of
 * @n_seeds points, moved @depth inwards; *n_tris: how many triangles that gave. */
typedef bool (*PlaSkinRegion)(const double pos[3], const double normal[3], const void *data);
bool pla_blade_add_sheet(PlaBlade *self, const PlaSkin *skin, const double *seed, int n_seeds,
                         PlaSkinRegion inside, const void *data, double depth, int *n_tris);

/* A closed path on the skin seen along its mean normal. */
typedef struct {
  int n;
  double *at; /* in the plane (n x 2) */
  double origin[3], u[3], v[3], normal[3];
  double *place; /* on the skin (n x 3) */
  double margin; /* beyond the path, m */
  double reach;  /* from the origin, m */
} PlaSkinLoop;
/* @margin: how far beyond the path still counts as inside, m. */
bool pla_skin_loop_init(PlaSkinLoop *self, const PlaSkinPoint *path, int n, double margin);
void pla_skin_loop_clear(PlaSkinLoop *self);
/* A region of the skin: inside the loop @data, or not far beyond it. */
bool pla_skin_in_loop(const double pos[3], const double normal[3], const void *data);
