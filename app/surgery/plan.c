/* Surgical plans: from labels to a body, and one tool after the other. */
#include "app/surgery/plan-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/bodies/label-part.h"
#include "anatomy/bodies/tissue-lattice.h"
#include "app/base/quantity.h"
#include "app/simulate/mesh-method.h"
#include "sim/bodies/body-tissues.h"
#include "sim/bodies/cut-body.h"

#include <glib.h>
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

PlaStatus
pla_plan_part(const PlaLabelMap *labels, const double (*box_mm)[3], const char *tissue,
              PlaLabelMap **out, PlaError *err)
{
  PlaLabelMap *part = NULL;
  *out = NULL;
  PlaStatus st = box_mm ? pla_label_map_crop(labels, box_mm, &part, err) : PLA_OK;
  if (st != PLA_OK || !tissue) {
    *out = part;
    return st;
  }
  st = pla_tissues_merge(part ? part : labels, tissue, out, err);
  pla_label_map_free(part);
  return st;
}

PlaStatus
pla_plan_cells_find(const char *name, PlaPlanCells *out, PlaError *err)
{
  if (strcmp(name, "carved") != 0 && strcmp(name, "tets") != 0)
    return pla_fail(err, PLA_ERR_USAGE, "the cells of a body are 'carved' or 'tets', not '%s'",
                    name);
  *out = strcmp(name, "carved") == 0 ? PLA_PLAN_CARVED : PLA_PLAN_TETS;
  return PLA_OK;
}

const char *
pla_plan_cells_name(PlaPlanCells cells)
{
  return cells == PLA_PLAN_CARVED ? "carved" : "tets";
}

static PlaStatus
make_tets(const PlaLabelMap *map, const PlaBodyTissues *tissues, double lattice_mm,
          PlaProgress *progress, PlaSurgery **out, int *n_tets, PlaError *err)
{
  PlaMeshInput input = pla_mesh_input_default();
  PlaMeshResult result;
  const PlaMeshMethod *method = NULL;
  pla_mesh_result_init(&result);
  PlaStatus st = pla_mesh_method_find("tets", &method, err);
  if (st == PLA_OK) {
    input.labels = map;
    input.ids = tissues->id;
    input.first = tissues->first;
    input.n_groups = tissues->n;
    input.cell_mm = lattice_mm;
    input.levels = 0; /* blades go anywhere */
    st = pla_mesh_method_run(method, &input, progress, &result, err);
  }
  if (st == PLA_OK) {
    const PlaMesh *mesh = result.mesh;
    g_autofree bool *held = pla_array_new0((size_t)mesh->n_verts, sizeof *held);
    g_autofree int *material = pla_array_new0((size_t)mesh->n_tets, sizeof *material);
    st = held && material ? pla_body_find_supports(mesh, map, tissues->rigid, held, err)
                          : pla_fail_memory(err, "the body");
    *n_tets = mesh->n_tets;
    if (st == PLA_OK) {
      pla_body_tissues_of_tets(tissues, mesh, material);
      st = pla_surgery_new(mesh, tissues->material, tissues->n, material, held, out, err);
    }
  }
  pla_mesh_result_clear(&result);
  return st;
}

static PlaStatus
make_carved(const PlaLabelMap *map, const PlaBodyTissues *tissues, double lattice_mm,
            PlaProgress *progress, PlaSurgery **out, int *n_tets, PlaError *err)
{
  PlaTissueLattice made = { 0 };
  g_autofree guint8 *rigid = g_new(guint8, PLA_LABEL_IDS);
  for (int i = 0; i < PLA_LABEL_IDS; i++)
    rigid[i] = tissues->rigid[i];
  const PlaCellSizes sizes = { .cell_mm = lattice_mm };
  pla_progress_phase(progress, "Finding the surface", 0.4);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st =
      pla_tissue_lattice_init(&made, map, tissues->id, tissues->n, rigid, &sizes, progress, err);
  pla_progress_pop(progress, span);
  if (st != PLA_OK)
    return st;
  pla_progress_phase(progress, "Carving the body", 1.0);
  span = pla_progress_push(progress);
  st = pla_surgery_new_carved(&made, tissues->material, tissues->n, progress, out, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    *n_tets = pla_cut_mesh_get(pla_surgery_get_mesh(*out)).mesh.n_tets;
  pla_tissue_lattice_clear(&made);
  return st;
}

PlaStatus
pla_plan_make_body(const PlaLabelMap *map, PlaPlanCells cells, double lattice_mm,
                   const char *const *bones, PlaProgress *progress, PlaSurgery **out, int *n_tets,
                   PlaError *err)
{
  PlaBodyTissues tissues;
  *out = NULL;
  const PlaFormulation formulation =
      cells == PLA_PLAN_CARVED ? PLA_FORMULATION_AVERAGED : PLA_FORMULATION_STANDARD;
  PlaStatus st = pla_body_tissues_init(&tissues, map, bones, formulation, err);
  if (st == PLA_OK)
    st = (cells == PLA_PLAN_CARVED ? make_carved : make_tets)(map, &tissues, lattice_mm, progress,
                                                              out, n_tets, err);
  if (st == PLA_OK)
    st = pla_surgery_set_tissues(*out, (const char *const *)tissues.name, err);
  pla_body_tissues_clear(&tissues);
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
    const PlaCutSurface *surface;
    const double *place;
    st = moved ? pla_surgery_get_surface(surgery, &surface, &place, err)
               : pla_fail_memory(err, "the body");
    if (st == PLA_OK)
      st = pla_cut_surface_to_mesh(cut, surface, place, &out->surface, err);
  }
  pla_mesh_free(none);
  return st;
}

PlaStatus
pla_plan_run(const PlaLabelMap *labels, PlaPlanCells cells, double lattice_mm,
             const char *const *bones, PlaJson operations, PlaProgress *progress,
             PlaPlanResult *out, PlaError *err)
{
  PlaSurgery *surgery = NULL;
  *out = (PlaPlanResult){ .operations = json_array_new() };
  gint64 start = g_get_monotonic_time();
  pla_progress_phase(progress, "Meshing the soft tissue", 0.3);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st =
      pla_plan_make_body(labels, cells, lattice_mm, bones, progress, &surgery, &out->n_tets, err);
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
