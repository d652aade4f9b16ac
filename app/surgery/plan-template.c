/* Templates in plans: a drawing laid on the skin becomes plain operations, which are then done. */
#include "app/surgery/plan-private.h"
#include "sim/surgery/template.h"

#include <glib.h>
#include <math.h>

const char *const pla_plan_template_keys[] = { "kind",     "name",      "at_mm",      "direction",
                                               "size_mm",  "angle_deg", "length_mm",  "mirror",
                                               "depth_mm", "undermine", "spacing_mm", "tighten",
                                               NULL };

typedef struct {
  char *name; /* owned; before the names of its wounds */
  double at[3], direction[3];
  double depth, spacing, tighten;
  bool undermine;
  const PlaTemplate *kind;
  PlaTemplateParams params;
} Placed;

static PlaStatus
read_kind(PlaJson what, Placed *out, PlaError *err)
{
  PlaJson value;
  const PlaTemplate *const *all = pla_templates_get();
  const char *names[16] = { NULL };
  int choice = 0;
  for (int i = 0; all[i] && i < 15; i++)
    names[i] = all[i]->id;
  PlaStatus st = pla_plan_need(what, "kind", &value, err);
  if (st == PLA_OK)
    st = pla_json_choice(value, names, &choice, err);
  if (st == PLA_OK)
    out->kind = all[choice];
  return st;
}

static PlaStatus
read_placed(PlaJson what, Placed *out, PlaError *err)
{
  PlaJson value;
  double deg = 0.0;
  *out = (Placed){ .spacing = 0.004, .tighten = 1.0, .undermine = true };
  PlaStatus st = read_kind(what, out, err);
  if (st == PLA_OK)
    st = pla_plan_text(what, "name", &out->name, err);
  if (st == PLA_OK)
    st = pla_plan_point(what, "at_mm", out->at, err);
  if (st == PLA_OK)
    st = pla_plan_need(what, "direction", &value, err);
  if (st == PLA_OK)
    st = pla_json_vector(value, 3, out->direction, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "size_mm", false, 1, 200, &out->params.size, err);
  if (st == PLA_OK)
    st = pla_plan_number(what, "angle_deg", true, 1, 180, &deg, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "length_mm", true, 1, 500, &out->params.length, err);
  if (st == PLA_OK && pla_json_get(what, "mirror", &value))
    st = pla_json_bool_value(value, &out->params.mirror, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "depth_mm", false, 0.1, 100, &out->depth, err);
  if (st == PLA_OK && pla_json_get(what, "undermine", &value))
    st = pla_json_bool_value(value, &out->undermine, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "spacing_mm", true, 0.5, 50, &out->spacing, err);
  if (st == PLA_OK)
    st = pla_plan_number(what, "tighten", true, 0, 1, &out->tighten, err);
  out->params.angle = deg * G_PI / 180.0;
  return st;
}

/* ---- plain operations ---- */

/* the drawing's points on the skin, in mm to a thousandth, as they would stand in a plan */
static PlaStatus
points_on_skin(PlaSurgery *surgery, const Placed *placed, const PlaTemplateStep *step,
               JsonArray **out, PlaError *err)
{
  g_autofree double *pos = g_new(double, 3 * (gsize)step->n_points);
  PlaStatus st = pla_surgery_draw(surgery, placed->at, placed->direction, step->point,
                                  step->n_points, pos, err);
  if (st != PLA_OK)
    return st;
  *out = json_array_new();
  for (int i = 0; i < step->n_points; i++) {
    JsonArray *point = json_array_new();
    for (int d = 0; d < 3; d++)
      json_array_add_double_element(point, round(1e6 * pos[3 * i + d]) / 1e3);
    json_array_add_array_element(*out, point);
  }
  return PLA_OK;
}

static char *
wound_name(const Placed *placed, const PlaTemplateStep *step)
{
  return g_strdup_printf("%s %s", placed->name, step->name);
}

/* the wounds that a drawing makes, while a plan is only read */
static void
add_wounds(PlaPlanRun *run, const Placed *placed, const PlaTemplateDrawing *drawing)
{
  for (int s = 0; s < drawing->n_steps; s++)
    if (drawing->step[s].name) {
      g_autofree char *name = wound_name(placed, &drawing->step[s]);
      pla_plan_add_wound(run, name, PLA_OK);
    }
}

static JsonArray *
edges_of(const Placed *placed, const PlaTemplateDrawing *drawing, const PlaTemplateStep *step,
         int which)
{
  static const char *const sides[] = { "left", "right" };
  JsonArray *list = json_array_new();
  for (int i = 0; i < step->n_parts[which]; i++) {
    const PlaTemplateEdge *edge = &step->edge[which][i];
    g_autofree char *name = wound_name(placed, &drawing->step[edge->step]);
    JsonObject *o = json_object_new();
    JsonArray *points = json_array_new();
    json_object_set_string_member(o, "wound", name);
    if (edge->side >= 0)
      json_object_set_string_member(o, "side", sides[edge->side]);
    json_array_add_double_element(points, edge->from);
    json_array_add_double_element(points, edge->to);
    json_object_set_array_member(o, "points", points);
    json_array_add_object_element(list, o);
  }
  return list;
}

/* one step of the drawing as an operation: {"incise": {...}} */
static PlaStatus
make_operation(PlaSurgery *surgery, const Placed *placed, const PlaTemplateDrawing *drawing,
               const PlaTemplateStep *step, JsonObject **out, PlaError *err)
{
  static const char *const tools[] = { "incise", "excise", "undermine", "suture" };
  JsonObject *what = json_object_new();
  PlaStatus st = PLA_OK;
  if (step->n_points > 0) {
    JsonArray *points = NULL;
    st = points_on_skin(surgery, placed, step, &points, err);
    if (st != PLA_OK) {
      json_object_unref(what);
      return st;
    }
    json_object_set_array_member(what, step->name ? "path_mm" : "area_mm", points);
    pla_json_set_si(what, "depth_mm", placed->depth);
  }
  if (step->name) {
    g_autofree char *name = wound_name(placed, step);
    json_object_set_string_member(what, "name", name);
  }
  if (step->tool == PLA_TEMPLATE_SEW) {
    JsonArray *edges = json_array_new();
    for (int k = 0; k < 2; k++)
      json_array_add_array_element(edges, edges_of(placed, drawing, step, k));
    json_object_set_array_member(what, "edges", edges);
    pla_json_set_si(what, "spacing_mm", placed->spacing);
    json_object_set_double_member(what, "tighten", placed->tighten);
  }
  *out = json_object_new();
  json_object_set_object_member(*out, tools[step->tool], what);
  return PLA_OK;
}

/* All points are found before the first blade comes near the skin. */
PlaStatus
pla_plan_expand(PlaSurgery *surgery, PlaJson template, JsonArray **out, PlaPlanFlap *flap,
                PlaError *err)
{
  Placed placed = { 0 };
  PlaTemplateDrawing drawing = { 0 };
  *out = NULL;
  PlaStatus st = read_placed(template, &placed, err);
  if (st == PLA_OK)
    st = pla_template_draw(placed.kind, &placed.params, &drawing, err);
  g_autoptr(JsonArray) list = json_array_new();
  for (int s = 0; st == PLA_OK && s < drawing.n_steps; s++) {
    JsonObject *operation = NULL;
    if (drawing.step[s].tool == PLA_TEMPLATE_UNDERMINE && !placed.undermine)
      continue;
    st = make_operation(surgery, &placed, &drawing, &drawing.step[s], &operation, err);
    if (st == PLA_OK)
      json_array_add_object_element(list, operation);
  }
  if (st == PLA_OK)
    *out = g_steal_pointer(&list);
  if (flap)
    *flap = (PlaPlanFlap){ drawing.width, drawing.length };
  pla_template_drawing_clear(&drawing);
  g_free(placed.name);
  return st;
}

/* reads the template and draws it, on no skin */
static PlaStatus
check_template(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  Placed placed = { 0 };
  PlaTemplateDrawing drawing = { 0 };
  PlaStatus st = read_placed(what, &placed, err);
  if (st == PLA_OK)
    st = pla_template_draw(placed.kind, &placed.params, &drawing, err);
  if (st == PLA_OK)
    add_wounds(run, &placed, &drawing);
  pla_template_drawing_clear(&drawing);
  g_free(placed.name);
  return st;
}

PlaStatus
pla_plan_run_template(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  if (!run->surgery)
    return check_template(run, what, err);
  JsonArray *list = NULL;
  PlaPlanFlap flap = { 0 };
  PlaSurgery *before = NULL;
  PlaStatus st = pla_plan_expand(run->surgery, what, &list, &flap, err);
  if (st == PLA_OK)
    st = pla_surgery_dup(run->surgery, &before, err);
  JsonArray *done = json_array_new();
  const guint n = list ? json_array_get_length(list) : 0;
  for (guint i = 0; st == PLA_OK && i < n; i++) {
    PlaPlanStep step;
    PlaJson at = { .node = json_array_get_element(list, i) };
    g_snprintf(at.path, sizeof at.path, "%.120s, part %u", what.path, i + 1);
    pla_progress_phase(run->progress, "Operating", (i + 1.0) / n);
    PlaProgressSpan span = pla_progress_push(run->progress);
    st = pla_plan_step_run(run->surgery, at, run->progress, &step, err);
    pla_progress_pop(run->progress, span);
    if (st == PLA_OK) {
      json_object_set_string_member(step.found, "name", step.tool);
      json_array_add_object_element(done, g_steal_pointer(&step.found));
      if (step.specimens)
        run->step->specimens = g_steal_pointer(&step.specimens); /* templates excise once */
    }
    pla_plan_step_clear(&step);
  }
  json_object_set_array_member(run->found, "parts", done);
  if (st == PLA_OK) {
    json_object_set_array_member(run->found, "operations", json_array_ref(list));
    if (flap.length > 0.0) {
      pla_json_set_si(run->found, "flap_width_mm", flap.width);
      pla_json_set_si(run->found, "flap_length_mm", flap.length);
      json_object_set_double_member(run->found, "flap_width_to_length", flap.width / flap.length);
    }
  }
  if (before)
    pla_surgery_settle(run->surgery, &before, st);
  if (list)
    json_array_unref(list);
  return st;
}

int
pla_plan_templates_count(void)
{
  int n = 0;
  while (pla_templates_get()[n])
    n++;
  return n;
}

PlaTemplateChoice
pla_plan_template_get(int i)
{
  const PlaTemplate *kind = pla_templates_get()[i];
  const double degrees = 180.0 / G_PI;
  return (PlaTemplateChoice){ .id = kind->id,
                              .title = kind->title,
                              .size = kind->size,
                              .angle_deg = kind->angle * degrees,
                              .min_angle_deg = kind->min_angle * degrees,
                              .max_angle_deg = kind->max_angle * degrees };
}
