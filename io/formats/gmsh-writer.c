/* Gmsh meshes (.msh), versions 2.2 and 4.1, text and binary, written: cells in runs of one kind and
 * region, each run an entity whose physical tag is the region. */
#include "io/formats/gmsh-private.h"
#include "io/formats/mesh-writer.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  PlaMeshWriter writer;
  const PlaMesh *mesh;
  bool text;
  int version;
  int32_t *region;   /* of each cell, or NULL */
  PlaBytes entities; /* PlaGmshEntity: by order of first use; tag = place + 1 */
} MshWriter;

/* cells [first, last) of one kind, region and so entity */
typedef struct {
  int kind; /* 0 triangles, 1 tets, 2 hexes */
  size_t first, last;
  int64_t dim, entity;
} Run;

static const int corners[3] = { 3, 4, 8 };
static const int64_t gmsh_type[3] = { 2, 4, 5 };

static void
put_int(MshWriter *self, int64_t value)
{
  int32_t narrow = (int32_t)value;
  if (self->text) {
    pla_mesh_writer_number(&self->writer, PLA_I64, &value, 0);
    pla_mesh_writer_bytes(&self->writer, " ", 1);
  } else {
    pla_mesh_writer_elements(&self->writer, PLA_I32, &narrow, 1);
  }
}

static void
put_size(MshWriter *self, int64_t value)
{
  if (self->text)
    put_int(self, value);
  else
    pla_mesh_writer_elements(&self->writer, PLA_I64, &value, 1);
}

static void
put_real(MshWriter *self, double value)
{
  if (self->text) {
    pla_mesh_writer_number(&self->writer, PLA_F64, &value, 0);
    pla_mesh_writer_bytes(&self->writer, " ", 1);
  } else {
    pla_mesh_writer_elements(&self->writer, PLA_F64, &value, 1);
  }
}

static void
put_line_end(MshWriter *self)
{
  if (self->text)
    pla_mesh_writer_bytes(&self->writer, "\n", 1);
}

/* file coordinates; 32-bit ones keep their value */
static double
mm_of(const PlaMesh *mesh, size_t i)
{
  double mm = mesh->pos[i] * 1000.0;
  return mesh->single ? (double)(float)mm : mm;
}

/* the entity of a region in a dimension, made when new */
static int64_t
entity_of(MshWriter *self, int64_t dim, int32_t region)
{
  PlaGmshEntity *entity = (PlaGmshEntity *)self->entities.data;
  size_t n = self->entities.size / sizeof *entity;
  for (size_t e = 0; e < n; e++)
    if (entity[e].dim == dim && entity[e].physical == region)
      return entity[e].tag;
  PlaGmshEntity fresh = { .dim = dim, .tag = (int64_t)n + 1, .physical = region };
  self->writer.short_memory |= !pla_bytes_append(&self->entities, &fresh, sizeof fresh);
  return fresh.tag;
}

/* the run that starts at cell @first of the mesh; false at the end */
static bool
next_run(MshWriter *self, size_t first, Run *run)
{
  const size_t ends[3] = { (size_t)self->mesh->n_tris,
                           (size_t)self->mesh->n_tris + (size_t)self->mesh->n_tets,
                           pla_mesh_n_cells(self->mesh) };
  if (first >= ends[2])
    return false;
  run->kind = first < ends[0] ? 0 : first < ends[1] ? 1 : 2;
  run->first = run->last = first;
  int32_t region = self->region ? self->region[first] : 0;
  while (run->last < ends[run->kind] && (!self->region || self->region[run->last] == region))
    run->last++;
  run->dim = run->kind == 0 ? 2 : 3;
  run->entity = entity_of(self, run->dim, region);
  return true;
}

static void
write_entities(MshWriter *self, const double lo[3], const double hi[3])
{
  const PlaGmshEntity *entity = (const PlaGmshEntity *)self->entities.data;
  size_t n = self->entities.size / sizeof *entity;
  int64_t count[4] = { 0 };
  for (size_t e = 0; e < n; e++)
    count[entity[e].dim]++;
  pla_mesh_writer_text(&self->writer, "$Entities\n");
  for (int d = 0; d < 4; d++)
    put_size(self, count[d]);
  put_line_end(self);
  for (int d = 2; d < 4; d++)
    for (size_t e = 0; e < n; e++) {
      if (entity[e].dim != d)
        continue;
      put_int(self, entity[e].tag);
      for (int k = 0; k < 3; k++)
        put_real(self, lo[k]);
      for (int k = 0; k < 3; k++)
        put_real(self, hi[k]);
      put_size(self, entity[e].physical != 0);
      if (entity[e].physical != 0)
        put_int(self, entity[e].physical);
      put_size(self, 0); /* bounding entities */
      put_line_end(self);
    }
  pla_mesh_writer_text(&self->writer, self->text ? "$EndEntities\n" : "\n$EndEntities\n");
}

static void
write_nodes(MshWriter *self)
{
  const PlaMesh *mesh = self->mesh;
  size_t n = (size_t)mesh->n_verts;
  pla_mesh_writer_text(&self->writer, "$Nodes\n");
  if (self->version == 2) {
    pla_mesh_writer_printf(&self->writer, "%zu\n", n);
  } else {
    const PlaGmshEntity *entity = (const PlaGmshEntity *)self->entities.data;
    size_t last = self->entities.size / sizeof *entity - 1; /* a solid one, if there is any */
    put_size(self, 1);
    put_size(self, (int64_t)n);
    put_size(self, n > 0);
    put_size(self, (int64_t)n);
    put_line_end(self);
    put_int(self, entity[last].dim);
    put_int(self, entity[last].tag);
    put_int(self, 0);
    put_size(self, (int64_t)n);
    put_line_end(self);
    for (size_t v = 0; v < n; v++) {
      put_size(self, (int64_t)v + 1);
      put_line_end(self);
    }
  }
  for (size_t v = 0; v < n && !self->writer.cancelled; v++) {
    if (self->version == 2)
      put_int(self, (int64_t)v + 1);
    for (size_t d = 0; d < 3; d++)
      put_real(self, mm_of(mesh, 3 * v + d));
    put_line_end(self);
  }
  pla_mesh_writer_text(&self->writer, self->text ? "$EndNodes\n" : "\n$EndNodes\n");
}

static void
write_elements(MshWriter *self)
{
  const PlaMesh *mesh = self->mesh;
  const int *cells[3] = { mesh->tri, mesh->tet, mesh->hex };
  const size_t start[3] = { 0, (size_t)mesh->n_tris, (size_t)mesh->n_tris + (size_t)mesh->n_tets };
  size_t n = pla_mesh_n_cells(mesh);
  Run run = { 0 };
  pla_mesh_writer_text(&self->writer, "$Elements\n");
  if (self->version == 2) {
    pla_mesh_writer_printf(&self->writer, "%zu\n", n);
  } else {
    int64_t n_runs = 0;
    for (; next_run(self, run.last, &run); n_runs++)
      ;
    put_size(self, n_runs);
    put_size(self, (int64_t)n);
    put_size(self, n > 0);
    put_size(self, (int64_t)n);
    put_line_end(self);
    run = (Run){ 0 };
  }
  while (next_run(self, run.last, &run) && !self->writer.cancelled) {
    int64_t in_run = (int64_t)(run.last - run.first);
    if (self->version == 4) {
      put_int(self, run.dim);
      put_int(self, run.entity);
      put_int(self, gmsh_type[run.kind]);
      put_size(self, in_run);
      put_line_end(self);
    } else if (!self->text) {
      put_int(self, gmsh_type[run.kind]);
      put_int(self, in_run);
      put_int(self, 2);
    }
    for (size_t c = run.first; c < run.last; c++) {
      if (self->version == 4) {
        put_size(self, (int64_t)c + 1);
      } else {
        put_int(self, (int64_t)c + 1);
        if (self->text) {
          put_int(self, gmsh_type[run.kind]);
          put_int(self, 2);
        }
        put_int(self, self->region ? self->region[c] : 0);
        put_int(self, run.entity);
      }
      const int *vert = cells[run.kind] + (c - start[run.kind]) * (size_t)corners[run.kind];
      for (int i = 0; i < corners[run.kind]; i++) {
        if (self->version == 4)
          put_size(self, (int64_t)vert[i] + 1);
        else
          put_int(self, (int64_t)vert[i] + 1);
      }
      put_line_end(self);
    }
  }
  pla_mesh_writer_text(&self->writer, self->text ? "$EndElements\n" : "\n$EndElements\n");
}

/* whether a field is the physical tags */
static bool
is_region(const PlaField *field)
{
  return field->place == PLA_ON_CELLS && strcmp(field->name, "region") == 0 &&
         field->n_components == 1 && pla_dtype_is_integer(field->dtype) &&
         pla_dtype_size(field->dtype) <= 4 && field->dtype != PLA_U32;
}

/* doubles hold whole numbers up to 2^53 only */
static bool
fits_doubles(const PlaMesh *mesh, const PlaField *field)
{
  const int64_t exact = (int64_t)1 << 53;
  size_t n = pla_field_n_tuples(mesh, field) * (size_t)field->n_components;
  for (size_t i = 0; i < n && (field->dtype == PLA_I64 || field->dtype == PLA_U64); i++) {
    int64_t value = ((const int64_t *)field->data)[i];
    if (value < (field->dtype == PLA_I64 ? -exact : 0) || value > exact)
      return false;
  }
  return true;
}

static PlaStatus
write_data(MshWriter *self, const PlaField *field, PlaError *err)
{
  const char *section = field->place == PLA_ON_VERTS ? "NodeData" : "ElementData";
  size_t n = pla_field_n_tuples(self->mesh, field), k = (size_t)field->n_components;
  if (!fits_doubles(self->mesh, field))
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s: the field %.200s holds whole numbers too large for Gmsh files; write a "
                    ".vtu file",
                    self->writer.path, field->name);
  /* only what would break the quoted name is escaped */
  bool plain = !strpbrk(field->name, "\"%\n\r");
  char *name = plain ? pla_strdup(field->name) : pla_name_encode(field->name);
  if (!name)
    return pla_fail_memory(err, self->writer.path);
  pla_mesh_writer_printf(&self->writer, "$%s\n1\n\"%s\"\n1\n0\n3\n0\n%zu\n%zu\n", section, name, k,
                         n);
  free(name);
  for (size_t i = 0; i < n && !self->writer.cancelled; i++) {
    put_int(self, (int64_t)i + 1);
    for (size_t c = 0; c < k; c++)
      put_real(self, pla_dtype_get(field->dtype, field->data, i * k + c));
    put_line_end(self);
  }
  pla_mesh_writer_printf(&self->writer, "%s$End%s\n", self->text ? "" : "\n", section);
  return PLA_OK;
}

/* regions of all cells, and the entities that they make */
static PlaStatus
prepare_regions(MshWriter *self, PlaError *err)
{
  const PlaMesh *mesh = self->mesh;
  const PlaField *field = pla_mesh_find_field(mesh, "region", PLA_ON_CELLS);
  size_t n = pla_mesh_n_cells(mesh);
  if (field && is_region(field)) {
    self->region = pla_array_new(n, sizeof *self->region);
    if (!self->region)
      return pla_fail_memory(err, self->writer.path);
    for (size_t c = 0; c < n; c++)
      self->region[c] = (int32_t)pla_dtype_get(field->dtype, field->data, c);
  }
  Run run = { 0 };
  while (next_run(self, run.last, &run))
    if (self->entities.size / sizeof(PlaGmshEntity) > 4096)
      return pla_fail(err, PLA_ERR_UNSUPPORTED,
                      "%s: Gmsh files of more than 4096 regions are not written; write a .vtu file",
                      self->writer.path);
  if (n == 0)
    entity_of(self, 2, 0); /* nodes belong to some entity */
  return self->writer.short_memory ? pla_fail_memory(err, self->writer.path) : PLA_OK;
}

PlaStatus
pla_gmsh_write(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaMesh *mesh = item->mesh;
  MshWriter self = { .mesh = mesh,
                     .text = opts->text,
                     .version = opts->gmsh_version == 22 ? 2 : 4 };
  if (opts->gmsh_version != 0 && opts->gmsh_version != 22 && opts->gmsh_version != 41)
    return pla_fail(err, PLA_ERR_USAGE, "Gmsh files are written as version 22 or 41, not %d",
                    opts->gmsh_version);
  PlaStatus st = pla_mesh_writer_open(&self.writer, path, mesh, opts, err);
  if (st != PLA_OK)
    return st;
  st = prepare_regions(&self, err);
  double lo[3] = { 0.0, 0.0, 0.0 }, hi[3] = { 0.0, 0.0, 0.0 };
  for (size_t i = 0; i < 3 * (size_t)mesh->n_verts; i++) {
    double x = mm_of(mesh, i);
    lo[i % 3] = i < 3 || x < lo[i % 3] ? x : lo[i % 3];
    hi[i % 3] = i < 3 || x > hi[i % 3] ? x : hi[i % 3];
  }
  pla_mesh_writer_printf(&self.writer, "$MeshFormat\n%s %d 8\n", self.version == 2 ? "2.2" : "4.1",
                         !self.text);
  if (!self.text) {
    const int32_t one = 1;
    pla_mesh_writer_elements(&self.writer, PLA_I32, &one, 1);
    pla_mesh_writer_text(&self.writer, "\n");
  }
  pla_mesh_writer_text(&self.writer, "$EndMeshFormat\n");
  if (st == PLA_OK && self.version == 4)
    write_entities(&self, lo, hi);
  if (st == PLA_OK)
    write_nodes(&self);
  if (st == PLA_OK)
    write_elements(&self);
  for (int f = 0; f < mesh->n_fields && st == PLA_OK; f++)
    if (!is_region(&mesh->field[f]))
      st = write_data(&self, &mesh->field[f], err);
  free(self.region);
  pla_bytes_clear(&self.entities);
  return pla_mesh_writer_close(&self.writer, st, err);
}
