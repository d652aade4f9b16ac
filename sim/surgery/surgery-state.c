/* A surgical body as named arrays: those of the cut mesh, and
 *
 *   body/pos (3), body/held, body/colour                   vertices
 *   body/cell_material                                     tets of the mesh before all cuts
 *   body/material_id (text), body/material (constants, density), body/tissue (text)
 *   body/cell, body/triangles                              edge of a typical tet, triangles of all
 *                                                          blades
 *   body/wound_name (text), body/wound (closed, path points, knots, left and right lip points),
 *   body/wound_length, body/wound_path (3), body/wound_knot, body/lip_tet, body/lip (weights,
 * along) wounds one after the other body/stitch_tet (4), body/stitch (27: weights, blends, place,
 * gap, row, stitch, share); the same of body/gauge, body/hook and body/support; body/bone (of a
 * carved body: what each triangle of its surface borders on), body/formulation (PlaFormulation,
 * where it is not the standard one); body/prestretch (9), body/expander
 * (5: place, radius, pressure), body/implant_name (text), body/implant (5: place, radius, settled)
 *
 * Texts are bytes, each ended by a zero.  Bodies of earlier builds lack colours, gauges,
 * supports, prestretch, expanders, implants and tissues: they are derived, or the body has none. */
#include "sim/surgery/surgery-state.h"

#include "anatomy/base/memory.h"
#include "sim/cut/cut-state.h"
#include "sim/surgery/surgery-private.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MATERIAL = PLA_MAX_CONSTANTS + 1,
  WOUND = 5,
  LIP = 5,
  THREAD = 27,
  EXPANDER = 5,
  IMPLANT = 5
};

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
tissue_name(const void *data, int i)
{
  return pla_surgery_get_tissue(data, i);
}

static const char *
wound_name(const void *data, int i)
{
  return ((const PlaSurgery *)data)->wound[i].name;
}

static const char *
implant_name(const void *data, int i)
{
  return ((const PlaSurgery *)data)->implant[i].name;
}

static bool
save_implants(const PlaSurgery *self, PlaNamedArrays *out)
{
  double *row =
      put_texts(out, "body/implant_name", self->n_implants, implant_name, self)
          ? pla_named_arrays_add(out, "body/implant", PLA_F64, IMPLANT, (size_t)self->n_implants)
          : NULL;
  for (int i = 0; row && i < self->n_implants; i++) {
    memcpy(&row[IMPLANT * i], self->implant[i].at, sizeof self->implant[i].at);
    row[IMPLANT * i + 3] = self->implant[i].radius;
    row[IMPLANT * i + 4] = self->implant[i].settled;
  }
  return row != NULL;
}

static bool
save_threads(const PlaSurgeryThreads *threads, const char *tets, const char *numbers,
             PlaNamedArrays *out)
{
  int *tet = pla_named_arrays_add(out, tets, PLA_I32, 4, (size_t)threads->n);
  double *number =
      tet ? pla_named_arrays_add(out, numbers, PLA_F64, THREAD, (size_t)threads->n) : NULL;
  for (int i = 0; number && i < threads->n; i++) {
    const PlaSurgeryThread *t = &threads->thread[i];
    double *row = &number[THREAD * i];
    for (int k = 0; k < 4; k++) {
      const PlaSurgeryAnchor *at = &t->end[k / 2].at[k % 2];
      tet[4 * i + k] = at->tet;
      memcpy(row + 4 * k, at->weight, sizeof at->weight);
    }
    row[16] = t->end[0].blend;
    row[17] = t->end[1].blend;
    memcpy(row + 18, t->place, sizeof t->place);
    memcpy(row + 21, t->gap, sizeof t->gap);
    row[24] = t->row;
    row[25] = t->stitch;
    row[26] = t->share;
  }
  return number != NULL;
}

static bool
save_wounds(const PlaSurgery *self, PlaNamedArrays *out)
{
  const size_t n = (size_t)self->n_wounds;
  size_t n_path = 0, n_knots = 0, n_edge = 0;
  for (int w = 0; w < self->n_wounds; w++) {
    n_path += (size_t)self->wound[w].n_path;
    n_knots += (size_t)self->wound[w].n_knots;
    n_edge += (size_t)self->wound[w].n_edge[0] + (size_t)self->wound[w].n_edge[1];
  }
  int *row = NULL, *lip_tet = NULL;
  double *length = NULL, *path = NULL, *knot = NULL, *lip = NULL;
  bool ok = put_texts(out, "body/wound_name", self->n_wounds, wound_name, self) &&
            (row = pla_named_arrays_add(out, "body/wound", PLA_I32, WOUND, n)) &&
            (length = pla_named_arrays_add(out, "body/wound_length", PLA_F64, 1, n)) &&
            (path = pla_named_arrays_add(out, "body/wound_path", PLA_F64, 3, n_path)) &&
            (knot = pla_named_arrays_add(out, "body/wound_knot", PLA_F64, 1, n_knots)) &&
            (lip_tet = pla_named_arrays_add(out, "body/lip_tet", PLA_I32, 1, n_edge)) &&
            (lip = pla_named_arrays_add(out, "body/lip", PLA_F64, LIP, n_edge));
  for (int w = 0; ok && w < self->n_wounds; w++) {
    const PlaSurgeryWound *wound = &self->wound[w];
    const int numbers[WOUND] = { wound->closed, wound->n_path, wound->n_knots, wound->n_edge[0],
                                 wound->n_edge[1] };
    memcpy(&row[WOUND * w], numbers, sizeof numbers);
    length[w] = wound->length;
    memcpy(path, wound->path, 3 * (size_t)wound->n_path * sizeof *path);
    path += 3 * wound->n_path;
    memcpy(knot, wound->knot, (size_t)wound->n_knots * sizeof *knot);
    knot += wound->n_knots;
    for (int s = 0; s < 2; s++)
      for (int i = 0; i < wound->n_edge[s]; i++, lip += LIP) {
        const PlaSurgeryEdgePoint *p = &wound->edge[s][i];
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
  const size_t n_carved = (size_t)pla_cut_mesh_n_carved(self->cut);
  PlaStatus st = pla_cut_mesh_save(self->cut, out, err);
  if (st != PLA_OK)
    return st;
  bool ok = pla_named_arrays_put(out, "body/pos", PLA_F64, 3, n_verts, self->pos) &&
            pla_named_arrays_put(out, "body/held", PLA_U8, 1, n_verts, self->held) &&
            pla_named_arrays_put(out, "body/colour", PLA_I32, 1, n_verts, self->colour) &&
            pla_named_arrays_put(out, "body/cell_material", PLA_I32, 1, (size_t)self->n_cells,
                                 self->cell_material) &&
            pla_named_arrays_put(out, "body/cell", PLA_F64, 1, 1, &self->cell) &&
            pla_named_arrays_put(out, "body/triangles", PLA_I32, 1, 1, &self->n_triangles) &&
            put_texts(out, "body/material_id", self->n_materials, material_id, self) &&
            put_texts(out, "body/tissue", self->n_materials, tissue_name, self);
  double *material =
      ok ? pla_named_arrays_add(out, "body/material", PLA_F64, MATERIAL, (size_t)self->n_materials)
         : NULL;
  for (int m = 0; material && m < self->n_materials; m++) {
    memcpy(&material[MATERIAL * m], self->material[m].constants,
           sizeof self->material[m].constants);
    material[MATERIAL * m + PLA_MAX_CONSTANTS] = self->material[m].density;
  }
  ok = material && save_wounds(self, out) &&
       save_threads(&self->stitches, "body/stitch_tet", "body/stitch", out) &&
       save_threads(&self->gauges, "body/gauge_tet", "body/gauge", out) &&
       save_threads(&self->hooks, "body/hook_tet", "body/hook", out);
  ok = ok &&
       (!self->bone || (save_threads(&self->supports, "body/support_tet", "body/support", out) &&
                        pla_named_arrays_put(out, "body/bone", PLA_U8, 1, n_carved, self->bone)));
  const int formulation = self->formulation;
  ok = ok && (self->formulation == PLA_FORMULATION_STANDARD ||
              pla_named_arrays_put(out, "body/formulation", PLA_I32, 1, 1, &formulation));
  ok = ok && pla_named_arrays_put(out, "body/prestretch", PLA_F64, 9,
                                  self->prestretch ? (size_t)self->n_cells : 0, self->prestretch);
  double *expander =
      ok ? pla_named_arrays_add(out, "body/expander", PLA_F64, EXPANDER, (size_t)self->n_expanders)
         : NULL;
  for (int i = 0; expander && i < self->n_expanders; i++) {
    memcpy(&expander[EXPANDER * i], self->expander[i].place, sizeof self->expander[i].place);
    expander[EXPANDER * i + 3] = self->expander[i].radius;
    expander[EXPANDER * i + 4] = self->expander[i].pressure;
  }
  ok = expander != NULL && save_implants(self, out);
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
load_threads(PlaSurgeryThreads *threads, const char *tets, const char *numbers, bool optional,
             int n_tets, const PlaNamedArrays *arrays, PlaError *err)
{
  const void *tet = NULL, *number = NULL;
  int n = -1;
  if (optional && !pla_named_arrays_has(arrays, tets) && !pla_named_arrays_has(arrays, numbers))
    return PLA_OK;
  PlaStatus st = pla_named_arrays_get(arrays, tets, PLA_I32, 4, &n, &tet, err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, numbers, PLA_F64, THREAD, &n, &number, err);
  if (st == PLA_OK && n > 0) {
    threads->thread = pla_array_new0((size_t)n, sizeof *threads->thread);
    st = threads->thread ? PLA_OK : pla_fail_memory(err, "the body");
  }
  for (int i = 0; st == PLA_OK && i < n; i++) {
    const double *row = (const double *)number + THREAD * i;
    PlaSurgeryThread *t = &threads->thread[i];
    bool ok = true;
    for (int k = 0; k < 4; k++)
      ok = load_anchor(&t->end[k / 2].at[k % 2], ((const int *)tet)[4 * i + k], row + 4 * k,
                       n_tets) &&
           ok;
    for (int k = 16; k < THREAD; k++)
      ok = ok && fabs(row[k]) < INT_MAX;
    if (!ok)
      return damaged(err, "stitches or hooks");
    t->end[0].blend = row[16];
    t->end[1].blend = row[17];
    memcpy(t->place, row + 18, sizeof t->place);
    memcpy(t->gap, row + 21, sizeof t->gap);
    t->row = (int)row[24];
    t->stitch = (int)row[25];
    t->share = row[26];
  }
  if (st == PLA_OK)
    threads->n = threads->capacity = n;
  return st;
}

typedef struct {
  const int *row, *lip_tet;
  const double *length, *path, *knot, *lip;
  int n, n_path, n_knots, n_edge; /* left */
} Wounds;

static bool
load_wound(PlaSurgeryWound *wound, Wounds *from, int n_tets)
{
  const int *row = from->row;
  if (!pla_ints_within(row, 1, 0, 2) || row[1] < 1 || row[1] > from->n_path || row[2] < 1 ||
      row[2] > from->n_knots || row[3] < 0 || row[4] < 0 || row[3] > from->n_edge ||
      row[4] > from->n_edge - row[3])
    return false;
  wound->closed = row[0];
  wound->length = *from->length;
  wound->path = pla_array_dup(from->path, 3 * (size_t)row[1], sizeof *from->path);
  wound->n_path = row[1];
  wound->knot = pla_array_dup(from->knot, (size_t)row[2], sizeof *from->knot);
  wound->n_knots = row[2];
  bool ok = wound->path && wound->knot;
  for (int s = 0; ok && s < 2; s++) {
    wound->edge[s] = pla_array_new0((size_t)row[3 + s], sizeof *wound->edge[s]);
    ok = wound->edge[s];
    for (int i = 0; ok && i < row[3 + s]; i++, from->lip += LIP) {
      ok = load_anchor(&wound->edge[s][i].anchor, *from->lip_tet++, from->lip, n_tets);
      wound->edge[s][i].along = from->lip[4];
      wound->n_edge[s] = i + 1;
    }
  }
  from->row += WOUND;
  from->length++;
  from->path += 3 * row[1];
  from->n_path -= row[1];
  from->knot += row[2];
  from->n_knots -= row[2];
  from->n_edge -= row[3] + row[4];
  return ok;
}

static PlaStatus
load_wounds(PlaSurgery *self, const PlaNamedArrays *arrays, int n_tets, PlaError *err)
{
  const void *text = NULL, *data[6] = { NULL };
  int n_text = -1, n = -1, n_path = -1, n_knots = -1, n_edge = -1;
  PlaStatus st = pla_named_arrays_get(arrays, "body/wound_name", PLA_U8, 1, &n_text, &text, err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/wound", PLA_I32, WOUND, &n, &data[0], err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/wound_length", PLA_F64, 1, &n, &data[1], err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/wound_path", PLA_F64, 3, &n_path, &data[2], err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/wound_knot", PLA_F64, 1, &n_knots, &data[5], err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/lip_tet", PLA_I32, 1, &n_edge, &data[3], err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/lip", PLA_F64, LIP, &n_edge, &data[4], err);
  if (st == PLA_OK && n > 0) {
    self->wound = pla_array_new0((size_t)n, sizeof *self->wound);
    st = self->wound ? PLA_OK : pla_fail_memory(err, "the body");
  }
  Wounds from = {
    data[0], data[3], data[1], data[2], data[5], data[4], n, n_path, n_knots, n_edge
  };
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

static PlaStatus
load_prestretch(PlaSurgery *self, const PlaNamedArrays *arrays, PlaError *err)
{
  const void *data = NULL;
  int n = -1;
  if (!pla_named_arrays_has(arrays, "body/prestretch"))
    return PLA_OK;
  PlaStatus st = pla_named_arrays_get(arrays, "body/prestretch", PLA_F64, 9, &n, &data, err);
  if (st != PLA_OK || n == 0)
    return st;
  for (int i = 0; i < 9 * n; i++)
    if (!isfinite(((const double *)data)[i]))
      return damaged(err, "tension lines");
  if (n != self->n_cells)
    return damaged(err, "tension lines");
  self->prestretch = pla_array_dup(data, 9 * (size_t)n, sizeof *self->prestretch);
  return self->prestretch ? PLA_OK : pla_fail_memory(err, "the body");
}

static PlaStatus
load_expanders(PlaSurgery *self, const PlaNamedArrays *arrays, PlaError *err)
{
  const void *data = NULL;
  int n = -1;
  if (!pla_named_arrays_has(arrays, "body/expander"))
    return PLA_OK;
  PlaStatus st = pla_named_arrays_get(arrays, "body/expander", PLA_F64, EXPANDER, &n, &data, err);
  if (st == PLA_OK && n > 0) {
    self->expander = pla_array_new0((size_t)n, sizeof *self->expander);
    st = self->expander ? PLA_OK : pla_fail_memory(err, "the body");
  }
  for (int i = 0; st == PLA_OK && i < n; i++) {
    const double *row = (const double *)data + EXPANDER * i;
    for (int k = 0; k < EXPANDER; k++)
      if (!isfinite(row[k]))
        return damaged(err, "expanders");
    memcpy(self->expander[i].place, row, sizeof self->expander[i].place);
    self->expander[i].radius = row[3];
    self->expander[i].pressure = row[4];
    self->n_expanders = i + 1;
  }
  return st;
}

static PlaStatus
load_implants(PlaSurgery *self, const PlaNamedArrays *arrays, PlaError *err)
{
  const void *text = NULL, *data = NULL;
  int n_text = -1, n = -1;
  if (!pla_named_arrays_has(arrays, "body/implant_name") &&
      !pla_named_arrays_has(arrays, "body/implant"))
    return PLA_OK;
  PlaStatus st = pla_named_arrays_get(arrays, "body/implant_name", PLA_U8, 1, &n_text, &text, err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "body/implant", PLA_F64, IMPLANT, &n, &data, err);
  if (st == PLA_OK && n > 0) {
    self->implant = pla_array_new0((size_t)n, sizeof *self->implant);
    st = self->implant ? PLA_OK : pla_fail_memory(err, "the body");
  }
  const char *at = text;
  for (int i = 0; st == PLA_OK && i < n; i++) {
    const double *row = (const double *)data + IMPLANT * i;
    const char *name = next_text(&at, &n_text);
    bool ok = name && row[3] > 0.0 && row[4] >= 0.0;
    for (int k = 0; k < IMPLANT; k++)
      ok = ok && isfinite(row[k]);
    if (!ok)
      return damaged(err, "implants");
    memcpy(self->implant[i].at, row, sizeof self->implant[i].at);
    self->implant[i].radius = row[3];
    self->implant[i].settled = row[4];
    self->implant[i].name = pla_strdup(name);
    self->n_implants = i + 1;
    if (!self->implant[i].name)
      return pla_fail_memory(err, "the body");
  }
  return st;
}

static PlaStatus
load_tissues(PlaSurgery *self, const PlaNamedArrays *arrays, PlaError *err)
{
  const void *text = NULL;
  int n_text = -1;
  if (!pla_named_arrays_has(arrays, "body/tissue"))
    return PLA_OK;
  PlaStatus st = pla_named_arrays_get(arrays, "body/tissue", PLA_U8, 1, &n_text, &text, err);
  if (st != PLA_OK)
    return st;
  const char **name = pla_array_new0((size_t)self->n_materials, sizeof *name), *at = text;
  st = name ? PLA_OK : pla_fail_memory(err, "the body");
  for (int m = 0; st == PLA_OK && m < self->n_materials; m++)
    if (!(name[m] = next_text(&at, &n_text)))
      st = damaged(err, "names of tissues");
  if (st == PLA_OK)
    st = pla_surgery_set_tissues(self, name, err);
  free(name);
  return st;
}

static PlaStatus
load_colours(PlaSurgery *self, const PlaNamedArrays *arrays, PlaError *err)
{
  enum { MOST_COLOURS = 4096 };
  const PlaTetMesh mesh = pla_cut_mesh_get(self->cut).mesh;
  int n = mesh.n_verts;
  if (!pla_named_arrays_has(arrays, "body/colour"))
    return pla_surgery_find_colours(self, err);
  PlaStatus st =
      pla_named_arrays_dup(arrays, "body/colour", PLA_I32, 1, &n, (void **)&self->colour, err);
  bool ok = st == PLA_OK && pla_ints_within(self->colour, (size_t)n, -1, MOST_COLOURS);
  for (int t = 0; ok && t < mesh.n_tets; t++)
    for (int i = 0; i < 16; i++) {
      const int a = self->colour[mesh.tet[4 * t + i / 4]],
                b = self->colour[mesh.tet[4 * t + i % 4]];
      ok = ok && a >= 0 && (a != b || i / 4 == i % 4);
    }
  return st != PLA_OK || ok ? st : damaged(err, "colours");
}

static PlaStatus
load_bone(PlaSurgery *self, const PlaNamedArrays *arrays, PlaError *err)
{
  int n = pla_cut_mesh_n_carved(self->cut);
  if (n == 0)
    return PLA_OK;
  return pla_named_arrays_dup(arrays, "body/bone", PLA_U8, 1, &n, (void **)&self->bone, err);
}

/* carved bodies of earlier builds have standard elements, and materials for those */
static PlaStatus
load_formulation(PlaSurgery *self, const PlaNamedArrays *arrays, PlaError *err)
{
  const void *data = NULL;
  int one = 1, formulation;
  if (!pla_named_arrays_has(arrays, "body/formulation"))
    return PLA_OK;
  PlaStatus st = pla_named_arrays_get(arrays, "body/formulation", PLA_I32, 1, &one, &data, err);
  if (st != PLA_OK)
    return st;
  memcpy(&formulation, data, sizeof formulation);
  if (!pla_ints_within(&formulation, 1, 0, PLA_FORMULATION_AVERAGED + 1))
    return damaged(err, "elements");
  self->formulation = (PlaFormulation)formulation;
  return PLA_OK;
}

static PlaStatus
load_all(const PlaNamedArrays *arrays, PlaSurgery **out, PlaError *err)
{
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
    st = pla_cut_mesh_set_shape(self->cut, self->pos, err);
  if (st == PLA_OK)
    st = load_wounds(self, arrays, n_tets, err);
  if (st == PLA_OK)
    st =
        load_threads(&self->stitches, "body/stitch_tet", "body/stitch", false, n_tets, arrays, err);
  if (st == PLA_OK)
    st = load_threads(&self->gauges, "body/gauge_tet", "body/gauge", true, n_tets, arrays, err);
  if (st == PLA_OK)
    st = load_threads(&self->hooks, "body/hook_tet", "body/hook", false, n_tets, arrays, err);
  if (st == PLA_OK)
    st = load_threads(&self->supports, "body/support_tet", "body/support", true, n_tets, arrays,
                      err);
  if (st == PLA_OK)
    st = load_formulation(self, arrays, err);
  if (st == PLA_OK)
    st = load_bone(self, arrays, err);
  if (st == PLA_OK)
    st = pla_surgery_find_firm(self, err);
  if (st == PLA_OK)
    st = load_prestretch(self, arrays, err);
  if (st == PLA_OK)
    st = load_expanders(self, arrays, err);
  if (st == PLA_OK)
    st = load_implants(self, arrays, err);
  if (st == PLA_OK)
    st = load_tissues(self, arrays, err);
  if (st == PLA_OK)
    st = load_colours(self, arrays, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_surgery_free(self);
  return st;
}

PlaStatus
pla_surgery_load(const PlaNamedArrays *arrays, PlaSurgery **out, PlaError *err)
{
  *out = NULL;
  PlaError why = { 0 };
  const PlaStatus st = load_all(arrays, out, &why);
  if (st != PLA_ERR_FORMAT) {
    if (st != PLA_OK)
      *err = why;
    return st;
  }
  return pla_fail(err, st,
                  "this body cannot be opened: %s; another build of Platysma stored it, or it is "
                  "damaged: undo to before it was made and prepare it again",
                  why.message);
}
