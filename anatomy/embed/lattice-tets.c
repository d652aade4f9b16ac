/* Lattice embedding of a fine tet mesh (Sifakis 2007, 2.6).
 *
 * Pieces in a coarse tet are the connected components of the fine tets that meet it, two of them
 * hanging together where their common face passes through its inside.  Across a coarse face two
 * pieces are one where a fine tet passes through it, or where a common face of two fine tets lies
 * in it.  All by exact predicates, on any fine mesh, also one that shares planes with the lattice.
 */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/svd3.h"
#include "anatomy/base/union-find.h"
#include "anatomy/embed/lattice-soup.h"
#include "anatomy/mesh/predicates.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double *
place(const PlaSoup *soup, int simplex, int c)
{
  return soup->pos + 3 * (size_t)soup->vert[(size_t)simplex * (size_t)soup->per + (size_t)c];
}

/* the face of fine tet @f opposite to vertex @k */
static void
face_of(const PlaSoup *soup, int f, int k, const double *p[3])
{
  for (int c = 0, n = 0; c < 4; c++)
    if (c != k)
      p[n++] = place(soup, f, c);
}

/* ---- pieces ---- */

static PlaStatus
find_pieces(PlaSoup *soup, PlaLatticeEmbedding *self, const int *across, int *count, PlaError *err)
{
  bool ok = true;
#pragma omp parallel for schedule(dynamic, 256) reduction(&& : ok)
  for (int t = 0; t < self->n_tets; t++) {
    PlaSoupPair *pair = soup->pair + soup->first[t];
    const int n = (int)(soup->first[t + 1] - soup->first[t]);
    int *parent = pla_array_new((size_t)n, sizeof *parent);
    double corner[4][3];
    const double *q[4] = { corner[0], corner[1], corner[2], corner[3] };
    ok = ok && parent;
    if (!parent)
      continue;
    for (int c = 0; c < 4; c++)
      pla_lattice_corner(self, t, c, corner[c]);
    for (int i = 0; i < n; i++)
      parent[i] = i;
    for (int i = 0; i < n; i++)
      for (int k = 0; k < 4; k++) {
        const int other = across[4 * (size_t)pair[i].simplex + (size_t)k];
        if (other <= pair[i].simplex)
          continue;
        const PlaSoupPair *there = pla_soup_find(soup, t, other);
        const double *face[3];
        face_of(soup, pair[i].simplex, k, face);
        if (!there || !pla_hulls_meet(face, 3, q, 4))
          continue;
        const int a = pla_union_find_root(parent, i);
        const int b = pla_union_find_root(parent, (int)(there - pair));
        parent[a > b ? a : b] = a > b ? b : a;
      }
    count[t] = 0;
    for (int i = 0; i < n; i++) {
      const int root = pla_union_find_root(parent, i);
      pair[i].piece = root == i ? count[t]++ : pair[root].piece;
    }
    free(parent);
  }
  return ok ? PLA_OK : pla_fail_memory(err, "the lattice's pieces");
}

/* ---- joints ---- */

/* whether triangles in one plane have inner points in common */
static bool
flat_meet(const double *const a[3], const double *const b[3])
{
  /* seen along the axis in which the first is largest */
  double u[3], v[3], n[3], flat[6][2];
  pla_vec3_sub(a[1], a[0], u);
  pla_vec3_sub(a[2], a[0], v);
  pla_vec3_cross(u, v, n);
  int drop = 0;
  for (int d = 1; d < 3; d++)
    drop = fabs(n[d]) > fabs(n[drop]) ? d : drop;
  for (int p = 0; p < 6; p++)
    for (int d = 0; d < 2; d++)
      flat[p][d] = (p < 3 ? a[p] : b[p - 3])[(drop + 1 + d) % 3];
  /* an edge with the triangles on both sides parts them */
  for (int e = 0; e < 6; e++) {
    const int base = e < 3 ? 0 : 3, i = base + e % 3, j = base + (e + 1) % 3;
    bool keep = true, turned = true;
    for (int p = 0; p < 6; p++) {
      int side = pla_orient2d(flat[i], flat[j], flat[p]);
      side = p < 3 ? side : -side;
      keep = keep && side <= 0;
      turned = turned && side >= 0;
    }
    if (keep || turned)
      return false;
  }
  return true;
}

typedef struct {
  const PlaSoup *soup;
  const PlaLatticeEmbedding *self;
  const int *across;
} Fine;

static bool
join(int a, int corner, int b, const void *data, PlaBytes *joints)
{
  const Fine *fine = data;
  const PlaSoup *soup = fine->soup;
  const size_t before = joints->size;
  double x[3][3];
  const double *face[3] = { x[0], x[1], x[2] };
  for (int c = 0, n = 0; c < 4; c++)
    if (c != corner)
      pla_lattice_corner(fine->self, a, c, x[n++]);
  for (size_t i = soup->first[a]; i < soup->first[a + 1]; i++) {
    const int f = soup->pair[i].simplex;
    const double *p[4];
    int side[4], other = -1;
    for (int c = 0; c < 4; c++) {
      p[c] = place(soup, f, c);
      side[c] = pla_orient3d(face[0], face[1], face[2], p[c]);
    }
    const PlaSoupPair *there = pla_soup_find(soup, b, f);
    if (there && pla_hulls_meet(p, 4, face, 3)) {
      other = there->piece;
    } else {
      /* or it ends there, and the next one begins */
      for (int k = 0; k < 4 && other < 0; k++) {
        const int next = fine->across[4 * (size_t)f + (size_t)k];
        bool flat = next >= 0;
        for (int c = 0; c < 4; c++)
          flat = flat && (c == k || side[c] == 0);
        const double *own[3];
        face_of(soup, f, k, own);
        there = flat ? pla_soup_find(soup, b, next) : NULL;
        if (there && flat_meet(face, own))
          other = there->piece;
      }
    }
    if (other < 0)
      continue;
    const PlaLatticeJoint joint = { { fine->self->first_elem[a] + soup->pair[i].piece,
                                      fine->self->first_elem[b] + other } };
    if (!pla_lattice_add_joint(joints, before, &joint))
      return false;
  }
  return true;
}

/* ---- overlaps ---- */

/* volume of the tet @x on the inner side of @n planes */
static double
volume_within(const double x[4][3], const double (*plane)[4], int n)
{
  double side[4];
  int in[4], out[4], n_in = 0, n_out = 0;
  if (n == 0) {
    double dm[9];
    for (int c = 0; c < 3; c++)
      for (int d = 0; d < 3; d++)
        dm[3 * d + c] = x[c + 1][d] - x[0][d];
    return fabs(pla_mat3_det(dm)) / 6.0;
  }
  for (int c = 0; c < 4; c++) {
    side[c] = plane[0][3] - pla_vec3_dot(plane[0], x[c]);
    if (side[c] <= 0.0)
      in[n_in++] = c;
    else
      out[n_out++] = c;
  }
  if (n_in == 0)
    return 0.0;
  if (n_out == 0)
    return volume_within(x, plane + 1, n - 1);
  double cut[3][4][3]; /* up to three tets */
  double prism[6][3];
  int m = 0;
  if (n_in == 1) {
    memcpy(cut[0][0], x[in[0]], sizeof cut[0][0]);
    for (int k = 0; k < 3; k++)
      for (int d = 0; d < 3; d++)
        cut[0][k + 1][d] =
            x[in[0]][d] + side[in[0]] / (side[in[0]] - side[out[k]]) * (x[out[k]][d] - x[in[0]][d]);
    return volume_within((const double(*)[3])cut[0], plane + 1, n - 1);
  }
  for (int i = 0; i < n_in; i++) {
    memcpy(prism[n_in == 3 ? i : 3 * i], x[in[i]], sizeof prism[0]);
    for (int k = 0; k < n_out; k++) {
      double *to = prism[n_in == 3 ? 3 + i : 3 * i + 1 + k];
      for (int d = 0; d < 3; d++)
        to[d] =
            x[in[i]][d] + side[in[i]] / (side[in[i]] - side[out[k]]) * (x[out[k]][d] - x[in[i]][d]);
    }
  }
  static const int part[3][4] = { { 0, 1, 2, 3 }, { 1, 2, 3, 4 }, { 2, 3, 4, 5 } };
  double sum = 0.0;
  for (; m < 3; m++) {
    for (int c = 0; c < 4; c++)
      memcpy(cut[m][c], prism[part[m][c]], sizeof prism[0]);
    sum += volume_within((const double(*)[3])cut[m], plane + 1, n - 1);
  }
  return sum;
}

/* common volume of a fine tet and a lattice tet, m^3 */
static double
common_volume(const PlaSoup *soup, int f, const double plane[4][4])
{
  double x[4][3];
  for (int c = 0; c < 4; c++)
    memcpy(x[c], place(soup, f, c), sizeof x[c]);
  return volume_within((const double(*)[3])x, plane, 4);
}

void
pla_lattice_overlap_clear(PlaLatticeOverlap *self)
{
  free(self->start);
  free(self->tet);
  free(self->volume);
  *self = (PlaLatticeOverlap){ 0 };
}

static PlaStatus
measure(const PlaSoup *soup, PlaLatticeEmbedding *self, PlaLatticeOverlap *out, PlaError *err)
{
  double *volume = pla_array_new(soup->n_pairs, sizeof *volume);
  out->n_elems = self->n_elems;
  out->start = pla_array_new0((size_t)self->n_elems + 2, sizeof *out->start);
  out->tet = pla_array_new(soup->n_pairs, sizeof *out->tet);
  out->volume = pla_array_new(soup->n_pairs, sizeof *out->volume);
  if (!volume || !out->start || !out->tet || !out->volume) {
    free(volume);
    pla_lattice_overlap_clear(out);
    return pla_fail_memory(err, "the lattice's overlaps");
  }
#pragma omp parallel for schedule(dynamic, 256)
  for (int t = 0; t < self->n_tets; t++) {
    double corner[4][3], plane[4][4];
    for (int c = 0; c < 4; c++)
      pla_lattice_corner(self, t, c, corner[c]);
    pla_tet_planes((const double(*)[3])corner, plane);
    for (size_t p = soup->first[t]; p < soup->first[t + 1]; p++)
      volume[p] = common_volume(soup, soup->pair[p].simplex, (const double(*)[4])plane);
  }
  /* by element, in the order of fine tets */
  for (size_t p = 0; p < soup->n_pairs; p++)
    out->start[self->first_elem[soup->pair[p].tet] + soup->pair[p].piece + 2]++;
  for (int e = 0; e < self->n_elems; e++)
    out->start[e + 2] += out->start[e + 1];
  for (size_t p = 0; p < soup->n_pairs; p++) {
    const size_t to = out->start[self->first_elem[soup->pair[p].tet] + soup->pair[p].piece + 1]++;
    out->tet[to] = soup->pair[p].simplex;
    out->volume[to] = volume[p];
  }
  for (int e = 0; e < self->n_elems; e++) {
    double sum = 0.0;
    for (size_t k = out->start[e]; k < out->start[e + 1]; k++)
      sum += out->volume[k];
    self->fill[e] = fmin(sum / pla_lattice_volume(self, e), 1.0);
  }
  free(volume);
  return PLA_OK;
}

PlaStatus
pla_lattice_from_tets(const PlaTetMesh *mesh, double cell, PlaProgress *progress,
                      PlaLatticeEmbedding **out, PlaEmbedding *verts, PlaLatticeOverlap *overlap,
                      PlaError *err)
{
  PlaSoup soup = { .per = 4, .n_simplices = mesh->n_tets, .vert = mesh->tet, .pos = mesh->rest };
  PlaLatticeEmbedding *self = pla_array_new0(1, sizeof *self);
  int *across = NULL, *count = NULL;
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  *out = NULL;
  *verts = (PlaEmbedding){ 0 };
  *overlap = (PlaLatticeOverlap){ 0 };
  if (!self)
    return pla_fail_memory(err, "the lattice");
  PlaStatus st = PLA_OK;
  if (mesh->n_tets == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "The mesh has no tetrahedra to embed");
  for (int t = 0; st == PLA_OK && t < mesh->n_tets; t++) {
    const double *p[4];
    for (int c = 0; c < 4; c++) {
      p[c] = place(&soup, t, c);
      for (int d = 0; d < 3; d++) {
        lo[d] = fmin(lo[d], p[c][d]);
        hi[d] = fmax(hi[d], p[c][d]);
      }
    }
    if (pla_orient3d(p[0], p[1], p[2], p[3]) <= 0)
      st =
          pla_fail(err, PLA_ERR_GEOMETRY, "tetrahedron %d of the fine mesh is flat or inverted", t);
  }
  if (st == PLA_OK)
    st = pla_lattice_frame_init(&self->frame, lo, hi, cell, 0, 0, err);
  if (st == PLA_OK)
    st = pla_soup_neighbours(&soup, &across, err);
  pla_progress_phase(progress, "Finding material", 0.6);
  if (st == PLA_OK)
    st = pla_soup_init(&soup, self, NULL, 0, progress, err);
  if (st == PLA_OK && !pla_progress_phase(progress, "Joining elements", 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK) {
    count = pla_array_new((size_t)self->n_tets, sizeof *count);
    st = count ? find_pieces(&soup, self, across, count, err)
               : pla_fail_memory(err, "the lattice's pieces");
  }
  if (st == PLA_OK)
    st = pla_lattice_number_elems(self, count, err);
  if (st == PLA_OK) {
    const Fine fine = { &soup, self, across };
    st = pla_lattice_join(self, join, &fine, err);
  }
  if (st == PLA_OK)
    st = measure(&soup, self, overlap, err);
  if (st == PLA_OK)
    st = pla_soup_embed(&soup, self, mesh->n_verts, verts, err);
  pla_soup_clear(&soup);
  free(across);
  free(count);
  if (st == PLA_OK) {
    *out = self;
  } else {
    pla_lattice_overlap_clear(overlap);
    pla_lattice_embedding_free(self);
  }
  return st;
}

/* ---- what elements inherit ---- */

void
pla_lattice_carry_tags(const PlaLatticeOverlap *overlap, const int *tag, int *out)
{
#pragma omp parallel for schedule(static)
  for (int e = 0; e < overlap->n_elems; e++) {
    double most = -1.0;
    out[e] = 0;
    for (size_t k = overlap->start[e]; k < overlap->start[e + 1]; k++) {
      const int here = tag[overlap->tet[k]];
      bool seen = false;
      for (size_t l = overlap->start[e]; l < k && !seen; l++)
        seen = tag[overlap->tet[l]] == here;
      if (seen)
        continue;
      double sum = 0.0;
      for (size_t l = k; l < overlap->start[e + 1]; l++)
        sum += tag[overlap->tet[l]] == here ? overlap->volume[l] : 0.0;
      if (sum > most || (sum == most && here < out[e])) {
        most = sum;
        out[e] = here;
      }
    }
  }
}

void
pla_lattice_carry_means(const PlaLatticeOverlap *overlap, int n, const double *value, double *out)
{
#pragma omp parallel for schedule(static)
  for (int e = 0; e < overlap->n_elems; e++) {
    double volume = 0.0;
    for (size_t k = overlap->start[e]; k < overlap->start[e + 1]; k++)
      volume += overlap->volume[k];
    for (int c = 0; c < n; c++) {
      double sum = 0.0;
      for (size_t k = overlap->start[e]; k < overlap->start[e + 1]; k++)
        sum += overlap->volume[k] * value[(size_t)overlap->tet[k] * (size_t)n + (size_t)c];
      out[(size_t)e * (size_t)n + (size_t)c] = volume > 0.0 ? sum / volume : 0.0;
    }
  }
}

void
pla_lattice_carry_axes(const PlaLatticeOverlap *overlap, const double *axis, double *out)
{
#pragma omp parallel for schedule(static)
  for (int e = 0; e < overlap->n_elems; e++) {
    double sum[9] = { 0.0 }, w[3], q[9], along = 0.0;
    for (size_t k = overlap->start[e]; k < overlap->start[e + 1]; k++) {
      const double *d = axis + 3 * (size_t)overlap->tet[k];
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          sum[3 * i + j] += overlap->volume[k] * d[i] * d[j];
    }
    pla_eig3(sum, w, q); /* the last is largest */
    for (size_t k = overlap->start[e]; k < overlap->start[e + 1]; k++) {
      const double *d = axis + 3 * (size_t)overlap->tet[k];
      along += overlap->volume[k] * (d[0] * q[2] + d[1] * q[5] + d[2] * q[8]);
    }
    for (int i = 0; i < 3; i++)
      out[3 * (size_t)e + (size_t)i] =
          w[2] > 0.0 ? (along < 0.0 ? -q[3 * i + 2] : q[3 * i + 2]) : 0.0;
  }
}

void
pla_lattice_carry_flags(const PlaLatticeEmbedding *self, const PlaEmbedding *verts,
                        const uint8_t *flag, uint8_t *out)
{
  memset(out, 0, (size_t)self->n_elems);
  for (int v = 0; v < verts->n_points; v++)
    out[verts->elem[v]] |= flag[v];
}
