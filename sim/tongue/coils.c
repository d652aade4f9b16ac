/* Coil paths of a speaker, and the similarity between the speaker and a mesh. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/tongue/shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const coil_names[PLA_N_COILS] = { "TR", "TD", "TB", "TT", "LI", "UL", "LL" };

const char *
pla_coil_name(int coil)
{
  return coil_names[coil];
}

static int
find_channel(const PlaTrack *track, int coil, char axis)
{
  char name[8];
  snprintf(name, sizeof name, "%s_%c", coil_names[coil], axis);
  for (int c = 0; c < track->n_channels; c++)
    if (strcasecmp(track->name[c], name) == 0)
      return c;
  return -1;
}

/* mean of a channel, NaN without any value */
static double
channel_mean(const PlaTrack *track, int channel)
{
  double sum = 0.0;
  int n = 0;
  for (int i = 0; channel >= 0 && i < track->n_samples; i++) {
    const double x = track->value[(size_t)i * (size_t)track->n_channels + (size_t)channel];
    if (isfinite(x)) {
      sum += x;
      n++;
    }
  }
  return n ? sum / n : NAN;
}

PlaStatus
pla_coil_paths_init(PlaCoilPaths *self, const PlaTrack *track, PlaError *err)
{
  int channel[PLA_N_COILS][2];
  double mean[PLA_N_COILS][2];
  *self = (PlaCoilPaths){ 0 };
  for (int k = 0; k < PLA_N_COILS; k++)
    for (int a = 0; a < 2; a++) {
      channel[k][a] = find_channel(track, k, a == 0 ? 'x' : 'y');
      mean[k][a] = channel_mean(track, channel[k][a]);
      if (k < PLA_N_TONGUE_COILS && isnan(mean[k][a]))
        return pla_fail(
            err, PLA_ERR_USAGE,
            "The track has no values for %s_%c; the four tongue coils TR, TD, TB and TT "
            "with x and y in mm are needed",
            coil_names[k], a == 0 ? 'x' : 'y');
    }
  /* the tip lies before the rear, the dorsum above the lower incisors; without those, the upper lip
   * above the lower; without them, the back of the tongue is convex upwards */
  self->sign[0] = mean[PLA_COIL_TT][0] > mean[PLA_COIL_TR][0] ? 1.0 : -1.0;
  double rise = mean[PLA_COIL_TD][1] - mean[PLA_COIL_LI][1];
  if (isnan(rise))
    rise = mean[PLA_COIL_UL][1] - mean[PLA_COIL_LL][1];
  if (isnan(rise))
    rise =
        mean[PLA_COIL_TD][1] + mean[PLA_COIL_TB][1] - mean[PLA_COIL_TT][1] - mean[PLA_COIL_TR][1];
  self->sign[1] = rise > 0.0 ? 1.0 : -1.0;
  self->n_frames = track->n_samples;
  self->rate_hz = track->rate_hz;
  self->pos_mm = pla_array_new((size_t)track->n_samples, 2 * PLA_N_COILS * sizeof *self->pos_mm);
  if (!self->pos_mm)
    return pla_fail_memory(err, "coil paths");
  for (int i = 0; i < track->n_samples; i++)
    for (int k = 0; k < PLA_N_COILS; k++)
      for (int a = 0; a < 2; a++) {
        const double x =
            channel[k][a] < 0
                ? NAN
                : track->value[(size_t)i * (size_t)track->n_channels + (size_t)channel[k][a]];
        self->pos_mm[2 * ((size_t)i * PLA_N_COILS + (size_t)k) + (size_t)a] =
            isfinite(x) ? self->sign[a] * x : NAN;
      }
  return PLA_OK;
}

void
pla_coil_paths_clear(PlaCoilPaths *self)
{
  free(self->pos_mm);
  self->pos_mm = NULL;
}

void
pla_coil_fit_place(const PlaCoilFit *fit, const double mm[2], double out[2])
{
  const double x = fit->scale * mm[0] / 1000.0, y = fit->scale * mm[1] / 1000.0;
  out[0] = fit->cosine * x - fit->sine * y + fit->shift[0];
  out[1] = fit->sine * x + fit->cosine * y + fit->shift[1];
}

/* the similarity that takes rest_mm of the tongue coils to @at (m): least squares in the plane */
static void
fit_similarity(PlaCoilFit *fit, double at[PLA_N_TONGUE_COILS][2])
{
  enum { N = PLA_N_TONGUE_COILS };
  double from[2] = { 0 }, to[2] = { 0 }, dot = 0.0, cross = 0.0, size = 0.0, left = 0.0;
  for (int k = 0; k < N; k++)
    for (int a = 0; a < 2; a++) {
      from[a] += fit->rest_mm[k][a] / N;
      to[a] += at[k][a] / N;
    }
  for (int k = 0; k < N; k++) {
    const double x = (fit->rest_mm[k][0] - from[0]) / 1000.0;
    const double y = (fit->rest_mm[k][1] - from[1]) / 1000.0;
    const double u = at[k][0] - to[0], v = at[k][1] - to[1];
    dot += x * u + y * v;
    cross += x * v - y * u;
    size += x * x + y * y;
  }
  fit->scale = hypot(dot, cross) / size;
  fit->cosine = dot / hypot(dot, cross);
  fit->sine = cross / hypot(dot, cross);
  fit->shift[0] = fit->shift[1] = 0.0;
  double moved[2];
  pla_coil_fit_place(fit, from, moved);
  for (int a = 0; a < 2; a++)
    fit->shift[a] = to[a] - moved[a];
  for (int k = 0; k < N; k++) {
    pla_coil_fit_place(fit, fit->rest_mm[k], moved);
    left += (moved[0] - at[k][0]) * (moved[0] - at[k][0]) +
            (moved[1] - at[k][1]) * (moved[1] - at[k][1]);
  }
  fit->residual_mm = 1000.0 * sqrt(left / N) / fit->scale;
}

static void
take_means(PlaCoilFit *fit, const PlaCoilPaths *paths, int n_paths)
{
  for (int k = 0; k < PLA_N_COILS; k++)
    for (int a = 0; a < 2; a++) {
      double sum = 0.0;
      int n = 0;
      for (int p = 0; p < n_paths; p++)
        for (int i = 0; i < paths[p].n_frames; i++) {
          const double x = paths[p].pos_mm[2 * ((size_t)i * PLA_N_COILS + (size_t)k) + (size_t)a];
          if (isfinite(x)) {
            sum += x;
            n++;
          }
        }
      fit->rest_mm[k][a] = n ? sum / n : NAN;
    }
}

/* first point of the back after @from that is @chord away from @centre; n where there is none */
static int
walk(const double *line, int n, int from, const double centre[2], double chord)
{
  for (int i = from; i < n; i++)
    if (hypot(line[2 * i] - centre[0], line[2 * i + 1] - centre[1]) >= chord)
      return i;
  return n;
}

/* points of the back for all coils, the tip's given, at a scale of @scale; false when it is too
 * short */
static bool
lay_coils(const PlaCoilFit *fit, const double *line, int n, int tip, double scale, int at[4])
{
  at[PLA_COIL_TT] = tip;
  for (int k = PLA_COIL_TB; k >= PLA_COIL_TR; k--) {
    const double *a = fit->rest_mm[k], *b = fit->rest_mm[k + 1];
    const double chord = scale * hypot(a[0] - b[0], a[1] - b[1]) / 1000.0;
    at[k] = walk(line, n, at[k + 1], line + 2 * at[k + 1], chord);
    if (at[k] >= n)
      return false;
  }
  return true;
}

PlaStatus
pla_coil_fit(const PlaTetMesh *mesh, const PlaHeadFrame *frame, const PlaOutline *outline,
             const int *given, const double *limits, const PlaCoilPaths *paths, int n_paths,
             PlaCoilFit *out, PlaError *err)
{
  enum { SCALES = 80 };
  double at[PLA_N_TONGUE_COILS][2], length = 0.0, best = INFINITY, span = 0.0;
  PlaCoilFit fit = { .scale = 1.0, .cosine = 1.0 };
  take_means(&fit, paths, n_paths);
  const int n = outline->n_dorsum;
  double *line = pla_array_new((size_t)outline->n, 2 * sizeof *line);
  double *arc = pla_array_new0((size_t)outline->n + 1, sizeof *arc);
  if (!line || !arc) {
    free(line);
    free(arc);
    return pla_fail_memory(err, "a fit");
  }
  pla_outline_place(outline, frame, mesh->rest, line);
  for (int i = 1; i < n; i++) {
    length += hypot(line[2 * i] - line[2 * i - 2], line[2 * i + 1] - line[2 * i - 1]);
    arc[i] = length;
  }
  for (int k = 0; k < PLA_N_TONGUE_COILS - 1; k++)
    span += hypot(fit.rest_mm[k][0] - fit.rest_mm[k + 1][0],
                  fit.rest_mm[k][1] - fit.rest_mm[k + 1][1]) /
            1000.0;
  int chosen[PLA_N_TONGUE_COILS] = { 0 };
  if (given)
    memcpy(chosen, given, sizeof chosen);
  for (int s = 0; !given && s < SCALES; s++) {
    const double scale = length / span * (0.15 + 0.45 * s / SCALES);
    for (int tip = 0; tip < n; tip++) {
      const double behind = 1000.0 * arc[tip] / scale;
      int i[PLA_N_TONGUE_COILS];
      if (behind < 4.0 || behind > 18.0 || !lay_coils(&fit, line, n, tip, scale, i))
        continue;
      for (int k = 0; k < PLA_N_TONGUE_COILS; k++)
        memcpy(at[k], line + 2 * i[k], sizeof at[k]);
      fit_similarity(&fit, at);
      if (limits && (fit.scale < limits[0] || fit.scale > limits[1]))
        continue;
      /* all else equal, a coil sits a centimetre behind the tip, and the head is upright */
      const double cost = fit.residual_mm + 0.02 * fabs(behind - 10.0) + fabs(fit.sine);
      if (cost < best) {
        best = cost;
        for (int k = 0; k < PLA_N_TONGUE_COILS; k++)
          chosen[k] = outline->vert[2 * i[k] + (outline->weight[i[k]] > 0.5)];
      }
    }
  }
  free(line);
  free(arc);
  if (!given && !isfinite(best))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "The four tongue coils cannot be placed on the back of this tongue mesh");
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++)
    for (int o = 0; o < k; o++)
      if (chosen[k] == chosen[o])
        return pla_fail(err, PLA_ERR_GEOMETRY,
                        "Coils %s and %s fall on the same vertex; use a finer mesh", coil_names[o],
                        coil_names[k]);
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
    fit.vert[k] = chosen[k];
    pla_head_frame_sagittal(frame, mesh->rest + 3 * (size_t)chosen[k], at[k]);
  }
  fit_similarity(&fit, at);
  *out = fit;
  return PLA_OK;
}
