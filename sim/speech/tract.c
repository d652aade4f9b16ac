/* From sensors to areas.
 *
 * The outer wall is that of the phantom: the pharynx' back, the raised soft palate, the hard palate
 * under its mucosa, the upper incisors; then the upper lip, which follows UL.  The inner outline is
 * a smooth curve (Catmull-Rom) through larynx and epiglottis, two points of the tongue's root, the
 * four coils, the tip, the floor, the lower incisors that follow LI and the lower lip that follows
 * LL.  The root moves as a body of constant volume does: forward when the tongue rises and
 * advances.
 *
 * A wall point's gap is its distance to that curve, and its area a power of the gap, a
 * g^1.5 cm^2, with a by region (J. M. Heinz and K. N. Stevens, 1964); the lips are an ellipse whose
 * width shrinks as they protrude. */
#include "sim/speech/tract.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct {
  double x, y;
} Point;

/* a point of the phantom: mm to the front, mm up */
#define AT(front, up)                                                                              \
  {                                                                                                \
    PLA_SENSOR_X0 - (front), PLA_SENSOR_Y0 - (up)                                                  \
  }

static const Point throat_and_palate[] = {
  AT(8, -113),   AT(9, -107),   AT(10.5, -101), AT(12, -95),     AT(13, -89),     AT(13.7, -82),
  AT(14.4, -75), AT(15.2, -68), AT(16, -61),    AT(17, -54),     AT(18, -48),     AT(20, -42.5),
  AT(23.5, -39), AT(28, -37),   AT(33, -36),    AT(38, -35.4),   AT(43, -35.1),   AT(48, -35),
  AT(53, -35.2), AT(58, -35.8), AT(63, -36.7),  AT(67.5, -37.9), AT(71.5, -39.3), AT(75, -40.9),
  AT(78, -42.4), AT(81, -44.2), AT(83.6, -46),  AT(85.6, -48.2), AT(87, -50.8),
};
enum { FIXED = PLA_TRACT_FIXED, LIP_POINTS = PLA_TRACT_UPPER_LIP };
static_assert(sizeof throat_and_palate == FIXED * sizeof(Point),
              "every point of the wall has a number");

/* the rest from which displacements of the root are counted, and where the root then is */
static const Point rest_tr = AT(35, -45), rest_td = AT(50, -43);
static const Point larynx[] = { AT(20, -113), AT(20.5, -106), AT(24, -99), AT(26, -92) };
static const Point root[] = { AT(29.5, -80), AT(28.5, -66) };

enum { CONTROL = 4 + 2 + 4 + 1 + 1 + 1 + 2 };

static Point
sensor_at(const double *sensor, int i)
{
  return (Point){ sensor[2 * i], sensor[2 * i + 1] };
}

/* control points of the inner outline */
static void
outline_points(const double *sensor, Point p[CONTROL])
{
  const Point tr = sensor_at(sensor, 0), td = sensor_at(sensor, 1), tb = sensor_at(sensor, 2);
  const Point tt = sensor_at(sensor, 3), li = sensor_at(sensor, 4), ll = sensor_at(sensor, 6);
  int n = 0;
  for (int i = 0; i < 4; i++)
    p[n++] = larynx[i];
  const double advance =
      0.55 * (rest_tr.x - tr.x) + 0.45 * (0.5 * (rest_tr.y - tr.y) + 0.5 * (rest_td.y - td.y));
  for (int i = 0; i < 2; i++) {
    const double share = i == 0 ? 0.55 : 1.0;
    p[n++] = (Point){ root[i].x - share * advance, root[i].y };
  }
  p[n++] = tr;
  p[n++] = td;
  p[n++] = tb;
  p[n++] = tt;
  /* the tip goes on a little beyond its coil, in the direction of the blade */
  const double dx = tt.x - tb.x, dy = tt.y - tb.y, d = fmax(hypot(dx, dy), 1.0);
  p[n++] = (Point){ tt.x + 2.0 * dx / d, tt.y + 2.0 * dy / d + 1.6 };
  double floor[PLA_TRACT_FLOOR][2];
  pla_tract_floor((const double[2]){ tt.x, tt.y }, (const double[2]){ li.x, li.y },
                  (const double[2]){ ll.x, ll.y }, floor);
  for (int i = 0; i < PLA_TRACT_FLOOR; i++)
    p[n++] = (Point){ floor[i][0], floor[i][1] };
  assert(n == CONTROL);
}

void
pla_tract_floor(const double tip[2], const double li[2], const double ll[2],
                double out[PLA_TRACT_FLOOR][2])
{
  const double floor[PLA_TRACT_FLOOR][2] = {
    { fmin(tip[0] + 1.0, li[0] + 9.0), fmax(tip[1] + 7.0, li[1] + 3.0) },
    { li[0] + 1.5, li[1] - 4.5 }, /* edge of the lower incisors */
    { ll[0] + 7.0, ll[1] - 4.0 },
    { ll[0] + 1.0, ll[1] - 5.0 }, /* the lower lip's edge is above its coil */
  };
  memcpy(out, floor, sizeof floor);
}

void
pla_tract_upper_lip(const double ul[2], double out[PLA_TRACT_UPPER_LIP][2])
{
  const double lip[PLA_TRACT_UPPER_LIP][2] = {
    { ul[0] + 12.0, ul[1] + 3.2 },
    { ul[0] + 6.0, ul[1] + 3.6 },
    { ul[0] + 1.0, ul[1] + 3.6 }, /* the upper lip's edge is below its coil */
  };
  memcpy(out, lip, sizeof lip);
}

void
pla_tract_fixed(double wall[PLA_TRACT_FIXED][2], double front[PLA_TRACT_LARYNX][2])
{
  memcpy(wall, throat_and_palate, sizeof throat_and_palate);
  memcpy(front, larynx, sizeof larynx);
}

static void
draw_outline(const Point p[CONTROL], double out[PLA_TRACT_TONGUE][2])
{
  for (int i = 0; i < PLA_TRACT_TONGUE; i++) {
    const double at = (double)i / (PLA_TRACT_TONGUE - 1) * (CONTROL - 1);
    const int k = at >= CONTROL - 1 ? CONTROL - 2 : (int)at;
    const double t = at - k;
    const Point a = p[k > 0 ? k - 1 : 0], b = p[k], c = p[k + 1];
    const Point d = p[k + 2 < CONTROL ? k + 2 : CONTROL - 1];
    const double wa = ((-0.5 * t + 1.0) * t - 0.5) * t, wb = (1.5 * t - 2.5) * t * t + 1.0;
    const double wc = ((-1.5 * t + 2.0) * t + 0.5) * t, wd = (0.5 * t - 0.5) * t * t;
    out[i][0] = wa * a.x + wb * b.x + wc * c.x + wd * d.x;
    out[i][1] = wa * a.y + wb * b.y + wc * c.y + wd * d.y;
  }
}

void
pla_line_spread(const double (*line)[2], int n, double (*out)[2], int n_out)
{
  double whole = 0.0, from = 0.0, to = 0.0; /* distances; those of the ends of stretch k */
  int k = -1;
  for (int i = 1; i < n; i++)
    whole += hypot(line[i][0] - line[i - 1][0], line[i][1] - line[i - 1][1]);
  for (int i = 0; i < n_out; i++) {
    const double at = whole * i / (n_out - 1);
    while (k < 0 || (k < n - 2 && to < at)) {
      from = to;
      k++;
      to += hypot(line[k + 1][0] - line[k][0], line[k + 1][1] - line[k][1]);
    }
    const double t = (at - from) / fmax(to - from, 1e-9);
    for (int a = 0; a < 2; a++)
      out[i][a] = line[k][a] + t * (line[k + 1][a] - line[k][a]);
  }
}

/* the fixed wall and the upper lip, in points of equal distance */
static void
draw_wall(const double *sensor, double out[PLA_TRACT_WALL][2])
{
  double line[FIXED + LIP_POINTS][2];
  memcpy(line, throat_and_palate, sizeof throat_and_palate);
  pla_tract_upper_lip(sensor + 10, line + FIXED);
  pla_line_spread((const double(*)[2])line, FIXED + LIP_POINTS, out, PLA_TRACT_WALL);
}

/* a stretch of the tongue's outline: where it begins, its direction, 1 / its length squared */
typedef struct {
  double x, y, dx, dy, inverse;
} Stretch;

static void
measure_stretches(double tongue[PLA_TRACT_TONGUE][2], Stretch out[PLA_TRACT_TONGUE - 1])
{
  for (int k = 0; k + 1 < PLA_TRACT_TONGUE; k++) {
    Stretch *s = &out[k];
    s->x = tongue[k][0];
    s->y = tongue[k][1];
    s->dx = tongue[k + 1][0] - s->x;
    s->dy = tongue[k + 1][1] - s->y;
    const double length2 = s->dx * s->dx + s->dy * s->dy;
    s->inverse = length2 > 0.0 ? 1.0 / length2 : 0.0;
  }
}

/* gap of wall point @i, negative where the tongue has passed the wall; the middle of the tract */
static double
gap_at(const PlaTract *tract, const Stretch stretch[PLA_TRACT_TONGUE - 1], int i, double middle[2])
{
  const double *w = tract->wall[i];
  double best = INFINITY, best_dx = 0.0, best_dy = 0.0;
  for (int k = 0; k + 1 < PLA_TRACT_TONGUE; k++) {
    const Stretch *s = &stretch[k];
    double t = ((w[0] - s->x) * s->dx + (w[1] - s->y) * s->dy) * s->inverse;
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    const double dx = s->x + t * s->dx - w[0], dy = s->y + t * s->dy - w[1];
    const double d2 = dx * dx + dy * dy;
    if (d2 < best) {
      best = d2;
      best_dx = dx;
      best_dy = dy;
    }
  }
  middle[0] = w[0] + 0.5 * best_dx;
  middle[1] = w[1] + 0.5 * best_dy;
  /* into the tract, left of the way from the glottis to the lips */
  const double *before = tract->wall[i > 0 ? i - 1 : 0];
  const double *after = tract->wall[i < PLA_TRACT_WALL - 1 ? i + 1 : i];
  const double inward[2] = { after[1] - before[1], before[0] - after[0] };
  return best_dx * inward[0] + best_dy * inward[1] < 0.0 ? -sqrt(best) : sqrt(best);
}

/* cm^2 of a gap in cm, by how far along the wall it is (0: glottis, 1: lips) */
static double
area_of(double gap_cm, double along)
{
  static const double place[] = { 0.0, 0.1, 0.22, 0.42, 0.55, 0.75, 0.86, 1.0 };
  static const double factor[] = { 1.1, 1.3, 1.9, 2.0, 2.1, 2.2, 2.0, 2.0 };
  int k = 0;
  while (k < 6 && place[k + 1] < along)
    k++;
  const double t = (along - place[k]) / (place[k + 1] - place[k]);
  const double a = factor[k] + t * (factor[k + 1] - factor[k]);
  return a * gap_cm * sqrt(gap_cm);
}

double
pla_tract_lip_width(double protrusion_mm)
{
  /* lips spread over 42 mm at rest, less when they come forward */
  return fmax(10.0, 42.0 - 5.0 * fmax(0.0, protrusion_mm));
}

void
pla_tract_measure(PlaTract *tract, double lip_width_mm)
{
  Stretch stretch[PLA_TRACT_TONGUE - 1];
  measure_stretches(tract->tongue, stretch);
  for (int i = 0; i < PLA_TRACT_WALL; i++) {
    const double gap = gap_at(tract, stretch, i, tract->middle[i]);
    tract->gap_mm[i] = fmax(gap, 0.0);
    const double along = (double)i / (PLA_TRACT_WALL - 1);
    tract->area_mm2[i] = 100.0 * area_of(0.1 * tract->gap_mm[i], along);
    if (i >= PLA_TRACT_WALL - 4) /* the lips: an ellipse */
      tract->area_mm2[i] = 0.25 * M_PI * tract->gap_mm[i] * lip_width_mm;
  }
  tract->along_mm[0] = 0.0;
  for (int i = 1; i < PLA_TRACT_WALL; i++)
    tract->along_mm[i] =
        tract->along_mm[i - 1] + fmax(hypot(tract->middle[i][0] - tract->middle[i - 1][0],
                                            tract->middle[i][1] - tract->middle[i - 1][1]),
                                      0.2);
}

void
pla_tract_shape(const double sensor[PLA_SENSOR_CHANNELS], PlaTract *out)
{
  Point control[CONTROL];
  outline_points(sensor, control);
  draw_outline(control, out->tongue);
  draw_wall(sensor, out->wall);
  pla_tract_measure(out,
                    pla_tract_lip_width((PLA_SENSOR_X0 - 104.0) - 0.5 * (sensor[10] + sensor[12])));
}

double
pla_tract_length_m(const PlaTract *tract)
{
  return tract->along_mm[PLA_TRACT_WALL - 1] / 1000.0;
}

void
pla_tract_tube(const PlaTract *tract, PlaTube *out)
{
  out->n = PLA_TRACT_WALL - 1;
  for (int i = 0; i < out->n; i++) {
    out->area[i] = 0.5e-6 * (tract->area_mm2[i] + tract->area_mm2[i + 1]);
    out->length[i] = (tract->along_mm[i + 1] - tract->along_mm[i]) / 1000.0;
  }
}

void
pla_tract_areas(const PlaTract *tract, double area_m2[PLA_WAVE_SECTIONS])
{
  const double length = tract->along_mm[PLA_TRACT_WALL - 1];
  int k = 0;
  for (int s = 0; s < PLA_WAVE_SECTIONS; s++) {
    /* the narrowest place of a section carries its flow: means of the inverse areas */
    enum { PARTS = 4 };
    double inverse = 0.0;
    for (int j = 0; j < PARTS; j++) {
      const double at = length * (s + (j + 0.5) / PARTS) / PLA_WAVE_SECTIONS;
      while (k < PLA_TRACT_WALL - 2 && tract->along_mm[k + 1] < at)
        k++;
      const double t = (at - tract->along_mm[k]) / (tract->along_mm[k + 1] - tract->along_mm[k]);
      const double a = tract->area_mm2[k] + t * (tract->area_mm2[k + 1] - tract->area_mm2[k]);
      inverse += 1.0 / fmax(a, 1e-3) / PARTS;
    }
    area_m2[s] = 1e-6 / inverse;
    if (area_m2[s] < 2.5e-7)
      area_m2[s] = 0.0;
  }
}

double
pla_tract_palate_y(double x_mm)
{
  enum { FIRST = 12 }; /* the soft palate's back */
  const Point *p = throat_and_palate;
  if (x_mm >= p[FIRST].x)
    return p[FIRST].y;
  for (int i = FIRST; i + 1 < FIXED; i++)
    if (x_mm >= p[i + 1].x)
      return p[i].y + (p[i + 1].y - p[i].y) * (p[i].x - x_mm) / (p[i].x - p[i + 1].x);
  return p[FIXED - 1].y;
}

int
pla_tract_keep_below(double sensor[PLA_SENSOR_CHANNELS])
{
  int moved = 0;
  for (int i = 0; i < 4; i++) {
    const double least = pla_tract_palate_y(sensor[2 * i]) + 0.3;
    if (sensor[2 * i + 1] < least) {
      sensor[2 * i + 1] = least;
      moved++;
    }
  }
  return moved;
}
