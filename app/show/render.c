/* Loading of the drawing module, and cameras. */
#include "app/show/render.h"

#include "anatomy/base/module.h"

#include <math.h>
#include <string.h>

PlaStatus
pla_render_load(const PlaRenderer **out, PlaError *err)
{
  const void *table = NULL;
  PlaStatus st = pla_module_load("ui/views", "platysma-view", "pla_view_module", &table, err);
  *out = table;
  if (st == PLA_OK && (*out)->abi != PLA_RENDERER_ABI)
    st = pla_fail(err, PLA_ERR_UNSUPPORTED,
                  "The module platysma-view.so belongs to another version of Platysma; rebuild it");
  return st;
}

PlaSceneStyle
pla_scene_style_default(void)
{
  return (PlaSceneStyle){ .visible = true,
                          .rgb = { 0.80, 0.78, 0.74 },
                          .opacity = 1.0,
                          .clipped = true,
                          .radius_mm = 1.0,
                          .width_px = 1.5 };
}

static const struct {
  const char *name;
  double back[3], up[3]; /* from the focus to the eye */
} presets[PLA_N_VIEWS] = {
  [PLA_VIEW_ANTERIOR] = { "anterior", { 0, 1, 0 }, { 0, 0, 1 } },
  [PLA_VIEW_POSTERIOR] = { "posterior", { 0, -1, 0 }, { 0, 0, 1 } },
  [PLA_VIEW_LEFT] = { "left", { -1, 0, 0 }, { 0, 0, 1 } },
  [PLA_VIEW_RIGHT] = { "right", { 1, 0, 0 }, { 0, 0, 1 } },
  [PLA_VIEW_SUPERIOR] = { "superior", { 0, 0, 1 }, { 0, 1, 0 } },
  [PLA_VIEW_INFERIOR] = { "inferior", { 0, 0, -1 }, { 0, 1, 0 } },
  [PLA_VIEW_THREE_QUARTER] = { "three-quarter", { -0.62, 0.76, 0.18 }, { 0, 0, 1 } },
};

const char *
pla_view_preset_name(PlaViewPreset preset)
{
  return presets[preset].name;
}

bool
pla_view_preset_from_name(const char *name, PlaViewPreset *out)
{
  for (int p = 0; p < PLA_N_VIEWS; p++)
    if (strcmp(presets[p].name, name) == 0) {
      *out = (PlaViewPreset)p;
      return true;
    }
  return false;
}

static void
cross(const double a[3], const double b[3], double c[3])
{
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

static double
normalise(double a[3])
{
  double len = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
  for (int d = 0; d < 3 && len > 0.0; d++)
    a[d] /= len;
  return len;
}

static double
distance(const PlaCamera *camera)
{
  double back[3];
  for (int d = 0; d < 3; d++)
    back[d] = camera->eye_mm[d] - camera->focus_mm[d];
  return normalise(back);
}

void
pla_camera_axes(const PlaCamera *camera, double right[3], double up[3], double back[3])
{
  for (int d = 0; d < 3; d++)
    back[d] = camera->eye_mm[d] - camera->focus_mm[d];
  normalise(back);
  cross(camera->up, back, right);
  normalise(right);
  cross(back, right, up);
}

double
pla_camera_height_mm(const PlaCamera *camera)
{
  return camera->parallel ? camera->height_mm
                          : 2.0 * distance(camera) * tan(camera->angle_deg * M_PI / 360.0);
}

bool
pla_camera_project(const PlaCamera *camera, double width, double height, const double point_mm[3],
                   double *x, double *y)
{
  double right[3], up[3], back[3], across = 0.0, upward = 0.0, toward = 0.0;
  pla_camera_axes(camera, right, up, back);
  for (int d = 0; d < 3; d++) {
    const double from_focus = point_mm[d] - camera->focus_mm[d];
    across += from_focus * right[d];
    upward += from_focus * up[d];
    toward += from_focus * back[d];
  }
  /* pixels a mm where the point is: as in the focal plane, or by its distance from the eye */
  const double far = distance(camera);
  const double near = far - toward;
  if (!camera->parallel && near <= 1e-6 * far)
    return false;
  const double scale =
      height / pla_camera_height_mm(camera) * (camera->parallel ? 1.0 : far / near);
  *x = 0.5 * width + scale * across;
  *y = 0.5 * height - scale * upward;
  return true;
}

PlaCamera
pla_camera_fit(PlaViewPreset preset, const double lo_mm[3], const double hi_mm[3], double aspect)
{
  PlaCamera camera = { .angle_deg = 24.0 }; /* long lens: little distortion of a face */
  double back[3];
  memcpy(back, presets[preset].back, sizeof back);
  memcpy(camera.up, presets[preset].up, sizeof camera.up);
  normalise(back);
  for (int d = 0; d < 3; d++) {
    camera.focus_mm[d] = 0.5 * (lo_mm[d] + hi_mm[d]);
    camera.eye_mm[d] = camera.focus_mm[d] + back[d];
  }

  /* far enough that the eight corners of the box are inside, with a margin */
  double right[3], up[3];
  pla_camera_axes(&camera, right, up, back);
  const double half = tan(camera.angle_deg * M_PI / 360.0) / 1.06;
  double away = 1.0; /* mm */
  for (int corner = 0; corner < 8; corner++) {
    double x = 0.0, y = 0.0, z = 0.0;
    for (int d = 0; d < 3; d++) {
      double p = ((corner >> d & 1) ? hi_mm[d] : lo_mm[d]) - camera.focus_mm[d];
      x += p * right[d];
      y += p * up[d];
      z += p * back[d];
    }
    away = fmax(away, z + fmax(fabs(y), fabs(x) / aspect) / half);
  }
  /* the box's corners are mostly empty */
  for (int d = 0; d < 3; d++)
    camera.eye_mm[d] = camera.focus_mm[d] + 0.94 * away * back[d];
  memcpy(camera.up, up, sizeof up);
  return camera;
}

/* v turned about the unit axis by an angle in radians */
static void
rotate(const double axis[3], double angle, double v[3])
{
  double c = cos(angle), s = sin(angle), w[3];
  double along = (axis[0] * v[0] + axis[1] * v[1] + axis[2] * v[2]) * (1.0 - c);
  cross(axis, v, w);
  for (int d = 0; d < 3; d++)
    v[d] = c * v[d] + s * w[d] + along * axis[d];
}

void
pla_camera_orbit(PlaCamera *camera, double right_deg, double up_deg)
{
  double right[3], up[3], back[3], arm[3];
  pla_camera_axes(camera, right, up, back);
  for (int d = 0; d < 3; d++)
    arm[d] = camera->eye_mm[d] - camera->focus_mm[d];
  rotate(up, -right_deg * M_PI / 180.0, arm);
  rotate(right, up_deg * M_PI / 180.0, arm);
  rotate(right, up_deg * M_PI / 180.0, up);
  for (int d = 0; d < 3; d++)
    camera->eye_mm[d] = camera->focus_mm[d] + arm[d];
  memcpy(camera->up, up, sizeof up);
}

void
pla_camera_pan(PlaCamera *camera, double right_share, double up_share)
{
  double right[3], up[3], back[3];
  pla_camera_axes(camera, right, up, back);
  double h = pla_camera_height_mm(camera);
  for (int d = 0; d < 3; d++) {
    double shift = -h * (right_share * right[d] + up_share * up[d]);
    camera->eye_mm[d] += shift;
    camera->focus_mm[d] += shift;
  }
}

void
pla_camera_zoom(PlaCamera *camera, double factor)
{
  if (camera->parallel) {
    camera->height_mm /= factor;
    return;
  }
  for (int d = 0; d < 3; d++)
    camera->eye_mm[d] = camera->focus_mm[d] + (camera->eye_mm[d] - camera->focus_mm[d]) / factor;
}
