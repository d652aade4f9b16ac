/* Named points: tables, phantoms, takes; pairs of them; what a warp does to muscles. */
#include "app/motion/landmark-table.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "io/stream/output.h"
#include "io/stream/text-table.h"

#include <math.h>
#include <string.h>

enum { MOST = 100000 };

void
pla_landmarks_clear(PlaLandmarks *self)
{
  for (int i = 0; i < self->n; i++)
    g_free(self->name[i]);
  g_free(self->name);
  g_free(self->pos_mm);
  memset(self, 0, sizeof *self);
}

void
pla_landmarks_add(PlaLandmarks *self, const char *name, const double pos_mm[3])
{
  self->name = g_renew(char *, self->name, self->n + 1);
  self->pos_mm = g_renew(double, self->pos_mm, 3 * (self->n + 1));
  self->name[self->n] = g_strdup(name);
  memcpy(self->pos_mm + 3 * self->n++, pos_mm, 3 * sizeof *pos_mm);
}

int
pla_landmarks_find(const PlaLandmarks *self, const char *name)
{
  for (int i = 0; i < self->n; i++)
    if (strcmp(self->name[i], name) == 0)
      return i;
  return -1;
}

/* one line; *skip for one that holds no numbers and is the first */
static PlaStatus
read_line(const PlaText *line, char separator, bool first, PlaLandmarks *out, bool *skip,
          PlaError *err)
{
  PlaCells cells;
  PlaCell cell;
  double pos[3];
  *skip = false;
  pla_cells_init(&cells, line, separator);
  if (!pla_cells_next(&cells, &cell) || !cell.at || cell.at == cell.end)
    return pla_fail(err, PLA_ERR_FORMAT, "it has no name");
  g_autofree char *name = g_strndup(cell.at, (gsize)(cell.end - cell.at));
  pla_cell_undouble_quotes(name);
  pla_cell_drop_apostrophe(name);
  if (name[0] == '\0' || strpbrk(name, "\r") || memchr(cell.at, '\0', (size_t)(cell.end - cell.at)))
    return pla_fail(err, PLA_ERR_FORMAT, "its name is empty or has a control character in it");
  for (int d = 0; d < 3; d++) {
    if (!pla_cells_next(&cells, &cell) || !cell.at)
      return pla_fail(err, PLA_ERR_FORMAT, "it has fewer than four columns: name, x, y, z");
    if (pla_cell_number(&cell, separator != ',', &pos[d]) != PLA_CELL_IS_NUMBER) {
      *skip = first && d == 0;
      return *skip ? PLA_OK
                   : pla_fail(err, PLA_ERR_FORMAT, "'%.*s' is no coordinate", pla_cell_quote(&cell),
                              cell.at);
    }
  }
  if (!g_utf8_validate(name, -1, NULL))
    return pla_fail(err, PLA_ERR_FORMAT, "its name is no UTF-8 text");
  if (pla_landmarks_find(out, name) >= 0)
    return pla_fail(err, PLA_ERR_FORMAT, "'%s' is listed twice", name);
  if (out->n >= MOST)
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "there are more than %d landmarks", MOST);
  pla_landmarks_add(out, name, pos);
  return PLA_OK;
}

PlaStatus
pla_landmarks_read(const char *path, PlaLandmarks *out, PlaError *err)
{
  PlaLines *lines = NULL;
  PlaText line;
  memset(out, 0, sizeof *out);
  PlaStatus st = pla_lines_open(path, NULL, &lines, err);
  bool first = true;
  char separator = 0;
  for (int number = 1; st == PLA_OK; number++) {
    st = pla_lines_next(lines, &line, err);
    if (st != PLA_OK || !line.at)
      break;
    if (pla_line_is_blank(&line) || *line.at == '#')
      continue;
    if (!separator) {
      static const char kinds[] = "\t;,";
      for (const char *k = kinds; *k && !separator; k++)
        if (pla_cells_count(&line, *k) >= 4)
          separator = *k;
      if (!separator)
        separator = ',';
    }
    bool skip;
    st = read_line(&line, separator, first, out, &skip, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s, line %d", path, number);
    first = false;
  }
  pla_lines_free(lines);
  if (st == PLA_OK && out->n == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "%s holds no landmarks; write lines of name, x, y, z in mm",
                  path);
  if (st != PLA_OK)
    pla_landmarks_clear(out);
  return st;
}

/* one cell: always quoted, so that it keeps blanks in front; a line holds no line end */
static void
put_name(GString *text, const char *name)
{
  g_autofree char *line = g_strdelimit(g_strdup(name), "\n\r", ' ');
  g_string_append_printf(text, "\"%s", pla_cell_needs_apostrophe(line) ? "'" : "");
  for (const char *c = line; *c; c++) {
    if (*c == '"')
      g_string_append_c(text, '"');
    g_string_append_c(text, *c);
  }
  g_string_append_c(text, '"');
}

PlaStatus
pla_landmarks_write(const char *path, const PlaLandmarks *self, PlaError *err)
{
  g_autoptr(GString) text = g_string_new("name,x_mm,y_mm,z_mm\n");
  for (int i = 0; i < self->n; i++) {
    char number[3][32];
    for (int d = 0; d < 3; d++)
      pla_format_double(self->pos_mm[3 * i + d], number[d]);
    put_name(text, self->name[i]);
    g_string_append_printf(text, ",%s,%s,%s\n", number[0], number[1], number[2]);
  }
  return pla_output_write(path, text->str, text->len, err);
}

void
pla_landmarks_from_phantom(const PlaPhantom *phantom, PlaLandmarks *out)
{
  memset(out, 0, sizeof *out);
  for (int i = 0; i < phantom->n_landmarks; i++)
    pla_landmarks_add(out, phantom->landmark[i].name, phantom->landmark[i].pos_mm);
}

PlaStatus
pla_landmarks_from_take(const PlaTake *take, int frame, PlaLandmarks *out, PlaError *err)
{
  memset(out, 0, sizeof *out);
  if (frame < 0 || frame >= take->n_frames)
    return pla_fail(err, PLA_ERR_USAGE, "There is no frame %d; the recording has frames 0 to %d.",
                    frame, take->n_frames - 1);
  for (int m = 0; m < take->n_markers; m++) {
    const double *p = take->pos + 3 * ((size_t)frame * (size_t)take->n_markers + (size_t)m);
    const double mm[3] = { 1000.0 * p[0], 1000.0 * p[1], 1000.0 * p[2] };
    if (isfinite(mm[0] + mm[1] + mm[2]))
      pla_landmarks_add(out, take->name[m], mm);
  }
  return PLA_OK;
}

PlaStatus
pla_landmarks_from_json(PlaJson list, PlaLandmarks *out, PlaError *err)
{
  static const char *const known[] = { "name", "at_mm", NULL };
  memset(out, 0, sizeof *out);
  PlaStatus st = PLA_OK;
  for (int i = 0; i < pla_json_length(list) && st == PLA_OK; i++) {
    g_autofree char *name = NULL;
    PlaJson one, at;
    double pos[3];
    st = pla_json_at(list, i, &one, err);
    if (st == PLA_OK)
      st = pla_json_check_keys(one, known, err);
    for (int k = 0; k < 2 && st == PLA_OK; k++) {
      if (!pla_json_get(one, known[k], &at))
        st = pla_json_fail(one, err, "needs \"%s\"", known[k]);
      else
        st = k == 0 ? pla_json_text_value(at, &name, err) : pla_json_vector(at, 3, pos, err);
    }
    if (st == PLA_OK && pla_landmarks_find(out, name) >= 0)
      st = pla_json_fail(one, err, "names '%s' a second time", name);
    if (st == PLA_OK)
      pla_landmarks_add(out, name, pos);
  }
  if (st != PLA_OK)
    pla_landmarks_clear(out);
  return st;
}

JsonArray *
pla_landmarks_to_json(const PlaLandmarks *self)
{
  JsonArray *list = json_array_new();
  for (int i = 0; i < self->n; i++) {
    JsonObject *one = json_object_new();
    json_object_set_string_member(one, "name", self->name[i]);
    json_object_set_array_member(one, "at_mm", pla_json_array_of(self->pos_mm + 3 * i, 3));
    json_array_add_object_element(list, one);
  }
  return list;
}

PlaContent *
pla_landmarks_to_content(const PlaLandmarks *self)
{
  PlaContent *content = pla_content_new(PLA_ITEM_LANDMARKS);
  json_object_set_array_member(content->meta, "landmarks", pla_landmarks_to_json(self));
  return content;
}

PlaStatus
pla_landmarks_read_content(const char *path, PlaContent **out, PlaError *err)
{
  PlaLandmarks mark;
  PlaStatus st = pla_landmarks_read(path, &mark, err);
  if (st == PLA_OK) {
    *out = pla_landmarks_to_content(&mark);
    pla_landmarks_clear(&mark);
  }
  return st;
}

PlaStatus
pla_landmarks_from_content(const PlaContent *content, int frame, PlaLandmarks *out, PlaError *err)
{
  memset(out, 0, sizeof *out);
  if (content->take)
    return pla_landmarks_from_take(content->take, frame, out, err);
  if (strcmp(content->kind, PLA_ITEM_LANDMARKS) != 0)
    return pla_fail(err, PLA_ERR_USAGE,
                    "it is a %s; a table of landmarks or a recording of markers is needed",
                    content->kind);
  JsonNode *node = json_object_get_member(content->meta, "landmarks");
  if (!node)
    return pla_fail(err, PLA_ERR_FORMAT, "it has no list of landmarks");
  return pla_landmarks_from_json((PlaJson){ .node = node, .path = "landmarks" }, out, err);
}

void
pla_landmark_pairs_init(PlaLandmarkPairs *self, const PlaLandmarks *first,
                        const PlaLandmarks *second)
{
  memset(self, 0, sizeof *self);
  for (int s = 0; s < 2; s++) {
    self->index[s] = g_new0(int, first->n + 1);
    self->pos_mm[s] = g_new0(double, 3 * first->n + 1);
  }
  for (int i = 0; i < first->n; i++) {
    const int k = pla_landmarks_find(second, first->name[i]);
    if (k < 0)
      continue;
    self->index[0][self->n] = i;
    self->index[1][self->n] = k;
    memcpy(self->pos_mm[0] + 3 * self->n, first->pos_mm + 3 * i, 3 * sizeof(double));
    memcpy(self->pos_mm[1] + 3 * self->n, second->pos_mm + 3 * k, 3 * sizeof(double));
    self->n++;
  }
}

void
pla_landmark_pairs_clear(PlaLandmarkPairs *self)
{
  for (int s = 0; s < 2; s++) {
    g_free(self->index[s]);
    g_free(self->pos_mm[s]);
  }
  memset(self, 0, sizeof *self);
}

/* a section keeps its frame: across and normal are carried, and their lengths with them */
static void
warp_section(const PlaWarp *warp, PlaMuscleHead *head, int i)
{
  const int a = i > 0 ? i - 1 : 0, b = i + 1 < head->n_points ? i + 1 : i;
  double j[9], along[3], across[3], normal[3];
  pla_warp_jacobian(warp, head->pos_mm + 3 * i, j);
  pla_vec3_sub(head->pos_mm + 3 * b, head->pos_mm + 3 * a, along);
  pla_vec3_cross(along, head->normal + 3 * i, across);
  const double l = pla_vec3_norm(across);
  for (int d = 0; d < 3 && l > 0.0; d++)
    across[d] /= l;
  pla_mat3_apply(j, across, across);
  pla_mat3_apply(j, along, along);
  pla_mat3_apply(j, head->normal + 3 * i, normal);
  if (head->half_width_mm && l > 0.0)
    head->half_width_mm[i] *= pla_vec3_norm(across);
  /* the thickness is measured square to the carried band */
  double square[3];
  pla_vec3_cross(across, along, square);
  const double s = pla_vec3_norm(square);
  for (int d = 0; d < 3 && s > 0.0; d++)
    square[d] /= s;
  const double thick = pla_vec3_dot(normal, square);
  for (int d = 0; d < 3 && s > 0.0; d++)
    head->normal[3 * i + d] = thick < 0.0 ? -square[d] : square[d];
  if (head->half_thick_mm && s > 0.0)
    head->half_thick_mm[i] *= fabs(thick);
}

void
pla_warp_muscles(const PlaWarp *warp, PlaMuscleList *list)
{
  for (int m = 0; m < list->n; m++) {
    PlaMuscle *muscle = &list->muscle[m];
    for (int h = 0; h < muscle->n_heads; h++) {
      PlaMuscleHead *head = &muscle->head[h];
      for (int i = 0; i < head->n_points && head->normal; i++)
        warp_section(warp, head, i);
      pla_warp_apply(warp, head->n_points, head->pos_mm, head->pos_mm);
    }
    for (int t = 0; t < muscle->n_tendons; t++) {
      PlaMuscleTendon *tendon = &muscle->tendon[t];
      double *end[2] = { tendon->from_mm, tendon->to_mm };
      for (int e = 0; e < 2; e++) {
        double j[9];
        pla_warp_jacobian(warp, end[e], j);
        tendon->radius_mm[e] *= cbrt(fmax(pla_mat3_det(j), 0.0));
        pla_warp_apply(warp, 1, end[e], end[e]);
      }
    }
  }
}

void
pla_warp_volume_range(const PlaWarp *warp, int n, const double *pos_mm, double range[2])
{
  range[0] = INFINITY;
  range[1] = -INFINITY;
  for (int i = 0; i < n; i++) {
    double j[9];
    pla_warp_jacobian(warp, pos_mm + 3 * (size_t)i, j);
    const double det = pla_mat3_det(j);
    range[0] = fmin(range[0], det);
    range[1] = fmax(range[1], det);
  }
}
