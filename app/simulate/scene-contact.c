/* Colliders, contact and motion of scenes. */
#include "app/simulate/scene-contact.h"

#include "anatomy/base/mat3.h"
#include "io/formats/format.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

void
pla_rigid_motion_apply(const PlaRigidMotion *motion, double t, const double x[3], double out[3])
{
  double c = cos(t * motion->angle), s = sin(t * motion->angle), r[3], cross[3];
  pla_vec3_sub(x, motion->through_m, r);
  pla_vec3_cross(motion->axis, r, cross);
  double along = pla_vec3_dot(motion->axis, r);
  for (int d = 0; d < 3; d++)
    out[d] = motion->through_m[d] + c * r[d] + s * cross[d] + (1.0 - c) * along * motion->axis[d] +
             t * motion->translate_m[d];
}

PlaStatus
pla_rigid_motion_read(PlaJson json, PlaRigidMotion *motion, PlaError *err)
{
  static const char *const rotate_keys[] = { "axis", "through_mm", "deg", NULL };
  PlaJson value, part;
  PlaStatus st = PLA_OK;
  *motion = (PlaRigidMotion){ .axis = { 1, 0, 0 } };
  if (pla_json_get(json, "translate_mm", &value)) {
    st = pla_json_vector(value, 3, motion->translate_m, err);
    for (int d = 0; d < 3; d++)
      motion->translate_m[d] /= 1000.0;
  }
  if (st == PLA_OK && pla_json_get(json, "rotate", &value)) {
    double deg = 0.0;
    st = pla_json_check_keys(value, rotate_keys, err);
    if (st == PLA_OK && (!pla_json_has(value, "axis") || !pla_json_has(value, "deg")))
      st = pla_json_fail(value, err, "needs 'axis' and 'deg'");
    if (st == PLA_OK && pla_json_get(value, "axis", &part))
      st = pla_json_vector(part, 3, motion->axis, err);
    if (st == PLA_OK && !(pla_vec3_norm(motion->axis) > 0.0))
      st = pla_json_fail(part, err, "has no length");
    if (st == PLA_OK && pla_json_get(value, "through_mm", &part))
      st = pla_json_vector(part, 3, motion->through_m, err);
    if (st == PLA_OK && pla_json_get(value, "deg", &part))
      st = pla_json_number_value(part, &deg, err);
    double length = pla_vec3_norm(motion->axis);
    for (int d = 0; d < 3; d++) {
      motion->axis[d] /= length;
      motion->through_m[d] /= 1000.0;
    }
    motion->angle = deg * G_PI / 180.0;
  }
  return st;
}

/* a number that must not be negative, or its default */
static PlaStatus
read_amount(PlaJson object, const char *key, double unit, double *out, PlaError *err)
{
  PlaJson value;
  if (!pla_json_get(object, key, &value))
    return PLA_OK;
  PlaStatus st = pla_json_number_value(value, out, err);
  if (st == PLA_OK && !(*out >= 0.0))
    st = pla_json_fail(value, err, "must not be negative");
  *out *= unit;
  return st;
}

static PlaStatus
read_surface(PlaJson value, const PlaSceneMeshes *meshes, PlaCollider **out, PlaError *err)
{
  PlaMesh *surface = NULL;
  g_autofree char *name = NULL;
  PlaStatus st = pla_json_text_value(value, &name, err);
  if (st == PLA_OK)
    st = meshes->load(name, 1.0, meshes->data, &surface, err);
  if (st == PLA_OK) {
    st = pla_collider_new_surface(surface, out, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", name);
  }
  pla_mesh_free(surface);
  return st;
}

static PlaStatus
read_plane(PlaJson json, PlaCollider **out, PlaError *err)
{
  static const char *const known[] = { "point_mm", "normal", NULL };
  double point[3], normal[3];
  PlaJson value;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && (!pla_json_has(json, "point_mm") || !pla_json_has(json, "normal")))
    st = pla_json_fail(json, err, "needs 'point_mm' and 'normal'");
  if (st == PLA_OK && pla_json_get(json, "point_mm", &value))
    st = pla_json_vector(value, 3, point, err);
  if (st == PLA_OK && pla_json_get(json, "normal", &value))
    st = pla_json_vector(value, 3, normal, err);
  if (st == PLA_OK && !(pla_vec3_norm(normal) > 0.0))
    st = pla_json_fail(value, err, "has no length");
  if (st != PLA_OK)
    return st;
  for (int d = 0; d < 3; d++)
    point[d] /= 1000.0;
  return pla_collider_new_plane(point, normal, out, err);
}

PlaStatus
pla_scene_colliders_read(PlaJson root, const PlaSceneMeshes *meshes, PlaSceneColliders *out,
                         PlaError *err)
{
  static const char *const known[] = { "surface", "plane", "friction", "move", NULL };
  static const char *const move_keys[] = { "translate_mm", "rotate", NULL };
  PlaJson list;
  PlaStatus st = PLA_OK;
  *out = (PlaSceneColliders){ 0 };
  if (!pla_json_get(root, "colliders", &list))
    return PLA_OK;
  const int n = pla_json_length(list);
  if (n == 0)
    return pla_json_fail(list, err, "must be a list of colliders");
  out->collider = g_new0(PlaCollider *, n);
  out->friction = g_new0(double, n);
  out->moves = g_new0(bool, n);
  out->motion = g_new0(PlaRigidMotion, n);
  for (int i = 0; st == PLA_OK && i < n; i++) {
    PlaJson item, value;
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = pla_json_check_keys(item, known, err);
    if (st == PLA_OK && pla_json_has(item, "surface") == pla_json_has(item, "plane"))
      st = pla_json_fail(item, err, "needs either a 'surface' file or a 'plane'");
    if (st == PLA_OK && pla_json_get(item, "surface", &value))
      st = read_surface(value, meshes, &out->collider[i], err);
    if (st == PLA_OK && pla_json_get(item, "plane", &value))
      st = read_plane(value, &out->collider[i], err);
    if (st == PLA_OK)
      out->n = i + 1;
    if (st == PLA_OK)
      st = read_amount(item, "friction", 1.0, &out->friction[i], err);
    if (st == PLA_OK && pla_json_get(item, "move", &value)) {
      st = pla_json_check_keys(value, move_keys, err);
      if (st == PLA_OK)
        st = pla_rigid_motion_read(value, &out->motion[i], err);
      out->moves[i] = true;
    }
  }
  if (st != PLA_OK)
    pla_scene_colliders_clear(out);
  return st;
}

void
pla_scene_colliders_clear(PlaSceneColliders *self)
{
  for (int i = 0; i < self->n; i++)
    pla_collider_free(self->collider[i]);
  g_free(self->collider);
  g_free(self->friction);
  g_free(self->moves);
  g_free(self->motion);
  *self = (PlaSceneColliders){ 0 };
}

void
pla_scene_colliders_move(PlaSceneColliders *self, double t, double *poses)
{
  for (int i = 0; i < self->n; i++) {
    static const double origin[3] = { 0.0, 0.0, 0.0 };
    double rotation[9], shift[3];
    if (poses)
      pla_collider_get_pose(self->collider[i], poses + 12 * i, poses + 12 * i + 9);
    if (!self->moves[i])
      continue;
    pla_rigid_motion_apply(&self->motion[i], t, origin, shift);
    for (int c = 0; c < 3; c++) {
      double unit[3] = { c == 0, c == 1, c == 2 }, moved[3];
      pla_rigid_motion_apply(&self->motion[i], t, unit, moved);
      for (int r = 0; r < 3; r++)
        rotation[3 * r + c] = moved[r] - shift[r];
    }
    pla_collider_set_pose(self->collider[i], rotation, shift);
  }
}

PlaStatus
pla_scene_contact_read(PlaJson root, PlaContactOptions *out, bool *wanted, PlaError *err)
{
  static const char *const known[] = {
    "self",           "pieces",    "thickness_mm",          "friction", "slip_mm",
    "stiffness_pa_m", "fascia_mm", "fascia_stiffness_pa_m", NULL
  };
  PlaJson json, value;
  *out = pla_contact_options_default();
  *wanted = pla_json_get(root, "contact", &json);
  if (!*wanted) {
    out->self = out->pieces = false;
    return PLA_OK;
  }
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && pla_json_get(json, "self", &value))
    st = pla_json_bool_value(value, &out->self, err);
  if (st == PLA_OK && pla_json_get(json, "pieces", &value))
    st = pla_json_bool_value(value, &out->pieces, err);
  if (st == PLA_OK)
    st = read_amount(json, "thickness_mm", 1e-3, &out->thickness, err);
  if (st == PLA_OK)
    st = read_amount(json, "stiffness_pa_m", 1.0, &out->stiffness, err);
  if (st == PLA_OK)
    st = read_amount(json, "friction", 1.0, &out->friction, err);
  if (st == PLA_OK)
    st = read_amount(json, "slip_mm", 1e-3, &out->slip, err);
  if (st == PLA_OK)
    st = read_amount(json, "fascia_mm", 1e-3, &out->link_radius, err);
  if (st == PLA_OK)
    st = read_amount(json, "fascia_stiffness_pa_m", 1.0, &out->link_stiffness, err);
  return st;
}

PlaStatus
pla_scene_dynamics_read(PlaJson root, PlaSceneDynamics *out, PlaError *err)
{
  static const char *const known[] = {
    "dt_s", "end_s", "integrator", "every", "mass_damping_1_s", "stiffness_damping_s", NULL
  };
  PlaJson json, value;
  double end = 0.0;
  *out = (PlaSceneDynamics){ .options = pla_dynamics_options_default(), .every = 1 };
  if (!pla_json_get(root, "dynamics", &json))
    return PLA_OK;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && (!pla_json_has(json, "dt_s") || !pla_json_has(json, "end_s")))
    st = pla_json_fail(json, err, "needs 'dt_s' and 'end_s'");
  if (st == PLA_OK && pla_json_get(json, "dt_s", &value)) {
    st = pla_json_number_value(value, &out->options.dt_s, err);
    if (st == PLA_OK && !(out->options.dt_s > 0.0))
      st = pla_json_fail(value, err, "must be above 0 s");
  }
  if (st == PLA_OK && pla_json_get(json, "end_s", &value)) {
    st = pla_json_number_value(value, &end, err);
    if (st == PLA_OK && !(end >= out->options.dt_s))
      st = pla_json_fail(value, err, "must not be below dt_s, %g s", out->options.dt_s);
    if (st == PLA_OK && end / out->options.dt_s > 1e7)
      st = pla_json_fail(value, err, "asks for %.3g steps; at most ten million are taken",
                         end / out->options.dt_s);
  }
  if (st == PLA_OK)
    out->steps = (int)ceil(end / out->options.dt_s - 1e-9);
  if (st == PLA_OK && pla_json_get(json, "every", &value)) {
    int64_t every = 1;
    st = pla_json_int_value(value, 1, 10000000, &every, err);
    out->every = (int)every;
  }
  if (st == PLA_OK)
    st = read_amount(json, "mass_damping_1_s", 1.0, &out->options.mass_damping, err);
  if (st == PLA_OK)
    st = read_amount(json, "stiffness_damping_s", 1.0, &out->options.stiffness_damping, err);
  out->integrator = pla_integrator_find("backward-euler");
  if (st == PLA_OK && pla_json_get(json, "integrator", &value)) {
    g_autofree char *name = NULL;
    st = pla_json_text_value(value, &name, err);
    if (st == PLA_OK && !(out->integrator = pla_integrator_find(name))) {
      g_autoptr(GString) names = g_string_new(NULL);
      for (const PlaIntegrator *const *i = pla_integrators_get(); *i; i++)
        g_string_append_printf(names, "%s%s", names->len ? ", " : "", (*i)->name);
      st = pla_json_fail(value, err, "is '%s', which is no integrator; there are %s", name,
                         names->str);
    }
  }
  return st;
}
