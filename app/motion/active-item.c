/* Stores bodies with muscles as items and in the cache, and makes them from either. */
#include "app/motion/active-item.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesher/tets.h"
#include "app/base/cache.h"
#include "app/base/json.h"
#include "app/motion/muscles.h"

#include <glib/gi18n.h>
#include <limits.h>
#include <string.h>

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

/* ---- kept between runs ---- */

static char *
cache_key(const char *phantom, double cell_mm)
{
  return g_strdup_printf("%s cell_mm=%a", phantom, cell_mm);
}

/* the mesh as pos, tet and region, the item of the muscles as its metadata and arrays */
static void
keep(const char *phantom, double cell_mm, const PlaActiveBody *self)
{
  g_autoptr(PlaContent) mesh = NULL;
  g_autoptr(PlaContent) muscles = NULL;
  if (pla_active_body_to_contents(self, phantom, &mesh, &muscles, NULL) != PLA_OK)
    return;
  const PlaField *region = pla_mesh_find_field(self->mesh, PLA_MESH_REGION, PLA_ON_CELLS);
  const size_t n_tets = (size_t)self->mesh->n_tets;
  g_autofree char *key = cache_key(phantom, cell_mm);
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
recall(const char *phantom, const PlaActiveBodyOptions *opts)
{
  g_autofree char *key = cache_key(phantom, opts->cell_mm);
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
        pla_active_body_from_contents(phantom, mesh, muscles, opts, &self, NULL) != PLA_OK)
      self = NULL;
  }
  pla_arrays_clear(&arrays);
  return self;
}

PlaStatus
pla_active_body_from_phantom(const char *name, const PlaActiveBodyOptions *opts,
                             PlaProgress *progress, PlaActiveBody **out, PlaError *err)
{
  PlaActiveBodyOptions all = *opts;
  *out = NULL;
  PlaStatus st = pla_active_body_complete(name, &all, err);
  if (st != PLA_OK)
    return st;
  *out = recall(name, &all);
  if (*out)
    return PLA_OK;
  st = pla_active_body_new_phantom(name, &all, progress, out, err);
  if (st == PLA_OK)
    keep(name, all.cell_mm, *out);
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
  if (self->elements != PLA_FLESH_STANDARD)
    json_object_set_string_member(set->meta, "formulation",
                                  pla_flesh_elements[self->elements - PLA_FLESH_STANDARD]);
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

/* the elements that the flesh was made with */
static PlaFleshElements
stored_elements(const PlaContent *muscles)
{
  const char *word =
      json_object_get_string_member_with_default(muscles->meta, "formulation", "standard");
  for (int i = 0; pla_flesh_elements[i]; i++)
    if (strcmp(word, pla_flesh_elements[i]) == 0)
      return (PlaFleshElements)(PLA_FLESH_STANDARD + i);
  return PLA_FLESH_STANDARD;
}

PlaStatus
pla_active_body_from_contents(const char *name, const PlaContent *mesh, const PlaContent *muscles,
                              const PlaActiveBodyOptions *opts, PlaActiveBody **out, PlaError *err)
{
  PlaActiveBody *self = pla_active_body_new(
      name, json_object_get_string_member_with_default(muscles->meta, "phantom", NULL));
  PlaJaw jaw;
  *out = NULL;
  if (!self)
    return pla_fail_memory(err, "the body");
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
      st = pla_active_body_find_holds(self->mesh, &self->muscles, NULL, false, hold, err);
    }
    for (int v = 0; v < self->mesh->n_verts && st == PLA_OK; v++)
      if (hold[v] > PLA_HOLD_JAW || (hold[v] == PLA_HOLD_JAW && !numbers))
        st = pla_fail(err, PLA_ERR_FORMAT, "what holds vertex %d of '%s' is damaged", v, name);
    PlaActiveBodyOptions own = *opts;
    own.young_pa = opts->young_pa > 0.0 ? opts->young_pa : flesh ? flesh[0] : 20e3;
    own.poisson = opts->poisson > 0.0 ? opts->poisson : flesh ? flesh[1] : 0.45;
    if (opts->elements == PLA_FLESH_DEFAULT)
      own.elements = stored_elements(muscles);
    if (st == PLA_OK)
      st = pla_active_body_finish(self, hold, numbers ? &jaw : NULL, &own, err);
  }
  if (st == PLA_OK)
    st = markers_from(muscles, self->mesh->n_verts, &self->markers, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_active_body_free(self);
  return st;
}
