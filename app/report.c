/* The content of a report: what is said of a case, in which order, with which pictures. */
#include "app/annotation.h"
#include "app/body.h"
#include "app/picture.h"
#include "app/plan-compare.h"
#include "app/plot.h"
#include "app/report-private.h"
#include "app/spoken-picture.h"
#include "platysma-config.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------- blocks */

static void
block_free(gpointer data)
{
  PlaBlock *block = data;
  for (guint i = 0; block->picture && i < block->picture->len; i++) {
    PlaReportPicture *picture = &g_array_index(block->picture, PlaReportPicture, i);
    cairo_surface_destroy(picture->image);
    g_free(picture->caption);
  }
  for (guint i = 0; block->cell && i < block->cell->len; i++)
    g_free(g_array_index(block->cell, PlaCell, i).text);
  g_clear_pointer(&block->picture, g_array_unref);
  g_clear_pointer(&block->cell, g_array_unref);
  g_free(block->text);
  g_free(block);
}

void
pla_report_free(PlaReport *self)
{
  if (!self)
    return;
  g_ptr_array_unref(self->blocks);
  g_free(self->heading);
  g_free(self->subtitle);
  g_free(self);
}

int
pla_report_n_pictures(const PlaReport *self)
{
  int n = 0;
  for (guint i = 0; i < self->blocks->len; i++) {
    const PlaBlock *block = self->blocks->pdata[i];
    n += block->kind == PLA_BLOCK_PICTURES ? (int)block->picture->len : 0;
  }
  return n;
}

int
pla_report_n_tables(const PlaReport *self)
{
  int n = 0;
  for (guint i = 0; i < self->blocks->len; i++)
    n += ((const PlaBlock *)self->blocks->pdata[i])->kind == PLA_BLOCK_TABLE;
  return n;
}

PlaReportOptions
pla_report_options_default(void)
{
  return (PlaReportOptions){ .sections = PLA_REPORT_EVERYTHING,
                             .scenes = true,
                             .views = 1u << PLA_VIEW_ANTERIOR | 1u << PLA_VIEW_LEFT |
                                      1u << PLA_VIEW_THREE_QUARTER };
}

/* a name of a file, and what stands for it */
typedef struct {
  char *name, *alias;
} Alias;

typedef struct {
  PlaSession *session;
  const PlaReportOptions *opts;
  PlaProgress *progress;
  PlaReport *report;
  GArray *alias; /* of Alias, longest name first; empty where names are wanted */
} Maker;

static PlaBlock *
add_block(Maker *m, PlaBlockKind kind)
{
  PlaBlock *block = g_new0(PlaBlock, 1);
  block->kind = kind;
  g_ptr_array_add(m->report->blocks, block);
  return block;
}

static void add_text(Maker *m, PlaBlockKind kind, const char *format, ...) G_GNUC_PRINTF(3, 4);

static void
add_text(Maker *m, PlaBlockKind kind, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  add_block(m, kind)->text = g_strdup_vprintf(format, args);
  va_end(args);
}

static PlaBlock *
add_pictures(Maker *m, int across)
{
  PlaBlock *block = add_block(m, PLA_BLOCK_PICTURES);
  block->across = across;
  block->picture = g_array_new(FALSE, FALSE, sizeof(PlaReportPicture));
  return block;
}

/* takes both */
static void
add_picture(PlaBlock *block, cairo_surface_t *image, char *caption)
{
  PlaReportPicture picture = { image, caption };
  g_array_append_val(block->picture, picture);
}

static PlaBlock *
add_table(Maker *m, const PlaColumn *columns, int n_columns)
{
  PlaBlock *block = add_block(m, PLA_BLOCK_TABLE);
  block->column = columns;
  block->n_columns = n_columns;
  block->cell = g_array_new(FALSE, FALSE, sizeof(PlaCell));
  return block;
}

static void add_cell(PlaBlock *block, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
add_cell(PlaBlock *block, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  PlaCell cell = { g_strdup_vprintf(format, args), -1 };
  va_end(args);
  g_array_append_val(block->cell, cell);
}

/* the last cell gets a swatch */
static void
set_swatch(PlaBlock *block, const uint8_t rgba[4])
{
  g_array_index(block->cell, PlaCell, block->cell->len - 1).rgb =
      rgba[0] << 16 | rgba[1] << 8 | rgba[2];
}

/* -------------------------------------------------------------------- names */

static void
add_alias(Maker *m, const char *name, char *alias)
{
  Alias entry = { g_strdup(name), alias };
  guint at = 0;
  while (at < m->alias->len && strlen(g_array_index(m->alias, Alias, at).name) >= strlen(name))
    at++;
  g_array_insert_val(m->alias, at, entry);
}

/* Files are named after patients too often: their names, and names of items that came from them,
 * get a number instead, wherever they stand in the report. */
static void
find_aliases(Maker *m)
{
  const PlaLog *log = pla_session_get_log(m->session);
  for (int i = 0, n = 0; i < log->n; i++) {
    const PlaLogRow *row = &log->row[i];
    g_autoptr(JsonNode) node = json_from_string(row->parameters, NULL);
    if (strcmp(row->verb, "import") != 0 || !node || !JSON_NODE_HOLDS_OBJECT(node))
      continue;
    JsonObject *params = json_node_get_object(node);
    JsonObject *source = json_object_has_member(params, "source")
                             ? json_object_get_object_member(params, "source")
                             : NULL;
    const char *file =
        source ? json_object_get_string_member_with_default(source, "file", NULL) : NULL;
    const char *name = json_object_get_string_member_with_default(params, "name", NULL);
    if (!file)
      continue;
    n++;
    const char *ending = strchr(file, '.');
    /* a name that a person chose stays; one that stands in the file's name does not */
    if (name && strstr(file, name))
      add_alias(m, name, g_strdup_printf("import %d", n));
    if (strcmp(file, "folder") != 0)
      add_alias(m, file, g_strdup_printf("file %d%s", n, ending ? ending : ""));
  }
}

/* @text as it may be printed; g_free() */
static char *
shown(const Maker *m, const char *text)
{
  char *out = g_strdup(text);
  for (guint i = 0; i < m->alias->len; i++) {
    const Alias *alias = &g_array_index(m->alias, Alias, i);
    /* letters and short words would be found in the middle of others */
    if (strlen(alias->name) < 3 && strcmp(out, alias->name) != 0)
      continue;
    g_auto(GStrv) parts = g_strsplit(out, alias->name, -1);
    g_free(out);
    out = g_strjoinv(alias->alias, parts);
  }
  return out;
}

/* -------------------------------------------------------------------- items */

static PlaStatus
load(Maker *m, const PlaStateItem *item, PlaContent **out, PlaError *err)
{
  return pla_session_load(m->session, item->item, m->progress, out, err);
}

/* the content of a volume on the same grid as @labels, or NULL; caller unrefs */
static PlaContent *
find_image(Maker *m, const PlaLabelMap *labels)
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
stage_annotations(Maker *m, PlaStage *stage, PlaError *err)
{
  static const double rgb[3] = { 1.0, 0.78, 0.25 };
  const PlaState *state = pla_session_get_state(m->session);
  PlaStatus st = PLA_OK;
  for (int i = 0; st == PLA_OK && i < state->n; i++) {
    g_autoptr(PlaContent) content = NULL;
    if (!pla_annotation_is_kind(state->item[i].kind))
      continue;
    st = load(m, &state->item[i], &content, err);
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
stage_tissues(Maker *m, const PlaLabelMap *map, Tissues *out, PlaError *err)
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
draw_tissues(Maker *m, Tissues *tissues, PlaPictureOptions *opts, double to, PlaBlock *block,
             char *caption, PlaError *err)
{
  cairo_surface_t *image = NULL;
  PlaStatus st = PLA_OK;
  if (!pla_progress_phase(m->progress, "Drawing", to))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = pla_stage_draw(tissues->stage, opts, &image, err);
  if (st == PLA_OK)
    add_picture(block, image, caption);
  else
    g_free(caption);
  return st;
}

/* from each chosen side the tissues together, bone seen through the skin; then each on its own */
static PlaStatus
put_tissue_pictures(Maker *m, const PlaLabelMap *map, const char *name, PlaError *err)
{
  const bool together = (m->opts->sections & PLA_REPORT_VIEWS) && m->opts->views != 0;
  const bool alone = m->opts->sections & PLA_REPORT_TISSUES;
  PlaPictureOptions opts = pla_picture_options_default();
  Tissues tissues = { 0 };
  if ((!together && !alone) || !m->opts->scenes)
    return PLA_OK;
  PlaStatus st = stage_tissues(m, map, &tissues, err);
  const int n_views = __builtin_popcount(m->opts->views);
  PlaBlock *views = st == PLA_OK && together ? add_pictures(m, n_views % 3 == 0 ? 3 : 2) : NULL;
  PlaBlock *singles = st == PLA_OK && alone ? add_pictures(m, 3) : NULL;

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
put_slices(Maker *m, const PlaVolume *vol, const PlaLabelMap *labels, const char *name,
           PlaError *err)
{
  static const struct {
    PlaAxis axis;
    const char *title;
  } planes[] = { { PLA_AXIS_AXIAL, "Axial" },
                 { PLA_AXIS_CORONAL, "Coronal" },
                 { PLA_AXIS_SAGITTAL, "Sagittal" } };
  PlaStatus st = PLA_OK;
  PlaBlock *block = add_pictures(m, 3);
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
      add_picture(block, image,
                  g_strdup_printf("%s slice of %s, %s convention", planes[k].title, name,
                                  opts.radiological ? "radiological" : "neurological"));
  }
  return st;
}

/* ------------------------------------------------------------------- tables */

static void
put_tissue_table(Maker *m, const PlaLabelMap *map)
{
  static const PlaColumn columns[] = { { "Tissue", 4, false, false },
                                       { "Id", 1, true, false },
                                       { "Voxels", 2, true, false },
                                       { "Volume, ml", 2, true, false } };
  g_autofree size_t *counts = g_new(size_t, 65536);
  const double voxel = pla_volume_voxel_mm3(map->volume);
  pla_label_map_count(map, counts);
  PlaBlock *table = add_table(m, columns, G_N_ELEMENTS(columns));
  for (int i = 0; i < map->table.n; i++) {
    const PlaLabel *label = &map->table.label[i];
    if (counts[label->id] == 0)
      continue;
    add_cell(table, "%s", label->name);
    set_swatch(table, label->rgba);
    add_cell(table, "%d", label->id);
    add_cell(table, "%zu", counts[label->id]);
    add_cell(table, "%.2f", (double)counts[label->id] * voxel / 1000.0);
  }
}

static void
put_frame(Maker *m, const PlaVolume *vol)
{
  double spacing[3], range[2];
  char letters[4];
  pla_volume_spacing_mm(vol, spacing);
  pla_volume_orientation(vol, letters);
  pla_volume_range(vol, &range[0], &range[1]);
  add_text(m, PLA_BLOCK_TEXT,
           "%d × %d × %d voxels of %.4g × %.4g × %.4g mm, %s, values %g to %g, index axes %s.",
           vol->dims[0], vol->dims[1], vol->dims[2], spacing[0], spacing[1], spacing[2],
           pla_dtype_name(vol->dtype), range[0], range[1], letters);
}

static const PlaColumn fact_columns[] = { { "Quantity", 3, false, false },
                                          { "Value", 3, true, false } };

static void
put_mesh_table(Maker *m, const PlaMesh *mesh, const PlaMeshSummary *sum)
{
  PlaBlock *table = add_table(m, fact_columns, 2);
  const int n_solid = mesh->n_tets + mesh->n_hexes;
  add_cell(table, "Vertices");
  add_cell(table, "%d", mesh->n_verts);
  const struct {
    const char *title;
    int n;
  } cells[] = { { "Triangles", mesh->n_tris },
                { "Tetrahedra", mesh->n_tets },
                { "Hexahedra", mesh->n_hexes } };
  for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
    if (cells[i].n > 0) {
      add_cell(table, "%s", cells[i].title);
      add_cell(table, "%d", cells[i].n);
    }
  add_cell(table, "Connected pieces");
  add_cell(table, "%d", sum->components);
  if (n_solid > 0 || sum->closed) {
    add_cell(table, "Volume, ml");
    add_cell(table, "%.3f", sum->volume_m3 * 1e6);
  }
  if (n_solid == 0) {
    add_cell(table, "Closed surface");
    add_cell(table, "%s", sum->closed ? "yes" : "no");
    add_cell(table, "Area, cm²");
    add_cell(table, "%.2f", sum->area_m2 * 1e4);
  } else {
    add_cell(table, "Inverted elements");
    add_cell(table, "%d", sum->inverted);
  }
  if (mesh->n_tets > 0) {
    add_cell(table, "Dihedral angles, degrees");
    add_cell(table, "%.2f to %.2f", sum->min_dihedral_deg, sum->max_dihedral_deg);
  }
}

static void
add_json_cell(PlaBlock *table, JsonNode *value)
{
  GType type = json_node_get_value_type(value);
  if (type == G_TYPE_BOOLEAN)
    add_cell(table, "%s", json_node_get_boolean(value) ? "yes" : "no");
  else if (type == G_TYPE_STRING)
    add_cell(table, "%s", json_node_get_string(value));
  else if (type == G_TYPE_INT64)
    add_cell(table, "%" G_GINT64_FORMAT, json_node_get_int(value));
  else
    add_cell(table, "%.4g", json_node_get_double(value));
}

/* what a solver or a maker of surfaces said of its own work */
static void
put_quality(Maker *m, JsonObject *found)
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
    { "residual_n", "Residual, N" },
    { "energy_j", "Energy, J" },
    { "inverted", "Inverted elements in the result" },
    { "min_jacobian", "Smallest Jacobian" },
    { "worst_element", "Worst element" },
    { "max_displacement_mm", "Largest displacement, mm" },
    { "max_penetration_mm", "Largest penetration, mm" },
    { "self_intersections", "Self-intersections" },
    { "volume_mm3", "Enclosed volume, mm³" },
    { "label_volume_mm3", "Volume of its voxels, mm³" },
    { "decimation_mm", "Largest shift by decimation, mm" },
    { "rms_mm", "Error of the fit, root mean square, mm" },
    { "max_mm", "Error of the fit, largest, mm" },
  };
  PlaBlock *table = NULL;
  for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
    JsonNode *value = json_object_get_member(found, known[i].key);
    if (!value || !JSON_NODE_HOLDS_VALUE(value))
      continue;
    if (!table)
      table = add_table(m, fact_columns, 2);
    add_cell(table, "%s", known[i].title);
    add_json_cell(table, value);
  }
}

static void
put_all_quality(Maker *m, JsonObject *meta)
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

static PlaStatus
put_mesh_pictures(Maker *m, const PlaContent *content, const char *name, PlaError *err)
{
  static const struct {
    const char *field, *title;
    PlaFieldPlace place;
  } coloured[] = { { "displacement_mm", "Displacement (mm)", PLA_ON_VERTS },
                   { "von_mises_pa", "Von Mises stress (Pa)", PLA_ON_CELLS } };
  const PlaMesh *mesh = content->mesh;
  PlaStage *stage = NULL;
  PlaSurfaceLook look = { .rgb = { 0.75, 0.78, 0.82 }, .opacity = 1.0 };
  PlaPictureOptions opts = pla_picture_options_default();
  cairo_surface_t *image = NULL;
  int shape = 0;
  PlaStatus st = pla_stage_new(&stage, err);
  if (st == PLA_OK)
    st = pla_stage_add_mesh(stage, mesh, &look, &shape, err);
  PlaBlock *block = st == PLA_OK ? add_pictures(m, 2) : NULL;
  opts.font_px = 30.0;
  if (st == PLA_OK)
    st = pla_stage_draw(stage, &opts, &image, err);
  if (st == PLA_OK)
    add_picture(block, image, g_strdup(name));
  for (size_t i = 0; st == PLA_OK && i < G_N_ELEMENTS(coloured); i++) {
    const PlaField *field = pla_mesh_find_field(mesh, coloured[i].field, coloured[i].place);
    if (!field)
      continue;
    /* low values are dark: they need a light ground */
    for (int c = 0; c < 3; c++)
      opts.background[c] = 0.96;
    st = pla_stage_colour(stage, shape, mesh, field, coloured[i].title, err);
    if (st == PLA_OK)
      st = pla_stage_draw(stage, &opts, &image, err);
    if (st == PLA_OK)
      add_picture(block, image, g_strdup_printf("%s: %s", name, coloured[i].title));
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
  add_picture(block, image, g_strdup(plot->title));
  pla_plot_free(plot);
}

/* angles of the elements, and the course of the solver */
static PlaStatus
put_plots(Maker *m, const PlaContent *content, PlaError *err)
{
  PlaPlot *quality = NULL, *residuals = pla_plot_new_residuals(content);
  PlaStatus st =
      content->mesh->n_tets > 0 ? pla_plot_new_quality(content->mesh, &quality, err) : PLA_OK;
  if (quality || residuals) {
    PlaBlock *block = add_pictures(m, 2);
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

/* a body that was operated on: before and after, maps of stretch and tension, what was done, the numbers */
static PlaStatus
put_surgery(Maker *m, const PlaContent *content, const char *name, PlaError *err)
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
    PlaBlock *block = add_pictures(m, 2);
    cairo_surface_t *image = NULL;
    st = pla_plan_sides(pla_session_get_store(m->session), m->progress, &sides, err);
    const PlaPlanSide *before = sides && sides->len > 0 ? sides->pdata[0] : NULL;
    if (st == PLA_OK && before && strcmp(before->name, "before") == 0) {
      st = pla_body_draw(before->body, "tissue", camera, &opts, &image, err);
      if (st == PLA_OK)
        add_picture(block, image, g_strdup_printf("%s before", name));
    }
    static const char *const maps[][2] = { { "tissue", "after" },
                                           { "skin-stretch", "stretch of the skin, percent" },
                                           { "skin-tension", "tension of the skin, kPa" } };
    for (size_t k = 0; st == PLA_OK && k < G_N_ELEMENTS(maps); k++) {
      st = pla_body_draw(content, maps[k][0], camera, &opts, &image, err);
      if (st == PLA_OK)
        add_picture(block, image, g_strdup_printf(k ? "%s: %s" : "%s %s", name, maps[k][1]));
    }
  }
  int n_lines;
  const PlaPlanLine *lines = pla_plan_lines_get(&n_lines);
  PlaBlock *table = add_table(m, numbers, G_N_ELEMENTS(numbers));
  for (int l = 0; l < n_lines; l++) {
    g_autofree char *text = lines[l].text(side);
    add_cell(table, "%s", lines[l].title);
    add_cell(table, "%s", text);
  }
  if (side->n_steps > 0 && !side->settled)
    add_text(m, PLA_BLOCK_WARNING,
             "The tissue has not settled since the last step: forces and gaps mean nothing yet.");
  JsonObject *surgery = pla_body_get_surgery(content);
  JsonArray *steps = surgery ? json_object_get_array_member(surgery, "steps") : NULL;
  JsonArray *found = surgery ? json_object_get_array_member(surgery, "found") : NULL;
  if (steps && json_array_get_length(steps) > 0) {
    table = add_table(m, done, G_N_ELEMENTS(done));
    for (guint i = 0; i < json_array_get_length(steps); i++) {
      g_autofree char *what = tell_step(json_array_get_object_element(steps, i));
      g_autofree char *gave = found && i < json_array_get_length(found)
                                  ? tell_found(json_array_get_object_element(found, i))
                                  : g_strdup("");
      add_cell(table, "%u", i + 1);
      add_cell(table, "%s", what);
      add_cell(table, "%s", gave);
    }
  }
  pla_plan_side_free(side);
  return st;
}

/* what pathology is told of a piece that was taken out */
static void
put_specimen(Maker *m, const PlaContent *content)
{
  JsonNode *node = json_object_get_member(content->meta, PLA_BODY_SPECIMEN);
  JsonObject *o = node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
  JsonNode *list = o ? json_object_get_member(o, "specimen_size_mm") : NULL;
  JsonArray *size = list && JSON_NODE_HOLDS_ARRAY(list) ? json_node_get_array(list) : NULL;
  if (!size || json_array_get_length(size) != 3)
    return;
  add_text(m, PLA_BLOCK_TEXT, "Taken out: %.2f ml, %.2f g, %.1f x %.1f x %.1f mm as it lay.",
           1e-3 * json_object_get_double_member_with_default(o, "specimen_mm3", 0.0),
           json_object_get_double_member_with_default(o, "specimen_g", 0.0),
           json_array_get_double_element(size, 0), json_array_get_double_element(size, 1),
           json_array_get_double_element(size, 2));
}

static PlaStatus
put_mesh(Maker *m, const PlaContent *content, const char *name, PlaError *err)
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
put_recording(Maker *m, const PlaContent *content)
{
  if (content->take) {
    const PlaTake *take = content->take;
    const double all = (double)take->n_frames * take->n_markers;
    add_text(m, PLA_BLOCK_TEXT,
             "%d markers, %d frames at %.6g Hz (%.2f s); %.2f %% of positions are missing.",
             take->n_markers, take->n_frames, take->rate_hz, take->n_frames / take->rate_hz,
             all > 0.0 ? 100.0 * (double)pla_take_n_missing(take) / all : 0.0);
  } else if (content->track) {
    add_text(m, PLA_BLOCK_TEXT, "%d channels, %d samples at %.6g Hz (%.2f s).",
             content->track->n_channels, content->track->n_samples, content->track->rate_hz,
             content->track->n_samples / content->track->rate_hz);
  } else {
    add_text(m, PLA_BLOCK_TEXT, "%d channels at %.6g Hz, %.2f s.", content->audio->n_channels,
             content->audio->rate_hz, (double)content->audio->n_frames / content->audio->rate_hz);
  }
}

/* a tongue that spoke: four moments, the paths of its coils, how far to trust it */
static PlaStatus
put_speech(Maker *m, PlaContent *content, const char *name, PlaError *err)
{
  enum { MOMENTS = 4, WIDTH = 900, HEIGHT = 500 };
  const PlaSpokenLook look = { .rest = true };
  PlaSpoken *spoken = NULL;
  PlaStatus st = pla_spoken_new(content, &spoken, err);
  if (st != PLA_OK)
    return st;
  PlaBlock *block = add_pictures(m, 2);
  for (int i = 0; i <= MOMENTS; i++) {
    const int frame = (spoken->n_frames - 1) * (2 * i + 1) / (2 * MOMENTS);
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
    cairo_t *cr = cairo_create(image);
    if (i < MOMENTS)
      pla_spoken_draw_frame(spoken, frame, NULL, &look, cr, WIDTH, HEIGHT);
    else
      pla_spoken_draw_traces(spoken, NULL, NULL, 0.0, pla_spoken_seconds(spoken), false, cr, WIDTH, HEIGHT);
    cairo_destroy(cr);
    add_picture(block, image,
                i < MOMENTS ? g_strdup_printf("%s at %.2f s", name, pla_spoken_time(spoken, frame))
                            : g_strdup_printf("Heights of the coils over %.2f s", pla_spoken_seconds(spoken)));
  }
  JsonObject *found = json_object_get_object_member(content->meta, "spoken");
  add_text(m, PLA_BLOCK_TEXT,
           "%d frames. The tongue keeps its volume within %.2g %%, and enters palate and teeth by at most "
           "%.2g mm. %s",
           spoken->n_frames,
           100.0 * json_object_get_double_member_with_default(found, "max_volume_change", NAN),
           json_object_get_double_member_with_default(found, "max_penetration_mm", NAN),
           spoken->measured ? "Coils were recorded." : spoken->trained_on);
  JsonArray *notes = pla_spoken_get_notes(spoken);
  for (guint i = 0; notes && i < json_array_get_length(notes); i++)
    add_text(m, PLA_BLOCK_WARNING, "%s", json_array_get_string_element(notes, i));
  pla_spoken_free(spoken);
  return PLA_OK;
}

static PlaStatus
put_item(Maker *m, const PlaStateItem *item, PlaError *err)
{
  const unsigned sections = m->opts->sections;
  g_autoptr(PlaContent) content = NULL;
  g_autofree char *name = shown(m, item->name);
  const bool scan = strcmp(item->kind, PLA_ITEM_VOLUME) == 0;
  const bool labels = strcmp(item->kind, PLA_ITEM_LABELS) == 0;
  if (pla_annotation_is_kind(item->kind) || (scan && !(sections & PLA_REPORT_SLICES)) ||
      (labels && !(sections & (PLA_REPORT_TISSUES | PLA_REPORT_VIEWS | PLA_REPORT_SLICES))) ||
      (!scan && !labels && !(sections & PLA_REPORT_MESHES)))
    return PLA_OK;
  PlaStatus st = load(m, item, &content, err);
  if (st != PLA_OK)
    return st;
  add_text(m, PLA_BLOCK_HEADING, "%s", name);
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
    add_text(m, PLA_BLOCK_TEXT, "An item of the kind “%s”.", item->kind);
    put_all_quality(m, content->meta);
  }
  return st;
}

/* ------------------------------------------------- measurements and notes */

static PlaStatus
put_annotations(Maker *m, PlaError *err)
{
  static const PlaColumn columns[] = { { "Name", 4, false, false },
                                       { "What", 2, false, false },
                                       { "Value", 2, true, false },
                                       { "Of what, or points in RAS mm", 5, false, true } };
  const PlaState *state = pla_session_get_state(m->session);
  PlaBlock *table = NULL;
  for (int i = 0; i < state->n; i++) {
    g_autoptr(PlaContent) content = NULL;
    if (!pla_annotation_is_kind(state->item[i].kind) ||
        strcmp(state->item[i].kind, PLA_ITEM_NOTE) == 0)
      continue;
    PlaStatus st = load(m, &state->item[i], &content, err);
    PlaAnnotation note;
    if (st != PLA_OK)
      return st;
    if (!pla_annotation_read(content, &note))
      continue;
    if (!table) {
      add_text(m, PLA_BLOCK_HEADING, "Measurements and landmarks");
      table = add_table(m, columns, G_N_ELEMENTS(columns));
    }
    g_autofree char *name = shown(m, state->item[i].name);
    g_autofree char *value = pla_annotation_value_text(&note);
    g_autofree char *of = note.text ? shown(m, note.text) : NULL;
    g_autoptr(GString) text = g_string_new(of);
    for (int p = 0; p < MIN(note.n_points, 12); p++)
      g_string_append_printf(text, "%s(%.1f, %.1f, %.1f)", p ? " " : "", note.point_mm[3 * p],
                             note.point_mm[3 * p + 1], note.point_mm[3 * p + 2]);
    if (note.n_points > 12)
      g_string_append_printf(text, " and %d more", note.n_points - 12);
    add_cell(table, "%s", name);
    add_cell(table, "%s", pla_annotation_kind_name(note.kind));
    add_cell(table, "%s", *value ? value : "–");
    add_cell(table, "%s", text->str);
    pla_annotation_clear(&note);
  }
  return PLA_OK;
}

/* paragraphs short enough for a page */
static void
put_long_text(Maker *m, const char *text)
{
  enum { MOST = 1500 }; /* characters */
  g_auto(GStrv) paragraphs = g_strsplit(text, "\n", -1);
  for (int i = 0; paragraphs[i]; i++) {
    const char *rest = g_strstrip(paragraphs[i]);
    while (*rest) {
      glong n = g_utf8_strlen(rest, -1);
      const char *end = g_utf8_offset_to_pointer(rest, MIN(n, MOST));
      /* at a blank, unless there is none near */
      const char *blank = *end ? g_utf8_strrchr(rest, end - rest, ' ') : NULL;
      if (blank && blank > rest)
        end = blank + 1;
      add_text(m, PLA_BLOCK_TEXT, "%.*s", (int)(end - rest), rest);
      rest = end;
    }
  }
}

static PlaStatus
put_notes(Maker *m, PlaError *err)
{
  const PlaState *state = pla_session_get_state(m->session);
  for (int i = 0; i < state->n; i++) {
    g_autoptr(PlaContent) content = NULL;
    if (strcmp(state->item[i].kind, PLA_ITEM_NOTE) != 0)
      continue;
    PlaStatus st = load(m, &state->item[i], &content, err);
    if (st != PLA_OK)
      return st;
    g_autofree char *name = shown(m, state->item[i].name);
    g_autofree char *text =
        shown(m, json_object_get_string_member_with_default(content->meta, "text", ""));
    add_text(m, PLA_BLOCK_HEADING, "Note: %s", name);
    put_long_text(m, text);
  }
  return PLA_OK;
}

/* --------------------------------------------------------------- provenance */

static const char *
frame_words(const char *code)
{
  static const struct {
    const char *code, *words;
  } table[] = {
    { "none", "none: axes assumed" },
    { "pixdim", "voxel sizes only" },
    { "qform", "NIfTI qform" },
    { "sform", "NIfTI sform" },
    { "dicom", "DICOM position and orientation" },
    { "made", "made here" },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
    if (g_strcmp0(code, table[i].code) == 0)
      return table[i].words;
  return "–";
}

static PlaStatus
put_sources(Maker *m, PlaError *err)
{
  static const PlaColumn columns[] = { { "Item", 3, false, false },
                                       { "File", 3, false, false },
                                       { "Bytes", 2, true, false },
                                       { "XXH3-128 of the file", 4, false, true },
                                       { "Frame", 3, false, false },
                                       { "Forms disagree, mm", 2, true, false },
                                       { "Largest cosine of axes", 2, true, false } };
  const PlaState *state = pla_session_get_state(m->session);
  PlaBlock *table = NULL;
  g_autoptr(GString) notes = g_string_new(NULL);
  for (int i = 0; i < state->n; i++) {
    g_autoptr(PlaContent) content = NULL;
    PlaStatus st = load(m, &state->item[i], &content, err);
    if (st != PLA_OK)
      return st;
    JsonObject *source = json_object_has_member(content->meta, "source")
                             ? json_object_get_object_member(content->meta, "source")
                             : NULL;
    if (!source)
      continue;
    if (!table)
      table = add_table(m, columns, G_N_ELEMENTS(columns));
    g_autofree char *name = shown(m, state->item[i].name);
    g_autofree char *file =
        shown(m, json_object_get_string_member_with_default(source, "file", "–"));
    add_cell(table, "%s", name);
    add_cell(table, "%s", file);
    if (json_object_has_member(source, "bytes"))
      add_cell(table, "%" G_GINT64_FORMAT, json_object_get_int_member(source, "bytes"));
    else
      add_cell(table, "–");
    add_cell(table, "%s", json_object_get_string_member_with_default(source, "hash", "–"));
    add_cell(table, "%s",
             frame_words(json_object_get_string_member_with_default(source, "frame", NULL)));
    if (json_object_has_member(source, "frame")) {
      add_cell(table, "%.4f", json_object_get_double_member(source, "disagreement_mm"));
      add_cell(table, "%.2e", json_object_get_double_member(source, "nonorthogonality"));
    } else {
      add_cell(table, "–");
      add_cell(table, "–");
    }
    JsonArray *said = json_object_has_member(content->meta, "notes")
                          ? json_object_get_array_member(content->meta, "notes")
                          : NULL;
    for (guint k = 0; said && k < json_array_get_length(said); k++) {
      g_autofree char *sentence = shown(m, json_array_get_string_element(said, k));
      g_string_append_printf(notes, "%s: %s\n", name, sentence);
    }
  }
  if (!table)
    add_text(m, PLA_BLOCK_TEXT, "Nothing in this case came from a file.");
  if (notes->len > 0)
    put_long_text(m, notes->str);
  return PLA_OK;
}

static void
put_versions(Maker *m)
{
  static const PlaColumn columns[] = { { "Item", 4, false, false },
                                       { "Kind", 2, false, false },
                                       { "XXH3-128 of its content", 5, false, true } };
  const PlaState *state = pla_session_get_state(m->session);
  if (state->n == 0)
    return;
  PlaBlock *table = add_table(m, columns, G_N_ELEMENTS(columns));
  for (int i = 0; i < state->n; i++) {
    char hash[33];
    g_autofree char *name = shown(m, state->item[i].name);
    add_cell(table, "%s", name);
    add_cell(table, "%s", state->item[i].kind);
    add_cell(table, "%s", pla_hash_text(&state->item[i].hash, hash));
  }
}

/* "item: head CT; preset: ct-head": what was given, without what was left open; g_free() */
static char *
parameters_text(const Maker *m, const char *json)
{
  g_autoptr(JsonNode) node = json_from_string(json, NULL);
  g_autofree char *text = NULL;
  if (!node || !JSON_NODE_HOLDS_OBJECT(node)) {
    text = g_strdup(json);
  } else {
    JsonObject *object = json_node_get_object(node);
    g_autoptr(GString) list = g_string_new(NULL);
    g_autoptr(GList) keys = g_list_sort(json_object_get_members(object), (GCompareFunc)strcmp);
    for (GList *l = keys; l; l = l->next) {
      JsonNode *value = json_object_get_member(object, l->data);
      if (JSON_NODE_HOLDS_NULL(value))
        continue;
      GType type = JSON_NODE_HOLDS_VALUE(value) ? json_node_get_value_type(value) : G_TYPE_NONE;
      g_autofree char *plain = type == G_TYPE_STRING ? g_strdup(json_node_get_string(value))
                               : type == G_TYPE_DOUBLE
                                   ? g_strdup_printf("%.12g", json_node_get_double(value))
                                   : json_to_string(value, FALSE);
      g_string_append_printf(list, "%s%s: %s", list->len ? "; " : "", (char *)l->data, plain);
    }
    text = g_string_free(g_steal_pointer(&list), FALSE);
  }
  return shown(m, text);
}

static void
put_log(Maker *m)
{
  enum { MOST = 600 }; /* characters of parameters: the strokes of a brush are thousands */
  static const PlaColumn columns[] = { { "No.", 1, true, false },
                                       { "Operation", 3, false, false },
                                       { "Parameters", 8, false, true },
                                       { "State after it", 4, false, true },
                                       { "Program", 2.5, false, false } };
  const PlaLog *log = pla_session_get_log(m->session);
  add_text(m, PLA_BLOCK_HEADING, "Operations");
  if (log->n == 0) {
    add_text(m, PLA_BLOCK_TEXT, "Nothing was done to this case yet.");
    return;
  }
  PlaBlock *table = add_table(m, columns, G_N_ELEMENTS(columns));
  for (int i = 0; i < log->n; i++) {
    const PlaLogRow *row = &log->row[i];
    const PlaOperation *op = pla_operation_find(row->verb);
    char hash[33];
    g_autofree char *params = parameters_text(m, row->parameters);
    glong length = g_utf8_strlen(params, -1);
    add_cell(table, "%" G_GINT64_FORMAT, row->id);
    add_cell(table, "%s", op ? op->title : row->verb);
    if (length > MOST)
      add_cell(table, "%.*s… (%ld characters in all)",
               (int)(g_utf8_offset_to_pointer(params, MOST) - params), params, length);
    else
      add_cell(table, "%s", params);
    add_cell(table, "%s", pla_hash_text(&row->state, hash));
    add_cell(table, "%s, %s", row->program, row->kernel);
  }
}

/* ------------------------------------------------------------------- report */

static void
put_head(Maker *m)
{
  const PlaReportOptions *opts = m->opts;
  const PlaLog *log = pla_session_get_log(m->session);
  const PlaState *state = pla_session_get_state(m->session);
  PlaReport *report = m->report;
  char text[33];
  PlaHash hash = pla_state_hash(state);
  const char *heading = opts->heading;
  if (!heading && opts->names)
    heading = pla_session_get_title(m->session);
  report->heading = g_strdup(heading && *heading ? heading : "Case report");
  report->time_ms = log->n > 0 ? log->row[log->n - 1].time_ms : 0;
  g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(report->time_ms / 1000);
  g_autofree char *when =
      log->n > 0 ? g_date_time_format(date, "last changed %Y-%m-%d %H:%M UTC") : g_strdup("empty");
  report->subtitle =
      g_strdup_printf("Platysma %s  ·  %d items, %d operations, %s  ·  state %s", PLA_VERSION,
                      state->n, log->n, when, pla_hash_text(&hash, text));
  add_text(m, PLA_BLOCK_WARNING,
           "%s  Left and right are the patient’s; the letters at the edges of each picture name "
           "the sides. Positions are in millimetres, RAS.",
           PLA_RESEARCH_LINE);
}

PlaStatus
pla_report_make(PlaSession *session, const PlaReportOptions *opts, PlaProgress *progress,
                PlaReport **out, PlaError *err)
{
  PlaReport *report = g_new0(PlaReport, 1);
  report->blocks = g_ptr_array_new_with_free_func(block_free);
  Maker m = { .session = session, .opts = opts, .progress = progress, .report = report };
  m.alias = g_array_new(FALSE, FALSE, sizeof(Alias));
  if (!opts->names)
    find_aliases(&m);
  put_head(&m);
  if ((opts->sections & PLA_REPORT_VIEWS) && opts->n_pictures > 0) {
    PlaBlock *block = add_pictures(&m, opts->n_pictures % 3 == 0 ? 3 : MIN(opts->n_pictures, 2));
    for (int i = 0; i < opts->n_pictures; i++)
      add_picture(block, cairo_surface_reference(opts->picture[i].image),
                  g_strdup(opts->picture[i].caption));
  }

  const PlaState *state = pla_session_get_state(session);
  PlaStatus st = PLA_OK;
  for (int i = 0; st == PLA_OK && i < state->n; i++) {
    if (!pla_progress_phase(progress, "Drawing", 0.95 * (i + 1) / state->n))
      st = pla_fail_cancelled(err);
    PlaProgressSpan span = pla_progress_push(progress);
    if (st == PLA_OK)
      st = put_item(&m, &state->item[i], err);
    pla_progress_pop(progress, span);
  }
  if (st == PLA_OK && (opts->sections & PLA_REPORT_MEASUREMENTS))
    st = put_annotations(&m, err);
  if (st == PLA_OK && (opts->sections & PLA_REPORT_NOTES))
    st = put_notes(&m, err);
  if (st == PLA_OK && (opts->sections & PLA_REPORT_PROVENANCE)) {
    add_text(&m, PLA_BLOCK_HEADING, "Provenance");
    st = put_sources(&m, err);
    put_versions(&m);
  }
  if (st == PLA_OK && (opts->sections & PLA_REPORT_OPERATIONS))
    put_log(&m);

  for (guint i = 0; i < m.alias->len; i++) {
    g_free(g_array_index(m.alias, Alias, i).name);
    g_free(g_array_index(m.alias, Alias, i).alias);
  }
  g_array_unref(m.alias);
  if (st == PLA_OK)
    *out = report;
  else
    pla_report_free(report);
  return st;
}
