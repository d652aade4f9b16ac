/* `register`: the rigid motion that aligns volumes, surfaces or landmarks. */
#include "app/cli/cli-private.h"
#include "app/motion/landmark-table.h"
#include "io/formats/format.h"

#include <glib.h>
#include <math.h>
#include <string.h>

typedef struct {
  PlaItem item;
  PlaLandmarks mark; /* of a table of landmarks or one frame of a take */
} Side;

static void
side_clear(Side *s)
{
  pla_item_clear(&s->item);
  pla_landmarks_clear(&s->mark);
}

static PlaStatus
read_side(PlaInvocation *inv, int i, bool landmarks, Side *out, PlaError *err)
{
  const char *path = pla_invocation_file(inv, i);
  PlaReadOptions read = pla_read_options_default();
  read.progress = pla_invocation_progress(inv);
  const bool table = g_str_has_suffix(path, ".csv") || g_str_has_suffix(path, ".tsv") ||
                     g_str_has_suffix(path, ".txt");
  if (landmarks && table)
    return pla_landmarks_read(path, &out->mark, err);
  PlaStatus st = pla_item_read(path, &read, &out->item, err);
  if (st == PLA_OK && landmarks && out->item.kind == PLA_KIND_TAKE) {
    st = pla_landmarks_from_take(out->item.take, pla_invocation_int(inv, "frame", 0), &out->mark,
                                 err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", path);
  } else if (st == PLA_OK && landmarks)
    st = pla_fail(err, PLA_ERR_USAGE,
                  "%s is a %s; a table of landmarks or a recording of markers "
                  "is needed",
                  path, pla_kind_name(out->item.kind));
  return st;
}

static PlaStatus
by_landmarks(PlaInvocation *inv, const Side side[2], PlaRigid *out, PlaError *err)
{
  JsonBuilder *json = pla_invocation_json(inv);
  PlaLandmarkPairs pairs;
  PlaLandmarkReport r = { 0 };
  pla_landmark_pairs_init(&pairs, &side[1].mark, &side[0].mark);
  g_autofree double *residual = g_new0(double, pairs.n + 1);
  PlaStatus st = pla_register_landmarks(pairs.n, pairs.pos_mm[0], pairs.pos_mm[1],
                                        !pla_invocation_has(inv, "all"), out, residual, &r, err);
  if (st != PLA_OK)
    pla_fail_within(err, "%d landmarks are named on both sides", pairs.n);
  else {
    pla_json_number(json, "rms_mm", r.rms_mm);
    pla_json_number(json, "max_mm", r.max_mm);
    pla_json_int(json, "landmarks", pairs.n);
    pla_json_int(json, "used", r.n_used);
    json_builder_set_member_name(json, "residuals");
    json_builder_begin_array(json);
    for (int i = 0; i < pairs.n; i++) {
      json_builder_begin_object(json);
      pla_json_text(json, "name", side[1].mark.name[pairs.index[0][i]]);
      pla_json_number(json, "residual_mm", residual[i]);
      json_builder_end_object(json);
    }
    json_builder_end_array(json);
    pla_say(inv, "%d landmarks, %d of them in agreement: rms %.3f mm, at most %.3f mm ('%s')",
            pairs.n, r.n_used, r.rms_mm, r.max_mm, side[1].mark.name[pairs.index[0][r.worst]]);
  }
  pla_landmark_pairs_clear(&pairs);
  return st;
}

static PlaStatus
by_surfaces(PlaInvocation *inv, const Side side[2], PlaRigid *out, PlaError *err)
{
  JsonBuilder *json = pla_invocation_json(inv);
  PlaIcpOptions opts = pla_icp_options_default();
  PlaIcpReport r = { 0 };
  opts.trim = pla_invocation_number(inv, "trim", opts.trim);
  opts.reach_mm = pla_invocation_number(inv, "reach-mm", opts.reach_mm);
  opts.search = pla_invocation_has(inv, "search");
  const PlaTriMesh fixed = pla_mesh_tris(side[0].item.mesh);
  const PlaTriMesh moving = pla_mesh_tris(side[1].item.mesh);
  PlaStatus st = pla_register_surfaces(&moving, &fixed, NULL, &opts, pla_invocation_progress(inv),
                                       out, &r, err);
  if (st == PLA_OK) {
    pla_json_number(json, "rms_mm", r.rms_mm);
    pla_json_number(json, "median_mm", r.median_mm);
    pla_json_int(json, "iterations", r.iterations);
    pla_json_bool(json, "converged", r.converged);
    pla_json_number(json, "stiffness", r.stiffness);
    pla_say(inv, "surfaces: rms %.3f mm over %d points that count, median %.3f mm, %d iterations",
            r.rms_mm, r.n_used, r.median_mm, r.iterations);
    if (!r.converged)
      st =
          pla_fail(err, PLA_ERR_CONVERGENCE,
                   "the surfaces were still moving after %d iterations (rms %.3f mm); try --search "
                   "or --trim",
                   r.iterations, r.rms_mm);
  }
  return st;
}

static PlaStatus
by_volumes(PlaInvocation *inv, const Side side[2], PlaRigid *out, PlaError *err)
{
  JsonBuilder *json = pla_invocation_json(inv);
  PlaVolumeRegistrationOptions opts = pla_volume_registration_options_default();
  PlaVolumeRegistrationReport r = { 0 };
  opts.finest_mm = pla_invocation_number(inv, "finest-mm", opts.finest_mm);
  PlaStatus st = pla_register_volumes(side[1].item.volume, side[0].item.volume, NULL, &opts,
                                      pla_invocation_progress(inv), out, &r, err);
  if (st == PLA_OK) {
    pla_json_number(json, "information", r.information);
    pla_json_number(json, "overlap", r.overlap);
    pla_json_int(json, "evaluations", r.evaluations);
    pla_json_number(json, "stiffness", r.stiffness);
    pla_say(inv, "volumes: mutual information %.4f nats, %.0f %% overlap, %d evaluations",
            r.information, 100.0 * r.overlap, r.evaluations);
  }
  return st;
}

static PlaStatus
write_moved(PlaInvocation *inv, const PlaRigid *t, Side *moving, PlaError *err)
{
  const char *out = pla_invocation_output(inv);
  PlaItem *item = &moving->item;
  PlaWriteOptions write = pla_write_options_default();
  if (!out)
    return PLA_OK;
  if (moving->mark.n > 0 && item->kind != PLA_KIND_TAKE) {
    for (int i = 0; i < moving->mark.n; i++)
      pla_rigid_apply(t, moving->mark.pos_mm + 3 * i, moving->mark.pos_mm + 3 * i);
    return pla_landmarks_write(out, &moving->mark, err);
  }
  if (item->kind == PLA_KIND_VOLUME) {
    /* the voxels stay; their frame moves */
    double by[12], affine[12];
    pla_rigid_to_affine(t, by);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 4; c++)
        affine[4 * r + c] = by[4 * r] * item->volume->affine_mm[c] +
                            by[4 * r + 1] * item->volume->affine_mm[4 + c] +
                            by[4 * r + 2] * item->volume->affine_mm[8 + c] +
                            (c == 3 ? by[4 * r + 3] : 0.0);
    memcpy(item->volume->affine_mm, affine, sizeof affine);
  } else {
    double *pos = item->kind == PLA_KIND_MESH ? item->mesh->pos : item->take->pos;
    const size_t n = item->kind == PLA_KIND_MESH
                         ? (size_t)item->mesh->n_verts
                         : (size_t)item->take->n_frames * (size_t)item->take->n_markers;
    for (size_t i = 0; i < n; i++) {
      double x[3] = { 1000.0 * pos[3 * i], 1000.0 * pos[3 * i + 1], 1000.0 * pos[3 * i + 2] };
      pla_rigid_apply(t, x, x);
      for (size_t d = 0; d < 3; d++)
        pos[3 * i + d] = 1e-3 * x[d];
    }
  }
  return pla_item_write(out, item, &write, err);
}

static PlaStatus
run_register(PlaInvocation *inv, PlaError *err)
{
  Side side[2] = { { { 0 } }, { { 0 } } };
  PlaRigid t = pla_rigid_identity();
  JsonBuilder *json = pla_invocation_json(inv);
  PlaProgress *progress = pla_invocation_progress(inv);
  const bool landmarks = pla_invocation_has(inv, "landmarks");
  PlaStatus st = PLA_OK;
  pla_progress_phase(progress, "Reading", 0.2);
  for (int i = 0; i < 2 && st == PLA_OK; i++)
    st = read_side(inv, i, landmarks, &side[i], err);
  pla_progress_phase(progress, "Aligning", 0.95);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK) {
    const PlaKind kind[2] = { side[0].item.kind, side[1].item.kind };
    if (landmarks)
      st = by_landmarks(inv, side, &t, err);
    else if (kind[0] == PLA_KIND_MESH && kind[1] == PLA_KIND_MESH)
      st = by_surfaces(inv, side, &t, err);
    else if (kind[0] == PLA_KIND_VOLUME && kind[1] == PLA_KIND_VOLUME)
      st = by_volumes(inv, side, &t, err);
    else
      st = pla_fail(
          err, PLA_ERR_USAGE,
          "%s is a %s and %s a %s; two volumes, two surfaces, or with --landmarks two sets "
          "of points can be aligned",
          pla_invocation_file(inv, 0), pla_kind_name(kind[0]), pla_invocation_file(inv, 1),
          pla_kind_name(kind[1]));
  }
  pla_progress_pop(progress, span);
  if (st == PLA_OK) {
    double affine[12];
    pla_rigid_to_affine(&t, affine);
    pla_json_numbers(json, "matrix_mm", affine, 12);
    pla_json_number(json, "angle_deg", pla_rigid_angle_deg(&t));
    pla_say(inv, "  turned by %.3f degrees, then moved by (%.3f, %.3f, %.3f) mm",
            pla_rigid_angle_deg(&t), t.t_mm[0], t.t_mm[1], t.t_mm[2]);
    st = write_moved(inv, &t, &side[1], err);
  }
  side_clear(&side[0]);
  side_clear(&side[1]);
  return st;
}

static const PlaOpt options[] = {
  { "landmarks", 0, PLA_OPT_FLAG, NULL, "align by points of the same name" },
  { "frame", 0, PLA_OPT_INT, "N", "which frame of a recording of markers (default: 0)", 0, 1e9 },
  { "all", 0, PLA_OPT_FLAG, NULL, "use all landmarks, outliers too" },
  { "trim", 0, PLA_OPT_NUMBER, "S", "share of surface points left out (default: 0.1)", 0, 0.9 },
  { "reach-mm", 0, PLA_OPT_NUMBER, "R", "ignore surface points farther away", 0.001, 10000 },
  { "search", 0, PLA_OPT_FLAG, NULL, "search all positions of the surfaces" },
  { "finest-mm", 0, PLA_OPT_NUMBER, "H", "finest detail of volumes to use (default: all)", 0.01,
    100 },
  { NULL },
};

const PlaVerb pla_verb_register = {
  .name = "register",
  .args = "FIXED MOVING [-o MOVED]",
  .summary = "finds the rigid motion that aligns two volumes, surfaces or sets of points",
  .description =
      "Volumes are aligned by mutual information (CT and MR, before and after), surfaces by\n"
      "nearest points, and with --landmarks tables of points or frames of markers by their\n"
      "names; outliers are found and left out.  matrix_mm maps MOVING into the frame of FIXED;\n"
      "-o writes the result (a volume keeps its voxels and gets another frame).  Shapes that\n"
      "leave a motion undetermined, such as balls and plates, are refused.",
  .example = "platysma-cli register ct.nii.gz mr.nii.gz -o mr-on-ct.nii.gz",
  .min_files = 2,
  .max_files = 2,
  .options = options,
  .run = run_register,
};
