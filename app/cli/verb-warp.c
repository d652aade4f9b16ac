/* `warp`: a template carried onto a patient by landmarks. */
#include "app/base/json.h"
#include "app/cli/cli-private.h"
#include "app/motion/landmark-table.h"
#include "app/motion/muscles.h"
#include "io/formats/format.h"
#include "io/formats/label-files.h"
#include "io/stream/output.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define PHANTOM "phantom:"

typedef struct {
  PlaItem item;          /* labels or a mesh */
  PlaLandmarks mark;     /* the template's */
  PlaMuscleList muscles; /* may be empty */
} Template;

static void
template_clear(Template *t)
{
  pla_item_clear(&t->item);
  pla_landmarks_clear(&t->mark);
  pla_muscle_list_clear(&t->muscles);
}

static PlaStatus
read_phantom(PlaInvocation *inv, const char *name, Template *out, PlaError *err)
{
  PlaPhantom phantom = { 0 };
  PlaStatus st = pla_phantom_make(name, pla_invocation_number(inv, "spacing-mm", 0.0),
                                  pla_invocation_progress(inv), &phantom, err);
  if (st == PLA_OK && phantom.n_muscles > 0)
    st = pla_muscle_list_from_phantom(&phantom, &out->muscles, err);
  if (st == PLA_OK) {
    pla_landmarks_from_phantom(&phantom, &out->mark);
    out->item.kind = phantom.labels ? PLA_KIND_VOLUME : PLA_KIND_MESH;
    out->item.mesh = g_steal_pointer(&phantom.mesh);
    if (phantom.labels) {
      out->item.volume = g_steal_pointer(&phantom.labels->volume);
      st = pla_label_table_dup(&phantom.labels->table, &out->item.labels, err);
    }
  }
  pla_phantom_clear(&phantom);
  return st;
}

static PlaStatus
read_template(PlaInvocation *inv, Template *out, PlaError *err)
{
  const char *path = pla_invocation_file(inv, 0);
  const char *marks = pla_invocation_text(inv, "from", 0, NULL);
  PlaStatus st;
  if (g_str_has_prefix(path, PHANTOM))
    st = read_phantom(inv, path + strlen(PHANTOM), out, err);
  else {
    PlaReadOptions read = pla_read_options_default();
    read.progress = pla_invocation_progress(inv);
    st = pla_item_read(path, &read, &out->item, err);
    if (st == PLA_OK && out->item.kind != PLA_KIND_VOLUME && out->item.kind != PLA_KIND_MESH)
      st = pla_fail(err, PLA_ERR_USAGE, "%s is a %s; labels and meshes can be warped", path,
                    pla_kind_name(out->item.kind));
    if (st == PLA_OK && !marks)
      st = pla_fail(err, PLA_ERR_USAGE, "give the landmarks of the template: --from LANDMARKS.csv");
  }
  if (st == PLA_OK && marks) {
    pla_landmarks_clear(&out->mark);
    st = pla_landmarks_read(marks, &out->mark, err);
  }
  if (st == PLA_OK && pla_invocation_has(inv, "description")) {
    PlaJsonFile *file = NULL;
    PlaJson root;
    const char *description = pla_invocation_text(inv, "description", 0, NULL);
    pla_muscle_list_clear(&out->muscles);
    st = pla_json_file_load(description, &file, &root, err);
    if (st == PLA_OK) {
      st = pla_muscle_list_from_json(root, &out->muscles, err);
      if (st != PLA_OK)
        pla_fail_within(err, "%s", description);
    }
    pla_json_file_free(file);
  }
  return st;
}

/* names that only one side has */
static void
describe_unmatched(PlaInvocation *inv, const char *key, const PlaLandmarks *a,
                   const PlaLandmarks *b)
{
  JsonBuilder *json = pla_invocation_json(inv);
  int n = 0;
  json_builder_set_member_name(json, key);
  json_builder_begin_array(json);
  for (int i = 0; i < a->n; i++)
    if (pla_landmarks_find(b, a->name[i]) < 0) {
      json_builder_add_string_value(json, a->name[i]);
      n++;
    }
  json_builder_end_array(json);
  if (n > 0)
    pla_say(inv, "  %d %s", n,
            g_str_equal(key, "only_in_template") ? "landmarks of the template have no partner"
                                                 : "landmarks of the patient have no partner");
}

static void
describe(PlaInvocation *inv, const Template *t, const PlaLandmarks *to,
         const PlaLandmarkPairs *pairs, const PlaWarp *warp, const double *left_out,
         const PlaWarpReport *r, const double range[2])
{
  JsonBuilder *json = pla_invocation_json(inv);
  pla_json_int(json, "landmarks_used", pairs->n);
  pla_json_number(json, "rigid_mm", r->rigid_mm);
  pla_json_number(json, "affine_mm", r->affine_mm);
  pla_json_number(json, "rms_mm", r->rms_mm);
  pla_json_number(json, "left_out_mm", r->left_out_mm);
  pla_json_text(json, "worst", t->mark.name[pairs->index[0][r->worst]]);
  pla_json_number(json, "worst_mm", r->worst_mm);
  pla_json_number(json, "least_volume_factor", range[0]);
  pla_json_number(json, "largest_volume_factor", range[1]);
  pla_json_number(json, "condition", r->condition);
  pla_say(inv, "%d landmarks: rms %.2f mm after the best rigid motion, %.2f affine, %.3f warped",
          pairs->n, r->rigid_mm, r->affine_mm, r->rms_mm);
  if (isfinite(r->left_out_mm))
    pla_say(inv, "  each from the others: rms %.2f mm, worst '%s' %.2f mm", r->left_out_mm,
            t->mark.name[pairs->index[0][r->worst]], r->worst_mm);
  pla_say(inv, "  volumes change by factors of %.3f to %.3f%s", range[0], range[1],
          range[0] > 0.0 ? "" : ": the warp folds, check the landmarks");
  json_builder_set_member_name(json, "landmarks");
  json_builder_begin_array(json);
  for (int i = 0; i < pairs->n; i++) {
    double x[3], miss = 0.0;
    pla_warp_apply(warp, 1, pairs->pos_mm[0] + 3 * i, x);
    for (int d = 0; d < 3; d++)
      miss += (x[d] - pairs->pos_mm[1][3 * i + d]) * (x[d] - pairs->pos_mm[1][3 * i + d]);
    json_builder_begin_object(json);
    pla_json_text(json, "name", t->mark.name[pairs->index[0][i]]);
    pla_json_number(json, "residual_mm", sqrt(miss));
    pla_json_number(json, "left_out_mm", left_out[i]);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  describe_unmatched(inv, "only_in_template", &t->mark, to);
  describe_unmatched(inv, "only_in_patient", to, &t->mark);
}

static PlaStatus
write_result(PlaInvocation *inv, const PlaWarp *warp, Template *t, PlaError *err)
{
  const char *out = pla_invocation_output(inv);
  PlaProgress *progress = pla_invocation_progress(inv);
  PlaWriteOptions write = pla_write_options_default();
  PlaStatus st = PLA_OK;
  if (t->item.kind == PLA_KIND_MESH) {
    st = pla_warp_mesh(warp, t->item.mesh, progress, err);
    if (st == PLA_OK)
      st = pla_item_write(out, &t->item, &write, err);
  } else {
    PlaLabelMap *map = NULL, *moved = NULL;
    double spacing[3];
    pla_volume_spacing_mm(t->item.volume, spacing);
    const double finest = fmin(spacing[0], fmin(spacing[1], spacing[2]));
    st = pla_label_map_take(t->item.volume, &t->item.labels, &map, err);
    if (st == PLA_OK) {
      t->item.volume = NULL;
      st = pla_warp_labels(warp, map, pla_invocation_number(inv, "spacing-mm", finest), progress,
                           &moved, err);
    }
    if (st == PLA_OK) {
      const PlaItem item = { .kind = PLA_KIND_VOLUME,
                             .volume = moved->volume,
                             .labels = moved->table };
      st = pla_item_write(out, &item, &write, err);
      if (st == PLA_OK)
        st = pla_label_sidecar_write(out, &moved->table, err);
    }
    pla_label_map_free(map);
    pla_label_map_free(moved);
  }
  if (st == PLA_OK && pla_invocation_has(inv, "muscles")) {
    if (t->muscles.n == 0)
      return pla_fail(err, PLA_ERR_USAGE,
                      "the template has no muscles; give their description with --description");
    pla_warp_muscles(warp, &t->muscles);
    g_autoptr(JsonNode) node = pla_muscle_list_to_json(&t->muscles);
    g_autofree char *text = pla_json_write_lossy(node, PLA_JSON_PRETTY);
    st = pla_output_write(pla_invocation_text(inv, "muscles", 0, NULL), text, strlen(text), err);
  }
  if (st == PLA_OK && pla_invocation_has(inv, "landmarks")) {
    pla_warp_apply(warp, t->mark.n, t->mark.pos_mm, t->mark.pos_mm);
    st = pla_landmarks_write(pla_invocation_text(inv, "landmarks", 0, NULL), &t->mark, err);
  }
  return st;
}

/* places of the template at which folding is looked for: its vertices, or a grid of its voxels */
static double *
probe_places(const PlaItem *item, int *n)
{
  enum { STEPS = 24 };
  if (item->kind == PLA_KIND_MESH) {
    double *pos = g_new(double, 3 * (size_t)item->mesh->n_verts + 1);
    *n = item->mesh->n_verts;
    for (size_t i = 0; i < 3 * (size_t)*n; i++)
      pos[i] = 1000.0 * item->mesh->pos[i];
    return pos;
  }
  double *pos = g_new(double, 3 * STEPS * STEPS * STEPS);
  *n = STEPS * STEPS * STEPS;
  for (int i = 0; i < *n; i++) {
    const double ijk[3] = { (double)(i % STEPS) / (STEPS - 1) * (item->volume->dims[0] - 1),
                            (double)(i / STEPS % STEPS) / (STEPS - 1) * (item->volume->dims[1] - 1),
                            (double)(i / (STEPS * STEPS)) / (STEPS - 1) *
                                (item->volume->dims[2] - 1) };
    pla_volume_to_ras_mm(item->volume, ijk, pos + 3 * i);
  }
  return pos;
}

static PlaStatus
run_warp(PlaInvocation *inv, PlaError *err)
{
  Template t = { 0 };
  PlaLandmarks to = { 0 };
  PlaLandmarkPairs pairs = { 0 };
  PlaWarp *warp = NULL;
  PlaWarpReport report;
  g_autofree double *left_out = NULL;
  g_autofree double *probe = NULL;
  double range[2] = { 1.0, 1.0 };
  const char *patient = pla_invocation_text(inv, "to", 0, NULL);
  PlaProgress *progress = pla_invocation_progress(inv);
  PlaStatus st = patient ? PLA_OK
                         : pla_fail(err, PLA_ERR_USAGE,
                                    "give the landmarks of the patient: --to LANDMARKS.csv");
  if (st == PLA_OK)
    st = pla_landmarks_read(patient, &to, err);
  pla_progress_phase(progress, "Reading", 0.3);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = read_template(inv, &t, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK) {
    const PlaFormat *format;
    st = pla_format_for_output(pla_invocation_output(inv), t.item.kind, &format, err);
  }
  if (st == PLA_OK) {
    pla_landmark_pairs_init(&pairs, &t.mark, &to);
    left_out = g_new0(double, pairs.n + 1);
    st = pla_warp_new(pairs.n, pairs.pos_mm[0], pairs.pos_mm[1],
                      pla_invocation_number(inv, "relax-mm", 0.0), &warp, left_out, &report, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s (%d of its %d landmarks are named in the template too)", patient,
                      pairs.n, to.n);
  }
  pla_progress_phase(progress, "Warping", 1.0);
  if (st == PLA_OK) {
    int n = 0;
    probe = probe_places(&t.item, &n);
    pla_warp_volume_range(warp, n, probe, range);
    describe(inv, &t, &to, &pairs, warp, left_out, &report, range);
    st = write_result(inv, warp, &t, err);
  }
  pla_warp_free(warp);
  pla_landmark_pairs_clear(&pairs);
  pla_landmarks_clear(&to);
  template_clear(&t);
  return st;
}

static const PlaOpt options[] = {
  { "to", 0, PLA_OPT_TEXT, "FILE", "the patient's landmarks: lines of name, x, y, z in mm" },
  { "from", 0, PLA_OPT_TEXT, "FILE", "the template's (default: those of the phantom)" },
  { "relax-mm", 0, PLA_OPT_NUMBER, "R", "allow residuals of R mm rms at the landmarks (default: 0)",
    0, 100 },
  { "spacing-mm", 0, PLA_OPT_NUMBER, "H", "voxels of warped labels (default: the template's)", 0.1,
    100 },
  { "description", 0, PLA_OPT_TEXT, "FILE", "muscles of the template, as `muscles` reads them" },
  { "muscles", 0, PLA_OPT_OUTPUT, "FILE", "write the description of the warped muscles" },
  { "landmarks", 0, PLA_OPT_OUTPUT, "FILE", "write all the template's landmarks, warped" },
  { NULL },
};

const PlaVerb pla_verb_warp = {
  .name = "warp",
  .args = "TEMPLATE --to LANDMARKS -o OUT",
  .summary = "carries a template onto a patient by landmarks",
  .description =
      "The template is a phantom with its landmarks and muscles, as in phantom:head, or labels\n"
      "or a mesh with --from.  Landmarks of the same name are paired.  The map is affine plus\n"
      "biharmonic and interpolates all landmarks, or approximates them with --relax-mm.  The\n"
      "report has the distance of each landmark from its prediction by all others, which\n"
      "reveals mistakes, and the range of volume changes, which reveals folds.",
  .example = "platysma-cli warp phantom:head --to patient.csv --muscles patient-muscles.json "
             "-o patient-labels.nii.gz",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .options = options,
  .run = run_warp,
};
