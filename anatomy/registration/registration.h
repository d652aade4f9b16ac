/* Bringing things into one frame: landmarks, surfaces, volumes; rigid, and by smooth warps.
 *
 * A rigid transform maps the moving thing into the fixed one's frame: fixed = R moving + t.  All in
 * RAS millimetres. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/volume/volume.h"

#include <stdbool.h>

typedef struct {
  double r[9]; /* proper rotation, row-major */
  double t_mm[3];
} PlaRigid;

PlaRigid pla_rigid_identity(void);
void pla_rigid_apply(const PlaRigid *self, const double p[3], double q[3]);
PlaRigid pla_rigid_inverse(const PlaRigid *self);
/* first @a, then @b */
PlaRigid pla_rigid_then(const PlaRigid *a, const PlaRigid *b);
double pla_rigid_angle_deg(const PlaRigid *self);
void pla_rigid_to_affine(const PlaRigid *self, double affine[12]);
/* A turn by the vector @turn (axis times radians) about @centre, then a shift. */
PlaRigid pla_rigid_about(const double centre[3], const double turn[3], const double shift[3]);

/* ---- landmarks (landmarks.c) ---- */

typedef struct {
  double rms_mm, max_mm; /* residuals of the points that count */
  int worst;             /* index of the largest among them */
  int n_used;            /* points that count; the others were found to be outliers */
} PlaLandmarkReport;

/* The rigid transform that brings @n points @moving onto their partners @fixed (n x 3) with the
 * least squares of distances (Horn 1987; Arun, Huang and Blostein 1987).  @robust: points that do
 * not fit the others are found and left out, as long as more than half fit.  @residual_mm (n, may
 * be NULL): of all points.  PLA_ERR_GEOMETRY with a sentence for fewer than three, coinciding or
 * collinear points. */
PlaStatus pla_register_landmarks(int n, const double *moving, const double *fixed, bool robust,
                                 PlaRigid *out, double *residual_mm, PlaLandmarkReport *report,
                                 PlaError *err);

/* ---- surfaces (icp.c) ---- */

typedef struct {
  int max_iterations;
  double trim;     /* share of the farthest pairs left out of every step, 0..0.9 */
  double reach_mm; /* pairs farther apart never count; INFINITY: all */
  int n_samples;   /* points of the moving surface that are used; 0: 4000 */
  bool search;     /* also start from 24 turned positions about the middles */
} PlaIcpOptions;
PlaIcpOptions pla_icp_options_default(void); /* 60, 0.1, INFINITY, 0, false */

typedef struct {
  int iterations;
  bool converged;
  int n_used;
  double rms_mm;    /* distances of the samples that count to the fixed surface */
  double median_mm; /* of all samples */
  double stiffness; /* how well the worst of six motions is held: 1 well, 0 not at all */
} PlaIcpReport;

/* Iterated nearest points, point to plane (Chen and Medioni 1992), robust by trimming and Tukey's
 * weights, from @start (NULL: as they lie).  PLA_ERR_GEOMETRY with a sentence when the fixed
 * surface leaves a motion free: a ball, a plane, a cylinder. */
PlaStatus pla_register_surfaces(const PlaTriMesh *moving, const PlaTriMesh *fixed,
                                const PlaRigid *start, const PlaIcpOptions *opts,
                                PlaProgress *progress, PlaRigid *out, PlaIcpReport *report,
                                PlaError *err);

/* ---- volumes (mutual-information.c) ---- */

typedef struct {
  int levels;       /* of resolution, coarse to fine */
  int n_samples;    /* points of the fixed volume per level */
  double finest_mm; /* smoothing at the last level; 0: its voxel size */
} PlaVolumeRegistrationOptions;
PlaVolumeRegistrationOptions pla_volume_registration_options_default(void); /* 3, 30000, 0 */

typedef struct {
  double information; /* mutual information reached, nats */
  double before;      /* and at the start */
  int evaluations;
  double overlap;   /* share of samples inside the moving volume */
  double stiffness; /* what the freest motion costs over the best held: 0 when one is free */
} PlaVolumeRegistrationReport;

/* Aligns @moving to @fixed by their mutual information (Mattes et al. 2003; Viola and Wells 1997):
 * any two kinds of image of the same anatomy, CT and MR, before and after.  From @start (NULL: the
 * centres of the images' mass).  PLA_ERR_GEOMETRY with a sentence where the images have no
 * contrast, do not overlap, or look the same however they are turned. */
PlaStatus pla_register_volumes(const PlaVolume *moving, const PlaVolume *fixed,
                               const PlaRigid *start, const PlaVolumeRegistrationOptions *opts,
                               PlaProgress *progress, PlaRigid *out,
                               PlaVolumeRegistrationReport *report, PlaError *err);

/* ---- warps (warp.c) ---- */

typedef struct PlaWarp PlaWarp;

typedef struct {
  double rigid_mm;    /* rms of the landmarks after the best rigid motion, */
  double affine_mm;   /* after the best affine map, */
  double rms_mm;      /* and after the warp (0 unless it is relaxed) */
  double left_out_mm; /* rms of predicting each landmark from all others */
  int worst;          /* the landmark that the others predict worst */
  double worst_mm;
  double condition; /* of the system, estimated */
} PlaWarpReport;

/* The smooth map that takes @n landmarks @from to @to (n x 3): affine plus sum_i w_i |x - from_i|,
 * the biharmonic spline of space (Bookstein 1989; Sifakis, Neverov and Fedkiw 2005).  @relax_mm:
 * the landmarks' own uncertainty, by which the map may miss them; 0 meets them exactly.
 * @left_out_mm (n, may be NULL): how far each is from where the others predict it. PLA_ERR_GEOMETRY
 * with a sentence for fewer than four landmarks, two at one place, or all in one plane. */
PlaStatus pla_warp_new(int n, const double *from, const double *to, double relax_mm, PlaWarp **out,
                       double *left_out_mm, PlaWarpReport *report, PlaError *err);
void pla_warp_free(PlaWarp *self); /* NULL is fine */
/* At @n points (n x 3); @out may be @pos. */
void pla_warp_apply(const PlaWarp *self, int n, const double *pos, double *out);
/* Its derivative at a point, row-major: its determinant is the change of volume, not positive where
 * the map folds. */
void pla_warp_jacobian(const PlaWarp *self, const double pos[3], double jacobian[9]);
/* The point that the map takes to @pos, by Newton's method; false where there is none near. */
bool pla_warp_invert(const PlaWarp *self, const double pos[3], double from[3]);

/* Moves a mesh's vertices, and turns its vector fields "fibre" along. */
PlaStatus pla_warp_mesh(const PlaWarp *self, PlaMesh *mesh, PlaProgress *progress, PlaError *err);
/* The labels of @map as the warp leaves them, sampled on a grid of @spacing_mm around them. */
PlaStatus pla_warp_labels(const PlaWarp *self, const PlaLabelMap *map, double spacing_mm,
                          PlaProgress *progress, PlaLabelMap **out, PlaError *err);
