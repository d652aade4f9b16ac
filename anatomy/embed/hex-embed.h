/* Hexahedra that embed a closed surface which may run through itself.
 *
 * Where parts of the body overlap (lips pushed through each other, a registered tongue inside a
 * palate) a voxel fill would glue them.  Here a cell of the grid appears once for each part that
 * lies in it, with vertices of its own, as if the surface had been untangled, filled with cells
 * and pushed back.  The number of hexes in every cell that the surface does not cross equals the
 * winding number of the surface there; this is checked on every result.
 *
 * All cells are cubes of one grid.  The result depends neither on the order of the triangles nor
 * on the number of threads. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"

#include <stdint.h>

typedef struct {
  double cell_m; /* edge of a cell; 0 is no default: it must be set */
  int coarsen;   /* how often cells are joined two by two along each axis afterwards */
  bool accept;   /* also hand out what the refusals below refuse, with the violations counted */
  const double *node_m; /* a point that is to be a grid node, so that several meshes have one grid;
                           NULL: the grid keeps off the surface's own planes */
} PlaHexEmbedOptions;
PlaHexEmbedOptions pla_hex_embed_options_default(void);

/* Cell (i, j, k) spans origin + cell (i, j, k) to origin + cell (i + 1, j + 1, k + 1). */
#define PLA_HEX_CELL_BITS 21
static inline uint64_t
pla_hex_cell_key(int i, int j, int k)
{
  return (uint64_t)i | (uint64_t)j << PLA_HEX_CELL_BITS | (uint64_t)k << (2 * PLA_HEX_CELL_BITS);
}

/* component @d of a key */
static inline int
pla_hex_cell_index(uint64_t key, int d)
{
  return (int)(key >> (d * PLA_HEX_CELL_BITS) & ((1u << PLA_HEX_CELL_BITS) - 1));
}

typedef struct {
  PlaMesh *mesh;  /* hexes, by rising cell key; owned */
  uint64_t *cell; /* key of each hex's cell (n_hexes); owned */
  double origin_m[3], cell_m;
  int dims[3];          /* cells of the grid */
  PlaEmbedding surface; /* the surface's vertices in the hexes; owned */
} PlaHexEmbed;

typedef struct {
  int crossed_cells;      /* cells that the surface meets */
  int regions;            /* pieces of space between sheets of the surface, the outside included */
  int components;         /* pieces of the mesh connected through vertices */
  int duplicated_cells;   /* cells with more than one hex */
  int winding_violations; /* uncrossed cells whose number of hexes is not the winding number */
  int joined_copies;      /* copies of a region that proved to be the same */
  int repaired_copies;    /* copies added where a body lies wholly inside another */
  int unresolved_nodes;   /* grid nodes, in no uncrossed cell, whose number of copies is wrong */
  int euler;              /* of the mesh; half that of the surface, for a body without faults */
  int surface_euler;
  int thin_cells; /* cells whose sheet has a body behind it, but no grid node inside */
} PlaHexEmbedReport;

/* Embeds @surface: closed, every edge in exactly two triangles that run along it oppositely, any
 * number of components; cavities are components that face inwards.  PLA_ERR_GEOMETRY, with the
 * place in mm, for a surface that is open, thinner than a cell over more than a fiftieth of it,
 * inside out, or folded so that the fold would have to be turned inside out to be undone. @progress
 * and @report may be NULL. Release with pla_hex_embed_clear(). */
PlaStatus pla_hex_embed(const PlaTriMesh *surface, const PlaHexEmbedOptions *opts,
                        PlaProgress *progress, PlaHexEmbed *out, PlaHexEmbedReport *report,
                        PlaError *err);
/* Pockets and bridges that the mesh has (before coarsening) and the surface has not: at least so
 * many. */
int pla_hex_topology_defects(const PlaHexEmbedReport *report);
void pla_hex_embed_clear(PlaHexEmbed *self); /* zeroed is fine */

/* Cells of twice the size: hexes join where the fine ones were joined through faces, so parts that
 * were separate stay separate. */
PlaStatus pla_hex_embed_coarsen(const PlaHexEmbed *fine, PlaProgress *progress, PlaHexEmbed *out,
                                PlaError *err);

/* Adds the cell field PLA_MESH_FILL: the share of each hex that lies in @body, the surface that was
 * embedded.  Copies of one cell share what lies there equally. */
PlaStatus pla_hex_embed_fill(PlaHexEmbed *self, const PlaTriMesh *body, PlaError *err);

/* Tets around the centres of the hexes: four for each face between two hexes, four smaller ones
 * for each outer face.  They are as full as the hexes in which they lie.  @surface (may be NULL;
 * clear it) receives the surface's vertices in them.
 */
PlaStatus pla_hex_embed_tets(const PlaHexEmbed *hexes, PlaProgress *progress, PlaMesh **out,
                             PlaEmbedding *surface, PlaError *err);

/* Ties @n points (m) near @body, the surface that was embedded, to the hexes: to the hex in the
 * point's cell that hangs together with that of the nearest triangle, or else to the latter's,
 * beyond its faces.  So in an overlap a point goes with the nearer sheet.  @out is initialised
 * here. */
PlaStatus pla_hex_embed_points(const PlaHexEmbed *self, const PlaTriMesh *body, int n,
                               const double *pos, PlaEmbedding *out, PlaError *err);

/* One mesh of @elements (hexes or tets) and of @surface, whose vertices follow theirs by @points
 * (PLA_MESH_BOUND_VERTS); cell fields of both are kept. */
PlaStatus pla_hex_carry_surface(const PlaMesh *elements, const PlaMesh *surface,
                                const PlaEmbedding *points, PlaMesh **out, PlaError *err);

/* Cell field, int32: which connected piece of the mesh a hex or tet belongs to, from 0. */
#define PLA_HEX_COMPONENT "component"
/* Adds that field to @mesh and returns the number of pieces, -1 when memory is short. */
int pla_hex_label_components(PlaMesh *mesh);

/* Cells that hold more than one hex. */
int pla_hex_count_duplicated(const PlaHexEmbed *self);
