/* Paired sound and sensors, training on them, and scores. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "sim/speech/speech-model.h"

/* Utterances one after the other, a row of features and of targets each 10 ms. */
typedef struct {
  bool causal; /* how the features were made */
  int n_channels;
  int n_utterances;
  long *start;   /* first frame of each utterance, and the end (n_utterances + 1) */
  int *speaker;  /* (n_utterances) */
  float *row;    /* (frames x 39) */
  float *target; /* mm, NaN = not measured (frames x n_channels) */
  int capacity_utterances;
  long capacity_frames;
} PlaSpeechData;

void pla_speech_data_init(PlaSpeechData *self, int n_channels, bool causal);
void pla_speech_data_clear(PlaSpeechData *self);
long pla_speech_data_frames(const PlaSpeechData *self);
/* One utterance: sound at 16 kHz and sensors at @rate_hz from @start_s on, in the time of the sound
 * (n_values x n_channels).  Frames without sensors are left without targets. */
PlaStatus pla_speech_data_add(PlaSpeechData *self, int speaker, const double *sample, size_t n,
                              const double *value, long n_values, double rate_hz, double start_s,
                              PlaError *err);

typedef enum { PLA_TRAIN_ADAM = 0, PLA_TRAIN_MOMENTUM } PlaTrainMethod;

typedef struct {
  int n_hidden, n_units;
  PlaContext context;
  PlaTrainMethod method;
  double rate;     /* at the start */
  double decay;    /* factor after each epoch */
  double momentum; /* PLA_TRAIN_MOMENTUM */
  double noise;    /* of the normalised inputs, deviations: forgets what does not carry over */
  double drop;     /* share of units left out in each pass */
  double vary;     /* every epoch other speakers and microphones: deviation of the logarithm of all
                      frequencies, and three times that in deviations of the cepstra */
  int batch, max_epochs;
  int patience; /* epochs without a better validation before stopping */
  int smooth;   /* window of the model */
  unsigned seed;
} PlaTrainOptions;
PlaTrainOptions pla_train_options_default(void); /* 6 x 400, Adam */

typedef struct {
  int n_epochs, best_epoch;
  double train_loss, valid_loss; /* at the best epoch, of normalised outputs, per channel */
  double seconds;
} PlaTrainReport;

/* Trains until the loss on @valid no longer falls; *out is the best epoch's.  The same bits for any
 * number of threads. */
PlaStatus pla_speech_train(const PlaSpeechData *train, const PlaSpeechData *valid,
                           const PlaTrainOptions *opts, PlaSpeechModel **out,
                           PlaTrainReport *report, PlaProgress *progress, PlaError *err);

/* How a model does on data it has not seen; channel by channel, over all frames. */
typedef struct {
  long n;             /* frames with a target */
  double rmse;        /* mm */
  double correlation; /* 0 where either does not vary */
  double deviation;   /* of the target: the error of always saying the mean, mm */
} PlaScore;
PlaStatus pla_speech_score(const PlaSpeechModel *model, const PlaSpeechData *data, PlaScore *score,
                           PlaProgress *progress, PlaError *err);
