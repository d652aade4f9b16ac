/* Surfaces of level sets and labels. */
#include "anatomy/surface/surface.h"

#include "anatomy/base/memory.h"
#include "anatomy/levelset/contour.h"
#include "anatomy/mesh/tri-tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* whether all three vertices are on the same outer face of the grid's padding */
static bool
is_cap(const PlaContour *c, const int dims[3], int t)
{
  for (int d = 0; d < 3; d++)
    for (int side = 0; side < 2; side++) {
      double at = side ? dims[d] - 0.5 : -0.5;
      bool all = true;
      for (int q = 0; q < 3; q++)
        all = all && c->pos[3 * (size_t)c->tri[3 * (size_t)t + q] + d] == at;
      if (all)
        return true;
    }
  return false;
}

PlaStatus
pla_surface_from_levelset(const PlaLevelSet *ls, PlaMesh **out, PlaError *err)
{
  PlaContour c;
  PlaMesh *mesh = NULL;
  *out = NULL;
  PlaStatus st = pla_contour_extract(ls->dims, ls->phi_mm, true, &c, err);
  if (st == PLA_OK && c.n_tris == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "The level set has no surface: nothing is inside");
  if (st == PLA_OK)
    st = pla_mesh_new(c.n_verts, c.n_tris, 0, 0, &mesh, err);
  uint8_t *cap = NULL;
  if (st == PLA_OK) {
    cap = pla_mesh_add_field(mesh, PLA_SURFACE_CAP, PLA_ON_CELLS, PLA_U8, 1);
    if (!cap)
      st = pla_fail_memory(err, "the surface");
  }
  if (st == PLA_OK) {
    const double *a = ls->affine_mm;
    const double det = a[0] * (a[5] * a[10] - a[6] * a[9]) - a[1] * (a[4] * a[10] - a[6] * a[8]) +
                       a[2] * (a[4] * a[9] - a[5] * a[8]);
#pragma omp parallel for schedule(static)
    for (int v = 0; v < c.n_verts; v++) {
      double p[3];
      pla_affine_apply(a, c.pos + 3 * (size_t)v, p);
      for (int d = 0; d < 3; d++)
        mesh->pos[3 * (size_t)v + d] = p[d] / 1000.0;
    }
    /* a mirroring affine turns triangles inside out */
#pragma omp parallel for schedule(static)
    for (int t = 0; t < c.n_tris; t++) {
      const int *v = c.tri + 3 * (size_t)t;
      int *to = mesh->tri + 3 * (size_t)t;
      to[0] = v[0];
      to[1] = v[det < 0.0 ? 2 : 1];
      to[2] = v[det < 0.0 ? 1 : 2];
      cap[t] = is_cap(&c, ls->dims, t);
    }
  }
  pla_contour_clear(&c);
  if (st == PLA_OK)
    *out = mesh;
  else
    pla_mesh_free(mesh);
  return st;
}

/* largest distance from vertices and triangle centres of @mesh to the surface in @tree */
static double
farthest(const PlaTriMesh *mesh, const PlaTriTree *tree)
{
  const int n = mesh->n_verts + mesh->n_tris;
  double most = 0.0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(max : most)
  for (int i = 0; i < n; i++) {
    double x[3];
    for (int d = 0; d < 3; d++)
      if (i < mesh->n_verts) {
        x[d] = mesh->pos[3 * (size_t)i + d];
      } else {
        const int *v = mesh->tri + 3 * (size_t)(i - mesh->n_verts);
        x[d] = (mesh->pos[3 * (size_t)v[0] + d] + mesh->pos[3 * (size_t)v[1] + d] +
                mesh->pos[3 * (size_t)v[2] + d]) /
               3.0;
      }
    double far = pla_tri_tree_nearest(tree, x, INFINITY, NULL, NULL);
    most = far > most ? far : most;
  }
  return most;
}

PlaStatus
pla_surface_hausdorff(const PlaTriMesh *a, const PlaTriMesh *b, double *mm, PlaError *err)
{
  PlaTriTree *ta = NULL, *tb = NULL;
  PlaStatus st = pla_tri_tree_new(a, &ta, err);
  if (st == PLA_OK)
    st = pla_tri_tree_new(b, &tb, err);
  if (st == PLA_OK)
    *mm = 1000.0 * fmax(farthest(a, tb), farthest(b, ta));
  pla_tri_tree_free(ta);
  pla_tri_tree_free(tb);
  return st;
}

PlaStatus
pla_surface_voxel_faces(const PlaLabelMap *map, const int *ids, int n_ids, PlaMesh **out,
                        PlaError *err)
{
  const PlaVolume *vol = map->volume;
  const int *n = vol->dims;
  uint8_t *wanted = pla_array_new0(65536, 1);
  int *corner = NULL, n_verts = 0, n_tris = 0;
  const size_t corners = (size_t)(n[0] + 1) * (size_t)(n[1] + 1) * (size_t)(n[2] + 1);
  PlaMesh *mesh = NULL;
  PlaStatus st = PLA_OK;
  *out = NULL;
  corner = pla_array_new0(corners, sizeof *corner);
  if (!wanted || !corner)
    st = pla_fail_memory(err, "the voxel faces");
  for (int i = 0; st == PLA_OK && i < n_ids; i++)
    if (ids[i] >= 0 && ids[i] < 65536)
      wanted[ids[i]] = 1;
  /* first count faces and mark their corners, then write */
  for (int pass = 0; st == PLA_OK && pass < 2; pass++) {
    if (pass == 1) {
      for (size_t c = 0; c < corners; c++)
        corner[c] = corner[c] ? n_verts++ : -1;
      st = pla_mesh_new(n_verts, n_tris, 0, 0, &mesh, err);
      n_tris = 0;
    }
    const bool mirrored =
        vol->affine_mm[0] *
                (vol->affine_mm[5] * vol->affine_mm[10] - vol->affine_mm[6] * vol->affine_mm[9]) -
            vol->affine_mm[1] *
                (vol->affine_mm[4] * vol->affine_mm[10] - vol->affine_mm[6] * vol->affine_mm[8]) +
            vol->affine_mm[2] *
                (vol->affine_mm[4] * vol->affine_mm[9] - vol->affine_mm[5] * vol->affine_mm[8]) <
        0.0;
    for (int k = 0; st == PLA_OK && k < n[2]; k++)
      for (int j = 0; j < n[1]; j++)
        for (int i = 0; i < n[0]; i++) {
          const size_t v = (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
          if (!wanted[pla_label_map_get(map, v)])
            continue;
          const int at[3] = { i, j, k };
          for (int face = 0; face < 6; face++) {
            const int axis = face / 2, step = face % 2 ? 1 : -1;
            const size_t stride = axis == 0   ? 1
                                  : axis == 1 ? (size_t)n[0]
                                              : (size_t)n[0] * (size_t)n[1];
            bool border = step < 0 ? at[axis] == 0 : at[axis] == n[axis] - 1;
            if (!border && wanted[pla_label_map_get(map, step < 0 ? v - stride : v + stride)])
              continue;
            size_t id[4];
            for (int c = 0; c < 4; c++) {
              int p[3] = { i, j, k };
              p[axis] += face % 2;
              p[(axis + 1) % 3] += c == 1 || c == 2;
              p[(axis + 2) % 3] += c >= 2;
              id[c] = (size_t)p[0] +
                      (size_t)(n[0] + 1) * ((size_t)p[1] + (size_t)(n[1] + 1) * (size_t)p[2]);
              if (pass == 0) {
                corner[id[c]] = 1;
                continue;
              }
              const double x[3] = { p[0] - 0.5, p[1] - 0.5, p[2] - 0.5 };
              double mm[3];
              pla_affine_apply(vol->affine_mm, x, mm);
              for (int d = 0; d < 3; d++)
                mesh->pos[3 * (size_t)corner[id[c]] + d] = mm[d] / 1000.0;
            }
            if (pass == 1) {
              const bool turned = (step < 0) != mirrored;
              int *t = mesh->tri + 3 * (size_t)n_tris;
              const int quad[4] = { corner[id[0]], corner[id[turned ? 3 : 1]], corner[id[2]],
                                    corner[id[turned ? 1 : 3]] };
              memcpy(t, (int[]){ quad[0], quad[1], quad[2], quad[0], quad[2], quad[3] },
                     6 * sizeof *t);
            }
            n_tris += 2;
          }
        }
  }
  free(wanted);
  free(corner);
  if (st == PLA_OK && n_tris == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "No voxel has the label");
  if (st == PLA_OK)
    *out = mesh;
  else
    pla_mesh_free(mesh);
  return st;
}

/* positions become voxel indices of @vol */
static void
to_voxels(const PlaVolume *vol, PlaMesh *mesh)
{
  double inverse[12];
  pla_affine_invert(vol->affine_mm, inverse);
#pragma omp parallel for schedule(static)
  for (int v = 0; v < mesh->n_verts; v++) {
    double *x = mesh->pos + 3 * (size_t)v, mm[3] = { 1000.0 * x[0], 1000.0 * x[1], 1000.0 * x[2] };
    pla_affine_apply(inverse, mm, x);
  }
}

PlaStatus
pla_surface_interface(const PlaLabelMap *map, const int *ids, int n_ids, const PlaMesh *mesh,
                      double *mm, double *voxel_widths, PlaError *err)
{
  PlaMesh *voxels = NULL, *twin = NULL;
  PlaStatus st = pla_surface_voxel_faces(map, ids, n_ids, &voxels, err);
  if (st == PLA_OK) {
    const PlaTriMesh a = pla_mesh_tris(mesh), b = pla_mesh_tris(voxels);
    st = pla_surface_hausdorff(&a, &b, mm, err);
  }
  if (st == PLA_OK)
    st = pla_mesh_dup(mesh, &twin, err);
  if (st == PLA_OK) {
    to_voxels(map->volume, twin);
    to_voxels(map->volume, voxels);
    const PlaTriMesh a = pla_mesh_tris(twin), b = pla_mesh_tris(voxels);
    st = pla_surface_hausdorff(&a, &b, voxel_widths, err);
    *voxel_widths /= 1000.0;
  }
  pla_mesh_free(voxels);
  pla_mesh_free(twin);
  return st;
}

PlaSurfaceOptions
pla_surface_options_default(void)
{
  return (PlaSurfaceOptions){ 0 };
}

PlaStatus
pla_surface_check(const PlaMesh *mesh, PlaProgress *progress, PlaSurfaceReport *report,
                  PlaError *err)
{
  PlaMeshSummary summary;
  PlaTriTree *tree = NULL;
  const PlaTriMesh tris = pla_mesh_tris(mesh);
  PlaStatus st = pla_mesh_summary(mesh, &summary, err);
  if (st == PLA_OK)
    st = pla_tri_tree_new(&tris, &tree, err);
  if (st == PLA_OK)
    st = pla_self_intersections(tree, progress, &report->self_intersections, NULL, err);
  pla_tri_tree_free(tree);
  if (st == PLA_OK) {
    report->closed = summary.closed;
    report->components = summary.components;
    report->volume_mm3 = summary.volume_m3 * 1e9;
    const PlaField *cap = pla_mesh_find_field(mesh, PLA_SURFACE_CAP, PLA_ON_CELLS);
    report->cap_tris = 0;
    for (int t = 0; cap && t < mesh->n_tris; t++)
      report->cap_tris += ((const uint8_t *)cap->data)[t] != 0;
  }
  return st;
}

PlaStatus
pla_surface_from_labels(const PlaLabelMap *map, const int *ids, int n_ids,
                        const PlaSurfaceOptions *opts, PlaProgress *progress, PlaMesh **out,
                        PlaSurfaceReport *report, PlaError *err)
{
  PlaLabelLevelSetOptions lo = pla_label_levelset_options_default();
  PlaLabelLevelSetReport lr = { 0 };
  PlaLevelSet *ls = NULL;
  PlaMesh *mesh = NULL, *small = NULL;
  PlaSurfaceReport r = { .interface_mm = NAN, .interface_voxels = NAN };
  double spacing[3];
  lo.smooth_mm = opts->smooth_mm;
  /* triangles come from the samples beside them */
  pla_volume_spacing_mm(map->volume, spacing);
  lo.band_mm = 2.0 * fmax(spacing[0], fmax(spacing[1], spacing[2]));
  *out = NULL;

  pla_progress_phase(progress, "Making the level set", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = pla_levelset_from_labels(map, ids, n_ids, &lo, progress, &ls, &lr, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    st = pla_surface_from_levelset(ls, &mesh, err);
  pla_levelset_free(ls);
  if (st == PLA_OK && opts->n_tris > 0 && opts->n_tris < mesh->n_tris) {
    pla_progress_phase(progress, "Decimating", 0.8);
    span = pla_progress_push(progress);
    st = pla_surface_decimate(mesh, opts->n_tris, progress, &small, &r.decimation_mm, err);
    pla_progress_pop(progress, span);
    if (st == PLA_OK) {
      pla_mesh_free(mesh);
      mesh = small;
    }
  }
  pla_progress_phase(progress, "Checking", 1.0);
  if (st == PLA_OK)
    st = pla_surface_check(mesh, progress, &r, err);
  if (st == PLA_OK && opts->measure)
    st = pla_surface_interface(map, ids, n_ids, mesh, &r.interface_mm, &r.interface_voxels, err);
  r.label_volume_mm3 = lr.label_mm3;
  if (report)
    *report = r;
  if (st == PLA_OK)
    *out = mesh;
  else
    pla_mesh_free(mesh);
  return st;
}
