/* The material of two cut tets on the face between them: where it meets, which points are the same.
 */
#include "sim/cut/complex-private.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool
pla_cut_complex_has_face(const PlaCutComplex *self, int face)
{
  for (int p = 0; p < self->n_patches; p++)
    if (self->patch[p].face == face && self->patch[p].triangle < 0)
      return true;
  return false;
}

/* @plane of a tet whose corner corner_b[i] is our corner i; it means something where the others
 * have no weight */
static PlaCutPlane
carry_plane(const PlaCutPlane *plane, const int corner_b[4])
{
  PlaCutPlane out = { .d = { 0 } };
  for (int i = 0; i < 4; i++)
    if (corner_b[i] >= 0)
      out.d[i] = plane->d[corner_b[i]];
  pla_cut_plane_round(&out);
  return out;
}

/* takes back points and planes that were added for a question */
static void
forget(PlaCutComplex *self, int n_verts, int n_planes)
{
  self->n_verts = n_verts;
  self->n_planes = n_planes;
  for (int v = 0; v < n_verts; v++)
    if (self->vert[v].asked >= n_planes)
      self->vert[v].asked = -1;
}

/* 1 when patch @p of @a keeps an area inside patch @q of @b */
static int
patches_overlap(PlaCutComplex *a, int p, PlaCutComplex *b, int q, const int corner_b[4])
{
  PlaCutInsertion ins = { .refined = a };
  PlaCutLoop inner = { 0 }, below = { 0 }, above = { 0 };
  const int n_verts = a->n_verts, n_planes = a->n_planes;
  const PlaCutPatch *other = &b->patch[q];
  /* clip patch p by every edge line of patch q */
  bool ok = pla_cut_loop_copy(&inner, a->patch[p].corner, a->patch[p].n_corners);
  for (int k = 0; ok && inner.n && k < other->n_corners; k++) {
    /* collinear corners follow each other: one line for all of them */
    int id = other->corner[k].plane;
    if (k > 0 && other->corner[k - 1].plane == id)
      continue;
    /* the side of the line on which q lies */
    int inside = 0;
    for (int j = 0; j < other->n_corners && inside == 0; j++)
      inside = pla_cut_complex_side(b, other->corner[j].vert, id);
    /* the same line in the coordinates of a */
    PlaCutPlane carried = carry_plane(&b->plane[id], corner_b);
    int plane = pla_cut_add_plane(a, &carried);
    ok = plane >= 0;
    if (!ok)
      break;
    /* keep the part of p on that side */
    bool has[2];
    pla_cut_loop_sides(a, inner.corner, inner.n, plane, &has[0], &has[1]);
    bool in = inside > 0 ? has[1] : has[0], out = inside > 0 ? has[0] : has[1];
    if (!in) {
      inner.n = 0;
    } else if (out) {
      ins.n_pending = 0;
      ok = pla_cut_split_loop(&ins, inner.corner, inner.n, a->patch[p].plane, plane, &below,
                              &above) &&
           pla_cut_loop_copy(&inner, inside > 0 ? above.corner : below.corner,
                             inside > 0 ? above.n : below.n);
    }
  }
  /* drop the helper points and planes; something left: they overlap */
  forget(a, n_verts, n_planes);
  int n = inner.n;
  free(inner.corner);
  free(below.corner);
  free(above.corner);
  free(ins.pending);
  return ok ? n > 0 : -1;
}

int
pla_cut_complex_faces_overlap(PlaCutComplex *a, int face_a, PlaCutComplex *b, int face_b,
                              const int corner_b[4])
{
  int found = 0;
  for (int p = 0; p < a->n_patches && found == 0; p++) {
    if (a->patch[p].face != face_a || a->patch[p].triangle >= 0)
      continue;
    for (int q = 0; q < b->n_patches && found == 0; q++)
      if (b->patch[q].face == face_b && b->patch[q].triangle < 0)
        found = patches_overlap(a, p, b, q, corner_b);
  }
  return found;
}

/* the guest as a point of ours, or -1 */
static int
invite(PlaCutComplex *self, const PlaCutGuest *guest)
{
  const PlaCutVert *v = &guest->refined->vert[guest->vert];
  int zero[4], n_zero = 0; /* our faces that the point is on */
  for (int i = 0; i < 4; i++)
    if (guest->corner[i] < 0 || v->faces >> guest->corner[i] & 1)
      zero[n_zero++] = i;
  assert(n_zero > 0);
  if (n_zero == 3)
    return pla_cut_add_vert(self, zero[0], zero[1], zero[2]);
  int plane[3];
  for (int k = 0; k < 3; k++) {
    PlaCutPlane carried = carry_plane(&guest->refined->plane[v->plane[k]], guest->corner);
    plane[k] = pla_cut_add_plane(self, &carried);
    if (plane[k] < 0)
      return -1;
  }
  /* some of the other tet's planes say nothing new here: take the first that meet in a point */
  int found = -2;
  for (int k = 0; k < 3 && found == -2; k++)
    found = n_zero == 2 ? pla_cut_add_vert(self, zero[0], zero[1], plane[k])
                        : pla_cut_add_vert(self, zero[0], plane[k], plane[(k + 1) % 3]);
  assert(found != -2);
  return found;
}

int
pla_cut_complex_same_point(PlaCutComplex *self, int vert, const PlaCutGuest *guest)
{
  const int n_verts = self->n_verts, n_planes = self->n_planes;
  int p = invite(self, guest), same = p < 0 ? -1 : 1;
  for (int k = 0; k < 3 && same == 1; k++)
    same = pla_cut_complex_side(self, p, self->vert[vert].plane[k]) == 0;
  forget(self, n_verts, n_planes);
  return same;
}

/* whether @p lies on the same side as @v of a plane through @u that does not hold the edge u-v */
static bool
beyond(PlaCutComplex *self, int u, int v, int p)
{
  for (int k = 0; k < 3; k++) {
    int plane = self->vert[u].plane[k], side = pla_cut_complex_side(self, v, plane);
    if (side != 0)
      return pla_cut_complex_side(self, p, plane) == side;
  }
  return false;
}

int
pla_cut_complex_inside_edge(PlaCutComplex *self, int p, int k, const PlaCutGuest *guest)
{
  const PlaCutPatch *patch = &self->patch[p];
  const int n_verts = self->n_verts, n_planes = self->n_planes;
  int u = patch->corner[k].vert, v = patch->corner[(k + 1) % patch->n_corners].vert;
  int x = invite(self, guest), inside = x < 0 ? -1 : 0;
  if (inside == 0)
    inside = pla_cut_complex_side(self, x, patch->plane) == 0 &&
             pla_cut_complex_side(self, x, patch->corner[k].plane) == 0 && beyond(self, u, v, x) &&
             beyond(self, v, u, x);
  forget(self, n_verts, n_planes);
  return inside;
}
