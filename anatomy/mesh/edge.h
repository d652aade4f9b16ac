/* Edges of elements, to be sorted so that equal ones stand together. */
#pragma once

typedef struct {
  int a, b; /* vertices, a < b */
  int at;   /* which edge of which element, as the caller counts */
} PlaEdge;

static inline PlaEdge
pla_edge(int a, int b, int at)
{
  return (PlaEdge){ a < b ? a : b, a < b ? b : a, at };
}

/* For qsort(): by vertices, then by where they are. */
static inline int
pla_edge_compare(const void *p, const void *q)
{
  const PlaEdge *x = p, *y = q;
  if (x->a != y->a)
    return x->a < y->a ? -1 : 1;
  if (x->b != y->b)
    return x->b < y->b ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}
