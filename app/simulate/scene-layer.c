/* Thin layers of a scene, as membranes on the outer faces of the body. */
#include "app/simulate/scene-layer.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/boundary.h"
#include "app/base/quantity.h"
#include "app/simulate/scene-support.h"
#include "app/simulate/scene-where.h"
#include "app/simulate/simulation-materials.h"

#include <math.h>
#include <string.h>

PlaStatus
pla_scene_add_faces(const PlaSimulation *scene, const bool *marked, GArray *tri, GArray *share,
                    PlaError *err)
{
  const PlaTetMesh tets = pla_mesh_tets(scene->mesh);
  const PlaHexMesh hexes = pla_mesh_hexes(scene->mesh);
  const bool carved = pla_scene_is_carved(scene);
  const double whole = 1.0;
  PlaBoundary boundary = { 0 };
  PlaStatus st = carved ? PLA_OK : pla_boundary_init(&boundary, &tets, &hexes, true, err);
  const int n = carved ? scene->mesh->n_tris : boundary.n_tris;
  for (int t = 0; st == PLA_OK && t < n; t++) {
    const int *v = (carved ? scene->mesh->tri : boundary.tri) + 3 * (size_t)t;
    if (!marked[v[0]] || !marked[v[1]] || !marked[v[2]])
      continue;
    g_array_append_vals(tri, v, 3);
    g_array_append_vals(share, carved ? &whole : &boundary.share[t], 1);
  }
  pla_boundary_clear(&boundary);
  return st;
}

/* all triangles of all layers, as membranes are made of them */
typedef struct {
  GArray *tri, *thickness, *law, *laws, *direction, *stretch;
} Layers;

static void
layers_init(Layers *self)
{
  *self = (Layers){ .tri = g_array_new(FALSE, FALSE, sizeof(int)),
                    .thickness = g_array_new(FALSE, FALSE, sizeof(double)),
                    .law = g_array_new(FALSE, FALSE, sizeof(int)),
                    .laws = g_array_new(FALSE, FALSE, sizeof(PlaMembraneLaw)),
                    .direction = g_array_new(FALSE, FALSE, sizeof(double)),
                    .stretch = g_array_new(FALSE, FALSE, sizeof(double)) };
}

static void
layers_clear(Layers *self)
{
  g_array_unref(self->tri);
  g_array_unref(self->thickness);
  g_array_unref(self->law);
  g_array_unref(self->laws);
  g_array_unref(self->direction);
  g_array_unref(self->stretch);
}

/* a number between @low and @high; @needed: it is an error where it is not there */
static PlaStatus
read_number(PlaJson item, const char *key, double low, double high, bool needed, double *out,
            PlaError *err)
{
  PlaJson value;
  if (!pla_json_get(item, key, &value))
    return needed ? pla_json_fail(item, err, "has no '%s'", key) : PLA_OK;
  PlaStatus st = pla_json_number_value(value, out, err);
  if (st == PLA_OK && !(*out >= low && *out <= high))
    st = pla_json_fail(value, err, "is %g, and must lie between %g and %g", *out, low, high);
  return st;
}

/* one number, or one along and one across */
static PlaStatus
read_stretch(PlaJson item, double stretch[2], PlaError *err)
{
  PlaJson value;
  stretch[0] = stretch[1] = 1.0;
  if (!pla_json_get(item, "prestretch", &value))
    return PLA_OK;
  PlaStatus st;
  if (pla_json_length(value) == 2) {
    st = pla_json_vector(value, 2, stretch, err);
  } else {
    st = pla_json_number_value(value, &stretch[0], err);
    stretch[1] = stretch[0];
  }
  for (int k = 0; st == PLA_OK && k < 2; k++)
    if (!(stretch[k] >= 0.5 && stretch[k] <= 3.0))
      st = pla_json_fail(value, err, "has the stretch %g, and must lie between 0.5 and 3",
                         stretch[k]);
  return st;
}

/* constants of the tissue that a layer names */
static PlaStatus
read_preset(const PlaSimulation *scene, PlaJson value, PlaMembraneLaw *law, PlaError *err)
{
  const PlaPreset *preset;
  PlaStatus st = pla_scene_find_preset(value, &preset, err);
  if (st != PLA_OK)
    return st;
  const int stiffness = scene->stiffness < 0 ? PLA_STIFFNESS_TYPICAL : scene->stiffness;
  double param[PLA_MAX_CONSTANTS];
  const PlaMaterial *material = pla_preset_params(preset, (PlaStiffness)stiffness, param);
  for (int i = 0; material->params[i].key; i++) {
    const char *key = material->params[i].key;
    if (strcmp(key, "young_pa") == 0)
      law->mu = param[i] / 3.0;
    else if (strcmp(key, "c10_pa") == 0)
      law->mu = 2.0 * param[i];
    else if (strcmp(key, "k1_pa") == 0)
      law->k1 = param[i];
    else if (strcmp(key, "k2") == 0)
      law->k2 = param[i];
    else if (strcmp(key, "kappa") == 0)
      law->dispersion = param[i];
  }
  if (strcmp(material->id, "neo-hookean") != 0 && strcmp(material->id, "goh") != 0)
    return pla_json_fail(value, err,
                         "has the material '%s', and a layer is 'neo-hookean' or 'goh'; give "
                         "young_pa instead",
                         material->id);
  return PLA_OK;
}

/* @direction: 0 where it has none */
static PlaStatus
read_law(const PlaSimulation *scene, PlaJson item, PlaMembraneLaw *law, double direction[3],
         double stretch[2], PlaError *err)
{
  double young = 0.0, degrees = 0.0;
  PlaJson value;
  PlaStatus st = PLA_OK;
  *law = (PlaMembraneLaw){ 0 };
  memset(direction, 0, 3 * sizeof *direction);
  const bool tissue = pla_json_get(item, "preset", &value);
  if (tissue)
    st = read_preset(scene, value, law, err);
  if (st == PLA_OK)
    st = read_number(item, "young_pa", 1.0, 1e12, !tissue, &young, err);
  if (st == PLA_OK)
    st = read_number(item, "k1_pa", 0.0, 1e12, false, &law->k1, err);
  if (st == PLA_OK)
    st = read_number(item, "k2", 0.0, 1e4, false, &law->k2, err);
  if (st == PLA_OK)
    st = read_number(item, "kappa", 0.0, 1.0 / 3.0, false, &law->dispersion, err);
  if (st == PLA_OK)
    st = read_number(item, "angle_deg", 0.0, 90.0, false, &degrees, err);
  if (st == PLA_OK && pla_json_get(item, "direction", &value)) {
    st = pla_json_vector(value, 3, direction, err);
    if (st == PLA_OK && !(pla_vec3_norm(direction) > 0.0))
      st = pla_json_fail(value, err, "has no length");
  }
  if (st == PLA_OK && pla_json_get(item, "wrinkles", &value))
    st = pla_json_bool_value(value, &law->wrinkles, err);
  if (st == PLA_OK)
    st = read_stretch(item, stretch, err);
  /* a sheet that keeps its volume: Poisson's ratio is a half */
  if (young > 0.0)
    law->mu = young / 3.0;
  law->angle = degrees * G_PI / 180.0;
  return st;
}

static PlaStatus
read_layer(const PlaSimulation *scene, PlaJson item, bool *marked, Layers *layers, PlaError *err)
{
  static const char *const known[] = { "where",     "thickness_mm", "preset",   "young_pa",
                                       "k1_pa",     "k2",           "kappa",    "angle_deg",
                                       "direction", "prestretch",   "wrinkles", NULL };
  const PlaSceneSelection selection = { scene->mesh, &scene->labels };
  PlaJson where;
  PlaMembraneLaw law;
  double thickness_mm = 0.0, direction[3], stretch[2];
  size_t count;
  const guint before = layers->thickness->len;
  PlaStatus st = pla_json_check_keys(item, known, err);
  if (st == PLA_OK && !pla_json_get(item, "where", &where))
    st = pla_json_fail(item, err, "has no 'where'");
  if (st == PLA_OK)
    st = read_number(item, "thickness_mm", 1e-3, 100.0, true, &thickness_mm, err);
  if (st == PLA_OK)
    st = read_law(scene, item, &law, direction, stretch, err);
  if (st == PLA_OK)
    st = pla_scene_select(&selection, where, false, marked, &count, err);
  if (st == PLA_OK)
    st = pla_scene_add_faces(scene, marked, layers->tri, layers->thickness, err);
  if (st != PLA_OK)
    return st;
  if (layers->thickness->len == before)
    return pla_json_fail(item, err,
                         "selects no face of the surface; a face needs all its vertices");
  const int number = (int)layers->laws->len;
  g_array_append_val(layers->laws, law);
  for (guint t = before; t < layers->thickness->len; t++) {
    g_array_index(layers->thickness, double, t) *= thickness_mm / 1000.0;
    g_array_append_val(layers->law, number);
    g_array_append_vals(layers->direction, direction, 3);
    g_array_append_vals(layers->stretch, stretch, 2);
  }
  return PLA_OK;
}

PlaStatus
pla_scene_read_layers(PlaSimulation *scene, PlaJson root, PlaError *err)
{
  PlaJson list, item;
  PlaStatus st = PLA_OK;
  if (!pla_json_get(root, "layers", &list))
    return PLA_OK;
  g_autofree bool *marked = g_try_new(bool, scene->mesh->n_verts);
  if (!marked)
    return pla_fail_memory(err, "the layers");
  Layers layers;
  layers_init(&layers);
  for (int i = 0; st == PLA_OK && i < pla_json_length(list); i++) {
    st = pla_json_at(list, i, &item, err);
    if (st == PLA_OK)
      st = read_layer(scene, item, marked, &layers, err);
  }
  const PlaMembraneSpec spec = {
    .n_tris = (int)layers.thickness->len,
    .tri = (const int *)(void *)layers.tri->data,
    .thickness = (const double *)(void *)layers.thickness->data,
    .law = (const int *)(void *)layers.law->data,
    .laws = (const PlaMembraneLaw *)(void *)layers.laws->data,
    .n_laws = (int)layers.laws->len,
    .direction = (const double *)(void *)layers.direction->data,
    .stretch = (const double *)(void *)layers.stretch->data,
  };
  if (st == PLA_OK && spec.n_tris > 0) {
    st = pla_membranes_new(&spec, scene->mesh->pos, scene->mesh->n_verts, &scene->membranes, err);
    if (st != PLA_OK)
      pla_fail_within(err, "layers");
  }
  layers_clear(&layers);
  return st;
}

PlaStatus
pla_scene_add_layer_field(const PlaSimulation *scene, const double *pos, PlaMesh *mesh,
                          PlaError *err)
{
  const size_t n = (size_t)mesh->n_verts;
  double *tension = pla_mesh_add_field(mesh, PLA_FIELD_TENSION, PLA_ON_VERTS, PLA_F64, 1);
  g_autofree double *area = g_try_new0(double, n);
  if (!tension || !area)
    return pla_fail_memory(err, "the result");
  const int *tri;
  const int n_tris = pla_membranes_get(scene->membranes, &tri);
  /* means over the triangles around each vertex, by their area */
  for (int t = 0; t < n_tris; t++) {
    const int *v = tri + 3 * (size_t)t;
    double e[3], f[3], normal[3], stress[2];
    pla_vec3_sub(pos + 3 * (size_t)v[1], pos + 3 * (size_t)v[0], e);
    pla_vec3_sub(pos + 3 * (size_t)v[2], pos + 3 * (size_t)v[0], f);
    pla_vec3_cross(e, f, normal);
    const double size = pla_vec3_norm(normal);
    pla_membrane_stress(scene->membranes, t, pos, stress);
    for (int a = 0; a < 3; a++) {
      area[v[a]] += size;
      tension[v[a]] += size * pla_unit_convert(stress[0], PLA_UNIT_PA, PLA_UNIT_KPA);
    }
  }
  for (size_t v = 0; v < n; v++)
    tension[v] = area[v] > 0.0 ? tension[v] / area[v] : 0.0;
  return PLA_OK;
}
