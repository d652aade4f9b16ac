/* Fibres from given vectors.
 *
 * A fibre is an axis, so the vectors around a place are first averaged as dyads d d^T, which
 * forgets their signs.  Turned to the side of that axis they are then fitted by d = a + B (x - p),
 * weighted by nearness, so that a field that turns steadily is met to second order; a little is
 * charged for B, which keeps the fit sound where samples lie on a line. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/svd3.h"
#include "anatomy/mesh/point-tree.h"
#include "anatomy/muscle/muscle-fibre.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RIDGE 1e-3 /* price of turning, relative to the weights */
enum { NEAREST = 20 };

struct PlaFibreSamples {
  int n;
  double *pos; /* n x 3 */
  double *dir; /* unit (n x 3) */
  PlaPointTree *tree;
};

void
pla_fibre_samples_free(PlaFibreSamples *self)
{
  if (!self)
    return;
  pla_point_tree_free(self->tree);
  free(self->pos);
  free(self->dir);
  free(self);
}

PlaStatus
pla_fibre_samples_new(int n, const double *pos, const double *dir, PlaFibreSamples **out,
                      PlaError *err)
{
  PlaFibreSamples *self = pla_array_new0(1, sizeof *self);
  if (self) {
    self->pos = pla_array_new(3 * (size_t)n, sizeof *self->pos);
    self->dir = pla_array_new(3 * (size_t)n, sizeof *self->dir);
  }
  PlaStatus st = self && self->pos && self->dir ? PLA_OK : pla_fail_memory(err, "fibre directions");
  for (int i = 0; i < n && st == PLA_OK; i++) {
    const double *p = pos + 3 * (size_t)i, *d = dir + 3 * (size_t)i;
    const double l = pla_vec3_norm(d);
    if (!isfinite(l) || !(l > 0.0) || !isfinite(p[0] + p[1] + p[2]))
      continue;
    for (int c = 0; c < 3; c++) {
      self->dir[3 * (size_t)self->n + c] = d[c] / l;
      self->pos[3 * (size_t)self->n + c] = p[c];
    }
    self->n++;
  }
  if (st == PLA_OK && self->n == 0)
    st = pla_fail(err, PLA_ERR_EMPTY,
                  "None of the %d given fibre vectors has a length and a position.", n);
  if (st == PLA_OK)
    st = pla_point_tree_new(self->n, self->pos, &self->tree, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_fibre_samples_free(self);
  return st;
}

/* a of the weighted fit d = a + B (x - p): by its 4 x 4 normal equations, x in units of the reach
 */
static bool
fit(const double rel[][3], const double dir[][3], const double *w, int n, double a[3])
{
  double m[4][4] = { { 0 } }, b[4][3] = { { 0 } };
  for (int i = 0; i < n; i++) {
    const double row[4] = { 1.0, rel[i][0], rel[i][1], rel[i][2] };
    for (int r = 0; r < 4; r++) {
      for (int c = 0; c < 4; c++)
        m[r][c] += w[i] * row[r] * row[c];
      for (int d = 0; d < 3; d++)
        b[r][d] += w[i] * row[r] * dir[i][d];
    }
  }
  for (int r = 1; r < 4; r++)
    m[r][r] += RIDGE * m[0][0];
  /* elimination from the last unknown up leaves a */
  for (int k = 3; k > 0; k--) {
    if (!(m[k][k] > 0.0))
      return false;
    for (int r = 0; r < k; r++) {
      const double f = m[r][k] / m[k][k];
      for (int c = 0; c < 4; c++)
        m[r][c] -= f * m[k][c];
      for (int d = 0; d < 3; d++)
        b[r][d] -= f * b[k][d];
    }
  }
  const double l = sqrt(pla_vec3_dot(b[0], b[0]));
  if (!(m[0][0] > 0.0) || !(l > 0.0))
    return false;
  for (int d = 0; d < 3; d++)
    a[d] = b[0][d] / l;
  return true;
}

void
pla_fibre_samples_at(const PlaFibreSamples *self, const double pos[3], double dir[3],
                     double *agreement)
{
  int index[NEAREST];
  double d2[NEAREST], w[NEAREST], rel[NEAREST][3], around[NEAREST][3];
  double dyads[9] = { 0 }, value[3], q[9], sum = 0.0;
  const int n = pla_point_tree_nearest(self->tree, pos, NEAREST, index, d2);
  const double reach2 = 1.2 * d2[n - 1], reach = sqrt(fmax(reach2, 1e-300));
  for (int i = 0; i < n; i++) {
    const double *v = self->dir + 3 * (size_t)index[i];
    const double s = reach2 > 0.0 ? 1.0 - d2[i] / reach2 : 1.0;
    w[i] = s * s / (d2[i] + 0.01 * reach2 + 1e-30);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++)
        dyads[3 * r + c] += w[i] * v[r] * v[c];
    sum += w[i];
  }
  pla_eig3(dyads, value, q);
  for (int d = 0; d < 3; d++)
    dir[d] = q[3 * d + 2];
  const double *first = self->dir + 3 * (size_t)index[0];
  const double sign = pla_vec3_dot(dir, first) < 0.0 ? -1.0 : 1.0;
  for (int d = 0; d < 3; d++)
    dir[d] *= sign;
  if (agreement)
    *agreement = value[2] / sum;

  for (int i = 0; i < n; i++) {
    const double *v = self->dir + 3 * (size_t)index[i];
    const double side = pla_vec3_dot(v, dir) < 0.0 ? -1.0 : 1.0;
    for (int d = 0; d < 3; d++) {
      rel[i][d] = (self->pos[3 * (size_t)index[i] + d] - pos[d]) / reach;
      around[i][d] = side * v[d];
    }
  }
  double turned[3];
  if (fit(rel, around, w, n, turned) && pla_vec3_dot(turned, dir) > 0.7)
    memcpy(dir, turned, sizeof turned);
}
