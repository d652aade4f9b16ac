/* Shapes of muscles and bones as signed distances, and the owner of what they borrow. */
#include "anatomy/muscle/muscle-model.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what shapes borrow ---- */

/* a part of a phantom, less the bones that cut into it */
typedef struct {
  const PlaPhantomModel *model;
  int label;
  int n_bones;
  const int *bone; /* labels */
} PhantomPart;

typedef struct {
  PlaMesh *mesh;
  PlaTriMesh tris;
  PlaTriTree *tree;
  PlaWinding *winding;
  PlaMuscleSurface both;
} Surface;

typedef struct {
  int n, capacity;
  void **item;
} Owned;

typedef struct PlaMuscleSources {
  PlaPhantomModel *phantom;
  Owned parts;    /* PhantomPart, those of the muscles first */
  Owned levels;   /* PlaLevelSet */
  Owned surfaces; /* Surface */
  int n_bones, bones_capacity;
  int *bone; /* labels of bones in the phantom */
  PlaFibreSamples *vectors;
} PlaMuscleSources;

static bool
owned_add(Owned *self, void *item)
{
  if (!pla_array_reserve(&self->item, self->n + 1, &self->capacity, sizeof *self->item))
    return false;
  self->item[self->n++] = item;
  return true;
}

static void
owned_clear(Owned *self, void (*release)(void *item))
{
  for (int i = 0; i < self->n; i++)
    release(self->item[i]);
  free(self->item);
}

static void
surface_free(void *data)
{
  Surface *s = data;
  pla_tri_tree_free(s->tree);
  pla_winding_free(s->winding);
  pla_mesh_free(s->mesh);
  free(s);
}

static void
levels_free(void *data)
{
  pla_levelset_free(data);
}

PlaMuscleModel *
pla_muscle_model_new(void)
{
  PlaMuscleModel *self = pla_array_new0(1, sizeof *self);
  PlaMuscleSources *sources = pla_array_new0(1, sizeof *sources);
  if (!self || !sources) {
    free(self);
    free(sources);
    return NULL;
  }
  self->sources = sources;
  return self;
}

void
pla_muscle_model_free(PlaMuscleModel *self)
{
  if (!self)
    return;
  PlaMuscleSources *sources = self->sources;
  for (int b = 0; b < self->n_bones; b++)
    free((void *)self->bone[b].name);
  pla_muscle_list_clear(&self->list);
  free(self->shape);
  free(self->vectors);
  free(self->bone);
  pla_phantom_model_free(sources->phantom);
  pla_fibre_samples_free(sources->vectors);
  owned_clear(&sources->parts, free);
  owned_clear(&sources->levels, levels_free);
  owned_clear(&sources->surfaces, surface_free);
  free(sources->bone);
  free(sources);
  free(self);
}

bool
pla_muscle_model_has_bone(const PlaMuscleModel *self, const char *name)
{
  for (int b = 0; b < self->n_bones; b++)
    if (strcmp(self->bone[b].name, name) == 0)
      return true;
  return false;
}

PlaStatus
pla_muscle_model_add_bone(PlaMuscleModel *self, const char *name, PlaMuscleShape shape,
                          PlaError *err)
{
  char *copy = pla_strdup(name);
  if (!copy ||
      !pla_array_resize((void **)&self->bone, (size_t)self->n_bones + 1, sizeof *self->bone)) {
    free(copy);
    return pla_fail_memory(err, "a bone");
  }
  self->bone[self->n_bones++] = (PlaMuscleBone){ copy, shape };
  return PLA_OK;
}

/* ---- phantoms ---- */

static double
part_distance(const double pos_mm[3], const void *data)
{
  const PhantomPart *part = data;
  double d = pla_phantom_shape_distance(part->model, part->label, pos_mm);
  for (int b = 0; b < part->n_bones && d < 0.0; b++)
    d = fmax(d, -pla_phantom_shape_distance(part->model, part->bone[b], pos_mm));
  return d;
}

static PlaStatus
part_shape(PlaMuscleModel *self, int label, PlaMuscleShape *out, PlaError *err)
{
  const PlaShapeScene *scene = pla_phantom_model_scene(self->sources->phantom);
  PhantomPart *part = pla_array_new0(1, sizeof *part);
  if (!part || !owned_add(&self->sources->parts, part)) {
    free(part);
    return pla_fail_memory(err, "a muscle");
  }
  *part = (PhantomPart){ .model = self->sources->phantom, .label = label };
  *out = (PlaMuscleShape){ .distance = part_distance, .data = part };
  pla_scene_part_bounds(scene, pla_scene_find_label(scene, label), out->lo_mm, out->hi_mm);
  return PLA_OK;
}

/* the bone @name of the phantom, unless it is there already or nothing is called so */
static PlaStatus
add_phantom_bone(PlaMuscleModel *self, const PlaLabelTable *table, const char *name, PlaError *err)
{
  PlaMuscleSources *sources = self->sources;
  const PlaLabel *label = pla_label_table_find_name(table, name);
  PlaMuscleShape shape;
  if (!name[0] || !label || pla_muscle_model_has_bone(self, name))
    return PLA_OK;
  PlaStatus st = part_shape(self, label->id, &shape, err);
  if (st == PLA_OK)
    st = pla_muscle_model_add_bone(self, name, shape, err);
  if (st == PLA_OK && !pla_array_reserve(&sources->bone, sources->n_bones + 1,
                                         &sources->bones_capacity, sizeof *sources->bone))
    st = pla_fail_memory(err, "a bone");
  if (st == PLA_OK)
    sources->bone[sources->n_bones++] = label->id;
  return st;
}

/* shapes of all muscles of the list, then of the bones that they end at */
static PlaStatus
add_phantom_shapes(PlaMuscleModel *self, const PlaLabelTable *table, PlaError *err)
{
  PlaMuscleSources *sources = self->sources;
  const int n = self->list.n;
  PlaStatus st = PLA_OK;
  self->shape = pla_array_new0((size_t)n, sizeof *self->shape);
  if (!self->shape)
    return pla_fail_memory(err, "the shapes of muscles");
  for (int m = 0; st == PLA_OK && m < n; m++)
    st = part_shape(self, self->list.muscle[m].label, &self->shape[m], err);
  for (int m = 0; m < n; m++)
    for (int h = 0; h < self->list.muscle[m].n_heads; h++) {
      const PlaMuscleHead *head = &self->list.muscle[m].head[h];
      if (st == PLA_OK)
        st = add_phantom_bone(self, table, head->origin, err);
      if (st == PLA_OK)
        st = add_phantom_bone(self, table, head->insertion, err);
    }
  /* muscles reach into the bones they hold on to; that part is bone */
  for (int m = 0; st == PLA_OK && m < n; m++) {
    PhantomPart *part = sources->parts.item[m];
    part->n_bones = sources->n_bones;
    part->bone = sources->bone;
  }
  return st;
}

PlaStatus
pla_muscle_model_from_phantom(const char *name, PlaMuscleModel **out, PlaError *err)
{
  const double coarse_mm = 8.0; /* only the table of labels is asked for */
  PlaPhantom phantom = { 0 };
  PlaMuscleModel *self = pla_muscle_model_new();
  PlaStatus st = self ? pla_phantom_model_new(name, &self->sources->phantom, err)
                      : pla_fail_memory(err, "the muscles");
  if (st == PLA_OK)
    st = pla_phantom_make(name, coarse_mm, NULL, &phantom, err);
  if (st == PLA_OK)
    st = pla_muscle_list_from_phantom(&phantom, &self->list, err);
  if (st == PLA_OK)
    st = add_phantom_shapes(self, &phantom.labels->table, err);
  pla_phantom_clear(&phantom);
  if (st == PLA_OK)
    *out = self;
  else
    pla_muscle_model_free(self);
  return st;
}

/* ---- labels and surfaces ---- */

PlaStatus
pla_muscle_model_label_shape(PlaMuscleModel *self, const PlaLabelMap *map, int id,
                             PlaProgress *progress, PlaMuscleShape *out, PlaError *err)
{
  PlaLabelLevelSetOptions opts = pla_label_levelset_options_default();
  PlaLevelSet *ls = NULL;
  opts.band_mm = INFINITY;
  PlaStatus st = pla_levelset_from_labels(map, &id, 1, &opts, progress, &ls, NULL, err);
  if (st == PLA_OK && !owned_add(&self->sources->levels, ls)) {
    pla_levelset_free(ls);
    st = pla_fail_memory(err, "the shape of a muscle");
  }
  if (st == PLA_OK)
    *out = pla_muscle_shape_levelset(ls);
  return st;
}

PlaStatus
pla_muscle_model_take_surface(PlaMuscleModel *self, PlaMesh *surface, PlaMuscleShape *out,
                              PlaError *err)
{
  Surface *s = pla_array_new0(1, sizeof *s);
  if (!s) {
    pla_mesh_free(surface);
    return pla_fail_memory(err, "the shape of a muscle");
  }
  s->mesh = surface;
  s->tris = pla_mesh_tris(surface);
  PlaStatus st = pla_tri_tree_new(&s->tris, &s->tree, err);
  if (st == PLA_OK)
    st = pla_winding_new(&s->tris, &s->winding, err);
  if (st == PLA_OK && !owned_add(&self->sources->surfaces, s))
    st = pla_fail_memory(err, "the shape of a muscle");
  if (st == PLA_OK) {
    s->both = (PlaMuscleSurface){ s->tree, s->winding };
    *out = pla_muscle_shape_surface(&s->both, &s->tris);
  } else
    surface_free(s);
  return st;
}

PlaStatus
pla_muscle_model_set_vectors(PlaMuscleModel *self, const PlaMesh *mesh, PlaError *err)
{
  const PlaField *field = pla_mesh_find_field(mesh, "fibre", PLA_ON_CELLS);
  if (!field)
    field = pla_mesh_find_field(mesh, "fibre", PLA_ON_VERTS);
  if (!field || field->n_components != 3 || (field->dtype != PLA_F32 && field->dtype != PLA_F64))
    return pla_fail(err, PLA_ERR_USAGE,
                    "The mesh has no field \"fibre\" of three numbers on its cells or vertices.");
  const bool on_cells = field->place == PLA_ON_CELLS;
  const int n = on_cells ? mesh->n_tets : mesh->n_verts;
  const size_t skip = on_cells ? (size_t)mesh->n_tris : 0;
  double *pos = pla_array_new((size_t)n, 3 * sizeof *pos);
  double *dir = pla_array_new((size_t)n, 3 * sizeof *dir);
  const PlaFibreSamples **vectors = pla_array_new0((size_t)self->list.n, sizeof *vectors);
  PlaStatus st = pos && dir && vectors ? PLA_OK : pla_fail_memory(err, "the fibres");
  for (size_t i = 0; st == PLA_OK && i < (size_t)n; i++)
    for (size_t d = 0; d < 3; d++) {
      double x = 0.0;
      for (size_t c = 0; c < 4 && on_cells; c++)
        x += 250.0 * mesh->pos[3 * (size_t)mesh->tet[4 * i + c] + d];
      pos[3 * i + d] = on_cells ? x : 1000.0 * mesh->pos[3 * i + d];
      const size_t at = 3 * (skip + i) + d;
      dir[3 * i + d] = field->dtype == PLA_F32 ? (double)((const float *)field->data)[at]
                                               : ((const double *)field->data)[at];
    }
  if (st == PLA_OK)
    st = pla_fibre_samples_new(n, pos, dir, &self->sources->vectors, err);
  if (st == PLA_OK) {
    for (int m = 0; m < self->list.n; m++)
      vectors[m] = self->sources->vectors;
    self->vectors = vectors;
    vectors = NULL;
  }
  free(pos);
  free(dir);
  free(vectors);
  return st;
}
