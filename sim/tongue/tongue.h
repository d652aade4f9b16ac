/* A tongue that follows the coils of a speaker (Luo 2020, ch. 6): a reduced elastic body of five
 * overlapping quadratic domains, seeds at the four tongue coils and at the centre of mass, 150
 * degrees of freedom; coils are met exactly, volume is kept, palate, teeth and jaw are obstacles,
 * and what holds the tongue moves with the jaw.  The full-space body under the same drive is its
 * reference. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/levelset/levelset.h"
#include "sim/reduced/reduced.h"
#include "sim/solve/solve.h"
#include "sim/tongue/shape.h"

/* Something the tongue touches; the level set is borrowed until pla_tongue_new() returns. */
typedef struct {
  const PlaLevelSet *solid;
  bool with_jaw;
} PlaTongueSolid;

enum { PLA_JAW_LIFTS = 4 };

/* What is dear to make of an input and follows from it alone: the same input with it gives the same
 * tongue, to the bit, without the work. */
typedef struct {
  int n_verts, n_funcs;
  const double *phi;  /* functions (n_verts x n_funcs) */
  const double *lift; /* what follows the jaw (PLA_JAW_LIFTS x n_verts x 3) */
  int n_points;
  const int *tet;       /* of the cubature */
  const double *weight; /* m^3 */
  int n_changes;
  const double *change; /* of volume, that pressures undo (n_changes x n_verts) */
  double cubature_error;
} PlaTongueTraining;

typedef struct {
  const PlaMesh *mesh;        /* tets */
  const unsigned char *fixed; /* 1: held by jaw and hyoid (n_verts) */
  const double *jaw_share; /* how far each held vertex goes with the jaw, 0..1 (n_verts); NULL: 1 in
                              front, falling to 0.3 at the back */
  PlaHeadFrame frame;
  const int *coil_vert;      /* vertices of TR, TD, TB, TT; NULL: chosen along the outline */
  const PlaCoilPaths *paths; /* recordings of one speaker: fit, and palate where none is given */
  int n_paths;
  const PlaCoilFit *fit; /* where the speaker lies is known: no fit to the paths; or NULL */
  bool scale_mesh;       /* the mesh takes the speaker's size, rather than the speaker the mesh's */
  int n_solids;          /* 0: a palate is built above the envelope of all coil paths */
  const PlaTongueSolid *solid;
  bool in_tract; /* mesh and solids lie in the tract of sim/speech/tract.h, as the phantom's do */
  const double *hinge;  /* (forward, up) of the jaw's axis, m; NULL: 85 mm behind and 45 mm above
                           the lower incisors */
  const char *material; /* id; "stable-neo-hookean" */
  double young_pa, poisson, density; /* 6912 Pa, 0.49, 1000 kg/m^3 */
  /* What the reduced tongue does around a coil.  These come nearest to the reference: coils that go
   * down together leave a groove between sides that stay up.  A mesh that rests far from how it
   * speaks is the smoother for more: wide, and stiff enough to bulge to the sides. */
  double spread_mm;     /* of the speaker, over which a coil's own pull is spread; 1 */
  double smooth_mm;     /* over which what turns and bends around it is; 3 */
  double point_poisson; /* of cubature points; the volume is kept by pressures; 0.40 */
  PlaCubatureOptions cubature;
  int n_poses;                       /* for training; 24 */
  const PlaTongueTraining *training; /* as an equal input had it; NULL: made */
} PlaTongueInput;
PlaTongueInput pla_tongue_input_default(void);

typedef struct PlaTongue PlaTongue;

PlaStatus pla_tongue_new(const PlaTongueInput *input, PlaProgress *progress, PlaTongue **out,
                         PlaError *err);
void pla_tongue_free(PlaTongue *self); /* NULL is fine */

const PlaMesh *pla_tongue_get_mesh(const PlaTongue *self); /* rest shape, m */
const PlaHeadFrame *pla_tongue_get_frame(const PlaTongue *self);
const PlaOutline *pla_tongue_get_outline(const PlaTongue *self);
const PlaCoilFit *pla_tongue_get_fit(const PlaTongue *self);
const unsigned char *pla_tongue_get_fixed(const PlaTongue *self); /* n_verts */
const PlaReducedModel *pla_tongue_get_model(const PlaTongue *self);
const PlaFemModel *pla_tongue_get_fem(const PlaTongue *self);
int pla_tongue_n_solids(const PlaTongue *self);
const PlaLevelSet *pla_tongue_get_solid(const PlaTongue *self, int i, bool *with_jaw);
double pla_tongue_cubature_error(const PlaTongue *self);
/* Borrowed from the tongue. */
void pla_tongue_get_training(const PlaTongue *self, PlaTongueTraining *out);
double
pla_tongue_mesh_factor(const PlaTongue *self); /* by which the mesh was scaled to the speaker */
double pla_tongue_mm(const PlaTongue *self,
                     double m); /* a length of the mesh in the speaker's mm */

/* ---- the drive: what one frame of coils asks for ---- */

typedef struct {
  double target[3 * PLA_N_TONGUE_COILS]; /* m; NaN where the coil is missing */
  double lift[PLA_JAW_LIFTS];            /* what held vertices follow */
  double jaw_rotation[9], jaw_shift[3];  /* pose of the jaw: x -> rotation x + shift */
  double jaw_deg;                        /* opening from its mean */
  int projected; /* targets that lay inside palate or teeth and were put out */
} PlaTongueFrame;
/* @coil_mm: PLA_N_COILS x 2, turned as in PlaCoilPaths. */
void pla_tongue_frame(const PlaTongue *self, const double *coil_mm, PlaTongueFrame *out);

/* ---- the reduced tongue in motion ---- */

typedef struct PlaTongueBody PlaTongueBody;

typedef struct {
  bool quasistatic;
  bool without_volume, without_contact;
  double dt_s; /* 0.01 */
} PlaTongueBodyOptions;
PlaTongueBodyOptions pla_tongue_body_options_default(void);

typedef struct {
  PlaReducedReport step;
  int projected;
  double jaw_deg;
} PlaTongueReport;

/* @tongue is borrowed. */
PlaStatus pla_tongue_body_new(const PlaTongue *tongue, const PlaTongueBodyOptions *options,
                              PlaTongueBody **out, PlaError *err);
void pla_tongue_body_free(PlaTongueBody *self); /* NULL is fine */
/* The next frame; the first after new or restart is reached without inertia. */
PlaStatus pla_tongue_body_step(PlaTongueBody *self, const double *coil_mm, PlaTongueReport *report,
                               PlaError *err);
void pla_tongue_body_restart(PlaTongueBody *self);
const double *pla_tongue_body_get_pos(const PlaTongueBody *self); /* m (n_verts x 3) */

/* ---- the full-space reference ---- */

typedef struct PlaTongueReference PlaTongueReference;
/* Every vertex is free; volume is kept by the mixed formulation.  A coil holds the mean place of
 * the surface within PLA_COIL_FOOTPRINT_MM of its vertex at rest, weights falling as 1 - d^2 / r^2.
 * @dt_s 0: quasistatic. */
#define PLA_COIL_FOOTPRINT_MM                                                                      \
  5.0 /* of the speaker: a coil of 3 mm, its wire and the glue around them */
PlaStatus pla_tongue_reference_new(const PlaTongue *tongue, double dt_s, PlaTongueReference **out,
                                   PlaError *err);
void pla_tongue_reference_free(PlaTongueReference *self); /* NULL is fine */
/* Quasistatic frames are reached from rest in @parts equal parts. */
PlaStatus pla_tongue_reference_step(PlaTongueReference *self, const double *coil_mm, int parts,
                                    PlaProgress *progress, PlaFemReport *report, PlaError *err);
const double *pla_tongue_reference_get_pos(const PlaTongueReference *self);
/* Where coil @k is: its vertex, if the surface under it had only been shifted; m. */
void pla_tongue_reference_coil(const PlaTongueReference *self, int k, double pos[3]);
