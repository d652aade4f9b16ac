/* Bodies with muscles from phantoms and cases. */
#include "app/motion/active-body.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/bodies/face-mesh.h"
#include "anatomy/mesher/tets.h"
#include "app/base/cache.h"
#include "app/base/json.h"
#include "app/motion/marker-layout.h"
#include "app/motion/muscles.h"
#include "sim/material/registry.h"

#include <glib/gi18n.h>
#include <limits.h>
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

/* seconds as measured on two cores */
static const PlaActivePhantom phantoms[] = {
  { "face",
    N_("Face of the phantom"),
    { { 14.0, N_("About 5 000 elements: built in about 10 s, moves at once. To try things.") },
      { 9.0, N_("About 18 000 elements: built in about 10 s, each pose in a tenth of a second.") },
      { 5.5, N_("About 67 000 elements: built in about half a minute, each pose in about a second; "
                "fitting "
                "takes some seconds a frame.") } } },
  { "tongue",
    N_("Tongue of the phantom"),
    { { 12.0, N_("About 700 elements: built in a few seconds. To try things.") },
      { 10.0, N_("About 1 200 elements: built in a few seconds.") },
      { 4.0, N_("About 14 000 elements: built in about ten seconds.") } } },
  { "arm",
    N_("Arm of the phantom"),
    { { 16.0, N_("About 12 000 elements: built in a few seconds.") },
      { 12.0, N_("About 25 000 elements: built in a few seconds.") },
      { 9.0, N_("About 50 000 elements: built in about ten seconds.") } } },
};

const PlaActivePhantom *
pla_active_phantom_get(int i)
{
  return i >= 0 && i < (int)G_N_ELEMENTS(phantoms) ? &phantoms[i] : NULL;
}

const PlaActivePhantom *
pla_active_phantom_find(const char *name)
{
  for (size_t i = 0; i < G_N_ELEMENTS(phantoms); i++)
    if (strcmp(phantoms[i].name, name) == 0)
      return &phantoms[i];
  return NULL;
}

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
  g_free(self->phantom);
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

/* Frees vertices that are near a bone but in no muscle that ends there. */
static void
free_beside(const PlaMesh *mesh, PlaMuscleSet *set)
{
  g_autofree unsigned char *held = g_new0(unsigned char, (size_t)mesh->n_verts + 1);
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
}

/* What holds each vertex.  Tissue between two bones that move against each other must not be held
 * by both: the cranium lets go. */
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
  g_autofree double *overlap = g_new(double, (size_t)set->n_pairs + 1);
  g_autofree const char **names = g_new(const char *, (size_t)set->list.n + 1);
  for (int p = 0; p < set->n_pairs; p++)
    overlap[p] =
        fmin(1.0, set->share[p] * set->list.muscle[set->muscle[p]].peak_stress_pa / strongest);
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
  return st == PLA_OK ? pla_active_model_new(&parts, out, err) : st;
}

/* what a body's flesh is, and its model */
static PlaStatus
finish_model(PlaActiveBody *body, const unsigned char *hold, const PlaJaw *jaw, double young_pa,
             double poisson, double strength, PlaError *err)
{
  body->young_pa = young_pa;
  body->poisson = poisson;
  body->strength = strength > 0.0 ? strength : 1.0;
  return make_model(body, hold, jaw, young_pa, &body->model, err);
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
  for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (strcmp(kinds[i].name, name) == 0)
      return &kinds[i];
  return NULL;
}

static PlaStatus
build(const Kind *kind, const PlaActiveBodyOptions *opts, PlaProgress *progress,
      PlaActiveBody **out, PlaError *err)
{
  const double cell_mm = opts->cell_mm;
  PlaActiveBody *self = g_new0(PlaActiveBody, 1);
  PlaMuscleModel *muscles = NULL;
  PlaMuscleOptions muscle_opts = pla_muscle_options_default();
  PlaJaw jaw;
  g_autofree unsigned char *cut = NULL;
  self->name = g_strdup(kind->name);
  self->phantom = g_strdup(kind->name);
  pla_progress_phase(progress, "Meshing", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = kind->face
                     ? pla_face_mesh(cell_mm, progress, &self->mesh, &cut, err)
                     : pla_muscle_phantom_mesh(kind->name, cell_mm, progress, &self->mesh, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK)
    st = pla_muscle_model_from_phantom(kind->phantom, &muscles, err);
  if (st == PLA_OK && kind->face)
    st = keep_facial(muscles, err);
  pla_progress_phase(progress, "Placing muscles", 0.95);
  span = pla_progress_push(progress);
  if (st == PLA_OK) {
    const PlaTetMesh tets = pla_mesh_tets(self->mesh);
    muscle_opts.attach_mm = 0.3 * cell_mm;
    muscle_opts.n_lines = 4;
    /* elements are far coarser than what more cells would resolve */
    muscle_opts.n_cells = cell_mm < 8.0 ? 2000 : 600;
    muscle_opts.leaf_mm = fmin(1.5, fmax(1.0, cell_mm / 6.0));
    st = pla_muscle_set_build(&tets, &muscles->list, muscles->shape, NULL, muscles->bone,
                              muscles->n_bones, &muscle_opts, progress, &self->muscles, err);
  }
  pla_progress_pop(progress, span);
  pla_muscle_model_free(muscles);
  if (st == PLA_OK) {
    g_autofree unsigned char *hold = g_new(unsigned char, (size_t)self->mesh->n_verts);
    pla_muscle_set_limit_sums(&self->muscles);
    if (kind->beside)
      free_beside(self->mesh, &self->muscles);
    find_holds(self->mesh, &self->muscles, cut, kind->jaw, hold);
    if (kind->jaw)
      st = phantom_jaw(&jaw, err);
    if (st == PLA_OK)
      st = finish_model(self, hold, kind->jaw ? &jaw : NULL, opts->young_pa, opts->poisson,
                        opts->strength, err);
  }
  if (st == PLA_OK && strcmp(kind->name, "arm") != 0)
    st = pla_marker_layout(kind->name, self->mesh, &self->markers, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_active_body_free(self);
  return st;
}

/* ---- kept between runs ---- */

static char *
cache_key(const Kind *kind, double cell_mm)
{
  return g_strdup_printf("%s cell_mm=%a", kind->name, cell_mm);
}

/* the mesh as pos, tet and region, the item of the muscles as its metadata and arrays */
static void
keep(const Kind *kind, double cell_mm, const PlaActiveBody *self)
{
  g_autoptr(PlaContent) mesh = NULL;
  g_autoptr(PlaContent) muscles = NULL;
  if (pla_active_body_to_contents(self, kind->name, &mesh, &muscles, NULL) != PLA_OK)
    return;
  const PlaField *region = pla_mesh_find_field(self->mesh, PLA_MESH_REGION, PLA_ON_CELLS);
  const size_t n_tets = (size_t)self->mesh->n_tets;
  g_autofree char *key = cache_key(kind, cell_mm);
  g_autofree char *meta = pla_json_canonical(muscles->meta);
  g_autofree PlaFileArray *array = g_new(PlaFileArray, (size_t)muscles->n_arrays + 4);
  int n = 0;
  array[n++] =
      pla_cache_array("mesh/pos", PLA_F64, 3, (size_t)self->mesh->n_verts, self->mesh->pos);
  array[n++] = pla_cache_array("mesh/tet", PLA_I32, 4, n_tets, self->mesh->tet);
  array[n++] = pla_cache_array("meta", PLA_U8, 1, strlen(meta), meta);
  if (region)
    array[n++] = pla_cache_array("mesh/region", PLA_I32, 1, n_tets, region->data);
  for (int a = 0; a < muscles->n_arrays; a++) {
    const PlaStoreArray *from = &muscles->array[a];
    array[n] = pla_cache_array(from->name, from->dtype, 1, 0, from->data);
    array[n].n_dims = from->n_dims;
    memcpy(array[n++].dim, from->shape, (size_t)from->n_dims * sizeof *from->shape);
  }
  pla_cache_write("active-body", key, array, n);
}

static PlaStatus
mesh_from_arrays(const PlaArrays *arrays, PlaMesh **out, PlaError *err)
{
  const PlaFileArray *pos = pla_arrays_find(arrays, "mesh/pos");
  const PlaFileArray *tet = pla_arrays_find(arrays, "mesh/tet");
  const void *from;
  if (!pos || !tet || pos->n_dims != 2 || tet->n_dims != 2 || pos->dim[1] > INT_MAX / 3 ||
      tet->dim[1] > INT_MAX / 4)
    return pla_fail(err, PLA_ERR_FORMAT, "the cached mesh is damaged");
  const size_t n_verts = (size_t)pos->dim[1], n_tets = (size_t)tet->dim[1];
  PlaStatus st = pla_mesh_new((int)n_verts, 0, (int)n_tets, 0, out, err);
  if (st == PLA_OK)
    st = pla_arrays_get(arrays, "mesh/pos", PLA_F64, 3 * n_verts, &from, err);
  if (st == PLA_OK) {
    memcpy((*out)->pos, from, 3 * n_verts * sizeof(double));
    st = pla_arrays_get(arrays, "mesh/tet", PLA_I32, 4 * n_tets, &from, err);
  }
  if (st == PLA_OK)
    memcpy((*out)->tet, from, 4 * n_tets * sizeof(int));
  if (st == PLA_OK && pla_arrays_find(arrays, "mesh/region")) {
    int *region = pla_mesh_add_field(*out, PLA_MESH_REGION, PLA_ON_CELLS, PLA_I32, 1);
    st = region ? pla_arrays_get(arrays, "mesh/region", PLA_I32, n_tets, &from, err)
                : pla_fail_memory(err, "the mesh");
    if (st == PLA_OK)
      memcpy(region, from, n_tets * sizeof *region);
  }
  return st == PLA_OK ? pla_mesh_check(*out, err) : st;
}

/* the body as it was kept, or NULL */
static PlaActiveBody *
recall(const Kind *kind, const PlaActiveBodyOptions *opts)
{
  g_autofree char *key = cache_key(kind, opts->cell_mm);
  PlaArrays arrays;
  PlaActiveBody *self = NULL;
  if (!pla_cache_read("active-body", key, &arrays))
    return NULL;
  g_autoptr(PlaContent) mesh = pla_content_new(PLA_ITEM_MESH);
  g_autoptr(PlaContent) muscles = pla_content_new(PLA_ITEM_MUSCLES);
  const PlaFileArray *meta = pla_arrays_find(&arrays, "meta");
  g_autofree char *text = meta ? g_strndup(meta->data, pla_file_array_count(meta)) : g_strdup("");
  g_autoptr(JsonNode) root = NULL;
  pla_json_parse(text, strlen(text), "the cache", &root, NULL);
  PlaStatus st = mesh_from_arrays(&arrays, &mesh->mesh, NULL);
  if (st == PLA_OK && root && JSON_NODE_HOLDS_OBJECT(root)) {
    json_object_unref(muscles->meta);
    muscles->meta = json_node_dup_object(root);
    for (int a = 0; a < arrays.n && st == PLA_OK; a++) {
      const PlaFileArray *array = &arrays.array[a];
      if (!g_str_has_prefix(array->name, "mesh/") && strcmp(array->name, "meta") != 0 &&
          strcmp(array->name, "key") != 0)
        st = pla_content_add_array(muscles, array->name, array->dtype, array->n_dims, array->dim,
                                   array->data, NULL);
    }
    if (st == PLA_OK &&
        pla_active_body_from_contents(kind->name, mesh, muscles, opts, &self, NULL) != PLA_OK)
      self = NULL;
  }
  pla_arrays_clear(&arrays);
  return self;
}

PlaStatus
pla_active_body_from_phantom(const char *name, const PlaActiveBodyOptions *opts,
                             PlaProgress *progress, PlaActiveBody **out, PlaError *err)
{
  const Kind *kind = find_kind(name);
  *out = NULL;
  if (!kind)
    return pla_fail(err, PLA_ERR_USAGE,
                    "there is no body 'phantom:%s'; phantom:face, phantom:tongue and phantom:arm "
                    "have muscles",
                    name);
  PlaActiveBodyOptions all = *opts;
  all.cell_mm = opts->cell_mm > 0.0 ? opts->cell_mm : kind->cell_mm;
  all.young_pa = opts->young_pa > 0.0 ? opts->young_pa : kind->young_pa;
  all.poisson = opts->poisson > 0.0 ? opts->poisson : kind->poisson;
  *out = recall(kind, &all);
  if (*out)
    return PLA_OK;
  PlaStatus st = build(kind, &all, progress, out, err);
  if (st == PLA_OK)
    keep(kind, all.cell_mm, *out);
  return st;
}

/* ---- items of a case ---- */

PlaStatus
pla_active_body_to_contents(const PlaActiveBody *self, const char *mesh_name, PlaContent **mesh,
                            PlaContent **muscles, PlaError *err)
{
  const PlaJaw *jaw = pla_active_jaw(self->model);
  const uint64_t n_verts = (uint64_t)self->mesh->n_verts, n = (uint64_t)self->markers.n;
  g_autoptr(PlaContent) body = pla_content_new(PLA_ITEM_MESH);
  g_autoptr(PlaContent) set = NULL;
  PlaStatus st = pla_mesh_dup(self->mesh, &body->mesh, err);
  if (st == PLA_OK)
    st = pla_muscle_set_to_content(&self->muscles, mesh_name, &set, err);
  if (st != PLA_OK)
    return st;
  JsonArray *names = json_array_new();
  g_autofree int *vert = g_new(int, 3 * n + 1);
  g_autofree double *weight = g_new(double, 3 * n + 1);
  g_autofree double *offset = g_new(double, 3 * n + 1);
  for (size_t i = 0; i < n; i++) {
    json_array_add_string_element(names, self->markers.site[i].name);
    memcpy(vert + 3 * i, self->markers.site[i].vert, 3 * sizeof *vert);
    memcpy(weight + 3 * i, self->markers.site[i].weight, 3 * sizeof *weight);
    memcpy(offset + 3 * i, self->markers.site[i].offset, 3 * sizeof *offset);
  }
  json_object_set_string_member(set->meta, "body", self->name);
  if (self->phantom)
    json_object_set_string_member(set->meta, "phantom", self->phantom);
  json_object_set_array_member(set->meta, "markers", names);
  const double flesh[2] = { self->young_pa, self->poisson };
  st = pla_content_add_array(set, "hold", PLA_U8, 1, &n_verts, pla_active_hold(self->model), err);
  if (st == PLA_OK)
    st = pla_content_add_array(set, "flesh", PLA_F64, 1, (uint64_t[]){ 2 }, flesh, err);
  if (st == PLA_OK && jaw) {
    double numbers[12];
    memcpy(numbers, jaw->middle, 3 * sizeof *numbers);
    memcpy(numbers + 3, jaw->axis, 3 * sizeof *numbers);
    memcpy(numbers + 6, jaw->track, 3 * sizeof *numbers);
    memcpy(numbers + 9, (double[3]){ jaw->width, jaw->slide, jaw->opening }, 3 * sizeof *numbers);
    st = pla_content_add_array(set, "jaw", PLA_F64, 1, (uint64_t[]){ 12 }, numbers, err);
  }
  if (st == PLA_OK)
    st = pla_content_add_array(set, "marker_vert", PLA_I32, 2, (uint64_t[]){ 3, n }, vert, err);
  if (st == PLA_OK)
    st = pla_content_add_array(set, "marker_weight", PLA_F64, 2, (uint64_t[]){ 3, n }, weight, err);
  if (st == PLA_OK)
    st = pla_content_add_array(set, "marker_offset", PLA_F64, 2, (uint64_t[]){ 3, n }, offset, err);
  if (st == PLA_OK) {
    *mesh = g_steal_pointer(&body);
    *muscles = g_steal_pointer(&set);
  }
  return st;
}

/* the array @name of @n elements, or NULL */
static const void *
find_array(const PlaContent *content, const char *name, PlaDType dtype, uint64_t n)
{
  const PlaStoreArray *array = pla_content_find_array(content, name);
  uint64_t size = 1;
  if (!array || array->dtype != dtype)
    return NULL;
  for (int d = 0; d < array->n_dims; d++)
    size *= array->shape[d];
  return size == n ? array->data : NULL;
}

static PlaStatus
markers_from(const PlaContent *content, int n_verts, PlaMarkerSet *out, PlaError *err)
{
  if (!json_object_has_member(content->meta, "markers"))
    return PLA_OK;
  JsonArray *names = json_object_get_array_member(content->meta, "markers");
  const size_t n = json_array_get_length(names);
  const int *vert = find_array(content, "marker_vert", PLA_I32, 3 * n);
  const double *weight = find_array(content, "marker_weight", PLA_F64, 3 * n);
  const double *offset = find_array(content, "marker_offset", PLA_F64, 3 * n);
  if (n > 0 && (!vert || !weight || !offset))
    return pla_fail(err, PLA_ERR_FORMAT, "the marker sites of the body are damaged");
  out->site = pla_array_new0(n, sizeof *out->site);
  if (!out->site)
    return pla_fail_memory(err, "the markers");
  for (size_t i = 0; i < n; i++) {
    PlaMarkerSite *site = &out->site[i];
    out->n = (int)i + 1;
    site->name = pla_strdup(json_array_get_string_element(names, (guint)i));
    memcpy(site->vert, vert + 3 * i, sizeof site->vert);
    memcpy(site->weight, weight + 3 * i, sizeof site->weight);
    memcpy(site->offset, offset + 3 * i, sizeof site->offset);
    for (int k = 0; k < 3; k++)
      if (site->vert[k] < 0 || site->vert[k] >= n_verts || !site->name)
        return pla_fail(err, PLA_ERR_FORMAT, "the marker sites of the body are damaged");
  }
  return PLA_OK;
}

PlaStatus
pla_active_body_from_contents(const char *name, const PlaContent *mesh, const PlaContent *muscles,
                              const PlaActiveBodyOptions *opts, PlaActiveBody **out, PlaError *err)
{
  PlaActiveBody *self = g_new0(PlaActiveBody, 1);
  PlaJaw jaw;
  *out = NULL;
  self->name = g_strdup(name);
  self->phantom =
      g_strdup(json_object_get_string_member_with_default(muscles->meta, "phantom", NULL));
  PlaStatus st = pla_mesh_dup(mesh->mesh, &self->mesh, err);
  if (st == PLA_OK)
    st = pla_muscle_set_from_content(muscles, &self->muscles, err);
  if (st == PLA_OK &&
      (self->muscles.n_verts != self->mesh->n_verts || self->muscles.n_tets != self->mesh->n_tets))
    st = pla_fail(err, PLA_ERR_USAGE, "the muscles '%s' belong to another mesh", name);
  if (st == PLA_OK && self->muscles.list.n == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "'%s' has no muscles", name);
  if (st == PLA_OK) {
    const unsigned char *stored =
        find_array(muscles, "hold", PLA_U8, (uint64_t)self->mesh->n_verts);
    const double *numbers = find_array(muscles, "jaw", PLA_F64, 12);
    const double *flesh = find_array(muscles, "flesh", PLA_F64, 2);
    g_autofree unsigned char *hold = g_new(unsigned char, (size_t)self->mesh->n_verts);
    if (numbers) {
      memcpy(jaw.middle, numbers, sizeof jaw.middle);
      memcpy(jaw.axis, numbers + 3, sizeof jaw.axis);
      memcpy(jaw.track, numbers + 6, sizeof jaw.track);
      jaw.width = numbers[9];
      jaw.slide = numbers[10];
      jaw.opening = numbers[11];
    }
    if (stored)
      memcpy(hold, stored, (size_t)self->mesh->n_verts);
    else {
      pla_muscle_set_limit_sums(&self->muscles);
      find_holds(self->mesh, &self->muscles, NULL, false, hold);
    }
    for (int v = 0; v < self->mesh->n_verts && st == PLA_OK; v++)
      if (hold[v] > PLA_HOLD_JAW || (hold[v] == PLA_HOLD_JAW && !numbers))
        st = pla_fail(err, PLA_ERR_FORMAT, "what holds vertex %d of '%s' is damaged", v, name);
    const double young = opts->young_pa > 0.0 ? opts->young_pa : flesh ? flesh[0] : 20e3;
    const double poisson = opts->poisson > 0.0 ? opts->poisson : flesh ? flesh[1] : 0.45;
    if (st == PLA_OK)
      st = finish_model(self, hold, numbers ? &jaw : NULL, young, poisson, opts->strength, err);
  }
  if (st == PLA_OK)
    st = markers_from(muscles, self->mesh->n_verts, &self->markers, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_active_body_free(self);
  return st;
}
