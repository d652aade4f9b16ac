/* What is seen in a sound, two recordings at different pace, and sound made slower. */
#include "sim/speech/align.h"
#include "sim/speech/spectrum.h"
#include "sim/speech/speech-features.h"
#include "sim/speech/time-stretch.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

static void
ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

/* a tone is a line at its own height, and nowhere else */
static void
test_spectrogram(void)
{
  enum { N = PLA_SPEECH_HZ / 2 };
  g_autofree double *x = g_new(double, N);
  PlaSpectrogram s;
  PlaError err;
  const double hz = 1875.0;
  for (int i = 0; i < N; i++)
    x[i] = 0.3 * sin(2.0 * G_PI * hz * i / PLA_SPEECH_HZ);
  ok(pla_spectrogram_init(&s, x, N, NULL, &err), &err);
  g_assert_cmpint(s.n_columns, ==, 101);
  const float *middle = s.db + 50 * PLA_SPECTRUM_BINS;
  int loudest = 0;
  for (int b = 0; b < PLA_SPECTRUM_BINS; b++)
    loudest = middle[b] > middle[loudest] ? b : loudest;
  g_assert_cmpfloat(fabs((loudest + 0.5) * 50.0 - hz), <=, 25.0);
  g_assert_cmpfloat(middle[loudest], >, -1.0f); /* dB: it is the loudest there is */
  /* beyond the window's main lobe, 250 Hz wide each way, a Hann window falls below 31 dB */
  for (int b = 0; b < PLA_SPECTRUM_BINS; b++)
    if (fabs((b + 0.5) * 50.0 - hz) > 300.0)
      g_assert_cmpfloat(middle[b], <, -28.0f);
  pla_spectrogram_clear(&s);
}

/* a path said at another pace finds its way back */
static void
test_align(void)
{
  enum { A = 120, B = 170, W = 3 };
  float a[A * W], b[B * W];
  int other[A];
  double mean;
  PlaError err;
  for (int i = 0; i < A; i++)
    for (int k = 0; k < W; k++)
      a[W * i + k] = (float)sin(0.05 * (k + 1) * i + k);
  /* b runs through a slowly at first and then fast: b(j) = a(119 (j / 169)^2) */
  for (int j = 0; j < B; j++)
    for (int k = 0; k < W; k++)
      b[W * j + k] = (float)sin(0.05 * (k + 1) * (A - 1) * pow(j / (B - 1.0), 2.0) + k);
  ok(pla_align(a, A, b, B, W, other, &mean, NULL, &err), &err);
  for (int i = 0; i < A; i++) {
    const double truth = (B - 1) * sqrt(i / (A - 1.0));
    g_assert_cmpfloat(fabs(other[i] - truth), <, i < 3 ? 14.0 : 4.0);
    if (i > 0)
      g_assert_cmpint(other[i], >=, other[i - 1]);
  }
  g_assert_cmpfloat(mean, <, 0.05);
  /* itself */
  ok(pla_align(a, A, a, A, W, other, &mean, NULL, &err), &err);
  for (int i = 0; i < A; i++)
    g_assert_cmpint(other[i], ==, i);
  g_assert_cmpfloat(mean, ==, 0.0);
  g_assert_cmpint(pla_align(a, 0, b, B, W, other, NULL, NULL, &err), ==, PLA_ERR_EMPTY);
  /* loudness and place do not matter after normalising */
  float c[A * W];
  for (int i = 0; i < A * W; i++)
    c[i] = 4.0f * a[i] + 7.0f;
  pla_align_normalise(a, A, W);
  pla_align_normalise(c, A, W);
  for (int i = 0; i < A * W; i++)
    g_assert_cmpfloat(fabsf(a[i] - c[i]), <, 1e-4f);
}

/* twice and four times as long, and as high as before */
static void
test_stretch(void)
{
  enum { N = 16000 };
  g_autofree float *x = g_new(float, N);
  PlaError err;
  const double hz = 210.0;
  for (int i = 0; i < N; i++)
    x[i] = (float)(0.5 * sin(2.0 * G_PI * hz * i / N) + 0.2 * sin(2.0 * G_PI * 3.0 * hz * i / N));
  for (int slow = 1; slow <= 4; slow *= 2) {
    float *y;
    size_t n;
    ok(pla_stretch(x, N, 16000.0, 1.0 / slow, &y, &n, &err), &err);
    g_assert_cmpuint(n, ==, N * (size_t)slow);
    int rises = 0;
    double square = 0.0;
    /* the third harmonic is too weak to make zeros of its own */
    for (size_t i = 4000; i < n - 4000; i++) {
      rises += y[i - 1] <= 0.0f && y[i] > 0.0f;
      square += (double)y[i] * (double)y[i];
    }
    const double span = (double)(n - 8000) / 16000.0;
    g_assert_cmpfloat(fabs(rises / span - hz), <, 0.03 * hz);
    g_assert_cmpfloat(fabs(sqrt(square / (double)(n - 8000)) / sqrt(0.145) - 1.0), <, 0.1);
    if (slow == 1)
      for (int i = 0; i < N; i++)
        g_assert_cmpfloat(x[i], ==, y[i]);
    free(y);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/spectrum/spectrogram", test_spectrogram);
  g_test_add_func("/spectrum/align", test_align);
  g_test_add_func("/spectrum/stretch", test_stretch);
  return g_test_run();
}
