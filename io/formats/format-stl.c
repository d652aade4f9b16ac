/* STL surfaces, binary and text, read and written.
 *
 * A file repeats the three corners of each triangle; corners at exactly the same place become one
 * vertex, in the order of first use.  Normals are recomputed, never trusted. */
#include "io/formats/formats.h"
#include "io/formats/mesh-builder.h"
#include "io/formats/mesh-writer.h"
#include "io/stream/reader.h"
#include "io/stream/source.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { HEADER = 84, FACET = 50 }; /* bytes */

typedef struct {
  PlaReader reader;
  PlaMeshBuilder builder;
  /* open addressing: vertex + 1, or 0 */
  uint32_t *slot;
  size_t n_slots; /* a power of two, at most half full */
  uint64_t seed;  /* hostile files cannot guess which corners collide */
} Stl;

static uint64_t
hash_corner(const Stl *stl, const double pos[3])
{
  uint64_t h = stl->seed;
  for (int d = 0; d < 3; d++) {
    uint64_t bits;
    double x = pos[d] + 0.0; /* -0 is the same place as 0 */
    memcpy(&bits, &x, sizeof bits);
    h = (h ^ bits) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h * 0xbf58476d1ce4e5b9u >> 20;
}

/* the slot of the vertex at @pos, or the empty one where it belongs */
static uint32_t *
find_slot(const Stl *stl, const double pos[3])
{
  const double *all = (const double *)stl->builder.pos.data;
  for (size_t i = hash_corner(stl, pos);; i++) {
    uint32_t *slot = &stl->slot[i & (stl->n_slots - 1)];
    if (*slot == 0)
      return slot;
    const double *p = all + 3 * (size_t)(*slot - 1);
    if (p[0] == pos[0] && p[1] == pos[1] && p[2] == pos[2])
      return slot;
  }
}

static bool
grow_table(Stl *stl)
{
  uint32_t *old = stl->slot;
  size_t n_verts = (size_t)pla_mesh_builder_n_verts(&stl->builder);
  stl->n_slots = stl->n_slots ? 2 * stl->n_slots : 1024;
  stl->slot = pla_array_new0(stl->n_slots, sizeof *stl->slot);
  if (!stl->slot) {
    stl->slot = old;
    return false;
  }
  free(old);
  const double *all = (const double *)stl->builder.pos.data;
  for (size_t v = 0; v < n_verts; v++)
    *find_slot(stl, all + 3 * v) = (uint32_t)v + 1;
  return true;
}

/* one triangle by its corners, in the file's unit */
static PlaStatus
add_facet(Stl *stl, const double corner[9], PlaError *err)
{
  int64_t vert[3];
  for (int i = 0; i < 3; i++) {
    size_t n_verts = (size_t)pla_mesh_builder_n_verts(&stl->builder);
    if (n_verts >= INT_MAX)
      return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s holds more than %d vertices; cut it",
                      stl->reader.path, INT_MAX);
    if (2 * (n_verts + 1) > stl->n_slots && !grow_table(stl))
      return pla_fail_memory(err, stl->reader.path);
    PlaStatus st = pla_mesh_builder_verts(&stl->builder, PLA_F64, corner + 3 * i, 1, err);
    if (st != PLA_OK)
      return st;
    /* the new vertex goes away again when the place is taken */
    double pos[3];
    memcpy(pos, stl->builder.pos.data + n_verts * sizeof pos, sizeof pos);
    if (!isfinite(pos[0]) || !isfinite(pos[1]) || !isfinite(pos[2]))
      return pla_fail(err, PLA_ERR_FORMAT, "%s: triangle %llu has a coordinate that is no number",
                      stl->reader.path, (unsigned long long)stl->builder.n_cells);
    uint32_t *slot = find_slot(stl, pos);
    if (*slot == 0)
      *slot = (uint32_t)n_verts + 1;
    else
      stl->builder.pos.size -= sizeof pos;
    vert[i] = (int64_t)*slot - 1;
  }
  return pla_mesh_builder_cell(&stl->builder, PLA_CELL_TRIANGLE, vert, 3, err);
}

static uint32_t
little_u32(const uint8_t *at)
{
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static PlaStatus
read_binary(Stl *stl, PlaError *err)
{
  PlaReader *reader = &stl->reader;
  uint8_t head[HEADER];
  if (!pla_reader_read(reader, head, sizeof head))
    return pla_reader_fail_byte(reader, err, "an STL file has at least %d bytes; copy it again",
                                HEADER);
  uint64_t n = little_u32(head + 80);
  if (n > pla_reader_left(reader) / FACET)
    return pla_reader_fail_byte(reader, err,
                                "%llu triangles are claimed, but only %llu bytes follow; copy the "
                                "file again",
                                (unsigned long long)n, (unsigned long long)pla_reader_left(reader));
  stl->builder.single = true;
  uint64_t n_attributes = 0;
  for (uint64_t t = 0; t < n; t++) {
    if (pla_reader_fill(reader, FACET) < FACET)
      return pla_reader_fail_byte(reader, err, "the file ends early; copy it again");
    double corner[9];
    for (int i = 0; i < 9; i++) {
      uint32_t bits = little_u32(reader->at + 12 + 4 * i);
      float value;
      memcpy(&value, &bits, sizeof value);
      corner[i] = (double)value;
    }
    n_attributes += reader->at[48] || reader->at[49];
    PlaStatus st = add_facet(stl, corner, err);
    if (st != PLA_OK)
      return st;
    reader->at += FACET;
  }
  if (n_attributes)
    pla_notes_add(&stl->builder.notes, "the attribute bytes of %llu triangles were left out",
                  (unsigned long long)n_attributes);
  if (pla_reader_left(reader) > 0)
    pla_notes_add(&stl->builder.notes, "%llu bytes behind the last triangle were left out",
                  (unsigned long long)pla_reader_left(reader));
  return PLA_OK;
}

static bool
word_is(const char *word, size_t len, const char *expected)
{
  return strlen(expected) == len && strncasecmp(word, expected, len) == 0;
}

static PlaStatus
read_text(Stl *stl, PlaError *err)
{
  PlaReader *reader = &stl->reader;
  const char *word;
  size_t len;
  int n_corners = -1; /* -1: outside a facet */
  double corner[9], normal;
  bool ended = false;
  while (pla_reader_word(reader, &word, &len)) {
    bool ok = true;
    PlaStatus st = PLA_OK;
    if (word_is(word, len, "vertex")) {
      ok = n_corners >= 0 && n_corners < 3;
      for (int d = 0; d < 3 && ok; d++)
        ok = pla_reader_double(reader, &corner[3 * n_corners + d]);
      n_corners++;
    } else if (word_is(word, len, "facet")) {
      ok = n_corners < 0 && pla_reader_word(reader, &word, &len) && word_is(word, len, "normal");
      for (int d = 0; d < 3 && ok; d++) {
        ok = pla_reader_double(reader, &normal) || pla_reader_word(reader, &word, &len);
      }
      n_corners = 0;
    } else if (word_is(word, len, "endfacet")) {
      ok = n_corners == 3;
      if (ok)
        st = add_facet(stl, corner, err);
      n_corners = -1;
    } else if (word_is(word, len, "solid") || word_is(word, len, "endsolid")) {
      ok = n_corners < 0;
      ended = word[0] == 'e' || word[0] == 'E';
      pla_reader_skip_line(reader); /* its name */
    } else {
      ok = word_is(word, len, "outer") || word_is(word, len, "loop") ||
           word_is(word, len, "endloop");
    }
    if (!ok)
      return pla_reader_fail_line(reader, err,
                                  "this is no facet with a normal and three vertices; correct it");
    if (st != PLA_OK)
      return st;
  }
  return ended
             ? PLA_OK
             : pla_reader_fail_line(reader, err, "the file ends before 'endsolid'; copy it again");
}

/* a binary file has exactly the size that its count asks for; some start with "solid" all the same
 */
static bool
is_binary(const uint8_t *head, size_t n_head, uint64_t size)
{
  return n_head >= HEADER && size == HEADER + (uint64_t)FACET * (uint64_t)little_u32(head + 80);
}

static bool
is_text(const uint8_t *head, size_t n_head)
{
  size_t i = 0;
  while (i < n_head && (head[i] == ' ' || (head[i] >= '\t' && head[i] <= '\r')))
    i++;
  return n_head - i >= 5 && strncasecmp((const char *)head + i, "solid", 5) == 0;
}

static bool
probe_stl(const char *path, const uint8_t *head, size_t n_head)
{
  uint64_t size;
  return pla_source_size(path, &size, NULL) == PLA_OK &&
         (is_binary(head, n_head, size) ||
          (is_text(head, n_head) && memmem(head, n_head, "facet", 5)));
}

static PlaStatus
read_stl(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Stl stl = { 0 };
  PlaStatus st = pla_reader_open(&stl.reader, path, opts->progress, err);
  if (st != PLA_OK)
    return st;
  pla_mesh_builder_init(&stl.builder, path, opts);
  if (getentropy(&stl.seed, sizeof stl.seed) != 0)
    stl.seed = (uintptr_t)&stl;
  size_t n_head = pla_reader_fill(&stl.reader, 512);
  if (is_text(stl.reader.at, n_head) && !is_binary(stl.reader.at, n_head, stl.reader.size))
    st = read_text(&stl, err);
  else
    st = read_binary(&stl, err);
  if (st == PLA_OK)
    st = pla_mesh_builder_finish(&stl.builder, out, err);
  pla_mesh_builder_clear(&stl.builder);
  free(stl.slot);
  pla_reader_close(&stl.reader);
  return st;
}

/* unit normal of a triangle, 0 for a flat one */
static void
facet_normal(const double corner[9], float normal[3])
{
  double u[3], v[3];
  for (int d = 0; d < 3; d++) {
    u[d] = corner[3 + d] - corner[d];
    v[d] = corner[6 + d] - corner[d];
  }
  double n[3] = { u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0] };
  double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  for (int d = 0; d < 3; d++)
    normal[d] = length > 0.0 ? (float)(n[d] / length) : 0.0f;
}

static void
write_text_facet(PlaMeshWriter *writer, const double corner[9], const float normal[3])
{
  pla_mesh_writer_text(writer, "  facet normal");
  for (size_t d = 0; d < 3; d++) {
    pla_mesh_writer_bytes(writer, " ", 1);
    pla_mesh_writer_number(writer, PLA_F32, normal, d);
  }
  pla_mesh_writer_text(writer, "\n    outer loop\n");
  for (int i = 0; i < 3; i++) {
    pla_mesh_writer_text(writer, "      vertex");
    for (int d = 0; d < 3; d++) {
      float single = (float)corner[3 * i + d];
      pla_mesh_writer_bytes(writer, " ", 1);
      if (writer->mesh->single)
        pla_mesh_writer_number(writer, PLA_F32, &single, 0);
      else
        pla_mesh_writer_number(writer, PLA_F64, corner, (size_t)(3 * i + d));
    }
    pla_mesh_writer_bytes(writer, "\n", 1);
  }
  pla_mesh_writer_text(writer, "    endloop\n  endfacet\n");
}

static PlaStatus
write_stl(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaMesh *mesh = item->mesh;
  PlaMeshWriter writer;
  PlaStatus st = pla_mesh_need_surface(mesh, path, "STL", err);
  if (st == PLA_OK)
    st = pla_mesh_writer_open(&writer, path, mesh, opts, err);
  if (st != PLA_OK)
    return st;
  pla_mesh_note_losses(mesh, opts->text ? "STL" : "binary STL", !opts->text, opts->notes);
  writer.big_endian = false;
  if (opts->text) {
    pla_mesh_writer_text(&writer, "solid surface\n");
  } else {
    char head[80] = "binary STL, millimetres, right-anterior-superior";
    uint32_t n = (uint32_t)mesh->n_tris;
    pla_mesh_writer_bytes(&writer, head, sizeof head);
    pla_mesh_writer_elements(&writer, PLA_U32, &n, 1);
  }
  for (int t = 0; t < mesh->n_tris && !writer.cancelled; t++) {
    double corner[9];
    float values[12];
    for (int i = 0; i < 9; i++) {
      corner[i] =
          mesh->pos[3 * (size_t)mesh->tri[3 * (size_t)t + (size_t)(i / 3)] + (size_t)(i % 3)] *
          1000.0;
      values[3 + i] = (float)corner[i];
    }
    facet_normal(corner, values);
    if (opts->text) {
      write_text_facet(&writer, corner, values);
    } else {
      pla_mesh_writer_elements(&writer, PLA_F32, values, 12);
      pla_mesh_writer_bytes(&writer, "\0\0", 2);
    }
  }
  if (opts->text)
    pla_mesh_writer_text(&writer, "endsolid surface\n");
  return pla_mesh_writer_close(&writer, st, err);
}

const PlaFormat pla_format_stl = {
  .id = "stl",
  .title = "STL surface",
  .extensions = (const char *const[]){ ".stl", NULL },
  .kind = PLA_KIND_MESH,
  .probe = probe_stl,
  .read = read_stl,
  .write = write_stl,
};
