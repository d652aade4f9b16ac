/* Writes meshes as VTK's XML files: format-vtu.c tells how they are laid out. */
#include "io/formats/vtk-xml.h"

#include "io/formats/mesh-builder.h"
#include "io/formats/mesh-writer.h"
#include "io/stream/base64.h"
#include "io/stream/xml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

const char *const pla_vtk_type_names[PLA_N_DTYPES] = {
  [PLA_I8] = "Int8",     [PLA_U8] = "UInt8",    [PLA_I16] = "Int16", [PLA_U16] = "UInt16",
  [PLA_I32] = "Int32",   [PLA_U32] = "UInt32",  [PLA_I64] = "Int64", [PLA_U64] = "UInt64",
  [PLA_F32] = "Float32", [PLA_F64] = "Float64",
};

enum {
  BLOCK = 1 << 18, /* bytes of a compressed block */
  BATCH = 16,      /* blocks compressed at once */
  LEVEL = 3,       /* of zlib: coordinates hardly shrink further above */
};

/* where the values of an array come from */
typedef enum { FROM_POINTS, FROM_CONNECTIVITY, FROM_OFFSETS, FROM_TYPES, FROM_FIELD } Origin;

typedef struct {
  Origin origin;
  const PlaField *field;
  const char *name;
  PlaDType dtype;
  int n_components;
  uint64_t n_values;
  uint64_t offset_at; /* place in the file where the offset is filled in */
} OutArray;

typedef struct {
  PlaMeshWriter writer;
  const PlaMesh *mesh;
  bool text, compress, inline_data;
  OutArray array[4]; /* points and cells; fields follow */
} VtkWriter;

/* values [first, first + n) of an array, in host order */
static void
make_values(const PlaMesh *mesh, const OutArray *array, uint64_t first, size_t n, uint8_t *out)
{
  static const int corners[3] = { 3, 4, 8 };
  const int *cells[3] = { mesh->tri, mesh->tet, mesh->hex };
  const uint64_t count[3] = { (uint64_t)mesh->n_tris, (uint64_t)mesh->n_tets,
                              (uint64_t)mesh->n_hexes };
  switch (array->origin) {
  case FROM_POINTS:
    for (size_t i = 0; i < n; i++) {
      double mm = mesh->pos[first + i] * 1000.0;
      if (array->dtype == PLA_F32)
        ((float *)out)[i] = (float)mm;
      else
        ((double *)out)[i] = mm;
    }
    break;
  case FROM_CONNECTIVITY: {
    uint64_t start = 0;
    for (int k = 0; k < 3 && n > 0; k++) {
      uint64_t size = count[k] * (uint64_t)corners[k];
      if (first < start + size) {
        size_t part = start + size - first < n ? (size_t)(start + size - first) : n;
        memcpy(out, cells[k] + (first - start), part * sizeof(int));
        out += part * sizeof(int);
        first += part;
        n -= part;
      }
      start += size;
    }
    break;
  }
  case FROM_OFFSETS:
  case FROM_TYPES:
    for (size_t i = 0; i < n; i++) {
      uint64_t c = first + i, base = 0;
      int k = 0;
      for (; k < 2 && c >= count[k]; k++) {
        base += count[k] * (uint64_t)corners[k];
        c -= count[k];
      }
      static const uint8_t types[3] = { PLA_CELL_TRIANGLE, PLA_CELL_TET, PLA_CELL_HEX };
      uint64_t end = base + (c + 1) * (uint64_t)corners[k];
      if (array->origin == FROM_TYPES)
        out[i] = types[k];
      else if (array->dtype == PLA_I32)
        ((int32_t *)out)[i] = (int32_t)end;
      else
        ((int64_t *)out)[i] = (int64_t)end;
    }
    break;
  case FROM_FIELD: {
    size_t size = pla_dtype_size(array->dtype);
    memcpy(out, (const uint8_t *)array->field->data + first * size, n * size);
    break;
  }
  }
}

static uint64_t
place_in_file(const PlaMeshWriter *writer)
{
  return writer->written + writer->buffer.size;
}

/* overwrites bytes that were left free earlier */
static void
fill_in(PlaMeshWriter *writer, uint64_t at, const void *data, size_t size)
{
  pla_mesh_writer_flush(writer);
  if (writer->cancelled)
    return;
  fseeko(writer->file, (off_t)at, SEEK_SET);
  fwrite(data, 1, size, writer->file);
  fseeko(writer->file, 0, SEEK_END);
}

/* Bytes out, as they are or in base64, whose groups may span pieces. */
typedef struct {
  PlaMeshWriter *writer;
  bool base64;
  uint8_t rest[3];
  size_t n_rest;
} Sink;

static void
sink_put(Sink *sink, const void *data, size_t size)
{
  if (!sink->base64) {
    pla_mesh_writer_bytes(sink->writer, data, size);
    return;
  }
  const uint8_t *from = data;
  char text[4096];
  while (size > 0) {
    if (sink->n_rest > 0 || size < 3) { /* fill up the group begun */
      sink->rest[sink->n_rest++] = *from++;
      size--;
      if (sink->n_rest == 3) {
        pla_base64_encode(sink->rest, 3, text);
        pla_mesh_writer_bytes(sink->writer, text, 4);
        sink->n_rest = 0;
      }
      continue;
    }
    size_t n = size / 3 * 3 < 3072 ? size / 3 * 3 : 3072;
    pla_base64_encode(from, n, text);
    pla_mesh_writer_bytes(sink->writer, text, n / 3 * 4);
    from += n;
    size -= n;
  }
}

static void
sink_end(Sink *sink)
{
  char text[4];
  if (sink->n_rest > 0) {
    pla_base64_encode(sink->rest, sink->n_rest, text);
    pla_mesh_writer_bytes(sink->writer, text, 4);
    sink->n_rest = 0;
  }
}

static uint64_t
word_for_file(const VtkWriter *self, uint64_t value)
{
  bool host_is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  return self->writer.big_endian == host_is_big ? value : __builtin_bswap64(value);
}

static void
make_file_values(const VtkWriter *self, const OutArray *array, uint64_t first, size_t n,
                 uint8_t *out)
{
  bool host_is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  make_values(self->mesh, array, first, n, out);
  if (self->writer.big_endian != host_is_big)
    pla_dtype_swap_bytes(array->dtype, out, n);
}

static PlaStatus
write_plain(VtkWriter *self, const OutArray *array, PlaError *err)
{
  size_t size = pla_dtype_size(array->dtype), per_piece = BLOCK / size;
  uint8_t *piece = pla_array_new_aligned(BLOCK, 1);
  if (!piece)
    return pla_fail_memory(err, self->writer.path);
  Sink sink = { .writer = &self->writer, .base64 = self->inline_data };
  uint64_t bytes = word_for_file(self, array->n_values * size);
  sink_put(&sink, &bytes, sizeof bytes);
  for (uint64_t done = 0; done < array->n_values && !self->writer.cancelled;) {
    size_t n = array->n_values - done < per_piece ? (size_t)(array->n_values - done) : per_piece;
    make_file_values(self, array, done, n, piece);
    sink_put(&sink, piece, n * size);
    done += n;
  }
  sink_end(&sink);
  free(piece);
  return PLA_OK;
}

/* blocks are compressed in parallel and written in order: the same bytes for any thread count */
static PlaStatus
write_compressed(VtkWriter *self, const OutArray *array, PlaError *err)
{
  PlaMeshWriter *writer = &self->writer;
  size_t size = pla_dtype_size(array->dtype);
  uint64_t bytes = array->n_values * size;
  size_t n_blocks = (size_t)((bytes + BLOCK - 1) / BLOCK);
  size_t n_words = n_blocks > 0 ? 3 + n_blocks : 1;
  size_t bound = compressBound(BLOCK);
  uint64_t *header = pla_array_new0(n_words, sizeof *header);
  size_t header_size = n_words * sizeof *header;
  char *header_text = pla_array_new(pla_base64_length(header_size), 1);
  uint8_t *plain = pla_array_new_aligned((size_t)BATCH * BLOCK, 1);
  uint8_t *packed = pla_array_new((size_t)BATCH * bound, 1);
  PlaStatus st = PLA_OK;
  if (!header || !header_text || !plain || !packed)
    st = pla_fail_memory(err, writer->path);

  /* the header stands before the blocks but is known after them */
  uint64_t header_at = place_in_file(writer);
  if (st == PLA_OK) {
    size_t n = self->inline_data ? pla_base64_length(header_size) : header_size;
    memset(header_text, '=', pla_base64_length(header_size));
    pla_mesh_writer_bytes(writer, self->inline_data ? (void *)header_text : (void *)header, n);
    header[0] = word_for_file(self, n_blocks);
    if (n_blocks > 0) {
      header[1] = word_for_file(self, BLOCK);
      header[2] = word_for_file(self, bytes % BLOCK);
    }
  }
  Sink sink = { .writer = writer, .base64 = self->inline_data };
  for (size_t first = 0; first < n_blocks && st == PLA_OK && !writer->cancelled; first += BATCH) {
    int n = n_blocks - first < BATCH ? (int)(n_blocks - first) : BATCH;
    uLongf packed_size[BATCH];
    bool failed[BATCH];
#pragma omp parallel for schedule(dynamic)
    for (int b = 0; b < n; b++) {
      uint64_t at = (first + (size_t)b) * BLOCK;
      size_t count = bytes - at < BLOCK ? (size_t)(bytes - at) : BLOCK;
      make_file_values(self, array, at / size, count / size, plain + (size_t)b * BLOCK);
      packed_size[b] = bound;
      failed[b] = compress2(packed + (size_t)b * bound, &packed_size[b], plain + (size_t)b * BLOCK,
                            count, LEVEL) != Z_OK;
    }
    for (int b = 0; b < n && st == PLA_OK; b++) {
      if (failed[b])
        st = pla_fail_memory(err, writer->path);
      header[3 + first + (size_t)b] = word_for_file(self, packed_size[b]);
      sink_put(&sink, packed + (size_t)b * bound, packed_size[b]);
    }
  }
  sink_end(&sink);
  if (st == PLA_OK && self->inline_data) {
    pla_base64_encode(header, header_size, header_text);
    fill_in(writer, header_at, header_text, pla_base64_length(header_size));
  } else if (st == PLA_OK) {
    fill_in(writer, header_at, header, header_size);
  }
  free(header);
  free(header_text);
  free(plain);
  free(packed);
  return st;
}

static PlaStatus
write_data(VtkWriter *self, const OutArray *array, PlaError *err)
{
  return self->compress ? write_compressed(self, array, err) : write_plain(self, array, err);
}

static PlaStatus
write_text(VtkWriter *self, const OutArray *array, PlaError *err)
{
  enum { PIECE = 512 };
  uint64_t piece[PIECE];
  size_t column = 0, per_line = array->n_components > 1 ? (size_t)array->n_components : 12;
  for (uint64_t done = 0; done < array->n_values && !self->writer.cancelled;) {
    size_t n = array->n_values - done < PIECE ? (size_t)(array->n_values - done) : PIECE;
    make_values(self->mesh, array, done, n, (uint8_t *)piece);
    for (size_t i = 0; i < n; i++) {
      pla_mesh_writer_number(&self->writer, array->dtype, piece, i);
      column = (column + 1) % per_line;
      pla_mesh_writer_bytes(&self->writer, column == 0 ? "\n" : " ", 1);
    }
    done += n;
  }
  return PLA_OK;
}

/* one <DataArray>, with its values unless they are appended */
static PlaStatus
write_array(VtkWriter *self, OutArray *array, PlaError *err)
{
  PlaMeshWriter *writer = &self->writer;
  PlaBytes name = { 0 };
  if (!pla_xml_escape(array->name, &name)) {
    pla_bytes_clear(&name);
    return pla_fail_memory(err, writer->path);
  }
  pla_mesh_writer_printf(writer,
                         "        <DataArray type=\"%s\" Name=\"%.*s\" NumberOfComponents=\"%d\"",
                         pla_vtk_type_names[array->dtype], (int)name.size, (const char *)name.data,
                         array->n_components);
  pla_bytes_clear(&name);
  PlaStatus st = PLA_OK;
  if (self->text || self->inline_data) {
    pla_mesh_writer_printf(writer, " format=\"%s\">\n", self->text ? "ascii" : "binary");
    st = self->text ? write_text(self, array, err) : write_data(self, array, err);
    pla_mesh_writer_text(writer, "\n        </DataArray>\n");
  } else {
    pla_mesh_writer_text(writer, " format=\"appended\" offset=\"");
    array->offset_at = place_in_file(writer);
    pla_mesh_writer_text(writer, "0\"                   />\n"); /* room for any offset */
  }
  return st;
}

static PlaStatus
write_fields(VtkWriter *self, PlaFieldPlace place, OutArray *arrays, PlaError *err)
{
  const PlaMesh *mesh = self->mesh;
  const char *section = place == PLA_ON_VERTS ? "PointData" : "CellData";
  PlaStatus st = PLA_OK;
  pla_mesh_writer_printf(&self->writer, "      <%s>\n", section);
  for (int f = 0; f < mesh->n_fields && st == PLA_OK; f++) {
    const PlaField *field = &mesh->field[f];
    if (field->place != place)
      continue;
    arrays[f] =
        (OutArray){ .origin = FROM_FIELD,
                    .field = field,
                    .name = field->name,
                    .dtype = field->dtype,
                    .n_components = field->n_components,
                    .n_values = pla_field_n_tuples(mesh, field) * (uint64_t)field->n_components };
    st = write_array(self, &arrays[f], err);
  }
  pla_mesh_writer_printf(&self->writer, "      </%s>\n", section);
  return st;
}

static PlaStatus
write_cells(VtkWriter *self, bool surface, PlaError *err)
{
  const PlaMesh *mesh = self->mesh;
  uint64_t n_cells = pla_mesh_n_cells(mesh);
  uint64_t n_indices =
      3 * (uint64_t)mesh->n_tris + 4 * (uint64_t)mesh->n_tets + 8 * (uint64_t)mesh->n_hexes;
  self->array[1] = (OutArray){ .origin = FROM_CONNECTIVITY,
                               .name = "connectivity",
                               .dtype = PLA_I32,
                               .n_components = 1,
                               .n_values = n_indices };
  self->array[2] = (OutArray){ .origin = FROM_OFFSETS,
                               .name = "offsets",
                               .dtype = n_indices > INT_MAX ? PLA_I64 : PLA_I32,
                               .n_components = 1,
                               .n_values = n_cells };
  self->array[3] = (OutArray){
    .origin = FROM_TYPES, .name = "types", .dtype = PLA_U8, .n_components = 1, .n_values = n_cells
  };
  const char *section = surface ? "Polys" : "Cells";
  PlaStatus st = PLA_OK;
  pla_mesh_writer_printf(&self->writer, "      <%s>\n", section);
  for (int k = 1; k < (surface ? 3 : 4) && st == PLA_OK; k++)
    st = write_array(self, &self->array[k], err);
  pla_mesh_writer_printf(&self->writer, "      </%s>\n", section);
  return st;
}

/* the data of one array behind the mark, and its offset where the XML left room */
static PlaStatus
append_array(VtkWriter *self, const OutArray *array, uint64_t mark, PlaError *err)
{
  if (array->offset_at == 0)
    return PLA_OK;
  char text[32];
  int n = snprintf(text, sizeof text, "%" PRIu64 "\"", place_in_file(&self->writer) - mark);
  fill_in(&self->writer, array->offset_at, text, (size_t)n);
  return write_data(self, array, err);
}

PlaStatus
pla_vtk_xml_write(const char *path, const PlaMesh *mesh, bool surface, const PlaWriteOptions *opts,
                  PlaError *err)
{
  PlaStatus st = surface ? pla_mesh_need_surface(mesh, path, "VTP", err) : PLA_OK;
  VtkWriter self = { .mesh = mesh,
                     .text = opts->text,
                     .compress = !opts->text && !opts->uncompressed,
                     .inline_data = !opts->text && opts->inline_data };
  OutArray *fields = pla_array_new0((size_t)mesh->n_fields, sizeof *fields);
  if (st == PLA_OK && !fields)
    st = pla_fail_memory(err, path);
  if (st == PLA_OK)
    st = pla_mesh_writer_open(&self.writer, path, mesh, opts, err);
  if (st != PLA_OK) {
    free(fields);
    return st;
  }
  PlaMeshWriter *writer = &self.writer;
  const char *type = surface ? "PolyData" : "UnstructuredGrid";
  pla_mesh_writer_printf(writer,
                         "<?xml version=\"1.0\"?>\n<VTKFile type=\"%s\" version=\"1.0\" "
                         "byte_order=\"%s\" header_type=\"UInt64\"%s>\n  <%s>\n",
                         type, opts->big_endian ? "BigEndian" : "LittleEndian",
                         self.compress ? " compressor=\"vtkZLibDataCompressor\"" : "", type);
  if (surface)
    pla_mesh_writer_printf(writer,
                           "    <Piece NumberOfPoints=\"%d\" NumberOfVerts=\"0\" "
                           "NumberOfLines=\"0\" NumberOfStrips=\"0\" NumberOfPolys=\"%d\">\n",
                           mesh->n_verts, mesh->n_tris);
  else
    pla_mesh_writer_printf(writer, "    <Piece NumberOfPoints=\"%d\" NumberOfCells=\"%zu\">\n",
                           mesh->n_verts, pla_mesh_n_cells(mesh));
  st = write_fields(&self, PLA_ON_VERTS, fields, err);
  if (st == PLA_OK)
    st = write_fields(&self, PLA_ON_CELLS, fields, err);
  self.array[0] = (OutArray){ .origin = FROM_POINTS,
                              .name = "Points",
                              .dtype = pla_mesh_mm_dtype(mesh),
                              .n_components = 3,
                              .n_values = 3 * (uint64_t)mesh->n_verts };
  pla_mesh_writer_text(writer, "      <Points>\n");
  if (st == PLA_OK)
    st = write_array(&self, &self.array[0], err);
  pla_mesh_writer_text(writer, "      </Points>\n");
  if (st == PLA_OK)
    st = write_cells(&self, surface, err);
  pla_mesh_writer_printf(writer, "    </Piece>\n  </%s>\n", type);
  if (!self.text && !self.inline_data) {
    pla_mesh_writer_text(writer, "  <AppendedData encoding=\"raw\">\n   _");
    uint64_t mark = place_in_file(writer);
    for (int f = 0; f < mesh->n_fields && st == PLA_OK; f++)
      st = append_array(&self, &fields[f], mark, err);
    for (int k = 0; k < 4 && st == PLA_OK; k++)
      st = append_array(&self, &self.array[k], mark, err);
    pla_mesh_writer_text(writer, "\n  </AppendedData>\n");
  }
  pla_mesh_writer_text(writer, "</VTKFile>\n");
  free(fields);
  return pla_mesh_writer_close(writer, st, err);
}
