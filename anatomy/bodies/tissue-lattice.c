/* The lattice and the surface of a carved body.
 *
 * Cubes that come near tissue are marked.  Four tets join the centres of two neighbouring cubes
 * with the edges of the face between them; those between marked cubes are kept.  So the border of
 * the lattice lies outside of the tissue everywhere. */
#include "anatomy/bodies/tissue-lattice.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/bodies/refine-surface.h"
#include "anatomy/levelset/levelset.h"
#include "anatomy/mesh/tri-tree.h"
#include "anatomy/mesh/winding.h"
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
  pla_mesh_free(self->lattice);
  free(self->border);
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
/* bone ends so far below the skin at least, mm: smoothing must not lift it out */
#define LEAST_COVER_MM 1.0

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
  opts.band_mm = INFINITY;
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
      pla_levelset_offset(cover, -LEAST_COVER_MM);
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

static int
root_of(int *parent, int v)
{
  while (parent[v] != v)
    v = parent[v] = parent[parent[v]];
  return v;
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
    root[root_of(root, from->tri[i])] = root_of(root, from->tri[i - i % 3]);
  for (int t = 0; st == PLA_OK && t < from->n_tris; t++) {
    const int *tri = &from->tri[3 * t];
    double normal[3];
    pla_vec3_cross(&from->pos[3 * tri[0]], &from->pos[3 * tri[1]], normal);
    volume[root_of(root, tri[0])] += 1e9 / 6.0 * pla_vec3_dot(normal, &from->pos[3 * tri[2]]);
  }
  for (int v = 0; st == PLA_OK && v < from->n_verts; v++)
    largest = volume[v] > volume[largest] ? v : largest;
  /* numbers of the vertices that stay */
  for (int v = 0; st == PLA_OK && v < from->n_verts; v++) {
    const int piece = root_of(root, v);
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
             const uint8_t *soft, const uint8_t *rigid, double cell_mm, PlaProgress *progress,
             PlaError *err)
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
  /* what holds the body, and what pulls at it, must reach every cell there */
  if (st == PLA_OK)
    st = pla_surface_halve_edges(LONGEST_EDGE * 1e-3 * cell_mm, &self->surface, &self->border, err);
  pla_mesh_free(full);
  pla_levelset_free(outer);
  pla_levelset_free(tissue);
  pla_label_map_free(sorted);
  return st;
}

/* ---- lattice ---- */

typedef struct {
  double origin[3], cell; /* m */
  int n[3];               /* cubes */
  uint8_t *near;          /* of each cube: tissue is in it or close */
} Cubes;

static size_t
cube_at(const Cubes *self, int i, int j, int k)
{
  return ((size_t)k * (size_t)self->n[1] + (size_t)j) * (size_t)self->n[0] + (size_t)i;
}

/* marks the cubes that come near a triangle or a voxel of tissue */
static void
mark_box(const Cubes *self, const double lo[3], const double hi[3])
{
  int first[3], last[3];
  for (int d = 0; d < 3; d++) {
    first[d] = (int)floor((lo[d] - self->origin[d]) / self->cell);
    last[d] = (int)floor((hi[d] - self->origin[d]) / self->cell);
    first[d] = first[d] < 0 ? 0 : first[d];
    last[d] = last[d] >= self->n[d] ? self->n[d] - 1 : last[d];
  }
  for (int k = first[2]; k <= last[2]; k++)
    for (int j = first[1]; j <= last[1]; j++)
      for (int i = first[0]; i <= last[0]; i++)
        self->near[cube_at(self, i, j, k)] = 1;
}

static PlaStatus
cubes_init(Cubes *self, const PlaMesh *surface, double cell, PlaError *err)
{
  const double most = 5e7; /* cubes */
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  double n = 1.0;
  *self = (Cubes){ .cell = cell };
  for (int i = 0; i < 3 * surface->n_verts; i++) {
    lo[i % 3] = fmin(lo[i % 3], surface->pos[i]);
    hi[i % 3] = fmax(hi[i % 3], surface->pos[i]);
  }
  /* one cube of room on all sides, and the body in the middle */
  for (int d = 0; d < 3; d++) {
    n *= ceil((hi[d] - lo[d]) / cell) + 3.0;
    if (n > most)
      return pla_fail(err, PLA_ERR_MEMORY,
                      "cells of %g mm are too fine for a body of this size; use larger ones",
                      1e3 * cell);
    self->n[d] = (int)ceil((hi[d] - lo[d]) / cell) + 3;
    self->origin[d] = 0.5 * (lo[d] + hi[d]) - 0.5 * self->n[d] * cell;
  }
  self->near = pla_array_new0((size_t)n, sizeof *self->near);
  return self->near ? PLA_OK : pla_fail_memory(err, "the lattice");
}

/* marks cubes that hold tissue */
static void
mark_tissue(const Cubes *self, const PlaLabelMap *map, const uint8_t *soft)
{
  const PlaVolume *vol = map->volume;
  double reach[3]; /* of a voxel from its middle, m */
  for (int d = 0; d < 3; d++)
    reach[d] = 0.5e-3 * (fabs(vol->affine_mm[4 * d]) + fabs(vol->affine_mm[4 * d + 1]) +
                         fabs(vol->affine_mm[4 * d + 2]));
  size_t i = 0;
  for (int z = 0; z < vol->dims[2]; z++)
    for (int y = 0; y < vol->dims[1]; y++)
      for (int x = 0; x < vol->dims[0]; x++, i++) {
        if (!soft[pla_label_map_get(map, i)])
          continue;
        const double index[3] = { x, y, z };
        double mm[3], lo[3], hi[3];
        pla_volume_to_ras_mm(vol, index, mm);
        for (int d = 0; d < 3; d++) {
          lo[d] = 1e-3 * mm[d] - reach[d];
          hi[d] = 1e-3 * mm[d] + reach[d];
        }
        mark_box(self, lo, hi);
      }
}

/* marks cubes that the surface passes through */
static void
mark_surface(const Cubes *self, const PlaMesh *surface)
{
  /* a hair wider, so that no triangle lies in the border of the lattice */
  const double margin = 1e-3 * self->cell;
  for (int t = 0; t < surface->n_tris; t++) {
    double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
    for (int k = 0; k < 9; k++) {
      const double x = surface->pos[3 * surface->tri[3 * t + k / 3] + k % 3];
      lo[k % 3] = fmin(lo[k % 3], x - margin);
      hi[k % 3] = fmax(hi[k % 3], x + margin);
    }
    mark_box(self, lo, hi);
  }
}

/* marks cubes whose middle lies inside the surface */
static PlaStatus
mark_inside(const Cubes *self, const PlaMesh *surface, PlaError *err)
{
  const PlaTriMesh tris = pla_mesh_tris(surface);
  const size_t n = (size_t)self->n[0] * (size_t)self->n[1] * (size_t)self->n[2];
  PlaWinding *winding = NULL;
  double *middle = pla_array_new(3 * n, sizeof *middle), *turns = pla_array_new(n, sizeof *turns);
  PlaStatus st =
      middle && turns ? pla_winding_new(&tris, &winding, err) : pla_fail_memory(err, "the lattice");
  for (size_t i = 0; st == PLA_OK && i < n; i++) {
    const size_t w = (size_t)self->n[0], h = (size_t)self->n[1];
    const double index[3] = { (double)(i % w), (double)(i / w % h), (double)(i / (w * h)) };
    for (size_t d = 0; d < 3; d++)
      middle[3 * i + d] = self->origin[d] + self->cell * (index[d] + 0.5);
  }
  if (st == PLA_OK)
    st = pla_winding_batch(winding, n, middle, NULL, turns, err);
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    self->near[i] |= turns[i] > 0.5;
  pla_winding_free(winding);
  free(middle);
  free(turns);
  return st;
}

/* number of the vertex at @slot, a new one at first sight */
static int
vert_at(int *number, size_t slot, int *n_verts)
{
  if (number[slot] < 0)
    number[slot] = (*n_verts)++;
  return number[slot];
}

/* tets between marked cubes; counts them where @mesh is NULL.  @number: of corners, then centres */
static void
make_tets(const Cubes *self, int *number, int *n_verts, int *n_tets, PlaMesh *mesh)
{
  const size_t wide = (size_t)self->n[0] + 1, high = (size_t)self->n[1] + 1;
  const size_t n_corners = wide * high * ((size_t)self->n[2] + 1);
  *n_tets = 0;
  for (int k = 0; k < self->n[2]; k++)
    for (int j = 0; j < self->n[1]; j++)
      for (int i = 0; i < self->n[0]; i++)
        for (int d = 0; d < 3; d++) {
          const int at[3] = { i, j, k };
          int next[3] = { i, j, k };
          if (++next[d] == self->n[d])
            continue;
          const size_t here = cube_at(self, i, j, k),
                       there = cube_at(self, next[0], next[1], next[2]);
          if (!self->near[here] && !self->near[there])
            continue;
          /* around the face between them, counter-clockwise seen from beyond it */
          int ring[4];
          for (int q = 0; q < 4; q++) {
            int corner[3] = { at[0], at[1], at[2] };
            corner[d]++;
            corner[(d + 1) % 3] += q == 1 || q == 2;
            corner[(d + 2) % 3] += q >= 2;
            ring[q] =
                vert_at(number,
                        ((size_t)corner[2] * high + (size_t)corner[1]) * wide + (size_t)corner[0],
                        n_verts);
          }
          const int a = vert_at(number, n_corners + here, n_verts),
                    b = vert_at(number, n_corners + there, n_verts);
          for (int q = 0; q < 4; q++, (*n_tets)++)
            if (mesh) {
              const int tet[4] = { a, ring[q], ring[(q + 1) % 4], b };
              memcpy(&mesh->tet[4 * (size_t)*n_tets], tet, sizeof tet);
            }
        }
}

static PlaStatus
make_lattice(PlaTissueLattice *self, const Cubes *cubes, PlaError *err)
{
  const size_t wide = (size_t)cubes->n[0] + 1, high = (size_t)cubes->n[1] + 1,
               deep = (size_t)cubes->n[2] + 1;
  const size_t n_corners = wide * high * deep,
               n = n_corners + (size_t)cubes->n[0] * (size_t)cubes->n[1] * (size_t)cubes->n[2];
  int *number = pla_array_new(n, sizeof *number), n_verts = 0, n_tets = 0;
  if (!number)
    return pla_fail_memory(err, "the lattice");
  memset(number, -1, n * sizeof *number);
  make_tets(cubes, number, &n_verts, &n_tets, NULL);
  PlaStatus st = pla_mesh_new(n_verts, 0, n_tets, 0, &self->lattice, err);
  if (st == PLA_OK)
    make_tets(cubes, number, &n_verts, &n_tets, self->lattice);
  for (size_t i = 0; st == PLA_OK && i < n; i++) {
    if (number[i] < 0)
      continue;
    const bool corner = i < n_corners;
    const size_t at = corner ? i : i - n_corners, w = corner ? wide : wide - 1,
                 h = corner ? high : high - 1;
    const double index[3] = { (double)(at % w), (double)(at / w % h), (double)(at / (w * h)) };
    for (int d = 0; d < 3; d++)
      self->lattice->pos[3 * (size_t)number[i] + (size_t)d] =
          cubes->origin[d] + cubes->cell * (index[d] + (corner ? 0.0 : 0.5));
  }
  free(number);
  return st;
}

/* the tissue that most of the points of a regular pattern in each tet lie in */
static PlaStatus
find_tissues(PlaTissueLattice *self, const PlaLabelMap *map, const double inverse[12],
             const int *ids, int n_ids, PlaError *err)
{
  enum { STEPS = 5 }; /* 56 points */
  const PlaTetMesh mesh = pla_mesh_tets(self->lattice);
  int *tissue = pla_array_new0(65536, sizeof *tissue); /* 1 + the index of a label */
  int *count = pla_array_new((size_t)n_ids, sizeof *count);
  self->tissue = pla_array_new0((size_t)mesh.n_tets, sizeof *self->tissue);
  const bool ok = tissue && count && self->tissue;
  for (int g = 0; ok && g < n_ids; g++)
    tissue[ids[g]] = g + 1;
  for (int t = 0; ok && t < mesh.n_tets; t++) {
    memset(count, 0, (size_t)n_ids * sizeof *count);
    for (int a = 0; a <= STEPS; a++)
      for (int b = 0; a + b <= STEPS; b++)
        for (int c = 0; a + b + c <= STEPS; c++) {
          const double w[4] = { a, b, c, STEPS - a - b - c };
          double pos[3] = { 0.0, 0.0, 0.0 };
          for (int k = 0; k < 12; k++)
            pos[k % 3] +=
                (w[k / 3] + 0.25) / (STEPS + 1.0) * mesh.rest[3 * mesh.tet[4 * t + k / 3] + k % 3];
          const double mm[3] = { 1e3 * pos[0], 1e3 * pos[1], 1e3 * pos[2] };
          double at[3];
          pla_affine_apply(inverse, mm, at);
          const int label = label_at(map, at);
          if (label > 0 && tissue[label])
            count[tissue[label] - 1]++;
        }
    for (int g = 1; g < n_ids; g++)
      if (count[g] > count[self->tissue[t]])
        self->tissue[t] = g;
  }
  free(tissue);
  free(count);
  return ok ? PLA_OK : pla_fail_memory(err, "the tissues of the body");
}

PlaStatus
pla_tissue_lattice_init(PlaTissueLattice *self, const PlaLabelMap *map, const int *ids, int n_ids,
                        const unsigned char *rigid, double cell_mm, PlaProgress *progress,
                        PlaError *err)
{
  double inverse[12];
  Cubes cubes = { 0 };
  *self = (PlaTissueLattice){ 0 };
  uint8_t *soft = pla_array_new0(65536, sizeof *soft);
  PlaStatus st = soft ? PLA_OK : pla_fail_memory(err, "the body");
  if (st == PLA_OK && !pla_affine_invert(map->volume->affine_mm, inverse))
    st = pla_fail(err, PLA_ERR_GEOMETRY, "the voxels of the labels have no volume");
  for (int g = 0; st == PLA_OK && g < n_ids; g++)
    soft[ids[g]] = 1;
  if (st == PLA_OK)
    st = make_surface(self, map, inverse, soft, rigid, cell_mm, progress, err);
  if (st == PLA_OK)
    st = cubes_init(&cubes, self->surface, 1e-3 * cell_mm, err);
  if (st == PLA_OK) {
    mark_tissue(&cubes, map, soft);
    mark_surface(&cubes, self->surface);
    st = make_lattice(self, &cubes, err);
  }
  if (st == PLA_OK)
    st = find_tissues(self, map, inverse, ids, n_ids, err);
  if (st != PLA_OK)
    pla_tissue_lattice_clear(self);
  free(cubes.near);
  free(soft);
  return st;
}

PlaStatus
pla_tissue_lattice_from_surface(PlaTissueLattice *self, const PlaMesh *surface, double cell_mm,
                                PlaError *err)
{
  Cubes cubes = { 0 };
  *self = (PlaTissueLattice){ 0 };
  PlaStatus st = pla_mesh_dup(surface, &self->surface, err);
  if (st == PLA_OK) {
    self->border = pla_array_new0((size_t)surface->n_tris, sizeof *self->border); /* air */
    st = self->border ? pla_surface_halve_edges(LONGEST_EDGE * 1e-3 * cell_mm, &self->surface,
                                                &self->border, err)
                      : pla_fail_memory(err, "the body");
  }
  if (st == PLA_OK)
    st = cubes_init(&cubes, self->surface, 1e-3 * cell_mm, err);
  if (st == PLA_OK) {
    mark_surface(&cubes, self->surface);
    st = mark_inside(&cubes, self->surface, err);
  }
  if (st == PLA_OK)
    st = make_lattice(self, &cubes, err);
  if (st == PLA_OK) {
    self->tissue = pla_array_new0((size_t)self->lattice->n_tets, sizeof *self->tissue);
    if (!self->tissue)
      st = pla_fail_memory(err, "the body");
  }
  if (st != PLA_OK)
    pla_tissue_lattice_clear(self);
  free(cubes.near);
  return st;
}
