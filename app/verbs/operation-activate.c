/* Bodies with muscles in a case: making one, moving it, and activations from markers. */
#include "anatomy/base/mat3.h"
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/motion/activation.h"
#include "app/motion/performance.h"
#include "app/verbs/operations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- active-body ---- */

static PlaStatus
run_body(PlaWork *work, PlaError *err)
{
  PlaActiveBodyOptions opts = pla_active_body_options_default();
  PlaActiveBody *body = NULL;
  PlaContent *mesh = NULL, *muscles = NULL;
  const char *phantom = pla_work_text(work, "phantom");
  if (!pla_work_is_null(work, "cell_mm"))
    opts.cell_mm = pla_work_number(work, "cell_mm");
  if (!pla_work_is_null(work, "young_pa"))
    opts.young_pa = pla_work_number(work, "young_pa");
  PlaStatus st = pla_active_body_from_phantom(phantom, &opts, pla_work_progress(work), &body, err);
  /* the muscles must know what the mesh is called in the end */
  if (st == PLA_OK) {
    PlaContent *flesh = pla_content_new(PLA_ITEM_MESH);
    st = pla_mesh_dup(body->mesh, &flesh->mesh, err);
    if (st == PLA_OK) {
      const char *name = pla_work_add(work, phantom, flesh);
      g_autofree char *called = g_strdup_printf("%s muscles", name);
      st = pla_active_body_to_contents(body, name, &mesh, &muscles, err);
      if (st == PLA_OK)
        pla_work_add(work, called, muscles);
      pla_content_unref(mesh);
    } else
      pla_content_unref(flesh);
  }
  pla_active_body_free(body);
  return st;
}

static const PlaOpParam body_params[] = {
  { "phantom", PLA_PARAM_TEXT, NULL, 1, 20, "\"face\"", "face, tongue or arm" },
  { "cell_mm", PLA_PARAM_NUMBER, "mm", 2, 40, "null", "element size" },
  { "young_pa", PLA_PARAM_NUMBER, NULL, 100, 1e8, "null",
    "stiffness of the flesh between the fibres" },
  { NULL },
};

const PlaOperation pla_operation_active_body = {
  .verb = "active-body",
  .title = "Make Active Body",
  .summary = "a phantom's flesh with its muscles, jaw and marker sites",
  .params = body_params,
  .run = run_body,
};

/* ---- what the others share ---- */

PlaStatus
pla_operation_load_body(PlaWork *work, PlaActiveBody **out, PlaError *err)
{
  const PlaActiveBodyOptions opts = pla_active_body_options_default();
  g_autoptr(PlaContent) muscles = NULL;
  g_autoptr(PlaContent) mesh = NULL;
  int64_t item;
  PlaStatus st = pla_work_item(work, "muscles", PLA_ITEM_MUSCLES, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &muscles, err);
  if (st != PLA_OK)
    return st;
  const char *name = json_object_get_string_member(muscles->meta, "mesh");
  const int64_t body = pla_work_find(work, name);
  if (body == 0)
    return pla_fail(err, PLA_ERR_USAGE, "the mesh '%s' of the muscles is not in the case any more",
                    name);
  st = pla_work_load(work, body, &mesh, err);
  return st == PLA_OK ? pla_active_body_from_contents(pla_work_item_name(work, item), mesh, muscles,
                                                      &opts, out, err)
                      : st;
}

PlaStatus
pla_operation_load_moves(PlaWork *work, PlaActiveBody **body, PlaActivation *track, int64_t *item,
                         PlaError *err)
{
  g_autoptr(PlaContent) given = NULL;
  PlaStatus st = pla_work_item(work, "track", PLA_ITEM_TRACK, item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, *item, &given, err);
  if (st == PLA_OK)
    st = pla_operation_load_body(work, body, err);
  return st == PLA_OK ? pla_activation_from_track((*body)->model, given->track, track, err) : st;
}

/* ---- activate ---- */

typedef struct {
  const PlaActiveBody *body;
  PlaMesh *mesh; /* of the wanted frame */
  int frame;
} Still;

static PlaStatus
keep_frame(int f, const double *pos, void *data, PlaError *err)
{
  Still *self = data;
  if (f != self->frame)
    return PLA_OK;
  double *moved = pla_mesh_add_field(self->mesh, "displacement_mm", PLA_ON_VERTS, PLA_F64, 3);
  if (!moved)
    return pla_fail_memory(err, "the frame");
  for (size_t i = 0; i < 3 * (size_t)self->mesh->n_verts; i++)
    moved[i] = 1000.0 * (pos[i] - self->body->mesh->pos[i]);
  memcpy(self->mesh->pos, pos, 3 * (size_t)self->mesh->n_verts * sizeof *pos);
  return PLA_OK;
}

PlaStatus
pla_operation_keep_shape(PlaWork *work, const PlaActiveBody *body, const PlaActivation *track,
                         int frame, const char *name, PlaError *err)
{
  PlaActivationReport report;
  PlaActivation until = *track;
  PlaContent *mesh = pla_content_new(PLA_ITEM_MESH);
  PlaStatus st = pla_mesh_dup(body->mesh, &mesh->mesh, err);
  if (st == PLA_OK) {
    Still still = { body, mesh->mesh, frame };
    until.n_frames = frame + 1;
    st = pla_activation_run(body, &until, 1e-6, keep_frame, &still, pla_work_progress(work),
                            &report, err);
    if (st == PLA_OK && report.unsolved > 0)
      st = pla_fail(err, PLA_ERR_CONVERGENCE, "frame %d did not reach equilibrium",
                    report.first_unsolved + 1);
  }
  if (st == PLA_OK) {
    JsonObject *posed = json_object_new();
    json_object_set_string_member(posed, "muscles", pla_work_text(work, "muscles"));
    json_object_set_int_member(posed, "frame", frame + 1);
    json_object_set_object_member(mesh->meta, "posed", posed);
    pla_work_add(work, name, g_steal_pointer(&mesh));
  }
  pla_content_unref(mesh);
  return st;
}

static PlaStatus
run_activate(PlaWork *work, PlaError *err)
{
  PlaActiveBody *body = NULL;
  PlaActivation track = { 0 };
  int64_t item;
  PlaStatus st = pla_operation_load_moves(work, &body, &track, &item, err);
  const int frame = pla_work_is_null(work, "frame") ? track.n_frames : pla_work_int(work, "frame");
  if (st == PLA_OK && (frame < 1 || frame > track.n_frames))
    st = pla_fail(err, PLA_ERR_USAGE, "\"frame\" is %d, and the track has %d", frame,
                  track.n_frames);
  if (st == PLA_OK) {
    g_autofree char *name = g_strdup_printf("%s, frame %d", pla_work_item_name(work, item), frame);
    st = pla_operation_keep_shape(work, body, &track, frame - 1, name, err);
  }
  pla_activation_clear(&track);
  pla_active_body_free(body);
  return st;
}

static const PlaOpParam activate_params[] = {
  { "muscles", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the muscles of a body" },
  { "track", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "activations by name" },
  { "frame", PLA_PARAM_INT, NULL, 1, 1e9, "null",
    "whose shape is stored; the last when not given" },
  { NULL },
};

const PlaOperation pla_operation_activate = {
  .verb = "activate",
  .title = "Activate Muscles",
  .summary = "moves a body by an activation track and stores the shape of one frame",
  .params = activate_params,
  .run = run_activate,
};

/* ---- fit ---- */

/* the distance of every marker in every frame, mm; missing where it was not used */
static PlaStatus
residual_track(const PlaTake *take, const PlaFitResult *fit, PlaTrack **out, PlaError *err)
{
  PlaTrack *track = NULL;
  PlaStatus st = pla_track_new(fit->n_frames, fit->n_markers, &track, err);
  if (st != PLA_OK)
    return st;
  track->rate_hz = take->rate_hz;
  track->start_s = take->start_s;
  for (int i = 0; i < fit->n_markers; i++) {
    track->name[i] = strdup(take->name[i]);
    track->unit[i] = strdup(pla_unit_suffix(PLA_UNIT_MM));
  }
  for (size_t k = 0; k < (size_t)fit->n_frames * (size_t)fit->n_markers; k++)
    track->value[k] = 1000.0 * pla_vec3_norm(fit->residual + 3 * k);
  *out = track;
  return PLA_OK;
}

/* what was found, for panels and reports */
static void
describe(JsonObject *meta, const PlaActiveBody *body, const PlaFitResult *fit)
{
  JsonObject *found = json_object_new();
  JsonArray *muscles = json_array_new(), *notes = json_array_new();
  pla_json_set_si(found, "rms_mm", fit->rms_m);
  pla_json_set_si(found, "max_mm", fit->max_m);
  pla_json_set_si(found, "noise_mm", fit->noise_m);
  json_object_set_int_member(found, "outliers", fit->n_outliers);
  json_object_set_int_member(found, "worst_frame", fit->worst_frame + 1);
  for (int m = 0; m < fit->n_muscles; m++) {
    JsonObject *one = json_object_new();
    json_object_set_string_member(one, "name", pla_active_muscle_name(body->model, m));
    json_object_set_boolean_member(one, "identifiable", fit->seen[m]);
    json_object_set_double_member(one, "expected_error", fit->deviation[m]);
    pla_json_set_si(one, "effect_mm", fit->effect_m[m]);
    json_array_add_object_element(muscles, one);
  }
  for (int i = 0; i < fit->notes.n; i++)
    json_array_add_string_element(notes, fit->notes.text[i]);
  json_object_set_array_member(found, "muscles", muscles);
  json_object_set_array_member(found, "notes", notes);
  json_object_set_object_member(meta, "fit", found);
}

static PlaStatus
run_fit(PlaWork *work, PlaError *err)
{
  PlaActiveBody *body = NULL;
  PlaTake *take = NULL;
  PlaActivation track = { 0 };
  PlaFitResult fit = { 0 };
  PlaFitOptions opts = pla_fit_options_default();
  PlaLabelOptions label = pla_label_options_default();
  g_autoptr(PlaContent) given = NULL;
  PlaContent *result = pla_content_new(PLA_ITEM_TRACK), *left = pla_content_new(PLA_ITEM_TRACK);
  int64_t item;
  opts.progress = pla_work_progress(work);
  opts.acceleration = pla_work_number(work, "acceleration");
  opts.noise_m = pla_work_number(work, "noise_mm") / 1000.0;
  opts.rounds = pla_work_int(work, "rounds");
  opts.jaw = pla_work_bool(work, "jaw");
  opts.head = pla_work_bool(work, "head") ? PLA_HEAD_SOLVED : PLA_HEAD_FIXED;
  label.by_geometry = pla_work_bool(work, "label");
  PlaStatus st = pla_work_item(work, "markers", PLA_ITEM_MARKERS, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &given, err);
  if (st == PLA_OK)
    st = pla_operation_load_body(work, &body, err);
  /* labelling repairs a take of its own */
  if (st == PLA_OK)
    st = pla_take_dup(given->take, &take, err);
  if (st == PLA_OK)
    st = pla_activation_fit(body, take, &label, &opts, &track, &fit, err);
  if (st == PLA_OK)
    st = pla_activation_to_track(&track, body->model, &result->track, err);
  if (st == PLA_OK)
    st = residual_track(take, &fit, &left->track, err);
  if (st == PLA_OK) {
    const char *markers = pla_work_item_name(work, item);
    g_autofree char *name = g_strdup_printf("%s, activations", markers);
    g_autofree char *rest = g_strdup_printf("%s, residuals", markers);
    describe(result->meta, body, &fit);
    json_object_set_string_member(result->meta, "markers", markers);
    json_object_set_string_member(result->meta, "muscles", pla_work_text(work, "muscles"));
    json_object_set_string_member(left->meta, "markers", markers);
    /* what was spoken meanwhile */
    if (json_object_has_member(given->meta, PLA_META_PHONEMES))
      json_object_set_member(result->meta, PLA_META_PHONEMES,
                             json_node_copy(
                                 json_object_get_member(given->meta, PLA_META_PHONEMES)));
    pla_work_add(work, name, g_steal_pointer(&result));
    pla_work_add(work, rest, g_steal_pointer(&left));
  }
  pla_content_unref(result);
  pla_content_unref(left);
  pla_fit_result_clear(&fit);
  pla_activation_clear(&track);
  pla_take_free(take);
  pla_active_body_free(body);
  return st;
}

static const PlaOpParam fit_params[] = {
  { "muscles", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the muscles of a body" },
  { "markers", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the take" },
  { "acceleration", PLA_PARAM_NUMBER, NULL, 0, 1e6, "100",
    "bound of the second derivative of activations, 1/s^2" },
  { "noise_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0", "of a marker in one axis; 0: estimated" },
  { "rounds", PLA_PARAM_INT, NULL, 0, 20, "2", "fits of all frames together" },
  { "jaw", PLA_PARAM_BOOL, NULL, 0, 0, "true", "the jaw moves" },
  { "head", PLA_PARAM_BOOL, NULL, 0, 0, "true", "the head moves" },
  { "label", PLA_PARAM_BOOL, NULL, 0, 0, "false", "label markers by where they are" },
  { NULL },
};

const PlaOperation pla_operation_fit = {
  .verb = "fit",
  .title = "Fit Activations",
  .summary = "finds muscle activations, jaw and head motion from markers",
  .params = fit_params,
  .run = run_fit,
};
