/* Position-based nonlinear Gauss-Seidel: what acts on a vertex beside its elements.
 *
 * Springs, friction and damping add force and stiffness; contacts bound the step of a vertex in the
 * metric of its matrix.  Contacts are looked for every few sweeps; in between, a leash keeps each
 * surface vertex so near to where it was then that no contact can be missed. */
#include "sim/solve/pbng-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* C = sum weight_j x_j - offset */
static void
spring_gap(const PlaSpring *spring, const double *x, double gap[3])
{
  for (int d = 0; d < 3; d++) {
    gap[d] = -spring->offset[d];
    for (int a = 0; a < spring->n_verts; a++)
      gap[d] += spring->weight[a] * x[4 * (size_t)spring->vert[a] + (size_t)d];
  }
}

/* energy, force and stiffness (both added) of one contact or its friction when vertex v is moved by
 * @dx; contacts are written as functions of that one vertex */
static double
add_touch(const PlaPbngWork *work, int entry, const double dx[3], double force[3], double matrix[9])
{
  const int which = entry / PLA_CONTACT_VERTS, place = entry % PLA_CONTACT_VERTS;
  if (which < work->n_touch) {
    const PlaContact *contact = &work->touch[which];
    double push, stiffness, w = contact->weight[place];
    double normal[3], gap = pla_contact_gap(contact, work->x, 4, place, dx, normal);
    double energy = pla_contact_law(contact, gap, &push, &stiffness);
    for (int i = 0; i < 3; i++) {
      force[i] += w * push * normal[i];
      for (int j = 0; j < 3; j++)
        matrix[3 * i + j] += w * w * stiffness * normal[i] * normal[j];
    }
    return energy;
  }
  PlaFriction friction = work->friction[which - work->n_touch];
  double drag[3], k[9], w = friction.weight[place];
  for (int d = 0; d < 3; d++)
    friction.origin[d] -= w * dx[d];
  double energy = pla_friction_law(&friction, work->x, 4, drag, k);
  for (int i = 0; i < 9; i++)
    matrix[i] += w * w * k[i];
  for (int d = 0; d < 3; d++)
    force[d] += w * drag[d];
  return energy;
}

/* Minimises 1/2 dx A dx - f dx plus the contact energies over one vertex, by Newton's method from
 * dx = 0.  Contacts are one-sided: a linear step that ignores them until it has crossed them would
 * oscillate for ever. */
static void
settle(const PlaPbngWork *work, int v, const double a[6], const double f[3], const double mobile[3],
       double dx[3])
{
  enum { MOST_STEPS = 12, MOST_HALVINGS = 8 };
  const double full[9] = { a[0], a[3], a[4], a[3], a[1], a[5], a[4], a[5], a[2] };
  const int first = work->touch_start[v], end = work->touch_start[v + 1];
  double at[3] = { 0.0, 0.0, 0.0 }, energy = INFINITY, length = 1.0, step[3] = { 0.0, 0.0, 0.0 };
  int halvings = 0;
  for (int it = 0; it < MOST_STEPS + MOST_HALVINGS; it++) {
    /* energy, gradient and Hessian at the trial point */
    double x[3], g[3], h[9], inverse[9], ax[3];
    for (int d = 0; d < 3; d++)
      x[d] = at[d] + length * step[d];
    memcpy(g, f, sizeof g);
    memcpy(h, full, sizeof h);
    pla_mat3_apply(full, x, ax);
    double here = 0.5 * pla_vec3_dot(x, ax) - pla_vec3_dot(f, x);
    for (int k = first; k < end; k++)
      here += add_touch(work, work->touch_of[k], x, g, h);
    /* halve the step while the energy rises */
    if (here > energy && halvings < MOST_HALVINGS) {
      length *= 0.5;
      halvings++;
      continue;
    }
    /* accepted: the next Newton step from here, fixed axes left out */
    memcpy(at, x, sizeof at);
    energy = here;
    length = 1.0;
    halvings = 0;
    for (int i = 0; i < 3; i++) {
      g[i] = mobile[i] * (g[i] - ax[i]);
      for (int j = 0; j < 3; j++)
        if (i != j)
          h[3 * i + j] *= mobile[i] * mobile[j];
    }
    if (pla_mat3_invert(h, inverse) == 0.0)
      break;
    double old = pla_vec3_norm(step);
    pla_mat3_apply(inverse, g, step);
    if (it > 0 && pla_vec3_norm(step) <= 1e-6 * old)
      break;
  }
  memcpy(dx, at, sizeof at);
}

/* the row of the damping matrix */
static void
add_damping(const PlaPbngWork *work, int v, double force[3], double matrix[6])
{
  static const int at[6] = { 0, 4, 8, 1, 2, 5 };
  const PlaFemDamping *damping = work->damping;
  const PlaFemSystem *system = damping->system;
  const PlaBlockMatrix *m = &system->matrix;
  const int r = system->block_of[v];
  for (int k = r >= 0 ? m->start[r] : 0; r >= 0 && k < m->start[r + 1]; k++) {
    const double *block = m->value + 9 * (size_t)k;
    const int u = system->vert_of[m->col[k]];
    double d[3], pull[3];
    pla_vec3_sub(work->x + 4 * (size_t)u, damping->origin + 3 * (size_t)u, d);
    pla_mat3_apply(block, d, pull);
    for (int i = 0; i < 3; i++)
      force[i] -= damping->factor * pull[i];
    for (int i = 0; i < 6 && u == v; i++)
      matrix[i] += damping->factor * block[at[i]];
  }
}

void
pla_pbng_add_springs(const PlaPbngWork *work, int v, double force[3], double matrix[6])
{
  /* contacts are one-sided, and wait for pla_pbng_hold_outside() unless forces are asked for */
  if (work->touch_start && work->force) {
    const double still[3] = { 0.0, 0.0, 0.0 };
    double ignored[9] = { 0.0 };
    for (int k = work->touch_start[v]; k < work->touch_start[v + 1]; k++)
      add_touch(work, work->touch_of[k], still, force, ignored);
  }
  if (work->damping)
    add_damping(work, v, force, matrix);
  if (!work->spring_start)
    return;
  for (int k = work->spring_start[v]; k < work->spring_start[v + 1]; k++) {
    const PlaSpring *spring = &work->spring[work->spring_of[k] / PLA_SPRING_VERTS];
    const double w = spring->weight[work->spring_of[k] % PLA_SPRING_VERTS];
    const double *s = spring->stiffness;
    double gap[3], pull[3];
    spring_gap(spring, work->x, gap);
    if (pla_spring_is_idle(spring, gap))
      continue;
    pla_mat3_apply(s, gap, pull);
    for (int d = 0; d < 3; d++)
      force[d] -= w * pull[d];
    const double k6[6] = { s[0], s[4], s[8], s[1], s[2], s[5] };
    for (int i = 0; i < 6; i++)
      matrix[i] += w * w * k6[i];
  }
}

void
pla_pbng_hold_outside(const PlaPbngWork *work, int v, const double a[6], const double force[3],
                      const double mobile[3], double dx[3])
{
  /* contacts of the vertex */
  if (work->touch_start && work->touch_start[v + 1] > work->touch_start[v])
    settle(work, v, a, force, mobile, dx);
  /* no farther from its anchor than contacts were searched for */
  if (work->anchor && work->on_surface[v]) {
    const double *x = work->x + 4 * (size_t)v, *from = work->anchor + 4 * (size_t)v;
    double way[3];
    for (int d = 0; d < 3; d++)
      way[d] = x[d] + dx[d] - from[d];
    double length = pla_vec3_norm(way);
    for (int d = 0; d < 3 && length > work->leash; d++)
      dx[d] = from[d] + way[d] * work->leash / length - x[d];
  }
  /* the half space of its plane */
  if (!work->contact_of || work->contact_of[v] < 0)
    return;
  const PlaPlaneContact *contact = &work->contact[work->contact_of[v]];
  double gap[3], n[3], toward[3], inverse[9];
  pla_vec3_sub(work->x + 4 * (size_t)v, contact->point, gap);
  double room = pla_vec3_dot(gap, contact->normal);
  if (room + pla_vec3_dot(contact->normal, dx) >= 0.0)
    return;
  /* the minimum on the plane: dx + t A^-1 n */
  for (int d = 0; d < 3; d++)
    n[d] = mobile[d] * contact->normal[d];
  const double full[9] = { a[0], a[3], a[4], a[3], a[1], a[5], a[4], a[5], a[2] };
  pla_mat3_invert(full, inverse);
  pla_mat3_apply(inverse, n, toward);
  double give = pla_vec3_dot(n, toward);
  if (!(give > 0.0))
    return;
  double t = -(room + pla_vec3_dot(contact->normal, dx)) / give;
  for (int d = 0; d < 3; d++)
    dx[d] += t * toward[d];
}

/* contacts by vertex: those of the set, then friction */
static PlaStatus
list_touches(PlaPbng *self, PlaError *err)
{
  const PlaContact *touch;
  const PlaFriction *friction;
  const int n = pla_contact_set_get(self->touching, &touch);
  const int total = n + pla_contact_set_get_friction(self->touching, &friction);
  const int nv = self->model->n_verts;
  int *start = self->touch_start;
  int *fill = pla_array_new0((size_t)nv, sizeof *fill);
  memset(start, 0, ((size_t)nv + 1) * sizeof *start);
  free(self->touch_of);
  self->touch_of = NULL;
  for (int pass = 0; fill && pass < 2; pass++) {
    for (int k = 0; k < total; k++) {
      const int *vert = k < n ? touch[k].vert : friction[k - n].vert;
      for (int a = 0; a < (k < n ? touch[k].n_verts : friction[k - n].n_verts); a++)
        if (pass)
          self->touch_of[start[vert[a]] + fill[vert[a]]++] = PLA_CONTACT_VERTS * k + a;
        else
          start[vert[a] + 1]++;
    }
    if (pass)
      break;
    for (int v = 0; v < nv; v++)
      start[v + 1] += start[v];
    self->touch_of = pla_array_new((size_t)start[nv], sizeof *self->touch_of);
    if (!self->touch_of)
      break;
  }
  free(fill);
  return self->touch_of ? PLA_OK : pla_fail_memory(err, "the contacts");
}

PlaStatus
pla_pbng_look(PlaPbng *self, PlaError *err)
{
  const PlaContact *touch;
  int pairs = 0;
  pla_pbng_get_positions(self, self->pos);
  PlaStatus st = pla_contact_set_update(self->touching, self->pos, 2.0 * self->leash, err);
  if (st == PLA_OK)
    st = pla_contact_set_hold(self->touching, err);
  if (st == PLA_OK)
    st = list_touches(self, err);
  for (int k = st == PLA_OK ? pla_contact_set_get(self->touching, &touch) : 0; k-- > 0;)
    pairs += touch[k].n_verts > touch[k].n_own;
  if (st == PLA_OK && (pairs > 0 || self->pairs > 0)) {
    st = pla_pbng_recolour(self, self->spring, self->n_springs, err);
    pla_pbng_mark_packs(self);
  }
  self->pairs = pairs;
  memcpy(self->anchor, self->x, 4 * (size_t)self->model->n_verts * sizeof *self->x);
  self->look_left = PLA_PBNG_LOOK;
  self->strained = false;
  return st;
}

PlaStatus
pla_pbng_set_touching(PlaPbng *self, PlaContactSet *contacts, PlaError *err)
{
  const size_t nv = (size_t)self->model->n_verts;
  PlaStatus st = PLA_OK;
  self->touching = contacts;
  if (contacts && !self->anchor) {
    self->anchor = pla_array_new(nv, 4 * sizeof(double));
    self->on_surface = pla_array_new(nv, 1);
    self->touch_start = pla_array_new0(nv + 1, sizeof *self->touch_start);
    if (!self->anchor || !self->on_surface || !self->touch_start)
      st = pla_fail_memory(err, "the contacts");
  }
  if (st == PLA_OK && contacts) {
    pla_contact_set_mark_surface(contacts, self->on_surface);
    self->leash =
        fmax(pla_contact_set_thickness(contacts), 0.25 * pla_contact_set_spacing(contacts));
    st = pla_pbng_look(self, err);
  }
  if (st != PLA_OK)
    self->touching = NULL;
  pla_pbng_mark(self);
  return st;
}

void
pla_pbng_take_back(PlaPbng *self, double relax, double momentum)
{
  const PlaContact *touch;
  const int n = self->touching ? pla_contact_set_get(self->touching, &touch) : 0;
  for (int k = 0; k < n; k++) {
    double normal[3], gap = pla_contact_gap(&touch[k], self->x, 4, -1, NULL, normal);
    /* past an edge or a vertex, the direction has turned over */
    if (touch[k].reach > 0.0 ||
        (gap >= 0.0 && !(touch[k].round && pla_vec3_dot(normal, touch[k].normal) < 0.0)))
      continue;
    for (int a = 0; a < touch[k].n_verts; a++) {
      const size_t at = 4 * (size_t)touch[k].vert[a];
      if (self->on_surface[touch[k].vert[a]] == 1)
        for (size_t i = at; i < at + 3; i++)
          self->x[i] = self->before[i] + (self->x[i] - self->before[i] -
                                          momentum * (self->before[i] - self->previous[i])) /
                                             relax;
      self->on_surface[touch[k].vert[a]] = 2;
    }
  }
  for (int k = 0; k < n; k++)
    for (int a = 0; a < touch[k].n_verts; a++)
      self->on_surface[touch[k].vert[a]] = 1;
}

void
pla_pbng_hold_on_leash(PlaPbng *self)
{
  bool strained = false;
  for (int v = 0; self->touching && v < self->model->n_verts; v++) {
    double *x = self->x + 4 * (size_t)v, way[3];
    const double *from = self->anchor + 4 * (size_t)v;
    if (!self->on_surface[v])
      continue;
    pla_vec3_sub(x, from, way);
    double length = pla_vec3_norm(way);
    strained |= length > 0.99 * self->leash;
    for (int d = 0; d < 3 && length > self->leash; d++)
      if (!self->fixed[3 * (size_t)v + (size_t)d])
        x[d] = from[d] + way[d] * self->leash / length;
  }
  self->strained = strained;
}

void
pla_pbng_push_out(PlaPbng *self)
{
  for (int v = 0; self->n_contacts && v < self->model->n_verts; v++) {
    if (self->contact_of[v] < 0)
      continue;
    const PlaPlaneContact *contact = &self->contact[self->contact_of[v]];
    const unsigned char *fixed = self->fixed + 3 * (size_t)v;
    double *x = self->x + 4 * (size_t)v, gap[3], size = 0.0;
    pla_vec3_sub(x, contact->point, gap);
    double room = pla_vec3_dot(gap, contact->normal);
    for (int d = 0; d < 3; d++)
      size += fixed[d] ? 0.0 : contact->normal[d] * contact->normal[d];
    for (int d = 0; d < 3; d++)
      if (room < 0.0 && size > 0.0 && !fixed[d])
        x[d] -= room * contact->normal[d] / size;
  }
}

PlaStatus
pla_pbng_set_contacts(PlaPbng *self, const PlaPlaneContact *contacts, int n, PlaError *err)
{
  PlaPlaneContact *copy = pla_array_dup(n > 0 ? contacts : &(PlaPlaneContact){ 0 },
                                        n > 0 ? (size_t)n : 1, sizeof *copy);
  if (!copy)
    return pla_fail_memory(err, "the contacts");
  for (int k = 0; k < n; k++)
    if (contacts[k].vert < 0 || contacts[k].vert >= self->model->n_verts) {
      free(copy);
      return pla_fail(err, PLA_ERR_USAGE, "contact %d names a vertex that the model does not have",
                      k);
    }
  for (int k = 0; k < self->n_contacts; k++)
    self->contact_of[self->contact[k].vert] = -1;
  free(self->contact);
  self->contact = copy;
  self->n_contacts = n;
  for (int k = 0; k < n; k++)
    self->contact_of[contacts[k].vert] = k;
  pla_pbng_push_out(self);
  pla_pbng_mark(self);
  return PLA_OK;
}
