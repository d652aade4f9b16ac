/* Volumes of shapes in tetrahedra.
 *
 * A tet is halved at its longest edge until the shape's distance at the corners proves it full or
 * empty, or until it is small; then the distance is taken as linear in it, and the part where that
 * is negative has a closed form. */
#include "anatomy/muscle/overlap.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* any point of a tet is within 0.613 of its longest edge from a corner (Jung's theorem); a little
 * more, for distances that are not quite true */
#define REACH 0.75

typedef struct {
  double x[4][3], phi[4];
} Tet;

typedef struct {
  double volume, moment[3];
} Sum;

static double
volume_of(const double x[4][3])
{
  double e[3][3], n[3];
  for (int c = 0; c < 3; c++)
    pla_vec3_sub(x[c + 1], x[0], e[c]);
  pla_vec3_cross(e[0], e[1], n);
  return fabs(pla_vec3_dot(n, e[2])) / 6.0;
}

static void
add_tet(Sum *sum, const double x[4][3], double sign)
{
  const double v = sign * volume_of(x);
  sum->volume += v;
  for (int d = 0; d < 3; d++)
    sum->moment[d] += v * 0.25 * (x[0][d] + x[1][d] + x[2][d] + x[3][d]);
}

/* where phi crosses zero between corners @a (one sign) and @b (the other) */
static void
crossing(const Tet *t, int a, int b, double x[3])
{
  const double s = t->phi[a] / (t->phi[a] - t->phi[b]);
  for (int d = 0; d < 3; d++)
    x[d] = t->x[a][d] + s * (t->x[b][d] - t->x[a][d]);
}

/* the part of the tet where the linear function with the given corner values is negative */
static void
add_clipped(Sum *sum, const Tet *t)
{
  int in[4], out[4], n_in = 0, n_out = 0;
  for (int c = 0; c < 4; c++)
    if (t->phi[c] < 0.0)
      in[n_in++] = c;
    else
      out[n_out++] = c;
  double p[4][3];
  if (n_in == 0)
    return;
  if (n_in == 4) {
    add_tet(sum, t->x, 1.0);
    return;
  }
  if (n_in == 1 || n_in == 3) {
    /* the tip that is alone on its side */
    const int tip = n_in == 1 ? in[0] : out[0];
    const int *rest = n_in == 1 ? out : in;
    memcpy(p[0], t->x[tip], sizeof p[0]);
    for (int c = 0; c < 3; c++)
      crossing(t, tip, rest[c], p[c + 1]);
    if (n_in == 3)
      add_tet(sum, t->x, 1.0);
    add_tet(sum, (const double(*)[3])p, n_in == 1 ? 1.0 : -1.0);
    return;
  }
  /* a wedge: edge in0-in1 and the quadrilateral of four crossings, as three tets */
  double q[2][2][3];
  for (int i = 0; i < 2; i++)
    for (int o = 0; o < 2; o++)
      crossing(t, in[i], out[o], q[i][o]);
  const double *const piece[3][4] = {
    { t->x[in[0]], q[0][0], q[0][1], t->x[in[1]] },
    { q[0][0], q[0][1], t->x[in[1]], q[1][0] },
    { q[0][1], t->x[in[1]], q[1][0], q[1][1] },
  };
  for (int i = 0; i < 3; i++) {
    for (int c = 0; c < 4; c++)
      memcpy(p[c], piece[i][c], sizeof p[c]);
    add_tet(sum, (const double(*)[3])p, 1.0);
  }
}

static void
refine(Sum *sum, const Tet *t, const PlaMuscleShape *shape, double leaf, int depth)
{
  double longest = 0.0, nearest = INFINITY;
  int a = 0, b = 1, n_in = 0;
  for (int i = 0; i < 4; i++) {
    nearest = fmin(nearest, fabs(t->phi[i]));
    n_in += t->phi[i] < 0.0;
    for (int j = i + 1; j < 4; j++) {
      double e[3];
      pla_vec3_sub(t->x[j], t->x[i], e);
      const double l = pla_vec3_dot(e, e);
      if (l > longest) {
        longest = l;
        a = i;
        b = j;
      }
    }
  }
  longest = sqrt(longest);
  if ((n_in == 0 || n_in == 4) && nearest > REACH * longest) {
    if (n_in == 4)
      add_tet(sum, t->x, 1.0);
    return;
  }
  if (longest <= leaf || depth == 0) {
    add_clipped(sum, t);
    return;
  }
  double middle[3];
  for (int d = 0; d < 3; d++)
    middle[d] = 0.5 * (t->x[a][d] + t->x[b][d]);
  const double phi = shape->distance(middle, shape->data);
  Tet half = *t;
  memcpy(half.x[a], middle, sizeof middle);
  half.phi[a] = phi;
  refine(sum, &half, shape, leaf, depth - 1);
  half = *t;
  memcpy(half.x[b], middle, sizeof middle);
  half.phi[b] = phi;
  refine(sum, &half, shape, leaf, depth - 1);
}

static PlaOverlap
overlap_of(const Tet *t, const PlaMuscleShape *shape, double leaf_mm)
{
  Sum sum = { 0 };
  /* each edge of a tet is halved within six cuts; 60 halve it a thousand times */
  refine(&sum, t, shape, leaf_mm, 60);
  PlaOverlap out = { .volume_mm3 = fmax(sum.volume, 0.0) };
  for (int d = 0; d < 3; d++)
    out.centre_mm[d] = sum.volume > 0.0
                           ? sum.moment[d] / sum.volume
                           : 0.25 * (t->x[0][d] + t->x[1][d] + t->x[2][d] + t->x[3][d]);
  return out;
}

PlaOverlap
pla_tet_overlap(const double x_mm[4][3], const PlaMuscleShape *shape, double leaf_mm)
{
  Tet t;
  memcpy(t.x, x_mm, sizeof t.x);
  for (int c = 0; c < 4; c++)
    t.phi[c] = shape->distance(t.x[c], shape->data);
  return overlap_of(&t, shape, leaf_mm);
}

void
pla_mesh_overlap_clear(PlaMeshOverlap *self)
{
  free(self->tet);
  free(self->share);
  free(self->centre_mm);
  memset(self, 0, sizeof *self);
}

PlaStatus
pla_mesh_overlap(const PlaTetMesh *mesh, const PlaMuscleShape *shape, double leaf_mm,
                 PlaProgress *progress, PlaMeshOverlap *out, PlaError *err)
{
  enum { CHUNK = 4096 }; /* tets between two looks at the progress token */
  memset(out, 0, sizeof *out);
  /* tets whose box meets the shape's, then their corners' distances, once each */
  int *near = pla_array_new((size_t)mesh->n_tets, sizeof *near);
  uint8_t *wanted = pla_array_new0((size_t)mesh->n_verts, 1);
  double *phi = pla_array_new((size_t)mesh->n_verts, sizeof *phi);
  int n_near = 0;
  PlaStatus st = near && wanted && phi ? PLA_OK : pla_fail_memory(err, "muscle overlaps");
  for (int t = 0; t < mesh->n_tets && st == PLA_OK; t++) {
    const int *v = mesh->tet + 4 * (size_t)t;
    bool meets = true;
    for (int d = 0; d < 3 && meets; d++) {
      double lo = INFINITY, hi = -INFINITY;
      for (int c = 0; c < 4; c++) {
        const double x = 1000.0 * mesh->rest[3 * (size_t)v[c] + d];
        lo = fmin(lo, x);
        hi = fmax(hi, x);
      }
      meets = lo <= shape->hi_mm[d] && hi >= shape->lo_mm[d];
    }
    if (!meets)
      continue;
    near[n_near++] = t;
    for (int c = 0; c < 4; c++)
      wanted[v[c]] = 1;
  }
  for (int from = 0; from < mesh->n_verts && st == PLA_OK; from += CHUNK) {
    const int to = from + CHUNK < mesh->n_verts ? from + CHUNK : mesh->n_verts;
    if (!pla_progress_step(progress, 0.3 * from / mesh->n_verts))
      st = pla_fail_cancelled(err);
#pragma omp parallel for schedule(dynamic, 64) if (st == PLA_OK)
    for (int v = from; v < to; v++)
      if (st == PLA_OK && wanted[v]) {
        double x[3];
        for (int d = 0; d < 3; d++)
          x[d] = 1000.0 * mesh->rest[3 * (size_t)v + d];
        phi[v] = shape->distance(x, shape->data);
      }
  }
  double *share = pla_array_new0((size_t)n_near, sizeof *share);
  double *centre = pla_array_new0(3 * (size_t)n_near, sizeof *centre);
  double *volume = pla_array_new0((size_t)n_near, sizeof *volume);
  if (st == PLA_OK && (!share || !centre || !volume))
    st = pla_fail_memory(err, "muscle overlaps");
  for (int from = 0; from < n_near && st == PLA_OK; from += CHUNK) {
    const int to = from + CHUNK < n_near ? from + CHUNK : n_near;
    if (!pla_progress_step(progress, 0.3 + 0.7 * from / n_near))
      st = pla_fail_cancelled(err);
#pragma omp parallel for schedule(dynamic, 64) if (st == PLA_OK)
    for (int i = from; i < to; i++) {
      Tet t;
      if (st != PLA_OK || pla_progress_cancelled(progress))
        continue;
      for (int c = 0; c < 4; c++) {
        const int v = mesh->tet[4 * (size_t)near[i] + c];
        for (int d = 0; d < 3; d++)
          t.x[c][d] = 1000.0 * mesh->rest[3 * (size_t)v + d];
        t.phi[c] = phi[v];
      }
      const double whole = volume_of((const double(*)[3])t.x);
      const PlaOverlap o = overlap_of(&t, shape, leaf_mm);
      if (whole > 0.0 && o.volume_mm3 > 1e-9 * whole) {
        share[i] = fmin(o.volume_mm3 / whole, 1.0);
        volume[i] = o.volume_mm3;
        memcpy(centre + 3 * (size_t)i, o.centre_mm, sizeof o.centre_mm);
      }
    }
  }
  if (st == PLA_OK && pla_progress_cancelled(progress))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK) {
    out->volume_mm3 = pla_sum(volume, (size_t)n_near);
    for (int i = 0; i < n_near; i++)
      if (share[i] > 0.0) {
        near[out->n] = near[i];
        share[out->n] = share[i];
        memmove(centre + 3 * (size_t)out->n, centre + 3 * (size_t)i, 3 * sizeof *centre);
        out->n++;
      }
    out->tet = near;
    out->share = share;
    out->centre_mm = centre;
    near = NULL;
    share = centre = NULL;
  }
  free(near);
  free(wanted);
  free(phi);
  free(share);
  free(centre);
  free(volume);
  return st;
}

/* ---- shapes ---- */

static double
levelset_distance(const double pos_mm[3], const void *data)
{
  return pla_levelset_at(data, pos_mm);
}

PlaMuscleShape
pla_muscle_shape_levelset(const PlaLevelSet *ls)
{
  PlaMuscleShape shape = { .distance = levelset_distance, .data = ls, .quick = true };
  for (int d = 0; d < 3; d++) {
    shape.lo_mm[d] = INFINITY;
    shape.hi_mm[d] = -INFINITY;
  }
  for (int c = 0; c < 8; c++) {
    double ijk[3], x[3];
    for (int d = 0; d < 3; d++)
      ijk[d] = c >> d & 1 ? ls->dims[d] - 0.5 : -0.5;
    pla_affine_apply(ls->affine_mm, ijk, x);
    for (int d = 0; d < 3; d++) {
      shape.lo_mm[d] = fmin(shape.lo_mm[d], x[d]);
      shape.hi_mm[d] = fmax(shape.hi_mm[d], x[d]);
    }
  }
  return shape;
}

static double
surface_distance(const double pos_mm[3], const void *data)
{
  const PlaMuscleSurface *s = data;
  const double x[3] = { 1e-3 * pos_mm[0], 1e-3 * pos_mm[1], 1e-3 * pos_mm[2] };
  const double d = 1000.0 * pla_tri_tree_nearest(s->tree, x, INFINITY, NULL, NULL);
  return pla_winding_at(s->winding, x) > 0.5 ? -d : d;
}

PlaMuscleShape
pla_muscle_shape_surface(const PlaMuscleSurface *surface, const PlaTriMesh *mesh)
{
  PlaMuscleShape shape = { .distance = surface_distance, .data = surface };
  for (int d = 0; d < 3; d++) {
    shape.lo_mm[d] = INFINITY;
    shape.hi_mm[d] = -INFINITY;
  }
  for (size_t i = 0; i < 3 * (size_t)mesh->n_tris; i++)
    for (int d = 0; d < 3; d++) {
      const double x = 1000.0 * mesh->pos[3 * (size_t)mesh->tri[i] + d];
      shape.lo_mm[d] = fmin(shape.lo_mm[d], x);
      shape.hi_mm[d] = fmax(shape.hi_mm[d], x);
    }
  return shape;
}
