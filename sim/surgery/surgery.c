/* A body on the operating table. */
#include "sim/surgery/surgery-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/surgery/skin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a thread or hook gives way by 0.05 mm per newton, N/m */
#define THREAD_STIFFNESS 2e4
/* a sheet under the skin lies this much of its depth above the floor of the incisions that it
 * meets, so that it runs into them for certain */
#define SHEET_RISE 0.03

/* short names for this file */
typedef PlaSurgeryAnchor Anchor;
typedef PlaSurgeryLipPoint LipPoint;
typedef PlaSurgeryWound Wound;
typedef PlaSurgeryThread Thread;
typedef PlaSurgeryThreads Threads;

/* ---- making ---- */

static void
wound_clear(Wound *self)
{
  free(self->name);
  free(self->path);
  free(self->lip[0]);
  free(self->lip[1]);
}

void
pla_surgery_free(PlaSurgery *self)
{
  if (!self)
    return;
  pla_cut_mesh_free(self->cut);
  for (int w = 0; w < self->n_wounds; w++)
    wound_clear(&self->wound[w]);
  pla_cut_surface_clear(&self->surface);
  free(self->surface_pos);
  free(self->wound);
  free(self->stitches.thread);
  free(self->hooks.thread);
  free(self->material);
  free(self->cell_material);
  free(self->pos);
  free(self->held);
  free(self);
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
    self->n_materials = n_materials;
    self->n_cells = mesh->n_tets;
    self->material = pla_array_dup(materials, (size_t)n_materials, sizeof *materials);
    self->cell_material = pla_array_dup(cell_material, (size_t)mesh->n_tets, sizeof *cell_material);
    self->pos = pla_array_dup(mesh->pos, 3 * (size_t)mesh->n_verts, sizeof *mesh->pos);
    self->held = pla_array_new((size_t)mesh->n_verts, sizeof *self->held);
    if (!self->material || !self->cell_material || !self->pos || !self->held)
      st = pla_fail_memory(err, "the body");
  }
  if (st == PLA_OK) {
    double length = 0.0;
    for (int v = 0; v < mesh->n_verts; v++)
      self->held[v] = held[v];
    for (int t = 0; t < mesh->n_tets; t++) {
      double e[3];
      pla_vec3_sub(&mesh->pos[3 * mesh->tet[4 * t + 1]], &mesh->pos[3 * mesh->tet[4 * t]], e);
      length += pla_vec3_norm(e);
    }
    self->cell = length / mesh->n_tets;
    *out = self;
  } else {
    pla_surgery_free(self);
  }
  return st;
}

PlaCutMesh *
pla_surgery_get_mesh(PlaSurgery *self)
{
  return self->cut;
}

const double *
pla_surgery_get_pos(const PlaSurgery *self)
{
  return self->pos;
}

static void
forget_surface(PlaSurgery *self)
{
  pla_cut_surface_clear(&self->surface);
  free(self->surface_pos);
  self->surface_pos = NULL;
}

PlaStatus
pla_surgery_get_surface(PlaSurgery *self, const PlaCutSurface **surface, const double **pos,
                        PlaError *err)
{
  PlaStatus st = PLA_OK;
  if (!self->surface_pos) {
    st = pla_cut_mesh_surface(self->cut, &self->surface, err);
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

static double
sheet_depth(const PlaSurgery *self, double depth)
{
  return depth - fmin(0.5 * depth, SHEET_RISE * (depth + 3.0 * self->cell));
}

static PlaStatus
get_skin(PlaSurgery *self, PlaSkin *skin, PlaError *err)
{
  const PlaCutSurface *surface;
  const double *pos;
  *skin = (PlaSkin){ 0 };
  PlaStatus st = pla_surgery_get_surface(self, &surface, &pos, err);
  return st == PLA_OK ? pla_skin_init(skin, surface, pos, err) : st;
}

static void
anchor_place(const PlaSurgery *self, const Anchor *anchor, double out[3])
{
  const int *tet = &pla_cut_mesh_get(self->cut).mesh.tet[4 * anchor->tet];
  for (int d = 0; d < 3; d++) {
    out[d] = 0.0;
    for (int c = 0; c < 4; c++)
      out[d] += anchor->weight[c] * self->pos[3 * tet[c] + d];
  }
}

/* calls @func for every anchor that the body carries; those whose thread or lip it drops are gone
 */
typedef bool (*AnchorFunc)(Anchor *anchor, const void *data);

static void
update_threads(Threads *threads, int per_thread, AnchorFunc func, const void *data)
{
  int n = 0;
  for (int i = 0; i < threads->n; i++) {
    bool keep = true;
    for (int k = 0; k < per_thread; k++)
      keep = func(&threads->thread[i].at[k], data) && keep;
    if (keep)
      threads->thread[n++] = threads->thread[i];
  }
  threads->n = n;
}

static void
update_anchors(PlaSurgery *self, AnchorFunc func, const void *data)
{
  update_threads(&self->stitches, 2, func, data);
  update_threads(&self->hooks, 1, func, data);
  for (int w = 0; w < self->n_wounds; w++)
    for (int s = 0; s < 2; s++) {
      Wound *wound = &self->wound[w];
      int n = 0;
      for (int i = 0; i < wound->n_lip[s]; i++)
        if (func(&wound->lip[s][i].anchor, data))
          wound->lip[s][n++] = wound->lip[s][i];
      wound->n_lip[s] = n;
    }
}

/* ---- cutting ---- */

typedef struct {
  const PlaCutMesh *mesh;
  int n_before;
} Follow;

static bool
follow(Anchor *anchor, const void *data)
{
  const Follow *f = data;
  anchor->tet = pla_cut_mesh_follow(f->mesh, anchor->tet, anchor->weight, f->n_before);
  return true;
}

/* cuts, and lets everything that hangs on the body follow */
static PlaStatus
cut_along(PlaSurgery *self, const PlaBlade *blade, PlaProgress *progress, PlaError *err)
{
  PlaTriMesh tris = pla_blade_get(blade);
  PlaCutReport report;
  int *from = NULL;
  const PlaCutMeshView before = pla_cut_mesh_get(self->cut);
  const int n_tets = before.mesh.n_tets, n_verts = before.mesh.n_verts;
  PlaStatus st = pla_cut_mesh_cut(self->cut, self->pos, &tris, progress, &report, &from, err);
  if (st == PLA_OK && report.n_touched == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "the blade does not reach the body");
  if (st == PLA_OK) {
    const int n = n_verts + report.n_new_verts;
    if (!pla_array_resize((void **)&self->pos, 3 * (size_t)n, sizeof *self->pos) ||
        !pla_array_resize((void **)&self->held, (size_t)n, sizeof *self->held)) {
      st = pla_fail_memory(err, "the cut");
    } else {
      for (int i = 0; i < report.n_new_verts; i++) {
        memcpy(&self->pos[3 * (n_verts + i)], &self->pos[3 * from[i]], 3 * sizeof *self->pos);
        self->held[n_verts + i] = self->held[from[i]];
      }
      self->n_triangles += tris.n_tris;
      update_anchors(self, follow, &(Follow){ self->cut, n_tets });
      forget_surface(self);
    }
  }
  free(from);
  return st;
}

typedef struct {
  const int *tet; /* new numbers */
} Renumbered;

static bool
renumber(Anchor *anchor, const void *data)
{
  const Renumbered *r = data;
  anchor->tet = r->tet[anchor->tet];
  return anchor->tet >= 0;
}

/* takes marked tets out of the body, and everything that hangs on them */
static PlaStatus
take_away(PlaSurgery *self, const bool *remove, PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  const int n_verts = view.mesh.n_verts;
  int *tet = pla_array_new((size_t)view.mesh.n_tets, sizeof *tet);
  int *vert = pla_array_new((size_t)n_verts, sizeof *vert);
  PlaStatus st = tet && vert ? pla_cut_mesh_remove(self->cut, remove, vert, tet, err)
                             : pla_fail_memory(err, "the body");
  if (st == PLA_OK) {
    for (int v = 0; v < n_verts; v++)
      if (vert[v] >= 0) {
        memmove(&self->pos[3 * vert[v]], &self->pos[3 * v], 3 * sizeof *self->pos);
        self->held[vert[v]] = self->held[v];
      }
    update_anchors(self, renumber, &(Renumbered){ tet });
    forget_surface(self);
  }
  free(tet);
  free(vert);
  return st;
}

/* Which tets belong to loose bodies, and how much they hold, m3 (n_bodies); all freed by the
 * caller. */
typedef struct {
  int n_bodies;
  int *body;      /* of each tet */
  bool *held;     /* of each body */
  double *volume; /* of each body */
} Bodies;

static void
bodies_clear(Bodies *self)
{
  free(self->body);
  free(self->held);
  free(self->volume);
}

static bool
bodies_init(Bodies *self, const PlaSurgery *surgery)
{
  const PlaCutMeshView view = pla_cut_mesh_get(surgery->cut);
  const int n_tets = view.mesh.n_tets;
  double *volume = pla_array_new((size_t)n_tets, sizeof *volume);
  *self = (Bodies){ .body = pla_array_new((size_t)n_tets, sizeof *self->body) };
  self->n_bodies = volume && self->body ? pla_cut_mesh_bodies(surgery->cut, self->body) : -1;
  if (self->n_bodies > 0) {
    self->held = pla_array_new0((size_t)self->n_bodies, sizeof *self->held);
    self->volume = pla_array_new0((size_t)self->n_bodies, sizeof *self->volume);
  }
  bool ok = self->held && self->volume;
  if (ok) {
    pla_cut_mesh_volumes(surgery->cut, volume);
    for (int t = 0; t < n_tets; t++) {
      self->volume[self->body[t]] += volume[t];
      for (int c = 0; c < 4; c++)
        self->held[self->body[t]] |= surgery->held[view.mesh.tet[4 * t + c]];
    }
  }
  free(volume);
  return ok;
}

/* Blades that nearly meet leave crumbs smaller than a cell, which nothing holds: they are wiped
 * off. */
static PlaStatus
wipe_crumbs(PlaSurgery *self, PlaError *err)
{
  const int n_tets = pla_cut_mesh_get(self->cut).mesh.n_tets;
  const double crumb = self->cell * self->cell * self->cell;
  Bodies bodies;
  bool *remove = pla_array_new0((size_t)n_tets, sizeof *remove), any = false;
  PlaStatus st = bodies_init(&bodies, self) && remove ? PLA_OK : pla_fail_memory(err, "the body");
  for (int t = 0; st == PLA_OK && t < n_tets; t++) {
    remove[t] = !bodies.held[bodies.body[t]] && bodies.volume[bodies.body[t]] < crumb;
    any |= remove[t];
  }
  if (st == PLA_OK && any)
    st = take_away(self, remove, err);
  free(remove);
  bodies_clear(&bodies);
  return st;
}

/* What a tool may change, set aside so that a failure can bring it back. */
typedef struct {
  PlaCutMesh *cut;
  double *pos;
  unsigned char *held;
  int n_triangles, n_wounds;
  Threads stitches, hooks;
  Wound *wound;
} Backup;

static void
backup_clear(Backup *backup)
{
  pla_cut_mesh_free(backup->cut);
  for (int w = 0; backup->wound && w < backup->n_wounds; w++)
    wound_clear(&backup->wound[w]);
  free(backup->wound);
  free(backup->pos);
  free(backup->held);
  free(backup->stitches.thread);
  free(backup->hooks.thread);
}

static bool
threads_dup(const Threads *from, Threads *to)
{
  *to = (Threads){ from->n, from->n, NULL };
  if (from->n)
    to->thread = pla_array_dup(from->thread, (size_t)from->n, sizeof *from->thread);
  return from->n == 0 || to->thread;
}

static bool
wound_dup(const Wound *from, Wound *to)
{
  *to = *from;
  to->name = pla_strdup(from->name);
  to->path = pla_array_dup(from->path, 3 * (size_t)from->n_path, sizeof *from->path);
  bool ok = to->name && to->path;
  for (int s = 0; s < 2; s++) {
    to->lip[s] = pla_array_new((size_t)from->n_lip[s], sizeof *from->lip[s]);
    ok = ok && to->lip[s];
    if (to->lip[s] && from->n_lip[s])
      memcpy(to->lip[s], from->lip[s], (size_t)from->n_lip[s] * sizeof *from->lip[s]);
  }
  return ok;
}

static PlaStatus
backup_make(const PlaSurgery *self, Backup *backup, PlaError *err)
{
  const int n = pla_cut_mesh_get(self->cut).mesh.n_verts;
  *backup = (Backup){ .n_triangles = self->n_triangles };
  PlaStatus st = pla_cut_mesh_dup(self->cut, &backup->cut, err);
  if (st != PLA_OK)
    return st;
  backup->pos = pla_array_dup(self->pos, 3 * (size_t)n, sizeof *self->pos);
  backup->held = pla_array_dup(self->held, (size_t)n, sizeof *self->held);
  backup->wound = pla_array_new0((size_t)self->n_wounds, sizeof *self->wound);
  bool ok = backup->pos && backup->held && backup->wound &&
            threads_dup(&self->stitches, &backup->stitches) &&
            threads_dup(&self->hooks, &backup->hooks);
  for (int w = 0; ok && w < self->n_wounds; w++) {
    backup->n_wounds = w + 1;
    ok = wound_dup(&self->wound[w], &backup->wound[w]);
  }
  if (ok)
    return PLA_OK;
  backup_clear(backup);
  return pla_fail_memory(err, "the body before the cut");
}

/* puts the backup back when @st is a failure, and frees what is no longer needed */
static void
backup_settle(PlaSurgery *self, Backup *backup, PlaStatus st)
{
  if (st != PLA_OK) {
    Backup failed = { self->cut,      self->pos,      self->held,  0,
                      self->n_wounds, self->stitches, self->hooks, self->wound };
    self->cut = backup->cut;
    self->pos = backup->pos;
    self->held = backup->held;
    self->n_triangles = backup->n_triangles;
    self->n_wounds = backup->n_wounds;
    self->wound = backup->wound;
    self->stitches = backup->stitches;
    self->hooks = backup->hooks;
    *backup = failed;
    forget_surface(self);
  }
  backup_clear(backup);
}

/* ---- wounds ---- */

static Wound *
find_wound(const PlaSurgery *self, const char *name)
{
  for (int w = 0; w < self->n_wounds; w++)
    if (strcmp(self->wound[w].name, name) == 0)
      return &self->wound[w];
  return NULL;
}

static PlaStatus
need_wound(const PlaSurgery *self, const char *name, Wound **out, PlaError *err)
{
  *out = find_wound(self, name);
  if (*out)
    return PLA_OK;
  return pla_fail(err, PLA_ERR_USAGE, "there is no wound called '%s'", name);
}

static int
nearest_path_point(const PlaSkinPoint *path, int n, const double pos[3])
{
  int best = 0;
  double least = INFINITY;
  for (int i = 0; i < n; i++) {
    double e[3];
    pla_vec3_sub(pos, path[i].pos, e);
    if (pla_vec3_dot(e, e) < least) {
      least = pla_vec3_dot(e, e);
      best = i;
    }
  }
  return best;
}

static int
compare_lip(const void *a, const void *b)
{
  const LipPoint *x = a, *y = b;
  return x->along < y->along ? -1 : x->along > y->along;
}

typedef struct {
  int u, v, tri;
} Edge;

static int
compare_edges(const void *a, const void *b)
{
  const Edge *x = a, *y = b;
  if (x->u != y->u)
    return x->u < y->u ? -1 : 1;
  if (x->v != y->v)
    return x->v < y->v ? -1 : 1;
  return x->tri < y->tri ? -1 : x->tri > y->tri;
}

/* vertices where skin meets what triangles from @first on have cut, left and right of the path */
static PlaStatus
find_lips(PlaSurgery *self, const PlaSkinPoint *path, int n, int first, Wound *wound, PlaError *err)
{
  const PlaCutSurface *s;
  const double *pos;
  PlaStatus st = pla_surgery_get_surface(self, &s, &pos, err);
  if (st != PLA_OK)
    return st;
  Edge *edge = pla_array_new(3 * (size_t)s->n_tris, sizeof *edge);
  bool *taken = pla_array_new0((size_t)s->n_verts, sizeof *taken);
  for (int k = 0; k < 2; k++)
    wound->lip[k] = pla_array_new((size_t)s->n_verts, sizeof *wound->lip[k]);
  if (!edge || !taken || !wound->lip[0] || !wound->lip[1]) {
    free(edge);
    free(taken);
    return pla_fail_memory(err, "the wound");
  }
  int n_edges = 0;
  for (int t = 0; t < s->n_tris; t++)
    for (int k = 0; (s->cut[t] < 0 || s->cut[t] >= first) && k < 3; k++) {
      int u = s->tri[3 * t + k], v = s->tri[3 * t + (k + 1) % 3];
      edge[n_edges++] = (Edge){ u < v ? u : v, u < v ? v : u, t };
    }
  qsort(edge, (size_t)n_edges, sizeof *edge, compare_edges);
  for (int i = 0; i + 1 < n_edges; i++) {
    const Edge *a = &edge[i], *b = &edge[i + 1];
    if (a->u != b->u || a->v != b->v || (s->cut[a->tri] < 0) == (s->cut[b->tri] < 0))
      continue;
    /* the side on which the skin lies, seen from the path */
    int skin = s->cut[a->tri] < 0 ? a->tri : b->tri;
    const int ends[2] = { a->u, a->v };
    for (int k = 0; k < 2; k++) {
      if (taken[ends[k]])
        continue;
      taken[ends[k]] = true;
      int at = nearest_path_point(path, n, &pos[3 * ends[k]]);
      double middle[3] = { 0 };
      for (int c = 0; c < 3; c++)
        for (int d = 0; d < 3; d++)
          middle[d] += pos[3 * s->tri[3 * skin + c] + d] / 3.0;
      pla_vec3_sub(middle, path[at].pos, middle);
      int side = pla_vec3_dot(middle, path[at].left) > 0.0 ? 0 : 1;
      LipPoint *p = &wound->lip[side][wound->n_lip[side]++];
      p->anchor.tet = s->tet[ends[k]];
      memcpy(p->anchor.weight, &s->weight[4 * ends[k]], sizeof p->anchor.weight);
      p->along = path[at].along;
    }
  }
  for (int k = 0; k < 2; k++)
    qsort(wound->lip[k], (size_t)wound->n_lip[k], sizeof *wound->lip[k], compare_lip);
  free(edge);
  free(taken);
  return PLA_OK;
}

/* adds the wound that the path made */
static PlaStatus
add_wound(PlaSurgery *self, const char *name, const PlaSkinPoint *path, int n, bool closed,
          int first, PlaError *err)
{
  Wound wound = { .closed = closed, .length = path[n - 1].along, .n_path = n };
  wound.name = pla_strdup(name);
  wound.path = pla_array_new(3 * (size_t)n, sizeof *wound.path);
  if (!wound.name || !wound.path ||
      !pla_array_resize((void **)&self->wound, (size_t)self->n_wounds + 1, sizeof *self->wound)) {
    wound_clear(&wound);
    return pla_fail_memory(err, "the wound");
  }
  for (int i = 0; i < n; i++)
    memcpy(&wound.path[3 * i], path[i].pos, 3 * sizeof *wound.path);
  PlaStatus st = find_lips(self, path, n, first, &wound, err);
  if (st == PLA_OK)
    self->wound[self->n_wounds++] = wound;
  else
    wound_clear(&wound);
  return st;
}

static double
body_size(const PlaSurgery *self)
{
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  const int n = pla_cut_mesh_get(self->cut).mesh.n_verts;
  double sum = 0.0;
  for (int v = 0; v < n; v++)
    for (int d = 0; d < 3; d++) {
      lo[d] = fmin(lo[d], self->pos[3 * v + d]);
      hi[d] = fmax(hi[d], self->pos[3 * v + d]);
    }
  for (int d = 0; d < 3; d++)
    sum += (hi[d] - lo[d]) * (hi[d] - lo[d]);
  return sqrt(sum);
}

PlaStatus
pla_surgery_incise(PlaSurgery *self, const char *name, const double *path, int n, double depth,
                   double bevel, PlaProgress *progress, PlaError *err)
{
  PlaSkin skin;
  PlaSkinPoint *points = NULL;
  PlaBlade blade = { 0 };
  Backup backup = { 0 };
  int n_points = 0, first = self->n_triangles;
  if (find_wound(self, name))
    return pla_fail(err, PLA_ERR_USAGE, "there is a wound called '%s' already", name);
  PlaStatus st = get_skin(self, &skin, err);
  if (st == PLA_OK)
    st = pla_skin_path(&skin, path, n, false, 0.5 * self->cell, PLA_SURGERY_SNAP, &points,
                       &n_points, err);
  if (st == PLA_OK && !pla_blade_add_curtain(&blade, points, n_points, false, self->cell,
                                             depth > 0.0 ? depth : body_size(self), bevel,
                                             depth > 0.0 ? self->cell : 0.1 * body_size(self)))
    st = pla_fail_memory(err, "the blade");
  if (st == PLA_OK)
    st = backup_make(self, &backup, err);
  if (st == PLA_OK) {
    st = cut_along(self, &blade, progress, err);
    if (st == PLA_OK)
      st = wipe_crumbs(self, err);
    if (st == PLA_OK)
      st = add_wound(self, name, points, n_points, false, first, err);
    backup_settle(self, &backup, st);
  }
  pla_blade_clear(&blade);
  free(points);
  pla_skin_clear(&skin);
  return st;
}

/* ---- undermining ---- */

typedef struct {
  const double *path;
  int n;
  double radius;
} NearPath;

static bool
is_near_path(const double pos[3], const void *data)
{
  const NearPath *near = data;
  for (int i = 0; i < near->n; i++) {
    double e[3];
    pla_vec3_sub(pos, &near->path[3 * i], e);
    if (pla_vec3_dot(e, e) <= near->radius * near->radius)
      return true;
  }
  return false;
}

PlaStatus
pla_surgery_undermine(PlaSurgery *self, const char *from, double radius, double depth,
                      PlaProgress *progress, PlaError *err)
{
  PlaSkin skin = { 0 };
  PlaBlade blade = { 0 };
  Backup backup = { 0 };
  Wound *wound;
  int n_tris = 0;
  double *path = NULL;
  PlaStatus st = need_wound(self, from, &wound, err);
  if (st == PLA_OK && wound->n_lip[0] + wound->n_lip[1] == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "the wound '%s' opens no skin to undermine from", from);
  if (st == PLA_OK)
    st = get_skin(self, &skin, err);
  if (st == PLA_OK) {
    /* the wound may have moved since it was made: its edges say where it is */
    const int n_path = wound->n_lip[0] + wound->n_lip[1];
    path = pla_array_new(3 * (size_t)n_path, sizeof *path);
    if (path)
      for (int s = 0, k = 0; s < 2; s++)
        for (int i = 0; i < wound->n_lip[s]; i++)
          anchor_place(self, &wound->lip[s][i].anchor, &path[3 * k++]);
    const NearPath near = { path, n_path, radius };
    if (!path || !pla_blade_add_sheet(&blade, &skin, path, is_near_path, &near,
                                      sheet_depth(self, depth), &n_tris))
      st = pla_fail_memory(err, "the blade");
    else if (n_tris == 0)
      st = pla_fail(err, PLA_ERR_EMPTY,
                    "%.1f mm around the wound '%s' is less than the mesh resolves; undermine "
                    "further or use a finer mesh",
                    1e3 * radius, from);
  }
  if (st == PLA_OK)
    st = backup_make(self, &backup, err);
  if (st == PLA_OK) {
    st = cut_along(self, &blade, progress, err);
    if (st == PLA_OK)
      st = wipe_crumbs(self, err);
    backup_settle(self, &backup, st);
  }
  free(path);
  pla_blade_clear(&blade);
  pla_skin_clear(&skin);
  return st;
}

/* ---- excision ---- */

/* a closed path seen along its mean normal */
typedef struct {
  int n;
  double *at; /* in the plane (n x 2) */
  double origin[3], u[3], v[3];
  double margin; /* beyond the path, m */
  double reach;  /* from the origin, m */
} Loop;

static bool
loop_init(Loop *self, const PlaSkinPoint *path, int n, double margin)
{
  double normal[3] = { 0 };
  *self = (Loop){ .n = n, .margin = margin, .at = pla_array_new(2 * (size_t)n, sizeof *self->at) };
  if (!self->at)
    return false;
  for (int i = 0; i < n; i++)
    for (int d = 0; d < 3; d++) {
      self->origin[d] += path[i].pos[d] / n;
      normal[d] += path[i].normal[d];
    }
  double length = pla_vec3_norm(normal);
  int axis = 0;
  for (int d = 0; d < 3; d++) {
    normal[d] /= length;
    if (fabs(normal[d]) < fabs(normal[axis]))
      axis = d;
  }
  double side[3] = { axis == 0, axis == 1, axis == 2 };
  pla_vec3_cross(normal, side, self->u);
  length = pla_vec3_norm(self->u);
  for (int d = 0; d < 3; d++)
    self->u[d] /= length;
  pla_vec3_cross(normal, self->u, self->v);
  for (int i = 0; i < n; i++) {
    double e[3];
    pla_vec3_sub(path[i].pos, self->origin, e);
    self->at[2 * i] = pla_vec3_dot(e, self->u);
    self->at[2 * i + 1] = pla_vec3_dot(e, self->v);
    self->reach = fmax(self->reach, pla_vec3_norm(e));
  }
  return true;
}

/* inside the path, or not far beyond it */
static bool
is_in_loop(const double pos[3], const void *data)
{
  const Loop *loop = data;
  double e[3];
  bool inside = false;
  pla_vec3_sub(pos, loop->origin, e);
  if (pla_vec3_norm(e) > 1.5 * loop->reach + loop->margin)
    return false;
  double x = pla_vec3_dot(e, loop->u), y = pla_vec3_dot(e, loop->v);
  for (int i = 0, j = loop->n - 1; i < loop->n; j = i++) {
    const double *a = &loop->at[2 * i], *b = &loop->at[2 * j];
    if (hypot(x - a[0], y - a[1]) <= loop->margin)
      return true;
    if ((a[1] > y) != (b[1] > y) && x < (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]) + a[0])
      inside = !inside;
  }
  return inside;
}

/* takes the bodies away that hold skin inside the loop; there must be some, and none that is held
 */
static PlaStatus
remove_specimen(PlaSurgery *self, const char *name, const Loop *loop, double *volume, PlaError *err)
{
  const int n_tets = pla_cut_mesh_get(self->cut).mesh.n_tets;
  const PlaCutSurface *s;
  const double *pos;
  Bodies bodies = { 0 };
  PlaStatus st = pla_surgery_get_surface(self, &s, &pos, err);
  if (st == PLA_OK && !bodies_init(&bodies, self))
    st = pla_fail_memory(err, "the specimen");
  bool *gone = st == PLA_OK ? pla_array_new0((size_t)bodies.n_bodies, sizeof *gone) : NULL;
  bool *remove = pla_array_new0((size_t)n_tets, sizeof *remove);
  if (st == PLA_OK && (!gone || !remove))
    st = pla_fail_memory(err, "the specimen");
  /* bodies whose skin inside the loop is all the skin they have */
  for (int pass = 0; st == PLA_OK && pass < 2; pass++)
    for (int t = 0; t < s->n_tris; t++) {
      bool in = s->cut[t] < 0;
      for (int k = 0; k < 3; k++)
        in = in && is_in_loop(&pos[3 * s->tri[3 * t + k]], loop);
      if (pass == 0 && in)
        gone[bodies.body[s->owner[t]]] = true;
      if (pass == 1 && s->cut[t] < 0 && !in)
        gone[bodies.body[s->owner[t]]] = false;
    }
  double sum = 0.0;
  for (int b = 0; st == PLA_OK && b < bodies.n_bodies; b++) {
    gone[b] = gone[b] && !bodies.held[b];
    sum += gone[b] ? bodies.volume[b] : 0.0;
  }
  if (st == PLA_OK && !(sum > 0.0))
    st = pla_fail(err, PLA_ERR_EMPTY,
                  "what '%s' encloses is still connected with the body, or held by bone; choose "
                  "another depth or outline",
                  name);
  for (int t = 0; st == PLA_OK && t < n_tets; t++)
    remove[t] = gone[bodies.body[t]];
  if (st == PLA_OK)
    st = take_away(self, remove, err);
  if (st == PLA_OK && volume)
    *volume = sum;
  free(gone);
  free(remove);
  bodies_clear(&bodies);
  return st;
}

PlaStatus
pla_surgery_excise(PlaSurgery *self, const char *name, const double *path, int n, double depth,
                   double *volume, PlaProgress *progress, PlaError *err)
{
  PlaSkin skin = { 0 };
  PlaSkinPoint *points = NULL;
  PlaBlade blade = { 0 };
  Backup backup = { 0 };
  Loop loop = { 0 };
  int n_points = 0, n_tris = 0, first = self->n_triangles;
  if (find_wound(self, name))
    return pla_fail(err, PLA_ERR_USAGE, "there is a wound called '%s' already", name);
  PlaStatus st = get_skin(self, &skin, err);
  if (st == PLA_OK)
    st = pla_skin_path(&skin, path, n, true, 0.5 * self->cell, PLA_SURGERY_SNAP, &points, &n_points,
                       err);
  if (st == PLA_OK) {
    /* walls that reach below the floor, and a floor that reaches beyond the walls */
    bool ok =
        loop_init(&loop, points, n_points, 2.0 * self->cell) &&
        pla_blade_add_curtain(&blade, points, n_points, true, self->cell, depth, 0.0, self->cell) &&
        pla_blade_add_sheet(&blade, &skin, loop.origin, is_in_loop, &loop, sheet_depth(self, depth),
                            &n_tris);
    if (!ok)
      st = pla_fail_memory(err, "the blade");
  }
  if (st == PLA_OK)
    st = backup_make(self, &backup, err);
  if (st == PLA_OK) {
    st = cut_along(self, &blade, progress, err);
    if (st == PLA_OK)
      st = remove_specimen(self, name, &loop, volume, err);
    if (st == PLA_OK)
      st = wipe_crumbs(self, err);
    if (st == PLA_OK)
      st = add_wound(self, name, points, n_points, true, first, err);
    backup_settle(self, &backup, st);
  }
  free(loop.at);
  free(points);
  pla_blade_clear(&blade);
  pla_skin_clear(&skin);
  return st;
}

/* ---- hooks and sutures ---- */

static bool
threads_add(Threads *threads, const Thread *thread)
{
  if (!pla_array_reserve(&threads->thread, threads->n + 1, &threads->capacity,
                         sizeof *threads->thread))
    return false;
  threads->thread[threads->n++] = *thread;
  return true;
}

PlaStatus
pla_surgery_hook(PlaSurgery *self, const double at[3], const double pull[3], PlaError *err)
{
  PlaSkin skin = { 0 };
  double point[3];
  int tri;
  PlaStatus st = get_skin(self, &skin, err);
  if (st == PLA_OK &&
      !(pla_tri_tree_nearest(skin.tree, at, PLA_SURGERY_SNAP, &tri, point) <= PLA_SURGERY_SNAP))
    st = pla_fail(err, PLA_ERR_USAGE,
                  "the hook at (%.1f, %.1f, %.1f mm) is more than %.0f mm from the skin",
                  1e3 * at[0], 1e3 * at[1], 1e3 * at[2], 1e3 * PLA_SURGERY_SNAP);
  if (st == PLA_OK) {
    /* the nearest corner of that triangle carries the hook */
    int t = skin.source[tri], best = 0;
    double least = INFINITY;
    for (int k = 0; k < 3; k++) {
      double e[3];
      pla_vec3_sub(&self->surface_pos[3 * self->surface.tri[3 * t + k]], point, e);
      if (pla_vec3_norm(e) < least) {
        least = pla_vec3_norm(e);
        best = self->surface.tri[3 * t + k];
      }
    }
    Thread hook = { .at = { { .tet = self->surface.tet[best] } } };
    memcpy(hook.at[0].weight, &self->surface.weight[4 * best], sizeof hook.at[0].weight);
    for (int d = 0; d < 3; d++)
      hook.place[d] = self->surface_pos[3 * best + d] + pull[d];
    if (!threads_add(&self->hooks, &hook))
      st = pla_fail_memory(err, "the hook");
  }
  pla_skin_clear(&skin);
  return st;
}

void
pla_surgery_release_hooks(PlaSurgery *self)
{
  self->hooks.n = 0;
}

/* an edge to sew: points in order */
typedef struct {
  int n;
  LipPoint *point; /* owned; along is the length on the edge itself */
  double length;
} Seam;

/* lengths along the seam as it lies now */
static void
seam_measure(const PlaSurgery *self, Seam *seam)
{
  double last[3], here[3];
  seam->length = 0.0;
  for (int i = 0; i < seam->n; i++) {
    anchor_place(self, &seam->point[i].anchor, here);
    if (i > 0) {
      double e[3];
      pla_vec3_sub(here, last, e);
      seam->length += pla_vec3_norm(e);
    }
    seam->point[i].along = seam->length;
    memcpy(last, here, sizeof last);
  }
}

static bool
seam_copy(Seam *seam, const LipPoint *point, int n, int start, int step)
{
  *seam = (Seam){ .point = pla_array_new((size_t)n, sizeof *seam->point) };
  for (int i = 0; seam->point && i < n; i++)
    seam->point[seam->n++] = point[start + step * i];
  return seam->point != NULL;
}

/* the edge of a removed piece in two halves that meet at its far ends, both running the same way */
static bool
split_rim(const PlaSurgery *self, const Wound *wound, Seam seam[2])
{
  const int rim = wound->n_lip[0] >= wound->n_lip[1] ? 0 : 1, n = wound->n_lip[rim];
  const LipPoint *point = wound->lip[rim];
  int a = 0, b = 0;
  double most = -1.0;
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) {
      double p[3], q[3], e[3];
      anchor_place(self, &point[i].anchor, p);
      anchor_place(self, &point[j].anchor, q);
      pla_vec3_sub(p, q, e);
      if (pla_vec3_norm(e) > most) {
        most = pla_vec3_norm(e);
        a = i;
        b = j;
      }
    }
  if (!seam_copy(&seam[0], point, b - a + 1, a, 1))
    return false;
  seam[1] = (Seam){ .point = pla_array_new((size_t)n + 1, sizeof *point) };
  for (int i = 0; seam[1].point && i <= n - (b - a); i++)
    seam[1].point[seam[1].n++] = point[(a - i + n) % n];
  return seam[1].point != NULL;
}

static double
seams_apart(const PlaSurgery *self, const Seam *a, const Seam *b)
{
  double sum = 0.0;
  for (int k = 0; k <= 8; k++) {
    double p[3], q[3], e[3];
    anchor_place(self, &a->point[k * (a->n - 1) / 8].anchor, p);
    anchor_place(self, &b->point[k * (b->n - 1) / 8].anchor, q);
    pla_vec3_sub(p, q, e);
    sum += pla_vec3_norm(e);
  }
  return sum;
}

/* the seams of two wounds: the lips that lie nearest to each other, in directions that match */
static bool
choose_seams(const PlaSurgery *self, const Wound *first, const Wound *second, Seam seam[2])
{
  double best = INFINITY;
  int choice[3] = { -1, -1, 0 };
  for (int c = 0; c < 8; c++) {
    int a = c & 1, b = c >> 1 & 1, flip = c >> 2;
    if (first->n_lip[a] < 2 || second->n_lip[b] < 2)
      continue;
    Seam one, two;
    bool ok = seam_copy(&one, first->lip[a], first->n_lip[a], 0, 1);
    ok = seam_copy(&two, second->lip[b], second->n_lip[b], flip ? second->n_lip[b] - 1 : 0,
                   flip ? -1 : 1) &&
         ok;
    double apart = ok ? seams_apart(self, &one, &two) : INFINITY;
    free(one.point);
    free(two.point);
    if (!ok)
      return false;
    if (apart < best) {
      best = apart;
      choice[0] = a;
      choice[1] = b;
      choice[2] = flip;
    }
  }
  if (choice[0] < 0)
    return true;
  const int n = second->n_lip[choice[1]];
  return seam_copy(&seam[0], first->lip[choice[0]], first->n_lip[choice[0]], 0, 1) &&
         seam_copy(&seam[1], second->lip[choice[1]], n, choice[2] ? n - 1 : 0, choice[2] ? -1 : 1);
}

static const Anchor *
seam_at(const Seam *seam, double fraction)
{
  int best = 0;
  for (int i = 1; i < seam->n; i++)
    if (fabs(seam->point[i].along - fraction * seam->length) <
        fabs(seam->point[best].along - fraction * seam->length))
      best = i;
  return &seam->point[best].anchor;
}

PlaStatus
pla_surgery_suture(PlaSurgery *self, const char *first, const char *second, double spacing,
                   double tighten, int *n_stitches, PlaError *err)
{
  Wound *a, *b;
  Seam seam[2] = { { 0 } };
  const int n_before = self->stitches.n;
  PlaStatus st = need_wound(self, first, &a, err);
  if (st == PLA_OK)
    st = need_wound(self, second, &b, err);
  if (st == PLA_OK) {
    bool ok = true;
    if (a == b && a->closed)
      ok = a->n_lip[0] + a->n_lip[1] < 4 || split_rim(self, a, seam);
    else if (a == b)
      ok = seam_copy(&seam[0], a->lip[0], a->n_lip[0], 0, 1) &&
           seam_copy(&seam[1], a->lip[1], a->n_lip[1], 0, 1);
    else
      ok = choose_seams(self, a, b, seam);
    if (!ok)
      st = pla_fail_memory(err, "the sutures");
  }
  if (st == PLA_OK && (seam[0].n < 2 || seam[1].n < 2))
    st = pla_fail(err, PLA_ERR_EMPTY, "'%s' and '%s' have no two edges to sew together", first,
                  second);
  if (st == PLA_OK) {
    for (int k = 0; k < 2; k++)
      seam_measure(self, &seam[k]);
    const double length = fmax(seam[0].length, seam[1].length);
    const int n = (int)fmax(1.0, floor(length / spacing));
    for (int i = 0; st == PLA_OK && i < n; i++) {
      const double fraction = (i + 0.5) / n;
      Thread stitch = { .at = { *seam_at(&seam[0], fraction), *seam_at(&seam[1], fraction) } };
      double p[3], q[3];
      anchor_place(self, &stitch.at[0], p);
      anchor_place(self, &stitch.at[1], q);
      for (int d = 0; d < 3; d++)
        stitch.place[d] = (1.0 - tighten) * (p[d] - q[d]);
      if (!threads_add(&self->stitches, &stitch))
        st = pla_fail_memory(err, "the sutures");
    }
    if (st != PLA_OK)
      self->stitches.n = n_before;
  }
  if (n_stitches)
    *n_stitches = self->stitches.n - n_before;
  free(seam[0].point);
  free(seam[1].point);
  return st;
}

/* ---- equilibrium ---- */

static PlaSpring
spring_of(const PlaSurgery *self, const Thread *thread, int n_ends)
{
  PlaSpring spring = { .n_verts = 4 * n_ends };
  const int *tets = pla_cut_mesh_get(self->cut).mesh.tet;
  for (int e = 0; e < n_ends; e++)
    for (int c = 0; c < 4; c++) {
      spring.vert[4 * e + c] = tets[4 * thread->at[e].tet + c];
      spring.weight[4 * e + c] = e ? -thread->at[e].weight[c] : thread->at[e].weight[c];
    }
  memcpy(spring.offset, thread->place, sizeof spring.offset);
  for (int d = 0; d < 3; d++)
    spring.stiffness[4 * d] = THREAD_STIFFNESS;
  return spring;
}

static PlaStatus
build_model(const PlaSurgery *self, PlaFemModel **out, PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  const int n_tets = view.mesh.n_tets;
  PlaMesh *mesh = NULL;
  int *material = pla_array_new((size_t)n_tets, sizeof *material);
  PlaStatus st = material ? pla_mesh_new(view.mesh.n_verts, 0, n_tets, 0, &mesh, err)
                          : pla_fail_memory(err, "the body");
  if (st == PLA_OK) {
    memcpy(mesh->pos, view.mesh.rest, 3 * (size_t)mesh->n_verts * sizeof *mesh->pos);
    memcpy(mesh->tet, view.mesh.tet, 4 * (size_t)n_tets * sizeof *mesh->tet);
    for (int t = 0; t < n_tets; t++)
      material[t] = self->cell_material[view.tet_source[t]];
    st = pla_fem_model_new(mesh, self->material, self->n_materials, material,
                           PLA_FORMULATION_STANDARD, out, err);
  }
  pla_mesh_free(mesh);
  free(material);
  return st;
}

PlaStatus
pla_surgery_solve(PlaSurgery *self, double tolerance_rel, PlaProgress *progress,
                  PlaFemReport *report, PlaError *err)
{
  const int n = pla_cut_mesh_get(self->cut).mesh.n_verts;
  const int n_springs = self->stitches.n + self->hooks.n;
  PlaFemModel *model = NULL;
  unsigned char *fixed = pla_array_new(3 * (size_t)n, sizeof *fixed);
  PlaSpring *spring = pla_array_new((size_t)n_springs, sizeof *spring);
  double *pos = pla_array_dup(self->pos, 3 * (size_t)n, sizeof *pos);
  PlaStatus st =
      fixed && spring && pos ? build_model(self, &model, err) : pla_fail_memory(err, "the body");
  if (st == PLA_OK) {
    for (int i = 0; i < 3 * n; i++)
      fixed[i] = self->held[i / 3];
    for (int i = 0; i < n_springs; i++)
      spring[i] = i < self->stitches.n
                      ? spring_of(self, &self->stitches.thread[i], 2)
                      : spring_of(self, &self->hooks.thread[i - self->stitches.n], 1);
    st = pla_fem_check_held(model, fixed, err);
  }
  if (st == PLA_OK) {
    const PlaFemSprings springs = { n_springs, spring };
    const PlaFemConditions conditions = { .fixed = fixed,
                                          .target = self->pos,
                                          .springs = &springs };
    PlaFemOptions options = pla_fem_options_default();
    options.tolerance_rel = tolerance_rel;
    options.warm_start = true;
    options.progress = progress;
    st = pla_fem_solve(model, &conditions, &options, pos, report, err);
  }
  if (st == PLA_OK) {
    free(self->pos);
    self->pos = pos;
    pos = NULL;
    forget_surface(self);
  }
  pla_fem_model_free(model);
  free(fixed);
  free(spring);
  free(pos);
  return st;
}

PlaStatus
pla_surgery_read(const PlaSurgery *self, PlaSurgeryReadings *out, PlaError *err)
{
  *out = (PlaSurgeryReadings){ .n_stitches = self->stitches.n, .n_hooks = self->hooks.n };
  for (int i = 0; i < self->stitches.n; i++) {
    PlaSpring spring = spring_of(self, &self->stitches.thread[i], 2);
    double p[3], q[3], e[3], force[3];
    anchor_place(self, &self->stitches.thread[i].at[0], p);
    anchor_place(self, &self->stitches.thread[i].at[1], q);
    pla_vec3_sub(p, q, e);
    pla_spring_force(&spring, self->pos, force);
    double tension = pla_vec3_norm(force);
    out->closed_gap = fmax(out->closed_gap, pla_vec3_norm(e));
    out->max_tension = fmax(out->max_tension, tension);
    out->closure_force += tension;
  }
  for (int i = 0; i < self->hooks.n; i++) {
    PlaSpring spring = spring_of(self, &self->hooks.thread[i], 1);
    double force[3];
    pla_spring_force(&spring, self->pos, force);
    out->max_hook_force = fmax(out->max_hook_force, pla_vec3_norm(force));
  }
  PlaFemModel *model = NULL;
  PlaStatus st = build_model(self, &model, err);
  const int n_tets = pla_cut_mesh_get(self->cut).mesh.n_tets;
  for (int t = 0; st == PLA_OK && t < n_tets; t++) {
    PlaFemCellState state;
    pla_fem_cell_state(model, t, self->pos, &state);
    out->max_stretch = fmax(out->max_stretch, state.stretch[0]);
  }
  pla_fem_model_free(model);
  return st;
}
