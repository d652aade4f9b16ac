/* Bodies carved out of a lattice along the surface of the tissue, and what holds them: points on
 * bone that springs keep in their place.
 *
 * A tet with little material in it is too soft to carry what acts on its surface: the few that hold
 * it would be pulled out of shape.  Its points are carried by the fullest tet that its material
 * reaches within a few faces, as far beyond the corners of that as they lie.
 *
 * Such a tet is also tied to each neighbour: across the face between them, the jump of the
 * deformation gradient costs energy,
 *   E = k/2 |x_p - sum w_a x_a|^2,  k = TIE mu V / d^2,
 * with p the corner of the emptier tet opposite to the face, d its height above the face, w its
 * weights in the fuller tet, mu the smaller shear modulus and V the mean volume.  Tets follow their
 * neighbours where next to nothing is in them, whatever the shape, and a smooth deformation is not
 * made stiffer: the jump falls with the cells (ghost penalty: E. Burman, Comptes Rendus
 * Mathematique 348, 2010). */
#include "sim/surgery/surgery-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/tet-locator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Least share of a tet that carries what acts on it: what elements count by at least.  Above it the
 * ties hold a tet well enough, and an edge of a wound stays in one: where its points went by the
 * fullest tets around (0.3), parts of the edge that no thread held lagged by up to 6 mm. */
#define FIRM 0.05
enum { MOST_STEPS = 3 }; /* from tet to tet */
#define TIED 0.3         /* tets filled to less are tied to their neighbours, */
#define TIE 0.1          /* by this share of their stiffness */

/* shear modulus of the material of tet @t, Pa */
static double
shear_of(const PlaSurgery *self, const PlaCutMeshView *view, int t)
{
  const PlaFemMaterial *m = &self->material[self->cell_material[view->tet_source[t]]];
  double mu, lambda, vol;
  pla_material_moduli(m->material, m->constants, &mu, &lambda, &vol);
  return mu;
}

static double
volume_of(const PlaTetMesh *mesh, int t)
{
  const int *v = &mesh->tet[4 * t];
  double e[3][3], n[3];
  for (int k = 0; k < 3; k++)
    pla_vec3_sub(&mesh->rest[3 * v[k + 1]], &mesh->rest[3 * v[0]], e[k]);
  pla_vec3_cross(e[1], e[2], n);
  return pla_vec3_dot(e[0], n) / 6.0;
}

/* the tie between @tet and the fuller one @to across the face opposite to corner @f of @tet */
static PlaSpring
make_tie(const PlaSurgery *self, const PlaCutMeshView *view, int tet, int f, int to)
{
  const PlaTetMesh *mesh = &view->mesh;
  const int p = mesh->tet[4 * tet + f];
  PlaSpring tie = { .n_verts = 5, .vert = { p }, .weight = { 1.0 } };
  double w[4], e[3], g[3], normal[3];
  const double *corner[3];
  for (int k = 0; k < 3; k++)
    corner[k] = &mesh->rest[3 * mesh->tet[4 * tet + pla_cut_face_corner[f][k]]];
  pla_vec3_sub(corner[1], corner[0], e);
  pla_vec3_sub(corner[2], corner[0], g);
  pla_vec3_cross(e, g, normal);
  const double volume = volume_of(mesh, tet), height = 6.0 * volume / pla_vec3_norm(normal);
  pla_tet_weights(mesh, to, &mesh->rest[3 * p], w);
  for (int c = 0; c < 4; c++) {
    tie.vert[1 + c] = mesh->tet[4 * to + c];
    tie.weight[1 + c] = -w[c];
  }
  const double mu = fmin(shear_of(self, view, tet), shear_of(self, view, to));
  const double k = TIE * mu * 0.5 * (volume + volume_of(mesh, to)) / (height * height);
  for (int d = 0; d < 3; d++)
    tie.stiffness[4 * d] = k;
  return tie;
}

/* ties of each tet that is filled little to those that are filled more; two alike are tied once */
static PlaStatus
find_ties(PlaSurgery *self, PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  int capacity = self->n_ties;
  self->n_ties = 0;
  for (int t = 0; t < view.mesh.n_tets; t++)
    for (int f = 0; f < 4 && self->filled[t] < TIED; f++)
      for (PlaCutAcross a = pla_cut_mesh_across(self->cut, t, f); a.tet >= 0;
           pla_cut_mesh_next(self->cut, &a)) {
        if (self->filled[a.tet] < self->filled[t] ||
            (self->filled[a.tet] == self->filled[t] && a.tet < t))
          continue;
        if (!pla_array_reserve(&self->tie, self->n_ties + 1, &capacity, sizeof *self->tie))
          return pla_fail_memory(err, "the body");
        self->tie[self->n_ties++] = make_tie(self, &view, t, f, a.tet);
      }
  return PLA_OK;
}

PlaStatus
pla_surgery_find_firm(PlaSurgery *self, PlaError *err)
{
  const int n = pla_cut_mesh_get(self->cut).mesh.n_tets;
  if (!self->bone)
    return PLA_OK;
  if (!pla_array_resize((void **)&self->filled, (size_t)n, sizeof *self->filled) ||
      !pla_array_resize((void **)&self->firm, (size_t)n, sizeof *self->firm))
    return pla_fail_memory(err, "the body");
  pla_cut_mesh_fractions(self->cut, self->filled);
  for (int t = 0; t < n; t++) {
    int at = t;
    for (int step = 0; step < MOST_STEPS && self->filled[at] < FIRM; step++) {
      int best = at;
      for (int f = 0; f < 4; f++)
        for (PlaCutAcross a = pla_cut_mesh_across(self->cut, at, f); a.tet >= 0;
             pla_cut_mesh_next(self->cut, &a))
          best = self->filled[a.tet] > self->filled[best] ? a.tet : best;
      if (best == at)
        break;
      at = best;
    }
    self->firm[t] = at;
  }
  return find_ties(self, err);
}

PlaSurgeryAnchor
pla_surgery_bind(const PlaSurgery *self, const PlaSurgeryAnchor *anchor)
{
  const PlaTetMesh mesh = pla_cut_mesh_get(self->cut).mesh;
  if (!self->firm || self->firm[anchor->tet] == anchor->tet)
    return *anchor;
  PlaSurgeryAnchor bound = { .tet = self->firm[anchor->tet] };
  double place[3] = { 0.0 };
  for (int c = 0; c < 4; c++)
    for (int d = 0; d < 3; d++)
      place[d] += anchor->weight[c] * mesh.rest[3 * mesh.tet[4 * anchor->tet + c] + d];
  pla_tet_weights(&mesh, bound.tet, place, bound.weight);
  return bound;
}

PlaSurgeryAnchor
pla_surgery_surface_anchor(const PlaSurgery *self, int v)
{
  if (self->surface_at)
    return self->surface_at[v];
  PlaSurgeryAnchor at = { .tet = self->surface.tet[v] };
  memcpy(at.weight, &self->surface.weight[4 * v], sizeof at.weight);
  return at;
}

/* One support for each tet that borders on bone, in the middle of that border.  A support gives way
 * as a layer of tissue of a twentieth of a cell would: a linear element that is held rigidly at a
 * surface inside it locks. */
PlaStatus
pla_surgery_add_supports(PlaSurgery *self, PlaError *err)
{
  const double layers = 20.0;
  const PlaCutMeshView view = pla_cut_mesh_get(self->cut);
  PlaCutSurface s = { 0 };
  PlaStatus st = pla_cut_mesh_surface(self->cut, &s, err);
  double *pos = st == PLA_OK ? pla_array_new(3 * (size_t)s.n_verts, sizeof *pos) : NULL;
  /* area of the border, and times its place, of each tet */
  double *sum = pla_array_new0((size_t)view.mesh.n_tets, 4 * sizeof *sum);
  if (st == PLA_OK && (!pos || !sum))
    st = pla_fail_memory(err, "the supports");
  if (st == PLA_OK)
    pla_cut_surface_place(&s, self->cut, view.mesh.rest, pos);
  for (int t = 0; st == PLA_OK && t < s.n_tris; t++) {
    if (s.carved[t] < 0 || self->bone[s.carved[t]] < PLA_BORDER_BONE)
      continue;
    const double *a = &pos[3 * s.tri[3 * t]], *b = &pos[3 * s.tri[3 * t + 1]],
                 *c = &pos[3 * s.tri[3 * t + 2]];
    double e[3], f[3], normal[3], *to = &sum[4 * s.owner[t]];
    pla_vec3_sub(b, a, e);
    pla_vec3_sub(c, a, f);
    pla_vec3_cross(e, f, normal);
    const double area = 0.5 * pla_vec3_norm(normal);
    to[0] += area;
    for (int d = 0; d < 3; d++)
      to[1 + d] += area * (a[d] + b[d] + c[d]) / 3.0;
  }
  for (int t = 0; st == PLA_OK && t < view.mesh.n_tets; t++) {
    const PlaFemMaterial *m = &self->material[self->cell_material[view.tet_source[t]]];
    double mu, lambda, vol, place[3];
    PlaSurgeryThread thread = { .share = 0.0 };
    if (!(sum[4 * t] > 0.0))
      continue;
    for (int d = 0; d < 3; d++)
      place[d] = thread.place[d] = sum[4 * t + 1 + d] / sum[4 * t];
    for (int k = 0; k < 4; k++)
      thread.end[k / 2].at[k % 2].tet = t;
    for (int k = 0; k < 2; k++)
      pla_tet_weights(&view.mesh, t, place, thread.end[0].at[k].weight);
    m->material->moduli(m->constants, &mu, &lambda, &vol);
    thread.share =
        layers * (2.0 * mu + lambda) * sum[4 * t] / self->cell / PLA_SURGERY_THREAD_STIFFNESS;
    PlaSurgeryThreads *list = &self->supports;
    if (!pla_array_reserve(&list->thread, list->n + 1, &list->capacity, sizeof thread))
      st = pla_fail_memory(err, "the supports");
    else
      list->thread[list->n++] = thread;
  }
  pla_cut_surface_clear(&s);
  free(pos);
  free(sum);
  return st;
}

PlaStatus
pla_surgery_new_carved(const PlaTissueLattice *made, const PlaFemMaterial *materials,
                       int n_materials, PlaProgress *progress, PlaSurgery **out, PlaError *err)
{
  const PlaTetMesh lattice = pla_mesh_tets(made->lattice);
  const PlaTriMesh facets = pla_mesh_tris(made->facets), surface = pla_mesh_tris(made->surface);
  PlaCutReport report;
  *out = NULL;
  PlaSurgery *self = pla_array_new0(1, sizeof *self);
  PlaStatus st = self ? pla_cut_mesh_carve(&lattice, &facets, progress, &self->cut, &report, err)
                      : pla_fail_memory(err, "the body");
  if (st == PLA_OK)
    st = pla_cut_mesh_keep_surface(self->cut, &facets, &surface, made->facet, err);
  if (st == PLA_OK) {
    self->cell = pla_surgery_typical_edge(&lattice);
    self->formulation = PLA_FORMULATION_AVERAGED;
    self->bone = pla_array_new((size_t)facets.n_tris, sizeof *self->bone);
    self->held = pla_array_new0((size_t)pla_cut_mesh_get(self->cut).mesh.n_verts, 1);
    if (!self->bone || !self->held)
      st = pla_fail_memory(err, "the body");
  }
  for (int t = 0; st == PLA_OK && t < surface.n_tris; t++)
    self->bone[made->facet[t]] = made->border[t];
  if (st == PLA_OK)
    st = pla_surgery_complete(self, materials, n_materials, made->tissue, lattice.n_tets, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_surgery_free(self);
  return st;
}
