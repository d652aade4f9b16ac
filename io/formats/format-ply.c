/* PLY surfaces (Stanford polygon files), text and binary of both byte orders, read and written.
 *
 * Scalar properties of vertices and faces beyond position and corners are fields; a run of
 * properties name_0, name_1, ... of one type is one field with that many components. */
#include "io/formats/formats.h"
#include "io/formats/mesh-builder.h"
#include "io/formats/mesh-writer.h"
#include "io/stream/reader.h"
#include "io/stream/source.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 16, MAX_PROPERTIES = 256 };

typedef enum { ROLE_FIELD = 0, ROLE_X, ROLE_Y, ROLE_Z, ROLE_CORNERS, ROLE_NONE } Role;

typedef struct {
  char *name; /* owned */
  PlaDType dtype, count_dtype;
  bool is_list;
  Role role;
  PlaBytes data; /* of a field */
} Property;

typedef struct {
  char *name; /* owned */
  uint64_t n;
  int n_properties;
  Property *property;
} Element;

typedef struct {
  PlaReader reader;
  PlaMeshBuilder builder;
  bool text, swap;
  int n_elements;
  Element element[MAX_ELEMENTS];
  PlaBytes list; /* int64_t: the list read last */
} Ply;

/* both spellings of each type */
static const char *const type_names[PLA_N_DTYPES][2] = {
  [PLA_I8] = { "char", "int8" },      [PLA_U8] = { "uchar", "uint8" },
  [PLA_I16] = { "short", "int16" },   [PLA_U16] = { "ushort", "uint16" },
  [PLA_I32] = { "int", "int32" },     [PLA_U32] = { "uint", "uint32" },
  [PLA_F32] = { "float", "float32" }, [PLA_F64] = { "double", "float64" },
};

static bool
probe_ply(const char *path, const uint8_t *head, size_t n)
{
  return n >= 4 && memcmp(head, "ply", 3) == 0 && (head[3] == '\n' || head[3] == '\r');
}

static bool
find_type(const char *word, size_t len, PlaDType *out)
{
  for (int t = 0; t < PLA_N_DTYPES; t++)
    for (int s = 0; s < 2; s++)
      if (type_names[t][s] && pla_text_is(word, len, type_names[t][s])) {
        *out = (PlaDType)t;
        return true;
      }
  return false;
}

static Role
role_of(const Element *element, const Property *property)
{
  static const char *const axes[3] = { "x", "y", "z" };
  if (strcmp(element->name, "vertex") == 0 && !property->is_list) {
    for (int d = 0; d < 3; d++)
      if (strcmp(property->name, axes[d]) == 0)
        return (Role)(ROLE_X + d);
    return ROLE_FIELD;
  }
  if (strcmp(element->name, "face") == 0)
    return !property->is_list ? ROLE_FIELD
           : strcmp(property->name, "vertex_indices") == 0 ||
                   strcmp(property->name, "vertex_index") == 0
               ? ROLE_CORNERS
               : ROLE_NONE;
  return ROLE_NONE;
}

static PlaStatus
read_property_line(Ply *ply, PlaError *err)
{
  PlaReader *reader = &ply->reader;
  Element *element = ply->n_elements > 0 ? &ply->element[ply->n_elements - 1] : NULL;
  if (!element || element->n_properties == MAX_PROPERTIES)
    return pla_reader_fail_line(reader, err, "a property without an element, or more than %d",
                                MAX_PROPERTIES);
  Property property = { 0 };
  const char *word;
  size_t len;
  bool ok = pla_reader_word_on_line(reader, &word, &len);
  property.is_list = ok && pla_text_is(word, len, "list");
  if (property.is_list)
    ok = pla_reader_word_on_line(reader, &word, &len) &&
         find_type(word, len, &property.count_dtype) &&
         pla_dtype_is_integer(property.count_dtype) && pla_reader_word_on_line(reader, &word, &len);
  if (!ok || !find_type(word, len, &property.dtype) ||
      !pla_reader_word_on_line(reader, &word, &len))
    return pla_reader_fail_line(reader, err, "a property of unknown type or without a name");
  property.name = pla_name_decode(word, len);
  void *properties = element->property;
  if (!property.name ||
      !pla_array_resize(&properties, (size_t)element->n_properties + 1, sizeof property)) {
    free(property.name);
    return pla_fail_memory(err, reader->path);
  }
  element->property = properties;
  property.role = role_of(element, &property);
  for (int p = 0; p < element->n_properties; p++) /* a second x is only a field */
    if (property.role != ROLE_NONE && property.role != ROLE_FIELD &&
        element->property[p].role == property.role)
      property.role = property.is_list ? ROLE_NONE : ROLE_FIELD;
  element->property[element->n_properties++] = property;
  if (property.role == ROLE_NONE)
    pla_notes_add(&ply->builder.notes, "the property %.100s of %.100s was left out", property.name,
                  element->name);
  return PLA_OK;
}

static PlaStatus
read_header(Ply *ply, PlaError *err)
{
  PlaReader *reader = &ply->reader;
  const char *word;
  size_t len;
  bool has_format = false;
  pla_reader_skip_line(reader);
  for (;;) {
    /* the header ends with "end_header" and one line end, whatever bytes follow */
    if (!pla_reader_word(reader, &word, &len))
      return pla_reader_fail_line(reader, err, "the file ends before 'end_header'; copy it again");
    if (pla_text_is(word, len, "end_header"))
      break;
    PlaStatus st = PLA_OK;
    if (pla_text_is(word, len, "format")) {
      if (!pla_reader_word_on_line(reader, &word, &len))
        len = 0;
      ply->text = pla_text_is(word, len, "ascii");
      bool big = pla_text_is(word, len, "binary_big_endian");
      if (!ply->text && !big && !pla_text_is(word, len, "binary_little_endian"))
        return pla_reader_fail_line(reader, err, "'%.*s' is no format of PLY files",
                                    (int)(len < 40 ? len : 40), word);
      ply->swap = big == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
      has_format = true;
    } else if (pla_text_is(word, len, "element")) {
      Element element = { 0 };
      int64_t n;
      if (ply->n_elements == MAX_ELEMENTS || !pla_reader_word_on_line(reader, &word, &len))
        return pla_reader_fail_line(reader, err, "an element without a name, or more than %d",
                                    MAX_ELEMENTS);
      element.name = pla_name_decode(word, len);
      if (!element.name)
        return pla_fail_memory(err, reader->path);
      ply->element[ply->n_elements++] = element;
      if (!pla_reader_int64(reader, &n) || n < 0 || n > INT_MAX)
        return pla_reader_fail_line(reader, err, "the count of %.100s is none that can be",
                                    element.name);
      ply->element[ply->n_elements - 1].n = (uint64_t)n;
    } else if (pla_text_is(word, len, "property")) {
      st = read_property_line(ply, err);
    } else if (!pla_text_is(word, len, "comment") && !pla_text_is(word, len, "obj_info")) {
      return pla_reader_fail_line(reader, err, "'%.*s' starts no line of a PLY header",
                                  (int)(len < 40 ? len : 40), word);
    }
    if (st != PLA_OK)
      return st;
    pla_reader_skip_line(reader);
  }
  pla_reader_skip_line(reader);
  return has_format ? PLA_OK : pla_reader_fail_line(reader, err, "the header states no format");
}

/* the least bytes that one record of an element takes */
static uint64_t
least_size(const Ply *ply, const Element *element)
{
  uint64_t size = 0;
  for (int p = 0; p < element->n_properties; p++) {
    const Property *property = &element->property[p];
    size +=
        ply->text ? 2 : pla_dtype_size(property->is_list ? property->count_dtype : property->dtype);
  }
  return size;
}

static PlaStatus
fail_value(const Ply *ply, const Element *element, uint64_t record, PlaError *err)
{
  return ply->text ? pla_reader_fail_line(&ply->reader, err,
                                          "%.100s %llu lacks a number or has one outside its type",
                                          element->name, (unsigned long long)record)
                   : pla_reader_fail_byte(&ply->reader, err, "the file ends within %.100s %llu",
                                          element->name, (unsigned long long)record);
}

/* one value, in host order */
static bool
read_value(Ply *ply, PlaDType dtype, void *out)
{
  if (ply->text)
    return pla_reader_number(&ply->reader, dtype, out);
  size_t size = pla_dtype_size(dtype);
  if (pla_reader_fill(&ply->reader, size) < size)
    return false;
  memcpy(out, ply->reader.at, size);
  ply->reader.at += size;
  if (ply->swap)
    pla_dtype_swap_bytes(dtype, out, 1);
  return true;
}

/* a list into ply->list, as whole numbers */
static bool
read_list(Ply *ply, const Property *property)
{
  uint64_t raw;
  ply->list.size = 0;
  if (!read_value(ply, property->count_dtype, &raw))
    return false;
  double n = pla_dtype_get(property->count_dtype, &raw, 0);
  if (n < 0.0 || n > (double)pla_reader_left(&ply->reader))
    return false;
  for (uint64_t i = 0; i < (uint64_t)n; i++) {
    if (!read_value(ply, property->dtype, &raw))
      return false;
    double value = pla_dtype_get(property->dtype, &raw, 0);
    int64_t index = value >= 0.0 && value <= (double)INT_MAX ? (int64_t)value : -1;
    if (!pla_bytes_append(&ply->list, &index, sizeof index))
      return false;
  }
  return true;
}

static PlaStatus
read_element(Ply *ply, Element *element, PlaError *err)
{
  PlaReader *reader = &ply->reader;
  bool is_vertex = strcmp(element->name, "vertex") == 0;
  bool is_face = strcmp(element->name, "face") == 0;
  if (element->n_properties == 0)
    return PLA_OK;
  if (element->n > pla_reader_left(reader) / least_size(ply, element) + 1)
    return pla_reader_fail_byte(reader, err,
                                "%llu of %.100s are claimed, but only %llu bytes follow; copy the "
                                "file again",
                                (unsigned long long)element->n, element->name,
                                (unsigned long long)pla_reader_left(reader));
  for (uint64_t r = 0; r < element->n; r++) {
    double pos[3] = { 0.0, 0.0, 0.0 };
    bool has_corners = false;
    for (int p = 0; p < element->n_properties; p++) {
      Property *property = &element->property[p];
      uint64_t value;
      if (property->is_list ? !read_list(ply, property) : !read_value(ply, property->dtype, &value))
        return fail_value(ply, element, r, err);
      if (property->role >= ROLE_X && property->role <= ROLE_Z)
        pos[property->role - ROLE_X] = pla_dtype_get(property->dtype, &value, 0);
      else if (property->role == ROLE_FIELD &&
               !pla_bytes_append(&property->data, &value, pla_dtype_size(property->dtype)))
        return pla_fail_memory(err, reader->path);
      if (property->role == ROLE_CORNERS) {
        size_t n = ply->list.size / sizeof(int64_t);
        int type = n == 0   ? PLA_CELL_EMPTY
                   : n == 1 ? PLA_CELL_VERTEX
                   : n == 2 ? PLA_CELL_LINE
                   : n == 3 ? PLA_CELL_TRIANGLE
                            : PLA_CELL_POLYGON;
        PlaStatus st =
            pla_mesh_builder_cell(&ply->builder, type, (const int64_t *)ply->list.data, n, err);
        if (st != PLA_OK)
          return st;
        has_corners = true;
      }
    }
    PlaStatus st = PLA_OK;
    if (is_vertex)
      st = pla_mesh_builder_verts(&ply->builder, PLA_F64, pos, 1, err);
    else if (is_face && !has_corners)
      st = pla_fail(err, PLA_ERR_FORMAT, "%s: faces have no list vertex_indices", reader->path);
    if (st != PLA_OK)
      return st;
  }
  return PLA_OK;
}

/* length of the run of properties NAME_0, NAME_1, ... of one type that starts at @first; the length
 * of NAME in @len.  1 when it is alone. */
static int
component_run(const Element *element, int first, size_t *len)
{
  const Property *head = &element->property[first];
  *len = strlen(head->name);
  if (*len < 3 || strcmp(head->name + *len - 2, "_0") != 0)
    return 1;
  size_t stem = *len - 2;
  int n = 1;
  for (; first + n < element->n_properties; n++) {
    const Property *next = &element->property[first + n];
    char suffix[16];
    snprintf(suffix, sizeof suffix, "_%d", n);
    if (next->role != ROLE_FIELD || next->dtype != head->dtype ||
        strlen(next->name) != stem + strlen(suffix) || memcmp(next->name, head->name, stem) != 0 ||
        strcmp(next->name + stem, suffix) != 0)
      break;
  }
  if (n > 1)
    *len = stem;
  return n;
}

static PlaStatus
make_fields(Ply *ply, Element *element, PlaFieldPlace place, PlaError *err)
{
  for (int p = 0; p < element->n_properties;) {
    Property *property = &element->property[p];
    size_t len;
    int n = property->role == ROLE_FIELD ? component_run(element, p, &len) : 1;
    if (property->role == ROLE_FIELD) {
      size_t size = pla_dtype_size(property->dtype);
      char *name = pla_strdup_printf("%.*s", (int)len, property->name);
      uint8_t *data = NULL;
      if (n == 1) {
        data = property->data.data ? property->data.data : pla_array_new(0, 1);
        property->data = (PlaBytes){ 0 };
      } else {
        data = pla_array_new((size_t)element->n * (size_t)n, size);
        for (int c = 0; c < n && data; c++) {
          for (size_t r = 0; r < (size_t)element->n; r++)
            memcpy(data + (r * (size_t)n + (size_t)c) * size,
                   element->property[p + c].data.data + r * size, size);
          pla_bytes_clear(&element->property[p + c].data);
        }
      }
      PlaStatus st =
          pla_mesh_builder_take_field(&ply->builder, name, place, property->dtype, n, data, err);
      free(name);
      if (st != PLA_OK)
        return st;
    }
    p += n;
  }
  return PLA_OK;
}

static PlaStatus
read_elements(Ply *ply, PlaError *err)
{
  bool has_vertices = false;
  for (int e = 0; e < ply->n_elements; e++) {
    Element *element = &ply->element[e];
    bool is_vertex = strcmp(element->name, "vertex") == 0;
    bool is_face = strcmp(element->name, "face") == 0;
    for (int before = 0; before < e; before++)
      if ((is_vertex || is_face) && strcmp(ply->element[before].name, element->name) == 0)
        return pla_fail(err, PLA_ERR_FORMAT, "%s: the header lists '%s' twice", ply->reader.path,
                        element->name);
    if (!is_vertex && !is_face && element->n > 0)
      pla_notes_add(&ply->builder.notes, "%llu of %.100s were left out",
                    (unsigned long long)element->n, element->name);
    if (is_vertex) {
      int n_axes = 0;
      bool single = true;
      for (int p = 0; p < element->n_properties; p++)
        if (element->property[p].role >= ROLE_X && element->property[p].role <= ROLE_Z) {
          n_axes++;
          single &= element->property[p].dtype == PLA_F32;
        }
      if (n_axes != 3)
        return pla_fail(err, PLA_ERR_FORMAT, "%s: vertices have no x, y and z", ply->reader.path);
      ply->builder.single = single;
      has_vertices = true;
    }
    PlaStatus st = read_element(ply, element, err);
    if (st == PLA_OK && (is_vertex || is_face))
      st = make_fields(ply, element, is_vertex ? PLA_ON_VERTS : PLA_ON_CELLS, err);
    if (st != PLA_OK)
      return st;
  }
  return has_vertices ? PLA_OK
                      : pla_fail(err, PLA_ERR_FORMAT, "%s holds no vertices", ply->reader.path);
}

static PlaStatus
read_ply(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Ply ply = { 0 };
  PlaStatus st = pla_reader_open(&ply.reader, path, opts->progress, err);
  if (st != PLA_OK)
    return st;
  pla_mesh_builder_init(&ply.builder, path, opts);
  size_t n_head = pla_reader_fill(&ply.reader, 4);
  if (!probe_ply(path, ply.reader.at, n_head))
    st = pla_fail(err, PLA_ERR_FORMAT, "%s is no PLY file: it does not start with 'ply'", path);
  if (st == PLA_OK)
    st = read_header(&ply, err);
  if (st == PLA_OK)
    st = read_elements(&ply, err);
  if (st == PLA_OK)
    st = pla_mesh_builder_finish(&ply.builder, out, err);
  pla_mesh_builder_clear(&ply.builder);
  for (int e = 0; e < ply.n_elements; e++) {
    for (int p = 0; p < ply.element[e].n_properties; p++) {
      free(ply.element[e].property[p].name);
      pla_bytes_clear(&ply.element[e].property[p].data);
    }
    free(ply.element[e].property);
    free(ply.element[e].name);
  }
  pla_bytes_clear(&ply.list);
  pla_reader_close(&ply.reader);
  return st;
}

/* PLY has no 64-bit integers: the smallest type that holds all of a field's; false for none */
static bool
file_dtype(const PlaMesh *mesh, const PlaField *field, PlaDType *out)
{
  *out = field->dtype;
  if (field->dtype != PLA_I64 && field->dtype != PLA_U64)
    return true;
  size_t n = pla_field_n_tuples(mesh, field) * (size_t)field->n_components;
  bool fits_int = true, fits_uint = true, fits_double = true;
  const int64_t exact = (int64_t)1 << 53;
  for (size_t i = 0; i < n; i++) {
    int64_t value = ((const int64_t *)field->data)[i];
    bool huge = field->dtype == PLA_U64 && value < 0;
    fits_int &= !huge && value >= INT32_MIN && value <= INT32_MAX;
    fits_uint &= !huge && value >= 0 && value <= UINT32_MAX;
    fits_double &= !huge && value >= -exact && value <= exact;
  }
  *out = fits_int ? PLA_I32 : fits_uint ? PLA_U32 : PLA_F64;
  return fits_int || fits_uint || fits_double;
}

static PlaStatus
write_header(PlaMeshWriter *writer, const PlaWriteOptions *opts, PlaDType *dtypes, PlaError *err)
{
  const PlaMesh *mesh = writer->mesh;
  const char *real = mesh->single ? "float" : "double";
  pla_mesh_writer_printf(writer,
                         "ply\nformat %s 1.0\ncomment millimetres, "
                         "right-anterior-superior\nelement vertex %d\n",
                         opts->text         ? "ascii"
                         : opts->big_endian ? "binary_big_endian"
                                            : "binary_little_endian",
                         mesh->n_verts);
  pla_mesh_writer_printf(writer, "property %s x\nproperty %s y\nproperty %s z\n", real, real, real);
  for (int place = 0; place < 2; place++) {
    if (place == PLA_ON_CELLS)
      pla_mesh_writer_printf(writer, "element face %d\nproperty list uchar int vertex_indices\n",
                             mesh->n_tris);
    for (int f = 0; f < mesh->n_fields; f++) {
      const PlaField *field = &mesh->field[f];
      if (field->place != (PlaFieldPlace)place)
        continue;
      if (!file_dtype(mesh, field, &dtypes[f]))
        return pla_fail(err, PLA_ERR_UNSUPPORTED,
                        "%s: the field %.200s holds whole numbers too large for PLY files; write a "
                        ".vtp file",
                        writer->path, field->name);
      char *name = pla_name_encode(field->name);
      if (!name)
        return pla_fail_memory(err, writer->path);
      for (int c = 0; c < field->n_components; c++)
        if (field->n_components == 1)
          pla_mesh_writer_printf(writer, "property %s %s\n", type_names[dtypes[f]][0], name);
        else
          pla_mesh_writer_printf(writer, "property %s %s_%d\n", type_names[dtypes[f]][0], name, c);
      free(name);
    }
  }
  pla_mesh_writer_text(writer, "end_header\n");
  return PLA_OK;
}

static void
write_value(PlaMeshWriter *writer, bool text, PlaDType dtype, const void *data, size_t i)
{
  if (text) {
    pla_mesh_writer_number(writer, dtype, data, i);
    pla_mesh_writer_bytes(writer, " ", 1);
  } else {
    pla_mesh_writer_elements(writer, dtype, (const uint8_t *)data + i * pla_dtype_size(dtype), 1);
  }
}

/* the fields of one vertex or face */
static void
write_fields(PlaMeshWriter *writer, bool text, PlaFieldPlace place, size_t tuple,
             const PlaDType *dtypes)
{
  const PlaMesh *mesh = writer->mesh;
  for (int f = 0; f < mesh->n_fields; f++) {
    const PlaField *field = &mesh->field[f];
    for (int c = 0; c < field->n_components && field->place == place; c++) {
      size_t i = tuple * (size_t)field->n_components + (size_t)c;
      uint64_t value;
      if (dtypes[f] == field->dtype) {
        write_value(writer, text, field->dtype, field->data, i);
      } else {
        pla_dtype_set(dtypes[f], &value, 0, pla_dtype_get(field->dtype, field->data, i));
        write_value(writer, text, dtypes[f], &value, 0);
      }
    }
  }
  if (text)
    pla_mesh_writer_bytes(writer, "\n", 1);
}

static PlaStatus
write_ply(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaMesh *mesh = item->mesh;
  PlaMeshWriter writer;
  PlaStatus st = pla_mesh_need_surface(mesh, path, "PLY", err);
  if (st == PLA_OK)
    st = pla_mesh_writer_open(&writer, path, mesh, opts, err);
  if (st != PLA_OK)
    return st;
  PlaDType *dtypes = pla_array_new0((size_t)mesh->n_fields, sizeof *dtypes);
  st = dtypes ? write_header(&writer, opts, dtypes, err) : pla_fail_memory(err, path);
  for (int v = 0; v < mesh->n_verts && st == PLA_OK && !writer.cancelled; v++) {
    double mm[3];
    pla_mesh_to_mm(mesh, (size_t)v, 1, mm);
    for (size_t d = 0; d < 3; d++)
      write_value(&writer, opts->text, pla_mesh_mm_dtype(mesh), mm, d);
    write_fields(&writer, opts->text, PLA_ON_VERTS, (size_t)v, dtypes);
  }
  const uint8_t three = 3;
  for (int t = 0; t < mesh->n_tris && st == PLA_OK && !writer.cancelled; t++) {
    write_value(&writer, opts->text, PLA_U8, &three, 0);
    for (size_t i = 0; i < 3; i++)
      write_value(&writer, opts->text, PLA_I32, mesh->tri, 3 * (size_t)t + i);
    write_fields(&writer, opts->text, PLA_ON_CELLS, (size_t)t, dtypes);
  }
  free(dtypes);
  return pla_mesh_writer_close(&writer, st, err);
}

const PlaFormat pla_format_ply = {
  .id = "ply",
  .title = "PLY surface",
  .extensions = (const char *const[]){ ".ply", NULL },
  .kind = PLA_KIND_MESH,
  .probe = probe_ply,
  .read = read_ply,
  .write = write_ply,
};
