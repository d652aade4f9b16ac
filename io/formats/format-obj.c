/* Wavefront OBJ surfaces: vertices and faces, read and written.
 *
 * Faces are cut into fans; texture coordinates, normals, colours, groups and materials are left
 * out, and said so.  Indices count from 1, negative ones back from the latest vertex. */
#include "io/formats/formats.h"
#include "io/formats/mesh-builder.h"
#include "io/formats/mesh-writer.h"
#include "io/stream/reader.h"
#include "io/stream/source.h"

#include <string.h>

typedef struct {
  PlaReader reader;
  PlaMeshBuilder builder;
  PlaBytes face; /* int64_t: the vertices of the current face */
  bool has_texture, has_colour, has_groups;
} Obj;

/* the next word of a statement, which a '\' at the end of a line continues */
static bool
next_word(Obj *obj, const char **word, size_t *len)
{
  while (pla_reader_word_on_line(&obj->reader, word, len)) {
    if (*len != 1 || **word != '\\')
      return **word != '#';
    pla_reader_skip_line(&obj->reader);
  }
  return false;
}

static PlaStatus
read_vertex(Obj *obj, PlaError *err)
{
  const char *word;
  size_t len;
  double value[8];
  int n = 0;
  for (; n < 8 && next_word(obj, &word, &len); n++)
    if (pla_parse_double(word, word + len, &value[n]) != word + len)
      return pla_reader_fail_line(&obj->reader, err, "'%.*s' is no coordinate; correct it",
                                  (int)(len < 40 ? len : 40), word);
  if (n < 3)
    return pla_reader_fail_line(&obj->reader, err, "a vertex has %d coordinates, not 3", n);
  obj->has_colour |= n >= 6;
  return pla_mesh_builder_verts(&obj->builder, PLA_F64, value, 1, err);
}

/* "7", "7/1", "7/1/3" or "7//3": the vertex, counted from 0 */
static bool
parse_index(const Obj *obj, const char *word, size_t len, int64_t *out)
{
  const char *slash = memchr(word, '/', len);
  PlaText text = { .at = word, .end = slash ? slash : word + len };
  int64_t index;
  if (!pla_text_int64(&text, &index) || index == 0)
    return false;
  *out = index > 0 ? index - 1 : (int64_t)pla_mesh_builder_n_verts(&obj->builder) + index;
  return *out >= 0;
}

static PlaStatus
read_face(Obj *obj, bool is_face, PlaError *err)
{
  const char *word;
  size_t len, n = 0;
  obj->face.size = 0;
  for (; next_word(obj, &word, &len); n++) {
    int64_t vert;
    if (!parse_index(obj, word, len, &vert))
      return pla_reader_fail_line(&obj->reader, err, "'%.*s' names no vertex; correct it",
                                  (int)(len < 40 ? len : 40), word);
    obj->has_texture |= memchr(word, '/', len) != NULL;
    if (!pla_bytes_append(&obj->face, &vert, sizeof vert))
      return pla_fail_memory(err, obj->reader.path);
  }
  if (is_face && n < 3)
    return pla_reader_fail_line(&obj->reader, err, "a face has %zu vertices, not 3 or more", n);
  int type = !is_face ? PLA_CELL_POLY_LINE : n == 3 ? PLA_CELL_TRIANGLE : PLA_CELL_POLYGON;
  return pla_mesh_builder_cell(&obj->builder, type, (const int64_t *)obj->face.data, n, err);
}

static PlaStatus
read_obj(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Obj obj = { 0 };
  uint64_t n_unknown = 0;
  PlaStatus st = pla_reader_open(&obj.reader, path, opts->progress, err);
  if (st != PLA_OK)
    return st;
  pla_mesh_builder_init(&obj.builder, path, opts);
  while (st == PLA_OK && !pla_reader_at_end(&obj.reader)) {
    const char *word;
    size_t len;
    pla_reader_word_on_line(&obj.reader, &word, &len);
    if (pla_text_is(word, len, "v"))
      st = read_vertex(&obj, err);
    else if (pla_text_is(word, len, "f"))
      st = read_face(&obj, true, err);
    else if (pla_text_is(word, len, "l") || pla_text_is(word, len, "p"))
      st = read_face(&obj, false, err);
    else if (pla_text_is(word, len, "vt") || pla_text_is(word, len, "vn"))
      obj.has_texture = true;
    else if (pla_text_is(word, len, "g") || pla_text_is(word, len, "o") ||
             pla_text_is(word, len, "usemtl") || pla_text_is(word, len, "mtllib"))
      obj.has_groups = true;
    else if (word[0] != '#' && !pla_text_is(word, len, "s"))
      n_unknown++;
    if (n_unknown > 0 && obj.builder.pos.size == 0)
      st = pla_reader_fail_line(&obj.reader, err, "'%.*s' starts no statement of an OBJ file",
                                (int)(len < 40 ? len : 40), word);
    if (st == PLA_OK)
      pla_reader_skip_line(&obj.reader);
  }
  if (st == PLA_OK && (obj.reader.cancelled || obj.reader.why))
    st = pla_reader_fail_line(&obj.reader, err, "the file ends early");
  if (st == PLA_OK && obj.builder.pos.size == 0)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s holds no vertices; it is no OBJ file or was cut off",
                  path);
  if (obj.has_texture)
    pla_notes_add(&obj.builder.notes, "texture coordinates and normals were left out");
  if (obj.has_colour)
    pla_notes_add(&obj.builder.notes, "vertex colours were left out");
  if (obj.has_groups)
    pla_notes_add(&obj.builder.notes, "names of objects, groups and materials were left out");
  if (n_unknown)
    pla_notes_add(&obj.builder.notes, "%llu statements of other kinds were left out",
                  (unsigned long long)n_unknown);
  if (st == PLA_OK)
    st = pla_mesh_builder_finish(&obj.builder, out, err);
  pla_mesh_builder_clear(&obj.builder);
  pla_bytes_clear(&obj.face);
  pla_reader_close(&obj.reader);
  return st;
}

static PlaStatus
write_obj(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaMesh *mesh = item->mesh;
  PlaMeshWriter writer;
  PlaStatus st = pla_mesh_need_surface(mesh, path, "OBJ", err);
  if (st == PLA_OK)
    st = pla_mesh_writer_open(&writer, path, mesh, opts, err);
  if (st != PLA_OK)
    return st;
  pla_mesh_note_losses(mesh, "OBJ", false, opts->notes);
  pla_mesh_writer_text(&writer, "# millimetres, right-anterior-superior\n");
  PlaDType dtype = pla_mesh_mm_dtype(mesh);
  for (int v = 0; v < mesh->n_verts && !writer.cancelled; v++) {
    double mm[3];
    pla_mesh_to_mm(mesh, (size_t)v, 1, mm);
    pla_mesh_writer_text(&writer, "v");
    for (size_t d = 0; d < 3; d++) {
      pla_mesh_writer_bytes(&writer, " ", 1);
      pla_mesh_writer_number(&writer, dtype, mm, d);
    }
    pla_mesh_writer_bytes(&writer, "\n", 1);
  }
  for (int t = 0; t < mesh->n_tris && !writer.cancelled; t++) {
    pla_mesh_writer_text(&writer, "f");
    for (size_t i = 0; i < 3; i++) {
      int64_t index = (int64_t)mesh->tri[3 * (size_t)t + i] + 1;
      pla_mesh_writer_bytes(&writer, " ", 1);
      pla_mesh_writer_number(&writer, PLA_I64, &index, 0);
    }
    pla_mesh_writer_bytes(&writer, "\n", 1);
  }
  return pla_mesh_writer_close(&writer, st, err);
}

const PlaFormat pla_format_obj = {
  .id = "obj",
  .title = "Wavefront OBJ surface",
  .extensions = (const char *const[]){ ".obj", NULL },
  .kind = PLA_KIND_MESH,
  .read = read_obj,
  .write = write_obj,
};
