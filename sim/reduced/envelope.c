/* Alternating least squares.  With phi the quadratic functions, r their factors and z the
 * coefficients of a pose, d ~ sum_f r_f phi_f z_f.  Given r, z solves small normal equations for
 * each pose; given z, r minimises sum |d - sum_f r_f phi_f z_f|^2 + smooth c |L r|^2,  L r = r -
 * mean over neighbours, by conjugate gradients from the r before, so every half round lowers that
 * sum; c, the mean square of phi z, makes @smooth a pure number. */
#include "sim/reduced/envelope.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/linear/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AFFINE = 4, QUADRATIC = 6, ALL = AFFINE + QUADRATIC };

typedef struct {
  const PlaTetMesh *mesh;
  int n, m; /* vertices, quadratic functions */
  int n_poses;
  double *phi;     /* n x m */
  double *factor;  /* n x m */
  double *left;    /* d (n_poses x n x 3) */
  double *z;       /* n_poses x m x 3 */
  int *degree;     /* neighbours, counted by tets */
  double strength; /* smooth c */
} Envelope;

/* the coefficients of @columns (n x m) that come nearest to every component of every pose */
static bool
fit_poses(int n, int m, const double *columns, int n_poses, const double *d, double *z)
{
  double *gram = pla_array_new0((size_t)m, (size_t)m * sizeof *gram);
  double *rhs = pla_array_new0((size_t)m, 3 * (size_t)n_poses * sizeof *rhs);
  bool fine = gram && rhs;
  double largest = 0.0;
  /* normal equations, the same matrix for all poses and axes */
  for (int v = 0; fine && v < n; v++)
    for (int i = 0; i < m; i++) {
      const double *row = columns + (size_t)v * (size_t)m;
      for (int j = 0; j < m; j++)
        gram[i + j * m] += row[i] * row[j];
      for (int k = 0; k < n_poses; k++)
        for (int c = 0; c < 3; c++)
          rhs[(3 * k + c) * m + i] +=
              row[i] * d[3 * ((size_t)k * (size_t)n + (size_t)v) + (size_t)c];
    }
  /* a trace of ridge against dependent columns */
  for (int i = 0; fine && i < m; i++)
    largest = fmax(largest, gram[i + i * m]);
  for (int i = 0; fine && i < m; i++)
    gram[i + i * m] += 1e-12 * largest;
  fine = fine && pla_dense_factor(m, gram);
  if (fine) {
    pla_dense_solve(m, gram, 3 * n_poses, rhs);
    for (int k = 0; k < n_poses; k++)
      for (int i = 0; i < m; i++)
        for (int c = 0; c < 3; c++)
          z[3 * (k * m + i) + c] = rhs[(3 * k + c) * m + i];
  }
  free(gram);
  free(rhs);
  return fine;
}

/* d - columns z, in place; its length */
static double
take_away(int n, int m, const double *columns, int n_poses, const double *z, double *d)
{
  for (int k = 0; k < n_poses; k++)
    for (int v = 0; v < n; v++)
      for (int i = 0; i < m; i++)
        for (int c = 0; c < 3; c++)
          d[3 * ((size_t)k * (size_t)n + (size_t)v) + (size_t)c] -=
              columns[(size_t)v * (size_t)m + (size_t)i] * z[3 * (k * m + i) + c];
  return pla_norm2(d, 3 * (size_t)n * (size_t)n_poses);
}

/* out = L in, function by function */
static void
laplacian(const Envelope *self, const double *in, double *out)
{
  const int m = self->m;
  memset(out, 0, (size_t)self->n * (size_t)m * sizeof *out);
  for (int t = 0; t < self->mesh->n_tets; t++)
    for (int a = 0; a < 4; a++)
      for (int b = 0; b < 4; b++) {
        const size_t v = (size_t)self->mesh->tet[4 * (size_t)t + a];
        const size_t w = (size_t)self->mesh->tet[4 * (size_t)t + b];
        for (int i = 0; i < m && a != b; i++)
          out[v * (size_t)m + (size_t)i] -= in[w * (size_t)m + (size_t)i] / self->degree[v];
      }
  for (size_t i = 0; i < (size_t)self->n * (size_t)m; i++)
    out[i] += in[i];
}

/* out = L^T in */
static void
laplacian_transposed(const Envelope *self, const double *in, double *out)
{
  const int m = self->m;
  memcpy(out, in, (size_t)self->n * (size_t)m * sizeof *out);
  for (int t = 0; t < self->mesh->n_tets; t++)
    for (int a = 0; a < 4; a++)
      for (int b = 0; b < 4; b++) {
        const size_t v = (size_t)self->mesh->tet[4 * (size_t)t + a];
        const size_t w = (size_t)self->mesh->tet[4 * (size_t)t + b];
        for (int i = 0; i < m && a != b; i++)
          out[w * (size_t)m + (size_t)i] -= in[v * (size_t)m + (size_t)i] / self->degree[v];
      }
}

/* out = (B^T B + strength L^T L) r, B r = sum_f r_f phi_f z_f; scratch n x m */
static void
apply(const Envelope *self, const double *r, double *scratch, double *out)
{
  const int m = self->m;
  laplacian(self, r, scratch);
  laplacian_transposed(self, scratch, out);
  for (int v = 0; v < self->n; v++) {
    const double *phi = self->phi + (size_t)v * (size_t)m, *here = r + (size_t)v * (size_t)m;
    double *row = out + (size_t)v * (size_t)m;
    for (int i = 0; i < m; i++)
      row[i] *= self->strength;
    for (int k = 0; k < self->n_poses; k++)
      for (int c = 0; c < 3; c++) {
        double sum = 0.0;
        for (int i = 0; i < m; i++)
          sum += here[i] * phi[i] * self->z[3 * (k * m + i) + c];
        for (int i = 0; i < m; i++)
          row[i] += phi[i] * self->z[3 * (k * m + i) + c] * sum;
      }
  }
}

static bool
improve_factors(Envelope *self)
{
  enum { ITERATIONS = 40 };
  const int m = self->m;
  const size_t size = (size_t)self->n * (size_t)m;
  double *r = pla_array_new0(size, sizeof *r), *p = pla_array_new(size, sizeof *p);
  double *ap = pla_array_new(size, sizeof *ap), *scratch = pla_array_new(size, sizeof *scratch);
  bool enough = r && p && ap && scratch;
  if (enough) { /* right-hand side less what the factors do now */
    apply(self, self->factor, scratch, ap);
    for (int v = 0; v < self->n; v++)
      for (int i = 0; i < m; i++) {
        const size_t at = (size_t)v * (size_t)m + (size_t)i;
        for (int k = 0; k < self->n_poses; k++)
          for (int c = 0; c < 3; c++)
            r[at] += self->phi[at] * self->z[3 * (k * m + i) + c] *
                     self->left[3 * ((size_t)k * (size_t)self->n + (size_t)v) + (size_t)c];
        r[at] -= ap[at];
      }
    memcpy(p, r, size * sizeof *p);
  }
  /* conjugate gradients on the normal equations of the factors */
  double rr = enough ? pla_dot(r, r, size) : 0.0;
  for (int k = 0; enough && k < ITERATIONS && rr > 0.0; k++) {
    apply(self, p, scratch, ap);
    const double curvature = pla_dot(p, ap, size);
    if (!(curvature > 0.0))
      break;
    const double step = rr / curvature;
    for (size_t i = 0; i < size; i++) {
      self->factor[i] += step * p[i];
      r[i] -= step * ap[i];
    }
    const double next = pla_dot(r, r, size);
    for (size_t i = 0; i < size; i++)
      p[i] = r[i] + next / rr * p[i];
    rr = next;
  }
  free(r);
  free(p);
  free(ap);
  free(scratch);
  return enough;
}

/* coefficients for the factors as they are, and the length of what they leave */
static bool
explain(Envelope *self, double *columns, double *rest, double *left)
{
  const size_t size = (size_t)self->n * (size_t)self->m;
  for (size_t i = 0; i < size; i++)
    columns[i] = self->factor[i] * self->phi[i];
  if (!fit_poses(self->n, self->m, columns, self->n_poses, self->left, self->z))
    return false;
  memcpy(rest, self->left, 3 * (size_t)self->n * (size_t)self->n_poses * sizeof *rest);
  *left = take_away(self->n, self->m, columns, self->n_poses, self->z, rest);
  return true;
}

PlaStatus
pla_basis_envelope(PlaReducedBasis *basis, const PlaTetMesh *mesh, int n_poses, const double *disp,
                   double smooth, int rounds, double *residual, PlaError *err)
{
  const int n = basis->n_verts, n_domains = basis->n_funcs / ALL, affine = AFFINE * n_domains;
  Envelope self = { .mesh = mesh, .n = n, .m = QUADRATIC * n_domains, .n_poses = n_poses };
  const size_t size = (size_t)n * (size_t)self.m, all = 3 * (size_t)n * (size_t)n_poses;
  double *linear = pla_array_new((size_t)n, (size_t)affine * sizeof *linear);
  double *columns = pla_array_new(size, sizeof *columns), *rest = pla_array_new(all, sizeof *rest);
  double whole = 0.0, left = 0.0;
  self.phi = pla_array_new(size, sizeof *self.phi);
  self.factor = pla_array_new(size, sizeof *self.factor);
  self.left = pla_array_dup(disp, all, sizeof *disp);
  self.z = pla_array_new((size_t)(affine + self.m), 3 * (size_t)n_poses * sizeof *self.z);
  self.degree = pla_array_new0((size_t)n, sizeof *self.degree);
  bool fine =
      linear && columns && rest && self.phi && self.factor && self.left && self.z && self.degree;
  if (fine) {
    /* affine and quadratic functions of each domain apart */
    for (int v = 0; v < n; v++)
      for (int d = 0; d < n_domains; d++)
        for (int k = 0; k < ALL; k++) {
          const double x = basis->phi[(size_t)v * (size_t)basis->n_funcs + (size_t)(d * ALL + k)];
          if (k < AFFINE)
            linear[(size_t)v * (size_t)affine + (size_t)(d * AFFINE + k)] = x;
          else
            self.phi[(size_t)v * (size_t)self.m + (size_t)(d * QUADRATIC + k - AFFINE)] = x;
        }
    for (size_t i = 0; i < size; i++)
      self.factor[i] = 1.0;
    for (int t = 0; t < mesh->n_tets; t++)
      for (int a = 0; a < 4; a++)
        self.degree[mesh->tet[4 * (size_t)t + a]] += 3;
    fine = fit_poses(n, affine, linear, n_poses, self.left, self.z);
  }
  if (fine) {
    /* what the affine functions leave, and how much of it the quadratic ones explain */
    whole = take_away(n, affine, linear, n_poses, self.z, self.left);
    fine = explain(&self, columns, rest, &left);
    residual[0] = whole > 0.0 ? left / whole : 0.0;
  }
  if (fine) { /* mean square of what one factor multiplies */
    double sum = 0.0;
    for (int v = 0; v < n; v++)
      for (int i = 0; i < self.m; i++)
        for (int k = 0; k < n_poses; k++)
          for (int c = 0; c < 3; c++)
            sum += pow(self.phi[(size_t)v * (size_t)self.m + (size_t)i] *
                           self.z[3 * (k * self.m + i) + c],
                       2.0);
    self.strength = smooth * sum / (double)size;
  }
  /* alternate: factors of the functions, then coefficients of the poses */
  for (int round = 1; fine && round <= rounds; round++) {
    fine = improve_factors(&self) && explain(&self, columns, rest, &left);
    residual[round] = whole > 0.0 ? left / whole : 0.0;
  }
  /* the improved quadratic functions replace the old ones */
  for (int v = 0; fine && v < n; v++)
    for (int d = 0; d < n_domains; d++)
      for (int k = 0; k < QUADRATIC; k++)
        basis->phi[(size_t)v * (size_t)basis->n_funcs + (size_t)(d * ALL + AFFINE + k)] =
            columns[(size_t)v * (size_t)self.m + (size_t)(d * QUADRATIC + k)];
  free(linear);
  free(columns);
  free(rest);
  free(self.phi);
  free(self.factor);
  free(self.left);
  free(self.z);
  free(self.degree);
  return fine ? PLA_OK
              : pla_fail(err, PLA_ERR_MEMORY,
                         "The weights of the reduced model could not be trained");
}
