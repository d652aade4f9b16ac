/* The list of phantoms, and what they have in common. */
#include "anatomy/phantom/phantom-private.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  PlaPhantomInfo info;
  PlaPhantomBuild build; /* label phantoms */
  PlaPhantomMesh mesh;   /* mesh phantoms */
} Entry;

static const Entry entries[] = {
  { { "head", "Head",
      "Adult head and upper neck: skin, fat, skull, jaw with condyles in their fossae, 28 teeth, "
      "tongue, airway, touching lips, eyes, brain and 27 pairs of muscles.",
      1.0, PLA_PHANTOM_LABELS },
    pla_phantom_build_head,
    NULL },
  { { "tongue", "Tongue",
      "Adult tongue with its eleven muscle groups, left and right apart, jaw, hard palate, "
      "teeth and hyoid.",
      1.0, PLA_PHANTOM_LABELS },
    pla_phantom_build_tongue,
    NULL },
  { { "arm", "Arm",
      "Right arm hanging straight: humerus, ulna, radius, biceps with two heads, "
      "brachialis, triceps with three, and the elbow axis.",
      2.0, PLA_PHANTOM_LABELS },
    pla_phantom_build_arm,
    NULL },
  { { "skin-slab", "Skin slab",
      "Skin 2 mm, fat 6 mm, muscle 6 mm and bone 6 mm in plane layers of 120 x 120 mm.", 1.0,
      PLA_PHANTOM_LABELS },
    pla_phantom_build_slab,
    NULL },
  { { "sphere", "Sphere", "A ball of radius 40 mm.", 1.0, PLA_PHANTOM_LABELS },
    pla_phantom_build_sphere,
    NULL },
  { { "torus", "Torus", "A ring of radius 35 mm and tube radius 12 mm about the z axis.", 1.0,
      PLA_PHANTOM_LABELS },
    pla_phantom_build_torus,
    NULL },
  { { "box", "Box", "A box of 60 x 40 x 30 mm.", 1.0, PLA_PHANTOM_LABELS },
    pla_phantom_build_box,
    NULL },
  { { "bar-labels", "Bar, labels", "A bar of 100 x 25 x 25 mm from the origin along x.", 1.0,
      PLA_PHANTOM_LABELS },
    pla_phantom_build_bar,
    NULL },
  { { "parallel-cylinders", "Parallel cylinders",
      "Two cylinders of radius 8 mm and length 80 mm, 1.5 mm apart, one label each.", 0.5,
      PLA_PHANTOM_LABELS },
    pla_phantom_build_cylinders,
    NULL },
  { { "bar", "Bar, tetrahedra",
      "A bar of 100 x 25 x 25 mm from the origin along x, six tetrahedra a cube.", 2.5,
      PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_bar },
  { { "box-surface", "Box, surface", "The surface of a box of 60 x 40 x 30 mm.", 5.0,
      PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_box },
  { { "sphere-surface", "Sphere, surface", "The surface of a ball of radius 40 mm.", 4.0,
      PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_sphere },
  { { "torus-surface", "Torus, surface",
      "The surface of a ring of radius 35 mm and tube radius 12 mm.", 3.0, PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_torus },
  { { "parallel-cylinders-surface", "Parallel cylinders, surface",
      "The surfaces of two cylinders of radius 8 mm and length 80 mm, 1.5 mm apart.", 2.0,
      PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_cylinders },
  { { "crossing-boxes", "Crossing boxes",
      "Two closed boxes that run through each other, one surface.", 5.0, PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_crossing_boxes },
  { { "nested-boxes", "Nested boxes",
      "A closed box inside another, both facing outwards, so that the inner space counts "
      "twice.",
      5.0, PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_nested_boxes },
  { { "moebius-pair", "Moebius pair",
      "Two thick bands with half a twist that cross along their whole common centre line.", 2.5,
      PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_moebius_pair },
  { { "crossed-lips", "Crossed lips",
      "A block with a mouth whose lips run through each other before an open cavity.", 2.0,
      PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_crossed_lips },
  { { "c-ring", "Overlapping ring", "A flat ring, cut open, whose ends run through each other.",
      2.5, PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_c_ring },
  { { "spiral", "Overlapping spiral", "A band wound twice round with overlapping turns.", 2.5,
      PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_spiral },
  { { "thin-sheet", "Thin sheet",
      "A sheet of 60 x 60 x 1 mm, thinner than most cells that would hold it.", 5.0,
      PLA_PHANTOM_MESH },
    NULL,
    pla_phantom_mesh_thin_sheet },
};
#define N_ENTRIES ((int)(sizeof entries / sizeof entries[0]))

const PlaPhantomInfo *
pla_phantom_get(int i)
{
  return i >= 0 && i < N_ENTRIES ? &entries[i].info : NULL;
}

static const Entry *
find_entry(const char *name)
{
  for (int i = 0; i < N_ENTRIES; i++)
    if (strcmp(entries[i].info.name, name) == 0)
      return &entries[i];
  return NULL;
}

const PlaPhantomInfo *
pla_phantom_find(const char *name)
{
  const Entry *entry = find_entry(name);
  return entry ? &entry->info : NULL;
}

/* ---- descriptions ---- */

void
pla_phantom_note_landmark(PlaPhantomModel *model, const char *name, const double pos_mm[3])
{
  PlaPhantom *notes = &model->notes;
  if (!pla_array_resize((void **)&notes->landmark, (size_t)notes->n_landmarks + 1,
                        sizeof *notes->landmark)) {
    model->short_of_memory = true;
    return;
  }
  PlaPhantomLandmark *mark = &notes->landmark[notes->n_landmarks++];
  mark->name = pla_strdup(name);
  memcpy(mark->pos_mm, pos_mm, sizeof mark->pos_mm);
  if (!mark->name)
    model->short_of_memory = true;
}

void
pla_phantom_note_joint(PlaPhantomModel *model, const PlaPhantomJoint *joint)
{
  PlaPhantom *notes = &model->notes;
  if (!pla_array_resize((void **)&notes->joint, (size_t)notes->n_joints + 1,
                        sizeof *notes->joint)) {
    model->short_of_memory = true;
    return;
  }
  PlaPhantomJoint *copy = &notes->joint[notes->n_joints++];
  *copy = *joint;
  copy->name = pla_strdup(joint->name);
  copy->fixed = pla_strdup(joint->fixed);
  copy->moving = pla_strdup(joint->moving);
  if (!copy->name || !copy->fixed || !copy->moving)
    model->short_of_memory = true;
}

void
pla_phantom_clear(PlaPhantom *self)
{
  pla_label_map_free(self->labels);
  pla_mesh_free(self->mesh);
  for (int i = 0; i < self->n_landmarks; i++)
    free(self->landmark[i].name);
  for (int i = 0; i < self->n_muscles; i++) {
    PlaPhantomMuscle *m = &self->muscle[i];
    for (int p = 0; p < m->n_paths; p++) {
      free(m->path[p].origin);
      free(m->path[p].insertion);
      free(m->path[p].pos_mm);
      free(m->path[p].half_width_mm);
      free(m->path[p].half_thick_mm);
      free(m->path[p].normal);
    }
    free(m->path);
    free(m->name);
  }
  for (int i = 0; i < self->n_joints; i++) {
    free(self->joint[i].name);
    free(self->joint[i].fixed);
    free(self->joint[i].moving);
  }
  free(self->landmark);
  free(self->muscle);
  free(self->joint);
  memset(self, 0, sizeof *self);
}

/* ---- models ---- */

static PlaStatus
unknown(const char *name, PlaError *err)
{
  return pla_fail(err, PLA_ERR_USAGE,
                  "There is no phantom named '%s'; platysma-cli phantom --list shows them all.",
                  name);
}

PlaStatus
pla_phantom_model_new(const char *name, PlaPhantomModel **out, PlaError *err)
{
  const Entry *entry = find_entry(name);
  if (!entry)
    return unknown(name, err);
  if (!entry->build)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "The phantom '%s' is a mesh and has no implicit model.", name);
  PlaPhantomModel *model = pla_array_new0(1, sizeof *model);
  PlaStatus st = model ? pla_scene_new(&model->scene, err) : pla_fail_memory(err, "a phantom");
  if (st == PLA_OK) {
    entry->build(model);
    st = pla_scene_finish(model->scene, err);
  }
  if (st == PLA_OK && model->short_of_memory)
    st = pla_fail_memory(err, "a phantom");
  if (st == PLA_OK)
    *out = model;
  else
    pla_phantom_model_free(model);
  return st;
}

void
pla_phantom_model_free(PlaPhantomModel *self)
{
  if (!self)
    return;
  pla_scene_free(self->scene);
  pla_phantom_clear(&self->notes);
  free(self);
}

const PlaShapeScene *
pla_phantom_model_scene(const PlaPhantomModel *self)
{
  return self->scene;
}

double
pla_phantom_distance(const PlaPhantomModel *self, int label, const double pos_mm[3])
{
  const int part = label > 0 ? pla_scene_find_label(self->scene, label) : -1;
  return part >= 0 ? pla_scene_region_distance(self->scene, part, pos_mm) : HUGE_VAL;
}

double
pla_phantom_shape_distance(const PlaPhantomModel *self, int label, const double pos_mm[3])
{
  const int part = label > 0 ? pla_scene_find_label(self->scene, label) : -1;
  return part >= 0 ? pla_scene_distance(self->scene, part, pos_mm) : HUGE_VAL;
}

PlaStatus
pla_phantom_make(const char *name, double spacing_mm, PlaProgress *progress, PlaPhantom *out,
                 PlaError *err)
{
  memset(out, 0, sizeof *out);
  const Entry *entry = find_entry(name);
  if (!entry)
    return unknown(name, err);
  if (spacing_mm == 0.0)
    spacing_mm = entry->info.default_spacing_mm;
  if (!(spacing_mm > 0.0) || !isfinite(spacing_mm))
    return pla_fail(err, PLA_ERR_USAGE,
                    "The spacing of a phantom must be a positive number of millimetres, not %g.",
                    spacing_mm);
  if (!pla_progress_phase(progress, "Making the phantom", 1.0))
    return pla_fail_cancelled(err);
  PlaPhantomModel *model = NULL;
  PlaStatus st = PLA_OK;
  if (entry->mesh)
    st = entry->mesh(spacing_mm, &out->mesh, err);
  else {
    st = pla_phantom_model_new(name, &model, err);
    PlaLabelMap *labels = NULL;
    if (st == PLA_OK)
      st = pla_scene_labels(model->scene, model->lo_mm, model->hi_mm, spacing_mm, progress, &labels,
                            err);
    if (st == PLA_OK) {
      /* the model's descriptions move into the result */
      *out = model->notes;
      memset(&model->notes, 0, sizeof model->notes);
      out->labels = labels;
    }
    pla_phantom_model_free(model);
  }
  out->kind = entry->info.kind;
  return st;
}
