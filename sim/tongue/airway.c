/* Lines are laid out in the plane of sim/speech/tract.h, mm to the back and down, so that one piece
 * measures the tract of the sensors and that of a mesh. */
#include "sim/tongue/airway.h"

#include "anatomy/base/memory.h"
#include "sim/speech/sounds.h"
#include "sim/tongue/tongue-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_THROAT_MM 6.0 /* between the back of the throat and a tongue at rest */
#define PALATE_REACH_MM 20.0
#define LEAST_AREA_MM2 1.0 /* never quite closed, so that sound has a way */

/* a place of the midsagittal plane, (forward, up) in m, as the tract has it, and back */
static void
to_tract(const PlaTongue *self, const double at[2], double out[2])
{
  for (int a = 0; a < 2; a++)
    out[a] = -pla_tongue_mm(self, at[a]);
}

static void
from_tract(const PlaTongue *self, const double at[2], double out[2])
{
  for (int a = 0; a < 2; a++)
    out[a] = -at[a] * self->fit.scale / 1000.0;
}

/* ---- the wall ---- */

/* a similarity in the plane: p -> (c -s; s c) p + shift */
typedef struct {
  double c, s, shift[2];
} Similarity;

static void
move(const Similarity *m, const double in[2], double out[2])
{
  const double x = in[0], y = in[1];
  out[0] = m->c * x - m->s * y + m->shift[0];
  out[1] = m->s * x + m->c * y + m->shift[1];
}

/* the neutral tongue coils of the tract onto the speaker's mean places */
static Similarity
lay_on(const PlaTongue *self)
{
  const double *rest = pla_sound_neutral();
  double from[2] = { 0 }, to[2] = { 0 }, place[PLA_N_TONGUE_COILS][2], dot = 0.0, cross = 0.0,
         size = 0.0;
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
    double at[2];
    pla_coil_fit_place(&self->fit, self->fit.rest_mm[k], at);
    to_tract(self, at, place[k]);
    for (int a = 0; a < 2; a++) {
      from[a] += rest[2 * k + a] / PLA_N_TONGUE_COILS;
      to[a] += place[k][a] / PLA_N_TONGUE_COILS;
    }
  }
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
    const double x = rest[2 * k] - from[0], y = rest[2 * k + 1] - from[1];
    const double u = place[k][0] - to[0], v = place[k][1] - to[1];
    dot += x * u + y * v;
    cross += x * v - y * u;
    size += x * x + y * y;
  }
  Similarity m = { dot / size, cross / size, { 0, 0 } };
  double moved[2];
  move(&m, from, moved);
  for (int a = 0; a < 2; a++)
    m.shift[a] = to[a] - moved[a];
  return m;
}

/* the phantom's plane has its origin elsewhere and is in scale with its mesh */
static Similarity
lay_phantom(const PlaTongue *self)
{
  const double factor = self->mesh_factor / self->fit.scale;
  return (Similarity){ factor, 0.0, { -PLA_SENSOR_X0 * factor, -PLA_SENSOR_Y0 * factor } };
}

/* least distance of a place of the midsagittal plane from solids that do not move, m */
static double
solid_distance(const PlaTongue *self, const double at[2])
{
  double pos[3], least = INFINITY;
  pla_head_frame_point(&self->frame, at, pos);
  for (int d = 0; d < 3; d++)
    pos[d] *= 1000.0;
  for (int i = 0; i < self->n_solids; i++)
    if (!self->with_jaw[i])
      least = fmin(least, pla_levelset_at(self->solid[i], pos) / 1000.0);
  return least;
}

/* @at goes up or down to the underside of what is above it, where there is one within reach */
static void
meet_palate(const PlaTongue *self, double at[2])
{
  const double step = 0.5 * self->fit.scale / 1000.0;
  const double below = at[1] - PALATE_REACH_MM * self->fit.scale / 1000.0;
  double up[2] = { at[0], below };
  if (!(solid_distance(self, up) > 0.0))
    return;
  for (int i = 1; i <= (int)(4.0 * PALATE_REACH_MM); i++) {
    up[1] = below + i * step;
    if (solid_distance(self, up) > 0.0)
      continue;
    double free = up[1] - step, solid = up[1];
    for (int round = 0; round < 20; round++) {
      up[1] = 0.5 * (free + solid);
      if (solid_distance(self, up) > 0.0)
        free = up[1];
      else
        solid = up[1];
    }
    at[1] = 0.5 * (free + solid);
    return;
  }
}

/* how far the throat must go back to leave a tongue at rest its room, m */
static double
throat_back(const PlaTongue *self, const double *line)
{
  const double room = LEAST_THROAT_MM * self->fit.scale / 1000.0;
  double back = 0.0;
  for (int w = 0; w < PLA_TRACT_UVULA; w++)
    for (int i = 0; i < self->outline.n_dorsum; i++)
      if (fabs(line[2 * i + 1] - self->wall[w][1]) < room)
        back = fmax(back, self->wall[w][0] + room - line[2 * i]);
  return back;
}

PlaStatus
pla_airway_place(PlaTongue *self, bool in_tract, PlaError *err)
{
  const Similarity m = in_tract ? lay_phantom(self) : lay_on(self);
  double *line = pla_array_new((size_t)self->outline.n, 2 * sizeof *line);
  if (!line)
    return pla_fail_memory(err, "an airway");
  pla_tract_fixed(self->wall, self->larynx);
  for (int i = 0; i < PLA_TRACT_FIXED; i++) {
    move(&m, self->wall[i], self->wall[i]);
    from_tract(self, self->wall[i], self->wall[i]);
  }
  for (int i = 0; i < PLA_TRACT_LARYNX; i++) {
    move(&m, self->larynx[i], self->larynx[i]);
    from_tract(self, self->larynx[i], self->larynx[i]);
  }
  if (!in_tract) {
    pla_outline_place(&self->outline, &self->frame, self->mesh->pos, line);
    const double back = throat_back(self, line);
    for (int i = 0; i < PLA_TRACT_UVULA; i++)
      self->wall[i][0] -= back;
    for (int i = 0; i < PLA_TRACT_LARYNX; i++)
      self->larynx[i][0] -= back;
    for (int i = PLA_TRACT_UVULA; i < PLA_TRACT_FIXED; i++)
      meet_palate(self, self->wall[i]);
  }
  free(line);
  return PLA_OK;
}

const double (*pla_airway_get_wall(const PlaTongue *self))[2]
{
  return self->wall;
}

/* ---- a frame ---- */

/* larynx, root and back of the tongue to its tip, what is before it; returns the number of places,
 * at most those of the outline and PLA_TRACT_LARYNX + PLA_TRACT_FLOOR more */
static int
inner_line(const PlaTongue *self, const double *outline, const double li[2], const double ll[2],
           double (*out)[2])
{
  const int n_dorsum = self->outline.n_dorsum;
  const double low = outline[2 * (n_dorsum - 1) + 1]; /* the root's end */
  int n = 0;
  for (int i = 0; i < PLA_TRACT_LARYNX; i++)
    if (i == 0 || self->larynx[i][1] < low + 5.0 * self->fit.scale / 1000.0)
      to_tract(self, self->larynx[i], out[n++]);
  const double top = out[n - 1][1]; /* downwards */
  for (int i = n_dorsum - 1; i >= 0; i--) {
    to_tract(self, outline + 2 * i, out[n]);
    n += out[n][1] < top;
  }
  double tip[2];
  to_tract(self, outline, tip);
  pla_tract_floor(tip, li, ll, out + n);
  return n + PLA_TRACT_FLOOR;
}

/* where coil @k is, or the mean place of a speaker without it, or @otherwise */
static void
coil_place(const PlaTongue *self, const double *coil_mm, int k, const double otherwise[2],
           double out[2])
{
  const double *mm =
      isnan(coil_mm[2 * k] + coil_mm[2 * k + 1]) ? self->fit.rest_mm[k] : coil_mm + 2 * k;
  double at[2];
  if (isnan(mm[0] + mm[1])) {
    memcpy(out, otherwise, 2 * sizeof *out);
    return;
  }
  pla_coil_fit_place(&self->fit, mm, at);
  to_tract(self, at, out);
}

/* distance of @at from the nearest place of a line */
static double
distance_to(const double (*line)[2], int n, const double at[2])
{
  double best = INFINITY;
  for (int i = 0; i + 1 < n; i++) {
    const double dx = line[i + 1][0] - line[i][0], dy = line[i + 1][1] - line[i][1];
    const double x = at[0] - line[i][0], y = at[1] - line[i][1], length2 = dx * dx + dy * dy;
    const double along = length2 > 0.0 ? (x * dx + y * dy) / length2 : 0.0;
    const double t = along < 0.0 ? 0.0 : along > 1.0 ? 1.0 : along;
    const double u = x - t * dx, v = y - t * dy, square = u * u + v * v;
    best = square < best ? square : best;
  }
  return sqrt(best);
}

/* least width between wall points @s and @s + 1, which are too far apart to show where a sound is
 * made */
static double
section_gap(const PlaTract *tract, int s)
{
  enum { PARTS = 4 };
  double least = fmin(tract->gap_mm[s], tract->gap_mm[s + 1]);
  for (int p = 1; p < PARTS && least > 0.0; p++) {
    double at[2];
    for (int a = 0; a < 2; a++)
      at[a] = tract->wall[s][a] + (tract->wall[s + 1][a] - tract->wall[s][a]) * p / PARTS;
    least = fmin(least, distance_to((const double(*)[2])tract->tongue, PLA_TRACT_TONGUE, at));
  }
  return least;
}

void
pla_airway_measure(const PlaTongue *self, const double *pos, const double *coil_mm, PlaAirway *out)
{
  PlaTract tract;
  double wall[PLA_TRACT_FIXED + PLA_TRACT_UPPER_LIP][2], li[2], ul[2], ll[2], teeth[2], rest[2];
  double *outline = pla_array_new((size_t)self->outline.n, 2 * sizeof *outline);
  double(*inner)[2] =
      pla_array_new((size_t)(self->outline.n_dorsum + PLA_TRACT_LARYNX + PLA_TRACT_FLOOR),
                    sizeof *inner);
  memset(out, 0, sizeof *out);
  if (!outline || !inner) {
    free(outline);
    free(inner);
    return;
  }
  to_tract(self, self->incisor, teeth);
  coil_place(self, coil_mm, PLA_COIL_LI, teeth, li);
  coil_place(self, coil_mm, PLA_COIL_UL, (const double[2]){ teeth[0] - 16.0, teeth[1] - 11.0 }, ul);
  coil_place(self, coil_mm, PLA_COIL_LL, (const double[2]){ teeth[0] - 16.0, teeth[1] + 8.0 }, ll);
  for (int i = 0; i < PLA_TRACT_FIXED; i++)
    to_tract(self, self->wall[i], wall[i]);
  pla_tract_upper_lip(ul, wall + PLA_TRACT_FIXED);
  pla_line_spread((const double(*)[2])wall, PLA_TRACT_FIXED + PLA_TRACT_UPPER_LIP, tract.wall,
                  PLA_TRACT_WALL);
  pla_outline_place(&self->outline, &self->frame, pos, outline);
  const int n = inner_line(self, outline, li, ll, inner);
  pla_line_spread((const double(*)[2])inner, n, tract.tongue, PLA_TRACT_TONGUE);
  /* lips that stand before their mean place are rounded */
  double ahead = 0.0;
  for (int k = PLA_COIL_UL; k <= PLA_COIL_LL; k++) {
    coil_place(self, self->fit.rest_mm[0], k, teeth, rest);
    ahead += 0.5 * (rest[0] - (k == PLA_COIL_UL ? ul[0] : ll[0]));
  }
  pla_tract_measure(&tract, pla_tract_lip_width(ahead));
  out->n = PLA_AIRWAY_SECTIONS;
  out->narrowest_mm2 = INFINITY;
  for (int s = 0; s < PLA_AIRWAY_SECTIONS; s++) {
    out->gap_mm[s] = section_gap(&tract, s);
    out->area_mm2[s] = fmax(LEAST_AREA_MM2, 0.5 * (tract.area_mm2[s] + tract.area_mm2[s + 1]));
    out->length_mm[s] = tract.along_mm[s + 1] - tract.along_mm[s];
    for (int a = 0; a < 2; a++)
      out->line[s][a] = 2.0 * tract.middle[s][a] - tract.wall[s][a];
    from_tract(self, out->line[s], out->line[s]);
    /* neither the larynx nor what is before the tip */
    if (out->line[s][0] > outline[0] || out->line[s][1] < self->larynx[PLA_TRACT_LARYNX - 1][1])
      out->line[s][0] = out->line[s][1] = NAN;
    else if (out->area_mm2[s] < out->narrowest_mm2) {
      out->narrowest_mm2 = out->area_mm2[s];
      out->narrowest = s;
    }
  }
  free(outline);
  free(inner);
}

int
pla_airway_formants(const PlaAirway *airway, int n_max, double *hz)
{
  const PlaTubeOptions options = { .losses = true, .radiation = true };
  PlaTube tube = { .n = airway->n };
  for (int s = 0; s < airway->n; s++) {
    tube.area[s] = airway->area_mm2[s] / 1e6;
    tube.length[s] = airway->length_mm[s] / 1e3;
  }
  return pla_tube_formants(&tube, &options, 5000.0, n_max, hz);
}
