/* Hooks and sutures: finds their anchors on the skin, pairs points of two wound edges by arc
 * length, and adds a thread for each stitch. */
#include "sim/surgery/surgery-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- hooks and sutures ---- */

static bool
threads_add(PlaSurgeryThreads *threads, const PlaSurgeryThread *thread)
{
  if (!pla_array_reserve(&threads->thread, threads->n + 1, &threads->capacity,
                         sizeof *threads->thread))
    return false;
  threads->thread[threads->n++] = *thread;
  return true;
}

/* the corner of the surface nearest to the skin at @at: it carries a thread */
static PlaStatus
find_anchor(PlaSurgery *self, const PlaSkin *skin, const char *what, const double at[3],
            PlaSurgeryEnd *end, PlaError *err)
{
  PlaSurgeryAnchor *out = &end->at[0];
  double point[3], least = INFINITY;
  int tri, best = 0;
  if (!(pla_tri_tree_nearest(skin->tree, at, PLA_SURGERY_SNAP, &tri, point) <= PLA_SURGERY_SNAP))
    return pla_fail(err, PLA_ERR_USAGE,
                    "%s at (%.1f, %.1f, %.1f mm) is more than %.0f mm from the skin", what,
                    1e3 * at[0], 1e3 * at[1], 1e3 * at[2], 1e3 * PLA_SURGERY_SNAP);
  for (int k = 0; k < 3; k++) {
    const int v = self->surface.tri[3 * skin->source[tri] + k];
    double e[3];
    pla_vec3_sub(&self->surface_pos[3 * v], point, e);
    if (pla_vec3_norm(e) < least) {
      least = pla_vec3_norm(e);
      best = v;
    }
  }
  *out = pla_surgery_surface_anchor(self, best);
  end->at[1] = end->at[0];
  end->blend = 0.0;
  return PLA_OK;
}

PlaStatus
pla_surgery_hook(PlaSurgery *self, const double at[3], const double pull[3], PlaError *err)
{
  PlaSkin skin;
  PlaSurgeryThread hook = { .share = 1.0 };
  PlaStatus st = pla_surgery_get_skin_near(self, at, 1, &skin, err);
  if (st == PLA_OK)
    st = find_anchor(self, &skin, "the hook", at, &hook.end[0], err);
  if (st == PLA_OK) {
    hook.end[1] = hook.end[0];
    pla_surgery_place_end(self, &hook.end[0], hook.place);
    for (int d = 0; d < 3; d++)
      hook.place[d] += pull[d];
    if (!threads_add(&self->hooks, &hook))
      st = pla_fail_memory(err, "the hook");
  }
  pla_skin_clear(&skin);
  return st;
}

void
pla_surgery_release_hooks(PlaSurgery *self)
{
  self->hooks.n = 0;
}

/* an edge to sew: points in order */
typedef struct {
  int n;
  PlaSurgeryEdgePoint *point; /* owned; along is the length on the edge itself */
  double length;
} Seam;

/* lengths along the seam as it lies now */
static void
seam_measure(const PlaSurgery *self, Seam *seam)
{
  double last[3], here[3];
  seam->length = 0.0;
  for (int i = 0; i < seam->n; i++) {
    pla_surgery_place(self, &seam->point[i].anchor, here);
    if (i > 0) {
      double e[3];
      pla_vec3_sub(here, last, e);
      seam->length += pla_vec3_norm(e);
    }
    seam->point[i].along = seam->length;
    memcpy(last, here, sizeof last);
  }
}

static bool
seam_copy(Seam *seam, const PlaSurgeryEdgePoint *point, int n, int start, int step)
{
  *seam = (Seam){ .point = pla_array_new((size_t)n, sizeof *seam->point) };
  for (int i = 0; seam->point && i < n; i++)
    seam->point[seam->n++] = point[start + step * i];
  return seam->point != NULL;
}

static bool
same_place(const PlaSurgery *self, const PlaSurgeryEdgePoint *a, const PlaSurgeryEdgePoint *b)
{
  double p[3], q[3], e[3];
  pla_surgery_place(self, &a->anchor, p);
  pla_surgery_place(self, &b->anchor, q);
  pla_vec3_sub(p, q, e);
  return a != b && pla_vec3_norm(e) < 1e-6;
}

/* the edge of a removed piece in two halves that meet at its far ends, both running the same way */
static bool
split_rim(const PlaSurgery *self, const PlaSurgeryWound *wound, Seam seam[2])
{
  const int rim = wound->n_edge[0] >= wound->n_edge[1] ? 0 : 1, n = wound->n_edge[rim];
  const PlaSurgeryEdgePoint *point = wound->edge[rim];
  int a = 0, b = 0;
  double most = -1.0;
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) {
      double p[3], q[3], e[3];
      pla_surgery_place(self, &point[i].anchor, p);
      pla_surgery_place(self, &point[j].anchor, q);
      pla_vec3_sub(p, q, e);
      if (pla_vec3_norm(e) > most) {
        most = pla_vec3_norm(e);
        a = i;
        b = j;
      }
    }
  /* where the cut runs on beyond an end, the rim has two points there, one for each half */
  const int a_on = same_place(self, &point[a], &point[(a + 1) % n]) ? a + 1 : a;
  const int a_back = a_on == a && same_place(self, &point[a], &point[(a + n - 1) % n]) ? a - 1 : a;
  const int b_before = same_place(self, &point[b], &point[b - 1]) ? b - 1 : b;
  const int b_after = b_before == b && same_place(self, &point[b], &point[(b + 1) % n]) ? b + 1 : b;
  if (!seam_copy(&seam[0], point, b_before - a_on + 1, a_on, 1))
    return false;
  seam[1] = (Seam){ .point = pla_array_new((size_t)n + 1, sizeof *point) };
  for (int i = 0; seam[1].point && i <= n - (b_after - a_back); i++)
    seam[1].point[seam[1].n++] = point[(a_back - i + n) % n];
  return seam[1].point != NULL;
}

static double
seams_apart(const PlaSurgery *self, const Seam *a, const Seam *b)
{
  double sum = 0.0;
  for (int k = 0; k <= 8; k++) {
    double p[3], q[3], e[3];
    pla_surgery_place(self, &a->point[k * (a->n - 1) / 8].anchor, p);
    pla_surgery_place(self, &b->point[k * (b->n - 1) / 8].anchor, q);
    pla_vec3_sub(p, q, e);
    sum += pla_vec3_norm(e);
  }
  return sum;
}

/* the seams of two wounds: the lips that lie nearest to each other, in directions that match */
static bool
choose_seams(const PlaSurgery *self, const PlaSurgeryWound *first, const PlaSurgeryWound *second,
             Seam seam[2])
{
  double best = INFINITY;
  int choice[3] = { -1, -1, 0 };
  for (int c = 0; c < 8; c++) {
    int a = c & 1, b = c >> 1 & 1, flip = c >> 2;
    if (first->n_edge[a] < 2 || second->n_edge[b] < 2)
      continue;
    Seam one, two;
    bool ok = seam_copy(&one, first->edge[a], first->n_edge[a], 0, 1);
    ok = seam_copy(&two, second->edge[b], second->n_edge[b], flip ? second->n_edge[b] - 1 : 0,
                   flip ? -1 : 1) &&
         ok;
    double apart = ok ? seams_apart(self, &one, &two) : INFINITY;
    free(one.point);
    free(two.point);
    if (!ok)
      return false;
    if (apart < best) {
      best = apart;
      choice[0] = a;
      choice[1] = b;
      choice[2] = flip;
    }
  }
  if (choice[0] < 0)
    return true;
  const int n = second->n_edge[choice[1]];
  return seam_copy(&seam[0], first->edge[choice[0]], first->n_edge[choice[0]], 0, 1) &&
         seam_copy(&seam[1], second->edge[choice[1]], n, choice[2] ? n - 1 : 0, choice[2] ? -1 : 1);
}

/* the place at @fraction of the seam's length */
static PlaSurgeryEnd
seam_at(const Seam *seam, double fraction)
{
  const double along = fraction * seam->length;
  int i = 0;
  while (i + 2 < seam->n && seam->point[i + 1].along < along)
    i++;
  const int next = i + 1 < seam->n ? i + 1 : i;
  const double a = seam->point[i].along, b = seam->point[next].along;
  return (PlaSurgeryEnd){ { seam->point[i].anchor, seam->point[next].anchor },
                          b > a ? fmin(fmax((along - a) / (b - a), 0.0), 1.0) : 0.0 };
}

/* a thread across the seams, which is to leave 1 - @tighten of the gap */
static PlaSurgeryThread
thread_across(const PlaSurgery *self, const PlaSurgeryEnd *a, const PlaSurgeryEnd *b,
              double tighten, int row)
{
  PlaSurgeryThread thread = { .end = { *a, *b }, .row = row };
  double p[3], q[3];
  pla_surgery_place_end(self, a, p);
  pla_surgery_place_end(self, b, q);
  pla_vec3_sub(p, q, thread.gap);
  for (int d = 0; d < 3; d++)
    thread.place[d] = (1.0 - tighten) * thread.gap[d];
  return thread;
}

/* numbers of the next row and stitch */
static void
next_numbers(const PlaSurgery *self, int *row, int *stitch)
{
  const PlaSurgeryThread *last =
      self->stitches.n ? &self->stitches.thread[self->stitches.n - 1] : NULL;
  *row = last ? last->row + 1 : 0;
  *stitch = last ? last->stitch + 1 : 0;
}

/* How firmly a thread may hold two points @gap apart together, as a part of a whole one.  Where
 * edges meet, less than a cell apart, their tets still share vertices.  With a few in common the
 * edges can come closer, but over more than a small part of a cell a thread that does not give way
 * would crush the cells (a stitch of the CT's malar flap then reads 0.9 N instead of 0.1): it pulls
 * about as hard as the tissue resists.  Where they share a face nothing opens. */
static double
hold_between(const PlaSurgery *self, const PlaSurgeryEnd *a, const PlaSurgeryEnd *b, double gap)
{
  enum { MOST_SHARED = 2 };
  const double gentle = 0.01, near = 0.15 * self->cell;
  const int *tet = pla_cut_mesh_get(self->cut).mesh.tet;
  int shared = 0, at[2][2];
  for (int k = 0; k < 4; k++)
    at[k / 2][k % 2] = pla_surgery_bind(self, k < 2 ? &a->at[k % 2] : &b->at[k % 2]).tet;
  for (int i = 0; i < 8; i++) {
    const int v = tet[4 * at[0][i / 4] + i % 4];
    bool again = false, found = false;
    for (int k = 0; k < i; k++)
      again |= tet[4 * at[0][k / 4] + k % 4] == v;
    for (int j = 0; j < 8; j++)
      found |= tet[4 * at[1][j / 4] + j % 4] == v;
    shared += found && !again;
  }
  if (shared > MOST_SHARED)
    return 0.0;
  return shared == 0 || gap < near ? 1.0 : gentle;
}

/* Lays stitches, each as threads along its part of the edge, for a force in one point would tear
 * the finer a mesh is; and gauges between the threads. */
static PlaStatus
sew_seams(PlaSurgery *self, Seam seam[2], double spacing, double tighten, PlaSurgeryRow *done,
          PlaError *err)
{
  const double apart = 0.35 * self->cell; /* threads of a stitch: about as the edge has points, m */
  const int n_before = self->stitches.n, n_gauges = self->gauges.n;
  int row, first, count = 0, last = -1, missing = 0;
  next_numbers(self, &row, &first);
  for (int k = 0; k < 2; k++)
    seam_measure(self, &seam[k]);
  const double length = fmax(seam[0].length, seam[1].length);
  const int n = (int)fmax(1.0, floor(length / spacing));
  const int per_stitch = (int)fmin(fmax(1.0, ceil(length / n / apart)), 12.0);
  const int end = 2 * n * per_stitch - 1;
  bool ok = true;
  /* the ends of the seam too, where the edges meet in a tip */
  for (int i = -1; ok && i <= end; i++) {
    const bool at_end = i < 0 || i == end;
    const double fraction = 0.5 * (i + 1) / (n * per_stitch);
    const PlaSurgeryEnd a = seam_at(&seam[0], fraction), b = seam_at(&seam[1], fraction);
    PlaSurgeryThread thread = thread_across(self, &a, &b, tighten, row);
    const double gap = pla_vec3_norm(thread.gap), hold = hold_between(self, &a, &b, gap);
    if (at_end && (hold < 1.0 || gap > apart))
      continue;
    if (!(hold > 0.0)) {
      missing += i % 2 == 0;
      thread.stitch = PLA_SURGERY_TIP;
      ok = threads_add(&self->gauges, &thread);
      continue;
    }
    const bool gauge = i % 2 && !at_end;
    if (gauge) {
      thread.stitch = hold < 1.0 ? PLA_SURGERY_TIP : 0;
    } else {
      const int number = i < 0 ? 0 : i == end ? n - 1 : i / 2 / per_stitch;
      count += number != last;
      last = number;
      thread.stitch = first + count - 1;
      thread.share = hold / per_stitch;
    }
    ok = threads_add(gauge ? &self->gauges : &self->stitches, &thread);
  }
  if (done)
    *done = (PlaSurgeryRow){ count, n - count, length * missing / (n * per_stitch) };
  if (ok && count > 0)
    return PLA_OK;
  self->stitches.n = n_before;
  self->gauges.n = n_gauges;
  return ok ? pla_fail(err, PLA_ERR_EMPTY,
                       "the edges lie closer together than the mesh resolves (%.1f mm); there is "
                       "nothing to sew",
                       1e3 * self->cell)
            : pla_fail_memory(err, "the sutures");
}

static PlaStatus
check_spacing(double spacing, PlaError *err)
{
  if (spacing > 0.0 && isfinite(spacing))
    return PLA_OK;
  return pla_fail(err, PLA_ERR_USAGE, "the spacing of stitches must be above 0 mm, not %g mm",
                  1e3 * spacing);
}

PlaStatus
pla_surgery_suture(PlaSurgery *self, const char *first, const char *second, double spacing,
                   double tighten, PlaSurgeryRow *row, PlaError *err)
{
  PlaSurgeryWound *a, *b;
  Seam seam[2] = { { 0 } };
  PlaStatus st = check_spacing(spacing, err);
  if (st == PLA_OK)
    st = pla_surgery_need_wound(self, first, &a, err);
  if (st == PLA_OK)
    st = pla_surgery_need_wound(self, second, &b, err);
  if (st == PLA_OK) {
    bool ok = true;
    if (a == b && a->closed)
      ok = a->n_edge[0] + a->n_edge[1] < 4 || split_rim(self, a, seam);
    else if (a == b)
      ok = seam_copy(&seam[0], a->edge[0], a->n_edge[0], 0, 1) &&
           seam_copy(&seam[1], a->edge[1], a->n_edge[1], 0, 1);
    else
      ok = choose_seams(self, a, b, seam);
    if (!ok)
      st = pla_fail_memory(err, "the sutures");
  }
  if (st == PLA_OK && (seam[0].n < 2 || seam[1].n < 2))
    st = pla_fail(err, PLA_ERR_EMPTY, "'%s' and '%s' have no two edges to sew together", first,
                  second);
  if (st == PLA_OK)
    st = sew_seams(self, seam, spacing, tighten, row, err);
  free(seam[0].point);
  free(seam[1].point);
  return st;
}

/* ---- parts of edges ---- */

/* place on the path of point @number of those that it was drawn through */
static double
knot_along(const PlaSurgeryWound *wound, double number)
{
  const int n = wound->n_knots;
  if (!wound->closed)
    number = fmin(fmax(number, 0.0), n - 1);
  const double turns = floor(number / n), rest = number - turns * n;
  const int i = (int)rest;
  const double a = wound->knot[i], b = i + 1 < n ? wound->knot[i + 1] : wound->length;
  return turns * (wound->closed ? wound->length : 0.0) + a + (rest - i) * (b - a);
}

/* appends the lip's points between two places of the path, in the direction from one to the other
 */
static bool
seam_add_part(Seam *seam, const PlaSurgeryWound *wound, int side, double from, double to)
{
  const PlaSurgeryEdgePoint *lip = wound->edge[side];
  const int n = wound->n_edge[side], first = seam->n;
  const int turns = wound->closed ? 2 : 0;
  const double lo = fmin(from, to), hi = fmax(from, to);
  if (!pla_array_resize((void **)&seam->point, (size_t)(seam->n + (2 * turns + 1) * n),
                        sizeof *seam->point))
    return false;
  for (int k = -turns; k <= turns; k++)
    for (int i = 0; i < n; i++) {
      const double along = lip[i].along + k * wound->length;
      if (along >= lo && along <= hi)
        seam->point[seam->n++] = lip[i];
    }
  for (int i = first, j = seam->n - 1; to < from && i < j; i++, j--) {
    PlaSurgeryEdgePoint swap = seam->point[i];
    seam->point[i] = seam->point[j];
    seam->point[j] = swap;
  }
  return true;
}

static PlaStatus
seam_from_edges(const PlaSurgery *self, const PlaSurgeryEdge *edge, int n, Seam *seam,
                PlaError *err)
{
  *seam = (Seam){ 0 };
  for (int i = 0; i < n; i++) {
    PlaSurgeryWound *wound;
    PlaStatus st = pla_surgery_need_wound(self, edge[i].wound, &wound, err);
    if (st != PLA_OK)
      return st;
    const int side = edge[i].side >= 0 ? edge[i].side : wound->n_edge[0] < wound->n_edge[1];
    const bool all = edge[i].from == edge[i].to;
    const double from = all ? 0.0 : knot_along(wound, edge[i].from);
    const double to = all ? wound->length : knot_along(wound, edge[i].to);
    const int before = seam->n;
    if (!seam_add_part(seam, wound, side, from, to))
      return pla_fail_memory(err, "the sutures");
    if (seam->n == before)
      return pla_fail(err, PLA_ERR_EMPTY,
                      "the wound '%s' has no edge on its %s side between its points %g and %g",
                      edge[i].wound, side ? "right" : "left", edge[i].from, edge[i].to);
  }
  return PLA_OK;
}

PlaStatus
pla_surgery_sew(PlaSurgery *self, const PlaSurgeryEdge *first, int n_first,
                const PlaSurgeryEdge *second, int n_second, double spacing, double tighten,
                PlaSurgeryRow *row, PlaError *err)
{
  Seam seam[2] = { { 0 } };
  PlaStatus st = check_spacing(spacing, err);
  if (st == PLA_OK)
    st = seam_from_edges(self, first, n_first, &seam[0], err);
  if (st == PLA_OK)
    st = seam_from_edges(self, second, n_second, &seam[1], err);
  if (st == PLA_OK)
    st = sew_seams(self, seam, spacing, tighten, row, err);
  free(seam[0].point);
  free(seam[1].point);
  return st;
}

PlaStatus
pla_surgery_stitch(PlaSurgery *self, const double first[3], const double second[3], double tighten,
                   PlaError *err)
{
  PlaSkin skin;
  PlaSurgeryEnd end[2];
  PlaStatus st = pla_surgery_get_skin(self, &skin, err);
  if (st == PLA_OK)
    st = find_anchor(self, &skin, "the stitch", first, &end[0], err);
  if (st == PLA_OK)
    st = find_anchor(self, &skin, "the stitch", second, &end[1], err);
  if (st == PLA_OK) {
    int row, stitch;
    next_numbers(self, &row, &stitch);
    PlaSurgeryThread thread = thread_across(self, &end[0], &end[1], tighten, row);
    thread.stitch = stitch;
    thread.share = 1.0;
    if (!threads_add(&self->stitches, &thread))
      st = pla_fail_memory(err, "the stitch");
  }
  pla_skin_clear(&skin);
  return st;
}

void
pla_surgery_tighten(PlaSurgery *self, double tighten)
{
  for (int i = 0; i < self->stitches.n; i++) {
    PlaSurgeryThread *thread = &self->stitches.thread[i];
    for (int d = 0; d < 3; d++)
      thread->place[d] = (1.0 - tighten) * thread->gap[d];
  }
}
