/* Notes, landmarks and measurements: small items that hold JSON. */
#include "app/base/json.h"
#include "app/verbs/verbs.h"

#include <math.h>
#include <string.h>

/* puts @content under @name, in place of an item of the same name and kind */
static PlaStatus
put(PlaWork *work, const char *name, PlaContent *content, PlaError *err)
{
  int64_t item = pla_work_find(work, name);
  if (item == 0) {
    pla_work_add(work, name, content);
    return PLA_OK;
  }
  if (strcmp(pla_work_item_kind(work, item), content->kind) != 0) {
    PlaStatus st = pla_fail(err, PLA_ERR_USAGE, "'%s' is a %s already; choose another name", name,
                            pla_work_item_kind(work, item));
    pla_content_unref(content);
    return st;
  }
  pla_work_replace(work, item, content);
  return PLA_OK;
}

static PlaStatus
run_note(PlaWork *work, PlaError *err)
{
  PlaContent *content = pla_content_new(PLA_ITEM_NOTE);
  json_object_set_string_member(content->meta, "text", pla_work_text(work, "text"));
  if (!pla_work_is_null(work, "at_mm")) {
    double at[3];
    pla_work_point(work, "at_mm", at);
    json_object_set_array_member(content->meta, "at_mm", pla_json_array_of(at, 3));
  }
  return put(work, pla_work_text(work, "name"), content, err);
}

static const PlaVerbParam note_params[] = {
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, NULL, "title of the note" },
  { "text", PLA_PARAM_TEXT, NULL, 0, 100000, NULL, "what it says" },
  { "at_mm", PLA_PARAM_POINT, "mm", 0, 0, "null", "the place it is about, in RAS" },
  { NULL },
};

const PlaVerb pla_verb_note = {
  .name = "note",
  .title = "Note",
  .summary = "writes or replaces a note",
  .params = note_params,
  .run = run_note,
};

static PlaStatus
run_landmark(PlaWork *work, PlaError *err)
{
  double at[3];
  PlaContent *content = pla_content_new(PLA_ITEM_LANDMARK);
  pla_work_point(work, "at_mm", at);
  json_object_set_array_member(content->meta, "at_mm", pla_json_array_of(at, 3));
  return put(work, pla_work_text(work, "name"), content, err);
}

static const PlaVerbParam landmark_params[] = {
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, NULL, "its name, such as nasion" },
  { "at_mm", PLA_PARAM_POINT, "mm", 0, 0, NULL, "its place in RAS" },
  { NULL },
};

const PlaVerb pla_verb_landmark = {
  .name = "landmark",
  .title = "Landmark",
  .summary = "sets or moves a named point",
  .params = landmark_params,
  .run = run_landmark,
};

/* angle at @b between @a and @c, degrees; NAN where two points coincide */
static double
angle_deg(const double a[3], const double b[3], const double c[3])
{
  double u[3], v[3], dot = 0.0, cross2 = 0.0, uu = 0.0, vv = 0.0;
  for (int d = 0; d < 3; d++) {
    u[d] = a[d] - b[d];
    v[d] = c[d] - b[d];
    dot += u[d] * v[d];
    uu += u[d] * u[d];
    vv += v[d] * v[d];
  }
  for (int d = 0; d < 3; d++) {
    double x = u[(d + 1) % 3] * v[(d + 2) % 3] - u[(d + 2) % 3] * v[(d + 1) % 3];
    cross2 += x * x;
  }
  /* exact near 0 and 180 degrees, where acos is not */
  return uu > 0.0 && vv > 0.0 ? atan2(sqrt(cross2), dot) * (180.0 / G_PI) : NAN;
}

static double
path_mm(const double *points, int n)
{
  double sum = 0.0;
  for (int i = 1; i < n; i++) {
    double dist2 = 0.0;
    for (int d = 0; d < 3; d++) {
      double step = points[3 * i + d] - points[3 * (i - 1) + d];
      dist2 += step * step;
    }
    sum += sqrt(dist2);
  }
  return sum;
}

/* the volume of a label, or of a solid or closed mesh, mm^3 */
static PlaStatus
measure_volume(PlaWork *work, double *out, char **of, PlaError *err)
{
  int64_t item = 0;
  g_autoptr(PlaContent) content = NULL;
  if (pla_work_is_null(work, "item"))
    return pla_fail(err, PLA_ERR_USAGE, "a volume needs \"item\": a label map or a mesh");
  PlaStatus st = pla_work_item(work, "item", NULL, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &content, err);
  if (st != PLA_OK)
    return st;
  const char *name = pla_work_text(work, "item");
  if (content->labels) {
    const PlaLabelMap *map = content->labels;
    const char *wanted = pla_work_text(work, "label");
    const PlaLabel *label = wanted ? pla_label_table_find_name(&map->table, wanted) : NULL;
    if (!label)
      return pla_fail(err, PLA_ERR_USAGE, "\"label\" must name one of the labels of '%s'%s%s%s",
                      name, wanted ? "; there is no '" : "", wanted ? wanted : "",
                      wanted ? "'" : "");
    g_autofree size_t *counts = g_new(size_t, 65536);
    pla_label_map_count(map, counts);
    *out = (double)counts[label->id] * pla_volume_voxel_mm3(map->volume);
    *of = g_strdup_printf("%s in %s", label->name, name);
    return PLA_OK;
  }
  if (!content->mesh)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' is neither a label map nor a mesh: it has no volume",
                    name);
  PlaMeshSummary sum;
  st = pla_mesh_summary(content->mesh, &sum, err);
  if (st == PLA_OK && content->mesh->n_tets + content->mesh->n_hexes == 0 && !sum.closed)
    st = pla_fail(err, PLA_ERR_GEOMETRY,
                  "the surface '%s' is open, so it encloses no volume; close it first", name);
  *out = sum.volume_m3 * 1e9;
  *of = g_strdup(name);
  return st;
}

static PlaStatus
run_measure(PlaWork *work, PlaError *err)
{
  const char *what = pla_work_text(work, "what");
  const bool distance = strcmp(what, "distance") == 0, angle = strcmp(what, "angle") == 0,
             volume = strcmp(what, "volume") == 0;
  int n = 0;
  g_autofree double *points =
      pla_work_is_null(work, "points_mm") ? NULL : pla_work_points(work, "points_mm", &n);
  g_autofree char *of = NULL;
  double value = 0.0;
  if (!distance && !angle && !volume && strcmp(what, "path") != 0)
    return pla_fail(err, PLA_ERR_USAGE, "\"what\" is distance, angle, path or volume, not '%s'",
                    what);
  if (volume) {
    PlaStatus st = measure_volume(work, &value, &of, err);
    if (st != PLA_OK)
      return st;
  } else {
    if ((distance && n != 2) || (angle && n != 3) || n < 2)
      return pla_fail(err, PLA_ERR_USAGE, "%s %s needs %s points, not %d", angle ? "an" : "a", what,
                      distance ? "two"
                      : angle  ? "three"
                               : "at least two",
                      n);
    value = angle ? angle_deg(points, points + 3, points + 6) : path_mm(points, n);
    if (isnan(value))
      return pla_fail(err, PLA_ERR_GEOMETRY,
                      "two of the points of the angle coincide; set them apart");
  }

  PlaContent *content = pla_content_new(PLA_ITEM_MEASUREMENT);
  json_object_set_string_member(content->meta, "what", what);
  if (n > 0) {
    JsonArray *list = json_array_new();
    for (int i = 0; i < n; i++)
      json_array_add_array_element(list, pla_json_array_of(points + 3 * i, 3));
    json_object_set_array_member(content->meta, "points_mm", list);
  }
  if (of)
    json_object_set_string_member(content->meta, "of", of);
  json_object_set_double_member(content->meta,
                                volume  ? "volume_mm3"
                                : angle ? "angle_deg"
                                        : "length_mm",
                                value);
  return put(work, pla_work_text(work, "name"), content, err);
}

static const PlaVerbParam measure_params[] = {
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, NULL, "name of the measurement" },
  { "what", PLA_PARAM_TEXT, NULL, 0, 0, "\"distance\"",
    "distance, angle (at the second point), path, or volume" },
  { "points_mm", PLA_PARAM_POINTS, "mm", 0, 0, "null", "its points in RAS; none for a volume" },
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, "null", "of a volume: the label map or mesh" },
  { "label", PLA_PARAM_TEXT, NULL, 1, 200, "null", "of a volume: the label's name" },
  { NULL },
};

const PlaVerb pla_verb_measure = {
  .name = "measure",
  .title = "Measure",
  .summary = "a distance, an angle, the length of a path, or a volume",
  .params = measure_params,
  .run = run_measure,
};
