/* Customary flaps and excisions as drawings.
 *
 * Incisions begin a little inside the defect they start from, and are made before it is removed, so
 * that both wounds run into each other for certain.  Lengths of edges that are sewn together may
 * differ: stitches go by fractions of the length, which is how a surgeon halves a seam. */
#include "sim/surgery/template.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 0, RIGHT = 1, ONLY = -1 };
enum { ARC_POINTS = 12 }; /* of half a circle or less: chords within 1 % of the radius */

#define DEG (M_PI / 180.0)

static double
rad(double deg)
{
  return deg * DEG;
}

/* ---- drawings ---- */

void
pla_template_drawing_clear(PlaTemplateDrawing *self)
{
  for (int i = 0; i < self->n_steps; i++)
    free(self->step[i].point);
  free(self->step);
  *self = (PlaTemplateDrawing){ 0 };
}

/* the new step's number, -1 when memory is short */
static int
add_step(PlaTemplateDrawing *self, PlaTemplateTool tool, const char *name)
{
  if (!pla_array_reserve(&self->step, self->n_steps + 1, &self->capacity, sizeof *self->step))
    return -1;
  self->step[self->n_steps] = (PlaTemplateStep){ .tool = tool, .name = name };
  return self->n_steps++;
}

/* adds (u, v) to step @s, as returned by add_step(); its number there, -1 when memory is short */
static int
add_point(PlaTemplateDrawing *self, int s, double u, double v)
{
  if (s < 0)
    return -1;
  PlaTemplateStep *step = &self->step[s];
  if (!pla_array_resize((void **)&step->point, (size_t)step->n_points + 1, 2 * sizeof *step->point))
    return -1;
  step->point[2 * step->n_points] = u;
  step->point[2 * step->n_points + 1] = v;
  return step->n_points++;
}

/* adds points of the circle around (u, v) from one angle to another; the number of the last */
static int
add_arc(PlaTemplateDrawing *self, int s, double u, double v, double radius, double from, double to)
{
  int last = -1;
  for (int i = 0; i <= ARC_POINTS; i++) {
    const double t = from + (to - from) * i / ARC_POINTS;
    last = add_point(self, s, u + radius * cos(t), v + radius * sin(t));
    if (last < 0)
      return -1;
  }
  return last;
}

static bool
add_seam(PlaTemplateDrawing *self, const PlaTemplateEdge *first, int n_first,
         const PlaTemplateEdge *second, int n_second)
{
  const int s = add_step(self, PLA_TEMPLATE_SEW, NULL);
  if (s < 0)
    return false;
  PlaTemplateStep *step = &self->step[s];
  step->n_parts[0] = n_first;
  step->n_parts[1] = n_second;
  memcpy(step->edge[0], first, (size_t)n_first * sizeof *first);
  memcpy(step->edge[1], second, (size_t)n_second * sizeof *second);
  return true;
}

#define SEAM(drawing, first, second)                                                               \
  add_seam(drawing, first, (int)(sizeof(first) / sizeof *(first)), second,                         \
           (int)(sizeof(second) / sizeof *(second)))

/* ---- the templates ---- */

/* a lens between two arcs of radius (half^2 + rise^2) / (2 rise) */
static bool
draw_fusiform(const PlaTemplateParams *p, PlaTemplateDrawing *out)
{
  const double half = 0.5 * p->length, rise = 0.5 * p->size;
  const double radius = (half * half + rise * rise) / (2.0 * rise);
  const double open = asin(half / radius);
  const int s = add_step(out, PLA_TEMPLATE_EXCISE, "lesion");
  int tip = add_arc(out, s, 0.0, rise - radius, radius, rad(90) + open, rad(90) - open);
  int n = -1;
  for (int i = 1; i < ARC_POINTS; i++) {
    const double t = rad(270) + open - 2.0 * open * i / ARC_POINTS;
    n = add_point(out, s, radius * cos(t), radius - rise + radius * sin(t));
    if (n < 0)
      return false;
  }
  if (s < 0 || tip < 0)
    return false;
  const PlaTemplateEdge upper[] = { { s, ONLY, 0, tip } }, lower[] = { { s, ONLY, n + 1, tip } };
  return SEAM(out, upper, lower);
}

/* limb, scar and limb, all equally long; the two triangles change places */
static bool
draw_z(const PlaTemplateParams *p, PlaTemplateDrawing *out)
{
  const double l = p->size, c = l * cos(p->angle), s = l * sin(p->angle);
  const int cut = add_step(out, PLA_TEMPLATE_INCISE, "z");
  bool ok = add_point(out, cut, -0.5 * l + c, s) >= 0 && add_point(out, cut, -0.5 * l, 0.0) >= 0 &&
            add_point(out, cut, 0.5 * l, 0.0) >= 0 && add_point(out, cut, 0.5 * l - c, -s) >= 0;
  const int under = add_step(out, PLA_TEMPLATE_UNDERMINE, NULL);
  ok = ok && add_point(out, under, -0.6 * l, -0.1 * l) >= 0 &&
       add_point(out, under, 0.5 * l - 1.1 * c, -1.15 * s) >= 0 &&
       add_point(out, under, 0.6 * l, 0.1 * l) >= 0 &&
       add_point(out, under, -0.5 * l + 1.1 * c, 1.15 * s) >= 0;
  const PlaTemplateEdge a[] = { { cut, LEFT, 1, 2 } }, a2[] = { { cut, LEFT, 3, 2 } };
  const PlaTemplateEdge b[] = { { cut, RIGHT, 2, 1 } }, b2[] = { { cut, RIGHT, 0, 1 } };
  const PlaTemplateEdge c1[] = { { cut, LEFT, 0, 1 } }, c2[] = { { cut, RIGHT, 2, 3 } };
  out->width = 2.0 * l * sin(0.5 * p->angle);
  out->length = l;
  return ok && SEAM(out, a, a2) && SEAM(out, b, b2) && SEAM(out, c1, c2);
}

/* Limberg: a rhombus, and a flap of its shape beside it, on the extension of the short diagonal */
static bool
draw_rhomboid(const PlaTemplateParams *p, PlaTemplateDrawing *out)
{
  const double s = p->size, l = s * cos(0.5 * p->angle), h = s * sin(0.5 * p->angle);
  const int flap = add_step(out, PLA_TEMPLATE_INCISE, "flap");
  bool ok = add_point(out, flap, 0.0, 0.5 * h) >= 0 && add_point(out, flap, 0.0, h) >= 0 &&
            add_point(out, flap, 0.0, h + s) >= 0 && add_point(out, flap, l, s) >= 0;
  const int hole = add_step(out, PLA_TEMPLATE_EXCISE, "lesion");
  ok = ok && add_point(out, hole, -l, 0.0) >= 0 && add_point(out, hole, 0.0, h) >= 0 &&
       add_point(out, hole, l, 0.0) >= 0 && add_point(out, hole, 0.0, -h) >= 0;
  const int under = add_step(out, PLA_TEMPLATE_UNDERMINE, NULL);
  ok = ok && add_point(out, under, -l - 0.4 * s, 0.0) >= 0 &&
       add_point(out, under, 0.0, -h - 0.4 * s) >= 0 &&
       add_point(out, under, l + 0.4 * s, 0.0) >= 0 && add_point(out, under, l + 0.4 * s, s) >= 0 &&
       add_point(out, under, 0.0, h + 1.4 * s) >= 0 && add_point(out, under, -0.4 * s, h + s) >= 0;
  const PlaTemplateEdge cb[] = { { hole, ONLY, 2, 1 } }, cd[] = { { hole, ONLY, 2, 3 } };
  const PlaTemplateEdge be[] = { { flap, RIGHT, 1, 2 } }, da[] = { { hole, ONLY, 3, 4 } };
  const PlaTemplateEdge ef[] = { { flap, RIGHT, 2, 3 } }, ab[] = { { hole, ONLY, 0, 1 } };
  const PlaTemplateEdge donor[] = { { flap, LEFT, 1, 2 } }, donor2[] = { { flap, LEFT, 3, 2 } };
  out->width = s;
  out->length = s;
  return ok && SEAM(out, cb, cd) && SEAM(out, be, da) && SEAM(out, ef, ab) &&
         SEAM(out, donor, donor2);
}

/* A wedge with its base on a circle, and an arc on from it: what lies inside turns about the middle
 * and closes the wedge. */
static bool
draw_rotation(const PlaTemplateParams *p, PlaTemplateDrawing *out)
{
  const double w = p->size, radius = p->length / p->angle, half = asin(0.5 * w / radius);
  /* the wedge is a little higher than wide, and stays short of the middle of the circle */
  const double height = fmin(1.2 * w, 0.9 * radius);
  const double v0 = height / 3.0 - radius * cos(half); /* middle of the circle: (0, v0) */
  const double first = rad(90) - half;
  const int flap = add_step(out, PLA_TEMPLATE_INCISE, "flap");
  const double bu = radius * cos(first), bv = v0 + radius * sin(first);
  bool ok = add_point(out, flap, 0.5 * bu, bv - 0.3 * height) >= 0;
  const int end = add_arc(out, flap, 0.0, v0, radius, first, first - p->angle);
  const int hole = add_step(out, PLA_TEMPLATE_EXCISE, "lesion");
  ok = ok && end > 0 && add_point(out, hole, 0.0, -2.0 * height / 3.0) >= 0;
  const int left = add_arc(out, hole, 0.0, v0, radius, first, rad(90) + half);
  const int under = add_step(out, PLA_TEMPLATE_UNDERMINE, NULL);
  const double wide = radius + 0.35 * w;
  ok = ok && left > 0 &&
       add_arc(out, under, 0.0, v0, wide, rad(90) + 1.8 * half, first - p->angle) > 0 &&
       add_point(out, under, -0.15 * w, fmin(v0, -2.0 * height / 3.0) - 0.25 * w) >= 0;
  const PlaTemplateEdge lead[] = { { hole, ONLY, 0, 1 } };
  const PlaTemplateEdge far[] = { { hole, ONLY, left + 1, left } };
  const PlaTemplateEdge outer[] = { { hole, ONLY, left, 1 }, { flap, LEFT, 1, end } };
  const PlaTemplateEdge inner[] = { { flap, RIGHT, 1, end } };
  out->width = radius;
  out->length = p->length;
  return ok && SEAM(out, lead, far) && SEAM(out, inner, outer);
}

/* a square, and a strip beside it that is drawn over it */
static bool
draw_advancement(const PlaTemplateParams *p, PlaTemplateDrawing *out)
{
  const double h = 0.5 * p->size, l = p->length;
  const int upper = add_step(out, PLA_TEMPLATE_INCISE, "upper");
  bool ok = add_point(out, upper, 0.4 * h, 0.5 * h) >= 0 && add_point(out, upper, h, h) >= 0 &&
            add_point(out, upper, h + l, h) >= 0;
  const int lower = add_step(out, PLA_TEMPLATE_INCISE, "lower");
  ok = ok && add_point(out, lower, 0.4 * h, -0.5 * h) >= 0 && add_point(out, lower, h, -h) >= 0 &&
       add_point(out, lower, h + l, -h) >= 0;
  const int hole = add_step(out, PLA_TEMPLATE_EXCISE, "lesion");
  ok = ok && add_point(out, hole, -h, -h) >= 0 && add_point(out, hole, h, -h) >= 0 &&
       add_point(out, hole, h, h) >= 0 && add_point(out, hole, -h, h) >= 0;
  const int under = add_step(out, PLA_TEMPLATE_UNDERMINE, NULL);
  ok = ok && add_point(out, under, -1.6 * h, -1.6 * h) >= 0 &&
       add_point(out, under, h + 1.15 * l, -1.6 * h) >= 0 &&
       add_point(out, under, h + 1.15 * l, 1.6 * h) >= 0 &&
       add_point(out, under, -1.6 * h, 1.6 * h) >= 0;
  const PlaTemplateEdge lead[] = { { hole, ONLY, 1, 2 } }, far[] = { { hole, ONLY, 4, 3 } };
  const PlaTemplateEdge above[] = { { hole, ONLY, 3, 2 }, { upper, LEFT, 1, 2 } };
  const PlaTemplateEdge strip[] = { { upper, RIGHT, 1, 2 } };
  const PlaTemplateEdge below[] = { { hole, ONLY, 0, 1 }, { lower, RIGHT, 1, 2 } };
  const PlaTemplateEdge strip2[] = { { lower, LEFT, 1, 2 } };
  out->width = p->size;
  out->length = l;
  return ok && SEAM(out, lead, far) && SEAM(out, strip, above) && SEAM(out, strip2, below);
}

/* Two lobes that turn together about a point two radii below the middle of a round defect: the
 * first fills the defect, the second, narrower one fills the place of the first.  Where its outer
 * limb bends, three edges meet: the bend, the tip of skin between both lobes, and the skin outside;
 * above, the bed of the second lobe is closed upon itself, below, the limb is sewn to the skin it
 * was cut from. */
static bool
draw_bilobed(const PlaTemplateParams *p, PlaTemplateDrawing *out)
{
  const double r = 0.5 * p->size, turn = p->angle, pivot = -2.0 * r;
  /* the pivot is one radius below the edge of the defect, as in Zitelli's design; angles go from
   * the upright there towards the lobes, to the left */
  const double c = 2.0 * r * cos(0.5 * turn);
  const double meet = c + sqrt(fmax(c * c - 3.0 * r * r, 0.0)); /* circles half a turn apart meet */
  const double m_u = -meet * sin(0.5 * turn), m_v = pivot + meet * cos(0.5 * turn);
  const double from = atan2(m_v, m_u);
  const double c_u = -2.0 * r * sin(turn), c_v = pivot + 2.0 * r * cos(turn);
  const double n_u = -meet * sin(1.5 * turn), n_v = pivot + meet * cos(1.5 * turn);
  const int flap = add_step(out, PLA_TEMPLATE_INCISE, "flap");
  bool ok = add_point(out, flap, 0.5 * m_u, 0.5 * m_v) >= 0;
  const int first = 1;
  double begin = atan2(m_v - c_v, m_u - c_u), stop = atan2(n_v - c_v, n_u - c_u);
  if (stop < begin)
    stop += rad(360);
  const int valley = add_arc(out, flap, c_u, c_v, r, begin, stop);
  const double tip_at = 1.9 * turn, bend_at = 2.3 * turn;
  const int tip = add_point(out, flap, -3.4 * r * sin(tip_at), pivot + 3.4 * r * cos(tip_at));
  const int bend = add_point(out, flap, -meet * sin(bend_at), pivot + meet * cos(bend_at));
  const int end = add_point(out, flap, -1.2 * r * sin(bend_at), pivot + 1.2 * r * cos(bend_at));
  /* a drop: the circle, and its tangents down to near the pivot */
  const int hole = add_step(out, PLA_TEMPLATE_EXCISE, "lesion");
  ok = ok && valley > 0 && tip > 0 && bend > 0 && end > 0 &&
       add_point(out, hole, 0.0, pivot + 0.5 * r) >= 0;
  int meeting = -1, last = -1;
  for (int i = 0; ok && i <= 2 * ARC_POINTS; i++) {
    const double a = rad(-30), b = rad(210), t = a + (b - a) * i / (2.0 * ARC_POINTS);
    const double before = t - (b - a) / (2.0 * ARC_POINTS);
    if (i > 0 && before < from && from <= t && meeting < 0)
      meeting = add_point(out, hole, m_u, m_v);
    if (fabs(t - from) > rad(3))
      last = add_point(out, hole, r * cos(t), r * sin(t));
    ok = last >= 0;
  }
  const int under = add_step(out, PLA_TEMPLATE_UNDERMINE, NULL);
  ok = ok && meeting > 0 && add_point(out, under, 1.5 * r, pivot) >= 0 &&
       add_point(out, under, 1.5 * r, r) >= 0 && add_point(out, under, 0.0, 1.5 * r) >= 0 &&
       add_point(out, under, 1.4 * m_u, 1.5 * r) >= 0;
  for (int i = 0; ok && i <= 4; i++) {
    const double t = turn * (1.0 + 0.4 * i);
    ok = add_point(out, under, -3.7 * r * sin(t), pivot + 3.7 * r * cos(t)) >= 0;
  }
  ok = ok && add_point(out, under, -0.8 * r, pivot - 0.8 * r) >= 0;
  const PlaTemplateEdge lobe[] = { { hole, ONLY, last + 1, meeting },
                                   { flap, LEFT, first, valley } };
  const PlaTemplateEdge bed[] = { { hole, ONLY, 0, meeting } };
  const PlaTemplateEdge second[] = { { flap, LEFT, valley, bend } };
  const PlaTemplateEdge place[] = { { flap, RIGHT, first, valley } };
  const PlaTemplateEdge donor[] = { { flap, RIGHT, valley, tip } };
  const PlaTemplateEdge donor2[] = { { flap, RIGHT, bend, tip } };
  const PlaTemplateEdge limb[] = { { flap, LEFT, end, bend } };
  const PlaTemplateEdge limb2[] = { { flap, RIGHT, end, bend } };
  out->width = p->size;
  out->length = 3.0 * r;
  return ok && SEAM(out, lobe, bed) && SEAM(out, second, place) && SEAM(out, donor, donor2) &&
         SEAM(out, limb, limb2);
}

/* Customary proportions, in radians and multiples of the size.  Angles outside the limits make tips
 * too narrow to live or flaps that do not reach; lengths are checked by pla_template_draw(). */

/* length three times the width, the customary ratio for closure without dog-ears (I.
 * McGregor, Fundamental Techniques of Plastic Surgery) */
static const PlaTemplate fusiform = { .id = "fusiform",
                                      .title = "Fusiform excision",
                                      .size = "width",
                                      .length = "length",
                                      .length_of_size = 3.0,
                                      .draw = draw_fusiform };
/* 60 degrees lengthen the scar by 75 % in theory, 2 sin 60 = 1.73; 30 degrees by 25 %, 45 degrees
 * by 50 % (McGregor) */
static const PlaTemplate z_plasty = { .id = "z-plasty",
                                      .title = "Z-plasty",
                                      .size = "length of the scar",
                                      .angle = 60 * DEG,
                                      .min_angle = 20 * DEG,
                                      .max_angle = 90 * DEG,
                                      .draw = draw_z };
/* a rhombus of 60 and 120 degrees, all sides of flap and defect equal (A. Limberg 1946) */
static const PlaTemplate rhomboid = { .id = "rhomboid",
                                      .title = "Rhomboid flap",
                                      .size = "side of the defect",
                                      .angle = 60 * DEG,
                                      .min_angle = 40 * DEG,
                                      .max_angle = 80 * DEG,
                                      .draw = draw_rhomboid };
/* an arc four times as long as the defect is wide, so that the tension of closure spreads along it
 */
static const PlaTemplate rotation = { .id = "rotation",
                                      .title = "Rotation flap",
                                      .size = "width of the defect",
                                      .angle = 110 * DEG,
                                      .min_angle = 60 * DEG,
                                      .max_angle = 180 * DEG,
                                      .length = "length of the arc",
                                      .length_of_size = 4.0,
                                      .draw = draw_rotation };
/* 2.5 times as long as wide: within 3 to 1, the customary limit of random flaps of the face */
static const PlaTemplate advancement = { .id = "advancement",
                                         .title = "Advancement flap",
                                         .size = "side of the defect",
                                         .length = "length of the flap",
                                         .length_of_size = 2.5,
                                         .draw = draw_advancement };
/* each lobe turns by 45 to 50 degrees, about 90 to 100 in all, instead of the 180 of earlier
 * designs (J. Zitelli, The bilobed flap for nasal reconstruction, 1989) */
static const PlaTemplate bilobed = { .id = "bilobed",
                                     .title = "Bilobed flap",
                                     .size = "width of the defect",
                                     .angle = 48 * DEG,
                                     .min_angle = 40 * DEG,
                                     .max_angle = 58 * DEG,
                                     .draw = draw_bilobed };

static const PlaTemplate *const templates[] = { &fusiform,    &z_plasty, &rhomboid, &rotation,
                                                &advancement, &bilobed,  NULL };

const PlaTemplate *const *
pla_templates_get(void)
{
  return templates;
}

const PlaTemplate *
pla_template_find(const char *id)
{
  for (int i = 0; templates[i]; i++)
    if (strcmp(templates[i]->id, id) == 0)
      return templates[i];
  return NULL;
}

PlaStatus
pla_template_draw(const PlaTemplate *self, const PlaTemplateParams *params, PlaTemplateDrawing *out,
                  PlaError *err)
{
  PlaTemplateParams p = *params;
  *out = (PlaTemplateDrawing){ 0 };
  if (!(p.size > 0.0 && isfinite(p.size)))
    return pla_fail(err, PLA_ERR_USAGE, "the %s of a %s must be above 0", self->size, self->title);
  if (p.angle == 0.0)
    p.angle = self->angle;
  if (self->angle > 0.0 && !(p.angle >= self->min_angle && p.angle <= self->max_angle))
    return pla_fail(err, PLA_ERR_USAGE,
                    "the angle of a %s is %.0f degrees and must lie between %.0f and %.0f",
                    self->title, p.angle / DEG, self->min_angle / DEG, self->max_angle / DEG);
  if (p.length == 0.0)
    p.length = self->length_of_size * p.size;
  if (self->length && !(p.length >= 1.5 * p.size && p.length <= 20.0 * p.size))
    return pla_fail(err, PLA_ERR_USAGE,
                    "the %s of a %s is %.1f mm and must be 1.5 to 20 times the %s", self->length,
                    self->title, 1e3 * p.length, self->size);
  bool ok = self->draw(&p, out);
  /* the mirror image: left edges become right ones */
  for (int s = 0; ok && p.mirror && s < out->n_steps; s++) {
    PlaTemplateStep *step = &out->step[s];
    for (int i = 0; i < step->n_points; i++)
      step->point[2 * i + 1] = -step->point[2 * i + 1];
    for (int k = 0; k < 2; k++)
      for (int i = 0; i < step->n_parts[k]; i++)
        if (step->edge[k][i].side >= 0)
          step->edge[k][i].side = 1 - step->edge[k][i].side;
  }
  if (ok)
    return PLA_OK;
  pla_template_drawing_clear(out);
  return pla_fail_memory(err, "the template");
}
