/* Linear elastostatics of one domain: K_ab = V (lambda g_a g_b^T + mu g_b g_a^T + mu (g_a . g_b)
 * 1), assembled in a frame whose third axis is the direction of the weight, so that a hold along
 * the direction is a prescribed coordinate like any other. */
#include "sim/reduced/weights.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/svd3.h"
#include "sim/linear/cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

PlaWeightOptions
pla_weight_options_default(void)
{
  return (PlaWeightOptions){ .kind = PLA_WEIGHT_PRINCIPAL, .poisson = 0.3, .support = 1e-6 };
}

/* A part of a mesh with vertices of its own, and its stiffness. */
typedef struct {
  const PlaTetMesh *mesh;
  int n_verts, n_tets;
  int *local;  /* of each vertex of the mesh, or -1 */
  int *vert;   /* and back (n_verts) */
  int *tet;    /* tets of the part (n_tets) */
  int *corner; /* their local vertices (n_tets x 4) */
  PlaBlockMatrix matrix;
  PlaCholesky *factor;
} Part;

static void
part_clear(Part *self)
{
  free(self->local);
  free(self->vert);
  free(self->tet);
  free(self->corner);
  pla_block_matrix_clear(&self->matrix);
  pla_cholesky_free(self->factor);
}

/* @inside NULL: all tets */
static PlaStatus
part_init(Part *self, const PlaTetMesh *mesh, const unsigned char *inside, PlaError *err)
{
  *self = (Part){ .mesh = mesh };
  self->local = pla_array_new((size_t)mesh->n_verts, sizeof *self->local);
  self->vert = pla_array_new((size_t)mesh->n_verts, sizeof *self->vert);
  self->tet = pla_array_new((size_t)mesh->n_tets, sizeof *self->tet);
  self->corner = pla_array_new((size_t)mesh->n_tets, 4 * sizeof *self->corner);
  int *start = pla_array_new((size_t)mesh->n_tets + 1, sizeof *start);
  if (!self->local || !self->vert || !self->tet || !self->corner || !start) {
    free(start);
    return pla_fail_memory(err, "a domain");
  }
  /* tets of the domain and local numbers of their vertices */
  memset(self->local, 0xff, (size_t)mesh->n_verts * sizeof *self->local);
  for (int t = 0; t < mesh->n_tets; t++) {
    if (inside && !inside[t])
      continue;
    for (int a = 0; a < 4; a++) {
      const int v = mesh->tet[4 * (size_t)t + a];
      if (self->local[v] < 0) {
        self->vert[self->n_verts] = v;
        self->local[v] = self->n_verts++;
      }
      self->corner[4 * (size_t)self->n_tets + a] = self->local[v];
    }
    self->tet[self->n_tets++] = t;
  }
  /* matrix pattern and symbolic factor */
  for (int t = 0; t <= self->n_tets; t++)
    start[t] = 4 * t;
  PlaStatus st = PLA_OK;
  if (self->n_tets == 0)
    st = pla_fail(err, PLA_ERR_GEOMETRY, "A domain of the reduced model has no tets");
  if (st == PLA_OK)
    st =
        pla_block_matrix_init(&self->matrix, self->n_verts, self->n_tets, start, self->corner, err);
  if (st == PLA_OK)
    st = pla_cholesky_new(&self->matrix, PLA_ORDER_AUTO, &self->factor, err);
  free(start);
  return st;
}

/* shape gradients in the frame whose axes are the rows of @frame, and the volume */
static double
shape_gradients(const PlaTetMesh *mesh, int t, const double frame[9], double grad[4][3])
{
  const int *v = mesh->tet + 4 * (size_t)t;
  double edge[9], inv[9];
  for (int a = 0; a < 3; a++)
    pla_vec3_sub(mesh->rest + 3 * (size_t)v[a + 1], mesh->rest + 3 * (size_t)v[0], edge + 3 * a);
  const double det = pla_mat3_invert(edge, inv); /* rows of edge are edges: gradients are columns */
  for (int d = 0; d < 3; d++)
    grad[0][d] = 0.0;
  for (int a = 1; a < 4; a++) {
    const double g[3] = { inv[a - 1], inv[3 + a - 1], inv[6 + a - 1] };
    pla_mat3_apply(frame, g, grad[a]);
    for (int d = 0; d < 3; d++)
      grad[0][d] -= grad[a][d];
  }
  return det / 6.0;
}

/* @law: mu and lambda for unit stiffness; harmonic: the Laplacian in every coordinate */
static void
part_assemble(Part *self, const PlaWeightOptions *options, const double frame[9])
{
  const bool harmonic = options->kind == PLA_WEIGHT_HARMONIC;
  const double nu = options->poisson;
  const double mu = harmonic ? 1.0 : 0.5 / (1.0 + nu);
  const double lambda = nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
  memset(self->matrix.value, 0, 9 * (size_t)self->matrix.start[self->n_verts] * sizeof(double));
  for (int k = 0; k < self->n_tets; k++) {
    double g[4][3];
    const double e = options->young && !harmonic ? options->young[self->tet[k]] : 1.0;
    const double v = e * shape_gradients(self->mesh, self->tet[k], frame, g);
    const int *corner = self->corner + 4 * (size_t)k;
    for (int a = 0; a < 4; a++)
      for (int b = 0; b < 4; b++) {
        double *block = self->matrix.value +
                        9 * (size_t)pla_block_matrix_find(&self->matrix, corner[a], corner[b]);
        const double both = mu * pla_vec3_dot(g[a], g[b]);
        for (int i = 0; i < 3; i++) {
          block[4 * i] += v * both;
          for (int j = 0; j < 3 && !harmonic; j++)
            block[3 * i + j] += v * (lambda * g[a][i] * g[b][j] + mu * g[b][i] * g[a][j]);
        }
      }
  }
}

/* right-hand side that prescribed values (n_verts x 3, 0 where free) cause: minus K times them */
static void
part_pull(const Part *self, const unsigned char *fixed, const double *value, double *rhs)
{
  pla_block_matrix_mul(&self->matrix, value, rhs);
  for (int i = 0; i < 3 * self->n_verts; i++)
    rhs[i] = fixed[i] ? value[i] : -rhs[i];
}

/* unit rows for prescribed coordinates, @support of its size on the diagonal of the others;
 * factored */
static PlaStatus
part_factor(Part *self, const unsigned char *fixed, double support, PlaError *err)
{
  PlaBlockMatrix *m = &self->matrix;
  bool definite;
  for (int r = 0; r < m->n; r++)
    for (int k = m->start[r]; k < m->start[r + 1]; k++) {
      const int c = m->col[k];
      double *block = m->value + 9 * (size_t)k;
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          if (fixed[3 * r + i] || fixed[3 * c + j])
            block[3 * i + j] = r == c && i == j ? 1.0 : 0.0;
          else if (r == c && i == j)
            block[3 * i + j] *= 1.0 + support;
    }
  PlaStatus st = pla_cholesky_factor(self->factor, m, PLA_DOUBLE, NULL, &definite, err);
  if (st == PLA_OK && !definite)
    st = pla_fail(err, PLA_ERR_GEOMETRY,
                  "A domain of the reduced model is not held: its stiffness is singular");
  return st;
}

/* the direction in which a unit push at the seed moves the domain most */
static PlaStatus
find_direction(Part *part, const PlaWeightOptions *options, int seed, const unsigned char *still,
               double direction[3], PlaError *err)
{
  double frame[9];
  unsigned char *fixed = pla_array_new0((size_t)part->n_verts, 3);
  double *push = pla_array_new0((size_t)part->n_verts, 9 * sizeof *push);
  PlaStatus st = fixed && push ? PLA_OK : pla_fail_memory(err, "a domain");
  const size_t n = 3 * (size_t)part->n_verts;
  /* linear elasticity with the border held */
  pla_mat3_identity(frame);
  if (st == PLA_OK) {
    for (int v = 0; v < part->n_verts; v++)
      for (int d = 0; d < 3; d++)
        fixed[3 * v + d] = still[v];
    part_assemble(part, options, frame);
    st = part_factor(part, fixed, 0.0, err);
  }
  /* response to a unit force at the seed along each axis */
  for (int d = 0; st == PLA_OK && d < 3; d++) {
    push[(size_t)d * n + 3 * (size_t)seed + (size_t)d] = 1.0;
    st = pla_cholesky_solve(part->factor, push + (size_t)d * n, push + (size_t)d * n, err);
  }
  if (st == PLA_OK) {
    /* the direction that moves the domain most */
    double b[9], u[9], s[3], w[9];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        b[3 * i + j] = 0.0;
        for (size_t k = 0; k < n; k++)
          b[3 * i + j] += push[(size_t)i * n + k] * push[(size_t)j * n + k];
      }
    pla_svd3(b, u, s, w); /* symmetric, positive: the first column belongs to the largest */
    for (int d = 0; d < 3; d++)
      direction[d] = u[3 * d];
  }
  free(fixed);
  free(push);
  return st;
}

/* rows: two directions across, then @axis */
static void
frame_along(const double axis[3], double frame[9])
{
  const int least = fabs(axis[0]) <= fabs(axis[1]) && fabs(axis[0]) <= fabs(axis[2]) ? 0
                    : fabs(axis[1]) <= fabs(axis[2])                                 ? 1
                                                                                     : 2;
  double other[3] = { 0 };
  other[least] = 1.0;
  pla_vec3_cross(axis, other, frame);
  const double length = pla_vec3_norm(frame);
  for (int d = 0; d < 3; d++)
    frame[d] /= length;
  pla_vec3_cross(axis, frame, frame + 3);
  memcpy(frame + 6, axis, 3 * sizeof *axis);
}

PlaStatus
pla_domain_weight(const PlaWeightDomain *domain, const PlaWeightOptions *options, double *weight,
                  double direction[3], PlaError *err)
{
  const PlaTetMesh *mesh = domain->mesh;
  Part part;
  PlaStatus st = part_init(&part, mesh, domain->inside, err);
  unsigned char *still = pla_array_new0((size_t)part.n_verts + 1, 1);
  unsigned char *fixed = pla_array_new0((size_t)part.n_verts + 1, 3);
  double *value = pla_array_new0((size_t)part.n_verts + 1, 3 * sizeof *value);
  double *disp = pla_array_new0((size_t)part.n_verts + 1, 3 * sizeof *disp);
  double axis[3] = { 0 }, frame[9];
  bool any = false;
  if (st == PLA_OK && (!still || !fixed || !value || !disp))
    st = pla_fail_memory(err, "a domain");
  const int seed = st == PLA_OK ? part.local[domain->seed] : 0;
  if (st == PLA_OK) {
    /* vertices that stay: held ones and the border */
    for (int v = 0; v < part.n_verts; v++)
      still[v] = domain->held[part.vert[v]];
    for (int t = 0; t < mesh->n_tets; t++) /* the border with the rest of the body */
      for (int a = 0; a < 4 && !domain->inside[t]; a++) {
        const int v = part.local[mesh->tet[4 * (size_t)t + a]];
        if (v >= 0)
          still[v] = 1;
      }
    for (int v = 0; v < part.n_verts; v++)
      any = any || still[v];
    if (seed < 0 || still[seed] || !any)
      st = pla_fail(err, PLA_ERR_GEOMETRY,
                    any ? "Vertex %d cannot be the seed of a domain: it is held, or outside"
                        : "The domain of vertex %d has nothing that holds it",
                    domain->seed);
  }
  /* axis of the displacement */
  if (st == PLA_OK && options->direction)
    memcpy(axis, options->direction, sizeof axis);
  else if (st == PLA_OK && options->kind != PLA_WEIGHT_HARMONIC)
    st = find_direction(&part, options, seed, still, axis, err);
  else
    axis[2] = 1.0;
  if (st == PLA_OK) {
    /* displace the seed by 1 along the axis, solve for the rest */
    const bool along = options->kind == PLA_WEIGHT_PRINCIPAL;
    frame_along(axis, frame);
    for (int v = 0; v < part.n_verts; v++)
      for (int d = 0; d < 3; d++)
        fixed[3 * v + d] = v == seed || (still[v] && (d == 2 || !along));
    value[3 * seed + 2] = 1.0;
    part_assemble(&part, options, frame);
    part_pull(&part, fixed, value, disp);
    st = part_factor(&part, fixed, along ? options->support : 0.0, err);
  }
  if (st == PLA_OK)
    st = pla_cholesky_solve(part.factor, disp, disp, err);
  if (st == PLA_OK) {
    /* the weight is the displacement along the axis */
    memset(weight, 0, (size_t)mesh->n_verts * sizeof *weight);
    for (int v = 0; v < part.n_verts; v++)
      weight[part.vert[v]] = v == seed ? 1.0 : still[v] ? 0.0 : disp[3 * v + 2];
  }
  if (direction)
    memcpy(direction, axis, sizeof axis);
  part_clear(&part);
  free(still);
  free(fixed);
  free(value);
  free(disp);
  return st;
}

PlaStatus
pla_domain_weights(const PlaTetMesh *mesh, const PlaDomains *domains, const unsigned char *fixed,
                   const PlaWeightOptions *options, PlaProgress *progress, double *weight,
                   PlaError *err)
{
  unsigned char *held = pla_array_dup(fixed, (size_t)mesh->n_verts, 1);
  unsigned char *inside = pla_array_new((size_t)mesh->n_tets, 1);
  PlaStatus st = held && inside ? PLA_OK : pla_fail_memory(err, "domains");
  for (int i = 0; st == PLA_OK && i < domains->n; i++)
    held[domains->seed[i]] = 1;
  for (int i = 0; st == PLA_OK && i < domains->n; i++) {
    for (int t = 0; t < mesh->n_tets; t++)
      inside[t] = pla_domains_has(domains, i, t);
    held[domains->seed[i]] = 0;
    st = pla_domain_weight(&(PlaWeightDomain){ .mesh = mesh,
                                               .inside = inside,
                                               .seed = domains->seed[i],
                                               .held = held },
                           options, weight + (size_t)i * (size_t)mesh->n_verts, NULL, err);
    held[domains->seed[i]] = 1;
    if (st == PLA_OK && !pla_progress_step(progress, (i + 1.0) / domains->n))
      st = pla_fail_cancelled(err);
  }
  free(held);
  free(inside);
  return st;
}

void
pla_weight_give_way(double *weight, const double *added, int seed, int n_verts)
{
  const double here = weight[seed];
  for (int v = 0; v < n_verts; v++)
    weight[v] -= here * added[v];
}

/* means of neighbours, half way, again and again: a random walk of the wanted spread */
static void
diffuse(const PlaTetMesh *mesh, const unsigned char *fixed, const int *degree, int rounds,
        double *w, double *sum)
{
  for (int round = 0; round < rounds; round++) {
    memset(sum, 0, (size_t)mesh->n_verts * sizeof *sum);
    for (int t = 0; t < mesh->n_tets; t++) {
      const int *v = mesh->tet + 4 * (size_t)t;
      const double all = w[v[0]] + w[v[1]] + w[v[2]] + w[v[3]];
      for (int a = 0; a < 4; a++)
        sum[v[a]] += all - w[v[a]];
    }
    for (int v = 0; v < mesh->n_verts; v++)
      w[v] = fixed[v] ? 0.0 : degree[v] > 0 ? 0.5 * (w[v] + sum[v] / degree[v]) : w[v];
  }
}

/* mean square of the steps between neighbours, m^2; fills how many each vertex has, counted by tets
 */
static double
count_neighbours(const PlaTetMesh *mesh, int *degree)
{
  double square = 0.0;
  for (int t = 0; t < mesh->n_tets; t++)
    for (int a = 0; a < 4; a++) {
      const int *v = mesh->tet + 4 * (size_t)t;
      degree[v[a]] += 3;
      for (int b = 0; b < a; b++) {
        double edge[3];
        pla_vec3_sub(mesh->rest + 3 * (size_t)v[a], mesh->rest + 3 * (size_t)v[b], edge);
        square += pla_vec3_dot(edge, edge);
      }
    }
  return square / (6.0 * mesh->n_tets);
}

PlaStatus
pla_weights_smooth(const PlaTetMesh *mesh, const unsigned char *fixed, const int *seed,
                   int n_domains, double reach, double *weight, PlaError *err)
{
  const size_t n = (size_t)mesh->n_verts, m = (size_t)n_domains;
  int *degree = pla_array_new0(n, sizeof *degree);
  double *sum = pla_array_new(n, sizeof *sum), *row = pla_array_new(m, 2 * m * sizeof *row);
  PlaStatus st = degree && sum && row ? PLA_OK : pla_fail_memory(err, "weights");
  if (st == PLA_OK) {
    /* diffusion over the reach */
    const double square = count_neighbours(mesh, degree);
    const int rounds = 1 + (int)(6.0 * reach * reach / square);
    for (size_t d = 0; d < m; d++)
      diffuse(mesh, fixed, degree, rounds, weight + d * n, sum);
    /* rows [S | 1], S_ij = weight i at seed j, reduced to [1 | S^-1] */
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < m; j++) {
        row[i * 2 * m + j] = weight[i * n + (size_t)seed[j]];
        row[i * 2 * m + m + j] = i == j;
      }
  }
  /* Gauss-Jordan elimination with row pivots */
  for (size_t c = 0; st == PLA_OK && c < m; c++) {
    size_t best = c;
    for (size_t r = c + 1; r < m; r++)
      if (fabs(row[r * 2 * m + c]) > fabs(row[best * 2 * m + c]))
        best = r;
    if (fabs(row[best * 2 * m + c]) < 1e-3) {
      st = pla_fail(err, PLA_ERR_GEOMETRY, "Seeds of the reduced model are too near each other");
      break;
    }
    for (size_t j = 0; j < 2 * m; j++) {
      const double held = row[c * 2 * m + j];
      row[c * 2 * m + j] = row[best * 2 * m + j];
      row[best * 2 * m + j] = held;
    }
    const double scale = 1.0 / row[c * 2 * m + c];
    for (size_t j = 0; j < 2 * m; j++)
      row[c * 2 * m + j] *= scale;
    for (size_t r = 0; r < m; r++) {
      const double factor = r == c ? 0.0 : row[r * 2 * m + c];
      for (size_t j = 0; j < 2 * m; j++)
        row[r * 2 * m + j] -= factor * row[c * 2 * m + j];
    }
  }
  /* S^-1 times the weights: 1 at the own seed, 0 at the others */
  for (size_t v = 0; st == PLA_OK && v < n; v++) {
    for (size_t i = 0; i < m; i++) {
      sum[i] = 0.0;
      for (size_t j = 0; j < m; j++)
        sum[i] += row[i * 2 * m + m + j] * weight[j * n + v];
    }
    for (size_t i = 0; i < m; i++)
      weight[i * n + v] = sum[i];
  }
  for (size_t i = 0; st == PLA_OK && i < m; i++) /* to the last bit */
    for (size_t j = 0; j < m; j++)
      weight[i * n + (size_t)seed[j]] = i == j;
  free(degree);
  free(sum);
  free(row);
  return st;
}

PlaStatus
pla_elastic_extend(const PlaTetMesh *mesh, const unsigned char *fixed, double poisson, int n_fields,
                   double *disp, PlaError *err)
{
  PlaWeightOptions options = pla_weight_options_default();
  Part part;
  PlaStatus st = part_init(&part, mesh, NULL, err);
  const size_t n = 3 * (size_t)part.n_verts;
  unsigned char *held = pla_array_new0(n + 1, 1);
  double *value = pla_array_new0(n + 1, sizeof *value);
  double *rhs = pla_array_new0(((size_t)n_fields + 1) * (n + 1), sizeof *rhs);
  double frame[9];
  options.poisson = poisson;
  pla_mat3_identity(frame);
  if (st == PLA_OK && (!held || !value || !rhs))
    st = pla_fail_memory(err, "an elastic field");
  if (st == PLA_OK) {
    /* known displacements become right-hand sides */
    part_assemble(&part, &options, frame);
    for (size_t i = 0; i < n; i++)
      held[i] = fixed[part.vert[i / 3]];
    for (int f = 0; f < n_fields; f++) {
      const double *field = disp + 3 * (size_t)mesh->n_verts * (size_t)f;
      for (size_t i = 0; i < n; i++)
        value[i] = held[i] ? field[3 * (size_t)part.vert[i / 3] + i % 3] : 0.0;
      part_pull(&part, held, value, rhs + (size_t)f * n);
    }
    st = part_factor(&part, held, 0.0, err);
  }
  /* one factor serves all fields */
  for (int f = 0; st == PLA_OK && f < n_fields; f++) {
    double *field = disp + 3 * (size_t)mesh->n_verts * (size_t)f;
    st = pla_cholesky_solve(part.factor, rhs + (size_t)f * n, rhs + (size_t)f * n, err);
    for (size_t i = 0; st == PLA_OK && i < n; i++)
      field[3 * (size_t)part.vert[i / 3] + i % 3] = rhs[(size_t)f * n + i];
  }
  part_clear(&part);
  free(held);
  free(value);
  free(rhs);
  return st;
}
