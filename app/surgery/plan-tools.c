/* The tools of a plan, as its JSON tells them. */
#include "app/surgery/plan-private.h"

#include "anatomy/base/mat3.h"
#include "sim/solve/solve.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* ---- values ---- */

PlaStatus
pla_plan_need(PlaJson object, const char *key, PlaJson *out, PlaError *err)
{
  return pla_json_get(object, key, out) ? PLA_OK : pla_json_fail(object, err, "needs \"%s\"", key);
}

PlaStatus
pla_plan_text(PlaJson object, const char *key, char **out, PlaError *err)
{
  PlaJson value;
  PlaStatus st = pla_plan_need(object, key, &value, err);
  return st == PLA_OK ? pla_json_text_value(value, out, err) : st;
}

PlaStatus
pla_plan_number(PlaJson object, const char *key, bool optional, double min, double max, double *out,
                PlaError *err)
{
  PlaJson value;
  double number = 0.0;
  if (optional && !pla_json_has(object, key))
    return PLA_OK;
  PlaStatus st = pla_plan_need(object, key, &value, err);
  if (st == PLA_OK)
    st = pla_json_number_value(value, &number, err);
  if (st == PLA_OK && !(number >= min && number <= max))
    st = pla_json_fail(value, err, "is %g and must lie between %g and %g", number, min, max);
  if (st == PLA_OK)
    *out = number;
  return st;
}

PlaStatus
pla_plan_mm(PlaJson object, const char *key, bool optional, double min, double max, double *out,
            PlaError *err)
{
  double mm = 0.0;
  if (optional && !pla_json_has(object, key))
    return PLA_OK;
  PlaStatus st = pla_plan_number(object, key, false, min, max, &mm, err);
  if (st == PLA_OK)
    *out = 1e-3 * mm;
  return st;
}

PlaStatus
pla_plan_path(PlaJson object, const char *key, double **out, int *n, PlaError *err)
{
  PlaJson list, point;
  PlaStatus st = pla_plan_need(object, key, &list, err);
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

PlaStatus
pla_plan_point(PlaJson object, const char *key, double out[3], PlaError *err)
{
  PlaJson value;
  PlaStatus st = pla_plan_need(object, key, &value, err);
  if (st == PLA_OK)
    st = pla_json_vector(value, 3, out, err);
  for (int d = 0; st == PLA_OK && d < 3; d++)
    out[d] *= 1e-3;
  return st;
}

/* ---- wounds that are known while a plan is only read ---- */

void
pla_plan_add_wound(PlaPlanRun *run, const char *name, PlaStatus st)
{
  if (st == PLA_OK && run->wounds)
    g_hash_table_add(run->wounds, g_strdup(name));
}

PlaStatus
pla_plan_know_wound(PlaPlanRun *run, PlaJson at, const char *name, PlaError *err)
{
  return !run->wounds || g_hash_table_contains(run->wounds, name)
             ? PLA_OK
             : pla_json_fail(at, err, "names the wound '%s', which nothing before it makes", name);
}

/* ---- tools ---- */

/* what tools that cut leave to be said */
static void
tell_cut(PlaPlanRun *run)
{
  const PlaSurgeryTool *tool = pla_surgery_get_tool(run->surgery);
  json_object_set_int_member(run->found, "tets_touched", tool->n_touched);
  json_object_set_int_member(run->found, "crumbs", tool->n_crumbs);
  pla_json_set_si(run->found, "crumbs_mm3", tool->crumbs);
  pla_json_set_si(run->found, "overcut_mm", tool->overcut);
}

static PlaStatus
run_incise(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  g_autofree char *name = NULL;
  g_autofree double *path = NULL;
  double depth = 0.0, deg = 0.0;
  int n = 0;
  PlaStatus st = pla_plan_text(what, "name", &name, err);
  if (st == PLA_OK)
    st = pla_plan_path(what, "path_mm", &path, &n, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "depth_mm", true, 0.1, 500, &depth, err);
  if (st == PLA_OK)
    st = pla_plan_number(what, "bevel_deg", true, -80, 80, &deg, err);
  pla_plan_add_wound(run, name, st);
  if (st != PLA_OK || !run->surgery)
    return st;
  st = pla_surgery_incise(run->surgery, name, path, n, depth, deg * G_PI / 180.0, run->progress,
                          err);
  if (st == PLA_OK)
    tell_cut(run);
  return st;
}

/* the specimen as a piece of its own: a closed surface with what pathology is told */
static PlaStatus
take_specimen(PlaPlanRun *run, const char *name, const PlaSurgerySpecimen *s, PlaError *err)
{
  PlaPlanSpecimen piece = { 0 };
  PlaStatus st = pla_mesh_new(s->n_verts, s->n_tris, 0, 0, &piece.surface, err);
  if (st != PLA_OK)
    return st;
  memcpy(piece.surface->pos, s->pos, 3 * (size_t)s->n_verts * sizeof *s->pos);
  memcpy(piece.surface->tri, s->tri, 3 * (size_t)s->n_tris * sizeof *s->tri);
  piece.name = g_strdup(name);
  JsonObject *found = run->found;
  JsonArray *size = json_array_new();
  for (int d = 0; d < 3; d++)
    json_array_add_double_element(size, 1e3 * s->size[d]);
  pla_json_set_si(found, "specimen_mm3", s->volume);
  pla_json_set_si(found, "specimen_g", s->mass);
  json_object_set_array_member(found, "specimen_size_mm", size);
  if (!run->step->specimens)
    run->step->specimens = pla_plan_specimens_new();
  g_array_append_val(run->step->specimens, piece);
  return PLA_OK;
}

static PlaStatus
run_excise(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  g_autofree char *name = NULL;
  g_autofree double *path = NULL;
  PlaSurgerySpecimen specimen = { 0 };
  double depth;
  int n = 0;
  PlaStatus st = pla_plan_text(what, "name", &name, err);
  if (st == PLA_OK)
    st = pla_plan_path(what, "path_mm", &path, &n, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "depth_mm", false, 0.1, 500, &depth, err);
  pla_plan_add_wound(run, name, st);
  if (st != PLA_OK || !run->surgery)
    return st;
  st = pla_surgery_excise(run->surgery, name, path, n, depth, &specimen, run->progress, err);
  if (st == PLA_OK) {
    tell_cut(run);
    st = take_specimen(run, name, &specimen, err);
  }
  pla_surgery_specimen_clear(&specimen);
  return st;
}

/* at a depth, or on the surface of a tissue: "level" with "offset_mm" */
static PlaStatus
undermine(PlaPlanRun *run, PlaJson what, const PlaSurgeryRegion *region, PlaError *err)
{
  g_autofree char *level = NULL;
  double depth = 0.0, offset = 0.0005;
  PlaStatus st = PLA_OK;
  if (!pla_json_has(what, "level")) {
    st = pla_json_has(what, "offset_mm")
             ? pla_json_fail(what, err, "has an \"offset_mm\" but no \"level\" that it is from")
             : pla_plan_mm(what, "depth_mm", false, 0.1, 500, &depth, err);
    return st == PLA_OK && run->surgery
               ? pla_surgery_undermine(run->surgery, region, depth, run->progress, err)
               : st;
  }
  if (pla_json_has(what, "depth_mm"))
    st = pla_json_fail(what, err, "needs either a \"level\" or \"depth_mm\", not both");
  if (st == PLA_OK)
    st = pla_plan_text(what, "level", &level, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "offset_mm", true, 0.05, 20, &offset, err);
  if (st == PLA_OK && run->surgery)
    st = pla_surgery_undermine_level(run->surgery, region, level, offset, run->progress, err);
  return st;
}

/* around a wound, or in an area */
static PlaStatus
run_undermine(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  g_autofree char *from = NULL;
  g_autofree double *area = NULL;
  PlaSurgeryRegion region = { 0 };
  const bool around = pla_json_has(what, "from");
  PlaStatus st = PLA_OK;
  if (around == pla_json_has(what, "area_mm"))
    st = pla_json_fail(what, err, "needs either \"from\", a wound, or \"area_mm\", a closed path");
  if (st == PLA_OK && around)
    st = pla_plan_text(what, "from", &from, err);
  if (st == PLA_OK && around)
    st = pla_plan_know_wound(run, what, from, err);
  if (st == PLA_OK && around)
    st = pla_plan_mm(what, "radius_mm", false, 0.1, 500, &region.radius, err);
  if (st == PLA_OK && !around)
    st = pla_plan_path(what, "area_mm", &area, &region.n_area, err);
  region.from = from;
  region.area = area;
  if (st == PLA_OK)
    st = undermine(run, what, &region, err);
  if (st == PLA_OK && run->surgery)
    tell_cut(run);
  return st;
}

static PlaStatus
run_hook(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  double at[3], pull[3];
  PlaStatus st = pla_plan_point(what, "at_mm", at, err);
  if (st == PLA_OK)
    st = pla_plan_point(what, "pull_mm", pull, err);
  return st == PLA_OK && run->surgery ? pla_surgery_hook(run->surgery, at, pull, err) : st;
}

static PlaStatus
run_release(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  (void)what, (void)err;
  if (run->surgery)
    pla_surgery_release_hooks(run->surgery);
  return PLA_OK;
}

/* one part of an edge: {"wound": "flap", "side": "left", "points": [1, 3]} */
static PlaStatus
read_edge(PlaJson what, PlaSurgeryEdge *out, char **name, PlaError *err)
{
  static const char *const keys[] = { "wound", "side", "points", NULL };
  static const char *const sides[] = { "left", "right", NULL };
  PlaJson value;
  double points[2] = { 0.0, 0.0 };
  *out = (PlaSurgeryEdge){ .side = -1 };
  PlaStatus st = pla_json_check_keys(what, keys, err);
  if (st == PLA_OK)
    st = pla_plan_text(what, "wound", name, err);
  if (st == PLA_OK && pla_json_get(what, "side", &value))
    st = pla_json_choice(value, sides, &out->side, err);
  if (st == PLA_OK && pla_json_get(what, "points", &value))
    st = pla_json_vector(value, 2, points, err);
  out->wound = *name;
  out->from = points[0];
  out->to = points[1];
  return st;
}

/* the parts of one edge of the seam: a wound's name, a part, or a list of parts */
static PlaStatus
read_edges(PlaJson what, GArray *out, GPtrArray *names, PlaError *err)
{
  PlaStatus st = PLA_OK;
  const bool list = JSON_NODE_HOLDS_ARRAY(what.node);
  const int n = list ? pla_json_length(what) : 1;
  if (n == 0)
    st = pla_json_fail(what, err, "must name a part of a wound's edge");
  for (int i = 0; st == PLA_OK && i < n; i++) {
    PlaJson part = what;
    PlaSurgeryEdge edge = { .side = -1 };
    char *name = NULL;
    if (list)
      st = pla_json_at(what, i, &part, err);
    if (st == PLA_OK && JSON_NODE_HOLDS_OBJECT(part.node))
      st = read_edge(part, &edge, &name, err);
    else if (st == PLA_OK)
      st = pla_json_text_value(part, &name, err);
    edge.wound = name;
    if (name)
      g_ptr_array_add(names, name);
    if (st == PLA_OK)
      g_array_append_val(out, edge);
  }
  return st;
}

/* two wounds by name: their nearest edges; else the parts that are given */
static PlaStatus
sew(PlaPlanRun *run, PlaJson edges, double spacing, double tighten, PlaSurgeryRow *row,
    PlaError *err)
{
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  GArray *part[2] = { g_array_new(FALSE, FALSE, sizeof(PlaSurgeryEdge)),
                      g_array_new(FALSE, FALSE, sizeof(PlaSurgeryEdge)) };
  PlaJson value[2];
  bool plain = true;
  PlaStatus st = pla_json_length(edges) == 2
                     ? PLA_OK
                     : pla_json_fail(edges, err, "must have two entries: two wounds, or one twice");
  for (int k = 0; st == PLA_OK && k < 2; k++) {
    st = pla_json_at(edges, k, &value[k], err);
    plain = plain && st == PLA_OK && JSON_NODE_HOLDS_VALUE(value[k].node);
    if (st == PLA_OK)
      st = read_edges(value[k], part[k], names, err);
  }
  for (guint i = 0; st == PLA_OK && i < names->len; i++)
    st = pla_plan_know_wound(run, edges, names->pdata[i], err);
  if (st == PLA_OK && run->surgery) {
    const PlaSurgeryEdge *a = (const PlaSurgeryEdge *)(void *)part[0]->data;
    const PlaSurgeryEdge *b = (const PlaSurgeryEdge *)(void *)part[1]->data;
    st = plain ? pla_surgery_suture(run->surgery, a->wound, b->wound, spacing, tighten, row, err)
               : pla_surgery_sew(run->surgery, a, (int)part[0]->len, b, (int)part[1]->len, spacing,
                                 tighten, row, err);
  }
  g_array_unref(part[0]);
  g_array_unref(part[1]);
  return st;
}

static PlaStatus
run_suture(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  PlaJson edges;
  double spacing = 0.0, tighten = 1.0;
  PlaSurgeryRow row = { 0 };
  PlaStatus st = pla_plan_need(what, "edges", &edges, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "spacing_mm", false, 0.1, 100, &spacing, err);
  if (st == PLA_OK)
    st = pla_plan_number(what, "tighten", true, 0, 1, &tighten, err);
  if (st == PLA_OK)
    st = sew(run, edges, spacing, tighten, &row, err);
  if (st == PLA_OK && run->surgery) {
    json_object_set_int_member(run->found, "stitches", row.n_stitches);
    json_object_set_int_member(run->found, "stitches_left_out", row.n_left_out);
    pla_json_set_si(run->found, "open_mm", row.open);
  }
  return st;
}

static PlaStatus
run_stitch(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  g_autofree double *points = NULL;
  double tighten = 1.0;
  int n = 0;
  PlaStatus st = pla_plan_path(what, "points_mm", &points, &n, err);
  if (st == PLA_OK && n != 2)
    st = pla_json_fail(what, err, "needs two points, and has %d", n);
  if (st == PLA_OK)
    st = pla_plan_number(what, "tighten", true, 0, 1, &tighten, err);
  return st == PLA_OK && run->surgery
             ? pla_surgery_stitch(run->surgery, points, points + 3, tighten, err)
             : st;
}

static PlaStatus
run_tighten(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  double to = 1.0;
  PlaStatus st = pla_plan_number(what, "to", false, 0, 1, &to, err);
  if (st != PLA_OK || !run->surgery)
    return st;
  if (pla_surgery_get_stitches(run->surgery, NULL) == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "there is no stitch to tighten");
  else
    pla_surgery_tighten(run->surgery, to);
  return st;
}

/* lines of skin tension: [{"at_mm": [...], "direction": [...]}, ...] */
static PlaStatus
run_tension(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  static const char *const keys[] = { "at_mm", "direction", NULL };
  PlaJson lines, one, value;
  double along = 1.0, across = 1.0, depth = 0.004;
  int n_tets = 0;
  PlaStatus st = pla_plan_need(what, "lines", &lines, err);
  const int n = st == PLA_OK ? pla_json_length(lines) : 0;
  g_autofree PlaSurgeryLine *line = g_new0(PlaSurgeryLine, (gsize)MAX(n, 1));
  for (int i = 0; st == PLA_OK && i < n; i++) {
    st = pla_json_at(lines, i, &one, err);
    if (st == PLA_OK)
      st = pla_json_check_keys(one, keys, err);
    if (st == PLA_OK)
      st = pla_plan_point(one, "at_mm", line[i].pos, err);
    if (st == PLA_OK)
      st = pla_plan_need(one, "direction", &value, err);
    if (st == PLA_OK)
      st = pla_json_vector(value, 3, line[i].direction, err);
  }
  if (st == PLA_OK)
    st = pla_plan_number(what, "along", false, 0.5, 2, &along, err);
  if (st == PLA_OK)
    st = pla_plan_number(what, "across", true, 0.5, 2, &across, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "depth_mm", true, 0.1, 100, &depth, err);
  if (st == PLA_OK && run->surgery)
    st = pla_surgery_set_tension(run->surgery, line, n, along, across, depth, &n_tets, err);
  if (st == PLA_OK)
    json_object_set_int_member(run->found, "tets", n_tets);
  return st;
}

static PlaStatus
run_expand(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  double at[3], radius = 0.0, kpa = 0.0;
  PlaStatus st = pla_plan_point(what, "at_mm", at, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "radius_mm", false, 0.5, 200, &radius, err);
  if (st == PLA_OK)
    st = pla_plan_number(what, "pressure_kpa", false, 0, 100, &kpa, err);
  return st == PLA_OK && run->surgery ? pla_surgery_expand(run->surgery, at, radius, 1e3 * kpa, err)
                                      : st;
}

static PlaStatus
run_implant(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  g_autofree char *name = NULL;
  double at[3], radius = 0.0;
  const bool placed = pla_json_has(what, "at_mm");
  PlaStatus st = pla_plan_text(what, "name", &name, err);
  if (st == PLA_OK && placed)
    st = pla_plan_point(what, "at_mm", at, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "radius_mm", false, 0.5, 200, &radius, err);
  return st == PLA_OK && run->surgery
             ? pla_surgery_implant(run->surgery, name, placed ? at : NULL, radius, err)
             : st;
}

/* cuts through everything, or through the "tissue" that is named, as an osteotomy does */
static PlaStatus
cut_through(PlaPlanRun *run, PlaJson what, const PlaTriMesh *blade, PlaError *err)
{
  g_autofree char *tissue = NULL;
  PlaStatus st =
      pla_json_has(what, "tissue") ? pla_plan_text(what, "tissue", &tissue, err) : PLA_OK;
  if (st != PLA_OK || !run->surgery)
    return st;
  st = pla_surgery_cut(run->surgery, blade, tissue, run->progress, err);
  if (st == PLA_OK) {
    tell_cut(run);
    json_object_set_int_member(run->found, "pieces",
                               pla_surgery_count_pieces(run->surgery, tissue));
  }
  return st;
}

/* a surface of its own: "points_mm" and "triangles", triples of their numbers */
static PlaStatus
run_cut_along(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  PlaJson list, one;
  g_autofree double *pos = NULL;
  int n_verts = 0;
  PlaStatus st = pla_json_has(what, "through_mm") || pla_json_has(what, "normal")
                     ? pla_json_fail(what, err, "needs either a plane or \"triangles\", not both")
                     : pla_plan_path(what, "points_mm", &pos, &n_verts, err);
  if (st == PLA_OK)
    st = pla_plan_need(what, "triangles", &list, err);
  const int n_tris = st == PLA_OK ? pla_json_length(list) : 0;
  g_autofree int *tri = g_new(int, 3 * (gsize)n_tris + 1);
  if (st == PLA_OK && n_tris == 0)
    st = pla_json_fail(list, err, "must be a list of triples of points, counted from 0");
  for (int t = 0; st == PLA_OK && t < n_tris; t++) {
    double corner[3];
    st = pla_json_at(list, t, &one, err);
    if (st == PLA_OK)
      st = pla_json_vector(one, 3, corner, err);
    for (int k = 0; st == PLA_OK && k < 3; k++) {
      tri[3 * t + k] = (int)CLAMP(corner[k], -1.0, n_verts);
      if (corner[k] != tri[3 * t + k] || tri[3 * t + k] < 0 || tri[3 * t + k] >= n_verts)
        st = pla_json_fail(one, err, "names point %g of %d", corner[k], n_verts);
    }
  }
  const PlaTriMesh blade = { n_verts, n_tris, pos, tri };
  return st == PLA_OK ? cut_through(run, what, &blade, err) : st;
}

void
pla_plan_plane(const double at[3], const double normal[3], double reach, double corner[12])
{
  const double length = pla_vec3_norm(normal);
  const int axis = fabs(normal[0]) < fabs(normal[1]) ? (fabs(normal[0]) < fabs(normal[2]) ? 0 : 2)
                                                     : (fabs(normal[1]) < fabs(normal[2]) ? 1 : 2);
  double u[3], v[3];
  for (int d = 0; d < 3; d++)
    u[d] = (d == axis) - normal[axis] * normal[d] / (length * length);
  const double size = pla_vec3_norm(u);
  for (int d = 0; d < 3; d++)
    u[d] /= size;
  for (int d = 0; d < 3; d++)
    v[d] = (normal[(d + 1) % 3] * u[(d + 2) % 3] - normal[(d + 2) % 3] * u[(d + 1) % 3]) / length;
  for (int i = 0; i < 4; i++)
    for (int d = 0; d < 3; d++)
      corner[3 * i + d] =
          at[d] + reach * ((i == 0 || i == 3 ? -1.0 : 1.0) * u[d] + (i < 2 ? -1.0 : 1.0) * v[d]);
}

/* a plane through a point, as wide as need be, or any surface */
static PlaStatus
run_cut(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  double at[3], normal[3] = { 0 }, wide = 1.0;
  PlaJson value;
  if (pla_json_has(what, "triangles"))
    return run_cut_along(run, what, err);
  PlaStatus st = pla_plan_point(what, "through_mm", at, err);
  if (st == PLA_OK)
    st = pla_plan_need(what, "normal", &value, err);
  if (st == PLA_OK)
    st = pla_json_vector(value, 3, normal, err);
  if (st == PLA_OK)
    st = pla_plan_mm(what, "radius_mm", true, 0.5, 2000, &wide, err);
  if (st == PLA_OK && !(pla_vec3_norm(normal) > 0.0))
    st = pla_json_fail(value, err, "has no length, and no plane stands on it");
  if (st != PLA_OK)
    return st;
  double pos[12];
  pla_plan_plane(at, normal, wide, pos);
  const int tri[6] = { 0, 1, 2, 0, 2, 3 };
  const PlaTriMesh blade = { 4, 2, pos, tri };
  return cut_through(run, what, &blade, err);
}

static PlaStatus
run_solve(PlaPlanRun *run, PlaJson what, PlaError *err)
{
  double tolerance = 1e-5;
  PlaStatus st = pla_plan_number(what, "tolerance_rel", true, 1e-14, 0.999, &tolerance, err);
  if (st != PLA_OK || !run->surgery)
    return st;
  PlaFemReport *r = &run->step->solve;
  st = pla_surgery_solve(run->surgery, tolerance, run->progress, r, err);
  if (st == PLA_OK) {
    run->step->solved = true;
    json_object_set_boolean_member(run->found, "converged", r->reason == PLA_STOP_CONVERGED);
    json_object_set_int_member(run->found, "iterations", r->iterations);
    json_object_set_double_member(run->found, "residual_rel", r->residual_rel);
    json_object_set_int_member(run->found, "inverted", r->inverted);
    json_object_set_int_member(run->found, "contacts", r->contacts);
    pla_json_set_si(run->found, "penetration_mm", r->max_penetration_m);
  }
  return st;
}

static const PlaPlanTool tools[] = {
  { "incise", (const char *const[]){ "name", "path_mm", "depth_mm", "bevel_deg", NULL },
    run_incise },
  { "excise", (const char *const[]){ "name", "path_mm", "depth_mm", NULL }, run_excise },
  { "undermine",
    (const char *const[]){ "from", "radius_mm", "area_mm", "depth_mm", "level", "offset_mm", NULL },
    run_undermine },
  { "hook", (const char *const[]){ "at_mm", "pull_mm", NULL }, run_hook },
  { "release", (const char *const[]){ NULL }, run_release },
  { "suture", (const char *const[]){ "edges", "spacing_mm", "tighten", NULL }, run_suture },
  { "stitch", (const char *const[]){ "points_mm", "tighten", NULL }, run_stitch },
  { "tighten", (const char *const[]){ "to", NULL }, run_tighten },
  { "tension", (const char *const[]){ "lines", "along", "across", "depth_mm", NULL }, run_tension },
  { "expand", (const char *const[]){ "at_mm", "radius_mm", "pressure_kpa", NULL }, run_expand },
  { "implant", (const char *const[]){ "name", "at_mm", "radius_mm", NULL }, run_implant },
  { "cut",
    (const char *const[]){ "through_mm", "normal", "radius_mm", "points_mm", "triangles", "tissue",
                           NULL },
    run_cut },
  { "template", pla_plan_template_keys, pla_plan_run_template },
  { "solve", (const char *const[]){ "tolerance_rel", NULL }, run_solve },
};

PlaStatus
pla_plan_find_tool(PlaJson operation, const PlaPlanTool **tool, PlaJson *what, PlaError *err)
{
  for (size_t i = 0; i < G_N_ELEMENTS(tools); i++)
    if (pla_json_get(operation, tools[i].name, what)) {
      const char *const only[] = { tools[i].name, NULL };
      *tool = &tools[i];
      PlaStatus st = pla_json_check_keys(operation, only, err);
      return st == PLA_OK ? pla_json_check_keys(*what, tools[i].keys, err) : st;
    }
  GString *names = g_string_new(NULL);
  for (size_t i = 0; i < G_N_ELEMENTS(tools); i++)
    g_string_append_printf(names, "%s%s", i ? ", " : "", tools[i].name);
  PlaStatus st = pla_json_fail(operation, err, "is no operation; there are %s", names->str);
  g_string_free(names, TRUE);
  return st;
}
