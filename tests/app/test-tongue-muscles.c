/* Stretches that run side by side against one run, and the muscles behind a motion. */
#include "anatomy/base/memory.h"
#include "app/speech/spoken-muscles.h"
#include "app/speech/tongue-build.h"
#include "app/speech/tongue-picture.h"
#include "sim/speech/sounds.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 60, FIRST = 45 };

static PlaTongueMotion *motion;
static PlaTrack *track;

/* from /i/ to /a/ and back, with a coil that drops out on the way */
static void
build(void)
{
  PlaTongueMotionOptions options = pla_tongue_motion_options_default();
  const PlaSegment s[3] = { { pla_sound_find("i"), 0.0, 0.2 },
                            { pla_sound_find("a"), 0.2, 0.4 },
                            { pla_sound_find("i"), 0.4, 0.6 } };
  const PlaArticulation how = pla_articulation_default();
  PlaError err;
  g_assert_cmpint(pla_track_new(FRAMES, PLA_SENSOR_CHANNELS, &track, &err), ==, PLA_OK);
  track->rate_hz = 100.0;
  pla_segments_track(s, 3, &how, 100.0, 0.0, FRAMES, track->value);
  for (int c = 0; c < PLA_SENSOR_CHANNELS; c++) {
    g_autofree char *name = g_strdup_printf("%s_%c", pla_sensor_names[c / 2], c % 2 ? 'y' : 'x');
    track->name[c] = strdup(name);
    track->unit[c] = strdup("mm");
  }
  for (int t = 5; t < 9; t++)
    track->value[t * PLA_SENSOR_CHANNELS] = NAN;
  options.own_plane = true;
  options.cell_mm = 7.5;
  if (pla_tongue_motion_new(&options, (const PlaTrack *const *)&track, 1, &motion, &err) != PLA_OK)
    g_error("%s", err.message);
}

static void
test_seek(void)
{
  const PlaMesh *rest = pla_tongue_motion_get_rest(motion);
  PlaTongueMotion *fork;
  PlaTongueStats sum = pla_tongue_stats_none();
  PlaError err;
  bool more;
  double most = 0.0;
  g_assert_cmpint(pla_tongue_motion_fork(motion, &fork, &err), ==, PLA_OK);
  g_assert_cmpint(pla_tongue_motion_start(motion, track, &err), ==, PLA_OK);
  for (int i = 0; i < FIRST; i++)
    g_assert_cmpint(pla_tongue_motion_step(motion, &more, &err), ==, PLA_OK);
  g_assert_cmpint(pla_tongue_motion_start(fork, track, &err), ==, PLA_OK);
  g_assert_cmpint(pla_tongue_motion_seek(fork, FIRST, &err), ==, PLA_OK);
  g_assert_cmpint(pla_tongue_motion_stats(fork)->frames, ==, 0);
  for (int i = FIRST; i < FRAMES; i++) {
    g_assert_cmpint(pla_tongue_motion_step(motion, &more, &err), ==, PLA_OK);
    g_assert_cmpint(pla_tongue_motion_step(fork, &more, &err), ==, PLA_OK);
    g_assert_true(more);
    for (int k = 0; k < 3 * rest->n_verts; k++)
      most = fmax(most,
                  fabs(pla_tongue_motion_get_pos(motion)[k] - pla_tongue_motion_get_pos(fork)[k]));
  }
  g_test_message("apart by at most %.4f mm", 1000.0 * most);
  g_assert_cmpfloat(most, <, 0.2e-3);
  pla_tongue_stats_add(&sum, pla_tongue_motion_stats(motion));
  pla_tongue_stats_add(&sum, pla_tongue_motion_stats(fork));
  g_assert_cmpint(sum.frames, ==, 2 * FRAMES - FIRST);
  pla_tongue_motion_free(fork);
}

static void
test_muscles(void)
{
  PlaTongueMuscles *muscles;
  PlaTongueMusclesFrame found;
  PlaError err;
  bool more;
  if (pla_tongue_muscles_from_phantom(pla_tongue_motion_get_tongue(motion), NULL, &muscles, &err) !=
      PLA_OK)
    g_error("%s", err.message);
  const int n = pla_tongue_muscles_count(muscles);
  g_assert_cmpint(n, ==, 22);
  g_autofree double *a = g_new(double, n);
  double most = 0.0;
  g_assert_cmpint(pla_tongue_motion_start(motion, track, &err), ==, PLA_OK);
  for (int i = 0; i < FRAMES; i += 1) {
    g_assert_cmpint(pla_tongue_motion_step(motion, &more, &err), ==, PLA_OK);
    g_assert_cmpint(pla_tongue_muscles_explain(muscles, motion, a, &found, &err), ==, PLA_OK);
    for (int m = 0; m < n; m++) {
      g_assert_cmpfloat(a[m], >=, 0.0);
      g_assert_cmpfloat(a[m], <=, 1.0);
      most = fmax(most, a[m]);
    }
    g_assert_cmpfloat(found.residual_mm, <, found.motion_mm);
    if (i == 30) {
      g_test_message("/a/: %.2f mm explained to %.2f mm", found.motion_mm, found.residual_mm);
      g_assert_cmpfloat(found.residual_mm, <, 0.75 * found.motion_mm);
      /* the hyoglossus draws the tongue down and back */
      double down = 0.0;
      for (int m = 0; m < n; m++)
        if (strstr(pla_tongue_muscles_name(muscles, m), "hyoglossus"))
          down = fmax(down, a[m]);
      g_assert_cmpfloat(down, >, 0.05);
    }
  }
  g_assert_cmpfloat(most, >, 0.1);
  pla_tongue_muscles_free(muscles);
}

/* three muscles, two of them on both sides: the first strains in the second half, the others never
 */
static void
test_picture(void)
{
  static const char *const names[5] = { "hyoglossus, left", "hyoglossus, right", "verticalis",
                                        "styloglossus, left", "styloglossus, right" };
  PlaTrack *strain;
  PlaError err;
  g_assert_cmpint(pla_track_new(100, 5, &strain, &err), ==, PLA_OK);
  strain->rate_hz = 100.0;
  for (int c = 0; c < 5; c++) {
    free(strain->name[c]);
    strain->name[c] = pla_strdup(names[c]);
    for (int f = 0; f < 100; f++)
      strain->value[5 * f + c] = c < 2 && f >= 50 ? 1.0 : 0.0;
  }
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 600, 322);
  cairo_t *cr = cairo_create(image);
  pla_tongue_picture_draw_muscles(strain, cr, 600, 322);
  cairo_destroy(cr);
  cairo_surface_flush(image);
  const unsigned char *data = cairo_image_surface_get_data(image);
  const int stride = cairo_image_surface_get_stride(image);
  static const struct {
    int x, y;
    bool red;
  } places[] = { { 270, 50, false }, { 500, 50, true }, { 500, 150, false }, { 500, 250, false } };
  for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
    const unsigned char *p = data + places[i].y * stride + 4 * places[i].x;
    g_assert_true((p[2] > p[1] + 60) == places[i].red);
  }
  cairo_surface_destroy(image);
  pla_track_free(strain);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_setenv("PLATYSMA_CACHE", "none", TRUE);
  g_test_add_func("/tongue-muscles/seek", test_seek);
  g_test_add_func("/tongue-muscles/muscles", test_muscles);
  g_test_add_func("/tongue-muscles/picture", test_picture);
  build();
  const int status = g_test_run();
  pla_tongue_motion_free(motion);
  pla_track_free(track);
  return status;
}
