/* Signed distances to rigid obstacles: exact distance to the nearest triangle of a box tree, sign
 * by the winding number; queries are turned into the obstacle's own frame. */
#include "sim/contact/collider.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/tri-tree.h"
#include "anatomy/mesh/winding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct PlaCollider {
  bool plane;
  double point[3], normal[3]; /* of a plane */
  PlaTriMesh mesh;            /* of a surface; arrays owned */
  PlaTriTree *tree;
  PlaWinding *winding;
  PlaFeatureMesh features;
  double lo[3], hi[3];
  double rotation[9], shift[3];
};

static PlaCollider *
collider_alloc(void)
{
  PlaCollider *self = pla_array_new0(1, sizeof *self);
  if (self)
    pla_mat3_identity(self->rotation);
  return self;
}

PlaStatus
pla_collider_new_plane(const double point[3], const double normal[3], PlaCollider **out,
                       PlaError *err)
{
  *out = NULL;
  double length = pla_vec3_norm(normal);
  if (!(length > 0.0) || !isfinite(length))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "the normal of the plane has no length; give a direction");
  PlaCollider *self = collider_alloc();
  if (!self)
    return pla_fail_memory(err, "a collider");
  self->plane = true;
  for (int d = 0; d < 3; d++) {
    self->point[d] = point[d];
    self->normal[d] = normal[d] / length;
  }
  *out = self;
  return PLA_OK;
}

PlaStatus
pla_collider_new_surface(const PlaMesh *surface, PlaCollider **out, PlaError *err)
{
  PlaMeshSummary summary;
  PlaMesh only = *surface;
  *out = NULL;
  if (surface->n_tris == 0)
    return pla_fail(err, PLA_ERR_GEOMETRY, "the collider has no triangles; give a closed surface");
  /* tets or hexes beside the triangles do not matter */
  only.n_tets = only.n_hexes = 0;
  PlaStatus st = pla_mesh_check(surface, err);
  if (st == PLA_OK)
    st = pla_mesh_summary(&only, &summary, err);
  if (st != PLA_OK)
    return st;
  if (!summary.closed)
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "the collider's surface is not closed, so it has no inside; fill its holes, or "
                    "give a plane");
  if (fabs(summary.volume_m3) <= 1e-9 * pow(summary.area_m2, 1.5))
    return pla_fail(
        err, PLA_ERR_GEOMETRY,
        "the collider's surface encloses no volume, so it has no inside; give the surface "
        "of a body, or a plane");
  PlaCollider *self = collider_alloc();
  double *pos = pla_array_dup(surface->pos, (size_t)surface->n_verts, 3 * sizeof *pos);
  int *tri = pla_array_dup(surface->tri, (size_t)surface->n_tris, 3 * sizeof *tri);
  if (!self || !pos || !tri) {
    free(self);
    free(pos);
    free(tri);
    return pla_fail_memory(err, "a collider");
  }
  self->mesh = (PlaTriMesh){ surface->n_verts, surface->n_tris, pos, tri };
  /* orient the triangles outwards */
  double volume = 0.0;
  for (int t = 0; t < surface->n_tris; t++) {
    double cross[3];
    pla_vec3_cross(pos + 3 * (size_t)tri[3 * t + 1], pos + 3 * (size_t)tri[3 * t + 2], cross);
    volume += pla_vec3_dot(pos + 3 * (size_t)tri[3 * t], cross) / 6.0;
  }
  for (int t = 0; volume < 0.0 && t < surface->n_tris; t++) {
    int swap = tri[3 * t + 1];
    tri[3 * t + 1] = tri[3 * t + 2];
    tri[3 * t + 2] = swap;
  }
  /* box, tree, winding number and features for queries */
  memcpy(self->lo, summary.lo_m, sizeof self->lo);
  memcpy(self->hi, summary.hi_m, sizeof self->hi);
  st = pla_tri_tree_new(&self->mesh, &self->tree, err);
  if (st == PLA_OK)
    st = pla_winding_new(&self->mesh, &self->winding, err);
  if (st == PLA_OK)
    st = pla_feature_mesh_init(&self->features, &self->mesh, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_collider_free(self);
  return st;
}

void
pla_collider_free(PlaCollider *self)
{
  if (!self)
    return;
  pla_tri_tree_free(self->tree);
  pla_winding_free(self->winding);
  pla_feature_mesh_clear(&self->features);
  free((void *)self->mesh.pos);
  free((void *)self->mesh.tri);
  free(self);
}

void
pla_collider_set_pose(PlaCollider *self, const double rotation[9], const double shift[3])
{
  memcpy(self->rotation, rotation, sizeof self->rotation);
  memcpy(self->shift, shift, sizeof self->shift);
}

void
pla_collider_get_pose(const PlaCollider *self, double rotation[9], double shift[3])
{
  memcpy(rotation, self->rotation, sizeof self->rotation);
  memcpy(shift, self->shift, sizeof self->shift);
}

/* from the world to the obstacle's original place */
static void
to_own(const PlaCollider *self, const double x[3], double own[3])
{
  double r[3];
  pla_vec3_sub(x, self->shift, r);
  for (int i = 0; i < 3; i++)
    own[i] = self->rotation[i] * r[0] + self->rotation[3 + i] * r[1] + self->rotation[6 + i] * r[2];
}

void
pla_collider_carry(const PlaCollider *self, const double x[3], const double rotation[9],
                   const double shift[3], double out[3])
{
  double own[3];
  to_own(self, x, own);
  pla_mat3_apply(rotation, own, out);
  for (int d = 0; d < 3; d++)
    out[d] += shift[d];
}

/* signed distance in the obstacle's original place */
static double
own_distance(const PlaCollider *self, const double x[3], double reach, bool deep,
             PlaFeature *nearest)
{
  if (self->plane) {
    double r[3];
    pla_vec3_sub(x, self->point, r);
    double d = pla_vec3_dot(r, self->normal);
    *nearest = (PlaFeature){ .distance = d, .count = 1 };
    memcpy(nearest->direction, self->normal, sizeof self->normal);
    return d > reach || (d < -reach && !deep) ? INFINITY : d;
  }
  bool in_box = true;
  for (int d = 0; d < 3; d++) {
    if (x[d] < self->lo[d] - reach || x[d] > self->hi[d] + reach)
      return INFINITY;
    in_box &= x[d] >= self->lo[d] && x[d] <= self->hi[d];
  }
  double d = pla_features_distance(&self->features, self->tree, self->mesh.pos, x, reach, nearest);
  if (d < INFINITY || !deep || !in_box || pla_winding_at(self->winding, x) < 0.5)
    return d;
  return pla_features_distance(&self->features, self->tree, self->mesh.pos, x, INFINITY, nearest);
}

double
pla_collider_distance(const PlaCollider *self, const double x[3], double reach, bool deep,
                      double normal[3])
{
  double own[3];
  PlaFeature nearest = { 0 };
  to_own(self, x, own);
  double d = own_distance(self, own, reach, deep, &nearest);
  pla_mat3_apply(self->rotation, nearest.direction, normal);
  return d;
}

int
pla_collider_near(const PlaCollider *self, const double x[3], double close, double reach, bool deep,
                  double *distance, PlaFeature out[PLA_MOST_FEATURES])
{
  double own[3];
  int n = 1;
  to_own(self, x, own);
  *distance = own_distance(self, own, reach, deep, &out[0]);
  if (*distance == INFINITY)
    return 0;
  /* inside, the nearest way out; far outside, the nearest place */
  out[0].distance = *distance;
  if (*distance > 0.0 && *distance < close && !self->plane)
    n = pla_features_near(&self->features, self->tree, self->mesh.pos, own, close, 0, NULL, out);
  for (int k = 0; k < n; k++) {
    pla_mat3_apply(self->rotation, out[k].direction, out[k].direction);
    pla_mat3_apply(self->rotation, out[k].along, out[k].along);
  }
  return n;
}

double
pla_collider_trace(const PlaCollider *self, const double x[3], const double dx[3], double depth)
{
  enum { MOST_STEPS = 200 }; /* along a surface the way is long; what is left is not taken */
  double from[3], to[3], way[3];
  PlaFeature ignored;
  const double end[3] = { x[0] + dx[0], x[1] + dx[1], x[2] + dx[2] };
  to_own(self, x, from);
  to_own(self, end, to);
  pla_vec3_sub(to, from, way);
  double length = pla_vec3_norm(way), t = 0.0;
  if (!(length > 0.0))
    return 1.0;
  double reach = length + depth, start = own_distance(self, from, reach, false, &ignored);
  if (start >= length)
    return 1.0;
  /* a plane has one height along the way */
  double floor = fmin(start, 0.0) - depth;
  if (self->plane) {
    double fall = -pla_vec3_dot(way, self->normal);
    return fall <= start - floor ? 1.0 : (start - floor) / fall;
  }
  for (int step = 0; step < MOST_STEPS; step++) {
    double at[3];
    for (int d = 0; d < 3; d++)
      at[d] = from[d] + t * way[d];
    double room = own_distance(self, at, reach, false, &ignored) - floor;
    /* nothing near, in or out */
    if (room == INFINITY || t * length + room >= length)
      return 1.0;
    if (room <= 0.02 * depth)
      return t;
    t += room / length;
  }
  return t;
}
