/* A palate as a level set. Built: the upper convex hull of all coil positions plus a margin,
 * falling to the sides as c s^2 of the distance s from the midsagittal plane. Lined: the union
 * of such a roof with bone. */
#include "sim/tongue/palate.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const PlaHeadFrame *frame;
  int n;
  double *line; /* (forward, up) of the roof's middle, m, from back to front (n x 2) */
  double fall;  /* to the sides, 1/m */
  bool ends;    /* no roof before the foremost place, rather than one that falls at 45 degrees */
} Roof;

static int
by_forward(const void *a, const void *b)
{
  const double *p = a, *q = b;
  return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

/* the upper side of the convex hull, in place; its length */
static int
upper_hull(double *p, int n)
{
  int k = 0;
  qsort(p, (size_t)n, 2 * sizeof *p, by_forward);
  for (int i = 0; i < n; i++) {
    while (k >= 1 && p[2 * (k - 1)] == p[2 * i]) /* the highest of those at one place */
      k--;
    while (k >= 2 && (p[2 * k - 2] - p[2 * k - 4]) * (p[2 * i + 1] - p[2 * k - 3]) -
                             (p[2 * k - 1] - p[2 * k - 3]) * (p[2 * i] - p[2 * k - 4]) >=
                         0.0)
      k--;
    memmove(p + 2 * k++, p + 2 * i, 2 * sizeof *p);
  }
  return k;
}

static double
roof_height(const Roof *roof, double forward)
{
  const double *p = roof->line;
  const int n = roof->n;
  if (forward <= p[0])
    return p[1];
  for (int i = 1; i < n; i++)
    if (forward <= p[2 * i])
      return p[2 * i - 1] +
             (p[2 * i + 1] - p[2 * i - 1]) * (forward - p[2 * i - 2]) / (p[2 * i] - p[2 * i - 2]);
  return roof->ends ? INFINITY : p[2 * n - 1] - (forward - p[2 * n - 2]);
}

static double
roof_distance(const double pos_mm[3], const void *data)
{
  const Roof *roof = data;
  const double pos[3] = { pos_mm[0] / 1000.0, pos_mm[1] / 1000.0, pos_mm[2] / 1000.0 };
  double at[2];
  pla_head_frame_sagittal(roof->frame, pos, at);
  const double aside = pla_vec3_dot(roof->frame->right, pos) - roof->frame->mid;
  return 1000.0 * (roof_height(roof, at[0]) - roof->fall * aside * aside - at[1]);
}

/* the steepest fall to the sides that still clears the tongue at rest */
static double
side_fall(const Roof *roof, const PlaTetMesh *mesh, double margin)
{
  double fall = 30.0; /* 1/m: 7.5 mm at 16 mm from the middle, a vaulted palate */
  for (int v = 0; v < mesh->n_verts; v++) {
    const double *p = mesh->rest + 3 * (size_t)v;
    double at[2];
    pla_head_frame_sagittal(roof->frame, p, at);
    const double aside = fabs(pla_vec3_dot(roof->frame->right, p) - roof->frame->mid);
    const double room = roof_height(roof, at[0]) - at[1] - 0.5 * margin;
    if (aside > 0.005)
      fall = fmin(fall, fmax(0.0, room) / (aside * aside));
  }
  return fall;
}

/* the nearer of a roof and what was there */
typedef struct {
  const Roof *roof;
  const PlaLevelSet *solid;
} Lined;

static double
lined_distance(const double pos_mm[3], const void *data)
{
  const Lined *lined = data;
  return fmin(roof_distance(pos_mm, lined->roof), pla_levelset_at(lined->solid, pos_mm));
}

PlaStatus
pla_palate_line(PlaLevelSet *solid, const PlaTetMesh *mesh, const PlaHeadFrame *frame, int n,
                double *line, double margin, PlaError *err)
{
  Roof roof = { .frame = frame, .n = n, .line = line, .ends = true };
  PlaLevelSet *bone = NULL;
  PlaStatus st = pla_levelset_dup(solid, &bone, err);
  if (st == PLA_OK) {
    const Lined lined = { &roof, bone };
    roof.fall = side_fall(&roof, mesh, margin);
    pla_levelset_fill(solid, lined_distance, &lined);
    st = pla_levelset_redistance(solid, INFINITY, NULL, err);
  }
  pla_levelset_free(bone);
  return st;
}

PlaStatus
pla_palate_build(const PlaTetMesh *mesh, const PlaHeadFrame *frame, const PlaOutline *outline,
                 const PlaCoilFit *fit, const PlaCoilPaths *paths, int n_paths, double margin,
                 PlaLevelSet **out, PlaError *err)
{
  const double spacing = 1.0; /* mm */
  Roof roof = { .frame = frame };
  size_t n = 0;
  double tip[2], coil[2], *line = pla_array_new((size_t)outline->n, 2 * sizeof *line);
  *out = NULL;
  for (int p = 0; p < n_paths; p++)
    n += (size_t)paths[p].n_frames;
  roof.line = pla_array_new(5 * n + 1, 2 * sizeof *roof.line);
  if (!roof.line || !line) {
    free(roof.line);
    free(line);
    return pla_fail_memory(err, "a palate");
  }
  pla_outline_place(outline, frame, mesh->rest, line);
  memcpy(tip, line, sizeof tip);
  pla_head_frame_sagittal(frame, mesh->rest + 3 * (size_t)fit->vert[PLA_COIL_TT], coil);
  for (int p = 0; p < n_paths; p++)
    for (int i = 0; i < paths[p].n_frames; i++)
      for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
        const double *mm = paths[p].pos_mm + 2 * ((size_t)i * PLA_N_COILS + (size_t)k);
        double *at = roof.line + 2 * (size_t)roof.n;
        if (isnan(mm[0]) || isnan(mm[1]))
          continue;
        pla_coil_fit_place(fit, mm, at);
        at[1] += margin;
        roof.n++;
        if (k == PLA_COIL_TT) {
          at[2] = at[0] + tip[0] - coil[0];
          at[3] = at[1] + tip[1] - coil[1];
          roof.n++;
        }
      }
  free(line);
  roof.n = upper_hull(roof.line, roof.n);
  roof.fall = side_fall(&roof, mesh, margin);

  /* a grid along the directions of the head, from below the lowest place to above the roof */
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  for (int v = 0; v < mesh->n_verts; v++) {
    const double *p = mesh->rest + 3 * (size_t)v;
    const double at[3] = { pla_vec3_dot(frame->right, p), pla_vec3_dot(frame->forward, p),
                           pla_vec3_dot(frame->up, p) };
    for (int d = 0; d < 3; d++) {
      lo[d] = fmin(lo[d], at[d]);
      hi[d] = fmax(hi[d], at[d]);
    }
  }
  lo[1] -= 0.01;
  hi[1] += 0.02;
  hi[2] = -INFINITY;
  for (int i = 0; i < roof.n; i++)
    hi[2] = fmax(hi[2], roof.line[2 * i + 1]);
  lo[2] = hi[2] - 0.035;
  hi[2] += 0.012;
  int dims[3];
  double affine[12], origin[3];
  for (int d = 0; d < 3; d++) {
    dims[d] = 2 + (int)(1000.0 * (hi[d] - lo[d]) / spacing);
    origin[d] =
        1000.0 * (lo[0] * frame->right[d] + lo[1] * frame->forward[d] + lo[2] * frame->up[d]);
  }
  for (int r = 0; r < 3; r++) {
    affine[4 * r] = spacing * frame->right[r];
    affine[4 * r + 1] = spacing * frame->forward[r];
    affine[4 * r + 2] = spacing * frame->up[r];
    affine[4 * r + 3] = origin[r];
  }
  PlaStatus st = pla_levelset_new(dims, affine, out, err);
  if (st == PLA_OK) {
    pla_levelset_fill(*out, roof_distance, &roof);
    st = pla_levelset_redistance(*out, INFINITY, NULL, err);
  }
  free(roof.line);
  if (st != PLA_OK) {
    pla_levelset_free(*out);
    *out = NULL;
  }
  return st;
}
