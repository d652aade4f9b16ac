/* What strains the body besides threads: the tension of skin along its lines, expanders, implants.
 *
 * Skin lies under tension in its plane: it would shrink if it were cut free.  The tension is a
 * prestretch of the tets near the skin (sim/material/prestretch.h), turned with the skin: lines are
 * given at a few places, and each tet follows the nearest. */
#include "sim/surgery/surgery-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/material/prestretch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

PlaStatus
pla_surgery_set_tension(PlaSurgery *self, const PlaSurgeryLine *line, int n, double along,
                        double across, double depth, int *n_tets, PlaError *err)
{
  PlaSkin skin;
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  int count = 0;
  if (!(along >= 0.5 && along <= 2.0 && across >= 0.5 && across <= 2.0))
    return pla_fail(
        err, PLA_ERR_USAGE,
        "the skin cannot be stretched by %g along its lines and %g across; give numbers near 1",
        along, across);
  if (n < 1)
    return pla_fail(err, PLA_ERR_USAGE, "there is no line to follow");
  double *prestretch = pla_array_new((size_t)self->n_cells, 9 * sizeof *prestretch);
  if (!prestretch)
    return pla_fail_memory(err, "the tension of the skin");
  PlaStatus st = pla_surgery_get_skin(self, &skin, err);
  for (int t = 0; t < self->n_cells; t++)
    pla_mat3_identity(&prestretch[9 * t]);
  for (int t = 0; st == PLA_OK && t < view.mesh.n_tets; t++) {
    const int *tet = &view.mesh.tet[4 * t];
    double middle[3] = { 0 }, least = INFINITY;
    PlaSkinPoint on;
    int best = 0;
    for (int c = 0; c < 4; c++)
      for (int d = 0; d < 3; d++)
        middle[d] += 0.25 * self->pos[3 * tet[c] + d];
    if (!pla_skin_snap(&skin, middle, depth, &on))
      continue;
    for (int i = 0; i < n; i++) {
      double e[3];
      pla_vec3_sub(line[i].pos, on.pos, e);
      if (pla_vec3_norm(e) < least) {
        least = pla_vec3_norm(e);
        best = i;
      }
    }
    const double *way = line[best].direction, length = pla_vec3_norm(way);
    if (!(length - fabs(pla_vec3_dot(way, on.normal)) > 1e-3 * length))
      continue; /* the line stands on the skin here */
    const double unit[3] = { way[0] / length, way[1] / length, way[2] / length };
    pla_prestretch_skin(unit, on.normal, along, across, &prestretch[9 * view.tet_source[t]]);
    count++;
  }
  if (st == PLA_OK && count == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "no cell lies within %.1f mm of the skin", 1e3 * depth);
  if (st == PLA_OK) {
    free(self->prestretch);
    self->prestretch = prestretch;
    prestretch = NULL;
  }
  if (n_tets)
    *n_tets = count;
  free(prestretch);
  pla_skin_clear(&skin);
  return st;
}

/* ---- expanders ---- */

/* where surface vertex @v is at rest */
static void
rest_place(const PlaSurgery *self, const PlaCutSurface *s, int v, double out[3])
{
  const PlaTetMesh mesh = pla_cut_mesh_get(self->cut).mesh;
  for (int d = 0; d < 3; d++) {
    out[d] = 0.0;
    for (int c = 0; c < 4; c++)
      out[d] += s->weight[4 * v + c] * mesh.rest[3 * mesh.tet[4 * s->tet[v] + c] + d];
  }
}

static bool
is_pushed(const PlaSurgery *self, const PlaSurgeryExpander *expander, const PlaCutSurface *s, int t)
{
  double middle[3] = { 0 }, e[3];
  if (s->cut[t] < 0)
    return false;
  for (int k = 0; k < 3; k++) {
    double p[3];
    rest_place(self, s, s->tri[3 * t + k], p);
    for (int d = 0; d < 3; d++)
      middle[d] += p[d] / 3.0;
  }
  pla_vec3_sub(middle, expander->place, e);
  return pla_vec3_norm(e) <= expander->radius;
}

PlaStatus
pla_surgery_expand(PlaSurgery *self, const double at[3], double radius, double pressure,
                   PlaError *err)
{
  const PlaCutSurface *s;
  const double *pos;
  double least = INFINITY;
  PlaSurgeryExpander expander = { .radius = radius, .pressure = pressure };
  PlaStatus st = pla_surgery_get_surface(self, &s, &pos, err);
  if (st != PLA_OK)
    return st;
  /* the pocket's wall nearest to the place says where that was at rest */
  for (int t = 0; t < s->n_tris; t++)
    for (int k = 0; s->cut[t] >= 0 && k < 3; k++) {
      const int v = s->tri[3 * t + k];
      double e[3], rest[3];
      pla_vec3_sub(&pos[3 * v], at, e);
      if (pla_vec3_norm(e) < least) {
        least = pla_vec3_norm(e);
        rest_place(self, s, v, rest);
        for (int d = 0; d < 3; d++)
          expander.place[d] = rest[d] - e[d];
      }
    }
  if (!(least <= radius))
    return pla_fail(err, PLA_ERR_EMPTY,
                    "no pocket lies within %.1f mm of (%.1f, %.1f, %.1f mm); undermine one first",
                    1e3 * radius, 1e3 * at[0], 1e3 * at[1], 1e3 * at[2]);
  if (!pla_array_resize((void **)&self->expander, (size_t)self->n_expanders + 1,
                        sizeof *self->expander))
    return pla_fail_memory(err, "the expander");
  self->expander[self->n_expanders++] = expander;
  return PLA_OK;
}

/* Pressure pushes walls along their normals as they are in the shape @pos, by thirds to the corners
 * of triangles and from there to the tets they ride in. */
PlaStatus
pla_surgery_add_expanders(PlaSurgery *self, const double *pos, double part, double *force,
                          PlaError *err)
{
  const PlaTetMesh mesh = pla_cut_mesh_get(self->cut).mesh;
  const PlaCutSurface *s;
  const double *unused;
  PlaStatus st = pla_surgery_get_surface(self, &s, &unused, err);
  double *place = st == PLA_OK ? pla_array_new(3 * (size_t)s->n_verts, sizeof *place) : NULL;
  if (st == PLA_OK && !place)
    st = pla_fail_memory(err, "the expanders");
  if (st == PLA_OK)
    pla_cut_surface_place(s, self->cut, pos, place);
  for (int i = 0; st == PLA_OK && i < self->n_expanders; i++)
    for (int t = 0; t < s->n_tris; t++) {
      if (!is_pushed(self, &self->expander[i], s, t))
        continue;
      const int *v = &s->tri[3 * t];
      double e[3], f[3], normal[3];
      pla_vec3_sub(&place[3 * v[1]], &place[3 * v[0]], e);
      pla_vec3_sub(&place[3 * v[2]], &place[3 * v[0]], f);
      pla_vec3_cross(e, f, normal); /* twice the area, away from the material */
      for (int k = 0; k < 3; k++)
        for (int c = 0; c < 4; c++)
          for (int d = 0; d < 3; d++)
            force[3 * mesh.tet[4 * s->tet[v[k]] + c] + d] -=
                part * self->expander[i].pressure * normal[d] / 6.0 * s->weight[4 * v[k] + c];
    }
  free(place);
  return st;
}

double
pla_surgery_expanded_volume(PlaSurgery *self, PlaError *err)
{
  const PlaCutSurface *s;
  const double *pos;
  double volume = 0.0;
  if (pla_surgery_get_surface(self, &s, &pos, err) != PLA_OK)
    return NAN;
  /* the pocket is what its walls, lying on each other at rest, have opened: by the divergence
   * theorem the moments of all walls, seen from the place of the expander */
  for (int i = 0; i < self->n_expanders; i++)
    for (int t = 0; t < s->n_tris; t++) {
      if (!is_pushed(self, &self->expander[i], s, t))
        continue;
      double p[3][3], cross[3];
      for (int k = 0; k < 3; k++)
        pla_vec3_sub(&pos[3 * s->tri[3 * t + k]], self->expander[i].place, p[k]);
      pla_vec3_cross(p[1], p[2], cross);
      volume -= pla_vec3_dot(p[0], cross) / 6.0;
    }
  return volume;
}

/* ---- implants ---- */

/* distance from @at to the nearest wall of a wound, m */
static PlaStatus
nearest_wall(PlaSurgery *self, const double at[3], double *out, PlaError *err)
{
  const PlaCutSurface *s;
  const double *pos;
  PlaStatus st = pla_surgery_get_surface(self, &s, &pos, err);
  *out = INFINITY;
  for (int t = 0; st == PLA_OK && t < s->n_tris; t++)
    for (int k = 0; s->cut[t] >= 0 && k < 3; k++) {
      double e[3];
      pla_vec3_sub(&pos[3 * s->tri[3 * t + k]], at, e);
      *out = fmin(*out, pla_vec3_norm(e));
    }
  return st;
}

PlaStatus
pla_surgery_implant(PlaSurgery *self, const char *name, const double at[3], double radius,
                    PlaError *err)
{
  double wall = 0.0;
  if (!(radius > 0.0 && isfinite(radius)))
    return pla_fail(err, PLA_ERR_USAGE, "an implant needs a radius, not %g mm", 1e3 * radius);
  for (int i = 0; i < self->n_implants; i++)
    if (strcmp(self->implant[i].name, name) == 0) {
      double e[3] = { 0.0, 0.0, 0.0 };
      if (at)
        pla_vec3_sub(at, self->implant[i].at, e);
      if (pla_vec3_norm(e) > 1e-6)
        return pla_fail(err, PLA_ERR_USAGE, "the implant '%s' already exists at another place",
                        name);
      self->implant[i].radius = radius;
      return PLA_OK;
    }
  if (!at)
    return pla_fail(err, PLA_ERR_USAGE, "there is no implant called '%s'; give its position", name);
  PlaStatus st = nearest_wall(self, at, &wall, err);
  if (st != PLA_OK)
    return st;
  if (!(wall <= radius))
    return pla_fail(err, PLA_ERR_EMPTY,
                    "no pocket lies within %.1f mm of (%.1f, %.1f, %.1f mm); undermine one first",
                    1e3 * radius, 1e3 * at[0], 1e3 * at[1], 1e3 * at[2]);
  PlaSurgeryImplant implant = { .name = pla_strdup(name), .radius = radius };
  memcpy(implant.at, at, sizeof implant.at);
  if (!implant.name || !pla_array_resize((void **)&self->implant, (size_t)self->n_implants + 1,
                                         sizeof *self->implant)) {
    free(implant.name);
    return pla_fail_memory(err, "the implant");
  }
  self->implant[self->n_implants++] = implant;
  return PLA_OK;
}
