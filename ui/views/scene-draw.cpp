/* Pictures of a scene: fast ones while something moves, full ones at once or band by band, and
 * pixels without a display. */
#include "ui/views/scene.hpp"

#include "anatomy/base/guarded.hpp"

#include <vtkCamera.h>
#include <vtkPropCollection.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace view
{

void
canvas_clear(Canvas *canvas)
{
  if (canvas->width)
    pla_target_clear(&canvas->target);
  *canvas = {};
}

static PlaStatus
canvas_resize(Canvas *canvas, int width, int height, PlaError *err)
{
  if (canvas->width == width && canvas->height == height)
    return PLA_OK;
  canvas_clear(canvas);
  PlaStatus st = pla_target_init(&canvas->target, width, height, err);
  if (st == PLA_OK) {
    pla_target_leave(&canvas->target);
    canvas->width = width;
    canvas->height = height;
  }
  return st;
}

namespace
{

/* what is seen through others comes after them */
void
order_for_blending(PlaScene *scene)
{
  vtkPropCollection *props = scene->renderer->GetViewProps();
  for (const auto &[id, item] : scene->items)
    if (item->kind == Kind::mesh && item->style.opacity < 1.0) {
      props->RemoveItem(item->actor);
      props->AddItem(item->actor);
    }
}

/* Draws the rows from @first (0 is the lowest) of a picture of @height into the framebuffer that is
 * bound, which is @rows high: a part of a picture is a picture through a part of its window. */
void
draw_rows(PlaScene *scene, int width, int height, int first, int rows, PlaQuality quality)
{
  const bool full = quality == PLA_QUALITY_FULL;
  bool translucent = false;
  if (!full)
    order_for_blending(scene);
  for (const auto &[id, item] : scene->items) {
    translucent = translucent || (item->style.visible && item->style.opacity < 1.0);
    shade_for(item.get(), quality);
    if (item->kind == Kind::mesh) {
      /* while moving, translucent shells are blended over what was drawn before them: VTK's own
       * way without peeling draws into several float pictures and costs more than all the rest */
      if (full)
        item->actor->ForceOpaqueOff();
      else
        item->actor->ForceOpaqueOn();
    }
    if (item->fine_mapper)
      item->actor->SetMapper(!full && !item->coarse_face.empty() ? item->coarse_mapper
                                                                 : item->fine_mapper);
  }
  scene->renderer->SetUseDepthPeeling(full && translucent);
  scene->window->SetAlphaBitPlanes(1);
  scene->window->SetMultiSamples(full && !translucent ? 4 : 0);
  scene->renderer->SetUseFXAA(full && translucent);
  scene->window->SetSize(width, rows);

  vtkCamera *camera = scene->renderer->GetActiveCamera();
  const double share = (double)rows / height;
  if (scene->camera.parallel)
    camera->SetParallelScale(0.5 * scene->camera.height_mm * share);
  else
    camera->SetViewAngle(
        2.0 / (M_PI / 180.0) *
        std::atan(share * std::tan(0.5 * (M_PI / 180.0) * scene->camera.angle_deg)));
  camera->SetWindowCenter(0.0, (2.0 * first + rows - height) / rows);
  double low[3], high[3];
  for (int d = 0; d < 3; d++) {
    const double a = (double)first / height, b = (double)(first + rows) / height;
    low[d] = scene->bottom[d] + a * (scene->top[d] - scene->bottom[d]);
    high[d] = scene->bottom[d] + b * (scene->top[d] - scene->bottom[d]);
  }
  scene->renderer->SetBackground(low);
  scene->renderer->SetBackground2(high);
  scene->renderer->ResetCameraClippingRange();
  scene->drawn = true;
  scene->window->Render();
}

/* Pictures that take too long are drawn smaller and stretched: a software driver works pixel by
 * pixel.  How much smaller is learnt from the pictures before. */
PlaStatus
draw_moving(PlaScene *scene, int width, int height, PlaError *err)
{
  using clock = std::chrono::steady_clock;
  const double too_long = 0.035, short_enough = 0.006; /* s */
  const int coarsest = 3;
  const bool smaller = scene->reduction > 1;
  const int w = std::max(width / scene->reduction, 1), h = std::max(height / scene->reduction, 1);
  PlaTarget *target = &scene->small.target;
  if (smaller) {
    PlaStatus st = canvas_resize(&scene->small, w, h, err);
    if (st != PLA_OK)
      return st;
    pla_target_enter(target);
  }
  const clock::time_point begun = clock::now();
  PlaStatus st = pla_guarded("the picture", err, [&] {
    draw_rows(scene, w, h, 0, h, PLA_QUALITY_MOVING);
    return PLA_OK;
  });
  if (smaller) {
    pla_target_stretch(target, w, h, (unsigned)target->previous, width, height);
    pla_target_leave(target);
  }
  const double took = std::chrono::duration<double>(clock::now() - begun).count();
  if (took > too_long && scene->reduction < coarsest)
    scene->reduction++;
  else if (took < short_enough && scene->reduction > 1)
    scene->reduction--;
  return st;
}

} // namespace

PlaStatus
draw(PlaScene *scene, int width, int height, PlaQuality quality, PlaError *err)
{
  if (quality == PLA_QUALITY_MOVING)
    return draw_moving(scene, width, height, err);
  return pla_guarded("the picture", err, [&] {
    draw_rows(scene, width, height, 0, height, quality);
    return PLA_OK;
  });
}

PlaStatus
draw_band(PlaScene *scene, int width, int height, int band, int n_bands, PlaError *err)
{
  PlaStatus st = canvas_resize(&scene->canvas, width, height, err);
  if (st != PLA_OK)
    return st;
  const int first = (int)((int64_t)height * band / n_bands),
            rows = (int)((int64_t)height * (band + 1) / n_bands) - first;
  if (rows < 1)
    return PLA_OK;
  PlaTarget target;
  st = pla_target_init(&target, width, rows, err);
  if (st != PLA_OK)
    return st;
  st = pla_guarded("the picture", err, [&] {
    draw_rows(scene, width, height, first, rows, PLA_QUALITY_FULL);
    return PLA_OK;
  });
  if (st == PLA_OK)
    pla_target_copy(&target, width, rows, scene->canvas.target.framebuffer, first);
  pla_target_clear(&target);
  return st;
}

bool
show_bands(PlaScene *scene, int width, int height)
{
  if (scene->canvas.width != width || scene->canvas.height != height)
    return false;
  pla_target_show(&scene->canvas.target, width, height);
  return true;
}

namespace
{

PlaStatus
draw_in_context(PlaScene *scene, int width, int height, PlaQuality quality, uint32_t *pixel,
                PlaError *err)
{
  PlaTarget target;
  PlaStatus st = pla_target_init(&target, width, height, err);
  if (st != PLA_OK)
    return st;
  st = draw(scene, width, height, quality, err);
  if (st == PLA_OK) {
    pla_target_read(&target, width, height, pixel);
    /* the top row first */
    for (int y = 0; y < height / 2; y++)
      std::swap_ranges(pixel + (size_t)y * width, pixel + (size_t)(y + 1) * width,
                       pixel + (size_t)(height - 1 - y) * width);
  }
  pla_target_clear(&target);
  return st;
}

} // namespace

PlaStatus
draw_pixels(PlaScene *scene, int width, int height, PlaQuality quality, uint32_t *pixel,
            PlaError *err)
{
  if (!scene->offscreen)
    return draw_in_context(scene, width, height, quality, pixel, err);
  PlaStatus st = pla_offscreen_begin(scene->offscreen, err);
  if (st == PLA_OK) {
    st = draw_in_context(scene, width, height, quality, pixel, err);
    pla_offscreen_end(scene->offscreen);
  }
  return st;
}

} // namespace view
