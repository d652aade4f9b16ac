/* Pictures without a display: where things are drawn, picked and written. */
#include "app/base/colour-map.h"
#include "app/show/picture.h"
#include "app/show/render.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static const PlaRenderer *render;

/* a ball of triangles with its middle at @c, in metres */
static PlaMesh *
ball(const double c_mm[3], double radius_mm)
{
  enum { LAT = 48, LON = 96 };
  PlaMesh *mesh = NULL;
  g_assert_cmpint(pla_mesh_new(LON * (LAT - 1) + 2, 2 * LON * (LAT - 1), 0, 0, &mesh, NULL), ==,
                  PLA_OK);
  for (int a = 1; a < LAT; a++)
    for (int o = 0; o < LON; o++) {
      double *p = mesh->pos + 3 * (LON * (a - 1) + o);
      double th = G_PI * a / LAT, ph = 2.0 * G_PI * o / LON;
      p[0] = (c_mm[0] + radius_mm * sin(th) * cos(ph)) / 1000.0;
      p[1] = (c_mm[1] + radius_mm * sin(th) * sin(ph)) / 1000.0;
      p[2] = (c_mm[2] + radius_mm * cos(th)) / 1000.0;
    }
  const int north = LON * (LAT - 1), south = north + 1;
  for (int s = 0; s < 2; s++)
    for (int d = 0; d < 3; d++)
      mesh->pos[3 * (north + s) + d] =
          (c_mm[d] + (d == 2 ? (s ? -radius_mm : radius_mm) : 0.0)) / 1000.0;
  int *t = mesh->tri;
  for (int o = 0; o < LON; o++) {
    int n = (o + 1) % LON, last = LON * (LAT - 2);
    memcpy(t, (int[6]){ north, o, n, south, last + n, last + o }, 6 * sizeof *t);
    t += 6;
    for (int a = 0; a + 1 < LAT - 1; a++) {
      int p = LON * a;
      memcpy(t, (int[6]){ p + o, p + LON + o, p + n, p + n, p + LON + o, p + LON + n },
             6 * sizeof *t);
      t += 6;
    }
  }
  return mesh;
}

static PlaScene *
scene_with_ball(const double c_mm[3], double radius_mm)
{
  PlaScene *scene = NULL;
  PlaError err;
  PlaMesh *mesh = ball(c_mm, radius_mm);
  PlaSceneMesh shape = { .n_verts = mesh->n_verts,
                         .n_tris = mesh->n_tris,
                         .pos = mesh->pos,
                         .to_mm = 1000.0,
                         .tri = mesh->tri };
  if (render->scene_new(true, &scene, &err) != PLA_OK)
    g_error("%s", err.message);
  g_assert_cmpint(render->put_mesh(scene, 7, &shape, &err), ==, PLA_OK);
  pla_mesh_free(mesh);
  return scene;
}

/* The silhouette of a ball under parallel projection is a disc of its radius, seen from each side
 * where the camera says it is; and picking agrees with the sphere. */
static void
test_silhouette_and_pick(void)
{
  const double c[3] = { 30.0, -20.0, 55.0 }, radius = 25.0;
  enum { W = 320, H = 240 };
  PlaScene *scene = scene_with_ball(c, radius);
  const double black[3] = { 0, 0, 0 };
  render->set_background(scene, black, black);
  static uint32_t pixel[W * H];
  for (int view = 0; view < PLA_N_VIEWS; view++) {
    PlaCamera camera = pla_camera_fit((PlaViewPreset)view, (double[3]){ -60, -60, -60 },
                                      (double[3]){ 90, 90, 90 }, (double)W / H);
    camera.parallel = true;
    camera.height_mm = 300.0;
    render->set_camera(scene, &camera);
    g_assert_cmpint(render->draw_pixels(scene, W, H, PLA_QUALITY_FULL, pixel, NULL), ==, PLA_OK);
    double right[3], up[3], back[3], x = 0.0, y = 0.0;
    pla_camera_axes(&camera, right, up, back);
    for (int d = 0; d < 3; d++) {
      x += (c[d] - camera.focus_mm[d]) * right[d];
      y += (c[d] - camera.focus_mm[d]) * up[d];
    }
    double px = 0.5 * W + x * H / 300.0, py = 0.5 * H - y * H / 300.0, r = radius * H / 300.0;
    int lit = 0;
    for (int j = 0; j < H; j++)
      for (int i = 0; i < W; i++) {
        bool drawn = (pixel[j * W + i] & 0xffffff) != 0;
        double dist = hypot(i + 0.5 - px, j + 0.5 - py);
        lit += drawn;
        if (dist < r - 1.0)
          g_assert_true(drawn);
        if (dist > r + 1.0)
          g_assert_false(drawn);
      }
    g_assert_cmpint(lit, >, 1000);

    /* the nearest point of the sphere to the viewer, within the facets' sagitta */
    PlaScenePick hit = render->pick(scene, px - 0.5, py - 0.5, W, H);
    g_assert_cmpint(hit.id, ==, 7);
    g_assert_cmpint(hit.vert, >=, 0);
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(hit.point_mm[d], c[d] + radius * back[d], 0.1);
    g_assert_cmpint(render->pick(scene, 1, 1, W, H).id, ==, 0);

    /* a point is drawn where the camera projects it, in parallel and in perspective */
    for (int parallel = 1; parallel >= 0; parallel--) {
      double qx, qy;
      camera.parallel = parallel;
      render->set_camera(scene, &camera);
      g_assert_true(pla_camera_project(&camera, W, H, c, &px, &py));
      hit = render->pick(scene, px + 2.5, py - 4.5, W, H);
      g_assert_cmpint(hit.id, ==, 7);
      g_assert_true(pla_camera_project(&camera, W, H, hit.point_mm, &qx, &qy));
      g_assert_cmpfloat_with_epsilon(qx, px + 3.0, 0.05);
      g_assert_cmpfloat_with_epsilon(qy, py - 4.0, 0.05);
      for (int d = 0; d < 3; d++)
        hit.point_mm[d] = camera.eye_mm[d] + 10.0 * back[d];
      g_assert_true(pla_camera_project(&camera, W, H, hit.point_mm, &qx, &qy) == parallel);
    }
  }

  /* a plane through the middle takes away the viewer's half */
  PlaCamera front =
      pla_camera_fit(PLA_VIEW_ANTERIOR, (double[3]){ 5, -45, 30 }, (double[3]){ 55, 5, 80 }, 1.0);
  render->set_camera(scene, &front);
  render->set_clip(scene, c, (double[3]){ 0, 1, 0 });
  PlaScenePick inside = render->pick(scene, W / 2 - 0.5, H / 2 - 0.5, W, H);
  g_assert_cmpfloat_with_epsilon(inside.point_mm[1], c[1] - radius, 0.1);
  render->scene_free(scene);
}

/* tets are drawn by their outer faces only, clipped cell by cell, coloured by cell */
static void
test_tets(void)
{
  /* five tets of a cube of 10 mm */
  double pos[24];
  for (int v = 0; v < 8; v++)
    for (int d = 0; d < 3; d++)
      pos[3 * v + d] = (v >> d & 1) ? 10.0 : 0.0;
  const int tet[20] = { 0, 1, 2, 4, 3, 2, 1, 7, 5, 1, 4, 7, 6, 2, 7, 4, 1, 2, 4, 7 };
  PlaScene *scene = NULL;
  g_assert_cmpint(render->scene_new(true, &scene, NULL), ==, PLA_OK);
  PlaSceneMesh shape = { .n_verts = 8, .n_tets = 5, .pos = pos, .to_mm = 1.0, .tet = tet };
  g_assert_cmpint(render->put_mesh(scene, 1, &shape, NULL), ==, PLA_OK);
  PlaSceneStyle style = pla_scene_style_default();
  style.flat = true;
  style.edges = true;
  render->set_style(scene, 1, &style);
  uint8_t map[256 * 3];
  pla_colour_map_table(PLA_MAP_HEAT, map);
  PlaSceneColours colours = { .n = 5,
                              .value = (double[5]){ 0, 1, 2, 3, 4 },
                              .on_cells = true,
                              .lo = 0,
                              .hi = 4,
                              .map_rgb = map };
  render->set_colours(scene, 1, &colours);
  /* values of another shape, which may already be on its way, change nothing */
  PlaSceneColours others = colours;
  others.n = 4000;
  render->set_colours(scene, 1, &others);
  PlaCamera camera =
      pla_camera_fit(PLA_VIEW_SUPERIOR, (double[3]){ 0, 0, 0 }, (double[3]){ 10, 10, 10 }, 1.0);
  render->set_camera(scene, &camera);
  static uint32_t pixel[64 * 64];
  g_assert_cmpint(render->draw_pixels(scene, 64, 64, PLA_QUALITY_FULL, pixel, NULL), ==, PLA_OK);
  g_assert_cmpint(render->pick(scene, 32, 32, 64, 64).cell, !=, 4); /* the inner one is hidden */
  double lo[3], hi[3];
  g_assert_true(render->bounds(scene, lo, hi));
  g_assert_cmpfloat(hi[2], ==, 10.0);

  /* nothing is left when the plane is below the cube */
  render->set_clip(scene, (double[3]){ 0, 0, -1 }, (double[3]){ 0, 0, 1 });
  g_assert_cmpint(render->pick(scene, 32, 32, 64, 64).id, ==, 0);
  render->set_clip(scene, NULL, NULL);
  g_assert_cmpint(render->pick(scene, 32, 32, 64, 64).id, ==, 1);
  render->remove(scene, 1);
  g_assert_false(render->bounds(scene, lo, hi));
  render->scene_free(scene);
}

/* lines, markers, arrows and images are where they were put */
static void
test_other_items(void)
{
  PlaScene *scene = NULL;
  g_assert_cmpint(render->scene_new(true, &scene, NULL), ==, PLA_OK);
  const double black[3] = { 0, 0, 0 };
  render->set_background(scene, black, black);
  const double pos[12] = { -40, 0, 40, 40, 0, 40, -40, 0, -40, 40, 0, -40 };
  PlaSceneLines lines = { .n_points = 4,
                          .n_lines = 1,
                          .pos = pos,
                          .to_mm = 1.0,
                          .start = (int[2]){ 0, 2 },
                          .point = (int[2]){ 0, 1 } };
  PlaSceneMarkers markers = { .n_points = 1, .pos = pos + 6, .to_mm = 1.0 };
  PlaSceneMarkers arrows = {
    .n_points = 1, .pos = pos + 9, .to_mm = 1.0, .dir = (double[3]){ 0, 0, 20 }
  };
  uint32_t green[4] = { 0xff00ff00u, 0xff00ff00u, 0xff00ff00u, 0xff00ff00u };
  PlaSceneImage image = { .width = 2,
                          .height = 2,
                          .pixel = green,
                          .origin_mm = { 5, 0, 5 },
                          .right_mm = { -10, 0, 0 },
                          .down_mm = { 0, 0, -10 } };
  g_assert_cmpint(render->put_lines(scene, 1, &lines, NULL), ==, PLA_OK);
  g_assert_cmpint(render->put_markers(scene, 2, &markers, NULL), ==, PLA_OK);
  g_assert_cmpint(render->put_markers(scene, 3, &arrows, NULL), ==, PLA_OK);
  g_assert_cmpint(render->put_image(scene, 4, &image, NULL), ==, PLA_OK);
  PlaSceneStyle style = pla_scene_style_default();
  style.radius_mm = 3.0;
  for (int id = 1; id <= 4; id++)
    render->set_style(scene, id, &style);
  PlaCamera camera = {
    .eye_mm = { 0, 500, 0 }, .up = { 0, 0, 1 }, .parallel = true, .height_mm = 100.0
  };
  render->set_camera(scene, &camera);
  enum { N = 200 };
  static uint32_t pixel[N * N];
  g_assert_cmpint(render->draw_pixels(scene, N, N, PLA_QUALITY_FULL, pixel, NULL), ==, PLA_OK);
  /* seen from the front, the patient's right is on the left; 2 pixels a millimetre */
#define AT(X_MM, Z_MM) (pixel[(int)(N / 2 - 2 * (Z_MM)) * N + (int)(N / 2 - 2 * (X_MM))] & 0xffffff)
  g_assert_cmphex(AT(0, 40), !=, 0);       /* line */
  g_assert_cmphex(AT(-40, -40), !=, 0);    /* marker */
  g_assert_cmphex(AT(40, -28), !=, 0);     /* arrow */
  g_assert_cmphex(AT(4, 4), ==, 0x00ff00); /* image */
  g_assert_cmphex(AT(20, 0), ==, 0);
#undef AT
  render->scene_free(scene);
}

/* the picture functions write files of the size asked for */
static void
test_files(void)
{
  PlaVolume *vol = NULL, *labels = NULL;
  PlaLabelMap *map = NULL;
  g_assert_cmpint(pla_volume_new((int[4]){ 32, 32, 32, 1 }, PLA_I16, &vol, NULL), ==, PLA_OK);
  g_assert_cmpint(pla_volume_new((int[4]){ 32, 32, 32, 1 }, PLA_U8, &labels, NULL), ==, PLA_OK);
  for (int v = 0; v < 32 * 32 * 32; v++) {
    double r = hypot(hypot(v % 32 - 15.5, v / 32 % 32 - 15.5), v / 1024 - 15.5);
    ((int16_t *)vol->voxels)[v] = (int16_t)(1000.0 - 60.0 * r);
    ((uint8_t *)labels->voxels)[v] = r < 8.0 ? 2 : r < 13.0 ? 1 : 0;
  }
  g_assert_cmpint(pla_label_map_take(labels, NULL, &map, NULL), ==, PLA_OK);
  g_autofree char *dir = g_dir_make_tmp("platysma-view-XXXXXX", NULL);
  g_autofree char *surface = g_build_filename(dir, "surface.png", NULL);
  g_autofree char *slice = g_build_filename(dir, "slice.png", NULL);
  PlaPictureOptions opts = pla_picture_options_default();
  opts.width = 150;
  opts.height = 110;
  PlaSurfaceLook looks[2] = { pla_surface_look_for(&map->table.label[1]),
                              pla_surface_look_for(&map->table.label[0]) };
  looks[1].opacity = 0.4;
  PlaError err;
  g_assert_cmpint(pla_render_label_surface_png(map, looks, 2, &opts, surface, &err), ==, PLA_OK);
  PlaSliceOptions slice_opts = pla_slice_options_default(vol);
  slice_opts.width = 90;
  slice_opts.height = 70;
  g_assert_cmpint(pla_render_slice_png(vol, map, &slice_opts, slice, &err), ==, PLA_OK);
  const struct {
    const char *path;
    int width, height;
  } files[2] = { { surface, 150, 110 }, { slice, 90, 70 } };
  for (int f = 0; f < 2; f++) {
    cairo_surface_t *png = cairo_image_surface_create_from_png(files[f].path);
    g_assert_cmpint(cairo_surface_status(png), ==, CAIRO_STATUS_SUCCESS);
    g_assert_cmpint(cairo_image_surface_get_width(png), ==, files[f].width);
    g_assert_cmpint(cairo_image_surface_get_height(png), ==, files[f].height);
    cairo_surface_destroy(png);
    g_unlink(files[f].path);
  }
  g_assert_cmpint(pla_render_slice_png(vol, map, &slice_opts, "/nowhere/x.png", &err), ==,
                  PLA_ERR_IO);
  g_rmdir(dir);
  pla_volume_free(vol);
  pla_label_map_free(map);
}

/* equal steps of value are equal steps of lightness */
static void
test_colour_maps(void)
{
  for (int m = 0; m < PLA_N_MAPS; m++) {
    uint8_t rgb[256 * 3];
    pla_colour_map_table((PlaColourMap)m, rgb);
    double first = pla_colour_lightness(rgb), last = pla_colour_lightness(rgb + 3 * 255);
    double middle = pla_colour_lightness(rgb + 3 * 128);
    if (m == PLA_MAP_DIVERGING) {
      g_assert_cmpfloat_with_epsilon(first, last, 0.02);
      g_assert_cmpfloat(middle, >, 0.94);
      continue;
    }
    for (int i = 0; i < 256; i++)
      g_assert_cmpfloat_with_epsilon(pla_colour_lightness(rgb + 3 * i),
                                     first + (last - first) * i / 255.0, 0.012);
  }
  g_assert_cmpfloat_with_epsilon(pla_round_length(7.3), 5.0, 1e-12);
  g_assert_cmpfloat_with_epsilon(pla_round_length(0.21), 0.2, 1e-12);
}

/* turning and moving the camera keeps its distance */
static void
test_camera(void)
{
  PlaCamera camera =
      pla_camera_fit(PLA_VIEW_ANTERIOR, (double[3]){ -1, -2, -3 }, (double[3]){ 5, 6, 7 }, 1.5);
  double before = pla_camera_height_mm(&camera), right[3], up[3], back[3];
  pla_camera_orbit(&camera, 33.0, -70.0);
  pla_camera_pan(&camera, 0.4, -0.2);
  g_assert_cmpfloat_with_epsilon(pla_camera_height_mm(&camera), before, 1e-9);
  pla_camera_zoom(&camera, 2.0);
  g_assert_cmpfloat_with_epsilon(pla_camera_height_mm(&camera), 0.5 * before, 1e-9);

  /* from the front: the patient's left is on the right; dragging right shows the patient's right
   * side, as when one turns a head by hand */
  camera = pla_camera_fit(PLA_VIEW_ANTERIOR, (double[3]){ -1, -1, -1 }, (double[3]){ 1, 1, 1 }, 1);
  pla_camera_axes(&camera, right, up, back);
  g_assert_cmpfloat_with_epsilon(right[0], -1.0, 1e-12);
  pla_camera_orbit(&camera, 90.0, 0.0);
  g_assert_cmpfloat_with_epsilon(camera.eye_mm[0] / hypot(camera.eye_mm[0], camera.eye_mm[1]), 1.0,
                                 1e-12);
  PlaViewPreset preset;
  for (int v = 0; v < PLA_N_VIEWS; v++) {
    g_assert_true(pla_view_preset_from_name(pla_view_preset_name((PlaViewPreset)v), &preset));
    g_assert_cmpint(preset, ==, v);
  }
}

int
main(int argc, char **argv)
{
  g_unsetenv("DISPLAY");
  g_unsetenv("WAYLAND_DISPLAY");
  g_test_init(&argc, &argv, NULL);
  PlaError err;
  if (pla_render_load(&render, &err) != PLA_OK)
    g_error("%s", err.message);
  g_test_add_func("/view/silhouette-and-pick", test_silhouette_and_pick);
  g_test_add_func("/view/tets", test_tets);
  g_test_add_func("/view/other-items", test_other_items);
  g_test_add_func("/view/files", test_files);
  g_test_add_func("/view/colour-maps", test_colour_maps);
  g_test_add_func("/view/camera", test_camera);
  return g_test_run();
}
