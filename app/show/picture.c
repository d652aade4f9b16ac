/* PNG files from pixels, surfaces (drawn off-screen at twice the size and averaged 2 x 2) and
 * slices. */
#include "app/show/picture.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesh/occlusion.h"
#include "anatomy/surface/vtk-filters.h"
#include "app/base/colour-map.h"
#include "app/base/quantity.h"
#include "app/show/plot-ticks.h"
#include "io/stream/output.h"

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

PlaStatus
pla_picture_encode(cairo_surface_t *image, PlaBytes *out, PlaError *err)
{
  cairo_surface_flush(image);
  if (cairo_surface_write_to_png_stream(image, append, out) != CAIRO_STATUS_SUCCESS)
    return pla_fail_memory(err, "the picture");
  return PLA_OK;
}

PlaStatus
pla_picture_write_surface(const char *path, cairo_surface_t *image, PlaError *err)
{
  PlaBytes png = { 0 };
  PlaStatus st = pla_picture_encode(image, &png, err);
  if (st == PLA_OK)
    st = pla_output_write(path, png.data, png.size, err);
  pla_bytes_clear(&png);
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

struct PlaStage {
  bool has_camera;
  PlaCamera camera;
  const PlaRenderer *render;
  PlaScene *scene;
  int n_shapes;
  PlaSceneStyle *style; /* of shape 1 + i (n_shapes) */
  /* the colour bar, where values are shown */
  bool has_legend;
  PlaLegend legend;
};

PlaStatus
pla_stage_new(PlaStage **out, PlaError *err)
{
  PlaStage *self = g_new0(PlaStage, 1);
  PlaStatus st = pla_render_load(&self->render, err);
  if (st == PLA_OK)
    st = self->render->scene_new(true, &self->scene, err);
  if (st != PLA_OK)
    g_clear_pointer(&self, pla_stage_free);
  *out = self;
  return st;
}

void
pla_stage_free(PlaStage *self)
{
  if (!self)
    return;
  if (self->scene)
    self->render->scene_free(self->scene);
  g_free(self->style);
  g_free(self);
}

static int
add_style(PlaStage *self, const PlaSceneStyle *style)
{
  self->style = g_renew(PlaSceneStyle, self->style, self->n_shapes + 1);
  self->style[self->n_shapes++] = *style;
  self->render->set_style(self->scene, self->n_shapes, style);
  return self->n_shapes;
}

static void
set_opacity(PlaSceneStyle *style, double opacity)
{
  style->visible = opacity > 0.0;
  style->opacity = opacity;
  style->rim = opacity < 1.0 ? 0.75 : 0.0;
  style->hide_back = opacity < 1.0;
}

PlaSceneMesh
pla_scene_mesh(const PlaMesh *mesh)
{
  return (PlaSceneMesh){ .n_verts = mesh->n_verts,
                         .n_tris = mesh->n_tris,
                         .n_tets = mesh->n_tets,
                         .n_hexes = mesh->n_hexes,
                         .pos = mesh->pos,
                         .to_mm = pla_unit_convert(1.0, PLA_UNIT_M, PLA_UNIT_MM),
                         .tri = mesh->tri,
                         .tet = mesh->tet,
                         .hex = mesh->hex,
                         .carries = pla_mesh_carries_surface(mesh) };
}

static PlaStatus
add_shape(PlaStage *self, const PlaMesh *mesh, const float *open, const PlaSurfaceLook *look,
          int *shape, PlaError *err)
{
  PlaSceneMesh drawn = pla_scene_mesh(mesh);
  drawn.open = open;
  PlaStatus st = self->render->put_mesh(self->scene, self->n_shapes + 1, &drawn, err);
  if (st != PLA_OK)
    return st;
  PlaSceneStyle style = pla_scene_style_default();
  memcpy(style.rgb, look->rgb, sizeof style.rgb);
  style.finish = look->finish;
  set_opacity(&style, look->opacity);
  style.edges = style.flat = mesh->n_tets + mesh->n_hexes > 0 && !drawn.carries;
  int number = add_style(self, &style);
  if (shape)
    *shape = number;
  return PLA_OK;
}

PlaStatus
pla_stage_add_labels(PlaStage *self, const PlaLabelMap *map, const PlaSurfaceLook *look,
                     PlaProgress *progress, int *shape, PlaError *err)
{
  PlaMesh *mesh = NULL;
  float *open = NULL;
  PlaStatus st = pla_label_surface_make(map, look->ids, look->n_ids, &mesh, &open, progress, err);
  if (st == PLA_OK)
    st = add_shape(self, mesh, open, look, shape, err);
  pla_mesh_free(mesh);
  free(open);
  return st;
}

PlaStatus
pla_stage_add_mesh(PlaStage *self, const PlaMesh *mesh, const PlaSurfaceLook *look, int *shape,
                   PlaError *err)
{
  return add_shape(self, mesh, NULL, look, shape, err);
}

PlaStatus
pla_stage_show_field(PlaStage *self, int shape, const PlaMesh *mesh, const PlaFieldView *view,
                     PlaError *err)
{
  size_t n;
  double lo, hi;
  double *value = pla_field_view_values(view, mesh, &n);
  if (!value)
    return pla_fail_memory(err, "the colours of a mesh");
  pla_field_view_range(view, value, n, &lo, &hi);
  pla_legend_init(&self->legend, view->quantity, lo, hi);
  self->has_legend = !view->tissue;
  const PlaSceneColours colours = { .n = n,
                                    .value = value,
                                    .on_cells = view->place == PLA_ON_CELLS,
                                    .lo = lo,
                                    .hi = hi,
                                    .map_rgb = self->legend.rgb };
  if (!view->tissue)
    self->style[shape - 1].finish = PLA_FINISH_MATT;
  self->render->set_style(self->scene, shape, &self->style[shape - 1]);
  self->render->set_colours(self->scene, shape, &colours);
  free(value);
  return PLA_OK;
}

const PlaLegend *
pla_stage_get_legend(const PlaStage *self)
{
  return self->has_legend ? &self->legend : NULL;
}

void
pla_stage_set_camera(PlaStage *self, const PlaCamera *camera)
{
  self->has_camera = camera != NULL;
  if (camera)
    self->camera = *camera;
}

PlaStatus
pla_stage_add_path(PlaStage *self, const double *point_mm, int n, const double rgb[3],
                   PlaError *err)
{
  PlaSceneStyle style = pla_scene_style_default();
  memcpy(style.rgb, rgb, sizeof style.rgb);
  style.radius_mm = 1.6;
  PlaSceneMarkers markers = { .n_points = n, .pos = point_mm, .to_mm = 1.0 };
  PlaStatus st = self->render->put_markers(self->scene, self->n_shapes + 1, &markers, err);
  if (st != PLA_OK)
    return st;
  add_style(self, &style);
  if (n < 2)
    return PLA_OK;
  g_autofree int *order = g_new(int, n);
  for (int i = 0; i < n; i++)
    order[i] = i;
  PlaSceneLines lines = { .n_points = n,
                          .n_lines = 1,
                          .pos = point_mm,
                          .to_mm = 1.0,
                          .start = (int[2]){ 0, n },
                          .point = order };
  return pla_stage_add_lines(self, &lines, 0.6, rgb, err);
}

PlaStatus
pla_stage_add_lines(PlaStage *self, const PlaSceneLines *lines, double radius_mm,
                    const double rgb[3], PlaError *err)
{
  PlaSceneStyle style = pla_scene_style_default();
  memcpy(style.rgb, rgb, sizeof style.rgb);
  style.radius_mm = radius_mm;
  PlaStatus st = self->render->put_lines(self->scene, self->n_shapes + 1, lines, err);
  if (st == PLA_OK)
    add_style(self, &style);
  return st;
}

void
pla_stage_set_opacity(PlaStage *self, int shape, double opacity)
{
  set_opacity(&self->style[shape - 1], opacity);
  self->render->set_style(self->scene, shape, &self->style[shape - 1]);
}

PlaStatus
pla_stage_draw(PlaStage *self, const PlaPictureOptions *opts, cairo_surface_t **out, PlaError *err)
{
  const PlaRenderer *render = self->render;
  double lo[3], hi[3];
  *out = NULL;
  if (!render->bounds(self->scene, lo, hi))
    return pla_fail(err, PLA_ERR_EMPTY, "There is nothing to draw");
  const PlaCamera camera =
      self->has_camera ? self->camera
                       : pla_camera_fit(opts->view, lo, hi, (double)opts->width / opts->height);
  const double grey = (opts->background[0] + opts->background[1] + opts->background[2]) / 3.0;
  double bottom[3];
  for (int d = 0; d < 3; d++)
    bottom[d] = (grey > 0.5 ? 0.88 : 0.55) * opts->background[d];
  render->set_camera(self->scene, &camera);
  render->set_background(self->scene, opts->background, bottom);

  const size_t n = (size_t)opts->width * opts->height;
  uint32_t *big = pla_array_new(4 * n, sizeof *big);
  cairo_surface_t *surface =
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, opts->width, opts->height);
  PlaStatus st = PLA_OK;
  if (!big || cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
    st = pla_fail_memory(err, "the picture");
  if (st == PLA_OK)
    st = render->draw_pixels(self->scene, 2 * opts->width, 2 * opts->height, PLA_QUALITY_FULL, big,
                             err);
  if (st == PLA_OK) {
    /* rows of a 32-bit cairo image have no padding */
    halve(big, opts->width, opts->height, (uint32_t *)cairo_image_surface_get_data(surface));
    cairo_surface_mark_dirty(surface);
    if (opts->annotate) {
      cairo_t *cr = cairo_create(surface);
      PlaOverlayInk ink = { .on_light = grey > 0.5,
                            .font_size = opts->font_px > 0.0 ? opts->font_px
                                                             : fmax(12.0, opts->height / 50.0) };
      pla_overlay_scale_bar(cr, &ink, opts->width, opts->height,
                            pla_camera_height_mm(&camera) / opts->height);
      double r = 2.6 * ink.font_size;
      pla_overlay_axes(cr, &ink, opts->width - 1.7 * r, opts->height - 1.7 * r, r, &camera);
      if (self->has_legend)
        pla_overlay_colour_bar(cr, &ink, opts->width, opts->height, &self->legend, NULL);
      cairo_destroy(cr);
    }
  }
  free(big);
  if (st == PLA_OK)
    *out = surface;
  else
    cairo_surface_destroy(surface);
  return st;
}

PlaStatus
pla_render_label_surface_png(const PlaLabelMap *map, const PlaSurfaceLook *looks, int n_looks,
                             const PlaPictureOptions *opts, const char *path, PlaError *err)
{
  PlaStage *stage = NULL;
  cairo_surface_t *image = NULL;
  PlaStatus st = pla_stage_new(&stage, err);
  for (int i = 0; st == PLA_OK && i < n_looks; i++) {
    if (!pla_progress_phase(opts->progress, "Making surfaces", 0.9 * (i + 1) / n_looks))
      st = pla_fail_cancelled(err);
    PlaProgressSpan span = pla_progress_push(opts->progress);
    if (st == PLA_OK)
      st = pla_stage_add_labels(stage, map, &looks[i], opts->progress, NULL, err);
    pla_progress_pop(opts->progress, span);
  }
  if (st == PLA_OK && !pla_progress_phase(opts->progress, "Drawing", 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = pla_stage_draw(stage, opts, &image, err);
  if (st == PLA_OK)
    st = pla_picture_write_surface(path, image, err);
  if (image)
    cairo_surface_destroy(image);
  pla_stage_free(stage);
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
      if (isfinite(v)) /* as slices hold it */
        sample[used++] = (float)fmin(fmax(v, -1e37), 1e37);
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
  window[1] = hi > lo ? hi : lo + fmax(1.0, 1e-3 * fabs(lo));
}

PlaStatus
pla_draw_slice(const PlaVolume *vol, const PlaLabelMap *labels, const PlaSliceOptions *opts,
               cairo_surface_t **out, PlaError *err)
{
  *out = NULL;
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
      PlaOverlayInk ink = { .font_size = opts->font_px > 0.0 ? opts->font_px
                                                             : fmax(12.0, opts->height / 45.0) };
      pla_overlay_letters(cr, &ink, opts->width, opts->height, &plane);
      pla_overlay_scale_bar(cr, &ink, opts->width, opts->height, mm_per_pixel);
      static const char *const names[3] = { "Sagittal", "Coronal", "Axial" };
      /* no -0.0 */
      const double at_mm = round(10.0 * opts->centre_mm[opts->axis]) / 10.0 + 0.0;
      g_autofree char *at = pla_quantity_text(PLA_QUANTITY_POSITION, at_mm, PLA_UNIT_MM);
      g_autofree char *place = g_strdup_printf("%s  %s", names[opts->axis], at);
      pla_overlay_text(cr, &ink, ink.font_size, 1.2 * ink.font_size, 0.0, place);
      if (opts->axis != PLA_AXIS_SAGITTAL)
        pla_overlay_text(cr, &ink, opts->width - ink.font_size, 1.2 * ink.font_size, 1.0,
                         opts->radiological ? "radiological" : "neurological");
      cairo_destroy(cr);
    }
  }
  free(value);
  free(label);
  if (st == PLA_OK)
    *out = surface;
  else
    cairo_surface_destroy(surface);
  return st;
}

PlaStatus
pla_render_slice_png(const PlaVolume *vol, const PlaLabelMap *labels, const PlaSliceOptions *opts,
                     const char *path, PlaError *err)
{
  cairo_surface_t *image = NULL;
  PlaStatus st = pla_draw_slice(vol, labels, opts, &image, err);
  if (st == PLA_OK)
    st = pla_picture_write_surface(path, image, err);
  if (image)
    cairo_surface_destroy(image);
  return st;
}
