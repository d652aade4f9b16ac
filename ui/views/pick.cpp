/* What lies under a pixel: a ray over the faces on the CPU, exact and independent of what was last
 * drawn. */
#include "ui/views/scene.hpp"

#include <algorithm>
#include <cmath>

namespace view
{

Item *
find_item(PlaScene *scene, int id)
{
  auto found = scene->items.find(id);
  return found == scene->items.end() ? nullptr : found->second.get();
}

/* distance along the ray to a triangle in units of @dir, or infinity (Moeller and Trumbore) */
static double
ray_triangle(const double from[3], const double dir[3], const double *a, const double *b,
             const double *c)
{
  const double e[3] = { b[0] - a[0], b[1] - a[1], b[2] - a[2] },
               f[3] = { c[0] - a[0], c[1] - a[1], c[2] - a[2] },
               s[3] = { from[0] - a[0], from[1] - a[1], from[2] - a[2] };
  const double p[3] = { dir[1] * f[2] - dir[2] * f[1], dir[2] * f[0] - dir[0] * f[2],
                        dir[0] * f[1] - dir[1] * f[0] };
  const double det = e[0] * p[0] + e[1] * p[1] + e[2] * p[2];
  if (std::fabs(det) < 1e-300)
    return HUGE_VAL;
  const double u = (s[0] * p[0] + s[1] * p[1] + s[2] * p[2]) / det;
  if (u < 0.0 || u > 1.0)
    return HUGE_VAL;
  const double q[3] = { s[1] * e[2] - s[2] * e[1], s[2] * e[0] - s[0] * e[2],
                        s[0] * e[1] - s[1] * e[0] };
  const double v = (dir[0] * q[0] + dir[1] * q[1] + dir[2] * q[2]) / det;
  if (v < 0.0 || u + v > 1.0)
    return HUGE_VAL;
  return (f[0] * q[0] + f[1] * q[1] + f[2] * q[2]) / det;
}

/* whether a ray enters a box before @most; a little early, since flat boxes have rounded sides */
static bool
ray_meets(const double from[3], const double dir[3], const Box &box, double most)
{
  const double slack = 1e-6; /* mm */
  double near = 0.0, far = most;
  for (int d = 0; d < 3; d++) {
    if (dir[d] == 0.0) {
      if (from[d] < box.lo[d] - slack || from[d] > box.hi[d] + slack)
        return false;
      continue;
    }
    const double a = (box.lo[d] - slack - from[d]) / dir[d],
                 b = (box.hi[d] + slack - from[d]) / dir[d];
    near = std::max(near, std::min(a, b));
    far = std::min(far, std::max(a, b));
  }
  return near <= far;
}

/* nearest positive distance to a sphere, or infinity; @dir has unit length */
static double
ray_sphere(const double from[3], const double dir[3], const double *centre, double radius)
{
  double b = 0.0, c = -radius * radius;
  for (int d = 0; d < 3; d++) {
    b += dir[d] * (from[d] - centre[d]);
    c += (from[d] - centre[d]) * (from[d] - centre[d]);
  }
  const double disc = b * b - c;
  return disc < 0.0 ? HUGE_VAL : -b - std::sqrt(disc);
}

PlaScenePick
pick(PlaScene *scene, double x, double y, int width, int height)
{
  /* the ray through the middle of the pixel */
  const PlaCamera *camera = &scene->camera;
  double right[3], up[3], back[3], from[3], dir[3], len = 0.0;
  pla_camera_axes(camera, right, up, back);
  const double h = pla_camera_height_mm(camera);
  const double sx = (x + 0.5 - 0.5 * width) / height * h,
               sy = (0.5 * height - y - 0.5) / height * h;
  for (int d = 0; d < 3; d++) {
    const double at = camera->focus_mm[d] + sx * right[d] + sy * up[d];
    from[d] = camera->parallel ? at + 1e4 * back[d] : camera->eye_mm[d];
    dir[d] = at - from[d];
    len += dir[d] * dir[d];
  }
  for (double &d : dir)
    d /= std::sqrt(len);

  PlaScenePick best = {};
  best.vert = best.cell = -1;
  double nearest = HUGE_VAL;
  auto consider = [&](int id, const Item *item, double t, int cell, int vert) {
    if (!(t > 0.0 && t < nearest))
      return;
    double at[3];
    for (int d = 0; d < 3; d++)
      at[d] = from[d] + t * dir[d];
    if (scene->clipping && item->style.clipped && item->tet.empty() && item->hex.empty() &&
        scene->clip->EvaluateFunction(at) > 0.0)
      return;
    nearest = t;
    best.id = id;
    best.cell = cell;
    best.vert = vert;
    std::copy(at, at + 3, best.point_mm);
  };
  for (const auto &[id, item] : scene->items) {
    if (!item->style.visible || item->style.opacity <= 0.0 || item->style.untouchable)
      continue;
    const double *pos = item->pos.data();
    if (item->kind == Kind::markers)
      for (int v = 0; v < item->n_verts; v++)
        consider(id, item.get(), ray_sphere(from, dir, pos + 3 * (size_t)v, item->style.radius_mm),
                 -1, v);
    for (size_t b = 0; b < item->box.size(); b++) {
      if (!ray_meets(from, dir, item->box[b], nearest))
        continue;
      const size_t end = std::min((b + 1) * FACES_PER_BOX, item->face.size());
      for (size_t f = b * FACES_PER_BOX; f < end; f++) {
        const Face &face = item->face[f];
        for (int half = 0; half < (face.vert[3] < 0 ? 1 : 2); half++)
          consider(id, item.get(),
                   ray_triangle(from, dir, pos + 3 * (size_t)face.vert[0],
                                pos + 3 * (size_t)face.vert[1 + half],
                                pos + 3 * (size_t)face.vert[2 + half]),
                   face.cell, -1);
      }
    }
  }

  /* the corner nearest to the point hit */
  Item *hit = find_item(scene, best.id);
  if (hit && hit->kind == Kind::mesh) {
    double shortest = HUGE_VAL;
    for (const Face &face : hit->face) {
      if (face.cell != best.cell)
        continue;
      const double *p[3];
      for (int k = 0; k < 3; k++)
        p[k] = &hit->pos[3 * (size_t)face.vert[k]];
      double n[3], length = 0.0, facing = 0.0;
      for (int d = 0; d < 3; d++) {
        const int e = (d + 1) % 3, f = (d + 2) % 3;
        n[d] =
            (p[1][e] - p[0][e]) * (p[2][f] - p[0][f]) - (p[1][f] - p[0][f]) * (p[2][e] - p[0][e]);
        length += n[d] * n[d];
        facing += n[d] * dir[d];
      }
      for (int d = 0; d < 3 && length > 0.0; d++)
        best.normal[d] = (facing > 0.0 ? -n[d] : n[d]) / std::sqrt(length);
      for (int v : face.vert) {
        if (v < 0)
          continue;
        double d2 = 0.0;
        for (int d = 0; d < 3; d++)
          d2 += std::pow(hit->pos[3 * (size_t)v + d] - best.point_mm[d], 2.0);
        if (d2 < shortest) {
          shortest = d2;
          best.vert = v;
        }
      }
    }
  }
  return best;
}

} // namespace view
