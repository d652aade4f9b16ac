/* Muscles: what they are, and what they are in a tetrahedral mesh.
 *
 * A description (PlaMuscleList) names origin and insertion, lines of action and strength, free of
 * any mesh.  Together with a shape per muscle (label, closed surface, implicit) it becomes a
 * PlaMuscleSet on a mesh of all soft tissue: for every pair of tet and muscle that meet, the share
 * of the tet's volume that is this muscle and one fibre direction, so that muscles thinner than an
 * element and several in one element are no special case (Sifakis, Neverov and Fedkiw 2005).
 *
 * Descriptions are in RAS millimetres, as label volumes and phantoms are. */
#pragma once

#include "anatomy/muscle/muscle-fibre.h"
#include "anatomy/muscle/overlap.h"
#include "anatomy/muscle/region.h"
#include "anatomy/phantom/phantom.h"

/* Peak isometric stress of skeletal muscle at large, Pa (Zajac 1989). */
#define PLA_MUSCLE_STRESS_PA 3e5

/* ---- descriptions (description.c) ---- */

typedef enum {
  PLA_FIBRES_POTENTIAL = 0, /* between origin and insertion */
  PLA_FIBRES_SPLINE,        /* B-spline solids along the lines of action */
  PLA_FIBRES_LINES,         /* the directions of the lines of action */
  PLA_FIBRES_VECTORS,       /* given vectors */
} PlaFibreMethod;
extern const char *const pla_fibre_methods[]; /* NULL-ended: "potential", "spline", ... */

/* A part of a muscle with ends of its own.  A bone is named as its shape is; "" ends in soft
 * tissue.  The line of action runs from origin to insertion. */
typedef struct {
  char *origin, *insertion; /* owned */
  int n_points;             /* 0: no line given */
  double *pos_mm;           /* owned (n_points x 3) */
  double *half_width_mm;    /* owned (n_points), or NULL: half axes of the section across, */
  double *half_thick_mm;    /* owned (n_points), or NULL: and through the band, */
  double *normal;           /* owned (n_points x 3), or NULL: whose direction this is */
} PlaMuscleHead;

/* A tendon missing from the images: a cone with round ends, added to the muscle's shape. */
typedef struct {
  double from_mm[3], to_mm[3];
  double radius_mm[2];
} PlaMuscleTendon;

typedef struct {
  char *name; /* owned; "masseter, right" */
  int label;  /* of its label map; 0: none */
  double peak_stress_pa;
  PlaFibreMethod method;
  int n_heads;
  PlaMuscleHead *head; /* owned */
  int n_tendons;
  PlaMuscleTendon *tendon; /* owned */
} PlaMuscle;

typedef struct {
  int n;
  PlaMuscle *muscle; /* owned */
} PlaMuscleList;
void pla_muscle_list_clear(PlaMuscleList *self);
/* Appends an empty muscle, or head; NULL when memory is short. */
PlaMuscle *pla_muscle_list_add(PlaMuscleList *self, const char *name);
PlaMuscleHead *pla_muscle_add_head(PlaMuscle *self, const char *origin, const char *insertion,
                                   int n_points);
/* The muscles of a phantom, named "masseter, right", with the bones on their side. */
PlaStatus pla_muscle_list_from_phantom(const PlaPhantom *phantom, PlaMuscleList *out,
                                       PlaError *err);

/* ---- on a mesh (muscle-set.c) ---- */

typedef struct {
  PlaFibreMethod method; /* that was used */
  double volume_mm3;     /* of the whole shape */
  double inside_mm3;     /* of it within the mesh */
  double length_mm;      /* mean of its streamlines */
  double section_mm2;    /* volume over length: the physiological cross-section */
  double force_n;        /* peak stress times that */
  double gap_mm[2];      /* from the shape to the origin's and the insertion's bone; 0: touches */
  int n_tets;            /* that it meets */
  int n_region[3];       /* of these by PlaTissue */
  int n_lines;
  double straightness; /* mean of end-to-end distance over length of streamlines */
} PlaMuscleReport;

typedef struct {
  PlaMuscleList list;      /* owned */
  PlaMuscleReport *report; /* owned; per muscle */
  int n_verts, n_tets;     /* of the mesh */
  /* pairs of tet and muscle, by tet: those of tet t are tet_start[t] .. tet_start[t + 1] - 1 */
  int n_pairs;
  int *tet_start;  /* n_tets + 1 */
  int *muscle;     /* ascending within a tet (n_pairs) */
  double *share;   /* of the tet's volume, (0..1] (n_pairs) */
  double *fibre;   /* unit vector at rest (n_pairs x 3) */
  uint8_t *region; /* PlaTissue (n_pairs) */
  /* the same by muscle: pair[muscle_start[m]] .. are those of m, ascending by tet */
  int *muscle_start; /* list.n + 1 */
  int *pair;         /* n_pairs */
  int *pair_tet;     /* the tet of pair p (n_pairs) */
  /* bones, and which of them holds each vertex */
  int n_bones;
  char **bone;    /* owned */
  int *vert_bone; /* -1: free (n_verts) */
  /* streamlines, tied to tets so that they deform with the mesh (weights are negative for ends
   * that lie outside of it, in bone) */
  int n_lines;
  int *line_start;  /* points (n_lines + 1) */
  int *line_muscle; /* n_lines */
  PlaEmbedding point;
  PlaNotes notes; /* sentences about what was odd */
} PlaMuscleSet;
void pla_muscle_set_clear(PlaMuscleSet *self);

/* A named bone, or any part that holds ends of muscles. */
typedef struct {
  const char *name;
  PlaMuscleShape shape;
} PlaMuscleBone;

typedef struct {
  double leaf_mm;   /* detail of overlaps; 0: a sixth of the mean element, less for thin muscles */
  int n_cells;      /* of the lattice that fibres are computed on */
  int n_lines;      /* streamlines of each muscle */
  double attach_mm; /* vertices and elements this near to a bone are held by it */
  double tendon_mm; /* elements this near to the bones of their muscle are tendon; 0: none */
  double least_share;             /* smaller ones are dropped */
  int grow_attached, grow_tendon; /* layers of elements by which what is so tagged then grows into
                                     its muscle, or shrinks when negative */
} PlaMuscleOptions;
PlaMuscleOptions pla_muscle_options_default(void);

/* Fibres, overlaps and attachments of @list on @mesh.  @shape: one per muscle; @vectors: one per
 * muscle or NULL, used by PLA_FIBRES_VECTORS.  PLA_ERR_USAGE with a sentence that names the muscle
 * when a bone is not among @bones or an end has neither bone nor line.  A muscle that the mesh does
 * not hold, or whose ends nothing joins there, is a note, and has no elements; PLA_ERR_GEOMETRY
 * when none of them can be built.  Same bits for any number of threads. */
PlaStatus pla_muscle_set_build(const PlaTetMesh *mesh, const PlaMuscleList *list,
                               const PlaMuscleShape *shape, const PlaFibreSamples *const *vectors,
                               const PlaMuscleBone *bones, int n_bones,
                               const PlaMuscleOptions *opts, PlaProgress *progress,
                               PlaMuscleSet *out, PlaError *err);

/* Makes the list by muscle from the list by tet, checking both: for sets read from a file. */
PlaStatus pla_muscle_set_index(PlaMuscleSet *self, PlaError *err);
/* The largest sum of shares in one tet: above 1 where shapes interdigitate. */
double pla_muscle_set_largest_sum(const PlaMuscleSet *self);
/* Scales shares in each tet whose sum exceeds 1 down to that sum; returns how many. */
int pla_muscle_set_limit_sums(PlaMuscleSet *self);
/* Moves tags of one muscle over the mesh (pla_region_grow, or shrink with negative layers).
 * @across: neighbours of the mesh's tets. */
int pla_muscle_set_grow(PlaMuscleSet *self, const int *across, int muscle, PlaTissue tag,
                        int layers, PlaError *err);

/* Adds fields to @mesh (the one the set was built on, tets only): cells "muscle" (the largest
 * share's label or number + 1, 0 without), "share" (of all muscles), "fibre" (of the largest),
 * "tissue" (PlaTissue of the largest, 255 without), and vertices "bone" (number + 1).  One cell
 * field "share: NAME" per muscle where @each. */
PlaStatus pla_muscle_set_to_fields(const PlaMuscleSet *self, bool each, PlaMesh *mesh,
                                   PlaError *err);
