/* Undermining: a sheet under a region of the skin, at a depth or at the level of a tissue. */
#include "sim/surgery/surgery-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/cut/cut-mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    st = pla_surgery_cut_along(self, blade, progress, err);
    if (st == PLA_OK)
      st = pla_surgery_wipe_crumbs(self, err);
    pla_surgery_settle(self, &backup, st);
  }
  return st;
}

/* where a wound is: it may have moved since it was made, and its edges tell; caller frees *out */
static PlaStatus
wound_path(const PlaSurgery *self, const PlaSurgeryWound *wound, double **out, int *n,
           PlaError *err)
{
  *n = wound->n_edge[0] + wound->n_edge[1];
  if (*n == 0)
    return pla_fail(err, PLA_ERR_EMPTY,
                    "the wound '%s' does not open the skin, so nothing can be undermined from it",
                    wound->name);
  *out = pla_array_new(3 * (size_t)*n, sizeof **out);
  if (!*out)
    return pla_fail_memory(err, "the blade");
  for (int s = 0, k = 0; s < 2; s++)
    for (int i = 0; i < wound->n_edge[s]; i++)
      pla_surgery_place(self, &wound->edge[s][i].anchor, &(*out)[3 * k++]);
  return PLA_OK;
}

/* what is to be freed: around a wound or inside a path on the skin as it is now */
typedef struct {
  PlaSkin skin;
  double *path; /* around the wound */
  NearPath near;
  PlaSkinLoop loop;
  bool around;
} Region;

static void
region_clear(Region *self)
{
  free(self->path);
  pla_skin_loop_clear(&self->loop);
  pla_skin_clear(&self->skin);
}

static PlaStatus
region_init(Region *self, PlaSurgery *body, const PlaSurgeryRegion *what, PlaError *err)
{
  PlaSurgeryWound *wound = NULL;
  PlaSkinPoint *points = NULL;
  int n = 0;
  *self = (Region){ .around = what->from != NULL };
  PlaStatus st = what->from ? pla_surgery_need_wound(body, what->from, &wound, err) : PLA_OK;
  if (st == PLA_OK)
    st = pla_surgery_get_skin(body, &self->skin, err);
  if (st == PLA_OK && wound) {
    st = wound_path(body, wound, &self->path, &n, err);
    self->near = (NearPath){ self->path, n, what->radius };
  } else if (st == PLA_OK) {
    st = pla_skin_path(&self->skin, what->area, what->n_area, true, body->cell, PLA_SURGERY_SNAP,
                       &points, &n, err);
    if (st == PLA_OK && !pla_skin_loop_init(&self->loop, points, n, 0.0))
      st = pla_fail_memory(err, "the blade");
  }
  free(points);
  return st;
}

/* the skin of the region, @depth below */
static PlaStatus
region_sheet(const Region *self, double depth, PlaBlade *blade, int *n_tris, PlaError *err)
{
  const bool ok = self->around
                      ? pla_blade_add_sheet(blade, &self->skin, self->near.path, self->near.n,
                                            is_near_path, &self->near, depth, n_tris)
                      : pla_blade_add_sheet(blade, &self->skin, self->loop.place, self->loop.n,
                                            pla_skin_in_loop, &self->loop, depth, n_tris);
  return ok ? PLA_OK : pla_fail_memory(err, "the blade");
}

PlaStatus
pla_surgery_undermine(PlaSurgery *self, const PlaSurgeryRegion *what, double depth,
                      PlaProgress *progress, PlaError *err)
{
  Region region;
  PlaBlade blade = { 0 };
  int n_tris = 0;
  PlaStatus st = region_init(&region, self, what, err);
  if (st == PLA_OK)
    st = region_sheet(&region, depth, &blade, &n_tris, err);
  if (st == PLA_OK)
    st = undermine_along(self, &blade, n_tris, progress, err);
  pla_blade_clear(&blade);
  region_clear(&region);
  return st;
}

/* ---- at the level of a tissue ---- */

/* the surface by which the body is held: outer faces whose corners all are, or that border on bone
 */
static PlaStatus
bone_surface(PlaSurgery *self, PlaBlade *out, PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  const PlaCutSurface *s;
  const double *pos;
  PlaStatus st = pla_surgery_get_surface(self, &s, &pos, err);
  for (int t = 0; st == PLA_OK && t < s->n_tris; t++) {
    bool bone = s->carved[t] < 0 ? s->cut[t] < 0 : self->bone[s->carved[t]] == PLA_BORDER_BONE;
    double place[9];
    for (int k = 0; bone && k < 3; k++) {
      const int v = s->tri[3 * t + k];
      for (int c = 0; s->carved[t] < 0 && c < 4; c++)
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

/* the surface of the tissue @material: faces of its tets that no other of its tets lies behind */
static PlaStatus
tissue_surface(const PlaSurgery *self, int material, PlaBlade *out, PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  for (int t = 0; t < view.mesh.n_tets; t++) {
    if (self->cell_material[view.tet_source[t]] != material)
      continue;
    for (int f = 0; f < 4; f++) {
      double place[9];
      bool inside = false;
      for (PlaCutAcross a = pla_cut_mesh_across(self->cut, t, f); a.tet >= 0 && !inside;
           pla_cut_mesh_next(self->cut, &a))
        inside = self->cell_material[view.tet_source[a.tet]] == material;
      for (int k = 0; k < 3; k++)
        memcpy(&place[3 * k], &self->pos[3 * view.mesh.tet[4 * t + pla_cut_face_corner[f][k]]],
               3 * sizeof *place);
      if (!inside && !pla_blade_add_triangle(out, place))
        return pla_fail_memory(err, "the surface of the tissue");
    }
  }
  return PLA_OK;
}

/* the surface of the level: "bone" is what holds the body, others are its tissues by name */
static PlaStatus
level_surface(PlaSurgery *self, const char *level, PlaBlade *out, PlaError *err)
{
  if (strcmp(level, PLA_SURGERY_BONE) == 0)
    return bone_surface(self, out, err);
  for (int m = 0; m < self->n_materials; m++)
    if (self->tissue && strcmp(self->tissue[m], level) == 0)
      return tissue_surface(self, m, out, err);
  return pla_fail(err, PLA_ERR_USAGE, "this body has no tissue called '%s' to go down to", level);
}

/* Lets @p sink along -@normal from the skin until it is @offset from the level, in steps that hit
 * nothing; false where there is none below, or where the skin itself is as near. */
static bool
sink(const PlaTriTree *tree, const double normal[3], double offset, double p[3])
{
  const double deepest = 0.05; /* m: what is below is no longer under this skin */
  const double close = fmax(0.01 * offset, 1e-5);
  for (double down = 0.0; down < deepest;) {
    const double near = pla_tri_tree_nearest(tree, p, deepest, NULL, NULL);
    const double step = near - offset;
    if (!(near < deepest) || step <= close)
      return near < deepest && down > 0.0;
    for (int d = 0; d < 3; d++)
      p[d] -= step * normal[d];
    down += step;
  }
  return false;
}

/* sinks a sheet to the level; triangles that find none below them go */
static PlaStatus
sink_sheet(const PlaSkin *skin, double reach, const PlaTriTree *tree, double offset,
           PlaBlade *blade, int *n_tris, PlaError *err)
{
  bool *found = pla_array_new0((size_t)blade->n_verts, sizeof *found);
  if (!found)
    return pla_fail_memory(err, "the blade");
#pragma omp parallel for schedule(dynamic, 64)
  for (int v = 0; v < blade->n_verts; v++) {
    PlaSkinPoint on;
    found[v] = pla_skin_snap(skin, &blade->pos[3 * v], reach, &on) &&
               sink(tree, on.normal, offset, &blade->pos[3 * v]);
  }
  int n = 0;
  for (int t = 0; t < blade->n_tris; t++) {
    const int *v = &blade->tri[3 * t];
    if (found[v[0]] && found[v[1]] && found[v[2]])
      memmove(&blade->tri[3 * n++], v, 3 * sizeof *v);
  }
  blade->n_tris = *n_tris = n;
  free(found);
  return PLA_OK;
}

PlaStatus
pla_surgery_undermine_level(PlaSurgery *self, const PlaSurgeryRegion *what, const char *level,
                            double offset, PlaProgress *progress, PlaError *err)
{
  Region region;
  PlaBlade floor = { 0 }, blade = { 0 };
  PlaTriTree *tree = NULL;
  PlaTriMesh tris = { 0 };
  int n_tris = 0;
  PlaStatus st = region_init(&region, self, what, err);
  if (st == PLA_OK)
    st = level_surface(self, level, &floor, err);
  if (st == PLA_OK) {
    tris = pla_blade_get(&floor);
    st = tris.n_tris > 0 ? pla_tri_tree_new(&tris, &tree, err) : PLA_OK;
  }
  if (st == PLA_OK)
    st = region_sheet(&region, 0.0, &blade, &n_tris, err);
  if (st == PLA_OK && n_tris > 0) {
    if (tree)
      st = sink_sheet(&region.skin, self->cell, tree, offset, &blade, &n_tris, err);
    if (st == PLA_OK && (!tree || n_tris == 0))
      st =
          pla_fail(err, PLA_ERR_EMPTY, "no %s lies below the skin that is to be undermined", level);
  }
  if (st == PLA_OK)
    st = undermine_along(self, &blade, n_tris, progress, err);
  pla_tri_tree_free(tree);
  pla_blade_clear(&floor);
  pla_blade_clear(&blade);
  region_clear(&region);
  return st;
}
