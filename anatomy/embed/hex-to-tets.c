/* Tets from a hexahedral embedding: a body-centred cubic lattice that follows the mesh and not the
 * grid (Chen 2024).
 *
 * Around each face that two hexes share stand four tets, each of one of its edges and the two
 * centres (h^3 / 12); on each outer face four of an edge, the hex's centre and the face's (h^3 /
 * 24). Where more than two hexes share a face, every two on opposite sides of it count. */
#include "anatomy/base/memory.h"
#include "anatomy/embed/hex-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const PlaHexEmbed *hexes;
  PlaHexCells cells;
  int *face_tet; /* first tet on each face, -x, +x, -y, ... (n_hexes x 6); -1 */
  int64_t n_inner, n_outer;
} Build;

/* corners of the face normal to @d on @side, counter-clockwise seen from +@d */
static void
face_corners(const Build *b, int hex, int d, int side, int v[4])
{
  static const int around[4][2] = { { 0, 0 }, { 1, 0 }, { 1, 1 }, { 0, 1 } };
  for (int e = 0; e < 4; e++) {
    const int q = side << d | around[e][0] << (d + 1) % 3 | around[e][1] << (d + 2) % 3;
    v[e] = b->hexes->mesh->hex[8 * (size_t)hex + pla_hex_vtk_corner[q]];
  }
}

/* four tets from below to above the face */
static void
put_tets(int *tet, const int face[4], int below, int above)
{
  for (int e = 0; e < 4; e++) {
    tet[4 * e] = face[e];
    tet[4 * e + 1] = face[(e + 1) % 4];
    tet[4 * e + 2] = below;
    tet[4 * e + 3] = above;
  }
}

/* numbers the faces; with @out also fills it.  Inner faces come with the lower hex. */
static PlaStatus
build_faces(Build *b, PlaMesh *out)
{
  const PlaMesh *mesh = b->hexes->mesh;
  const int n_hexes = mesh->n_hexes, centre = mesh->n_verts;
  int64_t faces = 0, outer = 0;
  for (size_t k = 0; k < 6 * (size_t)n_hexes; k++)
    b->face_tet[k] = -1;
  for (int h = 0; h < n_hexes; h++)
    for (int d = 0; d < 3; d++) {
      const int next = b->cells.next[d][b->cells.of_hex[h]];
      for (int u = next < 0 ? 0 : b->cells.first[next]; next >= 0 && u < b->cells.first[next + 1];
           u++)
        if (pla_hex_share_face(mesh, h, u, d)) {
          int *mine = &b->face_tet[6 * (size_t)h + 2 * d + 1],
              *theirs = &b->face_tet[6 * (size_t)u + 2 * d];
          *mine = *mine < 0 ? (int)(4 * faces) : *mine;
          *theirs = *theirs < 0 ? (int)(4 * faces) : *theirs;
          if (out) {
            int face[4];
            face_corners(b, h, d, 1, face);
            put_tets(out->tet + 16 * faces, face, centre + h, centre + u);
          }
          faces++;
        }
    }
  b->n_inner = faces;
  for (int h = 0; h < n_hexes; h++)
    for (int f = 0; f < 6; f++) {
      if (b->face_tet[6 * (size_t)h + f] >= 0)
        continue;
      if (out) {
        const int d = f / 2, side = f % 2;
        const int middle = centre + n_hexes + (int)outer;
        int face[4];
        face_corners(b, h, d, side, face);
        put_tets(out->tet + 16 * faces, face, side ? centre + h : middle,
                 side ? middle : centre + h);
        for (int k = 0; k < 3; k++) {
          double sum = 0.0;
          for (int e = 0; e < 4; e++)
            sum += mesh->pos[3 * (size_t)face[e] + k];
          out->pos[3 * (size_t)middle + k] = 0.25 * sum;
        }
      }
      b->face_tet[6 * (size_t)h + f] = (int)(4 * faces++);
      outer++;
    }
  b->n_outer = outer;
  return PLA_OK;
}

/* The surface's points: @t in the hex, which the six pyramids over its faces divide, and each of
 * those four tets.  With n, e the distances from the centre towards the face and the edge, and f
 * along the edge, the weights of the edge's ends are e -+ f and that of the far end (n - e) /
 * height. */
static void
embed_points(const Build *b, const PlaMesh *out, PlaEmbedding *surface)
{
  const PlaEmbedding *from = &b->hexes->surface;
#pragma omp parallel for schedule(static)
  for (int p = 0; p < from->n_points; p++) {
    const int h = from->elem[p];
    double t[3];
    int d = 0;
    pla_hex_local(from->weight + 8 * (size_t)p, t);
    for (int k = 0; k < 3; k++) {
      t[k] -= 0.5;
      if (fabs(t[k]) > fabs(t[d]))
        d = k;
    }
    const int side = t[d] > 0.0, u = (d + 1) % 3, v = (d + 2) % 3;
    const bool along_u = fabs(t[v]) >= fabs(t[u]);
    const int edge = along_u ? (t[v] < 0.0 ? 0 : 2) : (t[u] > 0.0 ? 1 : 3);
    const double f = along_u ? (edge == 0 ? t[u] : -t[u]) : (edge == 1 ? t[v] : -t[v]);
    const double n = fabs(t[d]), e = fabs(along_u ? t[v] : t[u]);
    const int tet = b->face_tet[6 * (size_t)h + 2 * d + side] + edge;
    const int *corner = out->tet + 4 * (size_t)tet;
    const int centre = b->hexes->mesh->n_verts + h;
    const bool inner = tet < 4 * b->n_inner;
    const double far = (n - e) / (inner ? 1.0 : 0.5);
    double *weight = surface->weight + 4 * (size_t)p;
    surface->elem[p] = tet;
    weight[0] = e - f;
    weight[1] = e + f;
    weight[corner[2] == centre ? 2 : 3] = 1.0 - 2.0 * e - far;
    weight[corner[2] == centre ? 3 : 2] = far;
  }
}

/* a tet is as full as the hexes whose centres it has; both have half of it */
static bool
fill_tets(const PlaMesh *hexes, PlaMesh *tets)
{
  const PlaField *from = pla_mesh_find_field(hexes, PLA_MESH_FILL, PLA_ON_CELLS);
  float *fill = from ? pla_mesh_add_field(tets, PLA_MESH_FILL, PLA_ON_CELLS, PLA_F32, 1) : NULL;
  for (size_t t = 0; fill && t < (size_t)tets->n_tets; t++) {
    double sum = 0.0;
    int n = 0;
    for (int a = 0; a < 4; a++) {
      const int h = tets->tet[4 * t + (size_t)a] - hexes->n_verts;
      if (h < 0 || h >= hexes->n_hexes)
        continue;
      sum += pla_dtype_get(from->dtype, from->data, (size_t)hexes->n_tris + (size_t)h);
      n++;
    }
    fill[t] = (float)(n > 0 ? sum / n : 1.0);
  }
  return fill || !from;
}

PlaStatus
pla_hex_embed_tets(const PlaHexEmbed *hexes, PlaProgress *progress, PlaMesh **out,
                   PlaEmbedding *surface, PlaError *err)
{
  Build b = { .hexes = hexes };
  const PlaMesh *mesh = hexes->mesh;
  const size_t n_hexes = (size_t)mesh->n_hexes;
  PlaMesh *tets = NULL;
  *out = NULL;
  if (surface)
    *surface = (PlaEmbedding){ 0 };
  PlaStatus st = pla_hex_cells_init(&b.cells, hexes, err);
  if (st == PLA_OK) {
    b.face_tet = pla_array_new(6 * n_hexes, sizeof *b.face_tet);
    st = b.face_tet ? build_faces(&b, NULL) : pla_fail_memory(err, "the tetrahedra");
  }
  if (st == PLA_OK && pla_progress_cancelled(progress))
    st = pla_fail_cancelled(err);
  const double n_tets = 4.0 * (double)(b.n_inner + b.n_outer);
  if (st == PLA_OK && n_tets > INT32_MAX / 4)
    st = pla_fail(err, PLA_ERR_MEMORY,
                  "The mesh would have %.3g tetrahedra, more than Platysma can number; choose a "
                  "larger cell",
                  n_tets);
  if (st == PLA_OK)
    st =
        pla_mesh_new(mesh->n_verts + mesh->n_hexes + (int)b.n_outer, 0, (int)n_tets, 0, &tets, err);
  if (st == PLA_OK) {
    memcpy(tets->pos, mesh->pos, 3 * (size_t)mesh->n_verts * sizeof *mesh->pos);
    for (size_t h = 0; h < n_hexes; h++)
      for (int k = 0; k < 3; k++) {
        double sum = 0.0;
        for (int q = 0; q < 8; q++)
          sum += mesh->pos[3 * (size_t)mesh->hex[8 * h + q] + k];
        tets->pos[3 * ((size_t)mesh->n_verts + h) + k] = 0.125 * sum;
      }
    st = build_faces(&b, tets);
  }
  if (st == PLA_OK && surface) {
    st = pla_embedding_init(surface, hexes->surface.n_points, 4, err);
    if (st == PLA_OK)
      embed_points(&b, tets, surface);
  }
  if (st == PLA_OK && (pla_hex_label_components(tets) < 0 || !fill_tets(mesh, tets)))
    st = pla_fail_memory(err, "the tetrahedra");
  pla_hex_cells_clear(&b.cells);
  free(b.face_tet);
  if (st == PLA_OK) {
    *out = tets;
  } else {
    pla_mesh_free(tets);
    if (surface)
      pla_embedding_clear(surface);
  }
  return st;
}
