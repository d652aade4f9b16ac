/* Conforming tets by cutting the lattice (stuffing).
 *
 * Lattice vertices have tissues; an edge between two tissues is cut where their level sets are
 * equal.  A vertex with a cut closer than a quarter of a long edge or 0.41 of a short one moves
 * onto that cut and takes up all cuts of its edges (Labelle and Shewchuk 2007, whose bounds on
 * dihedral angles, 10.7 to 164.8 degrees, hold for one tissue).
 *
 * Pieces come from one rule for any number of tissues (compare Bronson, Levine and Whitaker,
 * "Lattice cleaving", 2013).  Each edge, each face and the tet itself get a point: edges their cut,
 * faces of three tissues and tets of four a point inside; everything else the highest in rank of
 * the points on its border.  The tet then falls into the 24 tets (vertex, edge point, face point,
 * tet point), each with the tissue of its vertex; those with coinciding points have no volume and
 * vanish.  As ranks are global, neighbours agree on every face, and as every piece is a cone from
 * a point of the tet over a triangle of its border, none is ever inverted.
 *
 * Ranks, high to low: vertices moved to the outside, points of three tissues, cuts of long edges,
 * cuts of short edges by the parity of their ends, other moved vertices, vertices. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesher/cutter-private.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* fractions of an edge within which a vertex moves onto the cut */
static const double near_long = 0.24999, near_short = 0.41189;
/* and within which it moves to the outside when it must leave another interface */
static const double near_outer = 0.5;
/* of a tet's volume that such moves must leave between several tissues */
static const double least_volume = 0.05;
/* of an edge that has moved with one end on either side of its cut */
static const double least_share = 0.15;

static bool
is_mixed(const PlaLattice *l, const int v[4])
{
  return l->tissue[v[0]] != l->tissue[v[1]] || l->tissue[v[0]] != l->tissue[v[2]] ||
         l->tissue[v[0]] != l->tissue[v[3]];
}

static void
add_cut(PlaCutter *c, int a, int b, bool is_long)
{
  const int key[3] = { a < b ? a : b, a < b ? b : a, -1 };
  PlaVertSlot *slot;
  if (!pla_vert_table_add(&c->edges, key, &slot)) {
    c->short_of_memory = true;
    return;
  }
  if (slot->value >= 0)
    return;
  if (c->n_cuts == c->room_cuts) {
    int room = c->room_cuts ? c->room_cuts + c->room_cuts / 2 : 4096;
    void *cut = c->cut;
    if (!pla_array_resize(&cut, (size_t)room, sizeof *c->cut)) {
      c->short_of_memory = true;
      return;
    }
    c->cut = cut;
    c->room_cuts = room;
  }
  slot->value = c->n_cuts;
  c->cut[c->n_cuts++] = (PlaCut){ key[0], key[1], is_long, 0.0 };
}

static PlaStatus
find_cuts(PlaCutter *c, PlaError *err)
{
  const PlaLattice *l = c->lattice;
  for (int t = 0; t < l->n_tets && !c->short_of_memory; t++) {
    const int *v = l->tet + 4 * (size_t)t;
    for (int i = 0; is_mixed(l, v) && i < 4; i++)
      for (int j = i + 1; j < 4; j++)
        if (l->tissue[v[i]] != l->tissue[v[j]])
          add_cut(c, v[i], v[j], i / 2 == j / 2);
  }
  if (c->short_of_memory)
    return pla_fail_memory(err, "the cut lattice");
#pragma omp parallel for schedule(dynamic, 256)
  for (int e = 0; e < c->n_cuts; e++) {
    PlaCut *cut = &c->cut[e];
    cut->t = pla_tissues_crossing(c->tissues, l->tissue[cut->a], l->tissue[cut->b],
                                  l->pos_mm + 3 * (size_t)cut->a, l->pos_mm + 3 * (size_t)cut->b);
  }
  return PLA_OK;
}

/* the points of the result begin with the lattice's vertices and the cuts */
static PlaStatus
place_points(PlaCutter *c, PlaError *err)
{
  const PlaLattice *l = c->lattice;
  c->n_points = l->n_verts + c->n_cuts;
  c->room_points = c->n_points + 1024;
  c->pos_mm = pla_array_new((size_t)c->room_points, 3 * sizeof *c->pos_mm);
  if (!c->pos_mm)
    return pla_fail_memory(err, "the cut lattice");
  memcpy(c->pos_mm, l->pos_mm, (size_t)l->n_verts * 3 * sizeof *c->pos_mm);
  for (int e = 0; e < c->n_cuts; e++) {
    const PlaCut *cut = &c->cut[e];
    for (int d = 0; d < 3; d++) {
      double p = l->pos_mm[3 * (size_t)cut->a + d], q = l->pos_mm[3 * (size_t)cut->b + d];
      c->pos_mm[3 * (size_t)(l->n_verts + e) + d] = p + cut->t * (q - p);
    }
  }
  return PLA_OK;
}

/* whether vertex @v has taken up the cut of an edge that goes to tissue @to from tissue @from */
static bool
takes_up(const PlaCutter *c, int v, int from, int to)
{
  return c->moved[v] == PLA_MOVED || (c->moved[v] == PLA_MOVED_INSIDE && from > 0 && to > 0);
}

static void
move_onto(PlaCutter *c, int v, int cut)
{
  const int16_t *tissue = c->lattice->tissue;
  const bool outer = tissue[c->cut[cut].a] == 0 || tissue[c->cut[cut].b] == 0;
  c->moved[v] = outer ? PLA_MOVED : PLA_MOVED_INSIDE;
  memcpy(c->pos_mm + 3 * (size_t)v, c->pos_mm + 3 * (size_t)(c->lattice->n_verts + cut),
         3 * sizeof *c->pos_mm);
}

/* a moved vertex goes to its second choice, unless its edge has no cut any more, or back */
static void
move_back(PlaCutter *c, int v)
{
  const int second = c->second[v];
  c->second[v] = -1;
  if (second >= 0 && !c->moved[c->cut[second].a + c->cut[second].b - v]) {
    move_onto(c, v, second);
    return;
  }
  c->moved[v] = 0;
  memcpy(c->pos_mm + 3 * (size_t)v, c->lattice->pos_mm + 3 * (size_t)v, 3 * sizeof *c->pos_mm);
}

/* vertices in their order: one with a cut too close moves onto the closest, and its cuts are gone;
 * so that the body's surface has no pits over thin layers, rather onto one with the outside */
static PlaStatus
move_vertices(PlaCutter *c, PlaError *err)
{
  const PlaLattice *l = c->lattice;
  int *first = pla_array_new0((size_t)l->n_verts + 2, sizeof *first);
  int *of = pla_array_new(2 * (size_t)c->n_cuts, sizeof *of);
  if (!first || !of) {
    free(first);
    free(of);
    return pla_fail_memory(err, "the cut lattice");
  }
  for (int e = 0; e < c->n_cuts; e++) {
    first[c->cut[e].a + 2]++;
    first[c->cut[e].b + 2]++;
  }
  for (int v = 0; v < l->n_verts; v++)
    first[v + 2] += first[v + 1];
  for (int e = 0; e < c->n_cuts; e++) {
    of[first[c->cut[e].a + 1]++] = e;
    of[first[c->cut[e].b + 1]++] = e;
  }
  for (int v = 0; v < l->n_verts; v++) {
    int nearest = -1, outer = -1;
    double least = INFINITY, least_outer = INFINITY;
    for (int k = first[v]; k < first[v + 1]; k++) {
      const PlaCut *cut = &c->cut[of[k]];
      int other = cut->a == v ? cut->b : cut->a;
      double t = cut->a == v ? cut->t : 1.0 - cut->t;
      double length = t * (cut->is_long ? 1.0 : sqrt(0.75));
      if (takes_up(c, other, l->tissue[v], l->tissue[other]))
        continue;
      if (t < (cut->is_long ? near_long : near_short) && length < least) {
        least = length;
        nearest = of[k];
      }
      if ((l->tissue[v] == 0 || l->tissue[other] == 0) && t < near_outer && length < least_outer) {
        least_outer = length;
        outer = of[k];
      }
    }
    /* in a layer thinner than the cells it can be on one side only */
    if (nearest >= 0 && outer >= 0 && l->tissue[c->cut[nearest].a] > 0 &&
        l->tissue[c->cut[nearest].b] > 0) {
      c->second[v] = nearest;
      nearest = outer;
    }
    if (nearest >= 0)
      move_onto(c, v, nearest);
  }
  free(first);
  free(of);
  return PLA_OK;
}

/* six times the volume of a tet */
static double
volume_of(const double *pos, const int v[4])
{
  double m[9];
  for (int r = 0; r < 3; r++)
    pla_vec3_sub(pos + 3 * (size_t)v[r + 1], pos + 3 * (size_t)v[0], m + 3 * r);
  return pla_mat3_det(m);
}

/* Moves of several vertices may flatten a tet of the lattice, as all four onto one plane do, or
 * turn it inside out: the farthest of them goes back.  Around a single tissue such a tet lies on
 * the surface with all its vertices, and is left out instead. */
static void
undo_flattened(PlaCutter *c)
{
  const PlaLattice *l = c->lattice;
  for (bool again = true; again;) {
    again = false;
    for (int t = 0; t < l->n_tets; t++) {
      const int *v = l->tet + 4 * (size_t)t;
      double farthest = 0.0;
      int back = -1;
      for (int a = 0; a < 4; a++) {
        double way[3];
        pla_vec3_sub(c->pos_mm + 3 * (size_t)v[a], l->pos_mm + 3 * (size_t)v[a], way);
        if (c->moved[v[a]] && pla_vec3_norm(way) > farthest) {
          farthest = pla_vec3_norm(way);
          back = v[a];
        }
      }
      if (back < 0 || volume_of(c->pos_mm, v) > least_volume * volume_of(l->pos_mm, v))
        continue;
      move_back(c, back);
      again = true;
    }
  }
}

/* cuts of edges that have moved with one end go with them */
static void
follow_moves(PlaCutter *c)
{
  const PlaLattice *l = c->lattice;
#pragma omp parallel for schedule(dynamic, 256)
  for (int e = 0; e < c->n_cuts; e++) {
    PlaCut *cut = &c->cut[e];
    const int from = l->tissue[cut->a], to = l->tissue[cut->b];
    if ((!c->moved[cut->a] && !c->moved[cut->b]) || takes_up(c, cut->a, from, to) ||
        takes_up(c, cut->b, from, to))
      continue;
    const double *p = c->pos_mm + 3 * (size_t)cut->a, *q = c->pos_mm + 3 * (size_t)cut->b;
    const double t = pla_tissues_crossing(c->tissues, from, to, p, q);
    cut->t = fmin(fmax(t, least_share), 1.0 - least_share);
    for (int d = 0; d < 3; d++)
      c->pos_mm[3 * (size_t)(l->n_verts + e) + d] = p[d] + cut->t * (q[d] - p[d]);
  }
}

/* ---- pieces ---- */

int
pla_cutter_add_point(PlaCutter *c, const double x[3])
{
  if (c->n_points == c->room_points) {
    void *pos = c->pos_mm;
    int room = c->room_points + c->room_points / 2;
    if (!pla_array_resize(&pos, (size_t)room, 3 * sizeof *c->pos_mm)) {
      c->short_of_memory = true;
      return 0;
    }
    c->pos_mm = pos;
    c->room_points = room;
  }
  memcpy(c->pos_mm + 3 * (size_t)c->n_points, x, 3 * sizeof *x);
  return c->n_points++;
}

void
pla_cutter_add_tet(PlaCutter *c, const int v[4], bool turned, int tissue)
{
  if (tissue == 0)
    return;
  if (c->n_tets == c->room_tets) {
    int room = c->room_tets ? c->room_tets + c->room_tets / 2 : 65536;
    void *tet = c->tet, *region = c->region;
    bool grown = room < INT_MAX / 4 && pla_array_resize(&tet, (size_t)room, 4 * sizeof *c->tet);
    c->tet = tet;
    grown = grown && pla_array_resize(&region, (size_t)room, sizeof *c->region);
    c->region = region;
    if (!grown) {
      c->short_of_memory = true;
      return;
    }
    c->room_tets = room;
  }
  int *to = c->tet + 4 * (size_t)c->n_tets;
  to[0] = v[0];
  to[1] = v[1];
  to[2] = v[turned ? 3 : 2];
  to[3] = v[turned ? 2 : 3];
  c->region[c->n_tets++] = tissue;
}

/* a larger number is higher in rank; points of one tet never tie where it matters */
static int64_t
rank_of(const PlaCutter *c, int point)
{
  enum { VERTEX = 0, MOVED_INSIDE, SHORT, LONG = SHORT + 3, INSIDE, MOVED };
  const PlaLattice *l = c->lattice;
  int64_t class = INSIDE;
  if (point < l->n_verts) {
    class = c->moved[point] == PLA_MOVED ? MOVED : c->moved[point] ? MOVED_INSIDE : VERTEX;
  } else if (point < l->n_verts + c->n_cuts) {
    const PlaCut *cut = &c->cut[point - l->n_verts];
    class = cut->is_long ? LONG : SHORT + l->parity[cut->a] + l->parity[cut->b];
  }
  return (class << 32) - point;
}

static int
higher(const PlaCutter *c, int p, int q)
{
  return rank_of(c, p) >= rank_of(c, q) ? p : q;
}

static int
edge_point(const PlaCutter *c, int a, int b)
{
  const PlaLattice *l = c->lattice;
  if (l->tissue[a] == l->tissue[b] || takes_up(c, a, l->tissue[a], l->tissue[b]) ||
      takes_up(c, b, l->tissue[a], l->tissue[b]))
    return higher(c, a, b);
  const int key[3] = { a < b ? a : b, a < b ? b : a, -1 };
  return l->n_verts + pla_vert_table_find(&c->edges, key)->value;
}

/* the mean of @n points */
void
pla_cutter_mean_point(const PlaCutter *c, const int *point, int n, double x[3])
{
  for (int d = 0; d < 3; d++) {
    x[d] = 0.0;
    for (int k = 0; k < n; k++)
      x[d] += c->pos_mm[3 * (size_t)point[k] + d] / n;
  }
}

/* the mean of the cuts of three edges; kept for the neighbour */
static int
face_inner_point(PlaCutter *c, const int v[3], const int cuts[3])
{
  int key[3] = { v[0], v[1], v[2] };
  PlaVertSlot *slot;
  pla_sort3(key);
  if (!pla_vert_table_add(&c->faces, key, &slot)) {
    c->short_of_memory = true;
    return 0;
  }
  if (slot->value < 0) {
    double x[3];
    pla_cutter_mean_point(c, cuts, 3, x);
    slot->value = pla_cutter_add_point(c, x);
  }
  return slot->value;
}

static int
tissue_of_middle(const PlaCutter *c, const int v[4])
{
  double x[3];
  pla_cutter_mean_point(c, v, 4, x);
  return pla_tissues_at(c->tissues, x);
}

static bool
all_moved(const PlaCutter *c, const int v[4])
{
  return c->moved[v[0]] && c->moved[v[1]] && c->moved[v[2]] && c->moved[v[3]];
}

bool
pla_cutter_angles(const PlaCutter *c, const int v[4], double *most_cos, double *least_cos)
{
  double m[9], normal[4][3];
  for (int r = 0; r < 3; r++)
    pla_vec3_sub(c->pos_mm + 3 * (size_t)v[r + 1], c->pos_mm + 3 * (size_t)v[0], m + 3 * r);
  if (pla_mat3_det(m) <= 0.0)
    return false;
  for (int k = 0; k < 4; k++) {
    const double *p = c->pos_mm + 3 * (size_t)v[(k + 1) % 4],
                 *q = c->pos_mm + 3 * (size_t)v[(k + 2) % 4],
                 *r = c->pos_mm + 3 * (size_t)v[(k + 3) % 4];
    double a[3], b[3];
    pla_vec3_sub(q, p, a);
    pla_vec3_sub(r, p, b);
    pla_vec3_cross(a, b, normal[k]);
    /* faces of odd number have the other turn */
    double scale = (k % 2 ? -1.0 : 1.0) / pla_vec3_norm(normal[k]);
    for (int d = 0; d < 3; d++)
      normal[k][d] *= scale;
  }
  *most_cos = -1.0;
  *least_cos = 1.0;
  for (int k = 0; k < 4; k++)
    for (int e = k + 1; e < 4; e++) {
      const double cosine = -pla_vec3_dot(normal[k], normal[e]);
      *most_cos = cosine > *most_cos ? cosine : *most_cos;
      *least_cos = cosine < *least_cos ? cosine : *least_cos;
    }
  return true;
}

bool
pla_cutter_is_shapely(const PlaCutter *c, const int v[4])
{
  double most, least;
  return pla_cutter_angles(c, v, &most, &least) && most < 0.978 && least > -0.94;
}

/* a piece between moved vertices alone lies on an interface; one at a vertex inside is not outside
 */
static int
tissue_of_piece(const PlaCutter *c, int vertex, const int p[4])
{
  if (!c->moved[vertex])
    return c->lattice->tissue[vertex];
  if (c->moved[vertex] == PLA_MOVED || c->lattice->tissue[vertex] == 0)
    return tissue_of_middle(c, p);
  double x[3];
  pla_cutter_mean_point(c, p, 4, x);
  return pla_tissues_nearest(c->tissues, x);
}

static void
cut_tet(PlaCutter *c, const int v[4])
{
  const PlaLattice *l = c->lattice;
  int edge[4][4], face[4], middle, distinct = 0;
  bool any_moved = false;
  for (int i = 0; i < 4; i++) {
    bool seen = false;
    for (int j = 0; j < i; j++)
      seen = seen || l->tissue[v[i]] == l->tissue[v[j]];
    distinct += !seen;
    any_moved = any_moved || c->moved[v[i]];
    for (int j = i + 1; j < 4; j++)
      edge[i][j] = edge[j][i] = edge_point(c, v[i], v[j]);
  }
  /* face k is opposite vertex k */
  for (int k = 0; k < 4; k++) {
    const int a = (k + 1) % 4, b = (k + 2) % 4, e = (k + 3) % 4;
    const int corner[3] = { v[a], v[b], v[e] }, cuts[3] = { edge[a][b], edge[b][e], edge[e][a] };
    const int16_t ta = l->tissue[v[a]], tb = l->tissue[v[b]], te = l->tissue[v[e]];
    if (ta != tb && tb != te && te != ta && cuts[0] >= l->n_verts && cuts[1] >= l->n_verts &&
        cuts[2] >= l->n_verts)
      face[k] = face_inner_point(c, corner, cuts);
    else
      face[k] = higher(c, higher(c, cuts[0], cuts[1]), cuts[2]);
  }
  if (distinct == 4 && !any_moved) {
    double x[3];
    pla_cutter_mean_point(c, face, 4, x);
    middle = pla_cutter_add_point(c, x);
  } else {
    middle = higher(c, higher(c, face[0], face[1]), higher(c, face[2], face[3]));
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      for (int k = 0; k < 4; k++) {
        if (i == j || j == k || i == k)
          continue;
        const int m = 6 - i - j - k, p[4] = { v[i], edge[i][j], face[m], middle };
        if (p[0] == p[1] || p[0] == p[2] || p[0] == p[3] || p[1] == p[2] || p[1] == p[3] ||
            p[2] == p[3])
          continue;
        /* odd permutations of the vertices turn the piece over */
        int swaps = (i > j) + (i > k) + (i > m) + (j > k) + (j > m) + (k > m);
        pla_cutter_add_tet(c, p, swaps % 2, tissue_of_piece(c, v[i], p));
      }
}

static PlaStatus
cut_lattice(PlaCutter *c, PlaProgress *progress, PlaError *err)
{
  const PlaLattice *l = c->lattice;
  for (int t = 0; t < l->n_tets; t++) {
    const int *v = l->tet + 4 * (size_t)t;
    if (t % 65536 == 0 && !pla_progress_step(progress, (double)t / l->n_tets))
      return pla_fail_cancelled(err);
    /* all on the surface of the only tissue: no sliver is missed there */
    if (c->tissues->n_groups == 1 && all_moved(c, v) &&
        (!pla_cutter_is_shapely(c, v) || tissue_of_middle(c, v) == 0))
      continue;
    if (is_mixed(l, v))
      cut_tet(c, v);
    else
      pla_cutter_add_tet(c, v, false, l->tissue[v[0]]);
    if (c->short_of_memory)
      return pla_fail_memory(err, "the cut lattice");
  }
  return PLA_OK;
}

PlaStatus
pla_cutter_init(PlaCutter *c, const PlaTissues *tissues, PlaLattice *lattice, PlaError *err)
{
  *c = (PlaCutter){ .tissues = tissues, .lattice = lattice };
  c->moved = pla_array_new0((size_t)lattice->n_verts, 1);
  c->second = pla_array_new((size_t)lattice->n_verts, sizeof *c->second);
  for (int v = 0; c->second && v < lattice->n_verts; v++)
    c->second[v] = -1;
  if (!c->moved || !c->second || !pla_vert_table_init(&c->edges, 4096) ||
      !pla_vert_table_init(&c->faces, 64))
    return pla_fail_memory(err, "the cut lattice");
  return PLA_OK;
}

PlaStatus
pla_cutter_run(PlaCutter *c, PlaProgress *progress, PlaError *err)
{
  PlaStatus st = find_cuts(c, err);
  if (st == PLA_OK)
    st = place_points(c, err);
  if (st == PLA_OK)
    st = move_vertices(c, err);
  if (st == PLA_OK && c->tissues->n_groups > 1)
    undo_flattened(c);
  if (st == PLA_OK && c->tissues->n_groups > 1)
    follow_moves(c);
  if (st == PLA_OK)
    st = cut_lattice(c, progress, err);
  return st;
}

void
pla_cutter_clear(PlaCutter *c)
{
  free(c->cut);
  free(c->moved);
  free(c->second);
  free(c->edges.slot);
  free(c->faces.slot);
  free(c->pos_mm);
  free(c->tet);
  free(c->region);
  free(c->pinned);
  *c = (PlaCutter){ 0 };
}
