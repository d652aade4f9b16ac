/* Labels for the markers of a take. */
#include "sim/fit/marker-match.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/registration/registration.h"
#include "sim/fit/median.h"

#include <lapack.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FROZEN_FRAMES = 6, MAX_ROUNDS = 40 };

/* motion of the others, m, beside which a marker that does not move at all is frozen */
static const double moving_m = 5e-4;

PlaMarkerMatchOptions
pla_marker_match_options_default(void)
{
  return (PlaMarkerMatchOptions){ .rest_frame = -1 };
}

void
pla_marker_match_clear(PlaMarkerMatch *self)
{
  free(self->site);
  pla_notes_clear(&self->notes);
  *self = (PlaMarkerMatch){ 0 };
}

static double *
at(const PlaTake *take, int f, int i)
{
  return take->pos + 3 * ((size_t)f * (size_t)take->n_markers + (size_t)i);
}

static bool
is_there(const PlaTake *take, int f, int i)
{
  const double *y = at(take, f, i);
  return isfinite(y[0] + y[1] + y[2]);
}

static double
distance(const double a[3], const double b[3])
{
  double d[3];
  pla_vec3_sub(a, b, d);
  return pla_vec3_norm(d);
}

PlaStatus
pla_assign(int n, const double *cost, int *column, PlaError *err)
{
  /* shortest augmenting paths with potentials; index 0 stands for none */
  const size_t m = (size_t)n + 1;
  double *u = pla_array_new0(3 * m, sizeof *u);
  int *row_of = pla_array_new0(2 * m, sizeof *row_of);
  unsigned char *used = pla_array_new(m, 1);
  PlaStatus st = u && row_of && used ? PLA_OK : pla_fail_memory(err, "labelling the markers");
  double *v = u ? u + m : NULL, *least = u ? v + m : NULL;
  int *way = row_of ? row_of + m : NULL;
  for (int i = 1; st == PLA_OK && i <= n; i++) {
    int j0 = 0;
    row_of[0] = i;
    for (int j = 0; j <= n; j++)
      least[j] = INFINITY;
    memset(used, 0, m);
    do {
      const int i0 = row_of[j0];
      double delta = INFINITY;
      int j1 = 0;
      used[j0] = 1;
      for (int j = 1; j <= n; j++) {
        if (used[j])
          continue;
        const double left = cost[(size_t)(i0 - 1) * (size_t)n + (size_t)(j - 1)] - u[i0] - v[j];
        if (left < least[j]) {
          least[j] = left;
          way[j] = j0;
        }
        if (least[j] < delta) {
          delta = least[j];
          j1 = j;
        }
      }
      for (int j = 0; j <= n; j++) {
        if (used[j]) {
          u[row_of[j]] += delta;
          v[j] -= delta;
        } else
          least[j] -= delta;
      }
      j0 = j1;
    } while (row_of[j0] != 0);
    do {
      const int j1 = way[j0];
      row_of[j0] = row_of[j1];
      j0 = j1;
    } while (j0 != 0);
  }
  for (int j = 1; st == PLA_OK && j <= n; j++)
    column[row_of[j] - 1] = j - 1;
  free(u);
  free(row_of);
  free(used);
  return st;
}

/* ---- names ---- */

/* "Subject:LIP" is LIP */
static int
find_site(const PlaMarkerSet *set, const char *name)
{
  const char *colon = strrchr(name, ':');
  const int found = pla_marker_set_find(set, name);
  return found >= 0 || !colon ? found : pla_marker_set_find(set, colon + 1);
}

static int
pick_rest_frame(const PlaTake *take)
{
  int most = 0, first = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int f = 0; f < take->n_frames; f++) {
      int n = 0;
      for (int i = 0; i < take->n_markers; i++)
        n += is_there(take, f, i);
      if (pass == 0)
        most = n > most ? n : most;
      else if (10 * n >= 9 * most)
        return f;
    }
  return first;
}

/* ---- geometry ---- */

typedef struct {
  int n;
  double *pos_mm; /* n x 3 */
  int *id;        /* marker or site */
} Cloud;

static bool
cloud_init(Cloud *self, int n)
{
  self->n = 0;
  self->pos_mm = pla_array_new((size_t)n, 3 * sizeof *self->pos_mm);
  self->id = pla_array_new((size_t)n, sizeof *self->id);
  return self->pos_mm && self->id;
}

static void
cloud_clear(Cloud *self)
{
  free(self->pos_mm);
  free(self->id);
}

static void
cloud_add(Cloud *self, int id, const double pos_m[3])
{
  for (int d = 0; d < 3; d++)
    self->pos_mm[3 * (size_t)self->n + (size_t)d] = 1000.0 * pos_m[d];
  self->id[self->n++] = id;
}

/* middle, and the mean distance from it */
static double
cloud_size(const Cloud *self, double middle[3])
{
  double sum = 0.0;
  memset(middle, 0, 3 * sizeof *middle);
  for (int i = 0; i < self->n; i++)
    for (int d = 0; d < 3; d++)
      middle[d] += self->pos_mm[3 * (size_t)i + (size_t)d] / self->n;
  for (int i = 0; i < self->n; i++)
    sum += distance(self->pos_mm + 3 * (size_t)i, middle) / self->n;
  return sum;
}

/* directions of greatest extent, as the rows of a proper rotation */
static void
cloud_axes(const Cloud *self, const double middle[3], double axes[9])
{
  double spread[9] = { 0 }, value[3], work[16];
  int n = 3, n_work = 16, info = 0;
  for (int i = 0; i < self->n; i++) {
    double d[3];
    pla_vec3_sub(self->pos_mm + 3 * (size_t)i, middle, d);
    for (int a = 0; a < 9; a++)
      spread[a] += d[a / 3] * d[a % 3];
  }
  pla_blas_single_thread();
  LAPACK_dsyev("V", "L", &n, spread, &n, value, work, &n_work, &info);
  memcpy(axes, spread, sizeof spread);
  if (pla_mat3_det(axes) < 0.0)
    for (int d = 6; d < 9; d++)
      axes[d] = -axes[d];
}

/* places for the points of @from among @to by the assignment of least distances, capped at
 * @reach_mm, after @pose; the mean capped distance */
static PlaStatus
assign_points(const Cloud *from, const Cloud *to, const PlaRigid *pose, double reach_mm,
              int *partner, double *mean_mm, PlaError *err)
{
  const int n = from->n > to->n ? from->n : to->n;
  double *cost = pla_array_new((size_t)n * (size_t)n, sizeof *cost);
  int *column = pla_array_new((size_t)n, sizeof *column);
  PlaStatus st = cost && column ? PLA_OK : pla_fail_memory(err, "labelling the markers");
  for (int i = 0; st == PLA_OK && i < n; i++)
    for (int j = 0; j < n; j++) {
      double q[3], c = reach_mm;
      if (i < from->n && j < to->n) {
        pla_rigid_apply(pose, from->pos_mm + 3 * (size_t)i, q);
        c = fmin(reach_mm, distance(q, to->pos_mm + 3 * (size_t)j));
      }
      cost[(size_t)i * (size_t)n + (size_t)j] = c * c;
    }
  if (st == PLA_OK)
    st = pla_assign(n, cost, column, err);
  *mean_mm = 0.0;
  for (int i = 0; st == PLA_OK && i < from->n; i++) {
    const double c2 = cost[(size_t)i * (size_t)n + (size_t)column[i]];
    partner[i] = column[i] < to->n && c2 < reach_mm * reach_mm ? column[i] : -1;
    *mean_mm += sqrt(c2) / from->n;
  }
  free(cost);
  free(column);
  return st;
}

/* from a start, assignment and rigid motion in turn until nothing changes; the reach shrinks */
static PlaStatus
iterate(const Cloud *from, const Cloud *to, double reach_mm, PlaRigid *pose, int *partner,
        double *mean_mm, PlaError *err)
{
  double *pairs = pla_array_new((size_t)from->n, 6 * sizeof *pairs);
  PlaStatus st = pairs ? PLA_OK : pla_fail_memory(err, "labelling the markers");
  double reach = 8.0 * reach_mm, before = INFINITY;
  for (int k = 0; st == PLA_OK && k < MAX_ROUNDS; k++) {
    PlaLandmarkReport report;
    int n = 0;
    st = assign_points(from, to, pose, reach, partner, mean_mm, err);
    double *moving = pairs, *fixed = pairs + 3 * (size_t)from->n;
    for (int i = 0; st == PLA_OK && i < from->n; i++)
      if (partner[i] >= 0) {
        memcpy(moving + 3 * (size_t)n, from->pos_mm + 3 * (size_t)i, 3 * sizeof *moving);
        memcpy(fixed + 3 * (size_t)n++, to->pos_mm + 3 * (size_t)partner[i], 3 * sizeof *fixed);
      }
    if (st == PLA_OK && n >= 4)
      st = pla_register_landmarks(n, moving, fixed, false, pose, NULL, &report, err);
    if (reach <= reach_mm && fabs(before - *mean_mm) < 1e-9)
      break;
    before = *mean_mm;
    reach = fmax(reach_mm, 0.7 * reach);
  }
  free(pairs);
  return st;
}

/* the best of the starts that bring axes onto axes: 24 turns of a cube */
static PlaStatus
match_clouds(const Cloud *from, const Cloud *to, double reach_mm, PlaRigid *best, int *partner,
             double *mean_mm, PlaError *err)
{
  static const int perm[6][3] = { { 0, 1, 2 }, { 1, 2, 0 }, { 2, 0, 1 },
                                  { 0, 2, 1 }, { 2, 1, 0 }, { 1, 0, 2 } };
  double a_middle[3], b_middle[3], a[9], b[9];
  int *trial = pla_array_new((size_t)from->n, sizeof *trial);
  PlaStatus st = trial ? PLA_OK : pla_fail_memory(err, "labelling the markers");
  cloud_size(from, a_middle);
  cloud_size(to, b_middle);
  cloud_axes(from, a_middle, a);
  cloud_axes(to, b_middle, b);
  *mean_mm = INFINITY;
  for (int s = 0; s < 24 && st == PLA_OK; s++) {
    double turned[9], mean;
    PlaRigid pose;
    const double sign[3] = { s & 1 ? -1.0 : 1.0, s & 2 ? -1.0 : 1.0,
                             ((s & 1) ^ ((s >> 1) & 1) ^ (s / 4 >= 3)) ? -1.0 : 1.0 };
    for (int i = 0; i < 3; i++)
      for (int d = 0; d < 3; d++)
        turned[3 * i + d] = sign[i] * b[3 * perm[s / 4][i] + d];
    /* R a_i = turned_i */
    pla_mat3_mul_tn(turned, a, pose.r);
    double moved[3];
    pla_mat3_apply(pose.r, a_middle, moved);
    for (int d = 0; d < 3; d++)
      pose.t_mm[d] = b_middle[d] - moved[d];
    st = iterate(from, to, reach_mm, &pose, trial, &mean, err);
    if (st == PLA_OK && mean < *mean_mm) {
      *mean_mm = mean;
      *best = pose;
      memcpy(partner, trial, (size_t)from->n * sizeof *partner);
    }
  }
  free(trial);
  return st;
}

/* ---- what recorders get wrong ---- */

/* another unit shows in the size of the whole; false in *ok when no unit explains it */
static void
repair_unit(PlaTake *take, double ratio, PlaMarkerMatch *out, bool *ok)
{
  static const struct {
    double factor;
    const char *text;
  } units[] = { { 1.0, NULL },
                { 1000.0, "metres taken for millimetres" },
                { 10.0, "centimetres taken for millimetres" },
                { 25.4, "inches taken for millimetres" },
                { 0.001, "millimetres taken for metres" },
                { 0.1, "millimetres taken for centimetres" },
                { 0.01, "centimetres taken for metres" },
                { 100.0, "metres taken for centimetres" } };
  *ok = false;
  for (size_t i = 0; i < sizeof units / sizeof units[0] && !*ok; i++) {
    if (fabs(ratio / units[i].factor - 1.0) > 0.25)
      continue;
    *ok = true;
    out->scale = units[i].factor;
    if (!units[i].text)
      return;
    for (size_t k = 0; k < 3 * (size_t)take->n_frames * (size_t)take->n_markers; k++)
      take->pos[k] *= units[i].factor;
    pla_notes_add(&out->notes,
                  "the markers are %.4g times too small: %s; all positions were multiplied by %g",
                  units[i].factor, units[i].text, units[i].factor);
  }
}

/* markers that exchange places from one frame to the next */
static void
repair_swaps(PlaTake *take, PlaMarkerMatch *out)
{
  const int n = take->n_markers;
  for (int f = 1; f < take->n_frames; f++)
    for (int i = 0; i < n; i++)
      for (int j = i + 1; j < n; j++) {
        if (!is_there(take, f - 1, i) || !is_there(take, f, i) || !is_there(take, f - 1, j) ||
            !is_there(take, f, j))
          continue;
        const double apart = distance(at(take, f - 1, i), at(take, f - 1, j));
        const double across = fmax(distance(at(take, f, i), at(take, f - 1, j)),
                                   distance(at(take, f, j), at(take, f - 1, i)));
        const double own = fmin(distance(at(take, f, i), at(take, f - 1, i)),
                                distance(at(take, f, j), at(take, f - 1, j)));
        if (apart < 2e-3 || across > 0.35 * apart || own < 0.65 * apart)
          continue;
        for (int g = f; g < take->n_frames; g++)
          for (int d = 0; d < 3; d++) {
            const double swap = at(take, g, i)[d];
            at(take, g, i)[d] = at(take, g, j)[d];
            at(take, g, j)[d] = swap;
          }
        pla_notes_add(&out->notes,
                      "markers '%s' and '%s' change places at frame %d; they were changed back",
                      take->name[i], take->name[j], f + 1);
      }
}

/* frames without markers, and frames that repeat the one before */
static void
repair_frames(PlaTake *take, PlaMarkerMatch *out)
{
  const size_t width = 3 * (size_t)take->n_markers;
  for (int f = 0; f < take->n_frames; f++) {
    int n = 0;
    for (int i = 0; i < take->n_markers; i++)
      n += is_there(take, f, i);
    if (n == 0) {
      pla_notes_add(&out->notes,
                    "frame %d has no markers; it is interpolated from the frames around it", f + 1);
      continue;
    }
    bool same = f > 0 && n >= 4;
    bool moves = false;
    for (size_t k = 0; k < width && same; k++) {
      const double now = at(take, f, 0)[k], before = at(take, f - 1, 0)[k];
      same = now == before || (isnan(now) && isnan(before));
    }
    /* in a take that never moves, repeating is no fault */
    for (int g = 0; g < take->n_frames && same && !moves; g++)
      for (int i = 0; i < take->n_markers && !moves; i++)
        moves = is_there(take, g, i) && is_there(take, f, i) &&
                distance(at(take, g, i), at(take, f, i)) > moving_m;
    if (!same || !moves)
      continue;
    pla_notes_add(
        &out->notes,
        "frame %d repeats frame %d exactly, as when the recorder drops one; it was left out", f + 1,
        f);
    for (size_t k = 0; k < width; k++)
      at(take, f, 0)[k] = NAN;
  }
}

/* runs of frames in which a marker does not move at all while the others do */
static PlaStatus
repair_frozen(PlaTake *take, PlaMarkerMatch *out, PlaError *err)
{
  double *motion = pla_array_new((size_t)take->n_markers, sizeof *motion);
  if (!motion)
    return pla_fail_memory(err, "checking the take");
  for (int i = 0; i < take->n_markers; i++)
    for (int f = 0; f < take->n_frames;) {
      int end = f + 1, n = 0;
      while (end < take->n_frames && is_there(take, f, i) && is_there(take, end, i) &&
             distance(at(take, f, i), at(take, end, i)) < 1e-9)
        end++;
      for (int j = 0; j < take->n_markers && end - f >= FROZEN_FRAMES; j++)
        if (j != i && is_there(take, f, j)) {
          double most = 0.0;
          for (int g = f; g < end; g++)
            if (is_there(take, g, j))
              most = fmax(most, distance(at(take, f, j), at(take, g, j)));
          motion[n++] = most;
        }
      if (n >= 3 && pla_median(motion, (size_t)n) > moving_m) {
        pla_notes_add(&out->notes,
                      "marker '%s' stands still from frame %d to %d while the others move; it was "
                      "left out there",
                      take->name[i], f + 1, end);
        for (int g = f; g < end; g++)
          for (int d = 0; d < 3; d++)
            at(take, g, i)[d] = NAN;
      }
      f = end;
    }
  free(motion);
  return PLA_OK;
}

/* Whether marker @m is farther than @reach_mm from its place in every frame that is looked at, and
 * not only by an error of the rest frame: a few frames, each laid on the places by all its markers.
 */
static PlaStatus
is_lost(const PlaTake *take, const PlaMarkerMatch *labels, const double *rest, int m,
        double reach_mm, bool *lost, PlaError *err)
{
  double *from = pla_array_new((size_t)take->n_markers, 6 * sizeof *from);
  double *to = from ? from + 3 * (size_t)take->n_markers : NULL;
  *lost = true;
  if (!from)
    return pla_fail_memory(err, "labelling the markers");
  for (int k = 1; k < 4 && *lost; k++) {
    const int f = (int)((int64_t)k * (take->n_frames - 1) / 3);
    PlaRigid pose;
    PlaLandmarkReport report;
    double q[3], y[3];
    int n = 0;
    for (int i = 0; i < take->n_markers && is_there(take, f, m); i++) {
      if (!labels->site[i] || !is_there(take, f, i) || i == m)
        continue;
      pla_marker_place(labels->site[i], rest, q);
      for (int d = 0; d < 3; d++) {
        from[3 * (size_t)n + (size_t)d] = 1000.0 * at(take, f, i)[d];
        to[3 * (size_t)n + (size_t)d] = 1000.0 * q[d];
      }
      n++;
    }
    if (n < 4 || pla_register_landmarks(n, from, to, true, &pose, NULL, &report, NULL) != PLA_OK)
      continue;
    for (int d = 0; d < 3; d++)
      y[d] = 1000.0 * at(take, f, m)[d];
    pla_rigid_apply(&pose, y, y);
    pla_marker_place(labels->site[m], rest, q);
    for (int d = 0; d < 3; d++)
      q[d] *= 1000.0;
    *lost = distance(y, q) > reach_mm;
  }
  free(from);
  return PLA_OK;
}

/* names that are exchanged throughout: two markers that fit each other's places and not their own
 */
static PlaStatus
repair_names(PlaTake *take, const double *rest, PlaMarkerMatch *out, const Cloud *from,
             const Cloud *to, double reach_mm, PlaError *err)
{
  double *residual = pla_array_new((size_t)from->n, sizeof *residual);
  PlaRigid pose;
  PlaLandmarkReport report;
  if (!residual)
    return pla_fail_memory(err, "labelling the markers");
  PlaStatus st = pla_register_landmarks(from->n, from->pos_mm, to->pos_mm, true, &pose, residual,
                                        &report, err);
  out->rest_rms_m = st == PLA_OK ? report.rms_mm / 1000.0 : 0.0;
  for (int i = 0; st == PLA_OK && i < from->n; i++)
    for (int j = i + 1; j < from->n; j++) {
      double pi[3], pj[3];
      if (residual[i] < 0.5 * reach_mm || residual[j] < 0.5 * reach_mm)
        continue;
      pla_rigid_apply(&pose, from->pos_mm + 3 * (size_t)i, pi);
      pla_rigid_apply(&pose, from->pos_mm + 3 * (size_t)j, pj);
      const double other =
          fmax(distance(pi, to->pos_mm + 3 * (size_t)j), distance(pj, to->pos_mm + 3 * (size_t)i));
      if (other > 0.35 * fmin(residual[i], residual[j]))
        continue;
      const PlaMarkerSite *swap = out->site[from->id[i]];
      out->site[from->id[i]] = out->site[from->id[j]];
      out->site[from->id[j]] = swap;
      pla_notes_add(&out->notes,
                    "markers '%s' and '%s' have each other's names, as frame %d shows; they were "
                    "exchanged",
                    take->name[from->id[i]], take->name[from->id[j]], out->rest_frame + 1);
      residual[i] = residual[j] = 0.0;
    }
  for (int i = 0; st == PLA_OK && i < from->n; i++) {
    bool lost = false;
    if (residual[i] > 2.0 * reach_mm)
      st = is_lost(take, out, rest, from->id[i], 2.0 * reach_mm, &lost, err);
    if (lost) {
      pla_notes_add(&out->notes,
                    "marker '%s' is %.1f mm from its place in frame %d; it was left out",
                    take->name[from->id[i]], residual[i], out->rest_frame + 1);
      out->site[from->id[i]] = NULL;
      out->n_matched--;
    }
  }
  free(residual);
  return st;
}

/* every marker of the rest frame goes to the place that fits it best */
static PlaStatus
label_by_geometry(const PlaMarkerSet *set, PlaTake *take, PlaMarkerMatch *out, const Cloud *from,
                  const Cloud *to, double reach_mm, PlaError *err)
{
  int *partner = pla_array_new((size_t)from->n, sizeof *partner);
  PlaRigid pose;
  double mean_mm = 0.0;
  PlaStatus st = partner ? match_clouds(from, to, reach_mm, &pose, partner, &mean_mm, err)
                         : pla_fail_memory(err, "labelling the markers");
  int n_lost = 0, lost = -1;
  for (int i = 0; st == PLA_OK && i < from->n; i++) {
    if (partner[i] >= 0) {
      out->site[from->id[i]] = &set->site[to->id[partner[i]]];
      out->n_matched++;
    } else {
      lost = n_lost++ ? lost : from->id[i];
    }
  }
  out->rest_rms_m = mean_mm / 1000.0;
  if (st == PLA_OK && 2 * out->n_matched < from->n)
    st = pla_fail(err, PLA_ERR_USAGE,
                  "the names of the take's markers are unknown, and in frame %d no more than %d of "
                  "%d fit the body's places to %.0f mm; marker '%s' is the first that does not",
                  out->rest_frame + 1, out->n_matched, from->n, reach_mm,
                  take->name[lost >= 0 ? lost : 0]);
  else if (st == PLA_OK) {
    pla_notes_add(
        &out->notes,
        "names of the take's markers are unknown; %d of %d were labelled by where they are "
        "in frame %d, %.2f mm off on average",
        out->n_matched, from->n, out->rest_frame + 1, mean_mm);
    if (n_lost > 0)
      pla_notes_add(&out->notes, "marker '%s'%s fits no place of the body and was left out",
                    take->name[lost], n_lost > 1 ? " and others" : "");
  }
  free(partner);
  return st;
}

PlaStatus
pla_markers_match(const PlaMarkerSet *set, const double *rest, PlaTake *take,
                  const PlaMarkerMatchOptions *opts, PlaMarkerMatch *out, PlaError *err)
{
  const double reach_mm = opts->reach_m > 0.0 ? 1000.0 * opts->reach_m : 12.0;
  *out = (PlaMarkerMatch){ .n_markers = take->n_markers, .scale = 1.0 };
  if (take->n_frames < 1 || take->n_markers < 1)
    return pla_fail(err, PLA_ERR_EMPTY, "the take has no frames or no markers");
  if (opts->rest_frame >= take->n_frames)
    return pla_fail(err, PLA_ERR_USAGE, "the rest frame %d is beyond the take's %d frames",
                    opts->rest_frame + 1, take->n_frames);
  out->rest_frame = opts->rest_frame >= 0 ? opts->rest_frame : pick_rest_frame(take);
  out->site = pla_array_new0((size_t)take->n_markers, sizeof *out->site);
  Cloud from = { 0 }, to = { 0 };
  PlaStatus st = out->site && cloud_init(&from, take->n_markers) &&
                         cloud_init(&to, set->n > take->n_markers ? set->n : take->n_markers)
                     ? PLA_OK
                     : pla_fail_memory(err, "labelling the markers");
  int n_named = 0;
  for (int i = 0; st == PLA_OK && i < take->n_markers; i++)
    n_named += find_site(set, take->name[i]) >= 0;
  out->by_name = !opts->by_geometry && 2 * n_named >= take->n_markers && n_named >= 4;

  /* the rest frame and the places: pairs by name, or all of both */
  for (int i = 0; st == PLA_OK && i < take->n_markers; i++) {
    const int s = find_site(set, take->name[i]);
    double q[3];
    if (out->by_name && s < 0) {
      pla_notes_add(&out->notes, "the body has no site for marker '%s', which was left out",
                    take->name[i]);
      continue;
    }
    if (out->by_name) {
      out->site[i] = &set->site[s];
      out->n_matched++;
    }
    if (!is_there(take, out->rest_frame, i))
      continue;
    cloud_add(&from, i, at(take, out->rest_frame, i));
    if (out->by_name) {
      pla_marker_place(&set->site[s], rest, q);
      cloud_add(&to, s, q);
    }
  }
  for (int s = 0; st == PLA_OK && !out->by_name && s < set->n; s++) {
    double q[3];
    pla_marker_place(&set->site[s], rest, q);
    cloud_add(&to, s, q);
  }
  if (st == PLA_OK && (from.n < 4 || to.n < 4))
    st = pla_fail(err, PLA_ERR_USAGE,
                  "frame %d, taken for the rest frame, shows %d markers; at least 4 are needed",
                  out->rest_frame + 1, from.n);
  if (st == PLA_OK) {
    double middle[3], a = cloud_size(&from, middle), b = cloud_size(&to, middle);
    bool ok;
    repair_unit(take, b / a, out, &ok);
    for (int k = 0; k < 3 * from.n; k++)
      from.pos_mm[k] *= out->scale;
    if (!ok)
      st =
          pla_fail(err, PLA_ERR_USAGE,
                   "the markers of frame %d spread over %.1f mm about their middle, and the body's "
                   "places over %.1f mm: no length unit explains that; is this the right body?",
                   out->rest_frame + 1, a, b);
  }
  if (st == PLA_OK)
    st = out->by_name ? repair_names(take, rest, out, &from, &to, reach_mm, err)
                      : label_by_geometry(set, take, out, &from, &to, reach_mm, err);
  if (st == PLA_OK) {
    repair_swaps(take, out);
    repair_frames(take, out);
    st = repair_frozen(take, out, err);
  }
  cloud_clear(&from);
  cloud_clear(&to);
  if (st != PLA_OK)
    pla_marker_match_clear(out);
  return st;
}
