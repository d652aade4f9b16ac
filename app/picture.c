#include "app/picture.h"

#include "anatomy/base/memory.h"
#include "anatomy/occlusion.h"
#include "anatomy/vtk-filters.h"
#include "io/output.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------- files */

static cairo_status_t
append(void *closure, const unsigned char *data, unsigned int size)
{
  return pla_bytes_append(closure, data, size) ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

static PlaStatus
write_surface(cairo_surface_t *surface, const char *path, PlaError *err)
{
  PlaBytes png = { 0 };
  PlaStatus st = PLA_OK;
  cairo_surface_flush(surface);
  if (cairo_surface_write_to_png_stream(surface, append, &png) != CAIRO_STATUS_SUCCESS)
    st = pla_fail_memory(err, "the picture");
  if (st == PLA_OK)
    st = pla_output_write(path, png.data, png.size, err);
  pla_bytes_clear(&png);
  return st;
}

PlaStatus
pla_picture_write(const char *path, const uint32_t *pixel, int width, int height, PlaError *err)
{
  cairo_surface_t *surface =
      cairo_image_surface_create_for_data((unsigned char *)pixel, CAIRO_FORMAT_RGB24, width, height,
                                          4 * width);
  PlaStatus st = write_surface(surface, path, err);
  cairo_surface_destroy(surface);
  return st;
}

/* ---------------------------------------------------------------- surfaces */

PlaPictureOptions
pla_picture_options_default(void)
{
  return (PlaPictureOptions){ .width = 1200,
                              .height = 1000,
                              .view = PLA_VIEW_THREE_QUARTER,
                              .background = { 0.10, 0.105, 0.12 },
                              .annotate = true };
}

PlaSurfaceLook
pla_surface_look_for(const PlaLabel *label)
{
  PlaSurfaceLook look = { .n_ids = 1, .ids = &label->id, .opacity = 1.0 };
  g_autofree char *name = g_utf8_casefold(label->name ? label->name : "", -1);
  if (strstr(name, "skin") || strstr(name, "soft tissue")) {
    look.finish = PLA_FINISH_SKIN;
    memcpy(look.rgb, (double[3]){ 0.90, 0.70, 0.60 }, sizeof look.rgb);
  } else if (strstr(name, "bone") || strstr(name, "skull") || strstr(name, "mandible") ||
             strstr(name, "hyoid") || strstr(name, "vertebra") || strstr(name, "teeth")) {
    look.finish = PLA_FINISH_BONE;
    memcpy(look.rgb, (double[3]){ 0.93, 0.89, 0.80 }, sizeof look.rgb);
  } else {
    for (int c = 0; c < 3; c++)
      look.rgb[c] = label->rgba[c] / 255.0;
  }
  return look;
}

PlaStatus
pla_label_surface_make(const PlaLabelMap *map, const int *ids, int n_ids, PlaMesh **out,
                       float **open, PlaProgress *progress, PlaError *err)
{
  /* more triangles than this are not seen, only waited for */
  const int most_tris = 1000000;
  PlaMesh *mesh = NULL;
  float *shade = NULL;
  *out = NULL;
  PlaStatus st = PLA_OK;
  if (!pla_progress_phase(progress, "Finding the surface", 0.3))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = pla_vtk_label_surface(map, ids, n_ids, &mesh, err);
  if (st == PLA_OK && !pla_progress_phase(progress, "Smoothing", 0.5))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = pla_vtk_smooth(mesh, 30, 0.04, err);
  if (st == PLA_OK && mesh->n_tris > most_tris) {
    PlaMesh *fewer = NULL;
    st = pla_vtk_decimate(mesh, most_tris, &fewer, err);
    if (st == PLA_OK) {
      pla_mesh_free(mesh);
      mesh = fewer;
    }
  }
  if (st == PLA_OK && open) {
    shade = pla_array_new((size_t)mesh->n_verts, sizeof *shade);
    PlaTriMesh tris = pla_mesh_tris(mesh);
    if (!shade)
      st = pla_fail_memory(err, "the shading of a surface");
    else if (!pla_progress_phase(progress, "Shading", 1.0))
      st = pla_fail_cancelled(err);
    else
      st = pla_occlusion(&tris, 72, shade, progress, err);
  }
  if (st == PLA_OK) {
    *out = mesh;
    if (open)
      *open = shade;
  } else {
    pla_mesh_free(mesh);
    free(shade);
  }
  return st;
}

/* each pixel the mean of a 2 x 2 block */
static void
halve(const uint32_t *big, int width, int height, uint32_t *small)
{
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const uint32_t *p = big + 2 * ((size_t)(2 * y) * width + x), *q = p + 2 * (size_t)width;
      uint32_t out = 0;
      for (int shift = 0; shift < 32; shift += 8) {
        uint32_t sum = (p[0] >> shift & 255) + (p[1] >> shift & 255) + (q[0] >> shift & 255) +
                       (q[1] >> shift & 255);
        out |= (sum + 2) / 4 << shift;
      }
      small[(size_t)y * width + x] = out;
    }
}

static PlaStatus
draw_scene(const PlaRenderer *render, PlaScene *scene, const PlaPictureOptions *opts,
           const char *path, PlaError *err)
{
  double lo[3], hi[3];
  if (!render->bounds(scene, lo, hi))
    return pla_fail(err, PLA_ERR_EMPTY, "There is nothing to draw");
  PlaCamera camera = pla_camera_fit(opts->view, lo, hi, (double)opts->width / opts->height);
  double bottom[3];
  for (int d = 0; d < 3; d++)
    bottom[d] = 0.55 * opts->background[d];
  render->set_camera(scene, &camera);
  render->set_background(scene, opts->background, bottom);

  const size_t n = (size_t)opts->width * opts->height;
  uint32_t *big = pla_array_new(4 * n, sizeof *big);
  cairo_surface_t *surface =
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, opts->width, opts->height);
  PlaStatus st = PLA_OK;
  if (!big || cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
    st = pla_fail_memory(err, "the picture");
  if (st == PLA_OK)
    st = render->draw_pixels(scene, 2 * opts->width, 2 * opts->height, big, err);
  if (st == PLA_OK) {
    /* rows of a 32-bit cairo image have no padding */
    halve(big, opts->width, opts->height, (uint32_t *)cairo_image_surface_get_data(surface));
    cairo_surface_mark_dirty(surface);
    if (opts->annotate) {
      cairo_t *cr = cairo_create(surface);
      double grey = (opts->background[0] + opts->background[1] + opts->background[2]) / 3.0;
      PlaOverlayInk ink = { .on_light = grey > 0.5, .font_size = fmax(12.0, opts->height / 50.0) };
      pla_overlay_scale_bar(cr, &ink, opts->width, opts->height,
                            pla_camera_height_mm(&camera) / opts->height);
      double r = 2.6 * ink.font_size;
      pla_overlay_axes(cr, &ink, opts->width - 1.7 * r, opts->height - 1.7 * r, r, &camera);
      cairo_destroy(cr);
    }
    st = write_surface(surface, path, err);
  }
  cairo_surface_destroy(surface);
  free(big);
  return st;
}

PlaStatus
pla_render_label_surface_png(const PlaLabelMap *map, const PlaSurfaceLook *looks, int n_looks,
                             const PlaPictureOptions *opts, const char *path, PlaError *err)
{
  const PlaRenderer *render = NULL;
  PlaScene *scene = NULL;
  PlaStatus st = pla_render_load(&render, err);
  if (st == PLA_OK)
    st = render->scene_new(true, &scene, err);
  for (int i = 0; st == PLA_OK && i < n_looks; i++) {
    PlaMesh *mesh = NULL;
    float *open = NULL;
    if (!pla_progress_phase(opts->progress, "Making surfaces", 0.9 * (i + 1) / n_looks))
      st = pla_fail_cancelled(err);
    PlaProgressSpan span = pla_progress_push(opts->progress);
    if (st == PLA_OK)
      st = pla_label_surface_make(map, looks[i].ids, looks[i].n_ids, &mesh, &open, opts->progress,
                                  err);
    pla_progress_pop(opts->progress, span);
    if (st == PLA_OK) {
      PlaSceneMesh shape = { .n_verts = mesh->n_verts,
                             .n_tris = mesh->n_tris,
                             .pos = mesh->pos,
                             .to_mm = 1000.0,
                             .tri = mesh->tri,
                             .open = open };
      st = render->put_mesh(scene, i + 1, &shape, err);
    }
    if (st == PLA_OK) {
      PlaSceneStyle style = pla_scene_style_default();
      memcpy(style.rgb, looks[i].rgb, sizeof style.rgb);
      style.opacity = looks[i].opacity;
      style.finish = looks[i].finish;
      if (looks[i].opacity < 1.0) {
        style.rim = 0.75;
        style.hide_back = true;
      }
      render->set_style(scene, i + 1, &style);
    }
    pla_mesh_free(mesh);
    free(open);
  }
  if (st == PLA_OK && !pla_progress_phase(opts->progress, "Drawing", 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = draw_scene(render, scene, opts, path, err);
  if (scene)
    render->scene_free(scene);
  return st;
}

/* ------------------------------------------------------------------ slices */

void
pla_volume_box(const PlaVolume *vol, double lo_mm[3], double hi_mm[3])
{
  for (int d = 0; d < 3; d++) {
    lo_mm[d] = INFINITY;
    hi_mm[d] = -INFINITY;
  }
  for (int corner = 0; corner < 8; corner++) {
    double ijk[3], ras[3];
    for (int d = 0; d < 3; d++)
      ijk[d] = (corner >> d & 1) ? vol->dims[d] - 0.5 : -0.5;
    pla_volume_to_ras_mm(vol, ijk, ras);
    for (int d = 0; d < 3; d++) {
      lo_mm[d] = fmin(lo_mm[d], ras[d]);
      hi_mm[d] = fmax(hi_mm[d], ras[d]);
    }
  }
}

PlaSliceOptions
pla_slice_options_default(const PlaVolume *vol)
{
  PlaSliceOptions opts = { .axis = PLA_AXIS_AXIAL,
                           .width = 1000,
                           .height = 1000,
                           .radiological = true,
                           .fill = 0.28,
                           .line = 0.9,
                           .annotate = true };
  if (vol) {
    double lo[3], hi[3];
    pla_volume_box(vol, lo, hi);
    for (int d = 0; d < 3; d++)
      opts.centre_mm[d] = 0.5 * (lo[d] + hi[d]);
  }
  return opts;
}

static int
compare(const void *a, const void *b)
{
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

void
pla_window_auto(const PlaVolume *vol, double window[2])
{
  /* a regular sample of the first frame, without the darkest value (air, padding) */
  const size_t n = pla_volume_n_voxels(vol) / (size_t)vol->dims[3];
  const size_t step = n / 65536 + 1;
  float *sample = pla_array_new(n / step + 1, sizeof *sample);
  double lo = 0.0, hi = 0.0;
  size_t used = 0;
  if (sample) {
    for (size_t i = 0; i < n; i += step) {
      double v = vol->slope * pla_dtype_get(vol->dtype, vol->voxels, i) + vol->inter;
      if (isfinite(v))
        sample[used++] = (float)v;
    }
    qsort(sample, used, sizeof *sample, compare);
    size_t first = 0;
    while (first < used && sample[first] <= sample[0])
      first++;
    if (first + 1 < used) {
      lo = sample[first + (size_t)(0.01 * (double)(used - first))];
      hi = sample[first + (size_t)(0.995 * (double)(used - first - 1))];
    } else if (used > 0) {
      lo = sample[0];
      hi = sample[used - 1];
    }
  }
  free(sample);
  window[0] = lo;
  window[1] = hi > lo ? hi : lo + 1.0;
}

PlaStatus
pla_render_slice_png(const PlaVolume *vol, const PlaLabelMap *labels, const PlaSliceOptions *opts,
                     const char *path, PlaError *err)
{
  if (opts->width < 1 || opts->height < 1 || opts->width > 16384 || opts->height > 16384)
    return pla_fail(err, PLA_ERR_USAGE,
                    "A picture of %d x %d pixels cannot be drawn; each side must be 1 to 16384",
                    opts->width, opts->height);
  double mm_per_pixel = opts->mm_per_pixel;
  if (!(mm_per_pixel > 0.0)) {
    /* the axes across and down the picture */
    static const int across[3] = { 1, 0, 0 }, down[3] = { 2, 2, 1 };
    double lo[3], hi[3];
    pla_volume_box(vol, lo, hi);
    int a = across[opts->axis], d = down[opts->axis];
    mm_per_pixel = fmax((hi[a] - lo[a]) / opts->width, (hi[d] - lo[d]) / opts->height);
  }
  PlaSlicePlane plane = pla_slice_plane(opts->axis, opts->centre_mm, mm_per_pixel, opts->width,
                                        opts->height, opts->radiological);
  double window[2] = { opts->window[0], opts->window[1] };
  if (!(window[1] > window[0]))
    pla_window_auto(vol, window);

  const size_t n = (size_t)opts->width * opts->height;
  float *value = pla_array_new(n, sizeof *value);
  uint16_t *label = labels ? pla_array_new(n, sizeof *label) : NULL;
  cairo_surface_t *surface =
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, opts->width, opts->height);
  PlaStatus st = PLA_OK;
  if (!value || (labels && !label) || cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
    st = pla_fail_memory(err, "the picture");
  if (st == PLA_OK) {
    uint32_t *pixel = (uint32_t *)cairo_image_surface_get_data(surface);
    pla_slice_values(vol, 0, &plane, true, value);
    pla_slice_grey(value, n, window[0], window[1], 0xff000000u, pixel);
    if (labels) {
      pla_slice_labels(labels, &plane, label);
      pla_slice_overlay(label, &labels->table, opts->fill, opts->line, opts->width, opts->height,
                        pixel);
    }
    cairo_surface_mark_dirty(surface);
    if (opts->annotate) {
      cairo_t *cr = cairo_create(surface);
      PlaOverlayInk ink = { .font_size = fmax(12.0, opts->height / 45.0) };
      pla_overlay_letters(cr, &ink, opts->width, opts->height, &plane);
      pla_overlay_scale_bar(cr, &ink, opts->width, opts->height, mm_per_pixel);
      static const char *const names[3] = { "Sagittal", "Coronal", "Axial" };
      g_autofree char *place =
          g_strdup_printf("%s  %.1f mm", names[opts->axis],
                          round(10.0 * opts->centre_mm[opts->axis]) / 10.0 + 0.0);
      pla_overlay_text(cr, &ink, ink.font_size, 1.2 * ink.font_size, 0.0, place);
      if (opts->axis != PLA_AXIS_SAGITTAL)
        pla_overlay_text(cr, &ink, opts->width - ink.font_size, 1.2 * ink.font_size, 1.0,
                         opts->radiological ? "radiological" : "neurological");
      cairo_destroy(cr);
    }
    st = write_surface(surface, path, err);
  }
  cairo_surface_destroy(surface);
  free(value);
  free(label);
  return st;
}
