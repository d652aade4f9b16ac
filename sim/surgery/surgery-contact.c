/* Contact of wound walls as penalty springs: energy 1/2 k A d^2 of the depth d of a point below
 * the facing wall, along that wall's normal. Both ends are barycentric points of tets. */
#include "sim/surgery/surgery-contact.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/tri-tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* pressure for each metre that walls overlap, Pa/m: a tenth of a millimetre holds 5 kPa, what
 * tissue of 15 kPa gives back when it is pressed together by a third */
#define WALL_STIFFNESS 5e7
/* cosines: how much walls must face each other, and how straight the way back must be */
#define FACING -0.6
#define STRAIGHT 0.9
/* how far behind a wall a point must have been at rest to belong to the tissue behind it, m */
#define STRIP 3e-4
/* a point that was not watched and is deeper than this calls for another round, m */
#define NEWS 1e-4

void
pla_surgery_contacts_clear(PlaSurgeryContacts *self)
{
  free(self->place);
  free(self->last);
  free(self->deep);
  free(self->rest);
  free(self->middle);
  free(self->rest_normal);
  free(self->tri);
  free(self->normal);
  free(self->vert_normal);
  free(self->area);
  free(self->each);
  free(self->touch);
  free(self->foot);
  free(self->spring);
  *self = (PlaSurgeryContacts){ 0 };
}

/* twice the area times the unit normal of triangle @t */
static void
area_normal(const PlaSurgeryContacts *self, int t, double out[3])
{
  const int *v = &self->tri[3 * t];
  double e[3], f[3];
  pla_vec3_sub(&self->place[3 * v[1]], &self->place[3 * v[0]], e);
  pla_vec3_sub(&self->place[3 * v[2]], &self->place[3 * v[0]], f);
  pla_vec3_cross(e, f, out);
}

static void
find_normals(PlaSurgeryContacts *self)
{
  memset(self->vert_normal, 0, 3 * (size_t)self->walls.n_verts * sizeof *self->vert_normal);
  for (int t = 0; t < self->walls.n_tris; t++) {
    double *normal = &self->normal[3 * t];
    area_normal(self, t, normal);
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++)
        self->vert_normal[3 * self->tri[3 * t + k] + d] += normal[d];
    const double length = pla_vec3_norm(normal);
    for (int d = 0; d < 3; d++)
      normal[d] = length > 0.0 ? normal[d] / length : 0.0;
  }
  for (int v = 0; v < self->walls.n_verts; v++) {
    const double length = pla_vec3_norm(&self->vert_normal[3 * v]);
    for (int d = 0; d < 3 && length > 0.0; d++)
      self->vert_normal[3 * v + d] /= length;
  }
}

/* A tet moves as one, so one point of the walls in it stands for all: the one nearest to their
 * middle, with the area of all. */
static bool
choose_points(PlaSurgeryContacts *self, int n_tets)
{
  const PlaCutSurface *s = self->surface;
  double *sum = pla_array_new0((size_t)n_tets, 4 * sizeof *sum); /* area, and times the place */
  int *best = pla_array_new((size_t)n_tets, sizeof *best);
  const bool ok = sum && best;
  for (int t = 0; ok && t < n_tets; t++)
    best[t] = -1;
  for (int v = 0; ok && v < s->n_verts; v++) {
    sum[4 * s->tet[v]] += self->area[v];
    for (int d = 0; d < 3; d++)
      sum[4 * s->tet[v] + 1 + d] += self->area[v] * self->rest[3 * v + d];
  }
  for (int v = 0; ok && v < s->n_verts; v++) {
    if (!(self->area[v] > 0.0))
      continue;
    double far[2] = { 0.0, 0.0 };
    for (int k = 0; k < 2; k++)
      for (int d = 0; d < 3; d++) {
        const int u = k ? best[s->tet[v]] : v;
        const double e =
            u < 0 ? INFINITY
                  : self->rest[3 * u + d] - sum[4 * s->tet[v] + 1 + d] / sum[4 * s->tet[v]];
        far[k] += e * e;
      }
    if (far[0] < far[1])
      best[s->tet[v]] = v;
  }
  for (int v = 0; ok && v < s->n_verts; v++)
    self->area[v] = best[s->tet[v]] == v ? sum[4 * s->tet[v]] : 0.0;
  free(sum);
  free(best);
  return ok;
}

/* Lips are brought together by threads, and what is within @lip of the skin follows them: points
 * there are left alone, else walls that were cut askew would hold a seam open between stitches. */
static bool
leave_edges(PlaSurgeryContacts *self, double lip)
{
  const PlaCutSurface *s = self->surface;
  unsigned char *on = pla_array_new0((size_t)s->n_verts, sizeof *on); /* bit 0: skin, 1: wall */
  int *rim = pla_array_new((size_t)s->n_verts, sizeof *rim), n_rim = 0;
  const bool ok = on && rim;
  for (int t = 0; ok && t < s->n_tris; t++)
    for (int k = 0; k < 3; k++)
      on[s->tri[3 * t + k]] |= s->cut[t] >= 0 ? 2 : 1;
  for (int v = 0; ok && v < s->n_verts; v++)
    if (on[v] == 3)
      rim[n_rim++] = v;
#pragma omp parallel for schedule(dynamic, 256)
  for (int v = 0; v < (ok ? s->n_verts : 0); v++)
    for (int i = 0; self->area[v] > 0.0 && i < n_rim; i++) {
      double e[3];
      pla_vec3_sub(&self->rest[3 * v], &self->rest[3 * rim[i]], e);
      if (pla_vec3_dot(e, e) < lip * lip)
        self->area[v] = 0.0;
    }
  free(on);
  free(rim);
  return ok;
}

PlaStatus
pla_surgery_contacts_init(PlaSurgeryContacts *self, PlaSurgery *body, PlaError *err)
{
  const PlaCutSurface *s;
  const double *pos;
  *self =
      (PlaSurgeryContacts){ .reach = 2.0 * body->cell, .margin = 0.3 * body->cell, .grown = 1.0 };
  PlaStatus st = pla_surgery_get_surface(body, &s, &pos, err);
  if (st != PLA_OK)
    return st;
  const size_t n = (size_t)s->n_verts;
  int n_tris = 0;
  for (int t = 0; t < s->n_tris; t++)
    n_tris += s->cut[t] >= 0;
  self->surface = s;
  self->place = pla_array_new(n, 3 * sizeof *self->place);
  self->last = pla_array_new(n, 3 * sizeof *self->last);
  self->deep = pla_array_new0(n, sizeof *self->deep);
  self->rest = pla_array_new(n, 3 * sizeof *self->rest);
  self->middle = pla_array_new((size_t)n_tris, 3 * sizeof *self->middle);
  self->rest_normal = pla_array_new((size_t)n_tris, 3 * sizeof *self->rest_normal);
  self->tri = pla_array_new((size_t)n_tris, 3 * sizeof *self->tri);
  self->normal = pla_array_new((size_t)n_tris, 3 * sizeof *self->normal);
  self->vert_normal = pla_array_new(n, 3 * sizeof *self->vert_normal);
  self->area = pla_array_new0(n, sizeof *self->area);
  self->each = pla_array_new0(n, sizeof *self->each);
  self->touch = pla_array_new(n, sizeof *self->touch);
  self->foot = pla_array_new(n, 3 * sizeof *self->foot);
  if (!self->place || !self->last || !self->deep || !self->tri || !self->normal ||
      !self->vert_normal || !self->area || !self->each || !self->rest || !self->middle ||
      !self->rest_normal || !self->touch || !self->foot) {
    pla_surgery_contacts_clear(self);
    return pla_fail_memory(err, "the walls of the wounds");
  }
  self->walls = (PlaTriMesh){ s->n_verts, 0, self->place, self->tri };
  for (int t = 0; t < s->n_tris; t++)
    if (s->cut[t] >= 0)
      memcpy(&self->tri[3 * self->walls.n_tris++], &s->tri[3 * t], 3 * sizeof *self->tri);
  pla_cut_surface_place(s, body->cut, pla_cut_mesh_get(body->cut).mesh.rest, self->place);
  for (int t = 0; t < n_tris; t++) {
    double normal[3];
    area_normal(self, t, normal);
    for (int k = 0; k < 3; k++)
      self->area[self->tri[3 * t + k]] += pla_vec3_norm(normal) / 6.0;
  }
  memcpy(self->rest, self->place, 3 * n * sizeof *self->rest);
  memcpy(self->each, self->area, n * sizeof *self->each);
  for (int t = 0; t < n_tris; t++)
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++)
        self->middle[3 * t + d] =
            (k ? self->middle[3 * t + d] : 0.0) + self->rest[3 * self->tri[3 * t + k] + d] / 3.0;
  find_normals(self);
  memcpy(self->rest_normal, self->normal, 3 * (size_t)n_tris * sizeof *self->normal);
  for (size_t v = 0; v < n; v++)
    self->touch[v] = -1;
  if (!choose_points(self, pla_cut_mesh_get(body->cut).mesh.n_tets) ||
      !leave_edges(self, body->cell)) {
    pla_surgery_contacts_clear(self);
    return pla_fail_memory(err, "the walls of the wounds");
  }
  return PLA_OK;
}

typedef struct {
  const PlaSurgeryContacts *contacts;
  int vert; /* that asks */
} Facing;

/* Walls that face the vertex and that it was not behind all along: the other side of a thin strip
 * of tissue between two cuts is as near now as it was at rest. */
static bool
is_facing(int tri, const void *data)
{
  const Facing *f = data;
  const PlaSurgeryContacts *c = f->contacts;
  if (pla_vec3_dot(&c->normal[3 * tri], &c->vert_normal[3 * f->vert]) >= FACING)
    return false;
  double at_rest[3], now[3];
  pla_vec3_sub(&c->rest[3 * f->vert], &c->middle[3 * tri], at_rest);
  if (-pla_vec3_dot(at_rest, &c->rest_normal[3 * tri]) < STRIP)
    return true;
  for (int d = 0; d < 3; d++) {
    now[d] = c->place[3 * f->vert + d];
    for (int k = 0; k < 3; k++)
      now[d] -= c->place[3 * c->tri[3 * tri + k] + d] / 3.0;
  }
  return pla_vec3_norm(at_rest) > 1.5 * (pla_vec3_norm(now) + 3.0 * STRIP);
}

/* the wall that the vertex has gone through or is just above, -1: none, and how deep it is in */
static int
find_touch(const PlaSurgeryContacts *self, const PlaTriTree *tree, int v, double foot[3],
           double *depth)
{
  const double *p = &self->place[3 * v];
  const Facing facing = { self, v };
  double e[3];
  int t = -1;
  const double far = pla_tri_tree_nearest_among(tree, p, self->reach, is_facing, &facing, &t, foot);
  if (!(far < self->reach))
    return -1;
  pla_vec3_sub(p, foot, e);
  *depth = -pla_vec3_dot(e, &self->normal[3 * t]);
  return *depth > -self->margin && fabs(*depth) >= STRAIGHT * far ? t : -1;
}

/* how far surface vertex @v has gone since the last look, m */
static double
went(const PlaSurgeryContacts *self, int v)
{
  double e[3];
  pla_vec3_sub(&self->place[3 * v], &self->last[3 * v], e);
  return pla_vec3_norm(e);
}

/* Whether @v can be that deep behind wall @t: no deeper than it was at the last look and both have
 * gone since. Else the wall is the far side of something between them. */
static bool
can_be_deep(const PlaSurgeryContacts *self, int v, int t, double depth)
{
  double wall = 0.0;
  for (int k = 0; k < 3; k++)
    wall = fmax(wall, went(self, self->tri[3 * t + k]));
  return depth < self->deep[v] + self->margin + went(self, v) + wall;
}

/* adds @part of what carries surface vertex @v */
static void
add_carriers(PlaSpring *spring, const PlaCutSurface *s, const int *tets, int v, double part)
{
  for (int c = 0; c < 4; c++) {
    const int vert = tets[4 * s->tet[v] + c];
    const double weight = part * s->weight[4 * v + c];
    int k = 0;
    while (k < spring->n_verts && spring->vert[k] != vert)
      k++;
    if (k == spring->n_verts && weight != 0.0) {
      spring->vert[spring->n_verts] = vert;
      spring->weight[spring->n_verts++] = 0.0;
    }
    if (weight != 0.0)
      spring->weight[k] += weight;
  }
}

/* parts of the foot at the triangle's corners */
static void
foot_parts(const PlaSurgeryContacts *self, int t, const double foot[3], double part[3])
{
  double whole[3], e[3], f[3], n[3];
  area_normal(self, t, whole);
  const double size = pla_vec3_dot(whole, whole);
  for (int k = 0; k < 3; k++) {
    pla_vec3_sub(&self->place[3 * self->tri[3 * t + (k + 1) % 3]], foot, e);
    pla_vec3_sub(&self->place[3 * self->tri[3 * t + (k + 2) % 3]], foot, f);
    pla_vec3_cross(e, f, n);
    part[k] = size > 0.0 ? pla_vec3_dot(n, whole) / size : 1.0 / 3.0;
  }
}

static bool
add_spring(PlaSurgeryContacts *self, const int *tets, int v)
{
  const int t = self->touch[v];
  double part[3];
  if (!pla_array_reserve(&self->spring, self->n + 1, &self->capacity, sizeof *self->spring))
    return false;
  PlaSpring *spring = &self->spring[self->n++];
  *spring = (PlaSpring){ 0 };
  foot_parts(self, t, &self->foot[3 * v], part);
  add_carriers(spring, self->surface, tets, v, 1.0);
  for (int k = 0; k < 3; k++)
    add_carriers(spring, self->surface, tets, self->tri[3 * t + k], -part[k]);
  pla_spring_set_stiffness(spring, &self->normal[3 * t], WALL_STIFFNESS * self->area[v], 0.0);
  memcpy(spring->push, &self->normal[3 * t], sizeof spring->push);
  return true;
}

/* Keeps vertex @v of a wall out of a ball: the wall gives way against its own normal until it is on
 * the ball, so that the two walls of a pocket go apart wherever between them the ball begins to
 * grow. */
static bool
add_ball(PlaSurgeryContacts *self, const int *tets, int v, const PlaSurgeryImplant *ball)
{
  const double radius = ball->settled + self->grown * (ball->radius - ball->settled);
  const double *p = &self->place[3 * v], *wall = &self->vert_normal[3 * v];
  double e[3], foot[3], out[3];
  pla_vec3_sub(p, ball->at, e);
  const double across = pla_vec3_dot(e, wall);
  const double reach2 = radius * radius - pla_vec3_dot(e, e) + across * across;
  if (!(reach2 > 0.0) || pla_vec3_norm(wall) < 0.5)
    return true;                            /* the wall's normal passes it by */
  const double way = across + sqrt(reach2); /* against the normal, to the ball's far side */
  if (way < -self->margin || way > 2.0 * radius)
    return true;
  if (!pla_array_reserve(&self->spring, self->n + 1, &self->capacity, sizeof *self->spring))
    return false;
  PlaSpring *spring = &self->spring[self->n++];
  *spring = (PlaSpring){ 0 };
  for (int d = 0; d < 3; d++) {
    foot[d] = p[d] - way * wall[d];
    out[d] = (foot[d] - ball->at[d]) / radius;
  }
  pla_vec3_sub(foot, p, e);
  const double depth = pla_vec3_dot(e, out);
  add_carriers(spring, self->surface, tets, v, 1.0);
  memcpy(spring->offset, foot, sizeof foot);
  pla_spring_set_stiffness(spring, out, WALL_STIFFNESS * self->each[v], 0.0);
  memcpy(spring->push, out, sizeof out);
  self->n_pushed += depth > 0.0;
  self->deepest = fmax(self->deepest, depth);
  self->implants += WALL_STIFFNESS * self->each[v] * fmax(depth, 0.0);
  return true;
}

PlaStatus
pla_surgery_contacts_update(PlaSurgeryContacts *self, const PlaSurgery *body, const double *pos,
                            PlaError *err)
{
  const int n_verts = self->walls.n_verts, *tets = pla_cut_mesh_get(body->cut).mesh.tet;
  PlaTriTree *tree = NULL;
  self->n_new = self->n_pushed = 0;
  self->deepest = self->push = self->implants = 0.0;
  if (self->walls.n_tris == 0)
    return PLA_OK;
  double *depth = pla_array_new0((size_t)n_verts, sizeof *depth);
  self->n = 0;
  memcpy(self->last, self->place, 3 * (size_t)n_verts * sizeof *self->last);
  pla_cut_surface_place(self->surface, body->cut, pos, self->place);
  if (!self->looked) /* what they have gone before is not known */
    memcpy(self->last, self->place, 3 * (size_t)n_verts * sizeof *self->last);
  self->looked = true;
  find_normals(self);
  int *before = pla_array_dup(self->touch, (size_t)n_verts, sizeof *before);
  PlaStatus st = depth && before ? pla_tri_tree_new(&self->walls, &tree, err)
                                 : pla_fail_memory(err, "the walls of the wounds");
  if (st == PLA_OK) {
#pragma omp parallel for schedule(dynamic, 256)
    for (int v = 0; v < n_verts; v++)
      self->touch[v] =
          self->area[v] > 0.0 ? find_touch(self, tree, v, &self->foot[3 * v], &depth[v]) : -1;
    for (int v = 0; st == PLA_OK && v < n_verts; v++) {
      if (self->touch[v] >= 0 && !can_be_deep(self, v, self->touch[v], depth[v]))
        self->touch[v] = -1;
      self->deep[v] = self->touch[v] >= 0 ? fmax(depth[v], 0.0) : 0.0;
      if (self->touch[v] < 0)
        continue;
      self->n_new += before[v] < 0 && depth[v] > NEWS;
      self->n_pushed += depth[v] > 0.0;
      self->deepest = fmax(self->deepest, depth[v]);
      self->push += WALL_STIFFNESS * self->area[v] * fmax(depth[v], 0.0);
      if (!add_spring(self, tets, v))
        st = pla_fail_memory(err, "the walls of the wounds");
    }
  }
  for (int i = 0; i < body->n_implants; i++)
    for (int v = 0; st == PLA_OK && v < n_verts; v++)
      if (self->each[v] > 0.0 && !add_ball(self, tets, v, &body->implant[i]))
        st = pla_fail_memory(err, "the implants");
  pla_tri_tree_free(tree);
  free(depth);
  free(before);
  return st;
}
