/* Register: moves a volume, a surface or landmarks rigidly onto another of its kind. */
#include "app/base/json.h"
#include "app/motion/landmark-table.h"
#include "app/verbs/verbs.h"

#include <string.h>

/* what is aligned: 0 stays, 1 moves */
typedef struct {
  int64_t item[2];
  PlaContent *content[2];
} Sides;

static const PlaVolume *
volume_of(const PlaContent *content)
{
  return content->labels ? content->labels->volume : content->volume;
}

static PlaStatus
by_landmarks(PlaWork *work, const Sides *sides, PlaRigid *out, PlaError *err)
{
  JsonBuilder *json = pla_work_json(work);
  PlaLandmarks mark[2] = { { 0 }, { 0 } };
  PlaLandmarkPairs pairs = { 0 };
  PlaLandmarkReport r = { 0 };
  PlaStatus st = PLA_OK;
  for (int i = 0; i < 2 && st == PLA_OK; i++) {
    st = pla_landmarks_from_content(sides->content[i], pla_work_int(work, "frame"), &mark[i], err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", pla_work_item_name(work, sides->item[i]));
  }
  pla_landmark_pairs_init(&pairs, &mark[1], &mark[0]);
  g_autofree double *residual = g_new0(double, pairs.n + 1);
  if (st == PLA_OK) {
    st = pla_register_landmarks(pairs.n, pairs.pos_mm[0], pairs.pos_mm[1],
                                !pla_work_bool(work, "all"), out, residual, &r, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%d landmarks are named on both sides", pairs.n);
  }
  if (st == PLA_OK) {
    pla_json_number(json, "rms_mm", r.rms_mm);
    pla_json_number(json, "max_mm", r.max_mm);
    pla_json_int(json, "landmarks", pairs.n);
    pla_json_int(json, "used", r.n_used);
    json_builder_set_member_name(json, "residuals");
    json_builder_begin_array(json);
    for (int i = 0; i < pairs.n; i++) {
      json_builder_begin_object(json);
      pla_json_text(json, "name", mark[1].name[pairs.index[0][i]]);
      pla_json_number(json, "residual_mm", residual[i]);
      json_builder_end_object(json);
    }
    json_builder_end_array(json);
    pla_work_say(work, "%d landmarks, %d of them in agreement: rms %.3f mm, at most %.3f mm ('%s')",
                 pairs.n, r.n_used, r.rms_mm, r.max_mm, mark[1].name[pairs.index[0][r.worst]]);
  }
  pla_landmark_pairs_clear(&pairs);
  for (int i = 0; i < 2; i++)
    pla_landmarks_clear(&mark[i]);
  return st;
}

static PlaStatus
by_surfaces(PlaWork *work, const Sides *sides, PlaRigid *out, PlaError *err)
{
  JsonBuilder *json = pla_work_json(work);
  PlaIcpOptions opts = pla_icp_options_default();
  PlaIcpReport r = { 0 };
  opts.trim = pla_work_number(work, "trim");
  if (!pla_work_is_null(work, "reach_mm"))
    opts.reach_mm = pla_work_number(work, "reach_mm");
  opts.search = pla_work_bool(work, "search");
  const PlaTriMesh fixed = pla_mesh_tris(sides->content[0]->mesh);
  const PlaTriMesh moving = pla_mesh_tris(sides->content[1]->mesh);
  PlaStatus st =
      pla_register_surfaces(&moving, &fixed, NULL, &opts, pla_work_progress(work), out, &r, err);
  if (st != PLA_OK)
    return st;
  pla_json_number(json, "rms_mm", r.rms_mm);
  pla_json_number(json, "median_mm", r.median_mm);
  pla_json_int(json, "iterations", r.iterations);
  pla_json_bool(json, "converged", r.converged);
  pla_json_number(json, "stiffness", r.stiffness);
  pla_work_say(work,
               "surfaces: rms %.3f mm over %d points that count, median %.3f mm, %d iterations",
               r.rms_mm, r.n_used, r.median_mm, r.iterations);
  if (!r.converged)
    pla_work_fall_short(work,
                        "the surfaces were still moving after %d iterations (rms %.3f mm); search "
                        "all positions (search), or leave out more points (trim)",
                        r.iterations, r.rms_mm);
  return PLA_OK;
}

static PlaStatus
by_volumes(PlaWork *work, const Sides *sides, PlaRigid *out, PlaError *err)
{
  JsonBuilder *json = pla_work_json(work);
  PlaVolumeRegistrationOptions opts = pla_volume_registration_options_default();
  PlaVolumeRegistrationReport r = { 0 };
  if (!pla_work_is_null(work, "finest_mm"))
    opts.finest_mm = pla_work_number(work, "finest_mm");
  PlaStatus st = pla_register_volumes(volume_of(sides->content[1]), volume_of(sides->content[0]),
                                      NULL, &opts, pla_work_progress(work), out, &r, err);
  if (st != PLA_OK)
    return st;
  pla_json_number(json, "information", r.information);
  pla_json_number(json, "overlap", r.overlap);
  pla_json_int(json, "evaluations", r.evaluations);
  pla_json_number(json, "stiffness", r.stiffness);
  pla_work_say(work, "volumes: mutual information %.4f nats, %.0f %% overlap, %d evaluations",
               r.information, 100.0 * r.overlap, r.evaluations);
  return PLA_OK;
}

/* the voxels stay; their frame moves */
static void
move_volume(PlaVolume *volume, const PlaRigid *t)
{
  double by[12], affine[12];
  pla_rigid_to_affine(t, by);
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 4; c++)
      affine[4 * r + c] = by[4 * r] * volume->affine_mm[c] +
                          by[4 * r + 1] * volume->affine_mm[4 + c] +
                          by[4 * r + 2] * volume->affine_mm[8 + c] + (c == 3 ? by[4 * r + 3] : 0.0);
  memcpy(volume->affine_mm, affine, sizeof affine);
}

static void
move_points(double *pos, size_t n, const PlaRigid *t)
{
  for (size_t i = 0; i < n; i++) {
    double x[3] = { 1000.0 * pos[3 * i], 1000.0 * pos[3 * i + 1], 1000.0 * pos[3 * i + 2] };
    pla_rigid_apply(t, x, x);
    for (size_t d = 0; d < 3; d++)
      pos[3 * i + d] = 1e-3 * x[d];
  }
}

/* what moves, moved, as an item */
static PlaStatus
add_moved(PlaWork *work, int64_t item, const PlaRigid *t, PlaError *err)
{
  g_autoptr(PlaContent) content = NULL;
  PlaStatus st = pla_work_load_own(work, item, &content, err);
  if (st != PLA_OK)
    return st;
  if (volume_of(content)) {
    move_volume(content->labels ? content->labels->volume : content->volume, t);
  } else if (content->mesh) {
    move_points(content->mesh->pos, (size_t)content->mesh->n_verts, t);
  } else if (content->take) {
    move_points(content->take->pos,
                (size_t)content->take->n_frames * (size_t)content->take->n_markers, t);
  } else {
    PlaLandmarks mark;
    st = pla_landmarks_from_content(content, 0, &mark, err);
    if (st != PLA_OK)
      return st;
    for (int i = 0; i < mark.n; i++)
      pla_rigid_apply(t, mark.pos_mm + 3 * i, mark.pos_mm + 3 * i);
    pla_content_unref(content);
    content = pla_landmarks_to_content(&mark);
    pla_landmarks_clear(&mark);
  }
  g_autofree char *own_name = g_strdup_printf("%s, moved", pla_work_item_name(work, item));
  const char *name = pla_work_text(work, "name");
  pla_work_add(work, name ? name : own_name, g_steal_pointer(&content));
  return PLA_OK;
}

static PlaStatus
align(PlaWork *work, const Sides *sides, PlaRigid *out, PlaError *err)
{
  const PlaContent *const *c = (const PlaContent *const *)sides->content;
  if (pla_work_bool(work, "landmarks"))
    return by_landmarks(work, sides, out, err);
  if (c[0]->mesh && c[1]->mesh)
    return by_surfaces(work, sides, out, err);
  if (volume_of(c[0]) && volume_of(c[1]))
    return by_volumes(work, sides, out, err);
  return pla_fail(err, PLA_ERR_USAGE,
                  "%s is a %s and %s a %s; two volumes, two surfaces, or by landmarks two sets "
                  "of points can be aligned",
                  pla_work_item_name(work, sides->item[0]), c[0]->kind,
                  pla_work_item_name(work, sides->item[1]), c[1]->kind);
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  static const char *const names[] = { "fixed", "moving" };
  Sides sides = { 0 };
  PlaRigid t = pla_rigid_identity();
  PlaStatus st = PLA_OK;
  for (int i = 0; i < 2 && st == PLA_OK; i++) {
    st = pla_work_item(work, names[i], NULL, &sides.item[i], err);
    if (st == PLA_OK)
      st = pla_work_load(work, sides.item[i], &sides.content[i], err);
  }
  if (st == PLA_OK)
    st = align(work, &sides, &t, err);
  if (st == PLA_OK) {
    double affine[12];
    pla_rigid_to_affine(&t, affine);
    pla_json_numbers(pla_work_json(work), "matrix_mm", affine, 12);
    pla_json_number(pla_work_json(work), "angle_deg", pla_rigid_angle_deg(&t));
    pla_work_say(work, "  turned by %.3f degrees, then moved by (%.3f, %.3f, %.3f) mm",
                 pla_rigid_angle_deg(&t), t.t_mm[0], t.t_mm[1], t.t_mm[2]);
    st = add_moved(work, sides.item[1], &t, err);
  }
  for (int i = 0; i < 2; i++)
    pla_content_unref(sides.content[i]);
  return st;
}

#define KINDS                                                                                      \
  PLA_ITEM_VOLUME " " PLA_ITEM_LABELS " " PLA_ITEM_MESH " " PLA_ITEM_MARKERS " " PLA_ITEM_LANDMARKS

static const PlaVerbParam params[] = {
  { "fixed", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "what stays: a volume, a surface or landmarks",
    .positional = true, .kinds = KINDS },
  { "moving", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "what is moved onto it", .positional = true,
    .kinds = KINDS },
  { "landmarks", PLA_PARAM_BOOL, NULL, 0, 0, "false", "align by points of the same name" },
  { "frame", PLA_PARAM_INT, NULL, 0, 1e9, "0", "which frame of a recording of markers" },
  { "all", PLA_PARAM_BOOL, NULL, 0, 0, "false", "use all landmarks, outliers too" },
  { "trim", PLA_PARAM_NUMBER, NULL, 0, 0.9, "0.1", "share of surface points left out", .arg = "S" },
  { "reach_mm", PLA_PARAM_NUMBER, "mm", 0.001, 10000, "null", "ignore surface points farther away",
    .arg = "R" },
  { "search", PLA_PARAM_BOOL, NULL, 0, 0, "false", "search all positions of the surfaces" },
  { "finest_mm", PLA_PARAM_NUMBER, "mm", 0.01, 100, "null",
    "finest detail of volumes to use; all without it", .arg = "H" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of what was moved", .option = "" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "rms_mm", "remaining distance, root of the mean square; of landmarks and surfaces" },
  { "max_mm", "largest distance; of landmarks" },
  { "landmarks", "landmarks that both sides name" },
  { "used", "those in agreement" },
  { "residuals", "name and residual_mm of each landmark" },
  { "median_mm", "median distance; of surfaces" },
  { "iterations", "of surfaces" },
  { "converged", "whether surfaces came to rest" },
  { "stiffness", "how well the weakest motion is determined" },
  { "information", "mutual information, nats; of volumes" },
  { "overlap", "share of what moves that lies in the other; of volumes" },
  { "evaluations", "of the mutual information" },
  { "matrix_mm", "3 x 4, from the frame of what moves into that of what stays" },
  { "angle_deg", "angle of its rotation" },
  { NULL },
};

const PlaVerb pla_verb_register = {
  .name = "register",
  .title = "Register",
  .summary = "finds the rigid motion that aligns two volumes, surfaces or sets of points",
  .params = params,
  .results = results,
  .keeps = "registered",
  .run = run,
};
