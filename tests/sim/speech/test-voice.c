/* The articulatory synthesiser: tubes against closed forms and against each other, sounds against
 * what phonetics says of them. */
#include "sim/speech/fft.h"
#include "sim/speech/formants.h"
#include "sim/speech/voice.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static PlaTube
uniform_tube(int n, double length, double area)
{
  PlaTube tube = { .n = n };
  for (int i = 0; i < n; i++) {
    tube.area[i] = area;
    tube.length[i] = length / n;
  }
  return tube;
}

/* closed at one end, open at the other: odd multiples of c / 4 L */
static void
test_uniform(void)
{
  const PlaTubeOptions ideal = { false, false }, real = { true, true };
  const PlaTube tube = uniform_tube(17, 0.175, 5e-4);
  double hz[4];
  g_assert_cmpint(pla_tube_formants(&tube, &ideal, 5000.0, 4, hz), ==, 4);
  for (int i = 0; i < 4; i++)
    g_assert_cmpfloat_with_epsilon(hz[i], (2 * i + 1) * PLA_SOUND_SPEED / (4.0 * 0.175), 0.2);
  /* any cut into sections is the same tube */
  const PlaTube fine = uniform_tube(100, 0.175, 5e-4);
  g_assert_cmpfloat(cabs(pla_tube_transfer(&tube, &real, 1234.0) -
                         pla_tube_transfer(&fine, &real, 1234.0)),
                    <, 1e-9);
  /* the opening's air makes it longer, by 8 r / 3 pi; walls that yield raise the first */
  double lower[4];
  g_assert_cmpint(pla_tube_formants(&tube, &real, 5000.0, 4, lower), ==, 4);
  const double longer = 0.175 + 8.0 / (3.0 * M_PI) * sqrt(5e-4 / M_PI);
  g_assert_cmpfloat_with_epsilon(lower[1], 3.0 * PLA_SOUND_SPEED / (4.0 * longer), 25.0);
  g_assert_cmpfloat(lower[0], >, PLA_SOUND_SPEED / (4.0 * longer));
}

/* two tubes: A2 tan(k l2) tan(k l1) = A1 */
static void
test_two_tubes(void)
{
  PlaTube tube = { .n = 2, .area = { 1e-4, 8e-4 }, .length = { 0.09, 0.08 } };
  const PlaTubeOptions ideal = { false, false };
  double hz[3];
  g_assert_cmpint(pla_tube_formants(&tube, &ideal, 5000.0, 3, hz), ==, 3);
  for (int i = 0; i < 3; i++) {
    const double k = 2.0 * M_PI * hz[i] / PLA_SOUND_SPEED;
    g_assert_cmpfloat_with_epsilon(
        sin(k * 0.08) * sin(k * 0.09) * 1e-4 - cos(k * 0.08) * cos(k * 0.09) * 8e-4, 0.0, 4e-7);
  }
}

/* travelling waves in time have the resonances of the chain matrices */
static void
test_waves(void)
{
  enum { N = 65536 };
  const PlaTubeOptions ideal = { false, false };
  PlaFft *fft = pla_fft_new(N);
  double *re = g_new0(double, N), *im = g_new0(double, N);
  for (int kind = 0; kind < 3; kind++) {
    PlaWaves waves;
    PlaWaveShape shape = { 0 };
    PlaTube tube = { .n = PLA_WAVE_SECTIONS };
    pla_waves_init(&waves, 0.17);
    waves.lossless = true;
    for (int i = 0; i < PLA_WAVE_SECTIONS; i++) {
      const double x = (i + 0.5) / PLA_WAVE_SECTIONS;
      shape.area[i] = tube.area[i] = kind == 0   ? 3e-4
                                     : kind == 1 ? 1e-4 * (1.0 + 5.0 * x)
                                                 : 1e-4 * (3.0 + 2.5 * sin(7.0 * x));
      tube.length[i] = 0.17 / PLA_WAVE_SECTIONS;
    }
    pla_waves_set(&waves, &shape);
    double hz[4];
    const int n = pla_tube_formants(&tube, &ideal, 4000.0, 4, hz);
    g_assert_cmpint(n, ==, 4);
    memset(im, 0, N * sizeof *im);
    /* a lossless tube rings for ever: a window makes lines of its modes */
    for (int i = 0; i < N; i++)
      re[i] = pla_waves_step(&waves, i == 0 ? 1e-4 : 0.0, 0.0, -1) *
              (0.5 - 0.5 * cos(2.0 * M_PI * i / N));
    pla_fft_forward(fft, re, im);
    for (int f = 0; f < n; f++) {
      /* waves step half a section before and after the ends: one sample of delay in all */
      const int around = (int)(hz[f] * N / waves.rate_hz);
      int best = around - 200;
      for (int k = around - 200; k < around + 200; k++)
        if (hypot(re[k], im[k]) > hypot(re[best], im[best]))
          best = k;
      g_assert_cmpfloat_with_epsilon(best * waves.rate_hz / N, hz[f], 0.012 * hz[f]);
    }
  }
  pla_fft_free(fft);
  g_free(re);
  g_free(im);
}

static void
formants_of(const char *ipa, double hz[3])
{
  PlaTract tract;
  PlaTube tube;
  const PlaTubeOptions real = { true, true };
  pla_tract_shape(pla_sound_find(ipa)->target, &tract);
  pla_tract_tube(&tract, &tube);
  g_assert_cmpint(pla_tube_formants(&tube, &real, 5000.0, 3, hz), ==, 3);
}

/* the vowel triangle: /i/ low first and high second formant, /a/ high first, /u/ both low */
static void
test_vowels(void)
{
  double i[3], a[3], u[3], schwa[3];
  formants_of("i", i);
  formants_of("ɑ", a);
  formants_of("u", u);
  formants_of("ə", schwa);
  g_test_message("i %.0f %.0f, a %.0f %.0f, u %.0f %.0f", i[0], i[1], a[0], a[1], u[0], u[1]);
  g_assert_cmpfloat(i[0], <, 380.0);
  g_assert_cmpfloat(i[1], >, 2200.0);
  g_assert_cmpfloat(a[0], >, 650.0);
  g_assert_cmpfloat(a[1], <, 1450.0);
  g_assert_cmpfloat(u[0], <, 430.0);
  g_assert_cmpfloat(u[1], <, 1150.0);
  g_assert_cmpfloat(schwa[0], >, 450.0);
  g_assert_cmpfloat(schwa[1], >, 1300.0);
}

/* stops close the tract where they should, hisses leave a narrow place, vowels are open */
static void
test_places(void)
{
  static const struct {
    const char *ipa;
    double from, to; /* mm from the lips */
  } places[] = { { "p", 0, 12 },  { "t", 18, 32 }, { "k", 48, 80 }, { "s", 14, 32 },
                 { "ʃ", 20, 40 }, { "l", 18, 32 }, { "i", 35, 65 } };
  for (size_t k = 0; k < G_N_ELEMENTS(places); k++) {
    const PlaSound *phone = pla_sound_find(places[k].ipa);
    PlaTract tract;
    pla_tract_shape(phone->target, &tract);
    int narrow = 10;
    for (int i = 10; i < PLA_TRACT_WALL; i++)
      if (tract.area_mm2[i] < tract.area_mm2[narrow])
        narrow = i;
    const double away = tract.along_mm[PLA_TRACT_WALL - 1] - tract.along_mm[narrow];
    g_test_message("%s: %.1f mm2, %.0f mm behind the lips", places[k].ipa, tract.area_mm2[narrow],
                   away);
    g_assert_cmpfloat(away, >=, places[k].from);
    g_assert_cmpfloat(away, <=, places[k].to);
    if (phone->kind == PLA_SOUND_STOP)
      g_assert_cmpfloat(tract.area_mm2[narrow], <, 0.01);
    else if (phone->kind == PLA_SOUND_FRICATIVE)
      g_assert_cmpfloat(tract.area_mm2[narrow], <, 30.0);
  }
  for (int i = 0; i < pla_sound_count(); i++) {
    const PlaSound *phone = pla_sound_get(i);
    double sensor[PLA_SENSOR_CHANNELS];
    PlaTract tract;
    if (phone->kind != PLA_SOUND_VOWEL)
      continue;
    memcpy(sensor, phone->target, sizeof sensor);
    g_assert_cmpint(pla_tract_keep_below(sensor), ==, 0);
    pla_tract_shape(phone->target, &tract);
    for (int k = 0; k < PLA_TRACT_WALL; k++)
      g_assert_cmpfloat(tract.area_mm2[k], >, 10.0);
  }
}

/* written phonemes become sounds; unknown letters and broken text do no harm */
static void
test_parse(void)
{
  PlaSegment s[4];
  g_assert_cmpint(pla_sounds_parse("aɪ", 1.0, 2.0, s, 4), ==, 2);
  g_assert_cmpstr(s[1].phone->ipa, ==, "ɪ");
  g_assert_cmpfloat(s[1].from, ==, 1.5);
  g_assert_cmpint(pla_sounds_parse("tʃʰ", 0.0, 1.0, s, 4), ==, 2);
  g_assert_cmpint(pla_sounds_parse("ɜː", 0.0, 1.0, s, 4), ==, 1);
  g_assert_cmpint(pla_sounds_parse("g", 0.0, 1.0, s, 4), ==, 1);
  g_assert_cmpint(pla_sounds_parse("", 0.0, 1.0, s, 4), ==, 0);
  g_assert_cmpint(pla_sounds_parse("\xc9", 0.0, 1.0, s, 4), ==, 0);
  g_assert_cmpint(pla_sounds_parse("???", 0.0, 1.0, s, 4), ==, 0);
  g_assert_cmpint(pla_sounds_parse("iiiiii", 0.0, 1.0, s, 4), ==, 4);
}

/* in the middle of a long sound its target is reached, between sounds the path is smooth */
static void
test_gestures(void)
{
  const PlaArticulation how = pla_articulation_default();
  const PlaSound *a = pla_sound_find("ɑ"), *t = pla_sound_find("t"), *i = pla_sound_find("i");
  const PlaSegment s[3] = { { a, 0.0, 0.3 }, { t, 0.3, 0.4 }, { i, 0.4, 0.7 } };
  double sensor[PLA_SENSOR_CHANNELS];
  pla_segments_sensors(s, 3, &how, 0.1, sensor);
  for (int c = 0; c < PLA_SENSOR_CHANNELS; c++)
    g_assert_cmpfloat_with_epsilon(sensor[c], a->target[c], 0.05);
  pla_segments_sensors(s, 3, &how, 0.35, sensor);
  g_assert_cmpfloat_with_epsilon(sensor[7], t->target[7], 1.0); /* the tip is up */
  /* the back of the tongue is on its way from one vowel to the other */
  g_assert_cmpfloat(sensor[3], <, a->target[3] - 1.0);
  g_assert_cmpfloat(sensor[3], >, i->target[3] + 1.0);
  enum { N = 700 };
  static double value[N][PLA_SENSOR_CHANNELS];
  pla_segments_track(s, 3, &how, 1000.0, 0.0, N, &value[0][0]);
  for (int k = 1; k < N; k++)
    for (int c = 0; c < PLA_SENSOR_CHANNELS; c++)
      g_assert_cmpfloat(fabs(value[k][c] - value[k - 1][c]), <, 0.6); /* 600 mm/s */
}

/* what is heard of a spoken vowel is what its tube has; a hiss and silence have no voice */
static void
test_heard(void)
{
  static const char *const vowels[] = { "i", "ɛ", "ɑ", "o" };
  const PlaSpeaker speaker = pla_speaker_default();
  for (size_t v = 0; v < G_N_ELEMENTS(vowels); v++) {
    const PlaSegment s[2] = { { pla_sound_find(vowels[v]), 0.0, 0.5 },
                              { pla_sound_find("s"), 0.5, 0.9 } };
    PlaRandom random = pla_random_start(11);
    double *sample, tube[3], hz[90 * PLA_FORMANTS], mean[2] = { 0 };
    size_t n;
    g_assert_cmpint(pla_voice_say(&speaker, s, 2, 0.9, &random, &sample, &n, NULL), ==, PLA_OK);
    const int voiced = pla_formants_track(sample, n, 90, hz);
    g_assert_cmpint(voiced, >, 35);
    g_assert_cmpint(voiced, <, 62);
    for (int t = 15; t < 35; t++)
      for (int k = 0; k < 2; k++)
        mean[k] += hz[PLA_FORMANTS * t + k] / 20.0;
    g_assert_true(isnan(hz[PLA_FORMANTS * 70]));
    formants_of(vowels[v], tube);
    g_test_message("%s: tube %.0f %.0f, heard %.0f %.0f Hz", vowels[v],
                   tube[0] / speaker.length_factor, tube[1] / speaker.length_factor, mean[0],
                   mean[1]);
    for (int k = 0; k < 2; k++)
      g_assert_cmpfloat(fabs(mean[k] * speaker.length_factor / tube[k] - 1.0), <, 0.15);
    free(sample);
  }
  double silence[PLA_FORMANT_SAMPLES] = { 0 }, hz[PLA_FORMANTS];
  g_assert_false(pla_formants_hear(silence, 0.0, hz));
  g_assert_true(isnan(hz[0]));
}

static double
band_energy(const double *sample, size_t n, double from_hz, double to_hz)
{
  enum { SIZE = 1024 };
  PlaFft *fft = pla_fft_new(SIZE);
  double sum = 0.0;
  for (size_t first = 0; first + SIZE <= n; first += SIZE / 2) {
    double re[SIZE], im[SIZE] = { 0 };
    for (int i = 0; i < SIZE; i++)
      re[i] = sample[first + (size_t)i] * (0.5 - 0.5 * cos(2.0 * M_PI * i / SIZE));
    pla_fft_forward(fft, re, im);
    for (int k = (int)(from_hz * SIZE / 16000.0); k < (int)(to_hz * SIZE / 16000.0); k++)
      sum += re[k] * re[k] + im[k] * im[k];
  }
  pla_fft_free(fft);
  return sum;
}

/* [s] hisses above 3.5 kHz, vowels below; a held [t] is silent; the same bits again */
static void
test_sound(void)
{
  const PlaSpeaker speaker = pla_speaker_default();
  const PlaSegment s[6] = {
    { pla_sound_silence(), 0.0, 0.1 },  { pla_sound_find("ɑ"), 0.1, 0.4 },
    { pla_sound_find("s"), 0.4, 0.7 },  { pla_sound_find("i"), 0.7, 1.0 },
    { pla_sound_find("t"), 1.0, 1.25 }, { pla_sound_find("i"), 1.25, 1.4 }
  };
  double *sample, *again;
  size_t n, n_again;
  PlaRandom random = pla_random_start(4), same = pla_random_start(4);
  g_assert_cmpint(pla_voice_say(&speaker, s, 6, 1.4, &random, &sample, &n, NULL), ==, PLA_OK);
  g_assert_cmpint(pla_voice_say(&speaker, s, 6, 1.4, &same, &again, &n_again, NULL), ==, PLA_OK);
  g_assert_cmpuint(n, ==, n_again);
  g_assert_true(memcmp(sample, again, n * sizeof *sample) == 0);
  for (size_t k = 0; k < n; k++)
    g_assert_true(fabs(sample[k]) <= 1.0);
#define PART(from, to) sample + (size_t)((from)*16000), (size_t)(((to) - (from)) * 16000)
  const double s_high = band_energy(PART(0.47, 0.63), 3500, 8000);
  const double s_low = band_energy(PART(0.47, 0.63), 200, 3000);
  const double a_high = band_energy(PART(0.2, 0.35), 3500, 8000);
  const double a_low = band_energy(PART(0.2, 0.35), 200, 3000);
  g_test_message("s: high/low %.2f, a: %.4f", s_high / s_low, a_high / a_low);
  g_assert_cmpfloat(s_high, >, 2.0 * s_low);
  g_assert_cmpfloat(a_high, <, 0.1 * a_low);
  /* the second formant is at 2.3 kHz in /i/, at 1.2 in /a/ */
  g_assert_cmpfloat(band_energy(PART(0.78, 0.95), 2000, 2800), >,
                    band_energy(PART(0.78, 0.95), 900, 1600));
  g_assert_cmpfloat(band_energy(PART(0.2, 0.35), 2000, 2800), <,
                    0.2 * band_energy(PART(0.2, 0.35), 900, 1600));
  const double held = band_energy(PART(1.1, 1.17), 100, 8000);
  g_assert_cmpfloat(held, <, 0.01 * band_energy(PART(0.2, 0.27), 100, 8000));
#undef PART
  free(sample);
  free(again);
}

/* what a microphone does: level, noise and band */
static void
test_recording(void)
{
  enum { N = 16000 };
  static double sample[N];
  PlaRandom random = pla_random_start(8);
  for (int i = 0; i < N; i++)
    sample[i] = 0.05 * pla_random_normal(&random);
  const PlaRecording telephone = { .gain_db = -6.0, .noise_db = -80.0, .band_hz = 3700.0 };
  const double high = band_energy(sample, N, 4500, 8000), low = band_energy(sample, N, 300, 3000);
  g_assert_cmpint(pla_recording_apply(&telephone, &random, sample, N, NULL), ==, PLA_OK);
  g_assert_cmpfloat(band_energy(sample, N, 4500, 8000), <, 1e-3 * high);
  g_assert_cmpfloat_with_epsilon(band_energy(sample, N, 300, 3000) / low, 0.251, 0.01);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/voice/uniform", test_uniform);
  g_test_add_func("/voice/two-tubes", test_two_tubes);
  g_test_add_func("/voice/waves", test_waves);
  g_test_add_func("/voice/vowels", test_vowels);
  g_test_add_func("/voice/places", test_places);
  g_test_add_func("/voice/parse", test_parse);
  g_test_add_func("/voice/gestures", test_gestures);
  g_test_add_func("/voice/heard", test_heard);
  g_test_add_func("/voice/sound", test_sound);
  g_test_add_func("/voice/recording", test_recording);
  return g_test_run();
}
