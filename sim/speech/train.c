/* Training by Adam (D. P. Kingma and J. L. Ba, 2015) or momentum, with early stop.
 *
 * Frames are shuffled by a generator that depends on the seed alone; a batch's inputs are stacked,
 * normalised and, if asked, disturbed as they are gathered.  Running averages of the batches' mean
 * and variance go into the model; the validation runs the folded network, as a user will. */
#include "sim/speech/train.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/random.h"
#include "sim/speech/speech-smooth.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- data */

void
pla_speech_data_init(PlaSpeechData *self, int n_channels, bool causal)
{
  *self = (PlaSpeechData){ .n_channels = n_channels, .causal = causal };
}

void
pla_speech_data_clear(PlaSpeechData *self)
{
  free(self->start);
  free(self->speaker);
  free(self->row);
  free(self->target);
  pla_speech_data_init(self, self->n_channels, self->causal);
}

long
pla_speech_data_frames(const PlaSpeechData *self)
{
  return self->n_utterances > 0 ? self->start[self->n_utterances] : 0;
}

/* an utterance of @n frames whose rows are to be filled */
static bool
add_utterance(PlaSpeechData *self, int speaker, long n)
{
  const long first = pla_speech_data_frames(self);
  if (self->n_utterances == self->capacity_utterances) {
    const int larger = 2 * self->capacity_utterances + 16;
    if (!pla_array_resize((void **)&self->start, (size_t)larger + 1, sizeof *self->start) ||
        !pla_array_resize((void **)&self->speaker, (size_t)larger, sizeof *self->speaker))
      return false;
    self->capacity_utterances = larger;
  }
  if (first + n > self->capacity_frames) {
    const long larger = first + n + self->capacity_frames / 2;
    if (!pla_array_resize((void **)&self->row, (size_t)larger * PLA_N_FEATURES,
                          sizeof *self->row) ||
        !pla_array_resize((void **)&self->target, (size_t)larger * (size_t)self->n_channels,
                          sizeof *self->target))
      return false;
    self->capacity_frames = larger;
  }
  self->speaker[self->n_utterances] = speaker;
  self->start[self->n_utterances] = first;
  self->start[++self->n_utterances] = first + n;
  return true;
}

PlaStatus
pla_speech_data_add(PlaSpeechData *self, int speaker, const double *sample, size_t n,
                    const double *value, long n_values, double rate_hz, double start_s,
                    PlaError *err)
{
  PlaFeatures *features = NULL;
  PlaStatus st = pla_features_new(self->causal, &features, err);
  if (st == PLA_OK && !pla_features_push(features, sample, n, true))
    st = pla_fail_memory(err, "the sound's features");
  const long n_frames = st == PLA_OK ? pla_features_count(features) : 0;
  if (st == PLA_OK && n_frames == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "the sound is shorter than one frame of 25 ms");
  const long first = pla_speech_data_frames(self);
  if (st == PLA_OK && !add_utterance(self, speaker, n_frames))
    st = pla_fail_memory(err, "the corpus");
  for (long t = 0; st == PLA_OK && t < n_frames; t++) {
    memcpy(self->row + (size_t)(first + t) * PLA_N_FEATURES, pla_features_row(features, t),
           PLA_N_FEATURES * sizeof(float));
    /* sensors at the middle of the frame, between their samples */
    const double at =
        ((0.5 * PLA_FRAME_SAMPLES + (double)t * PLA_HOP_SAMPLES) / PLA_SPEECH_HZ - start_s) *
        rate_hz;
    const long i = (long)floor(at);
    const double part = at - (double)i;
    for (int c = 0; c < self->n_channels; c++) {
      float *out = &self->target[(size_t)(first + t) * (size_t)self->n_channels + (size_t)c];
      const size_t w = (size_t)self->n_channels, k = (size_t)c;
      if (i >= 0 && i + 1 < n_values)
        *out = (float)((1.0 - part) * value[(size_t)i * w + k] +
                       part * value[((size_t)i + 1) * w + k]);
      else if (i == n_values - 1 && part < 1e-6)
        *out = (float)value[(size_t)i * w + k];
      else
        *out = NAN;
    }
  }
  pla_features_free(features);
  return st;
}

/* ---- training */

PlaTrainOptions
pla_train_options_default(void)
{
  return (PlaTrainOptions){
    .n_hidden = 6,
    .n_units = 400,
    .context = pla_context_default(),
    .method = PLA_TRAIN_ADAM,
    .rate = 1e-3,
    .decay = 0.9,
    .momentum = 0.8,
    .batch = 1024,
    .max_epochs = 50,
    .patience = 5,
    .smooth = 21,
    .seed = 1,
  };
}

/* frames of @data whose targets are all there */
typedef struct {
  long n;
  long *frame;
  int *utterance;
} Frames;

static PlaStatus
frames_init(Frames *out, const PlaSpeechData *data, PlaError *err)
{
  const size_t most = (size_t)pla_speech_data_frames(data);
  *out = (Frames){ .frame = pla_array_new(most, sizeof(long)),
                   .utterance = pla_array_new(most, sizeof(int)) };
  if (!out->frame || !out->utterance)
    return pla_fail_memory(err, "the corpus");
  for (int u = 0; u < data->n_utterances; u++)
    for (long t = data->start[u]; t < data->start[u + 1]; t++) {
      bool whole = true;
      for (int c = 0; c < data->n_channels; c++)
        whole = whole && isfinite(data->target[(size_t)t * (size_t)data->n_channels + (size_t)c]);
      if (whole) {
        out->utterance[out->n] = u;
        out->frame[out->n++] = t;
      }
    }
  return PLA_OK;
}

static void
frames_clear(Frames *frames)
{
  free(frames->frame);
  free(frames->utterance);
}

static void
stack_frame(const PlaContext *context, const PlaSpeechData *data, int utterance, long frame,
            float *out)
{
  const long first = data->start[utterance];
  pla_context_stack(context, data->row + (size_t)first * PLA_N_FEATURES,
                    data->start[utterance + 1] - first, frame - first, out);
}

/* mean and deviation of every input and output over the frames */
static void
measure(const PlaSpeechData *data, const Frames *frames, PlaNet *net)
{
  /* a frame's features serve in every place of the stack, so that one measure of the 39 is enough
   */
  double sum[PLA_N_FEATURES] = { 0 }, square[PLA_N_FEATURES] = { 0 };
  const long n = frames->n;
  for (long i = 0; i < n; i++)
    for (int k = 0; k < PLA_N_FEATURES; k++)
      sum[k] += (double)data->row[(size_t)frames->frame[i] * PLA_N_FEATURES + (size_t)k];
  for (long i = 0; i < n; i++)
    for (int k = 0; k < PLA_N_FEATURES; k++) {
      const double d = (double)data->row[(size_t)frames->frame[i] * PLA_N_FEATURES + (size_t)k] -
                       sum[k] / (double)n;
      square[k] += d * d;
    }
  for (int i = 0; i < net->shape.n_in; i++) {
    const int k = i % PLA_N_FEATURES;
    net->in_mean[i] = (float)(sum[k] / (double)n);
    net->in_std[i] = (float)fmax(sqrt(square[k] / (double)n), 1e-4);
  }
  for (int c = 0; c < net->shape.n_out; c++) {
    double s = 0.0, q = 0.0;
    for (long i = 0; i < n; i++)
      s += (double)data->target[(size_t)frames->frame[i] * (size_t)data->n_channels + (size_t)c];
    for (long i = 0; i < n; i++) {
      const double d =
          (double)data->target[(size_t)frames->frame[i] * (size_t)data->n_channels + (size_t)c] -
          s / (double)n;
      q += d * d;
    }
    net->out_mean[c] = (float)(s / (double)n);
    net->out_std[c] = (float)fmax(sqrt(q / (double)n), 1e-3);
  }
}

enum { CEPSTRA = PLA_N_STATIC - 1, WARPS = 25 };
static const double most_warp = 0.15; /* of the logarithm of frequencies */

/* who speaks an utterance this time, and through what */
typedef struct {
  int warp;              /* which of the tables */
  float offset[CEPSTRA]; /* of the cepstra */
} Guise;

typedef struct {
  const PlaSpeechData *data;
  const PlaTrainOptions *opts;
  PlaNet *net;
  float (*warp)[CEPSTRA * CEPSTRA]; /* for factors exp(-most_warp) .. exp(most_warp) (WARPS) */
  Guise *guise;                     /* (n_utterances) */
  Frames frames;
  long *order; /* shuffled */
  float *x, *y, *grad, *mean, *var;
  float *first, *second; /* moments of the gradient, or the step of momentum */
  PlaNetScratch *scratch;
  long n_steps;
} Trainer;

static PlaStatus
trainer_init(Trainer *t, PlaError *err)
{
  const PlaNetShape *shape = &t->net->shape;
  const size_t n = pla_net_n_params(shape), batch = (size_t)t->opts->batch;
  const size_t n_stats = (size_t)shape->n_hidden * (size_t)shape->n_units;
  t->order = pla_array_new((size_t)t->frames.n, sizeof *t->order);
  t->x = pla_array_new_aligned(batch * (size_t)shape->n_in, sizeof *t->x);
  t->y = pla_array_new_aligned(batch * (size_t)shape->n_out, sizeof *t->y);
  t->grad = pla_array_new_aligned(n, sizeof *t->grad);
  t->mean = pla_array_new(n_stats, sizeof *t->mean);
  t->var = pla_array_new(n_stats, sizeof *t->var);
  t->first = pla_array_new0(n, sizeof *t->first);
  t->second = pla_array_new0(n, sizeof *t->second);
  t->scratch = pla_net_scratch_new(shape, t->opts->batch, sizeof(float));
  t->warp = pla_array_new(WARPS, sizeof *t->warp);
  t->guise = pla_array_new((size_t)t->data->n_utterances, sizeof *t->guise);
  if (!t->warp || !t->guise || !t->order || !t->x || !t->y || !t->grad || !t->mean || !t->var ||
      !t->first || !t->second || !t->scratch)
    return pla_fail_memory(err, "training");
  for (long i = 0; i < t->frames.n; i++)
    t->order[i] = i;
  for (int w = 0; w < WARPS; w++) {
    double a[CEPSTRA * CEPSTRA];
    pla_features_warp(exp(most_warp * (2.0 * w / (WARPS - 1) - 1.0)), a);
    for (int i = 0; i < CEPSTRA * CEPSTRA; i++)
      t->warp[w][i] = (float)a[i];
  }
  return PLA_OK;
}

static void
trainer_clear(Trainer *t)
{
  frames_clear(&t->frames);
  free(t->warp);
  free(t->guise);
  free(t->order);
  free(t->x);
  free(t->y);
  free(t->grad);
  free(t->mean);
  free(t->var);
  free(t->first);
  free(t->second);
  pla_net_scratch_free(t->scratch);
}

/* draws a guise for every utterance */
static void
disguise(Trainer *t, PlaRandom *random)
{
  for (int u = 0; u < t->data->n_utterances; u++) {
    const double log_factor = t->opts->vary * pla_random_normal(random);
    const double at = fmin(fmax(log_factor / most_warp, -1.0), 1.0);
    t->guise[u].warp = (int)lrint(0.5 * (at + 1.0) * (WARPS - 1));
    for (int k = 0; k < CEPSTRA; k++)
      t->guise[u].offset[k] =
          (float)(3.0 * t->opts->vary * pla_random_normal(random)) * t->net->in_std[k];
  }
}

/* a frame as it sounds in a guise; slopes have no offset */
static void
put_on(const Trainer *t, const Guise *guise, float *row)
{
  const float *a = t->warp[guise->warp];
  for (int part = 0; part < PLA_N_FEATURES; part += PLA_N_STATIC) {
    float c[CEPSTRA];
    memcpy(c, row + part, sizeof c);
    for (int i = 0; i < CEPSTRA; i++) {
      float sum = part == 0 ? guise->offset[i] : 0.0f;
      for (int j = 0; j < CEPSTRA; j++)
        sum += a[i * CEPSTRA + j] * c[j];
      row[part + i] = sum;
    }
  }
}

/* normalised inputs and targets of @batch frames from place @first of the order */
static void
gather(Trainer *t, long first, int batch, uint64_t seed)
{
  const PlaNet *net = t->net;
  const int n_in = net->shape.n_in, n_out = net->shape.n_out;
#pragma omp parallel for schedule(static)
  for (int r = 0; r < batch; r++) {
    const long i = t->order[first + r], frame = t->frames.frame[i];
    float *x = t->x + (size_t)r * (size_t)n_in, *y = t->y + (size_t)r * (size_t)n_out;
    stack_frame(&t->opts->context, t->data, t->frames.utterance[i], frame, x);
    for (int k = 0; t->opts->vary > 0.0 && k < t->opts->context.n; k++)
      put_on(t, &t->guise[t->frames.utterance[i]], x + k * PLA_N_FEATURES);
    PlaRandom random = pla_random_start(seed + (uint64_t)r);
    for (int k = 0; k < n_in; k++) {
      x[k] = (x[k] - net->in_mean[k]) / net->in_std[k];
      /* three uniform numbers make a good enough bell */
      if (t->opts->noise > 0.0)
        x[k] += (float)(t->opts->noise * 2.0 *
                        (pla_random_unit(&random) + pla_random_unit(&random) +
                         pla_random_unit(&random) - 1.5));
    }
    for (int c = 0; c < n_out; c++)
      y[c] = (t->data->target[(size_t)frame * (size_t)n_out + (size_t)c] - net->out_mean[c]) /
             net->out_std[c];
  }
}

static void
update(Trainer *t, double rate)
{
  const PlaTrainOptions *o = t->opts;
  const long n = (long)pla_net_n_params(&t->net->shape);
  float *p = t->net->param;
  t->n_steps++;
  if (o->method == PLA_TRAIN_MOMENTUM) {
    for (long i = 0; i < n; i++) {
      t->first[i] = (float)(o->momentum * (double)t->first[i] - rate * (double)t->grad[i]);
      p[i] += t->first[i];
    }
    return;
  }
  const float b1 = 0.9f, b2 = 0.999f;
  const float step = (float)(rate * sqrt(1.0 - pow(0.999, (double)t->n_steps)) /
                             (1.0 - pow(0.9, (double)t->n_steps)));
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; i++) {
    const float g = t->grad[i];
    t->first[i] = b1 * t->first[i] + (1.0f - b1) * g;
    t->second[i] = b2 * t->second[i] + (1.0f - b2) * g * g;
    p[i] -= step * t->first[i] / (sqrtf(t->second[i]) + 1e-8f);
  }
}

/* running averages over about the last hundred batches */
static void
average_statistics(Trainer *t)
{
  const size_t n = (size_t)t->net->shape.n_hidden * (size_t)t->net->shape.n_units;
  const float keep = t->n_steps <= 1 ? 0.0f : (float)fmin(0.99, 1.0 - 1.0 / (double)t->n_steps);
  for (size_t i = 0; i < n; i++) {
    t->net->mean[i] = keep * t->net->mean[i] + (1.0f - keep) * t->mean[i];
    t->net->var[i] = keep * t->net->var[i] + (1.0f - keep) * t->var[i];
  }
}

static PlaStatus
run_epoch(Trainer *t, int epoch, double rate, double *loss, PlaProgress *progress, PlaError *err)
{
  const PlaTrainOptions *o = t->opts;
  PlaRandom random = pla_random_start(((uint64_t)o->seed << 20) + (uint64_t)epoch);
  for (long i = t->frames.n - 1; i > 0; i--) {
    const long j = pla_random_below(&random, i + 1), swap = t->order[i];
    t->order[i] = t->order[j];
    t->order[j] = swap;
  }
  if (o->vary > 0.0)
    disguise(t, &random);
  double sum = 0.0;
  long n_batches = 0;
  /* a last batch too small for sound statistics is left to the next shuffle */
  for (long first = 0; first < t->frames.n; first += o->batch) {
    const int batch = (int)(t->frames.n - first < o->batch ? t->frames.n - first : o->batch);
    if (batch < 2 || (first > 0 && batch < o->batch / 4))
      break;
    gather(t, first, batch, pla_random_bits(&random));
    if (o->drop > 0.0)
      pla_net_scratch_drop(t->scratch, o->drop, pla_random_bits(&random));
    sum += pla_net_gradient_single(&t->net->shape, t->net->param, t->x, t->y, batch, t->scratch,
                                   t->grad, t->mean, t->var);
    n_batches++;
    update(t, rate);
    average_statistics(t);
    if (!pla_progress_step(progress, (epoch + (double)first / (double)t->frames.n) / o->max_epochs))
      return pla_fail_cancelled(err);
  }
  *loss = sum / (double)n_batches * 2.0 / t->net->shape.n_out;
  return isfinite(*loss)
             ? PLA_OK
             : pla_fail(err, PLA_ERR_CONVERGENCE,
                        "training diverged in epoch %d; choose a smaller rate", epoch + 1);
}

/* raw outputs of the folded network for all frames of utterance @u (frames x n_out) */
static void
run_utterance(const PlaNetFolded *folded, const PlaContext *context, const PlaSpeechData *data,
              int u, float *x, float *scratch, float *y)
{
  const int n_in = context->n * PLA_N_FEATURES;
  const long n = data->start[u + 1] - data->start[u];
  enum { ROWS = 4 };
  for (long t = 0; t < n; t += ROWS) {
    const int rows = n - t < ROWS ? (int)(n - t) : ROWS;
    for (int r = 0; r < rows; r++)
      stack_frame(context, data, u, data->start[u] + t + r, x + r * n_in);
    pla_net_run(folded, x, rows, scratch, y + (size_t)t * (size_t)data->n_channels);
  }
}

/* outputs for all utterances, unsmoothed (frames x n_channels); free() */
static PlaStatus
run_all(const PlaNet *net, const PlaContext *context, const PlaSpeechData *data, float **out,
        PlaProgress *progress, PlaError *err)
{
  PlaNetFolded *folded = NULL;
  const size_t frames = (size_t)pla_speech_data_frames(data);
  float *y = pla_array_new(frames * (size_t)data->n_channels, sizeof *y);
  PlaStatus st = y ? pla_net_fold(net, &folded, err) : pla_fail_memory(err, "the scores");
  bool fine = true;
  if (st == PLA_OK) {
#pragma omp parallel for schedule(dynamic, 1)
    for (int u = 0; u < data->n_utterances; u++) {
      float *x = pla_array_new(4 * (size_t)net->shape.n_in, sizeof *x);
      float *scratch = pla_array_new_aligned(pla_net_folded_scratch(folded), sizeof *scratch);
      if (x && scratch && !pla_progress_cancelled(progress))
        run_utterance(folded, context, data, u, x, scratch,
                      y + (size_t)data->start[u] * (size_t)data->n_channels);
      else
#pragma omp atomic write
        fine = false;
      free(x);
      free(scratch);
    }
  }
  if (st == PLA_OK && !fine)
    st = pla_progress_cancelled(progress) ? pla_fail_cancelled(err)
                                          : pla_fail_memory(err, "the scores");
  pla_net_folded_free(folded);
  if (st != PLA_OK) {
    free(y);
    y = NULL;
  }
  *out = y;
  return st;
}

static PlaStatus
validate(const Trainer *t, const PlaSpeechData *valid, double *loss, PlaProgress *progress,
         PlaError *err)
{
  float *y = NULL;
  PlaStatus st = run_all(t->net, &t->opts->context, valid, &y, progress, err);
  double sum = 0.0;
  long n = 0;
  const long frames = pla_speech_data_frames(valid);
  for (long f = 0; st == PLA_OK && f < frames; f++)
    for (int c = 0; c < valid->n_channels; c++) {
      const size_t i = (size_t)f * (size_t)valid->n_channels + (size_t)c;
      const double e = ((double)y[i] - (double)valid->target[i]) / (double)t->net->out_std[c];
      if (!isnan(valid->target[i])) {
        sum += e * e;
        n++;
      }
    }
  free(y);
  *loss = n > 0 ? sum / (double)n : 0.0;
  return st;
}

typedef struct {
  float *param, *mean, *var;
} Best;

static void
keep_best(Best *best, const PlaNet *net)
{
  const size_t stats = (size_t)net->shape.n_hidden * (size_t)net->shape.n_units;
  memcpy(best->param, net->param, pla_net_n_params(&net->shape) * sizeof(float));
  memcpy(best->mean, net->mean, stats * sizeof(float));
  memcpy(best->var, net->var, stats * sizeof(float));
}

static PlaStatus
run_epochs(Trainer *t, const PlaSpeechData *valid, Best *best, PlaTrainReport *report,
           PlaProgress *progress, PlaError *err)
{
  const PlaTrainOptions *o = t->opts;
  double rate = o->rate, least = INFINITY;
  PlaStatus st = PLA_OK;
  for (int epoch = 0; st == PLA_OK && epoch < o->max_epochs; epoch++, rate *= o->decay) {
    double loss = 0.0, checked = 0.0;
    st = run_epoch(t, epoch, rate, &loss, progress, err);
    if (st == PLA_OK)
      st = validate(t, valid, &checked, progress, err);
    if (st != PLA_OK)
      break;
    report->n_epochs = epoch + 1;
    if (checked < least) {
      least = checked;
      report->best_epoch = epoch + 1;
      report->train_loss = loss;
      report->valid_loss = checked;
      keep_best(best, t->net);
    } else if (epoch + 1 - report->best_epoch >= o->patience) {
      break;
    }
  }
  return st;
}

PlaStatus
pla_speech_train(const PlaSpeechData *train, const PlaSpeechData *valid,
                 const PlaTrainOptions *opts, PlaSpeechModel **out, PlaTrainReport *report,
                 PlaProgress *progress, PlaError *err)
{
  assert(train->causal == opts->context.causal && valid->causal == opts->context.causal);
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  *out = NULL;
  *report = (PlaTrainReport){ 0 };
  PlaSpeechModel *model = pla_array_new0(1, sizeof *model);
  if (!model)
    return pla_fail_memory(err, "the model");
  model->context = opts->context;
  model->smooth = opts->smooth;
  const PlaNetShape shape = { opts->context.n * PLA_N_FEATURES, opts->n_hidden, opts->n_units,
                              train->n_channels };
  Trainer t = { .data = train, .opts = opts };
  Best best = { 0 };
  PlaStatus st = pla_net_new(&shape, opts->seed, &model->net, err);
  if (st == PLA_OK)
    st = frames_init(&t.frames, train, err);
  if (st == PLA_OK && t.frames.n < 200)
    st = pla_fail(err, PLA_ERR_EMPTY,
                  "only %ld frames have both sound and sensors; at least 200 are needed to train",
                  t.frames.n);
  if (st == PLA_OK) {
    const size_t stats = (size_t)shape.n_hidden * (size_t)shape.n_units;
    t.net = model->net;
    measure(train, &t.frames, t.net);
    best = (Best){ pla_array_new(pla_net_n_params(&shape), sizeof(float)),
                   pla_array_new(stats, sizeof(float)), pla_array_new(stats, sizeof(float)) };
    st = best.param && best.mean && best.var ? trainer_init(&t, err)
                                             : pla_fail_memory(err, "training");
  }
  pla_progress_phase(progress, "Training", 1.0);
  if (st == PLA_OK)
    st = run_epochs(&t, valid, &best, report, progress, err);
  if (st == PLA_OK) {
    const size_t stats = (size_t)shape.n_hidden * (size_t)shape.n_units;
    memcpy(model->net->param, best.param, pla_net_n_params(&shape) * sizeof(float));
    memcpy(model->net->mean, best.mean, stats * sizeof(float));
    memcpy(model->net->var, best.var, stats * sizeof(float));
    clock_gettime(CLOCK_MONOTONIC, &end);
    report->seconds =
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    *out = model;
    model = NULL;
  }
  free(best.param);
  free(best.mean);
  free(best.var);
  trainer_clear(&t);
  pla_speech_model_free(model);
  return st;
}

/* ---- scores */

/* smooths the outputs of each utterance as a user gets them */
static PlaStatus
smooth_all(const PlaSpeechModel *model, const PlaSpeechData *data, float *y, PlaError *err)
{
  PlaStatus st = PLA_OK;
  const size_t w = (size_t)data->n_channels;
  for (int u = 0; st == PLA_OK && model->smooth > 1 && u < data->n_utterances; u++) {
    const size_t n = (size_t)(data->start[u + 1] - data->start[u]);
    float *from = y + (size_t)data->start[u] * w;
    double *value = pla_array_new(n * w, sizeof *value);
    if (!value)
      return pla_fail_memory(err, "the scores");
    for (size_t i = 0; i < n * w; i++)
      value[i] = (double)from[i];
    st = pla_smooth(value, (int)n, data->n_channels, model->smooth, 3, err);
    for (size_t i = 0; i < n * w; i++)
      from[i] = (float)value[i];
    free(value);
  }
  return st;
}

PlaStatus
pla_speech_score(const PlaSpeechModel *model, const PlaSpeechData *data, PlaScore *score,
                 PlaProgress *progress, PlaError *err)
{
  assert(data->n_channels == model->net->shape.n_out && data->causal == model->context.causal);
  float *y = NULL;
  PlaStatus st = run_all(model->net, &model->context, data, &y, progress, err);
  if (st == PLA_OK)
    st = smooth_all(model, data, y, err);
  const long frames = pla_speech_data_frames(data);
  for (int c = 0; st == PLA_OK && c < data->n_channels; c++) {
    const size_t w = (size_t)data->n_channels;
    double sum[2] = { 0 }, e2 = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
    long n = 0;
    for (long f = 0; f < frames; f++) {
      const double t = (double)data->target[(size_t)f * w + (size_t)c];
      const double v = (double)y[(size_t)f * w + (size_t)c];
      if (isnan(t))
        continue;
      n++;
      sum[0] += t;
      sum[1] += v;
      e2 += (v - t) * (v - t);
    }
    for (long f = 0; f < frames; f++) {
      const double t = (double)data->target[(size_t)f * w + (size_t)c] - sum[0] / (double)n;
      const double v = (double)y[(size_t)f * w + (size_t)c] - sum[1] / (double)n;
      if (isnan(t))
        continue;
      xx += t * t;
      yy += v * v;
      xy += t * v;
    }
    score[c] = (PlaScore){ .n = n };
    if (n > 0) {
      score[c].rmse = sqrt(e2 / (double)n);
      score[c].deviation = sqrt(xx / (double)n);
      score[c].correlation = xx > 0.0 && yy > 0.0 ? xy / sqrt(xx * yy) : 0.0;
    }
  }
  free(y);
  return st;
}
