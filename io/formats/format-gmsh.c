/* Gmsh meshes (.msh), versions 2.2 and 4.1, text and binary, read; gmsh-writer.c
 * writes them.
 *
 * The first physical tag of a cell is the cell field "region".  A physical group with a name is a
 * field of that name too: 1 on its cells, or on the vertices of its faces, lines and points.
 * $NodeData and $ElementData are fields of doubles; what they leave out is 0.  Nodes and elements
 * have any numbers; they are kept in file order. */
#include "io/formats/formats.h"
#include "io/formats/gmsh-private.h"
#include "io/formats/mesh-builder.h"
#include "io/formats/mesh-writer.h"
#include "io/stream/reader.h"
#include "io/stream/source.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gmsh's element types: vertices and what they are to us; 0 vertices where there is none */
static const struct {
  uint8_t n, cell;
} elements[] = {
  [1] = { 2, PLA_CELL_LINE },         [2] = { 3, PLA_CELL_TRIANGLE },
  [3] = { 4, PLA_CELL_QUAD },         [4] = { 4, PLA_CELL_TET },
  [5] = { 8, PLA_CELL_HEX },          [6] = { 6, PLA_CELL_WEDGE },
  [7] = { 5, PLA_CELL_PYRAMID },      [8] = { 3, PLA_CELL_LINE_2 },
  [9] = { 6, PLA_CELL_TRIANGLE_2 },   [10] = { 9, PLA_CELL_QUAD_9 },
  [11] = { 10, PLA_CELL_TET_2 },      [12] = { 27, PLA_CELL_HEX_27 },
  [13] = { 18, PLA_CELL_WEDGE_2 },    [14] = { 14, PLA_CELL_PYRAMID_2 },
  [15] = { 1, PLA_CELL_VERTEX },      [16] = { 8, PLA_CELL_QUAD_2 },
  [17] = { 20, PLA_CELL_HEX_2 },      [18] = { 15, PLA_CELL_WEDGE_2 },
  [19] = { 13, PLA_CELL_PYRAMID_2 },  [20] = { 9, PLA_CELL_TRIANGLE_2 },
  [21] = { 10, PLA_CELL_TRIANGLE_2 }, [22] = { 12, PLA_CELL_TRIANGLE_2 },
  [23] = { 15, PLA_CELL_TRIANGLE_2 }, [24] = { 15, PLA_CELL_TRIANGLE_2 },
  [25] = { 21, PLA_CELL_TRIANGLE_2 }, [26] = { 4, PLA_CELL_LINE_2 },
  [27] = { 5, PLA_CELL_LINE_2 },      [28] = { 6, PLA_CELL_LINE_2 },
  [29] = { 20, PLA_CELL_TET_2 },      [30] = { 35, PLA_CELL_TET_2 },
  [31] = { 56, PLA_CELL_TET_2 },      [92] = { 64, PLA_CELL_HEX_2 },
  [93] = { 125, PLA_CELL_HEX_2 },
};
enum { N_ELEMENTS = sizeof elements / sizeof *elements, MAX_CORNERS = 125 };

/* numbers of nodes or elements, in file order, and how to find them */
typedef struct {
  PlaBytes tag;     /* int64_t */
  bool consecutive; /* first, first + 1, ... */
  uint64_t *order;  /* places sorted by tag, otherwise */
} Tags;

/* a physical group with a name */
typedef struct {
  int64_t dim, tag;
  char *name;
  PlaBytes mask; /* uint8_t for each cell offered, or each vertex; empty: nothing is in it */
} Group;

enum { MAX_GROUPS = 256 };

typedef struct {
  PlaReader reader;
  PlaMeshBuilder builder;
  bool text, swap;
  int version; /* 2 or 4 */
  size_t word; /* bytes of a size in binary files */
  Tags nodes, cells;
  PlaBytes entities; /* PlaGmshEntity, sorted */
  PlaBytes region;   /* int32_t for each cell offered */
  int n_groups;
  Group *group;
  bool has_region, has_nodes, has_elements;
} Msh;

static bool
probe_msh(const char *path, const uint8_t *head, size_t n)
{
  return n > 11 && memcmp(head, "$MeshFormat", 11) == 0;
}

/* ---- numbers, text or binary ---- */

static bool
read_raw(Msh *msh, void *out, size_t size)
{
  if (pla_reader_fill(&msh->reader, size) < size)
    return false;
  memcpy(out, msh->reader.at, size);
  msh->reader.at += size;
  return true;
}

static bool
read_int(Msh *msh, int64_t *out)
{
  if (msh->text)
    return pla_reader_int64(&msh->reader, out);
  uint32_t value;
  if (!read_raw(msh, &value, sizeof value))
    return false;
  *out = (int32_t)(msh->swap ? __builtin_bswap32(value) : value);
  return true;
}

/* counts and tags of version 4 */
static bool
read_size(Msh *msh, int64_t *out)
{
  if (msh->text || msh->word == 4)
    return read_int(msh, out);
  uint64_t value;
  if (!read_raw(msh, &value, sizeof value))
    return false;
  *out = (int64_t)(msh->swap ? __builtin_bswap64(value) : value);
  return true;
}

static bool
read_real(Msh *msh, double *out)
{
  if (msh->text)
    return pla_reader_double(&msh->reader, out);
  uint64_t value;
  if (!read_raw(msh, &value, sizeof value))
    return false;
  value = msh->swap ? __builtin_bswap64(value) : value;
  memcpy(out, &value, sizeof value);
  return true;
}

static PlaStatus
fail_at(const Msh *msh, const char *what, PlaError *err)
{
  return msh->text ? pla_reader_fail_line(&msh->reader, err,
                                          "%s is missing or wrong; copy the file again", what)
                   : pla_reader_fail_byte(&msh->reader, err,
                                          "%s is missing or wrong; copy the file again", what);
}

/* a count of things that take at least @bytes each in binary, two in text */
static bool
count_fits(const Msh *msh, int64_t n, uint64_t bytes)
{
  return n >= 0 && n <= INT_MAX &&
         (uint64_t)n <= pla_reader_left(&msh->reader) / (msh->text ? 2 : bytes) + 1;
}

/* ---- tags ---- */

static bool
tags_add(Tags *tags, int64_t tag)
{
  if (tag < 0)
    return false;
  size_t n = tags->tag.size / sizeof tag;
  int64_t first = n > 0 ? *(const int64_t *)tags->tag.data : tag;
  tags->consecutive = n == 0 || (tags->consecutive && tag - first == (int64_t)n);
  return pla_bytes_append(&tags->tag, &tag, sizeof tag);
}

static int
compare_tags(const void *a, const void *b, void *data)
{
  const int64_t *tag = data, x = tag[*(const uint64_t *)a], y = tag[*(const uint64_t *)b];
  return x < y ? -1 : x > y;
}

static PlaStatus
tags_finish(Tags *tags, const char *what, const char *path, PlaError *err)
{
  int64_t *tag = (int64_t *)tags->tag.data;
  size_t n = tags->tag.size / sizeof *tag;
  if (tags->consecutive || n == 0)
    return PLA_OK;
  tags->order = pla_array_new(n, sizeof *tags->order);
  if (!tags->order)
    return pla_fail_memory(err, path);
  for (size_t i = 0; i < n; i++)
    tags->order[i] = i;
  qsort_r(tags->order, n, sizeof *tags->order, compare_tags, tag);
  for (size_t i = 1; i < n; i++)
    if (tag[tags->order[i]] == tag[tags->order[i - 1]])
      return pla_fail(err, PLA_ERR_FORMAT, "%s: two %s have the number %" PRId64 "; correct it",
                      path, what, tag[tags->order[i]]);
  return PLA_OK;
}

/* the place of @wanted, or -1 */
static int64_t
tags_find(const Tags *tags, int64_t wanted)
{
  const int64_t *tag = (const int64_t *)tags->tag.data;
  size_t n = tags->tag.size / sizeof *tag;
  if (n == 0 || wanted < 0)
    return -1;
  if (tags->consecutive)
    return wanted >= tag[0] && wanted - tag[0] < (int64_t)n ? wanted - tag[0] : -1;
  size_t lo = 0, hi = n;
  while (hi - lo > 1) {
    size_t mid = lo + (hi - lo) / 2;
    if (tag[tags->order[mid]] <= wanted)
      lo = mid;
    else
      hi = mid;
  }
  return tag[tags->order[lo]] == wanted ? (int64_t)tags->order[lo] : -1;
}

static void
tags_clear(Tags *tags)
{
  pla_bytes_clear(&tags->tag);
  free(tags->order);
}

/* ---- sections ---- */

static PlaStatus
add_node(Msh *msh, int64_t tag, const double pos[3], PlaError *err)
{
  if (!tags_add(&msh->nodes, tag))
    return fail_at(msh, "the number of a node", err);
  return pla_mesh_builder_verts(&msh->builder, PLA_F64, pos, 1, err);
}

static PlaStatus
read_nodes_2(Msh *msh, PlaError *err)
{
  int64_t n;
  if (!pla_reader_int64(&msh->reader, &n) || !count_fits(msh, n, 28))
    return fail_at(msh, "the number of nodes", err);
  pla_reader_skip_line(&msh->reader);
  PlaStatus st = PLA_OK;
  for (int64_t i = 0; i < n && st == PLA_OK; i++) {
    int64_t tag;
    double pos[3];
    if (!read_int(msh, &tag) || !read_real(msh, &pos[0]) || !read_real(msh, &pos[1]) ||
        !read_real(msh, &pos[2]))
      return fail_at(msh, "a node", err);
    st = add_node(msh, tag, pos, err);
  }
  return st;
}

static PlaStatus
read_nodes_4(Msh *msh, PlaError *err)
{
  int64_t n_blocks, n, least, most, done = 0;
  if (!read_size(msh, &n_blocks) || !read_size(msh, &n) || !read_size(msh, &least) ||
      !read_size(msh, &most) || !count_fits(msh, n, 24 + msh->word) ||
      !count_fits(msh, n_blocks, 12 + msh->word))
    return fail_at(msh, "the number of nodes", err);
  PlaStatus st = PLA_OK;
  PlaBytes tags = { 0 };
  for (int64_t b = 0; b < n_blocks && st == PLA_OK; b++) {
    int64_t dim, entity, parametric, in_block;
    if (!read_int(msh, &dim) || !read_int(msh, &entity) || !read_int(msh, &parametric) ||
        !read_size(msh, &in_block) || dim < 0 || dim > 3 || in_block < 0 || in_block > n - done) {
      st = fail_at(msh, "a block of nodes", err);
      break;
    }
    int n_extra = parametric ? (int)dim : 0;
    tags.size = 0;
    for (int64_t i = 0; i < in_block && st == PLA_OK; i++) {
      int64_t tag;
      if (!read_size(msh, &tag))
        st = fail_at(msh, "the number of a node", err);
      else if (!pla_bytes_append(&tags, &tag, sizeof tag))
        st = pla_fail_memory(err, msh->reader.path);
    }
    for (int64_t i = 0; i < in_block && st == PLA_OK; i++) {
      double pos[6];
      bool ok = true;
      for (int d = 0; d < 3 + n_extra && ok; d++)
        ok = read_real(msh, &pos[d]);
      st = ok ? add_node(msh, ((const int64_t *)tags.data)[i], pos, err)
              : fail_at(msh, "a node", err);
    }
    done += in_block;
  }
  pla_bytes_clear(&tags);
  if (st == PLA_OK && done != n)
    st = fail_at(msh, "a block of nodes", err);
  return st;
}

/* @dim @tag "name" on a line each */
static PlaStatus
read_names(Msh *msh, PlaError *err)
{
  int64_t n;
  if (!pla_reader_int64(&msh->reader, &n) || n < 0)
    return fail_at(msh, "the number of names", err);
  if (n > MAX_GROUPS || msh->group) {
    pla_notes_add(&msh->builder.notes,
                  "names of physical groups were left out; there are too many");
    return PLA_OK;
  }
  msh->group = pla_array_new0((size_t)n + 1, sizeof *msh->group);
  if (!msh->group)
    return pla_fail_memory(err, msh->reader.path);
  for (int64_t i = 0; i < n; i++) {
    Group group = { 0 };
    const char *text;
    size_t len;
    if (!pla_reader_int64(&msh->reader, &group.dim) ||
        !pla_reader_int64(&msh->reader, &group.tag) || !pla_reader_line(&msh->reader, &text, &len))
      return fail_at(msh, "the name of a physical group", err);
    const char *from = memchr(text, '"', len), *to = from ? memrchr(text, '"', len) : NULL;
    if (!(to > from + 1))
      continue;
    group.name = pla_name_decode(from + 1, (size_t)(to - from) - 1);
    if (!group.name)
      return pla_fail_memory(err, msh->reader.path);
    msh->group[msh->n_groups++] = group;
  }
  return PLA_OK;
}

static void
clear_groups(Msh *msh)
{
  for (int g = 0; g < msh->n_groups; g++) {
    free(msh->group[g].name);
    pla_bytes_clear(&msh->group[g].mask);
  }
  free(msh->group);
}

/* makes @mask at least @n long; what is new is 0 */
static bool
lengthen(PlaBytes *mask, size_t n)
{
  static const uint8_t none[4096] = { 0 };
  bool ok = true;
  while (ok && mask->size < n)
    ok = pla_bytes_append(mask, none, n - mask->size < sizeof none ? n - mask->size : sizeof none);
  return ok;
}

static int
dimension_of(int cell)
{
  switch (cell) {
  case PLA_CELL_VERTEX:
    return 0;
  case PLA_CELL_LINE:
  case PLA_CELL_LINE_2:
    return 1;
  case PLA_CELL_TRIANGLE:
  case PLA_CELL_TRIANGLE_2:
  case PLA_CELL_QUAD:
  case PLA_CELL_QUAD_2:
  case PLA_CELL_QUAD_9:
    return 2;
  default:
    return 3;
  }
}

/* puts the next element, of @n vertices, into the group of its tag, if that has a name */
static PlaStatus
add_to_group(Msh *msh, int cell, int32_t region, const int64_t *vert, int n, PlaError *err)
{
  const int dim = dimension_of(cell);
  Group *group = NULL;
  for (int g = 0; g < msh->n_groups && !group; g++)
    if (msh->group[g].dim == dim && msh->group[g].tag == region)
      group = &msh->group[g];
  if (!group)
    return PLA_OK;
  const size_t n_cells = (size_t)msh->builder.n_cells;
  if (!lengthen(&group->mask,
                dim == 3 ? n_cells + 1 : (size_t)pla_mesh_builder_n_verts(&msh->builder)))
    return pla_fail_memory(err, msh->reader.path);
  uint8_t *mask = (uint8_t *)group->mask.data;
  if (dim == 3)
    mask[n_cells] = 1;
  for (int i = 0; dim < 3 && i < n; i++)
    mask[vert[i]] = 1;
  return PLA_OK;
}

/* hands the masks of groups with elements to the builder */
static PlaStatus
take_groups(Msh *msh, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (int g = 0; st == PLA_OK && g < msh->n_groups; g++) {
    Group *group = &msh->group[g];
    if (group->mask.size == 0)
      continue;
    if (!lengthen(&group->mask, group->dim == 3 ? (size_t)msh->builder.n_cells
                                                : (size_t)pla_mesh_builder_n_verts(&msh->builder)))
      return pla_fail_memory(err, msh->reader.path);
    void *mask = group->mask.data;
    group->mask = (PlaBytes){ 0 };
    st = pla_mesh_builder_take_field(&msh->builder, group->name,
                                     group->dim == 3 ? PLA_ON_CELLS : PLA_ON_VERTS, PLA_U8, 1, mask,
                                     err);
  }
  return st;
}

static PlaStatus
add_element(Msh *msh, int type, int64_t tag, int32_t region, int64_t *vert, PlaError *err)
{
  int n = elements[type].n;
  for (int i = 0; i < n; i++) {
    int64_t index = tags_find(&msh->nodes, vert[i]);
    if (index < 0)
      return msh->text ? pla_reader_fail_line(&msh->reader, err,
                                              "element %" PRId64 " names node %" PRId64
                                              ", which is not there; correct it",
                                              tag, vert[i])
                       : pla_reader_fail_byte(&msh->reader, err,
                                              "element %" PRId64 " names node %" PRId64
                                              ", which is not there; correct it",
                                              tag, vert[i]);
    vert[i] = index;
  }
  msh->has_region |= region != 0;
  if (!tags_add(&msh->cells, tag))
    return fail_at(msh, "the number of an element", err);
  if (!pla_bytes_append(&msh->region, &region, sizeof region))
    return pla_fail_memory(err, msh->reader.path);
  PlaStatus st = add_to_group(msh, elements[type].cell, region, vert, n, err);
  return st == PLA_OK
             ? pla_mesh_builder_cell(&msh->builder, elements[type].cell, vert, (size_t)n, err)
             : st;
}

static bool
is_element(int64_t type)
{
  return type >= 1 && type < N_ELEMENTS && elements[type].n > 0;
}

static PlaStatus
fail_type(const Msh *msh, int64_t type, PlaError *err)
{
  char what[64];
  snprintf(what, sizeof what, "an element of a known type (this is type %" PRId64 ")", type);
  return fail_at(msh, what, err);
}

static PlaStatus
read_elements_2(Msh *msh, PlaError *err)
{
  enum { MAX_TAGS = 1024 }; /* physical, elementary, partitions */
  int64_t n;
  if (!pla_reader_int64(&msh->reader, &n) || !count_fits(msh, n, 8))
    return fail_at(msh, "the number of elements", err);
  pla_reader_skip_line(&msh->reader);
  PlaStatus st = PLA_OK;
  int64_t type = 0, follow = 0, n_tags = 0;
  for (int64_t i = 0; i < n && st == PLA_OK; i++) {
    int64_t tag, vert[MAX_CORNERS], region = 0;
    /* in binary files one header serves several elements */
    if (!msh->text && follow == 0 &&
        (!read_int(msh, &type) || !read_int(msh, &follow) || !read_int(msh, &n_tags) || follow < 1))
      return fail_at(msh, "the header of elements", err);
    follow--;
    bool ok = read_int(msh, &tag);
    if (msh->text)
      ok = ok && read_int(msh, &type) && read_int(msh, &n_tags);
    if (ok && !is_element(type))
      return fail_type(msh, type, err);
    ok = ok && n_tags >= 0 && n_tags <= MAX_TAGS;
    for (int64_t k = 0; k < n_tags && ok; k++) {
      int64_t value;
      ok = read_int(msh, &value);
      region = k == 0 && ok ? value : region;
    }
    for (int k = 0; ok && k < elements[type].n; k++)
      ok = read_int(msh, &vert[k]);
    if (!ok || region < INT32_MIN || region > INT32_MAX)
      return fail_at(msh, "an element", err);
    st = add_element(msh, (int)type, tag, (int32_t)region, vert, err);
  }
  return st;
}

static int
compare_entities(const void *a, const void *b)
{
  const PlaGmshEntity *x = a, *y = b;
  return x->dim != y->dim ? (x->dim < y->dim ? -1 : 1) : x->tag < y->tag ? -1 : x->tag > y->tag;
}

static int32_t
physical_of(const Msh *msh, int64_t dim, int64_t tag)
{
  const PlaGmshEntity wanted = { .dim = dim, .tag = tag };
  const PlaGmshEntity *found = msh->entities.size == 0 ? NULL
                                                       : bsearch(&wanted, msh->entities.data,
                                                                 msh->entities.size / sizeof wanted,
                                                                 sizeof wanted, compare_entities);
  return found ? found->physical : 0;
}

static PlaStatus
read_elements_4(Msh *msh, PlaError *err)
{
  int64_t n_blocks, n, least, most, done = 0;
  if (!read_size(msh, &n_blocks) || !read_size(msh, &n) || !read_size(msh, &least) ||
      !read_size(msh, &most) || !count_fits(msh, n, 2 * msh->word) ||
      !count_fits(msh, n_blocks, 12 + msh->word))
    return fail_at(msh, "the number of elements", err);
  PlaStatus st = PLA_OK;
  for (int64_t b = 0; b < n_blocks && st == PLA_OK; b++) {
    int64_t dim, entity, type, in_block;
    if (!read_int(msh, &dim) || !read_int(msh, &entity) || !read_int(msh, &type) ||
        !read_size(msh, &in_block) || in_block < 0 || in_block > n - done)
      return fail_at(msh, "a block of elements", err);
    if (!is_element(type))
      return fail_type(msh, type, err);
    int32_t region = physical_of(msh, dim, entity);
    for (int64_t i = 0; i < in_block && st == PLA_OK; i++) {
      int64_t tag, vert[MAX_CORNERS];
      bool ok = read_size(msh, &tag);
      for (int k = 0; k < elements[type].n && ok; k++)
        ok = read_size(msh, &vert[k]);
      st = ok ? add_element(msh, (int)type, tag, region, vert, err)
              : fail_at(msh, "an element", err);
    }
    done += in_block;
  }
  if (st == PLA_OK && done != n)
    st = fail_at(msh, "a block of elements", err);
  return st;
}

static PlaStatus
read_entities(Msh *msh, PlaError *err)
{
  int64_t count[4];
  for (int d = 0; d < 4; d++)
    if (!read_size(msh, &count[d]) || !count_fits(msh, count[d], 4))
      return fail_at(msh, "the number of entities", err);
  for (int d = 0; d < 4; d++)
    for (int64_t i = 0; i < count[d]; i++) {
      PlaGmshEntity entity = { .dim = d };
      int64_t n_physical, n_bounding = 0, value;
      double x;
      bool ok = read_int(msh, &entity.tag);
      for (int k = 0; k < (d == 0 ? 3 : 6) && ok; k++)
        ok = read_real(msh, &x);
      ok = ok && read_size(msh, &n_physical) && count_fits(msh, n_physical, 4);
      for (int64_t k = 0; ok && k < n_physical; k++) {
        ok = read_int(msh, &value) && value >= INT32_MIN && value <= INT32_MAX;
        entity.physical = k == 0 && ok ? (int32_t)value : entity.physical;
      }
      ok = ok && (d == 0 || (read_size(msh, &n_bounding) && count_fits(msh, n_bounding, 4)));
      for (int64_t k = 0; ok && k < n_bounding; k++)
        ok = read_int(msh, &value);
      if (!ok)
        return fail_at(msh, "an entity", err);
      if (!pla_bytes_append(&msh->entities, &entity, sizeof entity))
        return pla_fail_memory(err, msh->reader.path);
    }
  if (msh->entities.size > 0)
    qsort(msh->entities.data, msh->entities.size / sizeof(PlaGmshEntity), sizeof(PlaGmshEntity),
          compare_entities);
  return PLA_OK;
}

/* $NodeData or $ElementData: string tags, real tags, integer tags (step, components, entries),
 * entries */
static PlaStatus
read_data(Msh *msh, PlaFieldPlace place, PlaError *err)
{
  PlaReader *reader = &msh->reader;
  const Tags *tags = place == PLA_ON_VERTS ? &msh->nodes : &msh->cells;
  uint64_t n_tuples =
      place == PLA_ON_VERTS ? pla_mesh_builder_n_verts(&msh->builder) : msh->builder.n_cells;
  if (!msh->has_nodes || (place == PLA_ON_CELLS && !msh->has_elements))
    return fail_at(msh, "the mesh before its data", err);
  char *name = NULL;
  PlaStatus st = PLA_OK;
  int64_t n, components = 0, entries = 0;
  double real;
  if (!pla_reader_int64(reader, &n) || n < 0)
    return fail_at(msh, "the number of text tags", err);
  pla_reader_skip_line(reader);
  for (int64_t i = 0; i < n && st == PLA_OK; i++) {
    const char *text;
    size_t len;
    if (!pla_reader_line(reader, &text, &len)) {
      st = fail_at(msh, "a text tag", err);
    } else if (i == 0) {
      const char *from = memchr(text, '"', len);
      const char *to = from ? memrchr(text, '"', len) : NULL;
      name = to > from ? pla_name_decode(from + 1, (size_t)(to - from) - 1)
                       : pla_name_decode(text, len);
    }
  }
  if (st == PLA_OK && (!pla_reader_int64(reader, &n) || n < 0))
    st = fail_at(msh, "the number of real tags", err);
  for (int64_t i = 0; i < n && st == PLA_OK; i++)
    if (!pla_reader_double(reader, &real))
      st = fail_at(msh, "a real tag", err);
  if (st == PLA_OK && (!pla_reader_int64(reader, &n) || n < 3))
    st = fail_at(msh, "the number of whole tags", err);
  for (int64_t i = 0; i < n && st == PLA_OK; i++) {
    int64_t value;
    if (!pla_reader_int64(reader, &value))
      st = fail_at(msh, "a whole tag", err);
    else if (i == 1)
      components = value;
    else if (i == 2)
      entries = value;
  }
  pla_reader_skip_line(reader);
  if (st == PLA_OK && (components < 1 || components > 65536 || !count_fits(msh, entries, 4) ||
                       !count_fits(msh, entries * components, 8) || (uint64_t)entries > n_tuples ||
                       /* a few entries must not claim a huge array */
                       (components > 9 && (uint64_t)entries < n_tuples)))
    st = fail_at(msh, "the number of components or entries", err);
  /* entries say how much the file holds; the array is for every node or cell */
  double *data = NULL;
  if (st == PLA_OK) {
    data = pla_array_new0((size_t)n_tuples * (size_t)(entries > 0 ? components : 1), sizeof *data);
    if (!data)
      st = pla_fail_memory(err, reader->path);
    if (entries == 0)
      components = 1;
  }
  for (int64_t e = 0; e < entries && st == PLA_OK; e++) {
    int64_t tag, at = -1;
    if (read_int(msh, &tag))
      at = tags_find(tags, tag);
    if (at < 0)
      st = fail_at(msh, "the node or element of an entry", err);
    for (int64_t c = 0; c < components && st == PLA_OK; c++)
      if (!read_real(msh, &data[at * components + c]))
        st = fail_at(msh, "a value", err);
  }
  if (st == PLA_OK && (uint64_t)entries < n_tuples)
    pla_notes_add(&msh->builder.notes, "the field %.200s is 0 where the file gives no value",
                  name ? name : "");
  if (st == PLA_OK)
    st = pla_mesh_builder_take_field(&msh->builder, name, place, PLA_F64, (int)components, data,
                                     err);
  else
    free(data);
  free(name);
  return st;
}

static PlaStatus
read_format(Msh *msh, PlaError *err)
{
  PlaReader *reader = &msh->reader;
  const char *word;
  size_t len;
  int type, size;
  if (!pla_reader_word(reader, &word, &len) || !probe_msh(NULL, (const uint8_t *)word, len + 1))
    return pla_reader_fail_line(reader, err, "the file does not start with $MeshFormat");
  if (!pla_reader_word(reader, &word, &len))
    return fail_at(msh, "the version", err);
  if (!pla_text_is(word, len, "2.2") && !pla_text_is(word, len, "4.1") &&
      !pla_text_is(word, len, "2") && !pla_text_is(word, len, "2.1"))
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s has version %.*s of Gmsh's format; save it as 4.1 or 2.2", reader->path,
                    (int)(len < 16 ? len : 16), word);
  msh->version = word[0] - '0';
  if (!pla_reader_int(reader, &type) || !pla_reader_int(reader, &size) ||
      (type != 0 && type != 1) || (size != 8 && (size != 4 || msh->version == 2)))
    return fail_at(msh, "the kind of the file or its data size", err);
  msh->word = (size_t)size;
  pla_reader_skip_line(reader);
  if (type == 1) {
    uint32_t one;
    if (!read_raw(msh, &one, sizeof one) || (one != 1 && one != __builtin_bswap32(1)))
      return fail_at(msh, "the mark of the byte order", err);
    msh->swap = one != 1;
  }
  msh->text = type == 0;
  return pla_reader_skip_past(reader, "$EndMeshFormat") ? PLA_OK
                                                        : fail_at(msh, "$EndMeshFormat", err);
}

static PlaStatus
read_section(Msh *msh, const char *name, PlaError *err)
{
  PlaStatus st = PLA_OK;
  if (strcmp(name, "$Nodes") == 0) {
    st = msh->has_nodes      ? fail_at(msh, "a single $Nodes", err)
         : msh->version == 2 ? read_nodes_2(msh, err)
                             : read_nodes_4(msh, err);
    if (st == PLA_OK)
      st = tags_finish(&msh->nodes, "nodes", msh->reader.path, err);
    msh->has_nodes = true;
  } else if (strcmp(name, "$Elements") == 0) {
    st = msh->has_elements || !msh->has_nodes
             ? fail_at(msh, "$Nodes before a single $Elements", err)
         : msh->version == 2 ? read_elements_2(msh, err)
                             : read_elements_4(msh, err);
    if (st == PLA_OK)
      st = tags_finish(&msh->cells, "elements", msh->reader.path, err);
    msh->has_elements = true;
  } else if (strcmp(name, "$Entities") == 0 && msh->version == 4) {
    st = read_entities(msh, err);
  } else if (strcmp(name, "$NodeData") == 0) {
    st = read_data(msh, PLA_ON_VERTS, err);
  } else if (strcmp(name, "$ElementData") == 0) {
    st = read_data(msh, PLA_ON_CELLS, err);
  } else if (strcmp(name, "$PhysicalNames") == 0) {
    st = read_names(msh, err);
  } else if (strcmp(name, "$Comments") != 0) {
    pla_notes_add(&msh->builder.notes, "the section %.60s was left out", name);
  }
  return st;
}

static PlaStatus
read_sections(Msh *msh, PlaError *err)
{
  enum { MAX_SECTIONS = 4096 }; /* each may leave a note */
  PlaStatus st = PLA_OK;
  int n_sections = 0;
  while (st == PLA_OK && pla_reader_find(&msh->reader, '$')) {
    const char *word;
    size_t len;
    char name[64], end[72];
    pla_reader_word(&msh->reader, &word, &len);
    if (len < 2 || len >= sizeof name || ++n_sections > MAX_SECTIONS)
      return fail_at(msh, "the name of a section", err);
    memcpy(name, word, len);
    name[len] = '\0';
    pla_reader_skip_line(&msh->reader);
    st = read_section(msh, name, err);
    snprintf(end, sizeof end, "$End%s", name + 1);
    if (st == PLA_OK && !pla_reader_skip_past(&msh->reader, end))
      st = fail_at(msh, end, err);
  }
  if (st == PLA_OK && !msh->has_nodes)
    st = fail_at(msh, "$Nodes", err);
  return st;
}

static PlaStatus
read_msh(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Msh msh = { .text = true };
  PlaStatus st = pla_reader_open(&msh.reader, path, opts->progress, err);
  if (st != PLA_OK)
    return st;
  pla_mesh_builder_init(&msh.builder, path, opts);
  st = read_format(&msh, err);
  if (st == PLA_OK)
    st = read_sections(&msh, err);
  if (st == PLA_OK && msh.has_region) {
    st = pla_mesh_builder_take_field(&msh.builder, "region", PLA_ON_CELLS, PLA_I32, 1,
                                     msh.region.data, err);
    msh.region = (PlaBytes){ 0 };
  }
  if (st == PLA_OK)
    st = take_groups(&msh, err);
  if (st == PLA_OK)
    st = pla_mesh_builder_finish(&msh.builder, out, err);
  pla_mesh_builder_clear(&msh.builder);
  tags_clear(&msh.nodes);
  tags_clear(&msh.cells);
  pla_bytes_clear(&msh.entities);
  pla_bytes_clear(&msh.region);
  clear_groups(&msh);
  pla_reader_close(&msh.reader);
  return st;
}

const PlaFormat pla_format_gmsh = {
  .id = "gmsh",
  .title = "Gmsh mesh",
  .extensions = (const char *const[]){ ".msh", NULL },
  .kind = PLA_KIND_MESH,
  .probe = probe_msh,
  .read = read_msh,
  .write = pla_gmsh_write,
};
