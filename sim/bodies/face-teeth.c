/* Bones and teeth of the head phantom about the mouth. */
#include "sim/bodies/face-teeth.h"

#include "anatomy/levelset/levelset.h"
#include "anatomy/phantom/phantom.h"
#include "anatomy/surface/surface.h"
#include "sim/active/active.h"

#include <math.h>
#include <string.h>

/* what lips and cheeks can reach, and the size of its samples, mm */
static const double lo_mm[3] = { -44.0, 34.0, -98.0 }, hi_mm[3] = { 44.0, 104.0, -18.0 };
static const double spacing_mm = 1.5;

typedef struct {
  const PlaShapeScene *scene;
  int part[64], n;
  double clear_mm;
} Bones;

static double
distance(const double p_mm[3], const void *data)
{
  const Bones *self = data;
  double d = INFINITY;
  for (int i = 0; i < self->n; i++)
    d = fmin(d, pla_scene_distance(self->scene, self->part[i], p_mm));
  return d + self->clear_mm;
}

void
pla_face_mouth(const PlaMesh *mesh, const unsigned char *hold, unsigned char *near)
{
  for (int v = 0; v < mesh->n_verts; v++) {
    near[v] = hold[v] == PLA_HOLD_FREE;
    for (int d = 0; d < 3; d++) {
      const double x = 1000.0 * mesh->pos[3 * (size_t)v + (size_t)d];
      near[v] &= x > lo_mm[d] && x < hi_mm[d];
    }
  }
}

/* FDI: quadrants 1 and 2 are the upper teeth */
static bool
belongs(const char *name, bool lower)
{
  if (strncmp(name, "tooth ", 6) == 0)
    return (name[6] >= '3') == lower;
  if (strncmp(name, "gingiva, ", 9) == 0)
    return (strcmp(name + 9, "lower") == 0) == lower;
  return strcmp(name, lower ? "mandible" : "skull") == 0;
}

static PlaStatus
make(const PlaShapeScene *scene, bool lower, double clear_mm, PlaCollider **out, PlaError *err)
{
  Bones bones = { .scene = scene, .clear_mm = clear_mm };
  PlaLevelSet *set = NULL;
  PlaMesh *surface = NULL;
  int dims[3];
  double affine[12] = { 0 };
  for (int p = 0; p < pla_scene_n_parts(scene); p++) {
    const char *name = pla_scene_part_name(scene, p);
    if (name && belongs(name, lower) && bones.n < (int)(sizeof bones.part / sizeof *bones.part))
      bones.part[bones.n++] = p;
  }
  for (int d = 0; d < 3; d++) {
    dims[d] = 2 + (int)((hi_mm[d] - lo_mm[d]) / spacing_mm);
    affine[4 * d + d] = spacing_mm;
    affine[4 * d + 3] = lo_mm[d];
  }
  PlaStatus st = pla_levelset_new(dims, affine, &set, err);
  if (st == PLA_OK) {
    pla_levelset_fill(set, distance, &bones);
    st = pla_surface_from_levelset(set, &surface, err);
  }
  if (st == PLA_OK)
    st = pla_collider_new_surface(surface, out, err);
  pla_mesh_free(surface);
  pla_levelset_free(set);
  return st;
}

PlaStatus
pla_face_teeth(double clear_mm, PlaProgress *progress, PlaCollider *out[PLA_N_TEETH], PlaError *err)
{
  PlaPhantomModel *head = NULL;
  out[PLA_TEETH_UPPER] = out[PLA_TEETH_LOWER] = NULL;
  PlaStatus st = pla_phantom_model_new("head", &head, err);
  for (int k = 0; k < PLA_N_TEETH && st == PLA_OK; k++) {
    if (!pla_progress_step(progress, 0.5 * k))
      st = pla_fail_cancelled(err);
    else
      st = make(pla_phantom_model_scene(head), k == PLA_TEETH_LOWER, clear_mm, &out[k], err);
  }
  pla_phantom_model_free(head);
  for (int k = 0; k < PLA_N_TEETH && st != PLA_OK; k++) {
    pla_collider_free(out[k]);
    out[k] = NULL;
  }
  return st;
}
