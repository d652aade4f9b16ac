/* Embeddings in a lattice of coarse tetrahedra (Sifakis 2007, 2.6, 6.4).
 *
 * Every tet of a body-centred cubic lattice that holds material becomes one element for each
 * connected piece of the material in it, and elements of neighbouring tets share nodes only where
 * their pieces are one across the common face.  So what is apart in reality stays apart, however
 * narrow the gap; elements are all alike, whatever the shape; and the fine surface, fibres and
 * tags ride on them.
 *
 * Tets away from the surface may be larger by powers of two.  Nodes in the middle of a larger
 * neighbour's edge or face (T-junctions) are not free: each is a weighted mean of free ones.
 *
 * Sources of pieces: level sets (lattice-levelset.c), fine tet meshes (lattice-tets.c), closed
 * surfaces (lattice-surface.c).  Same bits for any number of threads. */
#pragma once

#include "anatomy/base/memory.h"
#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/embed/lattice-bcc.h"
#include "anatomy/levelset/levelset.h"
#include "anatomy/mesh/mesh.h"

#include <stddef.h>
#include <stdint.h>

/* Where the lattice stands: coordinate x is the place origin + unit * x. */
typedef struct {
  double origin[3]; /* m */
  double unit;      /* m */
  int n[3];         /* cubes of level 0 */
  int depth;        /* cubes of level 0 have side 2 << depth */
} PlaLatticeFrame;

/* Cell field, int32: the tag of the element's material. */
#define PLA_LATTICE_REGION "region"

typedef struct {
  PlaLatticeFrame frame;

  /* the lattice's tets that hold material, in the order of their roots and children */
  int n_tets;
  PlaBccTet *tet;
  int *first_elem; /* elements of tet t: first_elem[t] .. first_elem[t + 1] - 1 */
  int n_inner;     /* tets that were divided */
  PlaBccTet *inner;
  PlaBccMap map; /* tet -> its number; inner tets -> -1 */

  /* what is simulated */
  int n_elems, n_verts, n_free;
  int *elem_tet; /* the lattice tet of each element */
  int *vert;     /* vertex ids (n_elems x 4), corners in the order of the lattice tet */
  double *pos;   /* rest, m (n_verts x 3) */
  double *fill;  /* share of each element that is material, 0..1 (n_elems) */
  int *region;   /* tag that most of the element's material bears; 0 without tags (n_elems) */

  /* T-junctions: vertex n_free + b stands at sum of bind_weight * position of bind_vert, which are
     free, over bind_start[b] .. bind_start[b + 1] - 1 */
  int *bind_start;
  int *bind_vert;
  double *bind_weight;

  /* which piece a place belongs to, from level sets only: for tets with surface in them, one
     entry a node of their even division: 0 outside, else 1 + piece; -1: all one piece */
  int64_t *piece_start; /* (n_tets), NULL from other sources */
  uint16_t *piece;
} PlaLatticeEmbedding;

void pla_lattice_embedding_free(PlaLatticeEmbedding *self); /* NULL is fine */

int pla_lattice_n_duplicated(const PlaLatticeEmbedding *self); /* tets with several elements */
void pla_lattice_place(const PlaLatticeFrame *frame, const int x[3], double pos[3]);
void pla_lattice_coord(const PlaLatticeFrame *frame, const double pos[3], double x[3]);
/* The tet of the lattice that holds @pos; -1 where there is no material near. */
int pla_lattice_find(const PlaLatticeEmbedding *self, const double pos[3]);
double pla_lattice_volume(const PlaLatticeEmbedding *self,
                          int elem); /* of the whole element, m^3 */

/* Brings the bound vertices of @pos (n_verts x 3) to where the free ones put them. */
void pla_lattice_apply_bindings(const PlaLatticeEmbedding *self, double *pos);

/* The elements as a mesh with the cell fields PLA_LATTICE_REGION and PLA_MESH_FILL; with @surface
 * (may be NULL), its triangles too, whose vertices @points ties to elements; cell fields of the
 * surface are kept.  Vertices: the free ones, those of T-junctions, those of the surface; the
 * latter two follow the first (PLA_MESH_BOUND_VERTS). */
PlaStatus pla_lattice_mesh(const PlaLatticeEmbedding *self, const PlaMesh *surface,
                           const PlaEmbedding *points, PlaMesh **out, PlaError *err);

/* ---- from level sets (lattice-levelset.c) ---- */

typedef struct {
  double cell; /* m: side of the lattice's cubes at the surface */
  int coarsen; /* tets without surface may be up to 2^coarsen times as large */
  int detail;  /* pieces are told apart down to cell / 2^detail; -1: down to the source's samples */
} PlaLatticeOptions;
PlaLatticeOptions pla_lattice_options_default(void); /* 4 mm, 0, -1 */

/* Tag of the material at a place (RAS mm); any thread. */
typedef int (*PlaRegionFunc)(const double pos_mm[3], const void *data);

/* Material is where @ls is negative, cut off half a voxel outside its grid; in between its nodes
 * the fine lattice is linear, and all decisions are exact for that.  @region may be NULL.
 * PLA_ERR_EMPTY when nothing is inside, PLA_ERR_USAGE for a lattice too fine to count. */
PlaStatus pla_lattice_from_levelset(const PlaLevelSet *ls, const PlaLatticeOptions *opts,
                                    PlaRegionFunc region, const void *region_data,
                                    PlaProgress *progress, PlaLatticeEmbedding **out,
                                    PlaError *err);

/* Ties surface points (n x 3, m) to elements (elem ids of @self).  @normal (n x 3, outwards, may be
 * NULL) tells on which side of a point its material is: where two pieces are close, each point goes
 * to its own.  *n_outside: points in no element, tied to the nearest within reach by weights
 * beyond 0..1.  PLA_ERR_GEOMETRY when a point is further than two cells from all material. */
PlaStatus pla_lattice_embed_points(const PlaLatticeEmbedding *self, int n, const double *pos,
                                   const double *normal, PlaEmbedding *out, int *n_outside,
                                   PlaError *err);

/* ---- from a fine tet mesh (lattice-tets.c) ---- */

/* Which fine tets each element holds, and how much of them. */
typedef struct {
  int n_elems;
  size_t *start;  /* (n_elems + 1) */
  int *tet;       /* fine tets, ascending within an element */
  double *volume; /* common to both, m^3 */
} PlaLatticeOverlap;
void pla_lattice_overlap_clear(PlaLatticeOverlap *self);

/* Material is the fine mesh itself; all decisions are exact.  @verts: every vertex of it (n_verts)
 * tied to the element that holds its part of the mesh.  PLA_ERR_GEOMETRY when a fine tet is flat or
 * inverted, or a face has more than two. */
PlaStatus pla_lattice_from_tets(const PlaTetMesh *mesh, double cell, PlaProgress *progress,
                                PlaLatticeEmbedding **out, PlaEmbedding *verts,
                                PlaLatticeOverlap *overlap, PlaError *err);

/* What elements inherit from their fine tets, by common volume: the tag of most of it (the smaller
 * on ties); means of @n numbers; the mean axis of directions whose signs do not matter, with the
 * sign of most.  And from fine vertices: the bits of all in an element. */
void pla_lattice_carry_tags(const PlaLatticeOverlap *overlap, const int *tag, int *out);
void pla_lattice_carry_means(const PlaLatticeOverlap *overlap, int n, const double *value,
                             double *out);
void pla_lattice_carry_axes(const PlaLatticeOverlap *overlap, const double *axis, double *out);
void pla_lattice_carry_flags(const PlaLatticeEmbedding *self, const PlaEmbedding *verts,
                             const uint8_t *flag, uint8_t *out);

/* ---- from a closed surface (lattice-surface.c) ---- */

/* Material is what the closed outward surface encloses; what it touches itself in is refused.  All
 * decisions are certain: where one is not, the lattice moves a little, the same way every time.
 * @verts: every vertex of the surface tied to the element behind it.  PLA_ERR_GEOMETRY when the
 * surface is open, inside out or passes through itself. */
PlaStatus pla_lattice_from_surface(const PlaTriMesh *mesh, double cell, PlaProgress *progress,
                                   PlaLatticeEmbedding **out, PlaEmbedding *verts, PlaError *err);

/* ---- for sources and cutters (lattice-embed.c) ---- */

/* Two pieces that are one across a face of their tets, which may be of different levels. */
typedef struct {
  int piece[2];
} PlaLatticeJoint;

/* From the number of pieces in each tet: first_elem, elem_tet and n_elems; fill and region, zeroed,
 * where they are not there yet. */
PlaStatus pla_lattice_number_elems(PlaLatticeEmbedding *self, const int *count, PlaError *err);
/* Adds a joint unless it is among those since @before (bytes); false when memory is short. */
bool pla_lattice_add_joint(PlaBytes *joints, size_t before, const PlaLatticeJoint *joint);

/* A lattice around the box lo..hi (m), whose smallest elements come from cubes of side @cell and
 * can be divided @detail times more.  Cubes of level 0 are counted from the origin of space.
 * PLA_ERR_USAGE when it would be too fine to count. */
PlaStatus pla_lattice_frame_init(PlaLatticeFrame *frame, const double lo[3], const double hi[3],
                                 double cell, int coarsen, int detail, PlaError *err);

/* Numbers nodes: piece p, of lattice tet piece_tet[p], gets four nodes of its own; a joint unites
 * those at the same places and ties those in between.  Needs frame, tet and elem_tet (the pieces);
 * fills vert, pos, n_verts, n_free and the bindings. */
PlaStatus pla_lattice_assemble(PlaLatticeEmbedding *self, const PlaLatticeJoint *joint,
                               size_t n_joints, PlaError *err);

/* Finds the joints of tets @a and @b, which share the face (or a part of it) opposite to corner
 * @corner of @a, and appends them; any thread.  false when memory is short. */
typedef bool (*PlaLatticeJoinFunc)(int a, int corner, int b, const void *data, PlaBytes *joints);
/* Asks @join about all pairs of neighbours, in parallel, and assembles what it finds. */
PlaStatus pla_lattice_join(PlaLatticeEmbedding *self, PlaLatticeJoinFunc join, const void *data,
                           PlaError *err);

/* Calls @visit for each pair of tets that share (a part of) a face: @b is the tet opposite to
 * corner @corner of @a, of the same or a coarser level. */
typedef bool (*PlaLatticePairFunc)(int a, int corner, int b, void *data); /* false: stop */
void pla_lattice_foreach_pair(const PlaLatticeEmbedding *self, int begin, int end,
                              PlaLatticePairFunc visit, void *data);
