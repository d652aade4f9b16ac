/* A surgical body as named arrays: those of the cut mesh, and
 *
 *   body/pos (3), body/held                                vertices
 *   body/cell_material                                     tets of the mesh before all cuts
 *   body/material_id (text), body/material (constants, density)
 *   body/cell, body/triangles                              edge of a typical tet, triangles of all
 * blades body/wound_name (text), wound (closed, path points, left and right lip points),
 * wound_length, wound_path (3), lip_tet, lip (weights, along)          wounds one after the other
 *   body/stitch_tet (2), stitch (11: weights, gap), body/hook_tet (2), hook (11: weights, place)
 *
 * Texts are bytes, each ended by a zero. */
#include "sim/surgery/surgery-state.h"

#include "anatomy/base/memory.h"
#include "sim/cut/cut-state.h"
#include "sim/surgery/surgery-private.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MATERIAL = PLA_MAX_CONSTANTS + 1, LIP = 5, THREAD = 11 };

static bool
put_texts(PlaNamedArrays *out, const char *name, int n, const char *(*get)(const void *, int),
          const void *data)
{
  size_t size = 0;
  for (int i = 0; i < n; i++)
    size += strlen(get(data, i)) + 1;
  char *to = pla_named_arrays_add(out, name, PLA_U8, 1, size);
  for (int i = 0; to && i < n; i++) {
    memcpy(to, get(data, i), strlen(get(data, i)) + 1);
    to += strlen(get(data, i)) + 1;
  }
  return size == 0 || to;
}

static const char *
material_id(const void *data, int i)
{
  return ((const PlaSurgery *)data)->material[i].material->id;
}

static const char *
wound_name(const void *data, int i)
{
  return ((const PlaSurgery *)data)->wound[i].name;
}

static bool
save_threads(const PlaSurgeryThreads *threads, int ends, const char *tets, const char *numbers,
             PlaNamedArrays *out)
{
  int *tet = pla_named_arrays_add(out, tets, PLA_I32, 2, (size_t)threads->n);
  double *number =
      tet ? pla_named_arrays_add(out, numbers, PLA_F64, THREAD, (size_t)threads->n) : NULL;
  for (int i = 0; number && i < threads->n; i++) {
    const PlaSurgeryThread *t = &threads->thread[i];
    for (int e = 0; e < ends; e++) {
      tet[2 * i + e] = t->at[e].tet;
      memcpy(&number[THREAD * i + 4 * e], t->at[e].weight, sizeof t->at[e].weight);
    }
    memcpy(&number[THREAD * i + 8], t->place, sizeof t->place);
  }
  return number != NULL;
}

static bool
save_wounds(const PlaSurgery *self, PlaNamedArrays *out)
{
  const size_t n = (size_t)self->n_wounds;
  size_t n_path = 0, n_lip = 0;
  for (int w = 0; w < self->n_wounds; w++) {
    n_path += (size_t)self->wound[w].n_path;
    n_lip += (size_t)self->wound[w].n_lip[0] + (size_t)self->wound[w].n_lip[1];
  }
  int *row = NULL, *lip_tet = NULL;
  double *length = NULL, *path = NULL, *lip = NULL;
  bool ok = put_texts(out, "body/wound_name", self->n_wounds, wound_name, self) &&
            (row = pla_named_arrays_add(out, "body/wound", PLA_I32, 4, n)) &&
            (length = pla_named_arrays_add(out, "body/wound_length", PLA_F64, 1, n)) &&
            (path = pla_named_arrays_add(out, "body/wound_path", PLA_F64, 3, n_path)) &&
            (lip_tet = pla_named_arrays_add(out, "body/lip_tet", PLA_I32, 1, n_lip)) &&
            (lip = pla_named_arrays_add(out, "body/lip", PLA_F64, LIP, n_lip));
  for (int w = 0; ok && w < self->n_wounds; w++) {
    const PlaSurgeryWound *wound = &self->wound[w];
    const int numbers[4] = { wound->closed, wound->n_path, wound->n_lip[0], wound->n_lip[1] };
    memcpy(&row[4 * w], numbers, sizeof numbers);
    length[w] = wound->length;
    memcpy(path, wound->path, 3 * (size_t)wound->n_path * sizeof *path);
    path += 3 * wound->n_path;
    for (int s = 0; s < 2; s++)
      for (int i = 0; i < wound->n_lip[s]; i++, lip += LIP) {
        const PlaSurgeryLipPoint *p = &wound->lip[s][i];
        *lip_tet++ = p->anchor.tet;
        memcpy(lip, p->anchor.weight, sizeof p->anchor.weight);
        lip[4] = p->along;
      }
  }
  return ok;
}

PlaStatus
pla_surgery_save(const PlaSurgery *self, PlaNamedArrays *out, PlaError *err)
{
  const size_t n_verts = (size_t)pla_cut_mesh_get(self->cut).mesh.n_verts;
  PlaStatus st = pla_cut_mesh_save(self->cut, out, err);
  if (st != PLA_OK)
    return st;
  bool ok = pla_named_arrays_put(out, "body/pos", PLA_F64, 3, n_verts, self->pos) &&
            pla_named_arrays_put(out, "body/held", PLA_U8, 1, n_verts, self->held) &&
            pla_named_arrays_put(out, "body/cell_material", PLA_I32, 1, (size_t)self->n_cells,
                                 self->cell_material) &&
            pla_named_arrays_put(out, "body/cell", PLA_F64, 1, 1, &self->cell) &&
            pla_named_arrays_put(out, "body/triangles", PLA_I32, 1, 1, &self->n_triangles) &&
            put_texts(out, "body/material_id", self->n_materials, material_id, self);
  double *material =
      ok ? pla_named_arrays_add(out, "body/material", PLA_F64, MATERIAL, (size_t)self->n_materials)
         : NULL;
  for (int m = 0; material && m < self->n_materials; m++) {
    memcpy(&material[MATERIAL * m], self->material[m].constants,
           sizeof self->material[m].constants);
    material[MATERIAL * m + PLA_MAX_CONSTANTS] = self->material[m].density;
  }
  ok = material && save_wounds(self, out) &&
       save_threads(&self->stitches, 2, "body/stitch_tet", "body/stitch", out) &&
       save_threads(&self->hooks, 1, "body/hook_tet", "body/hook", out);
  return ok ? PLA_OK : pla_fail_memory(err, "the body");
}

/* ---- and back ---- */

/* the next of the texts, or NULL */
static const char *
next_text(const char **at, int *left)
{
  const char *text = *at, *end = *left > 0 ? memchr(text, 0, (size_t)*left) : NULL;
  if (!end)
    return NULL;
  *left -= (int)(end + 1 - text);
  *at = end + 1;
  return text;
}

static PlaStatus
damaged(PlaError *err, const char *what)
{
  return pla_fail(err, PLA_ERR_FORMAT, "the %s of the stored body are damaged", what);
}

static PlaStatus
load_materials(PlaSurgery *self, const PlaNamedArrays *arrays, PlaError *err)
{
  const void *text = NULL, *number = NULL;
  int n_text = -1, n = -1;
  PlaStatus st = pla_named_arrays_get(arrays, "body/material_id", PLA_U8, 1, &n_text, &text, err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/material", PLA_F64, MATERIAL, &n, &number, err);
  if (st == PLA_OK) {
    self->material = pla_array_new0((size_t)n, sizeof *self->material);
    self->n_materials = n;
    st = self->material ? PLA_OK : pla_fail_memory(err, "the body");
  }
  const char *at = text;
  for (int m = 0; st == PLA_OK && m < n; m++) {
    const char *id = next_text(&at, &n_text);
    const double *row = (const double *)number + MATERIAL * m;
    self->material[m].material = id ? pla_material_find(id) : NULL;
    memcpy(self->material[m].constants, row, sizeof self->material[m].constants);
    self->material[m].density = row[PLA_MAX_CONSTANTS];
    if (!self->material[m].material)
      st = damaged(err, "materials");
  }
  if (st == PLA_OK &&
      !pla_ints_within(self->cell_material, (size_t)self->n_cells, 0, self->n_materials))
    st = damaged(err, "materials");
  return st;
}

static bool
load_anchor(PlaSurgeryAnchor *anchor, int tet, const double weight[4], int n_tets)
{
  anchor->tet = tet;
  memcpy(anchor->weight, weight, sizeof anchor->weight);
  bool ok = tet >= 0 && tet < n_tets;
  for (int c = 0; c < 4; c++)
    ok = ok && isfinite(weight[c]);
  return ok;
}

static PlaStatus
load_threads(PlaSurgeryThreads *threads, int ends, const char *tets, const char *numbers,
             int n_tets, const PlaNamedArrays *arrays, PlaError *err)
{
  const void *tet = NULL, *number = NULL;
  int n = -1;
  PlaStatus st = pla_named_arrays_get(arrays, tets, PLA_I32, 2, &n, &tet, err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, numbers, PLA_F64, THREAD, &n, &number, err);
  if (st == PLA_OK && n > 0) {
    threads->thread = pla_array_new0((size_t)n, sizeof *threads->thread);
    st = threads->thread ? PLA_OK : pla_fail_memory(err, "the body");
  }
  for (int i = 0; st == PLA_OK && i < n; i++) {
    const double *row = (const double *)number + THREAD * i;
    PlaSurgeryThread *t = &threads->thread[i];
    for (int e = 0; st == PLA_OK && e < ends; e++)
      if (!load_anchor(&t->at[e], ((const int *)tet)[2 * i + e], row + 4 * e, n_tets))
        st = damaged(err, "stitches or hooks");
    memcpy(t->place, row + 8, sizeof t->place);
  }
  if (st == PLA_OK)
    threads->n = threads->capacity = n;
  return st;
}

typedef struct {
  const int *row, *lip_tet;
  const double *length, *path, *lip;
  int n, n_path, n_lip; /* left */
} Wounds;

static bool
load_wound(PlaSurgeryWound *wound, Wounds *from, int n_tets)
{
  const int *row = from->row;
  if (!pla_ints_within(row, 1, 0, 2) || row[1] < 1 || row[1] > from->n_path || row[2] < 0 ||
      row[3] < 0 || row[2] > from->n_lip || row[3] > from->n_lip - row[2])
    return false;
  wound->closed = row[0];
  wound->length = *from->length;
  wound->path = pla_array_dup(from->path, 3 * (size_t)row[1], sizeof *from->path);
  wound->n_path = row[1];
  bool ok = wound->path;
  for (int s = 0; ok && s < 2; s++) {
    wound->lip[s] = pla_array_new0((size_t)row[2 + s], sizeof *wound->lip[s]);
    ok = wound->lip[s];
    for (int i = 0; ok && i < row[2 + s]; i++, from->lip += LIP) {
      ok = load_anchor(&wound->lip[s][i].anchor, *from->lip_tet++, from->lip, n_tets);
      wound->lip[s][i].along = from->lip[4];
      wound->n_lip[s] = i + 1;
    }
  }
  from->row += 4;
  from->length++;
  from->path += 3 * row[1];
  from->n_path -= row[1];
  from->n_lip -= row[2] + row[3];
  return ok;
}

static PlaStatus
load_wounds(PlaSurgery *self, const PlaNamedArrays *arrays, int n_tets, PlaError *err)
{
  const void *text = NULL, *data[5] = { NULL };
  int n_text = -1, n = -1, n_path = -1, n_lip = -1;
  PlaStatus st = pla_named_arrays_get(arrays, "body/wound_name", PLA_U8, 1, &n_text, &text, err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/wound", PLA_I32, 4, &n, &data[0], err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/wound_length", PLA_F64, 1, &n, &data[1], err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/wound_path", PLA_F64, 3, &n_path, &data[2], err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/lip_tet", PLA_I32, 1, &n_lip, &data[3], err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/lip", PLA_F64, LIP, &n_lip, &data[4], err);
  if (st == PLA_OK && n > 0) {
    self->wound = pla_array_new0((size_t)n, sizeof *self->wound);
    st = self->wound ? PLA_OK : pla_fail_memory(err, "the body");
  }
  Wounds from = { data[0], data[3], data[1], data[2], data[4], n, n_path, n_lip };
  const char *at = text;
  for (int w = 0; st == PLA_OK && w < n; w++) {
    const char *name = next_text(&at, &n_text);
    self->n_wounds = w + 1;
    if (!name || !load_wound(&self->wound[w], &from, n_tets))
      st = damaged(err, "wounds");
    else if (!(self->wound[w].name = pla_strdup(name)))
      st = pla_fail_memory(err, "the body");
  }
  return st;
}

PlaStatus
pla_surgery_load(const PlaNamedArrays *arrays, PlaSurgery **out, PlaError *err)
{
  *out = NULL;
  PlaSurgery *self = pla_array_new0(1, sizeof *self);
  const void *cell = NULL, *triangles = NULL;
  PlaStatus st =
      self ? pla_cut_mesh_load(arrays, &self->cut, err) : pla_fail_memory(err, "the body");
  if (st != PLA_OK) {
    pla_surgery_free(self);
    return st;
  }
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  int n_verts = view.mesh.n_verts, n_tets = view.mesh.n_tets, n_cells = -1, one = 1;
  st = pla_named_arrays_dup(arrays, "body/pos", PLA_F64, 3, &n_verts, (void **)&self->pos, err);
  if (st == PLA_OK)
    st = pla_named_arrays_dup(arrays, "body/held", PLA_U8, 1, &n_verts, (void **)&self->held, err);
  if (st == PLA_OK)
    st = pla_named_arrays_dup(arrays, "body/cell_material", PLA_I32, 1, &n_cells,
                              (void **)&self->cell_material, err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/cell", PLA_F64, 1, &one, &cell, err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/triangles", PLA_I32, 1, &one, &triangles, err);
  if (st == PLA_OK) {
    self->n_cells = n_cells;
    memcpy(&self->n_triangles, triangles, sizeof self->n_triangles);
    memcpy(&self->cell, cell, sizeof self->cell);
    bool ok = self->cell > 0.0 && self->n_triangles >= 0 &&
              pla_ints_within(view.tet_source, (size_t)n_tets, 0, n_cells);
    for (int i = 0; ok && i < 3 * n_verts; i++)
      ok = isfinite(self->pos[i]);
    st = ok ? load_materials(self, arrays, err) : damaged(err, "vertices");
  }
  if (st == PLA_OK)
    st = load_wounds(self, arrays, n_tets, err);
  if (st == PLA_OK)
    st = load_threads(&self->stitches, 2, "body/stitch_tet", "body/stitch", n_tets, arrays, err);
  if (st == PLA_OK)
    st = load_threads(&self->hooks, 1, "body/hook_tet", "body/hook", n_tets, arrays, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_surgery_free(self);
  return st;
}
