/* VTK's XML meshes: .vtu (UnstructuredGrid) and .vtp (PolyData), read here, written by
 * vtk-xml-writer.c.
 *
 * A file names its arrays in XML and keeps their values inside the elements (as text or base64) or
 * in one block at the end (as bytes or base64), each either plain,
 *   [n bytes][bytes]
 * or compressed in blocks,
 *   [n blocks][block size][size of the last block or 0][compressed sizes][blocks]
 * with words of 32 or 64 bits ("header_type") in the byte order of the file.  The first pass over
 * the XML notes where each array lies; the arrays are then decoded in pieces straight into the
 * mesh, cells from three places at once (connectivity, offsets, types). */
#include "io/formats/format.h"

#include "io/formats/mesh-builder.h"
#include "io/formats/vtk-xml.h"
#include "io/stream/base64.h"
#include "io/stream/source.h"
#include "io/stream/xml.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define HOST_ORDER "BigEndian"
#define OTHER_ORDER "LittleEndian"
#else
#define HOST_ORDER "LittleEndian"
#define OTHER_ORDER "BigEndian"
#endif

/* the elements of a <Piece> that hold arrays; cells in the order that cell data follow */
typedef enum {
  VERTS = 0, /* PolyData */
  LINES,
  POLYS,
  STRIPS,
  CELLS, /* UnstructuredGrid */
  POINTS,
  POINT_DATA,
  CELL_DATA,
  N_SECTIONS,
} Section;
static const char *const section_names[N_SECTIONS] = {
  [VERTS] = "Verts", [LINES] = "Lines",   [POLYS] = "Polys",          [STRIPS] = "Strips",
  [CELLS] = "Cells", [POINTS] = "Points", [POINT_DATA] = "PointData", [CELL_DATA] = "CellData",
};

typedef enum { TEXT = 0, BASE64, APPENDED } Encoding;

typedef struct {
  Section section;
  char *name; /* owned */
  PlaDType dtype;
  int n_components;
  Encoding encoding;
  uint64_t offset; /* from the mark of the appended data, or from the start of the file */
  int64_t line;
} Array;

typedef struct {
  PlaReader reader;
  bool swap, compressed, appended_base64;
  size_t word; /* bytes of a header word */
  uint64_t n_points;
  uint64_t n_cells[CELLS + 1]; /* by section */
  int n_pieces;
  bool has_appended;
  uint64_t appended_at; /* first byte behind the mark '_' */
  int n_arrays;
  Array *array;
  PlaMeshBuilder builder;
} Vtk;

static bool
is_vtk_xml(const uint8_t *head, size_t n, const char *type)
{
  const char *tag = memmem(head, n, "<VTKFile", 8);
  if (!tag)
    return false;
  const char *end = memchr(tag, '>', n - (size_t)(tag - (const char *)head));
  size_t span = end ? (size_t)(end - tag) : 0;
  return memmem(tag, span, type, strlen(type)) != NULL;
}

static bool
probe_vtp(const char *path, const uint8_t *head, size_t n)
{
  return is_vtk_xml(head, n, "\"PolyData\"");
}

/* every other kind of VTK file comes here too, to be refused by name */
static bool
probe_vtu(const char *path, const uint8_t *head, size_t n)
{
  return is_vtk_xml(head, n, "type=") && !probe_vtp(path, head, n);
}

/* ---- the XML ---- */

static bool
parse_count(const char *text, uint64_t *out)
{
  if (!text)
    return false;
  while (*text == ' ')
    text++;
  if (*text < '0' || *text > '9')
    return false;
  char *end;
  *out = strtoull(text, &end, 10);
  return (*end == '\0' || *end == ' ') && *out <= INT64_MAX;
}

static PlaStatus
read_file_element(Vtk *vtk, const PlaXml *xml, PlaError *err)
{
  const char *path = vtk->reader.path;
  if (strcmp(pla_xml_name(xml, 0), "VTKFile") != 0)
    return pla_fail(err, PLA_ERR_FORMAT, "%s is no VTK file: it starts with <%s>", path,
                    pla_xml_name(xml, 0));
  const char *type = pla_xml_attribute(xml, "type");
  const char *order = pla_xml_attribute(xml, "byte_order");
  const char *header = pla_xml_attribute(xml, "header_type");
  const char *compressor = pla_xml_attribute(xml, "compressor");
  if (!type)
    return pla_reader_fail_line(&vtk->reader, err, "<VTKFile> does not say its type");
  if (strcmp(type, "UnstructuredGrid") != 0 && strcmp(type, "PolyData") != 0)
    return type[0] == 'P'
               ? pla_fail(err, PLA_ERR_UNSUPPORTED,
                          "%s only lists the parts of a mesh (type %.40s); open the parts", path,
                          type)
           : strcmp(type, "Collection") == 0
               ? pla_fail(err, PLA_ERR_UNSUPPORTED,
                          "%s lists the meshes of a time series; open one of them", path)
               : pla_fail(err, PLA_ERR_UNSUPPORTED,
                          "%s holds a VTK %.40s, not a mesh; save it as UnstructuredGrid or "
                          "PolyData",
                          path, type);
  vtk->swap = order && strcmp(order, OTHER_ORDER) == 0;
  if (order && !vtk->swap && strcmp(order, HOST_ORDER) != 0)
    return pla_reader_fail_line(&vtk->reader, err, "%.40s is no byte order", order);
  vtk->word = header && strcmp(header, "UInt64") == 0 ? 8 : 4;
  if (header && vtk->word == 4 && strcmp(header, "UInt32") != 0)
    return pla_reader_fail_line(&vtk->reader, err, "header_type %.40s is neither UInt32 nor UInt64",
                                header);
  vtk->compressed = compressor && *compressor;
  if (vtk->compressed && strcmp(compressor, "vtkZLibDataCompressor") != 0)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s is compressed by %.60s, and Platysma reads zlib only; save it with zlib or "
                    "without compression",
                    path, compressor);
  return PLA_OK;
}

static PlaStatus
read_piece_element(Vtk *vtk, const PlaXml *xml, PlaError *err)
{
  static const char *const counts[] = { [VERTS] = "NumberOfVerts",
                                        [LINES] = "NumberOfLines",
                                        [POLYS] = "NumberOfPolys",
                                        [STRIPS] = "NumberOfStrips",
                                        [CELLS] = "NumberOfCells" };
  uint64_t n_points, n_cells[CELLS + 1] = { 0 }, all = 0;
  if (!parse_count(pla_xml_attribute(xml, "NumberOfPoints"), &n_points))
    return pla_reader_fail_line(&vtk->reader, err, "<Piece> does not say its NumberOfPoints");
  for (int s = 0; s <= CELLS; s++) {
    const char *text = pla_xml_attribute(xml, counts[s]);
    if (text && !parse_count(text, &n_cells[s]))
      return pla_reader_fail_line(&vtk->reader, err, "%s of <Piece> is no count", counts[s]);
    all += n_cells[s];
  }
  if (all > INT_MAX || n_points > INT_MAX)
    return pla_reader_fail_line(&vtk->reader, err,
                                "<Piece> claims more than %d points or cells; cut the mesh",
                                INT_MAX);
  if (n_points == 0 && all == 0)
    return PLA_OK;
  if (vtk->n_pieces++ > 0)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s holds a mesh in several pieces; merge them and save it again",
                    vtk->reader.path);
  vtk->n_points = n_points;
  memcpy(vtk->n_cells, n_cells, sizeof n_cells);
  return PLA_OK;
}

/* a <DataArray> or <Array>: notes where its values are */
static PlaStatus
read_array_element(Vtk *vtk, const PlaXml *xml, Section section, PlaError *err)
{
  enum { MAX_ARRAYS = 1024 };
  PlaReader *reader = &vtk->reader;
  const char *type = pla_xml_attribute(xml, "type");
  const char *name = pla_xml_attribute(xml, "Name");
  const char *format = pla_xml_attribute(xml, "format");
  const char *components = pla_xml_attribute(xml, "NumberOfComponents");
  Array array = {
    .section = section, .n_components = 1, .offset = pla_reader_tell(reader), .line = reader->line
  };
  if (!name)
    name = section == POINTS ? "Points" : "";
  int dtype = 0;
  while (dtype < PLA_N_DTYPES && (!type || strcmp(type, pla_vtk_type_names[dtype]) != 0))
    dtype++;
  if (dtype == PLA_N_DTYPES) {
    if (section == POINT_DATA || section == CELL_DATA) {
      pla_notes_add(&vtk->builder.notes, "the field %.200s of type %.40s was left out", name,
                    type ? type : "unknown");
      return PLA_OK;
    }
    return pla_reader_fail_line(reader, err, "the array %.200s has the unknown type %.40s", name,
                                type ? type : "");
  }
  array.dtype = (PlaDType)dtype;
  if (components) {
    uint64_t n;
    if (!parse_count(components, &n) || n > 65536)
      return pla_reader_fail_line(reader, err,
                                  "the array %.200s has an impossible number of "
                                  "components",
                                  name);
    array.n_components = n > 0 ? (int)n : 1;
  }
  if (!format || strcmp(format, "ascii") == 0) {
    array.encoding = TEXT;
  } else if (strcmp(format, "binary") == 0) {
    array.encoding = BASE64;
  } else if (strcmp(format, "appended") == 0) {
    array.encoding = APPENDED;
    if (!parse_count(pla_xml_attribute(xml, "offset"), &array.offset))
      return pla_reader_fail_line(reader, err, "the array %.200s does not say its offset", name);
  } else {
    return pla_reader_fail_line(reader, err, "the array %.200s has the unknown format %.40s", name,
                                format);
  }
  void *arrays = vtk->array;
  if (vtk->n_arrays == MAX_ARRAYS)
    return pla_reader_fail_line(reader, err, "there are more than %d arrays", MAX_ARRAYS);
  array.name = pla_strdup(name);
  if (!array.name || !pla_array_resize(&arrays, (size_t)vtk->n_arrays + 1, sizeof array)) {
    free(array.name);
    return pla_fail_memory(err, reader->path);
  }
  vtk->array = arrays;
  vtk->array[vtk->n_arrays++] = array;
  return PLA_OK;
}

/* <AppendedData>: everything behind its '_' is data, and no XML is left to read */
static PlaStatus
read_appended_element(Vtk *vtk, const PlaXml *xml, PlaError *err)
{
  const char *encoding = pla_xml_attribute(xml, "encoding");
  vtk->appended_base64 = encoding && strcmp(encoding, "base64") == 0;
  if (encoding && !vtk->appended_base64 && strcmp(encoding, "raw") != 0)
    return pla_reader_fail_line(&vtk->reader, err,
                                "the appended data have the unknown encoding "
                                "%.40s",
                                encoding);
  if (pla_reader_at_end(&vtk->reader) || *vtk->reader.at != '_')
    return pla_reader_fail_line(&vtk->reader, err,
                                "the appended data do not start with '_'; copy the file again");
  vtk->has_appended = true;
  vtk->appended_at = pla_reader_tell(&vtk->reader) + 1;
  return PLA_OK;
}

static PlaStatus
read_xml(Vtk *vtk, PlaError *err)
{
  PlaXml *xml = pla_xml_new(&vtk->reader);
  if (!xml)
    return pla_fail_memory(err, vtk->reader.path);
  PlaStatus st = PLA_OK;
  PlaXmlEvent event = PLA_XML_START;
  bool first = true;
  while (st == PLA_OK && event != PLA_XML_DONE && !vtk->has_appended) {
    st = pla_xml_next(xml, &event, err);
    if (st != PLA_OK || event != PLA_XML_START)
      continue;
    const char *name = pla_xml_name(xml, 0), *parent = pla_xml_name(xml, 1);
    if (first)
      st = read_file_element(vtk, xml, err);
    else if (strcmp(name, "Piece") == 0)
      st = read_piece_element(vtk, xml, err);
    else if (strcmp(name, "AppendedData") == 0)
      st = read_appended_element(vtk, xml, err);
    else if (strcmp(name, "DataArray") == 0 || strcmp(name, "Array") == 0) {
      for (int s = 0; s < N_SECTIONS && st == PLA_OK; s++)
        if (strcmp(parent, section_names[s]) == 0 && vtk->n_pieces == 1)
          st = read_array_element(vtk, xml, (Section)s, err);
    }
    first = false;
  }
  free(xml);
  return st;
}

/* ---- the values of one array, in pieces ---- */

typedef struct {
  PlaReader reader;
  const Array *array;
  bool text, base64, compressed, swap;
  uint64_t left; /* values; UINT64_MAX for text, which does not say */
  PlaBase64 group;
  /* blocks */
  z_stream z;
  bool z_open;
  uint64_t n_blocks, block, block_size, last_size;
  uint64_t *packed;           /* compressed size of each block, bytes */
  uint64_t in_left, out_left; /* of the current block */
  uint8_t in[16384];
} Decoder;

static void
decoder_free(Decoder *self)
{
  if (!self)
    return;
  if (self->z_open)
    inflateEnd(&self->z);
  free(self->packed);
  pla_reader_close(&self->reader);
  free(self);
}

/* bytes as they stand in the file, base64 undone */
static bool
read_stored(Decoder *self, void *out, size_t size)
{
  return self->base64 ? pla_base64_read(&self->group, &self->reader, out, size)
                      : pla_reader_read(&self->reader, out, size);
}

/* the most bytes that the rest of the file can hold */
static uint64_t
stored_left(const Decoder *self)
{
  uint64_t left = pla_reader_left(&self->reader);
  return self->base64 ? left / 4 * 3 + 3 : left;
}

static bool
read_word(Decoder *self, size_t size, uint64_t *out)
{
  uint32_t half;
  if (!read_stored(self, size == 4 ? (void *)&half : (void *)out, size))
    return false;
  if (self->swap) {
    half = size == 4 ? __builtin_bswap32(half) : 0;
    *out = size == 4 ? 0 : __builtin_bswap64(*out);
  }
  if (size == 4)
    *out = half;
  return true;
}

static PlaStatus
fail_damaged(const Decoder *self, PlaError *err)
{
  return pla_reader_fail_byte(&self->reader, err,
                              "the data of array %.200s are damaged or end early; copy the file "
                              "again",
                              self->array->name);
}

/* the header of compressed data; *bytes is the decoded size that it claims */
static PlaStatus
read_block_header(Decoder *self, size_t word, uint64_t *bytes, PlaError *err)
{
  uint64_t sum = 0;
  *bytes = 0;
  if (!read_word(self, word, &self->n_blocks))
    return fail_damaged(self, err);
  if (self->n_blocks == 0)
    return PLA_OK;
  if (self->n_blocks > stored_left(self) / word || !read_word(self, word, &self->block_size) ||
      !read_word(self, word, &self->last_size))
    return fail_damaged(self, err);
  self->packed = pla_array_new((size_t)self->n_blocks, sizeof *self->packed);
  if (!self->packed)
    return pla_fail_memory(err, self->reader.path);
  for (uint64_t b = 0; b < self->n_blocks; b++)
    if (!read_word(self, word, &self->packed[b]) ||
        __builtin_add_overflow(sum, self->packed[b], &sum))
      return fail_damaged(self, err);
  if (self->last_size == 0)
    self->last_size = self->block_size;
  if (sum > stored_left(self) || self->last_size > self->block_size ||
      __builtin_mul_overflow(self->n_blocks - 1, self->block_size, bytes) ||
      __builtin_add_overflow(*bytes, self->last_size, bytes) || *bytes / PLA_MAX_INFLATE > sum)
    return fail_damaged(self, err);
  /* a header in base64 of its own ends with its last group */
  self->group.n = 0;
  if (inflateInit(&self->z) != Z_OK)
    return pla_fail_memory(err, self->reader.path);
  self->z_open = true;
  return PLA_OK;
}

/* Goes to the start of an array's values; @expected (UINT64_MAX: unknown) is how many there must
 * be. */
static PlaStatus
decoder_new(const Vtk *vtk, const Array *array, uint64_t expected, Decoder **out, PlaError *err)
{
  Decoder *self = pla_array_new(1, sizeof *self);
  *out = NULL;
  if (!self)
    return pla_fail_memory(err, vtk->reader.path);
  memset(self, 0, offsetof(Decoder, in));
  PlaStatus st = pla_reader_clone(&vtk->reader, &self->reader, err);
  self->array = array;
  self->text = array->encoding == TEXT;
  self->base64 = array->encoding == BASE64 || (array->encoding == APPENDED && vtk->appended_base64);
  self->compressed = vtk->compressed && !self->text;
  self->swap = vtk->swap;
  self->left = UINT64_MAX;
  uint64_t at = array->offset;
  if (st == PLA_OK && array->encoding == APPENDED) {
    if (!vtk->has_appended || at > vtk->reader.size - vtk->appended_at)
      st = pla_fail(err, PLA_ERR_FORMAT,
                    "%s: the data of array %.200s lie behind the end of the file; copy it again",
                    vtk->reader.path, array->name);
    else
      at += vtk->appended_at;
  }
  if (st == PLA_OK) {
    pla_reader_seek(&self->reader, at, array->line);
    if (!self->text) {
      uint64_t bytes = 0;
      if (self->compressed)
        st = read_block_header(self, vtk->word, &bytes, err);
      else if (!read_word(self, vtk->word, &bytes) || bytes > stored_left(self))
        st = fail_damaged(self, err);
      self->left = bytes / pla_dtype_size(array->dtype);
      if (st == PLA_OK && expected != UINT64_MAX && self->left != expected)
        st = pla_reader_fail_byte(&self->reader, err,
                                  "the array %.200s holds %" PRIu64 " values where %" PRIu64
                                  " belong; write the file again",
                                  array->name, self->left, expected);
    }
  }
  if (st == PLA_OK)
    *out = self;
  else
    decoder_free(self);
  return st;
}

/* more compressed bytes of the current block for zlib */
static bool
feed(Decoder *self)
{
  if (self->in_left == 0)
    return false;
  if (self->base64) {
    size_t n = self->in_left < sizeof self->in ? (size_t)self->in_left : sizeof self->in;
    if (!pla_base64_read(&self->group, &self->reader, self->in, n))
      return false;
    self->z.next_in = self->in;
    self->z.avail_in = (uInt)n;
    self->in_left -= n;
    return true;
  }
  size_t ready = pla_reader_fill(&self->reader, 1);
  ready = ready < self->in_left ? ready : (size_t)self->in_left;
  self->z.next_in = (uint8_t *)self->reader.at;
  self->z.avail_in = (uInt)ready;
  self->reader.at += ready;
  self->in_left -= ready;
  return ready > 0;
}

/* the block must end exactly where its size says, checksum included */
static bool
end_block(Decoder *self)
{
  uint8_t beyond;
  for (;;) {
    self->z.next_out = &beyond;
    self->z.avail_out = 1;
    int rc = inflate(&self->z, Z_NO_FLUSH);
    if (rc == Z_STREAM_END)
      return self->z.avail_out == 1 && self->z.avail_in == 0 && self->in_left == 0;
    if (self->z.avail_out == 0 || (rc != Z_OK && rc != Z_BUF_ERROR) ||
        (self->z.avail_in == 0 && !feed(self)))
      return false;
  }
}

static bool
inflate_bytes(Decoder *self, uint8_t *out, size_t size)
{
  while (size > 0) {
    if (self->out_left == 0) {
      if (self->block == self->n_blocks)
        return false;
      self->in_left = self->packed[self->block++];
      self->out_left = self->block == self->n_blocks ? self->last_size : self->block_size;
      self->z.avail_in = 0;
      inflateReset(&self->z);
      if (self->out_left == 0)
        return false;
    }
    if (self->z.avail_in == 0 && !feed(self))
      return false;
    size_t room = size < self->out_left ? size : (size_t)self->out_left;
    room = room < UINT_MAX ? room : UINT_MAX;
    self->z.next_out = out;
    self->z.avail_out = (uInt)room;
    int rc = inflate(&self->z, Z_NO_FLUSH);
    size_t made = room - self->z.avail_out;
    out += made;
    size -= made;
    self->out_left -= made;
    if (rc == Z_STREAM_END && self->out_left > 0)
      return false;
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
      return false;
    if (self->out_left == 0 &&
        !(rc == Z_STREAM_END ? self->z.avail_in == 0 && self->in_left == 0 : end_block(self)))
      return false;
  }
  return true;
}

/* appends @n values to @out, which grows as they arrive */
static PlaStatus
decoder_read(Decoder *self, uint64_t n, PlaBytes *out, PlaError *err)
{
  const Array *array = self->array;
  if (self->text) {
    char what[256];
    snprintf(what, sizeof what, "the array %.200s", array->name);
    return pla_reader_numbers(&self->reader, array->dtype, n, what, out, err);
  }
  if (n > self->left)
    return pla_reader_fail_byte(&self->reader, err,
                                "the array %.200s is too short for what refers to it; write the "
                                "file again",
                                array->name);
  size_t size = pla_dtype_size(array->dtype);
  self->left -= n;
  while (n > 0) {
    size_t piece = n < 65536 ? (size_t)n : 65536;
    size_t grown = out->size + out->size / 2, need = out->size + piece * size;
    size_t most = out->size + (size_t)n * size;
    grown = grown < need ? need : grown > most ? most : grown;
    if (out->capacity < need && !pla_bytes_reserve(out, grown))
      return pla_fail_memory(err, self->reader.path);
    uint8_t *to = out->data + out->size;
    if (self->compressed ? !inflate_bytes(self, to, piece * size)
                         : !read_stored(self, to, piece * size))
      return fail_damaged(self, err);
    if (self->swap)
      pla_dtype_swap_bytes(array->dtype, to, piece);
    out->size += piece * size;
    n -= piece;
  }
  return PLA_OK;
}

/* ---- from arrays to a mesh ---- */

static const Array *
find_array(const Vtk *vtk, Section section, const char *name)
{
  for (int i = 0; i < vtk->n_arrays; i++)
    if (vtk->array[i].section == section && (!name || strcmp(vtk->array[i].name, name) == 0))
      return &vtk->array[i];
  return NULL;
}

static PlaStatus
fail_missing(const Vtk *vtk, Section section, const char *name, PlaError *err)
{
  return pla_fail(err, PLA_ERR_FORMAT, "%s: <%s> has no array %s; write the file again",
                  vtk->reader.path, section_names[section], name);
}

static bool
step(Vtk *vtk, double fraction)
{
  if (!pla_progress_step(vtk->reader.progress, fraction))
    vtk->reader.cancelled = true;
  return !vtk->reader.cancelled;
}

static PlaStatus
read_points(Vtk *vtk, PlaError *err)
{
  enum { PIECE = 8192 }; /* vertices */
  if (vtk->n_points == 0)
    return PLA_OK;
  const Array *array = find_array(vtk, POINTS, NULL);
  if (!array)
    return fail_missing(vtk, POINTS, "Points", err);
  if (array->n_components != 3)
    return pla_fail(err, PLA_ERR_FORMAT, "%s: points have %d coordinates, not 3", vtk->reader.path,
                    array->n_components);
  Decoder *decoder;
  PlaBytes piece = { 0 };
  PlaStatus st = decoder_new(vtk, array, 3 * vtk->n_points, &decoder, err);
  vtk->builder.single = array->dtype == PLA_F32;
  for (uint64_t done = 0; done < vtk->n_points && st == PLA_OK;) {
    size_t n = vtk->n_points - done < PIECE ? (size_t)(vtk->n_points - done) : PIECE;
    piece.size = 0;
    st = decoder_read(decoder, 3 * n, &piece, err);
    if (st == PLA_OK)
      st = pla_mesh_builder_verts(&vtk->builder, array->dtype, piece.data, n, err);
    if (st == PLA_OK && !step(vtk, 0.3 * (double)(done += n) / (double)vtk->n_points))
      st = pla_fail_cancelled(err);
  }
  pla_bytes_clear(&piece);
  decoder_free(decoder);
  return st;
}

/* @n whole numbers of any type, appended to @out as int64_t */
static PlaStatus
read_indices(Decoder *decoder, uint64_t n, PlaBytes *scratch, PlaBytes *out, PlaError *err)
{
  while (n > 0) {
    size_t piece = n < 65536 ? (size_t)n : 65536;
    scratch->size = 0;
    PlaStatus st = decoder_read(decoder, piece, scratch, err);
    if (st != PLA_OK)
      return st;
    if (!pla_bytes_append(out, NULL, 0) ||
        (out->capacity - out->size < piece * 8 &&
         !pla_bytes_reserve(out, out->size + out->size / 2 + piece * 8)))
      return pla_fail_memory(err, decoder->reader.path);
    int64_t *to = (int64_t *)(out->data + out->size);
    PlaDType dtype = decoder->array->dtype;
    if (dtype == PLA_I64)
      memcpy(to, scratch->data, piece * 8);
    else if (dtype == PLA_I32)
      for (size_t i = 0; i < piece; i++)
        to[i] = ((const int32_t *)scratch->data)[i];
    else
      for (size_t i = 0; i < piece; i++)
        to[i] = (int64_t)pla_dtype_get(dtype, scratch->data, i);
    out->size += piece * 8;
    n -= piece;
  }
  return PLA_OK;
}

static PlaStatus
read_cells(Vtk *vtk, Section section, double from, double to, PlaError *err)
{
  enum { PIECE = 8192 }; /* cells */
  static const int implied[] = { [VERTS] = PLA_CELL_POLY_VERTEX,
                                 [LINES] = PLA_CELL_POLY_LINE,
                                 [POLYS] = PLA_CELL_POLYGON,
                                 [STRIPS] = PLA_CELL_STRIP };
  uint64_t n_cells = vtk->n_cells[section];
  if (n_cells == 0)
    return PLA_OK;
  static const char *const names[3] = { "connectivity", "offsets", "types" };
  int n_arrays = section == CELLS ? 3 : 2;
  Decoder *decoder[3] = { NULL };
  PlaStatus st = PLA_OK;
  for (int k = 0; k < n_arrays && st == PLA_OK; k++) {
    const Array *array = find_array(vtk, section, names[k]);
    if (!array)
      st = fail_missing(vtk, section, names[k], err);
    else if (!pla_dtype_is_integer(array->dtype))
      st = pla_fail(err, PLA_ERR_FORMAT, "%s: the array %s does not hold whole numbers",
                    vtk->reader.path, names[k]);
    else
      st = decoder_new(vtk, array, k == 0 ? UINT64_MAX : n_cells, &decoder[k], err);
  }

  PlaBytes scratch = { 0 }, vert = { 0 }, offset = { 0 }, type = { 0 };
  int64_t last = 0;
  for (uint64_t done = 0; done < n_cells && st == PLA_OK;) {
    size_t n = n_cells - done < PIECE ? (size_t)(n_cells - done) : PIECE;
    vert.size = offset.size = type.size = 0;
    st = read_indices(decoder[1], n, &scratch, &offset, err);
    if (st == PLA_OK && section == CELLS)
      st = read_indices(decoder[2], n, &scratch, &type, err);
    const int64_t *end = (const int64_t *)offset.data;
    const int64_t *types = (const int64_t *)type.data;
    int64_t first = last;
    for (size_t i = 0; i < n && st == PLA_OK; last = end[i++])
      if (end[i] < last)
        st =
            pla_fail(err, PLA_ERR_FORMAT,
                     "%s: the offset of cell %" PRIu64 " is smaller than the one before; write the "
                     "file again",
                     vtk->reader.path, done + i);
    if (st == PLA_OK)
      st = read_indices(decoder[0], (uint64_t)(last - first), &scratch, &vert, err);
    const int64_t *at = (const int64_t *)vert.data;
    for (size_t i = 0; i < n && st == PLA_OK; i++) {
      size_t size = (size_t)(end[i] - (i > 0 ? end[i - 1] : first));
      int kind = section != CELLS                      ? implied[section]
                 : types[i] < 0 || types[i] > INT8_MAX ? INT8_MAX
                                                       : (int)types[i];
      st = pla_mesh_builder_cell(&vtk->builder, kind, at, size, err);
      at = at ? at + size : NULL;
    }
    if (st == PLA_OK && !step(vtk, from + (to - from) * (double)(done += n) / (double)n_cells))
      st = pla_fail_cancelled(err);
  }
  pla_bytes_clear(&scratch);
  pla_bytes_clear(&vert);
  pla_bytes_clear(&offset);
  pla_bytes_clear(&type);
  for (int k = 0; k < 3; k++)
    decoder_free(decoder[k]);
  return st;
}

static PlaStatus
read_field(Vtk *vtk, const Array *array, PlaError *err)
{
  PlaFieldPlace place = array->section == POINT_DATA ? PLA_ON_VERTS : PLA_ON_CELLS;
  uint64_t n = place == PLA_ON_VERTS ? vtk->n_points : vtk->builder.n_cells;
  Decoder *decoder = NULL;
  PlaBytes data = { 0 };
  PlaStatus st = PLA_OK;
  n *= (uint64_t)array->n_components; /* both below 2^31 */
  if (n > 0) {
    st = decoder_new(vtk, array, n, &decoder, err);
    if (st == PLA_OK)
      st = decoder_read(decoder, n, &data, err);
  } else if (!pla_bytes_reserve(&data, 1)) {
    st = pla_fail_memory(err, vtk->reader.path);
  }
  decoder_free(decoder);
  if (st != PLA_OK) {
    pla_bytes_clear(&data);
    return st;
  }
  return pla_mesh_builder_take_field(&vtk->builder, array->name, place, array->dtype,
                                     array->n_components, data.data, err);
}

static PlaStatus
read_vtk_xml(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Vtk vtk = { 0 };
  PlaStatus st = pla_reader_open(&vtk.reader, path, opts->progress, err);
  if (st != PLA_OK)
    return st;
  pla_mesh_builder_init(&vtk.builder, path, opts);
  PlaProgress *progress = vtk.reader.progress;
  vtk.reader.progress = NULL; /* the arrays tell the progress, not the XML */
  st = read_xml(&vtk, err);
  vtk.reader.progress = progress;
  if (st == PLA_OK)
    st = read_points(&vtk, err);
  for (int s = VERTS; s <= CELLS && st == PLA_OK; s++)
    st = read_cells(&vtk, (Section)s, 0.3, 0.8, err);
  for (int i = 0; i < vtk.n_arrays && st == PLA_OK; i++) {
    if (vtk.array[i].section == POINT_DATA || vtk.array[i].section == CELL_DATA)
      st = read_field(&vtk, &vtk.array[i], err);
    if (st == PLA_OK && !step(&vtk, 0.8 + 0.2 * (i + 1) / vtk.n_arrays))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK)
    st = pla_mesh_builder_finish(&vtk.builder, out, err);
  pla_mesh_builder_clear(&vtk.builder);
  for (int i = 0; i < vtk.n_arrays; i++)
    free(vtk.array[i].name);
  free(vtk.array);
  pla_reader_close(&vtk.reader);
  return st;
}

/* ---- formats ---- */

static PlaStatus
write_vtu(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  return pla_vtk_xml_write(path, item->mesh, false, opts, err);
}

static PlaStatus
write_vtp(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  return pla_vtk_xml_write(path, item->mesh, true, opts, err);
}

const PlaFormat pla_format_vtu = {
  .id = "vtu",
  .title = "VTK unstructured grid (XML)",
  .extensions = (const char *const[]){ ".vtu", NULL },
  .kind = PLA_KIND_MESH,
  .probe = probe_vtu,
  .read = read_vtk_xml,
  .write = write_vtu,
};

const PlaFormat pla_format_vtp = {
  .id = "vtp",
  .title = "VTK surface (XML)",
  .extensions = (const char *const[]){ ".vtp", NULL },
  .kind = PLA_KIND_MESH,
  .probe = probe_vtp,
  .read = read_vtk_xml,
  .write = write_vtp,
};
