/* Test meshes: closed surfaces, several of them running through themselves, and a tet bar.
 *
 * Each surface is the boundary of a block of cells (u, v, w) in [0, 1]^3 that a smooth map carries
 * into space with positive Jacobian, or a ring whose last cross-section is sewn to its first.  So
 * every surface is closed and faces outwards, and where it crosses itself the number of cells over
 * a point is the winding number there. */
#include "anatomy/phantom/phantom-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesh/box-mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CELLS 2000 /* along one edge of a block */

/* (u, v, w) in [0, 1]^3 to mm; @side tells apart the two faces of a slit */
typedef void (*Map)(const double uvw[3], int side, double pos_mm[3]);

typedef struct {
  int n_verts, verts_room, n_tris, tris_room;
  double *pos; /* mm */
  int *tri;
  bool short_of_memory;
} Builder;

static int
add_vert(Builder *b, const double pos_mm[3])
{
  if (b->n_verts == b->verts_room) {
    const int room = 2 * b->verts_room + 256;
    if (!pla_array_resize((void **)&b->pos, (size_t)room * 3, sizeof *b->pos)) {
      b->short_of_memory = true;
      return 0;
    }
    b->verts_room = room;
  }
  memcpy(b->pos + 3 * (size_t)b->n_verts, pos_mm, 3 * sizeof *pos_mm);
  return b->n_verts++;
}

static void
add_tri(Builder *b, int i, int j, int k)
{
  if (b->n_tris == b->tris_room) {
    const int room = 2 * b->tris_room + 256;
    if (!pla_array_resize((void **)&b->tri, (size_t)room * 3, sizeof *b->tri)) {
      b->short_of_memory = true;
      return;
    }
    b->tris_room = room;
  }
  int *t = b->tri + 3 * (size_t)b->n_tris++;
  t[0] = i;
  t[1] = j;
  t[2] = k;
}

/* counter-clockwise seen from outside */
static void
add_quad(Builder *b, const int v[4])
{
  add_tri(b, v[0], v[1], v[2]);
  add_tri(b, v[0], v[2], v[3]);
}

static PlaStatus
finish(Builder *b, PlaStatus st, PlaMesh **out, PlaError *err)
{
  if (st == PLA_OK && b->short_of_memory)
    st = pla_fail_memory(err, "a phantom");
  PlaMesh *mesh = NULL;
  if (st == PLA_OK)
    st = pla_mesh_new(b->n_verts, b->n_tris, 0, 0, &mesh, err);
  if (st == PLA_OK) {
    for (size_t i = 0; i < 3 * (size_t)b->n_verts; i++)
      mesh->pos[i] = b->pos[i] / 1000.0;
    memcpy(mesh->tri, b->tri, 3 * (size_t)b->n_tris * sizeof *b->tri);
    *out = mesh;
  }
  free(b->pos);
  free(b->tri);
  return st;
}

static PlaStatus
too_fine(double spacing_mm, PlaError *err)
{
  return pla_fail(err, PLA_ERR_USAGE,
                  "A spacing of %g mm gives more triangles than Platysma makes for this phantom; "
                  "choose a coarser one.",
                  spacing_mm);
}

/* cells along an edge of @length mm; 0: too many */
static int
cells(double length, double spacing_mm)
{
  const double n = fmax(1.0, round(length / spacing_mm));
  return n <= MAX_CELLS ? (int)n : 0;
}

/* A slit in a block: the face w = half, from u0 to u1 and from v0 to the front, has its nodes
 * twice, so the block opens there. */
typedef struct {
  int u0, u1, v0; /* in nodes; the rim itself is not doubled */
} Slit;

typedef struct {
  int n[3];
  const Slit *slit;
  Map map;
  int *id; /* per node and side: vertex + 1, or 0 */
} Block;

static int
block_vert(Builder *b, const Block *block, const int node[3], int side)
{
  const int *n = block->n;
  const Slit *slit = block->slit;
  const bool doubled =
      slit && 2 * node[2] == n[2] && node[0] > slit->u0 && node[0] < slit->u1 && node[1] > slit->v0;
  const size_t nodes = (size_t)(n[0] + 1) * (size_t)(n[1] + 1) * (size_t)(n[2] + 1);
  const size_t at = (size_t)node[0] +
                    (size_t)(n[0] + 1) * ((size_t)node[1] + (size_t)(n[1] + 1) * (size_t)node[2]) +
                    (doubled && side < 0 ? nodes : 0);
  if (block->id[at] == 0) {
    const double uvw[3] = { (double)node[0] / n[0], (double)node[1] / n[1],
                            (double)node[2] / n[2] };
    double pos[3];
    block->map(uvw, side, pos);
    block->id[at] = add_vert(b, pos) + 1;
  }
  return block->id[at] - 1;
}

/* the face of cells normal to @axis at plane @plane, facing +axis or -axis */
static void
add_face(Builder *b, const Block *block, int axis, int plane, bool positive, const int from[2],
         const int to[2], int fixed_side)
{
  const int p = (axis + 1) % 3, q = (axis + 2) % 3; /* p x q = axis */
  for (int j = from[1]; j < to[1]; j++)
    for (int i = from[0]; i < to[0]; i++) {
      static const int corner[4][2] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0, 1 } };
      int v[4], node[3];
      /* a cell above the slit's plane takes its upper face */
      const int w_cell = p == 2 ? i : q == 2 ? j : plane;
      const int side = fixed_side ? fixed_side : 2 * w_cell >= block->n[2] ? 1 : -1;
      for (int k = 0; k < 4; k++) {
        node[axis] = plane;
        node[p] = i + corner[k][0];
        node[q] = j + corner[k][1];
        v[positive ? k : 3 - k] = block_vert(b, block, node, side);
      }
      add_quad(b, v);
    }
}

static PlaStatus
add_block(Builder *b, const int n[3], Map map, const Slit *slit, double spacing_mm, PlaError *err)
{
  if (n[0] == 0 || n[1] == 0 || n[2] == 0)
    return too_fine(spacing_mm, err);
  size_t nodes = (size_t)(n[0] + 1) * (size_t)(n[1] + 1) * (size_t)(n[2] + 1) * (slit ? 2 : 1);
  if (nodes > (size_t)1 << 28)
    return too_fine(spacing_mm, err);
  Block block = { { n[0], n[1], n[2] }, slit, map, pla_array_new0(nodes, sizeof *block.id) };
  if (!block.id)
    return pla_fail_memory(err, "a phantom");
  for (int axis = 0; axis < 3; axis++) {
    const int to[2] = { n[(axis + 1) % 3], n[(axis + 2) % 3] };
    add_face(b, &block, axis, n[axis], true, (int[2]){ 0, 0 }, to, 0);
    add_face(b, &block, axis, 0, false, (int[2]){ 0, 0 }, to, 0);
  }
  if (slit) {
    /* the part above the slit faces down, the part below faces up */
    const int from[2] = { slit->u0, slit->v0 }, to[2] = { slit->u1, n[1] };
    add_face(b, &block, 2, n[2] / 2, false, from, to, 1);
    add_face(b, &block, 2, n[2] / 2, true, from, to, -1);
  }
  free(block.id);
  return PLA_OK;
}

static PlaStatus
one_block(const int n[3], Map map, const Slit *slit, double spacing_mm, PlaMesh **out,
          PlaError *err)
{
  Builder b = { 0 };
  return finish(&b, add_block(&b, n, map, slit, spacing_mm, err), out, err);
}

/* ---- boxes ---- */

static void
stretch(const double uvw[3], const double centre[3], const double half[3], double pos[3])
{
  for (int d = 0; d < 3; d++)
    pos[d] = centre[d] + (2.0 * uvw[d] - 1.0) * half[d];
}

static void
map_box(const double uvw[3], int side, double pos[3])
{
  stretch(uvw, (double[3]){ 0, 0, 0 }, (double[3]){ 30, 20, 15 }, pos);
}

PlaStatus
pla_phantom_mesh_box(double h, PlaMesh **out, PlaError *err)
{
  return one_block((int[3]){ cells(60, h), cells(40, h), cells(30, h) }, map_box, NULL, h, out,
                   err);
}

static void
map_crossing_a(const double uvw[3], int side, double pos[3])
{
  stretch(uvw, (double[3]){ 0, 0, 0 }, (double[3]){ 40, 15, 15 }, pos);
}

static void
map_crossing_b(const double uvw[3], int side, double pos[3])
{
  /* off centre, so that no two faces coincide */
  stretch(uvw, (double[3]){ 3.1, 1.7, 4.3 }, (double[3]){ 14, 13, 38 }, pos);
}

PlaStatus
pla_phantom_mesh_crossing_boxes(double h, PlaMesh **out, PlaError *err)
{
  Builder b = { 0 };
  PlaStatus st = add_block(&b, (int[3]){ cells(80, h), cells(30, h), cells(30, h) }, map_crossing_a,
                           NULL, h, err);
  if (st == PLA_OK)
    st = add_block(&b, (int[3]){ cells(28, h), cells(26, h), cells(76, h) }, map_crossing_b, NULL,
                   h, err);
  return finish(&b, st, out, err);
}

static void
map_nested(const double uvw[3], int side, double pos[3])
{
  stretch(uvw, (double[3]){ 1.3, -0.7, 0.9 }, (double[3]){ 15, 10, 8 }, pos);
}

PlaStatus
pla_phantom_mesh_nested_boxes(double h, PlaMesh **out, PlaError *err)
{
  Builder b = { 0 };
  PlaStatus st =
      add_block(&b, (int[3]){ cells(60, h), cells(40, h), cells(30, h) }, map_box, NULL, h, err);
  if (st == PLA_OK)
    st = add_block(&b, (int[3]){ cells(30, h), cells(20, h), cells(16, h) }, map_nested, NULL, h,
                   err);
  return finish(&b, st, out, err);
}

static void
map_sheet(const double uvw[3], int side, double pos[3])
{
  stretch(uvw, (double[3]){ 0, 0, 0 }, (double[3]){ 30, 30, 0.5 }, pos);
}

PlaStatus
pla_phantom_mesh_thin_sheet(double h, PlaMesh **out, PlaError *err)
{
  return one_block((int[3]){ cells(60, h), cells(60, h), cells(1, h) }, map_sheet, NULL, h, out,
                   err);
}

/* ---- round solids ---- */

/* faces of a cube, spread evenly in angle, onto a sphere */
static void
map_sphere(const double uvw[3], int side, double pos[3])
{
  double p[3];
  for (int d = 0; d < 3; d++)
    p[d] = tan(0.25 * M_PI * (2.0 * uvw[d] - 1.0));
  const double l = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
  for (int d = 0; d < 3; d++)
    pos[d] = 40.0 * p[d] / l;
}

PlaStatus
pla_phantom_mesh_sphere(double h, PlaMesh **out, PlaError *err)
{
  const int n = cells(0.5 * M_PI * 40.0, h);
  return one_block((int[3]){ n, n, n }, map_sphere, NULL, h, out, err);
}

/* a square onto a disc, rings to rings */
static void
disc_point(double u, double v, double radius, double xy[2])
{
  const double a = 2.0 * u - 1.0, b = 2.0 * v - 1.0, r = fmax(fabs(a), fabs(b));
  const double angle = r == 0.0 ? 0.0
                       : fabs(a) >= fabs(b)
                           ? 0.25 * M_PI * b / a + (a < 0.0 ? M_PI : 0.0)
                           : 0.5 * M_PI - 0.25 * M_PI * a / b + (b < 0.0 ? M_PI : 0.0);
  xy[0] = radius * r * cos(angle);
  xy[1] = radius * r * sin(angle);
}

static void
map_cylinder_right(const double uvw[3], int side, double pos[3])
{
  disc_point(uvw[0], uvw[1], 8.0, pos);
  pos[0] += 8.75;
  pos[2] = 80.0 * uvw[2] - 40.0;
}

static void
map_cylinder_left(const double uvw[3], int side, double pos[3])
{
  map_cylinder_right(uvw, side, pos);
  pos[0] -= 17.5;
}

PlaStatus
pla_phantom_mesh_cylinders(double h, PlaMesh **out, PlaError *err)
{
  Builder b = { 0 };
  const int round = cells(4.0 * M_PI, h), n[3] = { round, round, cells(80, h) };
  PlaStatus st = add_block(&b, n, map_cylinder_right, NULL, h, err);
  if (st == PLA_OK)
    st = add_block(&b, n, map_cylinder_left, NULL, h, err);
  return finish(&b, st, out, err);
}

/* ---- rings ---- */

/* A closed tube: @n_along cross-sections of @n_round points each; the last is sewn to the first,
 * turned by @shift points. */
typedef void (*RingMap)(double along, double round, double pos_mm[3]);

static PlaStatus
add_ring(Builder *b, int n_along, int n_round, int shift, RingMap map, double spacing_mm,
         PlaError *err)
{
  if (n_along == 0 || n_round == 0)
    return too_fine(spacing_mm, err);
  const int first = b->n_verts;
  for (int i = 0; i < n_along; i++)
    for (int j = 0; j < n_round; j++) {
      double pos[3];
      map((double)i / n_along, (double)j / n_round, pos);
      add_vert(b, pos);
    }
  for (int i = 0; i < n_along; i++)
    for (int j = 0; j < n_round; j++) {
      const int k = (j + 1) % n_round, turn = i + 1 == n_along ? shift : 0;
      const int next = first + ((i + 1) % n_along) * n_round, here = first + i * n_round;
      add_quad(b, (int[4]){ here + j, next + (j + turn) % n_round, next + (k + turn) % n_round,
                            here + k });
    }
  return PLA_OK;
}

static void
map_torus(double along, double round, double pos[3])
{
  const double a = 2.0 * M_PI * along, b = 2.0 * M_PI * round;
  pos[0] = (35.0 + 12.0 * cos(b)) * cos(a);
  pos[1] = (35.0 + 12.0 * cos(b)) * sin(a);
  pos[2] = 12.0 * sin(b);
}

PlaStatus
pla_phantom_mesh_torus(double h, PlaMesh **out, PlaError *err)
{
  Builder b = { 0 };
  const PlaStatus st =
      add_ring(&b, cells(2.0 * M_PI * 47.0, h), cells(2.0 * M_PI * 12.0, h), 0, map_torus, h, err);
  return finish(&b, st, out, err);
}

/* Bands 21 mm wide and 7 mm thick with half a twist round a circle of radius 40 mm.  The second
 * stands square to the first everywhere, so the two cross along the whole circle. */
static void
moebius_point(double along, double round, double phase, double pos[3])
{
  /* walk round the rectangle: four sides in proportion to their length */
  const double half[2] = { 10.5, 3.5 }, length = 4.0 * (half[0] + half[1]);
  double s = round * length, p[2];
  if (s < 2.0 * half[1]) {
    p[0] = half[0];
    p[1] = s - half[1];
  } else if ((s -= 2.0 * half[1]) < 2.0 * half[0]) {
    p[0] = half[0] - s;
    p[1] = half[1];
  } else if ((s -= 2.0 * half[0]) < 2.0 * half[1]) {
    p[0] = -half[0];
    p[1] = half[1] - s;
  } else {
    p[0] = s - 2.0 * half[1] - half[0];
    p[1] = -half[1];
  }
  const double a = 2.0 * M_PI * along, twist = M_PI * along + phase;
  const double out = p[0] * cos(twist) - p[1] * sin(twist);
  pos[0] = (40.0 + out) * cos(a);
  pos[1] = (40.0 + out) * sin(a);
  pos[2] = p[0] * sin(twist) + p[1] * cos(twist);
}

static void
map_moebius_a(double along, double round, double pos[3])
{
  moebius_point(along, round, 0.0, pos);
}

static void
map_moebius_b(double along, double round, double pos[3])
{
  moebius_point(along, round, 0.5 * M_PI, pos);
}

PlaStatus
pla_phantom_mesh_moebius_pair(double h, PlaMesh **out, PlaError *err)
{
  /* corners are points of the cross-section: sides of 2 k and 6 k points */
  const int k = cells(3.5, h), along = cells(2.0 * M_PI * 50.5, h), round = 16 * k;
  Builder b = { 0 };
  PlaStatus st = add_ring(&b, along, round, round / 2, map_moebius_a, h, err);
  if (st == PLA_OK)
    st = add_ring(&b, along, round, round / 2, map_moebius_b, h, err);
  return finish(&b, st, out, err);
}

/* ---- surfaces that cross themselves ---- */

/* A mouth 40 mm wide in a block of 60 x 40 x 50 mm.  Behind the lips the slit opens by 6 mm; at the
 * front each lip is moved 3 mm into the other. */
static void
map_lips(const double uvw[3], int side, double pos[3])
{
  stretch(uvw, (double[3]){ 0, 0, 0 }, (double[3]){ 30, 20, 25 }, pos);
  const double x = pos[0] / 20.0, y = (pos[1] + 10.0) / 30.0; /* 0 at the back, 1 at the front */
  if (fabs(x) >= 1.0 || y <= 0.0)
    return;
  const double across = (1.0 - x * x) * (1.0 - x * x), fade = 1.0 - fabs(pos[2]) / 25.0;
  const double open = 3.0 * sin(1.5 * M_PI * y); /* opens to y = 2/3, crosses beyond */
  const double up = pos[2] > 0.0 ? 1.0 : pos[2] < 0.0 ? -1.0 : side;
  pos[2] += up * open * across * fade * fade;
}

PlaStatus
pla_phantom_mesh_crossed_lips(double h, PlaMesh **out, PlaError *err)
{
  /* the slit's rim needs nodes at x = +-20, y = -10 and z = 0 */
  const int k = cells(10, h);
  const int n[3] = { 6 * k, 4 * k, 2 * cells(25, h) };
  const Slit slit = { k, 5 * k, k };
  return one_block(n, map_lips, &slit, h, out, err);
}

/* bands in the plane: @along winds, v goes outwards, w up */
static void
wind(double angle, double radius, double height, double pos[3])
{
  pos[0] = radius * cos(angle);
  pos[1] = radius * sin(angle);
  pos[2] = height;
}

/* u runs inwards-out, v round, so that (u, v, w) is right-handed */
static void
map_c_ring(const double uvw[3], int side, double pos[3])
{
  wind((0.15 + 2.25 * uvw[1]) * M_PI, 30.0 + 15.0 * uvw[0], 20.0 * uvw[2] - 10.0, pos);
}

PlaStatus
pla_phantom_mesh_c_ring(double h, PlaMesh **out, PlaError *err)
{
  return one_block((int[3]){ cells(15, h), cells(2.25 * M_PI * 45.0, h), cells(20, h) }, map_c_ring,
                   NULL, h, out, err);
}

static void
map_spiral(const double uvw[3], int side, double pos[3])
{
  const double turns = 2.0 * uvw[1];
  wind(2.0 * M_PI * turns, 22.0 + 8.0 * turns + 14.0 * uvw[0], 16.0 * uvw[2] - 8.0, pos);
}

PlaStatus
pla_phantom_mesh_spiral(double h, PlaMesh **out, PlaError *err)
{
  return one_block((int[3]){ cells(14, h), cells(4.0 * M_PI * 45.0, h), cells(16, h) }, map_spiral,
                   NULL, h, out, err);
}

/* ---- tets ---- */

PlaStatus
pla_phantom_mesh_bar(double h, PlaMesh **out, PlaError *err)
{
  const int n[3] = { cells(100, h), cells(25, h), cells(25, h) };
  if (n[0] == 0 || n[1] == 0 || (double)n[0] * n[1] * n[2] > 5e7)
    return too_fine(h, err);
  return pla_box_mesh_new((double[3]){ 0, 0, 0 }, (double[3]){ 0.1, 0.025, 0.025 }, n,
                          PLA_BOX_TETS_6, out, err);
}
