/* A draft of a surface by half-edge collapses (Hoppe 1996), cheapest first by the quadric error of
 * Garland and Heckbert (1997).
 *
 * A collapse v -> u removes v and the two triangles at the edge vu; the other triangles of v get u
 * as their corner.  Where the triangles around v are one closed fan, and v and u have exactly two
 * neighbours in common (the link condition: Dey et al. 1999), each edge has as many triangles
 * afterwards as before: a closed surface stays closed, whatever is collapsed.  No vertex moves, so
 * a draft follows when the vertices of its surface do, with their normals and values.
 *
 * Instead of one queue there are passes.  A pass finds the best collapse of every vertex, and
 * carries the cheaper ones out, unless one before it has changed the triangles around v or u: what
 * was found is true when it is done.  Each pass goes once over what is left, which shrinks by a
 * fifth or so. */
#include "ui/views/draft.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace
{

using Vec = std::array<double, 3>;

Vec
minus(const double *a, const double *b)
{
  return { a[0] - b[0], a[1] - b[1], a[2] - b[2] };
}

Vec
cross(const Vec &a, const Vec &b)
{
  return { a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0] };
}

double
dot(const Vec &a, const Vec &b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* sum of squared distances from planes, weighted by area: symmetric 3 x 3, linear part, constant */
struct Quadric {
  double a[6] = {}, b[3] = {}, c = 0.0;
};

void
add_plane(Quadric *q, const Vec &n, double offset, double weight)
{
  int k = 0;
  for (int i = 0; i < 3; i++) {
    for (int j = i; j < 3; j++)
      q->a[k++] += weight * n[i] * n[j];
    q->b[i] += weight * offset * n[i];
  }
  q->c += weight * offset * offset;
}

void
add(Quadric *q, const Quadric &other)
{
  for (int k = 0; k < 6; k++)
    q->a[k] += other.a[k];
  for (int d = 0; d < 3; d++)
    q->b[d] += other.b[d];
  q->c += other.c;
}

double
value(const Quadric &q, const double *p)
{
  return p[0] * (q.a[0] * p[0] + 2.0 * (q.a[1] * p[1] + q.a[2] * p[2] + q.b[0])) +
         p[1] * (q.a[3] * p[1] + 2.0 * (q.a[4] * p[2] + q.b[1])) +
         p[2] * (q.a[5] * p[2] + 2.0 * q.b[2]) + q.c;
}

enum { MOST_AROUND = 24 }; /* triangles around a vertex that may go */

class Draft
{
public:
  Draft(int n_verts, const double *pos, size_t n_faces, const int *tri)
      : face(n_faces), n_verts(n_verts), pos(pos), start((size_t)n_verts + 1),
        quadric((size_t)n_verts), normal((size_t)n_verts)
  {
    for (size_t f = 0; f < n_faces; f++)
      face[f] = { { tri[3 * f], tri[3 * f + 1], tri[3 * f + 2] }, (int)f };
    for (const PlaDraftFace &f : face) {
      const double *p = at(f.vert[0]);
      const Vec n = cross(minus(at(f.vert[1]), p), minus(at(f.vert[2]), p));
      const double twice = std::sqrt(dot(n, n));
      if (!(twice > 0.0))
        continue;
      const Vec unit = { n[0] / twice, n[1] / twice, n[2] / twice };
      for (int v : f.vert) {
        add_plane(&quadric[v], unit, -dot(unit, { p[0], p[1], p[2] }), twice / 6.0);
        for (int d = 0; d < 3; d++)
          normal[v][d] += n[d];
      }
    }
  }

  /* one pass, which leaves at least @wanted; whether any triangle went */
  bool pass(size_t wanted);

  std::vector<PlaDraftFace> face;

private:
  const double *
  at(int v) const
  {
    return pos + 3 * (size_t)v;
  }
  void find_stars();
  bool find_fan(int v, int *ring) const;
  bool may_go(int v, int u, const int *ring, int n) const;
  void choose(int v);

  const int n_verts;
  const double *const pos;
  std::vector<uint32_t> start; /* of each vertex in star */
  std::vector<uint32_t> star;  /* faces around each vertex */
  std::vector<Quadric> quadric;
  std::vector<Vec> normal; /* of the surface, weighted by area */
  std::vector<int> into;   /* the neighbour that a vertex would go to, -1: none */
  std::vector<float> cost;
};

void
Draft::find_stars()
{
  std::fill(start.begin(), start.end(), 0);
  for (const PlaDraftFace &f : face)
    for (int v : f.vert)
      start[(size_t)v + 1]++;
  for (size_t v = 0; v < (size_t)n_verts; v++)
    start[v + 1] += start[v];
  star.resize(3 * face.size());
  std::vector<uint32_t> next(start.begin(), start.end() - 1);
  for (size_t f = 0; f < face.size(); f++)
    for (int v : face[f].vert)
      star[next[v]++] = (uint32_t)f;
}

/* The neighbours of @v in order around it, as many as it has triangles; false unless those are one
 * closed fan. */
bool
Draft::find_fan(int v, int *ring) const
{
  const int n = (int)(start[(size_t)v + 1] - start[v]);
  int from[MOST_AROUND], to[MOST_AROUND];
  if (n < 3 || n > MOST_AROUND)
    return false;
  for (int k = 0; k < n; k++) {
    const int *c = face[star[start[v] + (size_t)k]].vert;
    const int corner = c[0] == v ? 0 : c[1] == v ? 1 : 2;
    from[k] = c[(corner + 1) % 3];
    to[k] = c[(corner + 2) % 3];
  }
  ring[0] = from[0];
  int last = to[0];
  for (int k = 1; k < n; k++) {
    if (last == ring[0])
      return false; /* closed too early: there is another fan */
    ring[k] = last;
    int next = -1, found = 0;
    for (int i = 0; i < n; i++)
      if (from[i] == last) {
        next = to[i];
        found++;
      }
    if (found != 1)
      return false;
    last = next;
  }
  return last == ring[0];
}

/* @ring: the @n neighbours of @v in order, of which @u is one */
bool
Draft::may_go(int v, int u, const int *ring, int n) const
{
  /* the link condition: two neighbours in common */
  const uint32_t begin = start[u], end = start[(size_t)u + 1];
  if (end - begin > 2 * MOST_AROUND || (n == 3 && end - begin == 3))
    return false;
  int common = 0;
  for (int k = 0; k < n; k++)
    for (uint32_t i = begin; ring[k] != u && i < end; i++) {
      const int *c = face[star[i]].vert;
      if (c[0] == ring[k] || c[1] == ring[k] || c[2] == ring[k]) {
        common++;
        break;
      }
    }
  if (common != 2)
    return false;
  /* what stays keeps looking the same way, before and after and as the surface does there, and does
   * not become a needle */
  const double least_turn = 0.2, least_shape = 0.05; /* cosine; 1: of equal sides */
  for (int k = 0; k < n; k++) {
    const int a = ring[k], b = ring[(k + 1) % n];
    if (a == u || b == u)
      continue;
    const Vec ab = minus(at(b), at(a)), av = minus(at(v), at(a)), au = minus(at(u), at(a)),
              bu = minus(at(u), at(b));
    const Vec before = cross(ab, av), after = cross(ab, au);
    const double size = std::sqrt(dot(after, after));
    if (!(dot(before, after) > least_turn * size * std::sqrt(dot(before, before))))
      return false;
    if (!(2.0 * std::sqrt(3.0) * size > least_shape * (dot(ab, ab) + dot(au, au) + dot(bu, bu))))
      return false;
    if (!(dot(after, normal[u]) > 0.0))
      return false;
  }
  return true;
}

void
Draft::choose(int v)
{
  int ring[MOST_AROUND];
  into[v] = -1;
  if (!find_fan(v, ring))
    return;
  const int n = (int)(start[(size_t)v + 1] - start[v]);
  std::array<std::pair<double, int>, MOST_AROUND> way;
  for (int k = 0; k < n; k++) {
    Quadric sum = quadric[v];
    add(&sum, quadric[ring[k]]);
    way[k] = { std::max(value(sum, at(ring[k])), 0.0), ring[k] };
  }
  std::sort(way.begin(), way.begin() + n);
  /* what is not allowed to go to its nearest few stays for now */
  for (int k = 0; k < n; k++)
    if (may_go(v, way[k].second, ring, n)) {
      into[v] = way[k].second;
      cost[v] = (float)way[k].first;
      return;
    }
}

bool
Draft::pass(size_t wanted)
{
  find_stars();
  into.resize((size_t)n_verts);
  cost.resize((size_t)n_verts);
#pragma omp parallel for schedule(dynamic, 4096)
  for (int v = 0; v < n_verts; v++)
    choose(v);
  std::vector<int> order;
  for (int v = 0; v < n_verts; v++)
    if (into[v] >= 0)
      order.push_back(v);
  if (order.empty())
    return false;
  /* the cheaper half, cheapest first */
  auto cheaper = [&](int a, int b) { return cost[a] != cost[b] ? cost[a] < cost[b] : a < b; };
  const size_t half = (order.size() + 1) / 2;
  std::nth_element(order.begin(), order.begin() + (long)half - 1, order.end(), cheaper);
  order.resize(half);
  std::sort(order.begin(), order.end(), cheaper);

  std::vector<char> changed((size_t)n_verts, 0);
  size_t left = face.size();
  for (int v : order) {
    const int u = into[v];
    if (left < wanted + 2)
      break;
    if (changed[v] || changed[u])
      continue;
    for (uint32_t i = start[v]; i < start[(size_t)v + 1]; i++)
      for (int &w : face[star[i]].vert) {
        changed[w] = 1;
        if (w == v)
          w = u;
      }
    add(&quadric[u], quadric[v]);
    left -= 2;
  }
  face.erase(std::remove_if(face.begin(), face.end(),
                            [](const PlaDraftFace &f) {
                              return f.vert[0] == f.vert[1] || f.vert[1] == f.vert[2] ||
                                     f.vert[2] == f.vert[0];
                            }),
             face.end());
  return true;
}

} // namespace

size_t
pla_draft_make(int n_verts, const double *pos, size_t n_faces, const int *tri, size_t wanted,
               PlaDraftFace *out)
{
  Draft draft(n_verts, pos, n_faces, tri);
  while (draft.face.size() > wanted + 1) {
    const size_t before = draft.face.size();
    if (!draft.pass(wanted) || draft.face.size() > before - before / 200)
      break; /* hardly anything may go any more */
  }
  std::copy(draft.face.begin(), draft.face.end(), out);
  return draft.face.size();
}
