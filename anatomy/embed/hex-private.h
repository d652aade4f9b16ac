/* Inside of the hexahedral embedding: its tables, stage by stage.
 *
 * Rows of cells and of grid nodes along x are called lines and numbered j + lines_y k alike.  Cells
 * that the surface meets are "crossed".  In a crossed cell
 *   - a "sheet" is a connected part of the surface within the cell; it owns a hex there, with
 *     "sheet vertices" at its corners;
 *   - a "piece" is a set of corners of one region that hang together near the cell; it owns a hex
 *     in every copy of its region.
 * Corner q of a cell has the offset (q & 1, q >> 1 & 1, q >> 2 & 1). */
#pragma once

#include "anatomy/embed/hex-embed.h"

#include <stdbool.h>
#include <stddef.h>

#define PLA_HEX_NONE UINT32_MAX

/* our corner order to that of meshes and files */
static const int pla_hex_vtk_corner[8] = { 0, 1, 3, 2, 4, 5, 7, 6 };

/* trilinear weights of the point @t, in [0, 1]^3 of its cell, in the order of meshes */
static inline void
pla_hex_weights(const double t[3], double weight[8])
{
  for (int q = 0; q < 8; q++) {
    double x = 1.0;
    for (int d = 0; d < 3; d++)
      x *= q >> d & 1 ? t[d] : 1.0 - t[d];
    weight[pla_hex_vtk_corner[q]] = x;
  }
}

/* and back */
static inline void
pla_hex_local(const double weight[8], double t[3])
{
  for (int d = 0; d < 3; d++) {
    t[d] = 0.0;
    for (int q = 0; q < 8; q++)
      if (q >> d & 1)
        t[d] += weight[pla_hex_vtk_corner[q]];
  }
}

/* The cells of a finished mesh, by rising key, and their neighbours. */
typedef struct {
  int n;
  int *first;   /* hex of each cell (n + 1) */
  int *next[3]; /* the cell one step along x, y, z; -1: it has no hexes */
  int *of_hex;  /* cell of each hex */
} PlaHexCells;
PlaStatus pla_hex_cells_init(PlaHexCells *self, const PlaHexEmbed *mesh, PlaError *err);
void pla_hex_cells_clear(PlaHexCells *self);
/* Do hexes @a (its face towards +@d) and @b (its face towards -@d) have that face in common? */
bool pla_hex_share_face(const PlaMesh *mesh, int a, int b, int d);
/* Do two hexes of one cell have the face towards +@d (@side 1) or -@d (0) in common? */
bool pla_hex_share_side(const PlaMesh *mesh, int a, int b, int d, int side);

/* Variable-length results of a parallel loop over blocks of items, concatenated in order. */
typedef struct {
  void *data;
  size_t n, room, size; /* elements */
  bool failed;
} PlaHexList;
void *pla_hex_list_add(PlaHexList *self); /* room for one more; never NULL: a dud on failure */
/* One array of all lists' elements, which are freed; NULL (and *n kept) when memory is short. */
void *pla_hex_lists_join(PlaHexList *lists, size_t n_lists, size_t *n);

/* one triangle in one cell; corners and cut edges are those of the cell */
typedef struct {
  uint32_t line, i;
  uint32_t tri;
  uint8_t pos, neg; /* corners on the outer and inner side of the triangle's plane */
  uint16_t cut;     /* edges that meet the triangle, and the two flags below */
} PlaHexPair;

enum {
  /* edges along x at (y, z) = (0, 0), (1, 0), (0, 1), (1, 1), then along y at (x, z), z at (x, y)
   */
  PLA_HEX_CUT_ALL = 0xfff,
  PLA_HEX_STEP = 0x1000, /* the first x edge passes through the triangle (half-open rule) */
  PLA_HEX_EXIT = 0x2000, /* ... from inside to outside as x grows */
};

enum { PLA_HEX_TURNED = 2 };

typedef struct {
  uint32_t a, b; /* numbers of sheets within their cells */
} PlaHexLink;

#define PLA_HEX_SHEET 0x80000000u /* marks the number of a sheet among those of pieces */

typedef struct {
  uint32_t copy[2]; /* which two copies overlap */
  uint32_t hex[2];  /* piece, or sheet with PLA_HEX_SHEET, in each */
} PlaHexOverlap;

typedef struct {
  /* surface, triangles in an order that does not depend on the input's */
  const PlaTriMesh *surface;
  int n_tris;
  int *tri;               /* (n_tris x 3), lowest vertex first */
  int *ring_start, *ring; /* triangles around each vertex */
  int n_shells;
  int *shell;            /* connected component of each triangle */
  int8_t *shell_outward; /* +1, or -1 for the wall of a cavity */

  /* grid */
  int attempt; /* which place of the grid this is, from 0 */
  double origin[3], h;
  int n[3];         /* cells */
  double *coord[3]; /* of nodes (n + 1) */
  int lines_y;
  size_t n_lines;

  /* crossed cells, by line, then i */
  uint32_t n_pairs, n_cells;
  PlaHexPair *pair;     /* by cell, then triangle */
  uint32_t *pair_sheet; /* of each pair */
  uint32_t *line_cell;  /* first cell of each line (n_lines + 1) */
  uint32_t *cell_i, *cell_line;
  uint32_t *cell_pair; /* first pair (n_cells + 1) */
  uint16_t *cell_cut;

  /* sheets, by cell */
  uint32_t n_sheets;
  uint32_t *cell_sheet; /* first sheet (n_cells + 1) */
  uint32_t *sheet_cell;
  uint8_t *sheet_pos, *sheet_neg; /* corners, over all its triangles */
  uint32_t *sheet_vert;           /* sheet vertex at each corner (n_sheets x 8) */
  uint32_t *link_start[3];        /* first link to the next cell along x, y, z (n_cells + 1) */
  PlaHexLink *link[3];

  /* runs of nodes along x without a cut edge between them, and regions of connected runs */
  uint32_t n_runs, n_regions;
  uint32_t *line_run; /* first run of each line (n_lines + 1) */
  uint32_t *run_from; /* first node */
  uint32_t *run_region;
  int *region_winding;

  /* corners of crossed cells, by line, then i */
  uint32_t n_nodes;
  uint32_t *line_node; /* (n_lines + 1) */
  uint32_t *node_i, *node_line, *node_run;
  uint32_t *node_vert; /* first sheet vertex (n_nodes + 1) */
  uint32_t *cell_node; /* (n_cells x 8) */

  /* sheet vertices, by node */
  uint32_t n_verts;
  uint32_t *vert_node;
  int8_t *vert_sign;    /* -1 inside, +1 outside, PLA_HEX_TURNED outside though behind its sheet */
  uint8_t *vert_mixed;  /* its triangles disagree on which side it lies */
  uint32_t *vert_shell; /* component of the surface */
  uint32_t *vert_copy;  /* of the region of its node, for negative ones; else PLA_HEX_NONE */

  /* pieces, by cell; only of regions with a positive winding number */
  uint32_t n_pieces;
  uint32_t *cell_piece; /* (n_cells + 1) */
  uint32_t *piece_cell;
  uint32_t *piece_region; /* PLA_HEX_NONE: the same hex as an earlier piece of the cell */
  uint32_t *piece_ref;    /* (n_pieces x 8): PLA_HEX_NONE for the node's own vertex, or a spare */
  uint32_t n_spares;      /* vertices at a node that belong to a distant part of a region */
  uint32_t *spare_node, *spare_region;

  /* copies of regions; numbers of a region's copies are consecutive */
  uint32_t *region_copy; /* first copy (n_regions + 1) */
  uint32_t n_copies;

  /* the pool of vertices of all copies and sheets */
  uint32_t
      *run_base; /* node i of run r in copy c of its region: run_base + c length + i - run_from */
  uint32_t *node_base, *node_stride; /* the same of nodes: node_base + c node_stride */
  uint32_t *spare_base;              /* + c */
  uint32_t vert_base;                /* + sheet vertex */
  uint32_t n_pool;
  uint32_t *vert_id;    /* pool number of each sheet vertex */
  uint32_t *piece_inst; /* first of a piece's copies (n_pieces + 1) */
  uint8_t *inst_gone;   /* replaced by a sheet's hex */

  /* hexes of two copies that are the same */
  PlaHexList overlaps; /* of PlaHexOverlap */

  PlaHexEmbedReport report;
} PlaHexWork;

/* in hex-cells.c: checks the surface, lays the grid, finds crossed cells */
PlaStatus pla_hex_prepare(PlaHexWork *w, const PlaHexEmbedOptions *opts, PlaError *err);
PlaStatus pla_hex_find_cells(PlaHexWork *w, PlaProgress *progress, PlaError *err);
/* the crossed cell (line, i), or PLA_HEX_NONE */
uint32_t pla_hex_cell_at(const PlaHexWork *w, uint32_t line, uint32_t i);

/* does the edge between surface vertices @a and @b meet the closed cell? */
bool pla_hex_edge_meets(const PlaHexWork *w, int a, int b, uint32_t line, uint32_t i);

/* in hex-sheets.c: sheets and links; afterwards, with runs and nodes known, sheet vertices */
PlaStatus pla_hex_find_sheets(PlaHexWork *w, PlaError *err);
PlaStatus pla_hex_find_verts(PlaHexWork *w, PlaProgress *progress, PlaError *err);
/* the crossed cells around a node: cell o has the offset of corner o, and the node is its corner
 * 7 - o */
void pla_hex_cells_around(const PlaHexWork *w, uint32_t line, uint32_t i, uint32_t cell[8]);
/* -1 inside or +1 outside of the patch @tri with the triangles around its point nearest to @p */
int pla_hex_side_of_patch(const PlaHexWork *w, const double p[3], const uint32_t *tri, size_t n);
/* in hex-ends.c: inner vertices beyond the end of their own part, inside another one, become
 * PLA_HEX_TURNED */
void pla_hex_turn_ends(PlaHexWork *w);
/* in hex-rims.c: sheet vertices around the rim of a slit whose sides overlap become inner ones */
PlaStatus pla_hex_turn_rims(PlaHexWork *w, PlaError *err);
/* in regions that lack copies, inner vertices where the sides of a slit meet become outer ones */
PlaStatus pla_hex_turn_forks(PlaHexWork *w, uint32_t *turned, PlaError *err);

/* in hex-regions.c */
PlaStatus pla_hex_find_regions(PlaHexWork *w, PlaError *err);
PlaStatus pla_hex_find_pieces(PlaHexWork *w, PlaError *err);
/* corners of a cell that uncut edges of its own connect: masks of corners, and how many */
int pla_hex_cell_parts(uint16_t cut, uint8_t part[8]);
/* turns inner sheet vertices where the winding number says outside, and counts the cells with a
 * sheet that this leaves without an inner vertex; *cell is the first */
void pla_hex_find_thin(PlaHexWork *w, uint32_t *cell);

/* in hex-embed.c */
void pla_hex_work_clear(PlaHexWork *w);

/* in hex-sew.c; may be done again after signs of vertices have changed */
PlaStatus pla_hex_sew(PlaHexWork *w, PlaProgress *progress, PlaError *err);
/* copies that a region lacks by its winding number */
uint32_t pla_hex_missing(const PlaHexWork *w, uint32_t region);

/* in hex-check.c: what the finished mesh is held against */
typedef struct {
  int64_t cells;    /* with a number of hexes that is not the winding number */
  double centre[3]; /* of the first, m */
  int hexes, winding;
} PlaHexViolations;
PlaStatus pla_hex_check(PlaHexWork *w, const PlaHexEmbed *mesh, PlaHexViolations *v, PlaError *err);
PlaStatus pla_hex_refuse_thin(const PlaHexWork *w, uint32_t cell, PlaError *err);
PlaStatus pla_hex_refuse_inside_out(const PlaHexWork *w, PlaError *err);
PlaStatus pla_hex_refuse_violations(const PlaHexWork *w, const PlaHexViolations *v, PlaError *err);

/* run of node (line, i) */
static inline uint32_t
pla_hex_run_at(const PlaHexWork *w, uint32_t line, uint32_t i)
{
  uint32_t lo = w->line_run[line], hi = w->line_run[line + 1];
  while (hi - lo > 1) {
    const uint32_t mid = lo + (hi - lo) / 2;
    if (w->run_from[mid] <= i)
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

/* nodes in run @r of line @line */
static inline uint32_t
pla_hex_run_length(const PlaHexWork *w, uint32_t line, uint32_t r)
{
  const uint32_t end = r + 1 < w->line_run[line + 1] ? w->run_from[r + 1] : (uint32_t)w->n[0] + 1;
  return end - w->run_from[r];
}

static inline uint32_t
pla_hex_node_region(const PlaHexWork *w, uint32_t node)
{
  return w->run_region[w->node_run[node]];
}

static inline void
pla_hex_node_pos(const PlaHexWork *w, uint32_t line, uint32_t i, double pos[3])
{
  pos[0] = w->coord[0][i];
  pos[1] = w->coord[1][line % (uint32_t)w->lines_y];
  pos[2] = w->coord[2][line / (uint32_t)w->lines_y];
}

/* step from a line to that of corner q, or to the next cell along axis d */
static inline uint32_t
pla_hex_corner_line(const PlaHexWork *w, uint32_t line, int q)
{
  return line + (uint32_t)(q >> 1 & 1) + (uint32_t)(q >> 2 & 1) * (uint32_t)w->lines_y;
}

/* the node's own vertex in copy @c of its region, from 0 */
static inline uint32_t
pla_hex_node_id(const PlaHexWork *w, uint32_t node, uint32_t c)
{
  return w->node_base[node] + c * w->node_stride[node];
}

static inline uint32_t
pla_hex_piece_id(const PlaHexWork *w, uint32_t piece, int q, uint32_t c)
{
  const uint32_t ref = w->piece_ref[8 * (size_t)piece + q];
  return ref == PLA_HEX_NONE
             ? pla_hex_node_id(w, w->cell_node[8 * (size_t)w->piece_cell[piece] + q], c)
             : w->spare_base[ref] + c;
}

static inline uint32_t
pla_hex_sheet_id(const PlaHexWork *w, uint32_t sheet, int q)
{
  return w->vert_id[w->sheet_vert[8 * (size_t)sheet + q]];
}

static inline bool
pla_hex_sheet_touches(const PlaHexWork *w, uint32_t sheet, uint32_t copy)
{
  for (int q = 0; q < 8; q++)
    if (w->vert_copy[w->sheet_vert[8 * (size_t)sheet + q]] == copy)
      return true;
  return false;
}

/* Stretches of uncrossed cells of a line: from .. to - 1, then the crossed cell at `to` (`cell`, or
 * PLA_HEX_NONE at the end). */
typedef struct {
  uint32_t from, to, cell, next;
} PlaHexStretch;

static inline PlaHexStretch
pla_hex_stretch_init(const PlaHexWork *w, size_t line)
{
  return (PlaHexStretch){ .to = 0, .cell = PLA_HEX_NONE, .next = w->line_cell[line] };
}

static inline bool
pla_hex_stretch_next(const PlaHexWork *w, size_t line, PlaHexStretch *s)
{
  if (s->next > w->line_cell[line + 1])
    return false;
  s->from = s->cell == PLA_HEX_NONE ? 0 : s->to + 1;
  if (s->next == w->line_cell[line + 1]) {
    s->cell = PLA_HEX_NONE;
    s->to = (uint32_t)w->n[0];
  } else {
    s->cell = s->next;
    s->to = w->cell_i[s->cell];
  }
  s->next++;
  return true;
}

static inline bool
pla_hex_line_has_cells(const PlaHexWork *w, size_t line)
{
  return line % (size_t)w->lines_y + 1 < (size_t)w->lines_y &&
         line + (size_t)w->lines_y < w->n_lines;
}

/* copies of the region of run @run */
static inline uint32_t
pla_hex_copies_at(const PlaHexWork *w, uint32_t run)
{
  const uint32_t region = w->run_region[run];
  return w->region_copy[region + 1] - w->region_copy[region];
}
