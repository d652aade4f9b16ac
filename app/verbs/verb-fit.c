/* Fit: muscle activations, jaw and head motion from markers; or, where activations are known,
 * strengths of the muscles and the stiffness of the flesh. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/content/phonemes.h"
#include "app/verbs/verbs.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* what is worked on */
typedef struct {
  PlaActiveBody *body;
  PlaTake *take;    /* its own: labelling repairs it */
  JsonObject *meta; /* of the take's item */
  const char *markers;
  PlaActivation truth; /* no frames without one */
  PlaActivation known;
  unsigned char *held_out;
  PlaFitOptions opts;
  PlaMarkerMatchOptions label;
} Fit;

static void
fit_clear(Fit *self)
{
  pla_active_body_free(self->body);
  pla_take_free(self->take);
  g_clear_pointer(&self->meta, json_object_unref);
  pla_activation_clear(&self->truth);
  pla_activation_clear(&self->known);
  g_free(self->held_out);
}

/* ---- residuals ---- */

static PlaStatus
new_track(const PlaTake *take, int n_channels, PlaTrack **out, PlaError *err)
{
  PlaStatus st = pla_track_new(take->n_frames, n_channels, out, err);
  if (st == PLA_OK) {
    (*out)->rate_hz = take->rate_hz;
    (*out)->start_s = take->start_s;
  }
  return st;
}

static PlaStatus
name_channel(PlaTrack *track, int c, const char *marker, const char *part, const char *unit,
             PlaError *err)
{
  track->name[c] = pla_strdup_printf("%s%s", marker, part);
  track->unit[c] = pla_strdup(unit);
  return track->name[c] && track->unit[c] ? PLA_OK : pla_fail_memory(err, "the residuals");
}

/* the distance of every marker in every frame, mm; missing where it was not used */
static PlaStatus
distance_track(const PlaTake *take, const PlaFitResult *fit, PlaTrack **out, PlaError *err)
{
  PlaStatus st = new_track(take, fit->n_markers, out, err);
  for (int i = 0; i < fit->n_markers && st == PLA_OK; i++)
    st = name_channel(*out, i, take->name[i], "", pla_unit_suffix(PLA_UNIT_MM), err);
  for (size_t k = 0; st == PLA_OK && k < (size_t)fit->n_frames * (size_t)fit->n_markers; k++)
    (*out)->value[k] = 1000.0 * pla_vec3_norm(fit->residual + 3 * k);
  return st;
}

/* the same in each axis, with the weight that the marker had */
static PlaStatus
vector_track(const PlaTake *take, const PlaFitResult *fit, PlaTrack **out, PlaError *err)
{
  static const char *const part[PLA_RESIDUAL_PARTS] = { " dx", " dy", " dz", " weight" };
  PlaStatus st = new_track(take, PLA_RESIDUAL_PARTS * fit->n_markers, out, err);
  for (int c = 0; c < PLA_RESIDUAL_PARTS * fit->n_markers && st == PLA_OK; c++)
    st = name_channel(*out, c, take->name[c / PLA_RESIDUAL_PARTS], part[c % PLA_RESIDUAL_PARTS],
                      c % PLA_RESIDUAL_PARTS < 3 ? pla_unit_suffix(PLA_UNIT_MM) : "", err);
  for (size_t k = 0; st == PLA_OK && k < (size_t)fit->n_frames * (size_t)fit->n_markers; k++) {
    double *value = (*out)->value + PLA_RESIDUAL_PARTS * k;
    for (int d = 0; d < 3; d++)
      value[d] = 1000.0 * fit->residual[3 * k + (size_t)d];
    value[3] = fit->weight[k];
  }
  return st;
}

/* ---- what was found ---- */

/* root mean square and greatest difference of each control to a known truth, in ranges */
static void
compare(const PlaActivation *a, const PlaActivation *truth, int c, double range, double *rms,
        double *most)
{
  const int n = a->n_frames < truth->n_frames ? a->n_frames : truth->n_frames;
  double sum = 0.0;
  *most = 0.0;
  for (int f = 0; f < n; f++) {
    const size_t at = (size_t)f * (size_t)a->n_controls + (size_t)c;
    const double d = fabs(a->control[at] - truth->control[at]) / range;
    sum += d * d;
    *most = fmax(*most, d);
  }
  *rms = n ? sqrt(sum / n) : 0.0;
}

static void
describe_muscles(PlaWork *work, const Fit *self, const PlaActivation *track,
                 const PlaFitResult *fit)
{
  JsonBuilder *json = pla_work_json(work);
  static const char *const jaw[] = { "jaw opening", "jaw slide right", "jaw slide left" };
  const PlaActiveModel *model = self->body->model;
  g_autofree double *lo = g_new(double, (size_t)fit->n_controls + 1);
  g_autofree double *hi = g_new(double, (size_t)fit->n_controls + 1);
  double worst_seen = 0.0, sum = 0.0;
  int n_seen = 0;
  pla_active_limits(model, lo, hi);
  json_builder_set_member_name(json, "muscles");
  json_builder_begin_array(json);
  for (int c = 0; c < fit->n_controls; c++) {
    double rms = 0.0, most = 0.0;
    json_builder_begin_object(json);
    pla_json_text(json, "name",
                  c < fit->n_muscles ? pla_active_muscle_name(model, c) : jaw[c - fit->n_muscles]);
    pla_json_bool(json, "identifiable", fit->seen[c]);
    pla_json_number(json, "expected_error", fit->deviation[c] / (hi[c] - lo[c]));
    pla_json_si(json, "effect_mm", fit->effect_m[c]);
    pla_json_number(json, "unit_effect_mm",
                    pla_key_value("unit_effect_mm", fit->effect_m[c]) /
                        pla_activation_range(model, c));
    if (self->truth.control) {
      compare(track, &self->truth, c, hi[c] - lo[c], &rms, &most);
      pla_json_number(json, "error_rms", rms);
      pla_json_number(json, "error_max", most);
      if (fit->seen[c]) {
        worst_seen = fmax(worst_seen, most);
        sum += rms * rms;
        n_seen++;
      }
    }
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  if (self->truth.control) {
    pla_json_number(json, "truth_error_rms", n_seen ? sqrt(sum / n_seen) : 0.0);
    pla_json_number(json, "truth_error_max", worst_seen);
    pla_work_say(work, "against the truth, of %d identified controls: %.4f rms, %.4f at most",
                 n_seen, n_seen ? sqrt(sum / n_seen) : 0.0, worst_seen);
  }
}

static void
say_fit(PlaWork *work, const Fit *self, const PlaFitResult *fit, int n_seen)
{
  g_autofree char *rms = pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, fit->rms_m, PLA_UNIT_M);
  g_autofree char *largest = pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, fit->max_m, PLA_UNIT_M);
  g_autofree char *noise = pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, fit->noise_m, PLA_UNIT_M);
  pla_work_say(work, "%d frames: %s rms, %s at most; noise %s, %d outliers", fit->n_frames, rms,
               largest, noise, fit->n_outliers);
  pla_work_say(work, "%d of %d muscles are identified by these markers", n_seen, fit->n_muscles);
  for (int m = 0; m < fit->n_muscles; m++)
    if (!fit->seen[m])
      pla_work_say(work, "  not identified: %s, posterior deviation %.2f",
                   pla_active_muscle_name(self->body->model, m), fit->deviation[m]);
  for (int i = 0; i < fit->notes.n; i++)
    pla_work_say(work, "%s", fit->notes.text[i]);
}

static void
describe(PlaWork *work, const Fit *self, const PlaActivation *track, const PlaFitResult *fit,
         double seconds)
{
  JsonBuilder *json = pla_work_json(work);
  double least = INFINITY, most = -INFINITY;
  int n_seen = 0;
  for (int f = 0; f < fit->n_frames; f++)
    for (int m = 0; m < fit->n_muscles; m++) {
      const double a = fit->control[(size_t)f * (size_t)fit->n_controls + (size_t)m];
      least = fmin(least, a);
      most = fmax(most, a);
    }
  for (int m = 0; m < fit->n_muscles; m++)
    n_seen += fit->seen[m];
  pla_json_int(json, "frames", fit->n_frames);
  pla_json_si(json, "rms_mm", fit->rms_m);
  pla_json_si(json, "max_mm", fit->max_m);
  pla_json_number(json, "activation_min", least);
  pla_json_number(json, "activation_max", most);
  pla_json_int(json, "iterations", fit->iterations);
  pla_json_number(json, "seconds_per_frame", seconds / fit->n_frames);
  pla_json_int(json, "tets", self->body->mesh->n_tets);
  pla_json_int(json, "factorisations", fit->factorisations);
  pla_json_si(json, "noise_mm", fit->noise_m);
  pla_json_si(json, "held_out_rms_mm", fit->held_out_rms_m);
  pla_json_int(json, "outliers", fit->n_outliers);
  pla_json_int(json, "worst_frame", fit->worst_frame + 1);
  pla_json_si(json, "worst_frame_rms_mm", fit->worst_frame_rms_m);
  pla_json_int(json, "identifiable", n_seen);
  pla_json_number(json, "condition", fit->condition);
  pla_json_numbers(json, "singular_values", fit->singular, fit->n_singular);
  describe_muscles(work, self, track, fit);
  json_builder_set_member_name(json, "notes");
  json_builder_begin_array(json);
  for (int i = 0; i < fit->notes.n; i++)
    json_builder_add_string_value(json, fit->notes.text[i]);
  json_builder_end_array(json);
  say_fit(work, self, fit, n_seen);
}

/* ---- strengths and stiffness ---- */

/* what "identify" names; strengths where it is not given */
static PlaStatus
read_sought(const char *text, bool *strengths, bool *stiffness, PlaError *err)
{
  g_auto(GStrv) names = g_strsplit(text ? text : "strength", ",", -1);
  *strengths = *stiffness = false;
  for (char **name = names; *name; name++) {
    if (strcmp(*name, "strength") == 0)
      *strengths = true;
    else if (strcmp(*name, "stiffness") == 0)
      *stiffness = true;
    else
      return pla_fail(err, PLA_ERR_USAGE,
                      "identify is 'strength', 'stiffness' or 'strength,stiffness', not '%s'",
                      *name);
  }
  return PLA_OK;
}

static void
describe_strengths(PlaWork *work, const PlaActiveModel *model, const double *strength,
                   const double *deviation)
{
  JsonBuilder *json = pla_work_json(work);
  const int n = pla_active_n_muscles(model);
  double least = INFINITY, most = 0.0;
  json_builder_set_member_name(json, "strengths");
  json_builder_begin_array(json);
  for (int m = 0; m < n; m++) {
    json_builder_begin_object(json);
    pla_json_text(json, "name", pla_active_muscle_name(model, m));
    pla_json_number(json, "strength", strength[m]);
    pla_json_number(json, "expected_error", deviation[m]);
    json_builder_end_object(json);
    least = fmin(least, strength[m]);
    most = fmax(most, strength[m]);
  }
  json_builder_end_array(json);
  pla_json_number(json, "strength_min", least);
  pla_json_number(json, "strength_max", most);
  pla_work_say(work, "%d muscles: strengths %.3f to %.3f", n, least, most);
}

static void
describe_stiffness(PlaWork *work, const PlaActiveBody *body, const PlaIdentifyReport *report)
{
  JsonBuilder *json = pla_work_json(work);
  const double young_pa = report->stiffness * body->young_pa;
  const double deviation = report->stiffness * report->stiffness_deviation;
  pla_json_number(json, "stiffness", report->stiffness);
  pla_json_number(json, "stiffness_expected_error", deviation);
  pla_json_number(json, "young_pa", young_pa);
  pla_work_say(work,
               "the flesh is %.3f times as stiff as assumed (posterior deviation %.3f): Young's "
               "modulus %.0f Pa",
               report->stiffness, deviation, young_pa);
}

/* what is sought where activations are known */
static PlaStatus
identify(PlaWork *work, Fit *self, PlaError *err)
{
  const size_t n = (size_t)pla_active_n_muscles(self->body->model);
  JsonBuilder *json = pla_work_json(work);
  PlaIdentifyReport report = { 0 };
  bool strengths, stiffness;
  g_autofree double *strength = g_new0(double, n + 1), *deviation = g_new0(double, n + 1);
  PlaStatus st = read_sought(pla_work_text(work, "identify"), &strengths, &stiffness, err);
  if (st == PLA_OK)
    st = pla_activation_identify(self->body, self->take, &self->label, &self->known, strengths,
                                 stiffness, &self->opts, strength, deviation, &report, err);
  if (st != PLA_OK)
    return st;
  pla_json_int(json, "frames", self->take->n_frames);
  pla_json_int(json, "muscles", (int)n);
  pla_json_int(json, "iterations", report.iterations);
  pla_json_si(json, "rms_mm", report.rms_m);
  if (strengths)
    describe_strengths(work, self->body->model, strength, deviation);
  if (stiffness)
    describe_stiffness(work, self->body, &report);
  g_autofree char *rms = pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, report.rms_m, PLA_UNIT_M);
  pla_work_say(work, "from %d frames, %s rms", self->take->n_frames, rms);
  g_autofree char *name = g_strdup_printf("%s, strengths", self->markers);
  pla_work_add(work, name, pla_content_new(PLA_ITEM_RESULT));
  return PLA_OK;
}

/* ---- running ---- */

/* the activations that the parameter @param names, where it does */
static PlaStatus
read_activation(PlaWork *work, const char *param, const PlaActiveModel *model, PlaActivation *out,
                PlaError *err)
{
  g_autoptr(PlaContent) content = NULL;
  int64_t item;
  if (pla_work_is_null(work, param))
    return PLA_OK;
  PlaStatus st = pla_work_item(work, param, PLA_ITEM_TRACK, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &content, err);
  if (st == PLA_OK) {
    st = pla_activation_from_track(model, content->track, out, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", pla_work_item_name(work, item));
  }
  return st;
}

static PlaStatus
fit_init(Fit *self, PlaWork *work, PlaError *err)
{
  PlaActiveBodyOptions flesh;
  g_autoptr(PlaContent) given = NULL;
  int64_t item;
  *self = (Fit){ .opts = pla_fit_options_default(), .label = pla_marker_match_options_default() };
  self->opts.progress = pla_work_progress(work);
  self->opts.acceleration = pla_work_number(work, "acceleration");
  self->opts.noise_m = pla_work_number(work, "noise_mm") / 1000.0;
  self->opts.prior = pla_work_number(work, "prior");
  self->opts.outlier = pla_work_number(work, "outlier");
  self->opts.rounds = pla_work_int(work, "rounds");
  self->opts.jaw = pla_work_bool(work, "jaw");
  self->opts.head = pla_work_bool(work, "head") ? PLA_HEAD_SOLVED : PLA_HEAD_FIXED;
  self->label.by_geometry = pla_work_bool(work, "label");
  self->label.rest_frame =
      pla_work_is_null(work, "rest_frame") ? -1 : pla_work_int(work, "rest_frame") - 1;
  PlaStatus st = pla_verb_flesh(work, &flesh, err);
  if (st == PLA_OK)
    st = pla_work_item(work, "markers", PLA_ITEM_MARKERS, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &given, err);
  if (st == PLA_OK)
    st = pla_verb_load_body(work, &flesh, &self->body, err);
  if (st == PLA_OK)
    st = pla_take_dup(given->take, &self->take, err);
  if (st == PLA_OK)
    st = read_activation(work, "truth", self->body->model, &self->truth, err);
  if (st == PLA_OK)
    st = read_activation(work, "activations", self->body->model, &self->known, err);
  if (st != PLA_OK)
    return st;
  self->markers = pla_work_item_name(work, item);
  self->meta = json_object_ref(given->meta);
  if (!pla_work_is_null(work, "hold_out")) {
    const int every = pla_work_int(work, "hold_out");
    self->held_out = g_new0(unsigned char, (size_t)self->take->n_markers + 1);
    for (int i = every - 1; i < self->take->n_markers; i += every)
      self->held_out[i] = 1;
    self->opts.held_out = self->held_out;
  }
  return PLA_OK;
}

static PlaStatus
add_results(PlaWork *work, const Fit *self, const PlaActivation *track, const PlaFitResult *fit,
            PlaError *err)
{
  g_autoptr(PlaContent) result = pla_content_new(PLA_ITEM_TRACK);
  g_autoptr(PlaContent) distances = pla_content_new(PLA_ITEM_TRACK);
  g_autoptr(PlaContent) vectors = pla_content_new(PLA_ITEM_TRACK);
  const bool wanted = pla_work_bool(work, "residuals");
  PlaStatus st = pla_activation_to_track(track, self->body->model, &result->track, err);
  if (st == PLA_OK)
    st = distance_track(self->take, fit, &distances->track, err);
  if (st == PLA_OK && wanted)
    st = vector_track(self->take, fit, &vectors->track, err);
  if (st != PLA_OK)
    return st;
  json_object_set_string_member(result->meta, "markers", self->markers);
  json_object_set_string_member(result->meta, "muscles", pla_work_text(work, "muscles"));
  json_object_set_string_member(distances->meta, "markers", self->markers);
  json_object_set_string_member(vectors->meta, "markers", self->markers);
  /* what was spoken meanwhile */
  PlaPhones phones;
  if (pla_meta_get_phonemes(self->meta, &phones, NULL) == PLA_OK && phones.n > 0)
    pla_meta_set_phonemes(result->meta, &phones);
  pla_phones_clear(&phones);
  g_autofree char *name = g_strdup_printf("%s, activations", self->markers);
  g_autofree char *rest = g_strdup_printf("%s, residuals", self->markers);
  g_autofree char *axes = g_strdup_printf("%s, residuals by axis", self->markers);
  pla_work_add(work, name, g_steal_pointer(&result));
  pla_work_add(work, rest, g_steal_pointer(&distances));
  if (wanted)
    pla_work_add_made(work, "residuals", axes, g_steal_pointer(&vectors));
  return PLA_OK;
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  Fit self;
  PlaActivation track = { 0 };
  PlaFitResult fit = { 0 };
  PlaStatus st = fit_init(&self, work, err);
  if (st == PLA_OK && self.known.control)
    st = identify(work, &self, err);
  else if (st == PLA_OK) {
    const gint64 start = g_get_monotonic_time();
    st = pla_activation_fit(self.body, self.take, &self.label, &self.opts, &track, &fit, err);
    const double seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
    if (st == PLA_OK)
      st = add_results(work, &self, &track, &fit, err);
    if (st == PLA_OK)
      describe(work, &self, &track, &fit, seconds);
  }
  pla_fit_result_clear(&fit);
  pla_activation_clear(&track);
  fit_clear(&self);
  return st;
}

static PlaStatus
check(JsonObject *params, PlaError *err)
{
  const char *sought = json_object_get_string_member_with_default(params, "identify", NULL);
  bool strengths, stiffness;
  if (!sought)
    return PLA_OK;
  if (json_object_get_null_member(params, "activations"))
    return pla_fail(err, PLA_ERR_USAGE,
                    "to identify strength or stiffness, also give the known activations");
  return read_sought(sought, &strengths, &stiffness, err);
}

static const PlaVerbParam params[] = {
  { "muscles", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the muscles of a body", .kinds = PLA_ITEM_MUSCLES,
    .positional = true },
  { "markers", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the take", .kinds = PLA_ITEM_MARKERS,
    .positional = true },
  PLA_FLESH_PARAMS,
  { "head", PLA_PARAM_BOOL, NULL, 0, 0, "true",
    N_("the head: solved in every frame (default), or fixed, for stabilised data"), .arg = "HOW",
    .words = "fixed solved",
    .panel = { .title = N_("The _head moves"),
               .spoken = N_("The head moves"),
               .subtitle = N_("Off: the recording is stabilised") } },
  { "jaw", PLA_PARAM_BOOL, NULL, 0, 0, "true", N_("motion of the jaw"), .option = "no-jaw",
    .panel = { .title = N_("The _jaw moves"), .spoken = N_("The jaw moves") } },
  { "label", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    N_("label markers by their positions, not by their names"),
    .panel = { .title = N_("Match by _place"),
               .spoken = N_("Match by place"),
               .subtitle = N_("Ignores the names of markers") } },
  { "rest_frame", PLA_PARAM_INT, NULL, 1, 1e9, "null",
    "the frame at rest (default: the first full one)" },
  { "noise_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0",
    N_("noise of a marker in one axis; 0: estimated"), .arg = "S",
    .panel = { .title = N_("Noise of a _marker"),
               .spoken = N_("Noise of a marker in millimetres"),
               .subtitle = N_("0: found from the recording"),
               .high = 20,
               .step = 0.1,
               .digits = 1 } },
  { "acceleration", PLA_PARAM_NUMBER, NULL, 0, 1e6, "100",
    "bound of the second derivative of activations, 1/s^2; 0: independent frames", .arg = "A" },
  { "prior", PLA_PARAM_NUMBER, NULL, 0.001, 1000, "1", "spread of activations about 0",
    .arg = "S" },
  { "outlier", PLA_PARAM_NUMBER, NULL, 0, 1000, "4",
    "standard deviations beyond which a marker is an outlier", .arg = "K" },
  { "rounds", PLA_PARAM_INT, NULL, 0, 20, "2", "fits of all frames together" },
  { "hold_out", PLA_PARAM_INT, NULL, 2, 1000, "null",
    "leave every Kth marker out and report its error", .arg = "K" },
  { "activations", PLA_PARAM_ITEM, NULL, 0, 0, "null",
    "known activations of the take: fit the strengths of the muscles, and write them instead",
    .kinds = PLA_ITEM_TRACK, .arg = "CSV" },
  { "identify", PLA_PARAM_TEXT, NULL, 1, 40, "null",
    "with known activations: strength (default), stiffness of the flesh, or strength,stiffness",
    .arg = "WHAT" },
  { "truth", PLA_PARAM_ITEM, NULL, 0, 0, "null", "known activations to compare with",
    .kinds = PLA_ITEM_TRACK, .arg = "CSV" },
  { "residuals", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    "also the residual of every marker in each axis, with its weight", .arg = "CSV", .file = true },
  { NULL },
};

static const PlaResultKey results[] = {
  { "frames", "number of frames" },
  { "rms_mm", "root mean square distance of markers" },
  { "max_mm", "largest distance" },
  { "activation_min", "smallest activation" },
  { "activation_max", "largest activation" },
  { "iterations", "of all frames" },
  { "seconds_per_frame", "time that a frame took", .clock = true },
  { "tets", "tetrahedra of the body" },
  { "factorisations", "of all frames" },
  { "noise_mm", "noise of a marker in one axis" },
  { "held_out_rms_mm", "distance of the markers that were left out" },
  { "outliers", "positions that were left out as gross errors" },
  { "worst_frame", "frame with the largest distance, from 1" },
  { "worst_frame_rms_mm", "root mean square distance in it" },
  { "identifiable", "muscles that the markers determine" },
  { "condition", "of the sensitivities" },
  { "singular_values", "of the sensitivities" },
  { "muscles", "each muscle and direction of the jaw: how well it is known; with known activations "
               "the number of muscles" },
  { "truth_error_rms", "difference to the truth, where it is given" },
  { "truth_error_max", "largest difference to the truth" },
  { "notes", "what was repaired or assumed" },
  { "strengths", "with known activations: name, strength and its expected error of each muscle" },
  { "strength_min", "with known activations: the smallest strength" },
  { "strength_max", "with known activations: the largest strength" },
  { "stiffness", "with known activations: factor on the stiffness of the flesh" },
  { "stiffness_expected_error", "of that factor" },
  { "young_pa", "the stiffness that it means" },
  { NULL },
};

const PlaVerb pla_verb_fit = {
  .name = "fit",
  .title = "Fit Activations",
  .summary = "finds muscle activations, jaw and head motion from markers",
  .params = params,
  .results = results,
  .makes = PLA_ITEM_TRACK,
  .keeps = "fit",
  .check = check,
  .run = run,
};
