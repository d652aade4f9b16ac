/* Sound to sensors: real-time factor of the network as specified (6 x 400), folded and vectorised,
 * against the formula in plain double; and frames a second in training, one thread against all. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/random.h"
#include "app/bench/bench-private.h"
#include "sim/speech/train.h"

#include <glib.h>
#include <stdlib.h>

enum { BATCH = 1024 };

typedef struct {
  PlaSpeechModel model;
  PlaAudio audio;
  PlaNetFolded *folded;
  float *x, *scratch, *y, *grad, *mean, *var;
  PlaNetScratch *batch;
  int n_frames;
} Bench;

static PlaStatus
run_whole(void *data, PlaError *err)
{
  Bench *b = data;
  PlaTrack *track = NULL;
  PlaStatus st = pla_speech_invert(&b->model, &b->audio, &track, NULL, NULL, err);
  pla_track_free(track);
  return st;
}

static PlaStatus
run_folded(void *data, PlaError *err)
{
  Bench *b = data;
  for (int i = 0; i < b->n_frames; i++)
    pla_net_run(b->folded, b->x, 1, b->scratch, b->y);
  return PLA_OK;
}

static PlaStatus
run_plain(void *data, PlaError *err)
{
  Bench *b = data;
  double y[PLA_SENSOR_CHANNELS];
  for (int i = 0; i < b->n_frames; i++)
    pla_net_run_plain(b->model.net, b->x, y);
  return PLA_OK;
}

static PlaStatus
run_batch(void *data, PlaError *err)
{
  Bench *b = data;
  const PlaNet *net = b->model.net;
  pla_net_gradient_single(&net->shape, net->param, b->x, b->y, BATCH, b->batch, b->grad, b->mean,
                          b->var);
  return PLA_OK;
}

static PlaStatus
prepare(Bench *b, double seconds, PlaError *err)
{
  static char *names[PLA_SENSOR_CHANNELS];
  const PlaNetShape shape = { 273, 6, 400, PLA_SENSOR_CHANNELS };
  const int64_t n = (int64_t)(seconds * PLA_SPEECH_HZ);
  PlaRandom random = pla_random_start(1);
  for (int c = 0; c < PLA_SENSOR_CHANNELS; c++)
    names[c] = (char *)"x";
  b->model = (PlaSpeechModel){ .context = pla_context_default(), .smooth = 21, .name = names };
  PlaStatus st = pla_net_new(&shape, 1, &b->model.net, err);
  if (st == PLA_OK)
    st = pla_net_fold(b->model.net, &b->folded, err);
  if (st != PLA_OK)
    return st;
  float *sample = pla_array_new((size_t)n, sizeof *sample);
  b->x = pla_array_new_aligned(BATCH * 273, sizeof(float));
  b->y = pla_array_new_aligned(BATCH * PLA_SENSOR_CHANNELS, sizeof(float));
  b->grad = pla_array_new_aligned(pla_net_n_params(&shape), sizeof(float));
  b->mean = pla_array_new(2400, sizeof(float));
  b->var = pla_array_new(2400, sizeof(float));
  b->scratch = pla_array_new_aligned(pla_net_folded_scratch(b->folded), sizeof(float));
  b->batch = pla_net_scratch_new(&shape, BATCH, sizeof(float));
  b->audio = (PlaAudio){ n, 1, PLA_SPEECH_HZ, PLA_F32, 0, sample };
  if (!sample || !b->x || !b->y || !b->grad || !b->mean || !b->var || !b->scratch || !b->batch)
    return pla_fail_memory(err, "the benchmark");
  for (int64_t i = 0; i < n; i++)
    sample[i] = (float)(0.1 * pla_random_normal(&random));
  for (int i = 0; i < BATCH * 273; i++)
    b->x[i] = (float)pla_random_normal(&random);
  for (int i = 0; i < BATCH * PLA_SENSOR_CHANNELS; i++)
    b->y[i] = (float)pla_random_normal(&random);
  b->n_frames = (int)(seconds * PLA_FRAMES_HZ);
  return PLA_OK;
}

static PlaStatus
run_speech(PlaBench *bench, PlaError *err)
{
  Bench b = { 0 };
  const double seconds = pla_bench_size(bench, 5.0);
  const int repeats = pla_bench_repeats(bench, 3), threads = pla_threads_get();
  double whole = 0.0, folded = 0.0, plain = 0.0, one = 0.0, all = 0.0;
  PlaStatus st = prepare(&b, seconds, err);
  pla_threads_set(1);
  if (st == PLA_OK)
    st = pla_bench_time(bench, run_whole, &b, repeats, &whole, err);
  if (st == PLA_OK)
    st = pla_bench_time(bench, run_folded, &b, repeats, &folded, err);
  if (st == PLA_OK)
    st = pla_bench_time(bench, run_plain, &b, repeats, &plain, err);
  if (st == PLA_OK)
    st = pla_bench_time(bench, run_batch, &b, 2 * repeats, &one, err);
  pla_threads_set(threads);
  if (st == PLA_OK)
    st = pla_bench_time(bench, run_batch, &b, 2 * repeats, &all, err);
  if (st == PLA_OK) {
    pla_bench_begin_run(bench, "sound to sensors, seconds of sound", seconds, repeats, whole);
    pla_bench_ratio(bench, "plain_over_folded", plain / folded);
    pla_bench_ratio(bench, "training_one_thread_over_all", one / all);
    pla_bench_number(bench, "realtime_factor_one_core", whole / seconds);
    pla_bench_number(bench, "forward_pass_ms", 1000.0 * folded / b.n_frames);
    pla_bench_number(bench, "training_frames_per_s", BATCH / all);
    pla_bench_number(bench, "epoch_of_20_minutes_s", 120000.0 / BATCH * all);
    pla_bench_end_run(bench);
  }
  pla_net_free(b.model.net);
  pla_net_folded_free(b.folded);
  pla_net_scratch_free(b.batch);
  free(b.audio.samples);
  free(b.x);
  free(b.y);
  free(b.grad);
  free(b.mean);
  free(b.var);
  free(b.scratch);
  return st;
}

const PlaBenchmark pla_benchmark_speech = {
  .name = "speech",
  .summary = "sound to sensors by the 6 x 400 network, and its training",
  .run = run_speech,
};
