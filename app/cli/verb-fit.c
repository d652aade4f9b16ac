/* `fit`: muscle activations from markers. */
#include "anatomy/base/mat3.h"
#include "app/base/csv.h"
#include "app/base/quantity.h"
#include "app/cli/body-input.h"
#include "app/cli/cli-private.h"
#include "io/formats/format.h"
#include "io/stream/output.h"

#include <math.h>
#include <string.h>

/* frame, marker, residual, weight */
static PlaStatus
write_residuals(const char *path, const PlaTake *take, const PlaFitResult *fit, PlaError *err)
{
  g_autoptr(GString) text = g_string_new("frame,marker,dx_mm,dy_mm,dz_mm,weight\n");
  for (int f = 0; f < fit->n_frames; f++)
    for (int i = 0; i < fit->n_markers; i++) {
      const size_t k = (size_t)f * (size_t)fit->n_markers + (size_t)i;
      char number[4][G_ASCII_DTOSTR_BUF_SIZE];
      if (!isfinite(fit->residual[3 * k]))
        continue;
      for (size_t d = 0; d < 3; d++)
        g_ascii_formatd(number[d], sizeof number[d], "%.5f", 1000.0 * fit->residual[3 * k + d]);
      g_ascii_formatd(number[3], sizeof number[3], "%.4f", fit->weight[k]);
      g_string_append_printf(text, "%d,", f + 1);
      pla_csv_put(text, take->name[i]);
      g_string_append_printf(text, ",%s,%s,%s,%s\n", number[0], number[1], number[2], number[3]);
    }
  return pla_output_write(path, text->str, text->len, err);
}

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
describe_muscles(PlaInvocation *inv, const PlaActiveBody *body, const PlaActivation *track,
                 const PlaActivation *truth, const PlaFitResult *fit)
{
  JsonBuilder *json = pla_invocation_json(inv);
  static const char *const jaw[] = { "jaw opening", "jaw slide right", "jaw slide left" };
  g_autofree double *lo = g_new(double, (size_t)fit->n_controls + 1);
  g_autofree double *hi = g_new(double, (size_t)fit->n_controls + 1);
  double worst_seen = 0.0, sum = 0.0;
  int n_seen = 0;
  pla_active_limits(body->model, lo, hi);
  json_builder_set_member_name(json, "muscles");
  json_builder_begin_array(json);
  for (int c = 0; c < fit->n_controls; c++) {
    double rms = 0.0, most = 0.0;
    json_builder_begin_object(json);
    pla_json_text(json, "name",
                  c < fit->n_muscles ? pla_active_muscle_name(body->model, c)
                                     : jaw[c - fit->n_muscles]);
    pla_json_bool(json, "identifiable", fit->seen[c]);
    pla_json_number(json, "expected_error", fit->deviation[c] / (hi[c] - lo[c]));
    pla_json_si(json, "effect_mm", fit->effect_m[c]);
    pla_json_number(json, "unit_effect_mm",
                    pla_key_value("unit_effect_mm", fit->effect_m[c]) /
                        pla_activation_range(body->model, c));
    if (truth) {
      compare(track, truth, c, hi[c] - lo[c], &rms, &most);
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
  if (truth) {
    pla_json_number(json, "truth_error_rms", n_seen ? sqrt(sum / n_seen) : 0.0);
    pla_json_number(json, "truth_error_max", worst_seen);
    pla_say(inv, "against the truth, of %d identified controls: %.4f rms, %.4f at most", n_seen,
            n_seen ? sqrt(sum / n_seen) : 0.0, worst_seen);
  }
}

static void
describe(PlaInvocation *inv, const PlaActiveBody *body, const PlaActivation *track,
         const PlaActivation *truth, const PlaFitResult *fit, double seconds)
{
  JsonBuilder *json = pla_invocation_json(inv);
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
  pla_json_int(json, "tets", body->mesh->n_tets);
  pla_json_int(json, "factorisations", fit->factorisations);
  pla_json_si(json, "noise_mm", fit->noise_m);
  pla_json_si(json, "held_out_rms_mm", fit->held_out_rms_m);
  pla_json_int(json, "outliers", fit->n_outliers);
  pla_json_int(json, "worst_frame", fit->worst_frame + 1);
  pla_json_si(json, "worst_frame_rms_mm", fit->worst_frame_rms_m);
  pla_json_int(json, "identifiable", n_seen);
  pla_json_number(json, "condition", fit->condition);
  pla_json_numbers(json, "singular_values", fit->singular, fit->n_singular);
  describe_muscles(inv, body, track, truth, fit);
  json_builder_set_member_name(json, "notes");
  json_builder_begin_array(json);
  for (int i = 0; i < fit->notes.n; i++)
    json_builder_add_string_value(json, fit->notes.text[i]);
  json_builder_end_array(json);
  g_autofree char *rms = pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, fit->rms_m, PLA_UNIT_M);
  g_autofree char *largest = pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, fit->max_m, PLA_UNIT_M);
  g_autofree char *noise = pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, fit->noise_m, PLA_UNIT_M);
  pla_say(inv, "%d frames: %s rms, %s at most; noise %s, %d outliers", fit->n_frames, rms, largest,
          noise, fit->n_outliers);
  pla_say(inv, "%d of %d muscles are identified by these markers", n_seen, fit->n_muscles);
  for (int m = 0; m < fit->n_muscles; m++)
    if (!fit->seen[m])
      pla_say(inv, "  not identified: %s, posterior deviation %.2f",
              pla_active_muscle_name(body->model, m), fit->deviation[m]);
  for (int i = 0; i < fit->notes.n; i++)
    pla_say(inv, "%s", fit->notes.text[i]);
}

static PlaStatus
read_options(PlaInvocation *inv, PlaFitOptions *opts, PlaLabelOptions *label, PlaError *err)
{
  const char *head = pla_invocation_text(inv, "head", 0, "solved");
  opts->noise_m = pla_invocation_number(inv, "noise-mm", 0.0) / 1000.0;
  opts->acceleration = pla_invocation_number(inv, "acceleration", opts->acceleration);
  opts->prior = pla_invocation_number(inv, "prior", opts->prior);
  opts->rounds = pla_invocation_int(inv, "rounds", opts->rounds);
  opts->outlier = pla_invocation_number(inv, "outlier", opts->outlier);
  opts->jaw = !pla_invocation_has(inv, "no-jaw");
  opts->progress = pla_invocation_progress(inv);
  label->rest_frame = pla_invocation_int(inv, "rest-frame", 0) - 1;
  label->by_geometry = pla_invocation_has(inv, "label");
  if (strcmp(head, "fixed") == 0)
    opts->head = PLA_HEAD_FIXED;
  else if (strcmp(head, "solved") != 0)
    return pla_fail(err, PLA_ERR_USAGE, "--head is 'solved' or 'fixed', not '%s'", head);
  return PLA_OK;
}

/* what --identify names; strengths where it is not given */
static PlaStatus
read_sought(PlaInvocation *inv, bool *strengths, bool *stiffness, PlaError *err)
{
  g_auto(GStrv) names = g_strsplit(pla_invocation_text(inv, "identify", 0, "strength"), ",", -1);
  *strengths = *stiffness = false;
  for (char **name = names; *name; name++) {
    if (strcmp(*name, "strength") == 0)
      *strengths = true;
    else if (strcmp(*name, "stiffness") == 0)
      *stiffness = true;
    else
      return pla_fail(err, PLA_ERR_USAGE,
                      "--identify is 'strength', 'stiffness' or 'strength,stiffness', not '%s'",
                      *name);
  }
  return PLA_OK;
}

static void
add_row(GString *text, const char *name, double value, double error)
{
  char number[2][G_ASCII_DTOSTR_BUF_SIZE];
  pla_csv_put(text, name);
  g_string_append_printf(text, ",%s,%s\n",
                         g_ascii_formatd(number[0], sizeof number[0], "%.5f", value),
                         g_ascii_formatd(number[1], sizeof number[1], "%.5f", error));
}

static void
describe_strengths(PlaInvocation *inv, const PlaActiveModel *model, const double *strength,
                   const double *deviation, GString *text)
{
  JsonBuilder *json = pla_invocation_json(inv);
  const int n = pla_active_n_muscles(model);
  double least = INFINITY, most = 0.0;
  for (int m = 0; m < n; m++) {
    add_row(text, pla_active_muscle_name(model, m), strength[m], deviation[m]);
    least = fmin(least, strength[m]);
    most = fmax(most, strength[m]);
  }
  pla_json_number(json, "strength_min", least);
  pla_json_number(json, "strength_max", most);
  pla_say(inv, "%d muscles: strengths %.3f to %.3f", n, least, most);
}

static void
describe_stiffness(PlaInvocation *inv, const PlaActiveBody *body, const PlaIdentifyReport *report,
                   GString *text)
{
  JsonBuilder *json = pla_invocation_json(inv);
  const double young_pa = report->stiffness * body->young_pa;
  add_row(text, "flesh stiffness", report->stiffness,
          report->stiffness * report->stiffness_deviation);
  pla_json_number(json, "stiffness", report->stiffness);
  pla_json_number(json, "stiffness_expected_error",
                  report->stiffness * report->stiffness_deviation);
  pla_json_number(json, "young_pa", young_pa);
  pla_say(inv,
          "the flesh is %.3f times as stiff as assumed (posterior deviation %.3f): Young's modulus "
          "%.0f Pa",
          report->stiffness, report->stiffness * report->stiffness_deviation, young_pa);
}

/* what is sought where activations are known */
static PlaStatus
identify(PlaInvocation *inv, const PlaActiveBody *body, PlaTake *take, const PlaLabelOptions *label,
         const PlaFitOptions *opts, PlaError *err)
{
  const size_t n = (size_t)pla_active_n_muscles(body->model);
  JsonBuilder *json = pla_invocation_json(inv);
  PlaActivation known = { 0 };
  PlaIdentifyReport report = { 0 };
  bool strengths, stiffness;
  g_autofree double *strength = g_new0(double, n + 1), *deviation = g_new0(double, n + 1);
  g_autoptr(GString) text = g_string_new("muscle,strength,expected_error\n");
  PlaStatus st = read_sought(inv, &strengths, &stiffness, err);
  if (st == PLA_OK)
    st = pla_invocation_activation(inv, pla_invocation_text(inv, "activations", 0, NULL),
                                   body->model, &known, err);
  if (st == PLA_OK)
    st = pla_activation_identify(body, take, label, &known, strengths, stiffness, opts, strength,
                                 deviation, &report, err);
  if (st == PLA_OK) {
    pla_json_int(json, "frames", take->n_frames);
    pla_json_int(json, "muscles", (int)n);
    pla_json_int(json, "iterations", report.iterations);
    pla_json_si(json, "rms_mm", report.rms_m);
    if (strengths)
      describe_strengths(inv, body->model, strength, deviation, text);
    if (stiffness)
      describe_stiffness(inv, body, &report, text);
    g_autofree char *rms = pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, report.rms_m, PLA_UNIT_M);
    pla_say(inv, "from %d frames, %s rms", take->n_frames, rms);
    st = pla_output_write(pla_invocation_output(inv), text->str, text->len, err);
  }
  pla_activation_clear(&known);
  return st;
}

static PlaStatus
run_fit(PlaInvocation *inv, PlaError *err)
{
  PlaActiveBody *body = NULL;
  PlaTake *take = NULL;
  PlaActivation track = { 0 }, truth = { 0 };
  PlaFitResult fit = { 0 };
  PlaFitOptions opts = pla_fit_options_default();
  PlaLabelOptions label = pla_label_options_default();
  PlaProgress *progress = pla_invocation_progress(inv);
  const PlaFormat *format = NULL;
  const char *output = pla_invocation_output(inv);
  g_autofree unsigned char *held = NULL;
  PlaStatus st = pla_format_for_output(output, PLA_KIND_TRACK, &format, err);
  if (st == PLA_OK)
    st = read_options(inv, &opts, &label, err);
  if (st == PLA_OK)
    st = pla_invocation_take(inv, pla_invocation_file(inv, 1), &take, err);
  pla_progress_phase(progress, "Building the body", 0.2);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_invocation_body(inv, pla_invocation_file(inv, 0), &body, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK && pla_invocation_has(inv, "truth"))
    st = pla_invocation_activation(inv, pla_invocation_text(inv, "truth", 0, NULL), body->model,
                                   &truth, err);
  if (st == PLA_OK && pla_invocation_has(inv, "hold-out")) {
    const int every = pla_invocation_int(inv, "hold-out", 10);
    held = g_new0(unsigned char, (size_t)take->n_markers + 1);
    for (int i = every - 1; i < take->n_markers; i += every)
      held[i] = 1;
    opts.held_out = held;
  }
  if (st == PLA_OK && pla_invocation_has(inv, "identify") &&
      !pla_invocation_has(inv, "activations"))
    st = pla_fail(err, PLA_ERR_USAGE,
                  "--identify needs known activations: give them by --activations CSV");
  if (st == PLA_OK && pla_invocation_has(inv, "activations")) {
    st = identify(inv, body, take, &label, &opts, err);
    pla_take_free(take);
    pla_active_body_free(body);
    return st;
  }
  pla_progress_phase(progress, "Fitting", 0.98);
  span = pla_progress_push(progress);
  const gint64 start = g_get_monotonic_time();
  if (st == PLA_OK) {
    st = pla_activation_fit(body, take, &label, &opts, &track, &fit, err);
    if (st != PLA_OK && st != PLA_ERR_CANCELLED)
      pla_fail_within(err, "%s", pla_invocation_file(inv, 1));
  }
  const double seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    st = pla_invocation_write_activation(inv, output, body->model, &track, err);
  if (st == PLA_OK && pla_invocation_has(inv, "residuals"))
    st = write_residuals(pla_invocation_text(inv, "residuals", 0, NULL), take, &fit, err);
  if (st == PLA_OK)
    describe(inv, body, &track, truth.control ? &truth : NULL, &fit, seconds);
  pla_fit_result_clear(&fit);
  pla_activation_clear(&track);
  pla_activation_clear(&truth);
  pla_take_free(take);
  pla_active_body_free(body);
  return st;
}

static const PlaOpt options[] = {
  PLA_BODY_OPTIONS,
  { "head", 0, PLA_OPT_TEXT, "HOW", "solved in every frame (default), or fixed: stabilised data" },
  { "no-jaw", 0, PLA_OPT_FLAG, NULL, "the jaw stays closed" },
  { "label", 0, PLA_OPT_FLAG, NULL, "label markers by where they are, whatever their names" },
  { "rest-frame", 0, PLA_OPT_INT, "N", "the frame at rest (default: the first full one)", 1, 1e9 },
  { "noise-mm", 0, PLA_OPT_NUMBER, "S", "noise of a marker in one axis (default: estimated)", 0,
    100 },
  { "acceleration", 0, PLA_OPT_NUMBER, "A",
    "bound of the second derivative of activations, 1/s^2 (default: 100; 0: independent frames)", 0,
    1e6 },
  { "prior", 0, PLA_OPT_NUMBER, "S", "spread of activations about 0 (default: 1)", 0.001, 1000 },
  { "outlier", 0, PLA_OPT_NUMBER, "K",
    "standard deviations beyond which a marker is an outlier (default: 4)", 0, 1000 },
  { "rounds", 0, PLA_OPT_INT, "N", "fits of all frames together (default: 2)", 0, 20 },
  { "hold-out", 0, PLA_OPT_INT, "K", "leave every Kth marker out and report its error", 2, 1000 },
  { "activations", 0, PLA_OPT_TEXT, "CSV",
    "known activations of the take: fit the strengths of the muscles, and write them instead" },
  { "identify", 0, PLA_OPT_TEXT, "WHAT",
    "with --activations: strength (default), stiffness of the flesh, or strength,stiffness" },
  { "truth", 0, PLA_OPT_TEXT, "CSV", "known activations to compare with" },
  { "residuals", 0, PLA_OPT_OUTPUT, "CSV", "write the residual of every marker" },
  { NULL },
};

const PlaVerb pla_verb_fit = {
  .name = "fit",
  .args = "MODEL MARKERS -o ACTIVATIONS.csv",
  .summary = "finds muscle activations, jaw and head motion from markers",
  .description =
      "MODEL is a case with muscles, or phantom:face (79 marker sites), phantom:tongue (22) or\n"
      "phantom:arm.  MARKERS is a C3D, TRC or CSV file.  Markers are matched by name, or by\n"
      "their position in a rest frame when names are unknown.  Another length unit, exchanged\n"
      "markers, markers that stand still and dropped frames are repaired and reported.\n\n"
      "Every frame is an equilibrium of the body, so outliers do not dent the face.\n"
      "Activations lie in 0..1.  Muscles that the markers do not determine are reported as not\n"
      "identifiable, with their posterior deviation at the noise of the take.\n\n"
      "With --activations the body is fitted instead: strengths of the muscles, or the\n"
      "stiffness of the flesh, as factors on the values of the model.  Without an external\n"
      "force only their ratio is determined: when both are fitted, the mean strength stays\n"
      "about 1, and the posterior deviation of the stiffness is large.",
  .example = "platysma-cli fit phantom:face take.c3d -o activations.csv --hold-out 10",
  .min_files = 2,
  .max_files = 2,
  .needs_output = true,
  .options = options,
  .run = run_fit,
};
