/* Inside a surgical body, for its parts and their tests. */
#pragma once

#include "sim/surgery/surgery.h"

/* a point that moves with the body */
typedef struct {
  int tet;
  double weight[4];
} PlaSurgeryAnchor;

/* one edge of a wound, where it meets the skin */
typedef struct {
  PlaSurgeryAnchor anchor;
  double along; /* place on the path, m */
} PlaSurgeryLipPoint;

typedef struct {
  char *name; /* owned */
  bool closed;
  double length;
  int n_path;
  double *path; /* when it was made (n_path x 3) */
  int n_lip[2]; /* left and right of the path; a removed piece leaves one, the first */
  PlaSurgeryLipPoint *lip[2]; /* in the order of the path */
} PlaSurgeryWound;

typedef struct {
  PlaSurgeryAnchor at[2]; /* a hook has one */
  double place[3];        /* of a hook, m; of a stitch: the gap that it leaves */
} PlaSurgeryThread;

typedef struct {
  int n, capacity;
  PlaSurgeryThread *thread;
} PlaSurgeryThreads;

struct PlaSurgery {
  int n_materials;
  PlaFemMaterial *material;
  int n_cells;        /* tets of the original mesh */
  int *cell_material; /* of each (n_cells) */
  double cell;        /* edge of a typical tet, m */
  /* what tools change; surgery-state.c stores all above and below, and its test tells when it does
   * not */
  PlaCutMesh *cut;
  double *pos;         /* m (n_verts x 3) */
  unsigned char *held; /* (n_verts) */
  int n_triangles;     /* of all blades, as the cut mesh counts them */
  int n_wounds;
  PlaSurgeryWound *wound;
  PlaSurgeryThreads stitches, hooks;
  /* made when asked for */
  PlaCutSurface surface;
  double *surface_pos;
};
