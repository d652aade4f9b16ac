/* Outer faces by sorting: a face that two cells share stands twice under the same vertices. */
#include "anatomy/mesh/boundary.h"

#include "anatomy/base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int key[4];  /* vertex ids, ascending; key[3] = -1 for triangles */
  int vert[4]; /* counter-clockwise seen from outside the cell */
  int cell;
} Face;

static int
compare_faces(const void *a, const void *b)
{
  const Face *x = a, *y = b;
  for (int i = 0; i < 4; i++)
    if (x->key[i] != y->key[i])
      return x->key[i] < y->key[i] ? -1 : 1;
  return x->cell < y->cell ? -1 : x->cell > y->cell;
}

/* back to the order of the cells */
static int
compare_cells(const void *a, const void *b)
{
  const Face *x = a, *y = b;
  return x->cell != y->cell ? (x->cell < y->cell ? -1 : 1) : compare_faces(a, b);
}

static Face
make_face(const int *cell_verts, const int *corner, int n, int cell)
{
  Face face = { .cell = cell, .key = { -1, -1, -1, -1 }, .vert = { -1, -1, -1, -1 } };
  for (int i = 0; i < n; i++) {
    int v = cell_verts[corner[i]], at = i;
    face.vert[i] = v;
    for (; at > 0 && face.key[at - 1] > v; at--)
      face.key[at] = face.key[at - 1];
    face.key[at] = v;
  }
  return face;
}

static void
put_tri(PlaBoundary *self, const Face *face, int a, int b, int c, double share)
{
  int *tri = self->tri + 3 * (size_t)self->n_tris;
  tri[0] = face->vert[a];
  tri[1] = face->vert[b];
  tri[2] = face->vert[c];
  self->cell[self->n_tris] = face->cell;
  self->share[self->n_tris++] = share;
}

PlaStatus
pla_boundary_init(PlaBoundary *self, const PlaTetMesh *tets, const PlaHexMesh *hexes,
                  bool both_diagonals, PlaError *err)
{
  static const int tet_face[4][3] = { { 0, 2, 1 }, { 0, 1, 3 }, { 1, 2, 3 }, { 0, 3, 2 } };
  static const int hex_face[6][4] = { { 0, 3, 2, 1 }, { 4, 5, 6, 7 }, { 0, 1, 5, 4 },
                                      { 1, 2, 6, 5 }, { 2, 3, 7, 6 }, { 3, 0, 4, 7 } };
  const size_t n_faces = 4 * (size_t)tets->n_tets + 6 * (size_t)hexes->n_hexes;
  *self = (PlaBoundary){ 0 };
  Face *faces = pla_array_new(n_faces, sizeof *faces);
  if (!faces)
    return pla_fail_memory(err, "the surface of the mesh");
  size_t n = 0;
  for (int t = 0; t < tets->n_tets; t++)
    for (int f = 0; f < 4; f++)
      faces[n++] = make_face(tets->tet + 4 * (size_t)t, tet_face[f], 3, t);
  for (int h = 0; h < hexes->n_hexes; h++)
    for (int f = 0; f < 6; f++)
      faces[n++] = make_face(hexes->hex + 8 * (size_t)h, hex_face[f], 4, tets->n_tets + h);
  qsort(faces, n, sizeof *faces, compare_faces);

  /* faces that stand alone, moved to the front */
  size_t n_outer = 0;
  for (size_t i = 0, j; i < n; i = j) {
    for (j = i + 1; j < n && memcmp(faces[j].key, faces[i].key, sizeof faces[i].key) == 0; j++)
      ;
    if (j == i + 1)
      faces[n_outer++] = faces[i];
  }
  qsort(faces, n_outer, sizeof *faces, compare_cells);

  self->tri = pla_array_new(n_outer, 4 * 3 * sizeof *self->tri);
  self->cell = pla_array_new(n_outer, 4 * sizeof *self->cell);
  self->share = pla_array_new(n_outer, 4 * sizeof *self->share);
  PlaStatus st = self->tri && self->cell && self->share && n_outer < INT32_MAX / 12
                     ? PLA_OK
                     : pla_fail_memory(err, "the surface of the mesh");
  for (size_t i = 0; st == PLA_OK && i < n_outer; i++) {
    const Face *face = &faces[i];
    if (face->vert[3] < 0) {
      put_tri(self, face, 0, 1, 2, 1.0);
      continue;
    }
    int a = 0;
    for (int k = 1; k < 4; k++)
      a = face->vert[k] < face->vert[a] ? k : a;
    for (int k = 0; k < (both_diagonals ? 2 : 1); k++) {
      int p = (a + k) % 4, q = (p + 1) % 4, r = (p + 2) % 4, s = (p + 3) % 4;
      put_tri(self, face, p, q, r, both_diagonals ? 0.5 : 1.0);
      put_tri(self, face, p, r, s, both_diagonals ? 0.5 : 1.0);
    }
  }
  free(faces);
  if (st != PLA_OK)
    pla_boundary_clear(self);
  return st;
}

void
pla_boundary_clear(PlaBoundary *self)
{
  free(self->tri);
  free(self->cell);
  free(self->share);
  *self = (PlaBoundary){ 0 };
}
