/* A body on the operating table: cut, undermined, excised, hooked, sutured, solved.
 *
 * Everything is told in places of the body as it lies there now, in metres, so a plan does not
 * depend on the mesh.  Points near the skin are snapped to it.  A tool that fails leaves the body
 * as it was. */
#pragma once

#include "anatomy/bodies/tissue-lattice.h"
#include "sim/cut/cut-mesh.h"
#include "sim/fem/model.h"
#include "sim/solve/solve.h"

typedef struct PlaSurgery PlaSurgery;

/* @mesh: tets of the soft tissue; @cell_material: index into @materials for each tet; @held:
 * vertices that do not move, such as those on bone (n_verts).  All are copied. */
PlaStatus pla_surgery_new(const PlaMesh *mesh, const PlaFemMaterial *materials, int n_materials,
                          const int *cell_material, const bool *held, PlaSurgery **out,
                          PlaError *err);
/* A body carved out of the lattice of @made along the facets of its surface: its shape is that of
 * the surface, whatever the size of the cells.  Its elements are those that do not lock near a
 * Poisson's ratio of 0.5.  made->tissue: index into @materials.  All are copied. */
PlaStatus pla_surgery_new_carved(const PlaTissueLattice *made, const PlaFemMaterial *materials,
                                 int n_materials, PlaProgress *progress, PlaSurgery **out,
                                 PlaError *err);
/* What its materials are called, one name each, so that tools can be told a tissue. */
PlaStatus pla_surgery_set_tissues(PlaSurgery *self, const char *const *name, PlaError *err);
int pla_surgery_n_tissues(const PlaSurgery *self);
const char *pla_surgery_get_tissue(const PlaSurgery *self, int i); /* "" without a name */
/* The body as it is, to come back to. */
PlaStatus pla_surgery_dup(const PlaSurgery *self, PlaSurgery **out, PlaError *err);
void pla_surgery_free(PlaSurgery *self); /* NULL is fine */
/* Where @st is a failure, @self becomes what *backup is; *backup is freed. */
void pla_surgery_settle(PlaSurgery *self, PlaSurgery **backup, PlaStatus st);
/* The finite elements of the body as it is now; caller frees *out. */
PlaStatus pla_surgery_build_model(const PlaSurgery *self, PlaFemModel **out, PlaError *err);

/* The largest distance at which a point is still snapped to the skin, m. */
#define PLA_SURGERY_SNAP 0.005

/* ---- tools that cut ---- */

/* Along @path (n points) on the skin, @depth deep, 0: through everything; leaning by @bevel, rad,
 * to the left of the path.  The wound is @name from now on. */
PlaStatus pla_surgery_incise(PlaSurgery *self, const char *name, const double *path, int n,
                             double depth, double bevel, PlaProgress *progress, PlaError *err);
/* What was taken out: a piece of its own from then on. */
typedef struct {
  double volume;  /* m3 */
  double mass;    /* kg */
  double size[3]; /* length and width in the skin, thickness; m */
  int n_verts, n_tris;
  double *pos; /* its closed surface as it lay, m (n_verts x 3) */
  int *tri;    /* (n_tris x 3) */
} PlaSurgerySpecimen;
void pla_surgery_specimen_clear(PlaSurgerySpecimen *self);
/* Removes what lies inside the closed @path down to @depth; @specimen may be NULL. */
PlaStatus pla_surgery_excise(PlaSurgery *self, const char *name, const double *path, int n,
                             double depth, PlaSurgerySpecimen *specimen, PlaProgress *progress,
                             PlaError *err);
/* A part of the skin: what lies within @radius of the wound @from, or inside the closed path @area.
 */
typedef struct {
  const char *from; /* NULL: the area */
  double radius;    /* m */
  const double *area;
  int n_area;
} PlaSurgeryRegion;
/* Frees the skin there from what lies below @depth. */
PlaStatus pla_surgery_undermine(PlaSurgery *self, const PlaSurgeryRegion *what, double depth,
                                PlaProgress *progress, PlaError *err);
/* What holds the body, as a level; its plane is that of the periosteum. */
#define PLA_SURGERY_BONE "bone"
/* The same on the surface of the tissue @level, @offset above it: in the plane of a fascia. */
PlaStatus pla_surgery_undermine_level(PlaSurgery *self, const PlaSurgeryRegion *what,
                                      const char *level, double offset, PlaProgress *progress,
                                      PlaError *err);
/* Cuts along @blade, wherever it reaches, through everything, or only through the tissue that is
 * named, such as bone: what lies around it stays whole. */
PlaStatus pla_surgery_cut(PlaSurgery *self, const PlaTriMesh *blade, const char *tissue,
                          PlaProgress *progress, PlaError *err);

/* Connected pieces of the body, or of one tissue of it for itself; -1 when memory is short. */
int pla_surgery_count_pieces(const PlaSurgery *self, const char *tissue);

/* What the last tool that cut did. */
typedef struct {
  int n_touched;  /* tets that the blade reached */
  int n_new_tets; /* and their copies */
  int n_crumbs;   /* loose pieces smaller than a cell, which were wiped off */
  double crumbs;  /* their volume, m3 */
  double overcut; /* how much deeper than asked the walls reach, so that floors meet them, m */
  int n_blade;    /* triangles of the blade */
} PlaSurgeryTool;
const PlaSurgeryTool *pla_surgery_get_tool(const PlaSurgery *self);

/* ---- hooks and sutures ---- */

/* Pulls the skin at @at to @at + @pull. */
PlaStatus pla_surgery_hook(PlaSurgery *self, const double at[3], const double pull[3],
                           PlaError *err);
void pla_surgery_release_hooks(PlaSurgery *self);

/* What became of a row. */
typedef struct {
  int n_stitches;
  int n_left_out; /* where the mesh does not part the edges, at the tips of wounds */
  double open;    /* length of the longer edge that no thread holds, m */
} PlaSurgeryRow;
/* A row of stitches every @spacing between the edges of two wounds, or of one with itself when both
 * names are the same; @tighten 1 closes them wholly.  @row may be NULL. */
PlaStatus pla_surgery_suture(PlaSurgery *self, const char *first, const char *second,
                             double spacing, double tighten, PlaSurgeryRow *row, PlaError *err);

/* A part of a wound's edge. */
typedef struct {
  const char *wound;
  int side;        /* 0: left of its path, 1: right, -1: the one that there is, or the longer */
  double from, to; /* points of its path, counted from 0, fractions in between; a closed path goes
                      on after its last point; to < from: backwards; to == from: all of it */
} PlaSurgeryEdge;
/* The same between @first, n_first parts one after the other, and @second: beginning to beginning,
 * end to end. */
PlaStatus pla_surgery_sew(PlaSurgery *self, const PlaSurgeryEdge *first, int n_first,
                          const PlaSurgeryEdge *second, int n_second, double spacing,
                          double tighten, PlaSurgeryRow *row, PlaError *err);
/* One stitch between two points of the skin. */
PlaStatus pla_surgery_stitch(PlaSurgery *self, const double first[3], const double second[3],
                             double tighten, PlaError *err);
/* Draws every stitch to @tighten, 0..1, of the gap it was laid over. */
void pla_surgery_tighten(PlaSurgery *self, double tighten);

/* ---- tension and expanders ---- */

typedef struct {
  double pos[3], direction[3];
} PlaSurgeryLine;
/* Skin tension: what lies within @depth of the skin is stretched by @along in the direction of the
 * nearest of @n lines and by @across in the skin's other direction, and would shrink as much if it
 * were cut free.  Replaces what was set before; *n_tets (may be NULL): how many it strains. */
PlaStatus pla_surgery_set_tension(PlaSurgery *self, const PlaSurgeryLine *line, int n, double along,
                                  double across, double depth, int *n_tets, PlaError *err);

/* A balloon in a pocket that was undermined: the walls within @radius of @at are pushed apart with
 * @pressure, Pa.  PLA_ERR_EMPTY without a pocket there. */
PlaStatus pla_surgery_expand(PlaSurgery *self, const double at[3], double radius, double pressure,
                             PlaError *err);
/* A rigid ball of @radius around @at in a pocket, or the one called @name grown or shrunk to it
 * where it lies (@at may then be NULL): walls keep out of it.  PLA_ERR_EMPTY without a wall within
 * the radius. */
PlaStatus pla_surgery_implant(PlaSurgery *self, const char *name, const double at[3], double radius,
                              PlaError *err);
/* What all expanders hold, m3; NAN when memory is short. */
double pla_surgery_expanded_volume(PlaSurgery *self, PlaError *err);

/* ---- places ---- */

/* Lays a drawing on the skin: point (u, v), m, of @uv (n x 2) goes from the skin at @at the way
 * that leads u along @direction and v to the left of it, over the skin, straight.  @out: n x 3. */
PlaStatus pla_surgery_draw(PlaSurgery *self, const double at[3], const double direction[3],
                           const double *uv, int n, double *out, PlaError *err);

/* ---- equilibrium ---- */

/* Finds the equilibrium.  Not reaching the tolerance is a result (report->reason). */
PlaStatus pla_surgery_solve(PlaSurgery *self, double tolerance_rel, PlaProgress *progress,
                            PlaFemReport *report, PlaError *err);

/* What to read off afterwards. */
typedef struct {
  int n_stitches, n_hooks;
  double closed_gap; /* widest distance across a stitch, m */
  double edge_gap;   /* widest distance between sewn edges, between stitches too, m */
  double tip_gap; /* the same at the tips of wounds, where edges meet less than a cell apart, m */
  double dog_ear; /* how far the skin near the ends of rows stands out, m */
  double max_tension;      /* of a stitch, N */
  double closure_force;    /* of all stitches together, N */
  double max_hook_force;   /* N */
  double max_stretch;      /* largest principal stretch, mean of the material around a vertex */
  double max_stretch_cell; /* of a single element */
} PlaSurgeryReadings;
PlaStatus pla_surgery_read(PlaSurgery *self, PlaSurgeryReadings *out, PlaError *err);

typedef struct {
  int row;
  double pos[3];  /* between its ends, m */
  double gap;     /* that is left, m */
  double tension; /* N */
} PlaSurgeryStitch;
/* Every stitch (@out: n_stitches, or NULL); their number. */
int pla_surgery_get_stitches(const PlaSurgery *self, PlaSurgeryStitch *out);

/* The body as it is, borrowed until the next change. */
PlaCutMesh *pla_surgery_get_mesh(PlaSurgery *self);
const double *pla_surgery_get_pos(const PlaSurgery *self); /* m (n_verts x 3) */
const unsigned char *
pla_surgery_get_held(const PlaSurgery *self); /* 1: a vertex that does not move (n_verts) */
/* The surface and its vertices' positions, m; borrowed until the next change. */
PlaStatus pla_surgery_get_surface(PlaSurgery *self, const PlaCutSurface **surface,
                                  const double **pos, PlaError *err);
