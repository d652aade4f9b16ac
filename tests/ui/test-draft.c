/* The draft that is drawn while a view moves: fewer faces than the surface, and as closed as it is.
 */
#include "anatomy/phantom/phantom.h"
#include "app/show/picture.h"
#include "app/show/render.h"
#include "io/formats/format.h"
#include "ui/views/draft.h"

#include <cairo.h>
#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the surface ----------------------------------------------------------------------------- */

/* The skin of a head, or of the label map that PLA_DRAFT_LABELS names; with @scalp without bone,
 * which leaves an inner side a few millimetres below. */
static PlaMesh *
skin(double spacing_mm, gboolean scalp)
{
  const char *file = g_getenv("PLA_DRAFT_LABELS");
  PlaItem item = { 0 };
  PlaLabelMap *map = NULL;
  PlaMesh *mesh = NULL;
  PlaError err;
  PlaStatus st;
  if (file) {
    PlaReadOptions opts = pla_read_options_default();
    st = pla_item_read(file, &opts, &item, &err);
    if (st == PLA_OK)
      st = pla_label_map_take(item.volume, &item.labels, &map, &err);
    item.volume = NULL;
  } else {
    PlaPhantom phantom = { 0 };
    st = pla_phantom_make("head", spacing_mm, NULL, &phantom, &err);
    map = g_steal_pointer(&phantom.labels);
    pla_phantom_clear(&phantom);
  }
  if (st != PLA_OK)
    g_error("%s", err.message);
  g_autofree int *ids = g_new(int, (gsize)map->table.n);
  int n = 0;
  for (int i = 0; i < map->table.n; i++)
    if (!scalp || pla_surface_look_for(&map->table.label[i]).finish != PLA_FINISH_BONE)
      ids[n++] = map->table.label[i].id;
  if (pla_label_surface_make(map, ids, n, &mesh, NULL, NULL, &err) != PLA_OK)
    g_error("%s", err.message);
  pla_label_map_free(map);
  pla_item_clear(&item);
  return mesh;
}

/* ---- closedness ------------------------------------------------------------------------------ */

static int
by_edge(const void *a, const void *b)
{
  return memcmp(a, b, 2 * sizeof(int));
}

/* Edges, in the direction of their triangle, that do not come exactly once each way. */
static int
count_open(const int *tri, int stride, size_t n)
{
  int(*edge)[3] = g_malloc_n(3 * n, sizeof *edge);
  for (size_t f = 0; f < n; f++)
    for (int k = 0; k < 3; k++) {
      const int a = tri[f * (size_t)stride + (size_t)k],
                b = tri[f * (size_t)stride + (size_t)(k + 1) % 3];
      memcpy(edge[3 * f + (size_t)k], (int[3]){ MIN(a, b), MAX(a, b), a < b ? 1 : -1 },
             sizeof *edge);
    }
  qsort(edge, 3 * n, sizeof *edge, by_edge);
  int open = 0;
  for (size_t i = 0; i < 3 * n;) {
    size_t end = i + 1;
    int sum = edge[i][2];
    while (end < 3 * n && by_edge(edge[i], edge[end]) == 0)
      sum += edge[end++][2];
    open += end - i != 2 || sum != 0;
    i = end;
  }
  g_free(edge);
  return open;
}

static int
by_int(const void *a, const void *b)
{
  return *(const int *)a - *(const int *)b;
}

/* vertices that @n triangles use */
static int
count_verts(const int *tri, int stride, size_t n)
{
  g_autofree int *used = g_new(int, 3 * n);
  for (size_t i = 0; i < 3 * n; i++)
    used[i] = tri[i / 3 * (size_t)stride + i % 3];
  qsort(used, 3 * n, sizeof *used, by_int);
  int count = 0;
  for (size_t i = 0; i < 3 * n; i++)
    count += i == 0 || used[i] != used[i - 1];
  return count;
}

/* six times the volume that the triangles enclose, m3 */
static double
volume_of(const double *pos, const int *tri, int stride, size_t n)
{
  double sum = 0.0;
  for (size_t f = 0; f < n; f++) {
    const int *t = tri + f * (size_t)stride;
    const double *a = pos + 3 * t[0], *b = pos + 3 * t[1], *c = pos + 3 * t[2];
    sum += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
           a[2] * (b[0] * c[1] - b[1] * c[0]);
  }
  return sum;
}

static void
test_closed(void)
{
  PlaMesh *mesh = skin(1.5, TRUE);
  const size_t n = (size_t)mesh->n_tris;
  g_assert_cmpuint(n, >, 100000);
  if (!g_getenv("PLA_DRAFT_LABELS"))
    g_assert_cmpint(count_open(mesh->tri, 3, n), ==, 0);
  g_autofree PlaDraftFace *face = g_new(PlaDraftFace, n);
  const size_t wanted[] = { 28000, 4000 };
  for (size_t w = 0; w < G_N_ELEMENTS(wanted); w++) {
    const gint64 begun = g_get_monotonic_time();
    const size_t left = pla_draft_make(mesh->n_verts, mesh->pos, n, mesh->tri, wanted[w], face);
    g_test_message("%zu faces of %zu in %.0f ms", left, n,
                   1e-3 * (double)(g_get_monotonic_time() - begun));
    g_assert_cmpuint(left, <=, wanted[w] + 1);
    g_assert_cmpuint(left, >=, wanted[w] - 1);
    const int stride = sizeof *face / sizeof(int);
    g_assert_cmpint(count_open(face->vert, stride, left), ==, count_open(mesh->tri, 3, n));
    /* as many handles and pieces: Euler's number, with three edges for two triangles */
    g_assert_cmpint(2 * count_verts(face->vert, stride, left) - (int)left, ==,
                    2 * count_verts(mesh->tri, 3, n) - mesh->n_tris);
    /* and the same shape */
    const double before = volume_of(mesh->pos, mesh->tri, 3, n);
    g_assert_cmpfloat_with_epsilon(volume_of(mesh->pos, face->vert, stride, left), before,
                                   0.01 * before);
    for (size_t f = 0; f < left; f++)
      g_assert_true(face[f].face >= 0 && face[f].face < mesh->n_tris);
  }
  pla_mesh_free(mesh);
}

/* a border stays where it is, and what is small enough stays as it is */
static void
test_border(void)
{
  enum { N = 60 };
  double pos[3 * (N + 1) * (N + 1)];
  int tri[6 * N * N];
  for (int v = 0; v < (N + 1) * (N + 1); v++)
    memcpy(pos + 3 * v, (double[3]){ v % (N + 1), v / (N + 1), 0.0 }, 3 * sizeof *pos);
  for (int q = 0; q < N * N; q++) {
    const int v = q / N * (N + 1) + q % N;
    memcpy(tri + 6 * q, (int[6]){ v, v + 1, v + N + 2, v, v + N + 2, v + N + 1 }, 6 * sizeof *tri);
  }
  static PlaDraftFace face[2 * N * N];
  const size_t left = pla_draft_make((N + 1) * (N + 1), pos, 2 * N * N, tri, 500, face);
  g_assert_cmpuint(left, <, 1200);
  double area = 0.0;
  for (size_t f = 0; f < left; f++) {
    const double *a = pos + 3 * face[f].vert[0], *b = pos + 3 * face[f].vert[1],
                 *c = pos + 3 * face[f].vert[2];
    const double twice = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    g_assert_cmpfloat(twice, >, 0.0);
    area += 0.5 * twice;
  }
  g_assert_cmpfloat_with_epsilon(area, N * N, 1e-9);
  g_assert_cmpint(count_open(face->vert, sizeof *face / sizeof(int), left), ==, 4 * N);
  g_assert_cmpuint(pla_draft_make((N + 1) * (N + 1), pos, 2 * N * N, tri, 2 * N * N, face), ==,
                   2 * N * N);
}

/* ---- pictures -------------------------------------------------------------------------------- */

enum { SIZE = 480, MARGIN = 12 }; /* px; a moving picture is stretched, so its edge is not sharp */

static void
save(const uint32_t *pixel, const char *name)
{
  const char *dir = g_getenv("PLA_SHOTS");
  if (!dir)
    return;
  cairo_surface_t *png =
      cairo_image_surface_create_for_data((void *)pixel, CAIRO_FORMAT_RGB24, SIZE, SIZE, 4 * SIZE);
  g_autofree char *path = g_strdup_printf("%s/draft-%s.png", dir, name);
  cairo_surface_write_to_png(png, path);
  cairo_surface_destroy(png);
}

/* pixels further than the margin from all background of the full picture */
static void
find_inside(const uint32_t *pixel, uint32_t background, gboolean *inside)
{
  for (int y = 0; y < SIZE; y++)
    for (int x = 0; x < SIZE; x++) {
      gboolean in = x >= MARGIN && y >= MARGIN && x < SIZE - MARGIN && y < SIZE - MARGIN;
      for (int j = -MARGIN; in && j <= MARGIN; j++)
        for (int i = -MARGIN; in && i <= MARGIN; i++)
          in = (pixel[(y + j) * SIZE + x + i] & 0xffffff) != background;
      inside[y * SIZE + x] = in;
    }
}

static int
red(uint32_t pixel)
{
  return (int)(pixel >> 16 & 255);
}

/* While the camera turns, nothing of the background is seen through a closed skin. */
static void
test_no_holes(void)
{
  const PlaRenderer *render;
  PlaScene *scene = NULL;
  PlaError err;
  if (pla_render_load(&render, &err) != PLA_OK || render->scene_new(true, &scene, &err) != PLA_OK)
    g_error("%s", err.message);
  PlaMesh *mesh = skin(1.5, TRUE);
  const PlaSceneMesh shape = { .n_verts = mesh->n_verts,
                               .n_tris = mesh->n_tris,
                               .pos = mesh->pos,
                               .to_mm = 1000.0,
                               .tri = mesh->tri };
  g_assert_cmpint(render->put_mesh(scene, 1, &shape, &err), ==, PLA_OK);
  const double green[3] = { 0.0, 1.0, 0.0 };
  const uint32_t background = 0x00ff00;
  render->set_background(scene, green, green);
  static uint32_t full[SIZE * SIZE], moving[SIZE * SIZE];
  static gboolean inside[SIZE * SIZE];
  double lo[3], hi[3];
  g_assert_true(render->bounds(scene, lo, hi));
  for (int glass = 0; glass < 2; glass++) {
    PlaSceneStyle style = pla_scene_style_default();
    style.rgb[0] = 0.9, style.rgb[1] = 0.7, style.rgb[2] = 0.6;
    style.finish = PLA_FINISH_SKIN;
    style.hide_back = true;
    if (glass) {
      style.opacity = 0.35;
      style.rim = 0.7;
    }
    render->set_style(scene, 1, &style);
    PlaCamera camera = pla_camera_fit(PLA_VIEW_THREE_QUARTER, lo, hi, 1.0);
    for (int turn = 0; turn < 6; turn++) {
      g_autofree char *name = g_strdup_printf("%s-%d", glass ? "glass" : "skin", turn);
      pla_camera_orbit(&camera, 53.0, turn % 2 ? 25.0 : -25.0);
      render->set_camera(scene, &camera);
      g_assert_cmpint(render->draw_pixels(scene, SIZE, SIZE, PLA_QUALITY_FULL, full, &err), ==,
                      PLA_OK);
      g_assert_cmpint(render->draw_pixels(scene, SIZE, SIZE, PLA_QUALITY_MOVING, moving, &err), ==,
                      PLA_OK);
      save(moving, name);
      find_inside(full, background, inside);
      int n_inside = 0, holes = 0, other = 0;
      for (int i = 0; i < SIZE * SIZE; i++) {
        n_inside += inside[i];
        holes += inside[i] && (moving[i] & 0xffffff) == background;
        other += inside[i] && abs(red(moving[i]) - red(full[i])) > 50;
      }
      g_test_message("%s: %d of %d pixels are holes, %d of another shade", name, holes, n_inside,
                     other);
      g_assert_cmpint(n_inside, >, SIZE * SIZE / 8);
      g_assert_cmpint(holes, ==, 0);
      /* through glass the order of what is blended counts, which a moving picture does not keep */
      if (!glass)
        g_assert_cmpint(other, <, n_inside / 200);
    }
  }
  render->scene_free(scene);
  pla_mesh_free(mesh);
}

/* A solid that is cut down to fewer faces than a draft is worth is still seen while it moves. */
static void
test_cut(void)
{
  enum { N = 150, ROW = N + 1, LAYER = ROW * ROW };
  const PlaRenderer *render;
  PlaScene *scene = NULL;
  PlaError err;
  if (pla_render_load(&render, &err) != PLA_OK || render->scene_new(true, &scene, &err) != PLA_OK)
    g_error("%s", err.message);
  g_autofree double *pos = g_new(double, 3 * 3 * LAYER);
  g_autofree int *hex = g_new(int, 8 * 2 * N * N);
  for (int v = 0; v < 3 * LAYER; v++)
    memcpy(pos + 3 * v, (double[3]){ v % ROW, v / ROW % ROW, v / LAYER }, 3 * sizeof *pos);
  for (int h = 0; h < 2 * N * N; h++) {
    const int v = h / (N * N) * LAYER + h / N % N * ROW + h % N, w = v + LAYER;
    memcpy(hex + 8 * h, (int[8]){ v, v + 1, v + 1 + ROW, v + ROW, w, w + 1, w + 1 + ROW, w + ROW },
           8 * sizeof *hex);
  }
  const PlaSceneMesh slab = {
    .n_verts = 3 * LAYER, .n_hexes = 2 * N * N, .pos = pos, .to_mm = 1.0, .hex = hex
  };
  g_assert_cmpint(render->put_mesh(scene, 1, &slab, &err), ==, PLA_OK);
  PlaSceneStyle style = pla_scene_style_default();
  style.clipped = true;
  render->set_style(scene, 1, &style);
  const double green[3] = { 0.0, 1.0, 0.0 };
  render->set_background(scene, green, green);
  const PlaCamera camera =
      pla_camera_fit(PLA_VIEW_SUPERIOR, (double[3]){ 0, 0, 0 }, (double[3]){ N, N, 2 }, 1.0);
  render->set_camera(scene, &camera);
  static uint32_t pixel[SIZE * SIZE];
  int seen[3];
  for (int k = 0; k < 3; k++) {
    if (k == 1)
      render->set_clip(scene, (double[3]){ 0.5 * N, 0, 0 }, (double[3]){ 1, 0, 0 });
    if (k == 2)
      render->set_clip(scene, NULL, NULL);
    g_assert_cmpint(render->draw_pixels(scene, SIZE, SIZE, PLA_QUALITY_MOVING, pixel, &err), ==,
                    PLA_OK);
    seen[k] = 0;
    for (int i = 0; i < SIZE * SIZE; i++)
      seen[k] += (pixel[i] & 0xffffff) != 0x00ff00;
  }
  g_assert_cmpint(seen[0], >, SIZE * SIZE / 8);
  g_assert_cmpfloat_with_epsilon(seen[1], 0.5 * seen[0], 0.05 * seen[0]);
  g_assert_cmpfloat_with_epsilon(seen[2], seen[0], 0.02 * seen[0]);
  render->scene_free(scene);
}

int
main(int argc, char **argv)
{
  g_unsetenv("DISPLAY");
  g_unsetenv("WAYLAND_DISPLAY");
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/draft/closed", test_closed);
  g_test_add_func("/draft/border", test_border);
  g_test_add_func("/draft/no-holes", test_no_holes);
  g_test_add_func("/draft/cut", test_cut);
  return g_test_run();
}
