/* Embedding in a lattice of coarse tetrahedra. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/embed/lattice-embed.h"
#include "anatomy/surface/surface.h"
#include "app/methods/methods.h"

#include <math.h>
#include <stdlib.h>

/* labels as regions: the first id of the tissue that a place is in */
typedef struct {
  const PlaLabelMap *map;
  double inverse_mm[12];
  int *region; /* 65536: label -> region, 0 outside */
} Regions;

static int
region_at(const double pos_mm[3], const void *data)
{
  const Regions *r = data;
  const int *n = r->map->volume->dims;
  double x[3];
  size_t at[3];
  pla_affine_apply(r->inverse_mm, pos_mm, x);
  for (int d = 0; d < 3; d++)
    at[d] = (size_t)fmin(fmax(floor(x[d] + 0.5), 0.0), n[d] - 1.0);
  return r
      ->region[pla_label_map_get(r->map, at[0] + (size_t)n[0] * (at[1] + (size_t)n[1] * at[2]))];
}

/* sums of the normals of the triangles around each vertex, weighted by area; free() */
static double *
vertex_normals(const PlaMesh *mesh)
{
  double *normal = pla_array_new0((size_t)mesh->n_verts, 3 * sizeof *normal);
  for (int t = 0; normal && t < mesh->n_tris; t++) {
    const int *v = mesh->tri + 3 * (size_t)t;
    double a[3], b[3], n[3];
    pla_vec3_sub(mesh->pos + 3 * (size_t)v[1], mesh->pos + 3 * (size_t)v[0], a);
    pla_vec3_sub(mesh->pos + 3 * (size_t)v[2], mesh->pos + 3 * (size_t)v[0], b);
    pla_vec3_cross(a, b, n);
    for (int c = 0; c < 3; c++)
      for (int d = 0; d < 3; d++)
        normal[3 * (size_t)v[c] + (size_t)d] += n[d];
  }
  return normal;
}

static PlaStatus
embed_labels(const PlaMeshInput *input, const PlaLatticeOptions *opts, PlaProgress *progress,
             PlaLatticeEmbedding **embedding, PlaMesh **surface, double *label_mm3, PlaError *err)
{
  PlaLabelLevelSetOptions lo = pla_label_levelset_options_default();
  PlaLabelLevelSetReport report = { 0 };
  Regions regions = { .map = input->labels };
  PlaLevelSet *ls = NULL;
  lo.smooth_mm = fmax(input->smooth_mm, 0.0);
  regions.region = pla_array_new0(65536, sizeof *regions.region);
  if (!regions.region)
    return pla_fail_memory(err, "the lattice's regions");
  for (int g = 0; g < input->n_groups; g++)
    for (int i = input->first[g]; i < input->first[g + 1]; i++)
      regions.region[input->ids[i]] = input->ids[input->first[g]];
  pla_progress_phase(progress, "Making the level set", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = pla_levelset_from_labels(input->labels, input->ids, input->first[input->n_groups],
                                          &lo, progress, &ls, &report, err);
  pla_progress_pop(progress, span);
  *label_mm3 = report.label_mm3;
  pla_progress_phase(progress, "Embedding", 0.9);
  if (st == PLA_OK && !pla_affine_invert(input->labels->volume->affine_mm, regions.inverse_mm))
    st = pla_fail(err, PLA_ERR_GEOMETRY, "the axes of the label map lie in one plane");
  if (st == PLA_OK) {
    span = pla_progress_push(progress);
    st = pla_lattice_from_levelset(ls, opts, region_at, &regions, progress, embedding, err);
    pla_progress_pop(progress, span);
  }
  if (st == PLA_OK && !input->embed_surface)
    st = pla_surface_from_levelset(ls, surface, err);
  pla_levelset_free(ls);
  free(regions.region);
  return st;
}

static PlaStatus
run(const PlaMeshInput *input, PlaProgress *progress, PlaMeshResult *out, PlaError *err)
{
  PlaLatticeOptions opts = pla_lattice_options_default();
  PlaLatticeEmbedding *embedding = NULL;
  PlaMesh *own = NULL;
  PlaEmbedding points = { 0 };
  double *normal = NULL, label_mm3 = 0.0, filled = 0.0;
  int n_outside = 0;
  opts.cell = input->cell_mm / 1000.0;
  opts.coarsen = input->coarsen;
  PlaStatus st = embed_labels(input, &opts, progress, &embedding, &own, &label_mm3, err);
  const PlaMesh *surface = input->embed_surface ? input->embed_surface : own;
  if (st == PLA_OK && !pla_progress_phase(progress, "Embedding the surface", 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK && !(normal = vertex_normals(surface)))
    st = pla_fail_memory(err, "the embedded surface");
  if (st == PLA_OK)
    st = pla_lattice_embed_points(embedding, surface->n_verts, surface->pos, normal, &points,
                                  &n_outside, err);
  if (st == PLA_OK)
    st = pla_lattice_mesh(embedding, surface, &points, &out->mesh, err);
  if (st == PLA_OK) {
    for (int e = 0; e < embedding->n_elems; e++)
      filled += embedding->fill[e] * pla_lattice_volume(embedding, e) * 1e9;
    const int n_bound = embedding->n_verts - embedding->n_free;
    out->duplicated_cells = pla_lattice_n_duplicated(embedding);
    json_object_set_int_member(out->found, "lattice_cells", embedding->n_tets);
    json_object_set_int_member(out->found, "free_vertices", embedding->n_free);
    json_object_set_int_member(out->found, "bound_vertices", n_bound);
    json_object_set_int_member(out->found, "surface_vertices", surface->n_verts);
    json_object_set_int_member(out->found, "surface_triangles", surface->n_tris);
    json_object_set_int_member(out->found, "surface_outside", n_outside);
    json_object_set_double_member(out->found, "material_mm3", filled);
    json_object_set_double_member(out->found, "label_mm3", label_mm3);
    g_ptr_array_add(out->lines,
                    g_strdup_printf("%d cells of the lattice, %d of them with several elements",
                                    embedding->n_tets, out->duplicated_cells));
    g_ptr_array_add(out->lines, g_strdup_printf("%d free vertices, %d bound at T-junctions",
                                                embedding->n_free, n_bound));
    g_ptr_array_add(out->lines,
                    g_strdup_printf("material %.3f ml, of the voxels %.3f ml (%+.2f %%)",
                                    filled / 1000.0, label_mm3 / 1000.0,
                                    100.0 * (filled / label_mm3 - 1.0)));
    g_ptr_array_add(out->lines,
                    g_strdup_printf("carries a surface of %d triangles, %d of its vertices outside "
                                    "of all elements",
                                    surface->n_tris, n_outside));
  }
  free(normal);
  pla_embedding_clear(&points);
  pla_mesh_free(own);
  pla_lattice_embedding_free(embedding);
  return st;
}

const PlaMeshMethod pla_mesh_method_lattice = {
  .name = "lattice",
  .summary =
      "a lattice of equal tetrahedra that carries the surface, one element a piece of material",
  .takes_labels = true,
  .run = run,
};
