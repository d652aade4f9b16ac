/* Nested iteration: the body's cells are gathered into a lattice of hexahedra, the lattice is
 * brought to equilibrium, and its displacement, interpolated at the vertices, is where the fine
 * solve starts.
 *
 * A lattice cell takes the material that fills most of it, thinned by how much of it is filled;
 * loads go to its nodes by the interpolation weights; prescribed vertices pull on it by stiff
 * springs. */
#include "sim/solve/coarse.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/union-find.h"
#include "sim/fem/model-data.h"
#include "sim/solve/solve.h"
#include "sim/solve/solvers.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MIN_FREE_VERTS = 200, /* below this the fine solve is quick and converges by itself */
  VERTS_PER_CELL = 4,   /* at least, so that the lattice is clearly coarser than the body */
  LATTICE_CELLS = 1200, /* at most: enough to bend and twist, and cheap to solve */
};

typedef struct {
  double origin[3], h; /* m */
  int n[3];            /* cells */
  int *cell_of;        /* lattice cell -> hex, or -1 */
  int *node_of;        /* lattice node -> vertex, or -1 */
  PlaMesh *mesh;
  PlaFemModel *model;
  int *cell_material;
  PlaFemMaterial *material; /* one a hex: thinned copies */
} Lattice;

static void
lattice_clear(Lattice *self)
{
  free(self->cell_of);
  free(self->node_of);
  free(self->cell_material);
  free(self->material);
  pla_mesh_free(self->mesh);
  pla_fem_model_free(self->model);
}

/* lattice cell of a point, and the place in it, 0..1 each */
static size_t
locate(const Lattice *self, const double *x, double local[3])
{
  int at[3];
  for (int d = 0; d < 3; d++) {
    double u = (x[d] - self->origin[d]) / self->h;
    at[d] = (int)floor(u);
    at[d] = at[d] < 0 ? 0 : at[d] >= self->n[d] ? self->n[d] - 1 : at[d];
    local[d] = u - at[d];
  }
  return (size_t)at[0] + (size_t)self->n[0] * ((size_t)at[1] + (size_t)self->n[1] * (size_t)at[2]);
}

/* trilinear weights in the order of a hex's vertices */
static void
weights(const double local[3], double w[8])
{
  static const int corner[8][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 1, 1, 0 }, { 0, 1, 0 },
                                    { 0, 0, 1 }, { 1, 0, 1 }, { 1, 1, 1 }, { 0, 1, 1 } };
  for (int a = 0; a < 8; a++) {
    w[a] = 1.0;
    for (int d = 0; d < 3; d++)
      w[a] *= corner[a][d] ? local[d] : 1.0 - local[d];
  }
}

static double
cell_volume(const PlaFemModel *model, int c)
{
  if (c < model->n_tets)
    return model->tet_volume[c];
  double volume = 0.0;
  for (int q = 0; q < 8; q++)
    volume += model->hex_weight[8 * (size_t)(c - model->n_tets) + (size_t)q];
  return volume;
}

/* the lattice's size from the body's volume and box, and from how many vertices it has to move */
static bool
choose_size(const PlaFemModel *model, int n_free, Lattice *self)
{
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  double volume = 0.0;
  for (int v = 0; v < model->n_verts; v++)
    for (int d = 0; d < 3; d++) {
      double x = model->rest[3 * (size_t)v + (size_t)d];
      lo[d] = fmin(lo[d], x);
      hi[d] = fmax(hi[d], x);
    }
  for (int c = 0; c < model->n_tets + model->n_hexes; c++)
    volume += cell_volume(model, c);
  self->h = cbrt(volume / fmin(LATTICE_CELLS, (double)n_free / VERTS_PER_CELL));
  double total = 1.0;
  for (int d = 0; d < 3; d++) {
    self->n[d] = (int)ceil((hi[d] - lo[d]) / self->h - 1e-9);
    self->n[d] = self->n[d] < 1 ? 1 : self->n[d];
    /* centred on the body */
    self->origin[d] = 0.5 * (lo[d] + hi[d]) - 0.5 * self->h * self->n[d];
    total *= self->n[d];
  }
  return total < 1e7;
}

/* hexes where the body is, with the filled share and the fullest material of each */
static PlaStatus
fill_lattice(const PlaFemModel *model, Lattice *self, PlaError *err)
{
  const size_t n_cells = (size_t)self->n[0] * (size_t)self->n[1] * (size_t)self->n[2];
  const size_t n_nodes =
      ((size_t)self->n[0] + 1) * ((size_t)self->n[1] + 1) * ((size_t)self->n[2] + 1);
  double *filled = pla_array_new0(n_cells, sizeof *filled);
  double *fullest = pla_array_new0(n_cells, sizeof *fullest);
  int *main_material = pla_array_new0(n_cells, sizeof *main_material);
  self->cell_of = pla_array_new(n_cells, sizeof *self->cell_of);
  self->node_of = pla_array_new(n_nodes, sizeof *self->node_of);
  PlaStatus st = filled && fullest && main_material && self->cell_of && self->node_of
                     ? PLA_OK
                     : pla_fail_memory(err, "the coarse lattice");
  int n_hexes = 0, n_verts = 0;
  if (st == PLA_OK) {
    /* each element counts in the cell of its centre: volume, and the material that fills most */
    for (int c = 0; c < model->n_tets + model->n_hexes; c++) {
      const int *verts;
      int k = pla_fem_cell_verts(model, c, &verts);
      double centre[3] = { 0, 0, 0 }, local[3], volume = cell_volume(model, c);
      for (int a = 0; a < k; a++)
        for (int d = 0; d < 3; d++)
          centre[d] += model->rest[3 * (size_t)verts[a] + (size_t)d] / k;
      size_t at = locate(self, centre, local);
      filled[at] += volume;
      if (volume > fullest[at]) {
        fullest[at] = volume;
        main_material[at] = model->cell_material[c];
      }
      /* a trace of volume in the cell of every vertex, so that a hex carries it */
      for (int a = 0; a < k; a++)
        filled[locate(self, model->rest + 3 * (size_t)verts[a], local)] += 1e-12 * volume;
    }
    /* number the filled cells and their nodes */
    for (size_t i = 0; i < n_nodes; i++)
      self->node_of[i] = -1;
    for (size_t i = 0; i < n_cells; i++) {
      self->cell_of[i] = filled[i] > 0.0 ? n_hexes++ : -1;
      if (self->cell_of[i] < 0)
        continue;
      size_t x = i % (size_t)self->n[0], y = i / (size_t)self->n[0] % (size_t)self->n[1];
      size_t z = i / (size_t)self->n[0] / (size_t)self->n[1];
      for (size_t c = 0; c < 8; c++) {
        size_t node = x + (c & 1) +
                      ((size_t)self->n[0] + 1) *
                          (y + (c >> 1 & 1) + ((size_t)self->n[1] + 1) * (z + (c >> 2 & 1)));
        if (self->node_of[node] < 0)
          self->node_of[node] = n_verts++;
      }
    }
    st = pla_mesh_new(n_verts, 0, 0, n_hexes, &self->mesh, err);
  }
  if (st == PLA_OK) {
    self->cell_material = pla_array_new((size_t)n_hexes, sizeof *self->cell_material);
    self->material =
        pla_array_dup(model->material, (size_t)model->n_materials, sizeof *self->material);
    if (!self->cell_material || !self->material)
      st = pla_fail_memory(err, "the coarse lattice");
  }
  /* vertices, hexahedra and materials of the coarse mesh */
  for (size_t i = 0; st == PLA_OK && i < n_cells; i++) {
    int h = self->cell_of[i];
    if (h < 0)
      continue;
    static const int vtk_corner[8] = { 0, 1, 3, 2, 4, 5, 7, 6 };
    size_t x = i % (size_t)self->n[0], y = i / (size_t)self->n[0] % (size_t)self->n[1];
    size_t z = i / (size_t)self->n[0] / (size_t)self->n[1];
    for (size_t a = 0; a < 8; a++) {
      size_t c = (size_t)vtk_corner[a], p[3] = { x + (c & 1), y + (c >> 1 & 1), z + (c >> 2 & 1) };
      size_t node = p[0] + ((size_t)self->n[0] + 1) * (p[1] + ((size_t)self->n[1] + 1) * p[2]);
      int v = self->node_of[node];
      self->mesh->hex[8 * (size_t)h + a] = v;
      for (int d = 0; d < 3; d++)
        self->mesh->pos[3 * (size_t)v + (size_t)d] = self->origin[d] + self->h * (double)p[d];
    }
    self->cell_material[h] = main_material[i];
  }
  if (st == PLA_OK)
    st = pla_fem_model_new(self->mesh, self->material, model->n_materials, self->cell_material,
                           PLA_FORMULATION_STANDARD, &self->model, err);
  /* weights in proportion to the filled share; at least a tenth, for a well-conditioned matrix */
  for (size_t i = 0; st == PLA_OK && i < n_cells; i++)
    if (self->cell_of[i] >= 0) {
      double share = filled[i] / (self->h * self->h * self->h);
      share = share < 0.1 ? 0.1 : share > 1.0 ? 1.0 : share;
      for (int q = 0; q < 8; q++)
        self->model->hex_weight[8 * (size_t)self->cell_of[i] + (size_t)q] *= share;
    }
  free(filled);
  free(fullest);
  free(main_material);
  return st;
}

/* springs that hold prescribed vertices, strong against the body's own stiffness */
static PlaStatus
make_springs(const PlaFemModel *model, const PlaFemConditions *conditions, const Lattice *self,
             PlaFemSprings *out, PlaError *err)
{
  /* count the vertices of elements that are fixed in all axes */
  int n = 0;
  for (int v = 0; v < model->n_verts; v++)
    n += conditions->fixed[3 * (size_t)v] && conditions->fixed[3 * (size_t)v + 1] &&
         conditions->fixed[3 * (size_t)v + 2] &&
         model->incidence.start[v + 1] > model->incidence.start[v];
  PlaSpring *spring = pla_array_new0((size_t)n, sizeof *spring);
  *out = (PlaFemSprings){ n, spring };
  if (!spring)
    return pla_fail_memory(err, "the coarse lattice");
  /* ten times the stiffness of a cell, mu h: firm, without spoiling the condition */
  double mu = 0.0;
  for (int m = 0; m < model->n_materials; m++) {
    double shear, lambda, vol;
    pla_material_moduli(model->material[m].material, model->material[m].constants, &shear, &lambda,
                        &vol);
    mu = fmax(mu, shear);
  }
  /* a spring from the interpolated place in the hex to the target */
  size_t s = 0;
  for (int v = 0; v < model->n_verts; v++) {
    const unsigned char *fixed = conditions->fixed + 3 * (size_t)v;
    if (!(fixed[0] && fixed[1] && fixed[2]) ||
        model->incidence.start[v + 1] <= model->incidence.start[v])
      continue;
    double local[3];
    int h = self->cell_of[locate(self, model->rest + 3 * (size_t)v, local)];
    spring[s].n_verts = 8;
    weights(local, spring[s].weight);
    memcpy(spring[s].vert, self->mesh->hex + 8 * (size_t)h, 8 * sizeof(int));
    memcpy(spring[s].offset, conditions->target + 3 * (size_t)v, 3 * sizeof(double));
    for (int d = 0; d < 3; d++)
      spring[s].stiffness[4 * d] = 10.0 * mu * self->h;
    s++;
  }
  return PLA_OK;
}

/* The lattice glues what lies in one cell, so that a piece that nothing acts on would follow
 * another: pieces whose forces are balanced at @pos are put back there. */
static PlaStatus
keep_balanced_pieces(const PlaFemModel *model, const PlaFemConditions *conditions,
                     const double *pos, double *trial, PlaError *err)
{
  const size_t n = (size_t)model->n_verts;
  const int n_cells = model->n_tets + model->n_hexes;
  int *piece = pla_array_new(n, sizeof *piece);
  double *force = pla_array_new(n, 3 * sizeof *force), *most = pla_array_new0(n, sizeof *most);
  PlaStatus st = piece && force && most ? pla_fem_forces(model, pos, force, err)
                                        : pla_fail_memory(err, "the coarse lattice");
  if (st == PLA_OK) {
    /* connected pieces of the body */
    double largest = 0.0;
    for (int v = 0; v < model->n_verts; v++)
      piece[v] = v;
    for (int c = 0; c < n_cells; c++) {
      const int *verts, n_verts = pla_fem_cell_verts(model, c, &verts);
      for (int a = 1; a < n_verts; a++)
        pla_union_find_join(piece, verts[0], verts[a]);
    }
    /* the largest residual of each piece */
    for (size_t i = 0; i < 3 * n; i++) {
      if (conditions->fixed[i])
        continue;
      const double out = fabs(force[i] + (conditions->force ? conditions->force[i] : 0.0));
      double *here = &most[pla_union_find_root(piece, (int)(i / 3))];
      *here = fmax(*here, out);
      largest = fmax(largest, out);
    }
    /* balanced pieces keep their positions */
    for (size_t i = 0; i < 3 * n; i++)
      if (most[pla_union_find_root(piece, (int)(i / 3))] <= 1e-9 * largest) /* rounding */
        trial[i] = pos[i];
  }
  free(piece);
  free(force);
  free(most);
  return st;
}

PlaStatus
pla_fem_coarse_start(const PlaFemModel *model, const PlaFemConditions *conditions,
                     const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  /* only for bodies with enough free vertices, and plain forces and supports */
  int n_free = 0;
  for (int v = 0; v < model->n_verts; v++)
    n_free += !conditions->fixed[3 * (size_t)v];
  if (n_free < MIN_FREE_VERTS || conditions->springs || conditions->pressure ||
      conditions->membranes || conditions->bindings || conditions->contacts || conditions->inertia)
    return PLA_OK;

  /* the coarse model, its springs and vectors */
  Lattice lattice = { 0 };
  PlaFemSprings springs = { 0 };
  if (!choose_size(model, n_free, &lattice))
    return PLA_OK;
  PlaStatus st = fill_lattice(model, &lattice, err);
  if (st == PLA_OK)
    st = make_springs(model, conditions, &lattice, &springs, err);

  double *coarse = NULL, *force = NULL, *trial = NULL;
  unsigned char *fixed = NULL;
  if (st == PLA_OK) {
    size_t n = (size_t)lattice.mesh->n_verts;
    coarse = pla_array_dup(lattice.mesh->pos, n, 3 * sizeof *coarse);
    force = pla_array_new0(n, 3 * sizeof *force);
    fixed = pla_array_new0(n, 3);
    trial = pla_array_dup(pos, (size_t)model->n_verts, 3 * sizeof *trial);
    if (!coarse || !force || !fixed || !trial)
      st = pla_fail_memory(err, "the coarse lattice");
  }
  if (st == PLA_OK) {
    /* restrict the loads: each vertex force goes to the nodes of its hex */
    for (int v = 0; conditions->force && v < model->n_verts; v++) {
      double local[3], w[8];
      int h = lattice.cell_of[locate(&lattice, model->rest + 3 * (size_t)v, local)];
      if (h < 0)
        continue;
      weights(local, w);
      for (size_t a = 0; a < 8; a++)
        for (size_t d = 0; d < 3; d++)
          force[3 * (size_t)lattice.mesh->hex[8 * (size_t)h + (int)a] + d] +=
              w[a] * conditions->force[3 * (size_t)v + d];
    }
    /* solve roughly: the result is only a start */
    PlaFemConditions on_lattice = {
      .fixed = fixed, .target = lattice.mesh->pos, .force = force, .springs = &springs
    };
    PlaFemOptions rough = *options;
    PlaFemReport ignored = { 0 };
    rough.tolerance_rel = 1e-3;
    rough.max_iterations = 40;
    rough.progress = NULL;
    if (pla_progress_cancelled(options->progress))
      st = pla_fail_cancelled(err);
    else
      st = pla_fem_solve_newton(lattice.model, &on_lattice, &rough, coarse, &ignored, err);
    report->coarse_iterations = ignored.iterations;
  }
  if (st == PLA_OK) {
    /* prolong: the coarse displacement, interpolated at the free vertices */
    for (int v = 0; v < model->n_verts; v++) {
      double local[3], w[8];
      int h = lattice.cell_of[locate(&lattice, model->rest + 3 * (size_t)v, local)];
      if (h < 0)
        continue;
      weights(local, w);
      for (size_t d = 0; d < 3; d++) {
        double x = model->rest[3 * (size_t)v + d];
        for (size_t a = 0; a < 8; a++) {
          size_t node = 3 * (size_t)lattice.mesh->hex[8 * (size_t)h + (int)a] + d;
          x += w[a] * (coarse[node] - lattice.mesh->pos[node]);
        }
        if (!conditions->fixed[3 * (size_t)v + d])
          trial[3 * (size_t)v + d] = x;
      }
    }
    st = keep_balanced_pieces(model, conditions, pos, trial, err);
  }
  if (st == PLA_OK) {
    /* take the new start only if its potential is lower */
    double before = pla_fem_energy(model, pos), after = pla_fem_energy(model, trial);
    if (conditions->force) {
      before -= pla_dot(conditions->force, pos, 3 * (size_t)model->n_verts);
      after -= pla_dot(conditions->force, trial, 3 * (size_t)model->n_verts);
    }
    if (after < before)
      memcpy(pos, trial, 3 * (size_t)model->n_verts * sizeof *pos);
  }
  free(coarse);
  free(force);
  free(fixed);
  free(trial);
  free((void *)springs.spring);
  lattice_clear(&lattice);
  return st;
}
