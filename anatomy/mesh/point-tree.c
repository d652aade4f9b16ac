/* A balanced k-d tree without pointers: the middle of each range divides it. */
#include "anatomy/mesh/point-tree.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double pos[3];
  int id;
} Point;

struct PlaPointTree {
  int n;
  Point *point;
  uint8_t *axis; /* that divides at point i */
};

void
pla_point_tree_free(PlaPointTree *self)
{
  if (!self)
    return;
  free(self->point);
  free(self->axis);
  free(self);
}

static bool
before(const Point *a, const Point *b, int axis)
{
  return a->pos[axis] != b->pos[axis] ? a->pos[axis] < b->pos[axis] : a->id < b->id;
}

/* the @k-th along @axis of from..to comes to its place, smaller ones before it */
static void
select_middle(Point *p, int from, int to, int k, int axis)
{
  while (to - from > 1) {
    const Point pivot = p[from + (to - from) / 2];
    int i = from, j = to - 1;
    while (i <= j) {
      while (before(&p[i], &pivot, axis))
        i++;
      while (before(&pivot, &p[j], axis))
        j--;
      if (i <= j) {
        const Point swap = p[i];
        p[i++] = p[j];
        p[j--] = swap;
      }
    }
    if (k <= j)
      to = j + 1;
    else if (k >= i)
      from = i;
    else
      return;
  }
}

static void
divide(PlaPointTree *t, int from, int to)
{
  if (to - from < 1)
    return;
  double lo[3], hi[3];
  memcpy(lo, t->point[from].pos, sizeof lo);
  memcpy(hi, lo, sizeof hi);
  for (int i = from; i < to; i++)
    for (int d = 0; d < 3; d++) {
      lo[d] = fmin(lo[d], t->point[i].pos[d]);
      hi[d] = fmax(hi[d], t->point[i].pos[d]);
    }
  int axis = 0;
  for (int d = 1; d < 3; d++)
    if (hi[d] - lo[d] > hi[axis] - lo[axis])
      axis = d;
  const int middle = from + (to - from) / 2;
  select_middle(t->point, from, to, middle, axis);
  t->axis[middle] = (uint8_t)axis;
  divide(t, from, middle);
  divide(t, middle + 1, to);
}

PlaStatus
pla_point_tree_new(int n, const double *pos, PlaPointTree **out, PlaError *err)
{
  PlaPointTree *self = pla_array_new0(1, sizeof *self);
  if (self) {
    self->n = n;
    self->point = pla_array_new((size_t)n, sizeof *self->point);
    self->axis = pla_array_new0((size_t)n, 1);
  }
  if (!self || !self->point || !self->axis) {
    pla_point_tree_free(self);
    return pla_fail_memory(err, "a search tree");
  }
  for (int i = 0; i < n; i++) {
    memcpy(self->point[i].pos, pos + 3 * (size_t)i, sizeof self->point[i].pos);
    self->point[i].id = i;
  }
  divide(self, 0, n);
  *out = self;
  return PLA_OK;
}

typedef struct {
  const PlaPointTree *tree;
  const double *pos;
  int k, n;
  int *index;
  double *d2;
} Search;

static void
offer(Search *s, int id, double d2)
{
  if (s->n == s->k && (d2 > s->d2[s->n - 1] || (d2 == s->d2[s->n - 1] && id > s->index[s->n - 1])))
    return;
  int at = s->n < s->k ? s->n++ : s->n - 1;
  while (at > 0 && (d2 < s->d2[at - 1] || (d2 == s->d2[at - 1] && id < s->index[at - 1]))) {
    s->d2[at] = s->d2[at - 1];
    s->index[at] = s->index[at - 1];
    at--;
  }
  s->d2[at] = d2;
  s->index[at] = id;
}

static void
descend(Search *s, int from, int to)
{
  if (to - from < 1)
    return;
  const int middle = from + (to - from) / 2, axis = s->tree->axis[middle];
  const Point *p = &s->tree->point[middle];
  double d2 = 0.0;
  for (int d = 0; d < 3; d++)
    d2 += (p->pos[d] - s->pos[d]) * (p->pos[d] - s->pos[d]);
  const double off = s->pos[axis] - p->pos[axis];
  if (off <= 0.0)
    descend(s, from, middle);
  else
    descend(s, middle + 1, to);
  offer(s, p->id, d2);
  if (s->n < s->k || off * off <= s->d2[s->n - 1]) {
    if (off <= 0.0)
      descend(s, middle + 1, to);
    else
      descend(s, from, middle);
  }
}

int
pla_point_tree_nearest(const PlaPointTree *self, const double pos[3], int k, int *index,
                       double *distance2)
{
  Search s = { .tree = self, .pos = pos, .k = k, .index = index, .d2 = distance2 };
  descend(&s, 0, self->n);
  return s.n;
}
