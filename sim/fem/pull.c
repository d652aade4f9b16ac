/* The change of forces while some vertices move: f += -K dx, K the exact tangent, without a matrix.
 *
 * With F = sum_a x_a g_a^T, tets, hexes, and domains of averaged F give -w (dP/dF : dF) g_a; a
 * patch gives -u''(J) s_a (s . dx), s = dJ/dx.  What does not move is skipped. */
#include "sim/fem/model-data.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_VERTS = 8 }; /* of a cell */

static bool
any_moves(const unsigned char *moves, const int *vert, int k)
{
  for (int a = 0; a < k; a++)
    if (moves[vert[a]])
      return true;
  return false;
}

static void
pull_cell(const PlaFemModel *model, int c, const double *pos, const double *pressure, int n,
          double *const *motion, double *const *force)
{
  double stiffness[9 * MOST_VERTS * MOST_VERTS];
  const int *verts, k = pla_fem_cell_verts(model, c, &verts);
  pla_fem_cell_stiffness(model, c, pos, pressure, false, stiffness);
  for (int q = 0; q < n; q++)
    for (int a = 0; a < k; a++)
      for (int b = 0; b < k; b++) {
        const double *d = motion[q] + 3 * (size_t)verts[b];
        for (int r = 0; r < 3; r++)
          force[q][3 * (size_t)verts[a] + (size_t)r] -=
              pla_vec3_dot(stiffness + 3 * k * (3 * a + r) + 3 * b, d);
      }
}

static void
pull_patch(const PlaFemModel *model, int p, const double *pos, double *slope, int n,
           double *const *motion, double *const *force)
{
  const PlaFemPatches *self = model->patches;
  const int first = self->vert_start[p], k = self->vert_start[p + 1] - first;
  const double curvature = pla_fem_patch_slope(model, p, pos, false, slope);
  for (int q = 0; q < n; q++) {
    double change = 0.0;
    for (int a = 0; a < k; a++)
      change += pla_vec3_dot(slope + 3 * (size_t)a, motion[q] + 3 * (size_t)self->vert[first + a]);
    for (int a = 0; a < k; a++)
      for (size_t d = 0; d < 3; d++)
        force[q][3 * (size_t)self->vert[first + a] + d] -=
            curvature * change * slope[3 * (size_t)a + d];
  }
}

static void
pull_domain(const PlaFemModel *model, int d, const double *pos, int n, double *const *motion,
            double *const *force)
{
  const PlaFemDomains *self = model->domains;
  double h[81];
  pla_fem_domain_tangent(model, d, pos, false, h);
  for (int q = 0; q < n; q++) {
    double f[9] = { 0 }, p[9] = { 0 }, own[3];
    for (int k = self->vert_start[d]; k < self->vert_start[d + 1]; k++)
      for (int i = 0; i < 9; i++)
        f[i] += motion[q][3 * (size_t)self->vert[k] + (size_t)(i / 3)] *
                self->grad[3 * (size_t)k + (size_t)(i % 3)];
    for (int i = 0; i < 81; i++)
      p[i / 9] += h[i] * f[i % 9];
    for (int k = self->vert_start[d]; k < self->vert_start[d + 1]; k++) {
      pla_mat3_apply(p, self->grad + 3 * (size_t)k, own);
      for (size_t i = 0; i < 3; i++)
        force[q][3 * (size_t)self->vert[k] + i] -= own[i];
    }
  }
}

PlaStatus
pla_fem_add_pull(const PlaFemModel *model, const double *pos, int n, double *const *motion,
                 double *const *force, PlaError *err)
{
  const PlaFemPatches *patches = model->patches;
  const PlaFemDomains *domains = model->domains;
  const int n_cells = model->n_tets + model->n_hexes;
  unsigned char *moves = pla_array_new0((size_t)model->n_verts, 1);
  double *pressure = NULL, *slope = NULL;
  int most = 0;
  for (int p = 0; patches && p < patches->n; p++)
    most = patches->vert_start[p + 1] - patches->vert_start[p] > most
               ? patches->vert_start[p + 1] - patches->vert_start[p]
               : most;
  if (patches) {
    const size_t room =
        3 * (size_t)most > (size_t)patches->n ? 3 * (size_t)most : (size_t)patches->n;
    pressure = pla_array_new((size_t)n_cells, sizeof *pressure);
    slope = pla_array_new(room, sizeof *slope);
  }
  const bool enough = moves && (!patches || (pressure && slope));
  for (int q = 0; enough && q < n; q++)
    for (size_t i = 0; i < 3 * (size_t)model->n_verts; i++)
      moves[i / 3] |= motion[q][i] != 0.0;
  if (enough && patches)
    pla_fem_patches_pressure(model, pos, slope, pressure);
  for (int c = 0; enough && c < n_cells; c++) {
    const int *verts, k = pla_fem_cell_verts(model, c, &verts);
    if (any_moves(moves, verts, k))
      pull_cell(model, c, pos, pressure, n, motion, force);
  }
  for (int p = 0; enough && patches && p < patches->n; p++)
    if (any_moves(moves, patches->vert + patches->vert_start[p],
                  patches->vert_start[p + 1] - patches->vert_start[p]))
      pull_patch(model, p, pos, slope, n, motion, force);
  for (int d = 0; enough && domains && d < domains->n; d++)
    if (any_moves(moves, domains->vert + domains->vert_start[d],
                  domains->vert_start[d + 1] - domains->vert_start[d]))
      pull_domain(model, d, pos, n, motion, force);
  free(moves);
  free(pressure);
  free(slope);
  return enough ? PLA_OK : pla_fail_memory(err, "the forces");
}
