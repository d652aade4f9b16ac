/* Draws voxels by nearest-neighbour sampling of one stored slice, and meshes by a z-buffer with
 * flat shading, seen from the front. */
#include "app/show/thumbnail.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "app/content/content.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BACKGROUND 0xff202226u

/* ---- voxels ------------------------------------------------------------------------------- */

static const PlaStoreArray *
find_array(const PlaBundle *bundle, const char *name)
{
  for (int a = 0; a < bundle->n_arrays; a++)
    if (strcmp(bundle->array[a].name, name) == 0)
      return &bundle->array[a];
  return NULL;
}

static int
compare_floats(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static uint32_t
grey(double v)
{
  const uint32_t g = (uint32_t)(255.0 * fmin(1.0, fmax(0.0, v)) + 0.5);
  return 0xff000000u | g << 16 | g << 8 | g;
}

/* labels in colours that differ from their neighbours', greys between the darkest and brightest few
 * percent */
static void
paint_voxels(const float *value, int width, int height, bool labels, uint32_t *pixel)
{
  const size_t n = (size_t)width * (size_t)height;
  float *sorted = pla_array_new(n, sizeof *sorted);
  size_t m = 0;
  for (size_t i = 0; sorted && i < n; i++)
    if (!isnan(value[i]))
      sorted[m++] = value[i];
  if (m > 0)
    qsort(sorted, m, sizeof *sorted, compare_floats);
  const double lo = m > 0 ? sorted[m / 20] : 0.0, hi = m > 0 ? sorted[m - 1 - m / 200] : 1.0;
  free(sorted);
  static const uint32_t colour[] = { 0xffe5b299u, 0xffede3ccu, 0xff7fb2e5u, 0xff8cd08cu,
                                     0xffd98c8cu, 0xffc7a6e0u, 0xffe0cf7au };
  for (size_t i = 0; i < n; i++)
    if (isnan(value[i]) || (labels && value[i] < 0.5f))
      pixel[i] = BACKGROUND;
    else if (labels)
      pixel[i] = colour[(size_t)(value[i] - 0.5f) % (sizeof colour / sizeof *colour)];
    else
      pixel[i] = grey((value[i] - lo) / fmax(hi - lo, 1e-12));
}

/* the slice in the middle of the slowest axis, turned so that the patient's right is on the left
 * and the front (or the top) is up */
static PlaStatus
draw_voxels(PlaStore *store, const PlaBundle *bundle, int width, int height, uint32_t *pixel,
            PlaError *err)
{
  const PlaStoreArray *voxels = find_array(bundle, "voxels"),
                      *frame = find_array(bundle, "affine_mm");
  double affine[12];
  if (!voxels || voxels->n_dims != 4 || !frame || pla_store_array_bytes(frame) != sizeof affine)
    return pla_fail(err, PLA_ERR_EMPTY, "the item has no voxels to show");
  PlaStatus st = pla_store_read_array(store, &frame->hash, 0, sizeof affine, affine, NULL, err);
  const size_t ni = voxels->shape[0], nj = voxels->shape[1], nk = voxels->shape[2];
  const size_t bytes = ni * nj * pla_dtype_size(voxels->dtype);
  if (st != PLA_OK || bytes == 0 || nk == 0)
    return st != PLA_OK ? st : pla_fail(err, PLA_ERR_EMPTY, "the item has no voxels to show");
  void *slice = malloc(bytes);
  float *value = pla_array_new((size_t)width * (size_t)height, sizeof *value);
  st = slice && value
           ? pla_store_read_array(store, &voxels->hash, bytes * (nk / 2), bytes, slice, NULL, err)
           : pla_fail_memory(err, "a small picture");
  if (st == PLA_OK) {
    /* millimetres along both axes, and which way they run on the patient */
    const double si = sqrt(affine[0] * affine[0] + affine[4] * affine[4] + affine[8] * affine[8]),
                 sj = sqrt(affine[1] * affine[1] + affine[5] * affine[5] + affine[9] * affine[9]);
    const double scale = fmax((double)ni * si / width, (double)nj * sj / height); /* mm a pixel */
    const bool flip_i = affine[0] > 0.0;
    const bool flip_j = fabs(affine[9]) > fabs(affine[5]) ? affine[9] > 0.0 : affine[5] > 0.0;
    for (int y = 0; y < height; y++)
      for (int x = 0; x < width; x++) {
        double i = (x + 0.5 - 0.5 * width) * scale / si + 0.5 * (double)ni,
               j = (y + 0.5 - 0.5 * height) * scale / sj + 0.5 * (double)nj;
        i = floor(flip_i ? (double)ni - i : i);
        j = floor(flip_j ? (double)nj - j : j);
        const bool inside = i >= 0.0 && j >= 0.0 && i < (double)ni && j < (double)nj;
        value[y * width + x] =
            inside ? (float)pla_dtype_get(voxels->dtype, slice, (size_t)i + ni * (size_t)j) : NAN;
      }
    paint_voxels(value, width, height, strcmp(bundle->kind, PLA_ITEM_LABELS) == 0, pixel);
  }
  free(slice);
  free(value);
  return st;
}

/* ---- shapes ------------------------------------------------------------------------------- */

typedef struct {
  int width, height;
  uint32_t *pixel;
  float *depth;
  double centre[3], scale; /* m, pixels a metre */
} Canvas;

/* one triangle, seen from the front: the patient's right is on the left */
static void
draw_triangle(Canvas *c, const double *pos, int v0, int v1, int v2)
{
  const int v[3] = { v0, v1, v2 };
  double x[3], y[3], z[3], e[3], f[3], n[3];
  for (int k = 0; k < 3; k++) {
    const double *p = pos + 3 * (size_t)v[k];
    x[k] = 0.5 * c->width - c->scale * (p[0] - c->centre[0]);
    y[k] = 0.5 * c->height - c->scale * (p[2] - c->centre[2]);
    z[k] = p[1];
  }
  pla_vec3_sub(pos + 3 * (size_t)v1, pos + 3 * (size_t)v0, e);
  pla_vec3_sub(pos + 3 * (size_t)v2, pos + 3 * (size_t)v0, f);
  pla_vec3_cross(e, f, n);
  const double length = pla_vec3_norm(n),
               area = (x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]);
  if (!(length > 0.0) || fabs(area) < 1e-12)
    return;
  /* light from above the viewer's right */
  const double lit = fabs((-0.25 * n[0] + 0.85 * n[1] + 0.45 * n[2]) / length);
  const uint32_t colour = grey(0.25 + 0.7 * lit);
  const int x0 = (int)fmax(0.0, floor(fmin(x[0], fmin(x[1], x[2])))),
            x1 = (int)fmin(c->width - 1.0, floor(fmax(x[0], fmax(x[1], x[2])))),
            y0 = (int)fmax(0.0, floor(fmin(y[0], fmin(y[1], y[2])))),
            y1 = (int)fmin(c->height - 1.0, floor(fmax(y[0], fmax(y[1], y[2]))));
  for (int py = y0; py <= y1; py++)
    for (int px = x0; px <= x1; px++) {
      double w[3];
      for (int k = 0; k < 3; k++) {
        const int a = (k + 1) % 3, b = (k + 2) % 3;
        w[k] = ((x[b] - x[a]) * (py + 0.5 - y[a]) - (y[b] - y[a]) * (px + 0.5 - x[a])) / area;
      }
      if (w[0] < 0.0 || w[1] < 0.0 || w[2] < 0.0)
        continue;
      const size_t at = (size_t)py * (size_t)c->width + (size_t)px;
      const float depth = (float)(w[0] * z[0] + w[1] * z[1] + w[2] * z[2]);
      if (depth > c->depth[at]) {
        c->depth[at] = depth;
        c->pixel[at] = colour;
      }
    }
}

static PlaStatus
draw_mesh(const PlaMesh *mesh, int width, int height, uint32_t *pixel, PlaError *err)
{
  static const int tet_faces[4][3] = { { 0, 2, 1 }, { 0, 1, 3 }, { 1, 2, 3 }, { 0, 3, 2 } };
  static const int hex_faces[6][4] = { { 0, 3, 2, 1 }, { 4, 5, 6, 7 }, { 0, 1, 5, 4 },
                                       { 1, 2, 6, 5 }, { 2, 3, 7, 6 }, { 3, 0, 4, 7 } };
  const size_t n = (size_t)width * (size_t)height;
  Canvas canvas = { width, height, pixel, pla_array_new(n, sizeof(float)), { 0 }, 0.0 };
  if (!canvas.depth)
    return pla_fail_memory(err, "a small picture");
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  for (size_t i = 0; i < 3 * (size_t)mesh->n_verts; i++) {
    lo[i % 3] = fmin(lo[i % 3], mesh->pos[i]);
    hi[i % 3] = fmax(hi[i % 3], mesh->pos[i]);
  }
  for (int d = 0; d < 3; d++)
    canvas.centre[d] = 0.5 * (lo[d] + hi[d]);
  canvas.scale = 0.94 * fmin(width / fmax(hi[0] - lo[0], 1e-9), height / fmax(hi[2] - lo[2], 1e-9));
  for (size_t i = 0; i < n; i++) {
    pixel[i] = BACKGROUND;
    canvas.depth[i] = -INFINITY;
  }
  for (int t = 0; t < mesh->n_tris; t++) {
    const int *v = mesh->tri + 3 * (size_t)t;
    draw_triangle(&canvas, mesh->pos, v[0], v[1], v[2]);
  }
  /* inner faces are hidden by outer ones */
  for (int t = 0; t < mesh->n_tets; t++)
    for (int f = 0; f < 4; f++) {
      const int *v = mesh->tet + 4 * (size_t)t, *k = tet_faces[f];
      draw_triangle(&canvas, mesh->pos, v[k[0]], v[k[1]], v[k[2]]);
    }
  for (int h = 0; h < mesh->n_hexes; h++)
    for (int f = 0; f < 6; f++) {
      const int *v = mesh->hex + 8 * (size_t)h, *k = hex_faces[f];
      draw_triangle(&canvas, mesh->pos, v[k[0]], v[k[1]], v[k[2]]);
      draw_triangle(&canvas, mesh->pos, v[k[0]], v[k[2]], v[k[3]]);
    }
  free(canvas.depth);
  return PLA_OK;
}

PlaStatus
pla_thumbnail_make(PlaStore *store, const PlaHash *item, int width, int height, uint32_t *pixel,
                   PlaError *err)
{
  PlaBundle bundle;
  PlaStatus st = pla_store_read_bundle(store, item, &bundle, err);
  if (st != PLA_OK)
    return st;
  if (strcmp(bundle.kind, PLA_ITEM_VOLUME) == 0 || strcmp(bundle.kind, PLA_ITEM_LABELS) == 0) {
    st = draw_voxels(store, &bundle, width, height, pixel, err);
  } else if (pla_item_kind_has_mesh(bundle.kind)) {
    PlaContent *content = NULL;
    st = pla_content_load(store, item, NULL, &content, err);
    if (st == PLA_OK)
      st = draw_mesh(content->mesh, width, height, pixel, err);
    pla_content_unref(content);
  } else {
    st = pla_fail(err, PLA_ERR_EMPTY, "a %s has no picture", bundle.kind);
  }
  pla_bundle_clear(&bundle, false);
  return st;
}
