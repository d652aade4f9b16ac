/* Torque: the activations that hold a limb's pose against its load. */
#include "app/base/json.h"
#include "app/motion/active-item.h"
#include "app/motion/limb-json.h"
#include "app/verbs/verbs.h"

#include <math.h>

static PlaStatus
check(JsonObject *params, PlaError *err)
{
  if (!json_object_get_null_member(params, "limb") &&
      (!json_object_get_null_member(params, "bend_deg") ||
       !json_object_get_null_member(params, "load_kg")))
    return pla_fail(err, PLA_ERR_USAGE,
                    "the limb has angles and loads of its own: leave out bend_deg and load_kg");
  return PLA_OK;
}

static double
number_or(PlaWork *work, const char *param, double otherwise)
{
  return pla_work_is_null(work, param) ? otherwise : pla_work_number(work, param);
}

static PlaStatus
load_body(PlaWork *work, PlaActiveBody **out, PlaError *err)
{
  PlaActiveBodyOptions opts = pla_active_body_options_default();
  opts.cell_mm = number_or(work, "cell_mm", 0.0);
  opts.young_pa = number_or(work, "young_pa", 0.0);
  opts.poisson = number_or(work, "poisson", 0.0);
  opts.strength = number_or(work, "strength", 0.0);
  if (!pla_work_is_null(work, "phantom"))
    return pla_active_body_from_phantom(pla_work_text(work, "phantom"), &opts,
                                        pla_work_progress(work), out, err);
  return pla_work_is_null(work, "muscles")
             ? pla_fail(err, PLA_ERR_USAGE, "name the limb: muscles, or a phantom")
             : pla_verb_load_body(work, &opts, out, err);
}

static PlaStatus
read_limb(PlaWork *work, const PlaActiveBody *body, PlaLimb *out, PlaError *err)
{
  JsonObject *limb = pla_work_object(work, "limb");
  if (!limb)
    return pla_limb_arm(body, number_or(work, "bend_deg", 90.0), number_or(work, "load_kg", 0.0),
                        out, err);
  g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), limb);
  return pla_limb_from_json((PlaJson){ .node = node }, body, out, err);
}

/* the largest activation */
static double
tell(PlaWork *work, const PlaActiveBody *body, const PlaLimb *limb, const PlaLimbMuscle *muscle,
     const PlaLimbReport *report)
{
  JsonBuilder *json = pla_work_json(work);
  double most = 0.0;
  json_builder_set_member_name(json, "joints");
  json_builder_begin_array(json);
  for (int j = 0; j < limb->n_joints; j++) {
    const double deg = limb->joint[j].angle * (180.0 / M_PI);
    json_builder_begin_object(json);
    pla_json_text(json, "name", limb->joint[j].name);
    pla_json_number(json, "angle_deg", deg);
    pla_json_number(json, "load_nm", report->load_nm[j]);
    json_builder_end_object(json);
    pla_work_say(work, "%s at %.0f deg: the load turns it by %.2f N m", limb->joint[j].name, deg,
                 report->load_nm[j]);
  }
  json_builder_end_array(json);
  json_builder_set_member_name(json, "muscles");
  json_builder_begin_array(json);
  for (int m = 0; m < body->muscles.list.n; m++) {
    const char *name = body->muscles.list.muscle[m].name;
    most = fmax(most, muscle[m].activation);
    json_builder_begin_object(json);
    pla_json_text(json, "name", name);
    pla_json_number(json, "activation", muscle[m].activation);
    pla_json_number(json, "force_n", muscle[m].force_n);
    pla_json_number(json, "length", muscle[m].length);
    double arm_mm[PLA_LIMB_JOINTS];
    for (int j = 0; j < limb->n_joints; j++)
      arm_mm[j] = 1000.0 * muscle[m].arm_m[j];
    pla_json_numbers(json, "arm_mm", arm_mm, limb->n_joints);
    json_builder_end_object(json);
    pla_work_say(work, "%s: activation %.3f, %.1f N, length %.3f, arm %.1f mm", name,
                 muscle[m].activation, muscle[m].force_n, muscle[m].length, arm_mm[0]);
  }
  json_builder_end_array(json);
  pla_json_number(json, "residual_nm", report->balance.residual_nm);
  pla_json_int(json, "rounds", report->balance.rounds);
  pla_json_bool(json, "overloaded", most > 1.0);
  return most;
}

/* as a track of one frame, for `activate`; no more than full activation */
static PlaStatus
add_track(PlaWork *work, const PlaActiveBody *body, const PlaLimbMuscle *muscle, PlaError *err)
{
  PlaActivation track = { 0 };
  g_autoptr(PlaContent) content = pla_content_new(PLA_ITEM_TRACK);
  PlaStatus st = pla_activation_init(&track, body->model, 1, 60.0, err);
  for (int m = 0; st == PLA_OK && m < body->muscles.list.n; m++)
    track.control[m] = fmin(1.0, muscle[m].activation);
  if (st == PLA_OK)
    st = pla_activation_to_track(&track, body->model, &content->track, err);
  if (st == PLA_OK)
    pla_work_add(work, pla_work_text(work, "name"), g_steal_pointer(&content));
  pla_activation_clear(&track);
  return st;
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  PlaActiveBody *body = NULL;
  PlaLimb limb = { 0 };
  PlaLimbReport report;
  g_autofree PlaLimbMuscle *muscle = NULL;
  PlaStatus st = load_body(work, &body, err);
  if (st == PLA_OK)
    st = read_limb(work, body, &limb, err);
  if (st == PLA_OK) {
    muscle = g_new0(PlaLimbMuscle, (size_t)body->muscles.list.n + 1);
    st = pla_limb_balance(body, &limb, muscle, &report, err);
  }
  if (st == PLA_OK) {
    const double most = tell(work, body, &limb, muscle, &report);
    const char *phantom = pla_work_text(work, "phantom");
    st = add_track(work, body, muscle, err);
    if (most > 1.0)
      pla_work_fall_short(
          work,
          "%s%s: the limb cannot hold this load: it needs an activation of %.2f, and "
          "1 is the most; change the pose or reduce the load",
          phantom ? "phantom:" : "", phantom ? phantom : pla_work_text(work, "muscles"), most);
  }
  pla_limb_clear(&limb);
  pla_active_body_free(body);
  return st;
}

static const PlaVerbParam params[] = {
  { "muscles", PLA_PARAM_ITEM, NULL, 0, 0, "null", "the muscles of the limb", .positional = true,
    .kinds = PLA_ITEM_MUSCLES },
  { "phantom", PLA_PARAM_TEXT, NULL, 1, 100, "null", "or those of this phantom: arm",
    .option = "" },
  { "cell_mm", PLA_PARAM_NUMBER, "mm", 0.5, 100, "null", "element size of a phantom's mesh" },
  { "young_pa", PLA_PARAM_NUMBER, "pa", 100, 1e8, "null",
    "stiffness of the flesh between the fibres" },
  { "poisson", PLA_PARAM_NUMBER, NULL, 0.01, 0.4999, "null", "Poisson's ratio of that flesh" },
  { "strength", PLA_PARAM_NUMBER, NULL, 0.01, 100, "null",
    "factor on the peak stress of all muscles" },
  { "bend_deg", PLA_PARAM_NUMBER, "deg", 0, 145, "null", "angle of the elbow; 90 without it" },
  { "load_kg", PLA_PARAM_NUMBER, "kg", 0, 1000, "null", "mass in the hand" },
  { "limb", PLA_PARAM_OBJECT, NULL, 0, 0, "null", "other joints, angles and loads" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "\"torque\"", "name of the track of activations",
    .option = "" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "joints", "name, angle_deg and load_nm of each" },
  { "muscles", "name, activation, force_n, length and arm_mm of each" },
  { "residual_nm", "torque that is not balanced" },
  { "rounds", "of the search" },
  { "overloaded", "whether an activation above 1 were needed" },
  { NULL },
};

const PlaVerb pla_verb_torque = {
  .name = "torque",
  .title = "Hold Load",
  .summary = "finds the activations that hold a limb's pose against its load",
  .params = params,
  .results = results,
  .makes = PLA_ITEM_TRACK,
  .keeps = "torque",
  .check = check,
  .run = run,
};
