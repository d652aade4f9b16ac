/* Smoothing domains of the mixed formulation: strains of tets averaged around each edge.
 *
 * A linear tet is too stiff in bending and shear because its F is constant.  Here F is averaged
 * over the tets (of one material) around each edge, weighted by volume, and the energy is a sum
 * over edges, to which each tet gives a sixth of itself: F_d = sum_t V_t F_t / sum_t V_t = sum_a
 * x_a g_a^T,   E = sum_d sum_(t in d) V_t / 6 Psi_t(F_d) (Liu, Nguyen-Thoi and Lam 2009; with
 * averaged volumes, Onishi and Amaya 2014).  Coarse meshes of tets then answer about as well as
 * hexes, from the same unknowns.  Fibres of plain muscle act on F of their own tet instead
 * (sim/fem/simple-tet.c). */
#include "sim/fem/model-data.h"
#include "sim/fem/simple-tet.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/material/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* an edge of a tet */
typedef struct {
  int a, b, material, tet;
} Edge;

static int
compare_edges(const void *p, const void *q)
{
  const Edge *x = p, *y = q;
  if (x->a != y->a)
    return x->a < y->a ? -1 : 1;
  if (x->b != y->b)
    return x->b < y->b ? -1 : 1;
  if (x->material != y->material)
    return x->material < y->material ? -1 : 1;
  return (x->tet > y->tet) - (x->tet < y->tet);
}

static bool
same_domain(const Edge *x, const Edge *y)
{
  return x->a == y->a && x->b == y->b && x->material == y->material;
}

void
pla_fem_domains_free(PlaFemDomains *self)
{
  if (!self)
    return;
  free(self->tet_start);
  free(self->tet);
  free(self->vert_start);
  free(self->vert);
  free(self->grad);
  free(self->volume);
  free(self->entry_start);
  free(self->entry);
  free(self);
}

/* every edge of every tet, those of one domain together */
static Edge *
list_edges(const PlaFemModel *model)
{
  static const int ends[6][2] = { { 0, 1 }, { 0, 2 }, { 0, 3 }, { 1, 2 }, { 1, 3 }, { 2, 3 } };
  const size_t n = 6 * (size_t)model->n_tets;
  Edge *edges = pla_array_new(n, sizeof *edges);
  for (int t = 0; edges && t < model->n_tets; t++)
    for (int k = 0; k < 6; k++) {
      const int *tet = model->tet + 4 * (size_t)t;
      int a = tet[ends[k][0]], b = tet[ends[k][1]];
      edges[6 * (size_t)t + (size_t)k] =
          (Edge){ a < b ? a : b, a < b ? b : a, model->cell_material[t], t };
    }
  if (edges)
    qsort(edges, n, sizeof *edges, compare_edges);
  return edges;
}

/* vertices of tets first..last-1 of the list, ascending, and their averaged gradients; the number
 */
static int
average_gradients(const PlaFemModel *model, const int *tets, int n_tets, int *vert, double *grad,
                  double *volume)
{
  int n = 0;
  *volume = 0.0;
  for (int k = 0; k < n_tets; k++)
    *volume += model->tet_volume[tets[k]];
  for (int k = 0; k < n_tets; k++) {
    const double share = model->tet_volume[tets[k]] / *volume;
    double shape[4][3];
    pla_fem_tet_shape(model, tets[k], shape);
    for (int a = 0; a < 4; a++) {
      const int v = model->tet[4 * (size_t)tets[k] + (size_t)a];
      int at = 0;
      while (at < n && vert[at] < v)
        at++;
      if (at == n || vert[at] != v) {
        memmove(vert + at + 1, vert + at, (size_t)(n - at) * sizeof *vert);
        memmove(grad + 3 * (at + 1), grad + 3 * at, 3 * (size_t)(n - at) * sizeof *grad);
        vert[at] = v;
        memset(grad + 3 * at, 0, 3 * sizeof *grad);
        n++;
      }
      for (int d = 0; d < 3; d++)
        grad[3 * at + d] += share * shape[a][d];
    }
  }
  return n;
}

/* where each vertex's entries are */
static bool
list_entries(PlaFemDomains *self, int n_verts)
{
  const int n = self->vert_start[self->n];
  int *fill = pla_array_new0((size_t)n_verts, sizeof *fill);
  self->entry_start = pla_array_new0((size_t)n_verts + 1, sizeof *self->entry_start);
  self->entry = pla_array_new((size_t)n, sizeof *self->entry);
  bool enough = fill && self->entry_start && self->entry;
  if (enough) {
    for (int k = 0; k < n; k++)
      self->entry_start[self->vert[k] + 1]++;
    for (int v = 0; v < n_verts; v++)
      self->entry_start[v + 1] += self->entry_start[v];
    for (int k = 0; k < n; k++)
      self->entry[self->entry_start[self->vert[k]] + fill[self->vert[k]]++] = k;
  }
  free(fill);
  return enough;
}

PlaStatus
pla_fem_domains_new(const PlaFemModel *model, PlaFemDomains **out, PlaError *err)
{
  const size_t n_edges = 6 * (size_t)model->n_tets;
  PlaFemDomains *self = pla_array_new0(1, sizeof *self);
  Edge *edges = list_edges(model);
  *out = self;
  if (!self || !edges) {
    free(edges);
    return pla_fail_memory(err, "the model");
  }
  int most = 0, run = 0;
  for (size_t k = 0; k < n_edges; k++) {
    bool fresh = k == 0 || !same_domain(&edges[k], &edges[k - 1]);
    self->n += fresh;
    run = fresh ? 1 : run + 1;
    most = run > most ? run : most;
  }
  const size_t n = (size_t)self->n;
  int *vert = pla_array_new(4 * (size_t)most, sizeof *vert);
  double *grad = pla_array_new(4 * (size_t)most, 3 * sizeof *grad);
  self->tet_start = pla_array_new0(n + 1, sizeof *self->tet_start);
  self->vert_start = pla_array_new0(n + 1, sizeof *self->vert_start);
  self->tet = pla_array_new(n_edges, sizeof *self->tet);
  self->volume = pla_array_new(n, sizeof *self->volume);
  bool enough = vert && grad && self->tet_start && self->vert_start && self->tet && self->volume;
  if (enough) {
    int d = -1;
    for (size_t k = 0; k < n_edges; k++) {
      d += k == 0 || !same_domain(&edges[k], &edges[k - 1]);
      self->tet[k] = edges[k].tet;
      self->tet_start[d + 1] = (int)k + 1;
    }
  }
  /* vertices are counted first, then kept */
  for (int pass = 0; enough && pass < 2; pass++) {
    for (int d = 0; d < self->n; d++) {
      const int first = self->tet_start[d], at = self->vert_start[d];
      int k = average_gradients(model, self->tet + first, self->tet_start[d + 1] - first, vert,
                                grad, &self->volume[d]);
      self->volume[d] /= 6.0;
      self->vert_start[d + 1] = at + k;
      if (pass == 1) {
        memcpy(self->vert + at, vert, (size_t)k * sizeof *vert);
        memcpy(self->grad + 3 * (size_t)at, grad, 3 * (size_t)k * sizeof *grad);
      }
    }
    if (pass == 0) {
      self->vert = pla_array_new((size_t)self->vert_start[self->n], sizeof *self->vert);
      self->grad = pla_array_new((size_t)self->vert_start[self->n], 3 * sizeof *self->grad);
      enough = self->vert && self->grad;
    }
  }
  enough = enough && list_entries(self, model->n_verts);
  free(edges);
  free(vert);
  free(grad);
  return enough ? PLA_OK : pla_fail_memory(err, "the model");
}

static void
domain_gradient(const PlaFemDomains *self, int d, const double *pos, double f[9])
{
  memset(f, 0, 9 * sizeof *f);
  for (int k = self->vert_start[d]; k < self->vert_start[d + 1]; k++)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        f[3 * i + j] +=
            pos[3 * (size_t)self->vert[k] + (size_t)i] * self->grad[3 * (size_t)k + (size_t)j];
}

/* whether the tets of domain @d have nothing of their own here */
static bool
are_alike(const PlaFemModel *model, int d)
{
  const PlaFemDomains *self = model->domains;
  return !pla_fem_has_cells(model) ||
         (!model->own && pla_tet_has_own_fibres(model, self->tet[self->tet_start[d]]));
}

/* those are one */
static int
n_members(const PlaFemModel *model, int d)
{
  const PlaFemDomains *self = model->domains;
  return are_alike(model, d) ? 1 : self->tet_start[d + 1] - self->tet_start[d];
}

/* the @k-th member: its material, what its point has, and its volume */
static double
member(const PlaFemModel *model, int d, int k, PlaPoint *point, const PlaMaterial **material,
       const double **constants)
{
  const PlaFemDomains *self = model->domains;
  const int t = self->tet[self->tet_start[d] + k];
  *material = pla_fem_cell_law(model, t, constants);
  point->n_fibres = 0;
  if (!pla_tet_has_own_fibres(model, t))
    pla_fem_cell_point(model, t, point);
  return are_alike(model, d) ? self->volume[d] : model->tet_volume[t] / 6.0;
}

/* the moduli of a domain of nothing but neo-Hookean tets, times volume */
static bool
simple_moduli(const PlaFemModel *model, int d, PlaFemSimpleDomain *out)
{
  const int n = n_members(model, d);
  out->mu = out->lambda = 0.0;
  if (model->prestretch)
    return false;
  for (int k = 0; k < n; k++) {
    PlaPoint ignored;
    PlaFibreLaw law;
    const PlaMaterial *material;
    const double *constants, w = member(model, d, k, &ignored, &material, &constants);
    if (material != &pla_material_neo_hookean && !pla_muscle_is_plain(material, constants, &law))
      return false;
    out->mu += w * constants[0];
    out->lambda += w * constants[1];
  }
  return true;
}

bool
pla_fem_domain_simple(const PlaFemModel *model, int d, const double *pos, PlaFemSimpleDomain *out)
{
  double cofactor[9], minors = 0.0;
  if (!simple_moduli(model, d, out))
    return false;
  domain_gradient(model->domains, d, pos, out->f);
  pla_mat3_cofactor(out->f, cofactor);
  const double det = pla_vec3_dot(out->f, cofactor);
  for (int i = 0; i < 9; i++)
    minors += cofactor[i] * cofactor[i];
  /* the smallest stretch is at least J / |cof F| */
  if (!(det > 0.0 && det * det >= PLA_STRETCH_FLOOR * PLA_STRETCH_FLOOR * minors))
    return false;
  out->log_det = log(det);
  for (int i = 0; i < 9; i++)
    out->inverse[i] = cofactor[i] / det;
  return true;
}

double
pla_fem_domains_energy(const PlaFemModel *model, const double *pos)
{
  const PlaFemDomains *self = model->domains;
  double *part = pla_array_new((size_t)self->n, sizeof *part);
  if (!part)
    return NAN;
#pragma omp parallel for schedule(static)
  for (int d = 0; d < self->n; d++) {
    PlaFemSimpleDomain simple;
    if (pla_fem_domain_simple(model, d, pos, &simple)) {
      const double l = simple.log_det;
      double i1 = 0.0;
      for (int i = 0; i < 9; i++)
        i1 += simple.f[i] * simple.f[i];
      part[d] = simple.mu * (0.5 * (i1 - 3.0) - l) + 0.5 * simple.lambda * l * l;
      continue;
    }
    PlaPoint point = { 0 };
    domain_gradient(self, d, pos, point.f);
    pla_point_decompose(&point);
    part[d] = 0.0;
    for (int k = 0; k < n_members(model, d); k++) {
      const PlaMaterial *material;
      const double *constants, w = member(model, d, k, &point, &material, &constants);
      part[d] += w * pla_material_energy(material, constants, &point);
    }
  }
  double energy = pla_sum(part, (size_t)self->n);
  free(part);
  return energy;
}

PlaStatus
pla_fem_domains_add_forces(const PlaFemModel *model, const double *pos, double *force,
                           PlaError *err)
{
  const PlaFemDomains *self = model->domains;
  double *corner = pla_array_new((size_t)self->vert_start[self->n], 3 * sizeof *corner);
  if (!corner)
    return pla_fail_memory(err, "the element forces");
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int d = 0; d < self->n; d++) {
      PlaFemSimpleDomain simple;
      PlaPoint point = { 0 };
      double sum[9] = { 0 };
      const bool done = pla_fem_domain_simple(model, d, pos, &simple);
      for (int i = 0; done && i < 9; i++)
        sum[i] = simple.mu * simple.f[i] +
                 (simple.lambda * simple.log_det - simple.mu) * simple.inverse[i];
      if (!done) {
        domain_gradient(self, d, pos, point.f);
        pla_point_decompose(&point);
      }
      for (int k = 0; !done && k < n_members(model, d); k++) {
        const PlaMaterial *material;
        const double *constants, w = member(model, d, k, &point, &material, &constants);
        double p[9];
        pla_material_stress(material, constants, &point, p);
        for (int i = 0; i < 9; i++)
          sum[i] += w * p[i];
      }
      for (size_t k = (size_t)self->vert_start[d]; k < (size_t)self->vert_start[d + 1]; k++)
        pla_mat3_apply(sum, self->grad + 3 * k, corner + 3 * k);
    }
#pragma omp for schedule(static)
    for (int v = 0; v < model->n_verts; v++)
      for (int k = self->entry_start[v]; k < self->entry_start[v + 1]; k++)
        for (size_t i = 0; i < 3; i++)
          force[3 * (size_t)v + i] -= corner[3 * (size_t)self->entry[k] + i];
  }
  free(corner);
  return PLA_OK;
}

void
pla_fem_domain_tangent(const PlaFemModel *model, int d, const double *pos, bool project,
                       double h[81])
{
  PlaPoint point = { 0 };
  domain_gradient(model->domains, d, pos, point.f);
  pla_point_decompose(&point);
  memset(h, 0, 81 * sizeof *h);
  for (int k = 0; k < n_members(model, d); k++) {
    const PlaMaterial *material;
    const double *constants, w = member(model, d, k, &point, &material, &constants);
    double own[81];
    pla_material_tangent(material, constants, &point, project, own);
    for (int i = 0; i < 81; i++)
      h[i] += w * own[i];
  }
}
