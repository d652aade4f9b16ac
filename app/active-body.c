/* Bodies with muscles from phantoms and cases. */
#include "app/active-body.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "app/face-mesh.h"
#include "app/marker-layout.h"
#include "app/muscles.h"
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
  bool jaw;
} Kind;
/* Stiffness: so that the strongest muscles shorten by about a third at full activation. */
static const Kind kinds[] = {
  { "face", "head", 5.5, 20e3, true },
  { "tongue", "tongue", 4.0, 20e3, false },
  { "arm", "arm", 9.0, 40e3, false },
};

PlaActiveBodyOptions
pla_active_body_options_default(void)
{
  return (PlaActiveBodyOptions){ 0 };
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
  g_free(self->name);
  g_free(self);
}

static bool
is_facial(const char *name)
{
  for (size_t i = 0; i < G_N_ELEMENTS(facial); i++)
    if (g_str_has_prefix(name, facial[i]) && name[strlen(facial[i])] == ',')
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

/* What holds each vertex.  Tissue between two bones that move against each other must not be held by
 * both: the cranium lets go. */
static void
find_holds(const PlaMesh *mesh, const PlaMuscleSet *set, const unsigned char *cut, bool jaw,
           unsigned char *hold)
{
  const double apart_m = 0.015; /* from the mandible, of cut faces that are held */
  double *near = g_new(double, (size_t)mesh->n_verts);
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
  g_free(near);
}

/* the model of a body whose mesh and muscles are there */
static PlaStatus
make_model(PlaActiveBody *body, const unsigned char *hold, const PlaJaw *jaw, double young_pa,
           double poisson, PlaError *err)
{
  const PlaMuscleSet *set = &body->muscles;
  const PlaMaterial *material = pla_material_find("muscle");
  double param[PLA_MAX_CONSTANTS] = { 0 }, strongest = 0.0;
  for (int m = 0; m < set->list.n; m++)
    strongest = fmax(strongest, set->list.muscle[m].peak_stress_pa);
  for (int i = 0; material->params[i].key; i++)
    param[i] = material->params[i].def;
  const double mu = young_pa / (2.0 * (1.0 + poisson));
  param[pla_material_param(material, "base")] = 1.0; /* neo-Hookean */
  param[pla_material_param(material, "c10_pa")] = 0.5 * mu;
  param[pla_material_param(material, "c01_pa")] = 0.0;
  param[pla_material_param(material, "bulk_pa")] = young_pa / (3.0 * (1.0 - 2.0 * poisson));
  param[pla_material_param(material, "sigma_max_pa")] = strongest;
  PlaFemMaterial flesh = { .material = material, .density = 1050.0 };
  PlaStatus st = material->prepare(param, flesh.constants, err);
  g_autofree double *overlap = g_new(double, (size_t)set->n_pairs + 1);
  g_autofree const char **names = g_new(const char *, (size_t)set->list.n + 1);
  for (int p = 0; p < set->n_pairs; p++)
    overlap[p] = fmin(1.0, set->share[p] * set->list.muscle[set->muscle[p]].peak_stress_pa /
                               strongest);
  for (int m = 0; m < set->list.n; m++)
    names[m] = set->list.muscle[m].name;
  const PlaActiveParts parts = { .mesh = body->mesh,
                                 .flesh = &flesh,
                                 .n_muscles = set->list.n,
                                 .muscle = names,
                                 .fibre_start = set->tet_start,
                                 .fibre = set->fibre,
                                 .overlap = overlap,
                                 .fibre_muscle = set->muscle,
                                 .hold = hold,
                                 .jaw = jaw };
  return st == PLA_OK ? pla_active_model_new(&parts, &body->model, err) : st;
}

/* the jaw among the joints of a phantom */
static PlaStatus
phantom_jaw(const char *phantom, PlaJaw *jaw, PlaError *err)
{
  PlaPhantom made = { 0 };
  PlaStatus st = pla_phantom_make(phantom, 8.0, NULL, &made, err);
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

PlaStatus
pla_active_body_from_phantom(const char *name, const PlaActiveBodyOptions *opts,
                             PlaProgress *progress, PlaActiveBody **out, PlaError *err)
{
  const Kind *kind = NULL;
  for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (strcmp(kinds[i].name, name) == 0)
      kind = &kinds[i];
  *out = NULL;
  if (!kind)
    return pla_fail(err, PLA_ERR_USAGE,
                    "there is no body 'phantom:%s'; phantom:face, phantom:tongue and phantom:arm "
                    "have muscles",
                    name);
  const double cell_mm = opts->cell_mm > 0.0 ? opts->cell_mm : kind->cell_mm;
  PlaActiveBody *self = g_new0(PlaActiveBody, 1);
  PlaMuscleModel *muscles = NULL;
  PlaMuscleOptions muscle_opts = pla_muscle_options_default();
  PlaJaw jaw;
  g_autofree unsigned char *cut = NULL;
  self->name = g_strdup(name);
  pla_progress_phase(progress, "Meshing", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = kind->jaw ? pla_face_mesh(cell_mm, progress, &self->mesh, &cut, err)
                           : pla_muscle_phantom_mesh(name, cell_mm, progress, &self->mesh, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    st = pla_muscle_model_from_phantom(kind->phantom, &muscles, err);
  if (st == PLA_OK && kind->jaw)
    st = keep_facial(muscles, err);
  pla_progress_phase(progress, "Placing muscles", 0.95);
  span = pla_progress_push(progress);
  if (st == PLA_OK) {
    const PlaTetMesh tets = pla_mesh_tets(self->mesh);
    muscle_opts.attach_mm = 0.3 * cell_mm;
    muscle_opts.n_lines = 4;
    muscle_opts.n_cells = 2000; /* elements here are far coarser than what more would resolve */
    st = pla_muscle_set_build(&tets, &muscles->list, muscles->shape, NULL, muscles->bone,
                              muscles->n_bones, &muscle_opts, progress, &self->muscles, err);
  }
  pla_progress_pop(progress, span);
  pla_muscle_model_free(muscles);
  if (st == PLA_OK) {
    g_autofree unsigned char *hold = g_new(unsigned char, (size_t)self->mesh->n_verts);
    pla_muscle_set_limit_sums(&self->muscles);
    find_holds(self->mesh, &self->muscles, cut, kind->jaw, hold);
    if (kind->jaw)
      st = phantom_jaw(kind->phantom, &jaw, err);
    if (st == PLA_OK)
      st = make_model(self, hold, kind->jaw ? &jaw : NULL,
                      opts->young_pa > 0.0 ? opts->young_pa : kind->young_pa,
                      opts->poisson > 0.0 ? opts->poisson : 0.45, err);
  }
  if (st == PLA_OK && strcmp(name, "arm") != 0)
    st = pla_marker_layout(name, self->mesh, &self->markers, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_active_body_free(self);
  return st;
}
