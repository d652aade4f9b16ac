/* Muscles as bands along fibre paths.
 *
 * A sheet follows the skin: its control points are moved to a depth below the surface and its
 * cross-section is measured in that depth, so a wide muscle curves with the face.  A ribbon runs
 * free between bones.  Either way the ends are moved onto the bones they are said to arise from,
 * and points that would run through bone are lifted off it. */
#include "anatomy/phantom/phantom-private.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SPANS 3 /* path steps between control points */
#define MAX_PATH ((PLA_MUSCLE_POINTS - 1) * SPANS + 1)
#define ATTACH_MM 0.3 /* paths end this far from the bone */
#define CLEAR_MM 0.2  /* and pass it at this distance */

static bool
is_sheet(const PlaMuscleRow *row)
{
  return row->normal[0] == 0.0 && row->normal[1] == 0.0 && row->normal[2] == 0.0;
}

/* Catmull-Rom through the control points, ends doubled */
static double
spline(double a, double b, double c, double d, double t)
{
  return b +
         0.5 * t * (c - a + t * (2.0 * a - 5.0 * b + 4.0 * c - d + t * (3.0 * (b - c) + d - a)));
}

/* lifts @p off the bones along the surface's outward direction, as far as the surface allows */
static void
lift_off_bone(const PlaShapeScene *scene, const PlaMuscleBed *bed, double thick, double p[3])
{
  for (int step = 0; step < 40; step++) {
    double lack = 0.0;
    for (int i = 0; i < 4 && bed->bones[i] >= 0; i++)
      lack = fmax(lack, thick + CLEAR_MM - pla_scene_distance(scene, bed->bones[i], p));
    const double room = -pla_scene_distance(scene, bed->surface, p) - bed->margin - thick;
    const double move = fmin(fmin(lack, room), 0.5);
    if (move < 0.02)
      return;
    double g[3];
    pla_scene_gradient(scene, bed->surface, p, g);
    const double l = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    for (int d = 0; d < 3; d++)
      p[d] += move * g[d] / fmax(l, 1e-3);
  }
}

/* the fitted path of one band, on the right; returns its number of points */
static int
fit_path(const PlaPhantomModel *model, const PlaMuscleRow *row, const PlaMuscleBed *bed,
         PlaPathPoint path[MAX_PATH])
{
  const PlaShapeScene *scene = model->scene;
  const bool sheet = is_sheet(row);
  PlaMusclePoint c[PLA_MUSCLE_POINTS];
  memcpy(c, row->point, sizeof c);
  assert(row->n >= 2 && row->n <= PLA_MUSCLE_POINTS);
  const int origin = row->origin ? pla_scene_find_name(scene, row->origin) : -1;
  const int insertion = row->insertion ? pla_scene_find_name(scene, row->insertion) : -1;
  for (int i = 0; i < row->n; i++) {
    if (i == 0 && origin >= 0)
      pla_scene_snap(scene, origin, ATTACH_MM, c[i].pos);
    else if (i == row->n - 1 && insertion >= 0)
      pla_scene_snap(scene, insertion, ATTACH_MM, c[i].pos);
    else if (sheet)
      pla_scene_snap(scene, bed->surface, -c[i].depth, c[i].pos);
    if (sheet)
      c[i].depth = -pla_scene_distance(scene, bed->surface, c[i].pos);
  }

  int n = 0;
  for (int i = 0; i + 1 < row->n; i++)
    for (int k = 0; k < SPANS + (i + 2 == row->n); k++) {
      const double t = (double)k / SPANS;
      const PlaMusclePoint *a = &c[i > 0 ? i - 1 : 0], *b = &c[i], *d = &c[i + 1],
                           *e = &c[i + 2 < row->n ? i + 2 : i + 1];
      PlaPathPoint *q = &path[n++];
      for (int x = 0; x < 3; x++)
        q->pos[x] = spline(a->pos[x], b->pos[x], d->pos[x], e->pos[x], t);
      q->depth = b->depth + t * (d->depth - b->depth);
      q->width = b->width + t * (d->width - b->width);
      q->thick = fmin(row->thick, q->width);
    }
  for (int i = 0; i < n; i++) {
    PlaPathPoint *q = &path[i];
    if (sheet) {
      if (i > 0 && i < n - 1) {
        pla_scene_snap(scene, bed->surface, -q->depth, q->pos);
        lift_off_bone(scene, bed, row->thick, q->pos);
      }
      q->depth = -pla_scene_distance(scene, bed->surface, q->pos);
      pla_scene_gradient(scene, bed->surface, q->pos, q->normal);
    } else {
      /* the rough normal, made square to the path */
      const double *p0 = path[i > 0 ? i - 1 : 0].pos, *p1 = path[i + 1 < n ? i + 1 : i].pos;
      const double t[3] = { p1[0] - p0[0], p1[1] - p0[1], p1[2] - p0[2] };
      const double tt = t[0] * t[0] + t[1] * t[1] + t[2] * t[2];
      const double tn = t[0] * row->normal[0] + t[1] * row->normal[1] + t[2] * row->normal[2];
      for (int d = 0; d < 3; d++)
        q->normal[d] = row->normal[d] - t[d] * tn / tt;
    }
    const double l = sqrt(q->normal[0] * q->normal[0] + q->normal[1] * q->normal[1] +
                          q->normal[2] * q->normal[2]);
    for (int d = 0; d < 3; d++)
      q->normal[d] /= fmax(l, 1e-6);
  }
  return n;
}

void
pla_phantom_note_muscle(PlaPhantomModel *model, const PlaMuscleRow *rows, int n_rows, PlaSide side,
                        int label, const PlaMuscleBed *bed)
{
  PlaPhantom *notes = &model->notes;
  if (!pla_array_resize((void **)&notes->muscle, (size_t)notes->n_muscles + 1,
                        sizeof *notes->muscle)) {
    model->short_of_memory = true;
    return;
  }
  PlaPhantomMuscle *m = &notes->muscle[notes->n_muscles++];
  *m = (PlaPhantomMuscle){ .name = pla_strdup(rows[0].name),
                           .side = side,
                           .label = label,
                           .stress_factor = rows[0].stress,
                           .path = pla_array_new0((size_t)n_rows, sizeof *m->path) };
  if (!m->name || !m->path) {
    model->short_of_memory = true;
    return;
  }
  for (int r = 0; r < n_rows; r++) {
    PlaPathPoint path[MAX_PATH];
    const int n = fit_path(model, &rows[r], bed, path);
    PlaPhantomPath *out = &m->path[m->n_paths++];
    out->origin = pla_strdup(rows[r].origin ? rows[r].origin : "");
    out->insertion = pla_strdup(rows[r].insertion ? rows[r].insertion : "");
    out->pos_mm = pla_array_new((size_t)n * 3, sizeof *out->pos_mm);
    out->half_width_mm = pla_array_new((size_t)n, sizeof *out->half_width_mm);
    out->half_thick_mm = pla_array_new((size_t)n, sizeof *out->half_thick_mm);
    out->normal = pla_array_new((size_t)n * 3, sizeof *out->normal);
    if (!out->origin || !out->insertion || !out->pos_mm || !out->half_width_mm ||
        !out->half_thick_mm || !out->normal) {
      model->short_of_memory = true;
      return;
    }
    out->n_points = n;
    for (int i = 0; i < n; i++) {
      memcpy(out->pos_mm + 3 * i, path[i].pos, sizeof path[i].pos);
      memcpy(out->normal + 3 * i, path[i].normal, sizeof path[i].normal);
      if (side == PLA_SIDE_LEFT) {
        out->pos_mm[3 * i] = -path[i].pos[0];
        out->normal[3 * i] = -path[i].normal[0];
      }
      out->half_width_mm[i] = path[i].width;
      out->half_thick_mm[i] = path[i].thick;
    }
  }
}

void
pla_phantom_add_muscle_side(PlaPhantomModel *model, const PlaMuscleRow *rows, int n_rows,
                            PlaSide side, int label, const PlaMuscleBed *bed, const uint8_t rgba[4])
{
  char name[96];
  snprintf(name, sizeof name, "%s%s", rows[0].name,
           side == PLA_SIDE_RIGHT  ? ", right"
           : side == PLA_SIDE_LEFT ? ", left"
                                   : "");
  pla_scene_add_part(model->scene, name, label, side, rgba);
  for (int r = 0; r < n_rows; r++) {
    PlaPathPoint path[MAX_PATH];
    const int n = fit_path(model, &rows[r], bed, path);
    const bool sheet = is_sheet(&rows[r]);
    pla_scene_add_path(model->scene, PLA_SHAPE_ADD, sheet ? PLA_SHAPE_SHEET : PLA_SHAPE_RIBBON,
                       r == 0 ? 0.0 : 1.0, path, n, sheet ? bed->surface : -1);
  }
  /* no muscle crosses the midplane or the skin */
  static const double right_half[PLA_SHAPE_NUMBERS] = { 0, 0, 0, -1, 0, 0 };
  if (side != PLA_SIDE_NONE)
    pla_scene_add_shape(model->scene, PLA_SHAPE_KEEP, PLA_SHAPE_PLANE, 0.0, right_half);
  if (bed->surface >= 0)
    pla_scene_add_ref(model->scene, PLA_SHAPE_KEEP, 0.0, bed->surface, bed->margin);
  pla_phantom_note_muscle(model, rows, n_rows, side, label, bed);
}

void
pla_phantom_add_muscle(PlaPhantomModel *model, const PlaMuscleRow *rows, int n_rows, int label,
                       const PlaMuscleBed *bed, const uint8_t rgba[4])
{
  pla_phantom_add_muscle_side(model, rows, n_rows, PLA_SIDE_RIGHT, label, bed, rgba);
  pla_phantom_add_muscle_side(model, rows, n_rows, PLA_SIDE_LEFT, label + 1, bed, rgba);
}
