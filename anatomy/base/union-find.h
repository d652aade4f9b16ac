/* Disjoint sets over an array of parents: a root is its own parent. */
#pragma once

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
