/* The surface of a body as contact sees it: points with areas, pieces with trees of triangles, and
 * the signed distance from a piece.
 *
 * Within its own piece a point leaves out the triangles it belongs to.  It is inside when it is
 * behind one that faces it and the winding number just outside its own surface says so too. */
#include "sim/contact/contact-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/mesh/winding.h"
#include "sim/fem/model-data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* seven-point rule on a triangle, exact for cubics: shares of vertices, middles of sides, centre */
static const double vert_share = 1.0 / 20.0, side_share = 2.0 / 15.0, centre_share = 9.0 / 20.0;

typedef struct {
  int a, b, tri;
} Side;

static int
compare_sides(const void *p, const void *q)
{
  const Side *x = p, *y = q;
  if (x->a != y->a)
    return x->a < y->a ? -1 : 1;
  if (x->b != y->b)
    return x->b < y->b ? -1 : 1;
  return x->tri < y->tri ? -1 : x->tri > y->tri;
}

/* how stiff a cell's material is against its surface being pushed, Pa */
static double
cell_stiffness(const PlaFemModel *model, int cell)
{
  const PlaFemMaterial *m = &model->material[model->cell_material[cell]];
  double mu, lambda, vol;
  pla_material_moduli(m->material, m->constants, &mu, &lambda, &vol);
  /* nearly incompressible tissue yields sideways */
  return fmin(2.0 * mu + fmax(lambda, 0.0), 10.0 * mu);
}

static double
triangle_area(const double *pos, const int *tri)
{
  double e1[3], e2[3], n[3];
  pla_vec3_sub(pos + 3 * (size_t)tri[1], pos + 3 * (size_t)tri[0], e1);
  pla_vec3_sub(pos + 3 * (size_t)tri[2], pos + 3 * (size_t)tri[0], e2);
  pla_vec3_cross(e1, e2, n);
  return 0.5 * pla_vec3_norm(n);
}

/* triangles sorted by piece */
static PlaStatus
sort_by_piece(PlaContactSet *self, const PlaBoundary *boundary, const int *piece, double *stiffness,
              PlaError *err)
{
  int *fill = pla_array_new0((size_t)self->n_pieces + 1, sizeof *fill);
  self->piece = pla_array_new0((size_t)self->n_pieces, sizeof *self->piece);
  self->tri = pla_array_new((size_t)boundary->n_tris, 3 * sizeof *self->tri);
  if (!fill || !self->piece || !self->tri) {
    free(fill);
    return pla_fail_memory(err, "the surface of the body");
  }
  for (int t = 0; t < boundary->n_tris; t++)
    self->piece[piece[boundary->tri[3 * t]]].n_tris++;
  for (int p = 1; p < self->n_pieces; p++)
    self->piece[p].first_tri = self->piece[p - 1].first_tri + self->piece[p - 1].n_tris;
  for (int t = 0; t < boundary->n_tris; t++) {
    int p = piece[boundary->tri[3 * t]], at = self->piece[p].first_tri + fill[p]++;
    memcpy(self->tri + 3 * (size_t)at, boundary->tri + 3 * (size_t)t, 3 * sizeof *self->tri);
    stiffness[at] =
        self->options.stiffness > 0.0
            ? self->options.stiffness
            : 2.0 * cell_stiffness(self->model, boundary->cell[t]) / self->options.thickness;
  }
  free(fill);
  return PLA_OK;
}

/* drops points with a vertex that is not to be looked at */
static void
keep_points(PlaContactSet *self)
{
  const unsigned char *among = self->options.among;
  int n = 0;
  for (int p = 0; among && p < self->n_points; p++) {
    bool wanted = true;
    for (int a = 0; a < self->point[p].n_verts; a++)
      wanted &= among[self->point[p].vert[a]];
    if (wanted)
      self->point[n++] = self->point[p];
  }
  self->n_points = among ? n : self->n_points;
  self->options.among = NULL;
}

static PlaStatus
make_points(PlaContactSet *self, const int *piece, const double *stiffness, PlaError *err)
{
  const PlaFemModel *model = self->model;
  const int nt = self->n_tris;
  Side *side = pla_array_new((size_t)nt, 3 * sizeof *side);
  double *at_vert = pla_array_new0((size_t)model->n_verts, 2 * sizeof *at_vert);
  if (!side || !at_vert) {
    free(side);
    free(at_vert);
    return pla_fail_memory(err, "the surface of the body");
  }
  /* area and stiffness shares of vertices; sides of triangles */
  for (int t = 0; t < nt; t++) {
    const int *v = self->tri + 3 * (size_t)t;
    double area = triangle_area(model->rest, v);
    for (int c = 0; c < 3; c++) {
      int a = v[c], b = v[(c + 1) % 3];
      at_vert[2 * (size_t)a] += vert_share * area;
      at_vert[2 * (size_t)a + 1] += vert_share * area * stiffness[t];
      side[3 * t + c] = (Side){ a < b ? a : b, a < b ? b : a, t };
    }
  }
  qsort(side, 3 * (size_t)nt, sizeof *side, compare_sides);
  /* a point at every triangle, vertex and edge */
  size_t n = (size_t)nt, edge_sum = 0;
  for (int v = 0; v < model->n_verts; v++)
    n += at_vert[2 * (size_t)v] > 0.0;
  for (int s = 0; s < 3 * nt; s++)
    n += s == 0 || side[s].a != side[s - 1].a || side[s].b != side[s - 1].b;
  self->point = n < INT32_MAX ? pla_array_new0(n, sizeof *self->point) : NULL;
  PlaStatus st = self->point ? PLA_OK : pla_fail_memory(err, "the surface of the body");
  double edge_length = 0.0;
  /* vertices */
  for (int v = 0; st == PLA_OK && v < model->n_verts; v++)
    if (at_vert[2 * (size_t)v] > 0.0)
      self->point[self->n_points++] = (PlaSurfacePoint){ .n_verts = 1,
                                                         .vert = { v },
                                                         .area = at_vert[2 * (size_t)v],
                                                         .stiffness = at_vert[2 * (size_t)v + 1] };
  /* middles of edges */
  for (int s = 0; st == PLA_OK && s < 3 * nt; s++) {
    double area = side_share * triangle_area(model->rest, self->tri + 3 * (size_t)side[s].tri);
    if (s == 0 || side[s].a != side[s - 1].a || side[s].b != side[s - 1].b) {
      double e[3];
      pla_vec3_sub(model->rest + 3 * (size_t)side[s].a, model->rest + 3 * (size_t)side[s].b, e);
      edge_length += pla_vec3_norm(e);
      edge_sum++;
      self->point[self->n_points++] =
          (PlaSurfacePoint){ .n_verts = 2, .vert = { side[s].a, side[s].b } };
    }
    self->point[self->n_points - 1].area += area;
    self->point[self->n_points - 1].stiffness += area * stiffness[side[s].tri];
  }
  /* centres of triangles */
  for (int t = 0; st == PLA_OK && t < nt; t++) {
    const int *v = self->tri + 3 * (size_t)t;
    double area = centre_share * triangle_area(model->rest, v);
    self->point[self->n_points++] = (PlaSurfacePoint){
      .n_verts = 3, .vert = { v[0], v[1], v[2] }, .area = area, .stiffness = area * stiffness[t]
    };
  }
  /* pieces and defaults */
  keep_points(self);
  for (int p = 0; st == PLA_OK && p < self->n_points; p++) {
    self->point[p].piece = piece[self->point[p].vert[0]];
    self->point[p].thickness = self->options.thickness;
    self->point[p].link_piece = -1;
  }
  self->inside_reach = edge_sum ? 2.0 * edge_length / (double)edge_sum : 0.0;
  free(side);
  free(at_vert);
  return st;
}

PlaStatus
pla_contact_surface_init(PlaContactSet *self, PlaError *err)
{
  const PlaFemModel *model = self->model;
  const size_t nv = (size_t)model->n_verts;
  PlaTetMesh tets = { model->n_verts, model->n_tets, model->rest, model->tet };
  PlaHexMesh hexes = { model->n_verts, model->n_hexes, model->rest, model->hex };
  PlaBoundary boundary = { 0 };
  int *piece = pla_array_new(nv, sizeof *piece);
  double *stiffness = NULL;
  PlaStatus st = piece ? pla_boundary_init(&boundary, &tets, &hexes, false, err)
                       : pla_fail_memory(err, "the surface of the body");
  if (st == PLA_OK) {
    /* boundary triangles, sorted by piece */
    self->n_pieces = pla_fem_label_pieces(model, piece);
    self->n_tris = boundary.n_tris;
    stiffness = pla_array_new((size_t)self->n_tris, sizeof *stiffness);
    self->pos = pla_array_dup(model->rest, nv, 3 * sizeof *self->pos);
    self->start = pla_array_dup(model->rest, nv, 3 * sizeof *self->start);
    self->vert_normal = pla_array_new0(nv, 3 * sizeof *self->vert_normal);
    self->tri_normal = pla_array_new0((size_t)self->n_tris, 3 * sizeof *self->tri_normal);
    st = stiffness && self->pos && self->start && self->vert_normal && self->tri_normal
             ? sort_by_piece(self, &boundary, piece, stiffness, err)
             : pla_fail_memory(err, "the surface of the body");
  }
  if (st == PLA_OK)
    st = make_points(self, piece, stiffness, err);
  /* a search tree and features for each piece */
  for (int p = 0; st == PLA_OK && p < self->n_pieces; p++) {
    PlaTriMesh mesh = { model->n_verts, self->piece[p].n_tris, self->pos,
                        self->tri + 3 * (size_t)self->piece[p].first_tri };
    st = pla_tri_tree_new(&mesh, &self->piece[p].tree, err);
    if (st == PLA_OK)
      st = pla_feature_mesh_init(&self->piece[p].features, &mesh, err);
  }
  pla_boundary_clear(&boundary);
  free(piece);
  free(stiffness);
  return st;
}

void
pla_contact_surface_clear(PlaContactSet *self)
{
  for (int p = 0; self->piece && p < self->n_pieces; p++) {
    pla_tri_tree_free(self->piece[p].tree);
    pla_feature_mesh_clear(&self->piece[p].features);
  }
  free(self->piece);
  free(self->tri);
  free(self->point);
  free(self->pos);
  free(self->start);
  free(self->vert_normal);
  free(self->tri_normal);
}

/* ---- distances ---- */

typedef struct {
  const PlaContactSet *set;
  const PlaSurfacePoint *point;
  int first_tri;
  const double *x, *normal;
  bool front;
} Facing;

/* a triangle that faces the point, from before or from behind */
static bool
faces(int tri, const void *data)
{
  const Facing *self = data;
  const size_t t = (size_t)(self->first_tri + tri);
  const int *v = self->set->tri + 3 * t;
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < self->point->n_verts; b++)
      if (v[a] == self->point->vert[b])
        return false;
  double r[3];
  const double *n = self->set->tri_normal + 3 * t;
  pla_vec3_sub(self->x, self->set->pos + 3 * (size_t)v[0], r);
  return (pla_vec3_dot(r, n) >= 0.0) == self->front && pla_vec3_dot(n, self->normal) < 0.0;
}

int
pla_contact_piece_near(const PlaContactSet *self, int b, const PlaSurfacePoint *point,
                       const double x[3], const double *own_normal, double reach,
                       PlaFeature out[PLA_MOST_FEATURES])
{
  const PlaSurfacePiece *piece = &self->piece[b];
  const double close = 2.0 * self->options.thickness;
  if (!own_normal) {
    /* inside, the nearest way out */
    double d = pla_features_distance(&piece->features, piece->tree, self->pos, x,
                                     fmax(reach, self->inside_reach), &out[0]);
    if (d == INFINITY || d > reach)
      return 0;
    /* far outside, the nearest place */
    out[0].distance = d;
    if (d <= 0.0 || d >= close)
      return 1;
    return pla_features_near(&piece->features, piece->tree, self->pos, x, close, 0, NULL, out);
  }
  /* its own piece is all around a point: deep inside, only continuity could tell what it belongs to
   */
  Facing facing = { self, point, piece->first_tri, x, own_normal, false };
  double at[3], just_outside[3];
  int t;
  double depth =
      pla_tri_tree_nearest_among(piece->tree, x, fmax(reach, 4.0 * self->options.thickness), faces,
                                 &facing, &t, at);
  if (depth < INFINITY) {
    PlaTriMesh mesh = { self->model->n_verts, piece->n_tris, self->pos,
                        self->tri + 3 * (size_t)piece->first_tri };
    for (int d = 0; d < 3; d++)
      just_outside[d] = x[d] + 1e-3 * self->options.thickness * own_normal[d];
    if (pla_winding_exact(&mesh, just_outside) > 0.5) {
      pla_features_of_tri(&piece->features, self->pos, x, t, &out[0]);
      out[0].distance = -out[0].distance;
      for (int d = 0; d < 3; d++)
        out[0].direction[d] = -out[0].direction[d];
      return 1;
    }
  }
  int n = pla_features_near(&piece->features, piece->tree, self->pos, x, close, point->n_verts,
                            point->vert, out);
  if (n > 0 || reach <= close)
    return n;
  /* far outside, the nearest place that the point is before */
  facing.front = true;
  if (pla_tri_tree_nearest_among(piece->tree, x, reach, faces, &facing, &t, at) == INFINITY)
    return 0;
  pla_features_of_tri(&piece->features, self->pos, x, t, &out[0]);
  return 1;
}
