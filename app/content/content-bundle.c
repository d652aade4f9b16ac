/* Items as bundles of arrays, written and read.
 *
 *   volume   voxels (i, j, k, t), affine_mm (12), scale (slope, inter, seconds per frame),
 *            frame (FRAME_NUMBERS numbers: what the file said about its axes)
 *   labels   the same, and "labels" in the metadata: [{id, name, rgba}]
 *   mesh     pos (3, n) m, tri (3, n), tet (4, n), hex (8, n), field0, field1, ...; "fields" in the
 *            metadata: [{name, place}]
 *   body     the same for its surface, and its own arrays, which have a / in their names
 *   markers  pos (3, markers, frames) m, residual (markers, frames) m where there are any,
 *            time (rate in Hz, start in s); "names"
 *   track    value (channels, samples), time; "names", "units"
 *   audio    samples (channels, frames), time; "bits"
 *   others   their own arrays */
#include "app/content/content.h"

#include "anatomy/base/memory.h"
#include "app/base/json.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_NUMBERS = 45 };

/* ---- to a bundle -------------------------------------------------------------------------- */

/* a bundle being made: small numbers that no content holds as an array are kept by the bundle */
typedef struct {
  PlaBundle *bundle;
  bool fine;
} Maker;

static void
add(Maker *m, const char *name, PlaDType dtype, const void *data, int n_dims, uint64_t s0,
    uint64_t s1, uint64_t s2, uint64_t s3)
{
  PlaBundle *b = m->bundle;
  void *grown = b->array;
  char *copy = pla_strdup(name);
  if (!m->fine || !copy || !pla_array_resize(&grown, (size_t)b->n_arrays + 1, sizeof *b->array)) {
    free(copy);
    m->fine = false;
    return;
  }
  b->array = grown;
  b->array[b->n_arrays++] = (PlaStoreArray){ .name = copy,
                                             .dtype = dtype,
                                             .n_dims = n_dims,
                                             .shape = { s0, s1, s2, s3 },
                                             .data = (void *)data };
}

/* names of arrays whose few numbers the bundle owns */
static bool
is_owned(const char *name)
{
  return g_str_equal(name, "scale") || g_str_equal(name, "frame") || g_str_equal(name, "time");
}

static void
add_numbers(Maker *m, const char *name, const double *value, size_t n)
{
  double *copy = pla_array_dup(value, n, sizeof *value);
  m->fine = m->fine && copy;
  int before = m->bundle->n_arrays;
  if (copy)
    add(m, name, PLA_F64, copy, 1, n, 0, 0, 0);
  if (m->bundle->n_arrays == before)
    free(copy);
}

void
pla_content_bundle_clear(PlaBundle *bundle)
{
  for (int a = 0; a < bundle->n_arrays; a++)
    if (is_owned(bundle->array[a].name))
      free(bundle->array[a].data);
  pla_bundle_clear(bundle, false);
}

static void
frame_to_numbers(const PlaFrameAudit *f, double n[FRAME_NUMBERS])
{
  const double ints[5] = { (double)f->source, f->nifti_version, f->qform_code, f->sform_code,
                           f->xyzt_units };
  memcpy(n, ints, sizeof ints);
  memcpy(n + 5, f->pixdim, sizeof f->pixdim);
  memcpy(n + 13, f->quatern, sizeof f->quatern);
  memcpy(n + 16, f->qoffset, sizeof f->qoffset);
  memcpy(n + 19, f->srow, sizeof f->srow);
  memcpy(n + 31, f->qform_mm, sizeof f->qform_mm);
  n[43] = f->disagreement_mm;
  n[44] = f->nonorthogonality;
}

static int
small_int(double value)
{
  return value >= -1e6 && value <= 1e6 ? (int)value : 0;
}

static void
frame_from_numbers(const double n[FRAME_NUMBERS], PlaFrameAudit *f)
{
  int source = small_int(n[0]);
  f->source = source >= PLA_FRAME_NONE && source <= PLA_FRAME_MADE ? (PlaFrameSource)source
                                                                   : PLA_FRAME_NONE;
  f->nifti_version = small_int(n[1]);
  f->qform_code = small_int(n[2]);
  f->sform_code = small_int(n[3]);
  f->xyzt_units = small_int(n[4]);
  memcpy(f->pixdim, n + 5, sizeof f->pixdim);
  memcpy(f->quatern, n + 13, sizeof f->quatern);
  memcpy(f->qoffset, n + 16, sizeof f->qoffset);
  memcpy(f->srow, n + 19, sizeof f->srow);
  memcpy(f->qform_mm, n + 31, sizeof f->qform_mm);
  f->disagreement_mm = n[43];
  f->nonorthogonality = n[44];
}

static void
set_text(JsonObject *object, const char *key, const char *text)
{
  g_autofree char *valid = g_utf8_make_valid(text ? text : "", -1);
  json_object_set_string_member(object, key, valid);
}

static void
set_texts(JsonObject *object, const char *key, char *const *text, int n)
{
  JsonArray *array = json_array_new();
  for (int i = 0; i < n; i++) {
    g_autofree char *valid = g_utf8_make_valid(text[i] ? text[i] : "", -1);
    json_array_add_string_element(array, valid);
  }
  json_object_set_array_member(object, key, array);
}

static void
volume_to_bundle(Maker *m, JsonObject *meta, const PlaVolume *vol)
{
  double scale[3] = { vol->slope, vol->inter, vol->frame_step_s }, frame[FRAME_NUMBERS];
  frame_to_numbers(&vol->audit, frame);
  add(m, "voxels", vol->dtype, vol->voxels, 4, (uint64_t)vol->dims[0], (uint64_t)vol->dims[1],
      (uint64_t)vol->dims[2], (uint64_t)vol->dims[3]);
  add(m, "affine_mm", PLA_F64, vol->affine_mm, 1, 12, 0, 0, 0);
  add_numbers(m, "scale", scale, 3);
  add_numbers(m, "frame", frame, FRAME_NUMBERS);
  if (vol->description)
    set_text(meta, "description", vol->description);
}

static void
table_to_json(JsonObject *meta, const PlaLabelTable *table)
{
  JsonArray *list = json_array_new();
  for (int i = 0; i < table->n; i++) {
    const PlaLabel *label = &table->label[i];
    JsonObject *entry = json_object_new();
    JsonArray *rgba = json_array_new();
    json_object_set_int_member(entry, "id", label->id);
    set_text(entry, "name", label->name);
    for (int c = 0; c < 4; c++)
      json_array_add_int_element(rgba, label->rgba[c]);
    json_object_set_array_member(entry, "rgba", rgba);
    json_array_add_object_element(list, entry);
  }
  json_object_set_array_member(meta, "labels", list);
}

static void
mesh_to_bundle(Maker *m, JsonObject *meta, const PlaMesh *mesh)
{
  add(m, "pos", PLA_F64, mesh->pos, 2, 3, (uint64_t)mesh->n_verts, 0, 0);
  add(m, "tri", PLA_I32, mesh->tri, 2, 3, (uint64_t)mesh->n_tris, 0, 0);
  add(m, "tet", PLA_I32, mesh->tet, 2, 4, (uint64_t)mesh->n_tets, 0, 0);
  add(m, "hex", PLA_I32, mesh->hex, 2, 8, (uint64_t)mesh->n_hexes, 0, 0);
  json_object_set_boolean_member(meta, "single", mesh->single);
  JsonArray *fields = json_array_new();
  for (int f = 0; f < mesh->n_fields; f++) {
    const PlaField *field = &mesh->field[f];
    char name[32];
    JsonObject *entry = json_object_new();
    g_snprintf(name, sizeof name, "field%d", f);
    add(m, name, field->dtype, field->data, 2, (uint64_t)field->n_components,
        pla_field_n_tuples(mesh, field), 0, 0);
    set_text(entry, "name", field->name);
    json_object_set_string_member(entry, "place",
                                  field->place == PLA_ON_VERTS ? "vertices" : "cells");
    json_array_add_object_element(fields, entry);
  }
  json_object_set_array_member(meta, "fields", fields);
}

static void
take_to_bundle(Maker *m, JsonObject *meta, const PlaTake *take)
{
  double time[2] = { take->rate_hz, take->start_s };
  add(m, "pos", PLA_F64, take->pos, 3, 3, (uint64_t)take->n_markers, (uint64_t)take->n_frames, 0);
  if (take->residual)
    add(m, "residual", PLA_F32, take->residual, 2, (uint64_t)take->n_markers,
        (uint64_t)take->n_frames, 0, 0);
  add_numbers(m, "time", time, 2);
  json_object_set_boolean_member(meta, "single", take->single);
  set_texts(meta, "names", take->name, take->n_markers);
}

static void
track_to_bundle(Maker *m, JsonObject *meta, const PlaTrack *track)
{
  double time[2] = { track->rate_hz, track->start_s };
  add(m, "value", PLA_F64, track->value, 2, (uint64_t)track->n_channels, (uint64_t)track->n_samples,
      0, 0);
  add_numbers(m, "time", time, 2);
  json_object_set_boolean_member(meta, "single", track->single);
  set_texts(meta, "names", track->name, track->n_channels);
  set_texts(meta, "units", track->unit, track->n_channels);
}

static void
audio_to_bundle(Maker *m, JsonObject *meta, const PlaAudio *audio)
{
  double time[2] = { audio->rate_hz, 0.0 };
  add(m, "samples", audio->dtype, audio->samples, 2, (uint64_t)audio->n_channels,
      (uint64_t)audio->n_frames, 0, 0);
  add_numbers(m, "time", time, 2);
  json_object_set_int_member(meta, "bits", audio->bits);
}

PlaStatus
pla_content_to_bundle(const PlaContent *self, const char *name, PlaBundle *out, PlaError *err)
{
  *out = (PlaBundle){ 0 };
  Maker m = { out, true };
  /* a copy, because the kinds add their own members */
  g_autoptr(JsonObject) meta = json_object_new();
  JsonObjectIter iter;
  const char *key;
  JsonNode *value;
  json_object_iter_init(&iter, self->meta);
  while (json_object_iter_next(&iter, &key, &value))
    json_object_set_member(meta, key, json_node_copy(value));
  if (self->volume)
    volume_to_bundle(&m, meta, self->volume);
  if (self->labels) {
    volume_to_bundle(&m, meta, self->labels->volume);
    table_to_json(meta, &self->labels->table);
  }
  if (self->mesh)
    mesh_to_bundle(&m, meta, self->mesh);
  if (self->take)
    take_to_bundle(&m, meta, self->take);
  if (self->track)
    track_to_bundle(&m, meta, self->track);
  if (self->audio)
    audio_to_bundle(&m, meta, self->audio);
  for (int a = 0; a < self->n_arrays && m.fine; a++) {
    const PlaStoreArray *array = &self->array[a];
    /* items of other programs may call an array so too: the bundle then owns a copy */
    void *copy =
        is_owned(array->name) ? pla_array_dup(array->data, pla_store_array_bytes(array), 1) : NULL;
    m.fine = m.fine && (copy || !is_owned(array->name));
    const int before = out->n_arrays;
    add(&m, array->name, array->dtype, copy ? copy : array->data, array->n_dims, 0, 0, 0, 0);
    if (out->n_arrays > before)
      memcpy(out->array[before].shape, array->shape, sizeof array->shape);
    else
      free(copy);
  }
  PlaError why;
  g_autofree char *text = NULL;
  PlaStatus st = pla_json_write_object(meta, PLA_JSON_SORTED, &text, &why);
  if (st != PLA_OK)
    st = pla_fail(err, st, "the %s '%s' cannot be stored: %s", self->kind, name, why.message);
  out->kind = pla_strdup(self->kind);
  out->name = pla_strdup(name);
  out->meta = pla_strdup(text ? text : "");
  if (st == PLA_OK && (!m.fine || !out->kind || !out->name || !out->meta))
    st = pla_fail_memory(err, name);
  if (st != PLA_OK)
    pla_content_bundle_clear(out);
  return st;
}

/* ---- from a bundle ------------------------------------------------------------------------ */

/* reading one item */
typedef struct {
  PlaStore *store;
  const PlaBundle *bundle;
  PlaProgress *progress;
  bool check; /* voxels need no reading: their array is as long as its shape says, or is refused */
  PlaContent *content;
  PlaStatus st;
  PlaError *err;
} Loader;

static void
refuse(Loader *l, const char *what)
{
  if (l->st == PLA_OK)
    l->st =
        pla_fail(l->err, PLA_ERR_FORMAT,
                 "the %s '%s' in %s is damaged: %s; 'platysma-cli case verify' lists the damage",
                 l->bundle->kind, l->bundle->name, pla_store_get_path(l->store), what);
}

static const PlaStoreArray *
find(Loader *l, const char *name)
{
  for (int a = 0; a < l->bundle->n_arrays; a++)
    if (strcmp(l->bundle->array[a].name, name) == 0)
      return &l->bundle->array[a];
  return NULL;
}

/* the array @name, which must have @n_dims dimensions, the first of them @first (0: any) */
static const PlaStoreArray *
expect(Loader *l, const char *name, int n_dims, uint64_t first)
{
  const PlaStoreArray *array = find(l, name);
  if (!array || array->n_dims != n_dims || (first && array->shape[0] != first)) {
    g_autofree char *what = g_strdup_printf("its array '%s' is missing or has another shape", name);
    refuse(l, what);
    return NULL;
  }
  for (int d = 0; d < n_dims; d++)
    if (array->shape[d] > INT_MAX) {
      refuse(l, "an array is too long");
      return NULL;
    }
  return array;
}

static void *
data_of(Loader *l, const PlaStoreArray *array)
{
  void *data = NULL;
  if (!array || l->st != PLA_OK)
    return NULL;
  if (!l->check)
    l->st = pla_store_dup_array(l->store, array, l->progress, &data, l->err);
  else if (strcmp(array->name, "voxels") == 0)
    data = pla_array_new0(1, 1);
  else if (array->data)
    data = pla_array_dup(array->data, pla_store_array_bytes(array), 1);
  else
    l->st = pla_store_dup_array(l->store, array, l->progress, &data, l->err);
  if (l->st == PLA_OK && !data)
    l->st = pla_fail_memory(l->err, l->bundle->name);
  return data;
}

/* an array of exactly this type and shape, into new memory */
static void *
load(Loader *l, const char *name, PlaDType dtype, int n_dims, uint64_t s0, uint64_t s1, uint64_t s2)
{
  const PlaStoreArray *array = expect(l, name, n_dims, 0);
  const uint64_t shape[3] = { s0, s1, s2 };
  for (int d = 0; array && d < n_dims; d++)
    if (array->shape[d] != shape[d] || array->dtype != dtype) {
      refuse(l, "the sizes of its arrays do not fit each other");
      return NULL;
    }
  return data_of(l, array);
}

static bool
load_numbers(Loader *l, const char *name, double *value, size_t n)
{
  double *data = load(l, name, PLA_F64, 1, n, 0, 0);
  if (data)
    memcpy(value, data, n * sizeof *value);
  free(data);
  return l->st == PLA_OK;
}

static const char *
meta_text(JsonObject *object, const char *key)
{
  JsonNode *node = json_object_get_member(object, key);
  return node && json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node)
                                                                 : NULL;
}

static int64_t
meta_int(JsonObject *object, const char *key)
{
  JsonNode *node = json_object_get_member(object, key);
  return node && json_node_get_value_type(node) == G_TYPE_INT64 ? json_node_get_int(node) : 0;
}

static bool
meta_bool(JsonObject *object, const char *key)
{
  JsonNode *node = json_object_get_member(object, key);
  return node && json_node_get_value_type(node) == G_TYPE_BOOLEAN && json_node_get_boolean(node);
}

static JsonArray *
meta_array(JsonObject *object, const char *key)
{
  JsonNode *node = json_object_get_member(object, key);
  return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static JsonObject *
element_object(JsonArray *array, guint i)
{
  JsonNode *node = json_array_get_element(array, i);
  return JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static int64_t
element_int(JsonArray *array, guint i)
{
  JsonNode *node = json_array_get_element(array, i);
  return json_node_get_value_type(node) == G_TYPE_INT64 ? json_node_get_int(node) : 0;
}

static PlaVolume *
load_volume(Loader *l)
{
  const PlaStoreArray *voxels = expect(l, "voxels", 4, 0);
  double scale[3], frame[FRAME_NUMBERS], affine[12];
  PlaVolume *vol = NULL;
  if (!voxels || !load_numbers(l, "affine_mm", affine, 12) || !load_numbers(l, "scale", scale, 3) ||
      !load_numbers(l, "frame", frame, FRAME_NUMBERS))
    return NULL;
  for (int d = 0; d < 4; d++)
    if (voxels->shape[d] == 0) {
      refuse(l, "it has no voxels");
      return NULL;
    }
  void *data = data_of(l, voxels);
  if (!data)
    return NULL;
  vol = pla_array_new0(1, sizeof *vol);
  const char *description = meta_text(l->content->meta, "description");
  if (vol && description)
    vol->description = pla_strdup(description);
  if (!vol || (description && !vol->description)) {
    free(data);
    free(vol);
    l->st = pla_fail_memory(l->err, l->bundle->name);
    return NULL;
  }
  for (int d = 0; d < 4; d++)
    vol->dims[d] = (int)voxels->shape[d];
  vol->dtype = voxels->dtype;
  vol->voxels = data;
  vol->slope = scale[0];
  vol->inter = scale[1];
  vol->frame_step_s = scale[2];
  memcpy(vol->affine_mm, affine, sizeof affine);
  frame_from_numbers(frame, &vol->audit);
  return vol;
}

static void
load_labels(Loader *l)
{
  PlaVolume *vol = load_volume(l);
  PlaLabelMap *map = vol ? pla_array_new0(1, sizeof *map) : NULL;
  if (!vol || !map) {
    pla_volume_free(vol);
    if (l->st == PLA_OK)
      l->st = pla_fail_memory(l->err, l->bundle->name);
    return;
  }
  map->volume = vol;
  l->content->labels = map;
  if ((vol->dtype != PLA_U8 && vol->dtype != PLA_U16) || vol->dims[3] != 1 || vol->slope != 1.0 ||
      vol->inter != 0.0)
    refuse(l, "it is no label map");
  JsonArray *list = meta_array(l->content->meta, "labels");
  for (guint i = 0; list && i < json_array_get_length(list) && l->st == PLA_OK; i++) {
    JsonObject *entry = element_object(list, i);
    JsonArray *colour = entry ? meta_array(entry, "rgba") : NULL;
    int64_t id = entry ? meta_int(entry, "id") : 0;
    uint8_t rgba[4] = { 0 };
    if (id < 1 || id > 65535 || !meta_text(entry, "name") || !colour ||
        json_array_get_length(colour) != 4) {
      refuse(l, "its list of labels is no such list");
      return;
    }
    for (guint c = 0; c < 4; c++)
      rgba[c] = (uint8_t)CLAMP(element_int(colour, c), 0, 255);
    l->st = pla_label_table_set(&map->table, (int)id, meta_text(entry, "name"), rgba, l->err);
  }
}

static void
load_mesh(Loader *l)
{
  const PlaStoreArray *pos = expect(l, "pos", 2, 3), *tri = expect(l, "tri", 2, 3),
                      *tet = expect(l, "tet", 2, 4), *hex = expect(l, "hex", 2, 8);
  if (l->st != PLA_OK)
    return;
  /* arrays come from the file one after the other; nothing is allocated by its claims */
  PlaMesh *mesh = pla_array_new0(1, sizeof *mesh);
  if (!mesh) {
    l->st = pla_fail_memory(l->err, l->bundle->name);
    return;
  }
  l->content->mesh = mesh;
  mesh->pos = load(l, "pos", PLA_F64, 2, 3, pos->shape[1], 0);
  mesh->tri = load(l, "tri", PLA_I32, 2, 3, tri->shape[1], 0);
  mesh->tet = load(l, "tet", PLA_I32, 2, 4, tet->shape[1], 0);
  mesh->hex = load(l, "hex", PLA_I32, 2, 8, hex->shape[1], 0);
  mesh->single = meta_bool(l->content->meta, "single");
  if (l->st != PLA_OK)
    return;
  mesh->n_verts = (int)pos->shape[1];
  mesh->n_tris = (int)tri->shape[1];
  mesh->n_tets = (int)tet->shape[1];
  mesh->n_hexes = (int)hex->shape[1];
  l->st = pla_mesh_check(mesh, l->err);

  JsonArray *fields = meta_array(l->content->meta, "fields");
  for (guint f = 0; fields && f < json_array_get_length(fields) && l->st == PLA_OK; f++) {
    JsonObject *entry = element_object(fields, f);
    char key[32];
    g_snprintf(key, sizeof key, "field%u", f);
    const PlaStoreArray *array = expect(l, key, 2, 0);
    const char *name = entry ? meta_text(entry, "name") : NULL;
    const char *place = entry ? meta_text(entry, "place") : NULL;
    if (!array || !name || !place || array->shape[0] < 1) {
      refuse(l, "a field is not described");
      return;
    }
    PlaFieldPlace where = strcmp(place, "cells") == 0 ? PLA_ON_CELLS : PLA_ON_VERTS;
    size_t n_tuples = where == PLA_ON_VERTS ? (size_t)mesh->n_verts : pla_mesh_n_cells(mesh);
    if (array->shape[1] != n_tuples) {
      refuse(l, "a field is not as long as the mesh");
      return;
    }
    void *data = data_of(l, array), *into = NULL;
    if (data)
      into = pla_mesh_add_field(mesh, name, where, array->dtype, (int)array->shape[0]);
    if (into)
      memcpy(into, data, pla_store_array_bytes(array));
    else if (l->st == PLA_OK)
      l->st = pla_fail_memory(l->err, name);
    free(data);
  }
}

/* texts of metadata member @key, which must be @n of them, over the NULLs of @into */
static void
load_texts(Loader *l, const char *key, char **into, uint64_t n)
{
  JsonArray *list = meta_array(l->content->meta, key);
  if (!list || json_array_get_length(list) != n) {
    refuse(l, "its names are missing");
    return;
  }
  for (guint i = 0; i < n && l->st == PLA_OK; i++) {
    JsonNode *node = json_array_get_element(list, i);
    const char *text =
        json_node_get_value_type(node) == G_TYPE_STRING ? json_node_get_string(node) : "";
    free(into[i]);
    into[i] = pla_strdup(text);
    if (!into[i])
      l->st = pla_fail_memory(l->err, key);
  }
}

static void
load_take(Loader *l)
{
  const PlaStoreArray *pos = expect(l, "pos", 3, 3);
  double time[2];
  if (!pos || !load_numbers(l, "time", time, 2))
    return;
  double *data = load(l, "pos", PLA_F64, 3, 3, pos->shape[1], pos->shape[2]);
  float *residual = NULL;
  if (data && find(l, "residual"))
    residual = load(l, "residual", PLA_F32, 2, pos->shape[1], pos->shape[2], 0);
  if (l->st == PLA_OK)
    l->st = pla_take_new((int)pos->shape[2], (int)pos->shape[1], &l->content->take, l->err);
  if (l->st != PLA_OK) {
    free(data);
    free(residual);
    return;
  }
  PlaTake *take = l->content->take;
  free(take->pos);
  free(take->residual);
  take->pos = data;
  take->residual = residual;
  take->rate_hz = time[0];
  take->start_s = time[1];
  take->single = meta_bool(l->content->meta, "single");
  load_texts(l, "names", take->name, pos->shape[1]);
}

static void
load_track(Loader *l)
{
  const PlaStoreArray *value = expect(l, "value", 2, 0);
  double time[2];
  if (!value || !load_numbers(l, "time", time, 2))
    return;
  double *data = load(l, "value", PLA_F64, 2, value->shape[0], value->shape[1], 0);
  if (l->st == PLA_OK)
    l->st = pla_track_new((int)value->shape[1], (int)value->shape[0], &l->content->track, l->err);
  if (l->st != PLA_OK) {
    free(data);
    return;
  }
  PlaTrack *track = l->content->track;
  free(track->value);
  track->value = data;
  track->rate_hz = time[0];
  track->start_s = time[1];
  track->single = meta_bool(l->content->meta, "single");
  load_texts(l, "names", track->name, value->shape[0]);
  load_texts(l, "units", track->unit, value->shape[0]);
}

static void
load_audio(Loader *l)
{
  const PlaStoreArray *samples = expect(l, "samples", 2, 0);
  double time[2];
  if (!samples || !load_numbers(l, "time", time, 2))
    return;
  void *data = data_of(l, samples);
  PlaAudio *audio = data ? pla_array_new0(1, sizeof *audio) : NULL;
  if (!audio) {
    free(data);
    if (l->st == PLA_OK)
      l->st = pla_fail_memory(l->err, l->bundle->name);
    return;
  }
  *audio = (PlaAudio){ .n_frames = (int64_t)samples->shape[1],
                       .n_channels = (int)samples->shape[0],
                       .rate_hz = time[0],
                       .dtype = samples->dtype,
                       .bits = small_int((double)meta_int(l->content->meta, "bits")),
                       .samples = data };
  l->content->audio = audio;
}

/* all arrays, or only those of a body */
static void
load_named(Loader *l, bool body)
{
  for (int a = 0; a < l->bundle->n_arrays && l->st == PLA_OK; a++) {
    const PlaStoreArray *array = &l->bundle->array[a];
    if (body && !strchr(array->name, '/'))
      continue;
    void *data = data_of(l, array);
    if (data)
      l->st = pla_content_take_array(l->content, array->name, array->dtype, array->n_dims,
                                     array->shape, data, l->err);
  }
}

static void
load_body(Loader *l)
{
  load_mesh(l);
  load_named(l, true);
}

/* members that the kinds write themselves: not part of the metadata in memory */
static void
drop_members(JsonObject *meta)
{
  static const char *const own[] = { "description", "labels", "single", "fields",
                                     "names",       "units",  "bits" };
  for (size_t i = 0; i < G_N_ELEMENTS(own); i++)
    json_object_remove_member(meta, own[i]);
}

/* builds what the bundle describes */
static PlaStatus
build(PlaStore *store, const PlaBundle *bundle, bool check, PlaProgress *progress, PlaContent **out,
      PlaError *err)
{
  static const struct {
    const char *kind;
    void (*load)(Loader *l);
  } kinds[] = {
    { PLA_ITEM_LABELS, load_labels }, { PLA_ITEM_MESH, load_mesh },
    { PLA_ITEM_MARKERS, load_take },  { PLA_ITEM_TRACK, load_track },
    { PLA_ITEM_AUDIO, load_audio },   { PLA_ITEM_BODY, load_body },
  };
  g_autoptr(PlaContent) content = pla_content_new(bundle->kind);
  Loader l = { store, bundle, progress, check, content, PLA_OK, err };
  JsonObject *meta;
  PlaError why;
  if (pla_json_parse_stored(bundle->meta, "its description", &meta, &why) == PLA_OK) {
    json_object_unref(content->meta);
    content->meta = meta;
  } else {
    refuse(&l, why.message);
  }
  bool known = false;
  for (size_t k = 0; k < G_N_ELEMENTS(kinds) && l.st == PLA_OK; k++)
    if (strcmp(bundle->kind, kinds[k].kind) == 0) {
      kinds[k].load(&l);
      known = true;
    }
  if (l.st == PLA_OK && strcmp(bundle->kind, PLA_ITEM_VOLUME) == 0)
    content->volume = load_volume(&l);
  else if (l.st == PLA_OK && !known)
    load_named(&l, false);
  if (l.st == PLA_OK && (known || content->volume))
    drop_members(content->meta);
  if (l.st == PLA_OK && out)
    *out = g_steal_pointer(&content);
  return l.st;
}

PlaStatus
pla_content_load(PlaStore *store, const PlaHash *hash, PlaProgress *progress, PlaContent **out,
                 PlaError *err)
{
  PlaBundle bundle;
  *out = NULL;
  PlaStatus st = pla_store_read_bundle(store, hash, &bundle, err);
  if (st == PLA_OK) {
    st = build(store, &bundle, false, progress, out, err);
    pla_bundle_clear(&bundle, false);
  }
  return st;
}

PlaStatus
pla_content_check(PlaStore *store, const PlaHash *hash, PlaProgress *progress, PlaError *err)
{
  PlaBundle bundle;
  PlaStatus st = pla_store_read_bundle(store, hash, &bundle, err);
  if (st == PLA_OK) {
    st = build(store, &bundle, true, progress, NULL, err);
    pla_bundle_clear(&bundle, false);
  }
  return st;
}

PlaStatus
pla_content_check_bundle(PlaStore *store, const PlaBundle *bundle, PlaError *err)
{
  return build(store, bundle, true, NULL, NULL, err);
}
