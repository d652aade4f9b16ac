/* Tensor-product B-splines: evaluation by the basis functions of the span (Cox and de Boor), and
 * inversion by Newton's method from the nearest of 10 x 10 x 10 samples. */
#include "anatomy/muscle/spline-solid.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/point-tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE = 10, MAX_STEPS = 20, MAX_DEGREE = 3 };

struct PlaSplineSolid {
  int n[3], degree[3];
  double *control; /* n[0] x n[1] x n[2] x 3, first index fastest */
  double size;     /* diagonal of the box of control points */
  PlaPointTree *table;
};

/* knot @i of a clamped uniform vector over 0..1 */
static double
knot(int n, int degree, int i)
{
  const double inner = (double)(i - degree) / (n - degree);
  return fmin(fmax(inner, 0.0), 1.0);
}

double
pla_spline_abscissa(int n, int degree, int i)
{
  double sum = 0.0;
  for (int k = 1; k <= degree; k++)
    sum += knot(n, degree, i + k);
  return sum / degree;
}

/* The degree + 1 functions that do not vanish at @u, and their derivatives; returns the first one's
 * number. */
static int
basis(int n, int degree, double u, double value[MAX_DEGREE + 1], double slope[MAX_DEGREE + 1])
{
  int span = degree + (int)floor(u * (n - degree));
  span = span < degree ? degree : span > n - 1 ? n - 1 : span;
  double b[MAX_DEGREE + 1] = { 1.0 }, lower[MAX_DEGREE + 1] = { 1.0 };
  for (int p = 1; p <= degree; p++) {
    memcpy(lower, b, sizeof lower);
    double carry = 0.0;
    for (int r = 0; r < p; r++) {
      const double right = knot(n, degree, span + r + 1) - u,
                   left = u - knot(n, degree, span + 1 - p + r);
      const double t = lower[r] / (right + left);
      b[r] = carry + right * t;
      carry = left * t;
    }
    b[p] = carry;
  }
  memcpy(value, b, sizeof b);
  /* from the functions of one degree less */
  for (int r = 0; r <= degree; r++) {
    double d = 0.0;
    if (r > 0)
      d += lower[r - 1] / (knot(n, degree, span + r) - knot(n, degree, span + r - degree));
    if (r < degree)
      d -= lower[r] / (knot(n, degree, span + r + 1) - knot(n, degree, span + r + 1 - degree));
    slope[r] = degree * d;
  }
  return span - degree;
}

void
pla_spline_solid_eval(const PlaSplineSolid *self, const double uvw[3], double pos[3],
                      double jacobian[9])
{
  double b[3][MAX_DEGREE + 1], s[3][MAX_DEGREE + 1], sum[4][3] = { { 0 } };
  int first[3];
  for (int a = 0; a < 3; a++)
    first[a] = basis(self->n[a], self->degree[a], uvw[a], b[a], s[a]);
  for (int k = 0; k <= self->degree[2]; k++)
    for (int j = 0; j <= self->degree[1]; j++)
      for (int i = 0; i <= self->degree[0]; i++) {
        const size_t at = (size_t)(first[0] + i) +
                          (size_t)self->n[0] * ((size_t)(first[1] + j) +
                                                (size_t)self->n[1] * (size_t)(first[2] + k));
        const double w[4] = { b[0][i] * b[1][j] * b[2][k], s[0][i] * b[1][j] * b[2][k],
                              b[0][i] * s[1][j] * b[2][k], b[0][i] * b[1][j] * s[2][k] };
        for (int f = 0; f < 4; f++)
          for (int d = 0; d < 3; d++)
            sum[f][d] += w[f] * self->control[3 * at + d];
      }
  memcpy(pos, sum[0], sizeof sum[0]);
  if (jacobian)
    for (int d = 0; d < 3; d++)
      for (int a = 0; a < 3; a++)
        jacobian[3 * d + a] = sum[a + 1][d];
}

void
pla_spline_solid_free(PlaSplineSolid *self)
{
  if (!self)
    return;
  pla_point_tree_free(self->table);
  free(self->control);
  free(self);
}

static void
table_parameters(int i, double uvw[3])
{
  uvw[0] = (i % TABLE + 0.5) / TABLE;
  uvw[1] = (i / TABLE % TABLE + 0.5) / TABLE;
  uvw[2] = (i / (TABLE * TABLE) + 0.5) / TABLE;
}

PlaStatus
pla_spline_solid_new(const int n[3], const int degree[3], const double *control,
                     PlaSplineSolid **out, PlaError *err)
{
  for (int a = 0; a < 3; a++)
    if (degree[a] < 1 || degree[a] > MAX_DEGREE || n[a] <= degree[a] ||
        n[a] > PLA_SPLINE_MAX_CONTROL)
      return pla_fail(
          err, PLA_ERR_USAGE,
          "A B-spline solid of degree %d needs %d to %d control points along each axis, "
          "not %d.",
          degree[a], degree[a] + 1, PLA_SPLINE_MAX_CONTROL, n[a]);
  const size_t n_control = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
  PlaSplineSolid *self = pla_array_new0(1, sizeof *self);
  double *sample = pla_array_new(3 * TABLE * TABLE * TABLE, sizeof *sample);
  if (self)
    self->control = pla_array_dup(control, 3 * n_control, sizeof *control);
  PlaStatus st =
      self && sample && self->control ? PLA_OK : pla_fail_memory(err, "a B-spline solid");
  if (st == PLA_OK) {
    double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
    memcpy(self->n, n, sizeof self->n);
    memcpy(self->degree, degree, sizeof self->degree);
    for (size_t i = 0; i < n_control; i++)
      for (int d = 0; d < 3; d++) {
        lo[d] = fmin(lo[d], control[3 * i + d]);
        hi[d] = fmax(hi[d], control[3 * i + d]);
      }
    pla_vec3_sub(hi, lo, hi);
    self->size = pla_vec3_norm(hi);
    if (!isfinite(self->size) || !(self->size > 0.0))
      st = pla_fail(err, PLA_ERR_GEOMETRY,
                    "The control points of the B-spline solid span no volume.");
  }
  for (int i = 0; i < TABLE * TABLE * TABLE && st == PLA_OK; i++) {
    double uvw[3];
    table_parameters(i, uvw);
    pla_spline_solid_eval(self, uvw, sample + 3 * i, NULL);
  }
  if (st == PLA_OK)
    st = pla_point_tree_new(TABLE * TABLE * TABLE, sample, &self->table, err);
  free(sample);
  if (st == PLA_OK)
    *out = self;
  else
    pla_spline_solid_free(self);
  return st;
}

/* Solves the collocation along one axis in place: @n values @stride doubles apart. */
static void
collocate(const double *lu, const int *pivot, int n, double *x, size_t stride)
{
  double y[PLA_SPLINE_MAX_CONTROL];
  for (int i = 0; i < n; i++)
    y[i] = x[(size_t)i * stride];
  for (int i = 0; i < n; i++) {
    const double swap = y[i];
    y[i] = y[pivot[i]];
    y[pivot[i]] = swap;
    for (int k = 0; k < i; k++)
      y[i] -= lu[i * n + k] * y[k];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++)
      y[i] -= lu[i * n + k] * y[k];
    y[i] /= lu[i * n + i];
  }
  for (int i = 0; i < n; i++)
    x[(size_t)i * stride] = y[i];
}

/* LU with row exchanges of the basis functions at the abscissae; regular by Schoenberg-Whitney */
static void
collocation_factor(int n, int degree, double *lu, int *pivot)
{
  memset(lu, 0, (size_t)n * (size_t)n * sizeof *lu);
  for (int i = 0; i < n; i++) {
    double b[MAX_DEGREE + 1], s[MAX_DEGREE + 1];
    const int first = basis(n, degree, pla_spline_abscissa(n, degree, i), b, s);
    for (int k = 0; k <= degree; k++)
      lu[i * n + first + k] = b[k];
  }
  for (int c = 0; c < n; c++) {
    int best = c;
    for (int r = c + 1; r < n; r++)
      if (fabs(lu[r * n + c]) > fabs(lu[best * n + c]))
        best = r;
    pivot[c] = best;
    for (int k = 0; k < n; k++) {
      const double swap = lu[c * n + k];
      lu[c * n + k] = lu[best * n + k];
      lu[best * n + k] = swap;
    }
    for (int r = c + 1; r < n; r++) {
      lu[r * n + c] /= lu[c * n + c];
      for (int k = c + 1; k < n; k++)
        lu[r * n + k] -= lu[r * n + c] * lu[c * n + k];
    }
  }
}

PlaStatus
pla_spline_solid_interpolate(const int n[3], const int degree[3], const double *sample,
                             PlaSplineSolid **out, PlaError *err)
{
  PlaSplineSolid *self = NULL;
  /* the samples stand in for control points until those are solved for; this checks the sizes */
  PlaStatus st = pla_spline_solid_new(n, degree, sample, &self, err);
  if (st != PLA_OK)
    return st;
  double *control =
      pla_array_dup(sample, 3 * (size_t)n[0] * (size_t)n[1] * (size_t)n[2], sizeof *sample);
  double *lu = pla_array_new((size_t)PLA_SPLINE_MAX_CONTROL * PLA_SPLINE_MAX_CONTROL, sizeof *lu);
  int pivot[PLA_SPLINE_MAX_CONTROL];
  if (!control || !lu)
    st = pla_fail_memory(err, "a B-spline solid");
  for (int a = 0; a < 3 && st == PLA_OK; a++) {
    const size_t step[3] = { 1, (size_t)n[0], (size_t)n[0] * (size_t)n[1] };
    const int b = (a + 1) % 3, c = (a + 2) % 3;
    collocation_factor(n[a], degree[a], lu, pivot);
    for (int j = 0; j < n[b]; j++)
      for (int k = 0; k < n[c]; k++)
        for (int d = 0; d < 3; d++)
          collocate(lu, pivot, n[a], control + 3 * ((size_t)j * step[b] + (size_t)k * step[c]) + d,
                    3 * step[a]);
  }
  pla_spline_solid_free(self);
  if (st == PLA_OK)
    st = pla_spline_solid_new(n, degree, control, out, err);
  free(control);
  free(lu);
  return st;
}

/* The step that brings F nearest to the place, to first order, with some parameters held; false
 * when the map is folded there. */
static bool
newton_move(const double j[9], const double miss[3], const bool held[3], double move[3])
{
  double inv[9], jtj[9], right[3];
  if (!held[0] && !held[1] && !held[2]) {
    if (pla_mat3_invert(j, inv) == 0.0)
      return false;
    pla_mat3_apply(inv, miss, move);
    return true;
  }
  pla_mat3_mul_tn(j, j, jtj);
  for (int a = 0; a < 3; a++)
    right[a] = j[a] * miss[0] + j[3 + a] * miss[1] + j[6 + a] * miss[2];
  for (int a = 0; a < 3; a++)
    if (held[a]) {
      for (int b = 0; b < 3; b++)
        jtj[3 * a + b] = jtj[3 * b + a] = 0.0;
      jtj[4 * a] = 1.0;
      right[a] = 0.0;
    }
  if (pla_mat3_invert(jtj, inv) == 0.0)
    return false;
  pla_mat3_apply(inv, right, move);
  return true;
}

/* One Newton step in the cube; false when nothing moves any more. */
static bool
newton_step(const double j[9], const double miss[3], double uvw[3])
{
  bool held[3] = { false, false, false }, again = true;
  double move[3];
  while (again) {
    if (!newton_move(j, miss, held, move))
      return false;
    again = false;
    for (int a = 0; a < 3; a++)
      if (!held[a] && ((uvw[a] <= 0.0 && move[a] < 0.0) || (uvw[a] >= 1.0 && move[a] > 0.0)))
        held[a] = again = true;
  }
  bool moved = false;
  for (int a = 0; a < 3; a++) {
    const double to = fmin(fmax(uvw[a] + move[a], 0.0), 1.0);
    moved = moved || fabs(to - uvw[a]) > 1e-12;
    uvw[a] = to;
  }
  return moved;
}

PlaSplinePlace
pla_spline_solid_invert(const PlaSplineSolid *self, const double pos[3])
{
  PlaSplinePlace at = { .distance = INFINITY };
  int nearest;
  double d2, uvw[3], x[3], j[9], miss[3];
  pla_point_tree_nearest(self->table, pos, 1, &nearest, &d2);
  table_parameters(nearest, uvw);
  for (int step = 0; step <= MAX_STEPS; step++) {
    pla_spline_solid_eval(self, uvw, x, j);
    pla_vec3_sub(pos, x, miss);
    const double distance = pla_vec3_norm(miss);
    if (distance < at.distance) {
      memcpy(at.uvw, uvw, sizeof uvw);
      at.distance = distance;
    }
    at.steps = step;
    at.inside = distance <= 1e-9 * self->size;
    if (at.inside || !newton_step(j, miss, uvw))
      break;
  }
  return at;
}

PlaSplinePlace
pla_spline_solid_fibre(const PlaSplineSolid *self, const double pos[3], double dir[3])
{
  const PlaSplinePlace at = pla_spline_solid_invert(self, pos);
  double x[3], j[9];
  pla_spline_solid_eval(self, at.uvw, x, j);
  for (int d = 0; d < 3; d++)
    dir[d] = j[3 * d];
  const double l = pla_vec3_norm(dir);
  for (int d = 0; d < 3; d++)
    dir[d] = l > 0.0 ? dir[d] / l : d == 0;
  return at;
}
