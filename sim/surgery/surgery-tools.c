/* Tools that cut: incisions, cuts through the body, excisions. */
#include "sim/surgery/surgery-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "sim/cut/cut-mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- floors and walls ---- */

/* A line down the wall, and how far down it the floor is met last. */
typedef struct {
  const PlaTriMesh *floor;
  double from[3], down[3];
  double met; /* m; 0: nowhere */
} Plumb;

static void
plumb_meet(int tri, void *data)
{
  Plumb *self = data;
  const double *corner[3];
  double e[3], f[3], h[3], g[3], q[3];
  for (int k = 0; k < 3; k++)
    corner[k] = &self->floor->pos[3 * self->floor->tri[3 * tri + k]];
  pla_vec3_sub(corner[1], corner[0], e);
  pla_vec3_sub(corner[2], corner[0], f);
  pla_vec3_cross(self->down, f, h);
  const double det = pla_vec3_dot(e, h);
  if (det == 0.0)
    return;
  pla_vec3_sub(self->from, corner[0], g);
  pla_vec3_cross(g, e, q);
  const double u = pla_vec3_dot(g, h) / det, v = pla_vec3_dot(self->down, q) / det;
  if (u >= 0.0 && v >= 0.0 && u + v <= 1.0)
    self->met = fmax(self->met, pla_vec3_dot(f, q) / det);
}

/* Floors and the feet of walls are made from different points of the skin, and on curved skin they
 * differ: by a few hundredths of the depth, and by more where cells are coarse.  Walls reach *out
 * further than @depth, so that @floor, and others at the same depth, meet them for certain. */
static PlaStatus
find_overcut(const PlaSurgery *self, const PlaBlade *floor, const PlaSkinPoint *path, int n,
             bool closed, double depth, double *out, PlaError *err)
{
  enum { LINES = 8 };       /* between two points of the path */
  const double spare = 1.5; /* for what lies between them */
  const PlaTriMesh mesh = pla_blade_get(floor);
  PlaTriTree *tree = NULL;
  double most = 0.0;
  *out = 0.03 * (depth + 3.0 * self->cell);
  if (mesh.n_tris == 0)
    return PLA_OK;
  PlaStatus st = pla_tri_tree_new(&mesh, &tree, err);
  for (int i = 0; st == PLA_OK && i < LINES * (n - !closed); i++) {
    const PlaSkinPoint *a = &path[i / LINES], *b = &path[(i / LINES + 1) % n];
    const double t = (double)(i % LINES) / LINES;
    Plumb plumb = { .floor = &mesh };
    double lo[3], hi[3];
    for (int d = 0; d < 3; d++) {
      plumb.from[d] = a->pos[d] + t * (b->pos[d] - a->pos[d]);
      plumb.down[d] = -a->normal[d] - t * (b->normal[d] - a->normal[d]);
      const double end = plumb.from[d] + 2.0 * depth * plumb.down[d];
      lo[d] = fmin(plumb.from[d], end);
      hi[d] = fmax(plumb.from[d], end);
    }
    pla_tri_tree_visit(tree, lo, hi, plumb_meet, &plumb);
    if (plumb.met < 2.0 * depth)
      most = fmax(most, plumb.met - depth);
  }
  pla_tri_tree_free(tree);
  *out = fmax(*out, spare * most);
  return st;
}

typedef struct {
  const PlaSkinPoint *path;
  int n;
  double reach;
} NearPath;

static bool
is_near_path(const double pos[3], const double normal[3], const void *data)
{
  const NearPath *near = data;
  for (int i = 0; i < near->n; i++) {
    double e[3];
    pla_vec3_sub(pos, near->path[i].pos, e);
    if (pla_vec3_dot(e, e) < near->reach * near->reach &&
        pla_vec3_dot(normal, near->path[i].normal) > 0.0)
      return true;
  }
  return false;
}

/* the same for the floor that undermining from the path would have */
static PlaStatus
find_overcut_below(const PlaSurgery *self, const PlaSkin *skin, const PlaSkinPoint *path, int n,
                   double depth, double *out, PlaError *err)
{
  const NearPath near = { path, n, 2.0 * self->cell };
  PlaBlade floor = { 0 };
  int n_tris;
  double *seed = pla_array_new((size_t)n, 3 * sizeof *seed);
  for (int i = 0; seed && i < n; i++)
    memcpy(&seed[3 * i], path[i].pos, sizeof path[i].pos);
  PlaStatus st =
      seed && pla_blade_add_sheet(&floor, skin, seed, n, is_near_path, &near, depth, &n_tris)
          ? find_overcut(self, &floor, path, n, false, depth, out, err)
          : pla_fail_memory(err, "the blade");
  pla_blade_clear(&floor);
  free(seed);
  return st;
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

/* cuts @among some tets, NULL: all, and lets everything that hangs on the body follow */
static PlaStatus
cut_among(PlaSurgery *self, const PlaBlade *blade, const bool *among, PlaProgress *progress,
          PlaError *err)
{
  PlaTriMesh tris = pla_blade_get(blade);
  PlaCutReport report;
  int *from = NULL;
  const PlaCutMeshView before = pla_cut_mesh_get(self->cut);
  const int n_tets = before.mesh.n_tets, n_verts = before.mesh.n_verts;
  PlaStatus st = pla_cut_mesh_cut_among(self->cut, &tris, among, progress, &report, &from, err);
  if (st == PLA_OK && report.n_touched == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "the blade does not reach the body");
  if (st == PLA_OK) {
    const int n = n_verts + report.n_new_verts;
    if (!pla_array_resize((void **)&self->pos, 3 * (size_t)n, sizeof *self->pos) ||
        !pla_array_resize((void **)&self->held, (size_t)n, sizeof *self->held) ||
        !pla_array_resize((void **)&self->colour, (size_t)n, sizeof *self->colour)) {
      st = pla_fail_memory(err, "the cut");
    } else {
      for (int i = 0; i < report.n_new_verts; i++) {
        memcpy(&self->pos[3 * (n_verts + i)], &self->pos[3 * from[i]], 3 * sizeof *self->pos);
        self->held[n_verts + i] = self->held[from[i]];
        self->colour[n_verts + i] = self->colour[from[i]];
      }
      if (!release_held(self))
        st = pla_fail_memory(err, "the cut");
      self->n_triangles += tris.n_tris;
      self->tool = (PlaSurgeryTool){ .n_touched = report.n_touched,
                                     .n_new_tets = report.n_new_tets,
                                     .n_blade = tris.n_tris };
      pla_surgery_update_anchors(self, follow, &(Follow){ self->cut, n_tets });
      pla_surgery_forget_surface(self);
      if (st == PLA_OK)
        st = pla_surgery_find_firm(self, err);
    }
  }
  free(from);
  return st;
}

PlaStatus
pla_surgery_cut_along(PlaSurgery *self, const PlaBlade *blade, PlaProgress *progress, PlaError *err)
{
  return cut_among(self, blade, NULL, progress, err);
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
        self->colour[vert[v]] = self->colour[v];
      }
    pla_surgery_update_anchors(self, renumber, &(Renumbered){ tet });
    pla_surgery_forget_surface(self);
    st = pla_surgery_find_firm(self, err);
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
    for (int i = 0; i < surgery->supports.n; i++)
      self->held[self->body[surgery->supports.thread[i].end[0].at[0].tet]] = true;
  }
  free(volume);
  return ok;
}

/* Blades that nearly meet leave crumbs smaller than a cell, which nothing holds: they are wiped
 * off, and counted. */
PlaStatus
pla_surgery_wipe_crumbs(PlaSurgery *self, PlaError *err)
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

/* ---- incision ---- */

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
  PlaStatus st = pla_surgery_get_skin_near(self, path, n, &skin, err);
  if (st == PLA_OK)
    st = pla_skin_path(&skin, path, n, false, 0.5 * self->cell, PLA_SURGERY_SNAP, &points,
                       &n_points, err);
  double over = 0.0;
  if (st == PLA_OK && depth > 0.0)
    st = find_overcut_below(self, &skin, points, n_points, depth, &over, err);
  if (st == PLA_OK && !pla_blade_add_curtain(&blade, points, n_points, false, self->cell,
                                             depth > 0.0 ? depth + over : body_size(self), bevel,
                                             depth > 0.0 ? self->cell : 0.1 * body_size(self)))
    st = pla_fail_memory(err, "the blade");
  if (st == PLA_OK)
    st = pla_surgery_dup(self, &backup, err);
  if (st == PLA_OK) {
    st = pla_surgery_cut_along(self, &blade, progress, err);
    if (st == PLA_OK)
      st = pla_surgery_wipe_crumbs(self, err);
    if (st == PLA_OK)
      st = pla_surgery_add_wound(self, name, points, n_points, false, first, err);
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

/* ---- full depth ---- */

/* (*out)[t]: whether tet t is of the tissue; free() */
static PlaStatus
mark_tissue(const PlaSurgery *self, const char *tissue, bool **out, PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  int material = 0;
  while (material < self->n_materials &&
         strcmp(pla_surgery_get_tissue(self, material), tissue) != 0)
    material++;
  if (material == self->n_materials)
    return pla_fail(err, PLA_ERR_USAGE, "this body has no tissue called '%s' to cut", tissue);
  *out = pla_array_new((size_t)view.mesh.n_tets, sizeof **out);
  if (!*out)
    return pla_fail_memory(err, "the cut");
  for (int t = 0; t < view.mesh.n_tets; t++)
    (*out)[t] = self->cell_material[view.tet_source[t]] == material;
  return PLA_OK;
}

PlaStatus
pla_surgery_cut(PlaSurgery *self, const PlaTriMesh *blade, const char *tissue,
                PlaProgress *progress, PlaError *err)
{
  bool *among = NULL;
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
    st = pla_fail(err, PLA_ERR_EMPTY, "the blade has no area; give one that has");
  if (st == PLA_OK && tissue)
    st = mark_tissue(self, tissue, &among, err);
  if (st == PLA_OK)
    st = pla_surgery_dup(self, &backup, err);
  if (st == PLA_OK) {
    st = cut_among(self, &own, among, progress, err);
    if (st == PLA_OK)
      st = pla_surgery_wipe_crumbs(self, err);
    pla_surgery_settle(self, &backup, st);
  }
  free(among);
  pla_blade_clear(&own);
  return st;
}

int
pla_surgery_count_pieces(const PlaSurgery *self, const char *tissue)
{
  const int n_tets = pla_cut_mesh_get(self->cut).mesh.n_tets;
  bool *among = NULL;
  PlaError err = { 0 };
  int n = 0;
  if (!tissue)
    return pla_cut_mesh_bodies(self->cut, NULL);
  int *parent = mark_tissue(self, tissue, &among, &err) == PLA_OK
                    ? pla_array_new((size_t)n_tets, sizeof *parent)
                    : NULL;
  for (int t = 0; parent && t < n_tets; t++)
    parent[t] = t;
  for (int i = 0; parent && i < 4 * n_tets; i++)
    for (PlaCutAcross a = pla_cut_mesh_across(self->cut, i / 4, i % 4); among[i / 4] && a.tet >= 0;
         pla_cut_mesh_next(self->cut, &a))
      if (among[a.tet])
        pla_union_find_join(parent, i / 4, a.tet);
  for (int t = 0; parent && t < n_tets; t++)
    n += among[t] && parent[t] == t;
  free(among);
  if (!parent)
    return -1;
  free(parent);
  return n;
}

/* ---- excision ---- */

/* the least that must come out, m3: shavings of the rim are no specimen */
static double
least_specimen(const PlaSkinLoop *loop, double depth)
{
  double twice = 0.0;
  for (int i = 0, j = loop->n - 1; i < loop->n; j = i++) {
    const double *a = &loop->at[2 * j], *b = &loop->at[2 * i];
    twice += a[0] * b[1] - a[1] * b[0];
  }
  return 0.15 * fabs(twice) * fmin(depth, 0.002); /* a third of the area, 2 mm thick */
}

void
pla_surgery_specimen_clear(PlaSurgerySpecimen *self)
{
  free(self->pos);
  free(self->tri);
  *self = (PlaSurgerySpecimen){ 0 };
}

/* extents of points in the loop's plane, turned by @angle, and across it */
static void
measure_box(const PlaSkinLoop *loop, const double *pos, int n, double angle, double size[3])
{
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  for (int i = 0; i < n; i++) {
    double e[3];
    pla_vec3_sub(&pos[3 * i], loop->origin, e);
    const double u = pla_vec3_dot(e, loop->u), v = pla_vec3_dot(e, loop->v);
    const double at[3] = { cos(angle) * u + sin(angle) * v, cos(angle) * v - sin(angle) * u,
                           pla_vec3_dot(e, loop->normal) };
    for (int d = 0; d < 3; d++) {
      lo[d] = fmin(lo[d], at[d]);
      hi[d] = fmax(hi[d], at[d]);
    }
  }
  for (int d = 0; d < 3; d++)
    size[d] = hi[d] - lo[d];
}

/* what pathology is told of the marked tets, and their surface as it lies */
static PlaStatus
measure_specimen(PlaSurgery *self, const bool *remove, const PlaSkinLoop *loop,
                 PlaSurgerySpecimen *out, PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  const PlaCutSurface *s;
  const double *pos;
  *out = (PlaSurgerySpecimen){ 0 };
  PlaStatus st = pla_surgery_get_surface(self, &s, &pos, err);
  if (st != PLA_OK)
    return st;
  double *volume = pla_array_new((size_t)view.mesh.n_tets, sizeof *volume);
  int *number = pla_array_new0((size_t)s->n_verts, sizeof *number); /* 1 + new number */
  out->pos = pla_array_new((size_t)s->n_verts, 3 * sizeof *out->pos);
  out->tri = pla_array_new((size_t)s->n_tris, 3 * sizeof *out->tri);
  if (!volume || !number || !out->pos || !out->tri)
    st = pla_fail_memory(err, "the specimen");
  if (st == PLA_OK) {
    pla_cut_mesh_volumes(self->cut, volume);
    for (int t = 0; t < view.mesh.n_tets; t++)
      if (remove[t]) {
        out->volume += volume[t];
        out->mass += volume[t] * self->material[self->cell_material[view.tet_source[t]]].density;
      }
    for (int t = 0; t < s->n_tris; t++)
      for (int k = 0; remove[s->owner[t]] && k < 3; k++) {
        const int v = s->tri[3 * t + k];
        if (!number[v]) {
          memcpy(&out->pos[3 * out->n_verts], &pos[3 * v], 3 * sizeof *pos);
          number[v] = ++out->n_verts;
        }
        out->tri[3 * out->n_tris + k] = number[v] - 1;
        out->n_tris += k == 2;
      }
    /* the narrowest rectangle around it, degree by degree */
    enum { TURNS = 180 };
    double least = INFINITY;
    for (int i = 0; i < TURNS; i++) {
      double size[3];
      measure_box(loop, out->pos, out->n_verts, M_PI * i / TURNS, size);
      if (size[0] >= size[1] && size[1] < least) {
        least = size[1];
        memcpy(out->size, size, sizeof size);
      }
    }
  } else {
    pla_surgery_specimen_clear(out);
  }
  free(volume);
  free(number);
  return st;
}

/* takes the bodies away that hold skin inside the loop; there must be some, and none that is held
 */
static PlaStatus
remove_specimen(PlaSurgery *self, const char *name, const PlaSkinLoop *loop, double depth,
                PlaSurgerySpecimen *specimen, PlaError *err)
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
        in = in && pla_skin_in_loop(&pos[3 * s->tri[3 * t + k]], NULL, loop);
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
                  "the tissue inside '%s' is still connected to the body or held by bone; choose "
                  "another depth or outline",
                  name);
  for (int t = 0; st == PLA_OK && t < n_tets; t++)
    remove[t] = gone[bodies.body[t]];
  if (st == PLA_OK && specimen)
    st = measure_specimen(self, remove, loop, specimen, err);
  if (st == PLA_OK)
    st = take_away(self, remove, err);
  free(gone);
  free(remove);
  bodies_clear(&bodies);
  return st;
}

/* ---- tips ---- */

static bool
is_on_wound(const PlaSurgery *self, const double pos[3])
{
  for (int w = 0; w < self->n_wounds; w++)
    for (int s = 0; s < 2; s++)
      for (int i = 0; i < self->wound[w].n_edge[s]; i++) {
        double p[3], e[3];
        pla_surgery_place(self, &self->wound[w].edge[s][i].anchor, p);
        pla_vec3_sub(p, pos, e);
        if (pla_vec3_norm(e) < 0.5 * self->cell)
          return true;
      }
  return false;
}

/* the point of a closed path at about @reach from point @i, forwards or back */
static const double *
path_beyond(const PlaSkinPoint *path, int n, int i, int step, double reach)
{
  double e[3];
  int k = i;
  for (int left = n; left > 0; left--) {
    k = (k + step + n) % n;
    pla_vec3_sub(path[k].pos, path[i].pos, e);
    if (pla_vec3_norm(e) >= reach)
      break;
  }
  return path[k].pos;
}

/* Walls that run on for a cell beyond the sharp corners of an outline.  A corner ends inside a
 * cell, which stays one piece, so that its edges could not be brought together; where the cut runs
 * on it falls into two, and the cell that stays whole has nothing missing.  Corners on other wounds
 * are open already. */
static PlaStatus
add_run_outs(const PlaSurgery *self, const PlaSkin *skin, const PlaSkinPoint *path, int n,
             double depth, PlaBlade *blade, PlaError *err)
{
  enum { STEPS = 3 };
  const double sharp = cos(1.9); /* rad: 109 degrees between the edges */
  const double length = 1.75 * self->cell, reach = 1.5 * self->cell;
  for (int i = 0; i < n; i++) {
    double back[3], on[3], out[3];
    if (!path[i].knot)
      continue;
    pla_vec3_sub(path_beyond(path, n, i, -1, reach), path[i].pos, back);
    pla_vec3_sub(path_beyond(path, n, i, 1, reach), path[i].pos, on);
    const double a = pla_vec3_norm(back), b = pla_vec3_norm(on);
    if (!(a > 0.0 && b > 0.0) || pla_vec3_dot(back, on) < sharp * a * b ||
        is_on_wound(self, path[i].pos))
      continue;
    for (int d = 0; d < 3; d++)
      out[d] = -back[d] / a - on[d] / b;
    PlaSkinPoint run[STEPS + 1] = { path[i] };
    int m = 1;
    while (m <= STEPS && pla_skin_walk(skin, &run[m - 1], out, length / STEPS, &run[m]))
      m++;
    if (m > 1 && !pla_blade_add_curtain(blade, run, m, false, self->cell, depth, 0.0, self->cell))
      return pla_fail_memory(err, "the blade");
  }
  return PLA_OK;
}

PlaStatus
pla_surgery_excise(PlaSurgery *self, const char *name, const double *path, int n, double depth,
                   PlaSurgerySpecimen *specimen, PlaProgress *progress, PlaError *err)
{
  PlaSkin skin = { 0 };
  PlaSkinPoint *points = NULL;
  PlaBlade blade = { 0 }, tips = { 0 };
  PlaSurgery *backup = NULL;
  PlaSkinLoop loop = { 0 };
  int n_points = 0, n_tris = 0, first = 0;
  double over = 0.0;
  if (specimen)
    *specimen = (PlaSurgerySpecimen){ 0 };
  if (pla_surgery_find_wound(self, name))
    return pla_fail(err, PLA_ERR_USAGE, "there is a wound called '%s' already", name);
  PlaStatus st = pla_surgery_get_skin(self, &skin, err);
  if (st == PLA_OK)
    st = pla_skin_path(&skin, path, n, true, 0.5 * self->cell, PLA_SURGERY_SNAP, &points, &n_points,
                       err);
  if (st == PLA_OK) {
    /* a floor that reaches beyond the walls, and walls that reach below the floor */
    st = pla_skin_loop_init(&loop, points, n_points, 2.0 * self->cell) &&
                 pla_blade_add_sheet(&blade, &skin, loop.place, loop.n, pla_skin_in_loop, &loop,
                                     depth, &n_tris)
             ? find_overcut(self, &blade, points, n_points, true, depth, &over, err)
             : pla_fail_memory(err, "the blade");
  }
  if (st == PLA_OK && !pla_blade_add_curtain(&blade, points, n_points, true, self->cell,
                                             depth + over, 0.0, self->cell))
    st = pla_fail_memory(err, "the blade");
  if (st == PLA_OK)
    st = add_run_outs(self, &skin, points, n_points, depth + over, &tips, err);
  if (st == PLA_OK)
    st = pla_surgery_dup(self, &backup, err);
  if (st == PLA_OK) {
    /* before the outline: what they open is no edge of the wound */
    if (tips.n_tris > 0)
      st = pla_surgery_cut_along(self, &tips, progress, err);
    first = self->n_triangles;
    if (st == PLA_OK)
      st = pla_surgery_cut_along(self, &blade, progress, err);
    if (st == PLA_OK)
      st = remove_specimen(self, name, &loop, depth, specimen, err);
    if (st == PLA_OK)
      st = pla_surgery_wipe_crumbs(self, err);
    if (st == PLA_OK)
      st = pla_surgery_add_wound(self, name, points, n_points, true, first, err);
    self->tool.overcut = over;
    pla_surgery_settle(self, &backup, st);
    if (st != PLA_OK && specimen)
      pla_surgery_specimen_clear(specimen);
  }
  pla_skin_loop_clear(&loop);
  free(points);
  pla_blade_clear(&blade);
  pla_blade_clear(&tips);
  pla_skin_clear(&skin);
  return st;
}
