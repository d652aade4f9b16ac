/* Notes, landmarks and measurements: small items that hold JSON. */
#include "app/operations/operations.h"

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

static JsonArray *
numbers(const double *value, int n)
{
  JsonArray *array = json_array_new();
  for (int i = 0; i < n; i++)
    json_array_add_double_element(array, value[i]);
  return array;
}

static PlaStatus
run_note(PlaWork *work, PlaError *err)
{
  PlaContent *content = pla_content_new(PLA_ITEM_NOTE);
  json_object_set_string_member(content->meta, "text", pla_work_text(work, "text"));
  return put(work, pla_work_text(work, "name"), content, err);
}

static const PlaOpParam note_params[] = {
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, NULL, "title of the note" },
  { "text", PLA_PARAM_TEXT, NULL, 0, 100000, NULL, "what it says" },
  { NULL },
};

const PlaOperation pla_operation_note = {
  .verb = "note",
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
  json_object_set_array_member(content->meta, "at_mm", numbers(at, 3));
  return put(work, pla_work_text(work, "name"), content, err);
}

static const PlaOpParam landmark_params[] = {
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, NULL, "its name, such as nasion" },
  { "at_mm", PLA_PARAM_POINT, "mm", 0, 0, NULL, "its place in RAS" },
  { NULL },
};

const PlaOperation pla_operation_landmark = {
  .verb = "landmark",
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

static PlaStatus
run_measure(PlaWork *work, PlaError *err)
{
  int n;
  g_autofree double *points = pla_work_points(work, "points_mm", &n);
  const char *what = pla_work_text(work, "what");
  bool distance = strcmp(what, "distance") == 0, angle = strcmp(what, "angle") == 0;
  if (!distance && !angle && strcmp(what, "path") != 0)
    return pla_fail(err, PLA_ERR_USAGE, "\"what\" is distance, angle or path, not '%s'", what);
  if ((distance && n != 2) || (angle && n != 3) || n < 2)
    return pla_fail(err, PLA_ERR_USAGE, "%s %s needs %s points, not %d", angle ? "an" : "a", what,
                    distance ? "two"
                    : angle  ? "three"
                             : "at least two",
                    n);
  double value = angle ? angle_deg(points, points + 3, points + 6) : path_mm(points, n);
  if (isnan(value))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "two of the points of the angle coincide; set them apart");

  PlaContent *content = pla_content_new(PLA_ITEM_MEASUREMENT);
  JsonArray *list = json_array_new();
  for (int i = 0; i < n; i++)
    json_array_add_array_element(list, numbers(points + 3 * i, 3));
  json_object_set_string_member(content->meta, "what", what);
  json_object_set_array_member(content->meta, "points_mm", list);
  json_object_set_double_member(content->meta, angle ? "angle_deg" : "length_mm", value);
  return put(work, pla_work_text(work, "name"), content, err);
}

static const PlaOpParam measure_params[] = {
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, NULL, "name of the measurement" },
  { "what", PLA_PARAM_TEXT, NULL, 0, 0, "\"distance\"",
    "distance, angle (at the second point) or path" },
  { "points_mm", PLA_PARAM_POINTS, "mm", 0, 0, NULL, "its points in RAS" },
  { NULL },
};

const PlaOperation pla_operation_measure = {
  .verb = "measure",
  .title = "Measure",
  .summary = "a distance, an angle or the length of a path",
  .params = measure_params,
  .run = run_measure,
};
