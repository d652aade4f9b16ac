/* Membranes: energy, forces and stiffness of triangles with F (3 x 2) = sum of x_a g_a^T.
 *
 * The energy per volume is a function w of four invariants q of C = F^T F: tr C, det C, and the
 * squared stretches of two families of fibres.  So
 *
 *   P = sum w_m dq_m/dF,   d2w/dF2 = sum w_mn dq_m/dF (x) dq_n/dF + sum w_m d2q_m/dF2. */
#include "sim/fem/membrane.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/material/definite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRACE, DET, FIRST, SECOND, N_INVARIANTS };

/* of an area that no tissue survives: 1/d^2 would leave the range of numbers long before 0 */
#define LEAST_DET 0.01 /* area of a tenth, squared */
/* of the square of a stretch: nearer to rest wrinkles are not told from taut skin, where their
 * derivatives would lose all digits */
#define AT_REST 1e-6
/* exp(20) is 5e8: beyond what any fibre carries, and far from the end of the range of numbers */
#define MOST_EXPONENT 20.0

struct PlaFemMembranes {
  int n_tris, n_verts;
  int *tri;             /* n_tris x 3 */
  double *grad;         /* shape gradients of the layer before its stretch, 1/m (n_tris x 3 x 2) */
  double *volume;       /* m^3 (n_tris) */
  int *law;             /* n_tris */
  PlaMembraneLaw *laws; /* copied */
  int *start, *corner;  /* 3 t + a of the triangles at each vertex, ascending (n_verts + 1) */
};

void
pla_membranes_free(PlaFemMembranes *self)
{
  if (!self)
    return;
  free(self->tri);
  free(self->grad);
  free(self->volume);
  free(self->law);
  free(self->laws);
  free(self->start);
  free(self->corner);
  free(self);
}

int
pla_membranes_get(const PlaFemMembranes *self, const int **tri)
{
  *tri = self->tri;
  return self->n_tris;
}

/* ---- making them ---- */

/* Two unit vectors in the plane of a triangle, the first along @direction (NULL: any); its area.
 * False where there is no such direction in it. */
static bool
find_frame(const double x[3][3], const double *direction, double axis[2][3], double *area)
{
  double e[3], f[3], normal[3], along[3];
  pla_vec3_sub(x[1], x[0], e);
  pla_vec3_sub(x[2], x[0], f);
  pla_vec3_cross(e, f, normal);
  const double twice = pla_vec3_norm(normal);
  *area = 0.5 * twice;
  if (!(twice > 0.0))
    return false;
  const double *given = direction ? direction : e;
  const double out = pla_vec3_dot(given, normal) / (twice * twice);
  for (int d = 0; d < 3; d++)
    along[d] = given[d] - out * normal[d];
  const double length = pla_vec3_norm(along);
  /* within half a degree of the normal a direction says nothing about the plane */
  if (!(length > 0.01 * pla_vec3_norm(given)))
    return false;
  for (int d = 0; d < 3; d++) {
    axis[0][d] = along[d] / length;
    normal[d] /= twice;
  }
  pla_vec3_cross(normal, axis[0], axis[1]);
  return true;
}

static PlaStatus
make_triangle(PlaFemMembranes *self, const PlaMembraneSpec *spec, const double *rest, int t,
              PlaError *err)
{
  double x[3][3], axis[2][3], area, m[2][2];
  const PlaMembraneLaw *law = &spec->laws[spec->law[t]];
  const double *direction = spec->direction ? spec->direction + 3 * (size_t)t : NULL;
  const double unit[2] = { 1.0, 1.0 },
               *stretch = spec->stretch ? spec->stretch + 2 * (size_t)t : unit;
  for (int a = 0; a < 3; a++)
    memcpy(x[a], rest + 3 * (size_t)self->tri[3 * t + a], sizeof x[a]);
  if (direction && pla_vec3_dot(direction, direction) == 0.0)
    direction = NULL;
  const bool needed = law->k1 > 0.0 || stretch[0] != stretch[1];
  if (!(spec->thickness[t] > 0.0) || !(stretch[0] > 0.0) || !(stretch[1] > 0.0))
    return pla_fail(err, PLA_ERR_USAGE,
                    "the thickness and the stretch of the layer at triangle %d must be positive",
                    t);
  const bool found = find_frame(x, direction, axis, &area);
  if (!(area > 0.0))
    return pla_fail(err, PLA_ERR_USAGE, "triangle %d of the layer has no area", t);
  if (needed && (!found || !direction))
    return pla_fail(err, PLA_ERR_USAGE,
                    "the layer has fibres or two stretches, and triangle %d no direction in its "
                    "plane; give one along the skin there",
                    t);
  /* a direction that nobody needs may stand on the plane */
  if (!found)
    find_frame(x, NULL, axis, &area);
  /* edges in the frame, and their inverse times the stretch that the layer has at rest */
  for (int a = 0; a < 2; a++) {
    double e[3];
    pla_vec3_sub(x[a + 1], x[0], e);
    for (int k = 0; k < 2; k++)
      m[k][a] = pla_vec3_dot(axis[k], e);
  }
  const double det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
  double *g = self->grad + 6 * (size_t)t;
  g[2] = m[1][1] / det * stretch[0];
  g[3] = -m[0][1] / det * stretch[1];
  g[4] = -m[1][0] / det * stretch[0];
  g[5] = m[0][0] / det * stretch[1];
  for (int k = 0; k < 2; k++)
    g[k] = -(g[2 + k] + g[4 + k]);
  self->volume[t] = area * spec->thickness[t];
  return PLA_OK;
}

static void
list_corners(PlaFemMembranes *self)
{
  const int n = 3 * self->n_tris;
  for (int i = 0; i < n; i++)
    self->start[self->tri[i] + 1]++;
  for (int v = 0; v < self->n_verts; v++)
    self->start[v + 1] += self->start[v];
  for (int i = n - 1; i >= 0; i--)
    self->corner[--self->start[self->tri[i] + 1]] = i;
  /* each start has moved to that of its own vertex, one place further on */
  memmove(self->start, self->start + 1, (size_t)self->n_verts * sizeof *self->start);
  self->start[self->n_verts] = n;
}

PlaStatus
pla_membranes_new(const PlaMembraneSpec *spec, const double *rest, int n_verts,
                  PlaFemMembranes **out, PlaError *err)
{
  const size_t n = (size_t)spec->n_tris;
  PlaFemMembranes *self = pla_array_new0(1, sizeof *self);
  *out = NULL;
  if (!self)
    return pla_fail_memory(err, "the layer");
  self->n_tris = spec->n_tris;
  self->n_verts = n_verts;
  self->tri = pla_array_dup(spec->tri, 3 * n, sizeof *self->tri);
  self->law = pla_array_dup(spec->law, n, sizeof *self->law);
  self->laws = pla_array_dup(spec->laws, (size_t)spec->n_laws, sizeof *self->laws);
  self->grad = pla_array_new(6 * n, sizeof *self->grad);
  self->volume = pla_array_new(n, sizeof *self->volume);
  self->start = pla_array_new0((size_t)n_verts + 2, sizeof *self->start);
  self->corner = pla_array_new(3 * n, sizeof *self->corner);
  PlaStatus st = self->tri && self->law && self->laws && self->grad && self->volume &&
                         self->start && self->corner
                     ? PLA_OK
                     : pla_fail_memory(err, "the layer");
  for (int t = 0; st == PLA_OK && t < self->n_tris; t++)
    st = make_triangle(self, spec, rest, t, err);
  if (st == PLA_OK)
    list_corners(self);
  if (st == PLA_OK)
    *out = self;
  else
    pla_membranes_free(self);
  return st;
}

/* ---- the energy of a point ---- */

/* w and its derivatives by the invariants */
typedef struct {
  double w, first[N_INVARIANTS], second[N_INVARIANTS][N_INVARIANTS]; /* Pa */
} Density;

/* The trace in space, with its derivatives by tr C and det C. */
typedef struct {
  double value, by_trace, by_det, by_traces, by_both, by_dets;
} Trace;

/* tr C + 1 / det C */
static void
taut_trace(double trace, double det, Trace *out)
{
  const double at = fmax(det, LEAST_DET), step = det - at;
  const double g = 1.0 / at, slope = -g * g, curve = 2.0 * g * g * g;
  *out = (Trace){ .value = trace + g + step * (slope + 0.5 * step * curve),
                  .by_trace = 1.0,
                  .by_det = slope + step * curve,
                  .by_dets = curve };
}

/* the same of a layer that wrinkles */
static void
wrinkled_trace(double trace, double det, Trace *out)
{
  const double root = sqrt(fmax(trace * trace - 4.0 * det, 0.0));
  const double s = 0.5 * (trace + root), t = 0.5 * (trace - root);
  if (s > 1.0 - AT_REST && t * sqrt(s) >= 1.0 - AT_REST) {
    taut_trace(trace, det, out);
  } else if (s > 1.0) {
    /* a function of s alone; root = s - t is not small here */
    const double r3 = root * root * root, slope = 1.0 - 1.0 / (s * sqrt(s));
    const double curve = 1.5 / (s * s * sqrt(s)), by_trace = s / root, by_det = -1.0 / root;
    *out = (Trace){ .value = s + 2.0 / sqrt(s),
                    .by_trace = slope * by_trace,
                    .by_det = slope * by_det,
                    .by_traces = curve * by_trace * by_trace - 2.0 * slope * det / r3,
                    .by_both = curve * by_trace * by_det + slope * trace / r3,
                    .by_dets = curve * by_det * by_det - 2.0 * slope / r3 };
  } else {
    *out = (Trace){ .value = 3.0 };
  }
}

/* of a family of fibres whose strain is @e > 0, and two derivatives */
static void
fibre_energy(const PlaMembraneLaw *law, double e, double out[3])
{
  const double k1 = law->k1, k2 = law->k2;
  const double most = k2 > 0.0 ? sqrt(MOST_EXPONENT / k2) : INFINITY;
  const double at = fmin(e, most), step = e - at, q = k2 * at * at, power = exp(q);
  /* expm1 keeps the digits of weak fibres; without stiffening it is a spring */
  const double w = k2 > 0.0 ? 0.5 * k1 / k2 * expm1(q) : 0.5 * k1 * at * at;
  const double slope = k1 * at * power, curve = k1 * (1.0 + 2.0 * q) * power;
  out[0] = w + step * (slope + 0.5 * step * curve);
  out[1] = slope + step * curve;
  out[2] = curve;
}

/* adds @slope times the second derivatives of the trace */
static void
add_curvature(const Trace *g, double slope, Density *out)
{
  out->second[TRACE][TRACE] += slope * g->by_traces;
  out->second[TRACE][DET] += slope * g->by_both;
  out->second[DET][TRACE] += slope * g->by_both;
  out->second[DET][DET] += slope * g->by_dets;
}

static void
add_fibres(const PlaMembraneLaw *law, const double q[N_INVARIANTS], const Trace *g, Density *out)
{
  const double kappa = law->dispersion, along = 1.0 - 3.0 * kappa;
  for (int family = FIRST; family <= SECOND; family++) {
    const double strain = kappa * (g->value - 3.0) + along * (q[family] - 1.0);
    double slope[N_INVARIANTS] = { kappa * g->by_trace, kappa * g->by_det }, e[3];
    if (strain <= 0.0)
      continue;
    slope[family] = along;
    fibre_energy(law, strain, e);
    out->w += e[0];
    for (int m = 0; m < N_INVARIANTS; m++) {
      out->first[m] += e[1] * slope[m];
      for (int n = 0; n < N_INVARIANTS; n++)
        out->second[m][n] += e[2] * slope[m] * slope[n];
    }
    add_curvature(g, e[1] * kappa, out);
  }
}

static void
evaluate(const PlaMembraneLaw *law, const double q[N_INVARIANTS], Density *out)
{
  Trace g;
  (law->wrinkles ? wrinkled_trace : taut_trace)(q[TRACE], q[DET], &g);
  *out = (Density){ .w = 0.5 * law->mu * (g.value - 3.0) };
  out->first[TRACE] = 0.5 * law->mu * g.by_trace;
  out->first[DET] = 0.5 * law->mu * g.by_det;
  add_curvature(&g, 0.5 * law->mu, out);
  if (law->k1 > 0.0)
    add_fibres(law, q, &g, out);
}

/* F, C, the fibres' directions, and the invariants */
typedef struct {
  double f[3][2], c[2][2], fibre[2][2], q[N_INVARIANTS];
} Point;

static void
find_point(const PlaFemMembranes *self, int t, const double *pos, Point *out)
{
  const double *g = self->grad + 6 * (size_t)t;
  const double angle = self->laws[self->law[t]].angle;
  *out = (Point){ .fibre = { { cos(angle), sin(angle) }, { cos(angle), -sin(angle) } } };
  for (int a = 0; a < 3; a++) {
    /* differences to a corner, so that it does not matter where in space the triangle is */
    const double *x = pos + 3 * (size_t)self->tri[3 * t + a],
                 *o = pos + 3 * (size_t)self->tri[3 * t];
    for (int i = 0; i < 3; i++)
      for (int k = 0; k < 2; k++)
        out->f[i][k] += (x[i] - o[i]) * g[2 * a + k];
  }
  for (int k = 0; k < 2; k++)
    for (int l = 0; l < 2; l++)
      for (int i = 0; i < 3; i++)
        out->c[k][l] += out->f[i][k] * out->f[i][l];
  out->q[TRACE] = out->c[0][0] + out->c[1][1];
  out->q[DET] = out->c[0][0] * out->c[1][1] - out->c[0][1] * out->c[0][1];
  for (int family = 0; family < 2; family++)
    for (int k = 0; k < 2; k++)
      for (int l = 0; l < 2; l++)
        out->q[FIRST + family] += out->fibre[family][k] * out->c[k][l] * out->fibre[family][l];
}

/* dq/dF, entry 2 i + k */
static void
find_slopes(const Point *p, double slope[N_INVARIANTS][6])
{
  for (int i = 0; i < 3; i++) {
    const double *f = p->f[i];
    for (int k = 0; k < 2; k++) {
      slope[TRACE][2 * i + k] = 2.0 * f[k];
      slope[DET][2 * i + k] = 2.0 * (f[k] * p->c[1 - k][1 - k] - f[1 - k] * p->c[0][1]);
      for (int family = 0; family < 2; family++) {
        const double *m = p->fibre[family];
        slope[FIRST + family][2 * i + k] = 2.0 * (f[0] * m[0] + f[1] * m[1]) * m[k];
      }
    }
  }
}

/* P, entry 2 i + k; the energy per volume */
static double
find_stress(const PlaMembraneLaw *law, const Point *p, double stress[6])
{
  Density w;
  double slope[N_INVARIANTS][6];
  evaluate(law, p->q, &w);
  find_slopes(p, slope);
  for (int d = 0; d < 6; d++) {
    stress[d] = 0.0;
    for (int m = 0; m < N_INVARIANTS; m++)
      stress[d] += w.first[m] * slope[m][d];
  }
  return w.w;
}

/* second derivative of det C by F: dF^T dF against the cofactors of C, and det dC */
static double
det_curve(const Point *p, int a, int b)
{
  const int i = a / 2, k = a % 2, j = b / 2, l = b % 2;
  const double *f = p->f[i], *h = p->f[j];
  const double cofactor = k == l ? p->c[1 - k][1 - k] : -p->c[0][1];
  /* dC of a unit change of one entry: 11, 22, 12 */
  const double x[3] = { k == 0 ? 2.0 * f[0] : 0.0, k == 1 ? 2.0 * f[1] : 0.0, f[1 - k] };
  const double y[3] = { l == 0 ? 2.0 * h[0] : 0.0, l == 1 ? 2.0 * h[1] : 0.0, h[1 - l] };
  return (i == j ? 2.0 * cofactor : 0.0) + x[0] * y[1] + x[1] * y[0] - 2.0 * x[2] * y[2];
}

static void
find_tangent(const PlaMembraneLaw *law, const Point *p, double tangent[36])
{
  Density w;
  double slope[N_INVARIANTS][6];
  evaluate(law, p->q, &w);
  find_slopes(p, slope);
  for (int a = 0; a < 6; a++)
    for (int b = 0; b < 6; b++) {
      const int k = a % 2, l = b % 2;
      double sum = w.first[DET] * det_curve(p, a, b);
      if (a / 2 == b / 2) {
        sum += k == l ? 2.0 * w.first[TRACE] : 0.0;
        for (int family = 0; family < 2; family++)
          sum += 2.0 * w.first[FIRST + family] * p->fibre[family][k] * p->fibre[family][l];
      }
      for (int m = 0; m < N_INVARIANTS; m++)
        for (int n = 0; n < N_INVARIANTS; n++)
          sum += w.second[m][n] * slope[m][a] * slope[n][b];
      tangent[6 * a + b] = sum;
    }
}

/* ---- all of them ---- */

double
pla_membranes_energy(const PlaFemMembranes *self, const double *pos)
{
  double *part = pla_array_new((size_t)self->n_tris, sizeof *part);
  if (!part)
    return NAN;
#pragma omp parallel for schedule(static)
  for (int t = 0; t < self->n_tris; t++) {
    Point p;
    Density w;
    find_point(self, t, pos, &p);
    evaluate(&self->laws[self->law[t]], p.q, &w);
    part[t] = self->volume[t] * w.w;
  }
  const double sum = pla_sum(part, (size_t)self->n_tris);
  free(part);
  return sum;
}

PlaStatus
pla_membranes_add_forces(const PlaFemMembranes *self, const double *pos, double *force,
                         PlaError *err)
{
  double *corner = pla_array_new(9 * (size_t)self->n_tris, sizeof *corner);
  if (!corner)
    return pla_fail_memory(err, "the forces of the layer");
#pragma omp parallel for schedule(static)
  for (int t = 0; t < self->n_tris; t++) {
    const double *g = self->grad + 6 * (size_t)t;
    Point p;
    double stress[6];
    find_point(self, t, pos, &p);
    find_stress(&self->laws[self->law[t]], &p, stress);
    for (int a = 0; a < 3; a++)
      for (int i = 0; i < 3; i++)
        corner[9 * (size_t)t + 3 * (size_t)a + (size_t)i] =
            -self->volume[t] * (stress[2 * i] * g[2 * a] + stress[2 * i + 1] * g[2 * a + 1]);
  }
  /* vertices gather in stored order */
#pragma omp parallel for schedule(static)
  for (int v = 0; v < self->n_verts; v++)
    for (int k = self->start[v]; k < self->start[v + 1]; k++)
      for (size_t d = 0; d < 3; d++)
        force[3 * (size_t)v + d] += corner[3 * (size_t)self->corner[k] + d];
  free(corner);
  return PLA_OK;
}

void
pla_membrane_stiffness(const PlaFemMembranes *self, int t, const double *pos, bool project,
                       double stiffness[81])
{
  const double *g = self->grad + 6 * (size_t)t;
  Point p;
  double h[36];
  find_point(self, t, pos, &p);
  find_tangent(&self->laws[self->law[t]], &p, h);
  if (project && !pla_definite(6, h))
    pla_definite_project(6, h);
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++)
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
          double sum = 0.0;
          for (int k = 0; k < 2; k++)
            for (int l = 0; l < 2; l++)
              sum += g[2 * a + k] * h[6 * (2 * i + k) + 2 * j + l] * g[2 * b + l];
          stiffness[9 * (3 * a + i) + 3 * b + j] = self->volume[t] * sum;
        }
}

void
pla_membrane_stress(const PlaFemMembranes *self, int t, const double *pos, double stress[2])
{
  Point p;
  double piola[6], m[2][2] = { { 0.0 } };
  find_point(self, t, pos, &p);
  find_stress(&self->laws[self->law[t]], &p, piola);
  /* the layer keeps its volume, so its true stress is P F^T, which has the eigenvalues of F^T P */
  for (int k = 0; k < 2; k++)
    for (int l = 0; l < 2; l++)
      for (int i = 0; i < 3; i++)
        m[k][l] += p.f[i][k] * piola[2 * i + l];
  const double mean = 0.5 * (m[0][0] + m[1][1]);
  const double det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
  const double radius = sqrt(fmax(mean * mean - det, 0.0));
  stress[0] = mean + radius;
  stress[1] = mean - radius;
}
