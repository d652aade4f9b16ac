/* Contacts: their laws, where they are, how far a step may go, friction.
 *
 * Friction follows Coulomb with the pushes of the last solve (lagged), smoothed below a small
 * sliding distance as in incremental potential contact (Li and others 2020).  Steps end before a
 * point passes through a triangle by additive conservative advancement (Li, Kaufman and Jiang
 * 2021). */
#include "sim/contact/contact.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/contact/contact-private.h"
#include "sim/fem/model-data.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_A_BLOCK = 256 };

PlaContactOptions
pla_contact_options_default(void)
{
  return (PlaContactOptions){ .pieces = true, .self = true };
}

/* ---- laws ---- */

double
pla_contact_law(const PlaContact *contact, double gap, double *push, double *stiffness)
{
  const double k = contact->stiffness, depth = contact->thickness - gap;
  double energy = 0.0, f = 0.0, s = 0.0;
  if (contact->reach > 0.0) {
    /* a link pulls both ways and fades out: E = k L^2/6 (1 - (1 - (depth/L)^2)^3) */
    double y = depth / contact->reach, rest = 1.0 - y * y,
           size = k * contact->reach * contact->reach / 6.0;
    if (rest > 0.0) {
      energy = size * (1.0 - rest * rest * rest);
      f = k * depth * rest * rest;
      s = k * rest * rest;
    } else {
      energy = size;
    }
  } else if (depth > 0.0) {
    energy = 0.5 * k * depth * depth;
    f = k * depth;
    s = k;
  }
  if (push)
    *push = f;
  if (stiffness)
    *stiffness = s;
  return energy;
}

double
pla_contact_gap(const PlaContact *contact, const double *pos, int stride, int place,
                const double dx[3], double normal[3])
{
  double r[3] = { -contact->anchor[0], -contact->anchor[1], -contact->anchor[2] };
  for (int a = 0; a < contact->n_verts; a++)
    for (size_t d = 0; d < 3; d++)
      r[d] += contact->weight[a] * pos[(size_t)stride * (size_t)contact->vert[a] + d];
  for (int d = 0; d < 3 && place >= 0; d++)
    r[d] += contact->weight[place] * dx[d];
  if (contact->round) {
    double along = pla_vec3_dot(r, contact->along);
    for (int d = 0; d < 3; d++)
      r[d] -= along * contact->along[d];
    double length = pla_vec3_norm(r);
    if (length > 0.0) {
      for (int d = 0; d < 3; d++)
        normal[d] = r[d] / length;
      return length;
    }
  }
  memcpy(normal, contact->normal, sizeof contact->normal);
  return pla_vec3_dot(contact->normal, r);
}

double
pla_friction_law(const PlaFriction *friction, const double *pos, int stride, double force[3],
                 double stiffness[9])
{
  double u[3], along = 0.0;
  for (int d = 0; d < 3; d++) {
    u[d] = -friction->origin[d];
    for (int a = 0; a < friction->n_verts; a++)
      u[d] += friction->weight[a] * pos[(size_t)stride * (size_t)friction->vert[a] + (size_t)d];
    along += u[d] * friction->normal[d];
  }
  for (int d = 0; d < 3; d++)
    u[d] -= along * friction->normal[d];
  const double length = pla_vec3_norm(u), y = length / friction->slip, n = friction->limit;
  const bool sticks = y < 1.0;
  /* f1 / |u|, and the slope of f1 */
  double secant = sticks ? (2.0 - y) / friction->slip : 1.0 / length;
  double slope = sticks ? 2.0 * (1.0 - y) / friction->slip : 0.0;
  for (int i = 0; i < 3; i++) {
    force[i] = -n * secant * u[i];
    for (int j = 0; j < 3; j++) {
      double tangent = (i == j) - friction->normal[i] * friction->normal[j];
      double radial = length > 0.0 ? u[i] * u[j] / (length * length) : 0.0;
      stiffness[3 * i + j] = n * (secant * (tangent - radial) + slope * radial);
      if (length == 0.0)
        stiffness[3 * i + j] = n * secant * tangent;
    }
  }
  return n * friction->slip * (sticks ? y * y - y * y * y / 3.0 : y - 1.0 / 3.0);
}

/* ---- making and freeing ---- */

static void
point_at(const PlaSurfacePoint *point, const double *pos, double x[3])
{
  for (size_t d = 0; d < 3; d++) {
    x[d] = 0.0;
    for (int a = 0; a < point->n_verts; a++)
      x[d] += pos[3 * (size_t)point->vert[a] + d];
    x[d] /= point->n_verts;
  }
}

/* normals of triangles, and of vertices by the mean of those around, weighted by area */
static void
update_normals(PlaContactSet *self)
{
  memset(self->vert_normal, 0, 3 * (size_t)self->model->n_verts * sizeof *self->vert_normal);
  for (size_t t = 0; t < (size_t)self->n_tris; t++) {
    const int *v = self->tri + 3 * t;
    double e1[3], e2[3], *n = self->tri_normal + 3 * t;
    pla_vec3_sub(self->pos + 3 * (size_t)v[1], self->pos + 3 * (size_t)v[0], e1);
    pla_vec3_sub(self->pos + 3 * (size_t)v[2], self->pos + 3 * (size_t)v[0], e2);
    pla_vec3_cross(e1, e2, n);
    double length = pla_vec3_norm(n);
    for (size_t d = 0; d < 3; d++) {
      for (int a = 0; a < 3; a++)
        self->vert_normal[3 * (size_t)v[a] + d] += n[d];
      n[d] /= length > 0.0 ? length : 1.0;
    }
  }
}

/* the outward direction at a point, from its vertices */
static void
point_normal(const PlaContactSet *self, const PlaSurfacePoint *point, double n[3])
{
  for (size_t d = 0; d < 3; d++) {
    n[d] = 0.0;
    for (int a = 0; a < point->n_verts; a++)
      n[d] += self->vert_normal[3 * (size_t)point->vert[a] + d];
  }
  double length = pla_vec3_norm(n);
  for (int d = 0; d < 3; d++)
    n[d] /= length > 0.0 ? length : 1.0;
}

/* Parts of a piece that are near each other at rest, such as lips, may come nearer before they
 * push.  One number for each point: one that went with the place before it would pull along the
 * surface. */
static double
own_thickness(const PlaContactSet *self, const PlaSurfacePoint *point, const double x[3])
{
  const PlaSurfacePiece *piece = &self->piece[point->piece];
  const double most = self->options.thickness;
  PlaFeature near[PLA_MOST_FEATURES];
  double nearest = 2.0 * most;
  const int n = pla_features_near(&piece->features, piece->tree, self->pos, x, nearest,
                                  point->n_verts, point->vert, near);
  for (int k = 0; k < n; k++)
    nearest = fmin(nearest, near[k].distance);
  return 0.5 * nearest;
}

/* what touches at rest must not push at rest; what is linked remembers its distance */
static void
measure_rest(PlaContactSet *self)
{
  const double reach = fmax(self->options.thickness, self->options.link_radius);
#pragma omp parallel for schedule(static)
  for (int p = 0; p < self->n_points; p++) {
    PlaSurfacePoint *point = &self->point[p];
    PlaFeature place;
    double x[3], n[3], nearest = INFINITY;
    point_at(point, self->model->rest, x);
    for (int b = 0; b < self->n_pieces && self->n_pieces > 1; b++) {
      if (b == point->piece)
        continue;
      const PlaSurfacePiece *piece = &self->piece[b];
      double d = pla_features_distance(&piece->features, piece->tree, self->pos, x, reach, &place);
      /* linked if it is right over (or under) the other piece */
      if (d < nearest && self->options.link_radius > 0.0 && fabs(d) <= self->options.link_radius &&
          pla_vec3_dot(place.direction,
                       self->tri_normal + 3 * (size_t)(piece->first_tri + place.tri)) > 0.9999) {
        point->link_piece = b;
        point->link_rest = d;
        point->link_stiffness =
            self->options.link_stiffness > 0.0
                ? self->options.link_stiffness * point->area
                : 0.5 * point->stiffness * self->options.thickness / self->options.link_radius;
      }
      nearest = fmin(nearest, d);
    }
    /* no thicker than the gap at rest, so that nothing pushes at rest */
    point->thickness = fmin(self->options.thickness, nearest);
    point->own_thickness = self->options.self ? own_thickness(self, point, x) : 0.0;
    /* the same for each collider */
    for (int c = 0; c < self->n_colliders; c++) {
      size_t at = (size_t)p * (size_t)self->n_colliders + (size_t)c;
      const bool settled = self->options.settled;
      double d = pla_collider_distance(self->collider[c], x, self->options.thickness, settled, n);
      self->collider_thickness[at] = fmin(self->options.thickness, settled ? d : fmax(d, 0.0));
      self->deep[at] = !settled || d < 0.0;
    }
  }
}

PlaStatus
pla_contact_set_new(const PlaFemModel *model, PlaCollider *const *colliders, const double *friction,
                    int n_colliders, const PlaContactOptions *options, PlaContactSet **out,
                    PlaError *err)
{
  *out = NULL;
  PlaContactSet *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the contacts");
  self->model = model;
  self->options = *options;
  self->n_colliders = n_colliders;
  /* default thickness: a thousandth of the diagonal; default slip: a tenth of that */
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  for (int v = 0; v < model->n_verts; v++)
    for (int d = 0; d < 3; d++) {
      lo[d] = fmin(lo[d], model->rest[3 * (size_t)v + (size_t)d]);
      hi[d] = fmax(hi[d], model->rest[3 * (size_t)v + (size_t)d]);
    }
  pla_vec3_sub(hi, lo, hi);
  if (!(self->options.thickness > 0.0))
    self->options.thickness = 1e-3 * pla_vec3_norm(hi);
  if (!(self->options.slip > 0.0))
    self->options.slip = 0.1 * self->options.thickness;
  /* points on the surface, and their state for each collider */
  PlaStatus st = pla_contact_surface_init(self, err);
  if (st == PLA_OK) {
    const size_t pairs = (size_t)self->n_points * (size_t)n_colliders;
    self->collider_thickness = pla_array_new(pairs, sizeof(double));
    self->deep = pla_array_new(pairs, 1);
    self->collider_friction = pla_array_new0((size_t)n_colliders, sizeof(double));
    self->before = pla_array_new((size_t)n_colliders, 12 * sizeof(double));
    self->collider = pla_array_new((size_t)n_colliders, sizeof(PlaCollider *));
    if (!self->collider_thickness || !self->deep || !self->collider_friction || !self->before ||
        !self->collider)
      st = pla_fail_memory(err, "the contacts");
  }
  if (st == PLA_OK) {
    if (n_colliders > 0)
      memcpy(self->collider, colliders, (size_t)n_colliders * sizeof(PlaCollider *));
    if (friction && n_colliders > 0)
      memcpy(self->collider_friction, friction, (size_t)n_colliders * sizeof *friction);
    /* thicknesses at rest */
    update_normals(self);
    measure_rest(self);
    st = pla_contact_set_begin_step(self, model->rest, NULL, err);
  }
  if (st == PLA_OK)
    *out = self;
  else
    pla_contact_set_free(self);
  return st;
}

void
pla_contact_set_free(PlaContactSet *self)
{
  if (!self)
    return;
  pla_contact_surface_clear(self);
  free(self->collider);
  free(self->collider_thickness);
  free(self->deep);
  free(self->collider_friction);
  free(self->before);
  free(self->contacts.item);
  free(self->links.item);
  free(self->friction);
  free(self);
}

double
pla_contact_set_thickness(const PlaContactSet *self)
{
  return self->options.thickness;
}

double
pla_contact_set_spacing(const PlaContactSet *self)
{
  return 0.5 * self->inside_reach;
}

void
pla_contact_set_mark_surface(const PlaContactSet *self, unsigned char *on_surface)
{
  memset(on_surface, 0, (size_t)self->model->n_verts);
  for (int i = 0; i < 3 * self->n_tris; i++)
    on_surface[self->tri[i]] = 1;
}

/* ---- finding ---- */

static PlaContact *
list_add(PlaContactList *list)
{
  if (list->n == list->capacity) {
    int capacity = 2 * list->capacity + 16;
    if (!pla_array_resize((void **)&list->item, (size_t)capacity, sizeof *list->item)) {
      list->short_of_memory = true;
      return NULL;
    }
    list->capacity = capacity;
  }
  return &list->item[list->n++];
}

/* the linear contact of @point, which is at @x, with a place of an obstacle; a feature that counts
 * otherwise than once is so much stiffer */
static PlaContact *
add_contact(PlaContactList *list, const PlaSurfacePoint *point, int id, const double x[3],
            const PlaFeature *feature)
{
  PlaContact *contact = list_add(list);
  if (!contact)
    return NULL;
  *contact = (PlaContact){ .n_verts = point->n_verts,
                           .n_own = point->n_verts,
                           .stiffness = feature->count * point->stiffness,
                           .gap = feature->distance,
                           .point = id };
  for (int a = 0; a < point->n_verts; a++) {
    contact->vert[a] = point->vert[a];
    contact->weight[a] = 1.0 / point->n_verts;
  }
  memcpy(contact->normal, feature->direction, sizeof contact->normal);
  memcpy(contact->along, feature->along, sizeof contact->along);
  /* a plane has no vertices */
  contact->round = feature->distance > 0.0 && (feature->n_verts == 1 || feature->n_verts == 2);
  for (int d = 0; d < 3; d++)
    contact->anchor[d] = x[d] - feature->distance * feature->direction[d];
  return contact;
}

/* the same with a place of the body: the gap is the height over it as it moves */
static PlaContact *
add_pair(PlaContactList *list, const PlaContactSet *self, const PlaSurfacePoint *point, int id,
         const double x[3], const PlaFeature *feature, int piece)
{
  PlaContact *contact = add_contact(list, point, id, x, feature);
  if (!contact)
    return NULL;
  for (int a = 0; a < feature->n_verts; a++) {
    contact->vert[contact->n_verts] = feature->vert[a];
    contact->weight[contact->n_verts++] = -feature->weight[a];
  }
  memset(contact->anchor, 0, sizeof contact->anchor);
  contact->obstacle = self->n_colliders + piece;
  return contact;
}

static void
find_for_point(PlaContactSet *self, int p, double margin, PlaContactList *list)
{
  const PlaSurfacePoint *point = &self->point[p];
  PlaFeature near[PLA_MOST_FEATURES];
  double x[3];
  point_at(point, self->pos, x);
  /* rigid obstacles */
  for (int c = 0; c < self->n_colliders; c++) {
    const size_t at = (size_t)p * (size_t)self->n_colliders + (size_t)c;
    const double thickness = self->collider_thickness[at];
    double d;
    int n =
        pla_collider_near(self->collider[c], x, 2.0 * self->options.thickness,
                          thickness + margin + self->options.thickness, self->deep[at], &d, near);
    self->deep[at] = d < 0.0;
    for (int k = 0; k < n; k++) {
      PlaContact *contact =
          near[k].distance < thickness + margin ? add_contact(list, point, p, x, &near[k]) : NULL;
      if (contact) {
        contact->thickness = thickness;
        contact->obstacle = c;
      }
    }
  }
  /* other pieces, and the own one */
  for (int b = 0; b < self->n_pieces; b++) {
    const bool own = b == point->piece;
    double normal[3];
    if (own ? !self->options.self : !self->options.pieces)
      continue;
    if (own)
      point_normal(self, point, normal);
    int n = pla_contact_piece_near(self, b, point, x, own ? normal : NULL,
                                   self->options.thickness + margin, near);
    for (int k = 0; k < n; k++) {
      double thickness = own ? point->own_thickness : point->thickness;
      PlaContact *contact = near[k].distance < thickness + margin
                                ? add_pair(list, self, point, p, x, &near[k], b)
                                : NULL;
      if (contact)
        contact->thickness = thickness;
    }
  }
}

/* where fascia holds a point now: at its height over the nearest place of the other piece, along
 * the normal there alone, free to slide */
static void
find_link(PlaContactSet *self, int p, PlaContactList *list)
{
  const PlaSurfacePoint *point = &self->point[p];
  double x[3];
  PlaFeature nearest;
  if (point->link_piece < 0)
    return;
  const PlaSurfacePiece *piece = &self->piece[point->link_piece];
  point_at(point, self->pos, x);
  double d = pla_features_distance(&piece->features, piece->tree, self->pos, x,
                                   2.0 * self->options.link_radius, &nearest);
  if (d == INFINITY)
    return;
  const double *normal = self->tri_normal + 3 * (size_t)(piece->first_tri + nearest.tri);
  /* past the rim there is nothing to slide along */
  if (fabs(pla_vec3_dot(nearest.direction, normal)) < 0.7)
    return;
  nearest.distance = d * pla_vec3_dot(nearest.direction, normal);
  memcpy(nearest.direction, normal, sizeof nearest.direction);
  PlaContact *link = add_pair(list, self, point, p, x, &nearest, point->link_piece);
  if (link) {
    link->thickness = point->link_rest;
    link->stiffness = point->link_stiffness;
    link->reach = self->options.link_radius;
    link->round = false;
  }
}

/* all contacts, or all links, in the order of the points whoever found them */
static PlaStatus
find_all(PlaContactSet *self, bool links, double margin, PlaContactList *list, PlaError *err)
{
  const int n_blocks = (self->n_points + POINTS_A_BLOCK - 1) / POINTS_A_BLOCK;
  /* one list for each fixed block of points, appended in order: independent of the threads */
  PlaContactList *block = pla_array_new0((size_t)n_blocks, sizeof *block);
  if (!block)
    return pla_fail_memory(err, "the contacts");
#pragma omp parallel for schedule(dynamic)
  for (int k = 0; k < n_blocks; k++) {
    int end = (k + 1) * POINTS_A_BLOCK < self->n_points ? (k + 1) * POINTS_A_BLOCK : self->n_points;
    for (int p = k * POINTS_A_BLOCK; p < end; p++)
      if (links)
        find_link(self, p, &block[k]);
      else
        find_for_point(self, p, margin, &block[k]);
  }
  PlaStatus st = PLA_OK;
  for (int k = 0; k < n_blocks; k++) {
    for (int i = 0; st == PLA_OK && i < block[k].n; i++) {
      PlaContact *contact = list_add(list);
      if (contact)
        *contact = block[k].item[i];
      else
        st = pla_fail_memory(err, "the contacts");
    }
    if (block[k].short_of_memory)
      st = pla_fail_memory(err, "the contacts");
    free(block[k].item);
  }
  free(block);
  return st;
}

/* the trees and normals of the surface at @pos */
static void
follow(PlaContactSet *self, const double *pos)
{
  memcpy(self->pos, pos, 3 * (size_t)self->model->n_verts * sizeof *pos);
  if (!self->options.self && self->n_pieces < 2)
    return;
  update_normals(self);
  for (int b = 0; b < self->n_pieces; b++)
    pla_tri_tree_refit(self->piece[b].tree, NULL);
}

PlaStatus
pla_contact_set_update(PlaContactSet *self, const double *pos, double margin, PlaError *err)
{
  follow(self, pos);
  self->contacts.n = 0;
  PlaStatus st = find_all(self, false, margin, &self->contacts, err);
  for (int k = 0; st == PLA_OK && k < self->links.n; k++) {
    PlaContact *link = list_add(&self->contacts);
    if (link)
      *link = self->links.item[k];
    else
      st = pla_fail_memory(err, "the contacts");
  }
  return st;
}

int
pla_contact_set_get(const PlaContactSet *self, const PlaContact **contacts)
{
  *contacts = self->contacts.item;
  return self->contacts.n;
}

/* ---- how far a step may go ---- */

/* largest t at which a point and a triangle, both in motion, are still a tenth of their distance
 * apart */
static double
advance(double x[4][3], double dx[4][3], double nothing)
{
  enum { MOST_STEPS = 500 };
  const double rest = 0.1;
  /* relative motion: the mean of all four points does not change distances */
  double mean[3], u[4][3], fastest = 0.0, t = 0.0, at[3];
  for (int d = 0; d < 3; d++)
    mean[d] = 0.25 * (dx[0][d] + dx[1][d] + dx[2][d] + dx[3][d]);
  for (int a = 0; a < 4; a++)
    pla_vec3_sub(dx[a], mean, u[a]);
  for (int a = 1; a < 4; a++)
    fastest = fmax(fastest, pla_vec3_norm(u[a]));
  fastest += pla_vec3_norm(u[0]);
  /* the gap may shrink to a tenth of what it is */
  double dist = sqrt(pla_triangle_nearest(x[1], x[2], x[3], x[0], at));
  const double stop = rest * dist;
  /* what touches already is held apart by its pressure */
  if (fastest <= (1.0 - rest) * dist || dist < nothing)
    return 1.0;
  /* conservative advancement: nothing can meet within 0.9 (distance - half the stop) / speed */
  for (int step = 0; step < MOST_STEPS; step++) {
    double next = t + 0.9 * (dist - 0.5 * stop) / fastest, y[4][3];
    if (next >= 1.0)
      return 1.0;
    for (int a = 0; a < 4; a++)
      for (int d = 0; d < 3; d++)
        y[a][d] = x[a][d] + next * u[a][d];
    dist = sqrt(pla_triangle_nearest(y[1], y[2], y[3], y[0], at));
    if (dist < stop)
      return t;
    t = next;
  }
  return t;
}

typedef struct {
  const PlaContactSet *set;
  const PlaSurfacePoint *point;
  int first_tri;
  const double *pos, *end;
  double x[3], dx[3], limit;
} Sweep;

static void
sweep_triangle(int tri, void *data)
{
  Sweep *self = data;
  const int *v = self->set->tri + 3 * (size_t)(self->first_tri + tri);
  double x[4][3], dx[4][3];
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < self->point->n_verts; b++)
      if (v[a] == self->point->vert[b])
        return;
  for (size_t d = 0; d < 3; d++) {
    x[0][d] = self->x[d];
    dx[0][d] = self->limit * self->dx[d];
    for (int a = 0; a < 3; a++) {
      size_t i = 3 * (size_t)v[a] + d;
      x[a + 1][d] = self->pos[i];
      dx[a + 1][d] = self->limit * (self->end[i] - self->pos[i]);
    }
  }
  /* from behind, a point may always leave */
  double e1[3], e2[3], n[3], r[3];
  pla_vec3_sub(x[2], x[1], e1);
  pla_vec3_sub(x[3], x[1], e2);
  pla_vec3_cross(e1, e2, n);
  pla_vec3_sub(x[0], x[1], r);
  if (pla_vec3_dot(r, n) > 0.0)
    self->limit *= advance(x, dx, 0.05 * self->set->options.thickness);
}

/* the limit of one point */
static double
limit_point(const PlaContactSet *self, int p, const double *pos, const double *end)
{
  const PlaSurfacePoint *point = &self->point[p];
  Sweep sweep = { .set = self, .point = point, .pos = pos, .end = end, .limit = 1.0 };
  double lo[3], hi[3], x[3];
  point_at(point, pos, sweep.x);
  point_at(point, end, x);
  pla_vec3_sub(x, sweep.x, sweep.dx);
  for (int c = 0; c < self->n_colliders; c++)
    sweep.limit = fmin(sweep.limit, pla_collider_trace(self->collider[c], sweep.x, sweep.dx,
                                                       self->options.thickness));
  for (int d = 0; d < 3; d++) {
    lo[d] = fmin(sweep.x[d], x[d]);
    hi[d] = fmax(sweep.x[d], x[d]);
  }
  for (int b = 0; b < self->n_pieces; b++) {
    if (b == point->piece ? !self->options.self : !self->options.pieces)
      continue;
    sweep.first_tri = self->piece[b].first_tri;
    pla_tri_tree_visit(self->piece[b].tree, lo, hi, sweep_triangle, &sweep);
  }
  return sweep.limit;
}

double
pla_contact_set_limit(PlaContactSet *self, const double *pos, const double *end)
{
  double least = 1.0;
  memcpy(self->pos, pos, 3 * (size_t)self->model->n_verts * sizeof *pos);
  for (int b = 0; b < self->n_pieces && (self->options.self || self->n_pieces > 1); b++)
    pla_tri_tree_refit(self->piece[b].tree, end);
#pragma omp parallel for schedule(dynamic, 64) reduction(min : least)
  for (int p = 0; p < self->n_points; p++)
    least = fmin(least, limit_point(self, p, pos, end));
  return least;
}

/* ---- friction ---- */

PlaStatus
pla_contact_set_begin_step(PlaContactSet *self, const double *pos, const double *before,
                           PlaError *err)
{
  memcpy(self->start, pos, 3 * (size_t)self->model->n_verts * sizeof *pos);
  for (size_t c = 0; c < (size_t)self->n_colliders; c++)
    if (before)
      memcpy(self->before + 12 * c, before + 12 * c, 12 * sizeof *before);
    else
      pla_collider_get_pose(self->collider[c], self->before + 12 * c, self->before + 12 * c + 9);
  self->n_friction = 0;
  self->links.n = 0;
  if (!(self->options.link_radius > 0.0))
    return PLA_OK;
  follow(self, pos);
  return find_all(self, true, 0.0, &self->links, err);
}

PlaStatus
pla_contact_set_hold(PlaContactSet *self, PlaError *err)
{
  const PlaContactList *list = &self->contacts;
  bool any = self->options.friction > 0.0;
  self->n_friction = 0;
  /* nothing to do without friction */
  for (int c = 0; c < self->n_colliders; c++)
    any |= self->collider_friction[c] > 0.0;
  if (!any)
    return PLA_OK;
  free(self->friction);
  self->friction = pla_array_new((size_t)list->n, sizeof *self->friction);
  if (!self->friction)
    return pla_fail_memory(err, "friction");
  for (int k = 0; k < list->n; k++) {
    /* limit mu times the normal force */
    const PlaContact *contact = &list->item[k];
    const bool rigid = contact->obstacle < self->n_colliders;
    double push, x[3], normal[3];
    double mu = rigid ? self->collider_friction[contact->obstacle] : self->options.friction;
    double gap = pla_contact_gap(contact, self->pos, 3, -1, NULL, normal);
    pla_contact_law(contact, gap, &push, NULL);
    if (contact->reach > 0.0 || !(mu * push > 0.0))
      continue;
    PlaFriction *out = &self->friction[self->n_friction++];
    *out = (PlaFriction){ .n_verts = contact->n_verts,
                          .limit = mu * push,
                          .slip = self->options.slip };
    memcpy(out->vert, contact->vert, sizeof out->vert);
    memcpy(out->weight, contact->weight, sizeof out->weight);
    memcpy(out->normal, normal, sizeof out->normal);
    /* sliding is measured from the positions at the start of the step */
    for (int a = 0; a < contact->n_verts; a++)
      for (size_t d = 0; d < 3; d++)
        out->origin[d] += contact->weight[a] * self->start[3 * (size_t)contact->vert[a] + d];
    if (!rigid)
      continue;
    /* where the touched place of the obstacle has gone since the start */
    point_at(&self->point[contact->point], self->pos, x);
    for (int d = 0; d < 3; d++)
      x[d] -= gap * normal[d];
    const double *pose = self->before + 12 * (size_t)contact->obstacle;
    double old[3];
    pla_collider_carry(self->collider[contact->obstacle], x, pose, pose + 9, old);
    for (int d = 0; d < 3; d++)
      out->origin[d] += x[d] - old[d];
  }
  return PLA_OK;
}

int
pla_contact_set_get_friction(const PlaContactSet *self, const PlaFriction **friction)
{
  *friction = self->friction;
  return self->n_friction;
}

/* ---- sums ---- */

double
pla_contact_set_energy(const PlaContactSet *self, const double *pos)
{
  double energy = 0.0;
  for (int k = 0; k < self->contacts.n; k++) {
    const PlaContact *contact = &self->contacts.item[k];
    double normal[3], gap = pla_contact_gap(contact, pos, 3, -1, NULL, normal);
    energy += pla_contact_law(contact, gap, NULL, NULL);
  }
  for (int k = 0; k < self->n_friction; k++) {
    double force[3], stiffness[9];
    energy += pla_friction_law(&self->friction[k], pos, 3, force, stiffness);
  }
  return energy;
}

void
pla_contact_set_add_forces(const PlaContactSet *self, const double *pos, double *force)
{
  for (int k = 0; k < self->contacts.n; k++) {
    const PlaContact *contact = &self->contacts.item[k];
    double push, normal[3], gap = pla_contact_gap(contact, pos, 3, -1, NULL, normal);
    pla_contact_law(contact, gap, &push, NULL);
    for (int a = 0; a < contact->n_verts && push != 0.0; a++)
      for (size_t d = 0; d < 3; d++)
        force[3 * (size_t)contact->vert[a] + d] += push * contact->weight[a] * normal[d];
  }
  for (int k = 0; k < self->n_friction; k++) {
    const PlaFriction *friction = &self->friction[k];
    double f[3], stiffness[9];
    pla_friction_law(friction, pos, 3, f, stiffness);
    for (int a = 0; a < friction->n_verts; a++)
      for (size_t d = 0; d < 3; d++)
        force[3 * (size_t)friction->vert[a] + d] += friction->weight[a] * f[d];
  }
}

void
pla_contact_set_report(const PlaContactSet *self, const double *pos, PlaContactReport *out)
{
  *out = (PlaContactReport){ .min_gap = INFINITY };
  for (int k = 0; k < self->contacts.n; k++) {
    const PlaContact *contact = &self->contacts.item[k];
    double push, normal[3], gap = pla_contact_gap(contact, pos, 3, -1, NULL, normal);
    pla_contact_law(contact, gap, &push, NULL);
    if (contact->reach > 0.0)
      continue;
    out->contacts += push > 0.0;
    out->normal_force += push;
    const double depth = fmin(0.0, contact->thickness) - gap;
    out->max_penetration = fmax(out->max_penetration, depth);
    if (gap < out->min_gap) {
      out->min_gap = gap;
      point_at(&self->point[contact->point], pos, out->deepest);
    }
  }
}

PlaStatus
pla_contact_set_pressure(const PlaContactSet *self, const double *pos, double *pressure,
                         PlaError *err)
{
  const size_t n = (size_t)self->model->n_verts;
  double *area = pla_array_new0(n, 3 * sizeof *area), *force = pla_array_new0(n, 3 * sizeof *force);
  PlaStatus st = area && force ? PLA_OK : pla_fail_memory(err, "the pressure of contacts");
  for (int t = 0; st == PLA_OK && t < self->n_tris; t++) {
    const int *tri = self->tri + 3 * (size_t)t;
    double e[3], f[3], normal[3];
    pla_vec3_sub(pos + 3 * (size_t)tri[1], pos + 3 * (size_t)tri[0], e);
    pla_vec3_sub(pos + 3 * (size_t)tri[2], pos + 3 * (size_t)tri[0], f);
    pla_vec3_cross(e, f, normal);
    for (int k = 0; k < 9; k++)
      area[3 * (size_t)tri[k / 3] + (size_t)(k % 3)] += normal[k % 3] / 6.0;
  }
  for (int k = 0; st == PLA_OK && k < self->contacts.n; k++) {
    const PlaContact *contact = &self->contacts.item[k];
    double push, normal[3];
    pla_contact_law(contact, pla_contact_gap(contact, pos, 3, -1, NULL, normal), &push, NULL);
    for (int i = 0; contact->reach == 0.0 && i < 3 * contact->n_verts; i++)
      force[3 * (size_t)contact->vert[i / 3] + (size_t)(i % 3)] +=
          push * contact->weight[i / 3] * normal[i % 3];
  }
  for (size_t v = 0; st == PLA_OK && v < n; v++) {
    /* p = |f| / (area across f); areas point outwards, pushes towards the body */
    const double *f = force + 3 * v, across = -pla_vec3_dot(f, area + 3 * v);
    pressure[v] = across > 0.0 ? pla_vec3_dot(f, f) / across : 0.0;
  }
  free(area);
  free(force);
  return st;
}

void
pla_contact_set_collider_force(const PlaContactSet *self, int c, const double *pos, double force[3])
{
  memset(force, 0, 3 * sizeof *force);
  for (int k = 0; k < self->contacts.n; k++) {
    const PlaContact *contact = &self->contacts.item[k];
    double push, normal[3];
    if (contact->obstacle != c)
      continue;
    double gap = pla_contact_gap(contact, pos, 3, -1, NULL, normal);
    pla_contact_law(contact, gap, &push, NULL);
    for (int d = 0; d < 3; d++)
      force[d] += push * normal[d];
  }
}
