/* The skin of a body that is operated on, and blades made from it. */
#include "sim/surgery/skin.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* lips of a closed wound coincide up to rounding; no two other vertices are as near, m */
#define WELD 1e-9

static void
normalise(double v[3])
{
  double length = pla_vec3_norm(v);
  for (int d = 0; d < 3 && length > 0.0; d++)
    v[d] /= length;
}

/* ---- skin ---- */

typedef struct {
  int64_t at[3];
  int vert;
} WeldKey;

static int
compare_weld(const void *a, const void *b)
{
  const WeldKey *x = a, *y = b;
  for (int d = 0; d < 3; d++)
    if (x->at[d] != y->at[d])
      return x->at[d] < y->at[d] ? -1 : 1;
  return x->vert < y->vert ? -1 : x->vert > y->vert;
}

/* merged[v]: number of the skin vertex at the place of surface vertex v */
static int
weld(const PlaCutSurface *surface, const double *pos, const bool *used, int *merged)
{
  WeldKey *key = pla_array_new((size_t)surface->n_verts, sizeof *key);
  if (!key)
    return -1;
  int n = 0, count = 0;
  for (int v = 0; v < surface->n_verts; v++)
    if (used[v]) {
      for (int d = 0; d < 3; d++)
        key[n].at[d] = llrint(pos[3 * v + d] / WELD);
      key[n++].vert = v;
    }
  qsort(key, (size_t)n, sizeof *key, compare_weld);
  for (int i = 0; i < n; i++) {
    bool same = i > 0 && memcmp(key[i].at, key[i - 1].at, sizeof key[i].at) == 0;
    merged[key[i].vert] = same ? count - 1 : count++;
  }
  free(key);
  return count;
}

/* What lies @depth under rough skin should not be rougher than the skin: normals become the mean of
 * those around, a few times over. */
static bool
smooth_normals(PlaSkin *self)
{
  enum { PASSES = 4 };
  double *next = pla_array_new(3 * (size_t)self->n_verts, sizeof *next);
  if (!next)
    return false;
  for (int pass = 0; pass < PASSES; pass++) {
    memset(next, 0, 3 * (size_t)self->n_verts * sizeof *next);
    for (int t = 0; t < self->n_tris; t++) {
      const int *v = &self->tri[3 * t];
      for (int d = 0; d < 3; d++) {
        double sum = 0.0;
        for (int k = 0; k < 3; k++)
          sum += self->normal[3 * v[k] + d];
        for (int k = 0; k < 3; k++)
          next[3 * v[k] + d] += sum;
      }
    }
    for (int v = 0; v < self->n_verts; v++) {
      normalise(&next[3 * v]);
      memcpy(&self->normal[3 * v], &next[3 * v], 3 * sizeof *next);
    }
  }
  free(next);
  return true;
}

PlaStatus
pla_skin_init(PlaSkin *self, const PlaCutSurface *surface, const double *pos, PlaError *err)
{
  return pla_skin_init_within(self, surface, pos, NULL, err);
}

/* whether triangle @t is skin, and near the box where there is one */
static bool
is_wanted(const PlaCutSurface *surface, const double *pos, int t, const double (*box)[3])
{
  const int *v = &surface->tri[3 * t];
  bool in = surface->cut[t] < 0;
  for (int d = 0; box && in && d < 3; d++) {
    const double a = pos[3 * v[0] + d], b = pos[3 * v[1] + d], c = pos[3 * v[2] + d];
    in = (a >= box[0][d] || b >= box[0][d] || c >= box[0][d]) &&
         (a <= box[1][d] || b <= box[1][d] || c <= box[1][d]);
  }
  return in;
}

PlaStatus
pla_skin_init_within(PlaSkin *self, const PlaCutSurface *surface, const double *pos,
                     const double (*box)[3], PlaError *err)
{
  *self = (PlaSkin){ 0 };
  bool *used = pla_array_new0((size_t)surface->n_verts, sizeof *used);
  int *merged = pla_array_new((size_t)surface->n_verts, sizeof *merged);
  int n = 0;
  for (int t = 0; t < surface->n_tris; t++)
    n += is_wanted(surface, pos, t, box);
  self->tri = pla_array_new(3 * (size_t)n, sizeof *self->tri);
  self->source = pla_array_new((size_t)n, sizeof *self->source);
  bool ok = used && merged && self->tri && self->source;
  for (int t = 0; ok && t < surface->n_tris; t++)
    if (is_wanted(surface, pos, t, box)) {
      self->source[self->n_tris++] = t;
      for (int k = 0; k < 3; k++)
        used[surface->tri[3 * t + k]] = true;
    }
  self->n_verts = ok ? weld(surface, pos, used, merged) : -1;
  ok = self->n_verts >= 0;
  if (ok) {
    self->pos = pla_array_new(3 * (size_t)self->n_verts, sizeof *self->pos);
    self->normal = pla_array_new0(3 * (size_t)self->n_verts, sizeof *self->normal);
    ok = self->pos && self->normal;
  }
  for (int v = 0; ok && v < surface->n_verts; v++)
    if (used[v])
      memcpy(&self->pos[3 * merged[v]], &pos[3 * v], 3 * sizeof *pos);
  for (int t = 0; ok && t < self->n_tris; t++) {
    int *tri = &self->tri[3 * t];
    double e[3], f[3], normal[3];
    for (int k = 0; k < 3; k++)
      tri[k] = merged[surface->tri[3 * self->source[t] + k]];
    pla_vec3_sub(&self->pos[3 * tri[1]], &self->pos[3 * tri[0]], e);
    pla_vec3_sub(&self->pos[3 * tri[2]], &self->pos[3 * tri[0]], f);
    pla_vec3_cross(e, f, normal); /* twice the area: large triangles count more */
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++)
        self->normal[3 * tri[k] + d] += normal[d];
  }
  for (int v = 0; ok && v < self->n_verts; v++)
    normalise(&self->normal[3 * v]);
  ok = ok && smooth_normals(self);
  free(used);
  free(merged);
  PlaStatus st = ok ? PLA_OK : pla_fail_memory(err, "the skin");
  if (ok) {
    self->mesh = (PlaTriMesh){ self->n_verts, self->n_tris, self->pos, self->tri };
    st = pla_tri_tree_new(&self->mesh, &self->tree, err);
  }
  if (st != PLA_OK)
    pla_skin_clear(self);
  return st;
}

void
pla_skin_clear(PlaSkin *self)
{
  pla_tri_tree_free(self->tree);
  free(self->pos);
  free(self->normal);
  free(self->tri);
  free(self->source);
  *self = (PlaSkin){ 0 };
}

/* ---- paths ---- */

bool
pla_skin_snap(const PlaSkin *self, const double at[3], double snap, PlaSkinPoint *out)
{
  int tri;
  *out = (PlaSkinPoint){ .knot = false };
  if (!(pla_tri_tree_nearest(self->tree, at, snap, &tri, out->pos) <= snap))
    return false;
  /* vertex normals, weighted by the areas that the point cuts off */
  const int *v = &self->tri[3 * tri];
  double weight[3];
  for (int k = 0; k < 3; k++) {
    double e[3], f[3], n[3];
    pla_vec3_sub(&self->pos[3 * v[(k + 1) % 3]], out->pos, e);
    pla_vec3_sub(&self->pos[3 * v[(k + 2) % 3]], out->pos, f);
    pla_vec3_cross(e, f, n);
    weight[k] = pla_vec3_norm(n);
  }
  for (int d = 0; d < 3; d++) {
    out->normal[d] = 0.0;
    for (int k = 0; k < 3; k++)
      out->normal[d] += weight[k] * self->normal[3 * v[k] + d];
  }
  normalise(out->normal);
  return true;
}

bool
pla_skin_walk(const PlaSkin *self, const PlaSkinPoint *from, const double direction[3],
              double distance, PlaSkinPoint *out)
{
  const double stride = 0.001; /* m: skin is smooth on this scale */
  double way[3] = { direction[0], direction[1], direction[2] };
  *out = *from;
  for (double left = distance; left > 1e-9;) {
    /* the way ahead bends with the skin */
    const double h = fmin(stride, left), up = pla_vec3_dot(way, out->normal);
    double at[3], e[3];
    for (int d = 0; d < 3; d++)
      way[d] -= up * out->normal[d];
    normalise(way);
    for (int d = 0; d < 3; d++)
      at[d] = out->pos[d] + h * way[d];
    PlaSkinPoint next;
    if (!pla_skin_snap(self, at, 2.0 * stride, &next))
      return false;
    pla_vec3_sub(next.pos, out->pos, e);
    const double moved = pla_vec3_norm(e);
    if (moved < 0.2 * h) /* pressed against the rim of the skin */
      return false;
    left -= fmin(moved, left);
    *out = next;
  }
  return true;
}

static bool
path_add(PlaSkinPoint **path, int *n, int *capacity, const PlaSkinPoint *point)
{
  if (!pla_array_reserve(path, *n + 1, capacity, sizeof **path))
    return false;
  (*path)[(*n)++] = *point;
  return true;
}

PlaStatus
pla_skin_path(const PlaSkin *self, const double *path, int n, bool closed, double step, double snap,
              PlaSkinPoint **out, int *n_out, PlaError *err)
{
  int capacity = 0, count = 0;
  bool ok = true;
  *out = NULL;
  *n_out = 0;
  if (n < (closed ? 3 : 2))
    return pla_fail(err, PLA_ERR_USAGE, "a path needs at least %d points, and this one has %d",
                    closed ? 3 : 2, n);
  for (int i = 0; ok && i < n; i++) {
    PlaSkinPoint from, to;
    const double *next = &path[3 * ((i + 1) % n)];
    if (!pla_skin_snap(self, &path[3 * i], snap, &from)) {
      free(*out);
      *out = NULL;
      return pla_fail(
          err, PLA_ERR_USAGE,
          "point %d of the path (%.1f, %.1f, %.1f mm) is more than %.0f mm from the skin", i + 1,
          1e3 * path[3 * i], 1e3 * path[3 * i + 1], 1e3 * path[3 * i + 2], 1e3 * snap);
    }
    from.knot = true;
    ok = path_add(out, &count, &capacity, &from);
    if (!ok || (i + 1 == n && !closed) || !pla_skin_snap(self, next, snap, &to))
      continue; /* the next turn of the loop refuses it */
    double chord[3];
    pla_vec3_sub(to.pos, from.pos, chord);
    double length = pla_vec3_norm(chord);
    int parts = (int)ceil(length / step);
    for (int k = 1; ok && k < parts; k++) {
      PlaSkinPoint between;
      double at[3];
      for (int d = 0; d < 3; d++)
        at[d] = from.pos[d] + chord[d] * k / parts;
      if (pla_skin_snap(self, at, length, &between))
        ok = path_add(out, &count, &capacity, &between);
    }
  }
  if (!ok) {
    free(*out);
    *out = NULL;
    return pla_fail_memory(err, "the path");
  }
  PlaSkinPoint *p = *out;
  double along = 0.0;
  for (int i = 0; i < count; i++) {
    const PlaSkinPoint *before = closed ? &p[(i + count - 1) % count] : &p[i > 0 ? i - 1 : 0];
    const PlaSkinPoint *after = closed ? &p[(i + 1) % count] : &p[i + 1 < count ? i + 1 : i];
    double tangent[3], last[3];
    pla_vec3_sub(after->pos, before->pos, tangent);
    pla_vec3_cross(p[i].normal, tangent, p[i].left);
    normalise(p[i].left);
    if (i > 0) {
      pla_vec3_sub(p[i].pos, p[i - 1].pos, last);
      along += pla_vec3_norm(last);
    }
    p[i].along = along;
  }
  if (!(along > 0.0)) {
    free(*out);
    *out = NULL;
    return pla_fail(err, PLA_ERR_USAGE, "the path has no length");
  }
  *n_out = count;
  return PLA_OK;
}

/* ---- blades ---- */

void
pla_blade_clear(PlaBlade *self)
{
  free(self->pos);
  free(self->tri);
  *self = (PlaBlade){ 0 };
}

PlaTriMesh
pla_blade_get(const PlaBlade *self)
{
  return (PlaTriMesh){ self->n_verts, self->n_tris, self->pos, self->tri };
}

static bool
blade_reserve(PlaBlade *self, int n_verts, int n_tris)
{
  return pla_array_reserve(&self->pos, self->n_verts + n_verts, &self->cap_verts,
                           3 * sizeof *self->pos) &&
         pla_array_reserve(&self->tri, self->n_tris + n_tris, &self->cap_tris,
                           3 * sizeof *self->tri);
}

static void
blade_add_tri(PlaBlade *self, int a, int b, int c)
{
  int *t = &self->tri[3 * self->n_tris++];
  t[0] = a;
  t[1] = b;
  t[2] = c;
}

bool
pla_blade_add_triangle(PlaBlade *self, const double corner[9])
{
  const int first = self->n_verts;
  if (!blade_reserve(self, 3, 1))
    return false;
  memcpy(&self->pos[3 * first], corner, 9 * sizeof *corner);
  self->n_verts += 3;
  blade_add_tri(self, first, first + 1, first + 2);
  return true;
}

bool
pla_blade_add_curtain(PlaBlade *self, const PlaSkinPoint *path, int n, bool closed, double lift,
                      double depth, double bevel, double step)
{
  const int rows = 1 + (int)ceil((lift + depth) / step), first = self->n_verts;
  if (!blade_reserve(self, n * (rows + 1), 2 * n * rows))
    return false;
  for (int i = 0; i < n; i++)
    for (int r = 0; r <= rows; r++) {
      double down = -lift + (lift + depth) * r / rows;
      double *p = &self->pos[3 * self->n_verts++];
      for (int d = 0; d < 3; d++)
        p[d] =
            path[i].pos[d] - down * (cos(bevel) * path[i].normal[d] - sin(bevel) * path[i].left[d]);
    }
  for (int i = 0; i + !closed < n; i++)
    for (int r = 0; r < rows; r++) {
      int a = first + i * (rows + 1) + r, b = first + (i + 1) % n * (rows + 1) + r;
      blade_add_tri(self, a, b, b + 1);
      blade_add_tri(self, a, b + 1, a + 1);
    }
  return true;
}

bool
pla_blade_add_sheet(PlaBlade *self, const PlaSkin *skin, const double *seed, int n_seeds,
                    PlaSkinRegion inside, const void *data, double depth, int *n_tris)
{
  int *number = pla_array_new((size_t)skin->n_verts, sizeof *number);
  bool ok = number && blade_reserve(self, skin->n_verts, skin->n_tris);
  *n_tris = 0;
  if (ok) {
    enum { OUTSIDE = -3, UNSEEN = -2, REACHED = -1 };
    for (int v = 0; v < skin->n_verts; v++)
      number[v] = inside(&skin->pos[3 * v], &skin->normal[3 * v], data) ? UNSEEN : OUTSIDE;
    for (int i = 0; i < n_seeds; i++) {
      int first;
      pla_tri_tree_nearest(skin->tree, &seed[3 * i], INFINITY, &first, NULL);
      for (int k = 0; k < 3; k++)
        if (number[skin->tri[3 * first + k]] == UNSEEN)
          number[skin->tri[3 * first + k]] = REACHED;
    }
    /* spreads over the skin until nothing new is reached */
    for (bool more = true; more;) {
      more = false;
      for (int t = 0; t < skin->n_tris; t++) {
        const int *v = &skin->tri[3 * t];
        if (number[v[0]] != REACHED && number[v[1]] != REACHED && number[v[2]] != REACHED)
          continue;
        for (int k = 0; k < 3; k++)
          if (number[v[k]] == UNSEEN) {
            number[v[k]] = REACHED;
            more = true;
          }
      }
    }
    for (int t = 0; t < skin->n_tris; t++) {
      const int *v = &skin->tri[3 * t];
      if (number[v[0]] < REACHED || number[v[1]] < REACHED || number[v[2]] < REACHED)
        continue;
      for (int k = 0; k < 3; k++)
        if (number[v[k]] == REACHED) {
          number[v[k]] = self->n_verts;
          for (int d = 0; d < 3; d++)
            self->pos[3 * self->n_verts + d] =
                skin->pos[3 * v[k] + d] - depth * skin->normal[3 * v[k] + d];
          self->n_verts++;
        }
      blade_add_tri(self, number[v[0]], number[v[1]], number[v[2]]);
      ++*n_tris;
    }
  }
  free(number);
  return ok;
}

PlaStatus
pla_skin_draw(const PlaSkin *self, const double at[3], const double direction[3], const double *uv,
              int n, double snap, double *out, PlaError *err)
{
  PlaSkinPoint from, to;
  double left[3], ahead[3];
  if (!pla_skin_snap(self, at, snap, &from))
    return pla_fail(err, PLA_ERR_USAGE,
                    "the place (%.1f, %.1f, %.1f mm) is more than %.0f mm from the skin",
                    1e3 * at[0], 1e3 * at[1], 1e3 * at[2], 1e3 * snap);
  pla_vec3_cross(from.normal, direction, left);
  if (!(pla_vec3_norm(left) > 1e-6 * pla_vec3_norm(direction)))
    return pla_fail(err, PLA_ERR_USAGE, "the direction must lie along the skin, not across it");
  pla_vec3_cross(left, from.normal, ahead); /* as long as left: both of one length */
  for (int i = 0; i < n; i++) {
    const double distance = hypot(uv[2 * i], uv[2 * i + 1]);
    double way[3];
    for (int d = 0; d < 3; d++)
      way[d] = uv[2 * i] * ahead[d] + uv[2 * i + 1] * left[d];
    if (!pla_skin_walk(self, &from, way, distance, &to))
      return pla_fail(err, PLA_ERR_USAGE,
                      "the drawing does not fit: the skin ends within %.1f mm of (%.1f, %.1f, %.1f "
                      "mm)",
                      1e3 * distance, 1e3 * at[0], 1e3 * at[1], 1e3 * at[2]);
    memcpy(&out[3 * i], to.pos, sizeof to.pos);
  }
  return PLA_OK;
}

/* ---- regions of the skin ---- */

void
pla_skin_loop_clear(PlaSkinLoop *self)
{
  free(self->at);
  free(self->place);
}

bool
pla_skin_loop_init(PlaSkinLoop *self, const PlaSkinPoint *path, int n, double margin)
{
  double normal[3] = { 0 };
  *self = (PlaSkinLoop){ .n = n,
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

bool
pla_skin_in_loop(const double pos[3], const double normal[3], const void *data)
{
  const PlaSkinLoop *loop = data;
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
