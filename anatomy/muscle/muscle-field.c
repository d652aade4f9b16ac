/* The fibres of one muscle: a lattice around its shape, its ends marked there, and the chosen kind
 * of field on it. */
#include "anatomy/muscle/muscle-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/muscle/spline-solid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define END_CELLS 0.6      /* an end at bone reaches this many cells beyond the attached layer */
#define LINE_CELLS 1.8     /* an end of a line reaches so far that all edges across it are held */
#define BONE_SHARE 0.25    /* bone beside the line holds the muscle within this share of its end */
#define LEAST_WEIGHT 1e-4  /* of tets the muscle barely touches: keeps the system regular */
enum { LINE_POINTS = 33 }; /* of a stored streamline, at most */

struct PlaMuscleField {
  const PlaMuscle *muscle;
  const PlaFibreSamples *vectors;
  PlaShapeLattice lattice;
  PlaTetMesh tets;
  PlaTetLocator *locator;
  /* potential */
  double *potential, *gradient, mean[3];
  double cut_off;
  /* splines, one per head with a line */
  int n_solids;
  PlaSplineSolid **solid;
  PlaFibreSamples *tangents; /* along the lines of action */
  PlaStreamlines lines;
  double gap_mm[2];
};

void
pla_muscle_field_free(PlaMuscleField *self)
{
  if (!self)
    return;
  pla_tet_locator_free(self->locator);
  pla_shape_lattice_clear(&self->lattice);
  for (int s = 0; s < self->n_solids; s++)
    pla_spline_solid_free(self->solid[s]);
  free(self->solid);
  pla_fibre_samples_free(self->tangents);
  pla_streamlines_clear(&self->lines);
  free(self->potential);
  free(self->gradient);
  free(self);
}

/* ---- lines of action ---- */

static double
segment_length(const PlaMuscleHead *h, int i)
{
  double e[3];
  pla_vec3_sub(h->pos_mm + 3 * (i + 1), h->pos_mm + 3 * i, e);
  return pla_vec3_norm(e);
}

static double
line_length(const PlaMuscleHead *h)
{
  double sum = 0.0;
  for (int i = 0; i + 1 < h->n_points; i++)
    sum += segment_length(h, i);
  return sum;
}

/* squared distance to the line, and how far along it the nearest point is, mm: before its start and
 * beyond its end by how far that is */
static double
line_nearest(const PlaMuscleHead *h, const double x[3], double *along)
{
  double best = INFINITY, passed = 0.0;
  for (int i = 0; i + 1 < h->n_points; i++) {
    double e[3], o[3];
    pla_vec3_sub(h->pos_mm + 3 * (i + 1), h->pos_mm + 3 * i, e);
    pla_vec3_sub(x, h->pos_mm + 3 * i, o);
    const double l2 = pla_vec3_dot(e, e);
    const double t = l2 > 0.0 ? fmin(fmax(pla_vec3_dot(o, e) / l2, 0.0), 1.0) : 0.0;
    for (int d = 0; d < 3; d++)
      o[d] -= t * e[d];
    const double d2 = pla_vec3_dot(o, o);
    if (d2 < best) {
      const bool outside = (t == 0.0 && i == 0) || (t == 1.0 && i + 2 == h->n_points);
      best = d2;
      *along = passed + (outside ? t * sqrt(l2) + pla_vec3_dot(o, e) / sqrt(l2) : t * sqrt(l2));
    }
    passed += sqrt(l2);
  }
  return best;
}

/* values of width 1 or 3 per point of the line, @along mm from its start */
static void
line_value(const PlaMuscleHead *h, const double *value, int width, double along, double *out)
{
  for (int i = 0; i + 1 < h->n_points; i++) {
    const double l = segment_length(h, i);
    if (along > l && i + 2 < h->n_points) {
      along -= l;
      continue;
    }
    const double t = l > 0.0 ? fmin(along / l, 1.0) : 0.0;
    for (int d = 0; d < width; d++)
      out[d] = value[width * i + d] + t * (value[width * (i + 1) + d] - value[width * i + d]);
    return;
  }
}

static double
longest_line(const PlaMuscle *m)
{
  double longest = 0.0;
  for (int h = 0; h < m->n_heads; h++)
    longest = fmax(longest, line_length(&m->head[h]));
  return longest;
}

/* The potential of a head's origin.  All insertions have 1 and the longest head begins at 0;
 * shorter ones begin later, so that the potential falls as steeply in all and none drains the
 * others. */
static double
origin_value(const PlaMuscle *m, int h)
{
  const double longest = longest_line(m);
  return m->head[h].n_points >= 2 && longest > 0.0 ? 1.0 - line_length(&m->head[h]) / longest : 0.0;
}

/* ---- ends ---- */

static const PlaMuscleBone *
find_bone(const PlaMuscleBone *bones, int n_bones, const char *name)
{
  for (int b = 0; b < n_bones; b++)
    if (strcmp(bones[b].name, name) == 0)
      return &bones[b];
  return NULL;
}

static PlaStatus
check_heads(const PlaMuscle *m, const PlaMuscleBone *bones, int n_bones, PlaError *err)
{
  if (m->n_heads == 0)
    return pla_fail(err, PLA_ERR_USAGE,
                    "The muscle '%s' has no head; add one with its origin and insertion.", m->name);
  for (int h = 0; h < m->n_heads; h++)
    for (int e = 0; e < 2; e++) {
      const char *bone = e == 0 ? m->head[h].origin : m->head[h].insertion;
      if (bone[0] != '\0' && !find_bone(bones, n_bones, bone))
        return pla_fail(
            err, PLA_ERR_USAGE,
            "The muscle '%s' is attached to '%s', but no label or surface has that name.", m->name,
            bone);
      if (m->method == PLA_FIBRES_POTENTIAL && bone[0] == '\0' && m->head[h].n_points < 2)
        return pla_fail(
            err, PLA_ERR_USAGE,
            "The muscle '%s' has neither a bone nor a line of action that defines its %s.", m->name,
            e == 0 ? "origin" : "insertion");
    }
  return PLA_OK;
}

/* the lines of action at the lattice vertices */
typedef struct {
  int *head;     /* whose line is nearest, or -1 */
  double *along; /* mm from its origin */
} Courses;

/* how far a vertex is from one end of its head along the line; 0 for heads without one */
static double
from_end_mm(const PlaMuscleHead *head, double length, PlaMuscleEnd which, double along)
{
  return head->n_points < 2 ? 0.0 : which == PLA_END_ORIGIN ? along : length - along;
}

/* Distances to the bone at one end of one head, mm, where it may hold the muscle: beside the first
 * quarter of the line, or anywhere without one; INFINITY elsewhere.  NULL without a bone. */
static PlaStatus
bone_distances(const PlaMuscleField *f, int h, PlaMuscleEnd which, const PlaMuscleBone *bone,
               const Courses *courses, double **out, PlaError *err)
{
  const PlaMuscleHead *head = &f->muscle->head[h];
  const double length = line_length(head);
  *out = NULL;
  if (!bone)
    return PLA_OK;
  double *distance = pla_array_new((size_t)f->tets.n_verts, sizeof *distance);
  if (!distance)
    return pla_fail_memory(err, "the ends of a muscle");
#pragma omp parallel for schedule(dynamic, 256)
  for (int v = 0; v < f->tets.n_verts; v++) {
    double x[3];
    distance[v] = INFINITY;
    if (head->n_points >= 2 &&
        (courses->head[v] != h ||
         from_end_mm(head, length, which, courses->along[v]) > BONE_SHARE * length))
      continue;
    for (int d = 0; d < 3; d++)
      x[d] = 1000.0 * f->tets.rest[3 * (size_t)v + d];
    distance[v] = bone->shape.distance(x, bone->shape.data);
  }
  *out = distance;
  return PLA_OK;
}

/* Marks one end of one head.  With a line, what lies around and beyond its end, whose values go on
 * as those of the line do, and bone beside the first quarter; without one, what the bone touches,
 * or the layer nearest to it. */
static void
mark_end(const PlaMuscleField *f, int h, PlaMuscleEnd which, const double *bone_mm,
         double attach_mm, const Courses *courses, uint8_t *end, double *value)
{
  const PlaMuscleHead *head = &f->muscle->head[h];
  const double reach = END_CELLS * f->lattice.cell_mm, line_reach = LINE_CELLS * f->lattice.cell_mm;
  const double length = line_length(head), start = origin_value(f->muscle, h);
  const double here_value = which == PLA_END_INSERTION ? 1.0 : start;
  double nearest = attach_mm;
  if (bone_mm && head->n_points < 2) {
    double least = INFINITY;
    for (int v = 0; v < f->tets.n_verts; v++)
      least = fmin(least, bone_mm[v]);
    nearest = fmax(nearest, least);
  }
  for (int v = 0; v < f->tets.n_verts; v++) {
    const bool lined = head->n_points >= 2;
    if (end[v] != PLA_END_NONE || (lined && courses->head[v] != h))
      continue;
    if (bone_mm && bone_mm[v] < nearest + reach) {
      end[v] = (uint8_t)which;
      value[v] = here_value;
    } else if (lined && from_end_mm(head, length, which, courses->along[v]) < line_reach) {
      end[v] = (uint8_t)which;
      value[v] = start + (1.0 - start) * courses->along[v] / length;
    }
  }
}

/* Marks all ends on the lattice; finds the gaps between muscle and bones. */
static PlaStatus
mark_ends(PlaMuscleField *f, const PlaMuscleBone *bones, int n_bones, double attach_mm,
          uint8_t *end, double *value, PlaError *err)
{
  const PlaMuscle *m = f->muscle;
  const Courses courses = { pla_array_new((size_t)f->tets.n_verts, sizeof *courses.head),
                            pla_array_new((size_t)f->tets.n_verts, sizeof *courses.along) };
  PlaStatus st =
      courses.head && courses.along ? PLA_OK : pla_fail_memory(err, "the ends of a muscle");
#pragma omp parallel for schedule(static) if (st == PLA_OK)
  for (int v = 0; v < f->tets.n_verts; v++) {
    double best = INFINITY, x[3];
    if (st != PLA_OK)
      continue;
    for (int c = 0; c < 3; c++)
      x[c] = 1000.0 * f->tets.rest[3 * (size_t)v + c];
    courses.head[v] = -1;
    courses.along[v] = 0.0;
    for (int h = 0; h < m->n_heads; h++) {
      double at = 0.0;
      const double d2 = m->head[h].n_points >= 2 ? line_nearest(&m->head[h], x, &at) : INFINITY;
      if (d2 < best) {
        best = d2;
        courses.head[v] = h;
        courses.along[v] = at;
      }
    }
  }
  memset(end, PLA_END_NONE, (size_t)f->tets.n_verts);
  for (int e = 0; e < 2 && st == PLA_OK; e++) {
    f->gap_mm[e] = 0.0;
    for (int h = 0; h < m->n_heads && st == PLA_OK; h++) {
      const PlaMuscleEnd which = e == 0 ? PLA_END_ORIGIN : PLA_END_INSERTION;
      const char *name = e == 0 ? m->head[h].origin : m->head[h].insertion;
      double *bone_mm = NULL;
      st = bone_distances(f, h, which, find_bone(bones, n_bones, name), &courses, &bone_mm, err);
      if (st == PLA_OK)
        mark_end(f, h, which, bone_mm, attach_mm, &courses, end, value);
      if (bone_mm) {
        double gap = INFINITY;
        for (int v = 0; v < f->tets.n_verts; v++)
          gap = fmin(gap, bone_mm[v]);
        f->gap_mm[e] = fmax(f->gap_mm[e], gap);
      }
      free(bone_mm);
    }
  }
  free(courses.head);
  free(courses.along);
  return st;
}

/* ---- potential ---- */

static PlaStatus
build_potential(PlaMuscleField *f, const PlaMuscleBone *bones, int n_bones,
                const PlaMuscleOptions *opts, PlaProgress *progress, PlaError *err)
{
  const size_t n_verts = (size_t)f->tets.n_verts, n_tets = (size_t)f->tets.n_tets;
  uint8_t *end = pla_array_new(n_verts, 1);
  double *value = pla_array_new0(n_verts, sizeof *value);
  double *weight = pla_array_new(n_tets, sizeof *weight);
  f->potential = pla_array_new(n_verts, sizeof *f->potential);
  f->gradient = pla_array_new(3 * n_verts, sizeof *f->gradient);
  PlaPotentialReport report = { 0 };
  PlaStatus st = end && value && weight && f->potential && f->gradient
                     ? PLA_OK
                     : pla_fail_memory(err, "the fibres of a muscle");
  for (size_t t = 0; t < n_tets && st == PLA_OK; t++)
    weight[t] = fmax(f->lattice.share[t], LEAST_WEIGHT);
  if (st == PLA_OK)
    st = mark_ends(f, bones, n_bones, opts->attach_mm, end, value, err);
  if (st == PLA_OK)
    st = pla_fibre_potential(&f->tets, weight, end, value, progress, f->potential, &report, err);
  if (st == PLA_OK)
    st = pla_fibre_vert_gradient(&f->tets, weight, f->potential, f->gradient, err);
  if (st == PLA_OK) {
    /* half way along the shortest head, which all heads pass */
    double level = 0.5;
    for (int h = 0; h < f->muscle->n_heads; h++)
      level = fmax(level, 0.5 * (1.0 + origin_value(f->muscle, h)));
    const PlaFibreFlow flow = { .mesh = &f->tets,
                                .locator = f->locator,
                                .weight = f->lattice.share,
                                .end = end,
                                .potential = f->potential,
                                .gradient = f->gradient };
    st = pla_streamlines_trace(&flow, level, opts->n_lines, &f->lines, err);
  }
  if (st == PLA_OK) {
    f->cut_off = (double)report.n_cut_off / (double)n_tets;
    for (size_t v = 0; v < n_verts; v++)
      for (int d = 0; d < 3; d++)
        f->mean[d] += f->gradient[3 * v + d];
    const double l = pla_vec3_norm(f->mean);
    for (int d = 0; d < 3; d++)
      f->mean[d] = l > 0.0 ? f->mean[d] / l : d == 0;
  }
  free(end);
  free(value);
  free(weight);
  return st;
}

/* ---- lines and splines ---- */

static PlaStatus
require_lines(const PlaMuscle *m, PlaError *err)
{
  for (int h = 0; h < m->n_heads; h++)
    if (m->head[h].n_points >= 2)
      return PLA_OK;
  return pla_fail(err, PLA_ERR_USAGE,
                  "The muscle '%s' has no line of action, which fibres by \"%s\" need.", m->name,
                  pla_fibre_methods[m->method]);
}

/* directions along all lines, a sample every millimetre or at least 16 a line */
static PlaStatus
build_tangents(PlaMuscleField *f, PlaError *err)
{
  const PlaMuscle *m = f->muscle;
  double *pos = NULL, *dir = NULL;
  size_t n = 0;
  bool memory = true;
  for (int h = 0; h < m->n_heads && memory; h++) {
    const PlaMuscleHead *head = &m->head[h];
    if (head->n_points < 2)
      continue;
    const double length = line_length(head);
    const int k = (int)fmin(fmax(ceil(length), 16.0), 2000.0);
    memory = pla_array_resize((void **)&pos, 3 * (n + (size_t)k), sizeof *pos) &&
             pla_array_resize((void **)&dir, 3 * (n + (size_t)k), sizeof *dir);
    for (int i = 0; i < k && memory; i++) {
      const double at = length * (i + 0.5) / k, step = 0.25 * length / k;
      double a[3], b[3];
      line_value(head, head->pos_mm, 3, at, pos + 3 * n);
      line_value(head, head->pos_mm, 3, at - step, a);
      line_value(head, head->pos_mm, 3, at + step, b);
      pla_vec3_sub(b, a, dir + 3 * n);
      n++;
    }
  }
  PlaStatus st = memory ? PLA_OK : pla_fail_memory(err, "lines of action");
  if (st == PLA_OK)
    st = pla_fibre_samples_new((int)n, pos, dir, &f->tangents, err);
  free(pos);
  free(dir);
  return st;
}

/* appends a line of @n points, given in mm */
static bool
add_line(PlaStreamlines *lines, const double *pos_mm, int n)
{
  if (!pla_array_resize((void **)&lines->start, (size_t)lines->n_lines + 2, sizeof *lines->start) ||
      !pla_array_resize((void **)&lines->pos, 3 * ((size_t)lines->n_points + (size_t)n),
                        sizeof *lines->pos))
    return false;
  if (lines->n_lines == 0)
    lines->start[0] = 0;
  for (int i = 0; i < 3 * n; i++)
    lines->pos[3 * (size_t)lines->n_points + (size_t)i] = 1e-3 * pos_mm[i];
  lines->n_points += n;
  lines->start[++lines->n_lines] = lines->n_points;
  return true;
}

static PlaStatus
lines_of_action(PlaMuscleField *f, PlaError *err)
{
  for (int h = 0; h < f->muscle->n_heads; h++) {
    const PlaMuscleHead *head = &f->muscle->head[h];
    if (head->n_points >= 2 && !add_line(&f->lines, head->pos_mm, head->n_points))
      return pla_fail_memory(err, "lines of action");
  }
  return PLA_OK;
}

/* a solid with straight sections along one line */
static PlaStatus
solid_along(const PlaMuscleHead *h, PlaSplineSolid **out, PlaError *err)
{
  enum { MOST = 24 };
  const int along = h->n_points < 4 ? 4 : h->n_points > MOST ? MOST : h->n_points;
  const int n[3] = { along, 2, 2 }, degree[3] = { 3, 1, 1 };
  const double length = line_length(h);
  double sample[3 * MOST * 4];
  for (int i = 0; i < along; i++) {
    const double at = length * pla_spline_abscissa(along, 3, i), step = 0.02 * length;
    double x[3], a[3], b[3], t[3], normal[3], across[3], width, thick;
    line_value(h, h->pos_mm, 3, at, x);
    line_value(h, h->pos_mm, 3, fmax(at - step, 0.0), a);
    line_value(h, h->pos_mm, 3, fmin(at + step, length), b);
    line_value(h, h->half_width_mm, 1, at, &width);
    line_value(h, h->half_thick_mm, 1, at, &thick);
    line_value(h, h->normal, 3, at, normal);
    /* a frame square to the line */
    pla_vec3_sub(b, a, t);
    pla_vec3_cross(t, normal, across);
    pla_vec3_cross(across, t, normal);
    const double la = pla_vec3_norm(across), ln = pla_vec3_norm(normal);
    if (!(la > 0.0) || !(ln > 0.0) || !(width > 0.0) || !(thick > 0.0))
      return pla_fail(err, PLA_ERR_GEOMETRY,
                      "a section has no width or thickness, or its normal runs along the line");
    for (int c = 0; c < 4; c++)
      for (int d = 0; d < 3; d++)
        sample[3 * (i + along * c) + d] = x[d] + (c & 1 ? 1.0 : -1.0) * width * across[d] / la +
                                          (c >> 1 ? 1.0 : -1.0) * thick * normal[d] / ln;
  }
  return pla_spline_solid_interpolate(n, degree, sample, out, err);
}

static PlaStatus
build_solids(PlaMuscleField *f, int n_lines, PlaError *err)
{
  const PlaMuscle *m = f->muscle;
  f->solid = pla_array_new0((size_t)m->n_heads, sizeof *f->solid);
  PlaStatus st = f->solid ? PLA_OK : pla_fail_memory(err, "a B-spline solid");
  for (int h = 0; h < m->n_heads && st == PLA_OK; h++) {
    const PlaMuscleHead *head = &m->head[h];
    if (head->n_points < 2)
      continue;
    if (!head->half_width_mm || !head->half_thick_mm || !head->normal)
      return pla_fail(err, PLA_ERR_USAGE,
                      "The muscle '%s' has a line of action without widths, thicknesses and "
                      "normals, which a B-spline solid needs.",
                      m->name);
    st = solid_along(head, &f->solid[f->n_solids], err);
    if (st == PLA_OK)
      f->n_solids++;
    else
      pla_fail_within(err, "The muscle '%s'", m->name);
  }
  /* parameter lines spread over the section */
  for (int s = 0; s < f->n_solids && st == PLA_OK; s++) {
    const int k = (int)fmax(round(sqrt((double)n_lines / f->n_solids)), 1.0);
    for (int i = 0; i < k * k && st == PLA_OK; i++) {
      double pos[3 * LINE_POINTS];
      for (int p = 0; p < LINE_POINTS; p++) {
        const double uvw[3] = { (double)p / (LINE_POINTS - 1), (i % k + 0.5) / k,
                                (i / k + 0.5) / k };
        pla_spline_solid_eval(f->solid[s], uvw, pos + 3 * p, NULL);
      }
      if (!add_line(&f->lines, pos, LINE_POINTS))
        st = pla_fail_memory(err, "streamlines");
    }
  }
  return st;
}

/* ---- together ---- */

/* no line keeps more than LINE_POINTS points, evenly spaced */
static void
thin_lines(PlaStreamlines *lines)
{
  int n = 0;
  for (int l = 0; l < lines->n_lines; l++) {
    const int from = lines->start[l], to = lines->start[l + 1];
    const int keep = to - from < LINE_POINTS ? to - from : LINE_POINTS;
    lines->start[l] = n;
    for (int i = 0; i < keep; i++) {
      const int at = from + (int)((long)i * (to - from - 1) / (keep - 1));
      memmove(lines->pos + 3 * (size_t)n++, lines->pos + 3 * (size_t)at, 3 * sizeof *lines->pos);
    }
  }
  if (lines->n_lines > 0)
    lines->start[lines->n_lines] = n;
  lines->n_points = n;
}

PlaStatus
pla_muscle_field_new(const PlaMuscle *muscle, const PlaMuscleShape *shape,
                     const PlaFibreSamples *vectors, const PlaMuscleBone *bones, int n_bones,
                     double cell_mm, const PlaMuscleOptions *opts, PlaProgress *progress,
                     PlaMuscleField **out, PlaError *err)
{
  PlaMuscleField *f = pla_array_new0(1, sizeof *f);
  PlaStatus st = f ? check_heads(muscle, bones, n_bones, err) : pla_fail_memory(err, "a muscle");
  if (st == PLA_OK) {
    f->muscle = muscle;
    f->vectors = vectors;
    st = pla_shape_lattice_init(&f->lattice, shape, cell_mm, progress, err);
    if (st != PLA_OK && st != PLA_ERR_CANCELLED)
      pla_fail_within(err, "The muscle '%s'", muscle->name);
  }
  if (st == PLA_OK) {
    f->tets = pla_mesh_tets(f->lattice.mesh);
    st = pla_tet_locator_new(&f->tets, &f->locator, err);
  }
  if (st == PLA_OK)
    switch (muscle->method) {
    case PLA_FIBRES_POTENTIAL:
      st = build_potential(f, bones, n_bones, opts, progress, err);
      if (st != PLA_OK && st != PLA_ERR_CANCELLED)
        pla_fail_within(err, "The muscle '%s'", muscle->name);
      break;
    case PLA_FIBRES_SPLINE:
      st = require_lines(muscle, err);
      if (st == PLA_OK)
        st = build_solids(f, opts->n_lines, err);
      break;
    case PLA_FIBRES_LINES:
      st = require_lines(muscle, err);
      if (st == PLA_OK)
        st = build_tangents(f, err);
      if (st == PLA_OK)
        st = lines_of_action(f, err);
      break;
    case PLA_FIBRES_VECTORS:
      if (!vectors)
        st = pla_fail(err, PLA_ERR_USAGE, "No fibre vectors were given for the muscle '%s'.",
                      muscle->name);
      if (st == PLA_OK)
        st = lines_of_action(f, err);
      break;
    }
  if (st == PLA_OK) {
    thin_lines(&f->lines);
    *out = f;
  } else
    pla_muscle_field_free(f);
  return st;
}

static void
potential_at(const PlaMuscleField *f, const double pos_mm[3], double dir[3], double *along)
{
  const double x[3] = { 1e-3 * pos_mm[0], 1e-3 * pos_mm[1], 1e-3 * pos_mm[2] };
  double w[4], sum = 0.0, u = 0.0;
  const int t = pla_tet_locator_find(f->locator, x, INFINITY, w, NULL);
  memcpy(dir, f->mean, sizeof f->mean);
  if (t < 0)
    return;
  for (int c = 0; c < 4; c++) {
    w[c] = fmax(w[c], 0.0);
    sum += w[c];
  }
  double g[3] = { 0 };
  for (int c = 0; c < 4; c++) {
    const int v = f->tets.tet[4 * (size_t)t + c];
    u += w[c] / sum * f->potential[v];
    for (int d = 0; d < 3; d++)
      g[d] += w[c] / sum * f->gradient[3 * (size_t)v + d];
  }
  const double l = pla_vec3_norm(g);
  if (!(l > 0.0) || !isfinite(l))
    return;
  *along = u;
  for (int d = 0; d < 3; d++)
    dir[d] = g[d] / l;
}

void
pla_muscle_field_at(const PlaMuscleField *self, const double pos_mm[3], double dir[3],
                    double *along)
{
  *along = NAN;
  switch (self->muscle->method) {
  case PLA_FIBRES_POTENTIAL:
    potential_at(self, pos_mm, dir, along);
    return;
  case PLA_FIBRES_SPLINE: {
    double best = INFINITY;
    for (int s = 0; s < self->n_solids; s++) {
      double d[3];
      const PlaSplinePlace at = pla_spline_solid_fibre(self->solid[s], pos_mm, d);
      if (at.distance < best) {
        best = at.distance;
        memcpy(dir, d, sizeof d);
        *along = at.uvw[0];
      }
    }
    return;
  }
  case PLA_FIBRES_LINES:
    pla_fibre_samples_at(self->tangents, pos_mm, dir, NULL);
    return;
  case PLA_FIBRES_VECTORS:
    pla_fibre_samples_at(self->vectors, pos_mm, dir, NULL);
    return;
  }
}

const PlaStreamlines *
pla_muscle_field_lines(const PlaMuscleField *self)
{
  return &self->lines;
}

double
pla_muscle_field_cut_off(const PlaMuscleField *self)
{
  return self->cut_off;
}

void
pla_muscle_field_report(const PlaMuscleField *self, PlaMuscleReport *report)
{
  const PlaStreamlines *lines = &self->lines;
  double sum = 0.0, straight = 0.0;
  for (int l = 0; l < lines->n_lines; l++) {
    double length = 0.0, e[3];
    const int from = lines->start[l], to = lines->start[l + 1];
    for (int i = from; i + 1 < to; i++) {
      pla_vec3_sub(lines->pos + 3 * (size_t)(i + 1), lines->pos + 3 * (size_t)i, e);
      length += pla_vec3_norm(e);
    }
    pla_vec3_sub(lines->pos + 3 * (size_t)(to - 1), lines->pos + 3 * (size_t)from, e);
    sum += length;
    straight += length > 0.0 ? pla_vec3_norm(e) / length : 1.0;
  }
  report->method = self->muscle->method;
  report->volume_mm3 = self->lattice.volume_mm3;
  report->n_lines = lines->n_lines;
  report->length_mm = lines->n_lines ? 1000.0 * sum / lines->n_lines : 0.0;
  report->straightness = lines->n_lines ? straight / lines->n_lines : 0.0;
  report->section_mm2 = report->length_mm > 0.0 ? report->volume_mm3 / report->length_mm : 0.0;
  report->force_n = 1e-6 * report->section_mm2 * self->muscle->peak_stress_pa;
  memcpy(report->gap_mm, self->gap_mm, sizeof self->gap_mm);
}
