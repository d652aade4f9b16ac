/* Activate: a body moved by its muscles through the frames of a track; the shape of a frame, the
 * markers on its skin, and the activations that were used. */
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/verbs/verbs.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* ---- moving ---- */

typedef struct {
  const PlaActiveBody *body;
  const PlaWorkWatch *watch; /* of PlaMesh, or NULL */
  PlaMesh *mesh;             /* the newest frame that somebody wants */
  double rate_hz;
  int frame; /* whose shape is kept */
} Moving;

static PlaStatus
take_frame(int f, const double *pos, void *data, PlaError *err)
{
  Moving *self = data;
  if (f != self->frame && !self->watch)
    return PLA_OK;
  double *moved = pla_mesh_add_field(self->mesh, "displacement_mm", PLA_ON_VERTS, PLA_F64, 3);
  if (!moved)
    return pla_fail_memory(err, "the frame");
  for (size_t i = 0; i < 3 * (size_t)self->mesh->n_verts; i++)
    moved[i] = 1000.0 * (pos[i] - self->body->mesh->pos[i]);
  memcpy(self->mesh->pos, pos, 3 * (size_t)self->mesh->n_verts * sizeof *pos);
  return self->watch ? self->watch->frame(self->watch->data, f, f / self->rate_hz, self->mesh, err)
                     : PLA_OK;
}

PlaStatus
pla_verb_move(PlaWork *work, const PlaActiveBody *body, const PlaActivation *track,
              const PlaSurroundings *around, int frame, const char *name,
              PlaActivationReport *report, PlaForwardReport *touch, PlaError *err)
{
  g_autoptr(PlaContent) mesh = pla_content_new(PLA_ITEM_MESH);
  PlaActivation until = *track;
  PlaStatus st = pla_mesh_dup(body->mesh, &mesh->mesh, err);
  Moving moving = { body, pla_work_get_watch(work), mesh->mesh, track->rate_hz, frame };
  until.n_frames = frame + 1;
  if (st == PLA_OK)
    st = around ? pla_activation_run_forward(body, &until, &around->options, take_frame, &moving,
                                             pla_work_progress(work), report, touch, err)
                : pla_activation_run(body, &until, 1e-6, take_frame, &moving,
                                     pla_work_progress(work), report, err);
  if (st != PLA_OK)
    return st;
  JsonObject *posed = json_object_new();
  json_object_set_string_member(posed, "muscles", pla_work_text(work, "muscles"));
  json_object_set_int_member(posed, "frame", frame + 1);
  json_object_set_object_member(mesh->meta, "posed", posed);
  pla_work_add(work, name, g_steal_pointer(&mesh));
  return PLA_OK;
}

/* ---- what moves it ---- */

/* the track, the pose or the performance that was asked for, and what to call it (g_free()) */
static PlaStatus
read_moves(PlaWork *work, const PlaActiveModel *model, PlaActivation *out, char **name,
           PlaError *err)
{
  const double rate = pla_work_number(work, "rate_hz");
  const int n = (int)lround(pla_work_number(work, "seconds") * rate);
  g_autoptr(PlaContent) given = NULL;
  PlaTrack *pose = NULL;
  int64_t item;
  PlaStatus st;
  if (!pla_work_is_null(work, "track")) {
    st = pla_work_item(work, "track", PLA_ITEM_TRACK, &item, err);
    if (st == PLA_OK)
      st = pla_work_load(work, item, &given, err);
    if (st != PLA_OK)
      return st;
    *name = g_strdup(pla_work_item_name(work, item));
    st = pla_activation_from_track(model, given->track, out, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", *name);
    return st;
  }
  *name = g_strdup(pla_work_text(work, "muscles"));
  if (!pla_work_is_null(work, "random"))
    return pla_activation_random(model, n > 0 ? n : 1, rate, (unsigned)pla_work_int(work, "random"),
                                 out, err);
  st = pla_verb_read_controls(pla_work_list(work, "set"), &pose, err);
  if (st == PLA_OK) {
    pose->rate_hz = 60.0;
    st = pla_activation_from_track(model, pose, out, err);
  }
  pla_track_free(pose);
  return st;
}

static PlaStatus
add_take(PlaWork *work, const PlaActiveBody *body, const PlaActivation *moves, const char *of,
         PlaActivationReport *report, PlaError *err)
{
  const int seed = pla_work_is_null(work, "random") ? 1 : pla_work_int(work, "random");
  const PlaTakeFaults faults = { .noise_m = pla_work_number(work, "noise_mm") / 1000.0,
                                 .missing = pla_work_number(work, "missing"),
                                 .outliers = pla_work_number(work, "outliers"),
                                 .outlier_m = 0.02,
                                 .seed = (unsigned)seed + 1000 };
  g_autoptr(PlaContent) take = pla_content_new(PLA_ITEM_MARKERS);
  g_autofree char *name = g_strdup_printf("%s, markers", of);
  PlaStatus st =
      pla_activation_take(body, moves, &faults, pla_work_progress(work), &take->take, report, err);
  if (st == PLA_OK)
    pla_work_add_made(work, "markers", name, g_steal_pointer(&take));
  return st;
}

static PlaStatus
add_track(PlaWork *work, const PlaActiveBody *body, const PlaActivation *moves, const char *of,
          PlaError *err)
{
  g_autoptr(PlaContent) track = pla_content_new(PLA_ITEM_TRACK);
  g_autofree char *name = g_strdup_printf("%s, activations", of);
  PlaStatus st = pla_activation_to_track(moves, body->model, &track->track, err);
  if (st == PLA_OK) {
    json_object_set_string_member(track->meta, "muscles", pla_work_text(work, "muscles"));
    pla_work_add_made(work, "keep_track", name, g_steal_pointer(&track));
  }
  return st;
}

/* ---- running ---- */

static void
describe(PlaWork *work, const PlaActiveBody *body, const PlaActivation *moves,
         const PlaActivationReport *report, const PlaForwardReport *touch, double seconds)
{
  JsonBuilder *json = pla_work_json(work);
  pla_json_int(json, "frames", moves->n_frames);
  pla_json_int(json, "tets", body->mesh->n_tets);
  pla_json_int(json, "muscles", pla_active_n_muscles(body->model));
  pla_json_int(json, "markers", body->markers.n);
  pla_json_int(json, "unsolved", report->unsolved);
  pla_json_int(json, "inverted", report->inverted);
  pla_json_int(json, "iterations", report->iterations);
  pla_json_int(json, "factorisations", report->factorisations);
  pla_json_number(json, "seconds_per_frame", moves->n_frames ? seconds / moves->n_frames : 0.0);
  if (touch) {
    pla_json_int(json, "contacts", touch->contacts);
    pla_json_si(json, "max_penetration_mm", touch->max_penetration_m);
    pla_json_number(json, "contact_n", touch->contact_n);
    g_autofree char *deep =
        pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, touch->max_penetration_m, PLA_UNIT_M);
    g_autofree char *push = pla_quantity_text(PLA_QUANTITY_FORCE, touch->contact_n, PLA_UNIT_N);
    pla_work_say(work, "at most %d points in contact, %s deep, %s in all", touch->contacts, deep,
                 push);
  }
  pla_work_say(work, "%d frames of %d tetrahedra and %d muscles, %d elements inverted",
               moves->n_frames, body->mesh->n_tets, pla_active_n_muscles(body->model),
               report->inverted);
  if (report->unsolved > 0)
    pla_work_fall_short(work,
                        "%d frames did not reach equilibrium, the first of them frame %d; change "
                        "the controls more slowly there",
                        report->unsolved, report->first_unsolved + 1);
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  PlaActiveBodyOptions flesh;
  PlaActiveBody *body = NULL;
  PlaActivation moves = { 0 };
  PlaActivationReport report = { 0 };
  PlaForwardReport touch = { 0 };
  PlaSurroundings around;
  bool meets = false;
  double seconds = 0.0;
  g_autofree char *of = NULL;
  pla_surroundings_init(&around);
  PlaStatus st = pla_verb_flesh(work, &flesh, err);
  if (st == PLA_OK)
    st = pla_verb_load_body(work, &flesh, &body, err);
  if (st == PLA_OK)
    st = read_moves(work, body->model, &moves, &of, err);
  const int frame = pla_work_is_null(work, "frame") ? moves.n_frames : pla_work_int(work, "frame");
  if (st == PLA_OK && (frame < 1 || frame > moves.n_frames))
    st = pla_fail(err, PLA_ERR_USAGE, "\"frame\" is %d, and the track has %d", frame,
                  moves.n_frames);
  if (st == PLA_OK)
    st = pla_verb_find_surroundings(work, body, moves.rate_hz, &around, &meets, err);
  if (st == PLA_OK && pla_work_bool(work, "shape")) {
    g_autofree char *name = g_strdup_printf("%s, frame %d", of, frame);
    const gint64 start = g_get_monotonic_time();
    pla_progress_phase(pla_work_progress(work), "Moving", 0.8);
    st = pla_verb_move(work, body, &moves, meets ? &around : NULL, frame - 1, name, &report, &touch,
                       err);
    seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  }
  pla_progress_phase(pla_work_progress(work), "Finding markers", 1.0);
  if (st == PLA_OK && pla_work_bool(work, "markers"))
    st = add_take(work, body, &moves, of, &report, err);
  if (st == PLA_OK && pla_work_bool(work, "keep_track"))
    st = add_track(work, body, &moves, of, err);
  if (st == PLA_OK)
    describe(work, body, &moves, &report, around.options.contact ? &touch : NULL, seconds);
  pla_surroundings_clear(&around);
  pla_activation_clear(&moves);
  pla_active_body_free(body);
  return st;
}

static bool
is_empty(JsonObject *params, const char *list)
{
  return json_array_get_length(json_object_get_array_member(params, list)) == 0;
}

static PlaStatus
check(JsonObject *params, PlaError *err)
{
  if (json_object_get_null_member(params, "track") &&
      json_object_get_null_member(params, "random") && is_empty(params, "set"))
    return pla_fail(err, PLA_ERR_USAGE,
                    "there are no activations; give a track, values of muscles (set), or a "
                    "random seed (random)");
  if (json_object_get_boolean_member(params, "markers") &&
      (json_object_get_boolean_member(params, "contact") ||
       json_object_get_boolean_member(params, "dynamic") || !is_empty(params, "colliders") ||
       !is_empty(params, "jaw_colliders")))
    return pla_fail(err, PLA_ERR_USAGE,
                    "markers are computed for static equilibria only; compute them in a run "
                    "without contact, colliders and inertia");
  return PLA_OK;
}

static const PlaVerbParam params[] = {
  { "muscles", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the muscles of a body", .kinds = PLA_ITEM_MUSCLES,
    .positional = true },
  { "track", PLA_PARAM_ITEM, NULL, 0, 0, "null", "activations by name", .kinds = PLA_ITEM_TRACK,
    .positional = true },
  PLA_FLESH_PARAMS,
  PLA_SURROUNDINGS_PARAMS(),
  { "set", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "[[name, value], ...]: one frame with these controls, where there is no track", .option = "" },
  { "random", PLA_PARAM_INT, NULL, 0, 1e9, "null", "a random performance", .arg = "SEED" },
  { "seconds", PLA_PARAM_NUMBER, NULL, 0.001, 3600, "5", "its length, s", .arg = "T" },
  { "rate_hz", PLA_PARAM_NUMBER, NULL, 1, 10000, "60", "its frames in a second", .arg = "F" },
  { "frame", PLA_PARAM_INT, NULL, 1, 1e9, "null",
    "the frame whose shape is kept (default: the last)" },
  { "shape", PLA_PARAM_BOOL, NULL, 0, 0, "true", "keep the shape of that frame", .option = "" },
  { "keep_track", PLA_PARAM_BOOL, NULL, 0, 0, "false", "also the activations that were used",
    .kinds = PLA_ITEM_TRACK, .option = "track", .arg = "CSV", .file = true },
  { "markers", PLA_PARAM_BOOL, NULL, 0, 0, "false", "also the markers, as C3D, TRC or CSV",
    .kinds = PLA_ITEM_MARKERS, .arg = "FILE", .file = true },
  { "noise_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0", "noise of the markers in each axis",
    .arg = "S" },
  { "missing", PLA_PARAM_NUMBER, NULL, 0, 1, "0", "share of markers that are missing", .arg = "P" },
  { "outliers", PLA_PARAM_NUMBER, NULL, 0, 1, "0", "share of gross errors, up to 20 mm an axis",
    .arg = "P" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "frames", "number of frames" },
  { "tets", "tetrahedra of the body" },
  { "muscles", "number of muscles" },
  { "markers", "places of markers on the body" },
  { "unsolved", "frames that did not reach equilibrium" },
  { "inverted", "most inverted elements of any frame" },
  { "iterations", "of all frames" },
  { "factorisations", "of all frames" },
  { "seconds_per_frame", "time that a frame took", .clock = true },
  { "contacts", "most points in contact" },
  { "max_penetration_mm", "deepest contact" },
  { "contact_n", "greatest force of all contacts" },
  { NULL },
};

const PlaVerb pla_verb_activate = {
  .name = "activate",
  .title = "Activate Muscles",
  .summary = "moves a body by an activation track and stores the shape of one frame",
  .params = params,
  .results = results,
  .makes = PLA_ITEM_MESH,
  .keeps = "activate",
  .check = check,
  .run = run,
};
