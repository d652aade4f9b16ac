/* Limbs described in JSON: joints with the bones that they move, and loads. */
#include "app/motion/limb-json.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>

static PlaStatus
read_bone(PlaJson json, const PlaActiveBody *body, int *out, PlaError *err)
{
  g_autofree char *name = NULL;
  PlaStatus st = pla_json_text_value(json, &name, err);
  *out = st == PLA_OK ? pla_limb_find_bone(body, name) : -1;
  if (st == PLA_OK && *out < 0)
    st = pla_json_fail(json, err, "names no bone of the body, whose first is '%s'",
                       body->muscles.n_bones ? body->muscles.bone[0] : "");
  return st;
}

static PlaStatus
read_point(PlaJson object, const char *key, double out[3], PlaError *err)
{
  PlaJson json;
  if (!pla_json_get(object, key, &json))
    return pla_json_fail(object, err, "needs '%s'", key);
  PlaStatus st = pla_json_vector(json, 3, out, err);
  for (int d = 0; d < 3; d++)
    out[d] /= 1000.0;
  return st;
}

/* joint @number, from 1, which is its name where it has none */
static PlaStatus
read_joint(PlaJson json, const PlaActiveBody *body, int number, PlaLimbJoint *out, PlaError *err)
{
  static const char *const known[] = { "name", "from_mm", "to_mm", "moves", "angle_deg", NULL };
  g_autofree char *name = NULL;
  PlaJson value, one;
  double axis[3], deg = 0.0;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && pla_json_get(json, "name", &value))
    st = pla_json_text_value(value, &name, err);
  out->name = name ? pla_strdup(name) : pla_strdup_printf("joint %d", number);
  if (st == PLA_OK && !out->name)
    st = pla_fail_memory(err, "the limb");
  if (st == PLA_OK)
    st = read_point(json, "from_mm", out->from, err);
  if (st == PLA_OK)
    st = read_point(json, "to_mm", out->to, err);
  if (st == PLA_OK && pla_json_get(json, "angle_deg", &value))
    st = pla_json_number_value(value, &deg, err);
  out->angle = deg * (M_PI / 180.0);
  pla_vec3_sub(out->to, out->from, axis);
  if (st == PLA_OK && !(pla_vec3_norm(axis) > 0.0))
    st = pla_json_fail(json, err, "has an axis without a direction");
  if (st == PLA_OK && (!pla_json_get(json, "moves", &value) || pla_json_length(value) == 0))
    st = pla_json_fail(json, err, "needs 'moves', a list of bones");
  for (int i = 0; st == PLA_OK && i < pla_json_length(value); i++) {
    int bone = 0;
    st = pla_json_at(value, i, &one, err);
    if (st == PLA_OK)
      st = read_bone(one, body, &bone, err);
    if (st == PLA_OK)
      out->moves |= UINT64_C(1) << bone;
  }
  return st;
}

static PlaStatus
read_load(PlaJson json, const PlaActiveBody *body, PlaLimbLoad *out, PlaError *err)
{
  static const char *const known[] = { "bone", "at_mm", "kg", "force_n", NULL };
  PlaJson value;
  double kg = 0.0;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && !pla_json_get(json, "bone", &value))
    st = pla_json_fail(json, err, "needs 'bone', which carries it");
  if (st == PLA_OK)
    st = read_bone(value, body, &out->bone, err);
  if (st == PLA_OK)
    st = read_point(json, "at_mm", out->at, err);
  if (st == PLA_OK && pla_json_has(json, "kg") == pla_json_has(json, "force_n"))
    return pla_json_fail(json, err, "needs either 'kg' or 'force_n'");
  if (st == PLA_OK && pla_json_get(json, "kg", &value)) {
    st = pla_json_number_value(value, &kg, err);
    out->force[2] = -kg * PLA_LIMB_GRAVITY;
  } else if (st == PLA_OK && pla_json_get(json, "force_n", &value))
    st = pla_json_vector(value, 3, out->force, err);
  return st;
}

PlaStatus
pla_limb_from_json(PlaJson root, const PlaActiveBody *body, PlaLimb *out, PlaError *err)
{
  static const char *const known[] = { "joints", "loads", NULL };
  PlaJson list, one;
  *out = (PlaLimb){ 0 };
  PlaStatus st = pla_json_check_keys(root, known, err);
  if (st == PLA_OK && (!pla_json_get(root, "joints", &list) || pla_json_length(list) < 1 ||
                       pla_json_length(list) > PLA_LIMB_JOINTS))
    st = pla_json_fail(root, err, "needs 1 to %d 'joints'", PLA_LIMB_JOINTS);
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    st = pla_json_at(list, i, &one, err);
    if (st == PLA_OK) {
      out->n_joints = i + 1;
      st = read_joint(one, body, i + 1, &out->joint[i], err);
    }
  }
  if (st == PLA_OK && pla_json_get(root, "loads", &list)) {
    if (pla_json_length(list) > PLA_LIMB_LOADS)
      st = pla_json_fail(list, err, "has more than %d loads", PLA_LIMB_LOADS);
    for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
      st = pla_json_at(list, i, &one, err);
      if (st == PLA_OK)
        st = read_load(one, body, &out->load[i], err);
      out->n_loads = i + 1;
    }
  }
  if (st != PLA_OK)
    pla_limb_clear(out);
  return st;
}
