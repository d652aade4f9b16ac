/* Inside a surgical body, for its parts and their tests. */
#pragma once

#include "sim/surgery/skin.h"
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
} PlaSurgeryEdgePoint;

typedef struct {
  char *name; /* owned */
  bool closed;
  double length; /* of the path, all around when it is closed, m */
  int n_path;
  double *path; /* when it was made (n_path x 3) */
  int n_knots;
  double *knot;  /* where on the path the points lie that it was drawn through, m (n_knots) */
  int n_edge[2]; /* left and right of the path; a removed piece leaves one, the first */
  PlaSurgeryEdgePoint *edge[2]; /* in the order of the path */
} PlaSurgeryWound;

/* between two points of an edge */
typedef struct {
  PlaSurgeryAnchor at[2];
  double blend; /* 0: at the first, 1: at the second */
} PlaSurgeryEnd;

typedef struct {
  PlaSurgeryEnd end[2]; /* a hook has one */
  double place[3];      /* of a hook, m; of a stitch: the gap that it leaves */
  double gap[3];        /* of a stitch: the gap when it was laid, m */
  int row;              /* of a stitch: rows count from 0 in the order they were sewn */
  int stitch;   /* several threads make a stitch: it holds along the edge, not in a point; of a
                   gauge: PLA_SURGERY_TIP where the edges meet */
  double share; /* of the stitch's stiffness */
} PlaSurgeryThread;

#define PLA_SURGERY_TIP -1
/* least share of a thread that closes a gap; gentler ones give way, and tips are gauged instead */
#define PLA_SURGERY_FIRM 0.05

typedef struct {
  int n, capacity;
  PlaSurgeryThread *thread;
} PlaSurgeryThreads;

/* a balloon in a pocket: pressure on the walls of wounds around a place */
typedef struct {
  double place[3]; /* where its middle was at rest, m */
  double radius;   /* walls within this are pushed, at rest, m */
  double pressure; /* Pa */
} PlaSurgeryExpander;

/* a rigid ball in a pocket */
typedef struct {
  char *name;     /* owned */
  double at[3];   /* where it lies, m */
  double radius;  /* m */
  double settled; /* its radius at the last equilibrium, m */
} PlaSurgeryImplant;

struct PlaSurgery {
  int n_materials;
  PlaFemMaterial *material;
  char **tissue;              /* names of the materials, owned; NULL: none */
  int n_cells;                /* tets of the original mesh */
  int *cell_material;         /* of each (n_cells) */
  double cell;                /* edge of a typical tet, m */
  PlaFormulation formulation; /* of the body's elements */
  /* what tools change; surgery-state.c stores all above and below, and its test tells when it does
   * not */
  PlaCutMesh *cut;
  double *pos;         /* m (n_verts x 3) */
  unsigned char *held; /* (n_verts) */
  int *colour;         /* for sweeps; copies that a cut makes of a vertex keep it (n_verts) */
  int n_triangles;     /* of all blades, as the cut mesh counts them */
  int n_wounds;
  PlaSurgeryWound *wound;
  PlaSurgeryThreads stitches, hooks;
  PlaSurgeryThreads supports; /* of a carved body: what holds it to bone, a point for each tet */
  unsigned char *bone;        /* of a carved body: PlaBorder of each facet that carved it; NULL */
  PlaSurgeryThreads gauges;   /* pairs of points between stitches, which nothing pulls */
  double *prestretch;         /* of the original mesh's tets, row-major (n_cells x 9); NULL: none */
  int n_expanders;
  PlaSurgeryExpander *expander;
  int n_implants;
  PlaSurgeryImplant *implant;
  /* made when asked for: bound to firm tets, and where its vertices lie in their own ones */
  PlaCutSurface surface;
  double *surface_pos;
  PlaSurgeryAnchor *surface_at; /* of a carved body (n_verts of the surface); NULL */
  /* of a carved body, after each cut; NULL */
  double *filled; /* share of each tet that is material (n_tets) */
  int *firm;      /* tet that what acts on each one goes by (n_tets) */
  int n_ties;
  PlaSpring *tie;      /* from nearly empty tets to their neighbours (n_ties) */
  PlaSurgeryTool tool; /* what the last one did */
};

/* Cuts, and lets everything that hangs on the body follow; then crumbs are to be wiped off. */
PlaStatus pla_surgery_cut_along(PlaSurgery *self, const PlaBlade *blade, PlaProgress *progress,
                                PlaError *err);
PlaStatus pla_surgery_wipe_crumbs(PlaSurgery *self, PlaError *err);
PlaStatus pla_surgery_get_skin(PlaSurgery *self, PlaSkin *skin, PlaError *err);
/* The same as far as a path through @n points can need it, which costs less. */
PlaStatus pla_surgery_get_skin_near(PlaSurgery *self, const double *point, int n, PlaSkin *skin,
                                    PlaError *err);
void pla_surgery_forget_surface(PlaSurgery *self);
/* Of a carved body: finds how full tets are, the firm ones that others lean on, and the ties of
 * nearly empty ones.  To be called whenever there are other tets. */
PlaStatus pla_surgery_find_firm(PlaSurgery *self, PlaError *err);
/* The same point, told by the tet that carries it. */
PlaSurgeryAnchor pla_surgery_bind(const PlaSurgery *self, const PlaSurgeryAnchor *anchor);
/* The point of the surface's vertex @v. */
PlaSurgeryAnchor pla_surgery_surface_anchor(const PlaSurgery *self, int v);
void pla_surgery_place(const PlaSurgery *self, const PlaSurgeryAnchor *anchor, double out[3]);
void pla_surgery_place_end(const PlaSurgery *self, const PlaSurgeryEnd *end, double out[3]);

/* Calls @func for every anchor that the body carries; those that it refuses go, and the threads
 * they held. */
typedef bool (*PlaSurgeryAnchorFunc)(PlaSurgeryAnchor *anchor, const void *data);
void pla_surgery_update_anchors(PlaSurgery *self, PlaSurgeryAnchorFunc func, const void *data);

/* NULL, or PLA_ERR_USAGE, without such a wound. */
PlaSurgeryWound *pla_surgery_find_wound(const PlaSurgery *self, const char *name);
PlaStatus pla_surgery_need_wound(const PlaSurgery *self, const char *name, PlaSurgeryWound **out,
                                 PlaError *err);

/* Edge of a typical tet, m. */
double pla_surgery_typical_edge(const PlaTetMesh *mesh);
/* Holds a carved body where its surface borders on bone or on the end of the scan. */
PlaStatus pla_surgery_add_supports(PlaSurgery *self, PlaError *err);
/* Marks the coordinates that something keeps in their place (fixed: n_verts x 3): for checks that
 * no piece can move as a whole. */
void pla_surgery_mark_supported(const PlaSurgery *self, unsigned char *fixed);
/* The same cells as plain elements, for sweeps, which know no others: of materials that give way in
 * volume, where the body's own elements bear those that hardly do. */
PlaStatus pla_surgery_build_plain(const PlaSurgery *self, PlaFemModel **out, PlaError *err);
/* Colours the vertices, once for all cuts. */
PlaStatus pla_surgery_find_colours(PlaSurgery *self, PlaError *err);

/* For solves: what supports, stitches, then hooks do (@out: pla_surgery_n_springs). */
void pla_surgery_make_springs(const PlaSurgery *self, PlaSpring *out);
int pla_surgery_n_springs(const PlaSurgery *self);
/* The thread of spring @i; supports, stitches and hooks follow each other. */
const PlaSurgeryThread *pla_surgery_get_spring_thread(const PlaSurgery *self, int i);
/* Stiffness of a whole thread, N/m: it gives way by 0.05 mm per newton. */
#define PLA_SURGERY_THREAD_STIFFNESS 2e4

/* Completes a body whose cut mesh and held vertices are made; @cell_material: of the tets that the
 * cut mesh was made of (n_cells). */
PlaStatus pla_surgery_complete(PlaSurgery *self, const PlaFemMaterial *materials, int n_materials,
                               const int *cell_material, int n_cells, PlaError *err);

void pla_surgery_wound_clear(PlaSurgeryWound *self);
/* Adds the wound that the path made; its walls are the triangles of blades from number @first on.
 */
PlaStatus pla_surgery_add_wound(PlaSurgery *self, const char *name, const PlaSkinPoint *path, int n,
                                bool closed, int first, PlaError *err);

/* Adds @part of what the expanders push with in the shape @pos, N (n_verts x 3). */
PlaStatus pla_surgery_add_expanders(PlaSurgery *self, const double *pos, double part, double *force,
                                    PlaError *err);
