/* Disjoint sets over an array of parents: a root is its own parent. */
#pragma once

#include <stdint.h>

/* the root of @v's set; the path to it is halved on the way */
static inline int
pla_union_find_root(int *parent, int v)
{
  while (parent[v] != v) {
    parent[v] = parent[parent[v]];
    v = parent[v];
  }
  return v;
}

/* one set from two; the lower root is the root */
static inline void
pla_union_find_join(int *parent, int a, int b)
{
  a = pla_union_find_root(parent, a);
  b = pla_union_find_root(parent, b);
  parent[a > b ? a : b] = a < b ? a : b;
}

/* the same with numbers beyond the range of int */
static inline uint32_t
pla_union_find_root_u32(uint32_t *parent, uint32_t v)
{
  while (parent[v] != v) {
    parent[v] = parent[parent[v]];
    v = parent[v];
  }
  return v;
}

static inline void
pla_union_find_join_u32(uint32_t *parent, uint32_t a, uint32_t b)
{
  a = pla_union_find_root_u32(parent, a);
  b = pla_union_find_root_u32(parent, b);
  parent[a > b ? a : b] = a < b ? a : b;
}
