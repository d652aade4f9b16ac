/* Functions of overlapping domains: the weight of each times 1, x, y, z, xx, yy, zz, xy, yz, xz. */
#include "sim/reduced/reduced.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/memory.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

PlaStatus
pla_reduced_basis_init(PlaReducedBasis *self, const PlaTetMesh *mesh, const int *seed,
                       int n_domains, const double *weight, const double *others,
                       PlaBasisOrder order, PlaError *err)
{
  const size_t n = (size_t)mesh->n_verts;
  self->n_verts = mesh->n_verts;
  self->n_funcs = n_domains * (int)order;
  self->phi = pla_array_new0(n, (size_t)self->n_funcs * sizeof *self->phi);
  if (!self->phi)
    return pla_fail_memory(err, "a reduced basis");
  for (int d = 0; d < n_domains; d++) {
    const double *w = weight + (size_t)d * n, *c = mesh->rest + 3 * (size_t)seed[d];
    const double *higher = others ? others + (size_t)d * n : w;
    double extent = 0.0;
    for (size_t v = 0; v < n; v++)
      for (int i = 0; i < 3 && higher[v] != 0.0; i++)
        extent = fmax(extent, fabs(mesh->rest[3 * v + (size_t)i] - c[i]));
    if (extent == 0.0)
      extent = 1.0;
    for (size_t v = 0; v < n; v++) {
      const double *p = mesh->rest + 3 * v;
      const double x = (p[0] - c[0]) / extent, y = (p[1] - c[1]) / extent,
                   z = (p[2] - c[2]) / extent;
      const double all[10] = { 1.0, x, y, z, x * x, y * y, z * z, x * y, y * z, x * z };
      double *row = self->phi + v * (size_t)self->n_funcs + (size_t)d * order;
      for (int k = 0; k < (int)order; k++)
        row[k] = (k == 0 ? w[v] : higher[v]) * all[k];
    }
  }
  return PLA_OK;
}

void
pla_reduced_basis_clear(PlaReducedBasis *self)
{
  free(self->phi);
  self->phi = NULL;
}

void
pla_reduced_basis_apply(const PlaReducedBasis *self, const double *q, double *disp)
{
  pla_blas_single_thread();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, self->n_verts, 3, self->n_funcs, 1.0,
              self->phi, self->n_funcs, q, 3, 0.0, disp, 3);
}

void
pla_reduced_basis_reduce(const PlaReducedBasis *self, const double *force, double *reduced)
{
  pla_blas_single_thread();
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, self->n_funcs, 3, self->n_verts, 1.0,
              self->phi, self->n_funcs, force, 3, 0.0, reduced, 3);
}
