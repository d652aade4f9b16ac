/* Legacy VTK meshes (.vtk, versions 1.0 to 5.1): UNSTRUCTURED_GRID and POLYDATA, text and binary
 * (always big-endian), read and written.
 *
 * Cells stand either as [n, id, ...] runs (up to 4.2) or as OFFSETS and CONNECTIVITY (5.x), and
 * their types come later: the walk over the file notes where they lie, and they are read at the
 * end, side by side.  We write 4.2, which every reader of the format knows. */
#include "io/formats/formats.h"
#include "io/formats/mesh-builder.h"
#include "io/formats/mesh-writer.h"
#include "io/stream/reader.h"
#include "io/stream/source.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* cells of POLYDATA in the order that cell data follow, then those of UNSTRUCTURED_GRID */
enum { VERTICES = 0, LINES, POLYGONS, STRIPS, CELLS, N_SECTIONS };
static const char *const section_names[N_SECTIONS] = { "VERTICES", "LINES", "POLYGONS",
                                                       "TRIANGLE_STRIPS", "CELLS" };

/* an array of whole numbers somewhere in the file */
typedef struct {
  uint64_t at;
  int64_t line;
  uint64_t n;
  PlaDType dtype;
} Place;

typedef struct {
  bool given;
  uint64_t n_cells;
  bool has_offsets; /* the layout of 5.x */
  Place offsets, ids;
} Cells;

typedef struct {
  PlaReader reader;
  PlaMeshBuilder builder;
  bool text;
  int version; /* the major one */
  bool has_points, has_types;
  uint64_t n_points;
  Cells cells[N_SECTIONS];
  Place types;
} Vtk;

static const struct {
  const char *name;
  PlaDType dtype;
} types[] = {
  { "char", PLA_I8 },           { "signed_char", PLA_I8 },     { "unsigned_char", PLA_U8 },
  { "short", PLA_I16 },         { "unsigned_short", PLA_U16 }, { "int", PLA_I32 },
  { "unsigned_int", PLA_U32 },  { "long", PLA_I64 },           { "unsigned_long", PLA_U64 },
  { "vtktypeint64", PLA_I64 },  { "vtktypeuint64", PLA_U64 },  { "vtkidtype", PLA_I32 },
  { "float", PLA_F32 },         { "double", PLA_F64 },         { "vtktypeint32", PLA_I32 },
  { "vtktypeuint32", PLA_U32 }, { "vtktypeint16", PLA_I16 },   { "vtktypeuint16", PLA_U16 },
  { "vtktypeint8", PLA_I8 },    { "vtktypeuint8", PLA_U8 },
};

/* the names of our types in files */
static const char *const out_types[PLA_N_DTYPES] = {
  [PLA_I8] = "char",          [PLA_U8] = "unsigned_char",
  [PLA_I16] = "short",        [PLA_U16] = "unsigned_short",
  [PLA_I32] = "int",          [PLA_U32] = "unsigned_int",
  [PLA_I64] = "vtktypeint64", [PLA_U64] = "vtktypeuint64",
  [PLA_F32] = "float",        [PLA_F64] = "double",
};

static bool
probe_vtk(const char *path, const uint8_t *head, size_t n)
{
  return n > 14 && memcmp(head, "# vtk DataFile", 14) == 0;
}

static bool
word_is(const char *word, size_t len, const char *expected)
{
  return strlen(expected) == len && strncasecmp(word, expected, len) == 0;
}

static PlaStatus
fail_line(const Vtk *vtk, const char *what, PlaError *err)
{
  return pla_reader_fail_line(&vtk->reader, err, "%s is missing or wrong; correct the file", what);
}

/* a type name; "bit" gives *is_bit and bytes */
static PlaStatus
read_type(Vtk *vtk, PlaDType *dtype, bool *is_bit, PlaError *err)
{
  const char *word;
  size_t len;
  *is_bit = false;
  if (pla_reader_word_on_line(&vtk->reader, &word, &len)) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
      if (word_is(word, len, types[i].name)) {
        *dtype = types[i].dtype;
        return PLA_OK;
      }
    if (word_is(word, len, "bit")) {
      *dtype = PLA_U8;
      *is_bit = true;
      return PLA_OK;
    }
    return pla_reader_fail_line(&vtk->reader, err,
                                "arrays of type %.*s are none that Platysma reads",
                                (int)(len < 40 ? len : 40), word);
  }
  return fail_line(vtk, "the type of an array", err);
}

/* a count that at least that many bytes of the file must follow */
static bool
read_count(Vtk *vtk, uint64_t *out)
{
  int64_t n;
  if (!pla_reader_int64(&vtk->reader, &n) || n < 0)
    return false;
  *out = (uint64_t)n;
  return true;
}

/* binary data start right behind the line end */
static void
end_line(Vtk *vtk)
{
  pla_reader_skip_line(&vtk->reader);
}

/* appends @n values at the reader's place; the line was ended */
static PlaStatus
read_values(Vtk *vtk, PlaDType dtype, bool is_bit, uint64_t n, const char *what, PlaBytes *out,
            PlaError *err)
{
  bool swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
  if (vtk->text)
    return pla_reader_numbers(&vtk->reader, dtype, n, what, out, err);
  if (!is_bit)
    return pla_reader_elements(&vtk->reader, dtype, n, swap, what, out, err);
  /* eight to a byte, the first in the highest bit */
  size_t start = out->size;
  PlaStatus st =
      pla_reader_elements(&vtk->reader, PLA_U8, n / 8 + (n % 8 > 0), false, what, out, err);
  if (st == PLA_OK && !pla_bytes_reserve(out, start + (size_t)n + 1))
    st = pla_fail_memory(err, vtk->reader.path);
  for (size_t i = (size_t)n; i-- > 0 && st == PLA_OK;)
    out->data[start + i] = out->data[start + i / 8] >> (7 - i % 8) & 1;
  if (st == PLA_OK)
    out->size = start + (size_t)n;
  return st;
}

/* passes @n whole numbers and notes where they are */
static PlaStatus
pass_indices(Vtk *vtk, PlaDType dtype, uint64_t n, const char *what, Place *place, PlaError *err)
{
  PlaReader *reader = &vtk->reader;
  *place = (Place){ pla_reader_tell(reader), reader->line, n, dtype };
  if (vtk->text) {
    const char *word;
    size_t len;
    if (n > pla_reader_left(reader) / 2 + 1)
      return pla_reader_fail_line(reader, err,
                                  "%s claims %" PRIu64 " numbers, but the file ends "
                                  "before; copy it again",
                                  what, n);
    for (uint64_t i = 0; i < n; i++)
      if (!pla_reader_word(reader, &word, &len))
        return pla_reader_fail_line(reader, err, "%s ends early; copy the file again", what);
    return PLA_OK;
  }
  if (n > pla_reader_left(reader) / pla_dtype_size(dtype))
    return pla_reader_fail_byte(reader, err,
                                "%s claims %" PRIu64 " numbers, but only %" PRIu64
                                " bytes follow; copy the file again",
                                what, n, pla_reader_left(reader));
  pla_reader_skip(reader, n * pla_dtype_size(dtype));
  return PLA_OK;
}

static PlaStatus
read_points(Vtk *vtk, PlaError *err)
{
  enum { PIECE = 8192 }; /* vertices */
  PlaDType dtype;
  bool is_bit;
  if (vtk->has_points || !read_count(vtk, &vtk->n_points) || vtk->n_points > INT_MAX)
    return fail_line(vtk, "the number of points", err);
  PlaStatus st = read_type(vtk, &dtype, &is_bit, err);
  end_line(vtk);
  vtk->has_points = true;
  vtk->builder.single = st == PLA_OK && dtype == PLA_F32;
  PlaBytes piece = { 0 };
  if (st == PLA_OK && 3 * vtk->n_points > pla_reader_left(&vtk->reader))
    st = pla_reader_fail_byte(&vtk->reader, err,
                              "%" PRIu64 " points are claimed, but only %" PRIu64
                              " bytes follow; copy the file again",
                              vtk->n_points, pla_reader_left(&vtk->reader));
  for (uint64_t done = 0; done < vtk->n_points && st == PLA_OK;) {
    size_t n = vtk->n_points - done < PIECE ? (size_t)(vtk->n_points - done) : PIECE;
    piece.size = 0;
    st = read_values(vtk, dtype, is_bit, 3 * n, "POINTS", &piece, err);
    if (st == PLA_OK)
      st = pla_mesh_builder_verts(&vtk->builder, dtype, piece.data, n, err);
    done += n;
  }
  pla_bytes_clear(&piece);
  return st;
}

static PlaStatus
expect_word(Vtk *vtk, const char *expected, PlaError *err)
{
  const char *word;
  size_t len;
  return pla_reader_word(&vtk->reader, &word, &len) && word_is(word, len, expected)
             ? PLA_OK
             : fail_line(vtk, expected, err);
}

static PlaStatus
read_index_array(Vtk *vtk, const char *name, uint64_t n, Place *place, PlaError *err)
{
  PlaDType dtype;
  bool is_bit;
  PlaStatus st = expect_word(vtk, name, err);
  if (st == PLA_OK)
    st = read_type(vtk, &dtype, &is_bit, err);
  if (st == PLA_OK && (is_bit || !pla_dtype_is_integer(dtype)))
    st = fail_line(vtk, "an array of whole numbers", err);
  end_line(vtk);
  return st == PLA_OK ? pass_indices(vtk, dtype, n, name, place, err) : st;
}

static PlaStatus
read_cells_header(Vtk *vtk, int section, PlaError *err)
{
  Cells *cells = &vtk->cells[section];
  uint64_t n, size;
  if (cells->given || !read_count(vtk, &n) || !read_count(vtk, &size))
    return fail_line(vtk, "the number of cells", err);
  end_line(vtk);
  cells->given = true;
  cells->has_offsets = vtk->version >= 5;
  PlaStatus st = PLA_OK;
  if (cells->has_offsets) {
    cells->n_cells = n > 0 ? n - 1 : 0;
    if (n > 0 || size > 0) {
      st = read_index_array(vtk, "OFFSETS", n, &cells->offsets, err);
      if (st == PLA_OK)
        st = read_index_array(vtk, "CONNECTIVITY", size, &cells->ids, err);
    }
  } else {
    cells->n_cells = n;
    st = pass_indices(vtk, PLA_I32, size, section_names[section], &cells->ids, err);
    if (st == PLA_OK && n > size)
      st = fail_line(vtk, "the number of cells", err);
  }
  if (st == PLA_OK && cells->n_cells > INT_MAX)
    st = fail_line(vtk, "the number of cells", err);
  return st;
}

static PlaStatus
read_types_header(Vtk *vtk, PlaError *err)
{
  uint64_t n;
  if (vtk->has_types || !read_count(vtk, &n) || n != vtk->cells[CELLS].n_cells)
    return fail_line(vtk, "the number of cell types", err);
  end_line(vtk);
  vtk->has_types = true;
  return pass_indices(vtk, PLA_I32, n, "CELL_TYPES", &vtk->types, err);
}

/* reads @n tuples and keeps them as a field, or drops them where they are on neither */
static PlaStatus
read_field(Vtk *vtk, int place, const char *name, PlaDType dtype, bool is_bit, uint64_t n_tuples,
           uint64_t n_components, PlaError *err)
{
  uint64_t n;
  if (n_components < 1 || n_components > 65536 ||
      __builtin_mul_overflow(n_tuples, n_components, &n))
    return fail_line(vtk, "the number of components of an array", err);
  PlaBytes data = { 0 };
  if (!pla_bytes_reserve(&data, 1))
    return pla_fail_memory(err, vtk->reader.path);
  char what[300];
  snprintf(what, sizeof what, "the array %.250s", name);
  PlaStatus st = read_values(vtk, dtype, is_bit, n, what, &data, err);
  if (st != PLA_OK || place < 0) {
    pla_bytes_clear(&data);
    return st;
  }
  return pla_mesh_builder_take_field(&vtk->builder, name, (PlaFieldPlace)place, dtype,
                                     (int)n_components, data.data, err);
}

/* component names and the like, up to a blank line */
static void
skip_metadata(Vtk *vtk)
{
  const char *text;
  size_t len;
  end_line(vtk);
  while (pla_reader_line(&vtk->reader, &text, &len) && len > 0)
    ;
}

/* FIELD name n, then n arrays: name components tuples type */
static PlaStatus
read_field_block(Vtk *vtk, int place, uint64_t n_tuples, PlaError *err)
{
  PlaReader *reader = &vtk->reader;
  const char *word;
  size_t len;
  uint64_t n_arrays;
  if (!pla_reader_word(reader, &word, &len) || !read_count(vtk, &n_arrays) ||
      n_arrays > pla_reader_left(reader))
    return fail_line(vtk, "the number of arrays of FIELD", err);
  PlaStatus st = PLA_OK;
  for (uint64_t a = 0; a < n_arrays && st == PLA_OK; a++) {
    uint64_t n_components = 0, n = 0;
    PlaDType dtype = PLA_F64;
    bool is_bit = false;
    if (!pla_reader_word(reader, &word, &len))
      return fail_line(vtk, "an array of FIELD", err);
    if (word_is(word, len, "METADATA")) { /* of the array before */
      skip_metadata(vtk);
      a--;
      continue;
    }
    char *name = pla_name_decode(word, len);
    if (!name)
      return pla_fail_memory(err, reader->path);
    if (!read_count(vtk, &n_components) || !read_count(vtk, &n))
      st = fail_line(vtk, "the size of an array", err);
    else
      st = read_type(vtk, &dtype, &is_bit, err);
    end_line(vtk);
    if (st == PLA_OK && place >= 0 && n != n_tuples)
      st = pla_reader_fail_line(reader, err,
                                "the array %.200s has %" PRIu64 " values where %" PRIu64 " belong",
                                name, n, n_tuples);
    if (st == PLA_OK && n == 0 && n_components == 0)
      n_components = 1; /* how an empty array is written */
    if (st == PLA_OK)
      st = read_field(vtk, place, name, dtype, is_bit, n, n_components, err);
    free(name);
  }
  return st;
}

/* SCALARS, VECTORS and the like: the keyword was read */
static PlaStatus
read_attribute(Vtk *vtk, const char *keyword, int place, uint64_t n_tuples, PlaError *err)
{
  PlaReader *reader = &vtk->reader;
  const char *word;
  size_t len;
  uint64_t n_components = 1;
  PlaDType dtype = PLA_U8;
  bool is_bit = false;
  if (!pla_reader_word_on_line(reader, &word, &len))
    return fail_line(vtk, "the name of an array", err);
  char *name = pla_name_decode(word, len);
  if (!name)
    return pla_fail_memory(err, reader->path);
  PlaStatus st = PLA_OK;
  if (strcmp(keyword, "COLOR_SCALARS") == 0) {
    if (!read_count(vtk, &n_components))
      st = fail_line(vtk, "the number of colour components", err);
    dtype = vtk->text ? PLA_F32 : PLA_U8;
  } else {
    if (strcmp(keyword, "TEXTURE_COORDINATES") == 0 && !read_count(vtk, &n_components))
      st = fail_line(vtk, "the number of texture coordinates", err);
    if (st == PLA_OK)
      st = read_type(vtk, &dtype, &is_bit, err);
  }
  static const struct {
    const char *keyword;
    uint64_t n;
  } fixed[] = { { "VECTORS", 3 }, { "NORMALS", 3 }, { "TENSORS", 9 }, { "TENSORS6", 6 } };
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    if (strcmp(keyword, fixed[i].keyword) == 0)
      n_components = fixed[i].n;
  if (st == PLA_OK && strcmp(keyword, "SCALARS") == 0) {
    if (pla_reader_word_on_line(reader, &word, &len)) {
      PlaText text = { .at = word, .end = word + len };
      int64_t n;
      if (!pla_text_int64(&text, &n) || n < 1)
        st = fail_line(vtk, "the number of components", err);
      else
        n_components = (uint64_t)n;
    }
    end_line(vtk);
    if (st == PLA_OK)
      st = expect_word(vtk, "LOOKUP_TABLE", err);
  }
  end_line(vtk);
  if (st == PLA_OK)
    st = read_field(vtk, place, name, dtype, is_bit, n_tuples, n_components, err);
  free(name);
  return st;
}

static PlaStatus
read_lookup_table(Vtk *vtk, PlaError *err)
{
  const char *word;
  size_t len;
  uint64_t n;
  if (!pla_reader_word_on_line(&vtk->reader, &word, &len) || !read_count(vtk, &n))
    return fail_line(vtk, "the size of LOOKUP_TABLE", err);
  end_line(vtk);
  return read_field(vtk, -1, "LOOKUP_TABLE", vtk->text ? PLA_F32 : PLA_U8, false, n, 4, err);
}

static uint64_t
n_all_cells(const Vtk *vtk)
{
  uint64_t n = 0;
  for (int s = 0; s < N_SECTIONS; s++)
    n += vtk->cells[s].n_cells;
  return n;
}

/* the walk over the file behind "DATASET type" */
static PlaStatus
read_sections(Vtk *vtk, PlaError *err)
{
  static const char *const attributes[] = {
    "SCALARS",  "COLOR_SCALARS",       "VECTORS",    "NORMALS",      "TENSORS",
    "TENSORS6", "TEXTURE_COORDINATES", "GLOBAL_IDS", "PEDIGREE_IDS", "EDGE_FLAGS"
  };
  PlaReader *reader = &vtk->reader;
  PlaStatus st = PLA_OK;
  int place = -1;
  uint64_t n_tuples = 0;
  const char *word;
  size_t len;
  while (st == PLA_OK && pla_reader_word(reader, &word, &len)) {
    int section = 0;
    size_t attribute = 0;
    while (section < N_SECTIONS && !word_is(word, len, section_names[section]))
      section++;
    while (attribute < sizeof attributes / sizeof *attributes &&
           !word_is(word, len, attributes[attribute]))
      attribute++;
    if (word_is(word, len, "POINTS")) {
      st = read_points(vtk, err);
    } else if (section < N_SECTIONS) {
      st = read_cells_header(vtk, section, err);
    } else if (word_is(word, len, "CELL_TYPES")) {
      st = read_types_header(vtk, err);
    } else if (word_is(word, len, "POINT_DATA") || word_is(word, len, "CELL_DATA")) {
      place = word_is(word, len, "POINT_DATA") ? PLA_ON_VERTS : PLA_ON_CELLS;
      if (!read_count(vtk, &n_tuples) ||
          n_tuples != (place == PLA_ON_VERTS ? vtk->n_points : n_all_cells(vtk)))
        st = fail_line(vtk, "the number of values per point or cell", err);
    } else if (word_is(word, len, "FIELD")) {
      st = read_field_block(vtk, place, n_tuples, err);
    } else if (word_is(word, len, "METADATA")) {
      skip_metadata(vtk);
    } else if (word_is(word, len, "LOOKUP_TABLE")) {
      st = read_lookup_table(vtk, err);
    } else if (attribute < sizeof attributes / sizeof *attributes && place >= 0) {
      st = read_attribute(vtk, attributes[attribute], place, n_tuples, err);
    } else {
      st = pla_reader_fail_line(reader, err, "'%.*s' starts no part of a VTK mesh",
                                (int)(len < 40 ? len : 40), word);
    }
  }
  if (st == PLA_OK && (reader->cancelled || reader->why))
    st = pla_reader_fail_line(reader, err, "the file ends early");
  return st;
}

/* ---- cells, from noted places ---- */

typedef struct {
  PlaReader reader;
  bool text;
  PlaDType dtype;
  uint64_t left;
} Indices;

static PlaStatus
indices_open(Indices *self, const Vtk *vtk, const Place *place, PlaError *err)
{
  PlaStatus st = pla_reader_clone(&vtk->reader, &self->reader, err);
  if (st != PLA_OK)
    return st;
  self->text = vtk->text;
  self->dtype = place->dtype;
  self->left = place->n;
  if (place->at > self->reader.size)
    return pla_reader_fail_byte(&vtk->reader, err, "the file ends early");
  pla_reader_seek(&self->reader, place->at, place->line);
  return PLA_OK;
}

static bool
indices_next(Indices *self, int64_t *out)
{
  if (self->left == 0)
    return false;
  self->left--;
  if (self->text)
    return pla_reader_int64(&self->reader, out);
  uint64_t value;
  size_t size = pla_dtype_size(self->dtype);
  if (pla_reader_fill(&self->reader, size) < size)
    return false;
  memcpy(&value, self->reader.at, size);
  self->reader.at += size;
  if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
    pla_dtype_swap_bytes(self->dtype, &value, 1);
  *out = size == 8 ? (int64_t)value : (int64_t)pla_dtype_get(self->dtype, &value, 0);
  return true;
}

static PlaStatus
read_cells(Vtk *vtk, int section, PlaError *err)
{
  static const int implied[] = { [VERTICES] = PLA_CELL_POLY_VERTEX,
                                 [LINES] = PLA_CELL_POLY_LINE,
                                 [POLYGONS] = PLA_CELL_POLYGON,
                                 [STRIPS] = PLA_CELL_STRIP };
  const Cells *cells = &vtk->cells[section];
  if (cells->n_cells == 0)
    return PLA_OK;
  if (section == CELLS && !vtk->has_types)
    return pla_fail(err, PLA_ERR_FORMAT, "%s has CELLS but no CELL_TYPES; copy it again",
                    vtk->reader.path);
  Indices ids = { 0 }, offsets = { 0 }, kinds = { 0 };
  PlaBytes vert = { 0 };
  int64_t start = 0;
  PlaStatus st = indices_open(&ids, vtk, &cells->ids, err);
  if (st == PLA_OK && cells->has_offsets)
    st = indices_open(&offsets, vtk, &cells->offsets, err);
  if (st == PLA_OK && section == CELLS)
    st = indices_open(&kinds, vtk, &vtk->types, err);
  if (st == PLA_OK && cells->has_offsets && !indices_next(&offsets, &start))
    st = pla_reader_fail_line(&offsets.reader, err, "an offset is missing or wrong");
  for (uint64_t c = 0; c < cells->n_cells && st == PLA_OK; c++) {
    int64_t n = 0, type = section == CELLS ? 0 : implied[section], end;
    if (section == CELLS && !indices_next(&kinds, &type))
      st = pla_reader_fail_line(&kinds.reader, err, "the type of cell %" PRIu64 " is wrong", c);
    if (cells->has_offsets) {
      if (st == PLA_OK && (!indices_next(&offsets, &end) || __builtin_sub_overflow(end, start, &n)))
        st = pla_reader_fail_line(&offsets.reader, err, "the offset of cell %" PRIu64 " is wrong",
                                  c);
      start = st == PLA_OK ? end : 0;
    } else if (st == PLA_OK && !indices_next(&ids, &n)) {
      n = -1;
    }
    if (st == PLA_OK && (n < 0 || (uint64_t)n > ids.left))
      st = pla_reader_fail_byte(&ids.reader, err,
                                "cell %" PRIu64 " claims more vertices than the file lists", c);
    vert.size = 0;
    for (int64_t i = 0; i < n && st == PLA_OK; i++) {
      int64_t v;
      if (!indices_next(&ids, &v))
        st = ids.text
                 ? pla_reader_fail_line(&ids.reader, err,
                                        "a vertex of cell %" PRIu64 " is missing or wrong", c)
                 : pla_reader_fail_byte(&ids.reader, err, "the file ends within cell %" PRIu64, c);
      else if (!pla_bytes_append(&vert, &v, sizeof v))
        st = pla_fail_memory(err, vtk->reader.path);
    }
    if (st == PLA_OK)
      st = pla_mesh_builder_cell(&vtk->builder, type < 0 || type > INT8_MAX ? INT8_MAX : (int)type,
                                 (const int64_t *)vert.data, (size_t)n, err);
    if (st == PLA_OK && c % 65536 == 0 && !pla_progress_step(vtk->reader.progress, 1.0))
      st = pla_fail_cancelled(err);
  }
  pla_bytes_clear(&vert);
  pla_reader_close(&ids.reader);
  pla_reader_close(&offsets.reader);
  pla_reader_close(&kinds.reader);
  return st;
}

static PlaStatus
read_header(Vtk *vtk, PlaError *err)
{
  PlaReader *reader = &vtk->reader;
  const char *text, *word;
  size_t len;
  if (!pla_reader_line(reader, &text, &len) || !probe_vtk(NULL, (const uint8_t *)text, len))
    return pla_reader_fail_line(reader, err, "the file does not start with '# vtk DataFile'");
  const char *version = memmem(text, len, "Version ", 8);
  vtk->version = version && version + 8 < text + len && version[8] >= '1' && version[8] <= '5'
                     ? version[8] - '0'
                     : 0;
  if (vtk->version == 0)
    return pla_reader_fail_line(reader, err, "the version is none from 1.0 to 5.1");
  pla_reader_skip_line(reader); /* the title */
  if (!pla_reader_word(reader, &word, &len))
    len = 0;
  vtk->text = word_is(word, len, "ASCII");
  if (!vtk->text && !word_is(word, len, "BINARY"))
    return fail_line(vtk, "ASCII or BINARY", err);
  PlaStatus st = expect_word(vtk, "DATASET", err);
  if (st != PLA_OK)
    return st;
  if (!pla_reader_word(reader, &word, &len))
    return fail_line(vtk, "the type of the data set", err);
  if (!word_is(word, len, "UNSTRUCTURED_GRID") && !word_is(word, len, "POLYDATA"))
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s holds VTK %.*s, not a mesh; save it as UNSTRUCTURED_GRID or POLYDATA",
                    reader->path, (int)(len < 40 ? len : 40), word);
  return PLA_OK;
}

static PlaStatus
read_vtk(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Vtk vtk = { 0 };
  PlaStatus st = pla_reader_open(&vtk.reader, path, opts->progress, err);
  if (st != PLA_OK)
    return st;
  pla_mesh_builder_init(&vtk.builder, path, opts);
  st = read_header(&vtk, err);
  if (st == PLA_OK)
    st = read_sections(&vtk, err);
  if (st == PLA_OK && !vtk.has_points)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s holds no POINTS; copy it again", path);
  for (int s = 0; s < N_SECTIONS && st == PLA_OK; s++)
    st = read_cells(&vtk, s, err);
  if (st == PLA_OK)
    st = pla_mesh_builder_finish(&vtk.builder, out, err);
  pla_mesh_builder_clear(&vtk.builder);
  pla_reader_close(&vtk.reader);
  return st;
}

/* ---- writing ---- */

static void
write_values(PlaMeshWriter *writer, bool text, PlaDType dtype, const void *data, size_t n,
             size_t per_line)
{
  if (!text) {
    pla_mesh_writer_elements(writer, dtype, data, n);
    return;
  }
  for (size_t i = 0; i < n && !writer->cancelled; i++) {
    pla_mesh_writer_number(writer, dtype, data, i);
    pla_mesh_writer_bytes(writer, (i + 1) % per_line == 0 || i + 1 == n ? "\n" : " ", 1);
  }
}

static void
write_cell_lists(PlaMeshWriter *writer, bool text, const int *cells, int n, int corners)
{
  for (int c = 0; c < n && !writer->cancelled; c++) {
    int32_t list[9] = { corners };
    memcpy(list + 1, cells + (size_t)c * (size_t)corners, (size_t)corners * sizeof *cells);
    write_values(writer, text, PLA_I32, list, (size_t)corners + 1, (size_t)corners + 1);
  }
}

static PlaStatus
write_fields(PlaMeshWriter *writer, bool text, PlaFieldPlace place, PlaError *err)
{
  const PlaMesh *mesh = writer->mesh;
  int n_fields = 0;
  for (int f = 0; f < mesh->n_fields; f++)
    n_fields += mesh->field[f].place == place;
  if (n_fields == 0)
    return PLA_OK;
  pla_mesh_writer_printf(writer, "%s %zu\nFIELD FieldData %d\n",
                         place == PLA_ON_VERTS ? "POINT_DATA" : "CELL_DATA",
                         place == PLA_ON_VERTS ? (size_t)mesh->n_verts : pla_mesh_n_cells(mesh),
                         n_fields);
  for (int f = 0; f < mesh->n_fields; f++) {
    const PlaField *field = &mesh->field[f];
    if (field->place != place)
      continue;
    char *name = pla_name_encode(field->name);
    if (!name)
      return pla_fail_memory(err, writer->path);
    size_t n = pla_field_n_tuples(mesh, field);
    pla_mesh_writer_printf(writer, "%s %d %zu %s\n", name, field->n_components, n,
                           out_types[field->dtype]);
    free(name);
    write_values(writer, text, field->dtype, field->data, n * (size_t)field->n_components,
                 (size_t)field->n_components);
    if (!text)
      pla_mesh_writer_bytes(writer, "\n", 1);
  }
  return PLA_OK;
}

static PlaStatus
write_vtk(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaMesh *mesh = item->mesh;
  bool text = opts->text, surface = mesh->n_tets == 0 && mesh->n_hexes == 0;
  size_t size = 4 * (size_t)mesh->n_tris + 5 * (size_t)mesh->n_tets + 9 * (size_t)mesh->n_hexes;
  PlaMeshWriter writer;
  PlaStatus st = pla_mesh_writer_open(&writer, path, mesh, opts, err);
  if (st != PLA_OK)
    return st;
  writer.big_endian = true;
  PlaDType dtype = pla_mesh_mm_dtype(mesh);
  pla_mesh_writer_printf(&writer,
                         "# vtk DataFile Version 4.2\nmillimetres, "
                         "right-anterior-superior\n%s\nDATASET %s\nPOINTS %d %s\n",
                         text ? "ASCII" : "BINARY", surface ? "POLYDATA" : "UNSTRUCTURED_GRID",
                         mesh->n_verts, out_types[dtype]);
  double mm[3 * 256];
  for (size_t v = 0; v < (size_t)mesh->n_verts && !writer.cancelled; v += 256) {
    size_t n = (size_t)mesh->n_verts - v < 256 ? (size_t)mesh->n_verts - v : 256;
    pla_mesh_to_mm(mesh, v, n, mm);
    write_values(&writer, text, dtype, mm, 3 * n, 3);
  }
  pla_mesh_writer_printf(&writer, "\n%s %zu %zu\n", surface ? "POLYGONS" : "CELLS",
                         pla_mesh_n_cells(mesh), size);
  write_cell_lists(&writer, text, mesh->tri, mesh->n_tris, 3);
  write_cell_lists(&writer, text, mesh->tet, mesh->n_tets, 4);
  write_cell_lists(&writer, text, mesh->hex, mesh->n_hexes, 8);
  if (!surface) {
    pla_mesh_writer_printf(&writer, "\nCELL_TYPES %zu\n", pla_mesh_n_cells(mesh));
    const int n_cells[3] = { mesh->n_tris, mesh->n_tets, mesh->n_hexes };
    static const int32_t kinds[3] = { PLA_CELL_TRIANGLE, PLA_CELL_TET, PLA_CELL_HEX };
    for (int k = 0; k < 3; k++)
      for (int c = 0; c < n_cells[k] && !writer.cancelled; c++)
        write_values(&writer, text, PLA_I32, &kinds[k], 1, 1);
  }
  pla_mesh_writer_text(&writer, "\n");
  st = write_fields(&writer, text, PLA_ON_VERTS, err);
  if (st == PLA_OK)
    st = write_fields(&writer, text, PLA_ON_CELLS, err);
  return pla_mesh_writer_close(&writer, st, err);
}

const PlaFormat pla_format_vtk = {
  .id = "vtk",
  .title = "VTK mesh (legacy)",
  .extensions = (const char *const[]){ ".vtk", NULL },
  .kind = PLA_KIND_MESH,
  .probe = probe_vtk,
  .read = read_vtk,
  .write = write_vtk,
};
