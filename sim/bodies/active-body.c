/* Bodies with muscles: who holds each vertex, the model of the flesh, and the bodies of phantoms.
 */
#include "sim/bodies/active-body.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/bodies/face-mesh.h"
#include "anatomy/muscle/muscle-model.h"
#include "anatomy/phantom/phantom.h"
#include "sim/bodies/marker-layout.h"
#include "sim/bodies/phantom-flesh.h"
#include "sim/material/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* muscles of the head phantom that move the face; those that move the jaw do so as its pose */
static const char *const facial[] = {
  "buccinator",
  "levator anguli oris",
  "mentalis",
  "nasalis",
  "orbicularis oris superior",
  "orbicularis oris inferior",
  "corrugator supercilii",
  "depressor labii inferioris",
  "levator labii superioris",
  "zygomaticus minor",
  "risorius",
  "zygomaticus major",
  "depressor anguli oris",
  "orbicularis oculi",
  "levator labii superioris alaeque nasi",
  "procerus",
  "frontalis",
  "platysma",
};

typedef struct {
  const char *name, *phantom;
  double cell_mm;
  double young_pa; /* of flesh between the fibres */
  double poisson;
  bool face;   /* its flesh and its muscles alone, of the head's */
  bool jaw;    /* the head's */
  bool beside; /* flesh lies beside bone and slides there; only muscles hold on to it */
} Kind;
/* Stiffness: so that the strongest muscles shorten by about a third at full activation. */
static const Kind kinds[] = {
  { "face", "head", 5.5, 20e3, 0.45, true, true, false },
  { "tongue", "tongue", 4.0, 20e3, 0.45, false, true, true },
  { "arm", "arm", 9.0, 40e3, 0.45, false, false, false },
};

const char *const pla_flesh_elements[] = { "standard", "mixed", NULL };

PlaActiveBodyOptions
pla_active_body_options_default(void)
{
  return (PlaActiveBodyOptions){ 0 };
}

PlaActiveBody *
pla_active_body_new(const char *name, const char *phantom)
{
  PlaActiveBody *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return NULL;
  self->name = pla_strdup(name);
  self->phantom = pla_strdup(phantom);
  if (self->name && (self->phantom || !phantom))
    return self;
  pla_active_body_free(self);
  return NULL;
}

void
pla_active_body_free(PlaActiveBody *self)
{
  if (!self)
    return;
  pla_active_model_free(self->model);
  pla_muscle_set_clear(&self->muscles);
  pla_marker_set_clear(&self->markers);
  pla_mesh_free(self->mesh);
  free(self->name);
  free(self->phantom);
  free(self);
}

static bool
is_facial(const char *name)
{
  for (size_t i = 0; i < sizeof facial / sizeof facial[0]; i++)
    if (strncmp(name, facial[i], strlen(facial[i])) == 0 && name[strlen(facial[i])] == ',')
      return true;
  return false;
}

/* leaves only the facial muscles in @model */
static PlaStatus
keep_facial(PlaMuscleModel *model, PlaError *err)
{
  PlaMuscleList gone = { 0 };
  int n = 0;
  gone.muscle = pla_array_new0((size_t)model->list.n, sizeof *gone.muscle);
  if (!gone.muscle)
    return pla_fail_memory(err, "the muscles");
  for (int m = 0; m < model->list.n; m++) {
    if (!is_facial(model->list.muscle[m].name)) {
      gone.muscle[gone.n++] = model->list.muscle[m];
      continue;
    }
    model->shape[n] = model->shape[m];
    model->list.muscle[n++] = model->list.muscle[m];
  }
  model->list.n = n;
  pla_muscle_list_clear(&gone);
  return PLA_OK;
}

/* Frees vertices that are near a bone but in no muscle that ends there. */
static PlaStatus
free_beside(const PlaMesh *mesh, PlaMuscleSet *set, PlaError *err)
{
  unsigned char *held = pla_array_new0((size_t)mesh->n_verts, 1);
  if (!held)
    return pla_fail_memory(err, "what holds the body");
  for (int t = 0; t < mesh->n_tets; t++)
    for (int p = set->tet_start[t]; p < set->tet_start[t + 1]; p++) {
      const PlaMuscle *muscle = &set->list.muscle[set->muscle[p]];
      for (size_t a = 0; a < 4; a++) {
        const int v = mesh->tet[4 * (size_t)t + a], bone = set->vert_bone[v];
        for (int h = 0; bone >= 0 && h < muscle->n_heads; h++)
          held[v] |= strcmp(muscle->head[h].origin, set->bone[bone]) == 0 ||
                     strcmp(muscle->head[h].insertion, set->bone[bone]) == 0;
      }
    }
  for (int v = 0; v < mesh->n_verts; v++)
    if (!held[v])
      set->vert_bone[v] = -1;
  free(held);
  return PLA_OK;
}

PlaStatus
pla_active_body_find_holds(const PlaMesh *mesh, const PlaMuscleSet *set, const unsigned char *cut,
                           bool jaw, unsigned char *hold, PlaError *err)
{
  const double apart_m = 0.015; /* from the mandible, of cut faces that are held */
  double *near = pla_array_new((size_t)mesh->n_verts, sizeof *near);
  if (!near)
    return pla_fail_memory(err, "what holds the body");
  for (int v = 0; v < mesh->n_verts; v++) {
    const int bone = set->vert_bone[v];
    const bool mandible = bone >= 0 && strcmp(set->bone[bone], "mandible") == 0;
    hold[v] = bone < 0 ? PLA_HOLD_FREE : mandible && jaw ? PLA_HOLD_JAW : PLA_HOLD_CRANIUM;
    near[v] = INFINITY;
  }
  for (int v = 0; cut && v < mesh->n_verts; v++) {
    if (!cut[v] || hold[v] != PLA_HOLD_FREE)
      continue;
    for (int u = 0; u < mesh->n_verts && near[v] > apart_m; u++)
      if (hold[u] == PLA_HOLD_JAW) {
        double d[3];
        pla_vec3_sub(mesh->pos + 3 * (size_t)u, mesh->pos + 3 * (size_t)v, d);
        near[v] = fmin(near[v], pla_vec3_norm(d));
      }
  }
  for (int v = 0; cut && v < mesh->n_verts; v++)
    if (cut[v] && hold[v] == PLA_HOLD_FREE && near[v] > apart_m)
      hold[v] = PLA_HOLD_CRANIUM;
  for (int t = 0; t < mesh->n_tets; t++) {
    const int *tet = mesh->tet + 4 * (size_t)t;
    bool moved = false;
    for (int a = 0; a < 4; a++)
      moved |= hold[tet[a]] == PLA_HOLD_JAW;
    for (int a = 0; moved && a < 4; a++)
      if (hold[tet[a]] == PLA_HOLD_CRANIUM)
        hold[tet[a]] = PLA_HOLD_FREE;
  }
  free(near);
  return PLA_OK;
}

/* the model of a body whose mesh and muscles are there, and its flesh known */
static PlaStatus
make_model(const PlaActiveBody *body, const unsigned char *hold, const PlaJaw *jaw, double young_pa,
           PlaActiveModel **out, PlaError *err)
{
  const PlaMuscleSet *set = &body->muscles;
  const PlaMaterial *material = pla_material_find("muscle");
  double param[PLA_MAX_CONSTANTS] = { 0 }, strongest = 0.0;
  for (int m = 0; m < set->list.n; m++)
    strongest = fmax(strongest, set->list.muscle[m].peak_stress_pa);
  for (int i = 0; material->params[i].key; i++)
    param[i] = material->params[i].def;
  const double mu = young_pa / (2.0 * (1.0 + body->poisson));
  param[pla_material_param(material, "base")] = 1.0; /* neo-Hookean */
  param[pla_material_param(material, "c10_pa")] = 0.5 * mu;
  param[pla_material_param(material, "c01_pa")] = 0.0;
  param[pla_material_param(material, "bulk_pa")] = young_pa / (3.0 * (1.0 - 2.0 * body->poisson));
  param[pla_material_param(material, "sigma_max_pa")] = strongest * body->strength;
  PlaFemMaterial flesh = { .material = material, .density = 1050.0 };
  PlaStatus st = material->prepare(param, flesh.constants, err);
  double *overlap = pla_array_new((size_t)set->n_pairs, sizeof *overlap);
  const char **names = pla_array_new((size_t)set->list.n, sizeof *names);
  if (st == PLA_OK && (!overlap || !names))
    st = pla_fail_memory(err, "the model of the body");
  for (int p = 0; st == PLA_OK && p < set->n_pairs; p++)
    overlap[p] =
        fmin(1.0, set->share[p] * set->list.muscle[set->muscle[p]].peak_stress_pa / strongest);
  for (int m = 0; st == PLA_OK && m < set->list.n; m++)
    names[m] = set->list.muscle[m].name;
  const PlaActiveParts parts = { .mesh = body->mesh,
                                 .formulation = body->elements == PLA_FLESH_MIXED
                                                    ? PLA_FORMULATION_AVERAGED
                                                    : PLA_FORMULATION_STANDARD,
                                 .flesh = &flesh,
                                 .n_muscles = set->list.n,
                                 .muscle = names,
                                 .fibre_start = set->tet_start,
                                 .fibre = set->fibre,
                                 .overlap = overlap,
                                 .fibre_muscle = set->muscle,
                                 .hold = hold,
                                 .jaw = jaw };
  if (st == PLA_OK)
    st = pla_active_model_new(&parts, out, err);
  free(overlap);
  free(names);
  return st;
}

PlaStatus
pla_active_body_finish(PlaActiveBody *body, const unsigned char *hold, const PlaJaw *jaw,
                       const PlaActiveBodyOptions *flesh, PlaError *err)
{
  body->young_pa = flesh->young_pa;
  body->poisson = flesh->poisson;
  body->strength = flesh->strength > 0.0 ? flesh->strength : 1.0;
  body->elements = flesh->elements == PLA_FLESH_DEFAULT ? PLA_FLESH_STANDARD : flesh->elements;
  return make_model(body, hold, jaw, body->young_pa, &body->model, err);
}

PlaStatus
pla_active_body_stiffen(const PlaActiveBody *self, double stiffness, PlaActiveModel **out,
                        PlaError *err)
{
  return make_model(self, pla_active_hold(self->model), pla_active_jaw(self->model),
                    stiffness * self->young_pa, out, err);
}

/* the jaw among the joints of the head phantom, in whose frame the tongue is, too */
static PlaStatus
phantom_jaw(PlaJaw *jaw, PlaError *err)
{
  PlaPhantom made = { 0 };
  PlaStatus st = pla_phantom_make("head", 8.0, NULL, &made, err);
  for (int j = 0; st == PLA_OK && j < made.n_joints; j++) {
    const PlaPhantomJoint *joint = &made.joint[j];
    double right[3], left[3];
    if (strcmp(joint->name, "jaw") != 0)
      continue;
    for (int d = 0; d < 3; d++) {
      right[d] = joint->from_mm[d] / 1000.0;
      left[d] = joint->to_mm[d] / 1000.0;
    }
    pla_jaw_init(jaw, right, left, joint->slide, joint->slide_mm / 1000.0,
                 joint->range_deg[1] * (M_PI / 180.0));
  }
  pla_phantom_clear(&made);
  return st;
}

static const Kind *
find_kind(const char *name)
{
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (strcmp(kinds[i].name, name) == 0)
      return &kinds[i];
  return NULL;
}

PlaStatus
pla_active_body_complete(const char *phantom, PlaActiveBodyOptions *opts, PlaError *err)
{
  const Kind *kind = find_kind(phantom);
  if (!kind)
    return pla_fail(err, PLA_ERR_USAGE,
                    "there is no body 'phantom:%s'; phantom:face, phantom:tongue and phantom:arm "
                    "have muscles",
                    phantom);
  opts->cell_mm = opts->cell_mm > 0.0 ? opts->cell_mm : kind->cell_mm;
  opts->young_pa = opts->young_pa > 0.0 ? opts->young_pa : kind->young_pa;
  opts->poisson = opts->poisson > 0.0 ? opts->poisson : kind->poisson;
  opts->elements = opts->elements == PLA_FLESH_DEFAULT ? PLA_FLESH_STANDARD : opts->elements;
  return PLA_OK;
}

/* the muscles of a phantom on the body's mesh */
static PlaStatus
place_muscles(const Kind *kind, double cell_mm, PlaProgress *progress, PlaActiveBody *self,
              PlaError *err)
{
  PlaMuscleModel *muscles = NULL;
  PlaMuscleOptions opts = pla_muscle_options_default();
  PlaStatus st = pla_muscle_model_from_phantom(kind->phantom, &muscles, err);
  if (st == PLA_OK && kind->face)
    st = keep_facial(muscles, err);
  pla_progress_phase(progress, "Placing muscles", 0.95);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK) {
    const PlaTetMesh tets = pla_mesh_tets(self->mesh);
    opts.attach_mm = 0.3 * cell_mm;
    opts.n_lines = 4;
    /* elements are far coarser than what more cells would resolve */
    opts.n_cells = cell_mm < 8.0 ? 2000 : 600;
    opts.leaf_mm = fmin(1.5, fmax(1.0, cell_mm / 6.0));
    st = pla_muscle_set_build(&tets, &muscles->list, muscles->shape, NULL, muscles->bone,
                              muscles->n_bones, &opts, progress, &self->muscles, err);
  }
  pla_progress_pop(progress, span);
  pla_muscle_model_free(muscles);
  return st;
}

/* supports, jaw and model of a body whose mesh and muscles are there */
static PlaStatus
support(const Kind *kind, const PlaActiveBodyOptions *opts, const unsigned char *cut,
        PlaActiveBody *self, PlaError *err)
{
  PlaJaw jaw;
  unsigned char *hold = pla_array_new((size_t)self->mesh->n_verts, 1);
  PlaStatus st = hold ? PLA_OK : pla_fail_memory(err, "what holds the body");
  pla_muscle_set_limit_sums(&self->muscles);
  if (st == PLA_OK && kind->beside)
    st = free_beside(self->mesh, &self->muscles, err);
  if (st == PLA_OK)
    st = pla_active_body_find_holds(self->mesh, &self->muscles, cut, kind->jaw, hold, err);
  if (st == PLA_OK && kind->jaw)
    st = phantom_jaw(&jaw, err);
  if (st == PLA_OK)
    st = pla_active_body_finish(self, hold, kind->jaw ? &jaw : NULL, opts, err);
  free(hold);
  return st;
}

PlaStatus
pla_active_body_new_phantom(const char *name, const PlaActiveBodyOptions *opts,
                            PlaProgress *progress, PlaActiveBody **out, PlaError *err)
{
  const Kind *kind = find_kind(name);
  PlaActiveBodyOptions all = *opts;
  unsigned char *cut = NULL;
  *out = NULL;
  PlaStatus st = pla_active_body_complete(name, &all, err);
  if (st != PLA_OK)
    return st;
  PlaActiveBody *self = pla_active_body_new(kind->name, kind->name);
  if (!self)
    return pla_fail_memory(err, "the body");
  pla_progress_phase(progress, "Meshing", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  st = kind->face ? pla_face_mesh(all.cell_mm, progress, &self->mesh, &cut, err)
                  : pla_phantom_flesh_mesh(kind->name, all.cell_mm, progress, &self->mesh, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    st = place_muscles(kind, all.cell_mm, progress, self, err);
  if (st == PLA_OK)
    st = support(kind, &all, cut, self, err);
  if (st == PLA_OK && strcmp(kind->name, "arm") != 0)
    st = pla_marker_layout(kind->name, self->mesh, &self->markers, err);
  free(cut);
  if (st == PLA_OK)
    *out = self;
  else
    pla_active_body_free(self);
  return st;
}
