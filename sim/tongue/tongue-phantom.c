/* Builds the phantom's tongue: implicit shapes, sampled coarse to fine into level sets, meshed
 * with tets; vertices near the attachments are held, and coils sit at the usual places of
 * articulography. */
#include "sim/tongue/tongue-phantom.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/mesher/tets.h"
#include "anatomy/phantom/phantom.h"
#include "sim/speech/sounds.h"
#include "sim/tongue/palate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* labels of the phantom "tongue" */
enum {
  BODY = 1,
  MANDIBLE = 2,
  HYOID = 3,
  PALATE = 4,
  UPPER_TEETH = 50,
  LOWER_TEETH = 64,
  TEETH_END = 78
};

#define SPACING_MM 1.5 /* of the grids of distances */

typedef struct {
  const PlaPhantomModel *model;
  int part, teeth, teeth_end;
} Bones;

static double
bone_distance(const double pos_mm[3], const void *data)
{
  const Bones *bones = data;
  double d = pla_phantom_distance(bones->model, bones->part, pos_mm);
  /* teeth matter outside of the bone they stand in, and near it */
  for (int t = bones->teeth; t < bones->teeth_end && d > -2.0 && d < 25.0; t++)
    d = fmin(d, pla_phantom_distance(bones->model, t, pos_mm));
  return d;
}

/* the tongue, half a millimetre clear of palate and teeth and a tenth of jaw and hyoid */
static double
tongue_distance(const double pos_mm[3], const void *data)
{
  const Bones *bones = data;
  double d = pla_phantom_shape_distance(bones->model, BODY, pos_mm);
  if (d > 3.0) /* redistancing needs true values near the surface only */
    return d;
  const bool deep = d < -6.0; /* where palate and teeth do not reach */
  d = fmax(d, 0.1 - pla_phantom_distance(bones->model, MANDIBLE, pos_mm));
  d = fmax(d, 0.1 - pla_phantom_distance(bones->model, HYOID, pos_mm));
  if (deep)
    return d;
  d = fmax(d, 0.5 - pla_phantom_distance(bones->model, PALATE, pos_mm));
  for (int t = UPPER_TEETH; t < TEETH_END; t++)
    d = fmax(d, 0.5 - pla_phantom_distance(bones->model, t, pos_mm));
  return d;
}

/* a function and what it is like on a grid twice as coarse */
typedef struct {
  PlaDistanceFunc func;
  const void *data;
  const PlaLevelSet *coarse;
} Refined;

/* Redistancing needs true values at the surface only.  No place is farther than 2.6 mm from a
 * coarse sample (1.5 mm fine, 3 mm coarse), so none of these is there, even where the shapes are
 * steeper than distances. */
static double
refined_distance(const double pos_mm[3], const void *data)
{
  const Refined *refined = data;
  const double far_mm = 1.75 * 1.7321 * SPACING_MM; /* 1.75 x half the diagonal of a coarse cell */
  const double d = pla_levelset_at(refined->coarse, pos_mm);
  return fabs(d) > far_mm ? d : refined->func(pos_mm, refined->data);
}

static PlaStatus
grid_new(const double lo[3], const double hi[3], double spacing, PlaLevelSet **out, PlaError *err)
{
  int dims[3];
  double affine[12] = { 0 };
  for (int d = 0; d < 3; d++) {
    dims[d] = 2 + (int)((hi[d] - lo[d]) / spacing);
    affine[4 * d + d] = spacing;
    affine[4 * d + 3] = lo[d];
  }
  return pla_levelset_new(dims, affine, out, err);
}

static PlaStatus
sample(const Bones *bones, PlaDistanceFunc func, const double lo[3], const double hi[3],
       PlaLevelSet **out, PlaError *err)
{
  PlaLevelSet *coarse = NULL;
  PlaStatus st = grid_new(lo, hi, 2.0 * SPACING_MM, &coarse, err);
  if (st == PLA_OK)
    st = grid_new(lo, hi, SPACING_MM, out, err);
  if (st == PLA_OK) {
    const Refined refined = { func, bones, coarse };
    pla_levelset_fill(coarse, func, bones);
    pla_levelset_fill(*out, refined_distance, &refined);
    st = pla_levelset_redistance(*out, INFINITY, NULL, err);
  }
  pla_levelset_free(coarse);
  return st;
}

void
pla_tongue_phantom_clear(PlaTonguePhantom *self)
{
  pla_mesh_free(self->mesh);
  free(self->fixed);
  free(self->jaw_share);
  pla_levelset_free(self->palate);
  pla_levelset_free(self->jaw);
  *self = (PlaTonguePhantom){ 0 };
}

/* held: within 2 mm of the hyoid, and of the jaw where the genioglossus and the floor of the mouth
 * arise */
static PlaStatus
hold(PlaTonguePhantom *self, const PlaPhantomModel *model, PlaError *err)
{
  const double near_mm = 2.0, floor_mm = -66.0; /* above this, the tongue is free of the jaw */
  const int n = self->mesh->n_verts;
  int n_held = 0;
  self->fixed = pla_array_new0((size_t)n, 1);
  self->jaw_share = pla_array_new0((size_t)n, sizeof *self->jaw_share);
  if (!self->fixed || !self->jaw_share)
    return pla_fail_memory(err, "the phantom's tongue");
  for (int v = 0; v < n; v++) {
    double mm[3];
    for (int d = 0; d < 3; d++)
      mm[d] = 1000.0 * self->mesh->pos[3 * (size_t)v + (size_t)d];
    const bool jaw = mm[2] < floor_mm && pla_phantom_distance(model, MANDIBLE, mm) < near_mm;
    const bool hyoid = pla_phantom_distance(model, HYOID, mm) < near_mm;
    self->fixed[v] = jaw || hyoid;
    self->jaw_share[v] = jaw ? 1.0 : 0.3;
    n_held += self->fixed[v];
  }
  if (n_held < 12)
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "Cells are too coarse for the phantom's tongue: only %d vertices are held",
                    n_held);
  return PLA_OK;
}

/* surface vertices nearest to where articulography puts its coils */
static PlaStatus
place_coils(PlaTonguePhantom *self, const PlaPhantom *phantom, PlaError *err)
{
  static const char *const names[PLA_N_TONGUE_COILS] = { "tongue rear", "tongue dorsum",
                                                         "tongue blade", "tongue tip" };
  const PlaTetMesh tets = pla_mesh_tets(self->mesh);
  PlaBoundary boundary = { 0 };
  PlaStatus st = pla_boundary_init(&boundary, &tets, &(PlaHexMesh){ 0 }, false, err);
  for (int k = 0; st == PLA_OK && k < PLA_N_TONGUE_COILS; k++) {
    double nearest = INFINITY;
    for (int l = 0; l < phantom->n_landmarks; l++) {
      if (strcmp(phantom->landmark[l].name, names[k]) != 0)
        continue;
      for (int i = 0; i < 3 * boundary.n_tris; i++) {
        const double *p = self->mesh->pos + 3 * (size_t)boundary.tri[i];
        double d2 = 0.0;
        for (int d = 0; d < 3; d++)
          d2 += pow(1000.0 * p[d] - phantom->landmark[l].pos_mm[d], 2.0);
        if (d2 < nearest) {
          nearest = d2;
          self->coil_vert[k] = boundary.tri[i];
        }
      }
    }
  }
  pla_boundary_clear(&boundary);
  return st;
}

/* mucosa and soft palate, as the tract has them whose shapes the sounds were made for: a tongue
 * that closes the tract touches them, not the bone */
static PlaStatus
line_palate(PlaTonguePhantom *self, PlaError *err)
{
  enum { FIRST = 22, LAST = 87 }; /* mm to the front: uvula, upper incisors */
  double line[LAST - FIRST + 1][2];
  const PlaTetMesh tets = pla_mesh_tets(self->mesh);
  const PlaHeadFrame frame = pla_head_frame_ras();
  for (int front = FIRST; front <= LAST; front++) {
    line[front - FIRST][0] = 1e-3 * front;
    line[front - FIRST][1] = 1e-3 * (PLA_SENSOR_Y0 - pla_tract_palate_y(PLA_SENSOR_X0 - front));
  }
  return pla_palate_line(self->palate, &tets, &frame, LAST - FIRST + 1, line[0], 1e-3, err);
}

PlaStatus
pla_tongue_phantom_init(PlaTonguePhantom *self, double cell_mm, PlaProgress *progress,
                        PlaError *err)
{
  static const double body_lo[3] = { -30, 16, -106 }, body_hi[3] = { 30, 92, -30 };
  static const double roof_lo[3] = { -36, 14, -62 }, roof_hi[3] = { 36, 96, -20 };
  static const double jaw_lo[3] = { -36, 14, -108 }, jaw_hi[3] = { 36, 100, -40 };
  const int id = BODY;
  PlaPhantomModel *model = NULL;
  PlaPhantom phantom = { 0 };
  PlaLevelSet *body = NULL;
  PlaTetOptions opts = pla_tet_options_default();
  *self = (PlaTonguePhantom){ 0 };
  opts.cell_mm = cell_mm > 0.0 ? cell_mm : 3.5;
  opts.levels = 1;
  opts.smooth_mm = 0.0;
  pla_progress_phase(progress, "Phantom", 0.4);
  PlaStatus st = pla_phantom_model_new("tongue", &model, err);
  Bones bones = { model, PALATE, UPPER_TEETH, LOWER_TEETH };
  if (st == PLA_OK) /* coarse voxels do: only the landmarks are wanted */
    st = pla_phantom_make("tongue", 4.0, NULL, &phantom, err);
  if (st == PLA_OK)
    st = sample(&bones, tongue_distance, body_lo, body_hi, &body, err);
  if (st == PLA_OK)
    st = sample(&bones, bone_distance, roof_lo, roof_hi, &self->palate, err);
  bones.part = MANDIBLE;
  bones.teeth = LOWER_TEETH;
  bones.teeth_end = TEETH_END;
  if (st == PLA_OK)
    st = sample(&bones, bone_distance, jaw_lo, jaw_hi, &self->jaw, err);
  pla_progress_phase(progress, "Meshing", 1.0);
  if (st == PLA_OK)
    st = pla_tets_from_levelsets((const PlaLevelSet *const *)&body, &id, 1, NULL, &opts, NULL,
                                 &self->mesh, NULL, err);
  if (st == PLA_OK)
    st = line_palate(self, err);
  if (st == PLA_OK)
    st = hold(self, model, err);
  if (st == PLA_OK)
    st = place_coils(self, &phantom, err);
  /* the axis of the head's own jaw joint, in the midsagittal plane */
  self->hinge[0] = 0.013;
  self->hinge[1] = -0.006;
  self->solid[0] = (PlaTongueSolid){ self->palate, false };
  self->solid[1] = (PlaTongueSolid){ self->jaw, true };
  pla_phantom_clear(&phantom);
  pla_phantom_model_free(model);
  pla_levelset_free(body);
  if (st != PLA_OK)
    pla_tongue_phantom_clear(self);
  return st;
}

void
pla_tongue_phantom_input(const PlaTonguePhantom *self, PlaTongueInput *input)
{
  input->mesh = self->mesh;
  input->fixed = self->fixed;
  input->jaw_share = self->jaw_share;
  input->frame = pla_head_frame_ras();
  input->coil_vert = self->coil_vert;
  input->hinge = self->hinge;
  input->in_tract = true;
  /* it rests against the palate, 5 mm above where it speaks: no pits at the coils, contacts as wide
   * as palatograms have them */
  input->spread_mm = input->smooth_mm = 5.0;
  input->point_poisson = input->poisson;
  input->n_solids = 2;
  input->solid = self->solid;
}

void
pla_tongue_phantom_fit(const PlaTonguePhantom *self, PlaCoilFit *out)
{
  static const double closed[2] = { 88,
                                    -57 }; /* the lower incisors' coil with the teeth together */
  const double *rest = pla_sound_neutral();
  double off = 0.0;
  *out = (PlaCoilFit){ .scale = 1.0,
                       .cosine = 1.0,
                       .shift = { 1e-3 * PLA_SENSOR_X0, 1e-3 * PLA_SENSOR_Y0 } };
  memcpy(out->vert, self->coil_vert, sizeof out->vert);
  for (int k = 0; k < PLA_N_COILS; k++)
    for (int a = 0; a < 2; a++)
      out->rest_mm[k][a] = -rest[2 * k + a];
  out->rest_mm[PLA_COIL_LI][0] = closed[0] - PLA_SENSOR_X0;
  out->rest_mm[PLA_COIL_LI][1] = closed[1] - PLA_SENSOR_Y0;
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
    double at[2];
    pla_coil_fit_place(out, out->rest_mm[k], at);
    for (int a = 0; a < 2; a++)
      off += pow(1000.0 * (self->mesh->pos[3 * (size_t)out->vert[k] + 1 + (size_t)a] - at[a]), 2.0);
  }
  out->residual_mm = sqrt(off / PLA_N_TONGUE_COILS);
}
