/* Inside of the tree of triangles. */
#pragma once

#include "anatomy/mesh/tri-tree.h"

typedef struct {
  double lo[3], hi[3];
  int first, n; /* in order[] */
  int right;    /* second child; the first is the next node; -1: a leaf */
} PlaTriNode;

struct PlaTriTree {
  PlaTriMesh mesh;
  int n_nodes;
  PlaTriNode *node;
  int *order; /* triangle numbers, node by node */
};
