/* Hands lines, triangles and coloured tubes of a sketch to the renderer under fixed scene ids. */
#include "ui/views/scene-sketch.h"

#include <string.h>

enum { PATH, BLADE, THREADS, KNOTS, IMPLANTS };

/* lines through points one after the other: line l from start[l] to before start[l + 1] */
static void
put_lines(const PlaRenderer *render, PlaScene *scene, int id, const double *pos, int n_lines,
          const int *start, const double rgb[3], double radius_mm)
{
  render->remove(scene, id);
  if (n_lines < 1)
    return;
  const int n = start[n_lines];
  g_autofree int *point = g_new(int, (gsize)n + 1);
  for (int i = 0; i < n; i++)
    point[i] = i;
  const PlaSceneLines lines = {
    .n_points = n, .n_lines = n_lines, .pos = pos, .to_mm = 1.0, .start = start, .point = point
  };
  PlaError err;
  PlaSceneStyle style = pla_scene_style_default();
  memcpy(style.rgb, rgb, sizeof style.rgb);
  style.radius_mm = radius_mm;
  style.untouchable = true;
  if (render->put_lines(scene, id, &lines, &err) == PLA_OK)
    render->set_style(scene, id, &style);
}

/* flesh at rest, glowing at work */
static void
strand_rgb(double level, double rgb[3])
{
  static const double rest[3] = { 0.50, 0.20, 0.20 }, busy[3] = { 1.00, 0.80, 0.15 };
  for (int d = 0; d < 3; d++)
    rgb[d] = rest[d] + level * (busy[d] - rest[d]);
}

void
pla_scene_put_strands(const PlaRenderer *render, PlaScene *scene, int first_id, PlaTools *tools)
{
  const PlaStrands *strands = pla_tools_get_strands(tools);
  g_autofree double *pos = g_new(double, 3 * (gsize)strands->n_points + 1);
  g_autofree int *start = g_new(int, (gsize)strands->n_lines + 2);
  for (int level = 0; level < PLA_STRAND_LEVELS; level++) {
    double rgb[3];
    int n = 0;
    start[0] = 0;
    for (int l = 0; l < strands->n_lines; l++) {
      const int first = strands->start[l], n_points = strands->start[l + 1] - first;
      const int at = (int)(CLAMP(strands->level[l], 0.0, 1.0) * (PLA_STRAND_LEVELS - 1) + 0.5);
      if (at != level || n_points < 2)
        continue;
      memcpy(pos + 3 * start[n], strands->pos + 3 * first, 3 * (gsize)n_points * sizeof *pos);
      start[n + 1] = start[n] + n_points;
      n++;
    }
    strand_rgb((double)level / (PLA_STRAND_LEVELS - 1), rgb);
    put_lines(render, scene, first_id + level, pos, n, start, rgb, strands->radius_mm);
  }
}

/* the triangles of a sketch */
static void
put_blade(const PlaRenderer *render, PlaScene *scene, int id, const PlaSketch *sketch,
          const double rgb[3], double opacity)
{
  render->remove(scene, id);
  if (sketch->n_tris < 1)
    return;
  const PlaSceneMesh blade = { .n_verts = sketch->n_verts,
                               .n_tris = sketch->n_tris,
                               .pos = sketch->blade,
                               .to_mm = 1.0,
                               .tri = sketch->tri };
  PlaError err;
  PlaSceneStyle style = pla_scene_style_default();
  memcpy(style.rgb, rgb, sizeof style.rgb);
  style.opacity = opacity;
  style.finish = PLA_FINISH_MATT;
  style.untouchable = true;
  style.in_front = opacity < 1.0 && !sketch->through;
  if (render->put_mesh(scene, id, &blade, &err) == PLA_OK)
    render->set_style(scene, id, &style);
}

void
pla_scene_put_sketch(const PlaRenderer *render, PlaScene *scene, int first_id, PlaTools *tools)
{
  static const double gentian[3] = { 0.30, 0.16, 0.62 }, steel[3] = { 0.45, 0.72, 0.95 },
                      silk[3] = { 0.10, 0.12, 0.35 }, silicone[3] = { 0.80, 0.86, 0.88 };
  const PlaSketch *sketch = pla_tools_get_sketch(tools);
  const PlaSeams *seams = pla_tools_get_seams(tools);
  g_autofree int *pairs = g_new(int, (gsize)seams->n_threads + 1);
  for (int l = 0; l <= seams->n_threads; l++)
    pairs[l] = 2 * l;
  put_lines(render, scene, first_id + PATH, sketch->path, sketch->n_lines, sketch->start, gentian,
            0.45);
  put_lines(render, scene, first_id + THREADS, seams->thread, seams->n_threads, pairs, silk, 0.35);
  render->remove(scene, first_id + KNOTS);
  if (seams->n_knots > 0) {
    const PlaSceneMarkers knots = { .n_points = seams->n_knots, .pos = seams->knot, .to_mm = 1.0 };
    PlaError err;
    PlaSceneStyle style = pla_scene_style_default();
    memcpy(style.rgb, silk, sizeof style.rgb);
    style.radius_mm = 0.8;
    style.untouchable = true;
    if (render->put_markers(scene, first_id + KNOTS, &knots, &err) == PLA_OK)
      render->set_style(scene, first_id + KNOTS, &style);
  }
  put_blade(render, scene, first_id + BLADE, sketch, steel, sketch->through ? 0.45 : 0.3);
  PlaSketch balls = { 0 };
  for (int i = 0; i < seams->n_implants; i++)
    pla_sketch_add_ball(&balls, &seams->implant[4 * i], seams->implant[4 * i + 3]);
  put_blade(render, scene, first_id + IMPLANTS, &balls, silicone, 1.0);
  pla_sketch_clear(&balls);
}
