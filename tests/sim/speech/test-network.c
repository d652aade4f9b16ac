/* The network: gradients against complex steps, folding, training, streaming. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/random.h"
#include "sim/speech/speech-model.h"
#include "sim/speech/train.h"

#include <complex.h>
#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const PlaNetShape small = { 9, 3, 13, 4 };

/* the loss of a batch in complex numbers, from the formulae and nothing else */
static double complex
promoted_loss(const PlaNetShape *s, const double complex *param, const double *x,
              const double *target, int batch, double drop, uint64_t seed)
{
  const uint32_t limit = (uint32_t)(drop * 4294967296.0);
  double complex *a = g_new(double complex, batch *MAX(s->n_in, s->n_units));
  double complex *z = g_new(double complex, batch *MAX(s->n_out, s->n_units));
  double complex loss = 0.0;
  for (int i = 0; i < batch * s->n_in; i++)
    a[i] = x[i];
  for (int l = 0; l <= s->n_hidden; l++) {
    const int n_in = pla_net_layer_inputs(s, l), n_out = l < s->n_hidden ? s->n_units : s->n_out;
    const double complex *w = param + pla_net_layer_at(s, l), *b = w + n_out * n_in;
    for (int r = 0; r < batch; r++)
      for (int o = 0; o < n_out; o++) {
        z[r * n_out + o] = b[o];
        for (int i = 0; i < n_in; i++)
          z[r * n_out + o] += w[o * n_in + i] * a[r * n_in + i];
      }
    if (l == s->n_hidden)
      break;
    for (int o = 0; o < n_out; o++) {
      double complex mean = 0.0, var = 0.0;
      for (int r = 0; r < batch; r++)
        mean += z[r * n_out + o] / batch;
      for (int r = 0; r < batch; r++)
        var += (z[r * n_out + o] - mean) * (z[r * n_out + o] - mean) / batch;
      for (int r = 0; r < batch; r++) {
        const double complex v =
            b[n_out + o] * (z[r * n_out + o] - mean) / csqrt(var + PLA_NET_EPSILON) +
            b[2 * n_out + o];
        a[r * n_out + o] =
            creal(v) > 0.0 && pla_net_stays(seed, limit, l, r, o) ? v / (1.0 - drop) : 0.0;
      }
    }
  }
  for (int i = 0; i < batch * s->n_out; i++)
    loss += (z[i] - target[i]) * (z[i] - target[i]) / (2.0 * batch);
  g_free(a);
  g_free(z);
  return loss;
}

/* every parameter's derivative, batch normalisation and units that are left out included, to 1e-10
 * of the largest */
static void
check_gradient(double drop)
{
  enum { BATCH = 37 };
  const double h = 1e-40;
  const size_t n = pla_net_n_params(&small);
  PlaNet *net;
  PlaRandom random = pla_random_start(5);
  g_assert_cmpint(pla_net_new(&small, 7, &net, NULL), ==, PLA_OK);
  double *param = g_new(double, n), *grad = g_new(double, n);
  double complex *step = g_new(double complex, n);
  double x[BATCH * 9], y[BATCH * 4], mean[39], var[39];
  for (size_t i = 0; i < n; i++)
    step[i] = param[i] = (double)net->param[i] + 0.1 * pla_random_normal(&random);
  for (int i = 0; i < BATCH * 9; i++)
    x[i] = pla_random_normal(&random);
  for (int i = 0; i < BATCH * 4; i++)
    y[i] = pla_random_normal(&random);
  PlaNetScratch *scratch = pla_net_scratch_new(&small, BATCH, sizeof(double));
  pla_net_scratch_drop(scratch, drop, 31);
  const double loss = pla_net_gradient_double(&small, param, x, y, BATCH, scratch, grad, mean, var);
  g_assert_cmpfloat_with_epsilon(loss, creal(promoted_loss(&small, step, x, y, BATCH, drop, 31)),
                                 1e-12);
  double largest = 0.0, worst = 0.0;
  for (size_t i = 0; i < n; i++) {
    step[i] += h * I;
    const double exact = cimag(promoted_loss(&small, step, x, y, BATCH, drop, 31)) / h;
    step[i] = param[i];
    largest = fmax(largest, fabs(exact));
    worst = fmax(worst, fabs(grad[i] - exact));
  }
  g_test_message("worst %g of %g", worst, largest);
  g_assert_cmpfloat(worst, <, 1e-10 * largest);
  pla_net_scratch_free(scratch);
  pla_net_free(net);
  g_free(param);
  g_free(grad);
  g_free(step);
}

static void
test_gradient(void)
{
  check_gradient(0.0);
  check_gradient(0.3);
}

/* the size that the literature gives: seven frames of 39, 917,214 weights and 4,800 of batch
 * normalisation */
static void
test_size(void)
{
  const PlaNetShape shape = { 273, 6, 400, 14 };
  const PlaContext context = pla_context_default();
  g_assert_cmpint(context.n * PLA_N_FEATURES, ==, shape.n_in);
  g_assert_cmpuint(pla_net_n_params(&shape), ==, 917214 + 4800);
}

/* folded and vectorised against the formula; alone or with others, the same bits */
static void
test_folded(void)
{
  const PlaNetShape shape = { 273, 3, 101, 14 };
  enum { ROWS = 11 };
  PlaNet *net;
  PlaNetFolded *folded;
  PlaRandom random = pla_random_start(9);
  g_assert_cmpint(pla_net_new(&shape, 2, &net, NULL), ==, PLA_OK);
  for (int i = 0; i < 3 * 101; i++) {
    net->mean[i] = (float)pla_random_normal(&random);
    net->var[i] = (float)pla_random_range(&random, 0.2, 3.0);
  }
  for (int i = 0; i < 273; i++) {
    net->in_mean[i] = (float)pla_random_normal(&random);
    net->in_std[i] = (float)pla_random_range(&random, 0.5, 9.0);
  }
  for (int i = 0; i < 14; i++) {
    net->out_mean[i] = 100.0f;
    net->out_std[i] = 3.0f;
  }
  g_assert_cmpint(pla_net_check(net, NULL), ==, PLA_OK);
  g_assert_cmpint(pla_net_fold(net, &folded, NULL), ==, PLA_OK);
  float *x = g_new(float, ROWS * 273), *scratch = g_new(float, pla_net_folded_scratch(folded));
  float y[ROWS][14], one[14];
  double exact[14];
  for (int i = 0; i < ROWS * 273; i++)
    x[i] = (float)(10.0 * pla_random_normal(&random));
  for (int k = 0; k < 2; k++) {
    pla_kernel_override(k == 0 ? PLA_KERNEL_PLAIN : PLA_KERNEL_AVX2);
    pla_net_run(folded, x, ROWS, scratch, &y[0][0]);
    for (int r = 0; r < ROWS; r++) {
      pla_net_run(folded, x + r * 273, 1, scratch, one);
      g_assert_true(memcmp(one, y[r], sizeof one) == 0);
      pla_net_run_plain(net, x + r * 273, exact);
      for (int c = 0; c < 14; c++)
        g_assert_cmpfloat_with_epsilon((double)y[r][c], exact[c], 1e-3);
    }
  }
  net->var[5] = -1.0f;
  PlaError err;
  g_assert_cmpint(pla_net_check(net, &err), ==, PLA_ERR_FORMAT);
  pla_net_folded_free(folded);
  pla_net_free(net);
  g_free(x);
  g_free(scratch);
}

/* tones whose pitch and loudness say where two sensors are */
static void
add_tone(PlaSpeechData *data, int speaker, uint64_t seed, int n_frames)
{
  PlaRandom random = pla_random_start(seed);
  const int n = n_frames * PLA_HOP_SAMPLES + 240;
  double *sample = g_new(double, n), *value = g_new(double, 2 * (n_frames + 3));
  const double wave = pla_random_range(&random, 1.0, 2.5), phase = pla_random_range(&random, 0, 6);
  double angle = 0.0;
  for (int i = 0; i < n; i++) {
    const double t = (double)i / PLA_SPEECH_HZ, s = sin(2.0 * M_PI * wave * t + phase);
    angle += 2.0 * M_PI * 900.0 * (1.0 + 0.6 * s) / PLA_SPEECH_HZ;
    sample[i] = 0.2 * sin(angle) + 0.05 * sin(3.1 * angle) + 0.003 * pla_random_normal(&random);
  }
  for (int i = 0; i < n_frames + 3; i++) {
    const double s = sin(2.0 * M_PI * wave * i / 100.0 + phase);
    value[2 * i] = 50.0 + 4.0 * s;
    value[2 * i + 1] = 100.0 - 3.0 * s * s;
  }
  g_assert_cmpint(pla_speech_data_add(data, speaker, sample, (size_t)n, value, n_frames + 3, 100.0,
                                      0.0, NULL),
                  ==, PLA_OK);
  g_free(sample);
  g_free(value);
}

static PlaSpeechModel *
train_on_tones(PlaSpeechData *held_out, int threads, PlaTrainMethod method, PlaTrainReport *report)
{
  PlaSpeechData train, valid;
  PlaTrainOptions opts = pla_train_options_default();
  PlaSpeechModel *model;
  opts.n_hidden = 2;
  opts.n_units = 40;
  opts.batch = 128;
  opts.max_epochs = g_getenv("PLA_SMALL") ? 6 : 12;
  opts.method = method;
  if (method == PLA_TRAIN_MOMENTUM)
    opts.rate = 0.02;
  opts.smooth = 9;
  pla_speech_data_init(&train, 2, false);
  pla_speech_data_init(&valid, 2, false);
  pla_speech_data_init(held_out, 2, false);
  for (int u = 0; u < 20; u++)
    add_tone(u < 14 ? &train : u < 17 ? &valid : held_out, u, (uint64_t)u, 150);
  pla_threads_set(threads);
  g_assert_cmpint(pla_speech_train(&train, &valid, &opts, &model, report, NULL, NULL), ==, PLA_OK);
  pla_threads_set(0);
  pla_speech_data_clear(&train);
  pla_speech_data_clear(&valid);
  model->name = pla_array_new0(2, sizeof *model->name);
  model->name[0] = pla_strdup("TT_x");
  model->name[1] = pla_strdup("TT_y");
  return model;
}

/* learns what can be learnt, says so on unseen sound, with the same bits on 1 and 3 threads */
static void
test_training(void)
{
  for (int method = 0; method < 2; method++) {
    PlaSpeechData held_out, again;
    PlaTrainReport report, repeated;
    PlaScore score[2];
    PlaSpeechModel *model = train_on_tones(&held_out, 1, method, &report);
    PlaSpeechModel *same = train_on_tones(&again, 3, method, &repeated);
    g_assert_true(memcmp(model->net->param, same->net->param,
                         pla_net_n_params(&model->net->shape) * sizeof(float)) == 0);
    g_assert_cmpint(report.best_epoch, ==, repeated.best_epoch);
    g_assert_cmpint(pla_speech_score(model, &held_out, score, NULL, NULL), ==, PLA_OK);
    for (int c = 0; c < 2; c++) {
      g_test_message("channel %d: rmse %.3f of %.3f, correlation %.3f", c, score[c].rmse,
                     score[c].deviation, score[c].correlation);
      g_assert_cmpfloat(score[c].rmse, <, 0.5 * score[c].deviation);
      g_assert_cmpfloat(score[c].correlation, >, 0.9);
    }
    pla_speech_model_free(model);
    pla_speech_model_free(same);
    pla_speech_data_clear(&held_out);
    pla_speech_data_clear(&again);
  }
}

/* a sound fed in pieces gives what the whole sound gives, after the latency that is stated */
static void
test_stream(void)
{
  PlaSpeechData held_out;
  PlaTrainReport report;
  PlaSpeechModel *model = train_on_tones(&held_out, 0, PLA_TRAIN_ADAM, &report);
  enum { N = 48000 };
  float *samples = g_new(float, N);
  PlaRandom random = pla_random_start(1);
  for (int i = 0; i < N; i++)
    samples[i] = (float)(0.2 * sin(i * 0.05 * (1.0 + 0.3 * sin(i * 2e-4))) +
                         0.01 * pla_random_normal(&random));
  const PlaAudio audio = { N, 1, 48000.0, PLA_F32, 0, samples };
  PlaTrack *track;
  PlaNotes notes = { 0 };
  g_assert_cmpint(pla_speech_invert(model, &audio, &track, &notes, NULL, NULL), ==, PLA_OK);
  g_assert_cmpint(notes.n, ==, 1); /* a tone that comes and goes is no speech */
  g_assert_nonnull(strstr(notes.text[0], "rather"));
  pla_notes_clear(&notes);
  PlaSpeech *speech;
  g_assert_cmpint(pla_speech_new(model, 48000.0, -1, &speech, NULL), ==, PLA_OK);
  long seen = 0;
  double latest = 0.0;
  for (int i = 0; i < N;) {
    double piece[700];
    const int many = MIN(N - i, 700);
    for (int k = 0; k < many; k++)
      piece[k] = (double)samples[i + k];
    g_assert_cmpint(pla_speech_push(speech, piece, (size_t)many, i + many == N, NULL), ==, PLA_OK);
    i += many;
    for (; seen < pla_speech_count(speech); seen++) {
      double value[2];
      pla_speech_get(speech, seen, value);
      g_assert_true(memcmp(value, track->value + 2 * seen, sizeof value) == 0);
      latest = fmax(latest, i / 48000.0 - (0.0125 + 0.01 * (double)seen));
    }
    pla_speech_drop(speech, seen);
  }
  g_assert_cmpint(seen, ==, track->n_samples);
  /* pieces of 700 samples add at most one piece */
  g_assert_cmpfloat(latest, <=, pla_speech_total_latency_s(speech) + 700.0 / 48000.0 + 1e-9);
  const PlaContext usual = pla_context_default(), causal = pla_context_causal();
  g_assert_cmpfloat_with_epsilon(pla_speech_latency_s(&usual, 0), 0.0825, 1e-12);
  g_assert_cmpfloat_with_epsilon(pla_speech_latency_s(&causal, 0), 0.0125, 1e-12);
  pla_speech_free(speech);
  pla_track_free(track);
  pla_speech_model_free(model);
  pla_speech_data_clear(&held_out);
  g_free(samples);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/network/gradient", test_gradient);
  g_test_add_func("/network/size", test_size);
  g_test_add_func("/network/folded", test_folded);
  g_test_add_func("/network/training", test_training);
  g_test_add_func("/network/stream", test_stream);
  return g_test_run();
}
