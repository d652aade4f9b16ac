/* The phantom's tongue in its own plane, at the targets of single sounds: it touches the palate
 * where the sound is made, stays away where it is not, and vowels have their places. */
#include "anatomy/base/mat3.h"
#include "sim/speech/sounds.h"
#include "sim/tongue/airway.h"
#include "sim/tongue/tongue-phantom.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static PlaTongue *tongue;
static PlaTongueBody *body;

static void
build(void)
{
  PlaTonguePhantom phantom;
  PlaTongueInput input = pla_tongue_input_default();
  PlaTongueBodyOptions options = pla_tongue_body_options_default();
  PlaCoilFit fit;
  PlaError err;
  const double cell_mm = g_getenv("PLA_SMALL") ? 7.0 : 5.5;
  if (pla_tongue_phantom_init(&phantom, cell_mm, NULL, &err) != PLA_OK)
    g_error("%s", err.message);
  pla_tongue_phantom_input(&phantom, &input);
  pla_tongue_phantom_fit(&phantom, &fit);
  input.fit = &fit;
  input.n_poses = 8;
  input.cubature.pool = 200;
  input.cubature.most = 40;
  if (pla_tongue_new(&input, NULL, &tongue, &err) != PLA_OK)
    g_error("%s", err.message);
  options.quasistatic = true;
  g_assert_cmpint(pla_tongue_body_new(tongue, &options, &body, &err), ==, PLA_OK);
  pla_tongue_phantom_clear(&phantom);
}

/* the tongue at the targets of @ipa; its highest place, (forward, up), mm */
static void
hold(const char *ipa, PlaAirway *airway, double highest[2])
{
  double coils[2 * PLA_N_COILS], sensors[PLA_SENSOR_CHANNELS];
  PlaTongueReport report;
  PlaError err;
  memcpy(sensors, pla_sound_find(ipa)->target, sizeof sensors);
  pla_tract_keep_below(sensors);
  for (int i = 0; i < 2 * PLA_N_COILS; i++)
    coils[i] = -sensors[i]; /* forward and up */
  pla_tongue_body_restart(body);
  g_assert_cmpint(pla_tongue_body_step(body, coils, &report, &err), ==, PLA_OK);
  g_assert_cmpint(report.projected, ==, 0);
  g_assert_cmpfloat(report.step.sensor_error, <, 1e-9);
  g_assert_cmpfloat(report.step.max_penetration, <, 0.5e-3);
  g_assert_cmpfloat(fabs(report.step.volume_ratio - 1.0), <, 0.02);
  /* coils are where the sensors are: no scale, no turn */
  const PlaCoilFit *fit = pla_tongue_get_fit(tongue);
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
    const double *at = pla_tongue_body_get_pos(body) + 3 * fit->vert[k];
    g_assert_cmpfloat_with_epsilon(1000.0 * at[1], PLA_SENSOR_X0 - sensors[2 * k], 1e-6);
    g_assert_cmpfloat_with_epsilon(1000.0 * at[2], PLA_SENSOR_Y0 - sensors[2 * k + 1], 1e-6);
  }
  pla_airway_measure(tongue, pla_tongue_body_get_pos(body), coils, airway);
  highest[1] = -INFINITY;
  for (int s = 0; s < airway->n; s++)
    if (airway->line[s][1] * 1000.0 > highest[1])
      for (int a = 0; a < 2; a++)
        highest[a] = 1000.0 * airway->line[s][a];
}

/* the body's least distance from the palate in the midsagittal plane between two places, mm to the
 * front */
static double
least_gap(double from, double to)
{
  const PlaOutline *outline = pla_tongue_get_outline(tongue);
  const PlaHeadFrame *frame = pla_tongue_get_frame(tongue);
  g_autofree double *line = g_new(double, 2 * outline->n);
  double least = INFINITY;
  bool with_jaw;
  pla_outline_place(outline, frame, pla_tongue_body_get_pos(body), line);
  for (int i = 0; i < outline->n_dorsum; i++) {
    double pos[3];
    pla_head_frame_point(frame, line + 2 * i, pos);
    for (int d = 0; d < 3; d++)
      pos[d] *= 1000.0;
    if (pos[1] >= from && pos[1] <= to)
      least = fmin(least, pla_levelset_at(pla_tongue_get_solid(tongue, 0, &with_jaw), pos));
  }
  return least;
}

static void
test_contact(void)
{
  static const struct {
    const char *ipa;
    double from, to; /* where, mm to the front */
    double most;     /* gap, mm */
  } places[] = { { "t", 74, 92, 1.0 }, { "d", 74, 92, 1.0 },     { "n", 74, 92, 1.0 },
                 { "l", 74, 92, 1.0 }, { "s", 74, 92, 1.0 },     { "z", 74, 92, 1.0 },
                 { "k", 40, 56, 1.0 }, { "\u0261", 40, 56, 1.0 } };
  for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
    PlaAirway airway;
    double highest[2];
    hold(places[i].ipa, &airway, highest);
    const double here = least_gap(places[i].from, places[i].to);
    const bool front = places[i].from > 60;
    const double elsewhere = front ? least_gap(40, 56) : least_gap(70, 92);
    g_test_message("%s: %.2f mm from the palate, %.2f mm elsewhere", places[i].ipa, here,
                   elsewhere);
    g_assert_cmpfloat(here, <, places[i].most);
    g_assert_cmpfloat(elsewhere, >, 3.0);
  }
}

/* the tube above the mesh sounds as the synthesiser's own tract does with the same sensors, and
 * vowels are where they should be among first and second formants */
static void
test_formants(void)
{
  static const char *const ipa[] = { "i", "ɑ", "u" };
  const PlaTubeOptions real = { true, true };
  double hz[3][2];
  for (int v = 0; v < 3; v++) {
    PlaAirway airway;
    PlaTract tract;
    PlaTube tube;
    double highest[2], own[2];
    hold(ipa[v], &airway, highest);
    g_assert_cmpint(pla_airway_formants(&airway, 2, hz[v]), ==, 2);
    pla_tract_shape(pla_sound_find(ipa[v])->target, &tract);
    pla_tract_tube(&tract, &tube);
    g_assert_cmpint(pla_tube_formants(&tube, &real, 5000.0, 2, own), ==, 2);
    g_test_message("%s: %.0f %.0f Hz, by the tract %.0f %.0f", ipa[v], hz[v][0], hz[v][1], own[0],
                   own[1]);
    for (int k = 0; k < 2;
         k++) /* the root is not pulled forward by muscles, which the tract does for i */
      g_assert_cmpfloat(fabs(log(hz[v][k] / own[k])), <, log(1.2));
  }
  g_assert_cmpfloat(hz[0][1], >, 1.5 * hz[1][1]); /* front vowels have a high second one */
  g_assert_cmpfloat(hz[0][1], >, 1.5 * hz[2][1]);
  g_assert_cmpfloat(hz[1][0], >, 1.4 * hz[0][0]); /* open ones a high first one */
  g_assert_cmpfloat(hz[1][0], >, 1.3 * hz[2][0]);
  g_assert_cmpfloat(hz[2][1], <, hz[1][1]); /* and lips a low second one */
}

static void
test_vowels(void)
{
  static const char *const ipa[] = { "i", "a", "u" };
  double highest[3][2];
  PlaAirway airway;
  for (int v = 0; v < 3; v++) {
    hold(ipa[v], &airway, highest[v]);
    g_test_message("%s: highest %.1f mm to the front, %.1f mm up", ipa[v], highest[v][0],
                   highest[v][1]);
    g_assert_cmpfloat(least_gap(40, 92), >, 1.0);
  }
  /* high front, low, high back */
  g_assert_cmpfloat(highest[0][1], >, highest[1][1] + 6.0);
  g_assert_cmpfloat(highest[2][1], >, highest[1][1] + 6.0);
  g_assert_cmpfloat(highest[0][0], >, highest[2][0] + 5.0);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/spoken-tongue/contact", test_contact);
  g_test_add_func("/spoken-tongue/vowels", test_vowels);
  g_test_add_func("/spoken-tongue/formants", test_formants);
  build();
  const int status = g_test_run();
  pla_tongue_body_free(body);
  pla_tongue_free(tongue);
  return status;
}
