/* TetGen meshes: .node, .ele and .face, read and written together.
 *
 * Any of the three names the set; .ele and .face may be missing.  Indices count from the first
 * node's number, 0 or 1.  Attributes and markers are fields: node attributes "attribute", the one
 * of tets "region" (several: "attribute"), markers "boundary_marker".  TetGen has no names for
 * them, so our files add comments, which TetGen skips and this reader uses:
 *   # attribute NAME TYPE COMPONENTS
 * Cell fields stand on tets, markers on faces; on the other kind they are 0. */
#include "io/formats/formats.h"
#include "io/formats/mesh-builder.h"
#include "io/formats/mesh-writer.h"
#include "io/stream/reader.h"
#include "io/stream/source.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MAX_ATTRIBUTES = 1024 };
enum { NODE = 0, ELE, FACE, N_FILES };
static const char *const endings[N_FILES] = { ".node", ".ele", ".face" };

/* one field among the columns of a file */
typedef struct {
  char *name; /* owned */
  PlaDType dtype;
  int n_components;
  PlaBytes data;
} Column;

typedef struct {
  PlaReader reader;
  int n_columns;
  Column *column;
  PlaBytes marker; /* int32 */
  uint64_t n;      /* lines of the table */
  bool has_marker;
} Table;

/* @path with another ending; free() by the caller */
static char *
with_ending(const char *path, const char *ending)
{
  size_t n = strlen(path);
  for (int k = 0; k < N_FILES; k++) {
    size_t m = strlen(endings[k]);
    if (n > m && strcasecmp(path + n - m, endings[k]) == 0) {
      n -= m;
      break;
    }
  }
  return pla_strdup_printf("%.*s%s", (int)n, path, ending);
}

static bool
add_column(Table *table, const char *name, size_t len, PlaDType dtype, int n_components)
{
  Column column = { .name = pla_name_decode(name, len),
                    .dtype = dtype,
                    .n_components = n_components };
  void *columns = table->column;
  if (!column.name || !pla_array_resize(&columns, (size_t)table->n_columns + 1, sizeof column)) {
    free(column.name);
    return false;
  }
  table->column = columns;
  table->column[table->n_columns++] = column;
  return true;
}

static void
clear_columns(Table *table)
{
  for (int c = 0; c < table->n_columns; c++) {
    free(table->column[c].name);
    pla_bytes_clear(&table->column[c].data);
  }
  free(table->column);
  table->column = NULL;
  table->n_columns = 0;
}

static void
table_clear(Table *table)
{
  clear_columns(table);
  pla_bytes_clear(&table->marker);
  pla_reader_close(&table->reader);
}

/* moves to the next number, past comments; notes the names of attributes among them */
static PlaStatus
skip_comments(Table *table, PlaError *err)
{
  PlaReader *reader = &table->reader;
  while (!pla_reader_at_end(reader) && *reader->at == '#') {
    const char *word;
    size_t len;
    reader->at++;
    if (pla_reader_word_on_line(reader, &word, &len) && pla_text_is(word, len, "attribute") &&
        table->n_columns < MAX_ATTRIBUTES && pla_reader_word_on_line(reader, &word, &len)) {
      char *name = pla_strdup_printf("%.*s", (int)len, word);
      char type[16] = "";
      int n_components;
      PlaDType dtype;
      if (pla_reader_word_on_line(reader, &word, &len))
        snprintf(type, sizeof type, "%.*s", (int)(len < 15 ? len : 15), word);
      bool ok = name && pla_dtype_from_name(type, &dtype) &&
                pla_reader_int(reader, &n_components) && n_components > 0 &&
                n_components <= MAX_ATTRIBUTES;
      if (ok && !add_column(table, name, strlen(name), dtype, n_components)) {
        free(name);
        return pla_fail_memory(err, reader->path);
      }
      free(name);
    }
    pla_reader_skip_line(reader);
  }
  return PLA_OK;
}

static PlaStatus
read_integer(Table *table, const char *what, int64_t *out, PlaError *err)
{
  PlaReader *reader = &table->reader;
  if (pla_reader_at_end(reader) || *reader->at == '#') {
    PlaStatus st = skip_comments(table, err);
    if (st != PLA_OK)
      return st;
  }
  if (pla_reader_int64(reader, out))
    return PLA_OK;
  return pla_reader_at_end(reader)
             ? pla_reader_fail_line(reader, err,
                                    "the file ends where %s should follow; copy it "
                                    "again",
                                    what)
             : pla_reader_fail_line(reader, err, "%s should stand here; correct the file", what);
}

/* the counts on the first line; @counts gets @n_counts of them after the number of lines */
static PlaStatus
read_counts(Table *table, int n_counts, int64_t *counts, PlaError *err)
{
  PlaStatus st = skip_comments(table, err);
  int64_t n = 0;
  if (st == PLA_OK)
    st = read_integer(table, "the number of lines", &n, err);
  for (int i = 0; i < n_counts && st == PLA_OK; i++) {
    /* older files leave trailing counts out */
    const char *word;
    size_t len;
    counts[i] = 0;
    if (!pla_reader_word_on_line(&table->reader, &word, &len))
      break;
    PlaText text = { .at = word, .end = word + len };
    if (*word == '#' || !pla_text_int64(&text, &counts[i]))
      break;
  }
  if (st == PLA_OK)
    pla_reader_skip_line(&table->reader);
  if (st == PLA_OK && (n < 0 || n > INT_MAX || (uint64_t)n > pla_reader_left(&table->reader)))
    st = pla_reader_fail_line(&table->reader, err,
                              "%lld lines are claimed, but only %llu bytes follow; copy the file "
                              "again",
                              (long long)n, (unsigned long long)pla_reader_left(&table->reader));
  table->n = (uint64_t)n;
  return st;
}

/* makes the columns agree with the number of attributes that the first line states */
static PlaStatus
match_columns(Table *table, int64_t n_attributes, const char *otherwise, PlaError *err)
{
  int64_t named = 0;
  if (n_attributes < 0 || n_attributes > MAX_ATTRIBUTES)
    return pla_reader_fail_line(&table->reader, err, "%lld attributes are none that can be",
                                (long long)n_attributes);
  for (int c = 0; c < table->n_columns; c++)
    named += table->column[c].n_components;
  if (named == n_attributes)
    return PLA_OK;
  clear_columns(table);
  if (n_attributes > 0 &&
      !add_column(table, otherwise, strlen(otherwise), PLA_F64, (int)n_attributes))
    return pla_fail_memory(err, table->reader.path);
  return PLA_OK;
}

/* the attributes and the marker that end a line */
static PlaStatus
read_tail(Table *table, uint64_t line, PlaError *err)
{
  PlaReader *reader = &table->reader;
  uint64_t value;
  for (int c = 0; c < table->n_columns; c++) {
    Column *column = &table->column[c];
    for (int k = 0; k < column->n_components; k++) {
      if (!pla_reader_number(reader, column->dtype, &value))
        return pla_reader_fail_line(reader, err, "an attribute of entry %llu is missing or wrong",
                                    (unsigned long long)line);
      if (!pla_bytes_append(&column->data, &value, pla_dtype_size(column->dtype)))
        return pla_fail_memory(err, reader->path);
    }
  }
  if (table->has_marker) {
    if (!pla_reader_number(reader, PLA_I32, &value))
      return pla_reader_fail_line(reader, err, "the marker of entry %llu is missing or wrong",
                                  (unsigned long long)line);
    if (!pla_bytes_append(&table->marker, &value, sizeof(int32_t)))
      return pla_fail_memory(err, reader->path);
  }
  return PLA_OK;
}

/* the number that starts a line must be the next one */
static PlaStatus
check_number(Table *table, int64_t expected, PlaError *err)
{
  int64_t number;
  PlaStatus st = read_integer(table, "an entry's number", &number, err);
  if (st == PLA_OK && number != expected)
    st = pla_reader_fail_line(&table->reader, err,
                              "entry %lld stands where entry %lld should; number them in order",
                              (long long)number, (long long)expected);
  return st;
}

static PlaStatus
read_nodes(Table *table, PlaMeshBuilder *builder, int64_t *base, PlaError *err)
{
  int64_t counts[3]; /* dimension, attributes, markers */
  PlaStatus st = read_counts(table, 3, counts, err);
  if (st == PLA_OK && counts[0] != 3 && table->n > 0)
    st = pla_reader_fail_line(&table->reader, err, "nodes have %lld coordinates, not 3",
                              (long long)counts[0]);
  if (st == PLA_OK)
    st = match_columns(table, counts[1], "attribute", err);
  table->has_marker = st == PLA_OK && counts[2] != 0;
  *base = 0;
  for (uint64_t i = 0; i < table->n && st == PLA_OK; i++) {
    if (i == 0) {
      st = read_integer(table, "a node's number", base, err);
      if (st == PLA_OK && *base != 0 && *base != 1)
        st = pla_reader_fail_line(&table->reader, err, "the first node has number %lld, not 0 or 1",
                                  (long long)*base);
    } else {
      st = check_number(table, *base + (int64_t)i, err);
    }
    double pos[3];
    for (int d = 0; d < 3 && st == PLA_OK; d++)
      if (!pla_reader_double(&table->reader, &pos[d]))
        st = pla_reader_fail_line(&table->reader, err, "node %lld lacks a coordinate",
                                  (long long)(*base + (int64_t)i));
    if (st == PLA_OK)
      st = pla_mesh_builder_verts(builder, PLA_F64, pos, 1, err);
    if (st == PLA_OK)
      st = read_tail(table, i, err);
  }
  return st;
}

/* tets or faces: @n_nodes corners, of which the first make the cell */
static PlaStatus
read_cells(Table *table, PlaMeshBuilder *builder, int type, int n_nodes, int64_t base,
           PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (uint64_t i = 0; i < table->n && st == PLA_OK; i++) {
    int64_t vert[10] = { 0 };
    st = check_number(table, base + (int64_t)i, err);
    for (int k = 0; k < n_nodes && st == PLA_OK; k++) {
      if (!pla_reader_int64(&table->reader, &vert[k]) || vert[k] < base ||
          (uint64_t)(vert[k] - base) >= pla_mesh_builder_n_verts(builder))
        st = pla_reader_fail_line(&table->reader, err,
                                  "entry %lld lacks a node or names one that is not there",
                                  (long long)(base + (int64_t)i));
      vert[k] -= base;
    }
    if (st == PLA_OK)
      st = pla_mesh_builder_cell(builder, type, vert, (size_t)n_nodes, err);
    if (st == PLA_OK)
      st = read_tail(table, i, err);
  }
  return st;
}

static PlaStatus
read_ele(Table *table, PlaMeshBuilder *builder, int64_t base, PlaError *err)
{
  int64_t counts[2]; /* nodes of a tet, attributes */
  PlaStatus st = read_counts(table, 2, counts, err);
  if (st == PLA_OK && table->n > 0 && counts[0] != 4 && counts[0] != 10)
    st = pla_reader_fail_line(&table->reader, err, "tetrahedra have %lld nodes, not 4 or 10",
                              (long long)counts[0]);
  if (st == PLA_OK)
    st = match_columns(table, counts[1], counts[1] == 1 ? "region" : "attribute", err);
  if (st == PLA_OK)
    st = read_cells(table, builder, counts[0] == 10 ? PLA_CELL_TET_2 : PLA_CELL_TET, (int)counts[0],
                    base, err);
  return st;
}

static PlaStatus
read_face(Table *table, PlaMeshBuilder *builder, int64_t base, PlaError *err)
{
  int64_t counts[1]; /* markers */
  PlaStatus st = read_counts(table, 1, counts, err);
  clear_columns(table);
  table->has_marker = st == PLA_OK && counts[0] != 0;
  return st == PLA_OK ? read_cells(table, builder, PLA_CELL_TRIANGLE, 3, base, err) : st;
}

/* a column of whole numbers becomes int32: regions are tags */
static void
make_tags(Column *column, uint64_t n)
{
  double *value = (double *)column->data.data;
  if (strcmp(column->name, "region") != 0 || column->dtype != PLA_F64 || column->n_components != 1)
    return;
  for (uint64_t i = 0; i < n; i++)
    if (!(value[i] >= INT32_MIN && value[i] <= INT32_MAX) || value[i] != (double)(int32_t)value[i])
      return;
  int32_t *tag = (int32_t *)column->data.data;
  for (uint64_t i = 0; i < n; i++) {
    int32_t whole = (int32_t)value[i];
    memcpy(&tag[i], &whole, sizeof whole); /* in place: never ahead of what is read */
  }
  column->dtype = PLA_I32;
  column->data.size = (size_t)n * sizeof *tag;
}

/* hands @data to the builder with @before zeroed tuples in front and @after behind */
static PlaStatus
take_padded(PlaMeshBuilder *builder, const char *name, PlaFieldPlace place, PlaDType dtype,
            int n_components, PlaBytes *data, uint64_t before, uint64_t after, PlaError *err)
{
  size_t tuple = pla_dtype_size(dtype) * (size_t)n_components, size = data->size;
  size_t front = (size_t)before * tuple, back = (size_t)after * tuple;
  if (!pla_bytes_reserve(data, front + size + back + 1))
    return pla_fail_memory(err, builder->path);
  memmove(data->data + front, data->data, size);
  memset(data->data, 0, front);
  memset(data->data + front + size, 0, back);
  void *own = data->data;
  *data = (PlaBytes){ 0 };
  return pla_mesh_builder_take_field(builder, name, place, dtype, n_components, own, err);
}

static PlaStatus
make_fields(Table *table, PlaMeshBuilder *builder, PlaFieldPlace place, uint64_t before,
            uint64_t after, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (int c = 0; c < table->n_columns && st == PLA_OK; c++) {
    Column *column = &table->column[c];
    if (place == PLA_ON_CELLS)
      make_tags(column, table->n);
    st = take_padded(builder, column->name, place, column->dtype, column->n_components,
                     &column->data, before, after, err);
  }
  if (st == PLA_OK && table->has_marker)
    st = take_padded(builder, "boundary_marker", place, PLA_I32, 1, &table->marker, before, after,
                     err);
  return st;
}

/* opens one of the three; a missing .ele or .face is an empty one */
static PlaStatus
open_table(Table *table, const char *path, bool needed, const PlaReadOptions *opts, bool *is_there,
           PlaError *err)
{
  struct stat info;
  *is_there = needed || stat(path, &info) == 0 || errno != ENOENT;
  return *is_there ? pla_reader_open(&table->reader, path, opts->progress, err) : PLA_OK;
}

static PlaStatus
read_tetgen(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Table table[N_FILES] = { 0 };
  char *paths[N_FILES];
  bool is_there[N_FILES] = { false };
  PlaMeshBuilder builder;
  pla_mesh_builder_init(&builder, path, opts);
  PlaStatus st = PLA_OK;
  for (int k = 0; k < N_FILES; k++) {
    paths[k] = with_ending(path, endings[k]);
    if (!paths[k])
      st = pla_fail_memory(err, path);
  }
  for (int k = 0; k < N_FILES && st == PLA_OK; k++)
    st = open_table(&table[k], paths[k], k == NODE, opts, &is_there[k], err);
  int64_t base = 0;
  if (st == PLA_OK)
    st = read_nodes(&table[NODE], &builder, &base, err);
  if (st == PLA_OK && is_there[FACE])
    st = read_face(&table[FACE], &builder, base, err);
  if (st == PLA_OK && is_there[ELE])
    st = read_ele(&table[ELE], &builder, base, err);
  if (st == PLA_OK)
    st = make_fields(&table[NODE], &builder, PLA_ON_VERTS, 0, 0, err);
  if (st == PLA_OK)
    st = make_fields(&table[FACE], &builder, PLA_ON_CELLS, 0, table[ELE].n, err);
  if (st == PLA_OK)
    st = make_fields(&table[ELE], &builder, PLA_ON_CELLS, table[FACE].n, 0, err);
  if (st == PLA_OK)
    st = pla_mesh_builder_finish(&builder, out, err);
  pla_mesh_builder_clear(&builder);
  for (int k = 0; k < N_FILES; k++) {
    table_clear(&table[k]);
    free(paths[k]);
  }
  return st;
}

/* whether a field is the marker column */
static bool
is_marker(const PlaField *field)
{
  return strcmp(field->name, "boundary_marker") == 0 && field->n_components == 1 &&
         field->dtype == PLA_I32;
}

/* comments that name the attributes; returns how many columns those are */
static int
write_names(PlaMeshWriter *writer, PlaFieldPlace place, const PlaField **marker)
{
  int n = 0;
  *marker = NULL;
  for (int f = 0; f < writer->mesh->n_fields; f++) {
    const PlaField *field = &writer->mesh->field[f];
    if (field->place != place)
      continue;
    if (is_marker(field)) {
      *marker = field;
      continue;
    }
    char *name = pla_name_encode(field->name);
    writer->short_memory |= !name;
    pla_mesh_writer_printf(writer, "# attribute %s %s %d\n", name ? name : "",
                           pla_dtype_name(field->dtype), field->n_components);
    free(name);
    n += field->n_components;
  }
  return n;
}

static void
write_number(PlaMeshWriter *writer, PlaDType dtype, const void *data, size_t i)
{
  pla_mesh_writer_bytes(writer, " ", 1);
  pla_mesh_writer_number(writer, dtype, data, i);
}

/* the attributes of one vertex or cell */
static void
write_attributes(PlaMeshWriter *writer, PlaFieldPlace place, size_t tuple)
{
  for (int f = 0; f < writer->mesh->n_fields; f++) {
    const PlaField *field = &writer->mesh->field[f];
    for (int c = 0; c < field->n_components && field->place == place && !is_marker(field); c++)
      write_number(writer, field->dtype, field->data,
                   tuple * (size_t)field->n_components + (size_t)c);
  }
}

static void
write_nodes(PlaMeshWriter *writer)
{
  const PlaMesh *mesh = writer->mesh;
  const PlaField *marker;
  int n_attributes = write_names(writer, PLA_ON_VERTS, &marker);
  pla_mesh_writer_printf(writer, "%d 3 %d %d\n", mesh->n_verts, n_attributes, marker != NULL);
  for (int v = 0; v < mesh->n_verts && !writer->cancelled; v++) {
    double mm[3];
    pla_mesh_to_mm(mesh, (size_t)v, 1, mm);
    pla_mesh_writer_number(writer, PLA_I32, &v, 0);
    for (size_t d = 0; d < 3; d++)
      write_number(writer, pla_mesh_mm_dtype(mesh), mm, d);
    write_attributes(writer, PLA_ON_VERTS, (size_t)v);
    if (marker)
      write_number(writer, PLA_I32, marker->data, (size_t)v);
    pla_mesh_writer_bytes(writer, "\n", 1);
  }
}

static void
write_ele(PlaMeshWriter *writer)
{
  const PlaMesh *mesh = writer->mesh;
  const PlaField *marker;
  int n_attributes = write_names(writer, PLA_ON_CELLS, &marker);
  pla_mesh_writer_printf(writer, "%d 4 %d\n", mesh->n_tets, n_attributes);
  for (int t = 0; t < mesh->n_tets && !writer->cancelled; t++) {
    pla_mesh_writer_number(writer, PLA_I32, &t, 0);
    for (size_t i = 0; i < 4; i++)
      write_number(writer, PLA_I32, mesh->tet, 4 * (size_t)t + i);
    write_attributes(writer, PLA_ON_CELLS, (size_t)mesh->n_tris + (size_t)t);
    pla_mesh_writer_bytes(writer, "\n", 1);
  }
}

static void
write_face(PlaMeshWriter *writer)
{
  const PlaMesh *mesh = writer->mesh;
  const PlaField *marker = pla_mesh_find_field(mesh, "boundary_marker", PLA_ON_CELLS);
  if (marker && !is_marker(marker))
    marker = NULL;
  pla_mesh_writer_printf(writer, "%d %d\n", mesh->n_tris, marker != NULL);
  for (int t = 0; t < mesh->n_tris && !writer->cancelled; t++) {
    pla_mesh_writer_number(writer, PLA_I32, &t, 0);
    for (size_t i = 0; i < 3; i++)
      write_number(writer, PLA_I32, mesh->tri, 3 * (size_t)t + i);
    if (marker)
      write_number(writer, PLA_I32, marker->data, (size_t)t);
    pla_mesh_writer_bytes(writer, "\n", 1);
  }
}

/* all three files, empty ones too: an old .ele or .face must not join the new .node */
static PlaStatus
write_tetgen(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  static void (*const write[N_FILES])(PlaMeshWriter *) = { write_nodes, write_ele, write_face };
  const PlaMesh *mesh = item->mesh;
  PlaOutput *output[N_FILES] = { NULL };
  if (mesh->n_hexes > 0)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s: TetGen files hold triangles and tetrahedra only, and this mesh has %d "
                    "hexahedra; write a .vtu file",
                    path, mesh->n_hexes);
  for (int f = 0; f < mesh->n_fields && mesh->n_tris > 0; f++)
    if (mesh->field[f].place == PLA_ON_CELLS && !is_marker(&mesh->field[f]))
      pla_notes_add(opts->notes, "the field %.200s was kept on tetrahedra only",
                    mesh->field[f].name);
  PlaStatus st = PLA_OK;
  for (int k = 0; k < N_FILES && st == PLA_OK; k++) {
    char *name = with_ending(path, endings[k]);
    PlaMeshWriter writer = { 0 };
    st = name ? pla_mesh_writer_open(&writer, name, mesh, opts, err) : pla_fail_memory(err, path);
    if (st == PLA_OK) {
      write[k](&writer);
      st = pla_mesh_writer_finish(&writer, st, &output[k], err);
    }
    free(name);
  }
  if (st == PLA_OK)
    return pla_output_commit(output, N_FILES, err);
  for (int k = 0; k < N_FILES; k++)
    pla_output_discard(output[k]);
  return st;
}

const PlaFormat pla_format_tetgen = {
  .id = "tetgen",
  .title = "TetGen mesh (.node, .ele, .face)",
  .extensions = (const char *const[]){ ".node", ".ele", ".face", NULL },
  .kind = PLA_KIND_MESH,
  .read = read_tetgen,
  .write = write_tetgen,
};
