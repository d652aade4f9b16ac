/* Surgical plans: from labels to a body, and one tool after the other. */
#include "app/plan.h"

#include "anatomy/boundary.h"
#include "anatomy/mesher/tets.h"
#include "app/cutting.h"
#include "app/mesh-method.h"
#include "sim/material/presets.h"

#include <glib.h>
#include <math.h>
#include <string.h>

void
pla_plan_result_clear(PlaPlanResult *self)
{
  if (self->operations)
    json_array_unref(self->operations);
  pla_mesh_free(self->mesh);
  pla_mesh_free(self->surface);
  *self = (PlaPlanResult){ 0 };
}

/* ---- the body ---- */

/* tissues by the names of the labels: soft ones are meshed, rigid ones hold them */
typedef struct {
  GArray *ids, *first; /* soft labels, one tissue each, as the mesher takes them */
  GArray *materials;   /* PlaFemMaterial of each */
  GHashTable *rigid;   /* label ids */
} Tissues;

static void
tissues_clear(Tissues *self)
{
  g_array_unref(self->ids);
  g_array_unref(self->first);
  g_array_unref(self->materials);
  g_hash_table_unref(self->rigid);
}

static PlaStatus
tissues_init(Tissues *self, const PlaLabelMap *map, PlaError *err)
{
  *self =
      (Tissues){ g_array_new(FALSE, FALSE, sizeof(int)), g_array_new(FALSE, FALSE, sizeof(int)),
                 g_array_new(FALSE, FALSE, sizeof(PlaFemMaterial)), g_hash_table_new(NULL, NULL) };
  g_autofree size_t *count = g_new(size_t, 65536);
  PlaStatus st = PLA_OK;
  pla_label_map_count(map, count);
  for (int i = 0; st == PLA_OK && i < map->table.n; i++) {
    const PlaLabel *label = &map->table.label[i];
    const PlaPreset *preset = pla_preset_find(label->name);
    if (label->id == 0 || count[label->id] == 0 || !preset)
      continue;
    if (preset->rigid) {
      g_hash_table_add(self->rigid, GINT_TO_POINTER(label->id));
      continue;
    }
    double param[PLA_MAX_CONSTANTS] = { 0 };
    PlaFemMaterial m = { .density = preset->density };
    int first = (int)self->ids->len, id = label->id;
    m.material = pla_preset_params(preset, PLA_STIFFNESS_TYPICAL, param);
    st = m.material->prepare(param, m.constants, err);
    g_array_append_val(self->first, first);
    g_array_append_val(self->ids, id);
    g_array_append_val(self->materials, m);
  }
  int end = (int)self->ids->len;
  g_array_append_val(self->first, end);
  if (st == PLA_OK && end == 0)
    st =
        pla_fail(err, PLA_ERR_EMPTY,
                 "no label has the name of a soft tissue, such as skin, fat or muscle; rename one");
  return st;
}

/* outer vertices next to rigid voxels or to the end of the scan do not move */
static bool *
held_verts(const PlaMesh *mesh, const PlaBoundary *outer, const PlaLabelMap *map, GHashTable *rigid)
{
  const PlaVolume *vol = map->volume;
  double inverse[12];
  bool *held = g_new0(bool, (gsize)mesh->n_verts);
  if (!pla_affine_invert(vol->affine_mm, inverse))
    return held;
  for (int i = 0; i < 3 * outer->n_tris; i++) {
    int v = outer->tri[i];
    const double mm[3] = { 1e3 * mesh->pos[3 * v], 1e3 * mesh->pos[3 * v + 1],
                           1e3 * mesh->pos[3 * v + 2] };
    double at[3];
    pla_affine_apply(inverse, mm, at);
    /* where the scan ends, tissue is cut through at the outer sides of the last voxels */
    for (int d = 0; d < 3; d++)
      held[v] |= at[d] < 0.0 || at[d] > vol->dims[d] - 1;
    for (int k = 0; k < 27 && !held[v]; k++) {
      size_t index = 0;
      for (int d = 2, part = k; d >= 0; d--, part /= 3) {
        int voxel = (int)lround(at[d]) + part % 3 - 1;
        voxel = CLAMP(voxel, 0, vol->dims[d] - 1);
        index = index * (size_t)vol->dims[d] + (size_t)voxel;
      }
      held[v] = g_hash_table_contains(rigid, GINT_TO_POINTER(pla_label_map_get(map, index)));
    }
  }
  return held;
}

PlaStatus
pla_plan_make_body(const PlaLabelMap *map, double lattice_mm, PlaProgress *progress,
                   PlaSurgery **out, int *n_tets, PlaError *err)
{
  PlaMeshInput input = pla_mesh_input_default();
  PlaMeshResult result;
  const PlaMeshMethod *method = NULL;
  PlaBoundary outer = { 0 };
  Tissues tissues;
  pla_mesh_result_init(&result);
  PlaStatus st = tissues_init(&tissues, map, err);
  if (st == PLA_OK)
    st = pla_mesh_method_find("tets", &method, err);
  if (st == PLA_OK) {
    input.labels = map;
    input.ids = (const int *)(void *)tissues.ids->data;
    input.first = (const int *)(void *)tissues.first->data;
    input.n_groups = (int)tissues.ids->len;
    input.cell_mm = lattice_mm;
    input.levels = 0; /* blades go anywhere */
    st = pla_mesh_method_run(method, &input, progress, &result, err);
  }
  if (st == PLA_OK) {
    const PlaTetMesh tets = pla_mesh_tets(result.mesh);
    const PlaHexMesh none = { 0 };
    st = pla_boundary_init(&outer, &tets, &none, false, err);
  }
  if (st == PLA_OK) {
    const PlaMesh *mesh = result.mesh;
    const PlaField *region = pla_mesh_find_field(mesh, PLA_MESH_REGION, PLA_ON_CELLS);
    g_autofree bool *held = held_verts(mesh, &outer, map, tissues.rigid);
    g_autofree int *material = g_new0(int, (gsize)mesh->n_tets);
    for (int t = 0; region && t < mesh->n_tets; t++)
      for (guint g = 0; g < tissues.ids->len; g++)
        if (((const int *)region->data)[t] == g_array_index(tissues.ids, int, g))
          material[t] = (int)g;
    *n_tets = mesh->n_tets;
    st = pla_surgery_new(mesh, (const PlaFemMaterial *)(void *)tissues.materials->data,
                         (int)tissues.materials->len, material, held, out, err);
  }
  pla_boundary_clear(&outer);
  pla_mesh_result_clear(&result);
  tissues_clear(&tissues);
  return st;
}

/* ---- the tools ---- */

typedef struct {
  PlaSurgery *surgery;
  PlaProgress *progress;
  PlaPlanStep *step;
  JsonObject *found; /* of the step */
} Run;

typedef struct {
  const char *name;
  const char *const *keys;
  PlaStatus (*run)(Run *run, PlaJson what, PlaError *err);
} Tool;

static PlaStatus
need(PlaJson object, const char *key, PlaJson *out, PlaError *err)
{
  return pla_json_get(object, key, out) ? PLA_OK : pla_json_fail(object, err, "needs \"%s\"", key);
}

static PlaStatus
read_text(PlaJson object, const char *key, char **out, PlaError *err)
{
  PlaJson value;
  PlaStatus st = need(object, key, &value, err);
  return st == PLA_OK ? pla_json_text_value(value, out, err) : st;
}

/* a length in mm, as metres; *out keeps its value when the key is absent and @optional */
static PlaStatus
read_mm(PlaJson object, const char *key, bool optional, double min, double max, double *out,
        PlaError *err)
{
  PlaJson value;
  double mm;
  if (optional && !pla_json_has(object, key))
    return PLA_OK;
  PlaStatus st = need(object, key, &value, err);
  if (st == PLA_OK)
    st = pla_json_number_value(value, &mm, err);
  if (st == PLA_OK && (mm < min || mm > max))
    st = pla_json_fail(value, err, "is %g and must lie between %g and %g", mm, min, max);
  if (st == PLA_OK)
    *out = 1e-3 * mm;
  return st;
}

/* [[x, y, z], ...] in mm, as metres; g_free() */
static PlaStatus
read_path(PlaJson object, const char *key, double **out, int *n, PlaError *err)
{
  PlaJson list, point;
  PlaStatus st = need(object, key, &list, err);
  *out = NULL;
  *n = st == PLA_OK ? pla_json_length(list) : 0;
  if (st == PLA_OK && *n == 0)
    st = pla_json_fail(list, err, "must be a list of points");
  if (st == PLA_OK)
    *out = g_new(double, 3 * (gsize)*n);
  for (int i = 0; st == PLA_OK && i < *n; i++) {
    st = pla_json_at(list, i, &point, err);
    if (st == PLA_OK)
      st = pla_json_vector(point, 3, &(*out)[3 * i], err);
    for (int d = 0; st == PLA_OK && d < 3; d++)
      (*out)[3 * i + d] *= 1e-3;
  }
  return st;
}

static PlaStatus
read_point(PlaJson object, const char *key, double out[3], PlaError *err)
{
  PlaJson value;
  PlaStatus st = need(object, key, &value, err);
  if (st == PLA_OK)
    st = pla_json_vector(value, 3, out, err);
  for (int d = 0; st == PLA_OK && d < 3; d++)
    out[d] *= 1e-3;
  return st;
}

static PlaStatus
run_incise(Run *run, PlaJson what, PlaError *err)
{
  g_autofree char *name = NULL;
  g_autofree double *path = NULL;
  PlaJson bevel;
  double depth = 0.0, deg = 0.0;
  int n = 0;
  PlaStatus st = read_text(what, "name", &name, err);
  if (st == PLA_OK)
    st = read_path(what, "path_mm", &path, &n, err);
  if (st == PLA_OK)
    st = read_mm(what, "depth_mm", true, 0.1, 500, &depth, err);
  if (st == PLA_OK && pla_json_get(what, "bevel_deg", &bevel)) {
    st = pla_json_number_value(bevel, &deg, err);
    if (st == PLA_OK && fabs(deg) > 80.0)
      st = pla_json_fail(bevel, err, "is %g and must lie between -80 and 80", deg);
  }
  return st == PLA_OK ? pla_surgery_incise(run->surgery, name, path, n, depth, deg * G_PI / 180.0,
                                           run->progress, err)
                      : st;
}

static PlaStatus
run_excise(Run *run, PlaJson what, PlaError *err)
{
  g_autofree char *name = NULL;
  g_autofree double *path = NULL;
  double depth, volume = 0.0;
  int n = 0;
  PlaStatus st = read_text(what, "name", &name, err);
  if (st == PLA_OK)
    st = read_path(what, "path_mm", &path, &n, err);
  if (st == PLA_OK)
    st = read_mm(what, "depth_mm", false, 0.1, 500, &depth, err);
  if (st == PLA_OK)
    st = pla_surgery_excise(run->surgery, name, path, n, depth, &volume, run->progress, err);
  if (st == PLA_OK)
    json_object_set_double_member(run->found, "specimen_mm3", 1e9 * volume);
  return st;
}

static PlaStatus
run_undermine(Run *run, PlaJson what, PlaError *err)
{
  g_autofree char *from = NULL;
  double radius, depth;
  PlaStatus st = read_text(what, "from", &from, err);
  if (st == PLA_OK)
    st = read_mm(what, "radius_mm", false, 0.1, 500, &radius, err);
  if (st == PLA_OK)
    st = read_mm(what, "depth_mm", false, 0.1, 500, &depth, err);
  return st == PLA_OK ? pla_surgery_undermine(run->surgery, from, radius, depth, run->progress, err)
                      : st;
}

static PlaStatus
run_hook(Run *run, PlaJson what, PlaError *err)
{
  double at[3], pull[3];
  PlaStatus st = read_point(what, "at_mm", at, err);
  if (st == PLA_OK)
    st = read_point(what, "pull_mm", pull, err);
  return st == PLA_OK ? pla_surgery_hook(run->surgery, at, pull, err) : st;
}

static PlaStatus
run_release(Run *run, PlaJson what, PlaError *err)
{
  (void)what, (void)err;
  pla_surgery_release_hooks(run->surgery);
  return PLA_OK;
}

static PlaStatus
run_suture(Run *run, PlaJson what, PlaError *err)
{
  PlaJson edges, value;
  g_autofree char *first = NULL;
  g_autofree char *second = NULL;
  double spacing, tighten = 1.0;
  int n = 0;
  PlaStatus st = need(what, "edges", &edges, err);
  if (st == PLA_OK && pla_json_length(edges) != 2)
    st = pla_json_fail(edges, err, "must name two wounds, or one twice");
  if (st == PLA_OK)
    st = pla_json_at(edges, 0, &value, err);
  if (st == PLA_OK)
    st = pla_json_text_value(value, &first, err);
  if (st == PLA_OK)
    st = pla_json_at(edges, 1, &value, err);
  if (st == PLA_OK)
    st = pla_json_text_value(value, &second, err);
  if (st == PLA_OK)
    st = read_mm(what, "spacing_mm", false, 0.1, 100, &spacing, err);
  if (st == PLA_OK && pla_json_get(what, "tighten", &value)) {
    st = pla_json_number_value(value, &tighten, err);
    if (st == PLA_OK && (tighten < 0.0 || tighten > 1.0))
      st = pla_json_fail(value, err, "is %g and must lie between 0 and 1", tighten);
  }
  if (st == PLA_OK)
    st = pla_surgery_suture(run->surgery, first, second, spacing, tighten, &n, err);
  if (st == PLA_OK)
    json_object_set_int_member(run->found, "stitches", n);
  return st;
}

static PlaStatus
run_solve(Run *run, PlaJson what, PlaError *err)
{
  PlaJson value;
  double tolerance = 1e-5;
  PlaStatus st = PLA_OK;
  if (pla_json_get(what, "tolerance_rel", &value)) {
    st = pla_json_number_value(value, &tolerance, err);
    if (st == PLA_OK && !(tolerance > 0.0 && tolerance < 1.0))
      st = pla_json_fail(value, err, "is %g and must lie between 0 and 1", tolerance);
  }
  PlaFemReport *r = &run->step->solve;
  if (st == PLA_OK)
    st = pla_surgery_solve(run->surgery, tolerance, run->progress, r, err);
  if (st == PLA_OK) {
    run->step->solved = true;
    json_object_set_boolean_member(run->found, "converged", r->reason == PLA_STOP_CONVERGED);
    json_object_set_int_member(run->found, "iterations", r->iterations);
    json_object_set_double_member(run->found, "residual_rel", r->residual_rel);
    json_object_set_int_member(run->found, "inverted", r->inverted);
  }
  return st;
}

static const Tool tools[] = {
  { "incise", (const char *const[]){ "name", "path_mm", "depth_mm", "bevel_deg", NULL },
    run_incise },
  { "excise", (const char *const[]){ "name", "path_mm", "depth_mm", NULL }, run_excise },
  { "undermine", (const char *const[]){ "from", "radius_mm", "depth_mm", NULL }, run_undermine },
  { "hook", (const char *const[]){ "at_mm", "pull_mm", NULL }, run_hook },
  { "release", (const char *const[]){ NULL }, run_release },
  { "suture", (const char *const[]){ "edges", "spacing_mm", "tighten", NULL }, run_suture },
  { "solve", (const char *const[]){ "tolerance_rel", NULL }, run_solve },
};

/* the tool that the operation, an object with one member, names */
static PlaStatus
find_tool(PlaJson operation, const Tool **tool, PlaJson *what, PlaError *err)
{
  for (size_t i = 0; i < G_N_ELEMENTS(tools); i++)
    if (pla_json_get(operation, tools[i].name, what)) {
      const char *const only[] = { tools[i].name, NULL };
      *tool = &tools[i];
      PlaStatus st = pla_json_check_keys(operation, only, err);
      return st == PLA_OK ? pla_json_check_keys(*what, tools[i].keys, err) : st;
    }
  return pla_json_fail(
      operation, err,
      "is no operation; there are incise, excise, undermine, hook, release, suture "
      "and solve");
}

void
pla_plan_step_clear(PlaPlanStep *self)
{
  if (self->found)
    json_object_unref(self->found);
  *self = (PlaPlanStep){ 0 };
}

PlaStatus
pla_plan_step_run(PlaSurgery *surgery, PlaJson operation, PlaProgress *progress, PlaPlanStep *out,
                  PlaError *err)
{
  const Tool *tool = NULL;
  PlaJson what;
  *out = (PlaPlanStep){ 0 };
  PlaStatus st = find_tool(operation, &tool, &what, err);
  if (st != PLA_OK)
    return st;
  *out = (PlaPlanStep){ .tool = tool->name, .found = json_object_new() };
  Run run = { surgery, progress, out, out->found };
  st = tool->run(&run, what, err);
  /* refusals of tools do not know where in the plan they stand; those of values do */
  if (st != PLA_OK && st != PLA_ERR_CANCELLED && !strstr(err->message, operation.path))
    pla_fail_within(err, "%s, %s", operation.path, tool->name);
  return st;
}

/* one step, into the list of the plan */
static PlaStatus
run_operation(PlaSurgery *surgery, PlaJson operation, PlaProgress *progress, PlaPlanResult *result,
              PlaError *err)
{
  PlaPlanStep step;
  gint64 start = g_get_monotonic_time();
  PlaStatus st = pla_plan_step_run(surgery, operation, progress, &step, err);
  if (step.solved) {
    result->solved = true;
    result->solve = step.solve;
  }
  if (step.found) {
    json_object_set_string_member(step.found, "name", step.tool);
    json_object_set_double_member(step.found, "seconds",
                                  (double)(g_get_monotonic_time() - start) * 1e-6);
    json_array_add_object_element(result->operations, g_steal_pointer(&step.found));
  }
  pla_plan_step_clear(&step);
  return st;
}

/* the body in its last shape */
static PlaStatus
take_body(PlaSurgery *surgery, PlaPlanResult *out, PlaError *err)
{
  PlaCutMesh *cut = pla_surgery_get_mesh(surgery);
  const double *pos = pla_surgery_get_pos(surgery);
  PlaMesh *none = NULL;
  PlaStatus st = pla_mesh_new(0, 0, 0, 0, &none, err);
  if (st == PLA_OK)
    st = pla_cut_to_mesh(cut, none, &out->mesh, NULL, err);
  if (st == PLA_OK) {
    const size_t n = 3 * (size_t)out->mesh->n_verts;
    double *moved = pla_mesh_add_field(out->mesh, "displacement", PLA_ON_VERTS, PLA_F64, 3);
    for (size_t i = 0; moved && i < n; i++) {
      moved[i] = 1e3 * (pos[i] - out->mesh->pos[i]);
      out->mesh->pos[i] = pos[i];
    }
    st =
        moved ? pla_cut_to_surface(cut, pos, &out->surface, err) : pla_fail_memory(err, "the body");
  }
  pla_mesh_free(none);
  return st;
}

PlaStatus
pla_plan_run(const PlaLabelMap *labels, double lattice_mm, PlaJson operations,
             PlaProgress *progress, PlaPlanResult *out, PlaError *err)
{
  PlaSurgery *surgery = NULL;
  const int n = pla_json_length(operations);
  *out = (PlaPlanResult){ .operations = json_array_new() };
  gint64 start = g_get_monotonic_time();
  pla_progress_phase(progress, "Meshing the soft tissue", 0.3);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = pla_plan_make_body(labels, lattice_mm, progress, &surgery, &out->n_tets, err);
  pla_progress_pop(progress, span);
  out->mesh_seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  for (int i = 0; st == PLA_OK && i < n; i++) {
    PlaJson operation;
    pla_progress_phase(progress, "Operating", 0.3 + 0.6 * (i + 1) / n);
    span = pla_progress_push(progress);
    st = pla_json_at(operations, i, &operation, err);
    if (st == PLA_OK)
      st = run_operation(surgery, operation, progress, out, err);
    pla_progress_pop(progress, span);
  }
  if (st == PLA_OK)
    st = pla_surgery_read(surgery, &out->readings, err);
  if (st == PLA_OK)
    st = take_body(surgery, out, err);
  pla_surgery_free(surgery);
  return st;
}
