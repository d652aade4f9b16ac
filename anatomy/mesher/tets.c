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
 * Ranks, high to low: moved vertices, points of three tissues, cuts of long edges, cuts of short
 * edges by the parity of their ends, vertices. */
#include "anatomy/mesher/tets.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesher/lattice.h"
#include "anatomy/mesher/tissues.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* fractions of an edge within which a vertex moves onto the cut */
static const double near_long = 0.24999, near_short = 0.41189;

PlaTetOptions
pla_tet_options_default(void)
{
  return (PlaTetOptions){ .cell_mm = 4.0, .levels = 3, .smooth_mm = -1.0 };
}

/* ---- a table of numbers keyed by two or three vertices ---- */

typedef struct {
  int key[3]; /* -1 fills pairs up; key[1] = -1: free */
  int value;
} Slot;

typedef struct {
  Slot *slot;
  size_t mask, n;
} Table;

static bool
table_init(Table *t, size_t room)
{
  size_t size = 64;
  while (size < 2 * room)
    size *= 2;
  t->slot = pla_array_new(size, sizeof *t->slot);
  t->mask = size - 1;
  t->n = 0;
  for (size_t i = 0; t->slot && i < size; i++)
    t->slot[i].key[1] = -1;
  return t->slot != NULL;
}

static size_t
table_hash(const int key[3])
{
  uint64_t h = (uint64_t)(unsigned)key[0] * 0x9E3779B97F4A7C15u;
  h = (h ^ h >> 29 ^ (uint64_t)(unsigned)key[1]) * 0xBF58476D1CE4E5B9u;
  h = (h ^ h >> 32 ^ (uint64_t)(unsigned)key[2]) * 0x94D049BB133111EBu;
  return (size_t)(h ^ h >> 31);
}

/* the slot of a key, free or not */
static Slot *
table_find(const Table *t, const int key[3])
{
  size_t i = table_hash(key) & t->mask;
  while (t->slot[i].key[1] >= 0 && memcmp(t->slot[i].key, key, sizeof t->slot[i].key) != 0)
    i = (i + 1) & t->mask;
  return &t->slot[i];
}

/* false: no memory.  *slot is where @key stands or now begins to, with value -1 */
static bool
table_add(Table *t, const int key[3], Slot **slot)
{
  if (2 * (t->n + 1) > t->mask) {
    Table larger;
    if (!table_init(&larger, t->mask + 1))
      return false;
    for (size_t i = 0; i <= t->mask; i++)
      if (t->slot[i].key[1] >= 0)
        *table_find(&larger, t->slot[i].key) = t->slot[i];
    larger.n = t->n;
    free(t->slot);
    *t = larger;
  }
  *slot = table_find(t, key);
  if ((*slot)->key[1] < 0) {
    memcpy((*slot)->key, key, 3 * sizeof *key);
    (*slot)->value = -1;
    t->n++;
  }
  return true;
}

static int
compare_ints(const void *a, const void *b)
{
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

/* ---- the cut lattice ---- */

typedef struct {
  int a, b;    /* a < b */
  bool is_long;
  double t;    /* from a to b */
} Cut;

typedef struct {
  const PlaTissues *tissues;
  PlaLattice *lattice;
  int n_cuts, room_cuts;
  Cut *cut;
  Table edges;    /* (a, b, -1) -> cut */
  uint8_t *moved; /* per lattice vertex */
  Table faces;    /* (a, b, c) -> point of three tissues */

  /* the result; points are lattice vertices, then cuts, then all others */
  int n_points, room_points;
  double *pos_mm; /* n_points x 3 */
  int n_tets, room_tets;
  int *tet, *region; /* tissues */
  bool short_of_memory;
} Cutter;

static bool
is_mixed(const PlaLattice *l, const int v[4])
{
  return l->tissue[v[0]] != l->tissue[v[1]] || l->tissue[v[0]] != l->tissue[v[2]] ||
         l->tissue[v[0]] != l->tissue[v[3]];
}

static void
add_cut(Cutter *c, int a, int b, bool is_long)
{
  const int key[3] = { a < b ? a : b, a < b ? b : a, -1 };
  Slot *slot;
  if (!table_add(&c->edges, key, &slot)) {
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
  c->cut[c->n_cuts++] = (Cut){ key[0], key[1], is_long, 0.0 };
}

static PlaStatus
find_cuts(Cutter *c, PlaError *err)
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
    Cut *cut = &c->cut[e];
    cut->t = pla_tissues_crossing(c->tissues, l->tissue[cut->a], l->tissue[cut->b],
                                  l->pos_mm + 3 * (size_t)cut->a, l->pos_mm + 3 * (size_t)cut->b);
  }
  return PLA_OK;
}

/* the points of the result begin with the lattice's vertices and the cuts */
static PlaStatus
place_points(Cutter *c, PlaError *err)
{
  const PlaLattice *l = c->lattice;
  c->n_points = l->n_verts + c->n_cuts;
  c->room_points = c->n_points + 1024;
  c->pos_mm = pla_array_new((size_t)c->room_points, 3 * sizeof *c->pos_mm);
  if (!c->pos_mm)
    return pla_fail_memory(err, "the cut lattice");
  memcpy(c->pos_mm, l->pos_mm, (size_t)l->n_verts * 3 * sizeof *c->pos_mm);
  for (int e = 0; e < c->n_cuts; e++) {
    const Cut *cut = &c->cut[e];
    for (int d = 0; d < 3; d++) {
      double p = l->pos_mm[3 * (size_t)cut->a + d], q = l->pos_mm[3 * (size_t)cut->b + d];
      c->pos_mm[3 * (size_t)(l->n_verts + e) + d] = p + cut->t * (q - p);
    }
  }
  return PLA_OK;
}

/* vertices in their order: one with a cut too close moves onto the closest, and its cuts are gone */
static PlaStatus
move_vertices(Cutter *c, PlaError *err)
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
    int nearest = -1;
    double least = INFINITY;
    for (int k = first[v]; k < first[v + 1]; k++) {
      const Cut *cut = &c->cut[of[k]];
      int other = cut->a == v ? cut->b : cut->a;
      double t = cut->a == v ? cut->t : 1.0 - cut->t;
      double length = t * (cut->is_long ? 1.0 : sqrt(0.75));
      if (!c->moved[other] && t < (cut->is_long ? near_long : near_short) && length < least) {
        least = length;
        nearest = of[k];
      }
    }
    if (nearest >= 0) {
      c->moved[v] = 1;
      memcpy(c->pos_mm + 3 * (size_t)v, c->pos_mm + 3 * (size_t)(l->n_verts + nearest),
             3 * sizeof *c->pos_mm);
    }
  }
  free(first);
  free(of);
  return PLA_OK;
}

/* ---- pieces ---- */

static int
add_point(Cutter *c, const double x[3])
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

static void
add_tet(Cutter *c, const int v[4], bool turned, int tissue)
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
rank_of(const Cutter *c, int point)
{
  enum { VERTEX = 0, SHORT, LONG = SHORT + 3, INSIDE, MOVED };
  const PlaLattice *l = c->lattice;
  int64_t class = INSIDE;
  if (point < l->n_verts) {
    class = c->moved[point] ? MOVED : VERTEX;
  } else if (point < l->n_verts + c->n_cuts) {
    const Cut *cut = &c->cut[point - l->n_verts];
    class = cut->is_long ? LONG : SHORT + l->parity[cut->a] + l->parity[cut->b];
  }
  return (class << 32) - point;
}

static int
higher(const Cutter *c, int p, int q)
{
  return rank_of(c, p) >= rank_of(c, q) ? p : q;
}

static int
edge_point(const Cutter *c, int a, int b)
{
  const PlaLattice *l = c->lattice;
  if (l->tissue[a] == l->tissue[b] || c->moved[a] || c->moved[b])
    return higher(c, a, b);
  const int key[3] = { a < b ? a : b, a < b ? b : a, -1 };
  return l->n_verts + table_find(&c->edges, key)->value;
}

/* the mean of @n points */
static void
mean_point(const Cutter *c, const int *point, int n, double x[3])
{
  for (int d = 0; d < 3; d++) {
    x[d] = 0.0;
    for (int k = 0; k < n; k++)
      x[d] += c->pos_mm[3 * (size_t)point[k] + d] / n;
  }
}

/* the mean of the cuts of three edges; kept for the neighbour */
static int
face_inner_point(Cutter *c, const int v[3], const int cuts[3])
{
  int key[3] = { v[0], v[1], v[2] };
  Slot *slot;
  qsort(key, 3, sizeof *key, compare_ints);
  if (!table_add(&c->faces, key, &slot)) {
    c->short_of_memory = true;
    return 0;
  }
  if (slot->value < 0) {
    double x[3];
    mean_point(c, cuts, 3, x);
    slot->value = add_point(c, x);
  }
  return slot->value;
}

static int
tissue_of_middle(const Cutter *c, const int v[4])
{
  double x[3];
  mean_point(c, v, 4, x);
  return pla_tissues_at(c->tissues, x);
}

static bool
all_moved(const Cutter *c, const int v[4])
{
  return c->moved[v[0]] && c->moved[v[1]] && c->moved[v[2]] && c->moved[v[3]];
}

/* whether the tet is positive with all dihedral angles between about 12 and 160 degrees */
static bool
is_shapely(const Cutter *c, const int v[4])
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
  for (int k = 0; k < 4; k++)
    for (int e = k + 1; e < 4; e++) {
      double cosine = -pla_vec3_dot(normal[k], normal[e]);
      if (!(cosine < 0.978 && cosine > -0.94))
        return false;
    }
  return true;
}

static void
cut_tet(Cutter *c, const int v[4])
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
    if (ta != tb && tb != te && te != ta && !c->moved[v[a]] && !c->moved[v[b]] && !c->moved[v[e]])
      face[k] = face_inner_point(c, corner, cuts);
    else
      face[k] = higher(c, higher(c, cuts[0], cuts[1]), cuts[2]);
  }
  if (distinct == 4 && !any_moved) {
    double x[3];
    mean_point(c, face, 4, x);
    middle = add_point(c, x);
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
        /* a piece between moved vertices alone lies on the interface */
        add_tet(c, p, swaps % 2, c->moved[v[i]] ? tissue_of_middle(c, p) : l->tissue[v[i]]);
      }
}

static PlaStatus
cut_lattice(Cutter *c, PlaProgress *progress, PlaError *err)
{
  const PlaLattice *l = c->lattice;
  for (int t = 0; t < l->n_tets; t++) {
    const int *v = l->tet + 4 * (size_t)t;
    if (t % 65536 == 0 && !pla_progress_step(progress, (double)t / l->n_tets))
      return pla_fail_cancelled(err);
    /* all on the surface of the only tissue: no sliver is missed there */
    if (c->tissues->n_groups == 1 && all_moved(c, v) &&
        (!is_shapely(c, v) || tissue_of_middle(c, v) == 0))
      continue;
    if (is_mixed(l, v))
      cut_tet(c, v);
    else
      add_tet(c, v, false, l->tissue[v[0]]);
    if (c->short_of_memory)
      return pla_fail_memory(err, "the cut lattice");
  }
  return PLA_OK;
}

/* ---- the outer surface of a single tissue ---- */

typedef struct {
  int tet, v[3], apex; /* counter-clockwise seen from outside; the tet's fourth vertex */
} Facet;

/* faces of one tet alone, in the order of tets; *out is freed by the caller */
static PlaStatus
outer_facets(const int *tet, int n_tets, Facet **out, int *n_out, PlaError *err)
{
  static const int side[4][3] = { { 1, 2, 3 }, { 0, 3, 2 }, { 0, 1, 3 }, { 0, 2, 1 } };
  Table faces;
  PlaStatus st = PLA_OK;
  *out = NULL;
  *n_out = 0;
  if (!table_init(&faces, 2 * (size_t)n_tets))
    return pla_fail_memory(err, "the mesh");
  /* each face holds the tet that had it first, or -2 once it has had a second */
  for (int pass = 0; pass < 2 && st == PLA_OK; pass++) {
    if (pass == 1) {
      *out = pla_array_new((size_t)*n_out, sizeof **out);
      *n_out = 0;
      if (!*out)
        st = pla_fail_memory(err, "the mesh");
    }
    for (int t = 0; st == PLA_OK && t < n_tets; t++)
      for (int f = 0; f < 4; f++) {
        const int *v = tet + 4 * (size_t)t;
        int key[3] = { v[side[f][0]], v[side[f][1]], v[side[f][2]] };
        Slot *slot;
        qsort(key, 3, sizeof *key, compare_ints);
        if (!table_add(&faces, key, &slot)) {
          st = pla_fail_memory(err, "the mesh");
          break;
        }
        if (pass == 0) {
          *n_out += slot->value == -1 ? 1 : slot->value >= 0 ? -1 : 0;
          slot->value = slot->value == -1 ? t : -2;
        } else if (slot->value == t) {
          (*out)[(*n_out)++] = (Facet){ t, { v[side[f][0]], v[side[f][1]], v[side[f][2]] }, v[f] };
        }
      }
  }
  free(faces.slot);
  return st;
}

/* The point of the surface over or under the middle of a facet, along its normal; false when there
 * is none within 0.8 cells. */
static bool
surface_over(const Cutter *c, const Facet *f, const double x[3], double value, double p[3])
{
  double a[3], b[3], n[3], q[3];
  pla_vec3_sub(c->pos_mm + 3 * (size_t)f->v[1], c->pos_mm + 3 * (size_t)f->v[0], a);
  pla_vec3_sub(c->pos_mm + 3 * (size_t)f->v[2], c->pos_mm + 3 * (size_t)f->v[0], b);
  pla_vec3_cross(a, b, n);
  const double reach = (value < 0.0 ? 0.8 : -0.8) * c->lattice->cell_mm / pla_vec3_norm(n);
  for (int d = 0; d < 3; d++)
    q[d] = x[d] + reach * n[d];
  if ((pla_tissue_value(c->tissues, 1, q) < 0.0) == (value < 0.0))
    return false;
  const double t = value < 0.0 ? pla_tissues_crossing(c->tissues, 1, 0, x, q)
                               : pla_tissues_crossing(c->tissues, 0, 1, x, q);
  for (int d = 0; d < 3; d++)
    p[d] = x[d] + t * (q[d] - x[d]);
  return true;
}

/* Outer faces whose middle is a fifth of a cell or more from the surface get a vertex on it: outside
 * the face a tet is put on top, inside its tet is divided by three and the rest goes.  Only where
 * all new tets are well shaped. */
static PlaStatus
fit_facets(Cutter *c, PlaError *err)
{
  Facet *facet;
  int n_facets;
  PlaStatus st = outer_facets(c->tet, c->n_tets, &facet, &n_facets, err);
  uint8_t *used = st == PLA_OK ? pla_array_new0((size_t)c->n_tets, 1) : NULL;
  if (st == PLA_OK && !used)
    st = pla_fail_memory(err, "the mesh");
  for (int i = 0; st == PLA_OK && i < n_facets; i++) {
    const Facet *f = &facet[i];
    double x[3], p[3];
    mean_point(c, f->v, 3, x);
    const double value = pla_tissue_value(c->tissues, 1, x);
    if (fabs(value) < 0.2 * c->lattice->cell_mm || used[f->tet] || !surface_over(c, f, x, value, p))
      continue;
    const int fresh = add_point(c, p), tissue = c->region[f->tet];
    int piece[3][4];
    bool good = !c->short_of_memory;
    if (value < 0.0) {
      const int top[4] = { f->v[0], f->v[1], f->v[2], fresh };
      if (good && is_shapely(c, top))
        add_tet(c, top, false, tissue);
    } else {
      for (int k = 0; k < 3 && good; k++) {
        const int q[4] = { f->v[k], f->apex, f->v[(k + 1) % 3], fresh };
        memcpy(piece[k], q, sizeof q);
        good = is_shapely(c, q);
      }
      if (good) {
        memcpy(c->tet + 4 * (size_t)f->tet, piece[0], sizeof piece[0]);
        add_tet(c, piece[1], false, tissue);
        add_tet(c, piece[2], false, tissue);
      }
    }
    used[f->tet] = 1;
    if (c->short_of_memory)
      st = pla_fail_memory(err, "the mesh");
  }
  free(facet);
  free(used);
  return st;
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* distances of the outer faces from the level set */
static PlaStatus
measure_boundary(const Cutter *c, PlaTetReport *r, PlaError *err)
{
  Facet *facet;
  PlaStatus st = outer_facets(c->tet, c->n_tets, &facet, &r->boundary_tris, err);
  double *far = st == PLA_OK ? pla_array_new((size_t)r->boundary_tris, sizeof *far) : NULL;
  int n = 0;
  r->vertex_mm = r->facet_mm = r->facet_p99_mm = NAN;
  if (st == PLA_OK && !far)
    st = pla_fail_memory(err, "the mesh");
  for (int i = 0; st == PLA_OK && c->tissues->n_groups == 1 && i < r->boundary_tris; i++) {
    double x[3];
    for (int k = 0; k < 3; k++) {
      double value = pla_tissue_value(c->tissues, 1, c->pos_mm + 3 * (size_t)facet[i].v[k]);
      r->vertex_mm = fmax(r->vertex_mm, fabs(value));
    }
    mean_point(c, facet[i].v, 3, x);
    /* the rim of a cap is a sharp edge, which the lattice rounds */
    if (pla_tissue_beyond(c->tissues->group[0], x) < -1.5 * c->lattice->cell_mm)
      far[n++] = fabs(pla_tissue_value(c->tissues, 1, x));
  }
  if (n > 0) {
    qsort(far, (size_t)n, sizeof *far, compare_doubles);
    r->facet_mm = far[n - 1];
    r->facet_p99_mm = far[(size_t)(0.99 * (n - 1))];
  }
  free(facet);
  free(far);
  return st;
}

/* ---- the result ---- */

static PlaStatus
harvest(const Cutter *c, const int *ids, PlaMesh **out, PlaError *err)
{
  int *new_of = pla_array_new((size_t)c->n_points, sizeof *new_of), n_verts = 0;
  int32_t *region = NULL;
  PlaMesh *mesh = NULL;
  if (!new_of)
    return pla_fail_memory(err, "the mesh");
  memset(new_of, -1, (size_t)c->n_points * sizeof *new_of);
  for (size_t k = 0; k < 4 * (size_t)c->n_tets; k++)
    if (new_of[c->tet[k]] < 0)
      new_of[c->tet[k]] = n_verts++;
  PlaStatus st = pla_mesh_new(n_verts, 0, c->n_tets, 0, &mesh, err);
  if (st == PLA_OK) {
    region = pla_mesh_add_field(mesh, PLA_MESH_REGION, PLA_ON_CELLS, PLA_I32, 1);
    if (!region)
      st = pla_fail_memory(err, "the mesh");
  }
  if (st == PLA_OK) {
    for (int p = 0; p < c->n_points; p++)
      for (int d = 0; d < 3 && new_of[p] >= 0; d++)
        mesh->pos[3 * (size_t)new_of[p] + d] = c->pos_mm[3 * (size_t)p + d] / 1000.0;
    for (size_t k = 0; k < 4 * (size_t)c->n_tets; k++)
      mesh->tet[k] = new_of[c->tet[k]];
    for (int t = 0; t < c->n_tets; t++)
      region[t] = ids[c->region[t] - 1];
    *out = mesh;
  } else {
    pla_mesh_free(mesh);
  }
  free(new_of);
  return st;
}

PlaStatus
pla_tets_from_levelsets(const PlaLevelSet *const *group, const int *ids, int n_groups,
                        const PlaLevelSet *rest, const PlaTetOptions *opts, PlaProgress *progress,
                        PlaMesh **out, PlaTetReport *report, PlaError *err)
{
  const PlaTissues tissues = { n_groups, group, rest };
  PlaLattice lattice;
  Cutter c = { .tissues = &tissues, .lattice = &lattice };
  PlaMesh *mesh = NULL;
  *out = NULL;
  if (!(opts->cell_mm > 0.0))
    return pla_fail(err, PLA_ERR_USAGE, "The cell size must be positive, not %g mm", opts->cell_mm);
  pla_progress_phase(progress, "Filling space", 0.4);
  PlaStatus st = pla_lattice_init(&lattice, &tissues, opts->cell_mm, opts->levels, progress, err);
  pla_progress_phase(progress, "Cutting", 0.8);
  if (st == PLA_OK) {
    c.moved = pla_array_new0((size_t)lattice.n_verts, 1);
    if (!c.moved || !table_init(&c.edges, 4096) || !table_init(&c.faces, 64))
      st = pla_fail_memory(err, "the cut lattice");
  }
  if (st == PLA_OK)
    st = find_cuts(&c, err);
  if (st == PLA_OK)
    st = place_points(&c, err);
  if (st == PLA_OK)
    st = move_vertices(&c, err);
  if (st == PLA_OK)
    st = cut_lattice(&c, progress, err);
  for (int round = 0; st == PLA_OK && n_groups == 1 && round < 2; round++)
    st = fit_facets(&c, err);
  if (st == PLA_OK && c.n_tets == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "A cell of %g mm finds nothing inside; use a smaller one",
                  opts->cell_mm);
  if (st == PLA_OK)
    st = harvest(&c, ids, &mesh, err);
  pla_progress_phase(progress, "Checking", 1.0);
  if (st == PLA_OK && report) {
    PlaMeshSummary summary;
    st = pla_mesh_summary(mesh, &summary, err);
    if (st == PLA_OK) {
      *report = (PlaTetReport){ .min_dihedral_deg = summary.min_dihedral_deg,
                                .max_dihedral_deg = summary.max_dihedral_deg,
                                .inverted = summary.inverted };
      st = measure_boundary(&c, report, err);
    }
  }
  pla_lattice_clear(&lattice);
  free(c.cut);
  free(c.moved);
  free(c.edges.slot);
  free(c.faces.slot);
  free(c.pos_mm);
  free(c.tet);
  free(c.region);
  if (st == PLA_OK)
    *out = mesh;
  else
    pla_mesh_free(mesh);
  return st;
}

PlaStatus
pla_tets_from_labels(const PlaLabelMap *map, const int *ids, const int *first, int n_groups,
                     const PlaTetOptions *opts, PlaProgress *progress, PlaMesh **out,
                     PlaTetReport *report, PlaError *err)
{
  PlaLabelLevelSetOptions lo = pla_label_levelset_options_default();
  PlaPartition *parts = NULL;
  int *region = pla_array_new((size_t)n_groups, sizeof *region);
  *out = NULL;
  if (!region)
    return pla_fail_memory(err, "the mesh");
  for (int g = 0; g < n_groups; g++)
    region[g] = ids[first[g]];
  lo.smooth_mm = opts->smooth_mm < 0.0 ? 0.35 * opts->cell_mm : opts->smooth_mm;
  pla_progress_phase(progress, "Making level sets", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = pla_partition_new(map, ids, first, n_groups, &lo, progress, &parts, err);
  pla_progress_pop(progress, span);
  /* several tissues would no longer agree on their interfaces */
  pla_progress_phase(progress, "Rounding", 0.6);
  if (st == PLA_OK && n_groups == 1 && opts->round_mm > 0.0)
    st = pla_levelset_limit_curvature(parts->group[0], opts->round_mm, progress, err);
  pla_progress_phase(progress, "Meshing", 1.0);
  if (st == PLA_OK) {
    span = pla_progress_push(progress);
    st = pla_tets_from_levelsets((const PlaLevelSet *const *)parts->group, region, n_groups,
                                 parts->rest, opts, progress, out, report, err);
    pla_progress_pop(progress, span);
  }
  pla_partition_free(parts);
  free(region);
  return st;
}
