/* Steps of a reduced body.  One implicit step is the minimum over q of
 *   E(q) + V0 kv/2 (V/V0 - 1)^2 + V0 kp/2 sum of amount^2 + sum of area kc/2 max(0, thickness -
 * gap)^2
 *   + 1/(2 dt^2) |u - u*|_M^2 + alpha/(2 dt) |u - u_n|_M^2 + beta/(2 dt) (q - q_n)^T K_n (q - q_n)
 * - f u where the sensors stand at their targets: linear constraints, so Newton's method meets them
 * in its first iteration and stays on them.  V is the exact volume inside the surface, the pressure
 * shapes see the volume of the cubature points.  Lifts damp nothing by stiffness. */
#include "sim/reduced/reduced-private.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/boundary.h"
#include "sim/linear/dense.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_CONTACTS = 4096 };

struct PlaReducedBody {
  const PlaReducedModel *model;
  PlaReducedOptions options;
  int n_sensors;
  int *sensor;
  int n_obstacles;
  const PlaReducedObstacle *obstacle;

  /* the surface: its vertices, with rows of the basis and the lifts of their own */
  int n_skin, n_tris;
  int *skin;    /* vertex ids (n_skin) */
  int *tri;     /* into skin (n_tris x 3) */
  double *phi;  /* n_skin x n_funcs */
  double *base; /* rest position (n_skin x 3) */
  int n_slides;
  int *slide;             /* into skin: those that obstacles push */
  int *slide_vert;        /* their vertex ids */
  double *area;           /* of each, m^2 (n_slides) */
  double *gap;            /* m, of the newest shape (n_slides) */
  double *seen, *seen_at; /* what each obstacle's distance last was, mm, and where in its frame
                             (n_obstacles x n_slides, x 3) */
  double volume;          /* inside the surface at rest, m^3 */

  /* the state */
  double *q, *lift_coef;
  double *pos, *vel; /* n_verts x 3 */

  /* one step */
  double *start;   /* q at its start */
  double *rhs;     /* of inertia and damping by mass, and of forces (n_funcs x 3) */
  double inertia;  /* their factor, 1/s^2 */
  double *viscous; /* K_n times beta / dt (3 n_funcs squared) */
  bool has_viscous;

  /* scratch */
  PlaReducedScratch scratch;
  double *lifted;                         /* rest position and lifts of the skin (n_skin x 3) */
  double *skin_pos, *skin_trial, *push;   /* n_skin x 3 */
  double *sample, *value, *normal, *best; /* n_slides x 3, 1, 3, 3 */
  int *near;                              /* slides that are sampled (n_slides) */
  bool decomposed;                        /* the scratch has all of the shape at q */
  double *slope, *trial, *move;           /* n_funcs x 3 */
  double *curvature;                      /* 3 n_funcs squared */
  double *rows;                           /* MOST_CONTACTS x 3 n_funcs */
  double *multi;                          /* 3 n_funcs x (3 n_sensors + 1) */
  double *schur;                          /* (3 n_sensors)^2 and a vector */
  double volume_ratio, volume_s;
  int contacts;
};

PlaReducedOptions
pla_reduced_options_default(void)
{
  return (PlaReducedOptions){ .dt_s = 0.01,
                              .mass_damping = 6.22,
                              .stiffness_damping = 0.11,
                              .volume_stiffness = 2e7,
                              .pressure_stiffness = 1e5,
                              .contact_thickness = 1.5e-4,
                              .contact_stiffness = 3e9,
                              .max_iterations = 6,
                              .tolerance = 2e-5 };
}

void
pla_reduced_body_free(PlaReducedBody *self)
{
  if (!self)
    return;
  void *owned[] = { self->sensor,  self->skin,       self->tri,       self->phi,   self->base,
                    self->slide,   self->slide_vert, self->area,      self->gap,   self->q,
                    self->pos,     self->vel,        self->lift_coef, self->start, self->rhs,
                    self->viscous, self->lifted,     self->skin_pos,  self->push,  self->skin_trial,
                    self->sample,  self->value,      self->normal,    self->best,  self->slope,
                    self->trial,   self->move,       self->curvature, self->rows,  self->multi,
                    self->schur,   self->seen,       self->seen_at,   self->near };
  for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
    free(owned[i]);
  pla_reduced_scratch_clear(&self->scratch);
  free(self);
}

static double
clock_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* volume inside the surface at @x (skin vertices); adds its slope to @slope where that is not NULL
 */
static double
surface_volume(const PlaReducedBody *self, const double *x, double *slope)
{
  double sum = 0.0;
  for (int t = 0; t < self->n_tris; t++) {
    const int *v = self->tri + 3 * (size_t)t;
    const double *a = x + 3 * (size_t)v[0], *b = x + 3 * (size_t)v[1], *c = x + 3 * (size_t)v[2];
    double bc[3], ca[3], ab[3];
    pla_vec3_cross(b, c, bc);
    sum += pla_vec3_dot(a, bc) / 6.0;
    if (!slope)
      continue;
    pla_vec3_cross(c, a, ca);
    pla_vec3_cross(a, b, ab);
    for (int d = 0; d < 3; d++) {
      slope[3 * (size_t)v[0] + (size_t)d] += bc[d] / 6.0;
      slope[3 * (size_t)v[1] + (size_t)d] += ca[d] / 6.0;
      slope[3 * (size_t)v[2] + (size_t)d] += ab[d] / 6.0;
    }
  }
  return sum;
}

static PlaStatus
take_surface(PlaReducedBody *self, const unsigned char *slides, PlaError *err)
{
  const PlaFemModel *fem = self->model->fem;
  const size_t m = (size_t)self->model->basis.n_funcs;
  const PlaTetMesh mesh = { fem->n_verts, fem->n_tets, fem->rest, fem->tet };
  PlaBoundary boundary = { 0 };
  int *local = pla_array_new((size_t)fem->n_verts, sizeof *local);
  PlaStatus st = pla_boundary_init(&boundary, &mesh, &(PlaHexMesh){ 0 }, false, err);
  if (st != PLA_OK || !local) {
    free(local);
    return st != PLA_OK ? st : pla_fail_memory(err, "a surface");
  }
  memset(local, 0xff, (size_t)fem->n_verts * sizeof *local);
  self->n_tris = boundary.n_tris;
  self->tri = pla_array_new((size_t)boundary.n_tris, 3 * sizeof *self->tri);
  self->skin = pla_array_new((size_t)fem->n_verts, sizeof *self->skin);
  self->slide = pla_array_new((size_t)fem->n_verts, sizeof *self->slide);
  self->slide_vert = pla_array_new((size_t)fem->n_verts, sizeof *self->slide_vert);
  self->area = pla_array_new0((size_t)fem->n_verts, sizeof *self->area);
  bool enough = self->tri && self->skin && self->slide && self->slide_vert && self->area;
  /* number the vertices of the skin */
  for (int k = 0; enough && k < 3 * boundary.n_tris; k++) {
    const int v = boundary.tri[k];
    if (local[v] < 0) {
      self->skin[self->n_skin] = v;
      local[v] = self->n_skin++;
    }
    self->tri[k] = local[v];
  }
  const size_t n = (size_t)self->n_skin;
  self->phi = pla_array_new(n + 1, m * sizeof *self->phi);
  self->base = pla_array_new(n + 1, 3 * sizeof *self->base);
  double *area = pla_array_new0(n + 1, sizeof *area);
  enough = enough && self->phi && self->base && area;
  /* basis functions and rest positions there */
  for (size_t s = 0; enough && s < n; s++) {
    memcpy(self->phi + s * m, self->model->basis.phi + (size_t)self->skin[s] * m,
           m * sizeof(double));
    memcpy(self->base + 3 * s, fem->rest + 3 * (size_t)self->skin[s], 3 * sizeof(double));
  }
  /* a third of each triangle's area to its corners */
  for (int t = 0; enough && t < self->n_tris; t++) {
    const int *v = self->tri + 3 * (size_t)t;
    double e[3], f[3], normal[3];
    pla_vec3_sub(self->base + 3 * (size_t)v[1], self->base + 3 * (size_t)v[0], e);
    pla_vec3_sub(self->base + 3 * (size_t)v[2], self->base + 3 * (size_t)v[0], f);
    pla_vec3_cross(e, f, normal);
    for (int a = 0; a < 3; a++)
      area[v[a]] += pla_vec3_norm(normal) / 6.0;
  }
  /* vertices that obstacles may push */
  for (int s = 0; enough && s < self->n_skin; s++)
    if (!slides || slides[self->skin[s]]) {
      self->area[self->n_slides] = area[s];
      self->slide_vert[self->n_slides] = self->skin[s];
      self->slide[self->n_slides++] = s;
    }
  if (enough)
    self->volume = surface_volume(self, self->base, NULL);
  pla_boundary_clear(&boundary);
  free(local);
  free(area);
  return enough ? PLA_OK : pla_fail_memory(err, "a surface");
}

static bool
take_room(PlaReducedBody *self)
{
  const PlaReducedModel *model = self->model;
  const size_t n = (size_t)model->basis.n_verts, m = 3 * (size_t)model->basis.n_funcs;
  const size_t skin = 3 * (size_t)self->n_skin + 1, slides = (size_t)self->n_slides + 1;
  const size_t rows = 3 * (size_t)self->n_sensors + 1, obstacles = (size_t)self->n_obstacles;
  struct {
    double **at;
    size_t n;
  } room[] = {
    { &self->gap, slides },
    { &self->q, m },
    { &self->pos, 3 * n },
    { &self->vel, 3 * n },
    { &self->start, m },
    { &self->rhs, m },
    { &self->viscous, m * m },
    { &self->lifted, skin },
    { &self->skin_pos, skin },
    { &self->skin_trial, skin },
    { &self->push, skin },
    { &self->sample, 3 * slides },
    { &self->value, slides },
    { &self->normal, 3 * slides },
    { &self->best, 3 * slides },
    { &self->slope, m },
    { &self->trial, m },
    { &self->move, m },
    { &self->curvature, m * m },
    { &self->rows, MOST_CONTACTS * m },
    { &self->multi, m * (rows + 1) },
    { &self->schur, rows * (rows + 1) },
    { &self->lift_coef, (size_t)model->n_lifts + 1 },
    { &self->seen, obstacles * slides },
    { &self->seen_at, 3 * obstacles * slides },
  };
  for (size_t i = 0; i < sizeof room / sizeof room[0]; i++)
    if (!(*room[i].at = pla_array_new0(room[i].n + 1, sizeof(double))))
      return false;
  for (size_t i = 0; i < obstacles * slides; i++)
    self->seen[i] = -INFINITY;
  self->near = pla_array_new(slides, sizeof *self->near);
  return self->near != NULL;
}

PlaStatus
pla_reduced_body_new(const PlaReducedModel *model, const PlaReducedOptions *options,
                     const int *sensors, int n_sensors, const unsigned char *slides,
                     const PlaReducedObstacle *obstacles, int n_obstacles, PlaReducedBody **out,
                     PlaError *err)
{
  PlaReducedBody *self = pla_array_new0(1, sizeof *self);
  PlaStatus st = self ? PLA_OK : pla_fail_memory(err, "a reduced body");
  *out = NULL;
  pla_blas_single_thread();
  if (st == PLA_OK) {
    self->model = model;
    self->options = *options;
    self->n_sensors = n_sensors;
    self->sensor = pla_array_dup(sensors, (size_t)n_sensors, sizeof *sensors);
    self->n_obstacles = n_obstacles;
    self->obstacle = obstacles;
    st = pla_reduced_scratch_init(&self->scratch, model, err);
  }
  if (st == PLA_OK)
    st = take_surface(self, slides, err);
  if (st == PLA_OK && ((n_sensors > 0 && !self->sensor) || !take_room(self)))
    st = pla_fail_memory(err, "a reduced body");
  if (st == PLA_OK) {
    pla_reduced_body_reset(self);
    *out = self;
  } else
    pla_reduced_body_free(self);
  return st;
}

/* rest and lifts of the skin, for the coefficients that hold now */
static void
place_lifts(PlaReducedBody *self)
{
  const PlaReducedModel *model = self->model;
  memcpy(self->lifted, self->base, 3 * (size_t)self->n_skin * sizeof(double));
  for (int f = 0; f < model->n_lifts; f++)
    for (int s = 0; s < self->n_skin; s++)
      for (int d = 0; d < 3; d++)
        self->lifted[3 * s + d] +=
            self->lift_coef[f] *
            model->lift[3 * ((size_t)f * (size_t)model->basis.n_verts + (size_t)self->skin[s]) +
                        (size_t)d];
}

/* positions of the skin at @q */
static void
place_skin(const PlaReducedBody *self, const double *q, double *x)
{
  const int m = self->model->basis.n_funcs;
  memcpy(x, self->lifted, 3 * (size_t)self->n_skin * sizeof *x);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, self->n_skin, 3, m, 1.0, self->phi, m, q,
              3, 1.0, x, 3);
}

/* displacement of all vertices: lifts, and the basis where @q is not NULL */
static void
displace(const PlaReducedBody *self, const double *q, double *disp)
{
  const PlaReducedModel *model = self->model;
  const int n = 3 * model->basis.n_verts, m = model->basis.n_funcs;
  memset(disp, 0, (size_t)n * sizeof *disp);
  for (int f = 0; f < model->n_lifts; f++)
    cblas_daxpy(n, self->lift_coef[f], model->lift + (size_t)f * (size_t)n, 1, disp, 1);
  if (q)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, model->basis.n_verts, 3, m, 1.0,
                model->basis.phi, m, q, 3, 1.0, disp, 3);
}

static void
place_all(PlaReducedBody *self)
{
  displace(self, self->q, self->pos);
  cblas_daxpy(3 * self->model->basis.n_verts, 1.0, self->model->fem->rest, 1, self->pos, 1);
}

/* Signed distances and outward normals of the sliding vertices at @x from the nearest obstacle.
 * Where they are not
 * @exact, vertices that cannot have come to touch since they were last looked at have a lower bound
 * instead: a distance between samples that differ by no more than their spacing is never steeper
 * than sqrt(3). */
static void
measure_gaps(PlaReducedBody *self, const double *x, bool normals, bool exact)
{
  const double steepest = 1.8, touch_mm = 1000.0 * self->options.contact_thickness;
  for (int i = 0; i < self->n_slides; i++)
    self->gap[i] = INFINITY;
  for (int o = 0; o < self->n_obstacles; o++) {
    const PlaReducedObstacle *obstacle = &self->obstacle[o];
    double *seen = self->seen + (size_t)o * (size_t)self->n_slides;
    double *seen_at = self->seen_at + 3 * (size_t)o * (size_t)self->n_slides;
    int n = 0;
    /* into the obstacle's frame; skip vertices that cannot have come near since the last sample */
    for (int i = 0; i < self->n_slides; i++) {
      double p[3], back[3], away[3];
      pla_vec3_sub(x + 3 * (size_t)self->slide[i], obstacle->shift, p);
      for (int d = 0; d < 3; d++)
        back[d] = 1000.0 * (obstacle->rotation[d] * p[0] + obstacle->rotation[3 + d] * p[1] +
                            obstacle->rotation[6 + d] * p[2]);
      pla_vec3_sub(back, seen_at + 3 * (size_t)i, away);
      const double least = seen[i] - steepest * pla_vec3_norm(away);
      if (!exact && least > touch_mm) {
        self->gap[i] = fmin(self->gap[i], least / 1000.0);
        continue;
      }
      memcpy(self->sample + 3 * (size_t)n, back, sizeof back);
      memcpy(seen_at + 3 * (size_t)i, back, sizeof back);
      self->near[n++] = i;
    }
    /* sample the signed distance of the others */
    pla_levelset_sample(obstacle->level_set, (size_t)n, self->sample, self->value,
                        normals ? self->normal : NULL);
    /* the nearest obstacle counts */
    for (int k = 0; k < n; k++) {
      const int i = self->near[k];
      const double gap = self->value[k] / 1000.0;
      seen[i] = self->value[k];
      if (!(gap < self->gap[i]))
        continue;
      self->gap[i] = gap;
      if (normals)
        pla_mat3_apply(obstacle->rotation, self->normal + 3 * k, self->best + 3 * i);
    }
  }
}

/* energy of contact at @x; slope on the skin and rows of the curvature where wanted */
static double
add_contacts(PlaReducedBody *self, const double *x, double *push, double *curvature)
{
  const PlaReducedOptions *options = &self->options;
  const int m = self->model->basis.n_funcs;
  double energy = 0.0;
  int n_rows = 0;
  self->contacts = 0;
  if (self->n_obstacles == 0)
    return 0.0;
  /* energy 1/2 k depth^2 of each vertex within the contact thickness */
  measure_gaps(self, x, push != NULL, false);
  for (int i = 0; i < self->n_slides; i++) {
    const double depth = options->contact_thickness - self->gap[i];
    if (!(depth > 0.0))
      continue;
    const double k = options->contact_stiffness * self->area[i];
    self->contacts++;
    energy += 0.5 * k * depth * depth;
    if (!push)
      continue;
    double *n = self->best + 3 * (size_t)i;
    const double length = pla_vec3_norm(n), *phi = self->phi + (size_t)self->slide[i] * (size_t)m;
    for (int d = 0; d < 3; d++) {
      n[d] /= length > 0.0 ? length : 1.0;
      push[3 * (size_t)self->slide[i] + (size_t)d] -= k * depth * n[d];
    }
    if (!curvature || n_rows == MOST_CONTACTS)
      continue;
    /* Gauss-Newton row: sqrt(k) times the slope of the gap */
    double *row = self->rows + 3 * (size_t)m * (size_t)n_rows++;
    const double root = sqrt(k);
    for (int o = 0; o < m; o++)
      for (int d = 0; d < 3; d++)
        row[3 * o + d] = root * phi[o] * n[d];
  }
  if (curvature && n_rows > 0)
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, 3 * m, 3 * m, n_rows, 1.0, self->rows,
                3 * m, self->rows, 3 * m, 1.0, curvature, 3 * m);
  return energy;
}

/* energy against change of volume, whole and in pressure shapes */
static double
add_volume(PlaReducedBody *self, const double *x, double *slope, double *curvature)
{
  const PlaReducedOptions *options = &self->options;
  const int m = self->model->basis.n_funcs;
  const double begun = clock_s(), stiffness = options->volume_stiffness;
  double *push = self->push;
  if (slope)
    memset(push, 0, 3 * (size_t)self->n_skin * sizeof *push);
  const double ratio = surface_volume(self, x, slope ? push : NULL) / self->volume;
  double energy = 0.5 * stiffness * self->volume * (ratio - 1.0) * (ratio - 1.0);
  self->volume_ratio = ratio;
  if (slope && stiffness > 0.0) {
    double *row = self->rows;
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, 3, self->n_skin, 1.0, self->phi, m,
                push, 3, 0.0, row, 3);
    cblas_daxpy(3 * m, stiffness * (ratio - 1.0), row, 1, slope, 1);
    if (curvature)
      cblas_dger(CblasRowMajor, 3 * m, 3 * m, stiffness / self->volume, row, 1, row, 1, curvature,
                 3 * m);
  }
  energy += pla_reduced_add_pressures(self->model, options->pressure_stiffness, &self->scratch,
                                      slope, curvature);
  self->volume_s += clock_s() - begun;
  return energy;
}

/* inertia, damping and dead forces */
static double
add_motion(PlaReducedBody *self, const double *q, double *slope, double *curvature)
{
  const int m = self->model->basis.n_funcs, n = 3 * m;
  double *work = self->multi, energy = -cblas_ddot(n, self->rhs, 1, q, 1);
  if (slope)
    cblas_daxpy(n, -1.0, self->rhs, 1, slope, 1);
  /* inertia: the same reduced mass matrix for all three axes */
  if (self->inertia > 0.0) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, 3, m, self->inertia,
                self->model->mass, m, q, 3, 0.0, work, 3);
    energy += 0.5 * cblas_ddot(n, work, 1, q, 1);
    if (slope)
      cblas_daxpy(n, 1.0, work, 1, slope, 1);
    for (int k = 0; curvature && k < m; k++)
      for (int o = 0; o < m; o++)
        for (int d = 0; d < 3; d++)
          curvature[(size_t)(3 * k + d) * (size_t)n + (size_t)(3 * o + d)] +=
              self->inertia * self->model->mass[k * m + o];
  }
  /* damping, from the start of the step */
  if (self->has_viscous) {
    double *away = self->multi + n; /* multi has room for one right-hand side and the rows */
    for (int i = 0; i < n; i++)
      away[i] = q[i] - self->start[i];
    cblas_dgemv(CblasRowMajor, CblasNoTrans, n, n, 1.0, self->viscous, n, away, 1, 0.0, work, 1);
    energy += 0.5 * cblas_ddot(n, work, 1, away, 1);
    if (slope)
      cblas_daxpy(n, 1.0, work, 1, slope, 1);
    if (curvature)
      cblas_daxpy(n * n, 1.0, self->viscous, 1, curvature, 1);
  }
  return energy;
}

/* The whole energy at @q, whose skin is at @x.  With @begin the elastic curvature found becomes the
 * damping of the step. */
static double
evaluate(PlaReducedBody *self, const double *q, const double *x, double *slope, double *curvature,
         bool begin)
{
  const int m = self->model->basis.n_funcs, n = 3 * m;
  if (slope)
    memset(slope, 0, (size_t)n * sizeof *slope);
  if (curvature)
    memset(curvature, 0, (size_t)n * (size_t)n * sizeof *curvature);
  if (!self->decomposed)
    pla_reduced_gradients(self->model, q, self->lift_coef, &self->scratch);
  self->decomposed = false;
  double energy = pla_reduced_add_elastic(self->model, &self->scratch, slope, curvature);
  if (begin) {
    const double factor = self->options.stiffness_damping / self->options.dt_s;
    for (int i = 0; i < n * n; i++)
      self->viscous[i] = factor * curvature[i];
    self->has_viscous = true;
  }
  energy += add_volume(self, x, slope, curvature);
  if (slope)
    memset(self->push, 0, 3 * (size_t)self->n_skin * sizeof *self->push);
  energy += add_contacts(self, x, slope ? self->push : NULL, curvature);
  if (slope && self->contacts > 0)
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, 3, self->n_skin, 1.0, self->phi, m,
                self->push, 3, 1.0, slope, 3);
  return energy + add_motion(self, q, slope, curvature);
}

/* where sensor @s is at @q */
static void
sensor_at(const PlaReducedBody *self, int s, const double *q, double x[3])
{
  const PlaReducedModel *model = self->model;
  const size_t v = (size_t)self->sensor[s];
  const double *phi = model->basis.phi + v * (size_t)model->basis.n_funcs;
  for (int d = 0; d < 3; d++) {
    x[d] = model->fem->rest[3 * v + (size_t)d];
    for (int f = 0; f < model->n_lifts; f++)
      x[d] += self->lift_coef[f] *
              model->lift[3 * ((size_t)f * (size_t)model->basis.n_verts + v) + (size_t)d];
    for (int k = 0; k < model->basis.n_funcs; k++)
      x[d] += phi[k] * q[3 * k + d];
  }
}

/* Newton's move from @q: curvature move = -slope while the prescribed coordinates come to their
 * targets */
static bool
newton_move(PlaReducedBody *self, const double *q, const double *target)
{
  const int m = self->model->basis.n_funcs, n = 3 * m;
  double *a = self->curvature, *multi = self->multi, *missing;
  double largest = 0.0;
  int rows = 0, at[2];
  double *schur = self->schur;
  missing = schur + 9 * (size_t)self->n_sensors * (size_t)self->n_sensors;
  /* regularise: functions of different domains are nearly dependent */
  for (int i = 0; i < n; i++)
    largest = fmax(largest, a[(size_t)i * (size_t)n + (size_t)i]);
  for (int i = 0; i < n; i++) /* functions of different domains nearly follow from each other */
    a[(size_t)i * (size_t)n + (size_t)i] += 1e-11 * largest;
  /* factor the curvature, with more on its diagonal until it is definite */
  double ridge = 1e-8 * largest;
  memcpy(self->rows, a, (size_t)n * (size_t)n * sizeof *a);
  while (!pla_dense_factor(n, a)) {
    if (ridge > largest)
      return false;
    memcpy(a, self->rows, (size_t)n * (size_t)n * sizeof *a);
    for (int i = 0; i < n; i++)
      a[(size_t)i * (size_t)n + (size_t)i] += ridge;
    ridge *= 100.0;
  }
  /* right-hand sides: -slope, then the rows of the constraints, each a row of the basis */
  memset(multi, 0, (size_t)n * (size_t)(3 * self->n_sensors + 1) * sizeof *multi);
  for (int i = 0; i < n; i++)
    multi[i] = -self->slope[i];
  for (int s = 0; s < self->n_sensors; s++) {
    double x[3];
    sensor_at(self, s, q, x);
    for (int d = 0; d < 3; d++) {
      if (isnan(target[3 * s + d]))
        continue;
      const double *phi = self->model->basis.phi + (size_t)self->sensor[s] * (size_t)m;
      missing[rows] = target[3 * s + d] - x[d];
      for (int k = 0; k < m; k++)
        multi[(size_t)(rows + 1) * (size_t)n + (size_t)(3 * k + d)] = phi[k];
      rows++;
    }
  }
  /* Schur complement of the constraints: multipliers, then the step */
  double *row = self->rows; /* the rows once more, before the solve */
  memcpy(row, multi + n, (size_t)rows * (size_t)n * sizeof *row);
  pla_dense_solve(n, a, rows + 1, multi);
  for (at[0] = 0; at[0] < rows; at[0]++) {
    missing[at[0]] -= cblas_ddot(n, row + (size_t)at[0] * (size_t)n, 1, multi, 1);
    for (at[1] = 0; at[1] < rows; at[1]++)
      schur[at[0] + at[1] * rows] = cblas_ddot(n, row + (size_t)at[0] * (size_t)n, 1,
                                               multi + (size_t)(at[1] + 1) * (size_t)n, 1);
  }
  if (rows > 0 && !pla_dense_factor(rows, schur))
    return false;
  if (rows > 0)
    pla_dense_solve(rows, schur, 1, missing);
  memcpy(self->move, multi, (size_t)n * sizeof *multi);
  for (int r = 0; r < rows; r++)
    cblas_daxpy(n, missing[r], multi + (size_t)(r + 1) * (size_t)n, 1, self->move, 1);
  return true;
}

static double
sensors_off(const PlaReducedBody *self, const double *q, const double *target)
{
  double most = 0.0;
  for (int s = 0; s < self->n_sensors; s++) {
    double x[3], off2 = 0.0;
    sensor_at(self, s, q, x);
    for (int d = 0; d < 3; d++)
      if (!isnan(target[3 * s + d]))
        off2 += (target[3 * s + d] - x[d]) * (target[3 * s + d] - x[d]);
    most = fmax(most, sqrt(off2));
  }
  return most;
}

/* Newton's iterations from self->q to the minimum with the sensors at @target */
static void
minimise(PlaReducedBody *self, const double *target, int max_iterations, PlaReducedReport *report)
{
  const int n = 3 * self->model->basis.n_funcs;
  const bool damped = self->inertia > 0.0 && self->options.stiffness_damping > 0.0;
  report->converged = false;
  self->decomposed = false;
  for (int k = 0; k < max_iterations && !report->converged; k++) {
    const bool off = sensors_off(self, self->q, target) > 1e-12;
    /* Newton step under the constraints of the sensors */
    const double energy = evaluate(self, self->q, self->skin_pos, self->slope, self->curvature,
                                   damped && !self->has_viscous);
    report->iterations++;
    if (!newton_move(self, self->q, target))
      break;
    /* line search on the energy; in full while sensors are off their targets */
    const double along = cblas_ddot(n, self->slope, 1, self->move, 1);
    double part = 1.0, reached = 0.0;
    self->decomposed = false;
    for (int halving = 0; halving < 12; halving++, part *= 0.5) {
      for (int i = 0; i < n; i++)
        self->trial[i] = self->q[i] + part * self->move[i];
      place_skin(self, self->trial, self->skin_trial);
      if (off) /* towards the targets in full, whatever it costs */
        break;
      reached = evaluate(self, self->trial, self->skin_trial, NULL, NULL, false);
      if (reached <= energy + 1e-4 * part * along || -along < 1e-14 * fabs(energy))
        break;
    }
    /* converged when the skin moves by less than the tolerance */
    report->move = 0.0;
    for (int i = 0; i < 3 * self->n_skin; i++)
      report->move = fmax(report->move, fabs(self->skin_trial[i] - self->skin_pos[i]));
    memcpy(self->q, self->trial, (size_t)n * sizeof *self->q);
    self->decomposed = !off; /* the next iteration begins at the trial that was looked at last */
    memcpy(self->skin_pos, self->skin_trial, 3 * (size_t)self->n_skin * sizeof(double));
    report->converged = !off && report->move <= self->options.tolerance;
  }
  self->decomposed = false;
}

static void
finish(PlaReducedBody *self, const double *target, PlaReducedReport *report)
{
  report->sensor_error = sensors_off(self, self->q, target);
  report->volume_ratio = surface_volume(self, self->skin_pos, NULL) / self->volume;
  report->volume_s = self->volume_s;
  report->max_penetration = 0.0;
  report->contacts = 0;
  if (self->n_obstacles > 0) {
    measure_gaps(self, self->skin_pos, false, true);
    for (int i = 0; i < self->n_slides; i++) {
      report->max_penetration = fmax(report->max_penetration, -self->gap[i]);
      report->contacts += self->gap[i] < self->options.contact_thickness;
    }
  }
}

PlaStatus
pla_reduced_body_step(PlaReducedBody *self, const double *target, const double *lift_coef,
                      const double *force, PlaReducedReport *report, PlaError *err)
{
  const PlaReducedModel *model = self->model;
  const size_t n = 3 * (size_t)model->basis.n_verts;
  const double dt = self->options.dt_s;
  if (dt <= 0.0)
    return pla_reduced_body_settle(self, target, lift_coef, force, report, err);
  double *nodal = pla_array_new(n, sizeof *nodal), *lifts = pla_array_new(n, sizeof *lifts);
  if (!nodal || !lifts) {
    free(nodal);
    free(lifts);
    return pla_fail_memory(err, "a step");
  }
  *report = (PlaReducedReport){ 0 };
  self->volume_s = 0.0;
  for (int f = 0; f < model->n_lifts; f++)
    self->lift_coef[f] = lift_coef[f];
  place_lifts(self);
  place_skin(self, self->q, self->skin_pos);
  displace(self, NULL, lifts);
  /* momentum leads to u* = u_n + dt v_n; mass damping holds at u_n */
  self->inertia = 1.0 / (dt * dt) + self->options.mass_damping / dt;
  for (size_t i = 0; i < n; i++) {
    const double u = self->pos[i] - model->fem->rest[i];
    nodal[i] = model->fem->mass[i / 3] * (self->inertia * (u - lifts[i]) + self->vel[i] / dt) +
               (force ? force[i] : 0.0);
  }
  pla_reduced_basis_reduce(&model->basis, nodal, self->rhs);
  memcpy(self->start, self->q, 3 * (size_t)model->basis.n_funcs * sizeof *self->start);
  self->has_viscous = false;
  /* few steps need more than that: where flesh is pressed against teeth, they would end inside of
   * them */
  for (int round = 0; round < 3 && !report->converged; round++)
    minimise(self, target, self->options.max_iterations, report);
  memcpy(nodal, self->pos, n * sizeof *nodal);
  place_all(self);
  for (size_t i = 0; i < n; i++)
    self->vel[i] = (self->pos[i] - nodal[i]) / dt;
  finish(self, target, report);
  free(nodal);
  free(lifts);
  return PLA_OK;
}

PlaStatus
pla_reduced_body_settle(PlaReducedBody *self, const double *target, const double *lift_coef,
                        const double *force, PlaReducedReport *report, PlaError *err)
{
  enum { PART_ITERATIONS = 8, LAST_ITERATIONS = 40 };
  const double part_m = 2e-3; /* sensors move by no more at once */
  const int n_lifts = self->model->n_lifts, n_targets = 3 * self->n_sensors;
  double *from = pla_array_new((size_t)(n_targets + n_lifts) + 1, 2 * sizeof *from);
  if (!from)
    return pla_fail_memory(err, "a step");
  double *now = from + n_targets + n_lifts;
  /* a static problem: no inertia, no damping */
  *report = (PlaReducedReport){ 0 };
  self->volume_s = 0.0;
  self->inertia = 0.0;
  self->has_viscous = false;
  memset(self->rhs, 0, 3 * (size_t)self->model->basis.n_funcs * sizeof *self->rhs);
  if (force)
    pla_reduced_basis_reduce(&self->model->basis, force, self->rhs);
  /* lead sensors and lifts to their targets in short parts */
  for (int s = 0; s < self->n_sensors; s++)
    sensor_at(self, s, self->q, from + 3 * s);
  for (int f = 0; f < n_lifts; f++)
    from[n_targets + f] = self->lift_coef[f];
  const int parts = 1 + (int)(sensors_off(self, self->q, target) / part_m);
  for (int part = 1; part <= parts; part++) {
    const double t = (double)part / parts;
    for (int i = 0; i < n_targets; i++)
      now[i] = part == parts ? target[i] : from[i] + t * (target[i] - from[i]);
    for (int f = 0; f < n_lifts; f++)
      self->lift_coef[f] = from[n_targets + f] + t * (lift_coef[f] - from[n_targets + f]);
    place_lifts(self);
    place_skin(self, self->q, self->skin_pos);
    minimise(self, now, part == parts ? LAST_ITERATIONS : PART_ITERATIONS, report);
  }
  /* positions of all vertices, at rest */
  place_all(self);
  memset(self->vel, 0, 3 * (size_t)self->model->basis.n_verts * sizeof *self->vel);
  finish(self, target, report);
  free(from);
  return PLA_OK;
}

void
pla_reduced_body_reset(PlaReducedBody *self)
{
  memset(self->q, 0, 3 * (size_t)self->model->basis.n_funcs * sizeof *self->q);
  memset(self->lift_coef, 0, (size_t)self->model->n_lifts * sizeof *self->lift_coef);
  pla_reduced_body_set_q(self, self->q, self->lift_coef);
}

void
pla_reduced_body_set_q(PlaReducedBody *self, const double *q, const double *lift_coef)
{
  memmove(self->q, q, 3 * (size_t)self->model->basis.n_funcs * sizeof *q);
  if (self->model->n_lifts > 0)
    memmove(self->lift_coef, lift_coef, (size_t)self->model->n_lifts * sizeof *lift_coef);
  memset(self->vel, 0, 3 * (size_t)self->model->basis.n_verts * sizeof *self->vel);
  memset(self->rhs, 0, 3 * (size_t)self->model->basis.n_funcs * sizeof *self->rhs);
  self->inertia = 0.0;
  self->has_viscous = false;
  place_lifts(self);
  place_skin(self, self->q, self->skin_pos);
  place_all(self);
}

const double *
pla_reduced_body_get_pos(const PlaReducedBody *self)
{
  return self->pos;
}

const double *
pla_reduced_body_get_q(const PlaReducedBody *self)
{
  return self->q;
}

double
pla_reduced_body_energy(PlaReducedBody *self, double *slope)
{
  const double inertia = self->inertia;
  const bool viscous = self->has_viscous;
  self->inertia = 0.0;
  self->has_viscous = false;
  memset(self->rhs, 0, 3 * (size_t)self->model->basis.n_funcs * sizeof *self->rhs);
  const double energy = evaluate(self, self->q, self->skin_pos, slope, NULL, false);
  self->inertia = inertia;
  self->has_viscous = viscous;
  return energy;
}

int
pla_reduced_body_gaps(const PlaReducedBody *self, const int **verts, const double **gap)
{
  *verts = self->slide_vert;
  *gap = self->gap;
  return self->n_slides;
}
