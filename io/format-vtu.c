/* VTK's XML meshes: .vtu (UnstructuredGrid) and .vtp (PolyData), read and written.
 *
 * A file names its arrays in XML and keeps their values inside the elements (as text or base64) or
 * in one block at the end (as bytes or base64), each either plain,
 *   [n bytes][bytes]
 * or compressed in blocks,
 *   [n blocks][block size][size of the last block or 0][compressed sizes][blocks]
 * with words of 32 or 64 bits ("header_type") in the byte order of the file.  The first pass over
 * the XML notes where each array lies; the arrays are then decoded in pieces straight into the
 * mesh, cells from three places at once (connectivity, offsets, types). */
#include "io/format.h"

#include "io/base64.h"
#include "io/mesh-builder.h"
#include "io/mesh-writer.h"
#include "io/pvd.h"
#include "io/source.h"
#include "io/xml.h"

#include <inttypes.h>
#include <limits.h>
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

static const char *const type_names[PLA_N_DTYPES] = {
  [PLA_I8] = "Int8",     [PLA_U8] = "UInt8",    [PLA_I16] = "Int16", [PLA_U16] = "UInt16",
  [PLA_I32] = "Int32",   [PLA_U32] = "UInt32",  [PLA_I64] = "Int64", [PLA_U64] = "UInt64",
  [PLA_F32] = "Float32", [PLA_F64] = "Float64",
};

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
  while (dtype < PLA_N_DTYPES && (!type || strcmp(type, type_names[dtype]) != 0))
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

/* ---- writing ---- */

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
                         type_names[array->dtype], (int)name.size, (const char *)name.data,
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

static PlaStatus
write_vtk_xml(const char *path, const PlaMesh *mesh, bool surface, const PlaWriteOptions *opts,
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

static PlaStatus
write_vtu(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  return write_vtk_xml(path, item->mesh, false, opts, err);
}

static PlaStatus
write_vtp(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  return write_vtk_xml(path, item->mesh, true, opts, err);
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

PlaStatus
pla_pvd_write(const char *path, int n, const double *time_s, const char *const *file, PlaError *err)
{
  PlaBytes text = { 0 };
  bool ok = pla_bytes_printf(&text, "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" "
                                    "version=\"1.0\" byte_order=\"LittleEndian\">\n"
                                    "  <Collection>\n");
  for (int i = 0; i < n && ok; i++) {
    char number[32];
    ok = pla_bytes_printf(&text, "    <DataSet timestep=\"%s\" part=\"0\" file=\"",
                          pla_format_double(time_s[i], number)) &&
         pla_xml_escape(file[i], &text) && pla_bytes_printf(&text, "\"/>\n");
  }
  ok = ok && pla_bytes_printf(&text, "  </Collection>\n</VTKFile>\n");
  PlaStatus st =
      ok ? pla_output_write(path, text.data, text.size, err) : pla_fail_memory(err, path);
  pla_bytes_clear(&text);
  return st;
}
