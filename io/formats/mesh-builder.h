/* Cells of any kind in, a mesh of triangles, tets and hexes out.
 *
 * What every mesh reader does: metres from the file's unit, quads and polygons cut into triangles,
 * voxels and reversed hexes put into order, points and lines left out, second-order cells made
 * linear, and the fields kept in step with all that.  Each change becomes a note. */
#pragma once

#include "io/formats/format.h"

#include "anatomy/base/memory.h"

/* The numbers that VTK files use, the common language of mesh formats. */
typedef enum {
  PLA_CELL_EMPTY = 0,
  PLA_CELL_VERTEX = 1,
  PLA_CELL_POLY_VERTEX = 2,
  PLA_CELL_LINE = 3,
  PLA_CELL_POLY_LINE = 4,
  PLA_CELL_TRIANGLE = 5,
  PLA_CELL_STRIP = 6,
  PLA_CELL_POLYGON = 7,
  PLA_CELL_PIXEL = 8,
  PLA_CELL_QUAD = 9,
  PLA_CELL_TET = 10,
  PLA_CELL_VOXEL = 11,
  PLA_CELL_HEX = 12,
  PLA_CELL_WEDGE = 13,
  PLA_CELL_PYRAMID = 14,
  PLA_CELL_LINE_2 = 21, /* second order from here: corners first */
  PLA_CELL_TRIANGLE_2 = 22,
  PLA_CELL_QUAD_2 = 23,
  PLA_CELL_TET_2 = 24,
  PLA_CELL_HEX_2 = 25,
  PLA_CELL_WEDGE_2 = 26,
  PLA_CELL_PYRAMID_2 = 27,
  PLA_CELL_QUAD_9 = 28,
  PLA_CELL_HEX_27 = 29,
  PLA_CELL_TRIANGLE_7 = 34,
} PlaCellType;

/* A field as it stands in the file: one tuple per vertex or per cell offered. */
typedef struct {
  char *name;
  PlaFieldPlace place;
  PlaDType dtype;
  int n_components;
  void *data;
} PlaPendingField;

typedef struct {
  const char *path;    /* borrowed, for sentences */
  double unit_divisor; /* file coordinates / this = m */
  bool single;         /* the file's coordinates have 32 bits */
  PlaBytes pos;        /* m: double x 3 a vertex */
  PlaBytes cells[3];   /* int x 3, 4, 8: triangles, tets, hexes */
  PlaBytes source[3];  /* int: the cell of the file that each came from */
  uint64_t n_cells;    /* offered so far */
  int n_fields;
  PlaPendingField *field;
  uint64_t n_points_skipped, n_lines_skipped, n_polygons_split, n_linearised, n_voxels;
  PlaNotes notes; /* moved into the item at the end */
} PlaMeshBuilder;

void pla_mesh_builder_init(PlaMeshBuilder *self, const char *path, const PlaReadOptions *opts);
void pla_mesh_builder_clear(PlaMeshBuilder *self);

uint64_t pla_mesh_builder_n_verts(const PlaMeshBuilder *self);
/* Appends @n vertices in the file's unit: three numbers each, of any type. */
PlaStatus pla_mesh_builder_verts(PlaMeshBuilder *self, PlaDType dtype, const void *xyz, size_t n,
                                 PlaError *err);
/* Appends one cell with its @n vertices (0-based).  PLA_ERR_UNSUPPORTED or _FORMAT with a sentence
 * that names the cell by its number. */
PlaStatus pla_mesh_builder_cell(PlaMeshBuilder *self, int type, const int64_t *vert, size_t n,
                                PlaError *err);
/* Takes @data (freed on failure too): one tuple per vertex, or per cell offered, in order.  A name
 * that is taken gets a number. */
PlaStatus pla_mesh_builder_take_field(PlaMeshBuilder *self, const char *name, PlaFieldPlace place,
                                      PlaDType dtype, int n_components, void *data, PlaError *err);

/* Makes the mesh and its notes in @out; the builder is empty afterwards, whatever happens. */
PlaStatus pla_mesh_builder_finish(PlaMeshBuilder *self, PlaItem *out, PlaError *err);
