/* A body in few degrees of freedom: u(X) = sum_k phi_k(X) q_k + sum_f c_f lift_f(X), q_k in R^3.
 *
 * The functions phi are the weights of overlapping domains times 1, the coordinates and their
 * products (Luo 2020, ch. 3); they are the same for all three components, so the deformation
 * gradient of a tet is 1 + sum_k q_k (x) h_k with h = sum_a grad N_a phi(a).  Lifts are fields
 * whose coefficients are given: what follows the jaw.  Energy and its derivatives are sums over
 * cubature points, a few tets with weights; the whole mesh serves as their oracle. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/levelset/levelset.h"
#include "sim/fem/model.h"
#include "sim/reduced/reduced-domains.h"

typedef struct {
  int n_verts, n_funcs;
  double *phi; /* n_verts x n_funcs */
} PlaReducedBasis;

typedef enum {
  PLA_BASIS_CONSTANT = 1,
  PLA_BASIS_AFFINE = 4,
  PLA_BASIS_QUADRATIC = 10
} PlaBasisOrder;

/* @weight: n_domains x n_verts; @others: the same for all functions but the first of each domain,
 * or NULL:
 * @weight serves them too.  Coordinates are taken from the seed and divided by the extent of the
 * domain, so at seed i the first function of domain i is 1 and all its others are 0. */
PlaStatus pla_reduced_basis_init(PlaReducedBasis *self, const PlaTetMesh *mesh, const int *seed,
                                 int n_domains, const double *weight, const double *others,
                                 PlaBasisOrder order, PlaError *err);
void pla_reduced_basis_clear(PlaReducedBasis *self);
/* u = phi q, m (n_verts x 3) and q (n_funcs x 3). */
void pla_reduced_basis_apply(const PlaReducedBasis *self, const double *q, double *disp);
/* phi^T f: forces on q (n_funcs x 3) of forces on vertices. */
void pla_reduced_basis_reduce(const PlaReducedBasis *self, const double *force, double *reduced);

/* Tets with weights: the integral over the body is sum of weight x value. */
typedef struct {
  int n;
  int *tet;
  double *weight; /* m^3 */
} PlaCubature;
void pla_cubature_clear(PlaCubature *self);
/* @per_segment tets of each segment, each standing for the same volume; no training. */
PlaStatus pla_cubature_sample(const PlaFemModel *fem, const PlaDomains *domains, int per_segment,
                              PlaCubature *out, PlaError *err);

typedef struct {
  double error; /* relative error of the reduced force, over all training poses; 0.05 */
  int most;     /* tets at most in one segment; 80 */
  int pool;     /* tets of one segment that are tried; 500 */
} PlaCubatureOptions;
PlaCubatureOptions pla_cubature_options_default(void);

/* Chooses tets and weights of each segment apart, so that the reduced elastic forces of @n_poses
 * shapes (n_poses x n_verts x 3) come out right (non-negative least squares).  @reached: the
 * relative error over all; may be NULL.  With @domains NULL the body is one segment.  Same bits for
 * any number of threads. */
PlaStatus pla_cubature_train(const PlaFemModel *fem, const PlaReducedBasis *basis,
                             const PlaDomains *domains, int n_poses, const double *poses,
                             const PlaCubatureOptions *options, PlaProgress *progress,
                             PlaCubature *out, double *reached, PlaError *err);

/* ---- the model: immutable, shared by any number of bodies ---- */

typedef struct PlaReducedModel PlaReducedModel;

/* Basis and lifts (n_lifts x n_verts x 3) are copied, @fem is borrowed.  Tets of @fem only. */
PlaStatus pla_reduced_model_new(const PlaFemModel *fem, const PlaReducedBasis *basis, int n_lifts,
                                const double *lift, const PlaCubature *cubature,
                                PlaReducedModel **out, PlaError *err);
void pla_reduced_model_free(PlaReducedModel *self); /* NULL is fine */

/* What a model was trained to be; borrowed. */
typedef struct {
  const PlaReducedBasis *basis;
  int n_points; /* of the cubature */
  const int *tet;
  const double *weight; /* m^3 (n_points) */
} PlaReducedView;
PlaReducedView pla_reduced_model_view(const PlaReducedModel *self);
int pla_reduced_model_n_funcs(const PlaReducedModel *self);
int pla_reduced_model_n_points(const PlaReducedModel *self);

/* Shapes of pressure (n_modes x n_verts) against which volume is kept besides the total one.  They
 * are made orthonormal; those that follow from others, or from the constant, are left out. */
PlaStatus pla_reduced_model_set_pressures(PlaReducedModel *self, int n_modes,
                                          const double *pressure, PlaError *err);
int pla_reduced_model_n_pressures(const PlaReducedModel *self);

/* Elastic energy, J, its slope (n_funcs x 3) and its projected curvature (3 n_funcs squared,
 * symmetric), by cubature; outputs may be NULL. */
double pla_reduced_elastic(const PlaReducedModel *self, const double *q, const double *lift_coef,
                           double *slope, double *curvature);

/* ---- a body in motion ---- */

/* A rigid solid by its signed distance (mm, as level sets are), placed at rotation x + shift of
 * where its grid says. */
typedef struct {
  const PlaLevelSet *level_set; /* borrowed */
  double rotation[9];
  double shift[3]; /* m */
} PlaReducedObstacle;

typedef struct {
  double dt_s;               /* 0: quasistatic */
  double mass_damping;       /* 1/s */
  double stiffness_damping;  /* s */
  double volume_stiffness;   /* against change of the whole volume, Pa; 0: none */
  double pressure_stiffness; /* against those of the pressure shapes, Pa; 0: none */
  double contact_thickness;  /* how far out of an obstacle its push begins, m */
  double contact_stiffness;  /* Pa/m */
  int max_iterations; /* of Newton's method in one step; three times as many where it does not
                         settle */
  double tolerance;   /* stop when nothing moves farther, m; after that move less is left than it */
} PlaReducedOptions;
PlaReducedOptions pla_reduced_options_default(void); /* 0.01 s, 6.22, 0.11, 0.15 mm, 6, 2e-5 m */

typedef struct {
  int iterations;
  bool converged;
  double move;            /* of the last iteration, m */
  double sensor_error;    /* largest distance from a target, m */
  double volume_ratio;    /* V / V0 */
  double max_penetration; /* of surface vertices, m */
  int contacts;           /* vertices that are pushed */
  double volume_s;        /* time spent on volume, s */
} PlaReducedReport;

typedef struct PlaReducedBody PlaReducedBody;

/* At rest.  @sensors: vertices whose positions are prescribed by steps.  @slides: 1 for vertices of
 * the surface that obstacles push; NULL: all of the surface (n_verts).  @model and @obstacles are
 * borrowed; obstacles may be moved between steps. */
PlaStatus pla_reduced_body_new(const PlaReducedModel *model, const PlaReducedOptions *options,
                               const int *sensors, int n_sensors, const unsigned char *slides,
                               const PlaReducedObstacle *obstacles, int n_obstacles,
                               PlaReducedBody **out, PlaError *err);
void pla_reduced_body_free(PlaReducedBody *self); /* NULL is fine */
/* To the rest shape, without velocity; @lift_coef as in a step. */
void pla_reduced_body_reset(PlaReducedBody *self);
/* One step: sensors stand at @target (n_sensors x 3, m; NaN: that coordinate is free) afterwards,
 * exactly.
 * @force: on vertices, N (n_verts x 3), or NULL.  Not settling within the iterations is a result.
 */
PlaStatus pla_reduced_body_step(PlaReducedBody *self, const double *target, const double *lift_coef,
                                const double *force, PlaReducedReport *report, PlaError *err);
/* The same without inertia and damping, in as many parts as large moves need; velocities become 0.
 */
PlaStatus pla_reduced_body_settle(PlaReducedBody *self, const double *target,
                                  const double *lift_coef, const double *force,
                                  PlaReducedReport *report, PlaError *err);

const double *pla_reduced_body_get_pos(const PlaReducedBody *self); /* m (n_verts x 3) */
const double *pla_reduced_body_get_q(const PlaReducedBody *self);
/* Places the body by hand, without velocity. */
void pla_reduced_body_set_q(PlaReducedBody *self, const double *q, const double *lift_coef);
/* Whole potential energy of the newest shape, J: elastic, volume, contact; its slope (n_funcs x 3)
 * where that is not NULL. */
double pla_reduced_body_energy(PlaReducedBody *self, double *slope);
/* Signed distances of the contact vertices from the nearest obstacle, m; INFINITY without
 * obstacles. Their number; *verts are their ids. */
int pla_reduced_body_gaps(const PlaReducedBody *self, const int **verts, const double **gap);
