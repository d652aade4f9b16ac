/* Embedding in a lattice of coarse tetrahedra. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/embed/lattice-embed.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/surface/surface.h"
#include "app/base/quantity.h"
#include "app/simulate/mesh-methods.h"

#include <glib/gi18n.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* the outer faces of a tet mesh, and which of its vertices they use (*vert, free()) */
static PlaStatus
outer_surface(const PlaMesh *mesh, PlaMesh **out, int **vert, PlaError *err)
{
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  const PlaHexMesh hexes = pla_mesh_hexes(mesh);
  PlaBoundary boundary;
  PlaMesh *surface = NULL;
  *vert = NULL;
  PlaStatus st = pla_boundary_init(&boundary, &tets, &hexes, false, err);
  if (st != PLA_OK)
    return st;
  int *number = pla_array_new0((size_t)mesh->n_verts, sizeof *number), n = 0;
  int *used = pla_array_new((size_t)mesh->n_verts, sizeof *used);
  if (!number || !used)
    st = pla_fail_memory(err, "the surface of the mesh");
  for (int c = 0; st == PLA_OK && c < 3 * boundary.n_tris; c++)
    number[boundary.tri[c]] = 1;
  for (int v = 0; st == PLA_OK && v < mesh->n_verts; v++)
    if (number[v]) {
      used[n] = v;
      number[v] = n++;
    }
  if (st == PLA_OK)
    st = pla_mesh_new(n, boundary.n_tris, 0, 0, &surface, err);
  if (st == PLA_OK) {
    for (int c = 0; c < 3 * boundary.n_tris; c++)
      surface->tri[c] = number[boundary.tri[c]];
    for (int v = 0; v < n; v++)
      memcpy(surface->pos + 3 * (size_t)v, mesh->pos + 3 * (size_t)used[v], 3 * sizeof(double));
    *out = surface;
    *vert = g_steal_pointer(&used);
  }
  free(number);
  free(used);
  pla_boundary_clear(&boundary);
  return st;
}

/* cell fields of the fine mesh that elements inherit: tags, means, directions of fibres */
static PlaStatus
carry_fields(const PlaMesh *fine, const PlaLatticeOverlap *overlap, int n_tris,
             PlaLatticeEmbedding *embedding, PlaMesh *mesh, PlaError *err)
{
  const size_t n = (size_t)fine->n_tets, n_elems = (size_t)embedding->n_elems;
  for (int f = 0; f < fine->n_fields; f++) {
    const PlaField *field = &fine->field[f];
    const int k = field->n_components;
    const size_t first = (size_t)fine->n_tris * (size_t)k, n_values = n * (size_t)k;
    const bool tags = pla_dtype_is_integer(field->dtype) && k == 1;
    const bool axes = k == 3 && g_str_has_prefix(field->name, "fibre");
    if (field->place != PLA_ON_CELLS || (k != 1 && pla_dtype_is_integer(field->dtype)))
      continue;
    g_autofree int *tag = tags ? g_try_new(int, n) : NULL,
                   *got_tag = tags ? g_try_new(int, n_elems) : NULL;
    g_autofree double *value = g_try_new(double, n_values);
    g_autofree double *got = g_try_new(double, n_elems *(size_t)k);
    if (!value || !got || (tags && (!tag || !got_tag)))
      return pla_fail_memory(err, "fields of the lattice");
    pla_dtype_to_double(field->dtype, field->data, first, n_values, value);
    if (tags) {
      for (size_t t = 0; t < n; t++)
        tag[t] = (int)value[t];
      pla_lattice_carry_tags(overlap, tag, got_tag);
      for (size_t e = 0; e < n_elems; e++)
        got[e] = got_tag[e];
    } else if (axes) {
      pla_lattice_carry_axes(overlap, value, got);
    } else {
      pla_lattice_carry_means(overlap, k, value, got);
    }
    void *data = pla_mesh_add_field(mesh, field->name, PLA_ON_CELLS, field->dtype, k);
    if (!data)
      return pla_fail_memory(err, "fields of the lattice");
    for (size_t i = 0; i < n_elems * (size_t)k; i++)
      pla_dtype_set(field->dtype, data, (size_t)n_tris * (size_t)k + i, got[i]);
  }
  return PLA_OK;
}

/* flags of fine vertices: bits of all in an element */
static PlaStatus
carry_flags(const PlaMesh *fine, const PlaEmbedding *verts, int n_tris,
            const PlaLatticeEmbedding *embedding, PlaMesh *mesh, PlaError *err)
{
  for (int f = 0; f < fine->n_fields; f++) {
    const PlaField *field = &fine->field[f];
    if (field->place != PLA_ON_VERTS || field->dtype != PLA_U8 || field->n_components != 1)
      continue;
    uint8_t *data = pla_mesh_add_field(mesh, field->name, PLA_ON_CELLS, PLA_U8, 1);
    if (!data)
      return pla_fail_memory(err, "flags of the lattice");
    pla_lattice_carry_flags(embedding, verts, field->data, data + n_tris);
  }
  return PLA_OK;
}

/* what is embedded, and what rides in it */
typedef struct {
  PlaLatticeEmbedding *embedding;
  PlaMesh *own;           /* the body's own surface, where that is carried */
  const PlaMesh *surface; /* what is carried */
  PlaEmbedding points;    /* its vertices */
  int n_outside;
  double body_mm3; /* volume of the body as given */
} Embedded;

static void
embedded_clear(Embedded *e)
{
  pla_embedding_clear(&e->points);
  pla_mesh_free(e->own);
  pla_lattice_embedding_free(e->embedding);
}

/* what is reported, over all bodies */
typedef struct {
  int n_cells, n_duplicated, n_free, n_bound, n_points, n_tris, n_outside;
  double filled_mm3, body_mm3;
} Totals;

static void
totals_add(Totals *t, const Embedded *e)
{
  const PlaLatticeEmbedding *embedding = e->embedding;
  t->n_cells += embedding->n_tets;
  t->n_duplicated += pla_lattice_n_duplicated(embedding);
  t->n_free += embedding->n_free;
  t->n_bound += embedding->n_verts - embedding->n_free;
  t->n_points += e->surface->n_verts;
  t->n_tris += e->surface->n_tris;
  t->n_outside += e->n_outside;
  t->body_mm3 += e->body_mm3;
  for (int i = 0; i < embedding->n_elems; i++)
    t->filled_mm3 += embedding->fill[i] * pla_lattice_volume(embedding, i) * 1e9;
}

/* copies the tuples of @from, a field of @part, into the field @to of a mesh in which the part's
 * vertices begin at @vert, its triangles at @tri, its tets at @tet */
static void
copy_field(const PlaMesh *part, const PlaField *from, PlaField *to, int vert, int tri, int tet)
{
  const bool ids = strcmp(from->name, PLA_MESH_BOUND_VERTS) == 0;
  const size_t n = pla_field_n_tuples(part, from);
  for (size_t i = 0; i < n; i++) {
    size_t at = i + (size_t)vert;
    if (from->place == PLA_ON_CELLS)
      at = i < (size_t)part->n_tris ? i + (size_t)tri : i - (size_t)part->n_tris + (size_t)tet;
    for (int k = 0; k < from->n_components; k++) {
      const double value =
          pla_dtype_get(from->dtype, from->data, i * (size_t)from->n_components + (size_t)k);
      pla_dtype_set(to->dtype, to->data, at * (size_t)to->n_components + (size_t)k,
                    ids && value >= 0.0 ? value + vert : value);
    }
  }
}

/* puts @part behind what is in *all already (NULL: nothing); both have the same fields but for the
 * number of parents of bound vertices */
static PlaStatus
append(PlaMesh **all, const PlaMesh *part, PlaError *err)
{
  PlaMesh *out = NULL;
  if (!*all)
    return pla_mesh_dup(part, all, err);
  const PlaMesh *both[2] = { *all, part };
  if (part->n_verts > INT_MAX - both[0]->n_verts || part->n_tets > INT_MAX / 4 - both[0]->n_tets)
    return pla_fail(err, PLA_ERR_USAGE, "the tissues have too many vertices; use larger cells");
  PlaStatus st = pla_mesh_new(both[0]->n_verts + part->n_verts, both[0]->n_tris + part->n_tris,
                              both[0]->n_tets + part->n_tets, 0, &out, err);
  for (int m = 0; st == PLA_OK && m < 2; m++) {
    const int vert = m ? both[0]->n_verts : 0, tri = m ? both[0]->n_tris : 0;
    const int tet = m ? both[0]->n_tets : 0;
    memcpy(out->pos + 3 * (size_t)vert, both[m]->pos,
           3 * (size_t)both[m]->n_verts * sizeof(double));
    for (int c = 0; c < 3 * both[m]->n_tris; c++)
      out->tri[3 * (size_t)tri + (size_t)c] = both[m]->tri[c] + vert;
    for (int c = 0; c < 4 * both[m]->n_tets; c++)
      out->tet[4 * (size_t)tet + (size_t)c] = both[m]->tet[c] + vert;
  }
  for (int m = 0; st == PLA_OK && m < 2; m++)
    for (int f = 0; st == PLA_OK && f < both[m]->n_fields; f++) {
      const PlaField *from = &both[m]->field[f];
      const PlaField *other = pla_mesh_find_field(both[1 - m], from->name, from->place);
      if (!pla_mesh_find_field(out, from->name, from->place)) {
        const int k = other && other->n_components > from->n_components ? other->n_components
                                                                        : from->n_components;
        int32_t *data = pla_mesh_add_field(out, from->name, from->place, from->dtype, k);
        if (!data)
          st = pla_fail_memory(err, "the tissues");
        else if (strcmp(from->name, PLA_MESH_BOUND_VERTS) == 0)
          memset(data, -1, (size_t)out->n_verts * (size_t)k * sizeof *data);
      }
      if (st == PLA_OK)
        copy_field(both[m], from, (PlaField *)pla_mesh_find_field(out, from->name, from->place),
                   m ? both[0]->n_verts : 0, m ? both[0]->n_tris : 0,
                   m ? out->n_tris + both[0]->n_tets : out->n_tris);
    }
  if (st != PLA_OK) {
    pla_mesh_free(out);
    return st;
  }
  pla_mesh_free(*all);
  *all = out;
  return PLA_OK;
}

static PlaStatus
carry_surface(const PlaMesh *surface, Embedded *e, PlaError *err)
{
  double *normal = vertex_normals(surface);
  PlaStatus st = normal ? pla_lattice_embed_points(e->embedding, surface->n_verts, surface->pos,
                                                   normal, &e->points, &e->n_outside, err)
                        : pla_fail_memory(err, "the embedded surface");
  free(normal);
  return st;
}

static PlaStatus
embed_tets(const PlaMeshInput *input, PlaProgress *progress, Embedded *e, PlaMesh **mesh,
           PlaError *err)
{
  const PlaTetMesh tets = pla_mesh_tets(input->surface);
  PlaLatticeOverlap overlap = { 0 };
  PlaEmbedding all = { 0 };
  int *used = NULL;
  PlaStatus st = pla_lattice_from_tets(&tets, input->cell_mm / 1000.0, progress, &e->embedding,
                                       &all, &overlap, err);
  if (st == PLA_OK)
    st = outer_surface(input->surface, &e->own, &used, err);
  e->surface = e->own;
  if (st == PLA_OK)
    st = pla_embedding_init(&e->points, e->own->n_verts, 4, err);
  for (int v = 0; st == PLA_OK && v < e->own->n_verts; v++) {
    e->points.elem[v] = all.elem[used[v]];
    memcpy(e->points.weight + 4 * (size_t)v, all.weight + 4 * (size_t)used[v], 4 * sizeof(double));
  }
  if (st == PLA_OK)
    st = pla_lattice_mesh(e->embedding, e->surface, &e->points, mesh, err);
  if (st == PLA_OK)
    st = carry_fields(input->surface, &overlap, e->own->n_tris, e->embedding, *mesh, err);
  if (st == PLA_OK)
    st = carry_flags(input->surface, &all, e->own->n_tris, e->embedding, *mesh, err);
  for (size_t k = 0; st == PLA_OK && k < overlap.start[overlap.n_elems]; k++)
    e->body_mm3 += 1e9 * overlap.volume[k];
  pla_lattice_overlap_clear(&overlap);
  pla_embedding_clear(&all);
  free(used);
  return st;
}

/* the level set's lattice and, unless another surface is carried, its own */
static PlaStatus
embed_levelset(const PlaMeshInput *input, const PlaLevelSet *ls, const Regions *regions, int region,
               PlaProgress *progress, Embedded *e, PlaMesh **mesh, PlaError *err)
{
  PlaLatticeOptions opts = pla_lattice_options_default();
  opts.cell = input->cell_mm / 1000.0;
  opts.coarsen = input->coarsen;
  PlaStatus st = pla_lattice_from_levelset(ls, &opts, regions ? region_at : NULL, regions, progress,
                                           &e->embedding, err);
  for (int i = 0; st == PLA_OK && !regions && i < e->embedding->n_elems; i++)
    e->embedding->region[i] = region;
  if (st == PLA_OK && !input->embed_surface)
    st = pla_surface_from_levelset(ls, &e->own, err);
  e->surface = input->embed_surface ? input->embed_surface : e->own;
  if (st == PLA_OK)
    st = carry_surface(e->surface, e, err);
  if (st == PLA_OK)
    st = pla_lattice_mesh(e->embedding, e->surface, &e->points, mesh, err);
  return st;
}

/* all tissues as one body */
static PlaStatus
embed_together(const PlaMeshInput *input, const PlaLabelLevelSetOptions *lo, PlaProgress *progress,
               PlaMeshResult *out, Totals *totals, PlaError *err)
{
  PlaLabelLevelSetReport report = { 0 };
  Regions regions = { .map = input->labels };
  Embedded e = { .embedding = NULL };
  PlaLevelSet *ls = NULL;
  PlaStatus st = PLA_OK;
  regions.region = pla_array_new0(65536, sizeof *regions.region);
  if (!regions.region)
    return pla_fail_memory(err, "the lattice's regions");
  for (int g = 0; g < input->n_groups; g++)
    for (int i = input->first[g]; i < input->first[g + 1]; i++)
      regions.region[input->ids[i]] = input->ids[input->first[g]];
  if (!pla_affine_invert(input->labels->volume->affine_mm, regions.inverse_mm))
    st = pla_fail(err, PLA_ERR_GEOMETRY, "the axes of the label map lie in one plane");
  pla_progress_phase(progress, "Making the level set", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_levelset_from_labels(input->labels, input->ids, input->first[input->n_groups], lo,
                                  progress, &ls, &report, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK && !pla_progress_phase(progress, "Embedding", 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK) {
    span = pla_progress_push(progress);
    /* one tissue needs no look at every voxel */
    st = embed_levelset(input, ls, input->n_groups > 1 ? &regions : NULL, input->ids[0], progress,
                        &e, &out->mesh, err);
    pla_progress_pop(progress, span);
  }
  if (st == PLA_OK) {
    e.body_mm3 = report.label_mm3;
    totals_add(totals, &e);
  }
  embedded_clear(&e);
  pla_levelset_free(ls);
  free(regions.region);
  return st;
}

/* each tissue as a body of its own, one mesh after the other */
static PlaStatus
embed_apart(const PlaMeshInput *input, const PlaLabelLevelSetOptions *lo, PlaProgress *progress,
            PlaMeshResult *out, Totals *totals, PlaError *err)
{
  PlaPartition *tissues = NULL;
  pla_progress_phase(progress, "Making the level sets", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = pla_partition_new(input->labels, input->ids, input->first, input->n_groups, lo,
                                   progress, &tissues, err);
  pla_progress_pop(progress, span);
  for (int g = 0; st == PLA_OK && g < input->n_groups; g++) {
    Embedded e = { .embedding = NULL };
    PlaMesh *part = NULL;
    if (!pla_progress_phase(progress, "Embedding", 0.5 + 0.5 * (g + 1) / input->n_groups))
      st = pla_fail_cancelled(err);
    span = pla_progress_push(progress);
    if (st == PLA_OK)
      st = embed_levelset(input, tissues->group[g], NULL, input->ids[input->first[g]], progress, &e,
                          &part, err);
    pla_progress_pop(progress, span);
    if (st == PLA_OK)
      st = pla_levelset_measure(tissues->group[g], &e.body_mm3, NULL, err);
    if (st == PLA_OK)
      totals_add(totals, &e);
    if (st == PLA_OK)
      st = append(&out->mesh, part, err);
    pla_mesh_free(part);
    embedded_clear(&e);
  }
  pla_partition_free(tissues);
  return st;
}

static PlaStatus
embed_surface(const PlaMeshInput *input, PlaProgress *progress, Embedded *e, PlaMesh **mesh,
              PlaError *err)
{
  const PlaTriMesh tris = pla_mesh_tris(input->surface);
  PlaMeshSummary summary;
  PlaStatus st = pla_mesh_summary(input->surface, &summary, err);
  e->surface = input->surface;
  e->body_mm3 = summary.volume_m3 * 1e9;
  if (st == PLA_OK)
    st = pla_lattice_from_surface(&tris, input->cell_mm / 1000.0, progress, &e->embedding,
                                  &e->points, err);
  if (st == PLA_OK)
    st = pla_lattice_mesh(e->embedding, e->surface, &e->points, mesh, err);
  return st;
}

static void
describe(const PlaMeshInput *input, const Totals *t, PlaMeshResult *out)
{
  out->duplicated_cells = t->n_duplicated;
  json_object_set_int_member(out->found, "lattice_cells", t->n_cells);
  json_object_set_int_member(out->found, "free_vertices", t->n_free);
  json_object_set_int_member(out->found, "bound_vertices", t->n_bound);
  json_object_set_int_member(out->found, "surface_vertices", t->n_points);
  json_object_set_int_member(out->found, "surface_triangles", t->n_tris);
  json_object_set_int_member(out->found, "surface_outside", t->n_outside);
  json_object_set_double_member(out->found, "material_mm3", t->filled_mm3);
  json_object_set_double_member(out->found, "body_mm3", t->body_mm3);
  g_ptr_array_add(out->lines,
                  g_strdup_printf("%d cells of the lattice, %d of them with several elements",
                                  t->n_cells, t->n_duplicated));
  g_ptr_array_add(out->lines, g_strdup_printf("%d free vertices, %d bound at T-junctions",
                                              t->n_free, t->n_bound));
  g_autofree char *filled = pla_quantity_text(PLA_QUANTITY_VOLUME, t->filled_mm3, PLA_UNIT_MM3);
  g_autofree char *whole = pla_quantity_text(PLA_QUANTITY_VOLUME, t->body_mm3, PLA_UNIT_MM3);
  g_ptr_array_add(out->lines, g_strdup_printf("material %s, of the %s %s (%+.2f %%)", filled,
                                              input->labels ? "labels" : "body", whole,
                                              100.0 * (t->filled_mm3 / t->body_mm3 - 1.0)));
  g_ptr_array_add(
      out->lines,
      g_strdup_printf("carries a surface of %d triangles, %d of its vertices outside of "
                      "their elements",
                      t->n_tris, t->n_outside));
}

static PlaStatus
run(const PlaMeshInput *input, PlaProgress *progress, PlaMeshResult *out, PlaError *err)
{
  PlaLabelLevelSetOptions lo = pla_label_levelset_options_default();
  Embedded e = { .embedding = NULL };
  Totals totals = { 0 };
  PlaStatus st = PLA_OK;
  lo.smooth_mm = fmax(input->smooth_mm, 0.0);
  if (!input->labels && (input->coarsen > 0 || input->embed_surface || input->separate))
    return pla_fail(err, PLA_ERR_USAGE,
                    "a surface or fine mesh is embedded in cells of one size; larger cells inside, "
                    "another surface and separate tissues need labels");
  if (input->embed_surface && input->separate)
    return pla_fail(err, PLA_ERR_USAGE,
                    "separate tissues carry their own surfaces; leave out the other surface");
  if (input->labels && input->separate && input->n_groups > 1)
    st = embed_apart(input, &lo, progress, out, &totals, err);
  else if (input->labels)
    st = embed_together(input, &lo, progress, out, &totals, err);
  else if (input->surface->n_tets > 0)
    st = embed_tets(input, progress, &e, &out->mesh, err);
  else
    st = embed_surface(input, progress, &e, &out->mesh, err);
  if (st == PLA_OK && e.embedding)
    totals_add(&totals, &e);
  if (st == PLA_OK)
    describe(input, &totals, out);
  embedded_clear(&e);
  return st;
}

const PlaMeshMethod pla_mesh_method_lattice = {
  .name = "lattice",
  .summary =
      "a lattice of equal tetrahedra that carries the surface, one element a piece of material",
  .title = N_("Regular lattice"),
  .about =
      N_("Equal tetrahedra around the tissues, which they carry; parts that touch stay apart."),
  .takes_labels = true,
  .takes_surfaces = true,
  .takes_tets = true,
  .run = run,
};
