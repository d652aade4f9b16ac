/* Cells in, a mesh out. */
#include "io/formats/mesh-builder.h"

#include "io/stream/source.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { TRI = 0, TET, HEX };
static const int corners[3] = { 3, 4, 8 };

void
pla_mesh_builder_init(PlaMeshBuilder *self, const char *path, const PlaReadOptions *opts)
{
  *self = (PlaMeshBuilder){ .path = path, .unit_divisor = 1000.0 };
  if (opts && opts->unit_mm > 0.0)
    self->unit_divisor = 1000.0 / opts->unit_mm;
}

void
pla_mesh_builder_clear(PlaMeshBuilder *self)
{
  pla_bytes_clear(&self->pos);
  for (int k = 0; k < 3; k++) {
    pla_bytes_clear(&self->cells[k]);
    pla_bytes_clear(&self->source[k]);
  }
  for (int f = 0; f < self->n_fields; f++) {
    free(self->field[f].name);
    free(self->field[f].data);
  }
  free(self->field);
  pla_notes_clear(&self->notes);
  *self = (PlaMeshBuilder){ .path = self->path, .unit_divisor = self->unit_divisor };
}

uint64_t
pla_mesh_builder_n_verts(const PlaMeshBuilder *self)
{
  return self->pos.size / (3 * sizeof(double));
}

PlaStatus
pla_mesh_builder_verts(PlaMeshBuilder *self, PlaDType dtype, const void *xyz, size_t n,
                       PlaError *err)
{
  double piece[3 * 512];
  size_t n_values = 3 * n;
  for (size_t done = 0; done < n_values;) {
    size_t count = n_values - done < 3 * 512 ? n_values - done : 3 * 512;
    /* division, not multiplication by 0.001: the way back is then within an ulp */
    if (dtype == PLA_F64)
      for (size_t i = 0; i < count; i++)
        piece[i] = ((const double *)xyz)[done + i] / self->unit_divisor;
    else if (dtype == PLA_F32)
      for (size_t i = 0; i < count; i++)
        piece[i] = (double)((const float *)xyz)[done + i] / self->unit_divisor;
    else
      for (size_t i = 0; i < count; i++)
        piece[i] = pla_dtype_get(dtype, xyz, done + i) / self->unit_divisor;
    if (!pla_bytes_append(&self->pos, piece, count * sizeof *piece))
      return pla_fail_memory(err, self->path);
    done += count;
  }
  return PLA_OK;
}

/* what the cell type is called, for sentences */
static const char *
cell_name(int type)
{
  switch (type) {
  case PLA_CELL_WEDGE:
  case PLA_CELL_WEDGE_2:
    return "a wedge (prism)";
  case PLA_CELL_PYRAMID:
  case PLA_CELL_PYRAMID_2:
    return "a pyramid";
  case 15:
    return "a pentagonal prism";
  case 16:
    return "a hexagonal prism";
  case 41:
    return "a convex point set";
  case 42:
    return "a polyhedron";
  case PLA_CELL_TRIANGLE:
    return "a triangle";
  case PLA_CELL_TRIANGLE_2:
  case PLA_CELL_TRIANGLE_7:
    return "a second-order triangle";
  case PLA_CELL_QUAD:
  case PLA_CELL_PIXEL:
    return "a quadrilateral";
  case PLA_CELL_QUAD_2:
  case PLA_CELL_QUAD_9:
    return "a second-order quadrilateral";
  case PLA_CELL_TET:
    return "a tetrahedron";
  case PLA_CELL_TET_2:
    return "a second-order tetrahedron";
  case PLA_CELL_HEX:
    return "a hexahedron";
  case PLA_CELL_HEX_2:
  case PLA_CELL_HEX_27:
    return "a second-order hexahedron";
  case PLA_CELL_VOXEL:
    return "a voxel";
  case PLA_CELL_POLYGON:
    return "a polygon";
  case PLA_CELL_STRIP:
    return "a strip of triangles";
  default:
    return NULL;
  }
}

static PlaStatus
fail_cell(const PlaMeshBuilder *self, int type, size_t n, PlaError *err)
{
  const char *name = cell_name(type);
  unsigned long long cell = self->n_cells;
  bool known = type <= PLA_CELL_HEX || (type >= PLA_CELL_TRIANGLE_2 && type <= PLA_CELL_HEX_2) ||
               type == PLA_CELL_QUAD_9 || type == PLA_CELL_HEX_27 || type == PLA_CELL_TRIANGLE_7;
  if (name && known)
    return pla_fail(err, PLA_ERR_FORMAT, "%s: cell %llu is %s with %zu vertices; correct the file",
                    self->path, cell, name, n);
  if (name)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s: cell %llu is %s, which Platysma does not read; mesh the shape with "
                    "triangles, tetrahedra or hexahedra",
                    self->path, cell, name);
  return pla_fail(err, PLA_ERR_UNSUPPORTED,
                  "%s: cell %llu is of type %d, which Platysma does not read; mesh the shape with "
                  "triangles, tetrahedra or hexahedra",
                  self->path, cell, type);
}

/* appends one triangle, tet or hex made from the vertices @vert[order[...]] of the current cell */
static bool
push(PlaMeshBuilder *self, int kind, const int64_t *vert, const int *order)
{
  int cell[8];
  for (int i = 0; i < corners[kind]; i++)
    cell[i] = (int)vert[order ? order[i] : i];
  int source = (int)self->n_cells;
  return pla_bytes_append(&self->cells[kind], cell, (size_t)corners[kind] * sizeof *cell) &&
         pla_bytes_append(&self->source[kind], &source, sizeof source);
}

/* a polygon as a fan about its first vertex */
static bool
push_fan(PlaMeshBuilder *self, const int64_t *vert, size_t n)
{
  bool ok = true;
  for (size_t i = 2; i < n && ok; i++)
    ok = push(self, TRI, (const int64_t[]){ vert[0], vert[i - 1], vert[i] }, NULL);
  self->n_polygons_split += n > 3;
  return ok;
}

PlaStatus
pla_mesh_builder_cell(PlaMeshBuilder *self, int type, const int64_t *vert, size_t n, PlaError *err)
{
  if (self->n_cells >= INT_MAX)
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s holds more than %d cells; cut it into parts",
                    self->path, INT_MAX);
  for (size_t i = 0; i < n; i++)
    if (vert[i] < 0 || vert[i] > INT_MAX)
      return pla_fail(err, PLA_ERR_FORMAT, "%s: cell %llu names vertex %lld, which is impossible",
                      self->path, (unsigned long long)self->n_cells, (long long)vert[i]);

  static const int pixel_order[] = { 0, 1, 3, 2 };
  static const int voxel_order[] = { 0, 1, 3, 2, 4, 5, 7, 6 };
  bool ok = true, valid = true;
  switch (type) {
  case PLA_CELL_TRIANGLE:
    valid = n == 3;
    ok = !valid || push(self, TRI, vert, NULL);
    break;
  case PLA_CELL_TET:
    valid = n == 4;
    ok = !valid || push(self, TET, vert, NULL);
    break;
  case PLA_CELL_HEX:
    valid = n == 8;
    ok = !valid || push(self, HEX, vert, NULL);
    break;
  case PLA_CELL_QUAD:
    valid = n == 4;
    ok = !valid || push_fan(self, vert, 4);
    break;
  case PLA_CELL_PIXEL: {
    valid = n == 4;
    int64_t quad[4];
    for (int i = 0; i < 4 && valid; i++)
      quad[i] = vert[pixel_order[i]];
    ok = !valid || push_fan(self, quad, 4);
    break;
  }
  case PLA_CELL_POLYGON:
    valid = n >= 3;
    ok = !valid || push_fan(self, vert, n);
    break;
  case PLA_CELL_VOXEL:
    valid = n == 8;
    self->n_voxels++;
    ok = !valid || push(self, HEX, vert, voxel_order);
    break;
  case PLA_CELL_STRIP:
    valid = n >= 3;
    for (size_t i = 2; i < n && ok; i++) { /* every second triangle is turned */
      bool turned = i % 2 == 1;
      ok =
          push(self, TRI,
               (const int64_t[]){ vert[i - 2], vert[turned ? i : i - 1], vert[turned ? i - 1 : i] },
               NULL);
    }
    self->n_polygons_split += n > 3;
    break;
  case PLA_CELL_EMPTY:
    break;
  case PLA_CELL_VERTEX:
  case PLA_CELL_POLY_VERTEX:
    self->n_points_skipped++;
    break;
  case PLA_CELL_LINE:
  case PLA_CELL_POLY_LINE:
  case PLA_CELL_LINE_2:
    self->n_lines_skipped++;
    break;
  case PLA_CELL_TRIANGLE_2:
  case PLA_CELL_TRIANGLE_7:
    valid = n >= 6;
    self->n_linearised++;
    ok = !valid || push(self, TRI, vert, NULL);
    break;
  case PLA_CELL_QUAD_2:
  case PLA_CELL_QUAD_9:
    valid = n >= 8;
    self->n_linearised++;
    ok = !valid || push_fan(self, vert, 4);
    break;
  case PLA_CELL_TET_2:
    valid = n >= 10;
    self->n_linearised++;
    ok = !valid || push(self, TET, vert, NULL);
    break;
  case PLA_CELL_HEX_2:
  case PLA_CELL_HEX_27:
    valid = n >= 20;
    self->n_linearised++;
    ok = !valid || push(self, HEX, vert, NULL);
    break;
  default:
    valid = false;
  }
  if (!valid)
    return fail_cell(self, type, n, err);
  if (!ok)
    return pla_fail_memory(err, self->path);
  self->n_cells++;
  return PLA_OK;
}

static bool
name_is_taken(const PlaMeshBuilder *self, const char *name, PlaFieldPlace place)
{
  for (int f = 0; f < self->n_fields; f++)
    if (self->field[f].place == place && strcmp(self->field[f].name, name) == 0)
      return true;
  return false;
}

PlaStatus
pla_mesh_builder_take_field(PlaMeshBuilder *self, const char *name, PlaFieldPlace place,
                            PlaDType dtype, int n_components, void *data, PlaError *err)
{
  enum { MAX_FIELDS = 512 }; /* names are compared with each other */
  if (self->n_fields == MAX_FIELDS) {
    free(data);
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s holds more than %d fields; leave some out",
                    self->path, MAX_FIELDS);
  }
  name = name && *name ? name : "unnamed";
  const size_t len = strlen(name);
  /* names that are no UTF-8 are taken for Latin-1; all others stay byte for byte */
  char *own = pla_is_utf8(name, len) ? pla_strdup(name) : pla_name_dup(name, len);
  if (own && name_is_taken(self, own, place)) {
    char *numbered = NULL;
    for (int k = 2; k < MAX_FIELDS; k++) {
      free(numbered);
      numbered = pla_strdup_printf("%s (%d)", own, k);
      if (!numbered || !name_is_taken(self, numbered, place))
        break;
    }
    if (numbered)
      pla_notes_add(&self->notes, "a second field named %s is called %s here", own, numbered);
    free(own);
    own = numbered;
  }
  void *fields = self->field;
  if (!own || !data ||
      !pla_array_resize(&fields, (size_t)self->n_fields + 1, sizeof *self->field)) {
    free(own);
    free(data);
    return pla_fail_memory(err, self->path);
  }
  self->field = fields;
  self->field[self->n_fields++] = (PlaPendingField){ own, place, dtype, n_components, data };
  return PLA_OK;
}

/* hands the array over, cut to its size */
static void *
steal(PlaBytes *bytes)
{
  void *data = bytes->data;
  if (bytes->size < bytes->capacity || !data)
    pla_array_resize(&data, bytes->size, 1);
  *bytes = (PlaBytes){ 0 };
  return data;
}

/* one tuple for each cell of the mesh from one for each cell of the file */
static void *
gather_tuples(const PlaMeshBuilder *self, const PlaPendingField *field, const size_t n_cells[3])
{
  size_t tuple = (size_t)field->n_components * pla_dtype_size(field->dtype);
  uint8_t *out = pla_array_new(n_cells[0] + n_cells[1] + n_cells[2], tuple);
  uint8_t *to = out;
  for (int k = 0; k < 3 && out; k++) {
    const int *source = (const int *)self->source[k].data;
    for (size_t c = 0; c < n_cells[k]; c++, to += tuple)
      memcpy(to, (const uint8_t *)field->data + (size_t)source[c] * tuple, tuple);
  }
  return out;
}

/* whether the cells of the mesh are those of the file, in order */
static bool
cells_kept(const PlaMeshBuilder *self, const size_t n_cells[3])
{
  size_t next = 0;
  for (int k = 0; k < 3; k++) {
    const int *source = (const int *)self->source[k].data;
    for (size_t c = 0; c < n_cells[k]; c++)
      if ((size_t)source[c] != next++)
        return false;
  }
  return next == self->n_cells;
}

/* moves the fields to the mesh, in step with its cells */
static bool
move_fields(PlaMeshBuilder *self, const size_t n_cells[3], PlaMesh *mesh)
{
  bool kept = cells_kept(self, n_cells), ok = true;
  for (int f = 0; f < self->n_fields && ok; f++) {
    PlaPendingField *field = &self->field[f];
    if (field->place == PLA_ON_CELLS && !kept) {
      void *gathered = gather_tuples(self, field, n_cells);
      free(field->data);
      field->data = gathered;
    }
    ok = pla_mesh_take_field(mesh, field->name, field->place, field->dtype, field->n_components,
                             field->data);
    field->data = NULL;
  }
  return ok;
}

static void
add_notes(PlaMeshBuilder *self, PlaMesh *mesh)
{
  PlaNotes *notes = &self->notes;
  if (self->n_points_skipped)
    pla_notes_add(notes, "%llu point cells were left out; their vertices are kept",
                  (unsigned long long)self->n_points_skipped);
  if (self->n_lines_skipped)
    pla_notes_add(notes, "%llu lines were left out; their vertices are kept",
                  (unsigned long long)self->n_lines_skipped);
  if (self->n_polygons_split)
    pla_notes_add(notes, "%llu polygons were cut into triangles",
                  (unsigned long long)self->n_polygons_split);
  if (self->n_voxels)
    pla_notes_add(notes, "%llu voxels became hexahedra", (unsigned long long)self->n_voxels);
  if (self->n_linearised)
    pla_notes_add(notes,
                  "%llu second-order cells were made linear; their mid-side vertices are kept but "
                  "belong to no cell",
                  (unsigned long long)self->n_linearised);
  int repaired = pla_mesh_repair_hexes(mesh);
  if (repaired)
    pla_notes_add(notes, "%d hexahedra had their vertices in reversed order and were turned",
                  repaired);
  int inverted = pla_mesh_count_inverted(mesh);
  if (inverted)
    pla_notes_add(notes, "%d cells are inverted or flat and were kept as they are", inverted);
}

PlaStatus
pla_mesh_builder_finish(PlaMeshBuilder *self, PlaItem *out, PlaError *err)
{
  PlaMesh *mesh = NULL;
  PlaStatus st = PLA_OK;
  size_t n_cells[3], n_verts = (size_t)pla_mesh_builder_n_verts(self);
  for (int k = 0; k < 3; k++) {
    n_cells[k] = self->source[k].size / sizeof(int);
    if (n_cells[k] > INT_MAX || n_verts > INT_MAX)
      st = pla_fail(err, PLA_ERR_UNSUPPORTED, "%s holds more than %d vertices or cells; cut it",
                    self->path, INT_MAX);
  }
  if (st == PLA_OK)
    st = pla_mesh_new(0, 0, 0, 0, &mesh, err);
  if (st == PLA_OK) {
    free(mesh->pos);
    free(mesh->tri);
    free(mesh->tet);
    free(mesh->hex);
    mesh->pos = steal(&self->pos);
    mesh->tri = steal(&self->cells[TRI]);
    mesh->tet = steal(&self->cells[TET]);
    mesh->hex = steal(&self->cells[HEX]);
    mesh->n_verts = (int)n_verts;
    mesh->n_tris = (int)n_cells[TRI];
    mesh->n_tets = (int)n_cells[TET];
    mesh->n_hexes = (int)n_cells[HEX];
    mesh->single = self->single;
    if (!mesh->pos || !mesh->tri || !mesh->tet || !mesh->hex || !move_fields(self, n_cells, mesh))
      st = pla_fail_memory(err, self->path);
  }
  if (st == PLA_OK) {
    st = pla_mesh_check(mesh, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", self->path);
  }
  if (st == PLA_OK) {
    add_notes(self, mesh);
    out->kind = PLA_KIND_MESH;
    out->mesh = mesh;
    out->notes = self->notes;
    self->notes = (PlaNotes){ 0 };
    mesh = NULL;
  }
  pla_mesh_free(mesh);
  pla_mesh_builder_clear(self);
  return st;
}
