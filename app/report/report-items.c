/* What a report says and shows of each item of a case. */
#include "app/base/quantity.h"
#include "app/content/annotation.h"
#include "app/content/made.h"
#include "app/report/report-private.h"
#include "app/show/picture.h"
#include "app/show/plot.h"
#include "app/speech/spoken-picture.h"
#include "app/surgery/plan-compare.h"
#include "app/surgery/surgery-body.h"

#include <math.h>
#include <string.h>

/* the content of a volume on the same grid as @labels, or NULL; caller unrefs */
static PlaContent *
find_image(PlaReportMaker *m, const PlaLabelMap *labels)
{
  const PlaState *state = pla_session_get_state(m->session);
  for (int i = 0; i < state->n; i++) {
    PlaContent *content = NULL;
    if (strcmp(state->item[i].kind, PLA_ITEM_VOLUME) != 0 ||
        pla_session_load(m->session, state->item[i].item, m->progress, &content, NULL) != PLA_OK)
      continue;
    if (memcmp(content->volume->dims, labels->volume->dims, 3 * sizeof(int)) == 0 &&
        memcmp(content->volume->affine_mm, labels->volume->affine_mm, 12 * sizeof(double)) == 0)
      return content;
    pla_content_unref(content);
  }
  return NULL;
}

/* ----------------------------------------------------------------- pictures */

/* labels with voxels, largest first; *n of them; g_free() */
static int *
by_size(const PlaLabelMap *map, size_t *counts, int *n)
{
  int *order = g_new(int, map->table.n + 1);
  *n = 0;
  pla_label_map_count(map, counts);
  for (int i = 0; i < map->table.n; i++)
    if (counts[map->table.label[i].id] > 0) {
      int at = (*n)++;
      for (; at > 0 && counts[map->table.label[i].id] > counts[map->table.label[order[at - 1]].id];
           at--)
        order[at] = order[at - 1];
      order[at] = i;
    }
  return order;
}

/* landmarks and measurements of the case into a scene */
static PlaStatus
stage_annotations(PlaReportMaker *m, PlaStage *stage, PlaError *err)
{
  static const double rgb[3] = { 1.0, 0.78, 0.25 };
  const PlaState *state = pla_session_get_state(m->session);
  PlaStatus st = PLA_OK;
  for (int i = 0; st == PLA_OK && i < state->n; i++) {
    g_autoptr(PlaContent) content = NULL;
    if (!pla_annotation_is_kind(state->item[i].kind))
      continue;
    st = pla_report_load(m, &state->item[i], &content, err);
    PlaAnnotation note;
    if (st == PLA_OK && pla_annotation_read(content, &note)) {
      if (note.n_points > 0)
        st = pla_stage_add_path(stage, note.point_mm, note.n_points, rgb, err);
      pla_annotation_clear(&note);
    }
  }
  return st;
}

typedef struct {
  PlaStage *stage;
  int n;
  int shape[6]; /* the largest tissues */
  double opacity[6];
  char *name[6]; /* owned */
} Tissues;

static void
tissues_clear(Tissues *self)
{
  pla_stage_free(self->stage);
  for (int i = 0; i < self->n; i++)
    g_free(self->name[i]);
}

/* the largest tissues in a scene; making their surfaces is what takes the time */
static PlaStatus
stage_tissues(PlaReportMaker *m, const PlaLabelMap *map, Tissues *out, PlaError *err)
{
  g_autofree size_t *counts = g_new(size_t, 65536);
  int n;
  g_autofree int *order = by_size(map, counts, &n);
  g_autofree int *every = g_new(int, n + 1);
  bool bone = false;
  for (int i = 0; i < n; i++) {
    every[i] = map->table.label[order[i]].id;
    bone = bone || pla_surface_look_for(&map->table.label[order[i]]).finish == PLA_FINISH_BONE;
  }
  const int most = MIN(n, (int)G_N_ELEMENTS(out->shape));
  PlaStatus st = pla_stage_new(&out->stage, err);
  for (int i = 0; st == PLA_OK && i < most; i++) {
    const PlaLabel *label = &map->table.label[order[i]];
    PlaSurfaceLook look = pla_surface_look_for(label);
    out->opacity[i] = 1.0;
    /* skin is the outside of everything: where bone comes to the surface it must not gape */
    if (look.finish == PLA_FINISH_SKIN) {
      look.ids = every;
      look.n_ids = n;
      out->opacity[i] = bone ? 0.35 : 1.0;
    }
    if (!pla_progress_phase(m->progress, "Making surfaces", 0.75 * (i + 1) / most))
      st = pla_fail_cancelled(err);
    PlaProgressSpan span = pla_progress_push(m->progress);
    if (st == PLA_OK)
      st = pla_stage_add_labels(out->stage, map, &look, m->progress, &out->shape[i], err);
    pla_progress_pop(m->progress, span);
    if (st == PLA_OK)
      out->name[out->n++] = g_strdup(label->name);
  }
  return st;
}

static PlaStatus
draw_tissues(PlaReportMaker *m, Tissues *tissues, PlaPictureOptions *opts, double to,
             PlaBlock *block, char *caption, PlaError *err)
{
  cairo_surface_t *image = NULL;
  PlaStatus st = PLA_OK;
  if (!pla_progress_phase(m->progress, "Drawing", to))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = pla_stage_draw(tissues->stage, opts, &image, err);
  if (st == PLA_OK)
    pla_report_add_picture(block, image, caption);
  else
    g_free(caption);
  return st;
}

/* from each chosen side the tissues together, bone seen through the skin; then each on its own */
static PlaStatus
put_tissue_pictures(PlaReportMaker *m, const PlaLabelMap *map, const char *name, PlaError *err)
{
  const bool together = (m->opts->sections & PLA_REPORT_VIEWS) && m->opts->views != 0;
  const bool alone = m->opts->sections & PLA_REPORT_TISSUES;
  PlaPictureOptions opts = pla_picture_options_default();
  Tissues tissues = { 0 };
  if ((!together && !alone) || !m->opts->scenes)
    return PLA_OK;
  PlaStatus st = stage_tissues(m, map, &tissues, err);
  const int n_views = __builtin_popcount(m->opts->views);
  PlaBlock *views =
      st == PLA_OK && together ? pla_report_add_pictures(m, n_views % 3 == 0 ? 3 : 2) : NULL;
  PlaBlock *singles = st == PLA_OK && alone ? pla_report_add_pictures(m, 3) : NULL;

  for (int i = 0; st == PLA_OK && singles && i < tissues.n; i++) {
    static const PlaViewPreset sides[] = { PLA_VIEW_ANTERIOR, PLA_VIEW_THREE_QUARTER,
                                           PLA_VIEW_LEFT };
    for (int k = 0; k < tissues.n; k++)
      pla_stage_set_opacity(tissues.stage, tissues.shape[k], k == i ? 1.0 : 0.0);
    opts.view = sides[MIN(i, 2)];
    opts.width = 900;
    opts.height = 810;
    opts.font_px = 32.0;
    st = draw_tissues(m, &tissues, &opts, 0.75 + 0.12 * (i + 1) / tissues.n, singles,
                      g_strdup(tissues.name[i]), err);
  }
  for (int i = 0; i < tissues.n; i++)
    pla_stage_set_opacity(tissues.stage, tissues.shape[i], tissues.opacity[i]);
  if (st == PLA_OK && views)
    st = stage_annotations(m, tissues.stage, err);
  for (int v = 0; st == PLA_OK && views && v < PLA_N_VIEWS; v++)
    if (m->opts->views & 1u << v) {
      opts = pla_picture_options_default();
      opts.view = (PlaViewPreset)v;
      opts.font_px = 36.0;
      st = draw_tissues(m, &tissues, &opts, 0.87 + 0.13 * (v + 1) / PLA_N_VIEWS, views,
                        g_strdup_printf("%s, %s view", name, pla_view_preset_name(opts.view)), err);
    }
  tissues_clear(&tissues);
  return st;
}

static PlaStatus
put_slices(PlaReportMaker *m, const PlaVolume *vol, const PlaLabelMap *labels, const char *name,
           PlaError *err)
{
  static const struct {
    PlaAxis axis;
    const char *title;
  } planes[] = { { PLA_AXIS_AXIAL, "Axial" },
                 { PLA_AXIS_CORONAL, "Coronal" },
                 { PLA_AXIS_SAGITTAL, "Sagittal" } };
  PlaStatus st = PLA_OK;
  PlaBlock *block = pla_report_add_pictures(m, 3);
  for (size_t k = 0; st == PLA_OK && k < G_N_ELEMENTS(planes); k++) {
    PlaSliceOptions opts = pla_slice_options_default(vol);
    cairo_surface_t *image = NULL;
    opts.axis = planes[k].axis;
    opts.width = opts.height = 720;
    opts.font_px = 30.0; /* three stand side by side on paper */
    if (m->opts->slice_mm)
      opts.centre_mm[opts.axis] = m->opts->slice_mm[opts.axis];
    st = pla_draw_slice(vol, labels, &opts, &image, err);
    if (st == PLA_OK)
      pla_report_add_picture(block, image,
                             g_strdup_printf("%s slice of %s, %s convention", planes[k].title, name,
                                             opts.radiological ? "radiological" : "neurological"));
  }
  return st;
}

/* ------------------------------------------------------------------- tables */

static void
put_tissue_table(PlaReportMaker *m, const PlaLabelMap *map)
{
  static const PlaColumn columns[] = { { "Tissue", 4, false, false },
                                       { "Id", 1, true, false },
                                       { "Voxels", 2, true, false },
                                       { "Volume", 2, true, false, PLA_UNIT_ML } };
  g_autofree size_t *counts = g_new(size_t, 65536);
  const double voxel = pla_volume_voxel_mm3(map->volume);
  pla_label_map_count(map, counts);
  PlaBlock *table = pla_report_add_table(m, columns, G_N_ELEMENTS(columns));
  for (int i = 0; i < map->table.n; i++) {
    const PlaLabel *label = &map->table.label[i];
    if (counts[label->id] == 0)
      continue;
    pla_report_add_cell(table, "%s", label->name);
    pla_report_set_swatch(table, label->rgba);
    pla_report_add_cell(table, "%d", label->id);
    pla_report_add_cell(table, "%zu", counts[label->id]);
    g_autofree char *volume = pla_quantity_number(PLA_QUANTITY_TISSUE_VOLUME,
                                                  (double)counts[label->id] * voxel, PLA_UNIT_MM3);
    pla_report_add_cell(table, "%s", volume);
  }
}

static void
put_frame(PlaReportMaker *m, const PlaVolume *vol)
{
  double spacing[3], range[2];
  char letters[4];
  pla_volume_spacing_mm(vol, spacing);
  pla_volume_orientation(vol, letters);
  pla_volume_range(vol, &range[0], &range[1]);
  g_autofree char *size = pla_quantity_size_text(PLA_QUANTITY_SPACING, spacing, PLA_UNIT_MM);
  pla_report_add_text(m, PLA_BLOCK_TEXT,
                      "%d × %d × %d voxels of %s, %s, values %g to %g, index axes %s.",
                      vol->dims[0], vol->dims[1], vol->dims[2], size, pla_dtype_name(vol->dtype),
                      range[0], range[1], letters);
}

static const PlaColumn fact_columns[] = { { "Quantity", 3, false, false },
                                          { "Value", 3, true, false } };

/* a row with the quantity's unit behind its title; @value in @in */
static void
add_fact(PlaBlock *table, const char *title, PlaQuantityId id, double value, PlaUnit in)
{
  g_autofree char *heading = pla_quantity_heading(title, pla_quantity_get(id)->unit);
  g_autofree char *number = pla_quantity_number(id, value, in);
  pla_report_add_cell(table, "%s", heading);
  pla_report_add_cell(table, "%s", number);
}

static void
put_mesh_table(PlaReportMaker *m, const PlaMesh *mesh, const PlaMeshSummary *sum)
{
  PlaBlock *table = pla_report_add_table(m, fact_columns, 2);
  const int n_solid = mesh->n_tets + mesh->n_hexes;
  pla_report_add_cell(table, "Vertices");
  pla_report_add_cell(table, "%d", mesh->n_verts);
  const struct {
    const char *title;
    int n;
  } cells[] = { { "Triangles", mesh->n_tris },
                { "Tetrahedra", mesh->n_tets },
                { "Hexahedra", mesh->n_hexes } };
  for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
    if (cells[i].n > 0) {
      pla_report_add_cell(table, "%s", cells[i].title);
      pla_report_add_cell(table, "%d", cells[i].n);
    }
  pla_report_add_cell(table, "Connected pieces");
  pla_report_add_cell(table, "%d", sum->components);
  if (n_solid > 0 || sum->closed)
    add_fact(table, "Volume", PLA_QUANTITY_VOLUME, sum->volume_m3, PLA_UNIT_M3);
  if (n_solid == 0) {
    pla_report_add_cell(table, "Closed surface");
    pla_report_add_cell(table, "%s", sum->closed ? "yes" : "no");
    add_fact(table, "Area", PLA_QUANTITY_AREA, sum->area_m2, PLA_UNIT_M2);
  } else {
    pla_report_add_cell(table, "Inverted elements");
    pla_report_add_cell(table, "%d", sum->inverted);
  }
  if (mesh->n_tets > 0) {
    pla_report_add_cell(table, "Dihedral angles, degrees");
    g_autofree char *least =
        pla_quantity_number(PLA_QUANTITY_ELEMENT_ANGLE, sum->min_dihedral_deg, PLA_UNIT_DEG);
    g_autofree char *most =
        pla_quantity_number(PLA_QUANTITY_ELEMENT_ANGLE, sum->max_dihedral_deg, PLA_UNIT_DEG);
    pla_report_add_cell(table, "%s to %s", least, most);
  }
}

static void
add_json_cell(PlaBlock *table, JsonNode *value)
{
  GType type = json_node_get_value_type(value);
  if (type == G_TYPE_BOOLEAN)
    pla_report_add_cell(table, "%s", json_node_get_boolean(value) ? "yes" : "no");
  else if (type == G_TYPE_STRING)
    pla_report_add_cell(table, "%s", json_node_get_string(value));
  else if (type == G_TYPE_INT64)
    pla_report_add_cell(table, "%" G_GINT64_FORMAT, json_node_get_int(value));
  else
    pla_report_add_cell(table, "%.4g", json_node_get_double(value));
}

/* what a solver or a maker of surfaces said of its own work */
static void
put_quality(PlaReportMaker *m, JsonObject *found)
{
  static const struct {
    const char *key, *title;
  } known[] = {
    { "converged", "Converged" },
    { "stopped", "Stopped because" },
    { "reason", "Stopped because" },
    { "solver", "Solver" },
    { "iterations", "Iterations" },
    { "residual_rel", "Residual, relative" },
    { "residual_n", "Residual" },
    { "energy_j", "Energy" },
    { "inverted", "Inverted elements in the result" },
    { "min_jacobian", "Smallest Jacobian" },
    { "worst_element", "Worst element" },
    { "max_displacement_mm", "Largest displacement" },
    { "displacement_error_mm", "Error of displacement by the size of the cells" },
    { "von_mises_error_pa", "Error of stress by the size of the cells" },
    { "max_penetration_mm", "Largest penetration" },
    { "self_intersections", "Self-intersections" },
    { "volume_mm3", "Enclosed volume" },
    { "label_volume_mm3", "Volume of its voxels" },
    { "decimation_mm", "Largest shift by decimation" },
    { "rms_mm", "Error of the fit, root mean square" },
    { "max_mm", "Error of the fit, largest" },
  };
  PlaBlock *table = NULL;
  for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
    JsonNode *value = json_object_get_member(found, known[i].key);
    if (!value || !JSON_NODE_HOLDS_VALUE(value))
      continue;
    if (!table)
      table = pla_report_add_table(m, fact_columns, 2);
    g_autofree char *title = pla_quantity_heading(known[i].title, pla_unit_of_key(known[i].key));
    pla_report_add_cell(table, "%s", title);
    add_json_cell(table, value);
  }
}

static void
put_all_quality(PlaReportMaker *m, JsonObject *meta)
{
  g_autoptr(GList) keys = json_object_get_members(meta);
  keys = g_list_sort(keys, (GCompareFunc)strcmp);
  put_quality(m, meta);
  for (GList *l = keys; l; l = l->next) {
    JsonNode *node = json_object_get_member(meta, l->data);
    if (JSON_NODE_HOLDS_OBJECT(node) && strcmp(l->data, "source") != 0)
      put_quality(m, json_node_get_object(node));
  }
}

/* -------------------------------------------------------------------- items */

/* "arm: Displacement (mm)"; g_free() */
static char *
map_caption(const char *name, const PlaFieldView *view)
{
  const PlaQuantity *quantity = pla_quantity_get(view->quantity);
  g_autofree char *title = pla_quantity_row_title(quantity->label, quantity->unit);
  return g_strdup_printf("%s: %s", name, title);
}

static PlaStatus
put_mesh_pictures(PlaReportMaker *m, const PlaContent *content, const char *name, PlaError *err)
{
  static const char *const shown[] = { "displacement", "von-mises" };
  const PlaMesh *mesh = content->mesh;
  PlaStage *stage = NULL;
  PlaSurfaceLook look = { .rgb = { 0.75, 0.78, 0.82 }, .opacity = 1.0 };
  PlaPictureOptions opts = pla_picture_options_default();
  cairo_surface_t *image = NULL;
  int shape = 0;
  PlaStatus st = pla_stage_new(&stage, err);
  if (st == PLA_OK)
    st = pla_stage_add_mesh(stage, mesh, &look, &shape, err);
  PlaBlock *block = st == PLA_OK ? pla_report_add_pictures(m, 2) : NULL;
  opts.font_px = 30.0;
  if (st == PLA_OK)
    st = pla_stage_draw(stage, &opts, &image, err);
  if (st == PLA_OK)
    pla_report_add_picture(block, image, g_strdup(name));
  for (size_t i = 0; st == PLA_OK && i < G_N_ELEMENTS(shown); i++) {
    const PlaFieldView *view = pla_field_view_find(shown[i]);
    if (!pla_field_view_suits(view, mesh))
      continue;
    for (int c = 0; c < 3; c++)
      opts.background[c] = 0.96;
    st = pla_stage_show_field(stage, shape, mesh, view, err);
    if (st == PLA_OK)
      st = pla_stage_draw(stage, &opts, &image, err);
    if (st == PLA_OK)
      pla_report_add_picture(block, image, map_caption(name, view));
  }
  if (block && block->picture->len == 3)
    block->across = 3;
  pla_stage_free(stage);
  return st;
}

/* takes @plot, which may be NULL */
static void
add_plot(PlaBlock *block, PlaPlot *plot)
{
  if (!plot)
    return;
  const double width = 640.0, height = 420.0, scale = 2.0; /* user units; pixels in one */
  cairo_surface_t *image =
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(scale * width), (int)(scale * height));
  cairo_t *cr = cairo_create(image);
  const PlaPlotRange range = pla_plot_fit(plot);
  cairo_set_source_rgb(cr, 1.0, 1.0, 1.0);
  cairo_paint(cr);
  cairo_scale(cr, scale, scale);
  pla_plot_draw(plot, &range, cr, width, height, false);
  cairo_destroy(cr);
  pla_report_add_picture(block, image, g_strdup(plot->title));
  pla_plot_free(plot);
}

/* angles of the elements, and the course of the solver */
static PlaStatus
put_plots(PlaReportMaker *m, const PlaContent *content, PlaError *err)
{
  PlaPlot *quality = NULL, *residuals = pla_plot_new_residuals(content);
  PlaStatus st =
      content->mesh->n_tets > 0 ? pla_plot_new_quality(content->mesh, &quality, err) : PLA_OK;
  if (quality || residuals) {
    PlaBlock *block = pla_report_add_pictures(m, 2);
    add_plot(block, quality);
    add_plot(block, residuals);
  }
  return st;
}

/* numbers and words of @object, "depth_mm 6, name flap"; points are counted, what is nested is left
 * out */
static void
tell_members(GString *out, JsonObject *object)
{
  g_autoptr(GList) names = json_object_get_members(object);
  for (GList *l = names; l; l = l->next) {
    JsonNode *node = json_object_get_member(object, l->data);
    g_autofree char *text = NULL;
    if (JSON_NODE_HOLDS_ARRAY(node)) {
      const guint n = json_array_get_length(json_node_get_array(node));
      text = strcmp(l->data, "path_mm") == 0 ? g_strdup_printf("%u points", n) : NULL;
    } else if (JSON_NODE_HOLDS_VALUE(node)) {
      const GType type = json_node_get_value_type(node);
      text = type == G_TYPE_DOUBLE  ? g_strdup_printf("%.3g", json_node_get_double(node))
             : type == G_TYPE_INT64 ? g_strdup_printf("%" G_GINT64_FORMAT, json_node_get_int(node))
             : type == G_TYPE_BOOLEAN ? g_strdup(json_node_get_boolean(node) ? "yes" : "no")
                                      : g_strdup(json_node_get_string(node));
    }
    if (text)
      g_string_append_printf(out, "%s%s %s", out->len > 0 ? ", " : "", (char *)l->data, text);
  }
}

/* {"incise": {...}}: the tool, then its settings */
static char *
tell_step(JsonObject *step)
{
  GString *out = g_string_new(NULL);
  g_autoptr(GList) names = json_object_get_members(step);
  for (GList *l = names; l; l = l->next) {
    JsonNode *node = json_object_get_member(step, l->data);
    g_autoptr(GString) settings = g_string_new(NULL);
    if (JSON_NODE_HOLDS_OBJECT(node))
      tell_members(settings, json_node_get_object(node));
    g_string_append_printf(out, "%s%s%s%s", out->len > 0 ? "; " : "", (char *)l->data,
                           settings->len > 0 ? ": " : "", settings->str);
  }
  return g_string_free(out, FALSE);
}

static char *
tell_found(JsonObject *found)
{
  GString *out = g_string_new(NULL);
  tell_members(out, found);
  return g_string_free(out, FALSE);
}

/* a body that was operated on: before and after, maps of stretch and tension, what was done, the
 * numbers */
static PlaStatus
put_surgery(PlaReportMaker *m, const PlaContent *content, const char *name, PlaError *err)
{
  static const PlaColumn numbers[] = { { "Of the operated body", 2, false, false },
                                       { "", 1, true, false } };
  static const PlaColumn done[] = { { "Step", 0.5, true, false },
                                    { "What was done", 4, false, false },
                                    { "What was found", 4, false, false } };
  PlaPlanSide *side = pla_plan_side_new(name, (PlaContent *)content);
  PlaPictureOptions opts = pla_picture_options_default();
  PlaStatus st = PLA_OK;
  PlaCamera wound;
  const PlaCamera *camera = pla_body_wound_camera(content, &wound) ? &wound : NULL;
  opts.font_px = 30.0;
  for (int c = 0; c < 3; c++)
    opts.background[c] = 0.96;
  if (m->opts->scenes) {
    g_autoptr(GPtrArray) sides = NULL;
    PlaBlock *block = pla_report_add_pictures(m, 2);
    cairo_surface_t *image = NULL;
    st = pla_plan_sides(pla_session_get_store(m->session), m->progress, &sides, err);
    const PlaPlanSide *before = sides && sides->len > 0 ? sides->pdata[0] : NULL;
    if (st == PLA_OK && before && strcmp(before->name, "before") == 0) {
      st = pla_body_draw(before->body, "tissue", camera, &opts, &image, err);
      if (st == PLA_OK)
        pla_report_add_picture(block, image, g_strdup_printf("%s before", name));
    }
    static const char *const maps[] = { "tissue", "skin-stretch", "skin-tension" };
    for (size_t k = 0; st == PLA_OK && k < G_N_ELEMENTS(maps); k++) {
      st = pla_body_draw(content, maps[k], camera, &opts, &image, err);
      if (st == PLA_OK)
        pla_report_add_picture(block, image,
                               k == 0 ? g_strdup_printf("%s after", name)
                                      : map_caption(name, pla_field_view_find(maps[k])));
    }
  }
  int n_lines;
  const PlaPlanLine *lines = pla_plan_lines_get(&n_lines);
  PlaBlock *table = pla_report_add_table(m, numbers, G_N_ELEMENTS(numbers));
  for (int l = 0; l < n_lines; l++) {
    g_autofree char *text = lines[l].text(side);
    pla_report_add_cell(table, "%s", lines[l].title);
    pla_report_add_cell(table, "%s", text);
  }
  if (side->n_steps > 0 && !side->settled)
    pla_report_add_text(
        m, PLA_BLOCK_WARNING,
        "The tissue has not settled since the last step: forces and gaps mean nothing yet.");
  JsonObject *surgery = pla_body_get_surgery(content);
  JsonArray *steps = surgery ? json_object_get_array_member(surgery, "steps") : NULL;
  JsonArray *found = surgery ? json_object_get_array_member(surgery, "found") : NULL;
  if (steps && json_array_get_length(steps) > 0) {
    table = pla_report_add_table(m, done, G_N_ELEMENTS(done));
    for (guint i = 0; i < json_array_get_length(steps); i++) {
      g_autofree char *what = tell_step(json_array_get_object_element(steps, i));
      g_autofree char *gave = found && i < json_array_get_length(found)
                                  ? tell_found(json_array_get_object_element(found, i))
                                  : g_strdup("");
      pla_report_add_cell(table, "%u", i + 1);
      pla_report_add_cell(table, "%s", what);
      pla_report_add_cell(table, "%s", gave);
    }
  }
  pla_plan_side_free(side);
  return st;
}

/* what pathology is told of a piece that was taken out */
static void
put_specimen(PlaReportMaker *m, const PlaContent *content)
{
  JsonNode *node = json_object_get_member(content->meta, PLA_META_SPECIMEN);
  JsonObject *o = node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
  JsonNode *list = o ? json_object_get_member(o, "specimen_size_mm") : NULL;
  JsonArray *size = list && JSON_NODE_HOLDS_ARRAY(list) ? json_node_get_array(list) : NULL;
  if (!size || json_array_get_length(size) != 3)
    return;
  const double size_mm[3] = { json_array_get_double_element(size, 0),
                              json_array_get_double_element(size, 1),
                              json_array_get_double_element(size, 2) };
  g_autofree char *volume =
      pla_quantity_text(PLA_QUANTITY_TISSUE_VOLUME,
                        json_object_get_double_member_with_default(o, "specimen_mm3", 0.0),
                        PLA_UNIT_MM3);
  g_autofree char *mass =
      pla_quantity_text(PLA_QUANTITY_MASS,
                        json_object_get_double_member_with_default(o, "specimen_g", 0.0),
                        PLA_UNIT_G);
  g_autofree char *extent = pla_quantity_size_text(PLA_QUANTITY_TOOL, size_mm, PLA_UNIT_MM);
  pla_report_add_text(m, PLA_BLOCK_TEXT, "Taken out: %s, %s, %s as it lay.", volume, mass, extent);
}

static PlaStatus
put_mesh(PlaReportMaker *m, const PlaContent *content, const char *name, PlaError *err)
{
  PlaMeshSummary sum;
  PlaStatus st = pla_mesh_summary(content->mesh, &sum, err);
  if (st == PLA_OK && m->opts->scenes)
    st = put_mesh_pictures(m, content, name, err);
  if (st == PLA_OK) {
    put_specimen(m, content);
    put_mesh_table(m, content->mesh, &sum);
    put_all_quality(m, content->meta);
    st = put_plots(m, content, err);
  }
  return st;
}

static void
put_recording(PlaReportMaker *m, const PlaContent *content)
{
  const double rate_hz = content->take    ? content->take->rate_hz
                         : content->track ? content->track->rate_hz
                                          : content->audio->rate_hz;
  const double n = content->take    ? content->take->n_frames
                   : content->track ? content->track->n_samples
                                    : (double)content->audio->n_frames;
  g_autofree char *rate = pla_quantity_text(PLA_QUANTITY_FREQUENCY, rate_hz, PLA_UNIT_HZ);
  g_autofree char *time = pla_quantity_text(PLA_QUANTITY_TIME, n / rate_hz, PLA_UNIT_S);
  if (content->take) {
    const PlaTake *take = content->take;
    const double all = (double)take->n_frames * take->n_markers;
    pla_report_add_text(m, PLA_BLOCK_TEXT,
                        "%d markers, %d frames at %s (%s); %.2f %% of positions are missing.",
                        take->n_markers, take->n_frames, rate, time,
                        all > 0.0 ? 100.0 * (double)pla_take_n_missing(take) / all : 0.0);
  } else if (content->track) {
    pla_report_add_text(m, PLA_BLOCK_TEXT, "%d channels, %d samples at %s (%s).",
                        content->track->n_channels, content->track->n_samples, rate, time);
  } else {
    pla_report_add_text(m, PLA_BLOCK_TEXT, "%d channels at %s, %s.", content->audio->n_channels,
                        rate, time);
  }
}

/* a tongue that spoke: four moments, the paths of its coils, how far to trust it */
static PlaStatus
put_speech(PlaReportMaker *m, PlaContent *content, const char *name, PlaError *err)
{
  enum { MOMENTS = 4, WIDTH = 900, HEIGHT = 500 };
  const PlaSpokenLook look = { .rest = true };
  PlaSpoken *spoken = NULL;
  PlaStatus st = pla_spoken_new(content, &spoken, err);
  if (st != PLA_OK)
    return st;
  PlaBlock *block = pla_report_add_pictures(m, 2);
  for (int i = 0; i <= MOMENTS; i++) {
    const int frame = (spoken->n_frames - 1) * (2 * i + 1) / (2 * MOMENTS);
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
    cairo_t *cr = cairo_create(image);
    if (i < MOMENTS)
      pla_spoken_draw_frame(spoken, frame, NULL, &look, cr, WIDTH, HEIGHT);
    else
      pla_spoken_draw_traces(spoken, NULL, NULL, 0.0, pla_spoken_seconds(spoken), false, cr, WIDTH,
                             HEIGHT);
    cairo_destroy(cr);
    g_autofree char *time =
        pla_quantity_text(PLA_QUANTITY_TIME,
                          i < MOMENTS ? pla_spoken_time(spoken, frame) : pla_spoken_seconds(spoken),
                          PLA_UNIT_S);
    pla_report_add_picture(block, image,
                           i < MOMENTS ? g_strdup_printf("%s at %s", name, time)
                                       : g_strdup_printf("Heights of the coils over %s", time));
  }
  JsonObject *found = json_object_get_object_member(content->meta, "spoken");
  const double change = json_object_get_double_member_with_default(found, "max_volume_change", NAN),
               depth = json_object_get_double_member_with_default(found, "max_penetration_mm", NAN);
  pla_report_add_text(m, PLA_BLOCK_TEXT, "%d frames. %s", spoken->n_frames,
                      spoken->measured ? "Coils were recorded." : spoken->trained_on);
  if (isfinite(change) && isfinite(depth)) {
    g_autofree char *within = pla_quantity_text(PLA_QUANTITY_VOLUME_CHANGE, change, PLA_UNIT_ONE);
    g_autofree char *deep = pla_quantity_text(PLA_QUANTITY_PENETRATION, depth, PLA_UNIT_MM);
    pla_report_add_text(m, PLA_BLOCK_TEXT,
                        "The tongue keeps its volume within %s, and enters palate and teeth by "
                        "at most %s.",
                        within, deep);
  }
  const char *note;
  for (int i = 0; (note = pla_spoken_get_note(spoken, i)); i++)
    pla_report_add_text(m, PLA_BLOCK_WARNING, "%s", note);
  pla_spoken_free(spoken);
  return PLA_OK;
}

PlaStatus
pla_report_put_item(PlaReportMaker *m, const PlaStateItem *item, PlaError *err)
{
  const unsigned sections = m->opts->sections;
  g_autoptr(PlaContent) content = NULL;
  g_autofree char *name = pla_report_shown(m, item->name);
  const bool scan = strcmp(item->kind, PLA_ITEM_VOLUME) == 0;
  const bool labels = strcmp(item->kind, PLA_ITEM_LABELS) == 0;
  if (pla_annotation_is_kind(item->kind) || (scan && !(sections & PLA_REPORT_SLICES)) ||
      (labels && !(sections & (PLA_REPORT_TISSUES | PLA_REPORT_VIEWS | PLA_REPORT_SLICES))) ||
      (!scan && !labels && !(sections & PLA_REPORT_MESHES)))
    return PLA_OK;
  PlaStatus st = pla_report_load(m, item, &content, err);
  if (st != PLA_OK)
    return st;
  pla_report_add_text(m, PLA_BLOCK_HEADING, "%s", name);
  if (content->volume) {
    put_frame(m, content->volume);
    st = put_slices(m, content->volume, NULL, name, err);
  } else if (content->labels) {
    g_autoptr(PlaContent) image = find_image(m, content->labels);
    put_frame(m, content->labels->volume);
    st = put_tissue_pictures(m, content->labels, name, err);
    if (st == PLA_OK && image && (sections & PLA_REPORT_SLICES))
      st = put_slices(m, image->volume, content->labels, name, err);
    if (sections & PLA_REPORT_TISSUES)
      put_tissue_table(m, content->labels);
  } else if (strcmp(item->kind, PLA_ITEM_BODY) == 0) {
    st = put_surgery(m, content, name, err);
  } else if (content->mesh) {
    st = put_mesh(m, content, name, err);
  } else if (content->take || content->track || content->audio) {
    put_recording(m, content);
  } else if (pla_spoken_is(content)) {
    st = put_speech(m, content, name, err);
  } else {
    pla_report_add_text(m, PLA_BLOCK_TEXT, "An item of the kind “%s”.", item->kind);
    put_all_quality(m, content->meta);
  }
  return st;
}
