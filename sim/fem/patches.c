/* The mixed formulation: nearly incompressible bodies without locking.
 *
 * A linear tet has one det F, and a mesh has five times as many tets as vertices: asking each of
 * them to keep its volume leaves no freedom to bend.  Here the resistance to change of volume acts
 * on averages instead: in tets, one for each vertex of an independent set, over the tets (of one
 * material) around it, as the elimination of a pressure that is constant there would give; in
 * hexes, one for each element (Nagtegaal, Parks and Rice 1974).  One average for every vertex
 * (Bonet and Burton 1998) is as many constraints as the continuum has and still too stiff: a block
 * that leans at nu = 0.4999 gave way by 16 % too little on 4^3 cells, 8 % now.  Psi(F) = Psi_e(F) +
 * k u(J) is split so that tets keep their shear modulus and a first Lame constant of zero:
 * enough to rule out volumes that alternate from tet to tet and that averages do not see (Puso and
 * Solberg 2006), too little to lock.  As elements shrink, averages and elements agree, so nothing
 * is lost in the limit.
 *
 * All of it is one energy: its slope and its second derivatives are exact. */
#include "sim/fem/model-data.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/boundary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* First Lame constant that elements keep, in shear moduli.  Less would let tets collapse.  Hexes
 * are asked for their volume at eight points: half of what makes their own resistance that of shape
 * alone gives them more freedom to bend, and still resists down to the floor of J (at -0.43 it
 * would end there). */
static const double kept_by_tets = 0.0, kept_by_hexes = -1.0 / 3.0;
static const double j_floor = 0.1; /* below this, (ln J)^2 is continued */

void
pla_fem_patches_free(PlaFemPatches *patches)
{
  if (!patches)
    return;
  free(patches->cell_start);
  free(patches->cell);
  free(patches->vert_start);
  free(patches->vert);
  free(patches->volume);
  free(patches->modulus_log);
  free(patches->modulus_square);
  free(patches->of_cell);
  free(patches->barrier);
  free(patches->modulus);
  free(patches);
}

/* takes from @constants what patches shall resist, and tells it */
static PlaStatus
split(const PlaFemModel *model, const PlaMaterial *material, double *constants, double *modulus,
      PlaError *err)
{
  const bool averaged = model->formulation == PLA_FORMULATION_AVERAGED;
  const double kept = averaged && model->n_tets == 0 ? kept_by_hexes : kept_by_tets;
  double mu, lambda, vol;
  *modulus = 0.0;
  if (!material->volume_modulus && averaged)
    return PLA_OK;
  if (!material->volume_modulus)
    return pla_fail(
        err, PLA_ERR_USAGE,
        "the material '%s' has no volume term of its own, which the formulation 'mixed' "
        "needs; use 'neo-hookean', or the formulation 'standard'",
        material->id);
  pla_material_moduli(material, constants, &mu, &lambda, &vol);
  *modulus = fmax(lambda - kept * mu, 0.0);
  *material->volume_modulus(constants) -= *modulus;
  return PLA_OK;
}

static PlaStatus
split_constants(PlaFemModel *model, double *cell_modulus, PlaError *err)
{
  const int n_cells = model->n_tets + model->n_hexes;
  double *of_material = pla_array_new((size_t)model->n_materials, sizeof *of_material);
  double *of_row = NULL;
  PlaStatus st = of_material ? PLA_OK : pla_fail_memory(err, "the model");
  int n_rows = 0;
  for (int m = 0; st == PLA_OK && m < model->n_materials; m++) {
    double *constants = model->constants + (size_t)PLA_MAX_CONSTANTS * (size_t)m;
    memcpy(constants, model->material[m].constants, PLA_MAX_CONSTANTS * sizeof *constants);
    st = split(model, model->material[m].material, constants, &of_material[m], err);
  }
  if (st == PLA_OK && model->own) {
    for (int c = 0; c < n_cells; c++)
      n_rows = model->own[c] >= n_rows ? model->own[c] + 1 : n_rows;
    of_row = pla_array_new((size_t)n_rows, sizeof *of_row);
    if (!of_row)
      st = pla_fail_memory(err, "the model");
    for (int r = 0; st == PLA_OK && r < n_rows; r++)
      of_row[r] = -1.0;
  }
  for (int c = 0; st == PLA_OK && c < n_cells; c++) {
    int row = model->own ? model->own[c] : -1;
    if (row >= 0 && of_row[row] < 0.0)
      st = split(model, model->material[model->cell_material[c]].material,
                 model->own_constants + (size_t)PLA_MAX_CONSTANTS * (size_t)row, &of_row[row], err);
    cell_modulus[c] = row >= 0 ? of_row[row] : of_material[model->cell_material[c]];
  }
  free(of_material);
  free(of_row);
  return st;
}

static int
compare_ints(const void *a, const void *b)
{
  return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* the solid angle of corner @a of tet @t */
static double
corner_angle(const PlaFemModel *model, int t, int a)
{
  const int *tet = model->tet + 4 * (size_t)t;
  double e[3][3], cross[3];
  for (int i = 0; i < 3; i++) {
    pla_vec3_sub(model->rest + 3 * (size_t)tet[(a + 1 + i) % 4], model->rest + 3 * (size_t)tet[a],
                 e[i]);
    const double length = pla_vec3_norm(e[i]);
    for (int d = 0; d < 3; d++)
      e[i][d] /= length;
  }
  pla_vec3_cross(e[1], e[2], cross);
  return 2.0 * atan2(fabs(pla_vec3_dot(e[0], cross)), 1.0 + pla_vec3_dot(e[0], e[1]) +
                                                          pla_vec3_dot(e[1], e[2]) +
                                                          pla_vec3_dot(e[2], e[0]));
}

/* Marks the vertices whose tets' corners there are on average more than half as large again as at
 * every neighbour, where most tets have one: cubes that are split into five tets, where every other
 * vertex has 8 right-angled corners, and the others have 32 small ones.  Anywhere else none. */
static bool
find_large_corners(const PlaFemModel *model, double *mean, unsigned char *large)
{
  const double clearly = 1.5; /* five tets of a cube: 4; six: at most 1.5 inside the body */
  const PlaIncidence *inc = &model->incidence;
  int n_large = 0;
  for (int v = 0; v < model->n_verts; v++) {
    int n = 0;
    mean[v] = 0.0;
    for (int k = inc->start[v]; k < inc->start[v + 1] && inc->corner[k] < 4 * model->n_tets; k++) {
      mean[v] += corner_angle(model, inc->corner[k] / 4, inc->corner[k] % 4);
      n++;
    }
    large[v] = n > 0;
    mean[v] /= n > 0 ? n : 1;
  }
  for (int t = 0; t < model->n_tets; t++)
    for (size_t i = 0; i < 16; i++) {
      const int v = model->tet[4 * (size_t)t + i / 4], u = model->tet[4 * (size_t)t + i % 4];
      large[v] &= v == u || mean[v] > clearly * mean[u];
    }
  for (size_t k = 0; k < 4 * (size_t)model->n_tets; k++)
    n_large += large[model->tet[k]];
  return 2 * n_large > model->n_tets;
}

/* The pass in which each vertex may become a seed: inside the body, then on its outside; where
 * corners differ as above, those with large ones after all others.  As seeds these have patches of
 * 8 small tets, and many of them are too stiff: Cook's membrane of five tets a cube, one cell
 * thick, gave way by 3.7 % too little at 16 cells a side, and by 0.3 % too much this way. */
static PlaStatus
find_passes(const PlaFemModel *model, unsigned char *pass, PlaError *err)
{
  const PlaTetMesh tets = { model->n_verts, model->n_tets, model->rest, model->tet };
  const PlaHexMesh hexes = { model->n_verts, model->n_hexes, model->rest, model->hex };
  double *mean = pla_array_new((size_t)model->n_verts, sizeof *mean);
  PlaBoundary boundary = { 0 };
  PlaStatus st = mean ? pla_boundary_init(&boundary, &tets, &hexes, false, err)
                      : pla_fail_memory(err, "the model");
  if (st == PLA_OK) {
    const bool differ = find_large_corners(model, mean, pass);
    for (int v = 0; v < model->n_verts; v++)
      pass[v] = differ && pass[v] ? 2 : 0;
    for (int k = 0; k < 3 * boundary.n_tris; k++)
      pass[boundary.tri[k]] |= 1;
  }
  pla_boundary_clear(&boundary);
  free(mean);
  return st;
}

/* Seeds: vertices no two of which share a tet, such that every vertex with tets is one or
 * neighbours one. */
static PlaStatus
choose_seeds(const PlaFemModel *model, unsigned char *seed, PlaError *err)
{
  const PlaIncidence *inc = &model->incidence;
  unsigned char *of_vert = pla_array_new((size_t)model->n_verts, 1);
  PlaStatus st = of_vert ? find_passes(model, of_vert, err) : pla_fail_memory(err, "the model");
  for (int pass = 0; st == PLA_OK && pass < 4; pass++)
    for (int v = 0; v < model->n_verts; v++) {
      bool has_tets = false, free = of_vert[v] == pass;
      for (int k = inc->start[v]; free && k < inc->start[v + 1]; k++) {
        const int t = inc->corner[k] / 4;
        if (inc->corner[k] >= 4 * model->n_tets)
          continue;
        has_tets = true;
        for (int a = 0; a < 4; a++)
          free &= !seed[model->tet[4 * (size_t)t + (size_t)a]];
      }
      seed[v] |= free && has_tets;
    }
  free(of_vert);
  return st;
}

/* the seed that most tets around tet @t have, the first of equals; @votes: zeros, and so again
 * (n_verts) */
static int
most_common_seed(const PlaFemModel *model, const unsigned char *seed, int t, int *votes)
{
  const PlaIncidence *inc = &model->incidence;
  const int *tet = model->tet + 4 * (size_t)t;
  int best = -1;
  for (int clear = 0; clear < 2; clear++)
    for (int a = 0; a < 4; a++)
      for (int k = inc->start[tet[a]]; k < inc->start[tet[a] + 1]; k++)
        for (int c = 0; inc->corner[k] < 4 * model->n_tets && c < 4; c++) {
          const int v = model->tet[4 * (size_t)(inc->corner[k] / 4) + (size_t)c];
          votes[v] = clear ? 0 : votes[v] + seed[v];
          if (!clear && seed[v] &&
              (best < 0 || votes[v] > votes[best] || (votes[v] == votes[best] && v < best)))
            best = v;
        }
  return best;
}

/* Which seed's patch each tet, and so each of its corners, belongs to: that of the seed it has, or
 * of the one that most of its neighbours have. */
static PlaStatus
choose_owners(const PlaFemModel *model, int *owner, PlaError *err)
{
  unsigned char *seed = pla_array_new0((size_t)model->n_verts, 1);
  int *votes = pla_array_new0((size_t)model->n_verts, sizeof *votes);
  PlaStatus st = seed && votes ? choose_seeds(model, seed, err) : pla_fail_memory(err, "the model");
  for (int t = 0; st == PLA_OK && t < model->n_tets; t++) {
    const int *tet = model->tet + 4 * (size_t)t;
    int own = -1;
    for (int a = 0; a < 4; a++)
      own = seed[tet[a]] ? tet[a] : own;
    own = own >= 0 ? own : most_common_seed(model, seed, t, votes);
    for (size_t a = 0; a < 4; a++)
      owner[4 * (size_t)t + a] = own;
  }
  free(seed);
  free(votes);
  return st;
}

/* corners of tets by their owners */
static PlaStatus
list_owned(const PlaFemModel *model, int **out_start, int **out_corner, PlaError *err)
{
  const size_t n = 4 * (size_t)model->n_tets;
  int *owner = pla_array_new(n, sizeof *owner);
  int *start = *out_start = pla_array_new0((size_t)model->n_verts + 1, sizeof *start);
  int *corner = *out_corner = pla_array_new(n, sizeof *corner);
  int *fill = pla_array_new0((size_t)model->n_verts, sizeof *fill);
  PlaStatus st = owner && start && corner && fill ? choose_owners(model, owner, err)
                                                  : pla_fail_memory(err, "the model");
  if (st == PLA_OK) {
    for (size_t k = 0; k < n; k++)
      start[owner[k] + 1]++;
    for (int v = 0; v < model->n_verts; v++)
      start[v + 1] += start[v];
    for (size_t k = 0; k < n; k++)
      corner[start[owner[k]] + fill[owner[k]]++] = (int)k;
  }
  free(owner);
  free(fill);
  return st;
}

/* corners by material, then in stored order */
static void
sort_by_material(const PlaFemModel *model, const int *corner, int n, int (*list)[2])
{
  for (int k = 0; k < n; k++) {
    /* insertion: a vertex has few tets */
    int m = model->cell_material[corner[k] / 4], at = k;
    for (; at > 0 && list[at - 1][0] > m; at--)
      memcpy(list[at], list[at - 1], sizeof *list);
    list[at][0] = m;
    list[at][1] = corner[k];
  }
}

/* one patch for each owner and material of tets, and one for each hex; a first pass counts */
static PlaStatus
list_patches(PlaFemModel *model, PlaFemPatches *self, PlaError *err)
{
  int *owned_start = NULL, *owned = NULL, most = 8;
  PlaStatus st = list_owned(model, &owned_start, &owned, err);
  for (int v = 0; st == PLA_OK && v < model->n_verts; v++)
    most = owned_start[v + 1] - owned_start[v] > most ? owned_start[v + 1] - owned_start[v] : most;
  int(*list)[2] = pla_array_new((size_t)most, sizeof *list);
  int *verts = pla_array_new(4 * (size_t)most, sizeof *verts);
  if (st == PLA_OK && !(list && verts))
    st = pla_fail_memory(err, "the model");
  size_t n_cells = 0, n_verts = 0;
  for (int pass = 0; st == PLA_OK && pass < 2; pass++) {
    bool fill = pass == 1;
    self->n = 0;
    n_cells = n_verts = 0;
    for (int v = 0; v < model->n_verts; v++) {
      const int n = owned_start[v + 1] - owned_start[v];
      sort_by_material(model, owned + owned_start[v], n, list);
      for (int i = 0, end; i < n; i = end) {
        int k = 0;
        for (end = i; end < n && list[end][0] == list[i][0]; end++) {
          int t = list[end][1] / 4;
          memcpy(verts + k, model->tet + 4 * (size_t)t, 4 * sizeof *verts);
          k += 4;
          if (fill) {
            self->cell[n_cells] = t;
            self->of_cell[list[end][1]] = self->n;
          }
          n_cells++;
        }
        qsort(verts, (size_t)k, sizeof *verts, compare_ints);
        for (int a = 0; a < k; a++)
          if (a == 0 || verts[a] != verts[a - 1]) {
            if (fill)
              self->vert[n_verts] = verts[a];
            n_verts++;
          }
        self->n++;
        if (fill) {
          self->cell_start[self->n] = (int)n_cells;
          self->vert_start[self->n] = (int)n_verts;
        }
      }
    }
    for (int h = 0; h < model->n_hexes; h++) {
      if (fill) {
        self->cell[n_cells] = model->n_tets + h;
        self->of_cell[4 * (size_t)model->n_tets + (size_t)h] = self->n;
        memcpy(self->vert + n_verts, model->hex + 8 * (size_t)h, 8 * sizeof *self->vert);
        qsort(self->vert + n_verts, 8, sizeof *self->vert, compare_ints);
      }
      n_cells++;
      n_verts += 8;
      self->n++;
      if (fill) {
        self->cell_start[self->n] = (int)n_cells;
        self->vert_start[self->n] = (int)n_verts;
      }
    }
    if (fill)
      break;
    self->cell_start = pla_array_new0((size_t)self->n + 1, sizeof *self->cell_start);
    self->vert_start = pla_array_new0((size_t)self->n + 1, sizeof *self->vert_start);
    self->cell = pla_array_new(n_cells, sizeof *self->cell);
    self->vert = pla_array_new(n_verts, sizeof *self->vert);
    self->volume = pla_array_new((size_t)self->n, sizeof *self->volume);
    self->modulus_log = pla_array_new((size_t)self->n, sizeof *self->modulus_log);
    self->modulus_square = pla_array_new((size_t)self->n, sizeof *self->modulus_square);
    if (!self->cell_start || !self->vert_start || !self->cell || !self->vert || !self->volume ||
        !self->modulus_log || !self->modulus_square)
      st = pla_fail_memory(err, "the model");
  }
  free(list);
  free(verts);
  free(owned_start);
  free(owned);
  return st;
}

/* share of cell @c in each of its patches, m^3 */
static double
share_of(const PlaFemModel *model, int c)
{
  if (c < model->n_tets)
    return 0.25 * model->tet_volume[c];
  double sum = 0.0;
  for (size_t q = 0; q < 8; q++)
    sum += model->hex_weight[8 * (size_t)(c - model->n_tets) + q];
  return sum;
}

void
pla_fem_patches_update(PlaFemModel *model)
{
  PlaFemPatches *self = model->patches;
#pragma omp parallel for schedule(static)
  for (int p = 0; p < self->n; p++) {
    self->volume[p] = self->modulus_log[p] = self->modulus_square[p] = 0.0;
    for (int k = self->cell_start[p]; k < self->cell_start[p + 1]; k++) {
      int c = self->cell[k];
      double w = share_of(model, c) / (model->prestretch ? model->prestretch_det[c] : 1.0);
      bool square = model->material[model->cell_material[c]].material->volume_square;
      self->volume[p] += w;
      *(square ? &self->modulus_square[p] : &self->modulus_log[p]) += w * self->modulus[c];
    }
  }
}

/* Averages do not see a single tet that turns inside out, as beside a hook.  Below a volume ratio
 * of 0.3, which soft tissue does not reach, b/2 (0.3 - J)^2 keeps it; b is 200 shear moduli: a
 * vertex that is pulled by three cells leaves no tet with less than 0.27, with 20 some turn. */
static const double barrier_from = 0.3, barrier_moduli = 200.0;

double
pla_fem_patches_barrier(const PlaFemPatches *self, int t, double j)
{
  return self->barrier && j < barrier_from ? self->barrier[t] : 0.0;
}

static PlaStatus
make_barrier(const PlaFemModel *model, PlaFemPatches *self, PlaError *err)
{
  self->barrier = pla_array_new((size_t)model->n_tets, sizeof *self->barrier);
  if (!self->barrier)
    return pla_fail_memory(err, "the model");
  for (int t = 0; t < model->n_tets; t++) {
    const double *constants;
    const PlaMaterial *law = pla_fem_cell_law(model, t, &constants);
    double mu, lambda, vol;
    pla_material_moduli(law, constants, &mu, &lambda, &vol);
    self->barrier[t] = barrier_moduli * mu;
  }
  return PLA_OK;
}

PlaStatus
pla_fem_patches_new(PlaFemModel *model, PlaError *err)
{
  const size_t n_cells = (size_t)model->n_tets + (size_t)model->n_hexes;
  PlaFemPatches *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the model");
  model->patches = self;
  self->modulus = pla_array_new(n_cells, sizeof *self->modulus);
  self->of_cell =
      pla_array_new(4 * (size_t)model->n_tets + (size_t)model->n_hexes, sizeof *self->of_cell);
  PlaStatus st = self->modulus && self->of_cell ? split_constants(model, self->modulus, err)
                                                : pla_fail_memory(err, "the model");
  if (st == PLA_OK)
    st = list_patches(model, self, err);
  if (st == PLA_OK && model->formulation == PLA_FORMULATION_AVERAGED)
    st = make_barrier(model, self, err);
  if (st == PLA_OK)
    pla_fem_patches_update(model);
  return st;
}

/* share times det F of each cell, m^3 */
static void
cell_volumes(const PlaFemModel *model, const double *pos, double *volume)
{
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int t = 0; t < model->n_tets; t++) {
      double f[9];
      pla_fem_tet_gradient(model, t, pos, f);
      volume[t] = 0.25 * model->tet_volume[t] * pla_mat3_det(f);
    }
#pragma omp for schedule(static)
    for (int h = 0; h < model->n_hexes; h++) {
      double sum = 0.0;
      for (int q = 0; q < 8; q++) {
        double f[9];
        pla_fem_hex_gradient(model, h, q, pos, f);
        sum += model->hex_weight[8 * (size_t)h + (size_t)q] * pla_mat3_det(f);
      }
      volume[model->n_tets + h] = sum;
    }
  }
}

static double
patch_j(const PlaFemPatches *self, int p, const double *volume)
{
  double sum = 0.0;
  for (int k = self->cell_start[p]; k < self->cell_start[p + 1]; k++)
    sum += volume[self->cell[k]];
  return sum / self->volume[p];
}

/* (ln J)^2 / 2 with its derivatives, continued below the floor */
static PlaCurve
log_square(double j)
{
  double x = j > j_floor ? j : j_floor, l = log(x);
  PlaCurve u = { 0.5 * l * l, l / x, (1.0 - l) / (x * x) };
  double d = j - x;
  return (PlaCurve){ u.g + u.d * d + 0.5 * u.dd * d * d, u.d + u.dd * d, u.dd };
}

/* the energy of patch @p and its derivatives in J */
static PlaCurve
patch_energy(const PlaFemPatches *self, int p, double j)
{
  PlaCurve u = log_square(j);
  double a = self->modulus_log[p], b = self->modulus_square[p], d = j - 1.0;
  return (PlaCurve){ a * u.g + 0.5 * b * d * d, a * u.d + b * d, a * u.dd + b };
}

/* J of tet @t, from its share of volume */
static double
tet_j(const PlaFemModel *model, int t, double share)
{
  return share / (0.25 * model->tet_volume[t]);
}

double
pla_fem_patches_energy(const PlaFemModel *model, const double *pos)
{
  const PlaFemPatches *self = model->patches;
  double *volume = pla_array_new((size_t)model->n_tets + (size_t)model->n_hexes, sizeof *volume);
  double *part = pla_array_new((size_t)self->n, sizeof *part), energy = NAN;
  if (volume && part) {
    cell_volumes(model, pos, volume);
#pragma omp parallel for schedule(static)
    for (int p = 0; p < self->n; p++)
      part[p] = patch_energy(self, p, patch_j(self, p, volume)).g;
    energy = pla_sum(part, (size_t)self->n);
    for (int t = 0; self->barrier && t < model->n_tets; t++) {
      const double j = tet_j(model, t, volume[t]), lack = barrier_from - j;
      volume[t] = 0.5 * model->tet_volume[t] * pla_fem_patches_barrier(self, t, j) * lack * lack;
    }
    if (self->barrier)
      energy += pla_sum(volume, (size_t)model->n_tets);
  }
  free(volume);
  free(part);
  return energy;
}

void
pla_fem_patches_pressure(const PlaFemModel *model, const double *pos, double *scratch,
                         double *pressure)
{
  const PlaFemPatches *self = model->patches;
  cell_volumes(model, pos, pressure);
#pragma omp parallel for schedule(static)
  for (int p = 0; p < self->n; p++)
    scratch[p] = patch_energy(self, p, patch_j(self, p, pressure)).d / self->volume[p];
#pragma omp parallel for schedule(static)
  for (int t = 0; t < model->n_tets; t++) {
    const int *of = self->of_cell + 4 * (size_t)t;
    const double j = tet_j(model, t, pressure[t]);
    pressure[t] = 0.25 * (scratch[of[0]] + scratch[of[1]] + scratch[of[2]] + scratch[of[3]]) -
                  pla_fem_patches_barrier(self, t, j) * (barrier_from - j);
  }
  for (int h = 0; h < model->n_hexes; h++)
    pressure[model->n_tets + h] = scratch[self->of_cell[4 * (size_t)model->n_tets + (size_t)h]];
}

/* slope += w cof(F) grad at the vertices of one point; returns its volume w det F */
static double
add_slope(const PlaFemPatches *self, int p, const double f[9], const int *verts, int k,
          const double *grad, double w, double *slope)
{
  const int first = self->vert_start[p], n = self->vert_start[p + 1] - first;
  double cofactor[9];
  pla_mat3_cofactor(f, cofactor);
  for (int a = 0; a < k; a++) {
    double g[3];
    const int *at =
        bsearch(&verts[a], self->vert + first, (size_t)n, sizeof *self->vert, compare_ints);
    pla_mat3_apply(cofactor, grad + 3 * a, g);
    for (int d = 0; d < 3; d++)
      slope[3 * (at - (self->vert + first)) + d] += w * g[d];
  }
  return w * pla_mat3_det(f);
}

double
pla_fem_patch_slope(const PlaFemModel *model, int p, const double *pos, bool project, double *slope)
{
  const PlaFemPatches *self = model->patches;
  const size_t n = 3 * (size_t)(self->vert_start[p + 1] - self->vert_start[p]);
  double volume = 0.0;
  memset(slope, 0, n * sizeof *slope);
  for (int k = self->cell_start[p]; k < self->cell_start[p + 1]; k++) {
    int c = self->cell[k];
    const int *verts;
    double f[9];
    int n_verts = pla_fem_cell_verts(model, c, &verts);
    if (c < model->n_tets) {
      double grad[4][3];
      pla_fem_tet_gradient(model, c, pos, f);
      pla_fem_tet_shape(model, c, grad);
      volume +=
          add_slope(self, p, f, verts, n_verts, &grad[0][0], 0.25 * model->tet_volume[c], slope);
    } else {
      for (int q = 0; q < 8; q++) {
        size_t point = 8 * (size_t)(c - model->n_tets) + (size_t)q;
        pla_fem_hex_gradient(model, c - model->n_tets, q, pos, f);
        volume += add_slope(self, p, f, verts, n_verts, model->hex_grad + 24 * point,
                            model->hex_weight[point], slope);
      }
    }
  }
  for (size_t i = 0; i < n; i++)
    slope[i] /= self->volume[p];
  double curvature = patch_energy(self, p, volume / self->volume[p]).dd;
  return project ? fmax(curvature, 0.0) : curvature;
}
