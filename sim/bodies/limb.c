/* Limbs: posing streamlines and loads, and the balance of torques. */
#include "sim/bodies/limb.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
pla_limb_clear(PlaLimb *self)
{
  for (int j = 0; j < self->n_joints; j++)
    free(self->joint[j].name);
  *self = (PlaLimb){ 0 };
}

int
pla_limb_find_bone(const PlaActiveBody *body, const char *name)
{
  for (int b = 0; b < body->muscles.n_bones && b < 64; b++)
    if (strcmp(body->muscles.bone[b], name) == 0)
      return b;
  return -1;
}

PlaStatus
pla_limb_arm(const PlaActiveBody *body, double bend_deg, double load_kg, PlaLimb *out,
             PlaError *err)
{
  /* forearm and hand of an adult, 2.2 % of 75 kg, at 0.43 of their length; the palm is 60 mm beyond
   * the wrist (Winter 2009) */
  static const double forearm_kg = 1.65;
  const int radius = pla_limb_find_bone(body, "radius"), ulna = pla_limb_find_bone(body, "ulna");
  *out = (PlaLimb){ 0 };
  if (radius < 0 || ulna < 0)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' has no radius and ulna; describe the limb in JSON",
                    body->name);
  char *name = pla_strdup("elbow");
  if (!name)
    return pla_fail_memory(err, "the limb");
  out->n_joints = 1;
  /* the axis from the left to the right: a positive angle brings the hand forward and up */
  out->joint[0] = (PlaLimbJoint){ .name = name,
                                  .from = { -0.03, 0.001, 0.0 },
                                  .to = { 0.03, 0.001, 0.0 },
                                  .angle = bend_deg * (M_PI / 180.0),
                                  .moves = UINT64_C(1) << radius | UINT64_C(1) << ulna };
  out->n_loads = 2;
  out->load[0] = (PlaLimbLoad){ .at = { 0.0, 0.001, -0.145 },
                                .bone = ulna,
                                .force = { 0.0, 0.0, -forearm_kg * PLA_LIMB_GRAVITY } };
  out->load[1] = (PlaLimbLoad){ .at = { 0.0, 0.001, -0.312 },
                                .bone = radius,
                                .force = { 0.0, 0.0, -load_kg * PLA_LIMB_GRAVITY } };
  return PLA_OK;
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
    const int bone = name && *name ? pla_limb_find_bone(body, name) : -1;
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

/* A joint that a line passes, as the cylinder about its axis on which the line lies at rest. */
typedef struct {
  int joint;
  double place;  /* along the line, 0..1 */
  double radius; /* m */
  double side;   /* 1: about the axis by the right hand; -1: the other way */
} Pulley;

static Pulley
find_pulley(const PlaLimb *limb, int j, int n, const double *x)
{
  const PlaLimbJoint *joint = &limb->joint[j];
  Pulley out = { j, 0.5, INFINITY, 1.0 };
  double axis[3];
  int at = 0;
  pla_vec3_sub(joint->to, joint->from, axis);
  const double unit = pla_vec3_norm(axis);
  for (int i = 0; i < n; i++) {
    double arm[3], across[3];
    pla_vec3_sub(x + 3 * i, joint->from, arm);
    pla_vec3_cross(axis, arm, across);
    const double d = pla_vec3_norm(across) / unit;
    if (d < out.radius) {
      out.radius = d;
      at = i;
    }
  }
  double arm[3], along[3], moment[3];
  pla_vec3_sub(x + 3 * at, joint->from, arm);
  pla_vec3_sub(x + 3 * (at + 1 < n ? at + 1 : n - 1), x + 3 * (at > 0 ? at - 1 : 0), along);
  pla_vec3_cross(arm, along, moment);
  out.side = pla_vec3_dot(moment, axis) < 0.0 ? -1.0 : 1.0;
  out.place = n > 1 ? (double)at / (n - 1) : 0.0;
  /* a little within, so that a line that ends there still has a direction */
  out.radius *= 0.98;
  return out;
}

/* Where a taut line from @from to @to meets and leaves the pulley, and the length between; false
 * where it goes straight past. */
static bool
wrap(const Pulley *pulley, const PlaTorqueJoint *joint, const double from[3], const double to[3],
     double meets[3], double leaves[3], double *length)
{
  const double *const end[2] = { from, to };
  const double r = pulley->radius;
  double u[3], v[3], plane[2][2], height[2], angle[2], lean[2], straight[2];
  /* two directions across the axis */
  const int least = fabs(joint->axis[0]) < fabs(joint->axis[1])
                        ? (fabs(joint->axis[0]) < fabs(joint->axis[2]) ? 0 : 2)
                        : (fabs(joint->axis[1]) < fabs(joint->axis[2]) ? 1 : 2);
  double any[3] = { 0.0, 0.0, 0.0 };
  any[least] = 1.0;
  pla_vec3_cross(joint->axis, any, u);
  const double size = pla_vec3_norm(u);
  for (int d = 0; d < 3; d++)
    u[d] /= size;
  pla_vec3_cross(joint->axis, u, v);
  for (int e = 0; e < 2; e++) {
    double arm[3];
    pla_vec3_sub(end[e], joint->pivot, arm);
    plane[e][0] = pla_vec3_dot(arm, u);
    plane[e][1] = pla_vec3_dot(arm, v);
    height[e] = pla_vec3_dot(arm, joint->axis);
    const double out = hypot(plane[e][0], plane[e][1]);
    angle[e] = atan2(plane[e][1], plane[e][0]);
    lean[e] = out > r ? acos(r / out) : 0.0;
    straight[e] = sqrt(fmax(0.0, out * out - r * r));
  }
  double way = fmod(pulley->side * (angle[1] - angle[0]), 2.0 * M_PI);
  if (way < 0.0)
    way += 2.0 * M_PI;
  const double arc = way - lean[0] - lean[1];
  if (!(arc > 0.0) || !(r > 0.0))
    return false;
  const double flat = straight[0] + r * arc + straight[1], rise = height[1] - height[0];
  const double turn_at[2] = { angle[0] + pulley->side * lean[0],
                              angle[1] - pulley->side * lean[1] };
  const double up[2] = { height[0] + rise * straight[0] / flat,
                         height[1] - rise * straight[1] / flat };
  for (int e = 0; e < 2; e++)
    for (int d = 0; d < 3; d++)
      (e ? leaves : meets)[d] = joint->pivot[d] + up[e] * joint->axis[d] +
                                r * (cos(turn_at[e]) * u[d] + sin(turn_at[e]) * v[d]);
  *length = hypot(r * arc, up[1] - up[0]);
  return true;
}

/* The taut way from @from to @to about @n pulleys in their order: its length, and the points next
 * to its ends. Pulleys of several joints are visited in turn until they agree. */
static double
taut(int n, const Pulley *pulley, const PlaTorqueJoint *joint, const double from[3],
     const double to[3], double next[2][3])
{
  enum { MOST_ROUNDS = 50 };
  double point[PLA_LIMB_JOINTS][2][3], on[PLA_LIMB_JOINTS] = { 0.0 };
  bool touched[PLA_LIMB_JOINTS] = { false };
  const int rounds = n > 1 ? MOST_ROUNDS : 1;
  for (int round = 0; round < rounds; round++)
    for (int k = 0; k < n; k++) {
      const double *before = from, *after = to;
      for (int i = 0; i < k; i++)
        before = touched[i] ? point[i][1] : before;
      for (int i = n - 1; i > k; i--)
        after = touched[i] ? point[i][0] : after;
      touched[k] = wrap(&pulley[k], &joint[pulley[k].joint], before, after, point[k][0],
                        point[k][1], &on[k]);
    }
  double length = 0.0, step[3];
  const double *last = from;
  memcpy(next[0], to, sizeof next[0]);
  bool first = true;
  for (int k = 0; k < n; k++) {
    if (!touched[k])
      continue;
    pla_vec3_sub(point[k][0], last, step);
    length += pla_vec3_norm(step) + on[k];
    if (first)
      memcpy(next[0], point[k][0], sizeof next[0]);
    first = false;
    last = point[k][1];
  }
  pla_vec3_sub(to, last, step);
  memcpy(next[1], last, sizeof next[1]);
  return length + pla_vec3_norm(step);
}

static void
direction(const double *from, const double *to, double out[3])
{
  pla_vec3_sub(to, from, out);
  const double length = pla_vec3_norm(out);
  for (int d = 0; d < 3; d++)
    out[d] /= length > 0.0 ? length : 1.0;
}

/* Line @l of the body in the posed limb.  A muscle is taut: straight from bone to bone, or about
 * the joints that move one of its ends alone, no nearer to their axes than it lies at rest. */
static void
pose_line(const PlaActiveBody *body, const PlaLimb *limb, const PlaTorqueJoint *posed, int l,
          const double *all, PlaTorqueLine *out)
{
  const PlaMuscleSet *set = &body->muscles;
  const int first = set->line_start[l], n = set->line_start[l + 1] - first, m = set->line_muscle[l];
  const double *line = all + 3 * (size_t)first;
  const uint64_t moved[2] = { moved_by(limb, end_bone(body, m, false, line)),
                              moved_by(limb, end_bone(body, m, true, line + 3 * (n - 1))) };
  Pulley pulley[PLA_LIMB_JOINTS];
  PlaTorqueJoint rest[PLA_LIMB_JOINTS];
  PlaLimb still = *limb;
  int n_pulleys = 0;
  for (int j = 0; j < limb->n_joints; j++) {
    still.joint[j].angle = 0.0;
    if ((moved[0] >> j & 1) == (moved[1] >> j & 1))
      continue;
    const Pulley one = find_pulley(limb, j, n, line);
    int at = n_pulleys++;
    for (; at > 0 && pulley[at - 1].place > one.place; at--)
      pulley[at] = pulley[at - 1];
    pulley[at] = one;
  }
  for (int j = 0; j < limb->n_joints; j++)
    rest[j] = posed_joint(&still, j);
  double end[2][3], next[2][3];
  memcpy(end[0], line, sizeof end[0]);
  memcpy(end[1], line + 3 * (n - 1), sizeof end[1]);
  const double before = taut(n_pulleys, pulley, rest, end[0], end[1], next);
  pose(limb, moved[0], end[0]);
  pose(limb, moved[1], end[1]);
  const double now = taut(n_pulleys, pulley, posed, end[0], end[1], next);
  out->length = before > 0.0 ? now / before : 1.0;
  out->sigma = set->report[m].force_n / fmax(1.0, set->report[m].n_lines);
  for (int e = 0; e < 2; e++) {
    memcpy(out->end[e].point, end[e], sizeof end[e]);
    direction(end[e], next[e], out->end[e].force);
    out->end[e].moved_by = moved[e];
  }
}

/* W and the torques of the loads, of all lines in the posed limb */
static void
assemble(const PlaActiveBody *body, const PlaLimb *limb, const double *point, PlaTorqueLine *line,
         double *w, double *b, double *load_nm)
{
  const int nl = body->muscles.n_lines, nj = limb->n_joints;
  PlaTorqueJoint joint[PLA_LIMB_JOINTS];
  PlaTorquePull load[PLA_LIMB_LOADS];
  for (int j = 0; j < nj; j++)
    joint[j] = posed_joint(limb, j);
  for (int l = 0; l < nl; l++)
    pose_line(body, limb, joint, l, point, &line[l]);
  for (int i = 0; i < limb->n_loads; i++) {
    load[i].moved_by = moved_by(limb, limb->load[i].bone);
    memcpy(load[i].point, limb->load[i].at, sizeof load[i].point);
    memcpy(load[i].force, limb->load[i].force, sizeof load[i].force);
    pose(limb, load[i].moved_by, load[i].point);
  }
  pla_torque_assemble(nj, joint, 0, NULL, limb->n_loads, load, w, load_nm);
  pla_torque_assemble(nj, joint, nl, line, limb->n_loads, load, w, b);
}

/* lines with activations @a, as means and sums of their muscles */
static void
sum_up(const PlaMuscleSet *set, int nj, const PlaTorqueLine *line, const double *w, const double *a,
       PlaLimbMuscle *muscle)
{
  const int nl = set->n_lines;
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
    const double n = fmax(1.0, muscle[m].n_lines);
    muscle[m].activation /= n;
    muscle[m].length /= n;
    for (int j = 0; j < nj; j++)
      muscle[m].arm_m[j] /= n;
  }
}

PlaStatus
pla_limb_balance(const PlaActiveBody *body, const PlaLimb *limb, PlaLimbMuscle *muscle,
                 PlaLimbReport *report, PlaError *err)
{
  const PlaMuscleSet *set = &body->muscles;
  const int nl = set->n_lines, nj = limb->n_joints;
  double b[PLA_LIMB_JOINTS];
  *report = (PlaLimbReport){ 0 };
  if (nl == 0)
    return pla_fail(err, PLA_ERR_USAGE, "the muscles of '%s' have no streamlines", body->name);
  double *point = pla_array_new((size_t)set->point.n_points, 3 * sizeof *point);
  double *w = pla_array_new0((size_t)nl, (size_t)nj * sizeof *w);
  double *a = pla_array_new0((size_t)nl, sizeof *a);
  double *weight = pla_array_new((size_t)nl, sizeof *weight);
  PlaTorqueLine *line = pla_array_new0((size_t)nl, sizeof *line);
  PlaStatus st =
      point && w && a && weight && line ? PLA_OK : pla_fail_memory(err, "the lines of muscles");
  if (st == PLA_OK) {
    pla_embedding_apply(&set->point, body->mesh->tet, body->mesh->pos, point);
    assemble(body, limb, point, line, w, b, report->load_nm);
    for (int l = 0; l < nl; l++)
      weight[l] = line[l].sigma;
    st = pla_torque_balance(nj, nl, w, b, weight, 0.0, a, &report->balance, err);
    sum_up(set, nj, line, w, a, muscle);
  }
  free(point);
  free(w);
  free(a);
  free(weight);
  free(line);
  return st;
}
