/* Surgical plans: from labels to a body, and one tool after the other. */
#include "app/surgery/plan-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/mesher/tets.h"
#include "app/base/quantity.h"
#include "app/simulate/mesh-method.h"
#include "app/surgery/cutting.h"
#include "sim/material/presets.h"

#include <glib.h>
#include <limits.h>
#include <math.h>
#include <string.h>

void
pla_plan_result_clear(PlaPlanResult *self)
{
  if (self->operations)
    json_array_unref(self->operations);
  if (self->stitches)
    g_array_unref(self->stitches);
  pla_mesh_free(self->mesh);
  pla_mesh_free(self->surface);
  *self = (PlaPlanResult){ 0 };
}

/* ---- the body ---- */

/* tissues by the names of the labels: soft ones are meshed, rigid ones hold them */
typedef struct {
  GArray *ids, *first; /* soft labels, one tissue each, as the mesher takes them */
  GArray *materials;   /* PlaFemMaterial of each */
  GPtrArray *names;    /* and its name */
  GHashTable *rigid;   /* label ids */
} Tissues;

static void
tissues_clear(Tissues *self)
{
  g_array_unref(self->ids);
  g_array_unref(self->first);
  g_array_unref(self->materials);
  g_ptr_array_unref(self->names);
  g_hash_table_unref(self->rigid);
}

static PlaStatus
fail_without_tissue(PlaError *err)
{
  return pla_fail(
      err, PLA_ERR_EMPTY,
      "no label has the name of a soft tissue, such as skin, fat or muscle; rename one");
}

static PlaStatus
tissues_init(Tissues *self, const PlaLabelMap *map, const char *const *bones, PlaError *err)
{
  *self = (Tissues){ g_array_new(FALSE, FALSE, sizeof(int)), g_array_new(FALSE, FALSE, sizeof(int)),
                     g_array_new(FALSE, FALSE, sizeof(PlaFemMaterial)),
                     g_ptr_array_new_with_free_func(g_free), g_hash_table_new(NULL, NULL) };
  g_autofree size_t *count = g_new(size_t, 65536);
  PlaStatus st = PLA_OK;
  pla_label_map_count(map, count);
  for (int i = 0; st == PLA_OK && i < map->table.n; i++) {
    const PlaLabel *label = &map->table.label[i];
    const PlaPreset *preset = pla_preset_find(label->name);
    if (label->id == 0 || count[label->id] == 0 || !preset)
      continue;
    if (preset->rigid && !(bones && g_strv_contains(bones, label->name))) {
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
    g_ptr_array_add(self->names, g_strdup(label->name));
  }
  int end = (int)self->ids->len;
  g_array_append_val(self->first, end);
  for (int i = 0; st == PLA_OK && bones && bones[i]; i++)
    if (!g_ptr_array_find_with_equal_func(self->names, bones[i], g_str_equal, NULL))
      st = pla_fail(err, PLA_ERR_USAGE, "no label is called '%s', which the plan lists as a bone",
                    bones[i]);
  return st == PLA_OK && end == 0 ? fail_without_tissue(err) : st;
}

/* outer vertices next to rigid voxels or to the end of the scan do not move; NULL: no memory */
static bool *
held_verts(const PlaMesh *mesh, const PlaBoundary *outer, const PlaLabelMap *map, GHashTable *rigid)
{
  const PlaVolume *vol = map->volume;
  double inverse[12];
  bool *held = pla_array_new0((size_t)mesh->n_verts, sizeof *held);
  if (!held || !pla_affine_invert(vol->affine_mm, inverse))
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
pla_plan_crop(const PlaLabelMap *labels, const double box_mm[2][3], PlaLabelMap **out,
              PlaError *err)
{
  const PlaVolume *vol = labels->volume;
  const size_t size = pla_dtype_size(vol->dtype);
  int lo[3] = { INT_MAX, INT_MAX, INT_MAX }, hi[3] = { -1, -1, -1 };
  bool any = false;
  size_t i = 0;
  *out = NULL;
  for (int z = 0; z < vol->dims[2]; z++)
    for (int y = 0; y < vol->dims[1]; y++)
      for (int x = 0; x < vol->dims[0]; x++, i++) {
        const int at[3] = { x, y, z };
        const double index[3] = { x, y, z };
        double mm[3];
        bool in = true;
        pla_volume_to_ras_mm(vol, index, mm);
        for (int d = 0; d < 3; d++)
          in = in && mm[d] >= box_mm[0][d] && mm[d] <= box_mm[1][d];
        any = any || (in && pla_label_map_get(labels, i) != 0);
        for (int d = 0; in && d < 3; d++) {
          lo[d] = MIN(lo[d], at[d]);
          hi[d] = MAX(hi[d], at[d]);
        }
      }
  if (!any)
    return pla_fail(err, PLA_ERR_EMPTY,
                    "no label lies in the box from (%g, %g, %g) to (%g, %g, %g mm)", box_mm[0][0],
                    box_mm[0][1], box_mm[0][2], box_mm[1][0], box_mm[1][1], box_mm[1][2]);
  const int dims[4] = { hi[0] - lo[0] + 1, hi[1] - lo[1] + 1, hi[2] - lo[2] + 1, 1 };
  const double corner[3] = { lo[0], lo[1], lo[2] };
  PlaVolume *part = NULL;
  PlaStatus st = pla_volume_new(dims, vol->dtype, &part, err);
  if (st != PLA_OK)
    return st;
  memcpy(part->affine_mm, vol->affine_mm, sizeof part->affine_mm);
  double origin[3];
  pla_volume_to_ras_mm(vol, corner, origin);
  for (int d = 0; d < 3; d++)
    part->affine_mm[4 * d + 3] = origin[d];
  for (int z = 0; z < dims[2]; z++)
    for (int y = 0; y < dims[1]; y++) {
      const size_t to = ((size_t)z * (size_t)dims[1] + (size_t)y) * (size_t)dims[0];
      const size_t from = ((size_t)(z + lo[2]) * (size_t)vol->dims[1] + (size_t)(y + lo[1])) *
                              (size_t)vol->dims[0] +
                          (size_t)lo[0];
      memcpy((char *)part->voxels + to * size, (const char *)vol->voxels + from * size,
             (size_t)dims[0] * size);
    }
  st = pla_label_map_take(part, &labels->table, out, err);
  if (st != PLA_OK)
    pla_volume_free(part);
  return st;
}

PlaStatus
pla_plan_merge(const PlaLabelMap *labels, const char *tissue, PlaLabelMap **out, PlaError *err)
{
  const PlaPreset *wanted = pla_preset_find(tissue);
  g_autofree guint8 *soft = g_new0(guint8, 65536);
  PlaVolume *merged = NULL;
  int one = 0;
  *out = NULL;
  if (!wanted || wanted->rigid)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' is no soft tissue; name one such as soft tissue",
                    tissue);
  for (int i = 0; i < labels->table.n; i++) {
    const PlaPreset *preset = pla_preset_find(labels->table.label[i].name);
    const int id = labels->table.label[i].id;
    soft[id] = preset && !preset->rigid;
    if (soft[id] && one == 0)
      one = id;
  }
  if (one == 0)
    return fail_without_tissue(err);
  PlaStatus st = pla_volume_dup(labels->volume, &merged, err);
  const size_t n = st == PLA_OK ? pla_volume_n_voxels(merged) : 0;
  for (size_t i = 0; i < n; i++) {
    const int id = pla_label_map_get(labels, i);
    if (soft[id] && merged->dtype == PLA_U8)
      ((guint8 *)merged->voxels)[i] = (guint8)one;
    else if (soft[id])
      ((guint16 *)merged->voxels)[i] = (guint16)one;
  }
  if (st == PLA_OK)
    st = pla_label_map_take(merged, &labels->table, out, err);
  if (st != PLA_OK)
    pla_volume_free(merged);
  else
    st = pla_label_table_set(&(*out)->table, one, tissue, NULL, err);
  return st;
}

PlaStatus
pla_plan_part(const PlaLabelMap *labels, const double (*box_mm)[3], const char *tissue,
              PlaLabelMap **out, PlaError *err)
{
  PlaLabelMap *part = NULL;
  *out = NULL;
  PlaStatus st = box_mm ? pla_plan_crop(labels, box_mm, &part, err) : PLA_OK;
  if (st != PLA_OK || !tissue) {
    *out = part;
    return st;
  }
  st = pla_plan_merge(part ? part : labels, tissue, out, err);
  pla_label_map_free(part);
  return st;
}

PlaStatus
pla_plan_make_body(const PlaLabelMap *map, double lattice_mm, const char *const *bones,
                   PlaProgress *progress, PlaSurgery **out, int *n_tets, PlaError *err)
{
  PlaMeshInput input = pla_mesh_input_default();
  PlaMeshResult result;
  const PlaMeshMethod *method = NULL;
  PlaBoundary outer = { 0 };
  Tissues tissues;
  pla_mesh_result_init(&result);
  PlaStatus st = tissues_init(&tissues, map, bones, err);
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
    g_autofree int *material = pla_array_new0((size_t)mesh->n_tets, sizeof *material);
    if (!held || !material)
      st = pla_fail_memory(err, "the body");
    for (int t = 0; st == PLA_OK && region && t < mesh->n_tets; t++)
      for (guint g = 0; g < tissues.ids->len; g++)
        if (((const int *)region->data)[t] == g_array_index(tissues.ids, int, g))
          material[t] = (int)g;
    *n_tets = mesh->n_tets;
    if (st == PLA_OK)
      st = pla_surgery_new(mesh, (const PlaFemMaterial *)(void *)tissues.materials->data,
                           (int)tissues.materials->len, material, held, out, err);
    if (st == PLA_OK)
      st = pla_surgery_set_tissues(*out, (const char *const *)tissues.names->pdata, err);
  }
  pla_boundary_clear(&outer);
  pla_mesh_result_clear(&result);
  tissues_clear(&tissues);
  return st;
}

/* ---- steps ---- */

static void
specimen_clear(void *data)
{
  PlaPlanSpecimen *specimen = data;
  g_free(specimen->name);
  pla_mesh_free(specimen->surface);
}

GArray *
pla_plan_specimens_new(void)
{
  GArray *list = g_array_new(FALSE, FALSE, sizeof(PlaPlanSpecimen));
  g_array_set_clear_func(list, specimen_clear);
  return list;
}

void
pla_plan_step_clear(PlaPlanStep *self)
{
  if (self->specimens)
    g_array_unref(self->specimens);
  if (self->found)
    json_object_unref(self->found);
  *self = (PlaPlanStep){ 0 };
}

PlaStatus
pla_plan_step_run(PlaSurgery *surgery, PlaJson operation, PlaProgress *progress, PlaPlanStep *out,
                  PlaError *err)
{
  const PlaPlanTool *tool = NULL;
  PlaJson what;
  *out = (PlaPlanStep){ 0 };
  PlaStatus st = pla_plan_find_tool(operation, &tool, &what, err);
  if (st != PLA_OK)
    return st;
  *out = (PlaPlanStep){ .tool = tool->name, .found = json_object_new() };
  PlaPlanRun run = { surgery, progress, out, out->found, NULL };
  st = tool->run(&run, what, err);
  /* refusals of tools do not know where in the plan they stand; those of values do */
  if (st != PLA_OK && st != PLA_ERR_CANCELLED && !strstr(err->message, operation.path))
    pla_fail_within(err, "%s, %s", operation.path, tool->name);
  return st;
}

PlaStatus
pla_plan_check(PlaJson operations, bool from_start, PlaError *err)
{
  g_autoptr(GHashTable) wounds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  PlaStatus st = JSON_NODE_HOLDS_ARRAY(operations.node)
                     ? PLA_OK
                     : pla_json_fail(operations, err, "must be a list of operations");
  for (int i = 0; st == PLA_OK && i < pla_json_length(operations); i++) {
    const PlaPlanTool *tool = NULL;
    PlaJson operation, what;
    PlaPlanStep step = { .found = json_object_new() };
    PlaPlanRun run = { .step = &step, .found = step.found, .wounds = from_start ? wounds : NULL };
    st = pla_json_at(operations, i, &operation, err);
    if (st == PLA_OK)
      st = pla_plan_find_tool(operation, &tool, &what, err);
    if (st == PLA_OK)
      st = tool->run(&run, what, err);
    if (st != PLA_OK && tool && !strstr(err->message, operation.path))
      pla_fail_within(err, "%s, %s", operation.path, tool->name);
    pla_plan_step_clear(&step);
  }
  return st;
}

PlaStatus
pla_plan_run_steps(PlaSurgery *surgery, PlaJson operations, PlaProgress *progress,
                   PlaPlanStepFunc done, void *data, PlaError *err)
{
  const int n = pla_json_length(operations);
  PlaStatus st = PLA_OK;
  for (int i = 0; st == PLA_OK && i < n; i++) {
    PlaPlanStep step = { 0 };
    PlaJson operation;
    const gint64 start = g_get_monotonic_time();
    pla_progress_phase(progress, "Operating", (double)(i + 1) / n);
    PlaProgressSpan span = pla_progress_push(progress);
    st = pla_json_at(operations, i, &operation, err);
    if (st == PLA_OK)
      st = pla_plan_step_run(surgery, operation, progress, &step, err);
    pla_progress_pop(progress, span);
    if (st == PLA_OK) {
      json_object_set_string_member(step.found, "name", step.tool);
      step.seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
      done(&step, operation, data);
    }
    pla_plan_step_clear(&step);
  }
  return st;
}

/* into the list of the plan */
static void
note_step(PlaPlanStep *step, PlaJson operation, void *data)
{
  PlaPlanResult *result = data;
  if (step->solved) {
    result->solved = true;
    result->solve = step->solve;
  }
  json_object_set_double_member(step->found, "seconds", step->seconds);
  json_array_add_object_element(result->operations, g_steal_pointer(&step->found));
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
    double *moved = pla_mesh_add_field(out->mesh, PLA_FIELD_DISPLACEMENT, PLA_ON_VERTS, PLA_F64, 3);
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
pla_plan_run(const PlaLabelMap *labels, double lattice_mm, const char *const *bones,
             PlaJson operations, PlaProgress *progress, PlaPlanResult *out, PlaError *err)
{
  PlaSurgery *surgery = NULL;
  *out = (PlaPlanResult){ .operations = json_array_new() };
  gint64 start = g_get_monotonic_time();
  pla_progress_phase(progress, "Meshing the soft tissue", 0.3);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st =
      pla_plan_make_body(labels, lattice_mm, bones, progress, &surgery, &out->n_tets, err);
  pla_progress_pop(progress, span);
  out->mesh_seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  pla_progress_phase(progress, "Operating", 0.9);
  span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_plan_run_steps(surgery, operations, progress, note_step, out, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    st = pla_surgery_read(surgery, &out->readings, err);
  if (st == PLA_OK) {
    out->stitches =
        g_array_sized_new(FALSE, TRUE, sizeof(PlaSurgeryStitch), (guint)out->readings.n_stitches);
    g_array_set_size(out->stitches, (guint)out->readings.n_stitches);
    pla_surgery_get_stitches(surgery, (PlaSurgeryStitch *)(void *)out->stitches->data);
  }
  if (st == PLA_OK)
    st = take_body(surgery, out, err);
  pla_surgery_free(surgery);
  return st;
}
