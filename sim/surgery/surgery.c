/* A body on the operating table: what it consists of, and its copies. */
#include "sim/surgery/surgery-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

void
pla_surgery_wound_clear(PlaSurgeryWound *self)
{
  free(self->name);
  free(self->path);
  free(self->knot);
  free(self->edge[0]);
  free(self->edge[1]);
}

void
pla_surgery_free(PlaSurgery *self)
{
  if (!self)
    return;
  pla_cut_mesh_free(self->cut);
  for (int w = 0; w < self->n_wounds; w++)
    pla_surgery_wound_clear(&self->wound[w]);
  pla_cut_surface_clear(&self->surface);
  free(self->surface_pos);
  free(self->surface_at);
  free(self->filled);
  free(self->firm);
  free(self->tie);
  free(self->wound);
  free(self->stitches.thread);
  free(self->hooks.thread);
  free(self->gauges.thread);
  free(self->supports.thread);
  free(self->bone);
  free(self->prestretch);
  free(self->expander);
  for (int i = 0; i < self->n_implants; i++)
    free(self->implant[i].name);
  free(self->implant);
  for (int m = 0; self->tissue && m < self->n_materials; m++)
    free(self->tissue[m]);
  free(self->tissue);
  free(self->material);
  free(self->cell_material);
  free(self->pos);
  free(self->held);
  free(self->colour);
  free(self);
}

/* Islands of a few cells, such as shreds in the airway, that bone hardly holds could float away:
 * they are held altogether. */
static bool
hold_islands(PlaSurgery *self)
{
  enum { FIRM = 48 }; /* corners on bone that keep a piece in its place for certain */
  const PlaTetMesh mesh = pla_cut_mesh_get(self->cut).mesh;
  int *body = pla_array_new((size_t)mesh.n_tets, sizeof *body);
  const int n = body ? pla_cut_mesh_bodies(self->cut, body) : 0;
  int *size = pla_array_new0((size_t)n, sizeof *size),
      *firm = pla_array_new0((size_t)n, sizeof *firm);
  bool ok = n > 0 && size && firm;
  int largest = 0;
  for (int t = 0; ok && t < mesh.n_tets; t++) {
    size[body[t]]++;
    for (int c = 0; c < 4; c++)
      firm[body[t]] += self->held[mesh.tet[4 * t + c]];
  }
  for (int i = 0; ok && i < self->supports.n; i++)
    firm[body[self->supports.thread[i].end[0].at[0].tet]] += 4;
  for (int b = 0; ok && b < n; b++)
    largest = size[b] > size[largest] ? b : largest;
  for (int t = 0; ok && t < mesh.n_tets; t++)
    for (int c = 0; c < 4; c++)
      if (body[t] != largest && (firm[body[t]] < FIRM || size[body[t]] < mesh.n_tets / 100))
        self->held[mesh.tet[4 * t + c]] = 1;
  free(body);
  free(size);
  free(firm);
  return ok;
}

PlaStatus
pla_surgery_complete(PlaSurgery *self, const PlaFemMaterial *materials, int n_materials,
                     const int *cell_material, int n_cells, PlaError *err)
{
  const PlaTetMesh mesh = pla_cut_mesh_get(self->cut).mesh;
  self->n_materials = n_materials;
  self->n_cells = n_cells;
  self->n_triangles = pla_cut_mesh_n_carved(self->cut);
  self->material = pla_array_dup(materials, (size_t)n_materials, sizeof *materials);
  self->cell_material = pla_array_dup(cell_material, (size_t)n_cells, sizeof *cell_material);
  self->pos = pla_array_dup(mesh.rest, 3 * (size_t)mesh.n_verts, sizeof *mesh.rest);
  if (!self->material || !self->cell_material || !self->pos)
    return pla_fail_memory(err, "the body");
  PlaStatus st = pla_surgery_find_firm(self, err);
  if (st == PLA_OK && self->bone)
    st = pla_surgery_add_supports(self, err);
  if (st == PLA_OK && !hold_islands(self))
    st = pla_fail_memory(err, "the body");
  return st == PLA_OK ? pla_surgery_find_colours(self, err) : st;
}

double
pla_surgery_typical_edge(const PlaTetMesh *mesh)
{
  double length = 0.0;
  for (int t = 0; t < mesh->n_tets; t++) {
    double e[3];
    pla_vec3_sub(&mesh->rest[3 * mesh->tet[4 * t + 1]], &mesh->rest[3 * mesh->tet[4 * t]], e);
    length += pla_vec3_norm(e);
  }
  return length / mesh->n_tets;
}

PlaStatus
pla_surgery_new(const PlaMesh *mesh, const PlaFemMaterial *materials, int n_materials,
                const int *cell_material, const bool *held, PlaSurgery **out, PlaError *err)
{
  *out = NULL;
  PlaSurgery *self = pla_array_new0(1, sizeof *self);
  PlaTetMesh tets = pla_mesh_tets(mesh);
  PlaStatus st = self ? pla_cut_mesh_new(&tets, &self->cut, err) : pla_fail_memory(err, "the body");
  if (st == PLA_OK) {
    self->cell = pla_surgery_typical_edge(&tets);
    self->held = pla_array_new((size_t)mesh->n_verts, sizeof *self->held);
    for (int v = 0; self->held && v < mesh->n_verts; v++)
      self->held[v] = held[v];
    st = self->held
             ? pla_surgery_complete(self, materials, n_materials, cell_material, mesh->n_tets, err)
             : pla_fail_memory(err, "the body");
  }
  if (st == PLA_OK)
    *out = self;
  else
    pla_surgery_free(self);
  return st;
}

PlaStatus
pla_surgery_set_tissues(PlaSurgery *self, const char *const *name, PlaError *err)
{
  char **tissue = pla_array_new0((size_t)self->n_materials, sizeof *tissue);
  bool ok = tissue;
  for (int m = 0; ok && m < self->n_materials; m++)
    ok = (tissue[m] = pla_strdup(name[m])) != NULL;
  if (ok) {
    char **old = self->tissue;
    self->tissue = tissue;
    tissue = old;
  }
  for (int m = 0; tissue && m < self->n_materials; m++)
    free(tissue[m]);
  free(tissue);
  return ok ? PLA_OK : pla_fail_memory(err, "the names of the tissues");
}

int
pla_surgery_n_tissues(const PlaSurgery *self)
{
  return self->n_materials;
}

const char *
pla_surgery_get_tissue(const PlaSurgery *self, int i)
{
  return self->tissue ? self->tissue[i] : "";
}

PlaCutMesh *
pla_surgery_get_mesh(PlaSurgery *self)
{
  return self->cut;
}

const PlaSurgeryTool *
pla_surgery_get_tool(const PlaSurgery *self)
{
  return &self->tool;
}

const unsigned char *
pla_surgery_get_held(const PlaSurgery *self)
{
  return self->held;
}

const double *
pla_surgery_get_pos(const PlaSurgery *self)
{
  return self->pos;
}

void
pla_surgery_forget_surface(PlaSurgery *self)
{
  pla_cut_surface_clear(&self->surface);
  free(self->surface_pos);
  free(self->surface_at);
  self->surface_pos = NULL;
  self->surface_at = NULL;
}

/* of a carved body: the surface goes by firm tets */
static bool
bind_surface(PlaSurgery *self)
{
  PlaCutSurface *s = &self->surface;
  PlaSurgeryAnchor *at = pla_array_new((size_t)s->n_verts, sizeof *at);
  if (!at)
    return false;
  for (int v = 0; v < s->n_verts; v++) {
    at[v] = pla_surgery_surface_anchor(self, v);
    const PlaSurgeryAnchor bound = pla_surgery_bind(self, &at[v]);
    s->tet[v] = bound.tet;
    memcpy(&s->weight[4 * v], bound.weight, sizeof bound.weight);
  }
  self->surface_at = at;
  return true;
}

PlaStatus
pla_surgery_get_surface(PlaSurgery *self, const PlaCutSurface **surface, const double **pos,
                        PlaError *err)
{
  PlaStatus st = PLA_OK;
  if (!self->surface_pos) {
    st = pla_cut_mesh_surface(self->cut, &self->surface, err);
    if (st == PLA_OK && self->firm && !bind_surface(self))
      st = pla_fail_memory(err, "the surface");
    if (st == PLA_OK) {
      self->surface_pos = pla_array_new(3 * (size_t)self->surface.n_verts, sizeof(double));
      if (self->surface_pos)
        pla_cut_surface_place(&self->surface, self->cut, self->pos, self->surface_pos);
      else
        st = pla_fail_memory(err, "the surface");
    }
  }
  *surface = &self->surface;
  *pos = self->surface_pos;
  return st;
}

PlaStatus
pla_surgery_get_skin(PlaSurgery *self, PlaSkin *skin, PlaError *err)
{
  const PlaCutSurface *surface;
  const double *pos;
  *skin = (PlaSkin){ 0 };
  PlaStatus st = pla_surgery_get_surface(self, &surface, &pos, err);
  return st == PLA_OK ? pla_skin_init(skin, surface, pos, err) : st;
}

PlaStatus
pla_surgery_get_skin_near(PlaSurgery *self, const double *point, int n, PlaSkin *skin,
                          PlaError *err)
{
  const PlaCutSurface *surface;
  const double *pos;
  double box[2][3], longest = 0.0;
  *skin = (PlaSkin){ 0 };
  PlaStatus st = pla_surgery_get_surface(self, &surface, &pos, err);
  if (st != PLA_OK)
    return st;
  for (int i = 1; i < n; i++) {
    double e[3];
    pla_vec3_sub(&point[3 * i], &point[3 * (i - 1)], e);
    longest = fmax(longest, pla_vec3_norm(e));
  }
  /* what the path may bulge by between its points, and what smooths the normals along it */
  const double margin = PLA_SURGERY_SNAP + 0.5 * longest + 8.0 * self->cell;
  for (int d = 0; d < 3; d++) {
    box[0][d] = INFINITY;
    box[1][d] = -INFINITY;
    for (int i = 0; i < n; i++) {
      box[0][d] = fmin(box[0][d], point[3 * i + d] - margin);
      box[1][d] = fmax(box[1][d], point[3 * i + d] + margin);
    }
  }
  st = pla_skin_init_within(skin, surface, pos, (const double(*)[3])box, err);
  if (st == PLA_OK && skin->n_tris == 0) {
    pla_skin_clear(skin); /* far away: the whole skin says how far */
    st = pla_skin_init(skin, surface, pos, err);
  }
  return st;
}

void
pla_surgery_place(const PlaSurgery *self, const PlaSurgeryAnchor *anchor, double out[3])
{
  const PlaSurgeryAnchor at = pla_surgery_bind(self, anchor);
  const int *tet = &pla_cut_mesh_get(self->cut).mesh.tet[4 * at.tet];
  for (int d = 0; d < 3; d++) {
    out[d] = 0.0;
    for (int c = 0; c < 4; c++)
      out[d] += at.weight[c] * self->pos[3 * tet[c] + d];
  }
}

void
pla_surgery_place_end(const PlaSurgery *self, const PlaSurgeryEnd *end, double out[3])
{
  double p[3], q[3];
  pla_surgery_place(self, &end->at[0], p);
  pla_surgery_place(self, &end->at[1], q);
  for (int d = 0; d < 3; d++)
    out[d] = p[d] + end->blend * (q[d] - p[d]);
}

static void
update_threads(PlaSurgeryThreads *threads, int per_thread, PlaSurgeryAnchorFunc func,
               const void *data)
{
  int n = 0;
  for (int i = 0; i < threads->n; i++) {
    bool keep = true;
    for (int k = 0; k < per_thread; k++)
      for (int j = 0; j < 2; j++)
        keep = func(&threads->thread[i].end[k].at[j], data) && keep;
    if (keep)
      threads->thread[n++] = threads->thread[i];
  }
  threads->n = n;
}

void
pla_surgery_update_anchors(PlaSurgery *self, PlaSurgeryAnchorFunc func, const void *data)
{
  update_threads(&self->stitches, 2, func, data);
  update_threads(&self->gauges, 2, func, data);
  update_threads(&self->hooks, 1, func, data);
  update_threads(&self->supports, 1, func, data);
  for (int w = 0; w < self->n_wounds; w++)
    for (int s = 0; s < 2; s++) {
      PlaSurgeryWound *wound = &self->wound[w];
      int n = 0;
      for (int i = 0; i < wound->n_edge[s]; i++)
        if (func(&wound->edge[s][i].anchor, data))
          wound->edge[s][n++] = wound->edge[s][i];
      wound->n_edge[s] = n;
    }
}

/* ---- copies ---- */

static bool
threads_dup(const PlaSurgeryThreads *from, PlaSurgeryThreads *to)
{
  *to = (PlaSurgeryThreads){ from->n, from->n, NULL };
  if (from->n)
    to->thread = pla_array_dup(from->thread, (size_t)from->n, sizeof *from->thread);
  return from->n == 0 || to->thread;
}

static bool
wound_dup(const PlaSurgeryWound *from, PlaSurgeryWound *to)
{
  *to = *from;
  to->name = pla_strdup(from->name);
  to->path = pla_array_dup(from->path, 3 * (size_t)from->n_path, sizeof *from->path);
  to->knot = pla_array_dup(from->knot, (size_t)from->n_knots, sizeof *from->knot);
  bool ok = to->name && to->path && to->knot;
  for (int s = 0; s < 2; s++) {
    to->edge[s] = pla_array_new((size_t)from->n_edge[s], sizeof *from->edge[s]);
    ok = ok && to->edge[s];
    if (to->edge[s] && from->n_edge[s])
      memcpy(to->edge[s], from->edge[s], (size_t)from->n_edge[s] * sizeof *from->edge[s]);
  }
  return ok;
}

PlaStatus
pla_surgery_dup(const PlaSurgery *self, PlaSurgery **out, PlaError *err)
{
  *out = NULL;
  PlaSurgery *copy = pla_array_new0(1, sizeof *copy);
  PlaStatus st = copy ? pla_cut_mesh_dup(self->cut, &copy->cut, err) : PLA_ERR_MEMORY;
  if (!copy || st != PLA_OK) {
    free(copy);
    return pla_fail_memory(err, "a copy of the body");
  }
  const size_t n = (size_t)pla_cut_mesh_get(self->cut).mesh.n_verts;
  copy->n_materials = self->n_materials;
  copy->n_cells = self->n_cells;
  copy->cell = self->cell;
  copy->formulation = self->formulation;
  copy->n_triangles = self->n_triangles;
  copy->n_expanders = self->n_expanders;
  copy->tool = self->tool;
  copy->material = pla_array_dup(self->material, (size_t)self->n_materials, sizeof *self->material);
  copy->cell_material =
      pla_array_dup(self->cell_material, (size_t)self->n_cells, sizeof *self->cell_material);
  copy->pos = pla_array_dup(self->pos, 3 * n, sizeof *self->pos);
  copy->held = pla_array_dup(self->held, n, sizeof *self->held);
  copy->colour = pla_array_dup(self->colour, n, sizeof *self->colour);
  if (self->firm) {
    const size_t n_tets = (size_t)pla_cut_mesh_get(self->cut).mesh.n_tets;
    copy->filled = pla_array_dup(self->filled, n_tets, sizeof *self->filled);
    copy->firm = pla_array_dup(self->firm, n_tets, sizeof *self->firm);
    copy->tie = pla_array_dup(self->tie, (size_t)self->n_ties, sizeof *self->tie);
    copy->n_ties = self->n_ties;
  }
  if (self->bone)
    copy->bone = pla_array_dup(self->bone, (size_t)pla_cut_mesh_n_carved(self->cut), 1);
  copy->wound = pla_array_new0((size_t)self->n_wounds, sizeof *self->wound);
  if (self->n_expanders)
    copy->expander =
        pla_array_dup(self->expander, (size_t)self->n_expanders, sizeof *self->expander);
  if (self->prestretch)
    copy->prestretch =
        pla_array_dup(self->prestretch, 9 * (size_t)self->n_cells, sizeof *self->prestretch);
  bool ok = copy->material && copy->cell_material && copy->pos && copy->held && copy->colour &&
            copy->wound && (copy->expander || !self->n_expanders) &&
            (copy->prestretch || !self->prestretch) &&
            threads_dup(&self->stitches, &copy->stitches) &&
            threads_dup(&self->gauges, &copy->gauges) && threads_dup(&self->hooks, &copy->hooks) &&
            threads_dup(&self->supports, &copy->supports) && (copy->bone || !self->bone) &&
            ((copy->filled && copy->firm && copy->tie) || !self->firm);
  ok = ok && (!self->tissue ||
              pla_surgery_set_tissues(copy, (const char *const *)self->tissue, err) == PLA_OK);
  copy->implant = pla_array_new0((size_t)self->n_implants, sizeof *self->implant);
  ok = ok && copy->implant;
  for (int i = 0; ok && i < self->n_implants; i++) {
    copy->implant[i] = self->implant[i];
    copy->implant[i].name = pla_strdup(self->implant[i].name);
    copy->n_implants = i + 1;
    ok = copy->implant[i].name;
  }
  for (int w = 0; ok && w < self->n_wounds; w++) {
    copy->n_wounds = w + 1;
    ok = wound_dup(&self->wound[w], &copy->wound[w]);
  }
  if (!ok) {
    pla_surgery_free(copy);
    return pla_fail_memory(err, "a copy of the body");
  }
  *out = copy;
  return PLA_OK;
}

void
pla_surgery_settle(PlaSurgery *self, PlaSurgery **backup, PlaStatus st)
{
  if (*backup && st != PLA_OK) {
    PlaSurgery failed = *self;
    *self = **backup;
    **backup = failed;
  }
  pla_surgery_free(*backup);
  *backup = NULL;
}

PlaSurgeryWound *
pla_surgery_find_wound(const PlaSurgery *self, const char *name)
{
  for (int w = 0; w < self->n_wounds; w++)
    if (strcmp(self->wound[w].name, name) == 0)
      return &self->wound[w];
  return NULL;
}

PlaStatus
pla_surgery_need_wound(const PlaSurgery *self, const char *name, PlaSurgeryWound **out,
                       PlaError *err)
{
  *out = pla_surgery_find_wound(self, name);
  if (*out)
    return PLA_OK;
  return pla_fail(err, PLA_ERR_USAGE, "there is no wound called '%s'", name);
}
