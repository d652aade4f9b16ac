/* Carved bodies as meshes.
 *
 * The cells are cut along the facets of the surface, the few triangles that its shape needs, and
 * the cutter tells where each corner of those that facets were divided into came to lie: in which
 * copy of a tet, with which barycentric coordinates.  The triangles themselves are kept as they
 * were, so that the shown surface has the shape of the scan and not that of the cells. */
#include "sim/bodies/carved-mesh.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesh/tet-locator.h"
#include "anatomy/mesher/tets.h"
#include "sim/cut/cut-mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A tet with less of its volume filled is too soft to carry what acts on its surface: the few that
 * hold it would be pulled out of shape.  Its surface follows the next one inwards, as far beyond
 * its own corners as the material reaches. */
#define FIRM 0.3
enum { MOST_STEPS = 3 }; /* inwards */

/* every vertex of the surface that a triangle has must have come to lie in a tet */
static PlaStatus
check_places(const PlaTriMesh *surface, const int *place, PlaError *err)
{
  for (int i = 0; i < 3 * surface->n_tris; i++) {
    const double *at = &surface->pos[3 * surface->tri[i]];
    if (place[surface->tri[i]] < 0)
      return pla_fail(err, PLA_ERR_GEOMETRY,
                      "the surface of the body folds onto itself near (%.1f, %.1f, %.1f) mm; "
                      "smooth the labels there",
                      1e3 * at[0], 1e3 * at[1], 1e3 * at[2]);
  }
  return PLA_OK;
}

/* fields of the cells: triangles first, then tets */
static PlaStatus
add_cell_fields(const PlaTissueLattice *made, const int *ids, const PlaCutMesh *cut, PlaMesh *out,
                PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(cut);
  const size_t n_tris = (size_t)out->n_tris;
  int32_t *region = pla_mesh_add_field(out, PLA_MESH_REGION, PLA_ON_CELLS, PLA_I32, 1);
  uint8_t *border = pla_mesh_add_field(out, PLA_MESH_BORDER, PLA_ON_CELLS, PLA_U8, 1);
  double *fraction = pla_mesh_add_field(out, PLA_MESH_FRACTION, PLA_ON_CELLS, PLA_F64, 1);
  if (!region || !border || !fraction)
    return pla_fail_memory(err, "the body");
  for (size_t t = 0; t < n_tris; t++) {
    border[t] = made->border[t];
    fraction[t] = 1.0;
  }
  for (int t = 0; t < out->n_tets; t++) {
    region[n_tris + (size_t)t] = ids[made->tissue[view.tet_source[t]]];
    border[n_tris + (size_t)t] = PLA_BORDER_NONE;
  }
  pla_cut_mesh_fractions(cut, fraction + n_tris);
  return PLA_OK;
}

/* The tet that a vertex of the surface follows instead of each one (n_tets): itself where it is
 * filled enough, else the fullest that its material reaches within a few faces. */
static void
find_firm(const PlaCutMesh *cut, const double *fraction, int n_tets, int *firm)
{
  for (int t = 0; t < n_tets; t++) {
    firm[t] = t;
    for (int step = 0; step < MOST_STEPS && fraction[firm[t]] < FIRM; step++) {
      int best = firm[t];
      for (int f = 0; f < 4; f++)
        for (PlaCutAcross a = pla_cut_mesh_across(cut, firm[t], f); a.tet >= 0;
             pla_cut_mesh_next(cut, &a))
          best = fraction[a.tet] > fraction[best] ? a.tet : best;
      if (best == firm[t])
        break;
      firm[t] = best;
    }
  }
}

/* ties the vertices behind the first @n_free to tets: those of @place, with @weight in them, or
 * those that are followed instead */
static PlaStatus
bind_surface(const int *place, const double *weight, const int *firm, int n_free, PlaMesh *out,
             PlaError *err)
{
  const PlaTetMesh tets = pla_mesh_tets(out);
  int32_t *verts = pla_mesh_add_field(out, PLA_MESH_BOUND_VERTS, PLA_ON_VERTS, PLA_I32, 4);
  double *weights = pla_mesh_add_field(out, PLA_MESH_BOUND_WEIGHTS, PLA_ON_VERTS, PLA_F64, 4);
  if (!verts || !weights)
    return pla_fail_memory(err, "the body");
  for (size_t i = 0; i < 4 * (size_t)out->n_verts; i++)
    verts[i] = -1;
  for (int v = n_free; v < out->n_verts; v++) {
    const int at = place[v - n_free];
    if (at < 0)
      continue;
    const int t = firm[at];
    double *own = &weights[4 * (size_t)v];
    memcpy(&verts[4 * (size_t)v], &out->tet[4 * (size_t)t], 4 * sizeof *verts);
    if (t == at)
      memcpy(own, &weight[4 * (size_t)(v - n_free)], 4 * sizeof *own);
    else
      pla_tet_weights(&tets, t, &out->pos[3 * (size_t)v], own);
  }
  return PLA_OK;
}

/* the tets of @cut, then the triangles of the surface, with the fields of the cells */
static PlaStatus
join(const PlaTissueLattice *made, const int *ids, const PlaCutMesh *cut, PlaMesh **out,
     PlaError *err)
{
  const PlaTetMesh mesh = pla_cut_mesh_get(cut).mesh;
  const PlaTriMesh surface = pla_mesh_tris(made->surface);
  const size_t n_free = 3 * (size_t)mesh.n_verts;
  PlaStatus st =
      pla_mesh_new(mesh.n_verts + surface.n_verts, surface.n_tris, mesh.n_tets, 0, out, err);
  if (st != PLA_OK)
    return st;
  memcpy((*out)->pos, mesh.rest, n_free * sizeof *mesh.rest);
  memcpy((*out)->pos + n_free, surface.pos, 3 * (size_t)surface.n_verts * sizeof *surface.pos);
  memcpy((*out)->tet, mesh.tet, 4 * (size_t)mesh.n_tets * sizeof *mesh.tet);
  for (int i = 0; i < 3 * surface.n_tris; i++)
    (*out)->tri[i] = mesh.n_verts + surface.tri[i];
  return add_cell_fields(made, ids, cut, *out, err);
}

PlaStatus
pla_carved_mesh_new(const PlaTissueLattice *made, const int *ids, PlaProgress *progress,
                    PlaMesh **out, PlaError *err)
{
  const PlaTetMesh lattice = pla_mesh_tets(made->lattice);
  const PlaTriMesh surface = pla_mesh_tris(made->surface), facets = pla_mesh_tris(made->facets);
  PlaCutMesh *cut = NULL;
  PlaCutReport report;
  int *place = pla_array_new((size_t)surface.n_verts, sizeof *place), *firm = NULL;
  double *weight = pla_array_new(4 * (size_t)surface.n_verts, sizeof *weight);
  *out = NULL;
  PlaStatus st = place && weight
                     ? pla_cut_mesh_carve(&lattice, &facets, progress, &cut, &report, err)
                     : pla_fail_memory(err, "the body");
  if (st == PLA_OK)
    st = pla_cut_mesh_keep_surface(cut, &facets, &surface, made->facet, err);
  if (st == PLA_OK)
    st = pla_cut_mesh_carved_verts(cut, place, weight, err);
  if (st == PLA_OK)
    st = check_places(&surface, place, err);
  if (st == PLA_OK)
    st = join(made, ids, cut, out, err);
  if (st == PLA_OK && !(firm = pla_array_new((size_t)(*out)->n_tets, sizeof *firm)))
    st = pla_fail_memory(err, "the body");
  if (st == PLA_OK) {
    const PlaField *fraction = pla_mesh_find_field(*out, PLA_MESH_FRACTION, PLA_ON_CELLS);
    find_firm(cut, (const double *)fraction->data + surface.n_tris, (*out)->n_tets, firm);
    st = bind_surface(place, weight, firm, (*out)->n_verts - surface.n_verts, *out, err);
  }
  if (st != PLA_OK) {
    pla_mesh_free(*out);
    *out = NULL;
  }
  pla_cut_mesh_free(cut);
  free(place);
  free(weight);
  free(firm);
  return st;
}
