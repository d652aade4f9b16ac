/* Muscles at work in a case: a pose by hand, the shapes of a whole track, and made-up performances.
 */
#include "app/base/json.h"
#include "app/motion/performance.h"
#include "app/motion/surroundings.h"
#include "app/verbs/verbs.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* ---- pose ---- */

static PlaStatus
run_pose(PlaWork *work, PlaError *err)
{
  PlaActiveBody *body = NULL;
  PlaActivation pose = { 0 };
  PlaTrack *given = NULL;
  g_autoptr(PlaContent) track = pla_content_new(PLA_ITEM_TRACK);
  const char *name = pla_work_text(work, "name");
  PlaStatus st = pla_verb_read_controls(pla_work_list(work, "controls"), &given, err);
  if (st == PLA_OK)
    st = pla_verb_load_body(work, &(PlaActiveBodyOptions){ 0 }, &body, err);
  if (st == PLA_OK)
    st = pla_activation_from_track(body->model, given, &pose, err);
  if (st == PLA_OK)
    st = pla_activation_to_track(&pose, body->model, &track->track, err);
  if (st == PLA_OK) {
    PlaActivationReport report = { 0 };
    st = pla_verb_move(work, body, &pose, NULL, 0, name, &report, NULL, err);
    if (st == PLA_OK && report.unsolved > 0)
      st = pla_fail(err, PLA_ERR_CONVERGENCE, "the pose did not reach equilibrium");
  }
  if (st == PLA_OK) {
    g_autofree char *called = g_strdup_printf("%s, activations", name);
    json_object_set_string_member(track->meta, "muscles", pla_work_text(work, "muscles"));
    pla_work_add(work, called, g_steal_pointer(&track));
  }
  pla_activation_clear(&pose);
  pla_track_free(given);
  pla_active_body_free(body);
  return st;
}

static const PlaVerbParam pose_params[] = {
  { "muscles", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the muscles of a body" },
  { "controls", PLA_PARAM_LIST, NULL, 0, 0, NULL,
    "[[name, value], ...]: activations 0 to 1, jaw opening in degrees, slides in mm; others rest" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "\"pose\"", "name of the shape" },
  { NULL },
};

const PlaVerb pla_verb_pose = {
  .name = "pose",
  .title = "Pose",
  .summary = "moves a body by some muscles and stores shape and activations",
  .params = pose_params,
  .run = run_pose,
};

/* ---- animate ---- */

typedef struct {
  float *shape;
  size_t n; /* numbers of a frame */
} Reel;

static PlaStatus
keep_shape(int f, const double *pos, void *data, PlaError *err)
{
  Reel *self = data;
  float *to = self->shape + self->n * (size_t)f;
  for (size_t i = 0; i < self->n; i++)
    to[i] = (float)pos[i];
  return PLA_OK;
}

static PlaStatus
run_animate(PlaWork *work, PlaError *err)
{
  PlaSurroundings around;
  PlaForwardReport touch = { 0 };
  PlaActiveBody *body = NULL;
  PlaActivation track = { 0 };
  PlaActivationReport report = { 0 };
  Reel reel = { 0 };
  g_autoptr(PlaContent) result = pla_content_new(PLA_ITEM_RESULT);
  int64_t item;
  PlaStatus st = pla_verb_load_moves(work, &body, &track, &item, err);
  if (st == PLA_OK) {
    reel.n = 3 * (size_t)body->mesh->n_verts;
    reel.shape = g_try_new(float, reel.n *(size_t)track.n_frames + 1);
    if (!reel.shape)
      st = pla_fail_memory(err, "the shapes");
  }
  bool meets = false;
  pla_surroundings_init(&around);
  if (st == PLA_OK)
    st = pla_verb_find_surroundings(work, body, track.rate_hz, &around, &meets, err);
  if (st == PLA_OK && meets)
    st = pla_activation_run_forward(body, &track, &around.options, keep_shape, &reel,
                                    pla_work_progress(work), &report, &touch, err);
  else if (st == PLA_OK)
    st = pla_activation_run(body, &track, 1e-6, keep_shape, &reel, pla_work_progress(work), &report,
                            err);
  if (st == PLA_OK) {
    const uint64_t dims[3] = { 3, (uint64_t)body->mesh->n_verts, (uint64_t)track.n_frames };
    st = pla_content_add_array(result, PLA_SHAPES_ARRAY, PLA_F32, 3, dims, reel.shape, err);
  }
  if (st == PLA_OK) {
    const char *of = pla_work_item_name(work, item);
    g_autofree char *name = g_strdup_printf("%s, shapes", of);
    JsonObject *shapes = json_object_new();
    json_object_set_string_member(shapes, "muscles", pla_work_text(work, "muscles"));
    json_object_set_string_member(shapes, "track", of);
    json_object_set_int_member(shapes, "frames", track.n_frames);
    json_object_set_double_member(shapes, "rate_hz", track.rate_hz);
    json_object_set_int_member(shapes, "unsolved", report.unsolved);
    json_object_set_int_member(shapes, "inverted", report.inverted);
    if (around.options.contact) {
      json_object_set_int_member(shapes, "contacts", touch.contacts);
      pla_json_set_si(shapes, "max_penetration_mm", touch.max_penetration_m);
    }
    json_object_set_object_member(result->meta, PLA_META_SHAPES, shapes);
    /* shapes of the track as it was are of no use any more */
    const int64_t before = pla_work_find(work, name);
    if (before != 0)
      pla_work_replace(work, before, g_steal_pointer(&result));
    else
      pla_work_add(work, name, g_steal_pointer(&result));
  }
  g_free(reel.shape);
  pla_surroundings_clear(&around);
  pla_activation_clear(&track);
  pla_active_body_free(body);
  return st;
}

static const PlaVerbParam animate_params[] = {
  { "muscles", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the muscles of a body" },
  { "track", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "activations by name" },
  PLA_SURROUNDINGS_PARAMS(.panel = { .title = N_("_Contact of lips and teeth"),
                                     .spoken = N_("Contact of lips and teeth"),
                                     .subtitle =
                                         N_("When shapes are computed, and in what is said"),
                                     .begin = "true" }),
  { NULL },
};

const PlaVerb pla_verb_animate = {
  .name = "animate",
  .title = "Compute Shapes",
  .summary = "finds the shape of a body in every frame of a track, to be played",
  .params = animate_params,
  .run = run_animate,
};

/* ---- perform ---- */

static PlaStatus
make_moves(PlaWork *work, const PlaActiveBody *body, const PlaPhones *said, PlaActivation *out,
           PlaPhones *spoken, PlaError *err)
{
  const double rate = pla_work_number(work, "rate_hz");
  const double seconds = pla_work_number(work, "seconds");
  if (said->n > 0)
    return pla_perform_phones(body, said, rate, 0.25, out, spoken, err);
  return pla_activation_random(body->model, (int)lround(seconds * rate), rate,
                               (unsigned)pla_work_int(work, "seed"), out, err);
}

static PlaStatus
add_take(PlaWork *work, const PlaActiveBody *body, const PlaActivation *moves, const char *name,
         const PlaPhones *spoken, PlaError *err)
{
  const PlaTakeFaults faults = { .noise_m = pla_work_number(work, "noise_mm") / 1000.0,
                                 .missing = pla_work_number(work, "missing"),
                                 .outliers = pla_work_number(work, "outliers"),
                                 .outlier_m = 0.02,
                                 .seed = (unsigned)pla_work_int(work, "seed") };
  g_autoptr(PlaContent) take = pla_content_new(PLA_ITEM_MARKERS);
  PlaActivationReport report;
  PlaStatus st =
      pla_activation_take(body, moves, &faults, pla_work_progress(work), &take->take, &report, err);
  if (st != PLA_OK)
    return st;
  if (spoken->n > 0)
    pla_meta_set_phonemes(take->meta, spoken);
  pla_work_add(work, name, g_steal_pointer(&take));
  return PLA_OK;
}

static PlaStatus
run_perform(PlaWork *work, PlaError *err)
{
  PlaActiveBody *body = NULL;
  PlaActivation moves = { 0 };
  PlaPhones said = { 0 }, spoken = { 0 };
  g_autoptr(PlaContent) track = pla_content_new(PLA_ITEM_TRACK);
  const char *name = pla_work_text(work, "name");
  PlaStatus st = pla_phones_from_json(pla_work_list(work, "phonemes"), &said, err);
  if (st == PLA_OK)
    st = pla_verb_load_body(work, &(PlaActiveBodyOptions){ 0 }, &body, err);
  if (st == PLA_OK)
    st = make_moves(work, body, &said, &moves, &spoken, err);
  if (st == PLA_OK)
    st = pla_activation_to_track(&moves, body->model, &track->track, err);
  if (st == PLA_OK && pla_work_bool(work, "markers"))
    st = add_take(work, body, &moves, name, &spoken, err);
  if (st == PLA_OK) {
    g_autofree char *called =
        pla_work_bool(work, "markers") ? g_strdup_printf("%s, as made", name) : g_strdup(name);
    json_object_set_string_member(track->meta, "muscles", pla_work_text(work, "muscles"));
    json_object_set_boolean_member(track->meta, "made", TRUE);
    if (spoken.n > 0)
      pla_meta_set_phonemes(track->meta, &spoken);
    pla_work_add(work, called, g_steal_pointer(&track));
  }
  pla_phones_clear(&said);
  pla_phones_clear(&spoken);
  pla_activation_clear(&moves);
  pla_active_body_free(body);
  return st;
}

static const PlaVerbParam perform_params[] = {
  { "muscles", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the muscles of a body" },
  { "phonemes", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "[[start s, end s, IPA], ...] to be said by rule; none: every muscle at its own pace" },
  { "seconds", PLA_PARAM_NUMBER, "s", 0.1, 600, "5", N_("length, where there are no phonemes"),
    .panel = { .title = N_("_Length"),
               .spoken = N_("Length of the recording in seconds"),
               .subtitle = N_("Where no text is said"),
               .low = 0.2,
               .high = 60,
               .step = 0.5,
               .digits = 1 } },
  { "rate_hz", PLA_PARAM_NUMBER, NULL, 1, 1000, "60", "frames in a second" },
  { "seed", PLA_PARAM_INT, NULL, 0, 1e9, "1", "of the pace and of the faults" },
  { "markers", PLA_PARAM_BOOL, NULL, 0, 0, "false", "record it, too, as markers on the skin" },
  { "noise_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0", N_("of each marker in each axis"),
    .panel = { .title = N_("_Noise"),
               .spoken = N_("Noise of the made-up markers in millimetres"),
               .begin = "0.2",
               .high = 5,
               .step = 0.1,
               .digits = 1 } },
  { "missing", PLA_PARAM_NUMBER, NULL, 0, 0.9, "0", "share of markers that are not seen" },
  { "outliers", PLA_PARAM_NUMBER, NULL, 0, 0.9, "0", "share of gross errors, up to 20 mm an axis" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "\"performance\"", "name of the result" },
  { NULL },
};

const PlaVerb pla_verb_perform = {
  .name = "perform",
  .title = "Make Up a Performance",
  .summary = "activations that say a text by rule, or move every muscle; and the take of it",
  .params = perform_params,
  .run = run_perform,
};
