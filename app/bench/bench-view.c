/* What the hand waits for in the views: pictures of the head while it is turned, against pictures
 * in full quality; and slices made ready to be shown.  Off the screen: `platysma --bench` measures
 * the same in the window, with what the toolkit adds. */
#include "anatomy/base/memory.h"
#include "anatomy/phantom/phantom.h"
#include "anatomy/volume/slice.h"
#include "app/bench/bench-private.h"
#include "app/show/picture.h"
#include "app/show/render.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 1000, HEIGHT = 800, SKIN_ID = 1, BONE_ID = 2 };

typedef struct {
  const PlaRenderer *render;
  PlaScene *scene;
  PlaCamera camera;
  PlaQuality quality;
  uint32_t *pixel;
} Orbit;

static PlaStatus
add_surface(Orbit *o, int id, const PlaLabelMap *map, PlaFinish finish, PlaProgress *progress,
            double *triangles, PlaError *err)
{
  int *ids = pla_array_new((size_t)map->table.n, sizeof *ids), n = 0;
  if (!ids)
    return pla_fail_memory(err, "the surfaces");
  /* skin is the outline of everything */
  for (int i = 0; i < map->table.n; i++)
    if (finish == PLA_FINISH_SKIN || pla_surface_look_for(&map->table.label[i]).finish == finish)
      ids[n++] = map->table.label[i].id;
  PlaMesh *mesh = NULL;
  float *open = NULL;
  PlaStatus st = pla_label_surface_make(map, ids, n, &mesh, &open, progress, err);
  if (st == PLA_OK) {
    const PlaSceneMesh shape = { .n_verts = mesh->n_verts,
                                 .n_tris = mesh->n_tris,
                                 .pos = mesh->pos,
                                 .to_mm = 1000.0,
                                 .tri = mesh->tri,
                                 .open = open };
    st = o->render->put_mesh(o->scene, id, &shape, err);
    *triangles += mesh->n_tris;
  }
  if (st == PLA_OK) {
    PlaSceneStyle style = pla_scene_style_default();
    style.finish = finish;
    if (finish == PLA_FINISH_SKIN) {
      style.opacity = 0.35;
      style.rim = 0.7;
      style.hide_back = true;
    }
    o->render->set_style(o->scene, id, &style);
  }
  pla_mesh_free(mesh);
  free(open);
  free(ids);
  return st;
}

static PlaStatus
turn(void *data, PlaError *err)
{
  Orbit *o = data;
  pla_camera_orbit(&o->camera, 4.0, 0.5);
  o->render->set_camera(o->scene, &o->camera);
  return o->render->draw_pixels(o->scene, WIDTH, HEIGHT, o->quality, o->pixel, err);
}

static PlaStatus
run_orbit(PlaBench *bench, PlaError *err)
{
  const double spacing_mm = pla_bench_size(bench, 1.9);
  const int repeats = pla_bench_repeats(bench, 40);
  Orbit o = { 0 };
  PlaPhantom head = { 0 };
  double triangles = 0.0, moving = 0.0, full = 0.0;
  PlaStatus st = pla_render_load(&o.render, err);
  if (st == PLA_OK)
    st = o.render->scene_new(true, &o.scene, err);
  if (st == PLA_OK)
    st = pla_phantom_make("head", spacing_mm, pla_bench_progress(bench), &head, err);
  if (st == PLA_OK)
    st = add_surface(&o, BONE_ID, head.labels, PLA_FINISH_BONE, pla_bench_progress(bench),
                     &triangles, err);
  if (st == PLA_OK)
    st = add_surface(&o, SKIN_ID, head.labels, PLA_FINISH_SKIN, pla_bench_progress(bench),
                     &triangles, err);
  o.pixel = pla_array_new((size_t)WIDTH * HEIGHT, sizeof *o.pixel);
  if (st == PLA_OK && !o.pixel)
    st = pla_fail_memory(err, "the picture");
  if (st == PLA_OK) {
    double lo[3], hi[3];
    o.render->bounds(o.scene, lo, hi);
    o.camera = pla_camera_fit(PLA_VIEW_THREE_QUARTER, lo, hi, (double)WIDTH / HEIGHT);
    /* what the driver compiles is not what is measured */
    for (o.quality = PLA_QUALITY_MOVING; o.quality <= PLA_QUALITY_FULL && st == PLA_OK; o.quality++)
      st = turn(&o, err);
  }
  o.quality = PLA_QUALITY_MOVING;
  if (st == PLA_OK)
    st = pla_bench_time(bench, turn, &o, repeats, &moving, err);
  o.quality = PLA_QUALITY_FULL;
  if (st == PLA_OK)
    st = pla_bench_time(bench, turn, &o, 3, &full, err);
  if (st == PLA_OK) {
    pla_bench_begin_run(bench, "skin and skull", triangles, repeats, moving);
    pla_bench_ratio(bench, "full_over_moving", full / moving);
    pla_bench_number(bench, "frames_per_s", 1.0 / moving);
    pla_bench_number(bench, "full_s", full);
    pla_bench_end_run(bench);
  }
  pla_phantom_clear(&head);
  if (o.render && o.scene)
    o.render->scene_free(o.scene);
  free(o.pixel);
  return st;
}

const PlaBenchmark pla_benchmark_orbit = {
  .name = "orbit",
  .summary =
      "pictures of skin and skull while they turn, 1000 x 800 (--size: voxels of the head in "
      "mm)",
  .run = run_orbit,
};
