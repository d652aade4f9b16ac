/* Evaluation of implicit scenes.
 *
 * Ellipsoids use (k0 - 1) / |grad k0| with k0 = |p / r|, exact in sign and on the axes.  The
 * smooth union is the quadratic one, min(a, b) - max(k - |a - b|, 0)^2 / (4 k): beyond a
 * difference of k it is min(a, b) exactly, so a shape whose box is further from a block of voxels
 * than the widest blend it meets (and some slack) can be left out of that block without changing
 * any label. Outside a convex shape those distances never exceed the true one, so a part whose
 * distance at the middle of a block exceeds the block's radius by a good margin is left out as a
 * whole. */
#include "anatomy/phantom/scene.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MM 5.0 /* edge of a block of voxels that shares one list of shapes */
#define FAR_MM 1e6   /* distance to an empty part */
#define SLACK_MM 2.0 /* widening of the boxes: covers what ellipsoid distances understate */
#define MAX_VOXELS ((size_t)1 << 33)

typedef struct {
  PlaShapeOp op;
  PlaShapeKind kind;
  double blend;
  double n[PLA_SHAPE_NUMBERS];
  double turn[9]; /* world -> shape axes */
  int part;       /* PART and SHEET: the reference */
  int path, n_points;
  double lo[3], hi[3]; /* in the part's own coordinates */
  double margin;       /* widest blend that this shape or a later one takes part in */
} Shape;

typedef struct {
  char *name;
  int label;
  PlaSide side;
  uint8_t rgba[4];
  double fold, reach;
  int first, n; /* shapes */
  double lo[3], hi[3];
  double margin; /* widest blend of the parts that refer to this one */
} Part;

struct PlaShapeScene {
  int n_parts, parts_room;
  Part *part;
  int n_shapes, shapes_room;
  Shape *shape;
  int n_points, points_room;
  PlaPathPoint *point;
  bool short_of_memory, finished;
};

/* ---- building ---- */

PlaStatus
pla_scene_new(PlaShapeScene **out, PlaError *err)
{
  *out = pla_array_new0(1, sizeof **out);
  return *out ? PLA_OK : pla_fail_memory(err, "a phantom");
}

void
pla_scene_free(PlaShapeScene *scene)
{
  if (!scene)
    return;
  for (int i = 0; i < scene->n_parts; i++)
    free(scene->part[i].name);
  free(scene->part);
  free(scene->shape);
  free(scene->point);
  free(scene);
}

static bool
make_room(PlaShapeScene *scene, void **array, int *room, int needed, size_t size)
{
  if (needed > *room) {
    const int wanted = needed + needed / 2 + 16;
    if (!pla_array_resize(array, (size_t)wanted, size)) {
      scene->short_of_memory = true;
      return false;
    }
    *room = wanted;
  }
  return true;
}

int
pla_scene_add_part(PlaShapeScene *scene, const char *name, int label, PlaSide side,
                   const uint8_t rgba[4])
{
  assert(!scene->finished);
  if (!make_room(scene, (void **)&scene->part, &scene->parts_room, scene->n_parts + 1,
                 sizeof *scene->part))
    return -1;
  Part *part = &scene->part[scene->n_parts];
  *part =
      (Part){ .name = pla_strdup(name), .label = label, .side = side, .first = scene->n_shapes };
  if (!part->name)
    scene->short_of_memory = true;
  if (rgba)
    memcpy(part->rgba, rgba, 4);
  for (int d = 0; d < 3; d++) {
    part->lo[d] = FAR_MM;
    part->hi[d] = -FAR_MM;
  }
  return scene->n_parts++;
}

void
pla_scene_set_fold(PlaShapeScene *scene, double fold_mm)
{
  if (!scene->short_of_memory)
    scene->part[scene->n_parts - 1].fold = fold_mm;
}

void
pla_scene_set_reach(PlaShapeScene *scene, double reach_mm)
{
  if (!scene->short_of_memory)
    scene->part[scene->n_parts - 1].reach = reach_mm;
}

/* rotation by turns about x, then y, then z; stored transposed: world -> shape axes */
static void
turn_matrix(const double deg[3], double m[9])
{
  const double rad = 0.017453292519943295;
  const double cx = cos(deg[0] * rad), sx = sin(deg[0] * rad);
  const double cy = cos(deg[1] * rad), sy = sin(deg[1] * rad);
  const double cz = cos(deg[2] * rad), sz = sin(deg[2] * rad);
  const double r[9] = { cz * cy,
                        cz * sy * sx - sz * cx,
                        cz * sy * cx + sz * sx,
                        sz * cy,
                        sz * sy * sx + cz * cx,
                        sz * sy * cx - cz * sx,
                        -sy,
                        cy * sx,
                        cy * cx };
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      m[3 * i + j] = r[3 * j + i];
}

static void
include_point(double lo[3], double hi[3], const double p[3], double r)
{
  for (int d = 0; d < 3; d++) {
    lo[d] = fmin(lo[d], p[d] - r);
    hi[d] = fmax(hi[d], p[d] + r);
  }
}

/* the box of one shape, in its part's coordinates */
static void
bound_shape(const PlaShapeScene *scene, Shape *s)
{
  const double *n = s->n;
  for (int d = 0; d < 3; d++) {
    s->lo[d] = FAR_MM;
    s->hi[d] = -FAR_MM;
  }
  switch (s->kind) {
  case PLA_SHAPE_BALL:
  case PLA_SHAPE_BRICK:
  case PLA_SHAPE_BOX:
    for (int d = 0; d < 3; d++) {
      /* extent of the turned shape along world axis d: an ellipsoid's, else its box's */
      double e = 0.0;
      for (int i = 0; i < 3; i++) {
        const double x = s->turn[3 * i + d] * n[3 + i];
        e = s->kind == PLA_SHAPE_BALL ? e + x * x : e + fabs(x);
      }
      if (s->kind == PLA_SHAPE_BALL)
        e = sqrt(e);
      s->lo[d] = n[d] - e;
      s->hi[d] = n[d] + e;
    }
    break;
  case PLA_SHAPE_ROD:
    include_point(s->lo, s->hi, n, n[6]);
    include_point(s->lo, s->hi, n + 3, n[7]);
    break;
  case PLA_SHAPE_DISC:
    include_point(s->lo, s->hi, n, n[6]);
    include_point(s->lo, s->hi, n + 3, n[6]);
    break;
  case PLA_SHAPE_RING:
    include_point(s->lo, s->hi, n, n[6] + n[7]);
    break;
  case PLA_SHAPE_PLANE:
    for (int d = 0; d < 3; d++) {
      s->lo[d] = -FAR_MM;
      s->hi[d] = FAR_MM;
    }
    break;
  case PLA_SHAPE_PART:
    for (int d = 0; d < 3; d++) {
      s->lo[d] = scene->part[s->part].lo[d] - fmax(-n[0], 0.0);
      s->hi[d] = scene->part[s->part].hi[d] + fmax(-n[0], 0.0);
    }
    break;
  case PLA_SHAPE_TUBE:
  case PLA_SHAPE_RIBBON:
  case PLA_SHAPE_SHEET:
    for (int i = 0; i < s->n_points; i++) {
      const PlaPathPoint *q = &scene->point[s->path + i];
      include_point(s->lo, s->hi, q->pos,
                    s->kind == PLA_SHAPE_TUBE ? q->width : fmax(q->width, q->thick) + q->thick);
    }
    break;
  }
}

static void
add(PlaShapeScene *scene, const Shape *template)
{
  assert(!scene->finished);
  if (scene->short_of_memory || !make_room(scene, (void **)&scene->shape, &scene->shapes_room,
                                           scene->n_shapes + 1, sizeof *scene->shape))
    return;
  Shape *s = &scene->shape[scene->n_shapes++];
  *s = *template;
  turn_matrix(s->n + 6, s->turn);
  bound_shape(scene, s);
  Part *part = &scene->part[scene->n_parts - 1];
  part->n++;
  if (s->op != PLA_SHAPE_ADD)
    return;

  /* the part's box in the world: mirrored where the part is */
  double lo[3], hi[3];
  memcpy(lo, s->lo, sizeof lo);
  memcpy(hi, s->hi, sizeof hi);
  if (s->kind != PLA_SHAPE_PART) {
    if (part->side == PLA_SIDE_LEFT) {
      lo[0] = -s->hi[0];
      hi[0] = -s->lo[0];
    } else if (part->side == PLA_SIDE_MID) {
      hi[0] = fmax(s->hi[0], -s->lo[0]);
      lo[0] = -hi[0];
    }
  }
  for (int d = 0; d < 3; d++) {
    part->lo[d] = fmin(part->lo[d], lo[d] - s->blend);
    part->hi[d] = fmax(part->hi[d], hi[d] + s->blend);
  }
}

void
pla_scene_add_shape(PlaShapeScene *scene, PlaShapeOp op, PlaShapeKind kind, double blend,
                    const double numbers[PLA_SHAPE_NUMBERS])
{
  assert(kind < PLA_SHAPE_PART);
  Shape s = { .op = op, .kind = kind, .blend = blend, .part = -1 };
  memcpy(s.n, numbers, sizeof s.n);
  add(scene, &s);
}

void
pla_scene_add_rows(PlaShapeScene *scene, const PlaShapeRow *rows, int n_rows)
{
  for (int i = 0; i < n_rows; i++)
    pla_scene_add_shape(scene, rows[i].op, rows[i].kind, rows[i].blend, rows[i].n);
}

void
pla_scene_add_ref(PlaShapeScene *scene, PlaShapeOp op, double blend, int part, double offset_mm)
{
  assert(part < scene->n_parts - 1);
  const Shape s = {
    .op = op, .kind = PLA_SHAPE_PART, .blend = blend, .part = part, .n = { offset_mm }
  };
  if (part >= 0)
    add(scene, &s);
}

void
pla_scene_add_path(PlaShapeScene *scene, PlaShapeOp op, PlaShapeKind kind, double blend,
                   const PlaPathPoint *path, int n_points, int reference)
{
  assert(kind >= PLA_SHAPE_TUBE && n_points >= 2);
  assert((kind == PLA_SHAPE_SHEET) == (reference >= 0));
  if (!make_room(scene, (void **)&scene->point, &scene->points_room, scene->n_points + n_points,
                 sizeof *scene->point))
    return;
  memcpy(scene->point + scene->n_points, path, (size_t)n_points * sizeof *path);
  const Shape s = { .op = op,
                    .kind = kind,
                    .blend = blend,
                    .part = reference,
                    .path = scene->n_points,
                    .n_points = n_points };
  scene->n_points += n_points;
  add(scene, &s);
}

PlaStatus
pla_scene_finish(PlaShapeScene *scene, PlaError *err)
{
  if (scene->short_of_memory)
    return pla_fail_memory(err, "a phantom");
  /* references point to earlier parts, so their blends are known when walking backwards */
  for (int i = scene->n_parts - 1; i >= 0; i--) {
    const Part *part = &scene->part[i];
    double margin = part->margin;
    for (int j = part->first + part->n - 1; j >= part->first; j--) {
      Shape *s = &scene->shape[j];
      s->margin = margin = fmax(margin, s->blend);
      if (s->part >= 0)
        scene->part[s->part].margin = fmax(scene->part[s->part].margin, margin);
    }
  }
  scene->finished = true;
  return PLA_OK;
}

int
pla_scene_n_parts(const PlaShapeScene *scene)
{
  return scene->n_parts;
}

const char *
pla_scene_part_name(const PlaShapeScene *scene, int part)
{
  return scene->part[part].name;
}

int
pla_scene_part_label(const PlaShapeScene *scene, int part)
{
  return scene->part[part].label;
}

PlaSide
pla_scene_part_side(const PlaShapeScene *scene, int part)
{
  return scene->part[part].side;
}

int
pla_scene_find_label(const PlaShapeScene *scene, int label)
{
  for (int i = 0; i < scene->n_parts; i++)
    if (scene->part[i].label == label)
      return i;
  return -1;
}

int
pla_scene_find_name(const PlaShapeScene *scene, const char *name)
{
  for (int i = 0; i < scene->n_parts; i++)
    if (scene->part[i].name && strcmp(scene->part[i].name, name) == 0)
      return i;
  return -1;
}

void
pla_scene_part_bounds(const PlaShapeScene *scene, int part, double lo[3], double hi[3])
{
  memcpy(lo, scene->part[part].lo, 3 * sizeof *lo);
  memcpy(hi, scene->part[part].hi, 3 * sizeof *hi);
}

/* ---- distances ---- */

static double
dot3(const double a[3], const double b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double
soft_min(double a, double b, double k)
{
  const double h = k - fabs(a - b);
  return h > 0.0 ? fmin(a, b) - h * h / (4.0 * k) : fmin(a, b);
}

/* @p in the axes of a turned shape, from its centre */
static void
to_shape(const Shape *s, const double p[3], double q[3])
{
  const double o[3] = { p[0] - s->n[0], p[1] - s->n[1], p[2] - s->n[2] };
  for (int i = 0; i < 3; i++)
    q[i] = dot3(s->turn + 3 * i, o);
}

static double
ball(const Shape *s, const double p[3])
{
  double q[3], k0 = 0.0, k1 = 0.0;
  to_shape(s, p, q);
  for (int i = 0; i < 3; i++) {
    const double u = q[i] / s->n[3 + i], v = u / s->n[3 + i];
    k0 += u * u;
    k1 += v * v;
  }
  if (k1 < 1e-12)
    return -fmin(s->n[3], fmin(s->n[4], s->n[5]));
  k0 = sqrt(k0);
  return fmax(k0 * (k0 - 1.0) / sqrt(k1), -fmin(s->n[3], fmin(s->n[4], s->n[5])));
}

static double
brick(const Shape *s, const double p[3])
{
  double q[3], k0 = 0.0, k1 = 0.0;
  to_shape(s, p, q);
  for (int i = 0; i < 3; i++) {
    const double u = q[i] / s->n[3 + i], u3 = u * u * u, v = u3 / s->n[3 + i];
    k0 += u3 * u;
    k1 += v * v;
  }
  if (k0 < 1e-12)
    return -fmin(s->n[3], fmin(s->n[4], s->n[5]));
  k0 = sqrt(sqrt(k0));
  return fmax((k0 - 1.0) * (k0 * k0 * k0) / sqrt(k1), -fmin(s->n[3], fmin(s->n[4], s->n[5])));
}

static double
box(const Shape *s, const double p[3])
{
  double q[3], outside = 0.0, inside = -FAR_MM;
  to_shape(s, p, q);
  for (int i = 0; i < 3; i++) {
    const double e = fabs(q[i]) - (s->n[3 + i] - s->n[9]);
    inside = fmax(inside, e);
    if (e > 0.0)
      outside += e * e;
  }
  return sqrt(outside) + fmin(inside, 0.0) - s->n[9];
}

/* Distance to a cone with round ends a, b of radii ra, rb.  Seen in the plane of the axis and @p,
 * the nearest of the spheres that sweep the cone lies where the flank's normal through @p meets
 * the axis. */
static double
rod(const double a[3], const double b[3], double ra, double rb, const double p[3])
{
  const double ba[3] = { b[0] - a[0], b[1] - a[1], b[2] - a[2] };
  const double pa[3] = { p[0] - a[0], p[1] - a[1], p[2] - a[2] };
  const double l = sqrt(dot3(ba, ba)), lean = (ra - rb) / fmax(l, 1e-9);
  /* one end swallows the other */
  if (fabs(lean) >= 1.0) {
    const double pb[3] = { p[0] - b[0], p[1] - b[1], p[2] - b[2] };
    return lean > 0.0 ? sqrt(dot3(pa, pa)) - ra : sqrt(dot3(pb, pb)) - rb;
  }
  const double y = dot3(pa, ba) / l, x = sqrt(fmax(dot3(pa, pa) - y * y, 0.0));
  const double t = fmin(fmax(y - x * lean / sqrt(1.0 - lean * lean), 0.0), l);
  return sqrt(x * x + (y - t) * (y - t)) - (ra - lean * t);
}

static double
ring(const Shape *s, const double p[3])
{
  const double o[3] = { p[0] - s->n[0], p[1] - s->n[1], p[2] - s->n[2] };
  const double h = dot3(o, s->n + 3);
  const double r = sqrt(fmax(dot3(o, o) - h * h, 0.0)) - s->n[6];
  return sqrt(r * r + h * h) - s->n[7];
}

static double
disc(const Shape *s, const double p[3])
{
  const double *a = s->n, *b = s->n + 3;
  const double ba[3] = { b[0] - a[0], b[1] - a[1], b[2] - a[2] };
  const double pa[3] = { p[0] - a[0], p[1] - a[1], p[2] - a[2] };
  const double l = sqrt(dot3(ba, ba)), y = dot3(pa, ba) / l;
  const double r = sqrt(fmax(dot3(pa, pa) - y * y, 0.0)) - s->n[6];
  const double e = fmax(-y, y - l);
  return fmin(fmax(r, e), 0.0) + sqrt(fmax(r, 0.0) * fmax(r, 0.0) + fmax(e, 0.0) * fmax(e, 0.0));
}

static double
tube(const PlaShapeScene *scene, const Shape *s, const double p[3])
{
  const PlaPathPoint *q = scene->point + s->path;
  double d = FAR_MM;
  for (int i = 0; i + 1 < s->n_points; i++)
    d = fmin(d, rod(q[i].pos, q[i + 1].pos, q[i].width, q[i + 1].width, p));
  return d;
}

/* A band around a path: with u across, v through the thickness and e beyond the ends, the surface
 * is (u/width)^4 + (v/thick)^4 + (e/thick)^4 = 1.  @surface: the reference's distance at @p for a
 * sheet, NaN for a ribbon. */
static double
band(const PlaShapeScene *scene, const Shape *s, const double p[3], double surface)
{
  const PlaPathPoint *q = scene->point + s->path;
  double best = FAR_MM;
  for (int i = 0; i + 1 < s->n_points; i++) {
    const PlaPathPoint *a = &q[i], *b = &q[i + 1];
    const double ab[3] = { b->pos[0] - a->pos[0], b->pos[1] - a->pos[1], b->pos[2] - a->pos[2] };
    const double ap[3] = { p[0] - a->pos[0], p[1] - a->pos[1], p[2] - a->pos[2] };
    const double l2 = dot3(ab, ab), along = dot3(ap, ab) / l2;
    const double t = fmin(fmax(along, 0.0), 1.0);
    const double width = a->width + t * (b->width - a->width);
    const double thick = a->thick + t * (b->thick - a->thick);
    double o[3], n[3];
    for (int d = 0; d < 3; d++) {
      o[d] = ap[d] - t * ab[d];
      n[d] = a->normal[d] + t * (b->normal[d] - a->normal[d]);
    }
    const double on = dot3(o, n) / sqrt(dot3(n, n));
    const double e = (along - t) * sqrt(l2);
    double v = on;
    if (!isnan(surface)) {
      /* depth tells the layer; the offset itself only keeps away other places of equal depth */
      v = -surface - (a->depth + t * (b->depth - a->depth));
      v = fmax(fabs(v), fabs(on) - thick - 0.3 * width - 0.3);
    }
    const double u2 = fmax(dot3(o, o) - on * on - e * e, 0.0) / (width * width);
    const double v2 = v * v / (thick * thick), e2 = e * e / (thick * thick);
    best = fmin(best, (sqrt(sqrt(u2 * u2 + v2 * v2 + e2 * e2)) - 1.0) * fmin(width, thick));
  }
  return best;
}

/* Distances at one point, each part at most once. */
typedef struct {
  const double *p;
  double *value; /* per part */
  int *stamp;    /* per part: equals now when value is for this point */
  int now;
  const int *list, *start, *count; /* shapes per part that matter here; NULL: all */
} Probe;

static double part_distance(const PlaShapeScene *scene, int part, Probe *probe);

static double
shape_distance(const PlaShapeScene *scene, const Shape *s, const double p[3], Probe *probe)
{
  switch (s->kind) {
  case PLA_SHAPE_BALL:
    return ball(s, p);
  case PLA_SHAPE_BRICK:
    return brick(s, p);
  case PLA_SHAPE_ROD:
    return rod(s->n, s->n + 3, s->n[6], s->n[7], p);
  case PLA_SHAPE_BOX:
    return box(s, p);
  case PLA_SHAPE_PLANE:
    return (p[0] - s->n[0]) * s->n[3] + (p[1] - s->n[1]) * s->n[4] + (p[2] - s->n[2]) * s->n[5];
  case PLA_SHAPE_RING:
    return ring(s, p);
  case PLA_SHAPE_DISC:
    return disc(s, p);
  case PLA_SHAPE_PART:
    return part_distance(scene, s->part, probe) + s->n[0];
  case PLA_SHAPE_TUBE:
    return tube(scene, s, p);
  case PLA_SHAPE_RIBBON:
    return band(scene, s, p, NAN);
  case PLA_SHAPE_SHEET:
    return band(scene, s, p, part_distance(scene, s->part, probe));
  }
  return FAR_MM;
}

/* @p in the coordinates of a part's description */
static void
to_part(const Part *part, const double p[3], double q[3])
{
  memcpy(q, p, 3 * sizeof *q);
  if (part->side == PLA_SIDE_LEFT)
    q[0] = -p[0];
  else if (part->side == PLA_SIDE_MID)
    q[0] = part->fold > 0.0 ? sqrt(p[0] * p[0] + part->fold * part->fold) : fabs(p[0]);
}

static double
part_distance(const PlaShapeScene *scene, int part, Probe *probe)
{
  if (probe->stamp[part] == probe->now)
    return probe->value[part];
  const Part *o = &scene->part[part];
  const int n = probe->list ? probe->count[part] : o->n;
  double p[3], d = FAR_MM;
  to_part(o, probe->p, p);
  for (int i = 0; i < n; i++) {
    const Shape *s =
        &scene->shape[probe->list ? probe->list[probe->start[part] + i] : o->first + i];
    const double f = shape_distance(scene, s, p, probe);
    const double k = fmax(s->blend, 1e-9);
    d = s->op == PLA_SHAPE_ADD   ? soft_min(d, f, k)
        : s->op == PLA_SHAPE_CUT ? -soft_min(-d, f, k)
                                 : -soft_min(-d, -f, k);
  }
  probe->value[part] = d;
  probe->stamp[part] = probe->now;
  return d;
}

#define PROBE_PARTS 512 /* parts a probe on the stack serves; no phantom has more */

double
pla_scene_distance(const PlaShapeScene *scene, int part, const double p[3])
{
  double value[PROBE_PARTS];
  int stamp[PROBE_PARTS] = { 0 };
  assert(scene->n_parts <= PROBE_PARTS);
  Probe probe = { .p = p, .value = value, .stamp = stamp, .now = 1 };
  return part_distance(scene, part, &probe);
}

double
pla_scene_region_distance(const PlaShapeScene *scene, int part, const double p[3])
{
  double value[PROBE_PARTS];
  int stamp[PROBE_PARTS] = { 0 };
  assert(scene->n_parts <= PROBE_PARTS);
  Probe probe = { .p = p, .value = value, .stamp = stamp, .now = 1 };
  double d = part_distance(scene, part, &probe);
  for (int i = part + 1; i < scene->n_parts; i++)
    if (scene->part[i].label > 0)
      d = fmax(d, -part_distance(scene, i, &probe));
  return d;
}

void
pla_scene_gradient(const PlaShapeScene *scene, int part, const double p[3], double gradient[3])
{
  const double h = 0.05; /* mm: well under any feature, well over rounding */
  for (int d = 0; d < 3; d++) {
    double lo[3] = { p[0], p[1], p[2] }, hi[3] = { p[0], p[1], p[2] };
    lo[d] -= h;
    hi[d] += h;
    gradient[d] =
        (pla_scene_distance(scene, part, hi) - pla_scene_distance(scene, part, lo)) / (2.0 * h);
  }
}

bool
pla_scene_snap(const PlaShapeScene *scene, int part, double level, double p[3])
{
  for (int step = 0; step < 60; step++) {
    const double miss = pla_scene_distance(scene, part, p) - level;
    if (fabs(miss) < 1e-3)
      return true;
    double g[3];
    pla_scene_gradient(scene, part, p, g);
    const double g2 = fmax(dot3(g, g), 1e-3);
    const double move = fmin(fmax(miss / g2, -4.0), 4.0);
    for (int d = 0; d < 3; d++)
      p[d] -= 0.9 * move * g[d];
  }
  return fabs(pla_scene_distance(scene, part, p) - level) < 0.05;
}

/* ---- label volumes ---- */

/* per-thread lists for one block of voxels */
typedef struct {
  double *value;
  int *stamp, *start, *count, *list, *live;
  int n_live; /* parts with a label that reach into the block, topmost first */
  int now;
} Scratch;

static bool
scratch_init(Scratch *s, const PlaShapeScene *scene)
{
  const size_t n = (size_t)scene->n_parts + 1;
  memset(s, 0, sizeof *s);
  s->value = pla_array_new0(n, sizeof *s->value);
  s->stamp = pla_array_new0(n, sizeof *s->stamp);
  s->start = pla_array_new0(n, sizeof *s->start);
  s->count = pla_array_new0(n, sizeof *s->count);
  s->live = pla_array_new0(n, sizeof *s->live);
  s->list = pla_array_new0((size_t)scene->n_shapes + 1, sizeof *s->list);
  return s->value && s->stamp && s->start && s->count && s->live && s->list;
}

static void
scratch_clear(Scratch *s)
{
  free(s->value);
  free(s->stamp);
  free(s->start);
  free(s->count);
  free(s->live);
  free(s->list);
}

static bool
boxes_meet(const double alo[3], const double ahi[3], double margin, const double blo[3],
           const double bhi[3])
{
  return alo[0] - margin <= bhi[0] && ahi[0] + margin >= blo[0] && alo[1] - margin <= bhi[1] &&
         ahi[1] + margin >= blo[1] && alo[2] - margin <= bhi[2] && ahi[2] + margin >= blo[2];
}

/* whether the shape's box, widened by @margin, meets the block lo..hi, mirrored as the part is */
static bool
shape_meets(const Part *part, const Shape *s, double margin, const double lo[3], const double hi[3])
{
  double from[3] = { lo[0], lo[1], lo[2] }, to[3] = { hi[0], hi[1], hi[2] };
  if (s->kind != PLA_SHAPE_PART) {
    if (part->side == PLA_SIDE_LEFT) {
      from[0] = -hi[0];
      to[0] = -lo[0];
    } else if (part->side == PLA_SIDE_MID) {
      to[0] = fmax(hi[0], -lo[0]) + part->fold;
      from[0] = lo[0] * hi[0] <= 0.0 ? 0.0 : fmin(fabs(lo[0]), fabs(hi[0]));
    }
  }
  return boxes_meet(s->lo, s->hi, margin, from, to);
}

static void
list_block(const PlaShapeScene *scene, const double lo[3], const double hi[3], Scratch *w)
{
  int n_list = 0;
  for (int i = 0; i < scene->n_parts; i++) {
    const Part *part = &scene->part[i];
    w->start[i] = n_list;
    w->count[i] = 0;
    /* the first shape's margin is the widest of the part */
    const double around = SLACK_MM + 1.25 * (part->n > 0 ? scene->shape[part->first].margin : 0.0);
    if (!boxes_meet(part->lo, part->hi, around, lo, hi))
      continue;
    for (int j = part->first; j < part->first + part->n; j++) {
      const Shape *s = &scene->shape[j];
      const double margin =
          SLACK_MM + 1.25 * s->margin + (s->op == PLA_SHAPE_CUT ? part->reach : 0.0);
      if (s->op == PLA_SHAPE_KEEP || shape_meets(part, s, margin, lo, hi))
        w->list[n_list++] = j;
    }
    w->count[i] = n_list - w->start[i];
  }
  w->n_live = 0;
  for (int i = scene->n_parts - 1; i >= 0; i--) {
    if (scene->part[i].label <= 0)
      continue;
    for (int k = w->start[i]; k < w->start[i] + w->count[i]; k++)
      if (scene->shape[w->list[k]].op == PLA_SHAPE_ADD) {
        w->live[w->n_live++] = i;
        break;
      }
  }
}

static void
fill_block(const PlaShapeScene *scene, PlaVolume *vol, int edge, const int b[3], Scratch *w)
{
  const double *a = vol->affine_mm;
  const double h = a[0];
  int from[3], to[3];
  double lo[3], hi[3];
  for (int d = 0; d < 3; d++) {
    from[d] = edge * b[d];
    to[d] = from[d] + edge < vol->dims[d] ? from[d] + edge : vol->dims[d];
    lo[d] = a[4 * d + 3] + h * from[d];
    hi[d] = a[4 * d + 3] + h * (to[d] - 1);
  }
  list_block(scene, lo, hi, w);

  /* parts that miss the block, and parts under one that fills it, need no look at each voxel */
  const double middle[3] = { 0.5 * (lo[0] + hi[0]), 0.5 * (lo[1] + hi[1]), 0.5 * (lo[2] + hi[2]) };
  const double radius =
      0.5 * sqrt((hi[0] - lo[0]) * (hi[0] - lo[0]) + (hi[1] - lo[1]) * (hi[1] - lo[1]) +
                 (hi[2] - lo[2]) * (hi[2] - lo[2]));
  Probe whole = { .p = middle,
                  .value = w->value,
                  .stamp = w->stamp,
                  .now = ++w->now,
                  .list = w->list,
                  .start = w->start,
                  .count = w->count };
  int n_live = 0;
  bool filled = false;
  for (int l = 0; l < w->n_live && !filled; l++) {
    const double d = part_distance(scene, w->live[l], &whole);
    if (d <= 2.0 * radius + SLACK_MM)
      w->live[n_live++] = w->live[l];
    filled = d < -2.0 * radius - SLACK_MM;
  }
  w->n_live = n_live;
  if (n_live == 0)
    return;
  uint8_t *voxels = vol->voxels;
  for (int k = from[2]; k < to[2]; k++)
    for (int j = from[1]; j < to[1]; j++)
      for (int i = from[0]; i < to[0]; i++) {
        const double p[3] = { a[3] + h * i, a[7] + h * j, a[11] + h * k };
        Probe probe = { .p = p,
                        .value = w->value,
                        .stamp = w->stamp,
                        .now = ++w->now,
                        .list = w->list,
                        .start = w->start,
                        .count = w->count };
        for (int l = 0; l < n_live; l++)
          if ((filled && l == n_live - 1) || part_distance(scene, w->live[l], &probe) < 0.0) {
            const size_t at =
                (size_t)i + (size_t)vol->dims[0] * ((size_t)j + (size_t)vol->dims[1] * (size_t)k);
            voxels[at] = (uint8_t)scene->part[w->live[l]].label;
            break;
          }
      }
}

static PlaStatus
fill(const PlaShapeScene *scene, PlaVolume *vol, PlaProgress *progress, PlaError *err)
{
  const int edge = (int)fmin(fmax(BLOCK_MM / vol->affine_mm[0], 2.0), 16.0);
  int nb[3];
  for (int d = 0; d < 3; d++)
    nb[d] = (vol->dims[d] + edge - 1) / edge;
  bool memory = true;
  PlaStatus st = PLA_OK;
  for (int bk = 0; bk < nb[2] && st == PLA_OK; bk++) {
    if (!pla_progress_step(progress, (double)bk / nb[2]))
      st = pla_fail_cancelled(err);
#pragma omp parallel if (st == PLA_OK)
    {
      Scratch w;
      const bool ok = scratch_init(&w, scene);
#pragma omp for schedule(dynamic)
      for (int b = 0; b < nb[0] * nb[1]; b++)
        if (ok && st == PLA_OK)
          fill_block(scene, vol, edge, (int[3]){ b % nb[0], b / nb[0], bk }, &w);
      if (!ok)
#pragma omp atomic write
        memory = false;
      scratch_clear(&w);
    }
    if (!memory)
      st = pla_fail_memory(err, "a phantom");
  }
  return st;
}

PlaStatus
pla_scene_labels(const PlaShapeScene *scene, const double lo[3], const double hi[3],
                 double spacing_mm, PlaProgress *progress, PlaLabelMap **out, PlaError *err)
{
  assert(scene->finished);
  int dims[4] = { 1, 1, 1, 1 };
  size_t n_voxels = 1;
  for (int d = 0; d < 3; d++) {
    /* an even count across x puts no voxel centre on the midplane */
    const double n = d == 0 ? 2.0 * ceil((hi[d] - lo[d]) / (2.0 * spacing_mm) - 1e-9)
                            : ceil((hi[d] - lo[d]) / spacing_mm - 1e-9);
    dims[d] = n >= 1.0 && n < 32768.0 ? (int)n : 32768;
    if (!pla_size_mul(n_voxels, (size_t)dims[d], &n_voxels) || n_voxels > MAX_VOXELS ||
        dims[d] == 32768)
      return pla_fail(err, PLA_ERR_USAGE,
                      "A spacing of %g mm gives more voxels than Platysma makes; choose a coarser "
                      "one.",
                      spacing_mm);
  }
  PlaVolume *vol = NULL;
  PlaLabelTable table = { 0 };
  PlaStatus st = pla_volume_new(dims, PLA_U8, &vol, err);
  if (st == PLA_OK) {
    memset(vol->affine_mm, 0, sizeof vol->affine_mm);
    for (int d = 0; d < 3; d++) {
      vol->affine_mm[5 * d] = spacing_mm;
      vol->affine_mm[4 * d + 3] = 0.5 * (lo[d] + hi[d]) - 0.5 * spacing_mm * (dims[d] - 1);
    }
    vol->audit.source = PLA_FRAME_MADE;
    st = fill(scene, vol, progress, err);
  }
  for (int i = 0; i < scene->n_parts && st == PLA_OK; i++) {
    const Part *part = &scene->part[i];
    if (part->label > 0)
      st = pla_label_table_set(&table, part->label, part->name, part->rgba[3] ? part->rgba : NULL,
                               err);
  }
  if (st == PLA_OK)
    st = pla_label_map_take(vol, &table, out, err);
  if (st != PLA_OK)
    pla_volume_free(vol);
  pla_label_table_clear(&table);
  return st;
}
