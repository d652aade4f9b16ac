/* `muscles torque`: activations that hold a limb's pose against its load. */
#include "app/cli/body-input.h"
#include "app/cli/cli-private.h"
#include "app/cli/verb-activate.h"
#include "app/motion/limb.h"

#include <math.h>
#include <string.h>

/* the largest activation */
static double
describe(PlaInvocation *inv, const PlaActiveBody *body, const PlaLimb *limb,
         const PlaLimbMuscle *muscle, const PlaLimbReport *report)
{
  JsonBuilder *json = pla_invocation_json(inv);
  double most = 0.0;
  json_builder_set_member_name(json, "joints");
  json_builder_begin_array(json);
  for (int j = 0; j < limb->n_joints; j++) {
    json_builder_begin_object(json);
    pla_json_text(json, "name", limb->joint[j].name);
    pla_json_number(json, "angle_deg", limb->joint[j].angle * (180.0 / M_PI));
    pla_json_number(json, "load_nm", report->load_nm[j]);
    json_builder_end_object(json);
    pla_say(inv, "%s at %.0f deg: the load turns it by %.2f N m", limb->joint[j].name,
            limb->joint[j].angle * (180.0 / M_PI), report->load_nm[j]);
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
    pla_say(inv, "%s: activation %.3f, %.1f N, length %.3f, arm %.1f mm", name,
            muscle[m].activation, muscle[m].force_n, muscle[m].length, arm_mm[0]);
  }
  json_builder_end_array(json);
  pla_json_number(json, "residual_nm", report->balance.residual_nm);
  pla_json_int(json, "rounds", report->balance.rounds);
  pla_json_bool(json, "overloaded", most > 1.0);
  return most;
}

/* as a track of one frame, for `muscles activate`; no more than full activation */
static PlaStatus
write_track(PlaInvocation *inv, const PlaActiveBody *body, const PlaLimbMuscle *muscle,
            PlaError *err)
{
  PlaActivation track = { 0 };
  PlaStatus st = pla_activation_init(&track, body->model, 1, 60.0, err);
  for (int m = 0; st == PLA_OK && m < body->muscles.list.n; m++)
    track.control[m] = fmin(1.0, muscle[m].activation);
  if (st == PLA_OK)
    st = pla_invocation_write_activation(inv, pla_invocation_output(inv), body->model, &track, err);
  pla_activation_clear(&track);
  return st;
}

PlaStatus
pla_run_torque(PlaInvocation *inv, PlaError *err)
{
  PlaActiveBody *body = NULL;
  PlaLimb limb = { 0 };
  PlaLimbReport report;
  PlaStatus st = PLA_OK;
  if (pla_invocation_n_files(inv) != 2)
    return pla_fail(
        err, PLA_ERR_USAGE,
        "name the limb: platysma-cli muscles torque phantom:arm --bend-deg 90 --load-kg 2");
  if (pla_invocation_has(inv, "limb") &&
      (pla_invocation_has(inv, "bend-deg") || pla_invocation_has(inv, "load-kg")))
    return pla_fail(err, PLA_ERR_USAGE,
                    "--limb has angles and loads of its own: leave --bend-deg and "
                    "--load-kg out");
  st = pla_invocation_body(inv, pla_invocation_file(inv, 1), &body, err);
  if (st == PLA_OK && pla_invocation_has(inv, "limb"))
    st = pla_limb_read(pla_invocation_text(inv, "limb", 0, ""), body, &limb, err);
  else if (st == PLA_OK)
    st = pla_limb_arm(body, pla_invocation_number(inv, "bend-deg", 90.0),
                      pla_invocation_number(inv, "load-kg", 0.0), &limb, err);
  if (st == PLA_OK) {
    g_autofree PlaLimbMuscle *muscle = g_new0(PlaLimbMuscle, (size_t)body->muscles.list.n + 1);
    st = pla_limb_balance(body, &limb, muscle, &report, err);
    const double most = st == PLA_OK ? describe(inv, body, &limb, muscle, &report) : 0.0;
    if (st == PLA_OK && pla_invocation_output(inv))
      st = write_track(inv, body, muscle, err);
    if (st == PLA_OK && most > 1.0)
      st = pla_fail(err, PLA_ERR_CONVERGENCE,
                    "%s: the limb cannot hold this load: it needs an activation of %.2f, and 1 is "
                    "the most; change the pose or reduce the load",
                    pla_invocation_file(inv, 1), most);
  }
  pla_limb_clear(&limb);
  pla_active_body_free(body);
  return st;
}
