/* From sound to numbers: transforms, resampling, cepstra, smoothing. */
#include "anatomy/base/random.h"
#include "sim/speech/fft.h"
#include "sim/speech/resample.h"
#include "sim/speech/speech-features.h"
#include "sim/speech/speech-smooth.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* against the sum itself, and back */
static void
test_fft(void)
{
  enum { N = 64 };
  PlaRandom random = pla_random_start(3);
  double re[N], im[N], x[N], y[N];
  PlaFft *fft = pla_fft_new(N);
  for (int i = 0; i < N; i++) {
    re[i] = x[i] = pla_random_normal(&random);
    im[i] = y[i] = pla_random_normal(&random);
  }
  pla_fft_forward(fft, re, im);
  for (int k = 0; k < N; k++) {
    double r = 0.0, m = 0.0;
    for (int j = 0; j < N; j++) {
      const double a = -2.0 * M_PI * j * k / N;
      r += x[j] * cos(a) - y[j] * sin(a);
      m += x[j] * sin(a) + y[j] * cos(a);
    }
    g_assert_cmpfloat_with_epsilon(re[k], r, 1e-12);
    g_assert_cmpfloat_with_epsilon(im[k], m, 1e-12);
  }
  pla_fft_inverse(fft, re, im);
  for (int i = 0; i < N; i++) {
    g_assert_cmpfloat_with_epsilon(re[i] / N, x[i], 1e-14);
    g_assert_cmpfloat_with_epsilon(im[i] / N, y[i], 1e-14);
  }
  pla_fft_free(fft);
}

static double *
resample_all(double from_hz, const double *in, size_t n, size_t piece, size_t *n_out)
{
  PlaResampler *resampler;
  double *out = NULL;
  size_t capacity = 0;
  *n_out = 0;
  g_assert_cmpint(pla_resampler_new(from_hz, 16000.0, &resampler, NULL), ==, PLA_OK);
  for (size_t i = 0; i < n; i += piece) {
    const size_t many = MIN(piece, n - i);
    g_assert_true(
        pla_resampler_push(resampler, in + i, many, i + many == n, &out, n_out, &capacity));
  }
  pla_resampler_free(resampler);
  return out;
}

/* a tone keeps its frequency, phase and height; what lies above 8 kHz goes; pieces do not matter */
static void
test_resample(void)
{
  static const double rates[] = { 8000.0,  11025.0, 16000.0, 22050.0,
                                  44100.0, 48000.0, 96000.0, 44056.25 };
  for (size_t r = 0; r < G_N_ELEMENTS(rates); r++) {
    const size_t n = (size_t)(0.5 * rates[r]);
    double *in = g_new(double, n), *high = g_new(double, n);
    for (size_t i = 0; i < n; i++) {
      in[i] = cos(2.0 * M_PI * 1000.0 * (double)i / rates[r]);
      high[i] = cos(2.0 * M_PI * 11000.0 * (double)i / rates[r]);
    }
    size_t n_out, n_pieces;
    double *out = resample_all(rates[r], in, n, n, &n_out);
    double *pieces = resample_all(rates[r], in, n, 137, &n_pieces);
    g_assert_cmpuint(n_out, ==, n_pieces);
    g_assert_cmpint(labs((long)n_out - 8000), <=, 1);
    g_assert_true(memcmp(out, pieces, n_out * sizeof *out) == 0);
    double worst = 0.0, passed = 0.0;
    for (size_t i = 200; i < n_out - 200; i++)
      worst = fmax(worst, fabs(out[i] - cos(2.0 * M_PI * 1000.0 * (double)i / 16000.0)));
    g_assert_cmpfloat(worst, <, 2e-4);
    if (rates[r] > 22050.0) {
      size_t n_high;
      double *gone = resample_all(rates[r], high, n, n, &n_high);
      for (size_t i = 200; i < n_high - 200; i++)
        passed = fmax(passed, fabs(gone[i]));
      g_assert_cmpfloat(passed, <, 2e-4);
      free(gone);
    }
    free(out);
    free(pieces);
    g_free(in);
    g_free(high);
  }
  PlaResampler *none;
  PlaError err;
  g_assert_cmpint(pla_resampler_new(3.0, 16000.0, &none, &err), ==, PLA_ERR_UNSUPPORTED);
}

/* the weights of the literature, cubics kept at every place, ends included */
static void
test_smooth(void)
{
  static const double middle[] = { -171, -76, 9, 84, 149, 204, 249, 284, 309, 324, 329 };
  double w[PLA_SMOOTH_MAX];
  pla_smooth_weights(21, 3, 10, w);
  for (int i = 0; i < 21; i++)
    g_assert_cmpfloat_with_epsilon(w[i], middle[i <= 10 ? i : 20 - i] / 3059.0, 1e-15);
  enum { N = 60 };
  for (int n = 5; n <= 41; n += 2) {
    double value[N][2];
    for (int t = 0; t < N; t++) {
      value[t][0] = 1.0 + 0.2 * t - 0.01 * t * t + 1e-4 * t * t * t;
      value[t][1] = 5.0 - t;
    }
    g_assert_cmpint(pla_smooth(&value[0][0], N, 2, n, 3, NULL), ==, PLA_OK);
    for (int t = 0; t < N; t++) {
      g_assert_cmpfloat_with_epsilon(value[t][0], 1.0 + 0.2 * t - 0.01 * t * t + 1e-4 * t * t * t,
                                     1e-10);
      g_assert_cmpfloat_with_epsilon(value[t][1], 5.0 - t, 1e-11);
    }
  }
  /* noise falls by the sum of squared weights: 329 / 3059 */
  double sum = 0.0;
  for (int i = 0; i < 21; i++)
    sum += w[i] * w[i];
  g_assert_cmpfloat_with_epsilon(sum, 329.0 / 3059.0, 1e-14);
}

static void
speechlike(double *sample, int n)
{
  PlaRandom random = pla_random_start(11);
  for (int i = 0; i < n; i++) {
    const double t = (double)i / PLA_SPEECH_HZ;
    sample[i] = 0.1 * sin(2.0 * M_PI * (150.0 + 30.0 * sin(3.0 * t)) * t) * (1.0 + sin(9.0 * t)) +
                0.01 * pla_random_normal(&random);
  }
}

/* 39 numbers a frame, 100 frames a second, the same bits in pieces of any size */
static void
test_features(void)
{
  enum { N = 16000 + 240 };
  static double sample[N];
  speechlike(sample, N);
  for (int causal = 0; causal < 2; causal++) {
    PlaFeatures *whole, *pieces;
    g_assert_cmpint(pla_features_new(causal, &whole, NULL), ==, PLA_OK);
    g_assert_cmpint(pla_features_new(causal, &pieces, NULL), ==, PLA_OK);
    g_assert_true(pla_features_push(whole, sample, N, true));
    g_assert_cmpint(pla_features_count(whole), ==, 100);
    long seen = 0;
    for (int i = 0, k = 0; i < N; k++) {
      const int many = MIN(1 + k * 37 % 501, N - i);
      g_assert_true(pla_features_push(pieces, sample + i, (size_t)many, i + many == N));
      i += many;
      /* a frame is known look_ahead frames after its own sound */
      const long frames = i < 400 ? 0 : (i - 400) / 160 + 1;
      if (i < N)
        g_assert_cmpint(pla_features_count(pieces), ==,
                        MAX(0, frames - pla_features_look_ahead(pieces)));
      for (; seen < pla_features_count(pieces); seen++)
        g_assert_true(memcmp(pla_features_row(whole, seen), pla_features_row(pieces, seen),
                             PLA_N_FEATURES * sizeof(float)) == 0);
      pla_features_drop(pieces, seen);
    }
    g_assert_cmpint(seen, ==, 100);
    /* slopes are those of the cepstra, by the formula */
    for (long t = 12; t < 80; t++)
      for (int j = 0; j < PLA_N_STATIC; j++) {
        const long at = causal ? t - 2 : t;
        double slope = 0.0;
        for (int k = 1; k <= 2; k++)
          slope += k *
                   ((double)pla_features_row(whole, at + k)[j] -
                    (double)pla_features_row(whole, at - k)[j]) /
                   10.0;
        g_assert_cmpfloat_with_epsilon((double)pla_features_row(whole, t)[PLA_N_STATIC + j], slope,
                                       1e-4);
      }
    pla_features_free(whole);
    pla_features_free(pieces);
  }
}

/* cepstra do not hear the gain; a tone lights the band it is in */
static void
test_gain(void)
{
  enum { N = 8000 };
  static double quiet[N], loud[N];
  speechlike(loud, N);
  for (int i = 0; i < N; i++)
    quiet[i] = 0.25 * loud[i];
  PlaFeatures *a, *b;
  g_assert_cmpint(pla_features_new(false, &a, NULL), ==, PLA_OK);
  g_assert_cmpint(pla_features_new(false, &b, NULL), ==, PLA_OK);
  double x[PLA_N_STATIC], y[PLA_N_STATIC];
  pla_features_static(a, loud + 1000, loud[999], x);
  pla_features_static(b, quiet + 1000, quiet[999], y);
  for (int j = 0; j < 12; j++)
    g_assert_cmpfloat_with_epsilon(x[j], y[j], 1e-3);
  g_assert_cmpfloat_with_epsilon(x[12] - y[12], 2.0 * log(4.0), 1e-3);
  /* silence is finite */
  memset(quiet, 0, sizeof quiet);
  pla_features_static(a, quiet + 1000, 0.0, x);
  for (int j = 0; j < PLA_N_STATIC; j++)
    g_assert_true(isfinite(x[j]));
  g_assert_cmpfloat_with_epsilon(pla_mel(700.0), 2595.0 * log10(2.0), 1e-9);
  pla_features_free(a);
  pla_features_free(b);
}

/* a voice of @pitch_hz through resonances at three frequencies times @factor; the cepstra of a
 * frame */
static void
vowel_cepstra(double factor, double out[PLA_N_STATIC])
{
  static const double formant[3] = { 600.0, 1300.0, 2500.0 };
  enum { N = PLA_FRAME_SAMPLES };
  double sample[N] = { 0 };
  PlaFeatures *features;
  g_assert_cmpint(pla_features_new(false, &features, NULL), ==, PLA_OK);
  for (int h = 1; h * 100.0 < 7900.0; h++) {
    double gain = 0.01;
    for (int f = 0; f < 3; f++)
      gain += 1.0 / (1.0 + pow((h * 100.0 - factor * formant[f]) / 150.0, 2.0));
    for (int i = 0; i < N; i++)
      sample[i] += 0.01 * gain * cos(2.0 * M_PI * h * 100.0 * i / PLA_SPEECH_HZ + 0.7 * h * h);
  }
  pla_features_static(features, sample, 0.0, out);
  pla_features_free(features);
}

/* a warp by 1 changes nothing, and one by a factor comes near to what a tract shorter by it sounds
 * like */
static void
test_warp(void)
{
  enum { N = PLA_N_STATIC - 1 };
  double a[N * N], rest[PLA_N_STATIC], moved[PLA_N_STATIC];
  pla_features_warp(1.0, a);
  for (int i = 0; i < N * N; i++)
    g_assert_cmpfloat_with_epsilon(a[i], i % (N + 1) == 0 ? 1.0 : 0.0, 1e-12);
  vowel_cepstra(1.0, rest);
  for (double factor = 0.9; factor < 1.15; factor += 0.2) {
    double before = 0.0, after = 0.0;
    vowel_cepstra(factor, moved);
    pla_features_warp(factor, a);
    for (int i = 0; i < N; i++) {
      double warped = 0.0;
      for (int j = 0; j < N; j++)
        warped += a[i * N + j] * rest[j];
      before += pow(moved[i] - rest[i], 2.0);
      after += pow(moved[i] - warped, 2.0);
    }
    g_test_message("factor %.1f: off by %.2f, warped by %.2f", factor, sqrt(before), sqrt(after));
    g_assert_cmpfloat(sqrt(after), <, 0.5 * sqrt(before));
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/speech/fft", test_fft);
  g_test_add_func("/speech/resample", test_resample);
  g_test_add_func("/speech/smooth", test_smooth);
  g_test_add_func("/speech/features", test_features);
  g_test_add_func("/speech/gain", test_gain);
  g_test_add_func("/speech/warp", test_warp);
  return g_test_run();
}
