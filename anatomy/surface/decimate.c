/* Decimation by quadric error (Garland and Heckbert 1997) that keeps a surface a surface.
 *
 * An edge may go when its two vertices share exactly the corners of its two triangles (so that
 * closed 2-manifolds stay such), when no triangle around it turns over or becomes a sliver.  Where
 * the result still cuts itself, the vertices concerned are held and the work is done again. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/tri-tree.h"
#include "anatomy/surface/surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double cost;
  int u, v;            /* u < v */
  unsigned at_u, at_v; /* their stamps when it was made */
} Candidate;

typedef struct {
  int n, room;
  int *tri;
} Star; /* triangles around a vertex */

typedef struct {
  int n_verts, n_tris, alive;
  double *pos; /* n_verts x 3 */
  int *tri;    /* n_tris x 3; first -1: gone */
  double (*quadric)[10];
  Star *star;
  unsigned *stamp; /* how often a vertex has moved */
  uint8_t *held;   /* must stay */
  int *merged;     /* vertex that a vertex went into, or itself */
  Candidate *heap;
  size_t n_heap, heap_room;
  bool short_of_memory;
} Work;

/* ---- quadrics: a plane's squared distance as a symmetric 4x4 form ---- */

static void
quadric_add_plane(double q[10], const double n[3], double d, double weight)
{
  const double p[4] = { n[0], n[1], n[2], d };
  int k = 0;
  for (int i = 0; i < 4; i++)
    for (int j = i; j < 4; j++)
      q[k++] += weight * p[i] * p[j];
}

static double
quadric_at(const double q[10], const double x[3])
{
  return q[0] * x[0] * x[0] + q[4] * x[1] * x[1] + q[7] * x[2] * x[2] + q[9] +
         2.0 * (q[1] * x[0] * x[1] + q[2] * x[0] * x[2] + q[5] * x[1] * x[2] + q[3] * x[0] +
                q[6] * x[1] + q[8] * x[2]);
}

/* the point of least error near @mid; a little pull to @mid settles flat places */
static void
quadric_least(const double q[10], const double mid[3], double x[3])
{
  double a[9] = { q[0], q[1], q[2], q[1], q[4], q[5], q[2], q[5], q[7] }, inv[9];
  double pull = 1e-3 * (a[0] + a[4] + a[8]);
  double b[3] = { -q[3] + pull * mid[0], -q[6] + pull * mid[1], -q[8] + pull * mid[2] };
  for (int d = 0; d < 3; d++)
    a[4 * d] += pull;
  if (pla_mat3_invert(a, inv) != 0.0)
    pla_mat3_apply(inv, b, x);
  else
    memcpy(x, mid, 3 * sizeof *x);
}

/* ---- the heap: least cost first, equal ones by vertex numbers ---- */

static bool
before(const Candidate *a, const Candidate *b)
{
  if (a->cost != b->cost)
    return a->cost < b->cost;
  return a->u != b->u ? a->u < b->u : a->v < b->v;
}

static void
heap_push(Work *w, Candidate c)
{
  if (w->n_heap == w->heap_room) {
    size_t room = w->heap_room ? w->heap_room + w->heap_room / 2 : 1024;
    void *heap = w->heap;
    if (!pla_array_resize(&heap, room, sizeof c)) {
      w->short_of_memory = true;
      return;
    }
    w->heap = heap;
    w->heap_room = room;
  }
  size_t i = w->n_heap++;
  while (i > 0 && before(&c, &w->heap[(i - 1) / 2])) {
    w->heap[i] = w->heap[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  w->heap[i] = c;
}

static Candidate
heap_pop(Work *w)
{
  Candidate top = w->heap[0], last = w->heap[--w->n_heap];
  size_t i = 0;
  for (;;) {
    size_t child = 2 * i + 1;
    if (child >= w->n_heap)
      break;
    if (child + 1 < w->n_heap && before(&w->heap[child + 1], &w->heap[child]))
      child++;
    if (!before(&w->heap[child], &last))
      break;
    w->heap[i] = w->heap[child];
    i = child;
  }
  w->heap[i] = last;
  return top;
}

/* ---- the surface ---- */

static void
star_add(Work *w, int v, int tri)
{
  Star *s = &w->star[v];
  if (s->n == s->room) {
    int room = s->room ? 2 * s->room : 8;
    void *list = s->tri;
    if (!pla_array_resize(&list, (size_t)room, sizeof *s->tri)) {
      w->short_of_memory = true;
      return;
    }
    s->tri = list;
    s->room = room;
  }
  s->tri[s->n++] = tri;
}

static void
triangle_normal(const Work *w, const int v[3], int moved, const double to[3], double n[3])
{
  const double *p[3];
  double a[3], b[3];
  for (int c = 0; c < 3; c++)
    p[c] = v[c] == moved ? to : w->pos + 3 * (size_t)v[c];
  pla_vec3_sub(p[1], p[0], a);
  pla_vec3_sub(p[2], p[0], b);
  pla_vec3_cross(a, b, n);
}

/* where the edge would shrink to, and what that costs */
static double
edge_target(const Work *w, int u, int v, double x[3])
{
  double q[10], mid[3];
  for (int k = 0; k < 10; k++)
    q[k] = w->quadric[u][k] + w->quadric[v][k];
  for (int d = 0; d < 3; d++)
    mid[d] = 0.5 * (w->pos[3 * (size_t)u + d] + w->pos[3 * (size_t)v + d]);
  quadric_least(q, mid, x);
  return fmax(quadric_at(q, x), 0.0);
}

static void
push_edge(Work *w, int a, int b)
{
  int u = a < b ? a : b, v = a < b ? b : a;
  double x[3];
  if (w->held[u] || w->held[v])
    return;
  heap_push(w, (Candidate){ edge_target(w, u, v, x), u, v, w->stamp[u], w->stamp[v] });
}

static bool
has_vertex(const int t[3], int v)
{
  return t[0] == v || t[1] == v || t[2] == v;
}

/* neighbours of both ends are the two corners opposite the edge, and nothing else */
static bool
link_is_clean(const Work *w, int u, int v)
{
  int common = 0, wings = 0;
  const Star *su = &w->star[u], *sv = &w->star[v];
  for (int i = 0; i < su->n; i++)
    wings += has_vertex(w->tri + 3 * (size_t)su->tri[i], v);
  if (wings != 2)
    return false;
  /* each neighbour of u is the next corner of exactly one triangle around it */
  for (int i = 0; i < su->n; i++) {
    const int *t = w->tri + 3 * (size_t)su->tri[i];
    int next = t[0] == u ? t[1] : t[1] == u ? t[2] : t[0];
    if (next == v)
      continue;
    for (int j = 0; j < sv->n; j++)
      if (has_vertex(w->tri + 3 * (size_t)sv->tri[j], next)) {
        common++;
        break;
      }
  }
  return common == 2;
}

/* no triangle that stays turns by more than about 80 degrees or gets much thinner than it was */
static bool
shape_is_kept(const Work *w, int u, int other, const double x[3])
{
  const Star *s = &w->star[u];
  for (int i = 0; i < s->n; i++) {
    const int *t = w->tri + 3 * (size_t)s->tri[i];
    if (has_vertex(t, other))
      continue;
    double before[3], after[3];
    triangle_normal(w, t, -1, x, before);
    triangle_normal(w, t, u, x, after);
    double nb = pla_vec3_norm(before), na = pla_vec3_norm(after);
    if (pla_vec3_dot(before, after) < 0.2 * nb * na || na == 0.0)
      return false;
    double longest = 0.0;
    for (int c = 0; c < 3; c++) {
      const double *p = t[c] == u ? x : w->pos + 3 * (size_t)t[c];
      const double *q = t[(c + 1) % 3] == u ? x : w->pos + 3 * (size_t)t[(c + 1) % 3];
      double e[3];
      pla_vec3_sub(p, q, e);
      longest = fmax(longest, pla_vec3_dot(e, e));
    }
    /* twice the area over the longest side squared is the height-to-length ratio */
    if (na < 0.03 * longest)
      return false;
  }
  return true;
}

/* v goes into u, which moves to x */
static void
collapse(Work *w, int u, int v, const double x[3])
{
  Star *su = &w->star[u], *sv = &w->star[v];
  for (int i = 0; i < sv->n; i++) {
    int t = sv->tri[i], *corner = w->tri + 3 * (size_t)t;
    if (has_vertex(corner, u)) {
      /* a wing: leaves the stars of all three */
      for (int c = 0; c < 3; c++) {
        if (corner[c] == v)
          continue;
        Star *s = &w->star[corner[c]];
        for (int j = 0; j < s->n; j++)
          if (s->tri[j] == t) {
            memmove(s->tri + j, s->tri + j + 1, (size_t)(s->n - j - 1) * sizeof *s->tri);
            s->n--;
            break;
          }
      }
      corner[0] = corner[1] = corner[2] = -1;
      w->alive--;
      continue;
    }
    for (int c = 0; c < 3; c++)
      if (corner[c] == v)
        corner[c] = u;
    star_add(w, u, t);
  }
  free(sv->tri);
  *sv = (Star){ 0 };
  su = &w->star[u];
  for (int k = 0; k < 10; k++)
    w->quadric[u][k] += w->quadric[v][k];
  memcpy(w->pos + 3 * (size_t)u, x, 3 * sizeof *x);
  w->merged[v] = u;
  w->stamp[u]++;
  for (int i = 0; i < su->n; i++) {
    const int *t = w->tri + 3 * (size_t)su->tri[i];
    push_edge(w, u, t[0] == u ? t[1] : t[1] == u ? t[2] : t[0]);
  }
}

static PlaStatus
work_init(Work *w, const PlaMesh *mesh, const uint8_t *held, PlaError *err)
{
  const size_t nv = (size_t)mesh->n_verts, nt = (size_t)mesh->n_tris;
  *w = (Work){ .n_verts = mesh->n_verts, .n_tris = mesh->n_tris, .alive = mesh->n_tris };
  w->pos = pla_array_dup(mesh->pos, nv, 3 * sizeof *w->pos);
  w->tri = pla_array_dup(mesh->tri, nt, 3 * sizeof *w->tri);
  w->held = pla_array_dup(held, nv, 1);
  w->quadric = pla_array_new0(nv, sizeof *w->quadric);
  w->star = pla_array_new0(nv, sizeof *w->star);
  w->stamp = pla_array_new0(nv, sizeof *w->stamp);
  w->merged = pla_array_new(nv, sizeof *w->merged);
  if (!w->pos || !w->tri || !w->held || !w->quadric || !w->star || !w->stamp || !w->merged)
    return pla_fail_memory(err, "decimation");
  for (int v = 0; v < w->n_verts; v++)
    w->merged[v] = v;
  for (int t = 0; t < w->n_tris; t++) {
    const int *v = w->tri + 3 * (size_t)t;
    double n[3];
    triangle_normal(w, v, -1, w->pos, n);
    double area = pla_vec3_norm(n);
    for (int d = 0; d < 3 && area > 0.0; d++)
      n[d] /= area;
    double offset = -pla_vec3_dot(n, w->pos + 3 * (size_t)v[0]);
    for (int c = 0; c < 3; c++) {
      quadric_add_plane(w->quadric[v[c]], n, offset, area);
      star_add(w, v[c], t);
    }
  }
  for (int t = 0; t < w->n_tris; t++)
    for (int c = 0; c < 3; c++) {
      int a = w->tri[3 * (size_t)t + c], b = w->tri[3 * (size_t)t + (c + 1) % 3];
      if (a < b)
        push_edge(w, a, b);
    }
  return w->short_of_memory ? pla_fail_memory(err, "decimation") : PLA_OK;
}

static void
work_clear(Work *w)
{
  for (int v = 0; w->star && v < w->n_verts; v++)
    free(w->star[v].tri);
  free(w->pos);
  free(w->tri);
  free(w->held);
  free(w->quadric);
  free(w->star);
  free(w->stamp);
  free(w->merged);
  free(w->heap);
}

static PlaStatus
run(Work *w, int target, PlaProgress *progress, PlaError *err)
{
  const int start = w->alive;
  for (long step = 0; w->alive > target && w->n_heap > 0; step++) {
    Candidate c = heap_pop(w);
    double x[3];
    if (w->star[c.u].n == 0 || w->star[c.v].n == 0 || c.at_u != w->stamp[c.u] ||
        c.at_v != w->stamp[c.v] || !link_is_clean(w, c.u, c.v))
      continue;
    edge_target(w, c.u, c.v, x);
    if (!shape_is_kept(w, c.u, c.v, x) || !shape_is_kept(w, c.v, c.u, x))
      continue;
    collapse(w, c.u, c.v, x);
    if (w->short_of_memory)
      return pla_fail_memory(err, "decimation");
    if (step % 4096 == 0 &&
        !pla_progress_step(progress, 0.7 * (start - w->alive) / fmax(start - target, 1)))
      return pla_fail_cancelled(err);
  }
  return PLA_OK;
}

/* the triangles that are left, with the cell fields of those */
static PlaStatus
harvest(const Work *w, const PlaMesh *from, PlaMesh **out, int *new_of, PlaError *err)
{
  int n_verts = 0, n_tris = 0;
  for (int v = 0; v < w->n_verts; v++)
    new_of[v] = w->star[v].n > 0 ? n_verts++ : -1;
  PlaStatus st = pla_mesh_new(n_verts, w->alive, 0, 0, out, err);
  if (st != PLA_OK)
    return st;
  for (int v = 0; v < w->n_verts; v++)
    if (new_of[v] >= 0)
      memcpy((*out)->pos + 3 * (size_t)new_of[v], w->pos + 3 * (size_t)v, 3 * sizeof *w->pos);
  for (int t = 0; t < w->n_tris; t++)
    if (w->tri[3 * (size_t)t] >= 0) {
      for (int c = 0; c < 3; c++)
        (*out)->tri[3 * (size_t)n_tris + c] = new_of[w->tri[3 * (size_t)t + c]];
      n_tris++;
    }
  for (int f = 0; f < from->n_fields; f++) {
    const PlaField *field = &from->field[f];
    if (field->place != PLA_ON_CELLS)
      continue;
    const size_t size = pla_dtype_size(field->dtype) * (size_t)field->n_components;
    char *to =
        pla_mesh_add_field(*out, field->name, PLA_ON_CELLS, field->dtype, field->n_components);
    if (!to) {
      pla_mesh_free(*out);
      *out = NULL;
      return pla_fail_memory(err, "decimation");
    }
    n_tris = 0;
    for (int t = 0; t < w->n_tris; t++)
      if (w->tri[3 * (size_t)t] >= 0)
        memcpy(to + size * (size_t)n_tris++, (const char *)field->data + size * (size_t)t, size);
  }
  return PLA_OK;
}

/* edges of one triangle stay where they are */
static PlaStatus
hold_open_edges(const PlaMesh *mesh, uint8_t *held, PlaError *err)
{
  PlaMeshSummary summary;
  PlaStatus st = pla_mesh_summary(mesh, &summary, err);
  if (st != PLA_OK || summary.closed)
    return st;
  Star *star = pla_array_new0((size_t)mesh->n_verts, sizeof *star);
  Work w = { .n_verts = mesh->n_verts, .star = star };
  if (!star)
    return pla_fail_memory(err, "decimation");
  for (int t = 0; t < mesh->n_tris; t++)
    for (int c = 0; c < 3; c++)
      star_add(&w, mesh->tri[3 * (size_t)t + c], t);
  for (int t = 0; t < mesh->n_tris; t++)
    for (int c = 0; c < 3; c++) {
      int a = mesh->tri[3 * (size_t)t + c], b = mesh->tri[3 * (size_t)t + (c + 1) % 3], n = 0;
      for (int i = 0; i < star[a].n; i++)
        n += has_vertex(mesh->tri + 3 * (size_t)star[a].tri[i], b);
      if (n != 2)
        held[a] = held[b] = 1;
    }
  for (int v = 0; v < mesh->n_verts; v++)
    free(star[v].tri);
  free(star);
  return w.short_of_memory ? pla_fail_memory(err, "decimation") : PLA_OK;
}

static int
final_vertex(const Work *w, int v)
{
  while (w->merged[v] != v)
    v = w->merged[v];
  return v;
}

PlaStatus
pla_surface_decimate(const PlaMesh *mesh, int n_tris, PlaProgress *progress, PlaMesh **out,
                     double *hausdorff_mm, PlaError *err)
{
  enum { MOST_ROUNDS = 6 };
  uint8_t *held = pla_array_new0((size_t)mesh->n_verts, 1);
  int *new_of = pla_array_new((size_t)mesh->n_verts, sizeof *new_of);
  PlaMesh *small = NULL;
  PlaStatus st = held && new_of ? PLA_OK : pla_fail_memory(err, "decimation");
  *out = NULL;
  if (st == PLA_OK)
    st = hold_open_edges(mesh, held, err);
  for (int round = 0; st == PLA_OK && round < MOST_ROUNDS; round++) {
    Work w;
    PlaTriTree *tree = NULL;
    int64_t n_pairs = 0;
    int *pairs = NULL;
    pla_mesh_free(small);
    small = NULL;
    st = work_init(&w, mesh, held, err);
    if (st == PLA_OK)
      st = run(&w, n_tris, progress, err);
    if (st == PLA_OK)
      st = harvest(&w, mesh, &small, new_of, err);
    if (st == PLA_OK) {
      PlaTriMesh tris = pla_mesh_tris(small);
      st = pla_tri_tree_new(&tris, &tree, err);
    }
    if (st == PLA_OK)
      st = pla_self_intersections(tree, NULL, &n_pairs, &pairs, err);
    pla_tri_tree_free(tree);
    /* whatever went into a vertex of a crossing triangle stays next time */
    if (st == PLA_OK && n_pairs > 0) {
      uint8_t *bad = pla_array_new0((size_t)small->n_verts, 1);
      if (!bad)
        st = pla_fail_memory(err, "decimation");
      for (int64_t p = 0; bad && p < 2 * n_pairs; p++)
        for (int c = 0; c < 3; c++)
          bad[small->tri[3 * (size_t)pairs[p] + c]] = 1;
      for (int v = 0; bad && v < mesh->n_verts; v++) {
        int now = new_of[final_vertex(&w, v)];
        held[v] |= now >= 0 && bad[now];
      }
      free(bad);
    }
    free(pairs);
    work_clear(&w);
    if (n_pairs == 0)
      break;
  }
  if (st == PLA_OK && hausdorff_mm) {
    const PlaTriMesh a = pla_mesh_tris(mesh), b = pla_mesh_tris(small);
    st = pla_surface_hausdorff(&a, &b, hausdorff_mm, err);
  }
  free(held);
  free(new_of);
  if (st == PLA_OK)
    *out = small;
  else
    pla_mesh_free(small);
  return st;
}
