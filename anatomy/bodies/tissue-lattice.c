/* The lattice and the surface of a carved body. */
#include "anatomy/bodies/tissue-lattice.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/bodies/cubes.h"
#include "anatomy/bodies/refine-surface.h"
#include "anatomy/levelset/levelset.h"
#include "anatomy/mesh/tri-tree.h"
#include "anatomy/segment/components.h"
#include "anatomy/surface/surface.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void
pla_tissue_lattice_clear(PlaTissueLattice *self)
{
  pla_mesh_free(self->surface);
  pla_mesh_free(self->facets);
  pla_mesh_free(self->lattice);
  free(self->border);
  free(self->facet);
  free(self->tissue);
  *self = (PlaTissueLattice){ 0 };
}

/* ---- surface ---- */

/* Longest edge of the surface, in cells: supports and loads act at its vertices.  A bar clamped at
 * one end gives way by 3 % more at 1 than at 0.5. */
#define LONGEST_EDGE 0.5

/* what a voxel is to the body */
enum { OUTSIDE, SOFT, RIGID, CAVITY };

/* Bone and cavities are smoothed at this scale, mm, whatever the cells are: scans resolve neither
 * trabeculae nor the walls of sinuses, and nothing that is simulated depends on them. */
#define INNER_SMOOTH_MM 2.0
/* Bone ends so far below the skin at least, mm: smoothing must not lift it out.  Where voxels are
 * fine enough it is 1.6 of them, because a sheet thinner than its samples lie apart has folds for a
 * surface. */
#define LEAST_COVER_MM 1.0
#define MOST_COVER_MM 1.6
#define COVER_VOXELS 1.6

/* pieces of soft tissue smaller than this are no bodies, mm3: marrow, shreds in the airway, hair */
#define LEAST_PIECE_MM3 1000.0

/* Gives small pieces of soft tissue, but for the largest, to what surrounds them most.  @number:
 * scratch, of each voxel. */
static PlaStatus
absorb_islands(const int dims[3], double voxel_mm3, uint8_t *kind, uint32_t *number,
               PlaProgress *progress, PlaError *err)
{
  const size_t n = (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2];
  const size_t stride[3] = { 1, (size_t)dims[0], (size_t)dims[0] * (size_t)dims[1] };
  size_t n_pieces = 0;
  PlaComponent *piece = NULL;
  PlaStatus st = pla_components_find(dims, kind, SOFT, false, PLA_CONNECT_FACES, progress, number,
                                     &n_pieces, &piece, err);
  size_t *around = st == PLA_OK ? pla_array_new0(4 * (n_pieces + 1), sizeof *around) : NULL;
  if (st == PLA_OK && !around)
    st = pla_fail_memory(err, "the tissues of the body");
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    for (int d = 0; number[i] > 0 && d < 3; d++) {
      const int at = (int)(i / stride[d] % (size_t)dims[d]);
      if (at > 0)
        around[4 * (number[i] - 1) + kind[i - stride[d]]]++;
      if (at + 1 < dims[d])
        around[4 * (number[i] - 1) + kind[i + stride[d]]]++;
    }
  for (size_t i = 0; st == PLA_OK && i < n; i++) {
    const size_t p = number[i];
    if (p <= 1 || (double)piece[p - 1].n_voxels * voxel_mm3 >= LEAST_PIECE_MM3)
      continue;
    const size_t *a = &around[4 * (p - 1)];
    kind[i] = a[RIGID] >= a[OUTSIDE] && a[RIGID] >= a[CAVITY] ? RIGID
              : a[OUTSIDE] >= a[CAVITY]                       ? OUTSIDE
                                                              : CAVITY;
  }
  free(around);
  free(piece);
  return st;
}

/* Sorts the voxels: other labels than soft and rigid ones are outside where they are connected to
 * the largest piece of unlabelled voxels, else cavities. */
static PlaStatus
sort_voxels(const PlaLabelMap *map, const uint8_t *soft, const uint8_t *rigid,
            PlaProgress *progress, PlaLabelMap **out, PlaError *err)
{
  const PlaVolume *vol = map->volume;
  const int dims[4] = { vol->dims[0], vol->dims[1], vol->dims[2], 1 };
  const size_t n = pla_volume_n_voxels(vol);
  const PlaLabelTable none = { 0 };
  PlaVolume *sorted = NULL;
  uint32_t *number = pla_array_new(n, sizeof *number);
  size_t n_pieces = 0;
  PlaStatus st = number ? pla_volume_new(dims, PLA_U8, &sorted, err)
                        : pla_fail_memory(err, "the tissues of the body");
  if (st == PLA_OK) {
    uint8_t *kind = sorted->voxels;
    memcpy(sorted->affine_mm, vol->affine_mm, sizeof sorted->affine_mm);
    for (size_t i = 0; i < n; i++)
      kind[i] = pla_label_map_get(map, i) == 0 ? OUTSIDE : CAVITY;
    st = pla_components_find(dims, kind, OUTSIDE, false, PLA_CONNECT_FACES, progress, number,
                             &n_pieces, NULL, err);
    for (size_t i = 0; st == PLA_OK && i < n; i++) {
      const int label = pla_label_map_get(map, i);
      kind[i] = soft[label] ? SOFT : rigid[label] ? RIGID : number[i] == 1 ? OUTSIDE : CAVITY;
    }
  }
  if (st == PLA_OK)
    st = absorb_islands(dims, pla_volume_voxel_mm3(vol), sorted->voxels, number, progress, err);
  if (st == PLA_OK)
    st = pla_label_map_take(sorted, &none, out, err);
  if (st != PLA_OK)
    pla_volume_free(sorted);
  free(number);
  return st;
}

/* Level sets on the grid of the labels: *outer of all that is not outside, exact; *soft of what
 * remains of it without smoothed bone and cavities. */
static PlaStatus
make_levelsets(const PlaLabelMap *sorted, PlaProgress *progress, PlaLevelSet **outer,
               PlaLevelSet **soft, PlaError *err)
{
  const int all[] = { SOFT, RIGID, CAVITY };
  size_t *count = pla_array_new(65536, sizeof *count);
  PlaLabelLevelSetOptions opts = pla_label_levelset_options_default();
  PlaLevelSet *inner = NULL, *cover = NULL;
  double spacing[3];
  pla_volume_spacing_mm(sorted->volume, spacing);
  const double voxel_mm = fmin(spacing[0], fmin(spacing[1], spacing[2]));
  const double resolved_mm = COVER_VOXELS * voxel_mm;
  const double cover_mm =
      resolved_mm <= MOST_COVER_MM ? fmax(LEAST_COVER_MM, resolved_mm) : LEAST_COVER_MM;
  /* far enough for what is combined below */
  opts.band_mm = cover_mm + 2.0 * fmax(spacing[0], fmax(spacing[1], spacing[2]));
  opts.margin_mm = INFINITY;
  PlaStatus st = count ? PLA_OK : pla_fail_memory(err, "the surface of the body");
  if (st == PLA_OK) {
    pla_label_map_count(sorted, count);
    st = pla_levelset_from_labels(sorted, all, 3, &opts, progress, outer, NULL, err);
  }
  if (st == PLA_OK)
    st = pla_levelset_dup(*outer, soft, err);
  if (st == PLA_OK && count[RIGID] + count[CAVITY] > 0) {
    opts.smooth_mm = INNER_SMOOTH_MM;
    st = pla_levelset_from_labels(sorted, all + 1, 2, &opts, progress, &inner, NULL, err);
    if (st == PLA_OK)
      st = pla_levelset_dup(*outer, &cover, err);
    if (st == PLA_OK) {
      pla_levelset_offset(cover, -cover_mm);
      pla_levelset_combine(inner, PLA_CSG_INTERSECTION, cover);
      pla_levelset_combine(*soft, PLA_CSG_DIFFERENCE, inner);
    }
  }
  pla_levelset_free(inner);
  pla_levelset_free(cover);
  free(count);
  return st;
}

/* mm2 */
static double
area_of(const PlaMesh *mesh)
{
  double area = 0.0;
  for (int t = 0; t < mesh->n_tris; t++) {
    const int *v = &mesh->tri[3 * t];
    double e[3], f[3], normal[3];
    pla_vec3_sub(&mesh->pos[3 * v[1]], &mesh->pos[3 * v[0]], e);
    pla_vec3_sub(&mesh->pos[3 * v[2]], &mesh->pos[3 * v[0]], f);
    pla_vec3_cross(e, f, normal);
    area += 0.5e6 * pla_vec3_norm(normal);
  }
  return area;
}

/* Leaves out closed pieces of the surface that enclose less than LEAST_PIECE_MM3, other than the
 * largest: films of tissue over bare bone, and cavities as small.  Replaces *surface. */
static PlaStatus
drop_crumbs(PlaMesh **surface, PlaError *err)
{
  const PlaMesh *from = *surface;
  const PlaField *cap = pla_mesh_find_field(from, PLA_SURFACE_CAP, PLA_ON_CELLS);
  PlaMesh *to = NULL;
  int *root = pla_array_new((size_t)from->n_verts, sizeof *root), *number = NULL;
  double *volume = pla_array_new0((size_t)from->n_verts, sizeof *volume);
  int n_verts = 0, n_tris = 0, largest = 0;
  PlaStatus st = PLA_OK;
  if (!root || !volume || !(number = pla_array_new((size_t)from->n_verts, sizeof *number)))
    st = pla_fail_memory(err, "the surface of the body");
  for (int v = 0; st == PLA_OK && v < from->n_verts; v++)
    root[v] = v;
  for (int i = 0; st == PLA_OK && i < 3 * from->n_tris; i++)
    pla_union_find_join(root, from->tri[i], from->tri[i - i % 3]);
  for (int t = 0; st == PLA_OK && t < from->n_tris; t++) {
    const int *tri = &from->tri[3 * t];
    double normal[3];
    pla_vec3_cross(&from->pos[3 * tri[0]], &from->pos[3 * tri[1]], normal);
    volume[pla_union_find_root(root, tri[0])] +=
        1e9 / 6.0 * pla_vec3_dot(normal, &from->pos[3 * tri[2]]);
  }
  for (int v = 0; st == PLA_OK && v < from->n_verts; v++)
    largest = volume[v] > volume[largest] ? v : largest;
  /* numbers of the vertices that stay */
  for (int v = 0; st == PLA_OK && v < from->n_verts; v++) {
    const int piece = pla_union_find_root(root, v);
    const bool stays = piece == largest || fabs(volume[piece]) >= LEAST_PIECE_MM3;
    number[v] = stays ? n_verts++ : -1;
  }
  for (int t = 0; st == PLA_OK && t < from->n_tris; t++)
    n_tris += number[from->tri[3 * t]] >= 0;
  if (st == PLA_OK)
    st = pla_mesh_new(n_verts, n_tris, 0, 0, &to, err);
  uint8_t *caps =
      st == PLA_OK && cap ? pla_mesh_add_field(to, PLA_SURFACE_CAP, PLA_ON_CELLS, PLA_U8, 1) : NULL;
  if (st == PLA_OK && cap && !caps)
    st = pla_fail_memory(err, "the surface of the body");
  for (int v = 0; st == PLA_OK && v < from->n_verts; v++)
    if (number[v] >= 0)
      memcpy(&to->pos[3 * number[v]], &from->pos[3 * v], 3 * sizeof *to->pos);
  for (int t = 0, at = 0; st == PLA_OK && t < from->n_tris; t++) {
    if (number[from->tri[3 * t]] < 0)
      continue;
    for (int k = 0; k < 3; k++)
      to->tri[3 * at + k] = number[from->tri[3 * t + k]];
    if (caps)
      caps[at] = ((const uint8_t *)cap->data)[t];
    at++;
  }
  if (st == PLA_OK) {
    pla_mesh_free(*surface);
    *surface = to;
  } else {
    pla_mesh_free(to);
  }
  free(root);
  free(number);
  free(volume);
  return st;
}

/* largest distance of the skin, those vertices of @full that lie on the level set, from the
 * surface; inner surfaces matter less */
static PlaStatus
measure_skin(PlaTissueLattice *self, const PlaMesh *full, const PlaLevelSet *outer, PlaError *err)
{
  const double on_mm = 0.05, far_m = 0.01;
  const PlaTriMesh tris = pla_mesh_tris(self->surface);
  PlaTriTree *tree = NULL;
  PlaStatus st = pla_tri_tree_new(&tris, &tree, err);
  double most = 0.0;
  if (st != PLA_OK)
    return st;
#pragma omp parallel for schedule(dynamic, 256) reduction(max : most)
  for (int v = 0; v < full->n_verts; v++) {
    const double *p = &full->pos[3 * v], mm[3] = { 1e3 * p[0], 1e3 * p[1], 1e3 * p[2] };
    if (fabs(pla_levelset_at(outer, mm)) < on_mm)
      most = fmax(most, pla_tri_tree_nearest(tree, p, far_m, NULL, NULL));
  }
  pla_tri_tree_free(tree);
  self->deviation_mm = 1e3 * most;
  return PLA_OK;
}

/* Reduces the surface as far as the skin stays within 0.4 voxels: triangles of several
 * voxels are enough nearly everywhere, and carving takes time for each of them. */
static PlaStatus
reduce_surface(PlaTissueLattice *self, const PlaMesh *full, const PlaLevelSet *outer,
               double voxel_mm, PlaProgress *progress, PlaError *err)
{
  const double edge = 4.0 * voxel_mm; /* of equilateral triangles, to begin with */
  double wanted = fmax(area_of(full) / (0.433 * edge * edge), 500.0);
  PlaStatus st = PLA_OK;
  for (bool fine = false; st == PLA_OK && !fine; wanted *= 1.6) {
    pla_mesh_free(self->surface);
    self->surface = NULL;
    self->deviation_mm = 0.0;
    if (wanted < full->n_tris)
      st = pla_surface_decimate(full, (int)wanted, progress, &self->surface, NULL, err);
    else
      st = pla_mesh_dup(full, &self->surface, err);
    if (st == PLA_OK)
      st = measure_skin(self, full, outer, err);
    fine = self->deviation_mm <= 0.4 * voxel_mm;
  }
  return st;
}

/* label of the voxel at @at, index coordinates; OUTSIDE beyond the end of the scan */
static int
label_at(const PlaLabelMap *map, const double at[3])
{
  const PlaVolume *vol = map->volume;
  size_t index = 0;
  for (int d = 2; d >= 0; d--) {
    if (!(at[d] > -0.5 && at[d] < vol->dims[d] - 0.5))
      return 0;
    index = index * (size_t)vol->dims[d] + (size_t)lround(fmax(at[d], 0.0));
  }
  return pla_label_map_get(map, index);
}

/* what the voxels around @pos_mm, where the surface is an inner one, are most: bone or cavity */
static PlaBorder
inner_border(const PlaLabelMap *sorted, const double inverse[12], const double pos_mm[3])
{
  int rigid = 0;
  double at[3];
  pla_affine_apply(inverse, pos_mm, at);
  for (int k = 0; k < 27; k++) {
    const double near[3] = { at[0] + k % 3 - 1, at[1] + k / 3 % 3 - 1, at[2] + k / 9 - 1 };
    const int kind = label_at(sorted, near);
    rigid += kind == RIGID ? 1 : kind == CAVITY ? -1 : 0;
  }
  return rigid >= 0 ? PLA_BORDER_BONE : PLA_BORDER_CAVITY;
}

/* tells the caps, the skin and the inner surfaces apart */
static PlaStatus
find_borders(PlaTissueLattice *self, const PlaLabelMap *sorted, const double inverse[12],
             const PlaLevelSet *outer, double voxel_mm, PlaError *err)
{
  const PlaMesh *s = self->surface;
  const PlaField *cap = pla_mesh_find_field(s, PLA_SURFACE_CAP, PLA_ON_CELLS);
  self->border = pla_array_new0((size_t)s->n_tris, sizeof *self->border);
  if (!self->border)
    return pla_fail_memory(err, "the surface of the body");
  for (int t = 0; t < s->n_tris; t++) {
    double mm[3] = { 0.0, 0.0, 0.0 };
    for (int k = 0; k < 9; k++)
      mm[k % 3] += 1e3 / 3.0 * s->pos[3 * s->tri[3 * t + k / 3] + k % 3];
    /* bone stays further below the skin than the surface strays from it */
    const bool inner = pla_levelset_at(outer, mm) < -0.5 * fmin(voxel_mm, LEAST_COVER_MM);
    self->border[t] = cap && ((const uint8_t *)cap->data)[t] ? PLA_BORDER_END
                      : inner                                ? inner_border(sorted, inverse, mm)
                                                             : PLA_BORDER_AIR;
  }
  return PLA_OK;
}

static PlaStatus
make_surface(PlaTissueLattice *self, const PlaLabelMap *map, const double inverse[12],
             const uint8_t *soft, const uint8_t *rigid, PlaProgress *progress, PlaError *err)
{
  double spacing[3];
  PlaLabelMap *sorted = NULL;
  PlaLevelSet *outer = NULL, *tissue = NULL;
  PlaMesh *full = NULL;
  pla_volume_spacing_mm(map->volume, spacing);
  const double voxel = fmin(spacing[0], fmin(spacing[1], spacing[2]));
  PlaStatus st = sort_voxels(map, soft, rigid, progress, &sorted, err);
  if (st == PLA_OK)
    st = make_levelsets(sorted, progress, &outer, &tissue, err);
  if (st == PLA_OK)
    st = pla_surface_from_levelset(tissue, &full, err);
  if (st == PLA_OK)
    st = drop_crumbs(&full, err);
  if (st == PLA_OK)
    st = reduce_surface(self, full, outer, voxel, progress, err);
  if (st == PLA_OK)
    st = find_borders(self, sorted, inverse, outer, voxel, err);
  pla_mesh_free(full);
  pla_levelset_free(outer);
  pla_levelset_free(tissue);
  pla_label_map_free(sorted);
  return st;
}

/* ---- lattice ---- */

/* where cells are made smaller, what acts on the skin reaches many of them anyway */
static double
longest_edge(const double pos[3], const void *data)
{
  const PlaCubes *cubes = data;
  return fmin(pla_cubes_size_at(cubes, pos), LONGEST_EDGE * ldexp(cubes->cell, cubes->levels));
}

/* the surface becomes the facets, and the surface that they are divided into */
static PlaStatus
halve_edges(PlaTissueLattice *self, const PlaCubes *cubes, PlaError *err)
{
  unsigned char *border = self->border;
  self->facets = self->surface;
  self->surface = NULL;
  self->border = NULL;
  PlaStatus st =
      pla_surface_halve_edges(self->facets, longest_edge, cubes, &self->surface, &self->facet, err);
  if (st == PLA_OK &&
      !(self->border = pla_array_new((size_t)self->surface->n_tris, sizeof *self->border)))
    st = pla_fail_memory(err, "the surface of the body");
  for (int t = 0; st == PLA_OK && t < self->surface->n_tris; t++)
    self->border[t] = border[self->facet[t]];
  free(border);
  return st;
}

/* Cells around the surface, and its edges halved so far that what holds the body, and what pulls at
 * it, reaches every cell there. */
static PlaStatus
make_lattice(PlaTissueLattice *self, const PlaCellSizes *sizes, PlaError *err)
{
  const double ratio =
      sizes->skin_cell_mm > 0.0 ? fmax(sizes->cell_mm / sizes->skin_cell_mm, 1.0) : 1.0;
  const int levels = (int)ceil(log2(ratio) - 1e-9);
  PlaCubes cubes = { 0 };
  PlaStatus st = levels <= PLA_CUBES_LEVELS
                     ? pla_cubes_init(&cubes, self->surface, 1e-3 * sizes->cell_mm, levels, err)
                     : pla_fail(err, PLA_ERR_USAGE,
                                "cells of %g mm at the skin are too small beside cells of %g mm; "
                                "they can be %d times smaller",
                                sizes->skin_cell_mm, sizes->cell_mm, 1 << PLA_CUBES_LEVELS);
  if (st == PLA_OK) {
    const double depth =
        sizes->skin_depth_mm > 0.0 ? 1e-3 * sizes->skin_depth_mm : 2.0 * cubes.cell;
    for (int t = 0; t < self->surface->n_tris; t++)
      if (self->border[t] == PLA_BORDER_AIR)
        pla_cubes_refine(&cubes, self->surface, t, depth);
    pla_cubes_balance(&cubes);
    st = pla_cubes_fill(&cubes, self->surface, err);
  }
  if (st == PLA_OK)
    st = pla_cubes_tets(&cubes, &self->lattice, err);
  if (st == PLA_OK)
    st = halve_edges(self, &cubes, err);
  pla_cubes_clear(&cubes);
  return st;
}

/* How many of the points of a regular pattern in a tet, whose corners are @corner in index
 * coordinates, lie in each tissue; tissue: 1 + its index, of each label. */
static void
count_tissues(const PlaLabelMap *map, const double corner[4][3], const int *tissue, int *count)
{
  enum { STEPS = 5 }; /* 56 points */
  for (int a = 0; a <= STEPS; a++)
    for (int b = 0; a + b <= STEPS; b++)
      for (int c = 0; a + b + c <= STEPS; c++) {
        const double w[4] = { a, b, c, STEPS - a - b - c };
        double at[3] = { 0.0, 0.0, 0.0 };
        for (int k = 0; k < 12; k++)
          at[k % 3] += (w[k / 3] + 0.25) / (STEPS + 1.0) * corner[k / 3][k % 3];
        const int label = label_at(map, at);
        if (label > 0 && tissue[label])
          count[tissue[label] - 1]++;
      }
}

/* the tissue that most of those points in each tet lie in */
static PlaStatus
find_tissues(PlaTissueLattice *self, const PlaLabelMap *map, const double inverse[12],
             const int *ids, int n_ids, PlaError *err)
{
  const PlaTetMesh mesh = pla_mesh_tets(self->lattice);
  int *tissue = pla_array_new0(65536, sizeof *tissue); /* 1 + the index of a label */
  self->tissue = pla_array_new0((size_t)mesh.n_tets, sizeof *self->tissue);
  bool ok = tissue && self->tissue;
  for (int g = 0; ok && g < n_ids; g++)
    tissue[ids[g]] = g + 1;
  if (ok && n_ids > 1) { /* else there is no choice */
#pragma omp parallel reduction(&& : ok)
    {
      int *count = pla_array_new((size_t)n_ids, sizeof *count);
      ok = count != NULL;
#pragma omp for schedule(static)
      for (int t = 0; t < mesh.n_tets; t++) {
        double corner[4][3];
        if (!ok)
          continue;
        for (int k = 0; k < 4; k++) {
          const double *pos = &mesh.rest[3 * (size_t)mesh.tet[4 * (size_t)t + (size_t)k]];
          const double mm[3] = { 1e3 * pos[0], 1e3 * pos[1], 1e3 * pos[2] };
          pla_affine_apply(inverse, mm, corner[k]);
        }
        memset(count, 0, (size_t)n_ids * sizeof *count);
        count_tissues(map, (const double(*)[3])corner, tissue, count);
        for (int g = 1; g < n_ids; g++)
          if (count[g] > count[self->tissue[t]])
            self->tissue[t] = g;
      }
      free(count);
    }
  }
  free(tissue);
  return ok ? PLA_OK : pla_fail_memory(err, "the tissues of the body");
}

PlaStatus
pla_tissue_lattice_init(PlaTissueLattice *self, const PlaLabelMap *map, const int *ids, int n_ids,
                        const unsigned char *rigid, const PlaCellSizes *sizes,
                        PlaProgress *progress, PlaError *err)
{
  double inverse[12];
  *self = (PlaTissueLattice){ 0 };
  uint8_t *soft = pla_array_new0(65536, sizeof *soft);
  PlaStatus st = soft ? PLA_OK : pla_fail_memory(err, "the body");
  if (st == PLA_OK && !pla_affine_invert(map->volume->affine_mm, inverse))
    st = pla_fail(err, PLA_ERR_GEOMETRY, "the voxels of the labels have no volume");
  for (int g = 0; st == PLA_OK && g < n_ids; g++)
    soft[ids[g]] = 1;
  if (st == PLA_OK)
    st = make_surface(self, map, inverse, soft, rigid, progress, err);
  if (st == PLA_OK)
    st = make_lattice(self, sizes, err);
  if (st == PLA_OK)
    st = find_tissues(self, map, inverse, ids, n_ids, err);
  if (st != PLA_OK)
    pla_tissue_lattice_clear(self);
  free(soft);
  return st;
}

PlaStatus
pla_tissue_lattice_from_surface(PlaTissueLattice *self, const PlaMesh *surface,
                                const PlaCellSizes *sizes, PlaError *err)
{
  *self = (PlaTissueLattice){ 0 };
  PlaStatus st = pla_mesh_dup(surface, &self->surface, err);
  if (st == PLA_OK) {
    self->border = pla_array_new0((size_t)surface->n_tris, sizeof *self->border); /* air */
    st = self->border ? make_lattice(self, sizes, err) : pla_fail_memory(err, "the body");
  }
  if (st == PLA_OK) {
    self->tissue = pla_array_new0((size_t)self->lattice->n_tets, sizeof *self->tissue);
    if (!self->tissue)
      st = pla_fail_memory(err, "the body");
  }
  if (st != PLA_OK)
    pla_tissue_lattice_clear(self);
  return st;
}
