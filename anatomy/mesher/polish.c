/* Better shapes by moving vertices.
 *
 * Around each badly shaped tet, vertex after vertex looks for a place nearby where the worst of its
 * tets is better than before.  Vertices on an interface stay on it to a twentieth of a cell. */
#include "anatomy/base/memory.h"
#include "anatomy/mesher/cutter-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* degrees that are good enough: the smallest angle, and the largest in terms of the smallest */
static const double enough_deg = 14.0, obtuse_share = 0.8;

typedef struct {
  PlaCutter *c;
  int *first, *of; /* tets around each vertex of a bad tet */
  double *home;    /* where vertices began (n_points x 3) */
} Polish;

double
pla_cutter_score(const PlaCutter *c, const int v[4])
{
  double most, least;
  if (!pla_cutter_angles(c, v, &most, &least))
    return -1.0;
  return fmin(acos(fmin(most, 1.0)), obtuse_share * (M_PI - acos(fmax(least, -1.0)))) *
         (180.0 / M_PI);
}

static double
worst_around(const Polish *p, int v)
{
  double worst = 180.0;
  for (int k = p->first[v]; k < p->first[v + 1]; k++)
    worst = fmin(worst, pla_cutter_score(p->c, p->c->tet + 4 * (size_t)p->of[k]));
  return worst;
}

static bool
improve_vertex(const Polish *p, int v)
{
  PlaCutter *c = p->c;
  double *x = c->pos_mm + 3 * (size_t)v, worst = worst_around(p, v), cell = c->lattice->cell_mm;
  const bool bound = pla_cutter_on_interface(c, v);
  const double most_mm = bound ? 0.2 * cell : 0.3 * cell;
  bool better = false;
  if (c->pinned && c->pinned[v])
    return false;
  for (double step = 0.12 * cell; step > 0.01 * cell; step *= 0.5)
    for (int dir = 0; dir < 27; dir++) {
      const double e[3] = { dir % 3 - 1, dir / 3 % 3 - 1, dir / 9 - 1 };
      double old[3], far2 = 0.0;
      if (dir == 13)
        continue;
      memcpy(old, x, sizeof old);
      for (int d = 0; d < 3; d++) {
        x[d] += step * e[d];
        far2 += (x[d] - p->home[3 * (size_t)v + d]) * (x[d] - p->home[3 * (size_t)v + d]);
      }
      bool good = far2 <= most_mm * most_mm;
      if (good) {
        const double now = worst_around(p, v);
        good = now > worst + 0.01 && (!bound || pla_tissues_gap(c->tissues, x) <= 0.05 * cell);
        if (good) {
          worst = now;
          better = true;
        }
      }
      if (!good)
        memcpy(x, old, sizeof old);
    }
  return better;
}

PlaStatus
pla_cutter_polish(PlaCutter *c, PlaError *err)
{
  uint8_t *wanted = pla_array_new0((size_t)c->n_points, 1),
          *is_bad = pla_array_new0((size_t)c->n_tets, 1);
  Polish p = { .c = c };
  int n_bad = 0, total = 0;
  PlaStatus st = wanted && is_bad ? PLA_OK : pla_fail_memory(err, "the mesh");
  if (st == PLA_OK) {
#pragma omp parallel for schedule(static)
    for (int t = 0; t < c->n_tets; t++)
      is_bad[t] = pla_cutter_score(c, c->tet + 4 * (size_t)t) < enough_deg;
    for (int t = 0; t < c->n_tets; t++)
      for (int k = 0; is_bad[t] && k < 4; k++) {
        wanted[c->tet[4 * (size_t)t + k]] = 1;
        n_bad++;
      }
  }
  if (st == PLA_OK && n_bad > 0) {
    p.first = pla_array_new0((size_t)c->n_points + 2, sizeof *p.first);
    p.home = pla_array_dup(c->pos_mm, (size_t)c->n_points, 3 * sizeof *p.home);
    for (size_t k = 0; p.first && k < 4 * (size_t)c->n_tets; k++)
      if (wanted[c->tet[k]]) {
        p.first[c->tet[k] + 2]++;
        total++;
      }
    p.of = pla_array_new((size_t)total, sizeof *p.of);
    if (!p.first || !p.home || !p.of)
      st = pla_fail_memory(err, "the mesh");
  }
  if (st == PLA_OK && n_bad > 0) {
    for (int v = 0; v < c->n_points; v++)
      p.first[v + 2] += p.first[v + 1];
    for (int t = 0; t < c->n_tets; t++)
      for (int k = 0; k < 4; k++)
        if (wanted[c->tet[4 * (size_t)t + k]])
          p.of[p.first[c->tet[4 * (size_t)t + k] + 1]++] = t;
    bool any = true;
    for (int round = 0; any && round < 8; round++) {
      any = false;
      for (int t = 0; t < c->n_tets; t++)
        for (int k = 0; is_bad[t] && k < 4; k++)
          if (pla_cutter_score(c, c->tet + 4 * (size_t)t) < enough_deg)
            any = improve_vertex(&p, c->tet[4 * (size_t)t + k]) || any;
    }
  }
  free(wanted);
  free(is_bad);
  free(p.first);
  free(p.of);
  free(p.home);
  return st;
}
