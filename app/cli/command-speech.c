/* `speech-corpus`, `speech-train` and `speech-eval`: the inversion from sound to sensors, learnt
 * and judged.  They work on folders with hours of recordings, which are no items of a case: their
 * results would hold for a folder that nobody keeps.  So they are commands and no operations; the
 * network that they make is an input of `speak`. */
#include "anatomy/base/memory.h"
#include "app/cli/cli-private.h"
#include "app/speech/speech-corpus.h"
#include "app/speech/speech-made.h"
#include "app/speech/speech-net.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static void
say_notes(PlaInvocation *inv, const PlaNotes *notes)
{
  for (int i = 0; i < notes->n; i++)
    pla_say(inv, "note: %s", notes->text[i]);
}

/* how often each score of a sensor counts: its x and its y */
static void
describe_scores(PlaInvocation *inv, char *const *name, int n_channels, const PlaScore *score)
{
  JsonBuilder *json = pla_invocation_json(inv);
  double rmse = 0.0, correlation = 0.0, deviation = 0.0;
  json_builder_set_member_name(json, "sensors");
  json_builder_begin_array(json);
  for (int c = 0; c + 1 < n_channels; c += 2) {
    const PlaScore *x = &score[c], *y = &score[c + 1];
    g_autofree char *sensor = g_strndup(name[c], strlen(name[c]) - 2);
    const double e = sqrt(0.5 * (x->rmse * x->rmse + y->rmse * y->rmse));
    const double d = sqrt(0.5 * (x->deviation * x->deviation + y->deviation * y->deviation));
    const double r = 0.5 * (x->correlation + y->correlation);
    rmse += e / (n_channels / 2);
    deviation += d / (n_channels / 2);
    correlation += r / (n_channels / 2);
    json_builder_begin_object(json);
    pla_json_text(json, "name", sensor);
    pla_json_number(json, "rmse_mm", e);
    pla_json_number(json, "correlation", r);
    pla_json_number(json, "deviation_mm", d);
    pla_json_numbers(json, "rmse_xy_mm", (double[]){ x->rmse, y->rmse }, 2);
    pla_json_numbers(json, "correlation_xy", (double[]){ x->correlation, y->correlation }, 2);
    json_builder_end_object(json);
    pla_say(inv, "  %-3s rmse %5.2f mm (always the mean: %5.2f), correlation %6.3f", sensor, e, d,
            r);
  }
  json_builder_end_array(json);
  pla_json_number(json, "mean_rmse_mm", rmse);
  pla_json_number(json, "mean_correlation", correlation);
  pla_json_number(json, "mean_deviation_mm", deviation);
  pla_say(inv, "  mean rmse %.2f mm (always the mean: %.2f), correlation %.3f", rmse, deviation,
          correlation);
}

static PlaStatus
score_set(PlaInvocation *inv, const PlaSpeechModel *model, const PlaSpeechData *data, PlaError *err)
{
  g_autofree PlaScore *score = g_new0(PlaScore, data->n_channels);
  PlaStatus st = pla_speech_score(model, data, score, pla_invocation_progress(inv), err);
  if (st == PLA_OK)
    describe_scores(inv, model->name, data->n_channels, score);
  return st;
}

/* a corpus on disk, or one that Platysma makes */
static PlaStatus
load_corpus(PlaInvocation *inv, const char *name, bool causal, unsigned sets, PlaSpeechCorpus *out,
            PlaNotes *notes, PlaError *err)
{
  unsigned sources = 0;
  PlaProgress *progress = pla_invocation_progress(inv);
  if (pla_speech_made_parse(name, &sources))
    return pla_speech_made_load(sources, pla_invocation_number(inv, "minutes", 20.0), causal, sets,
                                out, progress, err);
  return pla_speech_corpus_load(name, causal, sets, out, notes, progress, err);
}

/* ---- training */

/* frames that the network hears: a name, or their offsets from the present one */
static PlaStatus
parse_context(const char *text, PlaContext *out, PlaError *err)
{
  if (strcmp(text, "seven") == 0) {
    *out = pla_context_default();
  } else if (strcmp(text, "causal") == 0) {
    *out = pla_context_causal();
  } else if (strcmp(text, "long") == 0) {
    *out = pla_context_long();
  } else {
    g_auto(GStrv) parts = g_strsplit(text, ",", PLA_CONTEXT_MAX + 1);
    bool fine = g_strv_length(parts) <= PLA_CONTEXT_MAX;
    *out = (PlaContext){ 0 };
    for (int i = 0; fine && parts[i]; i++) {
      gint64 at = 0;
      fine =
          g_ascii_string_to_signed(parts[i], 10, -PLA_CONTEXT_REACH, PLA_CONTEXT_REACH, &at, NULL);
      out->offset[out->n++] = (int)at;
    }
    if (!fine || !pla_context_check(out))
      return pla_fail(err, PLA_ERR_USAGE,
                      "--context is seven, causal, long or up to %d ascending offsets between -%d "
                      "and %d such as -4,-2,0,2, not '%s'",
                      PLA_CONTEXT_MAX, PLA_CONTEXT_REACH, PLA_CONTEXT_REACH, text);
  }
  return PLA_OK;
}

static PlaStatus
train_options(PlaInvocation *inv, PlaTrainOptions *out, PlaError *err)
{
  *out = pla_train_options_default();
  const PlaStatus st =
      parse_context(pla_invocation_text(inv, "context", 0, "seven"), &out->context, err);
  if (st != PLA_OK)
    return st;
  const char *method = pla_invocation_text(inv, "method", 0, "adam");
  if (strcmp(method, "momentum") == 0) {
    out->method = PLA_TRAIN_MOMENTUM;
    out->rate = 4e-4 * 14; /* the loss is the sum over channels in the source, halved here */
  } else if (strcmp(method, "adam") != 0) {
    return pla_fail(err, PLA_ERR_USAGE, "--method is adam or momentum, not '%s'", method);
  }
  out->n_hidden = pla_invocation_int(inv, "layers", out->n_hidden);
  out->n_units = pla_invocation_int(inv, "units", out->n_units);
  out->rate = pla_invocation_number(inv, "rate", out->rate);
  out->noise = pla_invocation_number(inv, "noise", 0.0);
  out->drop = pla_invocation_number(inv, "drop", 0.0);
  out->vary = pla_invocation_number(inv, "vary", 0.0);
  out->decay = pla_invocation_number(inv, "decay", out->decay);
  out->max_epochs = pla_invocation_int(inv, "epochs", out->max_epochs);
  out->smooth = pla_invocation_int(inv, "smooth", out->smooth);
  if (out->smooth % 2 == 0)
    return pla_fail(err, PLA_ERR_USAGE, "--smooth must be odd");
  out->seed = (unsigned)pla_invocation_int(inv, "seed", 1);
  return PLA_OK;
}

/* the corpus gives the held-out sets; where a small one leaves one empty, it says so */
static PlaStatus
check_sets(const PlaSpeechCorpus *corpus, const char *path, PlaError *err)
{
  for (int s = 0; s < PLA_N_SETS; s++)
    if (corpus->set[s].n_utterances == 0)
      return pla_fail(err, PLA_ERR_USAGE,
                      "%s: no utterance is in the set '%s'; list more, or assign one with \"set\"",
                      path, pla_speech_set_names[s]);
  return PLA_OK;
}

static PlaStatus
take_names(PlaSpeechModel *model, const PlaSpeechCorpus *corpus, PlaError *err)
{
  model->name = pla_array_new0((size_t)corpus->n_channels, sizeof *model->name);
  for (int c = 0; model->name && c < corpus->n_channels; c++)
    model->name[c] = pla_strdup(corpus->name[c]);
  model->provenance = pla_strdup(corpus->provenance);
  return model->name && model->provenance ? PLA_OK : pla_fail_memory(err, "the model");
}

static void
describe_training(PlaInvocation *inv, const PlaSpeechModel *model, const PlaTrainReport *report)
{
  JsonBuilder *json = pla_invocation_json(inv);
  pla_json_int(json, "parameters", (int64_t)pla_net_n_params(&model->net->shape));
  pla_json_int(json, "epochs", report->n_epochs);
  pla_json_int(json, "best_epoch", report->best_epoch);
  pla_json_number(json, "train_loss", report->train_loss);
  pla_json_number(json, "valid_loss", report->valid_loss);
  pla_json_number(json, "latency_s", pla_speech_latency_s(&model->context, model->smooth / 2));
  pla_json_number(json, "seconds", report->seconds);
  pla_say(inv, "%d x %d units, %d epochs (best: %d) in %.1f s; loss %.3f, on the validation %.3f",
          model->net->shape.n_hidden, model->net->shape.n_units, report->n_epochs,
          report->best_epoch, report->seconds, report->train_loss, report->valid_loss);
  pla_say(inv,
          "  looks %.1f ms ahead, and %.0f ms more where its output is smoothed over %d frames",
          1000.0 * pla_speech_latency_s(&model->context, 0), 10.0 * (model->smooth / 2),
          model->smooth);
}

static PlaStatus
run_train(PlaInvocation *inv, PlaError *err)
{
  const char *path = pla_invocation_file(inv, 0);
  PlaProgress *progress = pla_invocation_progress(inv);
  PlaSpeechCorpus corpus = { 0 };
  PlaSpeechModel *model = NULL;
  PlaTrainOptions opts;
  PlaTrainReport report;
  PlaNotes notes = { 0 };
  PlaStatus st = train_options(inv, &opts, err);
  pla_progress_phase(progress, "Reading", 0.2);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = load_corpus(inv, path, opts.context.causal, 7, &corpus, &notes, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    st = check_sets(&corpus, path, err);
  pla_progress_phase(progress, "Training", 0.98);
  span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_speech_train(&corpus.set[PLA_SET_TRAIN], &corpus.set[PLA_SET_VALID], &opts, &model,
                          &report, progress, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    st = take_names(model, &corpus, err);
  if (st == PLA_OK)
    st = pla_speech_net_write(pla_invocation_output(inv), model,
                              pla_invocation_has(inv, "small") ? 8 : 32, err);
  if (st == PLA_OK) {
    JsonBuilder *json = pla_invocation_json(inv);
    int n = 0;
    long frames = 0;
    for (int s = 0; s < PLA_N_SETS; s++) {
      n += corpus.set[s].n_utterances;
      frames += pla_speech_data_frames(&corpus.set[s]);
    }
    pla_json_int(json, "utterances", n);
    pla_json_int(json, "frames", frames);
    pla_json_int(json, "speakers", corpus.n_speakers);
    pla_json_int(json, "held_out", corpus.set[PLA_SET_TEST].n_utterances);
    describe_training(inv, model, &report);
    say_notes(inv, &notes);
    pla_say(inv, "on %d held-out utterances:", corpus.set[PLA_SET_TEST].n_utterances);
    st = score_set(inv, model, &corpus.set[PLA_SET_TEST], err);
  }
  pla_notes_clear(&notes);
  pla_speech_model_free(model);
  pla_speech_corpus_clear(&corpus);
  return st;
}

static const PlaOpt train_option_table[] = {
  { "layers", 0, PLA_OPT_INT, "N", "hidden layers (default: 6)", 1, PLA_NET_MAX_LAYERS },
  { "units", 0, PLA_OPT_INT, "N", "units in each (default: 400)", 8, PLA_NET_MAX_UNITS },
  { "context", 0, PLA_OPT_TEXT, "NAME",
    "input frames: seven (3 before and after, default), causal (6 before), long (20 before, 3 "
    "after), "
    "or offsets such as -4,-2,0,2" },
  { "method", 0, PLA_OPT_TEXT, "NAME", "adam (default) or momentum" },
  { "rate", 0, PLA_OPT_NUMBER, "R", "learning rate at the start (default: 0.001)", 1e-7, 1.0 },
  { "noise", 0, PLA_OPT_NUMBER, "S",
    "add noise of S standard deviations to the inputs (default: 0)", 0, 2.0 },
  { "drop", 0, PLA_OPT_NUMBER, "P",
    "dropout: share of the units left out in each pass (default: 0)", 0, 0.9 },
  { "vary", 0, PLA_OPT_NUMBER, "S",
    "vary tract lengths and microphones every epoch: deviation of log frequencies (default: 0)", 0,
    0.2 },
  { "decay", 0, PLA_OPT_NUMBER, "F", "factor of the rate after an epoch (default: 0.9)", 0.1, 1.0 },
  { "epochs", 0, PLA_OPT_INT, "N", "at most (default: 50; stops early)", 1, 10000 },
  { "smooth", 0, PLA_OPT_INT, "N", "frames over which the output is smoothed (default: 21)", 1,
    101 },
  { "seed", 0, PLA_OPT_INT, "N", "seed of the weights and the shuffling (default: 1)", 0, 1e9 },
  { "minutes", 0, PLA_OPT_NUMBER, "M", "length of each kind of synthetic speech (default: 20)", 0.1,
    600 },
  { "small", 0, PLA_OPT_FLAG, NULL, "store weights in 8 bits" },
  { NULL },
};

const PlaCommand pla_command_speech_train = {
  .name = "speech-train",
  .args = "CORPUS -o NET",
  .summary = "learns sensor positions from paired sound and sensor files",
  .description =
      "CORPUS is a JSON file that lists utterances (sound and sensor files) and describes their\n"
      "columns; speech-corpus writes one as an example.  made:tract and made:espeak are synthetic\n"
      "speech by the articulatory synthesiser and by eSpeak NG; made:both is both.  Utterances or\n"
      "speakers are split into train, valid and test.  The network of the epoch that is best on "
      "valid is\n"
      "kept and scored on test.  The same corpus and options give the same file on any number\n"
      "of threads.  The rmse of a sensor is that of its coordinates, its correlation the mean\n"
      "over x and y, both over all frames of the set.\n\n"
      "Members of the corpus, with their defaults:\n"
      "  \"sensors\": [\"TR\", \"TD\", \"TB\", \"TT\", \"LI\", \"UL\", \"LL\"]\n"
      "  \"columns\": {\"TT_x\": \"T1_px\", ...}   column of each channel (its own name)\n"
      "  \"rate_hz\", \"unit\", \"delay_s\"        (those of the tracks, mm, 0)\n"
      "  \"axes\": {\"x\": \"back\", \"y\": \"down\"}   directions of increasing columns\n"
      "  \"head\": [NAME, NAME]               two coils that move with the head (none)\n"
      "  \"smooth\": 21                       window over the sensors, in frames; 1: none\n"
      "  \"split\": {\"by\": \"utterance\" or \"speaker\", \"valid\": 0.1, \"test\": 0.1}\n"
      "  \"utterances\": [{\"audio\": \"a.wav\", \"track\": \"a.ema\", \"speaker\": NAME,\n"
      "                  \"set\": \"train\", \"valid\" or \"test\" instead of the split}, ...]",
  .example = "platysma-cli speech-train corpus.json -o voice.net --json",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .options = train_option_table,
  .run = run_train,
};

/* ---- evaluation */

static PlaStatus
check_channels(const PlaSpeechModel *model, const PlaSpeechCorpus *corpus, PlaError *err)
{
  if (model->net->shape.n_out != corpus->n_channels)
    return pla_fail(err, PLA_ERR_USAGE, "the network has %d channels, the corpus has %d",
                    model->net->shape.n_out, corpus->n_channels);
  for (int c = 0; c < corpus->n_channels; c++)
    if (strcmp(model->name[c], corpus->name[c]) != 0)
      return pla_fail(err, PLA_ERR_USAGE,
                      "channel %d is %s for the network and %s in the corpus; list the sensors in "
                      "the network's order",
                      c + 1, model->name[c], corpus->name[c]);
  return PLA_OK;
}

static PlaStatus
run_eval(PlaInvocation *inv, PlaError *err)
{
  const char *wanted = pla_invocation_text(inv, "set", 0, "test");
  PlaSpeechCorpus corpus = { 0 };
  PlaSpeechModel *model = NULL;
  PlaNotes notes = { 0 };
  int set = -1;
  for (int s = 0; s < PLA_N_SETS; s++)
    if (strcmp(wanted, pla_speech_set_names[s]) == 0)
      set = s;
  if (set < 0)
    return pla_fail(err, PLA_ERR_USAGE, "--set is train, valid or test, not '%s'", wanted);
  PlaStatus st = pla_speech_net_read(pla_invocation_file(inv, 0), &model, err);
  if (st == PLA_OK)
    st = load_corpus(inv, pla_invocation_file(inv, 1), model->context.causal, 1u << set, &corpus,
                     &notes, err);
  if (st == PLA_OK)
    st = check_channels(model, &corpus, err);
  if (st == PLA_OK && corpus.set[set].n_utterances == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "%s: no utterance is in the set '%s'",
                  pla_invocation_file(inv, 1), wanted);
  if (st == PLA_OK) {
    JsonBuilder *json = pla_invocation_json(inv);
    pla_json_text(json, "set", wanted);
    pla_json_text(json, "trained_on", model->provenance);
    pla_json_int(json, "utterances", corpus.set[set].n_utterances);
    pla_json_int(json, "frames", pla_speech_data_frames(&corpus.set[set]));
    say_notes(inv, &notes);
    pla_say(inv, "trained on %s", model->provenance);
    pla_say(inv, "%d utterances of the set '%s', %ld frames:", corpus.set[set].n_utterances, wanted,
            pla_speech_data_frames(&corpus.set[set]));
    st = score_set(inv, model, &corpus.set[set], err);
  }
  pla_notes_clear(&notes);
  pla_speech_model_free(model);
  pla_speech_corpus_clear(&corpus);
  return st;
}

static const PlaOpt eval_option_table[] = {
  { "set", 0, PLA_OPT_TEXT, "NAME", "train, valid or test (default: test)" },
  { "minutes", 0, PLA_OPT_NUMBER, "M",
    "as given to speech-train; its test set is a tenth of that (default: 20)", 0.1, 600 },
  { NULL },
};

const PlaCommand pla_command_speech_eval = {
  .name = "speech-eval",
  .args = "NET CORPUS",
  .summary = "scores a network on utterances it has not seen",
  .description = "Runs the network over the set of the corpus, smoothed as `speak` does it, and "
                 "compares with\n"
                 "the sensors that were measured: root mean square error and correlation.",
  .example = "platysma-cli speech-eval voice.net corpus.json --json",
  .min_files = 2,
  .max_files = 2,
  .options = eval_option_table,
  .run = run_eval,
};

/* ---- corpora as files */

static PlaStatus
run_corpus(PlaInvocation *inv, PlaError *err)
{
  static const char *const extensions[] = { "csv", "ema", "mat" };
  const char *format = pla_invocation_text(inv, "format", 0, "csv");
  bool known = false;
  for (size_t i = 0; i < G_N_ELEMENTS(extensions); i++)
    known = known || strcmp(format, extensions[i]) == 0;
  if (!known)
    return pla_fail(err, PLA_ERR_USAGE, "--format is csv, ema or mat, not '%s'", format);
  g_autofree char *extension = g_strconcat(".", format, NULL);
  const double minutes = pla_invocation_number(inv, "minutes", 1.0);
  int n = 0;
  PlaStatus st = pla_speech_made_write(pla_invocation_output(inv), extension, minutes,
                                       pla_invocation_int(inv, "speakers", 1),
                                       (unsigned)pla_invocation_int(inv, "seed", 1), &n,
                                       pla_invocation_progress(inv), err);
  if (st == PLA_OK) {
    pla_json_int(pla_invocation_json(inv), "utterances", n);
    pla_say(inv, "%d utterances in %s/corpus.json", n, pla_invocation_output(inv));
  }
  return st;
}

static const PlaOpt corpus_option_table[] = {
  { "minutes", 0, PLA_OPT_NUMBER, "M", "length of the speech (default: 1)", 0.1, 600 },
  { "speakers", 0, PLA_OPT_INT, "N", "number of speakers, who speak in turn (default: 1)", 1,
    1000 },
  { "format", 0, PLA_OPT_TEXT, "NAME",
    "format of the tracks: csv, ema (EST) or mat (default: csv)" },
  { "seed", 0, PLA_OPT_INT, "N", "seed of the speakers and their words (default: 1)", 0, 1e6 },
  { NULL },
};

const PlaCommand pla_command_speech_corpus = {
  .name = "speech-corpus",
  .args = "-o FOLDER",
  .summary = "makes paired sound and sensor files with the articulatory synthesiser",
  .description = "A corpus as speech-train reads it: corpus.json, sounds, and tracks of the seven "
                 "sensors.  The\n"
                 "same options give the same files.",
  .example = "platysma-cli speech-corpus -o trial --minutes 5 --format ema",
  .max_files = 0,
  .needs_output = true,
  .options = corpus_option_table,
  .run = run_corpus,
};
