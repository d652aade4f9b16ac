/* Volume correction in full space: solves (D M^-1 D^T) p = change of the vertex volumes with one
 * sparse factor, then moves vertices by -M^-1 D^T p (Luo 2020, 6.5). */
#include "sim/tongue/tongue-volume.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/cholmod.h>

struct PlaVolumeKeeper {
  int n_verts, n_tets;
  int *tet;
  double *volume; /* of each vertex at rest, m^3 */
  double *change; /* scratch (n_verts) */
  /* slopes: how the volumes of vertices around j, itself included, change with its place */
  int *start;      /* n_verts + 1 */
  int *vert;       /* whose volume */
  double *slope;   /* m^2 (x 3) */
  double *inverse; /* of the mass, 1/kg; 0 where held */
  cholmod_common common;
  cholmod_factor *factor;
  cholmod_dense *rhs;
};

void
pla_volume_keeper_free(PlaVolumeKeeper *self)
{
  if (!self)
    return;
  cholmod_free_factor(&self->factor, &self->common);
  cholmod_free_dense(&self->rhs, &self->common);
  cholmod_finish(&self->common);
  free(self->tet);
  free(self->volume);
  free(self->change);
  free(self->start);
  free(self->vert);
  free(self->slope);
  free(self->inverse);
  free(self);
}

/* the volume of a tet, and its slope at each corner */
static double
tet_volume(const double *pos, const int v[4], double slope[4][3])
{
  double e[3][3];
  for (int a = 0; a < 3; a++)
    pla_vec3_sub(pos + 3 * (size_t)v[a + 1], pos + 3 * (size_t)v[0], e[a]);
  double across[3];
  pla_vec3_cross(e[1], e[2], across);
  if (slope) {
    pla_vec3_cross(e[1], e[2], slope[1]);
    pla_vec3_cross(e[2], e[0], slope[2]);
    pla_vec3_cross(e[0], e[1], slope[3]);
    for (int d = 0; d < 3; d++) {
      for (int a = 1; a < 4; a++)
        slope[a][d] /= 6.0;
      slope[0][d] = -slope[1][d] - slope[2][d] - slope[3][d];
    }
  }
  return pla_vec3_dot(e[0], across) / 6.0;
}

static void
vertex_volumes(const PlaVolumeKeeper *self, const double *pos, double *volume)
{
  memset(volume, 0, (size_t)self->n_verts * sizeof *volume);
  for (int t = 0; t < self->n_tets; t++) {
    const int *v = self->tet + 4 * (size_t)t;
    const double share = 0.25 * tet_volume(pos, v, NULL);
    for (int a = 0; a < 4; a++)
      volume[v[a]] += share;
  }
}

/* row @j of the slopes: room for four entries a tet, of which equal vertices are joined */
static PlaStatus
fill_slopes(PlaVolumeKeeper *self, const double *rest, PlaError *err)
{
  const size_t n = (size_t)self->n_verts;
  int *next = pla_array_new0(n + 1, sizeof *next);
  self->start = pla_array_new0(n + 1, sizeof *self->start);
  self->vert = pla_array_new((size_t)self->n_tets, 16 * sizeof *self->vert);
  self->slope = pla_array_new0((size_t)self->n_tets, 48 * sizeof *self->slope);
  if (!next || !self->start || !self->vert || !self->slope) {
    free(next);
    return pla_fail_memory(err, "pressures of a tongue");
  }
  for (int i = 0; i < 4 * self->n_tets; i++)
    self->start[self->tet[i] + 1] += 4;
  for (size_t v = 0; v < n; v++)
    self->start[v + 1] += self->start[v];
  for (int t = 0; t < self->n_tets; t++) {
    const int *v = self->tet + 4 * (size_t)t;
    double grad[4][3];
    tet_volume(rest, v, grad);
    for (int a = 0; a < 4; a++)
      for (int b = 0; b < 4; b++) {
        const int from = self->start[v[a]];
        int k = from;
        while (k < from + next[v[a]] && self->vert[k] != v[b])
          k++;
        if (k == from + next[v[a]])
          next[v[a]]++;
        self->vert[k] = v[b];
        for (int d = 0; d < 3; d++)
          self->slope[3 * (size_t)k + (size_t)d] += 0.25 * grad[a][d];
      }
  }
  /* close the gaps */
  int end = 0;
  for (size_t v = 0; v < n; v++) {
    const int from = self->start[v];
    self->start[v] = end;
    for (int k = 0; k < next[v]; k++, end++) {
      self->vert[end] = self->vert[from + k];
      memmove(self->slope + 3 * (size_t)end, self->slope + 3 * (size_t)(from + k),
              3 * sizeof(double));
    }
  }
  self->start[n] = end;
  free(next);
  return PLA_OK;
}

/* D M^-1 D^T, lower half, with a little on the diagonal for vertices that nothing free surrounds */
static PlaStatus
factor_matrix(PlaVolumeKeeper *self, PlaError *err)
{
  const size_t n = (size_t)self->n_verts;
  size_t pairs = n;
  for (size_t j = 0; j < n; j++) {
    const size_t ring = (size_t)(self->start[j + 1] - self->start[j]);
    pairs += self->inverse[j] > 0.0 ? ring * (ring + 1) / 2 : 0;
  }
  cholmod_triplet *triplet = cholmod_allocate_triplet(n, n, pairs, -1, CHOLMOD_REAL, &self->common);
  double most = 0.0, *x = triplet ? triplet->x : NULL;
  int *row = triplet ? triplet->i : NULL, *col = triplet ? triplet->j : NULL;
  size_t nnz = 0;
  for (size_t j = 0; triplet && j < n; j++)
    for (int a = self->start[j]; self->inverse[j] > 0.0 && a < self->start[j + 1]; a++)
      for (int b = self->start[j]; b < self->start[j + 1]; b++) {
        if (self->vert[b] > self->vert[a])
          continue;
        row[nnz] = self->vert[a];
        col[nnz] = self->vert[b];
        x[nnz] = self->inverse[j] *
                 pla_vec3_dot(self->slope + 3 * (size_t)a, self->slope + 3 * (size_t)b);
        if (a == b)
          most = fmax(most, x[nnz]);
        nnz++;
      }
  for (size_t v = 0; triplet && v < n; v++, nnz++) {
    row[nnz] = col[nnz] = (int)v;
    x[nnz] = 1e-8 * most;
  }
  if (triplet)
    triplet->nnz = nnz;
  cholmod_sparse *matrix = triplet ? cholmod_triplet_to_sparse(triplet, nnz, &self->common) : NULL;
  cholmod_free_triplet(&triplet, &self->common);
  self->factor = matrix ? cholmod_analyze(matrix, &self->common) : NULL;
  if (self->factor)
    cholmod_factorize(matrix, self->factor, &self->common);
  cholmod_free_sparse(&matrix, &self->common);
  self->rhs = cholmod_zeros(n, 1, CHOLMOD_REAL, &self->common);
  if (!self->factor || !self->rhs)
    return pla_fail_memory(err, "pressures of a tongue");
  return self->common.status == CHOLMOD_OK
             ? PLA_OK
             : pla_fail(err, PLA_ERR_CONVERGENCE,
                        "The matrix of the tongue's pressures could not be factored");
}

PlaStatus
pla_volume_keeper_new(const PlaTetMesh *mesh, const double *mass, const unsigned char *held,
                      PlaVolumeKeeper **out, PlaError *err)
{
  const size_t n = (size_t)mesh->n_verts;
  PlaVolumeKeeper *self = pla_array_new0(1, sizeof *self);
  *out = NULL;
  if (!self)
    return pla_fail_memory(err, "pressures of a tongue");
  cholmod_start(&self->common);
  self->common.print = 0;
  self->n_verts = mesh->n_verts;
  self->n_tets = mesh->n_tets;
  self->tet = pla_array_dup(mesh->tet, 4 * (size_t)mesh->n_tets, sizeof *self->tet);
  self->volume = pla_array_new(n, sizeof *self->volume);
  self->change = pla_array_new(n, sizeof *self->change);
  self->inverse = pla_array_new(n, sizeof *self->inverse);
  PlaStatus st = self->tet && self->volume && self->change && self->inverse
                     ? PLA_OK
                     : pla_fail_memory(err, "pressures of a tongue");
  if (st == PLA_OK) {
    vertex_volumes(self, mesh->rest, self->volume);
    for (size_t v = 0; v < n; v++)
      self->inverse[v] = held[v] ? 0.0 : 1.0 / mass[v];
    st = fill_slopes(self, mesh->rest, err);
  }
  if (st == PLA_OK)
    st = factor_matrix(self, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_volume_keeper_free(self);
  return st;
}

PlaStatus
pla_volume_keeper_correct(PlaVolumeKeeper *self, double *pos, PlaError *err)
{
  double *rhs = self->rhs->x;
  vertex_volumes(self, pos, rhs);
  for (int v = 0; v < self->n_verts; v++)
    rhs[v] -= self->volume[v];
  cholmod_dense *pressure = cholmod_solve(CHOLMOD_A, self->factor, self->rhs, &self->common);
  if (!pressure)
    return pla_fail_memory(err, "pressures of a tongue");
  const double *p = pressure->x;
  for (int j = 0; j < self->n_verts; j++)
    for (int k = self->start[j]; k < self->start[j + 1]; k++)
      for (int d = 0; d < 3; d++)
        pos[3 * (size_t)j + (size_t)d] -=
            self->inverse[j] * self->slope[3 * (size_t)k + (size_t)d] * p[self->vert[k]];
  cholmod_free_dense(&pressure, &self->common);
  return PLA_OK;
}

double
pla_volume_keeper_change(PlaVolumeKeeper *self, const double *pos)
{
  double sum = 0.0, whole = 0.0;
  vertex_volumes(self, pos, self->change);
  for (int v = 0; v < self->n_verts; v++) {
    const double off = self->change[v] - self->volume[v];
    sum += self->volume[v] > 0.0 ? off * off / self->volume[v] : 0.0;
    whole += self->volume[v];
  }
  return sqrt(sum / whole);
}
