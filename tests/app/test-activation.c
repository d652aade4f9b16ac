/* Activation tracks, takes in every format, bodies in cases; and, in long runs, the face and the
 * tongue. */
#include "app/motion/activation.h"
#include "app/motion/surroundings.h"
#include "io/formats/format.h"
#include "tests/sim/active/bars.h"

#include <glib/gstdio.h>
#include <stdlib.h>

/* a body around the bar of the solver's tests; not to be freed as a body */
static PlaActiveBody
bar_body(Bar *bar)
{
  return (PlaActiveBody){
    .name = (char *)"bar", .mesh = bar->mesh, .model = bar->model, .markers = bar->markers
  };
}

static void
test_track(void)
{
  Bar bar;
  PlaError err = { 0 };
  PlaActivation made, back, mixed;
  PlaTrack *track;
  bar_init(&bar, 1);
  bar_ok(pla_activation_random(bar.model, 40, 50.0, 3, &made, &err), &err);
  bar_ok(pla_activation_to_track(&made, bar.model, &track, &err), &err);
  g_assert_cmpint(track->n_channels, ==, BAR_MUSCLES + 9);
  g_assert_cmpstr(track->name[BAR_MUSCLES], ==, "jaw opening");
  g_assert_cmpstr(track->unit[BAR_MUSCLES], ==, "deg");
  bar_ok(pla_activation_from_track(bar.model, track, &back, &err), &err);
  for (int i = 0; i < 40 * made.n_controls; i++)
    g_assert_cmpfloat_with_epsilon(made.control[i], back.control[i], 1e-14);
  for (int i = 0; i < 12 * 40; i++)
    g_assert_cmpfloat_with_epsilon(made.head[i], back.head[i], 1e-14);
  pla_activation_clear(&back);
  /* twice as much as from rest, within the bounds */
  PlaActivation rest;
  bar_ok(pla_activation_init(&rest, bar.model, 40, 50.0, &err), &err);
  bar_ok(pla_activation_mix(bar.model, &rest, &made, 2.0, &mixed, &err), &err);
  double lo[BAR_MUSCLES + 3], hi[BAR_MUSCLES + 3];
  pla_active_limits(bar.model, lo, hi);
  for (int i = 0; i < 40 * made.n_controls; i++)
    g_assert_cmpfloat_with_epsilon(mixed.control[i],
                                   fmin(2.0 * made.control[i], hi[i % made.n_controls]), 1e-14);
  /* a value out of bounds and an unknown muscle are named */
  track->value[2 * track->n_channels + 1] = 1.4;
  g_assert_cmpint(pla_activation_from_track(bar.model, track, &back, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "sample 3 of 'top right'"));
  free(track->name[0]);
  track->name[0] = strdup("biceps");
  g_assert_cmpint(pla_activation_from_track(bar.model, track, &back, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "'biceps'"));
  pla_track_free(track);
  pla_activation_clear(&made);
  pla_activation_clear(&rest);
  pla_activation_clear(&mixed);
  bar_clear(&bar);
}

/* the same take as C3D, TRC and CSV gives the same activations */
static void
test_formats(void)
{
  static const char *const endings[] = { "c3d", "trc", "csv" };
  Bar bar;
  PlaError err = { 0 };
  PlaActivation truth, found[3];
  PlaActivationReport report;
  PlaItem item = { .kind = PLA_KIND_TAKE };
  const PlaMarkerMatchOptions label = pla_marker_match_options_default();
  const PlaFitOptions opts = pla_fit_options_default();
  bar_init(&bar, 1);
  const PlaActiveBody body = bar_body(&bar);
  g_autofree char *folder = g_dir_make_tmp("platysma-XXXXXX", NULL);
  bar_ok(pla_activation_random(bar.model, 24, 60.0, 4, &truth, &err), &err);
  bar_ok(pla_activation_take(&body, &truth, NULL, NULL, &item.take, &report, &err), &err);
  g_assert_cmpint(report.unsolved, ==, 0);
  for (int k = 0; k < 3; k++) {
    g_autofree char *path = g_strdup_printf("%s/take.%s", folder, endings[k]);
    const PlaWriteOptions write = pla_write_options_default();
    const PlaReadOptions read = pla_read_options_default();
    PlaItem back = { 0 };
    PlaFitResult result;
    bar_ok(pla_item_write(path, &item, &write, &err), &err);
    bar_ok(pla_item_read(path, &read, &back, &err), &err);
    bar_ok(pla_activation_fit(&body, back.take, &label, &opts, &found[k], &result, &err), &err);
    g_assert_cmpfloat(result.rms_m, <, 5e-5);
    /* C3D holds 32-bit numbers: a ten-thousandth of a millimetre */
    for (int i = 0; i < 24 * truth.n_controls; i++)
      g_assert_cmpfloat_with_epsilon(found[k].control[i], found[0].control[i], 2e-4);
    pla_fit_result_clear(&result);
    pla_item_clear(&back);
    g_remove(path);
  }
  for (int k = 0; k < 3; k++)
    pla_activation_clear(&found[k]);
  g_rmdir(folder);
  pla_item_clear(&item);
  pla_activation_clear(&truth);
  bar_clear(&bar);
}

/* ---- the face and the tongue ---- */

static bool
long_run(void)
{
  if (g_getenv("PLA_LONG"))
    return true;
  g_test_skip("only in long runs");
  return false;
}

static PlaActiveBody *
phantom_body(const char *name, double cell_mm)
{
  PlaActiveBodyOptions opts = pla_active_body_options_default();
  PlaActiveBody *body = NULL;
  PlaError err = { 0 };
  opts.cell_mm = cell_mm;
  bar_ok(pla_active_body_from_phantom(name, &opts, NULL, &body, &err), &err);
  return body;
}

static void
set_pair(const PlaActiveModel *model, double *control, const char *name, double right, double left)
{
  g_autofree char *r = g_strdup_printf("%s, right", name), *l = g_strdup_printf("%s, left", name);
  const int at[2] = { pla_active_find_muscle(model, r), pla_active_find_muscle(model, l) };
  g_assert_true(at[0] >= 0 && at[1] >= 0);
  control[at[0]] = right;
  control[at[1]] = left;
}

typedef struct {
  const PlaActiveBody *body;
  double upper, lower; /* where the lips' markers are in the last frame, m */
} Lips;

static PlaStatus
look_at_lips(int f, const double *pos, void *data, PlaError *err)
{
  Lips *self = data;
  double p[3];
  const PlaMarkerSet *set = &self->body->markers;
  pla_marker_place(&set->site[pla_marker_set_find(set, "lip-upper")], pos, p);
  self->upper = p[2];
  pla_marker_place(&set->site[pla_marker_set_find(set, "lip-lower")], pos, p);
  self->lower = p[2];
  return PLA_OK;
}

/* lips part when the jaw opens, where cells are fine enough for them: coarser than about 7 mm they
 * are joined but for a few vertices */
static void
test_lips(void)
{
  if (!long_run())
    return;
  PlaActiveBody *body = phantom_body("face", 7.0);
  PlaError err = { 0 };
  PlaActivation open;
  PlaActivationReport report;
  Lips lips = { .body = body }, closed = { .body = body };
  look_at_lips(0, body->mesh->pos, &closed, &err);
  bar_ok(pla_activation_init(&open, body->model, 1, 60.0, &err), &err);
  open.control[36 + PLA_JAW_OPENING] = 0.25;
  bar_ok(pla_activation_run(body, &open, 1e-6, look_at_lips, &lips, NULL, &report, &err), &err);
  g_assert_cmpint(report.unsolved, ==, 0);
  g_assert_cmpint(report.inverted, ==, 0);
  g_assert_cmpfloat((lips.upper - lips.lower) - (closed.upper - closed.lower), >, 0.012);
  pla_activation_clear(&open);
  pla_active_body_free(body);
}

static PlaStatus
keep_nothing(int f, const double *pos, void *data, PlaError *err)
{
  return PLA_OK;
}

/* lips that are pressed onto each other and onto the teeth come to rest, hardly within each other
 */
static void
test_pressed_lips(void)
{
  if (!long_run())
    return;
  static const char *const pressing[] = { "orbicularis oris superior", "orbicularis oris inferior",
                                          "mentalis" };
  PlaActiveBody *body = phantom_body("face", 14.0);
  PlaSurroundings around;
  PlaActivation track;
  PlaActivationReport report;
  PlaForwardReport touch;
  PlaError err = { 0 };
  pla_surroundings_init(&around);
  bar_ok(pla_surroundings_finish(&around, body, true, NULL, &err), &err);
  bar_ok(pla_activation_init(&track, body->model, 2, 60.0, &err), &err);
  for (int f = 0; f < 2; f++)
    for (size_t i = 0; i < G_N_ELEMENTS(pressing); i++)
      set_pair(body->model, track.control + f * track.n_controls, pressing[i], 0.5 * (f + 1),
               0.5 * (f + 1));
  bar_ok(pla_activation_run_forward(body, &track, &around.options, keep_nothing, NULL, NULL,
                                    &report, &touch, &err),
         &err);
  g_test_message("%d points touch with %.2f N, %.3f mm deep, after %d iterations", touch.contacts,
                 touch.contact_n, 1e3 * touch.max_penetration_m, report.iterations);
  g_assert_cmpint(report.unsolved, ==, 0);
  g_assert_cmpint(report.inverted, ==, 0);
  g_assert_cmpint(touch.contacts, >=, 8);
  g_assert_cmpfloat(touch.max_penetration_m, <, 3e-4);
  pla_activation_clear(&track);
  pla_surroundings_clear(&around);
  pla_active_body_free(body);
}

/* 36 muscles, 79 places; known activations come back, with the noise of a good and of a bad day;
 * what comes back badly was not promised */
static void
test_face(void)
{
  if (!long_run())
    return;
  PlaActiveBody *body = phantom_body("face", 12.0);
  PlaError err = { 0 };
  PlaActivation truth, found;
  PlaActivationReport report;
  PlaFitResult result;
  const PlaMarkerMatchOptions label = pla_marker_match_options_default();
  PlaFitOptions opts = pla_fit_options_default();
  const int nc = pla_active_n_controls(body->model), n_frames = 60;
  g_assert_cmpint(pla_active_n_muscles(body->model), ==, 36);
  g_assert_cmpint(body->markers.n, ==, 79);
  g_assert_cmpint(pla_mesh_count_inverted(body->mesh), ==, 0);
  bar_ok(pla_activation_random(body->model, n_frames, 60.0, 9, &truth, &err), &err);
  for (int noisy = 0; noisy < 2; noisy++) {
    const PlaTakeFaults faults = { .noise_m = noisy * 5e-4,
                                   .missing = noisy * 0.05,
                                   .outliers = noisy * 0.02,
                                   .outlier_m = 0.02,
                                   .seed = 8 };
    PlaTake *take, *clean;
    unsigned char held[79] = { 0 };
    for (int i = 9; noisy && i < 79; i += 10)
      held[i] = 1;
    opts.held_out = held;
    bar_ok(pla_activation_take(body, &truth, NULL, NULL, &clean, &report, &err), &err);
    bar_ok(pla_activation_take(body, &truth, &faults, NULL, &take, &report, &err), &err);
    bar_ok(pla_activation_fit(body, take, &label, &opts, &found, &result, &err), &err);
    double seen2 = 0.0, seen_max = 0.0, held2 = 0.0;
    int n_seen = 0, n_held = 0;
    for (int c = 0; c < 36; c++) {
      double sum = 0.0, most = 0.0;
      for (int f = 0; f < n_frames; f++) {
        const double d = fabs(found.control[f * nc + c] - truth.control[f * nc + c]);
        sum += d * d / n_frames;
        most = fmax(most, d);
      }
      if (result.seen[c]) {
        seen2 += sum;
        seen_max = fmax(seen_max, most);
        n_seen++;
      }
    }
    for (int f = 0; f < n_frames; f++)
      for (int i = 0; i < 79; i++)
        for (int d = 0; d < 3 && held[i]; d++) {
          const size_t k = 3 * ((size_t)f * 79 + (size_t)i) + (size_t)d;
          if (!isfinite(result.residual[k]))
            continue;
          const double e = take->pos[k] - result.residual[k] - clean->pos[k];
          held2 += e * e;
          n_held++;
        }
    g_test_message("noise %d: %d seen, rms %.4f, most %.4f; markers %.4f mm", noisy, n_seen,
                   sqrt(seen2 / n_seen), seen_max, 1e3 * result.rms_m);
    if (noisy) {
      g_test_message("held out: %.3f mm of truth, %.3f mm of data", 1e3 * sqrt(held2 / n_held),
                     1e3 * result.held_out_rms_m);
      g_assert_cmpfloat(sqrt(seen2 / n_seen), <=, 0.05);
      g_assert_cmpfloat(sqrt(held2 / n_held), <=, 5e-4);
      g_assert_cmpfloat(result.held_out_rms_m, <=, 6.5e-4);
      g_assert_cmpint(n_seen, >=, 8);
    } else {
      g_assert_cmpfloat(seen_max, <, 0.02);
      g_assert_cmpfloat(result.rms_m, <, 5e-5);
      g_assert_cmpint(n_seen, >=, 28);
    }
    pla_activation_clear(&found);
    pla_fit_result_clear(&result);
    pla_take_free(take);
    pla_take_free(clean);
  }
  pla_activation_clear(&truth);
  pla_active_body_free(body);
}

/* ---- the tongue ---- */

enum { TONGUE_FRAMES = 13 };

/* From rest to put out and to the left: the hydrostat's groups squeeze, the posterior and middle
 * parts of genioglossus draw the root forward, and the jaw, which carries it, slides; @jaw: how
 * much of that. */
static void
tongue_track(const PlaActiveModel *model, double jaw, PlaActivation *out)
{
  static const char *const groups[] = { "transversus",         "verticalis",
                                        "genioglossus medius", "genioglossus posterior",
                                        "mylohyoid",           "geniohyoid" };
  PlaError err = { 0 };
  const size_t nc = (size_t)pla_active_n_controls(model), nm = (size_t)pla_active_n_muscles(model);
  g_autofree double *end = g_new0(double, nc);
  for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
    set_pair(model, end, groups[i], 0.8, 0.95);
  end[nm + PLA_JAW_RIGHT] = 0.010 * jaw;
  end[nm + PLA_JAW_LEFT] = 0.004 * jaw;
  bar_ok(pla_activation_init(out, model, TONGUE_FRAMES, 60.0, &err), &err);
  for (size_t c = 0; c < nc; c++)
    for (size_t f = 0; f < TONGUE_FRAMES; f++)
      out->control[f * nc + c] = end[c] * (double)f / (TONGUE_FRAMES - 1);
}

/* how far the tip goes over a take, m */
static void
tip_way(const PlaActiveBody *body, const PlaTake *take, double way[3])
{
  const int tip = pla_marker_set_find(&body->markers, "tip"), n = take->n_markers;
  for (int d = 0; d < 3; d++)
    way[d] = take->pos[3 * ((take->n_frames - 1) * n + tip) + d] - take->pos[3 * tip + d];
}

/* all points of a take go forward by @way */
static void
ask_forward(PlaTake *take, const double *rest, double way)
{
  for (int f = 0; f < TONGUE_FRAMES; f++)
    for (int i = 0; i < 22; i++)
      for (int d = 0; d < 3; d++)
        take->pos[3 * (f * 22 + i) + d] =
            rest[3 * i + d] + (d == 1) * way * f / (TONGUE_FRAMES - 1);
}

/* 22 points of a shape made by known activations, left and right apart, that carries the tip about
 * 10 mm forward and 5 mm aside, are met to far below 0.5 mm.  Muscles alone put the tip out by
 * about 4 mm, as the fan of genioglossus ends close behind it; the rest is the jaw's.  "All 22
 * points 10 mm forward" is mostly the jaw's, too: with it at rest that is not a shape that muscles
 * can make, and what remains is told. */
static void
test_tongue(void)
{
  if (g_getenv("PLA_SMALL")) {
    g_test_skip("too slow with sanitizers");
    return;
  }
  PlaActiveBody *body = phantom_body("tongue", g_getenv("PLA_LONG") ? 4.0 : 7.0);
  PlaActivation truth, found;
  PlaActivationReport report;
  PlaFitResult result;
  PlaTake *take;
  PlaError err = { 0 };
  const PlaMarkerMatchOptions label = pla_marker_match_options_default();
  PlaFitOptions opts = pla_fit_options_default();
  opts.acceleration = 0.0;    /* shapes, each on its own */
  opts.head = PLA_HEAD_FIXED; /* the tongue's points alone do not tell where the head is */
  g_assert_cmpint(body->markers.n, ==, 22);
  const int tip = pla_marker_set_find(&body->markers, "tip");
  double way[3], alone[3];
  tongue_track(body->model, 0.0, &truth);
  bar_ok(pla_activation_take(body, &truth, NULL, NULL, &take, &report, &err), &err);
  tip_way(body, take, alone);
  pla_activation_clear(&truth);
  pla_take_free(take);
  tongue_track(body->model, 1.0, &truth);
  bar_ok(pla_activation_take(body, &truth, NULL, NULL, &take, &report, &err), &err);
  g_assert_cmpint(report.unsolved, ==, 0);
  g_assert_cmpint(report.inverted, ==, 0);
  tip_way(body, take, way);
  g_test_message("tip: %.1f mm forward and %.1f mm aside; without the jaw %.1f and %.1f",
                 1e3 * way[1], 1e3 * fabs(way[0]), 1e3 * alone[1], 1e3 * fabs(alone[0]));
  g_assert_cmpfloat(way[1], >, 8.5e-3);
  g_assert_cmpfloat(fabs(way[0]), >, 4e-3);
  bar_ok(pla_activation_fit(body, take, &label, &opts, &found, &result, &err), &err);
  g_test_message("22 points: %.4f mm rms, %.4f mm at most", 1e3 * result.rms_m, 1e3 * result.max_m);
  g_assert_cmpfloat(result.rms_m, <, 5e-4);
  pla_activation_clear(&found);
  pla_fit_result_clear(&result);

  double rest[3 * 22];
  memcpy(rest, take->pos, sizeof rest);
  double worst = 0.0, left[2]; /* m: of a frame without the jaw; in all, without and with it */
  for (int k = 0; k < 2; k++) {
    bool told = false;
    ask_forward(take, rest, 0.010);
    opts.jaw = k > 0;
    bar_ok(pla_activation_fit(body, take, &label, &opts, &found, &result, &err), &err);
    for (int i = 0; i < result.notes.n; i++)
      told |= strstr(result.notes.text[i], "unexplained") != NULL;
    g_test_message(
        "all points 10 mm forward, jaw %s: %.2f mm rms remain in frame %d, %.2f mm in all%s",
        k ? "too" : "at rest", 1e3 * result.worst_frame_rms_m, result.worst_frame + 1,
        1e3 * result.rms_m, told ? "; it is told" : "");
    worst = fmax(worst, result.worst_frame_rms_m);
    left[k] = result.rms_m;
    g_assert_true(told || k > 0);
    pla_activation_clear(&found);
    pla_fit_result_clear(&result);
  }
  /* nothing promises that such a shape can be made; the jaw takes most of it over */
  g_assert_cmpfloat(worst, >, 1e-3);
  g_assert_cmpfloat(left[1], <, 0.5 * left[0]);
  pla_activation_clear(&truth);
  pla_take_free(take);

  /* stronger muscles exaggerate beyond full activation, which stays at most 1 */
  PlaActiveBodyOptions strong = { .cell_mm = g_getenv("PLA_LONG") ? 4.0 : 7.0, .strength = 1.5 };
  PlaActiveBody *other;
  double moved[2] = { 0 };
  bar_ok(pla_active_body_from_phantom("tongue", &strong, NULL, &other, &err), &err);
  for (int k = 0; k < 2; k++) {
    const PlaActiveBody *of = k ? other : body;
    PlaActivation full;
    PlaTake *shape;
    bar_ok(pla_activation_init(&full, of->model, 1, 60.0, &err), &err);
    set_pair(of->model, full.control, "superior longitudinal", 0.5, 0.5);
    bar_ok(pla_activation_take(of, &full, NULL, NULL, &shape, &report, &err), &err);
    g_assert_cmpint(report.inverted, ==, 0);
    double p[3];
    pla_marker_place(&of->markers.site[tip], of->mesh->pos, p);
    for (int d = 0; d < 3; d++)
      moved[k] += pow(shape->pos[3 * tip + d] - p[d], 2.0);
    pla_take_free(shape);
    pla_activation_clear(&full);
  }
  g_test_message("tip: %.2f mm, %.2f mm with muscles half as strong again", 1e3 * sqrt(moved[0]),
                 1e3 * sqrt(moved[1]));
  g_assert_cmpfloat(moved[1], >, moved[0]);
  pla_active_body_free(other);
  pla_active_body_free(body);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/activation/track", test_track);
  g_test_add_func("/activation/formats", test_formats);
  g_test_add_func("/activation/lips", test_lips);
  g_test_add_func("/activation/pressed-lips", test_pressed_lips);
  g_test_add_func("/activation/face", test_face);
  g_test_add_func("/activation/tongue", test_tongue);
  return g_test_run();
}
