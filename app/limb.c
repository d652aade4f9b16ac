/* Limbs: posing streamlines and loads, and the balance of torques. */
#include "app/limb.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "app/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double gravity = 9.81; /* m/s^2 */
static const double half_gap = 0.15; /* on either side of a joint, of the length of a line */

void
pla_limb_clear(PlaLimb *self)
{
  for (int j = 0; j < self->n_joints; j++)
    g_free(self->joint[j].name);
  *self = (PlaLimb){ 0 };
}

static int
find_bone(const PlaActiveBody *body, const char *name)
{
  for (int b = 0; b < body->muscles.n_bones && b < 64; b++)
    if (strcmp(body->muscles.bone[b], name) == 0)
      return b;
  return -1;
}

PlaStatus
pla_limb_arm(const PlaActiveBody *body, double bend_deg, double load_kg, PlaLimb *out, PlaError *err)
{
  /* forearm and hand of an adult, 2.2 % of 75 kg, at 0.43 of their length; the palm is 60 mm beyond the
   * wrist (Winter 2009) */
  static const double forearm_kg = 1.65;
  const int radius = find_bone(body, "radius"), ulna = find_bone(body, "ulna");
  *out = (PlaLimb){ 0 };
  if (radius < 0 || ulna < 0)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' has no radius and ulna; describe the limb in JSON",
                    body->name);
  out->n_joints = 1;
  /* the axis from the left to the right: a positive angle brings the hand forward and up */
  out->joint[0] = (PlaLimbJoint){ .name = g_strdup("elbow"),
                                  .from = { -0.03, 0.001, 0.0 },
                                  .to = { 0.03, 0.001, 0.0 },
                                  .angle = bend_deg * (M_PI / 180.0),
                                  .moves = UINT64_C(1) << radius | UINT64_C(1) << ulna };
  out->n_loads = 2;
  out->load[0] = (PlaLimbLoad){ .at = { 0.0, 0.001, -0.145 }, .bone = ulna,
                                .force = { 0.0, 0.0, -forearm_kg * gravity } };
  out->load[1] = (PlaLimbLoad){ .at = { 0.0, 0.001, -0.312 }, .bone = radius,
                                .force = { 0.0, 0.0, -load_kg * gravity } };
  return PLA_OK;
}

/* ---- from JSON ---- */

static PlaStatus
read_bone(PlaJson json, const PlaActiveBody *body, int *out, PlaError *err)
{
  g_autofree char *name = NULL;
  PlaStatus st = pla_json_text_value(json, &name, err);
  *out = st == PLA_OK ? find_bone(body, name) : -1;
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

static PlaStatus
read_joint(PlaJson json, const PlaActiveBody *body, PlaLimbJoint *out, PlaError *err)
{
  static const char *const known[] = { "name", "from_mm", "to_mm", "moves", "angle_deg", NULL };
  PlaJson value, one;
  double axis[3], deg = 0.0;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && pla_json_get(json, "name", &value))
    st = pla_json_text_value(value, &out->name, err);
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
    out->force[2] = -kg * gravity;
  } else if (st == PLA_OK && pla_json_get(json, "force_n", &value))
    st = pla_json_vector(value, 3, out->force, err);
  return st;
}

PlaStatus
pla_limb_read(const char *path, const PlaActiveBody *body, PlaLimb *out, PlaError *err)
{
  static const char *const known[] = { "joints", "loads", NULL };
  PlaJsonFile *file = NULL;
  PlaJson root, list, one;
  *out = (PlaLimb){ 0 };
  PlaStatus st = pla_json_file_load(path, &file, &root, err);
  if (st == PLA_OK)
    st = pla_json_check_keys(root, known, err);
  if (st == PLA_OK && (!pla_json_get(root, "joints", &list) || pla_json_length(list) < 1 ||
                       pla_json_length(list) > PLA_LIMB_JOINTS))
    st = pla_json_fail(root, err, "needs 1 to %d 'joints'", PLA_LIMB_JOINTS);
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    st = pla_json_at(list, i, &one, err);
    if (st == PLA_OK) {
      out->n_joints = i + 1;
      st = read_joint(one, body, &out->joint[i], err);
    }
    if (!out->joint[i].name)
      out->joint[i].name = g_strdup_printf("joint %d", i + 1);
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
  pla_json_file_free(file);
  if (st != PLA_OK) {
    pla_fail_within(err, "%s", path);
    pla_limb_clear(out);
  }
  return st;
}

/* ---- posing ---- */

static void
turn(const PlaLimbJoint *joint, double angle, double x[3])
{
  double axis[3], arm[3], across[3];
  pla_vec3_sub(joint->to, joint->from, axis);
  const double length = pla_vec3_norm(axis);
  for (int d = 0; d < 3; d++)
    axis[d] /= length;
  pla_vec3_sub(x, joint->from, arm);
  pla_vec3_cross(axis, arm, across);
  const double along = pla_vec3_dot(axis, arm);
  for (int d = 0; d < 3; d++)
    x[d] = joint->from[d] + cos(angle) * arm[d] + sin(angle) * across[d] +
           (1.0 - cos(angle)) * along * axis[d];
}

static uint64_t
moved_by(const PlaLimb *limb, int bone)
{
  uint64_t joints = 0;
  for (int j = 0; j < limb->n_joints && bone >= 0; j++)
    if (limb->joint[j].moves >> bone & 1)
      joints |= UINT64_C(1) << j;
  return joints;
}

/* outer joints first, about axes that inner ones then take along */
static void
pose(const PlaLimb *limb, uint64_t joints, double x[3])
{
  for (int j = limb->n_joints - 1; j >= 0; j--)
    if (joints >> j & 1)
      turn(&limb->joint[j], limb->joint[j].angle, x);
}

/* the joint's pivot and axis where inner joints have brought them */
static PlaTorqueJoint
posed_joint(const PlaLimb *limb, int j)
{
  PlaTorqueJoint out;
  double end[3];
  uint64_t inner = 0;
  for (int i = 0; i < j; i++)
    if ((limb->joint[j].moves & ~limb->joint[i].moves) == 0)
      inner |= UINT64_C(1) << i;
  memcpy(out.pivot, limb->joint[j].from, sizeof out.pivot);
  memcpy(end, limb->joint[j].to, sizeof end);
  pose(limb, inner, out.pivot);
  pose(limb, inner, end);
  pla_vec3_sub(end, out.pivot, out.axis);
  const double length = pla_vec3_norm(out.axis);
  for (int d = 0; d < 3; d++)
    out.axis[d] /= length;
  return out;
}

/* the bone at one end of a streamline: of those that its muscle's heads name, the nearest */
static int
end_bone(const PlaActiveBody *body, int m, bool insertion, const double x[3])
{
  const PlaMuscle *muscle = &body->muscles.list.muscle[m];
  const PlaMesh *mesh = body->mesh;
  double nearest = INFINITY;
  int best = -1;
  for (int h = 0; h < muscle->n_heads; h++) {
    const char *name = insertion ? muscle->head[h].insertion : muscle->head[h].origin;
    const int bone = name && *name ? find_bone(body, name) : -1;
    if (bone < 0 || bone == best)
      continue;
    double least = 1e3; /* farther than anything: a bone without vertices counts when it is alone */
    for (int v = 0; v < mesh->n_verts; v++) {
      double d[3];
      if (body->muscles.vert_bone[v] != bone)
        continue;
      pla_vec3_sub(mesh->pos + 3 * (size_t)v, x, d);
      least = fmin(least, pla_vec3_norm(d));
    }
    if (least < nearest) {
      nearest = least;
      best = bone;
    }
  }
  return best;
}

/* how far along a line of @n points it comes nearest to the joint's axis, 0..1 */
static double
passes_at(const PlaLimbJoint *joint, int n, const double *x)
{
  double axis[3], nearest = INFINITY, at = 0.5;
  pla_vec3_sub(joint->to, joint->from, axis);
  const double length = pla_vec3_norm(axis);
  for (int i = 0; i < n; i++) {
    double arm[3], across[3];
    pla_vec3_sub(x + 3 * i, joint->from, arm);
    pla_vec3_cross(axis, arm, across);
    const double d = pla_vec3_norm(across) / length;
    if (d < nearest) {
      nearest = d;
      at = n > 1 ? (double)i / (n - 1) : 0.0;
    }
  }
  return at;
}

static double
length_of(int n, const double *x)
{
  double sum = 0.0;
  for (int i = 1; i < n; i++) {
    double d[3];
    pla_vec3_sub(x + 3 * i, x + 3 * (i - 1), d);
    sum += pla_vec3_norm(d);
  }
  return sum;
}

static void
direction(const double *from, const double *to, double out[3])
{
  pla_vec3_sub(to, from, out);
  const double length = pla_vec3_norm(out);
  for (int d = 0; d < 3; d++)
    out[d] /= length > 0.0 ? length : 1.0;
}

/* Whether the straight way across joint @j would come nearer to its axis than the line does at rest: it then
 * bends about the joint there, at half its angle. */
static bool
wraps(const PlaLimb *limb, int j, int n, const double *rest, double passes, bool end_moves)
{
  const PlaLimbJoint *joint = &limb->joint[j];
  const int at = (int)lround(passes * (n - 1)), gap = MAX(1, (int)(half_gap * (n - 1)));
  double chord[2][3], r[3], axis[3], moment[3], distance[2];
  pla_vec3_sub(joint->to, joint->from, axis);
  const double unit = pla_vec3_norm(axis);
  for (int posed = 0; posed < 2; posed++) {
    for (int e = 0; e < 2; e++) {
      const int i = e ? MIN(n - 1, at + gap) : MAX(0, at - gap);
      memcpy(chord[e], rest + 3 * i, sizeof chord[e]);
      if (posed && (e == 1) == end_moves)
        turn(joint, joint->angle, chord[e]);
    }
    double along[3];
    pla_vec3_sub(chord[0], joint->from, r);
    pla_vec3_sub(chord[1], chord[0], along);
    pla_vec3_cross(r, along, moment);
    distance[posed] = pla_vec3_dot(moment, axis) / (unit * fmax(1e-12, pla_vec3_norm(along)));
  }
  return distance[1] * (distance[0] < 0.0 ? -1.0 : 1.0) < fabs(distance[0]);
}

/* Line @l of the body in the posed limb; @x: room for its points.  A muscle is taut: where a joint that moves
 * one of its ends alone would bend it, it goes straight from what stays to what moves, or about the
 * joint. */
static void
pose_line(const PlaActiveBody *body, const PlaLimb *limb, int l, const double *all, double *x,
          PlaTorqueLine *out)
{
  const PlaMuscleSet *set = &body->muscles;
  const int first = set->line_start[l], n = set->line_start[l + 1] - first, m = set->line_muscle[l];
  const double *rest = all + 3 * (size_t)first;
  const uint64_t begin = moved_by(limb, end_bone(body, m, false, rest));
  const uint64_t end = moved_by(limb, end_bone(body, m, true, rest + 3 * (n - 1)));
  double passes[PLA_LIMB_JOINTS];
  bool about[PLA_LIMB_JOINTS];
  for (int j = 0; j < limb->n_joints; j++) {
    passes[j] = passes_at(&limb->joint[j], n, rest);
    about[j] = wraps(limb, j, n, rest, passes[j], end >> j & 1);
  }
  int kept = 0;
  for (int pass = 0; pass < 2; pass++) { /* at rest, then posed */
    kept = 0;
    for (int i = 0; i < n; i++) {
      const double s = n > 1 ? (double)i / (n - 1) : 0.0;
      uint64_t with = i == n - 1 ? end : begin & end;
      bool between = false;
      int bends = -1;
      for (int j = 0; j < limb->n_joints && i > 0 && i < n - 1; j++) {
        const bool at_begin = begin >> j & 1, at_end = end >> j & 1;
        if (at_begin == at_end)
          continue;
        between |= fabs(s - passes[j]) < half_gap;
        if (about[j] && i == (int)lround(passes[j] * (n - 1)))
          bends = j;
        if (s < passes[j] ? at_begin : at_end)
          with |= UINT64_C(1) << j;
      }
      if (between && bends < 0)
        continue;
      memcpy(x + 3 * kept, rest + 3 * i, 3 * sizeof *x);
      if (pass == 1 && bends >= 0) {
        turn(&limb->joint[bends], 0.5 * limb->joint[bends].angle, x + 3 * kept);
        with &= ~(UINT64_C(1) << bends);
      }
      if (pass == 1)
        pose(limb, i == 0 ? begin : with, x + 3 * kept);
      kept++;
    }
    if (pass == 0)
      out->length = length_of(kept, x);
  }
  out->length = out->length > 0.0 ? length_of(kept, x) / out->length : 1.0;
  out->sigma = set->report[m].force_n / MAX(1, set->report[m].n_lines);
  memcpy(out->end[0].point, x, sizeof out->end[0].point);
  memcpy(out->end[1].point, x + 3 * (kept - 1), sizeof out->end[1].point);
  direction(x, x + 3 * MIN(1, kept - 1), out->end[0].force);
  direction(x + 3 * (kept - 1), x + 3 * MAX(0, kept - 2), out->end[1].force);
  out->end[0].moved_by = begin;
  out->end[1].moved_by = end;
}

PlaStatus
pla_limb_balance(const PlaActiveBody *body, const PlaLimb *limb, PlaLimbMuscle *muscle,
                 PlaLimbReport *report, PlaError *err)
{
  const PlaMuscleSet *set = &body->muscles;
  const int nl = set->n_lines, nj = limb->n_joints;
  int longest = 1;
  *report = (PlaLimbReport){ 0 };
  if (nl == 0)
    return pla_fail(err, PLA_ERR_USAGE, "the muscles of '%s' have no streamlines", body->name);
  for (int l = 0; l < nl; l++)
    longest = MAX(longest, set->line_start[l + 1] - set->line_start[l]);
  g_autofree double *all = g_new(double, 3 * (size_t)set->point.n_points + 1);
  g_autofree double *x = g_new(double, 3 * (size_t)longest);
  g_autofree double *w = g_new0(double, (size_t)nj * (size_t)nl), *a = g_new0(double, (size_t)nl);
  g_autofree double *weight = g_new(double, (size_t)nl);
  g_autofree PlaTorqueLine *line = g_new0(PlaTorqueLine, (size_t)nl);
  PlaTorqueJoint joint[PLA_LIMB_JOINTS];
  PlaTorquePull load[PLA_LIMB_LOADS];
  double b[PLA_LIMB_JOINTS];
  pla_embedding_apply(&set->point, body->mesh->tet, body->mesh->pos, all);
  for (int l = 0; l < nl; l++) {
    pose_line(body, limb, l, all, x, &line[l]);
    weight[l] = line[l].sigma;
  }
  for (int j = 0; j < nj; j++)
    joint[j] = posed_joint(limb, j);
  for (int i = 0; i < limb->n_loads; i++) {
    load[i].moved_by = moved_by(limb, limb->load[i].bone);
    memcpy(load[i].point, limb->load[i].at, sizeof load[i].point);
    memcpy(load[i].force, limb->load[i].force, sizeof load[i].force);
    pose(limb, load[i].moved_by, load[i].point);
  }
  pla_torque_assemble(nj, joint, 0, NULL, limb->n_loads, load, w, report->load_nm);
  pla_torque_assemble(nj, joint, nl, line, limb->n_loads, load, w, b);
  PlaStatus st = pla_torque_balance(nj, nl, w, b, weight, 0.0, a, &report->balance, err);
  memset(muscle, 0, (size_t)set->list.n * sizeof *muscle);
  for (int l = 0; l < nl; l++) {
    PlaLimbMuscle *of = &muscle[set->line_muscle[l]];
    const double active = pla_torque_active(line[l].length);
    of->activation += a[l];
    of->force_n += line[l].sigma * (pla_torque_passive(line[l].length) + a[l] * active);
    of->length += line[l].length;
    for (int j = 0; j < nj && line[l].sigma * active > 0.0; j++) {
      const double arm = w[(size_t)j * (size_t)nl + (size_t)l] / (line[l].sigma * active);
      of->arm_m[j] += arm;
      of->torque_nm[j] +=
          arm * line[l].sigma * (pla_torque_passive(line[l].length) + a[l] * active);
    }
    of->n_lines++;
  }
  for (int m = 0; m < set->list.n; m++) {
    const double n = MAX(1, muscle[m].n_lines);
    muscle[m].activation /= n;
    muscle[m].length /= n;
    for (int j = 0; j < nj; j++)
      muscle[m].arm_m[j] /= n;
  }
  return st;
}
