/* Tools that cut: incisions, undermining, excisions, and the wounds they leave. */
#include "sim/surgery/surgery-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Floors and the feet of walls are made from different points of the skin, and on curved skin they
 * differ by a few hundredths of the depth.  Walls reach this much further, so that floors at the
 * same depth meet them for certain. */
static double
overcut(const PlaSurgery *self, double depth)
{
  return 0.03 * (depth + 3.0 * self->cell);
}

/* ---- cutting ---- */

typedef struct {
  const PlaCutMesh *mesh;
  int n_before;
} Follow;

static bool
follow(PlaSurgeryAnchor *anchor, const void *data)
{
  const Follow *f = data;
  anchor->tet = pla_cut_mesh_follow(f->mesh, anchor->tet, anchor->weight, f->n_before);
  return true;
}

/* A vertex is held because material lies there that does not move.  Of the copies that a cut makes
 * of it, only those are held that still have this material. */
static bool
release_held(PlaSurgery *self)
{
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  bool *there = pla_array_new0((size_t)view.mesh.n_verts, sizeof *there);
  if (!there)
    return false;
  for (int t = 0; t < view.mesh.n_tets; t++)
    for (int c = 0; c < 4; c++) {
      const int v = view.mesh.tet[4 * t + c];
      if (self->held[v] && !there[v])
        there[v] = pla_cut_mesh_has_corner(self->cut, t, c);
    }
  for (int v = 0; v < view.mesh.n_verts; v++)
    self->held[v] = self->held[v] && there[v];
  free(there);
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
  PlaStatus st = pla_cut_mesh_cut(self->cut, &tris, progress, &report, &from, err);
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
      if (!release_held(self))
        st = pla_fail_memory(err, "the cut");
      self->n_triangles += tris.n_tris;
      self->tool = (PlaSurgeryTool){ .n_touched = report.n_touched,
                                     .n_new_tets = report.n_new_tets,
                                     .n_blade = tris.n_tris };
      pla_surgery_update_anchors(self, follow, &(Follow){ self->cut, n_tets });
      pla_surgery_forget_surface(self);
    }
  }
  free(from);
  return st;
}

typedef struct {
  const int *tet; /* new numbers */
} Renumbered;

static bool
renumber(PlaSurgeryAnchor *anchor, const void *data)
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
    pla_surgery_update_anchors(self, renumber, &(Renumbered){ tet });
    pla_surgery_forget_surface(self);
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
 * off, and counted. */
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
  /* shreds that cling to bone by a few vertices could turn about them: they stay as they are */
  const PlaTetMesh mesh = pla_cut_mesh_get(self->cut).mesh;
  for (int t = 0; st == PLA_OK && t < n_tets; t++)
    for (int c = 0; c < 4; c++)
      if (bodies.held[bodies.body[t]] && bodies.volume[bodies.body[t]] < 8.0 * crumb)
        self->held[mesh.tet[4 * t + c]] = 1;
  for (int b = 0; st == PLA_OK && b < bodies.n_bodies; b++)
    if (!bodies.held[b] && bodies.volume[b] < crumb) {
      self->tool.n_crumbs++;
      self->tool.crumbs += bodies.volume[b];
    }
  if (st == PLA_OK && any)
    st = take_away(self, remove, err);
  free(remove);
  bodies_clear(&bodies);
  return st;
}

/* ---- wounds ---- */

/* where on the path a point of the wound's edge lies: the blade hangs from straight pieces */
typedef struct {
  double along;
  double left[3];
} PathPlace;

static PathPlace
path_place(const PlaSkinPoint *path, int n, bool closed, const double pos[3])
{
  PathPlace best = { 0 };
  double least = INFINITY;
  for (int i = 0; i + !closed < n; i++) {
    const PlaSkinPoint *a = &path[i], *b = &path[(i + 1) % n];
    double e[3], f[3], off[3];
    pla_vec3_sub(b->pos, a->pos, e);
    pla_vec3_sub(pos, a->pos, f);
    const double length2 = pla_vec3_dot(e, e);
    if (!(length2 > 0.0))
      continue;
    const double at = pla_vec3_dot(e, f) / length2, t = fmin(fmax(at, 0.0), 1.0);
    for (int d = 0; d < 3; d++)
      off[d] = f[d] - t * e[d];
    if (pla_vec3_dot(off, off) < least) {
      least = pla_vec3_dot(off, off);
      best.along = a->along + t * sqrt(length2);
      pla_vec3_cross(a->normal, e, best.left);
    }
  }
  return best;
}

static int
compare_lip(const void *a, const void *b)
{
  const PlaSurgeryLipPoint *x = a, *y = b;
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
find_lips(PlaSurgery *self, const PlaSkinPoint *path, int n, int first, PlaSurgeryWound *wound,
          PlaError *err)
{
  const PlaCutSurface *s;
  const double *pos;
  PlaStatus st = pla_surgery_get_surface(self, &s, &pos, err);
  if (st != PLA_OK)
    return st;
  Edge *edge = pla_array_new(3 * (size_t)s->n_tris, sizeof *edge);
  bool *taken = pla_array_new0((size_t)s->n_verts, sizeof *taken);
  double *wall = pla_array_new0(3 * (size_t)s->n_verts, sizeof *wall);
  for (int k = 0; k < 2; k++)
    wound->lip[k] = pla_array_new((size_t)s->n_verts, sizeof *wound->lip[k]);
  if (!edge || !taken || !wall || !wound->lip[0] || !wound->lip[1]) {
    free(edge);
    free(taken);
    free(wall);
    return pla_fail_memory(err, "the wound");
  }
  /* The wall of the wound faces away from the piece that it belongs to, and so tells on which side
   * of the path that lies.  Twice its area: slivers do not count. */
  for (int t = 0; t < s->n_tris; t++) {
    const int *v = &s->tri[3 * t];
    double e[3], f[3], normal[3];
    if (s->cut[t] < first)
      continue;
    pla_vec3_sub(&pos[3 * v[1]], &pos[3 * v[0]], e);
    pla_vec3_sub(&pos[3 * v[2]], &pos[3 * v[0]], f);
    pla_vec3_cross(e, f, normal);
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++)
        wall[3 * v[k] + d] += normal[d];
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
    const int ends[2] = { a->u, a->v };
    for (int k = 0; k < 2; k++) {
      if (taken[ends[k]])
        continue;
      taken[ends[k]] = true;
      const PathPlace place = path_place(path, n, wound->closed, &pos[3 * ends[k]]);
      const int side = pla_vec3_dot(&wall[3 * ends[k]], place.left) < 0.0 ? 0 : 1;
      PlaSurgeryLipPoint *p = &wound->lip[side][wound->n_lip[side]++];
      p->anchor.tet = s->tet[ends[k]];
      memcpy(p->anchor.weight, &s->weight[4 * ends[k]], sizeof p->anchor.weight);
      p->along = place.along;
    }
  }
  for (int k = 0; k < 2; k++)
    qsort(wound->lip[k], (size_t)wound->n_lip[k], sizeof *wound->lip[k], compare_lip);
  free(edge);
  free(taken);
  free(wall);
  return PLA_OK;
}

/* adds the wound that the path made */
static PlaStatus
add_wound(PlaSurgery *self, const char *name, const PlaSkinPoint *path, int n, bool closed,
          int first, PlaError *err)
{
  PlaSurgeryWound wound = { .closed = closed, .length = path[n - 1].along, .n_path = n };
  wound.name = pla_strdup(name);
  wound.path = pla_array_new(3 * (size_t)n, sizeof *wound.path);
  wound.knot = pla_array_new((size_t)n, sizeof *wound.knot);
  if (!wound.name || !wound.path || !wound.knot ||
      !pla_array_resize((void **)&self->wound, (size_t)self->n_wounds + 1, sizeof *self->wound)) {
    pla_surgery_wound_clear(&wound);
    return pla_fail_memory(err, "the wound");
  }
  for (int i = 0; i < n; i++) {
    memcpy(&wound.path[3 * i], path[i].pos, 3 * sizeof *wound.path);
    if (path[i].knot)
      wound.knot[wound.n_knots++] = path[i].along;
  }
  if (closed) {
    double e[3];
    pla_vec3_sub(path[0].pos, path[n - 1].pos, e);
    wound.length += pla_vec3_norm(e);
  }
  PlaStatus st = find_lips(self, path, n, first, &wound, err);
  if (st == PLA_OK)
    self->wound[self->n_wounds++] = wound;
  else
    pla_surgery_wound_clear(&wound);
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
  PlaSurgery *backup = NULL;
  int n_points = 0, first = self->n_triangles;
  if (pla_surgery_find_wound(self, name))
    return pla_fail(err, PLA_ERR_USAGE, "there is a wound called '%s' already", name);
  PlaStatus st = pla_surgery_get_skin(self, &skin, err);
  if (st == PLA_OK)
    st = pla_skin_path(&skin, path, n, false, 0.5 * self->cell, PLA_SURGERY_SNAP, &points,
                       &n_points, err);
  const double over = depth > 0.0 ? overcut(self, depth) : 0.0;
  if (st == PLA_OK && !pla_blade_add_curtain(&blade, points, n_points, false, self->cell,
                                             depth > 0.0 ? depth + over : body_size(self), bevel,
                                             depth > 0.0 ? self->cell : 0.1 * body_size(self)))
    st = pla_fail_memory(err, "the blade");
  if (st == PLA_OK)
    st = pla_surgery_dup(self, &backup, err);
  if (st == PLA_OK) {
    st = cut_along(self, &blade, progress, err);
    if (st == PLA_OK)
      st = wipe_crumbs(self, err);
    if (st == PLA_OK)
      st = add_wound(self, name, points, n_points, false, first, err);
    self->tool.overcut = over;
    pla_surgery_settle(self, &backup, st);
  }
  pla_blade_clear(&blade);
  free(points);
  pla_skin_clear(&skin);
  return st;
}

/* ---- drawing ---- */

PlaStatus
pla_surgery_draw(PlaSurgery *self, const double at[3], const double direction[3], const double *uv,
                 int n, double *out, PlaError *err)
{
  PlaSkin skin;
  PlaStatus st = pla_surgery_get_skin(self, &skin, err);
  if (st == PLA_OK)
    st = pla_skin_draw(&skin, at, direction, uv, n, PLA_SURGERY_SNAP, out, err);
  pla_skin_clear(&skin);
  return st;
}

/* ---- regions of the skin ---- */

/* a closed path seen along its mean normal */
typedef struct {
  int n;
  double *at; /* in the plane (n x 2) */
  double origin[3], u[3], v[3], normal[3];
  double *place; /* on the skin (n x 3) */
  double margin; /* beyond the path, m */
  double reach;  /* from the origin, m */
} Loop;

static void
loop_clear(Loop *self)
{
  free(self->at);
  free(self->place);
}

static bool
loop_init(Loop *self, const PlaSkinPoint *path, int n, double margin)
{
  double normal[3] = { 0 };
  *self = (Loop){ .n = n,
                  .margin = margin,
                  .at = pla_array_new(2 * (size_t)n, sizeof *self->at),
                  .place = pla_array_new(3 * (size_t)n, sizeof *self->place) };
  if (!self->at || !self->place)
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
  memcpy(self->normal, normal, sizeof normal);
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
    memcpy(&self->place[3 * i], path[i].pos, sizeof path[i].pos);
  }
  return true;
}

/* inside the path, or not far beyond it */
static bool
is_in_loop(const double pos[3], const double normal[3], const void *data)
{
  const Loop *loop = data;
  double e[3];
  bool inside = false;
  if (normal && pla_vec3_dot(normal, loop->normal) <= 0.0)
    return false; /* the walls of a cavity behind */
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

/* ---- undermining ---- */

typedef struct {
  const double *path;
  int n;
  double radius;
} NearPath;

static bool
is_near_path(const double pos[3], const double normal[3], const void *data)
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

/* cuts along a sheet of @n_tris triangles */
static PlaStatus
undermine_along(PlaSurgery *self, const PlaBlade *blade, int n_tris, PlaProgress *progress,
                PlaError *err)
{
  PlaSurgery *backup = NULL;
  PlaStatus st = PLA_OK;
  if (n_tris == 0)
    st = pla_fail(err, PLA_ERR_EMPTY,
                  "the area to undermine is smaller than the mesh resolves; undermine further or "
                  "use a finer mesh");
  if (st == PLA_OK)
    st = pla_surgery_dup(self, &backup, err);
  if (st == PLA_OK) {
    st = cut_along(self, blade, progress, err);
    if (st == PLA_OK)
      st = wipe_crumbs(self, err);
    pla_surgery_settle(self, &backup, st);
  }
  return st;
}

/* cuts along the skin where @inside holds around the seeds, moved @depth inwards */
static PlaStatus
undermine(PlaSurgery *self, const PlaSkin *skin, const double *seed, int n_seeds,
          PlaSkinRegion inside, const void *data, double depth, PlaProgress *progress,
          PlaError *err)
{
  PlaBlade blade = { 0 };
  int n_tris = 0;
  PlaStatus st = pla_blade_add_sheet(&blade, skin, seed, n_seeds, inside, data, depth, &n_tris)
                     ? undermine_along(self, &blade, n_tris, progress, err)
                     : pla_fail_memory(err, "the blade");
  pla_blade_clear(&blade);
  return st;
}

/* where a wound is: it may have moved since it was made, and its edges tell; caller frees *out */
static PlaStatus
wound_path(const PlaSurgery *self, const PlaSurgeryWound *wound, double **out, int *n,
           PlaError *err)
{
  *n = wound->n_lip[0] + wound->n_lip[1];
  if (*n == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "the wound '%s' opens no skin to undermine from",
                    wound->name);
  *out = pla_array_new(3 * (size_t)*n, sizeof **out);
  if (!*out)
    return pla_fail_memory(err, "the blade");
  for (int s = 0, k = 0; s < 2; s++)
    for (int i = 0; i < wound->n_lip[s]; i++)
      pla_surgery_place(self, &wound->lip[s][i].anchor, &(*out)[3 * k++]);
  return PLA_OK;
}

PlaStatus
pla_surgery_undermine(PlaSurgery *self, const char *from, double radius, double depth,
                      PlaProgress *progress, PlaError *err)
{
  PlaSkin skin = { 0 };
  PlaSurgeryWound *wound;
  double *path = NULL;
  int n = 0;
  PlaStatus st = pla_surgery_need_wound(self, from, &wound, err);
  if (st == PLA_OK)
    st = pla_surgery_get_skin(self, &skin, err);
  if (st == PLA_OK)
    st = wound_path(self, wound, &path, &n, err);
  if (st == PLA_OK) {
    const NearPath near = { path, n, radius };
    st = undermine(self, &skin, path, n, is_near_path, &near, depth, progress, err);
  }
  free(path);
  pla_skin_clear(&skin);
  return st;
}

PlaStatus
pla_surgery_undermine_area(PlaSurgery *self, const double *area, int n, double depth,
                           PlaProgress *progress, PlaError *err)
{
  PlaSkin skin;
  PlaSkinPoint *points = NULL;
  Loop loop = { 0 };
  int n_points = 0;
  PlaStatus st = pla_surgery_get_skin(self, &skin, err);
  if (st == PLA_OK)
    st = pla_skin_path(&skin, area, n, true, self->cell, PLA_SURGERY_SNAP, &points, &n_points, err);
  if (st == PLA_OK)
    st = loop_init(&loop, points, n_points, 0.0)
             ? undermine(self, &skin, loop.place, loop.n, is_in_loop, &loop, depth, progress, err)
             : pla_fail_memory(err, "the blade");
  loop_clear(&loop);
  free(points);
  pla_skin_clear(&skin);
  return st;
}

/* the surface by which the body is held: outer faces whose corners all are */
static PlaStatus
bone_surface(PlaSurgery *self, PlaBlade *out, PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  const PlaCutSurface *s;
  const double *pos;
  PlaStatus st = pla_surgery_get_surface(self, &s, &pos, err);
  for (int t = 0; st == PLA_OK && t < s->n_tris; t++) {
    bool bone = s->cut[t] < 0;
    double place[9];
    for (int k = 0; bone && k < 3; k++) {
      const int v = s->tri[3 * t + k];
      for (int c = 0; c < 4; c++)
        if (s->weight[4 * v + c] > 1e-9)
          bone = bone && self->held[view.mesh.tet[4 * s->tet[v] + c]];
      memcpy(&place[3 * k], &pos[3 * v], 3 * sizeof *pos);
    }
    if (bone && !pla_blade_add_triangle(out, place))
      st = pla_fail_memory(err, "the surface of the bone");
  }
  if (st == PLA_OK && out->n_tris == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "there is no bone under this body");
  return st;
}

PlaStatus
pla_surgery_undermine_to_bone(PlaSurgery *self, const char *from, double radius,
                              PlaProgress *progress, PlaError *err)
{
  const double deepest = 0.05, clearance = 0.0005; /* m: what is below is no longer under the skin;
                                                      a layer that stays on the bone */
  PlaSkin skin = { 0 };
  PlaSurgeryWound *wound;
  PlaBlade bone = { 0 }, blade = { 0 };
  PlaTriTree *tree = NULL;
  PlaTriMesh tris = { 0 };
  double *path = NULL;
  int n_path = 0, n_tris = 0;
  PlaStatus st = pla_surgery_need_wound(self, from, &wound, err);
  if (st == PLA_OK)
    st = bone_surface(self, &bone, err);
  if (st == PLA_OK) {
    tris = pla_blade_get(&bone);
    st = pla_tri_tree_new(&tris, &tree, err);
  }
  if (st == PLA_OK)
    st = pla_surgery_get_skin(self, &skin, err);
  if (st == PLA_OK)
    st = wound_path(self, wound, &path, &n_path, err);
  if (st == PLA_OK) {
    const NearPath near = { path, n_path, radius };
    if (!pla_blade_add_sheet(&blade, &skin, path, n_path, is_near_path, &near, 0.0, &n_tris))
      st = pla_fail_memory(err, "the blade");
  }
  /* the sheet sinks from the skin straight down until it is close to bone: each step is as long as
   * nothing can be hit */
  for (int v = 0; st == PLA_OK && v < blade.n_verts; v++) {
    PlaSkinPoint on;
    double *p = &blade.pos[3 * v], down = 0.0, near = 0.0;
    if (!pla_skin_snap(&skin, p, self->cell, &on))
      continue;
    do {
      near = pla_tri_tree_nearest(tree, p, deepest, NULL, NULL);
      const double step = fmax(near - clearance, 0.0);
      for (int d = 0; d < 3; d++)
        p[d] -= step * on.normal[d];
      down += step;
    } while (near > 1.2 * clearance && down < deepest);
  }
  if (st == PLA_OK)
    st = undermine_along(self, &blade, n_tris, progress, err);
  free(path);
  pla_tri_tree_free(tree);
  pla_blade_clear(&bone);
  pla_blade_clear(&blade);
  pla_skin_clear(&skin);
  return st;
}

/* ---- full depth ---- */

PlaStatus
pla_surgery_cut(PlaSurgery *self, const PlaTriMesh *blade, PlaProgress *progress, PlaError *err)
{
  PlaBlade own = { 0 };
  PlaSurgery *backup = NULL;
  PlaStatus st = PLA_OK;
  double area = 0.0;
  for (int t = 0; st == PLA_OK && t < blade->n_tris; t++) {
    double place[9], e[3], f[3], n[3];
    for (int k = 0; k < 3; k++)
      memcpy(&place[3 * k], &blade->pos[3 * blade->tri[3 * t + k]], 3 * sizeof *place);
    pla_vec3_sub(&place[3], place, e);
    pla_vec3_sub(&place[6], place, f);
    pla_vec3_cross(e, f, n);
    area += 0.5 * pla_vec3_norm(n);
    if (!pla_blade_add_triangle(&own, place))
      st = pla_fail_memory(err, "the blade");
  }
  if (st == PLA_OK && !(area > 0.0))
    st = pla_fail(err, PLA_ERR_EMPTY, "the blade has no area, and cuts nothing");
  if (st == PLA_OK)
    st = pla_surgery_dup(self, &backup, err);
  if (st == PLA_OK) {
    st = cut_along(self, &own, progress, err);
    if (st == PLA_OK)
      st = wipe_crumbs(self, err);
    pla_surgery_settle(self, &backup, st);
  }
  pla_blade_clear(&own);
  return st;
}

/* ---- excision ---- */

/* the least that must come out, m3: shavings of the rim are no specimen */
static double
least_specimen(const Loop *loop, double depth)
{
  double twice = 0.0;
  for (int i = 0, j = loop->n - 1; i < loop->n; j = i++) {
    const double *a = &loop->at[2 * j], *b = &loop->at[2 * i];
    twice += a[0] * b[1] - a[1] * b[0];
  }
  return 0.15 * fabs(twice) * fmin(depth, 0.002); /* a third of the area, 2 mm thick */
}

/* takes the bodies away that hold skin inside the loop; there must be some, and none that is held
 */
static PlaStatus
remove_specimen(PlaSurgery *self, const char *name, const Loop *loop, double depth, double *volume,
                PlaError *err)
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
        in = in && is_in_loop(&pos[3 * s->tri[3 * t + k]], NULL, loop);
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
  if (st == PLA_OK && !(sum > least_specimen(loop, depth)))
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
  PlaSurgery *backup = NULL;
  Loop loop = { 0 };
  int n_points = 0, n_tris = 0, first = self->n_triangles;
  if (pla_surgery_find_wound(self, name))
    return pla_fail(err, PLA_ERR_USAGE, "there is a wound called '%s' already", name);
  PlaStatus st = pla_surgery_get_skin(self, &skin, err);
  if (st == PLA_OK)
    st = pla_skin_path(&skin, path, n, true, 0.5 * self->cell, PLA_SURGERY_SNAP, &points, &n_points,
                       err);
  if (st == PLA_OK) {
    /* walls that reach below the floor, and a floor that reaches beyond the walls */
    bool ok =
        loop_init(&loop, points, n_points, 2.0 * self->cell) &&
        pla_blade_add_curtain(&blade, points, n_points, true, self->cell,
                              depth + overcut(self, depth), 0.0, self->cell) &&
        pla_blade_add_sheet(&blade, &skin, loop.place, loop.n, is_in_loop, &loop, depth, &n_tris);
    if (!ok)
      st = pla_fail_memory(err, "the blade");
  }
  if (st == PLA_OK)
    st = pla_surgery_dup(self, &backup, err);
  if (st == PLA_OK) {
    st = cut_along(self, &blade, progress, err);
    if (st == PLA_OK)
      st = remove_specimen(self, name, &loop, depth, volume, err);
    if (st == PLA_OK)
      st = wipe_crumbs(self, err);
    if (st == PLA_OK)
      st = add_wound(self, name, points, n_points, true, first, err);
    self->tool.overcut = overcut(self, depth);
    pla_surgery_settle(self, &backup, st);
  }
  loop_clear(&loop);
  free(points);
  pla_blade_clear(&blade);
  pla_skin_clear(&skin);
  return st;
}
