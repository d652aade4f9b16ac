/* Label editing by hand: strokes, outlines, region growing, slices in between, pieces, mirroring.
 * Each makes a copy of the label map, changes it, and puts it in the place of the old one. */
#include "anatomy/base/memory.h"
#include "anatomy/segment/label-edit.h"
#include "app/verbs/verbs.h"

#include <glib/gi18n.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* a private copy of a label map, which contents in memory share */
static PlaStatus
dup_labels(const PlaContent *from, PlaContent **out, PlaError *err)
{
  g_autoptr(PlaContent) copy = pla_content_new(PLA_ITEM_LABELS);
  PlaVolume *vol = NULL;
  json_object_unref(copy->meta);
  copy->meta = json_object_ref(from->meta); /* immutable like all of @from */
  PlaStatus st = pla_volume_dup(from->labels->volume, &vol, err);
  if (st != PLA_OK)
    return st;
  copy->labels = pla_array_new0(1, sizeof *copy->labels);
  if (!copy->labels) {
    pla_volume_free(vol);
    return pla_fail_memory(err, "the label map");
  }
  copy->labels->volume = vol;
  st = pla_label_table_dup(&from->labels->table, &copy->labels->table, err);
  if (st == PLA_OK)
    *out = g_steal_pointer(&copy);
  return st;
}

/* gives an id that is new to the map a name */
static PlaStatus
name_label(PlaLabelMap *map, int id, PlaError *err)
{
  char name[32];
  if (id == 0 || pla_label_table_find(&map->table, id))
    return PLA_OK;
  snprintf(name, sizeof name, "label %d", id);
  return pla_label_table_set(&map->table, id, name, NULL, err);
}

typedef PlaStatus (*EditFunc)(PlaWork *work, PlaLabelMap *map, size_t *n_changed, PlaError *err);

/* runs @edit on a copy of the label map and keeps it if it changed */
static PlaStatus
edit_labels(PlaWork *work, EditFunc edit, const char *what, PlaError *err)
{
  int64_t item;
  size_t n_changed = 0;
  g_autoptr(PlaContent) before = NULL;
  g_autoptr(PlaContent) after = NULL;
  PlaStatus st = pla_work_item(work, "item", PLA_ITEM_LABELS, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &before, err);
  if (st == PLA_OK)
    st = dup_labels(before, &after, err);
  if (st == PLA_OK)
    st = edit(work, after->labels, &n_changed, err);
  if (st == PLA_OK && n_changed == 0)
    return pla_fail(err, PLA_ERR_EMPTY,
                    "%s changes no voxel of '%s'; check its place and what it may replace", what,
                    pla_work_item_name(work, item));
  if (st == PLA_OK)
    pla_work_replace(work, item, g_steal_pointer(&after));
  return st;
}

/* ---- strokes and outlines ---- */

static PlaStatus
edit_stroke(PlaWork *work, PlaLabelMap *map, size_t *n_changed, PlaError *err)
{
  PlaBrush brush = { .radius_mm = pla_work_number(work, "radius_mm"),
                     .label = pla_work_int(work, "label"),
                     .only = pla_work_int(work, "only") };
  int n_points;
  g_autofree double *points = pla_work_points(work, "points_mm", &n_points);
  if (!pla_work_is_null(work, "slice_normal"))
    pla_work_point(work, "slice_normal", brush.normal);
  PlaStatus st = pla_label_edit_stroke(map, points, n_points, &brush, n_changed, err);
  return st == PLA_OK ? name_label(map, brush.label, err) : st;
}

static PlaStatus
run_stroke(PlaWork *work, PlaError *err)
{
  return edit_labels(work, edit_stroke, "the stroke", err);
}

static const PlaVerbParam stroke_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map" },
  { "points_mm", PLA_PARAM_POINTS, "mm", 0, 0, NULL, "the stroke: points in RAS" },
  { "radius_mm", PLA_PARAM_NUMBER, "mm", 0.001, 1000, NULL, N_("radius of the brush"),
    .panel = { .title = N_("_Radius"),
               .spoken = N_("Radius of the brush in millimetres"),
               .begin = "3",
               .low = 0.2,
               .high = 50,
               .step = 0.5,
               .page = 2,
               .digits = 1 } },
  { "label", PLA_PARAM_INT, NULL, 0, 65535, NULL, "id to paint; 0 erases" },
  { "only", PLA_PARAM_INT, NULL, -1, 65535, "-1", "change only voxels with this id; -1: all" },
  { "slice_normal", PLA_PARAM_POINT, NULL, 0, 0, "null",
    "paint a disc in the slice across this direction; null: a ball" },
  { NULL },
};

const PlaVerb pla_verb_edit_label = {
  .name = "edit-label",
  .title = "Edit Label",
  .summary = "paints or erases a label along a stroke",
  .params = stroke_params,
  .run = run_stroke,
};

static PlaStatus
edit_outline(PlaWork *work, PlaLabelMap *map, size_t *n_changed, PlaError *err)
{
  PlaLabelChange change;
  int n_points, label = pla_work_int(work, "label");
  g_autofree double *points = pla_work_points(work, "points_mm", &n_points);
  if (n_points < 3)
    return pla_fail(err, PLA_ERR_USAGE, "an outline needs at least three points");
  PlaStatus st =
      pla_label_edit_polygon(map, points, n_points, pla_work_number(work, "thickness_mm"), label,
                             pla_work_int(work, "only"), &change, err);
  *n_changed = st == PLA_OK ? change.n_changed : 0;
  return st == PLA_OK ? name_label(map, label, err) : st;
}

static PlaStatus
run_outline(PlaWork *work, PlaError *err)
{
  return edit_labels(work, edit_outline, "the outline", err);
}

static const PlaVerbParam outline_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map" },
  { "points_mm", PLA_PARAM_POINTS, "mm", 0, 0, NULL, "corners of the outline, in RAS" },
  { "thickness_mm", PLA_PARAM_NUMBER, "mm", 0, 1000, "0", "depth across its plane; 0: one slice" },
  { "label", PLA_PARAM_INT, NULL, 0, 65535, NULL, "id to paint; 0 erases" },
  { "only", PLA_PARAM_INT, NULL, -1, 65535, "-1", "change only voxels with this id; -1: all" },
  { NULL },
};

const PlaVerb pla_verb_fill_outline = {
  .name = "fill-outline",
  .title = "Fill Outline",
  .summary = "paints or erases a label inside an outline drawn on a slice",
  .params = outline_params,
  .run = run_outline,
};

/* ---- region growing ---- */

static PlaStatus
edit_grow(PlaWork *work, PlaLabelMap *map, size_t *n_changed, PlaError *err)
{
  const double reach = pla_work_number(work, "reach_mm");
  PlaGrow grow = { .lo = pla_work_is_null(work, "lo") ? -INFINITY : pla_work_number(work, "lo"),
                   .hi = pla_work_is_null(work, "hi") ? INFINITY : pla_work_number(work, "hi"),
                   .reach_mm = reach > 0.0 ? reach : INFINITY,
                   .connectivity = PLA_CONNECT_FACES,
                   .label = pla_work_int(work, "label"),
                   .only = pla_work_int(work, "only") };
  g_autoptr(PlaContent) image = NULL;
  PlaLabelChange change = { 0 };
  PlaStatus st = PLA_OK;
  int n_seeds;
  g_autofree double *seeds = pla_work_points(work, "seeds_mm", &n_seeds);
  if (!pla_work_is_null(work, "image")) {
    int64_t item;
    st = pla_work_item(work, "image", PLA_ITEM_VOLUME, &item, err);
    if (st == PLA_OK)
      st = pla_work_load(work, item, &image, err);
  }
  if (st == PLA_OK)
    st = pla_label_edit_grow(map, image ? image->volume : NULL, pla_work_int(work, "frame"), seeds,
                             n_seeds, &grow, pla_work_progress(work), &change, err);
  *n_changed = change.n_changed;
  return st == PLA_OK ? name_label(map, grow.label, err) : st;
}

static PlaStatus
run_grow(PlaWork *work, PlaError *err)
{
  return edit_labels(work, edit_grow, "region growing", err);
}

static const PlaVerbParam grow_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map" },
  { "seeds_mm", PLA_PARAM_POINTS, "mm", 0, 0, NULL, "where to begin: points in RAS" },
  { "image", PLA_PARAM_ITEM, NULL, 0, 0, "null",
    "the volume whose values decide; null: labels alone" },
  { "frame", PLA_PARAM_INT, NULL, 0, 1000000, "0", "frame of the image" },
  { "lo", PLA_PARAM_NUMBER, NULL, 0, 0, "null", "least value taken" },
  { "hi", PLA_PARAM_NUMBER, NULL, 0, 0, "null", "greatest value taken" },
  { "reach_mm", PLA_PARAM_NUMBER, "mm", 0, 10000, "0",
    "no further than this from a seed; 0: anywhere" },
  { "label", PLA_PARAM_INT, NULL, 0, 65535, NULL, "id to paint; 0 erases" },
  { "only", PLA_PARAM_INT, NULL, -1, 65535, "-1",
    "change only voxels with this id; -1: with the id of a seed" },
  { NULL },
};

const PlaVerb pla_verb_grow_label = {
  .name = "grow-label",
  .title = "Grow Region",
  .summary = "paints the region connected to seeds with values in a range",
  .params = grow_params,
  .run = run_grow,
};

/* ---- slices in between ---- */

/* the index axis that points most along a patient axis: of sagittal, coronal and axial slices */
static PlaStatus
slice_axis(const PlaVolume *vol, const char *name, int *axis, PlaError *err)
{
  static const char *const names[] = { "sagittal", "coronal", "axial" };
  for (int d = 0; d < 3; d++) {
    if (strcmp(name, names[d]) != 0)
      continue;
    double spacing[3];
    pla_volume_spacing_mm(vol, spacing);
    *axis = 0;
    for (int c = 1; c < 3; c++)
      if (fabs(vol->affine_mm[4 * d + c]) / spacing[c] >
          fabs(vol->affine_mm[4 * d + *axis]) / spacing[*axis])
        *axis = c;
    return PLA_OK;
  }
  return pla_fail(err, PLA_ERR_USAGE, "slices are axial, coronal or sagittal, not '%s'", name);
}

static PlaStatus
edit_between(PlaWork *work, PlaLabelMap *map, size_t *n_changed, PlaError *err)
{
  PlaLabelChange change = { 0 };
  int axis = 0;
  PlaStatus st = slice_axis(map->volume, pla_work_text(work, "slices"), &axis, err);
  if (st == PLA_OK)
    st = pla_label_edit_between(map, axis, pla_work_int(work, "from"), pla_work_int(work, "to"),
                                pla_work_int(work, "label"), pla_work_int(work, "only"),
                                pla_work_progress(work), &change, err);
  *n_changed = change.n_changed;
  return st;
}

static PlaStatus
run_between(PlaWork *work, PlaError *err)
{
  return edit_labels(work, edit_between, "filling between slices", err);
}

static const PlaVerbParam between_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map" },
  { "label", PLA_PARAM_INT, NULL, 1, 65535, NULL, "id that is painted on some slices" },
  { "slices", PLA_PARAM_TEXT, NULL, 0, 0, "\"axial\"", "axial, coronal or sagittal" },
  { "from", PLA_PARAM_INT, NULL, -1, 1000000, "-1", "first slice, from 0; -1: all of them" },
  { "to", PLA_PARAM_INT, NULL, -1, 1000000, "-1", "last slice" },
  { "only", PLA_PARAM_INT, NULL, -1, 65535, "-1", "change only voxels with this id; -1: all" },
  { NULL },
};

const PlaVerb pla_verb_interpolate_slices = {
  .name = "interpolate-slices",
  .title = "Fill Between Slices",
  .summary = "fills the slices between painted ones by the shape of their outlines",
  .params = between_params,
  .run = run_between,
};

/* ---- pieces ---- */

static PlaConnectivity
read_connectivity(const PlaWork *work)
{
  return pla_work_bool(work, "corners") ? PLA_CONNECT_CORNERS : PLA_CONNECT_FACES;
}

static PlaStatus
edit_split(PlaWork *work, PlaLabelMap *map, size_t *n_changed, PlaError *err)
{
  PlaLabelChange change = { 0 };
  JsonArray *list = pla_work_list(work, "to");
  const PlaLabelTable *table = &map->table;
  int n_seeds, next = table->n > 0 ? table->label[table->n - 1].id + 1 : 1;
  g_autofree double *seeds = pla_work_points(work, "seeds_mm", &n_seeds);
  g_autofree int *ids = g_new(int, (gsize)n_seeds);
  const guint n_given = json_array_get_length(list);
  if (n_given != 0 && n_given != (guint)n_seeds)
    return pla_fail(err, PLA_ERR_USAGE, "\"to\" names %u labels for %d seeds", n_given, n_seeds);
  for (int s = 0; s < n_seeds; s++) {
    JsonNode *node = n_given ? json_array_get_element(list, (guint)s) : NULL;
    if (node && (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64 ||
                 json_node_get_int(node) < 0 || json_node_get_int(node) > 65535))
      return pla_fail(err, PLA_ERR_USAGE, "\"to\" lists ids of labels, 0 to 65535");
    ids[s] = node ? (int)json_node_get_int(node) : next + s;
    if (ids[s] > 65535)
      return pla_fail(err, PLA_ERR_USAGE, "there is no free label id above %d", next - 1);
  }
  PlaStatus st =
      pla_label_edit_split(map, pla_work_int(work, "label"), seeds, ids, n_seeds,
                           read_connectivity(work), pla_work_progress(work), &change, err);
  for (int s = 0; st == PLA_OK && s < n_seeds; s++)
    st = name_label(map, ids[s], err);
  *n_changed = change.n_changed;
  return st;
}

static PlaStatus
run_split(PlaWork *work, PlaError *err)
{
  return edit_labels(work, edit_split, "the division", err);
}

static const PlaVerbParam split_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map" },
  { "label", PLA_PARAM_INT, NULL, 1, 65535, NULL, "id to divide" },
  { "seeds_mm", PLA_PARAM_POINTS, "mm", 0, 0, NULL, "one point in each part" },
  { "to", PLA_PARAM_LIST, NULL, 0, 0, "[]", "ids of the parts, one a seed; empty: new ones" },
  { "corners", PLA_PARAM_BOOL, NULL, 0, 0, "false", "voxels are also connected by corners" },
  { NULL },
};

const PlaVerb pla_verb_split_label = {
  .name = "split-label",
  .title = "Split Label",
  .summary = "divides a label between seeds, at its necks",
  .params = split_params,
  .run = run_split,
};

static PlaStatus
edit_keep(PlaWork *work, PlaLabelMap *map, size_t *n_changed, PlaError *err)
{
  PlaLabelChange change = { 0 };
  int n_seeds = 0, other = pla_work_int(work, "other");
  g_autofree double *seeds =
      pla_work_is_null(work, "seeds_mm") ? NULL : pla_work_points(work, "seeds_mm", &n_seeds);
  PlaStatus st =
      pla_label_edit_keep(map, pla_work_int(work, "label"), seeds, n_seeds, other,
                          read_connectivity(work), pla_work_progress(work), &change, err);
  *n_changed = change.n_changed;
  return st == PLA_OK ? name_label(map, other, err) : st;
}

static PlaStatus
run_keep(PlaWork *work, PlaError *err)
{
  return edit_labels(work, edit_keep, "keeping pieces", err);
}

static const PlaVerbParam keep_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map" },
  { "label", PLA_PARAM_INT, NULL, 1, 65535, NULL, "id whose pieces are meant" },
  { "seeds_mm", PLA_PARAM_POINTS, "mm", 0, 0, "null",
    "a point in each piece to keep; null: the largest" },
  { "other", PLA_PARAM_INT, NULL, 0, 65535, "0", "id for the other pieces; 0 erases" },
  { "corners", PLA_PARAM_BOOL, NULL, 0, 0, "true", "voxels are also connected by corners" },
  { NULL },
};

const PlaVerb pla_verb_keep_component = {
  .name = "keep-component",
  .title = "Keep Component",
  .summary = "keeps pieces of a label and erases or renames the others",
  .params = keep_params,
  .run = run_keep,
};

/* ---- mirroring ---- */

static PlaStatus
edit_mirror(PlaWork *work, PlaLabelMap *map, size_t *n_changed, PlaError *err)
{
  PlaLabelChange change = { 0 };
  double point[3], normal[3];
  const int from = pla_work_int(work, "label");
  const int to = pla_work_is_null(work, "to") ? from : pla_work_int(work, "to");
  pla_work_point(work, "point_mm", point);
  pla_work_point(work, "normal", normal);
  PlaStatus st =
      pla_label_edit_mirror(map, from, point, normal, to, pla_work_int(work, "only"), &change, err);
  *n_changed = change.n_changed;
  return st == PLA_OK ? name_label(map, to, err) : st;
}

static PlaStatus
run_mirror(PlaWork *work, PlaError *err)
{
  return edit_labels(work, edit_mirror, "mirroring", err);
}

static const PlaVerbParam mirror_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map" },
  { "label", PLA_PARAM_INT, NULL, 1, 65535, NULL, "id to mirror" },
  { "to", PLA_PARAM_INT, NULL, 0, 65535, "null", "id of the image; null: the same" },
  { "point_mm", PLA_PARAM_POINT, "mm", 0, 0, "[0, 0, 0]", "a point of the plane, in RAS" },
  { "normal", PLA_PARAM_POINT, NULL, 0, 0, "[1, 0, 0]", "direction across the plane" },
  { "only", PLA_PARAM_INT, NULL, -1, 65535, "0", "change only voxels with this id; -1: all" },
  { NULL },
};

const PlaVerb pla_verb_mirror_label = {
  .name = "mirror-label",
  .title = "Mirror Label",
  .summary = "paints the mirror image of a label",
  .params = mirror_params,
  .run = run_mirror,
};
